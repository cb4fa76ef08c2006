"""Lloyd's iteration for two clusters of centred columns: a direction and a limit, no distances.

When every column has weighted mean zero, the two centres are opposite multiples of one vector,
the sum ``s`` of the second cluster. A point is nearer to the second centre when its product with
``s`` exceeds a limit, and the cost follows from the length of ``s``. An iteration is two passes of
products, half the work of two distances, and every sum is a function of the partition alone, so
that nothing drifts.

A partition is known by the sums of its second cluster, of which alone its way goes on.

The columns in use are the first ``d`` rows of ``X``. A partition is its mask: the weight of a
point of the second cluster, 0 elsewhere. Rows may be padded by points of weight 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit

# Points whose products are held together: small enough for the first cache.
BLOCK = 1024
# Partial sums of a pass: additions to one need not wait for each other, and they vectorise.
LANES = 16
# Rows are padded to a whole number of strides, so that there is no rest to add one by one.
STRIDE = 4 * LANES
# Partitions remembered at most; slots are twice as many, so that free ones are found soon.
REMEMBERED = 1024
# Sums are told apart to this share of the largest possible: far above rounding.
_UNITS = 2.0**40
# Below this share of the total, what is left after a subtraction is not precise enough.
_PRECISE = 1e-6


class Memo(NamedTuple):
    """The partitions that the starts of one problem went through, by hash."""

    marks: np.ndarray  # (slots,) 0 is free
    owners: np.ndarray  # (slots,) the start that came first
    used: np.ndarray  # the slots in use
    held: np.ndarray  # (1,) how many


class Halves(NamedTuple):
    """The buffers of a problem."""

    mask: np.ndarray  # (n,) in the type of the data
    best: np.ndarray  # (n,) the mask of the best start
    score: np.ndarray  # (BLOCK,) products of one block of points
    lanes: np.ndarray  # (capacity + 1, LANES) partial sums of the columns, then of the mask
    sums: np.ndarray  # (capacity,) of the second cluster
    direction: np.ndarray  # (capacity,) in the type of the data


@jit
def forget(memo):
    """Empty the memo."""
    for i in range(memo.held[0]):
        memo.marks[memo.used[i]] = 0
    memo.held[0] = 0


@jit
def visit(memo, mark, owner):
    """Return the start that came to this partition first, or -1 and remember that it was this one.

    A full memo remembers no more: starts then run to their own end.
    """
    mark = mark if mark != 0 else 1
    slots = memo.marks.shape[0]
    at = mark & (slots - 1)
    while memo.marks[at] != 0:
        if memo.marks[at] == mark:
            return memo.owners[at]
        at = (at + 1) & (slots - 1)
    if memo.held[0] < memo.used.shape[0]:
        memo.marks[at] = mark
        memo.owners[at] = owner
        memo.used[memo.held[0]] = at
        memo.held[0] += 1
    return -1


@jit
def _clear(lanes, d):
    """Set the partial sums of ``d`` columns and of the mask to zero."""
    for f in range(d):
        for j in range(LANES):
            lanes[f, j] = 0.0
    for j in range(LANES):
        lanes[lanes.shape[0] - 1, j] = 0.0


@jit
def _fold(lanes, f):
    """Return the sum of the partial sums; half of them at a time, which vectorises."""
    half = LANES // 2
    while half > 0:
        for j in range(half):
            lanes[f, j] += lanes[f, j + half]
        half //= 2
    return lanes[f, 0]


@jit
def _add_products(X, f, mask, start, stop, lanes):
    """Add a column times the mask to the partial sums; points come in whole strides."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    for base in range(np.uint64(start), np.uint64(stop), np.uint64(STRIDE)):
        for j in range(one):
            i = base + j
            near = X[f, i] * mask[i] + X[f, i + one] * mask[i + one]
            far = X[f, i + two] * mask[i + two] + X[f, i + three] * mask[i + three]
            lanes[f, j] += near + far


@jit
def _add_pair(X, f, mask, start, stop, lanes):
    """Do so with the columns f and f + 1: the mask is read once."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    g = f + 1
    for base in range(np.uint64(start), np.uint64(stop), np.uint64(STRIDE)):
        for j in range(one):
            i = base + j
            p, q, r, s = mask[i], mask[i + one], mask[i + two], mask[i + three]
            near, far = X[f, i] * p + X[f, i + one] * q, X[f, i + two] * r + X[f, i + three] * s
            lanes[f, j] += near + far
            near, far = X[g, i] * p + X[g, i + one] * q, X[g, i + two] * r + X[g, i + three] * s
            lanes[g, j] += near + far


@jit
def _add_columns(X, d, mask, start, stop, lanes):
    """Add all columns times the mask, and the mask, to the partial sums."""
    for f in range(0, d - 1, 2):
        _add_pair(X, f, mask, start, stop, lanes)
    if d % 2 == 1:
        _add_products(X, d - 1, mask, start, stop, lanes)
    _add_mask(mask, start, stop, lanes)


@jit
def _add_mask(mask, start, stop, lanes):
    """Add the mask to the last row of the partial sums."""
    one = np.uint64(LANES)
    last = lanes.shape[0] - 1
    for base in range(np.uint64(start), np.uint64(stop), one):
        for j in range(one):
            lanes[last, j] += mask[base + j]


@jit
def _add_squares(X, f, mask, lanes):
    """Add the squares of a column, times the mask, to the partial sums."""
    one = np.uint64(LANES)
    for base in range(np.uint64(0), np.uint64(mask.shape[0]), one):
        for j in range(one):
            x = np.float64(X[f, base + j])
            lanes[f, j] += mask[base + j] * (x * x)


@jit
def gather(X, d, mask, lanes, sums):
    """Set the sums of the second cluster; return its weight."""
    _clear(lanes, d)
    _add_columns(X, d, mask, 0, mask.shape[0], lanes)
    return _close(d, lanes, sums)


@jit
def _close(d, lanes, sums):
    """Turn the partial sums into sums; return the weight."""
    for f in range(d):
        sums[f] = _fold(lanes, f)
    return _fold(lanes, lanes.shape[0] - 1)


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
    # Loads stand before the choices: the loops then vectorise.
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
def split(X, lo, d, known, limit, weight, halves):
    """Put the points whose product exceeds the limit into the second cluster.

    ``known`` are the products of the columns before ``lo``. Set the sums of the second cluster, and
    return its weight.
    """
    # Taken out of the tuple once: every look into it counts references.
    mask, score, lanes, direction = halves.mask, halves.score, halves.lanes, halves.direction
    bound = score.dtype.type(limit)
    # The last one to four columns are done together with the comparison.
    tail = d - 1 - (d - lo - 1) % 4
    none = np.int64(0)
    _clear(lanes, d)
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
        _add_columns(X, d, mask, start, stop, lanes)
    return _close(d, lanes, halves.sums)


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
def _mark(sums, d, mass, total, scatter):
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
def descend(X, d, weight, total, scatter, max_iter, owner, mass, halves, memo):
    """Run Lloyd from the sums in ``halves``; return the sum of squares between clusters.

    It is -1 when a start before this one came to the same partition: this one would end where
    that one ended. ``mass`` is the weight of the second cluster, ``total`` that of all points.
    """
    none = np.int64(0)
    sums, direction = halves.sums, halves.direction
    mark = _mark(sums, d, mass, total, scatter)
    if visit(memo, mark, owner) >= 0:
        return -1.0
    n_iter = 1
    while 0.0 < mass < total:
        square = 0.0
        for f in range(d):
            square += sums[f] ** 2
        between = square * (total / (mass * (total - mass)))
        if n_iter == max_iter:
            forget(memo)  # this path was cut short; another start may go farther on it
            return between
        limit = aim(sums, d, mass, total - mass, direction)
        mass = split(X, none, d, weight, limit, weight, halves)
        n_iter += 1
        fresh = _mark(sums, d, mass, total, scatter)
        if fresh == mark:
            return between
        mark = fresh
        first = visit(memo, mark, owner)
        if first >= 0 and first != owner:
            return -1.0
        if first == owner:
            n_iter = max_iter  # rounding goes round in a circle: this one is as good as the next
    return -1.0


@jit
def parts(X, d, weight, total, scatter, halves, within, masses):
    """Measure the best partition: each cluster's sum of squares and weight; return that between."""
    mask, lanes = halves.best, halves.lanes
    mass = gather(X, d, mask, lanes, halves.sums)
    rest = total - mass
    whole = inner = square = 0.0
    _clear(lanes, d)
    for f in range(d):
        _add_squares(X, f, mask, lanes)
        inner += _fold(lanes, f)
        square += halves.sums[f] ** 2
        whole += scatter[f]
    masses[0], masses[1] = rest, mass
    within[0], within[1] = whole - inner - square / rest, inner - square / mass
    if min(within[0], within[1]) < _PRECISE * whole:
        within[:] = 0.0
        for f in range(d):
            low, high = -halves.sums[f] / rest, halves.sums[f] / mass
            for i in range(mask.shape[0]):
                if mask[i] > 0:
                    within[1] += mask[i] * (X[f, i] - high) ** 2
                else:
                    within[0] += weight[i] * (X[f, i] - low) ** 2
    return square * (total / (mass * rest))
