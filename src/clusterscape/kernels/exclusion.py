"""Cheapest clusters of items of which some pairs exclude each other: colouring with costs.

``cost`` is (q, k). ``Graph`` holds two symmetric CSR graphs: items that exclude each other, each
link with the ``pairs`` of points it stands for, and
``pull``, what it costs (or spares, where negative) to be in one cluster with another item.
``label`` is (q,), -1 for an item without a cluster yet. ``near`` (q, k) counts the pairs of points
that would be violated if an item were in a cluster, as many as the links to its neighbours there
stand for, and ``press`` (q, k) sums the pull of its other neighbours there; both
are kept up to date by all that moves an item.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit


class Graph(NamedTuple):
    """Exclusions, and pulls, both as CSR arrays."""

    indptr: Any
    indices: Any
    pairs: Any
    soft_indptr: Any
    soft_indices: Any
    pull: Any


@jit
def _put(i, b, graph, label, near, press):
    """Move an item to another cluster."""
    a = label[i]
    for e in range(graph.indptr[i], graph.indptr[i + 1]):
        j = graph.indices[e]
        if a >= 0:
            near[j, a] -= graph.pairs[e]
        near[j, b] += graph.pairs[e]
    for e in range(graph.soft_indptr[i], graph.soft_indptr[i + 1]):
        j = graph.soft_indices[e]
        if a >= 0:
            press[j, a] -= graph.pull[e]
        press[j, b] += graph.pull[e]
    label[i] = b


@jit
def _link(i, level, head, following, previous):
    """Put an item on top of the list of a level."""
    following[i] = head[level]
    previous[i] = -1
    if head[level] >= 0:
        previous[head[level]] = i
    head[level] = i


@jit
def _unlink(i, level, head, following, previous):
    """Take an item out of the list of its level."""
    if previous[i] >= 0:
        following[previous[i]] = following[i]
    else:
        head[level] = following[i]
    if following[i] >= 0:
        previous[following[i]] = previous[i]


@jit
def construct(cost, graph, order, label, near, press):
    """Place all items, those with the fewest clusters left first; return how many conflict.

    Items with as few clusters left come in the order given at first, later the one that lost a
    cluster last.
    """
    q, k = cost.shape
    left = np.full(q, k, dtype=np.int64)  # clusters without an excluded neighbour
    head = np.full(k + 1, -1, dtype=np.int64)
    following = np.full(q, -1, dtype=np.int64)
    previous = np.full(q, -1, dtype=np.int64)
    for r in range(q - 1, -1, -1):
        _link(order[r], k, head, following, previous)
    conflicts = 0
    for _ in range(q):
        level = 0
        while head[level] < 0:
            level += 1
        i = head[level]
        _unlink(i, level, head, following, previous)
        best = 0
        for b in range(1, k):
            fewer = near[i, b] < near[i, best]
            equal = near[i, b] == near[i, best]
            cheaper = cost[i, b] + press[i, b] < cost[i, best] + press[i, best]
            if fewer or (equal and cheaper):
                best = b
        conflicts += near[i, best] > 0
        _put(i, best, graph, label, near, press)
        for e in range(graph.indptr[i], graph.indptr[i + 1]):
            j = graph.indices[e]
            if label[j] < 0 and near[j, best] == graph.pairs[e]:
                _unlink(j, left[j], head, following, previous)
                left[j] -= 1
                _link(j, left[j], head, following, previous)
    return conflicts


@jit
def _chain(i, b, cost, graph, label, mark, stamp, queue):
    """Collect the items that must change between two clusters when i goes to b.

    Return their number (0 where there are too many) and by how much the cost changes.
    """
    a = label[i]
    queue[0] = i
    mark[i] = stamp
    size, at = 1, 0
    change = 0.0
    while at < size:
        x = queue[at]
        at += 1
        other = b if label[x] == a else a
        change += cost[x, other] - cost[x, label[x]]
        for e in range(graph.indptr[x], graph.indptr[x + 1]):
            y = graph.indices[e]
            if mark[y] != stamp and label[y] == other:
                if size == queue.shape[0]:
                    return 0, 0.0
                mark[y] = stamp
                queue[size] = y
                size += 1
    return size, change


@jit
def _swap(i, b, cost, graph, label, near, press, mark, stamp, queue):
    """Swap two clusters along the chain from i if that is cheaper; say whether it was done."""
    a = label[i]
    size, change = _chain(i, b, cost, graph, label, mark, stamp, queue)
    if size == 0 or change >= -1e-12 * (abs(cost[i, a]) + abs(cost[i, b])):
        return False
    for s in range(size):
        x = queue[s]
        _put(x, b if label[x] == a else a, graph, label, near, press)
    return True


@jit
def improve(cost, graph, label, near, press, max_sweeps, longest):
    """Move items, alone or in chains, as long as the cost falls; nothing new conflicts.

    A chain swaps two clusters on all items that exclusions join, at most ``longest`` of them, so
    that nothing new conflicts. Chains do not look at the pull, so ``longest`` is 0 where there is
    any. Return the sweeps.
    """
    q, k = cost.shape
    mark = np.zeros(q, dtype=np.int64)
    queue = np.empty(max(longest, 1), dtype=np.int64)
    stamp = 0
    for sweep in range(max_sweeps):
        moved = 0
        for i in range(q):
            a = label[i]
            best = a
            for b in range(k):
                allowed = near[i, b] == 0 or near[i, b] < near[i, best]
                cheaper = cost[i, b] + press[i, b] < cost[i, best] + press[i, best]
                if allowed and (cheaper or near[i, b] < near[i, best]):
                    best = b
            if best != a:
                _put(i, best, graph, label, near, press)
                moved += 1
            if longest == 0:
                continue
            for b in range(k):
                if near[i, b] > 0 and near[i, label[i]] == 0 and cost[i, b] < cost[i, label[i]]:
                    stamp += 1
                    moved += _swap(i, b, cost, graph, label, near, press, mark, stamp, queue)
        if moved == 0:
            return sweep
    return max_sweeps


@jit
def repair(cost, graph, label, near, press, max_steps, tenure, picks):
    """Move conflicting items until nothing conflicts or the steps are used up (tabu search).

    ``picks`` are random numbers in [0, 1). Return the items that conflict, and the steps.
    """
    q, k = cost.shape
    until = np.zeros((q, k), dtype=np.int64)
    wrong = np.empty(q, dtype=np.int64)
    for step in range(max_steps):
        count = 0
        for i in range(q):
            if near[i, label[i]] > 0:
                wrong[count] = i
                count += 1
        if count == 0:
            return 0, step
        i = wrong[min(int(picks[step % picks.shape[0]] * count), count - 1)]
        a = label[i]
        best = -1
        for b in range(k):
            if b == a or until[i, b] > step:
                continue
            if best < 0 or near[i, b] < near[i, best]:
                best = b
            elif near[i, b] == near[i, best] and cost[i, b] < cost[i, best]:
                best = b
        if best >= 0:
            until[i, a] = step + tenure + count // 2
            _put(i, best, graph, label, near, press)
    count = 0
    for i in range(q):
        count += near[i, label[i]] > 0
    return count, max_steps
