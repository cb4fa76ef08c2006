"""Sums over the points of one of two clusters: partial sums, which vectorise, in a fixed order."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

# Partial sums of a pass: additions to one need not wait for each other, and they vectorise.
LANES = 16
# Rows are padded to a whole number of strides, so that there is no rest to add one by one.
STRIDE = 4 * LANES
# Points of a sweep that are done in loops of known length.
SWEPT = 512


@jit
def clear(lanes, d):
    """Set the partial sums of ``d`` columns and of the mask to zero."""
    for f in range(d):
        for j in range(LANES):
            lanes[f, j] = 0.0
    for j in range(LANES):
        lanes[lanes.shape[0] - 1, j] = 0.0


@jit
def fold(lanes, f):
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
def _add_first(X, mask, start, stop, lanes):
    """Do so with the columns 0 and 1 and the mask itself."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    last = lanes.shape[0] - 1
    for base in range(np.uint64(start), np.uint64(stop), np.uint64(STRIDE)):
        for j in range(one):
            i = base + j
            p, q, r, s = mask[i], mask[i + one], mask[i + two], mask[i + three]
            near, far = X[0, i] * p + X[0, i + one] * q, X[0, i + two] * r + X[0, i + three] * s
            lanes[0, j] += near + far
            near, far = X[1, i] * p + X[1, i + one] * q, X[1, i + two] * r + X[1, i + three] * s
            lanes[1, j] += near + far
            lanes[last, j] += (p + q) + (r + s)


@jit
def add_columns(X, d, mask, start, stop, lanes):
    """Add all columns times the mask, and the mask, to the partial sums."""
    if d < 2:
        _add_mask(mask, start, stop, lanes)
    else:
        _add_first(X, mask, start, stop, lanes)
    for f in range(2, d - 1, 2):
        _add_pair(X, f, mask, start, stop, lanes)
    if d % 2 == 1:
        _add_products(X, d - 1, mask, start, stop, lanes)


@jit
def _add_mask(mask, start, stop, lanes):
    """Add the mask to the last row of the partial sums."""
    one = np.uint64(LANES)
    last = lanes.shape[0] - 1
    for base in range(np.uint64(start), np.uint64(stop), one):
        for j in range(one):
            lanes[last, j] += mask[base + j]


@jit
def add_squares(X, f, mask, lanes):
    """Add the squares of a column, times the mask, to the partial sums."""
    one = np.uint64(LANES)
    for base in range(np.uint64(0), np.uint64(mask.shape[0]), one):
        for j in range(one):
            x = np.float64(X[f, base + j])
            lanes[f, j] += mask[base + j] * (x * x)


@jit
def gather(X, d, mask, lanes, sums):
    """Set the sums of the second cluster; return its weight."""
    clear(lanes, d)
    add_columns(X, d, mask, 0, mask.shape[0], lanes)
    return close(d, lanes, sums)


@jit
def close(d, lanes, sums):
    """Turn the partial sums into sums; return the weight."""
    for f in range(d):
        sums[f] = fold(lanes, f)
    return fold(lanes, lanes.shape[0] - 1)


@jit
def weight_of_all(weight, d, swept, lanes):
    """Return the weight of all points, by the same partial sums as that of a cluster of them."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    clear(lanes, 0)
    last = lanes.shape[0] - 1
    n = np.uint64(weight.shape[0])
    if d == 1:
        _add_mask(weight, 0, weight.shape[0], lanes)
    elif swept:
        for base in range(np.uint64(0), n, two):
            for j in range(one):
                lanes[last, j] += weight[base + j] + weight[base + j + one]
    else:
        for base in range(np.uint64(0), n, np.uint64(STRIDE)):
            for j in range(one):
                i = base + j
                near, far = weight[i] + weight[i + one], weight[i + two] + weight[i + three]
                lanes[last, j] += near + far
    return fold(lanes, last)


@jit
def sweep_two(X, direction, bound, weight, lanes):
    """Add the points of two columns whose product exceeds the bound to the partial sums."""
    block = np.uint64(SWEPT)
    whole = np.uint64(weight.shape[0] // SWEPT * SWEPT)
    # A number of points that is known to the compiler, or it would not vectorise; then the rest.
    for start in range(np.uint64(0), whole, block):
        for base in range(np.uint64(0), block, np.uint64(2 * LANES)):
            _two_lanes(X, start + base, direction, bound, weight, lanes)
    for start in range(whole, np.uint64(weight.shape[0]), np.uint64(2 * LANES)):
        _two_lanes(X, start, direction, bound, weight, lanes)


@jit
def _two_lanes(X, base, direction, bound, weight, lanes):
    one = np.uint64(LANES)
    last = lanes.shape[0] - 1
    zero = direction.dtype.type(0)
    p, q = direction[0], direction[1]
    for j in range(one):
        i, k = base + j, base + j + one
        u, v, w = X[0, i], X[1, i], weight[i]
        U, V, W = X[0, k], X[1, k], weight[k]
        w = w if u * p + v * q > bound else zero
        W = W if U * p + V * q > bound else zero
        lanes[0, j] += u * w + U * W
        lanes[1, j] += v * w + V * W
        lanes[last, j] += w + W


@jit
def sweep_four(X, direction, bound, weight, lanes):
    """Do so with four columns."""
    block = np.uint64(SWEPT)
    whole = np.uint64(weight.shape[0] // SWEPT * SWEPT)
    for start in range(np.uint64(0), whole, block):
        for base in range(np.uint64(0), block, np.uint64(2 * LANES)):
            _four_lanes(X, start + base, direction, bound, weight, lanes)
    for start in range(whole, np.uint64(weight.shape[0]), np.uint64(2 * LANES)):
        _four_lanes(X, start, direction, bound, weight, lanes)


@jit
def _four_lanes(X, base, direction, bound, weight, lanes):
    one = np.uint64(LANES)
    last = lanes.shape[0] - 1
    zero = direction.dtype.type(0)
    p, q, r, s = direction[0], direction[1], direction[2], direction[3]
    for j in range(one):
        i, k = base + j, base + j + one
        u, v, x, y, w = X[0, i], X[1, i], X[2, i], X[3, i], weight[i]
        U, V, Y, Z, W = X[0, k], X[1, k], X[2, k], X[3, k], weight[k]
        w = w if (u * p + v * q) + (x * r + y * s) > bound else zero
        W = W if (U * p + V * q) + (Y * r + Z * s) > bound else zero
        lanes[0, j] += u * w + U * W
        lanes[1, j] += v * w + V * W
        lanes[2, j] += x * w + Y * W
        lanes[3, j] += y * w + Z * W
        lanes[last, j] += w + W
