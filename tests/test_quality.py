"""Qualities of partitions: against their definitions, and followed while points move."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import calinski_harabasz_score
from sklearn.metrics.pairwise import euclidean_distances

from clusterscape._core.errors import ParameterError
from clusterscape.explore import (
    QUALITIES,
    MovingQuality,
    centroid_dunn_quality,
    centroid_silhouette_quality,
    kernel_quality,
    kmeans_quality,
    separation_quality,
    variance_ratio_quality,
    weighted_kernel_quality,
)


def plain(name: str, X: np.ndarray, labels: np.ndarray, h: float) -> float:
    """Return a quality by its definition, with loops over all pairs of clusters."""
    clusters = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    squares = sum(((X[c] - X[c].mean(axis=0)) ** 2).sum() for c in clusters)
    if name == "kmeans":
        return 1.0 / squares
    if name == "variance_ratio":
        return calinski_harabasz_score(X, labels)
    if name.startswith("centroid"):
        return plain_centroids(name, X, clusters)
    K = np.exp(-euclidean_distances(X, squared=True) / (2 * h**2))
    kappa = np.array([[K[np.ix_(a, b)].mean() for b in clusters] for a in clusters])
    if name == "weighted_kernel":
        return float(sum(len(c) / len(X) * kappa[j, j] for j, c in enumerate(clusters)))
    width = np.trace(kappa)
    return float(width if name == "kernel" else width**2 - kappa.sum())


def plain_centroids(name: str, X: np.ndarray, clusters: list[np.ndarray]) -> float:
    """Return a quality of centroids by looking at every point."""
    means = np.array([X[c].mean(axis=0) for c in clusters])
    own, nearest = [], []
    for j, c in enumerate(clusters):
        to_means = ((X[c][:, None] - means[None]) ** 2).sum(axis=2).mean(axis=0)
        own.append(to_means[j])
        nearest.append(np.delete(to_means, j).min())
    if name == "centroid_silhouette":
        each = [(b - a) / max(a, b) for a, b in zip(own, nearest, strict=True)]
        return float(np.average(each, weights=[len(c) for c in clusters]))
    gaps = euclidean_distances(means)
    return float(gaps[~np.eye(len(means), dtype=bool)].min() / (2 * np.sqrt(max(own))))


FUNCTIONS = {
    "kmeans": lambda X, y, h: kmeans_quality(X, y),
    "kernel": lambda X, y, h: kernel_quality(X, y, bandwidth=h),
    "separation": lambda X, y, h: separation_quality(X, y, bandwidth=h),
    "weighted_kernel": lambda X, y, h: weighted_kernel_quality(X, y, bandwidth=h),
    "variance_ratio": lambda X, y, h: variance_ratio_quality(X, y),
    "centroid_silhouette": lambda X, y, h: centroid_silhouette_quality(X, y),
    "centroid_dunn": lambda X, y, h: centroid_dunn_quality(X, y),
}


def some(seed: int, n: int = 30, s: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(s), rng.integers(s, size=n - s)])
    return rng.normal(size=(n, 3)) + labels[:, None], labels


@pytest.mark.parametrize("name", QUALITIES)
def test_qualities_are_what_they_are_defined_to_be(name: str, seed: int) -> None:
    X, labels = some(seed)
    assert FUNCTIONS[name](X, labels, 1.5) == pytest.approx(plain(name, X, labels, 1.5), rel=1e-10)


@pytest.mark.parametrize("name", QUALITIES)
@pytest.mark.parametrize("n_components", [None, 50])
def test_a_move_is_what_a_new_computation_gives(name: str, n_components: int | None) -> None:
    X, labels = some(1)
    how = {"bandwidth": 1.5, "n_components": n_components}
    moving = MovingQuality(X, labels, name, **how)
    rng = np.random.default_rng(2)
    for _ in range(200):
        x, c = int(rng.integers(30)), int(rng.integers(4))
        if (labels == labels[x]).sum() == 1:
            continue
        expected = moving.candidates(x)[c]
        moving.move(x, c)
        labels[x] = c
        assert moving.value == pytest.approx(expected, abs=1e-9)
        fresh = MovingQuality(X, labels, name, **how).value
        assert moving.value == pytest.approx(fresh, abs=1e-9)
    assert moving.n_moves > 100


@pytest.mark.parametrize("name", QUALITIES)
def test_undo_goes_all_the_way_back(name: str) -> None:
    X, labels = some(3)
    moving = MovingQuality(X, labels, name, bandwidth=1.0)
    before = moving.value
    for x in range(10):
        if (moving.labels == moving.labels[x]).sum() > 1:
            moving.move(x, int((moving.labels[x] + 1) % 4))
    while moving.n_moves:
        moving.undo()
    assert (moving.labels == labels).all()
    assert moving.value == pytest.approx(before, abs=1e-9)
    with pytest.raises(ValueError, match="no move is left"):
        moving.undo()


@given(st.integers(0, 10_000), st.integers(2, 6), st.floats(0.05, 20))
def test_separation_is_at_least_minus_a_quarter_of_s_squared(seed: int, s: int, h: float) -> None:
    X, labels = some(seed, n=20, s=s)
    value = separation_quality(X, labels, bandwidth=h)
    assert -(s**2) / 4 - 1e-9 <= value <= s**2 - s + 1e-9


def test_the_lower_bound_is_nearly_reached() -> None:
    # Equal means of self-similarity one half: every cluster has a point at each of two far places.
    X = np.tile([[0.0], [1e6]], (4, 1))
    labels = np.repeat(np.arange(4), 2)
    assert separation_quality(X, labels, bandwidth=1.0) == pytest.approx(-4.0)


def test_single_points_win_by_the_printed_qualities_and_not_by_the_weighted_one() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(5), 20)
    X = 8.0 * rng.normal(size=(5, 2))[truth] + rng.normal(size=(100, 2))
    alone = np.zeros(100, dtype=int)
    alone[[0, 20, 40, 60]] = np.arange(1, 5)
    narrow = {"bandwidth": 1.0}
    assert kernel_quality(X, alone, **narrow) > kernel_quality(X, truth, **narrow)
    assert weighted_kernel_quality(X, alone) < weighted_kernel_quality(X, truth)


def test_random_features_come_near_the_kernel() -> None:
    X, labels = some(5, n=400)
    exact = separation_quality(X, labels, n_components=None)
    assert separation_quality(X, labels, n_components=1000) == pytest.approx(exact, abs=0.05)


def test_wrong_arguments_are_reported() -> None:
    X, labels = some(0)
    with pytest.raises(ValueError, match="one label per row"):
        kmeans_quality(X, labels[:-1])
    with pytest.raises(ValueError, match="in no cluster"):
        kmeans_quality(X, np.where(labels == 0, -1, labels))
    with pytest.raises(ParameterError, match="quality='other' is not known"):
        MovingQuality(X, labels, "other")
    moving = MovingQuality(X[:4], [0, 1, 1, 1], "kmeans")
    assert np.isnan(moving.candidates(0)[1])
    with pytest.raises(ValueError, match="last one of cluster 0"):
        moving.move(0, 1)
    with pytest.raises(ValueError, match="from 0 to 1; got 2"):
        moving.move(1, 2)
    with pytest.raises(ValueError, match="from 0 to 3; got 4"):
        moving.candidates(4)
