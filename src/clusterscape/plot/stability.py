"""Stability of points, sorted within their clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from clusterscape.plot._axes import Frame, Grid
from clusterscape.plot._profile import draw_profile

_KINDS = ("stable", "unstable")


class StabilityDisplay(Frame):
    """The stability of every point as a bar, sorted within clusters, with the threshold.

    Use :meth:`from_estimator`, :meth:`from_predictions` with the labels of any clusterer, or pass
    certificates.

    Parameters
    ----------
    certificates : Certificates
        As in ``Affinity.certificates_``.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.Affinity : Makes the certificates.
    SilhouetteDisplay : The same picture of silhouettes.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013, chapter 5.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from clusterscape.plot import StabilityDisplay
    >>> from clusterscape.validate import Affinity
    >>> made = Affinity().fit([[0.0], [1.0], [9.0], [6.0]], [0, 0, 1, 1])
    >>> StabilityDisplay.from_estimator(made).ax_.get_xlabel()
    'stability (largest affinity)'
    """

    def __init__(self, certificates: Any) -> None:
        self.certificates = certificates

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: one row per point, as in ``Certificates.to_frame``."""
        frame: pd.DataFrame = self.certificates.to_frame()
        return frame

    @classmethod
    def from_estimator(cls, affinity: Any, *, ax: Any = None) -> Self:
        """Draw a fitted affinity.

        Parameters
        ----------
        affinity : Affinity
            Fitted.
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        StabilityDisplay
        """
        return cls(affinity.certificates_).plot(ax=ax)

    @classmethod
    def from_predictions(cls, X: Any, labels: Any, *, ax: Any = None, **options: Any) -> Self:
        """Draw the clustering of any clusterer.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
            Features.
        labels : (n,) array
            Clusters of any type; -1 for points in none.
        ax : matplotlib Axes, optional
            Where to draw.
        **options
            Parameters of :class:`~clusterscape.validate.Affinity`.

        Returns
        -------
        StabilityDisplay
        """
        from clusterscape.validate import Affinity

        return cls(Affinity(**options).fit(X, labels).certificates_).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the bars, the threshold and the mean.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw.

        Returns
        -------
        self
        """
        found = self.certificates
        ax = self._begin(ax, (6.0, 4.2))
        draw_profile(ax, found.stability, found.codes, list(found.clusters))
        ax.axvline(found.threshold, color="#333333", linestyle="--", linewidth=1)
        ax.axvline(found.aggregate, color="#D55E00", linewidth=1)
        ax.set(xlabel="stability (largest affinity)", xlim=(0, 1))
        inside = int(found.inside.sum())
        unstable = inside - int(found.stable.sum())
        ax.set_title(
            f"Mean stability {found.aggregate:.2f}, {unstable:,} of {inside:,} unstable",
            fontsize=11,
        )
        return self


class GalleryDisplay(Grid):
    """Examples of stable and unstable points of each cluster, as images.

    Use :meth:`from_estimator`.

    Parameters
    ----------
    images : (2, k, h, w) array
        A stable and an unstable example of each cluster; nan where there is none.
    titles : (2, k) list of str
        What stands above each.
    table : pandas.DataFrame, optional
        The examples: kind, cluster, id and stability of each.

    Attributes
    ----------
    axes_ : (2, k) array of matplotlib Axes
        The axes.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    clusterscape.validate.Affinity : Makes the certificates.

    References
    ----------
    P. Raman, "Exploring the landscape of clusterings", dissertation,
    University of Utah, 2013: Figure 5.9.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape.plot import GalleryDisplay
    >>> from clusterscape.validate import Affinity
    >>> X = np.random.default_rng(0).normal(size=(20, 4))
    >>> made = Affinity().fit(X, np.arange(20) % 2)
    >>> GalleryDisplay.from_estimator(made, X, shape=(2, 2), random_state=0).axes_.shape
    (2, 2)
    """

    def __init__(self, images: Any, titles: Any, *, table: pd.DataFrame | None = None) -> None:
        self.images = np.asarray(images, dtype=np.float64)
        self.titles = titles
        self.table = table

    @classmethod
    def from_estimator(
        cls,
        affinity: Any,
        X: Any,
        *,
        shape: tuple[int, int],
        among: int = 10,
        random_state: int | None = None,
        figure: Any = None,
    ) -> Self:
        """Draw one of the most stable and one of the least stable points of each cluster.

        Parameters
        ----------
        affinity : Affinity
            Fitted to ``X``.
        X : (n, d) array
            The points, as images in rows.
        shape : (int, int)
            Height and width of an image.
        among : int
            Each example is drawn at random from so many of the highest, or lowest, stabilities.
        random_state : int or None
            Seed of the draw.
        figure : matplotlib Figure, optional
            An empty one to draw on.

        Returns
        -------
        GalleryDisplay
        """
        found = affinity.certificates_
        values = np.asarray(X, dtype=np.float64)
        n, size = found.codes.size, shape[0] * shape[1]
        if values.shape != (n, size):
            raise ValueError(
                f"X must have {n} rows of {shape[0]} x {shape[1]} = {size} columns; got shape "
                f"{values.shape}."
            )
        rng = np.random.default_rng(random_state)
        k = len(found.clusters)
        images = np.full((2, k, *shape), np.nan)
        titles = [["" for _ in range(k)] for _ in range(2)]
        rows = []
        for c in range(k):
            members = np.flatnonzero(found.codes == c)
            order = members[np.argsort(-found.stability[members], kind="stable")]
            for row, pool in enumerate((order[:among], order[-among:])):
                if pool.size:
                    x = int(rng.choice(pool))
                    images[row, c] = values[x].reshape(shape)
                    titles[row][c] = f"{found.clusters[c]}: {found.stability[x]:.2f}"
                    kind = _KINDS[row]
                    rows.append((kind, found.clusters[c], found.ids[x], found.stability[x]))
        table = pd.DataFrame(rows, columns=["kind", "cluster", "id", "stability"])
        return cls(images, titles, table=table).plot(figure=figure)

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: kind, cluster, id and stability of each example."""
        if self.table is None:
            raise ValueError("table: the display was made without it; use from_estimator.")
        return self.table

    def plot(self, *, figure: Any = None) -> Self:
        """Draw the images, the stable ones above.

        Parameters
        ----------
        figure : matplotlib Figure, optional
            An empty one to draw on.

        Returns
        -------
        self
        """
        k = self.images.shape[1]
        axes = self._begin(2, k, (max(2.0, 1.1 * k), 2.8), figure=figure)
        for row in range(2):
            for c in range(k):
                axes[row, c].imshow(self.images[row, c], cmap="gray_r")
                axes[row, c].set_title(self.titles[row][c], fontsize=8)
                axes[row, c].set_xticks([])
                axes[row, c].set_yticks([])
            axes[row, 0].set_ylabel(_KINDS[row], fontsize=9)
        return self
