"""Transductive SVM: CPU seconds and accuracy, beside scikit-learn and figures of UniverSVM.

Two classes of three clusters each in 20 columns (6 informative), Gaussian kernel with gamma = 1/20,
C = 1, C* = C l / u; l + u of 100 + 4,000, 1,000 + 10,000 and 3,000 + 30,000. UniverSVM (C++, the
authors' program of the concave-convex procedure) cannot be installed from a package index; its
figures, 6.8 s, 38 s and "beyond the limit", were measured before on a task of the same sizes whose
data are not kept. Ours was made to be as hard: among 173 settings of ``make_classification`` that
one was taken whose accuracies of ``SVC`` are nearest to those of that task (.817, .907, .920; an
earlier task of ours had .826, .924, .965), before any machine of ours was run on it. ``SVC`` on the
labelled points and k-NN ``LabelSpreading`` are run here. CPU seconds are the least of three runs.

The bars: all points with 4 times less CPU than UniverSVM, at no less than the accuracy of
``SVC`` less .005; 10 % adaptive with 20 times less than our own run with all 30,000; 1 GB.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

SIZES = [(100, 4_000, 6.8), (1_000, 10_000, 38.0), (3_000, 30_000, None)]
PEAK_MB = 1000.0


def task(labelled: int, rest: int) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised points and their classes."""
    X, y = make_classification(
        labelled + rest, 20, n_informative=6, n_redundant=2, n_clusters_per_class=3,
        class_sep=1.6, flip_y=0.05, random_state=0,
    )  # fmt: skip
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def run(labelled: int, rest: int, name: str) -> tuple[float, float, float]:
    """Return CPU seconds, accuracy on the unlabelled points, and peak MB."""
    from clusterscape.semisupervised import TransductiveSVC

    X, y = task(labelled, rest)
    known = np.where(np.arange(len(y)) < labelled, y, -1)
    makers: dict[str, Any] = {
        "SVC": lambda: SVC(gamma=0.05),
        "LabelSpreading": lambda: LabelSpreading(kernel="knn", n_neighbors=7),
        "T-SVM": lambda: TransductiveSVC(gamma=0.05, random_state=0),
        "adaptive 10 %": lambda: TransductiveSVC(gamma=0.05, subsample=0.1, random_state=0),
        "uniform 10 %": lambda: TransductiveSVC(
            gamma=0.05, subsample=0.1, strategy="uniform", random_state=0
        ),
    }
    with one_thread():
        if name not in ("SVC", "LabelSpreading"):  # compiles
            makers[name]().fit(X[: labelled + 200], known[: labelled + 200])
        seconds = np.inf
        for _ in range(3):
            start = time.process_time()
            model = makers[name]()
            if name == "SVC":
                found = model.fit(X[:labelled], y[:labelled]).predict(X[labelled:])
            else:
                found = model.fit(X, known).transduction_[labelled:]
            seconds = min(seconds, time.process_time() - start)
    return seconds, float((found == y[labelled:]).mean()), _common.peak_memory_mb()


def main() -> None:
    """Print the table and hold the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--largest", action="store_true", help="l + u of 3,000 + 30,000 only")
    options = parser.parse_args()
    print(_common.versions())
    names = ["SVC", "LabelSpreading", "T-SVM", "adaptive 10 %", "uniform 10 %"]
    rows, claims, peak = [], [], 0.0
    for labelled, rest, theirs in SIZES[-1:] if options.largest else SIZES:
        found = {n: _common.in_fresh_process(run, labelled, rest, n).result for n in names}
        cells = [f"{s:.2f} / {a:.3f}" for s, a, _ in found.values()]
        ours, least = found["T-SVM"], found["SVC"][1] - 0.005
        peak = max(peak, *(p for n, (_, _, p) in found.items() if n not in names[:2]))
        gain = "-" if theirs is None else f"{theirs / ours[0]:.1f}"
        rows.append([f"{labelled} + {rest}", *cells, gain])
        if theirs is not None:
            ok = theirs / ours[0] >= 4.0 and ours[1] >= least
            claims.append((f"{labelled} + {rest}: {gain} times UniverSVM's figure (bar 4)", ok))
    ratio = ours[0] / found["adaptive 10 %"][0]
    claims.append((f"adaptive 10 % of 30,000: {ratio:.1f} times less CPU than all (bar 20)",
                   ratio >= 20.0))  # fmt: skip
    claims.append((f"peak {peak:.0f} MB (bar {PEAK_MB:.0f})", peak < PEAK_MB))
    print("CPU seconds / accuracy on the unlabelled points")
    _common.show_table(["l + u", *names, "UniverSVM / ours"], rows)
    for text, held in claims:
        print(f"{'holds' if held else 'FAILS'}  {text}")
    held = sum(h for _, h in claims)
    _common.finish(f"{held} of {len(claims)} bars", held == len(claims), options.check)


if __name__ == "__main__":
    main()
