"""Kernels evaluated pair by pair, and the Gram matrix of clusters that they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from clusterscape import kernels
from clusterscape._core.parallel import parallel_map
from clusterscape._core.rows import slices
from clusterscape.lifting._members import Members
from clusterscape.linalg.distances import centre_of, squared_distances

_SIDE = 1024  # points on a side of a block of kernel values
_BLOCK = 2**22  # elements of a temporary block
_REACH = 300.0  # bandwidths from the centre beyond which products may be too coarse
_PANELS = 8  # panels that are computed before their sums are taken


class PointKernel:
    """Kernel values between the points of an ensemble, a block at a time.

    Parameters
    ----------
    kernel : str or callable
        "gaussian", "laplacian", "cauchy", "precomputed", or a function of two lists of points.
    features : array, CSR matrix or sequence
        The points, or all kernel values if they are precomputed.
    bandwidth : float or None
        Of the three kernels that have one.
    """

    def __init__(self, kernel: str | Callable[..., Any], features: Any, bandwidth: Any) -> None:
        self.kernel = kernel
        self.features = features
        self.bandwidth = bandwidth
        self.n_points = features.shape[0] if hasattr(features, "shape") else len(features)
        wide = features.shape[1] if kernel == "cauchy" and sparse.issparse(features) else 1
        self.side = max(1, min(_SIDE, _BLOCK // wide))
        # Points far from the origin would lose their digits.
        self.centre = None if bandwidth is None else centre_of(features)

    def block(self, left: slice, right: slice) -> np.ndarray:
        """Return the kernel values of two ranges of the ensemble's points."""
        if self.kernel == "precomputed":
            return _dense(self.features[left, right])
        return self._values(self.features[left], self.features[right])

    def rows(self, features: Any, left: slice, right: slice) -> np.ndarray:
        """Return the kernel values of some given points and a range of the ensemble's."""
        if self.kernel == "precomputed":
            return _dense(features[left, right])
        return self._values(features[left], self.features[right])

    def _values(self, left: Any, right: Any) -> np.ndarray:
        if callable(self.kernel):
            shape = length(left), length(right)
            return _checked_values(self.kernel(left, right), shape)
        with np.errstate(over="ignore", under="ignore"):  # beyond the bandwidth it is zero
            if self.kernel == "gaussian":
                apart = squared_distances(
                    left,
                    right,
                    centre=self.centre,
                    careful_above=min(_REACH * self.bandwidth, 1e150) ** 2,
                )
                np.sqrt(apart, out=apart)
                return np.exp(-0.5 * (apart / self.bandwidth) ** 2)
            if self.kernel == "laplacian":
                return np.exp(-manhattan_distances(left, right) / self.bandwidth)
            if self.centre is not None:
                left, right = (side.astype(np.float64) - self.centre for side in (left, right))
            sides = [np.ascontiguousarray(_dense(s) / self.bandwidth) for s in (left, right)]
            out = np.empty((sides[0].shape[0], sides[1].shape[0]))
            kernels.lifting.cauchy(*sides, out)
            return out


def length(items: Any) -> int:
    """Return the number of points in an array, a sparse matrix or a list."""
    return int(items.shape[0]) if hasattr(items, "shape") else len(items)


def _dense(block: Any) -> np.ndarray:
    return np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64)


def _checked_values(values: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return what a kernel function returned, if it is a table of numbers of the right shape."""
    try:
        table = _dense(values)
    except (TypeError, ValueError):
        raise TypeError(
            f"kernel must return numbers, one for each two points; got {type(values).__name__}."
        ) from None
    if table.shape != shape:
        raise ValueError(
            f"kernel was given {shape[0]} and {shape[1]} points and returned an array of shape "
            f"{table.shape}; it must return one of shape {shape}, with a row for each point on "
            "the left and a column for each on the right."
        )
    if not np.isfinite(table).all():
        raise ValueError("kernel returned a value that is not finite; it must be a number.")
    return table


def kernel_gram(
    kernel: PointKernel, members: Members, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the inner products of the lifted clusters, and the kernel of each point with itself.

    Each block of kernel values is evaluated on one side of the diagonal only.
    """
    n, width = kernel.n_points, members.n_rows
    side = max(1, min(kernel.side, _BLOCK // max(width, 1)))
    starts = range(0, n, side)
    half = np.zeros((width, width))
    diagonal = np.empty(n)
    for begin in range(0, len(starts), _PANELS):
        batch = starts[begin : begin + _PANELS]
        tasks = [(kernel, members, slice(s, min(s + side, n))) for s in batch]
        for (*_, rows), found in zip(
            tasks, parallel_map(_panel, tasks, n_jobs=n_jobs), strict=True
        ):
            panel, diagonal[rows] = found
            members.chunk(rows.start, rows.stop).add(panel, half)
    with np.errstate(over="ignore"):  # what is not finite is refused later
        half += half.T
    return half, diagonal


def _panel(task: tuple[PointKernel, Members, slice]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over clusters of the kernel values of a range of points, and the diagonal.

    Points before the range are left out, and the range itself counts half: the sum of the result
    and its transpose is then whole.
    """
    kernel, members, rows = task
    n, side = kernel.n_points, kernel.side
    square = kernel.block(rows, rows)
    diagonal = check_square(square, rows.start)
    sums = np.zeros((members.n_rows, rows.stop - rows.start))
    for start in [rows.start, *range(rows.stop, n, side)]:
        part = rows if start == rows.start else slice(start, min(start + side, n))
        values = 0.25 * square + 0.25 * square.T if part is rows else kernel.block(part, rows)
        if members.weight is not None:
            values = values * members.weight[part, None]
        members.chunk(part.start, part.stop).add(np.ascontiguousarray(values), sums)
    panel = np.ascontiguousarray(sums.T)
    if members.weight is not None:
        panel *= members.weight[rows, None]
    return panel, diagonal


def check_square(square: Any, start: int = 0) -> np.ndarray:
    """Return the diagonal of a square of kernel values, which must be that of a kernel."""
    diagonal = np.asarray(square.diagonal(), dtype=np.float64)
    if (diagonal < 0).any():
        x = int(np.argmin(diagonal))
        raise ValueError(
            f"kernel: the value of point {start + x} with itself is {diagonal[x]:g}; a positive "
            "definite kernel is not negative there."
        )
    scale = max(square.max(), -square.min())
    if scale > 0 and not diagonal.any():
        raise ValueError(
            "kernel: every point has the value 0 with itself, as in a matrix of distances; pass "
            "similarities, for example exp(-distances / scale)."
        )
    if _asymmetry(square) > 1e-6 * scale:
        raise ValueError(
            "kernel: the value of two points changes with their order, and a kernel is symmetric. "
            "Use (K + K.T) / 2."
        )
    return diagonal


def _asymmetry(square: Any) -> float:
    if sparse.issparse(square):
        return float(abs(square - square.T).max())
    n = square.shape[0]
    step = max(1, _BLOCK // n)  # never a second square of this size
    parts = (slice(start, start + step) for start in range(0, n, step))
    return max(float(np.abs(square[part] - square[:, part].T).max()) for part in parts)


def discrete_gram(members: Members) -> np.ndarray:
    """Return the weight that each two clusters share: a point is like itself alone."""
    n, width = members.n_points, members.n_rows
    side = max(1, min(_SIDE, _BLOCK // max(width, 1)))
    gram = np.zeros((width, width))
    for start in range(0, n, side):
        chunk = members.chunk(start, min(start + side, n))
        table = chunk.dense(width)
        if members.weight is not None:
            table *= members.weight[start : start + side, None]
        chunk.add(table, gram)
    return 0.5 * (gram + gram.T)


def kernel_scores(
    kernel: PointKernel, features: Any, members: Members, table: np.ndarray
) -> np.ndarray:
    """Return the sums over the clusters of kernel values of given points, times ``table``."""
    weights = members.per_point(table)
    if members.weight is not None:
        weights *= members.weight[:, None]
    m, n, side = length(features), kernel.n_points, kernel.side
    out = np.zeros((m, table.shape[1]))
    for left in slices(m, side):
        for right in slices(n, side):
            out[left] += kernel.rows(features, left, right) @ weights[right]
    return out
