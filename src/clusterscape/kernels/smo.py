"""Sequential minimal optimisation of the dual of a support vector machine, on a block of points.

The problem is to maximise sum_i h_i(a_i) - 1/2 a' K a with sum_i a_i fixed. Every h_i is concave
and has at most two pieces: slope ``slopes[i, 0]`` from ``ends[i, 0]`` to ``ends[i, 1]`` and slope
``slopes[i, 1]`` from there to ``ends[i, 2]``. A labelled point has one piece (y from 0 to y C); an
unlabelled one, which enters a transductive machine with both labels, has two, so that one variable
stands for its two copies.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

_TINY = 1e-12  # curvature of a pair that is taken for none


@jit
def _set_slopes(i, a, ends, slopes, up, down):
    """Write what one more, and one less, of variable i gives; infinite where it has no way."""
    if a < ends[i, 1]:
        up[i] = slopes[i, 0]
    elif a < ends[i, 2]:
        up[i] = slopes[i, 1]
    else:
        up[i] = -np.inf
    if a > ends[i, 1]:
        down[i] = slopes[i, 1]
    elif a > ends[i, 0]:
        down[i] = slopes[i, 0]
    else:
        down[i] = np.inf


@jit
def directions(alpha, ends, slopes, up, down):
    """Write the slope upwards and downwards of every variable."""
    for i in range(alpha.size):
        _set_slopes(i, alpha[i], ends, slopes, up, down)


@jit
def _partner(kernel, value, down, i, best):
    """Return the variable that gains most when it gives to i, by the second-order rule."""
    row = kernel[i]
    chosen, most = -1, -1.0
    for k in range(value.size):
        gap = best - (down[k] - value[k])
        if gap > 0.0:
            curve = row[i] + kernel[k, k] - 2.0 * row[k]
            if curve < _TINY:
                curve = _TINY
            gain = gap * gap / curve
            if gain > most:
                chosen, most = k, gain
    return chosen


@jit
def _exchange(kernel, value, alpha, ends, i, j, gap):
    """Move as much from j to i as helps, at most to the next end of a piece of either."""
    curve = kernel[i, i] + kernel[j, j] - 2.0 * kernel[i, j]
    step = gap / max(curve, _TINY)
    top = ends[i, 1] if alpha[i] < ends[i, 1] else ends[i, 2]
    low = ends[j, 1] if alpha[j] > ends[j, 1] else ends[j, 0]
    room_up, room_down = top - alpha[i], alpha[j] - low
    step = min(step, room_up, room_down)
    # Exactly onto an end: a variable that is off by rounding would count as free.
    alpha[i] = top if step == room_up else alpha[i] + step
    alpha[j] = low if step == room_down else alpha[j] - step
    to, source = kernel[i], kernel[j]
    for k in range(value.size):
        value[k] += step * (to[k] - source[k])


@jit
def solve_block(kernel, value, alpha, ends, slopes, tol, max_steps):
    """Improve the variables of a block until no pair gains more than ``tol``; return the steps.

    ``kernel`` is (q, q), ``value`` the product of the whole kernel with all variables at the points
    of the block; ``value`` and ``alpha`` are changed in place.
    """
    q = alpha.size
    up, down = np.empty(q), np.empty(q)
    directions(alpha, ends, slopes, up, down)
    for step in range(max_steps):
        i, best, least = -1, -np.inf, np.inf
        for k in range(q):
            here = up[k] - value[k]
            if here > best:
                i, best = k, here
            here = down[k] - value[k]
            least = min(least, here)
        if best - least <= tol:
            return step
        j = _partner(kernel, value, down, i, best)
        gap = best - (down[j] - value[j])
        _exchange(kernel, value, alpha, ends, i, j, gap)
        _set_slopes(i, alpha[i], ends, slopes, up, down)
        _set_slopes(j, alpha[j], ends, slopes, up, down)
    return max_steps


@jit
def gather(table, rows, columns, out):
    """Copy some entries of a table of float32 to a block of float64."""
    for r in range(rows.size):
        line = table[rows[r]]
        for k in range(columns.size):
            out[r, k] = line[columns[k]]


_PIECE = 4096  # entries of the sum that stay in the cache of the processor


@jit
def add_rows(table, rows, weights, total):
    """Add weighted rows of a table of float32 to a sum of float64."""
    width = total.size
    for start in range(0, width, _PIECE):
        stop = min(start + _PIECE, width)
        for r in range(rows.size):
            weight = weights[r]
            line = table[rows[r]]
            if weight != 0.0:
                for k in range(start, stop):
                    total[k] += weight * line[k]
