"""CSV and TSV: pandas reads, and the standard library's reader finds the line when it fails."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from typing import IO, Literal

import pandas as pd

from clusterscape.io._columns import Wanted, Where, plan_roles, unnamed
from clusterscape.io._errors import TableError
from clusterscape.io._source import TEXT_COLUMNS, Source, check_width

Header = bool | Literal["auto"]


def _records(stream: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of each record that is not blank, as pandas counts them."""
    # readline, not iteration, so that the stream stands right behind the record just read.
    reader = csv.reader(iter(stream.readline, ""), delimiter=delimiter)
    line = 1
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield line, fields
        line = reader.line_num + 1


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def _counts_up(fields: Sequence[str]) -> bool:
    """Say whether the fields are 0, 1, 2, ... or 1, 2, 3, ..., as programs name columns."""
    starts = ([str(i + start) for i in range(len(fields))] for start in (0, 1))
    return len(fields) > 1 and list(fields) in starts


def _has_header(first: Sequence[str], source: Source) -> bool:
    """Decide whether the first record holds names; refuse to guess where a row could be lost."""
    fields = [field.strip() for field in first]
    numeric = [_is_number(field) for field in fields]
    named_id = fields[0].lower() == "id" or (fields[0] == "" and _counts_up(fields[1:]))
    if not any(numeric) or (named_id and len(fields) > 1):
        return True
    if all(numeric) and not _counts_up(fields):
        return False
    reason = "numbers that count up" if all(numeric) else "both names and numbers"
    shown = ", ".join(fields[:4]) + (", ..." if len(fields) > 4 else "")
    raise TableError(
        f"{source.name}: the first row has {reason} ({shown})",
        "say {header} if it holds the column names, or {header__no} if it is data",
        header=True,
        header__no=False,
    )


def _wrong_delimiter(first: Sequence[str], delimiter: str, source: Source) -> None:
    other = max(";\t|,", key=lambda mark: first[0].count(mark))
    if len(first) == 1 and other != delimiter and other in first[0]:
        word = "tabs" if other == "\t" else repr(other)
        raise TableError(
            f"{source.name}: every row is one field, and the first one holds {word}",
            "if that is what separates the columns, say {delimiter}",
            delimiter="tab" if other == "\t" else other,
        )


def read_delimited(
    source: Source, *, delimiter: str, header: Header, wanted: Wanted, text: bool = False
) -> tuple[pd.DataFrame, list[str], Where, tuple[str, ...]]:
    """Return (frame, column names, words for places, notes); ``text`` keeps every cell as text."""
    notes: list[str] = []
    try:
        with source.open_text() as stream:
            _, first = next(_records(stream, delimiter), (0, []))
            if not first:
                raise TableError(f"{source.name} is empty")
            check_width(source, len(first), TEXT_COLUMNS)
            _wrong_delimiter(first, delimiter, source)
            named = _has_header(first, source) if header == "auto" else header
            names = _names_of(first) if named else [str(i + 1) for i in range(len(first))]
            if not named and header == "auto":
                notes.append("the first row is all numbers: it is data, and columns go by number.")
            where = _where(source, delimiter, named)
            roles = plan_roles(names, wanted, where)
            if named:
                frame = _parse(stream, delimiter, {roles.ids, roles.labels}, text)
        if not named:
            with source.open_text() as stream:
                frame = _parse(stream, delimiter, {roles.ids, roles.labels}, text)
    except pd.errors.EmptyDataError:
        raise TableError(f"{source.name} has column names but no rows of data") from None
    except (pd.errors.ParserError, csv.Error) as error:
        _refuse_ragged(source, delimiter, len(first))
        reason = (
            str(error).strip().splitlines()[-1].removeprefix("Error tokenizing data. C error: ")
        )
        raise TableError(
            f"{source.name} cannot be read ({reason})",
            "look for a quotation mark that is not closed",
        ) from None
    # pandas fills short rows with empty cells, so the last column betrays them.
    last = frame.iloc[:, -1]
    if frame.shape[1] != len(first) or last.isna().any() or (last.astype(object) == "").any():
        _refuse_ragged(source, delimiter, len(first))
    return frame, names, where, tuple(notes)


def _parse(stream: IO[str], delimiter: str, texts: set[int | None], text: bool) -> pd.DataFrame:
    # No cell is missing by decree: "NA" is a fine id, and an empty cell is found by its column.
    return pd.read_csv(
        stream,
        sep=delimiter,
        header=None,
        dtype=str if text else {p: str for p in texts if p is not None},
        keep_default_na=False,
        na_values=[],
        low_memory=False,
        float_precision="round_trip",
    )


def _names_of(first: Sequence[str]) -> list[str]:
    return [name.strip() or unnamed(p) for p, name in enumerate(first)]


def _where(source: Source, delimiter: str, named: bool) -> Where:
    convention = "its line in the file, header included" if named else "its line in the file"

    def row(index: int) -> str:
        wanted = index + int(named)
        with source.open_text() as stream:
            for count, (line, _) in enumerate(_records(stream, delimiter)):
                if count == wanted:
                    return f"row {line} ({convention})"
        return f"row {wanted + 1} ({convention})"

    return Where(source.name, row)


def _refuse_ragged(source: Source, delimiter: str, width: int) -> None:
    """Raise for the first row that does not have as many fields as the first one."""
    with source.open_text() as stream:
        for count, (line, fields) in enumerate(_records(stream, delimiter)):
            if len(fields) == width:
                continue
            hint = ""
            if count == 1 and len(fields) == width + 1:
                hint = " (the header may lack a name for the first column)"
            raise TableError(
                f"{source.name}, row {line} (its line in the file), has {_fields(len(fields))} "
                f"where the first row has {width}{hint}",
                "give every row the same number, and put quotation marks around text that holds "
                f"the separator {delimiter!r}",
            )


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"
