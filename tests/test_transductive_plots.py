"""Pictures of transductive machines: what is drawn is what was computed."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.svm import SVC

from clusterscape.plot import (
    BoundaryDisplay,
    SamplingRateDisplay,
    ScoreMapDisplay,
    SupportVectorDisplay,
)
from clusterscape.semisupervised import SupportVectorDistances, TransductiveSVC

# Whether unlabelled points help is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::clusterscape.semisupervised.TransductionWarning")


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    X, y = make_moons(300, noise=0.12, random_state=0)
    y[20:] = -1
    return X, y, TransductiveSVC(subsample=0.2, random_state=0).fit(X, y)


def drawn(display, folder) -> None:
    """Write the picture: only then is everything of it drawn."""
    display.figure_.savefig(folder / "x.png", dpi=60)
    assert (folder / "x.png").stat().st_size > 1500


def test_boundary_is_where_the_decision_changes_sign(fitted, tmp_path) -> None:
    X, y, model = fitted
    alone = SVC().fit(X[:20], y[:20])
    display = BoundaryDisplay.from_estimator(model, X, y, other=alone)
    drawn(display, tmp_path)
    places = np.stack([display.xx.ravel(), display.yy.ravel()], axis=1)
    assert np.allclose(display.decision.ravel(), model.decision_function(places))
    assert np.allclose(display.other.ravel(), alone.decision_function(places))
    assert np.array_equal(display.sample, model.sample_indices_)
    lines = [c for c in display.ax_.collections if hasattr(c, "levels")]
    assert [list(c.levels) for c in lines] == [[-1, 0, 1], [-1, 0, 1]]
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["TransductiveSVC", "SVC", "margins", "drawn points"]
    whole = TransductiveSVC().fit(X, y)
    assert BoundaryDisplay.from_estimator(whole, X, y).sample.size == 0


def test_boundaries_need_two_classes_and_two_columns() -> None:
    X, y = load_iris(return_X_y=True)
    model = TransductiveSVC().fit(X[:, :2], y)
    with pytest.raises(ValueError, match="3 classes"):
        BoundaryDisplay.from_estimator(model, X[:, :2], y)


@pytest.mark.parametrize("score", ["entropy", "uncertainty", "both"])
def test_scores_are_those_of_the_model(fitted, score, tmp_path) -> None:
    X, y, model = fitted
    display = ScoreMapDisplay.from_estimator(model, X, y, score=score)
    drawn(display, tmp_path)
    values = {"entropy": model.entropy_, "uncertainty": model.uncertainty_}
    expected = values.get(score, model.entropy_ * model.uncertainty_)
    assert np.array_equal(display.scores, expected)
    assert np.array_equal(display.points, X[y == -1])
    shown = display.ax_.collections[0].get_array()
    assert np.array_equal(shown, np.sort(expected))


def test_a_model_without_scores_says_so(fitted) -> None:
    X, y, _ = fitted
    with pytest.raises(ValueError, match="subsample"):
        ScoreMapDisplay.from_estimator(TransductiveSVC().fit(X, y), X, y)
    with pytest.raises(ValueError, match="score"):
        ScoreMapDisplay.from_estimator(fitted[2], X, y, score="none")


def test_curves_and_bars_show_means(tmp_path) -> None:
    runs = {"adaptive": [[0.9, 0.92], [0.94, 0.96]], "uniform": [[0.8, 0.9], [0.9, 0.9]]}
    display = SamplingRateDisplay([0.01, 0.1], runs, lines={"SVC": 0.91}).plot()
    drawn(display, tmp_path)
    curve = display.ax_.containers[0].lines[0]
    assert np.allclose(curve.get_ydata(), [0.91, 0.95])
    assert [t.get_text() for t in display.ax_.get_legend().texts].count("SVC") == 1
    bars = SupportVectorDisplay({"a": [SupportVectorDistances(0.1, 0.3), (0.3, 0.5)]}).plot()
    drawn(bars, tmp_path)
    assert np.allclose([p.get_height() for p in bars.ax_.patches], [0.2, 0.4])
    with pytest.raises(ValueError, match="2 rates"):
        SamplingRateDisplay([0.01, 0.1], {"a": [[1.0]]})
