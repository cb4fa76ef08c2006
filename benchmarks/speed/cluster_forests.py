"""Cluster forests: against the same algorithm on scikit-learn, and on 100,000 points.

The twin is Algorithm 1 to 3 of the paper written down with scikit-learn: ``KMeans`` with 20 random
starts for every try, the co-association as a dense matrix, and ``SpectralClustering`` of the
regularised matrix (k-way, where the paper and this library cut in two; for two clusters it is one
cut either way). Both take 100 vectors of two columns a draw, three failures in a row, and kappa by
the analysis of variance; draws differ. One thread each. The bar: at least 20 times less CPU time
on WDBC and on Madelon, and the same accuracy within noise: the means over the seeds differ by no
more than three standard errors of their difference, or by half a point.

Then 100 vectors on 25,000, 50,000 and 100,000 points with 20 informative columns of 100, each in
a process of its own: memory must grow linearly (the second doubling adds at most 2.5 times what
the first one adds), and the accuracy is printed beside that of the exact method on 5,000 points.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._parallel import one_thread

T, STARTS, DRAW, PATIENCE = 100, 20, 2, 3
THRESHOLD, SCALE = 0.4, 10.0
BAR, BAR_GROWTH = 20.0, 2.5
SIZES = (25_000, 50_000, 100_000)
COLUMNS, INFORMATIVE, SHIFT = 100, 20, 0.75


def twin(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the labels of a cluster forest written with scikit-learn."""
    from sklearn.cluster import KMeans, SpectralClustering

    rng = np.random.default_rng(seed)
    squares = ((X - X.mean(axis=0)) ** 2).sum(axis=0)

    def clustered(columns: list[int]) -> tuple[float, np.ndarray]:
        model = KMeans(k, init="random", n_init=STARTS, max_iter=200, tol=0.0, random_state=seed)
        model.set_params(random_state=int(rng.integers(2**31)))
        model.fit(X[:, columns])
        within = float(model.inertia_)
        return within / (squares[columns].sum() - within), model.labels_

    n = len(X)
    together = np.zeros((n, n))
    for _ in range(T):
        columns = rng.choice(X.shape[1], DRAW, replace=False).tolist()
        kappa, labels = clustered(columns)
        failures = 0
        while failures < PATIENCE:
            wider = columns + rng.choice(X.shape[1], DRAW, replace=False).tolist()
            trial, found = clustered(wider)
            if trial < kappa:
                columns, kappa, labels, failures = wider, trial, found, 0
            else:
                failures += 1
        together += labels[:, None] == labels
    share = together / T
    affinity = np.exp(SCALE * np.where(share >= THRESHOLD, share, 0.0))
    model = SpectralClustering(k, affinity="precomputed", random_state=seed)
    return model.fit_predict(affinity)


def ours(X: np.ndarray, k: int, seed: int, **options: Any) -> Any:
    """Return a fitted forest."""
    from clusterscape.combine import ClusterForest, FeatureScaleWarning

    given = {"patience": PATIENCE, "kappa": "anova", "n_jobs": 1, **options}
    model = ClusterForest(k, n_vectors=T, n_init=STARTS, random_state=seed, progress=False, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureScaleWarning)  # the data are raw, as in the paper
        return model.fit(X)


def race(name: str, seeds: int, home: Path | None) -> tuple[list[Any], bool]:
    """Return a row of the table for a dataset, and whether it holds the bars."""
    from clusterscape.compare import accuracy

    data = _common.load(name, home)
    X, y = np.asarray(data.data, dtype=np.float64), data.target
    k = len(np.unique(y))
    ours(X[:50], k, 0)  # compile
    seconds: dict[str, list[float]] = {"ours": [], "twin": []}
    scores: dict[str, list[float]] = {"ours": [], "twin": []}
    for seed in range(seeds):
        with one_thread(), _common.measure() as taken:
            labels = ours(X, k, seed).labels_
        seconds["ours"].append(taken.cpu)
        scores["ours"].append(100 * float(accuracy(y, labels)))
        with one_thread(), _common.measure() as taken:
            labels = twin(X, k, seed)
        seconds["twin"].append(taken.cpu)
        scores["twin"].append(100 * float(accuracy(y, labels)))
    ratio = float(np.mean(seconds["twin"]) / np.mean(seconds["ours"]))
    mean = {who: float(np.mean(values)) for who, values in scores.items()}
    error = float(np.sqrt(sum(np.var(v, ddof=1) / len(v) for v in scores.values())))
    same = abs(mean["ours"] - mean["twin"]) <= max(3 * error, 0.5)
    spread = {who: float(np.std(values)) for who, values in scores.items()}
    row = [name, f"{X.shape[0]} x {X.shape[1]}", seeds]
    row += [f"{np.mean(seconds[who]):.2f}" for who in ("ours", "twin")]
    row += [f"{ratio:.1f}", *(f"{mean[w]:.1f}+-{spread[w]:.1f}" for w in ("ours", "twin"))]
    return row, ratio >= BAR and same


def mixture(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two Gaussians that differ in some of the columns."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=n)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    X[:, :INFORMATIVE] += SHIFT * (2 * y[:, None] - 1).astype(np.float32)
    return X, y


def large(n: int, landmarks: Any) -> tuple[float, float, int, float, float]:
    """Return CPU seconds, accuracy, landmarks, their agreement, and the columns found."""
    from clusterscape.compare import accuracy

    ours(mixture(200)[0], 2, 0)  # compile
    X, y = mixture(n)
    with _common.measure() as taken:
        model = ours(X, 2, 0, n_competitors=5, landmarks=landmarks, n_jobs=2)
    best = np.argsort(model.feature_importances_)[-INFORMATIVE:]
    found = float((best < INFORMATIVE).mean())
    score = 100 * float(accuracy(y, model.labels_))
    return taken.cpu, score, model.n_landmarks_, model.landmark_agreement_, found


def main() -> None:
    """Run the race and the large sets."""
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--seeds", type=int, help="runs of both; by default 5, with --check 2")
    made.add_argument("--sizes", nargs="+", type=int, help="points of the large sets")
    options = made.parse_args()
    seeds = options.seeds or (2 if options.check else 5)
    sizes = options.sizes or ((10_000, 20_000) if options.check else SIZES)
    print(_common.versions())
    rows, fine = [], []
    for name in ("wdbc",) if options.check else ("wdbc", "madelon"):
        row, ok = race(name, seeds, options.data_home)
        rows.append(row)
        fine.append(ok)
    header = ["set", "size", "runs", "CPU s", "twin", "ratio", "rho_c", "twin"]
    _common.show_table(header, rows)
    print()
    rows, peaks = [], []
    for n, landmarks in [(5000, None), *((size, "auto") for size in sizes)]:
        run = _common.in_fresh_process(large, n, landmarks)
        cpu, score, marks, agreement, found = run.result
        peaks.append(run.peak_mb)
        cells = [f"{cpu:.1f}", f"{run.peak_mb:.0f}", f"{score:.2f}", marks or "exact"]
        rows.append([f"{n:,}", *cells, f"{agreement:.3f}", f"{found:.2f}"])
    header = ["points", "CPU s", "peak MB", "accuracy", "landmarks", "agreement", "columns found"]
    _common.show_table(header, rows)
    growth = (peaks[-1] - peaks[-2]) / max(peaks[-2] - peaks[-3], 1.0) if len(sizes) > 2 else 0.0
    said = f"; memory of the last doubling x{growth:.1f} of the one before (bar {BAR_GROWTH})"
    _common.finish(
        f"bars held on {sum(fine)} of {len(fine)} sets: at least {BAR:g} times less CPU time at "
        f"the same accuracy{said if len(sizes) > 2 else ''}",
        all(fine) and growth <= BAR_GROWTH,
        options.check,
    )


if __name__ == "__main__":
    main()
