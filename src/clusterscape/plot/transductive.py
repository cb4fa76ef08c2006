"""Transductive machines: boundaries, scores of points, accuracy by rate, support vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import pandas as pd

from clusterscape._core.params import Choice, check_params
from clusterscape.plot._axes import Frame
from clusterscape.plot.palette import cluster_colors, cluster_marker
from clusterscape.plot.plane import plane

_GREY = "#9a9a9a"
_SECOND = "#333333"
_GRID = 160
_SIDES = ("to the nearest true one", "from each true one")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo")  # so that colour is not the only cue


class BoundaryDisplay(Frame):
    """Decision boundary and margins of a classifier of two classes over two columns.

    Labelled points are large, unlabelled ones grey, and those that the last round of a sampled
    machine held are ringed. Use :meth:`from_estimator`.

    Parameters
    ----------
    xx, yy : (g, g) arrays
        A grid of places.
    decision : (g, g) array
        Decision values there.
    points : (n, 2) array
        The points.
    codes : (n,) array
        Their classes; -1 for an unlabelled point.
    sample : array
        Rows that are ringed.
    other : (g, g) array, optional
        Decision values of another classifier.
    names : (str, str)
        What the columns are.
    legend : (str, str)
        What the two classifiers are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ScoreMapDisplay : What points are drawn by.
    clusterscape.semisupervised.TransductiveSVC : Makes the boundary.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figures 6.1, 6.4 and 6.5.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import BoundaryDisplay
    >>> from clusterscape.semisupervised import TransductiveSVC
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> y = np.where(np.arange(40) % 20 < 2, np.arange(40) // 20, -1)
    >>> model = TransductiveSVC().fit(X, y)
    >>> BoundaryDisplay.from_estimator(model, X, y).decision.shape
    (160, 160)
    """

    def __init__(
        self,
        xx: np.ndarray,
        yy: np.ndarray,
        decision: np.ndarray,
        *,
        points: np.ndarray,
        codes: np.ndarray,
        sample: Any = (),
        other: np.ndarray | None = None,
        names: tuple[str, str] = ("feature 0", "feature 1"),
        legend: tuple[str, str] = ("T-SVM", "SVM"),
    ) -> None:
        self.xx, self.yy, self.decision = xx, yy, decision
        self.points, self.codes = points, codes
        self.sample = np.asarray(sample, dtype=np.int64)
        self.other = other
        self.names = names
        self.legend = legend

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, other: Any = None, ax: Any = None
    ) -> Self:
        """Draw a fitted classifier with ``decision_function``.

        Parameters
        ----------
        model : classifier
            Of two classes, fitted to two columns.
        X : (n, 2) array or data frame
            The points.
        y : (n,) array
            Their labels; -1 for an unlabelled point.
        other : classifier, optional
            Another fitted one, as an ``SVC`` of the labelled points, drawn in black.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        BoundaryDisplay
        """
        labels = np.asarray(y)
        points, names = plane(X, len(labels), "y has labels for")
        if np.shape(X)[1] != 2 or len(model.classes_) != 2:
            raise ValueError(
                f"a boundary is drawn for two classes over two columns; got {len(model.classes_)} "
                f"classes and {np.shape(X)[1]} columns."
            )
        low, high = points.min(axis=0), points.max(axis=0)
        edge = 0.08 * (high - low)
        axes = [np.linspace(low[j] - edge[j], high[j] + edge[j], _GRID) for j in (0, 1)]
        xx, yy = np.meshgrid(*axes)
        places = np.stack([xx.ravel(), yy.ravel()], axis=1)
        codes = np.full(len(labels), -1)
        for c, label in enumerate(model.classes_):
            codes[labels == label] = c
        held = getattr(model, "sample_indices_", np.empty(0, dtype=np.int64))
        whole = held.size == (codes < 0).sum()
        second = None if other is None else other.decision_function(places).reshape(xx.shape)
        legend = (type(model).__name__, type(other).__name__)
        return cls(
            xx, yy, model.decision_function(places).reshape(xx.shape), points=points, codes=codes,
            sample=() if whole else held, other=second, names=names, legend=legend,
        ).plot(ax=ax)  # fmt: skip

    def to_frame(self) -> pd.DataFrame:
        """Return the points that are drawn: coordinates, class (-1: none), whether in the sample.

        The boundary is drawn from ``xx``, ``yy`` and ``decision``.
        """
        drawn = np.zeros(len(self.codes), dtype=bool)
        drawn[self.sample] = True
        columns = dict(zip(self.names, np.asarray(self.points).T, strict=True))
        return pd.DataFrame(columns | {"class": self.codes, "in_sample": drawn})

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the points, the boundaries (solid) and the margins (dashed).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        from matplotlib.lines import Line2D

        ax = self._begin(ax, (6.4, 4.8))
        rest = self.codes < 0
        ax.scatter(*self.points[rest].T, s=7, c=_GREY, alpha=0.6, linewidths=0)
        green = "#009E73"
        if self.sample.size:
            ring = {"facecolors": "none", "edgecolors": green, "linewidths": 0.8}
            ax.scatter(*self.points[self.sample].T, s=22, **ring)
        colors = cluster_colors([0, 1])
        for c, marker in ((0, "o"), (1, "s")):
            own = self.codes == c
            ax.scatter(*self.points[own].T, s=42, color=colors[c], marker=marker, ec="w", lw=0.6)
        lines = [(self.decision, green), (self.other, _SECOND)]
        handles = []
        for (values, color), name in zip(lines, self.legend, strict=True):
            if values is not None:
                style = {"colors": color, "linestyles": ["dashed", "solid", "dashed"]}
                ax.contour(self.xx, self.yy, values, [-1, 0, 1], linewidths=[1, 2, 1], **style)
                handles.append(Line2D([], [], color=color, lw=2, label=name))
        handles.append(Line2D([], [], color=_SECOND, lw=1, ls="dashed", label="margins"))
        if self.sample.size:
            drawn = Line2D([], [], marker="o", ls="", ms=5, mfc="none", mec=green)
            drawn.set_label("drawn points")
            handles.append(drawn)
        ax.legend(handles=handles, fontsize=8, framealpha=0.9)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


class ScoreMapDisplay(Frame):
    """Points coloured by the score that they are drawn by: entropy, uncertainty or both.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    points : (n, 2) array
        Coordinates.
    scores : (n,) array
        From 0 to 1.
    title : str
        What the score is.
    names : (str, str)
        What the coordinates are.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    BoundaryDisplay : The boundary that follows.
    clusterscape.semisupervised.AdaptiveSubsampler : Makes the scores.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figures 6.2 and 6.3.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import ScoreMapDisplay
    >>> from clusterscape.semisupervised import AdaptiveSubsampler
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0], [5]], 20, axis=0)
    >>> y = np.where(np.arange(40) % 20 < 5, np.arange(40) // 20, -1)
    >>> made = AdaptiveSubsampler(random_state=0).fit(X, y)
    >>> ScoreMapDisplay.from_estimator(made, X, y, score="entropy").scores.size
    30
    """

    def __init__(
        self,
        points: np.ndarray,
        scores: np.ndarray,
        *,
        title: str = "score",
        names: tuple[str, str] = ("feature 0", "feature 1"),
    ) -> None:
        self.points, self.scores = points, scores
        self.title = title
        self.names = names

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        score: Literal["entropy", "uncertainty", "both"] = "both",
        ax: Any = None,
    ) -> Self:
        """Draw the scores of a sampler, or of a machine that was fitted with ``subsample``.

        Parameters
        ----------
        model : AdaptiveSubsampler or TransductiveSVC
            Fitted.
        X : (n, d) array, sparse matrix or data frame
            The points; more than two columns are drawn at their principal components.
        y : (n,) array
            Their labels; -1 for an unlabelled point. Only these have scores.
        score : {"entropy", "uncertainty", "both"}
            Which; "both" is the product.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        ScoreMapDisplay
        """
        check_params(
            "from_estimator",
            {"score": score},
            {"score": [Choice("entropy", "uncertainty", "both")]},
        )
        if getattr(model, "entropy_", None) is None:
            raise ValueError("the model has no scores; fit it with subsample.")
        rest = np.flatnonzero(np.asarray(y) == -1)
        points, names = plane(X, len(np.asarray(y)), "y has labels for")
        parts = {"entropy": model.entropy_, "uncertainty": model.uncertainty_}
        values = parts["entropy"] * parts["uncertainty"] if score == "both" else parts[score]
        words = {
            "entropy": "cluster entropy",
            "uncertainty": "label uncertainty",
            "both": "cluster entropy x label uncertainty",
        }
        return cls(points[rest], values, title=words[score], names=names).plot(ax=ax)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: coordinates and score of each point."""
        columns = dict(zip(self.names, np.asarray(self.points).T, strict=True))
        return pd.DataFrame(columns | {"score": self.scores})

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the points, those with high scores last.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 4.8))
        order = np.argsort(self.scores, kind="stable")
        drawn = ax.scatter(
            *self.points[order].T, c=self.scores[order], s=12, cmap="viridis", vmin=0, vmax=1
        )
        ax.figure.colorbar(drawn, ax=ax, label=self.title)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self


class SamplingRateDisplay(Frame):
    """Accuracy against the share of unlabelled points that are kept, with its spread.

    Parameters
    ----------
    rates : sequence of float
        Shares in (0, 1].
    accuracy : mapping from str to (rates, repetitions) array
        Accuracies of each strategy.
    lines : mapping from str to float, optional
        Accuracies that do not depend on the rate, such as those of all points and of the labelled
        points alone.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    SupportVectorDisplay : How near the support vectors come.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figures 6.6 to 6.8.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import SamplingRateDisplay
    >>> runs = {"adaptive": [[0.9, 0.92], [0.94, 0.95]], "uniform": [[0.8, 0.9], [0.9, 0.94]]}
    >>> SamplingRateDisplay([0.01, 0.1], runs, lines={"SVC": 0.91}).plot().ax_.get_xscale()
    'log'
    """

    def __init__(
        self,
        rates: Sequence[float],
        accuracy: Mapping[str, Any],
        *,
        lines: Mapping[str, float] | None = None,
    ) -> None:
        self.rates = np.asarray(rates, dtype=np.float64)
        self.accuracy = {k: np.asarray(v, dtype=np.float64) for k, v in accuracy.items()}
        self.lines = dict(lines or {})
        for name, values in self.accuracy.items():
            if values.ndim != 2 or len(values) != self.rates.size:
                raise ValueError(
                    f"accuracy[{name!r}] has shape {values.shape}; give one row for each of the "
                    f"{self.rates.size} rates and one column per repetition."
                )

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: mean and standard deviation of each strategy and rate."""
        rows = [
            (name, rate, float(runs.mean()), float(runs.std()))
            for name, values in self.accuracy.items()
            for rate, runs in zip(self.rates, values, strict=True)
        ]
        rows += [(name, np.nan, value, np.nan) for name, value in self.lines.items()]
        return pd.DataFrame(rows, columns=["strategy", "rate", "accuracy", "deviation"])

    def plot(self, *, ax: Any = None) -> Self:
        """Draw one curve per strategy, with standard deviations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        from matplotlib.ticker import FuncFormatter, NullLocator

        ax = self._begin(ax, (6.4, 4.2))
        colors = cluster_colors(np.arange(len(self.accuracy)))
        shift = np.linspace(0.97, 1.03, max(len(self.accuracy), 1))
        for i, (name, values) in enumerate(self.accuracy.items()):
            at = self.rates * (shift[i] if len(self.accuracy) > 1 else 1.0)
            mean, spread = values.mean(axis=1), values.std(axis=1)
            ax.errorbar(
                at,
                mean,
                spread,
                color=colors[i],
                marker=cluster_marker(i),
                ms=5,
                capsize=3,
                label=name,
            )
        for (name, value), style in zip(self.lines.items(), ("--", ":", "-.") * 9, strict=False):
            ax.axhline(value, color=_SECOND, linestyle=style, linewidth=1, label=name)
        ax.set(xscale="log", xlabel="unlabelled points kept", ylabel="accuracy")
        ax.set_xticks(self.rates)
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:g} %"))
        ax.legend(fontsize=8)
        return self


class SupportVectorDisplay(Frame):
    """Bars of the distances between approximate and true support vectors, by strategy.

    Parameters
    ----------
    distances : mapping from str to sequence of SupportVectorDistances
        Of each strategy, one per repetition.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.semisupervised.support_vector_distances : Makes the distances.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figure 6.9.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import SupportVectorDisplay
    >>> runs = {"adaptive": [(0.01, 0.02), (0.02, 0.02)], "uniform": [(0.03, 0.05)]}
    >>> len(SupportVectorDisplay(runs).plot().ax_.patches)
    4
    """

    def __init__(self, distances: Mapping[str, Sequence[Any]]) -> None:
        self.distances = {
            name: np.asarray(runs, dtype=np.float64).reshape(-1, 2)
            for name, runs in distances.items()
        }

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: mean and standard deviation of each strategy and direction."""
        rows = [
            (name, side, float(runs[:, j].mean()), float(runs[:, j].std()))
            for name, runs in self.distances.items()
            for j, side in enumerate(_SIDES)
        ]
        return pd.DataFrame(rows, columns=["strategy", "side", "distance", "deviation"])

    def plot(self, *, ax: Any = None) -> Self:
        """Draw two groups of bars, with standard deviations.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.4, 4.0))
        k = max(len(self.distances), 1)
        colors = cluster_colors(np.arange(k))
        for i, (name, runs) in enumerate(self.distances.items()):
            at = np.arange(2) + (i - (k - 1) / 2) * 0.8 / k
            error = {"yerr": runs.std(axis=0), "capsize": 3}
            look = {"color": colors[i], "hatch": _HATCHES[i % len(_HATCHES)], "edgecolor": "white"}
            ax.bar(at, runs.mean(axis=0), 0.76 / k, label=name, **look, **error)
        ax.set_xticks([0, 1], _SIDES)
        ax.set(ylabel="distance of support vectors / diameter")
        ax.legend(fontsize=8)
        return self
