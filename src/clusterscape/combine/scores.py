"""How well a clustering and its ensemble agree: per point, per cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape._labels import UNSAMPLED
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
