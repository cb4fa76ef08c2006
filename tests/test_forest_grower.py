"""Clustering vectors: against a plain twin with the same draws, and kappa against all pairs."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import clone

import clusterscape as cs
from clusterscape import kernels
from clusterscape._core.store import StoreError
from clusterscape.forest import ForestGrower, growth, kappa

RNG = np.random.default_rng(5)
BLOBS = np.column_stack(
    [
        np.repeat([0.0, 6.0, 12.0], 15) + RNG.normal(size=45),
        np.repeat([0.0, 6.0, 0.0], 15) + RNG.normal(size=45),
        np.repeat([4.0, 0.0, 0.0], 15) + RNG.normal(size=45),
        RNG.normal(size=(45, 5)),
    ]
)
TRUTH = np.repeat([0, 1, 2], 15)


def grown(X: Any = BLOBS, n_partitions: int = 6, **given: Any) -> cs.Ensemble:
    given = {"n_clusters": 3, "random_state": 0, "n_init": 5} | given
    weight = given.pop("sample_weight", None)
    return ForestGrower(n_partitions, **given).generate(X, sample_weight=weight)


# ---- kappa ----------------------------------------------------------------------------------


def kappa_of_pairs(X: np.ndarray, labels: Any, weights: Any = None) -> float:
    """Look at every pair of points, as the definition says."""
    within = between = 0.0
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    for i, j in itertools.combinations(range(len(X)), 2):
        apart = weights[i] * weights[j] * float(((X[i] - X[j]) ** 2).sum())
        if labels[i] == labels[j]:
            within += apart
        else:
            between += apart
    return within / between if between > 0 else np.inf


def kappa_of_variance(X: np.ndarray, labels: Any, weights: Any = None) -> float:
    weights = np.ones(len(X)) if weights is None else np.asarray(weights, float)
    labels = np.asarray(labels)
    centre = np.average(X, axis=0, weights=weights)
    within = between = 0.0
    for c in np.unique(labels):
        mine = labels == c
        if weights[mine].sum() > 0:
            mean = np.average(X[mine], axis=0, weights=weights[mine])
            within += float((weights[mine] * ((X[mine] - mean) ** 2).sum(axis=1)).sum())
            between += float(weights[mine].sum() * ((mean - centre) ** 2).sum())
    return within / between if between > 1e-12 * max(within, 1.0) else np.inf


numbers = st.integers(-20, 20)


@given(
    st.lists(st.tuples(numbers, numbers, st.integers(0, 3), st.integers(1, 3)), min_size=2),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_kappa_is_what_all_pairs_say(
    points: list[tuple[int, ...]], weighted: bool, is_sparse: bool
) -> None:
    table = np.array(points, float)
    X, labels = table[:, :2], table[:, 2].astype(int)
    weights = table[:, 3] if weighted else None
    given_X = sparse.csr_matrix(X) if is_sparse else X
    found = kappa(given_X, labels, form="pairs", sample_weight=weights)
    assert found == pytest.approx(kappa_of_pairs(X, labels, weights), rel=1e-9)
    anova = kappa(given_X, labels, form="anova", sample_weight=weights)
    expected = kappa_of_variance(X, labels, weights)
    if np.isfinite(expected):
        assert anova == pytest.approx(expected, rel=1e-8)
    else:
        assert anova > 1e10
    if weights is not None:
        repeated = np.repeat(np.arange(len(X)), weights.astype(int))
        assert found == pytest.approx(kappa(X[repeated], labels[repeated], form="pairs"), rel=1e-9)


def test_kappa_of_what_has_no_clusters() -> None:
    assert kappa([[1.0], [2.0]], [0, 0]) == np.inf
    assert kappa(np.full((4, 2), 0.1), [0, 1, 0, 1]) == np.inf
    assert kappa([[1.0], [2.0]], [-1, -2]) == np.inf
    assert kappa([[0.0], [1.0], [9.0]], ["a", "b", None]) == 0.0
    assert kappa([[0.0], [1.0], [9.0]], [0, 1, 1], sample_weight=[1, 1, 0]) == 0.0
    wide = RNG.normal(size=(7, 150))
    labels = np.arange(7) % 2
    assert kappa(wide, labels, form="pairs") == pytest.approx(kappa_of_pairs(wide, labels))
    with pytest.raises(ValueError, match="labels has 3 entries"):
        kappa(wide, [0, 1, 0])
    with pytest.raises(ValueError, match="form must be one of 'pairs', 'anova'"):
        kappa(wide, labels, form="ratio")  # type: ignore[arg-type]


# ---- the twin: Algorithms 1 and 2 in plain Python --------------------------------------------


def lloyd(X: np.ndarray, labels: np.ndarray, k: int) -> np.ndarray | None:
    """Move all points to the nearest mean until none moves; None when a cluster gets empty."""
    while True:
        if np.unique(labels).size < k:
            return None
        means = np.array([X[labels == c].mean(axis=0) for c in range(k)])
        fresh = ((X[:, None, :] - means[None]) ** 2).sum(axis=2).argmin(axis=1)
        if np.array_equal(fresh, labels):
            return labels
        labels = fresh


def best_partition(X: np.ndarray, k: int, warm: np.ndarray | None) -> np.ndarray:
    """Try every set of k rows as a start, and the partition that there is."""
    starts = [] if warm is None else [warm]
    for rows in itertools.combinations(range(len(X)), k):
        away = ((X[:, None, :] - X[None, list(rows)]) ** 2).sum(axis=2)
        starts.append(away.argmin(axis=1))
    ends = [end for end in (lloyd(X, start, k) for start in starts) if end is not None]
    costs = [sum(((X[e == c] - X[e == c].mean(axis=0)) ** 2).sum() for c in range(k)) for e in ends]
    return ends[int(np.argmin(costs))]


class Twin:
    """Algorithm 1 with the competition of Algorithm 2, given the stream of the draws."""

    def __init__(self, X: np.ndarray, seed: SeedSequence, k: int, **how: Any) -> None:
        self.X, self.k = X, k
        self.b, self.q, self.patience = how["b"], how["q"], how["patience"]
        self.duplicates, self.exhaustive = how["duplicates"], how["exhaustive"]
        self.measure = kappa_of_pairs if how["form"] == "pairs" else kappa_of_variance
        self.state = kernels.random.new_state(int(seed.generate_state(2, np.uint64)[0]))

    def draw(self, pool: list[int], count: int) -> list[int]:
        places = np.empty(count, np.int64)
        kernels.random.sample_without_replacement(self.state, len(pool), count, places)
        return [pool[p] for p in places]

    def fit(self, columns: list[int], warm: np.ndarray | None) -> tuple[float, np.ndarray]:
        labels = best_partition(self.X[:, columns], self.k, warm)
        return self.measure(self.X[:, columns], labels), labels

    def run(self) -> tuple[list[int], list[float], int, np.ndarray]:
        every = list(range(self.X.shape[1]))
        contest = [self.draw(every, min(self.b, len(every))) for _ in range(self.q)]
        fits = [self.fit(columns, None) for columns in contest]
        winner = int(np.argmin([value for value, _ in fits]))
        columns, (value, labels) = contest[winner], fits[winner]
        path, tries, failures, place = [value], 0, 0, 0
        pool = every
        if self.exhaustive or not self.duplicates:
            pool = [c for c in pool if c not in columns]
        if self.exhaustive:
            for i in range(len(pool) - 1, 0, -1):
                j = kernels.random.below(self.state, i + 1)
                pool[i], pool[j] = pool[j], pool[i]
        while place < len(pool) and (self.exhaustive or failures < self.patience):
            count = min(self.b, len(pool) - place)
            if self.exhaustive:
                new = pool[place : place + count]
                place += count
            else:
                new = self.draw(pool, count)
            tries += 1
            fresh, fresh_labels = self.fit(columns + new, labels)
            if fresh < value * (1 - 1e-9):
                columns, value, labels = columns + new, fresh, fresh_labels
                path.append(value)
                failures = 0
                if not (self.duplicates or self.exhaustive):
                    pool = [c for c in pool if c not in new]
            else:
                failures += 1
        return columns, path, tries, labels


@pytest.mark.parametrize(
    ("k", "how"),
    [
        (2, {}),
        (2, {"q": 3, "form": "anova"}),
        (2, {"duplicates": False, "b": 3}),
        (2, {"exhaustive": True, "b": 1, "q": 2}),
        (2, {"b": 9, "patience": 1}),
        (3, {"q": 2}),
        (3, {"exhaustive": True, "form": "anova"}),
    ],
    ids=str,
)
def test_the_plain_twin_makes_the_same_decisions(k: int, how: dict[str, Any]) -> None:
    rng = np.random.default_rng(k)
    X = rng.normal(size=(9, 7)) + 2.5 * (np.arange(9) % k)[:, None] + 100.0
    how = {"b": 2, "q": 1, "patience": 3, "duplicates": True, "exhaustive": False} | how
    form = how.setdefault("form", "pairs")
    # So many random starts meet every set of rows.
    ensemble = grown(
        X,
        6,
        n_clusters=k,
        n_init=600,
        features_per_draw=how["b"],
        n_competitors=how["q"],
        patience=how["patience"],
        kappa=form,
        allow_duplicates=how["duplicates"],
        exhaustive=how["exhaustive"],
    )
    accepted = 0
    for i, seed in enumerate(SeedSequence(0).spawn(6)):
        columns, path, tries, labels = Twin(X, seed, k, **how).run()
        record = ensemble.records[i]
        assert record.columns is not None
        assert record.columns.tolist() == columns
        assert record.params["kappa_path"] == pytest.approx(path)
        assert record.params["tries"] == tries
        assert kappa(X, labels) == pytest.approx(kappa(X, ensemble.labels[:, i]))
        accepted += len(path) - 1
    assert accepted > 0 or how["b"] > 2


@pytest.mark.parametrize("how", [{}, {"n_clusters": 2}, {"algorithm": "hartigan"}], ids=str)
@pytest.mark.parametrize("form", ["pairs", "anova"])
def test_the_record_says_what_the_partition_is(how: dict[str, Any], form: str) -> None:
    ensemble = grown(kappa=form, n_competitors=2, patience=3, **how)
    for i, record in enumerate(ensemble.records):
        path = record.params["kappa_path"]
        assert record.columns is not None
        found = kappa(BLOBS[:, record.columns], ensemble.labels[:, i], form=form)  # type: ignore[arg-type]
        assert record.cost == path[-1] == pytest.approx(found)
        assert all(later < earlier for earlier, later in itertools.pairwise(path))
        assert record.columns.size == 2 * len(path)
        assert record.params["tries"] >= len(path) - 1 + 3
        assert record.n_clusters == how.get("n_clusters", 3)
    assert any(len(record.params["kappa_path"]) > 1 for record in ensemble.records)


def test_noise_stays_outside_where_the_first_columns_are_good() -> None:
    rng = np.random.default_rng(0)
    side = np.repeat([-1.0, 1.0], 200)
    X = np.column_stack([side[:, None] * [4.0, 5.0, 6.0], np.zeros((400, 20))])
    X += rng.normal(size=X.shape)
    ensemble = grown(
        X, 10, n_clusters=2, features_per_draw=1, n_competitors=99, exhaustive=True, n_init=9
    )
    for i, record in enumerate(ensemble.records):
        assert record.columns is not None
        assert record.columns.max() <= 2
        assert record.params["tries"] == 22
        agreement = (ensemble.labels[:, i] == (side > 0)).mean()
        assert max(agreement, 1 - agreement) > 0.99


# ---- the same for every way to hold the data -------------------------------------------------


@pytest.mark.parametrize("how", [{}, {"n_clusters": 2}, {"algorithm": "hartigan"}], ids=str)
def test_workers_and_containers_change_nothing(how: dict[str, Any]) -> None:
    X = np.where(np.abs(BLOBS) < 0.7, 0.0, BLOBS)
    first = grown(X, **how)
    assert grown(X, n_jobs=2, **how) == first
    for same in (np.asfortranarray(X), sparse.csr_matrix(X), sparse.csc_array(X), pd.DataFrame(X)):
        assert grown(same, **how) == first
    assert grown(X, random_state=SeedSequence(0), **how) == first
    assert grown(X, random_state=1, **how) != first


def test_fortran_order_is_not_copied() -> None:
    X = np.asfortranarray(BLOBS)
    assert np.shares_memory(growth.FeatureMajor.of(X).matrix, X)


def test_float32_is_computed_as_float32() -> None:
    assert growth.FeatureMajor.of(BLOBS.astype(np.float32)).matrix.dtype == np.float32
    for k in (2, 3):
        exact = grown(n_clusters=k)
        ensemble = grown(BLOBS.astype(np.float32), n_clusters=k)
        for one, other in zip(ensemble.records, exact.records, strict=True):
            assert np.array_equal(one.columns, other.columns)
            assert one.cost == pytest.approx(other.cost, rel=1e-5)
        shifted = grown((BLOBS + 500.0).astype(np.float32), n_clusters=k)
        for one, other in zip(shifted.records, exact.records, strict=True):
            assert one.cost == pytest.approx(other.cost, rel=1e-2)


def test_an_offset_and_a_scale_change_nothing() -> None:
    first = grown(n_clusters=2)
    for X in (BLOBS + 1e6, BLOBS * 2.0**-60, BLOBS * 2.0**60):
        other = grown(X, n_clusters=2)
        for one, same in zip(other.records, first.records, strict=True):
            assert np.array_equal(one.columns, same.columns)
            assert one.cost == pytest.approx(same.cost, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3])
def test_more_columns_than_the_first_buffers_hold(k: int) -> None:
    # Columns of very different strength: a draw with better ones is always welcome.
    rng = np.random.default_rng(1)
    X = TRUTH[:, None] * rng.exponential(size=100) ** 3 + rng.normal(size=(45, 100))
    ensemble = grown(X, 6, n_clusters=k, features_per_draw=10, patience=9, n_init=10)
    sizes = [record.columns.size for record in ensemble.records if record.columns is not None]
    assert max(sizes) > 20
    for i, record in enumerate(ensemble.records):
        found = kappa(X[:, record.columns], ensemble.labels[:, i])
        assert record.cost == pytest.approx(found)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 6, 8, 9])
@pytest.mark.parametrize("n", [9, 63, 64, 65, 511, 640, 1100])
def test_one_split_of_two_clusters_adds_what_it_should(d: int, n: int) -> None:
    """Every number of columns and every rest of points, against sums made by numpy."""
    rng = np.random.default_rng(d * n)
    X = rng.normal(size=(n, d)) + np.where(np.arange(n) < n // 3, 4.0, 0.0)[:, None]
    weights = rng.uniform(0.5, 2.0, size=n)
    settings = growth.GrowthSettings(2, d, 1, 1, "anova", True, 2, True, "lloyd", 3, 50)
    vector = growth.grow_vector(growth.GrowthData.of(X, weights), settings, SeedSequence(0))
    first = X[:, vector.columns[:d]]
    assert sorted(vector.columns[:d]) == list(range(d))
    found = kappa(first, vector.labels, sample_weight=weights)
    assert vector.kappa_path[0] == pytest.approx(found, rel=1e-9)
    fresh = np.array(
        [
            np.average(first[vector.labels == c], axis=0, weights=weights[vector.labels == c])
            for c in (0, 1)
        ]
    )
    nearest = ((first[:, None] - fresh[None]) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(nearest, vector.labels)  # Lloyd has converged


# ---- weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3])
def test_weights_are_repetitions(k: int) -> None:
    rng = np.random.default_rng(3)
    weights = rng.integers(1, 4, size=45)
    rows = np.repeat(np.arange(45), weights)
    # The draws of columns have a stream of their own, so that both see the same columns.
    how = {"n_clusters": k, "n_init": 40, "exhaustive": True}
    weighted = grown(sample_weight=weights, **how)
    repeated = grown(BLOBS[rows], **how)
    for i, (one, other) in enumerate(zip(weighted.records, repeated.records, strict=True)):
        assert np.array_equal(one.columns, other.columns)
        assert one.cost == pytest.approx(other.cost)
        assert kappa(BLOBS[rows], weighted.labels[rows, i]) == pytest.approx(
            kappa(BLOBS[rows], repeated.labels[:, i])
        )
    equal = grown(sample_weight=np.full(45, 0.3), n_clusters=k)
    assert np.array_equal(equal.labels, grown(n_clusters=k).labels)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_points_without_weight_join_the_nearest(kind: Any) -> None:
    far = np.vstack([BLOBS, BLOBS[[0, 20, 40]], BLOBS[[0]] - 1e6])
    weights = np.r_[np.ones(45), 0.0, 0.0, 1e-40, 0.0]
    ensemble = grown(kind(far), sample_weight=weights)
    assert np.array_equal(ensemble.labels[:45], grown().labels)
    assert np.array_equal(ensemble.labels[45:48], ensemble.labels[[0, 20, 40]])
    assert np.array_equal(ensemble.sample_weight, weights)


# ---- few distinct rows, and other corners ------------------------------------------------------


def test_too_few_distinct_rows_are_drawn_again() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(30) % 2] * 6 + [rng.normal(size=30)]).astype(float)
    for k in (2, 3):
        ensemble = grown(X, 20, n_clusters=k, features_per_draw=1, patience=1)
        for record in ensemble.records:
            assert record.columns is not None
            if k == 2 and record.columns[0] < 6:
                # Two distinct rows are two clusters, and nothing can be better.
                assert record.params["kappa_path"] == (0.0,)
                assert record.params["tries"] == 0
            else:
                assert record.columns[0] == 6
    lowest = grown(X, 20, n_clusters=3, features_per_draw=1, min_distinct=2)
    assert {r.n_clusters for r in lowest.records if r.cost == 0.0} == {2}
    assert min(r.cost for r in lowest.records) == 0.0
    strict = grown(X, 20, n_clusters=2, features_per_draw=1, min_distinct=3, patience=1)
    assert all(r.columns[0] == 6 for r in strict.records)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_columns_that_separate_rows_only_together(kind: Any) -> None:
    # 12 of 400 columns hold one point each; two of them together leave three distinct rows.
    X = np.zeros((12, 400))
    X[np.arange(12), np.arange(12) * 30] = 1.0
    ensemble = grown(kind(X), 3, n_clusters=6, n_init=2)
    for i, record in enumerate(ensemble.records):
        assert record.columns is not None
        assert record.columns[:5].tolist() == [0, 30, 60, 90, 120]
        assert record.cost == 0.0
        assert np.unique(ensemble.labels[:, i]).size == 6


def test_categories_constants_and_equal_columns() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, size=(60, 12)), np.full((60, 3), 0.1)]).astype(float)
    for k in (2, 4):
        ensemble = grown(X, 20, n_clusters=k)
        for i, record in enumerate(ensemble.records):
            found = kappa(X[:, record.columns], ensemble.labels[:, i])
            assert record.cost == pytest.approx(found, abs=1e-12)
            assert record.n_clusters == k
    # A constant changes nothing, and the same columns again change nothing: neither is a gain.
    line = np.column_stack([np.arange(30.0) ** 2, np.full(30, 0.1)])
    for duplicates in (True, False):
        only = grown(line, 5, n_clusters=2, allow_duplicates=duplicates)
        for record in only.records:
            assert record.columns is not None
            assert sorted(record.columns.tolist()) == [0, 1]
            assert record.params["tries"] == (1 if duplicates else 0)
    one = grown(line[:, :1], 2, n_clusters=2, features_per_draw=5)
    assert all(r.columns is not None and r.columns.tolist() == [0] for r in one.records)


def test_without_duplicates_the_columns_run_out() -> None:
    rng = np.random.default_rng(2)
    X = TRUTH[:, None] * np.arange(1.0, 6.0) ** 2 + rng.normal(size=(45, 5))
    ensemble = grown(X, 60, allow_duplicates=False, patience=30)
    columns = [record.columns.tolist() for record in ensemble.records]  # type: ignore[union-attr]
    assert all(len(set(c)) == len(c) for c in columns)
    assert 5 in [len(c) for c in columns]
    twice = grown(X, 20, patience=30)
    assert any(len(set(r.columns.tolist())) < r.columns.size for r in twice.records)


@pytest.mark.parametrize("k", [2, 3])
def test_one_iteration_and_one_start(k: int) -> None:
    ensemble = grown(n_clusters=k, max_iter=1, n_init=1)
    for i, record in enumerate(ensemble.records):
        found = kappa(BLOBS[:, record.columns], ensemble.labels[:, i])
        assert record.cost == pytest.approx(found)
    longer = grown(n_clusters=k, max_iter=3, n_init=4)
    assert longer.n_partitions == 6
    assert np.mean([r.cost for r in longer.records]) < np.mean([r.cost for r in ensemble.records])


@pytest.mark.parametrize(
    ("X", "how", "words"),
    [
        (BLOBS, {"n_clusters": 1}, "n_clusters must be an integer >= 2"),
        (BLOBS, {"n_clusters": 46}, "n_clusters=46 is more than the 45 rows"),
        (np.ones((5, 2)), {"n_clusters": 2}, "X has 1 distinct row, fewer than n_clusters=2"),
        (np.eye(4), {"n_clusters": 2, "min_distinct": 5}, "fewer than min_distinct=5"),
        (np.array([[1.0, np.nan], [2.0, 3.0]]), {"n_clusters": 2}, "NaN in row 0, column 1"),
        (BLOBS * 1e200, {}, "squares leave the range of float64"),
        ([BLOBS, BLOBS], {}, "list of 2 matrices"),
        (BLOBS, {"kappa": "ratio"}, "kappa must be one of"),
        (BLOBS, {"sample_weight": np.r_[np.zeros(43), 1, 1]}, "more than the 2 rows"),
        (BLOBS, {"sample_weight": [1, 2]}, "sample_weight must have one entry"),
    ],
    ids=lambda v: str(v)[:30] if isinstance(v, str) else "",
)
def test_what_cannot_be_grown_is_refused(X: Any, how: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        grown(X, **how)


# ---- files -------------------------------------------------------------------------------------


def test_a_store_goes_on_where_it_stopped(tmp_path: Any) -> None:
    first = grown(store=tmp_path / "store")
    assert grown() == first
    kept = sorted((tmp_path / "store").glob("member-*.npz"))
    assert len(kept) == 6
    times = {path: path.stat().st_mtime_ns for path in kept}
    kept[2].unlink()
    again = grown(store=tmp_path / "store", random_state=None)
    assert again == first
    assert kept[2].exists()
    assert all(path.stat().st_mtime_ns == times[path] for path in kept if path != kept[2])
    with pytest.raises(StoreError, match="patience was 1 there and is 4 now"):
        grown(store=tmp_path / "store", patience=4)


def test_the_ensemble_survives_saving(tmp_path: Any) -> None:
    first = grown(n_clusters=2)
    first.to_npz(tmp_path / "vectors.npz")
    again = cs.Ensemble.from_npz(tmp_path / "vectors.npz")
    assert again == first
    assert again.records[0].params["kappa_path"] == first.records[0].params["kappa_path"]
    assert np.array_equal(again.records[0].columns, first.records[0].columns)


def test_it_is_an_estimator() -> None:
    grower = ForestGrower(3, patience=2)
    assert clone(grower).get_params() == grower.get_params()
    frame = pd.DataFrame(BLOBS, index=[f"s{i}" for i in range(45)])
    ensemble = clone(grower).set_params(random_state=0).generate(frame)
    assert list(ensemble.index) == list(frame.index)
