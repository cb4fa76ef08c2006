"""Theory of cluster forests against samples: kappa of noise, the k-means rule, and the cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from clusterscape.datasets.mixtures import make_two_gaussians
from clusterscape.forest.theory import (
    misclustering_exponent,
    misclustering_rate,
    noise_kappa,
    population_centers,
    population_kappa,
    simulate_misclustering,
)
from clusterscape.linalg.kmeans import kmeans

MEANS = st.lists(st.floats(-8, 8), min_size=1, max_size=5)
BALANCE = st.floats(0.01, 1.0)
SIGMA = st.floats(0.05, 20.0)


def sample_kappa(X: np.ndarray, labels: np.ndarray, form: str) -> float:
    """Return kappa of a partition by its definition, sums over clusters."""
    parts = [X[labels == c] for c in np.unique(labels)]
    centred = [((part - part.mean(axis=0)) ** 2).sum() for part in parts]
    total = ((X - X.mean(axis=0)) ** 2).sum()
    if form == "anova":
        return sum(centred) / (total - sum(centred))
    within = sum(len(part) * ss for part, ss in zip(parts, centred, strict=True))
    return within / (len(X) * total - within)


# ---- Theorem 1 and Lemma 1 --------------------------------------------------------------------


@pytest.mark.parametrize("form", ["pairs", "anova"])
@pytest.mark.parametrize("means", [[3.0], [1.0], [0.5, -0.7, 1.2], [2.0, 0.0]])
def test_population_kappa_is_the_limit_of_samples(means: list[float], form: str) -> None:
    X, _ = make_two_gaussians(30_000, [*means, 0.0], random_state=0)
    d = len(means)
    kappas = []
    for width in (d, d + 1):
        part = X[:, :width]
        labels = kmeans(part, 2, n_init=3, seed=0).labels
        kappas.append(sample_kappa(part, labels, form))
    expected = noise_kappa(means, form=form)
    assert kappas[0] == pytest.approx(expected.without, rel=0.03)
    assert kappas[1] == pytest.approx(expected.with_noise, rel=0.03)
    assert kappas[1] > kappas[0]
    assert expected.without == population_kappa(means, form=form)


@given(MEANS, st.integers(1, 4))
def test_noise_always_raises_kappa(means: list[float], n_noise: int) -> None:
    for form in ("pairs", "anova"):
        found = noise_kappa(means, n_noise=n_noise, form=form)
        assert found.rise > 0
        assert found.with_noise == population_kappa([*means, *[0.0] * n_noise], form=form)


@given(MEANS, MEANS)
def test_both_forms_rank_alike(a: list[float], b: list[float]) -> None:
    def order(form: str) -> float:
        gap = population_kappa(a, form=form) - population_kappa(b, form=form)
        return 0.0 if abs(gap) < 1e-9 else float(np.sign(gap))

    assert order("pairs") * order("anova") >= 0


@given(MEANS)
def test_kappa_obeys_equation_11(means: list[float]) -> None:
    """1 / kappa = 1 + |centres apart|^2 / (4 SS_W), and the total variance is |mean|^2 + d."""
    low, high = population_centers(means)
    assert np.array_equal(low, -high)
    within = (np.sum(np.square(means)) + len(means) - high @ high) / 2
    expected = 1 + np.sum((high - low) ** 2) / (4 * within)
    assert 1 / population_kappa(means) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("m", [0.0, 0.3, 1.0, 4.0])
def test_the_centre_is_the_mean_of_one_side(m: float) -> None:
    # A side has half of the mass, and so has each Gaussian: the density of a side is their sum.
    side = quad(lambda x: x * (norm.pdf(x, m) + norm.pdf(x, -m)), 0, 20)[0]
    assert population_centers([m])[1, 0] == pytest.approx(side, rel=1e-8)


def test_kmeans_is_the_best_rule_for_two_round_gaussians() -> None:
    """Lemma 1: the boundary is the plane across the means; the centres are not the means."""
    mean = np.array([1.2, -0.5, 0.8])
    X, y = make_two_gaussians(60_000, mean, random_state=1)
    found = kmeans(X, 2, n_init=3, seed=0)
    low, high = sorted(found.centers, key=lambda c: float(c @ mean))
    best = X @ mean > 0
    mine = ((X - high) ** 2).sum(axis=1) < ((X - low) ** 2).sum(axis=1)
    assert np.mean(mine == best) > 0.99
    assert np.mean(mine == y) == pytest.approx(norm.cdf(np.linalg.norm(mean)), abs=0.005)
    expected = population_centers(mean)
    assert np.allclose([low, high], expected, atol=0.03)
    assert not np.allclose(expected[1], mean, atol=0.03)


def test_noise_alone_has_a_kappa_too() -> None:
    assert population_kappa([0.0]) == pytest.approx((1 - 2 / np.pi) / (1 + 2 / np.pi))
    assert np.abs(population_centers([0.0, 0.0])).max() == pytest.approx(np.sqrt(2 / np.pi))


# ---- Theorem 2 --------------------------------------------------------------------------------


@given(BALANCE, SIGMA)
def test_the_exponent_is_largest_for_equal_clusters(balance: float, sigma: float) -> None:
    for form in ("printed", "corrected"):
        best = misclustering_exponent(1.0, sigma, form=form)
        assert best == pytest.approx(1 / (8 * sigma**2))
        assert 0 < misclustering_exponent(balance, sigma, form=form) <= best
        assert misclustering_exponent(balance, 2 * sigma) < misclustering_exponent(balance, sigma)
    printed = misclustering_exponent(balance, sigma)
    assert printed == pytest.approx(
        balance**2 / (2 * sigma**2 * (1 + balance) * (1 + balance**3)), rel=1e-12
    )
    assert misclustering_exponent(balance, sigma, form="corrected") == pytest.approx(
        balance * printed
    )


def test_the_derivative_of_the_printed_exponent_vanishes_at_balance_1() -> None:
    near = [misclustering_exponent(1.0 - h, 1.0) for h in (1e-3, 1e-4)]
    assert (0.125 - near[0]) / 1e-3 < 1e-3
    assert (0.125 - near[1]) / 1e-4 < 1e-4


@pytest.mark.parametrize("form", ["printed", "corrected"])
@pytest.mark.parametrize("balance", [1.0, 0.5, 0.2])
def test_the_rate_tends_to_the_exponent(balance: float, form: str) -> None:
    sigma = 2.0
    limit = misclustering_exponent(balance, sigma, form=form)
    sizes = np.array([1, 4, 16]) * int(20 / limit)
    gaps = [
        abs(-np.log(misclustering_rate(int(n), balance, sigma, form=form)) / n / limit - 1)
        for n in sizes
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02


def test_the_corrected_tails_follow_from_the_proof() -> None:
    """The entries of the second eigenvector over the standard deviation of what the noise adds."""
    n, balance, sigma = 900, 0.25, 2.0
    n1 = n / (1 + balance)
    n2 = n - n1
    entry = np.array([balance**1.5, 1.0]) / np.sqrt(n1 * balance**3 + n2)
    degree = np.array([n1, n2])
    deviation = [
        sigma * np.sqrt(n1 * entry[0] ** 2 / (d * n1) + n2 * entry[1] ** 2 / (d * n2))
        for d in degree
    ]
    expected = (degree * norm.sf(entry / deviation)).sum() / n
    assert misclustering_rate(n, balance, sigma, form="corrected") == pytest.approx(expected)


@given(st.integers(2, 3000), BALANCE, SIGMA, st.floats(0, 0.5))
def test_rates_are_shares_and_grow_with_the_noise(
    n: int, balance: float, sigma: float, overlap: float
) -> None:
    for form in ("printed", "corrected", "refined"):
        rate = misclustering_rate(n, balance, sigma, form=form, overlap=overlap)
        assert 0 <= rate <= 0.5
        louder = misclustering_rate(n, balance, 1.5 * sigma, form=form, overlap=overlap)
        assert louder >= rate - 1e-12


def test_the_refined_rate_of_equal_clusters_is_that_of_a_spiked_matrix() -> None:
    """There the signal keeps the share 1 - s^2 / l^2 of the eigenvector, l its eigenvalue."""
    for n, sigma, overlap in ((400, 4.0, 0.1), (900, 4.0, 0.05), (1600, 6.0, 0.2)):
        strength = (1 - 2 * overlap) * np.sqrt(n) / (2 * sigma)
        expected = norm.sf(np.sqrt(strength**2 - 1))
        found = misclustering_rate(n, 1.0, sigma, form="refined", overlap=overlap)
        assert found == pytest.approx(expected, rel=1e-6)
    assert misclustering_rate(100, 1.0, 5.0, form="refined", overlap=0.1) == 0.5


def test_simulations_follow_the_refined_rate_not_the_printed_one() -> None:
    found = simulate_misclustering(400, 0.4, 2.0, overlap=0.15, n_draws=12, random_state=0)
    refined = misclustering_rate(400, 0.4, 2.0, form="refined", overlap=0.15)
    assert abs(found.mean - refined) < 0.25 * refined + 3 * found.standard_error
    assert found.mean > 10 * misclustering_rate(400, 0.4, 2.0)
    assert found.n_refused == 0


def test_simulator_switches() -> None:
    clean = simulate_misclustering(80, 0.5, 0.0, n_draws=2, random_state=0)
    assert clean.rates.tolist() == [0.0, 0.0]
    settings = {"overlap": 0.1, "n_draws": 5, "random_state": 3}
    population = simulate_misclustering(200, 1.0, 2.0, **settings)
    again = simulate_misclustering(200, 1.0, 2.0, **settings)
    observed = simulate_misclustering(200, 1.0, 2.0, degrees="observed", **settings)
    assert np.array_equal(population.rates, again.rates)
    assert observed.mean > population.mean
    counted = observed.rates[~np.isnan(observed.rates)]
    assert counted.size + observed.n_refused == 5
    assert observed.mean == pytest.approx(counted.mean())
    assert observed.standard_error == pytest.approx(counted.std(ddof=1) / np.sqrt(counted.size))
    loud = simulate_misclustering(50, 1.0, 50.0, degrees="observed", n_draws=2, random_state=0)
    assert loud.n_refused == 2
    assert np.isnan(loud.mean)
    assert np.isnan(loud.rates).all()


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="means must be a list of finite numbers"):
        population_kappa([])
    with pytest.raises(ValueError, match="balance must be a number in"):
        misclustering_exponent(1.5, 1.0)
    with pytest.raises(ValueError, match="sigma must be"):
        misclustering_rate(10, 1.0, 0.0)
    with pytest.raises(ValueError, match="overlap must be"):
        simulate_misclustering(10, 1.0, 1.0, overlap=0.7)
