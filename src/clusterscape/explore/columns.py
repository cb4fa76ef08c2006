"""Groups of columns that are independent of one another, and how clear their clusters are.

A table may hold several structures, each on columns of its own: two measurements joined row by row,
say. A quality on all columns mixes them. Where columns fall into groups that do not depend on each
other, each group can be looked at, and judged, by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator, SeedSequence
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components

from clusterscape.linalg.kmeans import kmeans

_MOST_COLUMNS = 2000
_ROWS, _BUDGET = 400, 20_000_000  # rows that dependence is read from; numbers held for it
_LEVEL = 0.01  # chance of joining two groups that are independent, over all pairs of columns
_LEAST_ROWS = 20
_REFERENCES = 19
CLEAR = 2.5  # deviations of the references by which clusters must be clearer than theirs
_FITTED_ROWS = 1000


def distance_correlations(points: np.ndarray) -> np.ndarray:
    """Return the bias-corrected squared distance correlation of all pairs of columns.

    Zero is expected of independent columns, whatever their distributions, and 1 of a column with
    itself; a column without variation has 0 with all others. (Szekely and Rizzo, Partial distance
    correlation with methods for dissimilarities, Annals of Statistics 42, 2014.)
    """
    n, d = points.shape
    apart = np.empty((d, n, n), dtype=np.float32)
    inside = np.arange(n)
    for j, column in enumerate(points.T):
        own = np.abs(column[:, None] - column[None, :])
        rows = own.sum(axis=1)
        own += rows.sum() / ((n - 1) * (n - 2)) - (rows[:, None] + rows[None, :]) / (n - 2)
        own[inside, inside] = 0.0
        norm = np.sqrt((own**2).sum())
        apart[j] = own / norm if norm > 1e-12 * max(rows.max(), 1e-300) else 0.0
    flat = apart.reshape(d, -1)
    return np.asarray(flat @ flat.T, dtype=np.float64)


def independent_groups(points: Any, rng: Generator) -> list[np.ndarray]:
    """Return groups of columns such that columns of different groups seem independent.

    Two columns are linked where the distance correlation of a sample of rows is larger than the
    chi-square bound of the test of independence (Shen, Panda and Vogelstein, The chi-square test of
    distance correlation, Journal of Computational and Graphical Statistics 31, 2022) allows,
    Bonferroni's way; groups are what links connect. One group, all columns, where the table is
    sparse, has too few rows or too many columns.
    """
    n, d = points.shape
    if sparse.issparse(points) or not 2 <= d <= _MOST_COLUMNS or n < _LEAST_ROWS:
        return [np.arange(d)]
    count = min(n, _ROWS, int(np.sqrt(_BUDGET / d)))
    rows = np.sort(rng.choice(n, count, replace=False)) if count < n else slice(None)
    some = np.asarray(points[rows], dtype=np.float64)
    spread = some.std(axis=0)
    some = (some - some.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    strength = distance_correlations(some)
    bound = stats.chi2.isf(_LEVEL / (0.5 * d * (d - 1)), 1) - 1.0
    count_found, groups = connected_components(strength * len(some) > bound)
    return [np.flatnonzero(groups == g) for g in range(count_found)]


def clearness(points: np.ndarray, k: int, seed: SeedSequence) -> float:
    """Return how much clearer k clusters are than in points without any.

    The share of the variance that k-means explains, against its mean in references that are even
    along the principal directions, with the same variances; in deviations of the references.
    """
    drawing, fitting = seed.spawn(2)
    rng = np.random.default_rng(drawing)
    n = min(len(points), _FITTED_ROWS)
    if n < len(points):
        points = points[np.sort(rng.choice(len(points), n, replace=False))]
    centred = points - points.mean(axis=0)
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    if lengths[0] <= 0 or k >= n:
        return 0.0
    half = np.sqrt(3.0 / n) * lengths
    seeds = fitting.spawn(_REFERENCES + 1)
    own = _explained(centred, k, seeds[0])
    others = [
        _explained((rng.uniform(-1.0, 1.0, size=(n, half.size)) * half) @ axes, k, child)
        for child in seeds[1:]
    ]
    spread = float(np.std(others, ddof=1)) * np.sqrt(1 + 1 / _REFERENCES)
    return float((own - np.mean(others)) / max(spread, 1e-12))


def _explained(points: np.ndarray, k: int, seed: SeedSequence) -> float:
    centred = points - points.mean(axis=0)
    total = float((centred**2).sum())
    return 1.0 - float(kmeans(centred, k, n_init=3, seed=seed).inertia) / max(total, 1e-300)


def structured_views(
    points: Any, counts: list[int], most: int, seed: SeedSequence
) -> list[np.ndarray]:
    """Return the independent groups of columns that have a structure of their own.

    Those of several columns, which have something in common, and single columns whose clusters are
    clearer than those of points without any; by falling clearness, at most ``most`` of them, and
    none where all columns depend on each other. ``counts`` are the numbers of clusters; a group is
    looked at with each of them.
    """
    grouping, *seeds = seed.spawn(1 + len(counts))
    groups = independent_groups(points, np.random.default_rng(grouping))
    if len(groups) < 2:
        return []
    whole = np.asarray(points, dtype=np.float64)
    several = [k for k in counts if k > 1]
    clear = np.full(len(groups), -np.inf)
    for k, child in zip(several, seeds, strict=False):
        found = [
            clearness(whole[:, columns], k, one)
            for columns, one in zip(groups, child.spawn(len(groups)), strict=True)
        ]
        clear = np.maximum(clear, found)
    order = np.argsort(-clear, kind="stable")
    kept = [g for g in order if clear[g] > CLEAR or groups[g].size > 1]
    return [groups[g] for g in kept[:most]]
