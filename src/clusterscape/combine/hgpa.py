"""HGPA: cut as few clusters of the ensemble as possible; and the hyperedges that clusters are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from clusterscape import kernels
from clusterscape._core.params import Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.graphcut import partition_hypergraph
from clusterscape.linalg.rowspace import RowSpace


@consensus_method("hgpa", cost="n r + cut of l <= 2,000 rows", memory="n r", extra="graph")
class HGPA(BaseConsensus):
    """Hypergraph partitioning: balanced cut of the hypergraph of all clusters.

    Every cluster of every partition is a hyperedge over its points. The points are cut into parts
    of nearly equal size such that few hyperedges have points in more than one part.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    imbalance : float
        How far a cluster may exceed the average size, as a share of it. A large share does not
        find unequal clusters: the least cut then splits off a few points.
    max_points : int or None
        Above this many distinct rows, a random sample of that many is cut, and every point goes
        where the sampled members of its clusters are; sizes are then only about equal. None always
        cuts all.
    weighting, theta
        As in :class:`SEC`: with "eci" cutting an unreliable cluster costs less.
    random_state : int, generator or None
        Seed of the partitioner and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Weight of the hyperedges that are cut, over all points; a cluster weighs what its
        partition does.
    n_micro_clusters_ : int
        Distinct rows among the points. Points with equal rows are one vertex and stay together.
    sample_size_ : int or None
        Rows that were cut when a sample was drawn; None when all were.

    See Also
    --------
    CSPA, MCLA, HBGF : Other graphs of the same ensemble.
    GCC : The best of CSPA, HGPA and MCLA.

    Notes
    -----
    It needs ``pip install "clusterscape[graph]"`` and hard partitions. It forces equal sizes, so
    on clusters of unequal size it scores below plain k-means. A cluster with one stray point is
    cut as much as one torn apart: where every partition errs a little, nearly all hyperedges are
    cut whatever is done, and the result says little. The fewer points there are, the more
    hyperedges have no stray point, so a sample is not only faster but often better than all points.
    Weights of partitions multiply those of their hyperedges. When the ensemble has no more than
    ``n_clusters`` distinct rows these are the clusters, of whatever size: that cuts least.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, "Cluster ensembles - a knowledge reuse framework for combining
       multiple partitions", Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import HGPA
    >>> runs = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]])
    >>> HGPA(3, random_state=0).fit_predict(runs)
    array([0, 0, 1, 1, 2, 2])
    """

    _source: ClassVar[str] = "Strehl and Ghosh 2002"
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "imbalance": [Number(0, 1)],
        "max_points": [Null(), Integer(1)],
        **WEIGHTING,
        "random_state": [Seed()],
    }
    _accepts_soft: ClassVar[bool] = False

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        imbalance: float = 0.05,
        max_points: int | None = 2_000,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.imbalance = imbalance
        self.max_points = max_points
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress()
        details = {"n_micro_clusters_": small.n_points, "sample_size_": None}
        column = column_weights(ensemble, self.weighting, self.theta)
        edges = Hyperedges.of(small, column)
        if small.n_points <= self.n_clusters:
            labels = np.arange(small.n_points)
            return Combined(inverse, edges.cut(small, labels), details)
        drawing, cutting = spawn(self.random_state, 2)
        sample = Sample.of(small, self.max_points, np.random.default_rng(drawing))
        pins = edges.pins(sample.ensemble)
        cut = partition_hypergraph(
            pins,
            sample.ensemble.n_points,
            self.n_clusters,
            weights=edges.weight,
            vertex_weights=sample.weight,
            imbalance=self.imbalance,
            seed=sklearn_seed(cutting),
        )
        labels, cost = cut
        if sample.rows is not None:
            details["sample_size_"] = sample.rows.size
            share = sample.shares(labels, self.n_clusters)
            labels = sample.follow(small, labels, share * column[:, None])
            cost = edges.cut(small, labels)
        return Combined(labels[inverse], cost, details)


@dataclass(frozen=True)
class Hyperedges:
    """The distinct clusters of an ensemble; equal clusters are one, of the sum of their weights.

    They stand in the order of their partitions and, within one, of their first points, so that
    nothing depends on how clusters are named.
    """

    column: np.ndarray  # (H,) a column of B that holds each hyperedge
    weight: np.ndarray  # (H,)
    of_column: np.ndarray  # (D,) hyperedge of each column of B

    @classmethod
    def of(cls, ensemble: Ensemble, column_weight: np.ndarray) -> Hyperedges:
        """Return the hyperedges of an ensemble without empty clusters.

        ``column_weight`` are those of the columns of B.
        """
        labels, offsets = np.ascontiguousarray(ensemble.labels), ensemble.offsets
        ranks = np.full(int(offsets[-1]), -1, dtype=np.int64)
        kernels.graph.first_seen(labels, offsets, ranks)
        partition = np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters)
        keys = np.zeros((ranks.size, 2), dtype=np.uint64)
        kernels.graph.signatures(labels, offsets, keys)
        names: list[Any] = [(int(a), int(b)) for a, b in keys]
        for i, membership in ensemble.soft.items():
            matrix = membership.tocsc()
            matrix.sort_indices()
            for c, column in enumerate(range(int(offsets[i]), int(offsets[i + 1]))):
                part = slice(matrix.indptr[c], matrix.indptr[c + 1])
                if (matrix.data[part] == 1.0).all():  # as a hard cluster, of which it may be a copy
                    names[column] = _signature(matrix.indices[part], labels)
                else:
                    names[column] = (matrix.indices[part].tobytes(), matrix.data[part].tobytes())
                # The most likely cluster of some point, or else whatever comes first.
                first = matrix.indices[part]
                ranks[column] = int(first.min()) if first.size else ensemble.n_points
        order = np.lexsort((ranks, partition))
        found: dict[Any, int] = {}
        of_column = np.empty(ranks.size, dtype=np.int64)
        for column in order:
            of_column[column] = found.setdefault(names[column], len(found))
        weight = np.bincount(of_column, weights=column_weight, minlength=len(found))
        first_column = np.empty(len(found), dtype=np.int64)
        first_column[of_column[order[::-1]]] = order[::-1]
        return cls(first_column, weight, of_column)

    @classmethod
    def of_blocks(
        cls, ensemble: BlockedEnsemble, gram: np.ndarray, column_weight: np.ndarray
    ) -> Hyperedges:
        """Return the hyperedges of an ensemble in blocks, whose clusters share ``gram`` points."""
        sizes = ensemble.cluster_sizes()
        given = (ensemble.blocks.bounds, ensemble.offsets)
        ranks = np.min(ensemble.blocks.workers.map(_first_points, ensemble.blocks, given), axis=0)
        partition = np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters)
        of_column = np.full(ranks.size, -1, dtype=np.int64)
        first_column: list[int] = []
        for c in np.lexsort((ranks, partition)):
            if of_column[c] < 0:  # neither it nor an equal one was seen
                equal = (gram[c] == sizes[c]) & (sizes == sizes[c])
                of_column[equal] = len(first_column)
                first_column.append(c)
        weight = np.bincount(of_column, weights=column_weight, minlength=len(first_column))
        return cls(np.array(first_column, dtype=np.int64), weight, of_column)

    def pins(self, ensemble: Ensemble) -> list[np.ndarray]:
        """Return the points of each hyperedge, of an ensemble with the same columns of B."""
        matrix = ensemble.membership(dtype=np.int8).matrix.tocsc()
        begin, end = matrix.indptr[:-1][self.column], matrix.indptr[1:][self.column]
        return [matrix.indices[a:b] for a, b in zip(begin, end, strict=True)]

    def cut(self, ensemble: Ensemble, labels: np.ndarray) -> float:
        """Return the weight of the hyperedges that have points in more than one part."""
        n_parts = int(labels.max()) + 1
        rows = RowSpace(ensemble.labels, ensemble.offsets)
        parts = (rows.totals(labels, np.ones(labels.size), n_parts) > 0).sum(axis=1)
        return float(self.weight[parts[self.column] > 1].sum())


def _first_points(
    i: int, labels: np.ndarray, bounds: np.ndarray, offsets: np.ndarray
) -> np.ndarray:
    """Return the first point of each cluster in a block, the number of all points for none."""
    ranks = np.full(int(offsets[-1]), int(bounds[-1]), dtype=np.int64)
    for p, start in enumerate(offsets[:-1]):
        inside = np.flatnonzero(labels[:, p] >= 0)[::-1]
        ranks[start + labels[inside, p].astype(np.int64)] = int(bounds[i]) + inside
    return ranks


def _signature(points: np.ndarray, labels: np.ndarray) -> tuple[int, int]:
    """Return the key that a hard cluster of these points has in ``Hyperedges.of``."""
    codes = np.full((labels.shape[0], 1), -1, dtype=labels.dtype)
    codes[points] = 0
    keys = np.zeros((1, 2), dtype=np.uint64)
    kernels.graph.signatures(codes, np.array([0, 1], dtype=np.int64), keys)
    return int(keys[0, 0]), int(keys[0, 1])


@dataclass(frozen=True)
class Sample:
    """Rows that stand for all: what a partitioner sees of a large ensemble."""

    ensemble: Ensemble
    weight: np.ndarray
    rows: np.ndarray | None  # None when these are all rows

    @classmethod
    def of(cls, ensemble: Ensemble, limit: int | None, rng: np.random.Generator) -> Sample:
        """Draw ``limit`` rows in proportion to their weights; a light row stands for others too."""
        weight = ensemble.sample_weight
        if limit is None or ensemble.n_points <= limit:
            return cls(ensemble, weight, None)
        equal = bool((weight == weight[0]).all())
        chance = None if equal else weight / weight.sum()
        rows = np.sort(rng.choice(ensemble.n_points, limit, replace=False, p=chance))
        stands_for = np.maximum(weight[rows], weight.sum() / limit)
        return cls(ensemble._take(rows, sample_weight=stands_for), stands_for, rows)

    def shares(self, labels: np.ndarray, n_parts: int) -> np.ndarray:
        """Return the share of each cluster's sampled points that went to each part."""
        totals = RowSpace.of(self.ensemble).totals(labels, self.weight, n_parts)
        mass = totals.sum(axis=1, keepdims=True)
        return np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0)

    def follow(self, whole: Ensemble, labels: np.ndarray, table: np.ndarray) -> np.ndarray:
        """Return labels of all rows: each goes where the entries of its clusters add up to most.

        ``table`` has one row per column of B, times the column's weight.
        Rows of the sample go with the others, unless that leaves one of their parts empty.
        """
        groups = np.full(whole.n_points, -1, dtype=np.int64)
        scale = np.ones(whole.n_points)
        RowSpace.of(whole).assign(table, np.zeros(table.shape[1]), scale=scale, groups=groups)
        if (np.bincount(groups, minlength=table.shape[1]) == 0).any():
            groups[self.rows] = labels
        return groups
