"""Distances that stay precise far from the origin and beside outliers, and their median."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms

_CANCELLED = 1e-6  # squares below this share of the squared lengths are taken from differences
_CENTRE = 1000  # rows from which the centre of the data is estimated
_BLOCK = 2**22  # elements of a temporary block


def centre_of(X: Any) -> np.ndarray | None:
    """Return the medians of the columns, which outliers do not move; None for sparse data.

    They are those of some 1,000 rows, in the type of the data.
    """
    if sparse.issparse(X):
        return None
    some = X[:: max(1, X.shape[0] // _CENTRE)]
    # The lower of two middle values: it is in the data, and their sum might not be finite.
    return np.partition(some, (some.shape[0] - 1) // 2, axis=0)[(some.shape[0] - 1) // 2]


def squared_distances(
    left: Any, right: Any, *, centre: np.ndarray | None = None, careful_above: float = 0.0
) -> np.ndarray:
    """Return the squared Euclidean distances of rows, dense or CSR, in double precision.

    They come from products, and where these cancel from the differences of the rows.

    Parameters
    ----------
    left, right : (n, d) and (m, d) arrays or CSR matrices
        The points.
    centre : (d,) array, optional
        Subtracted from dense points before the products.
    careful_above : float
        Below this sum of squared lengths what cancels does not matter.
    """
    left, right = (side.astype(np.float64, copy=False) for side in (left, right))
    a, b = (left, right) if centre is None else (left - centre, right - centre)
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = row_norms(a, squared=True)[:, None] + row_norms(b, squared=True)
        square = a @ b.T
        square = square.toarray() if sparse.issparse(square) else square
        square *= -2.0
        square += lengths
        np.maximum(square, 0.0, out=square)
        if lengths.max(initial=0.0) > careful_above:
            lost = ~(square >= _CANCELLED * lengths) & (lengths > careful_above)
            _from_differences(left, right, lost, square)
    return square


def _from_differences(left: Any, right: Any, lost: np.ndarray, square: np.ndarray) -> None:
    """Replace the entries of ``square`` that are ``lost``."""
    rows, columns = np.nonzero(lost)
    width = left.shape[1]
    if rows.size > lost.size // 8 and max(lost.shape) * width <= _BLOCK:
        sides = [s.toarray() if sparse.issparse(s) else s for s in (left, right)]
        square[lost] = cdist(*sides, "sqeuclidean")[lost]
        return
    if sparse.issparse(left):
        width = int(np.diff(left.indptr).max(initial=0) + np.diff(right.indptr).max(initial=0))
    step = max(1, _BLOCK // max(width, 1))
    for start in range(0, rows.size, step):
        x, y = rows[start : start + step], columns[start : start + step]
        square[x, y] = row_norms(left[x] - right[y], squared=True)


def median_distance(
    X: Any,
    rng: np.random.Generator,
    *,
    sample: int,
    metric: str = "euclidean",
    weights: np.ndarray | None = None,
    apart: bool = False,
) -> float:
    """Return the median distance of the points, or of at most ``sample`` drawn ones.

    With ``apart`` it is that of points in different places: copies of points, and weights in place
    of copies, change it no more than their shares do. A pair counts as often as the product of its
    weights; where points are drawn, they are in proportion to their weights.
    """
    rows, weights = _drawn(X.shape[0], rng, sample, weights)
    some = X[rows]
    if metric == "manhattan":
        distances = manhattan_distances(some)
    else:
        distances = np.sqrt(squared_distances(some, some, centre=centre_of(some)))
    pairs = np.triu_indices(len(rows), 1)
    values = distances[pairs]
    kept = values > 0 if apart else np.ones(values.size, dtype=bool)
    if weights is None:
        found = typical(values[kept])
    else:
        share = weights / weights.max()  # or products might not be finite
        counts = share[pairs[0]] * share[pairs[1]]
        found = _weighted_typical(values[kept], counts[kept])
    if not np.isfinite(found):
        raise ValueError(
            "features: the median distance of the points is not a finite number; divide the "
            "features by a number of their own size."
        )
    return found


def _drawn(
    n: int, rng: np.random.Generator, sample: int, weights: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows, ascending, and the weights with which each counts (None: all alike)."""
    if weights is None:
        few = n <= sample
        return np.arange(n) if few else np.sort(rng.choice(n, sample, replace=False)), None
    rows = np.flatnonzero(weights > 0)
    if rows.size <= sample:
        return rows, weights[rows]
    share = weights / weights.max()
    return np.sort(rng.choice(n, sample, p=share / share.sum())), None


def typical(distances: np.ndarray) -> float:
    """Return the median, or where more than half are zero the mean; 1 if all points are equal."""
    if distances.size == 0 or not distances.any():
        return 1.0
    median = float(np.median(distances))
    return median if median > 0 else float(distances.mean())


def _weighted_typical(distances: np.ndarray, counts: np.ndarray) -> float:
    """Return what :func:`typical` does of distances that occur ``counts`` times each."""
    if not distances[counts > 0].any():
        return 1.0
    order = np.argsort(distances, kind="stable")
    ranked, upto = distances[order], np.cumsum(counts[order])
    # Sums of shares are rounded, and two equal halves must still be seen as equal.
    half, slack = upto[-1] / 2.0, 1e-12 * upto[-1]
    low, high = np.searchsorted(upto, [half - slack, half + slack])
    median = float(ranked[low] / 2.0 + ranked[min(high, ranked.size - 1)] / 2.0)
    return median if median > 0 else float(distances @ (counts / upto[-1]))


def check_range(X: Any, name: str, *, smallest: bool = True) -> None:
    """Refuse values whose squares are no floating-point numbers of their type.

    Without ``smallest`` values that are all tiny are let through.
    """
    check_extremes(float(X.min()), float(X.max()), X.dtype, name, smallest=smallest)


def check_extremes(
    low: float, high: float, dtype: np.dtype, name: str, *, smallest: bool = True
) -> None:
    """Refuse what :func:`check_range` does, by the least and the largest value."""
    largest = max(high, -low)
    bound = 1e150 if dtype == np.float64 else 1e15
    if largest > bound or (smallest and 0 < largest < 1 / bound):
        raise ValueError(
            f"{name} has values up to {largest:g}, whose squares leave the range of {dtype}; "
            "scale the columns first."
        )
