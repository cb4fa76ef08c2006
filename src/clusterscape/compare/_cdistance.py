"""The formula of CDistance: transport between clusters at the transport distances of points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from clusterscape._core.parallel import parallel_map
from clusterscape.compare import _distributions as parts
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.transport import transport_plan


@dataclass(frozen=True, eq=False)
class _PointSets:
    """Clusters as distributions over points; ``same`` numbers them, equal ones alike."""

    points: Any
    offsets: np.ndarray
    mass: np.ndarray
    same: np.ndarray
    members: list[tuple[np.ndarray, np.ndarray]]


def prepare(
    ensemble: Ensemble,
    features: Any,
    *,
    noise: str,
    n_jobs: int | None,
    max_points: int = 5000,
) -> _PointSets:
    """Return the distinct clusters of all partitions; refuse too many points."""
    X = parts.checked_points(features, ensemble, "cdistance")
    if ensemble.n_points > max_points:
        raise ValueError(
            "cdistance moves points one by one, in time that grows with the cube of their number, "
            f"and there are {ensemble.n_points:,}, more than max_points={max_points:,}. Compare a "
            "subsample of the points, take lift_emd, which is made for many points, or raise "
            "max_points."
        )
    X, _ = parts.in_units(X, parts.seen_points(ensemble, noise))  # a ratio has no unit
    sizes, mass, same = [0], [], []
    members: list[tuple[np.ndarray, np.ndarray]] = []
    numbers: dict[bytes, int] = {}
    for table in parts.clusters_of(ensemble, noise):
        sizes.append(table.shape[1])
        mass.append(parts.masses_of(table))
        for key, (points, weights) in zip(
            parts.keys_of(table), parts.members_of(table), strict=True
        ):
            if key not in numbers:
                numbers[key] = len(members)
                members.append((points, weights / weights.sum()))
            same.append(numbers[key])
    return _PointSets(X, np.cumsum(sizes), np.concatenate(mass), np.array(same, int), members)


def formula(
    prepared: _PointSets, pairs: np.ndarray, *, n_jobs: int | None, progress: bool | None
) -> np.ndarray:
    """Return CDistance of each of the pairs."""
    width = len(prepared.members)
    grids = []
    for i, j in pairs:
        left, right = (prepared.same[slice(*prepared.offsets[p : p + 2])] for p in (i, j))
        low, high = (f(left[:, None], right[None, :]) for f in (np.minimum, np.maximum))
        grids.append(low.astype(np.int64) * width + high)
    # Clusters that several partitions have are compared once.
    wanted = np.unique(np.concatenate([grid.ravel() for grid in grids]))
    tasks = [np.column_stack(np.divmod(wanted[run], width)) for run in parts.runs(wanted.size)]
    work = partial(_cluster_distances, prepared)
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    known = np.array([value for values in found for value in values])
    values = np.full(len(pairs), np.nan)
    for p, ((i, j), grid) in enumerate(zip(pairs, grids, strict=True)):
        if grid.size:
            costs = known[np.searchsorted(wanted, grid)]
            a, b = (prepared.mass[slice(*prepared.offsets[q : q + 2])] for q in (i, j))
            naive = float(a @ costs @ b)
            values[p] = min(transport_plan(costs, a, b).cost / naive, 1.0) if naive > 0 else 0.0
    return values


def _cluster_distances(prepared: _PointSets, pairs: np.ndarray) -> list[float]:
    return [_cluster_distance(prepared, int(i), int(j)) for i, j in pairs]


def _cluster_distance(prepared: _PointSets, i: int, j: int) -> float:
    """Return the transport distance between the points of two clusters."""
    if i == j:
        return 0.0
    (left, a), (right, b) = prepared.members[i], prepared.members[j]
    # The distance is a metric, so that mass which both have at a point may stay there.
    _, rows, columns = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    stays = np.minimum(a[rows], b[columns])
    a, b = a.copy(), b.copy()
    a[rows] -= stays
    b[columns] -= stays
    kept = [np.flatnonzero(side > 1e-15) for side in (a, b)]
    a, b = a[kept[0]], b[kept[1]]
    if not (a.size and b.size):
        return 0.0
    costs = parts.distances(prepared.points[left[kept[0]]], prepared.points[right[kept[1]]])
    return transport_plan(costs, a, b * (a.sum() / b.sum())).cost
