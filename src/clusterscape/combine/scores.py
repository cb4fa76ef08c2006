"""How well a clustering and its ensemble agree: per point, per cluster."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterscape import kernels
from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import shown
from clusterscape.ensemble import Ensemble, PartitionRecord, as_ensemble
from clusterscape.ensemble.ensemble import with_computable_weights
from clusterscape.linalg.rowspace import RowSpace

_BLOCK = 2**22  # entries of a temporary block
_LEAST = 0.02  # of its vote a partition keeps between clusters that it unites


class OneOpinionWarning(UserWarning):
    """The partitions are all the same, so that their agreement says nothing.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.combine import OneOpinionWarning
    >>> warnings.simplefilter("ignore", OneOpinionWarning)
    """


def mean_coassociation(ensemble: Any, labels: Any) -> np.ndarray:
    """Return each point's mean co-association with the other members of each cluster.

    Entry (x, c) is the weight of the votes that put x together with members of c other than x, over
    the weight of the votes that sampled both. It costs O(n r K); no pair is ever looked at.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The votes.
    labels : (n,) array
        A clustering with labels 0..K-1; -1 belongs to no cluster.

    Returns
    -------
    (n, K) array
        In [0, 1]; 0 where a cluster has no other member that was sampled with the point.

    See Also
    --------
    consensus_scores : Confidences of the points by the votes of the partitions.

    Examples
    --------
    >>> from clusterscape.combine import mean_coassociation
    >>> from clusterscape import Ensemble
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 0, 1]])
    >>> mean_coassociation(votes, [0, 0, 1, 1])
    array([[1.  , 0.25],
           [1.  , 0.25],
           [0.5 , 0.5 ],
           [0.  , 0.5 ]])
    """
    source = with_computable_weights(as_ensemble(ensemble))
    groups = checked_groups(source, labels)
    k = int(groups.max(initial=-1)) + 1
    out = np.zeros((source.n_points, k))
    if k == 0:
        return out
    membership = source.membership().matrix if source.is_soft else None
    weight = source.sample_weight
    column = np.repeat(source.weights, source.n_clusters)[:, None]
    totals = column * _totals(source, groups, weight, k)
    sampled = _Sampled.of(source, groups, k)
    diagonal = source.coassociation(normalize="counts").diagonal()
    itself = _itself(weight)

    def fill(part: slice) -> None:
        together = (
            RowSpace(source.labels[part], source.offsets).product(totals)
            if membership is None
            else np.asarray(membership[part] @ totals)
        )
        own = groups[part]
        inside = np.flatnonzero(own >= 0)
        together[inside, own[inside]] -= (diagonal[part] * itself[part])[inside]
        votes = sampled.votes(source, part)
        own_votes = sampled.own_votes(source, part) * itself[part]
        votes[inside, own[inside]] -= own_votes[inside]
        np.divide(together, votes, out=out[part], where=votes > 1e-12)
        np.clip(out[part], 0.0, 1.0, out=out[part])

    step = max(1, _BLOCK // max(k, source.n_partitions))
    starts = range(0, source.n_points, step)
    parts = [slice(start, min(start + step, source.n_points)) for start in starts]
    parallel_map(fill, parts, shared=True)
    return out


def checked_groups(source: Ensemble, labels: Any) -> np.ndarray:
    """Return labels of the points as whole numbers, or say what is wrong with them."""
    groups = np.asarray(labels)
    if groups.shape != (source.n_points,):
        raise ValueError(
            f"labels must have one entry per point, {source.n_points} in all; got shape "
            f"{groups.shape}."
        )
    most = max(source.n_points, 1024)
    # Kernels read them as 32 bits: one far below 0 would become a place outside of their tables.
    if (
        groups.dtype.kind not in "iu"
        or groups.max(initial=-1) >= most
        or groups.min(initial=0) < -2
    ):
        raise ValueError(
            "labels must be integers 0..K-1, with -1 for points in no cluster; got "
            f"{shown(labels)}. Number them first, for example with numpy.unique."
        )
    return np.ascontiguousarray(groups, dtype=np.int64)


def _itself(weight: np.ndarray) -> np.ndarray:
    """Return the weight of a point itself, which is no company: one of the copies it stands for."""
    return np.minimum(weight, 1.0)


def _hot(groups: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    inside = np.flatnonzero(groups >= 0)
    hot = np.zeros((groups.size, k))
    hot[inside, groups[inside]] = weight[inside]
    return hot


@dataclass(frozen=True)
class _Sampled:
    """The weight of the points of each cluster that each partition sampled."""

    complete: bool
    sizes: np.ndarray

    @classmethod
    def of(cls, source: Ensemble, groups: np.ndarray, k: int) -> _Sampled:
        if source.is_complete:
            return cls(True, _masses(source, groups, k))
        seen = (source.labels != UNSAMPLED).astype(np.float64)
        return cls(False, seen.T @ _hot(groups, source.sample_weight, k))

    def votes(self, source: Ensemble, part: slice) -> np.ndarray:
        """Return the weight of the votes that sampled a point and each of the clusters' points."""
        if self.complete:
            size = part.stop - part.start
            return np.tile(source.weights.sum() * self.sizes, (size, 1))
        seen = (source.labels[part] != UNSAMPLED).astype(np.float64)
        return np.asarray((seen * source.weights) @ self.sizes)

    def own_votes(self, source: Ensemble, part: slice) -> np.ndarray:
        """Return the weight of the votes that sampled each point."""
        if self.complete:
            return np.full(part.stop - part.start, source.weights.sum())
        return np.asarray((source.labels[part] != UNSAMPLED) @ source.weights)


@dataclass(frozen=True)
class ConsensusScores:
    """How far an ensemble supports a clustering.

    Attributes
    ----------
    membership : (n, K) array
        Share of the votes on each point that each cluster has; rows sum to one (zeros for -1).
    confidence : (n,) array
        Share of the point's own cluster; 0 throughout where there is one cluster, NaN throughout
        where nothing can be said because the partitions are one opinion.
    cluster_consensus : (K,) array
        Mean co-association of the pairs within each cluster; NaN for a cluster of one point.
    message : str
        Why no confidence is claimed; empty where it is.
    """

    membership: np.ndarray
    confidence: np.ndarray
    cluster_consensus: np.ndarray
    message: str = ""


def consensus_scores(ensemble: Any, labels: Any) -> ConsensusScores:
    """Score a clustering by the votes of an ensemble, per point and per cluster.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The votes.
    labels : (n,) array
        A clustering with labels 0..K-1; -1 belongs to no cluster.

    Returns
    -------
    ConsensusScores

    Warns
    -----
    OneOpinionWarning
        When fewer than two partitions differ by more than the names of their clusters.

    See Also
    --------
    mean_coassociation : How often a point is together with the members of each cluster.

    Notes
    -----
    Every partition has one vote on a point, and divides it as the other points of the cluster that
    it puts the point in are divided among the clusters of the answer, each of these counted in
    proportion to its size. So a partition that is finer than the answer votes for one cluster
    if its small cluster lies within it; one that unites two clusters of the answer votes half for
    each, or hardly votes if it has fewer clusters than the answer and had to unite some; one that
    leaves the point alone in a cluster votes for all evenly, since it prefers none, or for the
    point's own where the answer leaves it alone too; one that did not sample the point, or calls it
    noise, has no vote. The confidence is the share of the votes for the point's own cluster: 1 if
    all are, 1/K if nothing prefers it. With one cluster there is nothing to prefer it to, and every
    confidence is 0.

    It means the same whatever made the partitions: ``benchmarks/quality/confidence.py`` shows how
    often points of high and low confidence are right, for several generators.

    Partitions that share a bias agree, so high confidence is not a proof. Where all partitions are
    the same (one column of labels, a clusterer that draws nothing), agreement is no evidence at
    all, and every confidence is NaN.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import consensus_scores
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> consensus_scores(votes, [0, 0, 1, 1]).confidence.round(2)
    array([0.83, 0.83, 0.67, 0.83])
    """
    scores = scores_of(as_ensemble(ensemble), labels)
    warn_of_one_opinion(scores, stacklevel=3)
    return scores


def warn_of_one_opinion(scores: ConsensusScores, *, stacklevel: int) -> None:
    """Say, where it is so, that no confidence is claimed."""
    if scores.message:
        warnings.warn(scores.message, OneOpinionWarning, stacklevel=stacklevel)


def scores_of(source: Ensemble, labels: Any) -> ConsensusScores:
    """Return the scores of a clustering without a warning."""
    source = with_computable_weights(source)
    groups = checked_groups(source, labels)
    k = int(groups.max(initial=-1)) + 1
    totals = _totals(source, groups, source.sample_weight, k) if k else np.zeros((0, 0))
    membership, confidence = _vote_shares(source, groups, _masses(source, groups, k), totals)
    message = _one_opinion(source) if k > 1 else ""
    if message:
        confidence[:] = np.nan
    elif k <= 1:
        confidence[:] = 0.0
    consensus = _cluster_consensus(source, groups, totals)
    return ConsensusScores(membership, confidence, consensus, message)


def _inside(groups: np.ndarray) -> Any:
    """Return the points that are in a group, without a copy where all are."""
    return slice(None) if groups.min(initial=0) >= 0 else np.flatnonzero(groups >= 0)


def _masses(source: Ensemble, groups: np.ndarray, k: int) -> np.ndarray:
    """Return the weight of the points of each group."""
    inside = _inside(groups)
    return np.bincount(groups[inside], weights=source.sample_weight[inside], minlength=k)


def _cluster_consensus(source: Ensemble, groups: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """Return the share of the co-samplings of each cluster's pairs that keep the pair together."""
    weight, k = source.sample_weight, totals.shape[1]
    if k == 0:
        return np.zeros(0)
    inside = _inside(groups)
    own, square = groups[inside], weight[inside] * _itself(weight[inside])
    column = np.repeat(source.weights, source.n_clusters)[:, None]
    together = (column * totals**2).sum(axis=0)
    # A point is no pair with itself.
    diagonal = source.coassociation(normalize="counts").diagonal()[inside]
    together -= np.bincount(own, weights=square * diagonal, minlength=k)
    sampled = _Sampled.of(source, groups, k)
    everything = slice(0, source.n_points)
    if sampled.complete:
        both = source.weights.sum() * sampled.sizes**2
    else:
        both = source.weights @ sampled.sizes**2
    seen = sampled.own_votes(source, everything)[inside]
    both -= np.bincount(own, weights=square * seen, minlength=k)
    pairs = both > 1e-9 * source.weights.sum()
    found = np.divide(together, both, out=np.full(k, np.nan), where=pairs)
    return np.clip(found, 0.0, 1.0)


def _totals(source: Ensemble, groups: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Return the weight that each cluster of each partition has in each group."""
    if source.is_soft:
        return np.asarray(source.membership().matrix.T @ _hot(groups, weight, k))
    return RowSpace(source.labels, source.offsets).totals(groups, weight, k)


def _vote_shares(
    source: Ensemble, groups: np.ndarray, mass: np.ndarray, totals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each cluster's share of the votes on each point, and that of the point's own cluster.

    Where there are no votes, the own cluster has the membership, and a share of 0. Clusters count
    in proportion to their ``mass``, or the large ones would have the votes of all partitions that
    are coarser than they are.
    """
    n, k = groups.size, mass.size
    scale = np.divide(1.0, mass, out=np.zeros(k), where=mass > 0)
    out, confidence = np.zeros((n, k)), np.zeros(n)
    if k == 0:
        return out, confidence
    unit = np.where(groups >= 0, scale[np.maximum(groups, 0)], 0.0)
    itself = _itself(source.sample_weight) * unit
    table = totals * scale
    column = np.repeat(source.weights, source.n_clusters) * say(source, table)
    sizes = table.sum(axis=1)
    soft = source.membership().matrix if source.is_soft else None

    def fill(rows: slice) -> None:
        total = np.zeros(rows.stop - rows.start)
        given = column, table, sizes, itself[rows], groups[rows], out[rows], total
        if soft is None:
            kernels.votes.hard_votes(source.labels[rows], source.offsets, *given)
        else:
            part = soft[rows]
            ends = part.indices.astype(np.int64), part.indptr.astype(np.int64)
            kernels.votes.soft_votes((part.data, *ends), *given)
        counted = ((groups[rows] >= 0) & (total > 0))[:, None]
        shares = np.zeros_like(out[rows])
        np.divide(out[rows], total[:, None], out=shares, where=counted)
        np.clip(shares, 0.0, 1.0, out=out[rows])
        own = np.flatnonzero(groups[rows] >= 0)
        confidence[rows][own] = out[rows][own, groups[rows][own]]
        silent = own[total[own] <= 0]
        out[rows][silent, groups[rows][silent]] = 1.0

    step = max(1, _BLOCK // max(k, source.n_partitions))
    parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    parallel_map(fill, parts, shared=True)
    return out, confidence


def say(ensemble: Ensemble, table: np.ndarray) -> np.ndarray:
    """Return the share of its vote that each cluster of a partition has, by what it unites.

    A partition with fewer clusters than the answer must unite some of them. Where it does, it says
    nothing about which of them a point belongs to, and its vote would only dilute the others'.

    Parameters
    ----------
    ensemble : Ensemble
        The partitions.
    table : (D, K) array
        Share of each cluster of the answer that lies in each cluster of a partition.

    Returns
    -------
    (D,) array
        1 for partitions with as many clusters as the answer, or more; of others 1 less the second
        largest share, and 0.02 at least.
    """
    found = np.ones(len(table))
    coarse = np.repeat(ensemble.n_clusters < table.shape[1], ensemble.n_clusters)
    if table.shape[1] > 1 and coarse.any():
        second = np.partition(table[coarse], -2, axis=1)[:, -2]
        found[coarse] = np.maximum(1.0 - second, _LEAST)
    return found


def _one_opinion(ensemble: Ensemble) -> str:
    """Return why the ensemble supports no confidence; empty where it does."""
    if ensemble.has_several_opinions:
        return ""
    seen = ensemble.saw_points() & (ensemble.weights > 0)
    count = int(seen.sum())
    what = (
        "there is only one partition"
        if count == 1
        else f"the {count} partitions are the same up to the names of their clusters"
    )
    varied = _varied([r for r, used in zip(ensemble.records, seen, strict=True) if used])
    others = [name for name in ("rows", "columns", "algorithms") if name not in varied]
    although = (
        f" That they agree although their {' and '.join(varied)} differ speaks for the clusters, "
        "but by how much cannot be said."
        if varied
        else ""
    )
    *first, last = ["starts", "numbers of clusters", *others]
    advice = f"{', '.join(first)} or {last}"
    return (
        f"No confidence is claimed, because {what}: agreement with itself is no evidence, and "
        f"every confidence is NaN.{although} Make partitions that differ: other {advice}."
    )


def _varied(records: Sequence[PartitionRecord]) -> list[str]:
    """Return what the partitions differ in by their records, beside starts and numbers."""
    columns = {(r.view, None if r.columns is None else r.columns.tobytes()) for r in records}
    differ = {
        "rows": len(records) > 1 and any(r.rows != "all" for r in records),
        "columns": len(columns) > 1,
        "algorithms": len({r.algorithm for r in records}) > 1,
    }
    return [name for name, yes in differ.items() if yes]
