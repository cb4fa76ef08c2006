"""From the members' labels of points to their consensus cluster: for points that are new."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clusterscape._core.parallel import parallel_map
from clusterscape.combine.scores import say
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.rowspace import RowSpace

_BLOCK = 2**22  # entries of a temporary block
_FLOOR = 0.02  # added to shares before the logarithm


@dataclass(frozen=True)
class LabelTransfer:
    """How the clusters of the members lie in the clusters of a consensus.

    A new point that the members have labelled takes the consensus cluster that its labels make
    likeliest: the score of a cluster is the sum over the members of the logarithm of the share of
    the member's cluster that lies in it. Members that know much of the consensus count more: a
    member's weight is the square of the share of the consensus' entropy that it explains. This
    needs no more than the labels of the consensus, so it works for every consensus method; it is
    not the rule by which the method labelled the points of the fit, from which it may differ where
    the members disagree.

    Attributes
    ----------
    offsets : (r + 1,) array
        First column of each member, as in :class:`~clusterscape.Ensemble`.
    votes : (D, K) array
        Weighted logarithm of the share of each member's cluster that lies in each consensus
        cluster, to which 0.02 is added so that no member can rule a cluster out.
    shares : (D, K) array
        How the member's cluster is divided among the consensus clusters, each of these counted in
        proportion to its size, times the weight of the member: its vote, as in
        :func:`~clusterscape.combine.consensus_scores`. A member's cluster of one point that is
        with others in the consensus votes for all clusters evenly.
    comparable : bool
        Whether the members differ, without which no confidence can be claimed.

    See Also
    --------
    clusterscape.generate.assign.Assigner : Gives new points the labels of the members.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine.transfer import LabelTransfer
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> transfer = LabelTransfer.of(votes, np.array([0, 0, 1, 1]))
    >>> transfer.predict(np.array([[1, 1, 0], [0, 0, 0]]))
    array([1, 0])
    """

    offsets: np.ndarray
    votes: np.ndarray
    shares: np.ndarray
    comparable: bool

    @classmethod
    def of(
        cls, ensemble: Ensemble, labels: np.ndarray, *, comparable: bool = True
    ) -> LabelTransfer:
        """Return the transfer of an ensemble and the labels of its consensus.

        Parameters
        ----------
        ensemble : Ensemble
            The members; soft ones count by their most likely clusters.
        labels : (n,) array
            The consensus, 0..K-1; -1 belongs to no cluster.
        comparable : bool
            Whether the members differ.

        Returns
        -------
        LabelTransfer
        """
        k = max(int(labels.max(initial=-1)) + 1, 1)
        groups = np.ascontiguousarray(labels, dtype=np.int64)
        space = RowSpace(ensemble.labels, ensemble.offsets)
        totals = space.totals(groups, ensemble.sample_weight, k)
        inside = groups >= 0
        sizes = np.bincount(groups[inside], weights=ensemble.sample_weight[inside], minlength=k)
        counts = totals.sum(axis=1)
        if not (ensemble.sample_weight == 1).all():
            counts = space.totals(groups, np.ones(groups.size), k).sum(axis=1)
        return cls.of_totals(ensemble, totals, sizes, counts=counts, comparable=comparable)

    @classmethod
    def of_totals(
        cls,
        ensemble: Ensemble,
        totals: np.ndarray,
        sizes: np.ndarray,
        *,
        counts: np.ndarray,
        comparable: bool = True,
    ) -> LabelTransfer:
        """Return the transfer by the sums over all points.

        Parameters
        ----------
        ensemble : Ensemble
            The members.
        totals : (D, K) array
            Weight of the points of each member's cluster in each cluster of the consensus.
        sizes : (K,) array
            Weight of the clusters of the consensus.
        counts : (D,) array
            Points of each member's cluster that are in the consensus.
        comparable : bool
            Whether the members differ.

        Returns
        -------
        LabelTransfer
        """
        k = sizes.size
        weight = np.repeat(ensemble.weights, ensemble.n_clusters)[:, None]
        explained = np.repeat(_explained(ensemble, totals, sizes), ensemble.n_clusters)[:, None]
        own = totals.sum(axis=1, keepdims=True)
        within = np.divide(totals, own, out=np.zeros_like(totals), where=own > 0)
        votes = np.where(own > 0, weight * explained**2 * np.log(within + _FLOOR), 0.0)
        scaled = totals / np.where(sizes > 0, sizes, 1.0)
        whole = scaled.sum(axis=1, keepdims=True)
        weight = weight * say(ensemble, scaled)[:, None]
        shares = np.divide(weight * scaled, whole, out=np.zeros_like(scaled), where=whole > 0)
        # Of one point that is with others in the consensus: where such a point belongs the member
        # does not say, as in consensus_scores.
        lonely = (counts == 1) & (own.ravel() <= 1) & (scaled.max(axis=1) < 1 - 1e-9)
        shares[lonely] = weight[lonely] / k
        return cls(np.asarray(ensemble.offsets), votes, shares, bool(comparable))

    def _check_arrays(self) -> None:
        """Refuse tables that do not fit each other, as a file may hold them."""
        ends = self.offsets
        rising = ends.ndim == 1 and ends.size > 0 and ends[0] == 0 and (np.diff(ends) >= 0).all()
        if not rising or self.votes.ndim != 2 or self.votes.shape != self.shares.shape:
            raise ValueError("the votes of the members' clusters are not two equal tables")
        if len(self.votes) != ends[-1]:
            raise ValueError("the votes are not of all clusters of the members")

    @property
    def n_clusters(self) -> int:
        """Clusters of the consensus."""
        return int(self.votes.shape[1])

    def predict(self, labels: np.ndarray) -> np.ndarray:
        """Return the consensus clusters of points by their labels in the members.

        Parameters
        ----------
        labels : (m, r) array
            Labels, -1 and -2 for members that put the point in no cluster.

        Returns
        -------
        (m,) array
            -1 for points that no member puts in a cluster.
        """
        out = np.full(labels.shape[0], -1, dtype=np.int64)

        def write(part: slice, votes: np.ndarray) -> None:
            out[part] = np.where((labels[part] >= 0).any(axis=1), votes.argmax(axis=1), -1)

        self._each_block(labels, self.votes, write)
        return out

    def membership(self, labels: np.ndarray) -> np.ndarray:
        """Return the share of the members' votes on each point that each consensus cluster has.

        Parameters
        ----------
        labels : (m, r) array
            Labels of the points in the members.

        Returns
        -------
        (m, K) array
            Rows sum to one, or are zero for points that no member puts in a cluster.
        """
        out = np.zeros((labels.shape[0], self.n_clusters))

        def write(part: slice, votes: np.ndarray) -> None:
            total = votes.sum(axis=1, keepdims=True)
            np.divide(votes, total, out=out[part], where=total > 0)

        self._each_block(labels, self.shares, write)
        return out

    def confidence(self, membership: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the share of the members' votes for each point's cluster.

        Parameters
        ----------
        membership : (m, K) array
            What :meth:`membership` gave.
        labels : (m,) array
            What :meth:`predict` gave.

        Returns
        -------
        (m,) array
            As ``confidence_`` of :class:`~clusterscape.ConsensusClustering` for the points of the
            fit; NaN where the members do not differ.
        """
        if not self.comparable and self.n_clusters > 1:
            return np.full(labels.size, np.nan)
        inside = np.flatnonzero((labels >= 0) & (self.n_clusters > 1))
        out = np.zeros(labels.size)
        out[inside] = membership[inside, labels[inside]]
        return out

    def _each_block(
        self, labels: np.ndarray, table: np.ndarray, write: Callable[[slice, np.ndarray], None]
    ) -> None:
        """Call ``write`` with the sums of a table over the labels of each block of points."""
        n = labels.shape[0]
        step = max(1, _BLOCK // max(self.n_clusters, labels.shape[1]))

        def work(start: int) -> None:
            part = slice(start, min(start + step, n))
            write(part, RowSpace(labels[part], self.offsets).product(table))

        parallel_map(work, range(0, n, step), shared=True)


def _explained(ensemble: Ensemble, totals: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the share of the entropy of the consensus that each member explains, in [0, 1]."""
    mass = max(float(sizes.sum()), np.finfo(np.float64).tiny)
    prior = sizes / mass
    entropy = -float(prior[prior > 0] @ np.log(prior[prior > 0]))
    if entropy <= 0:  # one cluster: there is nothing to explain
        return np.ones(ensemble.n_partitions)
    own = totals.sum(axis=1, keepdims=True)
    expected = own * prior
    logs = np.zeros_like(totals)
    np.divide(totals, expected, out=logs, where=totals > 0)
    np.log(logs, out=logs, where=totals > 0)
    information = np.concatenate([[0.0], np.cumsum((totals * logs).sum(axis=1) / mass)])
    ends = information[ensemble.offsets]
    return np.clip(np.diff(ends) / entropy, 0.0, 1.0)
