"""The median partition against all partitions, and its moves against counting anew."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from clusterscape import Ensemble
from clusterscape.combine import ConsensusWarning
from clusterscape.combine.median import MedianPartition, search
from clusterscape.combine.median.search import Costs, Moves, searcher
from clusterscape.compare import MEASURES, rand_distance
from strategies import ensembles
from test_bagclust import invariances
from test_combine import inside_some_cluster, same_partition

PLAIN = [name for name, m in MEASURES.items() if not m.needs_features]
METRICS = [name for name in PLAIN if MEASURES[name].metric]


@pytest.mark.parametrize("distance", ["mirkin", "vi", "nmi", "accuracy"])
def test_what_holds_for_every_method(distance):
    invariances(lambda k: MedianPartition(k, distance=distance))


def partitions_of(n):
    """All partitions of n points, as labels."""
    if n == 0:
        yield ()
        return
    for rest in partitions_of(n - 1):
        for label in range(max(rest, default=-1) + 2):
            yield (*rest, label)


def cost_of(labels, ensemble, distance):
    """The sum of distances, one pair at a time."""
    total = 0.0
    for i in range(ensemble.n_partitions):
        its = ensemble.labels[:, i]
        if i in ensemble.soft and ensemble.n_clusters[i] > 0:
            its = np.where((its == -2)[:, None], np.nan, ensemble.soft[i].toarray())
        measure = MEASURES[distance]
        value = measure.function(labels, its, sample_weight=ensemble.sample_weight)
        if measure.direction == "similarity":
            value = (measure.identity or 0.0) - value
        total += ensemble.weights[i] * np.nan_to_num(value)
    return total


def fitted(k, ensemble, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        return MedianPartition(k, **options).fit(ensemble)


@pytest.mark.parametrize("distance", METRICS)
def test_the_best_input_is_within_twice_the_optimum(distance, seed):
    rng = np.random.default_rng(seed)
    for n in (3, 5, 6):
        votes = Ensemble.from_labels(
            list(rng.integers(0, 3, size=(4, n))), weights=rng.integers(1, 3, 4)
        )
        optimum = min(cost_of(p, votes, distance) for p in partitions_of(n))
        start = MedianPartition(distance=distance, local_search=False).fit(votes)
        assert start.cost_ == pytest.approx(
            min(cost_of(votes.labels[:, i], votes, distance) for i in range(4))
        )
        assert start.cost_ <= 2.0 * optimum + 1e-9
        model = MedianPartition(distance=distance).fit(votes)
        assert optimum - 1e-9 <= model.cost_ <= start.cost_ + 1e-9


def assert_local_optimum(work, distance, k):
    """Check the cost against its definition, and every single move against the cost."""
    model = fitted(k, work, distance=distance)
    assert (np.diff(model.costs_) <= 1e-9).all()
    assert model.cost_ == pytest.approx(cost_of(model.labels_, work, distance), abs=1e-9)
    if k is not None:
        assert model.n_clusters_ == min(k, model.n_micro_clusters_)
    if model.n_micro_clusters_ < work.n_points:
        return  # copies move together, so that a single copy may be a move that was not tried
    for x in range(work.n_points):
        if k is not None and (model.labels_ == model.labels_[x]).sum() == 1:
            continue
        for g in range(model.n_clusters_ + (k is None)):
            other = model.labels_.copy()
            other[x] = g
            assert cost_of(other, work, distance) >= model.cost_ - 1e-7


DISTANCES = ["mirkin", "rand_distance", "vi", "adjusted_rand", "purity"]


@given(
    ensembles(min_points=2, max_points=7),
    st.sampled_from(DISTANCES),
    st.sampled_from([None, 1, 2, 3]),
)
def test_no_single_move_lowers_the_cost(ensemble, distance, k):
    # Noise with a weight has no meaning to compare beside soft partitions.
    work = ensemble.with_weights(sample_weight=np.ones(ensemble.n_points))
    work = inside_some_cluster(work)
    assume(work is not None and (k is None or work.n_points >= k))
    assert_local_optimum(work, distance, k)


@pytest.mark.parametrize("distance", DISTANCES)
@pytest.mark.parametrize("k", [None, 3])
def test_no_single_move_lowers_the_cost_of_weighted_votes(distance, k, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-2, 3, size=(12, 8))
    labels[:, 0] = np.repeat([0, 1, 2], 4)
    votes = Ensemble.from_labels(
        labels, weights=rng.integers(1, 4, 8), sample_weight=rng.integers(1, 4, 12)
    )
    assert_local_optimum(votes, distance, k)


SOFT = [name for name in PLAIN if MEASURES[name].soft]


@pytest.mark.parametrize(
    ("distance", "soft"), [*((name, False) for name in PLAIN), *((name, True) for name in SOFT)]
)
def test_updated_sums_equal_counting_anew(distance, soft, seed):
    rng = np.random.default_rng(seed)
    parts = list(rng.integers(-2, 4, size=(4, 14)))
    if soft:
        parts[0] = rng.dirichlet(np.ones(3), size=14)
        parts = [np.where(p == -1, 0, p) if p.ndim == 1 else p for p in parts]
    votes = Ensemble.from_labels(
        parts, weights=[1, 2, 0.5, 1], sample_weight=rng.integers(1, 4, 14)
    )
    costs = Costs(votes, distance, MEASURES[distance], None)
    groups = rng.integers(0, 3, 14)
    moves = Moves(votes, votes.weights, most=9)
    counted = search._ByCounting(moves, costs, groups, fixed=False)
    expected = counted.prices(np.arange(14))
    assert expected[0, groups[0]] == pytest.approx(cost_of(groups, votes, distance))
    if distance in search._SUMS:
        by_sums = search._BySums(moves, costs, groups, fixed=False)
        np.testing.assert_allclose(by_sums.prices(np.arange(14)), expected, atol=1e-9)
        by_sums.move(3, (groups[3] + 1) % 3)
        by_sums.move(8, 3)  # opens a group
        again = search._ByCounting(Moves(votes, votes.weights, most=9), costs, groups, fixed=False)
        found = by_sums.prices(np.arange(14))
        own = found[np.arange(14), by_sums.groups]
        np.testing.assert_allclose(own, again.prices(np.array([0]))[0, again.groups[0]])


def test_mirkin_gains_equal_the_generic_route(seed):
    rng = np.random.default_rng(seed)
    votes = Ensemble.from_labels(rng.integers(-2, 4, size=(25, 7)))
    for distance in ("mirkin", "rand_distance"):
        fast = MedianPartition(distance=distance).fit(votes)

        def same(a, b, function=MEASURES[distance].function):
            return function(a, b)

        slow = MedianPartition(distance=same).fit(votes)
        assert fast.cost_ == pytest.approx(slow.cost_, rel=0.05)
        assert fast.costs_[0] == pytest.approx(slow.costs_[0])
        assert fast.start_ == slow.start_


@pytest.mark.parametrize("distance", ["mirkin", "vi"])
def test_the_planted_partition_is_the_median_of_noisy_copies(distance, seed):
    rng = np.random.default_rng(seed)
    planted = np.repeat([0, 1, 2, 3], 25)
    votes = Ensemble.from_labels(
        [np.where(rng.random(100) < 0.25, rng.integers(0, 4, 100), planted) for _ in range(25)]
    )
    for k in (None, 4):
        model = MedianPartition(k, distance=distance).fit(votes)
        assert same_partition(model.labels_, planted)
        assert len(model.costs_) > 1
    fewer = MedianPartition(2, distance=distance).fit(votes)
    more = MedianPartition(6, distance=distance).fit(votes)
    assert (fewer.n_clusters_, more.n_clusters_) == (2, 6)
    assert min(fewer.cost_, more.cost_) > model.cost_


def test_a_point_that_the_best_input_missed_is_placed():
    votes = Ensemble.from_labels(
        [[0, 0, 0, 1, 1, -2], [0, 0, 0, 1, 1, -2], [0, 0, 1, 1, 1, 1], [0, 0, -2, 1, 1, 1]]
    )
    model = MedianPartition(local_search=False).fit(votes)
    np.testing.assert_array_equal(model.labels_, [0, 0, 0, 1, 1, 1])
    # Two points that are all an input sampled agree with every input, and yet it is not the best.
    few = Ensemble.from_labels([[0, 0, -2, -2, -2, -2], [0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 1]])
    assert MedianPartition(local_search=False).fit(few).start_ == 1
    noisy = Ensemble.from_labels([[0, 0, 0, -1], [0, 0, 0, -1], [0, 0, 0, 1]])
    np.testing.assert_array_equal(MedianPartition().fit(noisy).labels_, [0, 0, 0, 1])


def test_no_more_clusters_are_opened_than_allowed():
    rng = np.random.default_rng(0)
    votes = Ensemble.from_labels(rng.integers(0, 4, size=(60, 5)))
    free = MedianPartition().fit(votes)
    assert free.n_clusters_ > 8
    assert not free.hit_max_clusters_
    kept = MedianPartition(max_clusters=8).fit(votes)
    assert kept.n_clusters_ <= 8
    assert kept.hit_max_clusters_
    assert kept.cost_ >= free.cost_
    noise = votes.labels.copy()
    noise[rng.random(noise.shape) < 0.5] = -1
    assert MedianPartition(max_clusters=8).fit(noise).n_clusters_ <= 8


def test_a_function_may_be_the_distance():
    votes = Ensemble.from_labels(np.random.default_rng(0).integers(0, 3, size=(10, 5)))
    model = MedianPartition(distance=rand_distance).fit(votes)
    named = MedianPartition(distance="rand_distance").fit(votes)
    assert model.costs_[0] == pytest.approx(named.costs_[0])
    assert model.k_rule() == "least sum of distances to the partitions"
    assert "n_clusters=3" in MedianPartition(3).k_rule()


def test_what_is_refused(monkeypatch):
    votes = Ensemble.from_labels(np.random.default_rng(0).integers(0, 3, size=(30, 5)))
    with pytest.raises(ValueError, match="distance must be the name of a measure"):
        MedianPartition(distance="luck").fit(votes)
    monkeypatch.setattr(search, "_MOST_MOVES", 10)
    monkeypatch.setattr(search, "_MOST_LABELS", 10)
    for distance in ("vi", "accuracy", rand_distance):
        with pytest.raises(
            ValueError, match=r"too long on 30 distinct rows.*Use distance='mirkin'"
        ):
            MedianPartition(distance=distance).fit(votes)
        assert MedianPartition(distance=distance, local_search=False).fit(votes).cost_ > 0
    costs = Costs(votes, "mirkin", MEASURES["mirkin"], None)
    assert callable(searcher(costs, 3, fixed=False, most=9))
    soft = Ensemble.from_labels([np.full((4, 2), 0.5), [0, 0, 1, 1]])
    with pytest.raises(ValueError, match="ami is not defined for soft partitions"):
        MedianPartition(distance="ami").fit(soft)


def test_a_distance_in_space_weighs_points_and_partitions():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (12, 2)), rng.normal(5, 1, (12, 2))])
    labels = np.stack([(X[:, 0] > limit).astype(int) for limit in (1.0, 2.0, 2.5, 5.0)], axis=1)
    labels[3, 0] = -1
    counts, votes = rng.integers(1, 4, 24), np.array([1.0, 2.0, 1.0, 1.0])
    ensemble = Ensemble.from_labels(labels, weights=votes, sample_weight=counts)
    found = MedianPartition(distance="lift_emd").fit(ensemble, features=X)

    def cost(candidate):
        distance = MEASURES["lift_emd"].function
        return sum(
            vote * distance(candidate, column, X, sample_weight=counts)
            for vote, column in zip(votes, labels.T, strict=True)
        )

    assert found.cost_ == pytest.approx(cost(found.labels_), abs=1e-9)
    assert found.cost_ <= min(cost(column) for column in labels.T) + 1e-9
