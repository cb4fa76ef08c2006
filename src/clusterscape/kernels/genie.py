"""Genie: single linkage on a spanning tree that must not leave small clusters behind."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.mst import root_of


@jit
def _add(tree, size, count):
    """Add ``count`` clusters of a size to the two Fenwick trees: of numbers and of sizes."""
    x = size
    while x < tree.shape[0]:
        tree[x, 0] += count
        tree[x, 1] += count * size
        x += x & -x


@jit
def _gaps(tree, size, number, mass):
    """Return the sum of |size - s| over all clusters s; they are ``number`` and weigh ``mass``."""
    below = 0
    weight = 0
    x = size
    while x > 0:
        below += tree[x, 0]
        weight += tree[x, 1]
        x -= x & -x
    return size * below - weight + (mass - weight) - size * (number - below)


@jit
def _merge_sizes(tree, a, b, number, mass):
    """Replace clusters of sizes a and b by one of both; return the change of the sum of gaps."""
    change = -_gaps(tree, a, number, mass)
    _add(tree, a, -1)
    change -= _gaps(tree, b, number - 1, mass - a)
    _add(tree, b, -1)
    change += _gaps(tree, a + b, number - 2, mass - a - b)
    _add(tree, a + b, 1)
    return change


@jit
def _touching(pairs, following, parent, size, least, edge):
    """Return the first edge from ``edge`` on that touches a cluster of the least size."""
    while True:
        a = size[root_of(parent, pairs[edge, 0])]
        b = size[root_of(parent, pairs[edge, 1])]
        if a == least or b == least:
            return edge
        edge = following[edge]


def merges(pairs, weights, threshold, order, forced):
    """Write the order in which the edges of a spanning forest merge; return the Gini index before.

    ``pairs`` (m, 2) come by ascending length, ``weights`` are whole numbers. ``forced`` says of
    each merge whether the Gini index was above the threshold, so that a smallest cluster had to
    take part (of those that an edge leaves, if the graph is not connected). An edge that touches no
    smallest cluster touches none until the smallest size grows, so the search goes on from where it
    was; at most n / s edges are left when every cluster has size s or more, so that all searches
    together take O(n log n).
    """
    n, m = weights.size, pairs.shape[0]
    # Whatever NumPy does in one line is not compiled.
    degree = np.bincount(pairs.ravel(), minlength=n)  # edges that leave each cluster
    mass = int(weights.sum())
    growing = np.bincount(weights[degree > 0], minlength=mass + 1)  # of those an edge leaves
    tree = np.zeros((mass + 1, 2), np.int64)
    following, previous = np.arange(1, m + 1), np.arange(-1, m - 1)  # the edges that are left
    gaps = int(np.sort(weights) @ np.arange(1 - n, n, 2))  # the sum of |s - t| over all pairs
    gini = np.empty(m)
    _merges(
        pairs, weights.copy(), threshold, order, forced, np.arange(n), degree, growing, tree,
        following, previous, mass, gaps, gini,
    )  # fmt: skip
    return gini


@jit
def _merges(
    pairs, size, threshold, order, forced, parent, degree, growing, tree, following, previous,
    mass, gaps, gini,
):  # fmt: skip
    n, m = size.shape[0], pairs.shape[0]
    for x in range(n):
        _add(tree, size[x], 1)
    first, place, least = 0, 0, 1
    for step in range(m):
        gini[step] = gaps / ((n - step - 1.0) * mass)
        forced[step] = gini[step] > threshold
        if growing[least] == 0:
            while growing[least] == 0:
                least += 1
            place = first
        edge = first
        if forced[step]:
            edge = place = _touching(pairs, following, parent, size, least, place)
        after, before = following[edge], previous[edge]
        place = after if edge == place else place
        if edge == first:
            first = after
        else:
            following[before] = after
        if after < m:
            previous[after] = before
        a = root_of(parent, pairs[edge, 0])
        b = root_of(parent, pairs[edge, 1])
        if size[a] > size[b]:
            a, b = b, a
        growing[size[a]] -= 1
        growing[size[b]] -= 1
        gaps += _merge_sizes(tree, size[a], size[b], n - step, mass)
        parent[a] = b
        size[b] += size[a]
        degree[b] += degree[a] - 2
        growing[size[b]] += degree[b] > 0
        order[step] = edge


@jit
def labels_at(pairs, order, counts, n, out):
    """Write to ``out`` (n, len(counts)) the labels after some numbers of merges, ascending.

    Clusters are numbered in the order of their first points.
    """
    parent = np.empty(n, np.int64)
    number = np.empty(n, np.int64)
    for x in range(n):
        parent[x] = x
    done = 0
    for i in range(counts.size):
        for step in range(done, counts[i]):
            a = root_of(parent, pairs[order[step], 0])
            b = root_of(parent, pairs[order[step], 1])
            parent[max(a, b)] = min(a, b)
        done = max(done, counts[i])
        found = 0
        for x in range(n):
            root = root_of(parent, x)
            if root == x:  # the root is the first point of its cluster
                number[x] = found
                found += 1
            out[x, i] = number[root]
