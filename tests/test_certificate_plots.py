"""Pictures of certificates: what is drawn is what was computed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances, silhouette_score

from clusterscape.plot import (
    AffinityMapDisplay,
    CellDisplay,
    GalleryDisplay,
    SilhouetteDisplay,
    StabilityDisplay,
)
from clusterscape.validate import Affinity, AffinityMap


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def points():
    return make_blobs(120, centers=4, random_state=0)


def drawn(display, folder) -> None:
    """Write the picture: only then is everything of it drawn."""
    display.figure_.savefig(folder / "x.png", dpi=60)
    assert (folder / "x.png").stat().st_size > 1500


def test_silhouettes_of_any_clusterer(points, tmp_path) -> None:
    X, _ = points
    model = KMeans(4, n_init=3, random_state=0).fit(X)
    display = SilhouetteDisplay.from_estimator(model, X)
    drawn(display, tmp_path)
    assert display.silhouettes.mean() == pytest.approx(silhouette_score(X, model.labels_))
    noisy = SilhouetteDisplay.from_estimator(DBSCAN(eps=0.7).fit(X), X)
    assert noisy.silhouettes.size < 120
    left_out = f"{120 - noisy.silhouettes.size} in no cluster left out"
    assert left_out in noisy.ax_.get_title()
    far = pairwise_distances(X)
    known = SilhouetteDisplay.from_estimator(DBSCAN(eps=0.7).fit(X), far, metric="precomputed")
    assert known.silhouettes == pytest.approx(noisy.silhouettes)
    few = SilhouetteDisplay.from_predictions(X, model.labels_, max_points=30)
    assert few.silhouettes.size == 30
    assert "sample of 30" in few.ax_.get_title()
    names = SilhouetteDisplay.from_predictions(X, np.array(list("abcd"))[model.labels_])
    assert [t.get_text()[0] for t in names.ax_.get_yticklabels()] == list("abcd")
    with pytest.raises(ValueError, match="need two clusters"):
        SilhouetteDisplay.from_predictions(X, np.zeros(120, int))
    with pytest.raises(ValueError, match="3 entries for 120 rows"):
        SilhouetteDisplay.from_predictions(X, [0, 1, 1])


def test_stabilities_are_sorted_within_clusters(points, tmp_path) -> None:
    X, labels = points
    labels = labels.copy()
    labels[:5] = -1
    made = Affinity().fit(X, labels)
    display = StabilityDisplay.from_estimator(made)
    drawn(display, tmp_path)
    texts = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert texts[-1] == "none (5)"
    bars = display.ax_.collections[0].get_paths()[0].vertices
    sigma = made.stability_[labels == 0]
    assert bars[:, 0].max() == pytest.approx(sigma.max())
    assert f"{made.aggregate_stability_:.2f}" in display.ax_.get_title()


@pytest.mark.parametrize("kind", ["heat", "contour", "grid"])
def test_maps(kind: str, points, tmp_path) -> None:
    X, labels = points
    refined = AffinityMap(max_depth=3).fit(X, labels)
    display = AffinityMapDisplay.from_estimator(refined, kind=kind)
    drawn(display, tmp_path)
    if kind == "heat":
        image = display.ax_.images[0]
        assert pytest.approx(refined.picture()) == np.asarray(image.get_array()).T


def test_axes_of_maps_say_what_they_are(points) -> None:
    X, labels = points
    wide = np.column_stack([X, X[:, 0] ** 2, X[:, 1]])
    for data, plane, expected in (
        (X, "auto", ""),
        (pd.DataFrame(X, columns=["width", "height"]), "auto", "width"),
        (wide, "auto", "principal component 1"),
        (wide, np.eye(4)[:2], "first direction"),
    ):
        refined = AffinityMap(max_depth=0, plane=plane).fit(data, labels)
        assert AffinityMapDisplay.from_estimator(refined).ax_.get_xlabel() == expected


def test_maps_that_cannot_be_drawn(points) -> None:
    X, labels = points
    with pytest.raises(ValueError, match="'heat', 'contour' or 'grid'"):
        AffinityMapDisplay(AffinityMap(max_depth=1).fit(X, labels)).plot(kind="hot")
    solid = AffinityMap(max_depth=0).fit(np.column_stack([X, X[:, 0] ** 2]), labels)
    with pytest.raises(ValueError, match="two dimensions"):
        AffinityMapDisplay(solid)


def test_the_cell_of_a_point_has_the_shares_of_the_point(points, tmp_path) -> None:
    X, labels = points
    made = Affinity().fit(X, labels)
    inside = made.representatives_.mean(axis=0)
    display = CellDisplay.from_estimator(made, inside, n_samples=4000, random_state=0)
    drawn(display, tmp_path)
    share = np.bincount(display.owners, minlength=4) / 4000
    assert share == pytest.approx(made.score(inside[None]).shares[0], abs=0.05)
    with pytest.raises(ValueError, match="not bounded"):
        CellDisplay.from_estimator(made, X.max(axis=0) + 9)


def test_the_gallery_shows_extremes(tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)) + 3 * np.eye(3, 6)[np.arange(60) % 3]
    made = Affinity().fit(X, np.arange(60) % 3)
    display = GalleryDisplay.from_estimator(made, X, shape=(2, 3), among=1, random_state=0)
    drawn(display, tmp_path)
    members = np.flatnonzero(made.labels_ == 1)
    best = members[made.stability_[members].argmax()]
    assert display.images[0, 1].ravel() == pytest.approx(X[best])
    with pytest.raises(ValueError, match="2 x 2 = 4 columns"):
        GalleryDisplay.from_estimator(made, X, shape=(2, 2))


def test_every_picture_gives_its_table(points) -> None:
    X, labels = points
    made = Affinity().fit(X, labels)
    bars = StabilityDisplay.from_predictions(X, labels)
    np.testing.assert_allclose(bars.to_frame()["stability"], made.stability_)
    some = SilhouetteDisplay.from_predictions(X, labels, max_points=30)
    assert len(some.to_frame()) == 30
    np.testing.assert_array_equal(some.to_frame()["cluster"], labels[some.to_frame().index])
    gallery = GalleryDisplay.from_estimator(made, X, shape=(1, 2), random_state=0)
    assert len(gallery.table) == 8
    first = gallery.table.iloc[0]
    assert first["stability"] == made.stability_[first["id"]]
    np.testing.assert_array_equal(gallery.images[0, 0].ravel(), X[first["id"]])
    cell = CellDisplay.from_estimator(made, made.representatives_.mean(axis=0), random_state=0)
    assert len(cell.to_frame()) == 1000
    picture = AffinityMapDisplay(AffinityMap(max_depth=2).fit(X, labels))
    assert len(picture.to_frame()) == picture.refined.n_evaluations_
