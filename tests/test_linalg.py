"""Operators and spectra against dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from clusterscape import Ensemble, linalg
from clusterscape.linalg import coassociation_spectrum, eigen, symmetric_eigen
from strategies import ensembles


def dense_normalised(ensemble):
    """D^-1/2 S D^-1/2 with every point repeated as often as it weighs."""
    matrix = ensemble.membership().matrix.toarray()
    S = (matrix * np.repeat(ensemble.weights, ensemble.n_clusters)) @ matrix.T
    degree = S @ ensemble.sample_weight
    root = np.sqrt(
        np.divide(ensemble.sample_weight, degree, out=np.zeros_like(degree), where=degree > 0)
    )
    return root[:, None] * S * root


@given(ensembles())
def test_spectrum_is_that_of_the_dense_matrix(ensemble):
    truth = np.sort(np.linalg.eigvalsh(dense_normalised(ensemble)))[::-1]
    assume(ensemble.offsets[-1] != 0)
    found = coassociation_spectrum(
        ensemble.coassociation(), ensemble.n_points, sample_weight=ensemble.sample_weight
    )
    m = found.values.size
    np.testing.assert_allclose(found.values, truth[:m], atol=1e-8)
    np.testing.assert_allclose(truth[m:], 0.0, atol=1e-8)
    assert found.residual < 1e-8


def test_both_sides_and_both_solvers_agree(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, size=(700, 6))
    labels[:350] = np.where(rng.random((350, 6)) < 0.7, 0, labels[:350])
    ensemble = Ensemble.from_labels(labels)
    truth = np.sort(np.linalg.eigvalsh(dense_normalised(ensemble)))[::-1]
    found = coassociation_spectrum(ensemble.coassociation(), 5)
    assert found.side == "clusters"
    np.testing.assert_allclose(found.values, truth[:5], atol=1e-8)
    dense = dense_normalised(ensemble)
    np.testing.assert_allclose(dense @ found.vectors, found.vectors * found.values, atol=1e-7)
    lanczos = symmetric_eigen(aslinearoperator(dense), 5)
    assert lanczos.solver == "lanczos"
    np.testing.assert_allclose(lanczos.values, truth[:5], atol=1e-8)
    wide = Ensemble.from_labels([np.arange(30), np.arange(30) // 2])
    assert coassociation_spectrum(wide.coassociation(), 3).side == "points"


def test_an_unconverged_spectrum_is_an_error(monkeypatch):
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*args, **kwargs):
        raise ArpackNoConvergence("no", np.ones(1), np.ones((700, 1)))

    monkeypatch.setattr(eigen, "eigsh", fail)
    operator = LinearOperator((700, 700), matvec=lambda v: v)
    with pytest.raises(RuntimeError, match="found 1 of 3 eigenvalues of a 700 x 700"):
        symmetric_eigen(operator, 3, solver="lanczos")
    # "auto" goes on with LOBPCG, and what that returns is checked too.
    assert symmetric_eigen(operator, 3).solver == "lobpcg"
    wrong = (np.full(3, 2.0), np.eye(700)[:, :3])
    monkeypatch.setattr(eigen, "lobpcg", lambda *args, **kwargs: wrong)
    with pytest.raises(RuntimeError, match="residual 1.0e"):
        symmetric_eigen(operator, 3)


@pytest.mark.parametrize("which", ["largest", "smallest"])
@pytest.mark.parametrize("solver", ["dense", "lanczos", "lobpcg"])
def test_every_solver_finds_either_end(which, solver):
    rng = np.random.default_rng(3)
    values = np.concatenate([[-9.0, -7.0, -6.5], rng.uniform(-1, 1, 194), [5.0, 6.0, 8.0]])
    basis = np.linalg.qr(rng.standard_normal((200, 200)))[0]
    matrix = (basis * values) @ basis.T
    found = symmetric_eigen(matrix, 3, which=which, solver=solver)
    assert found.solver == solver
    assert found.residual < 1e-5
    expected = [8.0, 6.0, 5.0] if which == "largest" else [-9.0, -7.0, -6.5]
    np.testing.assert_allclose(found.values, expected, atol=1e-8)
    np.testing.assert_allclose(matrix @ found.vectors, found.vectors * found.values, atol=1e-5)


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_operators_equal_their_dense_twins(seed, n):
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) * (rng.random((n, n)) < 0.6)
    A = A + A.T
    B = rng.random((n, n))
    B = B + B.T
    weights = rng.integers(1, 4, n).astype(float)
    degree = A @ weights
    np.testing.assert_allclose(linalg.row_sums(A, weights), degree)
    inverse = np.divide(1, degree, out=np.zeros(n), where=degree > 0)
    inner = np.sqrt(weights * inverse)[:, None] * A * np.sqrt(weights * inverse)
    eye = np.eye(n)
    np.testing.assert_allclose(linalg.normalized(A, weights) @ eye, inner, atol=1e-12)
    np.testing.assert_allclose(
        linalg.normalized_laplacian(A, weights) @ eye, eye - inner, atol=1e-12
    )
    both = linalg.combination(A, B, shares=(2, -3)) @ eye
    np.testing.assert_allclose(both, 2 * A - 3 * B, atol=1e-12)
    np.testing.assert_allclose(
        linalg.without_diagonal(A, weights) @ eye, A - np.diag(weights), atol=1e-12
    )


def test_weights_of_the_normalised_operator_are_copies():
    rng = np.random.default_rng(0)
    A = rng.random((5, 5))
    A = A + A.T
    weights = np.array([1, 3, 2, 1, 2])
    copies = np.repeat(np.arange(5), weights)
    full = linalg.normalized(A[np.ix_(copies, copies)]) @ np.eye(9)
    few = linalg.normalized(A, weights.astype(float)) @ np.eye(5)
    expected = np.linalg.eigvalsh(full)
    expected = expected[np.argsort(-np.abs(expected))][:5]
    np.testing.assert_allclose(np.linalg.eigvalsh(few), np.sort(expected), atol=1e-12)


def test_counts_of_a_refined_partition():
    ensemble = Ensemble.from_labels([[0, 0, 1, 1, 2, 2]] * 3)
    values = coassociation_spectrum(ensemble.coassociation(), 6).values
    np.testing.assert_allclose(values[:3], 1.0)
    np.testing.assert_allclose(values[3:], 0.0, atol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "lanczos", "lobpcg"])
def test_repeated_eigenvalues_are_all_found(solver):
    """Groups that nothing links have an eigenvalue of one each; one Krylov space sees one copy."""
    rng = np.random.default_rng(0)
    sizes = [180, 160, 170, 150, 140]
    blocks = [rng.random((n, n)) + 0.5 for n in sizes]
    matrix = block_diag(*(b + b.T for b in blocks))
    order = rng.permutation(len(matrix))
    matrix = matrix[np.ix_(order, order)]
    for seed in range(3):
        found = symmetric_eigen(linalg.normalized(matrix), 6, solver=solver, seed=seed)
        np.testing.assert_allclose(found.values[:5], 1.0, atol=1e-7)
        assert found.values[5] < 0.2
        np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-6)
    low = symmetric_eigen(
        linalg.normalized_laplacian(matrix), 6, which="smallest", solver=solver
    ).values
    np.testing.assert_allclose(low[:5], 0.0, atol=1e-7)
    planted = np.repeat(np.arange(5), 300)
    labels = np.column_stack([planted * 3 + rng.integers(0, 3, 1500) for _ in range(60)])
    ensemble = Ensemble.from_labels(labels)
    values = coassociation_spectrum(ensemble.coassociation(), 7).values
    np.testing.assert_allclose(values[:5], 1.0, atol=1e-7)
    assert values[5] < 0.5


def test_a_small_operator_is_held_to_its_own_norm(monkeypatch):
    scale = 1e-9 * np.linspace(0.0, 1.0, 700)
    wrong = (np.full(3, 0.5e-9), np.eye(700)[:, :3])
    monkeypatch.setattr(eigen, "lobpcg", lambda *args, **kwargs: wrong)
    monkeypatch.setattr(eigen, "_with_missing", lambda A, values, vectors, rng: (values, vectors))
    operator = LinearOperator((700, 700), matvec=lambda v: scale * v.ravel())
    with pytest.raises(RuntimeError, match="residual 5.0e-10"):
        symmetric_eigen(operator, 3, solver="lobpcg")


def test_no_eigenvalue_is_missed_where_they_coincide() -> None:
    """LAPACK finds none in a range of this matrix, which is the identity up to rounding."""
    first = np.full(37, 37**-0.5)
    first[0] += 1.0
    first /= np.linalg.norm(first)
    reflection = np.eye(37) - 2.0 * np.outer(first, first)
    nearly_one = (reflection @ reflection.T)[1:, 1:]
    values, vectors = eigen.largest_pairs((nearly_one + nearly_one.T) / 2, 3)
    assert values == pytest.approx(np.ones(3))
    assert vectors.T @ vectors == pytest.approx(np.eye(3))
    assert symmetric_eigen(nearly_one, 3, solver="dense").values == pytest.approx(np.ones(3))
    values, vectors = eigen.largest_pairs(2.0 * nearly_one, 3, np.eye(36))
    assert values == pytest.approx(np.full(3, 2.0))
    assert vectors.shape == (36, 3)
