"""Equal rows of a label matrix, found by an exact hash table in one pass."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def _hash_row(labels, x):
    h = np.uint64(0xCBF29CE484222325)
    for i in range(labels.shape[1]):
        h = (h ^ np.uint64(np.int64(labels[x, i]) + 3)) * np.uint64(0x100000001B3)
        h ^= h >> np.uint64(29)
    return h


@jit
def _equal_rows(labels, x, y):
    for i in range(labels.shape[1]):
        if labels[x, i] != labels[y, i]:
            return False
    return True


def unique_rows(labels, apart):
    """Return (first, inverse): the first row of each group, and every row's group.

    Groups are numbered by first appearance. Rows where ``apart`` is true get a group of their own.
    """
    n = labels.shape[0]
    # Made here, because numba takes a tenth of a second for each way of making an array.
    slots = np.full(max(16, 1 << (2 * n - 1).bit_length()), -1, dtype=np.int64)
    first = np.empty(n, dtype=np.int64)
    inverse = np.empty(n, dtype=np.int64)
    count = group_rows(labels, apart, slots, first, inverse)
    return first[:count].copy(), inverse


@jit
def group_rows(labels, apart, slots, first, inverse):
    """Fill ``first`` and ``inverse``; return the number of groups. ``slots`` are 2^b times -1."""
    mask = np.uint64(slots.shape[0] - 1)
    count = 0
    for x in range(labels.shape[0]):
        if apart[x]:
            first[count] = x
            inverse[x] = count
            count += 1
            continue
        position = _hash_row(labels, x) & mask
        while True:
            group = slots[position]
            if group == -1:
                slots[position] = count
                first[count] = x
                inverse[x] = count
                count += 1
                break
            if _equal_rows(labels, x, first[group]):
                inverse[x] = group
                break
            position = (position + np.uint64(1)) & mask
    return count
