"""How well a clustering and its ensemble agree: per point, per cluster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import shown
from clusterscape.ensemble import as_ensemble


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
            f"labels must have one entry a point, {source.n_points} in all; got shape "
            f"{groups.shape}."
        )
    if groups.dtype.kind not in "iu" or groups.max(initial=-1) >= max(source.n_points, 1024):
        raise ValueError(
            "labels must be integers 0..K-1, with -1 for points in no cluster; got "
            f"{shown(labels)}. Number them first, for example with numpy.unique."
        )
    k = int(groups.max(initial=-1)) + 1
    inside = np.flatnonzero(groups >= 0)
    hot = np.zeros((source.n_points, k))
    hot[inside, groups[inside]] = source.sample_weight[inside]

    operator = source.coassociation(normalize="counts")
    together = operator @ hot if k else hot
    own = groups[inside]
    together[inside, own] -= (operator.diagonal() * source.sample_weight)[inside]

    if source.is_complete:
        sizes = hot.sum(axis=0)
        votes = np.tile(source.weights.sum() * sizes, (source.n_points, 1))
        votes[inside, own] -= source.weights.sum() * source.sample_weight[inside]
    else:
        sampled = (source.labels != UNSAMPLED).astype(np.float64)
        votes = (sampled * source.weights) @ (sampled.T @ hot)
        votes[inside, own] -= (sampled @ source.weights * source.sample_weight)[inside]
    share = np.divide(together, votes, out=np.zeros_like(together), where=votes > 1e-12)
    return np.clip(share, 0.0, 1.0)


@dataclass(frozen=True)
class ConsensusScores:
    """How far an ensemble supports a clustering.

    Attributes
    ----------
    membership : (n, K) array
        Share of each point's co-association with each cluster; rows sum to one (zeros for -1).
    confidence : (n,) array
        How far the point's own cluster is preferred to the others: 0 is no preference.
    cluster_consensus : (K,) array
        Mean co-association of the pairs within each cluster; NaN for a cluster of one point.
    """

    membership: np.ndarray
    confidence: np.ndarray
    cluster_consensus: np.ndarray


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

    Notes
    -----
    With one cluster there is nothing to prefer it to, and every confidence is 0. Partitions that
    share a bias agree, so high confidence is not a proof.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import consensus_scores
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> consensus_scores(votes, [0, 0, 1, 1]).confidence.round(2)
    array([0.71, 0.71, 0.33, 1.  ])
    """
    source = as_ensemble(ensemble)
    groups = np.asarray(labels)
    share = mean_coassociation(source, groups)
    k = share.shape[1]
    inside = np.flatnonzero(groups >= 0)
    own = groups[inside]
    total = share.sum(axis=1, keepdims=True)
    membership = np.divide(share, total, out=np.zeros_like(share), where=total > 0)
    alone = inside[total[inside, 0] <= 0]
    membership[alone, groups[alone]] = 1.0
    weight = source.sample_weight[inside]
    mass = np.bincount(own, weights=weight, minlength=k)
    within = np.bincount(own, weights=weight * share[inside, own], minlength=k)
    pairs = np.bincount(own, minlength=k) > 1
    consensus = np.divide(within, mass, out=np.full(k, np.nan), where=pairs & (mass > 0))
    confidence = np.zeros(groups.size)
    if k > 1:
        preference = (k * membership[inside, own] - 1.0) / (k - 1.0)
        confidence[inside] = np.clip(preference, 0.0, 1.0)
        confidence[alone] = 0.0
    return ConsensusScores(membership, confidence, consensus)
