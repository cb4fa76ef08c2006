"""Genie's merges against a plain reading of its rule."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

from clusterscape._core.params import InvalidParameter
from clusterscape.linalg.genie import genie
from clusterscape.linalg.mst import SpanningTree, spanning_tree


def plain_genie(tree: SpanningTree, threshold: float, weights: np.ndarray) -> list[np.ndarray]:
    """Return the labels after each merge, by the definition."""
    cluster = np.arange(tree.n_points)
    left = [tuple(pair) for pair in tree.pairs]
    found = []
    while left:
        sizes = {int(c): int(weights[cluster == c].sum()) for c in np.unique(cluster)}
        values = np.array(list(sizes.values()))
        k = len(values)
        gini = np.abs(values[:, None] - values).sum() / 2 / ((k - 1) * values.sum())
        chosen = left[0]
        if gini > threshold:
            leaving = {int(cluster[x]) for pair in left for x in pair}
            least = min(sizes[c] for c in leaving)
            chosen = next(e for e in left if least in {sizes[int(cluster[x])] for x in e})
        left.remove(chosen)
        cluster = np.where(cluster == cluster[chosen[0]], cluster[chosen[1]], cluster)
        found.append(cluster)
    return found


@pytest.mark.parametrize("threshold", [0.0, 0.1, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_merges_follow_the_rule(threshold: float, weighted: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.standard_normal((40, 2)), 5 + 0.3 * rng.standard_normal((25, 2))])
    weights = rng.integers(1, 9, len(X)) if weighted else np.ones(len(X), dtype=int)
    tree = spanning_tree(X)
    steps = genie(tree, gini_threshold=threshold, weights=weights if weighted else None)
    expected = plain_genie(tree, threshold, weights)
    labels = steps.labels(range(1, len(X)))
    for merges, truth in enumerate(expected, start=1):
        k = len(X) - merges
        assert adjusted_rand_score(labels[:, k - 1], truth) == 1.0
        assert labels[:, k - 1].max() + 1 == k


@pytest.mark.parametrize("threshold", [0.1, 0.3])
def test_a_forest_merges_within_its_pieces(threshold: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 2))
    whole = spanning_tree(X)
    kept = np.sort(rng.choice(29, 24, replace=False))
    forest = SpanningTree(whole.pairs[kept], whole.lengths[kept], 30, "prim")
    steps = genie(forest, gini_threshold=threshold)
    assert steps.n_components == 6
    expected = plain_genie(forest, threshold, np.ones(30))
    for merges, truth in enumerate(expected, start=1):
        assert adjusted_rand_score(steps.labels(30 - merges), truth) == 1.0
    with pytest.raises(ValueError, match="n_clusters=5 is not between 6"):
        steps.labels(5)


def test_without_the_limit_it_is_single_linkage(seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((200, 3))
    steps = genie(spanning_tree(X), gini_threshold=1.0)
    Z = linkage(X, "single")
    np.testing.assert_allclose(steps.lengths, Z[:, 2])
    assert not steps.forced.any()
    for k in (2, 5, 50):
        assert adjusted_rand_score(steps.labels(k), fcluster(Z, k, "maxclust")) == 1.0


def test_labels_for_several_numbers_of_clusters() -> None:
    X = np.random.default_rng(0).standard_normal((50, 2))
    steps = genie(spanning_tree(X))
    several = steps.labels([7, 2, 50, 2])
    for i, k in enumerate([7, 2, 50, 2]):
        np.testing.assert_array_equal(several[:, i], steps.labels(k))
        firsts = np.unique(several[:, i], return_index=True)[1]
        assert (np.diff(firsts) > 0).all()
        assert len(firsts) == k


def test_recorded_gini_and_force() -> None:
    steps = genie(spanning_tree(np.array([[0.0], [1.0], [2.1], [9.0]])), gini_threshold=0.2)
    # Sizes 1, 1, 1, 1, then 2, 1, 1, then 3, 1 or 2, 2.
    np.testing.assert_allclose(steps.gini, [0.0, 0.25, 0.0 if steps.lengths[1] > 2 else 0.5])
    np.testing.assert_array_equal(steps.forced, steps.gini > 0.2)


def test_distances_of_any_kind() -> None:
    graph = sparse.csr_matrix(([1.0, 1.0, 9.0], ([0, 2, 1], [1, 3, 2])), shape=(4, 4))
    tree = spanning_tree(graph, metric="precomputed")
    np.testing.assert_array_equal(genie(tree).labels(2), [0, 0, 1, 1])


def test_refusals() -> None:
    tree = spanning_tree([[0.0], [1.0], [2.0]])
    with pytest.raises(InvalidParameter, match="gini_threshold must be"):
        genie(tree, gini_threshold=1.5)
    with pytest.raises(ValueError, match="whole numbers"):
        genie(tree, weights=[1.0, 2.5, 1.0])
    with pytest.raises(ValueError, match="shape \\(2,\\)"):
        genie(tree, weights=[1, 2])
    with pytest.raises(ValueError, match="common factor"):
        genie(tree, weights=[1, 1, 10**9])
    with pytest.raises(ValueError, match="not between 1"):
        genie(tree).labels(4)
    with pytest.raises(InvalidParameter, match="n_clusters must be"):
        genie(tree).labels(0)
