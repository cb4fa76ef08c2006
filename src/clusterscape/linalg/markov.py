"""Nearly decomposable matrices: stochastic complements, total support, and the ratio zeta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching
from scipy.sparse.linalg import LinearOperator, aslinearoperator, gmres, splu

from clusterscape import kernels
from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.params import shown
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.rowspace import RowSpace

_STOCHASTIC = 0.05  # by how much a sum of a row may differ from 1, as by printed digits
_BLOCK = 256  # rows of a dense matrix that are looked at together


def check_chain(P: Any) -> None:
    """Refuse a matrix whose rows do not sum to one."""
    A = aslinearoperator(P)
    with np.errstate(all="ignore"):  # what overflows is refused
        sums = np.asarray(A.matvec(np.ones(A.shape[1])))
        off = ~(np.abs(sums - 1) <= _STOCHASTIC)
    if off.any():
        row = int(np.argmax(off))
        raise ValueError(
            f"the rows of P must sum to 1; row {row} sums to {sums[row]:g}. "
            "clusterscape.linalg.sinkhorn.sinkhorn finds what scales a matrix so."
        )


def stochastic_complement(P: Any, block: Any) -> np.ndarray:
    """Return the stochastic complement of a diagonal block of a stochastic matrix.

    It is the chain watched only while it is inside the block: ``P_ii + P_i* (I - P_i)^-1 P_*i``
    (Meyer 1989). Of an irreducible stochastic P it is stochastic; of a doubly stochastic one it is
    doubly stochastic.

    Parameters
    ----------
    P : array, sparse matrix or LinearOperator
        Stochastic.
    block : array of int or bool
        The rows of the block: positions, or a mask.

    Returns
    -------
    (b, b) array
        In the order of ``block``.

    Raises
    ------
    ValueError
        When a part of the other rows is never left: the chain then need not return.

    See Also
    --------
    total_support : Whether a matrix can be made doubly stochastic.

    References
    ----------
    .. [1] C. D. Meyer. Stochastic complementation, uncoupling Markov chains, and the theory of
       nearly reducible systems. SIAM Review 31(2), 240-272, 1989. doi:10.1137/1031050

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import stochastic_complement
    >>> P = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.25, 0.0, 0.75]])
    >>> stochastic_complement(P, [0, 1])
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if len(getattr(P, "shape", ())) != 2 or P.shape[0] != P.shape[1]:
        raise ValueError(f"P must be a square matrix; got {shown(P)}.")
    n = P.shape[0]
    chosen = np.asarray(block)
    inside = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
    if (
        inside.dtype.kind not in "iu"
        or inside.ndim != 1
        or inside.size == 0
        or inside.min() < 0
        or inside.max() >= n
        or np.unique(inside).size != inside.size
    ):
        raise ValueError(
            f"block must be distinct positions below {n}, or a mask of {n} entries that selects at "
            f"least one; got {shown(block)}."
        )
    check_chain(P)
    outside = np.setdiff1d(np.arange(n), inside)
    if isinstance(P, LinearOperator):
        return _complement_by_products(P, inside, outside)
    matrix: Any = sparse.csc_matrix(P) if sparse.issparse(P) else np.asarray(P, dtype=np.float64)
    own = matrix[np.ix_(inside, inside)]
    out, back = matrix[np.ix_(inside, outside)], matrix[np.ix_(outside, inside)]
    rest = matrix[np.ix_(outside, outside)]
    if outside.size == 0:
        return own.toarray() if sparse.issparse(own) else own
    try:
        if sparse.issparse(matrix):
            system = sparse.csc_matrix(sparse.identity(outside.size) - rest)
            found = own.toarray() + out @ splu(system).solve(back.toarray())
        else:
            found = own + out @ np.linalg.solve(np.eye(outside.size) - rest, back)
    except (RuntimeError, np.linalg.LinAlgError):
        raise _never_left() from None
    return _checked_complement(np.asarray(found))


def _complement_by_products(
    P: LinearOperator, inside: np.ndarray, outside: np.ndarray
) -> np.ndarray:
    """Return the complement of an operator's block: one linear system per column."""
    n = P.shape[0]
    unit = np.zeros((n, inside.size))
    unit[inside, np.arange(inside.size)] = 1.0
    columns = P @ unit
    if outside.size == 0:
        return columns[inside]

    def system(values: np.ndarray) -> np.ndarray:
        full = np.zeros(n)
        full[outside] = values.ravel()
        return values.ravel() - (P @ full)[outside]

    A = LinearOperator((outside.size, outside.size), matvec=system, dtype=np.float64)
    visits = np.zeros((n, inside.size))
    for j in range(inside.size):
        solution, failed = gmres(A, columns[outside, j], rtol=1e-12, atol=1e-14, restart=100)
        if failed:
            raise _never_left()
        visits[outside, j] = solution
    return _checked_complement(columns[inside] + (P @ visits)[inside])


def _checked_complement(found: np.ndarray) -> np.ndarray:
    if not np.isfinite(found).all() or found.min() < -1e-6:
        raise _never_left()
    return np.maximum(found, 0.0)


def _never_left() -> ValueError:
    return ValueError(
        "P: the chain can stay outside of the block for ever, so the block has no stochastic "
        "complement; P must be irreducible (look at its connected components)."
    )


@dataclass(frozen=True)
class SupportDiagnosis:
    """Whether a matrix can be scaled to a doubly stochastic one, and what prevents it.

    Attributes
    ----------
    has_support : bool
        Whether some permutation selects positive elements only.
    has_total_support : bool
        Whether every positive element lies on such a permutation; a scaling exists just then.
    offending : (m, 2) array
        Positions of the positive elements that lie on none.

    See Also
    --------
    total_support : Make one.
    """

    has_support: bool
    has_total_support: bool
    offending: np.ndarray


def total_support(matrix: Any) -> SupportDiagnosis:
    """Say whether every positive element of a square matrix lies on a positive diagonal.

    A diagonal is what a permutation picks, one element per row and column. Sinkhorn-Knopp converges
    to a scaling of the matrix just when it has total support. One bipartite matching and the
    strong components of its alternating paths decide it, without going through permutations.

    Parameters
    ----------
    matrix : array or sparse matrix
        Square, not negative.

    Returns
    -------
    SupportDiagnosis

    See Also
    --------
    stochastic_complement : The chain inside of a block.

    References
    ----------
    .. [1] R. Sinkhorn and P. Knopp. Concerning nonnegative matrices and doubly stochastic matrices.
       Pacific Journal of Mathematics 21(2), 343-348, 1967. doi:10.2140/pjm.1967.21.343

    Examples
    --------
    >>> from clusterscape.linalg import total_support
    >>> total_support([[1, 1], [0, 1]])
    SupportDiagnosis(has_support=True, has_total_support=False, offending=array([[0, 1]]))
    """
    pattern = sparse.csr_matrix(matrix, dtype=np.float64)
    n = pattern.shape[0]
    if pattern.shape != (n, n):
        raise ValueError(f"matrix must be square; got shape {pattern.shape}.")
    if not np.isfinite(pattern.data).all() or pattern.data.min(initial=0.0) < 0:
        raise ValueError(f"matrix must hold finite elements >= 0; got {shown(matrix)}.")
    pattern.eliminate_zeros()
    entries = pattern.tocoo()
    positions = np.column_stack([entries.row, entries.col]).astype(np.int64)
    row_of = maximum_bipartite_matching(pattern, perm_type="row")  # of each column
    if (row_of < 0).any():
        return SupportDiagnosis(False, False, positions)
    # An element (i, j) can replace matched ones just when a cycle of alternating steps
    # i -> row matched to j -> ... leads back to i.
    steps = sparse.csr_matrix((np.ones(len(positions)), (entries.row, row_of[entries.col])), (n, n))
    component = connected_components(steps, directed=True, connection="strong")[1]
    good = component[entries.row] == component[row_of[entries.col]]
    return SupportDiagnosis(True, bool(good.all()) and n > 0, positions[~good])


def zeta_ratios(
    similarity: Any, labels: np.ndarray, weights: np.ndarray, *, removed: np.ndarray
) -> np.ndarray:
    """Return zeta of each clustering: the largest row sum outside of its blocks over the largest.

    Parameters
    ----------
    similarity : array, sparse matrix or Coassociation
        Symmetric; of a co-association rows are formed a block at a time.
    labels : (n, r) integer array
        Clusterings; a point with -1 is a block of its own, and pairs with a -2 are not counted.
    weights : (n,) array
        Number of points that each row represents.
    removed : (n,) array
        What is taken off the diagonal at the level of points.
    """
    largest = float((aslinearoperator(similarity) @ weights - removed).max(initial=0.0))
    if largest <= 0:
        return np.zeros(labels.shape[1])
    return away_sums(similarity, labels, weights).max(axis=0, initial=0.0) / largest


def zeta_by_lookups(
    rows: RowSpace,
    labels: np.ndarray,
    weights: np.ndarray,
    *,
    column_weights: np.ndarray,
    own: np.ndarray,
    keep_own: bool = False,
) -> np.ndarray:
    """Return zeta of each clustering, as :func:`zeta_ratios`, for the counts B W B^T.

    No pair is looked at: the similarity of a point to its own block is r look-ups in a table of
    clusters by blocks, so a clustering costs O(n r).

    Parameters
    ----------
    rows : RowSpace
        The rows of B.
    labels, weights
        As there.
    column_weights : (D,) array
        Weight of the partition that each cluster belongs to.
    own : (n,) array
        What a point has with itself: the diagonal, times the weight where that is below 1.
    keep_own : bool
        Whether that counts among the row sums.
    """
    removed = np.zeros_like(own) if keep_own else own

    def similar(mass: np.ndarray) -> np.ndarray:
        sizes = rows.totals(np.zeros(mass.size, dtype=np.int32), mass, 1)
        return rows.product(column_weights[:, None] * sizes).ravel() - removed

    whole = similar(weights)
    largest = float(whole.max(initial=0.0))
    zeta = np.zeros(labels.shape[1])
    for p in range(labels.shape[1] if largest > 0 else 0):
        codes = labels[:, p].astype(np.int32)
        seen, inside = codes != UNSAMPLED, codes >= 0
        groups = np.maximum(codes, 0)
        n_groups = int(groups.max(initial=0)) + 1
        table = rows.totals(groups, np.where(inside, weights, 0.0), n_groups)
        within = _own_group_sums(rows, column_weights[:, None] * table, groups)
        mass = whole if seen.all() else similar(np.where(seen, weights, 0.0))
        outside = np.where(seen, mass + removed - np.where(inside, within, own), 0.0)
        zeta[p] = max(float(outside.max()), 0.0) / largest
    # Rounding leaves a trace where all of every point's similarity is inside its block.
    return np.where(zeta < 1e-12, 0.0, zeta)


def _own_group_sums(rows: RowSpace, table: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return, per point, its row of B times the column of ``table`` that its group has."""
    out = np.zeros(rows.n_points)
    if rows.membership is None:
        kernels.markov.own_group_sums(rows.labels, rows.offsets, table, groups, out)
        return out
    entries = rows.membership.tocoo()
    values = entries.data * table[entries.col, groups[entries.row]]
    return np.bincount(entries.row, weights=values, minlength=rows.n_points)


def away_sums(similarity: Any, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return, per row and clustering, the similarity to points outside of the row's block."""
    n, r = labels.shape
    out = np.zeros((n, r))
    codes = separate_noise(labels)
    if sparse.issparse(similarity):
        rows = sparse.csr_matrix(similarity)
        kernels.markov.away_sparse(rows.indptr, rows.indices, rows.data, codes, weights, out)
        diagonal = rows.diagonal()
    else:
        diagonal = np.empty(n)
        for start in range(0, n, _BLOCK):
            stop = min(start + _BLOCK, n)
            if isinstance(similarity, Coassociation):
                block = similarity.rows(start, stop)
            else:
                block = np.ascontiguousarray(similarity[start:stop])
            diagonal[start:stop] = block[np.arange(stop - start), np.arange(start, stop)]
            kernels.markov.away_dense(block, start, codes, weights, out)
    copies = np.maximum(weights - 1.0, 0.0) * diagonal  # a noise point is apart from its copies
    return out + np.where(labels == NOISE, copies[:, None], 0.0)


def separate_noise(labels: np.ndarray) -> np.ndarray:
    """Return the codes with a code of its own for every noise point; -2 stays."""
    codes = labels.astype(np.int32)
    own = np.int32(codes.max(initial=0) + 1) + np.arange(len(codes), dtype=np.int32)
    return np.where(codes == NOISE, own[:, None], codes)


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """Return the median of values, each counted ``weights`` times."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    half = reached[-1] / 2
    slack = 1e-12 * reached[-1]
    lower = values[order][np.searchsorted(reached, half - slack)]
    upper = values[order][min(np.searchsorted(reached, half + slack, "right"), len(order) - 1)]
    return float((lower + upper) / 2)
