"""Distances between the rows of tables that hold numbers and words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.params import Null, Rules, Such, checked

_WEIGHTS: Rules = {
    "weights": [
        Null(),
        Such(
            lambda v: np.ndim(v) == 1 and bool(np.all(np.asarray(v, dtype=float) >= 0)),
            "a sequence of numbers >= 0, one per column",
            refused=[[-1.0], 3],
        ),
    ],
}


@checked(_WEIGHTS)
def gower_distances(X: Any, *, weights: Any = None) -> np.ndarray:
    """Return Gower's distances between all rows of a table of numbers and words.

    Each column gives a distance between 0 and 1: the difference over the column's range for
    numbers, 0 or 1 for words and for yes/no. The distance of two rows is the mean over the columns
    that both have. With ``ConsensusClustering(metric="precomputed")`` it clusters mixed tables,
    also with missing values, without one-hot columns.

    Parameters
    ----------
    X : pandas.DataFrame or (n, d) array
        Columns of numbers, words, categories or booleans; missing values are left out pair by pair.
    weights : (d,) array, optional
        Weight of every column; all alike by default.

    Returns
    -------
    (n, n) array
        Distances in [0, 1], symmetric, 0 on the diagonal. It takes 8 n² bytes, and as much again
        while it is computed.

    Raises
    ------
    ValueError
        When two rows have no column in common, or a column holds dates.

    See Also
    --------
    TableEncoder : One-hot columns instead, for any number of points.

    References
    ----------
    J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27(4),
    1971, doi:10.2307/2528823.

    Examples
    --------
    >>> import pandas as pd
    >>> from clusterscape.preprocess import gower_distances
    >>> frame = pd.DataFrame({"age": [20, 30, 40], "city": ["Ulm", "Ulm", "Bonn"]})
    >>> gower_distances(frame)
    array([[0.  , 0.25, 1.  ],
           [0.25, 0.  , 0.75],
           [1.  , 0.75, 0.  ]])
    """
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X)).infer_objects()
    n, d = frame.shape
    if n == 0 or d == 0:
        raise ValueError(f"X must have rows and columns; got shape {frame.shape}.")
    share = np.ones(d) if weights is None else np.asarray(weights, dtype=float)
    if share.shape != (d,) or not np.isfinite(share).all() or share.sum() == 0:
        raise ValueError(
            f"weights must be {d} finite numbers, one per column of X, not all 0; got {weights!r}."
        )
    total, seen = np.zeros((n, n)), np.zeros((n, n))
    for j, weight in enumerate(share):
        _add_column(frame.iloc[:, j], float(weight), total, seen)
    if (seen == 0).any():
        i, k = (int(v) for v in np.argwhere(seen == 0)[0])
        raise ValueError(
            f"rows {frame.index[i]!r} and {frame.index[k]!r} have no column in which both have a "
            "value, so that they have no distance; leave one of them out."
        )
    np.divide(total, seen, out=total)
    np.fill_diagonal(total, 0.0)
    return total


def _add_column(values: pd.Series, weight: float, total: np.ndarray, seen: np.ndarray) -> None:
    """Add one column's distances, and its weight where both rows have a value."""
    if values.dtype.kind in "Mm":
        raise ValueError(
            f"the column {values.name!r} holds dates; turn them into numbers, such as days since a "
            "day, or leave the column out."
        )
    present = values.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(numbers).any():
            raise ValueError(f"the column {values.name!r} holds infinite values.")
        span = float(np.ptp(numbers[present])) if present.any() else 0.0
        numbers = np.where(present, numbers, 0.0) / (span or 1.0)
        apart = np.abs(numbers[:, None] - numbers[None, :])
    else:
        codes = pd.factorize(values)[0]
        apart = (codes[:, None] != codes[None, :]).astype(np.float64)
    both = present[:, None] & present[None, :]
    apart *= weight
    apart[~both] = 0.0
    total += apart
    seen += weight * both
