"""Spectral consensus against the dense normalised co-association, with every solver."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble, kernels
from clusterscape.combine import ConsensusWarning, spectral
from clusterscape.combine.spectral import SpectralConsensus
from clusterscape.datasets import make_planted_ensemble
from clusterscape.linalg import transfer_cut
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.ncut import ncut_value
from strategies import ensembles


def inside_some_cluster(ensemble):
    rows = (ensemble.labels >= 0).any(axis=1)
    keep = ensemble.n_clusters > 0
    if not rows.any() or not keep.any():
        return None
    return ensemble.select(keep).subset(rows)


def dense_spectrum(ensemble):
    """Eigenvalues and vectors of D^-1/2 S D^-1/2 of the weighted points, largest first."""
    matrix = ensemble.membership().matrix.toarray()
    S = (matrix * np.repeat(ensemble.weights, ensemble.n_clusters)) @ matrix.T
    scale = np.sqrt(ensemble.sample_weight / (S @ ensemble.sample_weight))
    values, vectors = np.linalg.eigh(scale[:, None] * S * scale)
    return values[::-1], vectors[:, ::-1]


def use_solver(monkeypatch, solver):
    if solver == "operator":
        monkeypatch.setattr(transfer_cut, "_GRAM_WIDTH", 0)


@given(ensembles(soft=False, unsampled=True))
def test_gram_of_the_clusters_is_counted_right(ensemble):
    matrix = ensemble.membership().matrix.toarray()
    width = matrix.shape[1]
    rng = np.random.default_rng(0)
    weights, scale = rng.random(ensemble.n_points), rng.random(width)
    out = np.empty((width, width))
    columns = np.ascontiguousarray(ensemble.labels.T)
    kernels.thresholded.cluster_gram(columns, ensemble.offsets, weights, scale, out)
    expected = scale[:, None] * (matrix.T @ (weights[:, None] * matrix)) * scale
    np.testing.assert_allclose(out, expected)


@given(ensembles(min_points=3), st.integers(1, 3), st.sampled_from(["unit", "degree"]))
def test_eigenvalues_and_cost_are_those_of_the_dense_matrix(ensemble, k, rows):
    work = inside_some_cluster(ensemble)
    assume(work is not None and work.n_points >= k)
    values = dense_spectrum(work)[0]
    for wanted in (k, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConsensusWarning)
            model = SpectralConsensus(wanted, rows=rows, n_init=2, random_state=0).fit(work)
        shown = model.eigenvalues_[: values.size]
        np.testing.assert_allclose(shown, values[: shown.size], atol=1e-8)
        counts = work.coassociation(normalize="counts")
        cut = ncut_value(counts, model.labels_, weights=work.sample_weight)
        assert model.cost_ == pytest.approx(cut, abs=1e-9)
        assert model.residual_ < 1e-6


def dense_rows(ensemble, k, rows):
    """Return what k-means is given, and the weights."""
    weight = ensemble.sample_weight
    vectors = dense_spectrum(ensemble)[1][:, :k] / np.sqrt(weight)[:, None]
    if rows == "unit":
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), weight
    degree = ensemble.coassociation(normalize="counts") @ weight
    return vectors / np.sqrt(degree)[:, None], weight * degree


@pytest.mark.parametrize("solver", ["gram", "operator"])
@pytest.mark.parametrize("rows", ["unit", "degree"])
def test_k_means_is_given_the_dense_eigenvectors(monkeypatch, solver, rows, seed):
    use_solver(monkeypatch, solver)
    rng = np.random.default_rng(seed)
    planted = rng.integers(0, 4, size=400)
    labels = np.column_stack(
        [np.where(rng.random(400) < 0.5, rng.integers(0, 6, 400), planted) for _ in range(12)]
    )
    weight = rng.integers(1, 4, size=400).astype(float)
    votes = Ensemble.from_labels(labels, sample_weight=weight, weights=rng.random(12) + 0.5)
    points, mass = dense_rows(votes, 4, rows)
    given_rows = []

    def heard(X, *args, **kwargs):
        given_rows.append((X, kwargs["sample_weight"]))
        return kmeans(X, *args, **kwargs)

    monkeypatch.setattr(spectral, "kmeans", heard)
    model = SpectralConsensus(4, rows=rows, n_init=20, random_state=0).fit(votes)
    X, weights = given_rows[0]
    # The signs of eigenvectors are arbitrary; inner products of rows do not depend on them.
    np.testing.assert_allclose(X @ X.T, points @ points.T, atol=1e-8 * np.abs(points).max() ** 2)
    np.testing.assert_allclose(weights, mass)
    twin = KMeans(4, n_init=20, tol=0, random_state=0).fit(points, sample_weight=mass)
    assert adjusted_rand_score(twin.labels_, model.labels_) > 0.97
    assert model.solver_.endswith("clusters")


@pytest.mark.parametrize("solver", ["gram", "operator"])
def test_a_sample_of_starts_goes_on_with_all_points(monkeypatch, solver):
    use_solver(monkeypatch, solver)
    votes, planted = make_planted_ensemble(3000, 30, n_clusters=5, k_range=(5, 20), random_state=1)
    whole = SpectralConsensus(5, random_state=0).fit(votes)
    monkeypatch.setattr(spectral, "_START_SIZE", 400)
    monkeypatch.setattr(transfer_cut, "_BLOCK", 4200)
    sampled = SpectralConsensus(5, random_state=0).fit(votes)
    assert (whole.start_size_, sampled.start_size_) == (3000, 400)
    np.testing.assert_array_equal(whole.labels_, sampled.labels_)
    assert adjusted_rand_score(planted, sampled.labels_) == 1.0


def test_k_means_of_a_sample_ends_where_all_points_rest(monkeypatch, seed):
    # Overlapping groups: the centres of 60 points are not those of all 1,500.
    rng = np.random.default_rng(seed)
    planted = rng.integers(0, 4, size=1500)
    labels = np.where(
        rng.random((1500, 12)) < 0.6, rng.integers(0, 6, (1500, 12)), planted[:, None]
    )
    votes = Ensemble.from_labels(labels)
    monkeypatch.setattr(spectral, "_START_SIZE", 60)
    model = SpectralConsensus(4, random_state=0).fit(votes)
    assert model.start_size_ == 60
    points, _ = dense_rows(votes, 4, "unit")
    centres = np.stack([points[model.labels_ == g].mean(axis=0) for g in range(4)])
    nearest = cdist(points, centres).argmin(axis=1)
    assert (nearest != model.labels_).mean() < 0.002


def test_the_number_of_clusters_is_found():
    votes, planted = make_planted_ensemble(800, 30, n_clusters=6, k_range=(6, 20), random_state=0)
    model = SpectralConsensus(random_state=0).fit(votes)
    assert model.n_clusters_ == 6
    assert model.gaps_[1:].argmax() == 4  # from two clusters on
    assert adjusted_rand_score(planted, model.labels_) == 1.0
    assert "eigengap" in model.k_rule()
    assert SpectralConsensus(3).k_rule() == ""
    assert SpectralConsensus(3, random_state=0).fit(votes).gaps_ is None
    assert SpectralConsensus(max_clusters=3, random_state=0).fit(votes).n_clusters_ <= 3


def test_weights_of_points_equal_copies_and_compression_changes_nothing():
    rng = np.random.default_rng(2)
    planted = np.repeat([0, 1, 2], 20)
    labels = np.column_stack(
        [np.where(rng.random(60) < 0.3, rng.integers(0, 3, 60), planted) for _ in range(8)]
    )
    copies = rng.integers(1, 4, size=60)
    weighted = SpectralConsensus(3, random_state=0).fit(labels, sample_weight=copies)
    repeated = SpectralConsensus(3, random_state=0).fit(np.repeat(labels, copies, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, copies), repeated.labels_)
    small, inverse = Ensemble.from_labels(np.repeat(labels, copies, axis=0)).compress()
    compressed = SpectralConsensus(3, random_state=0).fit(small)
    np.testing.assert_array_equal(compressed.labels_[inverse], repeated.labels_)
    assert compressed.cost_ == pytest.approx(repeated.cost_)


def test_more_clusters_than_groups_and_bad_settings():
    with pytest.warns(ConsensusWarning, match="only 2 groups of points"):
        model = SpectralConsensus(3, random_state=0).fit(Ensemble.from_labels([[0, 0, 1, 1]]))
    assert model.n_clusters_ == 2
    assert SpectralConsensus(random_state=0).fit([[0], [0], [0]]).n_clusters_ == 1
    with pytest.raises(ValueError, match="rows must be one of 'unit', 'degree'"):
        SpectralConsensus(2, rows="none").fit([[0, 1], [1, 1]])
