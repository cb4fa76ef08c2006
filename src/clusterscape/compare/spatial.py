"""Measures that look at where the points lie: CC distance, CDistance and D_ADCO."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clusterscape._core.params import Choice, Integer
from clusterscape.compare import _adco, _cc, _cdistance
from clusterscape.compare.registry import Score, compare_two_in_space, spatial_measure

Policy = Literal["cluster", "drop"]


@spatial_measure(
    prepare=_cc.prepare,
    formula=_cc.formula,
    rules={
        "form": [Choice("centroid", "membership")],
        "masses": [Choice("size", "uniform")],
        "ground": [Choice("euclidean", "sqeuclidean")],
    },
    label="CC distance",
    reference="Zhou, Li & Zha (2005)",
    direction="distance",
    bounds=(0.0, np.inf),
    identity=0.0,
)
def cc_distance(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    form: Literal["centroid", "membership"] = "centroid",
    masses: Literal["size", "uniform"] = "size",
    ground: Literal["euclidean", "sqeuclidean"] = "euclidean",
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Least work of moving the centroids of one partition onto those of the other.

    Fails where a centroid says little of its cluster: rings around one centre have one centroid, so
    different partitions can have the distance 0, and how far a cluster spreads is not seen. With
    the Euclidean ground distance it obeys the triangle inequality: a pseudo-metric. The value has
    the unit of the features, so scale them first. The form "membership" reads no features.

    Parameters
    ----------
    {partitions}
    features : (n, d) array or sparse matrix
        The points. Not read, and not needed, with ``form="membership"``.
    form : {"centroid", "membership"}
        The cost of moving a unit of mass between two clusters: the distance of their centroids, or
        the difference of their memberships summed over the points that both partitions saw, which
        for hard partitions is the number of points in one of the clusters only.
    masses : {"size", "uniform"}
        Mass of a cluster: its share of the points, or the same for all clusters.
    ground : {"euclidean", "sqeuclidean"}
        Distance of centroids, or its square.
    {common}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> from clusterscape.compare import cc_distance
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> cc_distance([0, 0, 1, 1], [0, 0, 1, 2], X)
    0.25
    >>> cc_distance([0, 0, 1, 1], [0, 0, 1, 2], form="membership")
    0.5
    """
    return compare_two_in_space(
        "cc_distance",
        (a, b),
        features,
        form=form,
        masses=masses,
        ground=ground,
        noise=noise,
        sample_weight=sample_weight,
        return_coverage=return_coverage,
    )


@spatial_measure(
    prepare=_cdistance.prepare,
    formula=_cdistance.formula,
    rules={"max_points": [Integer(1)]},
    label="CDistance",
    reference="Coen, Ansari & Fillmore (2010)",
    direction="distance",
    bounds=(0.0, 1.0),
    identity=0.0,
)
def cdistance(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    max_points: int = 5000,
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Transport between partitions, with transport between the clusters' points as the distance.

    First the transport distance between the points of every two clusters, then the cost of moving
    the clusters of one partition onto those of the other, divided by what it costs to spread every
    cluster over all others in proportion to their sizes. Between 0 and 1; 0 only for equal
    partitions where no points coincide. No metric: the ratio breaks the triangle inequality. Exact
    and slow: the time grows with up to the cube of the number of points, about a second for 2,000
    and five for 5,000 in ten clusters; for more take :func:`lift_emd`. Says little next to a
    partition into one cluster: every other one is at distance 1 from it.

    Parameters
    ----------
    {partitions}
    features : (n, d) array or sparse matrix
        The points.
    max_points : int
        Refuse more points than this.
    {common}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> from clusterscape.compare import cdistance
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> reference, near, far = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1]
    >>> round(cdistance(reference, near, X), 3), round(cdistance(reference, far, X), 3)
    (0.5, 0.562)
    """
    return compare_two_in_space(
        "cdistance",
        (a, b),
        features,
        max_points=max_points,
        noise=noise,
        sample_weight=sample_weight,
        return_coverage=return_coverage,
    )


@spatial_measure(
    prepare=_adco.prepare,
    formula=_adco.formula,
    rules={"n_bins": [Integer(1)], "normalize": [Choice("max", "geometric")]},
    label="D_ADCO",
    reference="Bae, Bailey & Dong (2010)",
    direction="distance",
    bounds=(0.0, 2.0),
    identity=0.0,
    metric=True,
)
def adco(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    n_bins: int = 10,
    normalize: Literal["max", "geometric"] = "max",
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Distance of the histograms of the clusters: 0 for equal partitions, otherwise from 1 to 2.

    Every feature is cut into bins of equal width. A cluster is the vector of its counts in all
    bins, two clusters are as similar as the product of their vectors, and the similarity ADCO of
    two partitions is that of the best one-to-one matching of clusters, divided by the similarity of
    the partitions with themselves. The distance is 2 - ADCO. A metric, since no detour of two steps
    costs less than 2. Fails to see distance: only points in the same bin count, so a cluster
    that moved one bin away is as different as one that moved across the data, and clusters with
    the same values in every single feature look alike.

    Parameters
    ----------
    {partitions}
    features : (n, d) array
        The points; not sparse.
    n_bins : int
        Bins of every feature, over the range of the points that have weight in one of the
        partitions (of all partitions that are compared, in :func:`pairwise`). More than 4 GB of
        counts are refused.
    normalize : {"max", "geometric"}
        Divide by the larger of the two similarities of a partition with itself, or by their
        geometric mean. The definition leaves this open.
    {common}

    Returns
    -------
    {returns}

    Examples
    --------
    >>> from clusterscape.compare import adco
    >>> X = [[0.0], [0.1], [5.0], [9.9], [10.0]]
    >>> adco([0, 0, 1, 1, 1], ["x", "x", "y", "y", "y"], X)
    0.0
    >>> round(adco([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], X), 3)
    1.111
    """
    return compare_two_in_space(
        "adco",
        (a, b),
        features,
        n_bins=n_bins,
        normalize=normalize,
        noise=noise,
        sample_weight=sample_weight,
        return_coverage=return_coverage,
    )
