"""All pairs of lifted partitions, a block of partitions by a block of partitions at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse

from clusterscape._core.parallel import parallel_map
from clusterscape.lifting.lift import Lifted

# Clusters of a block: the distances of two blocks take 2 MB, and their product is large enough
# for matrix multiplication to be at its best. Always the same, so that results are, too.
_BLOCK_CLUSTERS = 512


class Side(NamedTuple):
    """The partitions on one side of a block: their clusters, where each begins, and the masses."""

    clusters: np.ndarray
    offsets: np.ndarray
    mass: np.ndarray


# work(lifted, a, b, pairs): one value a pair of partitions of a and b.
BlockWork = Callable[[Lifted, Side, Side, np.ndarray], np.ndarray]


def by_blocks(
    work: BlockWork,
    lifted: Lifted,
    pairs: np.ndarray,
    *,
    n_jobs: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Return the value that ``work`` finds for each of the pairs (m, 2); nan without clusters."""
    values = np.full(len(pairs), np.nan)
    starts = lifted.offsets[:-1]
    some = np.flatnonzero((np.diff(lifted.offsets)[pairs] > 0).all(axis=1))
    block = starts // _BLOCK_CLUSTERS
    number = block[pairs[some, 0]] * (int(block.max(initial=0)) + 1) + block[pairs[some, 1]]
    order = np.argsort(number, kind="stable")
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    tasks = [some[part] for part in np.split(order, cuts) if part.size]
    one = partial(_one_block, work, lifted, pairs)
    found = parallel_map(one, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    for task, value in zip(tasks, found, strict=True):
        values[task] = value
    return values


def _one_block(work: BlockWork, lifted: Lifted, pairs: np.ndarray, task: np.ndarray) -> np.ndarray:
    left, rows = np.unique(pairs[task, 0], return_inverse=True)
    right, cols = np.unique(pairs[task, 1], return_inverse=True)
    local = np.column_stack([rows, cols])
    return work(lifted, _side(lifted, left), _side(lifted, right), local)


def _side(lifted: Lifted, partitions: np.ndarray) -> Side:
    clusters = np.concatenate([np.arange(*lifted.offsets[i : i + 2]) for i in partitions])
    sizes = lifted.offsets[partitions + 1] - lifted.offsets[partitions]
    return Side(clusters, np.concatenate([[0], np.cumsum(sizes)]), lifted.mass[clusters])


def unlike_masses(
    lifted: Lifted, a: Side, b: Side, pairs: np.ndarray
) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Return the clusters in which pairs differ, and how much more mass the first ones have there.

    Clusters with the same members are one, so what both partitions of a pair have cancels exactly.
    """
    both = lifted.same[np.concatenate([a.clusters, b.clusters])]
    clusters, column = np.unique(both, return_inverse=True)
    tables = []
    for side, columns in zip((a, b), np.split(column, [a.clusters.size]), strict=True):
        shape = (side.offsets.size - 1, clusters.size)
        tables.append(sparse.csr_matrix((side.mass, columns, side.offsets), shape=shape))
        tables[-1].sum_duplicates()
    surplus = tables[0][pairs[:, 0]] - tables[1][pairs[:, 1]]
    surplus.eliminate_zeros()
    used, surplus.indices = np.unique(surplus.indices, return_inverse=True)
    return clusters[used], surplus
