"""Displays carry the data behind the picture, and colours belong to cluster numbers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from clusterscape import ConsensusClustering, Ensemble, EnsembleGenerator
from clusterscape.combine import SEC
from clusterscape.forest import ClusterForest
from clusterscape.generate import random_features
from clusterscape.plot import (
    ConsensusMatrixDisplay,
    ContingencyDisplay,
    FeatureOccurrenceDisplay,
    KSelectionDisplay,
    ScatterDisplay,
    TrajectoryDisplay,
    cluster_colors,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    X, _ = make_blobs(80, centers=3, random_state=0)
    generator = EnsembleGenerator(20, n_clusters=(4, 9))
    return ConsensusClustering(generator=generator, n_references=0, random_state=0).fit(X)


def test_consensus_matrix_is_the_permuted_coassociation(model, tmp_path):
    display = ConsensusMatrixDisplay.from_estimator(model)
    assert sorted(display.points) == list(range(80))
    assert (np.diff(display.labels) >= 0).all()
    dense = model.ensemble_.coassociation().toarray()
    np.testing.assert_allclose(display.matrix, dense[np.ix_(display.points, display.points)])
    np.testing.assert_array_equal(display.confidence, model.confidence_[display.points])
    assert display.ax_.figure is display.figure_
    display.figure_.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 5000


def test_a_sample_says_so(model):
    display = ConsensusMatrixDisplay.from_estimator(model, max_points=30)
    assert display.matrix.shape == (30, 30)
    assert "30 of 80 points" in display.ax_.get_title()


def test_display_draws_on_given_axes(model):
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert ConsensusMatrixDisplay.from_estimator(model, ax=ax).ax_ is ax
    assert KSelectionDisplay.from_estimator(model, ax=ax).ax_ is ax


def test_k_selection(model):
    display = KSelectionDisplay.from_estimator(model)
    # One bar per candidate, and the runner-up's in another colour.
    assert len(display.ax_.patches) == len(model.k_selection_.table)
    assert f"runner-up {model.k_selection_.runner_up}" in display.ax_.get_title()
    table = model.k_selection_.table
    curve = KSelectionDisplay.from_estimator(model, criterion="stability").ax_.lines[0]
    np.testing.assert_array_equal(curve.get_ydata(), table["stability"])
    with pytest.raises(ValueError, match="criterion='elbow' is not a column"):
        KSelectionDisplay(model.k_selection_).plot(criterion="elbow")
    forest = ClusterForest(n_vectors=5, random_state=0).fit(make_blobs(60, random_state=0)[0])
    display = KSelectionDisplay.from_estimator(forest)
    assert len(display.ax_.patches) == len(forest.k_selection_.eigenvalues)
    given = ConsensusClustering(2).fit_ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    with pytest.raises(ValueError, match="fit it with n_clusters=None"):
        KSelectionDisplay.from_estimator(given)


def test_colours_are_fixed_by_number():
    assert cluster_colors([2, 0])[1] == cluster_colors([0])[0]
    assert cluster_colors([-1, -2]) == ["#999999"] * 2
    assert len(set(cluster_colors(range(24)))) == 24
    assert cluster_colors([0]) == cluster_colors([24])


def test_scatter_draws_two_columns_as_they_are_and_others_by_components(model, tmp_path):
    X, _ = make_blobs(80, centers=3, random_state=0)
    display = ScatterDisplay.from_estimator(model, X)
    np.testing.assert_array_equal(display.coordinates, X)
    np.testing.assert_array_equal(display.confidence, model.confidence_)
    assert display.ax_.get_title() == f"{model.n_clusters_} clusters of 80 points"
    wide = np.column_stack([X, np.zeros(80), X[:, 0]])
    display = ScatterDisplay.from_estimator(model, wide)
    centred = wide - wide.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(display.coordinates), np.abs(left * values)[:, :2], atol=1e-9)
    assert "principal component 1" in display.ax_.get_xlabel()
    words = ScatterDisplay.from_estimator(model, sparse.csr_matrix(np.abs(wide)))
    assert words.ax_.get_xlabel() == "singular vector 1"
    words.figure_.savefig(tmp_path / "x.png")
    with pytest.raises(ValueError, match="the 80 points that the model was fitted to"):
        ScatterDisplay.from_estimator(model, X[:5])


# ---- many clusters ------------------------------------------------------------------------------


def many(k, seed=0):
    """Return an ensemble and labels of k clusters of very different sizes."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(k), rng.integers(3, 25, size=k))
    votes = [np.where(rng.random(labels.size) < 0.1, 0, labels) for _ in range(4)]
    return Ensemble.from_labels(votes), labels


def overlaps(boxes):
    """Return how many pairs of neighbours in a column of texts overlap by more than a pixel."""
    ordered = sorted(boxes, key=lambda box: box.y0)
    return sum(a.y1 > b.y0 + 1 for a, b in zip(ordered, ordered[1:], strict=False))


@pytest.mark.parametrize("k", [3, 16, 30])
def test_names_of_clusters_do_not_overlap(k):
    votes, labels = many(k)
    display = ConsensusMatrixDisplay.from_predictions(votes, labels)
    display.figure_.canvas.draw()
    texts = [t for t in display.ax_.texts if t.get_text()]
    texts = texts or [t for t in display.ax_.get_yticklabels() if t.get_text()]
    assert sorted(int(t.get_text()) for t in texts) == list(range(k))
    boxes = [t.get_window_extent() for t in texts]
    # Digits fill about two thirds of the height of a text's box.
    assert overlaps([box.expanded(1, 0.7) for box in boxes]) == 0


def test_more_clusters_than_lines_name_the_largest():
    votes, labels = many(120)
    display = ConsensusMatrixDisplay.from_predictions(votes, labels, max_points=5000)
    named = {int(t.get_text()) for t in display.ax_.texts}
    sizes = np.bincount(labels)
    assert 20 < len(named) < 120
    assert sizes[list(named)].min() >= np.delete(sizes, list(named)).max()


@pytest.mark.parametrize("k", [3, 16, 30, 60])
def test_every_cluster_has_a_colour_and_shape_of_its_own_in_the_legend(k):
    _, labels = many(k)
    points = np.random.default_rng(0).random((labels.size, 2))
    display = ScatterDisplay.from_predictions(points, labels)
    legend = display.ax_.get_legend()
    names = [t.get_text() for t in legend.get_texts()]
    assert names == [str(c) for c in range(min(k, 48))] + (["12 more"] if k == 60 else [])
    looks = {(h.get_color(), h.get_marker()) for h in legend.legend_handles[:48]}
    assert len(looks) == min(k, 48)


def test_fading_is_explained(model):
    X, _ = make_blobs(80, centers=3, random_state=0)
    display = ScatterDisplay.from_estimator(model, X)
    shown = display.ax_.get_legend()
    assert shown.get_title().get_text() == "confidence"
    assert [t.get_text() for t in shown.get_texts()] == ["1", "0.5", "0"]
    plain = ScatterDisplay.from_predictions(X, model.labels_)
    assert plain.ax_.get_legend().get_title().get_text() == "cluster"


@pytest.mark.filterwarnings("ignore::clusterscape.combine.OneOpinionWarning")
def test_one_opinion_is_reported_in_the_pictures():
    labels = np.repeat([0, 1], 10)
    one = ConsensusClustering(2).fit_ensemble([labels] * 3)
    matrix = ConsensusMatrixDisplay.from_estimator(one)
    assert any("no confidence" in ax.get_xlabel() for ax in matrix.figure_.axes)
    points = ScatterDisplay.from_estimator(one, np.column_stack([labels, labels]))
    assert "not claimed" in points.ax_.get_legend().get_title().get_text()


def test_predictions_are_checked():
    votes, labels = many(3)
    with pytest.raises(ValueError, match=r"labels must have one entry per point, \d+ in all"):
        ConsensusMatrixDisplay.from_predictions(votes, labels[:5])
    with pytest.raises(ValueError, match="confidence must have one entry for each of the"):
        ConsensusMatrixDisplay.from_predictions(votes, labels, confidence=[1.0])
    with pytest.raises(ValueError, match="labels must have one entry for each of the 3 points"):
        ScatterDisplay([[0, 0], [1, 1], [2, 2]], [0, 1])
    with pytest.raises(ValueError, match=r"labels must be cluster numbers.*numpy\.unique"):
        ScatterDisplay([[0, 0], [1, 1]], ["a", "b"])


def test_displays_that_do_not_fit_say_so():
    sec = SEC(2, random_state=0).fit([[0, 0, 1, 1], [0, 0, 0, 1]])
    with pytest.raises(ValueError, match="SEC keeps no record of how a number of clusters"):
        KSelectionDisplay.from_estimator(sec)
    with pytest.raises(ValueError, match="SEC follows no chain"):
        TrajectoryDisplay.from_estimator(sec)
    with pytest.raises(ValueError, match="no partition of the ensemble has a record of its col"):
        FeatureOccurrenceDisplay.from_estimator(sec)


def test_columns_of_any_model_that_drew_them():
    X, _ = make_blobs(60, centers=3, n_features=5, cluster_std=3.0, random_state=0)
    generator = random_features(8, n_clusters=(2, 4), ratio=0.4)
    model = ConsensusClustering(3, generator=generator, n_references=0, random_state=0).fit(X)
    display = FeatureOccurrenceDisplay.from_estimator(model)
    assert display.occurrence.shape == (8, 5)
    assert (display.occurrence.sum(axis=1) == 2).all()


def test_evolution_of_a_model_that_used_sca():
    X, _ = make_blobs(40, centers=3, cluster_std=2.0, random_state=0)
    model = ConsensusClustering(3, generator=EnsembleGenerator(20, n_clusters=(3, 6)))
    model.set_params(consensus="sca", n_references=0, random_state=0).fit(X)
    display = TrajectoryDisplay.from_estimator(model)
    assert display.trajectory is model.consensus_.trajectory_


def test_contingency_puts_what_belongs_together_on_the_diagonal():
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, 200)
    renamed = np.array([2, 0, 3, 1])[classes]
    display = ContingencyDisplay.from_predictions(classes, renamed, row_name="class")
    counts = display.table.to_numpy()
    assert (counts == np.diag(np.bincount(classes))).all()
    assert display.ax_.get_ylabel() == "class"
    assert [text.get_text() for text in display.ax_.texts] == [str(c) for c in np.diag(counts)]


def test_contingency_of_more_columns_than_rows_counts_every_point():
    rng = np.random.default_rng(1)
    coarse, fine = rng.integers(0, 3, 300), rng.integers(-1, 24, 300)
    display = ContingencyDisplay.from_predictions(coarse, fine)
    assert display.table.shape == (3, 25)
    assert display.table.to_numpy().sum() == 300
    for label in (-1, 5):
        together = (fine == label) & (coarse == 2)
        assert display.table.loc[2, label] == together.sum()
    assert not display.ax_.texts  # too many cells for numbers
