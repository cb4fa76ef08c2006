"""Strengths of columns against sums over pairs, and against k-means solved exactly on a line."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from clusterscape.forest.feature_profile import feature_profile
from clusterscape.linalg.kmeans import kmeans


def kappa_by_pairs(x, labels):
    """Return kappa from the definition: every pair of points, within or between clusters."""
    within = between = 0.0
    for i, j in itertools.combinations(range(len(x)), 2):
        square = (x[i] - x[j]) ** 2
        if labels[i] == labels[j]:
            within += square
        else:
            between += square
    return within / between if between > 0 else np.inf


def kappa_by_variance(x, labels):
    """Return the ratio of the sums of squares of an analysis of variance."""
    parts = [x[labels == c] for c in np.unique(labels)]
    within = sum(((p - p.mean()) ** 2).sum() for p in parts)
    between = sum(len(p) * (p.mean() - x.mean()) ** 2 for p in parts)
    return within / between


def exact_partition(x, k):
    """Return the best k-means partition of points on a line, by dynamic programming."""
    order = np.argsort(x, kind="stable")
    y = np.asarray(x, dtype=float)[order]
    n = len(y)

    def cost(i, j):
        part = y[i:j]
        return ((part - part.mean()) ** 2).sum()

    best = np.full((k + 1, n + 1), np.inf)
    back = np.zeros((k + 1, n + 1), dtype=int)
    best[0, 0] = 0.0
    for c in range(1, k + 1):
        for j in range(c, n + 1):
            options = [best[c - 1, i] + cost(i, j) for i in range(c - 1, j)]
            back[c, j] = c - 1 + int(np.argmin(options))
            best[c, j] = min(options)
    labels = np.empty(n, dtype=int)
    j = n
    for c in range(k, 0, -1):
        i = back[c, j]
        labels[order[i:j]] = c - 1
        j = i
    return labels


@pytest.mark.parametrize("k", [2, 3, 4])
@pytest.mark.parametrize("algorithm", ["lloyd", "hartigan"])
def test_strengths_are_those_of_the_exact_partitions(k, algorithm, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) ** 3
    partitions = [exact_partition(x, k) for x in X.T]
    options = {"n_init": 40, "algorithm": algorithm, "random_state": seed}
    pairs = feature_profile(X, k, kappa="pairs", **options).strengths
    expected = [kappa_by_pairs(x, p) for x, p in zip(X.T, partitions, strict=True)]
    np.testing.assert_allclose(pairs, expected, rtol=1e-9)
    anova = feature_profile(X, k, kappa="anova", **options).strengths
    expected = [kappa_by_variance(x, p) for x, p in zip(X.T, partitions, strict=True)]
    np.testing.assert_allclose(anova, expected, rtol=1e-9)


columns = st.lists(st.integers(0, 12), min_size=9, max_size=9)


@given(st.lists(columns, min_size=1, max_size=4), st.integers(2, 4))
def test_any_small_table(values, k):
    X = np.array(values, dtype=float).T
    distinct = np.array([np.unique(x).size for x in X.T])
    if (distinct < k).all():
        with pytest.raises(ValueError, match="distinct values"):
            feature_profile(X, k, random_state=0)
        return
    found = feature_profile(X, k, n_init=60, random_state=0)
    np.testing.assert_array_equal(found.n_distinct, distinct)
    np.testing.assert_array_equal(found.sampled, distinct < k)
    own = found.strengths[~found.sampled]
    assert np.isin(found.strengths[found.sampled], own).all()
    for x, strength, drawn in zip(X.T, found.strengths, found.sampled, strict=True):
        if not drawn:
            # Several partitions may share the lowest inertia; anova's kappa is that of all.
            best = kappa_by_variance(x, exact_partition(x, k))
            alone = feature_profile(
                x[:, None], k, kappa="anova", n_init=60, random_state=0
            ).strengths
            np.testing.assert_allclose(alone[0], best, rtol=1e-9, atol=1e-12)
            assert 0 <= strength < np.inf


def test_it_is_kappa_of_the_house_k_means(seed):
    X = np.random.default_rng(seed).normal(size=(300, 3))
    found = feature_profile(X, 3, kappa="pairs", random_state=seed)
    for x, strength in zip(X.T, found.strengths, strict=True):
        labels = kmeans(x[:, None], 3, n_init=20, tol=0.0, seed=seed).labels
        mass = np.bincount(labels)
        within = sum(m * m * x[labels == c].var() for c, m in enumerate(mass))
        between = len(x) ** 2 * x.var() - within
        np.testing.assert_allclose(strength, within / between, rtol=0.02)


def test_columns_with_too_few_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 2, 30), np.full(30, 7.0)])
    X = np.column_stack([X, rng.permutation(np.repeat([1.0, 4.0, 9.0], 10))])
    found = feature_profile(X, 3, random_state=0)
    np.testing.assert_array_equal(found.sampled, [False, True, True, False])
    np.testing.assert_array_equal(found.n_distinct, [30, 2, 1, 3])
    assert found.strengths[3] == 0  # as many values as clusters
    assert set(found.strengths[1:3]) <= {found.strengths[0], 0.0}
    drawn = {float(feature_profile(X, 3, random_state=s).strengths[2]) for s in range(20)}
    assert len(drawn) >= 2, "the draw is random"
    assert not feature_profile(X[:, :2], 2, random_state=0).sampled.any()


def test_seeds_and_workers():
    X = np.random.default_rng(0).normal(size=(120, 150))
    one = feature_profile(X, 4, n_init=1, random_state=1).strengths
    np.testing.assert_array_equal(one, feature_profile(X, 4, n_init=1, random_state=1).strengths)
    two = feature_profile(X, 4, n_init=1, random_state=1, n_jobs=2).strengths
    np.testing.assert_array_equal(one, two)
    assert (one != feature_profile(X, 4, n_init=1, random_state=2).strengths).any()
    # The lowest inertia is sought; kappa by pairs may be a little higher there.
    more = feature_profile(X, 4, n_init=20, kappa="anova", random_state=1).strengths
    few = feature_profile(X, 4, n_init=1, kappa="anova", random_state=1).strengths
    assert (more <= few + 1e-12).all()


def test_batches_change_nothing(monkeypatch):
    X = np.random.default_rng(0).normal(size=(50, 20))
    whole = feature_profile(X, 3, random_state=0).strengths
    # By its full name: the package's attribute of this name is the function.
    module = importlib.import_module("clusterscape.forest.feature_profile")
    monkeypatch.setattr(module, "_BLOCK", 150)
    np.testing.assert_array_equal(whole, feature_profile(X, 3, random_state=0).strengths)


def test_sparse_is_dense():
    X = np.random.default_rng(0).poisson(0.4, size=(60, 9)).astype(float)
    dense = feature_profile(X, 3, random_state=0)
    for kind in (sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix):
        found = feature_profile(kind(X), 3, random_state=0)
        np.testing.assert_array_equal(found.strengths, dense.strengths)
        np.testing.assert_array_equal(found.n_distinct, dense.n_distinct)


def test_names_of_frames():
    X = np.random.default_rng(0).normal(size=(20, 2))
    frame = pd.DataFrame(X, columns=["a", "b"])
    found = feature_profile(frame, 2, random_state=0)
    assert found.names == ("a", "b")
    plain = feature_profile(X.tolist(), 2, random_state=0)
    assert plain.names is None
    np.testing.assert_array_equal(found.strengths, plain.strengths)
    assert (found.n_clusters, found.kappa) == (2, "anova")


def test_weights_repeat_points():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3))
    weight = rng.integers(0, 4, size=25)
    found = feature_profile(X, 3, n_init=50, sample_weight=weight, random_state=0)
    again = feature_profile(np.repeat(X, weight, axis=0), 3, n_init=50, random_state=0)
    np.testing.assert_allclose(found.strengths, again.strengths, rtol=1e-9)
    np.testing.assert_array_equal(found.n_distinct, again.n_distinct)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_units_do_not_matter(kind):
    x = np.random.default_rng(0).normal(size=80).astype(kind)
    unit = 1e30 if kind == np.float32 else 1e200
    X = np.column_stack([x, x * kind(unit), x / kind(unit)])
    found = feature_profile(X, 3, n_init=30, random_state=0).strengths
    np.testing.assert_allclose(found, found[0], rtol=1e-5)


def test_an_origin_far_away_does_not_matter():
    x = np.random.default_rng(0).normal(size=80)
    found = feature_profile(np.column_stack([x, x + 1e9]), 3, n_init=30, random_state=0).strengths
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)


def test_noise_is_weaker_than_clusters(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([-1, 1], 500)
    X = rng.normal(size=(1000, 4)) + np.outer(y, [0, 0, 2, 5])
    strengths = feature_profile(X, 2, random_state=seed).strengths
    assert strengths[3] < strengths[2] < strengths[:2].min()
    # Of a normal column cut in half: within 1 - 2 / pi, the rest between.
    within = 1 - 2 / np.pi
    np.testing.assert_allclose(strengths[:2], within / (1 - within), rtol=0.15)


def test_bad_input():
    X = np.random.default_rng(0).normal(size=(10, 3))
    with pytest.raises(ValueError, match=r"no column of X has 3 or more distinct values"):
        feature_profile(np.repeat([[0.0], [1.0]], 5, axis=0), 3)
    with pytest.raises(ValueError, match="the most is 10.*n_clusters=11"):
        feature_profile(X, 11)
    with pytest.raises(ValueError, match="n_clusters must be an integer >= 2"):
        feature_profile(X, 1)
    with pytest.raises(ValueError, match="X has NaN in row 0, column 1"):
        feature_profile(np.array([[1.0, np.nan], [2.0, 3.0]]), 2)
    with pytest.raises(ValueError, match="kappa must be one of 'pairs', 'anova'"):
        feature_profile(X, 2, kappa="pair")
    with pytest.raises(ValueError, match="X must be one matrix; got a list of 2"):
        feature_profile([X, X], 2)
    with pytest.raises(ValueError, match="sample_weight must have one entry"):
        feature_profile(X, 2, sample_weight=[1, 2])
    with pytest.raises(ValueError, match="must have two dimensions"):
        feature_profile(X[:, 0], 2)
