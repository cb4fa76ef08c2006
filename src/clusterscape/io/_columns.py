"""Which columns of a table are ids, labels and features, and whether the features are numbers."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.frames import ID_NAMES
from clusterscape.io._errors import TableError, UnknownColumn

_MISSING = {"", "na", "n/a", "nan", "null", "none", "<na>", "#n/a"}


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers, as :func:`clusterscape.io.read_table` returns it.

    Attributes
    ----------
    X : ndarray or csr_matrix of shape (n, d)
        The features: float32 where the file holds float32, float64 otherwise.
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
    """

    X: Any = field(repr=False)
    ids: np.ndarray | None = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    source: str
    labels: np.ndarray | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    id_column: str | None = None
    left_out: tuple[str, ...] = field(default=(), repr=False)

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
    """The columns that the caller asked for, by name, and whether values may be missing."""

    id_column: str | None = None
    columns: str | Sequence[str] | None = None
    exclude: str | Sequence[str] | None = None
    label_column: str | None = None
    allow_missing: bool = False


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


def table_of_frame(
    frame: pd.DataFrame, names: Sequence[str], *, roles: Roles, where: Where
) -> Table:
    """Turn a frame whose columns have their roles into a :class:`Table`."""
    if len(frame) == 0:
        raise TableError(f"{where.name} has column names but no rows of data")
    roles = take_first_text_column(frame, names, roles)
    ids = None if roles.ids is None else row_names(frame, names, position=roles.ids, where=where)
    if not roles.features:
        others = [name for p, name in enumerate(names) if p not in (roles.ids, roles.labels)]
        if not others:
            raise TableError(f"{where.name} has no column of numbers to cluster on")
        raise TableError(
            f"{where.name}: every column is left out",
            "keep at least one, for example {columns}",
            columns=others[0],
        )
    X = _numbers(frame, names, positions=roles.features, where=where)
    labels = None if roles.labels is None else frame.iloc[:, roles.labels].to_numpy(dtype=object)
    features = tuple(names[p] for p in roles.features)
    id_column = None if roles.ids is None else names[roles.ids]
    used = {roles.ids, roles.labels, *roles.features}
    left_out = tuple(name for p, name in enumerate(names) if p not in used)
    return Table(X, ids, features, where.name, labels, roles.notes, id_column, left_out)


def take_first_text_column(frame: pd.DataFrame, names: Sequence[str], roles: Roles) -> Roles:
    """Take the first column as the ids when nothing else can be meant: see ``read_table``."""
    first_is_free = roles.ids is None and roles.labels != 0
    first_is_free &= 0 not in roles.features if roles.chosen else 0 in roles.features
    if not first_is_free or not _is_text(frame.iloc[:, 0]) or frame.iloc[:, 0].duplicated().any():
        return roles
    others = [p for p in roles.features if p != 0]
    if any(_is_text(frame.iloc[:, p]) for p in others):
        return roles
    note = f"column {names[0]!r} holds text, different in every row: it is taken as the ids."
    return Roles(0, roles.labels, tuple(others), roles.chosen, (*roles.notes, note))


def missing_cells(values: pd.Series) -> np.ndarray:
    """Say of each cell whether it is empty, or says so ("NA", "null", ...)."""
    texts = values.astype(object).map(
        lambda v: isinstance(v, str) and v.strip().lower() in _MISSING
    )
    return np.asarray(values.isna() | texts.astype(bool), dtype=bool)


def to_numbers(values: pd.Series) -> np.ndarray:
    """Return floats, NaN where a cell is no number; dates are no numbers."""
    if values.dtype.kind in "Mm":
        return np.full(len(values), np.nan)
    plain = values.astype(object) if isinstance(values.dtype, pd.CategoricalDtype) else values
    converted = pd.to_numeric(plain, errors="coerce")
    numbers = np.array(converted.to_numpy(dtype=np.float64, na_value=np.nan))
    for i in np.flatnonzero(np.isnan(numbers)):
        numbers[i] = _beyond_range(plain.iloc[i])
    return numbers


def _beyond_range(value: Any) -> float:
    """Return infinity for a number too large for a float, such as "1e400", and NaN otherwise."""
    if isinstance(value, str) and value[-1:].isdigit() and "_" not in value:
        with contextlib.suppress(ValueError):
            return float(value)
    return np.nan


def _is_text(values: pd.Series) -> bool:
    """Say whether a column is text throughout: no cell is a number and none is empty."""
    if values.dtype.kind in "iufb" or values.map(_decimal_comma).any():
        return False
    return bool(np.isnan(to_numbers(values)).all() and not missing_cells(values).any())


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
        raise TableError(
            f"{where.name}, {where.row(second)}, column {column!r}: the id "
            f"{values.iloc[second]!r} was already used in {where.row(first).split(' (')[0]}",
            "ids must differ, so correct it or leave the column out with {exclude}",
            exclude=column,
        )
    return values.to_numpy(dtype=object)


def _numbers(
    frame: pd.DataFrame, names: Sequence[str], *, positions: Sequence[int], where: Where
) -> np.ndarray:
    part = frame.iloc[:, list(positions)]
    kinds = [dtype.kind for dtype in part.dtypes]
    if not all(kind in "iufb" for kind in kinds):
        _refuse_text(part, [names[p] for p in positions], where)
        part = pd.DataFrame({i: to_numbers(part.iloc[:, i]) for i in range(part.shape[1])})
    small = all(dtype in (np.float32, np.float16) for dtype in part.dtypes)
    X = np.ascontiguousarray(
        part.to_numpy(dtype=np.float32 if small else np.float64, na_value=np.nan)
    )
    check_finite(X, [names[p] for p in positions], where)
    return X


def _refuse_text(part: pd.DataFrame, names: list[str], where: Where) -> None:
    """Raise for the first columns of text, or else for the first cell that is no number."""
    texts, bad_cells = [], []
    for i, name in enumerate(names):
        values = part.iloc[:, i]
        if values.dtype.kind in "iufb":
            continue
        bad = np.isnan(to_numbers(values)) & ~missing_cells(values)
        if bad.any():
            bad_cells.append((int(bad.argmax()), i, int(bad.sum())))
            if not np.isfinite(to_numbers(values)).any():
                texts.append(name)
    if not bad_cells:
        return
    if texts:
        i = names.index(texts[0])
        row = next(r for r, p, _ in bad_cells if p == i)
        listed = ", ".join(repr(t) for t in texts[:8]) + (" and others" if len(texts) > 8 else "")
        subject = f"the column {listed} holds" if len(texts) == 1 else f"the columns {listed} hold"
        raise TableError(
            f"{where.name}: {subject} text where numbers are needed "
            f"({str(part.iloc[row, i])!r} in {where.row(row)}, column {texts[0]!r})"
            f"{_decimal_comma(part.iloc[row, i])}",
            "leave out what is no measurement with {exclude}, or name the rows with {id_column}",
            exclude=texts if len(texts) > 1 else texts[0],
            id_column=texts[0],
        )
    row, i, _ = min(bad_cells)
    value = part.iloc[row, i]
    total = sum(count for _, _, count in bad_cells)
    more = f" ({total:,} such cells in all)" if total > 1 else ""
    raise TableError(
        f"{where.name}, {where.row(row)}, column {names[i]!r}: "
        f"{str(value)!r} is not a number{more}{_decimal_comma(value)}",
        "correct the cell, or leave the column out with {exclude}",
        exclude=names[i],
    )


def _decimal_comma(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"\s*[-+]?\d+,\d+\s*", value):
        return "; decimals are written with a point, not a comma"
    return ""


def check_finite(X: Any, names: Sequence[str], where: Where) -> None:
    """Refuse missing and infinite values, naming the first cell in reading order."""
    values = X.data if sparse.issparse(X) else X
    with np.errstate(all="ignore"):
        if values.size == 0 or np.isfinite(values.sum(dtype=np.float64)):
            return  # a finite sum has finite terms
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    total = int(bad.sum())
    if sparse.issparse(X):
        at = int(bad.argmax())
        row, column = int(np.searchsorted(X.indptr, at, side="right") - 1), int(X.indices[at])
        value = float(X.data[at])
    else:
        row, column = (int(v) for v in np.unravel_index(int(bad.argmax()), X.shape))
        value = float(X[row, column])
    more = f" ({total:,} such cells in all)" if total > 1 else ""
    what = "the value is missing" if np.isnan(value) else f"the value is infinite ({value})"
    raise TableError(
        f"{where.name}, {where.row(row)}, column {names[column]!r}: {what}{more}",
        "fill it in or take the row out of the file, or leave the column out with {exclude}",
        exclude=names[column],
    )
