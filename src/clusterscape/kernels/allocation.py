"""Search for the median of hard partitions: points allocated one by one, swept, clusters rebuilt.

``labels`` (n, r) have codes 0..k_i-1, all points sampled and in a cluster; ``offsets[i]`` is the
first of partition i's rows in ``table`` (D, K), the weight that each cluster shares with each
group. What a point of weight one adds to the loss beside group g is

    size_gain[g] - 2 * sum_i gain[offsets[i] + labels[x, i], g]

where ``gain`` holds, for every cell of the table, what the cell's term grows by; it is kept beside
the table, so that a point's scores are sums of r contiguous rows. With the variation of information
a term is ``t log t``, with Binder's loss ``t^2 / 2``; ``logs`` is the first one for 0, 1, 2, ...
``rule`` is (kind, weight of the sizes, sum of the partitions' weights).

NVI and ID are no sums over cells, but functions of three sums of ``t log t``: over the groups, over
the clusters of a partition, and over the cells that both share. ``masses`` (D,) are the weights of
the clusters and ``sums`` (r + 1, 2) the sums over cells and over clusters of each partition; the
last line has the sum over groups and the weight of all points that are in a group.
"""

from __future__ import annotations

import math

import numpy as np

from clusterscape.kernels._jit import inlined, jit
from clusterscape.kernels.random import below

# Binder's loss, the variation of information, that over the joint entropy, information distance.
BINDER, VI, NVI, ID = range(4)
_NEAR = 1e-3  # of the loss: an attempt that is farther off is given up


@jit
def _term(rule, logs, count):
    return logs[count] if rule[0] else 0.5 * count * count


@jit
def _shift_sums(logs, data, x, group, amount, state):
    """Follow the three sums, before the tables change."""
    labels, offsets, weights, sizes = data
    table, gain, mass, size_gain, counts, masses, sums = state
    r = labels.shape[1]
    for i in range(r):
        row = offsets[i] + labels[x, i]
        count = table[row, group]
        sums[i, 0] += logs[count + amount] - logs[count]
        whole = masses[row]
        sums[i, 1] += logs[whole + amount] - logs[whole]
        masses[row] = whole + amount
    sums[r, 0] += logs[mass[group] + amount] - logs[mass[group]]
    sums[r, 1] += amount


@jit
def _of_sums(kind, over_cells, over_clusters, over_groups, n):
    """Return NVI or ID; two partitions into one cluster each are equal."""
    if kind == ID:
        return max(max(over_clusters, over_groups) - over_cells, 0.0) / n
    joint = n * math.log(n) - over_cells
    varied = max(over_clusters + over_groups - 2.0 * over_cells, 0.0)
    return varied / joint if joint > 1e-12 * n else 0.0


@jit
def _whole_scores(rule, logs, data, x, own, state, out):
    """Fill the whole loss with a point in each group; ``own`` is its group now, or -1."""
    labels, offsets, weights, sizes = data
    table, gain, mass, size_gain, counts, masses, sums = state
    w, r = sizes[x], labels.shape[1]
    n = sums[r, 1] + (w if own < 0 else 0.0)
    out[:] = 0.0
    for i in range(r):
        row = offsets[i] + labels[x, i]
        cells, clusters = sums[i, 0], sums[i, 1]
        groups = sums[r, 0]
        if own < 0:
            clusters += logs[masses[row] + w] - logs[masses[row]]
        else:
            cells -= logs[table[row, own]] - logs[table[row, own] - w]
            groups -= logs[mass[own]] - logs[mass[own] - w]
        for g in range(out.size):
            less = w if g == own else 0
            count, size = table[row, g] - less, mass[g] - less
            there = cells + logs[count + w] - logs[count]
            grown = groups + logs[size + w] - logs[size]
            out[g] += weights[i] * _of_sums(rule[0], there, clusters, grown, n)


@jit
def _shift(rule, logs, data, x, group, amount, state):
    """Add (or take away) a point's weight in a group's cells, and renew their gains."""
    labels, offsets, weights, sizes = data
    table, gain, mass, size_gain, counts, masses, sums = state
    if rule[0] >= NVI:
        _shift_sums(logs, data, x, group, amount, state)
    for i in range(labels.shape[1]):
        row = offsets[i] + labels[x, i]
        count = table[row, group] + amount
        table[row, group] = count
        if rule[0]:
            gain[row, group] = weights[i] * (logs[count + 1] - logs[count])
        else:
            gain[row, group] = weights[i] * count
    mass[group] += amount
    total = mass[group]
    if rule[0]:
        size_gain[group] = rule[1] * rule[2] * (logs[total + 1] - logs[total])
    else:
        size_gain[group] = rule[1] * rule[2] * total
    counts[group] += 1 if amount > 0 else -1


@inlined
def _scores(rule, logs, data, x, state, out):
    """Fill what a point that is in no group adds to the loss beside each group."""
    labels, offsets, weights, sizes = data
    table, gain, mass, size_gain, counts, masses, sums = state
    w = sizes[x]
    k = out.size
    out[:] = 0.0
    if w == 1 or not rule[0]:
        for i in range(labels.shape[1]):
            row = offsets[i] + labels[x, i]
            for g in range(k):
                out[g] += gain[row, g]
        for g in range(k):
            out[g] = size_gain[g] - 2.0 * out[g]
        return
    for i in range(labels.shape[1]):
        row = offsets[i] + labels[x, i]
        for g in range(k):
            count = table[row, g]
            out[g] += weights[i] * (logs[count + w] - logs[count])
    for g in range(k):
        grown = logs[mass[g] + w] - logs[mass[g]]
        out[g] = rule[1] * rule[2] * grown - 2.0 * out[g]


@inlined
def _own_score(rule, logs, data, x, own, state):
    """Return what a point adds to the loss in the group that it is in."""
    labels, offsets, weights, sizes = data
    table, gain, mass, size_gain, counts, masses, sums = state
    w = sizes[x]
    total = 0.0
    for i in range(labels.shape[1]):
        count = table[offsets[i] + labels[x, i], own]
        if rule[0]:
            total += weights[i] * (logs[count] - logs[count - w])
        else:
            total += weights[i] * (count - w)
    size = mass[own]
    grown = logs[size] - logs[size - w] if rule[0] else float(size - w)
    return rule[1] * rule[2] * grown - 2.0 * total


@inlined
def _least(scores, counts, own, alone, tolerance):
    """Return the group of least score; ``own`` wins ties, and one empty group is tried."""
    best = own
    opened = alone
    low = scores[own] if own >= 0 else np.inf
    for g in range(scores.size):
        if counts[g] == 0 and g != own:
            if opened:
                continue
            opened = True
        if scores[g] < low - tolerance:
            low = scores[g]
            best = g
    return best


@jit
def _place(rule, logs, data, x, groups, state, scores):
    """Put a point that is in no group where the loss is least."""
    if rule[0] >= NVI:
        _whole_scores(rule, logs, data, x, -1, state, scores)
    else:
        _scores(rule, logs, data, x, state, scores)
    best = _least(scores, state[4], -1, False, 1e-9 * rule[2])
    groups[x] = best
    _shift(rule, logs, data, x, best, data[3][x], state)


@jit
def _shuffled(order, state):
    for i in range(order.size - 1, 0, -1):
        j = below(state, i + 1)
        order[i], order[j] = order[j], order[i]


@jit
def _sweeten(rule, logs, data, groups, state, order, random, scores, max_iter):
    """Move single points to where the loss is least until none moves; return the sweeps."""
    sizes, counts = data[3], state[4]
    tolerance = 1e-9 * rule[2]
    for sweep in range(max_iter):
        _shuffled(order, random)
        moved = 0
        for x in order:
            own = groups[x]
            if rule[0] >= NVI:
                _whole_scores(rule, logs, data, x, own, state, scores)
            else:
                _scores(rule, logs, data, x, state, scores)
                scores[own] = _own_score(rule, logs, data, x, own, state)
            best = _least(scores, counts, own, counts[own] == 1, tolerance)
            if best != own:
                _shift(rule, logs, data, x, own, -sizes[x], state)
                _shift(rule, logs, data, x, best, sizes[x], state)
                groups[x] = best
                moved += 1
        if moved == 0:
            return sweep + 1
    return max_iter


@jit
def loss(rule, logs, weights, offsets, state):
    """Return the part of the weighted loss that depends on the grouping, from the tables.

    Of NVI and ID it is the whole loss, from the sums that were followed.
    """
    table, gain, mass, size_gain, counts, masses, sums = state
    total, r = 0.0, weights.size
    if rule[0] >= NVI:
        for i in range(r):
            part = _of_sums(rule[0], sums[i, 0], sums[i, 1], sums[r, 0], sums[r, 1])
            total += weights[i] * part
        return total
    for g in range(mass.size):
        total += rule[1] * rule[2] * _term(rule, logs, mass[g])
    for i in range(weights.size):
        part = 0.0
        for row in range(offsets[i], offsets[i + 1]):
            for g in range(mass.size):
                part += _term(rule, logs, table[row, g])
        total -= 2.0 * weights[i] * part
    return total


@jit
def _clear(state):
    """Empty the tables; the gain of an empty cell is zero, 1 log 1 - 0 as well as 0 * 1."""
    table, gain, mass, size_gain, counts, masses, sums = state
    masses[:] = 0
    sums[:] = 0.0
    table[:] = 0
    mass[:] = 0
    counts[:] = 0
    gain[:] = 0.0
    size_gain[:] = 0.0


@jit
def refill(rule, logs, data, groups, state):
    """Count the tables of a grouping."""
    _clear(state)
    for x in range(groups.size):
        _shift(rule, logs, data, x, groups[x], data[3][x], state)


@jit
def allocate(rule, logs, data, groups, state, random, start, max_iter, zealous):
    """Search once; fill ``groups`` and return (loss, sweeps).

    ``start`` 0 allocates all points in random order; 1 goes on from ``groups``. ``zealous`` is how
    many clusters are destroyed, their points allocated anew and swept, the result kept if better.
    """
    n = groups.size
    order = np.arange(n)
    scores = np.empty(state[2].size)
    if start == 0:
        _clear(state)
        _shuffled(order, random)
        for x in order:
            _place(rule, logs, data, x, groups, state, scores)
    else:
        refill(rule, logs, data, groups, state)
    sweeps = _sweeten(rule, logs, data, groups, state, order, random, scores, max_iter)
    low = loss(rule, logs, data[2], data[1], state)
    kept = groups.copy()
    for _ in range(zealous):
        filled = np.flatnonzero(state[4] > 0)
        gone = filled[below(random, filled.size)]
        members = np.flatnonzero(groups == gone)
        _shuffled(members, random)
        for x in members:
            _shift(rule, logs, data, x, gone, -data[3][x], state)
        for x in members:
            _place(rule, logs, data, x, groups, state, scores)
        # Few attempts succeed, and those that do show it soon.
        sweeps += _sweeten(rule, logs, data, groups, state, order, random, scores, 2)
        now = loss(rule, logs, data[2], data[1], state)
        if now < low + _NEAR * abs(low):
            sweeps += _sweeten(rule, logs, data, groups, state, order, random, scores, max_iter)
            now = loss(rule, logs, data[2], data[1], state)
        if now < low - 1e-9 * abs(low):
            low = now
            kept[:] = groups
        else:
            groups[:] = kept
            refill(rule, logs, data, groups, state)
    return low, sweeps
