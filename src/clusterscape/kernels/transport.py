"""Exact transport between small sets of masses, certified by its dual.

First mass goes where it is cheapest, then what is left is sent along shortest paths in the reduced
costs, one supply at a time. Time grows with about the cube of the size: above 64 x 64 a network
simplex is faster.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

# Relative to the total mass: what a subtraction leaves of a mass and is smaller, is rounding.
_NOTHING = 1e-15
# How far, relative to the largest cost and the total mass, the certificate may be missed.
_CERTAIN = 1e-12


@jit
def solve(cost, a, b, plan):
    """Return the least cost of moving the masses ``a`` to ``b``; the plan is written to ``plan``.

    cost (k, m) float64, finite; a (k,), b (m,) float64 masses >= 0 with the same sum up to rounding
    (what one side has too much of is not moved); plan (k, m) float64. The result is nan when a side
    is empty, or when the potentials do not prove that the plan is the best one.
    """
    return solve_dual(cost, a, b, plan, np.empty(a.size), np.empty(b.size))


@jit
def solve_dual(cost, a, b, plan, u, v):
    """Return what :func:`solve` does; u (k,) and v (m,) become the potentials that prove it.

    u[i] + v[j] <= cost[i, j], with equality where plan[i, j] > 0.
    """
    k, m = cost.shape
    return _solve(cost, a, b, plan, u, v, _buffers(k, m))


@jit
def solve_rows(cost, left, right, out):
    """Write the least cost of moving the masses of each row of ``left`` to that of ``right``.

    cost (k, m), left (n, k), right (n, m), out (n,); nan where :func:`solve` has it.
    """
    k, m = cost.shape
    plan, u, v, buffers = np.empty((k, m)), np.empty(k), np.empty(m), _buffers(k, m)
    for x in range(out.size):
        out[x] = _solve(cost, left[x], right[x], plan, u, v, buffers)


@jit
def solve_pairs(costs, offsets_a, offsets_b, mass_a, mass_b, pairs, out):
    """Write the transport costs of many pairs of partitions to ``out``.

    costs (D_a, D_b) : what moving a unit of mass costs (the distance itself) from each cluster of
        one family of partitions to each cluster of another; float64
    offsets_a (p + 1,), offsets_b (q + 1,) : clusters offsets_a[i]:offsets_a[i + 1] belong to
        partition i of the first family, likewise the second
    mass_a (D_a,), mass_b (D_b,) : masses, of the same sum for every partition up to rounding
    pairs (t, 2) : numbers (i, j) of the partitions to compare, i of the first family
    out (t,) : the cost of each pair; nan where :func:`solve` has it
    """
    k, m = _widest(offsets_a, pairs[:, 0]), _widest(offsets_b, pairs[:, 1])
    cells, flows, u, v = np.empty(k * m), np.empty(k * m), np.empty(k), np.empty(m)
    buffers = _buffers(k, m)
    for p in range(pairs.shape[0]):
        top, left = offsets_a[pairs[p, 0]], offsets_b[pairs[p, 1]]
        k = offsets_a[pairs[p, 0] + 1] - top
        m = offsets_b[pairs[p, 1] + 1] - left
        cost, plan = cells[: k * m].reshape(k, m), flows[: k * m].reshape(k, m)
        for i in range(k):
            for j in range(m):
                cost[i, j] = costs[top + i, left + j]
        out[p] = _solve(cost, mass_a[top : top + k], mass_b[left : left + m], plan, u, v, buffers)


@jit
def _widest(offsets, partitions):
    widest = 0
    for i in partitions:
        widest = max(widest, offsets[i + 1] - offsets[i])
    return widest


@jit
def _buffers(k, m):
    """Return the arrays that a solution needs; they may be longer than the problem."""
    rest, height, entry = np.empty(k), np.empty(k), np.empty(k, dtype=np.int64)
    free, dist, key = np.empty(m), np.empty(m), np.empty(m)
    before, order = np.empty(m, dtype=np.int64), np.empty(m, dtype=np.int64)
    return rest, free, height, entry, dist, key, before, order


@jit
def _solve(cost, a, b, plan, u, v, buffers):
    k, m = cost.shape
    if k == 0 or m == 0:
        return np.nan
    rest, free, height, entry, dist, key, before, order = buffers
    total = a.sum()
    nothing = _NOTHING * total
    rest[:k] = a
    free[:m] = b
    _start(cost, plan, u, v, rest, free, nothing)
    budget = 100 * (k + m)
    for source in range(k):
        while rest[source] > 0.0 and budget > 0:
            budget -= 1
            reached, length = _search(
                source,
                cost,
                plan,
                u,
                v,
                rest[source],
                free,
                height,
                entry,
                dist,
                key,
                before,
                order,
            )
            if length == np.inf:  # no column has capacity left: b has less mass
                break
            for i in range(k):
                if entry[i] != _UNSEEN:
                    u[i] += length - height[i]
            for n in range(reached):
                v[order[n]] -= length - dist[order[n]]
            # All paths of the search are tight now: one after the other, as far as they carry.
            for n in range(reached):
                if free[order[n]] > 0.0:
                    _push(source, order[n], plan, rest, free, entry, before, nothing)
    return _certified(cost, plan, u, v, rest, free, total)


@jit
def _less(mass, amount, nothing):
    left = mass - amount
    return left if left > nothing else 0.0


@jit
def _start(cost, plan, u, v, rest, free, nothing):
    """Choose potentials, and send what may go along single cells that are tight under them."""
    k, m = cost.shape
    plan[:] = 0.0
    u[:k] = 0.0
    for j in range(m):
        cheapest = 0
        for i in range(1, k):
            if cost[i, j] < cost[cheapest, j]:
                cheapest = i
        v[j] = cost[cheapest, j]
        _send(cheapest, j, plan, rest, free, nothing)
    for i in range(k):
        if rest[i] > 0.0:
            least = np.inf
            for j in range(m):
                least = min(least, cost[i, j] - v[j])
            u[i] = least  # 0 where the row has sent something already
            for j in range(m):
                if free[j] > 0.0 and cost[i, j] - v[j] == least:
                    _send(i, j, plan, rest, free, nothing)


@jit
def _send(i, j, plan, rest, free, nothing):
    amount = min(rest[i], free[j])
    if amount > 0.0:
        plan[i, j] += amount
        rest[i] = _less(rest[i], amount, nothing)
        free[j] = _less(free[j], amount, nothing)


# Values of ``entry``, the column through which the search came to a row.
_SOURCE = -1
_UNSEEN = -2


@jit
def _search(source, cost, plan, u, v, wanted, free, height, entry, dist, key, before, order):
    """Find the columns nearest to ``source``, until their free capacity is ``wanted``.

    Distances are reduced costs from rows to columns; from a column the search goes on to the rows
    that send mass to it. Return how many columns were reached (in ``order``) and the distance of
    the last; inf when none of them has capacity left.
    """
    k, m = cost.shape
    entry[:k] = _UNSEEN
    entry[source], height[source] = _SOURCE, 0.0
    for j in range(m):
        dist[j] = key[j] = max(cost[source, j] - u[source] - v[j], 0.0)
        before[j] = source
    found, length = 0.0, 0.0
    for reached in range(m):
        target, nearest = 0, key[0]  # the key of a column that was reached is inf
        for j in range(1, m):
            if key[j] < nearest:
                target, nearest = j, key[j]
        length = nearest
        key[target] = np.inf
        order[reached] = target
        found += free[target]
        if found >= wanted:
            return reached + 1, length
        for i in range(k):
            if plan[i, target] > 0.0 and entry[i] == _UNSEEN:
                entry[i], height[i] = target, length
                shift = length - u[i]
                for j in range(m):
                    through = cost[i, j] - v[j] + shift
                    if through < dist[j] and key[j] < np.inf:
                        # Not below what was reached before, which rounding might allow.
                        dist[j] = key[j] = max(through, length)
                        before[j] = i
    return m, length if found > 0.0 else np.inf


@jit
def _push(source, target, plan, rest, free, entry, before, nothing):
    """Send along the path that was found to ``target`` what it can carry."""
    amount = min(rest[source], free[target])
    if amount <= 0.0:
        return
    i = before[target]
    while i != source:
        amount = min(amount, plan[i, entry[i]])
        i = before[entry[i]]
    if amount <= 0.0:
        return
    j = target
    while before[j] != source:
        i = before[j]
        plan[i, j] += amount
        j = entry[i]
        plan[i, j] = _less(plan[i, j], amount, nothing)
    plan[source, j] += amount
    rest[source] = _less(rest[source], amount, nothing)
    free[target] = _less(free[target], amount, nothing)


@jit
def _certified(cost, plan, u, v, rest, free, total):
    """Return the cost of the plan, or nan where the potentials do not prove that it is the least.

    They prove it when no reduced cost is negative and those of used cells are zero, provided that
    all mass has been moved that both sides have.
    """
    k, m = cost.shape
    value, slack, lowest, largest = 0.0, 0.0, 0.0, 0.0
    for i in range(k):
        for j in range(m):
            reduced = cost[i, j] - u[i] - v[j]
            lowest = min(lowest, reduced)
            slack += plan[i, j] * abs(reduced)
            value += plan[i, j] * cost[i, j]
            largest = max(largest, abs(cost[i, j]))
    unsent = min(rest[:k].sum(), free[:m].sum())
    if lowest < -_CERTAIN * largest or slack > _CERTAIN * largest * total:
        return np.nan
    return value if unsent <= _CERTAIN * total else np.nan
