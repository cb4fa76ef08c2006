"""``clusterscape forest``: labels and importances out, one sentence when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape.cli.app import app
from clusterscape.combine import consensus_scores
from clusterscape.forest.estimator import ClusterForest

NAMES = ["tall", "wide", "noise1", "noise2", "noise3", "noise4"]


def call(*words: str, data: bytes | None = None):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words), input=data)


def two_groups() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6))
    X[:30, :2] += 7
    frame = pd.DataFrame(X, columns=NAMES)
    frame.insert(0, "id", [f"p{i}" for i in range(50)])
    frame["kind"] = np.repeat(["a", "b"], [30, 20])
    return frame


@pytest.fixture
def table(tmp_path: Path, monkeypatch) -> str:
    """Write the groups to a file, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    two_groups().to_csv("points.csv", index=False)
    return "points.csv"


QUICK = ("-k", "2", "--vectors", "15", "--exclude", "kind", "--seed", "3")


def expected(**options) -> ClusterForest:
    X = two_groups()[NAMES].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return ClusterForest(2, n_vectors=15, random_state=3, **options).fit(X)


def test_labels_and_importances(table: str) -> None:
    done = call("forest", table, "-o", "out.csv", "--importances", "imp.csv", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    model = expected()
    frame = pd.read_csv("out.csv")
    assert list(frame.columns) == ["id", "label", "confidence", "runner_up", "runner_up_share"]
    assert list(frame["id"]) == [f"p{i}" for i in range(50)]
    np.testing.assert_array_equal(frame["label"], model.labels_)
    np.testing.assert_array_equal(frame["label"], np.repeat([0, 1], [30, 20]))
    scores = consensus_scores(model.ensemble_, model.labels_)
    np.testing.assert_allclose(frame["confidence"], scores.confidence, rtol=1e-5)

    found = pd.read_csv("imp.csv")
    assert list(found.columns) == ["column", "share", "importance"]
    assert sorted(found["column"]) == sorted(NAMES)
    assert (np.diff(found["importance"]) <= 0).all()
    by_name = found.set_index("column").loc[NAMES]
    np.testing.assert_allclose(by_name["share"], model.feature_share_, rtol=1e-5)
    np.testing.assert_allclose(by_name["importance"], model.feature_importances_, rtol=1e-4)

    words = done.stderr
    assert "growing 15 clustering vectors of 50 points with 6 features (scaling: standard)" in words
    assert "2 clusters (as asked), numbered 0 to 1 by size: 30 and 20 points." in words
    assert "of 6 columns are in some of the 15 vectors. The most important:" in words
    rows = [line.split() for line in words.splitlines() if line.startswith("  ")]
    assert rows[0] == ["column", "in", "vectors", "importance"]
    assert [row[0] for row in rows[1:]] == list(found["column"])
    assert rows[1][1] == f"{found['share'][0]:.0%}"
    assert "out.csv: the cluster of every point, its confidence" in words
    assert "imp.csv: how important every column is." in words


def test_to_stdout_and_from_a_pipe(table: str) -> None:
    content = Path(table).read_bytes()
    done = call("forest", "-", "-q", *QUICK, data=content)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "id,label,confidence,runner_up,runner_up_share"
    assert len(lines) == 51
    call("forest", table, "-q", "-o", "out.csv", *QUICK)
    assert Path("out.csv").read_text() == done.stdout
    call("forest", table, "-q", "-o", "jobs.csv", "--jobs", "2", *QUICK)
    assert Path("jobs.csv").read_text() == done.stdout


def test_json(table: str) -> None:
    words = ("forest", table, "-q", "--json", "--vectors", "15", "-k", "2", "--reference", "kind")
    done = call(*words)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["n_clusters"] == 2
    assert found["cluster_sizes"] == [30, 20]
    assert found["reference"]["adjusted_rand"] == 1
    assert len(found["labels"]) == len(found["point_confidence"]) == len(found["ids"]) == 50
    assert found["forest"]["n_vectors"] == 15
    assert found["forest"]["n_base_clusters"] == 2
    assert {row["column"] for row in found["forest"]["top_features"]} <= set(NAMES)
    done = call(*words, "-o", "out.csv", "--importances", "imp.csv")
    found = json.loads(done.stdout)
    assert (found["output"], found["importances"]) == ("out.csv", "imp.csv")
    assert "labels" not in found


def test_options_reach_the_forest(table: str) -> None:
    options = ("--competitors", "4", "--patience", "1", "--base-clusters", "3", "--kappa", "anova")
    done = call("forest", table, "-q", "--json", *options, "--ncut", "kway", *QUICK)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    model = expected(n_competitors=4, patience=1, n_base_clusters=3, kappa="anova", ncut="kway")
    assert found["labels"] == model.labels_.tolist()
    assert found["forest"]["kappa"] == np.median(model.kappa_)
    assert found["forest"]["ncut"] == pytest.approx(model.cost_)
    assert found["forest"]["n_base_clusters"] == 3


def test_the_number_is_found(table: str) -> None:
    done = call("forest", table, "--exclude", "kind", "-r", "20", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    assert "2 clusters (chosen by the largest eigengap of fine partitions on" in done.stderr
    assert pd.read_csv("out.csv")["label"].nunique() == 2


def test_a_large_column_is_noted(table: str) -> None:
    frame = two_groups()
    frame["tall"] *= 1000
    frame.to_csv(table, index=False)
    done = call("forest", table, "-o", "out.csv", "--scale", "none", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert "clusterscape: note: " in done.stderr
    assert "the column 'tall' has" in done.stderr


def test_long_names_are_cut_on_the_console(table: str) -> None:
    long = "a very long name of a column that nobody would want to read"
    two_groups().rename(columns={"tall": long}).to_csv(table, index=False)
    done = call("forest", table, "-o", "out.csv", "--importances", "imp.csv", *QUICK)
    assert long[:29] + "..." in done.stderr
    assert long in set(pd.read_csv("imp.csv")["column"])


def refused(*words: str, code: int = 1) -> str:
    before = sorted(Path.cwd().rglob("*"))
    done = call(*words)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert sorted(Path.cwd().rglob("*")) == before
    return " ".join(done.stderr.replace("│", " ").split())


def test_refusals(table: str) -> None:
    assert "imp.txt must end in .csv" in refused(
        "forest", table, *QUICK, "--importances", "imp.txt", code=2
    )
    assert "x.csv is what --output writes already" in refused(
        "forest", table, *QUICK, "-o", "x.csv", "--importances", "./x.csv", code=2
    )
    assert "points.csv is the input itself" in refused(
        "forest", table, *QUICK, "--importances", table
    )
    assert "points.csv is the input itself" in refused("forest", table, *QUICK, "-o", table)
    assert "there is no folder nowhere" in refused(
        "forest", table, *QUICK, "--importances", "nowhere/imp.csv"
    )
    assert "'sums' is not one of anova, pairs" in refused(
        "forest", table, *QUICK, "--kappa", "sums", code=2
    )
    assert "'three' is not one of" in refused("forest", table, *QUICK, "--ncut", "three", code=2)
    assert "column 'kind' holds text" in refused("forest", table, "-k", "2")
    assert "--clusters 99 is more than the 50" in refused(
        "forest", table, "--exclude", "kind", "-k", "99"
    )
    Path("folder.csv").mkdir()
    assert "is a folder" in refused("forest", table, *QUICK, "--importances", "folder.csv")


def test_sparse_tables(table: str) -> None:
    from scipy import sparse

    csr = sparse.csr_matrix(np.abs(two_groups()[NAMES].to_numpy()))
    parts = {name: getattr(csr, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez("t.npz", **parts)
    done = call("forest", "t.npz", "-k", "2", "-r", "10", "-o", "out.csv", "--importances", "i.csv")
    assert done.exit_code == 0, done.stderr
    assert "(scaling: none)" in done.stderr
    found = pd.read_csv("i.csv")
    assert sorted(found["column"]) == list(range(1, 7))
