"""Synthetic data with a known answer: planted ensembles, overlapping blobs, and no structure."""

from __future__ import annotations

from typing import Literal

import numpy as np

from clusterscape._core.params import Choice, Integer, Number, Seed, Such, checked
from clusterscape._core.seeds import RandomState, root_sequence, spawn
from clusterscape.ensemble import Ensemble

_CHUNK = 1 << 18  # points drawn at a time, so that temporary arrays stay small for millions

_K_RANGE = Such(
    lambda v: (
        isinstance(v, (tuple, list))
        and len(v) == 2
        and all(Integer(1).allows(k) for k in v)
        and v[0] <= v[1]
    ),
    "two integers (low, high) with 1 <= low <= high",
    refused=[(5, 2), (0, 3), 7],
)


@checked(
    {
        "n_points": [Integer(1)],
        "n_partitions": [Integer(1)],
        "n_clusters": [Integer(1)],
        "k_range": [_K_RANGE],
        "noise": [Number(0, 1)],
        "unsampled": [Number(0, 1)],
        "random_state": [Seed()],
    }
)
def make_planted_ensemble(
    n_points: int,
    n_partitions: int,
    *,
    n_clusters: int = 10,
    k_range: tuple[int, int] = (10, 100),
    noise: float = 0.1,
    unsampled: float = 0.0,
    random_state: RandomState = None,
) -> tuple[Ensemble, np.ndarray]:
    """Make an ensemble whose partitions all refine one planted clustering, with errors.

    Every partition cuts the planted clusters into cells of its own, between the two numbers of
    ``k_range``; a point lies in a random cell of its cluster. No single partition shows the
    planted clusters, but together they do: two points of one cluster often share a cell, two
    points of different clusters only by error. Labels are made directly in the smallest integer
    type, chunk by chunk.

    Parameters
    ----------
    n_points, n_partitions : int
        The size of the ensemble.
    n_clusters : int
        Planted clusters, of about equal size.
    k_range : (int, int)
        Least and largest number of cells of a partition, drawn uniformly; at least ``n_clusters``
        cells are made, one per cluster.
    noise : float in [0, 1]
        Share of the points that each partition puts into any cell at random.
    unsampled : float in [0, 1]
        Share of the points that each partition does not see (label -2).
    random_state : int, generator or None
        The seed.

    Returns
    -------
    ensemble : Ensemble
    planted : ndarray of shape (n_points,)
        The planted cluster of every point.

    See Also
    --------
    make_overlapping_blobs : Points to cluster, with known clusters.

    Examples
    --------
    >>> from clusterscape.datasets import make_planted_ensemble
    >>> ensemble, planted = make_planted_ensemble(1000, 5, n_clusters=3, random_state=0)
    >>> ensemble.shape, planted.max()
    ((1000, 5), np.int64(2))
    """
    first, *seeds = spawn(random_state, n_partitions + 1)
    planted = np.random.default_rng(first).integers(0, n_clusters, size=n_points, dtype=np.int64)
    codes = planted.astype(np.int32)
    columns = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        k = max(int(rng.integers(k_range[0], k_range[1] + 1)), n_clusters)
        columns.append(_refine(codes, k, n_clusters, rng=rng, noise=noise, unsampled=unsampled))
    return Ensemble.from_labels(columns, orient="rows"), planted


def _refine(
    planted: np.ndarray,
    k: int,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    noise: float,
    unsampled: float,
) -> np.ndarray:
    """Return one partition: every planted cluster has a cell, the rest are drawn at random."""
    extra = rng.integers(0, n_clusters, size=k - n_clusters)
    sizes = 1 + np.bincount(extra, minlength=n_clusters).astype(np.float32)
    ends = (np.cumsum(sizes) - 1).astype(np.int32)
    starts = (np.cumsum(sizes) - sizes).astype(np.int32)
    kind = np.int8 if k <= 127 else np.int16 if k <= 32767 else np.int32
    labels = np.empty(planted.size, dtype=kind)
    for begin in range(0, planted.size, _CHUNK):
        part = planted[begin : begin + _CHUNK]
        draw = rng.random(part.size, dtype=np.float32)
        draw *= sizes[part]
        place = starts[part] + draw.astype(np.int32)
        chosen = np.minimum(place, ends[part])  # rounding may step over the end
        wrong = rng.random(part.size, dtype=np.float32) < noise
        chosen[wrong] = rng.integers(0, k, size=int(wrong.sum()))
        if unsampled > 0:
            chosen[rng.random(part.size, dtype=np.float32) < unsampled] = -2
        labels[begin : begin + _CHUNK] = chosen
    return labels


@checked(
    {
        "n_points": [Integer(1)],
        "n_features": [Integer(1)],
        "n_clusters": [Integer(1)],
        "cluster_std": [Number(0, open_low=True)],
        "random_state": [Seed()],
    }
)
def make_overlapping_blobs(
    n_points: int,
    *,
    n_features: int = 16,
    n_clusters: int = 10,
    cluster_std: float = 1.2,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Make Gaussian clusters that overlap, so that k-means finds them with some errors.

    Centres are drawn from a normal distribution with unit variance, and points around them with
    the standard deviation ``cluster_std``. With the defaults k-means with the right number of
    clusters reaches an adjusted Rand index of about 0.8; some centres lie closer than others, so it
    varies with the seed.

    Parameters
    ----------
    n_points : int
        Number of points.
    n_features, n_clusters : int
        Dimensions and clusters.
    cluster_std : float
        Standard deviation of the points around their centre, where centres have 1.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_points, n_features)
    y : ndarray of shape (n_points,)

    See Also
    --------
    make_no_structure : Points without clusters.
    sklearn.datasets.make_blobs : Clusters that overlap less.

    Examples
    --------
    >>> from clusterscape.datasets import make_overlapping_blobs
    >>> X, y = make_overlapping_blobs(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 16), (100,))
    """
    rng = np.random.default_rng(root_sequence(random_state))
    centres = rng.normal(size=(n_clusters, n_features))
    y = rng.integers(0, n_clusters, size=n_points)
    X = rng.normal(scale=cluster_std, size=(n_points, n_features))
    X += centres[y]
    return X, y


@checked(
    {
        "n_points": [Integer(1)],
        "n_features": [Integer(1)],
        "kind": [Choice("uniform", "gaussian")],
        "random_state": [Seed()],
    }
)
def make_no_structure(
    n_points: int,
    n_features: int,
    *,
    kind: Literal["uniform", "gaussian"] = "uniform",
    random_state: RandomState = None,
) -> np.ndarray:
    """Make points without clusters, for checks that a method does not invent any.

    Parameters
    ----------
    n_points, n_features : int
        Shape of the table.
    kind : {"uniform", "gaussian"}
        Points in the unit cube, or from one standard normal distribution.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    ndarray of shape (n_points, n_features)

    See Also
    --------
    clusterscape.validate.structure_test : Tests whether data have clusters.

    Examples
    --------
    >>> from clusterscape.datasets import make_no_structure
    >>> make_no_structure(50, 2, random_state=0).shape
    (50, 2)
    """
    rng = np.random.default_rng(root_sequence(random_state))
    shape = (n_points, n_features)
    return rng.random(shape) if kind == "uniform" else rng.normal(size=shape)
