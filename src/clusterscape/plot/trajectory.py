"""The evolution of the chain behind an SCA consensus."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape.plot._axes import Frame, cluster_legend, scatter_clusters
from clusterscape.plot.palette import cluster_colors


class TrajectoryDisplay(Frame):
    """The values of x_t over the steps t of a chain, one line per point, coloured by group.

    Use :meth:`from_estimator`, or give a trajectory of :func:`clusterscape.combine.evolve`.

    Parameters
    ----------
    trajectory : Trajectory
        As in ``SCA.trajectory_``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the values over time.
    sorted_ax_ : matplotlib Axes
        The axes of the last state in ascending order, where groups are separated by gaps.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.combine.SCA : The consensus method that follows such a chain.

    References
    ----------
    C. D. Meyer, C. D. Wessell, "Stochastic data clustering", SIAM Journal on Matrix Analysis and
    Applications 33, 1214-1236, 2012. doi:10.1137/100804395

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.combine import evolve
    >>> from clusterscape.plot import TrajectoryDisplay
    >>> P = np.array([[0.6, 0.3, 0.1, 0.0], [0.3, 0.6, 0.0, 0.1],
    ...               [0.1, 0.0, 0.6, 0.3], [0.0, 0.1, 0.3, 0.6]])
    >>> path = evolve(P, [0.5, 0.2, 0.2, 0.1], 2)
    >>> TrajectoryDisplay(path).plot().ax_.get_xlabel()
    'step t'
    """

    def __init__(self, trajectory: Any) -> None:
        self.trajectory = trajectory

    @classmethod
    def from_estimator(cls, model: Any, *, scaled: bool = True, ax: Any = None) -> Self:
        """Draw a fitted :class:`~clusterscape.combine.SCA`, or a model that used it.

        Parameters
        ----------
        model : SCA or ConsensusClustering
            Fitted; of a ConsensusClustering its ``consensus_`` is drawn.
        scaled : bool
            As in :meth:`plot`.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        TrajectoryDisplay
        """
        check_is_fitted(model)
        model = getattr(model, "consensus_", model)
        if not hasattr(model, "trajectory_"):
            raise ValueError(
                f"{type(model).__name__} follows no chain, so there is no evolution to show; fit "
                "an SCA, or a ConsensusClustering with consensus='sca'."
            )
        if model.trajectory_ is None:
            raise ValueError(
                "the model followed no evolution: its clusters are the connected components of the "
                f"similarities, or there was nothing to split (rule_={model.rule_!r})."
            )
        return cls(model.trajectory_).plot(scaled=scaled, ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the state of every point at each step, one column per point."""
        states = np.asarray(self.trajectory.states)
        return pd.DataFrame(states).rename_axis(index="step", columns="point")

    def plot(self, *, scaled: bool = True, ax: Any = None) -> Self:
        """Draw the values over time, and the last state in ascending order beside them.

        Parameters
        ----------
        scaled : bool
            Draw ``x_t - 1/n`` at unit length, in which groups stay visible when x_t is nearly
            uniform; otherwise x_t itself.
        ax : matplotlib Axes, optional
            Where the values over time are drawn; the last state goes beside them.

        Returns
        -------
        self
        """
        from mpl_toolkits.axes_grid1 import make_axes_locatable

        ax = self._begin(ax, (8, 4))
        path = self.trajectory
        values = path.deviations if scaled else path.states
        colours = cluster_colors(path.labels)
        times = np.arange(len(values))
        width = 1.2 if values.shape[1] <= 100 else 0.4
        for x in range(values.shape[1]):
            ax.plot(times, values[:, x], color=colours[x], linewidth=width)
        ax.set(xlabel="step t", ylabel="x_t - 1/n, at unit length" if scaled else "x_t")
        ending = "stable groups" if path.stable else "not yet stable"
        ax.set_title(f"Evolution of the chain: {ending} at t={path.n_iter}", fontsize=11)
        ax.xaxis.get_major_locator().set_params(integer=True)
        # Cut out of the axes given, so that a layout which knows these leaves space for both.
        side = make_axes_locatable(ax).append_axes("right", size="30%", pad=0.15, sharey=ax)
        order = np.argsort(values[-1], kind="stable")
        places = np.column_stack([np.arange(order.size), values[-1, order]])
        scatter_clusters(side, places, np.asarray(path.labels)[order], s=11)
        side.tick_params(labelleft=False)
        side.set(xticks=[], xlabel=f"sorted, t={path.n_iter}")
        # Inside, because a layout does not see what is outside of axes that were cut in two.
        cluster_legend(ax, path.labels, title="group", loc="best", bbox_to_anchor=None)
        self.sorted_ax_ = side
        return self
