"""Displays of cluster forests: their attributes hold the data, and what is drawn is that."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.datasets import make_blobs

from clusterscape import ConsensusClustering, Ensemble
from clusterscape.combine import consensus_scores
from clusterscape.forest.estimator import ClusterForest
from clusterscape.forest.feature_profile import FeatureProfile, feature_profile
from clusterscape.generate import random_features
from clusterscape.plot import ConsensusMatrixDisplay
from clusterscape.plot.feature_occurrence import FeatureOccurrenceDisplay
from clusterscape.plot.feature_profile import FeatureProfileDisplay
from clusterscape.plot.gain import GainDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def classes():
    return make_blobs(60, centers=3, random_state=0)[1]


@pytest.fixture(scope="module")
def frame():
    X = make_blobs(60, centers=3, n_features=4, cluster_std=3.0, random_state=0)[0]
    X = np.column_stack([X, np.random.default_rng(0).normal(size=(60, 4))])
    return pd.DataFrame(X, columns=[f"column {c}" for c in "abcdefgh"])


@pytest.fixture(scope="module")
def model(frame):
    return ClusterForest(3, n_vectors=25, random_state=0).fit(frame)


def save(display, folder):
    """Write the picture: only then is everything of it drawn."""
    display.figure_.savefig(folder / "x.png", dpi=60)
    assert (folder / "x.png").stat().st_size > 1500


# ---- profile ----------------------------------------------------------------------------------


def profile(strengths, sampled=None):
    strengths = np.asarray(strengths, dtype=float)
    drawn = np.zeros(strengths.size, bool) if sampled is None else np.asarray(sampled, dtype=bool)
    return FeatureProfile(strengths, drawn, np.full(strengths.size, 9), None, 2, "pairs")


def heights(display):
    """Return the height of all bars together, bin by bin."""
    count = len(display.edges_) - 1
    return np.array([p.get_height() for p in display.ax_.patches]).reshape(-1, count)


def test_profile_is_the_histogram(tmp_path):
    found = profile([0.1, 0.11, 0.12, 0.5, 0.5, 0.9], [0, 0, 0, 0, 1, 0])
    display = FeatureProfileDisplay(found).plot(bins=4)
    own = np.histogram(found.strengths[~found.sampled], display.edges_)[0]
    both = np.histogram(found.strengths, display.edges_)[0]
    drawn = heights(display)
    np.testing.assert_array_equal(drawn[0], own)
    np.testing.assert_array_equal(drawn.sum(axis=0), both)
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == ["measured (5)", "too few values, drawn from the others (1)"]
    save(display, tmp_path)


def test_profile_of_features(frame, tmp_path):
    display = FeatureProfileDisplay.from_features(frame, 3, random_state=1, n_init=5)
    expected = feature_profile(frame, 3, random_state=1, n_init=5)
    np.testing.assert_array_equal(display.profile.strengths, expected.strengths)
    assert heights(display).sum() == 8
    assert display.ax_.get_legend() is None
    assert display.ax_.get_title() == "Feature profile: 8 columns, 3 clusters each"
    save(display, tmp_path)


def test_profile_names_the_columns_from_the_strongest(frame, tmp_path):
    display = FeatureProfileDisplay.from_features(frame, 3, random_state=1, n_init=5)
    names = [t.get_text() for t in display.names_ax_.get_yticklabels()]
    order = np.argsort(display.profile.strengths, kind="stable")
    assert names == [frame.columns[i] for i in order]
    dots = np.asarray(display.names_ax_.collections[-1].get_offsets())
    np.testing.assert_allclose(dots[:, 0], display.profile.strengths[order])
    assert display.names_ax_.get_xlabel().startswith("strength")
    many = FeatureProfileDisplay(display.profile).plot(max_names=7)
    assert many.names_ax_ is None
    assert many.ax_.get_xlabel().startswith("strength")
    unnamed = FeatureProfileDisplay(profile([0.3, 0.1])).plot()
    assert [t.get_text() for t in unnamed.names_ax_.get_yticklabels()] == ["column 1", "column 0"]


@pytest.mark.parametrize("strengths", [[0.0] * 5, [0.3], [0.2] * 300])
def test_profile_of_equal_strengths(strengths, tmp_path):
    display = FeatureProfileDisplay(profile(strengths)).plot()
    assert heights(display).sum() == len(strengths)
    save(display, tmp_path)


def test_profile_of_many_columns_has_few_bins():
    strengths = np.r_[np.random.default_rng(0).normal(1, 1e-3, 5000), 50.0]
    display = FeatureProfileDisplay(profile(strengths)).plot()
    assert heights(display).shape[1] == 60
    assert heights(display).sum() == 5001


# ---- occurrence -------------------------------------------------------------------------------


def dots(display):
    """Return the points drawn, as (vector, column)."""
    offsets = [np.asarray(drawn.get_offsets()) for drawn in display.ax_.collections]
    return {(int(y), int(x)) for x, y in np.concatenate(offsets)}


def bar_heights(display):
    ax = display.totals_ax_
    if ax.patches:
        return np.array([p.get_height() for p in ax.patches])
    return np.array([np.ptp(s[:, 1]) for s in ax.collections[0].get_segments()])


@pytest.mark.parametrize("d", [1, 13, 100])
def test_occurrence_draws_what_it_holds(d, tmp_path):
    rng = np.random.default_rng(0)
    used = rng.poisson(0.5, size=(20, d))
    used[0, 0] = 2
    display = FeatureOccurrenceDisplay(sparse.csr_matrix(used), highlight=[0]).plot()
    np.testing.assert_array_equal(display.totals, (used > 0).sum(axis=0))
    assert dots(display) == set(zip(*np.nonzero(used), strict=True))
    np.testing.assert_array_equal(bar_heights(display), display.totals)
    assert display.highlighted.sum() == 1
    shapes = set()
    for drawn in display.ax_.collections:
        marked = set(np.asarray(drawn.get_offsets())[:, 0]) == {0.0}
        colours = {to_hex(c).upper() for c in drawn.get_facecolors()}
        assert colours == ({"#D55E00"} if marked else {"#0072B2"})
        shapes.add(len(drawn.get_paths()[0].vertices))
    assert len(shapes) == min(d, 2)  # squares and discs: colour is not the only cue
    save(display, tmp_path)


def test_occurrence_of_a_forest(model, frame, tmp_path):
    display = FeatureOccurrenceDisplay.from_estimator(model, highlight=["column a", "column b"])
    assert display.names == tuple(frame.columns)
    np.testing.assert_allclose(display.totals / 25, model.feature_share_)
    np.testing.assert_array_equal(np.flatnonzero(display.highlighted), [0, 1])
    texts = [t.get_text() for t in display.totals_ax_.get_xticklabels()]
    assert texts == list(frame.columns)
    save(display, tmp_path)
    by_records = FeatureOccurrenceDisplay.from_estimator(model.ensemble_, names=frame.columns)
    assert (by_records.occurrence != display.occurrence).nnz == 0
    few = FeatureOccurrenceDisplay.from_estimator(model, max_names=3)
    assert few.totals_ax_.get_xlabel() == "column (0 to 7)"
    same = FeatureOccurrenceDisplay.from_estimator(model, n_features=len(frame.columns))
    assert (same.occurrence != display.occurrence).nnz == 0
    with pytest.raises(ValueError, match="n_features is 3, but the model was fitted to 8 columns"):
        FeatureOccurrenceDisplay.from_estimator(model, n_features=3)


def test_occurrence_of_an_ensemble():
    X = np.random.default_rng(0).normal(size=(30, 10))
    runs = random_features(6, n_clusters=2, random_state=0).generate(X)
    display = FeatureOccurrenceDisplay.from_estimator(runs, n_features=10)
    for i, record in enumerate(runs.records):
        assert {c for v, c in dots(display) if v == i} == set(record.columns)
    assert display.occurrence.shape == (6, 10)
    shown = FeatureOccurrenceDisplay.from_estimator(runs)
    assert shown.occurrence.shape[1] == max(r.columns.max() for r in runs.records) + 1


def test_long_names_are_cut():
    names = ["x" * 60, "short"]
    display = FeatureOccurrenceDisplay([[1, 1]], names=names).plot()
    texts = [t.get_text() for t in display.totals_ax_.get_xticklabels()]
    assert len(texts[0]) == 23
    assert texts[1] == "short"
    assert display.names == tuple(names)


def test_occurrence_on_given_axes(tmp_path):
    figure, axes = plt.subplots(1, 2, layout="constrained")
    display = FeatureOccurrenceDisplay([[1, 0], [1, 2]]).plot(ax=axes[0])
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    save(display, tmp_path)
    free = plt.figure().add_axes((0.2, 0.5, 0.7, 0.4))
    display = FeatureOccurrenceDisplay([[1, 0], [1, 2]]).plot(ax=free)
    np.testing.assert_array_equal(bar_heights(display), [2, 1])
    save(display, tmp_path)


def test_occurrence_refuses():
    with pytest.raises(ValueError, match="has a record of its columns"):
        FeatureOccurrenceDisplay.from_estimator(Ensemble.from_labels([[0, 1], [1, 0]]))
    with pytest.raises(ValueError, match="names has 1 entries for 2 columns"):
        FeatureOccurrenceDisplay([[1, 0]], names=["a"])
    with pytest.raises(ValueError, match="highlight names 'z'"):
        FeatureOccurrenceDisplay([[1, 0]], names=["a", "b"], highlight=["z"])
    with pytest.raises(ValueError, match="positions from 0 to 1"):
        FeatureOccurrenceDisplay([[1, 0]], highlight=[2])
    with pytest.raises(ValueError, match="mask of 3 entries for 2 columns"):
        FeatureOccurrenceDisplay([[1, 0]], highlight=[True, False, True])
    with pytest.raises(ValueError, match="nothing to show"):
        FeatureOccurrenceDisplay(np.empty((0, 3)))
    X = np.random.default_rng(0).normal(size=(20, 5))
    runs = random_features(8, n_clusters=2, random_state=0).generate(X)
    with pytest.raises(ValueError, match="the ensemble uses column 4"):
        FeatureOccurrenceDisplay.from_estimator(runs, n_features=2)


# ---- gain -------------------------------------------------------------------------------------


def test_gain(tmp_path):
    scores = pd.DataFrame(
        {"CF": [0.9, 0.7, 0.5], "EA": [0.6, 0.8, 0.5], "k-means": [0.6, 0.6, 0.6]},
        index=["wide", "narrow", "middle"],
    )
    sizes = {"wide": 500, "narrow": 13, "middle": 40}
    display = GainDisplay.from_scores(scores, sizes, score="accuracy")
    assert list(display.gains.index) == ["narrow", "middle", "wide"]
    np.testing.assert_array_equal(display.dimensions, [13, 40, 500])
    np.testing.assert_allclose(display.gains["CF"], [0.1, -0.1, 0.3])
    lines = {line.get_label(): line.get_ydata() for line in display.ax_.lines}
    np.testing.assert_allclose(lines["EA"], [0.2, -0.1, 0.0])
    texts = [t.get_text() for t in display.ax_.get_xticklabels()]
    assert texts == ["narrow\n13", "middle\n40", "wide\n500"]
    assert display.ax_.get_title() == "Gain over k-means"
    save(display, tmp_path)
    plain = GainDisplay.from_scores(scores.to_dict("list"), [500, 13, 40])
    np.testing.assert_allclose(plain.gains["CF"], display.gains["CF"])
    ax = plt.figure().subplots()
    assert GainDisplay(scores[["CF"]], [1, 2, 3]).plot(ax=ax).ax_ is ax


def test_gain_refuses():
    scores = pd.DataFrame({"CF": [0.9], "k-means": [0.6]}, index=["a"])
    with pytest.raises(ValueError, match="baseline='RP' is not a column of scores"):
        GainDisplay.from_scores(scores, [3], baseline="RP")
    with pytest.raises(ValueError, match="dimensions has no entry for a"):
        GainDisplay.from_scores(scores, {"b": 3})
    with pytest.raises(ValueError, match="one entry for each of the 1 data sets"):
        GainDisplay.from_scores(scores, [3, 4])
    with pytest.raises(ValueError, match="no method"):
        GainDisplay.from_scores(scores[["k-means"]], [3])


# ---- consensus matrix -------------------------------------------------------------------------


def test_consensus_matrix_of_a_forest(model, tmp_path):
    display = ConsensusMatrixDisplay.from_estimator(model)
    dense = model.ensemble_.coassociation().toarray()
    np.testing.assert_allclose(display.matrix, dense[np.ix_(display.points, display.points)])
    assert (np.diff(display.labels) >= 0).all()
    expected = consensus_scores(model.ensemble_, model.labels_).confidence
    np.testing.assert_array_equal(display.confidence, expected[display.points])
    save(display, tmp_path)


@pytest.mark.parametrize("scale", [None, 4.0])
def test_the_regularised_matrix_is_what_the_forest_cuts(frame, scale, tmp_path):
    model = ClusterForest(3, n_vectors=25, threshold=0.5, scale=scale, random_state=0).fit(frame)
    display = ConsensusMatrixDisplay.from_estimator(model, regularised=True)
    share = model.ensemble_.coassociation().toarray()
    np.fill_diagonal(share, 1.0)
    factor = 2.5 if scale is None else scale
    expected = np.exp(factor * np.where(share >= 0.5 - 1e-12, share, 0.0))
    np.testing.assert_allclose(display.matrix, expected[np.ix_(display.points, display.points)])
    assert display.scale == factor
    assert display.ax_.get_title().startswith("Regularised co-association")
    save(display, tmp_path)


@pytest.mark.parametrize("names", [False, True])
def test_consensus_matrix_by_classes(model, classes, names, tmp_path):
    given = np.array(["setosa", "versi", "virgi"])[classes] if names else classes
    display = ConsensusMatrixDisplay.from_estimator(model, order_by=given)
    np.testing.assert_array_equal(display.groups, np.sort(display.groups))
    np.testing.assert_array_equal(display.groups, given[display.points])
    np.testing.assert_array_equal(display.labels, model.labels_[display.points])
    assert "ordered by class (60 points)" in display.ax_.get_title()
    binned = ConsensusMatrixDisplay.from_estimator(model, order_by=given, max_points=20)
    np.testing.assert_array_equal(binned.groups, given[binned.points])
    assert "ordered by class (60 points in 2" in binned.ax_.get_title()
    texts = [t.get_text() for t in display.ax_.get_yticklabels()]
    assert texts == [str(g) for g in np.unique(given)]
    save(display, tmp_path)


def test_consensus_matrix_refuses(model):
    with pytest.raises(ValueError, match="one class for each of the 60 points"):
        ConsensusMatrixDisplay.from_estimator(model, order_by=[0, 1])
    other = ConsensusClustering(2).fit_ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    with pytest.raises(ValueError, match="ConsensusClustering has none"):
        ConsensusMatrixDisplay.from_estimator(other, regularised=True)
