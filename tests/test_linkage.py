"""The linkage kernels against scipy, and against the definition where ties leave a choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from clusterscape import Ensemble, kernels
from clusterscape._core.labels import canonical
from clusterscape.combine.eac import EAC, eac_oracle
from strategies import brute_force_coassociation, ensembles

METHODS = {"single": 0, "average": 1, "complete": 2}


def replayed(distance, sizes, pairs, heights, method):
    """Follow the merges by height; every one must join two clusters that are nearest of all."""
    clusters = [[x] for x in range(len(sizes))]

    def between(a, b):
        block = distance[np.ix_(a, b)]
        if method == "average":
            return np.average(block, weights=np.outer(sizes[a], sizes[b]))
        return block.min() if method == "single" else block.max()

    for (x, y), height in zip(pairs, heights, strict=True):
        # Merges of equal height are in the order in which they were made.
        a = next(c for c in clusters if x in c)
        b = next(c for c in clusters if y in c)
        assert a is not b
        nearest = min(between(c, d) for i, c in enumerate(clusters) for d in clusters[:i])
        assert between(a, b) == pytest.approx(height, abs=1e-9)
        assert height == pytest.approx(nearest, abs=1e-9)
        clusters = [c for c in clusters if c is not a and c is not b] + [a + b]
    assert len(clusters) == 1


def merged(condensed, sizes, method, dtype=np.float64):
    pairs, heights = kernels.linkage.agglomerate(
        condensed.astype(dtype), np.asarray(sizes, float), METHODS[method]
    )
    order = np.argsort(heights, kind="stable")
    return pairs[order], heights[order]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 3, 40, 150])
def test_agglomerate_equals_scipy(method, n, seed):
    condensed = pdist(np.random.default_rng(seed).normal(size=(n, 3)))
    tree = linkage(condensed, method)
    pairs, heights = merged(condensed, np.ones(n), method)
    np.testing.assert_allclose(heights, tree[:, 2], rtol=1e-12)
    for k in {1, 2, n // 3 + 1, n}:
        found = kernels.linkage.cut(pairs, n - k, n)
        np.testing.assert_array_equal(
            canonical(found), canonical(fcluster(tree, k, "maxclust").astype(np.int64))
        )
    single = merged(condensed, np.ones(n), method, np.float32)[1]
    np.testing.assert_allclose(single, tree[:, 2], rtol=1e-5)


@pytest.mark.parametrize("method", METHODS)
def test_data_without_mutual_neighbours_go_by_the_chain(method):
    # Every point is nearest to the one before it, so a round finds one pair only.
    line = np.cumsum(1.05 ** np.arange(200))[:, None]
    condensed = pdist(line)
    assert count_pairs(condensed, 200) == 1
    pairs, heights = merged(condensed, np.ones(200), method)
    tree = linkage(condensed, method)
    np.testing.assert_allclose(heights, tree[:, 2], rtol=1e-9)
    np.testing.assert_array_equal(
        canonical(kernels.linkage.cut(pairs, 195, 200)),
        canonical(fcluster(tree, 5, "maxclust").astype(np.int64)),
    )


def count_pairs(condensed, n):
    least, ahead = np.empty(n), np.empty(n)
    kernels.linkage._nearest(condensed, least, ahead)
    square = squareform(condensed) + np.diag(np.full(n, np.inf))
    np.testing.assert_array_equal(least, square.min(axis=1))
    return kernels.linkage._match(condensed, n, least, ahead, np.empty(n, dtype=np.int64))


def test_equal_distances_are_paired_off_at_once():
    assert count_pairs(np.ones(10 * 9 // 2), 10) == 5


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.integers(0, 3), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2),
            st.lists(st.sampled_from([1.0, 2.0, 3.5]), min_size=n, max_size=n),
        )
    ),
    st.sampled_from(sorted(METHODS)),
)
def test_every_merge_is_of_the_nearest_clusters(given_, method):
    n, values, sizes = given_
    condensed, sizes = np.array(values, float), np.array(sizes)
    replayed(squareform(condensed), sizes, *merged(condensed, sizes, method), method)


@pytest.mark.parametrize("method", METHODS)
def test_large_ties_stay_right_through_rounds_and_chains(method):
    rng = np.random.default_rng(0)
    condensed = rng.integers(1, 4, size=70 * 69 // 2).astype(float)
    sizes = rng.integers(1, 4, size=70).astype(float)
    replayed(squareform(condensed), sizes, *merged(condensed, sizes, method), method)


@given(ensembles(soft=False, min_points=2))
def test_condensed_distances_are_one_minus_coassociation(ensemble):
    columns = np.ascontiguousarray(ensemble.labels.T)
    n = ensemble.n_points
    expected = 1.0 - brute_force_coassociation(ensemble)[1][np.triu_indices(n, 1)]
    out = np.empty(n * (n - 1) // 2)
    kernels.linkage.condensed_distances(columns, ensemble.weights, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)
    crooked = ensemble.with_weights(weights=ensemble.weights + np.pi)
    expected = 1.0 - brute_force_coassociation(crooked)[1][np.triu_indices(n, 1)]
    kernels.linkage.condensed_distances(columns, crooked.weights, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("unsampled", [False, True])
def test_distances_over_several_tiles(unsampled):
    rng = np.random.default_rng(1)
    labels = rng.integers(-1, 200, size=(4500, 300))  # more than 255 votes, and two tiles a row
    if unsampled:
        labels[rng.random(labels.shape) < 0.2] = -2
    columns = np.ascontiguousarray(labels.T.astype(np.int16))
    out = np.empty(4500 * 4499 // 2, dtype=np.float32)
    kernels.linkage.condensed_distances(columns, np.ones(300), out)
    for x, y in [(0, 1), (3, 4400), (255, 256), (4097, 4499), (300, 4095), (300, 4096)]:
        both = (labels[x] != -2) & (labels[y] != -2)
        alike = (labels[x] == labels[y]) & (labels[x] >= 0)
        place = 4500 * x - x * (x + 1) // 2 + y - x - 1
        assert out[place] == np.float32(1.0 - alike.sum() / both.sum())


def test_tallies_keep_proportions():
    tallies = kernels.labels.tallies
    assert tallies(np.ones(50)).tolist() == [1] * 50
    assert tallies(np.full(3, 0.1)).dtype == np.uint8
    assert tallies(np.array([0.5, 0.0, 2.0])).tolist() == [1, 0, 4]
    assert tallies(np.array([6.0, 4.0])).tolist() == [3, 2]
    assert tallies(np.ones(300)).dtype == np.uint16
    assert tallies(np.ones(70_000)).dtype == np.float64
    crooked = np.array([1.0, np.pi])
    assert tallies(crooked) is crooked
    assert tallies(np.zeros(2)).tolist() == [0, 0]


@given(ensembles(soft=False))
def test_fraction_rows_and_votes(ensemble):
    columns = np.ascontiguousarray(ensemble.labels.T)
    counts, fractions = brute_force_coassociation(ensemble)
    n = ensemble.n_points
    out = np.empty((n, n))
    kernels.labels.fraction_rows(columns, ensemble.weights, 0, n, out)
    np.testing.assert_allclose(out, fractions, atol=1e-12)
    sampled, together = np.empty(n), np.empty(n)
    kernels.labels.votes_sampled(columns, n - 1, 0, n, ensemble.weights, sampled)
    kernels.labels.votes_together(columns, n - 1, 0, n, ensemble.weights, together)
    np.testing.assert_allclose(together, counts[n - 1], atol=1e-12)
    seen = ensemble.labels != -2
    np.testing.assert_allclose(sampled, (seen & seen[n - 1]) @ ensemble.weights, atol=1e-12)


# -- the oracle ---------------------------------------------------------------------------------


def test_the_oracle_takes_the_best_threshold_by_the_truth():
    rng = np.random.default_rng(2)
    truth = np.repeat([0, 1, 2], 10)
    votes = Ensemble.from_labels(
        [np.where(rng.random(30) < 0.25, rng.integers(0, 3, 30), truth) for _ in range(9)]
    )
    found = eac_oracle(votes, truth, (0.3, 0.5, 0.9))
    from clusterscape.compare import pair_accuracy, rand_distance

    by_hand = {
        t: pair_accuracy(EAC(linkage="single", threshold=t).fit_predict(votes), truth)
        for t in (0.3, 0.5, 0.9)
    }
    assert found.scores == by_hand
    assert found.score == max(by_hand.values()) == by_hand[found.threshold]
    assert eac_oracle(votes, truth, (0.3, 0.5, 0.9), metric="rand_distance").threshold == (
        found.threshold
    )
    own = eac_oracle(votes, truth, (0.3, 0.9), metric=rand_distance)  # a function: more is better
    assert own.score == max(own.scores.values())
    with pytest.raises(ValueError, match="thresholds must be a list of numbers in"):
        eac_oracle(votes, truth, ())
    with pytest.raises(ValueError, match="metric must be the name of a measure"):
        eac_oracle(votes, truth, metric="luck")
