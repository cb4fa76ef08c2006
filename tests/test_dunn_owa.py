"""The near-neighbour validity index against its definition on all distances."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from clusterscape._core.params import InvalidParameter
from clusterscape.linalg import dunn_owa
from clusterscape.linalg.dunn_owa import neighbor_edges


def plain_average(values: list[float], rule: str) -> float:
    """Return an ordered weighted average, by the definition."""
    name, _, degree = rule.partition(":")
    ordered = sorted(values, reverse=name.endswith("Max"))
    if name == "Const":
        return 1.0
    if name in ("Min", "Max"):
        return ordered[0]
    if name == "Mean":
        return sum(values) / len(values)
    weights = [np.exp(-((i / int(degree)) ** 2) / 2) for i in range(3 * int(degree))]
    pairs = list(zip(ordered, weights, strict=False))
    return sum(v * w for v, w in pairs) / sum(w for _, w in pairs)


def plain_index(X: np.ndarray, labels: np.ndarray, M: int, top: str, bottom: str) -> float:
    """Return the index by loops over all pairs."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    between, within = [], []
    for i in range(len(X)):
        for j in np.argsort(D[i], kind="stable")[:M]:
            if labels[i] >= 0 and labels[j] >= 0:
                (within if labels[i] == labels[j] else between).append(float(D[i, j]))
    return plain_average(between, top) / plain_average(within, bottom)


RULES = ["Min", "Max", "Mean", "Const", "SMin:5", "SMax:2"]


@pytest.mark.parametrize("top", RULES)
@pytest.mark.parametrize("bottom", RULES)
def test_definition(top: str, bottom: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dunn_owa, "_BLOCK", 37)
    rng = np.random.default_rng(seed)
    X = rng.random((90, 3))
    labels = rng.integers(-1, 3, 90)
    found = neighbor_edges(X, n_neighbors=6).dunn_owa(labels, numerator=top, denominator=bottom)
    assert found == pytest.approx(plain_index(X, labels, 6, top, bottom))


REFERENCE = [
    (5, ("SMin:5", "Const"), 0.30303486098766697),
    (10, ("SMin:2", "Mean"), 0.3721356532333687),
    (10, ("Mean", "SMax:5"), 0.6573686965582215),
    (20, ("Min", "Max"), 0.15043812510225568),
]


def test_values_of_the_published_package() -> None:
    # genieclust 1.3.0: dunnowa_index(X, y, M=...) of these points.
    t = np.arange(60.0)
    X = np.column_stack([np.cos(t), np.sin(1.7 * t), t / 30])
    labels = (t >= 25).astype(int)
    for M, rule, known in REFERENCE:
        found = neighbor_edges(X, n_neighbors=M).dunn_owa(
            labels, numerator=rule[0], denominator=rule[1]
        )
        assert found == pytest.approx(known)


def test_guards() -> None:
    X = np.arange(40.0)[:, None]
    edges = neighbor_edges(X, n_neighbors=3)
    half = (X[:, 0] >= 20).astype(int)
    assert edges.dunn_owa(half) >= 1.0
    assert edges.dunn_owa(np.zeros(40, dtype=int)) == -np.inf
    tiny = (X[:, 0] >= 37).astype(int)
    assert edges.dunn_owa(tiny) == -np.inf
    assert edges.dunn_owa(tiny, smallest=2) > 0
    apart = np.concatenate([X, X + 1e3])
    assert neighbor_edges(apart, n_neighbors=3).dunn_owa(np.repeat([0, 1], 40)) == np.inf
    copies = neighbor_edges(np.zeros((20, 2)), n_neighbors=3)
    assert copies.dunn_owa(np.arange(20) % 2, denominator="Mean") == 0.0


def test_a_right_partition_of_rings_wins_over_halves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, 600)
    radius = np.repeat([1.0, 3.0], 300) + 0.1 * rng.standard_normal(600)
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    edges = neighbor_edges(X)
    assert edges.dunn_owa(np.repeat([0, 1], 300)) > edges.dunn_owa((X[:, 0] > 0).astype(int))


def test_sparse_and_cosine(seed: int) -> None:
    X = np.random.default_rng(seed).random((60, 8))
    labels = (X[:, 0] > 0.5).astype(int)
    values = [
        neighbor_edges(rows, n_neighbors=5, metric="cosine").dunn_owa(labels)
        for rows in (X, sparse.csr_matrix(X))
    ]
    assert values[0] == pytest.approx(values[1])


def test_refusals() -> None:
    edges = neighbor_edges(np.arange(9.0)[:, None], n_neighbors=2)
    with pytest.raises(ValueError, match="labels must be 9 integers"):
        edges.dunn_owa([0, 1])
    with pytest.raises(InvalidParameter, match="numerator must be"):
        edges.dunn_owa(np.zeros(9, dtype=int), numerator="SMin")
    with pytest.raises(ValueError, match="at least two"):
        neighbor_edges([[1.0]])


def test_reachability_is_that_of_the_spanning_tree(seed: int) -> None:
    X = np.random.default_rng(seed).random((60, 2))
    plain = cdist(X, X)
    core = np.sort(plain, axis=1)[:, 4]  # the point itself is first
    edges = neighbor_edges(X, n_neighbors=8, reachability=4)
    i, j = edges.points, edges.neighbors
    expected = np.maximum(plain[i, j], np.maximum(core[i], core[j]))
    np.testing.assert_allclose(edges.distances, expected)
    assert (np.diff(edges.distances) >= 0).all()
    np.testing.assert_allclose(
        neighbor_edges(X, n_neighbors=3, reachability=9).distances,
        neighbor_edges(X, n_neighbors=3, reachability=3).distances,
    )
