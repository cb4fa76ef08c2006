"""Products with the membership matrix B of a hard ensemble, without building B.

``labels`` is (n, r) with codes 0..k_i-1 and negatives for "in no cluster"; ``offsets[i]`` is the
first column of B that belongs to partition i. A row of B has at most r ones, so a product is r
look-ups per point.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def scatter(labels, offsets, values, out):
    """Add B^T @ values to ``out``; values is (n, m), out is (D, m)."""
    n, r = labels.shape
    m = values.shape[1]
    if m == 1:  # half the time without the innermost loop
        for x in range(n):
            for i in range(r):
                code = labels[x, i]
                if code >= 0:
                    out[offsets[i] + code, 0] += values[x, 0]
        return
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                column = offsets[i] + code
                for j in range(m):
                    out[column, j] += values[x, j]


@jit
def gather(labels, offsets, table, out):
    """Add B @ table to ``out``; table is (D, m), out is (n, m)."""
    n, r = labels.shape
    m = table.shape[1]
    if m == 1:  # a fifth of the time, with the sum in a register
        for x in range(n):
            total = out[x, 0]
            for i in range(r):
                code = labels[x, i]
                if code >= 0:
                    total += table[offsets[i] + code, 0]
            out[x, 0] = total
        return
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                column = offsets[i] + code
                for j in range(m):
                    out[x, j] += table[column, j]


@jit
def weighted_sums(labels, weights, values, out):
    """Add the weighted rows of ``values`` (n, m) to the rows of ``out`` (k, m) that labels name."""
    for x in range(labels.shape[0]):
        code, w = labels[x], weights[x]
        for j in range(values.shape[1]):
            out[code, j] += w * values[x, j]


@jit
def sizes(labels, offsets, weights, out):
    """Add each cluster's total point weight to ``out`` (D,)."""
    n, r = labels.shape
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                out[offsets[i] + code] += weights[x]


def tallies(weights):
    """Return the weights as small unsigned integers in the same proportions, where there are such.

    Shares of votes do not change, counts are exact, and a loop over bytes runs many times faster
    than one over floats. Weights without such proportions come back as they are.
    """
    positive = weights[weights > 0]
    if positive.size == 0:
        return weights
    whole = np.rint(positive)
    is_whole = bool((whole == positive).all()) and whole.max() < 2**53
    unit = float(np.gcd.reduce(whole.astype(np.int64))) if is_whole else positive.min()
    parts = np.rint(weights / unit)
    if (parts * unit != weights).any() or parts.sum() > np.iinfo(np.uint16).max:
        return weights
    return parts.astype(np.uint8 if parts.sum() <= np.iinfo(np.uint8).max else np.uint16)


# The next two take a stretch of points by its ends, and count with unsigned places: a slice takes
# numba longer to compile, and with signed ones it would not vectorise the loops.


@jit
def votes_together(columns, x, start, stop, weights, together):
    """Fill ``together`` with the votes that put x together with the points start..stop-1.

    ``columns`` is (r, n) and contiguous, so the inner loop runs along memory. The output has the
    type of ``weights``; with that of :func:`tallies` it is fastest.
    """
    first, size = np.uint64(start), np.uint64(stop - start)
    for y in range(size):
        together[y] = 0
    for i in range(columns.shape[0]):
        code = columns[i, x]
        if code >= 0:
            w = weights[i]
            for y in range(size):
                together[y] += w * (columns[i, first + y] == code)


@jit
def votes_sampled(columns, x, start, stop, weights, counts):
    """Fill ``counts`` with the votes that sampled both x and the points start..stop-1."""
    first, size = np.uint64(start), np.uint64(stop - start)
    for y in range(size):
        counts[y] = 0
    for i in range(columns.shape[0]):
        if columns[i, x] != -2:
            w = weights[i]
            for y in range(size):
                counts[y] += w * (columns[i, first + y] != -2)


def vote_buffers(weights, size):
    """Return two arrays: of votes together, to be filled, and of the votes of all partitions."""
    every = np.cumsum(weights)[-1:]  # added one by one, as kernels add them
    return np.empty(size, weights.dtype), np.full(size, every.sum(), weights.dtype)


def missing(columns):
    """Return None if every partition saw every point: kernels then leave out counting who saw whom.

    A branch on None is decided when compiling, and most ensembles need only one side of it.
    """
    return None if columns.size == 0 or columns.min() > -2 else True


def fraction_rows(columns, weights, start, stop, out, unseen=0.0):
    """Write co-association fractions of rows start..stop to ``out`` (stop - start, n).

    ``unseen`` is that of a pair that no partition sampled together.
    """
    votes = tallies(weights)
    buffers = vote_buffers(votes, columns.shape[1])
    _fraction_rows(columns, votes, missing(columns), start, stop, out, unseen, *buffers)


@jit
def _fraction_rows(columns, weights, missing, start, stop, out, unseen, together, counts):
    n = columns.shape[1]
    for x in range(start, stop):
        votes_together(columns, x, 0, n, weights, together)
        if missing is not None:
            votes_sampled(columns, x, 0, n, weights, counts)
        for y in range(n):
            out[x - start, y] = together[y] / counts[y] if counts[y] > 0 else unseen
