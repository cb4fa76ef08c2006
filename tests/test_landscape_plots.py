"""Pictures of a landscape, and its verb: what is drawn and written is what was found."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

from clusterscape.cli.app import app
from clusterscape.explore import Landscape
from clusterscape.plot import (
    ClusterImagesDisplay,
    DistanceDistributionDisplay,
    DistanceMatrixDisplay,
    LandscapeDisplay,
    QualityDistributionDisplay,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def corners() -> np.ndarray:
    rng = np.random.default_rng(0)
    places = np.array([[0, 0], [0, 8], [8, 0], [8, 8]])
    return np.repeat(places, 12, axis=0) + rng.normal(size=(48, 2))


@pytest.fixture(scope="module")
def landscape() -> Landscape:
    how = {"n_samples": 80, "burn_in": 10, "n_chains": 4, "n_representatives": 4}
    return Landscape(2, power=60.0, **how, random_state=0, progress=False).fit(corners())


def save(display, folder: Path) -> None:
    display.figure_.savefig(folder / "x.png", dpi=60)
    assert (folder / "x.png").stat().st_size > 1000


def test_the_map_shows_all_that_were_compared(landscape: Landscape, tmp_path: Path) -> None:
    display = LandscapeDisplay.from_estimator(landscape)
    groups = np.unique(landscape.groups_[landscape.compared_]).size
    dots, marks = display.ax_.collections[:groups], display.ax_.collections[groups:]
    assert sum(len(d.get_offsets()) for d in dots) == landscape.n_compared_
    chosen = landscape.embedding_[landscape.representative_indices_]
    np.testing.assert_allclose(np.concatenate([m.get_offsets() for m in marks]), chosen)
    # Groups differ in shape, not in colour alone.
    shapes = {tuple(d.get_paths()[0].vertices.ravel().round(6)) for d in dots}
    assert len(shapes) == groups
    table = display.to_frame()
    assert table.loc[table["count"].idxmax(), "count"] == landscape.counts_.max()
    np.testing.assert_array_equal(
        table.loc[table["representative"], "partition"], np.sort(landscape.representative_indices_)
    )
    save(display, tmp_path)


def test_any_clusterings_have_a_map_and_a_matrix(tmp_path: Path) -> None:
    runs = [[0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 0, 0], [0, 1, 0, 1, 0, 1], [0, 1, 0, 1, 1, 0]]
    map_ = LandscapeDisplay.from_ensemble(runs, answer=runs[0], n_groups=2)
    table = map_.to_frame()
    assert table["partition"].iloc[-1] == "answer"
    # The same partition under other names is at the same place, and in the group of the answer.
    places = table[["x", "y"]].to_numpy()
    assert places[[0, 1]] == pytest.approx(places[[4, 4]])
    assert table["group"].tolist() == [0, 0, 1, 1, 0]
    assert table["representative"].sum() == 2
    assert "answer" in [text.get_text() for text in map_.ax_.texts]
    save(map_, tmp_path)
    matrix = DistanceMatrixDisplay.from_ensemble(runs, answer=runs[0])
    far = matrix.to_frame()
    assert far.shape == (5, 5)
    expected = 1 - adjusted_rand_score(runs[0], runs[2])
    assert far.loc["answer", "p2 (k=2)"] == pytest.approx(expected)
    assert far.loc["answer", "p1 (k=3)"] == 0
    save(matrix, tmp_path)
    with pytest.raises(ValueError, match="needs two clusterings"):
        LandscapeDisplay.from_ensemble([runs[0]])


def test_distances_count_pairs_as_often_as_they_were_sampled(
    landscape: Landscape, tmp_path: Path
) -> None:
    display = DistanceDistributionDisplay.from_estimator(landscape)
    m = landscape.ensemble_.n_partitions
    assert display.weights.sum() == pytest.approx(m * (m - 1) / 2)
    assert display.representatives.size == 6
    save(display, tmp_path)


def test_the_matrix_is_that_of_the_representatives(landscape: Landscape, tmp_path: Path) -> None:
    display = DistanceMatrixDisplay.from_estimator(landscape)
    drawn = display.ax_.images[0].get_array()
    assert np.asarray(drawn) == pytest.approx(landscape.representative_distances_)
    save(display, tmp_path)


def test_quality_with_marks(landscape: Landscape, tmp_path: Path) -> None:
    best = landscape.quality_.max()
    display = QualityDistributionDisplay.from_estimator(
        landscape, others={"consensus": best}, reference=best
    )
    squares, circle = display.ax_.lines
    assert squares.get_xdata().max() == pytest.approx(1.0)
    assert circle.get_xdata() == pytest.approx([1.0])
    assert sum(p.get_height() for p in display.ax_.patches) == landscape.quality_.size
    save(display, tmp_path)
    with pytest.raises(ValueError, match="positive quality"):
        QualityDistributionDisplay.from_estimator(landscape, reference=-1.0)


def test_mean_images(tmp_path: Path) -> None:
    X = np.random.default_rng(0).normal(size=(30, 6))
    labels = np.repeat([0, 1, 2, -1], [15, 5, 8, 2])
    display = ClusterImagesDisplay.from_labels(X, labels, shape=(2, 3), max_clusters=2, order="F")
    assert display.clusters.tolist() == [0, 2]
    assert display.images[1].T.ravel() == pytest.approx(X[labels == 2].mean(axis=0))
    save(display, tmp_path)
    with pytest.raises(ValueError, match="2 x 2 = 4 columns"):
        ClusterImagesDisplay.from_labels(X, labels, shape=(2, 2))
    with pytest.raises(ValueError, match="'C' or 'F'"):
        ClusterImagesDisplay.from_labels(X, labels, shape=(2, 3), order="Z")


# -- the command -----------------------------------------------------------------------------------

QUICK = ("-k", "2", "--samples", "60", "--representatives", "3", "--scale", "none", "--seed", "1")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(corners(), columns=["east", "north"])
    frame.insert(0, "id", [f"p{i}" for i in range(48)])
    frame.to_csv("points.csv", index=False)
    return "points.csv"


def call(*words: str):
    return CliRunner().invoke(app, list(words))


def test_the_command_writes_the_representatives(table: str) -> None:
    done = call("landscape", table, "-o", "out.csv", "--map", "map.png", *QUICK)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    expected = Landscape(2, n_samples=60, n_representatives=3, random_state=1).fit(corners())
    frame = pd.read_csv("out.csv")
    assert list(frame.columns) == ["id", *(f"representative_{g}" for g in range(3))]
    assert list(frame["id"]) == [f"p{i}" for i in range(48)]
    assert (frame.iloc[:, 1:].to_numpy() == expected.representatives_.labels).all()
    assert Path("map.png").stat().st_size > 1500
    assert "group  share" in done.stderr
    assert sorted(columns.tolist() for columns in expected.views_) == [[0], [1]]
    named = [("east", "north")[columns[0]] for columns in expected.views_]
    shown = {named[v] for v in expected.to_frame()["view"] if v >= 0}
    assert shown
    for name in named:
        assert (f"best on {name} alone" in done.stderr) == (name in shown)


def test_the_command_prints_json(table: str) -> None:
    done = call("landscape", table, "--json", *QUICK)
    told = json.loads(done.stdout)
    assert [row["group"] for row in told["representatives"]] == [0, 1, 2]
    assert sum(row["share"] for row in told["representatives"]) == pytest.approx(1)


def test_the_command_refuses_unknown_names(table: str) -> None:
    for option in ("--quality", "--distance", "--grouping"):
        done = call("landscape", table, option, "other")
        assert done.exit_code == 2
        assert option in done.stderr


def test_the_command_takes_a_range_of_numbers(table: str) -> None:
    few = ("--samples", "40", "--representatives", "4", "--scale", "none", "--seed", "1")
    done = call("landscape", table, "-k", "2-3", "--json", *few)
    assert done.exit_code == 0, done.stderr
    assert {row["n_clusters"] for row in json.loads(done.stdout)["representatives"]} == {2, 3}
    done = call("landscape", table, "-k", "auto", *few)
    assert done.exit_code == 2
    assert "'auto' is not a number" in done.stderr


def test_groups_of_the_map_differ_by_shape_too() -> None:
    landscape = Landscape(2, n_samples=40, n_representatives=3, random_state=1).fit(corners())
    display = LandscapeDisplay.from_estimator(landscape)
    drawn = {path.get_paths()[0].vertices.tobytes() for path in display.ax_.collections}
    assert len(drawn) == np.unique(display.groups).size
    plt.close(display.figure_)
