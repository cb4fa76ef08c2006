"""Two Gaussians, the mixtures with noise features, noisy blocks, and the nearest correlation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from clusterscape.datasets.mixtures import (
    bayes_accuracy,
    make_g1,
    make_g2,
    make_g3,
    make_perturbed_similarity,
    make_two_gaussians,
    nearest_correlation,
)

# ---- two Gaussians --------------------------------------------------------------------------


def test_the_moments_are_those_asked_for(seed) -> None:
    mean = np.array([2.0, -1.0, 0.0])
    covariance = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.7]])
    X, y = make_two_gaussians(40_000, mean, covariance=covariance, random_state=seed)
    assert X.dtype == np.float64
    assert set(np.unique(y)) == {0, 1}
    assert abs(y.mean() - 0.5) < 0.01
    for label, sign in ((1, 1.0), (0, -1.0)):
        part = X[y == label]
        assert np.allclose(part.mean(axis=0), sign * mean, atol=0.05)
        assert np.allclose(np.cov(part.T), covariance, atol=0.06)


def test_a_share_and_a_singular_covariance() -> None:
    X, y = make_two_gaussians(
        5000, [1.0, 1.0], covariance=np.ones((2, 2)), share=0.9, random_state=0
    )
    assert abs(y.mean() - 0.9) < 0.02
    assert np.allclose(X[:, 0], X[:, 1])


def test_the_same_seed_gives_the_same_points() -> None:
    for make in (make_g1, make_g2, make_g3):
        a, b = make(20, random_state=3), make(20, random_state=3)
        assert np.array_equal(a.X, b.X)
        assert np.array_equal(a.y, b.y)
        assert np.array_equal(a.covariance, b.covariance)
        assert not np.array_equal(a.X, make(20, random_state=4).X)
    first, second = (make_perturbed_similarity(9, random_state=1)[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_bayes_accuracy_is_reached_by_the_best_rule_and_by_no_less() -> None:
    mean = np.array([0.8, 0.4])
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    best = bayes_accuracy(mean, covariance)
    assert best == pytest.approx(norm.cdf(np.sqrt(mean @ np.linalg.inv(covariance) @ mean)))
    X, y = make_two_gaussians(100_000, mean, covariance=covariance, random_state=0)
    rule = X @ np.linalg.solve(covariance, mean) > 0
    assert np.mean(rule == y) == pytest.approx(best, abs=0.005)
    learnt = LinearDiscriminantAnalysis().fit(X, y).score(X, y)
    assert learnt == pytest.approx(best, abs=0.005)
    assert np.mean((X @ mean > 0) == y) < best - 0.005  # a rule that ignores the covariance
    assert bayes_accuracy(mean) == pytest.approx(norm.cdf(np.linalg.norm(mean)))


# ---- G1, G2, G3 -----------------------------------------------------------------------------


def test_g1(seed) -> None:
    drawn = make_g1(100, random_state=seed)
    assert drawn.X.shape == (100, 200)
    assert drawn.mean.tolist() == [0.0] * 100 + [float(i) for i in range(1, 101)]
    assert np.array_equal(drawn.covariance.diagonal(), np.ones(200))
    assert np.array_equal(drawn.covariance, drawn.covariance.T)
    assert np.linalg.eigvalsh(drawn.covariance).min() > 0.9e-3
    apart = drawn.covariance[np.triu_indices(200, 1)]
    assert np.mean((apart > 0) & (apart < 0.5)) > 0.99
    assert abs(apart.mean() - 0.25) < 0.02
    assert drawn.bayes_accuracy == 1.0


def test_g2_and_g3(seed) -> None:
    weak = make_g2(3000, random_state=seed)
    assert weak.X.shape == (3000, 120)
    assert not weak.mean[:100].any()
    assert weak.mean[100:].min() >= 0
    assert weak.mean[100:].max() <= 1
    assert np.ptp(weak.mean[100:]) > 0.3
    rule = weak.X @ weak.mean > 0
    assert np.mean(rule == weak.y) == pytest.approx(weak.bayes_accuracy, abs=0.01)
    strong = make_g3(50, random_state=seed)
    assert strong.X.shape == (50, 1020)
    assert not strong.mean[:1000].any()
    assert np.sort(np.abs(strong.mean[1000:])).tolist() == [float(i) for i in range(1, 21)]
    assert {-1.0, 1.0} == set(np.sign(strong.mean[1000:]))
    assert np.array_equal(strong.covariance, np.eye(1020))


# ---- the perturbation model -----------------------------------------------------------------


@given(
    st.integers(2, 60), st.floats(0.01, 1.0), st.sampled_from([0.0, 0.2, 0.5]), st.integers(0, 9)
)
def test_blocks_and_noise(n: int, balance: float, overlap: float, seed: int) -> None:
    P, y = make_perturbed_similarity(
        n, balance=balance, overlap=overlap, sigma=0.7, random_state=seed
    )
    assert np.array_equal(P, P.T)
    assert (np.diff(y) >= 0).all()
    first, second = np.bincount(y)
    assert first + second == n
    assert abs(second - balance * first) <= 1.0 + balance or second == 1
    clean = make_perturbed_similarity(n, balance=balance, overlap=overlap, sigma=0.0)[0]
    assert np.array_equal(clean, np.where(y[:, None] == y, 1 - overlap, overlap))


def test_noise_has_the_standard_deviation_asked_for() -> None:
    P, _ = make_perturbed_similarity(300, sigma=2.5, overlap=0.5, random_state=0)
    noise = (P - 0.5)[np.tril_indices(300)]
    assert noise.std() == pytest.approx(2.5, rel=0.02)
    assert abs(noise.mean()) < 0.05
    assert (P - 0.5).diagonal().std() == pytest.approx(2.5, rel=0.15)


# ---- the nearest correlation matrix -----------------------------------------------------------


def optimality_gaps(given: np.ndarray, found: np.ndarray, floor: float) -> tuple[float, float]:
    """Return how far ``found`` misses the conditions of the optimum: each is 0 there.

    The optimum differs from the given matrix by a diagonal and a positive semidefinite matrix Z
    that is orthogonal to ``found - floor I``.
    """
    above = found - floor * np.eye(len(found))
    residual = found - given
    diagonal = np.diag(residual @ above) / above.diagonal()
    Z = residual - np.diag(diagonal)
    scale = max(np.linalg.norm(given), 1.0)
    return -np.linalg.eigvalsh(Z).min() / scale, np.linalg.norm(Z @ above) / scale


@given(st.integers(2, 12), st.floats(0.2, 2.0), st.sampled_from([0.0, 0.1]), st.integers(0, 999))
def test_nearest_correlation_is_optimal(p: int, width: float, floor: float, seed: int) -> None:
    drawn = np.random.default_rng(seed).uniform(-width, width, size=(p, p))
    given = (drawn + drawn.T) / 2
    found = nearest_correlation(given, min_eigenvalue=floor, tol=1e-10)
    assert np.array_equal(found.diagonal(), np.ones(p))
    assert np.array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > floor - 1e-8
    negative, product = optimality_gaps(given, found, floor)
    assert negative < 1e-6
    assert product < 1e-6


def test_a_case_of_three_solved_by_one_variable() -> None:
    """Of the form (a, b, a), the singular ones have b = 2 a^2 - 1."""
    given = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    best = minimize_scalar(lambda a: 2 * (a - 1) ** 2 + (2 * a**2 - 1) ** 2, bounds=(0.5, 1)).x
    found = nearest_correlation(given, tol=1e-12)
    assert found[0, 1] == pytest.approx(best, abs=1e-5)
    assert found[0, 2] == pytest.approx(2 * best**2 - 1, abs=1e-5)
    without = found.copy()
    without[0, 2] = without[2, 0] = 0.0
    assert optimality_gaps(given, without, 0.0)[1] > 0.01  # the conditions can fail


def test_a_correlation_matrix_stays_as_it_is() -> None:
    given = np.array([[1.0, 0.3], [0.3, 1.0]])
    assert np.allclose(nearest_correlation(given), given, atol=1e-12)


# ---- bad input --------------------------------------------------------------------------------


def test_bad_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="mean must be a list of finite numbers"):
        make_two_gaussians(5, [[1.0]])
    with pytest.raises(ValueError, match="mean must be a list of finite numbers"):
        bayes_accuracy([np.nan])
    with pytest.raises(ValueError, match="covariance is for 2 features, but mean has 1"):
        make_two_gaussians(5, [1.0], covariance=np.eye(2))
    with pytest.raises(ValueError, match="covariance is not symmetric"):
        make_two_gaussians(5, [1.0, 1.0], covariance=[[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(ValueError, match="eigenvalue -1.*nearest_correlation"):
        make_two_gaussians(5, [1.0, 1.0], covariance=[[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(ValueError, match="covariance is not positive definite"):
        bayes_accuracy([1.0, 1.0], [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="matrix must be square"):
        nearest_correlation([[1.0, 0.0]])
    with pytest.raises(ValueError, match="matrix has entries that are not finite"):
        nearest_correlation([[1.0, np.inf], [np.inf, 1.0]])
    with pytest.raises(RuntimeError, match="not reached in max_iter=1"):
        nearest_correlation([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]], max_iter=1)
    with pytest.raises(ValueError, match="make_perturbed_similarity: balance must be"):
        make_perturbed_similarity(5, balance=0.0)
