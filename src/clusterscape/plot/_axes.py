"""What several pictures need: axes beside others, names that do not overlap, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.isotonic import isotonic_regression

from clusterscape.plot.palette import cluster_colors, cluster_marker, cluster_name

SMALLEST = 5.0  # font size that can still be read
LINE = 1.25  # height of a line over its font size
NAME_AT = 0.055  # of the width of an image, between it and the names at its left
_MOST = 48  # clusters that fit into a legend
_ROWS = 24  # entries of a column of the legend


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on, new ones where none are given, or where an empty figure is."""
    if hasattr(ax, "set_size_inches"):
        ax.set_size_inches(size)
        return ax.subplots()
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


class Frame:
    """What every display of one picture has: the axes and the figure, once it is drawn."""

    ax_: Any
    figure_: Any

    def _begin(self, ax: Any, size: tuple[float, float]) -> Any:
        """Return the axes to draw on, and keep them: those given, or new ones of this size."""
        self.ax_ = new_axes(ax, size)
        self.figure_ = self.ax_.figure
        return self.ax_


class Grid:
    """What every display of several pictures has: their axes and the figure, once it is drawn."""

    axes_: Any
    figure_: Any

    def _begin(
        self, rows: int, columns: int, size: tuple[float, float], *, figure: Any = None
    ) -> Any:
        """Return rows and columns of axes, and keep them: on an empty figure, or a new one."""
        if figure is None:
            import matplotlib.pyplot as plt

            figure = plt.figure(figsize=size, layout="constrained")
        figure.set_size_inches(size)
        self.figure_, self.axes_ = figure, figure.subplots(rows, columns, squeeze=False)
        return self.axes_


def axes_beside(ax: Any, share: float, *, gap: float = 0.06) -> Any:
    """Give the right ``share`` of the area of ``ax`` to other axes."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((1.15, 0, share / (1 - share), 1))
    parts = place.subgridspec(1, 2, width_ratios=(1 - share, share), wspace=gap)
    ax.set_subplotspec(parts[0])
    return ax.figure.add_subplot(parts[1])


def axes_below(ax: Any, share: float, *, gap: float = 0.05) -> Any:
    """Give the lower ``share`` of the area of ``ax`` to axes with the same x-axis."""
    place = ax.get_subplotspec()
    if place is None:  # placed by hand: the new ones are placed relative to it
        return ax.inset_axes((0, -share - 0.04, 1, share), sharex=ax)
    parts = place.subgridspec(2, 1, height_ratios=(1 - share, share), hspace=gap)
    ax.set_subplotspec(parts[0])
    return ax.figure.add_subplot(parts[1], sharex=ax)


def axes_beside_square(ax: Any, ratio: float) -> Any:
    """Give a strip at the right of square axes to axes with the same y-axis and height.

    ``ratio`` is the width of the square over that of the strip.
    """
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((1.02, 0, 1 / ratio, 1), sharey=ax)
    parts = place.subgridspec(1, 2, width_ratios=(ratio, 1), wspace=0.02)
    ax.set_subplotspec(parts[0])
    strip = ax.figure.add_subplot(parts[1], sharey=ax)
    # Both have the same height whichever of width and height is scarce, and they touch.
    ax.set_box_aspect(1)
    strip.set_box_aspect(ratio)
    ax.set_anchor("E")
    strip.set_anchor("W")
    return strip


def spaced(places: np.ndarray, line: float, low: float, high: float) -> np.ndarray:
    """Return the places nearest to ascending ones that are at least a line apart.

    The first is at least half a line above ``low`` and the last, where all fit, half a line below
    ``high``.
    """
    lines = line * np.arange(len(places))
    last = max(high - line / 2 - lines[-1], low + line / 2)
    found: np.ndarray = isotonic_regression(places - lines, y_min=low + line / 2, y_max=last)
    return found + lines


def name_rows(ax: Any, centers: np.ndarray, names: Sequence[str], sizes: np.ndarray) -> None:
    """Write a name beside each group of rows of an image, apart from one another.

    Where not all fit, the smallest groups have no name.
    """
    low, high = sorted(ax.get_ylim())
    box = ax.get_position()
    width, height = ax.figure.get_size_inches()
    # Height of the image in points, as far as it is known before the layout.
    tall = 72 * min(box.width * width, box.height * height)
    size = float(np.clip(tall / (LINE * len(names)), SMALLEST + 1, 10.0))
    fit = max(int(tall / (LINE * size) + 1e-6), 1)  # rounding must not cost a name
    shown = np.sort(np.argsort(-sizes, kind="stable")[:fit])
    line = LINE * size / tall * (high - low)
    at = centers[shown]
    ax.set_yticks([])
    if np.diff(at).min(initial=np.inf) >= line:
        ax.set_yticks(at, [names[i] for i in shown], fontsize=size)
        return
    across = ax.get_yaxis_transform()
    for i, y in zip(shown, spaced(at, line, low, high), strict=True):
        # A line leads from the middle of the group to its name.
        reach = [0.0, -0.012, -0.035, -0.045]
        ax.plot(
            reach,
            [centers[i], centers[i], y, y],
            color="#777777",
            lw=0.6,
            transform=across,
            clip_on=False,
        )
        ax.text(
            -NAME_AT,
            y,
            names[i],
            transform=across,
            ha="right",
            va="center",
            fontsize=size,
            parse_math=False,
        )


def scatter_clusters(ax: Any, places: Any, labels: Any, **look: Any) -> None:
    """Draw points in the colours and shapes of their clusters, with sizes and opacities of each."""
    at, clusters = np.asarray(places), np.asarray(labels)
    colours = np.array(cluster_colors(clusters))
    shapes = np.array([cluster_marker(c) for c in clusters])
    for shape in dict.fromkeys(shapes):  # a collection has one shape
        some = shapes == shape
        own = {name: value[some] if np.ndim(value) else value for name, value in look.items()}
        ax.scatter(*at[some].T, c=colours[some], marker=shape, linewidths=0, **own)


def cluster_legend(ax: Any, labels: Any, *, title: str = "cluster", **options: Any) -> Any:
    """Return a legend of the clusters' colours at the right of ``ax``; None for fewer than two.

    Of more than 48 clusters the first 48 are shown, and how many more there are.
    """
    from matplotlib.lines import Line2D

    clusters = np.unique(np.asarray(labels))
    if clusters.size < 2:
        return None
    clusters = np.concatenate([clusters[clusters >= 0], clusters[clusters < 0][:1]])
    handles = [
        Line2D(
            [],
            [],
            linestyle="",
            marker=cluster_marker(c),
            color=cluster_colors([c])[0],
            markersize=5,
            label=cluster_name(int(c)),
        )
        for c in clusters[:_MOST]
    ]
    if clusters.size > _MOST:
        more = f"{clusters.size - _MOST:,} more"
        handles.append(Line2D([], [], linestyle="", label=more))
    settings = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "frameon": False} | options
    return ax.legend(
        handles=handles,
        title=title,
        fontsize=8,
        title_fontsize=8,
        ncols=-(-len(handles) // _ROWS),
        columnspacing=0.8,
        handletextpad=0.2,
        labelspacing=0.25,
        borderaxespad=0.3,
        **settings,
    )
