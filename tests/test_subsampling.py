"""Fuzzy c-means, scores of unlabelled points, and drawing by them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import make_blobs, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape.ensemble import Ensemble
from clusterscape.semisupervised import (
    AdaptiveSubsampler,
    FuzzyCMeans,
    TransductiveSVC,
    cluster_entropy,
    label_uncertainty,
    platt_scaling,
    subsampling,
    support_vector_distances,
)
from clusterscape.semisupervised.subsampling import inverse_weights, weighted_sample
from clusterscape.validate import Affinity

# Whether unlabelled points help is not what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::clusterscape.semisupervised.TransductionWarning")


@parametrize_with_checks([FuzzyCMeans(2, random_state=0), AdaptiveSubsampler(0.5, random_state=0)])
def test_estimator_checks(estimator, check) -> None:
    check(estimator)


# ---- fuzzy c-means ---------------------------------------------------------------------------


def memberships(X: np.ndarray, centers: np.ndarray, m: float) -> np.ndarray:
    """Return memberships by the definition, one at a time."""
    D = cdist(X, centers)
    n, c = D.shape
    w = np.zeros((n, c))
    for i in range(n):
        for k in range(c):
            w[i, k] = 1.0 / sum((D[i, k] / D[i, j]) ** (2.0 / (m - 1.0)) for j in range(c))
    return w


@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_fuzzy_c_means_is_a_fixed_point_of_its_definition(m: float) -> None:
    X, _ = make_blobs(150, centers=3, random_state=0)
    model = FuzzyCMeans(3, m=m, tol=1e-9, max_iter=2000, random_state=0).fit(X)
    w = memberships(X, model.cluster_centers_, m)
    assert np.abs(w - model.membership_).max() < 1e-6
    power = w**m
    centers = power.T @ X / power.sum(axis=0)[:, None]
    assert np.abs(centers - model.cluster_centers_).max() < 1e-5
    cost = (power * cdist(X, centers, "sqeuclidean")).sum()
    assert np.isclose(cost, model.inertia_, rtol=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(20):  # a minimum: moving the centres makes it worse
        moved = centers + 0.05 * rng.normal(size=centers.shape)
        there = memberships(X, moved, m) ** m * cdist(X, moved, "sqeuclidean")
        assert there.sum() > cost


@pytest.mark.parametrize("max_iter", [1, 2, 100])
def test_cost_is_that_of_the_returned_centres(max_iter: int) -> None:
    X, _ = make_blobs(150, centers=3, random_state=0)
    model = FuzzyCMeans(3, max_iter=max_iter, random_state=0).fit(X)
    square = cdist(X, model.cluster_centers_, "sqeuclidean")
    assert model.inertia_ == pytest.approx((model.membership_**2 * square).sum(), rel=1e-9)


def test_default_memberships_are_those_of_fuzzy_c_means() -> None:
    X, y = make_moons(300, noise=0.2, random_state=0)
    y[40:] = -1
    given = {"strategy": "entropy", "random_state": 0}
    ours = AdaptiveSubsampler(0.2, **given).fit(X, y)
    same = AdaptiveSubsampler(0.2, memberships=FuzzyCMeans(2, tol=1e-12), **given).fit(X, y)
    assert np.abs(ours.entropy_ - same.entropy_).max() < 1e-4


def test_points_on_centres_belong_to_them() -> None:
    model = FuzzyCMeans(2, random_state=0).fit([[0.0], [0.0], [4.0], [4.0]])
    assert np.allclose(np.sort(model.membership_, axis=1), [[0.0, 1.0]] * 4)
    assert np.allclose(model.predict_membership([[2.0]]), 0.5)
    one_place = FuzzyCMeans(2, random_state=0).fit(np.ones((5, 2)))
    assert np.allclose(one_place.membership_, 0.5)


def test_fuzzy_c_means_of_sparse_data_far_from_the_origin() -> None:
    X, _ = make_blobs(100, centers=2, random_state=1)
    far = FuzzyCMeans(2, random_state=0).fit(X + 1e6).membership_
    near = FuzzyCMeans(2, random_state=0).fit(X).membership_
    thin = FuzzyCMeans(2, random_state=0).fit(sparse.csr_matrix(X)).membership_
    assert np.abs(far - near).max() < 1e-5
    assert np.abs(thin - near).max() < 1e-5


def test_hard_limit_is_k_means() -> None:
    X, y = make_blobs(200, centers=3, cluster_std=0.5, random_state=0)
    model = FuzzyCMeans(3, m=1.05, n_init=3, random_state=0).fit(X)
    means = np.array([X[model.labels_ == c].mean(axis=0) for c in range(3)])
    assert np.abs(means - model.cluster_centers_).max() < 0.02
    assert len(set(zip(model.labels_, y, strict=True))) == 3


# ---- scores ----------------------------------------------------------------------------------


def test_entropy_is_a_share_of_the_largest() -> None:
    assert np.allclose(cluster_entropy(np.eye(4)), 0.0)
    assert np.allclose(cluster_entropy([[0.2] * 5, [0.0] * 5]), 1.0)
    assert np.isclose(cluster_entropy([[0.25, 0.75]])[0], 0.8112781)  # bits of a 1 in 4 event
    with pytest.raises(ValueError, match="membership"):
        cluster_entropy([[-1.0, 2.0]])


def test_uncertainty_is_high_near_the_boundary() -> None:
    p = np.linspace(0, 1, 11)
    assert np.allclose(label_uncertainty(p), 2 * np.minimum(p, 1 - p))
    assert np.allclose(label_uncertainty([[0.5, 0.3, 0.2]]), 0.8)
    printed = label_uncertainty(p, form="as_printed")
    assert np.allclose(printed, np.maximum(p, 1 - p))
    assert printed.argmin() == label_uncertainty(p).argmax() == 5


def test_platt_recovers_a_logistic_model() -> None:
    rng = np.random.default_rng(0)
    f = rng.normal(size=20_000) * 2
    yes = rng.random(f.size) < 1 / (1 + np.exp(-1.5 * f + 0.7))
    curve = platt_scaling(f, yes)
    assert abs(curve.slope + 1.5) < 0.06
    assert abs(curve.offset - 0.7) < 0.06
    assert (np.diff(curve(np.linspace(-9, 9, 50))) > 0).all()


def test_platt_is_the_most_likely_curve_and_stays_finite() -> None:
    f = np.array([-3.0, -1.0, 0.2, 1.0, 2.0])
    yes = np.array([False, False, True, True, True])
    target = np.where(yes, 4 / 5, 1 / 4)

    def cost(at: np.ndarray) -> float:
        p = 1 / (1 + np.exp(at[0] * f + at[1]))
        return -(target * np.log(p) + (1 - target) * np.log(1 - p)).sum()

    found = minimize(cost, [0.0, 0.0], tol=1e-10).x
    assert np.allclose(platt_scaling(f, yes), found, atol=1e-3)
    assert np.isfinite(platt_scaling(1e6 * f, yes)).all()
    with pytest.raises(ValueError, match="one length"):
        platt_scaling([1.0], [True, False])


# ---- drawing ---------------------------------------------------------------------------------


def test_drawing_is_in_proportion_without_replacement() -> None:
    scores = np.array([4.0, 2.0, 1.0, 1.0])
    rng = np.random.default_rng(0)
    draws = np.array([weighted_sample(scores, 2, rng) for _ in range(20_000)])
    assert (draws[:, 0] < draws[:, 1]).all()
    p = scores / scores.sum()
    expected = np.zeros(4)
    for i in range(4):  # first i, then j among the others
        for j in range(4):
            if i != j:
                expected[[i, j]] += p[i] * p[j] / (1 - p[i])
    found = np.bincount(draws.ravel(), minlength=4) / len(draws)
    assert np.abs(found - expected).max() < 0.015


def test_there_are_always_enough_points_to_draw() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 0.0, 1.0, 0.0])
    assert weighted_sample(scores, 3, rng).size == 3
    assert 2 in weighted_sample(scores, 1, rng)
    assert np.array_equal(weighted_sample(scores, 9, rng), np.arange(4))


def test_inverse_weights_undo_the_drawing() -> None:
    """Weighted sums over samples are right on average; no point stands for more than n / m."""
    rng = np.random.default_rng(0)
    scores = rng.uniform(0.4, 1.0, size=200)
    values = scores**2
    found = []
    for _ in range(2000):
        drawn = weighted_sample(scores, 60, rng)
        weights = inverse_weights(scores, 60, drawn)
        assert weights.max() <= 200 / 60 + 1e-12
        found.append(weights @ values[drawn])
    # The bound takes away from points with low scores only.
    chance = 60 * scores / scores.sum()
    assert np.mean(found) <= 1.01 * values.sum()
    assert np.mean(found) > 0.85 * values.sum()
    high = scores > 0.9
    some = [
        inverse_weights(scores, 60, d)[high[d]].sum()
        for d in (weighted_sample(scores, 60, rng) for _ in range(2000))
    ]
    assert abs(np.mean(some) / high.sum() - 1) < 0.03
    assert chance.max() < 1
    assert np.array_equal(inverse_weights(scores, 200, np.arange(200)), np.ones(200))


def moons() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two moons, their classes, and the labels of a tenth."""
    X, truth = make_moons(500, noise=0.1, random_state=0)
    y = truth.copy()
    y[50:] = -1
    return X, truth, y


@pytest.mark.parametrize("strategy", ["adaptive", "entropy", "uncertainty", "uniform"])
def test_drawn_points_score_higher(strategy: str) -> None:
    X, _, y = moons()
    sampler = AdaptiveSubsampler(0.2, strategy=strategy, random_state=0).fit(X, y)
    rows = sampler.sample_indices_
    assert np.isin(np.flatnonzero(y >= 0), rows).all()
    assert rows.size == 50 + 90
    drawn = np.isin(sampler.unlabelled_indices_, rows)
    lead = sampler.score_[drawn].mean() - sampler.score_.mean()
    assert lead > 0.02 or strategy == "uniform"
    few, labels = sampler.fit_resample(X, y)
    assert np.array_equal(few, X[rows])
    assert np.array_equal(labels, y[rows])
    LabelSpreading(kernel="knn").fit(few, labels)


def test_memberships_come_from_anywhere() -> None:
    X, _, y = moons()
    rest = y == -1
    w = FuzzyCMeans(2, tol=1e-3, random_state=0).fit(X).membership_
    ensemble = Ensemble.from_labels(np.stack([X[:, 0] > c for c in (0.2, 0.5, 0.8)], axis=1))
    array = AdaptiveSubsampler(memberships=w, random_state=0).fit(X, y)
    assert np.allclose(array.entropy_, cluster_entropy(w[rest]))
    short = AdaptiveSubsampler(memberships=w[rest], random_state=0).fit(X, y)
    assert np.array_equal(short.sample_indices_, array.sample_indices_)
    votes = AdaptiveSubsampler(memberships=ensemble, random_state=0).fit(X, y)
    between = (X[rest, 0] > 0.2) & (X[rest, 0] < 0.8)
    assert votes.entropy_[between].min() > votes.entropy_[~between].max()
    cells = AdaptiveSubsampler(memberships=Affinity(), random_state=0).fit(X, y)
    assert 0 < cells.entropy_.mean() < 1
    model = TransductiveSVC(subsample=0.2, memberships=Affinity(), random_state=0).fit(X, y)
    assert model.entropy_ is not None
    assert np.allclose(model.entropy_, cells.entropy_, atol=0.2)
    with pytest.raises(ValueError, match="memberships"):
        AdaptiveSubsampler(memberships=w[:7]).fit(X, y)
    with pytest.raises(ValueError, match="neither membership_"):
        AdaptiveSubsampler(memberships=LogisticRegression()).fit(X, y)


def test_a_class_with_one_label_needs_a_classifier() -> None:
    X, _, y = moons()
    y[:] = -1
    y[:4] = 0, 0, 0, 1
    with pytest.raises(ValueError, match="predict_proba"):
        AdaptiveSubsampler().fit(X, y)
    AdaptiveSubsampler(estimator=LogisticRegression()).fit(X, y)


def test_one_class_is_refused_where_labels_decide() -> None:
    X, _, y = moons()
    y[y == 1] = -1
    with pytest.raises(ValueError, match="one class only; label more, or draw by strategy"):
        AdaptiveSubsampler().fit(X, y)
    assert AdaptiveSubsampler(strategy="entropy").fit(X, y).sample_indices_.size


def test_support_vector_distances_by_hand() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    some, true = np.arange(10), np.arange(5, 25)
    D = cdist(X[some], X[true])
    width = pdist(X).max()
    found = support_vector_distances(X, some, true)
    assert np.isclose(found.to_true, D.min(axis=1).mean() / width)
    assert np.isclose(found.from_true, D.min(axis=0).mean() / width)
    with pytest.raises(ValueError, match="approximate"):
        support_vector_distances(X, [], true)


def test_centres_of_many_points_are_found_on_some(monkeypatch: pytest.MonkeyPatch) -> None:
    X, _ = make_moons(600, noise=0.1, random_state=0)
    every, seed = np.arange(600), np.random.SeedSequence(0)
    whole = cluster_entropy(subsampling.membership_of(None, X, every, 2, seed))
    monkeypatch.setattr(subsampling, "_FUZZY_POINTS", 300)
    some = cluster_entropy(subsampling.membership_of(None, X, every, 2, np.random.SeedSequence(0)))
    assert some.shape == (600,)
    assert not np.array_equal(some, whole)
    assert np.corrcoef(some, whole)[0, 1] > 0.98
