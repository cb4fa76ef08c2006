"""Groups of partitions from their distances, and a map of them in two dimensions."""

from __future__ import annotations

import numpy as np

from clusterscape.combine.lift.groups import cut_tree
from clusterscape.linalg.eigen import symmetric_eigen

GROUPINGS = ("average", "gonzalez")


def grouped(
    distances: np.ndarray, counts: np.ndarray, quality: np.ndarray, k: int, *, how: str
) -> np.ndarray:
    """Return the group, 0..k'-1, of each partition; ``counts`` are how often they were sampled."""
    m = len(distances)
    if how == "gonzalez":
        return farthest_first(distances, int(np.argmax(quality)), k)
    if m <= k:
        return np.arange(m)
    groups, _ = cut_tree(distances**2, counts.astype(np.float64), k, linkage="average")
    return np.unique(groups, return_inverse=True)[1]


def grouped_apart(
    distances: np.ndarray,
    counts: np.ndarray,
    quality: np.ndarray,
    k: int,
    shown: np.ndarray,
    *,
    how: str,
) -> np.ndarray:
    """Return at most k groups as :func:`grouped` does, with each of ``shown`` in one of its own.

    A group that has several of them is divided: its partitions go to the nearest. There are at
    most k ``shown``.
    """
    for count in range(k, 0, -1):
        groups = grouped(distances, counts, quality, count, how=how)
        for g in np.unique(groups[shown]):
            mine = np.flatnonzero(groups == g)
            centres = shown[groups[shown] == g]
            nearest = distances[np.ix_(mine, centres)].argmin(axis=1)
            nearest[np.searchsorted(mine, centres)] = np.arange(centres.size)
            moved = nearest > 0
            groups[mine[moved]] = groups.max() + nearest[moved]
        if groups.max() < k:
            break
    return groups


def farthest_first(distances: np.ndarray, first: int, k: int) -> np.ndarray:
    """Return the nearest of k centres for each partition, each centre far from those before it.

    Gonzalez: the largest distance to a centre is at most twice the least that k centres allow.
    """
    nearest = distances[first].copy()
    groups = np.zeros(len(distances), dtype=np.int64)
    for j in range(1, min(k, len(distances))):
        centre = int(np.argmax(nearest))
        if nearest[centre] <= 0:
            break
        closer = distances[centre] < nearest
        groups[closer] = j
        nearest = np.minimum(nearest, distances[centre])
    return groups


def best_of_groups(groups: np.ndarray, quality: np.ndarray) -> np.ndarray:
    """Return the best partition of each group, the first of equals."""
    order = np.lexsort((np.arange(len(groups)), -quality))
    _, first = np.unique(groups[order], return_index=True)
    return order[first]


def plane_of(distances: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, float]:
    """Return coordinates (m, 2) by classical scaling, and the share of the squares that they show.

    Partitions count as often as they were sampled.
    """
    m = len(distances)
    if m < 3:
        half = distances[0, 1] / 2 if m == 2 else 0.0
        return np.array([[-half, 0.0], [half, 0.0]])[:m], 1.0
    weight = counts / counts.sum()
    square = distances**2
    row = square @ weight
    inner = -0.5 * (square - row[:, None] - row[None, :] + weight @ row)
    root = np.sqrt(weight)
    found = symmetric_eigen(inner * np.outer(root, root), 2, solver="dense")
    values = np.maximum(found.values, 0.0)
    points = found.vectors * np.sqrt(values) / root[:, None]
    signs = np.sign(points[np.abs(points).argmax(axis=0), [0, 1]])
    total = max(float(np.trace(inner * np.outer(root, root))), 1e-300)
    return points * np.where(signs == 0, 1.0, signs), float(min(values.sum() / total, 1.0))
