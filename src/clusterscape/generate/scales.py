"""Warnings of features that distances will misread: scales that differ, sparse counts."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

_DOMINANT = 0.9  # share of the sum of squares that makes a column decide alone
_WIDER = 10.0  # than the typical column, in standard deviations
_ROWS = 10_000  # that are looked at
_SPARSE = 0.2  # share of entries that are not zero, below which counts are sparse


class FeatureScaleWarning(UserWarning):
    """One column has so large a scale that it decides the clusters alone.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.forest import FeatureScaleWarning
    >>> warnings.simplefilter("ignore", FeatureScaleWarning)
    """


class FarValueWarning(UserWarning):
    """One value is so far from all others of its column that it decides the clusters.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.generate.scales import FarValueWarning
    >>> warnings.simplefilter("ignore", FarValueWarning)
    """


class SparseCountsWarning(UserWarning):
    """Sparse counts are compared by Euclidean distances.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.generate.scales import SparseCountsWarning
    >>> warnings.simplefilter("ignore", SparseCountsWarning)
    """


@contextmanager
def accepted_scales() -> Iterator[None]:
    """Warn no more of columns of different scale inside the block.

    For coordinates whose scales mean something, such as principal components.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FeatureScaleWarning)
        yield


def scale_advice(who: str, what: str) -> str:
    """Return the text of a :class:`FeatureScaleWarning`."""
    return (
        f"{who}: {what}, so scales decide the clusters. Scale the columns first, for example with "
        "sklearn.preprocessing.StandardScaler; if the scales are intended, keep them and ignore "
        "this FeatureScaleWarning."
    )


def warn_of_features(
    X: Any, names: Sequence[str] | None, *, who: str, metric: str, stacklevel: int
) -> None:
    """Warn of columns of very different scale, and of sparse counts, where distances are Euclidean.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        The features; of many rows the first ones are looked at.
    names : list of str, optional
        Names of the columns.
    who : str
        The class whose ``fit`` it is.
    metric : str
        Nothing is said unless it is "euclidean".
    stacklevel : int
        As of :func:`warnings.warn`, from the caller on.
    """
    if metric != "euclidean" or X.shape[0] < 2:
        return
    X = X[:_ROWS]
    if sparse.issparse(X):
        if X.nnz < _SPARSE * np.prod(X.shape) and _are_counts(X.data):
            warnings.warn(
                f"{who}: X holds sparse counts ({X.nnz / np.prod(X.shape):.1%} of the entries are "
                "not zero), and Euclidean distances between them are those of the lengths of the "
                'rows. Compare angles instead, with generator=random_k(algorithm="cosine", '
                'n_clusters=...) or generator=diverse(metric="cosine"), or take logarithms.',
                SparseCountsWarning,
                stacklevel=stacklevel + 1,
            )
        return
    spread = np.asarray(X).std(axis=0, dtype=np.float64)
    varying = spread[spread > 0]
    if varying.size < 2:
        return
    column = int(spread.argmax())
    share = float(spread[column] ** 2 / (spread**2).sum())
    typical = float(np.median(np.delete(spread, column)[np.delete(spread, column) > 0]))
    if share >= _DOMINANT and spread[column] >= _WIDER * typical:
        name = f"column {column}" if names is None else f"the column {str(names[column])!r}"
        what = f"{name} has {share:.0%} of the sum of squares"
        row = _one_far_row(np.asarray(X)[:, column], _WIDER * typical)
        text = scale_advice(who, what)
        category: type[UserWarning] = FeatureScaleWarning
        if row is not None:  # scales are not to blame
            category = FarValueWarning
            text = (
                f"{who}: {what} because of one value, in row {row}, which decides the clusters. "
                "Correct it if it is a mistake; if not, leave the row out, or take logarithms of "
                "the column."
            )
        warnings.warn(text, category, stacklevel=stacklevel + 1)


def _one_far_row(values: np.ndarray, wide: float) -> int | None:
    """Return the row without which the spread would be less than ``wide``; None without one."""
    row = int(np.abs(values - np.median(values)).argmax())
    rest = np.delete(values, row)
    return row if rest.std(dtype=np.float64) < wide else None


def _are_counts(values: np.ndarray) -> bool:
    return bool(values.size and values.min() >= 0 and (values == np.round(values)).all())
