"""Links to landmarks against all distances, and what must hold of their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.preprocessing import normalize

from clusterscape._core.params import InvalidParameter
from clusterscape.linalg.affinity import affinity
from clusterscape.linalg.landmark_graph import LandmarkSearch, landmark_graph, link_weights
from clusterscape.linalg.relation import read_relation


def features(seed: int, n: int = 400, d: int = 5) -> np.ndarray:
    """Return points of three groups."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 6.0 * rng.integers(0, 3, n)[:, None]


def dense(landmarks: Any) -> np.ndarray:
    """Return landmarks as a dense array."""
    return landmarks.toarray() if sparse.issparse(landmarks) else landmarks


@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_matrix])
@pytest.mark.parametrize("rule", ["random", "kmeans"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_links_are_the_nearest(kind: Any, rule: str, metric: str, seed: int) -> None:
    X = features(seed)
    rows = kind(X) if kind is sparse.csr_matrix else X.astype(kind)
    graph = landmark_graph(rows, 40, nearest=4, landmarks=rule, metric=metric, seed=seed)  # type: ignore[arg-type]
    U = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    D = cdist(U, dense(graph.landmarks))
    order = np.argsort(D, axis=1, kind="stable")[:, :4]
    kept = np.take_along_axis(D, order, axis=1)
    assert graph.bandwidth == pytest.approx(kept.mean(), rel=1e-4)
    expected = np.zeros_like(D)
    weights = np.exp(-(kept**2) / (2 * graph.bandwidth**2))
    np.put_along_axis(expected, order, weights, axis=1)
    np.testing.assert_allclose(graph.matrix.toarray(), expected, rtol=1e-3, atol=1e-5)
    assert graph.matrix.has_sorted_indices
    np.testing.assert_allclose(graph.extend(rows[:50]).toarray(), graph.matrix[:50].toarray())


def test_single_precision_measures_what_products_lose(seed: int) -> None:
    # Tight groups far apart: a product in single precision cannot distinguish landmarks of a group.
    rng = np.random.default_rng(seed)
    X = 1e-2 * rng.standard_normal((600, 3)) + 1e3 * rng.integers(0, 5, (600, 1))
    X = X.astype(np.float32)
    graph = landmark_graph(X, 100, nearest=3, landmarks="random", bandwidth=1.0)
    D = cdist(X.astype(float), graph.landmarks.astype(float))
    kept = np.sort(D, axis=1)[:, :3].sum(axis=1)
    chosen = (D * (graph.matrix.toarray() > 0)).sum(axis=1)
    np.testing.assert_allclose(chosen, kept, rtol=1e-6)


def test_bandwidth_rules(seed: int) -> None:
    X = features(seed)
    for rule in ("mean", "rms", "lsc"):
        graph = landmark_graph(X, 30, nearest=3, landmarks="random", bandwidth=rule)  # type: ignore[arg-type]
        D = cdist(X, graph.landmarks)
        kept = np.sort(D, axis=1)[:, :3]
        known = {"mean": kept.mean(), "rms": np.sqrt((kept**2).mean()), "lsc": (D**2).mean()}
        assert graph.bandwidth == pytest.approx(known[rule])
    assert landmark_graph(X, 30, bandwidth=2.5).bandwidth == 2.5


@pytest.mark.parametrize("kind", [np.float64, np.float32, sparse.csr_matrix])
def test_bandwidth_far_from_the_origin(kind: Any) -> None:
    # The squares of the rows are 1e8 times those of the distances.
    X = (np.random.default_rng(0).standard_normal((500, 6)) + 1e4).astype(np.float32)
    rows = kind(X)
    graph = landmark_graph(rows, 60, nearest=3, landmarks="random", bandwidth="lsc")
    D = cdist(X.astype(float), dense(graph.landmarks).astype(float))
    assert graph.bandwidth == pytest.approx((D**2).mean(), rel=1e-6)


def test_shares_sum_to_one_and_far_points_keep_links(seed: int) -> None:
    X = features(seed)
    X[7] = 1e4
    for kind in (np.float64, np.float32):
        for shares in (False, True):
            graph = landmark_graph(X.astype(kind), 30, shares=shares, bandwidth=0.5, seed=seed)
            sums = np.asarray(graph.matrix.sum(axis=1)).ravel()
            assert (sums > 0).all()
            if shares:
                np.testing.assert_allclose(sums, 1.0, rtol=1e-5)


def test_rows_without_direction_have_no_links() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    graph = landmark_graph(X, 2, nearest=1, metric="cosine", landmarks="kmeans")
    np.testing.assert_array_equal(np.diff(graph.matrix.indptr), [0, 1, 1, 1])


def test_few_points_and_equal_points() -> None:
    X = np.zeros((6, 2))
    graph = landmark_graph(X, 50, nearest=9)
    assert graph.landmarks.shape[0] == 1  # k-means keeps no equal centres
    np.testing.assert_array_equal(graph.matrix.toarray(), 1.0)
    every = landmark_graph(np.arange(4.0)[:, None], 50, nearest=9, landmarks="random")
    assert every.matrix.shape == (4, 4)
    assert every.nearest == 4


def test_same_seed_same_graph(seed: int) -> None:
    X = features(seed)
    one, two, other = (landmark_graph(X, 30, seed=s).matrix for s in (seed, seed, seed + 1))
    assert (one != two).nnz == 0
    assert (one != other).nnz > 0


def test_refusals() -> None:
    X = np.arange(8.0).reshape(4, 2)
    with pytest.raises(InvalidParameter, match="nearest must be"):
        landmark_graph(X, 2, nearest=0)
    with pytest.raises(InvalidParameter, match="bandwidth must be"):
        landmark_graph(X, 2, bandwidth=0.0)
    with pytest.raises(ValueError, match="3 columns, but the landmarks have 2"):
        landmark_graph(X, 2).extend(np.zeros((1, 3)))
    wide = sparse.csr_matrix((2000, 10_000_000))
    with pytest.raises(MemoryError, match="landmarks='random'"):
        landmark_graph(wide, 1000)


# ---- the other graphs of landmarks --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["rbf", "cosine"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_the_affinity_by_landmarks_is_that_of_all_distances(kind: Any, form: Any) -> None:
    X = np.random.default_rng(0).normal(size=(50, 4))
    X[7] = 0.0  # no direction
    found = affinity(form(X), kind=kind, landmarks=50, nearest=3, scale=0.7, seed=1)
    rows = normalize(X) if kind == "cosine" else X
    D = cdist(rows, rows)
    weights = np.maximum(rows @ rows.T, 0.0) if kind == "cosine" else np.exp(-(D**2) / 0.98)
    Z = np.zeros((50, 50))
    near = np.argsort(D, axis=1)[:, :3]
    np.put_along_axis(Z, near, np.take_along_axis(weights, near, axis=1), axis=1)
    Z = normalize(Z, norm="l1")
    mass = Z.sum(axis=0)
    expected = Z @ np.diag(np.divide(1.0, mass, where=mass > 0, out=np.zeros(50))) @ Z.T
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-10)


def test_links_by_distances_alone_are_those_of_the_features() -> None:
    X = np.concatenate([np.random.default_rng(1).normal(size=(30, 2)), [[1e4, 1e4]]])
    chosen = np.arange(0, 30, 3)
    links = read_relation(cdist(X, X)).landmark_links(chosen, 4)
    squares, indices = LandmarkSearch(X[chosen]).nearest(X, 4, exact=True)
    expected = np.zeros((31, 10))
    weights = link_weights(squares, float(np.sqrt(squares).mean()))
    np.put_along_axis(expected, indices.astype(int), weights, axis=1)
    np.testing.assert_allclose(links.toarray(), expected, rtol=1e-6)
    assert (links.toarray()[30] > 0).sum() == 4  # far from all landmarks, but linked


def test_links_far_from_all_landmarks_keep_their_ratios() -> None:
    far = link_weights(np.array([[8000.0, 8002.0]]), 1.0)
    assert far.min() > 0
    np.testing.assert_allclose(far[0, 1] / far[0, 0], np.exp(-1.0))
