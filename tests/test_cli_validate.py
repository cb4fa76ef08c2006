"""``clusterscape validate``: certificates from the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape.cli.app import app
from clusterscape.validate import Affinity


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    X = 4 * np.eye(3, 2)[labels] + rng.normal(size=(60, 2))
    ids = [f"p{i}" for i in range(60)]
    names = np.array(["x", "y", "z"])[labels]
    pd.DataFrame(X, columns=["a", "b"]).assign(id=ids)[["id", "a", "b"]].to_csv(
        tmp_path / "data.csv", index=False
    )
    table = pd.DataFrame({"id": ids, "first": names, "second": labels % 2})
    table[["id", "first"]].to_csv(tmp_path / "one.csv", index=False)
    table[::-1].to_csv(tmp_path / "two.csv", index=False)
    return tmp_path, X, names


def run(*arguments: object) -> object:
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


def test_the_table_is_that_of_the_library(files) -> None:
    folder, X, names = files
    done = run(folder / "data.csv", folder / "one.csv", "--scale", "none", "-o", folder / "c.csv",
               "--plot", folder / "c.png")  # fmt: skip
    assert done.exit_code == 0, done.output
    table = pd.read_csv(folder / "c.csv", index_col="id")
    expected = Affinity().fit(X, names).certificates_.to_frame()
    assert table["stability"].to_numpy() == pytest.approx(expected["stability"], abs=1e-5)
    assert table["cluster"].tolist() == names.tolist()
    assert table.index[0] == "p0"
    assert (folder / "c.png").stat().st_size > 2000


def test_json_and_several_clusterings(files) -> None:
    folder, _, _ = files
    refused = run(folder / "data.csv", folder / "two.csv")
    assert refused.exit_code == 2
    assert "2 clusterings (first, second)" in refused.output.replace("\n", " ").replace("│ ", "")
    done = run(folder / "data.csv", folder / "two.csv", "--clustering", "first", "--json", "-q")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert report["n_points"] == 60
    assert report["clusters"]["cluster"] == ["x", "y", "z"]
    assert len(report["points"]["consistency"]) == 60


@pytest.mark.parametrize(
    ("option", "value"), [("--bound", "far"), ("--representative", "mode"), ("--plot", "x.txt")]
)
def test_wrong_options_are_refused(files, option: str, value: str) -> None:
    folder, _, _ = files
    done = run(folder / "data.csv", folder / "one.csv", option, value)
    assert done.exit_code != 0
    assert option in done.output


def test_errors_name_the_arguments_of_the_command(files) -> None:
    folder, _, _ = files
    other = pd.read_csv(folder / "one.csv").assign(id=[f"q{i}" for i in range(60)])
    other.to_csv(folder / "other.csv", index=False)
    done = run(folder / "data.csv", folder / "other.csv")
    assert done.exit_code == 2
    assert "TABLE" in done.output
    assert "no row for 60 of the 60" in done.output.replace("\n", " ").replace("│ ", "")
    assert "--features" not in done.output
    twice = run("-", "-")
    assert "LABELS, TABLE" in twice.output


def test_noise_is_said_and_not_counted(files) -> None:
    folder, _, names = files
    labels = pd.read_csv(folder / "one.csv")
    labels.loc[:9, "first"] = "-1"
    labels.to_csv(folder / "noisy.csv", index=False)
    done = run(folder / "data.csv", folder / "noisy.csv", "--json")
    assert "10 points are noise and do not count" in done.output.replace("\n", " ")
    report = json.loads(done.stdout)
    assert (report["n_noise"], report["n_unsampled"]) == (10, 0)
    assert sum(report["clusters"]["size"]) == 50
