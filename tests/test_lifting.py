"""Lifted clusters against dense kernels and sums taken point by point."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import clusterscape.lifting._exact as exact_module
import clusterscape.lifting._fourier as fourier_module
import clusterscape.lifting._members as members_module
from clusterscape import Ensemble
from clusterscape.lifting import components_for_error, lift
from clusterscape.lifting._fourier import fourier_map
from strategies import ensembles, rows_of

KERNELS = ("gaussian", "laplacian", "cauchy")


def dense_kernel(name, X, Y, h):
    if name == "gaussian":
        return rbf_kernel(X, Y, gamma=1 / (2 * h * h))
    if name == "laplacian":
        return laplacian_kernel(X, Y, gamma=1 / h)
    return np.prod(1 / (1 + (X[:, None] - Y) ** 2 / h**2), axis=2)


def columns_of(ensemble, noise):
    """Return [(partition, cluster, shares)] of the clusters that have weight."""
    found = []
    for i in range(ensemble.n_partitions):
        shares, _ = rows_of(ensemble, i)
        each = [(c, shares[:, c]) for c in range(shares.shape[1])]
        if noise == "cluster":
            each.append((-1, (ensemble.labels[:, i] == -1).astype(float)))
        found += [(i, c, p) for c, p in each if (ensemble.sample_weight * p).sum() > 0]
    return found


def brute_force(ensemble, K, noise="cluster"):
    """Return partitions, clusters, masses, norms and unit products, straight from the sums."""
    found = columns_of(ensemble, noise)
    w = ensemble.sample_weight
    sums = [np.einsum("x,y,xy", w * p, w * q, K) for _, _, p in found for _, _, q in found]
    gram = np.reshape(sums, (len(found), len(found)))
    norms = np.sqrt(np.diag(gram))
    sizes = np.array([(w * p).sum() for _, _, p in found])
    partition = np.array([i for i, _, _ in found], dtype=int)
    total = np.array([sizes[partition == i].sum() for i in range(ensemble.n_partitions)])
    return (
        partition,
        np.array([c for _, c, _ in found], dtype=int),
        sizes / total[partition] if len(found) else sizes,
        norms,
        gram / norms / norms[:, None],
    )


def everything(lifted):
    return np.arange(lifted.mass.size)


def planted(n=60, r=4, d=3, seed=0, lowest=-2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))
    return Ensemble.from_labels(rng.integers(lowest, 4, size=(n, r))), X


# ---- exact sums -----------------------------------------------------------------------------


@given(
    ensembles(max_points=7, max_partitions=4),
    st.sampled_from(KERNELS),
    st.sampled_from(["cluster", "drop"]),
    st.integers(0, 1000),
)
def test_exact_sums_are_those_over_all_pairs_of_points(ensemble, kernel, noise, seed):
    X = np.random.default_rng(seed).normal(size=(ensemble.n_points, 2))
    lifted = lift(ensemble, X, kernel=kernel, bandwidth=1.3, noise=noise)
    partition, cluster, mass, norms, gram = brute_force(
        ensemble, dense_kernel(kernel, X, X, 1.3), noise
    )
    np.testing.assert_array_equal(lifted.partition, partition)
    np.testing.assert_array_equal(lifted.cluster, cluster)
    np.testing.assert_array_equal(
        lifted.offsets, [np.sum(partition < i) for i in range(ensemble.n_partitions + 1)]
    )
    np.testing.assert_allclose(lifted.mass, mass, rtol=1e-12)
    np.testing.assert_allclose(lifted.norms, norms, rtol=1e-12)
    np.testing.assert_allclose(lifted.gram, gram, rtol=1e-12)
    assert lifted.vectors is None
    assert lifted.n_components is None
    seen = ensemble.labels != -2 if noise == "cluster" else ensemble.labels >= 0
    np.testing.assert_allclose(lifted.total, ensemble.sample_weight @ seen, rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_blocks_and_workers_do_not_change_exact_sums(kernel, monkeypatch):
    ensemble, X = planted(n=70)
    whole = lift(ensemble, X, kernel=kernel)
    monkeypatch.setattr(exact_module, "_SIDE", 9)
    monkeypatch.setattr(exact_module, "_PANELS", 3)
    monkeypatch.setattr(members_module, "_CHUNK", 11)
    one = lift(ensemble, X, kernel=kernel)
    two = lift(ensemble, X, kernel=kernel, n_jobs=2)
    np.testing.assert_allclose(one.gram, whole.gram, rtol=1e-12)
    np.testing.assert_allclose(one.norms, whole.norms, rtol=1e-12)
    np.testing.assert_array_equal(one.gram, two.gram)
    table = np.random.default_rng(0).normal(size=(one.mass.size, 2))
    np.testing.assert_allclose(one.scores(X, table), whole.scores(X, table), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_single_and_double_precision_agree(kernel):
    ensemble, X = planted()
    X = np.where(np.abs(X) < 1, 0.0, X).astype(np.float32)
    expected = brute_force(ensemble, dense_kernel(kernel, X.astype(float), X.astype(float), 2.0))[4]
    for points in (X, X.astype(float), sparse.csr_matrix(X), np.asfortranarray(X), X.tolist()):
        lifted = lift(ensemble, points, kernel=kernel, bandwidth=2.0)
        np.testing.assert_allclose(lifted.gram, expected, rtol=1e-6)
        features = lift(ensemble, points, kernel=kernel, bandwidth=2.0, n_components=4000)
        every = everything(lifted)
        np.testing.assert_allclose(features.products(every, every), expected, atol=0.02)
        again = lift(ensemble, X, kernel=kernel, bandwidth=2.0, n_components=4000)
        # Sparse data are not centred, which turns the features and leaves their products.
        np.testing.assert_allclose(
            features.products(every, every), again.products(every, every), atol=1e-5
        )


def test_gaussian_callable_and_precomputed_are_the_same():
    ensemble, X = planted()
    h = 1.7
    K = rbf_kernel(X, gamma=1 / (2 * h * h))

    def function(left, right):
        return rbf_kernel(left, right, gamma=1 / (2 * h * h))

    given = lift(ensemble, X, bandwidth=h)
    table = np.random.default_rng(1).normal(size=(given.mass.size, 3))
    new = X[:7] + 0.1
    rows = rbf_kernel(new, X, gamma=1 / (2 * h * h))
    for lifted, points in (
        (lift(ensemble, X, kernel=function), new),
        (lift(ensemble, pd.DataFrame(X), kernel=function), pd.DataFrame(new)),
        (lift(ensemble, K, kernel="precomputed"), rows),
        (lift(ensemble, sparse.csr_matrix(K), kernel="precomputed"), sparse.csr_matrix(rows)),
    ):
        np.testing.assert_allclose(lifted.gram, given.gram, rtol=1e-12)
        np.testing.assert_allclose(lifted.norms, given.norms, rtol=1e-12)
        np.testing.assert_allclose(lifted.scores(points, table), given.scores(new, table))
        assert lifted.bandwidth is None


def test_a_kernel_of_strings():
    words = ["aab", "aba", "abab", "bbc", "cbc"]

    def letters(left, right):
        return [[sum(min(a.count(c), b.count(c)) for c in "abc") for b in right] for a in left]

    ensemble = Ensemble.from_labels([[0, 0, 0, 1, 1]])
    lifted = lift(ensemble, words, kernel=letters)
    K = np.array(letters(words, words), dtype=float)
    expected = K[:3, 3:].sum() / np.sqrt(K[:3, :3].sum() * K[3:, 3:].sum())
    assert lifted.gram[0, 1] == pytest.approx(expected)
    assert lifted.scores(["ccc"], np.eye(2))[0, 1] == pytest.approx(3 / lifted.norms[1])
    assert repr(lifted) == "Lifted(2 clusters of 1 partitions, kernel function, exact)"


def test_data_far_from_the_origin_keep_their_digits():
    ensemble, X = planted()
    near = lift(ensemble, X)
    far = lift(ensemble, X + 1e8)
    assert far.bandwidth == pytest.approx(near.bandwidth, rel=1e-6)
    np.testing.assert_allclose(far.gram, near.gram, atol=1e-6)
    one, other = (lift(ensemble, Y, bandwidth=2.0, n_components=400) for Y in (X, X + 1e8))
    np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-4)
    # Two pairs of close points that lie far apart: products of coordinates would not see the gaps.
    X = np.array([[0.0], [1.0], [1e9], [1e9 + 1]])
    lifted = lift(Ensemble.from_labels([[0, 1, 2, 3]]), X, bandwidth=1.0)
    np.testing.assert_allclose(lifted.gram[[0, 2], [1, 3]], np.exp(-0.5))


def two_groups(n=400, seed=0):
    """Return two partitions of two groups of points in the plane, and the points."""
    rng = np.random.default_rng(seed)
    first = np.repeat([0, 1], n // 2)
    second = first.copy()
    second[: n // 10] = 1
    X = rng.normal(size=(n, 2))
    X[:, 0] += 4.0 * first
    return Ensemble.from_labels([first, second]), X


def by_differences(kernel, X, h):
    """Return kernel values, with every distance from the difference of two points."""
    gaps = X[:, None] - X
    with np.errstate(over="ignore"):
        if kernel == "gaussian":
            return np.exp(-0.5 * ((gaps / h) ** 2).sum(axis=2))
        if kernel == "laplacian":
            return np.exp(-np.abs(gaps / h).sum(axis=2))
        return np.prod(1 / (1 + (gaps / h) ** 2), axis=2)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("far", [1e6, 1e12, 1e20, 1e200])
def test_an_outlier_does_not_lower_the_precision_of_other_points(kernel, far):
    ensemble, X = two_groups()
    near = lift(ensemble, X, kernel=kernel)
    X[0, 0] = far
    for points in (X, sparse.csr_matrix(X)):
        lifted = lift(ensemble, points, kernel=kernel)
        assert lifted.bandwidth == pytest.approx(near.bandwidth, rel=0.01)
        K = by_differences(kernel, X, lifted.bandwidth)
        np.testing.assert_allclose(lifted.gram, brute_force(ensemble, K)[4], rtol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("move", ["outlier", "offset", "groups"])
@pytest.mark.parametrize("far", [1e4, 1e8, 1e11])
def test_phases_keep_their_digits_far_away(kernel, move, far):
    ensemble, X = two_groups()
    if move == "outlier":
        X[0, 0] = far
    else:
        X[:: 1 if move == "offset" else 2, 0] += far
    for points in (X, sparse.csr_matrix(X)):
        lifted = lift(ensemble, points, kernel=kernel, bandwidth=2.0, n_components=400)
        W = np.hstack(lifted._map.blocks).astype(np.longdouble)
        centre = X[1] if lifted._map.centre is None else lifted._map.centre  # turns all alike
        phases = (X.astype(np.longdouble) - centre) @ W
        features = np.hstack([np.cos(phases), np.sin(phases)]).astype(float) / np.sqrt(200)
        expected = brute_force(ensemble, features @ features.T)[4]
        every = everything(lifted)
        # Double precision has digits down to some 1e-16 of the distance from the centre.
        tolerance = max(1e-4, 1e-14 * far) * (10 if kernel == "laplacian" else 1)
        found = lifted.products(every, every)
        np.testing.assert_allclose(found, expected, atol=tolerance)
        scores = lifted.scores(points, np.eye(every.size))
        clusters = np.array([p for *_, p in columns_of(ensemble, "cluster")])
        expected = features @ (features.T @ clusters.T) / lifted.norms
        np.testing.assert_allclose(scores, expected, atol=10 * tolerance)


def test_points_too_far_for_phases():
    ensemble, X = two_groups()
    X[7, 1] = 1e20
    words = "point 7 lies 5e.19 bandwidths of 2 from the {}.*n_components=None"
    for points, where in ((X, "middle of the data"), (sparse.csr_matrix(X), "origin")):
        with pytest.raises(ValueError, match=words.format(where)):
            lift(ensemble, points, bandwidth=2.0, n_components=20)
    lifted = lift(ensemble, np.minimum(X, 10.0), bandwidth=2.0, n_components=20)
    with pytest.raises(ValueError, match="point 7 lies 5e.19 bandwidths"):
        lifted.scores(X, np.ones((lifted.mass.size, 1)))


# ---- the discrete kernel --------------------------------------------------------------------


@given(ensembles(max_points=8, max_partitions=4, soft=False))
def test_discrete_kernel_measures_symmetric_differences(ensemble):
    lifted = lift(ensemble, kernel="discrete")
    found = columns_of(ensemble, "cluster")
    squares = lifted.distances(
        everything(lifted), everything(lifted), normalize=False, squared=True
    )
    w = ensemble.sample_weight
    expected = [[w @ (p != q) for _, _, q in found] for _, _, p in found]
    np.testing.assert_allclose(squares, np.reshape(expected, squares.shape), atol=1e-9)


@given(ensembles(max_points=8, max_partitions=4, weighted=False))
def test_discrete_kernel_is_the_identity_matrix(ensemble):
    lifted = lift(ensemble, kernel="discrete")
    *_, norms, gram = brute_force(ensemble, np.eye(ensemble.n_points))
    np.testing.assert_allclose(lifted.gram, gram, atol=1e-12)
    np.testing.assert_allclose(lifted.norms, norms)
    table = np.random.default_rng(0).normal(size=(lifted.mass.size, 2))
    if len(gram):
        shares = np.array([p for _, _, p in columns_of(ensemble, "cluster")])
        np.testing.assert_allclose(
            lifted.scores(None, table), shares.T @ (table / norms[:, None]), atol=1e-12
        )


def test_weights_count_points_with_the_discrete_kernel():
    labels = np.array([[0, 0], [0, 1], [1, 1], [1, 1], [1, -1]])
    times = [2, 1, 3, 1, 2]
    weighted = lift(Ensemble.from_labels(labels, sample_weight=times), kernel="discrete")
    repeated = lift(Ensemble.from_labels(np.repeat(labels, times, axis=0)), kernel="discrete")
    np.testing.assert_allclose(weighted.gram, repeated.gram)
    np.testing.assert_allclose(weighted.mass, repeated.mass)


# ---- random features ------------------------------------------------------------------------


@given(
    ensembles(max_points=8, max_partitions=4),
    st.sampled_from(KERNELS),
    st.sampled_from(["cluster", "drop"]),
    st.integers(0, 1000),
)
def test_features_are_sums_over_points(ensemble, kernel, noise, seed):
    X = np.random.default_rng(seed).normal(size=(ensemble.n_points, 2))
    lifted = lift(
        ensemble, X, kernel=kernel, bandwidth=0.9, n_components=60, noise=noise, random_state=seed
    )
    mapping = lifted._map
    W = np.hstack(mapping.blocks).astype(float)
    phases = (X - mapping.centre) @ W
    features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(30)
    found = columns_of(ensemble, noise)
    sums = np.array([(ensemble.sample_weight * p) @ features for _, _, p in found])
    sums = sums.reshape(len(found), 60)
    np.testing.assert_allclose(lifted.norms, np.linalg.norm(sums, axis=1), rtol=1e-4)
    unit = sums / np.linalg.norm(sums, axis=1, keepdims=True)
    # Cauchy frequencies are long, and phases in single precision lose digits with their size.
    np.testing.assert_allclose(lifted.vectors, unit, atol=1e-3 if kernel == "laplacian" else 1e-5)
    table = np.random.default_rng(seed).normal(size=(len(found), 2))
    np.testing.assert_allclose(
        lifted.scores(X, table), features @ (unit.T @ table), atol=2e-3 * max(1, len(found))
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_chunks_blocks_and_workers_do_not_change_features(monkeypatch, weighted):
    ensemble, X = planted(n=300, r=5)
    if weighted:
        weight = np.random.default_rng(0).integers(0, 4, 300)
        ensemble = ensemble.with_weights(sample_weight=weight)
    ensemble = ensemble.add(np.full((300, 2), 0.5))
    monkeypatch.setattr(fourier_module, "_BLOCK", 7)
    whole = lift(ensemble, X, n_components=60)
    monkeypatch.setattr(fourier_module, "_CHUNK", 32)
    for stretch in (10**6, 50):  # workers share blocks of frequencies, or stretches of points
        monkeypatch.setattr(fourier_module, "_STRETCH", stretch)
        one, two = (lift(ensemble, X, n_components=60, n_jobs=j) for j in (1, 2))
        np.testing.assert_allclose(one.vectors, whole.vectors, atol=1e-6)
        np.testing.assert_array_equal(one.vectors, two.vectors)
        np.testing.assert_array_equal(one.norms, two.norms)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("d", [2, 20, 70])
def test_features_approach_the_kernel(kernel, d):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(40, d))
    h = {"gaussian": np.sqrt(2 * d), "laplacian": 1.1 * d, "cauchy": np.sqrt(2 * d)}[kernel]
    K = dense_kernel(kernel, X, X, h)
    points = Ensemble.from_labels([np.arange(40)])
    every = np.arange(40)
    errors = []
    for rho in (200, 3200):
        found = [lift(points, X, kernel=kernel, bandwidth=h, n_components=rho, random_state=s)
                 for s in range(3)]  # fmt: skip
        assert all(np.allclose(f.norms, 1.0, atol=1e-5) for f in found)
        errors.append(np.mean([np.abs(f.products(every, every) - K).mean() for f in found]))
    assert errors[1] < 0.4 * errors[0]  # 16 times the features: at most a quarter, and some noise
    assert errors[1] < 1.5 / np.sqrt(3200)


@pytest.mark.parametrize("kernel", KERNELS)
def test_evenly_distributed_frequencies_beat_independent_ones(kernel):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 2))
    K = dense_kernel(kernel, X, X, 1.5)

    def error(independent, seed):
        seeded = np.random.default_rng(seed)
        mapping = fourier_map(
            X, kernel, 1.5, n_components=1000, independent=independent, rng=seeded
        )
        phases = X @ np.hstack(mapping.blocks)
        features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(500)
        return np.abs(features @ features.T - K).mean()

    spread, independent = ([error(i, s) for s in range(4)] for i in (False, True))
    assert np.mean(spread) < 0.6 * np.mean(independent)


def test_orthogonal_frequencies_are_orthogonal_and_have_normal_lengths():
    W = fourier_module._orthogonal(700, 30, np.random.default_rng(0))
    assert W.shape == (700, 30)
    gram = W[:30] @ W[:30].T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert (W**2).sum(axis=1).mean() == pytest.approx(30, rel=0.05)
    assert abs(W.mean()) < 0.05


def test_orthogonal_frequencies_help_with_fewer_of_them_than_dimensions():
    W = fourier_module._orthogonal(60, 90, np.random.default_rng(0))
    assert W.shape == (60, 90)
    gram = W @ W.T
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-10)
    assert np.diag(gram).mean() == pytest.approx(90, rel=0.05)
    X = np.random.default_rng(1).normal(size=(40, 90))
    h = np.sqrt(180.0)
    K = dense_kernel("gaussian", X, X, h)

    def error(independent, seed):
        mapping = fourier_map(X, "gaussian", h, n_components=160, independent=independent,
                              rng=np.random.default_rng(seed))  # fmt: skip
        phases = X @ np.hstack(mapping.blocks)
        features = np.hstack([np.cos(phases), np.sin(phases)]) / np.sqrt(80)
        return np.abs(features @ features.T - K).mean()

    spread, independent = ([error(i, s) for s in range(6)] for i in (False, True))
    assert np.mean(spread) < 0.7 * np.mean(independent)


def test_very_wide_data_get_smaller_groups_of_directions(monkeypatch):
    monkeypatch.setattr(fourier_module, "_WIDE", 1000)
    W = fourier_module._orthogonal(30, 50, np.random.default_rng(0))
    assert W.shape == (30, 50)
    gram = np.abs(W @ W.T) > 1e-9
    np.testing.assert_array_equal(gram[:20, :20], np.eye(20, dtype=bool))
    assert gram[:20, 20:].all()
    # None are made orthogonal where a group would be below a quarter of the dimensions.
    monkeypatch.setattr(fourier_module, "_WIDE", 500)
    X = np.zeros((1, 50))
    options = {"n_components": 60, "independent": False, "rng": np.random.default_rng(0)}
    block = fourier_module.fourier_map(X, "gaussian", 1.0, **options).blocks[0]
    drawn = np.random.default_rng(0).standard_normal((30, 50)).T
    np.testing.assert_array_equal(block, drawn.astype(np.float32))


def test_a_factor_of_all_weights_does_not_change_the_bandwidth():
    ensemble, X = planted()
    weight = 1.0 + np.arange(ensemble.n_points) % 3
    found = [
        lift(ensemble.with_weights(sample_weight=factor * weight), X).bandwidth
        for factor in (1.0, 10.0, 1e10)
    ]
    assert found[1:] == pytest.approx(found[:1] * 2)


def emd(lifted):
    """Return the transport cost of partitions 0 and 1, by a linear program."""
    (a, b, c) = lifted.offsets[:3]
    cost = lifted.distances(np.arange(a, b), np.arange(b, c))
    k, m = cost.shape
    rows = np.kron(np.eye(k), np.ones(m))
    columns = np.kron(np.ones(k), np.eye(m))
    found = linprog(
        cost.ravel(),
        A_eq=np.vstack([rows, columns]),
        b_eq=np.append(lifted.mass[:b], lifted.mass[b:]),
    )
    return found.fun


def test_the_transport_distance_is_within_half_a_percent_at_1000_features():
    errors = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = np.vstack([rng.normal(size=(25, 2)), rng.normal(size=(20, 2)) + [4, 0]])
        first = (np.arange(45) < 25).astype(int)
        second = first.copy()
        second[rng.choice(45, 9, replace=False)] ^= 1
        ensemble = Ensemble.from_labels([first, second])
        exact = emd(lift(ensemble, X))
        assert exact > 0.1
        errors += [
            abs(emd(lift(ensemble, X, n_components=1000, random_state=s)) - exact) for s in range(3)
        ]
    assert max(errors) <= 0.005


# ---- what is read off ------------------------------------------------------------------------


@pytest.mark.parametrize("n_components", [None, 64])
def test_equal_clusters_have_distance_zero_and_one_name(n_components):
    X = np.random.default_rng(0).normal(size=(8, 2))
    first = [0, 0, 0, 1, 1, 1, 2, -1]
    renamed = ["b", "b", "b", "c", "c", "a", "a", "-1"]
    soft = np.zeros((8, 3))
    soft[[0, 1, 2], 2] = 1
    soft[[3, 4], 0] = 1
    soft[[5, 6], 0] = 0.25, 0.5
    soft[[5, 6], 1] = 0.75, 0.5
    ensemble = Ensemble.from_labels([first, renamed, soft])
    lifted = lift(ensemble, X, n_components=n_components)
    members = {}
    for name, (_, _, p) in enumerate(columns_of(ensemble, "cluster")):
        members.setdefault(p.tobytes(), []).append(name)
    for names in members.values():
        assert set(lifted.same[names]) == {names[0]}
    assert len(set(lifted.same)) == len(members) < lifted.mass.size
    every = everything(lifted)
    for normalize in (True, False):
        distances = lifted.distances(every, every, normalize=normalize)
        np.testing.assert_array_equal(distances == 0, lifted.same[:, None] == lifted.same)
        np.testing.assert_allclose(distances, distances.T, atol=1e-12)
        lengths = np.ones(every.size) if normalize else lifted.norms
        square = lengths**2 + lengths[:, None] ** 2
        square -= 2 * lengths * lengths[:, None] * lifted.products(every, every)
        np.testing.assert_allclose(distances**2, square, atol=1e-12)
        np.testing.assert_allclose(
            lifted.distances(every, every, normalize=normalize, squared=True), distances**2
        )


@given(ensembles(max_points=6, max_partitions=6))
def test_same_means_the_same_members(ensemble):
    lifted = lift(ensemble, kernel="discrete")
    shares = [p * (ensemble.sample_weight > 0) for _, _, p in columns_of(ensemble, "cluster")]
    for a, b in itertools.combinations(range(len(shares)), 2):
        assert (lifted.same[a] == lifted.same[b]) == np.array_equal(shares[a], shares[b])
        assert lifted.same[a] <= a


@pytest.mark.parametrize("normalize", [True, False])
def test_distances_of_nearly_equal_clusters_keep_their_digits(normalize):
    n = 4000
    X = np.random.default_rng(0).normal(size=(n, 2))
    left = np.zeros((n, 2))
    left[:, 0] = 1
    other = left.copy()
    other[0] = [1 - 1e-6, 1e-6]
    ensemble = Ensemble.from_labels([left, other])
    lifted = lift(ensemble, X, n_components=200)
    lengths = 1.0 if normalize else lifted.norms[0]
    vectors = lifted.vectors.copy()
    vectors *= 1.0 if normalize else lifted.norms[:, None]
    by_hand = math.dist(vectors[0], vectors[1])
    assert 0 < by_hand < 1e-6 * lengths
    assert lifted.distances([0], [1], normalize=normalize)[0, 0] == pytest.approx(by_hand)


@pytest.mark.parametrize("n_components", [None, 50])
def test_coordinates_are_isometric(n_components):
    ensemble, X = planted(r=12)
    ensemble = ensemble.concat(ensemble.select([0, 1]))
    lifted = lift(ensemble, X, n_components=n_components)
    every = everything(lifted)
    points = lifted.coordinates()
    assert points.shape[0] == every.size
    np.testing.assert_allclose(points @ points.T, lifted.products(every, every), atol=1e-10)


def test_coordinates_have_no_more_columns_than_the_products_have_rank():
    ensemble, X = planted(n=40, r=60)
    lifted = lift(ensemble, X)
    assert lifted.mass.size > 200
    assert lifted.coordinates().shape[1] <= 40
    again = lift(Ensemble.from_labels([np.arange(5), np.arange(5)]), np.zeros((5, 1)))
    np.testing.assert_allclose(again.coordinates(), np.ones((10, 1)))


def test_coordinates_of_a_kernel_that_is_nearly_or_not_positive_definite():
    points = Ensemble.from_labels([np.arange(3)])
    # The first pivot explains the whole diagonal, and not the product of the other two.
    for slip in (1e-7, 1e-3):
        K = np.ones((3, 3))
        K[1, 2] = K[2, 1] = 1.0 - slip
        lifted = lift(points, K, kernel="precomputed")
        if slip == 1e-3:
            with pytest.raises(ValueError, match="eigenvalue -0.000.*not positive definite"):
                lifted.coordinates()
        else:
            found = lifted.coordinates()
            np.testing.assert_allclose(found @ found.T, K, atol=2 * slip)


@pytest.mark.parametrize("n_components", [None, 4000])
@pytest.mark.parametrize("kernel", KERNELS)
def test_scores_are_inner_products_with_points(kernel, n_components):
    ensemble, X = planted()
    ensemble = ensemble.with_weights(sample_weight=np.arange(60) % 4)
    lifted = lift(ensemble, X, kernel=kernel, bandwidth=3.0, n_components=n_components)
    new = np.random.default_rng(5).normal(size=(9, 3))
    table = np.random.default_rng(6).normal(size=(lifted.mass.size, 2))
    K = dense_kernel(kernel, new, X, 3.0)
    found = columns_of(ensemble, "cluster")
    norms = brute_force(ensemble, dense_kernel(kernel, X, X, 3.0))[3]
    clusters = np.array([ensemble.sample_weight * p for _, _, p in found]) / norms[:, None]
    tolerance = 1e-9 if n_components is None else 0.15
    np.testing.assert_allclose(lifted.scores(new, table), K @ clusters.T @ table, atol=tolerance)


def test_words():
    ensemble, X = planted()
    assert repr(lift(ensemble, X, bandwidth=2, n_components=10)).endswith(
        "gaussian kernel of bandwidth 2, 10 random features)"
    )
    assert "discrete kernel, exact" in repr(lift(ensemble, kernel="discrete"))


# ---- choices --------------------------------------------------------------------------------


def test_auto_is_exact_for_few_points_and_features_for_many():
    n = 3001
    X = np.random.default_rng(0).normal(size=(n, 2))
    ensemble = Ensemble.from_labels([np.arange(n) % 3])
    many = lift(ensemble, X)
    assert many.n_components == 1000
    assert many.vectors.shape == (3, 1000)
    assert many.gram is None
    assert lift(ensemble.subset(slice(1, None)), X[1:]).n_components is None
    assert lift(ensemble, kernel="discrete").n_components is None
    bounded = lift(ensemble, X, error=0.5)
    assert bounded.n_components == components_for_error(0.5, n)


def test_components_for_error():
    assert components_for_error(0.1, 1) == 2
    for error, n, failure in [(0.1, 1000, 0.01), (0.3, 45, 0.001), (0.02, 10, 0.5)]:
        rho = components_for_error(error, n, failure=failure)
        assert rho % 2 == 0

        def broken(m, error=error, n=n):  # Hoeffding for a mean of m figures in [-1, 1], all pairs
            return n * (n - 1) / 2 * 2 * math.exp(-m * error**2 / 2)

        assert broken(rho // 2) <= failure < broken(rho // 2 - 1)
    X = np.random.default_rng(0).normal(size=(50, 3))
    points = Ensemble.from_labels([np.arange(50)])
    rho = components_for_error(0.2, 50)
    lifted = lift(points, X, bandwidth=2.0, n_components=rho)
    errors = lifted.products(np.arange(50), np.arange(50)) - dense_kernel("gaussian", X, X, 2.0)
    assert np.abs(errors).max() < 0.2


@pytest.mark.parametrize(("kernel", "order"), [("gaussian", 2), ("cauchy", 2), ("laplacian", 1)])
def test_the_bandwidth_is_the_median_distance(kernel, order):
    ensemble, X = planted()
    pairs = itertools.combinations(X, 2)
    median = np.median([np.linalg.norm(x - y, ord=order) for x, y in pairs])
    assert lift(ensemble, X, kernel=kernel).bandwidth == pytest.approx(median)
    assert lift(ensemble, sparse.csr_matrix(X), kernel=kernel).bandwidth == pytest.approx(median)


@given(st.lists(st.integers(0, 4), min_size=2, max_size=9), st.sampled_from(KERNELS), st.booleans())
def test_weights_are_copies_for_the_bandwidth_too(times, kernel, equal):
    times = [*times, 1]
    rng = np.random.default_rng(len(times))
    X = rng.integers(0, 2 if equal else 1000, size=(len(times), 2)).astype(float)
    labels = np.arange(len(times))[:, None] % [2, 3]
    weighted = Ensemble.from_labels(labels, sample_weight=times)
    repeated = Ensemble.from_labels(np.repeat(labels, times, axis=0))
    one = lift(weighted, X, kernel=kernel)
    many = lift(repeated, np.repeat(X, times, axis=0), kernel=kernel)
    assert one.bandwidth == pytest.approx(many.bandwidth, rel=1e-12)
    np.testing.assert_allclose(one.norms, many.norms, rtol=1e-9)
    np.testing.assert_allclose(one.gram, many.gram, atol=1e-9)


def test_points_are_drawn_by_weight_for_the_bandwidth():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(1500, 2)), 100.0 * rng.normal(size=(1500, 2))])
    weight = np.repeat([1.0, 1e-9], 1500)
    ensemble = Ensemble.from_labels([np.arange(3000) % 2], sample_weight=weight)
    found = lift(ensemble, X, n_components=2).bandwidth
    assert found == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.1)


def test_the_bandwidth_of_many_points_comes_from_a_sample():
    X = np.random.default_rng(0).normal(size=(5000, 2))
    ensemble = Ensemble.from_labels([np.arange(5000) % 2])
    found = [lift(ensemble, X, n_components=2, random_state=s).bandwidth for s in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert found[0] == pytest.approx(2 * np.sqrt(np.log(2)), rel=0.05)  # of the chi distribution


# ---- small and strange ------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_components", [None, 20])
def test_equal_points_and_one_point(kernel, n_components):
    ensemble = Ensemble.from_labels([[0, 0, 1, 1], [0, 1, 2, 2]])
    lifted = lift(ensemble, np.full((4, 3), 7.0), kernel=kernel, n_components=n_components)
    assert lifted.bandwidth == 1.0
    every = everything(lifted)
    np.testing.assert_allclose(lifted.distances(every, every), 0.0, atol=1e-6)
    one = lift(Ensemble.from_labels([[0]]), [[5.0]], kernel=kernel, n_components=n_components)
    assert one.mass.tolist() == [1.0]
    assert one.norms[0] == pytest.approx(1.0, abs=1e-6)


def test_partitions_without_clusters():
    ensemble = Ensemble.from_labels([[0, 0, 1], [-2, -2, -2], [-1, -1, -1]])
    X = np.arange(3.0)[:, None]
    lifted = lift(ensemble, X)
    assert lifted.offsets.tolist() == [0, 2, 2, 3]
    assert lifted.cluster.tolist() == [0, 1, -1]
    assert lifted.total.tolist() == [3.0, 0.0, 3.0]
    dropped = lift(ensemble, X, noise="drop")
    assert dropped.offsets.tolist() == [0, 2, 2, 2]
    for options in ({}, {"n_components": 8}, {"kernel": "discrete"}):
        nothing = lift(ensemble.select([1]), X, **options)
        assert nothing.mass.size == 0
        assert nothing.distances([], []).shape == (0, 0)
        assert nothing.coordinates().shape[0] == 0


def test_clusters_without_weight_are_left_out():
    ensemble = Ensemble.from_labels([[0, 0, 1, 2]], sample_weight=[1.0, 2.0, 0.0, 1.0])
    lifted = lift(ensemble, np.arange(4.0)[:, None])
    assert lifted.cluster.tolist() == [0, 2]
    assert lifted.mass.tolist() == [0.75, 0.25]
    tiny = lift(ensemble.with_weights(sample_weight=[1e-12] * 4), np.arange(4.0)[:, None])
    assert tiny.cluster.tolist() == [0, 1, 2]


@pytest.mark.parametrize("size", [1e-50, 1e49])
@pytest.mark.parametrize("n_components", [None, 100])
def test_huge_and_tiny_weights(size, n_components):
    ensemble, X = planted()
    weight = 1.0 + np.arange(60) % 3
    one, other = (
        lift(ensemble.with_weights(sample_weight=w), X, bandwidth=2.0, n_components=n_components)
        for w in (weight, size * weight)
    )
    every = everything(one)
    np.testing.assert_allclose(other.mass, one.mass)
    np.testing.assert_allclose(other.total, size * one.total)
    np.testing.assert_allclose(other.norms, size * one.norms, rtol=1e-5)
    np.testing.assert_allclose(other.products(every, every), one.products(every, every), atol=1e-6)
    apart = (lifted.distances(every, every, normalize=False) for lifted in (other, one))
    np.testing.assert_allclose(next(apart) / size, next(apart), atol=1e-4)
    table = np.random.default_rng(1).normal(size=(every.size, 2))
    np.testing.assert_allclose(other.scores(X, table), one.scores(X, table), atol=1e-4)
    counted = ensemble.with_weights(sample_weight=size * weight)
    lifted = lift(counted, kernel="discrete")
    sizes = np.array([(weight * p).sum() for *_, p in columns_of(counted, "cluster")])
    np.testing.assert_allclose(lifted.norms, np.sqrt(sizes) * np.sqrt(size))


def test_clusters_whose_vector_is_zero_are_left_out():
    X = np.array([[-1.0], [1.0], [2.0], [3.0], [-2.0], [2.0]])
    ensemble = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 2, 3]])
    lifted = lift(ensemble, X, kernel=lambda left, right: left @ right.T)
    assert lifted.cluster.tolist() == [1, 0, 2, 3]
    assert lifted.mass.tolist() == [1.0, 0.5, 0.25, 0.25]
    assert lifted.same.tolist() == [0, 0, 2, 3]
    np.testing.assert_allclose(lifted.gram[0], [1, 1, -1, 1])
    np.testing.assert_allclose(lifted.norms, [5, 5, 2, 2])
    np.testing.assert_allclose(lifted.scores(np.array([[2.0]]), np.eye(4)), [[2, 2, -2, 2]])


def test_the_seed_decides_and_partition_weights_do_not_count():
    ensemble, X = planted()
    first, again, other = (lift(ensemble, X, n_components=40, random_state=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert np.abs(first.vectors - other.vectors).max() > 0.01
    heavy = lift(ensemble.with_weights(weights=[1, 2, 3, 4]), X, n_components=40, random_state=3)
    np.testing.assert_array_equal(first.vectors, heavy.vectors)


# ---- wrong input ------------------------------------------------------------------------------


def wrong(words, kind=ValueError, labels=(0, 0, 1), features=((0.0,), (1.0,), (2.0,)), **options):
    with pytest.raises(kind, match=words):
        lift(Ensemble.from_labels([list(labels)]), features, **options)


def test_wrong_choices():
    wrong("bandwidth must be one of 'median', or a number > 0; got 0", bandwidth=0)
    wrong("kernel must be one of 'gaussian'.*got 'rbf'", kernel="rbf")
    wrong("n_components=7 is odd.* take 8", n_components=7)
    wrong("error=0.1 and n_components=100 both", n_components=100, error=0.1)
    wrong("error=0.1 and n_components=None both", n_components=None, error=0.1)
    wrong("cannot be used with kernel='discrete'", kernel="discrete", n_components=10)
    wrong("cannot be used with a kernel function", kernel=rbf_kernel, n_components=10)
    wrong("noise must be one of 'cluster', 'drop'", noise="singletons")
    wrong(
        "4 features of 2 clusters would take.*fewer clusters at a time, take fewer features",
        MemoryError,
        n_components=4,
        max_gb=1e-9,
    )
    words = "exact products of 2 clusters would take.*at a time{}, or raise max_gb"
    with_features = words.format(r", use random features \(n_components=1000\)")
    wrong(with_features, MemoryError, max_gb=1e-9)
    wrong(words.format(""), MemoryError, max_gb=1e-9, kernel="discrete")
    wrong("point 0 lies 1e.30 bandwidths of 1e-30", bandwidth=1e-30, n_components=4)
    equal = [[1.0], [1.0], [1.0]]
    wrong(
        "with a bandwidth of 1e-45 random features leave",
        features=equal,
        bandwidth=1e-45,
        n_components=4,
    )
    wrong("bandwidth=3 cannot be used with kernel='discrete'", kernel="discrete", bandwidth=3.0)
    wrong("bandwidth=3 cannot be used with a kernel function", kernel=rbf_kernel, bandwidth=3)
    wrong(
        "bandwidth=3 cannot be used with kernel='precomputed'",
        features=np.eye(3),
        kernel="precomputed",
        bandwidth=3,
    )
    wrong("the median distance of the points is not a finite", features=[[0.0], [1e200], [-1e200]])
    with pytest.raises(TypeError, match="ensemble must be an Ensemble; got list"):
        lift([[0, 0, 1]], [[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match="error must be a number > 0"):
        components_for_error(0.0, 10)


def test_wrong_features():
    wrong("features is missing", features=None)
    wrong("features has 2 rows and the ensemble 3 points", features=[[0.0], [1.0]])
    wrong("features contains NaN", features=[[0.0], [np.nan], [1.0]])
    wrong("features must be a list or an array", TypeError, features=5, kernel=rbf_kernel)
    wrong("must hold the kernel values of all pairs.*3 x 3", kernel="precomputed")
    K = np.eye(3)
    K[0, 1] = 0.5
    wrong("a kernel is symmetric", features=K, kernel="precomputed")
    wrong("a kernel is symmetric", features=sparse.csr_matrix(K), kernel="precomputed")
    wrong("point 1 with itself is -1", features=np.diag([1.0, -1.0, 1.0]), kernel="precomputed")
    wrong("a cluster is not a finite number", features=np.full((3, 3), 1e308), kernel="precomputed")
    wrong("as in a matrix of distances", features=1 - np.eye(3), kernel="precomputed")
    K = np.array([[1.0, -2.0, 0.0], [-2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    wrong("sum of kernel values over a cluster is negative", features=K, kernel="precomputed")
    K = np.array([[1.0, 1.0, 1.5], [1.0, 1.0, 1.5], [1.5, 1.5, 1.0]])
    wrong("two clusters have a cosine of 1.5", features=K, kernel="precomputed")


def test_wrong_kernel_functions():
    wrong(r"returned an array of shape \(3,\); it must return", kernel=lambda a, b: a[:, 0],
          features=np.ones((3, 1)))  # fmt: skip
    wrong("is not finite", kernel=lambda a, b: np.full((len(a), len(b)), np.nan))
    wrong("kernel must return numbers", TypeError, kernel=lambda a, b: "no")
    wrong("a kernel is symmetric", kernel=lambda a, b: 1.0 + np.arange(9.0).reshape(3, 3))


def test_wrong_scores():
    ensemble, X = planted()
    lifted = lift(ensemble, X, n_components=10)
    table = np.ones((lifted.mass.size, 2))
    with pytest.raises(ValueError, match="coefficients must have one row per cluster"):
        lifted.scores(X, table[1:])
    with pytest.raises(ValueError, match="features has 2 columns; 3 are needed"):
        lifted.scores(X[:, :2], table)
    with pytest.raises(ValueError, match="features is missing"):
        lifted.scores(None, table)
