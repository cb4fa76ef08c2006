"""Distances between all clusterings of an ensemble, and an answer beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape.compare import MEASURES, pairwise
from clusterscape.ensemble import Ensemble, as_ensemble

ANSWER = "answer"


def compared(
    ensemble: Any, answer: Any, *, metric: str, features: Any = None
) -> tuple[Ensemble, np.ndarray, np.ndarray]:
    """Return the clusterings, the answer last; their places in the ensemble; and the distances.

    Failed members are left out. The place of the answer is -1.
    """
    if metric not in MEASURES:
        raise ValueError(f"metric must be one of {', '.join(MEASURES)}; got {metric!r}.")
    votes = as_ensemble(ensemble)
    kept = np.flatnonzero(votes.n_clusters > 0)  # a failed member has no cluster
    votes = votes.select(kept)
    if answer is not None:
        votes = type(votes).from_labels([*votes, np.asarray(answer)])
        kept = np.append(kept, -1)
    if votes.n_partitions < 2:
        raise ValueError("ensemble: the picture needs two clusterings or more.")
    found = pairwise(votes, metric, features=features).matrix
    return votes, kept, as_distances(found, metric)


def as_distances(found: np.ndarray, metric: str) -> np.ndarray:
    """Return the symmetric distances of a matrix of a measure; of a similarity, 1 less the value.

    Pairs without a point in common are as far apart as can be.
    """
    far = found if MEASURES[metric].direction == "distance" else 1.0 - found
    far = (far + far.T) / 2
    apart = 1.0 if np.isnan(far).all() else max(1.0, float(np.nanmax(far)))
    far = np.clip(np.nan_to_num(far, nan=apart), 0.0, None)
    np.fill_diagonal(far, 0.0)
    return far


def names_of(ensemble: Any) -> list[str]:
    """Return a name for each clustering: its own, or its place; and its number of clusters."""
    votes = as_ensemble(ensemble)
    found = []
    for i, record in enumerate(votes.records):
        name = votes.names[i] or record.algorithm or f"partition {i}"
        found.append(f"{name} (k={int(votes.n_clusters[i])})")
    return found
