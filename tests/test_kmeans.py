from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state

from clusterscape import kernels
from clusterscape._core.parallel import one_thread
from clusterscape.kernels import _kmeans_parts
from clusterscape.linalg import kmeans as module
from clusterscape.linalg import kmeans_engines as engines
from clusterscape.linalg.kmeans import kmeans, nearest_center

SETTINGS = [
    {"engine": "kernel"},
    {"engine": "kernel", "algorithm": "hartigan"},
    {"engine": "kernel", "init": "random"},
    {"engine": "kernel", "algorithm": "hartigan", "init": "random"},
    {"engine": "sklearn"},
    {"engine": "kernel", "metric": "cosine"},
]


def sse(X, labels, weight=None):
    """Return the weighted squared error around the cluster means, by the definition."""
    weight = np.ones(len(X)) if weight is None else weight
    total = 0.0
    for c in np.unique(labels):
        rows, w = X[labels == c], weight[labels == c]
        mean = (w[:, None] * rows).sum(axis=0) / w.sum()
        total += (w * ((rows - mean) ** 2).sum(axis=1)).sum()
    return total


def cosine_cost(X, labels, weight=None):
    weight = np.ones(len(X)) if weight is None else weight
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    sums = [(weight[:, None] * U)[labels == c].sum(axis=0) for c in np.unique(labels)]
    return weight.sum() - sum(np.linalg.norm(s) for s in sums)


def plan(k, *, hartigan=False, max_iter=300, tol=0.0):
    return kernels.kmeans.Plan(k, True, hartigan, False, 1, max_iter, tol)


def refine(X, labels, weight, options):
    """Run the kernel from a partition; return the new one."""
    labels = np.array(labels, np.int32)
    XT = np.ascontiguousarray(X.T)
    inertia, _ = kernels.kmeans.refine(XT, np.arange(len(XT)), weight, labels, options)
    assert inertia == pytest.approx(sse(X, labels, weight), rel=1e-9, abs=1e-12)
    return labels


def plain_exchange(X, labels, weight, k):
    """Move one point after another, measuring everything anew each time."""
    labels = labels.copy()
    moved = True
    while moved:
        moved = False
        for i, x in enumerate(X):
            a = labels[i]
            if (labels == a).sum() == 1:
                continue
            mass = np.array([weight[labels == c].sum() for c in range(k)])
            means = np.array([np.average(X[labels == c], axis=0, weights=weight[labels == c])
                              for c in range(k)])  # fmt: skip
            far = ((x - means) ** 2).sum(axis=1)
            cost = mass / (mass + weight[i]) * far
            cost[a] = np.inf
            b = int(np.argmin(cost))
            if cost[b] < mass[a] / (mass[a] - weight[i]) * far[a] * (1 - 1e-12):
                labels[i] = b
                moved = True
    return labels


def random_problem(seed, n=150, d=3, k=4, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    labels = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    weight = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    return X, labels, weight


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [20, 64, 150])
def test_exchange_is_the_plain_loop(n, weighted):
    X, labels, weight = random_problem(n, n=n, weighted=weighted)
    expected = plain_exchange(X, labels, weight, 4)
    found = refine(X, labels, weight, plan(4, hartigan=True))
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), weighted=st.booleans(), k=st.integers(2, 6))
def test_exchange_never_raises_the_error_nor_empties_a_cluster(seed, weighted, k):
    X, labels, weight = random_problem(seed, n=40, d=2, k=k, weighted=weighted)
    X = np.round(X, 1)  # with ties and duplicates
    before = sse(X, labels, weight)
    for _ in range(20):
        labels = refine(X, labels, weight, plan(k, hartigan=True, max_iter=1))
        after = sse(X, labels, weight)
        assert after <= before + 1e-12
        assert len(np.unique(labels)) == k
        before = after


@pytest.mark.parametrize("weighted", [False, True])
def test_price_of_a_move_is_the_change_of_the_error(weighted):
    X, labels, weight = random_problem(3, n=30, weighted=weighted)
    k, n = 4, len(X)
    mass = np.bincount(labels, weights=weight)
    means = np.array([np.average(X[labels == c], axis=0, weights=weight[labels == c])
                      for c in range(k)])  # fmt: skip
    block = ((X[None] - means[:, None]) ** 2).sum(axis=2)
    stay, go = np.empty(n), np.empty(n)
    kernels.kmeans._costs(
        block, np.zeros(k), weight, labels.astype(np.int32), 0, 0, n, not weighted, mass,
        np.bincount(labels), stay, go,
    )  # fmt: skip
    for i in range(n):
        b = kernels.kmeans._cheapest(block, i, weight[i], labels[i], mass)
        changes = []
        for c in set(range(k)) - {labels[i]}:
            moved = labels.copy()
            moved[i] = c
            changes.append(sse(X, moved, weight) - sse(X, labels, weight))
            if c == b:
                assert changes[-1] == pytest.approx(weight[i] * (go[i] - stay[i]), rel=1e-9)
        assert min(changes) == pytest.approx(weight[i] * (go[i] - stay[i]), rel=1e-9)


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("weighted", [False, True])
def test_hartigan_ends_where_no_single_move_helps(init, weighted):
    X, _, weight = random_problem(5, n=60, weighted=weighted)
    result = kmeans(X, 4, algorithm="hartigan", init=init, sample_weight=weight, seed=1)
    assert result.engine == "kernel"
    assert result.inertia == pytest.approx(sse(X, result.labels, weight))
    for i, c in itertools.product(range(len(X)), range(4)):
        moved = result.labels.copy()
        moved[i] = c
        assert sse(X, moved, weight) >= result.inertia * (1 - 1e-10)


@pytest.mark.parametrize("options", SETTINGS)
def test_lloyd_ends_where_every_point_is_nearest_to_its_center(options):
    X, _, weight = random_problem(8, n=120, weighted=True)
    result = kmeans(X, 5, tol=0.0, sample_weight=weight, seed=2, **options)
    metric = options.get("metric", "euclidean")
    np.testing.assert_array_equal(result.labels, nearest_center(X, result.centers, metric=metric))
    cost = cosine_cost if metric == "cosine" else sse
    assert result.inertia == pytest.approx(cost(X, result.labels, weight))
    assert result.n_iter > 1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32), k=st.integers(1, 3), weighted=st.booleans())
def test_many_restarts_find_the_best_of_all_partitions(seed, k, weighted):
    X, _, weight = random_problem(seed, n=7, d=2, k=k, weighted=weighted)
    everything = [np.array(p) for p in itertools.product(range(k), repeat=len(X))]
    lowest = min(sse(X, p, weight) for p in everything)
    for options in SETTINGS[:4]:
        result = kmeans(X, k, n_init=60, tol=0.0, sample_weight=weight, seed=seed, **options)
        assert result.inertia == pytest.approx(lowest, rel=1e-9, abs=1e-12)
    best_cosine = min(cosine_cost(X, p, weight) for p in everything)
    options = {"metric": "cosine", "n_init": 60, "tol": 0.0, "sample_weight": weight, "seed": seed}
    for data in (X, sparse.csr_array(X)):
        assert kmeans(data, k, **options).inertia == pytest.approx(best_cosine, abs=1e-9)


@pytest.mark.parametrize("options", SETTINGS)
def test_a_weight_is_a_number_of_copies(options):
    rng = np.random.default_rng(0)
    X, _ = make_blobs(40, centers=3, random_state=1)
    copies = rng.integers(1, 5, len(X))
    weighted = kmeans(X, 3, n_init=20, sample_weight=copies, seed=0, **options)
    copied = kmeans(np.repeat(X, copies, axis=0), 3, n_init=20, seed=0, **options)
    assert weighted.inertia == pytest.approx(copied.inertia, rel=1e-9)
    np.testing.assert_allclose(
        np.sort(weighted.centers, axis=0), np.sort(copied.centers, axis=0), rtol=1e-9
    )


def test_a_row_of_weight_zero_does_not_pull():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [100.0]])
    for options in SETTINGS[:5]:
        result = kmeans(X, 2, sample_weight=[1, 1, 1, 1, 0], n_init=5, seed=0, **options)
        np.testing.assert_allclose(np.sort(result.centers.ravel()), [0.5, 10.5])
        assert result.labels[4] == result.labels[3]
        assert result.inertia == pytest.approx(1.0)


@pytest.mark.parametrize("spread", [0.3, 3.0])
def test_lloyd_from_the_same_start_is_that_of_scikit_learn(spread):
    X, _ = make_blobs(300, centers=4, cluster_std=spread, random_state=0)
    start = X[:4]
    theirs = KMeans(4, init=start, n_init=1, tol=0.0).fit(X)
    ours = refine(X, nearest_center(X, start), np.ones(len(X)), plan(4))
    np.testing.assert_array_equal(ours, theirs.labels_)
    assert sse(X, ours) == pytest.approx(theirs.inertia_)


def test_restarts_are_as_good_as_those_of_scikit_learn():
    total_ours = total_theirs = 0.0
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(100, 2))
        total_ours += kmeans(X, 5, n_init=20, seed=seed, engine="kernel").inertia
        with one_thread():
            total_theirs += KMeans(5, n_init=20, random_state=seed).fit(X).inertia_
    assert total_ours <= total_theirs * 1.005


@pytest.mark.parametrize("init", ["k-means++", "random"])
@pytest.mark.parametrize("tol", [0.0, 1e-2])
@pytest.mark.parametrize("signed", [False, True])
def test_sparse_cosine_is_dense_cosine(init, tol, signed):
    rng = np.random.default_rng(4)
    X = sparse.random_array((200, 40), density=0.2, rng=rng).toarray()
    X[:, 0] += 0.01  # no row of zeros
    if signed:
        X *= rng.choice([-1.0, 1.0], X.shape)
    options = {"metric": "cosine", "init": init, "n_init": 3, "tol": tol, "seed": 7}
    dense = kmeans(X, 6, engine="kernel", **options)
    found = kmeans(sparse.csr_array(X), 6, **options)
    assert (dense.engine, found.engine) == ("kernel", "sparse")
    np.testing.assert_array_equal(found.labels, dense.labels)
    np.testing.assert_allclose(found.centers, dense.centers, atol=1e-12)
    assert found.inertia == pytest.approx(dense.inertia) == cosine_cost(X, dense.labels)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_large_dense_cosine_uses_matrix_products_and_agrees(init, monkeypatch):
    X, _ = make_blobs(400, n_features=6, centers=4, random_state=3)
    small = kmeans(X, 4, metric="cosine", n_init=5, seed=0)
    monkeypatch.setattr(module, "_SMALL_WORK", 0)
    large = kmeans(X, 4, metric="cosine", init=init, n_init=5, seed=0)
    assert (small.engine, large.engine) == ("kernel", "blas")
    assert large.inertia == pytest.approx(small.inertia)
    np.testing.assert_array_equal(large.labels, nearest_center(X, large.centers, metric="cosine"))
    duplicates = np.repeat(X[:3], 50, axis=0)
    few = kmeans(duplicates, 6, metric="cosine", init=init, seed=0)
    assert few.engine == "blas"
    assert len(few.centers) == 3


def test_hartigan_on_many_points_starts_from_lloyd(monkeypatch):
    X, _, _ = random_problem(2, n=120, d=5)
    monkeypatch.setattr(module, "_MANY_POINTS", 100)
    result = kmeans(X, 4, algorithm="hartigan", seed=0)
    assert result.engine == "kernel+exchange"
    assert result.inertia <= kmeans(X, 4, tol=0.0, seed=0).inertia
    for i, c in itertools.product(range(len(X)), range(4)):
        moved = result.labels.copy()
        moved[i] = c
        assert sse(X, moved) >= result.inertia * (1 - 1e-10)
    monkeypatch.setattr(module, "_SMALL_WORK", 0)
    assert kmeans(X, 4, algorithm="hartigan", seed=0).engine == "sklearn+exchange"
    assert kmeans(X, 4, algorithm="hartigan", seed=0, engine="kernel").engine == "kernel"


def test_auto_takes_the_engine_that_suits_the_size(monkeypatch):
    X, _, _ = random_problem(2, n=120, d=5)
    assert kmeans(X, 4, seed=0).engine == "kernel"
    assert kmeans(sparse.csr_array(X), 4, seed=0).engine == "sklearn"
    monkeypatch.setattr(module, "_SMALL_WORK", 0)
    assert kmeans(X, 4, seed=0).engine == "sklearn"
    assert kmeans(X[:, :2], 4, seed=0).engine == "kernel"


def test_columns_without_values_change_nothing(seed):
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(sparse.random_array((80, 12), density=0.4, rng=rng))
    places = np.sort(rng.choice(500, 12, replace=False))
    wide = sparse.csr_array((X.data, places[X.indices], X.indptr), shape=(80, 500))
    narrow = kmeans(X, 5, metric="cosine", seed=seed)
    found = kmeans(wide, 5, metric="cosine", seed=seed)
    np.testing.assert_array_equal(found.labels, narrow.labels)
    np.testing.assert_array_equal(found.centers[:, places], narrow.centers)
    assert found.centers.sum() == pytest.approx(narrow.centers.sum())


def test_sparse_euclidean_is_dense_euclidean():
    X, _ = make_blobs(100, centers=3, random_state=0)
    dense = kmeans(X, 3, n_init=5, seed=0)
    found = kmeans(sparse.csr_array(X), 3, n_init=5, seed=0)
    assert found.inertia == pytest.approx(dense.inertia)
    np.testing.assert_allclose(np.sort(found.centers, 0), np.sort(dense.centers, 0))


@pytest.mark.parametrize("options", SETTINGS)
def test_same_seed_same_result(options):
    X, _, _ = random_problem(11, n=80)
    everyone = check_random_state(None)  # numpy's global generator
    state = everyone.get_state()[1].copy()
    runs = [kmeans(X, 5, seed=SeedSequence(3), **options) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].labels, runs[1].labels)
    assert runs[0].inertia == runs[1].inertia
    others = {kmeans(X, 5, seed=s, **options).inertia for s in range(8)}
    assert len(others) > 1
    np.testing.assert_array_equal(everyone.get_state()[1], state)


def test_a_batch_is_its_problems_one_by_one():
    X, _, weight = random_problem(1, n=90, d=6, weighted=True)
    XT = np.ascontiguousarray(X.T)
    subsets = [[0, 3], [5], [1, 1, 2], [0, 1, 2, 3, 4]]
    columns = np.concatenate(subsets)
    ends = np.cumsum([0] + [len(s) for s in subsets])
    seeds = np.array([5, 6, 7, 8], np.uint64)
    for hartigan in (False, True):
        options = kernels.kmeans.Plan(3, True, hartigan, False, 4, 100, 1e-4)
        fits = kernels.kmeans.fit_many(XT, columns, ends, weight, options, seeds)
        for p, subset in enumerate(subsets):
            part = np.ascontiguousarray(XT[subset])
            alone = kernels.kmeans.fit_many(
                part, np.arange(len(part)), np.array([0, len(part)]), weight, options,
                seeds[p : p + 1],
            )  # fmt: skip
            np.testing.assert_array_equal(fits.labels[p], alone.labels[0])
            assert fits.inertia[p] == alone.inertia[0] == pytest.approx(
                sse(X[:, subset], fits.labels[p], weight)
            )  # fmt: skip
            np.testing.assert_allclose(
                fits.mass[p], np.bincount(fits.labels[p], weights=weight, minlength=3)
            )
            members = [fits.labels[p] == c for c in range(3)]
            parts = [
                sse(X[np.ix_(who, subset)], np.zeros(who.sum()), weight[who]) for who in members
            ]
            np.testing.assert_allclose(fits.within[p], parts)


@pytest.mark.parametrize("options", SETTINGS)
def test_one_cluster_and_as_many_as_rows(options):
    X, _, _ = random_problem(4, n=12, d=2)
    cost = cosine_cost if options.get("metric") == "cosine" else sse
    one = kmeans(X, 1, seed=0, **options)
    assert (one.labels == 0).all()
    assert one.inertia == pytest.approx(cost(X, one.labels))
    every = kmeans(X, 12, seed=0, **options)
    assert sorted(every.labels) == list(range(12))
    assert every.inertia == pytest.approx(0.0, abs=1e-9)
    single = kmeans(X[:1], 1, seed=0, **options)
    assert single.labels.tolist() == [0]


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("options", [*SETTINGS, {"metric": "cosine", "csr": True}])
def test_fewer_distinct_rows_than_clusters(options, value):
    options = dict(options)
    rows = np.array([[value, 1.0], [value, 2.0], [-value, 0.5]])
    X = np.repeat(rows, [5, 7, 9], axis=0)
    data = sparse.csr_array(X) if options.pop("csr", False) else X
    for seed in range(8):
        result = kmeans(data, 6, seed=seed, **options)
        assert len(result.centers) == 3
        assert sorted(set(result.labels)) == [0, 1, 2]
        assert len(np.unique(np.c_[X, result.labels], axis=0)) == 3
        assert result.inertia == pytest.approx(0.0, abs=1e-9)
    same = kmeans(data[:5], 3, seed=0, **options)
    assert same.labels.tolist() == [0] * 5


def test_rows_of_one_direction_are_one_cluster():
    X = np.outer(np.random.default_rng(0).uniform(0.1, 9.0, 60), [0.3, 0.7, 0.11])
    assert len(np.unique(X / np.linalg.norm(X, axis=1, keepdims=True), axis=0)) > 1  # rounding
    for data, init, seed in itertools.product(
        (X, sparse.csr_array(X)), ("k-means++", "random"), range(10)
    ):
        assert len(kmeans(data, 4, metric="cosine", init=init, seed=seed).centers) == 1


@pytest.mark.parametrize("options", SETTINGS)
def test_constant_columns_change_nothing(options):
    X, _, _ = random_problem(6, n=50)
    if options.get("metric") == "cosine":
        more = np.c_[X, np.zeros(50)]
    else:
        more = np.c_[X, np.full(50, 3.0)]
    a, b = (kmeans(data, 3, n_init=10, seed=0, **options) for data in (X, more))
    assert a.inertia == pytest.approx(b.inertia)
    flat = kmeans(np.ones((5, 2)), 2, seed=0, **options)
    assert flat.labels.tolist() == [0] * 5


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_rows_of_zeros_have_no_direction_and_go_to_cluster_zero(container):
    X = np.array([[0, 0], [1, 0], [2, 0.1], [0, 3], [0.1, 1], [0, 0]], float)
    result = kmeans(container(X), 2, metric="cosine", n_init=5, seed=0)
    assert result.labels[[0, 5]].tolist() == [0, 0]
    assert result.labels[1] == result.labels[2] != result.labels[3] == result.labels[4]
    others = kmeans(container(X[1:5]), 2, metric="cosine", n_init=5, seed=0)
    assert result.inertia == pytest.approx(others.inertia + 2.0)
    np.testing.assert_allclose(np.sort(result.centers, 0), np.sort(others.centers, 0))
    nothing = kmeans(container(np.zeros((4, 2))), 2, metric="cosine", seed=0)
    assert nothing.labels.tolist() == [0] * 4
    assert nothing.inertia == 4.0


def test_duplicate_entries_of_a_sparse_matrix_are_added():
    parts = ([1.0, 1.0, 2.0, 3.0], ([0, 0, 1, 2], [0, 0, 0, 1]))
    messy = sparse.csr_array(sparse.coo_array(parts, shape=(3, 2)))
    messy = sparse.csr_array(
        (np.array([1.0, 1.0, 2.0, 3.0]), np.array([0, 0, 0, 1]), np.array([0, 2, 3, 4]))
    )
    result = kmeans(messy, 2, metric="cosine", seed=0)
    assert result.inertia == pytest.approx(0.0)
    assert result.labels[0] == result.labels[1] != result.labels[2]


@pytest.mark.parametrize("options", [*SETTINGS, {"metric": "cosine", "csr": True}])
def test_float32_stays_float32(options):
    options = dict(options)
    X, _ = make_blobs(60, centers=3, random_state=0)
    data = sparse.csr_array(X) if options.pop("csr", False) else X
    result = kmeans(data.astype(np.float32), 3, n_init=5, seed=0, **options)
    assert result.centers.dtype == np.float32
    assert result.labels.dtype == np.int32
    wide = kmeans(data, 3, n_init=5, seed=0, **options)
    assert result.inertia == pytest.approx(wide.inertia, rel=1e-4)


@pytest.mark.parametrize("algorithm", ["lloyd", "hartigan"])
def test_running_sums_do_not_drift(algorithm):
    # Values so large that smaller ones are lost in a cluster's running sum.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.r_[rng.normal(size=(120, 1)), [[1e17], [2e17]]]
        labels = rng.integers(0, 4, len(X))
        found = refine(X, labels, np.ones(len(X)), plan(4, hartigan=algorithm == "hartigan"))
        assert set(found[-2:]).isdisjoint(found[:-2])
        assert len(set(found)) == 4
        centers = np.array([X[found == c].mean(axis=0) for c in range(4)])
        nearest = np.abs(X - centers.T).argmin(axis=1)
        np.testing.assert_array_equal(nearest, found)
        np.testing.assert_array_equal(nearest_center(X, centers), nearest)


@pytest.mark.parametrize("algorithm", ["lloyd", "hartigan"])
def test_weights_of_any_size(algorithm):
    X, _, _ = random_problem(9, n=60)
    weight = 10.0 ** np.random.default_rng(1).integers(-12, 13, 60)
    result = kmeans(X, 5, algorithm=algorithm, sample_weight=weight, n_init=5, seed=0)
    assert np.isfinite(result.inertia)
    assert result.inertia == pytest.approx(sse(X, result.labels, weight))
    heavy = kmeans(X, 5, algorithm=algorithm, sample_weight=1e-9 * weight, n_init=5, seed=0)
    assert heavy.inertia == pytest.approx(1e-9 * result.inertia, rel=1e-6)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_nearest_center_by_the_definition(kind):
    rng = np.random.default_rng(0)
    X, centers = rng.normal(size=(700, 5)).astype(kind), rng.normal(size=(9, 5))
    expected = ((X[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest_center(X, centers), expected)
    np.testing.assert_array_equal(nearest_center(sparse.csr_array(X), centers), expected)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    directions = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    expected = (unit @ directions.T).argmax(axis=1)
    np.testing.assert_array_equal(nearest_center(X, centers, metric="cosine"), expected)


def test_max_iter_is_kept():
    X, _, _ = random_problem(9, n=200)
    for algorithm in ("lloyd", "hartigan"):
        for most in (1, 2, 3):
            result = kmeans(X, 5, algorithm=algorithm, max_iter=most, seed=0)
            assert result.n_iter <= most
            assert result.inertia == pytest.approx(sse(X, result.labels))


def test_an_empty_cluster_starts_anew_at_the_farthest_point():
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    labels = refine(X, [0, 0, 0, 0], np.ones(4), plan(2))
    assert labels[3] not in labels[:3]


def test_the_farthest_point_is_not_the_last_of_its_cluster():
    labels = np.array([0, 1, 1, 1], np.int32)
    sizes = np.array([1, 3, 0])
    centres = np.ones((3, 1))
    farthest = _kmeans_parts._farthest
    assert farthest(labels, np.array([9.0, 1.0, 4.0, 2.0]), sizes, centres) == 2
    assert farthest(labels, np.array([9.0, 0.0, 1e-32, 0.0]), sizes, centres) == -1


@pytest.mark.parametrize("is_uniform", [True, False])
def test_random_starts_are_distinct_rows_drawn_by_weight(is_uniform):
    weight = np.ones(6) if is_uniform else np.array([1.0, 2.0, 3.0, 4.0, 5.0, 15.0])
    state = kernels.random.new_state(1)
    picks, cumulated, taken = np.empty(4, np.int64), np.empty(6), np.empty(6, np.int32)
    first = np.zeros(6)
    for _ in range(4000):
        kernels.kmeans.start_random(weight, is_uniform, picks, cumulated, taken, state)
        assert len(set(picks)) == 4
        first[picks[0]] += 1
    if not is_uniform:
        np.testing.assert_allclose(first / 4000, weight / 30, atol=0.03)


def test_plus_starts_are_drawn_by_squared_distance():
    # One candidate would be drawn like this; the best of two is the farther one.
    X = np.array([[0.0], [1.0], [3.0]])
    XT = np.ascontiguousarray(X.T)
    work = kernels.kmeans.new_work(XT, np.arange(1), 2)
    state = kernels.random.new_state(2)
    seen = np.zeros((3, 3))
    for _ in range(6000):
        kernels.kmeans.start_plus(XT, np.arange(1), np.ones(3), work, state)
        seen[tuple(work.picks)] += 1
    rows = seen / seen.sum(axis=1, keepdims=True)
    # From 0: candidate 1 leaves the cost 4, candidate 3 the cost 1; so 3 unless 1 comes twice.
    np.testing.assert_allclose(rows[0], [0, 0.1**2, 1 - 0.1**2], atol=0.02)
    # From 1: candidate 0 leaves 4, candidate 3 leaves 1.
    np.testing.assert_allclose(rows[1], [0.2**2, 0, 1 - 0.2**2], atol=0.02)
    # From 3: candidates 0 and 1 leave 1 each, so the first one drawn is kept.
    np.testing.assert_allclose(rows[2], [9 / 13, 4 / 13, 0], atol=0.03)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 9}, "n_clusters=9 is more than the 4 rows of X"),
        ({"n_clusters": 0}, "n_clusters must be an integer >= 1"),
        ({"metric": "city"}, "metric must be one of"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"engine": "sklearn", "metric": "cosine"}, "engine='sklearn' cannot do metric='cosine'"),
        ({"engine": "sklearn", "algorithm": "hartigan"}, "cannot do algorithm='hartigan'"),
        ({"metric": "cosine", "algorithm": "hartigan"}, "needs metric='euclidean'"),
        ({"sample_weight": [1, 2]}, "sample_weight must have one entry per point"),
        ({"sample_weight": [1, 2, -1, 1]}, "sample_weight must be finite numbers >= 0"),
        (
            {"sample_weight": [1, 2, np.nan, 1]},
            "sample_weight must be finite numbers >= 0; entry 2 is nan",
        ),
        ({"sample_weight": [0, 0, 0, 0]}, "sample_weight is zero for every point"),
        ({"X": [[1.0], [np.nan], [2.0]]}, "NaN"),
        ({"X": np.empty((0, 2))}, "0 sample"),
        ({"X": [[1e200], [2.0], [3.0]]}, "scale the columns"),
        ({"X": [[1e-200], [2e-200], [3e-200]]}, "scale the columns"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(options, message):
    arguments = {"X": np.arange(8.0).reshape(4, 2), "n_clusters": 2, "seed": 0, **options}
    with pytest.raises(ValueError, match=message):
        kmeans(arguments.pop("X"), arguments.pop("n_clusters"), **arguments)


def test_an_engine_that_cannot_do_sparse_says_so():
    X = sparse.csr_array(np.eye(4))
    with pytest.raises(ValueError, match="'hartigan' needs dense data, but X is sparse"):
        kmeans(X, 2, algorithm="hartigan")
    with pytest.raises(ValueError, match="engine='kernel' cannot do metric='euclidean' on sparse"):
        kmeans(X, 2, engine="kernel")


def test_warning_filters_are_left_as_they_were():
    import warnings

    before = list(warnings.filters)
    kmeans(np.ones((10, 5)), 3, engine="sklearn", seed=0)
    assert warnings.filters == before


def test_wide_sparse_data_is_not_made_dense():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 300_000), density=3e-5, rng=rng, format="csr")
    result = kmeans(X, 3, metric="cosine", seed=0)  # dense rows would take 7.2 GB
    assert result.engine == "sparse"
    assert result.centers.shape == (3, 300_000)


def test_plain_starts_are_drawn_by_squared_distances_once():
    X = np.array([[0.0], [1.0], [3.0]])
    picked = np.zeros((3, 3))
    for seed in SeedSequence(0).spawn(3_000):
        first, second = engines._plus_plus(X, np.ones(3), 2, 1, seed)[:, 0]
        picked[np.searchsorted(X[:, 0], first), np.searchsorted(X[:, 0], second)] += 1
    squares = (X - X.T) ** 2
    expected = squares / squares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(picked / picked.sum(axis=1, keepdims=True), expected, atol=0.05)
    np.testing.assert_allclose(picked.sum(axis=1) / 3_000, 1 / 3, atol=0.05)


def test_plain_starts_find_blobs_and_are_for_plain_tasks():
    X, y = make_blobs(200, centers=4, cluster_std=0.3, random_state=0)
    found = kmeans(X, 4, init="plain-k-means++", n_init=10, seed=0)
    assert adjusted_rand_score(y, found.labels) == 1.0
    assert found.engine == "sklearn"
    for other in ({"metric": "cosine"}, {"algorithm": "hartigan"}, {"engine": "kernel"}):
        with pytest.raises(ValueError, match="init='plain-k-means\\+\\+' is for dense data"):
            kmeans(X, 4, init="plain-k-means++", **other)
