"""The rows of B as points: what k-means over B needs, as labels, sparse or projected."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.parallel import parallel_map

_CHUNK = 2**17  # points whose totals one worker takes
_SMALL = 2**24  # numbers of dense rows that are also kept as columns


class Rows(Protocol):
    """What k-means needs of its rows."""

    @property
    def n_points(self) -> int:
        """Number of rows."""

    @property
    def width(self) -> int:
        """Number of columns."""

    def assign(
        self, table: np.ndarray, norms: np.ndarray, *, scale: np.ndarray, groups: np.ndarray
    ) -> tuple[int, np.ndarray]:
        """Move every row to its best group, in place; return how many moved, and the scores."""

    def totals(self, groups: np.ndarray, weights: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the weighted sums of the groups' rows, one column per group."""

    def update(
        self, totals: np.ndarray, old: np.ndarray | None, new: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Bring ``totals`` from the grouping ``old`` to ``new``."""

    def subset(self, points: np.ndarray) -> Self:
        """Return some of the rows."""

    def row(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns and the values of one row."""


class RowSpace:
    """Assign rows of B to groups by look-ups, and keep the groups' cluster totals.

    For hard ensembles B is never built; with soft partitions the products are sparse.

    Parameters
    ----------
    labels : (n, r) integer array
        Codes of the hard partitions.
    offsets : (r + 1,) array
        First column of B of each partition.
    membership : CSR matrix, optional
        B itself, for soft ensembles.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.rowspace import RowSpace
    >>> rows = RowSpace(np.array([[0], [0], [1]]), np.array([0, 2]))
    >>> rows.totals(np.array([0, 0, 1]), np.ones(3), 2)
    array([[2., 0.],
           [0., 1.]])
    """

    def __init__(
        self, labels: np.ndarray, offsets: np.ndarray, membership: sparse.csr_matrix | None = None
    ) -> None:
        self.labels = np.ascontiguousarray(labels)
        self.offsets = offsets
        self.membership = membership
        self.n_points = labels.shape[0]
        self.width = int(offsets[-1])

    @classmethod
    def of(cls, ensemble: Any) -> Self:
        """Return the rows of an ensemble."""
        membership = ensemble.membership().matrix if ensemble.is_soft else None
        return cls(ensemble.labels, ensemble.offsets, membership)

    def assign(
        self, table: np.ndarray, norms: np.ndarray, *, scale: np.ndarray, groups: np.ndarray
    ) -> tuple[int, np.ndarray]:
        """Move every row to its best group, in place; return how many moved, and the scores.

        The score of row x in group g is ``norms[g] - scale[x] * (B @ table)[x, g]``, least is best.
        """
        if self.membership is not None:
            scores = norms - scale[:, None] * (self.membership @ table)
            best = scores.argmin(axis=1)
            moved = int((best != groups).sum())
            groups[:] = best
            return moved, scores[np.arange(self.n_points), best]
        step = kernels.rowspace.PADDING
        k = table.shape[1]
        padded = np.zeros((self.width, -(-k // step) * step))
        padded[:, :k] = table
        limits = np.full(padded.shape[1], np.inf)
        limits[:k] = norms
        values = np.empty(self.n_points)
        moved = kernels.rowspace.assign(
            self.labels, self.offsets, padded, limits, scale, groups, values
        )
        return moved, values

    def totals(self, groups: np.ndarray, weights: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the (D, K) weight that each cluster has in each group."""
        empty = (self.width, n_groups)
        if self.membership is not None or self.n_points <= _CHUNK:
            return self.update(np.zeros(empty), None, groups, weights)

        def of(start: int) -> np.ndarray:
            part = slice(start, start + _CHUNK)
            rows = type(self)(self.labels[part], self.offsets)
            return rows.update(np.zeros(empty), None, groups[part], weights[part])

        # Added in the order of the chunks, so that sums do not depend on the workers.
        return sum(parallel_map(of, range(0, self.n_points, _CHUNK), shared=True), np.zeros(empty))

    def update(
        self, totals: np.ndarray, old: np.ndarray | None, new: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Bring ``totals`` from the grouping ``old`` to ``new``, reading only what moved."""
        if self.membership is not None:
            k = totals.shape[1]
            hot = sparse.csr_matrix(
                (weights, (np.arange(self.n_points), new)), shape=(self.n_points, k)
            )
            return np.asarray((self.membership.T @ hot).todense())
        after = new.astype(np.int32, copy=False)  # one type: kernels are compiled for each
        before = np.full_like(after, -1) if old is None else old.astype(np.int32, copy=False)
        kernels.rowspace.move(self.labels, self.offsets, before, after, weights, totals)
        return totals

    def product(self, table: np.ndarray) -> np.ndarray:
        """Return B @ table."""
        if self.membership is not None:
            return np.asarray(self.membership @ table)
        out = np.zeros((self.n_points, table.shape[1]))
        kernels.labels.gather(self.labels, self.offsets, table, out)
        return out

    def subset(self, points: np.ndarray) -> Self:
        """Return the rows of some points."""
        chosen = None if self.membership is None else self.membership[points]
        return type(self)(self.labels[points], self.offsets, chosen)

    def row(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns and the values of one row of B."""
        if self.membership is not None:
            begin, end = self.membership.indptr[x : x + 2]
            return self.membership.indices[begin:end], self.membership.data[begin:end]
        codes = self.labels[x]
        inside = codes >= 0
        return (self.offsets[:-1] + codes)[inside], np.ones(int(inside.sum()))


class DenseRows:
    """Rows of few columns, such as projected rows of B, in the form that k-means over B takes.

    Parameters
    ----------
    matrix : (n, d) array
        The rows; float32 is computed in float32, sums are taken in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.rowspace import DenseRows
    >>> rows = DenseRows(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 2.0]]))
    >>> rows.totals(np.array([0, 0, 1]), np.ones(3), 2)
    array([[1., 1.],
           [2., 2.]])
    """

    def __init__(self, matrix: np.ndarray) -> None:
        self.matrix = np.ascontiguousarray(matrix)
        self.n_points, self.width = matrix.shape

    @cached_property
    def _turned(self) -> np.ndarray:
        """The rows as columns: copied where that is small, as products are a third faster then."""
        return np.ascontiguousarray(self.matrix.T) if self.matrix.size <= _SMALL else self.matrix.T

    def assign(
        self, table: np.ndarray, norms: np.ndarray, *, scale: np.ndarray, groups: np.ndarray
    ) -> tuple[int, np.ndarray]:
        """Move every row to its best group, in place; return how many moved, and the scores.

        The score of row x in group g is ``norms[g] - scale[x] * (rows @ table)[x, g]``.
        """
        # Imported here, because packages that read label rows need no scikit-learn.
        from clusterscape.linalg.kmeans_engines import batches

        kind = self.matrix.dtype
        norms, scale = np.asarray(norms, dtype=kind), np.asarray(scale, dtype=kind)
        columns = np.ascontiguousarray(table.T, dtype=kind)
        values = np.empty(self.n_points, dtype=kind)
        best = np.empty(self.n_points, dtype=np.int32)
        for part in batches(self.n_points, 16 * len(columns)):  # small enough for the cache
            products = columns @ self._turned[:, part]
            kernels.rowspace.least(products, norms, scale[part], best[part], values[part])
        moved = int((best != groups).sum())
        groups[:] = best
        return moved, values.astype(np.float64, copy=False)

    def totals(self, groups: np.ndarray, weights: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the (d, K) weighted sums of the groups' rows."""
        from clusterscape.linalg.kmeans_engines import cluster_sums

        return np.ascontiguousarray(cluster_sums(self.matrix, groups, weights, n_groups).T)

    def update(
        self, totals: np.ndarray, old: np.ndarray | None, new: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the sums of the grouping ``new``, taken afresh."""
        return self.totals(new, weights, totals.shape[1])

    def subset(self, points: np.ndarray) -> Self:
        """Return some of the rows."""
        return type(self)(self.matrix[points])

    def row(self, x: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the columns and the values of one row."""
        return np.arange(self.width), self.matrix[x]
