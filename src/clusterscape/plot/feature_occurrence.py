"""Which columns the clustering vectors of a forest use."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from clusterscape.ensemble import Ensemble
from clusterscape.plot._axes import Frame, axes_below
from clusterscape.plot.palette import cluster_name

_PLAIN = "#0072B2"
_MARKED = "#D55E00"
_SHAPE = "s"  # of the dots of highlighted columns, so that colour is not the only cue
_BARS = 80  # from so many columns on, bars would be too thin to see and become lines


class FeatureOccurrenceDisplay(Frame):
    """A dot wherever a partition uses a column, and below it how many partitions do.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    occurrence : (T, d) array or sparse matrix
        How often each partition uses each column; 0 is not at all.
    names : sequence of str, optional
        The columns' names.
    highlight : array, optional
        Positions, names, or a mask of columns to be coloured: those known to be informative.

    Attributes
    ----------
    occurrence : (T, d) csr_matrix
        As given.
    totals : (d,) array
        Partitions that use each column.
    highlighted : (d,) array of bool
        The columns that are coloured.
    ax_ : matplotlib Axes
        The axes of the dots.
    totals_ax_ : matplotlib Axes
        The axes of the totals.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    FeatureProfileDisplay : How strongly each column alone divides the points.
    clusterscape.forest.ClusterForest : Grows such clustering vectors.

    Notes
    -----
    A column that is used often divides the points well together with others. It may still divide
    them by something irrelevant, such as a large unit of measurement.

    References
    ----------
    D. Yan, A. Chen, M. I. Jordan, "Cluster forests", Computational Statistics and Data Analysis 66,
    178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import FeatureOccurrenceDisplay
    >>> used = [[1, 0, 1], [2, 0, 0], [1, 1, 0]]
    >>> display = FeatureOccurrenceDisplay(used, names=["size", "age", "hue"]).plot()
    >>> display.totals
    array([3, 1, 1])
    """

    def __init__(self, occurrence: Any, *, names: Any = None, highlight: Any = None) -> None:
        self.occurrence = sparse.csr_matrix(occurrence)
        d = self.occurrence.shape[1]
        if min(self.occurrence.shape) == 0:
            raise ValueError(
                f"occurrence has the shape {self.occurrence.shape}; there is nothing to show."
            )
        self.names = None if names is None else tuple(str(name) for name in names)
        if self.names is not None and len(self.names) != d:
            raise ValueError(f"names has {len(self.names)} entries for {d} columns.")
        self.totals = np.asarray((self.occurrence > 0).sum(axis=0)).ravel()
        self.highlighted = _mask(highlight, d, self.names)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        names: Any = None,
        n_features: int | None = None,
        highlight: Any = None,
        max_names: int = 40,
        ax: Any = None,
    ) -> Self:
        """Draw a fitted :class:`~clusterscape.forest.ClusterForest`, another model, or an ensemble.

        Parameters
        ----------
        model : ClusterForest, other estimator or Ensemble
            A fitted forest; or an ensemble, or an estimator with ``ensemble_``, whose records say
            which columns they used.
        names : sequence of str, optional
            The columns' names; by default those that the model saw.
        n_features : int, optional
            Columns of the data behind an ensemble; by default up to the last one that is used. A
            fitted model knows them.
        highlight : array, optional
            Positions, names, or a mask of columns to be coloured.
        max_names : int
            Names are written when there are no more columns than this.
        ax : matplotlib Axes, optional
            Where the dots are drawn; the totals go below.

        Returns
        -------
        FeatureOccurrenceDisplay
        """
        if isinstance(model, Ensemble):
            occurrence = _of_records(model, n_features if names is None else len(names))
        else:
            check_is_fitted(model, ("feature_occurrence_", "ensemble_"), all_or_any=any)
            names = getattr(model, "feature_names_in_", None) if names is None else names
            occurrence = getattr(model, "feature_occurrence_", None)
            known = getattr(model, "n_features_in_", n_features)
            if n_features not in (None, known):
                raise ValueError(
                    f"n_features is {n_features}, but the model was fitted to {known} columns; "
                    "leave it out, since it is for ensembles that do not know them."
                )
            if occurrence is None:
                occurrence = _of_records(model.ensemble_, known if names is None else len(names))
        made = cls(occurrence, names=names, highlight=highlight)
        return made.plot(max_names=max_names, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: how often each clustering vector used each column."""
        counts = self.occurrence.toarray()
        names = self.names or tuple(f"column {j}" for j in range(counts.shape[1]))
        return pd.DataFrame(counts, columns=list(names)).rename_axis("vector")

    def plot(self, *, max_names: int = 40, ax: Any = None) -> Self:
        """Draw the dots, and the totals below them.

        Parameters
        ----------
        max_names : int
            Names are written when there are no more columns than this.
        ax : matplotlib Axes, optional
            Where the dots are drawn; the totals go below.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (8, 5.5))
        T, d = self.occurrence.shape
        colours = np.where(self.highlighted, _MARKED, _PLAIN)
        vector, column = self.occurrence.nonzero()
        # In points, such that neighbours do not touch where they need not.
        diameter = float(np.clip(min(220 / T, 400 / d), 1.7, 6.0))
        for marked, shape in ((False, "o"), (True, _SHAPE)):
            at = self.highlighted[column] == marked
            if not at.any():
                continue
            look = {"c": colours[column[at]], "marker": shape, "linewidths": 0}
            ax.scatter(column[at], vector[at], s=diameter**2, **look)
        ax.set(ylabel="clustering vector", xlim=(-0.5 - 0.01 * d, d - 0.5 + 0.01 * d))
        ax.set_ylim(T - 0.5, -0.5)
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_title(f"Columns used by {T:,} clustering vectors", fontsize=11)
        below = axes_below(ax, 0.3)
        if d <= _BARS:
            hatch = ["///" if marked else "" for marked in self.highlighted]
            look = {"color": colours, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
            below.bar(np.arange(d), self.totals, width=0.8, **look)
        else:
            width = max(1.0, 300 / d)
            below.vlines(np.arange(d), 0, self.totals, colors=colours, linewidth=width)
        below.set(ylabel="vectors with it", ylim=(0, max(1.05 * self.totals.max(), 1)))
        ax.tick_params(labelbottom=False)
        self._name_columns(below, max_names)
        if self.highlighted.any():
            _explain(ax, self.highlighted)
        self.totals_ax_ = below
        return self

    def _name_columns(self, ax: Any, max_names: int) -> None:
        d = self.occurrence.shape[1]
        if self.names is None or d > max_names:
            ax.set_xlabel(f"column (0 to {d - 1:,})" if d > 1 else "column")
            ax.xaxis.get_major_locator().set_params(integer=True)
            return
        short = [cluster_name(name) for name in self.names]
        ax.set_xticks(np.arange(d), short, rotation=90, fontsize=8)


def _of_records(ensemble: Ensemble, n_features: int | None) -> sparse.csr_matrix:
    """Count the columns of each partition's record."""
    lists = [record.columns for record in ensemble.records]
    if all(columns is None for columns in lists):
        raise ValueError(
            "no partition of the ensemble has a record of its columns, so there is nothing to "
            "show; give one that ForestGrower or random_features made."
        )
    most = max(int(columns.max(initial=-1)) for columns in lists if columns is not None) + 1
    d = most if n_features is None else n_features
    if d < most:
        raise ValueError(
            f"the ensemble uses column {most - 1}, but n_features (or names) says that there are "
            f"{d}."
        )
    counts = [
        np.ones(d, dtype=int) if columns is None else np.bincount(columns, minlength=d)
        for columns in lists
    ]
    return sparse.vstack([sparse.csr_matrix(row) for row in counts], format="csr")


def _mask(highlight: Any, d: int, names: tuple[str, ...] | None) -> np.ndarray:
    """Return the columns to be coloured as a mask."""
    out = np.zeros(d, dtype=bool)
    if highlight is None:
        return out
    given = np.atleast_1d(highlight)
    if given.dtype.kind in "UO":
        known = {name: i for i, name in enumerate(names or ())}
        absent = [str(name) for name in given if str(name) not in known]
        if absent:
            raise ValueError(f"highlight names {absent[0]!r}, which is no column's name.")
        given = np.array([known[str(name)] for name in given], dtype=int)
    if given.dtype == bool and given.shape != (d,):
        raise ValueError(f"highlight is a mask of {given.size} entries for {d} columns.")
    if given.dtype != bool and given.size and not (given.min() > -1 and given.max() < d):
        raise ValueError(f"highlight must hold positions from 0 to {d - 1}; got {given.tolist()}.")
    out[given if given.dtype == bool else given.astype(int)] = True
    return out


def _explain(ax: Any, highlighted: np.ndarray) -> None:
    from matplotlib.lines import Line2D

    words = {
        (_MARKED, _SHAPE): f"highlighted ({highlighted.sum():,})",
        (_PLAIN, "o"): f"others ({(~highlighted).sum():,})",
    }
    handles = [
        Line2D([], [], marker=shape, linestyle="", markersize=4, color=colour, label=label)
        for (colour, shape), label in words.items()
    ]
    ax.legend(
        handles=handles, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False
    )
