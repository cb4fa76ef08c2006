"""Lifted clusters: unit vectors or their products, and what is read off them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clusterscape.lifting import checks as checks
from clusterscape.lifting.exact import PointKernel, kernel_scores
from clusterscape.lifting.factor import factor_of
from clusterscape.lifting.fourier import FourierMap
from clusterscape.lifting.members import Members

Kernel = (
    Literal["gaussian", "laplacian", "cauchy", "discrete", "precomputed"]
    | Callable[[Any, Any], Any]
)

_NEAR = 1e-6  # squares below this share of the largest are taken from differences, for their digits
_ROOM = 2**22  # elements of a temporary block


@dataclass(frozen=True, eq=False, repr=False)
class Lifted:
    """The clusters of all partitions of an ensemble, as unit vectors; made by :func:`lift`.

    Attributes
    ----------
    offsets : (r + 1,) array
        The clusters of partition i are ``offsets[i]:offsets[i + 1]``.
    partition, cluster : (D,) arrays
        Partition of each cluster, and its number there; -1 for the noise points.
    mass : (D,) array
        Share of each cluster in the weight that its partition saw.
    total : (r,) array
        Weight that each partition saw.
    norms : (D,) array
        Lengths of the vectors before they were divided by them.
    same : (D,) array
        The first cluster that has the same members.
    vectors : (D, n_components) array or None
        Unit vectors of random features.
    gram : (D, D) array or None
        Exact inner products of the unit vectors, where there are no random features.
    kernel : str or callable
        As given.
    bandwidth : float or None
        Of the kernel, where it has one.
    n_components : int or None
        Random features; None where the kernel was summed exactly.
    n_points : int
        Points of the ensemble.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.lifting import lift
    >>> lifted = lift(Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]), [[0.0], [1.0], [5.0]])
    >>> lifted
    Lifted(4 clusters of 2 partitions, gaussian kernel of bandwidth 4, exact)
    >>> lifted.distances([0, 1], [2, 3]).round(2)
    array([[0.12, 0.54],
           [1.04, 0.46]])
    """

    offsets: np.ndarray
    partition: np.ndarray
    cluster: np.ndarray
    mass: np.ndarray
    total: np.ndarray
    norms: np.ndarray
    same: np.ndarray
    vectors: np.ndarray | None
    gram: np.ndarray | None
    kernel: Kernel
    bandwidth: float | None
    n_components: int | None
    n_points: int
    _members: Members
    _map: FourierMap | PointKernel | None

    def __repr__(self) -> str:
        name = "kernel function" if callable(self.kernel) else f"{self.kernel} kernel"
        scale = "" if self.bandwidth is None else f" of bandwidth {self.bandwidth:.4g}"
        road = "exact" if self.vectors is None else f"{self.n_components} random features"
        count = f"{self.mass.size} clusters of {self.total.size} partitions"
        return f"Lifted({count}, {name}{scale}, {road})"

    def products(self, i: Any, j: Any) -> np.ndarray:
        """Return the inner products of the unit vectors of two lists of clusters.

        Parameters
        ----------
        i, j : array of int
            Clusters, by their positions.

        Returns
        -------
        (len(i), len(j)) array
        """
        i, j = (np.atleast_1d(np.asarray(side, dtype=np.intp)) for side in (i, j))
        if self.gram is not None:
            return self.gram[np.ix_(i, j)]
        assert self.vectors is not None
        return self.vectors[i] @ self.vectors[j].T

    def distances(
        self, i: Any, j: Any, *, normalize: bool = True, squared: bool = False
    ) -> np.ndarray:
        """Return the distances of two lists of clusters; exactly 0 between equal ones.

        Parameters
        ----------
        i, j : array of int
            Clusters, by their positions.
        normalize : bool
            Between the unit vectors, which know where clusters lie and not how large they are;
            otherwise between the sums themselves.
        squared : bool
            Return the squares.

        Returns
        -------
        (len(i), len(j)) array

        Notes
        -----
        With random features the distances of nearly equal clusters keep their digits. With exact
        sums they come from products that are rounded near 1e-15, so that between clusters that are
        not equal what is below about 1e-7 (times the lengths, unless normalised) is rounding.
        """
        i, j = (np.atleast_1d(np.asarray(side, dtype=np.intp)) for side in (i, j))
        a, b, unit = np.ones((i.size, 1)), np.ones((1, j.size)), 1.0
        if not normalize:
            unit = self._unit
            a, b = self.norms[i][:, None] / unit, self.norms[j][None, :] / unit
        largest = a * a + b * b
        square = largest - 2.0 * a * b * self.products(i, j)
        if self.vectors is not None:
            rows, columns = np.nonzero(square < _NEAR * largest)
            step = max(1, _ROOM // self.vectors.shape[1])
            for start in range(0, rows.size, step):
                x, y = rows[start : start + step], columns[start : start + step]
                between = a[x] * self.vectors[i[x]] - b[0, y][:, None] * self.vectors[j[y]]
                square[x, y] = np.einsum("ij,ij->i", between, between)
        np.maximum(square, 0.0, out=square)
        return square * unit**2 if squared else np.sqrt(square, out=square) * unit

    def coordinates(self) -> np.ndarray:
        """Return (D, q) coordinates whose inner products are those of the unit vectors.

        They are the random features, or a factor of the D x D exact products in O(D q^2), where q
        is their rank to 12 digits. A kernel that is not positive definite has none.
        """
        if self.vectors is not None:
            return self.vectors
        assert self.gram is not None
        if self.gram.shape[0] == 0:
            return np.zeros((0, 0))
        kept, row = np.unique(self.same, return_inverse=True)
        return factor_of(self.gram[np.ix_(kept, kept)])[row]

    def scores(self, features: Any, coefficients: Any) -> np.ndarray:
        """Return the inner products of points with combinations of the clusters' unit vectors.

        Parameters
        ----------
        features : (m, d) array, CSR matrix, or what the kernel takes
            The points; with a precomputed kernel their values with the ensemble's points, (m, n);
            None for the ensemble's own points, with the discrete kernel.
        coefficients : (D, k) array
            Column l is the combination ``sum_c coefficients[c, l] Phi(c) / |Phi(c)|``.

        Returns
        -------
        (m, k) array
        """
        table = np.asarray(coefficients, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != self.mass.size:
            raise ValueError(
                f"coefficients must have one row a cluster, {self.mass.size} in all; got shape "
                f"{table.shape}."
            )
        if self._map is None:
            return self._members.spread(table / self.norms[:, None])
        if isinstance(self._map, FourierMap):
            assert self.vectors is not None
            width = self._map.blocks[0].shape[0]
            return self._map.scores(checks.checked_points(features, width), self.vectors.T @ table)
        kernel = self._map
        if callable(kernel.kernel):
            features = checks.checked_items(features)
        else:
            features = checks.checked_points(features, kernel.features.shape[1])
        lengths = self.norms[:, None] / self._unit
        return kernel_scores(kernel, features, self._members, table / lengths)

    @property
    def _unit(self) -> float:
        """What the members' weights are to be multiplied by."""
        return 1.0 if self._map is None else self._members.unit
