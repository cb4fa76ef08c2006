"""The one check of weights, and the one function that makes plain JSON values."""

from __future__ import annotations

import dataclasses
import datetime
import json
from decimal import Decimal
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest

from clusterscape import Ensemble, PartitionRecord
from clusterscape._core.plain import plain
from clusterscape._core.weights import checked_weights, computable_weights, optional_weights
from clusterscape.forest import ClusterForest, ForestGrower
from clusterscape.generate import EnsembleGenerator
from clusterscape.linalg import ThresholdedCoassociation, kway_ncut
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.sinkhorn import sinkhorn

# -- weights ------------------------------------------------------------------------------------


def test_weights_are_a_new_array_of_floats():
    given = np.array([1, 2, 0])
    weights = checked_weights(given, 3)
    assert weights.dtype == np.float64
    assert weights.tolist() == [1, 2, 0]
    weights[0] = 7
    assert given[0] == 1
    assert optional_weights(None, 3) is None
    assert checked_weights(None, 2).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("values", "options", "error", "match"),
    [
        (
            [1, 2],
            {},
            ValueError,
            "sample_weight must have one entry per point, 3 in all",
        ),
        (2.0, {}, ValueError, r"got shape \(\)"),
        ([[1, 1, 1]], {}, ValueError, r"got shape \(1, 3\)"),
        ([1, -1, 1], {}, ValueError, "finite numbers >= 0; entry 1 is -1"),
        ([1, 1, np.nan], {}, ValueError, "finite numbers >= 0; entry 2 is nan"),
        ([np.inf, 1, 1], {}, ValueError, "entry 0 is inf"),
        ([0, 0, 0], {}, ValueError, "sample_weight is zero for every point"),
        (["a", 1, 1], {}, TypeError, "sample_weight must be numbers, one per point; got"),
        ([1, 0, 1], {"positive": True}, ValueError, "> 0; entry 1 is 0. Leave out every point"),
        ([1, 0], {"name": "w", "each": "vertex"}, ValueError, "w must have one entry per vertex"),
    ],
)
def test_wrong_weights_get_a_sentence(values, options, error, match):
    with pytest.raises(error, match=match):
        optional_weights(values, 3, **options)
    with pytest.raises(error, match=match):
        checked_weights(values, 3, **options)


@pytest.mark.parametrize(
    "use",
    [
        lambda X, w: Ensemble.from_labels([[0, 0, 1, 1]], sample_weight=w),
        lambda X, w: kmeans(X, 2, sample_weight=w),
        lambda X, w: EnsembleGenerator(n_partitions=2, n_clusters=2).generate(X, sample_weight=w),
        lambda X, w: ForestGrower(n_partitions=2).generate(X, sample_weight=w),
        lambda X, w: ClusterForest(2).fit(X, sample_weight=w),
        lambda X, w: ThresholdedCoassociation(
            Ensemble.from_labels([[0, 0, 1, 1]]).coassociation(), sample_weight=w
        ),
        lambda X, w: kway_ncut(np.ones((4, 4)), 2, weights=w),
        lambda X, w: sinkhorn(np.ones((4, 4)), weights=w),
    ],
)
def test_every_caller_says_the_same(use):
    X = np.array([[0.0, 1.0], [0.1, 1.2], [5.0, 3.0], [5.1, 3.2]])
    with pytest.raises(ValueError, match="must have one entry per point, 4 in all; got shape"):
        use(X, np.ones(3))
    with pytest.raises(ValueError, match="must be finite numbers .*; entry 2 is -1"):
        use(X, np.array([1.0, 1.0, -1.0, 1.0]))


def test_enormous_and_tiny_weights_keep_their_proportions():
    usual = np.array([1.0, 3.0])
    assert computable_weights(usual) is usual
    for unit in (1e-200, 1e200):
        found = computable_weights(usual * unit)
        assert 1 <= found[1] < 2
        np.testing.assert_allclose(found[1] / found[0], 3)


# -- plain --------------------------------------------------------------------------------------


@dataclasses.dataclass
class Finding:
    k: int
    values: np.ndarray


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.int8(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (True, True),
        (np.str_("a"), "a"),
        (None, None),
        (np.nan, None),
        (np.float64("inf"), None),
        (pd.NA, None),
        (pd.NaT, None),
        ((1, [np.int64(2)]), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        ({"b", "a", 1}, ["a", "b", 1]),
        (range(3), [0, 1, 2]),
        (np.array([[1.5, np.nan], [0, 1]]), [[1.5, None], [0.0, 1.0]]),
        (np.array(["a", None], dtype=object), ["a", None]),
        (pd.Index(["x", "y"]), ["x", "y"]),
        (pd.Series([1, 2], index=["x", "y"]), {"x": 1, "y": 2}),
        (MappingProxyType({1: {"k": np.int64(2)}}), {"1": {"k": 2}}),
        (Finding(2, np.arange(2)), {"k": 2, "values": [0, 1]}),
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (Decimal("1.5"), "1.5"),
    ],
)
def test_values_become_what_json_knows(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found, allow_nan=False)) == expected


def test_records_hold_plain_values_only():
    record = PartitionRecord(
        params={"k": np.int64(3), "who": np.array([1.0, np.nan])}, cost=np.float64("nan")
    )
    assert record.as_dict()["params"] == {"k": 3, "who": [1.0, None]}
    assert record.cost is None
    endless = PartitionRecord(cost=np.inf)
    assert endless.cost == np.inf
    assert json.dumps(endless.as_dict(), allow_nan=False)
    assert PartitionRecord(**endless.as_dict()) == endless
