"""Which clusterings are alike: a tree of the partitions of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.compare import MEASURES, PairwiseResult
from clusterscape.plot._axes import Frame
from clusterscape.plot._distances import ANSWER, as_distances, compared, names_of
from clusterscape.plot.palette import cluster_name

_NAMED = 60  # clusterings that are named, one below the other
_ROW = 0.2  # inches of a name
_LINKAGES = ("average", "complete", "single")


class DendrogramDisplay(Frame):
    """A tree of clusterings: those that agree most are joined first.

    Use :meth:`from_ensemble`.

    Parameters
    ----------
    merges : (m - 1, 4) array
        As scipy's ``linkage`` returns it: the two groups that are joined, their distance, and the
        number of clusterings in the union.
    names : sequence of str
        The clusterings.
    metric : str
        The measure of their distances.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.compare.pairwise : The distances of all pairs.
    LandscapeDisplay : Clusterings on a map.

    Notes
    -----
    Measures of similarity are turned into distances: 1 less the value.

    References
    ----------
    R. R. Sokal and C. D. Michener, "A statistical method for evaluating systematic relationships",
    University of Kansas Science Bulletin 38, 1409-1438, 1958: average linkage.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import DendrogramDisplay
    >>> runs = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]]
    >>> display = DendrogramDisplay.from_ensemble(runs, names=["a", "b", "c"])
    >>> display.to_frame()
      first second  distance  clusterings
    0     a      b       0.0            2
    1     c    a b       1.0            3
    """

    def __init__(self, merges: Any, names: Sequence[str], *, metric: str = "adjusted_rand") -> None:
        self.merges = np.asarray(merges, dtype=np.float64).reshape(-1, 4)
        self.names = [str(name) for name in names]
        self.metric = metric
        if len(self.merges) != len(self.names) - 1:
            raise ValueError(
                f"merges must have one row less than there are names; got {len(self.merges)} rows "
                f"for {len(self.names)} names."
            )

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        *,
        answer: Any = None,
        metric: str = "adjusted_rand",
        linkage: str = "average",
        names: Sequence[str] | None = None,
        features: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compare all clusterings with one another, and draw the tree.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The clusterings.
        answer : (n,) labels, optional
            A further clustering, such as the consensus; it is called "answer".
        metric : str
            A measure of :func:`~clusterscape.compare.pairwise`.
        linkage : {"average", "complete", "single"}
            How groups of clusterings are joined.
        names : sequence of str, optional
            Names of the clusterings; by default those of the ensemble, with their numbers of
            clusters.
        features : (n, d) array, optional
            The points, for a measure that needs them.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DendrogramDisplay
        """
        _, at, far = compared(ensemble, answer, metric=metric, features=features)
        called = names_of(ensemble) if names is None else [str(name) for name in names]
        given = [ANSWER if i < 0 else called[int(i)] for i in at]
        return cls(_tree(far, linkage), given, metric=metric).plot(ax=ax)

    @classmethod
    def from_pairwise(
        cls,
        found: PairwiseResult,
        *,
        linkage: str = "average",
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Draw the tree of distances that were computed already.

        Parameters
        ----------
        found : PairwiseResult
            Of :func:`~clusterscape.compare.pairwise`, with one measure.
        linkage : {"average", "complete", "single"}
            How groups of clusterings are joined.
        names : sequence of str, optional
            Names of the clusterings; by default those of the result.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        DendrogramDisplay
        """
        metric = found.metrics[0]
        far = as_distances(found.matrix, metric)
        given = found.names if names is None else names
        return cls(_tree(far, linkage), list(given), metric=metric).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the groups that are joined, from the nearest to the farthest.

        Groups of more than three clusterings are given by their number.
        """
        groups: list[list[str]] = [[name] for name in self.names]
        rows = []
        for left, right, distance, count in self.merges:
            pair = groups[int(left)], groups[int(right)]
            rows.append((*map(_group, pair), float(distance), int(count)))
            groups.append(pair[0] + pair[1])
        return pd.DataFrame(rows, columns=["first", "second", "distance", "clusterings"])

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the tree, with the clusterings one below the other.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        from scipy.cluster.hierarchy import dendrogram

        m = len(self.names)
        named = m <= _NAMED
        ax = self._begin(ax, (6.4, float(np.clip(1.2 + _ROW * m, 2.4, 12.0)) if named else 6.0))
        shape = dendrogram(self.merges, no_plot=True, get_leaves=True)
        for heights, places in zip(shape["dcoord"], shape["icoord"], strict=True):
            ax.plot(heights, (np.asarray(places) - 5.0) / 10.0, color="#444444", linewidth=1.0)
        order = shape["leaves"]
        for y, i in enumerate(order):
            if self.names[i] == ANSWER:
                ax.plot(0, y, "D", color="#D55E00", markersize=6, clip_on=False, label=ANSWER)
                ax.legend(fontsize=8, frameon=False, loc="lower right")
        ax.set_ylim(m - 0.4, -0.6)
        ax.set_xlim(left=0.0)
        if named:
            shown = [cluster_name(self.names[i]) for i in order]
            ax.set_yticks(np.arange(m), shown, fontsize=8)
            for text, i in zip(ax.get_yticklabels(), order, strict=True):
                text.set_fontweight("bold" if self.names[i] == ANSWER else "normal")
        else:
            ax.set(yticks=[], ylabel=f"{m:,} clusterings")
        words = self.metric.replace("_", " ")
        is_distance = self.metric in MEASURES and MEASURES[self.metric].direction == "distance"
        ax.set_xlabel(words if is_distance else f"1 - {words}")
        ax.set_title(f"Which of {m:,} clusterings are alike", fontsize=11)
        for side in ("top", "right", "left"):
            ax.spines[side].set_visible(False)
        ax.tick_params(left=False)
        return self


def _tree(far: np.ndarray, linkage: str) -> np.ndarray:
    """Return the merges of clusterings with these distances."""
    from scipy.cluster.hierarchy import linkage as tree
    from scipy.spatial.distance import squareform

    if linkage not in _LINKAGES:
        raise ValueError(f"linkage must be one of {', '.join(_LINKAGES)}; got {linkage!r}.")
    return np.asarray(tree(squareform(far, checks=False), linkage))


def _group(names: list[str]) -> str:
    return " ".join(names) if len(names) <= 3 else f"{len(names)} clusterings"
