"""The answer beside the clusterings that it was made of: distances, a map, aligned labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape._core.labels import numbered_like
from clusterscape._core.plain import plain
from clusterscape.compare import pairwise
from clusterscape.ensemble import Ensemble
from clusterscape.explore.grouping import plane_of
from clusterscape.plot.plane import plane

ANSWER = "answer"


def alternatives_of(
    model: Any, points: np.ndarray, *, features: Any, coordinates: Any, max_partitions: int
) -> dict[str, Any]:
    """Return the answer and the partitions on some points, with labels that keep their colours.

    Distances are one less the adjusted Rand index on these points.
    """
    whole = model.ensemble_
    made = np.array([i for i, r in enumerate(whole.records) if r.error is None], dtype=np.int64)
    chosen = made
    if made.size > max_partitions:
        chosen = made[np.linspace(0, made.size - 1, max_partitions).astype(np.int64)]
    every = np.asarray(whole.select(chosen))
    labels = every[points]
    answer = np.asarray(model.labels_)
    # By all points, so that a cluster has the same number whichever points are shown.
    alike = [aligned_with(answer, column)[points] for column in every.T]
    aligned = np.column_stack([answer[points], *alike])
    columns = np.column_stack([answer[points], labels])
    votes = Ensemble.from_labels(columns, orient="columns")
    distances = 1.0 - pairwise(votes, "adjusted_rand").matrix
    np.fill_diagonal(distances, 0.0)
    distances = np.clip(np.nan_to_num(distances, nan=1.0), 0.0, None)
    where, share = plane_of(distances, np.ones(len(distances)))
    partitions = [_answer(model)]
    partitions += [_partition(whole.records[i], whole.names[i], int(i)) for i in chosen]
    for j, about in enumerate(partitions):
        about["agreement"] = round(1.0 - float(distances[0, j]), 6)
    places, axes = _places(features, coordinates, points, len(model.labels_))
    return {
        "partitions": partitions,
        "n_partitions": int(made.size),
        "labels": aligned.T.tolist(),
        "distances": np.round(distances, 4).tolist(),
        "map": np.round(where, 4).tolist(),
        "map_share": share,
        "places": places,
        "axes": axes,
    }


def _answer(model: Any) -> dict[str, Any]:
    return {
        "name": "the answer",
        "kind": ANSWER,
        "number": None,
        "algorithm": type(model).__name__,
        "n_clusters": int(model.n_clusters_),
        "parameters": "",
        "cost": None,
    }


def _partition(record: Any, name: str, number: int) -> dict[str, Any]:
    settings = {k: v for k, v in plain(record.params).items() if not isinstance(v, (dict, list))}
    return {
        "name": str(name or f"partition {number}"),
        "kind": "member",
        "number": number,
        "algorithm": record.algorithm or "given",
        "n_clusters": int(record.n_clusters),
        "parameters": ", ".join(f"{k} = {_short(v)}" for k, v in settings.items()),
        "cost": record.cost,
    }


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _places(
    features: Any, coordinates: Any, points: np.ndarray, n: int
) -> tuple[list[list[float]] | None, list[str] | None]:
    """Return where the points are drawn, and what the axes are."""
    if coordinates is not None:
        given = np.asarray(coordinates, dtype=np.float64)
        if given.shape != (n, 2):
            raise ValueError(f"coordinates must have shape ({n}, 2); got {given.shape}.")
        return np.round(given[points], 5).tolist(), ["coordinate 1", "coordinate 2"]
    if features is None:
        return None, None
    if features.shape[1] == 1:
        values = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        level = np.random.default_rng(0).random(n)
        return np.column_stack([values[:, 0], level])[points].tolist(), ["value", "at random"]
    where, axes = plane(features, n, "were clustered")
    return np.asarray(where)[points].tolist(), list(axes)


def aligned_with(answer: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return labels whose clusters have the numbers of the answer's that they share most with."""
    # Labels are kept in small integers, whose products would overflow.
    return numbered_like(np.asarray(labels, dtype=np.int64), answer, reuse=False)
