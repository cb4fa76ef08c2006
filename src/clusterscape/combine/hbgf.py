"""HBGF: cut the bipartite graph of points and clusters."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.preprocessing import normalize

from clusterscape._core.params import Choice, Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.hgpa import Hyperedges, Sample
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.graphcut import partition_graph
from clusterscape.linalg.kmeans import kmeans, nearest_center
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import bipartite_spectrum

_STARTS = 10  # of k-means on the eigenvectors


@consensus_method("hbgf", cost="n r K + cut of l <= 30,000 rows", memory="n r", extra="graph")
class HBGF(BaseConsensus):
    """Hybrid bipartite graph formulation: a cut of the graph of points and clusters.

    Points and clusters are the vertices of one graph, with an edge from a point to each cluster
    that contains it. A cut of this graph groups both: points end up with the clusters that most
    of them share.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    partitioner : {"metis", "spectral"}
        The two of [1]_: a multilevel cut into parts of nearly equal size (METIS), or the
        normalised cut by eigenvectors, with k-means on the rows of points and clusters together,
        which does not force equal sizes.
    imbalance : float
        How far a cluster may exceed the average size, as a share of it; METIS only. A large share
        does not find unequal clusters: the least cut then splits off a few points.
    max_points : int or None
        Above this many distinct rows, METIS cuts the graph of a random sample of that many and of
        all clusters, and every point goes to the part that most of its clusters are in; sizes
        are then only about equal. None always cuts the whole graph, which takes about 4 GB
        for a million points and fifty partitions. The spectral cut is of the whole graph always;
        its k-means runs on such a sample, and the other points go to the nearest centre.
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
        Rows of the sample, when one was drawn; None when all rows were used.

    See Also
    --------
    CSPA, HGPA, MCLA : Other graphs of the same ensemble.
    LWGP : The same spectral cut with k-means on the points alone; it can find the number of
        clusters.

    Notes
    -----
    METIS needs ``pip install "clusterscape[graph]"``. Only points are balanced, clusters weigh
    nothing. It forces equal sizes, so on clusters of unequal size it scores below plain k-means,
    and ``partitioner="spectral"`` is better there.
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
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "partitioner": [Choice("metis", "spectral")],
        "imbalance": [Number(0, 1)],
        "max_points": [Null(), Integer(1)],
        **WEIGHTING,
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        partitioner: Literal["metis", "spectral"] = "metis",
        imbalance: float = 0.05,
        max_points: int | None = 30_000,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.partitioner = partitioner
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
        if sample.rows is not None:
            details["sample_size_"] = sample.rows.size
        column = column_weights(ensemble, self.weighting, self.theta)
        cut = self._spectral_cut if self.partitioner == "spectral" else self._balanced_cut
        labels, value = cut(small, sample, column, cutting)
        return Combined(labels[inverse], value, details)

    def _balanced_cut(
        self, small: Ensemble, sample: Sample, column: np.ndarray, seed: SeedSequence
    ) -> tuple[np.ndarray, float]:
        """Return the parts of all rows by METIS, and the weight of the edges that are cut."""
        edges = Hyperedges.of(small, column)
        n, m = sample.ensemble.n_points, edges.weight.size
        cut = partition_graph(
            bipartite_graph(sample, edges),
            self.n_clusters,
            vertex_weights=np.concatenate([sample.weight, np.zeros(m)]),
            imbalance=self.imbalance,
            seed=sklearn_seed(seed),
        )
        labels = cut.labels[:n]
        if sample.rows is not None:
            part = cut.labels[n:][edges.of_column]
            # Most clusters decide; where they tie, the sampled points of these clusters do.
            table = sample.shares(labels, self.n_clusters) / (1 << 20)
            table[np.arange(part.size), part] += 1.0
            labels = sample.follow(small, labels, table * column[:, None])
        return labels, cut.value

    def _spectral_cut(
        self, small: Ensemble, sample: Sample, column: np.ndarray, seed: SeedSequence
    ) -> tuple[np.ndarray, float]:
        """Return the parts of all rows by eigenvectors, and the weight of the edges cut."""
        k, weight = self.n_clusters, small.sample_weight
        space = RowSpace.of(small)
        sizes = small.cluster_sizes()
        link = np.divide(column, sizes, out=np.zeros_like(column), where=sizes > 0)
        found = bipartite_spectrum(space, k, column_weight=link, sample_weight=weight)
        points = found.rows(space)
        # The same singular vectors on the clusters' side, as many as the points have.
        clusters = normalize((found.table * np.sqrt(found.values))[:, : points.shape[1]])
        some = np.arange(len(points)) if sample.rows is None else sample.rows
        first = kmeans(
            np.vstack([points[some], clusters]),
            min(k, len(some) + len(clusters)),
            n_init=_STARTS,
            sample_weight=np.concatenate([sample.weight, np.ones(len(clusters))]),
            seed=seed,
        )
        labels, part = first.labels[: len(some)], first.labels[len(some) :]
        if sample.rows is not None:
            labels = nearest_center(points, first.centers)
        inside = space.totals(labels, weight, len(first.centers))[np.arange(part.size), part]
        return labels, float(column @ (sizes - inside))


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
