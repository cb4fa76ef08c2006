"""Majority rule: two points belong together when most partitions say so."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from clusterscape import kernels
from clusterscape._core.params import Number, Rules
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import (
    WEIGHTING,
    Weighting,
    column_weights,
    with_weighted_columns,
)
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import Ensemble


@consensus_method("majority_vote", cost="m^2 r", memory="n r")
class MajorityVote(BaseConsensus):
    """Majority rule over pairs: link two points that most partitions put together.

    Every partition votes on every pair of points that it sampled; pairs with a share of votes above
    ``threshold`` are linked, and clusters are the connected components.

    Parameters
    ----------
    threshold : float
        Share of the votes that must be exceeded.
    weighting, theta
        As in :class:`SEC`. With "eci" a vote for "together" counts the reliability of the cluster
        that the two points share, so that shares are lower and so must be thresholds.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found; the rule chooses it.
    n_micro_clusters_ : int
        Distinct rows among the points; the votes are counted between these, which is exact.

    See Also
    --------
    EAC : Any linkage of the same votes, cut at any height.
    MedianPartition : The partition nearest to all others.

    Notes
    -----
    It needs no number of clusters, and O(n) memory for hard partitions, but looks at all pairs of
    distinct rows. Links are transitive, so a chain of close calls joins what hardly any partition
    joined; and where partitions have many more clusters than there are groups, no pair has a
    majority and every point stays alone. Copies of a point are in one cluster, unless a partition
    calls them noise, or is soft and so undecided that even two points with the same memberships are
    together with less than ``threshold``, or their clusters are too unreliable for that.

    References
    ----------
    .. [1] A. Fred, "Finding consistent clusters in data partitions", Multiple Classifier Systems,
       Lecture Notes in Computer Science 2096, 309-318, 2001.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import MajorityVote
    >>> MajorityVote().fit_predict(Ensemble.from_labels([[0, 0, 1], [0, 0, 1], [0, 1, 1]]))
    array([0, 0, 1])
    """

    _source: ClassVar[str] = "Fred 2001"
    _distinct = "noise"
    _parameter_rules: ClassVar[Rules] = {"threshold": [Number(0, 1)], **WEIGHTING}

    def __init__(
        self, *, threshold: float = 0.5, weighting: Weighting = None, theta: float = 0.4
    ) -> None:
        self.threshold = threshold
        self.weighting = weighting
        self.theta = theta

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress(keep_noise_apart=True)
        # A share of 0.3 + 0.2 must not exceed 0.5 by a rounding error.
        above = self.threshold + 1e-12
        if self.threshold >= 1:  # no share exceeds it, not even that of equal rows
            return Combined(
                np.arange(ensemble.n_points), details={"n_micro_clusters_": small.n_points}
            )
        column = clusters = None
        if self.weighting is not None:
            column = column_weights(ensemble, self.weighting, self.theta)
            clusters = (small.offsets, column)
        if small.is_soft:
            components = _linked(small, column, above)
        else:
            columns = np.ascontiguousarray(small.labels.T)
            components = kernels.linkage.linked_components(columns, small.weights, above, clusters)
        labels = components[inverse]
        if column is not None:
            own = with_weighted_columns(small, column).diagonal()
            labels = _weak_copies_apart(own, labels, inverse, above)
        return Combined(labels, details={"n_micro_clusters_": small.n_points})

    def _in_blocks(self) -> bool:
        # Copies of a point may otherwise be in different clusters.
        return self.weighting is None and self.threshold < 1

    def _as_set(self) -> str:
        if self._in_blocks():
            return super()._as_set()
        why = "weighting" if self.weighting is not None else "threshold"
        return f"MajorityVote with {why}={getattr(self, why)!r}"

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found."""
        return "components of the graph of majorities"


def _weak_copies_apart(
    own: np.ndarray, labels: np.ndarray, inverse: np.ndarray, above: float
) -> np.ndarray:
    """Return labels in which copies are apart that neither each other nor another row holds.

    ``own`` is the similarity of the copies of each row.
    """
    first = np.unique(inverse, return_index=True)[1]
    rows = np.bincount(labels[first])[labels[first]]  # rows in the component of each row
    weak = np.flatnonzero(((rows == 1) & (own <= above))[inverse])
    apart = labels.astype(np.int64)
    apart[weak] = labels.max(initial=0) + 1 + np.arange(weak.size)
    return apart


def _linked(ensemble: Ensemble, column: np.ndarray | None, above: float) -> np.ndarray:
    """Return the components, from dense blocks of rows that are forgotten again."""
    operator = with_weighted_columns(ensemble, column)
    n = ensemble.n_points
    step = max(1, 2**22 // n)
    component = np.arange(n)
    for start in range(0, n, step):
        x, y = np.nonzero(operator.rows(start, min(start + step, n)) > above)
        edges = (np.ones(x.size, dtype=bool), (component[x + start], component[y]))
        graph = coo_matrix(edges, shape=(n, n))
        component = connected_components(graph, directed=False)[1][component]
    return component
