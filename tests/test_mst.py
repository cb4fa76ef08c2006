"""Spanning trees against scipy, against each other, and against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.spatial.distance import cdist

from clusterscape._core.params import InvalidParameter
from clusterscape.linalg import mst
from clusterscape.linalg.mst import SpanningTree, spanning_tree
from clusterscape.linalg.neighbors import nearest_neighbors


def cases(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return features with and without ties."""
    return {
        "normal": rng.standard_normal((300, 3)),
        "grid": rng.integers(0, 6, (250, 2)).astype(float),
        "copies": np.repeat(rng.standard_normal((20, 4)), 10, axis=0),
        "equal": np.ones((70, 2)),
        "line": np.arange(200.0)[:, None],
        "far": 1e7 + rng.standard_normal((150, 3)),
        "two": np.array([[0.0, 0.0], [3.0, 4.0]]),
    }


def reachabilities(D: np.ndarray, M: int) -> np.ndarray:
    """Return mutual reachabilities from the definition."""
    core = np.sort(D, axis=1)[:, M]
    return np.maximum(np.maximum(D, core[:, None]), core)


def total(D: np.ndarray) -> float:
    """Return the length of a minimum spanning tree by scipy, to which a zero is no edge."""
    return float(minimum_spanning_tree(D + 1.0 - np.eye(len(D))).sum()) - (len(D) - 1)


def check_tree(tree: SpanningTree, D: np.ndarray) -> None:
    """A tree of n - 1 edges, ascending, with the right lengths and the least total."""
    n = len(D)
    a, b = tree.pairs.T
    assert tree.n_points == n
    assert tree.n_components == 1
    assert (np.diff(tree.lengths) >= 0).all()
    graph = sparse.csr_matrix((np.ones(n - 1), (a, b)), shape=(n, n))
    assert connected_components(graph, directed=False)[0] == 1
    np.testing.assert_allclose(tree.lengths, D[a, b], atol=1e-8)
    assert tree.lengths.sum() == pytest.approx(total(D), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("algorithm", ["prim", "boruvka"])
@pytest.mark.parametrize("M", [1, 2, 5])
@pytest.mark.parametrize("name", ["normal", "grid", "copies", "equal", "line", "far", "two"])
def test_features(name: str, M: int, algorithm: str, seed: int) -> None:
    X = cases(np.random.default_rng(seed))[name]
    M = min(M, len(X) - 1)
    tree = spanning_tree(X, reachability=M, algorithm=algorithm)
    assert tree.algorithm == algorithm
    check_tree(tree, reachabilities(cdist(X, X), M))


def test_single_precision(seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((400, 6)).astype(np.float32)
    double = spanning_tree(X.astype(float))
    np.testing.assert_allclose(spanning_tree(X).lengths, double.lengths, rtol=1e-5)


@pytest.mark.parametrize("size", [1e-160, 1e160])
def test_scales_whose_squares_are_not_finite(size: float, seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((60, 2))
    plain = spanning_tree(X)
    scaled = spanning_tree(X * size)
    np.testing.assert_allclose(scaled.lengths / size, plain.lengths)


def test_reachability_1_changes_nothing(seed: int) -> None:
    D = cdist(*[np.random.default_rng(seed).standard_normal((40, 2))] * 2)
    assert total(reachabilities(D, 1)) == pytest.approx(total(D))


def test_ties_of_reachability_go_to_the_nearer_point() -> None:
    # All three pairs are 3 apart under M = 2; the two shortest join.
    tree = spanning_tree([[0.0], [1.0], [3.0]], reachability=2)
    np.testing.assert_array_equal(np.sort(tree.pairs, axis=1), [[0, 1], [1, 2]])


@pytest.mark.parametrize("M", [1, 4])
def test_cosine_and_sparse(M: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((120, 9)) * (rng.random((120, 9)) < 0.4)
    X[[3, 70]] = 0.0
    unit = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-300)
    D = np.maximum(1.0 - unit @ unit.T, 0.0)
    zero = ~X.any(axis=1)
    D[np.ix_(zero, zero)] = 0.0  # rows without a direction are alike
    np.fill_diagonal(D, 0.0)
    for rows in (X, sparse.csr_matrix(X)):
        check_tree(spanning_tree(rows, metric="cosine", reachability=M), reachabilities(D, M))
        plain = reachabilities(cdist(X, X), M)
        check_tree(spanning_tree(rows, reachability=M), plain)


@pytest.mark.parametrize("M", [1, 3])
@pytest.mark.parametrize("name", ["normal", "grid", "copies"])
def test_precomputed(name: str, M: int, seed: int) -> None:
    X = cases(np.random.default_rng(seed))[name]
    D = cdist(X, X)
    dense = spanning_tree(D, metric="precomputed", reachability=M)
    check_tree(dense, reachabilities(D, M))
    rows, cols = np.triu_indices(len(D), 1)
    stored = sparse.csr_matrix((D[rows, cols], (rows, cols)), shape=D.shape)
    graph = spanning_tree(stored, metric="precomputed", reachability=M)
    check_tree(graph, reachabilities(D, M))
    assert graph.algorithm == "kruskal"


def test_a_graph_in_two_pieces_is_a_forest() -> None:
    graph = sparse.csr_matrix(([1.0, 0.0, 2.0], ([0, 1, 3], [1, 2, 4])), shape=(5, 5))
    tree = spanning_tree(graph, metric="precomputed")
    assert tree.n_components == 2
    np.testing.assert_array_equal(tree.lengths, [0.0, 1.0, 2.0])


def test_auto_takes_boruvka_in_few_dimensions_and_prim_in_many(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mst, "_SMALL", 100)
    rng = np.random.default_rng(seed)
    few, many = rng.random((1500, 2)), rng.standard_normal((1500, 30))
    assert spanning_tree(few).algorithm == "boruvka"
    assert spanning_tree(many).algorithm == "prim"
    assert spanning_tree(few, algorithm="prim").algorithm == "prim"


def test_one_point() -> None:
    assert spanning_tree([[1.0, 2.0]]).pairs.shape == (0, 2)


def test_refusals() -> None:
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(ValueError, match="each of the 4 points has only 3 others"):
        spanning_tree(X, reachability=4)
    with pytest.raises(ValueError, match="needs dense features"):
        spanning_tree(sparse.csr_matrix(X), algorithm="boruvka")
    with pytest.raises(ValueError, match="searches features"):
        spanning_tree(np.zeros((3, 3)), metric="precomputed", algorithm="boruvka")
    with pytest.raises(ValueError, match="square matrix"):
        spanning_tree(X, metric="precomputed")
    with pytest.raises(ValueError, match="symmetric"):
        spanning_tree([[0.0, 1.0], [2.0, 0.0]], metric="precomputed")
    with pytest.raises(ValueError, match="symmetric"):
        spanning_tree(sparse.csr_matrix([[0.0, 1.0], [2.0, 0.0]]), metric="precomputed")
    graph = sparse.csr_matrix(([1.0, 1.0], ([0, 0], [1, 2])), shape=(3, 3))
    with pytest.raises(ValueError, match="point 1 has 1"):
        spanning_tree(graph, metric="precomputed", reachability=2)
    with pytest.raises(InvalidParameter, match="metric must be"):
        spanning_tree(X, metric="l7")  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [2, 20])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_nearest_neighbors(width: int, metric: str, seed: int) -> None:
    X = 3.0 + np.random.default_rng(seed).standard_normal((200, width))
    D = cdist(X, X, metric)
    np.fill_diagonal(D, np.inf)
    for rows in (X, sparse.csr_matrix(X)):
        distances, indices = nearest_neighbors(rows, 7, metric=metric)  # type: ignore[arg-type]
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :7], atol=1e-7)
        np.testing.assert_array_equal(indices[:, 0], D.argmin(axis=1))


def test_rows_of_zeros_are_together_and_far_from_all_others() -> None:
    X = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    distances, indices = nearest_neighbors(X, 3, metric="cosine")
    np.testing.assert_allclose(distances[[1, 3]], [[0, 1, 1]] * 2)
    assert (indices[1, 0], indices[3, 0]) == (3, 1)


def test_nearest_neighbors_of_copies_leave_the_point_itself_out() -> None:
    distances, indices = nearest_neighbors(np.zeros((30, 2)), 3)
    assert (indices != np.arange(30)[:, None]).all()
    assert not distances.any()
    with pytest.raises(ValueError, match="only 2 others"):
        nearest_neighbors([[0.0], [1.0], [2.0]], 3)
