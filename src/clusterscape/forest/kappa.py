"""kappa of a partition: how much lies within clusters, and how much between them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clusterscape import kernels
from clusterscape._core.labels import encode
from clusterscape._core.params import Choice, checked
from clusterscape._core.weights import optional_weights
from clusterscape.forest.growth import FeatureMajor
from clusterscape.generate.features import read_features
from clusterscape.linalg.distances import check_range

# Columns made dense at a time.
_BLOCK = 64


@checked({"form": (Choice("pairs", "anova"),)})
def kappa(
    X: Any,
    labels: Any,
    *,
    form: Literal["anova", "pairs"] = "anova",
    sample_weight: Any = None,
) -> float:
    """Return kappa: the sum of squares within clusters over that between them; less is cleaner.

    kappa does not compare numbers of clusters (more of them always lower it), and like k-means it
    follows the columns with the largest scale.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        Points x features.
    labels : array of shape (n,)
        The partition. Points of noise (-1) and unsampled ones (-2) are left out.
    form : {"anova", "pairs"}
        The usual sums of squares around the means, or squared distances over pairs of points, as
        in the proofs of Cluster Forests [1]_ (section 7.2). For two clusters of equal size both
        rank sets of columns alike.
    sample_weight : array of shape (n,), optional
        Weights of the points; a point of weight 2 counts like two equal points.

    Returns
    -------
    float
        Infinite where nothing lies between clusters: one cluster, or points that are all equal.

    See Also
    --------
    ForestGrower : Grows sets of columns as long as kappa falls.
    population_kappa : kappa of two Gaussians, in the limit of many points.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan, "Cluster Forests", Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.forest import kappa
    >>> X = [[0.0], [1.0], [10.0], [11.0]]
    >>> kappa(X, [0, 0, 1, 1]), kappa(X, [0, 1, 0, 1])
    (0.01, 100.0)
    """
    features = read_features(X)
    weights = optional_weights(sample_weight, features.n_points)
    codes, _ = encode(labels, "labels")
    if len(features.views) > 1 or codes.size != features.n_points:
        raise ValueError(
            f"labels has {codes.size} entries; X must be one matrix with as many rows, and has "
            f"{features.n_points}."
        )
    pull = np.ones(codes.size) if weights is None else weights
    kept = np.flatnonzero((codes >= 0) & (pull > 0))
    if kept.size == 0:
        return float("inf")
    found, numbers = np.unique(codes[kept], return_inverse=True)
    matrix = features.views[0]
    check_range(matrix, "X", smallest=False)
    columns = FeatureMajor.of(matrix if kept.size == codes.size else matrix[kept])
    mass = np.bincount(numbers, weights=pull[kept])
    inner, between = np.zeros(found.size), 0.0
    cluster = numbers.astype(np.int32)
    for start in range(0, columns.n_features, _BLOCK):
        block = np.arange(start, min(start + _BLOCK, columns.n_features))
        part, means = _within(columns.take(block), pull[kept], cluster, found.size)
        inner += part
        between += float(mass @ ((means - mass @ means / mass.sum()) ** 2).sum(axis=1))
    return float(kernels.forest.kappa_of(inner, mass, between, form == "pairs"))


def _within(
    X: np.ndarray, weights: np.ndarray, labels: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each cluster's sum of squares and its means."""
    rows, every = np.ascontiguousarray(X.T), np.arange(X.shape[1])
    inner, means = np.empty(k), np.empty((k, len(rows)))
    sizes = np.empty(k), np.empty(k, np.int64)
    kernels.kmeans.within(rows, every, weights, labels, False, means, *sizes, inner)
    return inner, means
