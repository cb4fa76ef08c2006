"""The engines of k-means: each turns clean rows, positive weights and a task into labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.cluster import KMeans, kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.parallel import one_thread
from clusterscape._core.warnings import hear_warnings

# Elements of a temporary block.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Task:
    """The choices of one call."""

    n_clusters: int
    metric: str
    algorithm: str
    init: str
    n_init: int
    max_iter: int
    tol: float

    def plan(self) -> Any:
        """Return the choices as the kernels take them."""
        return kernels.kmeans.Plan(
            int(self.n_clusters),
            self.init == "k-means++",
            self.algorithm == "hartigan",
            self.metric == "cosine",
            int(self.n_init),
            int(self.max_iter),
            float(self.tol),
        )


def run(
    engine: str, X: Any, weight: np.ndarray, task: Task, seed: SeedSequence
) -> tuple[np.ndarray, int]:
    """Return the labels, of which some numbers may be unused, and the iterations."""
    if engine.endswith("+exchange"):
        first = replace(task, algorithm="lloyd")
        labels, n_iter = run(engine.removesuffix("+exchange"), X, weight, first, seed)
        XT = np.ascontiguousarray(X.T)
        _, passes = kernels.kmeans.refine(XT, np.arange(len(XT)), weight, labels, task.plan())
        return labels, n_iter + passes
    if engine == "kernel":
        XT = np.ascontiguousarray(X.T)
        d = len(XT)
        seeds = np.array([_seeds.kernel_seed(seed)], np.uint64)
        ends = np.array([0, d])
        fits = kernels.kmeans.fit_many(XT, np.arange(d), ends, weight, task.plan(), seeds)
        return fits.labels[0], int(fits.n_iter[0])
    if engine == "sparse":
        rows = kernels.kmeans_sparse.Rows(*_used_columns(*_csr_arrays(X), X.shape[1]))
        state = kernels.random.new_state(_seeds.kernel_seed(seed))
        labels, _, n_iter = kernels.kmeans_sparse.fit(rows, weight, task.plan(), state)
        return labels, int(n_iter)
    if engine == "blas":
        return _run_blas(X, weight, task, seed)
    return _run_sklearn(X, weight, task, seed)


def _run_sklearn(
    X: Any, weight: np.ndarray, task: Task, seed: SeedSequence
) -> tuple[np.ndarray, int]:
    plus = task.init != "random" and not sparse.issparse(X)
    trials = 1 if task.init == "plain-k-means++" else 2 + int(np.log(task.n_clusters))
    if sparse.issparse(X):
        X = sparse.csr_matrix(_csr_arrays(X), shape=X.shape)
    models = []
    for child in seed.spawn(task.n_init) if plus else [seed]:
        models.append(
            KMeans(
                task.n_clusters,
                init=_plus_plus(X, weight, task.n_clusters, trials, child) if plus else task.init,
                n_init=1 if plus else task.n_init,
                max_iter=task.max_iter,
                tol=task.tol,
                random_state=_seeds.sklearn_seed(seed),
            )
        )
        # Too few distinct points have a defined answer here; and the order of sums, and with it
        # the result, would depend on the number of threads.
        with hear_warnings(ConvergenceWarning), one_thread():
            models[-1].fit(X, sample_weight=None if np.ptp(weight) == 0 else weight)
    best = min(models, key=lambda model: model.inertia_)
    return best.labels_, int(best.n_iter_)


def _plus_plus(
    X: np.ndarray, weight: np.ndarray, k: int, trials: int, seed: SeedSequence
) -> np.ndarray:
    """Return k rows by k-means++, each the best of some draws, in few passes."""
    rng = np.random.default_rng(seed)
    centred = X - X.mean(axis=0)  # less cancellation in |x|^2 - 2xc + |c|^2
    squares = np.einsum("ij,ij->i", centred, centred).astype(np.float64)
    best = np.full(len(X), np.inf)
    cumulated = np.cumsum(weight)
    costs = np.empty(trials)
    chosen: list[int] = []
    with one_thread():
        while len(chosen) < k and cumulated[-1] > 0:
            draws = rng.random(trials if chosen else 1) * cumulated[-1]
            rows = np.minimum(np.searchsorted(cumulated, draws, "right"), len(X) - 1)
            products = centred @ centred[rows].T
            winner = 0
            if len(rows) > 1:
                kernels.kmeans.potentials(products, squares, squares[rows], best, weight, costs)
                winner = int(np.argmin(costs))
            chosen.append(int(rows[winner]))
            kernels.kmeans.approach(
                products, winner, squares, squares[rows], best, weight, cumulated
            )
    chosen += chosen[:1] * (k - len(chosen))  # every row is a centre already
    return X[chosen]


def _run_blas(
    U: np.ndarray, weight: np.ndarray, task: Task, seed: SeedSequence
) -> tuple[np.ndarray, int]:
    """Spherical k-means on dense unit rows: the cosines are one matrix product per block."""
    random = np.random.RandomState(_seeds.sklearn_seed(seed))
    share = weight / weight.sum()
    mean = share @ U
    limit = task.tol * max(1.0 - float(mean @ mean), 0.0) / U.shape[1]
    best: tuple[float, np.ndarray, int] | None = None
    for _ in range(task.n_init):
        if task.init == "k-means++":
            _, picks = kmeans_plusplus(
                U, task.n_clusters, sample_weight=weight, random_state=random
            )
        else:
            picks = random.choice(len(U), task.n_clusters, replace=False, p=share)
        labels, cosine, n_iter = _spherical_lloyd(U, weight, U[picks], task.max_iter, limit)
        cost = float(weight @ (1.0 - cosine))
        if best is None or cost < best[0]:
            best = cost, labels, n_iter
    assert best is not None
    return best[1], best[2]


def _spherical_lloyd(
    U: np.ndarray, weight: np.ndarray, centers: np.ndarray, max_iter: int, limit: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return labels, the cosine of each row with its center, and the iterations."""
    old = None
    settled = False
    n_iter = 0
    while True:
        n_iter += 1
        labels, cosine = largest_cosine(U, centers)
        _fill_empty(labels, cosine, len(centers))
        if settled or n_iter >= max_iter or (old is not None and np.array_equal(labels, old)):
            return labels, cosine, n_iter
        old = labels
        sums = cluster_sums(U, labels, weight, len(centers))
        norm = np.sqrt((sums**2).sum(axis=1, keepdims=True))
        # Rows that cancel have no direction, and an empty cluster no rows: the old center stays.
        moved = np.divide(sums, norm, out=centers.astype(np.float64), where=norm > 0)
        settled = float(((moved - centers) ** 2).sum()) <= limit
        centers = moved.astype(U.dtype)


def _fill_empty(labels: np.ndarray, cosine: np.ndarray, k: int) -> None:
    """Start each empty cluster anew at the row farthest from its center, in place."""
    count = np.bincount(labels, minlength=k)
    for c in np.flatnonzero(count == 0):
        reach = np.where(count[labels] > 1, cosine, 1.0)
        far = int(np.argmin(reach))
        if reach[far] >= 1.0 - _tiny(cosine.dtype):
            return
        count[labels[far]] -= 1
        count[c] += 1
        labels[far] = c
        cosine[far] = 1.0


def _tiny(dtype: Any) -> float:
    """Return the difference of two cosines that is only rounding."""
    return 32.0 * float(np.finfo(dtype).eps)


def nearest(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the nearest center of dense rows, by differences, which an offset does not round."""
    kind = np.float32 if X.dtype == np.float32 else np.float64
    centers = np.ascontiguousarray(centers, kind)
    labels = np.empty(len(X), np.int32)
    buffer = np.empty(256, kind)
    for rows in batches(len(X), X.shape[1]):
        XT = np.ascontiguousarray(X[rows].T, kind)
        best = np.empty(XT.shape[1], kind)
        kernels.kmeans.assign(XT, np.arange(len(XT)), centers, labels[rows], best, buffer)
    return labels


def largest_cosine(U: Any, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return, for unit rows, the direction with the largest cosine (the first of equals) and it."""
    labels = np.empty(U.shape[0], np.int32)
    cosine = np.empty(U.shape[0], U.dtype)
    slack = _tiny(U.dtype)
    for rows in batches(U.shape[0], len(directions)):
        scores = np.asarray(U[rows] @ directions.T)
        cosine[rows] = scores.max(axis=1)
        labels[rows] = np.argmax(scores >= cosine[rows, None] - slack, axis=1)
    return labels, cosine


def batches(n: int, width: int) -> Iterator[slice]:
    """Cut n rows into slices such that a block of ``width`` columns stays small."""
    step = max(1, _BLOCK // max(width, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def cluster_sums(X: Any, labels: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Return the weighted sum of each cluster's rows, in float64."""
    out = np.zeros((k, X.shape[1]))
    if not sparse.issparse(X):
        codes = labels.astype(np.int32, copy=False)
        kernels.labels.weighted_sums(codes, weight, np.ascontiguousarray(X), out)
        return out
    n = len(labels)
    indicator = sparse.csr_array((weight, (labels, np.arange(n))), shape=(k, n))
    # The product stays sparse: it holds no more values than X.
    return np.asarray((indicator @ sparse.csr_array(X)).toarray(out=out))


def _csr_arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a CSR matrix, with 32-bit indices wherever they suffice."""
    kind = np.int32 if max(X.nnz, X.shape[1]) < 2**31 else np.int64
    return X.data, X.indices.astype(kind, copy=False), X.indptr.astype(kind, copy=False)


def _used_columns(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, n_columns: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Return CSR arrays without the columns that hold nothing, and how many columns are left.

    A table of words often has many that no row uses, and the tables of the kernel have as many rows
    as there are columns.
    """
    used = np.zeros(n_columns, bool)
    used[indices] = True
    places = np.cumsum(used, dtype=indices.dtype) - indices.dtype.type(1)
    return data, places[indices], indptr, int(used.sum())
