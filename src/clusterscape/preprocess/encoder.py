"""A table of numbers and words as numbers: medians for gaps, one column for each word."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.params import Choice, Rules, check_params
from clusterscape.preprocess._mixed import MixedTable, is_number


class UnknownCategoryWarning(UserWarning):
    """A category that ``fit`` did not see becomes zeros in all columns made of its column.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.preprocess import UnknownCategoryWarning
    >>> warnings.simplefilter("ignore", UnknownCategoryWarning)
    """


class TableEncoder(MixedTable, TransformerMixin, BaseEstimator):
    """Turn a table of numbers and words into numbers, filling gaps.

    Columns of numbers stay; a gap becomes the median of its column. A column of words becomes one
    column of zeros and ones for each word, in alphabetical order; a gap becomes its most frequent
    word (of several the first in the alphabet).

    Parameters
    ----------
    missing : {"impute", "refuse"}
        What is done with missing values.
    categories : {"one-hot", "refuse"}
        What is done with columns of words.

    Attributes
    ----------
    fill_ : list
        What stands for a gap, one entry per column: a number, or a word.
    categories_ : list
        The words of each column, as an array of text; None for a column of numbers.
    n_missing_ : (d,) array of int
        Gaps of each column in ``fit``.
    n_samples_fit_ : int
        Number of rows in ``fit``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    MixedScaler : Scales what it makes, such that rare words do not decide.
    GowerDistances : Distances between the rows of mixed tables, without new columns.
    sklearn.compose.ColumnTransformer : Any transformer for any column.

    Notes
    -----
    The same as ``SimpleImputer(strategy="median")`` for numbers and
    ``SimpleImputer(strategy="most_frequent")`` with ``OneHotEncoder(handle_unknown="ignore")`` for
    words, in one step that :func:`clusterscape.io.save_model` can save.
    Imputed points look more typical than they are: their confidence is not to be believed more than
    the values that were filled in.

    Examples
    --------
    >>> import pandas as pd
    >>> from clusterscape.preprocess import TableEncoder
    >>> frame = pd.DataFrame({"age": [20, None, 40], "city": ["Ulm", "Bonn", "Ulm"]})
    >>> TableEncoder().set_output(transform="pandas").fit_transform(frame)
        age  city=Bonn  city=Ulm
    0  20.0        0.0       1.0
    1  30.0        1.0       0.0
    2  40.0        0.0       1.0
    """

    _parameter_rules: ClassVar[Rules] = {
        "missing": [Choice("impute", "refuse")],
        "categories": [Choice("one-hot", "refuse")],
    }

    def __init__(self, *, missing: str = "impute", categories: str = "one-hot") -> None:
        self.missing = missing
        self.categories = categories

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and words.

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
        self.fill_: list[Any] = []
        self.categories_: list[np.ndarray | None] = []
        self.n_missing_ = frame.isna().to_numpy().sum(axis=0)
        self.n_samples_fit_ = len(frame)
        for j in range(frame.shape[1]):
            values = frame.iloc[:, j].dropna()
            name = self._name(j)
            if len(values) == 0:
                raise ValueError(f"{name} has no values at all; leave it out.")
            if is_number(frame.iloc[:, j]):
                self.fill_.append(float(np.median(values.to_numpy(np.float64))))
                self.categories_.append(None)
                continue
            words = values.map(str)
            counts = words.value_counts()
            self.fill_.append(str(min(counts.index[counts == counts.max()])))
            self.categories_.append(np.array(sorted(set(words)), dtype=object))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the numbers.

        Parameters
        ----------
        X : pandas.DataFrame or (n, d) array
            The columns of ``fit``.

        Returns
        -------
        (n, p) array
        """
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        parts = []
        for j, (fill, words) in enumerate(zip(self.fill_, self.categories_, strict=True)):
            values = frame.iloc[:, j]
            if words is None:
                parts.append(self._numbers(values, fill, j)[:, None])
                continue
            named = values.map(str, na_action="ignore").astype(object).where(values.notna(), fill)
            texts = named.to_numpy(dtype=object)
            new = sorted(set(texts) - set(words))
            if new:
                warnings.warn(
                    f"{self._name(j)} holds {new[0]!r}, which was not there in fit"
                    f"{f' (and {len(new) - 1} more such words)' if len(new) > 1 else ''}: it "
                    "counts as none of the words known.",
                    UnknownCategoryWarning,
                    stacklevel=2,
                )
            parts.append((texts[:, None] == words[None, :]).astype(np.float64))
        return np.concatenate(parts, axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that ``transform`` gives.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns, where ``fit`` saw none.

        Returns
        -------
        array of str
            ``column`` for numbers, ``column=word`` for words.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        if input_features is not None and known is not None and list(input_features) != list(known):
            raise ValueError("input_features is not equal to feature_names_in_.")
        names = known if known is not None else input_features
        if names is None:
            names = [f"x{j}" for j in range(self.n_features_in_)]
        if len(names) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(names)}."
            )
        made: list[str] = []
        for name, words in zip(names, self.categories_, strict=True):
            made += [str(name)] if words is None else [f"{name}={word}" for word in words]
        return np.array(made, dtype=object)

    def notes(self, input_features: Any = None) -> list[str]:
        """Say what stands for missing values, and how many columns words became.

        Parameters
        ----------
        input_features : array of str, optional
            Names of the columns, where ``fit`` saw none.

        Returns
        -------
        list of str
            Sentences; none where all columns are numbers without gaps.
        """
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", input_features)
        names = range(self.n_features_in_) if known is None else [str(name) for name in known]
        made = []
        for name, count, fill, words in zip(
            names, self.n_missing_, self.fill_, self.categories_, strict=True
        ):
            if count:
                what = f"median {fill:g}" if words is None else f"most frequent word {fill!r}"
                made.append(
                    f"column {name!r}: {count:,} of {self.n_samples_fit_:,} values are missing and "
                    f"filled with the {what}."
                )
            if words is not None:
                made.append(
                    f"column {name!r} holds {len(words)} different words: one column of 0 and 1 "
                    "for each."
                )
        return made

    def _numbers(self, values: pd.Series, fill: float, column: int) -> np.ndarray:
        self._refuse_words(values, column)
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isnan(numbers), fill, numbers)

    def _gaps_allowed(self) -> bool:
        return self.missing == "impute"

    def _words_allowed(self) -> bool:
        return self.categories == "one-hot"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "impute"
        return tags
