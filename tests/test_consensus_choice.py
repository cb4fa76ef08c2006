"""The choice among several consensuses by density, gaps and balance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, mutual_info_score
from sklearn.neighbors import NearestNeighbors

from clusterscape import ConsensusClustering, Ensemble
from clusterscape.combine import EAC, LWGP, ConsensusChoice, choose_method
from clusterscape.combine.consensus_choice import _extended
from clusterscape.generate import diverse, generator_for, restarts
from clusterscape.linalg.gaussian_fit import (
    gaussian_fit,
    leading_components,
    principal_axes,
    rounding_variances,
)


def several(X, k, n_partitions=60):
    """An ensemble of the preset, as the main estimator makes it."""
    made = generator_for(*X.shape, preset="diverse", n_partitions=n_partitions, n_clusters=k)
    return made.set_params(random_state=0).generate(X)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.06, random_state=1)
    return X, y, several(X, 2)


def plain_gap(X, labels, near, rank):
    """The smooth minimum of the reachability distances of neighbours in different clusters."""
    distances, indices = NearestNeighbors(n_neighbors=near).fit(X).kneighbors()
    core = distances[:, rank - 1]
    between = sorted(
        max(distances[i, m], core[i], core[j])
        for i in range(len(X))
        for m, j in enumerate(indices[i])
        if labels[i] != labels[j]
    )[:75]
    weights = [np.exp(-((i / 25) ** 2) / 2) for i in range(len(between))]
    return np.log(np.dot(between, weights) / sum(weights))


def plain_density(X, labels, weight):
    """Log-likelihoods of the points under their cluster's Gaussian, by scipy."""
    total, mean = 0.0, np.average(X, axis=0, weights=weight)
    added = 1e-3 * np.average((X - mean) ** 2, axis=0, weights=weight).mean() * np.eye(X.shape[1])
    added += np.diag([np.median(np.diff(np.unique(x))) ** 2 / 12 for x in X.T])
    for c in np.unique(labels):
        P, w = X[labels == c], weight[labels == c]
        centre = np.average(P, axis=0, weights=w)
        spread = np.cov(P.T, aweights=w, bias=True) + added
        share = w.sum() / weight.sum()
        # The maximum over the covariance leaves trace(S^-1 S) = q, which is the same for all.
        own = multivariate_normal(centre, spread).logpdf(centre)
        total += share * (np.log(share) + own)
    return total + X.shape[1] * np.log(2 * np.pi) / 2


def test_terms_are_what_they_say(moons):
    X, _, ensemble = moons
    weight = np.where(np.arange(200) < 100, 1.0, 2.0)
    model = ConsensusChoice(2, random_state=0).fit(ensemble, features=X, sample_weight=weight)
    for i, (name, judged) in enumerate(model.candidates_.items()):
        labels = model.candidate_labels_[:, i]
        assert judged.gap == pytest.approx(plain_gap(X, labels, 25, 5))
        assert judged.density == pytest.approx(plain_density(X, labels, weight))
        sizes = np.bincount(labels, weights=weight)
        assert judged.balance == pytest.approx(np.log(sizes.min() * 2 / sizes.sum() + 0.2) / 2)
        terms = judged.density + judged.gap + judged.balance + 1.5 * judged.agreement
        assert judged.score == pytest.approx(terms), name
        others = np.delete(np.arange(len(model.candidates_)), i)
        same = [adjusted_rand_score(labels, model.candidate_labels_[:, j]) for j in others]
        assert judged.agreement == pytest.approx(np.mean(same))


def test_the_best_score_is_taken_and_the_runner_up_differs(moons):
    X, y, ensemble = moons
    model = ConsensusChoice(2, random_state=0).fit(ensemble, features=X)
    names = list(model.candidates_)
    scores = [judged.score for judged in model.candidates_.values()]
    assert scores == sorted(scores, reverse=True)
    assert (model.chosen_, model.cost_) == (names[0], -scores[0])
    place = names.index(model.runner_up_)
    assert model.agreement_ < 1
    assert model.agreement_ == pytest.approx(
        adjusted_rand_score(model.labels_, model.candidate_labels_[:, place])
    )
    for between in range(1, place):
        assert adjusted_rand_score(model.labels_, model.candidate_labels_[:, between]) == 1
    assert adjusted_rand_score(model.labels_, y) == 1.0


def test_candidates_are_consensuses_of_groups_of_members(moons):
    X, _, ensemble = moons
    model = ConsensusChoice(2, random_state=0).fit(ensemble, features=X)
    kinds = np.array([record.algorithm for record in ensemble.records])
    counts = ensemble.n_clusters
    expected = {
        "finer, genie": (counts > 2, EAC(2, linkage="genie", weighting="eci")),
        "finer gmm, lwgp": ((counts > 2) & (kinds == "gmm"), LWGP(2, random_state=0)),
        "genie with k, lwgp": ((counts == 2) & (kinds == "genie"), LWGP(2, random_state=0)),
    }
    for name, (which, method) in expected.items():
        labels = method.fit(ensemble.select(np.flatnonzero(which))).labels_
        found = model.candidate_labels_[:, list(model.candidates_).index(name)]
        assert adjusted_rand_score(labels, found) > 0.95, name


@pytest.mark.parametrize(
    ("data", "k"),
    [
        (make_circles(300, noise=0.05, factor=0.5, random_state=0), 2),
        (make_blobs(300, centers=5, cluster_std=0.8, random_state=4), 5),
    ],
)
def test_shapes_and_blobs_alike(data, k):
    X, y = data
    model = ConsensusClustering(k, generator="diverse", n_references=0, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.9
    assert model.consensus_choice_.name == "consensus_choice"
    assert model.consensus_.criterion_ == "features"


def test_of_restarts_the_best_by_the_terms(moons):
    X, _, ensemble = moons
    for features in (X, None):
        model = ConsensusChoice(2, random_state=0).fit(ensemble, features=features)
        for kind in ("gmm", "kmeans"):
            place = list(model.candidates_).index(f"{kind} with k, best")
            which = [
                i for i, record in enumerate(ensemble.records)
                if record.algorithm == kind and ensemble.n_clusters[i] == 2
            ]  # fmt: skip
            if features is None:
                value = [ensemble.records[i].cost for i in which]
            else:
                value = [
                    -plain_density(X, labels, np.ones(200))
                    - plain_gap(X, labels, 25, 5)
                    - np.log(np.bincount(labels).min() / 100 + 0.2) / 2
                    for labels in ensemble.labels[:, which].T
                ]
            best = ensemble.labels[:, which[int(np.argmin(value))]]
            assert adjusted_rand_score(best, model.candidate_labels_[:, place]) == 1.0


def test_without_features_the_candidate_that_agrees_best(moons):
    _, _, ensemble = moons
    model = ConsensusChoice(2, random_state=0).fit(ensemble)
    assert model.criterion_ == "agreement"
    agreement = [judged.agreement for judged in model.candidates_.values()]
    assert model.candidates_[model.chosen_].agreement == max(agreement)
    assert model.candidates_[model.chosen_].gap is None


def test_the_unit_of_the_features_does_not_matter(moons):
    X, _, ensemble = moons
    one = ConsensusChoice(2, random_state=0).fit(ensemble, features=X)
    other = ConsensusChoice(2, random_state=0).fit(ensemble, features=1000 * X)
    assert list(one.candidates_) == list(other.candidates_)
    gained = [
        one.candidates_[name].score - other.candidates_[name].score for name in one.candidates_
    ]
    np.testing.assert_allclose(gained, gained[0], atol=1e-8)


def test_groups_that_miss_points_are_not_combined(moons):
    X, _, ensemble = moons
    labels = ensemble.labels.astype(int).copy()
    labels[5, ensemble.n_clusters > 2] = -2
    labels[6, ensemble.n_clusters > 2] = -1
    labels[7] = -2
    model = ConsensusChoice(2, random_state=0).fit(
        Ensemble.from_labels(labels, orient="columns"), features=X
    )
    assert {name.partition(",")[0] for name in model.candidates_} == {"with k"}
    assert model.labels_[7] == -1
    assert (np.delete(model.labels_, 7) >= 0).all()
    assert len(model.sample_) == 199


def test_one_kind_coarse_soft_and_trivial_ensembles(moons):
    X, _, ensemble = moons
    alike = restarts(6, n_clusters=5, random_state=0).generate(X)
    one = ConsensusChoice(2, random_state=0).fit(alike, features=X)
    assert set(one.candidates_) <= {"finer, lwgp", "finer, genie"}
    coarse = ConsensusChoice(4, random_state=0).fit(
        restarts(6, n_clusters=3, random_state=0).generate(X), features=X
    )
    assert list(coarse.candidates_) == ["all, lwgp"]
    assert (coarse.runner_up_, coarse.agreement_, coarse.criterion_) == (None, 1.0, "no choice")
    whole = ConsensusChoice(1, random_state=0).fit(ensemble, features=X)
    assert whole.n_clusters_ == 1
    soft = restarts(4, n_clusters=2, algorithm="soft_gmm", random_state=0).generate(X)
    mixed = Ensemble.concat(alike, soft)
    assert ConsensusChoice(2, random_state=0).fit(mixed, features=X).n_clusters_ == 2
    tiny = ConsensusChoice(2, random_state=0).fit(
        np.array([[0, 1], [0, 1], [1, 0]]), features=X[:3]
    )
    assert tiny.labels_.tolist() == [0, 0, 1]


@pytest.mark.parametrize(("columns", "far", "spread"), [(8, 40.0, 1.0), (2, 12.0, 0.3)])
def test_a_tiny_far_group_is_a_cluster_and_cuts_none(columns, far, spread):
    rng = np.random.default_rng(1)
    turn = 2 * np.pi * np.arange(3) / 3
    centers = np.zeros((4, columns))
    centers[:3, :2] = 2.6 * np.column_stack([np.cos(turn), np.sin(turn)])
    centers[3, 1] = far
    y = np.repeat([0, 1, 2, 3], [200, 200, 200, 8])
    X = centers[y] + rng.normal(size=(608, columns)) * np.where(y == 3, spread, 1.0)[:, None]
    model = ConsensusChoice(4, random_state=0).fit(several(X, 4, 100), features=X)
    assert adjusted_rand_score(model.labels_, y) > 0.9
    assert np.bincount(model.labels_).min() == 8


def test_partitions_with_k_say_which_groups_that_finer_ones_leave_apart_belong_together():
    rng = np.random.default_rng(0)
    place = np.repeat([0.0, 10.0, -12.0], [90, 15, 15])
    X = np.column_stack([place, np.zeros(120)]) + rng.normal(scale=0.5, size=(120, 2))
    group = np.repeat([0, 1, 2], [90, 15, 15])
    finer = [np.where(group == 0, rng.integers(2, 6, 120), group - 1) for _ in range(5)]
    near = np.where(group == 2, 1, 0)  # the group that is farther off is the other cluster
    model = ConsensusChoice(2, random_state=0).fit(
        np.column_stack([*finer, near, near, near]), features=X
    )
    for labels in model.candidate_labels_.T:
        assert adjusted_rand_score(labels, near) == 1
    assert adjusted_rand_score(model.labels_, near) == 1


def test_a_point_alone_is_no_cluster_unless_all_have_one():
    X = np.r_[np.random.default_rng(0).normal(size=(60, 2)), [[90.0, 90.0]]]
    X[:30] += 4.0
    halves, alone = np.repeat([0, 1], [30, 31]), np.repeat([0, 1], [60, 1])
    finer = np.r_[np.repeat([0, 1], 30), 2]
    model = ConsensusChoice(2, random_state=0).fit(
        np.column_stack([halves] * 3 + [finer] * 3), features=X
    )
    assert np.bincount(model.labels_).tolist() == [31, 30]
    only = ConsensusChoice(2, random_state=0).fit(np.column_stack([alone] * 3), features=X)
    assert np.bincount(only.labels_).tolist() == [60, 1]


def test_equal_points_have_an_answer():
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0)
    halves = np.repeat([0, 1], 20)
    votes = np.column_stack([halves] * 3 + [np.tile([0, 1, 2], 14)[:40]] * 3)
    model = ConsensusChoice(2, random_state=0).fit(votes, features=X)
    assert adjusted_rand_score(model.labels_, halves) == 1.0
    flat = ConsensusChoice(2, random_state=0).fit(votes, features=np.zeros_like(X))
    assert flat.n_clusters_ == 2


def test_many_points_go_through_a_sample():
    X, y = make_blobs(3000, centers=3, cluster_std=0.8, random_state=0)
    ensemble = several(X, 3, 40)
    model = ConsensusChoice(3, max_points=400, random_state=0).fit(ensemble, features=X)
    again = ConsensusChoice(3, max_points=400, random_state=0).fit(ensemble, features=X)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert len(model.sample_) == len(model.candidate_labels_) == 400
    exact = ConsensusChoice(3, random_state=0).fit(ensemble, features=X)
    assert len(exact.sample_) == 3000
    assert adjusted_rand_score(model.labels_, y) > adjusted_rand_score(exact.labels_, y) - 0.02


def test_sparse_counts_by_angles():
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), size=3)
    y = np.repeat([0, 1, 2], 40)
    X = sparse.csr_matrix(np.stack([rng.multinomial(50, topics[t]) for t in y]).astype(float))
    ensemble = diverse(40, n_clusters=3, metric="cosine", random_state=0).generate(X)
    assert choose_method(ensemble, 3).options == {"metric": "cosine"}
    model = ConsensusChoice(3, metric="cosine", random_state=0).fit(ensemble, features=X)
    dense = ConsensusChoice(3, metric="cosine", random_state=0).fit(
        ensemble, features=5 * X.toarray()
    )
    assert adjusted_rand_score(model.labels_, y) > 0.9
    assert model.chosen_ == dense.chosen_


def test_candidates_with_fewer_clusters_say_nothing(moons):
    X, _, ensemble = moons
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConsensusChoice(2, random_state=0).fit(ensemble, features=X)


def test_leading_components_and_the_fit_of_no_spread():
    X = np.random.default_rng(0).normal(size=(200, 50))
    rows, _ = leading_components(X, n_columns=3)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:3]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=0), values, rtol=0.05)
    few, _ = leading_components(sparse.csr_matrix(X[:, :4]))
    np.testing.assert_allclose(few, X[:, :4] - X[:, :4].mean(axis=0))
    assert gaussian_fit(np.ones((4, 2)), [0, 0, 1, 1]) == 0.0
    noisy = gaussian_fit(X[:, :2], np.r_[np.zeros(199, int), -1])
    assert noisy == pytest.approx(gaussian_fit(X[:199, :2], np.zeros(199, int)))


@pytest.mark.parametrize("seed", range(3))
def test_three_rows_with_another_value_make_no_cluster(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(220, 4))
    X[:110, 0] += 5
    X[:, 3] = 0
    few = rng.choice(220, 3, replace=False)
    X[few, 3] = 1
    clouds, rows = np.repeat([0, 1], 110), np.isin(np.arange(220), few).astype(int)
    assert gaussian_fit(X, rows) > gaussian_fit(X, clouds) + 0.4  # fooled
    columns, rounding = leading_components(X)
    one, other = (gaussian_fit(columns, y, rounding=rounding) for y in (clouds, rows))
    assert one > other


def test_columns_are_as_exact_as_the_gaps_of_their_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([
        rng.integers(0, 2, 300), np.full(300, 3.0), 0.1 * rng.integers(0, 9, 300),
        rng.normal(size=300), np.r_[np.zeros(297), 2.0, 5.0, 9.0],
    ])  # fmt: skip
    found = np.sqrt(12 * rounding_variances(X))
    np.testing.assert_allclose(found[[0, 1, 2, 4]], [1, 0, 0.1, 3])
    assert found[3] < 0.02
    np.testing.assert_allclose(rounding_variances(sparse.csr_matrix(X)), found**2 / 12)
    wide = rng.integers(0, 5, size=(40, 600)) * np.linspace(1, 2, 600)
    np.testing.assert_allclose(np.sqrt(12 * rounding_variances(wide)), np.linspace(1, 2, 600))
    # Errors of the columns, drawn and seen along the axes, have the covariance that is stated.
    errors = rng.uniform(-0.5, 0.5, size=(20_000, 600)) * np.linspace(1, 2, 600)
    along = errors @ principal_axes(wide.astype(float))[2]
    _, rounding = leading_components(wide.astype(float))
    np.testing.assert_allclose(rounding, np.cov(along.T), atol=0.01)
    assert not leading_components(X, metric="cosine")[1].any()


def test_points_outside_the_sample_go_where_their_labels_point():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 400)
    columns = [np.where(rng.random(400) < 0.9, truth, rng.integers(0, 3, 400)) for _ in range(7)]
    rows = np.sort(rng.choice(400, 60, replace=False))
    # A cluster that no point of the sample is in, before others: numbers must not shift.
    outside = np.setdiff1d(np.arange(400), rows)[:5]
    columns[0] = columns[0] + 1
    columns[0][outside] = 0
    ensemble = Ensemble.from_labels(np.column_stack(columns))
    found = _extended(truth[rows], rows, ensemble)
    np.testing.assert_array_equal(found[rows], truth[rows])
    votes = np.zeros((400, 3))
    prior = np.bincount(truth[rows], minlength=3) / 60
    entropy = -(prior * np.log(prior)).sum()
    for labels in ensemble.labels.T:
        own = labels[rows]
        table = np.array([[((own == c) & (truth[rows] == g)).sum() for g in range(3)]
                          for c in range(labels.max() + 1)])  # fmt: skip
        known = mutual_info_score(own, truth[rows]) / entropy
        share = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
        part = np.where(table.sum(axis=1, keepdims=True) > 0, known**2 * np.log(share + 0.02), 0.0)
        votes += part[labels]
    rest = np.setdiff1d(np.arange(400), rows)
    np.testing.assert_array_equal(found[rest], votes.argmax(axis=1)[rest])
