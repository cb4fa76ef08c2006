"""Agglomeration: nearest-neighbour chains on a condensed matrix, and trees grown row by row."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.labels import agreements

SINGLE, AVERAGE, COMPLETE = 0, 1, 2


@jit
def _place(i, j, n):
    """Position of the pair (i, j) in a condensed matrix of n points."""
    if i > j:
        i, j = j, i
    return n * i - i * (i + 1) // 2 + j - i - 1


@jit
def condensed_distances(columns, weights, out):
    """Write 1 - co-association of every pair of points to the condensed ``out``."""
    n = columns.shape[1]
    counts = np.empty(n)
    together = np.empty(n)
    position = 0
    for x in range(n - 1):
        agreements(columns, x, weights, counts, together)
        for y in range(x + 1, n):
            out[position] = 1.0 - together[y] / counts[y] if counts[y] > 0.0 else 1.0
            position += 1


@jit
def chain(distances, sizes, method):
    """Merge points by the nearest-neighbour chain; overwrites ``distances``.

    ``sizes`` are the points' weights, so a micro-cluster counts as the points it stands for.
    Returns (pairs, heights), the merges in no particular order, named by surviving point.
    """
    n = sizes.size
    weight = sizes.astype(np.float64)
    alive = np.ones(n, dtype=np.bool_)
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    heights = np.empty(n - 1)
    stack = np.empty(n, dtype=np.int64)
    depth = 0
    for merge in range(n - 1):
        if depth == 0:
            for i in range(n):
                if alive[i]:
                    stack[0] = i
                    depth = 1
                    break
        while True:
            x = stack[depth - 1]
            # The point below on the stack wins ties, or the chain would run in circles.
            nearest = -1
            least = np.inf
            if depth > 1:
                nearest = stack[depth - 2]
                least = distances[_place(x, nearest, n)]
            for y in range(n):
                if alive[y] and y != x:
                    d = distances[_place(x, y, n)]
                    if d < least:
                        least = d
                        nearest = y
            if depth > 1 and nearest == stack[depth - 2]:
                break
            stack[depth] = nearest
            depth += 1
        depth -= 2
        a = min(x, nearest)
        b = max(x, nearest)
        pairs[merge, 0] = a
        pairs[merge, 1] = b
        heights[merge] = least
        alive[a] = False
        wa = weight[a]
        wb = weight[b]
        weight[b] = wa + wb
        for y in range(n):
            if alive[y] and y != b:
                pa = _place(a, y, n)
                pb = _place(b, y, n)
                da = distances[pa]
                db = distances[pb]
                if method == 0:
                    distances[pb] = min(da, db)
                elif method == 1:
                    distances[pb] = (wa * da + wb * db) / (wa + wb)
                else:
                    distances[pb] = max(da, db)
    return pairs, heights


@jit
def spanning_tree(columns, weights):
    """Return (pairs, heights): a minimum spanning tree under 1 - co-association.

    Rows of the distance matrix are computed when they are needed, so memory is O(n).
    """
    n = columns.shape[1]
    counts = np.empty(n)
    together = np.empty(n)
    nearest = np.zeros(n, dtype=np.int64)
    least = np.full(n, np.inf)
    outside = np.ones(n, dtype=np.bool_)
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    heights = np.empty(n - 1)
    x = 0
    outside[0] = False
    for edge in range(n - 1):
        agreements(columns, x, weights, counts, together)
        closest = -1
        for y in range(n):
            if outside[y]:
                d = 1.0 - together[y] / counts[y] if counts[y] > 0.0 else 1.0
                if d < least[y]:
                    least[y] = d
                    nearest[y] = x
                if closest < 0 or least[y] < least[closest]:
                    closest = y
        pairs[edge, 0] = nearest[closest]
        pairs[edge, 1] = closest
        heights[edge] = least[closest]
        outside[closest] = False
        x = closest
    return pairs, heights


@jit
def linked_components(columns, weights, threshold):
    """Number the components of the graph that links pairs with co-association > threshold."""
    n = columns.shape[1]
    counts = np.empty(n)
    together = np.empty(n)
    component = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    count = 0
    for start in range(n):
        if component[start] >= 0:
            continue
        component[start] = count
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            x = queue[head]
            head += 1
            agreements(columns, x, weights, counts, together)
            for y in range(n):
                if component[y] < 0 and together[y] > threshold * counts[y]:
                    component[y] = count
                    queue[tail] = y
                    tail += 1
        count += 1
    return component


@jit
def cut(pairs, merges, n):
    """Apply the first ``merges`` of the sorted ``pairs`` and number the resulting components."""
    parent = np.arange(n)
    for m in range(merges):
        a = pairs[m, 0]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        b = pairs[m, 1]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
    labels = np.empty(n, dtype=np.int64)
    for x in range(n):
        root = x
        while parent[root] != root:
            root = parent[root]
        labels[x] = root
    return labels
