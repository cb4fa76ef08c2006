"""How a file of text is written: encoding, separator, decimal mark, what stands before the table.

What is not given is found from the first lines, and said.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Literal

from clusterscape.io._errors import TableError
from clusterscape.io._numbers import Marks, comma_evidence, doubtful_point, is_plain_number
from clusterscape.io._source import TEXT_COLUMNS, Source, check_width

Header = bool | Literal["auto"]
WHITESPACE = " "  # any number of spaces and tabs
_CANDIDATES = (",", ";", "\t", "|")
_WORDS = {"\t": "tabs", ";": "semicolons", "|": "'|'", ",": "commas", " ": "spaces"}
_LOOKED_AT = 200  # lines
_CELLS_LOOKED_AT = 200_000  # where a point may be either mark


@dataclass(frozen=True)
class Layout:
    """What the caller said of a file of text or of a spreadsheet; None is found out."""

    delimiter: str | None = None
    header: Header = "auto"
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] = ()
    sheet: str | None = None
    skip: int = 0

    def checked(self) -> Layout:
        """Return it with the delimiter as one character; refuse values that cannot be."""
        mark = {"tab": "\t", "\\t": "\t", "space": " ", "whitespace": " "}.get(
            self.delimiter or "", self.delimiter
        )
        if mark is not None and (len(mark) != 1 or mark in '"\r\n'):
            raise TableError(
                f"the delimiter must be one character; got {self.delimiter!r}",
                "for tabs say {delimiter}",
                delimiter="tab",
            )
        if self.decimal not in (None, ".", ","):
            raise TableError(
                f"the decimal mark must be '.' or ','; got {self.decimal!r}",
                "say {decimal}",
                decimal=",",
            )
        if self.thousands is not None and (
            len(self.thousands) != 1 or self.thousands.isalnum() or self.thousands == self.decimal
        ):
            raise TableError(
                "the mark between thousands must be one character that is not the decimal mark; "
                f"got {self.thousands!r}",
                "say {thousands}",
                thousands=",",
            )
        if self.skip < 0:
            raise TableError(
                f"lines to skip must be 0 or more; got {self.skip}", "say {skip}", skip="1"
            )
        return Layout(
            mark, self.header, self.decimal, self.thousands, self.na, self.sheet, self.skip
        )


@dataclass(frozen=True)
class Opening:
    """What the first lines say of the whole file."""

    delimiter: str
    start: int  # lines before the table: skipped ones and comments
    named: bool
    first: list[str]  # the first record
    marks: Marks
    sample: list[list[str]]  # the records after the names
    notes: tuple[str, ...] = ()


def records(stream: IO[str], delimiter: str, start: int = 0) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of each record that is not blank, as pandas counts them."""
    for _ in range(start):
        stream.readline()
    # readline, not iteration, so that the stream stands right behind the record just read.
    lines: Iterable[str] = iter(stream.readline, "")
    if delimiter == WHITESPACE:
        lines = (line.strip().replace("\t", " ") + "\n" for line in lines)
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == WHITESPACE)
    line = start + 1
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield line, fields
        line = start + reader.line_num + 1


def opening(source: Source, layout: Layout) -> Opening:
    """Look at the first lines: where the table begins, what separates it, whether it has names."""
    with source.open_text() as stream:
        lines = _first_lines(stream)
    _refuse_nul(lines, source)
    start, notes = _start(lines, layout)
    lines = lines[start:]
    delimiter = layout.delimiter or _found_delimiter(lines, source)
    default = {"tsv": "\t"}.get(source.format, ",")
    if layout.delimiter is None and delimiter != default and source.format != "txt":
        notes.append(f"the columns are separated by {_WORDS[delimiter]}.")
    rows = _parsed(lines, delimiter, len(lines) < _LOOKED_AT)
    if not rows:
        raise TableError(f"{source.name} is empty", "give a file with a table in it")
    first = rows[0]
    check_width(source, len(first), TEXT_COLUMNS)
    _wrong_delimiter(first, delimiter, source)
    named = _has_header(first, source) if layout.header == "auto" else layout.header
    if not named and layout.header == "auto":
        notes.append("the first row is all numbers: it is data, and columns go by number.")
    sample = rows[1:] if named else rows
    marks, more = _marks(sample, layout, source)
    found = Opening(delimiter, start, named, first, marks, sample, (*notes, *more))
    if layout.decimal is None and marks == Marks():
        _refuse_doubtful_points(found, source, whole=len(lines) + start < _LOOKED_AT)
    return found


def _first_lines(stream: IO[str]) -> list[str]:
    lines = []
    for line in iter(stream.readline, ""):
        lines.append(line)
        if len(lines) >= _LOOKED_AT:
            break
    return lines


def _refuse_nul(lines: Sequence[str], source: Source) -> None:
    for number, line in enumerate(lines, start=1):
        if "\0" in line:
            raise TableError(
                f"{source.name}, row {number} (its line in the file), holds a NUL character, as "
                "UTF-16 read as another encoding or a damaged file does",
                "say {encoding} if it is UTF-16, or save the file again",
                encoding="utf-16-le",
            )


# What spreadsheet programs write before the table for one another.
_HINT = re.compile(r"sep=[^\w\s]?|sep=\t", re.IGNORECASE)


def _start(lines: Sequence[str], layout: Layout) -> tuple[int, list[str]]:
    """Return the number of lines before the table, and what is said of them."""
    start, comments = min(layout.skip, len(lines)), 0
    if start + 1 < len(lines) and _HINT.fullmatch(lines[start].strip('\n\r"')):
        return start + 1, [f"the line {lines[start].strip()!r} before the table: not read."]
    for line in lines[start:]:
        if not line.startswith("#"):
            break
        comments += 1
    if not comments or start + comments >= len(lines):
        return start, []
    # A last line with as many fields as the next one holds the names of the columns.
    last, following = lines[start + comments - 1], lines[start + comments]
    marks = [layout.delimiter] if layout.delimiter else [*_CANDIDATES, WHITESPACE]
    if any(m in following and last.count(m) == following.count(m) for m in marks):
        comments -= 1
    if not comments:
        return start, []
    word = "1 line that begins" if comments == 1 else f"{comments} lines that begin"
    return start + comments, [f"{word} with '#' before the table: not read."]


def _parsed(lines: Sequence[str], delimiter: str, whole: bool) -> list[list[str]]:
    """Return the records; the last one may be cut where there are more lines."""
    text = iter(lines)

    class _Stream:
        def readline(self) -> str:
            return next(text, "")

    try:
        found = [fields for _, fields in records(_Stream(), delimiter)]  # type: ignore[arg-type]
    except csv.Error:
        return []
    return found if whole or len(found) < 2 else found[:-1]


def _found_delimiter(lines: Sequence[str], source: Source) -> str:
    """Return what separates the columns: the mark by which all rows are equally long."""
    default = {"tsv": "\t", "txt": "\t"}.get(source.format, ",")
    best, best_score = default, (0, 0.0, 0)
    candidates = [*_CANDIDATES, *([WHITESPACE] if source.format == "txt" else [])]
    for mark in candidates:
        rows = _parsed(lines, mark, len(lines) < _LOOKED_AT)
        widths = {len(row) for row in rows}
        if len(widths) != 1 or widths == {1}:
            continue
        cells = [cell.strip() for row in rows[1:] or rows for cell in row]
        numeric = sum(is_plain_number(cell, ".") or is_plain_number(cell, ",") for cell in cells)
        score = (1, numeric / len(cells), int(mark == default))
        if score > best_score:
            best, best_score = mark, score
    return best


def _wrong_delimiter(first: Sequence[str], delimiter: str, source: Source) -> None:
    other = max(";\t|,", key=lambda mark: first[0].count(mark))
    if len(first) == 1 and other != delimiter and other in first[0]:
        word = "tabs" if other == "\t" else repr(other)
        raise TableError(
            f"{source.name}: every row is one field, and the first one holds {word}",
            "if that is what separates the columns, say {delimiter}",
            delimiter="tab" if other == "\t" else other,
        )


# ---- names -------------------------------------------------------------------------------------


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return is_plain_number(text, ",")
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


# ---- decimal marks -----------------------------------------------------------------------------


def _marks(
    sample: Sequence[Sequence[str]], layout: Layout, source: Source
) -> tuple[Marks, list[str]]:
    """Return the decimal mark and the mark between thousands, or refuse where both can be meant."""
    if layout.decimal is not None:
        return Marks(layout.decimal, layout.thousands), []
    seen = comma_evidence(cell.strip() for row in sample for cell in row)
    if layout.thousands is not None:
        return Marks("." if layout.thousands == "," else ",", layout.thousands), []
    if seen.decimal_comma and seen.decimal_point:
        raise TableError(
            f"{source.name}: {seen.decimal_comma!r} has a decimal comma and "
            f"{seen.decimal_point!r} a decimal point, so that it is not known which one is meant",
            "write all numbers alike, or say {decimal} if the other cells are no numbers",
            decimal=",",
        )
    if seen.decimal_comma:
        notes = ["numbers are written with a decimal comma."]
        thousands = "." if seen.grouped_point else None
        if thousands:
            notes.append(f"'.' is the mark between thousands, as in {seen.grouped_point!r}.")
        return Marks(",", thousands), notes
    if seen.grouped_comma and not (seen.sure_groups or seen.decimal_point):
        raise TableError(
            f"{source.name}: {seen.grouped_comma!r} may have a decimal comma or a comma between "
            "thousands, and no other number says which",
            "say {decimal} or {thousands}",
            decimal=",",
            thousands=",",
        )
    if seen.grouped_comma:
        note = f"',' is the mark between thousands, as in {seen.grouped_comma!r}."
        return Marks(".", ","), [note]
    return Marks(".", None), []


def _refuse_doubtful_points(found: Opening, source: Source, *, whole: bool) -> None:
    """Refuse points that may stand between thousands, where no number of the file says which."""
    sample: Sequence[Sequence[str]] = found.sample
    seen = comma_evidence(cell.strip() for row in sample for cell in row)
    if seen.grouped_point and not seen.decimal_point and not whole:
        # Rows are often sorted, so that the first ones hold no number below 1000.
        sample = _further(found, source)
        seen = comma_evidence(cell.strip() for row in sample for cell in row)
    if seen.decimal_point or not seen.grouped_point:
        return
    names = found.first if found.named else ()
    for p in range(max(map(len, sample), default=0)):
        pair = doubtful_point(row[p].strip() for row in sample if p < len(row))
        if pair is None:
            continue
        name = names[p].strip() if p < len(names) and names[p].strip() else str(p + 1)
        raise TableError(
            f"{source.name}, column {name!r}: {pair[0]!r} may have a decimal point or a point "
            f"between thousands, as {pair[1]!r} stands beside it and no other number says which",
            "say {decimal} for decimals, or {thousands} for thousands",
            decimal=".",
            thousands=".",
        )


def _further(found: Opening, source: Source) -> list[list[str]]:
    """Return the records after the names, more than the first lines hold."""
    most = max(len(found.sample), _CELLS_LOOKED_AT // len(found.first))
    with source.open_text() as stream:
        rows = (fields for _, fields in records(stream, found.delimiter, found.start))
        try:
            return list(itertools.islice(rows, int(found.named), most))
        except csv.Error:
            return found.sample  # what is wrong is said where the rows are read
