"""Loops behind near-decomposability, zeroing and the chain of SCA."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def _add_apart(codes, x, y, value, out):
    for p in range(codes.shape[1]):
        a = codes[x, p]
        b = codes[y, p]
        out[x, p] += value * ((a != b) & (a != -2) & (b != -2))


@jit
def away_dense(block, first, codes, weights, out):
    """Add to ``out[x, p]`` the similarity of x to the points in other clusters of partition p.

    ``block`` holds rows ``first, first + 1, ...`` of the similarity, whose diagonal is passed over.
    ``codes`` is (n, r); -2 takes part in nothing, a noise point has a code of its own.
    """
    for i in range(block.shape[0]):
        for y in range(block.shape[1]):
            if block[i, y] != 0.0 and y != first + i:
                _add_apart(codes, first + i, y, block[i, y] * weights[y], out)


@jit
def away_sparse(indptr, indices, data, codes, weights, out):
    """Do the same for all rows of a CSR matrix."""
    for x in range(indptr.size - 1):
        for j in range(indptr[x], indptr[x + 1]):
            y = indices[j]
            if y != x:
                _add_apart(codes, x, y, data[j] * weights[y], out)


@jit
def own_group_sums(labels, offsets, table, groups, out):
    """Add to ``out[x]`` row x of B times column ``groups[x]`` of ``table`` (D, k); none if < 0."""
    n, r = labels.shape
    for x in range(n):
        g = groups[x]
        if g < 0:
            continue
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                out[x] += table[offsets[i] + code, g]


@jit
def sorted_pairs(similarity, kept, unit, n_steps):
    """List the pairs that a rising cut-off removes, in the order of the steps that remove them.

    Step s removes what is below ``s * unit``, except the pairs of rows in which the entry is the
    largest (``kept``, per row). Returns (rows, columns, bounds): step s removes the pairs
    ``bounds[s - 1]`` to ``bounds[s] - 1``.
    """
    m = similarity.shape[0]
    bounds = np.zeros(n_steps + 2, dtype=np.int64)
    for x in range(m):
        for y in range(x + 1, m):
            value = similarity[x, y]
            if value > 0.0 and value < kept[x] and value < kept[y]:
                step = int(value / unit + 1e-9) + 1
                if step <= n_steps:
                    bounds[step + 1] += 1
    for s in range(1, n_steps + 2):
        bounds[s] += bounds[s - 1]
    rows = np.empty(bounds[n_steps + 1], dtype=np.int32)
    columns = np.empty(bounds[n_steps + 1], dtype=np.int32)
    place = bounds.copy()
    for x in range(m):
        for y in range(x + 1, m):
            value = similarity[x, y]
            if value > 0.0 and value < kept[x] and value < kept[y]:
                step = int(value / unit + 1e-9) + 1
                if step <= n_steps:
                    rows[place[step]] = x
                    columns[place[step]] = y
                    place[step] += 1
    return rows, columns, bounds[1:]


@jit
def remove_pairs(similarity, rows, columns, codes, weights, totals, out):
    """Take pairs off the row sums ``totals`` and off ``out``, as :func:`away_dense` adds them."""
    r = codes.shape[1]
    for j in range(rows.size):
        x = rows[j]
        y = columns[j]
        value = similarity[x, y]
        to_x = value * weights[y]
        to_y = value * weights[x]
        totals[x] -= to_x
        totals[y] -= to_y
        for p in range(r):
            a = codes[x, p]
            b = codes[y, p]
            apart = (a != b) & (a != -2) & (b != -2)
            out[x, p] -= to_x * apart
            out[y, p] -= to_y * apart


@jit
def erase_pairs(similarity, rows, columns):
    """Zero the pairs, on both sides of the diagonal."""
    for j in range(rows.size):
        similarity[rows[j], columns[j]] = 0.0
        similarity[columns[j], rows[j]] = 0.0


@jit
def _root(parent, c):
    while parent[c] != c:
        parent[c] = parent[parent[c]]
        c = parent[c]
    return c


@jit
def linked_clusters(labels, offsets):
    """Return, per cluster, the component of the graph that joins clusters with a common point.

    It ends as soon as everything is joined, which is usually after a few hundred points.
    """
    n, r = labels.shape
    width = offsets[r]
    parent = np.arange(width)
    left = width
    for x in range(n):
        if left == 1:
            break
        root = -1
        for i in range(r):
            code = labels[x, i]
            if code < 0:
                continue
            other = _root(parent, offsets[i] + code)
            if root < 0:
                root = other
            elif root != other:
                parent[other] = root
                left -= 1
    for c in range(width):
        parent[c] = _root(parent, c)
    return parent
