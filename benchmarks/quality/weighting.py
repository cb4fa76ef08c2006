"""Which weighting of pairs is better, and can labels that are held back tell?

CCS-LS counts every pair of labelled points in full, as published (``weighting="pairs"``), or holds
the pull of a point's pairs to that of its affinities (``"points"``). On seven real sets (a random
4,000 rows of larger ones) and on overlapping blobs, with 100 and 400 labels, two draws of them, and
two settings of landmarks (the default, and 20 of 500 centres of k-means), ARI over all points of
both, without labels, and of the one that respects more of a fifth of the labels that was held back
(``Constraints.split``, ``member_scores``; of two that are level "pairs"), fitted again with all.

There is no bar: the program says whether a default could be replaced by such a choice.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread
from clusterscape.compare import adjusted_rand
from clusterscape.datasets import make_overlapping_blobs
from clusterscape.semisupervised import (
    Constraints,
    FastConstrainedSpectral,
    LandmarkSpectral,
    member_scores,
)

AS_THEY_ARE = ("pendigits", "semeion", "usps", "letter")
STANDARDISED = ("covtype_random10k", "mfeat", "image_segmentation")
BLOBS = ("overlapping blobs 3", "overlapping blobs 4")  # not the draw of speed/constrained.py
ROWS, COUNTS, DRAWS = 4000, (100, 400), (0, 1)
SETTINGS: tuple[dict[str, Any], ...] = ({}, {"landmarks": "kmeans", "nearest": 20})
WAYS = ("pairs", "points")
FAR = 0.05  # difference of ARI that matters


def data(name: str, home: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return features, scaled where the set is of mixed units, and classes."""
    if name in BLOBS:
        return make_overlapping_blobs(ROWS, random_state=int(name[-1]))
    found = _common.load(name, home)
    X, classes = np.asarray(found.data, dtype=np.float32), np.asarray(found.target)
    if len(X) > ROWS:
        rows = np.random.default_rng(0).choice(len(X), ROWS, replace=False)
        X, classes = X[rows], classes[rows]
    if name in STANDARDISED:
        scale = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return X, np.unique(classes, return_inverse=True)[1]


def compared(
    X: np.ndarray, y: np.ndarray, count: int, draw: int, how: dict[str, Any]
) -> tuple[float, float, float, float, bool]:
    """Return ARI without labels, by both weightings and by the chosen, and if it is the better."""
    known = np.full(len(y), -1)
    some = np.random.default_rng([draw, count]).choice(len(y), count, replace=False)
    known[some] = y[some]
    every = Constraints.from_labels(known)
    seen, held = every.split(0.2, random_state=draw)
    k, shared = int(y.max()) + 1, {"random_state": draw, "n_init": 3, "sample_rate": 0.2, **how}
    score, ari = {}, {}
    for way in WAYS:
        model = FastConstrainedSpectral(k, weighting=way, **shared)
        labels = model.fit(X, constraints=seen).labels_
        score[way] = float(member_scores(labels[:, None], held)[0])
        ari[way] = float(adjusted_rand(model.fit(X, constraints=every).labels_, y))
    plain = float(adjusted_rand(LandmarkSpectral(k, **shared).fit(X).labels_, y))
    chosen = max(WAYS, key=score.__getitem__)
    return plain, ari["pairs"], ari["points"], ari[chosen], ari[chosen] == max(ari.values())


def row(name: str, runs: np.ndarray) -> list[object]:
    """Return a row of means, and in how many runs the better weighting was chosen."""
    means = [f"{v:.3f}" for v in runs[:, :4].mean(axis=0)]
    return [name, *means, f"{int(runs[:, 4].sum())} of {len(runs)}"]


def main() -> None:
    """Print the table."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    names = BLOBS if options.check else (*AS_THEY_ARE, *STANDARDISED, *BLOBS)
    cases = [(how, count, draw) for how in SETTINGS for count in COUNTS for draw in DRAWS]
    rows, found = [], []
    for name in names:
        X, y = data(name, options.data_home)
        with one_thread():
            runs = np.array([compared(X, y, count, draw, how) for how, count, draw in cases])
        rows.append(row(name, runs))
        found.append(runs)
    real = found[: len(names) - len(BLOBS)]
    if real:
        some = np.concatenate(real)
        plain = np.concatenate([runs[: len(cases) // 2] for runs in real])
        rows += [row("real sets", some), row("those, default landmarks", plain)]
    every = np.concatenate(found)
    rows.append(row("all", every))
    _common.show_table(["set", "no labels", *WAYS, "chosen", "the better"], rows)
    far = np.abs(every[:, 1] - every[:, 2]) > FAR
    text = f"the better weighting in {int(every[far, 4].sum())} of the {far.sum()} runs"
    _common.finish(f"{text} in which they are {FAR} apart; no bar", True, options.check)


if __name__ == "__main__":
    main()
