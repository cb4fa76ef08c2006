"""Views of what the clusters of a partition have in common."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clusterscape.compare import adjusted_rand
from clusterscape.explore import Landscape, crossed_view
from clusterscape.linalg.kmeans import kmeans


def faces(
    seed: int, *, persons: int = 12, lights: int = 15
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points that are the sum of a person, a light and noise that hides the lights."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), lights)
    light = np.tile(np.arange(lights), persons)
    X = 4.0 * rng.normal(size=(persons, 30))[person] + rng.normal(size=(lights, 30))[light]
    return X + 0.8 * rng.normal(size=X.shape), person, light


def found(table: np.ndarray, k: int) -> np.ndarray:
    return kmeans(table, k, n_init=5, seed=np.random.SeedSequence(0)).labels


def test_pairs_have_the_least_sum_and_points_become_the_mean_of_theirs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = np.array([0] * 4 + [1] * 3 + [2] * 4)
    X = rng.normal(size=(11, 3)) + 10.0 * rng.normal(size=(3, 3))[labels]
    rest = X - np.array([X[labels == c].mean(axis=0) for c in labels])
    partners = {i: [] for i in range(11)}
    for a, b in ((1, 0), (1, 2), (0, 2)):  # the smaller one first
        mine, other = np.flatnonzero(labels == a), np.flatnonzero(labels == b)
        best = min(
            itertools.permutations(other, mine.size),
            key=lambda chosen: ((rest[mine] - rest[list(chosen)]) ** 2).sum(),
        )
        for i, j in zip(mine, best, strict=True):
            partners[i].append(j)
            partners[j].append(i)
    view = crossed_view(X, labels)
    expected = [rest[[i, *partners[i]]].mean(axis=0) for i in range(11)]
    assert view.points == pytest.approx(np.array(expected))

    paths = [
        (i, k)
        for j in range(11)
        for i, k in itertools.permutations(partners[j], 2)
        if labels[i] != labels[k]
    ]
    assert view.agreement == pytest.approx(np.mean([k in partners[i] for i, k in paths]))
    sizes = np.bincount(labels)[labels]
    by_chance = np.mean([1 / max(sizes[i], sizes[k]) for i, k in paths])
    assert view.chance == pytest.approx(by_chance)


def test_a_structure_that_the_known_one_hides_is_seen(seed: int) -> None:
    X, person, light = faces(seed)
    view = crossed_view(X, person)
    rest = X - np.array([X[person == c].mean(axis=0) for c in range(12)])[person]
    ours = adjusted_rand(light, found(view.points, 15))
    assert ours >= 0.9
    assert ours >= adjusted_rand(light, found(rest, 15))
    assert view.agreement > 10 * view.chance
    assert adjusted_rand(person, found(view.points, 12)) < 0.1


def test_known_clusters_that_join_or_halve_groups_do_not_harm_the_others(seed: int) -> None:
    X, person, light = faces(seed)
    known = person.copy()
    known[person == 1] = 0
    known[np.flatnonzero(person == 2)[::2]] = 12
    others = person > 2
    view = crossed_view(X, known).points[others]
    apart = ((view[:, None] - view[None]) ** 2).sum(axis=2)
    apart[person[others][:, None] == person[others]] = np.inf
    assert (light[others][apart.argmin(axis=1)] == light[others]).mean() >= 0.95


def test_partners_of_noise_agree_by_chance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    view = crossed_view(rng.normal(size=(300, 400)), np.repeat(np.arange(6), 50))
    assert view.chance == pytest.approx(0.02)
    assert view.agreement < 2.5 * view.chance


def test_names_of_clusters_and_order_of_points_do_not_matter(seed: int) -> None:
    X, person, _ = faces(seed, persons=5, lights=6)
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    names = np.array(["e", "a", "d", "c", "b"])
    expected = crossed_view(X, person)
    other = crossed_view(X[order], names[person[order]])
    assert other.points == pytest.approx(expected.points[order], abs=1e-9)
    assert other.agreement == pytest.approx(expected.agreement)


def test_the_points_are_a_view_of_a_landscape() -> None:
    X, person, light = faces(0, lights=5)
    few = Landscape(5, n_samples=40, burn_in=20, n_chains=2, random_state=0, progress=False)
    seen = few.fit(X, views=crossed_view(X, person).points)
    assert max(adjusted_rand(light, c) for c in seen.representatives_.labels.T) >= 0.9


def test_floats_two_clusters_and_the_line_that_is_printed() -> None:
    X, person, _ = faces(0, persons=2, lights=4)
    view = crossed_view(X.astype(np.float32), person)
    assert view.points.dtype == np.float32
    assert np.isnan(view.agreement)
    assert np.isnan(view.chance)
    assert repr(view) == "CrossedView(8 points, 30 columns, agreement=nan, chance=nan)"
    # Distances of points that are alone are those of zeros: everybody is everybody's partner.
    alone = crossed_view(X, np.arange(8))
    assert not alone.points.any()
    assert alone.agreement == alone.chance == 1.0


def test_what_cannot_be_paired_is_refused() -> None:
    X, person, _ = faces(0, persons=3, lights=4)
    with pytest.raises(ValueError, match="one cluster"):
        crossed_view(X, np.zeros(12))
    with pytest.raises(ValueError, match=r"1 points? in no cluster"):
        crossed_view(X, np.where(np.arange(12) == 3, -1, person))
    with pytest.raises(ValueError, match="labels has 11 entries and X 12 rows"):
        crossed_view(X, person[:-1])
    with pytest.raises(TypeError, match="X is sparse"):
        crossed_view(sparse.csr_matrix(X), person)
    rows = pd.Index([f"p{i}" for i in range(12)])
    with pytest.raises(ValueError, match="X and labels have different row names"):
        crossed_view(pd.DataFrame(X, index=rows), pd.Series(person, index=rows[::-1]))
