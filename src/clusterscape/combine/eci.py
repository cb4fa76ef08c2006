"""How far the other partitions agree with each cluster: a weight for every column of B."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
from scipy import sparse

from clusterscape._core.labels import NOISE
from clusterscape._core.params import Choice, Null, Number, Rules, checked
from clusterscape.compare.tables import Tables, columns_of
from clusterscape.ensemble import BlockedEnsemble, Ensemble, as_ensemble
from clusterscape.linalg.coassociation import Coassociation, Normalize

Weighting = Literal["eci"] | None

# The rules of the two parameters that every method with weighted columns of B has.
WEIGHTING: Rules = {"weighting": [Null(), Choice("eci")], "theta": [Number(0, open_low=True)]}


def column_weights(ensemble: Ensemble, weighting: Weighting, theta: float) -> np.ndarray:
    """Return the weight of every column of B: that of its partition, times its reliability.

    Parameters
    ----------
    ensemble : Ensemble
        Not compressed, or noise points of weights below 1 would be counted as one. In blocks, too.
    weighting : {None, "eci"}
        None leaves the weights of the partitions.
    theta : float
        Of :func:`cluster_reliability`.

    Returns
    -------
    (D,) array
    """
    column = np.repeat(ensemble.weights, ensemble.n_clusters)
    return column if weighting is None else column * cluster_reliability(ensemble, theta=theta)


def weighted_counts(ensemble: Ensemble, weighting: Weighting, theta: float) -> Coassociation:
    """Return the co-association as counts, with the weights of :func:`column_weights`.

    Parameters
    ----------
    ensemble, weighting, theta
        As in :func:`column_weights`.

    Returns
    -------
    Coassociation
    """
    column = None if weighting is None else column_weights(ensemble, weighting, theta)
    return with_weighted_columns(ensemble, column, "counts")


def with_weighted_columns(
    ensemble: Ensemble, column: np.ndarray | None, normalize: Normalize = "pairs"
) -> Coassociation:
    """Return the co-association of an ensemble, compressed or not, with weights of its clusters.

    Parameters
    ----------
    ensemble : Ensemble
        Any rows of the ensemble that the weights were made of.
    column : (D,) array or None
        What :func:`column_weights` gave; None leaves the weights of the partitions.
    normalize : {"pairs", "counts"}
        What the entries mean, as in ``Ensemble.coassociation``.

    Returns
    -------
    Coassociation
    """
    operator = ensemble.coassociation(normalize=normalize)
    return operator if column is None else operator.with_columns(column)


@checked(
    {
        "theta": (Number(0, open_low=True),),
        "noise": (Choice("singletons", "cluster", "drop"),),
    }
)
def cluster_reliability(
    ensemble: Any,
    *,
    theta: float = 0.4,
    noise: Literal["singletons", "cluster", "drop"] = "singletons",
) -> np.ndarray:
    """Return the ensemble-driven cluster index (ECI) [1]_ of every cluster of an ensemble.

    A cluster that the other partitions keep together is reliable; one that they scatter is not.
    With H_m(C) the entropy, in bits, of the shares of cluster C that lie in the clusters of
    partition m, the index is ``exp(-mean_m H_m(C) / theta)``: 1 if no partition splits C, and less
    the more they do. As a weight of the columns of B it weakens unreliable evidence. Where most
    partitions are wrong in the same way, it strengthens what they agree on.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) array of labels
        Hard, soft or incomplete. Point weights count as so many points (a weight below 1 as one
        point of this mass), and the mean over the partitions is weighted by their weights.
    theta : float
        How strongly the index falls with the entropy; smaller is stronger.
    noise : {"singletons", "cluster", "drop"}
        What the noise points of partition m are to a cluster: each on its own (together with
        nobody), one cluster, or not counted. Unsampled points are never counted.

    Returns
    -------
    (D,) array
        In the order of the columns of B; 1 for a cluster without points.

    See Also
    --------
    clusterscape.combine.LWEA, clusterscape.combine.LWGP : Methods with these weights.

    Notes
    -----
    Linear in the points: one contingency table for each pair of partitions, O(n r^2). Partitions
    that share no points with a cluster have no part in its mean.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine.eci import cluster_reliability
    >>> runs = [[0, 0, 0, 1, 1, 1], [0, 0, 0, 1, 1, 2]]
    >>> cluster_reliability(Ensemble.from_labels(runs)).round(3)
    array([1.   , 0.317, 1.   , 1.   , 1.   ])
    """
    ensemble = as_ensemble(ensemble)
    # Tables take no weights below 1; shares do not depend on the unit of the masses.
    unit = 1.0
    if not isinstance(ensemble, BlockedEnsemble):
        weight = ensemble.sample_weight
        unit = min(1.0, float(weight[weight > 0].min()))
    columns = columns_of(ensemble, unit=unit)
    alone = _noise_logs(ensemble, unit) if noise == "singletons" else None
    own = [(i, i) for i in ensemble.soft]  # clusters of one soft partition overlap, too
    every = [*itertools.combinations(range(ensemble.n_partitions), 2), *own]
    pairs = np.array(every, dtype=np.int64).reshape(-1, 2)
    width = int(ensemble.offsets[-1])
    entropy, parts = np.zeros(width), np.zeros(width)
    hard = np.array([i not in ensemble.soft for i in range(ensemble.n_partitions)])
    # A hard partition does not split its own clusters.
    parts += np.repeat(ensemble.weights * hard, ensemble.n_clusters)
    for batch in columns.batches(pairs):
        tables = columns.tables(pairs[batch], "drop" if noise == "drop" else "cluster")
        chosen = pairs[batch]
        every_row = np.ones(len(chosen), bool)
        _add_entropies(tables, chosen, ensemble, entropy, parts, every_row, alone)
        # A soft partition and itself are one table, whose rows are counted.
        apart = chosen[:, 0] != chosen[:, 1]
        swapped = tables.swapped()
        _add_entropies(swapped, chosen[:, ::-1], ensemble, entropy, parts, apart, alone)
    mean = np.divide(entropy, parts, out=np.zeros(width), where=parts > 0)
    return np.exp(-mean / theta)


def _noise_logs(ensemble: Ensemble, unit: float) -> sparse.csr_matrix:
    """Return the sums of x log2 x over the noise points, each on its own, as a (D, r) matrix.

    Entry (c, m) is of the points of cluster c that are noise in partition m. A point of weight w
    is w points of mass one, or one point of mass w < 1; masses are given in ``unit``.
    """
    shape = int(ensemble.offsets[-1]), ensemble.n_partitions
    if not ensemble.has_noise or (unit == 1 and not ensemble.is_soft):
        return sparse.csr_matrix(shape)  # 1 log 1 is nothing
    weight, B = ensemble.sample_weight, ensemble.membership().matrix
    point = np.repeat(np.arange(ensemble.n_points), np.diff(B.indptr))
    single = B.data * np.minimum(weight, 1.0)[point] / unit
    logs = np.log2(single, out=np.zeros_like(single), where=single > 0)
    B.data = B.data * weight[point] / unit * logs
    return sparse.csr_matrix(B.T @ sparse.csr_matrix(ensemble.labels == NOISE, dtype=np.float64))


def _add_entropies(
    tables: Tables,
    pairs: np.ndarray,
    ensemble: Ensemble,
    entropy: np.ndarray,
    parts: np.ndarray,
    counted: np.ndarray,
    alone: sparse.csr_matrix | None,
) -> None:
    """Add the entropies of the rows of some tables to those of the clusters, and their weights.

    Noise is the last column of a table; ``alone`` has its logarithms where it is single points.
    """
    cells = slice(0, int(tables.starts[-1]))
    mass, rows, cols = tables.mass[cells], tables.rows[cells], tables.cols[cells]
    table = np.repeat(np.arange(len(tables)), np.diff(tables.starts))
    height = ensemble.n_clusters[pairs[:, 0]]
    first = np.concatenate([[0], np.cumsum(height)])
    inside = (rows >= 0) & (rows < height[table]) & (mass > 0)
    inside &= counted[table]
    table, mass, row = table[inside], mass[inside], (first[table] + rows)[inside]
    logs = mass * np.log2(mass)
    if alone is not None:
        single = np.flatnonzero(cols[inside] == ensemble.n_clusters[pairs[table, 1]])
        cluster = ensemble.offsets[pairs[table[single], 0]] + rows[inside][single]
        logs[single] = np.asarray(alone[cluster, pairs[table[single], 1]]).ravel()
    total = np.bincount(row, weights=mass, minlength=first[-1])
    logs = np.bincount(row, weights=logs, minlength=first[-1])
    seen = total > 0
    found = np.zeros(total.size)
    found[seen] = np.maximum(np.log2(total[seen]) - logs[seen] / total[seen], 0.0)
    which = np.repeat(np.arange(len(pairs)), height)
    cluster = ensemble.offsets[pairs[which, 0]] + np.arange(first[-1]) - first[which]
    weight = ensemble.weights[pairs[which, 1]] * seen
    np.add.at(entropy, cluster, weight * found)
    np.add.at(parts, cluster, weight)
