"""Silhouettes of the points of any clustering."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.metrics import silhouette_samples
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.labels import encode
from clusterscape.ensemble.inputs import check_same_rows
from clusterscape.plot._axes import Frame
from clusterscape.plot._profile import draw_profile

_FEWEST = 2


class SilhouetteDisplay(Frame):
    """The silhouette of every point as a bar, sorted within clusters, with the mean.

    Use :meth:`from_estimator` with any clusterer, or :meth:`from_predictions`.

    Parameters
    ----------
    silhouettes : (n,) array
        From -1 to 1.
    labels : (n,) array
        The clusters; points in none are left out.
    points : (n,) array, optional
        The rows of X that they belong to.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    StabilityDisplay : The same picture of stabilities.

    References
    ----------
    P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis", Journal of Computational and Applied Mathematics 20, 53-65, 1987.
    doi:10.1016/0377-0427(87)90125-7

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import SilhouetteDisplay
    >>> X = [[0.0], [1.0], [9.0], [10.0]]
    >>> SilhouetteDisplay.from_predictions(X, [0, 0, 1, 1]).ax_.get_title()
    'Mean silhouette 0.89'
    """

    def __init__(self, silhouettes: Any, labels: Any, *, points: Any = None) -> None:
        self.silhouettes = np.asarray(silhouettes, dtype=np.float64)
        self.labels = np.asarray(labels)
        self.points = np.arange(self.labels.size) if points is None else np.asarray(points)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: cluster and silhouette of each point, by its row of X."""
        columns = {"cluster": self.labels, "silhouette": self.silhouettes}
        return pd.DataFrame(columns, index=pd.Index(self.points, name="point"))

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        *,
        metric: str = "euclidean",
        max_points: int = 10_000,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw the clustering of a fitted clusterer.

        Parameters
        ----------
        model : estimator
            Any fitted clusterer with ``labels_``.
        X : (n, d) array or sparse matrix
            Features.
        metric, max_points, random_state
            As in :meth:`from_predictions`.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        SilhouetteDisplay
        """
        check_is_fitted(model)
        return cls.from_predictions(
            X,
            model.labels_,
            metric=metric,
            max_points=max_points,
            random_state=random_state,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        X: Any,
        labels: Any,
        *,
        metric: str = "euclidean",
        max_points: int = 10_000,
        random_state: int = 0,
        ax: Any = None,
    ) -> Self:
        """Draw labels that exist already.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
            Features.
        labels : (n,) array
            Clusters of any type; -1 for points in none.
        metric : str
            As in scikit-learn's ``silhouette_samples``.
        max_points : int
            Silhouettes take time in the square of the number of points: of more than this a random
            sample is drawn, and the title says so.
        random_state : int
            Seed of the sample.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        SilhouetteDisplay
        """
        check_same_rows(X, labels)
        values = X if hasattr(X, "tocsr") else np.asarray(X)
        names = np.asarray(labels)
        codes = encode(labels, "labels")[0]
        if codes.shape != (values.shape[0],):
            raise ValueError(f"labels has {codes.size} entries for {values.shape[0]} rows of X.")
        kept = np.flatnonzero(codes >= 0)
        if kept.size > max_points:
            rng = np.random.default_rng(random_state)
            kept = np.sort(rng.choice(kept, max_points, replace=False))
        if np.unique(codes[kept]).size < _FEWEST or np.unique(codes[kept]).size == kept.size:
            raise ValueError("labels: silhouettes need two clusters, and one with two points.")
        some = values[kept][:, kept] if metric == "precomputed" else values[kept]
        found = silhouette_samples(some, codes[kept], metric=metric)
        made = cls(found, names[kept], points=kept)
        made._sampled = kept.size < (codes >= 0).sum()
        made._left_out = int((codes < 0).sum())
        return made.plot(ax=ax)

    _sampled = False
    _left_out = 0

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the bars and the mean.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (6.0, 4.2))
        codes, categories = encode(self.labels, "labels")
        k = int(codes.max(initial=-1)) + 1
        names = list(range(k)) if categories is None else list(categories)
        draw_profile(ax, self.silhouettes, codes, names)
        mean = float(self.silhouettes.mean())
        ax.axvline(0, color="#333333", linewidth=0.8)
        ax.axvline(mean, color="#D55E00", linewidth=1)
        ax.set_xlabel("silhouette")
        sample = f" of a sample of {self.silhouettes.size:,}" if self._sampled else ""
        none = f", {self._left_out:,} in no cluster left out" if self._left_out else ""
        ax.set_title(f"Mean silhouette {mean:.2f}{sample}{none}", fontsize=11)
        return self
