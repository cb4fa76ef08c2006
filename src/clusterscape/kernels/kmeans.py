"""k-means for many small dense problems: all restarts of a problem in one call.

Data come feature-major, ``XT`` of shape (D, n), and a problem is a list of its rows (``cols``), so
a subset of columns needs no copy and the inner loops run over points, where they vectorise.
Weights are present and positive. Distances are computed in the type of ``XT``, sums in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.random import below, sample_without_replacement, uniform

# Points whose distances are held together: small enough for the first cache.
_BLOCK = 256
# Points priced together by the exchange: many where few move, few where many move, because a
# move costs a new look at the rest of its chunk.
_CHUNK = 64
_BUSY = 16
# An exchange must gain more than rounding does, or it could go round in circles.
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


class Work(NamedTuple):
    """The buffers of one problem, allocated once for all its restarts."""

    centres: np.ndarray  # (k, d) in the type of the data
    sums: np.ndarray  # (k, d)
    exact: np.ndarray  # (k, d)
    mass: np.ndarray  # (k,)
    count: np.ndarray  # (k,)
    labels: np.ndarray  # (n,)
    fresh: np.ndarray  # (n,) labels of the next iteration
    best: np.ndarray  # (n,) squared distance to the nearest centre
    buffer: np.ndarray  # distances of one block of points
    trial: np.ndarray  # (candidates, n) distances of the candidates of k-means++
    cumulated: np.ndarray  # (n,)
    picks: np.ndarray  # (k,) rows that the start took


@jit
def new_work(XT, d, k):
    """Return the buffers of a problem with ``d`` columns and ``k`` clusters."""
    n = XT.shape[1]
    candidates = 2 + int(np.log(k))
    return Work(
        np.empty((k, d), XT.dtype),
        np.empty((k, d)),
        np.empty((k, d)),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, XT.dtype),
        np.empty(_BLOCK, XT.dtype),
        np.empty((candidates, n), XT.dtype),
        np.empty(n),
        np.empty(k, np.int64),
    )


@jit
def distances(XT, cols, centres, c, lo, hi, out, at):
    """Set ``out[at:]`` to the squared distances of the points lo..hi-1 and centre ``c``."""
    d = cols.shape[0]
    # Unsigned indices: numba then leaves out its test for negative ones, and the loop vectorises.
    start = np.uint64(lo)
    at = np.uint64(at)
    m = np.uint64(hi - lo)
    if d % 2 == 1:
        f = cols[0]
        y = centres[c, 0]
        for i in range(m):
            u = XT[f, start + i] - y
            out[at + i] = u * u
    else:
        for i in range(m):
            out[at + i] = 0
    for s in range(d % 2, d, 2):
        f, g = cols[s], cols[s + 1]
        y, z = centres[c, s], centres[c, s + 1]
        for i in range(m):
            u = XT[f, start + i] - y
            v = XT[g, start + i] - z
            out[at + i] += u * u + v * v


@jit
def assign(XT, cols, centres, labels, best, buffer):
    """Give every point its nearest centre (the first of equals) and the squared distance."""
    n = XT.shape[1]
    for lo in range(0, n, buffer.shape[0]):
        hi = min(lo + buffer.shape[0], n)
        near = best[lo:hi]
        label = labels[lo:hi]
        distances(XT, cols, centres, 0, lo, hi, near, 0)
        for i in range(hi - lo):
            label[i] = 0
        for c in range(1, centres.shape[0]):
            distances(XT, cols, centres, c, lo, hi, buffer, 0)
            for i in range(hi - lo):
                closer = buffer[i] < near[i]
                near[i] = buffer[i] if closer else near[i]
                label[i] = c if closer else label[i]


@jit
def _sum_of_product(a, b):
    """Return the dot product, by four sums so that additions need not wait for each other."""
    n = a.shape[0]
    s0 = s1 = s2 = s3 = 0.0
    for i in range(0, n - 3, 4):
        s0 += a[i] * b[i]
        s1 += a[i + 1] * b[i + 1]
        s2 += a[i + 2] * b[i + 2]
        s3 += a[i + 3] * b[i + 3]
    for i in range(n - n % 4, n):
        s0 += a[i] * b[i]
    return (s0 + s1) + (s2 + s3)


@jit
def _draw(cumulated, state):
    """Draw an index with the probabilities whose running sums are ``cumulated``."""
    target = uniform(state) * cumulated[-1]
    low, high = 0, cumulated.shape[0] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@jit
def start_random(weight, is_uniform, work, state):
    """Pick distinct rows, each draw in proportion to the weights of the rows that are left."""
    n = weight.shape[0]
    k = work.picks.shape[0]
    if is_uniform:
        sample_without_replacement(state, n, k, work.picks)
        return
    for c in range(k):
        total = 0.0
        for i in range(n):
            free = True
            for s in range(c):
                free = free and work.picks[s] != i
            total += weight[i] if free else 0.0
            work.cumulated[i] = total
        work.picks[c] = _draw(work.cumulated, state)


@jit
def start_plus(XT, cols, weight, work, state):
    """Pick rows by greedy k-means++: of a few candidates, the one that lowers the cost most."""
    n = weight.shape[0]
    total = 0.0
    for i in range(n):
        total += weight[i]
        work.cumulated[i] = total
    work.picks[0] = _draw(work.cumulated, state)
    _copy_point(XT, cols, work.picks[0], work.centres, 0)
    distances(XT, cols, work.centres, 0, 0, n, work.best, 0)
    for c in range(1, work.picks.shape[0]):
        total = 0.0
        for i in range(n):
            total += weight[i] * work.best[i]
            work.cumulated[i] = total
        if total <= 0.0:
            # Every point lies on a centre already: the clusters that are left stay empty.
            work.picks[c] = work.picks[0]
            continue
        lowest, winner = np.inf, 0
        for t in range(work.trial.shape[0]):
            pick = _draw(work.cumulated, state)
            near = work.trial[t]
            _copy_point(XT, cols, pick, work.centres, c)
            distances(XT, cols, work.centres, c, 0, n, near, 0)
            for i in range(n):
                near[i] = min(near[i], work.best[i])
            cost = _sum_of_product(near, weight)
            if t == 0 or cost < lowest:
                lowest, winner = cost, t
                work.picks[c] = pick
        for i in range(n):
            work.best[i] = work.trial[winner, i]


@jit
def _copy_point(XT, cols, i, centres, c):
    for f in range(cols.shape[0]):
        centres[c, f] = XT[cols[f], i]


@jit
def _total(XT, cols, weight, labels, sums, mass, count):
    """Add up every cluster from nothing: exact, where running sums have drifted."""
    sums[:] = 0.0
    mass[:] = 0.0
    count[:] = 0
    for i in range(labels.shape[0]):
        mass[labels[i]] += weight[i]
        count[labels[i]] += 1
    d = cols.shape[0]
    if d % 2 == 1:
        row = XT[cols[0]]
        for i in range(labels.shape[0]):
            sums[labels[i], 0] += weight[i] * row[i]
    for f in range(d % 2, d, 2):
        row = XT[cols[f]]
        row2 = XT[cols[f + 1]]
        for i in range(labels.shape[0]):
            sums[labels[i], f] += weight[i] * row[i]
            sums[labels[i], f + 1] += weight[i] * row2[i]


@jit
def _carry(XT, cols, w, i, a, b, sums, mass, count):
    """Carry point ``i`` from cluster ``a`` to ``b`` in the running sums."""
    for f in range(cols.shape[0]):
        x = w * XT[cols[f], i]
        sums[a, f] -= x
        sums[b, f] += x
    mass[a] -= w
    mass[b] += w
    count[a] -= 1
    count[b] += 1
    if count[a] == 0:
        mass[a] = 0.0
        for f in range(cols.shape[0]):
            sums[a, f] = 0.0


@jit
def _relabel(XT, cols, weight, fresh, labels, sums, mass, count):
    """Replace the labels by the fresh ones and carry what changed; return how many did."""
    moved = 0
    for i in range(labels.shape[0]):
        if fresh[i] != labels[i]:
            _carry(XT, cols, weight[i], i, np.int64(labels[i]), np.int64(fresh[i]), sums, mass, count)
            labels[i] = fresh[i]
            moved += 1
    return moved


@jit
def _reseed(XT, cols, weight, labels, best, sums, mass, count):
    """Start each empty cluster anew at the point farthest from its centre; return how many."""
    made = 0
    for c in range(count.shape[0]):
        if count[c] > 0:
            continue
        far, where = 0.0, -1
        for i in range(best.shape[0]):
            if best[i] > far and count[labels[i]] > 1:
                far, where = best[i], i
        if where < 0:
            return made  # fewer distinct points than clusters
        _carry(XT, cols, weight[where], where, np.int64(labels[where]), c, sums, mass, count)
        labels[where] = c
        best[where] = 0
        made += 1
    return made


@jit
def _place(sums, mass, count, spherical, centres):
    """Put the centres where the sums say; return their squared shift."""
    shift = 0.0
    for c in range(centres.shape[0]):
        if count[c] == 0:
            continue
        scale = mass[c]
        if spherical:
            scale = np.sqrt(_sum_of_product(sums[c], sums[c]))
            if scale == 0.0:
                continue  # the rows cancel: there is no direction, the old one stays
        for f in range(centres.shape[1]):
            old = centres[c, f]
            centres[c, f] = sums[c, f] / scale
            shift += (centres[c, f] - old) ** 2
    return shift


@jit
def _renew(XT, cols, weight, inertia, work):
    """Replace the running sums by exact ones; say whether they had drifted too far to trust."""
    sums, exact = work.sums, work.exact
    _total(XT, cols, weight, work.labels, exact, work.mass, work.count)
    error = 0.0
    for c in range(sums.shape[0]):
        for f in range(sums.shape[1]):
            if work.count[c] > 0:
                error += (sums[c, f] - exact[c, f]) ** 2 / work.mass[c]
            sums[c, f] = exact[c, f]
    return error > 1e-12 * inertia


@jit
def begin(XT, cols, weight, work):
    """Make the first partition: every point to the nearest row picked, no cluster empty."""
    for c in range(work.picks.shape[0]):
        _copy_point(XT, cols, work.picks[c], work.centres, c)
    labels, best = work.labels, work.best
    sums, mass, count = work.sums, work.mass, work.count
    assign(XT, cols, work.centres, labels, best, work.buffer)
    _total(XT, cols, weight, labels, sums, mass, count)
    _reseed(XT, cols, weight, labels, best, sums, mass, count)


@jit
def lloyd(XT, cols, weight, plan, limit, work):
    """Run Lloyd's iteration on ``work.labels``; return the inertia and the iterations.

    An empty cluster starts anew at the farthest point, as long as one is away from its centre.
    """
    centres, labels, fresh, best = work.centres, work.labels, work.fresh, work.best
    sums, mass, count = work.sums, work.mass, work.count
    n_iter = 1
    settled = False
    while n_iter < plan.max_iter and not settled:
        shift = _place(sums, mass, count, plan.spherical, centres)
        # The labels are always those of the last centres, so one more assignment follows.
        settled = shift <= limit
        n_iter += 1
        assign(XT, cols, centres, fresh, best, work.buffer)
        moved = _relabel(XT, cols, weight, fresh, labels, sums, mass, count)
        moved += _reseed(XT, cols, weight, labels, best, sums, mass, count)
        if moved == 0:
            settled = not _renew(XT, cols, weight, _sum_of_product(best, weight), work)
    inertia = _sum_of_product(best, weight)
    return (inertia / 2 if plan.spherical else inertia), n_iter


@jit
def _costs(block, weight, labels, lo, first, hi, is_uniform, mass, count, stay, go):
    """Price the moves of a chunk's points, from its ``first`` on; it is the points lo..hi-1.

    ``stay`` is what a point gains by leaving and ``go`` its cheapest entry elsewhere, both
    without the factor ``w`` that they share. A cluster's last point never leaves.
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
            leave = mass[c] / (mass[c] - weight[0]) if count[c] > 1 else 0.0
            for i in span:
                own = labels[base + i] == c
                stay[i] = near[i] * leave if own else stay[i]
                go[i] = min(go[i], np.inf if own else near[i] * enter)
        else:
            for i in span:
                w = weight[base + i]
                if labels[base + i] != c:
                    go[i] = min(go[i], near[i] * (mass[c] / (mass[c] + w)))
                elif count[c] > 1 and mass[c] > w:
                    stay[i] = near[i] * (mass[c] / (mass[c] - w))


@jit
def _cheapest(block, i, w, own, mass):
    """Return the cluster that point ``i`` of the chunk enters at least cost (the first of equals)."""
    lowest, where = np.inf, own
    for c in range(mass.shape[0]):
        if c != own:
            cost = block[c, i] * (mass[c] / (mass[c] + w))
            if cost < lowest:
                lowest, where = cost, c
    return where


@jit
def _move(XT, cols, w, i, a, b, means, mass, count):
    """Move point ``i`` from ``a`` to ``b`` and bring both means up to date."""
    out, into = w / (mass[a] - w), w / (mass[b] + w)
    for f in range(cols.shape[0]):
        x = XT[cols[f], i]
        means[a, f] -= (x - means[a, f]) * out
        means[b, f] += (x - means[b, f]) * into
    mass[a] -= w
    mass[b] += w
    count[a] -= 1
    count[b] += 1


@jit
def _exchange_pass(XT, cols, weight, is_uniform, labels, means, mass, count, prices):
    """Visit the points in order and make every move that pays; return their number.

    The second value is the inertia, if nothing moved.

    Points are priced a chunk at a time. After a move only the two clusters that changed and the
    rest of the chunk are priced again, which is the same as looking at one point after another.
    """
    n = labels.shape[0]
    block, stay, go = prices
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
            _costs(block, weight, labels, lo, i, hi, is_uniform, mass, count, stay, go)
            while lo + i < hi and go[i] >= stay[i] * _GAIN:
                i += 1
            if lo + i < hi:
                a = np.int64(labels[lo + i])
                b = _cheapest(block, i, weight[lo + i], a, mass)
                _move(XT, cols, weight[lo + i], lo + i, a, b, means, mass, count)
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
def _to_means(sums, mass):
    for c in range(sums.shape[0]):
        if mass[c] > 0.0:
            for f in range(sums.shape[1]):
                sums[c, f] /= mass[c]


@jit
def exchange(XT, cols, weight, is_uniform, max_iter, work):
    """Hartigan's single-point exchange on ``work.labels``; return the inertia and the passes.

    Points are visited in index order until a full pass moves none. No cluster is emptied.
    """
    labels = work.labels
    prices = (
        np.zeros((work.mass.shape[0], _CHUNK)),
        np.zeros(_CHUNK),
        np.zeros(_CHUNK),
    )
    _to_means(work.sums, work.mass)
    inertia = 0.0
    n_iter = 0
    moved = 1
    while moved > 0 and n_iter < max_iter:
        n_iter += 1
        moved, inertia = _exchange_pass(
            XT, cols, weight, is_uniform, labels, work.sums, work.mass, work.count, prices
        )
        if moved == 0:
            for c in range(work.mass.shape[0]):
                for f in range(cols.shape[0]):
                    work.sums[c, f] *= work.mass[c]
            # When the means had drifted, look again with the exact ones.
            moved = 1 if _renew(XT, cols, weight, inertia, work) else 0
            _to_means(work.sums, work.mass)
    if moved > 0:
        inertia = within(XT, cols, weight, labels, False, work, np.empty(work.mass.shape[0]))
    return inertia, n_iter


@jit
def within(XT, cols, weight, labels, spherical, work, out):
    """Set each cluster's part of the inertia, from nothing but the labels; return the sum."""
    sums, mass = work.sums, work.mass
    _total(XT, cols, weight, labels, sums, mass, work.count)
    if spherical:
        for c in range(out.shape[0]):
            out[c] = mass[c] - np.sqrt(_sum_of_product(sums[c], sums[c]))
    else:
        _to_means(sums, mass)
        out[:] = 0.0
        for f in range(cols.shape[0]):
            row = XT[cols[f]]
            for i in range(labels.shape[0]):
                out[labels[i]] += weight[i] * (row[i] - sums[labels[i], f]) ** 2
    total = 0.0
    for c in range(out.shape[0]):
        total += out[c]
    return total


@jit
def _mean_variance(XT, cols, weight):
    total = 0.0
    for i in range(weight.shape[0]):
        total += weight[i]
    out = 0.0
    for f in range(cols.shape[0]):
        row = XT[cols[f]]
        mean = _sum_of_product(row, weight) / total
        for i in range(weight.shape[0]):
            out += weight[i] * (row[i] - mean) ** 2
    return out / (total * max(cols.shape[0], 1))


@jit
def is_constant(values):
    """Say whether all values are equal."""
    for i in range(values.shape[0]):
        if values[i] != values[0]:
            return False
    return True


@jit
def fit_many(XT, columns, indptr, weight, plan, seeds):
    """Fit one problem per seed: problem ``p`` uses the rows ``columns[indptr[p]:indptr[p + 1]]``.

    A column named twice counts twice. Of equal restarts the first is kept. The result of a
    problem depends on its own seed alone.
    """
    m, k = seeds.shape[0], plan.n_clusters
    fits = Fits(
        np.empty((m, XT.shape[1]), np.int32),
        np.empty(m),
        np.empty(m, np.int64),
        np.empty((m, k)),
        np.empty((m, k)),
    )
    is_uniform = is_constant(weight)
    state = np.empty(1, np.uint64)
    for p in range(m):
        cols = columns[indptr[p] : indptr[p + 1]]
        work = new_work(XT, cols.shape[0], k)
        limit = plan.tol * _mean_variance(XT, cols, weight) if plan.tol > 0 else 0.0
        state[0] = seeds[p]
        for restart in range(plan.n_init):
            if plan.plus:
                start_plus(XT, cols, weight, work, state)
            else:
                start_random(weight, is_uniform, work, state)
            begin(XT, cols, weight, work)
            if plan.hartigan:
                cost, n_iter = exchange(XT, cols, weight, is_uniform, plan.max_iter, work)
            else:
                cost, n_iter = lloyd(XT, cols, weight, plan, limit, work)
            if restart == 0 or cost < fits.inertia[p]:
                fits.inertia[p] = cost
                fits.n_iter[p] = n_iter
                for i in range(weight.shape[0]):
                    fits.labels[p, i] = work.labels[i]
        fits.inertia[p] = within(
            XT, cols, weight, fits.labels[p], plan.spherical, work, fits.within[p]
        )
        for c in range(k):
            fits.mass[p, c] = work.mass[c]
    return fits
