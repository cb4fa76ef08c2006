"""One sweep of RCE over all pairs of micro-clusters; no pair is stored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels._kmeans_parts import sum_of_product

# A cluster with more than this part of the points is looked up by a loop over all points, which
# vectorises; the members of a smaller one are visited one by one.
LARGE = 4


class Hard(NamedTuple):
    """The hard partitions, with the members of every cluster in ascending order."""

    columns: np.ndarray  # (r, m) codes, -1 noise, -2 unsampled
    order: np.ndarray  # (r, m) points by cluster; those in no cluster come last
    place: np.ndarray  # (r, m) position of each point in the order
    ends: np.ndarray  # (D,) where each cluster ends in the order
    offsets: np.ndarray  # (r + 1,)
    alpha: np.ndarray  # (r,) weight of the partition
    share: np.ndarray  # (D,) what a pair in the cluster weighs in the partition's distribution


class Soft(NamedTuple):
    """The soft partitions: dense memberships, side by side."""

    rows: np.ndarray  # (m, sum of clusters)
    sampled: np.ndarray  # (s, m)
    offsets: np.ndarray  # (s + 1,)
    alpha: np.ndarray  # (s,)
    share: np.ndarray  # (s,)


@jit
def members(columns, offsets, order, place, ends):
    """Sort the points of every partition by cluster, keeping their order inside."""
    r, m = columns.shape
    for i in range(r):
        first = offsets[i]
        k = offsets[i + 1] - first
        size = np.zeros(k + 1, np.int64)
        for x in range(m):
            code = np.int64(columns[i, x])
            size[code if code >= 0 else k] += 1
        at = np.zeros(k + 1, np.int64)
        for c in range(k):
            at[c + 1] = at[c] + size[c]
            ends[first + c] = at[c + 1]
        for x in range(m):
            code = np.int64(columns[i, x])
            c = code if code >= 0 else k
            order[i, at[c]] = x
            place[i, x] = at[c]
            at[c] += 1


@jit
def _seen_together(hard, soft, x, total, complete, seen):
    """Fill ``seen`` with the weight of the partitions that sampled x and each later point."""
    m = seen.size
    first = np.uint64(x)
    last = np.uint64(m)
    for y in range(first, last):
        seen[y] = total if complete else 0.0
    if complete:
        return
    for i in range(hard.columns.shape[0]):
        if hard.columns[i, x] != -2:
            row = hard.columns[i]
            for y in range(first, last):
                seen[y] += hard.alpha[i] if row[y] != -2 else 0.0
    for s in range(soft.alpha.size):
        if soft.sampled[s, x]:
            for y in range(first, last):
                seen[y] += soft.alpha[s] if soft.sampled[s, y] else 0.0


@jit
def _correct(p, log_p, alpha, y, limits, q, inverse, log_q, ratio, price):
    """Replace "apart" by "together" for one pair in one partition.

    With z the clipped p, ``ratio`` is the sum of z / q and ``price`` that of the pair's terms in
    the objective. The logarithm of a clipped ratio is the clipped logarithm.
    """
    low, high, sparsity = limits
    z = min(max(p * inverse[y], low), high)
    log_z = min(max(log_p - log_q[y], -sparsity), sparsity)
    error = abs(p - q[y] * z)
    ratio[y] += alpha * (z - low)
    price[y] += alpha * (q[y] * (z * log_z - z + low) + sparsity * error)


@jit
def _correct_all(p, log_p, alpha, row, x, limits, q, inverse, log_q, ratio, price):
    """Do the same for all points after x with its label, in a loop over all that vectorises."""
    low, high, sparsity = limits
    code = row[x]
    for y in range(np.uint64(x), np.uint64(q.size)):
        z = p * inverse[y]
        z = low if z < low else z
        z = high if z > high else z
        log_z = log_p - log_q[y]
        log_z = -sparsity if log_z < -sparsity else log_z
        log_z = sparsity if log_z > sparsity else log_z
        weight = alpha if row[y] == code else 0.0
        ratio[y] += weight * (z - low)
        price[y] += weight * (q[y] * (z * log_z - z + low) + sparsity * abs(p - q[y] * z))


@jit
def _row_of_q(HT, x, q, inverse, log_q):
    """Fill row x of Q, its inverse and its logarithm, from x on."""
    first = np.uint64(x)
    last = np.uint64(q.size)
    for y in range(first, last):
        q[y] = 0.0
    for c in range(HT.shape[0]):
        h = HT[c, x]
        row = HT[c]
        for y in range(first, last):
            q[y] += h * row[y]
    for y in range(first, last):
        inverse[y] = 1.0 / q[y] if q[y] > 0.0 else np.inf
        log_q[y] = np.log(q[y]) if q[y] > 0.0 else -np.inf


@jit
def _pull(HT, weights, x, ratio, GT):
    """Add the pairs of x with the points from x on to the sums of both; overwrites ``ratio``."""
    first = np.uint64(x)
    last = np.uint64(ratio.size)
    for c in range(HT.shape[0]):
        h = HT[c, x] * weights[x]
        out = GT[c]
        for y in range(first + np.uint64(1), last):
            out[y] += h * ratio[y]
    for y in range(first, last):
        ratio[y] *= weights[y]
    for c in range(HT.shape[0]):
        GT[c, x] += sum_of_product(ratio[x:], HT[c, x:])


@jit
def sweep(HT, weights, hard, soft, sparsity, complete, GT):
    """Set every Z_i to its best, given Q = H H^T; return the objective.

    ``HT`` is (K, m). Adds to ``GT`` (K, m) the sums over y of ``w_y * sum_i(z_i) / q * H_y``, from
    which the next H is made. Pairs of points (x, y) are looked at once, y >= x.
    """
    m = HT.shape[1]
    q, inverse, log_q = np.empty(m), np.empty(m), np.empty(m)
    ratio, price, seen = np.empty(m), np.empty(m), np.empty(m)
    total = hard.alpha.sum() + soft.alpha.sum()
    low = np.exp(-sparsity)
    limits = (low, np.exp(sparsity), sparsity)
    cost = 0.0
    for x in range(m):
        _row_of_q(HT, x, q, inverse, log_q)
        _seen_together(hard, soft, x, total, complete, seen)
        for y in range(np.uint64(x), np.uint64(m)):
            # At first, every partition that saw both has them apart: z = q exp(-sparsity).
            ratio[y] = total - seen[y] + seen[y] * low
            price[y] = seen[y] * q[y] * (1.0 - low)
        for i in range(hard.columns.shape[0]):
            code = hard.columns[i, x]
            if code >= 0:
                cluster = hard.offsets[i] + code
                p = hard.share[cluster]
                log_p = np.log(p)
                begin, end = hard.place[i, x], hard.ends[cluster]
                if LARGE * (end - begin) > m - x:
                    row = hard.columns[i]
                    _correct_all(
                        p, log_p, hard.alpha[i], row, x, limits, q, inverse, log_q, ratio, price
                    )
                    continue
                for t in range(begin, end):
                    y = hard.order[i, t]
                    _correct(p, log_p, hard.alpha[i], y, limits, q, inverse, log_q, ratio, price)
        for s in range(soft.alpha.size):
            begin, stop = soft.offsets[s], soft.offsets[s + 1]
            for y in range(x, m):
                p = 0.0
                for c in range(begin, stop):
                    p += soft.rows[x, c] * soft.rows[y, c]
                p *= soft.share[s]
                if p > 0.0:
                    _correct(
                        p, np.log(p), soft.alpha[s], y, limits, q, inverse, log_q, ratio, price
                    )
        cost += weights[x] * _row_price(weights, price, x)
        _pull(HT, weights, x, ratio, GT)
    return cost


@jit
def _row_price(weights, price, x):
    """Return the sum over the later points twice, and over the point itself once."""
    return 2.0 * sum_of_product(weights[x:], price[x:]) - weights[x] * price[x]
