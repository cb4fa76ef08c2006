"""Spherical (cosine) k-means on CSR rows of unit length, which are never made dense.

The table of cluster sums is dense, (d, k): the k entries of a column lie side by side, so that
one stored value of a row meets all clusters in one vectorised loop.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import draw, is_constant, start_random


class Rows(NamedTuple):
    """CSR rows of unit length."""

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    n_columns: int


class Tables(NamedTuple):
    """The buffers of all restarts."""

    sums: np.ndarray  # (d, k) in the type of the data
    norm: np.ndarray  # (k,) length of each cluster's sum
    sizes: np.ndarray  # (k,)
    labels: np.ndarray  # (n,)
    best: np.ndarray  # (n,) cosine with the own centre
    picks: np.ndarray  # (k,)
    cumulated: np.ndarray  # (n,)


@jit
def _scores(rows, i, table, out):
    """Set ``out`` to the products of row ``i`` with the columns of ``table``."""
    out[:] = 0
    for t in range(rows.indptr[i], rows.indptr[i + 1]):
        value = rows.data[t]
        column = table[rows.indices[t]]
        for c in range(out.shape[0]):
            out[c] += value * column[c]


@jit
def _add(rows, i, w, table, c):
    for t in range(rows.indptr[i], rows.indptr[i + 1]):
        table[rows.indices[t], c] += w * rows.data[t]


@jit
def start_plus(rows, weight, tiny, tables, state):
    """Pick rows by greedy k-means++ with the distance 1 - cosine."""
    n = weight.shape[0]
    picks, cumulated = tables.picks, tables.cumulated
    candidates = 2 + int(np.log(picks.shape[0]))
    table = np.zeros((rows.n_columns, candidates), rows.data.dtype)
    tried = np.empty(candidates, np.int64)
    costs = np.empty(candidates)
    score = np.empty(candidates, rows.data.dtype)
    trial = np.empty((n, candidates))
    best = np.full(n, 4.0)  # farther than any row can be, and the same for all
    for c in range(picks.shape[0]):
        total = 0.0
        for i in range(n):
            total += weight[i] * best[i]
            cumulated[i] = total
        if total <= 0.0:
            # Every row lies on a centre already: the clusters that are left stay empty.
            picks[c] = picks[0]
            continue
        for t in range(candidates):
            # The first centre is a plain draw: all candidates are one row.
            tried[t] = tried[0] if c == 0 and t > 0 else draw(cumulated, state)
            _add(rows, tried[t], 1.0, table, t)
            costs[t] = 0.0
        for i in range(n):
            _scores(rows, i, table, score)
            for t in range(candidates):
                far = 1.0 - score[t]
                trial[i, t] = min(best[i], far if far > tiny else 0.0)
                costs[t] += weight[i] * trial[i, t]
        winner = 0
        for t in range(candidates):
            winner = t if costs[t] < costs[winner] else winner
            for s in range(rows.indptr[tried[t]], rows.indptr[tried[t] + 1]):
                table[rows.indices[s], t] = 0
        picks[c] = tried[winner]
        for i in range(n):
            best[i] = trial[i, winner]


@jit
def _measure(tables):
    """Bring the lengths of the sums up to date."""
    sums, norm = tables.sums, tables.norm
    norm[:] = 0.0
    for f in range(sums.shape[0]):
        for c in range(norm.shape[0]):
            norm[c] += sums[f, c] * sums[f, c]
    for c in range(norm.shape[0]):
        norm[c] = np.sqrt(norm[c])


@jit
def _rebuild(rows, weight, tables):
    """Add up every cluster from nothing."""
    tables.sums[:] = 0
    for i in range(weight.shape[0]):
        _add(rows, i, weight[i], tables.sums, tables.labels[i])


@jit
def _clear(tables, c):
    """Take rounding out of the sum of an empty cluster, or it would be a random direction."""
    for f in range(tables.sums.shape[0]):
        tables.sums[f, c] = 0
    tables.norm[c] = 0.0


@jit
def _assign(rows, weight, tiny, tables, fresh, dots):
    """Give every row the centre with the largest cosine; return how many labels changed.

    ``dots[c]`` gets the change that the moves make to the product of sum ``c`` with itself as it
    was, from which the shift of the centre follows.
    """
    k = tables.norm.shape[0]
    score = np.empty(k, rows.data.dtype)
    moved = 0
    dots[:] = 0.0
    for i in range(weight.shape[0]):
        _scores(rows, i, tables.sums, score)
        old, label, best = tables.labels[i], 0, -2.0
        before = 0.0
        for c in range(k):
            cosine = score[c] / tables.norm[c] if tables.norm[c] > 0.0 else 0.0
            if c == old:
                before = cosine
            if cosine > best + tiny:
                label, best = c, cosine
        tables.best[i] = best
        fresh[i] = label
        if label != old:
            moved += 1
            dots[label] += weight[i] * best * tables.norm[label]
            if old >= 0:
                dots[old] -= weight[i] * before * tables.norm[old]
    return moved


@jit
def _relabel(rows, weight, tables, fresh):
    for i in range(weight.shape[0]):
        a, b = tables.labels[i], fresh[i]
        if a != b:
            _add(rows, i, weight[i], tables.sums, b)
            _add(rows, i, -weight[i], tables.sums, a)
            tables.sizes[a] -= 1
            tables.sizes[b] += 1
            tables.labels[i] = b
            if tables.sizes[a] == 0:
                _clear(tables, a)


@jit
def _reseed(rows, weight, tiny, tables):
    """Start each empty cluster anew at the row farthest from its centre; return how many."""
    made = 0
    for c in range(tables.sizes.shape[0]):
        if tables.sizes[c] > 0:
            continue
        lowest, where = 1.0 - tiny, -1
        for i in range(weight.shape[0]):
            if tables.best[i] < lowest and tables.sizes[tables.labels[i]] > 1:
                lowest, where = tables.best[i], i
        if where < 0:
            return made  # fewer distinct directions than clusters
        a = tables.labels[where]
        _add(rows, where, -weight[where], tables.sums, a)
        _add(rows, where, weight[where], tables.sums, c)
        tables.sizes[a] -= 1
        tables.sizes[c] += 1
        tables.labels[where] = c
        tables.best[where] = 1.0
        made += 1
    return made


@jit
def _shift(tables, dots, old):
    """Return the squared shift of the unit centres; ``old`` holds their lengths before."""
    shift = 0.0
    for c in range(old.shape[0]):
        length = old[c] * tables.norm[c]
        if length > 0.0:
            shift += max(2.0 - 2.0 * (old[c] ** 2 + dots[c]) / length, 0.0)
    return shift


@jit
def lloyd(rows, weight, tiny, max_iter, limit, tables, fresh):
    """Run Lloyd's iteration from the rows picked; return the inertia and the iterations.

    A row with no direction (all zero) goes to cluster 0: its cosine with every centre is 0.
    """
    k = tables.norm.shape[0]
    dots = np.empty(k)
    old = np.empty(k)
    tables.sums[:] = 0
    tables.labels[:] = -1
    tables.sizes[:] = 0
    for c in range(k):
        _add(rows, tables.picks[c], 1.0, tables.sums, c)
    _measure(tables)
    _assign(rows, weight, tiny, tables, fresh, dots)
    for i in range(weight.shape[0]):
        tables.labels[i] = fresh[i]
        tables.sizes[fresh[i]] += 1
    _rebuild(rows, weight, tables)
    _reseed(rows, weight, tiny, tables)
    exact = False
    settled = False
    n_iter = 1
    while n_iter < max_iter and not settled:
        _measure(tables)
        n_iter += 1
        moved = _assign(rows, weight, tiny, tables, fresh, dots)
        old[:] = tables.norm
        _relabel(rows, weight, tables, fresh)
        made = _reseed(rows, weight, tiny, tables)
        if moved + made == 0:
            # Look once more with sums that have not drifted.
            settled = exact
            _rebuild(rows, weight, tables)
            exact = True
        else:
            exact = False
            if limit > 0.0 and made == 0:
                _measure(tables)
                settled = _shift(tables, dots, old) <= limit
    inertia = 0.0
    for i in range(weight.shape[0]):
        inertia += weight[i] * (1.0 - tables.best[i])
    return inertia, n_iter


@jit
def mean_variance(rows, weight):
    """Return the weighted variance of a column, averaged over the columns."""
    mean = np.zeros((rows.n_columns, 1))
    weights = 0.0
    for i in range(weight.shape[0]):
        _add(rows, i, weight[i], mean, 0)
        weights += weight[i]
    square = 0.0
    for f in range(rows.n_columns):
        square += (mean[f, 0] / weights) ** 2
    return max(1.0 - square, 0.0) / rows.n_columns


def fit(rows, weight, plan, state):
    """Return labels, inertia and iterations of the best of ``plan.n_init`` restarts."""
    return _fit(rows, weight, is_constant(weight), plan, state)


@jit
def _fit(rows, weight, is_uniform, plan, state):
    n, k = weight.shape[0], plan.n_clusters
    tables = Tables(
        np.empty((rows.n_columns, k), rows.data.dtype),
        np.empty(k),
        np.empty(k, np.int64),
        np.empty(n, np.int32),
        np.empty(n),
        np.empty(k, np.int64),
        np.empty(n),
    )
    fresh = np.empty(n, np.int32)
    labels = np.empty(n, np.int32)
    tiny = 32.0 * np.finfo(rows.data.dtype).eps
    limit = plan.tol * mean_variance(rows, weight) if plan.tol > 0 else 0.0
    lowest = np.inf
    best_iter = 0
    for restart in range(plan.n_init):
        if plan.plus:
            start_plus(rows, weight, tiny, tables, state)
        else:
            start_random(weight, is_uniform, tables.picks, tables.cumulated, fresh, state)
        inertia, n_iter = lloyd(rows, weight, tiny, plan.max_iter, limit, tables, fresh)
        if restart == 0 or inertia < lowest:
            lowest, best_iter = inertia, n_iter
            for i in range(n):
                labels[i] = tables.labels[i]
    return labels, lowest, best_iter
