"""The clustering vectors of a fitted forest: columns, centres, and labels of new points."""

from __future__ import annotations

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
    """Return the columns of each vector; a column accepted twice is listed twice."""
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
    total = weights.sum()
    if sparse.issparse(X):
        mean, variance = mean_variance_axis(X, axis=0, weights=weights.astype(X.dtype))
        return mean.astype(np.float64), variance.astype(np.float64) * total
    rows = list(batches(*X.shape))
    mean = np.sum([weights[at] @ X[at] for at in rows], axis=0) / total
    return mean, np.sum([weights[at] @ (X[at] - mean) ** 2 for at in rows], axis=0)


def _vector(task: tuple[Any, np.ndarray, np.ndarray, np.ndarray, _Moments]) -> Vector:
    X, columns, labels, weights, (mean, squares) = task
    # A column that is listed twice is summed once.
    distinct, again = np.unique(columns, return_inverse=True)
    part = X[:, distinct]
    part = part.tocsr() if sparse.issparse(part) else part
    k = int(labels.max()) + 1
    sums = cluster_sums(part, labels, weights, k)
    mass = np.bincount(labels, weights=weights, minlength=k)
    # A cluster of points without weight is never the nearest.
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


def one_cluster(n: int, n_vectors: int, sample_weight: np.ndarray | None) -> Ensemble:
    """Return the vectors of points that are all equal: no column, one cluster."""
    none = PartitionRecord(generator="forest", columns=np.empty(0), n_clusters=1, cost=np.inf)
    labels = np.zeros((n, n_vectors), dtype=np.int8)
    return Ensemble.from_labels(
        labels, orient="columns", records=[none] * n_vectors, sample_weight=sample_weight
    )
