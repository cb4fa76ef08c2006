"""The points that make two partitions differ."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.weights import checked_weights
from clusterscape.compare import explain
from clusterscape.plot._axes import Frame
from clusterscape.plot.plane import plane

_COLOURS = "YlGnBu"
_UNSEEN = "#BBBBBB"


class DifferencesDisplay(Frame):
    """Points at two coordinates, the darker and larger the more they make two partitions differ.

    Use :meth:`from_explanation` or :meth:`from_partitions`.

    Parameters
    ----------
    coordinates : (n, 2) array
        Where the points are drawn.
    scores : (n,) array
        How far apart the two clusters of each point lie; nan where a partition did not see it.
    axes : (str, str)
        What the coordinates are.
    names : (str, str)
        What the two partitions are called.
    weights : (n,) array, optional
        How much each point counts in the title; by default all alike.

    Attributes
    ----------
    coordinates, scores : array
        As given.
    n_half : int
        The fewest points whose scores, by weight, make up half of the sum of all.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    TransportDisplay : How much of each cluster goes where.
    clusterscape.compare.explain : The figures behind the picture.

    Notes
    -----
    A point's score is the distance between its cluster in one partition and its cluster in the
    other. It is 0 only where the two clusters are the same: a point that stays has a score above 0
    when others join its cluster or leave it. Two coordinates of many show only a part of where
    points lie: those on top of each other here may be far apart.

    References
    ----------
    P. Raman, J. M. Phillips, S. Venkatasubramanian, "Spatially-aware comparison and consensus for
    clusterings", SIAM International Conference on Data Mining, 307-318, 2011.
    doi:10.1137/1.9781611972818.27

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import DifferencesDisplay
    >>> display = DifferencesDisplay([[0, 0], [0, 1], [5, 5]], [0.0, 0.3, 0.1]).plot()
    >>> display.ax_.get_title()
    'Where a and b differ: half of it at 1 of 3 points'
    """

    def __init__(
        self,
        coordinates: Any,
        scores: Any,
        *,
        axes: tuple[str, str] = ("x", "y"),
        names: tuple[str, str] = ("a", "b"),
        weights: Any = None,
    ) -> None:
        self.coordinates = np.asarray(coordinates, dtype=np.float64)
        self.scores = np.asarray(scores, dtype=np.float64)
        if self.scores.ndim != 1 or self.coordinates.shape != (self.scores.size, 2):
            raise ValueError(
                "coordinates must have two columns and one row for each of the scores; got shapes "
                f"{self.coordinates.shape} and {self.scores.shape}."
            )
        if not np.isfinite(self.coordinates).all():
            raise ValueError("coordinates must be finite; remove points with NaN or infinity.")
        self.axes = axes
        self.names = names
        if weights is not None and self.scores.size:
            weights = checked_weights(weights, self.scores.size, name="weights")
        self.n_half = _fewest(self.scores if weights is None else self.scores * weights)

    @classmethod
    def from_explanation(
        cls,
        explanation: Any,
        X: Any,
        *,
        names: tuple[str, str] = ("a", "b"),
        ax: Any = None,
    ) -> Self:
        """Draw the points' scores of :func:`~clusterscape.compare.explain`.

        Parameters
        ----------
        explanation : Explanation
            Of two partitions.
        X : (n, d) array or sparse matrix
            Features of the points: drawn as they are when there are two, otherwise at their first
            two principal components (singular vectors of sparse features).
        names : (str, str)
            What the two partitions are called.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DifferencesDisplay
        """
        scores = np.asarray(explanation.points, dtype=np.float64)
        values = X.data if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError("X must be finite; remove points with NaN or infinity.")
        points, axes = plane(X, scores.size, "the two partitions have")
        weights = getattr(explanation, "weights", None)
        return cls(points, scores, axes=axes, names=names, weights=weights).plot(ax=ax)

    @classmethod
    def from_partitions(
        cls,
        a: Any,
        b: Any,
        features: Any,
        *,
        names: tuple[str, str] = ("a", "b"),
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Explain the distance of two partitions, and draw the points.

        Parameters
        ----------
        a, b : array-like
            Two partitions of the same points.
        features : (n, d) array or sparse matrix
            The points, by which the distance is measured and at which they are drawn.
        names : (str, str)
            What the two partitions are called.
        ax : matplotlib Axes, optional
            Where to draw.
        **options
            Options of :func:`~clusterscape.compare.explain`: ``kernel``, ``bandwidth``, ...

        Returns
        -------
        DifferencesDisplay
        """
        found = explain(a, b, features, **options)
        return cls.from_explanation(found, features, names=names, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the place of every point and the distance of its two clusters."""
        first, second = self.axes
        columns = {first: self.coordinates[:, 0], second: self.coordinates[:, 1]}
        return pd.DataFrame(columns | {"distance": self.scores}).rename_axis("point")

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the points, those with high scores last.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 4.8))
        seen = np.isfinite(self.scores)
        scores = self.scores[seen]
        largest = float(scores.max(initial=0.0)) or 1.0
        order = np.argsort(scores, kind="stable")
        if not seen.all():
            ax.scatter(
                *self.coordinates[~seen].T,
                marker="x",
                s=10,
                c=_UNSEEN,
                linewidths=0.7,
                label=f"not in both ({(~seen).sum():,})",
            )
            ax.legend(fontsize=8, loc="best")
        image = ax.scatter(
            *self.coordinates[seen][order].T,
            c=scores[order],
            s=_area(scores[order] / largest, self.scores.size),
            cmap=_COLOURS,
            vmin=-0.2 * largest,  # the palest colours do not show on white
            vmax=largest,
            linewidths=0,
        )
        bar = ax.figure.colorbar(image, ax=ax, shrink=0.8)
        bar.ax.set_ylim(0, largest)
        bar.set_label("distance between the point's two clusters (larger dots: larger)")
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        first, second = self.names
        where = f"half of it at {self.n_half:,} of {seen.sum():,} points"
        title = f"Where {first} and {second} differ: {where if self.n_half else 'nowhere'}"
        ax.set_title(title, fontsize=11, parse_math=False)
        return self


def _area(share: np.ndarray, n: int) -> np.ndarray:
    """Return the areas of dots in square points: smaller where there are many."""
    whole = float(np.clip(30 * np.sqrt(1000 / max(n, 1)), 3, 36))
    found: np.ndarray = whole * (0.25 + 0.75 * share)
    return found


def _fewest(work: np.ndarray) -> int:
    """Return how many of the largest make up half of the sum; 0 where all are zero."""
    reached = np.cumsum(np.sort(np.nan_to_num(work))[::-1])
    if reached.size == 0 or reached[-1] <= 0:
        return 0
    return int(np.argmax(reached >= reached[-1] / 2)) + 1
