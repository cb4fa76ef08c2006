"""Partitions by k-means on views of the points: each sees structures that others hide.

A view is a few columns, or columns that vary together, or what is left of the columns when the
directions along which an earlier partition's clusters differ are taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from scipy import sparse

from clusterscape.combine.lift.groups import cut_tree
from clusterscape.compare import adjusted_rand, pairwise
from clusterscape.ensemble import Ensemble
from clusterscape.explore.columns import CLEAR, clearness
from clusterscape.linalg.kmeans import kmeans, nearest_center

_SAMPLE = 2000  # rows that a k-means is fitted to
_RESTARTS = 3
_DEPTH = 5  # partitions in a row, each on what the earlier ones left
_MOST_COLUMNS = 2000  # whose correlations are all computed
ALIKE = 0.8  # adjusted Rand index from which partitions are the same finding
_MOST_GROUPS = 12  # groups that columns are divided into
_MOST_NUMBERS = 20_000_000  # of a table that remains are taken of; each of them is held


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


def view_partitions(points: Any, k: int, count: int, seed: SeedSequence) -> list[np.ndarray]:
    """Return partitions into k clusters: a third each by few columns, related ones, and remains."""
    kinds = [_by_columns]
    if not sparse.issparse(points) and points.shape[1] > 1:
        kinds = [_by_columns, _by_remains]
        if 2 < points.shape[1] <= _MOST_COLUMNS:
            kinds.append(_by_related)
    found: list[np.ndarray] = []
    for kind, child in zip(kinds, seed.spawn(len(kinds)), strict=True):
        partitions = kind(points, k, child)
        found += [next(partitions) for _ in range(-(-count // len(kinds)))]
    return found[:count]


def remaining_views(
    points: Any, known: list[Any], counts: list[int], most: int, seed: SeedSequence
) -> list[np.ndarray]:
    """Return what is left of the points without the directions of partitions, one after another.

    The partition taken out is that of the number of clusters, of ``counts``, that is clearest. What
    is left is a view as long as it has clusters that are clearer than those of points without any,
    and if neither the points nor the ``known`` tables show the same; at most ``most`` and four.
    """
    several = [k for k in counts if k > 1]
    if not several or sparse.issparse(points) or points.size > _MOST_NUMBERS:
        return []
    left = np.array(points, dtype=np.float64)
    left -= left.mean(axis=0)
    floor = 1e-9 * np.linalg.norm(left)
    shown = [left.copy(), *known]
    found: list[np.ndarray] = []
    for depth, child in enumerate(seed.spawn(_DEPTH)):
        fitting, comparing, *judging = child.spawn(2 + len(several))
        clear = [clearness(left, k, one) for k, one in zip(several, judging, strict=True)]
        if max(clear) <= CLEAR:
            break
        k = several[int(np.argmax(clear))]
        labels = fitted(left, k, fitting, n_init=10)
        if depth > 0:
            others = [fitted(table, k, comparing, n_init=10) for table in shown]
            if all(adjusted_rand(labels, other) <= ALIKE for other in others):
                found.append(left.copy())
        without_directions(left, labels, k)
        if len(found) == most or np.linalg.norm(left) <= floor:
            break
    return found


def recurrence(partitions: list[np.ndarray]) -> np.ndarray:
    """Return a number from 1/3 to 1 for each partition: 1 if three views or more show it."""
    ensemble = Ensemble.from_labels(partitions)
    alike = pairwise(ensemble, "adjusted_rand", n_jobs=1, progress=False).matrix
    return np.minimum((alike > ALIKE).sum(axis=1) / 3.0, 1.0)


def _by_columns(points: Any, k: int, seed: SeedSequence) -> Iterator[np.ndarray]:
    """Yield partitions by columns drawn at random, few more often than many."""
    d = points.shape[1]
    while True:
        drawing, fitting = seed.spawn(2)
        rng = np.random.default_rng(drawing)
        width = max(1, min(d, round(d ** rng.random())))
        columns = np.sort(rng.choice(d, width, replace=False))
        yield fitted(points[:, columns], k, fitting, n_init=_RESTARTS)


def _by_remains(points: Any, k: int, seed: SeedSequence) -> Iterator[np.ndarray]:
    """Yield partitions, each of what is left without the directions of those before it."""
    whole = np.asarray(points, dtype=np.float64)
    whole = whole - whole.mean(axis=0)
    n_init = 10  # the first row of partitions begins with the best, later ones with any
    while True:
        left = whole.copy()
        for child in seed.spawn(_DEPTH):
            labels = fitted(left, k, child, n_init=n_init)
            yield labels
            without_directions(left, labels, k)
        n_init = _RESTARTS


def without_directions(points: np.ndarray, labels: np.ndarray, k: int) -> None:
    """Take the directions along which the clusters' means differ out of centred points."""
    sizes = np.bincount(labels, minlength=k)
    sums = np.zeros((k, points.shape[1]))
    np.add.at(sums, labels, points)
    means = sums / np.sqrt(np.maximum(sizes, 1))[:, None]  # means of large clusters count more
    _, lengths, directions = np.linalg.svd(means, full_matrices=False)
    some = lengths[: k - 1] > 1e-9 * np.linalg.norm(points)
    directions = directions[: k - 1][some]
    points -= (points @ directions.T) @ directions


def _by_related(points: Any, k: int, seed: SeedSequence) -> Iterator[np.ndarray]:
    """Yield partitions by columns that vary together, as a tree of their correlations says."""
    whole = np.asarray(points, dtype=np.float64)
    d = whole.shape[1]
    spread = whole.std(axis=0)
    alike = (whole - whole.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    apart = np.clip(1.0 - np.abs(alike.T @ alike) / len(whole), 0.0, 1.0)
    np.fill_diagonal(apart, 0.0)
    trees: dict[int, np.ndarray] = {}
    while True:
        drawing, fitting = seed.spawn(2)
        rng = np.random.default_rng(drawing)
        groups = _related(apart, int(rng.integers(2, min(d, _MOST_GROUPS) + 1)), trees)
        columns = _drawn_group(groups, rng)
        yield fitted(whole[:, columns], k, fitting, n_init=_RESTARTS)


def _related(apart: np.ndarray, count: int, known: dict[int, np.ndarray]) -> np.ndarray:
    if count not in known:
        known[count] = cut_tree(apart**2, np.ones(len(apart)), count, linkage="average")[0]
    return known[count]


def _drawn_group(groups: np.ndarray, rng: Generator) -> np.ndarray:
    """Return the columns of a group, drawn by the number of its columns."""
    return np.flatnonzero(groups == groups[rng.integers(groups.size)])
