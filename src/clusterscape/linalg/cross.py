"""Co-association of points with others that were not in the ensemble."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clusterscape import kernels
from clusterscape._core.params import Instance, Number, checked
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.thresholded import SCALE, check_shares, regularised


@checked({"threshold": [Number(0, 1)], "scale": SCALE, "coassociation": [Instance(Coassociation)]})
def cross_coassociation(
    coassociation: Coassociation,
    rows: ArrayLike,
    *,
    threshold: float = 0.0,
    scale: float | None = None,
) -> np.ndarray:
    """Return the co-association of new points with those of an ensemble, thresholded and scaled.

    The entries are those that :class:`ThresholdedCoassociation` would have if the new points were
    in the ensemble. It is a dense block: give the new points in portions.

    Parameters
    ----------
    coassociation : Coassociation
        Of n points in r hard partitions, with ``normalize="pairs"``.
    rows : (m, r) array
        Clusters of the new points in the same partitions, by their codes; -1 is noise, -2
        unsampled.
    threshold : float
        Smaller co-associations become zero; equal ones are kept.
    scale : float, optional
        Return ``exp(scale * p)``, which is 1 for what was set to zero.

    Returns
    -------
    (m, n) array

    See Also
    --------
    Coassociation : Of one set of points.

    References
    ----------
    .. [1] A. L. N. Fred and A. K. Jain. Combining multiple clusterings using evidence accumulation.
       IEEE Transactions on Pattern Analysis and Machine Intelligence 27(6), 835-850, 2005.
       doi:10.1109/TPAMI.2005.113

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.linalg import cross_coassociation
    >>> S = Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]).coassociation()
    >>> cross_coassociation(S, [[0, 1], [-1, 1]])
    array([[0.5, 1. , 0.5],
           [0. , 0.5, 0.5]])
    """
    check_shares(coassociation)
    if coassociation._soft:
        raise ValueError(
            "coassociation has soft partitions, and rows of labels hold hard ones; use the "
            "co-association of ensemble.labels."
        )
    codes = _checked_rows(rows, coassociation)
    columns = coassociation._columns
    codes = np.ascontiguousarray(codes, dtype=columns.dtype)
    background = 0.0 if scale is None else 1.0
    weights = kernels.labels.tallies(coassociation._weights)
    out = np.empty((codes.shape[0], columns.shape[1]))
    complete = coassociation.is_complete and not (codes == -2).any()
    if complete and weights.dtype.kind == "u":
        # As many different entries as votes: they are looked up.
        total = int(weights.sum())
        shares = np.arange(total + 1) / total
        table = regularised(shares, threshold, scale) + background
        kernels.thresholded.cross_entries(columns, codes, weights, table, out)
        return out
    weights = np.asarray(coassociation._weights)
    kernels.thresholded.cross_together(columns, codes, weights, out)
    both = np.full_like(out, weights.sum())
    if not complete:
        kernels.thresholded.cross_sampled(columns, codes, weights, both)
    np.divide(out, both, out=out, where=both > 0)
    return regularised(out, threshold, scale) + background


def _checked_rows(rows: ArrayLike, coassociation: Coassociation) -> np.ndarray:
    codes = np.asarray(rows)
    counts = np.diff(coassociation._offsets)
    if codes.ndim != 2 or codes.shape[1] != counts.size or codes.dtype.kind not in "iu":
        raise ValueError(
            f"rows must be whole numbers, one row per point and one column for each of the "
            f"{counts.size} partitions; got shape {codes.shape} of type {codes.dtype}."
        )
    if codes.size and ((codes < -2).any() or (codes >= counts).any()):
        i = int(np.argmax(((codes < -2) | (codes >= counts)).any(axis=0)))
        raise ValueError(
            f"rows: column {i} has codes from {codes[:, i].min()} to {codes[:, i].max()}, and "
            f"partition {i} has {counts[i]} clusters; give codes from 0 to {counts[i] - 1}, -1 for "
            "noise or -2 for unsampled."
        )
    return codes
