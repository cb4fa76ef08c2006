"""Distances between the rows of tables that hold numbers and words."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.params import Null, Rules, Such, check_params, checked
from clusterscape.preprocess._mixed import MixedTable, is_number

_BLOCK = 1 << 21  # distances that are computed at a time

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
        Distances in [0, 1], symmetric, 0 on the diagonal. It takes 8 n² bytes.

    Raises
    ------
    ValueError
        When two rows have no column in common, or a column holds dates.

    See Also
    --------
    GowerDistances : The same as a step of a pipeline, also between new rows and those of ``fit``.
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
    made = GowerDistances(weights=weights).fit(X)
    table, spans = made.table_, made.spans_
    names = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(len(table))
    total = _between(table, table, spans, _shares(weights, len(spans)), names, names)
    np.fill_diagonal(total, 0.0)
    return total


class GowerDistances(MixedTable, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn a table of numbers and words into Gower's distances to the rows of ``fit``.

    As :func:`gower_distances`, as a step of a pipeline: before
    ``ConsensusClustering(metric="precomputed")`` it clusters mixed tables, with gaps, and
    ``predict`` places new rows.

    Parameters
    ----------
    weights : (d,) array, optional
        Weight of every column; all alike by default.

    Attributes
    ----------
    table_ : (n, d) array
        The rows of ``fit``: numbers, numbers of words, and NaN for gaps.
    spans_ : (d,) array
        Range of every column of numbers; 0 for words.
    categories_ : list
        The words of each column, as an array of text; None for a column of numbers.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    gower_distances : The distances alone.
    TableEncoder : One-hot columns instead, for any number of points.

    Notes
    -----
    The distances of n rows take 8 n² bytes. The transformer holds all rows of ``fit``, and so does
    a file of it. A value beyond the range in ``fit`` is at most 1 away from any other.

    References
    ----------
    J. C. Gower, "A general coefficient of similarity and some of its properties", Biometrics 27(4),
    1971, doi:10.2307/2528823.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from clusterscape import ConsensusClustering
    >>> from clusterscape.preprocess import GowerDistances
    >>> frame = pd.DataFrame(
    ...     {"age": [20, 21, 22, 60, 61, None] * 5, "city": ["Ulm"] * 15 + ["Bonn"] * 15}
    ... )
    >>> model = ConsensusClustering(2, metric="precomputed", n_partitions=20, random_state=0)
    >>> pipeline = make_pipeline(GowerDistances(), model).fit(frame)
    >>> pipeline.predict(pd.DataFrame({"age": [20, 61], "city": ["Bonn", "Ulm"]})).shape
    (2,)
    """

    _parameter_rules: ClassVar[Rules] = _WEIGHTS

    def __init__(self, *, weights: Any = None) -> None:
        self.weights = weights

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the rows, the ranges and the words.

        Parameters
        ----------
        X : pandas.DataFrame or (n, d) array
            Columns of numbers, booleans, words or categories; NaN and None are gaps.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        frame = self._frame(X, reset=True)
        _shares(self.weights, frame.shape[1])
        self.table_, self.spans_, self.categories_ = _learnt(frame)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the distances of rows to those of ``fit``.

        Parameters
        ----------
        X : pandas.DataFrame or (m, d) array
            The columns of ``fit``.

        Returns
        -------
        (m, n) array
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        columns = []
        for j, words in enumerate(self.categories_):
            values = frame.iloc[:, j]
            if words is None:
                self._refuse_words(values, j)
            columns.append(_coded(values, words))
        share = _shares(self.weights, len(self.spans_))
        names = X.index if isinstance(X, pd.DataFrame) else frame.index
        known = pd.RangeIndex(len(self.table_))
        return _between(np.column_stack(columns), self.table_, self.spans_, share, names, known)

    @property
    def _n_features_out(self) -> int:
        return len(self.table_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _shares(weights: Any, d: int) -> np.ndarray:
    """Return the weight of every column."""
    share = np.ones(d) if weights is None else np.asarray(weights, dtype=float)
    if share.shape != (d,) or not np.isfinite(share).all() or share.sum() == 0:
        raise ValueError(
            f"weights must be {d} finite numbers, one per column of X, not all 0; got {weights!r}."
        )
    return share


def _learnt(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, list[np.ndarray | None]]:
    """Return the table as numbers, the ranges of its columns, and their words."""
    columns, spans, categories = [], [], []
    for j in range(frame.shape[1]):
        values = frame.iloc[:, j]
        words = None
        if not is_number(values):
            words = np.array(sorted(set(values.dropna().map(str))), dtype=object)
        coded = _coded(values, words)
        present = coded[~np.isnan(coded)]
        columns.append(coded)
        spans.append(float(np.ptp(present)) if words is None and present.size else 0.0)
        categories.append(words)
    return np.column_stack(columns), np.array(spans), categories


def _coded(values: pd.Series, words: np.ndarray | None) -> np.ndarray:
    """Return numbers, or the places of words among those known; NaN for gaps.

    All words that are not known share one number: they differ from every row of ``fit``.
    """
    if words is None:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    places = {word: float(i) for i, word in enumerate(words)}
    texts = values.map(str, na_action="ignore").astype(object).where(values.notna(), None)
    return np.array([np.nan if t is None else places.get(t, len(words)) for t in texts], float)


def _between(
    rows: np.ndarray,
    others: np.ndarray,
    spans: np.ndarray,
    share: np.ndarray,
    names: pd.Index,
    known: pd.Index,
) -> np.ndarray:
    """Return the distances of rows to others, a block of rows after the other."""
    found = np.empty((len(rows), len(others)))
    step = max(1, _BLOCK // len(others))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        total, seen = np.zeros((2, len(part), len(others)))
        for j, (span, weight) in enumerate(zip(spans, share, strict=True)):
            a, b = part[:, j, None], others[None, :, j]
            if span > 0:
                apart = np.minimum(np.abs(a / span - b / span), 1.0)
            else:
                apart = (a != b).astype(np.float64)
            both = ~(np.isnan(a) | np.isnan(b))
            apart *= weight
            apart[~both] = 0.0
            total += apart
            seen += weight * both
        if (seen == 0).any():
            i, k = (int(v) for v in np.argwhere(seen == 0)[0])
            raise ValueError(
                f"rows {names[start + i]!r} and {known[k]!r} have no column in which both have a "
                "value, so that they have no distance; leave one of them out."
            )
        found[start : start + step] = total / seen
    return found
