"""Landmarks: a sample of the rows, and the extension of their clusters to all points."""

from __future__ import annotations

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape.combine.eci import with_weighted_columns
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.rowspace import RowSpace

_BLOCK = 2**15


def draw_landmarks(
    ensemble: Ensemble, count: int, seed: SeedSequence
) -> tuple[Ensemble, np.ndarray]:
    """Draw rows in proportion to their weights; return them, weighted by their draws, and where.

    One draw falls in each of ``count`` equal stretches of the total weight, which follows the
    order of the data more evenly than independent draws.
    """
    reached = np.cumsum(ensemble.sample_weight)
    places = (np.arange(count) + np.random.default_rng(seed).random(count)) / count * reached[-1]
    drawn = np.minimum(np.searchsorted(reached, places, "right"), ensemble.n_points - 1)
    rows, times = np.unique(drawn, return_counts=True)
    chosen = ensemble.subset(rows, keep_empty=True).with_weights(sample_weight=times)
    return chosen, rows


def extend(
    ensemble: Ensemble,
    rows: np.ndarray,
    groups: np.ndarray,
    *,
    weights: np.ndarray,
    column: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Give every row the landmark cluster with which its mean co-association is largest.

    Parameters
    ----------
    ensemble : Ensemble
        All rows.
    rows : (l,) array
        Positions of the landmarks; they keep their groups.
    groups : (l,) array
        Groups 0..K-1 of the landmarks.
    weights : (l,) array
        Weights of the landmarks.
    column : (D,) array, optional
        Weights of the columns of B; by default those of the partitions.

    Returns
    -------
    labels : (m,) array
        -1 for a row that is together with no landmark in any partition.
    agreement : float
        Share of the landmarks' weight that would be given its own group by the other landmarks.
    """
    k = int(groups.max()) + 1
    space = RowSpace.of(ensemble)
    together = with_weighted_columns(ensemble, column, "counts")
    marks = space.subset(rows)
    table = together.column_weights[:, None] * marks.totals(groups.astype(np.int32), weights, k)
    hot = np.zeros((rows.size, k))
    hot[np.arange(rows.size), groups] = weights
    votes = (marks.labels != UNSAMPLED).T.astype(np.float64) @ hot * ensemble.weights[:, None]

    labels = np.empty(ensemble.n_points, dtype=np.int64)
    for start in range(0, ensemble.n_points, _BLOCK):
        part = np.arange(start, min(start + _BLOCK, ensemble.n_points))
        labels[part] = _largest_share(space.subset(part), table, votes)

    own = together.diagonal()[rows] * weights
    seen = (marks.labels != UNSAMPLED) @ ensemble.weights * weights
    without = np.zeros((2, rows.size, k))
    without[0, np.arange(rows.size), groups] = own
    without[1, np.arange(rows.size), groups] = seen
    again = _largest_share(marks, table, votes, without[0], without[1])
    labels[rows] = groups
    return labels, float(weights[again == groups].sum() / weights.sum())


def _largest_share(
    space: RowSpace,
    table: np.ndarray,
    votes: np.ndarray,
    own_together: np.ndarray | float = 0.0,
    own_votes: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Return the group with the largest mean co-association; -1 where all of them are zero."""
    together = space.product(table) - own_together
    possible = (space.labels != UNSAMPLED).astype(np.float64) @ votes - own_votes
    share = np.divide(together, possible, out=np.zeros_like(together), where=possible > 1e-9)
    return np.where(share.max(axis=1) > 1e-12, share.argmax(axis=1), NOISE)
