"""The matrices of an ensemble: memberships, tables, co-association, and unique rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.labels import NOISE
from clusterscape.ensemble.partitions import row_codes
from clusterscape.linalg.coassociation import Coassociation, Normalize


class Membership(NamedTuple):
    """The membership matrix B, and where each partition's columns begin.

    Parameters
    ----------
    matrix : (n, D) sparse matrix
        The weight of each point in each cluster of each partition.
    offsets : (r + 1,) array
        Columns ``offsets[i]:offsets[i + 1]`` belong to partition i.
    """

    matrix: sparse.csr_matrix
    offsets: np.ndarray


class Compressed(NamedTuple):
    """Weighted unique rows, and the way back: ``result[inverse]`` has one entry per point.

    Parameters
    ----------
    ensemble : Ensemble
        One point for each distinct row, weighted by how many points have that row.
    inverse : (n,) array
        The row of each point.
    """

    ensemble: Any
    inverse: np.ndarray


class EnsembleMatrices:
    """The part of :class:`clusterscape.Ensemble` that turns labels into matrices."""

    labels: np.ndarray
    n_clusters: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    sample_weight: np.ndarray
    soft: Mapping[int, sparse.csr_matrix]
    _take: Callable[..., Any]  # rows of the ensemble, of the class that has this part

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.labels.shape[0])

    @property
    def n_partitions(self) -> int:
        """Number of partitions, failed ones included."""
        return int(self.labels.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Points by partitions."""
        return self.n_points, self.n_partitions

    @property
    def is_soft(self) -> bool:
        """Whether any partition is soft."""
        return bool(self.soft)

    def membership(self, *, dtype: Any = np.float64) -> Membership:
        """Return the sparse n x D membership matrix B and its group offsets.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels([[0, 1, -1], [0, 0, 0]]).membership().matrix.toarray()
        array([[1., 0., 1.],
               [0., 1., 1.],
               [0., 0., 1.]])
        """
        n, width = self.n_points, int(self.offsets[-1])
        if self.is_soft:
            blocks = [self._block(i, dtype) for i in range(self.n_partitions)]
            return Membership(sparse.csr_matrix(sparse.hstack(blocks, format="csr")), self.offsets)
        inside = self.labels >= 0
        pointers = np.concatenate([[0], np.cumsum(inside.sum(axis=1, dtype=np.int64))])
        index_type = np.int32 if max(pointers[-1], width) < 2**31 else np.int64
        indices = (self.labels + self.offsets[:-1].astype(index_type))[inside]
        ones = np.ones(indices.size, dtype=dtype)
        matrix = sparse.csr_matrix((ones, indices, pointers.astype(index_type)), shape=(n, width))
        return Membership(matrix, self.offsets)

    def _block(self, i: int, dtype: Any = np.float64) -> sparse.csr_matrix:
        """Return the columns of B that belong to partition i."""
        if i in self.soft:
            return self.soft[i].astype(dtype)
        codes = self.labels[:, i]
        rows = np.flatnonzero(codes >= 0)
        ones = np.ones(rows.size, dtype=dtype)
        shape = (self.n_points, int(self.n_clusters[i]))
        return sparse.csr_matrix((ones, (rows, codes[rows])), shape=shape)

    def contingency(self, i: int, j: int) -> np.ndarray:
        """Return the table of partitions i and j: the point weight that each two clusters share.

        Points that are noise or unsampled in either are in no cell.
        """
        left = self._block(i).multiply(self.sample_weight[:, None])
        return np.asarray((left.T @ self._block(j)).todense(), dtype=np.float64)

    def cluster_sizes(self) -> np.ndarray:
        """Return the point weight of every cluster, in the order of B's columns."""
        if self.is_soft:
            return np.asarray(self.membership().matrix.T @ self.sample_weight)
        total = np.zeros(int(self.offsets[-1]))
        kernels.labels.sizes(self.labels, self.offsets, self.sample_weight, total)
        return total

    def coassociation(self, *, normalize: Normalize = "pairs") -> Coassociation:
        """Return co-association as a linear operator: co-occurrences over co-samplings.

        Parameters
        ----------
        normalize : {"pairs", "counts"}
            "pairs" divides by the weight of the partitions that sampled both points, "counts" does
            not divide.

        Returns
        -------
        Coassociation
            A scipy ``LinearOperator`` with ``.toarray()``.
        """
        return Coassociation(
            self.labels, self.offsets, self.weights, soft=self.soft, normalize=normalize
        )

    def compress(self, *, keep_noise_apart: bool = False) -> Compressed:
        """Merge the points that have the same row in every partition into weighted points.

        Parameters
        ----------
        keep_noise_apart : bool
            Never merge points that are noise (or soft) somewhere. Two such points have equal rows
            of B and yet are not together, which matters to methods that read similarities.

        Returns
        -------
        Compressed
            The ensemble of unique rows, whose ``sample_weight`` counts the points merged, and
            ``inverse``, the row of each point.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> small, inverse = Ensemble.from_labels([[0, 0, 1], [2, 2, 2]]).compress()
        >>> small.sample_weight, inverse
        (array([2., 1.]), array([0, 0, 1]))
        """
        rows = self.labels
        apart = np.zeros(self.n_points, dtype=bool)
        if keep_noise_apart:
            apart = (self.labels == NOISE).any(axis=1)
            for membership in self.soft.values():
                apart |= np.diff(membership.indptr) > 1
        if self.is_soft:
            rows = np.column_stack([rows.astype(np.int64), *map(row_codes, self.soft.values())])
        first, inverse = kernels.rows.unique_rows(np.ascontiguousarray(rows), apart)
        weight = np.bincount(inverse, weights=self.sample_weight, minlength=first.size)
        return Compressed(self._take(first, sample_weight=weight), inverse)
