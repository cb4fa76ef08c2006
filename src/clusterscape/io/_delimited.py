"""CSV, TSV and other text: read at once where all is plain, and cell by cell where it is not.

Where pyarrow is installed and every feature is a plain number, it reads the file; both ways give
the same bits. Otherwise pandas reads, and the standard library's reader finds the line when that
fails.
"""

from __future__ import annotations

import csv
import dataclasses
import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pandas as pd

from clusterscape.io._columns import Roles, Table, Wanted, Where, plan_roles, row_names, unnamed
from clusterscape.io._errors import TableError, no_rows
from clusterscape.io._layout import WHITESPACE, Layout, Opening, opening, records
from clusterscape.io._numbers import Marks, is_plain_number, read_cells
from clusterscape.io._source import Source


@dataclass(frozen=True, eq=False)
class Read:
    """A file of text as a frame, with the words for its places."""

    frame: pd.DataFrame
    names: list[str]
    where: Where
    marks: Marks
    notes: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()  # columns with cells such as 007


def read_delimited(source: Source, *, layout: Layout, wanted: Wanted, text: bool = False) -> Read:
    """Read a file of text as a frame; ``text`` keeps every cell as text."""
    first = opening(source, layout)
    names = column_names(first)
    where = _where(source, first)
    roles = plan_roles(names, wanted, where)
    texts = {roles.ids, roles.labels}
    frame = _frame(source, first, layout=layout, texts=texts, text=text)
    notes = first.notes
    # A row of labels may be empty: a point that no clustering saw.
    empty = 0 if text else _empty_at_end(frame)
    if empty:
        # Their empty cells make columns of numbers text, so the others are read again alone.
        rows = len(frame) - empty
        frame = (
            _frame(source, first, layout=layout, texts=texts, text=text, rows=rows)
            if rows
            else frame.iloc[:0]
        )
        word = "1 row is" if empty == 1 else f"{empty:,} rows are"
        notes = (*notes, f"{word} empty at the end of the file: not read.")
    codes = leading_zeros(first, names, range(len(names)))
    return _without_trailing(Read(frame, names, where, first.marks, notes, codes), first)


def _empty_at_end(frame: pd.DataFrame) -> int:
    """Return how many rows at the end have no cell that holds anything, as spreadsheets leave."""
    filled = np.zeros(len(frame), dtype=bool)
    for p in range(frame.shape[1]):
        column = frame.iloc[:, p]
        if column.dtype.kind in "iufb":
            return 0
        filled |= [not isinstance(cell, str) or bool(cell.strip()) for cell in column]
        if filled[-1:].all():
            return 0
    return len(frame) - int(np.flatnonzero(filled).max(initial=-1)) - 1


def column_names(first: Opening) -> list[str]:
    """Return the names in the first record, or numbers from 1."""
    if not first.named:
        return [str(i + 1) for i in range(len(first.first))]
    return [name.strip() or unnamed(p) for p, name in enumerate(first.first)]


def _frame(
    source: Source,
    first: Opening,
    *,
    layout: Layout,
    texts: set[int | None],
    text: bool,
    rows: int | None = None,
) -> pd.DataFrame:
    width = len(first.first)
    try:
        with source.open_text() as stream:
            skipped = first.start
            if first.named:
                next(records(stream, first.delimiter, first.start))
                skipped = 0
            for _ in range(skipped):
                stream.readline()
            # For labels no cell is missing by decree: an empty one is found by its column.
            frame = _parse(
                stream, first, texts=texts, text=text, na=layout.na, width=width, rows=rows
            )
    except pd.errors.EmptyDataError:
        raise no_rows(source.name) from None
    except (pd.errors.ParserError, csv.Error) as error:
        _refuse_ragged(source, first)
        reason = (
            str(error).strip().splitlines()[-1].removeprefix("Error tokenizing data. C error: ")
        )
        raise TableError(
            f"{source.name} cannot be read ({reason})",
            "look for a quotation mark that is not closed",
        ) from None
    # pandas fills short rows with empty cells, which are then found in the last column.
    last = frame.iloc[:, -1]
    if frame.shape[1] != width or last.isna().any() or (last.astype(object) == "").any():
        _refuse_ragged(source, first)
    _refuse_nul(source)
    return frame


# Every digit counts; since pandas 3.1 it always does, and the option is deprecated.
_EXACT: dict[str, Any] = (
    {}
    if tuple(int(part) for part in pd.__version__.split(".")[:2]) >= (3, 1)
    else {"float_precision": "round_trip"}
)


def _parse(
    stream: IO[str],
    first: Opening,
    *,
    texts: set[int | None],
    text: bool,
    na: Sequence[str],
    width: int,
    rows: int | None = None,
) -> pd.DataFrame:
    # No cell is missing by decree: "NA" is a fine id, and an empty cell is found by its column.
    kept = {p for p in texts if p is not None}
    tokens = {p: list(na) for p in range(width) if p not in kept} if na and not text else []
    options: dict[str, Any] = {
        "sep": r"\s+" if first.delimiter == WHITESPACE else first.delimiter,
        "header": None,
        "nrows": rows,
        "dtype": str if text else dict.fromkeys(kept, str),
        "keep_default_na": False,
        "na_values": tokens,
        "low_memory": False,
        "decimal": first.marks.decimal,
    }
    return pd.read_csv(stream, **options, **_EXACT)


def _refuse_nul(source: Source) -> None:
    """Refuse NUL characters, at which numbers would be cut short."""
    with source.open() as raw:
        wide = source.text_encoding().startswith(("utf-16", "utf-32"))
        while block := raw.read(1 << 20):
            if b"\0" in block and not wide:
                raise TableError(
                    f"{source.name} holds NUL characters, as damaged files and UTF-16 read as "
                    "another encoding do",
                    "say {encoding} if it is UTF-16, or save the file again",
                    encoding="utf-16-le",
                )


def _without_trailing(read: Read, first: Opening) -> Read:
    """Leave out a last column without name and cells, as separators at the ends of lines make."""
    if not first.named or first.first[-1].strip() or len(read.names) < 2:
        return read
    last = read.frame.iloc[:, -1]
    if not (last.isna() | (last.astype(object) == "")).all():
        return read
    note = "every line ends with a separator: the empty last column is left out."
    return dataclasses.replace(
        read, frame=read.frame.iloc[:, :-1], names=read.names[:-1], notes=(*read.notes, note)
    )


# ---- where things are --------------------------------------------------------------------------


def _where(source: Source, first: Opening) -> Where:
    convention = "its line in the file, header included" if first.named else "its line in the file"

    def row(index: int) -> str:
        wanted = index + int(first.named)
        with source.open_text() as stream:
            found = records(stream, first.delimiter, first.start)
            for count, (line, _) in enumerate(found):
                if count == wanted:
                    return f"row {line} ({convention})"
        return f"row {wanted + 1} ({convention})"

    return Where(source.name, row)


def _refuse_ragged(source: Source, first: Opening) -> None:
    """Raise for the first row that does not have as many fields as the first one."""
    width = len(first.first)
    with source.open_text() as stream:
        for count, (line, fields) in enumerate(records(stream, first.delimiter, first.start)):
            if len(fields) == width:
                continue
            _ragged(source, first, line, fields, count)


def _ragged(source: Source, first: Opening, line: int, fields: Sequence[str], count: int) -> None:
    width = len(first.first)
    options: dict[str, Any] = {}
    hint = ""
    remedy = (
        "give every row the same number, and put quotation marks around text that holds the "
        f"separator {first.delimiter!r}"
    )
    if count == 1 and len(fields) == width + 1:
        trailing = not fields[-1].strip()
        hint = (
            " (the rows end with a separator, and the first one does not)"
            if trailing
            else " (the header may lack a name for the first column)"
        )
    elif width == 1:
        remedy += "; if the lines above are a title, skip them with {skip}"
        options["skip"] = str(line - 1)
    raise TableError(
        f"{source.name}, row {line} (its line in the file), has {_fields(len(fields))} "
        f"where the first row has {width}{hint}",
        remedy,
        **options,
    )


def _fields(count: int) -> str:
    return "1 field" if count == 1 else f"{count} fields"


# ---- at once -----------------------------------------------------------------------------------

_CELLS_TRIED = 20_000  # before pyarrow reads


def read_plain(source: Source, *, layout: Layout, wanted: Wanted) -> Table | None:
    """Return the table where every feature is a plain number; None where that is not so."""
    usable = importlib.util.find_spec("pyarrow") is not None and not layout.na
    if not usable or source.text_encoding() != "utf-8-sig":
        return None
    first = opening(source, layout)
    names = column_names(first)
    if not first.sample or first.marks != Marks() or first.delimiter == WHITESPACE:
        return None
    if first.named and not first.first[-1].strip():
        return None
    where = _where(source, first)
    roles = plan_roles(names, wanted, where)
    roles = _with_text_ids(roles, names, first)
    # pyarrow refuses other cells itself; these few spare it files that are not plain at all.
    few = first.sample[: max(3, _CELLS_TRIED // len(names))]
    if not roles.features or not all(
        is_plain_number(row[p].strip(), ".")
        for row in few
        for p in roles.features
        if len(row) == len(names)
    ):
        return None
    columns = _plain_columns(source, first, roles)
    return None if columns is None else _plain_table(columns, names, roles, where, first)


def _with_text_ids(roles: Roles, names: Sequence[str], first: Opening) -> Roles:
    """Take the first column as ids, where it is words; whether they differ is seen later."""
    free = roles.ids is None and roles.labels != 0
    free &= 0 not in roles.features if roles.chosen else 0 in roles.features
    cells = [row[0].strip() for row in first.sample if row]
    if not free or not all(
        cell and not cell[0].isdigit() and cell[0] != "'" and cell.isascii() for cell in cells
    ):
        return roles
    note = f"column {names[0]!r} holds text, different in every row: it is taken as the ids."
    others = tuple(p for p in roles.features if p != 0)
    return Roles(0, roles.labels, others, roles.chosen, (*roles.notes, note), words=True)


def _arrow_batches(source: Source, first: Opening, roles: Roles) -> Iterator[Any]:
    """Yield the columns that are used, features first, block of rows by block of rows."""
    import pyarrow
    from pyarrow import csv as arrow_csv

    keys = [str(p) for p in range(len(first.first))]
    used = [*roles.features, *(p for p in (roles.ids, roles.labels) if p is not None)]
    types = {keys[p]: pyarrow.float64() for p in roles.features}
    types |= {keys[p]: pyarrow.string() for p in used if p not in roles.features}
    plain = source.path is not None and not source.gzipped
    with source.open() as opened:
        reader = arrow_csv.open_csv(
            str(source.path) if plain else opened,
            read_options=arrow_csv.ReadOptions(
                column_names=keys,
                skip_rows=first.start,
                skip_rows_after_names=int(first.named),
                block_size=_block_size(first),
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=first.delimiter, newlines_in_values=True
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=[keys[p] for p in used],
                null_values=[],
                strings_can_be_null=False,
            ),
        )
        with reader:
            yield from reader


def _block_size(first: Opening) -> int:
    """Return the bytes of a block of text: pyarrow holds some forty of them, and each whole rows.

    At least eight of the rows seen fit into one, because a row that is longer than a block cannot
    be read.
    """
    longest = max(sum(map(len, row)) + 3 * len(row) for row in first.sample)
    return max(1 << 18, 8 * longest)


def _plain_columns(
    source: Source, first: Opening, roles: Roles
) -> tuple[np.ndarray, dict[int, pd.Series]] | None:
    """Return the features, and ids and labels as text; None where a cell is no plain number.

    Blocks of rows are read and let go one by one, into a matrix that is made for as many rows as
    the file should have by its size; memory that is not filled is not taken.
    """
    import pyarrow

    width = len(roles.features)
    others = [p for p in (roles.ids, roles.labels) if p is not None]
    X, n = np.empty((_expected_rows(source, first), width)), 0
    texts: dict[int, list[pd.Series]] = {p: [] for p in others}
    try:
        for batch in _arrow_batches(source, first, roles):
            stop = n + batch.num_rows
            if stop > len(X):
                larger = np.empty((max(stop, 2 * len(X)), width))
                larger[:n] = X[:n]
                X = larger
            for j in range(width):
                X[n:stop, j] = batch.column(j).to_numpy()
            n = stop
            for k, p in enumerate(others):
                texts[p].append(batch.column(width + k).to_pandas())
    except (pyarrow.ArrowException, ValueError):
        return None
    if n == 0:
        return None
    return X[:n], {p: pd.concat(parts, ignore_index=True) for p, parts in texts.items()}


def _expected_rows(source: Source, first: Opening) -> int:
    """Return a few more rows than the file should have by its size and its first rows."""
    if source.path is None or source.gzipped:
        return 10_000
    sizes = [sum(map(len, row)) + len(row) for row in first.sample]
    return int(1.1 * source.path.stat().st_size * len(sizes) / max(1, sum(sizes))) + 100


def _plain_table(
    columns: tuple[np.ndarray, dict[int, pd.Series]],
    names: Sequence[str],
    roles: Roles,
    where: Where,
    first: Opening,
) -> Table | None:
    """Finish a table of plain numbers."""
    X, texts = columns
    with np.errstate(all="ignore"):
        if not np.isfinite(X.sum()) and not np.isfinite(X).all():
            return None  # a sentence about the cell is found by the other way
    ids = None
    if roles.ids is not None:
        values = texts[roles.ids].astype(object)
        if roles.words and (values.duplicated().any() or read_cells(values).kind != "text"):
            return None
        ids = row_names(pd.DataFrame({0: values}), [names[roles.ids]], position=0, where=where)
    labels = None if roles.labels is None else texts[roles.labels].to_numpy(dtype=object)
    used = {roles.ids, roles.labels, *roles.features}
    return Table(
        X,
        ids,
        tuple(names[p] for p in roles.features),
        where.name,
        labels,
        (*first.notes, *roles.notes),
        None if roles.ids is None else names[roles.ids],
        tuple(name for p, name in enumerate(names) if p not in used),
        codes=leading_zeros(first, names, roles.features),
    )


def leading_zeros(first: Opening, names: Sequence[str], features: Sequence[int]) -> tuple[str, ...]:
    """Return the columns with cells such as 007, which are codes rather than numbers."""
    found = []
    for p in features:
        cells = [row[p].strip() for row in first.sample if p < len(row)]
        if any(len(c) > 1 and c.isdecimal() and c[0] == "0" for c in cells):
            found.append(names[p])
    return tuple(found)
