"""k-means in one place: one function, and the engine that suits the data behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Choice, Integer, Number, Seed, checked
from clusterscape._core.weights import checked_weights
from clusterscape.linalg import kmeans_engines as engines
from clusterscape.linalg.distances import check_range
from clusterscape.linalg.kmeans_engines import Task

# Below this many products of one assignment (points * columns * clusters), or with so few columns
# that a matrix product gains nothing, the kernel beats scikit-learn on one thread.
_SMALL_WORK = 10_000_000
_FEW_COLUMNS = 4
_SOME_COLUMNS = 16  # with so few, four times as many products
# Above this many points Hartigan starts from Lloyd's result.
_MANY_POINTS = 20_000


@dataclass(frozen=True)
class KMeansResult:
    """A k-means partition.

    Attributes
    ----------
    labels : ndarray of shape (n,), int32
        Cluster of each row, 0..k'-1. Only clusters that are not empty are numbered: k' is less
        than ``n_clusters`` when there are fewer distinct rows.
    centers : ndarray of shape (k', d)
        Weighted mean of each cluster's rows; for the cosine, of its rows of unit length.
    inertia : float
        Weighted sum of squared distances to the centers; for the cosine, of 1 - cos.
    n_iter : int
        Iterations (Lloyd) or passes (Hartigan) of the restart that was kept.
    engine : str
        What computed it: "kernel", "sklearn", "sparse" (cosine on CSR) or "blas" (cosine on large
        dense data); "+exchange" is added where Hartigan started from Lloyd's result.

    See Also
    --------
    clusterscape.linalg.kmeans.kmeans : Make one.
    """

    labels: np.ndarray
    centers: np.ndarray
    inertia: float
    n_iter: int
    engine: str


@checked(
    {
        "n_clusters": (Integer(1),),
        "metric": (Choice("euclidean", "cosine"),),
        "algorithm": (Choice("lloyd", "hartigan"),),
        "init": (Choice("k-means++", "plain-k-means++", "random"),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "tol": (Number(0),),
        "seed": (Seed(),),
        "engine": (Choice("auto", "kernel", "sklearn"),),
    }
)
def kmeans(
    X: ArrayLike,
    n_clusters: int,
    *,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    algorithm: Literal["lloyd", "hartigan"] = "lloyd",
    init: Literal["k-means++", "plain-k-means++", "random"] = "k-means++",
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 1e-4,
    sample_weight: ArrayLike | None = None,
    seed: SeedSequence | int | None = None,
    engine: Literal["auto", "kernel", "sklearn"] = "auto",
) -> KMeansResult:
    """Partition rows into clusters around their means.

    k-means finds round clusters of similar size. It fails on long or nested shapes, follows the
    columns with the largest scale, and a single start may end in a poor local optimum.

    Parameters
    ----------
    X : array-like or CSR matrix of shape (n, d)
        The rows. float32 is computed as float32. Sparse rows stay sparse.
    n_clusters : int
        Clusters to form, at most n.
    metric : {"euclidean", "cosine"}
        With "cosine" rows are scaled to unit length and a center is a direction. A row of zeros
        has no direction and goes to cluster 0.
    algorithm : {"lloyd", "hartigan"}
        Lloyd moves all points at once; Hartigan's exchange moves one at a time as long as the
        cost falls, ends in a subset of Lloyd's optima and never leaves a cluster empty. It needs
        dense data and the Euclidean metric. With engine="auto" and more than 20,000 rows it
        starts from Lloyd's result.
    init : {"k-means++", "plain-k-means++", "random"}
        Greedy k-means++, which takes the best of a few draws for each center; the same with one
        draw, as its authors have it, whose starts differ more (dense rows and Lloyd's Euclidean
        iterations only); or distinct random rows.
    n_init : int
        Restarts; the one with the lowest inertia is kept.
    max_iter : int
        Iterations (Lloyd) or passes over the points (Hartigan) at most.
    tol : float
        Lloyd stops when the squared shift of the centers is at most ``tol`` times the mean
        variance of the columns, or no label changes.
    sample_weight : array-like of shape (n,), optional
        Weights >= 0. A row of weight 0 does not move the centers; it gets the label of the
        nearest one.
    seed : SeedSequence, int or None
        The same seed gives the same result.
    engine : {"auto", "kernel", "sklearn"}
        "auto" chooses by size. A named engine is used or refused, never replaced.

    Returns
    -------
    KMeansResult
        Labels, centers, inertia, iterations and the engine used.

    See Also
    --------
    nearest_center : Assign other rows to the centers.

    References
    ----------
    .. [1] S. P. Lloyd. Least squares quantization in PCM. IEEE Transactions on Information Theory
       28(2), 129-137, 1982. doi:10.1109/TIT.1982.1056489
    .. [2] J. A. Hartigan and M. A. Wong. Algorithm AS 136: a k-means clustering algorithm. Applied
       Statistics 28(1), 100-108, 1979. doi:10.2307/2346830
    .. [3] D. Arthur and S. Vassilvitskii. k-means++: the advantages of careful seeding. ACM-SIAM
       Symposium on Discrete Algorithms, 1027-1035, 2007.
    .. [4] I. S. Dhillon and D. S. Modha. Concept decompositions for large sparse text data using
       clustering. Machine Learning 42, 143-175, 2001. doi:10.1023/A:1007612920971

    Examples
    --------
    >>> from clusterscape.linalg.kmeans import kmeans
    >>> result = kmeans([[0.0], [0.2], [5.0], [5.2]], 2, n_init=3, seed=0)
    >>> bool(result.labels[0] == result.labels[1] != result.labels[2] == result.labels[3])
    True
    >>> round(result.inertia, 6)
    0.04
    """
    task = Task(n_clusters, metric, algorithm, init, n_init, max_iter, tol)
    data: Any = X
    if not _is_checked(X):
        data = check_array(
            X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C", estimator="kmeans"
        )
    if sparse.issparse(data) and not data.has_canonical_format:
        data = data.copy()
        data.sum_duplicates()
    n = data.shape[0]
    if n_clusters > n:
        raise ParameterError(
            f"{{n_clusters}} is more than the {n} rows of X; ask for at most {n} clusters.",
            n_clusters=n_clusters,
        )
    check_range(data, "X")
    weight = checked_weights(sample_weight, n)
    used = _choose_engine(data, task, engine)
    rows = normalize(data) if metric == "cosine" else data
    keep = weight > 0
    if metric == "cosine":
        keep &= _has_direction(rows)
    if not keep.any():
        # All rows are zero: one cluster without a direction.
        center = np.zeros((1, data.shape[1]), data.dtype)
        labels = np.zeros(n, np.int32)
        return KMeansResult(labels, center, float(weight.sum()), 1, used)
    kept = rows if keep.all() else rows[np.flatnonzero(keep)]
    task = replace(task, n_clusters=min(n_clusters, kept.shape[0]))
    labels, n_iter = engines.run(used, kept, weight[keep], task, _seeds.root_sequence(seed))
    return _finish(rows, keep, labels, weight, metric, n_iter, used)


def kmeans_on_samples(
    X: Any,
    samples: np.ndarray,
    counts: np.ndarray,
    *,
    algorithm: Literal["lloyd", "hartigan"] = "lloyd",
    init: Literal["k-means++", "random"] = "k-means++",
    n_init: int = 1,
    max_iter: int = 300,
    tol: float = 1e-4,
    seeds: np.ndarray,
    out: np.ndarray,
) -> None:
    """Cluster samples of the rows, each into several numbers of clusters.

    The same as a call of :func:`kmeans` for every sample and number, in one call where the data are
    small: thousands of small fits take little more than their own time.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows.
    samples : (m, size) array
        Rows of each sample.
    counts : (q,) array
        Numbers of clusters, at most ``size``.
    algorithm, init, n_init, max_iter, tol
        As in :func:`kmeans`.
    seeds : (m, q) array of uint64
        A seed for every fit.
    out : (q, m, n) array of integers
        Receives the labels of the sampled rows; others are left alone. Some numbers may be unused.

    See Also
    --------
    kmeans : One fit, with its centers and inertia.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.kmeans import kmeans_on_samples
    >>> out = np.full((1, 1, 4), -2)
    >>> seeds = np.zeros((1, 1), dtype=np.uint64)
    >>> X = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> kmeans_on_samples(X, np.array([[0, 1, 3]]), np.array([2]), seeds=seeds, out=out)
    >>> labels = out[0, 0]
    >>> bool(labels[0] == labels[1] != labels[3]), int(labels[2])
    (True, -2)
    """
    task = Task(int(counts.max()), "euclidean", algorithm, init, n_init, max_iter, tol)
    size = samples.shape[1]
    if _choose_engine(X[:size], task, "auto") == "kernel":
        check_range(X, "X")
        XT = np.ascontiguousarray(X.T)
        numbers = np.ascontiguousarray(counts, np.int64)
        kernels.kmeans.fit_samples(XT, samples, numbers, task.plan(), seeds, out)
        return
    how: Any = {"algorithm": algorithm, "init": init, "n_init": n_init, "tol": tol}
    for s, rows in enumerate(samples):
        for j, k in enumerate(counts):
            found = kmeans(X[rows], int(k), max_iter=max_iter, seed=int(seeds[s, j]), **how)
            out[j, s, rows] = found.labels


@checked({"metric": (Choice("euclidean", "cosine"),)})
def nearest_center(
    X: Any, centers: np.ndarray, *, metric: Literal["euclidean", "cosine"] = "euclidean"
) -> np.ndarray:
    """Return, for each row, the index of the nearest center (the first of equals).

    As in k-means itself, a far outlier gets a label too.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        The rows.
    centers : ndarray of shape (k, d)
        The centers, as in :class:`KMeansResult`.
    metric : {"euclidean", "cosine"}
        What is near. With "cosine", rows of zeros get 0.

    Returns
    -------
    ndarray of shape (n,), int32
        Indices into ``centers``.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.kmeans import nearest_center
    >>> nearest_center(np.array([[1.0], [8.0]]), np.array([[0.0], [9.0]]))
    array([0, 1], dtype=int32)
    """
    centers = np.asarray(centers)
    if metric == "cosine":
        return engines.largest_cosine(normalize(X), normalize(centers))[0]
    if sparse.issparse(X):
        return pairwise_distances_argmin(X, centers).astype(np.int32)
    return engines.nearest(np.asarray(X), centers)


def _choose_engine(X: Any, task: Task, engine: str) -> str:
    """Return the engine for the task, or say why the one asked for cannot do it."""
    is_sparse = sparse.issparse(X)
    cosine = task.metric == "cosine"
    if task.algorithm == "hartigan":
        if is_sparse:
            raise ValueError(
                "algorithm='hartigan' needs dense data, but X is sparse; "
                "use algorithm='lloyd', or X.toarray() if that fits in memory."
            )
        if cosine:
            raise ValueError(
                "algorithm='hartigan' needs metric='euclidean'; "
                "use algorithm='lloyd' for the cosine."
            )
    if task.init == "plain-k-means++":
        if is_sparse or cosine or task.algorithm == "hartigan" or engine == "kernel":
            raise ValueError(
                "init='plain-k-means++' is for dense data, metric='euclidean', algorithm='lloyd' "
                "and engine='auto' or 'sklearn'; use init='k-means++' otherwise."
            )
        return "sklearn"
    if engine == "sklearn":
        if cosine or task.algorithm == "hartigan":
            what = "metric='cosine'" if cosine else "algorithm='hartigan'"
            raise ValueError(f"engine='sklearn' cannot do {what}; use engine='auto' or 'kernel'.")
        return "sklearn"
    if is_sparse:
        if cosine:
            return "sparse"
        if engine == "kernel":
            raise ValueError(
                "engine='kernel' cannot do metric='euclidean' on sparse X; "
                "use engine='auto' or 'sklearn', or metric='cosine'."
            )
        return "sklearn"
    n, d = X.shape
    work = _SMALL_WORK * (4 if d <= _SOME_COLUMNS and not cosine else 1)
    small = n * d * task.n_clusters <= work or d <= _FEW_COLUMNS
    if engine == "kernel" or (task.algorithm == "hartigan" and n <= _MANY_POINTS):
        return "kernel"
    used = "kernel" if small else ("blas" if cosine else "sklearn")
    return f"{used}+exchange" if task.algorithm == "hartigan" else used


def _is_checked(X: Any) -> bool:
    """Say whether ``check_array`` would hand X back: its looking takes longer than a small fit."""
    with np.errstate(over="ignore", invalid="ignore"):  # then it is looked at
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in (np.float64, np.float32)
            and X.flags.c_contiguous
            and X.size > 0
            and bool(np.isfinite(X.sum()))
        )


def _finish(
    rows: Any,
    keep: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    metric: Literal["euclidean", "cosine"],
    n_iter: int,
    used: str,
) -> KMeansResult:
    """Number the clusters that are not empty and measure them from the labels alone."""
    found, labels = np.unique(labels, return_inverse=True)
    every = np.zeros(rows.shape[0], np.int32)
    every[keep] = labels
    pull = np.where(keep, weight, 0.0)
    sums = engines.cluster_sums(rows, every, pull, len(found))
    mass = np.bincount(every, weights=pull, minlength=len(found))
    centers = sums / mass[:, None]
    if metric == "cosine":
        inertia = float(weight.sum() - np.sqrt((sums**2).sum(axis=1)).sum())
    else:
        inertia = _squared_error(rows, every, pull, centers)
    centers = centers.astype(rows.dtype, copy=False)
    if not keep.all():
        every[~keep] = nearest_center(rows[np.flatnonzero(~keep)], centers, metric=metric)
    return KMeansResult(every, centers, max(inertia, 0.0), n_iter, used)


def _squared_error(X: Any, labels: np.ndarray, weight: np.ndarray, centers: np.ndarray) -> float:
    if sparse.issparse(X):
        # |x|^2 - 2xc + |c|^2, since x - c would be dense.
        own = np.asarray(X.multiply(X).sum(axis=1)).ravel() @ weight
        mass = np.bincount(labels, weights=weight, minlength=len(centers))
        return float(own - (mass * (centers**2).sum(axis=1)).sum())
    total = 0.0
    for rows in engines.batches(X.shape[0], X.shape[1]):
        error = X[rows] - centers[labels[rows]]
        total += float(np.einsum("ij,ij,i->", error, error, weight[rows]))
    return total


def _has_direction(rows: Any) -> np.ndarray:
    if sparse.issparse(rows):
        return np.asarray(abs(rows).sum(axis=1)).ravel() > 0
    return rows.any(axis=1)
