"""The dip of a sample: how far its distribution is from every one with a single mode."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


def dip(x):
    """Return the dip of sorted values, in [1 / (2 n), 1/4].

    J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985:
    the modal interval shrinks to where the greatest convex minorant and the least concave majorant
    of the empirical distribution are farthest apart; outside of it, the distance from the minorant
    (to the left) and from the majorant (to the right) is the dip.
    """
    below, above, left, right = np.empty((4, x.size), np.int64)
    return _dip(x, below, above, left, right)


@jit
def _dip(x, below, above, left, right):
    n = x.size
    if n < 2 or x[0] == x[n - 1]:
        return 0.5 / n
    _hulls(x, below, above)
    low, high = 0, n - 1
    found = 1.0  # in units of 1 / (2 n)
    while True:
        n_left = 0
        left[0] = high
        while left[n_left] > low:
            left[n_left + 1] = below[left[n_left]]
            n_left += 1
        n_right = 0
        right[0] = low
        while right[n_right] < high:
            right[n_right + 1] = above[right[n_right]]
            n_right += 1
        start, end, widest = low, high, 1.0
        if n_left > 1 or n_right > 1:
            start, end, widest = _farthest(x, left, n_left, right, n_right)
        if widest < found:
            break
        found = max(found, _outside(x, left, n_left, right, n_right, start, end))
        if low == start and high == end:
            break
        low, high = start, end
    return found / (2 * n)


@jit
def _hulls(x, below, above):
    """Find which vertex of the minorant precedes a point, and which of the majorant follows."""
    n = x.size
    below[0] = 0
    for j in range(1, n):
        below[j] = j - 1
        while True:
            a = below[j]
            b = below[a]
            if a == 0 or (x[j] - x[a]) * (a - b) < (x[a] - x[b]) * (j - a):
                break
            below[j] = b
    above[n - 1] = n - 1
    for j in range(n - 2, -1, -1):
        above[j] = j + 1
        while True:
            a = above[j]
            b = above[a]
            if a == n - 1 or (x[j] - x[a]) * (a - b) < (x[a] - x[b]) * (j - a):
                break
            above[j] = b


@jit
def _farthest(x, left, n_left, right, n_right):
    """Return where minorant and majorant are farthest apart: at a vertex of one of them.

    ``left[:n_left + 1]`` are the minorant's vertices from the upper end down, ``right`` the
    majorant's up. (Ends instead of slices, which take numba longer to compile.)
    """
    i, j = n_left - 1, 1
    start, end = left[n_left], left[0]
    widest = -1.0
    while True:
        g, h = left[i], right[j]
        if g > h:
            a = left[i + 1]
            apart = (h - a + 1) - (x[h] - x[a]) * (g - a) / (x[g] - x[a])
            j += 1
            if apart >= widest:
                widest, start, end = apart, a, h
        else:
            a = right[j - 1]
            apart = (x[g] - x[a]) * (h - a) / (x[h] - x[a]) - (g - a - 1)
            i -= 1
            if apart >= widest:
                widest, start, end = apart, g, h
        i = max(i, 0)
        j = min(j, n_right)
        if left[i] == right[j]:
            return start, end, widest


@jit
def _outside(x, left, n_left, right, n_right, start, end):
    """Return the distance from the minorant left of an interval, and the majorant right of it."""
    deepest = 0.0
    for i in range(n_left):
        b, a = left[i], left[i + 1]
        if a < start and b - a > 1 and x[b] > x[a]:
            slope = (b - a) / (x[b] - x[a])
            for q in range(a, min(b, start) + 1):
                deepest = max(deepest, (q - a + 1) - (x[q] - x[a]) * slope)
    for j in range(n_right):
        a, b = right[j], right[j + 1]
        if a >= end and b - a > 1 and x[b] > x[a]:
            slope = (b - a) / (x[b] - x[a])
            for q in range(a, b + 1):
                deepest = max(deepest, (x[q] - x[a]) * slope - (q - a - 1))
    return deepest
