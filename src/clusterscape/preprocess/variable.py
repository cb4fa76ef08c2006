"""The columns that vary most."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_is_fitted, validate_data

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Integer, Rules, check_params
from clusterscape.linalg.distances import check_range


class TopVariable(SelectorMixin, BaseEstimator):
    """Keep the columns of largest variance.

    Usual for tables of thousands of columns in one unit, such as expression data, of which most
    say nothing. Of columns with the same variance the first ones are kept. Columns in different
    units should not be chosen by their variance.

    Parameters
    ----------
    n_features : int
        Number of columns to keep; no more than there are.

    Attributes
    ----------
    variances_ : (d,) array
        Variance of every column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    sklearn.feature_selection.VarianceThreshold : Keeps the columns above a variance.

    Examples
    --------
    >>> import pandas as pd
    >>> from clusterscape.preprocess import TopVariable
    >>> frame = pd.DataFrame({"a": [1, 1, 1], "b": [0, 5, 9], "c": [0, 1, 2]})
    >>> TopVariable(2).set_output(transform="pandas").fit_transform(frame)
       b  c
    0  0  0
    1  5  1
    2  9  2
    """

    _parameter_rules: ClassVar[Rules] = {"n_features": [Integer(1)]}

    def __init__(self, n_features: int = 1) -> None:
        self.n_features = n_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns of largest variance.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The features.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        if self.n_features > X.shape[1]:
            raise ParameterError(
                f"{{n_features}} is more than the {X.shape[1]} columns of X; ask for fewer.",
                n_features=self.n_features,
            )
        check_range(X, "X", smallest=False)  # of float32, too: sparse columns keep their type
        if hasattr(X, "toarray"):
            self.variances_ = mean_variance_axis(X, axis=0)[1]
        else:
            self.variances_ = X.var(axis=0, dtype=np.float64)
        return self

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        order = np.argsort(-self.variances_, kind="stable")
        mask = np.zeros(self.variances_.size, dtype=bool)
        mask[order[: self.n_features]] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
