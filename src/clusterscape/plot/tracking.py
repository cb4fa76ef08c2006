"""Where the points of clusters go when there are more clusters: a tree of clusterings."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape._core.labels import encode
from clusterscape.plot._axes import Frame
from clusterscape.plot.palette import NOISE_COLOUR, cluster_colors, cluster_name, ink_on

_WIDEST = 9.0  # width of an arrow that carries all points
_LARGEST = 900.0  # area of a cluster with all points
_FEWEST = 0.01  # share of both clusters below which an arrow is not drawn


class TrackingDisplay(Frame):
    """Clusters of several clusterings as rows of dots, with arrows where their points go.

    Area is the number of points, the width of an arrow the points that it carries, and its darkness
    the share of the lower cluster that comes along it: a cluster that is fed from several ones is
    not a part of any of them. Use :meth:`from_consensus` or :meth:`from_labels`.

    Parameters
    ----------
    labels : pandas.DataFrame
        One column per clustering, in the order in which they are drawn from top to bottom; -1 for
        points in no cluster.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.resampling_consensus : Clusterings for a range of numbers of clusters.
    TransportDisplay : Two clusterings.

    References
    ----------
    L. Zappia and A. Oshlack, "Clustering trees: a visualization for evaluating clusterings at
    multiple resolutions", GigaScience 7, giy083, 2018. doi:10.1093/gigascience/giy083

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import TrackingDisplay
    >>> display = TrackingDisplay.from_labels({2: [0, 0, 0, 1, 1], 3: [0, 0, 2, 1, 1]})
    >>> display.to_frame()
      from  cluster  to  cluster_below  points  share_from  share_to
    0    2        0   3              0       2    0.666667       1.0
    1    2        0   3              2       1    0.333333       1.0
    2    2        1   3              1       2    1.000000       1.0
    """

    def __init__(self, labels: pd.DataFrame) -> None:
        self.labels = labels

    @classmethod
    def from_consensus(cls, consensus: Any, *, ax: Any = None) -> Self:
        """Draw the consensus clusters of every number of clusters.

        Parameters
        ----------
        consensus : ResamplingConsensus
            As :func:`~clusterscape.validate.resampling_consensus` returns it.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TrackingDisplay
        """
        return cls(consensus.to_frame()).plot(ax=ax)

    @classmethod
    def from_labels(cls, labels: Any, *, ax: Any = None) -> Self:
        """Draw clusterings from anywhere.

        Parameters
        ----------
        labels : data frame or dict
            Clusterings of the same points by name, in the order in which they are drawn.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TrackingDisplay
        """
        return cls(pd.DataFrame(labels)).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return the arrows: points from each cluster to each of the clustering below.

        Returns
        -------
        pandas.DataFrame
            ``from`` and ``to`` name the clusterings, ``cluster`` and ``cluster_below`` the
            clusters; ``share_from`` and ``share_to`` are the points' shares of the two.
        """
        names = list(self.labels.columns)
        parts = []
        for above, below in zip(names[:-1], names[1:], strict=True):
            first, second = self.labels[above], self.labels[below]
            pairs = pd.DataFrame({"cluster": first, "cluster_below": second})
            count = pairs.groupby(["cluster", "cluster_below"]).size().reset_index(name="points")
            count.insert(0, "from", str(above))
            count.insert(2, "to", str(below))
            sizes = first.value_counts(), second.value_counts()
            count["share_from"] = count["points"] / count["cluster"].map(sizes[0])
            count["share_to"] = count["points"] / count["cluster_below"].map(sizes[1])
            parts.append(count)
        columns = ["from", "cluster", "to", "cluster_below", "points", "share_from", "share_to"]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw dots and arrows.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        rows = len(self.labels.columns)
        if rows == 0:
            raise ValueError("labels: there is no clustering to draw.")
        places = self.places()
        widest = max(len(row) for row in places)
        size = (float(np.clip(1.0 + 0.75 * widest, 5.0, 14.0)), 1.0 + 0.75 * rows)
        ax = self._begin(ax, size)
        self._draw_arrows(ax, places)
        for y, (name, row) in enumerate(zip(self.labels.columns, places, strict=True)):
            counts = self.labels[name].value_counts()
            colours = _colours(list(row))
            for (cluster, x), colour in zip(row.items(), colours, strict=True):
                share = counts[cluster] / len(self.labels)
                ax.scatter(x, -y, s=60 + _LARGEST * share, c=colour, edgecolors="white", zorder=3)
                text = cluster_name(cluster)
                ink = ink_on(colour)
                where = {"ha": "center", "va": "center", "zorder": 4}
                ax.annotate(text, (x, -y), fontsize=7, color=ink, **where)
        ax.set_yticks(-np.arange(rows), [str(name) for name in self.labels.columns])
        ax.set(xticks=[], ylabel="clustering", xlim=(-0.06, 1.06), ylim=(0.5 - rows, 0.5))
        ax.set_title("Where the points of clusters go", fontsize=11)
        for side in ("top", "right", "bottom"):
            ax.spines[side].set_visible(False)
        return self

    def places(self) -> list[dict[Any, float]]:
        """Return the place of each cluster in its row, from 0 to 1, near those it comes from."""
        places: list[dict[Any, float]] = []
        weight = np.linspace(0.0, 1.0, len(self.labels))  # first row: in the order of the clusters
        for name in self.labels.columns:
            column = self.labels[name]
            clusters = sorted(column.dropna().unique(), key=lambda c: (str(type(c)), c))
            if not places:
                order = clusters
            else:
                middle = pd.Series(weight, index=column.index).groupby(column).mean()
                order = sorted(clusters, key=lambda c: (float(middle[c]), clusters.index(c)))
            at = (np.arange(len(order)) + 0.5) / len(order)
            places.append(dict(zip(order, at, strict=True)))
            weight = column.map(places[-1]).fillna(0.5).to_numpy()
        return places

    def _draw_arrows(self, ax: Any, places: list[dict[Any, float]]) -> None:
        arrows = self.to_frame()
        rows = {str(name): y for y, name in enumerate(self.labels.columns)}
        order = arrows.sort_values("share_to", kind="stable")  # the surest on top
        for arrow in order.itertuples(index=False, name=None):
            above, start, _, end, points, from_share, to_share = arrow
            if max(from_share, to_share) < _FEWEST:
                continue
            y = rows[above]
            ax.plot(
                [places[y][start], places[y + 1][end]],
                [-y, -y - 1],
                color="#333333",
                alpha=0.12 + 0.78 * float(to_share),
                linewidth=0.6 + _WIDEST * points / len(self.labels),
                solid_capstyle="round",
                zorder=1,
            )


def _colours(clusters: list[Any]) -> list[str]:
    """Return the colours of clusters: by number, or by rank where they have other names."""
    if all(isinstance(c, (int, np.integer)) for c in clusters):
        return cluster_colors(clusters)
    codes = encode(clusters, "labels")[0]
    return [NOISE_COLOUR if code < 0 else cluster_colors([code])[0] for code in codes]
