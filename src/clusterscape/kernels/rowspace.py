"""k-means over the rows of B, without building B: a row's score is r look-ups in a D x K table."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

LANES = 8  # as many look-ups cost as much as one
PADDING = 4  # tables are padded to a multiple of this many columns


@jit
def assign(labels, offsets, table, norms, scale, groups, values):
    """Give every point the group g with the least ``norms[g] - scale[x] * sum_i table[c_i(x), g]``.

    ``table`` has a multiple of four columns (padding has an infinite norm): eight sums kept in
    registers, or four at the end, make the look-ups four times faster than a loop over a score
    array. Writes the group to ``groups`` and the score to ``values``; returns how many points
    moved. Ties go to the group with the smaller number.
    """
    n, r = labels.shape
    width = table.shape[1]
    whole = width - width % 8
    columns = np.empty(r, dtype=np.int64)
    moved = 0
    for x in range(n):
        m = 0
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                columns[m] = offsets[i] + code
                m += 1
        best = 0
        least = np.inf
        for t in range(0, whole, 8):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
            for j in range(m):
                c = columns[j]
                s0 += table[c, t]
                s1 += table[c, t + 1]
                s2 += table[c, t + 2]
                s3 += table[c, t + 3]
                s4 += table[c, t + 4]
                s5 += table[c, t + 5]
                s6 += table[c, t + 6]
                s7 += table[c, t + 7]
            for g, s in ((0, s0), (1, s1), (2, s2), (3, s3), (4, s4), (5, s5), (6, s6), (7, s7)):
                value = norms[t + g] - scale[x] * s
                if value < least:
                    least = value
                    best = t + g
        if whole < width:
            s0 = s1 = s2 = s3 = 0.0
            for j in range(m):
                c = columns[j]
                s0 += table[c, whole]
                s1 += table[c, whole + 1]
                s2 += table[c, whole + 2]
                s3 += table[c, whole + 3]
            for g, s in ((0, s0), (1, s1), (2, s2), (3, s3)):
                value = norms[whole + g] - scale[x] * s
                if value < least:
                    least = value
                    best = whole + g
        if groups[x] != best:
            groups[x] = best
            moved += 1
        values[x] = least
    return moved


@jit
def least(products, norms, scale, best, values):
    """Set ``best`` to the g with the least ``norms[g] - scale[x] * products[g, x]`` of each point.

    Points are columns of ``products``, so that the inner loop has no branches and becomes vector
    code. ``values`` are the scores; of equal ones the first wins.
    """
    values[:] = np.inf
    best[:] = 0
    for g in range(products.shape[0]):
        line = products[g]
        norm, name = norms[g], np.int32(g)
        for x in range(line.size):
            score, low, old = norm - scale[x] * line[x], values[x], best[x]
            lower = score < low
            values[x] = score if lower else low
            best[x] = name if lower else old


@jit
def move(labels, offsets, old, new, weights, out):
    """Update ``out[c, g]``, the weight of cluster c's points in group g, for points that moved."""
    n, r = labels.shape
    for x in range(n):
        a = old[x]
        b = new[x]
        if a == b:
            continue
        w = weights[x]
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                column = offsets[i] + code
                if a >= 0:
                    out[column, a] -= w
                if b >= 0:
                    out[column, b] += w


@jit
def carry(labels, offsets, table, centers, squares, unit, groups):
    """Give every point the nearest of ``centers`` (K, m) to its row ``sum_i table[c_i(x)]``.

    ``table`` (D, m) has a multiple of eight columns. The last of them is the sum by which rows are
    divided, unless ``unit`` scales them to length one; it is no part of the row, and the last
    column of ``centers`` is zero. ``squares`` are the squared lengths of the centers.
    """
    n, r = labels.shape
    m = table.shape[1]
    columns = np.empty(r, dtype=np.int64)
    row = np.empty(m, table.dtype)
    for x in range(n):
        count = 0
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                columns[count] = offsets[i] + code
                count += 1
        for t in range(0, m, 8):
            s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = table.dtype.type(0.0)
            for j in range(count):
                line = table[columns[j]]
                s0 += line[t]
                s1 += line[t + 1]
                s2 += line[t + 2]
                s3 += line[t + 3]
                s4 += line[t + 4]
                s5 += line[t + 5]
                s6 += line[t + 6]
                s7 += line[t + 7]
            row[t], row[t + 1], row[t + 2], row[t + 3] = s0, s1, s2, s3
            row[t + 4], row[t + 5], row[t + 6], row[t + 7] = s4, s5, s6, s7
        divisor = np.float64(row[m - 1])
        row[m - 1] = 0.0
        if unit:
            length = 0.0
            for t in range(m):
                length += np.float64(row[t]) * np.float64(row[t])
            divisor = np.sqrt(length)
        scale = 2.0 / divisor if divisor > 0 else 0.0
        best = 0
        least = np.inf
        for g in range(centers.shape[0]):
            product = 0.0
            for t in range(m):
                product += np.float64(row[t]) * centers[g, t]
            value = squares[g] - scale * product
            if value < least:
                least = value
                best = g
        groups[x] = best
