"""A try with two clusters by Lloyd: every restart is a direction and a limit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._forest_buffers import copy, kappa_of
from clusterscape.kernels._jit import jit
from clusterscape.kernels._two_means import descend, is_swept, paint, parts, split
from clusterscape.kernels._two_sums import gather
from clusterscape.kernels._visited import forget


class TwoBuffers(NamedTuple):
    """The arrays that two clusters by Lloyd need besides; float ones in the type of the data."""

    weight: np.ndarray  # (padded,)
    mask: np.ndarray  # (padded,) the weight of the points of the second cluster, 0 elsewhere
    best: np.ndarray  # (padded,) the mask of the best start
    score: np.ndarray  # (BLOCK,) products of one block of points
    lanes: np.ndarray  # (capacity + 1, LANES) float64: partial sums of the columns and the mask
    sums: np.ndarray  # (capacity,) float64: of the second cluster
    direction: np.ndarray  # (capacity,)


@jit
def _toward(X, d, a, b, direction):
    """Set the direction from point ``a`` to ``b``; return the limit, the product half way."""
    limit = 0.0
    for f in range(d):
        near, far = np.float64(X[f, a]), np.float64(X[f, b])
        direction[f] = far - near
        limit += (far - near) * (far + near) / 2
    return limit


@jit
def _farthest(X, d, a, n):
    """Return the point farthest from point ``a``."""
    far, where = -1.0, a
    for i in range(n):
        away = 0.0
        for f in range(d):
            away += (np.float64(X[f, i]) - np.float64(X[f, a])) ** 2
        if away > far:
            far, where = away, i
    return where


@jit
def _start(buffers, two, d, r, total):
    """Begin with start ``r`` (-1 is the accepted partition).

    Return the second cluster's weight, and the limit that gives it with the direction in the
    buffers.
    """
    X, weight = buffers.X, two.weight
    if r < 0:
        for i in range(buffers.accepted.shape[0]):
            two.mask[i] = weight[i] if buffers.accepted[i] == 1 else 0
        return gather(X, d, two.mask, two.lanes, two.sums), 0.0
    a, b = buffers.picks[r, 0], buffers.picks[r, 1]
    mass = limit = 0.0
    for attempt in range(2):
        limit = _toward(X, d, a, b, two.direction)
        mass = split(X, d, limit, weight, two)
        if 0.0 < mass < total or attempt == 1:
            break
        # The two rows are equal on the columns.
        b = _farthest(X, d, a, buffers.weight.shape[0])
    return mass, limit


@jit
def fit_two(buffers, two, lo, d, max_iter, by_pairs):
    """Try the first ``d`` columns, of which ``lo`` were accepted; set the labels, return kappa."""
    X, visited, weight = buffers.X, buffers.visited, two.weight
    total = gather(X, 0, weight, two.lanes, two.sums)
    forget(visited)
    best = -1.0
    for r in range(-1 if lo > 0 else 0, buffers.picks.shape[0]):
        mass, limit = _start(buffers, two, d, r, total)
        steps = (max_iter, r + 1, mass, limit)
        between, limit = descend(X, d, weight, total, buffers.scatter, *steps, two, visited)
        if between > best:
            best = between
            # The accepted partition has a mask and, before a second iteration, no direction.
            if not is_swept(d) or (r < 0 and max_iter == 1):
                copy(two.mask, two.best)
            else:
                paint(X, d, limit, weight, two, two.best)
    if best < 0.0:
        return np.inf
    for i in range(buffers.labels.shape[0]):
        buffers.labels[i] = 1 if two.best[i] > 0 else 0
    between = parts(X, d, weight, total, buffers.scatter, two, buffers.within, buffers.mass)
    return kappa_of(buffers.within, buffers.mass, between, by_pairs)
