"""Columns of labels: whole numbers or text, with empty cells for points that were not seen."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.labels import UNSAMPLED
from clusterscape.ensemble import Ensemble
from clusterscape.io._columns import Wanted, Where, plan_roles, row_names
from clusterscape.io._errors import TableError

_WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})(\.0*)?")
_SOFT = re.compile(r".*\[\d+\]")


def labels_of_frame(
    frame: pd.DataFrame, names: Sequence[str], *, wanted: Wanted, where: Where
) -> Ensemble:
    """Turn a table of labels into an ensemble."""
    if len(frame) == 0:
        raise TableError(f"{where.name} has column names but no rows of data")
    roles = plan_roles(names, wanted, where)
    positions = [
        p for p in roles.features if roles.chosen or names[p].strip().lower() != "confidence"
    ]
    if not positions:
        raise TableError(
            f"{where.name}: no column of labels is left",
            "name the ones to use with {columns}",
            columns=names[-1],
        )
    index = None
    if roles.ids is not None:
        index = row_names(frame, names, position=roles.ids, where=where)
    columns = {}
    for p in positions:
        if names[p] in columns:
            raise TableError(
                f"{where.name}: two columns are called {names[p]!r}", "give them different names"
            )
        columns[names[p]] = _labels(frame.iloc[:, p], names[p], where=where, chosen=roles.chosen)
    if index is not None and list(index) == [str(i) for i in range(len(index))]:
        index = None  # ids that only count the points, as files without ids are written
    try:
        return Ensemble.from_labels(pd.DataFrame(columns), columns=list(columns), index=index)
    except (TypeError, ValueError) as error:
        raise TableError(f"{where.name}: {str(error).rstrip('.')}") from None


def _labels(values: pd.Series, name: str, *, where: Where, chosen: bool) -> Any:
    """Return one column as integers (unsampled where empty), text, or a soft membership."""
    if values.dtype.kind in "iub":
        numbers = values.to_numpy(dtype=np.int64)
        _refuse_negative(numbers, name, where)
        return numbers
    texts = values.astype(object).where(values.notna(), "").map(str).str.strip()
    empty = (texts == "").to_numpy()
    if _SOFT.fullmatch(name):
        return pd.to_numeric(texts.where(~empty, "nan"), errors="coerce").to_numpy(np.float64)
    whole = texts.map(lambda text: _WHOLE.fullmatch(text) is not None).to_numpy(dtype=bool)
    if (whole | empty).all() and whole.any():
        numbers = np.full(len(texts), UNSAMPLED, dtype=np.int64)
        numbers[whole] = [int(text.partition(".")[0]) for text in texts[whole]]
        _refuse_negative(numbers, name, where)
        return numbers
    figures = pd.to_numeric(texts, errors="coerce").to_numpy(np.float64)
    broken = ~np.isnan(figures) & (figures != np.rint(figures))
    if (~np.isnan(figures) | empty).all() and broken.any():
        row = int(broken.argmax())
        raise TableError(
            f"{where.name}, {where.row(row)}, column {name!r}: {texts.iloc[row]} is not a label; "
            "labels are whole numbers or text",
            "leave the column out with {exclude}",
            exclude=name,
        )
    if not chosen and len(texts) > 2 and not empty.any() and texts.is_unique:
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
