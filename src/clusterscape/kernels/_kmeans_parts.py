"""The parts that the k-means loops are made of: distances, starts, sums and centres.

Data come feature-major, ``XT`` of shape (D, n), and a problem is a list of its rows (``cols``), so
a subset of columns needs no copy and the inner loops run over points, where they vectorise.
Weights are present and positive. Distances are computed in the type of ``XT``, sums in float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.random import sample_without_replacement, uniform

# Points whose distances are held together: small enough for the first cache.
_BLOCK = 256


class Work(NamedTuple):
    """The buffers of one problem, allocated once for all its restarts."""

    centres: np.ndarray  # (k, d) in the type of the data
    sums: np.ndarray  # (k, d)
    exact: np.ndarray  # (k, d)
    mass: np.ndarray  # (k,)
    sizes: np.ndarray  # (k,)
    labels: np.ndarray  # (n,)
    fresh: np.ndarray  # (n,) labels of the next iteration
    best: np.ndarray  # (n,) squared distance to the nearest centre
    buffer: np.ndarray  # distances of one block of points
    trial: np.ndarray  # (candidates, n) distances of the candidates of k-means++
    cumulated: np.ndarray  # (n,)
    picks: np.ndarray  # (k,) rows that the start took


@jit
def new_work(XT, cols, k):
    """Return the buffers of a problem with the columns ``cols`` and ``k`` clusters."""
    n = XT.shape[1]
    d = cols.shape[0]
    # The types are spelled out because numba compiles np.empty anew for every way to call it.
    return Work(
        np.empty((k, d), XT.dtype),
        np.empty((k, d), np.float64),
        np.empty((k, d), np.float64),
        np.empty(k, np.float64),
        np.empty(k, np.int64),
        np.empty(n, np.int32),
        np.empty(n, np.int32),
        np.empty(n, XT.dtype),
        np.empty(min(_BLOCK, n), XT.dtype),
        np.empty((2 + int(np.log(k)), n), XT.dtype),
        np.empty(n, np.float64),
        np.empty(k, np.int64),
    )


@jit
def resolution(centres, c):
    """Return the squared distance from centre ``c`` below which points are the same.

    The mean of equal rows is not exactly that row; what is left is rounding, not a distance.
    """
    square = 0.0
    for f in range(centres.shape[1]):
        value = np.float64(centres[c, f])
        square += value * value
    # 16 times the spacing of the numbers at 1; numba takes long to compile np.finfo and powers.
    unit = 2.0**-48 if centres.itemsize == 8 else 2.0**-19
    return unit * unit * square


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
        # Places instead of slices, which take numba longer to compile.
        at, size = np.uint64(lo), np.uint64(hi - lo)
        distances(XT, cols, centres, 0, lo, hi, best, lo)
        for i in range(size):
            labels[at + i] = 0
        for c in range(1, centres.shape[0]):
            distances(XT, cols, centres, c, lo, hi, buffer, 0)
            for i in range(size):
                closer = buffer[i] < best[at + i]
                best[at + i] = buffer[i] if closer else best[at + i]
                labels[at + i] = c if closer else labels[at + i]


@jit
def sum_of_product(a, b):
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
def draw(cumulated, state):
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
def start_random(weight, is_uniform, picks, cumulated, taken, state):
    """Pick distinct rows, each draw in proportion to the weights of the rows that are left."""
    if is_uniform:
        sample_without_replacement(state, weight.shape[0], picks.shape[0], picks)
        return
    for i in range(weight.shape[0]):
        taken[i] = 0
    for c in range(picks.shape[0]):
        total = 0.0
        for i in range(weight.shape[0]):
            total += 0.0 if taken[i] else weight[i]
            cumulated[i] = total
        picks[c] = draw(cumulated, state)
        taken[picks[c]] = 1


@jit
def start_plus(XT, cols, weight, work, state):
    """Pick rows by greedy k-means++: of a few candidates, the one that lowers the cost most."""
    n = weight.shape[0]
    best, trial, cumulated = work.best, work.trial, work.cumulated
    total = 0.0
    for i in range(n):
        total += weight[i]
        cumulated[i] = total
    work.picks[0] = draw(cumulated, state)
    copy_point(XT, cols, work.picks[0], work.centres, 0)
    distances(XT, cols, work.centres, 0, 0, n, best, 0)
    for c in range(1, work.picks.shape[0]):
        total = 0.0
        for i in range(n):
            total += weight[i] * best[i]
            cumulated[i] = total
        if total <= 0.0:
            # Every point lies on a centre already: the clusters that are left stay empty.
            work.picks[c] = work.picks[0]
            continue
        lowest, winner = np.inf, 0
        for t in range(trial.shape[0]):
            pick = draw(cumulated, state)
            near = trial[t]
            copy_point(XT, cols, pick, work.centres, c)
            distances(XT, cols, work.centres, c, 0, n, near, 0)
            for i in range(n):
                near[i] = min(near[i], best[i])
            cost = sum_of_product(near, weight)
            if t == 0 or cost < lowest:
                lowest, winner = cost, t
                work.picks[c] = pick
        for i in range(n):
            best[i] = trial[winner, i]


@jit
def copy_point(XT, cols, i, centres, c):
    """Put centre ``c`` on point ``i``."""
    for f in range(cols.shape[0]):
        centres[c, f] = XT[cols[f], i]


@jit
def total(XT, cols, weight, labels, sums, mass, sizes):
    """Add up every cluster from nothing: exact, where running sums have drifted."""
    d = cols.shape[0]
    for c in range(mass.shape[0]):
        mass[c] = 0.0
        sizes[c] = 0
        for f in range(d):
            sums[c, f] = 0.0
    for i in range(labels.shape[0]):
        mass[labels[i]] += weight[i]
        sizes[labels[i]] += 1
    if d % 2 == 1:
        f = cols[0]
        for i in range(labels.shape[0]):
            sums[labels[i], 0] += weight[i] * XT[f, i]
    # Two columns at a time: an addition to one need not wait for the last one to the other.
    for s in range(d % 2, d, 2):
        f, g = cols[s], cols[s + 1]
        for i in range(labels.shape[0]):
            sums[labels[i], s] += weight[i] * XT[f, i]
            sums[labels[i], s + 1] += weight[i] * XT[g, i]


@jit
def _carry(XT, cols, w, i, a, b, sums, mass, sizes):
    """Carry point ``i`` from cluster ``a`` to ``b`` in the running sums."""
    for f in range(cols.shape[0]):
        x = w * XT[cols[f], i]
        sums[a, f] -= x
        sums[b, f] += x
    # Never below zero, however unequal the weights are: a light cluster could lose a heavy point.
    mass[a] = max(mass[a] - w, 0.0)
    mass[b] += w
    sizes[a] -= 1
    sizes[b] += 1
    if sizes[a] == 0:
        mass[a] = 0.0
        for f in range(cols.shape[0]):
            sums[a, f] = 0.0


@jit
def relabel(XT, cols, weight, fresh, labels, sums, mass, sizes):
    """Replace the labels by the fresh ones and carry what changed; return how many did."""
    moved = 0
    for i in range(labels.shape[0]):
        if fresh[i] != labels[i]:
            a, b = np.int64(labels[i]), np.int64(fresh[i])
            _carry(XT, cols, weight[i], i, a, b, sums, mass, sizes)
            labels[i] = fresh[i]
            moved += 1
    return moved


@jit
def _farthest(labels, best, sizes, centres):
    """Return the point farthest from its centre, or -1 if none is away from it.

    The last point of a cluster does not count: taking it would leave another cluster empty.
    """
    far, where = 0.0, -1
    for i in range(best.shape[0]):
        if best[i] > far and sizes[labels[i]] > 1 and best[i] > resolution(centres, labels[i]):
            far, where = np.float64(best[i]), i
    return where


@jit
def reseed(XT, cols, weight, labels, best, sums, mass, sizes, centres, near):
    """Start each empty cluster anew at the farthest point, with all that is nearer to it.

    Return how many points moved: none when there are no more distinct points than clusters.
    ``near`` is filled with distances.
    """
    moved = 0
    for c in range(sizes.shape[0]):
        where = _farthest(labels, best, sizes, centres) if sizes[c] == 0 else -1
        if where < 0:
            continue
        copy_point(XT, cols, where, centres, c)
        distances(XT, cols, centres, c, 0, labels.shape[0], near, 0)
        for i in range(labels.shape[0]):
            a = np.int64(labels[i])
            if near[i] < best[i] and sizes[a] > 1:
                _carry(XT, cols, weight[i], i, a, c, sums, mass, sizes)
                labels[i] = c
                best[i] = near[i]
                moved += 1
    return moved


@jit
def place(sums, mass, sizes, spherical, centres):
    """Put the centres where the sums say; return their squared shift."""
    shift = 0.0
    for c in range(centres.shape[0]):
        scale = mass[c]
        if spherical:
            scale = np.sqrt(sum_of_product(sums[c], sums[c]))
        if sizes[c] == 0 or scale == 0.0:
            continue  # an empty cluster, or rows that cancel: the old centre stays
        for f in range(centres.shape[1]):
            old = centres[c, f]
            centres[c, f] = sums[c, f] / scale
            step = centres[c, f] - old
            shift += step * step
    return shift


@jit
def renew(XT, cols, weight, inertia, labels, sums, exact, mass, sizes):
    """Replace the running sums by exact ones; say whether they had drifted too far to trust."""
    total(XT, cols, weight, labels, exact, mass, sizes)
    error = 0.0
    for c in range(sums.shape[0]):
        for f in range(sums.shape[1]):
            if sizes[c] > 0:
                drift = sums[c, f] - exact[c, f]
                error += drift * drift / mass[c]
            sums[c, f] = exact[c, f]
    return error > 1e-12 * inertia


@jit
def to_means(sums, mass):
    """Divide the sums of the clusters that are not empty by their weights."""
    for c in range(sums.shape[0]):
        if mass[c] > 0.0:
            for f in range(sums.shape[1]):
                sums[c, f] /= mass[c]


@jit
def mean_variance(XT, cols, weight):
    """Return the weighted variance of a column, averaged over the columns."""
    weights = 0.0
    for i in range(weight.shape[0]):
        weights += weight[i]
    out = 0.0
    for f in range(cols.shape[0]):
        row = XT[cols[f]]
        mean = sum_of_product(row, weight) / weights
        for i in range(weight.shape[0]):
            apart = row[i] - mean
            out += weight[i] * (apart * apart)
    return out / (weights * max(cols.shape[0], 1))


def is_constant(values):
    """Say whether all values are equal; not compiled, because NumPy does it in one line."""
    return bool((values == values[:1]).all())
