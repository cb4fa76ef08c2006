"""Agreement of partitions about single points: the element-centric similarity of every point."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def consistency(codes, n_clusters, weights, out, counted):
    """Add the agreement of all pairs of partitions about each point, and count the pairs.

    ``codes`` is (r, n): -1 is a cluster of one point, -2 is left out. A pair agrees about a point
    by the points that its two clusters share, over the size of the larger of them.
    """
    r, n = codes.shape
    widest = 0
    for i in range(r):
        widest = max(widest, n_clusters[i])
    table, a_size, b_size = np.zeros((widest, widest)), np.zeros(widest), np.zeros(widest)
    for i in range(r):
        for j in range(i + 1, r):
            table[: n_clusters[i], : n_clusters[j]] = 0.0
            a_size[: n_clusters[i]] = 0.0
            b_size[: n_clusters[j]] = 0.0
            for x in range(n):
                a, b = codes[i, x], codes[j, x]
                if a == -2 or b == -2:
                    continue
                if a >= 0:
                    a_size[a] += weights[x]
                if b >= 0:
                    b_size[b] += weights[x]
                if a >= 0 and b >= 0:
                    table[a, b] += weights[x]
            for x in range(n):
                a, b = codes[i, x], codes[j, x]
                if a == -2 or b == -2:
                    continue
                counted[x] += 1
                if a >= 0 and b >= 0:
                    out[x] += table[a, b] / max(a_size[a], b_size[b])
                elif a >= 0:
                    out[x] += 1.0 / a_size[a]
                elif b >= 0:
                    out[x] += 1.0 / b_size[b]
                else:
                    out[x] += 1.0
