"""Thresholded co-association and normalised cuts, against dense matrices and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import eigh
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import aslinearoperator

from clusterscape import Ensemble
from clusterscape.linalg import thresholded
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.cross import cross_coassociation
from clusterscape.linalg.ncut import NcutResult, eigengap, kway_ncut, ncut_value, recursive_ncut
from clusterscape.linalg.thresholded import ThresholdedCoassociation
from clusterscape.validate import select_k
from strategies import brute_force_coassociation, ensembles

# -- thresholded co-association -----------------------------------------------------------------


def dense_twin(ensemble, threshold, scale, diagonal):
    """Threshold and scale a dense co-association, straight from the definition."""
    P = brute_force_coassociation(ensemble)[1]
    if diagonal is not None:
        np.fill_diagonal(P, diagonal)
    kept = np.where(threshold - 1e-12 <= P, P, 0.0)
    return kept if scale is None else np.exp(scale * kept)


@given(
    ensembles(),
    st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 1.0]),
    st.sampled_from([None, 0.5, 10.0]),
    st.sampled_from([None, 0.0, 1.0]),
)
def test_thresholded_equals_its_dense_twin(ensemble, threshold, scale, diagonal):
    made = ThresholdedCoassociation(
        ensemble.coassociation(), threshold, scale=scale, diagonal=diagonal
    )
    dense = dense_twin(ensemble, threshold, scale, diagonal)
    np.testing.assert_allclose(made.toarray(), dense, atol=1e-9)
    np.testing.assert_allclose(made @ np.eye(len(dense)), dense, atol=1e-9)
    np.testing.assert_allclose(made.T @ dense[0], dense.T @ dense[0], rtol=1e-9)
    np.testing.assert_allclose(made.diagonal(), np.diag(dense), atol=1e-9)
    np.testing.assert_allclose(made.row_sums(), dense.sum(axis=1))
    np.testing.assert_allclose(made.tocsr().toarray() + made.background, dense, atol=1e-9)
    some = np.arange(len(dense)) % 2 == 0
    np.testing.assert_allclose(made.subset(some).toarray(), dense[some][:, some], atol=1e-9)


@given(ensembles(), st.sampled_from([0.0, 0.25, 0.5]), st.sampled_from([None, 10.0]))
def test_raising_the_threshold_equals_building_anew(ensemble, threshold, scale):
    operator = ensemble.coassociation()
    low = ThresholdedCoassociation(operator, threshold, scale=scale)
    for higher in (0.5, 2 / 3, 1.0):
        anew = ThresholdedCoassociation(operator, higher, scale=scale)
        raised = low.raised(higher)
        assert raised.n_pairs == anew.n_pairs
        np.testing.assert_allclose(raised.toarray(), anew.toarray(), atol=1e-9)


@given(
    ensembles(max_points=6, weighted=False),
    st.lists(st.integers(1, 3), min_size=6, max_size=6),
    st.sampled_from([None, 10.0]),
    st.sampled_from([None, 0.0, 1.0]),
)
def test_micro_clusters_act_like_their_copies(ensemble, copies, scale, diagonal):
    copies = np.array(copies[: ensemble.n_points])
    full = ensemble.subset(np.repeat(np.arange(ensemble.n_points), copies))
    small, inverse = full.compress()
    settings = {"threshold": 0.5, "scale": scale, "diagonal": diagonal}
    dense = dense_twin(full, 0.5, scale, diagonal)
    made = ThresholdedCoassociation(
        small.coassociation(), sample_weight=small.sample_weight, **settings
    )
    value = np.random.default_rng(0).standard_normal(small.n_points)
    weighted = made @ (small.sample_weight * value)
    # Copies of a noise point have rows that differ on their own diagonal; the mean is the same.
    product = np.bincount(inverse, weights=dense @ value[inverse]) / small.sample_weight
    np.testing.assert_allclose(weighted, product, atol=1e-8)


def test_many_blocks_and_unequal_weights(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(-2, 3, size=(60, 7))
    for weights in (None, [1, 2, 1, 3, 1, 1, 2], rng.random(7)):
        votes = Ensemble.from_labels(labels, weights=weights)
        dense = dense_twin(votes, 0.4, 10.0, 1.0)
        for size in (2**22, 70):
            monkeypatch.setattr(thresholded, "_BLOCK", size)
            made = ThresholdedCoassociation(votes.coassociation(), 0.4, scale=10.0, diagonal=1.0)
            np.testing.assert_allclose(made.toarray(), dense)
    soft = votes.add(rng.dirichlet([1, 1], size=60))
    made = ThresholdedCoassociation(soft.coassociation(), 0.4)
    np.testing.assert_allclose(made.toarray(), dense_twin(soft, 0.4, None, None))


def test_thresholded_refuses_with_a_sentence():
    votes = Ensemble.from_labels(np.zeros((50, 2), int))
    operator = votes.coassociation()
    with pytest.raises(MemoryError, match="a higher threshold"):
        ThresholdedCoassociation(operator, 0.5, max_gb=1e-6)
    with pytest.raises(MemoryError, match="raise max_gb"):
        ThresholdedCoassociation(operator, 0.5).toarray(max_gb=1e-6)
    with pytest.raises(ValueError, match="threshold is a share"):
        ThresholdedCoassociation(votes.coassociation(normalize="counts"), 0.5)
    with pytest.raises(ValueError, match="threshold must be a number in"):
        ThresholdedCoassociation(operator, 1.5)
    with pytest.raises(ValueError, match="sample_weight must have one entry per point, 50 in all"):
        ThresholdedCoassociation(operator, 0.5, sample_weight=[1.0])
    with pytest.raises(ValueError, match="ascending"):
        ThresholdedCoassociation(operator, 0.5).subset([3, 1])
    with pytest.raises(ValueError, match="build the operator again"):
        ThresholdedCoassociation(operator, 0.5).raised(0.2)


# -- normalised cuts ----------------------------------------------------------------------------


def dense_cut(A, weight, labels):
    """Sum of links to other clusters over degrees, by loops."""
    W = A * np.outer(weight, weight)
    total = 0.0
    for g in np.unique(labels):
        inside = labels == g
        total += W[inside][:, ~inside].sum() / W[inside].sum()
    return total


@st.composite
def graphs(draw, max_points=8):
    n = draw(st.integers(3, max_points))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    A = rng.random((n, n)) ** 3
    weight = rng.integers(1, 4, size=n).astype(float)
    return (A + A.T) / 2, weight


def forms(A):
    """The same similarities in every form that is taken."""
    return {"dense": A, "sparse": csr_matrix(A), "operator": aslinearoperator(A)}


@given(graphs(), st.integers(0, 3))
def test_ncut_value_is_the_definition(graph, seed):
    A, weight = graph
    labels = np.random.default_rng(seed).integers(0, 3, size=len(A))
    for operator in forms(A).values():
        found = ncut_value(operator, labels, weights=weight)
        assert found == pytest.approx(dense_cut(A, weight, labels))


@given(graphs(), st.sampled_from(["sign", "best"]))
def test_one_split_equals_the_dense_twin(graph, cut):
    A, weight = graph
    degree = A @ weight
    scale = np.sqrt(weight / degree)
    values, vectors = eigh(np.eye(len(A)) - scale[:, None] * A * scale)
    assume(values[2] - values[1] > 1e-4)
    vector = vectors[:, 1] / np.sqrt(weight * degree)
    assume(np.abs(vector).min() > 1e-6 and np.diff(np.sort(vector)).min() > 1e-6)
    if cut == "sign":
        twin = vector >= 0
    else:
        sides = [vector > t for t in np.sort(vector)[:-1]]
        twin = min(sides, key=lambda side: dense_cut(A, weight, side))
    for operator in forms(A).values():
        found = recursive_ncut(operator, 2, weights=weight, cut=cut)
        split = found.splits[0]
        assert np.array_equal(found.labels == found.labels[0], twin == twin[0])
        assert split.value == pytest.approx(dense_cut(A, weight, twin))
        assert found.value == pytest.approx(split.value)
        assert split.eigenvalue == pytest.approx(values[1], abs=1e-8)
        assert sum(split.sizes) == pytest.approx(weight.sum())


@given(ensembles(min_points=4, max_points=9, soft=False), st.sampled_from(["sign", "best"]))
def test_thresholded_operators_are_cut_like_dense_matrices(ensemble, cut):
    made = ThresholdedCoassociation(ensemble.coassociation(), 0.3, scale=3.0, diagonal=1.0)
    weight = ensemble.sample_weight
    ours = recursive_ncut(made, 3, weights=weight, cut=cut)
    dense = recursive_ncut(made.toarray(), 3, weights=weight, cut=cut)
    np.testing.assert_allclose(
        [split.value for split in ours.splits], [split.value for split in dense.splits], atol=1e-7
    )


@pytest.mark.parametrize("cut", ["sign", "best"])
@pytest.mark.parametrize("order", ["best", "largest"])
def test_planted_blocks_are_found_in_every_form(cut, order, seed):
    rng = np.random.default_rng(seed)
    # The heaviest part may be a cluster already, unless sizes are about equal.
    sizes = [30, 12, 8, 5] if order == "best" else [14, 13, 13, 15]
    planted = np.repeat([0, 1, 2, 3], sizes)
    A = np.where(planted[:, None] == planted, 0.9, 0.02) + rng.random((55, 55)) * 0.01
    A = (A + A.T) / 2
    for operator in forms(A).values():
        for found in (
            recursive_ncut(operator, 4, cut=cut, order=order),
            kway_ncut(operator, 4, rows="unit"),
            kway_ncut(operator, 4, rows="degree"),
        ):
            assert np.array_equal(
                found.labels[:, None] == found.labels, planted[:, None] == planted
            )


def test_the_best_cut_is_made_first_and_recorded():
    # Two pairs of blocks: the pairs are nearly apart, the second pair is looser than the first.
    A = np.full((12, 12), 0.01)
    A[:6, :6], A[6:, 6:] = 0.5, 0.2
    for i in range(4):
        A[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = 1.0
    found = recursive_ncut(A, 4)
    np.testing.assert_array_equal(
        [len({*found.labels[3 * i : 3 * i + 3]}) for i in range(4)], [1, 1, 1, 1]
    )
    first, second, third = found.splits
    assert first.value < second.value < third.value
    assert len(set(recursive_ncut(A, 3).labels[:6])) == 1  # the tighter pair is left whole


def test_copies_equal_weights():
    rng = np.random.default_rng(2)
    A = rng.random((9, 9)) ** 2
    A = A @ A.T  # no eigenvalue below zero: copies are never cut apart
    copies = rng.integers(1, 4, size=9)
    full = np.repeat(np.repeat(A, copies, axis=0), copies, axis=1)
    for cut in ("sign", "best"):
        small = recursive_ncut(A, 4, weights=copies, cut=cut)
        large = recursive_ncut(full, 4, cut=cut)
        spread = np.repeat(small.labels, copies)
        assert np.array_equal(spread[:, None] == spread, large.labels[:, None] == large.labels)
        assert small.value == pytest.approx(large.value)
    small, large = kway_ncut(A, 3, weights=copies, n_init=30), kway_ncut(full, 3, n_init=30)
    np.testing.assert_allclose(small.eigenvalues, large.eigenvalues)
    assert small.value == pytest.approx(large.value)


def test_parts_that_cannot_be_split():
    alike = recursive_ncut(np.ones((4, 4)), 3)
    assert (alike.labels == 0).all()
    assert alike.splits == ()
    assert (recursive_ncut(np.ones((4, 4)) - np.eye(4), 3).labels == 0).all()
    blocks = np.kron(np.eye(3), np.ones((2, 2)))
    apart = recursive_ncut(blocks, 6)
    assert len(apart.splits) == 2
    assert apart.value == 0.0
    assert len(set(apart.labels)) == 3
    lonely = blocks.copy()
    lonely[0] = lonely[:, 0] = 0.0  # a point without any similarity is a component
    for operator in forms(lonely).values():
        found = recursive_ncut(operator, 4)
        assert len(set(found.labels)) == 4
        assert found.value == 0.0
    assert len(set(recursive_ncut(np.array([[1.0, 0.2], [0.2, 1.0]]), 2).labels)) == 2


def test_the_best_cut_where_no_pair_is_left():
    votes = Ensemble.from_labels([[0, 1, 2, 3]])
    made = ThresholdedCoassociation(votes.coassociation(), 0.5, scale=2.0, diagonal=1.0)
    assert made.n_pairs == 0
    weight = np.array([4.0, 3.0, 2.0, 1.0])
    for operator in (made, made.toarray()):
        found = recursive_ncut(operator, 4, weights=weight, cut="best")
        assert sorted(found.labels) == [0, 1, 2, 3]


def test_cuts_refuse_with_a_sentence():
    with pytest.raises(ValueError, match="n_clusters=4 is more than the 3 points"):
        recursive_ncut(np.ones((3, 3)), 4)
    with pytest.raises(ValueError, match="similarities >= 0"):
        kway_ncut(-np.ones((3, 3)), 2)
    with pytest.raises(ValueError, match="weights must be finite numbers > 0; entry 1 is 0"):
        recursive_ncut(np.ones((3, 3)), 2, weights=[1, 0, 1])
    with pytest.raises(ValueError, match="cut must be one of"):
        recursive_ncut(np.ones((3, 3)), 2, cut="half")
    with pytest.raises(ValueError, match="labels has shape"):
        ncut_value(np.ones((3, 3)), [0, 1])


def test_the_best_of_all_bipartitions_is_near_the_sweep():
    rng = np.random.default_rng(4)
    for _ in range(5):
        A = rng.random((8, 8)) ** 4
        A = A + A.T
        weight = np.ones(8)
        sides = (np.array((0, *rest)) for rest in itertools.product([0, 1], repeat=7) if any(rest))
        least = min(dense_cut(A, weight, side) for side in sides)
        swept = recursive_ncut(A, 2, cut="best").value
        signed = recursive_ncut(A, 2, cut="sign").value
        assert least - 1e-12 <= swept <= signed + 1e-12


@given(ensembles(min_points=3))
def test_eigengap_is_the_rule_of_select_k(ensemble):
    assume((ensemble.n_clusters > 0).any())
    chosen = select_k(ensemble, (2, 6))
    k, gaps = eigengap(chosen.eigenvalues, max_clusters=6)
    assert k == chosen.n_clusters
    np.testing.assert_allclose(gaps[: chosen.gaps.size], chosen.gaps)


# -- points that were not in the graph ----------------------------------------------------------


@given(
    ensembles(min_points=2, soft=False),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    st.sampled_from([None, 10.0]),
    st.integers(1, 8),
)
def test_cross_coassociation_is_a_block_of_the_whole(ensemble, threshold, scale, n):
    n = min(n, ensemble.n_points - 1)
    known = Coassociation(ensemble.labels[:n], ensemble.offsets, ensemble.weights, soft={})
    found = cross_coassociation(known, ensemble.labels[n:], threshold=threshold, scale=scale)
    whole = dense_twin(ensemble, threshold, scale, None)
    np.testing.assert_allclose(found, whole[n:, :n], atol=1e-12)


def test_cross_coassociation_by_votes_of_any_type():
    rng = np.random.default_rng(0)
    for lowest in (0, -1, -2):
        labels = rng.integers(lowest, 3, size=(40, 300))
        a, b = labels[25:, None], labels[None, :25]
        for weights in (np.ones(300), rng.integers(1, 9, 300), rng.random(300)):
            votes = Ensemble.from_labels(labels, orient="columns", weights=weights)
            known = Coassociation(votes.labels[:25], votes.offsets, votes.weights, soft={})
            found = cross_coassociation(known, votes.labels[25:], threshold=0.3, scale=5.0)
            share = ((a == b) & (a >= 0)) @ weights / (((a > -2) & (b > -2)) @ weights)
            np.testing.assert_allclose(found, np.exp(5.0 * np.where(share >= 0.3, share, 0.0)))


def test_cross_coassociation_refuses_with_a_sentence():
    votes = Ensemble.from_labels([[0, 0, 1], [0, 1, 2]])
    S = votes.coassociation()
    with pytest.raises(ValueError, match="one column for each of the 2 partitions"):
        cross_coassociation(S, [[0, 0, 0]])
    with pytest.raises(ValueError, match="whole numbers"):
        cross_coassociation(S, [[0.5, 0.0]])
    with pytest.raises(ValueError, match="partition 0 has 2 clusters"):
        cross_coassociation(S, [[2, 0]])
    with pytest.raises(ValueError, match="threshold is a share"):
        cross_coassociation(votes.coassociation(normalize="counts"), [[0, 0]])
    with pytest.raises(ValueError, match="soft partitions"):
        cross_coassociation(votes.add(np.eye(3)).coassociation(), [[0, 0, 0]])


def generalised(A, weight):
    """Eigenvalues mu (largest first) and vectors y with A W y = mu D y, by a dense solver."""
    degree = A @ weight
    scale = np.sqrt(weight / degree)
    values, vectors = eigh(scale[:, None] * A * scale)
    return values[::-1], (vectors / np.sqrt(weight * degree)[:, None])[:, ::-1]


@given(graphs(), st.sampled_from(["sign", "best"]))
def test_extension_of_one_split_equals_the_dense_formula(graph, cut):
    A, weight = graph
    mu, y = generalised(A, weight)
    assume(mu[1] - mu[2] > 1e-4 and abs(mu[1]) > 1e-3)
    assume(np.diff(np.sort(y[:, 1])).min() > 1e-6)
    found = recursive_ncut(A, 2, weights=weight, cut=cut)
    assume(len(set(found.labels)) == 2)
    S = np.random.default_rng(0).random((30, len(A)))
    values = S @ (weight * y[:, 1]) / (mu[1] * (S @ weight))
    up = y[:, 1] > 0
    if cut == "best":
        up = found.labels == found.labels[np.argmax(y[:, 1])]
    place = 0.0 if cut == "sign" else (y[up, 1].min() + y[~up, 1].max()) / 2
    clear = np.abs(values - place) > 1e-6
    expected = np.where(values > place, found.labels[up][0], found.labels[~up][0])
    np.testing.assert_array_equal(found.extend(S)[clear], expected[clear])
    np.testing.assert_array_equal(found.extend(csr_matrix(S)), found.extend(S))


@given(graphs(), st.sampled_from(["unit", "degree"]))
def test_extension_of_the_embedding_equals_the_dense_formula(graph, rows):
    A, weight = graph
    mu, y = generalised(A, weight)
    assume(np.diff(mu).max() < -1e-4 and np.abs(mu[:3]).min() > 1e-3)
    found = kway_ncut(A, 3, weights=weight, rows=rows, n_init=5)

    def embedded(S):
        points = S @ (weight[:, None] * y[:, :3]) / (mu[:3] * (S @ weight)[:, None])
        norm = np.linalg.norm(points, axis=1, keepdims=True)
        return points / norm if rows == "unit" else points

    mass = weight * (A @ weight) if rows == "degree" else weight
    own = embedded(A)
    groups = np.unique(found.labels)
    centers = [
        np.average(own[found.labels == g], axis=0, weights=mass[found.labels == g]) for g in groups
    ]
    S = np.random.default_rng(1).random((30, len(A)))
    distance = ((embedded(S)[:, None] - np.array(centers)) ** 2).sum(axis=2)
    ordered = np.sort(distance, axis=1)
    clear = ordered[:, 1] - ordered[:, 0] > 1e-6 if len(groups) > 1 else np.ones(30, bool)
    np.testing.assert_array_equal(found.extend(S)[clear], groups[distance.argmin(axis=1)][clear])


@pytest.mark.parametrize("n", [40, 700])  # the second is beyond the dense solver
def test_fitted_points_extend_to_their_own_clusters(n, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, n)
    noisy = np.where(rng.random((n, 30)) < 0.35, rng.integers(0, 4, (n, 30)), labels[:, None])
    small = Ensemble.from_labels(noisy).compress().ensemble
    weight = small.sample_weight
    votes = small.coassociation()
    made = ThresholdedCoassociation(votes, 0.4, scale=3.0, diagonal=1.0, sample_weight=weight)
    rows = cross_coassociation(votes, small.labels, threshold=0.4, scale=3.0)
    np.testing.assert_allclose(rows, made.toarray())
    for found in (
        recursive_ncut(made, 5, weights=weight),
        recursive_ncut(made, 5, weights=weight, cut="best"),
        recursive_ncut(made, 5, weights=weight, order="largest"),
        kway_ncut(made, 4, weights=weight),
        kway_ncut(made, 4, weights=weight, rows="degree"),
    ):
        np.testing.assert_array_equal(found.extend(rows), found.labels)


def test_components_and_single_clusters_extend():
    blocks = np.kron(np.diag([1.0, 2.0, 0.5]), np.ones((2, 2)))
    blocks[4] = blocks[:, 4] = 0.0  # one point without any similarity
    found = recursive_ncut(blocks, 4)
    assert len(set(found.labels)) == 4
    some = [0, 1, 2, 3, 5]
    np.testing.assert_array_equal(found.extend(blocks[some]), found.labels[some])
    mixed = [[0.6, 0.6, 0.7, 0.7, 0.0, 0.0]]  # larger over degree to the first block
    assert found.extend(mixed)[0] == found.labels[0]
    assert (recursive_ncut(blocks, 1).extend(blocks) == 0).all()
    zero = recursive_ncut(np.zeros((3, 3)), 2)
    np.testing.assert_array_equal(zero.extend(np.zeros((2, 3))), [1, 1])
    np.testing.assert_array_equal(zero.extend(np.eye(3)) == zero.labels, [True, True, True])


def test_extension_refuses_with_a_sentence():
    found = recursive_ncut(np.eye(3), 2)
    with pytest.raises(ValueError, match="each of the 3 points"):
        found.extend(np.ones((2, 4)))
    with pytest.raises(ValueError, match="finite and >= 0"):
        found.extend([[1.0, -1.0, 0.0]])
    with pytest.raises(ValueError, match="finite and >= 0"):
        found.extend([[1.0, np.nan, 0.0]])
    with pytest.raises(ValueError, match="not made by a cut"):
        NcutResult(found.labels, 0.0, np.empty(0)).extend(np.ones((1, 3)))


@pytest.mark.parametrize("k", [3, 4, 5])
def test_equal_clusters_of_one_row_each_are_separated(k):
    A = np.ones((k, k)) + 22025.0 * np.eye(k)
    for weights in (None, np.full(k, 20.0)):
        assert len(np.unique(recursive_ncut(A, k, weights=weights).labels)) == k
    # Points that are no more similar to themselves than to other points stay together.
    for alike in (np.ones((k, k)), 1.0 - np.eye(k)):
        assert len(np.unique(recursive_ncut(alike, 2).labels)) == 1
