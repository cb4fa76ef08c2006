"""Scales of mixed tables: columns of numbers, and columns that say which of two values."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clusterscape._core.params import Rules, check_params
from clusterscape.linalg.distances import check_extremes


class MixedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale columns of numbers to unit deviation, and columns of two values to 0 and 0.71.

    What comes after :class:`TableEncoder`. In its columns of zeros and ones unit deviation would
    let rare words decide: the one row in a thousand that has a word would be 32 units away from
    all others. Here two rows with different words of a column are at the squared distance 1,
    however rare the words are; by numbers, two random rows are at 2 on average.

    Attributes
    ----------
    center_ : (d,) array
        What is subtracted from each column: its mean, or the smaller of two values.
    scale_ : (d,) array
        What each column is then divided by: its standard deviation, or the difference of the two
        values times the square root of 2; 1 for constant columns.
    two_valued_ : (d,) array of bool
        Which columns hold two values.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    TableEncoder : Makes the columns of zeros and ones.
    GowerDistances : Distances between the rows of mixed tables, without new columns.
    sklearn.preprocessing.StandardScaler : Unit deviation for all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from clusterscape.preprocess import MixedScaler
    >>> frame = pd.DataFrame({"age": [20.0, 30, 40], "city=Bonn": [0.0, 0, 1]})
    >>> MixedScaler().set_output(transform="pandas").fit_transform(frame).round(2)
        age  city=Bonn
    0 -1.22       0.00
    1  0.00       0.00
    2  1.22       0.71
    """

    _parameter_rules: ClassVar[Rules] = {}

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find means, deviations, and the columns of two values.

        Parameters
        ----------
        X : (n, d) array or data frame
            The features; NaN are gaps, which stay.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        X = self._validated(X, reset=True)
        gap = np.isnan(X)
        count = np.maximum((~gap).sum(axis=0), 1)
        low = np.where(gap, np.inf, X).min(axis=0)
        high = np.where(gap, -np.inf, X).max(axis=0)
        seen = low <= high
        if seen.any():
            check_extremes(
                float(low[seen].min()), float(high[seen].max()), X.dtype, "X", smallest=False
            )
        self.two_valued_ = (low < high) & (gap | (low == X) | (high == X)).all(axis=0)
        mean = np.nansum(X, axis=0, dtype=np.float64) / count
        deviation = np.sqrt(np.nansum((X - mean) ** 2, axis=0) / count)
        step = np.sqrt(2.0) * np.maximum(high - low, 0.0)
        self.center_ = np.where(self.two_valued_, low, mean)
        self.scale_ = np.where(low >= high, 1.0, np.where(self.two_valued_, step, deviation))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the scaled columns.

        Parameters
        ----------
        X : (n, d) array or data frame
            The columns of ``fit``.

        Returns
        -------
        (n, d) array
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        return ((X - self.center_) / self.scale_).astype(X.dtype)

    def _validated(self, X: Any, *, reset: bool) -> np.ndarray:
        return validate_data(
            self, X, reset=reset, dtype=(np.float64, np.float32), ensure_all_finite="allow-nan"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
