"""The reliability of clusters against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from clusterscape import Ensemble
from clusterscape._core.params import InvalidParameter
from clusterscape.combine.eci import cluster_reliability


def plain(
    labels: np.ndarray, theta: float, noise: str, weight: np.ndarray, power: np.ndarray
) -> np.ndarray:
    """Return the index of each cluster by loops, in the order of partitions and clusters."""
    found = []
    for i in range(labels.shape[1]):
        for c in range(labels[:, i].max() + 1):
            entropy = mass = 0.0
            for m in range(labels.shape[1]):
                codes, amount = [], []
                for x in np.flatnonzero(labels[:, i] == c):
                    code = labels[x, m]
                    if code == -2 or (code == -1 and noise == "drop"):
                        continue
                    copies = int(weight[x])
                    if code == -1 and noise == "singletons":
                        codes += [(x, copy) for copy in range(copies)]
                        amount += [1.0] * copies
                    else:
                        codes.append(code)
                        amount.append(copies)
                if not codes:
                    continue
                shares: dict = {}
                for code, many in zip(codes, amount, strict=True):
                    shares[code] = shares.get(code, 0.0) + many / sum(amount)
                entropy += power[m] * -sum(p * np.log2(p) for p in shares.values())
                mass += power[m]
            found.append(np.exp(-entropy / (theta * mass)) if mass else 1.0)
    return np.array(found)


@pytest.mark.parametrize("noise", ["singletons", "cluster", "drop"])
@pytest.mark.parametrize("lowest", [0, -1, -2])
@pytest.mark.parametrize("weighted", [False, True])
def test_definition(noise: str, lowest: int, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(lowest, 4, (40, 5))
    labels[:4] = np.arange(4)[:, None]
    weight = rng.integers(1, 4, 40) if weighted else np.ones(40, dtype=int)
    power = rng.uniform(0.5, 2.0, 5) if weighted else np.ones(5)
    ensemble = Ensemble.from_labels(labels, weights=power, sample_weight=weight.astype(float))
    found = cluster_reliability(ensemble, theta=0.6, noise=noise)  # type: ignore[arg-type]
    np.testing.assert_allclose(found, plain(labels, 0.6, noise, weight, power))


def test_soft_copies_of_hard_partitions_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (30, 4))
    hard = Ensemble.from_labels(labels)
    soft = Ensemble.from_labels([sparse.csr_matrix(np.eye(3)[labels[:, i]]) for i in range(4)])
    np.testing.assert_allclose(cluster_reliability(soft), cluster_reliability(hard))


@pytest.mark.parametrize("noise", ["singletons", "cluster", "drop"])
@pytest.mark.parametrize("soft", [False, True])
def test_weights_are_copies(noise: str, soft: bool, seed: int) -> None:
    """No weight is 1, so that a point of any other weight cannot pass for the unit."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 3, (30, 4))
    labels[:3] = np.arange(3)[:, None]
    parts: list = list(labels.T)
    if soft:
        parts.append(rng.dirichlet(np.ones(3), 30))
    copies = rng.integers(2, 4, 30)
    rows = np.repeat(np.arange(30), copies)
    once = Ensemble.from_labels(parts, sample_weight=copies.astype(float))
    often = Ensemble.from_labels([part[rows] for part in parts])
    np.testing.assert_allclose(
        cluster_reliability(once, noise=noise),  # type: ignore[arg-type]
        cluster_reliability(often, noise=noise),  # type: ignore[arg-type]
    )


def test_weights_below_one_are_single_points() -> None:
    """A worked case: noise of weight 1/2 is one point on its own, and others do not change it."""
    labels = [[0, 0, 0, 0, 1, 1], [0, -1, -1, 0, 1, 1]]
    # The first cluster has the shares 1/2, 1/4, 1/4 (1.5 bits) of six equal points.
    for weight in (np.ones(6), np.full(6, 0.5), np.array([1, 1, 1, 1, 1, 0.001])):
        found = cluster_reliability(Ensemble.from_labels(labels, sample_weight=weight))
        assert found[0] == pytest.approx(np.exp(-0.75 / 0.4))
    # Shares 2/3, 1/6, 1/6; then twice as many points: the noise is four points.
    found = cluster_reliability(Ensemble.from_labels(labels, sample_weight=[1, 0.5, 0.5, 1, 1, 1]))
    bits = np.log2(3) - 2 / 3 + 1 / 3
    assert found[0] == pytest.approx(np.exp(-bits / 2 / 0.4))
    found = cluster_reliability(Ensemble.from_labels(labels, sample_weight=np.full(6, 2.0)))
    assert found[0] == pytest.approx(np.exp(-1.0 / 0.4))


def test_unanimous_partitions_are_fully_reliable() -> None:
    labels = np.repeat(np.arange(3), 5)[:, None] @ np.ones((1, 4), dtype=int)
    np.testing.assert_array_equal(cluster_reliability(labels), 1.0)
    np.testing.assert_array_equal(cluster_reliability(labels[:, :1]), 1.0)


def test_smaller_theta_is_stronger(seed: int) -> None:
    labels = np.random.default_rng(seed).integers(0, 3, (50, 4))
    assert (cluster_reliability(labels, theta=0.2) < cluster_reliability(labels)).all()
    with pytest.raises(InvalidParameter, match="theta must be"):
        cluster_reliability(labels, theta=0.0)
