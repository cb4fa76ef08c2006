"""What the columns of a table hold, and which of them may be no measurements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape.io._columns import (
    Table,
    Wanted,
    Where,
    missing_cells,
    plan_roles,
    take_first_text_column,
    to_numbers,
)

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


@dataclass(frozen=True)
class Suspicion:
    """A column of numbers that may not be a measurement.

    Attributes
    ----------
    column : str
        Its name.
    kind : {"counter", "ids", "classes"}
        It counts the rows, differs in every row, or looks like known classes.
    reason : str
        What was seen, as the rest of a sentence that begins with the column.
    """

    column: str
    kind: Literal["counter", "ids", "classes"]
    reason: str


def suspicious_columns(table: Table) -> list[Suspicion]:
    r"""Return the features that look like row numbers, ids or classes rather than measurements.

    A column is named when it counts the rows (1, 2, 3, ...), when it holds whole numbers that are
    different in every row, or when it holds few whole numbers and is called class, label, cluster,
    target, species, y or the like. Tables of fewer than five rows are not judged.

    Parameters
    ----------
    table : Table
        As :func:`read_table` returns it.

    Returns
    -------
    list of Suspicion

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
        values = X[:, [j]].toarray().ravel() if sparse.issparse(X) else X[:, j]
        suspicion = suspect(table.feature_names[j], values)
        if suspicion is not None:
            found.append(suspicion)
    return found


def suspect(name: str, values: np.ndarray) -> Suspicion | None:
    """Return why a column of finite numbers may be no measurement, or None."""
    n = values.size
    if n < _FEWEST_ROWS or not (_whole(values[:_CHECKED_FIRST]) and _whole(values)):
        return None
    if (np.abs(np.diff(values)) == 1).all() and abs(values[-1] - values[0]) == n - 1:
        shown = ", ".join(f"{v:.0f}" for v in values[:3])
        return Suspicion(name, "counter", f"counts the rows ({shown}, ...)")
    distinct = np.unique(values).size
    if distinct == n:
        return Suspicion(name, "ids", "holds whole numbers that are different in every row")
    if _names_classes(name) and distinct <= min(_MOST_CLASSES, n // 2):
        reason = f"holds {distinct} different whole numbers, and its name suggests known classes"
        return Suspicion(name, "classes", reason)
    return None


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
    """

    name: str
    kind: Literal["numbers", "whole numbers", "yes/no", "text", "dates", "mixed", "empty"]
    n_missing: int
    n_distinct: int
    low: float | None = None
    high: float | None = None
    example: str = ""
    suspicion: Suspicion | None = None

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
    """

    source: str
    n_points: int
    columns: tuple[ColumnSummary, ...] = field(repr=False)
    id_column: str | None = None
    has_ids: bool = False
    density: float | None = None
    notes: tuple[str, ...] = ()


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


def summary_of_frame(
    frame: pd.DataFrame, names: Sequence[str], *, wanted: Wanted, where: Where
) -> TableSummary:
    """Summarise a frame whose cells may be anything."""
    planned = plan_roles(names, wanted, where)
    roles = take_first_text_column(frame, names, planned)
    if not roles.features:
        roles = planned  # nothing would be left to cluster, so the column itself is described
    return TableSummary(
        where.name,
        len(frame),
        tuple(_of_series(names[p], frame.iloc[:, p]) for p in roles.features),
        None if roles.ids is None else names[roles.ids],
        roles.ids is not None,
        notes=roles.notes,
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
        suspicion=suspect(name, values) if np.isfinite(values).all() else None,
    )


def _of_series(name: str, values: pd.Series) -> ColumnSummary:
    missing = missing_cells(values)
    n_missing, present = int(missing.sum()), values[~missing]
    if len(present) == 0:
        return ColumnSummary(name, "empty", n_missing, 0)
    if values.dtype.kind in "Mm":
        return ColumnSummary(
            name, "dates", n_missing, present.nunique(), example=str(present.iloc[0])
        )
    numbers = to_numbers(values)
    wrong = np.isnan(numbers) & ~missing
    if wrong.any():
        kind: Literal["text", "mixed"] = "text" if wrong.sum() == len(present) else "mixed"
        example = str(values.iloc[int(wrong.argmax())])
        return ColumnSummary(name, kind, n_missing, present.nunique(), example=example)
    if values.dtype.kind == "b":
        return ColumnSummary(name, "yes/no", n_missing, present.nunique(), 0.0, 1.0)
    return _of_numbers(name, numbers)
