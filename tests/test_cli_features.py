"""``clusterscape compare`` and ``explain`` with features: distances in space, or one sentence."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape import Ensemble
from clusterscape.cli.app import app
from clusterscape.cli.console import sentence
from clusterscape.compare import MEASURES, explain, pairwise
from clusterscape.lifting import lift

SPATIAL = [name for name, measure in MEASURES.items() if measure.needs_features]


def call(*words: str, data: bytes | None = None):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(words), input=data)


def refused(*words: str, code: int = 1) -> str:
    """Return the one sentence of a command that must fail and write nothing."""
    before = {p: p.read_bytes() for p in Path.cwd().rglob("*") if p.is_file()}
    done = call(*words)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    assert {p: p.read_bytes() for p in Path.cwd().rglob("*") if p.is_file()} == before
    return " ".join(done.stderr.replace("│", " ").split())


def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 40 points of two groups, and three clusterings of them with noise and a gap."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.7, size=(20, 3)) for c in (0, 3)])
    X[:, 1] *= 100
    ids = [f"p{i}" for i in range(40)]
    features = pd.DataFrame(X, columns=["x", "y", "z"]).assign(id=ids)
    true = np.repeat(["low", "high"], 20)
    moved = np.where(np.arange(40) < 24, "one", "two").astype(object)
    third = np.arange(40) % 3
    third[5], third[9] = -1, -2
    labels = pd.DataFrame({"id": ids, "true": true, "moved": moved, "third": third})
    return features, labels


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """Write the labels and, in another order, the features to an empty folder."""
    monkeypatch.chdir(tmp_path)
    features, labels = data()
    features.sample(frac=1, random_state=1).to_csv("X.csv", index=False)
    labels.to_csv("labels.csv", index=False)
    labels[["id", "true", "moved"]].to_csv("two.csv", index=False)
    return tmp_path


def scaled() -> np.ndarray:
    X = data()[0][["x", "y", "z"]].to_numpy()
    return (X - X.mean(axis=0)) / X.std(axis=0)


def ensemble() -> Ensemble:
    return Ensemble.from_labels(data()[1][["true", "moved", "third"]])


def test_help() -> None:
    assert " explain " in call("--help").stdout
    for verb in ("compare", "explain"):
        text = call(verb, "-h").stdout
        for option in ("--features", "--kernel", "--bandwidth", "--components", "--seed"):
            assert option in text


# ---- compare ---------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", SPATIAL)
def test_every_measure_in_space_compares(here: Path, metric: str) -> None:
    done = call("compare", "labels.csv", "--metric", metric, "--features", "X.csv")
    assert done.exit_code == 0, done.stderr
    frame = pd.read_csv(io.StringIO(done.stdout), index_col=metric)
    assert list(frame.index) == list(frame.columns) == ["true", "moved", "third"]
    expected = pairwise(ensemble(), metric, features=scaled(), noise="cluster")
    np.testing.assert_allclose(frame.to_numpy(), expected.matrix, rtol=1e-4, atol=1e-7)
    assert f"{metric}: a {MEASURES[metric].direction}" in done.stderr
    assert "share only 98% of the points" in done.stderr


def test_options_reach_the_measure(here: Path) -> None:
    options = ("--kernel", "laplacian", "--bandwidth", "2.5", "--components", "64", "--seed", "7")
    words = ("compare", "labels.csv", "-m", "lift_emd", "--features", "X.csv", "--noise", "drop")
    done = call(*words, *options, "--json", "-q")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    given = {"kernel": "laplacian", "bandwidth": 2.5, "n_components": 64, "random_state": 7}
    assert found["options"] == given
    expected = pairwise(
        ensemble(), "lift_emd", features=scaled(), noise="drop", metric_params={"lift_emd": given}
    )
    np.testing.assert_allclose(found["matrix"], expected.matrix, rtol=1e-9, atol=1e-12)
    exact = call(*words, *options[:4], "--components", "exact", "--json", "-q")
    assert json.loads(exact.stdout)["options"]["n_components"] is None
    assert json.loads(exact.stdout)["matrix"] != found["matrix"]
    other = call(*words, *options[:-1], "8", "-j", "2", "--json", "-q")
    assert json.loads(other.stdout)["matrix"] != found["matrix"]
    raw = call(*words, *options, "--scale", "none", "--json", "-q")
    assert json.loads(raw.stdout)["matrix"] != found["matrix"]


def test_the_discrete_kernel_needs_no_features(here: Path) -> None:
    done = call("compare", "labels.csv", "-m", "lift_emd", "--kernel", "discrete", "-q")
    assert done.exit_code == 0, done.stderr
    given = {"lift_emd": {"kernel": "discrete"}}
    expected = pairwise(ensemble(), "lift_emd", noise="cluster", metric_params=given)
    frame = pd.read_csv(io.StringIO(done.stdout), index_col=0)
    np.testing.assert_allclose(frame.to_numpy(), expected.matrix, rtol=1e-4, atol=1e-7)


def test_measures_of_labels_are_as_they_were(here: Path) -> None:
    done = call("compare", "labels.csv", "-m", "vi", "-q")
    expected = pairwise(ensemble(), "vi", noise="singletons").matrix
    frame = pd.read_csv(io.StringIO(done.stdout), index_col=0)
    np.testing.assert_allclose(frame.to_numpy(), expected, rtol=1e-4, atol=1e-7)


def test_compare_refuses(here: Path) -> None:
    lift = ("compare", "labels.csv", "-m", "lift_emd")
    assert (
        "lift_emd depends on where the points lie, which labels do not say; give the table"
        in refused(*lift, code=2)
    )
    assert "vi does not use features (" in refused(
        "compare", "labels.csv", "-m", "vi", "--features", "X.csv", code=2
    )
    assert "the discrete kernel does not use features; leave them out" in refused(
        *lift, "--features", "X.csv", "--kernel", "discrete", code=2
    )
    words = refused("compare", "labels.csv", "-m", "nmi", "--bandwidth", "1", code=2)
    assert "Invalid value for --bandwidth" in words
    assert "nmi has no such option; leave it out, or choose one of lift_emd" in words
    assert "'round' is not one of gaussian, laplacian" in refused(
        *lift, "--kernel", "round", code=2
    )
    for value in ("0", "-1", "wide", "inf", "nan"):
        assert f"'{value}' is neither 'median' nor a positive number" in refused(
            *lift, "--bandwidth", value, code=2
        )
    for value in ("0", "7", "2.5", "many"):
        assert f"'{value}' is neither 'auto' nor 'exact' nor an even number" in refused(
            *lift, "--components", value, code=2
        )
    assert "'singletons' is not one of cluster, drop" in refused(
        *lift, "--features", "X.csv", "--noise", "singletons", code=2
    )
    assert "X.csv is the input itself" in refused(*lift, "--features", "X.csv", "-o", "X.csv")
    assert "can be given once" in refused(
        "compare", "-", "-m", "lift_emd", "--features", "-", code=2
    )
    Path("few.csv").write_text("id,a\np1,1\np2,2\n")
    assert "no row for 38 of the 40 points" in refused(*lift, "--features", "few.csv", code=2)


# ---- explain ---------------------------------------------------------------------------------


def expected(first: str = "true", second: str = "moved", **options):
    labels = data()[1]
    return explain(labels[first].to_numpy(), labels[second].to_numpy(), scaled(), **options)


def test_moves_to_stdout(here: Path) -> None:
    done = call("explain", "two.csv", "--features", "X.csv")
    assert done.exit_code == 0, done.stderr
    found = expected()
    frame = pd.read_csv(io.StringIO(done.stdout))
    assert list(frame.columns) == ["from", "to", "mass", "distance", "work", "share"]
    pd.testing.assert_frame_equal(frame, found.moves, rtol=1e-4, atol=1e-7, check_dtype=False)
    assert frame["work"].sum() == pytest.approx(found.distance, rel=1e-4)
    assert f"From true to moved: distance {found.distance:.4g} (LiftEMD;" in done.stderr
    assert "make up" not in done.stderr
    piped = call("explain", "-", "--features", "X.csv", "-q", data=Path("two.csv").read_bytes())
    assert piped.stdout == done.stdout
    assert piped.stderr == ""


def test_all_files(here: Path) -> None:
    files = ("-o", "moves.csv", "--points", "points.csv", "--plot", "plan.png")
    words = ("explain", "labels.csv", "--features", "X.csv", "--first", "third", "--second", "true")
    done = call(*words, *files)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    found = expected("third", "true")
    moves = pd.read_csv("moves.csv")
    np.testing.assert_allclose(moves["work"], found.moves["work"], rtol=1e-4, atol=1e-7)
    assert -1 in set(moves["from"])
    points = pd.read_csv("points.csv")
    assert list(points.columns) == ["id", "from", "to", "distance"]
    assert list(points["id"]) == [f"p{i}" for i in range(40)]
    np.testing.assert_array_equal(points["from"], data()[1]["third"])
    assert list(points["to"]) == list(data()[1]["true"])
    np.testing.assert_allclose(points["distance"], found.points, rtol=1e-4)
    assert np.isnan(points["distance"][9])
    assert Path("plan.png").read_bytes().startswith(b"\x89PNG")
    lines = done.stderr.splitlines()
    assert f"From third to true: distance {found.distance:.4g} (LiftEMD;" in done.stderr
    assert any("moves make up 100% of it:" in line for line in lines)
    rows = [line.split() for line in lines if line.startswith("  ")]
    assert rows[0] == ["from", "to", "points", "distance", "share"]
    assert "noise" in {row[0] for row in rows}
    assert rows[1][1] == found.moves["to"][0]
    assert rows[1][4] == f"{found.moves['share'][0]:.0%}"
    for name in ("moves.csv: all moves", "points.csv: both clusters", "plan.png: a picture"):
        assert any(line.startswith(name) for line in lines)
    assert sorted(p.name for p in here.iterdir()) == sorted(
        ["X.csv", "labels.csv", "two.csv", "moves.csv", "points.csv", "plan.png"]
    )


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_pictures_are_the_same_every_time(here: Path, ending: str) -> None:
    for name in ("a", "b"):
        words = ("explain", "two.csv", "--features", "X.csv", "-q")
        done = call(*words, "--plot", f"{name}.{ending}", "-o", f"{name}.csv")
        assert done.exit_code == 0, done.stderr
    assert Path(f"a.{ending}").read_bytes() == Path(f"b.{ending}").read_bytes()


def test_json(here: Path) -> None:
    words = ("explain", "labels.csv", "--features", "X.csv", "--first", "moved", "--second", "true")
    done = call(*words, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    wanted = expected("moved", "true")
    assert found["distance"] == pytest.approx(wanted.distance)
    assert (found["first"], found["second"]) == ("moved", "true")
    assert [move["work"] for move in found["moves"]] == pytest.approx(list(wanted.moves["work"]))
    assert found["points"]["id"][:2] == ["p0", "p1"]
    assert found["points"]["distance"] == pytest.approx(list(wanted.points))
    done = call(*words, "--json", "--points", "p.csv")
    found = json.loads(done.stdout)
    assert found["points"] == "p.csv"
    assert "output" not in found


def test_options_reach_the_explanation(here: Path) -> None:
    words = ("explain", "labels.csv", "--features", "X.csv", "--first", "true", "--second", "third")
    options = ("--kernel", "cauchy", "--bandwidth", "0.8", "--components", "32", "--seed", "3")
    done = call(*words, *options, "--noise", "drop", "--json")
    assert done.exit_code == 0, done.stderr
    given = {"kernel": "cauchy", "bandwidth": 0.8, "n_components": 32, "random_state": 3}
    wanted = expected("true", "third", noise="drop", **given)
    assert json.loads(done.stdout)["distance"] == pytest.approx(wanted.distance)
    done = call("explain", "two.csv", "--kernel", "discrete", "--json")
    labels = data()[1]
    wanted = explain(labels["true"].to_numpy(), labels["moved"].to_numpy(), kernel="discrete")
    assert json.loads(done.stdout)["distance"] == pytest.approx(wanted.distance)


def test_two_files_and_one_name(here: Path) -> None:
    labels = data()[1]
    labels[["id", "moved"]].sample(frac=1, random_state=2).to_csv("b.csv", index=False)
    labels[["id", "true"]].to_csv("a.csv", index=False)
    done = call("explain", "a.csv", "b.csv", "--features", "X.csv", "--json")
    found = json.loads(done.stdout)
    assert (found["first"], found["second"]) == ("a.csv", "b.csv")
    assert found["distance"] == pytest.approx(expected().distance)
    done = call("explain", "two.csv", "--features", "X.csv", "--json", "--first", "moved")
    assert json.loads(done.stdout)["second"] == "true"
    done = call("explain", "two.csv", "--features", "X.csv", "--json", "--second", "true")
    assert json.loads(done.stdout)["first"] == "moved"


def test_soft_and_weighted_ensembles(here: Path) -> None:
    rng = np.random.default_rng(0)
    soft = rng.dirichlet(np.ones(3), size=40)
    soft[3] = np.nan
    soft[4] = 0
    weights = rng.integers(1, 4, size=40).astype(float)
    hard = data()[1]["true"].to_numpy()
    made = Ensemble.from_labels([soft, hard], sample_weight=weights, index=data()[1]["id"])
    made.to_npz("e.npz")
    done = call("explain", "e.npz", "--features", "X.csv", "--json")
    assert done.exit_code == 0, done.stderr
    wanted = explain(soft, hard, scaled(), sample_weight=weights)
    found = json.loads(done.stdout)
    assert found["distance"] == pytest.approx(wanted.distance)
    assert found["points"]["distance"][3] is None
    assert -1 in {move["from"] for move in found["moves"]}


def test_long_names_are_cut_on_the_console(here: Path) -> None:
    long = "a very long name of a cluster that nobody would want to read"
    frame = pd.read_csv("two.csv").replace("one", long)
    frame.to_csv("two.csv", index=False)
    done = call("explain", "two.csv", "--features", "X.csv", "-o", "m.csv")
    assert long[:25] + "..." in done.stderr
    assert long in set(pd.read_csv("m.csv")["to"])


def test_equal_clusterings_are_reported(here: Path) -> None:
    frame = pd.read_csv("two.csv")
    frame.assign(moved=frame["true"]).to_csv("two.csv", index=False)
    done = call("explain", "two.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png")
    assert done.exit_code == 0, done.stderr
    assert "distance 0 (LiftEMD" in done.stderr
    assert "make" not in done.stderr


def test_explain_refuses(here: Path) -> None:
    two = ("explain", "two.csv", "--features", "X.csv")
    assert "lift_emd depends on where the points lie" in refused("explain", "two.csv", code=2)
    assert "there are 3 clusterings (true, moved, third); name the two" in refused(
        "explain", "labels.csv", "--features", "X.csv", code=2
    )
    assert "'red' is not one of true, moved" in refused(*two, "--first", "red", code=2)
    assert "true is the clustering to start from already" in refused(
        *two, "--first", "true", "--second", "true", code=2
    )
    pd.read_csv("two.csv")[["id", "true"]].to_csv("one.csv", index=False)
    assert "there is one clustering" in refused("explain", "one.csv", "--features", "X.csv")
    assert "m.txt must end in .csv" in refused(*two, "-o", "m.txt", code=2)
    assert "p.jpg must end in one of .png, .pdf, .svg" in refused(*two, "--plot", "p.jpg", code=2)
    assert "there is no folder nowhere" in refused(*two, "--points", "nowhere/p.csv")
    assert "X.csv is the input itself" in refused(*two, "--points", "X.csv")
    assert "name another place with --points" in refused(*two, "--points", "two.csv")
    assert "Invalid value for --points: m.csv is what --output writes already" in refused(
        *two, "-o", "m.csv", "--points", "./m.csv", code=2
    )
    Path("folder.csv").mkdir()
    assert "is a folder; name a file with --points" in refused(*two, "--points", "folder.csv")
    assert "'foo' is not one of cluster, drop" in refused(*two, "--noise", "foo", code=2)
    frame = pd.read_csv("two.csv").assign(moved=-2)
    frame.to_csv("unseen.csv", index=False)
    assert "moved has no cluster with a point in it" in refused(
        "explain", "unseen.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png"
    )


def test_nothing_is_written_when_a_file_fails(here: Path, monkeypatch) -> None:
    from clusterscape.plot.transport import TransportDisplay

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TransportDisplay, "plot", fail)
    words = ("explain", "two.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png")
    assert "No space left on device" in refused(*words)


# ---- labels and features together ------------------------------------------------------------


LIFT = ("--metric", "lift_emd", "--features")


def numbered(start: int = 100, order: int | None = 3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the features with numbers in a column ``sample``, and the labels with ``id``."""
    features, labels = data()
    features = features.drop(columns="id").assign(sample=np.arange(40) + start)
    features = features if order is None else features.sample(frac=1, random_state=order)
    return features, labels[["id", "true", "moved"]].assign(id=np.arange(40) + start)


def distance(*words: str) -> float:
    done = call("explain", *words, "--json", "-q")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["distance"]


@pytest.mark.parametrize("start", [100, 0])
@pytest.mark.parametrize("extra", [0, 3])
def test_ids_under_another_name_are_no_feature(here: Path, start: int, extra: int) -> None:
    features, labels = numbered(start)
    more = features.head(extra).assign(sample=np.arange(extra) + 900)
    pd.concat([more, features]).to_csv("s.csv", index=False)
    labels.to_csv("n.csv", index=False)
    for words in (
        ("explain", "n.csv", "--features", "s.csv"),
        ("compare", "n.csv", *LIFT, "s.csv"),
        ("combine", "n.csv", "--method", "lsce", "--features", "s.csv"),
    ):
        message = refused(*words, code=2)
        assert "the column 'sample' of s.csv holds the ids of the points of n.csv" in message
        assert "say --id-column s.csv=sample" in message
        assert "say --join order" in message
    for named in ("sample", "s.csv=sample"):
        found = distance("n.csv", "--features", "s.csv", "--id-column", named)
        assert found == pytest.approx(expected().distance)


def test_ids_that_only_count_are_matched(here: Path) -> None:
    features, labels = numbered(0)
    features.rename(columns={"sample": "id"}).to_csv("s.csv", index=False)
    labels.to_csv("n.csv", index=False)
    assert distance("n.csv", "--features", "s.csv") == pytest.approx(expected().distance)


def test_a_feature_may_look_like_the_ids(here: Path) -> None:
    features, labels = numbered(order=None)
    features.to_csv("s.csv", index=False)
    labels.to_csv("n.csv", index=False)
    X = features[["x", "y", "z", "sample"]].to_numpy()
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    wanted = explain(labels["true"].to_numpy(), labels["moved"].to_numpy(), X)
    found = distance("n.csv", "--features", "s.csv", "--exclude", "id")
    assert found == pytest.approx(wanted.distance)


def test_rows_are_matched_by_position_only_when_asked(here: Path) -> None:
    features, labels = data()
    features.drop(columns="id").to_csv("bare.csv", index=False)
    labels[["true", "moved"]].to_csv("l.csv", index=False)
    features.to_csv("named.csv", index=False)
    for one, two, have, lack in (
        ("two.csv", "bare.csv", "two.csv", "bare.csv"),
        ("l.csv", "named.csv", "named.csv", "l.csv"),
    ):
        message = refused("explain", one, "--features", two, code=2)
        assert f"{have} has ids and {lack} has none" in message
        assert "say --join order" in message
        done = call("explain", one, "--features", two, "--join", "order", "--json")
        assert f"matched by position: the first row of {two} is taken for" in done.stderr
        assert json.loads(done.stdout)["distance"] == pytest.approx(expected().distance)
    for one, two in (("two.csv", "X.csv"), ("l.csv", "bare.csv")):
        done = call("explain", one, "--features", two, "--json")
        assert "matched by position" not in done.stderr
        assert json.loads(done.stdout)["distance"] == pytest.approx(expected().distance)
    features.drop(columns="id").head(30).to_csv("bare.csv", index=False)
    assert "bare.csv has 30 rows and the clusterings 40 points; to be matched by" in refused(
        "explain", "l.csv", "--features", "bare.csv", code=2
    )


def test_ids_of_the_features_are_no_clustering(here: Path) -> None:
    features, labels = numbered()
    features.rename(columns={"sample": "id"}).to_csv("s.csv", index=False)
    labels.rename(columns={"id": "sample"}).to_csv("n.csv", index=False)
    message = refused("compare", "n.csv", *LIFT, "s.csv", code=2)
    assert "the column 'sample' of n.csv holds the ids of the rows of s.csv" in message
    found = distance("n.csv", "--features", "s.csv", "--id-column", "sample")
    assert found == pytest.approx(expected().distance)


def test_names_go_to_the_table_that_has_them(here: Path) -> None:
    features = pd.read_csv("X.csv")
    features.assign(site="north", gap=[np.nan, *range(39)]).to_csv("wide.csv", index=False)
    two = ("two.csv", "--features", "wide.csv")
    assert "--exclude site" in refused("explain", *two)
    assert "--exclude gap" in refused("explain", *two, "--exclude", "site")
    wanted = pytest.approx(expected().distance)
    assert distance(*two, "--exclude", "site,gap") == wanted
    assert distance(*two, "--exclude", "site", "--exclude", "gap") == wanted
    labels = ("labels.csv", "--features", "wide.csv")
    assert distance(*labels, "--exclude", "site,third,gap") == wanted
    piped = call(
        "explain", "-", *two[1:], "--exclude", "site,gap", "--json", data=Path(two[0]).read_bytes()
    )
    assert json.loads(piped.stdout)["distance"] == wanted
    piped = call(
        "explain", two[0], "--features", "-", "--exclude", "site,gap", "--json",
        data=Path("wide.csv").read_bytes(),
    )  # fmt: skip
    assert json.loads(piped.stdout)["distance"] == wanted
    done = call("combine", *two, "--method", "lsce", "--exclude", "site,gap", "-q")
    assert done.exit_code == 0, done.output
    for option in ("--exclude", "--id-column"):
        message = refused("explain", *two, option, "sit")
        assert "two.csv has no column 'sit'" in message
        assert "wide.csv has no column 'sit'; did you mean 'site'?" in message
    pd.read_csv("two.csv").rename(columns={"id": "key"}).to_csv("k.csv", index=False)
    assert distance("k.csv", "--features", "X.csv", "--id-column", "key") == wanted
    # A file with another column of ids is joined by it; one without would be left to its positions.
    both = call("compare", "k.csv", "two.csv", *LIFT, "X.csv", "--id-column", "key")
    assert both.exit_code == 0
    pd.read_csv("two.csv").drop(columns="id").to_csv("bare.csv", index=False)
    assert "bare.csv has no column 'key'" in refused(
        "compare", "k.csv", "bare.csv", *LIFT, "X.csv", "--id-column", "key"
    )


def test_names_reach_features_beside_an_ensemble(here: Path) -> None:
    labels = data()[1]
    made = Ensemble.from_labels(labels[["true", "moved"]], index=labels["id"])
    made.to_npz("e.npz")
    pd.read_csv("X.csv").rename(columns={"id": "key"}).assign(site="n").to_csv("k.csv", index=False)
    words = ("e.npz", "--features", "k.csv", "--exclude", "site")
    found = distance(*words, "--id-column", "key")
    assert found == pytest.approx(expected().distance)
    assert "k.csv has no column 'kez'" in refused("explain", *words, "--id-column", "kez")


def test_other_rows_do_not_change_the_answer(here: Path) -> None:
    features = pd.read_csv("X.csv")
    more = pd.DataFrame({"x": [1e3, -5e4], "y": [7.0, 1e6], "z": [0, 1e5], "id": ["other", "more"]})
    pd.concat([more, features]).to_csv("more.csv", index=False)
    for words in (("explain", "two.csv"), ("compare", "two.csv", "--metric", "lift_emd")):
        few, many = (call(*words, "--features", name, "-q") for name in ("X.csv", "more.csv"))
        assert few.exit_code == 0
        assert many.stdout == few.stdout


@pytest.mark.parametrize("components", [None, 64])
def test_limits_of_memory_are_worded_in_options(
    here: Path, monkeypatch, components: int | None
) -> None:
    with pytest.raises(MemoryError, match="max_gb") as caught:
        lift(ensemble(), scaled(), n_components=components, max_gb=1e-9)

    def fail(*_, **__):
        raise caught.value

    monkeypatch.setattr(sys.modules[explain.__module__], "lift", fail)
    message = refused("explain", "two.csv", "--features", "X.csv")
    assert "GB that are allowed. Take fewer clusters at a time, " in message
    assert message.endswith("(--components 1000)." if components is None else "(--components).")
    # A command without that option does not advise it.
    assert sentence(caught.value).endswith("allowed. Take fewer clusters at a time.")
