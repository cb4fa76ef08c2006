"""Clusters as distributions over the points, and distances between points: parts of measures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.distances import squared_distances

# Squared distances that are smaller than this have lost digits, or all, to underflow.
_TINY = 1e-280
_ROOM = 1 << 22  # elements of a temporary block
_RUN = 16  # pairs of clusters, or of partitions, that make a task


def checked_points(features: Any, ensemble: Ensemble, name: str, *, remedy: str = "") -> Any:
    """Return the points as 64-bit floats; CSR is kept unless ``remedy`` says what to do instead."""
    if features is None:
        raise ValueError(f"{name} looks at the points: pass them as features=X.")
    if remedy and sparse.issparse(features):
        raise TypeError(f"{name} does not take sparse features: {remedy}")
    with np.errstate(over="ignore", invalid="ignore"):  # it adds all values up
        X = check_array(features, accept_sparse="csr", dtype=np.float64, input_name="features")
    if X.shape[0] != ensemble.n_points:
        raise ValueError(
            f"features has {X.shape[0]} rows and the partitions {ensemble.n_points} points; pass "
            "one row a point, in the same order."
        )
    return X


def seen_points(ensemble: Ensemble, noise: str) -> np.ndarray:
    """Return which points have weight in a partition; all where none has, and none matters."""
    lowest = NOISE if noise == "drop" else UNSAMPLED
    seen: np.ndarray = (ensemble.labels > lowest).any(axis=1) & (ensemble.sample_weight > 0)
    return seen if seen.any() else np.ones(seen.size, dtype=bool)


def in_units(X: Any, seen: np.ndarray) -> tuple[Any, int]:
    """Return the points in units of their largest value, and the power of two that the unit is.

    Dense points are centred at the medians of their columns: distances stay, keep their digits far
    from the origin, and one far point takes none from the others. Points that are not seen become
    zero.
    """
    if sparse.issparse(X):
        X = sparse.diags(seen.astype(np.float64)) @ X
        exponent = exponent_of(X.data)
        X.data = np.ldexp(X.data, -exponent)
        return sparse.csr_matrix(X), int(exponent)
    first = exponent_of(X[seen])  # before the centre, or differences might not be finite
    X = np.ldexp(np.where(seen[:, None], X, 0.0), -first)
    X = np.where(seen[:, None], X - np.median(X[seen], axis=0), 0.0)
    second = exponent_of(X)
    return np.ldexp(X, -second), int(first + second)


def exponent_of(values: np.ndarray, axis: int | None = None) -> Any:
    """Return the least e with all values below 2**e in size: to divide by it changes no digit."""
    return np.frexp(np.abs(values).max(axis=axis, initial=0.0))[1]


def clusters_of(ensemble: Ensemble, noise: str) -> Iterator[sparse.csc_matrix]:
    """Yield, for each partition, the weight of every point (rows) in every cluster (columns).

    Noise points are the last column or left out; clusters without weight are left out. Weights are
    divided by a power of two, so that the largest is from 1 to 2 and sums are finite.
    """
    weight = ensemble.sample_weight
    weights = sparse.diags(np.ldexp(weight, 1 - exponent_of(weight)))
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
    """Return the Euclidean distances of rows, dense or CSR; exactly 0 between equal rows.

    The values should be of size 1 at most, as :func:`in_units` makes them.
    """
    square = squared_distances(left, right)
    if squared:
        return square
    found: np.ndarray = np.sqrt(square)
    rows, columns = np.nonzero(square < _TINY)
    for part in runs(rows.size, max(1, _ROOM // left.shape[1])):
        gaps = left[rows[part]] - right[columns[part]]
        gaps = np.abs(gaps.toarray() if sparse.issparse(gaps) else gaps)
        unit = gaps.max(axis=1, initial=0.0)
        shares = gaps / np.where(unit > 0, unit, 1.0)[:, None]
        found[rows[part], columns[part]] = unit * np.sqrt((shares * shares).sum(axis=1))
    return found


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
