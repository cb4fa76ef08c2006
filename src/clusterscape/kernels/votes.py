"""Votes of the clusters that contain a point, divided as their other points are grouped.

A cluster c of a point has ``column[c]`` votes, times the point's share of c, and divides them as
``table[c]`` divides its sum ``sizes[c]``, after the point's own part, ``own`` times its share, is
taken from the entry of its group. A cluster in which nothing is left has no vote. The votes are
added to ``out``, and how many there were to ``total``.
"""

from __future__ import annotations

from clusterscape.kernels._jit import jit


@jit
def _vote(x, c, share, column, table, sizes, own, groups, out, total):
    """Add the vote of one cluster on one point."""
    g = groups[x]
    part = share * own[x] if g >= 0 else 0.0
    rest = sizes[c] - part
    if rest <= 1e-9 * sizes[c]:
        return
    vote = column[c] * share
    unit = vote / rest
    for j in range(table.shape[1]):
        out[x, j] += unit * table[c, j]
    if g >= 0:
        out[x, g] -= unit * part
    total[x] += vote


@jit
def hard_votes(labels, offsets, column, table, sizes, own, groups, out, total):
    """Count the votes by the labels of a hard ensemble."""
    n, r = labels.shape
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                _vote(x, offsets[i] + code, 1.0, column, table, sizes, own, groups, out, total)


@jit
def soft_votes(rows, column, table, sizes, own, groups, out, total):
    """Count the votes by the rows of B in CSR form."""
    shares, indices, ends = rows
    for x in range(ends.size - 1):
        for at in range(ends[x], ends[x + 1]):
            _vote(x, indices[at], shares[at], column, table, sizes, own, groups, out, total)
