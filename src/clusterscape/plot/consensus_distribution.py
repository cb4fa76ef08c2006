"""How clear consensus matrices are: their distributions, and what each further cluster adds."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.plot._axes import Frame, axes_beside

_STYLES = ("-", "--", "-.", ":")  # so that colour is not the only cue
_PAC_COLOUR = "#D55E00"


class ConsensusDistributionDisplay(Frame):
    """Distribution (CDF) of consensus values for every number of clusters, and its change.

    At the left the share of pairs whose consensus is at most a value: the flatter between 0.1 and
    0.9, the clearer. At the right the relative change of the area under it (delta area) and the
    share of ambiguous pairs (PAC). Use :meth:`from_consensus`.

    Parameters
    ----------
    cdf : pandas.DataFrame
        One column per number of clusters, by consensus.
    table : pandas.DataFrame
        Columns ``delta_area`` and ``pac``, by number of clusters.

    Attributes
    ----------
    ax_, delta_ax_ : matplotlib Axes
        The axes of the distributions, and of delta area and PAC.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.resampling_consensus : What is drawn.
    TrackingDisplay : Clusters across their number.

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov and T. Golub, "Consensus clustering: a resampling-based method
    for class discovery and visualization of gene expression microarray data", Machine Learning 52,
    91-118, 2003. doi:10.1023/A:1023949509487

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import ConsensusDistributionDisplay
    >>> from clusterscape.validate import resampling_consensus
    >>> X = [[0.0], [1.0], [2.0], [9.0], [10.0], [11.0], [20.0], [21.0]]
    >>> found = resampling_consensus(X, (2, 4), n_resamples=20, random_state=0)
    >>> ConsensusDistributionDisplay.from_consensus(found).ax_.get_xlabel()
    'consensus of a pair'
    """

    def __init__(self, cdf: pd.DataFrame, table: pd.DataFrame) -> None:
        self.cdf = cdf
        self.table = table

    @classmethod
    def from_consensus(cls, consensus: Any, *, ax: Any = None) -> Self:
        """Draw a resampling consensus.

        Parameters
        ----------
        consensus : ResamplingConsensus
            As :func:`~clusterscape.validate.resampling_consensus` returns it.
        ax : matplotlib Axes, optional
            Where to draw; its right part goes to delta area and PAC.

        Returns
        -------
        ConsensusDistributionDisplay
        """
        return cls(consensus.cdf(), consensus.table).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return the distributions that are drawn; ``table`` holds the right part."""
        return self.cdf

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the distributions, and delta area and PAC beside them.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; its right part goes to delta area and PAC.

        Returns
        -------
        self
        """
        from matplotlib import colormaps

        ax = self._begin(ax, (9.0, 3.8))
        right = axes_beside(ax, 0.46)
        ks = list(self.cdf.columns)
        colours = colormaps["viridis"](np.linspace(0.0, 0.92, len(ks)))
        for k, colour in zip(ks, colours, strict=True):
            look = {"color": colour, "linestyle": _STYLES[int(k) % len(_STYLES)]}
            ax.plot(self.cdf.index, self.cdf[k], linewidth=1.4, label=str(k), **look)
        for limit in (0.1, 0.9):
            ax.axvline(limit, color="#999999", linestyle=":", linewidth=0.8)
        ax.set(xlabel="consensus of a pair", ylabel="share of pairs (CDF)")
        ax.set(xlim=(0, 1), ylim=(0, 1.02))
        ax.set_title("Distribution of the consensus", fontsize=11)
        columns = 1 + (len(ks) > 8)
        ax.legend(title="clusters", fontsize=7, title_fontsize=8, ncols=columns, loc="lower right")
        self._draw_change(right)
        self.delta_ax_ = right
        return self

    def _draw_change(self, ax: Any) -> None:
        """Draw delta area, and the proportion of ambiguous pairs on the same scale of shares."""
        table = self.table
        ax.plot(table.index, table["delta_area"], "o-", color="#0072B2", label="delta area")
        ax.plot(table.index, table["pac"], "s--", color=_PAC_COLOUR, label="PAC (ambiguous pairs)")
        ax.set(xlabel="number of clusters", ylabel="share", ylim=(0, None))
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title("What one more cluster adds", fontsize=11)
        ax.legend(fontsize=8)
