"""A try with two clusters by Lloyd: all restarts on a direction and a limit each.

A vector keeps the products of all points and the ways from one starting row to the other on the
columns accepted, so that the first split of a restart looks at the new columns only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._forest_room import copy, ratio
from clusterscape.kernels._jit import jit
from clusterscape.kernels._two_means import (
    Halves,
    descend,
    forget,
    is_swept,
    paint,
    parts,
    project,
    split,
)
from clusterscape.kernels._two_sums import gather


class Starts(NamedTuple):
    """What two clusters by Lloyd need besides: the ways from one starting row to the other."""

    known: np.ndarray  # (n_init, padded) products of points and ways; no rows: not kept
    limits: np.ndarray  # (n_init,) the product half way
    weight: np.ndarray  # (padded,) in the type of the data
    halves: Halves


@jit
def _toward(X, lo, d, a, b, direction):
    """Set the direction from point ``a`` to ``b`` on the columns lo..d-1; return the limit."""
    limit = 0.0
    for f in range(lo, d):
        near, far = np.float64(X[f, a]), np.float64(X[f, b])
        direction[f] = far - near
        limit += (far - near) * (far + near) / 2
    return limit


@jit
def keep_products(room, starts, lo, d):
    """Add the columns lo..d-1 to the products of all points and the starts."""
    X, direction = room.X, starts.halves.direction
    for r in range(starts.known.shape[0]):
        known = starts.known[r]
        if lo == 0:
            starts.limits[r] = 0.0
            for i in range(known.shape[0]):
                known[i] = 0
        starts.limits[r] += _toward(X, lo, d, room.picks[r, 0], room.picks[r, 1], direction)
        project(X, lo, d, direction, np.int64(0), X.shape[1], known)


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
def _start_two(room, starts, lo, d, r, total):
    """Begin with start ``r`` (-1 is the accepted partition).

    Return the second cluster's weight, and the limit that gives it with the direction in the
    buffers.
    """
    X, weight, halves = room.X, starts.weight, starts.halves
    if r < 0:
        for i in range(room.accepted.shape[0]):
            halves.mask[i] = weight[i] if room.accepted[i] == 1 else 0
        return gather(X, d, halves.mask, halves.lanes, halves.sums), 0.0
    a, b = room.picks[r, 0], room.picks[r, 1]
    kept = starts.known.shape[0] > 0 and not is_swept(d)
    first = lo if kept else np.int64(0)
    known = starts.known[r] if kept else weight
    limit = _toward(X, first, d, a, b, halves.direction)
    limit += starts.limits[r] if first > 0 else 0.0
    mass = split(X, first, d, known, limit, weight, halves)
    if mass <= 0.0 or mass >= total:
        # The two rows are equal on the columns.
        b = _farthest(X, d, a, room.weight.shape[0])
        first = np.int64(0)
        limit = _toward(X, first, d, a, b, halves.direction)
        mass = split(X, first, d, known, limit, weight, halves)
    return mass, limit


@jit
def _whole(X, d, weight, halves):
    """Return the weight of all points, by the same partial sums as that of a cluster of them."""
    if not is_swept(d):
        return gather(X, d, weight, halves.lanes, halves.sums)
    halves.direction[:d] = 0
    return split(X, np.int64(0), d, weight, -1.0, weight, halves)


@jit
def fit_two(room, starts, lo, d, growth):
    """Try the columns with two clusters; set ``room.labels`` and return kappa."""
    memo, halves, weight = room.memo, starts.halves, starts.weight
    total = _whole(room.X, d, weight, halves)
    forget(memo)
    best = -1.0
    for r in range(-1 if lo > 0 else 0, growth.n_init):
        mass, limit = _start_two(room, starts, lo, d, r, total)
        steps = (growth.max_iter, r + 1, mass, limit)
        between, limit = descend(room.X, d, weight, total, room.scatter, *steps, halves, memo)
        if between > best:
            best = between
            # The accepted partition has a mask and, before a second iteration, no direction.
            if not is_swept(d) or (r < 0 and growth.max_iter == 1):
                copy(halves.mask, halves.best)
            else:
                paint(room.X, d, limit, weight, halves.direction, halves.best)
    if best < 0.0:
        return np.inf
    for i in range(room.labels.shape[0]):
        room.labels[i] = 1 if halves.best[i] > 0 else 0
    between = parts(room.X, d, weight, total, room.scatter, halves, room.within, room.mass)
    return ratio(room.within, room.mass, between, growth.pairs)
