"""Displays carry the data behind the picture, and colours belong to cluster numbers."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.legend import Legend
from scipy import sparse
from sklearn.datasets import make_blobs

from clusterscape import ConsensusClustering, Ensemble, EnsembleGenerator
from clusterscape.combine import SEC
from clusterscape.combine.result import KSelection
from clusterscape.forest import ClusterForest
from clusterscape.generate import random_features
from clusterscape.plot import (
    CellDisplay,
    ConsensusMatrixDisplay,
    ContingencyDisplay,
    DendrogramDisplay,
    FeatureOccurrenceDisplay,
    KSelectionDisplay,
    MethodCurvesDisplay,
    ScatterDisplay,
    SilhouetteDisplay,
    StabilityDisplay,
    TrajectoryDisplay,
    cluster_colors,
)
from clusterscape.plot.palette import cluster_marker


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


def test_bins_are_means_of_blocks_and_say_so(seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1, 2], [30, 20, 10])
    votes = np.column_stack([rng.integers(-2, 4, 60) for _ in range(7)])
    classes = np.array(["a", "b"])[labels % 2]
    display = ConsensusMatrixDisplay.from_predictions(
        Ensemble.from_labels(votes, orient="columns"),
        labels,
        confidence=np.ones(60),
        annotations={"class": classes},
        max_points=12,
    )
    assert "60 points in 12 bins" in display.ax_.get_title()
    assert display.sizes.sum() == 60
    assert (
        display.annotations["class"].tolist() == np.array(["a", "b"])[display.labels % 2].tolist()
    )
    # Every cell: co-occurrences over co-samplings of all pairs of different points of two bins.
    order = np.argsort(labels, kind="stable")
    bins = np.split(_order_of(display, votes, labels), np.cumsum(display.sizes)[:-1])
    assert sorted(np.concatenate(bins)) == sorted(order)
    for i, j in [(0, 0), (0, 1), (3, 11), (11, 11)]:
        pairs = [(x, y) for x in bins[i] for y in bins[j] if x != y]
        seen = sum(((votes[x] != -2) & (votes[y] != -2)).sum() for x, y in pairs)
        both = sum(((votes[x] == votes[y]) & (votes[x] >= 0)).sum() for x, y in pairs)
        assert display.matrix[i, j] == pytest.approx(both / seen if seen else 0.0)


def _order_of(display, votes, labels):
    from clusterscape.plot.consensus_matrix import _bins

    ensemble = Ensemble.from_labels(votes, orient="columns")
    return np.concatenate(_bins(ensemble, labels, len(display.sizes)))


def test_a_sample_of_a_regularised_matrix_says_so():
    X, _ = make_blobs(60, n_features=4, cluster_std=6.0, random_state=0)
    forest = ClusterForest(n_vectors=5, random_state=0).fit(X)
    display = ConsensusMatrixDisplay.from_estimator(forest, regularised=True, max_points=30)
    assert display.matrix.shape == (30, 30)
    assert "30 of 60 points" in display.ax_.get_title()


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
        KSelectionDisplay.from_selection(model.k_selection_, criterion="elbow")
    with pytest.raises(TypeError, match="draw it by from_selection"):
        KSelectionDisplay.from_estimator(model.k_selection_)
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
    assert words.ax_.get_xlabel() == "singular vector 2"  # the first is what all rows share
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


@pytest.mark.parametrize("k", [3, 26, 40])
def test_names_beside_bars_do_not_overlap(k):
    labels = np.repeat(np.arange(k), np.maximum(20 - np.arange(k), 2))  # most are small
    X = np.random.default_rng(0).normal(size=(labels.size, 2)) + 5 * labels[:, None]
    for display in (
        SilhouetteDisplay.from_predictions(X, labels),
        StabilityDisplay.from_predictions(X, labels),
    ):
        display.figure_.canvas.draw()
        ticks = [t for t in display.ax_.get_yticklabels() if t.get_text()]
        texts = ticks or [t for t in display.ax_.texts if t.get_text()]
        assert bool(ticks) == (k == 3)
        assert texts[0].get_text() == "0 (20)"
        assert len(texts) == k if k < 30 else 25 < len(texts) < k  # the largest, if not all fit
        boxes = [t.get_window_extent() for t in texts]
        assert overlaps([box.expanded(1, 0.7) for box in boxes]) == 0
        name = display.ax_.yaxis.label.get_window_extent()
        assert name.x0 >= 0
        assert name.x1 < min(box.x0 for box in boxes)


@pytest.mark.parametrize("k", [3, 30])
def test_both_legends_are_inside_the_picture(k):
    _, labels = many(k)
    points = np.random.default_rng(0).random((labels.size, 2))
    sure = np.linspace(0, 1, labels.size)
    figure = ScatterDisplay.from_predictions(points, labels, confidence=sure).figure_
    figure.canvas.draw()
    legends = figure.axes[0].findobj(Legend)
    assert len(legends) == 2
    for legend in legends:
        assert legend.get_window_extent().x1 <= figure.bbox.x1


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


# ---- every display, drawn and tabled ------------------------------------------------------------


def displays(model, X):
    """Return one of every display that labels, clusterings and features make."""
    from clusterscape import plot
    from clusterscape.forest import feature_profile

    other = model.ensemble_.labels[:, 0].astype(int)
    return {
        "consensus_matrix": ConsensusMatrixDisplay.from_estimator(
            model, annotations={"half": np.arange(80) // 40}
        ),
        "contingency": plot.ContingencyDisplay.from_predictions(model.labels_, other),
        "dendrogram": plot.DendrogramDisplay.from_ensemble(model.ensemble_, answer=model.labels_),
        "description": plot.DescriptionDisplay.from_estimator(model, X),
        "differences": plot.DifferencesDisplay.from_partitions(
            model.labels_, other, X, random_state=0
        ),
        "feature_occurrence": plot.FeatureOccurrenceDisplay([[1, 0], [0, 2]]).plot(),
        "feature_profile": plot.FeatureProfileDisplay(feature_profile(X, 3, random_state=0)).plot(),
        "gain": plot.GainDisplay({"ours": [1.0, 2.0]}, [4, 9]).plot(),
        "scatter": plot.ScatterDisplay.from_estimator(model, X),
        "silhouette": plot.SilhouetteDisplay.from_estimator(model, X),
        "tracking": plot.TrackingDisplay.from_labels({2: other, 3: model.labels_}),
        "transport": plot.TransportDisplay.from_partitions(model.labels_, other, X, random_state=0),
    }


def test_every_display_has_a_table_and_something_on_its_axes(model):
    X, _ = make_blobs(80, centers=3, random_state=0)
    for name, display in displays(model, X).items():
        table = display.to_frame()
        assert len(table), name
        assert table.notna().to_numpy().any(), name
        ax = display.ax_
        drawn = [*ax.lines, *ax.patches, *ax.collections, *ax.images]
        assert drawn, name
        assert display.figure_ is ax.figure
        # Something that is not the background reaches the pixels, whatever the version of fonts.
        display.figure_.set_dpi(40)
        display.figure_.canvas.draw()
        pixels = np.asarray(display.figure_.canvas.buffer_rgba())[..., :3]
        coloured = (pixels.max(axis=2).astype(int) - pixels.min(axis=2) > 40).mean()
        assert coloured > 0.001 or name == "dendrogram", name  # the tree is grey


def test_the_tables_are_what_is_drawn(model):
    X, _ = make_blobs(80, centers=3, random_state=0)
    made = displays(model, X)
    table = made["scatter"].to_frame()
    offsets = np.concatenate([c.get_offsets() for c in made["scatter"].ax_.collections[:3]])
    expected = table[["feature 0", "feature 1"]].to_numpy()
    np.testing.assert_allclose(np.sort(offsets, axis=0), np.sort(expected, axis=0))
    image = made["consensus_matrix"].ax_.images[0].get_array()
    np.testing.assert_allclose(made["consensus_matrix"].to_frame().iloc[:, 4:], image)
    bars = [bar.get_width() for bar in made["description"].ax_.patches]
    np.testing.assert_allclose(bars, made["description"].to_frame()["effect"])
    heights = {round(float(max(line.get_xdata())), 9) for line in made["dendrogram"].ax_.lines[:20]}
    merges = set(made["dendrogram"].to_frame()["distance"].round(9))
    assert heights <= merges


def test_a_tree_of_clusterings_joins_what_agrees():
    runs = [[0, 0, 1, 1, 2, 2], [1, 1, 2, 2, 0, 0], [0, 1, 0, 1, 0, 1]]
    found = DendrogramDisplay.from_ensemble(runs, names=["a", "b", "c"])
    assert found.to_frame().iloc[0].tolist() == ["a", "b", 0.0, 2]
    names = [t.get_text() for t in found.ax_.get_yticklabels()]
    assert sorted(names) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="metric must be one of"):
        DendrogramDisplay.from_ensemble(runs, metric="elbow")
    with pytest.raises(ValueError, match="needs two clusterings"):
        DendrogramDisplay.from_ensemble([[0, 0, 1]])


def test_shapes_and_colours_are_unique_for_many_clusters():
    looks = {(cluster_colors([c])[0], cluster_marker(c)) for c in range(144)}
    assert len(looks) == 144
    assert cluster_marker(0) != cluster_marker(1)  # colour is not the only cue


def test_curves_of_methods_are_means_with_their_deviations():
    table = pd.DataFrame(
        {
            "dataset": ["one"] * 4 + ["two"] * 2,
            "method": ["a", "a", "b", "b", "a", "b"],
            "c": [100, 100, 100, 200, 100, 100],
            "score": [0.2, 0.4, 0.5, 0.6, 0.7, 0.8],
        }
    )
    display = MethodCurvesDisplay(table, "c", measures=["score"]).plot()
    first = display.to_frame().iloc[0]
    assert (first["score"], first["score_std"]) == pytest.approx((0.3, 0.1))
    assert display.axes_.shape == (1, 2)
    lines = {line.get_label(): line for line in display.axes_[0, 0].lines}
    np.testing.assert_allclose(lines["b"].get_ydata(), [0.5, 0.6])
    assert len({line.get_marker() for line in lines.values()}) == 2  # not colour alone
    with pytest.raises(ValueError, match="it lacks \\['time'\\]"):
        MethodCurvesDisplay(table, "c", measures=["time"])
    with pytest.raises(ValueError, match="must not be empty"):
        MethodCurvesDisplay(table, "c", measures=[])


# ---- colour is not the only cue ---------------------------------------------------------------


def shapes(ax) -> int:
    """Return how many shapes of dots are drawn."""
    return len({c.get_paths()[0].vertices.tobytes() for c in ax.collections})


def test_clusters_of_a_cell_have_shapes_of_their_own() -> None:
    rng = np.random.default_rng(0)
    display = CellDisplay(
        rng.normal(size=(30, 2)), np.arange(30) % 3, centers=np.eye(3)[:, :2], point=[0, 0]
    ).plot()
    assert shapes(display.ax_) == 4  # a disc, a triangle, a square, and the cross of the point


def test_words_beside_a_matrix_have_letters() -> None:
    labels = np.repeat([0, 1], 20)
    runs = np.stack([labels, labels, np.arange(40) % 2], axis=1)
    halves = np.array(["left", "right"])[labels]
    display = ConsensusMatrixDisplay.from_predictions(runs, labels, annotations={"side": halves})
    side = display.figure_.axes[1]
    assert [text.get_text() for text in side.texts] == ["a", "b"]
    words = [text.get_text() for text in side.get_legend().get_texts()]
    assert words == ["side:", "a  left", "b  right"]
    by_class = ConsensusMatrixDisplay.from_predictions(runs, labels, order_by=halves[::-1])
    assert [text.get_text() for text in by_class.figure_.axes[1].texts] == ["1", "0"]


def test_the_runner_up_is_open_and_the_choice_full() -> None:
    ks = np.arange(2, 5)
    columns = {"k": ks, "score": np.array([1.0, 3.0, 0.5])}
    columns |= {"separation_rise": columns["score"], "chosen": np.array([1, 9, 0])}
    none = np.empty(0)
    selection = KSelection(
        3, "score", none, none, "", columns=columns, runner_up=2, choices=np.array([3] * 9 + [2])
    )
    found = KSelectionDisplay(selection).plot(criterion="score")
    marks = {line.get_label(): line for line in found.ax_.lines}
    assert marks["runner-up"].get_markerfacecolor() == "white"
    assert marks["chosen"].get_markerfacecolor() != "white"
    bars = KSelectionDisplay(selection).plot().ax_.patches
    assert [bar.get_hatch() for bar in bars[:3]] == ["///", "", ""]
