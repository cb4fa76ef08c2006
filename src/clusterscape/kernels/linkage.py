"""Agglomeration: mutual nearest neighbours on a condensed matrix, and trees grown row by row."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.labels import (
    missing,
    tallies,
    vote_buffers,
    votes_sampled,
    votes_together,
)
from clusterscape.kernels.mst import root_of

SINGLE, AVERAGE, COMPLETE = 0, 1, 2

# A tile of distances: its labels stay in the cache while its rows are counted.
_TILE_ROWS = 256
_TILE_COLUMNS = 4096

# A round that merges a smaller share of the clusters than one in this many is not worth its pass.
_FEW = 32
_GONE = -2  # the mate of a cluster that was merged into another one

# Minima are taken in this many independent lanes: one alone would wait for every comparison.
_LANES = 32


@jit
def _place(i, j, n):
    """Position of the pair (i, j) in a condensed matrix of n points."""
    if i > j:
        i, j = j, i
    return n * i - i * (i + 1) // 2 + j - i - 1


def _votes(columns, weights, clusters):
    """Return (offsets, table, weights): what a cluster's vote counts, and what a partition's does.

    The vote of cluster c of partition i is ``table[offsets[i] + c]``. ``clusters`` are the votes in
    the order of the columns of B; without them a cluster votes with its partition's weight.
    """
    offsets = np.zeros(len(columns), dtype=np.int64)
    widths = np.maximum(columns.max(axis=1).astype(np.int64) + 1, 0)
    if clusters is None:
        offsets[1:] = np.cumsum(widths)[:-1]
        weights = tallies(weights)
        return offsets, np.repeat(weights, widths), weights
    starts, table = clusters
    return starts[:-1].astype(np.int64), table, weights.astype(table.dtype)


@jit
def _own_votes(columns, x, offsets, table, own):
    """Fill ``own`` with the votes of the clusters that x is in."""
    for i in range(own.size):
        code = columns[i, x]
        own[i] = table[offsets[i] + code] if code >= 0 else 0


def condensed_distances(columns, weights, out, clusters=None):
    """Write 1 - co-association of every pair of points to the condensed ``out``.

    ``clusters``, if given, are the offsets of the partitions and the weights of the columns of B:
    a pair then counts the weight of each cluster that it shares.
    """
    votes = _votes(columns, weights, clusters)
    buffers = vote_buffers(votes[2], _TILE_COLUMNS)
    _condensed_distances(columns, *votes, missing(columns), out, np.empty_like(votes[2]), *buffers)


@jit
def _condensed_distances(columns, offsets, table, weights, missing, out, own, together, counts):
    n = columns.shape[1]
    for top in range(0, n - 1, _TILE_ROWS):
        for left in range(top // _TILE_COLUMNS * _TILE_COLUMNS, n, _TILE_COLUMNS):
            stop = min(left + _TILE_COLUMNS, n)
            for x in range(top, min(top + _TILE_ROWS, stop - 1)):
                start = max(left, x + 1)
                _own_votes(columns, x, offsets, table, own)
                votes_together(columns, x, start, stop, own, together)
                if missing is not None:
                    votes_sampled(columns, x, start, stop, weights, counts)
                _write_distances(together, counts, stop - start, out, _place(x, start, n))


@jit
def _write_distances(together, counts, size, out, position):
    at = np.uint64(position)
    for y in range(np.uint64(size)):
        # numpy's division has no branch for a zero divisor, so that the loop stays a simple one.
        share = np.true_divide(np.float64(together[y]), np.float64(max(counts[y], 1e-300)))
        out[at + y] = 1.0 - share


# Below, parts of arrays are named by places and filled by loops: numba compiles that much sooner
# than slices, and unsigned places need no test for negative ones, so that the loops vectorise.


@jit
def _lower(least, begin, distances, position, size):
    """Lower ``least`` from ``begin`` on to a line of distances; return the line's least entry."""
    lanes = np.empty(_LANES, distances.dtype)
    for lane in range(_LANES):
        lanes[lane] = np.inf
    at, line = np.uint64(begin), np.uint64(position)
    whole = np.uint64(size // _LANES * _LANES)
    for start in range(np.uint64(0), whole, np.uint64(_LANES)):
        for lane in range(np.uint64(_LANES)):
            value = distances[line + start + lane]
            lanes[lane] = value if value < lanes[lane] else lanes[lane]
    for y in range(whole, np.uint64(size)):
        lanes[0] = distances[line + y] if distances[line + y] < lanes[0] else lanes[0]
    for y in range(np.uint64(size)):
        value = distances[line + y]
        least[at + y] = value if value < least[at + y] else least[at + y]
    for lane in range(_LANES):
        lanes[0] = lanes[lane] if lanes[lane] < lanes[0] else lanes[0]
    return lanes[0]


@jit
def _nearest(distances, least, ahead):
    """Fill the least distance of every cluster to any other, and to those after it."""
    m = least.size
    for x in range(m):
        least[x] = np.inf
    position = 0
    for x in range(m - 1):
        ahead[x] = _lower(least, x + 1, distances, position, m - x - 1)
        least[x] = min(least[x], ahead[x])
        position += m - x - 1


@jit
def _match(distances, m, least, ahead, mate):
    """Pair clusters that are nearest to each other; return how many pairs there are.

    Among clusters at equal distances many pairings are right, and this finds one that leaves no
    such pair over. A pair stays mutually nearest whatever other pairs merge.
    """
    for x in range(m):
        mate[x] = -1
    count = 0
    for x in range(m - 1):
        if mate[x] >= 0 or ahead[x] > least[x]:
            continue
        position = _place(x, x + 1, m) - x - 1
        for y in range(x + 1, m):
            if distances[position + y] == least[x] and mate[y] < 0 and least[y] == least[x]:
                mate[x] = y
                mate[y] = x
                count += 1
                break
    return count


@jit
def _joined(da, db, share, method):
    """Distance to a cluster of two parts, the first of which has this share of the weight."""
    if method == SINGLE:
        return min(da, db)
    if method == COMPLETE:
        return max(da, db)
    return share * da + (1.0 - share) * db


@jit
def _renumber(m, mate, weight, name, first, second, share):
    """Number the clusters that are left, in place; return how many there are.

    New cluster a is the old ``first[a]`` and ``second[a]``, or -1; the former has the given share
    of the weight.
    """
    a = 0
    for x in range(m):
        other = mate[x]
        if other == _GONE or 0 <= other < x:
            continue
        own = weight[x]
        total = own + weight[other] if other >= 0 else own
        first[a], second[a], share[a] = x, other, own / total
        weight[a] = total
        name[a] = name[x]
        a += 1
    return a


@jit
def _fold(distances, m, k, first, second, share, method, least, ahead, double, line):
    """Rewrite the matrix in place for clusters of one or two old ones, and find their nearest.

    New cluster a is ``first[a]`` and, unless that is -1, ``second[a]``, which comes after it; the
    first ones ascend. So a new row never reaches beyond the old rows that are already read.
    ``double`` is filled with the clusters of two, ``line`` with one line of distances.
    """
    n_double = 0
    for a in range(k):
        least[a] = np.inf
        if second[a] >= 0:
            double[n_double] = a
            n_double += 1
    position = 0
    behind = 0
    for a in range(k):
        x = first[a]
        begin = _place(x, x + 1, m) - x - 1
        for y in range(x + 1, m):
            line[y] = distances[begin + y]
        if second[a] >= 0:
            s = second[a]
            for y in range(x + 1, s):
                line[y] = _joined(line[y], distances[_place(y, s, m)], share[a], method)
            start = _place(s, s + 1, m) - s - 1
            for y in range(s + 1, m):
                line[y] = _joined(line[y], distances[start + y], share[a], method)
        new = position - a - 1
        for b in range(a + 1, k):
            distances[new + b] = line[first[b]]
        while behind < n_double and double[behind] <= a:
            behind += 1
        for i in range(behind, n_double):
            b = double[i]
            distances[new + b] = _joined(line[first[b]], line[second[b]], share[b], method)
        ahead[a] = _lower(least, a + 1, distances, position, k - a - 1)
        least[a] = min(least[a], ahead[a])
        position += k - a - 1


@jit
def _halve(distances, m, method, weight, name, mate, pairs, heights, alive, stack):
    """Merge by the nearest-neighbour chain until half of the clusters are left.

    Those that are merged into others are marked in ``mate``. ``alive`` and ``stack`` are filled.
    """
    for y in range(m):
        alive[y] = y
        mate[y] = -1
    n_alive = m
    depth = 0
    done = name.shape[0] - m
    for merge in range(done, done + m // 2):
        if depth == 0:
            stack[0] = alive[0]
            depth = 1
        while True:
            x = stack[depth - 1]
            # The cluster below on the stack wins ties, or the chain would cycle.
            nearest = stack[depth - 2] if depth > 1 else -1
            least = distances[_place(x, nearest, m)] if depth > 1 else np.inf
            for i in range(n_alive):
                y = alive[i]
                if y != x:
                    d = distances[_place(x, y, m)]
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
        pairs[merge, 0] = name[a]
        pairs[merge, 1] = name[b]
        heights[merge] = least
        mate[a] = _GONE
        share = weight[a] / (weight[a] + weight[b])
        weight[b] += weight[a]
        left = 0
        for i in range(n_alive):
            y = alive[i]
            alive[left] = y
            left += y != a
            if y != a and y != b:
                place = _place(b, y, m)
                distances[place] = _joined(
                    distances[_place(a, y, m)], distances[place], share, method
                )
        n_alive = left


def agglomerate(distances, sizes, method):
    """Merge clusters that are nearest to each other until one is left; overwrites ``distances``.

    In single, average and complete linkage two clusters that are mutually nearest merge sooner or
    later, whatever else merges first, so a round merges all of them and rewrites the matrix once.
    Where few are mutually nearest (evenly stretched data) the nearest-neighbour chain halves the
    clusters instead: the whole takes O(n^2) in any case.

    ``sizes`` are the points' weights, so a micro-cluster counts as the points that it represents.
    Returns (pairs, heights), the merges in no particular order, each named by a point of either
    cluster.
    """
    n = len(sizes)
    weight, name = np.array(sizes, np.float64), np.arange(n)
    mate, first, second, double = np.empty((4, n + 1), np.int64)
    least, ahead, line = np.empty((3, n), distances.dtype)
    pairs, heights, share = np.empty((n - 1, 2), np.int64), np.empty(n - 1), np.empty(n)
    m, is_halved = n, False
    while True:
        m = _rounds(
            distances, m, is_halved, method, weight, name, mate, pairs, heights, first, second,
            share, least, ahead, double, line,
        )  # fmt: skip
        if m <= 1:
            return pairs, heights
        # A kernel of its own: most data never need it, and it takes long to compile.
        _halve(distances, m, method, weight, name, mate, pairs, heights, first, second)
        is_halved = True


@jit
def _rounds(
    distances, m, is_halved, method, weight, name, mate, pairs, heights, first, second, share,
    least, ahead, double, line,
):  # fmt: skip
    """Merge all that are mutually nearest, again and again, until one is left or they are few.

    Return how many clusters are left. ``is_halved``: the next merges are in ``mate`` already.
    """
    n = name.shape[0]
    if m == n and not is_halved:
        _nearest(distances, least, ahead)
    while m > 1:
        if not is_halved:
            count = _match(distances, m, least, ahead, mate)
            if count * _FEW < m and m > _FEW:
                return m
            merge = n - m
            for x in range(m):
                if mate[x] > x:
                    pairs[merge, 0] = name[x]
                    pairs[merge, 1] = name[mate[x]]
                    heights[merge] = least[x]
                    merge += 1
        is_halved = False
        k = _renumber(m, mate, weight, name, first, second, share)
        _fold(distances, m, k, first, second, share, method, least, ahead, double, line)
        m = k
    return m


def spanning_tree(columns, weights, clusters=None):
    """Return (pairs, heights): a minimum spanning tree under 1 - co-association.

    Rows of the distance matrix are computed when they are needed, so memory is O(n). ``clusters``
    are as in :func:`condensed_distances`.
    """
    n = columns.shape[1]
    votes = _votes(columns, weights, clusters)
    pairs, heights = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
    _spanning_tree(
        columns, *votes, missing(columns), pairs, heights, np.empty_like(votes[2]),
        *vote_buffers(votes[2], n), np.empty(n), np.zeros(n, np.int64), np.full(n, np.inf),
        np.ones(n, bool),
    )  # fmt: skip
    return pairs, heights


@jit
def _spanning_tree(
    columns, offsets, table, weights, missing, pairs, heights, own, together, counts, distance,
    nearest, least, outside,
):  # fmt: skip
    n = columns.shape[1]
    x = 0
    outside[0] = False
    for edge in range(n - 1):
        _own_votes(columns, x, offsets, table, own)
        votes_together(columns, x, 0, n, own, together)
        if missing is not None:
            votes_sampled(columns, x, 0, n, weights, counts)
        _write_distances(together, counts, n, distance, 0)
        closest = -1
        for y in range(n):
            if outside[y]:
                if distance[y] < least[y]:
                    least[y] = distance[y]
                    nearest[y] = x
                if closest < 0 or least[y] < least[closest]:
                    closest = y
        pairs[edge, 0] = nearest[closest]
        pairs[edge, 1] = closest
        heights[edge] = least[closest]
        outside[closest] = False
        x = closest


def linked_components(columns, weights, threshold, clusters=None):
    """Number the components of the graph that links pairs with co-association > threshold.

    ``clusters`` are as in :func:`condensed_distances`.
    """
    n = columns.shape[1]
    votes = _votes(columns, weights, clusters)
    component, queue = np.full((2, n), -1)
    _linked_components(
        columns, *votes, missing(columns), threshold, component, queue, np.empty_like(votes[2]),
        *vote_buffers(votes[2], n),
    )  # fmt: skip
    return component


@jit
def _linked_components(
    columns, offsets, table, weights, missing, threshold, component, queue, own, together, counts
):
    n = columns.shape[1]
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
            _own_votes(columns, x, offsets, table, own)
            votes_together(columns, x, 0, n, own, together)
            if missing is not None:
                votes_sampled(columns, x, 0, n, weights, counts)
            for y in range(n):
                if component[y] < 0 and together[y] > threshold * counts[y]:
                    component[y] = count
                    queue[tail] = y
                    tail += 1
        count += 1


def cut(pairs, merges, n):
    """Apply the first ``merges`` of the sorted ``pairs`` and number the resulting components."""
    parent = np.arange(n)
    _cut(pairs, merges, parent)
    return parent


@jit
def _cut(pairs, merges, parent):
    for m in range(merges):
        a = root_of(parent, pairs[m, 0])
        b = root_of(parent, pairs[m, 1])
        if a != b:
            parent[a] = b
    for x in range(parent.shape[0]):
        parent[x] = root_of(parent, x)
