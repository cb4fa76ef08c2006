"""The partitions that the starts of one k-means problem went through.

Lloyd's iteration depends on the partition alone: a start that comes to a partition where an
earlier one has been would end where that one ended, and can be stopped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit

# Partitions remembered at most; slots are twice as many, so that free ones are found soon.
REMEMBERED = 1024


class Visited(NamedTuple):
    """A hash table of partitions; see :func:`new_visited`."""

    keys: np.ndarray  # (slots,) 0 is free
    starts: np.ndarray  # (slots,) the start that came first
    used: np.ndarray  # the slots in use
    n_used: np.ndarray  # (1,) how many


def new_visited() -> Visited:
    """Return an empty table."""
    slots = 2 * REMEMBERED
    return Visited(
        keys=np.zeros(slots, np.int64),
        starts=np.zeros(slots, np.int64),
        used=np.zeros(REMEMBERED, np.int64),
        n_used=np.zeros(1, np.int64),
    )


@jit
def forget(visited):
    """Empty the table."""
    for i in range(visited.n_used[0]):
        visited.keys[visited.used[i]] = 0
    visited.n_used[0] = 0


@jit
def visit(visited, key, start):
    """Return the start that came to this partition first, or -1 and remember that it was this one.

    A full table remembers no more: starts then run to their own end.
    """
    key = key if key != 0 else 1
    slots = visited.keys.shape[0]
    at = key & (slots - 1)
    while visited.keys[at] != 0:
        if visited.keys[at] == key:
            return visited.starts[at]
        at = (at + 1) & (slots - 1)
    if visited.n_used[0] < visited.used.shape[0]:
        visited.keys[at] = key
        visited.starts[at] = start
        visited.used[visited.n_used[0]] = at
        visited.n_used[0] += 1
    return -1
