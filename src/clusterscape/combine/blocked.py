"""A consensus of an ensemble in blocks: a rule for the rows, and sums over the blocks.

A method that works in blocks ends with a rule that gives every row of labels its group. One pass
counts what all blocks together need, tables of D x K whole numbers at most, added in the order of
the blocks. Labels, memberships and confidences are then computed block by block when they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.rows import MappedRows
from clusterscape.combine.scores import ConsensusScores, _one_opinion, _vote_shares
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.ensemble import BlockedEnsemble
from clusterscape.ensemble.blocked import DistinctRows
from clusterscape.linalg.rowspace import RowSpace


class RowRule(Protocol):
    """Gives rows of labels their groups."""

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows, of which the first is number ``first`` of all points."""


@runtime_checkable
class SoftRule(RowRule, Protocol):
    """Also says how far rows belong to the groups."""

    def shares(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return how far each row belongs to each group."""


@dataclass(frozen=True)
class OnColumns:
    """A rule of some partitions, for rows of all."""

    rule: RowRule
    columns: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return self.rule.n_groups

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        return self.rule.groups(np.ascontiguousarray(labels[:, self.columns]), first)

    def shares(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return how far each row belongs to each group."""
        assert isinstance(self.rule, SoftRule)
        return self.rule.shares(np.ascontiguousarray(labels[:, self.columns]), first)


@dataclass(frozen=True)
class MemberRule:
    """The groups are the clusters of one partition."""

    member: int
    n_groups: int

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        return labels[:, self.member].astype(np.int64)


@dataclass(frozen=True)
class TransferRule:
    """The groups are known for some points, and those of the others follow by their labels."""

    transfer: LabelTransfer
    rows: np.ndarray
    known: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return self.transfer.n_clusters

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        found = self.transfer.predict(labels)
        low, high = np.searchsorted(self.rows, [first, first + len(labels)])
        found[self.rows[low:high] - first] = self.known[low:high]
        return found


@dataclass(frozen=True)
class DistinctRule:
    """Equal rows are in one group, that of their distinct row, and have its memberships."""

    distinct: DistinctRows
    known: np.ndarray
    share: np.ndarray | None

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return int(self.known.max()) + 1

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        return self.known[self.distinct.places(labels, first)]

    def shares(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return how far each row belongs to each group."""
        assert self.share is not None
        return self.share[self.distinct.places(labels, first)]


@dataclass(frozen=True)
class OneGroup:
    """Every row that is in a cluster of some partition is in one group."""

    n_groups: int = 1

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        return np.zeros(len(labels), dtype=np.int64)


@dataclass(frozen=True)
class BlockedCombined:
    """What a consensus function found on an ensemble in blocks.

    Attributes
    ----------
    rule : RowRule
        Gives the rows their groups.
    cost : float or None
        The method's objective, where it has one.
    details : mapping
        Fitted attributes of the method, by name.
    is_soft : bool
        Whether ``rule.shares`` says how far rows belong to groups.
    """

    rule: RowRule
    cost: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    is_soft: bool = False


@dataclass(frozen=True)
class Tally:
    """Sums over all points of a clustering of an ensemble, one column for each cluster.

    Attributes
    ----------
    counts : (K,) array
        Points.
    first : (K,) array
        The first point.
    totals : (D, K) array
        Points of each cluster of each partition.
    voted, seen : (K,) arrays
        Weight of the partitions that put the points in a cluster, or saw them, added up.
    sampled : (r, K) array
        Points that each partition saw.
    """

    counts: np.ndarray
    first: np.ndarray
    totals: np.ndarray
    voted: np.ndarray
    seen: np.ndarray
    sampled: np.ndarray

    @property
    def rank(self) -> np.ndarray:
        """The number of each group by decreasing size, -1 for one without points."""
        filled = np.flatnonzero(self.counts)
        order = filled[np.lexsort((self.first[filled], -self.counts[filled]))]
        rank = np.full(self.counts.size, -1, dtype=np.int64)
        rank[order] = np.arange(order.size)
        return rank

    def ranked(self) -> Tally:
        """Return the sums in the order of the ranks."""
        rank = self.rank
        order = np.argsort(rank, kind="stable")[np.count_nonzero(rank < 0) :]
        return Tally(*(np.ascontiguousarray(getattr(self, n)[..., order]) for n in _FIELDS))


_FIELDS = ("counts", "first", "totals", "voted", "seen", "sampled")


def tally(ensemble: BlockedEnsemble, rule: RowRule) -> Tally:
    """Return the sums over all points of the groups of a rule, added in the order of the blocks."""
    parts = ensemble.blocks.workers.map(_count, ensemble.blocks, (ensemble, rule), label="counting")
    sums = {name: sum(getattr(part, name) for part in parts) for name in _FIELDS}
    sums["first"] = np.min([part.first for part in parts], axis=0)
    return Tally(**sums)


def _count(i: int, labels: np.ndarray, ensemble: BlockedEnsemble, rule: RowRule) -> Tally:
    part = ensemble.blocks.part(i)
    k = rule.n_groups
    groups = _placed(labels, rule, part.start)
    inside = np.flatnonzero(groups >= 0)
    own = groups[inside]
    first = np.full(k, ensemble.n_points, dtype=np.int64)
    first[own[::-1]] = part.start + inside[::-1]  # the last one written is the first of its group
    space = RowSpace(labels, ensemble.offsets)
    totals = space.totals(groups, np.ones(len(groups)), k)
    weights = ensemble.weights
    voted = np.bincount(own, weights=((labels >= 0) @ weights)[inside], minlength=k)
    counts = np.bincount(own, minlength=k)
    seen = counts * weights.sum()
    sampled = np.tile(counts.astype(np.float64), (weights.size, 1))
    if labels.min(initial=0) <= UNSAMPLED:
        saw = (labels != UNSAMPLED)[inside].astype(np.float64)
        seen = np.bincount(own, weights=saw @ weights, minlength=k)
        sampled = np.stack([np.bincount(own, weights=column, minlength=k) for column in saw.T])
    return Tally(counts, first, totals, voted, seen, sampled)


def _placed(labels: np.ndarray, rule: RowRule, first: int) -> np.ndarray:
    """Return the groups of rows; -1 for rows in no cluster of any partition."""
    groups = np.asarray(rule.groups(labels, first), dtype=np.int64)
    if labels.size and labels.min() < 0:
        groups[~(labels >= 0).any(axis=1)] = NOISE
    return groups


class BlockedLabels(MappedRows):
    """The labels of a consensus, computed block by block when they are read.

    ``labels[rows]``, ``labels.block(i)`` and ``labels.gather()`` are arrays, ``labels.to_dask()`` a
    Dask array, and ``numpy.asarray`` gathers them.

    Attributes
    ----------
    tally : Tally
        Sums over the clusters.
    """

    def __init__(self, ensemble: BlockedEnsemble, rule: RowRule, found: Tally) -> None:
        shared = (ensemble.blocks.bounds, rule, np.append(found.rank, NOISE))
        shape = (ensemble.n_points,)
        super().__init__(_numbered, ensemble.blocks, shared, shape=shape, dtype=np.int64)
        self.tally = found.ranked()


def _numbered(
    i: int, labels: np.ndarray, bounds: np.ndarray, rule: RowRule, rank: np.ndarray
) -> np.ndarray:
    return rank[_placed(labels, rule, int(bounds[i]))]


def memberships_in_blocks(labels: BlockedLabels, rule: SoftRule) -> MappedRows:
    """Return the memberships of all points by the shares of a rule, in blocks.

    The columns are the clusters as they are numbered in the end; rows sum to one.
    """
    bounds, _, rank = labels.shared
    k = labels.tally.counts.size
    order = np.argsort(rank[:-1], kind="stable")[rank.size - 1 - k :]
    shared = (bounds, rule, rank, order)
    shape = (len(labels), k)
    return MappedRows(_memberships, labels.source, shared, shape=shape, dtype=np.float64)


def _memberships(
    i: int,
    rows: np.ndarray,
    bounds: np.ndarray,
    rule: SoftRule,
    rank: np.ndarray,
    order: np.ndarray,
) -> np.ndarray:
    groups = _numbered(i, rows, bounds, rule, rank)
    inside = np.flatnonzero(groups >= 0)
    full = np.zeros((len(rows), order.size))
    full[inside, groups[inside]] = 1.0
    share = rule.shares(rows, int(bounds[i]))[inside][:, order]
    total = share.sum(axis=1, keepdims=True)
    full[inside] = np.divide(share, total, out=full[inside], where=total > 0)
    return full


def transfer_in_blocks(
    ensemble: BlockedEnsemble, labels: BlockedLabels, *, comparable: bool
) -> LabelTransfer:
    """Return how the members' clusters lie in those of a consensus."""
    found = labels.tally
    k = max(found.counts.size, 1)
    totals = found.totals if found.counts.size else np.zeros((len(found.totals), 1))
    sizes = found.counts.astype(np.float64) if found.counts.size else np.zeros(k)
    counts = totals.sum(axis=1)
    return LabelTransfer.of_totals(ensemble, totals, sizes, counts=counts, comparable=comparable)


def scores_in_blocks(ensemble: BlockedEnsemble, labels: BlockedLabels) -> ConsensusScores:
    """Return the scores of a consensus; memberships and confidences are computed when read."""
    found = labels.tally
    k = found.counts.size
    message = _one_opinion(ensemble) if k > 1 else ""
    fixed = np.nan if message else 0.0 if k <= 1 else None
    given = (ensemble, labels, fixed)
    n = ensemble.n_points
    membership: Any = MappedRows(_shares, ensemble.blocks, given, shape=(n, k), dtype=np.float64)
    confidence: Any = MappedRows(_confidence, ensemble.blocks, given, shape=(n,), dtype=np.float64)
    return ConsensusScores(membership, confidence, _consensus(ensemble, found), message)


def _consensus(ensemble: BlockedEnsemble, found: Tally) -> np.ndarray:
    """Return the share of the co-samplings of each cluster's pairs that keep the pair together."""
    k = found.counts.size
    if k == 0:
        return np.zeros(0)
    column = np.repeat(ensemble.weights, ensemble.n_clusters)[:, None]
    together = (column * found.totals**2).sum(axis=0) - found.voted
    if ensemble.is_complete:
        both = ensemble.weights.sum() * found.counts.astype(np.float64) ** 2
    else:
        both = ensemble.weights @ found.sampled**2
    both = both - found.seen
    pairs = both > 1e-9 * ensemble.weights.sum()
    share = np.divide(together, both, out=np.full(k, np.nan), where=pairs)
    return np.clip(share, 0.0, 1.0)


def block_scores(
    i: int, rows: np.ndarray, ensemble: BlockedEnsemble, labels: BlockedLabels, fixed: float | None
) -> tuple[np.ndarray, ConsensusScores]:
    """Return the labels of a block and its scores."""
    groups = labels.function(i, rows, *labels.shared)
    small = ensemble._small(rows)
    mass = labels.tally.counts.astype(np.float64)
    shares, confidence = _vote_shares(small, groups, mass, labels.tally.totals)
    if fixed is not None:
        confidence[:] = fixed
    message = "one opinion" if fixed is not None and np.isnan(fixed) else ""
    return groups, ConsensusScores(shares, confidence, np.empty(0), message)


def _shares(i: int, rows: np.ndarray, *given: Any) -> np.ndarray:
    return block_scores(i, rows, *given)[1].membership


def _confidence(i: int, rows: np.ndarray, *given: Any) -> np.ndarray:
    return block_scores(i, rows, *given)[1].confidence
