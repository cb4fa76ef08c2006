"""Criteria of a sweep against one of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.plot.palette import cluster_marker

_CRITERIA = ("stability", "point_stability", "silhouette", "coverage")
_TICKS = 14  # values that are named on the axis
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#999999", "#CC79A7", "#56B4E9", "#E69F00")


class SweepDisplay:
    """Criteria of every setting of a clusterer against one parameter, one below the other.

    Each criterion has its own scale, and values of the parameter are drawn at equal distances.
    Settings that failed are marked at the bottom. Where the grid has other parameters, there is one
    line for each of their settings. Use :meth:`from_sweep`.

    Parameters
    ----------
    table : pandas.DataFrame
        As in ``Sweep.table``.
    parameter : str
        The parameter on the x-axis.
    criteria : list of str
        Columns of the table.

    Attributes
    ----------
    axes_ : array of matplotlib Axes
        One per criterion.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.sweep : Makes the table.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.cluster import KMeans
    >>> from clusterscape.plot import SweepDisplay
    >>> from clusterscape.validate import sweep
    >>> X = [[0.0], [1.0], [9.0], [10.0], [20.0], [21.0]]
    >>> found = sweep(KMeans(), {"n_clusters": [2, 3, 9]}, X, n_resamples=3, random_state=0)
    >>> display = SweepDisplay.from_sweep(found, criteria=["stability", "silhouette"])
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['stability', 'silhouette']
    """

    def __init__(
        self, table: pd.DataFrame, parameter: str, *, criteria: Sequence[str] = _CRITERIA
    ) -> None:
        column = f"param_{parameter}"
        if column not in table.columns:
            known = [c.removeprefix("param_") for c in table.columns if c.startswith("param_")]
            raise ValueError(f"parameter must be one of {known}; got {parameter!r}.")
        unknown = [name for name in criteria if name not in table.columns]
        if unknown or not len(criteria):
            have = [c for c in table.columns if not c.startswith("param_") and c != "error"]
            raise ValueError(
                f"criteria must be columns of the table, {have}; got {list(criteria)}."
            )
        self.table = table
        self.parameter = parameter
        self.criteria = list(criteria)

    @classmethod
    def from_sweep(
        cls,
        found: Any,
        *,
        parameter: str | None = None,
        criteria: Sequence[str] = _CRITERIA,
        axes: Any = None,
    ) -> Self:
        """Draw a sweep.

        Parameters
        ----------
        found : Sweep
            As :func:`~clusterscape.validate.sweep` returns it.
        parameter : str, optional
            The parameter on the x-axis; by default the one with most values.
        criteria : list of str
            Columns of the table.
        axes : list of matplotlib Axes, optional
            Where to draw, one for each criterion.

        Returns
        -------
        SweepDisplay
        """
        if parameter is None:
            columns = [c for c in found.table.columns if c.startswith("param_")]
            counts = [found.table[c].astype(str).nunique() for c in columns]
            parameter = columns[int(np.argmax(counts))].removeprefix("param_")
        return cls(found.table, parameter, criteria=criteria).plot(axes=axes)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: the parameters and the criteria of every setting."""
        given = [c for c in self.table.columns if c.startswith("param_")]
        return self.table[[*given, *self.criteria, "error"]]

    def plot(self, *, axes: Any = None) -> Self:
        """Draw one line per setting of the other parameters, for each criterion.

        Parameters
        ----------
        axes : list of matplotlib Axes, optional
            Where to draw, one for each criterion.

        Returns
        -------
        self
        """
        m = len(self.criteria)
        if axes is None:
            import matplotlib.pyplot as plt

            size = (6.0, 1.0 + 1.25 * m)
            axes = plt.subplots(m, 1, figsize=size, sharex=True, layout="constrained")[1]
        axes = np.atleast_1d(np.asarray(axes, dtype=object))
        if axes.shape != (m,):
            raise ValueError(f"axes must be {m}, one for each criterion; got {axes.size}.")
        place, ticks = self._places()
        lines = self._lines()
        failed = self.table["error"].notna().to_numpy()
        for ax, name in zip(axes, self.criteria, strict=True):
            for i, (label, rows) in enumerate(lines):
                values = self.table[name].astype(float).to_numpy()[rows]
                order = np.argsort(place[rows], kind="stable")
                look = {"color": _COLOURS[i % len(_COLOURS)], "marker": cluster_marker(i)}
                ax.plot(place[rows][order], values[order], ms=4, label=label, **look)
            if failed.any():
                at, bottom = place[failed], ax.get_xaxis_transform()
                ax.plot(at, np.zeros(at.size), "kx", transform=bottom, clip_on=False)
            ax.set_ylabel(name, fontsize=8)
        axes[-1].set_xlabel(self.parameter)
        every = -(-len(ticks) // _TICKS)
        axes[-1].set_xticks(np.arange(len(ticks))[::every], ticks[::every], fontsize=8)
        if len(lines) > 1:
            axes[0].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        title = f"{len(self.table)} settings"
        title += f", {failed.sum()} failed (x)" if failed.any() else ""
        axes[0].set_title(title, fontsize=11)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _places(self) -> tuple[np.ndarray, list[str]]:
        """Return the rank of each setting's value, and the values: they may be of any scale."""
        values = self.table[f"param_{self.parameter}"]
        numbers = pd.to_numeric(values, errors="coerce")
        if numbers.notna().all() and not values.map(lambda v: isinstance(v, bool)).any():
            distinct, codes = np.unique(numbers.to_numpy(dtype=np.float64), return_inverse=True)
            return codes, [f"{value:g}" for value in distinct]
        codes, names = pd.factorize(values.astype(str))
        return codes, [str(name) for name in names]

    def _lines(self) -> list[tuple[str, np.ndarray]]:
        """Return the settings of the other parameters, and the rows of each."""
        others = [
            c
            for c in self.table.columns
            if c.startswith("param_") and c != f"param_{self.parameter}"
        ]
        if not others:
            return [("", np.arange(len(self.table)))]
        names = [
            ", ".join(f"{str(c).removeprefix('param_')}={value}" for c, value in row.items())
            for row in self.table[others].to_dict(orient="records")
        ]
        codes, texts = pd.factorize(np.asarray(names, dtype=object))
        return [(str(text), np.flatnonzero(codes == i)) for i, text in enumerate(texts)]
