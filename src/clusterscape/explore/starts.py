"""Where chains start: k-means, labels at random, and partitions that differ from one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.seeds import kernel_seed
from clusterscape.compare import pairwise
from clusterscape.ensemble import Ensemble
from clusterscape.explore.views import fitted, view_partitions
from clusterscape.explore.walk import Task, Walk, new_chain, run_round

_POOL, _POOL_OF_MANY = 20, 4  # partitions from which each start is chosen, of few and many points
_MANY = 5000  # points
_POLISH = 8  # sweeps that only raise the quality
_GREEDY = 1e9  # a power at which a chain takes the best candidate


def starts_of(
    walk: Walk, points: Any, n_starts: int, kind: str, seed: SeedSequence
) -> list[np.ndarray]:
    """Return the labels that chains start from: k-means, random ones, then what ``kind`` says."""
    seeds = seed.spawn(n_starts + 2)
    found = [_obeying(walk, best_kmeans(walk, points, seeds[0]), seeds[0])]
    if n_starts > 1:
        found.append(random_labels(walk, seeds[1]))
    if n_starts <= 2:
        return found
    if kind == "kmeans_random":
        for i in range(2, n_starts):
            if i % 2:
                found.append(random_labels(walk, seeds[i]))
            else:
                one = fitted(points, walk.n_clusters, seeds[i], n_init=1)
                found.append(_obeying(walk, one, seeds[i]))
        return found
    return found + _apart(walk, points, found[0], n_starts - 2, seeds[-1])


def best_kmeans(walk: Walk, points: Any, seed: SeedSequence) -> np.ndarray:
    """Return the labels of the best of ten k-means."""
    return fitted(points, walk.n_clusters, seed, n_init=10)


def random_labels(walk: Walk, seed: SeedSequence) -> np.ndarray:
    """Return labels at random, all clusters of about the same size."""
    labels = np.arange(walk.n_points) % walk.n_clusters
    return np.random.default_rng(seed).permutation(labels)


def _obeying(walk: Walk, labels: np.ndarray, seed: SeedSequence) -> np.ndarray:
    """Return labels of exactly the clusters asked for, none smaller than allowed.

    Points that a small cluster lacks are drawn from the largest ones.
    """
    labels = labels.astype(np.int64).copy()
    rng = np.random.default_rng(seed)
    sizes = np.bincount(labels, minlength=walk.n_clusters)
    for j in np.flatnonzero(sizes < walk.min_size):
        for _ in range(walk.min_size - sizes[j]):
            largest = int(np.argmax(sizes))
            x = rng.choice(np.flatnonzero(labels == largest))
            labels[x] = j
            sizes[largest] -= 1
            sizes[j] += 1
    return labels


def _apart(
    walk: Walk, points: Any, first: np.ndarray, count: int, seed: SeedSequence
) -> list[np.ndarray]:
    """Return good partitions that differ from one another.

    Those that views of the columns show are improved on all columns, which leaves those that are
    good there as well.
    """
    viewing, walking = seed.spawn(2)
    size = _POOL * count if walk.n_points <= _MANY else _POOL_OF_MANY * count
    seen = view_partitions(points, walk.n_clusters, size, viewing)
    polished = [
        _polished(walk, labels, child)
        for labels, child in zip(seen, walking.spawn(size), strict=True)
    ]
    pool, values = [labels for labels, _ in polished], np.array([v for _, v in polished])
    chosen = good_and_apart(first, pool, [_gains(walk, values, seed)], count)
    return [pool[i] for i in chosen]


def good_and_apart(
    first: np.ndarray, pool: list[np.ndarray], gains: list[np.ndarray], count: int
) -> list[int]:
    """Return positions of partitions that are both good and far from ``first`` and the chosen.

    What is good is said by each of the ``gains`` in turn.
    """
    ensemble = Ensemble.from_labels([first, *pool])
    apart = pairwise(ensemble, "rand_distance", n_jobs=1, progress=False).matrix
    nearest = apart[0, 1:].copy()
    chosen: list[int] = []
    for i in range(min(count, len(pool))):
        best = int(np.argmax(nearest * gains[i % len(gains)]))
        chosen.append(best)
        nearest = np.minimum(nearest, apart[1 + best, 1:])
        nearest[best] = -1.0
    return chosen


def _polished(walk: Walk, labels: np.ndarray, seed: SeedSequence) -> tuple[np.ndarray, float]:
    """Return labels improved on all columns, and their quality."""
    repairing, walking = seed.spawn(2)
    labels = _obeying(walk, labels, repairing)
    if walk.function is not None:  # a sweep of the user's own function may be slow
        return labels, 1.0
    chain = new_chain(labels, 1, np.array([kernel_seed(walking)] * 2))
    # Single points only: a merge or split would leave the region that was found.
    plain = replace(walk, n_splits=0, subset=0)
    done = run_round(Task(plain, chain, np.array([_GREEDY]), _POLISH, _POLISH))
    return done.chain.labels[0], float(done.trace[-1, 0])


def _gains(walk: Walk, values: np.ndarray, seed: SeedSequence) -> np.ndarray:
    """Return qualities between 0 for labels at random and 1 for the best."""
    if walk.function is not None:
        return np.ones(values.size)
    labels = random_labels(walk, seed.spawn(1)[0])
    chain = new_chain(labels, 1, np.array([1, 2]))
    low = run_round(Task(replace(walk, n_splits=0, subset=0), chain, np.zeros(1), 1, 1)).trace[0, 0]
    return np.clip((values - low) / max(values.max() - low, 1e-300), 0.0, 1.0)
