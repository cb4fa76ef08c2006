"""RCE against its dense objective: every pair of points, every partition, by loops."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble, kernels
from clusterscape.combine import ConsensusWarning
from clusterscape.combine.eci import cluster_reliability
from clusterscape.combine.rce import RCE, PairEvidence
from strategies import ensembles, rows_of


def inside_some_cluster(ensemble):
    rows = (ensemble.labels >= 0).any(axis=1)
    keep = ensemble.n_clusters > 0
    if not rows.any() or not keep.any():
        return None
    return ensemble.select(keep).subset(rows)


def term(p, q, z, spread):
    """Return a pair's part of KL(Z || Q) + spread * |P - Z|."""
    divergence = (z * np.log(z / q) if z > 0 else 0.0) - z + q
    return divergence + spread * abs(p - z)


def dense_sweep(ensemble, H, spread, reliability=None):
    """Return the objective and what the EM step reads, from P_i over all pairs of points."""
    n = ensemble.n_points
    w = ensemble.sample_weight
    Q = H @ H.T
    cost, pull = 0.0, np.zeros_like(H)
    for i in range(ensemble.n_partitions):
        membership, seen = rows_of(ensemble, i)
        together = membership @ membership.T
        whole = mass = (np.outer(w, w) * together).sum()
        if reliability is not None:
            own = reliability[ensemble.offsets[i] : ensemble.offsets[i + 1]]
            together = membership * own @ membership.T
            mass = (np.outer(w, w) * together).sum()
        share = (w[seen].sum() / w.sum()) ** 2
        P = together * share / mass if mass > 0 else together
        alpha = ensemble.weights[i] * (mass / whole if whole > 0 else 1.0)
        for x, y in itertools.product(range(n), repeat=2):
            z = Q[x, y]
            if seen[x] and seen[y]:
                z = np.clip(P[x, y], z * np.exp(-spread), z * np.exp(spread))
                cost += alpha * w[x] * w[y] * term(P[x, y], Q[x, y], z, spread)
            pull[x] += alpha * w[y] * z / Q[x, y] * H[y]
    return cost, pull


@given(ensembles(max_points=6), st.integers(1, 3), st.sampled_from([0.1, 1.0, 3.0]), st.booleans())
def test_a_sweep_is_the_dense_objective_and_its_em_step(ensemble, k, spread, weighted):
    work = inside_some_cluster(ensemble)
    assume(work is not None)
    H = np.random.default_rng(k).random((work.n_points, k)) + 0.01
    H /= np.sqrt(((work.sample_weight @ H) ** 2).sum())
    reliability = cluster_reliability(work) if weighted else None
    evidence = PairEvidence.of(work, reliability)
    pull = np.zeros((k, work.n_points))
    cost = kernels.rce.sweep(
        np.ascontiguousarray(H.T),
        evidence.weights,
        evidence.hard,
        evidence.soft,
        spread,
        evidence.complete,
        pull,
    )
    twin = dense_sweep(work, H, spread, reliability)
    assert cost == pytest.approx(twin[0])
    np.testing.assert_allclose(pull.T, twin[1])


@given(st.floats(0, 2), st.floats(1e-3, 2), st.floats(0.05, 3))
def test_the_clipped_value_is_the_best_one(p, q, spread):
    best = term(p, q, np.clip(p, q * np.exp(-spread), q * np.exp(spread)), spread)
    grid = np.linspace(0, 3, 301)
    assert best <= min(term(p, q, z, spread) for z in grid) + 1e-12


@given(
    ensembles(min_points=3),
    st.integers(1, 3),
    st.sampled_from([0.1, 1.0, 5.0]),
    st.sampled_from(["argmax", "spectral"]),
    st.sampled_from([None, "eci"]),
)
def test_the_cost_never_rises(ensemble, k, sparsity, assign, weighting):
    work = inside_some_cluster(ensemble)
    assume(work is not None and work.n_points >= k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        settings = {"max_iter": 15, "tol": 0, "assign": assign, "weighting": weighting}
        model = RCE(k, sparsity=sparsity, **settings).fit(work)
    assert (np.diff(model.costs_) <= 1e-12 * model.costs_[0]).all()
    assert model.cost_ == model.costs_[-1]
    assert model.n_iter_ == len(model.costs_) - 1


def test_without_errors_the_fit_is_to_the_weighted_co_association(seed):
    ensemble = Ensemble.from_labels(noisy(np.random.default_rng(seed), np.repeat([0, 1, 2], 5)))
    own = cluster_reliability(ensemble)
    evidence = PairEvidence.of(ensemble, own)
    H = np.full((1, 15), 1 / 15)
    pull = np.zeros_like(H)
    kernels.rce.sweep(H, evidence.weights, evidence.hard, evidence.soft, 100.0, True, pull)
    pairs = ensemble.cluster_sizes() ** 2
    each = np.repeat([part.sum() for part in np.split(pairs, ensemble.offsets[1:-1])], 3)
    B = ensemble.membership().matrix.toarray()
    mean = B * (own / each) @ B.T  # of the P_i, as the partitions count
    np.testing.assert_allclose(pull[0] / 15, mean.sum(axis=1))


def noisy(rng, planted, r=10, errors=0.3):
    n, k = planted.size, planted.max() + 1
    return np.column_stack(
        [np.where(rng.random(n) < errors, rng.integers(0, k, n), planted) for _ in range(r)]
    )


def test_the_planted_partition_comes_back_through_errors(seed):
    planted = np.repeat([0, 1, 2], [60, 40, 30])
    labels = noisy(np.random.default_rng(seed), planted, r=15)
    for settings in ({}, {"assign": "spectral"}, {"sparsity": 0.5}, {"n_init": 3}):
        model = RCE(3, random_state=0, **settings).fit(labels)
        assert adjusted_rand_score(planted, model.labels_) > 0.95


def test_compressed_equals_uncompressed():
    rng = np.random.default_rng(3)
    labels = noisy(rng, np.repeat([0, 1, 2], 12), r=5)
    labels[rng.random(labels.shape) < 0.05] = -1
    labels[rng.random(labels.shape) < 0.05] = -2
    copies = rng.integers(1, 4, size=36)
    weighted = RCE(3).fit(labels, sample_weight=copies)
    repeated = RCE(3).fit(np.repeat(labels, copies, axis=0))
    assert weighted.n_micro_clusters_ == repeated.n_micro_clusters_
    np.testing.assert_allclose(weighted.costs_, repeated.costs_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, copies), repeated.labels_)
    # and the cost is that of the points themselves
    points = Ensemble.from_labels(np.repeat(labels, copies, axis=0))
    H = np.random.default_rng(0).random((points.n_points, 2))
    small, inverse = points.compress()
    rows = np.zeros((2, small.n_points))
    rows[:, inverse] = H.T
    evidence = PairEvidence.of(small)
    parts = (rows, evidence.weights, evidence.hard, evidence.soft, 1.0, evidence.complete)
    cost = kernels.rce.sweep(*parts, np.zeros_like(rows))
    assert cost == pytest.approx(dense_sweep(points, rows.T[inverse], 1.0)[0])


def test_partition_weights_equal_repetition():
    rng = np.random.default_rng(4)
    labels = noisy(rng, np.repeat([0, 1], 15), r=4)
    weights = np.array([1, 3, 2, 1])
    weighted = RCE(2).fit(Ensemble.from_labels(labels, weights=weights))
    repeated = RCE(2).fit(np.repeat(labels, weights, axis=1))
    np.testing.assert_allclose(weighted.costs_, repeated.costs_, rtol=1e-6)
    np.testing.assert_array_equal(weighted.labels_, repeated.labels_)


def test_it_is_deterministic_and_more_starts_cost_no_more():
    labels = np.random.default_rng(5).integers(0, 4, size=(50, 6))
    one = RCE(3, max_iter=20).fit(labels)
    np.testing.assert_array_equal(one.labels_, RCE(3, max_iter=20).fit(labels).labels_)
    two = RCE(3, max_iter=20, n_init=4, random_state=1, n_jobs=1).fit(labels)
    three = RCE(3, max_iter=20, n_init=4, random_state=1, n_jobs=2).fit(labels)
    assert two.cost_ == three.cost_ <= one.cost_
    np.testing.assert_array_equal(two.labels_, three.labels_)


@pytest.mark.parametrize("weighting", [None, "eci"])
def test_names_of_clusters_change_nothing(weighting):
    # Four groups that nothing joins, of which three are wanted: all four eigenvalues are 1, and
    # which vectors the start takes was left to rounding, that is, to the names.
    rng = np.random.default_rng(0)
    for _ in range(4):
        labels = rng.integers(0, 4, (30, 1))
        names = np.append(rng.permutation(4), [-2, -1])
        made = [RCE(3, weighting=weighting).fit(given) for given in (labels, names[labels])]
        np.testing.assert_array_equal(made[0].labels_, made[1].labels_)
        assert made[0].cost_ == made[1].cost_
    labels = np.where(rng.random((12, 3)) < 0.2, -rng.integers(1, 3, (12, 3)), labels[:12] % 3)
    soft = rng.dirichlet([1, 1, 1], 12)
    soft[3], soft[4] = 0.0, np.nan  # noise, and not sampled
    other = np.append([2, 0, 1], [-2, -1])[labels]
    made = [
        RCE(3, weighting=weighting).fit(Ensemble.from_labels([soft, *given.T]))
        for given in (labels, other)
    ]
    np.testing.assert_array_equal(made[0].labels_, made[1].labels_)
    assert made[0].cost_ == made[1].cost_


def test_rce_refuses_with_a_sentence():
    with pytest.raises(ValueError, match="which are linear in the number of points"):
        RCE(2, max_rows=3).fit(np.arange(5)[:, None] * [1, 1])
    with pytest.raises(ValueError, match="sparsity must be a number in"):
        RCE(2, sparsity=0).fit([[0, 1], [1, 1]])


def test_memberships_follow_the_numbers_of_the_clusters():
    planted = np.repeat([1, 0, 2], [3, 6, 5])
    votes = Ensemble.from_labels(
        [planted, planted, [*planted[:-1], -1]], sample_weight=[0.0] + [1.0] * 13
    )
    model = RCE(3).fit(votes)
    assert model.membership_.shape == (14, 3)
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)
    assert model.membership_[0].max() == 1.0  # no weight: its cluster alone
