"""Sums of rows over the clusters of many partitions: B^T V, a chunk of points at a time.

Partition i owns the columns ``first[i]:first[i + 1]`` of the widened B: one for each cluster and,
last, one for its noise points. ``target`` says to which row of the result a column goes; columns
with a negative target are left out. Labels are -1 for noise and -2 for unsampled.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def measure(labels, first, weights, marks, sizes, hashes):
    """Add each column's weight to ``sizes`` and its members' marks to ``hashes`` (columns, 2).

    Points of weight zero are in no cluster. The sums of 64-bit marks wrap around, so they do not
    depend on the order of the points.
    """
    n, r = labels.shape
    for x in range(n):
        w = weights[x]
        if w == 0.0:
            continue
        for i in range(r):
            code = labels[x, i]
            if code != -2:
                column = first[i] + code if code >= 0 else first[i + 1] - 1
                sizes[column] += w
                hashes[column, 0] += marks[x, 0]
                hashes[column, 1] += marks[x, 1]


@jit
def segments(labels, first, target, members, bounds, rows):
    """Sort the points of a chunk by cluster, partition after partition; return the segments.

    Segment s are the points ``members[bounds[s]:bounds[s + 1]]``, in ascending order, and they go
    to row ``rows[s]`` of the result.
    """
    n, r = labels.shape
    widest = 0
    for i in range(r):
        widest = max(widest, first[i + 1] - first[i])
    position = np.empty(widest, dtype=np.int64)
    count = 0
    filled = 0
    for i in range(r):
        begin, width = first[i], first[i + 1] - first[i]
        position[:width] = 0
        for x in range(n):
            code = labels[x, i]
            if code != -2:
                position[code if code >= 0 else width - 1] += 1
        for c in range(width):
            size = position[c]
            if size == 0 or target[begin + c] < 0:
                position[c] = -1
                continue
            position[c] = filled
            bounds[count] = filled
            rows[count] = target[begin + c]
            filled += size
            count += 1
        for x in range(n):
            code = labels[x, i]
            if code != -2:
                c = code if code >= 0 else width - 1
                if position[c] >= 0:
                    members[position[c]] = x
                    position[c] += 1
    bounds[count] = filled
    return count


@jit
def add_segments(values, members, bounds, rows, out, column):
    """Add the sum of each segment's rows of ``values`` to ``out[row, column:column + width]``.

    A segment is summed in the type of ``values``, four rows at a time, because then most of what
    the loop moves is read once and nothing but the sum is written.
    """
    width = values.shape[1]
    total = np.empty(width, dtype=values.dtype)
    for s in range(rows.size):
        begin, end = bounds[s], bounds[s + 1]
        total[:] = 0
        p = begin
        while p + 4 <= end:
            a, b = values[members[p]], values[members[p + 1]]
            c, d = values[members[p + 2]], values[members[p + 3]]
            for j in range(width):
                total[j] += (a[j] + b[j]) + (c[j] + d[j])
            p += 4
        while p < end:
            a = values[members[p]]
            for j in range(width):
                total[j] += a[j]
            p += 1
        line = out[rows[s]]
        for j in range(width):
            line[column + j] += total[j]


@jit
def cauchy(left, right, out):
    """Fill ``out`` with the products over the columns of 1 / (1 + (x - y)^2)."""
    for x in range(left.shape[0]):
        a = left[x]
        for y in range(right.shape[0]):
            b = right[y]
            product = 1.0
            for j in range(a.size):
                difference = a[j] - b[j]
                product *= 1.0 + difference * difference
            out[x, y] = 1.0 / product
