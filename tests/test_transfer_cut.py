"""Transfer cuts against the dense problem of the whole bipartite graph."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh, subspace_angles
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape._core.params import InvalidParameter
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import (
    bipartite_spectrum,
    coassociation_spectrum,
    transfer_cut,
)


def links(seed: int, n: int, p: int) -> sparse.csr_matrix:
    """Return random links, at least one per row and column."""
    rng = np.random.default_rng(seed)
    B = rng.random((n, p)) * (rng.random((n, p)) < 0.3)
    B[np.arange(n), np.arange(n) % p] = 1.0
    B[np.arange(p) % n, np.arange(p)] = 1.0
    return sparse.csr_matrix(B)


def whole_problem(B: np.ndarray, omega: np.ndarray, weight: np.ndarray) -> tuple:
    """Return eigenvalues gamma and point parts u of L f = gamma D f of the bipartite graph.

    Points of weight w are w times repeated.
    """
    rows = np.repeat(np.arange(len(B)), weight)
    E = (B * omega)[rows]
    n, p = E.shape
    W = np.zeros((n + p, n + p))
    W[:n, n:], W[n:, :n] = E, E.T
    D = np.diag(W.sum(axis=1))
    gamma, f = eigh(D - W, D)
    first = np.searchsorted(rows, np.arange(len(B)))
    return gamma, f[first]


@pytest.mark.parametrize("shape", [(60, 12), (12, 40)])
@pytest.mark.parametrize("weighted", [False, True])
def test_spectrum_is_that_of_the_whole_graph(shape: tuple, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    B = links(seed, *shape)
    n, p = shape
    omega = rng.uniform(0.2, 1.0, p) if weighted else np.ones(p)
    weight = rng.integers(1, 4, n) if weighted else np.ones(n, dtype=int)
    mass = B.T @ weight
    found = bipartite_spectrum(B, 5, column_weight=omega / mass, sample_weight=weight)
    assert found.side == ("points" if n < p else "clusters")
    gamma, u = whole_problem(B.toarray(), omega, weight)
    # The lift of the method: lam = gamma (2 - gamma), so that the value is (1 - gamma)^2.
    np.testing.assert_allclose(found.values, (1.0 - gamma[:5]) ** 2, atol=1e-9)
    ours = found.rows(B, unit=False)
    for i in range(5):
        assert subspace_angles(ours[:, [i]], u[:, [i]]).max() < 1e-5
    unit = found.rows(B)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0)


def test_labels_and_their_matrix_agree(seed: int) -> None:
    ensemble = Ensemble.from_labels(np.random.default_rng(seed).integers(0, 4, (80, 6)).T.tolist())
    space = RowSpace(ensemble.labels, ensemble.offsets)
    B = ensemble.membership().matrix
    omega = np.random.default_rng(seed).uniform(0.1, 1.0, B.shape[1])
    for side in (space, B):
        found = bipartite_spectrum(side, 4, column_weight=omega)
        if side is space:
            first = found
    np.testing.assert_allclose(first.values, found.values)
    one, two = (transfer_cut(side, 3, column_weight=omega, seed=seed) for side in (space, B))
    assert adjusted_rand_score(one.labels, two.labels) == 1.0


def test_unit_columns_give_the_coassociation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 5, 50).astype(float)
    ensemble = Ensemble.from_labels(rng.integers(0, 3, (5, 50)).tolist())
    S = ensemble.coassociation(normalize="counts")
    known = coassociation_spectrum(S, 4, sample_weight=weight)
    space = RowSpace(ensemble.labels, ensemble.offsets)
    found = bipartite_spectrum(space, 4, column_weight=np.ones(15), sample_weight=weight)
    np.testing.assert_allclose(found.values, known.values, atol=1e-10)
    degree = S @ weight
    expected = known.vectors / np.sqrt(weight * degree)[:, None]
    ours = found.rows(space, unit=False)
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-7)


@pytest.mark.parametrize("width", [9, 900])
def test_groups_that_nothing_joins(width: int, seed: int) -> None:
    # Repeated eigenvalues of one; with 900 columns Lanczos must find all copies.
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(3), 400)
    allowed = np.arange(width) % 3 == group[:, None]
    B = sparse.csr_matrix(allowed * (rng.random((1200, width)) < 0.5))
    cut = transfer_cut(B.astype(float), 3, seed=seed)
    np.testing.assert_allclose(cut.spectrum.values, 1.0, atol=1e-8)
    linked = cut.labels >= 0
    assert adjusted_rand_score(cut.labels[linked], group[linked]) == 1.0


@pytest.mark.parametrize("start_size", [20, 20_000])
def test_more_groups_than_clusters(start_size: int) -> None:
    # Two of the five eigenvectors of eigenvalue one are taken; the groups of the other three have
    # zero rows, and links.
    group = np.repeat(np.arange(5), 12)
    B = sparse.csr_matrix(np.eye(5)[group])
    cut = transfer_cut(B, 2, start_size=start_size)
    assert set(cut.labels) == {0, 1}
    assert all(np.unique(cut.labels[group == g]).size == 1 for g in range(5))
    np.testing.assert_array_equal(cut.predict(B), cut.labels)


def test_points_and_columns_without_links() -> None:
    B = sparse.csr_matrix(
        [[1.0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 5]]
    )
    cut = transfer_cut(B, 2, column_weight=[1, 1, 1, 0])
    assert cut.labels[2] == cut.labels[5] == -1  # the last point's only column has no weight
    assert cut.labels[0] == cut.labels[1] != cut.labels[3] == cut.labels[4]
    with pytest.raises(ValueError, match="more than the 4 points that have links"):
        transfer_cut(B, 5, column_weight=[1, 1, 1, 0])


@pytest.mark.parametrize("rows", ["unit", "degree"])
def test_sampled_start_and_new_points(rows: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 4, 3000)
    chance = np.where(np.arange(40) % 4 == group[:, None], 0.5, 0.03)
    B = sparse.csr_matrix((rng.random((3000, 40)) < chance).astype(float))
    cut = transfer_cut(B, 4, rows=rows, start_size=500, n_init=10, seed=seed)  # type: ignore[arg-type]
    assert cut.start_size == 500
    linked = cut.labels >= 0
    assert adjusted_rand_score(cut.labels[linked], group[linked]) > 0.9
    np.testing.assert_array_equal(cut.predict(B[:100]), cut.labels[:100])
    again = transfer_cut(B, 4, rows=rows, start_size=500, n_init=10, seed=seed)  # type: ignore[arg-type]
    np.testing.assert_array_equal(cut.labels, again.labels)


def test_one_cluster() -> None:
    np.testing.assert_array_equal(transfer_cut(links(0, 10, 3), 1).labels, 0)


def test_refusals() -> None:
    B = links(0, 10, 3)
    with pytest.raises(ValueError, match="column_weight must have one entry per column, 3 in all"):
        transfer_cut(B, 2, column_weight=[1.0])
    with pytest.raises(ValueError, match="sample_weight is zero for every point"):
        transfer_cut(B, 2, sample_weight=np.zeros(10))
    with pytest.raises(ValueError, match="finite weights >= 0"):
        transfer_cut(-B, 2)
    with pytest.raises(InvalidParameter, match="n_clusters must be"):
        transfer_cut(B, 0)
