"""Cells of points among centres: areas and volumes, hulls, hit-and-run, the rules outside."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.random import SeedSequence
from scipy.optimize import minimize
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.stats import kstest

from clusterscape import kernels
from clusterscape.linalg import sample_polytope
from clusterscape.linalg.cells import (
    Sampling,
    Sites,
    check_exact,
    natural_neighbors,
    sample_size,
)


def case(seed: int, k: int, r: int, n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return random centres, and points inside of their hull."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, r))
    return centers, rng.dirichlet(np.ones(k), size=n) @ centers


def shares(points: np.ndarray, centers: np.ndarray, **options):
    k = centers.shape[-2]
    weights = options.pop("weights", np.zeros(k))
    return natural_neighbors(points, Sites(centers, weights, **options), SeedSequence(0))


def by_qhull(x: np.ndarray, centers: np.ndarray, weights: np.ndarray, own: float) -> np.ndarray:
    """Return the shares of one bounded cell by qhull's half-space intersection."""

    def volume(rows: np.ndarray, offsets: np.ndarray) -> float:
        from scipy.optimize import linprog

        norms = np.linalg.norm(rows, axis=1)
        cost = np.zeros(rows.shape[1] + 1)
        cost[-1] = -1
        found = linprog(
            cost, A_ub=np.column_stack([rows, norms]), b_ub=offsets, bounds=(None, None)
        )
        if found.status != 0 or found.x[-1] < 1e-9:
            return 0.0
        spaces = np.column_stack([rows, -offsets])
        corners = HalfspaceIntersection(spaces, found.x[:-1]).intersections
        return float(ConvexHull(corners).volume)

    away = centers - x
    rows, offsets = 2 * away, (away**2).sum(axis=1) - weights + own
    total = volume(rows, offsets)
    parts = []
    for i in range(len(centers)):
        others = [j for j in range(len(centers)) if j != i]
        more = np.vstack([rows, rows[others] - rows[i]])
        level = np.concatenate([offsets, offsets[others] - offsets[i]])
        parts.append(volume(more, level) / total)
    return np.array(parts)


# ---- exact shares -------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "r"), [(3, 1), (6, 1), (3, 2), (4, 2), (9, 2), (4, 3), (8, 3)])
def test_weighted_mean_of_the_centres_is_the_point(k: int, r: int, seed: int) -> None:
    """T-03: Sibson's identity; a centre alone and exact against sampled shares are below."""
    centers, points = case(seed, k, r)
    found = shares(points, centers)
    assert not found.outside.any()
    assert np.abs(found.shares.sum(axis=1) - 1).max() < 1e-12
    assert (found.shares >= 0).all()
    assert np.abs(found.shares @ centers - points).max() < 1e-9  # Sibson's identity
    assert not found.samples.any()
    assert not found.errors.any()


@pytest.mark.parametrize(("k", "r"), [(6, 2), (7, 3)])
def test_shares_are_those_of_qhull(k: int, r: int, seed: int) -> None:
    centers, points = case(seed, k, r, n=8)
    rng = np.random.default_rng(seed)
    for weights, own in ((np.zeros(k), 0.0), (rng.uniform(0, 0.2, k), 0.25)):
        found = shares(points, centers, weights=weights, point_weight=own)
        for x, row in zip(points, found.shares, strict=True):
            assert row == pytest.approx(by_qhull(x, centers, weights, own), abs=1e-7)


@pytest.mark.parametrize(("k", "r"), [(7, 2), (6, 3), (5, 4)])
def test_identity_holds_for_power_cells(k: int, r: int, seed: int) -> None:
    centers, points = case(seed, k, r)
    weights = np.random.default_rng(seed).uniform(0, 0.1, k)
    found = shares(points, centers, weights=weights, point_weight=0.2)
    assert not found.empty.any()
    assert np.abs(found.shares @ centers - points).max() < 1e-9


@pytest.mark.parametrize("bound", ["project", "limit", "nearest"])
@pytest.mark.parametrize(("k", "r"), [(6, 2), (4, 2), (7, 3)])
def test_moving_turning_and_scaling_change_nothing(bound: str, k: int, r: int, seed: int) -> None:
    """T-04."""
    centers, _ = case(seed, k, r)
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, r))
    if bound == "limit" and r > 2:
        points = points[:0]  # sampled
    turn = np.linalg.qr(rng.normal(size=(r, r)))[0]
    first = shares(points, centers, bound=bound).shares
    moved = shares(3 * points @ turn + 7, 3 * centers @ turn + 7, bound=bound).shares
    assert np.abs(first - moved).max(initial=0) < 1e-9


def test_a_centre_belongs_to_itself() -> None:
    for k, r in ((5, 2), (4, 3), (3, 2), (9, 4)):
        centers, _ = case(0, k, r)
        assert shares(centers, centers).shares == pytest.approx(np.eye(k), abs=1e-9)


def test_neighbours_on_a_line_share_by_distance() -> None:
    centers = np.array([[0.0], [1.0], [4.0]])
    found = shares(np.array([[0.25], [2.0], [-3.0], [9.0]]), centers)
    expected = [[0.75, 0.25, 0], [0, 2 / 3, 1 / 3], [1, 0, 0], [0, 0, 1]]
    assert found.shares == pytest.approx(np.array(expected), abs=1e-7)
    assert found.outside.tolist() == [False, False, True, True]


def test_two_centres_in_any_dimension_have_a_closed_form() -> None:
    centers = np.array([[-1.0], [1.0]])
    for bound in ("project", "limit"):
        found = shares(np.array([[0.5], [2.0]]), centers, bound=bound)
        assert found.shares == pytest.approx(np.array([[0.25, 0.75], [0, 1]]), abs=1e-9)


# ---- hulls --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "r"), [(5, 2), (12, 2), (10, 9), (9, 4), (3, 2)])
def test_nearest_points_of_hulls(k: int, r: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    centers, points = rng.normal(size=(k, r)), 2 * rng.normal(size=(30, r))
    weights, squares = np.empty((30, k)), np.empty(30)
    kernels.hull.nearest(centers[None], points, np.zeros((30, k)), weights, squares)
    assert weights.sum(axis=1) == pytest.approx(np.ones(30))
    assert (weights >= 0).all()
    places = weights @ centers
    assert ((places - points) ** 2).sum(axis=1) == pytest.approx(squares, abs=1e-12)
    # No centre lies beyond the plane through the place across the way to the point: the optimum.
    away = points - places
    beyond = (centers[None] - places[:, None]) @ away[:, :, None]
    assert beyond.max() < 1e-9
    best = minimize(
        lambda w: ((w @ centers - points[0]) ** 2).sum(),
        np.full(k, 1 / k),
        bounds=[(0, 1)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert squares[0] == pytest.approx(best.fun, abs=1e-5)


@pytest.mark.parametrize("bound", ["project", "limit"])
@pytest.mark.parametrize(("k", "r"), [(3, 2), (6, 2)])
def test_rules_are_continuous_across_the_hull(bound: str, k: int, r: int, seed: int) -> None:
    centers, inside = case(seed, k, r, n=4)
    outside = 4 * np.abs(centers).max() * np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
    ways = np.linspace(0, 1, 4001)[:, None]
    for a, b in zip(inside, outside, strict=True):
        found = shares(a + ways * (b - a), centers, bound=bound)
        assert 0 < found.outside.sum() < len(ways)
        assert np.abs(np.diff(found.shares, axis=0)).max() < 0.05


def test_a_face_with_more_centres_than_it_needs_is_solved_in_itself() -> None:
    # Four corners of a square are one face of the cube: bilinear-like shares, not three corners'.
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    found = shares(np.array([[0.5, 0.5, 2.0], [0.25, 0.5, -1.0]]), corners)
    plane = shares(np.array([[0.5, 0.5], [0.25, 0.5]]), corners[::2, :2])
    assert found.outside.all()
    assert found.shares[0, 1::2] == pytest.approx(plane.shares[0], abs=1e-6)
    assert found.shares[1, ::2] == pytest.approx(plane.shares[1], abs=1e-6)
    assert found.shares[0, 1::2] == pytest.approx(np.full(4, 0.25), abs=1e-6)


def test_points_on_the_border_of_a_hull_in_four_dimensions() -> None:
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * 4, indexing="ij"), -1).reshape(-1, 4)
    found = shares(np.array([[0.5, 0.5, 0.5, 1.0]]), corners, sampling=Sampling(eps=0.1))
    assert found.shares.sum() == pytest.approx(1)
    assert found.shares[0, corners[:, 3] == 0].max() == 0
    assert found.shares[0, corners[:, 3] == 1] == pytest.approx(np.full(8, 1 / 8), abs=1e-6)


def test_directions_are_the_limit_of_growing_squares() -> None:
    centers, _ = case(3, 6, 2)
    points = 1.5 * np.random.default_rng(3).normal(size=(40, 2))
    limit = shares(points, centers, bound="limit")
    away = limit.outside
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200_000)
    rays = np.stack([np.cos(angle), np.sin(angle)])
    for x in points[away][:10]:
        inside = ((centers - x) @ rays <= 0).all(axis=0)
        owner = (centers @ rays[:, inside]).argmax(axis=0)
        expected = np.bincount(owner, minlength=6) / inside.sum()
        row = limit.shares[np.flatnonzero((points == x).all(axis=1))[0]]
        assert np.abs(row - expected).max() < 5 / np.sqrt(inside.sum())


def test_a_box_cuts_only_cells_that_are_not_bounded() -> None:
    centers, inside = case(1, 6, 2)
    outside = 5 * np.random.default_rng(1).normal(size=(50, 2))
    box = np.array([[-4.0, -4.0], [4.0, 4.0]])
    for points in (inside, outside):
        found = shares(points, centers, bound="box", box=box)
        assert (found.clipped == found.outside).all()
    assert shares(inside, centers, bound="box", box=box).shares == pytest.approx(
        shares(inside, centers).shares, abs=1e-12
    )
    # By counting uniform points of the box.
    rng = np.random.default_rng(2)
    far = np.array([[3.0, -2.0]])
    found = shares(far, centers, bound="box", box=box)
    dots = rng.uniform(-4, 4, size=(400_000, 2))
    squares = ((dots[:, None] - centers) ** 2).sum(axis=2)
    mine = ((dots - far[0]) ** 2).sum(axis=1) < squares.min(axis=1)
    expected = np.bincount(squares[mine].argmin(axis=1), minlength=6) / mine.sum()
    assert np.abs(found.shares[0] - expected).max() < 0.01


# ---- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "r"), [(3, 2), (6, 2), (6, 3), (9, 4)])
def test_cells_that_are_empty_go_to_the_nearest_by_power(k: int, r: int) -> None:
    centers, points = case(0, k, r, n=30)
    weights = np.zeros(k)
    weights[0] = 100.0
    found = shares(points, centers, weights=weights, sampling=Sampling(eps=0.2))
    assert found.empty.all()
    assert found.shares[:, 0] == pytest.approx(np.ones(len(points)))


def test_equal_weights_change_nothing() -> None:
    centers, points = case(0, 6, 2)
    same = shares(points, centers, weights=np.full(6, 3.0), point_weight=3.0)
    assert same.shares == pytest.approx(shares(points, centers).shares, abs=1e-12)


# ---- sampling -----------------------------------------------------------------------------------


def test_number_of_samples_of_the_bound() -> None:
    assert sample_size(0.04) == 1006
    assert sample_size(0.02) > 4 * sample_size(0.04)


@pytest.mark.parametrize(("k", "r"), [(5, 2), (8, 2), (5, 3), (8, 3)])
def test_sampling_errors_are_within_the_stated_bound(k: int, r: int, seed: int) -> None:
    centers, points = case(seed, k, r, n=200)
    exact = shares(points, centers).shares
    found = shares(points, centers, method="sampling")
    assert (found.samples > 0).all()
    error = np.abs(found.shares - exact).max(axis=1)
    assert np.mean(error <= 0.04) >= 0.99
    z = (found.shares - exact)[found.errors > 1e-3] / found.errors[found.errors > 1e-3]
    assert 0.7 < np.sqrt(np.mean(z**2)) < 1.4  # standard errors are what they say


def test_sampling_in_nine_dimensions_finds_barycentric_coordinates(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(10, 9))
    weights = rng.dirichlet(np.ones(10), size=150)
    found = shares(weights @ centers, centers, method="sampling")
    error = np.abs(found.shares - weights).max(axis=1)
    assert np.mean(error <= 0.04) >= 0.98
    assert np.median(error) < 0.02


def test_sampling_in_a_box_agrees_with_rejection(seed: int) -> None:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(6, 5))
    box = np.stack([np.full(5, -2.5), np.full(5, 2.5)])
    points = np.clip(rng.normal(size=(6, 5)), -2, 2)  # a box is widened for points beyond it
    found = shares(points, centers, bound="box", box=box, method="sampling")
    dots = rng.uniform(-2.5, 2.5, size=(400_000, 5))
    squares = ((dots[:, None] - centers) ** 2).sum(axis=2)
    for x in np.flatnonzero(found.outside):
        mine = ((dots - points[x]) ** 2).sum(axis=1) < squares.min(axis=1)
        expected = np.bincount(squares[mine].argmin(axis=1), minlength=6) / mine.sum()
        assert np.abs(found.shares[x] - expected).max() < 0.04 + 3 / np.sqrt(mine.sum())


def test_more_samples_are_taken_for_a_smaller_error() -> None:
    centers, points = case(0, 8, 4, n=10)
    rough = shares(points, centers, sampling=Sampling(eps=0.1))
    fine = shares(points, centers, sampling=Sampling(eps=0.02))
    fixed = shares(points, centers, sampling=Sampling(n_samples=64))
    assert fine.samples.mean() > 4 * rough.samples.mean()
    assert (fixed.samples == 64).all()
    assert fine.errors.max() <= 0.02


def test_a_simplex_is_sampled_uniformly(seed: int) -> None:
    """T-20: means and the share near the border are those of independent Dirichlet points."""
    rng = np.random.default_rng(seed)
    for r in (2, 5):
        A = np.vstack([-np.eye(r), np.ones((1, r))])
        b = np.append(np.zeros(r), 1.0)
        walk = sample_polytope(A, b, 20_000, thin=4 * r, seed=seed)
        free = rng.dirichlet(np.ones(r + 1), size=20_000)[:, :r]
        assert (walk > 0).all()
        assert (walk.sum(axis=1) < 1).all()
        assert walk.mean(axis=0) == pytest.approx(np.full(r, 1 / (r + 1)), abs=0.015)
        near = [np.mean((b - p @ A.T).min(axis=1) < 0.02) for p in (walk, free)]
        assert near[0] == pytest.approx(near[1], abs=0.015)
        # One coordinate is Beta(1, r).
        assert kstest(walk[::5, 0], "beta", args=(1, r)).pvalue > 1e-4


def test_long_bodies_are_rounded() -> None:
    A = np.vstack([np.eye(3), -np.eye(3)])
    b = np.array([1.0, 1e3, 1e-3, 0.0, 0.0, 0.0])
    walk = sample_polytope(A, b, 20_000, thin=6, seed=0)
    assert walk.mean(axis=0) / b[:3] == pytest.approx(np.full(3, 0.5), abs=0.03)
    assert walk.std(axis=0) / b[:3] == pytest.approx(np.full(3, 12**-0.5), abs=0.02)


def test_polytopes_without_a_uniform_distribution_are_refused() -> None:
    with pytest.raises(ValueError, match="no interior"):
        sample_polytope([[1.0], [-1.0]], [0.0, -1.0], 5)
    with pytest.raises(ValueError, match="not bounded"):
        sample_polytope([[1.0, 0.0]], [1.0], 5)
    with pytest.raises(ValueError, match="not strictly inside"):
        sample_polytope([[1.0], [-1.0]], [1.0, 0.0], 5, start=[2.0])
    with pytest.raises(ValueError, match=r"got the shapes \(2, 1\) and \(3,\)"):
        sample_polytope([[1.0], [-1.0]], [1.0, 0.0, 0.0], 5)


def test_exact_is_refused_where_there_is_only_sampling() -> None:
    centers, _ = case(0, 9, 4)
    with pytest.raises(ValueError, match="9 centres in 4 dimensions"):
        check_exact(Sites(centers, np.zeros(9), method="exact"))
    check_exact(Sites(centers[:5], np.zeros(5), method="exact"))
