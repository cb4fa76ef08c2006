"""The co-association of the points, ordered by cluster, with each point's confidence."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.labels import UNSAMPLED
from clusterscape.combine.scores import consensus_scores
from clusterscape.ensemble import as_ensemble
from clusterscape.linalg.thresholded import LARGEST_SCALE, ThresholdedCoassociation
from clusterscape.plot._axes import Frame, axes_beside_square, cluster_legend, name_rows
from clusterscape.plot.palette import cluster_colors, cluster_name

_BAND = 0.16  # width of the band of cluster colours; the confidences' axis is 1
_WORDS = 12  # of an annotation, in the legend
_BINS = 500  # rows of a matrix of bins
_RUN = 0.03  # share of the rows that a name in a bar needs


class ConsensusMatrixDisplay(Frame):
    """Co-association matrix ordered by cluster, with the confidence of every point.

    Use :meth:`from_estimator` or :meth:`from_predictions`. The attributes hold the data behind the
    picture.

    Parameters
    ----------
    matrix : (m, m) array
        Co-association of the points shown, or what a forest makes of it, in the order shown; of
        many points means over bins of neighbours in that order.
    labels : (m,) array
        Their clusters; of a bin the one that most of its points have.
    confidence : (m,) array
        Their confidences, or means of bins; NaN where none is claimed.
    points : (m,) array
        Their positions in the data; of a bin that of its first point.
    n_points : int
        Points in the data; more than m when a sample, or bins, are shown.
    sizes : (m,) array, optional
        Points of each bin; None where every row is one point.
    annotations : dict of str to (m,) array, optional
        What else is known of the points shown, drawn as bars of colours beside the matrix.
    groups : (m,) array, optional
        What the points are ordered by, where it is not their clusters.
    scale : float, optional
        Of a regularised matrix ``exp(scale * share)``; None for plain co-association.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the matrix.
    figure_ : matplotlib Figure
        The figure.

    See Also
    --------
    ScatterDisplay : The points themselves, with the same colours.
    clusterscape.combine.consensus_scores : The confidences.

    References
    ----------
    S. Monti, P. Tamayo, J. Mesirov, T. Golub, "Consensus clustering: a resampling-based method for
    class discovery and visualization of gene expression microarray data", Machine Learning 52,
    91-118, 2003. doi:10.1023/A:1023949509487

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from clusterscape import ConsensusClustering
    >>> from clusterscape.plot import ConsensusMatrixDisplay
    >>> X = np.repeat([[0.0], [5.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    >>> model = ConsensusClustering(2, n_references=0, random_state=0).fit(X)
    >>> ConsensusMatrixDisplay.from_estimator(model).matrix.shape
    (20, 20)
    """

    def __init__(
        self,
        matrix: np.ndarray,
        *,
        labels: np.ndarray,
        confidence: np.ndarray,
        points: np.ndarray,
        n_points: int,
        groups: np.ndarray | None = None,
        scale: float | None = None,
        sizes: np.ndarray | None = None,
        annotations: Mapping[str, Any] | None = None,
    ) -> None:
        self.matrix = matrix
        self.labels = labels
        self.confidence = confidence
        self.points = points
        self.n_points = n_points
        self.groups = groups
        self.scale = scale
        self.sizes = sizes
        self.annotations = {str(k): np.asarray(v) for k, v in (annotations or {}).items()}

    def to_frame(self) -> pd.DataFrame:
        """Return what is drawn: cluster, confidence and size of each row, and the matrix.

        The rows, and the columns of the matrix, are named by the positions of the points, those of
        bins by their first points.
        """
        names = [int(point) for point in self.points]
        sizes = np.ones(len(names), dtype=np.int64) if self.sizes is None else self.sizes
        known = {"cluster": self.labels, "confidence": self.confidence, "n_points": sizes}
        known |= self.annotations
        rows = pd.Index(names, name="point")
        matrix = pd.DataFrame(self.matrix, index=rows, columns=names)
        return pd.concat([pd.DataFrame(known, index=rows), matrix], axis=1)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        max_points: int = 2000,
        order_by: Any = None,
        annotations: Mapping[str, Any] | None = None,
        regularised: bool = False,
        ax: Any = None,
        random_state: int = 0,
    ) -> Self:
        """Draw any fitted estimator that ends with labels.

        Parameters
        ----------
        model : estimator
            Fitted, with ``ensemble_``, ``labels_`` and ``confidence_``:
            :class:`~clusterscape.ConsensusClustering`,
            :class:`~clusterscape.forest.ClusterForest`, a consensus method.
        max_points : int
            Of more points than this, neighbours in the order of the picture are drawn as one: every
            cell is the mean of a block of the matrix, about 500 in a row, and the title says so.
            Of a regularised matrix a random sample of so many is shown instead.
        order_by : (n,) array, optional
            Known classes to order the points by; by default their clusters. The bars at the side
            keep the colours of the clusters.
        annotations : mapping of str to (n,) array, optional
            Classes or other words on the points by name: a bar of colours beside the matrix for
            each, with a legend.
        regularised : bool
            Show what a cluster forest cuts: shares below its threshold removed, then
            ``exp(scale * share)``.
        ax : matplotlib Axes, optional
            Where the matrix is drawn; the confidence goes beside it.
        random_state : int
            Of the sample.

        Returns
        -------
        ConsensusMatrixDisplay
        """
        check_is_fitted(model, ("labels_", "ensemble_"))
        made = cls._from_votes(
            model.ensemble_,
            model.labels_,
            model.confidence_,
            max_points=max_points,
            order_by=order_by,
            annotations=annotations,
            regularisation=_regularisation(model) if regularised else None,
            random_state=random_state,
        )
        return made.plot(ax=ax)

    @classmethod
    def from_predictions(
        cls,
        ensemble: Any,
        labels: Any,
        *,
        confidence: Any = None,
        max_points: int = 2000,
        order_by: Any = None,
        annotations: Mapping[str, Any] | None = None,
        ax: Any = None,
        random_state: int = 0,
    ) -> Self:
        """Draw labels that exist already, and the clusterings that they are judged by.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The clusterings.
        labels : (n,) array
            The clusters: integers 0 to K - 1, and -1 for points in none.
        confidence : (n,) array, optional
            From 0 to 1; by default that of :func:`~clusterscape.combine.consensus_scores`.
        max_points, order_by, annotations, ax, random_state
            As in :meth:`from_estimator`.

        Returns
        -------
        ConsensusMatrixDisplay
        """
        votes, groups = as_ensemble(ensemble), np.asarray(labels)
        if confidence is None:
            confidence = consensus_scores(votes, groups).confidence
        known = np.asarray(confidence, dtype=np.float64)
        for name, values in (("labels", groups), ("confidence", known)):
            if values.shape != (votes.n_points,):
                raise ValueError(
                    f"{name} must have one entry for each of the {votes.n_points} points; got "
                    f"shape {values.shape}."
                )
        made = cls._from_votes(
            votes,
            groups,
            known,
            max_points=max_points,
            order_by=order_by,
            annotations=annotations,
            random_state=random_state,
        )
        return made.plot(ax=ax)

    @classmethod
    def _from_votes(
        cls,
        ensemble: Any,
        labels: np.ndarray,
        confidence: np.ndarray,
        *,
        max_points: int,
        order_by: Any,
        annotations: Mapping[str, Any] | None,
        random_state: int,
        regularisation: tuple[float, float] | None = None,
    ) -> Self:
        """Return the display of some or all points, in the order in which they are drawn."""
        n = len(labels)
        groups = labels if order_by is None else _checked_groups(order_by, n)
        beside = {name: _checked_groups(v, n, name) for name, v in (annotations or {}).items()}
        points = np.arange(n)
        if n > max_points and regularisation is None:
            bins = _bins(ensemble, groups, min(_BINS, max_points))
            made = cls._of_bins(ensemble, labels, confidence, bins)
            made.groups = None if order_by is None else groups[made.points]
            made.annotations = {name: _by_bin(v, bins) for name, v in beside.items()}
            return made
        if n > max_points:
            rng = np.random.default_rng(random_state)
            points = np.sort(rng.choice(n, size=max_points, replace=False))
        shares = ensemble.subset(points).coassociation()
        matrix = shares.toarray()
        order = _ordered(matrix, groups[points])
        scale = None
        if regularisation is not None:
            threshold, scale = regularisation
            operator = ThresholdedCoassociation(shares, threshold, scale=scale, diagonal=1.0)
            matrix = operator.toarray()
        points, matrix = points[order], matrix[np.ix_(order, order)]
        return cls(
            matrix,
            labels=labels[points],
            confidence=confidence[points],
            points=points,
            n_points=n,
            groups=None if order_by is None else groups[points],
            scale=scale,
            annotations={name: values[points] for name, values in beside.items()},
        )

    @classmethod
    def _of_bins(
        cls,
        ensemble: Any,
        labels: np.ndarray,
        confidence: np.ndarray,
        bins: list[np.ndarray],
    ) -> Self:
        """Return the display of means over neighbours in the order of the picture."""
        first = np.array([part[0] for part in bins])
        known = [part[~np.isnan(confidence[part])] for part in bins]
        return cls(
            _means(ensemble, bins),
            labels=_by_bin(labels, bins),
            confidence=np.array([confidence[p].mean() if p.size else np.nan for p in known]),
            points=first,
            n_points=len(labels),
            sizes=np.array([part.size for part in bins]),
        )

    def plot(self, *, ax: Any = None) -> Self:
        """Draw the matrix, a bar of cluster colours and the confidences.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where the matrix is drawn.

        Returns
        -------
        self
        """
        ax = self._begin(ax, (7.5, 6))
        m = len(self.labels)
        groups = self.labels if self.groups is None else self.groups
        largest = 1.0 if self.scale is None else float(np.exp(self.scale))
        image = ax.imshow(self.matrix, cmap="Blues", vmin=0, vmax=largest, interpolation="nearest")
        shown = f"{m} of {self.n_points:,} points" if m < self.n_points else f"{m:,} points"
        if self.sizes is not None:
            shown = f"{self.n_points:,} points in {m:,} bins"
        what = "Co-association" if self.scale is None else "Regularised co-association"
        by = "cluster" if self.groups is None else "class"
        ax.set_title(f"{what}, ordered by {by} ({shown})", fontsize=11)
        ax.set_xticks([])
        borders = np.flatnonzero(groups[1:] != groups[:-1]) + 0.5
        for border in borders:
            ax.axhline(border, color="white", linewidth=0.8)
            ax.axvline(border, color="white", linewidth=0.8)
        edges = np.concatenate([[-0.5], borders, [m - 0.5]])
        side = self._draw_confidence(ax)
        names = [cluster_name(groups[int(e + 0.5)]) for e in edges[:-1]]
        name_rows(ax, (edges[1:] + edges[:-1]) / 2, names, np.diff(edges))
        times = "\N{MULTIPLICATION SIGN}"
        label = (
            "share of partitions" if self.scale is None else f"exp({self.scale:g} {times} share)"
        )
        both = [ax, side] if side.get_subplotspec() else ax
        ax.figure.colorbar(image, ax=both, location="left", shrink=0.5, label=label)
        return self

    def _draw_confidence(self, ax: Any) -> Any:
        """Draw a band of cluster colours and the confidences beside the matrix; return the axes."""
        m = len(self.labels)
        colours = cluster_colors(self.labels)
        side = axes_beside_square(ax, 6)
        known = np.nan_to_num(np.asarray(self.confidence, dtype=np.float64))
        side.add_collection(_bars(np.full(m, -0.25 * _BAND), colours, left=-_BAND))
        side.add_collection(_bars(known, colours))
        claimed = not np.isnan(self.confidence).all()
        words = "confidence" if claimed else "no confidence:\none opinion"
        side.set(ylim=(m - 0.5, -0.5), xlim=(-_BAND, 1), xticks=[0, 1], xlabel=words)
        side.tick_params(left=False, labelleft=False)
        if self.groups is not None:  # the names at the left are those of the classes
            cluster_legend(side, self.labels)
            _write_runs(side, [cluster_name(int(c)) for c in self.labels], -0.6 * _BAND)
        elif self.annotations:
            self._draw_annotations(side)
        return side

    def _draw_annotations(self, side: Any) -> None:
        """Draw a bar of colours for each annotation left of that of the clusters, and a legend."""
        from matplotlib.lines import Line2D

        m, handles = len(self.labels), []
        for i, (name, values) in enumerate(self.annotations.items()):
            found, codes = np.unique(values.astype(str), return_inverse=True)
            # From the other end of the palette: they are no clusters.
            colours = cluster_colors(23 - codes % 24)
            left = -(i + 2) * _BAND
            side.add_collection(_bars(np.full(m, left + 0.75 * _BAND), colours, left=left))
            _write_runs(side, [_letter(c) for c in codes], left + 0.4 * _BAND)
            handles.append(Line2D([], [], linestyle="", label=f"{name}:"))
            for c, word in enumerate(found[:_WORDS]):
                look: dict[str, Any] = {"marker": "s", "color": cluster_colors([23 - c % 24])[0]}
                text = f"{_letter(c)}  {cluster_name(word) or 'none'}"
                handles.append(Line2D([], [], linestyle="", markersize=5, label=text, **look))
            if found.size > _WORDS:
                handles.append(Line2D([], [], linestyle="", label=f"{found.size - _WORDS} more"))
        side.set_xlim(left=-(len(self.annotations) + 1) * _BAND)
        side.legend(
            handles=handles, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False
        )


def _letter(code: int) -> str:
    """Return a letter for a word of an annotation, so that colour is not the only cue."""
    return chr(ord("a") + code) if code < _WORDS else ""


def _write_runs(ax: Any, names: Sequence[str], x: float) -> None:
    """Write the name of every long run of equal rows into a bar whose middle is at ``x``."""
    from matplotlib.patheffects import withStroke

    start = 0
    for name, rows in itertools.groupby(names):
        end = start + len(list(rows))
        if end - start >= _RUN * len(names):
            look = {"ha": "center", "va": "center", "fontsize": 7, "parse_math": False}
            text = ax.text(x, (start + end - 1) / 2, name, **look)
            text.set_path_effects([withStroke(linewidth=1.5, foreground="white")])
        start = end


def _bars(values: np.ndarray, colors: Any, *, left: float = 0.0) -> Any:
    """Return horizontal bars from ``left`` to the values, one below the other, as one artist.

    ``barh`` would make one artist per point.
    """
    from matplotlib.collections import PolyCollection

    top = np.arange(len(values)) - 0.5
    corners = np.zeros((len(values), 4, 2))
    corners[:, :, 0] = left
    corners[:, 1:3, 0] = values[:, None]
    corners[:, :2, 1] = top[:, None]
    corners[:, 2:, 1] = top[:, None] + 1.0
    return PolyCollection(list(corners), facecolors=colors, linewidths=0)


def _ordered(matrix: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the points by cluster, and within a cluster by a dendrogram, so that blocks show."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    order = []
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        if members.size > 2:
            distance = 1.0 - matrix[np.ix_(members, members)]
            np.fill_diagonal(distance, 0.0)
            tree = linkage(squareform(distance, checks=False), "average")
            members = members[leaves_list(tree)]
        order.append(members)
    return np.concatenate(order)


def _bins(ensemble: Any, groups: np.ndarray, most: int) -> list[np.ndarray]:
    """Return the points by group, and within it neighbours in the clusterings, in bins."""
    membership = ensemble.membership().matrix
    found: list[np.ndarray] = []
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        count = max(1, round(most * members.size / groups.size))
        order = members[_along(membership[members])]
        found += np.array_split(order, min(count, members.size))
    return found


def _along(rows: Any) -> np.ndarray:
    """Return rows of a membership in an order in which those of a kind are neighbours."""
    from sklearn.decomposition import TruncatedSVD

    if min(rows.shape) <= 2:
        return np.arange(rows.shape[0])
    # The first direction is what all have in common, the second what divides them.
    place = TruncatedSVD(2, n_iter=4, random_state=0).fit_transform(rows)[:, 1]
    return np.argsort(place.round(9), kind="stable")


def _means(ensemble: Any, bins: list[np.ndarray]) -> np.ndarray:
    """Return co-occurrences over co-samplings between bins, a point with itself left out."""
    from scipy import sparse

    sizes = np.array([part.size for part in bins])
    order = np.concatenate(bins)
    shape = (len(bins), order.size)
    pick = sparse.csr_matrix((np.ones(order.size), order, np.append(0, np.cumsum(sizes))), shape)
    columns = np.sqrt(ensemble.weights)
    seen = (ensemble.labels != UNSAMPLED) * columns
    whole = ensemble.membership()
    matrix = whole.matrix.multiply(np.repeat(columns, np.diff(whole.offsets))).tocsr()
    together, sampled = np.asarray((pick @ matrix).todense()), pick @ seen
    counts, most = together @ together.T, sampled @ sampled.T
    at = np.flatnonzero(sizes > 1)
    counts[at, at] -= (pick @ np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())[at]
    most[at, at] -= (pick @ (seen**2).sum(axis=1))[at]
    return np.divide(counts, most, out=np.zeros_like(counts), where=most > 1e-9)


def _by_bin(labels: np.ndarray, bins: list[np.ndarray]) -> np.ndarray:
    """Return the most frequent label of each bin."""
    names, codes = np.unique(labels.astype(str) if labels.dtype == object else labels,
                             return_inverse=True)  # fmt: skip
    return names[[np.bincount(codes[part]).argmax() for part in bins]]


def _checked_groups(order_by: Any, n: int, name: str = "order_by") -> np.ndarray:
    groups = np.asarray(order_by)
    if groups.shape != (n,):
        raise ValueError(
            f"{name} must have one class for each of the {n} points; got shape {groups.shape}."
        )
    return groups


def _regularisation(model: Any) -> tuple[float, float]:
    """Return the threshold and the scale by which a forest regularises its shares."""
    if not hasattr(model, "feature_occurrence_"):
        raise ValueError(
            "regularised=True shows the matrix that a ClusterForest cuts, and "
            f"{type(model).__name__} has none; leave it out."
        )
    default = min(0.1 * model.n_vectors, LARGEST_SCALE)
    scale = default if model.scale is None else model.scale
    return float(model.threshold), float(scale)
