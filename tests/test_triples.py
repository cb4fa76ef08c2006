"""The triples of partitions: equal for sets of points, different in space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from clusterscape import compare
from clusterscape.datasets.triples import Triple, make_2d2c, make_2d3c

SETS = ("rand_distance", "adjusted_rand", "jaccard_distance", "mirkin", "nmi", "vi", "nvi")
IN_SPACE = ("adco", "cdistance", "lift_emd", "lift_kernel", "lift_hausdorff")
seeds = st.integers(0, 2**32 - 1)


def tables(triple: Triple) -> list[np.ndarray]:
    """Return the contingency tables of the reference with both others."""
    k = triple.reference.max() + 1
    found = []
    for other in (triple.near, triple.far):
        table = np.zeros((k, k), dtype=int)
        np.add.at(table, (triple.reference, other), 1)
        found.append(table)
    return found


@given(seeds)
def test_2d2c_has_two_clusters_of_45_points_and_equal_tables(seed: int) -> None:
    triple = make_2d2c(random_state=seed)
    assert triple.X.shape == (45, 2)
    assert triple.X.dtype == np.float64
    assert np.bincount(triple.reference).tolist() == [23, 22]
    near, far = tables(triple)
    assert near.tolist() == far.tolist() == [[17, 6], [6, 16]]


def test_2d3c_has_three_clusters_of_24_points_and_equal_tables_up_to_order() -> None:
    triple = make_2d3c()
    assert triple.X.shape == (24, 2)
    assert len(np.unique(triple.X, axis=0)) == 24
    assert np.bincount(triple.reference).tolist() == [8, 8, 8]
    near, far = tables(triple)
    assert near.tolist() == [[6, 2, 0], [2, 6, 0], [0, 0, 8]]
    order = [0, 2, 1]
    assert near.tolist() == far[np.ix_(order, order)].tolist()


@pytest.mark.parametrize("make", [make_2d2c, make_2d3c])
@pytest.mark.parametrize("name", SETS)
def test_measures_of_sets_tie(make, name: str) -> None:
    triple = make()
    measure = getattr(compare, name)
    near, far = (measure(triple.reference, other) for other in (triple.near, triple.far))
    assert near == pytest.approx(far, abs=1e-14)
    assert near != pytest.approx(float(measure(triple.reference, triple.reference)), abs=1e-3)


@pytest.mark.parametrize("make", [make_2d2c, make_2d3c])
@pytest.mark.parametrize("name", IN_SPACE)
def test_measures_in_space_find_the_near_one_nearer(make, name: str) -> None:
    triple = make()
    measure = getattr(compare, name)
    near, far = (measure(triple.reference, other, triple.X) for other in (triple.near, triple.far))
    assert 0 < near < far - 0.05


@pytest.mark.parametrize("name", [name for name in IN_SPACE if name != "adco"])
def test_the_order_holds_for_other_seeds(name: str) -> None:
    measure = getattr(compare, name)
    for seed in range(1, 6):
        t = make_2d2c(random_state=seed)
        assert measure(t.reference, t.near, t.X) < measure(t.reference, t.far, t.X)


@given(seeds)
def test_moved_points_of_2d2c_are_those_that_a_projection_ranks_first(seed: int) -> None:
    triple = make_2d2c(random_state=seed)
    x, y = triple.X.T
    # near: the highest of the lower cluster, the lowest of the upper; far: rightmost, leftmost.
    for labels, height in ((triple.near, y), (triple.far, x)):
        for cluster, score in ((0, height), (1, -height)):
            mine = triple.reference == cluster
            moved = mine & (labels != triple.reference)
            assert moved.sum() == 6
            assert score[moved].min() >= score[mine & ~moved].max()


def test_moved_points_of_2d3c_are_the_closest_and_the_most_distant() -> None:
    triple = make_2d3c()
    parts = [np.flatnonzero(triple.reference == k) for k in range(3)]
    centres = np.array([triple.X[part].mean(axis=0) for part in parts])
    distance = cdist(triple.X, centres)
    gaps = cdist(centres, centres)
    assert gaps[0, 1] < 0.5 * min(gaps[0, 2], gaps[1, 2])
    for labels, pair, sign in ((triple.near, (0, 1), 1), (triple.far, (0, 2), -1)):
        for own, other in (pair, pair[::-1]):
            rank = parts[own][np.argsort(sign * distance[parts[own], other])]
            assert set(np.flatnonzero((labels == other) & (triple.reference == own))) == set(
                rank[:2]
            )
    # Every point lies nearest to the centre of its own cluster: the clusters are plain to see.
    assert (distance.argmin(axis=1) == triple.reference).all()


def test_seeds_and_copies() -> None:
    assert np.array_equal(make_2d2c().X, make_2d2c(random_state=0).X)
    assert not np.array_equal(make_2d2c().X, make_2d2c(random_state=1).X)
    make_2d3c().X[0] = 99.0
    assert make_2d3c().X[0, 0] < 99.0


def test_a_bad_seed_is_named() -> None:
    with pytest.raises(TypeError, match="random_state"):
        make_2d2c(random_state="seven")
