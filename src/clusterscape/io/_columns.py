"""Which columns of a table are ids, labels and features."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.frames import ID_NAMES
from clusterscape.io._errors import TableError, UnknownColumn


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers, as :func:`clusterscape.io.read_table` returns it.

    Attributes
    ----------
    X : ndarray, csr_matrix or data frame of shape (n, d)
        The features: float32 where the file holds float32, float64 otherwise. A data frame with
        ``categories="keep"``, where some of them are words; NaN with ``missing="keep"``.
    ids : ndarray of shape (n,) or None
        The name of each row, all different.
    feature_names : tuple of str
        The name of each column of ``X``; its number, from 1, where the file gives no names.
    labels : ndarray of shape (n,) or None
        The reference classes, where ``label_column`` was given.
    source : str
        The file the table came from.
    notes : tuple of str
        What was decided without being asked for, in sentences.
    id_column : str or None
        The column that ``ids`` came from; None where there are no ids, or no column holds them.
    left_out : tuple of str
        The columns of the file that are neither features nor ids nor labels.
    codes : tuple of str
        Features with cells such as 007, which may be codes rather than numbers.
    n_dropped : int
        Number of rows that were left out because of missing values.
    """

    X: Any = field(repr=False)
    ids: np.ndarray | None = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    source: str
    labels: np.ndarray | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    id_column: str | None = None
    left_out: tuple[str, ...] = field(default=(), repr=False)
    codes: tuple[str, ...] = field(default=(), repr=False)
    n_dropped: int = 0

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of ``X``."""
        return int(self.X.shape[1])

    def noting(self, *notes: str) -> Table:
        """Return the table with more notes in front."""
        return dataclasses.replace(self, notes=notes + self.notes)


@dataclass(frozen=True)
class Wanted:
    """The columns that the caller asked for, by name, and what is done with gaps and words."""

    id_column: str | None = None
    columns: str | Sequence[str] | None = None
    exclude: str | Sequence[str] | None = None
    label_column: str | None = None
    missing: str = "refuse"
    categories: str = "refuse"
    obsm: str | None = None
    layer: str | None = None
    na: tuple[str, ...] = ()  # of matrices; text is read with it


@dataclass(frozen=True)
class Where:
    """How messages name a place in the file."""

    name: str
    row: Callable[[int], str]


def numbered_rows(name: str) -> Where:
    """Return the words for files without lines: rows of data are counted from 1."""
    return Where(name, lambda i: f"row {i + 1} (the first row of data is row 1)")


@dataclass(frozen=True)
class Roles:
    """Positions of the columns by what they are for."""

    ids: int | None
    labels: int | None
    features: tuple[int, ...]
    chosen: bool  # the features were named one by one
    notes: tuple[str, ...] = ()
    words: bool = False  # the ids are a first column of words that nobody asked for


def find_column(names: Sequence[str], name: str, where: Where) -> int:
    """Return the position of the column ``name``; refuse unknown and repeated names."""
    places = [p for p, known in enumerate(names) if known == name]
    if len(places) == 1:
        return places[0]
    if places:
        listed = " and ".join(str(p + 1) for p in places[:3])
        raise TableError(
            f"{where.name}: {name!r} names more than one column (columns {listed})",
            "give them different names in the file",
        )
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    shown = ", ".join(repr(n) for n in names[:12]) + (", ..." if len(names) > 12 else "")
    raise UnknownColumn(
        name, f"{where.name} has no column {name!r}", f"{_escape(hint)}it has {_escape(shown)}"
    )


def _escape(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def split_names(given: str | Sequence[str] | None, names: Sequence[str] = ()) -> list[str]:
    """Return the names in an option; one that holds commas is split unless a column is called so.

    Examples
    --------
    >>> split_names(["x, y", "a,b"], ["a,b"])
    ['x', 'y', 'a,b']
    """
    parts: list[str] = []
    for name in [given] if isinstance(given, str) else list(given or ()):
        whole = name in names or "," not in name
        parts += [name] if whole else [p.strip() for p in name.split(",") if p.strip()]
    return parts


def _find_columns(
    names: Sequence[str], given: str | Sequence[str] | None, where: Where
) -> list[int]:
    return [find_column(names, part, where) for part in split_names(given, names)]


def looks_like_id(names: Sequence[str], position: int) -> bool:
    """Say whether a column calls itself the ids, by its name or as the first, without a name."""
    name = names[position].strip().lower()
    return name in ID_NAMES or (position == 0 and name == unnamed(0))


def unnamed(position: int) -> str:
    """Return the name given to a column whose header cell is empty."""
    return f"unnamed_{position + 1}"


def plan_roles(names: Sequence[str], wanted: Wanted, where: Where) -> Roles:
    """Give each column its role by the names alone."""
    ids = None if wanted.id_column is None else find_column(names, wanted.id_column, where)
    labels = None if wanted.label_column is None else find_column(names, wanted.label_column, where)
    excluded = set(_find_columns(names, wanted.exclude, where))
    chosen = _find_columns(names, wanted.columns, where)
    notes = []
    busy = excluded | set(chosen) | ({labels} if labels is not None else set())
    candidates = [p for p in range(len(names)) if looks_like_id(names, p) and p not in busy]
    others = [p for p in candidates if p != ids]
    if ids is None and len(candidates) == 1:
        ids = candidates[0]
        notes.append(f"column {names[ids]!r} is taken as the ids of the rows.")
    elif others and not chosen:
        keep = names[others[-1] if ids is None else ids]
        drop = [names[p] for p in candidates if names[p] != keep]
        raise TableError(
            f"{where.name}: columns {' and '.join(repr(names[p]) for p in candidates)} "
            "look like ids, not like measurements"
            if ids is None
            else f"{where.name}: besides {keep!r}, the column {drop[0]!r} looks like ids too",
            "say which ones to use, for example {id_column} {exclude}",
            id_column=keep,
            exclude=drop,
        )
    if chosen:
        features = tuple(p for p in chosen if p not in excluded)
    else:
        features = tuple(p for p in range(len(names)) if p not in excluded | {ids, labels})
    if labels is not None and labels in features:
        raise TableError(
            f"{where.name}: the column {names[labels]!r} holds the reference classes, which must "
            "not be clustered on",
            "choose other columns than {columns}, or leave out {label_column}",
            columns=names[labels],
            label_column=names[labels],
        )
    return Roles(ids, labels, features, bool(chosen), tuple(notes))


def pick_columns(names: Sequence[str], wanted: Wanted, where: Where) -> list[int]:
    """Return the positions that ``columns`` and ``exclude`` leave, where all columns are alike."""
    excluded = set(_find_columns(names, wanted.exclude, where))
    chosen = _find_columns(names, wanted.columns, where) or range(len(names))
    picked = [p for p in chosen if p not in excluded]
    if not picked:
        raise TableError(f"{where.name}: every column is left out", "keep at least one")
    return picked


def row_names(
    frame: pd.DataFrame, names: Sequence[str], *, position: int, where: Where
) -> np.ndarray:
    """Return the ids in a column; refuse empty and repeated ones."""
    values = frame.iloc[:, position]
    column = names[position]
    empty = np.asarray(values.isna() | (values.astype(object) == ""), dtype=bool)
    if empty.any():
        raise TableError(
            f"{where.name}, {where.row(int(empty.argmax()))}, column {column!r}: the id is missing",
            "fill it in, or leave the column out with {exclude}",
            exclude=column,
        )
    again = values.duplicated().to_numpy()
    if again.any():
        second = int(again.argmax())
        first = int((values == values.iloc[second]).to_numpy().argmax())
        counts = values.value_counts()
        remedy = "ids must differ, so correct it or leave the column out with {exclude}"
        if len(counts) > 1 and counts.min() > 1:
            remedy = (
                f"every id stands {counts.min()} times or more: if the rows are one for each point "
                "and clustering, or measurement, make one column of each first (pandas: "
                "DataFrame.pivot); otherwise leave the column out with {exclude}"
            )
        raise TableError(
            f"{where.name}, {where.row(second)}, column {column!r}: the id "
            f"{values.iloc[second]!r} was already used in {where.row(first).split(' (')[0]}",
            remedy,
            exclude=column,
        )
    return values.to_numpy(dtype=object)
