"""k-means of a clustering vector: one try of some columns, from all starts that the vector keeps.

``fit_two`` (two clusters, Lloyd), ``fit_lloyd`` and ``fit_exchange`` take the same buffers and
return kappa. What the tries of a vector share is kept: the rows that the restarts start from,
and the partition accepted, which is one more start. Which columns are tried is decided in
``clusterscape.forest.growth``.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._forest_buffers import (
    Buffers,
    center_column,
    copy,
    draw_starts,
    kappa_of,
    label_distinct,
    shuffle,
)
from clusterscape.kernels._forest_two import TwoBuffers, fit_two
from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import copy_point, new_work, total
from clusterscape.kernels._two_means import BLOCK
from clusterscape.kernels._two_sums import LANES, STRIDE
from clusterscape.kernels._visited import forget, new_visited, visit
from clusterscape.kernels.kmeans import begin, exchange, lloyd, within

__all__ = [
    "BLOCK",
    "LANES",
    "STRIDE",
    "Buffers",
    "TwoBuffers",
    "center_column",
    "draw_starts",
    "fit_exchange",
    "fit_lloyd",
    "fit_two",
    "kappa_of",
    "label_distinct",
    "new_visited",
    "shuffle",
]


@jit
def _fingerprint(labels, codes, k):
    """Return a hash of a partition that does not depend on how its clusters are numbered."""
    out = np.int64(0)
    for c in range(k):
        code = np.int64(0)
        for i in range(labels.shape[0]):
            code += codes[i] if labels[i] == c else 0
        code = (code ^ (code >> 29)) * 0x3F4A7C15F39CC061
        out += code ^ (code >> 32)
    return out


@jit
def _start(buffers, cols, r, work):
    """Make the first partition of start ``r``; -1 is the accepted partition."""
    X, weight = buffers.X, buffers.weight
    if r >= 0:
        copy(buffers.picks[r], work.picks)
        begin(X, cols, weight, work)
        return
    copy(buffers.accepted, work.labels)
    for c in range(work.mass.shape[0]):
        copy_point(X, cols, 0, work.centres, c)
    total(X, cols, weight, work.labels, work.sums, work.mass, work.sizes)


@jit
def _within(buffers, cols, labels, work):
    """Set each cluster's part of the cost of the labels; return the sum."""
    X, weight, sums, mass, sizes = buffers.X, buffers.weight, work.sums, work.mass, work.sizes
    return within(X, cols, weight, labels, False, sums, mass, sizes, buffers.within)


@jit
def _descend(buffers, cols, max_iter, start, work):
    """Run Lloyd from ``work.labels``; return the cost, or -1 for a start that was stopped."""
    k = work.mass.shape[0]
    key = _fingerprint(work.labels, buffers.codes, k)
    if visit(buffers.visited, key, start) >= 0:
        return -1.0
    cost = 0.0
    if max_iter == 1:
        cost = _within(buffers, cols, work.labels, work)
    for _ in range(max_iter - 1):
        # One iteration at a time, to look where it leads.
        cost, _ = lloyd(buffers.X, cols, buffers.weight, False, 2, 0.0, work)
        fresh = _fingerprint(work.labels, buffers.codes, k)
        if fresh == key:
            return cost
        key = fresh
        first = visit(buffers.visited, key, start)
        if first >= 0:
            return cost if first == start else -1.0
    forget(buffers.visited)  # this path was cut short; another start may go farther on it
    return cost


@jit
def _measure(buffers, cols, work, by_pairs):
    """Return kappa of ``buffers.labels``."""
    _within(buffers, cols, buffers.labels, work)
    between = 0.0
    for c in range(work.mass.shape[0]):
        buffers.mass[c] = work.mass[c]
        for f in range(cols.shape[0]):
            between += work.mass[c] * work.sums[c, f] ** 2
    return kappa_of(buffers.within, buffers.mass, between, by_pairs)


@jit
def fit_lloyd(buffers, lo, d, max_iter, by_pairs):
    """Try the first ``d`` columns, of which ``lo`` were accepted; set the labels, return kappa."""
    n_init, k = buffers.picks.shape
    cols = np.arange(d)
    work = new_work(buffers.X, cols, k)
    forget(buffers.visited)
    best = np.inf
    for r in range(-1 if lo > 0 else 0, n_init):
        _start(buffers, cols, r, work)
        cost = _descend(buffers, cols, max_iter, r + 1, work)
        if 0.0 <= cost < best:
            best = cost
            copy(work.labels, buffers.labels)
    return _measure(buffers, cols, work, by_pairs) if best < np.inf else np.inf


@jit
def fit_exchange(buffers, lo, d, max_iter, by_pairs, is_uniform):
    """Do so by Hartigan's exchange of single points; ``is_uniform``: all weights are equal."""
    n_init, k = buffers.picks.shape
    cols = np.arange(d)
    work = new_work(buffers.X, cols, k)
    best = np.inf
    for r in range(-1 if lo > 0 else 0, n_init):
        _start(buffers, cols, r, work)
        cost, _ = exchange(buffers.X, cols, buffers.weight, is_uniform, max_iter, work)
        if cost < best:
            best = cost
            copy(work.labels, buffers.labels)
    return _measure(buffers, cols, work, by_pairs) if best < np.inf else np.inf
