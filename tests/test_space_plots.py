"""Pictures of distances in space: what is drawn is the plan, and the points' scores."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.patches import PathPatch
from scipy import sparse
from sklearn.datasets import make_blobs

from clusterscape.compare import explain
from clusterscape.plot import transport
from clusterscape.plot.differences import DifferencesDisplay
from clusterscape.plot.transport import TransportDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def points():
    return make_blobs(90, centers=3, cluster_std=2.0, random_state=0)


@pytest.fixture(scope="module")
def pair(points):
    """Three classes, and two clusters with noise, under names."""
    X, classes = points
    a = np.array(["left", "middle", "right"])[classes]
    b = np.where(X[:, 0] > np.median(X[:, 0]), 1, 0)
    b[:6] = -1
    return a, b


def save(display, folder):
    """Write the picture: only then is everything of it drawn."""
    display.figure_.savefig(folder / "x.png", dpi=60)
    assert (folder / "x.png").stat().st_size > 1500


def ribbons(ax):
    """Return where each ribbon leaves and arrives, its height on both sides, and its colour."""
    found = []
    for patch in ax.patches:
        if isinstance(patch, PathPatch):
            at = patch.get_path().vertices
            found.append((at[0, 1], at[3, 1], at[7, 1] - at[0, 1], at[4, 1] - at[3, 1], patch))
    return found


def bars(ax):
    """Return (left edge, top, height) of each cluster's bar."""
    found = [p for p in ax.patches if not isinstance(p, PathPatch)]
    return [(p.get_x(), p.get_y(), p.get_height()) for p in found]


def texts(ax):
    return [t.get_text() for t in ax.texts]


PLAN = pd.DataFrame([[0.3, 0.0], [0.1, 0.2], [0.0, 0.4]], index=["p", "q", -1], columns=[5, -1])
COSTS = pd.DataFrame([[0.0, 9.0], [0.5, 0.25], [9.0, 1.0]], index=PLAN.index, columns=PLAN.columns)


# ---- the plan ------------------------------------------------------------------------------------


def test_bars_and_ribbons_are_the_plan(tmp_path):
    display = TransportDisplay(PLAN, COSTS, names=("one", "two")).plot()
    ax = display.ax_
    assert display.distance == pytest.approx(0.1 * 0.5 + 0.2 * 0.25 + 0.4 * 1.0)
    assert ax.get_title() == "From one to two: distance 0.5"
    sides = sorted(bars(ax))
    np.testing.assert_allclose([h for _, _, h in sides], [0.3, 0.3, 0.4, 0.4, 0.6])
    drawn = ribbons(ax)
    assert len(drawn) == 4
    for start, end, leaving, arriving, _ in drawn:
        assert leaving == pytest.approx(arriving)
        # A ribbon lies within one bar on either side.
        for x, y in ((-transport._BAR, start), (1.0, end)):
            inside = [
                top - 1e-9 <= y and y + leaving <= top + height + 1e-9
                for edge, top, height in sides
                if edge == x
            ]
            assert sum(inside) == 1
    by_mass = {round(leaving, 6): patch for _, _, leaving, _, patch in drawn}
    shades = [np.sum(by_mass[mass].get_facecolor()[:3]) for mass in (0.3, 0.2, 0.1, 0.4)]
    assert shades == sorted(shades, reverse=True)  # the farther, the darker
    assert texts(ax).count("noise  40%") == 1
    assert {
        "p  30%",
        "q  30%",
        "noise  60%",
        "5  40%",
        "one\n3 clusters",
        "two\n2 clusters",
    } <= set(texts(ax))
    assert ax.figure is display.figure_
    save(display, tmp_path)


@given(st.integers(1, 7), st.integers(1, 7), st.integers(0, 10**6))
def test_ribbons_fill_the_bars(k, m, seed):
    rng = np.random.default_rng(seed)
    plan = rng.dirichlet(np.full(k * m, 0.3)).reshape(k, m)
    display = TransportDisplay(plan, rng.uniform(size=(k, m)))
    for axis in (0, 1):
        side = transport._Side(display.plan, axis, 0.02, 2.0)
        values = display.plan.to_numpy()
        np.testing.assert_allclose(side.mass, values.sum(axis=1 - axis))
        lanes, lengths = (side.lanes, values) if axis == 0 else (side.lanes.T, values.T)
        np.testing.assert_allclose(lanes[:, 0], side.top)
        np.testing.assert_allclose(lanes[:, 1:], (lanes + lengths)[:, :-1])
        np.testing.assert_allclose(side.top[1:] - (side.top + side.mass)[:-1], 0.02)
        middle = (side.top[0] + side.top[-1] + side.mass[-1]) / 2
        assert middle == pytest.approx(1.0)


def crossing(plan):
    """Count how much mass crosses how much, ribbon by ribbon."""
    moved = [(i, j, plan[i, j]) for i in range(len(plan)) for j in range(plan.shape[1])]
    return sum(p * q for i, j, p in moved for g, h, q in moved if i < g and j > h)


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6))
def test_the_order_saves_crossings(k, m, seed):
    rng = np.random.default_rng(seed)
    plan = rng.dirichlet(np.full(k * m, 0.2)).reshape(k, m)
    assert transport._crossing(plan) == pytest.approx(crossing(plan))
    rows, columns = transport._ordered(pd.DataFrame(plan))
    assert sorted(rows) == list(range(k))
    assert sorted(columns) == list(range(m))
    kept = np.argsort(transport._origins(plan), kind="stable")
    assert crossing(plan[np.ix_(rows, columns)]) <= crossing(plan[:, kept]) + 1e-12


def test_a_permutation_is_drawn_without_crossings():
    rng = np.random.default_rng(0)
    plan = np.diag(rng.dirichlet(np.ones(9)))[:, rng.permutation(9)]
    display = TransportDisplay(plan, np.ones((9, 9)))
    assert crossing(display.plan.to_numpy()) == 0
    assert list(display.plan.index) == list(range(9))  # the first partition stays as it comes


def test_noise_is_last():
    display = TransportDisplay(PLAN.iloc[::-1, ::-1], COSTS.iloc[::-1, ::-1])
    assert display.plan.index[-1] == -1
    assert display.plan.columns[-1] == -1
    pd.testing.assert_frame_equal(
        display.costs, COSTS.loc[list(display.plan.index), list(display.plan.columns)]
    )


@pytest.mark.parametrize("side", ["index", "columns"])
def test_noise_is_last_even_if_it_crosses(side):
    plan = pd.DataFrame(np.diag([0.5, 0.3, 0.2])).rename({0: -1}, axis=side)
    display = TransportDisplay(plan, np.ones((3, 3)))
    assert list(getattr(display.plan, side)) == [1, 2, -1]


def test_names_keep_apart_and_inside(tmp_path):
    plan = np.diag(np.r_[0.4, 0.3, 0.2, np.full(12, 0.1 / 12)])
    display = TransportDisplay(plan, np.ones_like(plan)).plot()
    display.figure_.canvas.draw()
    boxes = [t.get_window_extent() for t in display.ax_.texts if "%" in t.get_text()]
    assert len(boxes) == 30
    for side in (boxes[:15], boxes[15:]):
        for upper, lower in zip(side, side[1:], strict=False):
            assert lower.y1 <= upper.y0 + 0.5
    whole = display.figure_.bbox
    assert all(whole.y0 <= box.y0 and box.y1 <= whole.y1 for box in boxes)
    save(display, tmp_path)


def test_many_clusters_and_strange_names(tmp_path):
    long = "a very long name of a cluster that nobody would read"
    plan = pd.DataFrame(np.diag(np.full(50, 0.02)), columns=[long, "$x_1$", *range(48)])
    display = TransportDisplay(plan, np.ones((50, 50)), names=(long, "$b")).plot(max_names=49)
    assert not any("%" in text for text in texts(display.ax_))
    save(display, tmp_path)
    display.plot(max_names=50)
    assert f"{long[:22]}\N{HORIZONTAL ELLIPSIS}  2%" in texts(display.ax_)
    assert "$x_1$  2%" in texts(display.ax_)
    save(display, tmp_path)


def test_tiny_masses_and_equal_partitions(tmp_path):
    display = TransportDisplay([[0.999, 0.0], [0.0, 0.001]], np.zeros((2, 2))).plot()
    assert display.distance == 0
    assert "1  <1%" in texts(display.ax_)
    save(display, tmp_path)
    save(TransportDisplay([[1.0]], [[0.0]]).plot(), tmp_path)


@pytest.mark.parametrize(
    ("plan", "costs", "words"),
    [
        ([[0.5, 0.5]], [[1.0]], r"got shapes \(1, 2\) and \(1, 1\)"),
        (np.empty((0, 2)), np.empty((0, 2)), "one entry for each cluster"),
        ([[0.5, -0.1]], [[1.0, 1.0]], "masses of zero or more"),
        ([[np.nan]], [[1.0]], "nothing to draw when a partition has no cluster"),
        ([[0.0]], [[1.0]], "some of them positive"),
        ([[1.0]], [[np.nan]], "finite distances"),
    ],
)
def test_plans_that_cannot_be_drawn(plan, costs, words):
    with pytest.raises(ValueError, match=words):
        TransportDisplay(plan, costs)


def test_transport_of_partitions(points, pair, tmp_path):
    X, _ = points
    found = explain(*pair, X, bandwidth=2.0)
    display = TransportDisplay.from_partitions(*pair, X, bandwidth=2.0, names=("a", "b"))
    assert display.distance == pytest.approx(found.distance)
    order = (list(display.plan.index), list(display.plan.columns))
    pd.testing.assert_frame_equal(display.plan, found.plan.loc[order])
    pd.testing.assert_frame_equal(display.costs, found.costs.loc[order])
    assert display.plan.columns[-1] == -1
    ax = plt.figure().subplots()
    assert TransportDisplay.from_explanation(found, ax=ax).ax_ is ax
    assert TransportDisplay.from_explanation(found, max_names=1).plan.shape == (3, 3)
    save(display, tmp_path)


# ---- the points ----------------------------------------------------------------------------------


def test_points_are_drawn_by_their_scores(tmp_path):
    at = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0], [6.0, 7.0]])
    display = DifferencesDisplay(at, [0.5, 0.0, np.nan, 1.0], names=("one", "two")).plot()
    ax = display.ax_
    assert ax.get_title() == "Where one and two differ: half of it at 1 of 3 points"
    unseen, seen = ax.collections
    np.testing.assert_array_equal(unseen.get_offsets(), at[[2]])
    np.testing.assert_array_equal(seen.get_offsets(), at[[1, 0, 3]])  # high scores on top
    np.testing.assert_array_equal(seen.get_array(), [0.0, 0.5, 1.0])
    assert (np.diff(seen.get_sizes()) > 0).all()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["not in both (1)"]
    save(display, tmp_path)


def test_points_of_partitions(points, pair, tmp_path):
    X, _ = points
    found = explain(*pair, X)
    display = DifferencesDisplay.from_partitions(*pair, X)
    np.testing.assert_array_equal(display.coordinates, X)
    np.testing.assert_allclose(display.scores, found.points)
    assert display.ax_.get_xlabel() == "feature 0"
    save(display, tmp_path)
    named = DifferencesDisplay.from_explanation(found, pd.DataFrame(X, columns=["wide", "tall"]))
    assert (named.ax_.get_xlabel(), named.ax_.get_ylabel()) == ("wide", "tall")
    ax = plt.figure().subplots()
    assert DifferencesDisplay.from_explanation(found, X, ax=ax).ax_ is ax


def test_more_columns_are_drawn_by_components(points, tmp_path):
    X, _ = points
    wide = np.column_stack([X, np.zeros(90), X[:, 0]])
    explanation = SimpleNamespace(points=np.linspace(0, 1, 90))
    display = DifferencesDisplay.from_explanation(explanation, wide)
    centred = wide - wide.mean(axis=0)
    left, values, _ = np.linalg.svd(centred, full_matrices=False)
    np.testing.assert_allclose(np.abs(display.coordinates), np.abs(left * values)[:, :2], atol=1e-9)
    share = values[0] ** 2 / (values**2).sum()
    assert display.ax_.get_xlabel() == f"principal component 1 ({share:.0%})"
    words = DifferencesDisplay.from_explanation(explanation, sparse.csr_matrix(np.abs(wide)))
    assert words.ax_.get_ylabel() == "singular vector 3"
    save(words, tmp_path)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.integers(0, 10**6))
def test_the_fewest_points_that_make_half_of_the_difference(scores, seed):
    weights = np.random.default_rng(seed).integers(1, 4, size=len(scores))
    work = np.array(scores) * weights
    display = DifferencesDisplay(np.zeros((len(scores), 2)), scores, weights=weights)
    subsets = [work[list(c)].sum() for c in combinations(range(len(scores)), display.n_half)]
    assert 2 * max(subsets) >= work.sum()
    if work.sum() == 0:
        assert display.n_half == 0
    else:
        fewer = combinations(range(len(scores)), display.n_half - 1)
        assert 2 * max(work[list(c)].sum() for c in fewer) < work.sum()


def test_equal_partitions_have_pale_points(tmp_path):
    display = DifferencesDisplay(np.zeros((3, 2)), np.zeros(3)).plot()
    assert display.ax_.get_title() == "Where a and b differ: nowhere"
    save(display, tmp_path)
    save(DifferencesDisplay(np.zeros((2, 2)), np.full(2, np.nan)).plot(), tmp_path)


def test_points_that_cannot_be_drawn(points):
    explanation = SimpleNamespace(points=np.zeros(90))
    with pytest.raises(ValueError, match=r"X must have the 90 points that the two partitions have"):
        DifferencesDisplay.from_explanation(explanation, points[0][:80])
    with pytest.raises(ValueError, match="two columns or more"):
        DifferencesDisplay.from_explanation(explanation, points[0][:, :1])
    with pytest.raises(ValueError, match="one row for each of the scores"):
        DifferencesDisplay(np.zeros((3, 2)), np.zeros(4))


@pytest.mark.parametrize("columns", [2, 4])
def test_features_that_are_not_finite_are_refused(columns):
    X = np.random.default_rng(0).normal(size=(9, columns))
    X[3, 1] = np.nan
    explanation = SimpleNamespace(points=np.zeros(9))
    for features in (X, sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match="X must be finite; remove points with NaN"):
            DifferencesDisplay.from_explanation(explanation, features)
    with pytest.raises(ValueError, match="coordinates must be finite; remove points with NaN"):
        DifferencesDisplay(X[:, :2], np.zeros(9))


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1.0, 2.0], r"weights must have one entry per point, 3 in all; got shape \(2,\)"),
        ([1.0, -1.0, 2.0], "weights must be finite numbers >= 0; entry 1 is"),
        ([1.0, np.nan, 2.0], "weights must be finite numbers >= 0; entry 1 is"),
        (2.0, "weights must have one entry per point"),
    ],
)
def test_wrong_weights_are_named(weights, words):
    with pytest.raises(ValueError, match=words):
        DifferencesDisplay(np.zeros((3, 2)), np.ones(3), weights=weights)
