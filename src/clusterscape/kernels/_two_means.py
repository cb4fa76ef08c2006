"""Lloyd's iteration for two clusters of centred columns: a direction and a limit, no distances.

When every column has weighted mean zero, the two centres are opposite multiples of one vector,
the sum ``s`` of the second cluster. A point is nearer to the second centre when its product with
``s`` exceeds a limit, and the cost follows from the length of ``s``. An iteration takes two
products per value, half the work of two distances, and every sum is a function of the partition
alone, so that rounding errors do not add up.

A partition is recognised by the sums of its second cluster, which decide all further iterations.

The columns in use are the first ``d`` rows of ``X``, which has at least four. A partition is its
mask: the weight of a point of the second cluster, 0 elsewhere. Rows may be padded by points of
weight 0.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._two_sums import (
    add_columns,
    add_squares,
    add_weight,
    clear,
    close,
    fold,
    gather,
    sweep,
)
from clusterscape.kernels._visited import forget, visit

# Points whose products are held together: small enough for the first cache.
BLOCK = 1024
# Sums that differ by less than this share of the largest possible are equal: far above rounding.
_UNITS = 2.0**40
# Below this share of the total, what is left after a subtraction is not precise enough.
_PRECISE = 1e-6


@jit
def project(X, lo, d, direction, start, stop, out):
    """Add the products of the columns lo..d-1 and the direction, for the points start..stop-1."""
    base = np.uint64(start)
    span = range(np.uint64(stop - start))
    f = lo
    while d - f >= 4:
        p, q, r, s = direction[f], direction[f + 1], direction[f + 2], direction[f + 3]
        for i in span:
            at = base + i
            out[i] += (X[f, at] * p + X[f + 1, at] * q) + (X[f + 2, at] * r + X[f + 3, at] * s)
        f += 4
    if d - f >= 2:
        p, q = direction[f], direction[f + 1]
        for i in span:
            out[i] += X[f, base + i] * p + X[f + 1, base + i] * q
        f += 2
    if d - f == 1:
        p = direction[f]
        for i in span:
            out[i] += X[f, base + i] * p


@jit
def is_swept(d):
    """Say whether an iteration is one pass that decides a point's side and adds it; no mask."""
    return d <= 4


@jit
def split(X, d, limit, weight, two):
    """Put the points whose product exceeds the limit into the second cluster.

    Set the sums of the second cluster, and return its weight. The mask is written, unless the
    columns are swept.
    """
    if not is_swept(d):
        return paint(X, d, limit, weight, two, two.mask)
    # Taken out of the tuple once: every look into it counts references.
    lanes, direction = two.lanes, two.direction
    clear(lanes, d)
    for f in range(d, 4):
        direction[f] = 0
    sweep(X, direction, direction.dtype.type(limit), weight, lanes)
    return close(d, lanes, two.sums)


@jit
def paint(X, d, limit, weight, two, mask):
    """Do so with a mask, for any number of columns."""
    score, lanes, direction = two.score, two.lanes, two.direction
    bound, zero = score.dtype.type(limit), score.dtype.type(0)
    clear(lanes, d)
    for f in range(d, 4):
        direction[f] = 0
    p, q, r, s = direction[0], direction[1], direction[2], direction[3]
    for start in range(0, mask.shape[0], BLOCK):
        stop = min(start + BLOCK, mask.shape[0])
        base, span = np.uint64(start), range(np.uint64(stop - start))
        for i in span:
            score[i] = 0
        project(X, 4, d, direction, start, stop, score)
        for i in span:
            at = base + i
            # Loads stand before the choice: the loop then vectorises.
            w = weight[at]
            product = score[i] + ((X[0, at] * p + X[1, at] * q) + (X[2, at] * r + X[3, at] * s))
            mask[at] = w if product > bound else zero
        add_columns(X, 0, d, mask, start, stop, lanes)
    add_weight(mask, lanes)
    return close(d, lanes, two.sums)


@jit
def aim(sums, d, mass, rest, direction):
    """Set the direction to that of the sums, without their scale; return the limit."""
    largest = 0.0
    for f in range(d):
        largest = max(largest, abs(sums[f]))
    if largest == 0.0:
        direction[:d] = 0
        return 0.0
    square = 0.0
    for f in range(d):
        direction[f] = sums[f] / largest
        square += sums[f] * (sums[f] / largest)
    return square * (1.0 / mass - 1.0 / rest) / 2


@jit
def _key(sums, d, mass, total, scatter):
    """Return a key of the partition; the same with its clusters exchanged."""
    largest, sign = 0.0, 1.0
    for f in range(d):
        size = sums[f] ** 2 / scatter[f] if scatter[f] > 0.0 else 0.0
        if size > largest:
            largest, sign = size, (1.0 if sums[f] > 0.0 else -1.0)
    share = (mass if sign > 0.0 else total - mass) / total
    key = np.int64(np.rint(share * _UNITS))
    for f in range(d):
        part = 0.0
        if scatter[f] > 0.0:
            part = sign * sums[f] / np.sqrt(total * scatter[f])
        key = (key ^ np.int64(np.rint(part * _UNITS))) * 0x3F4A7C15F39CC061
        key ^= key >> 29
    return key


@jit
def descend(X, d, weight, total, scatter, max_iter, start, mass, limit, two, visited):
    """Run Lloyd from the sums in ``two``.

    Return the sum of squares between clusters, and the limit that gives the partition with the
    direction in ``two``. The first is -1 when a start before this one came to the same
    partition: this one would end where that one ended. ``mass`` is the weight of the second
    cluster, ``total`` that of all points.
    """
    sums, direction = two.sums, two.direction
    key = _key(sums, d, mass, total, scatter)
    if visit(visited, key, start) >= 0:
        return -1.0, limit
    n_iter = 1
    while 0.0 < mass < total:
        square = 0.0
        for f in range(d):
            square += sums[f] ** 2
        between = square * (total / (mass * (total - mass)))
        if n_iter == max_iter:
            forget(visited)  # this path was cut short; another start may go farther on it
            return between, limit
        limit = aim(sums, d, mass, total - mass, direction)
        mass = split(X, d, limit, weight, two)
        n_iter += 1
        fresh = _key(sums, d, mass, total, scatter)
        if fresh == key:
            return between, limit
        key = fresh
        first = visit(visited, key, start)
        if first >= 0 and first != start:
            return -1.0, limit
        if first == start:
            n_iter = max_iter  # rounding makes the iteration cycle: this one is as good as the next
    return -1.0, limit


@jit
def parts(X, d, weight, total, scatter, two, within, masses):
    """Measure the best partition: each cluster's sum of squares and weight; return that between."""
    mask, lanes = two.best, two.lanes
    mass = gather(X, d, mask, lanes, two.sums)
    rest = total - mass
    whole = inner = square = 0.0
    clear(lanes, d)
    for f in range(d):
        add_squares(X, f, mask, lanes)
        inner += fold(lanes, f)
        square += two.sums[f] ** 2
        whole += scatter[f]
    masses[0], masses[1] = rest, mass
    within[0], within[1] = whole - inner - square / rest, inner - square / mass
    if min(within[0], within[1]) < _PRECISE * whole:
        within[:] = 0.0
        for f in range(d):
            low, high = -two.sums[f] / rest, two.sums[f] / mass
            for i in range(mask.shape[0]):
                if mask[i] > 0:
                    within[1] += mask[i] * (X[f, i] - high) ** 2
                else:
                    within[0] += weight[i] * (X[f, i] - low) ** 2
    return square * (total / (mass * rest))
