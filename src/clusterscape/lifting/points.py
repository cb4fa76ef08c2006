"""Every point in a kernel's space: all kernel values of few points, random features of many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import MemoryLimitError
from clusterscape.lifting._exact import PointKernel
from clusterscape.lifting._fourier import fourier_map
from clusterscape.lifting.lifted import check_choice, checked_features, has_features
from clusterscape.linalg.distances import median_distance

_EXACT_BELOW = 3000  # points up to which "auto" takes all kernel values
_COMPONENTS = 200
_SAMPLE = 1000  # points from whose distances the bandwidth is estimated


class PointBasis(NamedTuple):
    """Points whose inner products are a kernel's values.

    Attributes
    ----------
    values : (n, n) or (n, n_components) array
        All kernel values, or one feature vector per point.
    is_dense : bool
        Whether they are all kernel values.
    diagonal : (n,) array
        Kernel of each point with itself.
    bandwidth : float or None
        Of the kernel, where it has one.
    n_components : int or None
        Random features; None where all kernel values are kept.
    """

    values: np.ndarray
    is_dense: bool
    diagonal: np.ndarray
    bandwidth: float | None
    n_components: int | None


def point_basis(
    features: Any,
    *,
    kernel: Any = "gaussian",
    bandwidth: Any = "median",
    n_components: Any = "auto",
    random_state: _seeds.RandomState = 0,
    max_gb: float = 4.0,
) -> PointBasis:
    """Return points in a kernel's space; the parameters are those of :func:`lift`.

    "auto" keeps all kernel values of up to 3,000 points and takes 200 random features above.
    """
    check_choice(kernel, bandwidth, n_components, None)
    n = int(features.shape[0]) if hasattr(features, "shape") else len(features)
    points = checked_features(features, kernel, n)
    sample, draw = (np.random.default_rng(s) for s in _seeds.spawn(random_state, 2))
    scale = None
    if has_features(kernel):
        scale = bandwidth
        if isinstance(bandwidth, str):
            metric = "manhattan" if kernel == "laplacian" else "euclidean"
            scale = median_distance(points, sample, sample=_SAMPLE, metric=metric, apart=True)
        scale = float(scale)
    count = n_components
    if count == "auto":
        count = None if n <= _EXACT_BELOW or not has_features(kernel) else _COMPONENTS
    need = 8.0 * n * (n if count is None else count) / 1e9
    if need > max_gb:
        what = f"{n:,} points in the kernel's space"
        remedies = ["use random features ({n_components})"] if count is None else []
        raise MemoryLimitError(
            what, need, max_gb, parameter=None, remedies=remedies, n_components=_COMPONENTS
        )
    if count is not None:
        assert scale is not None
        found = fourier_map(
            points, kernel, scale, n_components=int(count), independent=False, rng=draw
        )
        values = found.scores(points, np.eye(int(count)))
        diagonal = np.einsum("ij,ij->i", values, values)
        return PointBasis(values, False, diagonal, scale, int(count))
    values = _all_values(PointKernel(kernel, points, scale))
    return PointBasis(values, True, np.diagonal(values).copy(), scale, None)


def _all_values(kernel: PointKernel) -> np.ndarray:
    n, side = kernel.n_points, kernel.side
    values = np.empty((n, n))
    for top in range(0, n, side):
        rows = slice(top, top + side)
        for left in range(0, top + 1, side):
            columns = slice(left, left + side)
            block = kernel.block(rows, columns)
            # The two orders of a pair may differ in the last digit, and then sums would.
            values[rows, columns] = 0.5 * (block + block.T) if left == top else block
            values[columns, rows] = values[rows, columns].T
    return values
