"""Features of a table: cells as numbers, columns of words and dates, and gaps."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape.io import _numbers
from clusterscape.io._columns import Roles, Table, Wanted, Where, plan_roles, row_names
from clusterscape.io._errors import TableError, no_rows
from clusterscape.io._numbers import Cells, Marks, read_cells
from clusterscape.preprocess import TableEncoder

MISSING_CHOICES = ("refuse", "drop", "impute", "keep")
CATEGORY_CHOICES = ("refuse", "drop", "one-hot", "keep")


def table_of_frame(
    frame: pd.DataFrame,
    names: Sequence[str],
    *,
    wanted: Wanted,
    where: Where,
    marks: Marks = Marks(),  # noqa: B008
    na: Sequence[str] = (),
) -> Table:
    """Turn a frame whose columns have their roles into a :class:`Table`."""
    if len(frame) == 0:
        raise no_rows(where.name)
    roles = plan_roles(names, wanted, where)
    beside = wanted.categories != "refuse"
    roles = take_first_text_column(frame, names, roles, marks=marks, na=na, beside=beside)
    ids = None if roles.ids is None else row_names(frame, names, position=roles.ids, where=where)
    if not roles.features:
        others = [name for p, name in enumerate(names) if p not in (roles.ids, roles.labels)]
        if not others:
            raise _no_numbers(names, where)
        raise TableError(
            f"{where.name}: every column is left out",
            "keep at least one, for example {columns}",
            columns=others[0],
        )
    features = Features.read(frame, names, roles, where=where, marks=marks, na=na)
    features = features.settled(wanted.categories)
    used = {roles.ids, roles.labels, *features.positions}
    labels = None if roles.labels is None else frame.iloc[:, roles.labels].to_numpy(dtype=object)
    table = Table(
        features.matrix(frame),
        ids,
        tuple(names[p] for p in features.positions),
        where.name,
        labels,
        (*roles.notes, *features.notes),
        None if roles.ids is None else names[roles.ids],
        tuple(name for p, name in enumerate(names) if p not in used),
    )
    return settle_missing(table, wanted, where)


def _no_numbers(names: Sequence[str], where: Where) -> TableError:
    """Return an error on a table of ids alone, which may be one whose separator is not known."""
    problem = f"{where.name} has no column of numbers to cluster on"
    mark = next((c for c in names[0] if not c.isalnum() and c not in "_-."), None)
    if len(names) > 1 or mark is None:
        return TableError(problem, "give a table with a column for each measurement")
    return TableError(
        problem,
        "if {mark} separates its columns, say {delimiter}".replace("{mark}", repr(mark)),
        delimiter={" ": "space", "\t": "tab"}.get(mark, mark),
    )


def take_first_text_column(
    frame: pd.DataFrame,
    names: Sequence[str],
    roles: Roles,
    *,
    marks: Marks = Marks(),  # noqa: B008
    na: Sequence[str] = (),
    beside: bool = False,
) -> Roles:
    """Take the first column as the ids when nothing else can be meant: see ``read_table``.

    ``beside`` allows other columns of words, where the first one has too many to be categories.
    """
    first_is_free = roles.ids is None and roles.labels != 0
    first_is_free &= 0 not in roles.features if roles.chosen else 0 in roles.features
    if not first_is_free or frame.iloc[:, 0].duplicated().any():
        return roles

    def is_text(position: int) -> bool:
        """Say whether a column is words throughout: no cell is a number and none is empty."""
        cells = read_cells(frame.iloc[:, position], marks, na)
        return cells.kind in ("text", "dates") and not cells.missing.any()

    others = [p for p in roles.features if p != 0]
    if not is_text(0):
        return roles
    if frame.iloc[:, 0].astype(str).str.strip().map(_is_like_a_number).all():
        return roles  # a measurement that is not understood is no name
    sure = beside and (roles.chosen or len(frame) >= _FEWEST)
    if not sure and any(is_text(p) for p in others):
        return roles
    note = f"column {names[0]!r} holds text, different in every row: it is taken as the ids."
    return Roles(0, roles.labels, tuple(others), roles.chosen, (*roles.notes, note), words=True)


# 3±1, 5:30, 1/7, 12°30', 5.5D+02, 0x1f, 3k, 1.5***, 2½: numbers that are not read as such. A number
# in quotation marks, '12, too; names such as 12-34, 7_b or A1 are none of these.
_LIKE_A_NUMBER = re.compile(
    r"'[+-]?[\d.,]+|0x[0-9a-f]+|[+-]?\d[\d.,]*\s*(±.*|[/:]\s*\d[\d.,:]*|d[+-]?\d+|[km]|\*+|°.*|[½¼¾²³])",
    re.IGNORECASE,
)


def _is_like_a_number(cell: str) -> bool:
    return _LIKE_A_NUMBER.fullmatch(cell) is not None


# ---- features: numbers, words, gaps -----------------------------------------------------------

_MOST_WORDS = 100  # for which one column each is made
LONGEST_NA = 12  # characters of a text that may stand for a missing value
_FEWEST = 10  # rows, below which words differ by chance


def are_few_words(count: int, n: int) -> bool:
    """Say whether so many different words in n rows are categories, not names or free text."""
    return count <= _MOST_WORDS and (n < _FEWEST or 2 * count <= n)


@dataclass(frozen=True, eq=False)
class Features:
    """The features of a frame, column by column."""

    positions: tuple[int, ...]
    names: tuple[str, ...]  # of all columns
    cells: dict[int, Cells]
    frame: pd.DataFrame
    where: Where
    notes: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        frame: pd.DataFrame,
        names: Sequence[str],
        roles: Roles,
        *,
        where: Where,
        marks: Marks,
        na: Sequence[str],
    ) -> Features:
        """Read the cells; refuse columns in which numbers stand beside other things."""
        cells = {p: read_cells(frame.iloc[:, p], marks, na) for p in roles.features}
        notes = tuple(f"column {names[p]!r} {c.note}." for p, c in cells.items() if c.note)
        found = cls(roles.features, tuple(names), cells, frame, where, notes)
        found._refuse_mixed(marks)
        return found

    def settled(self, categories: str) -> Features:
        """Leave out, keep or refuse columns of words; dates are only left out or refused."""
        words = [p for p in self.positions if self.cells[p].kind == "text"]
        dates = [p for p in self.positions if self.cells[p].kind == "dates"]
        if categories == "drop":
            return self._dropped(words, dates)
        if dates:
            self._refuse_dates(dates, words if categories == "refuse" else [])
        if words and categories == "refuse":
            self._refuse_words(words)
        self._refuse_many(words)
        return self

    def matrix(self, frame: pd.DataFrame) -> Any:
        """Return the numbers as an array, or as a frame where some columns are words."""
        if any(self.cells[p].kind == "text" for p in self.positions):
            return self._mixed_frame()
        part = [frame.iloc[:, p].dtype for p in self.positions]
        small = all(dtype in (np.float32, np.float16) for dtype in part)
        X = np.empty((len(frame), len(self.positions)), dtype=np.float32 if small else np.float64)
        for j, p in enumerate(self.positions):
            X[:, j] = self.cells[p].numbers
        return X

    def _mixed_frame(self) -> pd.DataFrame:
        columns: dict[int, Any] = {}
        for j, p in enumerate(self.positions):
            cells = self.cells[p]
            if cells.kind != "text":
                columns[j] = cells.numbers
                continue
            texts = self.frame.iloc[:, p].astype(object).map(str).str.strip()
            columns[j] = texts.where(~cells.missing, None)
        made = pd.DataFrame(columns)
        made.columns = pd.Index([self.names[p] for p in self.positions])
        return made

    def _dropped(self, words: list[int], dates: list[int]) -> Features:
        gone = {*words, *dates}
        left = tuple(p for p in self.positions if p not in gone)
        if not left:
            raise TableError(
                f"{self.where.name} has no column of numbers to cluster on",
                "words can be clustered on with {categories}",
                categories="one-hot",
            )
        notes = list(self.notes)
        for positions, what in ((words, "words"), (dates, "dates")):
            if positions:
                notes.append(f"left out, because they hold {what}: {self._listed(positions)}.")
        return dataclasses.replace(self, positions=left, notes=tuple(notes))

    def _listed(self, positions: Sequence[int]) -> str:
        shown = ", ".join(repr(self.names[p]) for p in positions[:8])
        return shown + (" and others" if len(positions) > 8 else "")

    def _example(self, position: int) -> str:
        cells = self.cells[position]
        row = int((~cells.missing).argmax())
        value = str(self.frame.iloc[row, position])
        return f"{value!r} in {self.where.row(row)}, column {self.names[position]!r}"

    def _refuse_words(self, words: list[int]) -> None:
        one = len(words) == 1
        subject = f"the column{'' if one else 's'} {self._listed(words)} hold{'s' if one else ''}"
        texts = [self.names[p] for p in words]
        remedy = (
            "leave out what is no measurement with {exclude}, make one column for each word with "
            "{categories}, or name the rows with {id_column}"
        )
        out = texts
        if not one and words[0] == 0 and self._all_differ(0):
            remedy = (
                "name the rows with {id_column}, and of the others leave out what is no "
                "measurement with {exclude}, or make one column for each word with {categories}"
            )
            out = texts[1:]
        raise TableError(
            f"{self.where.name}: {subject} text where numbers are needed "
            f"({self._example(words[0])}){self._spreadsheet(words[0])}",
            remedy,
            exclude=out[0] if len(out) == 1 else out,
            categories="one-hot",
            id_column=texts[0],
        )

    def _all_differ(self, position: int) -> bool:
        values = self.frame.iloc[:, position]
        whole = len(values) >= _FEWEST and not self.cells[position].missing.any()
        return whole and bool(values.is_unique)

    def _spreadsheet(self, position: int) -> str:
        cells = self.cells[position]
        wrong = cells.wrong if cells.wrong is not None else ~cells.missing
        value = str(self.frame.iloc[int(wrong.argmax()), position]).strip()
        return _spreadsheet_hint(value)

    def _refuse_dates(self, dates: list[int], words: list[int]) -> None:
        names = [self.names[p] for p in dates]
        text = [self.names[p] for p in words]
        one = len(dates) == 1
        subject = f"the column{'' if one else 's'} {self._listed(dates)} hold{'s' if one else ''}"
        more = f" ({_escaped(self._listed(words))}: text, see also {{categories}})" if text else ""
        raise TableError(
            f"{self.where.name}: {subject} dates or times, which are no measurements by themselves "
            f"({self._example(dates[0])})",
            "leave out with {exclude}, or put numbers in their place, such as days since a day"
            + more,
            exclude=names if len(names) > 1 else names[0],
            **({"categories": "one-hot"} if text else {}),
        )

    def _refuse_many(self, words: list[int]) -> None:
        """Refuse words that differ in nearly every row: they are names or free text."""
        n = len(self.frame)
        for p in words:
            count = self.frame.iloc[:, p][~self.cells[p].missing].astype(str).nunique()
            if not are_few_words(count, n):
                raise TableError(
                    f"{self.where.name}: the column {self.names[p]!r} holds {count:,} different "
                    f"words in {n:,} rows: names or free text rather than categories",
                    "leave it out with {exclude}, or name the rows with {id_column}",
                    exclude=self.names[p],
                    id_column=self.names[p],
                )

    def _refuse_mixed(self, marks: Marks) -> None:
        """Raise for the first cell that is no number, in a column of numbers."""
        mixed = [p for p in self.positions if self.cells[p].kind == "mixed"]
        if not mixed:
            return
        places = []
        for p in mixed:
            wrong = self.cells[p].wrong
            assert wrong is not None
            places.append((int(wrong.argmax()), p, int(wrong.sum())))
        row, p, _ = min(places)
        name, value = self.names[p], str(self.frame.iloc[row, p])
        if self.cells[p].problem:
            raise TableError(
                f"{self.where.name}, column {name!r}: the numbers have {self.cells[p].problem}",
                "write all in one unit, or leave the column out with {exclude}",
                exclude=name,
            )
        total = sum(count for _, _, count in places)
        more = f" ({total:,} such cells in all)" if total > 1 else ""
        hint, remedy, options = self._remedy(places, value, name, marks)
        raise TableError(
            f"{self.where.name}, {self.where.row(row)}, column {name!r}: "
            f"{value!r} is not a number{more}{hint}",
            remedy,
            exclude=name,
            **options,
        )

    def _remedy(
        self, places: list[tuple[int, int, int]], value: str, name: str, marks: Marks
    ) -> tuple[str, str, dict[str, Any]]:
        """Return what else can be said of cells that are no numbers."""
        plain = "correct the cell, or leave the column out with {exclude}"
        text = value.strip()
        hint = _spreadsheet_hint(text) or _other_mark(text, marks)
        if hint:
            return hint, plain, {}
        if len(places) > 1 and all(row == 0 and count == 1 for row, _, count in places):
            hint = "; this row may hold a second line of names, or the units"
            return hint, "take the row out of the file", {}
        tokens = {
            str(self.frame.iloc[r, p]).strip()
            for _, p, _ in places
            for r in np.flatnonzero(self.cells[p].wrong)[:1000]  # type: ignore[arg-type]
        }
        if len(tokens) == 1 and len(text) <= LONGEST_NA:
            words = "correct the cell, leave the column out with {exclude}, or say {na} if it "
            return "", words + "stands for a missing value", {"na": text}
        return "", plain, {}


def _escaped(text: str) -> str:
    """Return words that stand in a remedy as they are."""
    return text.replace("{", "{{").replace("}", "}}")


def _spreadsheet_hint(text: str) -> str:
    if text.lower() in _numbers.ERRORS:
        return "; it is an error that a spreadsheet program left"
    if text.startswith("=") and len(text) > 1:
        return "; it is a formula of a spreadsheet, of which the file must hold the value"
    return ""


def _other_mark(text: str, marks: Marks) -> str:
    other = {".": ",", ",": "."}[marks.decimal]
    if _numbers.is_plain_number(text, other) and other in text:
        point, comma = ("point", "comma") if marks.decimal == "." else ("comma", "point")
        return f"; decimals of this file are written with a {point}, not a {comma}"
    return ""


# ---- gaps --------------------------------------------------------------------------------------


def settle_missing(table: Table, wanted: Wanted, where: Where) -> Table:
    """Refuse, drop, fill or keep missing values; refuse infinite ones."""
    how = wanted.missing
    if how not in MISSING_CHOICES:
        raise ValueError(f"missing must be one of {', '.join(MISSING_CHOICES)}; got {how!r}.")
    X = table.X
    names = table.feature_names
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        if sparse.issparse(X) or how == "refuse":
            check_finite(X, names, where)
        none = sparse.issparse(X) or how == "refuse"
        gaps = np.zeros((1, 0), bool) if none else np.isnan(X)
        if not none:
            check_finite(np.where(gaps, 0, X) if gaps.any() else X, names, where)
    else:
        gaps = X.isna().to_numpy()
        numbers = X.select_dtypes("number")
        check_finite(numbers.fillna(0).to_numpy(), [str(c) for c in numbers], where)
        if how == "refuse" and gaps.any():
            row, column = (int(v) for v in np.argwhere(gaps)[0])
            raise _missing_error(gaps, names, where.row(row), column, where)
    if gaps.any() and how in ("drop", "impute"):
        empty = [names[j] for j in np.flatnonzero(gaps.all(axis=0))]
        if empty:
            raise TableError(
                f"{where.name}: the column {empty[0]!r} has no values at all",
                "leave it out with {exclude}",
                exclude=empty if len(empty) > 1 else empty[0],
            )
    if how == "drop" and gaps.any():
        table = _without_rows(table, gaps, where)
    if wanted.categories == "one-hot" and isinstance(table.X, pd.DataFrame):
        return _encoded(table, impute=how == "impute", where=where)
    if how == "impute" and gaps.any():
        return _encoded(table, impute=True, where=where)
    return table


def missing_words(gaps: np.ndarray, names: Sequence[str]) -> str:
    """Say how many values are missing, in how many rows, and in which columns."""
    counts = gaps.sum(axis=0)
    columns = [j for j in np.argsort(-counts, kind="stable") if counts[j]]
    shown = ", ".join(f"{names[j]!r} ({counts[j]:,})" for j in columns[:5])
    more = f" and {len(columns) - 5:,} more" if len(columns) > 5 else ""
    rows = int(gaps.any(axis=1).sum())
    word = "column" if len(columns) == 1 else "columns"
    return (
        f"{int(counts.sum()):,} value{'s are' if counts.sum() > 1 else ' is'} missing in {rows:,} "
        f"of {len(gaps):,} rows, {word} {shown}{more}"
    )


def _without_rows(table: Table, gaps: np.ndarray, where: Where) -> Table:
    keep = ~gaps.any(axis=1)
    if not keep.any():
        raise TableError(
            f"{where.name}: every row has a missing value, so that dropping rows leaves none",
            "fill gaps with {missing}, or leave columns out with {exclude}",
            missing="impute",
            exclude=table.feature_names[int(gaps.sum(axis=0).argmax())],
        )
    first = int((~keep).argmax())
    name = where.row(first).split(" (")[0] if table.ids is None else repr(table.ids[first])
    note = (
        f"{missing_words(gaps, table.feature_names)}: these rows are left out, the first of them "
        f"{name}."
    )
    frame = isinstance(table.X, pd.DataFrame)
    return dataclasses.replace(
        table,
        X=table.X[keep].reset_index(drop=True) if frame else np.ascontiguousarray(table.X[keep]),
        ids=None if table.ids is None else table.ids[keep],
        labels=None if table.labels is None else table.labels[keep],
        notes=(*table.notes, note),
        n_dropped=int((~keep).sum()),
    )


def _encoded(table: Table, *, impute: bool, where: Where) -> Table:
    """Return the table with gaps filled and words as columns of zeros and ones."""
    names = list(table.feature_names)
    frame = pd.DataFrame(table.X)
    frame.columns = pd.RangeIndex(len(names))
    encoder = TableEncoder(missing="impute" if impute else "refuse").fit(frame.to_numpy(object))
    return dataclasses.replace(
        table,
        X=encoder.transform(frame.to_numpy(object)),
        feature_names=tuple(encoder.get_feature_names_out(names)),
        notes=(*table.notes, *encoder.notes(names)),
    )


def _missing_error(
    gaps: np.ndarray, names: Sequence[str], row: str, column: int, where: Where
) -> TableError:
    total = int(gaps.sum())
    more = f" ({missing_words(gaps, names)})" if total > 1 else ""
    return TableError(
        f"{where.name}, {row}, column {names[column]!r}: the value is missing{more}",
        "fill it in, leave such rows out with {missing__drop}, fill gaps with medians with "
        "{missing__impute}, or leave the column out with {exclude}",
        missing__drop="drop",
        missing__impute="impute",
        exclude=names[column],
    )


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
    if np.isnan(value) and not sparse.issparse(X):
        raise _missing_error(np.isnan(X), names, where.row(row), column, where)
    more = f" ({total:,} such cells in all)" if total > 1 else ""
    what = "the value is missing" if np.isnan(value) else f"the value is infinite ({value})"
    raise TableError(
        f"{where.name}, {where.row(row)}, column {names[column]!r}: {what}{more}",
        "fill it in or take the row out of the file, or leave the column out with {exclude}",
        exclude=names[column],
    )
