"""Belief propagation on pairs that exclude each other or belong together, more or less surely."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

_LEAST = 1e-6  # of a factor, so that no belief is lost for ever


@jit
def sweep(unary, indptr, indices, back, pull, message, belief):
    """Update all beliefs (q, k) once, in order, and the messages (edges, k) along the way.

    The edges are CSR; ``back`` names the opposite edge of each. ``pull`` is -w for a pair that is
    apart with confidence w, and w for one that is together: the factor on cluster b is 1 - w q(b)
    or 1 - w (1 - q(b)). A message is an item's belief without what the receiver told it. Return
    the largest change of a belief.
    """
    q, k = unary.shape
    widest = 0
    for i in range(q):
        widest = max(widest, indptr[i + 1] - indptr[i])
    logs = np.empty((widest, k), dtype=np.float32)
    field = np.empty(k)
    change = 0.0
    for i in range(q):
        first, last = indptr[i], indptr[i + 1]
        for b in range(k):
            field[b] = -unary[i, b]
        for e in range(first, last):
            w = pull[e]
            other = back[e]
            for b in range(k):
                p = message[other, b]
                factor = 1.0 + w * p if w < 0 else 1.0 - w * (1.0 - p)
                value = np.float32(np.log(max(factor, _LEAST)))
                logs[e - first, b] = value
                field[b] += value
        top = field.max()
        total = 0.0
        for b in range(k):
            total += np.exp(field[b] - top)
        for b in range(k):
            new = np.exp(field[b] - top) / total
            change = max(change, abs(new - belief[i, b]))
            belief[i, b] = new
        for e in range(first, last):
            top = -np.inf
            for b in range(k):
                top = max(top, field[b] - logs[e - first, b])
            total = 0.0
            for b in range(k):
                value = np.exp(np.float32(field[b] - logs[e - first, b] - top))
                logs[e - first, b] = value
                total += value
            for b in range(k):
                message[e, b] = logs[e - first, b] / total
    return change
