"""The clustering vectors of a forest: their columns, their centres, and which columns count."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis

from clusterscape._core.labels import smallest_type
from clusterscape._core.parallel import parallel_map
from clusterscape.ensemble import Ensemble, PartitionRecord
from clusterscape.linalg.kmeans import nearest_center
from clusterscape.linalg.kmeans_engines import batches, cluster_sums

_BLOCK = 8192  # new points that are labelled at a time
_DOMINANT = 0.9  # share of a vector's sum of squares that makes a column decide alone
# Share of the vectors that single columns may decide. Raw tables of mixed units have 0.36 and more,
# scaled ones none.
_OFTEN = 0.25


class FeatureScaleWarning(UserWarning):
    """One column has so large a scale that it decides the clusters alone.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.forest import FeatureScaleWarning
    >>> warnings.simplefilter("ignore", FeatureScaleWarning)
    """


@dataclass(frozen=True)
class Vector:
    """One clustering vector: its columns, in order of acceptance, and its centres on them.

    ``within`` and ``total`` are the sums of squares on each column, within clusters and in all.
    """

    columns: np.ndarray
    centers: np.ndarray
    within: np.ndarray
    total: np.ndarray


def used_columns(ensemble: Ensemble) -> list[np.ndarray]:
    """Return the columns of each vector; a column accepted twice stands twice."""
    none = np.empty(0, dtype=np.int32)
    return [none if r.columns is None else r.columns for r in ensemble.records]


def read_vectors(
    X: Any, ensemble: Ensemble, weights: np.ndarray, *, n_jobs: int | None = None
) -> list[Vector]:
    """Return the vectors of a forest with the weighted means of their clusters."""
    data = sparse.csc_matrix(X) if sparse.issparse(X) else X
    moments = _moments(X, weights)
    tasks = [
        (data, columns, ensemble.labels[:, i], weights, moments)
        for i, columns in enumerate(used_columns(ensemble))
    ]
    return parallel_map(_vector, tasks, n_jobs=n_jobs)


_Moments = tuple[np.ndarray, np.ndarray]


def _moments(X: Any, weights: np.ndarray) -> _Moments:
    """Return the weighted mean of each column and its sum of squares around it."""
    whole = weights.sum()
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weights.astype(X.dtype))
        return mean.astype(np.float64), variance.astype(np.float64) * whole
    rows = list(batches(*X.shape))
    mean = np.sum([weights[at] @ X[at] for at in rows], axis=0) / whole
    return mean, np.sum([weights[at] @ (X[at] - mean) ** 2 for at in rows], axis=0)


def _vector(task: tuple[Any, np.ndarray, np.ndarray, np.ndarray, _Moments]) -> Vector:
    X, columns, labels, weights, (mean, squares) = task
    # A column that stands twice is summed once.
    distinct, again = np.unique(columns, return_inverse=True)
    part = X[:, distinct]
    part = part.tocsr() if sparse.issparse(part) else part
    k = int(labels.max()) + 1
    sums = cluster_sums(part, labels, weights, k)
    mass = np.bincount(labels, weights=weights, minlength=k)
    # A cluster of points without weight is nobody's nearest.
    centers = np.full_like(sums, np.inf)
    heavy = mass > 0
    centers[heavy] = sums[heavy] / mass[heavy, None]
    total = squares[distinct]
    between = mass[heavy] @ (centers[heavy] - mean[distinct]) ** 2
    # Below rounding there is nothing within clusters.
    within = np.where(total - between > 1e-9 * total, total - between, 0.0)
    return Vector(columns, centers[:, again], within[again], total[again])


def label_rows(X: Any, vectors: Sequence[Vector], *, n_jobs: int | None = None) -> np.ndarray:
    """Return the cluster of each point in every vector: that of the nearest centre."""
    tasks = [(X[at : at + _BLOCK], vectors) for at in range(0, X.shape[0], _BLOCK)]
    return np.concatenate(parallel_map(_label_block, tasks, n_jobs=n_jobs))


def _label_block(task: tuple[Any, Sequence[Vector]]) -> np.ndarray:
    X, vectors = task
    block = sparse.csc_matrix(X) if sparse.issparse(X) else X
    widest = max(len(vector.centers) for vector in vectors)
    rows = np.empty((X.shape[0], len(vectors)), dtype=smallest_type(widest))
    for i, vector in enumerate(vectors):
        part = block[:, vector.columns]
        dense = part.toarray() if sparse.issparse(part) else part
        rows[:, i] = nearest_center(dense, vector.centers)
    return rows


def occurrence(columns: Sequence[np.ndarray], n_features: int) -> sparse.csr_matrix:
    """Return how often each vector uses each column."""
    ends = np.concatenate([[0], np.cumsum([c.size for c in columns])])
    places = np.concatenate(columns) if columns else np.empty(0, dtype=np.int32)
    shape = (len(columns), n_features)
    counts = sparse.csr_matrix((np.ones(places.size, dtype=np.int64), places, ends), shape=shape)
    counts.sum_duplicates()
    return counts


def importances(vectors: Sequence[Vector], kappa: np.ndarray, n_features: int) -> np.ndarray:
    """Return how far each column carries the clusters of the vectors that use it.

    A vector weighs ``1 / (1 + kappa)``, and a column in it the share of its own sum of squares
    that lies between the clusters: a column of noise that came along with a good one has none.
    All zeros where no vector separates anything.
    """
    worth = np.divide(1.0, 1.0 + kappa, out=np.zeros(kappa.size), where=np.isfinite(kappa))
    found = np.zeros(n_features)
    for vector, weight in zip(vectors, worth, strict=True):
        between = vector.total - vector.within
        share = np.divide(between, vector.total, out=np.zeros_like(between), where=between > 0)
        columns, first = np.unique(vector.columns, return_index=True)
        found[columns] += weight * share[first]
    return found / found.sum() if found.sum() > 0 else found


@dataclass(frozen=True)
class Dominance:
    """The column that most often decides a vector alone, by its scale."""

    column: int
    often: int  # vectors that it decides
    share: float  # its median share of their sums of squares
    alone: int  # vectors that some column decides alone


def dominant_column(vectors: Sequence[Vector]) -> Dominance | None:
    """Return the column whose scale decides, if scales decide the forest.

    A column decides a vector alone if it has nearly all of the sum of squares, though another
    column varies too, and not for its clusters: it has nearly all within them as well. The forest
    is decided by scales if in a quarter of the vectors one or another column does so.
    """
    shares: dict[int, list[float]] = {}
    for vector in vectors:
        columns, at = np.unique(vector.columns, return_inverse=True)
        total = np.bincount(at, weights=vector.total)  # a column that stands twice counts twice
        within = np.bincount(at, weights=vector.within)
        if (total > 0).sum() < 2:
            continue
        largest = int(np.argmax(total))
        share = float(total[largest] / total.sum())
        if share >= _DOMINANT and within[largest] >= _DOMINANT * within.sum() > 0:
            shares.setdefault(int(columns[largest]), []).append(share)
    if not shares:
        return None
    column = max(shares, key=lambda c: len(shares[c]))
    often, alone = len(shares[column]), sum(map(len, shares.values()))
    if alone < _OFTEN * len(vectors):
        return None
    return Dominance(column, often, float(np.median(shares[column])), alone)


def warn_of_scale(found: Dominance | None, names: Sequence[str] | None, n_vectors: int) -> None:
    """Warn of the column that :func:`dominant_column` found, from within a ``fit``."""
    if found is None:
        return
    column, often = found.column, found.often
    name = f"column {column}" if names is None else f"the column {str(names[column])!r}"
    other = (
        f" (as one or another column has in {found.alone} of them)" if found.alone > often else ""
    )
    warnings.warn(
        f"ClusterForest: {name} has {found.share:.0%} of the sum of squares (median) in {often} of "
        f"{n_vectors} clustering vectors{other}, so scales decide the clusters. Scale the columns "
        "first, for example with sklearn.preprocessing.StandardScaler; if the scales are meant, "
        "leave them and ignore this FeatureScaleWarning.",
        FeatureScaleWarning,
        stacklevel=4,
    )


def one_cluster(n: int, n_vectors: int, sample_weight: np.ndarray | None) -> Ensemble:
    """Return the vectors of points that are all equal: no column, one cluster."""
    none = PartitionRecord(generator="forest", columns=np.empty(0), n_clusters=1, cost=np.inf)
    labels = np.zeros((n, n_vectors), dtype=np.int8)
    return Ensemble.from_labels(
        labels, orient="columns", records=[none] * n_vectors, sample_weight=sample_weight
    )


def count_distinct(X: Any, weights: np.ndarray, most: int) -> int:
    """Return the number of distinct rows that have a weight; ``most`` stands for any larger one."""
    seen: set[bytes] = set()
    rows = np.flatnonzero(weights > 0)
    for at in range(0, rows.size, 1024):
        block = X[rows[at : at + 1024]]
        dense = block.toarray() if sparse.issparse(block) else block
        # Zero and minus zero are equal, and their bytes are not.
        seen.update(row.tobytes() for row in np.ascontiguousarray(dense) + 0.0)
        if len(seen) >= most:
            return most
    return len(seen)
