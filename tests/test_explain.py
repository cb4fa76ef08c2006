"""Explaining a distance: the plan is of least work, the points' scores are by definition."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import compare_oracle as oracle
from clusterscape.compare import explain, lift_emd
from clusterscape.linalg.transport import transport_plan
from strategies import ensembles
from test_lift_measures import BANDWIDTH, Slow, columns, grid, kernel_matrix

LINE = np.array([[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]])


@given(oracle.vectors(2, lowest=-2), st.sampled_from(["cluster", "drop"]), st.booleans())
def test_parts_add_up_to_the_distance(vectors, noise, squared) -> None:
    a, b = vectors
    lowest = -1 if noise == "cluster" else 0
    X = grid(len(a))
    options = {
        "bandwidth": BANDWIDTH,
        "noise": noise,
        "ground": "sqeuclidean" if squared else "euclidean",
    }
    if max(a) < lowest or max(b) < lowest:
        with pytest.raises(ValueError, match="has no cluster with a point in it"):
            explain(a, b, X, **options)
        return
    found = explain(a, b, X, **options)
    assert found.distance == pytest.approx(lift_emd(a, b, X, **options), abs=1e-12)
    slow = Slow(a, b, kernel_matrix("gaussian", X), noise=noise)
    np.testing.assert_allclose(found.costs, slow.apart() ** (2 if squared else 1), atol=1e-7)
    assert (found.plan.to_numpy() >= 0).all()
    np.testing.assert_allclose(found.plan.sum(axis=1), slow.mass[0], atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(axis=0), slow.mass[1], atol=1e-12)
    assert (found.plan * found.costs).to_numpy().sum() == pytest.approx(found.distance, abs=1e-12)
    moves = found.moves
    assert moves["work"].sum() == pytest.approx(found.distance, abs=1e-12)
    assert moves["work"].is_monotonic_decreasing
    assert moves["share"].sum() == pytest.approx(1.0 if found.distance > 0 else 0.0)
    for move in moves.to_dict("records"):
        assert found.plan.loc[move["from"], move["to"]] == move["mass"] > 0
        assert move["work"] == pytest.approx(move["mass"] * move["distance"])
    kept = [sorted({v for v in p if v >= lowest}, key=lambda v: (v < 0, v)) for p in vectors]
    assert [found.plan.index.tolist(), found.plan.columns.tolist()] == kept


@given(ensembles(min_points=2, max_partitions=2, weighted=False), st.data())
def test_scores_of_points(ensemble, data) -> None:
    parts = []
    for i in (0, ensemble.n_partitions - 1):
        part: Any = ensemble.partition(i)
        if i in ensemble.soft:
            part = ensemble.soft[i].toarray()
            part[ensemble.labels[:, i] == -2] = np.nan
        parts.append(part)
    n = ensemble.n_points
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    tables = [columns(part, "cluster") for part in parts]
    assume(all(table.size > 0 for table in tables))
    found = explain(*parts, grid(n), sample_weight=weights, bandwidth=BANDWIDTH)
    costs = found.costs.to_numpy()
    for x in range(n):
        p, q = (table[x] for table in tables)
        if p.sum() == 0 or q.sum() == 0:
            assert np.isnan(found.points[x])
        else:
            least = transport_plan(costs, p, q * (p.sum() / q.sum())).cost
            assert found.points[x] == pytest.approx(least, abs=1e-12)
            assert found.points[x] <= p @ costs @ q + 1e-12
    known = ~np.isnan(found.points)
    if known.any():
        mean = np.average(found.points[known], weights=np.array(weights)[known])
        assert found.bound == pytest.approx(mean)
    if known.all():
        assert found.bound >= found.distance - 1e-9


def test_a_soft_partition_does_not_differ_from_itself() -> None:
    soft = 0.1 + 0.7 * np.eye(3)[np.arange(12) % 3]
    found = explain(soft, soft[:, [2, 0, 1]], grid(12))
    assert found.distance == 0
    np.testing.assert_array_equal(found.points, 0)
    many = np.random.default_rng(0).dirichlet(np.ones(70), 75)  # more than the kernel takes
    assert explain(many, many, grid(75)).points.max() < 1e-12


def test_scores_do_not_depend_on_the_chunk(monkeypatch, seed: int) -> None:
    rng = np.random.default_rng(seed)
    soft, hard = rng.dirichlet(np.ones(3), 20), rng.integers(-2, 4, 20)
    whole = explain(soft, hard, grid(20)).points
    monkeypatch.setattr(import_module("clusterscape.compare.explanation"), "_CHUNK", 7)
    np.testing.assert_array_equal(explain(soft, hard, grid(20)).points, whole)


def test_a_point_that_moved_is_named() -> None:
    names = pd.Index(["u", "v", "w", "x", "y", "z"])
    a = pd.Series(list("llLRRR".lower()), index=names)
    b = pd.Series(["left", "left", "right", "right", "right", "right"], index=names)
    found = explain(a, b, LINE)
    assert found.plan.index.tolist() == ["l", "r"]
    assert found.plan.columns.tolist() == ["left", "right"]
    top = found.top_points(1)
    assert top.index.tolist() == ["w"]
    assert top[["a", "b"]].to_numpy().tolist() == [["l", "right"]]
    assert 0 < top["share"].iloc[0] < 1
    assert len(found.top_points(100)) == 6
    assert found.top_points(0).empty
    heavy = explain(a, b, LINE, sample_weight=[9, 1, 1, 1, 5, 1])
    work = pd.Series(heavy.points * heavy.weights, index=names).sort_values(ascending=False)
    assert (
        heavy.top_points().index.tolist()
        == work.index.tolist()
        != found.top_points().index.tolist()
    )
    np.testing.assert_allclose(heavy.top_points()["share"], work / work.sum())


def test_clusters_keep_the_names_they_were_given() -> None:
    a, b = [("p", 1), ("p", 1), ("p", 2), -1], [7, 7, 3, 3]
    found = explain(a, b, grid(4))
    assert found.plan.index.tolist() == [("p", 1), ("p", 2), -1]
    assert found.plan.columns.tolist() == [3, 7]
    assert (found.plan.index.name, found.plan.columns.name) == ("a", "b")
    moved = set(zip(found.moves["from"], found.moves["to"], strict=True))
    assert {(("p", 1), 7), (("p", 2), 3), (-1, 3)} <= moved
    assert found.moves["to"].dtype.kind == "i"
    noisy = explain(["s", "s", "-1", None], [0, 0, 0, 1], grid(4))
    assert noisy.plan.index.tolist() == ["s", -1]
    assert noisy.labels["a"].tolist() == ["s", "s", -1, -2]


def test_equal_partitions_move_nothing() -> None:
    found = explain([0, 0, 1, -1], ["b", "b", "a", "-1"], grid(4))
    assert found.distance == found.bound == 0.0
    assert (found.moves["work"] == 0).all()
    assert (found.moves["share"] == 0).all()
    assert found.top_points().empty
    assert "no point differs" in repr(found)


def test_repr_is_short_and_says_what_moved(seed: int) -> None:
    found = explain(list("xxxyyy"), [0, 0, 1, 1, 1, 1], LINE)
    first, *rest = repr(found).splitlines()
    assert first == f"Explanation: distance {found.distance:.4g} from 2 to 2 clusters"
    assert rest[0].startswith("  'x' -> 1: 16.7% of the points over")
    assert rest[-1].startswith("  points that differ most: 2")
    rng = np.random.default_rng(seed)
    many = explain(rng.integers(0, 9, 90), rng.integers(0, 9, 90), grid(90))
    assert len(repr(many).splitlines()) == 7
    assert "smaller moves" in repr(many)


def test_zero_weights_and_random_features(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    a[0] = 3  # a cluster without weight
    weights = rng.uniform(1, 2, 50)
    weights[0] = 0.0
    options = {"n_components": 100, "kernel": "cauchy", "sample_weight": weights}
    found = explain(a, b, grid(50), **options)
    assert found.plan.index.tolist() == [0, 1, 2]
    assert np.isnan(found.points[0])
    assert found.distance == pytest.approx(lift_emd(a, b, grid(50), **options), abs=1e-12)
    assert found.bound >= found.distance


def test_what_the_kernel_used_is_kept() -> None:
    a, b = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    found = explain(a, b, LINE)
    assert found.n_components is None
    assert found.distance == lift_emd(a, b, LINE, bandwidth=found.bandwidth)
    assert found.distance != lift_emd(a, b, LINE, bandwidth=2 * found.bandwidth)
    given = explain(a, b, LINE, bandwidth=2.5, n_components=20)
    assert (given.bandwidth, given.n_components) == (2.5, 20)
    discrete = explain(a, b, kernel="discrete")
    assert (discrete.bandwidth, discrete.n_components) == (None, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "features is missing"),
        ({"features": LINE, "noise": "singletons"}, "explain: noise must be one of 'cluster'"),
        ({"features": LINE, "ground": "far"}, "explain: ground must be one of"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        explain([0] * 6, [0, 0, 0, 1, 1, 1], **options)
