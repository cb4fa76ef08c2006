"""k-means for many small dense problems: Lloyd and Hartigan, all restarts in one call.

``fit_many`` is the way in, ``fit_samples`` that for samples of the points; ``refine`` goes on from
a partition. The stages (starts, ``begin``, ``lloyd``, ``exchange``) are callable alone, on the
buffers of ``new_work``. Data are feature-major (see ``_kmeans_parts``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import (
    Work,
    assign,
    copy_point,
    distances,
    is_constant,
    mean_variance,
    new_work,
    place,
    relabel,
    renew,
    reseed,
    resolution,
    start_plus,
    start_random,
    sum_of_product,
    to_means,
    total,
)

__all__ = [
    "Fits",
    "Plan",
    "Work",
    "assign",
    "begin",
    "exchange",
    "fit_many",
    "fit_samples",
    "lloyd",
    "new_work",
    "refine",
    "start_plus",
    "start_random",
    "within",
]

# Points priced together by the exchange: many where few move, few where many move, because a
# move costs a new look at the rest of its chunk.
_CHUNK = 64
_BUSY = 16
# An exchange must gain more than rounding does, or it could cycle.
_GAIN = 1.0 - 1e-12


class Plan(NamedTuple):
    """What to do with one problem; the same for all problems of a batch."""

    n_clusters: int
    plus: bool  # k-means++ starts, otherwise distinct random rows
    hartigan: bool  # single-point exchange, otherwise Lloyd
    spherical: bool  # rows have unit length and centres are directions (Lloyd only)
    n_init: int
    max_iter: int
    tol: float  # Lloyd stops when the squared shift of the centres is below tol * mean variance


class Fits(NamedTuple):
    """The best restart of each of m problems."""

    labels: np.ndarray  # (m, n) int32
    inertia: np.ndarray  # (m,) weighted SSE, or sum of w * (1 - cos) when spherical
    n_iter: np.ndarray  # (m,) iterations of that restart
    mass: np.ndarray  # (m, k) weight of each cluster; 0 when it stayed empty
    within: np.ndarray  # (m, k) each cluster's part of the inertia


@jit
def begin(XT, cols, weight, work):
    """Make the first partition: every point to the nearest row picked, no cluster empty."""
    labels, best, centres = work.labels, work.best, work.centres
    sums, mass, sizes = work.sums, work.mass, work.sizes
    for c in range(work.picks.shape[0]):
        copy_point(XT, cols, work.picks[c], centres, c)
    assign(XT, cols, centres, labels, best, work.buffer)
    total(XT, cols, weight, labels, sums, mass, sizes)
    reseed(XT, cols, weight, labels, best, sums, mass, sizes, centres, work.trial[0])


@jit
def lloyd(XT, cols, weight, spherical, max_iter, limit, work):
    """Run Lloyd's iteration on ``work.labels``; return the inertia and the iterations.

    An empty cluster starts anew at the farthest point, as long as one is away from its centre.
    """
    centres, labels, fresh, best = work.centres, work.labels, work.fresh, work.best
    sums, mass, sizes, exact = work.sums, work.mass, work.sizes, work.exact
    near = work.trial[0]
    n_iter = 1
    settled = False
    while n_iter < max_iter and not settled:
        shift = place(sums, mass, sizes, spherical, centres)
        # The labels are always those of the last centres, so one more assignment follows.
        settled = shift <= limit
        n_iter += 1
        assign(XT, cols, centres, fresh, best, work.buffer)
        moved = relabel(XT, cols, weight, fresh, labels, sums, mass, sizes)
        moved += reseed(XT, cols, weight, labels, best, sums, mass, sizes, centres, near)
        if moved == 0:
            inertia = sum_of_product(best, weight)
            drifted = renew(XT, cols, weight, inertia, labels, sums, exact, mass, sizes)
            settled = not drifted
    inertia = sum_of_product(best, weight)
    return (inertia / 2 if spherical else inertia), n_iter


@jit
def _costs(block, floor, weight, labels, lo, first, hi, is_uniform, mass, sizes, stay, go):
    """Price the moves of a chunk's points, from its ``first`` on; it is the points lo..hi-1.

    ``stay`` is what a point gains by leaving and ``go`` its cheapest entry elsewhere, both
    without the factor ``w`` that they share. A cluster's last point never leaves, and leaving
    a centre that is only ``floor`` away gains nothing.
    """
    span = range(np.uint64(first), np.uint64(hi - lo))
    base = np.uint64(lo)
    for i in span:
        stay[i] = 0.0
        go[i] = np.inf
    for c in range(mass.shape[0]):
        near = block[c]
        if is_uniform:
            enter = mass[c] / (mass[c] + weight[0])
            leave = mass[c] / (mass[c] - weight[0]) if sizes[c] > 1 else 0.0
            for i in span:
                own = labels[base + i] == c
                stay[i] = near[i] * leave - floor[c] if own else stay[i]
                go[i] = min(go[i], np.inf if own else near[i] * enter)
        else:
            for i in span:
                w = weight[base + i]
                if labels[base + i] != c:
                    go[i] = min(go[i], near[i] * (mass[c] / (mass[c] + w)))
                elif sizes[c] > 1 and mass[c] > w:
                    stay[i] = near[i] * (mass[c] / (mass[c] - w)) - floor[c]


@jit
def _cheapest(block, i, w, own, mass):
    """Return the cluster that point ``i`` of a chunk enters at least cost (the first of equals)."""
    lowest, where = np.inf, own
    for c in range(mass.shape[0]):
        if c != own:
            cost = block[c, i] * (mass[c] / (mass[c] + w))
            if cost < lowest:
                lowest, where = cost, c
    return where


@jit
def _move(XT, cols, w, i, a, b, means, mass, sizes):
    """Move point ``i`` from ``a`` to ``b`` and bring both means up to date."""
    out, into = w / (mass[a] - w), w / (mass[b] + w)
    for f in range(cols.shape[0]):
        x = XT[cols[f], i]
        means[a, f] -= (x - means[a, f]) * out
        means[b, f] += (x - means[b, f]) * into
    mass[a] = max(mass[a] - w, 0.0)
    mass[b] += w
    sizes[a] -= 1
    sizes[b] += 1


@jit
def _exchange_pass(XT, cols, weight, is_uniform, labels, means, mass, sizes, prices):
    """Visit the points in order and make every move that pays; return their number.

    The second value is the inertia, if nothing moved. Points are priced a chunk at a time. After
    a move only the two clusters that changed are measured and the rest of the chunk is priced
    again, which is the same as looking at one point after another.
    """
    n = labels.shape[0]
    block, floor, stay, go = prices
    for c in range(mass.shape[0]):
        floor[c] = resolution(means, c)
    moved = 0
    inertia = 0.0
    lo = 0
    size = _CHUNK
    while lo < n:
        hi = min(lo + size, n)
        size = _CHUNK
        for c in range(mass.shape[0]):
            distances(XT, cols, means, c, lo, hi, block[c], 0)
        i = 0
        while lo + i < hi:
            _costs(block, floor, weight, labels, lo, i, hi, is_uniform, mass, sizes, stay, go)
            while lo + i < hi and go[i] >= stay[i] * _GAIN:
                i += 1
            if lo + i < hi:
                a = np.int64(labels[lo + i])
                b = _cheapest(block, i, weight[lo + i], a, mass)
                _move(XT, cols, weight[lo + i], lo + i, a, b, means, mass, sizes)
                labels[lo + i] = b
                moved += 1
                i += 1
                distances(XT, cols, means, a, lo + i, hi, block[a], i)
                distances(XT, cols, means, b, lo + i, hi, block[b], i)
                size = _BUSY
        if moved == 0:
            for i in range(lo, hi):
                inertia += weight[i] * block[labels[i], i - lo]
        lo = hi
    return moved, inertia


@jit
def exchange(XT, cols, weight, is_uniform, max_iter, work):
    """Hartigan's single-point exchange on ``work.labels``; return the inertia and the passes.

    Points are visited in index order until a full pass moves none. No cluster is emptied.
    ``work.sums``, ``work.mass`` and ``work.sizes`` must be those of the labels.
    """
    labels, sums, mass, sizes = work.labels, work.sums, work.mass, work.sizes
    k = mass.shape[0]
    prices = (np.zeros((k, _CHUNK)), np.zeros(k), np.zeros(_CHUNK), np.zeros(_CHUNK))
    to_means(sums, mass)
    inertia = 0.0
    n_iter = 0
    moved = 1
    while moved > 0 and n_iter < max_iter:
        n_iter += 1
        moved, inertia = _exchange_pass(
            XT, cols, weight, is_uniform, labels, sums, mass, sizes, prices
        )
        if moved == 0:
            for c in range(k):
                for f in range(cols.shape[0]):
                    sums[c, f] *= mass[c]
            # When the means had drifted, look again with the exact ones.
            drifted = renew(XT, cols, weight, inertia, labels, sums, work.exact, mass, sizes)
            moved = 1 if drifted else 0
            to_means(sums, mass)
    if moved > 0:
        inertia = within(XT, cols, weight, labels, False, sums, mass, sizes, prices[1])
    return inertia, n_iter


@jit
def within(XT, cols, weight, labels, spherical, sums, mass, sizes, out):
    """Set each cluster's part of the inertia, from nothing but the labels; return the sum.

    The sums are left divided by the masses, unless the clusters are spherical.
    """
    total(XT, cols, weight, labels, sums, mass, sizes)
    if spherical:
        for c in range(out.shape[0]):
            out[c] = mass[c] - np.sqrt(sum_of_product(sums[c], sums[c]))
    else:
        to_means(sums, mass)
        for c in range(out.shape[0]):
            out[c] = 0.0
        for f in range(cols.shape[0]):
            for i in range(labels.shape[0]):
                apart = XT[cols[f], i] - sums[labels[i], f]
                out[labels[i]] += weight[i] * (apart * apart)
    inertia = 0.0
    for c in range(out.shape[0]):
        inertia += out[c]
    return inertia


def refine(XT, cols, weight, labels, plan):
    """Go on from a partition, in place, by Lloyd or exchange; return the inertia and iterations."""
    settings = plan.n_clusters, plan.spherical, plan.max_iter, plan.tol
    switches = _switch(plan), is_constant(weight)
    return _refine(XT, cols, weight, labels, *settings, *switches)


@jit
def _refine(XT, cols, weight, labels, k, spherical, max_iter, tol, exchanging, is_uniform):
    work = new_work(XT, cols, k)
    for c in range(k):
        copy_point(XT, cols, 0, work.centres, c)
    for i in range(labels.shape[0]):
        work.labels[i] = labels[i]
    total(XT, cols, weight, work.labels, work.sums, work.mass, work.sizes)
    if exchanging is None:
        limit = tol * mean_variance(XT, cols, weight) if tol > 0 else 0.0
        inertia, n_iter = lloyd(XT, cols, weight, spherical, max_iter, limit, work)
    else:
        inertia, n_iter = exchange(XT, cols, weight, is_uniform, max_iter, work)
    for i in range(labels.shape[0]):
        labels[i] = work.labels[i]
    return inertia, n_iter


def _switch(plan):
    """Return None for Lloyd: a branch on None is decided, and left out, when compiling.

    Most programs need one of the two algorithms, and compiling either takes seconds.
    """
    return True if plan.hartigan else None


@jit
def _restarts(
    XT, cols, weight, is_uniform, plus, spherical, n_init, max_iter, limit, exchanging, state,
    work, labels,
):  # fmt: skip
    """Set ``labels`` to the best of the restarts (the first of equals); return cost, iterations."""
    lowest, iterations = np.inf, 0
    for restart in range(n_init):
        if plus:
            start_plus(XT, cols, weight, work, state)
        else:
            start_random(weight, is_uniform, work.picks, work.cumulated, work.fresh, state)
        begin(XT, cols, weight, work)
        if exchanging is None:
            cost, n_iter = lloyd(XT, cols, weight, spherical, max_iter, limit, work)
        else:
            cost, n_iter = exchange(XT, cols, weight, is_uniform, max_iter, work)
        if restart == 0 or cost < lowest:
            lowest, iterations = cost, n_iter
            for i in range(weight.shape[0]):
                labels[i] = work.labels[i]
    return lowest, iterations


def fit_many(XT, columns, indptr, weight, plan, seeds):
    """Fit one problem per seed: problem ``p`` uses the rows ``columns[indptr[p]:indptr[p + 1]]``.

    A column named twice counts twice. Of equal restarts the first is kept. The result of a
    problem depends on its own seed alone.
    """
    m, n, k = len(seeds), XT.shape[1], plan.n_clusters
    fits = Fits(
        np.empty((m, n), np.int32), np.empty(m), np.empty(m, np.int64), np.empty((m, k)),
        np.empty((m, k)),
    )  # fmt: skip
    # One by one: numba takes longer to look at a tuple than many a small problem to be solved.
    settings = k, plan.plus, plan.spherical, plan.n_init, plan.max_iter, plan.tol
    problem = XT, columns, indptr, weight, is_constant(weight)
    _fit_many(*problem, *settings, seeds, np.empty(1, np.uint64), _switch(plan), *fits)
    return fits


@jit
def _fit_many(
    XT, columns, indptr, weight, is_uniform, k, plus, spherical, n_init, max_iter, tol, seeds,
    state, exchanging, labels, inertia, iterations, mass, inner,
):  # fmt: skip
    for p in range(seeds.shape[0]):
        cols = columns[indptr[p] : indptr[p + 1]]
        work = new_work(XT, cols, k)
        limit = tol * mean_variance(XT, cols, weight) if tol > 0 else 0.0
        state[0] = seeds[p]
        inertia[p], iterations[p] = _restarts(
            XT, cols, weight, is_uniform, plus, spherical, n_init, max_iter, limit, exchanging,
            state, work, labels[p],
        )  # fmt: skip
        inertia[p] = within(
            XT, cols, weight, labels[p], spherical, work.sums, work.mass, work.sizes, inner[p]
        )
        for c in range(k):
            mass[p, c] = work.mass[c]


def fit_samples(XT, samples, counts, plan, seeds, out):
    """Fit every sample with every number of clusters of ``counts``, by the rest of the plan.

    ``samples`` (m, size) are points, ``seeds`` (m, counts) and ``out`` (counts, m, n) labels, of
    which those of the sample are written. A fit depends on its own sample and seed alone. Weights
    are equal.
    """
    settings = plan.plus, plan.spherical, plan.n_init, plan.max_iter, plan.tol
    _fit_samples(XT, samples, counts, *settings, seeds, out, _switch(plan))


@jit
def _fit_samples(
    XT, samples, counts, plus, spherical, n_init, max_iter, tol, seeds, out, exchanging
):
    d, size = XT.shape[0], samples.shape[1]
    cols = np.arange(d)
    weight = np.ones(size, np.float64)
    part = np.empty((d, size), XT.dtype)
    labels = np.empty(size, np.int32)
    state = np.empty(1, np.uint64)
    for s in range(samples.shape[0]):
        for f in range(d):
            for i in range(size):
                part[f, i] = XT[f, samples[s, i]]
        limit = tol * mean_variance(part, cols, weight) if tol > 0 else 0.0
        for j in range(counts.shape[0]):
            work = new_work(part, cols, counts[j])
            state[0] = seeds[s, j]
            _restarts(
                part, cols, weight, True, plus, spherical, n_init, max_iter, limit, exchanging,
                state, work, labels,
            )  # fmt: skip
            for i in range(size):
                out[j, s, samples[s, i]] = labels[i]


@jit
def potentials(products, squares, picked, best, weight, costs):
    """Set ``costs[t]`` to the cost if row t of the candidates became a centre.

    ``products`` is X @ candidates.T and ``squares`` are the squared norms of the rows, so that one
    pass does what distances, minima and sums would do in four.
    """
    n, trials = products.shape
    for t in range(trials):
        costs[t] = 0.0
    for i in range(n):
        for t in range(trials):
            near = max(squares[i] - 2.0 * products[i, t] + picked[t], 0.0)
            costs[t] += weight[i] * min(near, best[i])


@jit
def approach(products, t, squares, picked, best, weight, cumulated):
    """Lower ``best`` by candidate t, and cumulate the weights of the next draw."""
    total = 0.0
    for i in range(products.shape[0]):
        near = max(squares[i] - 2.0 * products[i, t] + picked[t], 0.0)
        if near < best[i]:
            best[i] = near
        total += weight[i] * best[i]
        cumulated[i] = total
