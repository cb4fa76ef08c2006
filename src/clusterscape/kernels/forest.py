"""The growth of a clustering vector: columns are drawn, tried by k-means, and kept if kappa falls.

``grow_two`` and ``grow_many`` are the ways in: one call grows one vector, in buffers that the
caller has made. What the tries of a vector share is kept: the rows that the restarts start from,
and the partition accepted, which is one more start. A start that comes to a partition where an
earlier one has been is stopped: it would end where that one ended.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._forest_room import (
    Growth,
    Room,
    Source,
    State,
    copy,
    distinct,
    draw,
    draw_starts,
    fetch,
    ratio,
    remove,
    shuffle,
)
from clusterscape.kernels._forest_two import Starts, fit_two, keep_products
from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import copy_point, is_constant, new_work, total
from clusterscape.kernels._two_means import BLOCK, REMEMBERED, Halves, Memo, forget, visit
from clusterscape.kernels._two_sums import LANES, STRIDE
from clusterscape.kernels.kmeans import Plan, begin, exchange, lloyd, within

__all__ = [
    "BLOCK",
    "DONE",
    "FULL",
    "LANES",
    "REMEMBERED",
    "STRIDE",
    "UNUSABLE",
    "Growth",
    "Halves",
    "Memo",
    "Room",
    "Source",
    "Starts",
    "State",
    "grow_many",
    "grow_two",
    "ratio",
]

# How the growth stands: done, in need of room for more columns, without a draw that leaves enough
# distinct rows, or on its way.
DONE, FULL, UNUSABLE, GOING = 0, 1, 2, 3
# Draws of one competitor before it gives up.
_REDRAWS = 1000
# kappa must fall by more than rounding, or a vector could grow for ever on columns it has.
_GAIN = 1.0 - 1e-9
_UNKNOWN = -1.0


@jit
def _fingerprint(labels, codes, k):
    """Return a hash of a partition that does not depend on how its clusters are numbered."""
    out = np.int64(0)
    for c in range(k):
        code = np.int64(0)
        for i in range(labels.shape[0]):
            code += codes[i] if labels[i] == c else 0
        code = (code ^ (code >> 29)) * 0x3F4A7C15F39CC061
        out += code ^ (code >> 32)
    return out


@jit
def _descend_many(room, cols, step, max_iter, owner, work):
    """Run Lloyd from ``work.labels``; return the cost, or -1 for a start that was stopped."""
    k = work.mass.shape[0]
    mark = _fingerprint(work.labels, room.codes, k)
    if visit(room.memo, mark, owner) >= 0:
        return -1.0
    cost = 0.0
    if max_iter == 1:
        cost = within(room.X, cols, room.weight, work.labels, False, work, room.within)
    for _ in range(max_iter - 1):
        cost, _ = lloyd(room.X, cols, room.weight, step, 0.0, work)
        fresh = _fingerprint(work.labels, room.codes, k)
        if fresh == mark:
            return cost
        mark = fresh
        first = visit(room.memo, mark, owner)
        if first >= 0:
            return cost if first == owner else -1.0
    forget(room.memo)  # this path was cut short; another start may go farther on it
    return cost


@jit
def _fit_many(room, lo, d, growth, is_uniform):
    """Try the columns with any number of clusters, by Lloyd or by exchange; return kappa."""
    X, weight, k = room.X, room.weight, growth.n_clusters
    cols = np.arange(d)
    work = new_work(X, cols, k)
    # One iteration at a time, to look where it leads.
    step = Plan(k, False, False, False, 1, 2, 0.0)
    forget(room.memo)
    best = np.inf
    for r in range(-1 if lo > 0 else 0, growth.n_init):
        if r < 0:
            copy(room.accepted, work.labels)
            for c in range(k):
                copy_point(X, cols, 0, work.centres, c)
            total(X, cols, weight, work.labels, work.sums, work.mass, work.sizes)
        else:
            copy(room.picks[r], work.picks)
            begin(X, cols, weight, work)
        if growth.hartigan:
            cost, _ = exchange(X, cols, weight, is_uniform, growth.max_iter, work)
        else:
            cost = _descend_many(room, cols, step, growth.max_iter, r + 1, work)
        if 0.0 <= cost < best:
            best = cost
            copy(work.labels, room.labels)
    if best == np.inf:
        return np.inf
    within(X, cols, weight, room.labels, False, work, room.within)
    between = 0.0
    for c in range(k):
        room.mass[c] = work.mass[c]
        for f in range(d):
            between += work.mass[c] * work.sums[c, f] ** 2
    return ratio(room.within, room.mass, between, growth.pairs)


@jit
def _compete(source, room, growth, forced, draws):
    """Put the columns of the next competitor into the buffer.

    Return their number and kappa, as far as the number of distinct rows decides it: too few are
    infinitely bad, and as many as clusters or fewer are clusters already.
    """
    size = source.n_columns
    d = min(growth.per_draw, size) if forced.shape[0] == 0 else forced.shape[0]
    limit = max(growth.min_distinct, growth.n_clusters + 1)
    count = attempts = 0
    while count < growth.min_distinct and attempts < _REDRAWS:
        attempts += 1
        if forced.shape[0] > 0:
            for f in range(d):
                fetch(source, forced[f], room, f)
        else:
            draw(source, room, np.int64(0), size, d, draws)
        count = distinct(room, d, limit)
    if count < growth.min_distinct:
        return d, np.inf
    return d, (0.0 if count <= growth.n_clusters else _UNKNOWN)


@jit
def _next(source, room, growth, state, forced, draws):
    """Put the columns of the next competitor or of the next try into the buffer.

    Return a status (GOING when there are some), the columns before, the columns now, and kappa as
    far as it is known.
    """
    if state.accepted[0] == 0:
        d, value = _compete(source, room, growth, forced, draws)
        return GOING, np.int64(0), d, value
    d, place = state.columns[0], state.place[0]
    over = state.failures[0] >= growth.patience and not growth.exhaustive
    if over or state.kappa[0] <= 0.0 or place >= state.pool[0]:
        return DONE, d, d, np.inf
    count = min(growth.per_draw, state.pool[0] - place)
    if d + count > room.X.shape[0]:
        return FULL, d, d, np.inf
    if growth.exhaustive:
        for j in range(count):
            fetch(source, room.pool[place + j], room, d + j)
        state.place[0] += count
    else:
        draw(source, room, d, state.pool[0], count, draws)
    state.tries[0] += 1
    return GOING, d, d + count, _UNKNOWN


@jit
def _win(room, state, d, kappa):
    """Note the competitor in the buffer as the best so far."""
    state.kappa[0] = kappa
    state.columns[0] = d
    copy(room.columns[:d], room.winner)
    copy(room.labels, room.accepted)
    for r in range(room.picks.shape[0]):
        copy(room.picks[r], room.winner_picks[r])


@jit
def _crown(source, room, growth, state, draws):
    """Begin the growth with the columns and starts of the best competitor."""
    d = state.columns[0]
    for f in range(d):
        fetch(source, room.winner[f], room, f)
    for r in range(room.picks.shape[0]):
        copy(room.winner_picks[r], room.picks[r])
    room.path[0] = state.kappa[0]
    state.accepted[0] = 1
    state.pool[0] = source.n_columns
    if growth.exhaustive or not growth.duplicates:
        state.pool[0] = remove(room.pool, state.pool[0], room.columns, np.int64(0), d)
    if growth.exhaustive:
        shuffle(room.pool, state.pool[0], draws)


@jit
def _settle(source, room, growth, state, d, value, draws):
    """Take or leave what was tried; return a status, and whether columns were taken."""
    if state.accepted[0] == 0:
        state.rounds[0] += 1
        if value < state.kappa[0]:
            _win(room, state, d, value)
        if state.rounds[0] < growth.competitors and state.kappa[0] > 0.0:
            return GOING, False
        if state.kappa[0] == np.inf:
            return UNUSABLE, False
        _crown(source, room, growth, state, draws)
        return GOING, True
    if value >= state.kappa[0] * _GAIN:
        state.failures[0] += 1
        return GOING, False
    lo = state.columns[0]
    state.kappa[0] = value
    state.columns[0] = d
    state.failures[0] = 0
    room.path[state.accepted[0]] = value
    state.accepted[0] += 1
    copy(room.labels, room.accepted)
    if not (growth.duplicates or growth.exhaustive):
        state.pool[0] = remove(room.pool, state.pool[0], room.columns, lo, d)
    return GOING, True


@jit
def grow_two(source, room, starts, growth, state, forced, draws, picks):
    """Grow one vector with two clusters by Lloyd; see :func:`grow_many`."""
    is_uniform = is_constant(room.weight)
    while True:
        status, lo, d, value = _next(source, room, growth, state, forced, draws)
        if status != GOING:
            return status
        if value == _UNKNOWN:
            if lo == 0:
                draw_starts(room, d, is_uniform, picks)
            value = fit_two(room, starts, lo, d, growth)
        status, taken = _settle(source, room, growth, state, d, value, draws)
        if status != GOING:
            return status
        if taken:
            keep_products(room, starts, lo, state.columns[0])


@jit
def grow_many(source, room, growth, state, forced, draws, picks):
    """Grow one vector; return DONE, FULL (call again in a wider room) or UNUSABLE.

    ``forced`` are the first columns, if they are not to be drawn. ``draws`` and ``picks`` are the
    states of two streams: what is drawn does not depend on how the restarts go.
    """
    is_uniform = is_constant(room.weight)
    while True:
        status, lo, d, value = _next(source, room, growth, state, forced, draws)
        if status != GOING:
            return status
        if value == _UNKNOWN:
            if lo == 0:
                draw_starts(room, d, is_uniform, picks)
            value = _fit_many(room, lo, d, growth, is_uniform)
        status, _ = _settle(source, room, growth, state, d, value, draws)
        if status != GOING:
            return status
