"""The eigenvalues behind a chosen number of clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

_FEW = 25  # eigenvalues that are numbered one by one


class KSelectionDisplay:
    """Eigenvalues of the normalised co-association, with the chosen gap marked.

    Use :meth:`from_estimator`.

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
    >>> KSelectionDisplay(select_k(runs)).plot().ax_.get_ylabel()
    'eigenvalue'
    """

    def __init__(self, selection: Any) -> None:
        self.selection = selection

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw a fitted model that chose its own number of clusters.

        Parameters
        ----------
        model : ConsensusClustering or ClusterForest
            Fitted with ``n_clusters=None``.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        KSelectionDisplay
        """
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
        return cls(model.k_selection_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the eigenvalues.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(6, 3.6), layout="constrained")[1]
        values = self.selection.eigenvalues
        k = self.selection.n_clusters
        position = np.arange(1, len(values) + 1)
        colours = np.where(position <= k, "#0072B2", "#999999")
        ax.bar(position, values, color=colours, width=0.7)
        ax.axvline(k + 0.5, color="#D55E00", linestyle="--", linewidth=1.2)
        ax.annotate(f"{k} cluster{'s' if k != 1 else ''}", (k + 0.6, 1.02), color="#D55E00")
        ax.set(xlabel="rank", ylabel="eigenvalue", ylim=(0, 1.12))
        if position.size <= _FEW:
            ax.set_xticks(position)
        else:  # a number under each bar would overlap the next
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title("Spectrum of the normalised co-association", fontsize=11)
        self.ax_ = ax
        self.figure_ = ax.figure
        return self
