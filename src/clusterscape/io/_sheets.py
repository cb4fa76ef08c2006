"""Spreadsheets (xlsx), read with openpyxl: values only, never formulas."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from clusterscape._core.npy import check_directory, text_limit, too_large, unpacked_limit
from clusterscape.io._columns import Where, unnamed
from clusterscape.io._errors import TableError
from clusterscape.io._layout import Layout
from clusterscape.io._numbers import is_plain_number
from clusterscape.io._source import Source


def sheet_frame(
    source: Source, layout: Layout, *, numbers: bool = False
) -> tuple[pd.DataFrame, list[str], Where, list[str]]:
    """Return a sheet as (frame, names of columns, words for places, notes).

    ``numbers`` refuses a first sheet without numbers where another sheet has some.
    """
    sheet, rows, others = _rows(source, layout.sheet)
    rows = rows[layout.skip :]
    filled = [i for i, row in enumerate(rows) if any(_is_filled(v) for v in row)]
    if others and (not filled or (numbers and not _has_numbers(rows))):
        _refuse_for_another(source, sheet, others, empty=not filled)
    if not filled:
        raise TableError(f"{source.name}: the sheet {sheet!r} is empty", "name another one")
    start = filled[0]
    head, body = rows[start], [rows[i] for i in filled[1:]]
    lines = [layout.skip + i + 1 for i in filled[1:]]
    last = max(j for row in (head, *body) for j, v in enumerate(row) if _is_filled(v)) + 1
    notes = [] if not others else [f"of several sheets {sheet!r} is read."]
    named = layout.header
    if named == "auto":
        named = not any(isinstance(v, (int, float)) for v in head[:last] if v is not None)
        if not named and any(isinstance(v, str) for v in head[:last]):
            raise TableError(
                f"{source.name}: the first row of the sheet {sheet!r} has both names and numbers",
                "say {header} if it holds the column names, or {header__no} if it is data",
                header=True,
                header__no=False,
            )
    if not named:
        body, lines = [head, *body], [layout.skip + start + 1, *lines]
        names = [str(j + 1) for j in range(last)]
    else:
        names = [
            unnamed(j) if v is None or not str(v).strip() else str(v).strip()
            for j, v in enumerate([*head, *[None] * last][:last])
        ]
    cells = [[*row, *[None] * last][:last] for row in body]
    frame = pd.DataFrame(cells, columns=pd.RangeIndex(last), dtype=object).infer_objects()
    where = Where(
        source.name, lambda i: f"row {lines[i]} (as the spreadsheet numbers it, sheet {sheet!r})"
    )
    if frame.isna().to_numpy().any():
        _refuse_formulas(source, sheet)
    return frame, names, where, notes


def _is_filled(value: Any) -> bool:
    return value is not None and str(value).strip() != ""


def _has_numbers(rows: Iterable[Sequence[Any]]) -> bool:
    """Say whether a cell is a number, or text that is one."""

    def is_number(value: Any) -> bool:
        if isinstance(value, str):
            text = value.strip()
            return is_plain_number(text, ".") or is_plain_number(text, ",")
        return isinstance(value, (int, float))

    return any(is_number(value) for row in rows for value in row)


def _refuse_for_another(source: Source, sheet: str, others: list[str], *, empty: bool) -> None:
    """Raise where another sheet holds numbers, and name all sheets."""
    with source.open() as stream:
        book = _open(source, stream, values=True)
        able = [name for name in others if _has_numbers(book[name].iter_rows(values_only=True))]
        book.close()
    if not able:
        return
    what = "is empty" if empty else "holds no numbers"
    more = [name for name in others if name not in able]
    besides = f" (there is also {', '.join(map(repr, more))})" if more else ""
    raise TableError(
        f"{source.name}: the first sheet, {sheet!r}, is read, and it {what}; numbers are in "
        f"{', '.join(map(repr, able))}{besides}",
        "name the sheet to read with {sheet}",
        sheet=able[0],
    )


def _open(source: Source, stream: Any, *, values: bool) -> Any:
    try:
        import openpyxl
    except ImportError:
        raise TableError(
            f"{source.name}: xlsx files need openpyxl",
            "install it: pip install 'clusterscape[excel]', or save the sheet as CSV",
        ) from None
    try:
        return openpyxl.load_workbook(stream, read_only=True, data_only=values)
    except _BROKEN as error:
        raise _damaged(source, error) from None


# What zipfile, the parser of XML and openpyxl raise where a file is not what they expect.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    SyntaxError,
    EOFError,
    LookupError,
    ValueError,
    OSError,
    TypeError,
    AttributeError,
    RuntimeError,
)


def _damaged(source: Source, error: Exception) -> TableError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return TableError(
        f"{source.name} is not an xlsx file, or a damaged one ({reason[:120]})",
        "save it again, or as CSV",
    )


def _verify(source: Source, stream: Any) -> None:
    """Refuse an archive that unpacks to too much, or of which a byte was changed."""
    try:
        with zipfile.ZipFile(stream) as archive:
            check_directory(archive, stream)
            size, limit = sum(m.file_size for m in archive.infolist()), unpacked_limit()
            if size > limit:
                raise TableError(f"{source.name}: {too_large('its content', size, limit)}")
            if (broken := archive.testzip()) is not None:
                raise ValueError(f"its part {broken} was changed")
    except TableError:
        raise
    except _BROKEN as error:
        raise _damaged(source, error) from None
    stream.seek(0)


def _rows(source: Source, wanted: str | None) -> tuple[str, list[tuple[Any, ...]], list[str]]:
    """Return the name of the sheet, its rows, and the other sheets that hold something."""
    with source.open() as stream:
        _verify(source, stream)
        book = _open(source, stream, values=True)
        sheets = book.worksheets
        names = [sheet.title for sheet in sheets]
        if wanted is not None and wanted not in names:
            raise TableError(
                f"{source.name} has no sheet {wanted!r}",
                f"it has {', '.join(map(repr, names))}".replace("{", "{{").replace("}", "}}"),
            )
        if not sheets:
            raise TableError(f"{source.name} holds no sheet with cells", "save the table as CSV")
        sheet = sheets[0] if wanted is None else sheets[names.index(wanted)]
        try:
            rows = list(_bounded(source, sheet.iter_rows(values_only=True), stream))
        except TableError:
            raise
        except _BROKEN as error:
            raise _damaged(source, error) from None
        others = [] if wanted is not None else [name for name in names if name != sheet.title]
        book.close()
    return sheet.title, rows, others


def _bounded(
    source: Source, rows: Iterable[tuple[Any, ...]], stream: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield rows until they take too much: one cell far away makes millions of empty ones."""
    size, limit = 0, text_limit(stream.seek(0, os.SEEK_END))
    for row in rows:
        size += 8 * max(len(row), 1)
        if size > limit:
            raise TableError(
                f"{source.name}: a cell far below or to the right of the table makes it huge: "
                f"{too_large('its cells', size, limit)}",
                "delete what stands there",
            )
        yield tuple(row)


def _refuse_formulas(source: Source, sheet: str) -> None:
    """Refuse formulas whose values the file does not hold: their cells look empty."""
    with source.open() as stream:
        formulas = _open(source, stream, values=False)
        with source.open() as again:
            values = _open(source, again, values=True)
            pairs = zip(
                formulas[sheet].iter_rows(), values[sheet].iter_rows(values_only=True), strict=False
            )
            for row, results in pairs:
                for cell, result in zip(row, results, strict=False):
                    if result is None and str(cell.value or "").startswith("="):
                        raise TableError(
                            f"{source.name}, sheet {sheet!r}, cell {cell.coordinate}: the formula "
                            f"{str(cell.value)[:40]!r} has no stored value",
                            "open the file in a spreadsheet program and save it, or save it as CSV",
                        )
            values.close()
        formulas.close()
