"""BagClust against votes counted by hand, and medoids against all sets of medoids."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble, kernels
from clusterscape.combine import ConsensusWarning
from clusterscape.combine.bagclust import BagClust, pam
from clusterscape.generate import bagging
from strategies import brute_force_coassociation, ensembles
from test_combine import inside_some_cluster, same_partition

MODELS = {
    "votes": lambda: BagClust(variant=1),
    "medoids": lambda: BagClust(variant=2),
    "rows": lambda: BagClust(variant=2, assign="kmeans"),
}


def invariances(make):
    """Check of any setting of a method what the registry's tests check of its default."""
    planted = np.repeat([0, 1, 2], [6, 4, 2])
    renamed = np.array([2, 0, 1])
    votes = np.column_stack([planted, renamed[planted], planted])
    np.testing.assert_array_equal(make(3).fit_predict(votes), planted)
    alone = np.array([1, 1, 0, 0, 0, 2])
    assert same_partition(make(3).fit_predict([alone]), alone)
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 3, size=(30, 8))
    labels[:15], labels[15:25] = labels[0], labels[15]
    first = make(3).fit_predict(labels)
    np.testing.assert_array_equal(first, make(3).fit_predict(renamed[labels]))
    assert (np.diff(np.bincount(first)) <= 0).all()
    missed = [[0, 0, 1, 1, -2], [0, 0, 1, 1, -1], [-2, -2, -2, -2, -2]]
    found = make(2).fit_predict(Ensemble.from_labels(missed))
    np.testing.assert_array_equal(found, [0, 0, 1, 1, -1])
    soft = np.array([[1, 0], [0.9, 0.1], [0.1, 0.9], [0, 1.0]])
    found = make(2).fit_predict(Ensemble.from_labels([soft, [0, 0, 1, 1]]))
    np.testing.assert_array_equal(found, [0, 0, 1, 1])
    labels, weights = rng.integers(0, 3, size=(20, 5)), np.array([1, 3, 1, 2, 1])
    weighted = make(2).fit_predict(Ensemble.from_labels(labels, weights=weights))
    repeated = make(2).fit_predict(np.repeat(labels, weights, axis=1))
    assert same_partition(weighted, repeated)


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_what_holds_for_every_method(make):
    invariances(lambda k: make().set_params(n_clusters=k, random_state=0))


def blobs(seed, n=60):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    return rng.normal(size=(n, 2)) + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth], truth


@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_bootstrap_partitions_of_separate_groups_are_combined(make, seed):
    X, truth = blobs(seed)
    votes = bagging(20, n_clusters=3, n_init=5, random_state=seed).generate(X)
    model = make().set_params(n_clusters=3, random_state=0).fit(votes)
    assert adjusted_rand_score(truth, model.labels_) == 1.0


# -- variant 1 ----------------------------------------------------------------------------------


def counted_votes(ensemble, reference):
    """Votes, straight from the definition, for partitions with as many clusters as asked for."""
    k = int(reference.max()) + 1
    votes = np.zeros((ensemble.n_points, k))
    for i in range(ensemble.n_partitions):
        codes = ensemble.labels[:, i]
        table = np.zeros((int(ensemble.n_clusters[i]), k))
        for x, code in enumerate(codes):
            if code >= 0 and reference[x] >= 0:
                table[code, reference[x]] += ensemble.sample_weight[x]
        matched = dict(zip(*linear_sum_assignment(-table), strict=True))
        for x, code in enumerate(codes):
            if code in matched:
                votes[x, matched[code]] += ensemble.weights[i]
    return votes


def test_votes_are_counted_after_matching(seed):
    rng = np.random.default_rng(seed)
    reference = np.repeat([0, 1, 2], [9, 7, 5])
    codes = np.array(
        [
            rng.permutation(3)[np.where(rng.random(21) < 0.2, rng.integers(0, 3, 21), reference)]
            for _ in range(9)
        ]
    )
    codes[rng.random(codes.shape) < 0.3] = -2
    codes[rng.random(codes.shape) < 0.05] = -1
    codes[:, 20] = -2  # never drawn
    votes = Ensemble.from_labels(
        list(codes), weights=rng.integers(1, 4, 9), sample_weight=rng.random(21) + 0.5
    )
    model = BagClust(3, reference=reference).fit(votes)
    expected = counted_votes(votes, reference)
    total = expected.sum(axis=1)
    assert model.labels_[20] == model.labels_[np.flatnonzero(expected.argmax(axis=1) == 2)[0]]
    assert model.vote_share_[20] == 0
    assert (model.membership_[20] == 0).all()
    drawn = total > 0
    np.testing.assert_allclose(
        model.vote_share_[drawn], (expected.max(axis=1) / total.clip(1e-9))[drawn]
    )
    np.testing.assert_allclose(
        np.sort(model.membership_[drawn], axis=1),
        np.sort(expected[drawn] / total[drawn, None], axis=1),
    )
    own = model.membership_[np.arange(21), model.labels_]
    np.testing.assert_allclose(own, model.vote_share_)
    assert model.reference_source_ == "given"
    assert (np.diff(np.bincount(model.labels_, votes.sample_weight)) <= 1e-12).all()


def test_a_tie_and_a_lost_cluster_follow_the_reference():
    draws = Ensemble.from_labels([[0, 0, 1, 1, -2], [0, 0, 0, 1, -2]])
    model = BagClust(2, reference=[0, 0, 1, 1, 1]).fit(draws)
    np.testing.assert_array_equal(model.labels_, [1, 1, 0, 0, 0])  # the third point is a tie
    # The drawn point of the reference's third cluster is voted away, its undrawn point is not.
    draws = Ensemble.from_labels([[0, 0, 0, 1, 1, -2]] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        model = BagClust(3, reference=[0, 0, 2, 1, 1, 2]).fit(draws)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 2])
    assert model.n_clusters_ == 3
    assert model.membership_.shape == (6, 3)


def test_where_the_reference_comes_from():
    X, truth = blobs(0)
    votes = bagging(8, n_clusters=3, n_init=5, random_state=1).generate(X)
    labels = votes.labels.copy()
    labels[7] = -2  # a point that no bootstrap drew
    votes = Ensemble.from_labels(labels)
    model = BagClust(3, random_state=0).fit(votes, features=X)
    assert model.reference_source_ == "kmeans"
    assert model.labels_[7] == model.labels_[6]
    model = BagClust(3, random_state=0).fit(votes)
    assert model.reference_source_ == "input"
    assert model.labels_[7] == -1
    fine = bagging(20, n_clusters=7, random_state=1).generate(X)
    model = BagClust(3, random_state=0).fit(fine)
    assert model.reference_source_ == "sec"
    assert model.n_clusters_ == 3
    with pytest.raises(ValueError, match=r"reference must be a label vector of .*2 labels"):
        BagClust(3, reference=[0, 1]).fit(votes)
    with pytest.raises(ValueError, match="reference must be None, or a vector of labels"):
        BagClust(3, reference=np.ones((60, 1))).fit(votes)
    with pytest.raises(ValueError, match="features has 3 rows and the ensemble 60 points"):
        BagClust(3).fit(votes, features=X[:3])
    with pytest.raises(ValueError, match="variant must be 1 or 2"):
        BagClust(3, variant=3).fit(votes)


# -- variant 2 ----------------------------------------------------------------------------------


@given(ensembles(min_points=2), st.integers(1, 3))
def test_medoids_of_the_dissimilarity(ensemble, k):
    work = inside_some_cluster(ensemble)
    assume(work is not None and work.n_points >= k)
    seen = work.labels != -2
    apart = ~(seen.astype(int) @ seen.T.astype(int)).astype(bool)
    distance = 1.0 - brute_force_coassociation(work)[1]
    np.fill_diagonal(distance, 0.0)
    s = work.sample_weight
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        model = BagClust(k, variant=2).fit(work)
    np.testing.assert_allclose(model.never_together_, s @ np.triu(apart, 1) @ s)
    to_medoids = distance[:, model.medoids_].min(axis=1)
    assert model.cost_ == pytest.approx(s @ to_medoids, abs=1e-9)
    own = distance[np.arange(work.n_points), model.medoids_[:, None]]
    for x in range(work.n_points):
        mates = [j for j in range(len(model.medoids_)) if own[j, x] <= to_medoids[x] + 1e-9]
        assert any(model.labels_[x] == model.labels_[model.medoids_[j]] for j in mates)


def naive_build(distance, weights, k):
    chosen = []
    for _ in range(k):
        costs = [
            weights @ distance[:, [*chosen, x]].min(axis=1) if x not in chosen else np.inf
            for x in range(len(weights))
        ]
        chosen.append(int(np.argmin(costs)))
    return chosen


@pytest.mark.parametrize("n", [5, 12, 30])
def test_pam_against_all_swaps(n, seed):
    rng = np.random.default_rng(seed + n)
    points = rng.normal(size=(n, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    weights = rng.integers(1, 5, n).astype(float)
    gaps = []
    for k in (1, 2, 4):
        assert kernels.median.build(distance, weights, k).tolist() == (
            naive_build(distance, weights, k)
        )
        labels, medoids, cost = pam(distance, k, sample_weight=weights)
        assert cost == pytest.approx(weights @ distance[:, medoids].min(axis=1))
        np.testing.assert_array_equal(labels, distance[:, medoids].argmin(axis=1))
        for j, x in itertools.product(range(k), range(n)):  # no exchange lowers the cost
            other = [*np.delete(medoids, j), x]
            assert weights @ distance[:, other].min(axis=1) >= cost - 1e-9
        if n <= 12:
            best = min(
                weights @ distance[:, list(c)].min(axis=1)
                for c in itertools.combinations(range(n), k)
            )
            assert cost >= best - 1e-9
            gaps.append(cost / best)
    assert not gaps or max(gaps) < 1.2
    copies = np.repeat(np.arange(n), weights.astype(int))
    _, _, cost = pam(distance, 3, sample_weight=weights)
    repeated = pam(distance[np.ix_(copies, copies)], 3, sample_weight=np.ones(copies.size))
    assert repeated[2] == pytest.approx(cost, rel=0.05)
    assert pam(distance, n, sample_weight=weights)[2] == 0.0


def test_pam_leaves_the_greedy_choice():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(80, 2)) + 8 * np.repeat([[0, 0], [1, 0], [0, 1], [1, 1]], 20, axis=0)
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    start = kernels.median.build(distance, np.ones(80), 4)
    greedy = distance[:, start].min(axis=1).sum()
    _, medoids, cost = pam(distance, 4, sample_weight=np.ones(80))
    assert cost < greedy - 1e-6
    from_bad = np.arange(4)
    assert kernels.median.swap(distance, np.ones(80), from_bad, 100)[1] == pytest.approx(cost)
    single = pam(distance.astype(np.float32), 4, sample_weight=np.ones(80))
    assert sorted(single[1]) == sorted(medoids)


def test_rows_of_copies_weigh_like_copies():
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((15, 9)) < 0.3, rng.integers(0, 3, (15, 9)), [[0]] * 8 + [[2]] * 7)
    copies = rng.integers(1, 4, 15)
    for assign in ("pam", "kmeans"):
        few = BagClust(2, variant=2, assign=assign, random_state=0)
        few.fit(labels, sample_weight=copies)
        many = BagClust(2, variant=2, assign=assign, random_state=0)
        many.fit(np.repeat(labels, copies, axis=0))
        assert few.cost_ == pytest.approx(many.cost_)
        assert same_partition(np.repeat(few.labels_, copies), many.labels_)


def test_a_matrix_that_does_not_fit_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(MemoryError, match=r"distinct rows, .*Use variant=1"):
        BagClust(2, variant=2, max_gb=1e-6).fit(rng.integers(0, 9, size=(200, 9)))
