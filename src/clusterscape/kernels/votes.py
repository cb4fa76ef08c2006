"""Votes of the clusters that contain a point, divided as their other points are grouped.

A cluster c of a point has ``column[c]`` votes, times the point's share of c, and divides them as
``table[c]`` divides its sum ``sizes[c]``, after the point's own part, ``own`` times its share, is
taken from the entry of its group. A cluster in which nothing is left prefers no group, and divides
its votes evenly, unless the group is that point alone: then it says the same, and votes for it.
Groups have mass one in ``table``, so an ``own`` of one is a group of one point. The votes are added
to ``out``, and how many there were to ``total``.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def hard_votes(labels, offsets, column, table, sizes, own, groups, out, total):
    """Count the votes by the labels of a hard ensemble."""
    n, r = labels.shape
    k = table.shape[1]
    sums = np.empty(
        k, np.float64
    )  # in the cache, where those of a row of ``out`` would be written anew
    for x in range(n):
        g = groups[x]
        part = own[x] if g >= 0 else 0.0
        counted, taken, even = 0.0, 0.0, 0.0
        for j in range(k):
            sums[j] = 0.0
        for i in range(r):
            code = labels[x, i]
            if code < 0:
                continue
            c = offsets[i] + code
            rest = sizes[c] - part
            if rest <= 1e-9 * sizes[c]:
                counted += column[c]
                if g >= 0 and part > 1.0 - 1e-9:
                    sums[g] += column[c]
                else:
                    even += column[c] / k
                continue
            unit = column[c] / rest
            for j in range(k):
                sums[j] += unit * table[c, j]
            taken += unit
            counted += column[c]
        for j in range(k):
            out[x, j] += sums[j] + even
        if g >= 0:
            out[x, g] -= taken * part
        total[x] += counted


@jit
def soft_votes(rows, column, table, sizes, own, groups, out, total):
    """Count the votes by the rows of B in CSR form."""
    shares, indices, ends = rows
    for x in range(ends.size - 1):
        g = groups[x]
        for at in range(ends[x], ends[x + 1]):
            c = indices[at]
            part = shares[at] * own[x] if g >= 0 else 0.0
            rest = sizes[c] - part
            vote = column[c] * shares[at]
            if rest <= 1e-9 * sizes[c]:
                total[x] += vote
                if g >= 0 and own[x] > 1.0 - 1e-9:
                    out[x, g] += vote
                else:
                    for j in range(table.shape[1]):
                        out[x, j] += vote / table.shape[1]
                continue
            for j in range(table.shape[1]):
                out[x, j] += vote * table[c, j] / rest
            if g >= 0:
                out[x, g] -= vote * part / rest
            total[x] += vote
