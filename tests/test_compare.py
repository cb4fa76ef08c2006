"""Every measure against its definition on small partitions, and against scikit-learn on large."""

from __future__ import annotations

import itertools
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import compare_oracle as oracle
from clusterscape import Ensemble, compare
from clusterscape.compare import MEASURES

# Measures in space have tests of their own.
TABLES = {name: measure for name, measure in MEASURES.items() if measure.prepare is None}
COMPARED = [name for name in TABLES if name != "ami"]


def one_hot(labels: Any) -> np.ndarray:
    """Return labels as a soft membership: noise a row of zeros, unsampled a row of NaN."""
    labels = np.asarray(labels)
    matrix = (labels[:, None] == np.arange(max(labels.max(initial=0), 0) + 1)).astype(float)
    matrix[labels == -2] = np.nan
    return matrix


def random_labels(seed: int, n: int, k: int, *, lowest: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(lowest, k, n) for _ in range(2)]


# ---- by definition ------------------------------------------------------------------------


@given(oracle.vectors(2, lowest=-2), st.sampled_from(oracle.POLICIES))
def test_measures_are_what_they_are_defined_to_be(vectors, noise) -> None:
    a, b = vectors
    points = oracle.compared(a, b, noise)
    for name in COMPARED:
        found, coverage = MEASURES[name].function(a, b, noise=noise, return_coverage=True)
        assert found == pytest.approx(oracle.value(name, points), abs=1e-12, nan_ok=True), name
        assert coverage == pytest.approx(len(points) / len(a))


@given(oracle.vectors(2, lowest=-2, max_size=6), st.sampled_from(oracle.POLICIES), st.data())
def test_a_weight_is_a_number_of_equal_points(vectors, noise, data) -> None:
    a, b = vectors
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(a), max_size=len(a)).filter(any))
    points = oracle.compared(a, b, noise, weights)
    many = [np.repeat(v, weights) for v in vectors]
    for name, measure in TABLES.items():
        found, coverage = measure.function(
            a, b, noise=noise, sample_weight=weights, return_coverage=True
        )
        repeated = measure.function(*many, noise=noise)
        assert found == pytest.approx(repeated, abs=1e-12, nan_ok=True), name
        if name in COMPARED:
            assert found == pytest.approx(oracle.value(name, points), abs=1e-12, nan_ok=True)
        assert coverage == pytest.approx(len(points) / sum(weights))


@given(oracle.vectors(2, lowest=-1, max_size=6), st.sampled_from(oracle.POLICIES))
def test_ami_subtracts_the_mean_over_all_shuffles(vectors, noise) -> None:
    a, b = vectors
    points = oracle.compared(a, b, noise)
    found = compare.ami(a, b, noise=noise)
    if not points:
        assert np.isnan(found)
        return
    expected = oracle.expected_information(points)
    mean = (oracle.entropy(p[0] for p in points) + oracle.entropy(p[1] for p in points)) / 2
    if len(set(points)) == len({p[0] for p in points}) == len({p[1] for p in points}):
        assert found == 1.0
    elif mean - expected < 1e-12:
        assert found == 0.0
    else:
        value = (oracle.information(points) - expected) / (mean - expected)
        assert found == pytest.approx(value, abs=1e-11)


@pytest.mark.parametrize("noise", oracle.POLICIES)
@pytest.mark.parametrize("kind", ["c", "H", "cos", "Lp"])
def test_utilities(kind: str, noise: Any, seed: int) -> None:
    norms = {
        "c": lambda s: np.sum(np.square(s)),
        "H": lambda s: np.sum(s * np.log2(s)),
        "cos": lambda s: np.linalg.norm(s),
        "Lp": lambda s: np.linalg.norm(s, 3),
    }
    a, b = random_labels(seed, 60, 4, lowest=-2)
    points = oracle.compared(a, b, noise)
    expected = oracle.utility(points, lambda s: norms[kind](np.array(s)))
    options: dict[str, Any] = {"kind": kind, "p": 3, "noise": noise}
    assert compare.utility(a, b, **options) == pytest.approx(expected)
    shares = np.unique([str(p[1]) for p in points], return_counts=True)[1] / len(points)
    normalized = compare.utility(a, b, normalized=True, **options)
    assert normalized == pytest.approx(expected / abs(norms[kind](shares)))


def test_normalized_utility_of_a_one_cluster_partition_is_zero() -> None:
    assert compare.utility([0, 1, 1], [0, 0, 0], normalized=True) == 0.0


def test_utility_with_many_points_and_a_high_power_stays_finite() -> None:
    labels = np.repeat([0, 1], 100_000)
    found = compare.utility(labels, labels, kind="Lp", p=32)
    assert found == pytest.approx(1 - 2 ** (1 / 32) / 2)


def test_information_utility_is_mutual_information(seed: int) -> None:
    a, b = random_labels(seed, 500, 6)
    assert compare.utility(a, b) * log(2) == pytest.approx(compare.mutual_information(a, b))


def test_category_utilities_add_up_to_the_spectral_objective(seed: int) -> None:
    """The sum of U_c is tr(H' S H) / n minus a constant, S being the co-association counts."""
    rng = np.random.default_rng(seed)
    ensemble = Ensemble.from_labels(rng.integers(0, 4, (40, 7)))
    consensus = rng.integers(0, 3, 40)
    indicator = one_hot(consensus)
    spread = indicator / np.sqrt(indicator.sum(axis=0))
    matrix = ensemble.membership().matrix.toarray()
    constant = np.sum((matrix.sum(axis=0) / 40) ** 2)
    objective = np.trace(spread.T @ matrix @ matrix.T @ spread) / 40 - constant
    total = sum(compare.category_utility(consensus, p) for p in ensemble)
    assert total == pytest.approx(objective)


def test_rand_distance_is_a_transport_cost(seed: int) -> None:
    """Moving the overlaps of clusters costs (n - 1) Rand, at the size of symmetric differences."""
    a, b = random_labels(seed, 50, 5)
    cost = 0.0
    for i, j in itertools.product(range(5), range(5)):
        cost += np.sum((a == i) & (b == j)) / 50 * np.sum((a == i) != (b == j))
    assert cost / 49 == pytest.approx(compare.rand_distance(a, b))


@pytest.mark.parametrize("norm", ["logn", "joint", "sum", "2logk"])
def test_norms_of_the_variation_of_information(norm: Any, seed: int) -> None:
    a, b = random_labels(seed, 200, 5)
    information = metrics.mutual_info_score(a, b)
    entropies = [metrics.mutual_info_score(v, v) for v in (a, b)]
    bounds = {
        "logn": log(200),
        "joint": sum(entropies) - information,
        "sum": sum(entropies),
        "2logk": 2 * log(5),
    }
    assert compare.nvi(a, b, norm=norm) == pytest.approx(compare.vi(a, b) / bounds[norm])
    assert compare.nvi([0, 0], [0, 0], norm=norm) == 0.0
    assert compare.nvi([0], [0], norm=norm) == 0.0


# ---- scikit-learn -------------------------------------------------------------------------

SAME = [
    (compare.adjusted_rand, metrics.adjusted_rand_score, {}, {}),
    (compare.pair_accuracy, metrics.rand_score, {}, {}),
    (compare.fowlkes_mallows, metrics.fowlkes_mallows_score, {}, {}),
    (compare.mutual_information, metrics.mutual_info_score, {}, {}),
] + [
    (ours, theirs, {"average": average}, {"average_method": average})
    for average in ("min", "geometric", "arithmetic", "max")
    for ours, theirs in (
        (compare.nmi, metrics.normalized_mutual_info_score),
        (compare.ami, metrics.adjusted_mutual_info_score),
    )
]


@pytest.mark.parametrize(("ours", "theirs", "options", "their_options"), SAME)
def test_equal_to_scikit_learn(ours, theirs, options, their_options, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for n, k, m in ((12, 3, 4), (500, 7, 2), (3000, 40, 1), (3000, 900, 700)):
        a, b = rng.integers(-1, k, n), rng.integers(-1, m, n)
        b = np.where(rng.random(n) < 0.3, np.minimum(a, m - 1), b)
        found = ours(a, b, noise="cluster", **options)
        assert found == pytest.approx(theirs(a, b, **their_options), abs=1e-10)


def test_where_we_differ_from_scikit_learn_on_purpose() -> None:
    """Two partitions into single points are equal; scikit-learn's Fowlkes-Mallows says 0."""
    alone = [0, 1, 2, 3]
    assert compare.fowlkes_mallows(alone, alone) == 1.0
    assert metrics.fowlkes_mallows_score(alone, alone) == 0.0


def test_nmi_of_single_clusters() -> None:
    assert compare.nmi([0, 0], [0, 0]) == 1.0
    assert compare.nmi([0, 0], [0, 0], degenerate="strehl") == 0.0
    for average in ("min", "geometric", "arithmetic", "max"):
        assert compare.nmi([0, 0], [0, 1], average=average) == 0.0


def test_counts_of_two_million_points_are_exact() -> None:
    n = 2_000_000
    a, b = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    b[0] = 1
    assert compare.mirkin(a, b) == 2 * (n - 1)


# ---- soft partitions ------------------------------------------------------------------------


@given(oracle.vectors(2, lowest=-2), st.sampled_from(oracle.POLICIES), st.booleans())
def test_a_soft_partition_of_zeros_and_ones_is_a_hard_one(vectors, noise, both) -> None:
    a, b = vectors
    for name, measure in TABLES.items():
        if measure.soft:
            hard = measure.function(a, b, noise=noise, return_coverage=True)
            soft = measure.function(
                one_hot(a), one_hot(b) if both else b, noise=noise, return_coverage=True
            )
            assert soft == pytest.approx(hard, abs=1e-12, nan_ok=True), name


@pytest.mark.parametrize("noise", oracle.POLICIES)
def test_soft_pair_counts_are_expected_ones(noise: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, v = rng.dirichlet(np.ones(3), 8), rng.dirichlet(np.ones(4), 8)
    u[0], v[1], v[2] = 0.0, 0.0, np.nan
    lone = [np.eye(8) * np.isclose(m.sum(axis=1), 0.0) for m in (u, v)]
    extra = lone if noise == "singletons" else [m.sum(axis=1, keepdims=True) for m in lone]
    kept = np.array([x for x in range(8) if x != 2 and (noise != "drop" or x > 1)])
    left, right = (np.hstack([m, e])[kept] for m, e in zip((u, v), extra, strict=True))
    disagree = 0.0
    for x, y in itertools.combinations(range(kept.size), 2):
        p, q = left[x] @ left[y], right[x] @ right[y]
        disagree += p * (1 - q) + q * (1 - p)
    found, coverage = compare.mirkin(u, v, noise=noise, return_coverage=True)
    assert found == pytest.approx(2 * disagree)
    assert coverage == pytest.approx(kept.size / 8)
    joint = left.T @ right / kept.size
    outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    inside = joint > 0
    mutual = np.sum(joint[inside] * np.log(joint[inside] / outer[inside]))
    assert compare.mutual_information(u, v, noise=noise) == pytest.approx(mutual)


def test_soft_partitions_are_refused_in_a_sentence() -> None:
    for name in ("ami", "nvi"):
        with pytest.raises(ValueError, match=f"{name} is not defined for soft partitions; pass"):
            MEASURES[name].function(np.full((4, 2), 0.5), [0, 0, 1, 1])


def test_a_weighted_noise_point_beside_a_soft_partition_is_refused() -> None:
    soft = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="use noise='cluster' or noise='drop'"):
        compare.vi(soft, [0, 1, -1], sample_weight=[1, 1, 2])
    weights = [1, 1, 2]
    repeated = compare.vi(soft[[0, 1, 2, 2]], [0, 1, -1, -1], noise="cluster")
    found = compare.vi(soft, [0, 1, -1], sample_weight=weights, noise="cluster")
    assert found == pytest.approx(repeated)


# ---- wrong input ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "kind", "words"),
    [
        ([0, 1], [0, 1, 1], ValueError, "'a' has 2 points and 'b' has 3"),
        ([], [], ValueError, "no points"),
        ([0, 1], [0, "x"], TypeError, "b: labels of mixed types"),
        ([0.5, 1], [0, 1], ValueError, r"a: the label 0\.5 in row 0 is not a whole number"),
        ([0, -3], [0, 1], ValueError, "a: the label -3 in row 1 is negative"),
        ([0, 1], np.array([[0.7, 0.7], [1, 0]]), ValueError, "b: row 0 .* sums to 1.4"),
        (3, [0, 1], TypeError, "a must be a label vector .* got int"),
        (np.array(3), [0, 1], TypeError, "a must be a label vector"),
        ([0, 1], "ab", TypeError, "b must be a label vector .* got str"),
        ([0, 1], {0, 1}, TypeError, "b must be a label vector .* got set"),
    ],
)
def test_wrong_partitions(a: Any, b: Any, kind: type[Exception], words: str) -> None:
    for measure in MEASURES.values():
        features = () if measure.prepare is None else (np.zeros((2, 1)),)
        with pytest.raises(kind, match=words):
            measure.function(a, b, *features)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": "ignore"}, "nmi: noise must be one of 'singletons', 'cluster', 'drop'"),
        ({"average": "mean"}, "nmi: average must be one of"),
        ({"return_coverage": 1}, "nmi: return_coverage must be True or False"),
        ({"sample_weight": [1, 0.25]}, "0, or at least 1; got 0.25. Divide the weights"),
        ({"sample_weight": [1, 2, 3]}, "sample_weight must have one entry per point"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compare.nmi([0, 1], [0, 1], **options)


def test_ami_needs_whole_weights() -> None:
    with pytest.raises(ValueError, match="ami .* whole numbers of points"):
        compare.ami([0, 0, 1], [0, 1, 1], sample_weight=[1, 1, 1.5])
    assert compare.nmi([0, 0, 1], [0, 1, 1], sample_weight=[1, 1, 1.5]) > 0


def test_a_table_that_cannot_be_held_is_refused() -> None:
    labels = np.arange(20_000)
    with pytest.raises(MemoryError, match="a table of 20,000 by 20,000 clusters would take 3.2 GB"):
        compare.accuracy(labels, labels)
    assert compare.rand_distance(labels, labels) == 0.0


def test_no_common_point_gives_nan_and_no_coverage() -> None:
    for measure in TABLES.values():
        value, coverage = measure.function([0, 0, -2], [-2, -2, 1], return_coverage=True)
        assert np.isnan(value)
        assert coverage == 0.0
        assert np.isnan(measure.function([-1, -1], [0, 0], noise="drop"))
