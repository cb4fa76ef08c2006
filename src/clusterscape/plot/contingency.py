"""Two clusterings of the same points, or clusters and known classes, as a table in colours."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from clusterscape.compare import contingency_table
from clusterscape.plot._axes import Frame

_NUMBERED = 20  # rows and columns up to which the counts are written into the cells


class ContingencyDisplay(Frame):
    """How many points of each cluster lie in each cluster of another clustering.

    Use :meth:`from_predictions`. Columns are ordered so that those that belong together meet on the
    diagonal: two equal clusterings show a diagonal and nothing else.

    Parameters
    ----------
    table : DataFrame
        Counts of the points, one row for each cluster of the first clustering, columns ordered.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.compare.contingency_table : The counts, in the order of the labels.
    DifferencesDisplay : Where the points that change lie.

    Notes
    -----
    Colours are shares of the rows, so that small clusters can be read as well as large ones.

    References
    ----------
    H. W. Kuhn, "The Hungarian method for the assignment problem", Naval Research Logistics
    Quarterly 2, 83-97, 1955. doi:10.1002/nav.3800020109

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import ContingencyDisplay
    >>> display = ContingencyDisplay.from_predictions(["a", "a", "b", "b"], [1, 1, 0, 1])
    >>> display.table
    column  1  0
    row
    a       2  0
    b       1  1
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_predictions(
        cls,
        rows: Any,
        columns: Any,
        *,
        row_name: str = "row",
        column_name: str = "column",
        ax: Any = None,
    ) -> Self:
        """Draw two labellings of the same points.

        Parameters
        ----------
        rows, columns : (n,) labels
            Clusters or classes of the points. Noise is a row or column of its own, -1; a point that
            is unsampled (-2) in either is not counted.
        row_name, column_name : str
            What the labels are.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ContingencyDisplay
        """
        counts = contingency_table(rows, columns)
        order = _matched(counts.to_numpy(dtype=np.float64))
        table = counts.iloc[:, order].rename_axis(index=row_name, columns=column_name)
        return cls(table).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the counts, in the order of the picture."""
        return self.table

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the table.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (5.4, 5))
        counts = self.table.to_numpy(dtype=np.float64)
        total = counts.sum(axis=1, keepdims=True)
        share = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
        ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
        if max(counts.shape) <= _NUMBERED:
            self._write(ax, counts, share)
            ax.set_xticks(range(counts.shape[1]), [str(c) for c in self.table.columns])
            ax.set_yticks(range(counts.shape[0]), [str(r) for r in self.table.index])
        else:  # names would overlap
            ax.set_xticks([])
            ax.set_yticks([])
        ax.set(xlabel=self.table.columns.name, ylabel=self.table.index.name)
        return self

    def _write(self, ax: Any, counts: np.ndarray, share: np.ndarray) -> None:
        for i, j in zip(*np.nonzero(counts), strict=True):
            dark = share[i, j] > 0.6
            ax.text(
                j, i, f"{counts[i, j]:,g}",
                ha="center", va="center", fontsize=8, color="white" if dark else "#333333",
            )  # fmt: skip


def _matched(counts: np.ndarray) -> np.ndarray:
    """Return an order of the columns: those of the best matching first, in the order of rows."""
    rows, columns = linear_sum_assignment(-counts)
    found = columns[np.argsort(rows)]
    rest = np.setdiff1d(np.arange(counts.shape[1]), found)
    # The other columns follow the row that they have most points of.
    return np.concatenate([found, rest[np.argsort(counts[:, rest].argmax(axis=0), kind="stable")]])
