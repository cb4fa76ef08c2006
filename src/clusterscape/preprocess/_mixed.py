"""Tables of numbers and words as transformers read them."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data


class MixedTable:
    """Reads tables of numbers, words, booleans and categories for a transformer."""

    def _gaps_allowed(self) -> bool:
        return True

    def _words_allowed(self) -> bool:
        return True

    def _frame(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """Return X as a frame of numbers and words, after scikit-learn's own checks."""
        allowed = self._gaps_allowed()
        frame_like = isinstance(X, pd.DataFrame)
        # Before scikit-learn looks for a common type of dates and numbers, which there is not.
        if frame_like:
            for name, kind in zip(X.columns, X.dtypes, strict=True):
                _refuse_dates(kind, f"the column {name!r}")
        elif hasattr(X, "dtype"):
            _refuse_dates(X.dtype, "X")
        mixed = frame_like or (not sparse.issparse(X) and np.asarray(X).dtype.kind == "O")
        checked = validate_data(
            self,
            X,
            reset=reset,
            dtype=object if mixed else (np.float64, np.float32),
            # Of a frame's columns more can be said, below.
            ensure_all_finite="allow-nan" if allowed else not isinstance(X, pd.DataFrame),
        )
        if isinstance(X, pd.DataFrame):
            frame = X.reset_index(drop=True)
        else:
            frame = pd.DataFrame(checked).infer_objects()
        for j in range(frame.shape[1]):
            self._check_column(frame.iloc[:, j], j, allowed=allowed)
        return frame

    def _check_column(self, values: pd.Series, column: int, *, allowed: bool) -> None:
        name = self._name(column)
        _refuse_dates(values.dtype, name)
        if not allowed and values.isna().any():
            raise ValueError(f"{name} has missing values; fill them in, or use missing='impute'.")
        if is_number(values):
            if np.isinf(values.to_numpy(dtype=np.float64, na_value=np.nan)).any():
                raise ValueError(f"{name} contains infinity; correct the value.")
        elif not self._words_allowed():
            raise ValueError(f"{name} holds words; leave it out, or use categories='one-hot'.")
        elif any(isinstance(v, (dict, list, tuple, set)) for v in values):
            raise TypeError(f"{name}: argument must be a string or a number.")

    def _refuse_words(self, values: pd.Series, column: int) -> None:
        """Refuse words in a column that held numbers in fit."""
        if is_number(values):
            return
        word = next((v for v in values.dropna() if not isinstance(v, Number)), None)
        if word is not None:  # a column of gaps alone holds none
            raise ValueError(
                f"{self._name(column)} held numbers in fit, and holds {str(word)!r} now; give the "
                "columns in the units of fit."
            )

    def _name(self, column: int) -> str:
        return column_name(self, column)


def column_name(transformer: Any, column: int) -> str:
    """Return what a message calls a column: its name, or its number where there are no names."""
    names = getattr(transformer, "feature_names_in_", None)
    return f"column {column}" if names is None else f"the column {str(names[column])!r}"


def _refuse_dates(kind: Any, name: str) -> None:
    if getattr(kind, "kind", "") in ("M", "m"):
        raise ValueError(
            f"{name} holds {'dates' if kind.kind == 'M' else 'durations'}; turn them into numbers, "
            "or leave it out."
        )


def is_number(values: pd.Series) -> bool:
    """Say whether a column holds numbers or booleans."""
    return bool(pd.api.types.is_numeric_dtype(values))
