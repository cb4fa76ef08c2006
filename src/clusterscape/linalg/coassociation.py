"""Co-association as a linear operator: products cost O(n r), and nothing n x n is stored."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import csr_matrix, hstack
from scipy.sparse.linalg import LinearOperator

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape.linalg.rowspace import RowSpace

Normalize = Literal["pairs", "counts"]
_BLOCK = 2**22  # entries of a temporary block


class Coassociation(LinearOperator):
    """The co-association matrix of an ensemble, as a ``scipy`` linear operator.

    With ``normalize="counts"`` it is ``B W B^T``: the weight of the partitions that put two points
    together. With ``"pairs"`` every entry is divided by the weight of the partitions that sampled
    both points (pairs never sampled together have 0). A noise point is together with no point, not
    even with itself; in a soft partition two points are together to the extent of the inner product
    of their memberships.

    A product costs O(n r), except with ``"pairs"`` on an ensemble with unsampled points: the
    divisor then differs from pair to pair, and a product costs O(n^2 r) time (still O(n r) memory).

    Parameters
    ----------
    labels : (n, r) integer array
        Codes of the hard partitions; columns of soft partitions are read for their sentinels only.
    offsets : (r + 1,) array
        First column of B of each partition.
    weights : (r,) array
        Partition weights.
    soft : dict
        CSR membership of the soft partitions, by position.
    normalize : {"pairs", "counts"}
        What the entries mean.

    See Also
    --------
    ThresholdedCoassociation : With small shares set to zero.

    References
    ----------
    .. [1] A. L. N. Fred and A. K. Jain. Combining multiple clusterings using evidence accumulation.
       IEEE Transactions on Pattern Analysis and Machine Intelligence 27(6), 835-850, 2005.
       doi:10.1109/TPAMI.2005.113

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> S = Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]).coassociation()
    >>> S @ [1.0, 1.0, 1.0]
    array([1.5, 2. , 1.5])
    >>> S.toarray()
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0.5],
           [0. , 0.5, 1. ]])
    """

    def __init__(
        self,
        labels: np.ndarray,
        offsets: np.ndarray,
        weights: np.ndarray,
        *,
        soft: Mapping[int, csr_matrix],
        normalize: Normalize = "pairs",
    ) -> None:
        if normalize not in ("pairs", "counts"):
            raise ValueError(f"normalize must be 'pairs' or 'counts'; got {normalize!r}.")
        n = labels.shape[0]
        super().__init__(np.dtype(np.float64), (n, n))
        self.normalize = normalize
        self.is_complete = bool(labels.size == 0 or labels.min() > -2)
        self._hard = [i for i in range(labels.shape[1]) if i not in soft]
        self._soft = {i: m.astype(np.float64) for i, m in soft.items()}
        self._labels = labels
        self._offsets = offsets
        self._weights = np.asarray(weights, dtype=np.float64)
        self.column_weights = np.repeat(self._weights, np.diff(offsets))
        self._has_columns = False

    @cached_property
    def _columns(self) -> np.ndarray:
        return np.ascontiguousarray(self._labels.T)

    def _hard_part(self) -> tuple[np.ndarray, np.ndarray]:
        if not self._soft:
            return self._labels, self._offsets
        return np.ascontiguousarray(self._labels[:, self._hard]), self._offsets[self._hard]

    def collect(self, values: np.ndarray) -> np.ndarray:
        """Return B^T @ values, one row per cluster."""
        labels, offsets = self._hard_part()
        table = np.zeros((int(self._offsets[-1]), values.shape[1]))
        kernels.labels.scatter(labels, offsets, values, table)
        for i, membership in self._soft.items():
            table[self._offsets[i] : self._offsets[i + 1]] = membership.T @ values
        return table

    def expand(self, table: np.ndarray) -> np.ndarray:
        """Return B @ table, one row per point."""
        labels, offsets = self._hard_part()
        values = np.zeros((self.shape[0], table.shape[1]))
        kernels.labels.gather(labels, offsets, table, values)
        for i, membership in self._soft.items():
            values += membership @ table[self._offsets[i] : self._offsets[i + 1]]
        return values

    def row_space(self) -> RowSpace:
        """Return B, as labels if the ensemble is hard and sparse otherwise."""
        if not self._soft:
            return RowSpace(self._labels, self._offsets)
        blocks = []
        for i in range(self._labels.shape[1]):
            if i in self._soft:
                blocks.append(self._soft[i])
                continue
            inside = np.flatnonzero(self._labels[:, i] >= 0)
            shape = (self.shape[0], int(self._offsets[i + 1] - self._offsets[i]))
            ends = (inside, self._labels[inside, i].astype(np.int64))
            blocks.append(csr_matrix((np.ones(inside.size), ends), shape=shape))
        return RowSpace(self._labels, self._offsets, hstack(blocks, format="csr"))

    def _counts_product(self, values: np.ndarray) -> np.ndarray:
        return self.expand(self.collect(values) * self.column_weights[:, None])

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        values = np.ascontiguousarray(X, dtype=np.float64)
        if self.normalize == "counts":
            return self._counts_product(values)
        if self.is_complete:
            total = self._weights.sum()
            return self._counts_product(values) / total if total > 0 else np.zeros_like(values)
        product = np.empty_like(values)
        for start, stop in self._blocks():
            product[start:stop] = self.rows(start, stop) @ values
        return product

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.asarray(x).reshape(-1, 1)).ravel()

    def _adjoint(self) -> Coassociation:
        return self  # symmetric

    def _blocks(self) -> list[tuple[int, int]]:
        n = self.shape[0]
        step = max(1, min(n, int(2**26 // max(8 * n, 1))))  # 64 MB per block
        return [(start, min(start + step, n)) for start in range(0, n, step)]

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return rows ``start`` to ``stop - 1`` as a dense array.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> Ensemble.from_labels([[0, 0, 1]]).coassociation().rows(0, 1)
        array([[1., 1., 0.]])
        """
        n = self.shape[0]
        if self.normalize == "pairs" and not (self._soft or self._has_columns):
            block = np.empty((stop - start, n))
            kernels.labels.fraction_rows(self._columns, self._weights, start, stop, block)
            return block
        unit = np.zeros((n, stop - start))
        unit[np.arange(start, stop), np.arange(stop - start)] = 1.0
        block = self._counts_product(unit).T
        if self.normalize == "counts":
            return block
        sampled = (self._labels != -2).astype(np.float64)
        both = (sampled[start:stop] * self._weights) @ sampled.T
        return np.divide(block, both, out=np.zeros_like(block), where=both > 0)

    def with_columns(self, weights: np.ndarray) -> Coassociation:
        """Return the co-association in which every cluster has a weight of its own: B W B^T.

        Divided, where the entries are shares, by the weight of the partitions that sampled both
        points, as without such weights.

        Parameters
        ----------
        weights : (D,) array
            Weights of the clusters, those of their partitions included.

        Returns
        -------
        Coassociation

        Examples
        --------
        >>> import numpy as np
        >>> from clusterscape import Ensemble
        >>> S = Ensemble.from_labels([[0, 0, 1]]).coassociation(normalize="counts")
        >>> S.with_columns(np.array([0.5, 1.0])).diagonal()
        array([0.5, 0.5, 1. ])
        """
        made = copy.copy(self)
        made.column_weights = np.asarray(weights, dtype=np.float64)
        made._has_columns = True
        return made

    def diagonal(self) -> np.ndarray:
        """Return the diagonal: 1 for a point that is in a cluster wherever it was sampled."""
        counts = self._weighted_diagonal() if self._has_columns else self._plain_diagonal()
        if self.normalize == "counts":
            return counts
        complete = self.is_complete
        sampled = self._weights.sum() if complete else (self._labels != -2) @ self._weights
        return np.divide(counts, sampled, out=np.zeros_like(counts), where=sampled > 0)

    def _plain_diagonal(self) -> np.ndarray:
        hard = self._weights.copy()
        hard[list(self._soft)] = 0.0
        n, r = self._labels.shape
        counts = np.full(n, hard.sum())
        if self._labels.min(initial=0) < 0:
            step = max(1, _BLOCK // r)
            for start in range(0, n, step):
                part = slice(start, start + step)
                counts[part] = (self._labels[part] >= 0) @ hard
        for i, membership in self._soft.items():
            squares = np.asarray(membership.multiply(membership).sum(axis=1)).ravel()
            counts += self._weights[i] * squares
        return counts

    def _weighted_diagonal(self) -> np.ndarray:
        labels, offsets = self._hard_part()
        values = np.zeros((self.shape[0], 1))
        kernels.labels.gather(labels, offsets, self.column_weights[:, None], values)
        for i, membership in self._soft.items():
            own = self.column_weights[self._offsets[i] : self._offsets[i + 1]]
            values[:, 0] += membership.multiply(membership) @ own
        return values.ravel()

    def toarray(self, *, max_gb: float = 4.0) -> np.ndarray:
        """Return the dense n x n matrix, which takes 8 n^2 bytes.

        Parameters
        ----------
        max_gb : float
            Refuse above this size.
        """
        n = self.shape[0]
        need = 8.0 * n * n / 1e9
        if need > max_gb:
            raise MemoryLimitError(
                f"the dense co-association of {n:,} points",
                need,
                max_gb,
                remedies=[
                    "use the operator itself (its products need no n x n matrix)",
                    "use Ensemble.compress() or Ensemble.subset()",
                ],
            )
        dense = np.empty((n, n))
        for start, stop in self._blocks():
            dense[start:stop] = self.rows(start, stop)
        return dense
