"""The transport between two partitions: how much of each cluster goes where, and how far."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.compare import explain
from clusterscape.plot._axes import LINE, SMALLEST, Frame, spaced
from clusterscape.plot.palette import cluster_name

_BAR = 0.03  # width of a cluster's bar; the ribbons' side is 1
_SWEEPS = 24
_COLOURS = "YlGnBu"
_PALEST = 0.18  # share of the colours left out, which do not show on white


class TransportDisplay(Frame):
    """Clusters of two partitions at the sides, and between them the mass that is moved.

    Use :meth:`from_explanation` or :meth:`from_partitions`. Bars are as high as their clusters are
    heavy, ribbons as high as the mass that goes from one cluster to the other. The darker a ribbon,
    the farther apart its two clusters lie.

    Parameters
    ----------
    plan : (k, l) DataFrame or array
        Mass moved from each cluster of the first partition to each of the second.
    costs : (k, l) DataFrame or array
        Ground distance between these clusters.
    names : (str, str)
        What the two partitions are called.

    Attributes
    ----------
    plan, costs : (k, l) DataFrame
        As given, with the clusters in the order drawn, in which little mass crosses; noise is last.
    distance : float
        Sum of mass times distance.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    DifferencesDisplay : The points that make the two partitions differ.
    clusterscape.compare.explain : The figures behind the picture.

    Notes
    -----
    A plan of least cost need not be the only one: where clusters are equally far apart, as equal
    points make them, another plan costs the same and would look different. The picture stays
    readable up to about thirty clusters on a side; for more, read the table of moves.

    References
    ----------
    P. Raman, J. M. Phillips, S. Venkatasubramanian, "Spatially-aware comparison and consensus for
    clusterings", SIAM International Conference on Data Mining, 307-318, 2011.
    doi:10.1137/1.9781611972818.27

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import TransportDisplay
    >>> display = TransportDisplay([[0.5, 0.0], [0.25, 0.25]], [[0.0, 1.0], [0.4, 0.2]]).plot()
    >>> print(round(display.distance, 6))
    0.15
    >>> display.ax_.get_title()
    'From a to b: distance 0.15'
    """

    def __init__(self, plan: Any, costs: Any, *, names: tuple[str, str] = ("a", "b")) -> None:
        moved, cost = pd.DataFrame(plan), pd.DataFrame(costs)
        _check(moved, cost)
        order = _ordered(moved)
        self.plan = moved.iloc[order]
        self.costs = cost.iloc[order]
        self.distance = float((self.plan.to_numpy() * self.costs.to_numpy()).sum())
        self.names = names

    @classmethod
    def from_explanation(
        cls,
        explanation: Any,
        *,
        names: tuple[str, str] = ("a", "b"),
        max_names: int = 40,
        ax: Any = None,
    ) -> Self:
        """Draw what :func:`~clusterscape.compare.explain` found.

        Parameters
        ----------
        explanation : Explanation
            Of two partitions.
        names : (str, str)
            What the two partitions are called.
        max_names : int
            The clusters of a side are named when there are no more than this.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TransportDisplay
        """
        made = cls(explanation.plan, explanation.costs, names=names)
        return made.plot(max_names=max_names, ax=ax)

    @classmethod
    def from_partitions(
        cls,
        a: Any,
        b: Any,
        features: Any = None,
        *,
        names: tuple[str, str] = ("a", "b"),
        max_names: int = 40,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Explain the distance of two partitions, and draw it.

        Parameters
        ----------
        a, b : array-like
            Two partitions of the same points.
        features : (n, d) array or sparse matrix, optional
            The points.
        names : (str, str)
            What the two partitions are called.
        max_names : int
            The clusters of a side are named when there are no more than this.
        ax : matplotlib Axes, optional
            Where to draw.
        **options
            Options of :func:`~clusterscape.compare.explain`: ``kernel``, ``bandwidth``, ...

        Returns
        -------
        TransportDisplay
        """
        found = explain(a, b, features, **options)
        return cls.from_explanation(found, names=names, max_names=max_names, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the mass that each cluster sends to each other, and how far."""
        rows, columns = np.nonzero(self.plan.to_numpy() > 0)
        return pd.DataFrame(
            {
                "from": self.plan.index[rows],
                "to": self.plan.columns[columns],
                "mass": self.plan.to_numpy()[rows, columns],
                "distance": self.costs.to_numpy()[rows, columns],
            }
        )

    def plot(self, *, max_names: int = 40, ax: Any = None) -> Self:
        """Draw the bars, the ribbons, the clusters' names and the scale of the distances.

        Parameters
        ----------
        max_names : int
            The clusters of a side are named when there are no more than this.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        most = max(self.plan.shape)
        ax = self._begin(ax, figure_size(self.plan.shape))
        gap = min(0.03, 0.35 / most)
        whole = 1 + gap * (most - 1)
        sides = [_Side(self.plan, axis, gap, whole) for axis in (0, 1)]
        scale = self._draw_ribbons(ax, sides)
        for axis, side in enumerate(sides):
            left = -_BAR if axis == 0 else 1.0
            ax.bar(left, side.mass, _BAR, side.top, align="edge", color="#444444", linewidth=0)
            _write_names(ax, side, axis=axis, whole=whole, max_names=max_names)
            many = "cluster" if len(side.mass) == 1 else "clusters"
            ax.text(
                left + _BAR / 2,
                -0.02 * whole,
                f"{cluster_name(self.names[axis])}\n{len(side.mass)} {many}",
                ha="center",
                va="bottom",
                fontsize=9,
                parse_math=False,
            )
        ax.set(xlim=(-_BAR, 1 + _BAR), ylim=(whole, 0))
        ax.axis("off")
        first, second = (cluster_name(name) for name in self.names)
        title = f"From {first} to {second}: distance {self.distance:.3g}"
        ax.set_title(title, fontsize=11, pad=34, parse_math=False)
        # The names are outside the axes; without a layout nothing else leaves space for them.
        pad = 0.03 if ax.figure.get_layout_engine() is not None else 0.25
        bar = ax.figure.colorbar(scale, ax=ax, shrink=0.6, pad=pad)
        bar.set_label("ground distance between the clusters")
        return self

    def _draw_ribbons(self, ax: Any, sides: list[_Side]) -> Any:
        """Draw the masses moved, far ones last, and return the scale of their colours."""
        import matplotlib as mpl
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize
        from matplotlib.patches import PathPatch

        plan, costs = self.plan.to_numpy(), self.costs.to_numpy()
        moved = np.argwhere(plan > 0)
        reach = costs[plan > 0]
        shades = mpl.colormaps[_COLOURS](np.linspace(_PALEST, 1, 256))
        scale = ScalarMappable(
            Normalize(0, float(reach.max()) or 1.0), LinearSegmentedColormap.from_list("", shades)
        )
        for i, j in moved[np.argsort(reach, kind="stable")]:
            start, end = sides[0].lanes[i, j], sides[1].lanes[i, j]
            colour = scale.to_rgba(costs[i, j])
            path = _ribbon(start, end, plan[i, j])
            ax.add_patch(PathPatch(path, facecolor=colour, edgecolor=colour, lw=0.4, alpha=0.85))
        return scale


def figure_size(shape: tuple[int, int]) -> tuple[float, float]:
    """Return the inches that a picture of so many clusters on either side wants."""
    return 7.5, float(np.clip(1.6 + 0.24 * max(shape), 4.0, 12.0))


class _Side:
    """Where the clusters of one partition are drawn, and where their ribbons begin."""

    def __init__(self, plan: pd.DataFrame, axis: int, gap: float, whole: float) -> None:
        values = plan.to_numpy()
        self.labels = plan.index if axis == 0 else plan.columns
        self.mass = values.sum(axis=1 - axis)
        before = np.concatenate([[0.0], np.cumsum(self.mass + gap)])
        # The side with fewer clusters has fewer gaps, and is centred.
        self.top = before[:-1] + (whole - before[-1] + gap) / 2
        within = np.cumsum(values, axis=1 - axis) - values
        self.lanes = within + (self.top[:, None] if axis == 0 else self.top)


def _check(plan: pd.DataFrame, costs: pd.DataFrame) -> None:
    if plan.shape != costs.shape or plan.size == 0:
        raise ValueError(
            "plan and costs must have one entry for each cluster of the first partition (rows) and "
            f"of the second (columns); got shapes {plan.shape} and {costs.shape}."
        )
    values = plan.to_numpy(dtype=np.float64)
    known = np.isfinite(values).all() and np.isfinite(costs.to_numpy(dtype=np.float64)).all()
    if not known or (values < 0).any() or values.sum() <= 0:
        raise ValueError(
            "plan must hold masses of zero or more, some of them positive, and costs must hold "
            "finite distances; there is nothing to draw when a partition has no cluster."
        )


def _ordered(plan: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return orders of rows and columns in which little mass crosses; noise is last.

    Each side in turn is put in the order of where its mass goes; the rows begin as they come, and
    move only where that saves crossings.
    """
    values = plan.to_numpy(dtype=np.float64)
    last = [_are_noise(labels) for labels in (plan.index, plan.columns)]
    rows = np.argsort(last[0], kind="stable")
    best = rows, np.lexsort((_origins(values[rows]), last[1]))
    for _ in range(_SWEEPS):
        columns = np.lexsort((_origins(values[rows]), last[1]))
        if _crossing(values[np.ix_(rows, columns)]) < _crossing(values[np.ix_(*best)]):
            best = rows, columns
        rows = np.lexsort((_origins(values[:, columns].T), last[0]))
    return best


def _origins(moved: np.ndarray) -> np.ndarray:
    """Return where, on the side of the rows, the mass of every column comes from on average."""
    sent, received = moved.sum(axis=1), moved.sum(axis=0)
    middle = np.cumsum(sent) - sent / 2
    found: np.ndarray = (middle @ moved) / np.where(received > 0, received, 1)
    return found


def _crossing(moved: np.ndarray) -> float:
    """Return how much mass crosses how much."""
    below = np.cumsum(moved[::-1], axis=0)[::-1][1:]  # rows after this one
    before = np.cumsum(below, axis=1)[:, :-1]  # and columns before
    return float((moved[:-1, 1:] * before).sum())


def _are_noise(labels: pd.Index) -> np.ndarray:
    return np.array([isinstance(x, (int, np.integer)) and x == -1 for x in labels], dtype=bool)


def _ribbon(start: float, end: float, mass: float) -> Any:
    """Return the outline of a ribbon that leaves and arrives level."""
    from matplotlib.path import Path

    points = [(0, start), (0.45, start), (0.55, end), (1, end)]
    points += [(1, end + mass), (0.55, end + mass), (0.45, start + mass), (0, start + mass)]
    curve = [Path.CURVE4] * 3
    return Path(points, [Path.MOVETO, *curve, Path.LINETO, *curve])


def _write_names(ax: Any, side: _Side, *, axis: int, whole: float, max_names: int) -> None:
    """Write the clusters' names beside their bars, apart from each other."""
    if len(side.mass) > max_names:
        return
    # Height of the axes in points, as far as it is known before the layout.
    tall = ax.get_position().height * ax.figure.get_size_inches()[1] * 72
    size = float(np.clip(tall / (LINE * len(side.mass)), SMALLEST, 9.0))
    line = LINE * size / tall * whole
    middle = side.top + side.mass / 2
    place = spaced(middle, line, 0.0, whole)
    edge, way, align = (-_BAR, -1, "right") if axis == 0 else (1 + _BAR, 1, "left")
    moved = np.abs(place - middle).max() > line / 4
    for label, mass, y, bar in zip(side.labels, side.mass, place, middle, strict=True):
        if moved:  # a line leads from the bar to the name
            far = [edge, edge + 0.01 * way, edge + 0.035 * way]
            ax.plot(far, [bar, bar, y], color="#999999", lw=0.5, clip_on=False)
        at = edge + (0.04 if moved else 0.012) * way
        text = f"{_label(label)}  {_share(mass)}"
        ax.text(at, y, text, ha=align, va="center", fontsize=size, parse_math=False)


def _share(mass: float) -> str:
    return "<1%" if mass < 0.005 else f"{mass:.0%}"


def _label(label: Any) -> str:
    if isinstance(label, (int, np.integer)) and label == -1:
        return "noise"
    return cluster_name(str(label))
