"""LSCE, NSCE and IKL against dense twins, identities of the paper and planted partitions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.linalg import subspace_angles
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape.combine.base import ConsensusWarning
from clusterscape.combine.ikl import IKL
from clusterscape.combine.sce import LSCE, NSCE
from clusterscape.compare import category_utility
from clusterscape.linalg.affinity import affinity
from strategies import brute_force_coassociation, ensembles

METHODS = [LSCE, NSCE, IKL]


def build(method, k, **options):
    if method is IKL:
        options = {"relation": "ensemble", **options}
    return method(k, random_state=0, **options)


def same_partition(left, right):
    left, right = np.asarray(left), np.asarray(right)
    return np.array_equal(left[:, None] == left, right[:, None] == right)


def dense_laplacian(A):
    degree = A.sum(axis=1)
    root = np.sqrt(np.divide(1.0, degree, out=np.zeros(len(A)), where=degree > 0))
    return np.eye(len(A)) - root[:, None] * A * root


def noisy_votes(planted, r, seed, flip=0.2):
    rng = np.random.default_rng(seed)
    k = planted.max() + 1
    return np.column_stack(
        [
            np.where(rng.random(planted.size) < flip, rng.integers(0, k, planted.size), planted)
            for _ in range(r)
        ]
    )


def blobs(planted, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    centres = 6 * np.eye(planted.max() + 1)
    return centres[planted] + spread * rng.normal(size=(planted.size, centres.shape[1]))


# -- the paper's identities ---------------------------------------------------------------------


@given(ensembles(noise=False, unsampled=False, soft=False, min_points=2), st.data())
def test_sum_of_category_utilities_is_the_trace_over_n(ensemble, data):
    n = ensemble.n_points
    ensemble = ensemble.with_weights(sample_weight=np.ones(n))
    S, _ = brute_force_coassociation(ensemble)

    def difference(labels):
        H = np.eye(3)[labels]
        sizes = H.sum(axis=0)
        H = H[:, sizes > 0] / np.sqrt(sizes[sizes > 0])
        utility = sum(
            w * category_utility(labels, part)
            for w, part in zip(ensemble.weights, ensemble.labels.T, strict=True)
        )
        return np.trace(H.T @ S @ H) / n - utility

    first, second = (
        np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))) for _ in "ab"
    )
    assert difference(first) == pytest.approx(difference(second), abs=1e-9)


@pytest.mark.parametrize("solver", ["dense", "solves"])
def test_nsce_columns_are_eigenvectors(solver):
    planted = np.repeat([0, 1, 2], [30, 20, 15])
    X, votes = blobs(planted, spread=3.0), noisy_votes(planted, 12, 1)
    model = NSCE(3, solver=solver, row_normalize=False, random_state=0).fit(votes, features=X)
    L = dense_laplacian(affinity(X).toarray())
    S, _ = brute_force_coassociation(Ensemble.from_labels(votes))
    product = np.linalg.pinv(L, rcond=1e-10, hermitian=True) @ S
    H, mu = model.embedding_, model.eigenvalues_
    assert np.linalg.norm(product @ H - H * mu) < 1e-7 * mu[0]
    assert model.residual_ < 1e-8
    np.testing.assert_allclose(mu, np.sort(np.linalg.eigvals(product).real)[::-1][:3], rtol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(H, axis=0), 1.0)
    raw = NSCE(3, solver=solver, row_normalize=False, columns="raw", random_state=0)
    H = raw.fit(votes, features=X).embedding_
    np.testing.assert_allclose(H.T @ L @ H, np.eye(3), atol=1e-7)


@pytest.mark.parametrize("solver", ["dense", "solves"])
def test_nsce_keeps_equation_nine_or_replaces_weak_columns(solver):
    planted = np.repeat([0, 1, 2], [6, 5, 4])
    X, votes = blobs(planted, spread=0.5), np.column_stack([planted] * 3)
    L = dense_laplacian(affinity(X).toarray())
    S, _ = brute_force_coassociation(Ensemble.from_labels(votes))
    product = np.linalg.pinv(L, rcond=1e-10, hermitian=True) @ S
    options = {"solver": solver, "row_normalize": False, "random_state": 0}
    printed = NSCE(3, weak_columns="keep", **options).fit(votes, features=X)
    mu = np.sort(np.linalg.eigvals(product).real)[::-1]
    np.testing.assert_allclose(printed.eigenvalues_, mu[:3], rtol=1e-6)
    H = printed.embedding_
    assert np.linalg.norm(product @ H - H * printed.eigenvalues_) < 1e-6 * mu[0]
    # The clusters' sum is nearly the null space of L, so one combination of them is nearly lost.
    energy = np.einsum("ij,ij->j", H, S @ H)
    assert (energy < 0.5 * np.trace(S) / 15).tolist() == [False, False, True]
    replaced = NSCE(3, **options).fit(votes, features=X)
    np.testing.assert_allclose(replaced.eigenvalues_, mu[:2], rtol=1e-6)
    np.testing.assert_allclose(L @ replaced.embedding_[:, 2], 0.0, atol=1e-8)
    np.testing.assert_array_equal(replaced.labels_, planted)


@pytest.mark.parametrize("seed", range(3))
def test_nsce_weak_columns_matter_only_where_some_are_weak(seed):
    planted = np.repeat([0, 1, 2], [30, 20, 15])
    X, votes = blobs(planted, seed, spread=3.0), noisy_votes(planted, 12, seed)
    kept, replaced = (
        NSCE(3, weak_columns=which, random_state=0).fit(votes, features=X)
        for which in ("keep", "replace")
    )
    assert kept.eigenvalues_.size == replaced.eigenvalues_.size == 3
    np.testing.assert_array_equal(kept.embedding_, replaced.embedding_)


# -- operators against dense twins --------------------------------------------------------------


def usable(ensemble):
    rows = (ensemble.labels >= 0).any(axis=1)
    keep = ensemble.n_clusters > 0
    if not rows.any() or not keep.any():
        return None
    return ensemble.select(keep).subset(rows)


@given(ensembles(min_points=3), st.integers(1, 3), st.integers(0, 5))
def test_nsce_by_solves_is_nsce_by_dense_algebra(ensemble, k, seed):
    work = usable(ensemble)
    assume(work is not None and work.n_points >= k)
    X = np.random.default_rng(seed).normal(size=(work.n_points, 2))
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        for solver in ("dense", "solves"):
            model = NSCE(k, solver=solver, row_normalize=False, columns="raw", random_state=0)
            found[solver] = model.fit(work, features=X)
    dense, solves = found["dense"], found["solves"]
    assert (dense.solver_, solves.solver_) == ("dense", "solves")
    np.testing.assert_allclose(dense.eigenvalues_, solves.eigenvalues_, rtol=1e-6, atol=1e-9)
    assert max(dense.residual_, solves.residual_) < 1e-6
    # Each group of equal eigenvalues spans one space; with a gap the projections agree.
    gaps = -np.diff(np.append(dense.eigenvalues_, 0.0))
    if (gaps > 1e-2 * dense.eigenvalues_[:1].sum()).all():
        left, right = dense.embedding_, solves.embedding_
        np.testing.assert_allclose(left @ left.T, right @ right.T, atol=1e-5)


@given(ensembles(min_points=3), st.sampled_from([None, "n", "r"]), st.sampled_from([0, 1, 50.0]))
def test_lsce_eigenvalues_are_those_of_the_dense_matrix(ensemble, scale_s, alpha):
    work = usable(ensemble)
    assume(work is not None and work.n_points >= 2)
    work = work.with_weights(sample_weight=np.ones(work.n_points))
    X = np.random.default_rng(0).normal(size=(work.n_points, 2))
    S, _ = brute_force_coassociation(work)
    divisor = {None: 1, "n": work.n_points, "r": work.weights.sum()}[scale_s]
    expected = np.linalg.eigvalsh(alpha * dense_laplacian(affinity(X).toarray()) - S / divisor)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        model = LSCE(2, alpha=alpha, scale_s=scale_s, random_state=0).fit(work, features=X)
    np.testing.assert_allclose(model.eigenvalues_, expected[:2], atol=1e-8)


@pytest.mark.parametrize("method", [LSCE, NSCE, IKL])
def test_large_inputs_take_operators_and_agree_with_dense_algebra(method):
    planted = np.repeat([0, 1, 2], [300, 250, 150])
    X, votes = blobs(planted, spread=2.0), noisy_votes(planted, 40, 2, flip=0.3)
    model = build(method, 3, row_normalize=False).fit(votes, features=X)
    A = affinity(X).toarray()
    L = dense_laplacian(A)
    S, _ = (np.asarray(v) for v in _coassociation(votes))
    if method is LSCE:
        vectors = np.linalg.eigh(L - S)[1][:, :3]
    elif method is NSCE:
        assert model.solver_ == "solves"
        values, V = np.linalg.eigh(L)
        M = V[:, 1:] / np.sqrt(values[1:])
        vectors = M @ np.linalg.eigh(M.T @ S @ M)[1][:, -3:]
    else:
        C = X - X.mean(axis=0)
        G = C @ C.T
        W = np.eye(len(S)) - dense_laplacian(S)
        vectors = np.linalg.eigh(G / np.linalg.eigvalsh(G)[-1] + W)[1][:, -3:]
    assert subspace_angles(model.embedding_, vectors).max() < 1e-5
    assert model.residual_ < 1e-3
    assert adjusted_rand_score(planted, model.labels_) > 0.95


def _coassociation(votes):
    hot = Ensemble.from_labels(votes).membership().matrix.toarray()
    return hot @ hot.T, None


@pytest.mark.parametrize("method", METHODS)
def test_a_weighted_point_is_its_copies(method):
    rng = np.random.default_rng(4)
    planted = np.repeat([0, 1], [9, 7])
    X, votes = blobs(planted, spread=2.0), noisy_votes(planted, 7, 3)
    weights = rng.integers(1, 4, size=16)
    options = {"scale": 2.0}
    small = build(method, 2, **options).fit(votes, features=X, sample_weight=weights)
    whole = build(method, 2, **options).fit(
        np.repeat(votes, weights, axis=0), features=np.repeat(X, weights, axis=0)
    )
    np.testing.assert_allclose(small.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    assert same_partition(np.repeat(small.labels_, weights), whole.labels_)


@pytest.mark.parametrize("method", METHODS)
def test_weights_of_partitions_are_repetitions(method):
    planted = np.repeat([0, 1, 2], [8, 6, 6])
    X, votes = blobs(planted, spread=2.0), noisy_votes(planted, 5, 3)
    weights = np.array([1, 3, 1, 2, 1])
    weighted = build(method, 3).fit(Ensemble.from_labels(votes, weights=weights), features=X)
    repeated = build(method, 3).fit(np.repeat(votes, weights, axis=1), features=X)
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_)
    assert same_partition(weighted.labels_, repeated.labels_)


# -- what people meet ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [12, 700])
def test_returns_what_the_ensemble_agrees_on(method, n):
    planted = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    renamed = np.array([2, 0, 1])[planted]
    X = blobs(planted)
    labels = build(method, 3).fit_predict(
        Ensemble.from_labels([planted, renamed, planted] * 20), features=X
    )
    np.testing.assert_array_equal(labels, planted)
    alone = build(method, 3).fit_predict(planted[:, None], features=X)
    np.testing.assert_array_equal(alone, planted)


@pytest.mark.parametrize("method", METHODS)
def test_sparse_soft_noise_and_unsampled(method):
    planted = np.repeat([0, 1], [4, 3])
    X = sparse.csr_matrix(np.kron(np.eye(2), np.ones((1, 3)))[planted] + 0.1)
    X = sparse.vstack([X, X[:1]]).tocsr()
    soft = np.vstack([np.eye(2)[planted] * 0.8 + 0.1, [[np.nan, np.nan]]])
    votes = Ensemble.from_labels(
        [[*planted, -1], soft, [0, 0, -1, 0, 1, 1, -2, -2], [-2] * 8, [*planted, -2]]
    )
    model = build(method, 2).fit(votes, features=X)
    np.testing.assert_array_equal(model.labels_, [*planted, -1])
    assert model.embedding_.shape == (7, 2)
    assert model.affinity_ in ("cosine", "co-association of the ensemble")


def test_features_are_needed_and_must_fit():
    votes = Ensemble.from_labels([[0, 0, 1]])
    for method in METHODS:
        with pytest.raises(ValueError, match="pass features=X to fit"):
            method(2).fit(votes)
        with pytest.raises(ValueError, match="features has 2 rows and the ensemble 3 points"):
            method(2).fit(votes, features=np.zeros((2, 1)))
    with pytest.raises(MemoryError, match="raise max_gb"):
        LSCE(2, max_gb=1e-9).fit(votes, features=np.zeros((3, 1)))


def test_a_graph_in_pieces_is_warned_of():
    planted = np.repeat([0, 1], 20)
    X = 100 * blobs(planted)
    with pytest.warns(ConsensusWarning, match="has 2 pieces that nothing links"):
        NSCE(2, neighbors=5, random_state=0).fit(noisy_votes(planted, 9, 0), features=X)


def test_points_that_nothing_separates():
    same = np.zeros((4, 2), dtype=int)
    X = np.ones((4, 1))
    with pytest.warns(ConsensusWarning, match="only 1 groups"):
        model = NSCE(2, random_state=0).fit(same, features=X)
    np.testing.assert_array_equal(model.labels_, 0)
    assert model.eigenvalues_.size == 0
    one = NSCE(1, random_state=0).fit([[0]], features=[[1.0]])
    np.testing.assert_array_equal(one.labels_, [0])


@pytest.mark.parametrize("method", METHODS)
def test_same_seed_same_result(method):
    planted = np.repeat([0, 1, 2], 230)
    X, votes = blobs(planted, spread=4.0), noisy_votes(planted, 10, 5, flip=0.5)
    first, again = (build(method, 3).fit(votes, features=X) for _ in "ab")
    np.testing.assert_array_equal(first.labels_, again.labels_)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)


@pytest.mark.parametrize(
    ("method", "option"),
    [
        (LSCE, {"alpha": 100.0}),
        (LSCE, {"scale_s": "n"}),
        (LSCE, {"row_normalize": False}),
        (NSCE, {"columns": "raw", "row_normalize": False}),
        (NSCE, {"affinity": "cosine"}),
        (NSCE, {"neighbors": 20}),
        (NSCE, {"landmarks": 30}),
        (NSCE, {"scale": "local"}),
        (NSCE, {"scale": 2.0}),
        (IKL, {"gamma": 5.0}),
        (IKL, {"relation": "features"}),
    ],
)
def test_every_option_changes_the_embedding(method, option):
    planted = np.repeat([0, 1, 2], 20)
    X, votes = blobs(planted, spread=3.0), noisy_votes(planted, 10, 5, flip=0.4)
    plain = build(method, 3).fit(votes, features=X).embedding_
    other = build(method, 3, **option).fit(votes, features=X).embedding_
    assert not np.allclose(plain @ plain.T, other @ other.T)


def test_large_alpha_is_spectral_clustering_and_zero_alpha_is_the_ensemble():
    planted = np.repeat([0, 1, 2], 20)
    other = np.tile([0, 1, 2], 20)
    X, votes = blobs(planted), noisy_votes(other, 20, 0, flip=0.05)
    for alpha, expected in ((0.0, other), (1e5, planted)):
        labels = LSCE(3, alpha=alpha, random_state=0).fit_predict(votes, features=X)
        assert adjusted_rand_score(expected, labels) > 0.9


def test_ikl_of_equal_points_rests_on_the_relations():
    planted = np.repeat([0, 1], [4, 3])
    model = IKL(2, relation="ensemble", random_state=0)
    labels = model.fit_predict(np.column_stack([planted] * 3), features=np.ones((7, 2)))
    np.testing.assert_array_equal(labels, planted)


def test_weights_below_one_count_in_units_of_the_least():
    rng = np.random.default_rng(0)
    planted = np.repeat([0, 1, 2], 10)
    X = rng.normal(size=(30, 2)) + 6 * planted[:, None]
    labels = np.where(rng.random((30, 8)) < 0.1, rng.integers(0, 3, (30, 8)), planted[:, None])
    first = NSCE(3, random_state=0).fit(labels, features=X)
    for unit in (1e-6, 1 / 30, 0.5):
        again = NSCE(3, random_state=0).fit(labels, features=X, sample_weight=np.full(30, unit))
        np.testing.assert_array_equal(first.labels_, again.labels_)
