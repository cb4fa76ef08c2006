"""Minimum spanning trees: Prim on rows as they are needed, Boruvka on a k-d tree, Kruskal on edges.

All three take ties. Under mutual reachability the distance of two points is the largest of their
Euclidean distance and the core distances of both; since many pairs are then equally far apart, the
smaller Euclidean distance decides among them. Distances are squared throughout.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

_BLOCK = 1024  # outside points whose distances to the newest tree point are found at a time
_LANES = 16  # a minimum is taken in independent lanes, or it would wait for every comparison


@jit
def _least(values, size):
    """Return the least of the first ``size`` values."""
    lanes = np.empty(_LANES, values.dtype)
    for lane in range(_LANES):
        lanes[lane] = np.inf
    whole = np.uint64(size // _LANES * _LANES)
    # Unsigned places need no test for negative ones, so that the loop vectorises.
    for start in range(np.uint64(0), whole, np.uint64(_LANES)):
        for lane in range(np.uint64(_LANES)):
            value = values[start + lane]
            lanes[lane] = value if value < lanes[lane] else lanes[lane]
    for y in range(whole, np.uint64(size)):
        lanes[0] = values[y] if values[y] < lanes[0] else lanes[0]
    for lane in range(_LANES):
        lanes[0] = lanes[lane] if lanes[lane] < lanes[0] else lanes[0]
    return lanes[0]


@jit
def _closest(least, plain, size, reachability):
    """Return the place of the least distance; among equals the least Euclidean one decides."""
    lowest = _least(least, size)
    place = -1
    for y in range(size):
        if least[y] == lowest:
            if not reachability:
                return y
            if place < 0 or plain[y] < plain[place]:
                place = y
    return place


@jit
def _lower(found, x, start, stop, least, nearest):
    """Lower the distances of the outside points start..stop-1 to the tree to those from ``x``."""
    at = np.uint64(start)
    for y in range(np.uint64(stop - start)):
        better = found[y] < least[at + y]
        least[at + y] = found[y] if better else least[at + y]
        nearest[at + y] = x if better else nearest[at + y]


@jit
def _lower_reachability(found, x, own, core, start, stop, least, plain, nearest):
    """Lower mutual reachabilities; ``plain`` holds the Euclidean distances that break ties."""
    at = np.uint64(start)
    for y in range(np.uint64(stop - start)):
        reach = core[at + y] if core[at + y] > own else own
        reach = found[y] if found[y] > reach else reach
        equal = reach == least[at + y]
        better = (reach < least[at + y]) | (equal & (found[y] < plain[at + y]))
        least[at + y] = reach if better else least[at + y]
        plain[at + y] = found[y] if better else plain[at + y]
        nearest[at + y] = x if better else nearest[at + y]


@jit
def _distances_to(XT, start, stop, point, out):
    """Write the squared distances of some columns of ``XT`` to ``point``."""
    at, size = np.uint64(start), np.uint64(stop - start)
    for y in range(size):
        out[y] = 0
    for j in range(XT.shape[0]):
        value = point[j]
        for y in range(size):
            apart = XT[j, at + y] - value
            out[y] += apart * apart


def prim(XT, core, reachability, pairs):
    """Fill ``pairs`` (n - 1, 2) with a minimum spanning tree; overwrites ``XT`` and ``core``.

    ``XT`` is feature-major. Points that join the tree leave the arrays, so half of the n^2
    distances are computed, and memory is O(n).
    """
    d, n = XT.shape
    least, plain = np.full((2, n), np.inf, XT.dtype)
    found, point = np.empty(_BLOCK, XT.dtype), np.empty(d, XT.dtype)
    who, nearest = np.arange(n), np.empty(n, np.int64)
    _prim(XT, core, reachability, pairs, who, least, plain, nearest, found, point)


@jit
def _prim(XT, core, reachability, pairs, who, least, plain, nearest, found, point):
    d, n = XT.shape
    place = 0
    size = n
    for edge in range(n):
        x = who[place]
        own = core[place]
        if edge > 0:
            pairs[edge - 1, 0] = nearest[place]
            pairs[edge - 1, 1] = x
        for j in range(d):
            point[j] = XT[j, place]
            XT[j, place] = XT[j, size - 1]
        size -= 1
        who[place] = who[size]
        core[place] = core[size]
        least[place] = least[size]
        plain[place] = plain[size]
        nearest[place] = nearest[size]
        for start in range(0, size, _BLOCK):
            stop = min(start + _BLOCK, size)
            _distances_to(XT, start, stop, point, found)
            if reachability:
                _lower_reachability(found, x, own, core, start, stop, least, plain, nearest)
            else:
                _lower(found, x, start, stop, least, nearest)
        if size > 0:
            place = _closest(least, plain, size, reachability)


@jit
def prim_sparse(data, indices, indptr, squares, width, core, reachability, pairs):
    """Fill ``pairs`` with a minimum spanning tree of CSR rows, whose squared norms are given."""
    n = squares.size
    who = np.arange(n)
    least = np.full(n, np.inf)
    plain = np.full(n, np.inf)
    nearest = np.zeros(n, pairs.dtype)
    found = np.empty(n)
    wide = np.zeros(width)
    place = 0
    size = n
    for edge in range(n):
        x = who[place]
        own = core[x]
        if edge > 0:
            pairs[edge - 1, 0] = nearest[place]
            pairs[edge - 1, 1] = x
        size -= 1
        who[place] = who[size]
        least[place] = least[size]
        plain[place] = plain[size]
        nearest[place] = nearest[size]
        for e in range(indptr[x], indptr[x + 1]):
            wide[indices[e]] = data[e]
        for y in range(size):
            row = who[y]
            product = 0.0
            for e in range(indptr[row], indptr[row + 1]):
                product += data[e] * wide[indices[e]]
            found[y] = max(squares[x] + squares[row] - 2.0 * product, 0.0)
        for e in range(indptr[x], indptr[x + 1]):
            wide[indices[e]] = 0.0
        if reachability:
            _lower_reachability(found, x, own, core[who[:size]], 0, size, least, plain, nearest)
        else:
            _lower(found, x, 0, size, least, nearest)
        if size > 0:
            place = _closest(least, plain, size, reachability)


@jit
def prim_matrix(distances, core, reachability, pairs):
    """Fill ``pairs`` with a minimum spanning tree of a symmetric matrix of distances."""
    n = distances.shape[0]
    who = np.arange(n)
    least = np.full(n, np.inf)
    plain = np.full(n, np.inf)
    nearest = np.zeros(n, pairs.dtype)
    found = np.empty(n)
    place = 0
    size = n
    for edge in range(n):
        x = who[place]
        if edge > 0:
            pairs[edge - 1, 0] = nearest[place]
            pairs[edge - 1, 1] = x
        size -= 1
        who[place] = who[size]
        least[place] = least[size]
        plain[place] = plain[size]
        nearest[place] = nearest[size]
        for y in range(size):
            found[y] = distances[x, who[y]]
        if reachability:
            _lower_reachability(found, x, core[x], core[who[:size]], 0, size, least, plain, nearest)
        else:
            _lower(found, x, 0, size, least, nearest)
        if size > 0:
            place = _closest(least, plain, size, reachability)


@jit
def root_of(parent, x):
    """Return the root of ``x`` and shorten the way to it."""
    while parent[x] != x:
        parent[x] = parent[parent[x]]
        x = parent[x]
    return x


@jit
def kruskal(rows, cols, n, chosen):
    """Mark in ``chosen`` the edges of a spanning forest, given the edges in ascending order."""
    parent = np.arange(n)
    count = 0
    for e in range(rows.size):
        a = root_of(parent, rows[e])
        b = root_of(parent, cols[e])
        if a != b:
            parent[a] = b
            chosen[e] = True
            count += 1
            if count == n - 1:
                break
    return count


# -- Boruvka on a k-d tree -----------------------------------------------------------------------
#
# The tree is that of scikit-learn: node v has the children 2v + 1 and 2v + 2, covers the positions
# ``begin[v]`` to ``end[v] - 1`` and has the box ``low[v]``, ``high[v]``. Points are numbered by
# their position. ``leaves`` holds the coordinates, each leaf feature-major.


@jit
def pack_leaves(X, order, begin, end, is_leaf):
    """Return the coordinates by leaf: feature j of the i-th point of a leaf of m points that starts
    at position s is entry ``s * d + j * m + i``.
    """
    d = X.shape[1]
    leaves = np.empty(order.size * d)
    for v in range(begin.size):
        if is_leaf[v]:
            size = end[v] - begin[v]
            for i in range(size):
                for j in range(d):
                    leaves[begin[v] * d + j * size + i] = X[order[begin[v] + i], j]
    return leaves


@jit
def node_minima(values, begin, end, is_leaf):
    """Return the least value at the positions of each node."""
    least = np.empty(begin.size)
    for v in range(begin.size - 1, -1, -1):
        if is_leaf[v]:
            least[v] = values[begin[v] : end[v]].min()
        else:
            least[v] = min(least[2 * v + 1], least[2 * v + 2])
    return least


@jit
def _box_distance(point, low, high):
    total = 0.0
    for j in range(point.size):
        gap = max(low[j] - point[j], 0.0, point[j] - high[j])
        total += gap * gap
    return total


@jit
def _earlier(r, t, other_r, other_t):
    """Say whether one edge (reachability r, distance t) comes before another."""
    return r < other_r or (r == other_r and t < other_t)


@jit
def _seek(tree, leaves, core, least_core, component, inside, point, own, c, limit, work):
    """Return the nearest point outside component ``c`` that comes before ``limit``.

    As (position, reachability, distance, points looked at); position is -1 if there is none.
    """
    begin, end, is_leaf, low, high = tree
    stack, nearest, found = work
    best, r, t = -1, limit[0], limit[1]
    seen = 0
    stack[0] = 0
    nearest[0] = _box_distance(point, low[0], high[0])
    depth = 1
    while depth > 0:
        depth -= 1
        v = stack[depth]
        gap = nearest[depth]
        if inside[v] == c or not _earlier(max(gap, own, least_core[v]), gap, r, t):
            continue
        if is_leaf[v]:
            size = end[v] - begin[v]
            seen += size
            part = found[:size]
            part[:] = 0.0
            at = begin[v] * point.size
            for j in range(point.size):
                line = leaves[at + j * size : at + (j + 1) * size]
                value = point[j]
                for i in range(size):
                    part[i] += (line[i] - value) * (line[i] - value)
            for i in range(size):
                y = begin[v] + i
                if part[i] <= r and component[y] != c:
                    reach = max(part[i], own, core[y])
                    if _earlier(reach, part[i], r, t):
                        best, r, t = y, reach, part[i]
            continue
        left = 2 * v + 1
        to_left = _box_distance(point, low[left], high[left])
        to_right = _box_distance(point, low[left + 1], high[left + 1])
        swap = to_left < to_right  # the nearer child is on top of the stack
        stack[depth] = left + 1 if swap else left
        nearest[depth] = to_right if swap else to_left
        stack[depth + 1] = left if swap else left + 1
        nearest[depth + 1] = to_left if swap else to_right
        depth += 2
    return best, r, t, seen


@jit
def _scratch(tree):
    sizes = tree[1] - tree[0]
    depth = 2 + 2 * np.int64(np.ceil(np.log2(tree[0].size + 1.0)))
    return np.empty(depth, np.int64), np.empty(depth), np.empty(sizes[tree[2]].max())


@jit
def probe(tree, leaves, core, least_core, points, order, sample):
    """Return how many points the searches for the nearest neighbours of a sample look at."""
    n = order.size
    component = np.arange(n)
    inside = np.full(tree[0].size, -1)
    work = _scratch(tree)
    total = 0
    for p in sample:
        total += _seek(
            tree, leaves, core, least_core, component, inside,
            points[order[p]], core[p], p, (np.inf, np.inf), work,
        )[3]  # fmt: skip
    return total


@jit
def _describe_nodes(tree, component, inside):
    """Write the component that a node lies in wholly, or -1."""
    begin, end, is_leaf, _, _ = tree
    for v in range(begin.size - 1, -1, -1):
        if is_leaf[v]:
            c = component[begin[v]]
            for y in range(begin[v] + 1, end[v]):
                if component[y] != c:
                    c = -1
                    break
            inside[v] = c
        else:
            one, two = inside[2 * v + 1], inside[2 * v + 2]
            inside[v] = one if one == two else -1


@jit
def _offer(c, x, y, r, t, best, ends):
    """Let the edge (x, y) be the best one that leaves component c, if it is."""
    if _earlier(r, t, best[c, 0], best[c, 1]):
        best[c, 0] = r
        best[c, 1] = t
        ends[c, 0] = x
        ends[c, 1] = y


@jit
def _search_round(
    tree, leaves, core, least_core, points, order, component, inside, skip, bound, mate, best, ends
):
    """Find the shortest edge that leaves each component but ``skip``.

    ``bound`` (n, 2) is a lower bound of each point's edges to other components and ``mate`` the
    point at which it is attained: both stay right while components grow.
    """
    n = order.size
    work = _scratch(tree)
    for x in range(n):
        y = mate[x]
        if y >= 0 and component[y] != component[x]:
            _offer(component[x], x, y, bound[x, 0], bound[x, 1], best, ends)
            _offer(component[y], y, x, bound[x, 0], bound[x, 1], best, ends)
    for x in range(n):
        c = component[x]
        if c == skip or (mate[x] >= 0 and component[mate[x]] != c):
            continue
        r, t = best[c]
        if not _earlier(max(bound[x, 0], core[x]), bound[x, 1], r, t):
            continue
        y, r, t, _ = _seek(
            tree, leaves, core, least_core, component, inside,
            points[order[x]], core[x], c, (r, t), work,
        )  # fmt: skip
        bound[x, 0] = r
        bound[x, 1] = t
        mate[x] = y
        if y >= 0:
            _offer(c, x, y, r, t, best, ends)
            _offer(component[y], y, x, r, t, best, ends)


@jit
def _renumber(parent, component, sizes):
    """Number the components 0, 1, ... by their roots, in place; return how many there are."""
    number = np.full(parent.size, -1)
    count = 0
    for x in range(component.size):
        root = root_of(parent, component[x])
        if number[root] < 0:
            number[root] = count
            sizes[count] = 0
            count += 1
        component[x] = number[root]
        sizes[component[x]] += 1
    return count


@jit
def boruvka(tree, leaves, core, least_core, points, order, pairs):
    """Fill ``pairs`` (n - 1, 2) with a minimum spanning tree; return the number of rounds.

    In each round every component but the largest finds the shortest edge that leaves it; those
    edges belong to a minimum spanning tree, and one that would close a cycle (which only ties can
    make) is left out. ``core`` is by position.
    """
    n = order.size
    component = np.arange(n)
    inside = np.full(tree[0].size, -1)
    sizes = np.ones(n, np.int64)
    bound = np.zeros((n, 2))
    mate = np.full(n, -1)
    count = n
    edge = 0
    rounds = 0
    while count > 1:
        skip = np.argmax(sizes[:count])
        best = np.full((count, 2), np.inf)
        ends = np.full((count, 2), -1)
        _search_round(
            tree, leaves, core, least_core, points, order,
            component, inside, skip, bound, mate, best, ends,
        )  # fmt: skip
        parent = np.arange(count)
        for c in range(count):
            if c == skip:
                continue
            x, y = ends[c]
            a = root_of(parent, component[x])
            b = root_of(parent, component[y])
            if a != b:
                parent[a] = b
                pairs[edge, 0] = order[x]
                pairs[edge, 1] = order[y]
                edge += 1
        count = _renumber(parent, component, sizes)
        _describe_nodes(tree, component, inside)
        rounds += 1
    return rounds
