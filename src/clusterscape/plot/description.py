"""What each cluster is: the columns in which it differs, and by how much, as bars."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape.plot._axes import Frame
from clusterscape.plot.palette import cluster_colors, cluster_name
from clusterscape.validate import describe_clusters
from clusterscape.validate.description import check_order

_ROW = 0.22  # inches of a bar
_MOST = 60  # bars that are drawn


class DescriptionDisplay(Frame):
    """The columns that tell each cluster from all others, with their effects.

    A bar to the right says that the cluster's values are larger than those of other points, or that
    a word is more frequent in it; beside it stand the typical value here and elsewhere. Use
    :meth:`from_estimator` or :meth:`from_predictions`.

    Parameters
    ----------
    description : ClusterDescription
        As :func:`~clusterscape.validate.describe_clusters` returns it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.describe_clusters : The columns, as a table and in words.
    FeatureProfileDisplay : How strongly each column divides the points by itself.

    References
    ----------
    N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions", Psychological
    Bulletin 114, 494-509, 1993. doi:10.1037/0033-2909.114.3.494

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import pandas as pd
    >>> from clusterscape.plot import DescriptionDisplay
    >>> table = pd.DataFrame({"age": range(20), "town": ["Bonn"] * 9 + ["Ulm"] * 11})
    >>> labels = [0] * 10 + [1] * 10
    >>> display = DescriptionDisplay.from_predictions(table, labels, n_columns=1)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['0: age', '1: age']
    """

    def __init__(self, description: Any) -> None:
        self.description = description

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, n_columns: int = 5, ax: Any = None) -> Self:
        """Describe the clusters of any fitted clusterer.

        Parameters
        ----------
        model : estimator
            Any fitted clusterer with ``labels_``.
        X : (n, d) array, sparse matrix or data frame
            The points, best in their own units; also other columns, and columns of words. An index
            that names other points than those of the fit, or in another order, is refused.
        n_columns : int
            Columns for each cluster.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DescriptionDisplay
        """
        check_is_fitted(model, "labels_")
        if hasattr(model, "ensemble_"):
            check_order(X, model.ensemble_, "X")
        return cls.from_predictions(X, model.labels_, n_columns=n_columns, ax=ax)

    @classmethod
    def from_predictions(cls, X: Any, labels: Any, *, n_columns: int = 5, ax: Any = None) -> Self:
        """Describe the clusters of labels that exist already.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            As in :meth:`from_estimator`.
        labels : (n,) array
            Cluster numbers; negative for points in no cluster.
        n_columns : int
            Columns for each cluster.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DescriptionDisplay
        """
        return cls(describe_clusters(X, labels, n_columns=n_columns)).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the table of the description."""
        frame: pd.DataFrame = self.description.table
        return frame

    def plot(self, *, ax: Any = None) -> Self:
        """Draw a bar for each cluster and column.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        table = self.description.table
        if table.empty:
            raise ValueError("description: no column tells any cluster from the others.")
        rows = table.iloc[:_MOST]
        clusters = rows["cluster"].to_numpy()
        # Half a row of white between clusters.
        place = np.arange(len(rows)) + 0.5 * np.cumsum(np.diff(clusters, prepend=clusters[0]) != 0)
        ax = self._begin(ax, (7.0, 1.1 + _ROW * float(place[-1] + 1)))
        effects = rows["effect"].to_numpy(dtype=np.float64)
        ax.barh(place, effects, height=0.75, color=cluster_colors(clusters), linewidth=0)
        ax.axvline(0, color="#333333", linewidth=0.8)
        names = [f"{c}: {_column(row)}" for c, row in zip(clusters, rows.itertuples(), strict=True)]
        ax.set_yticks(place, names, fontsize=8, parse_math=False)
        for y, effect, row in zip(place, effects, rows.itertuples(), strict=True):
            # On the free side of the bar.
            ax.annotate(
                _values(row),
                (0.0, y),
                xytext=(-4 if effect > 0 else 4, 0),
                textcoords="offset points",
                ha="right" if effect > 0 else "left",
                va="center",
                fontsize=7,
                color="#333333",
            )
        ax.set(xlim=(-1.05, 1.05), xlabel="effect (-1: always lower, 1: always higher)")
        ax.set_ylim(float(place[-1]) + 0.7, -0.7)
        more = f" (the first {_MOST} of {len(table)})" if len(table) > _MOST else ""
        ax.set_title(f"What tells the clusters apart{more}", fontsize=11)
        return self


def _column(row: Any) -> str:
    name = str(row.column) if pd.isna(row.value) else f"{row.column} = {row.value}"
    return cluster_name(name)


def _values(row: Any) -> str:
    if row.measure == "median":
        return f"{number(row.inside)}, elsewhere {number(row.outside)}"
    after = " not 0" if row.measure == "present" else ""
    return f"{row.inside:.0%}{after}, elsewhere {row.outside:.0%}"


def number(value: float) -> str:
    """Return a number with three digits, in thousands without a fraction, or with an exponent."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"
