"""Areas of pieces of convex polygons: cells in the plane, cut by half-planes.

A cell is ``{p : A p <= b}``. Its first rows belong to owners: the slack ``b_j - A_j p`` is the
lead that the cell's own site has over site j at p, and the owner of p is the site with the
smallest slack.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit

BOUNDED, UNBOUNDED, EMPTY = 0, 1, 2
_LARGEST = 1e8  # half-width of the square beyond which a cell is taken for unbounded
_FIRST = 8.0
_GROWTH = 16.0


@jit
def clip(polygon, count, a0, a1, b, out):
    """Fill ``out`` with the part of a polygon where ``a . p <= b``; return its vertex count."""
    kept = 0
    for v in range(count):
        u = v - 1 if v > 0 else count - 1
        before = a0 * polygon[u, 0] + a1 * polygon[u, 1] - b
        here = a0 * polygon[v, 0] + a1 * polygon[v, 1] - b
        if (before <= 0.0) != (here <= 0.0):
            t = before / (before - here)
            out[kept, 0] = polygon[u, 0] + t * (polygon[v, 0] - polygon[u, 0])
            out[kept, 1] = polygon[u, 1] + t * (polygon[v, 1] - polygon[u, 1])
            kept += 1
        if here <= 0.0:
            out[kept, 0] = polygon[v, 0]
            out[kept, 1] = polygon[v, 1]
            kept += 1
    return kept


@jit
def area(polygon, count):
    """Return the area of a convex polygon, measured from its first vertex."""
    total = 0.0
    for v in range(1, count - 1):
        x0, y0 = polygon[v, 0] - polygon[0, 0], polygon[v, 1] - polygon[0, 1]
        x1, y1 = polygon[v + 1, 0] - polygon[0, 0], polygon[v + 1, 1] - polygon[0, 1]
        total += x0 * y1 - x1 * y0
    return abs(total) / 2.0


@jit
def cell(A, b, half, one, two):
    """Cut the square of a half-width about 0 by all rows; return (count, whether it is in one)."""
    for v in range(4):
        one[v, 0] = half if v in (1, 2) else -half
        one[v, 1] = half if v > 1 else -half
    count, first = 4, True
    for j in range(A.shape[0]):
        if first:
            count = clip(one, count, A[j, 0], A[j, 1], b[j], two)
        else:
            count = clip(two, count, A[j, 0], A[j, 1], b[j], one)
        first = not first
        if count < 3:
            break
    return count, first


@jit
def _reach(polygon, count):
    """Return the largest coordinate of a polygon's vertices."""
    found = 0.0
    for v in range(count):
        found = max(found, abs(polygon[v, 0]), abs(polygon[v, 1]))
    return found


@jit
def whole_cell(A, b, body, spare):
    """Fill ``body`` with the cell, however large it is; return its vertex count and its state."""
    half = _FIRST
    while True:
        count, first = cell(A, b, half, body, spare)
        if not first:
            body[:count] = spare[:count]
        inside = count >= 3 and _reach(body, count) < half * (1.0 - 1e-9)
        if inside or half >= _LARGEST:
            break
        half *= _GROWTH
    if count < 3 or area(body, count) <= 0.0:
        return 0, EMPTY
    return count, BOUNDED if inside else UNBOUNDED


@jit
def piece(A, b, owner, n_owners, body, count, one, two):
    """Return the area of the part of a cell that one owner has."""
    one[:count] = body[:count]
    first = True
    for j in range(n_owners):
        if j == owner:
            continue
        a0, a1, c = A[j, 0] - A[owner, 0], A[j, 1] - A[owner, 1], b[j] - b[owner]
        if first:
            count = clip(one, count, a0, a1, c, two)
        else:
            count = clip(two, count, a0, a1, c, one)
        first = not first
        if count < 3:
            return 0.0
    return area(one, count) if first else area(two, count)


@jit
def shares(A, b, n_owners, out, states):
    """Fill ``out`` (n, n_owners) with the shares of each cell's area, and ``states`` (n,).

    ``A`` is (n, m, 2) and ``b`` (n, m). A cell that is still open at 1e8 units is cut there.
    """
    n, m = b.shape
    body, spare = np.empty((m + 8, 2)), np.empty((m + 8, 2))
    one, two = np.empty((2 * m + 8, 2)), np.empty((2 * m + 8, 2))
    for x in range(n):
        count, states[x] = whole_cell(A[x], b[x], body, spare)
        total = 0.0
        for i in range(n_owners):
            out[x, i] = 0.0
            if states[x] != EMPTY:
                out[x, i] = piece(A[x], b[x], i, n_owners, body, count, one, two)
            total += out[x, i]
        if total <= 0.0:
            states[x] = EMPTY
        else:
            for i in range(n_owners):
                out[x, i] /= total


@jit
def _arc(a0, a1, axis, low, high):
    """Cut the arc [low, high] of directions, as angles from ``axis``, by ``a . v <= 0``.

    The arc is shorter than a half circle, so what is left is one arc.
    """
    if a0 == 0.0 and a1 == 0.0:
        return low, high
    middle = np.arctan2(-a1, -a0) - axis
    for turn in (-2.0, -1.0, 0.0, 1.0, 2.0):
        left = middle + turn * 2.0 * np.pi - np.pi / 2.0
        if left < high and left + np.pi > low:
            return max(low, left), min(high, left + np.pi)
    return low, low


@jit
def arcs(A, directions, n_owners, out):
    """Fill ``out`` with the shares of each unbounded cell's directions that every owner has.

    ``directions`` (n, 2) lie inside the cones ``A v <= 0``.
    """
    n, m = A.shape[0], A.shape[1]
    for x in range(n):
        axis = np.arctan2(directions[x, 1], directions[x, 0])
        low, high = -np.pi / 2.0, np.pi / 2.0
        for j in range(m):
            low, high = _arc(A[x, j, 0], A[x, j, 1], axis, low, high)
        total = 0.0
        for i in range(n_owners):
            left, right = low, high
            for j in range(n_owners):
                if j != i:
                    a0, a1 = A[x, j, 0] - A[x, i, 0], A[x, j, 1] - A[x, i, 1]
                    left, right = _arc(a0, a1, axis, left, right)
            out[x, i] = max(right - left, 0.0)
            total += out[x, i]
        for i in range(n_owners):
            out[x, i] /= total
