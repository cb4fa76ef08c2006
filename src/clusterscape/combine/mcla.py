"""MCLA: group the clusters of the ensemble, then let the groups compete for the points."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from clusterscape._core.params import Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.blocked import BlockedCombined, OnColumns
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.hgpa import Hyperedges
from clusterscape.combine.registry import consensus_method
from clusterscape.compare.tables import Columns, GramColumns, columns_of
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.graphcut import partition_graph
from clusterscape.linalg.rowspace import RowSpace


@consensus_method("mcla", cost="n r^2 + D^2", memory="n (r + K) + D^2", extra="graph")
class MCLA(BaseConsensus):
    """Meta-clustering: groups of clusters that overlap compete for the points.

    The clusters of all partitions are the vertices of a meta-graph, with their Jaccard coefficients
    as edges. A balanced cut of it makes ``n_clusters`` meta-clusters; a point's association with
    one is its mean membership in the clusters there, and the strongest association wins the point.

    Parameters
    ----------
    n_clusters : int
        Meta-clusters; some may win no point, so that the consensus can have fewer clusters.
    imbalance : float
        How far a meta-cluster may exceed the average total size of its clusters, as a share of it.
    weighting, theta
        As in :class:`SEC`: with "eci" a cluster counts as so many copies of it as its
        reliability says.
    random_state : int, generator or None
        Seed of the partitioner and of the ties between associations.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Weight of the edges that are cut in the meta-graph.
    membership_ : (n, n_clusters_) array
        Each point's association with each cluster, as a share of all its associations.

    See Also
    --------
    CSPA, HGPA, HBGF : Other graphs of the same ensemble.
    GCC : The best of CSPA, HGPA and MCLA.
    LiftHAC : Groups of clusters by where their points lie.

    Notes
    -----
    It needs ``pip install "clusterscape[graph]"``. All pairs of clusters are counted in
    O(n r^2) time; memory grows with n r and with the pairs of clusters that share a point, never
    with n^2. The meta-clusters are balanced in the total size of their clusters, but
    points choose freely among them, so unequal clusters survive where :class:`CSPA`, :class:`HGPA`
    and :class:`HBGF` cut through them; very small ones may still win no point. Soft
    partitions use the extended Jaccard coefficient. A partition of weight w counts as w copies of
    it; equal clusters are one vertex. When the ensemble has no more than ``n_clusters`` distinct
    rows these are the clusters.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, "Cluster ensembles - a knowledge reuse framework for combining
       multiple partitions", Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import MCLA
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]])
    >>> model = MCLA(2, random_state=0).fit(runs)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1])
    >>> model.membership_[2].round(2)
    array([0.67, 0.33])
    """

    _source: ClassVar[str] = "Strehl and Ghosh 2002"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "imbalance": [Number(0, 1)],
        **WEIGHTING,
        "random_state": [Seed()],
    }

    membership_: np.ndarray

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        imbalance: float = 0.05,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.imbalance = imbalance
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        # A cluster of all points holds no information, and would fill a meta-cluster alone.
        column = column_weights(ensemble, self.weighting, self.theta)
        informative = (ensemble.n_clusters > 1) | (ensemble.labels < 0).any(axis=0)
        if informative.any() and not informative.all():
            rest = ensemble.select(informative)
            if (rest.labels >= 0).any(axis=1).all():  # every point is still in some cluster
                column = column[np.repeat(informative, ensemble.n_clusters)]
                ensemble = rest
        small, inverse = ensemble.compress()
        if small.n_points <= self.n_clusters:
            return Combined(inverse, membership=np.eye(small.n_points)[inverse])
        # Jaccard coefficients do not depend on the unit of the weights; tables count in points.
        unit = float(small.sample_weight.min())
        columns = columns_of(small, unit=unit)
        rule, cost = self._compete(small, columns, Hyperedges.of(small, column), column, unit)
        membership = small.membership().matrix if small.is_soft else None
        won, share = rule.competed(RowSpace(small.labels, small.offsets, membership))
        if small.n_points < ensemble.n_points:
            won, share = won[inverse], share[inverse]
        return Combined(won, cost, membership=share)

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        """Group the clusters by the D x D table of what they share; rows follow one by one."""
        column = column_weights(ensemble, self.weighting, self.theta)
        informative = (ensemble.n_clusters > 1) | ensemble.misses_points()
        kept = np.arange(ensemble.n_partitions)
        work = ensemble
        if informative.any() and not informative.all():
            rest = ensemble.select(informative)
            if rest.in_clusters().all():
                column = column[np.repeat(informative, ensemble.n_clusters)]
                work, kept = rest, np.flatnonzero(informative)
        if work.has_few_rows(self.n_clusters):
            return super()._combine_blocks(ensemble, features)
        columns = GramColumns.of(work)
        edges = Hyperedges.of_blocks(work, columns.clusters(), column)
        rule, cost = self._compete(work, columns, edges, column, 1.0)
        return BlockedCombined(OnColumns(rule, kept), cost, is_soft=True)

    def _compete(
        self,
        ensemble: Ensemble,
        columns: Columns | GramColumns,
        edges: Hyperedges,
        column: np.ndarray,
        unit: float,
    ) -> tuple[MetaRule, float]:
        """Return the rule by which meta-clusters win points, and the weight of the edges cut."""
        cutting, tying = spawn(self.random_state, 2)
        cut = partition_graph(
            meta_graph(ensemble, edges, columns, unit),
            self.n_clusters,
            vertex_weights=ensemble.cluster_sizes()[edges.column] * edges.weight,
            imbalance=self.imbalance,
            seed=sklearn_seed(cutting),
        )
        meta = cut.labels[edges.of_column]
        table = association_table(column, meta, self.n_clusters)
        # Of partitions and meta-clusters, not of clusters, whose names must not matter.
        drawn = np.random.default_rng(tying).random((ensemble.n_partitions, *[self.n_clusters] * 2))
        lots = drawn[np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters), meta]
        return MetaRule(table, lots, ensemble.offsets), cut.value


def association_table(column: np.ndarray, meta: np.ndarray, n_parts: int) -> np.ndarray:
    """Return the table with which B makes mean memberships in the clusters of meta-clusters.

    Parameters
    ----------
    column : (D,) array
        Weights of the columns of B.
    meta : (D,) array
        The meta-cluster of each.
    n_parts : int
        Meta-clusters.

    Returns
    -------
    (D, n_parts) array
    """
    total = np.bincount(meta, weights=column, minlength=n_parts)
    table = np.zeros((meta.size, n_parts))
    # A weighting may leave a meta-cluster nothing.
    share = np.divide(column, total[meta], out=np.zeros_like(column), where=total[meta] > 0)
    table[np.arange(meta.size), meta] = share
    return table


@dataclass(frozen=True)
class MetaRule:
    """Rows of labels go to the meta-cluster with the clusters of which they are most associated.

    Equal associations draw lots, which are sums over the clusters of a row: equal rows draw the
    same, wherever they are.
    """

    table: np.ndarray
    lots: np.ndarray
    offsets: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return self.table.shape[1]

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        return self.competed(RowSpace(labels, self.offsets))[0]

    def shares(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the mean membership of rows in the clusters of each meta-cluster."""
        return RowSpace(labels, self.offsets).product(self.table)

    def competed(self, space: RowSpace) -> tuple[np.ndarray, np.ndarray]:
        """Return the winners of rows, and their associations."""
        share = space.product(self.table)
        best = share.max(axis=1)
        won = share.argmax(axis=1)
        close = share >= (best - 1e-9 * best)[:, None]
        tied = np.flatnonzero(close.sum(axis=1) > 1)
        drawn = space.subset(tied).product(self.lots)
        won[tied] = np.where(close[tied], drawn, -1.0).argmax(axis=1)
        return won, share


def meta_graph(
    ensemble: Ensemble, edges: Hyperedges, columns: Columns | GramColumns, unit: float
) -> sparse.csr_matrix:
    """Return the Jaccard coefficients of distinct clusters, times the weights of both.

    ``columns`` count the points that clusters share, in units of ``unit``.

    Soft clusters have the extended coefficient ``a.b / (a.a + b.b - a.b)``, which is Jaccard's on
    hard ones.
    """
    weight = ensemble.sample_weight
    norm = ensemble.cluster_sizes()
    if ensemble.is_soft:
        matrix = ensemble.membership().matrix
        norm = np.asarray(matrix.multiply(matrix).T @ weight)
    number = np.full(norm.size, -1, dtype=np.int32)
    number[edges.column] = np.arange(edges.column.size)
    own = [(i, i) for i in ensemble.soft]  # clusters of one soft partition overlap, too
    every = [*itertools.combinations(range(ensemble.n_partitions), 2), *own]
    pairs = np.array(every, dtype=np.int64).reshape(-1, 2)
    parts = []
    for batch in columns.batches(pairs):
        tables = columns.tables(pairs[batch], "drop")
        first = np.repeat(ensemble.offsets[pairs[batch]], np.diff(tables.starts), axis=0)
        filled = slice(0, int(tables.starts[-1]))
        a, b = first[:, 0] + tables.rows[filled], first[:, 1] + tables.cols[filled]
        # Of equal clusters one is enough; within a soft partition a pair is counted twice.
        keep = (number[a] >= 0) & (number[b] >= 0) & ((first[:, 0] < first[:, 1]) | (a < b))
        a, b, both = a[keep], b[keep], tables.mass[filled][keep] * unit
        jaccard = both / (norm[a] + norm[b] - both)
        a, b = number[a], number[b]
        value = jaccard * edges.weight[a] * edges.weight[b]
        parts.append((a, b, value.astype(np.float32)))
    m = edges.column.size
    if not parts:
        return sparse.csr_matrix((m, m), dtype=np.float32)
    a, b, values = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    half = sparse.csr_matrix((values, (a, b)), shape=(m, m))
    del parts, a, b, values  # the graph is the largest thing there is; one copy is enough
    return half + half.T
