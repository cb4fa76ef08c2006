"""A landscape of partitions: the map, the distances, the qualities, and what clusters look like."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape.compare import PairwiseResult
from clusterscape.explore.grouping import best_of_groups, grouped, plane_of
from clusterscape.plot._axes import Frame, Grid, cluster_legend
from clusterscape.plot._distances import ANSWER, as_distances, compared, names_of
from clusterscape.plot.palette import cluster_colors, cluster_marker

_NAMED = 40  # partitions that are named beside their matrix
_ALL, _SHOWN, _OTHER = "#0072B2", "#E69F00", "#009E73"


class LandscapeDisplay(Frame):
    """Map of partitions: near ones are alike, colours and shapes are groups.

    Use :meth:`from_estimator` for a landscape, :meth:`from_ensemble` for any clusterings.

    Parameters
    ----------
    coordinates : (m, 2) array
        Places of the partitions; rows of nan are not drawn.
    groups : (m,) array
        Group of each.
    counts : (m,) array
        How often each was sampled: the area of its dot.
    representatives : (g,) array of int
        Position of each group's representative.
    share : float
        Share of the squared distances that the map shows.
    names : sequence of str, optional
        Names of the partitions; their positions unless given. One called "answer" is marked.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.explore.Landscape : Makes what is drawn.
    DistanceDistributionDisplay : How far apart the partitions are.

    Notes
    -----
    A plane cannot show all distances: what is far apart on the map is different, and what is near
    may still differ when ``share`` is small.

    References
    ----------
    W. S. Torgerson, "Multidimensional scaling: I. Theory and method", Psychometrika 17, 401-419,
    1952. doi:10.1007/BF02288916

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import LandscapeDisplay
    >>> display = LandscapeDisplay(
    ...     [[0, 0], [0, 1], [5, 0]], [0, 0, 1], counts=[5, 1, 2], representatives=[0, 2]
    ... ).plot()
    >>> display.ax_.get_title()
    '3 partitions in 2 groups'
    """

    def __init__(
        self,
        coordinates: Any,
        groups: Any,
        *,
        counts: Any,
        representatives: Any,
        share: float = float("nan"),
        names: Any = None,
    ) -> None:
        self.coordinates = np.asarray(coordinates, dtype=np.float64)
        self.groups = np.asarray(groups)
        self.counts = np.asarray(counts, dtype=np.float64)
        self.representatives = np.asarray(representatives)
        self.share = share
        self.names = list(range(len(self.coordinates)) if names is None else names)

    @classmethod
    def from_estimator(cls, landscape: Any, *, ax: Any = None) -> Self:
        """Draw a fitted landscape.

        Parameters
        ----------
        landscape : Landscape
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        LandscapeDisplay
        """
        check_is_fitted(landscape, "embedding_")
        at = landscape.compared_
        place = {int(i): p for p, i in enumerate(at)}
        return cls(
            landscape.embedding_[at],
            landscape.groups_[at],
            counts=landscape.counts_,
            representatives=[place[int(i)] for i in landscape.representative_indices_],
            share=landscape.embedding_share_,
            names=at,
        ).plot(ax=ax)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        *,
        answer: Any = None,
        metric: str = "adjusted_rand",
        n_groups: int = 5,
        features: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw any clusterings, grouped by average linkage of their distances.

        A group is represented by the clustering that is nearest to all others of the group.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The clusterings.
        answer : (n,) labels, optional
            A further clustering, such as the consensus, marked by a diamond.
        metric : str
            A measure of :func:`~clusterscape.compare.pairwise`.
        n_groups : int
            Groups, at most.
        features : (n, d) array, optional
            The points, for a measure that needs them.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        LandscapeDisplay
        """
        _, at, far = compared(ensemble, answer, metric=metric, features=features)
        once = np.ones(len(far))
        groups = grouped(far, once, once, n_groups, how="average")
        groups = _by_size(groups)
        same = groups[:, None] == groups[None, :]
        nearness = -np.where(same, far, 0.0).sum(axis=1)
        place, share = plane_of(far, once)
        called = names_of(ensemble)
        return cls(
            place,
            groups,
            counts=once,
            representatives=best_of_groups(groups, nearness),
            share=share,
            names=[ANSWER if i < 0 else called[int(i)] for i in at],
        ).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: name, place, group and count of each partition."""
        chosen = np.zeros(len(self.groups), dtype=bool)
        chosen[self.representatives] = True
        columns = {
            "partition": self.names,
            "x": self.coordinates[:, 0],
            "y": self.coordinates[:, 1],
            "group": self.groups,
            "count": self.counts,
            "representative": chosen,
        }
        return pd.DataFrame(columns)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 5))
        area = 12.0 + 100.0 * self.counts / max(self.counts.max(), 1.0)
        colours = np.array(cluster_colors(self.groups))
        for group in np.unique(self.groups):
            at = self.groups == group
            look = {"marker": cluster_marker(int(group)), "c": colours[at]}
            ax.scatter(*self.coordinates[at].T, s=area[at], alpha=0.5, linewidths=0, **look)
        chosen = self.coordinates[self.representatives]
        for p, (x, y) in zip(self.representatives, chosen, strict=True):
            group = int(self.groups[p])
            look = {"marker": cluster_marker(group), "c": colours[p : p + 1]}
            ax.scatter([x], [y], s=80, edgecolors="black", linewidths=1.0, **look)
            ax.annotate(str(group), (x, y), xytext=(5, 5), textcoords="offset points", fontsize=8)
        cluster_legend(ax, self.groups, title="group")
        shown = "" if np.isnan(self.share) else f" ({self.share:.0%} of the squared distances)"
        ax.set(xlabel=f"scaling of the distances{shown}", ylabel="")
        ax.set_aspect("equal", adjustable="datalim")
        self._mark_answer(ax)
        many = len(self.coordinates)
        ax.set_title(f"{many:,} partitions in {np.unique(self.groups).size} groups", fontsize=11)
        return self

    def _mark_answer(self, ax: Any) -> None:
        """Draw a diamond around the partition that is called the answer, if there is one."""
        for name, (x, y) in zip(self.names, self.coordinates, strict=True):
            if name == ANSWER:
                ax.scatter(x, y, s=150, marker="D", facecolors="none", edgecolors="black", lw=1.6)
                ax.annotate(name, (x, y), xytext=(9, -11), textcoords="offset points", fontsize=9)


class DistanceDistributionDisplay(Frame):
    """Distances between representatives beside those between all sampled partitions.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    sampled : array
        Distances of pairs of sampled partitions.
    representatives : array
        Distances of pairs of representatives.
    weights : array, optional
        How often each sampled pair occurs.
    name : str
        What the distance is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    DistanceMatrixDisplay : The representatives' distances, pair by pair.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation, University of Utah, 2013,
    figure 4.7.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import DistanceDistributionDisplay
    >>> display = DistanceDistributionDisplay([0.1, 0.2, 0.3], [0.3], name="LiftEMD").plot()
    >>> display.ax_.get_xlabel()
    'LiftEMD'
    """

    def __init__(
        self,
        sampled: Any,
        representatives: Any,
        *,
        weights: Any = None,
        name: str = "distance",
    ) -> None:
        self.sampled = np.asarray(sampled, dtype=np.float64)
        self.representatives = np.asarray(representatives, dtype=np.float64)
        given = np.ones(self.sampled.size) if weights is None else weights
        self.weights = np.asarray(given, dtype=np.float64)
        self.name = name

    @classmethod
    def from_estimator(cls, landscape: Any, *, ax: Any = None) -> Self:
        """Draw the distances of a fitted landscape; pairs count as often as they were sampled.

        Parameters
        ----------
        landscape : Landscape
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DistanceDistributionDisplay
        """
        check_is_fitted(landscape, "distances_")
        rows, columns = np.triu_indices(len(landscape.distances_), 1)
        counts = landscape.counts_
        same = (counts * (counts - 1) / 2).sum()  # a partition and a copy of it
        upper = np.triu_indices(len(landscape.representative_distances_), 1)
        return cls(
            np.append(landscape.distances_[rows, columns], 0.0),
            landscape.representative_distances_[upper],
            weights=np.append(counts[rows] * counts[columns], same),
            name=landscape.distance,
        ).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the distances of pairs, how often they occur, and of what."""
        parts = [
            pd.DataFrame({"kind": "sampled", "distance": self.sampled, "weight": self.weights}),
            pd.DataFrame(
                {"kind": "representatives", "distance": self.representatives, "weight": 1.0}
            ),
        ]
        return pd.concat(parts, ignore_index=True)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw two normalised histograms.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 3.6))
        high = max(self.sampled.max(initial=0.0), self.representatives.max(initial=0.0), 1e-12)
        edges = np.linspace(0.0, high * 1.0001, 41)
        for values, weights, colour, hatch, words in (
            (self.sampled, self.weights, _ALL, None, "sampled partitions"),
            (self.representatives, None, _SHOWN, "///", "representatives"),
        ):
            if values.size:
                ax.hist(
                    values,
                    bins=edges,
                    weights=weights,
                    density=True,
                    histtype="stepfilled",
                    alpha=0.55,
                    color=colour,
                    hatch=hatch,
                    label=words,
                )
        ax.set(xlabel=self.name, ylabel="density of pairs")
        ax.legend(frameon=False, fontsize=9)
        return self


def _tree_order(far: np.ndarray) -> np.ndarray:
    """Return an order of the partitions that has near ones beside each other."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    return np.asarray(leaves_list(linkage(squareform(far, checks=False), "average")))


class DistanceMatrixDisplay(Frame):
    """Distances between partitions as a heat map: red far, blue near.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    distances : (g, g) array
        The distances.
    names : sequence of str, optional
        Names of the partitions; their numbers unless given.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    DistanceDistributionDisplay : Beside all sampled pairs.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation, University of Utah, 2013,
    figure 4.8.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import DistanceMatrixDisplay
    >>> DistanceMatrixDisplay([[0, 1], [1, 0]]).plot().ax_.get_title()
    'distances of 2 partitions'
    """

    def __init__(self, distances: Any, names: Any = None) -> None:
        self.distances = np.asarray(distances, dtype=np.float64)
        given = range(len(self.distances)) if names is None else names
        self.names = [str(name) for name in given]

    @classmethod
    def from_estimator(cls, landscape: Any, *, ax: Any = None) -> Self:
        """Draw the distances between the representatives of a fitted landscape.

        Parameters
        ----------
        landscape : Landscape
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DistanceMatrixDisplay
        """
        check_is_fitted(landscape, "representative_distances_")
        return cls(landscape.representative_distances_).plot(ax=ax)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        *,
        answer: Any = None,
        metric: str = "adjusted_rand",
        features: Any = None,
        ax: Any = None,
    ) -> Self:
        """Draw the distances between any clusterings, in the order of their tree.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The clusterings.
        answer : (n,) labels, optional
            A further clustering, such as the consensus; it is called "answer".
        metric : str
            A measure of :func:`~clusterscape.compare.pairwise`; of a similarity, what is missing
            to 1.
        features : (n, d) array, optional
            The points, for a measure that needs them.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DistanceMatrixDisplay
        """
        _, at, far = compared(ensemble, answer, metric=metric, features=features)
        called = names_of(ensemble)
        order = _tree_order(far)
        names = [ANSWER if at[i] < 0 else called[int(at[i])] for i in order]
        return cls(far[np.ix_(order, order)], names).plot(ax=ax)

    @classmethod
    def from_pairwise(cls, found: PairwiseResult, *, names: Any = None, ax: Any = None) -> Self:
        """Draw distances that were computed already, in the order of their tree.

        Parameters
        ----------
        found : PairwiseResult
            Of :func:`~clusterscape.compare.pairwise`, with one measure; of a similarity, what is
            missing to 1.
        names : sequence of str, optional
            Names of the clusterings; by default those of the result.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DistanceMatrixDisplay
        """
        far = as_distances(found.matrix, found.metrics[0])
        given = list(found.names if names is None else names)
        order = _tree_order(far)
        return cls(far[np.ix_(order, order)], [given[i] for i in order]).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the matrix, with the names of the partitions."""
        return pd.DataFrame(self.distances, index=self.names, columns=self.names)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (5.4, 4.6))
        image = ax.imshow(self.distances, cmap="RdYlBu_r", vmin=0.0)
        ax.figure.colorbar(image, ax=ax, label="distance", shrink=0.8)
        places = range(len(self.names))
        if len(self.names) <= _NAMED:
            turned = 90 if max(map(len, self.names), default=0) > 3 else 0
            ax.set_xticks(places, self.names, rotation=turned, fontsize=8, parse_math=False)
            ax.set_yticks(places, self.names, fontsize=8, parse_math=False)
        ax.set_title(f"distances of {len(self.names)} partitions", fontsize=11)
        return self


class QualityDistributionDisplay(Frame):
    """Quality of all sampled partitions, with the representatives and others marked.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    quality : (m,) array
        Quality of each sample.
    representatives : (g,) array
        Quality of the representatives, drawn as squares.
    others : dict, optional
        Quality of other partitions by name (a consensus, a reference), drawn as circles.
    name : str
        What the quality is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.explore.separation_quality : A quality.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation, University of Utah, 2013,
    figure 4.9.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import QualityDistributionDisplay
    >>> display = QualityDistributionDisplay(
    ...     [0.8, 0.9, 0.9, 1.0], [1.0], others={"consensus": 0.95}
    ... ).plot()
    >>> [text.get_text() for text in display.ax_.get_legend().get_texts()]
    ['sampled partitions', 'representatives', 'consensus']
    """

    def __init__(
        self, quality: Any, representatives: Any, others: Any = None, *, name: str = "quality"
    ) -> None:
        self.quality = np.asarray(quality, dtype=np.float64)
        self.representatives = np.asarray(representatives, dtype=np.float64)
        self.others = {str(n): float(v) for n, v in (others or {}).items()}
        self.name = name

    @classmethod
    def from_estimator(
        cls, landscape: Any, *, others: Any = None, reference: float | None = None, ax: Any = None
    ) -> Self:
        """Draw the qualities of a fitted landscape.

        Parameters
        ----------
        landscape : Landscape
            Fitted.
        others : dict, optional
            Quality of other partitions by name.
        reference : float, optional
            Quality of a reference partition, by which all are divided; it must be positive.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        QualityDistributionDisplay
        """
        check_is_fitted(landscape, "quality_")
        if reference is not None and not reference > 0:
            raise ValueError(
                f"reference must be a positive quality to divide by; got {reference!r}."
            )
        unit = 1.0 if reference is None else float(reference)
        name = landscape.quality if isinstance(landscape.quality, str) else "quality"
        marked = {n: v / unit for n, v in (others or {}).items()}
        return cls(
            landscape.quality_ / unit,
            landscape.quality_[landscape.representative_indices_] / unit,
            marked,
            name=name if reference is None else f"{name}, over that of the reference",
        ).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the quality of every partition, and of what kind it is."""
        kinds = ["sampled"] * self.quality.size + ["representative"] * self.representatives.size
        values = [*self.quality, *self.representatives, *self.others.values()]
        return pd.DataFrame({"kind": [*kinds, *self.others], "quality": values})

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the histogram and the marks.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 3.6))
        ax.hist(self.quality, bins=40, color=_ALL, alpha=0.55, label="sampled partitions")
        level = 0.04 * ax.get_ylim()[1]
        ax.plot(
            self.representatives,
            np.full(self.representatives.size, level),
            "s",
            color="#C3000F",
            markersize=6,
            label="representatives",
        )
        for name, value in self.others.items():
            ax.plot([value], [2.5 * level], "o", color=_OTHER, markersize=8, label=name)
        ax.set(xlabel=self.name, ylabel="partitions")
        ax.legend(frameon=False, fontsize=9)
        return self


class ClusterImagesDisplay(Grid):
    """Mean image of each cluster, where points are images.

    Use :meth:`from_labels`.

    Parameters
    ----------
    images : (k, height, width) array
        Mean images.
    clusters : (k,) array
        Numbers of the clusters.
    sizes : (k,) array
        Points of each.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One per cluster.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ScatterDisplay : Points that are not images.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation, University of Utah, 2013,
    figure 4.11.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import ClusterImagesDisplay
    >>> X = np.array([[0.0, 1, 0, 1], [0, 1, 0, 1], [1, 1, 0, 0]])
    >>> display = ClusterImagesDisplay.from_labels(X, [0, 0, 1], shape=(2, 2))
    >>> display.images[1]
    array([[1., 1.],
           [0., 0.]])
    """

    def __init__(self, images: Any, clusters: Any, sizes: Any) -> None:
        self.images = np.asarray(images, dtype=np.float64)
        self.clusters = np.asarray(clusters)
        self.sizes = np.asarray(sizes)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        labels: Any,
        *,
        shape: tuple[int, int],
        max_clusters: int = 10,
        order: str = "C",
        figure: Any = None,
    ) -> Self:
        """Draw the mean images of the largest clusters.

        Parameters
        ----------
        X : (n, height * width) array
            One image per row.
        labels : (n,) array
            Cluster of each; noise is left out.
        shape : (int, int)
            Height and width.
        max_clusters : int
            Draw the largest ones, so many.
        order : {"C", "F"}
            Whether pixels are stored row by row or column by column.
        figure : matplotlib Figure, optional
            An empty one to draw on.

        Returns
        -------
        ClusterImagesDisplay
        """
        points, codes = np.asarray(X, dtype=np.float64), np.asarray(labels)
        if points.ndim != 2 or points.shape[1] != shape[0] * shape[1]:
            raise ValueError(
                f"X must have {shape[0]} x {shape[1]} = {shape[0] * shape[1]} columns, one per "
                f"pixel; got shape {points.shape}."
            )
        if order not in ("C", "F"):
            raise ValueError(f"order must be 'C' or 'F'; got {order!r}.")
        found, counts = np.unique(codes[codes >= 0], return_counts=True)
        found = found[np.argsort(-counts, kind="stable")][:max_clusters]
        means = [points[codes == c].mean(axis=0).reshape(shape, order=order) for c in found]
        return cls(np.array(means), found, [int((codes == c).sum()) for c in found]).plot(
            figure=figure
        )

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: number and size of each cluster, and its mean of every pixel."""
        pixels = self.images.reshape(len(self.images), -1)
        names = [f"pixel {j}" for j in range(pixels.shape[1])]
        frame = pd.DataFrame(pixels, columns=names)
        return pd.concat(
            [pd.DataFrame({"cluster": self.clusters, "size": self.sizes}), frame], axis=1
        )

    def plot(self, *, figure: Any = None) -> Self:
        """Draw the images side by side.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty one to draw on.

        Returns
        -------
        self
        """
        columns = min(5, len(self.images))
        rows = -(-len(self.images) // columns)
        axes = self._begin(rows, columns, (1.5 * columns, 1.7 * rows), figure=figure)
        for ax in axes.ravel():
            ax.axis("off")
        low, high = self.images.min(), self.images.max()
        for ax, image, cluster, count in zip(
            axes.ravel(), self.images, self.clusters, self.sizes, strict=False
        ):
            ax.imshow(image, cmap="gray", vmin=low, vmax=high)
            ax.set_title(f"{cluster}: {count:,}", fontsize=8)
        return self


def _by_size(groups: np.ndarray) -> np.ndarray:
    """Return groups numbered by falling size."""
    sizes = np.bincount(groups)
    number = np.empty(sizes.size, dtype=np.int64)
    number[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size)
    return number[groups]
