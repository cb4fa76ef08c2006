"""Data frames: what is refused before they are read as a matrix, and the library of results."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

Library = Literal["pandas", "polars"]
LIBRARIES = ("pandas", "polars")

# What a column of ids is called; pandas names a first column without a name "Unnamed: 0".
ID_NAMES = frozenset({"id", "ids", "index", "unnamed: 0"})


def refuse_repeated_columns(X: Any, name: str) -> None:
    """Refuse a pandas frame in which two columns have one name; other data are left alone."""
    columns = getattr(X, "columns", None)
    if columns is None or getattr(columns, "is_unique", True):
        return
    label = columns[columns.duplicated()][0]
    count = int((columns == label).sum())
    raise ValueError(
        f"{name} has {count} columns named {label!r}, so that a name does not say which column is "
        f"meant; rename them, or pass {name}.to_numpy() to go by position."
    )


def numbers_in(cells: pd.Series) -> np.ndarray:
    """Return text as numbers, NaN where it is none.

    Not by ``pandas.to_numeric``, which ends the process on "1e2147483648" and takes
    "1e4294967296" for 1.

    Examples
    --------
    >>> numbers_in(pd.Series(["1.5", " -2e3", "two", "1_0", None]))
    array([ 1.5e+00, -2.0e+03,      nan,      nan,      nan])
    """
    codes, distinct = pd.factorize(cells)
    found = np.full(len(distinct) + 1, np.nan)  # the last one is for what is missing (code -1)
    for i, text in enumerate(distinct):
        try:
            found[i] = float(text) if "_" not in str(text) else np.nan
        except (TypeError, ValueError):
            continue
    return found[codes]


def in_library(frame: pd.DataFrame, library: str, *, index: str = "id") -> Any:
    """Return a frame of pandas as it is, or in polars with its index as the first columns.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame.
    library : {"pandas", "polars"}
        Whose frame is wanted.
    index : str
        Name of the index where it has none.
    """
    if library not in LIBRARIES:
        known = " or ".join(map(repr, LIBRARIES))
        raise ValueError(f"library must be {known}; got {library!r}.")
    if library == "pandas":
        return frame
    try:
        import polars
    except ImportError:
        raise ImportError(
            "library='polars' needs polars; install it (pip install polars), or leave it out for "
            "a frame of pandas."
        ) from None
    names = [index if name is None else str(name) for name in frame.index.names]
    whole = frame.set_axis(frame.index.set_names(names), axis=0).reset_index()
    columns = {
        str(name): [None if v is pd.NA else v for v in whole[name].tolist()]
        if whole[name].dtype.kind not in "iufb" or isinstance(whole[name].dtype, pd.Int64Dtype)
        else whole[name].to_numpy()
        for name in whole.columns
    }
    return polars.DataFrame(columns)
