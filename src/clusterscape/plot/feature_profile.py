"""The feature profile: how strong the columns are, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd

from clusterscape.plot._axes import Frame, axes_below
from clusterscape.plot.palette import NOISE_COLOUR, cluster_name

if TYPE_CHECKING:
    from clusterscape.forest import FeatureProfile

_OWN = "#0072B2"
_MOST_BINS = 60
_FEW_COLUMNS = 200  # up to so many, each column is also a tick under the bars
_HISTOGRAM = 3.2  # inches
_ROW = 0.17  # inches of a named column


class FeatureProfileDisplay(Frame):
    """Histogram of the strengths of the columns, and below it each column by its name.

    Strengths drawn at random are grey.

    Use :meth:`from_features`, or give the result of
    :func:`~clusterscape.forest.feature_profile`.

    Parameters
    ----------
    profile : FeatureProfile
        The strengths.

    Attributes
    ----------
    edges_ : (bins + 1,) array
        Of the bins.
    ax_ : matplotlib Axes
        The axes of the histogram.
    names_ax_ : matplotlib Axes or None
        The axes of the columns' names; None where there are too many.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    FeatureOccurrenceDisplay : The columns that a forest used.
    clusterscape.forest.feature_profile : The figures behind the picture.

    References
    ----------
    D. Yan, A. Chen, M. I. Jordan, "Cluster forests", Computational Statistics and Data Analysis 66,
    178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import FeatureProfileDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 8))
    >>> display = FeatureProfileDisplay.from_features(X, 2, random_state=0)
    >>> display.ax_.get_title()
    'Feature profile: 8 columns, 2 clusters each'
    """

    def __init__(self, profile: FeatureProfile) -> None:
        self.profile = profile

    @classmethod
    def from_features(
        cls, X: Any, n_clusters: int, *, max_names: int = 40, ax: Any = None, **options: Any
    ) -> Self:
        """Measure the columns and draw their strengths.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The points.
        n_clusters : int
            Clusters of each k-means.
        max_names : int
            As in :meth:`plot`.
        ax : matplotlib Axes, optional
            Where to draw.
        **options
            More arguments of :func:`~clusterscape.forest.feature_profile`.

        Returns
        -------
        FeatureProfileDisplay
        """
        from clusterscape.forest import feature_profile

        return cls(feature_profile(X, n_clusters, **options)).plot(max_names=max_names, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the strength of each column, and whether it was drawn from others.

        The strongest column, which has the smallest value, comes first.
        """
        found = self.profile
        names = found.names or tuple(f"column {j}" for j in range(found.strengths.size))
        table = pd.DataFrame(
            {"column": names, "strength": found.strengths, "sampled": found.sampled}
        )
        return table.sort_values("strength", kind="stable", ignore_index=True)

    def plot(self, *, bins: Any = "auto", max_names: int = 40, ax: Any = None) -> Self:
        """Draw the histogram, and below it the columns from the strongest to the weakest.

        Parameters
        ----------
        bins : int, str or array
            As in ``numpy.histogram``; "auto" makes at most 60.
        max_names : int
            The columns are shown one by one, with their names, when there are no more than this;
            otherwise, up to 200, as ticks under the bars.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        d = self.profile.strengths.size
        height = _HISTOGRAM + (_ROW * d + 0.4 if d <= max_names else 0.4)
        ax = self._begin(ax, (6, height))
        found = self.profile
        own, drawn = found.strengths[~found.sampled], found.strengths[found.sampled]
        self.edges_ = _edges(found.strengths, bins)
        ax.hist(
            [own, drawn] if drawn.size else [own],
            bins=self.edges_,
            stacked=True,
            color=[_OWN, NOISE_COLOUR][: 1 + bool(drawn.size)],
            edgecolor="white",
            linewidth=0.5,
        )
        named = found.strengths.size <= max_names
        if not named and found.strengths.size <= _FEW_COLUMNS:
            # Under the bars, in units of the axes, so that they never touch.
            across = ax.get_xaxis_transform()
            ax.plot(own, np.full(own.size, -0.03), "|", color=_OWN, transform=across, clip_on=False)
            ax.tick_params(axis="x", pad=10)
        if drawn.size:
            _explain(ax, own.size, drawn.size)
        if self.edges_.size == 2:  # one bar would fill the axes
            start, end = self.edges_
            ax.set_xlim(start - (end - start), start + 20 * (end - start))
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set_ylabel("columns")
        self.names_ax_ = self._draw_names(ax) if named else None
        lowest = ax if self.names_ax_ is None else self.names_ax_
        lowest.set_xlabel("strength (\N{GREEK SMALL LETTER KAPPA}; small is strong)")
        many = "column" if found.strengths.size == 1 else "columns"
        ax.set_title(
            f"Feature profile: {found.strengths.size:,} {many}, {found.n_clusters} clusters each",
            fontsize=11,
        )
        return self

    def _draw_names(self, ax: Any) -> Any:
        """Draw a dot per column at its strength, beside its name; return the axes."""
        found = self.profile
        d = found.strengths.size
        below = axes_below(ax, _ROW * d / (_HISTOGRAM + _ROW * d))
        order = np.argsort(found.strengths, kind="stable")
        colours = np.where(found.sampled, NOISE_COLOUR, _OWN)[order]
        below.hlines(
            np.arange(d), 0, 1, color="#E4E4E4", lw=0.6, zorder=0, transform=_across(below)
        )
        below.scatter(found.strengths[order], np.arange(d), c=colours, s=16, linewidths=0)
        given = [f"column {i}" for i in range(d)] if found.names is None else found.names
        below.set_yticks(np.arange(d), [cluster_name(str(given[i])) for i in order], fontsize=8)
        below.set_ylim(d - 0.4, -0.6)
        below.tick_params(left=False)
        ax.tick_params(labelbottom=False)
        return below


def _across(ax: Any) -> Any:
    """Return the coordinates of a whole row: the axes' width, and the data's height."""
    return ax.get_yaxis_transform()


def _edges(strengths: np.ndarray, bins: Any) -> np.ndarray:
    """Return the edges of the bins; strengths that are all equal get one bin around them."""
    if np.ptp(strengths) <= 1e-12 * np.abs(strengths).max(initial=0.0):
        start = float(strengths.mean())
        return np.array([start, start + 0.05 * max(start, 0.1)])
    edges = np.histogram_bin_edges(strengths, bins)
    if isinstance(bins, str) and edges.size > _MOST_BINS + 1:
        edges = np.histogram_bin_edges(strengths, _MOST_BINS)
    return edges


def _explain(ax: Any, n_own: int, n_drawn: int) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=_OWN, label=f"measured ({n_own:,})"),
        Patch(color=NOISE_COLOUR, label=f"too few values, drawn from the others ({n_drawn:,})"),
    ]
    ax.legend(handles=handles, fontsize=8, loc="best")
