"""The co-association of the points, ordered by cluster, with each point's confidence."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clusterscape.plot.palette import cluster_colors


class ConsensusMatrixDisplay:
    """Co-association matrix ordered by cluster, with the confidence of every point.

    Use :meth:`from_estimator`. The data behind the picture stand in the attributes.

    Parameters
    ----------
    matrix : (m, m) array
        Co-association of the points shown, in the order shown.
    labels : (m,) array
        Their clusters.
    confidence : (m,) array
        Their confidences.
    points : (m,) array
        Their positions in the data.
    n_points : int
        Points in the data; more than m when a sample is shown.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the matrix.
    figure_ : matplotlib Figure
        The figure.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape import ConsensusClustering
    >>> from clusterscape.plot import ConsensusMatrixDisplay
    >>> X = np.repeat([[0.0], [5.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    >>> model = ConsensusClustering(2, n_references=0, random_state=0).fit(X)
    >>> ConsensusMatrixDisplay.from_estimator(model).matrix.shape
    (20, 20)
    """

    def __init__(
        self,
        matrix: np.ndarray,
        *,
        labels: np.ndarray,
        confidence: np.ndarray,
        points: np.ndarray,
        n_points: int,
    ) -> None:
        self.matrix = matrix
        self.labels = labels
        self.confidence = confidence
        self.points = points
        self.n_points = n_points

    @classmethod
    def from_estimator(
        cls, model: Any, *, max_points: int = 500, ax: Any = None, random_state: int = 0
    ) -> Self:
        """Draw a fitted :class:`~clusterscape.ConsensusClustering`.

        Parameters
        ----------
        model : ConsensusClustering
            Fitted.
        max_points : int
            A random sample of this many points is shown when there are more; the title says so.
        ax : matplotlib Axes, optional
            Where the matrix is drawn; the confidence goes beside it.
        random_state : int
            Of the sample.

        Returns
        -------
        ConsensusMatrixDisplay
        """
        check_is_fitted(model)
        n = len(model.labels_)
        points = np.arange(n)
        if n > max_points:
            rng = np.random.default_rng(random_state)
            points = np.sort(rng.choice(n, size=max_points, replace=False))
        matrix = model.ensemble_.subset(points).coassociation().toarray()
        order = _ordered(matrix, model.labels_[points])
        points, matrix = points[order], matrix[np.ix_(order, order)]
        display = cls(
            matrix,
            labels=model.labels_[points],
            confidence=model.confidence_[points],
            points=points,
            n_points=n,
        )
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix, a bar of cluster colours and the confidences.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where the matrix is drawn.

        Returns
        -------
        self
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(7.5, 6), layout="constrained")[1]
        m = len(self.labels)
        image = ax.imshow(self.matrix, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
        shown = f"{m} of {self.n_points:,} points" if m < self.n_points else f"{m} points"
        ax.set_title(f"Co-association, ordered by cluster ({shown})", fontsize=11)
        ax.set_xticks([])
        borders = np.flatnonzero(np.diff(self.labels)) + 0.5
        for border in borders:
            ax.axhline(border, color="white", linewidth=0.8)
            ax.axvline(border, color="white", linewidth=0.8)
        edges = np.concatenate([[-0.5], borders, [m - 0.5]])
        ax.set_yticks((edges[1:] + edges[:-1]) / 2)
        ax.set_yticklabels([_name(self.labels[int(e + 0.5)]) for e in edges[:-1]])
        side = ax.inset_axes([1.02, 0, 0.16, 1])
        side.barh(np.arange(m), self.confidence, height=1.0, color=cluster_colors(self.labels))
        side.set(ylim=(m - 0.5, -0.5), xlim=(0, 1), yticks=[], xticks=[0, 0.5, 1])
        side.set_xlabel("confidence")
        ax.figure.colorbar(image, ax=ax, location="left", shrink=0.5, label="share of partitions")
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


def _ordered(matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the points by cluster, and within a cluster by a dendrogram, so that blocks show."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    order = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if members.size > 2:
            distance = 1.0 - matrix[np.ix_(members, members)]
            np.fill_diagonal(distance, 0.0)
            tree = linkage(squareform(distance, checks=False), "average")
            members = members[leaves_list(tree)]
        order.append(members)
    return np.concatenate(order)


def _name(label: int) -> str:
    return "none" if label < 0 else f"{int(label)}"
