"""LiftKM and LiftHAC against dense Gram matrices, enumerated groups, scipy's trees and votes."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape.combine import ConsensusWarning
from clusterscape.combine.lift import LiftHAC, LiftKM
from clusterscape.combine.lift.groups import cut_tree, shares, ward
from clusterscape.compare import rand_distance
from clusterscape.lifting import Lifted
from strategies import ensembles, rows_of

BOTH = pytest.mark.parametrize("kind", [LiftKM, LiftHAC])


def gaussian(left, right, h=1.0):
    return np.exp(-cdist(left, right, "sqeuclidean") / (2 * h * h))


def columns_of(ensemble):
    """Every cluster's memberships, and its partition, straight from the labels."""
    blocks = [rows_of(ensemble, i)[0] for i in range(ensemble.n_partitions)]
    partition = np.repeat(np.arange(len(blocks)), [b.shape[1] for b in blocks])
    return np.hstack(blocks), partition


class Dense:
    """The lifted clusters with every kernel value written down."""

    def __init__(self, ensemble, kernel):
        self.members, self.partition = columns_of(ensemble)
        s = ensemble.sample_weight
        masses = s[:, None] * self.members
        gram = masses.T @ kernel @ masses
        norms = np.sqrt(np.diag(gram))
        self.gram = gram / np.outer(norms, norms)
        self.products = kernel @ masses / norms  # of each point and each unit vector
        self.vote = ensemble.weights[self.partition]
        self.weight = self.vote * masses.sum(axis=0) / s.sum()

    def cost(self, groups):
        """LIFT-SSD of groups of clusters, each around its weighted mean."""
        total = self.weight.sum()
        for g in np.unique(groups):
            w = self.weight * (groups == g)
            total -= w @ self.gram @ w / w.sum()
        return total

    def least(self, k):
        """The least cost of at most k groups, by trying all of them; equal clusters together."""
        _, same = np.unique(np.round(self.gram, 12), axis=0, return_inverse=True)
        choices = itertools.product(range(k), repeat=int(same.max()))
        return min(self.cost(np.array((0, *rest))[same.ravel()]) for rest in choices)

    def scores(self, groups, normalize=False):
        """Inner products of points and centres."""
        chosen = self.weight[:, None] * (groups[:, None] == np.arange(groups.max() + 1))
        chosen = chosen / chosen.sum(axis=0)
        if normalize:
            chosen = chosen / np.sqrt(np.einsum("cl,cd,dl->l", chosen, self.gram, chosen))
        return self.products @ chosen

    def votes(self, groups):
        """Weight of the partitions that have a point in a cluster of the group."""
        out = np.zeros((len(self.members), groups.max() + 1))
        for c, g in enumerate(groups):
            out[:, g] += self.vote[c] * self.members[:, c]
        return out


def fit(model, ensemble, X=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        return model.fit(ensemble, features=X)


def usable(ensemble):
    """The part of an ensemble on which fit works: points in some cluster."""
    rows = (ensemble.labels >= 0).any(axis=1)
    return ensemble.subset(rows) if rows.any() else None


def points_for(ensemble, seed=0):
    return np.random.default_rng(seed).normal(size=(ensemble.n_points, 2))


def check_places(model, dense, assign, normalize=False):
    """Labels and memberships are those of the scores of the model's own groups."""
    scores = dense.scores(model.groups_, normalize)
    if assign == "vote":
        scores = dense.votes(model.groups_)
    won = scores[:, : model.n_clusters_]
    np.testing.assert_allclose(
        model.membership_, won / won.sum(axis=1, keepdims=True), rtol=1e-7, atol=1e-9
    )
    own = scores[np.arange(len(scores)), model.labels_]
    np.testing.assert_allclose(own, scores.max(axis=1), rtol=1e-8)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)


# -- the definitions ----------------------------------------------------------------------------


@given(
    ensembles(min_points=3),
    st.integers(1, 3),
    st.sampled_from(["kernel", "vote"]),
    st.booleans(),
)
@BOTH
def test_cost_centres_and_places_follow_the_definitions(kind, ensemble, k, assign, normalize):
    work = usable(ensemble)
    assume(work is not None and work.n_points >= k)
    X = points_for(work)
    options = {"bandwidth": 0.7, "assign": assign, "normalize_centers": normalize}
    model = fit(kind(k, random_state=0, **options), work, X)
    dense = Dense(work, gaussian(X, X, 0.7))
    assert model.groups_.max() < k
    assert model.cost_ == pytest.approx(dense.cost(model.groups_), abs=1e-9)
    check_places(model, dense, assign, normalize)
    centres = model.coefficients_.T @ dense.gram @ model.coefficients_
    np.testing.assert_allclose(np.sqrt(np.diag(centres)), model.center_norms_, atol=1e-8)
    if normalize:
        np.testing.assert_allclose(model.center_norms_, 1.0)


@given(ensembles(min_points=3, max_partitions=3), st.integers(1, 3))
def test_liftkm_finds_the_least_cost_of_few_clusters(ensemble, k):
    work = usable(ensemble)
    assume(work is not None and work.n_points >= k)
    X = points_for(work)
    dense = Dense(work, gaussian(X, X))
    model = fit(LiftKM(k, bandwidth=1.0, n_init=50, random_state=0), work, X)
    assert model.cost_ == pytest.approx(dense.least(k), abs=1e-9)


def test_more_starts_never_cost_more():
    rng = np.random.default_rng(0)
    votes, X = Ensemble.from_labels(rng.integers(0, 4, size=(40, 12))), rng.normal(size=(40, 3))
    costs = [LiftKM(4, n_init=n, random_state=0).fit(votes, features=X).cost_ for n in (1, 5, 50)]
    assert costs[0] >= costs[1] >= costs[2]
    assert costs[2] < costs[0]
    short = fit(LiftKM(4, n_init=1, max_iter=1, random_state=0), votes, X)
    assert short.n_iter_ == 1
    assert short.cost_ > costs[0]


def test_scores_that_are_not_positive():
    scores = np.array([[0.5, 0.25, -0.1], [-0.2, -0.1, -0.3], [0.0, 0.0, 0.0], [0.3, 0.3, 0.1]])
    labels, membership = shares(scores, np.array([0.3, 0.35, 0.25]))
    np.testing.assert_array_equal(labels, [0, 1, 2, 0])  # |v|^2 - 2 <phi, v> is least
    expected = [[2 / 3, 1 / 3, 0], [0, 1, 0], [0, 0, 1], [3 / 7, 3 / 7, 1 / 7]]
    np.testing.assert_allclose(membership, expected)
    rounding = np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2]])
    np.testing.assert_array_equal(shares(rounding, np.ones(2))[0], [0, 0])


# -- trees --------------------------------------------------------------------------------------


@given(st.integers(2, 14), st.integers(0, 10_000))
def test_weighted_ward_is_the_tree_of_copies(m, seed):
    rng = np.random.default_rng(seed)
    rows, copies = rng.normal(size=(m, 3)), rng.integers(1, 4, size=m)
    _, heights = ward(cdist(rows, rows, "sqeuclidean"), copies)
    tree = linkage(np.repeat(rows, copies, axis=0), "ward")
    expected = np.sort(tree[:, 2])[copies.sum() - m :]  # copies merge first, at height 0
    np.testing.assert_allclose(np.sqrt(2 * np.sort(heights)), expected, rtol=1e-7)


@pytest.mark.parametrize("method", ["ward", "average", "complete", "single"])
def test_trees_are_those_of_scipy_on_copies(method):
    rng = np.random.default_rng(1)
    rows, copies = rng.normal(size=(25, 4)), rng.integers(1, 5, size=25)
    tree = linkage(np.repeat(rows, copies, axis=0), method)
    for k in (1, 2, 5, 24, 25):
        groups, heights = cut_tree(
            cdist(rows, rows, "sqeuclidean"), copies.astype(float), k, linkage=method
        )
        expected = fcluster(tree, k, "maxclust")
        assert adjusted_rand_score(expected, np.repeat(groups, copies)) == 1.0
        assert (np.diff(heights) >= 0).all()
    groups, heights = cut_tree(np.zeros((1, 1)), np.ones(1), 3, linkage=method)
    assert groups.tolist() == [0]
    assert heights.size == 0


def test_ward_ends_where_rounding_makes_distances_asymmetric():
    # A chain of nearest neighbours went round in a circle of the first three rows.
    e = 2.0**-52
    squared = np.full((5, 5), 2.0)
    squared[:3, :3] = [[0, 2 * e, e], [2 * e, 0, e], [2 * e, e, 0]]
    squared[3:, 3:] = [[0, 0.5], [0.5, 0]]
    pairs, heights = ward(squared, np.array([2, 3, 15, 75, 60]) / 70)
    tree = np.sort(heights)
    assert pairs.shape == (4, 2)
    assert (tree[:2] < 1e-15).all()
    assert tree[2] == pytest.approx(0.5 * (75 * 60) / (135 * 70))


def test_heights_of_ward_add_up_to_the_cost():
    rng = np.random.default_rng(2)
    votes = Ensemble.from_labels(rng.integers(0, 4, size=(30, 6)), weights=[1, 2, 1, 0.5, 1, 3])
    X = rng.normal(size=(30, 2))
    for k in (1, 3, 7):
        model = fit(LiftHAC(k), votes, X)
        applied = model.heights_[: model.heights_.size + 1 - k]
        assert model.cost_ == pytest.approx(applied.sum())


@pytest.mark.parametrize("method", ["ward", "average", "complete", "single"])
def test_a_tree_of_exact_products_needs_no_coordinates(monkeypatch, method):
    rng = np.random.default_rng(3)
    votes = Ensemble.from_labels(rng.integers(0, 4, size=(30, 6)), weights=[1, 2, 1, 0.5, 1, 3])
    X = rng.normal(size=(30, 2))
    dense = Dense(votes, gaussian(X, X))

    def refused(self):
        raise AssertionError("a factor of the products was asked for")

    monkeypatch.setattr(Lifted, "coordinates", refused)
    for normalize in (False, True):
        options = {"linkage": method, "bandwidth": 1.0, "normalize_centers": normalize}
        model = fit(LiftHAC(4, **options), votes, X)
        assert model.cost_ == pytest.approx(dense.cost(model.groups_), abs=1e-12)
        check_places(model, dense, "kernel", normalize)
    with pytest.raises(AssertionError, match="a factor of the products"):
        LiftKM(4, bandwidth=1.0).fit(votes, features=X)


def test_size_keeps_a_few_outliers_from_taking_a_group():
    X = np.random.default_rng(0).normal(np.repeat([[0.0], [6.0], [30.0]], [60, 60, 1], axis=0))
    halves = np.append(np.repeat([0, 1], 60), 1)
    lone = np.append(np.zeros(120, dtype=int), 1)
    votes = Ensemble.from_labels([halves] * 3 + [lone] * 3)
    by_size = LiftHAC(2, bandwidth=2.0).fit(votes, features=X)
    np.testing.assert_array_equal(by_size.labels_, 1 - halves)
    equal = LiftHAC(2, bandwidth=2.0, counting="equal").fit(votes, features=X)
    np.testing.assert_array_equal(equal.labels_, lone)
    np.testing.assert_array_equal(equal.groups_, [0] * 7 + [1, 0, 1, 0, 1])


# -- weights, names, order ----------------------------------------------------------------------


@pytest.mark.parametrize("assign", ["kernel", "vote"])
@pytest.mark.parametrize(
    "made",
    [
        LiftKM(3, random_state=0),
        LiftHAC(3),
        LiftHAC(3, counting="equal"),
        LiftHAC(3, linkage="average"),
    ],
    ids=["km", "ward", "ward-equal", "average"],
)
def test_weights_of_partitions_are_repetitions(made, assign):
    rng = np.random.default_rng(3)
    labels, X = rng.integers(0, 4, size=(40, 6)), rng.normal(size=(40, 2))
    times = np.array([1, 4, 1, 2, 1, 3])
    model = clone(made).set_params(assign=assign)
    weighted = fit(clone(model), Ensemble.from_labels(labels, weights=times), X)
    repeated = fit(clone(model), np.repeat(labels, times, axis=1), X)
    np.testing.assert_array_equal(weighted.labels_, repeated.labels_)
    np.testing.assert_allclose(weighted.membership_, repeated.membership_)
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    plain = fit(clone(model), labels, X)
    assert not np.allclose(plain.membership_.max(axis=1), weighted.membership_.max(axis=1))


@BOTH
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "cauchy", "discrete"])
def test_weights_of_points_are_copies(kind, kernel):
    rng = np.random.default_rng(4)
    labels, X = rng.integers(0, 3, size=(25, 5)), rng.normal(size=(25, 2))
    copies = rng.integers(1, 4, size=25)
    votes = Ensemble.from_labels(labels, sample_weight=copies)
    for bandwidth in ("median",) if kernel == "discrete" else ("median", 0.8):
        model = kind(3, kernel=kernel, bandwidth=bandwidth, random_state=0)
        weighted = fit(clone(model), votes, X)
        again = np.repeat(labels, copies, axis=0), np.repeat(X, copies, axis=0)
        repeated = fit(clone(model), *again)
        assert weighted.lifted_.bandwidth == pytest.approx(repeated.lifted_.bandwidth)
        np.testing.assert_array_equal(np.repeat(weighted.labels_, copies), repeated.labels_)
        assert weighted.cost_ == pytest.approx(repeated.cost_)


@BOTH
def test_neither_names_nor_the_order_of_partitions_matter(kind):
    rng = np.random.default_rng(5)
    labels, X = rng.integers(0, 5, size=(60, 12)), rng.normal(size=(60, 3))
    renamed = np.array([2, 0, 4, 3, 1])[labels][:, rng.permutation(12)]
    for seed in range(3):
        model = kind(8, random_state=seed)
        if kind is LiftKM:
            model.set_params(n_init=1)  # the start must be the same, and not only the optimum
        first, again = fit(clone(model), labels, X), fit(clone(model), renamed, X)
        np.testing.assert_array_equal(first.labels_, again.labels_)
        np.testing.assert_allclose(first.membership_, again.membership_)


def test_the_result_does_not_depend_on_workers_and_random_features_are_near():
    rng = np.random.default_rng(6)
    X, planted = make_blobs(600, centers=3, n_features=4, random_state=0)
    labels = np.column_stack(
        [np.where(rng.random(600) < 0.2, rng.integers(0, 3, 600), planted) for _ in range(6)]
    )
    models = [
        LiftKM(3, n_components=500, random_state=7, n_jobs=jobs).fit(labels, features=X)
        for jobs in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].membership_, models[1].membership_)
    assert models[0].lifted_.n_components == 500
    exact = LiftKM(3, random_state=7).fit(labels, features=X)
    np.testing.assert_array_equal(exact.labels_, models[0].labels_)
    np.testing.assert_allclose(exact.membership_, models[0].membership_, atol=0.1)
    other = LiftKM(3, n_components=500, random_state=8).fit(labels, features=X)
    assert not np.array_equal(other.membership_, models[0].membership_)


# -- what a consensus should find ---------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("assign", ["kernel", "vote"])
def test_two_blobs_one_of_which_is_cut_in_two_ways(kind, assign):
    rng = np.random.default_rng(7)
    X = np.concatenate([rng.normal([0, 0], 0.5, (40, 2)), rng.normal([6, 0], 0.5, (40, 2))])
    blob = np.repeat([0, 1], 40)
    across = np.where(blob == 1, 1 + (X[:, 0] > 6), 0)
    along = np.where(blob == 1, 1 + (X[:, 1] > 0), 0)
    model = kind(2, assign=assign, random_state=0)
    model.fit(Ensemble.from_labels([blob, across, along]), features=X)
    np.testing.assert_array_equal(model.labels_, blob)
    np.testing.assert_array_equal(model.groups_, [0, 1, 0, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(model.predict([[0.5, 0.5], [5.0, 1.0]]), [0, 1])


@BOTH
def test_a_kernel_sees_rings_with_one_centre(kind):
    rng = np.random.default_rng(8)
    angle = rng.uniform(0, 2 * np.pi, 200)
    ring = np.repeat([0, 1], [120, 80])
    X = np.where(ring == 0, 3.0, 0.7)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = [np.where(rng.random(200) < 0.25, 1 - ring, ring) for _ in range(5)]
    votes = Ensemble.from_labels(labels)
    model = kind(2, bandwidth=0.5, random_state=0).fit(votes, features=X)
    np.testing.assert_array_equal(model.labels_, ring)
    np.testing.assert_array_equal(model.predict([[0.0, 0.6], [2.1, -2.1]]), [1, 0])
    flat = fit(kind(2, kernel=lambda a, b: np.asarray(a) @ np.asarray(b).T), votes, X)
    assert adjusted_rand_score(ring, flat.labels_) < 0.2


def test_iris_is_as_near_to_its_classes_as_published():
    X, classes = load_iris(return_X_y=True)
    trees = ("single", "average", "complete", "ward")
    runs = [KMeans(3, n_init=10, random_state=0).fit_predict(X)]
    runs += [AgglomerativeClustering(3, linkage=name).fit_predict(X) for name in trees]
    votes, typical = Ensemble.from_labels(runs), float(np.median(pdist(X)))

    def distance(model):
        return rand_distance(model.fit(votes, features=X).labels_, classes)

    # 0.114 is the published figure of k-means, 0.125 that of a linkage.
    for share, expected in ((0.1, 0.114), (0.3, 0.114), (1.0, 0.126), (3.0, 0.126)):
        width = typical * share**0.5
        assert distance(LiftKM(3, bandwidth=width, random_state=0)) == pytest.approx(
            expected, abs=5e-4
        )
        voted = LiftKM(3, bandwidth=width, assign="vote", random_state=0)
        assert distance(voted) == pytest.approx(0.114, abs=5e-4)
    assert distance(LiftKM(3, random_state=0)) == pytest.approx(0.126, abs=5e-4)
    assert distance(LiftHAC(3)) <= 0.125


# -- kernels ------------------------------------------------------------------------------------


@given(ensembles(min_points=3), st.integers(1, 3), st.sampled_from(["kernel", "vote"]))
def test_the_discrete_kernel_needs_no_features(ensemble, k, assign):
    work = usable(ensemble)
    assume(work is not None and work.n_points >= k)
    for kind in (LiftKM, LiftHAC):
        model = fit(kind(k, kernel="discrete", assign=assign, random_state=0), work)
        dense = Dense(work, np.diag(1.0 / work.sample_weight))  # w points of no other's kind
        assert model.cost_ == pytest.approx(dense.cost(model.groups_), abs=1e-9)
        check_places(model, dense, assign)
        with pytest.raises(ValueError, match="the discrete kernel finds no new point"):
            model.predict([[0.0]])


@BOTH
def test_precomputed_and_callable_kernels_leave_out_the_same_points(kind):
    rng = np.random.default_rng(9)
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(8, 2))
    labels = rng.integers(0, 3, size=(30, 4))
    labels[3], labels[11] = -1, -2
    votes = Ensemble.from_labels(labels)
    features = fit(kind(3, bandwidth=1.0, random_state=0), votes, X)
    given_matrix = fit(kind(3, kernel="precomputed", random_state=0), votes, gaussian(X, X))
    function = fit(kind(3, kernel=gaussian, random_state=0), votes, X)
    for model, unseen in ((given_matrix, gaussian(new, X)), (function, new)):
        np.testing.assert_array_equal(model.labels_, features.labels_)
        np.testing.assert_allclose(model.membership_, features.membership_)
        np.testing.assert_array_equal(model.predict(unseen), features.predict(new))
    assert features.labels_[[3, 11]].tolist() == [-1, -1]
    assert features.inside_.sum() == 28
    np.testing.assert_allclose(features.membership_[[3, 11]], 0.0)
    frame = fit(kind(3, kernel=gaussian, random_state=0), votes, pd.DataFrame(X))
    np.testing.assert_array_equal(frame.predict(pd.DataFrame(new)), features.predict(new))


def test_positive_semidefiniteness_of_a_kernel_is_not_checked():
    votes = Ensemble.from_labels([[0, 1, 2], [0, 1, 2]])
    indefinite = np.where(np.eye(3), 1.0, -0.9)  # no cosine is beyond 1; an eigenvalue is -0.8
    model = fit(LiftHAC(2, kernel="precomputed"), votes, indefinite)
    assert np.isfinite(model.cost_)
    with pytest.raises(ValueError, match="the kernel is not positive definite"):
        LiftKM(2, kernel="precomputed").fit(votes, features=indefinite)


def test_a_kernel_of_strings():
    words = ["aaab", "aaba", "abaa", "cccd", "ccdc", "cdcc", "lost"]

    def shared(left, right):
        return np.array(
            [[sum(a.count(x) * b.count(x) for x in "abcd") for b in right] for a in left]
        )

    votes = Ensemble.from_labels([[0, 0, 0, 1, 1, 1, -1], [0, 0, 1, 2, 2, 2, -2]])
    model = LiftKM(2, kernel=shared, random_state=0).fit(votes, features=words)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1, -1])
    np.testing.assert_array_equal(model.predict(["dddd", "bbbb"]), [1, 0])
    with pytest.raises(ValueError, match="features has 2 rows and the ensemble 7 points"):
        LiftKM(2, kernel=shared).fit(votes, features=words[:2])
    with pytest.raises(TypeError, match="features must be a list or an array"):
        LiftKM(2, kernel=shared).fit(votes, features=iter(words))
    with pytest.raises(TypeError, match="must be a list or an array of points"):
        model.predict(iter(words))


# -- what is odd --------------------------------------------------------------------------------


@BOTH
def test_noise_makes_no_group(kind):
    X = np.repeat([[0.0], [5.0], [10.0]], 6, axis=0) + np.linspace(0, 0.5, 18)[:, None]
    clear = np.repeat([0, 1, 2], 6)
    noisy = np.where(clear == 2, -1, clear)
    model = fit(kind(3, random_state=0), Ensemble.from_labels([noisy] * 4 + [clear]), X)
    np.testing.assert_array_equal(model.labels_, clear)
    assert model.lifted_.mass.size == 11
    merged = kind(2, random_state=0).fit(Ensemble.from_labels([noisy] * 4), features=X)
    np.testing.assert_array_equal(merged.labels_, np.where(clear == 2, -1, clear))


def test_more_groups_than_clusters_or_points_for_them():
    X = np.arange(6.0)[:, None]
    votes = Ensemble.from_labels([[0, 0, 0, 1, 1, 1]] * 2)
    for model in (LiftKM(3, random_state=0), LiftHAC(3)):
        with pytest.warns(ConsensusWarning, match="only 2 groups of points"):
            model.fit(votes, features=X)
        np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
        assert model.membership_.shape == (6, 2)
    nested = Ensemble.from_labels([[0] * 6, [0, 0, 0, 1, 1, 1]])
    lost = fit(LiftKM(3, assign="vote", random_state=0), nested, X)
    assert lost.n_clusters_ < lost.coefficients_.shape[1] == 3
    assert set(lost.predict(X)) <= set(range(lost.n_clusters_))
    np.testing.assert_allclose(lost.membership_.sum(axis=1), 1.0)


@BOTH
def test_sentences(kind):
    votes, X = np.array([[0, 0], [0, 1], [1, 1]]), np.eye(3)
    with pytest.raises(ValueError, match="needs the points' features"):
        kind(2).fit(votes)
    with pytest.raises(ValueError, match="needs the points' features"):
        kind(2, kernel=gaussian).fit(votes)
    with pytest.raises(ValueError, match="features has 2 rows and the ensemble 3 points"):
        kind(2).fit(votes, features=X[:2])
    with pytest.raises(ValueError, match=r"features has shape \(3, 2\); with kernel='precomputed'"):
        kind(2, kernel="precomputed").fit(votes, features=X[:, :2])
    with pytest.raises(ValueError, match="every cluster has length 0 under the kernel"):
        kind(2, kernel="precomputed").fit(votes, features=np.zeros((3, 3)))
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        kind(2).predict(X)
    model = kind(2, random_state=0).fit(votes, features=X)
    with pytest.raises(ValueError, match="X has 2 columns, and the features of fit had 3"):
        model.predict(X[:, :2])
    fixed = kind(2, kernel="precomputed", random_state=0).fit(votes, features=X)
    with pytest.raises(ValueError, match="kernel of each new point and all 3 points of fit"):
        fixed.predict(X[:, :2])


def test_a_tree_that_does_not_fit_is_refused():
    labels = np.random.default_rng(0).integers(0, 9, size=(60, 9))
    products = 8e-9 * 80**2  # in GB, half of what a tree takes
    with pytest.raises(MemoryError, match="distances of 80 different clusters.*Use LiftKM"):
        LiftHAC(2, kernel="discrete", max_gb=products).fit(labels)
    fit(LiftKM(2, kernel="discrete", max_gb=products), labels)
    with pytest.raises(MemoryError, match="products of 80 clusters"):
        LiftKM(2, kernel="discrete", max_gb=0.5 * products).fit(labels)
