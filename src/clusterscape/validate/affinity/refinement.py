"""Stability over the plane, evaluated finely only where it changes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.extmath import randomized_svd
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import (
    Choice,
    Instance,
    Integer,
    Null,
    Number,
    Rules,
    Such,
    check_params,
)
from clusterscape.generate.features import validated_features
from clusterscape.validate.affinity.estimator import Affinity

_FEW = 3  # columns whose own grid is drawn
_MOST_PICTURE = 2**27

_PLANE = Such(
    lambda v: not isinstance(v, str) and np.ndim(v) == 2 and len(v) == 2,
    "a (2, d) array of two directions",
    refused=[[[1.0, 0.0]]],
)


class AffinityMap(BaseEstimator):
    """Stability of every place of a plane, found by refining a coarse grid where it matters.

    A cell of the grid whose corners are all highly stable and lie in one cluster is left as it is;
    any other is divided and looked at again [1]_. So is one whose parts lie in one cluster and show
    nothing that interpolation would not have shown. In two or three columns the grid covers the
    data; for more it covers a plane through them.

    Parameters
    ----------
    affinity : Affinity or None
        How stability is measured; it is cloned. Default: ``Affinity()``.
    n_cells : int or None
        Cells of the coarse grid, about; by default the square root of the number of points.
    tau : float
        Cells whose corners all have at least this stability, in one cluster, are not divided.
    tolerance : float
        Cells of one cluster are not divided again when interpolation between the corners of the
        cell that they come from misses none of their own corners by more; 0 goes by ``tau`` alone,
        as the source does.
    max_depth : int
        Times that a cell can be divided.
    margin : float
        Share of the data's range that the grid extends beyond it on every side.
    plane : {"auto", "pca"} or (2, d) array
        The two directions of the grid, through the mean of the data: "auto" is the data's own
        columns if there are at most three, and otherwise the first two principal components.

    Attributes
    ----------
    affinity_ : Affinity
        As fitted to the data.
    corners_ : (m, 2 or 3) array
        The places that were evaluated, in the coordinates of the grid.
    stability_, strongest_ : (m,) array
        Stability there, and the column of the cluster with the largest share.
    cells_ : (c, 2 or 3) array
        Lower corners of the cells that the map consists of; ``sizes_`` (c, 2 or 3) their sides.
    depth_ : (c,) array
        How often each was divided.
    n_evaluations_, n_full_ : int
        Places that were evaluated, and those that a grid of the finest cells would have had.
    points_ : (n, 2 or 3) array
        The data in the coordinates of the grid.

    See Also
    --------
    Affinity : Stability of the points themselves.
    clusterscape.plot.AffinityMapDisplay : Draw it.

    Notes
    -----
    What lies between corners is interpolated, so that an unstable spot inside of a cell with stable
    corners of one cluster is missed: a coarse grid must be finer than the clusters.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 5.4.1.2.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import AffinityMap
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.3, size=(50, 2)) for c in ((0, 0), (3, 0), (0, 3))])
    >>> found = AffinityMap(max_depth=4).fit(X, np.repeat([0, 1, 2], 50))
    >>> found.n_evaluations_ < 0.7 * found.n_full_
    True
    >>> found.picture().shape
    (65, 65)
    """

    _parameter_rules: ClassVar[Rules] = {
        "affinity": [Null(), Instance(Affinity)],
        "n_cells": [Null(), Integer(1)],
        "tau": [Number(0, 1)],
        "tolerance": [Number(0)],
        "max_depth": [Integer(0, 12)],
        "margin": [Number(0)],
        "plane": [Choice("auto", "pca"), _PLANE],
    }

    def __init__(
        self,
        affinity: Affinity | None = None,
        *,
        n_cells: int | None = None,
        tau: float = 0.8,
        tolerance: float = 0.01,
        max_depth: int = 5,
        margin: float = 0.1,
        plane: Any = "auto",
    ) -> None:
        self.affinity = affinity
        self.n_cells = n_cells
        self.tau = tau
        self.tolerance = tolerance
        self.max_depth = max_depth
        self.margin = margin
        self.plane = plane

    def fit(self, X: Any, labels: Any = None) -> Self:
        """Refine the grid around the points of a clustering.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        labels : (n,) array, optional
            A clustering by any method; without it the affinity needs given representatives.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        scorer = Affinity() if self.affinity is None else clone(self.affinity)
        values = validated_features(self, X)
        self.affinity_ = scorer.fit(X, labels)
        self._middle, self._axes = self._directions(values)
        moved = values @ self._axes.T - self._middle @ self._axes.T
        own = self._axes.shape[0] == values.shape[1] and not self._is_plane
        self.points_ = np.asarray(moved) + (self._middle if own else 0.0)
        self._base = np.zeros(values.shape[1]) if own else self._middle
        low, high = self.points_.min(axis=0), self.points_.max(axis=0)
        wide = np.where(high > low, high - low, 1.0)
        low, wide = low - self.margin * wide, (1.0 + 2.0 * self.margin) * wide
        cells = int(np.sqrt(values.shape[0])) if self.n_cells is None else self.n_cells
        dimension = len(low)
        self._per_axis = max(1, int(np.ceil(max(cells, 1) ** (1.0 / dimension) - 1e-9)))
        self._low, self._step = low, wide / (self._per_axis * 2**self.max_depth)
        self._refine(dimension)
        return self

    def _directions(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean of the data and the directions of the grid."""
        d = X.shape[1]
        middle = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
        self._is_plane = not (isinstance(self.plane, str) and self.plane == "auto" and d <= _FEW)
        if d < 2:
            raise ValueError("X: a map needs at least two columns; the data have one.")
        if not self._is_plane:
            return middle, np.eye(d)
        if isinstance(self.plane, str):
            centred = X if sparse.issparse(X) else X - middle
            return middle, randomized_svd(centred, 2, random_state=0)[2]
        axes = np.asarray(self.plane, dtype=np.float64)
        if axes.shape != (2, d):
            raise ParameterError(
                f"{{plane.name}} must have two rows of {d} columns; got shape {axes.shape}.",
                plane=axes.shape,
            )
        if np.linalg.matrix_rank(axes) < 2:
            raise ParameterError(
                "{plane.name} must have two different directions; one of them is a multiple of the "
                "other.",
                plane=axes.shape,
            )
        return middle, np.linalg.qr(axes.T)[0].T

    def _refine(self, dimension: int) -> None:
        """Evaluate corners level by level, and keep the cells that are not divided."""
        side = self._per_axis * 2**self.max_depth
        shape = (side + 1,) * dimension
        self.n_full_ = int(np.prod(shape, dtype=np.int64))
        axis = np.arange(self._per_axis) * 2**self.max_depth
        cells = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), -1).reshape(-1, dimension)
        offsets = np.stack(np.meshgrid(*[[0, 1]] * dimension, indexing="ij"), -1)
        offsets = offsets.reshape(-1, dimension)
        keys = np.empty(0, dtype=np.int64)
        sigma, best = np.empty(0), np.empty(0, dtype=np.int64)
        leaves, depths = [], []
        for depth in range(self.max_depth + 1):
            size = 2 ** (self.max_depth - depth)
            corner = cells[:, None, :] + size * offsets
            key = np.ravel_multi_index(np.moveaxis(corner, -1, 0), shape)
            new = np.setdiff1d(key, keys)
            found = self._evaluate(np.stack(np.unravel_index(new, shape), -1))
            order = np.argsort(np.concatenate([keys, new]), kind="stable")
            keys = np.concatenate([keys, new])[order]
            sigma = np.concatenate([sigma, found[0]])[order]
            best = np.concatenate([best, found[1]])[order]
            at = np.searchsorted(keys, key)
            settled = (sigma[at] >= self.tau).all(axis=1)
            settled &= (best[at] == best[at][:, :1]).all(axis=1)
            if depth and self.tolerance > 0:
                settled |= _foreseen(sigma[at], best[at], offsets, self.tolerance)
            if depth == self.max_depth:
                settled[:] = True
            leaves.append(cells[settled])
            depths.append(np.full(int(settled.sum()), depth))
            cells = (cells[~settled][:, None, :] + size // 2 * offsets).reshape(-1, dimension)
            if not cells.size:
                break
        self._keys, self._shape = keys, shape
        self._leaves = np.concatenate(leaves)
        self.depth_ = np.concatenate(depths)
        self.stability_, self.strongest_ = sigma, best
        self.n_evaluations_ = keys.size
        self.corners_ = self._low + self._step * np.stack(np.unravel_index(keys, shape), -1)
        self.cells_ = self._low + self._step * self._leaves
        self.sizes_ = self._step * (2.0 ** (self.max_depth - self.depth_))[:, None]

    def _evaluate(self, lattice: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return stability and strongest cluster at places of the lattice."""
        places: Any = self.to_features(self._low + self._step * lattice)
        if not len(places):
            return np.empty(0), np.empty(0, dtype=np.int64)
        names = getattr(self.affinity_, "feature_names_in_", None)
        if names is not None:
            places = pd.DataFrame(places, columns=names)
        found = self.affinity_.score(places)
        return found.stability, found.shares.argmax(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return the places that were evaluated: coordinates, stability and strongest cluster."""
        check_is_fitted(self, "cells_")
        axes = {f"x{i}": column for i, column in enumerate(self.corners_.T)}
        strongest = np.asarray(self.affinity_.clusters_)[self.strongest_]
        return pd.DataFrame({**axes, "stability": self.stability_, "strongest": strongest})

    def to_features(self, places: Any) -> np.ndarray:
        """Return places of the grid in the coordinates of the features.

        Parameters
        ----------
        places : (m, 2 or 3) array
            In the coordinates of the grid.

        Returns
        -------
        (m, d) array
        """
        return np.asarray(places) @ self._axes + self._base

    def picture(self) -> np.ndarray:
        """Return the stability on the grid of finest cells, interpolated within larger ones.

        Returns
        -------
        array
            One axis per dimension of the grid, the first one the first coordinate.
        """
        check_is_fitted(self, "cells_")
        if self.n_full_ > _MOST_PICTURE:
            raise ParameterError(
                f"the picture of {{max_depth}} has {self.n_full_:,} places; refine less deeply.",
                max_depth=self.max_depth,
            )
        out = np.empty(self._shape)
        dimension = len(self._shape)
        for depth in range(self.max_depth + 1):
            cells = self._leaves[self.depth_ == depth]
            size = 2 ** (self.max_depth - depth)
            steps = np.stack(np.meshgrid(*[np.arange(size + 1)] * dimension, indexing="ij"), -1)
            steps = steps.reshape(-1, dimension)
            values = np.zeros((len(cells), len(steps)))
            for corner in np.ndindex((2,) * dimension):
                share = np.where(corner, steps / size, 1.0 - steps / size).prod(axis=1)
                key = np.ravel_multi_index((cells + size * np.array(corner)).T, self._shape)
                values += self.stability_[np.searchsorted(self._keys, key)][:, None] * share
            place = cells[:, None, :] + steps
            out[tuple(np.moveaxis(place, -1, 0))] = values
        return out


def _foreseen(
    sigma: np.ndarray, best: np.ndarray, offsets: np.ndarray, tolerance: float
) -> np.ndarray:
    """Return which cells need no division: those of cells that interpolation described well.

    Rows are cells, in groups that come from one larger cell, columns their corners.
    """
    parts = len(offsets)
    values = sigma.reshape(-1, parts, parts)
    own = np.arange(parts)
    corners = values[:, own, own]  # of the larger cell: corner c of its part c
    place = (offsets[:, None, :] + offsets) / 2.0  # of the parts' corners in the larger cell
    shares = np.where(offsets[:, None, None, :], place, 1.0 - place).prod(axis=-1)
    gap = np.abs(values - np.einsum("gc,cab->gab", corners, shares))
    strongest = best.reshape(-1, parts * parts)
    calm = (gap <= tolerance).all(axis=(1, 2)) & (strongest == strongest[:, :1]).all(axis=1)
    return np.repeat(calm, parts)
