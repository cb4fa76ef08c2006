"""Doubly stochastic scaling, stochastic complements, total support and zeta, by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator

from clusterscape import Ensemble
from clusterscape.linalg.markov import stochastic_complement, total_support, weighted_median
from clusterscape.linalg.sinkhorn import sinkhorn
from clusterscape.validate.decomposability import near_decomposability
from strategies import brute_force_coassociation, ensembles


def symmetric(rng, n, *, low=0.1):
    """A symmetric positive matrix."""
    S = low + rng.random((n, n))
    return S + S.T


def chain_of(S, **options):
    """P = D S D of a matrix."""
    d = sinkhorn(S, **options).scale
    return d[:, None] * S * d


# -- Sinkhorn-Knopp -----------------------------------------------------------------------------


@given(st.integers(1, 8), st.integers(0, 50), st.booleans())
def test_rows_and_columns_sum_to_one(n, seed, as_operator):
    S = symmetric(np.random.default_rng(seed), n)
    found = sinkhorn(aslinearoperator(S) if as_operator else S)
    P = found.scale[:, None] * S * found.scale
    np.testing.assert_allclose(P.sum(axis=0), 1.0, atol=1e-7)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-7)
    assert not found.restarted
    assert found.added_constant == 0.0
    assert found.error == pytest.approx(np.abs(P.sum(axis=1) - 1).max(), abs=1e-12)


def test_the_scaling_is_the_one_of_alternating_normalisation():
    S = symmetric(np.random.default_rng(0), 7)
    np.fill_diagonal(S, 0.0)
    expected = S.copy()
    for _ in range(2000):
        expected /= expected.sum(axis=1, keepdims=True)
        expected /= expected.sum(axis=0)
    np.testing.assert_allclose(chain_of(S, tol=1e-12), expected, atol=1e-9)
    np.testing.assert_allclose(chain_of(sparse.csr_matrix(S).toarray()), expected, atol=1e-7)


@given(
    st.integers(2, 5),
    st.lists(st.integers(1, 3), min_size=5, max_size=5),
    st.integers(0, 30),
    st.booleans(),
)
def test_weights_are_copies(n, copies, seed, zero):
    rng = np.random.default_rng(seed)
    S = symmetric(rng, n)
    weights = np.array(copies[:n])
    group = np.repeat(np.arange(n), weights)
    expanded = S[np.ix_(group, group)].copy()
    diagonal = None
    if zero:
        # Two points without loops may have no scaling, three always have one.
        assume(weights.sum() >= 4)
        diagonal = np.diag(S).copy()
        np.fill_diagonal(expanded, 0.0)
    small = sinkhorn(S, weights=weights, diagonal=diagonal)
    large = sinkhorn(expanded)
    assert not small.restarted
    np.testing.assert_allclose(small.scale[group], large.scale, rtol=1e-5)


def test_a_matrix_without_support_is_restarted_once_and_says_so():
    star = np.array([[0, 2, 2], [2, 0, 0], [2, 0, 0]], dtype=float)  # two leaves, one centre
    assert not total_support(star).has_support
    found = sinkhorn(star, max_iter=200)
    assert found.restarted
    assert found.added_constant == pytest.approx(0.02)
    raised = star + 0.02
    P = found.scale[:, None] * raised * found.scale
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-7)
    assert found.n_iter > 1
    with pytest.raises(RuntimeError, match=r"could not be scaled in max_iter=50.*restart=0\.01"):
        sinkhorn(star, restart=0, max_iter=50)
    with pytest.raises(RuntimeError, match="2 x 1 steps"):
        sinkhorn(star, max_iter=1)


def test_an_isolated_point_needs_the_constant():
    S = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]], dtype=float)
    found = sinkhorn(S)
    assert found.restarted
    P = found.scale[:, None] * (S + 0.01) * found.scale
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-7)
    # With weights and a diagonal, the largest element is one between two points.
    lone = sinkhorn(np.diag([5.0, 1.0]), weights=[1, 3], diagonal=[5.0, 1.0])
    assert lone.added_constant == pytest.approx(0.01)


def test_support_without_total_support_gets_the_constant():
    S = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1]], dtype=float)
    verdict = total_support(S)
    assert verdict.has_support
    assert not verdict.has_total_support
    assert verdict.offending.tolist() == [[0, 0]]
    assert sinkhorn(S).restarted


def test_sinkhorn_refuses_what_has_no_meaning():
    with pytest.raises(ValueError, match="square matrix"):
        sinkhorn(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric"):
        sinkhorn(np.array([[0.0, 1.0], [2.0, 0.0]]))
    with pytest.raises(ValueError, match="finite similarities >= 0"):
        sinkhorn(np.array([[0.0, -1.0], [-1.0, 0.0]]))
    with pytest.raises(ValueError, match="negative elements"):
        sinkhorn(aslinearoperator(np.array([[0.0, -1.0], [-1.0, 0.0]])))
    with pytest.raises(ValueError, match="weights must have one entry per point, 2 in all"):
        sinkhorn(np.ones((2, 2)), weights=[1, 2, 3])
    with pytest.raises(ValueError, match="no positive element"):
        sinkhorn(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="largest must be given"):
        sinkhorn(aslinearoperator(np.zeros((2, 2))))


# -- stochastic complement ----------------------------------------------------------------------


def brute_force_complement(P, block):
    """Add up the ways out of the block and back, longer and longer."""
    rest = [x for x in range(len(P)) if x not in block]
    total = P[np.ix_(block, block)].copy()
    inside = P[np.ix_(rest, block)]
    for _ in range(3000):
        total += P[np.ix_(block, rest)] @ inside
        inside = P[np.ix_(rest, rest)] @ inside
    return total


@given(st.integers(2, 7), st.integers(0, 30), st.sampled_from(["dense", "sparse", "operator"]))
def test_the_complement_of_a_doubly_stochastic_chain_is_doubly_stochastic(n, seed, form):
    rng = np.random.default_rng(seed)
    P = chain_of(symmetric(rng, n), tol=1e-12)
    block = rng.permutation(n)[: rng.integers(1, n)].tolist()
    given = {"dense": P, "sparse": sparse.csr_matrix(P), "operator": aslinearoperator(P)}[form]
    found = stochastic_complement(given, block)
    np.testing.assert_allclose(found, brute_force_complement(P, block), atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=0), 1.0, atol=1e-8)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-8)


def test_the_complement_of_everything_is_the_chain_and_masks_are_taken():
    P = chain_of(symmetric(np.random.default_rng(1), 4))
    for form in (P, sparse.csr_matrix(P), aslinearoperator(P)):
        np.testing.assert_allclose(stochastic_complement(form, np.ones(4, bool)), P)
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(stochastic_complement(P, mask), stochastic_complement(P, [0, 2]))


def test_the_complement_needs_a_way_back():
    P = np.eye(3)
    for form in (P, sparse.csr_matrix(P)):
        with pytest.raises(ValueError, match="must be irreducible"):
            stochastic_complement(form, [0])
    for block in ([], [0, 0], [3], [-1]):
        with pytest.raises(ValueError, match="distinct positions below 3"):
            stochastic_complement(P, block)


# -- total support ------------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(0, 2000), st.booleans())
def test_total_support_by_all_permutations(n, seed, make_symmetric):
    rng = np.random.default_rng(seed)
    S = (rng.random((n, n)) < 0.45).astype(float)
    if make_symmetric:
        S = np.maximum(S, S.T)
    covered = np.zeros((n, n), dtype=bool)
    for p in itertools.permutations(range(n)):
        if all(S[i, p[i]] > 0 for i in range(n)):
            covered[np.arange(n), list(p)] = True
    verdict = total_support(S)
    assert verdict.has_support == covered.any()
    expected = np.argwhere((S > 0) & ~covered)
    assert verdict.has_total_support == (covered.any() and len(expected) == 0)
    assert sorted(map(tuple, verdict.offending)) == sorted(map(tuple, expected))


def test_total_support_refuses_other_shapes_and_signs():
    with pytest.raises(ValueError, match="square"):
        total_support(np.ones((2, 3)))
    with pytest.raises(ValueError, match=">= 0"):
        total_support([[1, -1], [0, 1]])


# -- zeta ---------------------------------------------------------------------------------------


def brute_force_zeta(S, labels):
    """Largest row sum outside of the blocks over the largest row sum, from the definition."""
    n = len(labels)
    largest = S.sum(axis=1).max()
    away = 0.0
    for x in range(n):
        if labels[x] == -2:
            continue
        total = 0.0
        for y in range(n):
            apart = labels[x] != labels[y] or (labels[x] == -1 and x != y)
            if labels[y] != -2 and apart:
                total += S[x, y]
        away = max(away, total)
    return away / largest if largest > 0 else 0.0


@given(
    ensembles(min_points=2, weighted=False),
    st.sampled_from(["pairs", "counts"]),
    st.sampled_from(["zero", "keep"]),
)
def test_zeta_of_an_ensemble_by_brute_force(ensemble, similarity, diagonal):
    counts, pairs = brute_force_coassociation(ensemble)
    S = pairs if similarity == "pairs" else counts
    if diagonal == "zero":
        np.fill_diagonal(S, 0.0)
    expected = [brute_force_zeta(S, labels) for labels in ensemble.labels.T]
    found = near_decomposability(ensemble, similarity=similarity, diagonal=diagonal)
    np.testing.assert_allclose(found.zeta, expected, atol=1e-9)
    assert found.median == pytest.approx(np.median(expected), abs=1e-9)
    first = ensemble.labels[:, 0]
    alone = near_decomposability(ensemble, first, similarity=similarity, diagonal=diagonal)
    assert alone.median == pytest.approx(expected[0], abs=1e-9)
    for matrix in (S, sparse.csr_matrix(S)):
        again = near_decomposability(matrix, first, diagonal="keep")
        assert again.median == pytest.approx(expected[0], abs=1e-9)


@given(ensembles(min_points=2, unsampled=False), st.integers(0, 20))
def test_zeta_of_weighted_points_is_that_of_copies(ensemble, seed):
    rng = np.random.default_rng(seed)
    copies = rng.integers(1, 4, ensemble.n_points)
    expanded = ensemble.subset(np.repeat(np.arange(ensemble.n_points), copies))
    expanded = expanded.with_weights(sample_weight=np.ones(copies.sum()))
    weighted = ensemble.with_weights(sample_weight=copies)
    np.testing.assert_allclose(
        near_decomposability(weighted).zeta, near_decomposability(expanded).zeta, atol=1e-9
    )


def test_zeta_at_its_ends_and_what_it_refuses():
    blocks = np.kron(np.eye(2), np.ones((3, 3)))
    assert near_decomposability(blocks, np.repeat([0, 1], 3)).median == 0.0
    assert near_decomposability(1.0 - blocks, np.repeat(["a", "b"], 3)).median == 1.0
    agreed = Ensemble.from_labels([[0, 0, 1, 1]] * 3)
    assert near_decomposability(agreed).zeta.tolist() == [0, 0, 0]
    lonely = Ensemble.from_labels([[0, 1, 2]])
    assert near_decomposability(lonely).median == 0.0
    with pytest.raises(ValueError, match="labels must be given with a similarity matrix"):
        near_decomposability(blocks)
    with pytest.raises(ValueError, match="labels has 2 entries for 6 points"):
        near_decomposability(blocks, [0, 1])
    with pytest.raises(ValueError, match="finite similarities >= 0"):
        near_decomposability(-blocks, np.repeat([0, 1], 3))
    with pytest.raises(TypeError, match="pass the ensemble itself"):
        near_decomposability(agreed.coassociation(), [0, 0, 1, 1])


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(1, 4)),
        min_size=1,
        max_size=6,
    )
)
def test_weighted_median_is_the_median_of_repetitions(items):
    values, times = np.array([v for v, _ in items]), np.array([t for _, t in items])
    assert weighted_median(values, times) == pytest.approx(np.median(np.repeat(values, times)))
