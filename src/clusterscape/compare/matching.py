"""Measures that match clusters with clusters: accuracy and purity."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from clusterscape import kernels
from clusterscape.compare.registry import Score, register_measure
from clusterscape.compare.tables import Noise, Tables, ratio

_ALONE = "A cluster of one noise point is matched with nothing, so that noise counts as an error."


def _accuracy(tables: Tables) -> np.ndarray:
    matched = np.zeros(len(tables))
    for p in range(len(tables)):
        table = tables.dense(p)
        matched[p] = table[linear_sum_assignment(table, maximize=True)].sum()
    return np.minimum(ratio(matched, tables.statistics.mass, 0.0), 1.0)


@register_measure(
    _accuracy,
    texts={"alone": _ALONE},
    label="accuracy (rho_c)",
    reference="rho_c of Yan, Chen & Jordan (2013); ACC of Tao, Liu & Fu (2017)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
)
def accuracy(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Largest share of points on which labels agree, over one-to-one matchings of the clusters.

    With different numbers of clusters the smaller side is matched and the clusters left over count
    as errors. The share of the largest cluster is its level for trivial labels: an accuracy of 0.9
    is trivial where one class holds 90 % of the points. The matching takes time cubic in the
    number of clusters.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    purity : Several clusters may share a class.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010
    .. [2] Z. Tao, H. Liu and Y. Fu. Simultaneous clustering and ensemble. AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> from clusterscape.compare import accuracy
    >>> accuracy([0, 0, 1, 1, 2], ["b", "b", "a", "a", "a"])
    0.8
    >>> accuracy([0, 0, 1, -1], [0, 0, 1, 1])
    0.75
    """


def _purity(tables: Tables) -> np.ndarray:
    best = np.empty(len(tables))
    kernels.pairs.largest(*tables.cells, tables.matchable, best)
    return np.minimum(ratio(best, tables.statistics.mass, 0.0), 1.0)


@register_measure(
    _purity,
    texts={"alone": _ALONE},
    label="purity (CA)",
    reference="Manning, Raghavan & Schuetze (2008); CA of Liu, Ye, Wei & Hu (2017), eq. (34)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
    symmetric=False,
)
def purity(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Share of points that belong to the commonest class of their cluster.

    ``a`` is the clustering and ``b`` the classes: the two are not exchangeable. Several clusters
    may share a class, so purity never falls when clusters are split, and is 1 when every point is
    a cluster: never choose a number of clusters by it, and do not compare it with
    :func:`accuracy`.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    accuracy : Clusters are matched one to one.

    References
    ----------
    .. [1] C. D. Manning, P. Raghavan and H. Schuetze. Introduction to information retrieval,
       chapter 16. Cambridge University Press, 2008. doi:10.1017/CBO9780511809071
    .. [2] W. Liu, M. Ye, J. Wei and X. Hu. Fast constrained spectral clustering and cluster
       ensemble with random projection. Computational Intelligence and Neuroscience 2017,
       2658707, 2017. doi:10.1155/2017/2658707

    Examples
    --------
    >>> from clusterscape.compare import purity
    >>> purity([0, 0, 1, 2], ["x", "x", "y", "y"]), purity(["x", "x", "y", "y"], [0, 0, 1, 2])
    (1.0, 0.75)
    """
