"""The tables that the benchmarks printed, read out of ``benchmarks/RESULTS.md``.

A printed table is a line of column names, a line of dashes and rows; the dashes say where the
columns are. Nothing here needs Sphinx.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"


class ResultsError(ValueError):
    """What a page asks for is not in the results."""


class Printed(NamedTuple):
    """A table as it was printed: names of the columns, and rows of texts."""

    heads: list[str]
    rows: list[list[str]]

    def column(self, name: str) -> int:
        """Return the place of a column."""
        if name not in self.heads:
            raise ResultsError(f"no column {name!r}; there are {self.heads}")
        return self.heads.index(name)

    def row(self, name: str) -> list[str]:
        """Return the row that begins with a name."""
        found = [row for row in self.rows if row[0] == name]
        if not found:
            raise ResultsError(f"no row {name!r}; there are {[row[0] for row in self.rows]}")
        return found[0]


def section(program: str, text: str | None = None) -> str:
    """Return what the results say of a program."""
    text = RESULTS.read_text(encoding="utf8") if text is None else text
    parts = text.split(f"\n## {program}\n")
    if len(parts) != 2:
        raise ResultsError(f"the results have {len(parts) - 1} sections '## {program}'")
    return parts[1].split("\n## ")[0]


def tables(text: str) -> list[Printed]:
    """Return all printed tables of a text, in their order."""
    lines, found = text.splitlines(), []
    for at, rule in enumerate(lines):
        if at and re.fullmatch(r"-+(  -+)+", rule):
            spans = [match.span() for match in re.finditer("-+", rule)]
            head = lines[at - 1]
            # The first line of a block has lost the spaces in front of it.
            lost = len(re.split(r"\s{2,}", head)) == len(spans) - 1
            cells = _cells(head.rjust(len(rule)) if lost else head, spans)
            found.append(Printed(cells or [], _rows(lines[at + 1 :], spans)))
    return found


def _rows(lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[list[str]]:
    rows = []
    for at, line in enumerate(lines):
        cells = _cells(line, spans)
        ends = at + 1 < len(lines) and lines[at + 1].startswith("---")
        if cells is None or not any(cells[1:]) or ends:
            break
        rows.append(cells)
    return rows


def _cells(line: str, spans: Sequence[tuple[int, int]]) -> list[str] | None:
    """Return the cells of a line, or None where a text runs across the columns."""
    gaps = [line[left:right] for (_, left), (right, _) in zip(spans, spans[1:], strict=False)]
    if len(line) > spans[-1][1] or any(gap.strip() for gap in gaps):
        return None
    return [line[start:end].strip() for start, end in spans]


def table(program: str, first: str, text: str | None = None) -> Printed:
    """Return the first table of a program whose line of names, spaces aside, begins so."""
    for found in tables(section(program, text)):
        if " ".join(" ".join(found.heads).split()).startswith(" ".join(first.split())):
            return found
    raise ResultsError(f"no table of {program} begins with {first!r}")


def said(program: str, part: str, text: str | None = None) -> str:
    """Return the first line printed by a program that has a text in it."""
    for line in section(program, text).splitlines():
        if part in line:
            return line.strip()
    raise ResultsError(f"no line of {program} has {part!r}")


def pairs(text: str) -> list[tuple[str, str]]:
    """Return names and what stands for them on the page, of ``a; b as c``.

    >>> pairs("all; shapes as 19 shapes")
    [('all', 'all'), ('shapes', '19 shapes')]
    """
    split = [part.strip().partition(" as ") for part in text.split(";") if part.strip()]
    return [(name.strip(), other.strip() or name.strip()) for name, _, other in split]


def rounded(cell: str, decimals: int) -> str:
    """Return a cell whose numbers have at most so many decimals.

    >>> rounded("0.996 (12764)", 2)
    '1.00 (12764)'
    """
    long = rf"\d+\.\d{{{decimals + 1},}}(?!e)"
    return re.sub(long, lambda match: f"{float(match[0]):.{decimals}f}", cell)


def chosen(
    printed: Printed, rows: str = "", columns: str = "", decimals: int | None = None
) -> list[list[str]]:
    """Return the lines of the table on the page, the names of the columns first.

    A column may be the mean of several, written ``a & b as name``.
    """
    wanted = pairs(columns) or [(head, head) for head in printed.heads[1:]]
    taken = [(printed.row(name), shown) for name, shown in pairs(rows)]
    made = [["", *(shown for _, shown in wanted)]]
    for row, shown in taken or [(row, row[0]) for row in printed.rows]:
        cells = [_cell(printed, row, column) for column, _ in wanted]
        made.append([shown, *(c if decimals is None else rounded(c, decimals) for c in cells)])
    return made


def _cell(printed: Printed, row: list[str], column: str) -> str:
    parts = [row[printed.column(name.strip())] for name in column.split(" & ")]
    if len(parts) == 1:
        return parts[0]
    return f"{sum(float(part) for part in parts) / len(parts):.6f}"
