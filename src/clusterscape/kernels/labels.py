"""Products with the membership matrix B of a hard ensemble, without building B.

``labels`` is (n, r) with codes 0..k_i-1 and negatives for "in no cluster"; ``offsets[i]`` is the
first column of B that belongs to partition i. A row of B has at most r ones, so a product is r
look-ups a point.
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
def sizes(labels, offsets, weights, out):
    """Add each cluster's total point weight to ``out`` (D,)."""
    n, r = labels.shape
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                out[offsets[i] + code] += weights[x]


@jit
def joint_sizes(labels, offsets, groups, weights, out):
    """Add to ``out[c, g]`` the weight of the points in cluster c and group g (g < 0: none)."""
    n, r = labels.shape
    for x in range(n):
        g = groups[x]
        if g < 0:
            continue
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                out[offsets[i] + code, g] += weights[x]


@jit
def agreements(columns, x, weights, counts, together):
    """Fill row x of the pair tables: co-samplings in ``counts``, co-occurrences in ``together``.

    ``columns`` is (r, n) and contiguous, so the inner loops run along memory.
    """
    r, n = columns.shape
    for y in range(n):
        counts[y] = 0.0
        together[y] = 0.0
    for i in range(r):
        code = columns[i, x]
        if code == -2:
            continue
        w = weights[i]
        if code >= 0:
            for y in range(n):
                together[y] += w * (columns[i, y] == code)
        for y in range(n):
            counts[y] += w * (columns[i, y] != -2)


@jit
def fraction_rows(columns, weights, start, stop, out):
    """Write co-association fractions of rows start..stop to ``out`` (stop - start, n)."""
    n = columns.shape[1]
    counts = np.empty(n)
    together = np.empty(n)
    for x in range(start, stop):
        agreements(columns, x, weights, counts, together)
        for y in range(n):
            out[x - start, y] = together[y] / counts[y] if counts[y] > 0.0 else 0.0
