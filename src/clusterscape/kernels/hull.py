"""Nearest points of convex hulls, by the method of Wolfe.

The method keeps a small set of vertices and the point of their affine hull that is nearest; it
adds the vertex that lies farthest towards the query and removes those whose weight would be
negative. It ends after finitely many steps with the exact answer up to rounding.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._cholesky import factor
from clusterscape.kernels._jit import jit

_TOLERANCE = 1e-13
_POSITIVE = 1e-12


@jit
def _solve_positive(M, v, size):
    """Solve ``M u = v`` in place by Cholesky's method; return whether M is positive definite.

    Only the leading ``size`` rows and columns count; the lower half of M is overwritten.
    """
    if not factor(M, size):
        return False
    for i in range(size):
        for e in range(i):
            v[i] -= M[i, e] * v[e]
        v[i] /= M[i, i]
    for i in range(size - 1, -1, -1):
        for e in range(i + 1, size):
            v[i] -= M[e, i] * v[e]
        v[i] /= M[i, i]
    return True


@jit
def _affine_minimum(P, members, count, M, mu):
    """Fill ``mu`` with the weights (sum 1) of the point nearest to 0 in the members' affine hull.

    A ridge of rounding size stands in where the members are affinely dependent.
    """
    width = P.shape[1]
    ridge = 0.0
    for attempt in range(4):
        for a in range(count):
            for c in range(a + 1):
                total = 1.0
                for e in range(width):
                    total += P[members[a], e] * P[members[c], e]
                M[a, c] = total
            M[a, a] += ridge
            mu[a] = 1.0
        if _solve_positive(M, mu, count):
            break
        ridge = 1e-14 * 100.0**attempt
    total = 0.0
    for a in range(count):
        total += mu[a]
    for a in range(count):
        mu[a] /= total


@jit
def _towards(members, weights, count, mu):
    """Move the weights towards ``mu`` as far as none is negative; drop those that reach 0."""
    share = 1.0
    for a in range(count):
        if mu[a] <= _POSITIVE and weights[a] > mu[a]:
            share = min(share, weights[a] / (weights[a] - mu[a]))
    kept = 0
    lowest, at = np.inf, 0
    for a in range(count):
        weights[a] = (1.0 - share) * weights[a] + share * mu[a]
        if weights[a] < lowest:
            lowest, at = weights[a], a
    for a in range(count):
        if a != at and weights[a] > _POSITIVE:
            members[kept] = members[a]
            weights[kept] = weights[a]
            kept += 1
    return kept


@jit
def _point(P, members, weights, count, y):
    """Fill ``y`` with the weighted sum of the members; return its squared length."""
    square = 0.0
    for e in range(P.shape[1]):
        y[e] = 0.0
        for a in range(count):
            y[e] += weights[a] * P[members[a], e]
        square += y[e] * y[e]
    return square


@jit
def _settle(P, members, weights, count, M, mu):
    """Replace the weights by those of the nearest point of the hull of some of the members."""
    while True:
        _affine_minimum(P, members, count, M, mu)
        negative = False
        for a in range(count):
            negative |= mu[a] <= _POSITIVE
        if not negative or count == 1:
            for a in range(count):
                weights[a] = mu[a]
            return count
        count = _towards(members, weights, count, mu)


@jit
def _farthest(P, members, count, y, square):
    """Return the vertex farthest towards 0, and -1 when none is beyond ``y``."""
    best, at, largest = square, -1, square
    for j in range(P.shape[0]):
        product, own = 0.0, 0.0
        for e in range(P.shape[1]):
            product += P[j, e] * y[e]
            own += P[j, e] * P[j, e]
        largest = max(largest, own)
        if product < best:
            best, at = product, j
    if square - best <= _TOLERANCE * largest:
        return -1
    for a in range(count):
        if members[a] == at:
            return -1
    return at


@jit
def nearest(centers, points, start, weights, squares):
    """Find the point of the hull of ``centers`` that is nearest to each row of ``points``.

    ``centers`` is (1, k, r), or (n, k, r) with centres of each point's own. ``start`` (n, k) holds
    weights to begin with, those above 0 of affinely independent centres, or a row of zeros.
    ``weights`` (n, k) is filled with convex weights and ``squares`` (n,) with squared distances.
    """
    n, k = weights.shape
    width = points.shape[1]
    P, y = np.empty((k, width)), np.empty(width)
    M, mu, members, held = np.empty((k + 1, k + 1)), np.empty(k + 1), np.empty(k + 1, np.int64), 0
    parts = np.empty(k + 1)
    for x in range(n):
        own = x if centers.shape[0] > 1 else 0
        held, total, best, first = 0, 0.0, np.inf, 0
        for j in range(k):
            length = 0.0
            for e in range(width):
                P[j, e] = centers[own, j, e] - points[x, e]
                length += P[j, e] * P[j, e]
            if length < best:
                best, first = length, j
            if start[x, j] > 0.0:
                members[held], parts[held] = j, start[x, j]
                total += start[x, j]
                held += 1
        if held == 0:
            members[0], parts[0], held, total = first, 1.0, 1, 1.0
        for a in range(held):
            parts[a] /= total
        held = _settle(P, members, parts, held, M, mu)
        squares[x] = _point(P, members, parts, held, y)
        for _ in range(10 * k + 20):
            at = _farthest(P, members, held, y, squares[x])
            if at < 0:
                break
            members[held], parts[held] = at, 0.0
            held = _settle(P, members, parts, held + 1, M, mu)
            squares[x] = _point(P, members, parts, held, y)
        for j in range(k):
            weights[x, j] = 0.0
        for a in range(held):
            weights[x, members[a]] = parts[a]
