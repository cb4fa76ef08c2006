"""Which pairs of points to ask an expert about next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import Instance, Integer, Null, checked
from clusterscape.combine.scores import scores_of
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.ensemble.ensemble import with_computable_weights
from clusterscape.semisupervised.base import constraints_of
from clusterscape.semisupervised.constraints import Constraints

_CANDIDATES = 1000  # uncertain points that are looked at
_NEAR_ROWS = 2000  # points among which those near them are counted
_NEAR = 0.5  # share of the partitions from which on a point is near another


@checked({"n": (Integer(1),), "constraints": (Null(), Instance(Constraints))})
def suggest_queries(
    ensemble: Any, labels: Any, n: int = 10, *, constraints: Constraints | None = None
) -> pd.DataFrame:
    """Return pairs of points whose answer, together or apart, may change the clustering most.

    A point on which the partitions disagree is paired with the surest point of the cluster that
    comes next to its own, so that the answer says where it belongs. A question is worth the votes
    of the next cluster times the points that the partitions keep with the asked one, as the answer
    is probably true of these too. The questions are chosen one after the other; points near an
    earlier one count less.

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
        that saw both and have them in one cluster; and, where the points have names,
        ``first_name`` and ``second_name``. Fewer rows than n where the partitions agree on more.

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
    known = constraints_of(constraints, None, votes.n_points, names=votes.index)
    votes = with_computable_weights(votes)
    pairs, value = _questions(votes, np.asarray(labels), known)
    chosen = _spread(_nearness(votes, pairs[:, 0]), value, n)
    first, second = pairs[chosen].T
    found = {"first": first, "second": second, "together": _together(votes, first, second)}
    if votes.index is not None:
        found |= {"first_name": votes.index[first], "second_name": votes.index[second]}
    return pd.DataFrame(found)


def _questions(
    votes: Ensemble, labels: np.ndarray, known: Constraints
) -> tuple[np.ndarray, np.ndarray]:
    """Return unsure points with the surest points of the next clusters, and how unsure they are.

    Where constraints tell the answer already, the surest point of its own cluster is asked about.
    """
    membership = scores_of(votes, labels).membership
    k = membership.shape[1]
    inside = np.flatnonzero(labels >= 0)
    if k < 2 or inside.size < 2:
        return np.empty((0, 2), np.int64), np.empty(0)
    own = membership[inside, labels[inside]]
    sure = np.zeros(k, dtype=np.int64)
    order = np.argsort(own, kind="stable")
    sure[labels[inside[order]]] = inside[order]  # the last written is the surest of its cluster
    rest = membership[inside]
    rest[np.arange(inside.size), labels[inside]] = -1.0
    other = rest.max(axis=1)
    value = np.divide(other, own + other, out=np.zeros(own.size), where=own + other > 0)
    value[np.isin(inside, sure)] = 0.0
    best = np.argsort(-value, kind="stable")[:_CANDIDATES]
    unsure, value = inside[best], value[best]
    pairs = np.column_stack([unsure, sure[rest[best].argmax(axis=1)]])
    if len(known):
        told = _answered(pairs, known)
        pairs[told, 1] = sure[labels[unsure[told]]]
        value = np.where(_answered(pairs, known), 0.0, value)
    return pairs, value


def _answered(pairs: np.ndarray, known: Constraints) -> np.ndarray:
    """Say which pairs are together or apart by what is known."""
    first, second = known.closure.component[pairs].T
    return (first == second) | known.closure.excludes(first, second)


def _together(votes: Ensemble, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the share of the partitions, by weight, that saw both and have them together."""
    left, right = votes.labels[first], votes.labels[second]
    both = (left != UNSAMPLED) & (right != UNSAMPLED)
    told = both @ votes.weights
    same = ((left == right) & (left >= 0)) @ votes.weights
    return np.divide(same, told, out=np.zeros(len(first)), where=told > 0)


def _nearness(votes: Ensemble, points: np.ndarray) -> np.ndarray:
    """Return for some points and the given ones the share of partitions that has them together."""
    rows = np.arange(votes.n_points)
    if rows.size > _NEAR_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, _NEAR_ROWS, replace=False))
    rows = np.union1d(rows, points)
    same = np.zeros((points.size, rows.size), dtype=np.float32)
    told = np.zeros_like(same)
    for column, weight in zip(votes.labels.T, votes.weights.astype(np.float32), strict=True):
        left, right = column[points], column[rows]
        right = np.where(right >= 0, right, -3)  # together with nobody
        same += weight * (left[:, None] == right[None, :])
        told += weight * np.outer(left != UNSAMPLED, column[rows] != UNSAMPLED)
    same = np.divide(same, told, out=np.zeros_like(same), where=told > 0)
    same[np.arange(points.size), np.searchsorted(rows, points)] = 1.0
    return np.where(same >= _NEAR, same, 0.0)


def _spread(near: np.ndarray, value: np.ndarray, n: int) -> list[int]:
    """Return rows of the largest value times the points near them that no earlier one covers."""
    left = np.ones(near.shape[1], dtype=near.dtype)
    open_value = value.copy()
    chosen: list[int] = []
    while len(chosen) < min(n, len(value)):
        worth = open_value * (near @ left)
        best = int(worth.argmax())
        if open_value[best] <= 0:
            break
        chosen.append(best)
        open_value[best] = 0.0
        left *= 1.0 - near[best]
    return chosen
