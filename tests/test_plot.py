"""Displays carry the data behind the picture, and colours belong to cluster numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from clusterscape import ConsensusClustering, EnsembleGenerator
from clusterscape.plot import (
    ConsensusMatrixDisplay,
    KSelectionDisplay,
    ScatterDisplay,
    cluster_colors,
)


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
