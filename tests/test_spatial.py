"""CC distance, CDistance and D_ADCO: by definition, and what they promise."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse

from clusterscape import Ensemble
from clusterscape.compare import MEASURES, adco, cc_distance, cdistance, lift_emd, spatial
from strategies import ensembles, rows_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of compiling its files for the first time
    import ot

NAMES = ["cc_distance", "cdistance", "adco"]
POLICIES = ["cluster", "drop"]


# ---- slowly, by definition --------------------------------------------------------------------


def distributions(ensemble: Ensemble, i: int, noise: str) -> np.ndarray:
    """Return the weight of each point (columns) in each cluster that has some (rows)."""
    table, seen = rows_of(ensemble, i)
    if noise == "cluster":
        table = np.column_stack([table, seen & (ensemble.labels[:, i] == -1)])
    table = (table * ensemble.sample_weight[:, None]).T
    return table[table.sum(axis=1) > 0]


def shares(table: np.ndarray) -> np.ndarray:
    return table.sum(axis=1) / table.sum()


def gaps(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.linalg.norm(left[:, None, :] - right[None, :, :], axis=2)


def slow_cc(a: np.ndarray, b: np.ndarray, X: np.ndarray) -> float:
    centers = [(table @ X) / table.sum(axis=1, keepdims=True) for table in (a, b)]
    return float(ot.emd2(shares(a), shares(b), gaps(*centers)))


def slow_cdistance(a: np.ndarray, b: np.ndarray, X: np.ndarray) -> float:
    between = gaps(X, X)
    costs = np.array([[ot.emd2(p / p.sum(), q / q.sum(), between) for q in b] for p in a])
    naive = shares(a) @ costs @ shares(b)
    return float(ot.emd2(shares(a), shares(b), costs) / naive) if naive > 1e-12 else 0.0


def slow_adco(a: np.ndarray, b: np.ndarray, X: np.ndarray, n_bins: int, normalize: str) -> float:
    seen = (a.sum(axis=0) > 0) | (b.sum(axis=0) > 0)
    a, b, X = a[:, seen], b[:, seen], X[seen]

    def histogram(cluster: np.ndarray) -> np.ndarray:
        counts = [
            np.histogram(x, bins=n_bins, range=(x.min(), x.max()), weights=cluster)[0]
            if x.min() < x.max()
            else np.eye(n_bins)[0] * cluster.sum()
            for x in X.T
        ]
        return np.concatenate(counts)

    if {p.tobytes() for p in a} == {q.tobytes() for q in b}:
        return 0.0
    left, right = (np.array([histogram(c) for c in side / side.sum()]) for side in (a, b))
    if len(left) > len(right):
        left, right = right, left
    best = max(
        sum(float(left[i] @ right[j]) for i, j in enumerate(order))
        for order in itertools.permutations(range(len(right)), len(left))
    )
    own = [float((side**2).sum()) for side in (left, right)]
    return 2.0 - best / (max(own) if normalize == "max" else np.sqrt(own[0] * own[1]))


@st.composite
def cases(draw, **options):
    """Two partitions or more, hard or soft, with weights, noise and unsampled points; a policy."""
    ensemble = draw(ensembles(max_partitions=2, **options))
    assume(ensemble.n_partitions == 2)
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    X = rng.normal(size=(ensemble.n_points, 2)).round(draw(st.sampled_from([0, 6])))
    noise = draw(st.sampled_from(POLICIES))
    return ensemble, X, noise


def value(name: str, ensemble: Ensemble, X, noise: str, **options) -> float:
    found = MEASURES[name].in_space(ensemble, X, np.array([[0, 1]]), noise=noise, **options)
    assert found.shape == (1,)
    return float(found[0])


@given(cases())
def test_the_measures_are_what_they_are_defined_to_be(case) -> None:
    ensemble, X, noise = case
    a, b = (distributions(ensemble, i, noise) for i in range(2))
    if not (len(a) and len(b)):
        assert all(np.isnan(value(name, ensemble, X, noise)) for name in NAMES)
        return
    close = {"abs": 1e-9, "rel": 1e-9}
    assert value("cc_distance", ensemble, X, noise) == pytest.approx(slow_cc(a, b, X), **close)
    assert value("cdistance", ensemble, X, noise) == pytest.approx(slow_cdistance(a, b, X), **close)


@given(cases(), st.sampled_from([1, 3, 10]), st.sampled_from(["max", "geometric"]))
def test_adco_is_what_it_is_defined_to_be(case, n_bins: int, normalize: str) -> None:
    ensemble, X, noise = case
    X = X + np.random.default_rng(0).uniform(0, 1e-3, X.shape)  # no point between two bins
    a, b = (distributions(ensemble, i, noise) for i in range(2))
    found = value("adco", ensemble, X, noise, n_bins=n_bins, normalize=normalize)
    expected = slow_adco(a, b, X, n_bins, normalize) if len(a) and len(b) else np.nan
    assert found == pytest.approx(expected, nan_ok=True)
    assert np.isnan(found) or found == 0.0 or 1.0 <= found <= 2.0


@given(cases(), st.sampled_from(["size", "uniform"]))
def test_the_membership_form_sums_differences_of_memberships(case, masses: str) -> None:
    ensemble, _, noise = case
    lowest = -2 if noise == "cluster" else -1
    both = (ensemble.labels > lowest).all(axis=1)
    weights = ensemble.sample_weight
    plain = ensemble.with_weights(sample_weight=np.ones(ensemble.n_points))
    sides = []
    for i in range(2):
        table = distributions(plain, i, noise)
        sides.append(table[(table * weights * both).sum(axis=1) > 0])
    found = value("cc_distance", ensemble, None, noise, form="membership", masses=masses)
    if not all(map(len, sides)):
        assert np.isnan(found)
        return
    apart = (weights * both * np.abs(sides[0][:, None] - sides[1][None])).sum(axis=2)
    mass = [shares(side * weights * both) for side in sides]
    if masses == "uniform":
        mass = [np.full(len(m), 1 / len(m)) for m in mass]
    assert found == pytest.approx(ot.emd2(*mass, apart), abs=1e-9)


def test_for_hard_partitions_a_membership_cost_is_a_symmetric_difference() -> None:
    # {0, 1}, {2, 3} to {0, 1, 2}, {3}: differences 1, 3, 3, 1 and a quarter moves across.
    found = cc_distance([0, 0, 1, 1], [0, 0, 0, 1], form="membership")
    assert found == pytest.approx(0.5 * 1 + 0.25 * 3 + 0.25 * 1)


# ---- properties ------------------------------------------------------------------------------

DISTANCES = [
    ("cc_distance", {}),
    ("cc_distance", {"form": "membership"}),
    ("cdistance", {}),
    ("adco", {}),
    ("adco", {"normalize": "geometric", "n_bins": 3}),
]


@pytest.mark.parametrize(("name", "options"), DISTANCES, ids=str)
@given(case=cases())
def test_properties_of_the_registry(name: str, options, case) -> None:
    ensemble, X, noise = case
    measure = MEASURES[name]
    both = np.array([[0, 1], [1, 0], [0, 0]])
    there, back, own = measure.in_space(ensemble, X, both, noise=noise, **options)
    assert there == pytest.approx(back, nan_ok=True, rel=1e-9, abs=1e-12)
    if np.isnan(there):
        return
    low, high = measure.bounds
    assert low <= there <= high
    assert own == pytest.approx(measure.identity, abs=1e-12)


def test_which_are_metrics() -> None:
    assert [MEASURES[name].metric for name in NAMES] == [False, False, True]
    assert all(MEASURES[name].direction == "distance" for name in NAMES)
    assert all(MEASURES[name].noise == tuple(POLICIES) for name in NAMES)


@pytest.mark.parametrize(("name", "options"), [("cc_distance", {}), ("adco", {})])
@given(case=st.data())
def test_the_triangle_inequality_holds(name: str, options, case) -> None:
    seed = case.draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(8, 2))
    triple = Ensemble.from_labels(rng.integers(-1, 4, (8, 3)))
    pairs = np.array([[0, 1], [1, 2], [0, 2]])
    first, second, across = MEASURES[name].in_space(triple, X, pairs, **options)
    assert across <= first + second + 1e-12


def test_cdistance_breaks_the_triangle_inequality() -> None:
    X = [[0.0], [1.0], [2.0], [3.0]]
    a, b, c = [0, 1, 1, 2], [0, 1, 2, 3], [0, 1, 2, 0]
    assert cdistance(a, b, X) == pytest.approx(0.2)
    assert cdistance(b, c, X) == pytest.approx(0.6)
    assert cdistance(a, c, X) == pytest.approx(8 / 9)


def test_the_squared_ground_distance_breaks_the_triangle_inequality() -> None:
    X = [[0.0], [0.0], [1.0], [2.0]]
    one, two, far = [0, 0, -2, -2], [-2, -2, 0, -2], [-2, -2, -2, 0]
    squares = [cc_distance(*p, X, ground="sqeuclidean") for p in ((one, two), (two, far))]
    assert cc_distance(one, far, X, ground="sqeuclidean") == 4.0 > sum(squares) == 2.0
    assert cc_distance(one, far, X) == 2.0


def rings(count: int = 12) -> tuple[np.ndarray, np.ndarray]:
    angles = np.arange(count) * 2 * np.pi / count
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([circle, 2 * circle, 3 * circle]), np.repeat([0, 1, 2], count)


def test_concentric_rings_are_one_to_the_cc_distance() -> None:
    X, labels = rings()
    other = np.where(labels == 2, 1, labels)  # the two outer rings are one cluster
    assert cc_distance(labels, other, X) == pytest.approx(0.0, abs=1e-12)
    assert cc_distance(labels, np.zeros(36, int), X) == pytest.approx(0.0, abs=1e-12)
    assert cdistance(labels, other, X) > 0.1
    assert adco(labels, other, X) > 1.0


def test_rings_are_apart_for_lifted_clusters() -> None:
    X, labels = rings()
    assert lift_emd(labels, np.where(labels == 2, 1, labels), X) > 0.01


def test_adco_sees_the_next_cell_and_the_farthest_alike() -> None:
    """Four clusters in a cell each: neighbours are no more alike than the two farthest."""
    cells = np.array([[0.0, 0.0], [1.5, 1.5], [2.5, 2.5], [10.0, 10.0]])
    X, labels = np.repeat(cells, 4, axis=0), np.repeat([0, 1, 2, 3], 4)
    near, far = labels.copy(), labels.copy()
    near[4], far[4] = 2, 3  # a point of the second cluster goes to the next one, or to the last
    assert adco(labels, near, X) == pytest.approx(adco(labels, far, X))
    assert 1.0 < adco(labels, near, X) < 2.0
    assert cdistance(labels, near, X) < cdistance(labels, far, X)
    assert cc_distance(labels, near, X) < cc_distance(labels, far, X)
    # And no more than that a cluster is replaced by its neighbour, or by the farthest.
    blue, red = (
        ([0] * 4 + [-2] * 12, [-2] * 4 + [0] * 4 + [-2] * 8),
        ([0] * 4 + [-2] * 12, [-2] * 12 + [0] * 4),
    )
    assert adco(*blue, X) == adco(*red, X) == 2.0
    assert cc_distance(*blue, X) < cc_distance(*red, X)


def test_equal_partitions_are_at_distance_zero_whatever_their_names(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    a = rng.integers(-1, 5, 40)
    b = np.where(a >= 0, (a + 2) % 5, a)
    for function in (cc_distance, cdistance, adco):
        assert function(a, b, X) == pytest.approx(0.0, abs=1e-15)
    assert cc_distance(a, b, form="membership") == 0.0


def test_points_that_coincide_are_at_no_distance() -> None:
    X = np.ones((6, 2))
    assert cdistance([0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1], X) == 0.0
    assert cc_distance([0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1], X) == 0.0
    assert adco([0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1], X) == 1.0


def test_one_cluster_each() -> None:
    X = np.arange(4.0)[:, None]
    assert cdistance([0, 0, 0, 0], [7, 7, 7, 7], X) == 0.0
    assert cdistance([0, 0, 0, -2], [0, 0, 0, 0], X) == 1.0


def test_a_weight_is_a_number_of_equal_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(12, 2)), rng.integers(0, 4, 12)
    a, b = rng.integers(-2, 3, (2, 12))
    many = [np.repeat(v, weights, axis=0) for v in (a, b, X)]
    for function in (cc_distance, cdistance, adco):
        for noise in POLICIES:
            once = function(a, b, X, noise=noise, sample_weight=weights)
            assert once == pytest.approx(function(*many, noise=noise)), function.__name__
    once = cc_distance(a, b, form="membership", sample_weight=weights)
    assert once == pytest.approx(cc_distance(*many[:2], form="membership"))


@pytest.mark.parametrize("name", NAMES)
def test_a_hard_partition_is_a_soft_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(15, 2)), rng.integers(0, 3, (2, 15))
    function = MEASURES[name].function
    soft = function(np.eye(3)[a], np.eye(3)[b], X)
    assert soft == pytest.approx(function(a, b, X))
    assert function(np.eye(3)[a], b, X) == pytest.approx(soft)


@pytest.mark.parametrize("name", NAMES)
def test_all_pairs_at_once_are_the_pairs_one_by_one(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, labels = rng.normal(size=(20, 2)), rng.integers(-2, 4, (20, 5))
    labels[:, 4] = labels[:, 1]
    # The bins are those of the points of all partitions: every pair has the outermost ones.
    outermost = np.concatenate([X.argmin(axis=0), X.argmax(axis=0)])
    labels[outermost] = np.maximum(labels[outermost], 0)
    ensemble = Ensemble.from_labels(labels)
    pairs = rng.integers(0, 5, (23, 2))
    found = MEASURES[name].in_space(ensemble, X, pairs)
    again = MEASURES[name].in_space(ensemble, X, pairs, n_jobs=2)
    np.testing.assert_array_equal(found, again)
    for (i, j), one in zip(pairs, found, strict=True):
        assert one == pytest.approx(MEASURES[name].function(labels[:, i], labels[:, j], X))


@pytest.mark.parametrize("function", [cc_distance, cdistance])
def test_sparse_features_are_dense_features(function, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 6)) * (rng.random((30, 6)) < 0.3)
    a, b = rng.integers(-1, 4, (2, 30))
    assert function(a, b, sparse.csr_matrix(X)) == pytest.approx(function(a, b, X))


def test_distances_are_exact_where_products_are_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    left = 1e6 + rng.normal(size=(7, 3))
    right = np.vstack([left[:3], left[3:5] + 1e-3])
    found = spatial._row_distances(left, right)
    np.testing.assert_allclose(found, gaps(left, right), rtol=1e-9, atol=0)
    assert (np.diag(found)[:3] == 0).all()
    thin = spatial._row_distances(sparse.csr_matrix(left), sparse.csr_matrix(right), squared=True)
    np.testing.assert_allclose(thin, gaps(left, right) ** 2, rtol=1e-9, atol=0)


def test_large_clusters_use_the_network_simplex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(300, 2)), rng.integers(0, 2, (2, 300))
    ensemble = Ensemble.from_labels(np.column_stack([a, b]))
    sides = [distributions(ensemble, i, "cluster") for i in range(2)]
    assert cdistance(a, b, X) == pytest.approx(slow_cdistance(*sides, X))


# ---- extreme values, and points that do not count ----------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-16, 1e16, 1e200, 1e307])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_unit_of_the_features_does_not_matter(scale: float, form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.uniform(-9, 9, size=(90, 3)), rng.integers(0, 3, (2, 90))
    expected = cc_distance(a, b, X)
    assert expected > 0.1
    assert cc_distance(a, b, form(X * scale)) / scale == pytest.approx(expected, rel=1e-12)
    assert cdistance(a, b, form(X * scale)) == pytest.approx(cdistance(a, b, X), rel=1e-11)
    assert adco(a, b, X * scale) == pytest.approx(adco(a, b, X), rel=1e-12)


def test_columns_may_have_different_units(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(30, 2)), rng.integers(0, 3, (2, 30))
    assert adco(a, b, X * [1e-300, 1e300]) == pytest.approx(adco(a, b, X), rel=1e-12)
    # A large value that all points share does not lower the precision of other columns.
    high = np.column_stack([X, np.full(30, 1e300)])
    assert cc_distance(a, b, high) == pytest.approx(cc_distance(a, b, X), rel=1e-12)
    assert cdistance(a, b, high) == pytest.approx(cdistance(a, b, X), rel=1e-12)


@pytest.mark.parametrize("far", [1e20, 1e150, 1e300])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_far_cluster_does_not_lower_the_precision_of_others(far: float, form, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(40, 2)), rng.integers(0, 3, (2, 40))
    a[0] = b[0] = 3  # a cluster of its own in both
    near, X[0] = cc_distance(a[1:], b[1:], X[1:]), far
    assert near > 0.01
    assert cc_distance(a, b, form(X)) == pytest.approx(near * 39 / 40, rel=1e-9)


def test_the_largest_numbers_are_counted_in_bins() -> None:
    largest = np.finfo(float).max
    X = np.array([[-largest], [-largest], [largest], [largest]])
    assert adco([0, 0, 1, 1], [0, 1, 1, 1], X) == adco([0, 0, 1, 1], [0, 1, 1, 1], np.sign(X))
    assert adco([0, 0, 1, 1], [0, 1, 1, 1], X) > 1.0


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_squares_that_are_no_numbers_are_refused(scale: float) -> None:
    X = scale * np.arange(4.0)[:, None]
    with pytest.raises(ValueError, match="beyond what floating-point .* take ground='euclidean'"):
        cc_distance([0, 0, 1, 1], [0, 1, 1, 1], X, ground="sqeuclidean")


@pytest.mark.parametrize("weight", [1e-50, 1e50])
@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_the_weights_does_not_matter(name: str, weight: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(30, 2)), rng.integers(0, 3, (2, 30))
    measure = MEASURES[name].function
    found = measure(a, b, X, sample_weight=np.full(30, weight))
    assert found == pytest.approx(measure(a, b, X), rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("noise", POLICIES)
@pytest.mark.parametrize("far", [30.0, 1e20, 1.7e308])
def test_points_left_out_or_without_weight_change_nothing(
    name: str, noise: str, far, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(33, 2)), rng.integers(0, 3, (2, 33))
    weights = np.ones(33)
    unseen = -2 if noise == "cluster" else -1
    a[30] = b[30] = -2
    a[31] = b[31] = unseen
    weights[32] = 0.0
    X[30:] = [[far, -far], [-far, far], [far, far]]
    measure = MEASURES[name].function
    found = measure(a, b, X, noise=noise, sample_weight=weights)
    assert found == pytest.approx(measure(a[:30], b[:30], X[:30]), rel=1e-12)
    a[31] = 0  # one partition has it, and now it counts
    changed = measure(a, b, X, noise=noise, sample_weight=weights)
    assert changed != pytest.approx(found, rel=1e-3)


def test_no_point_counts() -> None:
    for name in NAMES:
        assert np.isnan(MEASURES[name].function([-2, -2], [0, -2], [[1e300], [-1e300]]))
        assert np.isnan(MEASURES[name].function([-2, -2], [-2, -2], [[1e300], [-1e300]]))


# ---- wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_features_are_needed_and_checked(name: str) -> None:
    function = MEASURES[name].function
    with pytest.raises(ValueError, match=f"{name} needs the points: pass them as features=X"):
        function([0, 1], [0, 1])
    with pytest.raises(ValueError, match="features has 3 rows and the partitions 2 points"):
        function([0, 1], [0, 1], np.ones((3, 1)))
    with pytest.raises(ValueError, match="features contains NaN"):
        function([0, 1], [0, 1], [[np.nan], [1.0]])


def test_too_many_points_are_refused_with_a_remedy() -> None:
    labels, X = np.zeros(30, int), np.ones((30, 1))
    with pytest.raises(ValueError, match=r"30, more than max_points=29\. Compare a subsample"):
        cdistance(labels, labels, X, max_points=29)
    assert cdistance(labels, labels, X, max_points=30) == 0.0


def test_a_ground_distance_has_no_meaning_for_memberships() -> None:
    with pytest.raises(ValueError, match="leave it out"):
        cc_distance([0, 1], [0, 0], form="membership", ground="sqeuclidean")


def test_adco_refuses_sparse_features() -> None:
    with pytest.raises(TypeError, match="adco does not take sparse features"):
        adco([0, 1], [0, 0], sparse.eye(2, format="csr"))


def test_adco_refuses_histograms_that_do_not_fit() -> None:
    words = r"100,000,000,000 bins of 2 columns for 5 clusters would take 8,000\.0 GB"
    with pytest.raises(MemoryError, match=words):
        adco([0, 1], [0, 0], np.eye(2), n_bins=10**11)


@pytest.mark.parametrize("name", [*NAMES, "lift_emd"])
def test_features_of_other_points_are_refused(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, (a, b) = rng.normal(size=(6, 2)), [[0, 0, 1, 1, 2, 2], [0, 1, 1, 1, 0, 0]]
    names = pd.Index(list("uvwxyz"))
    left, right = pd.Series(a, index=names), pd.Series(b, index=names)
    function, expected = MEASURES[name].function, MEASURES[name].function(a, b, X)
    with pytest.raises(ValueError, match="row 0 of features is 'z', and the partitions have 'u'"):
        function(left, right, pd.DataFrame(X, index=names[::-1]))
    with pytest.raises(ValueError, match="row 5 of features is 'o', and the partitions have 'z'"):
        function(left, b, pd.DataFrame(X, index=list("uvwxyo")))
    assert function(left, right, pd.DataFrame(X, index=names)) == expected
    assert function(left, right, pd.DataFrame(X)) == expected
    assert function(left, right, X) == expected
    assert function(a, b, pd.DataFrame(X, index=names[::-1])) == expected
    with pytest.raises(ValueError, match="5 rows"):
        function(left, right, pd.DataFrame(X, index=names)[:5])
