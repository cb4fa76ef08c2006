"""How good a partition is, by itself, without known classes: the qualities that are sampled by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import encode
from clusterscape._core.params import Choice, Seed, checked
from clusterscape._core.seeds import RandomState
from clusterscape.explore.space import SPACE_RULES, Space, kernel_space, linear_space
from clusterscape.generate.features import read_features

Name = Literal[
    "kmeans",
    "kernel",
    "separation",
    "weighted_kernel",
    "variance_ratio",
    "centroid_silhouette",
    "centroid_dunn",
]
Kernel = Any


@dataclass(frozen=True)
class Quality:
    """A quality that can be followed while single points move.

    Attributes
    ----------
    name : str
        The name that the sampler takes.
    code : int
        The number of the quality in the kernels.
    label : str
        A few words for tables and plots.
    in_kernel : bool
        Whether it looks at a kernel's values; otherwise at the features themselves.
    favours_single_points : bool
        Whether a cluster of one point has the largest term, so that a least size is needed.
    """

    name: str
    code: int
    label: str
    in_kernel: bool
    favours_single_points: bool

    def shift(self, n_clusters: int) -> float:
        """Return what makes the quality of any partition at least zero when added to it."""
        return n_clusters**2 / 4.0 if self.name == "separation" else 0.0

    def space(
        self, X: Any, *, kernel: Any, bandwidth: Any, n_components: Any, random_state: RandomState
    ) -> Space:
        """Return the points as this quality sees them."""
        if not self.in_kernel:
            return linear_space(X)
        return kernel_space(
            X,
            kernel=kernel,
            bandwidth=bandwidth,
            n_components=n_components,
            random_state=random_state,
        )


# The codes are those of kernels.gibbs, which is not loaded for a table of names.
QUALITIES: Mapping[str, Quality] = MappingProxyType(
    {
        "kmeans": Quality("kmeans", 0, "1 / within-cluster sum of squares", False, False),
        "kernel": Quality("kernel", 1, "Q_w, compactness", True, True),
        "separation": Quality("separation", 2, "Q_w-s, compactness and separation", True, True),
        "weighted_kernel": Quality("weighted_kernel", 3, "size-weighted compactness", True, False),
        "variance_ratio": Quality("variance_ratio", 4, "variance ratio", False, False),
        "centroid_silhouette": Quality(
            "centroid_silhouette", 5, "silhouette of clusters by centroids", False, False
        ),
        "centroid_dunn": Quality("centroid_dunn", 6, "Dunn's index by centroids", False, False),
    }
)


class PartitionState:
    """The sums of one partition, from which a quality and its changes follow."""

    def __init__(self, space: Space, quality: Quality, labels: np.ndarray) -> None:
        self.space = space
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        s = int(self.labels.max()) + 1
        self.rule = rule_of(space, quality, shift=0.0, transform=0, min_size=1)
        width = space.basis.shape[1]
        self.part = (
            self.labels,
            np.zeros((s + 1, s + kernels.gibbs.PAIRS)),
            np.zeros((s, width)),
        )
        kernels.gibbs.fill(space.basis, space.is_dense, self.rule, self.part)

    @property
    def value(self) -> float:
        """The quality."""
        return float(kernels.gibbs.value(self.rule, self.part))

    def _rows(self, x: int) -> np.ndarray:
        rows = np.empty(self.part[2].shape[0])
        kernels.gibbs.row_sums(self.space.basis, self.space.is_dense, self.part[2], x, rows)
        return rows

    def candidates(self, x: int) -> np.ndarray:
        """Return the quality with point ``x`` in each of the clusters."""
        out = np.empty(self.part[2].shape[0])
        own, table = float(self.space.diagonal[x]), self.part[1]
        a = int(self.labels[x])
        kernels.gibbs.candidates(self.rule, self.labels.size, table, self._rows(x), own, a, out)
        if table[a, 0] <= 1.0:  # the cluster would be empty, and the partition another kind
            out[np.arange(out.size) != a] = np.nan
        return out

    def move(self, x: int, cluster: int) -> None:
        """Move point ``x`` to a cluster."""
        own = float(self.space.diagonal[x])
        kernels.gibbs.move(self.space.basis, self.rule, self.part, self._rows(x), own, x, cluster)


def rule_of(
    space: Space, quality: Quality, *, shift: float, transform: int, min_size: int
) -> tuple[int, float, float, int, float, float]:
    """Return what the kernels read of a quality."""
    return quality.code, space.trace, space.centre, transform, float(shift), float(min_size)


def values_of(space: Space, quality: Quality, labels: np.ndarray) -> np.ndarray:
    """Return the quality of each column of labels (n, m), whose clusters are 0..k-1."""
    return np.array([PartitionState(space, quality, column).value for column in labels.T])


class MovingQuality:
    """The quality of a partition while single points move, and back.

    A move costs O(s + n) with all kernel values, O(s + number of features) with features, and not
    the O(n^2) of a new computation; looking at all clusters of a point costs O(s) beside its sums,
    and O(s^3) with "centroid_silhouette" and "centroid_dunn".

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame
        The points.
    labels : (n,) array
        The partition at the start.
    quality : str
        What is followed: a name of :data:`QUALITIES`.
    kernel, bandwidth, n_components, random_state
        As in :func:`separation_quality`; used by "kernel", "separation" and "weighted_kernel".

    Attributes
    ----------
    labels : (n,) array
        The partition, with clusters numbered from 0.
    value : float
        Its quality.
    n_moves : int
        Moves that can be undone.

    See Also
    --------
    PartitionSampler : Random walks made of such moves.

    References
    ----------
    .. [1] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.explore import MovingQuality
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> moving = MovingQuality(X, [0, 1, 1, 1], quality="kmeans")
    >>> moving.candidates(1).round(3)
    array([1.   , 0.026])
    >>> moving.move(1, 0)
    >>> round(moving.value, 3)
    1.0
    >>> moving.undo()
    >>> round(moving.value, 3)
    0.026
    """

    def __init__(
        self,
        X: Any,
        labels: Any,
        quality: Name = "separation",
        *,
        kernel: Kernel = "gaussian",
        bandwidth: Literal["median"] | float = "median",
        n_components: Literal["auto"] | int | None = "auto",
        random_state: RandomState = 0,
    ) -> None:
        how = {"kernel": kernel, "bandwidth": bandwidth, "n_components": n_components}
        chosen, space, codes = _read(X, labels, quality, {**how, "random_state": random_state})
        self._state = PartitionState(space, chosen, codes)
        self._history: list[tuple[int, int]] = []

    @property
    def labels(self) -> np.ndarray:
        """The partition now."""
        return self._state.labels.copy()

    @property
    def value(self) -> float:
        """The quality now."""
        return self._state.value

    @property
    def n_moves(self) -> int:
        """Moves that can be undone."""
        return len(self._history)

    def candidates(self, point: int) -> np.ndarray:
        """Return the quality with a point in each of the clusters; nan where one would be empty."""
        return self._state.candidates(self._checked(point))

    def move(self, point: int, cluster: int) -> None:
        """Move a point to a cluster; the last point of a cluster cannot leave it."""
        x, own = self._checked(point), int(self._state.labels[point])
        table = self._state.part[1]
        if not 0 <= cluster < table.shape[0] - 1:
            raise ValueError(
                f"cluster must be a number from 0 to {table.shape[0] - 2}; got {cluster}."
            )
        if cluster != own and table[own, 0] <= 1.0:
            raise ValueError(
                f"point {x} is the last one of cluster {own}, which would be empty; move another "
                "point there first."
            )
        self._history.append((x, own))
        if cluster != own:
            self._state.move(x, cluster)

    def undo(self) -> None:
        """Take back the last move."""
        if not self._history:
            raise ValueError("no move is left that could be undone.")
        x, own = self._history.pop()
        if self._state.labels[x] != own:
            self._state.move(x, own)

    def _checked(self, point: int) -> int:
        n = self._state.labels.size
        if not 0 <= point < n:
            raise ValueError(f"point must be a number from 0 to {n - 1}; got {point}.")
        return int(point)


def _read(
    X: Any, labels: Any, name: str, how: Mapping[str, Any]
) -> tuple[Quality, Space, np.ndarray]:
    """Return a quality, the points as it sees them, and the codes of one partition."""
    if name not in QUALITIES:
        raise ParameterError(
            "{quality} is not known; take one of " + ", ".join(map(repr, QUALITIES)) + ".",
            quality=name,
        )
    chosen = QUALITIES[name]
    points = X if how["kernel"] == "precomputed" or callable(how["kernel"]) else None
    points = read_features(X).views[0] if points is None else points
    codes, _ = encode(labels, "labels")
    space = chosen.space(points, **how)
    if codes.size != space.n_points:
        raise ValueError(
            f"labels has {codes.size} entries and X {space.n_points} rows; pass one label per row."
        )
    if codes.min(initial=0) < 0:
        raise ValueError(
            "labels has noise or unsampled points (-1, -2), which are in no cluster; leave them "
            "out of X and labels."
        )
    return chosen, space, codes.astype(np.int64)


_TEXTS = {
    "points": """X : (n, d) array, sparse matrix or data frame
        The points; the (n, n) kernel values with ``kernel="precomputed"``; anything that a kernel
        function takes.
    labels : (n,) array
        Cluster of each point; no point may be noise.""",
    "kernel": """kernel : {"gaussian", "laplacian", "cauchy", "discrete", "precomputed"} or callable
        As in :func:`clusterscape.lifting.lift`.
    bandwidth : {"median"} or float
        Distance at which points stop being alike; the median distance of points unless given.
    n_components : {"auto"}, int or None
        Random features in place of all kernel values; "auto" takes 200 above 3,000 points, None
        always sums kernel values, in O(n^2).
    random_state : int, generator or None
        Of the features and of the sample for the bandwidth.""",
    "reference": """.. [1] P. Raman. Exploring the landscape of clusterings. Dissertation,
       University of Utah, 2013, section 4.2.1.""",
}


def _documented(function: Callable[..., Any]) -> Callable[..., Any]:
    for marker, text in _TEXTS.items():
        function.__doc__ = (function.__doc__ or "").replace(f"<{marker}>", text)
    return function


_RULES = {**SPACE_RULES, "random_state": (Seed(),)}


@_documented
def kmeans_quality(X: Any, labels: Any) -> float:
    """Inverse of the within-cluster sum of squares, Q_km.

    Points far from every centre dominate it.

    Parameters
    ----------
    <points>

    Returns
    -------
    float
        Larger is better; the largest float (not infinity) where all clusters are single places.

    See Also
    --------
    weighted_kernel_quality : The same in a kernel's space.

    References
    ----------
    <reference>

    Examples
    --------
    >>> from clusterscape.explore import kmeans_quality
    >>> round(kmeans_quality([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1]), 3)
    1.0
    """
    return _value(X, labels, "kmeans", "gaussian")


@_documented
@checked(_RULES)
def kernel_quality(
    X: Any,
    labels: Any,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    random_state: RandomState = 0,
) -> float:
    """Sum over the clusters of the mean kernel value between their points, Q_w.

    A cluster of a single point has the largest value, 1, whatever its place. So the best partition
    by this quality has single points in all clusters but one: use it with a least size.

    Parameters
    ----------
    <points>
    <kernel>

    Returns
    -------
    float
        Larger is better; at most the number of clusters.

    See Also
    --------
    weighted_kernel_quality : Clusters count by their size.
    separation_quality : Clusters should be apart as well.

    References
    ----------
    <reference>

    Examples
    --------
    >>> from clusterscape.explore import kernel_quality
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> round(kernel_quality(X, [0, 0, 1, 1], bandwidth=2.0), 3)
    1.882
    >>> round(kernel_quality(X, [0, 1, 1, 1], bandwidth=2.0), 3)
    1.53
    """
    return _value(X, labels, "kernel", kernel, bandwidth, n_components, random_state)


@_documented
@checked(_RULES)
def separation_quality(
    X: Any,
    labels: Any,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    random_state: RandomState = 0,
) -> float:
    """Square of Q_w minus the mean kernel values between all pairs of clusters, Q_w-s.

    The sum over pairs has each cluster with itself, as in the source. With s clusters and kernel
    values up to 1 it is at least -s^2/4 and at most s^2 - s. Like Q_w it favours single points.

    Parameters
    ----------
    <points>
    <kernel>

    Returns
    -------
    float
        Larger is better; it can be negative.

    See Also
    --------
    kernel_quality : Compactness alone.

    References
    ----------
    <reference>

    Examples
    --------
    >>> from clusterscape.explore import separation_quality
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> round(separation_quality(X, [0, 0, 1, 1], bandwidth=2.0), 3)
    1.66
    >>> round(separation_quality(X, [0, 1, 0, 1], bandwidth=2.0), 3)
    -0.883
    """
    return _value(X, labels, "separation", kernel, bandwidth, n_components, random_state)


@_documented
@checked(_RULES)
def weighted_kernel_quality(
    X: Any,
    labels: Any,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    random_state: RandomState = 0,
) -> float:
    """Mean over the points of the mean kernel value in their cluster: what kernel k-means raises.

    Clusters count by their size, so single points gain nothing.

    Parameters
    ----------
    <points>
    <kernel>

    Returns
    -------
    float
        Larger is better; between 0 and 1 where the kernel's values are.

    See Also
    --------
    kernel_quality : Every cluster counts alike.

    References
    ----------
    <reference>

    Examples
    --------
    >>> from clusterscape.explore import weighted_kernel_quality
    >>> X = [[0.0], [1.0], [8.0], [9.0]]
    >>> round(weighted_kernel_quality(X, [0, 0, 1, 1], bandwidth=2.0), 3)
    0.941
    """
    return _value(X, labels, "weighted_kernel", kernel, bandwidth, n_components, random_state)


@_documented
def variance_ratio_quality(X: Any, labels: Any) -> float:
    """Variance between clusters over the variance within, the index of Calinski and Harabasz.

    Parameters
    ----------
    <points>

    Returns
    -------
    float
        Larger is better.

    See Also
    --------
    kmeans_quality : The variance within alone.

    References
    ----------
    .. [1] T. Calinski and J. Harabasz. A dendrite method for cluster analysis. Communications in
       Statistics 3(1), 1-27, 1974. doi:10.1080/03610927408827101

    Examples
    --------
    >>> from clusterscape.explore import variance_ratio_quality
    >>> round(variance_ratio_quality([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1]), 3)
    128.0
    """
    return _value(X, labels, "variance_ratio", "gaussian")


@_documented
def centroid_silhouette_quality(X: Any, labels: Any) -> float:
    """Silhouette of the clusters by their centroids, with squared distances.

    Of a cluster, v is the mean squared distance of its points to its centroid and D the squared
    distance from there to the nearest other centroid. Its points are v from their own and v + D
    from the other centroid, so that its silhouette is D / (v + D); the mean counts clusters by
    their size. This follows from sums over pairs of clusters. The silhouette of single points [1]_
    does not: one move changes the terms of all points, which costs O(n) for every candidate.

    Parameters
    ----------
    <points>

    Returns
    -------
    float
        Larger is better; between 0 and 1.

    See Also
    --------
    sklearn.metrics.silhouette_score : The silhouette of single points.
    centroid_dunn_quality : The worst pair of clusters alone.

    References
    ----------
    .. [1] P. J. Rousseeuw. Silhouettes: a graphical aid to the interpretation and validation of
       cluster analysis. Journal of Computational and Applied Mathematics 20, 53-65, 1987.
       doi:10.1016/0377-0427(87)90125-7
    .. [2] E. R. Hruschka, R. J. G. B. Campello and L. N. de Castro. Evolving clusters in
       gene-expression data. Information Sciences 176(13), 1898-1927, 2006 (the simplified
       silhouette, by centroids). doi:10.1016/j.ins.2005.07.015

    Examples
    --------
    >>> from clusterscape.explore import centroid_silhouette_quality
    >>> round(centroid_silhouette_quality([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1]), 3)
    0.996
    """
    return _value(X, labels, "centroid_silhouette", "gaussian")


@_documented
def centroid_dunn_quality(X: Any, labels: Any) -> float:
    """Least distance between two centroids over the largest width of a cluster.

    A width is twice the root of the mean squared distance to the centroid. Of the generalised
    indices of Dunn's kind [1]_ those by centroids follow from sums over pairs of clusters; Dunn's
    own, by the nearest points of two clusters and the farthest of one, only from all distances.

    Parameters
    ----------
    <points>

    Returns
    -------
    float
        Larger is better.

    See Also
    --------
    centroid_silhouette_quality : All clusters count, by their size.

    References
    ----------
    .. [1] J. C. Bezdek and N. R. Pal. Some new indexes of cluster validity. IEEE Transactions on
       Systems, Man, and Cybernetics B 28(3), 301-315, 1998. doi:10.1109/3477.678624

    Examples
    --------
    >>> from clusterscape.explore import centroid_dunn_quality
    >>> round(centroid_dunn_quality([[0.0], [1.0], [8.0], [9.0]], [0, 0, 1, 1]), 3)
    8.0
    """
    return _value(X, labels, "centroid_dunn", "gaussian")


def _value(
    X: Any,
    labels: Any,
    name: str,
    kernel: Any,
    bandwidth: Any = "median",
    n_components: Any = "auto",
    random_state: RandomState = 0,
) -> float:
    how = {
        "kernel": kernel,
        "bandwidth": bandwidth,
        "n_components": n_components,
        "random_state": random_state,
    }
    chosen, space, codes = _read(X, labels, name, how)
    return PartitionState(space, chosen, codes).value


QUALITY_RULE = Choice(registry=QUALITIES)
