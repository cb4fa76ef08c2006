"""Messy tables go through ``info`` and ``run``: a right answer or a sentence, nothing between."""

from __future__ import annotations

import io
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("openpyxl")

from clusterscape.cli import inputs
from clusterscape.cli.app import app
from clusterscape.io import TableError, read_labels, read_table
from messy_tables import TABLES, Messy, xlsx

each_table = pytest.mark.parametrize("name", TABLES)
# As little work as a run can be: what is clustered is looked at where it is handed over.
QUICK = ("-k", "2", "-r", "2", "--generator", "restarts", "--references", "0", "--scale", "none")


def placed(messy: Messy, folder: Path) -> Path:
    path = folder / messy.name
    path.write_bytes(messy.content)
    return path


def handed(messy: Messy, path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return the command's result, and the features that were handed to the model, if any."""
    seen = {}

    def fitted(model, table, before, *, jobs):
        seen["X"] = inputs.transformed(table, before)
        seen["table"] = table
        raise ValueError("the table was read.")

    monkeypatch.setattr(inputs, "fitted", fitted)
    words = ["run", str(path), "-o", str(path.parent / "out"), *QUICK, *messy.options]
    done = CliRunner().invoke(app, words)
    return done, seen


def test_there_are_at_least_sixty_tables() -> None:
    assert len(TABLES) >= 60


@each_table
def test_run_reads_it_right_or_says_why_not(name: str, tmp_path: Path, monkeypatch) -> None:
    messy = TABLES[name]
    done, seen = handed(messy, placed(messy, tmp_path), monkeypatch)
    last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
    assert done.exit_code in (1, 2), done.output
    assert "unexpected error" not in done.stderr
    if messy.refused:
        assert not seen, f"read as {seen.get('X')}"
        flat = re.sub(r"\s+", " ", re.sub(r"[│╭╮╰╯─]", " ", done.stderr))
        assert re.search(messy.refused, flat), done.stderr
        return
    assert last == "clusterscape: the table was read.", done.stderr
    table, X = seen["table"], np.asarray(seen["X"])
    assert table.n_points == messy.n_points
    names = list(table.feature_names)
    for column, values in messy.columns.items():
        assert column in names
        assert np.allclose(X[:, names.index(column)], np.asarray(values, float), rtol=1e-12), column
    for words in messy.says:
        assert words in done.stderr, f"{words!r} is not said in: {done.stderr}"


@each_table
def test_info_describes_it_or_says_why_not(name: str, tmp_path: Path) -> None:
    messy = TABLES[name]
    layout = [
        w
        for flag, value in zip(messy.options[::2], messy.options[1::2], strict=True)
        if flag not in ("--missing", "--categories")
        for w in (flag, value)
    ]
    done = CliRunner().invoke(app, ["info", str(placed(messy, tmp_path)), *layout, "--json"])
    assert "unexpected error" not in done.stderr
    assert done.exit_code in (0, 1, 2)
    if done.exit_code:
        assert messy.refused, f"run reads it, and info does not: {done.stderr}"
        assert done.stderr.startswith("clusterscape: ") or "Error" in done.stderr
        return
    facts = json.loads(done.stdout)
    if messy.refused or facts["kind"] != "table":
        return
    assert facts["n_points"] >= messy.n_points
    described = {column["name"]: column for column in reversed(facts["columns"])}
    for column, values in messy.columns.items():
        found = described[column]
        present = np.asarray(values, float)
        assert found["kind"] in ("numbers", "whole numbers", "yes/no")
        assert found["low"] <= present.min() + 1e-9
        assert found["high"] >= present.max() - 1e-9


@pytest.mark.parametrize(
    "name", ["semicolons and decimal commas", "words as columns", "gaps filled"]
)
def test_whole_runs(name: str, tmp_path: Path) -> None:
    messy = TABLES[name]
    path = placed(messy, tmp_path)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["run", str(path), "-o", str(out), *QUICK, *messy.options])
    assert done.exit_code == 0, done.stderr
    run = json.loads((out / "run.json").read_text())
    assert run["input"]["n_points"] == messy.n_points
    again = CliRunner().invoke(app, ["predict", str(out), str(path), "-q"])
    assert again.exit_code == 0, again.stderr
    labels = [line.split(",")[:2] for line in again.stdout.splitlines()]
    own = [line.split(",")[:2] for line in (out / "labels.csv").read_text().splitlines()]
    assert labels == own


def test_what_info_suggests_keeps_the_ids(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "t.csv"
    rows = "".join(f"p{i},{i * i / 7},{'uv'[i % 2]},{'st'[i % 2]}\n" for i in range(12))
    path.write_text("name,x,city,kind\n" + rows)
    done = CliRunner().invoke(app, ["info", str(path), "--json"])
    words = shlex.split(json.loads(done.stdout)["suggestion"])
    assert words[3:] == ["--id-column", "name", "--exclude", "city", "--exclude", "kind"]
    messy = Messy(path.read_bytes(), options=tuple(words[3:]))
    _, seen = handed(messy, path, monkeypatch)
    assert list(seen["table"].ids) == [f"p{i}" for i in range(12)]


def test_empty_rows_at_the_end_change_nothing_else() -> None:
    plain = b"name,x,flag\n" + b"".join(b"p%d,0%d,%s\n" % (i, i, b"True") for i in range(9))
    tables = [read_table(io.BytesIO(content)) for content in (plain, plain + b",,\n , ,\n")]
    assert np.array_equal(tables[0].X, tables[1].X)
    assert list(tables[0].ids) == list(tables[1].ids)
    assert tables[0].codes == tables[1].codes == ("x",)
    note = "2 rows are empty at the end of the file: not read."
    assert set(tables[1].notes) - set(tables[0].notes) == {note}
    # A clustering may have seen no point of a row: its length is kept.
    assert read_labels(io.BytesIO(b"a,b\nu,v\nu,w\n,\n")).n_points == 3


def test_labels_in_a_sheet_beside_numbers() -> None:
    content = xlsx([["a"], ["u"], ["u"], ["v"]], sheets=("one", "two"), second=[["x"], [1.5]])
    assert read_labels(io.BytesIO(content), format="xlsx").n_points == 3


def test_points_are_doubted_for_a_whole_number_behind_the_first_lines() -> None:
    rows = [f"k{i};{9 - i // 80}.{999 - i}" for i in range(600)]
    content = "\n".join(["id;sales", *rows, "z;975"]).encode()
    with pytest.raises(TableError, match="'9.999' may have .* as '975' stands beside it"):
        read_table(io.BytesIO(content))
    assert read_table(io.BytesIO(content), thousands=".").X.min() == 975
    assert read_table(io.BytesIO(content + b"\ny;0.5")).X.min() == 0.5
    assert read_table(io.BytesIO("\n".join(["id;sales", *rows]).encode())).X.max() == 9.999


def test_python_says_the_same_as_the_shell(tmp_path: Path) -> None:
    path = placed(TABLES["gaps"], tmp_path)
    with pytest.raises(TableError, match="missing='drop'.*missing='impute'"):
        read_table(path)
