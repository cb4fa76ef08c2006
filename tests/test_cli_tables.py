"""Tables on the command line: steps before clustering, predict, --like, aliases, completion."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape.cli import options as opt
from clusterscape.cli.app import app
from clusterscape.compare import adjusted_rand
from clusterscape.io import load_model

QUICK = ("-r", "6", "--references", "0", "-k", "2", "--generator", "restarts")


def call(*words: str):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words))


def customers(n: int = 40, seed: int = 0) -> pd.DataFrame:
    """Return two kinds of customers, with gaps, words and a column of nothing."""
    rng = np.random.default_rng(seed)
    kind = np.repeat([0, 1], n // 2)
    frame = pd.DataFrame(
        {
            "name": [f"c{i}" for i in range(n)],
            "visits": rng.poisson(np.where(kind, 40, 3)),
            "spent": np.where(kind, 900.0, 50.0) * rng.lognormal(0, 0.2, n),
            "plan": np.where(kind, "gold", rng.choice(["basic", "none at all"], n)),
            "noise": rng.normal(size=n) * 1e-3,
        }
    )
    frame.loc[[3, 30], "spent"] = np.nan
    return frame


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    customers().to_csv("customers.csv", index=False)
    return tmp_path


STEPS = (
    "--missing", "impute", "--categories", "one-hot", "--log", "--top-variable", "4",
    "--scale", "robust", "--pca", "2",
)  # fmt: skip


def test_every_step_is_kept_for_new_points(home: Path) -> None:
    frame = customers()
    frame["noise"] = frame["noise"].abs()
    frame.to_csv("customers.csv", index=False)
    done = call("run", "customers.csv", *QUICK, *STEPS, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "'spent': 2 of 40 values are missing and filled with the median" in done.stderr
    assert "'plan' holds 3 different words" in done.stderr
    kinds = [type(step).__name__ for _, step in load_model("out/model.npz").steps]
    assert kinds == [
        "TableEncoder", "LogTransformer", "TopVariable", "RobustScaler", "PCA",
        "ConsensusClustering",
    ]  # fmt: skip
    run = json.loads(Path("out/run.json").read_text())["parameters"]
    wanted = {"missing": "impute", "categories": "one-hot", "log": True, "top_variable": 4}
    assert {name: run[name] for name in wanted} == wanted
    new = frame.iloc[[1, 3, 35]]
    new.to_csv("new.csv", index=False)
    found = call("predict", "out", "new.csv", "-q")
    assert found.exit_code == 0, found.stderr
    own = pd.read_csv("out/labels.csv").set_index("id")["label"]
    lines = [line.split(",")[:2] for line in found.stdout.splitlines()[1:]]
    assert lines == [[name, str(own[name])] for name in new["name"]]
    other = call("report", "out", "customers.csv", "-o", "page.html", "-q")
    assert other.exit_code == 0, other.stderr


def test_rows_that_are_dropped(home: Path) -> None:
    words = ("--exclude", "plan", "--missing", "drop")
    done = call("run", "customers.csv", *QUICK, *words, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "2 values are missing in 2 of 40 rows, column 'spent' (2)" in done.stderr
    assert "c3" not in pd.read_csv("out/labels.csv")["id"].tolist()
    assert json.loads(Path("out/run.json").read_text())["input"]["n_dropped"] == 2
    found = call("predict", "out", "customers.csv", "-q")
    assert len(found.stdout.splitlines()) == 39
    refused = call("predict", "out", "customers.csv", "--missing", "impute")
    assert refused.exit_code == 2
    assert "the run filled no missing values" in refused.stderr


def test_transposed_tables(home: Path) -> None:
    frame = customers()[["visits", "noise"]]
    frame.index = [f"c{i}" for i in range(40)]
    frame.T.rename_axis("gene").to_csv("t.csv")
    done = call("run", "t.csv", *QUICK, "--transpose", "-o", "out")
    assert done.exit_code == 0, done.stderr
    labels = pd.read_csv("out/labels.csv")
    assert labels["id"].tolist() == list(frame.index)
    frame.to_csv("straight.csv", index_label="id")
    assert call("run", "straight.csv", *QUICK, "-o", "two").exit_code == 0
    assert Path("out/labels.csv").read_bytes() == Path("two/labels.csv").read_bytes()
    found = call("predict", "out", "t.csv", "-q")
    assert [line.split(",")[0] for line in found.stdout.splitlines()[1:]] == list(frame.index)


def test_like_repeats_a_run(home: Path) -> None:
    words = ("--missing", "drop", "--categories", "drop", "--scale", "minmax", "--seed", "5")
    assert call("run", "customers.csv", *QUICK, *words, "-o", "one").exit_code == 0
    for like in ("one/run.json", "one"):
        done = call("run", "customers.csv", "--like", like, "-o", "two")
        assert done.exit_code == 0, done.stderr
        assert Path("one/labels.csv").read_bytes() == Path("two/labels.csv").read_bytes()
    done = call("run", "customers.csv", "--like", "one", "-r", "7", "-o", "three")
    assert done.exit_code == 0, done.stderr
    run = json.loads(Path("three/run.json").read_text())["parameters"]
    assert (run["partitions"], run["seed"], run["scale"]) == (7, 5, "minmax")


def test_like_names_the_points_by_the_same_column(home: Path) -> None:
    frame = customers()[["visits", "noise", "name"]]
    frame[["name", "visits", "noise"]].to_csv("march.csv", index=False)
    assert call("run", "march.csv", *QUICK, "-o", "one").exit_code == 0
    frame.to_csv("april.csv", index=False)
    done = call("run", "april.csv", "--like", "one", "-o", "two")
    assert done.exit_code == 0, done.stderr
    assert pd.read_csv("two/labels.csv")["id"].tolist() == frame["name"].tolist()
    frame.drop(columns="name").to_csv("may.csv", index=False)
    done = call("run", "may.csv", "--like", "two/run.json", "-o", "three")
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{}", "was not written by 'clusterscape run'"),
        ("no", "was not written by 'clusterscape run'"),
        ('{"command": "run", "parameters": {"seed": "five"}}', "the recorded seed"),
        ('{"command": "run", "parameters": {"clusters": [2, "x"]}}', "the recorded clusters"),
        (None, "cannot be read"),
    ],
)
def test_like_refuses(home: Path, content: str | None, words: str) -> None:
    if content is not None:
        Path("run.json").write_text(content)
    done = call("run", "customers.csv", "--like", "run.json")
    assert done.exit_code == 1
    assert words in done.stderr


def test_impossible_steps_are_refused(home: Path) -> None:
    base = ("run", "customers.csv", "--exclude", "plan", "--missing", "drop", "-o", "out")
    for words, said in (
        (("--top-variable", "9"), "9 is more than there are columns (3)"),
        (("--pca", "4"), "4 is more than there are columns and points (3)"),
        (("--scale", "wide"), "'wide' is not one of auto, mixed, standard, robust, minmax, none"),
        (("--missing", "guess"), "'guess' is not one of refuse, drop, impute"),
        (("--skip", "two"), "'two' is not a number of lines"),
    ):
        done = call(*base, *words)
        assert done.exit_code == 2, done.output
        flat = " ".join(done.stderr.replace("│", " ").split())
        assert said in flat
    done = call(*base, "--log")
    assert done.exit_code == 1
    assert "the column 'noise' holds" in done.stderr


def test_measures_by_their_usual_names(home: Path) -> None:
    Path("l.csv").write_text("id,a,b\n1,x,0\n2,x,0\n3,y,1\n4,y,0\n")
    done = call("compare", "l.csv", "-m", "ARI,nmi", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    assert [table["metric"] for table in json.loads(done.stdout)] == ["adjusted_rand", "nmi"]
    assert call("compare", "l.csv", "-m", "best").exit_code == 2
    from clusterscape.compare import MEASURES

    assert set(opt.ALIASES.values()) <= set(MEASURES)
    assert not set(opt.ALIASES) & set(MEASURES)


def test_the_shell_completes_commands_and_names() -> None:
    def completed(words: str, count: int) -> list[str]:
        env = {
            "_CLUSTERSCAPE_COMPLETE": "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(count),
        }
        done = CliRunner().invoke(app, [], env=env, prog_name="clusterscape")
        return done.stdout.split()

    assert completed("clusterscape ru", 1) == ["run"]
    assert "ari" in completed("clusterscape compare --metric a", 3)
    assert "bagging" in completed("clusterscape run --generator b", 3)


def test_rare_words_do_not_decide(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1], 60)
    frame = pd.DataFrame(
        {
            "length": rng.normal(group * 6.0, 1.0),
            "weight": rng.normal(group * 6.0, 1.0),
            "colour": np.where(np.arange(120) % 60 == 7, "violet", "red"),
        }
    )
    frame.to_csv("t.csv", index=False)
    words = ("run", "t.csv", *QUICK, "--categories", "one-hot", "-k", "2")
    done = call(*words, "-o", "out")
    assert done.exit_code == 0, done.stderr
    assert "scaling: mixed" in done.stderr
    assert adjusted_rand(pd.read_csv("out/labels.csv")["label"], group) > 0.9
    steps = load_model("out/model.npz").steps
    assert [type(step).__name__ for _, step in steps[:-1]] == ["TableEncoder", "MixedScaler"]
    again = call("predict", "out", "t.csv", "-q")
    assert again.exit_code == 0, again.stderr
    asked = call(*words, "-o", "other", "--scale", "standard")
    assert "scaling: standard" in asked.stderr
    numbers = call("run", "t.csv", *QUICK, "--categories", "drop", "-k", "2", "-o", "third")
    assert "scaling: standard" in numbers.stderr
