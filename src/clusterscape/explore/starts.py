"""Where chains start: k-means, labels at random, and partitions that differ from one another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.seeds import kernel_seed
from clusterscape.compare import pairwise
from clusterscape.ensemble import Ensemble
from clusterscape.explore.walk import Task, Walk, new_chain, run_round
from clusterscape.linalg.kmeans import kmeans, nearest_center

_SAMPLE = 2000  # rows that a k-means of a start is fitted to
_POOL = 8  # partitions from which each start is chosen
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
    columns; of those in the better half by quality the ones farthest from the chosen are taken.
    """
    pool, values = [], []
    for child in seed.spawn(_POOL * count):
        drawing, fitting, repairing, walking = child.spawn(4)
        rng = np.random.default_rng(drawing)
        d = points.shape[1]
        width = max(1, min(d, round(d ** rng.random())))
        columns = np.sort(rng.choice(d, width, replace=False))
        labels = fitted(points[:, columns], walk.n_clusters, fitting, n_init=1)
        chain = new_chain(
            _obeying(walk, labels, repairing), 1, np.array([kernel_seed(walking)] * 2)
        )
        if walk.function is None:
            done = run_round(Task(walk, chain, np.array([_GREEDY]), _POLISH, _POLISH))
            pool.append(done.chain.labels[0])
            values.append(done.trace[-1, 0])
        else:  # a sweep of the user's own function may be slow
            pool.append(chain.labels[0])
            values.append(0.0)
    ensemble = Ensemble.from_labels([first, *pool])
    apart = pairwise(ensemble, "rand_distance", n_jobs=1, progress=False).matrix
    good = np.asarray(values) >= np.median(values)
    nearest = np.where(good, apart[0, 1:], -1.0)
    chosen: list[np.ndarray] = []
    for _ in range(count):
        best = int(np.argmax(nearest))
        chosen.append(pool[best])
        nearest = np.minimum(nearest, apart[1 + best, 1:])
        nearest[best] = -1.0
    return chosen
