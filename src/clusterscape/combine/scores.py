"""How well a clustering and its ensemble agree: per point, per cluster."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import shown
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.linalg.rowspace import RowSpace

_BLOCK = 2**22  # entries of a temporary block


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
    source = as_ensemble(ensemble)
    groups = np.asarray(labels)
    if groups.shape != (source.n_points,):
        raise ValueError(
            f"labels must have one entry per point, {source.n_points} in all; got shape "
            f"{groups.shape}."
        )
    if groups.dtype.kind not in "iu" or groups.max(initial=-1) >= max(source.n_points, 1024):
        raise ValueError(
            "labels must be integers 0..K-1, with -1 for points in no cluster; got "
            f"{shown(labels)}. Number them first, for example with numpy.unique."
        )
    k = int(groups.max(initial=-1)) + 1
    out = np.zeros((source.n_points, k))
    if k == 0:
        return out
    membership = source.membership().matrix if source.is_soft else None
    space = RowSpace(source.labels, source.offsets, membership)
    weight = source.sample_weight
    column = np.repeat(source.weights, source.n_clusters)[:, None]
    if membership is None:
        groups = np.ascontiguousarray(groups, dtype=np.int64)
        totals = column * space.totals(groups, weight, k)
    else:
        totals = column * (membership.T @ _hot(groups, weight, k))
    sampled = _Sampled.of(source, groups, k)
    diagonal = source.coassociation(normalize="counts").diagonal()

    def fill(part: slice) -> None:
        together = (
            RowSpace(source.labels[part], source.offsets).product(totals)
            if membership is None
            else np.asarray(membership[part] @ totals)
        )
        own = groups[part]
        inside = np.flatnonzero(own >= 0)
        together[inside, own[inside]] -= (diagonal[part] * weight[part])[inside]
        votes = sampled.votes(source, part)
        own_votes = sampled.own_votes(source, part) * weight[part]
        votes[inside, own[inside]] -= own_votes[inside]
        np.divide(together, votes, out=out[part], where=votes > 1e-12)
        np.clip(out[part], 0.0, 1.0, out=out[part])

    step = max(1, _BLOCK // max(k, source.n_partitions))
    starts = range(0, source.n_points, step)
    parts = [slice(start, min(start + step, source.n_points)) for start in starts]
    parallel_map(fill, parts, shared=True)
    return out


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
        inside = np.flatnonzero(groups >= 0)
        if source.is_complete:
            weight = source.sample_weight[inside]
            return cls(True, np.bincount(groups[inside], weights=weight, minlength=k))
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


def preference(membership: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how far each point's own cluster is preferred to the others, in [0, 1].

    Parameters
    ----------
    membership : (n, K) array
        Rows that sum to one.
    labels : (n,) array
        The points' own clusters; -1 is none.

    Returns
    -------
    (n,) array
        ``(K p - 1) / (K - 1)`` for the share p of the own cluster, at least 0; 0 for -1 and for K
        below 2.
    """
    k = membership.shape[1]
    out = np.zeros(labels.size)
    inside = np.flatnonzero(labels >= 0)
    if k > 1:
        out[inside] = (k * membership[inside, labels[inside]] - 1.0) / (k - 1.0)
    return np.clip(out, 0.0, 1.0, out=out)


@dataclass(frozen=True)
class ConsensusScores:
    """How far an ensemble supports a clustering.

    Attributes
    ----------
    membership : (n, K) array
        Share of each point's co-association with each cluster; rows sum to one (zeros for -1).
    confidence : (n,) array
        How far the point's own cluster is preferred to the others: 0 is no preference, NaN
        throughout is that nothing can be said because the partitions are one opinion.
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
    mean_coassociation : The shares before they are made to sum to one.

    Notes
    -----
    The confidence of a point with the share p of its co-association in its own cluster is
    ``(K p - 1) / (K - 1)``, and at least 0: it is 1 when the point is never together with members
    of other clusters, and 0 when its own cluster has no more than an equal part. With one cluster
    there is nothing to prefer it to, and every confidence is 0.

    Partitions that share a bias agree, so high confidence is not a proof. Where all partitions are
    the same (one column of labels, a clusterer that draws nothing), agreement is no evidence at
    all, and every confidence is NaN.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import consensus_scores
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> consensus_scores(votes, [0, 0, 1, 1]).confidence.round(2)
    array([0.71, 0.71, 0.33, 1.  ])
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
    groups = np.asarray(labels)
    share = mean_coassociation(source, groups)
    k = share.shape[1]
    inside = np.flatnonzero(groups >= 0)
    own = groups[inside]
    weight = source.sample_weight[inside]
    mass = np.bincount(own, weights=weight, minlength=k)
    within = np.bincount(own, weights=weight * share[inside, own], minlength=k)
    pairs = np.bincount(own, minlength=k) > 1
    consensus = np.divide(within, mass, out=np.full(k, np.nan), where=pairs & (mass > 0))
    total = share.sum(axis=1, keepdims=True)
    membership = np.divide(share, total, out=share, where=total > 0)  # share is not needed again
    alone = inside[total[inside, 0] <= 0]
    membership[alone, groups[alone]] = 1.0
    message = _one_opinion(source) if k > 1 else ""
    if message:
        confidence = np.full(groups.size, np.nan)
    else:
        confidence = preference(membership, groups)
        confidence[alone] = 0.0
    return ConsensusScores(membership, confidence, consensus, message)


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
    return (
        f"No confidence is claimed, because {what}: agreement with itself is no evidence, and "
        "every confidence is NaN. Make partitions that differ: other starts, numbers of clusters, "
        "rows, columns or algorithms."
    )
