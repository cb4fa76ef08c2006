"""How well a clustering and its ensemble agree: per point, per cluster."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import shown
from clusterscape.ensemble import Ensemble, as_ensemble

_BLOCK = 2**22  # labels whose votes are counted at a time


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
    each; one that did not sample the point, or leaves it alone, has no vote. The confidence is the
    share of the votes for the point's own cluster: 1 if all are, 1/K if nothing prefers it. With
    one cluster there is nothing to prefer it to, and every confidence is 0.

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
    array([0.83, 0.83, 0.67, 1.  ])
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
    membership = _vote_shares(source, groups.astype(np.int64), mass)
    alone = inside[~membership[inside].any(axis=1)]
    confidence = np.zeros(groups.size)
    message = _one_opinion(source) if k > 1 else ""
    if message:
        confidence[:] = np.nan
    elif k > 1:
        confidence[inside] = membership[inside, own]
    membership[alone, groups[alone]] = 1.0
    return ConsensusScores(membership, confidence, consensus, message)


def _vote_shares(source: Ensemble, groups: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return each cluster's share of the votes on each point; zeros where there are none.

    Clusters count in proportion to their ``mass``, or the large ones would have the votes of all
    partitions that are coarser than they are.
    """
    n, k = groups.size, mass.size
    scale = np.divide(1.0, mass, out=np.zeros(k), where=mass > 0)
    own = np.where(groups >= 0, source.sample_weight * scale[np.maximum(groups, 0)], 0.0)
    hot = np.zeros((n, k))
    hot[np.arange(n), np.maximum(groups, 0)] = own
    column = np.repeat(source.weights, source.n_clusters)
    step = max(1, _BLOCK // max(source.n_partitions, 1))
    blocks = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    table = np.zeros((column.size, k))
    soft = source.membership().matrix if source.is_soft else None
    for rows in blocks:
        table += _rows_of_b(source, rows, soft).T @ hot[rows]
    sizes = table.sum(axis=1)
    out, total = np.zeros((n, k)), np.zeros(n)
    for rows in blocks:
        part = _rows_of_b(source, rows, soft)
        kernels.votes.votes(
            (part.data, part.indices.astype(np.int64), part.indptr.astype(np.int64)),
            column, table, sizes, own[rows], groups[rows], out[rows], total[rows],
        )  # fmt: skip
    counted = (groups >= 0) & (total > 0)
    out = np.divide(out, total[:, None], out=np.zeros_like(out), where=counted[:, None])
    return np.clip(out, 0.0, 1.0)


def _rows_of_b(source: Ensemble, rows: slice, soft: Any) -> Any:
    """Return some rows of the membership matrix, which is there already if it is soft."""
    if soft is not None:
        return soft[rows]
    labels = source.labels[rows]
    width = int(source.offsets[-1])
    seen = labels >= 0
    ends = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
    places = (labels + source.offsets[:-1].astype(np.int64))[seen]
    return sparse.csr_matrix((np.ones(places.size), places, ends), shape=(len(labels), width))


def _one_opinion(ensemble: Ensemble) -> str:
    """Return why the ensemble supports no confidence; empty where it does."""
    seen = (ensemble.labels != UNSAMPLED).any(axis=0) & (ensemble.weights > 0)
    if ensemble.n_distinct > 1:
        return ""
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
