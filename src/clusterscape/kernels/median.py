"""Medoids of a dissimilarity matrix, and one-point moves towards the median of partitions.

The moves read an ensemble as ``labels`` (m, r) with codes 0..k_i-1, -2 for unsampled and -1 for
"sampled, but in no cell given by the labels": noise, and every point of a soft partition, whose
memberships are in a CSR matrix over the D clusters (``soft_start``, ``soft_column``,
``soft_value``; ``soft_block`` is the partition of each entry). For a grouping of the points into
at most K groups, ``table`` (D, K) is the weight that each cluster shares with each group and
``mass`` (r, K) the weight of each group's points that a partition sampled.
"""

from __future__ import annotations

import math

import numpy as np

from clusterscape.kernels._jit import jit

N_SUMS = 10


# -- medoids ------------------------------------------------------------------------------------


@jit
def build(distances, weights, k):
    """Choose k medoids one after the other, each at the largest fall of the cost."""
    n = weights.size
    medoids = np.empty(k, dtype=np.int64)
    least = np.full(n, np.inf)
    chosen = np.zeros(n, dtype=np.bool_)
    for j in range(k):
        best = -1
        lowest = np.inf
        for x in range(n):
            if chosen[x]:
                continue
            line = distances[x]
            cost = 0.0
            for y in range(n):
                cost += weights[y] * min(least[y], line[y])
            if cost < lowest:
                lowest = cost
                best = x
        medoids[j] = best
        chosen[best] = True
        for y in range(n):
            least[y] = min(least[y], distances[best, y])
    return medoids


@jit
def _two_nearest(distances, medoids, y, first, second, near, far):
    near[y] = far[y] = np.inf
    first[y] = second[y] = -1
    for j in range(medoids.size):
        d = distances[medoids[j], y]
        if d < near[y]:
            far[y], second[y] = near[y], first[y]
            near[y], first[y] = d, j
        elif d < far[y]:
            far[y], second[y] = d, j


@jit
def _best_swap(line, weights, first, near, far, removal, change):
    """Return the medoid to replace by the point with distances ``line``, and the cost's change."""
    gained = 0.0
    change[:] = removal
    for y in range(line.size):
        d = line[y]
        if d < near[y]:
            gained += weights[y] * (d - near[y])
            change[first[y]] += weights[y] * (near[y] - far[y])
        elif d < far[y]:
            change[first[y]] += weights[y] * (d - far[y])
    j = np.argmin(change)
    return j, gained + change[j]


@jit
def swap(distances, weights, medoids, max_iter):
    """Exchange medoids for other points while the cost falls; return (labels, cost, sweeps).

    A sweep tries every point in place of every medoid in O(n^2), because what each point adds or
    takes away is summed for all medoids at once. ``medoids`` (two at least) is overwritten.
    """
    n = weights.size
    k = medoids.size
    first = np.empty(n, dtype=np.int64)
    second = np.empty(n, dtype=np.int64)
    near = np.empty(n)
    far = np.empty(n)
    removal = np.zeros(k)
    change = np.empty(k)
    for y in range(n):
        _two_nearest(distances, medoids, y, first, second, near, far)
        removal[first[y]] += weights[y] * (far[y] - near[y])
    tolerance = 1e-9 * max((weights * near).sum(), 1e-300)
    sweep = 0
    unchanged = 0
    while sweep < max_iter and unchanged < n:
        sweep += 1
        for x in range(n):
            unchanged += 1
            if unchanged > n:
                break
            if x == medoids[first[x]]:
                continue
            j, fall = _best_swap(distances[x], weights, first, near, far, removal, change)
            if fall >= -tolerance:
                continue
            unchanged = 0
            medoids[j] = x
            removal[:] = 0.0
            for y in range(n):
                d = distances[x, y]
                if first[y] == j or second[y] == j:
                    _two_nearest(distances, medoids, y, first, second, near, far)
                elif d < near[y]:
                    far[y], second[y] = near[y], first[y]
                    near[y], first[y] = d, j
                elif d < far[y]:
                    far[y], second[y] = d, j
                removal[first[y]] += weights[y] * (far[y] - near[y])
    for j in range(k):
        first[medoids[j]] = j  # also where another medoid is at distance zero
    return first, (weights * near).sum(), sweep


# -- moves --------------------------------------------------------------------------------------


@jit
def shift(ensemble, x, group, weight, table, mass):
    """Add ``weight`` of point x to a group; a negative weight takes it away."""
    labels, offsets, soft_start, soft_column, soft_value, soft_block = ensemble
    for i in range(labels.shape[1]):
        code = labels[x, i]
        if code != -2:
            mass[i, group] += weight
        if code >= 0:
            table[offsets[i] + code, group] += weight
    for e in range(soft_start[x], soft_start[x + 1]):
        table[soft_column[e], group] += weight * soft_value[e]


@jit
def fill(ensemble, sizes, groups, table, mass, counts):
    """Count the tables of a grouping; points with a negative group are in none."""
    table[:] = 0.0
    mass[:] = 0.0
    counts[:] = 0
    for x in range(groups.size):
        if groups[x] >= 0:
            counts[groups[x]] += 1
            shift(ensemble, x, groups[x], sizes[x], table, mass)


@jit
def _disagreement(ensemble, weights, x, table, mass, scores):
    """Fill what x adds to the Mirkin distance beside each group, over twice its own weight."""
    labels, offsets, soft_start, soft_column, soft_value, soft_block = ensemble
    scores[:] = 0.0
    for i in range(labels.shape[1]):
        code = labels[x, i]
        w = weights[i]
        if code != -2:
            line = mass[i]
            for g in range(scores.size):
                scores[g] += w * line[g]
        if code >= 0:
            line = table[offsets[i] + code]
            for g in range(scores.size):
                scores[g] -= 2.0 * w * line[g]
    for e in range(soft_start[x], soft_start[x + 1]):
        share = 2.0 * weights[soft_block[e]] * soft_value[e]
        line = table[soft_column[e]]
        for g in range(scores.size):
            scores[g] -= share * line[g]


@jit
def place(ensemble, weights, sizes, groups, table, mass, counts, may_stay_alone):
    """Put every point without a group into the one beside which it disagrees least.

    With ``may_stay_alone`` a point that agrees with none more than it disagrees keeps -1.
    """
    scores = np.empty(counts.size)
    for x in range(groups.size):
        if groups[x] < 0:
            _disagreement(ensemble, weights, x, table, mass, scores)
            best = np.argmin(scores)
            if may_stay_alone and scores[best] >= 0.0:
                groups[x] = -1
                continue
            groups[x] = best
            counts[best] += 1
            shift(ensemble, x, best, sizes[x], table, mass)


@jit
def cheapest_to_leave(ensemble, weights, sizes, groups, table, mass, counts):
    """Return the point whose group, of two points at least, loses least when it goes."""
    scores = np.empty(counts.size)
    best = -1
    lowest = np.inf
    for x in range(groups.size):
        own = groups[x]
        if counts[own] < 2:
            continue
        shift(ensemble, x, own, -sizes[x], table, mass)
        _disagreement(ensemble, weights, x, table, mass, scores)
        shift(ensemble, x, own, sizes[x], table, mass)
        rise = -sizes[x] * scores[own]
        if rise < lowest:
            lowest = rise
            best = x
    return best


@jit
def mirkin_sweep(ensemble, weights, sizes, groups, table, mass, counts, is_free):
    """Move every point to the group where it disagrees least; return how many moved.

    The sum of weighted Mirkin distances falls with every move. ``is_free`` lets a point found a
    group (in the first empty column), and the last point of a group leave it.
    """
    scores = np.empty(counts.size)
    tolerance = 1e-9 * weights.sum() * sizes.max()
    moved = 0
    for x in range(groups.size):
        own = groups[x]
        if counts[own] == 1 and not is_free:
            continue
        counts[own] -= 1
        shift(ensemble, x, own, -sizes[x], table, mass)
        _disagreement(ensemble, weights, x, table, mass, scores)
        best = own
        # One empty group is as good as another, and a lone point needs none.
        opened = counts[own] == 0 or not is_free
        for g in range(counts.size):
            if counts[g] == 0 and g != own:
                if opened:
                    continue
                opened = True
            if scores[g] < scores[best] - tolerance:
                best = g
        groups[x] = best
        counts[best] += 1
        shift(ensemble, x, best, sizes[x], table, mass)
        moved += best != own
    return moved


@jit
def _xlogx(value):
    return value * math.log(value) if value > 0.0 else 0.0


@jit
def _exchange(sums, before, after):
    """Replace a cell (or a margin) in its number, its sum of squares and its sum of x log x."""
    tiny = 1e-9
    sums[0] += (after > tiny) - (before > tiny)
    sums[1] += after * after - before * before
    sums[2] += _xlogx(after) - _xlogx(before)


@jit
def move_sums(ensemble, sizes, points, groups, table, mass, current, out):
    """Fill ``out`` (points, groups, r, N_SUMS): the sums of every table after every move.

    ``current`` (r, N_SUMS) are the sums of the present grouping, in the order of
    ``kernels.pairs.sums`` with the groups as rows. A move changes two cells and two margins of a
    table, so the whole costs O(r K) for a point.
    """
    labels, offsets, soft_start, soft_column, soft_value, soft_block = ensemble
    for p in range(points.size):
        x = points[p]
        own = groups[x]
        s = sizes[x]
        for g in range(table.shape[1]):
            after = out[p, g]
            after[:] = current
            if g == own:
                continue
            for i in range(labels.shape[1]):
                code = labels[x, i]
                if code != -2:
                    margin = after[i, 4:7]
                    _exchange(margin, mass[i, own], mass[i, own] - s)
                    _exchange(margin, mass[i, g], mass[i, g] + s)
                if code >= 0:
                    line = table[offsets[i] + code]
                    _exchange(after[i, 1:4], line[own], line[own] - s)
                    _exchange(after[i, 1:4], line[g], line[g] + s)
            for e in range(soft_start[x], soft_start[x + 1]):
                line = table[soft_column[e]]
                part = s * soft_value[e]
                cells = after[soft_block[e], 1:4]
                _exchange(cells, line[own], line[own] - part)
                _exchange(cells, line[g], line[g] + part)
