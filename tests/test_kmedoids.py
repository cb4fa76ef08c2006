"""k-medoids against enumeration, and against its own definition after every exchange."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from clusterscape.linalg.kmedoids import kmedoids


def cost_of(D, medoids, weight):
    return float(weight @ D[:, list(medoids)].min(axis=1))


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4])
def test_many_starts_find_the_least_cost_of_all(n_clusters, seed):
    rng = np.random.default_rng(seed)
    D = cdist(rng.normal(size=(11, 2)), rng.normal(size=(11, 2)))
    D = (D + D.T) * (1 - np.eye(11))  # no triangle inequality
    weight = rng.integers(0, 4, 11) + 0.5
    found = kmedoids(D, n_clusters, n_init=30, sample_weight=weight, seed=seed)
    every = itertools.combinations(range(11), n_clusters)
    assert np.isclose(found.cost, min(cost_of(D, m, weight) for m in every))
    assert np.isclose(found.cost, cost_of(D, found.medoids, weight))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_no_single_exchange_is_better_and_labels_are_the_nearest_medoids(seed, dtype):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 3))
    D = cdist(X, X).astype(dtype)
    found = kmedoids(D, 6, seed=seed)
    D = D.astype(np.float64)
    assert np.array_equal(D[:, found.medoids].argmin(axis=1), found.labels)
    assert np.array_equal(found.labels[found.medoids], np.arange(6))
    assert found.n_swaps > 0
    for i in range(6):
        rest = np.delete(found.medoids, i)
        costs = [cost_of(D, [*rest, x], np.ones(60)) for x in range(60)]
        assert min(costs) >= found.cost * (1 - 1e-9)


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    weight = rng.integers(1, 4, 15)
    many = np.repeat(X, weight, axis=0)
    one = kmedoids(cdist(X, X), 3, n_init=20, sample_weight=weight, seed=0)
    copies = kmedoids(cdist(many, many), 3, n_init=20, seed=0)
    assert np.isclose(one.cost, copies.cost)


def test_equal_points_and_as_many_clusters_as_points():
    D = np.zeros((5, 5))
    assert len(set(kmedoids(D, 3, seed=0).labels)) == 3
    assert sorted(kmedoids(1.0 - np.eye(4), 4, seed=0).labels) == [0, 1, 2, 3]
    assert kmedoids(np.zeros((1, 1)), 1).labels.tolist() == [0]


def test_the_seed_decides():
    X, y = make_blobs(200, centers=4, cluster_std=0.5, random_state=1)
    D = cdist(X, X)
    first, again = (kmedoids(D, 4, n_init=5, seed=3) for _ in range(2))
    assert np.array_equal(first.labels, again.labels)
    assert adjusted_rand_score(first.labels, y) == 1.0


@pytest.mark.parametrize(
    ("D", "k", "sentence"),
    [
        (np.zeros((2, 3)), 1, "square"),
        (-np.ones((2, 2)), 1, ">= 0; the least is -1"),
        (np.zeros((2, 2)), 3, "more than the 2 points"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), 1, "NaN"),
    ],
)
def test_wrong_input_is_refused(D, k, sentence):
    with pytest.raises(ValueError, match=sentence):
        kmedoids(D, k)
