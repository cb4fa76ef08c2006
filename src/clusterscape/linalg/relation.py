"""Points known by their distances or similarities alone: a matrix or a graph, checked once."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_array, gen_batches

from clusterscape.linalg.kmedoids import checked_distances
from clusterscape.linalg.landmark_graph import link_matrix, link_weights

Kind = Literal["distance", "affinity"]

_BLOCK = 2**22  # elements of a temporary block
_TRIANGLES = 60  # points whose triangles are looked at
_NEAR = 1e-6  # share of the largest entry by which two sides of a symmetric matrix may differ


@dataclass(frozen=True)
class Relation:
    """A symmetric matrix between points, dense or as a sparse graph of the pairs that are known.

    Attributes
    ----------
    matrix : (n, n) array or CSR matrix
        Distances or similarities. In a sparse matrix stored pairs alone are known, those of
        distance zero too.
    kind : {"distance", "affinity"}
        What the entries are.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.relation import read_relation
    >>> points = read_relation(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]))
    >>> points[[0, 2]].matrix
    array([[0., 3.],
           [3., 0.]])
    """

    matrix: Any
    kind: Kind = "distance"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of points, twice."""
        return self.matrix.shape

    @property
    def dtype(self) -> Any:
        """Type of the entries."""
        return self.matrix.dtype

    @property
    def is_graph(self) -> bool:
        """Whether only some pairs are known."""
        return sparse.issparse(self.matrix)

    def __getitem__(self, points: Any) -> Relation:
        """Return the relation among some of the points."""
        points = np.asarray(points)
        part = self.matrix[points][:, points]
        return Relation(part if self.is_graph else np.ascontiguousarray(part), self.kind)

    def distances(self) -> Any:
        """Return the distances; of similarities, how far they are below the largest one.

        Returns
        -------
        (n, n) array or CSR matrix
            With a diagonal of zeros.
        """
        if self.kind == "distance":
            return self.matrix
        if self.is_graph:
            top = self.matrix.data.max(initial=0.0)
            parts = top - self.matrix.data, self.matrix.indices, self.matrix.indptr
            return sparse.csr_matrix(parts, shape=self.shape)
        apart = ~np.eye(self.shape[0], dtype=bool)
        out = self.matrix.max(initial=0.0, where=apart) - self.matrix
        np.maximum(out, 0.0, out=out)
        np.fill_diagonal(out, 0.0)
        return out

    def neighbor_graph(self, count: int) -> sparse.csr_matrix:
        """Return the graph of the nearest points, for spectral clustering.

        Parameters
        ----------
        count : int
            Neighbours of each point, itself included; fewer where fewer are known.

        Returns
        -------
        (n, n) CSR matrix
            Mean of both directions: links of weight one for distances, the similarities
            themselves for affinities. Each point is its own neighbour, at its strongest weight.
        """
        n = self.shape[0]
        rows, ends, values = self._nearest(min(count, n) - 1)
        weights = values if self.kind == "affinity" else np.ones(rows.size)
        half = sparse.csr_matrix((weights, (rows, ends)), shape=(n, n))
        graph = (half + half.T) / 2
        own = np.asarray(half.max(axis=1).todense()).ravel() if half.nnz else np.zeros(n)
        own[own <= 0] = 1.0  # a point that nothing is near to
        return sparse.csr_matrix(graph + sparse.diags(own))

    def _nearest(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the pairs of each point and its ``count`` nearest others, and their entries."""
        n = self.shape[0]
        sign = 1.0 if self.kind == "distance" else -1.0
        if self.is_graph:
            pairs = self.matrix.tocoo()
            apart = pairs.row != pairs.col
            rows, ends, values = pairs.row[apart], pairs.col[apart], pairs.data[apart]
            order = np.lexsort((ends, sign * values, rows))
            rows, ends, values = rows[order], ends[order], values[order]
            degree = np.bincount(rows, minlength=n)
            rank = np.arange(rows.size) - np.repeat(np.cumsum(degree) - degree, degree)
            kept = rank < count
            return rows[kept], ends[kept], values[kept].astype(np.float64)
        chosen = np.empty((n, count), dtype=np.int64)
        for part in gen_batches(n, max(1, _BLOCK // n)):
            block = sign * self.matrix[part]
            block[np.arange(len(block)), np.arange(part.start, part.stop)] = np.inf
            if count > 0:
                chosen[part] = np.argpartition(block, count - 1, axis=1)[:, :count]
        rows, ends = np.repeat(np.arange(n), count), chosen.ravel()
        return rows, ends, self.matrix[rows, ends].astype(np.float64)

    def landmark_links(self, landmarks: np.ndarray, nearest: int) -> sparse.csr_matrix:
        """Return the links of all points to their nearest landmarks, of all pairs known.

        Parameters
        ----------
        landmarks : (p,) array
            Points that are landmarks.
        nearest : int
            Links of a point.

        Returns
        -------
        (n, p) CSR matrix
            ``exp(-d^2 / (2 s^2))`` with s the mean distance of the links, or the similarities.
        """
        n, p = self.shape[0], len(landmarks)
        count = min(nearest, p)
        sign = 1.0 if self.kind == "distance" else -1.0
        ends = np.empty((n, count), dtype=np.int64)
        for part in gen_batches(n, max(1, _BLOCK // p)):
            block = sign * self.matrix[part][:, landmarks]
            ends[part] = np.argpartition(block, count - 1, axis=1)[:, :count]
        values = self.matrix[np.arange(n)[:, None], landmarks[ends]].astype(np.float64)
        if self.kind == "distance":
            values = link_weights(np.square(values), float(values.mean()) or 1.0)
        made = link_matrix(values, ends, p)
        made.sort_indices()
        return made


def read_relation(X: Any, *, kind: Kind = "distance", name: str = "X") -> Relation:
    """Return a checked matrix of distances or similarities.

    Parameters
    ----------
    X : (n, n) array, sparse matrix or data frame
        Symmetric and >= 0, and not the same for all pairs; distances have a diagonal of zeros. A
        sparse matrix is a graph of the pairs that are known, such as scikit-learn's
        ``kneighbors_graph(mode="distance")``: one of (i, j) and (j, i) is enough.
    kind : {"distance", "affinity"}
        What the entries are.
    name : str
        Of the argument, for messages.

    Returns
    -------
    Relation

    Examples
    --------
    >>> from clusterscape.linalg.relation import read_relation
    >>> read_relation([[1.0, 0.2], [0.2, 1.0]], kind="affinity").shape
    (2, 2)
    """
    what = "distances" if kind == "distance" else "similarities"
    matrix = check_array(
        X, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", input_name=name
    )
    n = matrix.shape[0]
    if matrix.shape[1] != n:
        raise ValueError(
            f"{name} must be a square matrix of {what} between the points; it has shape "
            f"{matrix.shape}. Give features with metric=None."
        )
    entries = matrix.data if sparse.issparse(matrix) else matrix
    if entries.min(initial=0.0) < 0:
        raise ValueError(f"{name} must hold {what} >= 0; the least is {entries.min():g}.")
    if kind == "distance":
        _check_diagonal(matrix, name)
    if sparse.issparse(matrix):
        return Relation(_both_directions(matrix, kind, name), kind)
    matrix = checked_distances(matrix)
    largest = float(matrix.max(initial=0.0))
    for rows in gen_batches(n, max(1, _BLOCK // n)):
        if not np.allclose(matrix[rows], matrix[:, rows].T, rtol=0.0, atol=_NEAR * largest):
            raise ValueError(f"{name} must be symmetric; give ({name} + {name}.T) / 2.")
    _check_informative(matrix, what, name)
    if kind == "affinity" and _like_distances(matrix):
        warnings.warn(
            f"{name} looks like distances: zeros on the diagonal, and no pair is farther apart "
            "than by way of a third point. For distances use metric='precomputed'.",
            UserWarning,
            stacklevel=2,
        )
    return Relation(matrix, kind)


def _check_informative(matrix: np.ndarray, what: str, name: str) -> None:
    """Refuse a matrix in which all pairs of points are the same."""
    n = len(matrix)
    if n < 3:
        return
    low, high = np.inf, -np.inf
    for rows in gen_batches(n, max(1, _BLOCK // n)):
        apart = np.ones(matrix[rows].shape, dtype=bool)
        apart[np.arange(len(apart)), np.arange(rows.start, rows.stop)] = False
        low = min(low, float(matrix[rows].min(initial=np.inf, where=apart)))
        high = max(high, float(matrix[rows].max(initial=-np.inf, where=apart)))
        if low < high:
            return
    raise ValueError(
        f"{name} tells no points apart: all {what} between different points are {low:g}, so there "
        f"is nothing to cluster by. Look at how {name} was computed."
    )


def _like_distances(matrix: np.ndarray) -> bool:
    """Say whether similarities would be distances: none to itself, and triangles hold."""
    if matrix.diagonal().any() or len(matrix) < 3:
        return False
    some = np.unique(np.linspace(0, len(matrix) - 1, _TRIANGLES).astype(np.int64))
    part = matrix[np.ix_(some, some)].astype(np.float64)
    slack = _NEAR * float(part.max())
    if part[~np.eye(len(some), dtype=bool)].min() <= 0:
        return False  # a graph without some links
    return all((part <= part[:, [k]] + part[k] + slack).all() for k in range(len(some)))


def _check_diagonal(matrix: Any, name: str) -> None:
    own = np.asarray(matrix.diagonal())
    if own.any():
        raise ValueError(
            f"{name} must have zeros on the diagonal, the distance of a point to itself; point "
            f"{int(own.argmax())} has {own.max():g}. For similarities use "
            f"metric='precomputed_affinity'."
        )


def _both_directions(matrix: Any, kind: Kind, name: str) -> sparse.csr_matrix:
    """Return the graph with (i, j) and (j, i) stored, zeros too."""
    pairs = matrix.tocoo()
    apart = pairs.row != pairs.col
    ends = [pairs.row[apart], pairs.col[apart]]
    left, right = np.concatenate(ends), np.concatenate(ends[::-1])
    values = np.concatenate([pairs.data[apart]] * 2)
    order = np.lexsort((values, right, left))
    left, right, values = left[order], right[order], values[order]
    first = np.append(True, (np.diff(left) != 0) | (np.diff(right) != 0))[: left.size]
    last = np.append(first[1:], True)[: left.size]
    largest = float(values.max(initial=0.0))
    if not np.allclose(values[first], values[last], rtol=0.0, atol=_NEAR * largest):
        raise ValueError(
            f"{name} holds different values for (i, j) and (j, i); give the mean of the two."
        )
    starts = np.concatenate([[0], np.cumsum(np.bincount(left[first], minlength=matrix.shape[0]))])
    return sparse.csr_matrix((values[first], right[first], starts), shape=matrix.shape)
