"""Clusterers with constraints: what they must respect, and what they must equal."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from scipy.optimize import linear_sum_assignment
from sklearn import config_context
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.covariance import LedoitWolf
from sklearn.datasets import make_blobs, make_moons
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import ConsensusClustering
from clusterscape.compare import adjusted_rand
from clusterscape.datasets import make_overlapping_blobs
from clusterscape.semisupervised import (
    CSP,
    SCACS,
    ConstrainedEnsemble,
    ConstrainedSpectral,
    Constraints,
    COPKMeans,
    FastConstrainedSpectral,
    InfeasibleError,
    LandmarkSpectral,
    ViolationWarning,
    sphere_embedding,
)
from clusterscape.semisupervised._placement import Costs, Items, Placement
from clusterscape.semisupervised.spectral import neighbor_graph
from test_constraints import constraint_sets

SMALL = {"n_landmarks": 40, "random_state": 0}
CLUSTERERS = [
    LandmarkSpectral(3, **SMALL),
    FastConstrainedSpectral(3, **SMALL),
    ConstrainedSpectral(3, n_neighbors=8, random_state=0),
    SCACS(3, **SMALL),
    CSP(3, random_state=0),
    COPKMeans(3, on_infeasible="violate", random_state=0),
    COPKMeans(3, on_infeasible="violate", metric="learned", random_state=0),
]


# The labels that the checks pass as y may have more classes than clusters, and COPKMeans says so.
@pytest.mark.filterwarnings("ignore::clusterscape.semisupervised.ViolationWarning")
@parametrize_with_checks(CLUSTERERS)
def test_estimator_contract(estimator, check) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(1200, centers=4, cluster_std=4.0, n_features=4, random_state=3)


def some_labels(y, count, seed=0):
    """Return the labels of some points, -1 for the others."""
    known = np.full(len(y), -1)
    chosen = np.random.default_rng(seed).choice(len(y), count, replace=False)
    known[chosen] = y[chosen]
    return known


@pytest.mark.parametrize("made", CLUSTERERS, ids=lambda m: type(m).__name__)
def test_new_points_join_the_clusters_of_fit(made) -> None:
    X, y = make_blobs(240, centers=3, cluster_std=0.6, random_state=1)
    model = made.fit(X[:180], some_labels(y[:180], 30))
    assert adjusted_rand(model.labels_, y[:180]) > 0.95
    together = np.concatenate([model.labels_, model.predict(X[180:])])
    assert adjusted_rand(together, y) > 0.95
    assert (np.bincount(model.labels_)[:-1] >= np.bincount(model.labels_)[1:]).all()


@pytest.mark.parametrize(
    "made",
    [
        FastConstrainedSpectral(4, n_landmarks=200, landmarks="kmeans", random_state=0),
        ConstrainedSpectral(4, n_neighbors=10, random_state=0),
        SCACS(4, n_landmarks=80, random_state=0),
        CSP(4, random_state=0),
        COPKMeans(4, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_constraints_move_the_answer_in_their_direction(made, blobs) -> None:
    X, y = blobs
    known = Constraints.from_labels(some_labels(y, 120))
    without = made.fit(X).labels_
    with_all = made.fit(X, some_labels(y, 120))
    assert (made.fit(X, constraints=known).labels_ == with_all.labels_).all()
    assert known.violations(without).satisfied < 0.95
    assert with_all.violations_.satisfied > known.violations(without).satisfied


@pytest.mark.parametrize(
    "made",
    [
        FastConstrainedSpectral(4, n_landmarks=100, random_state=0),
        ConstrainedSpectral(4, n_neighbors=10, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_labels_tell_which_blobs_are_one_class(made) -> None:
    X, blob = make_blobs(800, centers=8, cluster_std=1.2, n_features=3, random_state=5)
    y = blob % 4
    known = some_labels(y, 80)
    free = known < 0
    without = adjusted_rand(made.fit(X).labels_[free], y[free])
    assert without < 0.7
    assert adjusted_rand(made.fit(X, known).labels_[free], y[free]) > without + 0.2


def test_many_labels_of_classes_that_overlap_do_no_harm_by_points() -> None:
    X, y = make_overlapping_blobs(3000, random_state=1)
    known = some_labels(y, 400)
    settings_ = {"n_landmarks": 200, "landmarks": "kmeans", "nearest": 20, "random_state": 0}
    plain = adjusted_rand(LandmarkSpectral(10, **settings_).fit(X).labels_, y)
    found = {
        way: adjusted_rand(
            FastConstrainedSpectral(10, weighting=way, **settings_).fit(X, known).labels_, y
        )
        for way in ("pairs", "points")
    }
    assert found["pairs"] < plain - 0.05
    assert found["points"] > plain


# ---- landmarks ----------------------------------------------------------------------------


def test_without_constraints_it_is_the_unconstrained_method(blobs) -> None:
    X, _ = blobs
    settings_ = {"n_landmarks": 80, "sample_rate": 1.0, "random_state": 1}
    plain = LandmarkSpectral(4, **settings_).fit(X)
    for made in (FastConstrainedSpectral(4, **settings_), SCACS(4, **settings_)):
        assert (made.fit(X).labels_ == plain.labels_).all()
        assert (made.fit(X, np.full(len(X), -1)).labels_ == plain.labels_).all()


@pytest.mark.parametrize("nothing", [None, Constraints(200), Constraints.from_labels([-1] * 200)])
def test_without_constraints_a_graph_is_cut_as_normalised_cuts_are(nothing, blobs) -> None:
    X = blobs[0][:200]
    model = ConstrainedSpectral(4, n_neighbors=10, random_state=0).fit(X, constraints=nothing)
    W = neighbor_graph(X, 10).toarray()
    degree = W.sum(axis=1)
    values, vectors = eigh(np.diag(degree) - W, np.diag(degree))
    assert model.eigenvalues_ == pytest.approx(1.0 - values[1:5])
    wanted = sphere_embedding(vectors[:, 1:5], degree)
    assert np.abs(model.embedding_) == pytest.approx(np.abs(wanted), abs=1e-5)
    assert model.violations_.total_weight == 0


def test_the_pencil_without_cannot_links_has_the_unconstrained_vectors(blobs) -> None:
    # The demand graph alone stands on one side: the general solver must find the same vectors.
    X, _ = blobs
    plain = LandmarkSpectral(4, n_landmarks=60, random_state=1).fit(X)
    one = Constraints(len(X), must_link=[(0, 1)], must_weight=1e-9)
    model = FastConstrainedSpectral(4, n_landmarks=60, random_state=1).fit(X, constraints=one)
    assert model.demand_ == 1 / len(X)
    spaces = [m._rows.matrix @ m._sphere.table for m in (plain, model)]
    spaces = [s - s.mean(axis=0) for s in spaces]
    assert subspace_angles(*spaces).max() < 1e-3


def test_no_common_null_vector_and_unit_rows(blobs) -> None:
    X, y = blobs
    model = FastConstrainedSpectral(4, n_landmarks=60, random_state=0).fit(X, some_labels(y, 60))
    rows = model._rows
    constant = rows.matrix @ rows.constant
    assert np.ptp(constant) < 1e-10
    known = Constraints.from_labels(some_labels(y, 60))
    for product in (
        rows.gram - rows.gram @ rows.gram,
        known.laplacian_product(rows.matrix, "must"),
    ):
        assert np.abs(product @ rows.constant).max() < 1e-8
    columns = rows.matrix @ model._sphere.table
    assert np.abs((columns - columns.mean(axis=0)).T @ np.ones(len(X))).max() < 1e-8
    assert np.allclose(np.linalg.norm(columns - columns.mean(axis=0), axis=0), 1.0)
    assert model.embedding_.shape == (len(X), 4)
    assert np.allclose(np.linalg.norm(model.embedding_, axis=1), 1.0)
    assert (np.diff(model.eigenvalues_) <= 1e-9).all()


def test_vectors_solve_the_eigenproblem_of_the_paper(blobs) -> None:
    X, y = blobs
    known = Constraints.from_labels(some_labels(y, 80))
    model = FastConstrainedSpectral(4, n_landmarks=50, random_state=0).fit(X, constraints=known)
    rows = model._rows
    Z = rows.matrix.toarray()
    Q = known.matrix().toarray()
    must, cannot = np.maximum(Q, 0), np.maximum(-Q, 0)
    L = np.eye(len(X)) - Z @ Z.T + 5.0 * (np.diag(must.sum(axis=1)) - must)
    H = np.diag(cannot.sum(axis=1)) - cannot
    Y = model._sphere.table
    left, right = Z.T @ L @ Z @ Y, Z.T @ H @ Z @ Y
    error = np.abs(right - left * model.eigenvalues_).max(axis=0)
    assert (error < 1e-5 * np.abs(right).max(axis=0)).all()


def test_more_landmarks_approach_the_model_on_all_points() -> None:
    """Theorem 4: with every point a landmark the vectors are those of the graph itself.

    Of three classes two vectors are determined by the constraints; these are compared.
    """
    X, y = make_blobs(500, centers=3, cluster_std=3.0, n_features=5, random_state=0)
    known = Constraints.from_labels(some_labels(y, 60))

    def columns(p):
        model = FastConstrainedSpectral(2, n_landmarks=p, nearest=20, bandwidth=2.0, random_state=0)
        model.fit(X, constraints=known)
        found = model._rows.matrix @ model._sphere.table
        return found - found.mean(axis=0), model

    limit, model = columns(500)
    Z = model._rows.matrix.toarray()
    W = Z @ Z.T
    assert np.linalg.matrix_rank(W) == 500
    Q = known.matrix().toarray()
    must, cannot = np.maximum(Q, 0), np.maximum(-Q, 0)
    G = np.eye(500) - W + 5.0 * (np.diag(must.sum(axis=1)) - must)
    H = np.diag(cannot.sum(axis=1)) - cannot
    centre = np.eye(500) - 1 / 500
    basis = np.linalg.svd(centre)[0][:, :499]
    values, vectors = eigh(basis.T @ H @ basis, basis.T @ G @ basis)
    assert np.allclose(model.eigenvalues_, values[::-1][:2], rtol=1e-3)
    assert np.sin(subspace_angles(limit, basis @ vectors[:, -2:])).max() < 0.01
    angles = [np.sin(subspace_angles(columns(p)[0], limit)).max() for p in (50, 200, 490)]
    assert angles[0] > angles[1] > angles[2]
    assert angles[2] < 0.05


def test_memory_grows_with_the_points_and_not_with_points_by_landmarks() -> None:
    X = make_blobs(60_000, centers=3, n_features=4, random_state=0)[0].astype(np.float32)
    y = np.full(len(X), -1)
    y[:3000] = np.arange(3000) % 3
    peaks = []
    for n in (15_000, 60_000):
        model = FastConstrainedSpectral(3, n_landmarks=400, n_init=1, random_state=0)
        with config_context(working_memory=4):
            tracemalloc.start()
            model.fit(X[:n], y[:n])
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 0.25 * 60_000 * 400 * 8  # of the dense (n, p) matrix
    assert peaks[1] < 4.2 * peaks[0]


def test_a_sample_of_the_rows_is_enough() -> None:
    X, y = make_blobs(3000, centers=4, cluster_std=1.0, n_features=4, random_state=2)
    settings_ = {"n_landmarks": 100, "random_state": 0}
    known = some_labels(y, 60)
    some = FastConstrainedSpectral(4, sample_rate=0.1, **settings_).fit(X, known)
    every = FastConstrainedSpectral(4, sample_rate=1.0, **settings_).fit(X, known)
    assert (some.sample_size_, every.sample_size_) == (300, 3000)
    assert adjusted_rand(some.labels_, every.labels_) > 0.98


def test_disconnected_graphs_have_an_answer() -> None:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.1, size=(80, 2)) for c in (0, 50, 100, 150)])
    y = np.repeat([0, 1, 2, 3], 80)
    for known in (some_labels(y, 20), np.full(320, -1)):
        model = FastConstrainedSpectral(4, n_landmarks=60, random_state=0).fit(X, known)
        assert adjusted_rand(model.labels_, y) == 1.0


def test_sphere_embedding_is_as_defined() -> None:
    rng = np.random.default_rng(0)
    vectors, d = rng.normal(size=(7, 3)), rng.uniform(0.5, 2.0, 7)
    u = np.ones(7)
    columns = []
    for x in vectors.T:
        x = x - (x @ (d * u)) / (u @ (d * u)) * u
        columns.append(x / np.sqrt(x @ (d * x)))
    wanted = np.array(columns).T
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert np.allclose(sphere_embedding(vectors, d), wanted)


def test_large_and_small_pencils_agree(monkeypatch) -> None:
    from clusterscape.semisupervised import spectral

    X, y = make_moons(300, noise=0.12, random_state=0)
    made = ConstrainedSpectral(2, n_neighbors=10, random_state=0)
    whole = made.fit(X, some_labels(y, 30))
    values, rows = whole.eigenvalues_, whole.embedding_
    monkeypatch.setattr(spectral, "_DENSE", 10)
    again = made.fit(X, some_labels(y, 30))
    assert np.allclose(again.eigenvalues_, values, rtol=1e-3)
    assert adjusted_rand(again.labels_, whole.labels_) > 0.98
    assert again.embedding_.shape == rows.shape


# ---- COP-KMeans ---------------------------------------------------------------------------


def satisfied_somehow(known: Constraints, n: int, k: int) -> bool:
    """Say whether any partition into at most k clusters respects everything."""
    return any(
        known.violations(np.array(labels)).count == 0
        for labels in itertools.product(range(k), repeat=n)
    )


@settings(max_examples=60, deadline=None)
@given(
    constraint_sets(max_points=6),
    st.integers(1, 4),
    st.integers(0, 3),
    st.sampled_from(["euclidean", "learned"]),
)
def test_certain_constraints_are_never_violated_silently(case, k, seed, metric) -> None:
    n, must, cannot, labels, _ = case
    k = min(k, n)
    known = Constraints(n, must_link=must or None, cannot_link=cannot or None).merge(
        Constraints.from_labels(labels)
    )
    X = np.random.default_rng(seed).normal(size=(n, 2))
    possible = satisfied_somehow(known, n, k)
    strict = COPKMeans(k, metric=metric, random_state=seed, n_init=1)
    if possible:
        model = strict.fit(X, constraints=known)
        assert model.violations_.count == 0
        assert known.violations(model.labels_).count == 0
    else:
        with pytest.raises(InfeasibleError, match="n_clusters"):
            strict.fit(X, constraints=known)
        with pytest.warns(ViolationWarning, match="violated"):
            model = strict.set_params(on_infeasible="violate").fit(X, constraints=known)
        assert model.violations_.count == known.violations(model.labels_).count > 0


def test_more_classes_than_clusters_fail_or_violate_as_set() -> None:
    X, y = make_blobs(60, centers=5, random_state=0)
    with pytest.raises(InfeasibleError, match="5 groups"):
        COPKMeans(3, random_state=0).fit(X, y)
    with pytest.warns(ViolationWarning, match="cannot-links are violated"):
        model = COPKMeans(3, on_infeasible="violate", random_state=0).fit(X, y)
    assert model.violations_.must_link == 0
    assert model.n_clusters_ == 3


def test_labelled_classes_are_matched_with_clusters_at_the_least_cost() -> None:
    X, y = make_blobs(300, centers=6, cluster_std=4.0, random_state=1)
    known = some_labels(y, 40)
    model = COPKMeans(6, n_init=1, random_state=0).fit(X, known)
    assert model.violations_.count == 0
    # At the end no other way of matching the classes with the centres is cheaper.
    cost = np.array(
        [
            [((X[known == c] - centre) ** 2).sum() for centre in model.cluster_centers_]
            for c in range(6)
        ]
    )
    chosen = np.array([model.labels_[known == c][0] for c in range(6)])
    best = cost[linear_sum_assignment(cost)].sum()
    assert cost[np.arange(6), chosen].sum() <= best * 1.01


def test_without_constraints_it_is_kmeans() -> None:
    X, _ = make_blobs(500, centers=5, cluster_std=0.8, random_state=4)
    model = COPKMeans(5, random_state=0).fit(X)
    peer = KMeans(5, n_init=10, random_state=0).fit(X)
    assert model.inertia_ == pytest.approx(peer.inertia_, rel=1e-3)
    assert adjusted_rand(model.labels_, peer.labels_) > 0.99
    own = ((X - model.cluster_centers_[model.labels_]) ** 2).sum()
    assert model.inertia_ == pytest.approx(own)
    assert (model.predict(X) == model.labels_).all()


def test_a_metric_from_must_links_helps_points_without_any() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 600)
    X = np.column_stack([2.0 * y + rng.normal(0, 0.5, 600), rng.normal(0, 3.0, (600, 2))])
    pairs = rng.integers(0, 600, (400, 2))
    pairs = pairs[(y[pairs[:, 0]] == y[pairs[:, 1]]) & (pairs[:, 0] != pairs[:, 1])]
    known = Constraints(600, must_link=pairs)
    plain = COPKMeans(3, random_state=0).fit(X, constraints=known)
    model = COPKMeans(3, metric="learned", random_state=0).fit(X, constraints=known)
    free = np.setdiff1d(np.arange(600), known.points)
    assert plain.components_ is None
    assert adjusted_rand(plain.labels_[free], y[free]) < 0.2
    assert adjusted_rand(model.labels_[free], y[free]) > 0.8
    assert adjusted_rand(model.predict(X)[free], y[free]) > 0.8
    means = [X[model.labels_ == c].mean(axis=0) for c in range(3)]
    np.testing.assert_allclose(model.cluster_centers_, means)
    gap = (X - model.cluster_centers_[model.labels_]) @ model.components_
    assert model.inertia_ == pytest.approx((gap**2).sum())


def test_the_learned_metric_is_the_shrunk_covariance_within_groups() -> None:
    X, y = make_blobs(200, centers=4, n_features=3, random_state=0)
    X = X @ np.array([[1.0, 0.5, 0.0], [0.0, 2.0, 0.3], [0.0, 0.0, 0.1]])
    model = COPKMeans(4, metric="learned", n_init=1, random_state=0).fit(X, y)
    residuals = X - np.array([X[y == c].mean(axis=0) for c in range(4)])[y]
    covariance = residuals.T @ residuals / (200 - 4)
    within = LedoitWolf(assume_centered=True).fit(residuals * np.sqrt(200 / 196))
    shrunk = within.shrinkage_ * np.trace(covariance) / 3 * np.eye(3)
    shrunk += (1 - within.shrinkage_) * covariance
    np.testing.assert_allclose(
        model.components_.T @ shrunk @ model.components_, np.eye(3), atol=1e-9
    )


def test_a_metric_needs_must_links_and_dense_features() -> None:
    X, y = make_blobs(100, centers=3, random_state=0)
    apart = Constraints(100, cannot_link=[(0, 1)] if y[0] != y[1] else [(0, 2)])
    twins = np.concatenate([X, X[:1]])
    same = Constraints(101, must_link=[(0, 100)])
    for features, known in ((X, None), (X, apart), (twins, same)):
        model = COPKMeans(3, metric="learned", random_state=0).fit(features, constraints=known)
        plain = COPKMeans(3, random_state=0).fit(features, constraints=known)
        assert model.components_ is None
        assert (model.labels_ == plain.labels_).all()
    with pytest.raises(ValueError, match=r"metric='learned' takes dense features.*TruncatedSVD"):
        COPKMeans(3, metric="learned").fit(sparse.csr_matrix(X), y)


def test_tangled_cannot_links_are_respected_and_help() -> None:
    X, y = make_blobs(600, centers=5, cluster_std=4.5, n_features=5, random_state=2)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 600, size=(4000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    known = Constraints(600, cannot_link=pairs[~same])
    plain = COPKMeans(5, random_state=0).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = COPKMeans(5, random_state=0).fit(X, constraints=known)
    assert known.violations(plain.labels_).count > 100
    assert model.violations_.count == 0
    assert adjusted_rand(model.labels_, y) > adjusted_rand(plain.labels_, y) + 0.1


def test_unsure_constraints_pull() -> None:
    X = np.array([[0.0], [0.4], [1.0], [9.0], [9.4], [10.0]])
    strong = Constraints(6, must_link=[(2, 3)], must_weight=0.9)
    assert COPKMeans(2, random_state=0).fit(X, constraints=strong).n_clusters_ == 2
    apart = Constraints(4, cannot_link=[(0, 1)], cannot_weight=0.9)
    X = np.array([[0.0], [1.0], [2.2], [2.4]])
    free = COPKMeans(2, random_state=0).fit(X)
    pulled = COPKMeans(2, random_state=0).fit(X, constraints=apart)
    assert free.labels_[0] == free.labels_[1]
    assert pulled.labels_[0] != pulled.labels_[1]


@pytest.mark.parametrize("made", CLUSTERERS[:-1], ids=lambda m: type(m).__name__)
def test_sparse_and_single_precision_features_give_the_same_clusters(made) -> None:
    X, y = make_blobs(150, centers=3, cluster_std=2.0, n_features=4, random_state=1)
    known = some_labels(y, 30)
    expected = clone(made).fit(X, known).labels_
    assert adjusted_rand(clone(made).fit(sparse.csr_matrix(X), known).labels_, expected) > 0.95
    assert adjusted_rand(clone(made).fit(X.astype(np.float32), known).labels_, expected) > 0.95


@pytest.mark.parametrize(
    "made",
    [COPKMeans(3), ConstrainedEnsemble(3, n_partitions=3), ConsensusClustering(3)],
    ids=lambda m: type(m).__name__,
)
def test_constraints_by_name_are_of_the_rows_in_their_order(made) -> None:
    """Rows in another order would be bound without a word."""
    X, y = make_blobs(60, centers=3, random_state=1)
    frame = pd.DataFrame(X, index=[f"p{i}" for i in range(60)])
    known = Constraints.from_labels(some_labels(y, 20), index=frame.index)
    shuffled = frame.iloc[::-1]
    message = "different row names, at row 0 'p0' and 'p59'"
    with pytest.raises(ValueError, match=message):
        clone(made).fit(shuffled, constraints=known)
    # Names that say nothing about the order are no objection.
    for same in (frame, X, frame.reset_index(drop=True)):
        assert known.violations(clone(made).fit(same, constraints=known).labels_).count == 0
    other = Constraints(60, must_link=[(0, 1)], index=shuffled.index)
    with pytest.raises(ValueError, match=message):
        known.merge(other)


@pytest.mark.parametrize(
    "made", [COPKMeans(3), ConstrainedEnsemble(3, n_partitions=3)], ids=lambda m: type(m).__name__
)
def test_labels_with_names_are_of_the_rows_in_their_order(made) -> None:
    X, y = make_blobs(60, centers=3, random_state=1)
    frame = pd.DataFrame(X, index=[f"p{i}" for i in range(60)])
    labels = pd.Series(some_labels(y, 20), index=frame.index)
    message = "X and y have different row names, at row 0 'p59' and 'p0'"
    with pytest.raises(ValueError, match=message):
        clone(made).fit(frame.iloc[::-1], labels)
    for rows, given_labels in (
        (frame, labels),
        (X, labels),
        (frame, labels.reset_index(drop=True)),
    ):
        assert clone(made).fit(rows, given_labels).violations_.count == 0
    Q = pd.DataFrame(np.eye(60), index=frame.index, columns=frame.index)
    with pytest.raises(ValueError, match="constraints and X have different row names"):
        clone(made).fit(frame.iloc[::-1], constraints=Q)


@pytest.mark.parametrize("given", [[(0, 1)], {"must": [(0, 1)]}, "pairs.csv", [[0, 1, 2]], 3])
def test_what_is_no_constraints_is_refused_with_what_would_be(given) -> None:
    message = r"constraints must be Constraints.*must_link=.*from_labels"
    with pytest.raises((TypeError, ValueError), match=message):
        COPKMeans(2).fit(np.arange(10.0)[:, None], constraints=given)


def test_wrong_sizes_are_refused() -> None:
    X = np.zeros((4, 2)) + np.arange(4)[:, None]
    with pytest.raises(ValueError, match="3 points, but X has 4 rows"):
        COPKMeans(2).fit(X, constraints=Constraints(3))
    with pytest.raises(ValueError, match="y has 3 labels"):
        COPKMeans(2).fit(X, [0, 1, -1])
    with pytest.raises(ValueError, match="more than the 4 samples"):
        LandmarkSpectral(9).fit(X)


# ---- degenerate data ----------------------------------------------------------------------


@pytest.mark.parametrize("landmarks", ["random", "kmeans"])
@pytest.mark.parametrize("kind", [FastConstrainedSpectral, SCACS], ids=lambda c: c.__name__)
def test_points_that_coincide_have_an_answer(kind, landmarks) -> None:
    made = {"n_clusters": 4, "landmarks": landmarks, "random_state": 0}
    place = np.repeat(np.arange(4), 20)
    X = np.array([[0.0, 0.0], [0.0, 3.0], [4.0, 0.0], [5.0, 6.0]])[place]
    labels = kind(**made).fit(X, np.where(np.arange(80) % 40 == 0, place, -1)).labels_
    assert adjusted_rand(labels, place) > 0.5
    apart = Constraints(80, cannot_link=[(0, 20), (40, 60)])
    spread = np.random.default_rng(0).normal(size=(80, 2))
    for rows, nearest in ((spread, 1), (np.ones((80, 2)), 1), (np.ones((80, 2)), 3)):
        model = kind(nearest=nearest, **made).fit(rows, constraints=apart)
        assert np.isfinite(model.embedding_).all()
        assert model.predict(rows).shape == (80,)


@pytest.mark.parametrize(
    "made",
    [FastConstrainedSpectral(3, demand=0.0, **SMALL), ConstrainedSpectral(3, demand=0.0)],
    ids=lambda m: type(m).__name__,
)
def test_no_demand_and_no_cannot_link_is_refused(made, blobs) -> None:
    X = blobs[0][:100]
    with pytest.raises(ValueError, match="demand=0 .* only must-links"):
        made.fit(X, constraints=Constraints(100, must_link=[(0, 1)]))
    made.fit(X, constraints=Constraints(100, cannot_link=[(0, 1), (0, 2), (3, 4)]))


def test_the_cost_of_a_placement_has_the_unsure_constraints_it_violates() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    known = Constraints(
        8,
        must_link=[(0, 5), (2, 3)],
        must_weight=[0.5, 1.0],
        cannot_link=[(0, 1), (4, 6), (2, 7)],
        cannot_weight=[0.4, 1.0, 0.3],
    )
    items = Items.of(X, known)
    violated = set()
    for _ in range(20):
        placement = Placement(items, 2, 3.0, rng)
        cost = rng.random((len(items.weight), 2)) * 4
        total = placement.assign(Costs.of(cost, items))
        weight = known.violations(placement.label[items.component]).weight
        own = np.take_along_axis(cost, placement.label[:, None], axis=1).sum()
        assert total == pytest.approx(own + 3.0 * weight)
        violated.add(weight)
    assert len(violated) > 1


def test_violations_are_weighed_by_the_pairs_they_stand_for() -> None:
    rng = np.random.default_rng(0)
    # Two classes of nine are close to each other, and a single point of a third is far away.
    X = np.concatenate([rng.normal(0, 1, (18, 2)), [[60.0, 60.0]]])
    with pytest.warns(ViolationWarning):
        model = COPKMeans(2, on_infeasible="violate", random_state=0).fit(
            X, np.repeat([0, 1, 2], [9, 9, 1])
        )
    assert model.violations_.cannot_link == 9  # 81 where the two are put together


def test_inertia_does_not_cancel() -> None:
    X, y = make_blobs(300, centers=3, cluster_std=0.5, random_state=0)
    X = (X + 3e4).astype(np.float32)
    model = COPKMeans(3, random_state=0).fit(X, some_labels(y, 9))
    rows = X.astype(np.float64)
    wanted = sum(
        ((rows[model.labels_ == c] - rows[model.labels_ == c].mean(axis=0)) ** 2).sum()
        for c in range(3)
    )
    assert model.inertia_ == pytest.approx(wanted, rel=1e-9)
    means = [rows[model.labels_ == c].mean(axis=0) for c in range(3)]
    assert np.allclose(model.cluster_centers_, means, rtol=1e-12)


def test_one_label_for_each_class_pulls_as_little_as_it_says(blobs) -> None:
    """There is no must-link then, and nothing of it but errors of rounding to be scaled up."""
    X, y = blobs
    known = np.full(len(X), -1)
    known[[np.flatnonzero(y == c)[0] for c in range(4)]] = np.arange(4)
    settings_ = {"n_landmarks": 60, "random_state": 0, "weighting": "points"}
    free, held = (
        FastConstrainedSpectral(4, alpha=alpha, **settings_).fit(X, known) for alpha in (0.0, 5.0)
    )
    assert (free.labels_ == held.labels_).all()
    assert held.eigenvalues_ == pytest.approx(free.eigenvalues_)
    few = np.random.default_rng(0).normal(size=(60, 3))
    model = FastConstrainedSpectral(60, weighting="points", random_state=0)
    assert model.fit(few, np.arange(60)).violations_.count == 0


@pytest.mark.parametrize("kind", [LandmarkSpectral, FastConstrainedSpectral, SCACS])
def test_a_landmark_for_every_point_and_none_beside_it(kind) -> None:
    """The affinities are the identity, of which LAPACK finds no eigenvalue in a range."""
    X, _ = make_blobs(150, centers=3, cluster_std=1.5, random_state=1)
    model = kind(3, n_landmarks=150, nearest=1, random_state=0).fit(X)
    assert (model.n_clusters_, len(model.eigenvalues_)) == (3, 3)


def test_offsets_change_no_affinities_of_csp() -> None:
    """A date in seconds is 1e9 and more, and the squares of such numbers hide distances of 1."""
    X, y = make_blobs(150, centers=3, cluster_std=1.5, random_state=1)
    plain, moved = (CSP(3, random_state=0).fit(rows).labels_ for rows in (X, X + 1e9))
    assert (plain == moved).all()
    assert adjusted_rand(plain, y) > 0.8


@pytest.mark.parametrize("name", ["alpha", "demand"])
@pytest.mark.parametrize("kind", [FastConstrainedSpectral, ConstrainedSpectral])
def test_weights_are_finite(kind, name, blobs) -> None:
    X, y = blobs
    with pytest.raises(ValueError, match=f"{name}=inf is infinite beside affinities"):
        kind(4, **{name: np.inf}).fit(X[:100], some_labels(y[:100], 20))


# ---- pieces of the landmark graph ------------------------------------------------------------


def test_pieces_of_the_landmark_graph_are_joined() -> None:
    """A piece without a constraint goes with the piece beside it, and no eigenvalue is infinite."""
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0], [6.0, 0.0], [40.0, 0.0], [46.0, 0.0]])
    X = np.concatenate([rng.normal(p, 0.5, size=(60, 2)) for p in places])
    truth = np.repeat([0, 0, 1, 1], 60)
    y = np.full(240, -1)
    y[:10], y[120:130] = 0, 1  # the second and the fourth group have no label
    for seed in range(3):
        model = FastConstrainedSpectral(2, n_landmarks=48, random_state=seed).fit(X, y)
        assert model.n_components_ == 4
        assert model.eigenvalues_.max() < 1e6
        assert adjusted_rand(model.labels_, truth) > 0.9  # 0.72, 0.21 and 0.02 when left apart


@pytest.mark.parametrize(("X", "k"), [([[0.0], [1.0]], 2), ([[0.0], [1.0], [5.0]], 1)])
def test_csp_without_vectors_has_all_its_attributes(X, k) -> None:
    model = CSP(k, random_state=0).fit(X)
    assert model.beta_ == 0.0
    assert model.n_clusters_ == k
