"""Votes of the clusters that contain a point, divided as their other points are grouped."""

from __future__ import annotations

from clusterscape.kernels._jit import jit


@jit
def votes(rows, column, table, sizes, own, groups, out, total):
    """Add to ``out`` what each point's clusters say of it, and to ``total`` how much they say.

    ``rows`` are the arrays of B in CSR form. A cluster c of a point has ``column[c]`` votes, times
    the point's share of c, and divides them as ``table[c]`` divides its sum ``sizes[c]``, after
    the point's own part, ``own`` times its share, is taken from the entry of its group. A cluster
    in which nothing is left has no vote.
    """
    shares, indices, ends = rows
    for x in range(ends.size - 1):
        g = groups[x]
        for at in range(ends[x], ends[x + 1]):
            c = indices[at]
            part = shares[at] * own[x] if g >= 0 else 0.0
            rest = sizes[c] - part
            if rest <= 1e-9 * sizes[c]:
                continue
            vote = column[c] * shares[at]
            for j in range(table.shape[1]):
                out[x, j] += vote * table[c, j] / rest
            if g >= 0:
                out[x, g] -= vote * part / rest
            total[x] += vote
