"""What decided the number of clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape.combine.result import KSelection
from clusterscape.plot._axes import Frame

_FEW = 25  # eigenvalues that are numbered one by one
_CHOSEN, _SECOND, _OTHER, _CUT = "#0072B2", "#56B4E9", "#999999", "#D55E00"


class KSelectionDisplay(Frame):
    """Scores of the candidates, with the choice and its runner-up marked.

    Where features were looked at, every candidate has a bar, its score; above it, in how many
    random halves of the partitions it was chosen; and a mark where data without clusters are on
    average, if such references were made. Otherwise the eigenvalues of the normalised
    co-association are drawn, and the chosen gap. ``criterion`` draws any other column of the table
    against the number of clusters, such as the stability. Use :meth:`from_estimator` or
    :meth:`from_selection`.

    Parameters
    ----------
    selection : KSelection
        As in ``ConsensusClustering.k_selection_``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.select_k : Chooses the number, and returns what is drawn.

    References
    ----------
    U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17, 395-416, 2007.
    doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import KSelectionDisplay
    >>> from clusterscape.validate import select_k
    >>> from clusterscape import Ensemble
    >>> runs = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 2]])
    >>> KSelectionDisplay.from_selection(select_k(runs)).ax_.get_ylabel()
    'eigenvalue'
    """

    def __init__(self, selection: Any) -> None:
        self.selection = selection

    @classmethod
    def from_estimator(cls, model: Any, *, criterion: str | None = None, ax: Any = None) -> Self:
        """Draw a fitted model that chose its own number of clusters.

        Parameters
        ----------
        model : ConsensusClustering or ClusterForest
            Fitted with ``n_clusters=None``.
        criterion : str, optional
            A column of ``k_selection_.table``, instead of what decided.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        KSelectionDisplay
        """
        if isinstance(model, KSelection):
            raise TypeError("model: this is the result of select_k; draw it by from_selection.")
        check_is_fitted(model)
        if not hasattr(model, "k_selection_"):
            raise ValueError(
                f"{type(model).__name__} keeps no record of how a number of clusters was chosen; "
                "fit a ConsensusClustering or a ClusterForest with n_clusters=None, or draw the "
                "result of clusterscape.validate.select_k."
            )
        if model.k_selection_ is None:
            raise ValueError(
                "the model was given n_clusters, so there is no choice to show; fit it with "
                "n_clusters=None."
            )
        return cls(model.k_selection_).plot(criterion=criterion, ax=ax)

    @classmethod
    def from_selection(
        cls, selection: Any, *, criterion: str | None = None, ax: Any = None
    ) -> Self:
        """Draw what :func:`~clusterscape.validate.select_k` returned.

        Parameters
        ----------
        selection : KSelection
            The choice.
        criterion : str, optional
            A column of its table, instead of what decided.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        KSelectionDisplay
        """
        return cls(selection).plot(criterion=criterion, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: one row per candidate; or per eigenvalue, where these decided."""
        if "separation_rise" in self.selection.columns:
            frame: pd.DataFrame = self.selection.table
            return frame
        values = np.asarray(self.selection.eigenvalues)
        return pd.DataFrame({"rank": np.arange(1, values.size + 1), "eigenvalue": values})

    def plot(self, *, criterion: str | None = None, ax: Any = None) -> Self:
        """Draw the score of every candidate, or the eigenvalues where nothing else was looked at.

        Parameters
        ----------
        criterion : str, optional
            A column of the table, instead of what decided.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6, 3.6))
        if criterion is not None:
            self._draw_curve(ax, criterion)
        elif "separation_rise" in self.selection.columns:
            self._draw_scores(ax)
        else:
            self._draw_eigenvalues(ax)
        return self

    def _draw_scores(self, ax: Any) -> None:
        """Draw what decided: one bar per candidate, the choice and the runner-up marked."""
        table, k, second = self.selection.table, self.selection.n_clusters, self.selection.runner_up
        colours = [_CHOSEN if c == k else _SECOND if c == second else _OTHER for c in table["k"]]
        hatch = ["///" if c == second else "" for c in table["k"]]  # colour is not the only cue
        ax.bar(table["k"], table["score"], color=colours, width=0.7, hatch=hatch, edgecolor="white")
        chosen = table["chosen"].sum()
        for row in table.itertuples():
            if row.chosen:
                where = (row.k, max(float(row.score), 0.0))
                ax.annotate(f"{row.chosen}/{chosen}", where, ha="center", va="bottom", fontsize=8)
        self._draw_references(ax, "score")
        ax.axhline(0.0, color="black", linewidth=0.6)
        title = f"{k} cluster{'s' if k != 1 else ''} chosen"
        title += f", runner-up {second}" if second is not None else ""
        ax.set_title(title, fontsize=11)
        ax.set(xlabel="number of clusters", ylabel="separation rise + clearness drop + eigengap")
        ax.margins(y=0.12)
        self._number(ax, np.asarray(table["k"]))

    def _draw_curve(self, ax: Any, criterion: str) -> None:
        """Draw one column against the number of clusters."""
        table, k, second = self.selection.table, self.selection.n_clusters, self.selection.runner_up
        if criterion not in table or criterion == "k":
            raise ValueError(
                f"criterion={criterion!r} is not a column of the table; it has "
                f"{', '.join(name for name in table if name != 'k')}. Ask select_k for others by "
                "criteria=."
            )
        ax.plot(table["k"], table[criterion], color=_OTHER, marker="o", markersize=4)
        marks = ((k, _CHOSEN, "chosen"), (second, "white", "runner-up"))  # full, and open
        for number, inside, name in marks:
            at = table["k"] == number
            if at.any():  # one cluster is no candidate
                look = {"color": _CHOSEN, "markerfacecolor": inside, "label": name}
                ax.plot(table["k"][at], table[criterion][at], "o", **look)
        self._draw_references(ax, criterion)
        if k == 1:
            ax.plot([], [], " ", label="chosen: 1 cluster")
        words = criterion.replace("_", " ")
        ax.set(xlabel="number of clusters", ylabel=words)
        ax.set_title(f"{words[0].upper()}{words[1:]} by number of clusters", fontsize=11)
        ax.legend(fontsize=8, frameon=False)
        self._number(ax, np.asarray(table["k"]))

    def _draw_references(self, ax: Any, criterion: str) -> None:
        """Mark the mean of data without clusters, where there are such references."""
        table = self.selection.table
        if f"{criterion}_null" in table:
            height = table[f"{criterion}_null"]
            ax.plot(table["k"], height, "_", color=_CUT, markersize=12, label="without clusters")
            ax.legend(fontsize=8, frameon=False)

    def _draw_eigenvalues(self, ax: Any) -> None:
        """Draw the spectrum, and where it was cut."""
        values = self.selection.eigenvalues
        k = self.selection.n_clusters
        position = np.arange(1, len(values) + 1)
        colours = np.where(position <= k, _CHOSEN, _OTHER)
        ax.bar(position, values, color=colours, width=0.7)
        ax.axvline(k + 0.5, color=_CUT, linestyle="--", linewidth=1.2)
        ax.annotate(f"{k} cluster{'s' if k != 1 else ''}", (k + 0.6, 1.02), color=_CUT)
        ax.set(xlabel="rank", ylabel="eigenvalue", ylim=(0, 1.12))
        ax.set_title("Spectrum of the normalised co-association", fontsize=11)
        self._number(ax, position)

    def _number(self, ax: Any, position: np.ndarray) -> None:
        if position.size <= _FEW:
            ax.set_xticks(position)
        else:  # a number under each bar would overlap the next
            ax.xaxis.get_major_locator().set_params(integer=True)
