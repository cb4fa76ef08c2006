"""Uniform points of convex bodies, by hit-and-run along the axes of a rounded copy of the body.

A body is ``{p : A p <= b}``, or the part of it in the unit ball. A step takes one axis of the
rounded body at random, finds the whole chord through the current point, and moves to a uniform
point of it. The slacks ``b - A p`` are carried along, so that a step costs one pass over the rows.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._cholesky import factor
from clusterscape.kernels._jit import jit
from clusterscape.kernels.random import below, uniform

_NEWTON = 100
_METHOD_STEPS = 60


@jit
def _slacks(A, b, p, out):
    """Fill ``out`` with b - A p; return the smallest."""
    least = np.inf
    for j in range(A.shape[0]):
        total = b[j]
        for e in range(A.shape[1]):
            total -= A[j, e] * p[e]
        out[j] = total
        least = min(least, total)
    return least


@jit
def _barrier(A, slack, p, ball, H, g):
    """Fill the gradient and the lower half of the Hessian of -sum log(slack)."""
    r = A.shape[1]
    H[:r, :r] = 0.0
    g[:r] = 0.0
    for j in range(A.shape[0]):
        inverse = 1.0 / slack[j]
        for e in range(r):
            weighted = A[j, e] * inverse
            g[e] += weighted
            for q in range(e + 1):
                H[e, q] += weighted * A[j, q] * inverse
    if ball:
        inside = 1.0
        for e in range(r):
            inside -= p[e] * p[e]
        for e in range(r):
            g[e] += 2.0 * p[e] / inside
            for q in range(e + 1):
                H[e, q] += 4.0 * p[e] * p[q] / (inside * inside)
            H[e, e] += 2.0 / inside


@jit
def _longest(A, slack, p, ball, d):
    """Return how far one can go from p along d inside of the body."""
    far = np.inf
    for j in range(A.shape[0]):
        rate = 0.0
        for e in range(A.shape[1]):
            rate += A[j, e] * d[e]
        if rate > 0.0:
            far = min(far, slack[j] / rate)
    if ball:
        far = min(far, _sphere(p, d)[1])
    return far


@jit
def _sphere(p, d):
    """Return where the line p + t d enters and leaves the unit ball."""
    square, along, own = 0.0, 0.0, 0.0
    for e in range(p.shape[0]):
        square += d[e] * d[e]
        along += p[e] * d[e]
        own += p[e] * p[e]
    root = np.sqrt(max(along * along + (1.0 - own) * square, 0.0))
    return (-along - root) / square, (-along + root) / square


@jit
def center(A, b, ball, p, slack, H, g):
    """Move the interior point p to the analytic centre; leave the Hessian's factor in H.

    Newton's method, each step at most to 0.9 of the way to the border. Returns whether the body
    has such a centre: an unbounded one has not.
    """
    r = A.shape[1]
    d = np.empty(r)
    for _ in range(_NEWTON):
        if not _slacks(A, b, p, slack) > 0.0:
            return False
        _barrier(A, slack, p, ball, H, g)
        if not factor(H, r):
            return False
        for i in range(r):
            total = -g[i]
            for e in range(i):
                total -= H[i, e] * d[e]
            d[i] = total / H[i, i]
        decrement = 0.0
        for i in range(r):
            decrement += d[i] * d[i]
        for i in range(r - 1, -1, -1):
            for e in range(i + 1, r):
                d[i] -= H[e, i] * d[e]
            d[i] /= H[i, i]
        if decrement < 0.05:
            return True
        step = min(1.0 / (1.0 + np.sqrt(decrement)) if decrement > 0.25 else 1.0, 1.0)
        step = min(step, 0.9 * _longest(A, slack, p, ball, d))
        for i in range(r):
            p[i] += step * d[i]
    return False


@jit
def interior(A, b, p):
    """Move p inside of ``{A p < b}``; return the least scaled slack found, <= 0 if it is empty.

    The method of centres: the analytic centre of the points that are better than the last one.
    """
    m, r = A.shape
    wide, level = np.empty((m + 2, r + 1)), np.empty(m + 2)
    worst, largest = np.inf, 0.0
    for j in range(m):
        length = 0.0
        for e in range(r):
            length += A[j, e] * A[j, e]
        length = np.sqrt(length) if length > 0.0 else 1.0
        slack = b[j] / length
        for e in range(r):
            wide[j, e] = A[j, e] / length
            slack -= wide[j, e] * p[e]
        wide[j, r], level[j] = 1.0, b[j] / length
        worst, largest = min(worst, slack), max(largest, abs(slack))
    wide[m:, :r] = 0.0
    wide[m, r], level[m] = 1.0, 2.0 * largest + 1.0
    wide[m + 1, r] = -1.0
    z, slacks = np.empty(r + 1), np.empty(m + 2)
    H, g = np.empty((r + 1, r + 1)), np.empty(r + 1)
    best = worst
    z[:r] = p
    for _ in range(_METHOD_STEPS):
        gap = 1e-3 * largest + abs(best)
        z[r] = best - 0.5 * gap
        level[m + 1] = -(best - gap)
        center(wide, level, False, z, slacks, H, g)
        found = np.inf
        for j in range(m):
            found = min(found, slacks[j] + z[r])
        if found <= best + 1e-12 * largest:
            break
        best = found
        p[:] = z[:r]
        if best > 1e-9 * largest:
            break
    return best


@jit
def interiors(A, b, places):
    """Move those of the places (n, r) that are not inside of their bodies into them."""
    slack = np.empty(b.shape[1])
    for x in range(b.shape[0]):
        if not _slacks(A[x], b[x], places[x], slack) > 0.0:
            interior(A[x], b[x], places[x])


@jit
def _rounded(A, T, out):
    """Fill ``out`` (3, r, m) with the change of the slacks along each axis, a row of T.

    Its inverse follows twice, where it is positive and where it is negative, and infinity
    elsewhere, so that a step needs neither divisions nor branches.
    """
    r = A.shape[1]
    for i in range(r):
        for j in range(A.shape[0]):
            total = 0.0
            for e in range(r):
                total += A[j, e] * T[i, e]
            out[0, i, j] = total
            out[1, i, j] = 1.0 / total if total > 0.0 else np.inf
            out[2, i, j] = 1.0 / total if total < 0.0 else -np.inf


@jit
def walk(rates, T, ball, body, steps, thin, counts, state):
    """Take steps of the walk: each to a uniform point of the whole chord along a random axis.

    ``body`` holds the slacks and the point, and both are moved. After every ``thin`` steps the
    owner of the point is counted, the first of the least slacks; with no ``counts`` there are no
    owners. The loop is one function because a call per step would cost as much as the step.
    """
    slack, p = body
    m, r, n_owners = slack.shape[0], p.shape[0], counts.shape[0]
    until = thin
    for _ in range(steps):
        i = below(state, r)
        low, high = -np.inf, np.inf
        for j in range(m):
            # A slack of 0 times infinity is nan, which is never smaller or larger.
            up, down = slack[j] * rates[1, i, j], slack[j] * rates[2, i, j]
            high = up if up < high else high
            low = down if down > low else low
        if ball:
            enter, leave = _sphere(p, T[i])
            low, high = max(low, enter), min(high, leave)
        t = low + uniform(state) * (high - low)
        if high > low and np.isfinite(t):
            for j in range(m):
                slack[j] -= t * rates[0, i, j]
            for e in range(r):
                p[e] += t * T[i, e]
        until -= 1
        if until == 0:
            until = thin
            owner, least = 0, np.inf
            for j in range(n_owners):
                if slack[j] < least:
                    owner, least = j, slack[j]
            if n_owners > 0:
                counts[owner] += 1.0


@jit
def _pilot(A, b, ball, p, n_points, spaces, state):
    """Walk, and replace the axes by those of the covariance of points that were met."""
    T, rates, slack, H, mean = spaces
    r = p.shape[0]
    _rounded(A, T, rates)
    _slacks(A, b, p, slack)
    H[:r, :r] = 0.0
    mean[:r] = 0.0
    origin = p.copy()
    for _ in range(n_points):
        walk(rates, T, ball, (slack, p), r // 2 + 1, 1, mean[:0], state)
        for e in range(r):
            away = p[e] - origin[e]
            mean[e] += away / n_points
            for q in range(e + 1):
                H[e, q] += away * (p[q] - origin[q]) / n_points
    for e in range(r):
        for q in range(e + 1):
            H[e, q] -= mean[e] * mean[q]
    if factor(H, r):
        for i in range(r):
            for e in range(r):
                T[i, e] = H[e, i] if e >= i else 0.0
        _rounded(A, T, rates)
    _slacks(A, b, p, slack)


@jit
def prepare(A, b, ball, p, spaces, state):
    """Round the body and burn in: by the analytic centre, then twice by the covariance of a walk.

    Returns False where the body is unbounded or p is not inside.
    """
    T, _, slack, H, g = spaces
    r = p.shape[0]
    if not center(A, b, ball, p, slack, H, g):
        return False
    # Columns of the inverse of the factor's transpose, kept as rows.
    for i in range(r):
        for e in range(r - 1, -1, -1):
            total = 1.0 if e == i else 0.0
            for q in range(e + 1, r):
                total -= H[q, e] * T[i, q]
            T[i, e] = total / H[e, e]
    for _ in range(2):
        _pilot(A, b, ball, p, 6 * r + 20, spaces, state)
    return True


@jit
def points(A, b, ball, p, thin, burn_in, out, state):
    """Fill the rows of ``out`` with points of the walk from p; return whether it could start."""
    m, r = A.shape
    spaces = (
        np.empty((r, r)),
        np.empty((3, r, m)),
        np.empty(m),
        np.empty((r, r)),
        np.empty(r),
    )
    if not prepare(A, b, ball, p, spaces, state):
        return False
    nobody = np.empty(0)
    walk(spaces[1], spaces[0], ball, (spaces[2], p), burn_in, 1, nobody, state)
    for x in range(out.shape[0]):
        walk(spaces[1], spaces[0], ball, (spaces[2], p), thin, 1, nobody, state)
        out[x] = p
    return True


@jit
def _standard_errors(batches, n_batches, length, errors):
    """Fill the standard errors of the means over equally long batches; return the largest."""
    largest = 0.0
    for i in range(errors.shape[0]):
        mean, square = 0.0, 0.0
        for q in range(n_batches):
            share = batches[q, i] / length
            mean += share / n_batches
            square += share * share / n_batches
        errors[i] = np.sqrt(max(square - mean * mean, 0.0) / (n_batches - 1))
        largest = max(largest, errors[i])
    return largest


@jit
def _merge(batches, n_batches):
    """Join neighbouring batches; return how many are left."""
    for q in range(n_batches // 2):
        batches[q] = batches[2 * q] + batches[2 * q + 1]
    return n_batches // 2


@jit
def shares(A, b, ball, starts, plan, seeds, out, errors, taken):
    """Estimate the shares of bodies by owner: the row of A, of the first ones, with least slack.

    ``A`` is (n, m, r), ``b`` (n, m), ``starts`` (n, r) interior points. ``plan`` is (chains,
    samples of all chains together, thinning, burn-in of every chain, largest number of samples,
    tolerance): the number is doubled until the tolerance is at least the largest standard error.
    ``out`` and ``errors`` are (n, n_owners), ``taken`` (n,) the samples, 0 where there is no body.
    """
    chains, samples, thin, burn_in, most, tolerance = plan
    n, m = b.shape
    r, n_owners = A.shape[2], out.shape[1]
    T, rates, slack = np.empty((r, r)), np.empty((3, r, m)), np.empty(m)
    spaces = (T, rates, slack, np.empty((r, r)), np.empty(r))
    p, places, state = np.empty(r), np.empty((chains, r)), np.empty(1, np.uint64)
    per_chain, nobody = 4, np.empty(0)
    batches = np.empty((2 * per_chain * chains, n_owners))
    for x in range(n):
        state[0] = seeds[x]
        p[:] = starts[x]
        taken[x] = 0
        if not prepare(A[x], b[x], ball, p, spaces, state):
            continue
        for c in range(chains):
            walk(rates, T, ball, (slack, p), burn_in, 1, nobody, state)
            places[c] = p
        length = max(1, -(-samples // (per_chain * chains)))
        n_batches, largest = 0, np.inf
        while taken[x] == 0 or (largest > tolerance and taken[x] < most):
            if n_batches > per_chain * chains:
                n_batches, length = _merge(batches, n_batches), 2 * length
            for c in range(chains):
                p[:] = places[c]
                _slacks(A[x], b[x], p, slack)
                for _ in range(per_chain):
                    batches[n_batches] = 0.0
                    counts = batches[n_batches]
                    walk(rates, T, ball, (slack, p), thin * length, thin, counts, state)
                    n_batches += 1
                places[c] = p
            taken[x] += per_chain * chains * length
            largest = _standard_errors(batches, n_batches, length, errors[x])
        for i in range(n_owners):
            total = 0.0
            for q in range(n_batches):
                total += batches[q, i]
            out[x, i] = total / (n_batches * length)
