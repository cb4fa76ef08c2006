"""Logarithms of counts and amounts, as a step that a saved model can hold."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from clusterscape._core.params import Number, Rules, check_params
from clusterscape.preprocess._mixed import column_name


class LogTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Take the logarithm of every value: log(1 + x / unit).

    For counts and amounts whose spread grows with their size. Zero stays zero, so that sparse
    matrices stay sparse. Negative values are refused.

    Parameters
    ----------
    unit : float
        What a value is divided by before 1 is added: values far below it stay nearly as they are,
        values far above it are on a logarithmic scale.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    sklearn.preprocessing.PowerTransformer : Chooses a power for every column.

    Notes
    -----
    ``FunctionTransformer(np.log1p)`` computes the same with ``unit=1``, but holds a function, which
    :func:`clusterscape.io.save_model` does not save.

    Examples
    --------
    >>> from clusterscape.preprocess import LogTransformer
    >>> LogTransformer().fit_transform([[0.0, 9.0], [99.0, 0.0]]).round(3)
    array([[0.   , 2.303],
           [4.605, 0.   ]])
    """

    _parameter_rules: ClassVar[Rules] = {"unit": [Number(0, open_low=True)]}

    def __init__(self, *, unit: float = 1.0) -> None:
        self.unit = unit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the values; nothing else is learnt.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values that are not negative.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        self._validated(X, reset=True)
        return self

    def transform(self, X: Any) -> Any:
        """Return the logarithms.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Values that are not negative.

        Returns
        -------
        (n, d) array or sparse matrix
        """
        check_is_fitted(self)
        X = self._validated(X, reset=False)
        if sparse.issparse(X):
            made = X.copy()
            made.data = np.log1p(made.data / self.unit)
            return made
        return np.log1p(X / self.unit)

    def _validated(self, X: Any, *, reset: bool) -> Any:
        X = validate_data(
            self, X, reset=reset, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32)
        )
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise ValueError(f"{self._where(X)}; {_REMEDY}")
        return X

    def _where(self, X: Any) -> str:
        """Name the first column with a negative value."""
        lowest = X.min(axis=0)
        lowest = np.ravel(lowest.toarray() if sparse.issparse(lowest) else lowest)
        column = int((lowest < 0).argmax())
        # scikit-learn's checks look for these first words.
        return (
            f"Negative values in data passed to {type(self).__name__}: "
            f"{column_name(self, column)} holds {lowest[column]:g}, which has no logarithm"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


_REMEDY = "shift the column or leave it out."
