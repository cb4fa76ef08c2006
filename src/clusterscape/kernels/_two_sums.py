"""Sums over the points of one of two clusters: partial sums, which vectorise, in a fixed order.

Every sum of a column over a cluster is made of the same partial sums in the same order, whichever
function adds it, so that it depends on the partition alone.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

# Partial sums of a pass: additions to one need not wait for each other, and they vectorise.
LANES = 16
# Rows are padded to a whole number of strides, so that there is no rest to add one by one.
STRIDE = 4 * LANES
# Points that are done in a loop of known length, which the compiler vectorises.
_KNOWN = 512


@jit
def clear(lanes, d):
    """Set the partial sums of ``d`` columns (at least four) and of the mask to zero."""
    for f in range(max(d, 4)):
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
def close(d, lanes, sums):
    """Turn the partial sums into sums; return the weight."""
    for f in range(d):
        sums[f] = fold(lanes, f)
    return fold(lanes, lanes.shape[0] - 1)


@jit
def add_columns(X, lo, d, mask, start, stop, lanes):
    """Add the columns lo..d-1 times the mask to the partial sums; points come in whole strides."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    for f in range(lo, d - 1, 2):
        g = f + 1
        for base in range(np.uint64(start), np.uint64(stop), np.uint64(STRIDE)):
            for j in range(one):
                i = base + j
                p, q, r, s = mask[i], mask[i + one], mask[i + two], mask[i + three]
                near, far = X[f, i] * p + X[f, i + one] * q, X[f, i + two] * r + X[f, i + three] * s
                lanes[f, j] += near + far
                near, far = X[g, i] * p + X[g, i + one] * q, X[g, i + two] * r + X[g, i + three] * s
                lanes[g, j] += near + far
    if (d - lo) % 2 == 1:
        f = d - 1
        for base in range(np.uint64(start), np.uint64(stop), np.uint64(STRIDE)):
            for j in range(one):
                i = base + j
                near = X[f, i] * mask[i] + X[f, i + one] * mask[i + one]
                far = X[f, i + two] * mask[i + two] + X[f, i + three] * mask[i + three]
                lanes[f, j] += near + far


@jit
def add_weight(mask, lanes):
    """Add the mask itself to the last row of the partial sums."""
    one = np.uint64(LANES)
    two, three = one + one, one + one + one
    last = lanes.shape[0] - 1
    for base in range(np.uint64(0), np.uint64(mask.shape[0]), np.uint64(STRIDE)):
        for j in range(one):
            i = base + j
            near, far = mask[i] + mask[i + one], mask[i + two] + mask[i + three]
            lanes[last, j] += near + far


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
    """Set the sums of the cluster with this mask; return its weight. ``d`` may be 0."""
    clear(lanes, d)
    add_columns(X, 0, d, mask, 0, mask.shape[0], lanes)
    add_weight(mask, lanes)
    return close(d, lanes, sums)


@jit
def sweep(X, direction, bound, weight, lanes):
    """Add the points whose product on at most four columns exceeds the bound: one pass, no mask.

    ``X`` and ``direction`` have at least four rows; the direction is zero where none is in use.
    """
    one, last = np.uint64(LANES), lanes.shape[0] - 1
    zero = direction.dtype.type(0)
    p, q, r, s = direction[0], direction[1], direction[2], direction[3]
    n = np.uint64(weight.shape[0])
    whole = np.uint64(weight.shape[0] // _KNOWN * _KNOWN)
    # The same loop twice, because the compiler vectorises it only if its length is known. Loads
    # stand before the choices for the same reason.
    for start in range(np.uint64(0), whole, np.uint64(_KNOWN)):
        for base in range(np.uint64(0), np.uint64(_KNOWN), np.uint64(STRIDE)):
            for j in range(one):
                i = start + base + j
                k = i + one
                m = k + one
                o = m + one
                i0, i1, i2, i3, u = X[0, i], X[1, i], X[2, i], X[3, i], weight[i]
                k0, k1, k2, k3, v = X[0, k], X[1, k], X[2, k], X[3, k], weight[k]
                m0, m1, m2, m3, w = X[0, m], X[1, m], X[2, m], X[3, m], weight[m]
                o0, o1, o2, o3, x = X[0, o], X[1, o], X[2, o], X[3, o], weight[o]
                u = u if (i0 * p + i1 * q) + (i2 * r + i3 * s) > bound else zero
                v = v if (k0 * p + k1 * q) + (k2 * r + k3 * s) > bound else zero
                w = w if (m0 * p + m1 * q) + (m2 * r + m3 * s) > bound else zero
                x = x if (o0 * p + o1 * q) + (o2 * r + o3 * s) > bound else zero
                lanes[0, j] += (i0 * u + k0 * v) + (m0 * w + o0 * x)
                lanes[1, j] += (i1 * u + k1 * v) + (m1 * w + o1 * x)
                lanes[2, j] += (i2 * u + k2 * v) + (m2 * w + o2 * x)
                lanes[3, j] += (i3 * u + k3 * v) + (m3 * w + o3 * x)
                lanes[last, j] += (u + v) + (w + x)
    for start in range(whole, n, np.uint64(STRIDE)):
        for base in range(np.uint64(0), np.uint64(STRIDE), np.uint64(STRIDE)):
            for j in range(one):
                i = start + base + j
                k = i + one
                m = k + one
                o = m + one
                i0, i1, i2, i3, u = X[0, i], X[1, i], X[2, i], X[3, i], weight[i]
                k0, k1, k2, k3, v = X[0, k], X[1, k], X[2, k], X[3, k], weight[k]
                m0, m1, m2, m3, w = X[0, m], X[1, m], X[2, m], X[3, m], weight[m]
                o0, o1, o2, o3, x = X[0, o], X[1, o], X[2, o], X[3, o], weight[o]
                u = u if (i0 * p + i1 * q) + (i2 * r + i3 * s) > bound else zero
                v = v if (k0 * p + k1 * q) + (k2 * r + k3 * s) > bound else zero
                w = w if (m0 * p + m1 * q) + (m2 * r + m3 * s) > bound else zero
                x = x if (o0 * p + o1 * q) + (o2 * r + o3 * s) > bound else zero
                lanes[0, j] += (i0 * u + k0 * v) + (m0 * w + o0 * x)
                lanes[1, j] += (i1 * u + k1 * v) + (m1 * w + o1 * x)
                lanes[2, j] += (i2 * u + k2 * v) + (m2 * w + o2 * x)
                lanes[3, j] += (i3 * u + k3 * v) + (m3 * w + o3 * x)
                lanes[last, j] += (u + v) + (w + x)
