"""The sparse random projection, projected rows, and SEC on them."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.random import SeedSequence
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape.combine import ConsensusWarning, sec
from clusterscape.combine.eci import column_weights
from clusterscape.combine.sec import SEC
from clusterscape.linalg.projection import sparse_projection
from clusterscape.linalg.rowspace import DenseRows
from strategies import ensembles


def planted_votes(rng, n=300, r=10, k=3, cells=4, wrong=0.05):
    """Partitions that cut k planted clusters into cells, with some errors."""
    planted = np.repeat(np.arange(k), n // k)
    labels = np.column_stack([planted * cells + rng.integers(0, cells, n) for _ in range(r)])
    labels[rng.random(labels.shape) < wrong] = 0
    return planted, labels


def weighted_rows(ensemble):
    """The rows b(x) / w(x) with the partitions' weights, and their weights in the k-means."""
    B = ensemble.membership().matrix.toarray()
    B = B * np.sqrt(np.repeat(ensemble.weights, ensemble.n_clusters))
    w = B @ (B.T @ ensemble.sample_weight)
    return B / w[:, None], ensemble.sample_weight * w


def objective(rows, mass, labels):
    """Weighted k-means cost of a grouping."""
    cost = 0.0
    for g in np.unique(labels):
        inside = labels == g
        centre = np.average(rows[inside], axis=0, weights=mass[inside])
        cost += mass[inside] @ ((rows[inside] - centre) ** 2).sum(axis=1)
    return cost


# -- the matrix ---------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(1, 25), st.integers(1, 25), st.integers(0, 5))
def test_every_row_has_one_entry_in_each_block(n_inputs, n_dims, n_blocks, seed):
    if n_blocks > n_dims:
        with pytest.raises(ValueError, match="n_blocks=.* is more than n_dims"):
            sparse_projection(n_inputs, n_dims, n_blocks=n_blocks, seed=seed)
        return
    R = sparse_projection(n_inputs, n_dims, n_blocks=n_blocks, seed=seed).matrix().toarray()
    assert R.shape == (n_inputs, n_dims)
    ends = np.cumsum([n_dims // n_blocks + (b < n_dims % n_blocks) for b in range(n_blocks)])
    for block in np.split(R, ends[:-1], axis=1):
        assert (np.count_nonzero(block, axis=1) == 1).all()
    np.testing.assert_allclose(np.abs(R[R != 0]), 1 / np.sqrt(n_blocks))


@pytest.mark.parametrize("n_blocks", [1, 4, 7])
def test_squared_lengths_are_kept_on_average(n_blocks):
    x = np.random.default_rng(0).normal(size=60)
    x /= np.linalg.norm(x)
    lengths = [
        float((sparse_projection(60, 20, n_blocks=n_blocks, seed=s).project(x[None]) ** 2).sum())
        for s in range(1500)
    ]
    assert np.mean(lengths) == pytest.approx(1.0, abs=4 * np.sqrt(2 / 20 / 1500))
    assert np.var(lengths) == pytest.approx(2 / 20, rel=0.25)


def test_places_and_signs_are_uniform():
    projection = sparse_projection(8000, 10, n_blocks=2, seed=0)
    counts = np.bincount(projection.places.ravel(), minlength=10)
    assert counts.min() > 1450
    assert abs(projection.signs.mean()) < 0.03


@given(ensembles(soft=False), st.integers(1, 4), st.integers(0, 5))
def test_product_with_labels_is_the_product_with_b(ensemble, n_blocks, seed):
    width = int(ensemble.offsets[-1])
    assume(width != 0)
    projection = sparse_projection(width, 6, n_blocks=n_blocks, seed=seed)
    scale = np.random.default_rng(seed).random(width)
    found = projection.project_labels(ensemble.labels, ensemble.offsets, column_scale=scale)
    B = ensemble.membership().matrix
    np.testing.assert_allclose(
        found, B.toarray() @ np.diag(scale) @ projection.matrix().toarray(), atol=1e-6
    )
    plain = projection.project_labels(ensemble.labels, ensemble.offsets)
    for form in (B, B.toarray()):
        np.testing.assert_allclose(plain, projection.project(form), atol=1e-6)


def test_projection_refuses_other_widths():
    projection = sparse_projection(5, 3, n_blocks=1, seed=0)
    with pytest.raises(ValueError, match="takes rows of 5 values"):
        projection.project(np.ones((2, 4)))
    with pytest.raises(ValueError, match="B has 4 columns"):
        projection.project_labels(np.zeros((2, 1), int), np.array([0, 4]))
    same = sparse_projection(5, 3, n_blocks=1, seed=0).matrix()
    assert (same != projection.matrix()).nnz == 0
    other = sparse_projection(5, 3, n_blocks=1, seed=1).matrix()
    assert (other != projection.matrix()).nnz > 0


# -- dense rows ---------------------------------------------------------------------------------


def test_dense_rows_score_and_sum_like_numpy():
    rng = np.random.default_rng(0)
    X, table, norms = rng.normal(size=(50, 4)), rng.normal(size=(4, 3)), rng.random(3)
    scale, weight = rng.random(50), rng.random(50)
    norms[1] = np.inf
    groups = np.full(50, -1, dtype=np.int32)
    rows = DenseRows(X)
    moved, values = rows.assign(table, norms, scale=scale, groups=groups)
    scores = norms - scale[:, None] * (X @ table)
    np.testing.assert_array_equal(groups, scores.argmin(axis=1))
    np.testing.assert_allclose(values, scores.min(axis=1))
    assert moved == 50
    assert rows.assign(table, norms, scale=scale, groups=groups)[0] == 0
    hot = np.eye(3)[groups] * weight[:, None]
    for sums in (rows.totals(groups, weight, 3), rows.update(table, None, groups, weight)):
        np.testing.assert_allclose(sums, X.T @ hot)
    np.testing.assert_array_equal(rows.subset(np.array([3, 1])).matrix, X[[3, 1]])
    np.testing.assert_array_equal(rows.row(7)[1], X[7])


# -- SEC on projected rows ----------------------------------------------------------------------


@pytest.mark.parametrize("projection", ["sparse", "svd"])
def test_projected_sec_recovers_planted_clusters_and_reports_its_cost(projection, seed):
    rng = np.random.default_rng(seed)
    planted, labels = planted_votes(rng)
    votes = Ensemble.from_labels(labels, weights=rng.random(10) + 0.5)
    model = SEC(3, projection=projection, n_dims=60, random_state=seed).fit(votes)
    assert adjusted_rand_score(planted, model.labels_) > 0.9
    assert model.n_dims_ == 60
    assert model.cost_ == pytest.approx(objective(*weighted_rows(votes), model.labels_))
    plain = SEC(3, random_state=seed).fit(votes)
    assert plain.n_dims_ is None
    assert plain.projection_error_ is None
    assert plain.cost_ <= model.cost_ <= 1.05 * plain.cost_


def test_more_dimensions_keep_the_cost_better():
    _, labels = planted_votes(np.random.default_rng(1), n=600, r=20, cells=10)
    plain = SEC(3, random_state=0).fit(labels).cost_
    errors, excess = np.zeros((2, 2))
    for seed in range(6):
        for j, n_dims in enumerate((10, 400)):
            model = SEC(3, projection="sparse", n_dims=n_dims, polish=0, random_state=seed).fit(
                labels
            )
            errors[j] += model.projection_error_ / 6
            excess[j] += (model.cost_ / plain - 1) / 6
    assert errors[1] < min(0.02, errors[0] / 2)
    assert excess[1] < 0.002 < excess[0]


@pytest.mark.parametrize("projection", ["sparse", "svd"])
@given(ensembles(min_points=6), st.integers(0, 99))
def test_polishing_never_raises_the_cost(projection, ensemble, seed):
    inside = (ensemble.labels >= 0).any(axis=1) & (ensemble.sample_weight > 0)
    assume(inside.sum() >= 3)
    n_dims = min(4, int(ensemble.offsets[-1]) - 1)
    assume(n_dims >= 1)
    how = {"projection": projection, "n_dims": n_dims, "n_blocks": 1, "n_init": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        costs = [
            SEC(3, **how, polish=polish, random_state=seed).fit(ensemble).cost_
            for polish in (0, 1, 2, 50)
        ]
    assert all(b <= a + 1e-9 * (1 + abs(a)) for a, b in itertools.pairwise(costs))


@pytest.mark.parametrize("weighted", [False, True])
def test_polishing_mends_what_few_dimensions_misplaced(weighted):
    """Two passes by hand: centroids of the groups, then the nearest centroid."""
    rng = np.random.default_rng(7)
    planted, labels = planted_votes(rng, n=2000, r=20, k=8, wrong=0.3)
    weights = {"weights": rng.random(20) + 0.5} if weighted else {}
    weights |= {"sample_weight": rng.integers(1, 4, 2000)} if weighted else {}
    votes = Ensemble.from_labels(labels, **weights)
    how = {"projection": "sparse", "n_dims": 16, "random_state": 0}
    published = SEC(8, **how, polish=0).fit(votes)
    rows, mass = weighted_rows(votes)
    groups = published.labels_
    for _ in range(2):
        hot = np.eye(8)[groups] * mass[:, None]
        centroids = (hot.T @ rows) / hot.sum(axis=0)[:, None]
        groups = ((rows[:, None, :] - centroids) ** 2).sum(axis=2).argmin(axis=1)
    polished = SEC(8, **how, polish=2).fit(votes)
    assert adjusted_rand_score(groups, polished.labels_) == 1.0
    assert polished.cost_ == pytest.approx(objective(rows, mass, polished.labels_))
    assert polished.projection_error_ == published.projection_error_
    before = adjusted_rand_score(planted, published.labels_)
    assert adjusted_rand_score(planted, polished.labels_) > before + 0.05
    again = SEC(8, **how, polish=2, n_jobs=2).fit(votes)
    np.testing.assert_array_equal(again.labels_, polished.labels_)


@given(ensembles(min_points=6), st.integers(1, 6))
def test_svd_rows_are_those_of_a_dense_svd(ensemble, n_dims):
    inside = (ensemble.labels >= 0).any(axis=1)
    assume(inside.any())
    votes = ensemble.subset(inside)
    n_dims = min(n_dims, votes.n_points, int(votes.offsets[-1]))
    whole = sec.NormalisedCut.of(votes, column_weights(votes, None, 0.4), blockwise=False)
    found = sec._leading_rows(votes, whole, n_dims, SeedSequence(0)) / whole.degree[:, None]
    rows, mass = weighted_rows(votes)
    _, values, V = np.linalg.svd(np.sqrt(mass)[:, None] * rows, full_matrices=False)
    # In a tie the directions are not determined.
    assume(n_dims >= len(values) or values[n_dims - 1] - values[n_dims] >= 1e-6)
    expected = rows @ V[:n_dims].T
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_svd_with_as_many_dimensions_as_the_rank_loses_nothing():
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 5, size=(200, 4))
    votes = Ensemble.from_labels(labels, sample_weight=rng.integers(1, 4, 200))
    model = SEC(3, projection="svd", n_dims=17, n_init=4, random_state=0).fit(votes)
    plain = SEC(3, n_init=4, random_state=0).fit(votes)
    assert model.projection_error_ < 1e-4
    assert model.cost_ == pytest.approx(plain.cost_, rel=0.01)


@pytest.mark.parametrize("projection", ["sparse", "svd"])
def test_weights_of_points_equal_copies(projection):
    rng = np.random.default_rng(3)
    _, labels = planted_votes(rng, n=60)
    copies = rng.integers(1, 4, size=60)
    model = SEC(3, projection=projection, n_init=40, random_state=0)
    weighted = clone(model).fit(labels, sample_weight=copies)
    repeated = clone(model).fit(np.repeat(labels, copies, axis=0))
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    assert adjusted_rand_score(np.repeat(weighted.labels_, copies), repeated.labels_) == 1.0


@pytest.mark.parametrize("projection", ["sparse", "svd"])
def test_soft_noise_and_unsampled_points_are_projected_too(projection):
    rng = np.random.default_rng(4)
    planted, labels = planted_votes(rng, n=90, r=8, wrong=0.0)
    labels[rng.random(labels.shape) < 0.1] = -2
    labels[rng.random(labels.shape) < 0.1] = -1
    soft = np.eye(3)[planted] * 0.8 + 0.2 / 3
    votes = Ensemble.from_labels([*labels.T, soft])
    model = SEC(3, projection=projection, n_dims=40, random_state=0).fit(votes)
    assert adjusted_rand_score(planted, model.labels_) > 0.9
    assert model.cost_ == pytest.approx(objective(*weighted_rows(votes), model.labels_))


def test_projection_on_a_sample_of_starts_and_any_n_jobs(monkeypatch):
    planted, labels = planted_votes(np.random.default_rng(5), n=3000, r=20)
    monkeypatch.setattr(sec, "_START_SIZE", 500)
    one = SEC(3, projection="sparse", n_dims=60, random_state=0, n_jobs=1).fit(labels)
    assert one.start_size_ == 500
    assert adjusted_rand_score(planted, one.labels_) > 0.95
    two = SEC(3, projection="sparse", n_dims=60, random_state=0, n_jobs=2).fit(labels)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    other = SEC(3, projection="sparse", n_dims=60, n_blocks=1, random_state=0).fit(labels)
    assert other.projection_error_ != one.projection_error_


def test_equal_rows_are_not_separated_by_rounding():
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.integers(0, 5, size=(3, 20)), 50, axis=0)
    votes = Ensemble.from_labels(labels, weights=rng.random(20) + 0.1)
    for projection, n_dims in itertools.product(("sparse", "svd"), (5, 12, 20)):
        with pytest.warns(ConsensusWarning, match="only 3 groups of points"):
            model = SEC(5, projection=projection, n_dims=n_dims, random_state=0).fit(votes)
        assert model.n_clusters_ == 3
        assert model.cost_ == pytest.approx(0.0, abs=1e-9)


def test_nothing_is_projected_when_b_is_narrow_and_it_is_reported():
    labels = np.random.default_rng(6).integers(0, 3, size=(40, 5))
    plain = SEC(3, random_state=0).fit(labels)
    with pytest.warns(ConsensusWarning, match="n_dims=40 is not less than the 15 clusters"):
        model = SEC(3, projection="sparse", random_state=0).fit(labels)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.n_dims_ is None
    with pytest.raises(ValueError, match="use incomplete='zero'"):
        SEC(3, projection="svd", incomplete="blockwise").fit(labels)
    with pytest.raises(ValueError, match="n_blocks=4 is more than n_dims=3"):
        SEC(3, projection="sparse", n_dims=3).fit(labels)
