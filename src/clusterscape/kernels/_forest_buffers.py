"""What every try of a clustering vector works on: its columns, its starts and its partitions.

The columns in use are copied, centred, into the first rows of a buffer: sparse columns are dense
only while they are in use, and the loops over them run through contiguous memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import start_random, sum_of_product
from clusterscape.kernels._visited import Visited
from clusterscape.kernels.random import below

# Draws of a start before rows that are equal on the columns are accepted.
_START_DRAWS = 20


class Buffers(NamedTuple):
    """The arrays of one vector; n points, k clusters."""

    X: np.ndarray  # (capacity, n) columns in use, centred; for two clusters rows may be padded
    scatter: np.ndarray  # (capacity,) sum of squares of each column
    weight: np.ndarray  # (n,)
    codes: np.ndarray  # (padded,) random numbers, whose sums identify partitions
    labels: np.ndarray  # (n,) of the last try
    accepted: np.ndarray  # (n,) of the last try that was accepted
    picks: np.ndarray  # (n_init, k) rows that the restarts start from
    within: np.ndarray  # (k,) sum of squares of each cluster
    mass: np.ndarray  # (k,) weight of each cluster
    visited: Visited


@jit
def copy(values, out):
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit
def kappa_of(within, mass, between, by_pairs):
    """Return kappa from each cluster's sum of squares and weight and the sum of squares between.

    By pairs, two points of one cluster count above and two of different clusters below; both
    follow from the same three figures.
    """
    total = 0.0
    for c in range(mass.shape[0]):
        total += mass[c]
    above, below_ = 0.0, between * (total if by_pairs else 1.0)
    for c in range(mass.shape[0]):
        above += within[c] * (mass[c] if by_pairs else 1.0)
        below_ += within[c] * (total - mass[c]) if by_pairs else 0.0
    return above / below_ if below_ > 0.0 else np.inf


@jit
def center_column(column, weight):
    """Subtract a column's weighted mean in place; return its sum of squares."""
    n = weight.shape[0]
    level = np.float64(column[0])
    i = 1
    while i < n and column[i] == column[0]:
        i += 1
    if i < n:
        # The mean of equal numbers is not exactly that number, and rounding would be left.
        total = 0.0
        for i in range(n):
            total += weight[i]
        level = sum_of_product(column, weight) / total
    for i in range(n):
        column[i] = column[i] - level
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += weight[i] * np.float64(column[i]) ** 2
        s1 += weight[i + 1] * np.float64(column[i + 1]) ** 2
        s2 += weight[i + 2] * np.float64(column[i + 2]) ** 2
        s3 += weight[i + 3] * np.float64(column[i + 3]) ** 2
    for i in range(n - n % 4, n):
        s0 += weight[i] * np.float64(column[i]) ** 2
    return (s0 + s1) + (s2 + s3)


@jit
def _same(X, d, i, j):
    """Say whether two points are equal on the first ``d`` columns."""
    for f in range(d):
        if X[f, i] != X[f, j]:
            return False
    return True


@jit
def label_distinct(X, d, limit, labels):
    """Count distinct rows, at most to ``limit``; below it, label the points by their rows."""
    found = np.empty(limit, np.int64)
    count = 0
    for i in range(labels.shape[0]):
        c = 0
        while c < count and not _same(X, d, i, found[c]):
            c += 1
        if c == count:
            found[count] = i
            count += 1
            if count == limit:
                return count
        labels[i] = c
    return count


@jit
def draw_starts(X, d, weight, is_uniform, picks, state):
    """Pick the rows that the restarts start from: random, and different on the columns."""
    n_init, k = picks.shape
    n = 0 if is_uniform else weight.shape[0]
    cumulated = np.empty(n)
    taken = np.empty(n, np.int32)
    for r in range(n_init):
        differ = False
        attempts = 0
        while not differ and attempts < _START_DRAWS:
            attempts += 1
            start_random(weight, is_uniform, picks[r], cumulated, taken, state)
            differ = True
            for c in range(1, k):
                for e in range(c):
                    differ = differ and not _same(X, d, picks[r, c], picks[r, e])


@jit
def shuffle(values, state):
    """Put the values into random order."""
    for i in range(values.shape[0] - 1, 0, -1):
        j = below(state, i + 1)
        values[i], values[j] = values[j], values[i]
