"""The formula of the CC distance: transport between centroids, or between memberships."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape.compare import _distributions as parts
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.transport import transport_costs, transport_plan


@dataclass(frozen=True, eq=False)
class _Centers:
    """Centroids of the clusters, in the order of the partitions, in units of 2**exponent."""

    offsets: np.ndarray
    mass: np.ndarray
    centers: Any
    exponent: int


@dataclass(frozen=True, eq=False)
class _Memberships:
    """Partitions whose points have no weights, and the weights, which come in with the sums."""

    plain: Ensemble
    weights: np.ndarray
    noise: str


def prepare(
    ensemble: Ensemble,
    features: Any,
    *,
    noise: str,
    n_jobs: int | None,
    form: Literal["centroid", "membership"] = "centroid",
) -> _Centers | _Memberships:
    """Return the centroids, or what the membership form reads."""
    if form == "membership":
        plain = ensemble.with_weights(sample_weight=np.ones(ensemble.n_points))
        return _Memberships(plain, ensemble.sample_weight, noise)
    X = parts.checked_points(features, ensemble, "cc_distance")
    X, exponent = parts.in_units(X, parts.seen_points(ensemble, noise))
    mass, centers = [], []
    for table in parts.clusters_of(ensemble, noise):
        scale = 1.0 / np.asarray(table.sum(axis=0), dtype=np.float64).reshape(-1, 1)
        sums = table.T @ X
        mass.append(parts.masses_of(table))
        centers.append(sums.multiply(scale) if sparse.issparse(X) else sums * scale)
    joined = sparse.vstack(centers, format="csr") if sparse.issparse(X) else np.vstack(centers)
    offsets = np.concatenate([[0], np.cumsum([m.size for m in mass])])
    return _Centers(offsets, np.concatenate(mass), joined, exponent)


def formula(
    prepared: _Centers | _Memberships,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    masses: Literal["size", "uniform"] = "size",
    ground: Literal["euclidean", "sqeuclidean"] = "euclidean",
) -> np.ndarray:
    """Return the CC distance of each of the pairs."""
    tasks: Any
    if isinstance(prepared, _Centers):
        tasks = parts.groups(pairs)
        work: Any = partial(_cc_centroids, prepared, pairs, masses, ground == "sqeuclidean")
    else:
        if ground != "euclidean":
            raise ValueError(
                f"cc_distance: ground={ground!r} is a distance of centroids and has no meaning for "
                "form='membership'; leave it out."
            )
        tasks = parts.runs(len(pairs))
        work = partial(_cc_memberships, prepared, pairs, masses)
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    values = np.empty(len(pairs))
    for number, task in enumerate(tasks):
        values[task] = found[number]
    if isinstance(prepared, _Centers):
        return _in_the_features_unit(values, prepared.exponent, ground)
    return values


def _in_the_features_unit(values: np.ndarray, exponent: int, ground: str) -> np.ndarray:
    """Return the distances scaled back, unless that is no floating-point number."""
    with np.errstate(over="ignore", under="ignore"):
        found: np.ndarray = np.ldexp(values, exponent if ground == "euclidean" else 2 * exponent)
    if np.isinf(found).any() or ((found == 0) & (values > 0)).any():
        remedy = "" if ground == "euclidean" else ", or take ground='euclidean'"
        raise ValueError(
            "cc_distance: the distance is beyond what floating-point numbers hold, since features "
            f"has values of about 2**{exponent}. Divide features by a number of that size{remedy}."
        )
    return found


def _cc_centroids(
    prepared: _Centers, pairs: np.ndarray, masses: str, squared: bool, task: np.ndarray
) -> np.ndarray:
    """Return the distances of one partition from several."""
    offsets = prepared.offsets
    others, place = np.unique(pairs[task, 1], return_inverse=True)
    sides = []
    for partitions in ([pairs[task[0], 0]], others):
        rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in partitions])
        sizes = offsets[np.add(partitions, 1)] - offsets[partitions]
        even = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        mass = prepared.mass[rows] if masses == "size" else even
        sides.append((prepared.centers[rows], np.concatenate([[0], np.cumsum(sizes)]), mass))
    (left, *one), (right, *many) = sides
    costs = parts.distances(left, right, squared=squared)
    chosen = np.column_stack([np.zeros_like(place), place])
    return transport_costs(costs, (one[0], many[0]), (one[1], many[1]), pairs=chosen)


def _cc_memberships(
    prepared: _Memberships, pairs: np.ndarray, masses: str, task: slice
) -> list[float]:
    """Return the distances of some pairs, each on the points that both partitions count."""
    lowest = NOISE if prepared.noise == "drop" else UNSAMPLED
    values = []
    for pair in pairs[task]:
        two = prepared.plain.select(pair)
        weights = np.where((two.labels > lowest).all(axis=1), prepared.weights, 0.0)
        sides, sizes = [], []
        for table in parts.clusters_of(two, prepared.noise):
            size = table.T @ weights
            sides.append(table[:, np.flatnonzero(size > 0)])
            sizes.append(size[size > 0])
        if not all(size.size for size in sizes):
            values.append(np.nan)
            continue
        common = parts.shared_weight(sides[0], sides[1], weights)
        apart = sizes[0][:, None] + sizes[1] - 2.0 * common
        shares = [size if masses == "size" else np.ones(size.size) for size in sizes]
        mass = [share / share.sum() for share in shares]
        values.append(transport_plan(np.maximum(apart, 0.0), *mass).cost)
    return values
