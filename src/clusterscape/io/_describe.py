"""What the columns of a table hold, and which of them may be no measurements."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape.io._columns import (
    Table,
    Wanted,
    plan_roles,
)
from clusterscape.io._delimited import Read
from clusterscape.io._features import LONGEST_NA, are_few_words, take_first_text_column
from clusterscape.io._numbers import Cells, read_cells

# Words that name a column of classes, and the most values that such a column is expected to have.
# fmt: off
_CLASS_WORDS = frozenset((
    "category", "class", "classes", "cluster", "clusters", "diagnosis", "group", "kind", "label",
    "labels", "outcome", "species", "target", "truth", "type", "y",
))
# fmt: on
_MOST_CLASSES = 50
# Below this number of rows whole numbers differ from row to row by chance too often.
_FEWEST_ROWS = 5
_CHECKED_FIRST = 1000
_EXACT = 2.0**53  # above, whole numbers are rounded
_FEWEST_FAR = 8  # values, below which none is far from the others by more than chance
_FAR = 5.0  # times the range of the others: so far is a far cell from them
_RARE = 0.05  # of the rows: more cells than these are a group of their own


@dataclass(frozen=True)
class Suspicion:
    """A column that may not be a measurement.

    Attributes
    ----------
    column : str
        Its name.
    kind : {"counter", "ids", "classes", "codes", "dates", "outlier", "sentinel"}
        It counts the rows, differs in every row, looks like known classes, holds codes such as
        007, dates such as 20240131, a few values far from all others, or a value such as -999 that
        often stands for a missing one.
    reason : str
        What was seen, as the rest of a sentence that begins with the column.
    value : float or None
        The value that is far from all others.
    """

    column: str
    kind: Literal["counter", "ids", "classes", "codes", "dates", "outlier", "sentinel"]
    reason: str
    value: float | None = None


def suspicious_columns(table: Table) -> list[Suspicion]:
    r"""Return the features that look like row numbers, ids or classes rather than measurements.

    A column is named when it counts the rows (1, 2, 3, ...), when it holds whole numbers that are
    different in every row, or when it holds few whole numbers or words and is called class, label,
    cluster, target, species, y or the like; when it holds codes with leading zeros, or dates
    written as whole numbers; and when one to three cells are so far from all others that they would
    decide the clusters, as a mistyped cell does, or a value such as -999 in place of a missing one.
    Tables of fewer than five rows are not judged, for far cells of fewer than eight.

    Parameters
    ----------
    table : Table
        As :func:`read_table` returns it.

    Returns
    -------
    list of Suspicion

    See Also
    --------
    clusterscape.io.read_table : Reads the table.

    Examples
    --------
    >>> import io
    >>> from clusterscape.io import read_table, suspicious_columns
    >>> rows = b"".join(b"%d,%f,%d\n" % (i + 1, i / 7, i % 2) for i in range(20))
    >>> table = read_table(io.BytesIO(b"row,height,class\n" + rows))
    >>> for one in suspicious_columns(table):
    ...     print(one.column, one.reason)
    row counts the rows (1, 2, 3, ...)
    class holds 2 different whole numbers, and its name suggests known classes
    """
    if table.n_points < _FEWEST_ROWS:
        return []
    X: Any = table.X
    candidates: Sequence[int] = range(table.n_features)
    if sparse.issparse(X):
        # A column in which several values are zero neither counts the rows nor differs in each;
        # the others are few.
        filled = np.bincount(X.indices, minlength=table.n_features) >= table.n_points - 1
        named = np.array([_names_classes(name) for name in table.feature_names])
        candidates = np.flatnonzero(filled | named).tolist()
        X = X.tocsc()
    found = []
    for j in candidates:
        values = np.asarray(_column(X, j))
        name = table.feature_names[j]
        if not np.issubdtype(values.dtype, np.number):  # words, in a table that keeps them
            words = [v for v in values if isinstance(v, str)]
            suspicion = _classes_in_words(name, len(set(words)), len(words))
            found += [] if suspicion is None else [suspicion]
            continue
        suspicion = suspect(name, values[~np.isnan(values)], table.ids)
        if suspicion is None and name in table.codes:
            suspicion = _code(name)
        if suspicion is not None:
            found.append(suspicion)
    return found


def _code(name: str) -> Suspicion:
    return Suspicion(name, "codes", "holds cells that begin with 0, such as 007: codes, or numbers")


def _classes_in_words(name: str, count: int, n: int) -> Suspicion | None:
    if n < _FEWEST_ROWS or not _names_classes(name) or count > min(_MOST_CLASSES, n // 2):
        return None
    reason = f"holds {count} different words, and its name suggests known classes"
    return Suspicion(name, "classes", reason)


def _column(X: Any, j: int) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[:, j].to_numpy()
    return X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]


def suspect(name: str, values: np.ndarray, ids: np.ndarray | None = None) -> Suspicion | None:
    """Return why a column of finite numbers may be no measurement, or None."""
    n = values.size
    if n < _FEWEST_ROWS:
        return None
    if not (_whole(values[:_CHECKED_FIRST]) and _whole(values)):
        return _far(name, values, ids)
    if _are_dates(values):
        return Suspicion(
            name, "dates", f"may hold dates ({values[0]:.0f}, ...) rather than amounts"
        )
    if (np.abs(np.diff(values)) == 1).all() and abs(values[-1] - values[0]) == n - 1:
        shown = ", ".join(f"{v:.0f}" for v in values[:3])
        return Suspicion(name, "counter", f"counts the rows ({shown}, ...)")
    distinct = np.unique(values).size
    largest = np.abs(values).max()
    if largest > _EXACT and (distinct > n // 2 or np.ptp(values) < 1e-6 * largest):
        return Suspicion(
            name, "ids", "holds whole numbers of so many digits that they are not kept exactly"
        )
    if distinct == n:
        return Suspicion(name, "ids", "holds whole numbers that are different in every row")
    if _names_classes(name) and distinct <= min(_MOST_CLASSES, n // 2):
        reason = f"holds {distinct} different whole numbers, and its name suggests known classes"
        return Suspicion(name, "classes", reason)
    return _far(name, values, ids)


def _are_dates(values: np.ndarray) -> bool:
    """Say whether whole numbers are all days written as 20240131."""
    if values.min() < 19000101 or values.max() > 21001231:
        return False
    months, days = values // 100 % 100, values % 100
    return bool(((months >= 1) & (months <= 12) & (days >= 1) & (days <= 31)).all())


def _far(name: str, values: np.ndarray, ids: np.ndarray | None) -> Suspicion | None:
    """Return one to three cells, or one value, that are far from all others."""
    if values.size < _FEWEST_FAR:
        return None
    different = np.unique(values)
    if different.size < 3:
        return None
    for count in range(1, min(3, different.size - 2) + 1):
        for lower in (False, True):
            rest = different[count:] if lower else different[:-count]
            far = different[:count] if lower else different[-count:]
            span = rest[-1] - rest[0]
            gap = rest[0] - far[-1] if lower else far[0] - rest[-1]
            if span > 0 and gap > _FAR * span:
                return _far_cells(name, values, far, gap / span, ids)
    return None


def _far_cells(
    name: str, values: np.ndarray, far: np.ndarray, times: float, ids: np.ndarray | None
) -> Suspicion | None:
    places = np.flatnonzero(np.isin(values, far))
    value = float(values[places[0]])
    if far.size == 1 and re.fullmatch(r"-?9{2,}", f"{value:.0f}") and value == round(value):
        count = f"{places.size:,} times" if places.size > 1 else "once"
        reason = f"holds {value:g} ({count}), far from all other values: it may mean missing"
        return Suspicion(name, "sentinel", reason, value)
    if places.size > 3 or places.size > max(1, _RARE * values.size):
        return None  # a group of its own
    row = f"row {places[0] + 1}" if ids is None or len(ids) != values.size else repr(ids[places[0]])
    others = places.size - 1
    cells = f" and {others} more cell{'s' * (others > 1)}" if others else ""
    reason = (
        f"holds {value:g} (in {row}){cells}, {times:.0f} times as far from the other values as "
        "these are from each other"
    )
    return Suspicion(name, "outlier", reason, value)


def _whole(values: np.ndarray) -> bool:
    return bool((values == np.rint(values)).all())


def _names_classes(name: str) -> bool:
    """Say whether one of the words in a column's name is a word for classes."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return not _CLASS_WORDS.isdisjoint(re.split(r"[\W_]+", spaced.lower()))


@dataclass(frozen=True)
class ColumnSummary:
    """What one column of a table holds.

    Attributes
    ----------
    name : str
        Its name, or its number from 1.
    kind : {"numbers", "whole numbers", "yes/no", "text", "dates", "mixed", "empty"}
        ``"mixed"`` are numbers with some cells that are none.
    n_missing, n_distinct : int
        Number of empty cells, and of different values in the others.
    low, high : float or None
        Range of the numbers.
    example : str
        A cell of text, or the first cell that is no number.
    suspicion : Suspicion or None
        Why it may be no measurement.
    few_words : bool
        Whether it holds words, few enough for ``categories="one-hot"``.
    likely_na : str
        The text that stands several times among numbers, where it is the only one and holds no
        digit: it may mean a missing value.
    """

    name: str
    kind: Literal["numbers", "whole numbers", "yes/no", "text", "dates", "mixed", "empty"]
    n_missing: int
    n_distinct: int
    low: float | None = None
    high: float | None = None
    example: str = ""
    suspicion: Suspicion | None = None
    few_words: bool = False
    likely_na: str = ""

    @property
    def is_feature(self) -> bool:
        """Whether it can be clustered on as it is."""
        usable = self.kind in ("numbers", "whole numbers", "yes/no")
        return usable and self.n_missing == 0


@dataclass(frozen=True)
class TableSummary:
    """What a table holds, as :func:`describe_table` returns it.

    Attributes
    ----------
    source : str
        The file.
    n_points : int
        Number of rows.
    columns : tuple of ColumnSummary
        Its columns without the ids.
    id_column : str or None
        The column that names the rows.
    has_ids : bool
        Whether the rows have ids, from a column or from elsewhere in the file.
    density : float or None
        Share of the cells that are stored, where the table is sparse.
    notes : tuple of str
        What was decided without being asked for.
    parts : dict
        What else an h5ad file holds: the names in its ``obsm`` and ``layers``, and the columns of
        ``obs`` that may be clusterings.
    """

    source: str
    n_points: int
    columns: tuple[ColumnSummary, ...] = field(repr=False)
    id_column: str | None = None
    has_ids: bool = False
    density: float | None = None
    notes: tuple[str, ...] = ()
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


def summary_of_table(table: Table) -> TableSummary:
    """Summarise a table that is one matrix, in which values may be missing."""
    X: Any = table.X.tocsc() if sparse.issparse(table.X) else table.X
    columns = []
    for j, name in enumerate(table.feature_names):
        values = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        columns.append(_of_numbers(name, values))
    return TableSummary(
        table.source,
        table.n_points,
        tuple(columns),
        table.id_column,
        table.ids is not None,
        X.nnz / np.prod(X.shape) if sparse.issparse(X) else None,
        table.notes,
    )


def summary_of_frame(read: Read, *, wanted: Wanted, na: Sequence[str]) -> TableSummary:
    """Summarise a frame whose cells may be anything."""
    frame, names = read.frame, read.names
    planned = plan_roles(names, wanted, read.where)
    roles = take_first_text_column(frame, names, planned, marks=read.marks, na=na)
    if not roles.features:
        roles = planned  # nothing would be left to cluster, so the column itself is described
    cells = {p: read_cells(frame.iloc[:, p], read.marks, na) for p in roles.features}
    notes = tuple(f"column {names[p]!r} {c.note}." for p, c in cells.items() if c.note)
    return TableSummary(
        read.where.name,
        len(frame),
        tuple(
            _of_series(names[p], frame.iloc[:, p], c, code=names[p] in read.codes)
            for p, c in cells.items()
        ),
        None if roles.ids is None else names[roles.ids],
        roles.ids is not None,
        notes=roles.notes + notes,
    )


def _of_numbers(name: str, values: np.ndarray) -> ColumnSummary:
    missing = np.isnan(values)
    present = values[~missing]
    if present.size == 0:
        return ColumnSummary(name, "empty", int(missing.sum()), 0)
    return ColumnSummary(
        name,
        "whole numbers" if _whole(present) else "numbers",
        int(missing.sum()),
        int(np.unique(present).size),
        float(present.min()),
        float(present.max()),
        suspicion=suspect(name, present) if np.isfinite(present).all() else None,
    )


def _likely_na(wrong: pd.Series) -> str:
    """Return the one text that stands several times among numbers, or an empty one."""
    texts = {str(cell).strip() for cell in wrong}
    token = texts.pop()
    alone = not texts and len(wrong) > 1 and len(token) <= LONGEST_NA
    return token if alone and not any(c.isdigit() for c in token) else ""


def _of_series(name: str, values: pd.Series, cells: Cells, *, code: bool) -> ColumnSummary:
    n_missing, present = int(cells.missing.sum()), values[~cells.missing]
    if cells.kind == "empty":
        return ColumnSummary(name, "empty", n_missing, 0)
    if cells.kind in ("dates", "text", "mixed"):
        wrong = ~cells.missing if cells.wrong is None else cells.wrong
        example = str(values.iloc[int(wrong.argmax())])
        count = present.astype(str).nunique()
        few = cells.kind == "text" and are_few_words(count, len(values))
        return ColumnSummary(
            name, cells.kind, n_missing, count, example=example,
            suspicion=_classes_in_words(name, count, len(present)) if few else None, few_words=few,
            likely_na=_likely_na(values[wrong]) if cells.kind == "mixed" else "",
        )  # fmt: skip
    if cells.kind == "yes/no":
        return ColumnSummary(name, "yes/no", n_missing, present.nunique(), 0.0, 1.0)
    assert cells.numbers is not None
    found = _of_numbers(name, cells.numbers)
    if code and found.suspicion is None:
        found = replace(found, suspicion=_code(name))
    return found
