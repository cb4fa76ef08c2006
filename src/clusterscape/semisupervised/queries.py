"""Which pairs of points to ask an expert about next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import Instance, Integer, Null, checked
from clusterscape.combine.scores import scores_of
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.semisupervised.constraints import Constraints

_CANDIDATES = 2000  # uncertain points that are looked at


@checked({"n": (Integer(1),), "constraints": (Null(), Instance(Constraints))})
def suggest_queries(
    ensemble: Any, labels: Any, n: int = 10, *, constraints: Constraints | None = None
) -> pd.DataFrame:
    """Return pairs of points whose answer, together or apart, tells most about the partitions.

    The points are those on which an ensemble is least certain. Each is paired with the most certain
    point of its own cluster or of the cluster that comes next, so that an answer says where
    it belongs. Of these pairs those are chosen one after the other on which the partitions are
    divided most evenly, and differently from the pairs chosen before: the answers
    then tell good partitions from bad ones.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The partitions.
    labels : (n,) array
        Their consensus, 0..K-1; -1 belongs to no cluster.
    n : int
        Pairs.
    constraints : Constraints, optional
        What is known already; pairs whose answer follows from it are not asked.

    Returns
    -------
    pandas.DataFrame
        ``first``, ``second`` (row numbers), ``together``: the share of the partitions, by weight,
        that saw both and have them in one cluster. Fewer rows than n where the partitions agree on
        more.

    See Also
    --------
    clusterscape.ConsensusClustering : Its method ``suggest_queries`` asks about its own answer.
    clusterscape.combine.consensus_scores : The confidences of the points.

    References
    ----------
    .. [1] S. Basu, A. Banerjee, R. J. Mooney, "Active semi-supervision for pairwise constrained
       clustering", SIAM International Conference on Data Mining, 333-344, 2004.
       doi:10.1137/1.9781611972740.31

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.semisupervised import suggest_queries
    >>> votes = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
    >>> suggest_queries(votes, [0, 0, 1, 1, 1, 1], 1)
       first  second  together
    0      2       1  0.333333
    """
    votes = as_ensemble(ensemble)
    found = np.asarray(labels)
    pairs = _pairs(votes, found, constraints)
    if len(pairs) == 0:
        return pd.DataFrame({"first": [], "second": [], "together": []}).astype(
            {"first": np.int64, "second": np.int64, "together": float}
        )
    weight = votes.weights / votes.weights.sum()
    left, right = votes.labels[pairs[:, 0]], votes.labels[pairs[:, 1]]
    # A partition that did not see both points says nothing of the pair: it is at the mean.
    both = (left != UNSAMPLED) & (right != UNSAMPLED)
    same = ((left == right) & (left >= 0)).astype(np.float64)
    told = both @ weight
    together = np.divide(same @ weight, told, out=np.zeros(len(pairs)), where=told > 0)
    same = np.where(both, same, together[:, None])
    chosen = _spread(same * np.sqrt(weight), together[:, None] * np.sqrt(weight), n)
    return pd.DataFrame(
        {"first": pairs[chosen, 0], "second": pairs[chosen, 1], "together": together[chosen]}
    )


def _pairs(votes: Ensemble, labels: np.ndarray, known: Constraints | None) -> np.ndarray:
    """Return uncertain points with the surest points of their two likeliest clusters."""
    scores = scores_of(votes, labels)
    membership = scores.membership
    n, k = membership.shape
    inside = np.flatnonzero(labels >= 0)
    if k < 2:
        return np.empty((0, 2), np.int64)
    own = membership[inside, labels[inside]]
    sure = np.full(k, -1, dtype=np.int64)
    order = np.argsort(own, kind="stable")
    sure[labels[inside[order]]] = inside[order]  # the last written is the surest of its cluster
    unsure = inside[order[:_CANDIDATES]]
    rest = membership[unsure].copy()
    rest[np.arange(unsure.size), labels[unsure]] = -1.0
    parts = [
        np.column_stack([unsure, sure[labels[unsure]]]),
        np.column_stack([unsure, sure[rest.argmax(axis=1)]]),
    ]
    pairs = np.concatenate(parts)
    pairs = pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs >= 0).all(axis=1)]
    if known is None or len(known) == 0:
        return pairs
    component = known.closure.component
    ends = component[pairs]
    apart = np.asarray(known.closure.exclusions()[ends[:, 0], ends[:, 1]]).ravel() > 0
    return pairs[(ends[:, 0] != ends[:, 1]) & ~apart]


def _spread(same: np.ndarray, mean: np.ndarray, n: int) -> list[int]:
    """Return rows with the largest part that the rows chosen before do not explain."""
    rest = same - mean
    size = np.einsum("ij,ij->i", rest, rest)
    least = 1e-9 * max(float(size.max(initial=0.0)), 1e-12)
    chosen: list[int] = []
    while len(chosen) < n:
        best = int(size.argmax())
        if size[best] <= least:
            break
        chosen.append(best)
        direction = rest[best] / np.sqrt(size[best])
        rest = rest - np.outer(rest @ direction, direction)
        size = np.einsum("ij,ij->i", rest, rest)
        size[chosen] = 0.0
    return chosen
