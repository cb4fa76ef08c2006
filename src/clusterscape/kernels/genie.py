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
def _sum_of_gaps(tally):
    """Return the sum of |s - t| over all pairs of clusters, from the number of each size."""
    number = 0
    mass = 0
    total = 0
    for size in range(tally.size):
        if tally[size] > 0:
            total += tally[size] * (size * number - mass)
            number += tally[size]
            mass += tally[size] * size
    return total


@jit
def _touching(pairs, following, parent, size, least, edge):
    """Return the first edge from ``edge`` on that touches a cluster of the least size."""
    while True:
        a = size[root_of(parent, pairs[edge, 0])]
        b = size[root_of(parent, pairs[edge, 1])]
        if a == least or b == least:
            return edge
        edge = following[edge]


@jit
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
    mass = 0
    for x in range(n):
        mass += weights[x]
    # Filled by loops, which compile much sooner than the functions of NumPy.
    parent, size = np.empty(n, np.int64), np.empty(n, np.int64)
    degree = np.empty(n, np.int64)  # edges that leave each cluster
    tally = np.empty(mass + 1, np.int64)
    growing = np.empty(mass + 1, np.int64)  # clusters that an edge leaves, by size
    tree = np.empty((mass + 1, 2), np.int64)
    following = np.empty(m, np.int64)  # the list of the edges that are left
    previous = np.empty(m, np.int64)
    for s in range(mass + 1):
        tally[s] = growing[s] = tree[s, 0] = tree[s, 1] = 0
    for x in range(n):
        parent[x], size[x], degree[x] = x, weights[x], 0
    for edge in range(m):
        following[edge], previous[edge] = edge + 1, edge - 1
        degree[pairs[edge, 0]] += 1
        degree[pairs[edge, 1]] += 1
    for x in range(n):
        tally[size[x]] += 1
        growing[size[x]] += degree[x] > 0
        _add(tree, size[x], 1)
    gaps = _sum_of_gaps(tally)
    first, place, least = 0, 0, 1
    gini = np.empty(m, np.float64)
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
    return gini


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
