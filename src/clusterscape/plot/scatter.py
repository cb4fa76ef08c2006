"""The points in two dimensions, coloured by cluster and faded where they are doubtful."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clusterscape.plot._plane import plane
from clusterscape.plot.palette import cluster_colors


class ScatterDisplay:
    """Points at two coordinates, coloured by cluster; doubtful points are small and pale.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    coordinates : (n, 2) array
        Where the points are drawn.
    labels : (n,) array
        Cluster numbers.
    confidence : (n,) array, optional
        From 0 to 1.
    axes : (str, str)
        What the coordinates are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    Notes
    -----
    Two coordinates show two clusters apart only where they are apart in these two: points that lie
    on each other here may be far from each other.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import ScatterDisplay
    >>> display = ScatterDisplay([[0, 0], [0, 1], [5, 5]], [0, 0, 1]).plot()
    >>> display.ax_.get_title()
    '2 clusters of 3 points'
    """

    def __init__(
        self,
        coordinates: Any,
        labels: Any,
        confidence: Any = None,
        *,
        axes: tuple[str, str] = ("x", "y"),
    ) -> None:
        self.coordinates = np.asarray(coordinates, dtype=np.float64)
        self.labels = np.asarray(labels)
        self.confidence = None if confidence is None else np.asarray(confidence)
        self.axes = axes

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Any = None) -> Self:
        """Draw the points that a model was fitted to.

        Parameters
        ----------
        model : estimator
            Any fitted clusterer with ``labels_``; ``confidence_`` is used where there is one.
        X : (n, d) array or sparse matrix
            Features of the points: drawn as they are when there are two, otherwise at their first
            two principal components (singular vectors of sparse features).
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ScatterDisplay
        """
        check_is_fitted(model)
        points, axes = plane(X, len(model.labels_), "the model was fitted to")
        made = cls(points, model.labels_, getattr(model, "confidence_", None), axes=axes)
        return made.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6, 4.8), layout="constrained")[1]
        sure = np.ones(len(self.labels)) if self.confidence is None else self.confidence
        ax.scatter(
            *self.coordinates.T,
            c=cluster_colors(self.labels),
            s=8 + 18 * sure,
            alpha=0.3 + 0.7 * sure,
            linewidths=0,
        )
        clusters = np.unique(self.labels[self.labels >= 0])
        for cluster in clusters[:12]:
            colour = cluster_colors([cluster])[0]
            ax.scatter([], [], c=colour, s=26, label=f"{cluster}")
        if 1 < clusters.size <= 12:
            ax.legend(title="cluster", fontsize=8, loc="best")
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        many = "cluster" if clusters.size == 1 else "clusters"
        ax.set_title(f"{clusters.size} {many} of {len(self.labels):,} points", fontsize=11)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
