"""Constrained clustering against other programs: time, memory and agreement with the classes.

1. MNIST (70,000 x 784, p = 500, c = 1000 labels): CCS-LS against SCACS and CCS-L, CPU seconds.
2. Blobs, 20,000 x 16, 10 classes that overlap: CCS-LS with 1000 labels against scikit-learn's
   SpectralClustering on the graph of nearest neighbours, by amg (needs pyamg) and by arpack, which
   take no constraints. As published, CCS-LS follows single labelled points here, so that the labels
   do harm: the bar is that of weighting="points" with 500 centres of k-means as landmarks and the
   20 nearest, chosen on other draws of these blobs.
3. The same at 5,000 points: COPKMeans against COPKMeans and PCKMeans of
   active-semi-supervised-clustering with their defaults (in the same run: it must be installed),
   with 1,000 pairs among 100 labelled points; mean over draws of points and pairs. The squared
   distances between the classes are of the order of the weight that PCKMeans gives a pair.
4. 1,000,000 x 16 with 1000 labels: CPU seconds and peak memory of CCS-LS in a process of its own.
5. What the paper says of its cost, O(n p^2 + n k^2 + n p d) time and O(n p + p^2) memory: CPU
   seconds and peak memory of CCS-LS for twice the points, twice the landmarks and a hundred times
   the labels, each in a process of its own.

The bars: CCS-LS faster than SCACS and CCS-L; at 20,000 points at least 3 times less CPU than amg
and 50 times less than arpack with ARI no lower; at 5,000 points at least 50 times less CPU than
either and a higher ARI; 1,000,000 points within 4 GB; twice the points take at most 2.3 times the
seconds and twice the memory, twice the landmarks at most 4.6 times the seconds. ARI is over all
points. --check runs parts 1, 4 and 5 on fewer points; the other two need their size and the other
programs.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread
from clusterscape.compare import adjusted_rand
from clusterscape.datasets import make_overlapping_blobs
from clusterscape.semisupervised import SCACS, Constraints, COPKMeans, FastConstrainedSpectral

PEERS = ("COPKMeans", "PCKMeans")
SOLVERS = {"amg": 3.0, "arpack": 50.0}  # how many times less CPU is the bar


def blobs(n: int, draw: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return overlapping blobs in 16 columns, ten classes."""
    return make_overlapping_blobs(n, random_state=draw)


def labelled(y: np.ndarray, count: int) -> np.ndarray:
    """Return the classes of some points, -1 for the others."""
    known = np.full(len(y), -1)
    chosen = np.random.default_rng(0).choice(len(y), count, replace=False)
    known[chosen] = y[chosen]
    return known


def timed(model: Any, X: np.ndarray, *args: Any, **more: Any) -> tuple[float, np.ndarray]:
    """Return CPU seconds of a fit on one thread, and the labels."""
    with warnings.catch_warnings(), one_thread(), _common.measure() as taken:
        warnings.simplefilter("ignore")
        labels = model.fit(X, *args, **more).labels_
    return taken.cpu, labels


def on_mnist(options: Any) -> tuple[list[list[object]], bool]:
    """Compare the methods by landmarks."""
    data = _common.load("mnist", options.data_home)
    X = np.asarray(data.data, dtype=np.float32) / np.float32(255)
    y = np.unique(np.asarray(data.target), return_inverse=True)[1]
    X, y = (X[:10_000], y[:10_000]) if options.check else (X, y)
    known = labelled(y, 1000)
    rows, seconds = [], {}
    models = {
        "CCS-LS": FastConstrainedSpectral(10, random_state=0),
        "CCS-L": FastConstrainedSpectral(10, sample_rate=1.0, random_state=0),
        "SCACS": SCACS(10, random_state=0),
    }
    for name, model in models.items():
        seconds[name], labels = timed(model, X, known)
        ratio = seconds[name] / seconds["CCS-LS"]
        rows.append([f"MNIST {len(X):,} {name}", f"{seconds[name]:.2f}", f"{ratio:.2f}",
                     f"{adjusted_rand(labels, y):.3f}"])  # fmt: skip
    return rows, seconds["CCS-LS"] < min(seconds["CCS-L"], seconds["SCACS"])


def against_spectral(options: Any) -> tuple[list[list[object]], bool]:
    """Compare with scikit-learn's spectral clustering."""
    from sklearn.cluster import SpectralClustering

    n = 20_000
    X, y = blobs(n)
    known = labelled(y, 1000)
    first, labels = timed(FastConstrainedSpectral(10, random_state=0), X, known)
    plain = adjusted_rand(labels, y)
    how: dict[str, Any] = {"weighting": "points", "landmarks": "kmeans", "nearest": 20}
    mine, labels = timed(FastConstrainedSpectral(10, **how, random_state=0), X, known)
    ari = adjusted_rand(labels, y)
    rows: list[list[object]] = [
        [f"blobs {n:,} CCS-LS as published", f"{first:.2f}", f"{first / mine:.1f}", f"{plain:.3f}"],
        [f"blobs {n:,} CCS-LS for overlap", f"{mine:.2f}", "1", f"{ari:.3f}"],
    ]
    fine = True
    for solver in options.solvers:
        bar = SOLVERS[solver]
        peer = SpectralClustering(
            10, affinity="nearest_neighbors", eigen_solver=solver, random_state=0
        )
        try:
            theirs, found = timed(peer, X)
        except ValueError as error:
            rows.append([f"blobs {n:,} spectral {solver}", f"not run: {error}"[:40], "-", "-"])
            fine = False
            continue
        other = adjusted_rand(found, y)
        rows.append([f"blobs {n:,} spectral {solver} (bar {bar:g})", f"{theirs:.2f}",
                     f"{theirs / mine:.1f}", f"{other:.3f}"])  # fmt: skip
        fine &= theirs >= bar * mine and ari >= other
    return rows, fine


def against_cop(options: Any) -> tuple[list[list[object]], bool]:
    """Compare with the k-means of active-semi-supervised-clustering."""
    n = 5000
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ("ours", *options.peers)}
    for draw in range(options.draws):
        X, y = blobs(n, draw)
        rng = np.random.default_rng(draw)
        some = rng.choice(n, 100, replace=False)
        left, right = np.triu_indices(100, 1)
        pairs = np.column_stack([some[left], some[right]])
        pairs = pairs[rng.choice(len(pairs), 1000, replace=False)]
        same = y[pairs[:, 0]] == y[pairs[:, 1]]
        known = Constraints(n, must_link=pairs[same], cannot_link=pairs[~same])
        seconds, labels = timed(COPKMeans(10, random_state=0), X, constraints=known)
        found["ours"].append((seconds, float(adjusted_rand(labels, y))))
        for name in options.peers:
            found[name].append(_peer(name, X, y, pairs, same))
    mine, ari = np.mean(found["ours"], axis=0)
    rows: list[list[object]] = [[f"blobs {n:,} COPKMeans", f"{mine:.3f}", "1", f"{ari:.4f}"]]
    fine = True
    for name in options.peers:
        theirs, other = np.mean(found[name], axis=0)
        rows.append([f"active-semi-supervised {name}", f"{theirs:.2f}",
                     f"{theirs / mine:.0f}", f"{other:.4f}"])  # fmt: skip
        fine &= bool(theirs >= 50 * mine and ari > other)
    return rows, fine


def _peer(
    name: str, X: np.ndarray, y: np.ndarray, pairs: np.ndarray, same: np.ndarray
) -> tuple[float, float]:
    """Return CPU seconds and ARI of the peer; not a number where it is absent or finds nothing."""
    try:
        from active_semi_clustering.semi_supervised import pairwise_constraints as peer
    except ImportError:
        return float("nan"), float("nan")
    model = getattr(peer, name)(n_clusters=10)
    must, cannot = ([tuple(map(int, p)) for p in pairs[m]] for m in (same, ~same))
    # The peer draws from the global generator; its figures should be the same in every run.
    np.random.seed(0)  # noqa: NPY002, TID251
    with one_thread(), _common.measure() as taken:
        try:
            model.fit(X, ml=must, cl=cannot)
        except Exception as error:
            print(f"{name} of the peer failed: {type(error).__name__}: {error}")
            return float("nan"), float("nan")
    return taken.cpu, float(adjusted_rand(np.asarray(model.labels_), y))


def large(n: int) -> tuple[float, int]:
    """Fit many points; return ARI and how many constraints are violated."""
    X, y = blobs(n)
    X = X.astype(np.float32)
    model = FastConstrainedSpectral(10, random_state=0).fit(X, labelled(y, 1000))
    return float(adjusted_rand(model.labels_, y)), model.violations_.count


def grown(n: int, landmarks: int, labels: int) -> float:
    """Return CPU seconds of a fit, after a small one."""
    X, y = blobs(n)
    X = X.astype(np.float32)
    FastConstrainedSpectral(10, random_state=0).fit(X[:2000], labelled(y[:2000], 100))
    model = FastConstrainedSpectral(10, n_landmarks=landmarks, random_state=0)
    return timed(model, X, labelled(y, labels))[0]


def growth(options: Any) -> bool:
    """Show how time and memory grow; say whether it is as the paper has it."""
    n = 50_000 if options.check else 500_000
    cases = {
        f"{n:,} points, 500 landmarks, 1,000 labels": (n, 500, 1000),
        "twice the points": (2 * n, 500, 1000),
        "twice the landmarks": (n, 1000, 1000),
        "a hundred times the labels" if n > 100_000 else "ten times the labels": (
            n, 500, 100_000 if n > 100_000 else 10_000,
        ),
    }  # fmt: skip
    runs = [_common.in_fresh_process(grown, *case) for case in cases.values()]
    base = runs[0]
    rows = [
        [name, f"{run.result:.2f}", f"{run.result / base.result:.2f}", f"{run.peak_mb:,.0f}",
         f"{run.peak_mb / base.peak_mb:.2f}"]
        for name, run in zip(cases, runs, strict=True)
    ]  # fmt: skip
    _common.show_table(["CCS-LS", "CPU s", "ratio", "peak MB", "ratio"], rows)
    points, landmarks = runs[1], runs[2]
    return bool(
        points.result <= 2.3 * base.result
        and points.peak_mb <= 2 * base.peak_mb
        and landmarks.result <= 4.6 * base.result
    )


def main() -> None:
    """Run all parts."""
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--parts", nargs="+", type=int, choices=range(1, 6))
    made.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS, help="of part 3")
    made.add_argument("--solvers", nargs="+", choices=SOLVERS, default=SOLVERS, help="of part 2")
    made.add_argument("--draws", type=int, default=10, help="of points and pairs in part 3")
    options = made.parse_args()
    options.parts = options.parts or ([1, 4, 5] if options.check else [1, 2, 3, 4, 5])
    print(_common.versions())
    warm, classes = blobs(600)
    for kind in (warm, warm.astype(np.float32)):
        for model in (FastConstrainedSpectral(10), SCACS(10), COPKMeans(10)):
            model.fit(kind, labelled(classes, 60))
    pairs = np.column_stack([np.arange(40), np.arange(1, 41)])
    apart = pairs[classes[pairs[:, 0]] != classes[pairs[:, 1]]]
    COPKMeans(10).fit(warm, constraints=Constraints(600, cannot_link=apart))
    parts = {1: on_mnist, 2: against_spectral, 3: against_cop}
    rows, fine = [], []
    for number in options.parts:
        if number in parts:
            made_rows, ok = parts[number](options)
            rows += made_rows
            fine.append(ok)
    if rows:
        _common.show_table(["what", "CPU s", "ratio", "ARI"], rows)
    if 4 in options.parts:
        n = 100_000 if options.check else 1_000_000
        run = _common.in_fresh_process(large, n)
        print(
            f"{n:,} x 16, c = 1000, in a process of its own, data included: {run.cpu:.1f} CPU s, "
            f"{run.peak_mb:,.0f} MB (bar 4,000), ARI {run.result[0]:.3f}"
        )
        fine.append(run.peak_mb < 4000)
    if 5 in options.parts:
        fine.append(growth(options))
    _common.finish(f"bars held by {sum(fine)} of {len(fine)} parts", all(fine), options.check)


if __name__ == "__main__":
    main()
