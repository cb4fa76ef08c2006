"""All pairs at once equal the pairs one by one, for any batch, number of threads and kind."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

import compare_oracle as oracle
from clusterscape import Ensemble, compare, kernels
from clusterscape.compare import MEASURES, all_pairs, tables

# Measures in space have tests of their own.
TABLES = {name: measure for name, measure in MEASURES.items() if measure.prepare is None}


def mixed_ensemble(seed: int, *, n: int = 40, soft: bool = False, weights: Any = None) -> Ensemble:
    """Return partitions with noise, unsampled points, a failed and a one-cluster member."""
    rng = np.random.default_rng(seed)
    columns: list[Any] = [rng.integers(low, high, n) for low, high in ((-2, 3), (-1, 5), (0, 9))]
    columns += [np.full(n, -2), np.zeros(n, dtype=int), np.arange(n), columns[0]]
    if soft:
        membership = rng.dirichlet(np.ones(3), n)
        membership[0], membership[1] = 0.0, np.nan
        columns += [membership, rng.dirichlet(np.ones(2), n)]
    return Ensemble.from_labels(columns, sample_weight=weights)


@pytest.mark.parametrize("noise", oracle.POLICIES)
@pytest.mark.parametrize("soft", [False, True])
def test_pairs_at_once_equal_pairs_one_by_one(noise: Any, soft: bool, seed: int) -> None:
    ensemble = mixed_ensemble(seed, soft=soft)
    names = [name for name, m in TABLES.items() if m.soft or not soft]
    result = compare.pairwise(ensemble, names, noise=noise)
    assert result.metrics == tuple(names)
    parts = [ensemble.soft.get(i, ensemble.partition(i)) for i in range(len(ensemble))]
    if soft:
        parts[7] = parts[7].toarray()
        parts[7][1] = np.nan
    for name in names:
        for i, a in enumerate(parts):
            for j, b in enumerate(parts):
                value, coverage = MEASURES[name].function(a, b, noise=noise, return_coverage=True)
                found = result.matrices[name][i, j]
                assert found == pytest.approx(value, abs=1e-12, nan_ok=True), (name, i, j)
                assert result.coverage[i, j] == pytest.approx(coverage)


@pytest.mark.parametrize("soft", [False, True])
def test_batches_and_threads_change_nothing(soft: bool, monkeypatch, seed: int) -> None:
    ensemble = mixed_ensemble(seed, soft=soft)
    names = [name for name, m in TABLES.items() if m.soft or not soft]
    once = compare.pairwise(ensemble, names)
    monkeypatch.setattr(tables, "_BATCH_CELLS", 100)
    monkeypatch.setattr(all_pairs, "_TASK_BATCHES", 2)
    for n_jobs in (None, 2):
        again = compare.pairwise(ensemble, names, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.coverage, once.coverage)
        for name in names:
            np.testing.assert_array_equal(again.matrices[name], once.matrices[name])


@given(oracle.vectors(4, lowest=-2), st.sampled_from(oracle.POLICIES))
def test_compressed_ensembles_have_the_same_distances(vectors, noise) -> None:
    ensemble = Ensemble.from_labels(vectors)
    names = list(TABLES)
    full = compare.pairwise(ensemble, names, noise=noise)
    small = compare.pairwise(ensemble.compress().ensemble, names, noise=noise)
    for name in names:
        np.testing.assert_allclose(small.matrices[name], full.matrices[name], atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_clusters_are_counted_without_a_dense_table(weighted: bool, seed: int) -> None:
    """Partitions into nearly as many clusters as points, beside one with few."""
    rng = np.random.default_rng(seed)
    n = 2_000
    labels = np.column_stack([rng.integers(low, k, n) for low, k in ((-2, n), (-1, 900), (0, 3))])
    weights = rng.integers(0, 4, n) if weighted else np.ones(n, dtype=int)
    ensemble = Ensemble.from_labels(labels, sample_weight=weights if weighted else None)
    sizes = ensemble.n_clusters + 2
    assert sizes[0] * sizes[1] > min(kernels.pairs.DENSE_CELLS, 4 * n + 64)
    names = ["adjusted_rand", "nmi", "ami"]
    result = compare.pairwise(ensemble, names, noise="cluster")
    repeated = np.repeat(labels, weights, axis=0)
    for i, j in ((0, 1), (1, 0), (0, 2), (1, 2), (1, 1)):
        a, b = repeated[(repeated[:, i] > -2) & (repeated[:, j] > -2)][:, [i, j]].T
        expected = [
            metrics.adjusted_rand_score(a, b),
            metrics.normalized_mutual_info_score(a, b, average_method="geometric"),
            metrics.adjusted_mutual_info_score(a, b),
        ]
        found = [result.matrices[name][i, j] for name in names]
        np.testing.assert_allclose(found, expected, atol=1e-10)
        assert result.coverage[i, j] == pytest.approx(len(a) / weights.sum())


def test_each_table_is_counted_once(monkeypatch, seed: int) -> None:
    counted = []
    original = tables.Columns.tables

    def counting(self: Any, pairs: np.ndarray, noise: str) -> Any:
        counted.extend(map(tuple, pairs))
        return original(self, pairs, noise)

    monkeypatch.setattr(tables.Columns, "tables", counting)
    compare.pairwise(np.random.default_rng(seed).integers(0, 3, (20, 5)), list(TABLES))
    assert sorted(counted) == [(i, j) for i in range(5) for j in range(i, 5)]


@pytest.mark.parametrize("noise", oracle.POLICIES)
def test_swapped_tables_are_the_tables_of_the_swapped_pairs(noise: str, seed: int) -> None:
    ensemble = mixed_ensemble(seed, soft=True)
    columns = tables.Columns.of(ensemble, sample_weight=ensemble.sample_weight)
    for pairs in (np.array([[0, 1], [1, 2]]), np.array([[0, 7], [7, 8]])):
        swapped = columns.tables(pairs, noise).swapped()
        counted = columns.tables(np.ascontiguousarray(pairs[:, ::-1]), noise)
        recounted = dataclasses.replace(swapped)
        for statistics in (swapped.statistics, recounted.statistics):
            for field in dataclasses.fields(statistics):
                found = getattr(statistics, field.name)
                np.testing.assert_allclose(found, getattr(counted.statistics, field.name))
        np.testing.assert_array_equal(swapped.dense(1), counted.dense(1))


def test_options_of_measures() -> None:
    labels = [[0, 0, 1, 1], [0, 0, 1, 2]]
    found = compare.pairwise(labels, "nmi", metric_params={"nmi": {"average": "max"}}).matrix
    assert found[0, 1] == compare.nmi(*labels, average="max") != compare.nmi(*labels)


def test_result() -> None:
    ensemble = Ensemble.from_labels([[0, 1], [0, 0]], names=["one", "two"])
    result = compare.pairwise(ensemble)
    assert result.metrics == ("rand_distance",)
    assert result.names == ("one", "two")
    assert result.to_frame().loc["one", "two"] == 1.0
    several = compare.pairwise(ensemble, ["vi", "purity"])
    assert several.to_frame("purity").loc["two", "one"] == 0.5
    with pytest.raises(ValueError, match="there are 2 matrices, vi, purity; take one"):
        _ = several.matrix


def test_one_partition_and_one_point() -> None:
    assert compare.pairwise([[0, 1, 1]]).matrix.tolist() == [[0.0]]
    assert compare.pairwise([[0], [3]], "nmi").matrix.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def centres(ensemble: Ensemble, features: Any, *, noise: str, n_jobs: Any) -> np.ndarray:
    """Prepare a measure in space: the centres of the first clusters."""
    if features is None:
        raise ValueError("farther_out needs the points: pass them as features=X.")
    return np.array([features[p == p[0]].mean() for p in ensemble])


def farther(
    prepared: np.ndarray, pairs: np.ndarray, *, n_jobs: Any, progress: Any, scale: float
) -> np.ndarray:
    """Return how much farther out the first cluster's centre is."""
    return scale * (prepared[pairs[:, 0]] - prepared[pairs[:, 1]])


def test_features_of_other_points_are_refused() -> None:
    names, X = list("abcd"), np.array([[0.0], [1.0], [4.0], [5.0]])
    labels = pd.DataFrame({"one": [0, 0, 1, 1], "two": [0, 1, 1, 1]}, index=names)
    turned = pd.DataFrame(X, index=names[::-1])
    with pytest.raises(ValueError, match="row 0 of features is 'd', and the partitions have 'a'"):
        compare.pairwise(labels, ["vi", "cc_distance"], features=turned)
    found = compare.pairwise(labels, "cc_distance", features=turned.loc[names]).matrix
    for features in (turned.loc[names].to_numpy(), turned.loc[names].reset_index(drop=True)):
        again = compare.pairwise(labels, "cc_distance", features=features).matrix
        np.testing.assert_array_equal(again, found)
    compare.pairwise(labels.to_numpy(), "cc_distance", features=turned)
    compare.pairwise(labels, "vi", features=turned)  # which does not read them


def test_options_of_measures_are_checked() -> None:
    labels = [[0, 0, 1], [0, 1, 1]]
    with pytest.raises(ValueError, match="pairwise, nmi: average must be one of"):
        compare.pairwise(labels, "nmi", metric_params={"nmi": {"average": "zz"}})
    with pytest.raises(ValueError, match="keyed by options of nmi, average, degenerate; got 'foo'"):
        compare.pairwise(labels, "nmi", metric_params={"nmi": {"foo": 1}})


@pytest.fixture
def farther_out() -> Iterator[None]:
    """Register a measure in space for one test."""

    @compare.register_measure(
        farther,
        prepare=centres,
        label="farther out",
        reference="none",
        direction="distance",
        bounds=(-np.inf, np.inf),
        identity=0.0,
        symmetric=False,
    )
    def farther_out(
        a,
        b,
        features=None,
        *,
        scale=1.0,
        noise="cluster",
        sample_weight=None,
        return_coverage=False,
    ):
        """Return how much farther out the first cluster's centre is."""

    yield
    compare.unregister_measure("farther_out")


@pytest.mark.usefixtures("farther_out")
def test_measures_in_space_get_the_features() -> None:
    labels = [[0, 0, 1], [0, 1, 1]]
    X = np.array([0.0, 1.0, 5.0])
    options = {"farther_out": {"scale": 2.0}}
    alone = compare.pairwise(labels, "farther_out", features=X, metric_params=options)
    assert alone.matrix.tolist() == [[0.0, 1.0], [-1.0, 0.0]]
    assert alone.coverage.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    both = compare.pairwise([[0, 0, 1], [0, 1, -2]], ["vi", "farther_out"], features=X)
    assert both.coverage[0, 1] == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="farther_out needs the points"):
        compare.pairwise(labels, "farther_out")


@pytest.mark.parametrize(
    ("metric", "options", "words"),
    [
        ("no such", {}, "metric must be the name of a measure .* rand_distance, .* got 'no such'"),
        ([], {}, r"metric must be the name of a measure .* got \[\]"),
        (["vi", 3], {}, "metric must be the name of a measure"),
        (None, {}, "metric must be the name of a measure"),
        ("vi", {"metric_params": {"nmi": {}}}, "keyed by the names in metric, vi; got 'nmi'"),
        ("vi", {"metric_params": 3}, "pairwise: metric_params must be None, or an instance of"),
        ("vi", {"metric_params": {"bandwidth": 2}}, "keyed by the names in metric, vi; got 'band"),
        ("nmi", {"metric_params": {"nmi": 2}}, "a dict of options, for example.* got 2 "),
        ("vi", {"n_jobs": 0}, "pairwise: n_jobs must be"),
    ],
)
def test_wrong_arguments(metric: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        compare.pairwise([[0, 1], [0, 0]], metric, **options)


def test_soft_and_weighted_ensembles_are_refused_where_undefined() -> None:
    soft = Ensemble.from_labels([[0, 1], np.full((2, 2), 0.5)])
    with pytest.raises(ValueError, match="ami is not defined for soft partitions"):
        compare.pairwise(soft, ["vi", "ami"])
    weighted = Ensemble.from_labels([[0, 1], [0, 0]], sample_weight=[0.5, 0.5])
    with pytest.raises(ValueError, match="0, or at least 1; got 0.5"):
        compare.pairwise(weighted)


# ---- one clustering against an ensemble -----------------------------------------------------


def test_average_nmi_weighs_by_labelled_points() -> None:
    labels = [0, 0, 1, 1, 1, 0]
    members = [[0, 0, 1, 1, 0, 0], [1, 0, 1, -2, -2, -2], [-2] * 6]
    expected = (6 * compare.nmi(labels, members[0]) + 3 * compare.nmi(labels, members[1])) / 9
    assert compare.average_nmi(labels, members) == pytest.approx(expected)
    doubled = Ensemble.from_labels(members, weights=[1, 2, 1])
    expected = (6 * compare.nmi(labels, members[0]) + 6 * compare.nmi(labels, members[1])) / 12
    assert compare.average_nmi(labels, doubled) == pytest.approx(expected)


def test_average_nmi_takes_options_noise_soft_and_weights(seed: int) -> None:
    weights = np.random.default_rng(seed).integers(1, 3, 40)
    # Noise beside soft partitions cannot be weighted as single points; drop it.
    ensemble = mixed_ensemble(seed, soft=True, weights=weights)
    labels = np.arange(40) % 4
    found = compare.average_nmi(labels, ensemble, average="max", noise="drop")
    with_labels = ensemble.add(labels)
    options = {"nmi": {"average": "max"}}
    row = compare.pairwise(with_labels, "nmi", noise="drop", metric_params=options)
    value, weight = row.matrix[-1, :-1], row.coverage[-1, :-1]
    seen = weight > 0
    assert found == pytest.approx(np.average(value[seen], weights=weight[seen]))


def test_average_nmi_without_a_common_point_is_nan() -> None:
    assert np.isnan(compare.average_nmi([0, 1], [[-2, -2]]))
    with pytest.raises(ValueError, match="labels has 2 points and the ensemble 3"):
        compare.average_nmi([0, 1], [[0, 1, 1]])


# ---- the table itself -----------------------------------------------------------------------


def test_contingency_table() -> None:
    table = compare.contingency_table([5, 5, 9, -1, 9], ["x", "y", "y", "x", None])
    assert table.index.tolist() == [5, 9, -1]
    assert table.columns.tolist() == ["x", "y"]
    assert table.to_numpy().tolist() == [[1, 1], [0, 1], [1, 0]]
    assert table.to_numpy().dtype == np.int64
    heavy = compare.contingency_table([0, 1], [0, 0], sample_weight=[2.5, 1])
    assert heavy.to_numpy().tolist() == [[2.5], [1.0]]
    soft = compare.contingency_table(np.array([[0.5, 0.5], [1, 0]]), [0, 1])
    assert soft.to_numpy().tolist() == [[0.5, 1.0], [0.5, 0.0]]


def test_contingency_table_of_tuples() -> None:
    table = compare.contingency_table([("a", 1), ("a", 2)], [0, 0])
    assert table.index.tolist() == [("a", 1), ("a", 2)]


def test_contingency_table_equals_the_ensembles(seed: int) -> None:
    ensemble = mixed_ensemble(seed).select([0, 1])
    table = compare.contingency_table(*ensemble).to_numpy()
    np.testing.assert_array_equal(table[:-1, :-1], ensemble.contingency(0, 1))
