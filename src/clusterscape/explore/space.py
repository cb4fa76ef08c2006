"""The points as inner products, which is all that a quality of partitions sees of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Rules
from clusterscape._core.seeds import RandomState
from clusterscape.lifting.lifted import RULES as LIFT_RULES
from clusterscape.lifting.points import point_basis
from clusterscape.linalg.distances import check_range

_DENSE_BELOW = 3000  # points up to which all inner products are kept
_MOST_GB = 4.0

# How points become inner products; the kernels' own rules.
SPACE_RULES: Rules = {name: LIFT_RULES[name] for name in ("kernel", "bandwidth", "n_components")}


@dataclass(frozen=True, eq=False)
class Space:
    """Points whose inner products are known.

    Attributes
    ----------
    basis : (n, width) array
        All inner products (n, n), or vectors that have them.
    is_dense : bool
        Whether they are all inner products.
    diagonal : (n,) array
        Inner product of each point with itself.
    trace, centre : float
        The diagonal's sum; the sum over all pairs, divided by n.
    bandwidth : float or None
        Of the kernel; None for the inner products of the features themselves.
    n_components : int or None
        Random features; None where inner products are exact.
    """

    basis: np.ndarray
    is_dense: bool
    diagonal: np.ndarray
    trace: float
    centre: float
    bandwidth: float | None
    n_components: int | None

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.basis.shape[0])


def kernel_space(
    X: Any, *, kernel: Any, bandwidth: Any, n_components: Any, random_state: RandomState
) -> Space:
    """Return the points in a kernel's space."""
    found = point_basis(
        X,
        kernel=kernel,
        bandwidth=bandwidth,
        n_components=n_components,
        random_state=random_state,
        max_gb=_MOST_GB,
    )
    return _space(found.values, found.is_dense, found.diagonal, found.bandwidth, found.n_components)


def linear_space(X: Any) -> Space:
    """Return the points as they are, around their mean."""
    n, d = X.shape
    need = 8.0 * n * d / 1e9
    if need > _MOST_GB:
        raise MemoryLimitError(f"{n:,} points with {d:,} columns", need, _MOST_GB, parameter=None)
    points = X.toarray() if sparse.issparse(X) else np.asarray(X)
    points = points.astype(np.float64)
    check_range(points, "X", smallest=False)
    points -= points.mean(axis=0)
    if n > _DENSE_BELOW:
        values, is_dense = np.ascontiguousarray(points), False
    else:
        values, is_dense = points @ points.T, True
        values = 0.5 * (values + values.T)
    return _space(values, is_dense, np.einsum("ij,ij->i", points, points), None, None)


def _space(
    values: np.ndarray,
    is_dense: bool,
    diagonal: np.ndarray,
    bandwidth: float | None,
    n_components: int | None,
) -> Space:
    n = values.shape[0]
    total = values.sum() if is_dense else float((values.sum(axis=0) ** 2).sum())
    return Space(
        np.ascontiguousarray(values),
        is_dense,
        np.ascontiguousarray(diagonal),
        float(diagonal.sum()),
        float(total) / n,
        bandwidth,
        n_components,
    )
