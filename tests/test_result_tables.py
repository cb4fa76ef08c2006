"""The page on quality takes its tables out of the benchmark results, and each is there."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import pytest

from sources import ROOT


def _module() -> Any:
    path = ROOT / "docs" / "_ext" / "results_text.py"
    spec = importlib.util.spec_from_file_location("results_text", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


text = _module()

TEXT = """
## speed/one.py

words

```
CPU s  peak MB
---------  -----  -------
one, n=10   1.01      330
two         2.50
12 of 12 bars: reached
what       ARI    all
-------  -----  -----
default  0.996  0.125
other    0.500  0.500
7 bars
```

## speed/two.py
"""


def directives() -> list[tuple[str, dict[str, str]]]:
    """Return the program and the options of each table of the page."""
    page = (ROOT / "docs" / "guide" / "how-good.md").read_text(encoding="utf8")
    found = re.findall(r"^```\{results\} (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return [(program, dict(re.findall(r"^:(\w+): (.*)$", body, re.M))) for program, body in found]


def test_tables_are_read_by_their_dashes() -> None:
    first, second = text.tables(text.section("speed/one.py", TEXT))
    assert first.heads == ["", "CPU s", "peak MB"]
    assert first.rows == [["one, n=10", "1.01", "330"], ["two", "2.50", ""]]
    assert second.rows == [["default", "0.996", "0.125"], ["other", "0.500", "0.500"]]


def test_rows_and_columns_get_the_names_of_the_page() -> None:
    table = text.table("speed/one.py", "what  ARI", TEXT)
    made = text.chosen(
        table, rows="other; default as ours", columns="all; ARI & all as mean", decimals=2
    )
    assert made == [["", "all", "mean"], ["other", "0.50", "0.50"], ["ours", "0.12", "0.56"]]
    assert text.said("speed/one.py", "of 12 bars", TEXT) == "12 of 12 bars: reached"


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda: text.section("speed/no.py", TEXT), "0 sections"),
        (lambda: text.table("speed/one.py", "nothing", TEXT), "no table"),
        (lambda: text.said("speed/one.py", "nothing", TEXT), "no line"),
        (lambda: text.chosen(text.table("speed/one.py", "what", TEXT), rows="x"), "no row"),
        (lambda: text.chosen(text.table("speed/one.py", "what", TEXT), columns="x"), "no column"),
    ],
)
def test_what_is_not_in_the_results_is_an_error(ask: Any, match: str) -> None:
    with pytest.raises(text.ResultsError, match=match):
        ask()


def test_every_table_of_the_page_is_in_the_results() -> None:
    found = directives()
    assert len(found) > 12
    for program, options in found:
        assert (ROOT / "benchmarks" / program).exists(), program
        if "table" in options:
            table = text.table(program, options["table"])
            made = text.chosen(table, options.get("rows", ""), options.get("columns", ""))
            assert len(made) > 1, program
            assert all(any(line[1:]) for line in made), program
        for part in options.get("lines", "").split(";"):
            assert not part or text.said(program, part.strip())


def test_the_page_has_no_table_of_its_own() -> None:
    page = (ROOT / "docs" / "guide" / "how-good.md").read_text(encoding="utf8")
    assert not re.search(r"^\|", page, re.MULTILINE)


def test_every_measure_and_clusterer_has_its_formula_page() -> None:
    from clusterscape.compare import MEASURES
    from clusterscape.generate import ALGORITHMS

    folder = ROOT / "docs" / "methods"
    measures = (folder / "measures.md").read_text(encoding="utf8")
    assert set(re.findall(r"clusterscape\.compare\.(\w+)", measures)) == set(MEASURES)
    members = (folder / "members.md").read_text(encoding="utf8")
    titles = " ".join(re.findall(r"^## .*`$", members, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", titles)) == set(ALGORITHMS)
