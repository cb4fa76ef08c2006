"""The feature profile: how strong the columns are, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clusterscape.plot.palette import NOISE_COLOUR

if TYPE_CHECKING:
    from clusterscape.forest import FeatureProfile

_OWN = "#0072B2"
_MOST_BINS = 60
_FEW_COLUMNS = 200  # up to so many, each column is also a tick under the bars


class FeatureProfileDisplay:
    """Histogram of the strengths of the columns; strengths drawn at random are grey.

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
        The axes.
    figure_ : matplotlib Figure
        The figure.

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
    def from_features(cls, X: Any, n_clusters: int, *, ax: Any = None, **options: Any) -> Self:
        """Measure the columns and draw their strengths.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n, d)
            The points.
        n_clusters : int
            Clusters of each k-means.
        ax : matplotlib Axes, optional
            Where to draw.
        **options
            More arguments of :func:`~clusterscape.forest.feature_profile`.

        Returns
        -------
        FeatureProfileDisplay
        """
        from clusterscape.forest import feature_profile

        return cls(feature_profile(X, n_clusters, **options)).plot(ax=ax)

    def plot(self, *, bins: Any = "auto", ax: Any = None) -> Self:
        """Draw the histogram.

        Parameters
        ----------
        bins : int, str or array
            As in ``numpy.histogram``; "auto" makes at most 60.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
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
        if found.strengths.size <= _FEW_COLUMNS:
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
        ax.set(xlabel="strength (\N{GREEK SMALL LETTER KAPPA}; small is strong)", ylabel="columns")
        many = "column" if found.strengths.size == 1 else "columns"
        ax.set_title(
            f"Feature profile: {found.strengths.size:,} {many}, {found.n_clusters} clusters each",
            fontsize=11,
        )
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


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
