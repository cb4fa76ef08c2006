"""Measures of shared information; entropies and information are in nats.

For soft partitions the joint distribution is the expected one, every point drawing its cluster
independently in each partition; a soft partition then shares less with itself than its entropy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from clusterscape import kernels
from clusterscape._core.params import Choice, checked
from clusterscape.compare.registry import MEASURES, Score, register_measure
from clusterscape.compare.tables import POLICIES, Columns, Noise, Tables, ratio
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.ensemble.inputs import read_partition

Average = Literal["min", "geometric", "arithmetic", "max"]
Norm = Literal["logn", "joint", "sum", "2logk"]

_AVERAGES: dict[str, Callable[..., np.ndarray]] = {
    "min": np.minimum,
    "geometric": lambda x, y: np.sqrt(x * y),
    "arithmetic": lambda x, y: (x + y) / 2.0,
    "max": np.maximum,
}
_AVERAGE_RULE = [Choice(*_AVERAGES)]


def _mutual_information(tables: Tables) -> np.ndarray:
    return tables.statistics.information


@register_measure(
    _mutual_information,
    label="mutual information (nats)",
    reference="Shannon (1948)",
    direction="similarity",
    bounds=(0.0, np.inf),
    identity=None,
)
def mutual_information(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Information that the partitions share, in nats.

    It grows with the number of clusters, for unrelated partitions too: compare values with
    :func:`ami` or :func:`nmi`. ``utility(kind="H")`` is the same in bits.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    nmi : Divided by a mean of the entropies.
    ami : Corrected for chance.

    References
    ----------
    .. [1] C. E. Shannon. A mathematical theory of communication. Bell System Technical Journal
       27(3), 379-423, 1948. doi:10.1002/j.1538-7305.1948.tb01338.x

    Examples
    --------
    >>> from clusterscape.compare import mutual_information
    >>> round(mutual_information([0, 0, 1, 1], [0, 0, 1, 1]), 4)
    0.6931
    """


def _nmi(tables: Tables, *, average: Average, degenerate: Literal["one", "strehl"]) -> np.ndarray:
    s = tables.statistics
    mean = _AVERAGES[average](s.a_entropy, s.b_entropy)
    value = np.minimum(ratio(s.information, mean, 0.0), 1.0)
    value = np.where(s.identical, 1.0, value)
    trivial = (s.a_clusters <= 1) & (s.b_clusters <= 1)
    return np.where(trivial, 1.0 if degenerate == "one" else 0.0, value)


@register_measure(
    _nmi,
    rules={"average": _AVERAGE_RULE, "degenerate": [Choice("one", "strehl")]},
    label="normalised mutual information",
    reference="Strehl & Ghosh (2002)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
)
def nmi(
    a: Any,
    b: Any,
    *,
    average: Average = "geometric",
    degenerate: Literal["one", "strehl"] = "one",
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Mutual information divided by a mean of the two entropies.

    Not corrected for chance: it rises with the number of clusters, also for unrelated partitions
    (:func:`ami` does not). It is 0 when exactly one of the partitions is a single cluster.

    Parameters
    ----------
    {parameters}
    average : {"geometric", "min", "arithmetic", "max"}
        The mean of the entropies. Papers on cluster ensembles use the geometric one; scikit-learn's
        default is the arithmetic one.
    degenerate : {"one", "strehl"}
        The value when both partitions are a single cluster: 1, as they are equal, or 0, as in
        Strehl's programs.

    Returns
    -------
    {returns}

    See Also
    --------
    ami : Corrected for chance.
    average_nmi : The mean over the partitions of an ensemble.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining
       multiple partitions. Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape.compare import nmi
    >>> round(nmi([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.8165
    >>> nmi([0, 0, 0], [5, 5, 5]), nmi([0, 0, 0], [5, 5, 5], degenerate="strehl")
    (1.0, 0.0)
    """


# The overlaps that shuffling gives are gone through one by one, about the root of the points of
# them, and doubles beyond 2^53 do not even count.
_MOST_POINTS = 1e12


def _ami(tables: Tables, *, average: Average) -> np.ndarray:
    if not tables.whole:
        raise ValueError(
            "ami compares with shuffled labels, so sample_weight must hold whole numbers of points."
        )
    if tables.total > _MOST_POINTS:
        raise ValueError(
            f"ami counts points one by one: sample_weight stands for {tables.total:.3g} in all, "
            f"and {_MOST_POINTS:.0e} is the most it takes."
        )
    s = tables.statistics
    expected = np.empty(len(tables))
    kernels.pairs.expected_information(*tables.cells, tables.sizes, expected)
    mean = _AVERAGES[average](s.a_entropy, s.b_entropy)
    largest = mean - expected
    # Where shuffling changes nothing, what is left of the difference is rounding.
    largest = np.where(largest > 1e-13 * np.maximum(mean, 1.0), largest, 0.0)
    value = np.minimum(ratio(s.information - expected, largest, 0.0), 1.0)
    one_cluster = (s.a_clusters <= 1) | (s.b_clusters <= 1)
    return np.where(s.identical, 1.0, np.where(one_cluster, 0.0, value))


@register_measure(
    _ami,
    rules={"average": _AVERAGE_RULE},
    label="adjusted mutual information",
    reference="Vinh, Epps & Bailey (2010)",
    direction="similarity",
    bounds=(-np.inf, 1.0),
    identity=1.0,
    chance_corrected=True,
    soft=False,
)
def ami(
    a: Any,
    b: Any,
    *,
    average: Average = "arithmetic",
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Mutual information corrected for chance: 1 for equal partitions, 0 on average by chance.

    Chance is shuffled labels with the sizes of the clusters kept. The value is 0 when exactly one
    partition is a single cluster, and where every shuffling gives the same information. Weights
    must be whole numbers, at most 1e12 in all.

    Parameters
    ----------
    {parameters}
    average : {"arithmetic", "geometric", "min", "max"}
        The mean of the entropies, used as an upper bound of the shared information.

    Returns
    -------
    {returns}

    See Also
    --------
    adjusted_rand : Pair counting corrected for chance.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps and J. Bailey. Information theoretic measures for clusterings
       comparison: variants, properties, normalization and correction for chance. Journal of
       Machine Learning Research 11, 2837-2854, 2010.

    Examples
    --------
    >>> from clusterscape.compare import ami
    >>> round(ami([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """


def _vi(tables: Tables) -> np.ndarray:
    return tables.statistics.variation


@register_measure(
    _vi,
    label="variation of information (nats)",
    reference="Meila (2007)",
    direction="distance",
    bounds=(0.0, np.inf),
    identity=0.0,
    metric=True,
)
def vi(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Variation of information: the two conditional entropies, summed, in nats.

    A metric between 0 and log n. Two partitions into few clusters are never far apart by it;
    :func:`nvi` divides by a bound.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    nvi : Divided by a bound.

    References
    ----------
    .. [1] M. Meila. Comparing clusterings: an information based distance. Journal of Multivariate
       Analysis 98(5), 873-895, 2007. doi:10.1016/j.jmva.2006.11.013

    Examples
    --------
    >>> from clusterscape.compare import vi
    >>> round(vi([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    1.3863
    """


def _nvi(tables: Tables, *, norm: Norm) -> np.ndarray:
    s = tables.statistics
    if norm == "logn":
        bound = np.log(np.maximum(s.mass, 1.0))
    elif norm == "joint":
        bound = s.joint_entropy
    elif norm == "sum":
        bound = s.a_entropy + s.b_entropy
    else:
        bound = 2.0 * np.log(np.maximum(np.maximum(s.a_clusters, s.b_clusters), 1.0))
    return np.minimum(ratio(s.variation, bound, 0.0), 1.0)


@register_measure(
    _nvi,
    rules={"norm": [Choice("logn", "joint", "sum", "2logk")]},
    label="normalised variation of information",
    reference="Meila (2007); Vinh, Epps & Bailey (2010)",
    direction="distance",
    bounds=(0.0, 1.0),
    identity=0.0,
    metric=True,
    soft=False,
)
def nvi(
    a: Any,
    b: Any,
    *,
    norm: Norm = "logn",
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Variation of information divided by a bound, so that it lies between 0 and 1.

    The papers do not agree on the bound, so it is named. Values with different bounds cannot be
    compared, and those with "logn" only over equally many points.

    Parameters
    ----------
    {parameters}
    norm : {"logn", "joint", "sum", "2logk"}
        Divide by the logarithm of the number of points compared (a metric), by the joint entropy
        (a metric), by the sum of the entropies (the VI_n of K-means consensus; no metric), or by
        twice the logarithm of the larger number of clusters (no metric).

    Returns
    -------
    {returns}

    See Also
    --------
    vi : Without the bound.

    References
    ----------
    .. [1] M. Meila. Comparing clusterings: an information based distance. Journal of Multivariate
       Analysis 98(5), 873-895, 2007. doi:10.1016/j.jmva.2006.11.013
    .. [2] N. X. Vinh, J. Epps and J. Bailey. Information theoretic measures for clusterings
       comparison: variants, properties, normalization and correction for chance. Journal of
       Machine Learning Research 11, 2837-2854, 2010.

    Examples
    --------
    >>> from clusterscape.compare import nvi
    >>> nvi([0, 0, 1, 1], [0, 1, 0, 1]), nvi([0, 0, 1, 1], [0, 0, 1, 1])
    (1.0, 0.0)
    >>> round(nvi([0, 0, 1, 1], [0, 0, 1, 2], norm="2logk"), 4)
    0.1577
    """


def _information_distance(tables: Tables) -> np.ndarray:
    s = tables.statistics
    # Half of the variation and of what the entropies differ by, which is exact where it is zero.
    larger = 0.5 * (s.variation + np.abs(s.a_entropy - s.b_entropy))
    return np.where(s.variation > 0, larger, 0.0)


@register_measure(
    _information_distance,
    label="information distance (nats)",
    reference="Vinh, Epps & Bailey (2010)",
    direction="distance",
    bounds=(0.0, np.inf),
    identity=0.0,
    metric=True,
    soft=False,
)
def information_distance(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Larger of the two entropies minus the information that is shared, in nats.

    The larger one of the two conditional entropies, where :func:`vi` is their sum: a metric
    between 0 and log n.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    vi : The sum of the conditional entropies.

    References
    ----------
    .. [1] N. X. Vinh, J. Epps and J. Bailey. Information theoretic measures for clusterings
       comparison: variants, properties, normalization and correction for chance. Journal of
       Machine Learning Research 11, 2837-2854, 2010.

    Examples
    --------
    >>> from clusterscape.compare import information_distance
    >>> round(information_distance([0, 0, 1, 1], [0, 1, 0, 1]), 4)
    0.6931
    """


@checked({"average": _AVERAGE_RULE, "noise": [Choice(*POLICIES)]})
def average_nmi(
    labels: Any, ensemble: Any, *, average: Average = "geometric", noise: Noise = "singletons"
) -> float:
    """Mean NMI of a clustering with the partitions of an ensemble.

    Each partition is compared on the points it sampled, and counts in proportion to their weight
    (times the partition's own weight). This is what consensus functions often try to make large;
    it rewards agreement with the majority, not truth.

    Parameters
    ----------
    labels : array-like
        The clustering: a label vector, or an (n, k) soft membership.
    ensemble : Ensemble or (n, r) array-like
        The partitions.
    average : {"geometric", "min", "arithmetic", "max"}
        The mean of the entropies, as in :func:`nmi`.
    noise : {"singletons", "cluster", "drop"}
        What a noise point is, as in :func:`nmi`.

    Returns
    -------
    float
        The mean; nan when no partition has a point in common with ``labels``.

    See Also
    --------
    nmi : Of two partitions.
    ensemble_utility : What K-means consensus maximises.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining
       multiple partitions. Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape.compare import average_nmi
    >>> round(average_nmi([0, 0, 1, 1], [[0, 0, 1, 1], [5, 5, 9, -2], [1, 1, 1, 1]]), 4)
    0.6364
    """
    partitions = as_ensemble(ensemble)
    first = Ensemble([read_partition(labels, "labels")])
    if first.n_points != partitions.n_points:
        raise ValueError(
            f"labels has {first.n_points} points and the ensemble {partitions.n_points}; both must "
            "describe the same points in the same order."
        )
    columns = Columns.of(first, partitions, sample_weight=partitions.sample_weight)
    pairs = np.array([[0, i + 1] for i in range(partitions.n_partitions)])
    value = np.empty(len(pairs))
    mass = np.empty(len(pairs))
    for batch in columns.batches(pairs):
        tables = columns.tables(pairs[batch], noise)
        value[batch] = MEASURES["nmi"].values(tables, average=average)
        mass[batch] = tables.statistics.mass
    weight = mass * partitions.weights
    compared = weight > 0
    if not compared.any():
        return float("nan")
    return float(np.average(value[compared], weights=weight[compared]))
