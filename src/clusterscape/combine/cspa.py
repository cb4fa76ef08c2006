"""CSPA: cut the graph of co-associations into equal parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.graphcut import partition_graph, whole_numbers

_ALL_PAIRS = 5_000
_NEIGHBORS = 100
_BLOCK_BYTES = 1 << 24  # of agreements at a time


@consensus_method(
    "cspa", cost="m^2 r", memory="n r + 100 m (all m^2 pairs up to 5,000 rows)", extra="graph"
)
class CSPA(BaseConsensus):
    """Cluster-based similarity partitioning: balanced cut of the graph of co-associations.

    Points are the vertices of a graph, and the weight of the partitions that put two of them
    together is their edge. The graph is cut into parts of nearly equal size at the least weight.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    neighbors : {"auto", "all"} or int
        The edges of the graph: all pairs, or for each point its strongest so many (an edge stays
        when it is among the strongest of either end). "auto" takes all pairs up to 5,000 distinct
        rows and the 100 strongest neighbours of each row above, which cuts much the same groups.
    imbalance : float
        How far a cluster may exceed the average size, as a share of it. A large share does not
        find unequal clusters: the least cut then splits off a few points.
    max_gb : float
        Refuse when a graph of all pairs could take more memory than this.
    weighting, theta
        As in :class:`SEC`: with "eci" an edge counts the reliability of each shared cluster.
    random_state : int, generator or None
        Seed of the partitioner.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Weight of the edges that are cut: the co-occurrences of points in different clusters, among
        the edges of the graph.
    n_neighbors_ : int or None
        Strongest neighbours that were kept; None when all pairs were.
    n_micro_clusters_ : int
        Distinct rows among the points. Points with equal rows are one vertex, of the sum of their
        weights, and stay together.

    See Also
    --------
    HGPA, MCLA, HBGF : Other graphs of the same ensemble.
    GCC : The best of CSPA, HGPA and MCLA.
    SEC : Does not force equal sizes.

    Notes
    -----
    It needs ``pip install "clusterscape[graph]"``. It forces equal sizes, so on clusters of unequal
    size it scores below plain k-means. All pairs of distinct rows are compared, in O(m^2 r) time;
    memory is that of the graph. An unsampled point has no edge from that partition: similarity is
    the co-occurrences over all partitions, not over those that sampled both points. Weights of
    points count as copies. Weights of partitions are rounded to whole numbers that add up to at
    most 65,535; those that are small multiples of a common unit stay exact. When the ensemble has
    no more than ``n_clusters`` distinct rows these are the clusters, of whatever size: that cuts
    least.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, "Cluster ensembles - a knowledge reuse framework for combining
       multiple partitions", Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import CSPA
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]])
    >>> CSPA(2, random_state=0).fit_predict(runs)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Strehl and Ghosh 2002"
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "neighbors": [Choice("auto", "all"), Integer(1)],
        "imbalance": [Number(0, 1)],
        "max_gb": [Number(0, open_low=True)],
        **WEIGHTING,
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        neighbors: int | Literal["auto", "all"] = "auto",
        imbalance: float = 0.05,
        max_gb: float = 4.0,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.neighbors = neighbors
        self.imbalance = imbalance
        self.max_gb = max_gb
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress()
        m = small.n_points
        kept = self._neighbors(m)
        details = {"n_neighbors_": kept, "n_micro_clusters_": m}
        if m <= self.n_clusters:
            return Combined(inverse, details=details)
        (seed,) = spawn(self.random_state, 1)
        cut = partition_graph(
            similarity_graph(small, kept, self._votes(ensemble)),
            self.n_clusters,
            vertex_weights=small.sample_weight,
            imbalance=self.imbalance,
            seed=sklearn_seed(seed),
        )
        return Combined(cut.labels[inverse], cut.value, details)

    def _votes(self, ensemble: Ensemble) -> np.ndarray | None:
        """Return the weights of the columns of B, None where they are those of the partitions."""
        if self.weighting is None:
            return None
        return column_weights(ensemble, self.weighting, self.theta)

    def _neighbors(self, m: int) -> int | None:
        """Return how many neighbours of each row are kept, None for all."""
        if self.neighbors == "all" or (self.neighbors == "auto" and m <= _ALL_PAIRS):
            need = 48.0 * m * m / 1e9  # the graph, METIS's copy of it, and its coarser ones
            if need > self.max_gb:
                raise MemoryLimitError(
                    f"the graph of all pairs of {m:,} distinct rows",
                    need,
                    self.max_gb,
                    remedies=["use {neighbors}, which keeps the strongest edges only"],
                    neighbors=_NEIGHBORS,
                )
            return None
        wanted = _NEIGHBORS if self.neighbors == "auto" else int(self.neighbors)
        return wanted if wanted < m - 1 else None


def similarity_graph(
    ensemble: Ensemble, n_neighbors: int | None, column: np.ndarray | None = None
) -> sparse.csr_matrix:
    """Return the weights of the partitions that put two rows together, times the rows' weights.

    Parameters
    ----------
    ensemble : Ensemble
        Distinct rows.
    n_neighbors : int or None
        Keep the strongest of each row, or all.
    column : (D,) array, optional
        Weights of the columns of B, in place of those of the partitions.

    Returns
    -------
    CSR matrix
        Symmetric, with an empty diagonal.
    """
    m = ensemble.n_points
    votes, total, unit = _whole_votes(ensemble, column)
    starts, targets, values = [np.zeros(1, dtype=np.int64)], [], []
    for start, block in _agreements(ensemble, column, votes, total, unit):
        if n_neighbors is None:
            kept = block > 0
            counts, ends = kept.sum(axis=1), np.nonzero(kept)[1].astype(np.int32)
            found = block[kept]
        else:
            chosen = np.empty((block.shape[0], n_neighbors), dtype=np.int32)
            strength = np.empty(chosen.shape, dtype=block.dtype)
            kernels.graph.strongest(block, start, total, chosen, strength)
            counts, ends = (chosen >= 0).sum(axis=1), chosen[chosen >= 0]
            found = strength[chosen >= 0]
        starts.append(starts[-1][-1] + np.cumsum(counts))
        targets.append(ends)
        values.append(found)
    pointers, ends = np.concatenate(starts), np.concatenate(targets)
    data = np.concatenate(values).astype(np.float64) / unit
    if (ensemble.sample_weight != 1).any():
        rows = np.repeat(np.arange(m), np.diff(pointers))
        data *= ensemble.sample_weight[rows] * ensemble.sample_weight[ends]
    graph = sparse.csr_matrix((data, ends, pointers), shape=(m, m))
    if n_neighbors is None:
        return graph
    graph.sort_indices()
    return graph.maximum(graph.T)


def _whole_votes(ensemble: Ensemble, column: np.ndarray | None) -> tuple[np.ndarray, int, float]:
    """Return whole weights of the columns of B in the smallest type, and what they are made by.

    Then come the largest agreement that they allow, and the factor that made them whole.
    """
    if column is not None:
        filled = ensemble.n_clusters > 0
        largest = np.maximum.reduceat(column, ensemble.offsets[:-1][filled])
        unit = (65_535.0 - largest.size) / float(largest.sum())
        votes = np.rint(column * unit).astype(np.uint16)
        return votes, int(np.ceil(largest.sum() * unit)) + largest.size, unit
    if ensemble.is_soft:  # agreements are fractions
        unit = 65_535.0 / float(ensemble.weights.sum())
        weights = np.floor(ensemble.weights * unit).astype(np.uint16)
    else:
        whole, unit = whole_numbers(ensemble.weights, 65_535.0 - ensemble.n_partitions)
        weights = whole.astype(np.uint8 if whole.sum() < 256 else np.uint16)
    return np.repeat(weights, ensemble.n_clusters), int(weights.sum(dtype=np.int64)), unit


def _agreements(
    ensemble: Ensemble, column: np.ndarray | None, votes: np.ndarray, total: int, unit: float
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the whole-numbered agreements of all rows with all, a block of rows at a time."""
    m = ensemble.n_points
    step = max(1, min(m, _BLOCK_BYTES // (m * (8 if ensemble.is_soft else 1))))
    columns = np.ascontiguousarray(ensemble.labels.T)
    operator = ensemble.coassociation(normalize="counts")
    if column is not None:
        operator.column_weights = column
    block = np.empty((step, m), dtype=votes.dtype)
    for start in range(0, m, step):
        part = block[: min(step, m - start)]
        if ensemble.is_soft:
            # Rounding must not lift an agreement above that of equal rows, the largest there is.
            found = np.rint(operator.rows(start, start + len(part)) * unit)
            part[:] = np.minimum(found, float(total))
            part[np.arange(len(part)), np.arange(start, start + len(part))] = 0
        else:
            kernels.graph.agreements(columns, ensemble.offsets, votes, start, part)
        yield start, part
