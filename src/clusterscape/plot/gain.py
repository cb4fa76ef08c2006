"""What methods gain over a baseline, data set by data set in the order of their dimensions."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.plot._axes import Frame
from clusterscape.plot.palette import cluster_colors

_MARKS = "osD^vPX*<>hd"


class GainDisplay(Frame):
    """Gain of several methods over a baseline, against the dimension of the data.

    Use :meth:`from_scores`.

    Parameters
    ----------
    gains : DataFrame
        One row per data set and one column per method: score minus the baseline's.
    dimensions : sequence of int
        Columns of each data set, in the order of the rows.
    baseline : str
        The name of what the gains are over.
    score : str
        What the scores are.

    Attributes
    ----------
    gains : DataFrame
        The rows in ascending order of dimension.
    dimensions : (m,) array
        In the same order.
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ConsensusMatrixDisplay : Agreement of the partitions on one data set.

    Notes
    -----
    Data sets are drawn at equal distances, because dimensions differ by factors and some
    are equal; lines join the points of a method to make them easier to follow, and show no trend.

    References
    ----------
    D. Yan, A. Chen, M. I. Jordan, "Cluster forests", Computational Statistics and Data Analysis 66,
    178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import pandas as pd
    >>> from clusterscape.plot import GainDisplay
    >>> scores = pd.DataFrame(
    ...     {"CF": [88.7, 79.2], "EA": [85.4, 70.2], "k-means": [85.4, 70.2]},
    ...     index=["WDBC", "Wine"],
    ... )
    >>> display = GainDisplay.from_scores(scores, [30, 13], baseline="k-means")
    >>> display.gains.round(1)
           CF   EA
    Wine  9.0  0.0
    WDBC  3.3  0.0
    """

    def __init__(
        self,
        gains: Any,
        dimensions: Any,
        *,
        baseline: str = "k-means",
        score: str = "score",
    ) -> None:
        table = pd.DataFrame(gains)
        width = np.asarray(dimensions)
        if width.shape != (len(table),):
            raise ValueError(
                f"dimensions must have one entry for each of the {len(table)} data sets (rows); "
                f"got shape {width.shape}."
            )
        if table.empty:
            raise ValueError("there is no method, or no data set, to show; give both.")
        order = np.argsort(width, kind="stable")
        self.gains = table.iloc[order]
        self.dimensions = width[order]
        self.baseline = baseline
        self.score = score

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        dimensions: Any,
        *,
        baseline: str = "k-means",
        score: str = "score",
        ax: Any = None,
    ) -> Self:
        """Draw the gains that a table of scores holds.

        Parameters
        ----------
        scores : DataFrame or mapping
            One row per data set and one column per method, the baseline among them. Higher is
            better.
        dimensions : sequence of int, or mapping from data set to int
            Columns of each data set.
        baseline : str
            The column with which the other columns are compared.
        score : str
            What the scores are, for the axis.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        GainDisplay
        """
        table = pd.DataFrame(scores)
        if baseline not in table.columns:
            known = ", ".join(repr(str(name)) for name in table.columns)
            raise ValueError(f"baseline={baseline!r} is not a column of scores; it has {known}.")
        if hasattr(dimensions, "keys"):
            absent = [str(name) for name in table.index if name not in dimensions]
            if absent:
                raise ValueError(f"dimensions has no entry for {', '.join(absent)}.")
            dimensions = [dimensions[name] for name in table.index]
        others = table.drop(columns=baseline)
        gains = others.sub(table[baseline], axis=0)
        return cls(gains, dimensions, baseline=baseline, score=score).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the gain of each method on each data set, by its dimension."""
        return self.gains.assign(dimension=self.dimensions)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw one line per method.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        m = len(self.gains)
        ax = self._begin(ax, (max(5.0, 2 + 0.8 * m), 3.8))
        place = np.arange(m)
        ax.axhline(0, color="#555555", linewidth=1)
        colours = cluster_colors(np.arange(self.gains.shape[1]))
        for c, name in enumerate(self.gains.columns):
            ax.plot(
                place,
                self.gains[name],
                marker=_MARKS[c % len(_MARKS)],
                markersize=5,
                linewidth=1,
                color=colours[c],
                label=str(name),
            )
        labels = [f"{n}\n{w}" for n, w in zip(self.gains.index, self.dimensions, strict=True)]
        ax.set_xticks(place, labels, fontsize=8)
        ax.set_xlabel("data set and its number of columns")
        ax.set_ylabel(f"gain in {self.score}")
        ax.set_title(f"Gain over {self.baseline}", fontsize=11)
        ax.grid(axis="y", color="#DDDDDD", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        return self
