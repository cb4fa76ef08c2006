"""Volumes of pieces of convex polyhedra: cells in space, cut by half-spaces.

A polyhedron is a list of faces, each a list of vertices that turn counter-clockwise seen from
outside. Cells and their owners are as in :mod:`clusterscape.kernels.polygon`.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit
from clusterscape.kernels.polygon import _FIRST, _GROWTH, _LARGEST, BOUNDED, EMPTY, UNBOUNDED

_SAME = 1e-13  # of the half-width: vertices of a cut nearer than this are one


@jit
def _cube(half, faces, counts):
    """Fill the six faces of a cube; return 6."""
    for f in range(6):
        axis, side = f // 2, 1.0 if f % 2 else -1.0
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for c in range(4):
            first = half if c in (1, 2) else -half
            second = half if c > 1 else -half
            faces[f, c, axis] = side * half
            # The other orientation for the opposite face.
            faces[f, c, u] = first if side > 0 else second
            faces[f, c, v] = second if side > 0 else first
        counts[f] = 4
    return 6


@jit
def _cut_face(face, count, a, b, out, rim, n_rim):
    """Clip one face; put the points where its rim crosses the plane into ``rim``."""
    kept = 0
    for v in range(count):
        u = v - 1 if v > 0 else count - 1
        before = a[0] * face[u, 0] + a[1] * face[u, 1] + a[2] * face[u, 2] - b
        here = a[0] * face[v, 0] + a[1] * face[v, 1] + a[2] * face[v, 2] - b
        if (before <= 0.0) != (here <= 0.0):
            t = before / (before - here)
            for e in range(3):
                out[kept, e] = face[u, e] + t * (face[v, e] - face[u, e])
                rim[n_rim, e] = out[kept, e]
            kept += 1
            n_rim += 1
        if here <= 0.0:
            for e in range(3):
                out[kept, e] = face[v, e]
            kept += 1
    return kept, n_rim


@jit
def _lid(rim, n_rim, a, tiny, out, angles):
    """Order the points of a cut around its normal into a face; return its vertex count."""
    length = np.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    n0, n1, n2 = a[0] / length, a[1] / length, a[2] / length
    # Two directions in the plane, from the axis that the normal is least along.
    if abs(n0) <= abs(n1) and abs(n0) <= abs(n2):
        u0, u1, u2 = 0.0, n2, -n1
    elif abs(n1) <= abs(n2):
        u0, u1, u2 = -n2, 0.0, n0
    else:
        u0, u1, u2 = n1, -n0, 0.0
    w0, w1, w2 = n1 * u2 - n2 * u1, n2 * u0 - n0 * u2, n0 * u1 - n1 * u0
    m0, m1, m2 = 0.0, 0.0, 0.0
    for v in range(n_rim):
        m0, m1, m2 = m0 + rim[v, 0] / n_rim, m1 + rim[v, 1] / n_rim, m2 + rim[v, 2] / n_rim
    for v in range(n_rim):
        x, y, z = rim[v, 0] - m0, rim[v, 1] - m1, rim[v, 2] - m2
        angles[v] = np.arctan2(w0 * x + w1 * y + w2 * z, u0 * x + u1 * y + u2 * z)
    order = np.argsort(angles[:n_rim])
    kept = 0
    for v in order:
        if kept > 0:
            apart = 0.0
            for e in range(3):
                apart = max(apart, abs(rim[v, e] - out[kept - 1, e]))
            if apart <= tiny:
                continue
        for e in range(3):
            out[kept, e] = rim[v, e]
        kept += 1
    return kept


@jit
def _cut(faces, counts, n_faces, a, b, tiny, space):
    """Cut a polyhedron in place by ``a . p <= b``; return the number of faces that are left."""
    rim, face, angles = space
    n_rim, left = 0, 0
    for f in range(n_faces):
        count, n_rim = _cut_face(faces[f], counts[f], a, b, face, rim, n_rim)
        if count >= 3:
            faces[left, :count] = face[:count]
            counts[left] = count
            left += 1
    if n_rim >= 3 and left > 0:
        count = _lid(rim, n_rim, a, tiny, face, angles)
        if count >= 3:
            faces[left, :count] = face[:count]
            counts[left] = count
            left += 1
    return left


@jit
def volume(faces, counts, n_faces):
    """Return the volume, as tetrahedra from the first vertex of the first face."""
    total = 0.0
    if n_faces < 4:
        return total
    o = faces[0, 0]
    for f in range(1, n_faces):
        p = faces[f]
        x0, y0, z0 = p[0, 0] - o[0], p[0, 1] - o[1], p[0, 2] - o[2]
        for v in range(1, counts[f] - 1):
            x1, y1, z1 = p[v, 0] - o[0], p[v, 1] - o[1], p[v, 2] - o[2]
            x2, y2, z2 = p[v + 1, 0] - o[0], p[v + 1, 1] - o[1], p[v + 1, 2] - o[2]
            total += x0 * (y1 * z2 - z1 * y2) - y0 * (x1 * z2 - z1 * x2) + z0 * (x1 * y2 - y1 * x2)
    return abs(total) / 6.0


@jit
def _whole(A, b, faces, counts, space):
    """Fill the faces of a cell, however large it is; return their number, state and half-width."""
    half = _FIRST
    while True:
        n_faces = _cube(half, faces, counts)
        for j in range(A.shape[0]):
            n_faces = _cut(faces, counts, n_faces, A[j], b[j], _SAME * half, space)
            if n_faces < 4:
                break
        reach = 0.0
        for f in range(n_faces):
            for v in range(counts[f]):
                for e in range(3):
                    reach = max(reach, abs(faces[f, v, e]))
        inside = n_faces >= 4 and reach < half * (1.0 - 1e-9)
        if inside or half >= _LARGEST:
            break
        half *= _GROWTH
    if n_faces < 4 or volume(faces, counts, n_faces) <= 0.0:
        return 0, EMPTY, half
    return n_faces, BOUNDED if inside else UNBOUNDED, half


@jit
def shares(A, b, n_owners, out, states):
    """Fill ``out`` (n, n_owners) with the shares of each cell's volume, and ``states`` (n,).

    ``A`` is (n, m, 3) and ``b`` (n, m). A cell that is still open at 1e8 units is cut there.
    """
    n, m = b.shape
    most = 2 * m + 16
    faces, counts = np.empty((most, most, 3)), np.empty(most, np.int64)
    piece, sizes = np.empty((most, most, 3)), np.empty(most, np.int64)
    space = (np.empty((2 * most, 3)), np.empty((2 * most, 3)), np.empty(2 * most))
    row = np.empty(3)
    for x in range(n):
        n_faces, states[x], half = _whole(A[x], b[x], faces, counts, space)
        total = 0.0
        for i in range(n_owners):
            left = n_faces
            for f in range(n_faces):
                sizes[f] = counts[f]
                piece[f, : counts[f]] = faces[f, : counts[f]]
            for j in range(n_owners):
                if j != i and left >= 4:
                    for e in range(3):
                        row[e] = A[x, j, e] - A[x, i, e]
                    c = b[x, j] - b[x, i]
                    left = _cut(piece, sizes, left, row, c, _SAME * half, space)
            out[x, i] = volume(piece, sizes, left)
            total += out[x, i]
        if total <= 0.0:
            states[x] = EMPTY
        else:
            for i in range(n_owners):
                out[x, i] /= total
