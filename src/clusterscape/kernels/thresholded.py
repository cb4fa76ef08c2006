"""Pairs of points that are together often enough, and pairs of clusters that share points."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def kept_pairs(columns, weights, least, start, together, sampled, pointers, indices, shares):
    """Write the pairs (x, y), y > x, whose co-association is at least ``least``; stop when full.

    Rows begin at ``start``; ``columns`` is (r, n) with -1 noise and -2 unsampled. ``together`` and
    ``sampled`` are (n,) buffers in the type of ``weights``: small integers where the partitions
    weigh the same, which is several times faster. ``sampled`` is empty if nothing is unsampled.
    ``pointers[x - start + 1]`` gets the end of row x. Returns the first row that was not written.
    """
    r, n = columns.shape
    total = weights.sum()
    at = 0
    for x in range(start, n):
        if at + n - x - 1 > indices.size or x - start + 1 >= pointers.size:
            return x
        _agreements_above(columns, x, weights, together, sampled)
        for y in range(x + 1, n):
            whole = total if sampled.size == 0 else sampled[y]
            share = together[y] / whole if whole > 0 else 0.0
            # Written always and kept when large enough: a branch here would cost more.
            indices[at] = y
            shares[at] = share
            at += share >= least and share > 0.0
        pointers[x - start + 1] = at
    return n


@jit
def _agreements_above(columns, x, weights, together, sampled):
    """Fill co-occurrences (and co-samplings, if wanted) of x with the points after it."""
    r, n = columns.shape
    first = np.uint64(x + 1)
    last = np.uint64(n)
    # Unsigned indices: numba then leaves out its test for negative ones, and the loops vectorise.
    for y in range(first, last):
        together[y] = 0
    for i in range(r):
        code = columns[i, x]
        if code >= 0:
            w = weights[i]
            row = columns[i]
            for y in range(first, last):
                together[y] += w * (row[y] == code)
    if sampled.size == 0:
        return
    for y in range(first, last):
        sampled[y] = 0
    for i in range(r):
        if columns[i, x] != -2:
            w = weights[i]
            row = columns[i]
            for y in range(first, last):
                sampled[y] += w * (row[y] != -2)


@jit
def add_both_halves(indptr, indices, data, values, out):
    """Add P @ values and P.T @ values to ``out``, reading every pair of the upper triangle once.

    ``values`` and ``out`` are (m, n): one row per vector. A row that kept all its pairs needs no
    indices, and its products vectorise.
    """
    m, n = values.shape
    for x in range(n):
        first, last = indptr[x], indptr[x + 1]
        count = np.uint64(last - first)
        if count == 0:
            continue
        share, column = data[first:last], indices[first:last]
        if last - first == n - 1 - x:
            for v in range(m):
                out[v, x] += _whole_row(share, values[v, x], values[v, x + 1 :], out[v, x + 1 :])
            continue
        for v in range(m):
            own, sums, line = values[v, x], out[v], values[v]
            total = 0.0
            for p in range(count):
                y = np.uint64(column[p])
                total += share[p] * line[y]
                sums[y] += share[p] * own
            out[v, x] += total


@jit
def _whole_row(share, own, line, sums):
    """Add ``own`` times the shares to ``sums``; return the shares' product with ``line``."""
    n = np.uint64(share.shape[0])
    lanes = np.uint64(8)
    whole = n - n % lanes
    # Eight sums, which need not wait for each other, in a fixed order.
    part = np.zeros(8)
    for base in range(np.uint64(0), whole, lanes):
        for j in range(lanes):
            at = base + j
            part[j] += share[at] * line[at]
            sums[at] += share[at] * own
    total = 0.0
    for at in range(whole, n):
        total += share[at] * line[at]
        sums[at] += share[at] * own
    return (
        total
        + ((part[0] + part[4]) + (part[1] + part[5]))
        + ((part[2] + part[6]) + (part[3] + part[7]))
    )


@jit
def cluster_gram(columns, offsets, weights, scale, out):
    """Write B^T diag(weights) B, scaled on both sides by ``scale``, to the (D, D) ``out``.

    One block of two partitions after the other: its table fits into the first cache. ``columns`` is
    (r, n), negatives being in no cluster.
    """
    r, n = columns.shape
    widest = 0
    for i in range(r):
        widest = max(widest, offsets[i + 1] - offsets[i])
    # One row and one column more, for points in no cluster: no branch is needed.
    table = np.empty((widest + 2) * (widest + 2))
    for i in range(r):
        a = columns[i]
        for j in range(i, r):
            b = columns[j]
            height = offsets[i + 1] - offsets[i]
            width = offsets[j + 1] - offsets[j] + 2
            table[: (height + 2) * width] = 0.0
            for x in range(n):
                table[(np.int64(a[x]) + 2) * width + np.int64(b[x]) + 2] += weights[x]
            for p in range(height):
                row = offsets[i] + p
                for q in range(width - 2):
                    column = offsets[j] + q
                    value = table[(p + 2) * width + q + 2] * scale[row] * scale[column]
                    out[row, column] = value
                    out[column, row] = value


@jit
def cross_together(columns, rows, weights, out):
    """Fill ``out`` (m, n) with the votes that put row x of ``rows`` (m, r) together with point y.

    ``columns`` is (r, n), and ``out`` has the type of ``weights``.
    """
    for x in range(rows.shape[0]):
        _add_votes(columns, rows[x], weights, out[x])


@jit
def cross_sampled(columns, rows, weights, out):
    """Fill ``out`` (m, n) with the votes that sampled both row x of ``rows`` and point y."""
    n = np.uint64(columns.shape[1])
    for x in range(rows.shape[0]):
        both = out[x]
        both[:] = 0
        for i in range(rows.shape[1]):
            if rows[x, i] != -2:
                w = weights[i]
                line = columns[i]
                for y in range(n):
                    both[y] += w * (line[y] != -2)


@jit
def cross_entries(columns, rows, weights, table, out):
    """Fill ``out`` (m, n) with ``table[votes]``, votes being those of :func:`cross_together`.

    ``weights`` are unsigned integers, as of ``labels.tallies``: a line of votes is then a few bytes
    long, stays in the first cache, and is counted 32 points at a time.
    """
    n = np.uint64(columns.shape[1])
    votes = np.empty(columns.shape[1], weights.dtype)
    for x in range(rows.shape[0]):
        _add_votes(columns, rows[x], weights, votes)
        line = out[x]
        for y in range(n):
            line[y] = table[votes[y]]


@jit
def _add_votes(columns, codes, weights, together):
    n = np.uint64(columns.shape[1])
    together[:] = 0
    for i in range(codes.size):
        code = codes[i]
        if code >= 0:
            w = weights[i]
            line = columns[i]
            for y in range(n):
                together[y] += w * (line[y] == code)
