"""Exact nearest neighbours of features, found once and used by several methods."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Integer, checked
from clusterscape.linalg.distances import centre_of, check_range

Metric = Literal["euclidean", "cosine"]

_TREE_COLUMNS = 12  # with more columns a k-d tree visits most points, and products are faster
_BLOCK = 2_000_000  # elements of a temporary block


@checked({"count": (Integer(1),), "metric": (Choice("euclidean", "cosine"),)})
def nearest_neighbors(
    X: Any, count: int, *, metric: Metric = "euclidean"
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest other points of every point, nearest first.

    Dense data of at most 12 columns are searched with a k-d tree, others by blocks of products;
    the distances are then taken from the differences of the rows, so that an offset of the data
    costs no precision. In many dimensions all neighbours are about equally far, and the graph of
    the nearest is hardly informative.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features.
    count : int
        Neighbours of each point, at most n - 1. The point itself is not counted.
    metric : {"euclidean", "cosine"}
        With "cosine" the distance is 1 - cosine; a row of zeros has distance 0 from other rows of
        zeros and 1 from all others.

    Returns
    -------
    distances : (n, count) array
        In double precision, ascending in each row.
    indices : (n, count) array
        The neighbours.

    Examples
    --------
    >>> from clusterscape.linalg.neighbors import nearest_neighbors
    >>> distances, indices = nearest_neighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel()
    array([1, 0, 1])
    >>> distances.ravel()
    array([1., 1., 2.])
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    check_range(X, "X")
    n = X.shape[0]
    if count >= n:
        raise ValueError(
            f"count={count} neighbours were asked for, but each of the {n} points has only "
            f"{n - 1} others; ask for at most {n - 1}."
        )
    if metric == "cosine":
        X = directions(X)
    wanted = min(count + 1, n)
    if not sparse.issparse(X) and X.shape[1] <= _TREE_COLUMNS:
        indices = KDTree(X).query(X, k=wanted)[1].reshape(n, wanted)
    else:
        centred = X if sparse.issparse(X) else X - centre_of(X)
        search = NearestNeighbors(n_neighbors=wanted, algorithm="brute").fit(centred)
        with one_thread():
            indices = search.kneighbors(centred, return_distance=False)
    indices = _without_self(indices)
    distances = row_distances(X, np.repeat(np.arange(n), count), indices.ravel())
    distances = distances.reshape(n, count)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    if metric == "cosine":
        distances = distances**2 / 2.0
    return distances, np.take_along_axis(indices, order, axis=1)


def directions(X: Any) -> Any:
    """Return rows of unit length, on which half the squared distance is 1 - cosine.

    Rows of zeros have no direction: they get one of their own, in a further column.
    """
    unit = normalize(X)
    if sparse.issparse(unit):
        zero = np.asarray(abs(unit).sum(axis=1)).ravel() == 0
        if not zero.any():
            return unit
        return sparse.hstack([unit, sparse.csr_matrix(zero[:, None].astype(unit.dtype))], "csr")
    zero = ~unit.any(axis=1)
    return np.hstack([unit, zero[:, None].astype(unit.dtype)]) if zero.any() else unit


def row_distances(X: Any, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the Euclidean distances of pairs of rows, from their differences."""
    out = np.empty(left.size)
    width = max(1, X.nnz // X.shape[0] if sparse.issparse(X) else X.shape[1])
    step = max(1, _BLOCK // width)
    for start in range(0, left.size, step):
        part = slice(start, start + step)
        gap = X[left[part]] - X[right[part]]
        if sparse.issparse(gap):
            out[part] = np.sqrt(np.asarray(gap.multiply(gap).sum(axis=1)).ravel())
        else:
            gap = gap.astype(np.float64, copy=False)
            out[part] = np.sqrt(np.einsum("ij,ij->i", gap, gap))
    return out


def _without_self(indices: np.ndarray) -> np.ndarray:
    """Return the neighbours without the point itself, or, among many copies, without the last."""
    n, wanted = indices.shape
    own = indices == np.arange(n)[:, None]
    own[~own.any(axis=1), -1] = True
    return indices[~own].reshape(n, wanted - 1)
