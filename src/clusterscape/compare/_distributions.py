"""Clusters as distributions over the points, and distances between points: parts of measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms

from clusterscape._labels import NOISE
from clusterscape.ensemble import Ensemble

# A squared distance that is smaller than this share of the squared lengths has lost too many
# digits in the difference of products, and is computed from the difference of the points.
_NEAR = 1e-6
_ROOM = 1 << 22  # elements of a temporary block
_RUN = 16  # pairs of clusters, or of partitions, that make a task


def checked_points(features: Any, ensemble: Ensemble, name: str, *, remedy: str = "") -> Any:
    """Return the points as 64-bit floats; CSR is kept unless ``remedy`` says what to do instead."""
    if features is None:
        raise ValueError(f"{name} looks at the points: pass them as features=X.")
    if remedy and sparse.issparse(features):
        raise TypeError(f"{name} does not take sparse features: {remedy}")
    X = check_array(features, accept_sparse="csr", dtype=np.float64, input_name="features")
    if X.shape[0] != ensemble.n_points:
        raise ValueError(
            f"features has {X.shape[0]} rows and the partitions {ensemble.n_points} points; pass "
            "one row a point, in the same order."
        )
    return X


def clusters_of(ensemble: Ensemble, noise: str) -> Iterator[sparse.csc_matrix]:
    """Yield, for each partition, the weight of every point (rows) in every cluster (columns).

    Noise points are the last column or left out; clusters without weight are left out.
    """
    weights = sparse.diags(ensemble.sample_weight)
    for i in range(ensemble.n_partitions):
        sides = [ensemble.select([i]).membership().matrix]
        if noise == "cluster":
            sides.append(sparse.csr_matrix((ensemble.labels[:, [i]] == NOISE).astype(np.float64)))
        table = sparse.csc_matrix(weights @ sparse.hstack(sides))
        table.eliminate_zeros()
        table.sort_indices()
        yield table[:, np.flatnonzero(np.diff(table.indptr))]


def masses_of(table: sparse.csc_matrix) -> np.ndarray:
    """Return each cluster's share of the weight that its partition saw."""
    sizes = np.asarray(table.sum(axis=0), dtype=np.float64).ravel()
    return sizes / sizes.sum() if sizes.size else sizes


def members_of(table: sparse.csc_matrix) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points of each cluster and their weights."""
    if table.shape[1] == 0:
        return []
    cuts = table.indptr[1:-1]
    return list(zip(np.split(table.indices, cuts), np.split(table.data, cuts), strict=True))


def keys_of(table: sparse.csc_matrix) -> list[bytes]:
    """Return what tells each cluster from every other: its points and their weights."""
    return [x.astype(np.int64).tobytes() + w.tobytes() for x, w in members_of(table)]


def distances(left: Any, right: Any, *, squared: bool = False) -> np.ndarray:
    """Return the Euclidean distances of rows, dense or CSR; exactly 0 between equal rows."""
    product = left @ right.T
    product = product.toarray() if sparse.issparse(product) else product
    lengths = row_norms(left, squared=True)[:, None] + row_norms(right, squared=True)[None, :]
    square = np.maximum(lengths - 2.0 * product, 0.0)
    rows, columns = np.nonzero(square < _NEAR * lengths)
    for part in runs(rows.size, max(1, _ROOM // left.shape[1])):
        gaps = left[rows[part]] - right[columns[part]]
        square[rows[part], columns[part]] = row_norms(gaps, squared=True)
    return square if squared else np.sqrt(square)


def shared_weight(left: Any, right: Any, weights: np.ndarray) -> np.ndarray:
    """Return for each two columns of two memberships the weighted sum of the smaller entries.

    For hard clusters this is the weight of the points that they share.
    """
    a, b = sparse.csr_matrix(left), sparse.csr_matrix(right)
    k, m = a.shape[1], b.shape[1]
    total = np.zeros(k * m)
    for part in runs(a.shape[0], max(1, _ROOM // max(k * m, 1))):
        # Every entry of a row of one side beside every entry of that row of the other.
        wide = np.diff(b.indptr)[part]
        count = np.diff(a.indptr)[part] * wide
        row = np.repeat(np.arange(part.start, part.stop), count)
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        inner = np.repeat(wide, count)
        i, j = a.indptr[row] + place // inner, b.indptr[row] + place % inner
        smaller = weights[row] * np.minimum(a.data[i], b.data[j])
        cell = a.indices[i].astype(np.int64) * m + b.indices[j]
        total += np.bincount(cell, weights=smaller, minlength=k * m)
    return total.reshape(k, m)


def groups(pairs: np.ndarray) -> list[np.ndarray]:
    """Return the positions of the pairs that have the same first partition."""
    order = np.argsort(pairs[:, 0], kind="stable")
    cuts = np.flatnonzero(np.diff(pairs[order, 0])) + 1
    return [group for group in np.split(order, cuts) if group.size]


def runs(count: int, size: int = _RUN) -> list[slice]:
    """Return ``count`` things cut into runs, always the same ones."""
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]
