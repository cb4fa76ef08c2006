"""Columns of labels: whole numbers or text, with empty cells for points that were not seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.frames import numbers_in
from clusterscape._core.labels import UNSAMPLED
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import is_own_name
from clusterscape.io._columns import Wanted, Where, plan_roles, row_names
from clusterscape.io._errors import TableError, no_rows

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})(\.0*)?")
_SOFT = re.compile(r".*\[\d+\]")
# Columns of labels.csv that are no clustering; memberships are known by their beginning.
_BESIDE = ("confidence", "runner_up", "runner_up_share")
_CHOSEN = ("cluster", "marked")  # names and marks that were chosen, beside a label and confidence


@dataclass(frozen=True, eq=False)
class LabelTable:
    """Clusterings read from a file, with where their ids came from.

    Attributes
    ----------
    ensemble : Ensemble
        The clusterings. Ids that only count the points from 0 are not its index, because files of
        points without ids are written so.
    source : str
        The file.
    ids : ndarray of shape (n,) or None
        The ids as text, also where they only count the points.
    id_column : str or None
        The column that they came from.
    """

    ensemble: Ensemble
    source: str
    ids: np.ndarray | None = field(default=None, repr=False)
    id_column: str | None = None

    @property
    def ids_count_rows(self) -> bool:
        """Whether the ids are 0, 1, 2, ... in this order."""
        return self.ids is not None and self.ids.tolist() == [str(i) for i in range(len(self.ids))]


def labels_of_frame(
    frame: pd.DataFrame,
    names: Sequence[str],
    *,
    wanted: Wanted,
    where: Where,
    na: Sequence[str] = (),
) -> LabelTable:
    """Turn a table of labels into an ensemble with its ids."""
    if len(frame) == 0:
        raise no_rows(where.name)
    roles = plan_roles(names, wanted, where)
    positions = [p for p in roles.features if roles.chosen or not _is_beside(names[p], names)]
    if not positions:
        raise TableError(
            f"{where.name}: no column of labels is left",
            "name the ones to use with {columns}",
            columns=names[-1],
        )
    ids = None
    if roles.ids is not None:
        ids = row_names(frame, names, position=roles.ids, where=where)
    _refuse_lists(frame, names, positions, where)
    columns = {}
    for p in positions:
        if names[p] in columns:
            raise TableError(
                f"{where.name}: two columns are called {names[p]!r}", "give them different names"
            )
        values = frame.iloc[:, p]
        if na:
            values = values.where(~values.astype(str).str.strip().isin(list(na)), None)
        columns[names[p]] = _labels(values, names[p], where=where, chosen=roles.chosen)
    try:
        ensemble = Ensemble.from_labels(pd.DataFrame(columns), columns=list(columns))
    except (TypeError, ValueError) as error:
        raise TableError(f"{where.name}: {str(error).rstrip('.')}") from None
    if ids is None:
        return LabelTable(ensemble, where.name)
    id_column = names[roles.ids]  # type: ignore[index]
    found = LabelTable(ensemble, where.name, np.array([str(i) for i in ids], object), id_column)
    if found.ids_count_rows:
        return found
    return replace(found, ensemble=ensemble.with_index(ids))


_FEWEST_NAMES = 6  # cells, below which words differ by chance


def _refuse_lists(
    frame: pd.DataFrame, names: Sequence[str], positions: Sequence[int], where: Where
) -> None:
    """Refuse a file with one cluster per line, each the names of its points, as MCL writes it."""
    if len(positions) < len(names) or len(positions) < 2:
        return
    cells = [str(cell).strip() for cell in frame.to_numpy(dtype=object).ravel()] + list(names)
    words = len(cells) >= _FEWEST_NAMES and np.isnan(numbers_in(pd.Series(cells))).all()
    if words and len(set(cells)) == len(cells):
        raise TableError(
            f"{where.name}: every cell is different, so that the lines look like clusters with the "
            "names of their points",
            "write one line per point, with its name and its cluster",
        )


def _is_beside(name: str, names: Sequence[str]) -> bool:
    """Say whether a column of a labels file tells of the clustering and is none itself."""
    word = name.strip().lower()
    if word in _CHOSEN:
        return {"label", "confidence"} <= {other.strip().lower() for other in names}
    return word in _BESIDE or re.fullmatch(r"membership_\d+", word) is not None


def _labels(values: pd.Series, name: str, *, where: Where, chosen: bool) -> Any:
    """Return one column as integers (unsampled where empty), text, or a soft membership."""
    if values.dtype.kind in "iub":
        numbers = values.to_numpy(dtype=np.int64)
        _refuse_negative(numbers, name, where)
        return numbers
    texts = values.astype(object).where(values.notna(), "").map(str).str.strip()
    empty = (texts == "").to_numpy()
    if _SOFT.fullmatch(name):
        return numbers_in(texts)
    whole = texts.map(lambda text: _WHOLE.fullmatch(text) is not None).to_numpy(dtype=bool)
    if (whole | empty).all() and whole.any():
        numbers = np.full(len(texts), UNSAMPLED, dtype=np.int64)
        numbers[whole] = [int(text.partition(".")[0]) for text in texts[whole]]
        _refuse_negative(numbers, name, where)
        return numbers
    figures = numbers_in(texts)
    broken = ~np.isnan(figures) & (figures != np.rint(figures))
    if (~np.isnan(figures) | empty).all() and broken.any():
        row = int(broken.argmax())
        raise TableError(
            f"{where.name}, {where.row(row)}, column {name!r}: {texts.iloc[row]} is not a label; "
            "labels are whole numbers or text",
            "leave the column out with {exclude}; measurements of the points are given as a table "
            "of features, and memberships of a soft clustering are columns called NAME[0], "
            "NAME[1], ...",
            exclude=name,
        )
    sure = chosen or is_own_name(name)
    if not sure and len(texts) > 2 and not empty.any() and texts.is_unique:
        raise TableError(
            f"{where.name}: the column {name!r} is different in every row, so it looks like names "
            "of points rather than clusters",
            "say {id_column} if it names them, or {exclude} to leave it out",
            id_column=name,
            exclude=name,
        )
    labels = texts.to_numpy(dtype=object).copy()
    labels[empty] = None
    return labels


def _refuse_negative(numbers: np.ndarray, name: str, where: Where) -> None:
    wrong = numbers < UNSAMPLED
    if wrong.any():
        row = int(wrong.argmax())
        raise TableError(
            f"{where.name}, {where.row(row)}, column {name!r}: the label {numbers[row]} is "
            "negative; only -1 (noise) and -2 (not seen) may be",
            "rename it",
        )
