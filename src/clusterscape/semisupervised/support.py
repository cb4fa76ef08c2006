"""How near the support vectors of two machines are."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.utils import check_array

from clusterscape._core.params import shown
from clusterscape.linalg.distances import check_range, squared_distances

_ALL_PAIRS = 2_000  # points up to which the diameter is that of all pairs


class SupportVectorDistances(NamedTuple):
    """Mean distances between two sets of support vectors, as shares of the data's diameter.

    Attributes
    ----------
    to_true : float
        From each approximate support vector to the nearest true one; low where few are wrong.
    from_true : float
        From each true support vector to the nearest approximate one; low where few are missed.

    See Also
    --------
    support_vector_distances : Compute them.
    """

    to_true: float
    from_true: float


def support_vector_distances(
    X: Any, approximate: np.ndarray, true: np.ndarray
) -> SupportVectorDistances:
    """Compare the support vectors of an approximate machine with those of the exact one.

    In the manner of precision and recall, but lower is better: mean distance to the nearest support
    vector of the other machine, in both directions, divided by the diameter of the data [1]_.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The points.
    approximate, true : arrays
        Rows that are support vectors of the one and of the other, as ``TransductiveSVC.support_``.

    Returns
    -------
    SupportVectorDistances
        Both means, from 0 to 1.

    See Also
    --------
    TransductiveSVC : Its ``support_``.
    clusterscape.plot.SupportVectorDisplay : Bars of them.

    Notes
    -----
    The diameter is the largest distance of two points up to 2,000 points. Above it is found by
    going four times to the farthest point, which is at least half of the largest distance and
    nearly always the largest itself.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 6.3.5.2.

    Examples
    --------
    >>> from clusterscape.semisupervised import support_vector_distances
    >>> support_vector_distances([[0.0], [1.0], [3.0], [10.0]], [0, 1], [1, 2])
    SupportVectorDistances(to_true=0.05, from_true=0.1)
    """
    with np.errstate(invalid="ignore"):  # it adds infinities of both signs, and then refuses them
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
    check_range(X, "X", smallest=False)
    sides = [np.asarray(rows) for rows in (approximate, true)]
    for name, rows in zip(("approximate", "true"), sides, strict=True):
        whole = rows.ndim == 1 and rows.size > 0 and rows.dtype.kind in "iu"
        if not whole or rows.min() < 0 or rows.max() >= X.shape[0]:
            raise ValueError(
                f"{name} must be a vector of at least one row of X, by positions below "
                f"{X.shape[0]}; got {shown(rows)}."
            )
    width = _diameter(X) or 1.0
    some, exact = X[sides[0]], X[sides[1]]
    there = pairwise_distances_argmin_min(some, exact)[1].mean()
    back = pairwise_distances_argmin_min(exact, some)[1].mean()
    return SupportVectorDistances(float(there / width), float(back / width))


def _diameter(X: Any) -> float:
    if X.shape[0] <= _ALL_PAIRS:
        return float(np.sqrt(squared_distances(X, X).max()))
    at, longest = 0, 0.0
    for _ in range(4):
        square = squared_distances(X, X[[at]])[:, 0]
        at = int(square.argmax())
        longest = max(longest, float(square[at]))
    return float(np.sqrt(longest))
