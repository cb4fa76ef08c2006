"""Independent groups of columns: found, judged by their clusters, and used by the landscape."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence

from clusterscape.compare import adjusted_rand
from clusterscape.explore import Landscape, weighted_kernel_quality
from clusterscape.explore.columns import (
    clearness,
    distance_correlations,
    independent_groups,
    structured_views,
)


def plain_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return the bias-corrected distance correlation of two columns by its definition."""
    n = len(x)

    def centred(z: np.ndarray) -> np.ndarray:
        apart = np.abs(np.subtract.outer(z, z))
        found = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                if i != j:
                    found[i, j] = (
                        apart[i, j]
                        - apart[i].sum() / (n - 2)
                        - apart[:, j].sum() / (n - 2)
                        + apart.sum() / ((n - 1) * (n - 2))
                    )
        return found

    a, b = centred(x), centred(y)
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))


def test_distance_correlations_are_those_of_the_definition(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    X[:, 2] = X[:, 0] ** 2
    found = distance_correlations(X)
    for i in range(3):
        for j in range(3):
            expected = plain_correlation(X[:, i], X[:, j])
            assert found[i, j] == pytest.approx(expected, abs=1e-5)
    assert distance_correlations(np.column_stack([X[:, 0], np.ones(12)]))[0, 1] == 0.0


def two_rings(n: int = 200, seed: int = 0) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return two structures on columns of their own, whose columns are not correlated."""
    rng = np.random.default_rng(seed)
    truths, parts = [], []
    for gap in (12.0, 6.0):
        truths.append(rng.integers(3, size=n))
        angles = 2 * np.pi * truths[-1] / 3
        centres = gap / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
        parts.append(centres + rng.normal(size=(n, 2)))
    return np.hstack([*parts, rng.normal(size=(n, 2))]), truths


def test_groups_are_independent_and_noise_has_no_clusters(seed: int) -> None:
    X, _ = two_rings(seed=seed)
    groups = independent_groups(X, np.random.default_rng(0))
    assert [g.tolist() for g in groups] == [[0, 1], [2, 3], [4], [5]]
    views = structured_views(X, [3], 12, SeedSequence(0))
    assert sorted(v.tolist() for v in views) == [[0, 1], [2, 3]]
    assert structured_views(X[:, :2], [3], 12, SeedSequence(0)) == []
    assert len(structured_views(X, [3], 1, SeedSequence(0))) == 1
    # Columns with something in common are a view although they have no clusters.
    linked = np.column_stack([X[:, 4], X[:, 4] + 0.3 * X[:, 5], X[:, :2]])
    views = structured_views(linked, [3], 12, SeedSequence(0))
    assert [v.tolist() for v in views] == [[2, 3], [0, 1]]


@pytest.mark.parametrize("kind", ["normal", "uniform", "exponential"])
def test_points_without_clusters_are_not_clear(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = getattr(rng, kind)(size=(150, 2))
    assert clearness(X, 3, SeedSequence(seed)) < 5.0
    X[:50] += 40.0
    assert clearness(X, 2, SeedSequence(seed)) > 5.0


def test_odd_tables_are_one_group() -> None:
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=(10, 4)), rng.normal(size=(50, 1))):
        assert len(independent_groups(X, rng)) == 1
    constant = np.column_stack([rng.normal(size=50), np.ones(50)])
    assert len(independent_groups(constant, rng)) == 2
    assert structured_views(np.ones((50, 2)), [2], 5, SeedSequence(0)) == []


def test_a_landscape_judges_partitions_by_their_view() -> None:
    X, truths = two_rings()
    model = Landscape(3, n_samples=60, n_chains=6, random_state=0, progress=False).fit(X)
    assert sorted(v.tolist() for v in model.views_) == [[0, 1], [2, 3]]
    frame = model.to_frame()
    assert set(frame["view"]) <= {-1, 0, 1}
    for truth, columns in zip(truths, ([0, 1], [2, 3]), strict=True):
        near = [adjusted_rand(truth, c) for c in model.representatives_.labels.T]
        assert max(near) > 0.95
        view = next(v for v, c in enumerate(model.views_) if c.tolist() == columns)
        shown = int(model.representative_indices_[int(np.argmax(near))])
        assert model.view_[shown] in (view, -1)
        if model.view_[shown] == view:
            labels = model.ensemble_.labels
            own = weighted_kernel_quality(X[:, columns], labels[:, shown])
            others = [weighted_kernel_quality(X[:, columns], c) for c in labels.T[::7]]
            assert own >= max(others) * model.relative_quality_[shown] - 1e-9
    assert (model.relative_quality_ >= model.quality_ / model.quality_.max() - 1e-12).all()
    plain = Landscape(3, n_samples=60, n_chains=6, n_generated=0, random_state=0, progress=False)
    assert plain.fit(X).views_ == []
    assert (plain.view_ == -1).all()


def test_a_kernel_or_a_quality_of_ones_own_has_no_views() -> None:
    X, _ = two_rings(n=30)
    few = {"n_samples": 8, "n_chains": 2, "burn_in": 2, "n_generated": 3, "progress": False}

    def first_and_last(points: np.ndarray, labels: np.ndarray) -> float:
        return 1.0 + abs(float(np.corrcoef(points[:, 0] + points[:, 5], labels)[0, 1]))

    kernel = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 50)
    for how, table in (({"quality": first_and_last}, X), ({"kernel": "precomputed"}, kernel)):
        model = Landscape(3, **few, **how, random_state=0).fit(table)
        assert model.views_ == []
        assert (model.origin_ == "generated").sum() == 3
