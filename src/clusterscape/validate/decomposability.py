"""How nearly a similarity falls into blocks: the ratio zeta."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from clusterscape._core.labels import encode
from clusterscape._core.params import Choice, checked
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.linalg.markov import weighted_median, zeta_by_lookups, zeta_ratios
from clusterscape.linalg.operators import checked_similarity
from clusterscape.linalg.rowspace import RowSpace


@dataclass(frozen=True)
class Decomposability:
    """zeta of one or several clusterings.

    Attributes
    ----------
    zeta : (r,) array
        Of each clustering, in [0, 1]: 0 when similarities cross no border between clusters, 1 when
        some point with the largest total similarity has all of it outside of its cluster.
    median : float
        Their median, each counted as often as its partition weighs.

    See Also
    --------
    near_decomposability : Make one.
    """

    zeta: np.ndarray
    median: float


@checked({"similarity": [Choice("pairs", "counts")], "diagonal": [Choice("zero", "keep")]})
def near_decomposability(
    data: Any,
    labels: Any = None,
    *,
    similarity: Literal["pairs", "counts"] = "pairs",
    diagonal: Literal["zero", "keep"] = "zero",
) -> Decomposability:
    """Measure how nearly a similarity matrix falls into the blocks of a clustering.

    zeta is the largest similarity that a point has to other clusters, all points of them together,
    over the largest total similarity of any point. Meyer and Wessell [1]_ ask for a median below
    0.5. It is 0 for a matrix of separate blocks.

    Parameters
    ----------
    data : Ensemble, (n, r) labels, or symmetric (n, n) matrix
        Of an ensemble the co-association is used. A matrix of similarities may be dense or sparse,
        and needs ``labels``; a symmetric square array is taken for similarities.
    labels : (n,) array, optional
        The clustering; by default every partition of the ensemble. A point with -1 is a block of
        its own; a point with -2 is left out.
    similarity : {"pairs", "counts"}
        Of an ensemble: co-occurrences over co-samplings, or plain co-occurrences. They differ only
        where points are unsampled; "pairs" then takes O(n^2 r) instead of O(n r) per clustering.
    diagonal : {"zero", "keep"}
        Whether a point's similarity to itself counts.

    Returns
    -------
    Decomposability

    See Also
    --------
    clusterscape.combine.SCA : Zeroes small similarities until zeta is small.

    Notes
    -----
    One point decides: zeta is a maximum over points, so a single point between two clusters makes
    it large. Partitions finer than the blocks have a large zeta however clear the blocks are.

    References
    ----------
    .. [1] C. D. Meyer and C. D. Wessell, "Stochastic data clustering", SIAM Journal on Matrix
       Analysis and Applications 33, 1214-1236, 2012. doi:10.1137/100804395

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.validate import near_decomposability
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    >>> near_decomposability(runs).zeta.round(3)
    array([0.429, 0.429, 0.571])
    >>> near_decomposability([[0, 3, 1], [3, 0, 0], [1, 0, 0]], [0, 0, 1]).median
    0.25
    """
    matrix = _as_matrix(data)
    if matrix is not None:
        if labels is None:
            raise ValueError(
                "labels must be given with a similarity matrix: zeta belongs to a clustering. "
                "(An array of partitions that is square and symmetric goes in as an Ensemble.)"
            )
        n = matrix.shape[0]
        removed = np.zeros(n) if diagonal == "keep" else matrix.diagonal()
        zeta = zeta_ratios(matrix, _column(labels, n), np.ones(n), removed=removed)
        return Decomposability(zeta, float(zeta[0]))
    return _of_ensemble(as_ensemble(data, "data"), labels, similarity, diagonal)


def _of_ensemble(
    ensemble: Ensemble, labels: Any, similarity: Literal["pairs", "counts"], diagonal: str
) -> Decomposability:
    if labels is None:
        ensemble = ensemble.compress().ensemble
        clusterings, votes = ensemble.labels, ensemble.weights
    else:
        clusterings, votes = _column(labels, ensemble.n_points), np.ones(1)
    lookups = similarity == "counts" or ensemble.is_complete
    operator = ensemble.coassociation(normalize="counts" if lookups else "pairs")
    # The similarity of a point to itself; a weight below 1 has only that much of it.
    own = np.minimum(ensemble.sample_weight, 1.0) * operator.diagonal()
    keep = diagonal == "keep"
    if lookups:
        zeta = zeta_by_lookups(
            RowSpace.of(ensemble),
            clusterings,
            ensemble.sample_weight,
            column_weights=operator.column_weights,
            own=own,
            keep_own=keep,
        )
    else:
        removed = np.zeros_like(own) if keep else own
        zeta = zeta_ratios(operator, clusterings, ensemble.sample_weight, removed=removed)
    weights = votes if votes.sum() > 0 else np.ones_like(votes)
    return Decomposability(zeta, weighted_median(zeta, weights))


def _as_matrix(data: Any) -> Any:
    """Return a similarity matrix, or None when ``data`` is an ensemble or its labels."""
    if isinstance(data, LinearOperator):
        raise TypeError("data: pass the ensemble itself, or a matrix, instead of an operator.")
    if sparse.issparse(data):
        return checked_similarity(data, "data")
    if isinstance(data, Ensemble):
        return None
    try:
        array = np.asarray(data, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        return None
    gap = np.abs(array - array.T).max(initial=0.0)
    return checked_similarity(array, "data") if gap <= 1e-8 * np.abs(array).max(initial=0) else None


def _column(labels: Any, n: int) -> np.ndarray:
    codes = encode(labels, "labels")[0]
    if codes.shape != (n,):
        raise ValueError(f"labels has {codes.size} entries for {n} points.")
    return codes[:, None]
