"""Credible balls and surest subsets, against their definitions on small samples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from clusterscape import Ensemble
from clusterscape.compare import rand_distance, vi
from clusterscape.explore import credible_ball, surest_subset

MEASURE = {"vi": vi, "binder": rand_distance}


def noisy(seed: int, n: int = 12, m: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    return np.array(
        [np.where(rng.random(n) < 0.15, rng.integers(4, size=n), truth) for _ in range(m)]
    )


@pytest.mark.parametrize("metric", MEASURE)
def test_the_ball_is_the_smallest_that_holds_the_level(metric: str, seed: int) -> None:
    sample = noisy(seed)
    centre = np.arange(12) % 3
    ball = credible_ball(centre, list(sample), metric=metric, level=0.8)
    expected = np.array([MEASURE[metric](centre, c) for c in sample])
    assert ball.distances == pytest.approx(expected)
    assert ball.share >= 0.8
    assert (expected < ball.radius - 1e-9).mean() < 0.8
    assert (ball.inside == (expected <= ball.radius + 1e-12)).all()
    counts = np.array([np.unique(c).size for c in sample])
    assert ball.horizontal.size
    assert expected[ball.horizontal] == pytest.approx(ball.radius)
    assert set(counts[ball.upper]) == {counts[ball.inside].min()}
    assert set(counts[ball.lower]) == {counts[ball.inside].max()}


def test_weights_of_partitions_count() -> None:
    sample = Ensemble.from_labels([[0, 0, 1, 1], [0, 1, 0, 1]], weights=[9, 1])
    assert credible_ball([0, 0, 1, 1], sample, level=0.9).radius == 0.0
    assert credible_ball([0, 0, 1, 1], sample, level=0.91).radius > 0.0


def agreement(sample: np.ndarray, points: tuple[int, ...]) -> float:
    """Return the largest share of the sample that clusters some points alike."""
    seen: dict[tuple[int, ...], int] = {}
    for labels in sample[:, list(points)]:
        number: dict[int, int] = {}
        key = tuple(number.setdefault(int(v), len(number)) for v in labels)
        seen[key] = seen.get(key, 0) + 1
    return max(seen.values()) / len(sample)


def test_the_subset_agrees_and_is_nearly_the_largest(seed: int) -> None:
    sample = noisy(seed, n=9)
    found = surest_subset(list(sample), gamma=0.4)
    points = tuple(np.flatnonzero(found.labels >= 0))
    same = [
        all(
            (labels[i] == labels[j]) == (found.labels[i] == found.labels[j])
            for i, j in itertools.combinations(points, 2)
        )
        for labels in sample
    ]
    assert np.mean(same) == pytest.approx(found.share)
    assert found.share >= 0.4
    largest = max(
        k
        for k in range(1, 10)
        for some in itertools.combinations(range(9), k)
        if agreement(sample, some) >= 0.4
    )
    assert largest - 1 <= found.size <= largest
    assert set(found.order[: found.size]) == set(points)
    assert (np.diff(found.shares) <= 1e-12).all()


def test_what_has_no_clusters_is_refused() -> None:
    with pytest.raises(ValueError, match="every point is in a cluster"):
        surest_subset([[0, -1, 1], [0, 0, 1]])


def test_results_print_in_one_line() -> None:
    sample = list(noisy(0))
    ball = credible_ball(np.arange(12) % 3, sample, level=0.8)
    assert repr(ball).startswith(f"CredibleBall(radius={ball.radius:.4g}")
    assert "of 60 partitions" in repr(ball)
    surest = surest_subset(sample)
    assert f"{surest.size} of 12 points" in repr(surest)
