"""The points in two dimensions, coloured by cluster and faded where they are doubtful."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape.plot._axes import Frame, cluster_legend, scatter_clusters
from clusterscape.plot.plane import plane


class ScatterDisplay(Frame):
    """Points at two coordinates, coloured by cluster; doubtful points are small and pale.

    Use :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    coordinates : (n, 2) array
        Where the points are drawn.
    labels : (n,) array
        Cluster numbers.
    confidence : (n,) array, optional
        From 0 to 1; NaN where none is claimed.
    axes : (str, str)
        What the coordinates are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ConsensusMatrixDisplay : How often the clusterings put two points together.
    cluster_colors : The colours, which belong to the clusters' numbers.

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
        self.confidence = None if confidence is None else np.asarray(confidence, dtype=np.float64)
        self.axes = axes
        n = len(self.coordinates)
        for name, values in (("labels", self.labels), ("confidence", self.confidence)):
            if values is not None and values.shape != (n,):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} points; got shape "
                    f"{values.shape}."
                )
        if self.labels.dtype.kind not in "iu":
            raise ValueError(
                f"labels must be cluster numbers; got the type {self.labels.dtype}. Number them "
                "first, for example with numpy.unique(labels, return_inverse=True)."
            )

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

    @classmethod
    def from_predictions(
        cls, X: Any, labels: Any, *, confidence: Any = None, ax: Any = None
    ) -> Self:
        """Draw labels that exist already.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
            Features of the points, as in :meth:`from_estimator`.
        labels : (n,) array
            Cluster numbers; -1 for points in no cluster.
        confidence : (n,) array, optional
            From 0 to 1.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ScatterDisplay
        """
        points, axes = plane(X, len(np.asarray(labels)), "labels has entries for")
        return cls(points, labels, confidence, axes=axes).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: place, cluster and, where it is known, confidence of each point."""
        first, second = self.axes
        columns = {first: self.coordinates[:, 0], second: self.coordinates[:, 1]}
        found = pd.DataFrame(columns | {"cluster": self.labels}).rename_axis("point")
        return found if self.confidence is None else found.assign(confidence=self.confidence)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the points, and legends of the clusters' colours and of the confidences.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (7, 4.8))
        sure = np.ones(len(self.labels)) if self.confidence is None else self.confidence
        sure = np.nan_to_num(sure, nan=1.0)
        look = {"s": _area(sure), "alpha": _opacity(sure)}
        scatter_clusters(ax, self.coordinates, self.labels, **look)
        legend = cluster_legend(ax, self.labels)
        if self.confidence is not None:
            if legend is not None:
                ax.add_artist(legend)
                legend.set_clip_on(False)  # it is outside of the axes, and needs space there
            self._explain_confidence(ax)
        clusters = np.unique(self.labels[self.labels >= 0])
        ax.set(xlabel=self.axes[0], ylabel=self.axes[1])
        many = "cluster" if clusters.size == 1 else "clusters"
        ax.set_title(f"{clusters.size} {many} of {len(self.labels):,} points", fontsize=11)
        return self

    def _explain_confidence(self, ax: Any) -> None:
        """Say what small and pale dots mean, or that no confidence is claimed."""
        assert self.confidence is not None
        claimed = not np.isnan(self.confidence).all()
        handles = []
        for level in (1.0, 0.5, 0.0) if claimed else ():
            look: dict[str, Any] = {"s": _area(level), "alpha": _opacity(level), "linewidths": 0}
            handles.append(ax.scatter([], [], c="#333333", label=f"{level:g}", **look))
        ax.legend(
            handles=handles,
            title="confidence" if claimed else "confidence:\nnot claimed,\none opinion",
            fontsize=8,
            title_fontsize=8,
            loc="lower left",
            bbox_to_anchor=(1.0, 0.0),
            frameon=False,
            handletextpad=0.2,
            borderaxespad=0.3,
        )


def _area(confidence: Any) -> Any:
    """Return the area of dots in square points."""
    return 8 + 18 * confidence


def _opacity(confidence: Any) -> Any:
    return 0.3 + 0.7 * confidence
