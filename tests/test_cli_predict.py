"""``clusterscape predict``: other points get the clusters of a run, by the names of the columns."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from typer.testing import CliRunner

from clusterscape.cli.app import app
from clusterscape.combine import EAC
from clusterscape.io import check_results_folder, load_model, load_results, save_model, save_results

QUICK = ("-r", "15", "--references", "0", "-k", "3", "-q")


def call(*words: str, data: bytes | None = None):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words), input=data)


def refused(*words: str) -> str:
    before = sorted(Path.cwd().rglob("*"))
    done = call(*words)
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    assert sorted(Path.cwd().rglob("*")) == before
    return done.stderr.strip().splitlines()[-1].removeprefix("clusterscape: ")


def points(seed: int = 0) -> pd.DataFrame:
    """Return three groups that are apart only once the columns are scaled alike."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.normal(c, 0.3, size=(20, 2)) for c in (0, 3, 6)])
    frame = pd.DataFrame(X * [1.0, 1e-3], columns=["wide", "narrow"])
    frame["flat"] = rng.normal(scale=1e-4, size=60)
    frame.insert(0, "name", [f"p{i}" for i in range(60)])
    frame["kind"] = np.repeat(["a", "b", "c"], 20)
    return frame


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> str:
    """Run once, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    points().to_csv("points.csv", index=False)
    done = call("run", "points.csv", "--exclude", "kind", "-o", "out", *QUICK)
    assert done.exit_code == 0, done.stderr
    return "out"


def test_the_points_of_the_run_get_their_own_labels(folder: str) -> None:
    wanted = pd.read_csv("out/labels.csv")[["id", "label", "confidence"]]
    for model in ("out", "out/model.npz"):
        done = call("predict", model, "points.csv", "-o", "p.csv", "--force")
        assert done.exit_code == 0, done.stderr
        assert done.stdout == ""
        found = pd.read_csv("p.csv")
        pd.testing.assert_frame_equal(found[["id", "label"]], wanted[["id", "label"]])
        # A point of the run does not count itself there, and counts here.
        assert np.abs(found["confidence"] - wanted["confidence"]).max() < 0.1
    assert "points.csv: not used, as in the run: the column kind." in done.stderr
    assert "p.csv: the cluster of 60 points." in done.stderr


def test_columns_are_matched_by_name_and_scaled_as_in_the_run(folder: str) -> None:
    wanted = pd.read_csv("out/labels.csv").set_index("id")["label"]
    # Ten points of one group: scaled by their own mean they would fall into several clusters.
    few = points().iloc[25:35][["kind", "flat", "narrow", "name", "wide"]]
    few.to_csv("few.csv", index=False)
    done = call("predict", folder, "few.csv", "--id-column", "name", "-q")
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    lines = [line.split(",") for line in done.stdout.splitlines()]
    assert lines[0] == ["id", "label", "confidence"]
    assert [line[:2] for line in lines[1:]] == [
        [f"p{i}", str(wanted[f"p{i}"])] for i in range(25, 35)
    ]
    assert len({label for _, label, _ in lines[1:]}) == 1
    piped = call(
        "predict", folder, "-", "--id-column", "name", "-q", data=Path("few.csv").read_bytes()
    )
    assert piped.stdout == done.stdout
    found = json.loads(call("predict", folder, "few.csv", "--json", "-q").stdout)
    assert found["labels"] == [int(label) for _, label, _ in lines[1:]]
    assert all(0 <= c <= 1 for c in found["confidence"])
    assert len(found["confidence"]) == 10
    assert found["ids"] == [f"p{i}" for i in range(25, 35)]  # the run says which column
    assert call("predict", folder, "few.csv", "-o", "p.parquet", "-q").exit_code == 0
    assert pd.read_parquet("p.parquet")["label"].tolist() == found["labels"]


def test_the_run_without_scaling(folder: str) -> None:
    words = ("run", "points.csv", "--exclude", "kind", "--scale", "none", "-o", "raw", *QUICK)
    assert call(*words).exit_code == 0
    done = call("predict", "raw", "points.csv", "-q")
    labels = [int(line.split(",")[1]) for line in done.stdout.splitlines()[1:]]
    assert labels == pd.read_csv("raw/labels.csv")["label"].tolist()


def test_sparse_tables(folder: str) -> None:
    X = sparse.csr_matrix(np.abs(points()[["wide", "narrow"]].to_numpy()))
    parts = {name: getattr(X, name) for name in ("data", "indices", "indptr", "shape")}
    np.savez("s.npz", **parts, feature_names=["wide", "narrow"], ids=[f"p{i}" for i in range(60)])
    assert call("run", "s.npz", "-o", "sparse", *QUICK).exit_code == 0
    wanted = pd.read_csv("sparse/labels.csv")[["id", "label"]]
    assert wanted["id"][0] == "p0"
    done = call("predict", "sparse", "s.npz", "-o", "p.csv", "--force")
    assert done.exit_code == 0, done.stderr
    pd.testing.assert_frame_equal(pd.read_csv("p.csv")[["id", "label"]], wanted)
    assert "not used" not in done.stderr
    # A dense table with the columns the other way round.
    dense = points()[["narrow", "wide"]].abs()
    dense.to_csv("dense.csv", index=False)
    call("predict", "sparse", "dense.csv", "-o", "p.csv", "--force", "-q")
    np.testing.assert_array_equal(pd.read_csv("p.csv")["label"], wanted["label"])
    # The file alone does not hold the names of a sparse table.
    done = call("predict", "sparse/model.npz", "s.npz", "-o", "p.csv", "--force")
    assert "matched by position" in done.stderr
    np.testing.assert_array_equal(pd.read_csv("p.csv")["label"], wanted["label"])
    message = refused("predict", "sparse/model.npz", "points.csv", "--exclude", "kind")
    assert message.startswith("points.csv has 3 columns and the model was fitted on 2; ")


def test_columns_of_the_same_name_are_matched_by_position(folder: str) -> None:
    text = points().drop(columns="kind").to_csv(index=False)
    Path("same.csv").write_text(text.replace("wide,narrow,flat", "x,x,y", 1))
    done = call("run", "same.csv", "-o", "same", *QUICK)
    assert done.exit_code == 0, done.stderr
    wanted = pd.read_csv("out/labels.csv")[["id", "label"]]
    pd.testing.assert_frame_equal(pd.read_csv("same/labels.csv")[["id", "label"]], wanted)
    done = call("predict", "same", "same.csv", "-o", "p.csv")
    assert done.exit_code == 0, done.stderr
    assert "matched by position" in done.stderr
    pd.testing.assert_frame_equal(pd.read_csv("p.csv")[["id", "label"]], wanted)


def test_refusals(folder: str) -> None:
    frame = points().drop(columns="narrow").rename(columns={"wide": "wid"})
    frame.to_csv("other.csv", index=False)
    assert refused("predict", folder, "other.csv").startswith(
        "other.csv has no column 'wide', which the model was fitted on (the columns wide, narrow, "
        "flat); did you mean 'wid'?"
    )
    message = refused("predict", folder, "points.csv", "--exclude", "flat")
    assert "and of these the column flat of points.csv would not be used" in message
    assert refused("predict", folder, "points.csv", "--id-column", "nam").startswith(
        "points.csv has no column 'nam'; did you mean 'name'?"
    )
    assert refused("predict", "nowhere", "points.csv").startswith("there is no file nowhere; ")
    assert refused("predict", ".", "points.csv").startswith(". holds no model.npz; ")
    assert "is the input itself" in refused("predict", folder, "points.csv", "-o", "points.csv")
    content = Path("out/model.npz").read_bytes()
    Path("out/model.npz").write_bytes(content[:-100])
    assert "out/model.npz is damaged" in refused("predict", folder, "points.csv")


def test_models_that_cannot_place_other_points(folder: str) -> None:
    votes = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    save_results("votes", votes)
    assert "holds a model of type EAC, which combines clusterings" in refused(
        "predict", "votes", "points.csv"
    )
    text = call("info", "votes").stdout
    assert text.startswith("votes holds results of clusterscape ")
    assert "clusterscape predict" not in call("info", "votes/model.npz").stdout


def test_the_model_says_nothing_of_how_the_work_was_done(folder: str) -> None:
    words = ("run", "points.csv", "--exclude", "kind", "-o", "again", "-j", "2", "--resume")
    assert call(*words, *QUICK).exit_code == 0
    assert Path("again/model.npz").read_bytes() == Path("out/model.npz").read_bytes()
    model = load_model("again/model.npz")[-1]
    assert (model.n_jobs, model.progress, model.store) == (None, None, None)
    assert list(model.feature_names_in_) == ["wide", "narrow", "flat"]
    save_model(model, "alone.npz")
    # The clusterer without its scaler takes the columns as they are.
    assert call("predict", "alone.npz", "points.csv", "-q").exit_code == 0


def test_no_command_writes_over_a_file_of_a_run(folder: str) -> None:
    before = {path: path.read_bytes() for path in Path(folder).iterdir()}
    labels = "out/labels.csv"
    for words in (
        ("predict", "out", "points.csv"),
        ("combine", "out/ensemble.npz"),
        ("compare", "out/ensemble.npz"),
        ("forest", "points.csv", "--exclude", "kind"),
        ("explain", "out/ensemble.npz", "--features", "points.csv"),
    ):
        for force in ((), ("--force",)):
            message = refused(*words, "-o", labels, *force)
            assert message == (
                "out/labels.csv belongs to the results of a run in out, which could not be read "
                "without it; name another place with --output."
            )
    Path("link.csv").symlink_to(labels)
    assert "belongs to the results" in refused("predict", "out", "points.csv", "-o", "link.csv")
    assert "belongs to" in refused("generate", "points.csv", "-o", "out/ensemble.npz", "--force")
    assert {path: path.read_bytes() for path in Path(folder).iterdir()} == before
    beside = call("predict", "out", "points.csv", "-o", "out/new.csv")
    assert beside.exit_code == 0, beside.stderr
    assert load_results(folder).run["outputs"]


def test_a_file_that_exists_is_replaced_only_when_asked(folder: str) -> None:
    mine = "id,label\n0,7\n"
    points().drop(columns=["name", "kind"]).to_csv("X.csv", index=False)
    for words in (
        ("predict", "out", "points.csv"),
        ("combine", "out/ensemble.npz", "-k", "3"),
        ("compare", "out/ensemble.npz"),
        ("generate", "X.csv", "-r", "3"),
        ("forest", "X.csv", "-r", "3"),
        ("explain", "out/ensemble.npz", "--features", "X.csv", "--join", "order")
        + ("--first", "p0", "--second", "p1"),
    ):
        Path("kept.csv").write_text(mine)
        assert refused(*words, "-o", "kept.csv") == (
            "kept.csv exists already; name another place with --output, or replace it with --force."
        )
        assert Path("kept.csv").read_text() == mine
        done = call(*words, "-o", "kept.csv", "--force", "-q")
        assert done.exit_code == 0, done.stderr
        assert Path("kept.csv").read_text() != mine
    message = refused("forest", "X.csv", "--importances", "kept.csv")
    assert "name another place with --importances" in message


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a place that refuses everyone")
def test_a_place_that_cannot_be_written_is_reported_before_the_work(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    points().to_csv("points.csv", index=False)
    rest = r" cannot be written, because nothing can be made in /proc \(.+\); name another "
    for words, place in (
        (("run", "points.csv", "--exclude", "kind", "-o"), "/proc/zz"),
        (("run", "points.csv", "--exclude", "kind", "-o"), "/proc/zz/deep"),
        (("demo", "iris", "-o"), "/proc/zz"),
        (("generate", "points.csv", "--exclude", "kind", "-o"), "/proc/zz.npz"),
        (("forest", "points.csv", "--exclude", "kind", "-o"), "/proc/zz.csv"),
    ):
        done = call(*words, place)
        assert done.exit_code == 1
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1  # no word on reading or clustering before it
        assert re.match(f"clusterscape: {place}{rest}", done.stderr), done.stderr
    with pytest.raises(ValueError, match=f"/proc/zz{rest}folder"):
        check_results_folder("/proc/zz")


# ---- what the run knows of its table ------------------------------------------------------------


def test_the_column_of_the_ids_is_that_of_the_run(folder: str) -> None:
    few = points().iloc[25:35][["flat", "name", "narrow", "wide"]]
    few.to_csv("few.csv", index=False)
    done = call("predict", folder, "few.csv")
    assert done.exit_code == 0, done.stderr
    assert [line.split(",")[0] for line in done.stdout.splitlines()[1:]] == few["name"].tolist()
    assert "the column 'name' names the points, as in the run" in done.stderr
    assert "not used" not in done.stderr
    piped = call("predict", folder, "-", data=Path("few.csv").read_bytes())
    assert piped.exit_code == 0, piped.stderr
    assert "say --id-column name if it names them here" in piped.stderr
    assert "as in the run: the column name" not in piped.stderr
    few.assign(name="same").to_csv("few.csv", index=False)
    done = call("predict", folder, "few.csv")
    assert done.exit_code == 0, done.stderr
    assert "the column 'name', which named the points of the run, is not used" in done.stderr
    few.drop(columns="name").to_csv("few.csv", index=False)
    done = call("predict", folder, "few.csv", "-q")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.splitlines()[1].startswith("0,")


@pytest.mark.parametrize("words", [("report",), ("plot", "description")])
def test_rows_are_not_matched_by_position_to_points_with_ids(folder: str, words: tuple) -> None:
    frame = points()[["flat", "narrow", "wide", "name"]]
    frame.to_csv("same.csv", index=False)
    done = call(*words, folder, "same.csv")
    assert done.exit_code == 0, done.stderr
    frame.iloc[::-1].to_csv("turned.csv", index=False)
    assert "in another order" in refused(*words, folder, "turned.csv", "--force")
    frame.drop(columns="name").to_csv("bare.csv", index=False)
    message = refused(*words, folder, "bare.csv", "--force", "-q")
    assert "the points of the run have ids and those of bare.csv have none" in message
    assert "--id-column" in message


def test_the_table_is_read_as_that_of_the_run_was(folder: str) -> None:
    frame = points().drop(columns="kind")
    frame["name"] = [f"Jürgen {i}" for i in range(60)]
    frame.loc[3, "flat"] = -999
    text = "A title, and more\n" + frame.to_csv(index=False)
    Path("old.csv").write_bytes(text.encode("cp1252"))
    words = ("--encoding", "cp1252", "--skip", "1", "--na", "-999", "--missing", "impute")
    assert call("run", "old.csv", *words, "-o", "read", *QUICK).exit_code == 0
    done = call("predict", "read", "old.csv")
    assert done.exit_code == 0, done.stderr
    said = "old.csv: read as the table of the run was: --na -999 --encoding cp1252 --skip 1."
    assert said in done.stderr
    assert done.stdout.splitlines()[1].startswith("Jürgen 0,")
    # What is filled is said, as the run says it.
    assert "column 'flat': 1 of 60 values are missing and filled with the median" in done.stderr
    done = call("report", "read", "old.csv", "-o", "page.html")
    assert done.exit_code == 0, done.stderr
    # What is given goes first, and another kind of file is written otherwise.
    Path("new.csv").write_text(frame.to_csv(index=False), encoding="utf-8")
    done = call("predict", "read", "new.csv", "--encoding", "utf-8", "--skip", "0")
    assert done.exit_code == 0, done.stderr
    frame.to_parquet("new.parquet")
    done = call("predict", "read", "new.parquet")
    assert done.exit_code == 0, done.stderr
    assert "the run was: --na -999." in done.stderr
