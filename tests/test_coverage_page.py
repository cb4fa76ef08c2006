"""The coverage page is true: every item is there once, and what it points at exists."""

from __future__ import annotations

import ast
import importlib
import re
from typing import Any, NamedTuple

import pytest

from sources import ROOT

PAGE = ROOT / "docs" / "coverage.md"
# The checklists of the five papers: prefix and number of items.
CHECKLISTS = {"CF": 31, "SC": 23, "SE": 25, "DI": 79, "FC": 28}
NOTHING = "–"


class Row(NamedTuple):
    """One row of the page."""

    id: str
    item: str
    code: str
    test: str
    benchmark: str
    status: str
    remark: str


def rows(text: str) -> list[Row]:
    """Return the rows of the page's tables."""
    found = []
    for line in text.splitlines():
        if re.match(r"\| *[A-Z]{2}-\d\d *\|", line):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            found.append(Row(*cells))
    return found


ROWS = rows(PAGE.read_text(encoding="utf8"))
each_row = pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])


def test_every_item_is_on_the_page_once() -> None:
    expected = [f"{p}-{i:02d}" for p, count in CHECKLISTS.items() for i in range(1, count + 1)]
    assert [row.id for row in ROWS] == expected


def names(cell: str) -> list[str]:
    """Return what a cell names in backticks; a cell without any must say that it is empty."""
    found = re.findall(r"`([^`]+)`", cell)
    assert found or cell == NOTHING, f"write {NOTHING} or a name in backticks, not {cell!r}"
    return found


def resolve(path: str) -> Any:
    """Return the object that a dotted name means."""
    parts = path.split(".")
    assert parts[0] == "clusterscape", f"{path}: write the full name"
    value: Any = importlib.import_module(parts[0])
    for i, part in enumerate(parts[1:], start=2):
        try:
            value = getattr(value, part)
        except AttributeError:
            value = importlib.import_module(".".join(parts[:i]))
    return value


def names_in(path: str) -> set[str]:
    """Return the functions and classes that a test file defines."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf8"))
    return {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}


@each_row
def test_a_row_points_at_things_that_exist(row: Row) -> None:
    for name in names(row.code):
        resolve(name)
    for name in names(row.test):
        path, _, test = name.partition("::")
        assert (ROOT / path).is_file(), f"{path} does not exist"
        assert path.startswith("tests/test_")
        assert not test or test in names_in(path), f"{path} has no {test}"
    for name in names(row.benchmark):
        assert (ROOT / name).is_file(), f"{name} does not exist"
        assert name.startswith("benchmarks/")


@each_row
def test_a_row_claims_no_more_than_it_shows(row: Row) -> None:
    assert row.item
    assert row.status in ("done", "open")
    kind = row.item.split(":")[0]
    if row.status == "done" and kind in ("experiment", "plot", "defaults"):
        # A paper's table, figure or setting is shown by the program that prints or draws it.
        assert names(row.benchmark) or names(row.test), "done: what shows it?"
    elif row.status == "done":
        assert names(row.code) or names(row.benchmark), "done: which code?"
        assert names(row.test), "done: which test shows it?"


def test_the_summary_counts_the_rows() -> None:
    done = sum(row.status == "done" for row in ROWS)
    assert f"{done} of {len(ROWS)} items are done" in PAGE.read_text(encoding="utf8")


def test_wrong_names_are_noticed() -> None:
    with pytest.raises((AttributeError, ImportError), match="NoSuchMethod"):
        resolve("clusterscape.combine.NoSuchMethod")
    with pytest.raises(AssertionError, match="in backticks"):
        names("clusterscape.combine")
