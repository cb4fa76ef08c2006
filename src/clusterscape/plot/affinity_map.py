"""Stability over the plane: heat map, contours, the refined grid, and the cell of one point."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from clusterscape.linalg import sample_polytope
from clusterscape.plot._axes import Frame, scatter_clusters
from clusterscape.plot.palette import cluster_colors

_LEVELS = np.linspace(0.3, 0.9, 7)


class AffinityMapDisplay(Frame):
    """A refined map of stability, as a heat map, as contours, or as the grid itself.

    Parameters
    ----------
    refined : AffinityMap
        Fitted, in two dimensions.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.AffinityMap : What is drawn.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figures 5.5 to 5.8.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import AffinityMapDisplay
    >>> from clusterscape.validate import AffinityMap
    >>> X = np.array([[0.0, 0], [1, 0], [5, 0], [5, 1], [0, 5], [1, 5]])
    >>> refined = AffinityMap(max_depth=2).fit(X, [0, 0, 1, 1, 2, 2])
    >>> AffinityMapDisplay(refined).plot(kind="contour").ax_.get_title()
    'Stability: 81 of 81 places evaluated'
    """

    def __init__(self, refined: Any) -> None:
        if refined.points_.shape[1] != 2:
            raise ValueError("refined: only a map of two dimensions can be drawn.")
        self.refined = refined

    def to_frame(self) -> pd.DataFrame:
        """Return the places that were evaluated: coordinates, stability and strongest cluster."""
        frame: pd.DataFrame = self.refined.to_frame()
        return frame

    @classmethod
    def from_estimator(
        cls,
        refined: Any,
        *,
        kind: Literal["heat", "contour", "grid"] = "heat",
        points: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted map.

        Parameters
        ----------
        refined : AffinityMap
            Fitted, in two dimensions.
        kind, points, ax
            As in :meth:`plot`.

        Returns
        -------
        AffinityMapDisplay
        """
        return cls(refined).plot(kind=kind, points=points, ax=ax)

    def plot(
        self,
        *,
        kind: Literal["heat", "contour", "grid"] = "heat",
        points: bool = True,
        ax: Any = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        kind : {"heat", "contour", "grid"}
            Greys, the brighter the less stable; lines of equal stability; or the cells of the
            refined grid over the greys.
        points : bool
            Draw the data in the colours of their clusters.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        if kind not in ("heat", "contour", "grid"):
            raise ValueError(f"kind must be 'heat', 'contour' or 'grid'; got {kind!r}.")
        ax = self._begin(ax, (6.2, 4.8))
        found = self.refined
        picture = found.picture().T
        low = found.cells_.min(axis=0)
        high = (found.cells_ + found.sizes_).max(axis=0)
        if kind == "contour":
            axes = [
                np.linspace(a, b, n) for a, b, n in zip(low, high, picture.T.shape, strict=True)
            ]
            lines = ax.contour(*axes, picture, levels=_LEVELS, colors="#555555", linewidths=0.8)
            ax.clabel(lines, fontsize=7)
        else:
            image = ax.imshow(
                picture,
                origin="lower",
                extent=(low[0], high[0], low[1], high[1]),
                cmap="gray_r",
                vmin=0,
                vmax=1,
                aspect="auto",
            )
            ax.figure.colorbar(image, ax=ax, label="stability")
        if kind == "grid":
            self._grid(ax)
        if points:
            scatter_clusters(ax, found.points_, found.affinity_.labels_, s=9)
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        ax.set(**dict(zip(("xlabel", "ylabel"), self._names(), strict=False)))
        ax.set_title(
            f"Stability: {found.n_evaluations_:,} of {found.n_full_:,} places evaluated",
            fontsize=11,
        )
        return self

    def _names(self) -> list[str]:
        """Return what the axes are; nothing for two columns without names."""
        found = self.refined
        if not isinstance(found.plane, str):
            return ["first direction", "second direction"]
        if found.plane == "pca" or found.affinity_.n_features_in_ > 2:
            return ["principal component 1", "principal component 2"]
        return [str(name) for name in getattr(found.affinity_, "feature_names_in_", ())]

    def _grid(self, ax: Any) -> None:
        """Draw the border of every cell."""
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        found = self.refined
        sides = np.broadcast_to(found.sizes_, found.cells_.shape)
        cells = [Rectangle(p, w, h) for p, (w, h) in zip(found.cells_, sides, strict=True)]
        ax.add_collection(
            PatchCollection(cells, facecolor="none", edgecolor="#D55E00", linewidth=0.4)
        )


class CellDisplay(Frame):
    """Points of the cell that one point would take from its neighbours, by neighbour.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    samples : (m, 2) array
        Points drawn uniformly from the cell by hit-and-run.
    owners : (m,) array
        The cluster that each is taken from.
    centers : (k, 2) array
        The representatives.
    point : (2,) array
        The point.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.linalg.sample_polytope : Draws the points.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figures 5.3 and 5.7.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import CellDisplay
    >>> from clusterscape.validate import Affinity
    >>> X = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [4.0, 4.0]]
    >>> made = Affinity().fit(X, [0, 1, 2, 3])
    >>> display = CellDisplay.from_estimator(made, [1.0, 1.5], random_state=0)
    >>> display.samples.shape
    (1000, 2)
    """

    def __init__(self, samples: Any, owners: Any, *, centers: Any, point: Any) -> None:
        self.samples = np.asarray(samples, dtype=np.float64)
        self.owners = np.asarray(owners)
        self.centers = np.asarray(centers, dtype=np.float64)
        self.point = np.asarray(point, dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """Return the samples: their two coordinates, and the cluster that each is taken from."""
        columns = {"x": self.samples[:, 0], "y": self.samples[:, 1], "taken_from": self.owners}
        return pd.DataFrame(columns)

    @classmethod
    def from_estimator(
        cls,
        affinity: Any,
        point: Any,
        *,
        n_samples: int = 1000,
        random_state: int | None = None,
        ax: Any = None,
    ) -> Self:
        """Sample and draw the cell of one point.

        Parameters
        ----------
        affinity : Affinity
            Fitted to data of two columns, Euclidean and without weights.
        point : (2,) array
            A point inside of the hull of the representatives.
        n_samples : int
            Points to draw.
        random_state : int or None
            Seed.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        CellDisplay
        """
        centers = affinity.representatives_
        here = np.asarray(point, dtype=np.float64)
        if centers.shape[1] != 2 or here.shape != (2,):
            raise ValueError("a cell is drawn in the plane: the data must have two columns.")
        if bool(affinity.score(here[None]).outside[0]):
            raise ValueError(
                "point lies outside of the hull of the representatives, so that its cell is not "
                "bounded; choose one between them, such as one whose certificate is not 'outside'."
            )
        away = centers - here
        A, b = 2 * away, (away**2).sum(axis=1)
        drawn = sample_polytope(A, b, n_samples, start=np.zeros(2), thin=2, seed=random_state)
        owners = (b - drawn @ A.T).argmin(axis=1)
        return cls(drawn + here, owners, centers=centers, point=here).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the samples, the representatives and the point.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (5.0, 4.6))
        scatter_clusters(ax, self.samples, self.owners, s=6)
        k = len(self.centers)
        ax.scatter(
            *self.centers.T, c=cluster_colors(np.arange(k)), marker="s", s=40, edgecolors="black"
        )
        for c, (x, y) in enumerate(self.centers):
            ax.annotate(str(c), (x, y), xytext=(6, 6), textcoords="offset points", fontsize=8)
        ax.scatter(*self.point, c="black", marker="x", s=50)
        share = np.bincount(self.owners, minlength=k).max() / self.owners.size
        ax.set_title(f"Cell of a point: the largest share is {share:.2f}", fontsize=11)
        return self
