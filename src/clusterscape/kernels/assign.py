"""Labels of many members at once, from blocks of scores or of nearest landmarks."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def least_of_each(scores, starts, columns, out):
    """Write the place of the least score in each segment ``starts[i]:starts[i + 1]`` of rows.

    Points are columns of ``scores``. The label of point x in segment i goes to
    ``out[x, columns[i]]``; of equal scores the first wins.
    """
    least = np.empty(scores.shape[1], scores.dtype)
    best = np.empty(scores.shape[1], np.int32)
    for i in range(columns.size):
        least[:] = np.inf
        best[:] = 0
        for c in range(starts[i], starts[i + 1]):
            _lower(scores[c], np.int32(c - starts[i]), least, best)
        column = columns[i]
        for x in range(best.size):
            out[x, column] = best[x]


@jit
def _lower(line, name, least, best):
    """Keep the lower of two scores of each point, and its name."""
    for x in range(line.size):
        # Read before the comparison, so that the loop has no branches and becomes vector code.
        value, low, old = line[x], least[x], best[x]
        lower = value < low
        least[x] = value if lower else low
        best[x] = name if lower else old


@jit
def vote(distances, indices, table, scale, columns, out):
    """Write for each member the label with most weight among the nearest landmarks.

    ``distances`` (b, t) are squared, nearest first; landmark l has the label ``table[l, j]`` in
    member j, and -2 is no vote (the label of a point without votes is -2). Weights are
    ``exp(-scale * (d - d_nearest))``; of equal weights the label of the nearer landmark wins.
    """
    count = distances.shape[1]
    width = columns.size
    weight = np.empty(count)
    names = np.empty(count, np.int64)
    split = np.empty(width, np.uint8)
    for x in range(distances.shape[0]):
        nearest = table[indices[x, 0]]
        for j in range(width):
            split[j] = nearest[j] == -2
        for t in range(1, count):
            other = table[indices[x, t]]
            for j in range(width):
                split[j] |= other[j] != nearest[j]
            weight[t] = np.exp(-scale * (distances[x, t] - distances[x, 0]))
        weight[0] = 1.0
        for j in range(width):
            label = np.int64(nearest[j])
            if split[j]:
                for t in range(count):
                    names[t] = table[indices[x, t], j]
                label = _winner(names, weight)
            out[x, columns[j]] = label


@jit
def _winner(names, weight):
    """Return the name with most weight, the first of equals; -2 where all are -2."""
    label = np.int64(-2)
    most = 0.0
    for t in range(names.size):
        if names[t] == -2:
            continue
        total = 0.0
        for s in range(names.size):
            if names[s] == names[t]:
                total += weight[s]
        if total > most:
            most = total
            label = names[t]
    return label


@jit
def products(Z, out):
    """Fill ``out`` (b, 1 + q + q (q + 1) / 2) with 1, the values of each row, their products."""
    q = Z.shape[1]
    for x in range(Z.shape[0]):
        out[x, 0] = 1.0
        at = 1 + q
        for i in range(q):
            out[x, 1 + i] = Z[x, i]
            for j in range(i, q):
                out[x, at] = Z[x, i] * Z[x, j]
                at += 1
