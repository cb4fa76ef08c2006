"""One test matrix over the registry: every measure keeps what it declares."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import compare_oracle as oracle
from clusterscape import compare
from clusterscape.compare import MEASURES, Measure

NOT_MEASURES = {
    # They belong to a sample of partitions, not to two partitions alone.
    "density_distance",
    "density_distances",
    "ensemble_utility",
    "Explanation",
    "MEASURES",
    "Measure",
    "PairwiseResult",
    "average_nmi",
    "contingency_table",
    "element_consistency",
    "explain",
    "pairwise",
    "register_measure",
    "unregister_measure",
}
# Measures in space have tests of their own.
TABLES = [name for name, measure in MEASURES.items() if measure.prepare is None]
# The other choices of a measure's options, which have the same properties unless listed below.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in TABLES),
    *(("nmi", {"average": average}) for average in ("min", "arithmetic", "max")),
    *(("ami", {"average": average}) for average in ("min", "geometric", "max")),
    *(("nvi", {"norm": norm}) for norm in ("joint", "sum", "2logk")),
    *(("utility", {"kind": kind}) for kind in ("c", "cos", "Lp")),
    *(("utility", {"kind": kind, "normalized": True}) for kind in ("c", "H", "cos", "Lp")),
]
NO_METRIC: list[tuple[str, dict[str, Any]]] = [("nvi", {"norm": "sum"}), ("nvi", {"norm": "2logk"})]
each_variant = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=str)
METRICS = [(n, o) for n, o in VARIANTS if MEASURES[n].metric and (n, o) not in NO_METRIC]


def same_partition(a: list[int], b: list[int], noise: str) -> bool:
    """Say whether two complete partitions join the same pairs of points."""
    points = oracle.compared(a, b, noise)
    _, only_a, only_b, _ = oracle.pair_counts(points)
    return only_a == only_b == 0


# ---- nothing slips in unclassified ----------------------------------------------------------


def test_every_public_measure_is_registered() -> None:
    assert set(compare.__all__) - NOT_MEASURES == set(MEASURES)
    for name, measure in MEASURES.items():
        assert measure.name == name
        assert measure.function is getattr(compare, name)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda m: m.name)
def test_declarations_are_complete_and_consistent(measure: Measure) -> None:
    assert measure.direction in ("distance", "similarity")
    assert measure.label
    assert measure.reference
    low, high = measure.bounds
    assert low < high
    if measure.metric:
        assert measure.symmetric
        assert measure.direction == "distance"
        assert measure.identity == 0
    if measure.identity is not None:
        assert measure.identity == (low if measure.direction == "distance" else high)
    parameters = list(inspect.signature(measure.function).parameters.values())
    places = ["a", "b"] if measure.prepare is None else ["a", "b", "features"]
    assert [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY] == places
    assert {"noise", "sample_weight", "return_coverage"} <= {p.name for p in parameters}
    default = next(p.default for p in parameters if p.name == "noise")
    assert default == measure.noise[0]
    assert measure.needs_features == (measure.prepare is not None)


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda m: m.name)
def test_options_are_those_of_the_function(measure: Measure) -> None:
    """The function's signature is the only place of the options' names and defaults."""
    public = inspect.signature(measure.function).parameters
    shared = {"a", "b", "features", "noise", "sample_weight", "return_coverage"}
    assert measure.options == {n: p.default for n, p in public.items() if n not in shared}
    first, second = measure.split({})
    assert first | second == measure.options
    formula = inspect.signature(measure.formula).parameters.values()
    assert [p.name for p in formula if p.default is not p.empty] == []


def test_the_registry_cannot_be_written() -> None:
    with pytest.raises(TypeError, match="item assignment"):
        MEASURES["mine"] = MEASURES["vi"]  # type: ignore[index]


# ---- what is declared holds -------------------------------------------------------------------


@each_variant
@given(vectors=oracle.vectors(2, lowest=-2), noise=st.sampled_from(oracle.POLICIES))
def test_bounds(name: str, options: dict[str, Any], vectors, noise) -> None:
    measure = MEASURES[name]
    value = measure.function(*vectors, noise=noise, **options)
    assert np.isnan(value) or measure.bounds[0] <= value <= measure.bounds[1]


@each_variant
@given(vectors=oracle.vectors(1), noise=st.sampled_from(oracle.POLICIES))
def test_value_of_a_partition_with_itself(name: str, options: dict[str, Any], vectors, noise):
    measure = MEASURES[name]
    (a,) = vectors
    if measure.identity is not None:
        assert measure.function(a, a, noise=noise, **options) == measure.identity


@each_variant
def test_renamed_partitions_are_equal_to_the_last_bit(name: str, options: Any, seed: int) -> None:
    """Sums taken in another order must not leave a distance of 1e-16."""
    rng = np.random.default_rng(seed)
    measure = MEASURES[name]
    for k in range(10, 100, 10):
        a = rng.integers(0, k, 997)
        if measure.identity is not None:
            assert measure.function(a, rng.permutation(k)[a], **options) == measure.identity


@each_variant
@given(vectors=oracle.vectors(2, lowest=-2), noise=st.sampled_from(oracle.POLICIES), data=st.data())
def test_names_of_clusters_and_order_of_points_do_not_matter(
    name: str, options: dict[str, Any], vectors, noise, data
) -> None:
    measure = MEASURES[name]
    value = measure.function(*vectors, noise=noise, **options)
    order = data.draw(st.permutations(range(len(vectors[0]))))
    names = {-2: -2, -1: -1, **dict(enumerate(data.draw(st.permutations("vwxyz"))))}
    renamed = [[names[v[x]] for x in order] for v in vectors]
    again = measure.function(*renamed, noise=noise, **options)
    assert again == pytest.approx(value, abs=1e-12, nan_ok=True)


@each_variant
@given(vectors=oracle.vectors(2, lowest=-2), noise=st.sampled_from(oracle.POLICIES))
def test_symmetric_measures_are_symmetric(name: str, options: dict[str, Any], vectors, noise):
    measure = MEASURES[name]
    if measure.symmetric:
        a, b = vectors
        there = measure.function(a, b, noise=noise, **options)
        back = measure.function(b, a, noise=noise, **options)
        assert there == pytest.approx(back, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "options"),
    [("purity", {}), ("category_utility", {}), ("utility", {"kind": "c"})],
)
def test_asymmetric_measures_are_not_symmetric(name: str, options: dict[str, Any]) -> None:
    assert not MEASURES[name].symmetric
    a, b = [0, 0, 1, 1], [0, 0, 1, 2]
    function = MEASURES[name].function
    assert function(a, b, **options) != pytest.approx(function(b, a, **options))
    assert [n for n, m in MEASURES.items() if not m.symmetric] == [
        "purity",
        "category_utility",
        "utility",
    ]


@pytest.mark.parametrize(("name", "options"), METRICS, ids=str)
@given(vectors=oracle.vectors(3, lowest=-1), noise=st.sampled_from(["singletons", "cluster"]))
def test_metrics_are_metrics(name: str, options: dict[str, Any], vectors, noise) -> None:
    a, b, c = vectors

    def distance(x: list[int], y: list[int]) -> float:
        return MEASURES[name].function(x, y, noise=noise, **options)

    assert (distance(a, b) == 0) == same_partition(a, b, noise)
    assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-12


@pytest.mark.parametrize(("name", "options"), NO_METRIC, ids=str)
def test_norms_that_are_no_metric_break_the_triangle_inequality(name, options, seed: int) -> None:
    rng = np.random.default_rng(seed)
    distance = MEASURES[name].function
    worst = 0.0
    for _ in range(400):
        a, b, c = (rng.integers(0, rng.integers(1, 7), 6) for _ in range(3))
        detour = distance(a, b, **options) + distance(b, c, **options)
        worst = max(worst, distance(a, c, **options) - detour)
    assert worst > 1e-6


@pytest.mark.parametrize("name", [n for n, m in MEASURES.items() if m.chance_corrected])
@pytest.mark.parametrize("noise", oracle.POLICIES)
def test_unrelated_partitions_have_the_mean_zero(name: str, noise: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.integers(-1, 4, 40)
    values = [
        MEASURES[name].function(a, rng.permutation(np.arange(40) % 5), noise=noise)
        for _ in range(400)
    ]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(400)


@pytest.mark.parametrize("name", TABLES)
def test_noise_policies_are_three_things(name: str) -> None:
    measure = MEASURES[name]
    a, b = [0, 0, 0, 1, -1, -1, -1], [0, 0, 1, 1, 1, -1, -1]
    values = {noise: measure.function(a, b, noise=noise) for noise in measure.noise}
    assert len(values) == 3
    assert len({round(v, 6) for v in values.values()}) == 3, values


@pytest.mark.parametrize("name", ["accuracy", "purity"])
def test_noise_counts_against_matching(name: str) -> None:
    labels = [0, 0, 1, -1]
    function = MEASURES[name].function
    assert function(labels, labels) == 0.75
    assert function(labels, labels, noise="cluster") == 1.0
    assert function(labels, labels, noise="drop", return_coverage=True) == (1.0, 0.75)
