"""Consensus, measures, lifting and certificates over blocks: the answers of points in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

from blocks_of_labels import in_blocks, shaken
from clusterscape import ConsensusClustering, Ensemble
from clusterscape._core.rows import RowSource
from clusterscape.combine import (
    EAC,
    KCC,
    LWGP,
    MCLA,
    SEC,
    ConsensusWarning,
    MajorityVote,
    SpectralConsensus,
)
from clusterscape.combine.eci import cluster_reliability
from clusterscape.combine.registry import METHODS
from clusterscape.compare import MEASURES, pairwise
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError, PartitionRecord
from clusterscape.io import open_rows
from clusterscape.lifting import lift
from clusterscape.validate import Affinity

REFUSED = {"bagclust", "ikl", "lift_hac", "lift_km", "lsce", "nsce"}  # features, or every point
GAPS = {
    "complete": {},
    "noise": {"noise": 0.03},
    "noise and unsampled": {"noise": 0.02, "unsampled": 0.1},
}


def made(name: str) -> Any:
    """Return a method as it is by default, with three clusters and a seed where it has one."""
    method = METHODS[name].estimator()
    known = method.get_params(deep=False)
    wanted = {"n_clusters": 3, "random_state": 0, "max_iter": 3 if name == "rce" else None}
    return method.set_params(**{k: v for k, v in wanted.items() if k in known and v is not None})


class Unread(RowSource):
    """Rows that nobody may read: a refusal comes before anything is."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        super().__init__(shape, dtype, np.append(np.arange(0, shape[0], 2**20), shape[0]))

    def block(self, i: int) -> np.ndarray:
        raise AssertionError("rows were read before the refusal")


def far_away() -> BlockedEnsemble:
    """Return a thousand million points in eight partitions, of which nothing can be read."""
    return BlockedEnsemble(
        Unread((10**9, 8), np.int8),
        np.full(8, 3),
        sizes=np.full(24, 10**9 // 3),
        lowest=np.zeros(8, dtype=np.int64),
        records=[PartitionRecord()] * 8,
    )


@pytest.mark.parametrize("gaps", GAPS)
@pytest.mark.parametrize("name", sorted(set(METHODS) - REFUSED))
def test_every_method_in_blocks_has_the_answer_of_all_points_in_memory(name, gaps):
    memory, blocked = in_blocks(shaken(500, 5, **GAPS[gaps]), 130)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        expected, found = made(name).fit(memory), made(name).fit(blocked)
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
    if expected.cost_ is not None:
        assert found.cost_ == pytest.approx(expected.cost_, rel=1e-9, abs=1e-9)
    if hasattr(expected, "membership_"):
        np.testing.assert_array_equal(np.asarray(found.membership_), expected.membership_)
    assert {key for key in vars(expected) if key.endswith("_")} <= vars(found).keys()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_the_other_methods_say_what_memory_they_need(name):
    cls = METHODS[name].estimator.__name__
    message = rf"{cls} needs the labels of all 1,000,000,000 points in memory \(7,629 MB"
    with pytest.raises(BlockedLabelsError, match=message):
        made(name).fit(far_away())


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (SEC(3, projection="svd"), "SEC with projection='svd' needs the labels"),
        (MajorityVote(threshold=1), "MajorityVote with threshold=1 needs the labels"),
        (MajorityVote(weighting="eci"), "MajorityVote with weighting='eci' needs"),
    ],
    ids=str,
)
def test_settings_that_need_all_points_are_named(method, message):
    _, blocked = in_blocks(shaken(500, 5), 130)
    with pytest.raises(BlockedLabelsError, match=message):
        method.fit(blocked)


def test_methods_that_separate_points_with_equal_labels_are_refused_in_blocks():
    labels = np.tile(np.random.default_rng(0).integers(0, 3, size=(20, 6)), (5, 1))
    memory, blocked = in_blocks(labels, 30)
    method = EAC(threshold=0.9, weighting="eci")
    assert method.fit(memory).n_clusters_ == 100  # no cluster is reliable enough for two copies
    with pytest.raises(BlockedLabelsError, match="EAC, which here parts points with equal labels"):
        method.fit(blocked)


@pytest.mark.parametrize("size", [1, 37, 300])
@pytest.mark.parametrize(
    "method",
    [
        KCC(3, utility="lp", normalized=True, weighting="eci", random_state=0),
        SEC(3, incomplete="blockwise", weighting="eci", random_state=0),
        MCLA(3, weighting="eci", random_state=0),
        SpectralConsensus(rows="degree", random_state=0),
        LWGP(3, max_points=None, random_state=0),
    ],
    ids=str,
)
def test_the_size_of_blocks_changes_no_label(method, size):
    memory, blocked = in_blocks(shaken(300, 5, noise=0.02, unsampled=0.1), size)
    expected = method.fit(memory).labels_
    np.testing.assert_array_equal(np.asarray(method.fit(blocked).labels_), expected)


@pytest.mark.parametrize("apart", [False, True], ids=["merged", "noise apart"])
def test_distinct_rows_of_blocks_are_those_of_all_points(apart, seed):
    for size in (1, 60, 400):
        labels = shaken(400, 4, noise=0.1, unsampled=0.1, seed=seed)
        memory, blocked = in_blocks(labels, size)
        rows, inverse = memory.compress(keep_noise_apart=apart)
        found, places = blocked.compress(keep_noise_apart=apart)
        assert found == rows
        np.testing.assert_array_equal(np.asarray(places), inverse)


def test_too_many_distinct_rows_are_refused_with_their_memory():
    rng = np.random.default_rng(0)
    _, blocked = in_blocks(rng.integers(0, 9, size=(20_000, 9)), 1000)
    with sklearn.config_context(working_memory=1):
        message = r"of the first 16,000 points.* would take up to 1 MB, and .* allows 1 MB"
        with pytest.raises(BlockedLabelsError, match=message):
            MajorityVote().fit(blocked)
        MCLA(3, random_state=0).fit(blocked)  # needs no such table


def test_few_distinct_rows_are_the_clusters_of_mcla():
    memory, blocked = in_blocks(np.repeat([[0, 0], [1, 1], [1, 0]], 20, axis=0), 7)
    for k in (2, 3):
        expected, found = MCLA(k, random_state=0).fit(memory), MCLA(k, random_state=0).fit(blocked)
        np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
        np.testing.assert_array_equal(np.asarray(found.membership_), expected.membership_)


def test_ties_of_mcla_do_not_depend_on_the_order_of_points():
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 25)
    order = np.random.default_rng(0).permutation(100)
    straight = MCLA(2, random_state=3).fit(Ensemble.from_labels(labels)).membership_
    mixed = MCLA(2, random_state=3).fit(Ensemble.from_labels(labels[order])).membership_
    assert {tuple(row) for row in straight} == {tuple(row) for row in mixed}


def test_partitions_with_one_cluster_are_left_out_in_blocks_too():
    labels = np.column_stack([shaken(200, 4), np.zeros(200, dtype=int)])
    memory, blocked = in_blocks(labels, 60)
    expected, found = MCLA(3, random_state=0).fit(memory), MCLA(3, random_state=0).fit(blocked)
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
    assert found.cost_ == expected.cost_


def test_reliabilities_beside_noise_are_the_same_bytes():
    memory, blocked = in_blocks(shaken(400, 6, noise=0.1, unsampled=0.1), 90)
    for noise in ("singletons", "cluster", "drop"):
        found = cluster_reliability(blocked, noise=noise)
        np.testing.assert_array_equal(found, cluster_reliability(memory, noise=noise))


# ---- measures -----------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["singletons", "cluster", "drop"])
def test_measures_of_tables_are_the_same_bytes_beside_noise(noise):
    memory, blocked = in_blocks(shaken(400, 5, noise=0.1, unsampled=0.1), 90)
    names = [m.name for m in MEASURES.values() if m.prepare is None and noise in m.noise]
    found, expected = (pairwise(e, names, noise=noise) for e in (blocked, memory))
    np.testing.assert_array_equal(found.coverage, expected.coverage)
    for name in names:
        np.testing.assert_array_equal(found.matrices[name], expected.matrices[name], err_msg=name)


def test_lifted_clusters_are_sums_over_the_blocks():
    memory, blocked = in_blocks(shaken(400, 4, noise=0.1, unsampled=0.1), 90)
    X = np.random.default_rng(0).normal(size=(400, 2))
    names = ["lift_emd", "lift_hausdorff", "lift_kernel"]
    for count in (None, 200):
        given = {name: {"n_components": count} for name in names}
        found, expected = (
            pairwise(e, names, features=X, metric_params=given) for e in (blocked, memory)
        )
        for name in names:
            np.testing.assert_allclose(
                found.matrices[name], expected.matrices[name], atol=1e-7, err_msg=name
            )
    lifted = lift(blocked, open_rows(X, block_rows=90), n_components=200)
    # Features are added in single precision, by some at a time.
    np.testing.assert_allclose(lifted.vectors, lift(memory, X, n_components=200).vectors, atol=1e-6)
    again = lift(blocked, X, n_components=200, n_jobs=2)
    np.testing.assert_array_equal(again.vectors, lifted.vectors)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.zeros((30, 2)), "features has 30 rows and the ensemble 400 points"),
        (open_rows(np.zeros((400, 2)), block_rows=50), "read in 8 blocks and the labels in 5"),
        (np.full((400, 2), np.nan), "NaN"),
        (None, "features is missing"),
    ],
)
def test_features_beside_blocks_must_fit(features, message):
    _, blocked = in_blocks(shaken(400, 3), 90)
    with pytest.raises(ValueError, match=message):
        lift(blocked, features, n_components=50)


@pytest.mark.parametrize("name", ["adco", "cc_distance", "cdistance"])
def test_other_measures_in_space_name_their_memory(name):
    message = rf"{name} needs the labels of all 1,000,000,000 points in memory \(7,629 MB"
    with pytest.raises(BlockedLabelsError, match=message):
        pairwise(far_away(), name, features=Unread((10**9, 2), np.float32))


# ---- certificates -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 3, size=(3000, 1))
    labels = np.where(rng.random(3000) < 0.1, rng.integers(-2, 3, 3000), groups[:, 0])
    return rng.normal(size=(3000, 2)) + 4 * groups, labels


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"weights": "density", "weight_scale": "auto"},
        {"bound": "box", "representative": [[0.0, 0.0], [4.0, 4.0], [8.0, 8.1]]},
        {"leave_one_out": True},
        {"method": "sampling", "n_samples": 32},
    ],
    ids=str,
)
def test_certificates_of_blocks_are_those_of_all_points(points, settings, tmp_path):
    X, labels = points
    expected = Affinity(**settings, random_state=0).fit(X, labels)
    found = Affinity(**settings, random_state=0).fit(open_rows(X, block_rows=1024), labels)
    frame = expected.certificates_.to_frame(shares=True)
    whole = found.certificates_.to_frame(shares=True)
    pd.testing.assert_frame_equal(whole, frame, rtol=1e-9, atol=1e-9, check_index_type=False)
    np.testing.assert_allclose(found.stability_[[5, 2999]], expected.stability_[[5, 2999]])
    pd.testing.assert_frame_equal(
        found.certificates_.per_cluster(), expected.certificates_.per_cluster()
    )
    assert found.certificates_.summary() == pytest.approx(expected.certificates_.summary())
    assert found.aggregate_stability_ == pytest.approx(expected.aggregate_stability_)
    assert found.certificates_.write_blocks(tmp_path / "out", shares=True) == 3
    parts = [pd.read_parquet(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    pd.testing.assert_frame_equal(pd.concat(parts).set_index("id"), whole, check_index_type=False)
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert found.certificates_.write_blocks(tmp_path / "out", shares=True) == 1
    with pytest.raises(FileExistsError, match="another answer"):
        found.certificates_.write_blocks(tmp_path / "out")


def test_clusters_of_blocks_keep_their_names(points):
    X, labels = points
    names = np.where(labels >= 0, labels + 5, labels)
    found = Affinity().fit(open_rows(X, block_rows=1024), names)
    assert found.clusters_.tolist() == [5, 6, 7]
    assert set(found.certificates_.block(0).to_frame()["strongest"]) == {5, 6, 7}


@pytest.mark.parametrize(
    ("settings", "labels", "message"),
    [
        ({"representative": [[0.0, 0.0]]}, None, "has 1 rows and the labels 3"),
        ({}, np.zeros(5), "labels has 5 entries for 3000 rows"),
        ({}, np.full(3000, -1), "there is no cluster"),
    ],
)
def test_what_certificates_of_blocks_need_is_said(points, settings, labels, message):
    X, own = points
    with pytest.raises((ValueError, TypeError), match=message):
        Affinity(**settings).fit(open_rows(X, block_rows=1024), own if labels is None else labels)


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": "rbf"},
        {"kernel": "cosine"},
        {"divergence": "kl"},
        {"representative": "median"},
        {"representative": "medoid"},
    ],
    ids=str,
)
def test_certificates_that_need_all_points_name_their_memory(settings):
    ((name, value),) = settings.items()
    message = rf"Affinity with {name}='{value}' needs all 3,000 points in memory \(5,722 MB for X"
    with pytest.raises(ValueError, match=message):
        Affinity(**settings).fit(Unread((3000, 250_000), np.float64), np.arange(3000) % 3)


@pytest.mark.parametrize("name", ["index", "constraints", "sample_weight"])
def test_what_is_said_of_single_points_is_refused_before_rows_are_read(name):
    rows = Unread((2**20, 1000), np.float32)
    with pytest.raises(ValueError, match=rf"{name}: .* all rows into memory \(4,000 MB\)"):
        ConsensusClustering(3).fit(rows, **{name: [1]})
