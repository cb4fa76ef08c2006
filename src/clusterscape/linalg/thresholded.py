"""Co-association after thresholding: the pairs that are left, and a rank-one background."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import LinearOperator

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Instance, Null, Number, Rules, check_params
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.coassociation import Coassociation

# A share of 0.1 + 0.2 must reach a threshold of 0.3 in spite of rounding.
_SLACK = 1e-12
_BLOCK = 2**22  # pairs looked at before the kept ones are put away
_PAIR_BYTES = 12  # a float64 and an int32
# exp overflows beyond 709, and degrees are sums of such entries.
LARGEST_SCALE = 600.0
SCALE = (Null(), Number(0, LARGEST_SCALE, open_low=True))


class ThresholdedCoassociation(LinearOperator):
    """Co-association with its small entries set to zero, then scaled; a ``scipy`` operator.

    The entry of a pair with co-association p is p itself, or 0 if p is below the threshold. With a
    ``scale`` b it is ``exp(b p)`` of that: a removed pair then keeps ``exp(0) = 1``, so the matrix
    is a rank-one background of ones plus a sparse part ``exp(b p) - 1`` of the pairs that are left.
    Only these are stored, each pair once: 12 bytes per pair, and never n x n.

    It is exact. It is built in O(n^2 r) time, block by block, so use it on the unique rows of
    ``Ensemble.compress``. Inside big clusters every pair is left, and the memory grows with the sum
    of their squared sizes, which ``max_gb`` guards.

    Parameters
    ----------
    coassociation : Coassociation
        With ``normalize="pairs"``: entries are co-occurrences over co-samplings.
    threshold : float
        Pairs with less are removed; equal is kept.
    scale : float, optional
        Exponential scaling; None leaves the entries as they are, without a background.
    diagonal : float, optional
        Co-association of a point with itself, before the threshold (1 in cluster forests, 0 in
        stochastic clustering); None takes the co-association's own, which is 1 for a point that
        is in a cluster wherever it was sampled.
    sample_weight : (n,) array, optional
        Points that a row represents. Rows are then micro-clusters: the diagonal is the mean
        over the pairs among their points, which is what makes spectral methods on them exact.
        The products themselves are not weighted; give the weights to what uses the operator.
    max_gb : float
        Refuse when the pairs that are left take more memory than this.

    Attributes
    ----------
    threshold, scale : float, float or None
        As given.
    background : float
        1 with a scale, 0 without.
    n_pairs : int
        Pairs of different rows that are left.
    sample_weight : (n,) array
        Ones unless given.

    See Also
    --------
    Coassociation : Without a threshold.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.linalg import ThresholdedCoassociation
    >>> S = Ensemble.from_labels([[0, 0, 0, 1], [0, 0, 1, 1], [0, 0, 1, 1]]).coassociation()
    >>> ThresholdedCoassociation(S, threshold=0.5).toarray().round(2)
    array([[1.  , 1.  , 0.  , 0.  ],
           [1.  , 1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.67],
           [0.  , 0.  , 0.67, 1.  ]])
    """

    _parameter_rules: Rules = {
        "coassociation": [Instance(Coassociation)],
        "threshold": [Number(0, 1)],
        "scale": SCALE,
        "diagonal": [Null(), Number(0, 1)],
        "max_gb": [Number(0, open_low=True)],
    }

    def __init__(
        self,
        coassociation: Coassociation,
        threshold: float = 0.0,
        *,
        scale: float | None = None,
        diagonal: float | None = None,
        sample_weight: ArrayLike | None = None,
        max_gb: float = 4.0,
    ) -> None:
        given = {
            "coassociation": coassociation,
            "threshold": threshold,
            "scale": scale,
            "diagonal": diagonal,
            "max_gb": max_gb,
        }
        check_params(type(self).__name__, given, self._parameter_rules)
        check_shares(coassociation)
        n = coassociation.shape[0]
        own = coassociation.diagonal()
        self._set(
            _collected(coassociation, threshold, max_gb),
            own,
            own if diagonal is None else np.full(n, float(diagonal)),
            threshold=threshold,
            scale=scale,
            sample_weight=checked_weights(sample_weight, n),
        )
        self._pairs.data = self._pair_entries(coassociation)

    def _set(
        self,
        pairs: csr_matrix,
        own: np.ndarray,
        self_share: np.ndarray,
        *,
        threshold: float,
        scale: float | None,
        sample_weight: np.ndarray,
    ) -> None:
        super().__init__(np.dtype(np.float64), pairs.shape)
        self.threshold = float(threshold)
        self.scale = None if scale is None else float(scale)
        self.background = 0.0 if scale is None else 1.0
        self.sample_weight = sample_weight
        self._pairs = pairs  # above the diagonal only
        self._own = own  # co-association of two points of one row
        self._self_share = self_share  # of a point with itself
        repeats = np.maximum(sample_weight, 1.0)
        between, same = self._entries(own), self._entries(self_share)
        self._diagonal = ((repeats - 1.0) * between + same) / repeats

    def _entries(self, share: np.ndarray) -> np.ndarray:
        """Return what co-associations become, without the background."""
        return regularised(share, self.threshold, self.scale)

    def _pair_entries(self, coassociation: Coassociation) -> np.ndarray:
        """Return the entries of the pairs that are left, from their shares."""
        shares = self._pairs.data
        weights = kernels.labels.tallies(coassociation._weights)
        votes = int(weights.sum())
        few = weights.dtype != np.float64 and coassociation.is_complete and not coassociation._soft
        if self.scale is None or not few or shares.size < votes:
            return self._entries(shares)
        # Shares of few votes have few values, and looking them up is faster than an exponential.
        table = self._entries(np.arange(votes + 1) / votes)
        return table[np.rint(shares * votes).astype(np.uint16)]

    def _like(
        self, pairs: csr_matrix, points: np.ndarray | slice, threshold: float
    ) -> ThresholdedCoassociation:
        made = type(self).__new__(type(self))
        made._set(
            pairs,
            self._own[points],
            self._self_share[points],
            threshold=threshold,
            scale=self.scale,
            sample_weight=self.sample_weight[points],
        )
        return made

    @property
    def n_pairs(self) -> int:
        """Pairs of different rows that are left."""
        return int(self._pairs.nnz)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        lines = np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)
        product = self._diagonal * lines
        if self.background:
            product += self.background * lines.sum(axis=1, keepdims=True)
        pairs = self._pairs
        kernels.thresholded.add_both_halves(pairs.indptr, pairs.indices, pairs.data, lines, product)
        return product.T

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.asarray(x).reshape(-1, 1)).ravel()

    def _adjoint(self) -> ThresholdedCoassociation:
        return self  # symmetric

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, background included."""
        return self._diagonal + self.background

    def row_sums(self) -> np.ndarray:
        """Return the sum of each row, every column counted ``sample_weight`` times."""
        return self._matvec(self.sample_weight)

    def subset(self, points: ArrayLike) -> ThresholdedCoassociation:
        """Return the operator on some rows and the same columns.

        Parameters
        ----------
        points : array
            Ascending positions, or a mask.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> from clusterscape.linalg import ThresholdedCoassociation
        >>> S = Ensemble.from_labels([[0, 0, 1]]).coassociation()
        >>> ThresholdedCoassociation(S, 0.5).subset([0, 2]).toarray()
        array([[1., 0.],
               [0., 1.]])
        """
        chosen = np.asarray(points)
        if chosen.dtype == bool:
            chosen = np.flatnonzero(chosen)
        if chosen.size and (np.diff(chosen) <= 0).any():
            raise ValueError("points must be ascending and distinct; sort them first.")
        return self._like(self._pairs[chosen][:, chosen], chosen, self.threshold)

    def raised(self, threshold: float) -> ThresholdedCoassociation:
        """Return the operator with a higher threshold, without counting the pairs again.

        Parameters
        ----------
        threshold : float
            At least the present one.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> from clusterscape.linalg import ThresholdedCoassociation
        >>> S = Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]).coassociation()
        >>> ThresholdedCoassociation(S, 0.1).raised(0.9).n_pairs
        0
        """
        check_params("raised", {"threshold": threshold}, {"threshold": [Number(0, 1)]})
        if threshold < self.threshold:
            raise ValueError(
                f"threshold={threshold:g} is below the present {self.threshold:g}, and the pairs "
                "between them are gone; build the operator again."
            )
        pairs = self._pairs.copy()
        limit = threshold - _SLACK
        pairs.data[pairs.data < (limit if self.scale is None else np.expm1(self.scale * limit))] = 0
        pairs.eliminate_zeros()
        return self._like(pairs, slice(None), threshold)

    def pairs(self) -> csr_matrix:
        """Return the stored pairs, above the diagonal and without the background; do not change.

        Examples
        --------
        >>> from clusterscape import Ensemble
        >>> from clusterscape.linalg import ThresholdedCoassociation
        >>> S = Ensemble.from_labels([[0, 0, 1]]).coassociation()
        >>> ThresholdedCoassociation(S, 0.5).pairs().nnz
        1
        """
        return self._pairs

    def tocsr(self) -> csr_matrix:
        """Return the sparse part, both halves and the diagonal; the background is not in it."""
        return csr_matrix(self._pairs + self._pairs.T + diags(self._diagonal))

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
                f"the dense matrix of {n:,} rows",
                need,
                max_gb,
                remedies=["use the operator itself"],
            )
        return self.tocsr().toarray() + self.background


def check_shares(coassociation: Coassociation) -> None:
    """Refuse co-association that is counted rather than averaged."""
    if coassociation.normalize != "pairs":
        raise ValueError(
            "coassociation has normalize='counts', but a threshold is a share; use "
            "ensemble.coassociation(), whose entries are co-occurrences over co-samplings."
        )


def regularised(share: np.ndarray, threshold: float, scale: float | None) -> np.ndarray:
    """Return what co-associations become by threshold and scaling, without the background."""
    kept = np.where(share >= threshold - _SLACK, share, 0.0)
    return kept if scale is None else np.expm1(scale * kept)


def _collected(coassociation: Coassociation, threshold: float, max_gb: float) -> csr_matrix:
    """Return the shares of the pairs that are left, above the diagonal."""
    n = coassociation.shape[0]
    ends = np.zeros(n + 1, dtype=np.int64)
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    found = 0
    blocks = _soft_blocks if coassociation._soft else _hard_blocks
    for start, stop, pointers, indices, shares in blocks(coassociation, threshold - _SLACK):
        ends[start + 1 : stop + 1] = found + pointers[1:]
        found += indices.size
        if found * _PAIR_BYTES > max_gb * 1e9:
            raise MemoryLimitError(
                f"the pairs with co-association >= {threshold:g} ({found:,} in the first "
                f"{stop:,} of {n:,} rows)",
                None,
                max_gb,
                remedies=[
                    "use micro-clusters (Ensemble.compress)",
                    "take a higher threshold",
                    "use landmarks (Ensemble.subset, with the other points assigned to them)",
                ],
            )
        parts.append((indices, shares))
    kind = np.int32 if found < 2**31 else np.int64
    # Blocks are let go one by one, so that the pairs are never in memory twice.
    indices, shares = np.empty(found, dtype=kind), np.empty(found)
    at = found
    while parts:
        last = parts.pop()
        at -= last[0].size
        indices[at : at + last[0].size], shares[at : at + last[0].size] = last
    return csr_matrix((shares, indices, ends.astype(kind)), shape=(n, n))


_Block = tuple[int, int, np.ndarray, np.ndarray, np.ndarray]


def _hard_blocks(coassociation: Coassociation, least: float) -> Iterator[_Block]:
    n = coassociation.shape[0]
    weights = kernels.labels.tallies(coassociation._weights)
    together = np.empty(n, dtype=weights.dtype)
    sampled = np.empty(0 if coassociation.is_complete else n, dtype=weights.dtype)
    capacity = max(n, min(n * (n - 1) // 2, _BLOCK))
    indices, shares = np.empty(capacity, dtype=np.int32), np.empty(capacity)
    pointers = np.zeros(n + 1, dtype=np.int64)
    columns, start = coassociation._columns, 0
    while start < n:
        stop = kernels.thresholded.kept_pairs(
            columns, weights, least, start, together, sampled, pointers, indices, shares
        )
        end = pointers[stop - start]
        yield start, stop, pointers[: stop - start + 1], indices[:end].copy(), shares[:end].copy()
        start = stop


def _soft_blocks(coassociation: Coassociation, least: float) -> Iterator[_Block]:
    n = coassociation.shape[0]
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        stop = min(start + step, n)
        block = coassociation.rows(start, stop)
        above = np.arange(n) > np.arange(start, stop)[:, None]
        rows, indices = np.nonzero(above & (block >= least) & (block > 0))
        pointers = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stop - start))])
        yield start, stop, pointers, indices.astype(np.int32), block[rows, indices]
