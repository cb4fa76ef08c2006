"""Where chains start: k-means, labels at random, and partitions that differ from one another."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.seeds import kernel_seed
from clusterscape.compare import pairwise
from clusterscape.ensemble import Ensemble
from clusterscape.explore.walk import Task, Walk, new_chain, run_round
from clusterscape.linalg.kmeans import kmeans, nearest_center

_SAMPLE = 2000  # rows that a k-means of a start is fitted to
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


def fitted(points: Any, k: int, seed: SeedSequence, *, n_init: int) -> np.ndarray:
    """Return k-means labels of all points, fitted to at most 2,000 of them."""
    drawing, fitting = seed.spawn(2)
    n = points.shape[0]
    some = points
    if n > _SAMPLE:
        rows = np.random.default_rng(drawing).choice(n, _SAMPLE, replace=False)
        some = points[np.sort(rows)]
    found = kmeans(some, k, n_init=n_init, seed=fitting)
    return found.labels if some is points else nearest_center(points, found.centers)


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

    k-means on few columns each sees structures that others hide. Its partitions are improved on all
    columns, which leaves those that are good there as well; of these, the ones that are both good
    and far from the chosen are taken.
    """
    pool, values = [], []
    size = _POOL * count if walk.n_points <= _MANY else _POOL_OF_MANY * count
    for child in seed.spawn(size):
        labels, value = _polished(walk, points, child)
        pool.append(labels)
        values.append(value)
    ensemble = Ensemble.from_labels([first, *pool])
    apart = pairwise(ensemble, "rand_distance", n_jobs=1, progress=False).matrix
    gain = _gains(walk, np.asarray(values), seed)
    nearest = apart[0, 1:].copy()
    chosen: list[np.ndarray] = []
    for _ in range(count):
        best = int(np.argmax(nearest * gain))
        chosen.append(pool[best])
        nearest = np.minimum(nearest, apart[1 + best, 1:])
        nearest[best] = -1.0
    return chosen


def _polished(walk: Walk, points: Any, seed: SeedSequence) -> tuple[np.ndarray, float]:
    """Return labels by k-means on some columns, improved on all of them, and their quality."""
    drawing, fitting, repairing, walking = seed.spawn(4)
    rng = np.random.default_rng(drawing)
    d = points.shape[1]
    width = max(1, min(d, round(d ** rng.random())))
    columns = np.sort(rng.choice(d, width, replace=False))
    labels = fitted(points[:, columns], walk.n_clusters, fitting, n_init=1)
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
