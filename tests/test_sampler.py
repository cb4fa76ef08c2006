"""PartitionSampler draws partitions as often as it says, the same ones whatever interrupts it."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape._core.store import AnotherRunError
from clusterscape.explore import (
    PartitionSampler,
    SamplingWarning,
    autocorrelation,
    effective_sample_size,
    kernel_quality,
    kmeans_quality,
    sampler,
    separation_quality,
    split_rhat,
    weighted_kernel_quality,
)
from clusterscape.explore.diagnostics import diagnosed
from clusterscape.explore.walk import Pilot

QUALITY = {
    "kmeans": kmeans_quality,
    "kernel": lambda X, y: kernel_quality(X, y, bandwidth=1.0),
    "separation": lambda X, y: separation_quality(X, y, bandwidth=1.0),
    "weighted_kernel": lambda X, y: weighted_kernel_quality(X, y, bandwidth=1.0),
}


def named(labels: np.ndarray) -> tuple[int, ...]:
    """Return a partition with its clusters numbered as they appear."""
    number: dict[int, int] = {}
    return tuple(number.setdefault(int(v), len(number)) for v in labels)


def exact(X: np.ndarray, s: int, weight, least: int = 1) -> dict[tuple[int, ...], float]:
    """Return the probability of every partition, by enumeration."""
    found = {}
    for labels in itertools.product(range(s), repeat=len(X)):
        if np.bincount(labels, minlength=s).min() >= least:
            found.setdefault(named(labels), weight(np.array(labels)))
    total = sum(found.values())
    return {partition: value / total for partition, value in found.items()}


def p_value(ensemble, expected: dict[tuple[int, ...], float]) -> float:
    """Return the p-value of the chi-square test of the frequencies."""
    seen = Counter(named(column) for column in ensemble.labels.T)
    assert set(seen) <= set(expected)
    m = ensemble.n_partitions
    square = sum((seen[p] - m * q) ** 2 / (m * q) for p, q in expected.items())
    return float(chi2.sf(square, len(expected) - 1))


POINTS = np.random.default_rng(3).normal(size=(6, 2))


def sampled(X: np.ndarray, s: int = 2, **how) -> PartitionSampler:
    plain = {"n_samples": 6000, "burn_in": 20, "thin": 4, "min_cluster_size": 1, "power": 1.0}
    plain |= {"n_temperatures": 1, "merge_split": 0, "n_chains": 2, "bandwidth": 1.0}
    made = PartitionSampler(s, **(plain | how), random_state=0, progress=False)
    made.generate(X)
    return made


@pytest.mark.parametrize("name", QUALITY)
def test_frequencies_are_those_of_enumeration(name: str) -> None:
    X = POINTS[:5]
    made = sampled(X, quality=name)
    shift = 1.0 if name == "separation" else 0.0
    expected = exact(X, 2, lambda y: QUALITY[name](X, y) + shift)
    assert len(expected) == 15
    assert p_value(made.ensemble_, expected) > 1e-3


@pytest.mark.parametrize(
    "how",
    [
        {"merge_split": 1},
        {"merge_split": 2, "min_cluster_size": 2, "thin": 20, "n_samples": 3000},
        {"method": "metropolis", "subset_size": 2, "thin": 8},
        {"n_temperatures": 3},
        {"n_random_features": 400},
    ],
    ids=str,
)
def test_all_moves_keep_the_frequencies(how: dict) -> None:
    made = sampled(POINTS, 3, quality="separation", power=4.0, **how)
    least = how.get("min_cluster_size", 1)
    shift = 9 / 4

    def weight(labels: np.ndarray) -> float:
        more = {"n_components": how["n_random_features"]} if "n_random_features" in how else {}
        seed = np.random.SeedSequence(0).spawn(1)[0]
        value = separation_quality(POINTS, labels, bandwidth=1.0, random_state=seed, **more)
        return (value + shift) ** 4

    assert p_value(made.ensemble_, exact(POINTS, 3, weight, least)) > 1e-3


@pytest.mark.parametrize("method", ["gibbs", "metropolis"])
def test_a_function_of_ones_own(method: str) -> None:
    def uneven(X: np.ndarray, labels: np.ndarray) -> float:
        return 1.0 + 5.0 * (labels[0] == labels[1])

    made = sampled(
        POINTS[:4], quality=uneven, merge_split="auto", n_samples=2000, method=method, thin=6
    )
    expected = exact(POINTS[:4], 2, lambda y: uneven(POINTS, y))
    assert p_value(made.ensemble_, expected) > 1e-3


def test_transforms() -> None:
    X = POINTS[:5]
    by_exp = sampled(X, quality="separation", weighting="exp", power=2.0)
    weights = exact(X, 2, lambda y: np.exp(2.0 * QUALITY["separation"](X, y)))
    assert p_value(by_exp.ensemble_, weights) > 1e-3
    # Two far places, four clusters: where all have points of both, no candidate is above zero.
    places = np.repeat([[0.0], [100.0]], 8, axis=0)
    clipped = sampled(places, 4, quality="separation", weighting="clip", burn_in=0, n_samples=100)
    assert clipped.diagnostics_[4].uniform > 0


def blobs(n: int = 90, s: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % s
    return 7.0 * rng.normal(size=(s, 2))[labels] + rng.normal(size=(n, 2)), labels


@pytest.mark.parametrize(
    "name", [*QUALITY, "variance_ratio", "centroid_silhouette", "centroid_dunn"]
)
@pytest.mark.parametrize("n_components", [None, 40])
def test_quality_does_not_drift(name: str, n_components: int | None) -> None:
    """The quality followed over thousands of moves is that of the partitions themselves."""
    X, _ = blobs()
    made = PartitionSampler(
        3, n_samples=900, burn_in=0, quality=name, power=1.0, bandwidth=2.0, n_chains=1,
        n_random_features=n_components, random_state=0, progress=False,
    )  # fmt: skip
    made.generate(X)
    assert made.diagnostics_[3].moved > 0.3
    space = made._space(sampler.read_features(X), np.random.SeedSequence(0).spawn(2)[0])
    values = sampler_values(space, name, made.ensemble_.labels[:, ::9])
    assert np.abs(values - made.quality_[::9]).max() < 1e-9 * max(1.0, np.abs(values).max())


def sampler_values(space, name: str, labels: np.ndarray) -> np.ndarray:
    """Return qualities from whole sums over the inner products."""
    K = space.basis if space.is_dense else space.basis @ space.basis.T
    n, found = len(K), []
    for column in labels.T:
        Z = np.eye(column.max() + 1)[column]
        S, sizes = Z.T @ K @ Z, Z.sum(axis=0)
        kappa = S / np.outer(sizes, sizes)
        between = (np.diagonal(S) / sizes).sum()
        within = np.trace(K) - between
        spread = Z.T @ np.diagonal(K) / sizes - np.diagonal(kappa)
        gaps = np.diagonal(kappa)[:, None] + np.diagonal(kappa) - 2 * kappa
        np.fill_diagonal(gaps, np.inf)
        near = gaps.min(axis=1)
        found.append(
            {
                "kmeans": 1 / within,
                "kernel": np.trace(kappa),
                "separation": np.trace(kappa) ** 2 - kappa.sum(),
                "weighted_kernel": between / n,
                "variance_ratio": (between - K.sum() / n) / within * (n - len(S)) / (len(S) - 1),
                "centroid_silhouette": (sizes * near / (near + spread)).sum() / n,
                "centroid_dunn": 0.5 * np.sqrt(near.min() / spread.max()),
            }[name]
        )
    return np.array(found)


def test_auto_power_finds_the_clusters_from_any_start() -> None:
    X, truth = blobs()
    made = PartitionSampler(3, n_samples=400, burn_in=100, random_state=0, progress=False)
    made.generate(X)
    found = made.diagnostics_[3]
    assert made.powers_[3][0] > len(X) / 10
    assert found.disagreement < 0.05
    assert found.rhat_quality < 1.1
    same = truth[:, None] == truth[None, :]
    share = np.mean([(c[:, None] == c[None, :])[same].mean() for c in made.ensemble_.labels.T])
    assert share > 0.85
    literal = PartitionSampler(
        3, n_samples=100, burn_in=50, power=1.0, random_state=0, progress=False
    )
    literal.generate(X)
    assert literal.quality_.mean() < 0.7 * made.quality_.mean()


def test_the_same_for_any_number_of_workers() -> None:
    X, _ = blobs(60)
    how = {"n_samples": 120, "burn_in": 10, "random_state": 5, "progress": False, "n_chains": 3}
    one, two = (PartitionSampler([2, 3], **how, n_jobs=j).generate(X) for j in (1, 2))
    assert one == two
    assert set(one.n_clusters) == {2, 3}


def test_ctrl_c_keeps_what_was_drawn_and_the_store_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = blobs(60)
    how = {"n_samples": 800, "burn_in": 100, "random_state": 1, "progress": False, "n_chains": 2}
    whole = PartitionSampler(3, **how)
    expected = whole.generate(X)
    calls = []
    true_round = sampler._Run._one

    def interrupted(self, i: int):
        calls.append(i)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return true_round(self, i)

    monkeypatch.setattr(sampler._Run, "_one", interrupted)
    short = PartitionSampler(3, **how, store=tmp_path)
    with pytest.warns(SamplingWarning, match="was interrupted; 400 of the n_samples=800"):
        part = short.generate(X)
    assert short.interrupted_
    assert (part.labels[:, :200] == expected.labels[:, :200]).all()
    monkeypatch.setattr(sampler._Run, "_one", true_round)
    again = PartitionSampler(3, **how, store=tmp_path)
    found = again.generate(X)
    assert found.labels.tobytes() == expected.labels.tobytes()
    assert found == expected
    assert again.quality_.tobytes() == whole.quality_.tobytes()
    assert repr(again.diagnostics_) == repr(whole.diagnostics_)
    with pytest.raises(AnotherRunError, match="burn_in was 100"):
        PartitionSampler(3, **(how | {"burn_in": 90}), store=tmp_path).generate(X)


def test_ctrl_c_before_the_first_sample_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self, i: int):
        raise KeyboardInterrupt

    monkeypatch.setattr(sampler._Run, "_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        PartitionSampler(3, n_samples=10, random_state=0, progress=False).generate(blobs()[0])


def test_clusters_are_never_smaller_than_allowed() -> None:
    X, _ = blobs(60)
    made = PartitionSampler(
        3, n_samples=200, burn_in=10, min_cluster_size=12, power=1.0, random_state=0,
        progress=False,
    ).generate(X)  # fmt: skip
    assert min(np.bincount(c, minlength=3).min() for c in made.labels.T) == 12


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"n_clusters": 4, "min_cluster_size": 3}, "need 12 points; X has 6"),
        ({"quality": kmeans_quality, "merge_split": 1}, "merge_split=1 needs a quality by name"),
        ({"quality": kmeans_quality, "weighting": "shift"}, "weighting='exp'"),
    ],
)
def test_what_does_not_fit_together_is_refused(how: dict, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PartitionSampler(**({"n_clusters": 2} | how), random_state=0).generate(POINTS)


def test_a_function_must_return_numbers_that_the_transform_takes() -> None:
    bad = PartitionSampler(2, quality=lambda X, y: -1.0, random_state=0, n_samples=2, power=1.0)
    with pytest.raises(ValueError, match="the function returned -1.0"):
        bad.generate(POINTS)


def test_diagnostics_of_known_series() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 4000))
    slow = np.zeros_like(noise)
    for t in range(1, 4000):
        slow[:, t] = 0.9 * slow[:, t - 1] + noise[:, t]
    # Of a process whose neighbours correlate by r, (1 - r) / (1 + r) of the draws are independent.
    assert effective_sample_size(slow) == pytest.approx(16_000 * 0.1 / 1.9, rel=0.25)
    assert autocorrelation(slow[0], max_lag=3)[1] == pytest.approx(0.9, abs=0.05)
    assert split_rhat(slow) < 1.05
    assert split_rhat(np.zeros((2, 10))) == 1.0
    assert split_rhat(np.repeat([[0.0], [1.0]], 10, axis=1)) == np.inf
    assert np.isnan(split_rhat(np.zeros((2, 2))))


def plain_ess(chains: np.ndarray) -> float:
    """Return the effective sample size by loops over lags, as its authors write it."""
    c, m = chains.shape
    within = np.mean([row.var(ddof=1) for row in chains])
    plus = within * (m - 1) / m + np.var([row.mean() for row in chains], ddof=1)
    rho = []
    for lag in range(m):
        products = [
            sum((row[i] - row.mean()) * (row[i + lag] - row.mean()) for i in range(m - lag))
            for row in chains
        ]
        rho.append(1.0 - (within - np.mean(products) / (m - 1)) / plus)
    total, least = 0.0, np.inf
    for t in range(m // 2):
        pair = rho[2 * t] + rho[2 * t + 1]
        if pair <= 0:
            break
        least = min(least, pair)
        total += least
    return float(c * m / max(2.0 * total - 1.0, 1.0 / np.log10(c * m)))


def plain_rhat(chains: np.ndarray) -> float:
    half = chains.shape[1] // 2
    halves = [part for row in chains for part in (row[:half], row[half : 2 * half])]
    within = sum(h.var(ddof=1) for h in halves) / len(halves)
    between = half * np.var([h.mean() for h in halves], ddof=1)
    return float(np.sqrt(((half - 1) / half * within + between / half) / within))


@pytest.mark.parametrize("m", [21, 60])
def test_diagnostics_against_plain_loops(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    chains = rng.normal(size=(3, m)).cumsum(axis=1) * 0.2 + rng.normal(size=(3, m))
    assert effective_sample_size(chains) == pytest.approx(plain_ess(chains))
    assert split_rhat(chains) == pytest.approx(plain_rhat(chains))
    samples = rng.integers(2, size=(3, m, 6))
    told = diagnosed(
        samples, chains, np.zeros((1, 6)), np.zeros((1, 2)), sweeps=m, n_clusters=2, n_distinct=1,
        rng=np.random.default_rng(9),
    )  # fmt: skip
    # With six points all 15 pairs are among the 500 that are followed.
    rhats = [
        plain_rhat((samples[:, :, i] == samples[:, :, j]).astype(float))
        for i, j in itertools.combinations(range(6), 2)
    ]
    assert told.rhat_pairs_largest == pytest.approx(max(rhats))
    assert told.rhat_quality == pytest.approx(plain_rhat(chains))


@pytest.mark.parametrize(
    "how",
    [
        {"n_clusters": [2, 4], "n_temperatures": 3, "merge_split": 2},
        {"n_clusters": [2, 3], "method": "metropolis", "n_temperatures": 2},
        {"quality": kmeans_quality, "n_clusters": 2, "n_temperatures": 2, "power": 1.0},
    ],
    ids=["tempering, merges and splits", "metropolis", "a function"],
)
def test_a_stored_run_goes_on_byte_for_byte_with_all_moves(
    how: dict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _ = blobs(24)
    how = {"burn_in": 10, "n_samples": 440, "n_chains": 2, "random_state": 3} | how
    if callable(how.get("quality")):
        how["n_samples"] = 220
    whole = PartitionSampler(**how, progress=False)
    expected = whole.generate(X)
    true_round, calls = sampler._Run._one, []

    def interrupted(self, i: int):
        calls.append(i)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return true_round(self, i)

    monkeypatch.setattr(sampler._Run, "_one", interrupted)
    with pytest.warns(SamplingWarning, match="was interrupted"):
        PartitionSampler(**how, progress=False, store=tmp_path).generate(X)
    monkeypatch.setattr(sampler._Run, "_one", true_round)
    found = PartitionSampler(**how, progress=False, store=tmp_path, n_jobs=2)
    assert found.generate(X).labels.tobytes() == expected.labels.tobytes()
    assert found.quality_.tobytes() == whole.quality_.tobytes()


@pytest.mark.parametrize("weighting", ["power", "exp"])
@pytest.mark.parametrize("power", [1.0, 40.0])
def test_a_draw_has_the_probability_of_its_weight(weighting: str, power: float) -> None:
    """Also where bounds decide most draws: the candidates of one point, against their weights."""
    values = np.array([0.9, 1.0, 0.97, 0.5])
    rule = (1, 0.0, 0.0, kernels.gibbs.EXP if weighting == "exp" else kernels.gibbs.POWER, 0.1, 1.0)
    weight = np.exp(power * values) if weighting == "exp" else (values + 0.1) ** power
    share = weight / weight.sum()
    state, work = kernels.random.new_state(5), np.empty(4)
    for a in (0, 1):
        drawn = [kernels.gibbs.choose(rule, power, values, a, state, work) for _ in range(20_000)]
        seen = np.bincount(drawn, minlength=4)
        likely = share > 1e-4
        expected = 20_000 * share[likely]
        square = ((seen[likely] - expected) ** 2 / expected).sum()
        assert chi2.sf(square, likely.sum() - 1) > 1e-3
        assert seen[~likely].sum() <= 8


def test_the_power_is_the_least_that_is_good_enough() -> None:
    powers = np.array([1.0, 2.0, 4.0, 8.0])

    def found(*reached: float) -> float:
        return Pilot(powers, np.zeros(4), np.zeros(4), np.array(reached)).power

    assert found(0.2, 0.6, 0.97, 0.985) == 8.0
    assert found(0.2, 0.6, 0.985, 0.99) == 4.0
    # A walk that stays in a poorer region does not get better, only slower.
    assert found(0.2, 0.9, 0.905, 0.9) == 2.0


def test_the_defaults_are_those_of_the_source() -> None:
    """5,000 samples after 1,000 sweeps, the first chain from k-means; ten representatives."""
    from clusterscape.explore import Landscape
    from clusterscape.explore.starts import best_kmeans, starts_of

    made = PartitionSampler(3)
    assert (made.n_samples, made.burn_in, made.thin) == (5000, 1000, 1)
    assert Landscape().n_representatives == 10
    X, _ = blobs()
    walk = made._walk(sampler.read_features(X), None, 3)
    seed = np.random.SeedSequence(0)
    first = starts_of(walk, X, 1, "diverse", seed)[0]
    again = best_kmeans(walk, X, np.random.SeedSequence(0).spawn(1)[0])
    assert (first == again).all()
