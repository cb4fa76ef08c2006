"""Lloyd's iteration for two clusters of centred columns: a direction and a limit, no distances.

When every column has weighted mean zero, the two centres are opposite multiples of one vector,
the sum ``s`` of the second cluster. A point is nearer to the second centre when its product with
``s`` exceeds a limit, and the cost follows from the length of ``s``. An iteration is two
products per value, half the work of two distances, and every sum is a function of the partition
alone, so that nothing drifts.

A partition is identified by the sums of its second cluster, which alone determine the next one.

The columns in use are the first ``d`` rows of ``X``. A partition is its mask: the weight of a
point of the second cluster, 0 elsewhere. Rows may be padded by points of weight 0.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._two_sums import (
    add_columns,
    add_squares,
    clear,
    close,
    fold,
    gather,
    sweep_four,
    sweep_two,
)
from clusterscape.kernels._visited import forget, visit

# Points whose products are held together: small enough for the first cache.
BLOCK = 1024
# Sums are compared to this share of the largest possible: far above rounding.
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
def _cut(X, f, d, direction, base, shift, bound, weight, start, stop, mask):
    """Finish the products with the columns f..d-1, at most four, and compare them with the bound.

    ``base[shift:]`` are the products so far; a negative shift means that there are none.
    """
    first, offset = np.uint64(start), np.uint64(max(shift, 0))
    span = range(np.uint64(stop - start))
    zero = mask.dtype.type(0)
    keep = zero if shift < 0 else mask.dtype.type(1)
    # A column that is not there is the last one with a factor of zero.
    g, h, e = min(f + 1, d - 1), min(f + 2, d - 1), min(f + 3, d - 1)
    p = direction[f]
    q = direction[g] if f + 1 < d else zero
    r = direction[h] if f + 2 < d else zero
    s = direction[e] if f + 3 < d else zero
    # Loads come before the choices: the loops then vectorise.
    if f + 2 < d:
        for i in span:
            at = first + i
            product = (X[f, at] * p + X[g, at] * q) + (X[h, at] * r + X[e, at] * s)
            product += keep * base[offset + i]
            w = weight[at]
            mask[at] = w if product > bound else zero
    else:
        for i in span:
            at = first + i
            product = (X[f, at] * p + X[g, at] * q) + keep * base[offset + i]
            w = weight[at]
            mask[at] = w if product > bound else zero


@jit
def is_swept(d):
    """Say whether an iteration is one pass that decides a point's side, adds it, and is done.

    So it is with the two or four columns of most tries. No mask is written then.
    """
    return d == 2 or d == 4


@jit
def paint(X, d, limit, weight, direction, mask):
    """Write the mask that a sweep did not."""
    bound = direction.dtype.type(limit)
    none = np.int64(-1)
    _cut(X, np.int64(0), d, direction, weight, none, bound, weight, 0, mask.shape[0], mask)


@jit
def split(X, lo, d, known, limit, weight, two):
    """Put the points whose product exceeds the limit into the second cluster.

    ``known`` are the products of the columns before ``lo``. Set the sums of the second cluster, and
    return its weight. The mask is written, unless ``lo`` is 0 and the columns are swept.
    """
    # Taken out of the tuple once: every look into it counts references.
    mask, score, lanes, direction = two.mask, two.score, two.lanes, two.direction
    bound = score.dtype.type(limit)
    # The last one to four columns are done together with the comparison.
    tail = d - 1 - (d - lo - 1) % 4
    none = np.int64(0)
    clear(lanes, d)
    if lo == 0 and is_swept(d):
        if d == 2:
            sweep_two(X, direction, bound, weight, lanes)
        else:
            sweep_four(X, direction, bound, weight, lanes)
        return close(d, lanes, two.sums)
    for start in range(0, mask.shape[0], BLOCK):
        stop = min(start + BLOCK, mask.shape[0])
        if tail == lo:
            shift = np.int64(start if lo > 0 else -1)
            _cut(X, lo, d, direction, known, shift, bound, weight, start, stop, mask)
        else:
            for i in range(np.uint64(stop - start)):
                score[i] = known[np.uint64(start) + i] if lo > 0 else 0
            project(X, lo, tail, direction, start, stop, score)
            _cut(X, tail, d, direction, score, none, bound, weight, start, stop, mask)
        add_columns(X, d, mask, start, stop, lanes)
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
    none = np.int64(0)
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
        mass = split(X, none, d, weight, limit, weight, two)
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
