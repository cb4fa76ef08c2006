"""Data frames of features: what is refused before they are read as a matrix."""

from __future__ import annotations

from typing import Any

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
