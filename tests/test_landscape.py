"""Landscape finds different good partitions; groups, representatives and maps are what they say."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import Ensemble
from clusterscape._core.errors import ParameterError
from clusterscape.compare import (
    adjusted_rand,
    density_distance,
    density_distances,
    lift_emd,
    rand_distance,
)
from clusterscape.explore import (
    QUALITIES,
    Landscape,
    grouping,
    views,
    weighted_kernel_quality,
)

FEW = {"n_samples": 60, "burn_in": 5, "n_chains": 4, "n_generated": 0, "progress": False}


@parametrize_with_checks([Landscape(2, n_samples=8, burn_in=2, n_chains=2, random_state=0)])
def test_scikit_learn_contract(estimator, check) -> None:
    check(estimator)


def planted(
    seed: int, n: int = 240, gaps: tuple[float, ...] = (8.0, 7.0, 6.0)
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return points with three independent structures of three clusters on disjoint columns."""
    rng = np.random.default_rng(seed)
    columns, truths = [], []
    angles = 2 * np.pi * np.arange(3) / 3
    for gap in gaps:
        truths.append(rng.integers(3, size=n))
        centres = gap / np.sqrt(3) * np.column_stack([np.cos(angles), np.sin(angles)])
        columns.append(centres[truths[-1]] + rng.normal(size=(n, 2)))
    return np.hstack(columns), truths


def test_three_planted_clusterings_are_all_found(seed: int) -> None:
    X, truths = planted(seed)
    landscape = Landscape(3, n_samples=240, random_state=seed, progress=False).fit(X)
    shown = landscape.representatives_.labels.T
    assert all(max(adjusted_rand(truth, c) for c in shown) >= 0.9 for truth in truths)


def test_a_structure_that_two_stronger_ones_hide_is_among_the_generated(seed: int) -> None:
    """It is no optimum of the quality on all columns, so that no chain stays there."""
    X, truths = planted(seed, gaps=(14.0, 9.0, 5.0))
    how = {"n_samples": 24, "burn_in": 5, "random_state": seed, "progress": False}
    found = Landscape(3, n_generated=30, **how).fit(X)
    shown = found.ensemble_.labels.T[found.origin_ == "generated"]
    assert len(shown) == 30
    assert all(max(adjusted_rand(truth, c) for c in shown) >= 0.9 for truth in truths)
    sampled = found.ensemble_.labels.T[: found.sampler_.quality_.size]  # on all columns
    assert max(adjusted_rand(truths[2], c) for c in sampled) < 0.9
    of_views = found.ensemble_.labels.T[len(sampled) :][found.origin_[len(sampled) :] == "sampled"]
    assert max(adjusted_rand(truths[2], c) for c in of_views) >= 0.9


def test_what_is_left_shows_structures_that_no_columns_show(seed: int) -> None:
    """Every column of turned points has a part of every structure."""
    X, truths = planted(seed, gaps=(14.0, 9.0, 6.0))
    turned = X @ np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0]
    left = views.remaining_views(turned, [], [3], 12, np.random.SeedSequence(seed))
    assert len(left) == 2
    for table, truth in zip(left, truths[1:], strict=True):
        labels = views.fitted(table, 3, np.random.SeedSequence(0), n_init=10)
        assert adjusted_rand(labels, truth) >= 0.9
    # A table that shows the second structure already, and one view at most.
    known = [X[:, 2:4]]
    assert len(views.remaining_views(turned, known, [3], 12, np.random.SeedSequence(seed))) == 1
    assert len(views.remaining_views(turned, [], [3], 1, np.random.SeedSequence(seed))) == 1
    cloud = np.random.default_rng(seed).normal(size=(240, 6))
    assert views.remaining_views(cloud, [], [2, 3], 12, np.random.SeedSequence(seed)) == []
    assert views.remaining_views(turned, [], [1], 12, np.random.SeedSequence(seed)) == []


def two_tables(n: int = 120) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return two tables of the same points, each with clusters of its own, and the clusters."""
    rng = np.random.default_rng(0)
    truths = [rng.integers(3, size=n) for _ in range(2)]
    return [np.eye(3)[t] * 6 + rng.normal(size=(n, 3)) for t in truths], truths


def test_given_tables_have_chains_a_quality_and_a_representative() -> None:
    (X, other), truths = two_tables()
    how = {"n_samples": 60, "n_chains": 4, "burn_in": 20, "random_state": 0, "progress": False}
    for grouping_by in grouping.GROUPINGS:
        found = Landscape(3, n_generated=0, n_representatives=2, grouping=grouping_by, **how).fit(
            X, views=other
        )
        assert found.view_kinds_ == ["table"]
        assert found.views_ == []
        (sampler,) = found.view_samplers_
        assert sampler.quality_.size == 30
        assert found.quality_.size == 30 + found.sampler_.quality_.size
        shown = found.representatives_.labels.T
        for truth in truths:
            assert max(adjusted_rand(truth, c) for c in shown) == 1
        assert sorted(found.view_[found.representative_indices_]) == [-1, 0]
    i = int(found.representative_indices_[found.view_[found.representative_indices_] == 0][0])
    assert found.quality_[i] == pytest.approx(
        weighted_kernel_quality(X, found.ensemble_.labels[:, i])
    )
    # Alone, X shows its own clusters only.
    alone = Landscape(3, n_generated=0, n_representatives=2, **how).fit(X)
    assert max(adjusted_rand(truths[1], c) for c in alone.representatives_.labels.T) < 0.5
    # The same table again is no other finding.
    same = Landscape(3, n_generated=0, n_representatives=2, **how).fit(X, views=[other, X])
    assert max(adjusted_rand(truths[1], c) for c in same.representatives_.labels.T) == 1


def test_the_best_of_each_view_is_shown_where_grouping_would_join_them() -> None:
    rng = np.random.default_rng(0)
    strong = rng.integers(3, size=120)
    near = np.where(rng.random(120) < 0.2, rng.integers(3, size=120), strong)
    X, other = (np.eye(3)[t] * 7 + rng.normal(size=(120, 3)) for t in (strong, near))
    far = [rng.integers(3, size=120)]
    few = Landscape(3, n_samples=60, n_chains=4, burn_in=20, n_generated=0, n_representatives=2)
    for grouping_by in grouping.GROUPINGS:
        few.set_params(random_state=0, progress=False, grouping=grouping_by)
        shown = few.fit(X, views=other, ensemble=Ensemble.from_labels(far)).representatives_
        for truth in (strong, near):
            assert max(adjusted_rand(truth, c) for c in shown.labels.T) >= 0.95


def test_samples_of_views_are_kept_beside_those_of_the_table(tmp_path) -> None:
    (X, other), _ = two_tables(60)
    how = {"n_samples": 24, "n_chains": 2, "burn_in": 5, "random_state": 0, "progress": False}
    first, again = (
        Landscape(3, n_generated=0, store=tmp_path / "kept", **how).fit(X, views=[other])
        for _ in range(2)
    )
    assert first.ensemble_ == again.ensemble_
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "kept-view-0"]


def test_views_that_are_not_of_the_points_are_refused() -> None:
    X = pd.DataFrame(corners())
    few = Landscape(2, random_state=0, **FEW)
    with pytest.raises(ValueError, match="views has 3 rows and X 48"):
        few.fit(X, views=np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"views\[1\] has 3 rows"):
        few.fit(X, views=[corners(), np.zeros((3, 2))])
    with pytest.raises(ValueError, match=r"views\[0\].*NaN|views\[0\].*missing"):
        few.fit(X, views=[np.full((48, 2), np.nan)])
    with pytest.raises(ValueError, match="different row names"):
        few.fit(
            X.set_axis([f"a{i}" for i in range(48)]), views=X.set_axis([f"b{i}" for i in range(48)])
        )
    with pytest.raises(ValueError, match="kernel='precomputed' X is none"):
        Landscape(2, kernel="precomputed", **FEW).fit(np.eye(48), views=corners())


def test_directions_of_a_partition_are_taken_out() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 3
    X = rng.normal(size=(90, 5)) + 4.0 * rng.normal(size=(3, 5))[labels]
    left = X - X.mean(axis=0)
    before = left.copy()
    views.without_directions(left, labels, 3)
    means = np.array([left[labels == j].mean(axis=0) for j in range(3)])
    assert np.abs(means).max() < 1e-12
    assert np.linalg.matrix_rank(left) == 3
    # What is orthogonal to the means stays: an orthogonal projection is its own square.
    again = left.copy()
    views.without_directions(again, labels, 3)
    assert again == pytest.approx(left, abs=1e-9)
    assert ((before - left) * left).sum() == pytest.approx(0.0, abs=1e-8)


def test_related_columns_are_found_together() -> None:
    """Two sets of columns that vary together: each gives its own partition."""
    rng = np.random.default_rng(1)
    truths = rng.integers(3, size=(2, 150))
    axes = rng.normal(size=(2, 12))
    X = np.hstack([2.5 * (t[:, None] - 1.0) * a for t, a in zip(truths, axes, strict=True)])
    X += rng.normal(size=X.shape)
    seen = views._by_related(X, 3, np.random.SeedSequence(0))
    shown = [next(seen) for _ in range(12)]
    assert all(max(adjusted_rand(truth, c) for c in shown) >= 0.9 for truth in truths)


def test_partitions_that_several_views_show() -> None:
    same, other = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    almost = same.copy()
    almost[0] = 1
    assert views.recurrence([same, almost, 1 - same, other]) == pytest.approx([1, 1, 1, 1 / 3])


TINY = {
    "one point": (np.zeros((1, 2)), 1),
    "two points": (np.array([[0.0, 0.0], [1.0, 1.0]]), 2),
    "one place": (np.ones((12, 3)), 3),
    "two places": (np.repeat([[0.0, 0.0], [1.0, 1.0]], 6, axis=0), 3),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize(
    "quality", [*QUALITIES, lambda X, labels: 1.0], ids=[*QUALITIES, "own function"]
)
def test_few_or_equal_points_have_an_answer(name: str, quality) -> None:
    X, k = TINY[name]
    how = {"n_samples": 12, "burn_in": 3, "n_chains": 4, "random_state": 0, "progress": False}
    found = Landscape(k, quality=quality, n_generated=3, **how).fit(X)
    assert np.isfinite(found.quality_).all()
    assert np.isfinite(found.distances_).all()
    assert np.isfinite(found.to_frame()[["share", "relative_quality", "x", "y"]]).all(axis=None)
    with pytest.raises(ParameterError, match=f"X has {len(X)}"):
        Landscape(len(X) + 1, quality=quality, **how).fit(X)


def corners() -> np.ndarray:
    rng = np.random.default_rng(0)
    places = np.array([[0, 0], [0, 8], [8, 0], [8, 8]])
    return np.repeat(places, 12, axis=0) + rng.normal(size=(48, 2))


@pytest.mark.parametrize("how", grouping.GROUPINGS)
@pytest.mark.parametrize("distance", ["lift_emd", "density", "vi", "adjusted_rand"])
def test_the_findings_agree_with_each_other(how: str, distance: str) -> None:
    found = Landscape(
        2, distance=distance, grouping=how, n_representatives=3, random_state=0, **FEW
    ).fit(corners())
    m, g = found.ensemble_.n_partitions, found.representatives_.n_partitions
    assert m == 60
    assert found.groups_.max() + 1 == g <= 3
    assert np.bincount(found.groups_) / m == pytest.approx(found.group_share_)
    assert (np.diff(found.group_share_) <= 0).all()
    best = [found.quality_[found.groups_ == j].max() for j in range(g)]
    assert found.quality_[found.representative_indices_] == pytest.approx(best)
    assert (found.groups_[found.representative_indices_] == np.arange(g)).all()
    assert found.counts_.sum() == m
    assert (found.distances_ == found.distances_.T).all()
    frame = found.to_frame()
    assert frame["share"].sum() == pytest.approx(1)
    assert len(frame) == g
    assert np.isfinite(found.embedding_).all()


def test_quality_is_that_of_the_partitions() -> None:
    X = corners()
    found = Landscape(2, random_state=0, **(FEW | {"n_generated": 4})).fit(X)
    assert list(dict.fromkeys(found.origin_)) == ["sampled", "generated"]
    for i in (0, 30, 60, 63):
        expected = weighted_kernel_quality(X, found.ensemble_.labels[:, i])
        assert found.quality_[i] == pytest.approx(expected, rel=1e-9)


def test_a_given_ensemble_alone() -> None:
    X = corners()
    left, low = np.repeat([0, 0, 1, 1], 12), np.repeat([0, 1, 0, 1], 12)
    noisy = left.copy()
    noisy[:3] = -1
    given = Ensemble.from_labels([left, low, 1 - left, noisy])
    found = Landscape(n_samples=0, n_representatives=2).fit(X, ensemble=given)
    assert found.sampler_ is None
    assert found.n_compared_ == 3
    assert sorted(found.counts_) == [1, 1, 2]
    assert found.ensemble_.n_clusters.tolist() == [2, 2, 2, 3]
    assert found.groups_[0] == found.groups_[2] != found.groups_[1]


def test_random_features_judge_all_partitions_alike() -> None:
    """A partition that was sampled has the same quality when it is given as well."""
    rng = np.random.default_rng(0)
    X = np.repeat(corners(), 66, axis=0) + 0.1 * rng.normal(size=(48 * 66, 2))
    how = {**FEW, "n_samples": 4, "n_chains": 2, "power": 1.0, "random_state": 0}
    sampled = Landscape(2, **how).fit(X).ensemble_
    again = Landscape(2, **how).fit(X, ensemble=sampled)
    assert again.sampler_.n_random_features_ == 200
    given = again.quality_[again.origin_ == "given"]
    np.testing.assert_allclose(given, again.quality_[again.origin_ == "sampled"], rtol=1e-12)


def test_given_partitions_of_other_points_are_refused() -> None:
    names = [f"p{i}" for i in range(48)]
    frame = pd.DataFrame(corners(), index=names, columns=["u", "v"])
    labels = pd.DataFrame({"left": np.repeat([0, 0, 1, 1], 12)}, index=names)
    with pytest.raises(ValueError, match="X and ensemble have different row names, at row 0"):
        Landscape(2, n_samples=0).fit(frame, ensemble=labels[::-1])
    found = Landscape(2, n_samples=0).fit(frame, ensemble=labels)
    assert list(found.ensemble_.index) == names
    # Names that X lacks are kept.
    found = Landscape(2, random_state=0, **FEW).fit(frame.to_numpy(), ensemble=labels)
    assert list(found.representatives_.index) == names


def test_more_partitions_than_may_be_compared() -> None:
    X = corners()
    how = {**FEW, "n_samples": 200, "power": 20.0, "random_state": 0, "n_representatives": 4}
    found = Landscape(2, max_compared=30, **how).fit(X)
    assert found.n_compared_ == 30
    assert np.argmax(found.relative_quality_) in found.representative_indices_
    first, inverse = found.ensemble_.distinct()
    others = ~np.isin(first[inverse], found.compared_)
    for i in np.flatnonzero(others)[:40]:
        c = found.ensemble_.labels[:, i]
        apart = [lift_emd(c, r, X) for r in found.representatives_.labels.T]
        assert apart[found.groups_[i]] == pytest.approx(min(apart))
    assert np.isnan(found.embedding_).any()
    assert np.isfinite(found.embedding_[found.compared_]).all()
    # What was made or given on purpose is compared, unless there is too much of it.
    given = np.random.default_rng(0).integers(2, size=(len(X), 8))
    both = Landscape(2, max_compared=30, **how).fit(X, ensemble=given)
    first, inverse = both.ensemble_.distinct()
    assert both.n_compared_ == 30
    assert np.isin(first[inverse][both.origin_ != "sampled"], both.compared_).all()
    many = np.random.default_rng(0).integers(2, size=(len(X), 60))
    assert Landscape(2, n_samples=0, max_compared=30).fit(X, ensemble=many).n_compared_ == 30


def test_the_same_for_any_number_of_workers() -> None:
    one, two = (Landscape([2, 3], random_state=3, n_jobs=j, **FEW).fit(corners()) for j in (1, 2))
    assert one.ensemble_ == two.ensemble_
    assert one.distances_.tobytes() == two.distances_.tobytes()
    assert (one.representative_indices_ == two.representative_indices_).all()
    assert set(one.representatives_.n_clusters) == {2, 3}


def test_what_cannot_be_looked_at_is_refused() -> None:
    X = corners()
    with pytest.raises(ParameterError, match="n_samples=0 and no ensemble"):
        Landscape(n_samples=0).fit(X)
    with pytest.raises(ValueError, match="3 points and X 48 rows"):
        Landscape(n_samples=0).fit(X, ensemble=[[0, 1, 1]])
    soft = Ensemble.from_labels([np.full((48, 2), 0.5)])
    with pytest.raises(ValueError, match="soft partitions"):
        Landscape(n_samples=0).fit(X, ensemble=soft)
    unseen = np.zeros(48, dtype=int)
    unseen[0] = -2
    with pytest.raises(ValueError, match="did not sample all points"):
        Landscape(n_samples=0).fit(X, ensemble=[unseen])


@given(st.integers(0, 2**32 - 1), st.integers(4, 30), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_those_to_be_shown_are_in_groups_of_their_own(seed: int, m: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    distances = squareform(pdist(rng.normal(size=(m, 2))))
    shown = rng.permutation(m)[: rng.integers(0, min(k, m) + 1)]
    counts, quality = np.ones(m), rng.random(m)
    for how in grouping.GROUPINGS:
        groups = grouping.grouped_apart(distances, counts, quality, k, shown, how=how)
        assert np.unique(groups).tolist() == list(range(groups.max() + 1))
        assert groups.max() < k
        assert np.unique(groups[shown]).size == shown.size
        plain = grouping.grouped(distances, counts, quality, k, how=how)
        if np.unique(plain[shown]).size == shown.size:
            assert (groups == plain).all()


# -- groups and maps ----------------------------------------------------------------------------


def line(m: int = 25) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(m, 3))


def test_average_linkage_counts_partitions_as_often_as_they_were_sampled() -> None:
    points = line()
    counts = np.random.default_rng(1).integers(1, 5, size=25)
    copies = np.repeat(np.arange(25), counts)
    expected = fcluster(linkage(points[copies], "average"), 6, "maxclust")
    first = np.searchsorted(copies, np.arange(25))
    distances = squareform(pdist(points))
    found = grouping.grouped(distances, counts, np.ones(25), 6, how="average")
    assert adjusted_rand(found, expected[first]) == 1.0


def test_farthest_first_is_within_twice_the_best_radius() -> None:
    distances = squareform(pdist(line(12)))
    groups = grouping.farthest_first(distances, 0, 3)

    def radius(centres) -> float:
        return distances[:, list(centres)].min(axis=1).max()

    best = min(radius(c) for c in itertools.combinations(range(12), 3))
    centres = [0]
    for _ in range(2):
        centres.append(int(distances[:, centres].min(axis=1).argmax()))
    assert (groups == distances[:, centres].argmin(axis=1)).all()
    assert radius(centres) <= 2 * best


def test_the_map_of_points_in_a_plane_keeps_their_distances() -> None:
    points = line()[:, :2]
    distances = squareform(pdist(points))
    place, share = grouping.plane_of(distances, np.arange(1.0, 26.0))
    assert squareform(pdist(place)) == pytest.approx(distances, abs=1e-9)
    assert share == pytest.approx(1.0)


# -- density-based distances --------------------------------------------------------------------


@pytest.mark.parametrize("symmetric", [None, "mean", "max", "min"])
def test_density_distance_counts_what_is_nearer(symmetric: str | None) -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(3, size=(8, 20))
    counts = rng.integers(1, 4, size=8)
    sample = np.repeat(base, counts, axis=0)
    apart = np.array([[rand_distance(a, b) for b in base] for a in base])
    found = density_distances(apart, counts, symmetric=symmetric)
    for p, q in itertools.permutations(range(8), 2):
        ranks = []
        for seen, other in ((p, q), (q, p)):
            near = [rand_distance(base[seen], r) < apart[seen, other] for r in sample]
            ranks.append(sum(near) - 1)  # without itself
        expected = {None: ranks[0], "mean": sum(ranks) / 2, "max": max(ranks), "min": min(ranks)}
        assert found[p, q] == expected[symmetric]
        one = density_distance(
            base[p], base[q], list(sample), metric="rand_distance", symmetric=symmetric
        )
        assert one == expected[symmetric]


def test_density_distances_refuse_what_is_no_distance() -> None:
    with pytest.raises(ValueError, match="square matrix"):
        density_distances(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="finite and not negative"):
        density_distances([[0, -1], [-1, 0]])
