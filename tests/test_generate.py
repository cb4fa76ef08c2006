"""Generation: what each axis means, that seeds decide everything, and how failures are reported."""

from __future__ import annotations

import math
import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, Birch, KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import clusterscape as cs
from clusterscape._core import parallel as _parallel
from clusterscape._core.warnings import hear_warnings
from clusterscape.generate import (
    ALGORITHMS,
    EnsembleGenerator,
    GenerationError,
    GenerationWarning,
    Kind,
    algorithms,
    bagging,
    mixed,
    plan,
    random_features,
    random_k,
    random_projection,
    restarts,
    subsample,
)
from clusterscape.generate.algorithms import Pieces
from clusterscape.generate.features import read_features
from clusterscape.generate.members import _seen_columns
from clusterscape.generate.nmf import nmf, scale_free_labels
from clusterscape.linalg.gaussian_fit import principal_basis

BLOBS, TRUTH = make_blobs(120, 4, centers=3, cluster_std=0.6, random_state=3)
POSITIVE = BLOBS - BLOBS.min(axis=0) + 0.1
NAMES = list(ALGORITHMS)


class Broken(ClusterMixin, BaseEstimator):
    """Fails for some seeds, warns always."""

    def __init__(self, n_clusters: int = 2, random_state: int | None = None, share: float = 0.5):
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.share = share

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        warnings.warn("this is only\na sketch", RuntimeWarning, stacklevel=2)
        warnings.warn("this is only\na sketch", RuntimeWarning, stacklevel=2)
        rng = np.random.default_rng(self.random_state)
        if rng.random() < self.share:
            raise ZeroDivisionError("no luck today")
        return rng.integers(0, self.n_clusters, len(X))


class Fixed(BaseEstimator):
    """Returns what it was made with."""

    def __init__(self, answer: Any = None, error: type[BaseException] | None = None):
        self.answer = answer
        self.error = error

    def fit(self, X: Any, y: Any = None) -> Fixed:
        if self.error is not None:
            raise self.error
        self.labels_ = self.answer if self.answer is not None else np.arange(X.shape[0]) % 3
        return self


class Alone(BaseEstimator):
    """Fails when it could use more than one thread."""

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        counts = _parallel.thread_counts()
        if any(count != 1 for _, count in counts):
            raise RuntimeError(f"not alone: {counts}")
        return np.arange(X.shape[0]) % 2


def made(X: Any = BLOBS, n_partitions: int = 6, **settings: Any) -> cs.Ensemble:
    given = {"random_state": 0, "n_clusters": 3, **settings}
    return EnsembleGenerator(n_partitions, **given).generate(X)


# ---- seeds, workers, and the state of the process -------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"n_clusters": (2, "sqrt")},
        {"algorithm": "hartigan", "rows": "bootstrap", "columns": ("subset", 0.5)},
        {"algorithm": ["gmm", "soft_gmm", "nmf", "spectral"], "columns": ("project", 3)},
        {"algorithm": ["cosine", "dbscan", Birch(), "average"], "rows": ("subsample", 0.7)},
    ],
    ids=lambda s: str(s.get("algorithm", "kmeans"))[:30],
)
def test_the_seed_decides_everything(settings: dict[str, Any], tmp_path: Any) -> None:
    first = made(POSITIVE, **settings) if "nmf" not in str(settings) else None
    with warnings.catch_warnings():
        # Projections of non-negative data are not non-negative: those members fail, equally.
        warnings.simplefilter("ignore", GenerationWarning)
        first = first or made(POSITIVE, **settings)
        results = [made(POSITIVE, n_jobs=2, **settings)]
        for backend in ("threading", "loky"):
            with parallel_config(backend=backend, n_jobs=2):
                results.append(made(POSITIVE, **settings))
        results.append(made(POSITIVE, random_state=SeedSequence(0), **settings))
        other = made(POSITIVE, **(settings | {"random_state": 1}))
    first.to_npz(tmp_path / "first.npz")
    for i, result in enumerate(results):
        assert result == first
        result.to_npz(tmp_path / f"{i}.npz")
        assert (tmp_path / f"{i}.npz").read_bytes() == (tmp_path / "first.npz").read_bytes()
    assert other != first


def test_the_process_is_left_as_it_was() -> None:
    threads, folder, filters = _parallel.thread_counts(), os.getcwd(), list(warnings.filters)
    show, state = warnings.showwarning, np.random.mtrand._rand.get_state()
    with parallel_config(backend="threading", n_jobs=3):
        made(algorithm=["kmeans", "gmm", "spectral", "average", KMeans(n_init=1)], n_partitions=10)
    after = np.random.mtrand._rand.get_state()
    assert state[0] == after[0]
    assert state[2:] == after[2:]
    assert np.array_equal(state[1], after[1])
    assert _parallel.thread_counts()[: len(threads)] == threads
    assert os.getcwd() == folder
    assert warnings.filters == filters
    assert warnings.showwarning is show


def test_members_use_one_thread_each_in_every_backend() -> None:
    assert made(algorithm=Alone()).failures == []
    for backend in ("threading", "loky", "threading"):
        with parallel_config(backend=backend, n_jobs=2):
            assert made(algorithm=Alone()).failures == []


def test_more_partitions_keep_the_first_ones() -> None:
    few, many = made(n_partitions=3, n_clusters=(2, 9)), made(n_partitions=5, n_clusters=(2, 9))
    assert many.select([0, 1, 2]) == few


def test_generators_advance_and_sequences_do_not() -> None:
    rng = np.random.default_rng(5)
    assert made(random_state=rng).records[0].seed != made(random_state=rng).records[0].seed
    sequence = SeedSequence(5)
    assert made(random_state=sequence) == made(random_state=sequence)
    assert sequence.n_children_spawned == 0


def test_the_recorded_seed_repeats_a_member() -> None:
    ensemble = made(algorithm="gmm", columns=("project", 2), rows="bootstrap", n_clusters=(2, 5))
    record = ensemble.records[4]
    seed = SeedSequence(record.seed["entropy"], spawn_key=tuple(record.seed["spawn_key"]))
    rng = np.random.default_rng(plan.child(seed, "rows"))
    drawn = np.bincount(rng.integers(0, 120, size=120), minlength=120) > 0
    assert np.array_equal(ensemble.labels[:, 4] == -2, ~drawn)


# ---- the axes -----------------------------------------------------------------------------


def test_number_of_clusters() -> None:
    assert made(n_clusters=4).n_clusters.tolist() == [4] * 6
    assert made(n_clusters=[2, 5]).n_clusters.tolist() == [2, 5, 2, 5, 2, 5]
    assert [r.params["n_clusters"] for r in made(n_clusters=[2, 5]).records] == [2, 5] * 3


@pytest.mark.parametrize("n", [2, 10, 100, 101, 12345])
def test_random_k_draws_from_k_to_the_root_rounded_up(n: int) -> None:
    top = math.ceil(math.sqrt(n))
    asked = {m.n_clusters for m in members(plan.Axes((2, "sqrt"), "all", "all", n), 2000)}
    assert asked == set(range(2, max(top, 2) + 1))
    fixed = {m.n_clusters for m in members(plan.Axes((top + 1, "sqrt"), "all", "all", n), 9)}
    assert fixed == {top + 1}


def test_random_k_is_that() -> None:
    axes = plan.Axes((3, "sqrt"), "all", "all", 120)
    asked = [m.n_clusters for m in members(axes, 10)]
    ensemble = random_k(10, n_clusters=3, random_state=0).generate(BLOBS)
    assert [r.params["n_clusters"] for r in ensemble.records] == asked
    assert ensemble.n_clusters.tolist() == asked


def members(axes: plan.Axes, count: int) -> list[plan.Member]:
    return plan.make_plan(
        [axes], n_partitions=count, needs_k=[True], n_views=1, root=SeedSequence(0)
    )


def test_draws_are_uniform() -> None:
    drawn = [m.n_clusters or 0 for m in members(plan.Axes((2, 6), "all", "all", 100), 5000)]
    counts = np.bincount(drawn, minlength=7)[2:]
    assert np.all(np.abs(counts - 1000) < 4 * math.sqrt(5000 * 0.2 * 0.8))


@pytest.mark.parametrize(("ratio", "count"), [(0.2, 2), (0.5, 5), (0.55, 6), (0.01, 1), (1.0, 10)])
def test_random_features_take_a_share_without_replacement(ratio: float, count: int) -> None:
    X = np.random.default_rng(0).normal(size=(40, 10))
    ensemble = random_features(8, n_clusters=3, ratio=ratio, random_state=0).generate(X)
    columns = [r.columns for r in ensemble.records]
    assert all(c is not None and len(set(c.tolist())) == count for c in columns)
    assert len({tuple(c.tolist()) for c in columns if c is not None}) > (1 if ratio < 1 else 0)
    assert ensemble.records[0].generator == "random_features"


def test_a_member_sees_its_columns_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    X = np.column_stack([TRUTH * 100.0, rng.permutation(TRUTH) * 100.0])
    ensemble = made(X + rng.normal(size=X.shape), columns=("subset", 0.5), algorithm="ward")
    for labels, record in zip(ensemble.labels.T, ensemble.records, strict=True):
        column = int(record.columns[0])
        groups = (X[:, column] / 100).astype(int)
        assert adjusted_rand_score(groups, labels) == 1


def test_projections_are_orthonormal_and_keep_sparse_data_sparse() -> None:
    member = members(plan.Axes(2, ("project", 3), "all", 5), 1)[0]
    basis = plan.draw_basis(np.eye(8), member)
    assert np.allclose(basis.T @ basis, np.eye(3))
    wide = sparse.random(50, 4000, 0.01, format="csr", random_state=0)
    X = np.random.default_rng(0).normal(size=(50, 8)).astype(np.float32)
    for part in (wide, wide.toarray(), X):
        seen, parts, _ = _seen_columns(part, member, Pieces())
        assert seen.dtype == part.dtype
        np.testing.assert_allclose(seen, part @ parts["basis"], atol=1e-5)
    hidden = random_projection(3, n_clusters=2, dims=3, random_state=0).generate(NoDense(wide))
    assert hidden.records[0].params["columns"] == ("project", 3)


class NoDense(sparse.csr_matrix):
    """A sparse matrix that refuses to become dense."""

    def toarray(self, *args: Any, **kwargs: Any) -> Any:
        raise AssertionError("a sparse matrix was made dense")

    todense = toarray


def test_bootstrap_sees_about_632_of_1000_and_weights_mean_counts() -> None:
    X = np.random.default_rng(1).normal(size=(1000, 2))
    ensemble = bagging(20, n_clusters=2, max_iter=2, random_state=0).generate(X)
    seen = ensemble.labels >= 0
    assert abs(seen.mean() - (1 - math.exp(-1))) < 0.01
    assert np.all(ensemble.labels[~seen] == -2)
    assert {r.rows for r in ensemble.records} == {"bootstrap"}


def test_bootstrap_by_weights_and_by_duplicates_mean_the_same() -> None:
    class Repeated(BaseEstimator):
        def __init__(self, n_clusters: int = 2):
            self.n_clusters = n_clusters

        def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
            model = KMeans(self.n_clusters, n_init=40, random_state=0).fit(X)
            self.inertia_ = model.inertia_
            return model.labels_

    # No groups: where the centres lie depends on how often each row counts.
    X = np.random.default_rng(4).normal(size=(40, 1))
    weighted = made(X, algorithm=KMeans(n_init=40), rows="bootstrap")
    kernels = made(X, rows="bootstrap", n_init=40)
    repeated = made(X, algorithm=Repeated(), rows="bootstrap")
    for other in (weighted, kernels):
        assert np.array_equal(other.labels == -2, repeated.labels == -2)
        for a, b in zip(other.records, repeated.records, strict=True):
            assert a.cost == pytest.approx(b.cost)
        for a, b in zip(other.labels.T, repeated.labels.T, strict=True):
            assert adjusted_rand_score(a[a >= 0], b[b >= 0]) == 1


def test_subsample_takes_a_share_of_the_rows() -> None:
    ensemble = subsample(10, n_clusters=3, ratio=0.25, random_state=0).generate(BLOBS)
    assert ((ensemble.labels >= 0).sum(axis=0) == 30).all()
    assert not ensemble.is_complete
    assert ensemble.records[0].rows == "subsample 0.25"
    assert len({tuple(c) for c in (ensemble.labels >= 0).T}) == 10


def test_soft_partitions_mark_unsampled_rows() -> None:
    ensemble = made(algorithm="soft_gmm", rows=("subsample", 0.5))
    hard = made(algorithm="gmm", rows=("subsample", 0.5))
    assert ensemble.is_soft
    assert np.array_equal(ensemble.labels, hard.labels)
    sums = np.asarray(ensemble.soft[0].sum(axis=1)).ravel()
    assert np.allclose(sums, ensemble.labels[:, 0] >= 0)


def test_views_are_taken_after_the_algorithms() -> None:
    rng = np.random.default_rng(0)
    other = rng.permutation(TRUTH)[:, None] * 50.0 + rng.normal(size=(120, 1))
    views = [BLOBS, sparse.csr_matrix(other)]
    ensemble = made(views, algorithm=["kmeans", KMeans(n_init=5)], n_partitions=8, n_init=5)
    assert [r.view for r in ensemble.records] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert [r.algorithm for r in ensemble.records] == ["kmeans", "KMeans"] * 4
    groups = (TRUTH, np.rint(other[:, 0] / 50).astype(int))
    for labels, record in zip(ensemble.labels.T, ensemble.records, strict=True):
        assert adjusted_rand_score(groups[record.view], labels) == 1


def test_a_nested_list_is_one_matrix() -> None:
    assert made([[0.0, 1.0], [0.0, 1.1], [5.0, 5.0]], n_clusters=2).shape == (3, 6)


# ---- the base clusterers ------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_algorithm_finds_separated_groups(name: str) -> None:
    parts = np.repeat(np.eye(3, 6) * 40 + 1, 30, axis=0)
    X = parts + np.random.default_rng(0).random((90, 6))
    truth = np.repeat([0, 1, 2], 30)
    settings = {"n_init": 5} if ALGORITHMS[name].starts else {}
    ensemble = made(X, algorithm=name, n_partitions=2, **settings)
    labels, record = ensemble.labels[:, 0], ensemble.records[0]
    inside = labels >= 0
    assert inside.mean() > 0.9
    assert adjusted_rand_score(truth[inside], labels[inside]) == 1
    assert record.algorithm == name
    assert record.n_clusters == ensemble.n_clusters[0] == 3
    assert record.error is None
    assert (record.cost is not None) == (ALGORITHMS[name].starts and "spectral" not in name)
    assert ensemble.is_soft == ALGORITHMS[name].soft


@pytest.mark.parametrize("name", NAMES)
def test_declared_properties_of_algorithms_hold(name: str) -> None:
    fact = ALGORITHMS[name]
    assert fact.summary
    for record in made(POSITIVE, algorithm=name, n_partitions=1).records:
        assert (record.params["n_clusters"] is not None) == fact.needs_k
        assert ("n_init" in record.params) == fact.starts
    if fact.sparse:
        X = NoDense(sparse.csr_matrix(POSITIVE))
        assert made(X, algorithm=name, n_partitions=1).failures == []
    else:
        with pytest.raises(GenerationError, match="does not take sparse data. Make X dense"):
            made(sparse.csr_matrix(POSITIVE), algorithm=name)


@pytest.mark.parametrize("linkage", ["single", "average", "complete", "ward"])
def test_linkages_agree_with_scikit_learn(linkage: str) -> None:
    ensemble = made(algorithm=linkage, n_clusters=[2, 7])
    for k, labels in zip([2, 7], ensemble.labels.T, strict=False):
        theirs = AgglomerativeClustering(k, linkage=linkage).fit_predict(BLOBS)
        assert adjusted_rand_score(theirs, labels) == 1


def test_linkages_say_what_memory_they_would_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(algorithms, "LINKAGE_BYTES", 50_000)
    words = r"average linkage of 120 points would take 0\.0 GB.*rows=\('subsample', 0\.1\)"
    with pytest.warns(GenerationWarning, match=words):
        ensemble = made(algorithm=["average", "single"])
    assert [i for i, _ in ensemble.failures] == [0, 2, 4]


def test_dbscan_follows_its_heuristics() -> None:
    record = made(algorithm="dbscan", n_partitions=1).records[0]
    assert record.params["min_samples"] == 8
    assert made(BLOBS[:, :1], algorithm="dbscan").records[0].params["min_samples"] == 4
    wide = np.random.default_rng(0).normal(size=(50, 30))
    assert made(wide, algorithm="dbscan").records[0].params["min_samples"] == 20
    theirs = DBSCAN(eps=record.params["eps"], min_samples=8).fit_predict(BLOBS)
    assert np.array_equal(theirs == -1, made(algorithm="dbscan").labels[:, 0] == -1)


def test_the_knee_is_where_the_curve_leaves_the_chord() -> None:
    curve = np.concatenate([np.linspace(1, 2, 80), np.linspace(2, 30, 20)])
    assert algorithms.knee(curve) == pytest.approx(2, abs=0.05)
    assert algorithms.knee(np.full(9, 4.0)) == 4
    assert algorithms.knee(np.array([1.0, 2.0])) == 2


def test_nmf_labels_do_not_depend_on_the_scale_of_a_factor() -> None:
    rng = np.random.default_rng(0)
    W, H, scale = rng.random((30, 4)), rng.random((4, 6)), np.array([1e-3, 1.0, 50.0, 1e4])
    plain = scale_free_labels(W, H)
    assert np.array_equal(scale_free_labels(W * scale, H / scale[:, None]), plain)
    assert not np.array_equal(np.argmax(W * scale, axis=1), plain)


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_nmf_cost_is_its_objective_and_more_starts_do_not_raise_it(loss: Any) -> None:
    exact = np.array([[2.0, 0, 1], [0, 3, 1]])
    X = np.random.default_rng(2).random((40, 2)) @ exact
    costs = [
        nmf(X, 2, seed=SeedSequence(1), loss=loss, n_init=i, max_iter=5000).cost for i in (1, 4)
    ]
    assert costs[1] <= costs[0]
    assert costs[1] < 1e-2 * np.sum(X**2)


def test_nmf_records_that_it_did_not_converge_without_warning() -> None:
    record = made(POSITIVE, algorithm="nmf", max_iter=2).records[0]
    assert record.params["converged"] is False
    assert "ConvergenceWarning" in record.params["warnings"][0]
    record = made(POSITIVE, algorithm="nmf", max_iter=5000).records[0]
    assert record.params["converged"] is True
    assert "warnings" not in record.params


def test_negative_data_fail_nmf_with_a_sentence() -> None:
    with pytest.warns(GenerationWarning, match="3 of 6.*non-negative.*smallest value is -"):
        ensemble = made(algorithm=["nmf", "kmeans"])
    assert [i for i, _ in ensemble.failures] == [0, 2, 4]
    with pytest.raises(GenerationError, match="All 6 partitions failed: ValueError: NMF needs"):
        made(algorithm="nmf_kl")


def test_cosine_keeps_text_sparse() -> None:
    rng = np.random.default_rng(0)
    topics = np.repeat(np.arange(4), 50)
    words = [rng.integers(500 * t, 500 * (t + 1), size=40) for t in topics]
    rows = np.repeat(np.arange(200), 40)
    counts = (rng.integers(1, 5, rows.size).astype(float), (rows, np.concatenate(words)))
    X = NoDense(sparse.csr_matrix(counts, shape=(200, 30_000)))
    ensemble = made(X, algorithm="cosine", n_clusters=4, n_init=10)
    assert adjusted_rand_score(topics, ensemble.labels[:, 0]) > 0.95
    scaled = sparse.diags(rng.uniform(0.1, 9, 200)) @ X
    assert (
        adjusted_rand_score(
            made(scaled, algorithm="cosine", n_clusters=4, n_init=10).labels[:, 0],
            ensemble.labels[:, 0],
        )
        > 0.95
    )


@pytest.mark.parametrize(
    ("clusterer", "count"),
    [
        (KMeans(n_clusters=9, n_init=1), "n_clusters=3"),
        (GaussianMixture(9), "n_components=3"),
        (make_pipeline(StandardScaler(), KMeans(9, n_init=1)), "n_clusters=3"),
        (AgglomerativeClustering(9), "n_clusters=3"),
    ],
    ids=lambda v: type(v).__name__,
)
def test_any_scikit_learn_clusterer_joins(clusterer: Any, count: str) -> None:
    before = repr(clusterer)
    ensemble = made(algorithm=clusterer)
    assert repr(clusterer) == before
    assert not hasattr(clusterer, "labels_")
    assert ensemble.n_clusters.tolist() == [3] * 6
    assert adjusted_rand_score(TRUTH, ensemble.labels[:, 0]) == 1
    record = ensemble.records[0]
    assert record.algorithm == type(clusterer).__name__
    assert count in record.params["estimator"].replace("n_components=3", count)
    seeds = {r.params["estimator"] for r in ensemble.records}
    assert len(seeds) == (1 if isinstance(clusterer, AgglomerativeClustering) else 6)


def test_clusterers_that_find_k_ignore_it() -> None:
    ensemble = made(algorithm=DBSCAN(eps=2.0), n_clusters=7)
    assert ensemble.records[0].params["n_clusters"] is None
    assert ensemble.n_clusters[0] == 3


def test_weights_reach_those_who_take_them() -> None:
    X = np.array([[0.0], [1.0], [10.0]] * 10)
    heavy = np.where(X[:, 0] == 10, 1e-6, 1.0)
    for algorithm in ("kmeans", "hartigan", KMeans(n_init=1)):
        plain = made(X, algorithm=algorithm, n_clusters=2, n_init=10)
        ensemble = EnsembleGenerator(
            3, algorithm=algorithm, n_clusters=2, n_init=10, random_state=0
        ).generate(X, sample_weight=heavy)
        assert ensemble.is_weighted
        assert plain.records[0].cost != ensemble.records[0].cost
    with pytest.warns(GenerationWarning, match="sample_weight is not used by ward"):
        EnsembleGenerator(2, algorithm=["kmeans", "ward"], n_clusters=2, random_state=0).generate(
            X, sample_weight=heavy
        )


# ---- failures and warnings ----------------------------------------------------------------


def test_a_failed_member_is_recorded_and_reported_once() -> None:
    with pytest.warns(GenerationWarning) as caught:
        ensemble = made(algorithm=Broken(), n_partitions=20)
    assert len(caught) == 1
    failed = [i for i, _ in ensemble.failures]
    assert 0 < len(failed) < 20
    text = str(caught[0].message)
    assert f"{len(failed)} of 20 partitions failed" in text
    assert f"number {failed[0]}: ZeroDivisionError: no luck today" in text
    assert caught[0].filename == __file__
    for i, record in enumerate(ensemble.records):
        assert record.params["warnings"] == ("RuntimeWarning: this is only a sketch",)
        assert (record.error is not None) == (i in failed)
        assert (ensemble.labels[:, i] == -2).all() == (i in failed)
        assert (ensemble.n_clusters[i] == 0) == (i in failed)


def test_all_failed_is_an_error_with_the_reasons() -> None:
    with pytest.raises(GenerationError, match="All 4 partitions failed: ZeroDivisionError: no l"):
        made(algorithm=Broken(share=1.0), n_partitions=4)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (np.zeros(5, dtype=int), r"labels of shape \(5,\) for 120 rows"),
        (np.full(120, -3), "gave the label -3"),
        (np.full(120, 0.5), "labels of type float64"),
    ],
)
def test_unusable_labels_are_a_failure(answer: np.ndarray, words: str) -> None:
    with pytest.raises(GenerationError, match=words):
        made(algorithm=Fixed(answer))


def test_labels_are_renumbered_in_the_smallest_type() -> None:
    ensemble = made(algorithm=Fixed(np.repeat([7, 10**9, -1], 40)))
    assert ensemble.labels.dtype == np.int8
    assert np.array_equal(ensemble.labels[:, 0], np.repeat([0, 1, -1], 40))
    assert ensemble.categories[0] is None
    assert made(np.arange(200.0)[:, None], n_clusters=150).labels.dtype == np.int16


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_interruptions_are_not_swallowed(error: type[BaseException]) -> None:
    with pytest.raises(error):
        made(algorithm=Fixed(error=error))


def test_warnings_of_other_threads_are_not_taken() -> None:
    with pytest.warns(UserWarning, match="outside"):
        warnings.warn("outside", UserWarning, stacklevel=1)
    with hear_warnings() as heard:
        with hear_warnings() as inner:
            warnings.warn("inside", UserWarning, stacklevel=1)
        warnings.warn("after", UserWarning, stacklevel=1)
    assert inner == ["UserWarning: inside"]
    assert heard == ["UserWarning: after"]


# ---- what comes in ------------------------------------------------------------------------


def test_frames_keep_their_index() -> None:
    import polars

    plain = made(BLOBS)
    names = [f"point {i}" for i in range(120)]
    frame = pd.DataFrame(BLOBS, columns=list("abcd"), index=names)
    ensemble = made(frame)
    assert list(ensemble.index) == names
    assert np.array_equal(ensemble.labels, plain.labels)
    assert made(pd.DataFrame(BLOBS)).index is None
    assert made(polars.DataFrame(BLOBS)) == plain
    given = EnsembleGenerator(2, n_clusters=2).generate(frame, index=range(120, 240))
    assert given.index[0] == 120
    views = made([frame, frame[["a"]]])
    assert list(views.index) == names
    with pytest.raises(ValueError, match=r"X\[0\] and X\[1\] have different ids"):
        made([frame, frame[::-1]])


def test_frames_of_other_kinds_of_numbers() -> None:
    import polars

    frame = pd.DataFrame({"a": [1, 2, 9], "b": [True, False, True]}, dtype="Int64")
    assert read_features(frame).views[0].dtype == np.float64
    frame.loc[1, "a"] = pd.NA
    with pytest.raises(ValueError, match="NaN in row 1, column 'a'"):
        read_features(frame)
    single = pd.DataFrame({"a": np.float32([1, 2]), "b": np.float32([1, 2])})
    assert read_features(single).views[0].dtype == np.float32
    with pytest.raises(TypeError, match="column 'b' of type (object|str).*Drop the column"):
        read_features(pd.DataFrame({"a": [1.0], "b": ["x"]}))
    with pytest.raises(TypeError, match="column 'b' of type String"):
        read_features(polars.DataFrame({"a": [1.0], "b": ["x"]}))
    with pytest.raises(ValueError, match="NaN in row 1, column 'a'"):
        read_features(polars.DataFrame({"a": [1, None]}))
    assert read_features(polars.DataFrame({"a": [True, False]})).views[0].dtype == np.float64


def test_float32_stays_float32_and_nothing_is_changed() -> None:
    X = BLOBS.astype(np.float32)
    assert read_features(X).views[0] is X
    kept = X.copy()
    ensemble = made(
        X, algorithm=NAMES[:3] + ["single", "gmm", "spectral", "dbscan"], n_partitions=7
    )
    assert np.array_equal(X, kept)
    assert adjusted_rand_score(TRUTH, ensemble.labels[:, 0]) == 1
    messy = sparse.csr_matrix(
        (np.ones(4), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    view = read_features(messy).views[0]
    assert view.has_canonical_format
    assert messy.indices.tolist() == [2, 0, 2, 1]
    assert read_features(sparse.coo_array(np.eye(3, dtype=int))).views[0].dtype == np.float64


def bad(value: float, row: int = 3, column: int = 1) -> np.ndarray:
    X = BLOBS.copy()
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "kind", "words"),
    [
        (np.empty((0, 3)), ValueError, "X has no rows"),
        (np.empty((3, 0)), ValueError, "X has no columns"),
        (np.arange(4.0), ValueError, "two dimensions.*reshape"),
        (np.zeros((2, 2, 2)), ValueError, "two dimensions"),
        (5, ValueError, "two dimensions"),
        (bad(np.nan), ValueError, "NaN in row 3, column 1"),
        (bad(-np.inf, 7, 0), ValueError, "infinity in row 7, column 0"),
        (sparse.csr_matrix(bad(np.nan, 9, 2)), ValueError, "NaN in row 9, column 2"),
        (pd.DataFrame(bad(np.inf), columns=list("wxyz")), ValueError, "row 3, column 'x'"),
        ([BLOBS, bad(np.nan)], ValueError, r"X\[1\] has NaN in row 3"),
        ([BLOBS, BLOBS[:50]], ValueError, r"X\[1\] has 50 rows and X\[0\] has 120"),
        (BLOBS.astype(complex), TypeError, "complex"),
        (np.array([["a", "b"]]), TypeError, "must hold numbers"),
        (np.array([["1", 2.0]], dtype=object), TypeError, "has the text '1' in column 0"),
        (np.array([[{}, 2.0]], dtype=object), TypeError, "must hold numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), TypeError, "dates"),
    ],
)
def test_bad_features_are_refused_with_a_sentence(X: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        made(X)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (np.ones(3), r"one entry per point, 120 in all; got shape \(3,\)"),
        (np.where(np.arange(120) == 5, -1, 1), "entry 5 is -1"),
        (np.where(np.arange(120) == 6, np.nan, 1), "entry 6 is"),
        (np.zeros(120), "zero for every point"),
    ],
)
def test_bad_weights_are_refused(weights: np.ndarray, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EnsembleGenerator(2).generate(BLOBS, sample_weight=weights)


def test_an_index_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(ValueError, match="index has 3 entries, X has 120 rows"):
        EnsembleGenerator(2).generate(BLOBS, index=[1, 2, 3])


@pytest.mark.parametrize("name", NAMES)
def test_degenerate_data_have_a_defined_answer(name: str) -> None:
    one = made(np.ones((1, 2)), algorithm=name, n_clusters=1)
    assert one.n_clusters.tolist() in ([1] * 6, [0] * 6)
    two = made(np.array([[0.0, 1.0], [3.0, 0.0]]), algorithm=name, n_clusters=2)
    assert two.failures == []
    constant = made(np.ones((12, 2)), algorithm=name, n_clusters=3)
    assert constant.failures == []
    assert (constant.n_clusters <= 3).all()
    single = made(algorithm=name, n_clusters=1) if "nmf" not in name else None
    assert single is None or single.failures == []


def test_too_many_clusters() -> None:
    with pytest.raises(ValueError, match="at least 121 clusters, but a partition sees 120 samples"):
        made(n_clusters=121)
    with pytest.raises(ValueError, match=r"at least 2 clusters, but a partition sees 1 sample\."):
        EnsembleGenerator(3).generate(BLOBS[:1])
    with pytest.raises(
        ValueError, match="at least 31 clusters, but a partition sees 30 samples of 120"
    ):
        made(n_clusters=31, rows=("subsample", 0.25))
    with pytest.warns(GenerationWarning, match="6 of 12.*200 clusters.*120 different rows"):
        ensemble = made(n_clusters=[3, 200], n_partitions=12)
    assert ensemble.n_clusters.tolist() == [3, 0] * 6
    with pytest.warns(GenerationWarning, match="partitions failed"):
        made(BLOBS[:20], n_clusters=(2, 20), rows="bootstrap", n_partitions=30)


def test_projection_to_more_dimensions_than_columns_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\('project', 5\) asks for more dimensions than X has"):
        random_projection(2, n_clusters=2).generate(BLOBS)
    with pytest.raises(ValueError, match="than view 1 has columns"):
        random_projection(2, n_clusters=2, dims=3).generate([BLOBS, BLOBS[:, :2]])


# ---- the estimator and its presets ----------------------------------------------------------


def test_generators_are_estimators() -> None:
    generator = EnsembleGenerator(3, algorithm=[KMeans(), "ward"], n_clusters=[2, 3], rows="all")
    copy = clone(generator)
    assert copy.get_params()["n_clusters"] == [2, 3]
    assert copy is not generator
    copy.set_params(n_partitions=7)
    assert copy.generate(BLOBS).n_partitions == 7


@pytest.mark.parametrize(
    ("preset", "name"),
    [
        (random_k(4), "random_k"),
        (random_features(4, n_clusters=2), "random_features"),
        (restarts(4, n_clusters=2), "restarts"),
        (bagging(4, n_clusters=2), "bagging"),
        (subsample(4, n_clusters=2), "subsample"),
        (random_projection(4, n_clusters=2, dims=2), "random_projection"),
        (mixed(8), "mixed"),
        (
            bagging(4, n_clusters=(2, 4), columns=("subset", 0.5)),
            "random_features+bagging+random_k",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_presets_are_named_in_the_records(preset: EnsembleGenerator, name: str) -> None:
    ensemble = clone(preset).set_params(random_state=0).generate(BLOBS)
    assert {r.generator for r in ensemble.records} == {name}
    assert all(r.seconds is not None and r.seconds >= 0 for r in ensemble.records)
    assert all(
        r.n_clusters == k for r, k in zip(ensemble.records, ensemble.n_clusters, strict=True)
    )


def test_mixed_uses_every_clusterer() -> None:
    ensemble = mixed(16, random_state=0).generate(BLOBS)
    names = ["kmeans", "single", "average", "complete", "ward", "gmm", "spectral", "dbscan"]
    assert [r.algorithm for r in ensemble.records] == names * 2
    assert ensemble.failures == []
    own = mixed(4, clusterers=["ward", Birch()], random_state=0).generate(BLOBS)
    assert [r.algorithm for r in own.records] == ["ward", "Birch"] * 2


def test_unknown_options_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_cluster'"):
        random_k(5, n_cluster=3)
    with pytest.raises(ValueError, match="ratio must be a number in"):
        random_features(5, n_clusters=2, ratio=1.5)
    with pytest.raises(ValueError, match="n_clusters must be.*or a pair .low, high."):
        EnsembleGenerator(n_clusters=(5, 3)).generate(BLOBS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_partitions", 4),
        ("algorithm", "single"),
        ("n_clusters", 6),
        ("columns", ("subset", 0.5)),
        ("rows", "bootstrap"),
        ("n_init", 20),
        ("max_iter", 1),
        ("random_state", 9),
    ],
)
def test_every_parameter_changes_something(name: str, value: Any) -> None:
    X = np.random.default_rng(0).normal(size=(150, 4))
    settings = {"n_partitions": 3, "n_clusters": 5, "random_state": 0}
    plain = EnsembleGenerator(**settings).generate(X)
    changed = EnsembleGenerator(**(settings | {name: value})).generate(X)
    assert plain.shape != changed.shape or not np.array_equal(plain.labels, changed.labels)


def test_progress_goes_to_stderr_only_when_asked(capfd: pytest.CaptureFixture[str]) -> None:
    made()
    assert capfd.readouterr() == ("", "")
    made(progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "6/6" in err


def test_a_clusterer_that_works_in_place_spoils_nothing() -> None:
    class Destructive(ClusterMixin, BaseEstimator):
        def fit(self, X: np.ndarray, y: object = None) -> Destructive:
            self.labels_ = (X[:, 0] > np.median(X[:, 0])).astype(int)
            X *= 0
            return self

    data = BLOBS.copy()
    ensemble = EnsembleGenerator(3, algorithm=Destructive(), n_jobs=1).generate(data)
    np.testing.assert_array_equal(data, BLOBS)
    assert (ensemble.n_clusters == 2).all()


def test_lists_of_algorithms_and_of_k_are_crossed() -> None:
    made_of = made(algorithm=["kmeans", "ward"], n_clusters=[2, 3])
    pairs = {(r.algorithm, r.params["n_clusters"]) for r in made_of.records}
    assert pairs == {("kmeans", 2), ("kmeans", 3), ("ward", 2), ("ward", 3)}


def test_random_starts_are_another_method() -> None:
    plus = made(n_clusters=9, init="k-means++")
    random = made(n_clusters=9, init="random")
    assert not np.array_equal(plus.labels, random.labels)
    assert random.records[0].params["init"] == "random"


def test_repeated_column_names_are_refused():
    frame = pd.DataFrame(np.eye(6)[:, :3], columns=["a", "b", "a"])
    for X in (frame, [frame, frame]):
        with pytest.raises(ValueError, match="2 columns named 'a'.* rename them"):
            cs.EnsembleGenerator(2, n_clusters=2).generate(X)


def test_mixed_says_how_its_clusterers_are_named():
    with pytest.raises(
        ValueError, match=r"does not take algorithm: .* give clusterers=\['kmeans'\]"
    ):
        cs.generate.mixed(4, algorithm=["kmeans"])


def test_members_see_principal_components_and_share_what_is_made_of_them(monkeypatch) -> None:
    X = np.random.default_rng(0).normal(size=(40, 300))
    X[:, :5] += 8.0 * np.repeat(np.eye(4, 5), 10, axis=0)
    kind = Kind("genie", 4, columns=[("pca", 3), ("pca", 6)])
    asked = []
    monkeypatch.setattr(
        plan, "principal_basis", lambda X, q: asked.append(q) or principal_basis(X, q)
    )
    ensemble = EnsembleGenerator(8, algorithm=kind, random_state=0).generate(X)
    assert sorted(asked) == [3, 6]  # once for all members
    for labels, record in zip(ensemble.labels.T, ensemble.records, strict=True):
        name, q = record.params["columns"]
        assert name == "pca"
        Z = PCA(q, svd_solver="full").fit_transform(X)
        expected = EnsembleGenerator(1, algorithm=Kind("genie", 4)).generate(Z).labels[:, 0]
        assert adjusted_rand_score(expected, labels) == 1.0
    alone = made(X, columns=("pca", 3), algorithm="ward", n_clusters=4)
    assert adjusted_rand_score(np.repeat(np.arange(4), 10), alone.labels[:, 0]) == 1.0
    assert alone.records[0].generator == "principal_components"


@pytest.mark.parametrize(("dims", "sentence"), [(9, "more dimensions than X"), (6, "of 6 points")])
def test_too_many_principal_components_are_refused(dims: int, sentence: str) -> None:
    X = np.random.default_rng(0).normal(size=(6, 8))
    with pytest.raises(ValueError, match=sentence):
        made(X, columns=("pca", dims), n_clusters=2)
    with pytest.raises(ValueError, match=sentence):
        made(X, algorithm=[Kind("kmeans", 2), Kind("ward", 2, columns=["all", ("pca", dims)])])


def test_columns_of_a_kind_need_features_and_a_rule() -> None:
    with pytest.raises(ValueError, match="columns must be"):
        Kind("kmeans", 2, columns=[])
    D = np.ones((5, 5)) - np.eye(5)
    D[0, 1] = D[1, 0] = 0.5
    with pytest.raises(ValueError, match="chooses among features"):
        made(D, algorithm=Kind("average", 2, columns=("pca", 2)), metric="precomputed")


def test_members_on_principal_components_predict_and_have_stores_of_their_own(tmp_path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 200))
    X[:, :4] += 9.0 * np.repeat(np.eye(3, 4), 30, axis=0)
    kinds = [Kind("kmeans", 3, columns=("pca", 5)), Kind("spectral", 3, columns=("pca", 5))]
    generated = EnsembleGenerator(4, algorithm=kinds, random_state=0, store=tmp_path / "s")
    whole = generated.generate_with_assigner(X)
    new = X + 0.1 * rng.normal(size=X.shape)
    np.testing.assert_array_equal(whole.assigner.assign(new), whole.ensemble.labels)
    assert not whole.assigner.unable
    other = [Kind("kmeans", 3, columns=("pca", 6)), kinds[1]]
    with pytest.raises(ValueError, match="another run"):
        EnsembleGenerator(4, algorithm=other, random_state=0, store=tmp_path / "s").generate(X)
