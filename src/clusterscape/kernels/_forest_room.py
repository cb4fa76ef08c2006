"""What the growth of a clustering vector works on: the data, the settings and the buffers.

The columns in use are copied, centred, into the first rows of a buffer: sparse columns are dense
only while they are in use, and the loops over them run through contiguous memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import start_random, sum_of_product
from clusterscape.kernels._two_means import Memo
from clusterscape.kernels.random import below, sample_without_replacement

# Draws of a start before rows that are equal on the columns are let pass.
_PICKS = 20


class Source(NamedTuple):
    """The data: dense and feature-major, or the three arrays of a CSC matrix."""

    dense: np.ndarray  # (D, n); no rows when sparse
    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_columns: int
    is_sparse: bool


class Growth(NamedTuple):
    """How a vector grows."""

    n_clusters: int
    per_draw: int
    competitors: int
    patience: int
    pairs: bool  # kappa by pairs, otherwise by analysis of variance
    duplicates: bool
    exhaustive: bool
    min_distinct: int
    hartigan: bool
    n_init: int
    max_iter: int


class Room(NamedTuple):
    """The buffers of a vector and what it has so far."""

    X: np.ndarray  # (capacity, n) columns in use, centred; for two clusters rows may be padded
    scatter: np.ndarray  # (capacity,) sum of squares of each
    columns: np.ndarray  # (capacity,) number of each
    path: np.ndarray  # (capacity,) kappa of the first columns, then after each acceptance
    weight: np.ndarray  # (n,)
    codes: np.ndarray  # (padded,) random numbers, whose sums tell partitions apart
    labels: np.ndarray  # (n,) of the try
    accepted: np.ndarray  # (n,)
    picks: np.ndarray  # (n_init, k) rows that the restarts start from
    winner: np.ndarray  # columns of the best competitor so far
    winner_picks: np.ndarray  # (n_init, k) and its starts
    within: np.ndarray  # (k,)
    mass: np.ndarray  # (k,)
    pool: np.ndarray  # the columns that can be drawn, as many as ``state.pool`` says
    memo: Memo


class State(NamedTuple):
    """Where the growth stands; arrays of one number, so that it can go on in a wider room."""

    rounds: np.ndarray  # competitors so far
    columns: np.ndarray  # columns accepted
    accepted: np.ndarray  # length of the path
    tries: np.ndarray
    failures: np.ndarray
    pool: np.ndarray  # columns in the pool
    place: np.ndarray  # of the pool, when every column is tried once
    kappa: np.ndarray


@jit
def copy(values, out):
    for i in range(values.shape[0]):
        out[i] = values[i]


@jit
def ratio(inner, mass, between, pairs):
    """Return kappa from each cluster's sum of squares and weight and the sum of squares between.

    By pairs, two points of one cluster count above and two of different clusters below; both
    follow from the same three figures.
    """
    whole = 0.0
    for c in range(mass.shape[0]):
        whole += mass[c]
    above, under = 0.0, between * (whole if pairs else 1.0)
    for c in range(mass.shape[0]):
        above += inner[c] * (mass[c] if pairs else 1.0)
        under += inner[c] * (whole - mass[c]) if pairs else 0.0
    return above / under if under > 0.0 else np.inf


@jit
def fetch(source, column, room, f):
    """Copy a column into row ``f`` of the buffer, with mean zero, and measure it."""
    out = room.X[f]
    n = room.weight.shape[0]
    if source.is_sparse:
        for i in range(n):
            out[i] = 0
        for at in range(source.indptr[column], source.indptr[column + 1]):
            out[source.indices[at]] = source.data[at]
    else:
        for i in range(n):
            out[i] = source.dense[column, i]
    room.columns[f] = column
    level = np.float64(out[0])
    i = 1
    while i < n and out[i] == out[0]:
        i += 1
    if i < n:
        # The mean of equal numbers is not exactly that number, and rounding would be left.
        whole = 0.0
        for i in range(n):
            whole += room.weight[i]
        level = sum_of_product(out[:n], room.weight) / whole
    for i in range(n):
        out[i] = out[i] - level
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += room.weight[i] * np.float64(out[i]) ** 2
        s1 += room.weight[i + 1] * np.float64(out[i + 1]) ** 2
        s2 += room.weight[i + 2] * np.float64(out[i + 2]) ** 2
        s3 += room.weight[i + 3] * np.float64(out[i + 3]) ** 2
    for i in range(n - n % 4, n):
        s0 += room.weight[i] * np.float64(out[i]) ** 2
    room.scatter[f] = (s0 + s1) + (s2 + s3)


@jit
def _same(X, d, i, j):
    """Say whether two points are equal on the first ``d`` columns."""
    for f in range(d):
        if X[f, i] != X[f, j]:
            return False
    return True


@jit
def distinct(room, d, limit):
    """Count distinct rows, at most to ``limit``; below it, label the points by their rows."""
    found = np.empty(limit, np.int64)
    count = 0
    for i in range(room.labels.shape[0]):
        c = 0
        while c < count and not _same(room.X, d, i, found[c]):
            c += 1
        if c == count:
            found[count] = i
            count += 1
            if count == limit:
                return count
        room.labels[i] = c
    return count


@jit
def draw_starts(room, d, is_uniform, state):
    """Pick the rows that the restarts start from: random, and different on the columns."""
    n_init, k = room.picks.shape
    n = 0 if is_uniform else room.weight.shape[0]
    cumulated = np.empty(n)
    taken = np.empty(n, np.int32)
    for r in range(n_init):
        picks = room.picks[r]
        differ = False
        attempts = 0
        while not differ and attempts < _PICKS:
            attempts += 1
            start_random(room.weight, is_uniform, picks, cumulated, taken, state)
            differ = True
            for c in range(1, k):
                for e in range(c):
                    differ = differ and not _same(room.X, d, picks[c], picks[e])


@jit
def draw(source, room, f, size, count, state):
    """Draw different columns of the pool into the rows of the buffer from ``f`` on."""
    places = np.empty(count, np.int64)
    sample_without_replacement(state, size, count, places)
    for j in range(count):
        fetch(source, room.pool[places[j]], room, f + j)


@jit
def remove(pool, size, columns, lo, hi):
    """Take ``columns[lo:hi]`` out of the pool, which keeps its order; return its size."""
    left = 0
    for i in range(size):
        used = False
        for f in range(lo, hi):
            used = used or columns[f] == pool[i]
        if not used:
            pool[left] = pool[i]
            left += 1
    return left


@jit
def shuffle(pool, size, state):
    """Put the pool into random order."""
    for i in range(size - 1, 0, -1):
        j = below(state, i + 1)
        pool[i], pool[j] = pool[j], pool[i]
