"""Consensus of millions of points: memory, agreement with the planted clusters, growth with n.

50 partitions of 10 to 100 cells refine 10 planted clusters, with one label in ten drawn at random.
The bars:

- SEC on 2,000,000 points within 1.0 GB of peak memory, ARI at least 0.95, and time per point at
  2,000,000 no more than 1.3 times that at 200,000. The starts of SEC run on a sample of fixed size;
  their time is measured on 20,000 points and taken off before times per point are compared, because
  it would flatter the ratio. What is left at 200,000 is some hundredths of a second, so a time is
  that of the quickest of several fits.
- KCC, SECRP, SCA, MCLA, HBGF and the spectral consensus on 1,000,000 points within 4 GB, and time
  per point at 1,000,000 no more than 1.5 times that at 100,000.

Beside it scikit-learn's KMeans with one start on the one-hot matrix, on 200,000 points (without
``--check`` on 2,000,000 as well). The planted ensemble is easy: an ARI of 1 says that a method
works at this size, not that it is the best on hard data. ``--methods sec,kcc`` runs some of them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

PARTITIONS, CLUSTERS = 50, 10
SIZES = (20_000, 200_000, 2_000_000)
REPEATS = {20_000: 6, 200_000: 6, 2_000_000: 2}  # fits of SEC
BAR_MB, BAR_ARI, BAR_GROWTH = 1000.0, 0.95, 1.3
OTHER_SIZES = (100_000, 1_000_000)
OTHER_MB, OTHER_GROWTH = 4000.0, 1.5
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "kcc": ("kcc", {}),
    "secrp": ("sec", {"projection": "sparse"}),
    "sca": ("sca", {}),
    "mcla": ("mcla", {}),
    "hbgf": ("hbgf", {}),
    "spectral": ("spectral", {}),
}


def planted_ensemble(n: int) -> Any:
    """Return the ensemble and the planted clusters."""
    from clusterscape.datasets import make_planted_ensemble

    return make_planted_ensemble(n, PARTITIONS, n_clusters=CLUSTERS, random_state=0)


def make(sizes: tuple[int, ...], folder: Path) -> None:
    """Keep the labels of ensembles in files: all processes of a size read the same."""
    for n in sizes:
        ensemble, planted = planted_ensemble(n)
        np.save(folder / f"labels-{n}.npy", ensemble.labels)
        np.save(folder / f"planted-{n}.npy", planted)


def kept_ensemble(n: int, folder: Path) -> Any:
    """Return the ensemble and the planted clusters that were kept."""
    from clusterscape import Ensemble

    labels = np.load(folder / f"labels-{n}.npy")
    return Ensemble.from_labels(labels), np.load(folder / f"planted-{n}.npy")


def sec(sizes: tuple[int, ...], folder: Path) -> list[tuple[float, float, int]]:
    """Return the CPU seconds of the quickest fit of SEC, its ARI and its iterations, by size.

    The sizes take turns, so that what slows the machine down for a while slows all of them.
    """
    from clusterscape.combine import SEC
    from clusterscape.compare import adjusted_rand

    model = SEC(CLUSTERS, random_state=0)
    model.fit(planted_ensemble(1000)[0])  # compile
    kept = [kept_ensemble(n, folder) for n in sizes]
    seconds = [float("inf")] * len(sizes)
    found = [(0.0, 0)] * len(sizes)
    for _ in range(min(REPEATS[n] for n in sizes)):
        for i, (ensemble, planted) in enumerate(kept):
            with _common.measure() as taken:
                model.fit(ensemble)
            seconds[i] = min(seconds[i], taken.cpu)
            found[i] = float(adjusted_rand(planted, model.labels_)), model.n_iter_
    return [(cpu, *rest) for cpu, rest in zip(seconds, found, strict=True)]


def other(name: str, folder: Path) -> list[tuple[float, float]]:
    """Return the CPU seconds and the ARI of another method at each size, the largest last."""
    from clusterscape.combine import METHODS
    from clusterscape.compare import adjusted_rand

    method, options = OTHERS[name]
    model = METHODS[method].estimator(n_clusters=CLUSTERS, random_state=0, **options)
    # Compiles what these sizes need; a fit of few points takes other ways.
    model.fit(kept_ensemble(OTHER_SIZES[0], folder)[0])
    found = []
    for n in OTHER_SIZES:
        ensemble, planted = kept_ensemble(n, folder)
        with _common.measure() as taken:
            model.fit(ensemble)
        found.append((taken.cpu, float(adjusted_rand(planted, model.labels_))))
    return found


def theirs(n: int, folder: Path) -> tuple[float, float, int]:
    """Return what scikit-learn's KMeans takes on the one-hot matrix, one start."""
    from sklearn.cluster import KMeans

    from clusterscape.compare import adjusted_rand

    ensemble, planted = kept_ensemble(n, folder)
    matrix = ensemble.membership(dtype=np.float32).matrix
    with one_thread(), _common.measure() as taken:
        model = KMeans(CLUSTERS, n_init=1, random_state=0).fit(matrix)
    return taken.cpu, float(adjusted_rand(planted, model.labels_)), model.n_iter_


def measure_sec(check: bool, folder: Path) -> tuple[str, bool]:
    """Measure SEC at all sizes; return the sentence of its bar and whether it is held."""
    rows = []
    runs: dict[int, tuple[float, float, int]] = {}
    _common.in_fresh_process(make, SIZES, folder)
    for sizes in (SIZES[:2], SIZES[2:]):
        run = _common.in_fresh_process(sec, sizes, folder)
        for n, (cpu, ari, n_iter) in zip(sizes, run.result, strict=True):
            runs[n] = cpu, ari, n_iter
            shown = f"{run.peak_mb:.0f}" if n == sizes[-1] else ""
            rows.append([f"SEC, 10 starts, n={n:,}", f"{cpu:.2f}", n_iter, shown, f"{ari:.3f}"])
    for n in SIZES[1:2] if check else SIZES[1:]:
        peer = _common.in_fresh_process(theirs, n, folder)
        cpu, ari, n_iter = peer.result
        found = [f"{cpu:.2f}", n_iter, f"{peer.peak_mb:.0f}", f"{ari:.3f}"]
        rows.append([f"KMeans, 1 start, n={n:,}", *found])
    _common.show_table(["", "CPU s", "iterations", "peak MB", "ARI"], rows)
    starts, middle, large = SIZES
    base = runs[starts][0]
    per_point = [(runs[n][0] - base) / (n - starts) / runs[n][2] for n in (middle, large)]
    growth = per_point[1] / per_point[0]
    plain = (runs[large][0] / large) / (runs[middle][0] / middle)
    print(f"time per point, starts included: x{plain:.2f} from {middle:,}")
    peak, ari = run.peak_mb, runs[large][1]  # of the process with the largest size
    held = peak <= BAR_MB and ari >= BAR_ARI and max(growth, plain) <= BAR_GROWTH
    return (
        f"SEC on {large:,} x {PARTITIONS}: peak {peak:.0f} MB (bar {BAR_MB:.0f}), ARI {ari:.3f} "
        f"(bar {BAR_ARI}), time per point and iteration x{growth:.2f} from {middle:,} "
        f"(bar {BAR_GROWTH})",
        held,
    )


def measure_others(names: list[str], folder: Path) -> list[tuple[str, bool]]:
    """Measure the other methods at two sizes, in one process each."""
    rows = []
    said = []
    middle, large = OTHER_SIZES
    if names:
        _common.in_fresh_process(make, OTHER_SIZES, folder)
    for name in names:
        run = _common.in_fresh_process(other, name, folder)
        for n, (cpu, ari) in zip(OTHER_SIZES, run.result, strict=True):
            shown = f"{run.peak_mb:.0f}" if n == large else ""
            rows.append([f"{name}, n={n:,}", f"{cpu:.2f}", shown, f"{ari:.3f}"])
        (first, _), (last, _) = run.result
        growth = last / large * middle / first
        peak = run.peak_mb
        said.append(
            (
                f"{name} on {large:,} x {PARTITIONS}: peak {peak:.0f} MB (bar {OTHER_MB:.0f}), time"
                f" per point x{growth:.2f} from {middle:,} (bar {OTHER_GROWTH})",
                peak <= OTHER_MB and growth <= OTHER_GROWTH,
            )
        )
    if rows:
        _common.show_table(["", "CPU s", "peak MB", "ARI"], rows)
    return said


def main() -> None:
    """Measure all methods and sizes, each in a process of its own."""
    parser = _common.parser(__doc__.splitlines()[0])
    known = ["sec", *OTHERS]
    parser.add_argument("--methods", default=",".join(known), help="comma-separated")
    options = parser.parse_args()
    names = options.methods.split(",")
    if unknown := [name for name in names if name not in known]:
        parser.error(f"--methods: {unknown[0]} is not one of {', '.join(known)}")
    print(_common.versions())
    with tempfile.TemporaryDirectory() as folder:
        said = [measure_sec(options.check, Path(folder))] if "sec" in names else []
        said += measure_others([name for name in names if name in OTHERS], Path(folder))
    for sentence, held in said[:-1]:
        print(f"{sentence}: {'reached' if held else 'MISSED'}")
    figure = said[-1][0] if len(said) == 1 else f"{sum(h for _, h in said)} of {len(said)} bars"
    if len(said) > 1:
        print(f"{said[-1][0]}: {'reached' if said[-1][1] else 'MISSED'}")
    _common.finish(figure, all(held for _, held in said), options.check)


if __name__ == "__main__":
    main()
