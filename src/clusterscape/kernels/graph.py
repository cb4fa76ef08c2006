"""Pairs of points as edges: agreements of whole rows, the strongest, components, equal columns.

Agreements are whole numbers (partitions carry whole weights) in the smallest unsigned type that
holds their total, so that a vector instruction compares and adds 16 or 32 labels at once.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def agreements(columns, offsets, votes, start, out):
    """Fill ``out`` (b, n) with the weight of the clusters that put two points together.

    ``columns`` is (r, n) and contiguous; row x of ``out`` belongs to point ``start + x``. The
    weight of cluster c of partition i is ``votes[offsets[i] + c]``, in the type of ``out``. Noise
    and unsampled points are together with nobody.
    """
    r, n = columns.shape
    for x in range(out.shape[0]):
        line = out[x]
        line[:] = 0
        for i in range(r):
            code = columns[i, start + x]
            if code >= 0:
                w = votes[offsets[i] + code]
                codes = columns[i]
                for y in range(n):
                    line[y] += w * (codes[y] == code)
        line[start + x] = 0


@jit
def strongest(block, start, total, targets, values):
    """Write the largest entries of each row of ``block`` to ``targets`` and ``values``.

    ``targets`` is (b, k) and gets -1 where a row has fewer than k positive entries; ``total`` is
    the largest value possible. Equal entries are taken in the order of the points that follow the
    row's own, cyclically, so that no point is favoured for its place.
    """
    rows, n = block.shape
    k = targets.shape[1]
    tally = np.zeros(total + 1, dtype=np.int64)
    for x in range(rows):
        line = block[x]
        tally[:] = 0
        for y in range(n):
            if line[y] > 0:
                tally[line[y]] += 1
        least = np.int64(total)
        above = 0  # entries larger than ``least``
        while least > 1 and above + tally[least] < k:
            above += tally[least]
            least -= 1
        ties = k - above
        targets[x, :] = -1
        at = 0
        for begin, end in ((start + x, n), (0, start + x)):
            for y in range(begin, end):
                if line[y] >= least:
                    if line[y] == least:
                        if ties <= 0:
                            continue
                        ties -= 1
                    targets[x, at] = y
                    values[x, at] = line[y]
                    at += 1


@jit
def first_seen(labels, offsets, ranks):
    """Write each cluster's rank among its partition's clusters, in the order of first appearance.

    ``ranks`` (D,) comes filled with -1 and stays so for empty clusters.
    """
    n, r = labels.shape
    for i in range(r):
        wanted = offsets[i + 1] - offsets[i]
        seen = 0
        for x in range(n):
            if seen == wanted:
                break
            code = labels[x, i]
            if code >= 0 and ranks[offsets[i] + code] < 0:
                ranks[offsets[i] + code] = seen
                seen += 1


@jit
def _mixed(x):
    """Return a well-mixed 64-bit value of a whole number (the finisher of splitmix64)."""
    z = np.uint64(x + 1) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def signatures(labels, offsets, out):
    """Add to ``out`` (D, 2) two sums of mixed point numbers, which equal clusters share.

    Different clusters share both with a probability of about 2**-128.
    """
    n, r = labels.shape
    for x in range(n):
        a = _mixed(2 * x)
        b = _mixed(2 * x + 1)
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                out[offsets[i] + code, 0] += a
                out[offsets[i] + code, 1] += b


@jit
def components(matrix, root, least, names):
    """Number the connected components of the links above ``least * root[x] * root[y]``.

    ``names`` comes with -1 everywhere and ends with each point's component, numbered by first
    appearance; returns their number.
    """
    n = matrix.shape[0]
    waiting = np.empty(n, np.int64)
    unnamed = n
    pieces = 0
    for first in range(n):
        if names[first] >= 0:
            continue
        names[first] = pieces
        unnamed -= 1
        waiting[0] = first
        size = 1
        while size > 0 and unnamed > 0:
            size -= 1
            x = waiting[size]
            for y in range(n):
                if names[y] < 0 and matrix[x, y] > least * root[x] * root[y]:
                    names[y] = pieces
                    unnamed -= 1
                    waiting[size] = y
                    size += 1
        pieces += 1
    return pieces
