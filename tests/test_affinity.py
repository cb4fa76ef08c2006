"""Affinities, spectral embedding and Laplacian solves against dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.linalg import subspace_angles
from scipy.sparse.csgraph import connected_components
from sklearn.metrics import adjusted_rand_score

import clusterscape.linalg.affinity as module
import clusterscape.linalg.distances as distances_module
from clusterscape.linalg.affinity import Affinity, affinity
from clusterscape.linalg.distances import centre_of, squared_distances
from clusterscape.linalg.embedding import LaplacianInverse, njw, spectral_embedding, unit_rows
from clusterscape.linalg.operators import normalized_laplacian


def features(max_points=8, low=-4, high=4, min_points=1):
    """Small matrices with duplicates, zero rows and constant columns."""
    return st.tuples(st.integers(min_points, max_points), st.integers(1, 3)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.integers(low, high))
    )


def squared(X):
    return ((X[:, None] - X) ** 2).sum(axis=2)


def median_distance(X):
    distances = np.sqrt(squared(X))[np.triu_indices(len(X), 1)]
    if distances.size == 0 or not distances.any():
        return 1.0
    return np.median(distances) or distances.mean()


def local_scales(X):
    n = len(X)
    if n == 1:
        return np.ones(1)
    others = np.sqrt(squared(X))
    scale = np.array(
        [np.sort(np.delete(row, x))[min(7, n - 1) - 1] for x, row in enumerate(others)]
    )
    positive = scale[scale > 0]
    return np.where(scale > 0, scale, positive.min() if positive.size else 1.0)


def no_diagonal(A):
    return A - np.diag(np.diag(A))


def laplacian(A, weights=None):
    """L of a dense affinity, straight from the definition."""
    w = np.ones(len(A)) if weights is None else weights
    degree = A @ w
    root = np.sqrt(np.divide(w, degree, out=np.zeros(len(A)), where=degree > 0))
    return np.eye(len(A)) - root[:, None] * A * root


# -- what the entries are -----------------------------------------------------------------------


@given(features(max_points=12), st.booleans())
def test_gaussian_is_its_definition(X, is_sparse):
    given_as = sparse.csr_matrix(X) if is_sparse else X
    s = median_distance(X)
    expected = no_diagonal(np.exp(-squared(X) / (2 * s**2)))
    found = affinity(given_as, kind="rbf")
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)
    assert found.bandwidth == pytest.approx(s)
    np.testing.assert_array_equal(found.toarray(), found.toarray().T)
    local = local_scales(X)
    expected = no_diagonal(np.exp(-squared(X) / np.outer(local, local)))
    found = affinity(given_as, kind="rbf", scale="local").toarray()
    np.testing.assert_allclose(found, expected, atol=1e-9)


@given(features(), st.booleans())
def test_cosine_is_never_negative_and_never_stored(X, is_sparse):
    length = np.linalg.norm(X, axis=1, keepdims=True)
    unit = np.divide(X, length, out=np.zeros_like(X), where=length > 0)
    expected = unit @ unit.T
    if X.min() < 0:
        expected = (1 + expected) / 2
    found = affinity(sparse.csr_matrix(X) if is_sparse else X, kind="cosine")
    assert found.matrix is None
    np.testing.assert_allclose(found.toarray(), no_diagonal(expected), atol=1e-12)
    v = np.arange(len(X)) - 1.5
    np.testing.assert_allclose(found @ v, no_diagonal(expected) @ v, atol=1e-12)


def test_auto_is_the_cosine_for_sparse_features_only():
    X = np.abs(np.random.default_rng(0).normal(size=(5, 3)))
    assert affinity(sparse.csr_matrix(X)).words == "cosine"
    assert affinity(X).words.startswith("Gaussian of bandwidth")


@pytest.mark.parametrize("scale", ["median", "local", 0.7])
def test_nearest_neighbours_are_kept_and_symmetrised(scale):
    X = np.random.default_rng(1).normal(size=(40, 2))
    d2 = squared(X)
    np.fill_diagonal(d2, np.inf)
    order = np.argsort(d2, axis=1)[:, :9]
    kept = np.zeros((40, 40), dtype=bool)
    np.put_along_axis(kept, order, True, axis=1)
    if scale == "local":
        own = np.sqrt(np.sort(d2, axis=1)[:, 6])
        values = np.exp(-d2 / np.outer(own, own))
    else:
        s = np.median(np.sqrt(d2[kept])) if scale == "median" else scale
        values = np.exp(-d2 / (2 * s**2))
    found = affinity(X, neighbors=9, scale=scale)
    np.testing.assert_allclose(found.toarray(), np.where(kept | kept.T, values, 0), atol=1e-12)
    assert sparse.issparse(found.matrix)


def test_nearest_by_cosine():
    X = sparse.random(30, 12, density=0.4, random_state=0, format="csr")
    unit = unit_rows(X.toarray())
    cosine = no_diagonal(unit @ unit.T)
    found = affinity(X, neighbors=3).toarray()
    rows = [np.sort(row)[-3:] for row in cosine]
    for x, row in enumerate(found):
        linked = row > 0
        np.testing.assert_allclose(row[linked], cosine[x][linked], atol=1e-12)
        assert np.isin(np.round(rows[x][rows[x] > 0], 9), np.round(row, 9)).all()


@pytest.mark.parametrize("kind", ["rbf", "cosine"])
def test_landmark_shares_make_a_graph_of_unit_degrees(kind):
    X = np.abs(np.random.default_rng(2).normal(size=(50, 3)))
    found = affinity(X, kind=kind, landmarks=12, nearest=4, seed=3)
    gram = np.asarray((found.factor @ found.factor.T).todense())
    np.testing.assert_allclose(gram.sum(axis=1), 1.0)
    assert (np.diff(found.factor.indptr) <= 4).all()
    values = np.linalg.eigvalsh(gram)
    assert values.min() > -1e-9
    assert values.max() < 1 + 1e-9
    np.testing.assert_allclose(found.toarray(), no_diagonal(gram), atol=1e-12)
    np.testing.assert_allclose(found @ np.ones(50), 1 - np.diag(gram))
    other = affinity(X, kind=kind, landmarks=12, nearest=4, seed=4)
    assert not np.allclose(other.toarray(), found.toarray())


def test_single_precision_storage_has_double_precision_products(monkeypatch):
    X = np.random.default_rng(0).normal(size=(31, 3))
    exact = affinity(X).toarray()
    monkeypatch.setattr(module, "_SINGLE_ABOVE", 10)
    single = affinity(X)
    assert single.matrix.dtype == np.float32
    block = np.random.default_rng(1).normal(size=(31, 3))
    np.testing.assert_allclose(single @ block, exact @ block, atol=1e-5)
    np.testing.assert_allclose(single @ block, single.toarray() @ block, atol=1e-12)
    np.testing.assert_allclose(single @ block[:, 0], single.toarray() @ block[:, 0], atol=1e-12)


def test_chunks_do_not_show(monkeypatch):
    X = np.random.default_rng(0).normal(size=(23, 3))
    whole = affinity(X).toarray()
    monkeypatch.setattr(module, "_BLOCK", 23 * 5)
    np.testing.assert_allclose(affinity(X).toarray(), whole, atol=1e-14)
    np.testing.assert_array_equal(affinity(X).toarray(), affinity(X).toarray().T)


def test_bandwidth_of_a_sample(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 2))
    exact = affinity(X).bandwidth
    monkeypatch.setattr(module, "_SAMPLE", 100)
    sampled = affinity(X, seed=1).bandwidth
    assert sampled != exact
    assert sampled == pytest.approx(exact, rel=0.2)
    assert affinity(X, seed=1).bandwidth == sampled


def test_a_gaussian_that_underflows_leaves_points_alone():
    far = affinity([[0.0], [37.5], [200.0]], scale=1.0)
    np.testing.assert_array_equal(far.toarray(), np.zeros((3, 3)))
    assert far.components()[0] == 3
    np.testing.assert_array_equal(normalized_laplacian(far) @ np.eye(3), np.eye(3))


def test_bad_input_gets_a_sentence():
    X = np.zeros((4, 1))
    with pytest.raises(ValueError, match="neighbors=2 or landmarks=3, not both"):
        affinity(X, neighbors=2, landmarks=3)
    with pytest.raises(MemoryError, match=r"neighbors=10.*raise max_gb"):
        affinity(X, max_gb=1e-9)
    with pytest.raises(ValueError, match="scale must be one of 'median', 'local'"):
        affinity(X, scale=0.0)
    with pytest.raises(ValueError, match="NaN"):
        affinity([[np.nan]])


# -- copies, pieces -----------------------------------------------------------------------------


@given(features(max_points=5, min_points=2), st.data())
def test_a_weighted_point_is_its_copies(X, data):
    weights = np.array(data.draw(st.lists(st.integers(1, 3), min_size=len(X), max_size=len(X))))
    copies = np.repeat(X, weights, axis=0)
    for options in ({"kind": "rbf", "scale": 1.3}, {"kind": "cosine"}):
        small = affinity(X, **options).weighted(weights.astype(float))
        L = normalized_laplacian(small, weights.astype(float)) @ np.eye(len(X))
        # An embedding of the weighted points into the copies, with unit columns.
        spread = np.zeros((len(copies), len(X)))
        spread[np.arange(len(copies)), np.repeat(np.arange(len(X)), weights)] = 1
        spread /= np.sqrt(weights)
        whole = affinity(copies, **options).toarray()
        if options["kind"] == "cosine" and (X.min() < 0) != (copies.min() < 0):
            continue
        np.testing.assert_allclose(L, spread.T @ laplacian(whole) @ spread, atol=1e-9)


@given(features(max_points=9), st.sampled_from(["rbf", "cosine", "neighbors"]))
def test_pieces_are_the_components_of_the_links(X, how):
    X = np.abs(X)
    options = {"rbf": {"kind": "rbf", "scale": 0.3}, "cosine": {"kind": "cosine"}}
    found = affinity(X, **options.get(how, {"neighbors": 1}))
    A = found.toarray()
    degree = np.sqrt(A.sum(axis=1))
    least = 1e-14 if how == "cosine" else 1e-10 * np.outer(degree, degree)
    links = least < A
    count, names = connected_components(sparse.csr_matrix(links), directed=False)
    n_pieces, pieces = found.components()
    assert n_pieces == count
    np.testing.assert_array_equal(pieces[:, None] == pieces, names[:, None] == names)


# -- embedding and clustering -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"neighbors": 6}, {"landmarks": 100}, {"kind": "cosine"}])
def test_embedding_is_that_of_dense_eigenvectors(options):
    X = np.random.default_rng(5).normal(size=(700, 3)) + 4 * np.eye(3)[np.arange(700) % 3]
    graph = affinity(X, **options)
    values, vectors = np.linalg.eigh(np.eye(700) - laplacian(graph.toarray()))
    found = spectral_embedding(graph, 3, row_normalize=False)
    assert found.solver != "dense"
    np.testing.assert_allclose(found.values, values[::-1][:3], atol=1e-7)
    assert subspace_angles(found.vectors, vectors[:, -3:]).max() < 1e-4
    assert found.residual < 1e-6
    unit = spectral_embedding(graph, 3).vectors
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0)


def test_njw_tells_rings_apart_where_k_means_cannot():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.vstack([ring, 4 * ring])
    planted = np.repeat([0, 1], 60)
    labels = njw(X, 2, scale="local", random_state=0)
    assert adjusted_rand_score(planted, labels) == 1.0
    np.testing.assert_array_equal(labels, njw(X, 2, scale="local", random_state=0))
    weights = np.where(np.arange(120) % 2, 2.0, 1.0)
    weighted = njw(X, 2, scale=0.5, sample_weight=weights, random_state=0)
    assert adjusted_rand_score(planted, weighted) == 1.0


# -- solving ------------------------------------------------------------------------------------


@given(features(min_points=2), st.sampled_from(["rbf", "cosine"]), st.booleans())
def test_laplacian_inverse_is_the_pseudo_inverse(X, kind, weighted):
    X = np.abs(X)
    weights = 1.0 + np.arange(len(X)) % 3 if weighted else np.ones(len(X))
    graph = affinity(X, kind=kind)
    inverse = LaplacianInverse(graph, weights=weights)
    L = laplacian(np.asarray(graph.weighted(weights) @ np.eye(len(X))), weights)
    values = np.linalg.eigvalsh(L)
    assume(not ((values > 1e-12) & (values < 1e-4)).any())
    expected = np.linalg.pinv(L, rcond=1e-9, hermitian=True)
    np.testing.assert_allclose(inverse @ np.eye(len(X)), expected, atol=1e-6)
    assert inverse.residual < 1e-8


def test_bottlenecks_are_preconditioned():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(0, 60, 300), rng.normal(size=300) / 10])
    graph = affinity(X, neighbors=4)
    inverse = LaplacianInverse(graph, n_vectors=15)
    right = rng.normal(size=300)
    found = inverse @ right
    assert inverse._preconditioner is not None
    expected = np.linalg.pinv(laplacian(graph.toarray()), rcond=1e-10, hermitian=True) @ right
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_an_unsolved_system_is_an_error(monkeypatch):
    import clusterscape.linalg.embedding as solving

    monkeypatch.setattr(solving, "_STEPS", 2)
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.raises(RuntimeError, match="nearly disconnected"):
        LaplacianInverse(affinity(X, neighbors=3)) @ np.arange(100.0)


def test_affinity_takes_a_matrix_of_the_caller():
    A = Affinity("mine", matrix=sparse.csr_matrix(np.array([[0, 2.0], [2.0, 0]])))
    np.testing.assert_array_equal(A @ np.array([1.0, 3.0]), [6.0, 2.0])
    np.testing.assert_array_equal(A.T @ np.array([1.0, 3.0]), [6.0, 2.0])


# -- distances that keep their digits -------------------------------------------------------------


@given(features(max_points=10), st.booleans(), st.sampled_from([0.0, 1e3, 1e8, 1e12]))
def test_distances_are_those_of_differences(X, is_sparse, far):
    X = X.astype(float) + np.where(np.arange(len(X)) % 2, far, 0.0)[:, None]
    expected = squared(X)
    given_as = sparse.csr_matrix(X) if is_sparse else X
    found = squared_distances(given_as, given_as, centre=centre_of(given_as))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-300)
    if far <= 1e3:
        rough = squared_distances(given_as, given_as, careful_above=1e12)
        np.testing.assert_allclose(rough, expected, atol=1e-6)


def test_distances_of_few_and_of_wide_rows_that_cancel(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[:10] += 1e9
    for block in (2**22, 50):
        monkeypatch.setattr(distances_module, "_BLOCK", block)
        for points in (X, sparse.csr_matrix(X)):
            np.testing.assert_allclose(squared_distances(points, points), squared(X), rtol=1e-9)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_an_outlier_does_not_move_the_bandwidth(is_sparse):
    X = np.random.default_rng(0).normal(size=(500, 3))
    expected = affinity(X, kind="rbf").bandwidth
    X[0] = 1e12
    found = affinity(sparse.csr_matrix(X) if is_sparse else X, kind="rbf").bandwidth
    assert found == pytest.approx(expected, rel=0.01)
    assert found == pytest.approx(median_distance(X))
