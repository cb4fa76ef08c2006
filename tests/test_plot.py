"""Displays carry the data behind the picture, and colours belong to cluster numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from clusterscape import ConsensusClustering, EnsembleGenerator
from clusterscape.plot import ConsensusMatrixDisplay, KSelectionDisplay, cluster_colors


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
    assert len(display.ax_.patches) == len(model.k_selection_.eigenvalues)
    given = ConsensusClustering(2).fit_ensemble([[0, 0, 1, 1]] * 2)
    with pytest.raises(ValueError, match="fit it with n_clusters=None"):
        KSelectionDisplay.from_estimator(given)


def test_colours_are_fixed_by_number():
    assert cluster_colors([2, 0])[1] == cluster_colors([0])[0]
    assert cluster_colors([-1, -2]) == ["#999999"] * 2
    assert cluster_colors([0]) == cluster_colors([12])
