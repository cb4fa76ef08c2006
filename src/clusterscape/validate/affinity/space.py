"""The affine hull of the clusters' representatives, in which cells are measured.

The cell of a point that is off this hull is not bounded, and its shares are not those of the
projected point: that the affinity of a point is that of its projection is a definition. How far off
the hull a point lies is returned beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from clusterscape.linalg.cells import hull_axes

_BLOCK = 2**21  # elements of a temporary block


@dataclass(frozen=True, eq=False)
class LinearSpace:
    """The hull of centres in feature space, by the singular vectors of the centred centres."""

    axes: np.ndarray
    middle: np.ndarray
    centers: np.ndarray

    @classmethod
    def of(cls, centers: np.ndarray) -> LinearSpace:
        """Return the hull of centres (k, d)."""
        axes, middle = hull_axes(centers)
        return cls(axes, middle, np.ascontiguousarray((centers - middle) @ axes))

    def project(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (n, r) of points in the hull, and their distances off it."""
        n, width = X.shape[0], self.axes.shape[1]
        points, off = np.empty((n, width)), np.empty(n)
        whole = width == X.shape[1]
        at = self.middle @ self.axes
        for rows in gen_batches(n, max(1, _BLOCK // max(X.shape[1], 1))):
            part = X[rows]
            if sparse.issparse(part):
                points[rows] = part @ self.axes - at
                squares = row_norms(part, squared=True) - 2.0 * (part @ self.middle)
                squares = squares + self.middle @ self.middle
            else:
                part = np.asarray(part, dtype=np.float64) - self.middle
                points[rows] = part @ self.axes
                squares = row_norms(part, squared=True)
            off[rows] = squares - row_norms(points[rows], squared=True)
        return points, np.zeros(n) if whole else np.sqrt(np.maximum(off, 0.0))

    def without_own(
        self, points: np.ndarray, off: np.ndarray, codes: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return centres (n, k, r), points and distances with each point taken out of its mean.

        A cluster of one point keeps its representative.
        """
        n, width = points.shape
        k = len(self.centers)
        centers = np.repeat(np.pad(self.centers, ((0, 0), (0, 1)))[None], n, axis=0)
        here = np.column_stack([points, off])
        rows = np.flatnonzero((codes >= 0) & (sizes[np.maximum(codes, 0)] > 1))
        own = codes[rows]
        centers[rows, own] += (centers[rows, own] - here[rows]) / (sizes[own] - 1.0)[:, None]
        if width < k - 1 or width == self.axes.shape[0]:
            return np.ascontiguousarray(centers[:, :, :width]), points, off
        middle = centers.mean(axis=1, keepdims=True)
        axes = np.linalg.svd(centers - middle, full_matrices=False)[2][:, :width]
        away = here - middle[:, 0]
        inside = np.einsum("nd,nrd->nr", away, axes)
        square = row_norms(away, squared=True) - row_norms(inside, squared=True)
        moved = np.einsum("nkd,nrd->nkr", centers - middle, axes)
        return np.ascontiguousarray(moved), inside, np.sqrt(np.maximum(square, 0.0))


@dataclass(frozen=True, eq=False)
class KernelSpace:
    """The hull of the clusters' means in a kernel's space, by the products of the means."""

    members: Any
    codes: np.ndarray
    sizes: np.ndarray
    kernel: str
    gamma: float | None
    gram: np.ndarray
    map: np.ndarray
    centers: np.ndarray

    @classmethod
    def of(cls, X: Any, codes: np.ndarray, kernel: str, gamma: float | None) -> KernelSpace:
        """Return the hull of the means of clusters of the rows of X."""
        inside = codes >= 0
        members, labels = X[inside], codes[inside]
        sizes = np.bincount(labels).astype(np.float64)
        empty = np.zeros((0, 0))
        made = cls(members, labels, sizes, kernel, gamma, empty, empty, empty)
        products = made.products(members)
        indicator = sparse.csr_array(
            (np.ones(labels.size), (labels, np.arange(labels.size))),
            shape=(sizes.size, labels.size),
        )
        gram = (indicator @ products) / sizes[:, None]
        gram = (gram + gram.T) / 2.0
        centred = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        values, vectors = np.linalg.eigh(centred)
        kept = values > 1e-10 * max(float(values[-1]), 0.0)
        kept &= values > 0
        order = np.flatnonzero(kept)[::-1]
        roots = np.sqrt(values[order])
        axes = vectors[:, order]
        return cls(
            members,
            labels,
            sizes,
            kernel,
            gamma,
            gram,
            axes / roots,
            np.ascontiguousarray(axes * roots),
        )

    def products(self, X: Any) -> np.ndarray:
        """Return the inner products (n, k) of points with the means of the clusters."""
        options = {} if self.gamma is None else {"gamma": self.gamma}
        n, k = X.shape[0], self.sizes.size
        out = np.empty((n, k))
        indicator = sparse.csr_array(
            (1.0 / self.sizes[self.codes], (np.arange(self.codes.size), self.codes)),
            shape=(self.codes.size, k),
        )
        for rows in gen_batches(n, max(1, _BLOCK // max(self.codes.size, 1))):
            block = pairwise_kernels(X[rows], self.members, metric=self.kernel, **options)
            out[rows] = block @ indicator
        return out

    def project(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (n, r) of points in the hull, and their distances off it."""
        options = {} if self.gamma is None else {"gamma": self.gamma}
        products = self.products(X)
        mean, grand = self.gram.mean(axis=1), self.gram.mean()
        centred = products - products.mean(axis=1, keepdims=True) - mean + grand
        points = centred @ self.map
        squares = self._own(X, options)
        square = squares - 2.0 * products.mean(axis=1) + grand - row_norms(points, squared=True)
        return np.ascontiguousarray(points), np.sqrt(np.maximum(square, 0.0))

    def _own(self, X: Any, options: dict[str, Any]) -> np.ndarray:
        """Return K(x, x) of every point, a few points at a time."""
        parts = [
            np.diag(pairwise_kernels(X[rows], metric=self.kernel, **options))
            for rows in gen_batches(X.shape[0], 256)
        ]
        return np.concatenate(parts)
