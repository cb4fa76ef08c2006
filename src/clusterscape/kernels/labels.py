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


@jit
def votes_together(columns, x, start, weights, together):
    """Fill ``together`` with the votes that put x together with the points from ``start`` on."""
    stop = start + together.size
    together[:] = 0
    for i in range(columns.shape[0]):
        code = columns[i, x]
        if code >= 0:
            w = weights[i]
            line = columns[i, start:stop]
            for y in range(together.size):
                together[y] += w * (line[y] == code)


@jit
def votes_sampled(columns, x, start, weights, counts):
    """Fill ``counts`` with the votes that sampled both x and the points from ``start`` on."""
    stop = start + counts.size
    counts[:] = 0
    for i in range(columns.shape[0]):
        if columns[i, x] != -2:
            w = weights[i]
            line = columns[i, start:stop]
            for y in range(counts.size):
                counts[y] += w * (line[y] != -2)


@jit
def agreements(columns, x, weights, counts, together):
    """Fill row x of the pair tables: co-samplings in ``counts``, co-occurrences in ``together``.

    ``columns`` is (r, n) and contiguous, so the inner loops run along memory. The two outputs have
    the type of ``weights``; with that of :func:`tallies` it is fastest.
    """
    votes_together(columns, x, 0, weights, together)
    votes_sampled(columns, x, 0, weights, counts)


def fraction_rows(columns, weights, start, stop, out, unseen=0.0):
    """Write co-association fractions of rows start..stop to ``out`` (stop - start, n).

    ``unseen`` is that of a pair that no partition sampled together.
    """
    _fraction_rows(columns, tallies(weights), start, stop, out, unseen)


@jit
def _fraction_rows(columns, weights, start, stop, out, unseen):
    n = columns.shape[1]
    counts = np.empty(n, weights.dtype)
    together = np.empty(n, weights.dtype)
    for x in range(start, stop):
        agreements(columns, x, weights, counts, together)
        line = out[x - start]
        for y in range(n):
            line[y] = together[y] / counts[y] if counts[y] > 0 else unseen
