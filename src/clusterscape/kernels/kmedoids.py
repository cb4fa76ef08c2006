"""k-medoids by swaps: a candidate is compared with all medoids in one pass over its distances."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def _place(D, medoids, x, labels, other, near, far):
    """Find the nearest and the second nearest medoid of a point."""
    near[x] = np.inf
    far[x] = np.inf
    for i in range(medoids.size):
        d = np.float64(D[medoids[i], x])
        if d < near[x]:
            other[x] = labels[x]
            far[x] = near[x]
            labels[x] = i
            near[x] = d
        elif d < far[x]:
            other[x] = i
            far[x] = d


@jit
def _removal(weight, labels, near, far, loss):
    """Sum up, for every medoid, by how much the cost rises when it is taken away."""
    loss[:] = 0.0
    for x in range(labels.size):
        loss[labels[x]] += weight[x] * (far[x] - near[x])


@jit
def _swap(D, medoids, out, candidate, labels, other, near, far):
    """Put a candidate in the place of a medoid, and update the two nearest of every point."""
    medoids[out] = candidate
    row = D[candidate]
    for x in range(labels.size):
        d = np.float64(row[x])
        if labels[x] == out or other[x] == out:
            if labels[x] == out and d <= far[x]:
                near[x] = d  # the new medoid is nearest, and the second remains
            else:
                _place(D, medoids, x, labels, other, near, far)
        elif d < near[x]:
            far[x] = near[x]
            other[x] = labels[x]
            near[x] = d
            labels[x] = out
        elif d < far[x]:
            far[x] = d
            other[x] = out


@jit
def swap_medoids(D, weight, medoids, labels, max_iter):
    """Exchange medoids and points as long as the cost falls; return the cost, passes and swaps.

    ``medoids`` (k > 1 distinct points) and ``labels`` are changed in place. The scan over
    candidates goes on from where a swap was made, and ends when a whole round brings none.
    """
    n, k = labels.size, medoids.size
    other = np.empty(n, dtype=np.int32)
    near, far = np.empty(n), np.empty(n)
    loss, change = np.empty(k), np.empty(k)
    is_medoid = np.zeros(n, dtype=np.bool_)
    total = 0.0
    for i in range(k):
        is_medoid[medoids[i]] = True
    for x in range(n):
        _place(D, medoids, x, labels, other, near, far)
        total += weight[x] * near[x]
    _removal(weight, labels, near, far, loss)
    swaps, looked, quiet = 0, 0, 0
    # A gain below this is rounding; without it equal costs might be exchanged for ever.
    least = 1e-12 * total
    while quiet < n and looked < max_iter * n:
        candidate = looked % n
        looked += 1
        quiet += 1
        if is_medoid[candidate]:
            continue
        row = D[candidate]
        gain = 0.0
        change[:] = loss
        for x in range(n):
            d = np.float64(row[x])
            if d < near[x]:
                gain += weight[x] * (d - near[x])
                change[labels[x]] += weight[x] * (near[x] - far[x])
            elif d < far[x]:
                change[labels[x]] += weight[x] * (d - far[x])
        out = np.argmin(change)
        if change[out] + gain < -least:
            is_medoid[medoids[out]] = False
            is_medoid[candidate] = True
            _swap(D, medoids, out, candidate, labels, other, near, far)
            _removal(weight, labels, near, far, loss)
            swaps += 1
            quiet = 0
    total = 0.0
    for x in range(n):
        total += weight[x] * near[x]
    for i in range(k):
        labels[medoids[i]] = i  # among equal points as well
    return total, (looked + n - 1) // n, swaps
