"""HBGF: cut the bipartite graph of points and clusters."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from clusterscape._core.params import Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.hgpa import Hyperedges, Sample
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.graphcut import partition_graph


@consensus_method("hbgf", cost="n r K + cut of l <= 30,000 rows", memory="n r", extra="graph")
class HBGF(BaseConsensus):
    """Hybrid bipartite graph formulation: balanced cut of the graph of points and clusters.

    Points and clusters are the vertices of one graph, with an edge from a point to each cluster
    that contains it. A balanced cut of this graph groups both: points end up with the clusters
    that most of them share.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    imbalance : float
        How far a cluster may exceed the average size, as a share of it.
        A large one does not find unequal clusters: the least cut then splits off a few points.
    max_points : int or None
        Above this many distinct rows, the graph of a random sample of that many and of all
        clusters is cut, and every point goes to the part that most of its clusters are in; sizes
        are then only about equal. None always cuts the whole graph, which takes about 4 GB
        for a million points and fifty partitions.
    weighting, theta
        As in :class:`SEC`: with "eci" the edges to unreliable clusters are weak.
    random_state : int, generator or None
        Seed of the partitioner and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Weight of the edges that are cut; in the graph of the sample, if there is one, whose points
        stand for the others.
    n_micro_clusters_ : int
        Distinct rows among the points. Points with equal rows are one vertex and stay together.
    sample_size_ : int or None
        Rows whose graph was cut when a sample was drawn; None when all were.

    See Also
    --------
    CSPA, HGPA, MCLA : Other graphs of the same ensemble.
    SpectralConsensus : A cut of the same graph by eigenvectors, without balance.

    Notes
    -----
    It needs ``pip install "clusterscape[graph]"``. Only points are balanced, clusters weigh
    nothing. It forces equal sizes, so on clusters of unequal size it scores below plain k-means.
    The weights of partitions, of points and of soft memberships multiply the edges. When the
    ensemble has no more than ``n_clusters`` distinct rows these are the clusters, of whatever size.

    References
    ----------
    .. [1] X. Z. Fern and C. E. Brodley, "Solving cluster ensemble problems by bipartite graph
       partitioning", International Conference on Machine Learning, 2004.
       doi:10.1145/1015330.1015414

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import HBGF
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]])
    >>> HBGF(2, random_state=0).fit_predict(runs)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Fern and Brodley 2004"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "imbalance": [Number(0, 1)],
        "max_points": [Null(), Integer(1)],
        **WEIGHTING,
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        imbalance: float = 0.05,
        max_points: int | None = 30_000,
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
        details: dict[str, Any] = {"n_micro_clusters_": small.n_points, "sample_size_": None}
        if small.n_points <= self.n_clusters:
            return Combined(inverse, details=details)
        drawing, cutting = spawn(self.random_state, 2)
        sample = Sample.of(small, self.max_points, np.random.default_rng(drawing))
        column = column_weights(ensemble, self.weighting, self.theta)
        edges = Hyperedges.of(small, column)
        n, m = sample.ensemble.n_points, edges.weight.size
        cut = partition_graph(
            bipartite_graph(sample, edges),
            self.n_clusters,
            vertex_weights=np.concatenate([sample.weight, np.zeros(m)]),
            imbalance=self.imbalance,
            seed=sklearn_seed(cutting),
        )
        labels = cut.labels[:n]
        if sample.rows is not None:
            details["sample_size_"] = sample.rows.size
            part = cut.labels[n:][edges.of_column]
            # Most clusters decide; where they tie, the sampled points of these clusters do.
            table = sample.shares(labels, self.n_clusters) / (1 << 20)
            table[np.arange(part.size), part] += 1.0
            labels = sample.follow(small, labels, table * column[:, None])
        return Combined(labels[inverse], cut.value, details)


def bipartite_graph(sample: Sample, edges: Hyperedges) -> sparse.csr_matrix:
    """Return the graph of points (first) and hyperedges, both directions stored."""
    ensemble = sample.ensemble
    n, m = ensemble.n_points, edges.weight.size
    matrix = ensemble.membership().matrix
    columns = np.full(matrix.shape[1], -1)
    columns[edges.column] = np.arange(m)
    one_each = columns[matrix.indices] >= 0  # equal clusters are one vertex
    rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(matrix.indptr))[one_each]
    ends = columns[matrix.indices][one_each]
    values = matrix.data[one_each] * edges.weight[ends] * sample.weight[rows]
    half = sparse.csr_matrix((values, (rows, ends)), shape=(n, m))
    back = half.T.tocsr()
    # Put together by hand: scipy's block matrices take twice the memory.
    data = np.concatenate([half.data, back.data])
    indices = np.concatenate([half.indices + n, back.indices])
    pointers = np.concatenate([half.indptr, half.indptr[-1] + back.indptr[1:]])
    return sparse.csr_matrix((data, indices, pointers), shape=(n + m, n + m))
