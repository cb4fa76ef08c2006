"""Measures of several methods against one setting, side by side for several datasets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pandas as pd

from clusterscape.plot._axes import Grid
from clusterscape.plot.palette import cluster_colors, cluster_marker


class MethodCurvesDisplay(Grid):
    """Curves of methods over a setting: one row of panels per measure, one column per dataset.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per dataset, method and value of the setting, with columns ``dataset``, ``method``,
        the setting and the measures; rows that repeat are averaged, and their standard deviation
        is drawn.
    setting : str
        The column on the x-axis, such as the number of labelled points.
    measures : sequence of str
        The columns to draw, such as accuracy, NMI and time.

    Attributes
    ----------
    axes_ : (measures, datasets) array of matplotlib Axes
        The panels.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    SweepDisplay : One clusterer against one of its parameters.
    GainDisplay : One method over another, by dataset.

    References
    ----------
    W. Liu, M. Ye, J. Wei and X. Hu, "Fast constrained spectral clustering and cluster ensemble with
    random projection", Computational Intelligence and Neuroscience, 2658707, 2017, Figures 1 to 4.
    doi:10.1155/2017/2658707

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import pandas as pd
    >>> from clusterscape.plot import MethodCurvesDisplay
    >>> table = pd.DataFrame(
    ...     {
    ...         "dataset": "letter",
    ...         "method": ["a", "a", "b", "b"],
    ...         "labelled": [100, 200, 100, 200],
    ...         "accuracy": [0.4, 0.5, 0.3, 0.35],
    ...     }
    ... )
    >>> display = MethodCurvesDisplay(table, "labelled", measures=["accuracy"]).plot()
    >>> [line.get_label() for line in display.axes_[0, 0].lines]
    ['a', 'b']
    """

    def __init__(self, table: pd.DataFrame, setting: str, *, measures: Sequence[str]) -> None:
        needed = ["dataset", "method", setting, *measures]
        missing = [name for name in needed if name not in table.columns]
        if missing:
            raise ValueError(f"table must have the columns {needed}; it lacks {missing}.")
        if not len(table) or not len(measures):
            raise ValueError("table and measures must not be empty.")
        self.table = table
        self.setting = setting
        self.measures = list(measures)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: mean and standard deviation of each measure."""
        groups = self.table.groupby(["dataset", "method", self.setting], sort=False)
        means = groups[self.measures].mean()
        spread = groups[self.measures].std(ddof=0).add_suffix("_std")
        return pd.concat([means, spread], axis=1).reset_index()

    def plot(self, *, figure: Any = None) -> Self:
        """Draw the curves; methods have the same colour and shape in every panel.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty one to draw on.

        Returns
        -------
        self
        """
        found = self.to_frame().sort_values(self.setting, kind="stable")
        datasets, methods = (list(dict.fromkeys(self.table[c])) for c in ("dataset", "method"))
        size = (1.2 + 3.0 * len(datasets), 0.6 + 2.2 * len(self.measures))
        axes = self._begin(len(self.measures), len(datasets), size, figure=figure)
        for row, measure in zip(axes, self.measures, strict=True):
            for ax, dataset in zip(row, datasets, strict=True):
                for i, method in enumerate(methods):
                    mine = found[(found["dataset"] == dataset) & (found["method"] == method)]
                    if mine.empty:
                        continue
                    look = {"color": cluster_colors([i])[0], "marker": cluster_marker(i)}
                    at, mean, std = mine[self.setting], mine[measure], mine[f"{measure}_std"]
                    ax.plot(at, mean, markersize=4, linewidth=1.2, label=str(method), **look)
                    ax.fill_between(at, mean - std, mean + std, color=look["color"], alpha=0.15)
            row[0].set_ylabel(measure)
        for ax, dataset in zip(axes[0], datasets, strict=True):
            ax.set_title(str(dataset), fontsize=11)
        for ax in axes[-1]:
            ax.set_xlabel(self.setting)
        handles: dict[str, Any] = {}
        for ax in axes[0]:
            handles |= {h.get_label(): h for h in ax.get_legend_handles_labels()[0]}
        self.figure_.legend(handles=list(handles.values()), fontsize=8, loc="outside right upper")
        return self
