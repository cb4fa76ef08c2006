"""``clusterscape compare`` and ``explain`` with features: distances in space, or one sentence."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from clusterscape import Ensemble
from clusterscape.cli._app import app
from clusterscape.compare import MEASURES, pairwise
from clusterscape.compare.explain import explain

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
        "lift_emd looks at where the points lie, which labels do not say; give the table"
        in refused(*lift, code=2)
    )
    assert "vi does not look at features (" in refused(
        "compare", "labels.csv", "-m", "vi", "--features", "X.csv", code=2
    )
    assert "sees only which points are the same; leave them out" in refused(
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


def test_equal_clusterings_are_said(here: Path) -> None:
    frame = pd.read_csv("two.csv")
    frame.assign(moved=frame["true"]).to_csv("two.csv", index=False)
    done = call("explain", "two.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png")
    assert done.exit_code == 0, done.stderr
    assert "distance 0 (LiftEMD" in done.stderr
    assert "make" not in done.stderr


def test_explain_refuses(here: Path) -> None:
    two = ("explain", "two.csv", "--features", "X.csv")
    assert "lift_emd looks at where the points lie" in refused("explain", "two.csv", code=2)
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
    assert "no cluster" in refused(
        "explain", "unseen.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png"
    )


def test_nothing_is_written_when_a_file_fails(here: Path, monkeypatch) -> None:
    from clusterscape.plot.transport import TransportDisplay

    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(TransportDisplay, "plot", fail)
    words = ("explain", "two.csv", "--features", "X.csv", "-o", "m.csv", "--plot", "p.png")
    assert "No space left on device" in refused(*words)
