"""Measures that count pairs of points: together in both partitions, in one, or in neither.

For soft partitions the counts are expected ones, every point drawing its cluster independently in
each partition; a soft partition is then not at distance 0 from itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape.compare.registry import Score, register_measure
from clusterscape.compare.tables import Noise, Statistics, Tables, ratio


def _disagreements(s: Statistics) -> np.ndarray:
    """Return the pairs together in exactly one of the partitions."""
    return np.maximum(s.a_together + s.b_together - 2.0 * s.together, 0.0)


def _rand_distance(tables: Tables) -> np.ndarray:
    s = tables.statistics
    return np.minimum(ratio(_disagreements(s), s.pairs, 0.0), 1.0)


@register_measure(
    _rand_distance,
    label="Rand distance",
    reference="Rand (1971)",
    direction="distance",
    bounds=(0.0, 1.0),
    identity=0.0,
    metric=True,
)
def rand_distance(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Share of the pairs of points that one partition joins and the other separates.

    One minus the Rand index. With many clusters most pairs are apart in both partitions, and the
    distance is always small: use :func:`adjusted_rand` then. A single point has no
    pairs, and the distance is 0.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    adjusted_rand : The Rand index, corrected for chance.
    mirkin : The same pairs, counted.

    References
    ----------
    .. [1] W. M. Rand. Objective criteria for the evaluation of clustering methods. Journal of the
       American Statistical Association 66(336), 846-850, 1971.
       doi:10.1080/01621459.1971.10482356

    Examples
    --------
    >>> from clusterscape.compare import rand_distance
    >>> rand_distance([0, 0, 1, 1], ["x", "x", "x", "y"])
    0.5
    >>> rand_distance([0, 0, 1, 1], [0, 0, 1, -2], return_coverage=True)
    (0.0, 0.75)
    """


def _pair_accuracy(tables: Tables) -> np.ndarray:
    return 1.0 - _rand_distance(tables)


@register_measure(
    _pair_accuracy,
    label="Rand index (rho_r)",
    reference="Rand (1971); rho_r of Yan, Chen & Jordan (2013)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
)
def pair_accuracy(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Share of the pairs of points on which the partitions agree: the Rand index, rho_r.

    It is high for any two partitions into many clusters; :func:`adjusted_rand` is not.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    rand_distance : One minus this value.

    References
    ----------
    .. [1] W. M. Rand. Objective criteria for the evaluation of clustering methods. Journal of the
       American Statistical Association 66(336), 846-850, 1971.
       doi:10.1080/01621459.1971.10482356
    .. [2] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.compare import pair_accuracy
    >>> pair_accuracy([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """


def _adjusted_rand(tables: Tables) -> np.ndarray:
    s = tables.statistics
    both, only_a, only_b = s.together, s.a_together - s.together, s.b_together - s.together
    neither = s.pairs - both - only_a - only_b
    above = 2.0 * (both * neither - only_a * only_b)
    below = s.b_together * (only_b + neither) + s.a_together * (only_a + neither)
    return ratio(above, below, 1.0)


@register_measure(
    _adjusted_rand,
    label="adjusted Rand index",
    reference="Hubert & Arabie (1985)",
    direction="similarity",
    bounds=(-0.5, 1.0),
    identity=1.0,
    chance_corrected=True,
)
def adjusted_rand(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Rand index corrected for chance: 1 for equal partitions, 0 on average for unrelated ones.

    The correction takes the sizes of the clusters as given. When both partitions put all points
    together, or all apart, they are equal and the value is 1. Large clusters dominate it.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    ami : An information measure corrected for chance.

    References
    ----------
    .. [1] L. Hubert and P. Arabie. Comparing partitions. Journal of Classification 2, 193-218,
       1985. doi:10.1007/BF01908075

    Examples
    --------
    >>> from clusterscape.compare import adjusted_rand
    >>> adjusted_rand([0, 0, 1, 1], [1, 1, 0, 0])
    1.0
    >>> round(adjusted_rand([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.5714
    """


def _jaccard_distance(tables: Tables) -> np.ndarray:
    s = tables.statistics
    apart = _disagreements(s)
    return ratio(apart, apart + s.together, 0.0)


@register_measure(
    _jaccard_distance,
    label="Jaccard distance",
    reference="Ben-Hur, Elisseeff & Guyon (2002)",
    direction="distance",
    bounds=(0.0, 1.0),
    identity=0.0,
    metric=True,
)
def jaccard_distance(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Share of the pairs joined by either partition that only one of them joins.

    Unlike :func:`rand_distance` it ignores the pairs that are apart in both. It is 0 when neither
    partition joins any pair.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    rand_distance : Counts the pairs apart in both partitions as well.

    References
    ----------
    .. [1] A. Ben-Hur, A. Elisseeff and I. Guyon. A stability based method for discovering structure
       in clustered data. Pacific Symposium on Biocomputing 7, 6-17, 2002.
       doi:10.1142/9789812799623_0002

    Examples
    --------
    >>> from clusterscape.compare import jaccard_distance
    >>> jaccard_distance([0, 0, 1, 1], [0, 0, 1, 2])
    0.5
    """


def _fowlkes_mallows(tables: Tables) -> np.ndarray:
    s = tables.statistics
    # The root of the product, and not the product of the roots, is exact for equal partitions.
    below = np.sqrt(np.maximum(s.a_together, 0.0) * np.maximum(s.b_together, 0.0))
    neither = (s.a_together <= 0) & (s.b_together <= 0)
    return np.where(neither, 1.0, np.minimum(ratio(s.together, below, 0.0), 1.0))


@register_measure(
    _fowlkes_mallows,
    label="Fowlkes-Mallows index",
    reference="Fowlkes & Mallows (1983)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
)
def fowlkes_mallows(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Geometric mean of the shares of a's pairs that b joins, and of b's pairs that a joins.

    When neither partition joins any pair they are equal and the value is 1 (0 in scikit-learn);
    when exactly one joins none it is 0. Not corrected for chance.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    jaccard_distance : Another measure of the pairs that are together.

    References
    ----------
    .. [1] E. B. Fowlkes and C. L. Mallows. A method for comparing two hierarchical clusterings.
       Journal of the American Statistical Association 78(383), 553-569, 1983.
       doi:10.1080/01621459.1983.10478008

    Examples
    --------
    >>> from clusterscape.compare import fowlkes_mallows
    >>> round(fowlkes_mallows([0, 0, 1, 1], [0, 0, 1, 2]), 4)
    0.7071
    """


def _mirkin(tables: Tables) -> np.ndarray:
    return 2.0 * _disagreements(tables.statistics)


@register_measure(
    _mirkin,
    label="Mirkin metric",
    reference="Mirkin (1996)",
    direction="distance",
    bounds=(0.0, np.inf),
    identity=0.0,
    metric=True,
)
def mirkin(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Twice the number of pairs that one partition joins and the other separates.

    It grows with the square of the number of points: compare only values over the same points.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    rand_distance : The share of the pairs instead of their number.

    References
    ----------
    .. [1] B. Mirkin. Mathematical classification and clustering. Kluwer, 1996.
       doi:10.1007/978-1-4613-0457-9

    Examples
    --------
    >>> from clusterscape.compare import mirkin
    >>> mirkin([0, 0, 1, 1], [0, 0, 0, 1])
    6.0
    """
