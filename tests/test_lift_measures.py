"""The lift distances against dense kernels and a linear program, and what they promise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import compare_oracle as oracle
from clusterscape import Ensemble, compare
from clusterscape.compare import (
    MEASURES,
    lift_emd,
    lift_hausdorff,
    lift_kernel,
    pairwise,
    rand_distance,
)
from clusterscape.compare import lift as lift_module
from clusterscape.lifting import lift
from clusterscape.lifting import lifted as lifted_module

NAMES = ["lift_emd", "lift_hausdorff", "lift_kernel"]
KERNELS = ["gaussian", "laplacian", "cauchy"]
BANDWIDTH = 1.5


# ---- by definition ------------------------------------------------------------------------


def kernel_matrix(kernel: str, X: np.ndarray) -> np.ndarray:
    if kernel == "gaussian":
        return np.exp(-cdist(X, X, "sqeuclidean") / (2 * BANDWIDTH**2))
    if kernel == "laplacian":
        return np.exp(-cdist(X, X, "cityblock") / BANDWIDTH)
    if kernel == "cauchy":
        return np.prod(1 / (1 + ((X[:, None] - X[None]) / BANDWIDTH) ** 2), axis=2)
    return np.eye(len(X))


def chosen(kernel: str) -> dict[str, Any]:
    """Return the options of a kernel whose values are those of ``kernel_matrix``."""
    return {"kernel": kernel} | ({} if kernel == "discrete" else {"bandwidth": BANDWIDTH})


def columns(partition: Any, noise: str) -> np.ndarray:
    """Return the clusters of a partition as columns of memberships, noise the last of them."""
    if np.ndim(partition) == 2:
        table = np.nan_to_num(np.asarray(partition, dtype=float))
        lone = (table.sum(axis=1) == 0) & ~np.isnan(partition).any(axis=1)
    else:
        labels = np.asarray(partition)
        table = (labels[:, None] == np.arange(max(labels.max(), 0) + 1)).astype(float)
        lone = labels == -1
    if noise == "cluster":
        table = np.column_stack([table, lone])
    return table[:, table.sum(axis=0) > 0]


class Slow:
    """Two partitions lifted with a dense kernel; distances from differences of memberships."""

    def __init__(self, a, b, K, *, noise="cluster", weights=None, normalize=True) -> None:
        weights = np.ones(len(K)) if weights is None else np.asarray(weights, dtype=float)
        sums = [columns(p, noise) * weights[:, None] for p in (a, b)]
        sums = [s[:, s.sum(axis=0) > 0] for s in sums]
        self.mass = [s.sum(axis=0) / s.sum() for s in sums]
        if normalize:
            sums = [s / np.sqrt(np.einsum("xc,xy,yc->c", s, K, s)) for s in sums]
        self.sums, self.K = sums, K

    def apart(self, i: int = 0, j: int = 1) -> np.ndarray:
        gaps = self.sums[i][:, :, None] - self.sums[j][:, None, :]
        square = np.einsum("xcd,xy,ycd->cd", gaps, self.K, gaps)
        return np.sqrt(np.maximum(square, 0))

    def emd(self, power: int = 1) -> float:
        cost = self.apart() ** power
        k, m = cost.shape
        rows, cols = np.repeat(np.eye(k), m, axis=1), np.tile(np.eye(m), k)
        found = linprog(
            cost.ravel(),
            A_eq=np.vstack([rows, cols]),
            b_eq=np.concatenate(self.mass),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        assert found.status == 0
        return float(found.fun)

    def hausdorff(self) -> float:
        cost = self.apart()
        return max(cost.min(axis=1).max(), cost.min(axis=0).max())

    def kernel(self) -> float:
        p, q = self.mass
        parts = [[np.exp(-(self.apart(i, j) ** 2)) for j in (0, 1)] for i in (0, 1)]
        square = p @ parts[0][0] @ p + q @ parts[1][1] @ q - 2 * p @ parts[0][1] @ q
        return float(np.sqrt(max(square, 0.0)))

    def value(self, name: str) -> float:
        return {"lift_emd": self.emd, "lift_hausdorff": self.hausdorff, "lift_kernel": self.kernel}[
            name
        ]()


def grid(n: int, seed: int = 0) -> np.ndarray:
    """Return n different points of a grid, in a random order."""
    side = np.arange(-(-n // 3))
    points = np.array([(x, y) for x in side for y in range(3)], dtype=float)
    return np.random.default_rng(seed).permutation(points)[:n]


def seen(partition: Any, noise: str) -> bool:
    return bool((np.asarray(partition) >= (-1 if noise == "cluster" else 0)).any())


@given(
    oracle.vectors(2, lowest=-2),
    st.sampled_from(["cluster", "drop"]),
    st.sampled_from([*KERNELS, "discrete"]),
    st.booleans(),
)
def test_distances_are_what_they_are_defined_to_be(vectors, noise, kernel, weighted) -> None:
    X = grid(len(vectors[0]))
    weights = np.arange(1, len(X) + 1) / 2 if weighted and kernel != "discrete" else None
    for name in NAMES:
        found = MEASURES[name].function(
            *vectors, X, noise=noise, sample_weight=weights, **chosen(kernel)
        )
        if not all(seen(v, noise) for v in vectors):
            assert np.isnan(found)
            continue
        slow = Slow(*vectors, kernel_matrix(kernel, X), noise=noise, weights=weights)
        assert found == pytest.approx(slow.value(name), abs=2e-8), name


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_soft_weighted_partitions(name: str, kernel: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = grid(40, seed)
    soft = rng.dirichlet(np.ones(3), 40)
    soft[:4], soft[4:6] = 0.0, np.nan
    hard = rng.integers(-2, 4, 40)
    weights = rng.random(40) * 3
    weights[10:13] = 0.0
    K = kernel_matrix(kernel, X)
    for a, b in ((soft, hard), (hard, soft), (soft, rng.dirichlet(np.ones(2), 40))):
        for noise in ("cluster", "drop"):
            for normalize in (True, False):
                found = MEASURES[name].function(
                    a,
                    b,
                    X,
                    kernel=kernel,
                    bandwidth=BANDWIDTH,
                    noise=noise,
                    normalize=normalize,
                    sample_weight=weights,
                )
                slow = Slow(a, b, K, noise=noise, weights=weights, normalize=normalize)
                assert found == pytest.approx(slow.value(name), abs=1e-8)


def test_any_kernel_through_a_matrix_or_a_function(seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("ab"), 3)) for _ in range(12)]
    a, b = rng.integers(0, 3, 12), rng.integers(0, 2, 12)

    def alike(left: Any, right: Any) -> np.ndarray:
        return np.array(
            [[sum(x == y for x, y in zip(v, w, strict=True)) for w in right] for v in left]
        )

    K = alike(words, words).astype(float)
    for name in NAMES:
        function = MEASURES[name].function
        expected = Slow(a, b, K).value(name)
        assert function(a, b, words, kernel=alike) == pytest.approx(expected, abs=1e-7)
        assert function(a, b, K, kernel="precomputed") == pytest.approx(expected, abs=1e-7)


def test_squared_ground_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, 30), rng.integers(0, 3, 30)
    X = grid(30, seed)
    slow = Slow(a, b, kernel_matrix("gaussian", X))
    found = lift_emd(a, b, X, bandwidth=BANDWIDTH, ground="sqeuclidean")
    assert found == pytest.approx(slow.emd(power=2), abs=1e-9)
    assert found != pytest.approx(lift_emd(a, b, X, bandwidth=BANDWIDTH))


# ---- the Rand distance ----------------------------------------------------------------------


@given(oracle.vectors(2))
def test_moving_every_point_costs_the_rand_distance(vectors) -> None:
    """With the discrete kernel, lengths kept and distances squared; the least work is below."""
    a, b = map(np.asarray, vectors)
    n = len(a)
    options = {"kernel": "discrete", "ground": "sqeuclidean", "normalize": False}
    ensemble = Ensemble.from_labels([a, b])
    lifted = lift(ensemble, kernel="discrete")
    left, right = (np.arange(*lifted.offsets[i : i + 2]) for i in range(2))
    apart = lifted.distances(left, right, normalize=False, squared=True)
    one_hot = [columns(v, "drop") for v in (a, b)]
    differences = np.abs(one_hot[0][:, :, None] - one_hot[1][:, None, :]).sum(axis=0)
    np.testing.assert_allclose(apart, differences, atol=1e-12)
    work = float((ensemble.contingency(0, 1) / n * apart).sum())
    assert work == pytest.approx((n - 1) * rand_distance(a, b), abs=1e-12)
    least = lift_emd(a, b, **options)
    assert least <= work + 1e-12
    assert least == pytest.approx(Slow(a, b, np.eye(n), normalize=False).emd(power=2), abs=1e-9)


def test_as_defined_the_discrete_kernel_gives_no_rand_distance() -> None:
    a, b = np.arange(12) % 3, np.arange(12) // 4
    assert lift_emd(a, b, kernel="discrete") > 2 * rand_distance(a, b)


# ---- which are metrics ------------------------------------------------------------------------


@st.composite
def triples(draw: Any) -> tuple[list[Any], np.ndarray, Any]:
    """Draw three partitions, hard or soft, with or without weights, of different points."""
    vectors = draw(oracle.vectors(3, lowest=-1))
    n = len(vectors[0])
    seed = draw(st.integers(0, 9))
    rng = np.random.default_rng(seed)
    if draw(st.booleans()):
        which = draw(st.integers(0, 2))
        vectors[which] = rng.dirichlet(np.ones(draw(st.integers(2, 3))), n)
    weights = rng.uniform(0.2, 3.0, n) if draw(st.booleans()) else None
    return vectors, grid(n, seed), weights


@given(triples(), st.sampled_from([*KERNELS, "discrete"]), st.sampled_from(NAMES))
def test_the_axioms_of_a_metric(triple, kernel, name) -> None:
    parts, X, weights = triple

    def distance(x: Any, y: Any) -> float:
        return MEASURES[name].function(x, y, X, sample_weight=weights, **chosen(kernel))

    a, b, c = parts
    there, back = distance(a, b), distance(b, a)
    assert there == pytest.approx(back, abs=1e-12)
    assert 0.0 <= there <= np.sqrt(2) + 1e-12
    assert distance(a, c) <= there + distance(b, c) + 1e-9
    for part in parts:
        assert distance(part, part) == 0.0
    if np.ndim(a) == 1 and np.ndim(b) == 1:
        points = oracle.compared(a, b, "cluster")
        equal = oracle.pair_counts(points)[1:3] == (0, 0)
        assert (there == 0.0) == equal
        assert equal or there > 1e-4


def test_renamed_partitions_are_equal_to_the_last_bit(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(500, 3))
    for k in (2, 7, 30):
        a = rng.integers(-1, k, 500)
        b = np.where(a < 0, a, rng.permutation(k)[a])
        for name in NAMES:
            for components in (None, 40):
                value = MEASURES[name].function(a, b, X, n_components=components)
                assert value == 0.0
                assert not np.signbit(value)  # and not -0.0


def test_where_points_coincide_partitions_can_be_different_at_distance_zero() -> None:
    X = np.array([[0.0], [0.0], [3.0], [4.0]])
    a, b = [0, 1, 0, 1], [1, 0, 0, 1]
    assert rand_distance(a, b) > 0
    for name in NAMES:
        function = MEASURES[name].function
        for kernel in KERNELS:
            assert function(a, b, X, kernel=kernel) == pytest.approx(0.0, abs=1e-7)
        assert function(a, b, X, kernel="discrete") > 0.1


def test_proportional_soft_clusters_are_one() -> None:
    X = grid(6)
    halves, whole = np.full((6, 2), 0.5), np.zeros(6, dtype=int)
    for name in NAMES:
        assert MEASURES[name].function(halves, whole, X) == pytest.approx(0.0, abs=1e-7)
    # The same directions, other sizes: only the Hausdorff distance does not see them.
    u = np.array([[0.5, 0.0, 0.5], [0.0, 0.5, 0.5]])
    v = np.array([[0.2, 0.0, 0.8], [0.0, 0.2, 0.8]])
    assert lift_hausdorff(u, v, X[:2]) == pytest.approx(0.0, abs=1e-7)
    assert lift_emd(u, v, X[:2]) > 0.1
    assert lift_kernel(u, v, X[:2]) > 0.05


def test_squared_ground_costs_are_no_metric() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    a, b, c = [0, -2, -2], [-2, 0, -2], [-2, -2, 0]
    options = {"bandwidth": 3.0, "ground": "sqeuclidean"}
    detour = lift_emd(a, b, X, **options) + lift_emd(b, c, X, **options)
    assert lift_emd(a, c, X, **options) > detour + 1e-3


def test_near_moves_cost_less_than_far_ones() -> None:
    X = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])
    reference, near, far = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1]
    for table in ("rand_distance", "jaccard_distance", "vi"):
        function = MEASURES[table].function
        assert function(reference, near) == pytest.approx(function(reference, far))
    for name in NAMES:
        function = MEASURES[name].function
        assert function(reference, near, X) < function(reference, far, X) - 1e-3


def test_kernel_distance_of_nearly_equal_partitions_keeps_its_digits() -> None:
    """A little of one cluster goes to another: the square is lost in the sums it comes from."""
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    halves = np.repeat(np.eye(2), 2, axis=0)
    for share in (1e-3, 1e-5, 1e-7, 1e-9):
        a = np.column_stack([halves, np.zeros(4)])
        b = np.column_stack([halves * [1 - share, 1], [share, share, 0, 0]])
        b[:2] /= b[:2].sum(axis=1, keepdims=True)
        # The third cluster is the first one again in direction, so nothing but rounding is left.
        for components in (None, 200):
            assert lift_kernel(a, b, X, n_components=components) < 1e-7
    values = [
        lift_kernel([0, 0, 1, 1], [0, 1, 1, 1], X, sample_weight=[1, w, 1, 1], bandwidth=BANDWIDTH)
        / w
        for w in (1e-2, 1e-4, 1e-6)
    ]
    # Proportional to the weight; only the first is large enough for the sums alone.
    assert values[0] > 0.1
    assert values[1:] == pytest.approx([values[0]] * 2, rel=0.05)
    assert values[2] == pytest.approx(values[1], rel=1e-3)


def crowd(kind: str, seed: int) -> tuple[Ensemble, np.ndarray, float]:
    """Return partitions that are all close, for one of three reasons, and their points."""
    rng = np.random.default_rng(seed)
    n = 40
    X, base, weights = rng.normal(size=(n, 2)), rng.integers(0, 5, n), np.ones(n)
    parts: list[Any] = [rng.integers(0, k, n) for k in (3, 5, 8, 2, 4)]
    if kind != "wide":
        parts = [np.where(np.arange(n) == i, (base + 1 + i % 3) % 5, base) for i in range(8)]
        weights[:8] = 1e-4  # what a point that moved counts
    if kind == "soft":
        parts = [0.5 * np.eye(6)[p] + 0.5 * np.eye(6)[base] for p in parts]
        parts += [np.repeat(p, 2, axis=1) / 2 for p in parts[:2]]  # each cluster twice
    return Ensemble.from_labels(parts, sample_weight=weights), X, 200.0 if kind == "wide" else 1.5


@pytest.mark.parametrize("components", [None, 60])
@pytest.mark.parametrize("kind", ["wide", "near", "soft"])
def test_kernel_distances_of_many_close_pairs(kind, components, monkeypatch, seed: int) -> None:
    ensemble, X, bandwidth = crowd(kind, seed)
    lifted = lift(ensemble, X, bandwidth=bandwidth, n_components=components)
    r = ensemble.n_partitions
    pairs = np.array([(i, j) for i in range(r) for j in range(r)])
    work = {"n_jobs": None, "progress": False, "normalize": True}
    found = MEASURES["lift_kernel"].formula(lifted, pairs, **work)
    assert not np.signbit(found).any()
    everything = np.arange(lifted.mass.size)
    kept = np.exp(-lifted.distances(everything, everything, squared=True))
    distinct, where = np.unique(lifted.same, return_inverse=True)
    for (i, j), value in zip(pairs, found, strict=True):
        surplus = np.zeros(distinct.size)
        for part, sign in ((i, 1.0), (j, -1.0)):
            mine = slice(*lifted.offsets[part : part + 2])
            np.add.at(surplus, where[mine], sign * lifted.mass[mine])
        square = surplus @ kept[np.ix_(distinct, distinct)] @ surplus
        assert value**2 == pytest.approx(square, rel=1e-4, abs=2e-15)
        assert (value == 0.0) or i != j
    # All pairs are close when the limit says so, and cutting them up changes nothing.
    monkeypatch.setattr(lift_module, "_CLOSE", 3.0)
    monkeypatch.setattr(lift_module, "_BLOCK_ELEMENTS", 50)
    again = MEASURES["lift_kernel"].formula(lifted, pairs, **work)
    np.testing.assert_allclose(again**2, found**2, rtol=1e-4, atol=2e-15)


def test_close_pairs_are_computed_block_by_block(monkeypatch, seed: int) -> None:
    """Where a wide bandwidth makes all pairs close, a pair must not cost calls of its own."""
    ensemble, X, bandwidth = crowd("wide", seed)
    lifted = lift(ensemble, X, bandwidth=bandwidth)
    pairs = np.array([(i, j) for i in range(5) for j in range(i, 5)])
    calls = []
    original = type(lifted).distances

    def counting(self: Any, i: Any, j: Any, **options: Any) -> np.ndarray:
        calls.append(len(i) * len(j))
        return original(self, i, j, **options)

    monkeypatch.setattr(type(lifted), "distances", counting)
    MEASURES["lift_kernel"].formula(lifted, pairs, n_jobs=None, progress=False, normalize=True)
    assert len(calls) == 3  # each partition with itself, all pairs, and the close ones


# ---- random features --------------------------------------------------------------------------


def test_random_features_are_near_the_exact_kernel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 2))
    a, b = rng.integers(0, 3, 300), (X[:, 0] > 0).astype(int)
    for name in NAMES:
        function = MEASURES[name].function
        exact = function(a, b, X, n_components=None)
        assert function(a, b, X, n_components=2000) == pytest.approx(exact, abs=0.03)


def test_all_pairs_equal_an_independent_solver_on_the_same_vectors(seed: int) -> None:
    ot = pytest.importorskip("ot")
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    labels = [rng.integers(0, k, 400) for k in (2, 5, 9, 12)]
    labels.append(np.where(rng.random(400) < 0.01, 0, labels[2]))  # nearly equal to another
    options = {"n_components": 300, "bandwidth": 1.0}
    found = pairwise(labels, "lift_emd", features=X, metric_params={"lift_emd": options}).matrix
    lifted = lift(Ensemble.from_labels(labels), X, **options)
    parts = [slice(*lifted.offsets[i : i + 2]) for i in range(5)]
    for i, left in enumerate(parts):
        for j, right in enumerate(parts):
            cost = cdist(lifted.vectors[left], lifted.vectors[right])
            expected = ot.emd2(lifted.mass[left], lifted.mass[right], cost)
            assert found[i, j] == pytest.approx(expected, abs=1e-9)


# ---- all pairs ------------------------------------------------------------------------------


def mixed(seed: int, n: int = 50) -> tuple[Ensemble, np.ndarray]:
    """Return partitions of every kind, some of them equal, and their points."""
    rng = np.random.default_rng(seed)
    parts: list[Any] = [rng.integers(low, k, n) for low, k in ((-2, 3), (-1, 6), (0, 9), (0, 2))]
    soft = rng.dirichlet(np.ones(3), n)
    soft[0], soft[1] = 0.0, np.nan
    parts += [soft, soft[:, [2, 0, 1]], np.where(parts[1] < 0, -1, 5 - parts[1]), parts[2]]
    parts += [np.full(n, -2), np.zeros(n, dtype=int)]
    return Ensemble.from_labels(parts, sample_weight=rng.uniform(1, 2, n)), rng.normal(size=(n, 2))


@pytest.mark.parametrize("components", [None, 60])
@pytest.mark.parametrize("noise", [None, "cluster", "drop"])
def test_pairs_at_once_equal_pairs_one_by_one(noise: Any, components: Any, seed: int) -> None:
    ensemble, X = mixed(seed)
    options = {"n_components": components, "bandwidth": 1.0}
    result = pairwise(
        ensemble, NAMES, noise=noise, features=X, metric_params=dict.fromkeys(NAMES, options)
    )
    for name in NAMES:
        matrix = result.matrices[name]
        np.testing.assert_array_equal(matrix, matrix.T)
        assert (matrix[[0, 1, 1, 2, 4], [0, 1, 6, 7, 5]] == 0.0).all()
        assert np.isnan(matrix[8]).all()
        for i, j in ((0, 1), (1, 4), (4, 6), (5, 2), (3, 9), (0, 8), (2, 7)):
            two = ensemble.select([i, j])
            given = {"noise": noise or "cluster", **options}
            value = MEASURES[name].in_space(two, X, np.array([[0, 1]]), **given)[0]
            assert matrix[i, j] == pytest.approx(value, abs=1e-9, nan_ok=True)


def test_blocks_and_threads_change_nothing(monkeypatch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    ensemble = Ensemble.from_labels([rng.integers(0, k, 60) for k in (2, 3, 9, 4, 5, 9, 7)])
    whole = pairwise(ensemble, NAMES, features=X)
    monkeypatch.setattr(lift_module, "_BLOCK_CLUSTERS", 8)
    cut = [pairwise(ensemble, NAMES, features=X, n_jobs=n_jobs) for n_jobs in (None, 2)]
    for name in NAMES:
        np.testing.assert_array_equal(cut[0].matrices[name], cut[1].matrices[name])
        np.testing.assert_allclose(whole.matrices[name], cut[0].matrices[name], atol=1e-12)


def test_measures_of_tables_and_in_space_in_one_call(monkeypatch, seed: int) -> None:
    ensemble, X = mixed(seed)
    lifted = []

    def counting(kernel: Any, *choices: Any) -> None:
        lifted.append(kernel)

    monkeypatch.setattr(lifted_module, "check_choice", counting)
    names = ["vi", *NAMES, "purity"]
    params = {"lift_kernel": {"kernel": "cauchy"}}
    first = ensemble.select([0, 1, 2, 3, 6, 7])
    result = pairwise(first, names, features=X, metric_params=params)
    assert lifted == ["gaussian", "cauchy"]  # shared by those with the same options
    assert result.metrics == tuple(names)
    tables = pairwise(first, ["vi", "purity"])
    np.testing.assert_array_equal(result.matrices["vi"], tables.matrices["vi"])
    np.testing.assert_array_equal(result.matrices["purity"], tables.matrices["purity"])
    np.testing.assert_array_equal(result.coverage, tables.coverage)
    alone = pairwise(first, "lift_kernel", features=X, metric_params=params, n_jobs=2).matrix
    np.testing.assert_array_equal(result.matrices["lift_kernel"], alone)


def test_fractions_of_points_are_weights_in_space() -> None:
    labels, weights = [[0, 0, 1], [0, 1, 1]], [0.25, 0.5, 0.25]
    ensemble = Ensemble.from_labels(labels, sample_weight=weights)
    X = grid(3)
    found = pairwise(ensemble, "lift_emd", features=X).matrix[0, 1]
    assert found == pytest.approx(lift_emd(*labels, X, sample_weight=[1, 2, 1]), abs=1e-12)


def test_coverage_counts_what_both_partitions_have() -> None:
    X = grid(4)
    a, b, weights = [0, 0, 1, -2], [0, -1, 1, 1], [1, 2, 3, 4]
    for noise, share in (("cluster", 0.6), ("drop", 0.4)):
        value, covered = lift_emd(a, b, X, noise=noise, sample_weight=weights, return_coverage=True)
        assert covered == pytest.approx(share)
        ensemble = Ensemble.from_labels([a, b], sample_weight=weights)
        result = pairwise(ensemble, "lift_emd", features=X, noise=noise)
        assert result.coverage[0, 1] == pytest.approx(share)
        assert result.matrix[0, 1] == pytest.approx(value, abs=1e-12)


def test_nothing_in_common_is_still_a_distance_in_space() -> None:
    X = np.array([[0.0], [0.1], [0.2], [9.0]])
    value, covered = lift_emd([0, 0, -2, -2], [-2, -2, 0, -2], X, return_coverage=True)
    far = lift_emd([0, 0, -2, -2], [-2, -2, -2, 0], X)
    assert covered == 0.0
    assert 0.0 < value < far
    assert np.isnan(lift_emd([0, 0, 0, 0], [-2] * 4, X))
    assert np.isnan(lift_kernel([0, 0, 0, 0], [-1] * 4, X, noise="drop"))


# ---- equal partitions ---------------------------------------------------------------------------


def test_equal_partitions_are_compared_once(monkeypatch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    base = rng.integers(-2, 4, (30, 3))
    labels = np.column_stack([base, np.where(base < 0, base, 3 - base), base[:, :1]])
    counted = []
    original = lift_module._one_block

    def counting(work: Any, lifted: Any, pairs: np.ndarray, task: np.ndarray) -> Any:
        counted.extend(map(tuple, pairs[task].tolist()))
        return original(work, lifted, pairs, task)

    monkeypatch.setattr(lift_module, "_one_block", counting)
    result = pairwise(labels, ["lift_emd", "nmi", "purity"], features=grid(30))
    assert sorted(counted) == [(i, j) for i in range(3) for j in range(i, 3)]
    again = np.array([0, 1, 2, 0, 1, 2, 0])
    for name, matrix in result.matrices.items():
        np.testing.assert_array_equal(matrix, matrix[:3, :3][np.ix_(again, again)])
        for i in range(7):
            for j in range(7):
                extra = (grid(30),) if name == "lift_emd" else ()
                value = MEASURES[name].function(labels[:, i], labels[:, j], *extra)
                assert matrix[i, j] == pytest.approx(value, abs=1e-9)
    assert result.names == tuple(f"p{i}" for i in range(7))


# ---- wrong input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "features is missing: the points must be given, features=X, except"),
        ({"features": [[0.0], [1.0]], "ground": "cityblock"}, "lift_emd: ground must be one of"),
        ({"features": [[0.0], [1.0]], "normalize": 1}, "lift_emd: normalize must be True or"),
        ({"features": [[0.0], [1.0]], "kernel": "rbf"}, "lift_emd: kernel must be one of"),
        ({"features": [[0.0], [1.0]], "bandwidth": 0}, "lift_emd: bandwidth must be"),
        ({"features": [[0.0], [1.0]], "noise": "singletons"}, "noise must be one of 'cluster'"),
        ({"features": [[0.0], [1.0], [2.0]]}, "features"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        lift_emd([0, 1], [0, 0], **options)


@pytest.mark.parametrize(
    ("metric", "options", "words"),
    [
        ("lift_emd", {"features": None}, "features is missing: the points must be given"),
        (
            ["vi", "lift_emd"],
            {"noise": "singletons"},
            "'cluster' or 'drop' for lift_emd; got 'singletons' .str.. Leave noise out",
        ),
        (
            "lift_kernel",
            {"metric_params": {"lift_kernel": {"ground": "euclidean"}}},
            "keyed by options of lift_kernel, kernel, .*; got 'ground'",
        ),
        (
            "lift_emd",
            {"metric_params": {"lift_emd": {"noise": "drop"}}},
            "keyed by options of lift_emd, .*; got 'noise'",
        ),
        (
            "lift_emd",
            {"metric_params": {"lift_emd": {"bandwidth": -1}}},
            "pairwise, lift_emd: bandwidth must be",
        ),
    ],
)
def test_wrong_arguments_of_pairwise(metric: Any, options: dict[str, Any], words: str) -> None:
    given = {"features": [[0.0], [1.0]], **options}
    with pytest.raises(ValueError, match=words):
        pairwise([[0, 1], [0, 0]], metric, **given)


def test_the_discrete_kernel_needs_no_features() -> None:
    found = pairwise(
        [[0, 0, 1], [0, 1, 1]], "lift_emd", metric_params={"lift_emd": {"kernel": "discrete"}}
    )
    assert found.matrix[0, 1] == pytest.approx(lift_emd([0, 0, 1], [0, 1, 1], kernel="discrete"))


def test_wrong_partitions_are_named() -> None:
    with pytest.raises(ValueError, match="'a' has 2 points and 'b' has 3"):
        compare.MEASURES["lift_emd"].function([0, 1], [0, 1, 1], grid(3))
    with pytest.raises(TypeError, match="a must be a label vector .* got int"):
        compare.MEASURES["lift_hausdorff"].function(3, [0, 1], grid(2))
