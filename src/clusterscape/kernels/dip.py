"""The dip of a sample: how far its distribution is from every one with a single mode."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def dip(x):
    """Return the dip of sorted values, in [1 / (2 n), 1/4].

    J. A. Hartigan, P. M. Hartigan, "The dip test of unimodality", Annals of Statistics 13, 1985:
    the modal interval shrinks to where the greatest convex minorant and the least concave majorant of
    the empirical distribution are farthest apart; outside of it, the distance from the minorant
    (to the left) and from the majorant (to the right) is the dip.
    """
    n = x.size
    if n < 2 or x[0] == x[n - 1]:
        return 0.5 / n
    low, high = 0, n - 1
    below = np.empty(n, np.int64)  # the vertex of the minorant that precedes a vertex
    above = np.empty(n, np.int64)  # the vertex of the majorant that follows a vertex
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
    left = np.empty(n, np.int64)
    right = np.empty(n, np.int64)
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
        # The two curves are farthest apart at a vertex of one of them. ``left`` descends from
        # ``high`` and ``right`` ascends from ``low``.
        i, j = n_left, 0
        start, end = low, high
        widest = 0.0
        first = True
        if n_left == 1 and n_right == 1:
            widest = 1.0
        else:
            i, j = n_left - 1, 1
            while True:
                g, h = left[i], right[j]
                if g > h:
                    g1 = left[i + 1]
                    apart = (h - g1 + 1) - (x[h] - x[g1]) * (g - g1) / (x[g] - x[g1])
                    j += 1
                    if apart >= widest or first:
                        widest, first = apart, False
                        start, end = g1, h
                else:
                    h1 = right[j - 1]
                    apart = (x[g] - x[h1]) * (h - h1) / (x[h] - x[h1]) - (g - h1 - 1)
                    i -= 1
                    if apart >= widest or first:
                        widest, first = apart, False
                        start, end = g, h
                if i < 0:
                    i = 0
                if j > n_right:
                    j = n_right
                if left[i] == right[j]:
                    break
        if widest < found:
            break
        # The distance from the minorant left of the modal interval, and from the majorant right.
        deepest = 0.0
        for i in range(n_left):
            b, a = left[i], left[i + 1]
            if a >= start:
                continue
            if b > start:
                b = start
            if b - a > 1 and x[left[i]] > x[a]:
                slope = (left[i] - a) / (x[left[i]] - x[a])
                for q in range(a, b + 1):
                    deepest = max(deepest, (q - a + 1) - (x[q] - x[a]) * slope)
        for j in range(n_right):
            a, b = right[j], right[j + 1]
            if b <= end:
                continue
            if a < end:
                continue
            if b - a > 1 and x[b] > x[a]:
                slope = (b - a) / (x[b] - x[a])
                for q in range(a, b + 1):
                    deepest = max(deepest, (x[q] - x[a]) * slope - (q - a - 1))
        found = max(found, deepest)
        if low == start and high == end:
            break
        low, high = start, end
    return found / (2 * n)
