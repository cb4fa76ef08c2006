"""Graph and hypergraph consensus against enumeration, dense twins and planted partitions."""

from __future__ import annotations

import importlib
import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape.combine import ConsensusWarning
from clusterscape.combine.cspa import CSPA, similarity_graph
from clusterscape.combine.eci import column_weights
from clusterscape.combine.gcc import GCC
from clusterscape.combine.hbgf import HBGF, bipartite_graph
from clusterscape.combine.hgpa import HGPA, Hyperedges, Sample
from clusterscape.combine.mcla import MCLA, MetaRule, association_table, meta_graph
from clusterscape.compare import average_nmi
from clusterscape.compare.tables import columns_of
from clusterscape.linalg.graphcut import partition_graph, partition_hypergraph, whole_numbers
from clusterscape.linalg.rowspace import RowSpace
from strategies import brute_force_coassociation, ensembles, rows_of

METHODS = [CSPA, HGPA, MCLA, HBGF, GCC]
SOFT = [CSPA, MCLA, HBGF, GCC]
every = pytest.mark.parametrize("method", METHODS)

# Seven points of Strehl and Ghosh; the last partition did not see three of them.
TOY = Ensemble.from_labels(
    [
        [1, 1, 1, 2, 2, 3, 3],
        [2, 2, 2, 3, 3, 1, 1],
        [1, 1, 2, 2, 3, 3, 3],
        [1, 2, -2, 1, 2, -2, -2],
    ]
)
TOY_GROUPS = [0, 0, 0, 1, 1, 2, 2]


def same_partition(left, right):
    """Whether two labelings group the points alike."""
    left, right = np.asarray(left), np.asarray(right)
    return np.array_equal(left[:, None] == left, right[:, None] == right)


def fit(method, ensemble, k, **params):
    """A fitted model; that there may be fewer groups than asked for is no matter here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        return method(k, random_state=0, **params).fit(ensemble)


def partitions_of_sizes(n, sizes):
    """Every labeling of n things with parts of these sizes (in some order of the parts)."""
    for labels in itertools.product(range(len(sizes)), repeat=n):
        if sorted(np.bincount(labels, minlength=len(sizes))) == sorted(sizes):
            yield np.array(labels)


def cut_weight(weights, labels):
    """Total of a dense symmetric matrix between parts, each pair once."""
    return weights[labels[:, None] != labels].sum() / 2.0


def dense_jaccard(ensemble):
    """Extended Jaccard coefficients of all clusters, by the definition."""
    blocks = [rows_of(ensemble, i)[0] for i in range(ensemble.n_partitions)]
    matrix = np.hstack(blocks)
    s = ensemble.sample_weight
    width = matrix.shape[1]
    result = np.zeros((width, width))
    for a, b in itertools.combinations(range(width), 2):
        both = (s * matrix[:, a] * matrix[:, b]).sum()
        either = (s * matrix[:, a] ** 2).sum() + (s * matrix[:, b] ** 2).sum() - both
        result[a, b] = result[b, a] = both / either if either > 0 else 0.0
    return result


def clustered(ensemble):
    """The partitions that have clusters and the points that are in one, or None."""
    keep = ensemble.n_clusters > 0
    rows = (ensemble.labels >= 0).any(axis=1)
    return ensemble.select(keep).subset(rows) if keep.any() and rows.any() else None


# -- the worked example ---------------------------------------------------------------------------


class TestStrehlsToy:
    def test_best_balanced_cut_of_similarities(self):
        counts = brute_force_coassociation(TOY)[0]
        best = min(partitions_of_sizes(7, [3, 2, 2]), key=lambda p: cut_weight(counts, p))
        assert cut_weight(counts, best) == 5.0
        assert same_partition(best, TOY_GROUPS)
        model = CSPA(3, random_state=0).fit(TOY)
        assert model.labels_.tolist() == TOY_GROUPS
        assert model.cost_ == pytest.approx(5.0)

    def test_best_balanced_cut_of_hyperedges(self):
        pins = [np.flatnonzero(c) for c in TOY.membership().matrix.toarray().T]
        assert len(pins) == 11

        def cut(labels):
            return sum(np.unique(labels[edge]).size > 1 for edge in pins)

        best = min(partitions_of_sizes(7, [3, 2, 2]), key=cut)
        assert cut(best) == 4
        assert same_partition(best, TOY_GROUPS)
        model = HGPA(3, random_state=0).fit(TOY)
        assert model.labels_.tolist() == TOY_GROUPS
        assert model.cost_ == 4

    def test_best_balanced_cut_of_the_meta_graph(self):
        jaccard = dense_jaccard(TOY)
        rest = np.array(list(itertools.product(range(3), repeat=10)))
        labels = np.column_stack([np.zeros(len(rest), dtype=int), rest])
        counts = np.sort((labels[:, :, None] == np.arange(3)).sum(axis=1), axis=1)
        balanced = labels[(counts == [3, 4, 4]).all(axis=1)]
        apart = balanced[:, :, None] != balanced[:, None, :]
        assert (apart * jaccard).sum(axis=(1, 2)).min() / 2 == pytest.approx(2.75)
        model = MCLA(3, random_state=0).fit(TOY)
        assert model.labels_.tolist() == TOY_GROUPS
        assert model.cost_ == pytest.approx(2.75)

    @pytest.mark.parametrize("method", [HBGF, GCC])
    def test_the_others_agree(self, method):
        assert method(3, random_state=0).fit_predict(TOY).tolist() == TOY_GROUPS


# -- what holds for all ---------------------------------------------------------------------------


@every
class TestAllFive:
    def test_returns_what_the_ensemble_agrees_on(self, method):
        planted = np.repeat([0, 1, 2], [6, 4, 2])
        votes = np.column_stack([planted, np.array([2, 0, 1])[planted], planted])
        np.testing.assert_array_equal(method(3, random_state=0).fit_predict(votes), planted)

    def test_one_partition_is_its_own_consensus(self, method):
        planted = np.array([1, 1, 0, 0, 0, 2])
        found = method(3, random_state=0).fit_predict(Ensemble.from_labels([planted]))
        assert same_partition(found, planted)

    def test_fewer_groups_than_asked_for(self, method):
        with pytest.warns(ConsensusWarning, match="only 2 groups of points"):
            model = method(3, random_state=0).fit(Ensemble.from_labels([[0, 0, 1, 1]]))
        assert model.labels_.tolist() == [0, 0, 1, 1]

    def test_one_cluster_and_as_many_as_points(self, method):
        votes = np.array([[0, 0], [0, 1], [1, 1], [2, 1]])
        assert method(1, random_state=0).fit_predict(votes).tolist() == [0] * 4
        assert np.unique(method(4, random_state=0).fit_predict(votes)).size == 4

    def test_labels_do_not_depend_on_names(self, method):
        rng = np.random.default_rng(3)
        labels = rng.integers(0, 3, size=(60, 8))
        labels[:15] = labels[0]
        first = fit(method, labels, 3)
        again = fit(method, np.array([2, 0, 1])[labels], 3)
        np.testing.assert_array_equal(first.labels_, again.labels_)

    def test_weights_equal_repetition(self, method):
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 3, size=(40, 5))
        weights = np.array([1, 3, 1, 2, 1])
        weighted = fit(method, Ensemble.from_labels(labels, weights=weights), 2)
        repeated = fit(method, np.repeat(labels, weights, axis=1), 2)
        np.testing.assert_array_equal(weighted.labels_, repeated.labels_)
        scaled = fit(method, Ensemble.from_labels(labels, weights=weights * 0.5), 2)
        np.testing.assert_array_equal(weighted.labels_, scaled.labels_)

    def test_point_weights_equal_copies(self, method):
        rng = np.random.default_rng(7)
        labels = rng.integers(0, 3, size=(30, 6))
        copies = rng.integers(1, 4, size=30)
        weighted = fit(method, Ensemble.from_labels(labels, sample_weight=copies), 3)
        repeated = fit(method, np.repeat(labels, copies, axis=0), 3)
        np.testing.assert_array_equal(np.repeat(weighted.labels_, copies), repeated.labels_)
        halves = fit(method, Ensemble.from_labels(labels, sample_weight=copies * 0.25), 3)
        np.testing.assert_array_equal(weighted.labels_, halves.labels_)

    def test_points_outside_all_clusters_and_without_weight(self, method):
        votes = Ensemble.from_labels([[0, 0, 1, 1, -2], [0, 0, 1, 1, -1], [-2, -2, -2, -2, -2]])
        assert method(2, random_state=0).fit(votes).labels_.tolist() == [0, 0, 1, 1, -1]
        votes = Ensemble.from_labels([[0, 0, 1, 1, 1], [0, 0, 1, 1, 0]])
        labels = method(2, random_state=0).fit(votes, sample_weight=[1, 1, 1, 1, 0]).labels_
        assert labels[:4].tolist() == [0, 0, 1, 1]
        assert labels[4] in (0, 1)

    def test_noise_and_unsampled_votes_do_not_hide_the_groups(self, method):
        rng = np.random.default_rng(2)
        planted = rng.permutation(np.repeat([0, 1, 2], 30))
        columns = [rng.permutation(6)[2 * planted + rng.integers(0, 2, 90)] for _ in range(12)]
        labels = np.column_stack(columns)
        labels[rng.random(labels.shape) < 0.15] = -1
        labels[rng.random(labels.shape) < 0.15] = -2
        model = fit(method, labels, 3)
        assert adjusted_rand_score(planted, model.labels_) == 1.0
        np.testing.assert_array_equal(fit(method, labels, 3).labels_, model.labels_)

    def test_bad_parameters_get_a_sentence(self, method):
        with pytest.raises(ValueError, match="n_clusters must be an integer >= 1"):
            method(0).fit([[0, 1]])
        with pytest.raises(ValueError, match=r"imbalance must be a number in \[0, 1\]"):
            method(2, imbalance=2.0).fit([[0, 1]])
        with pytest.raises(ValueError, match="n_clusters=5 is more than the 3 points"):
            method(5).fit([[0, 1, 1]])
        with pytest.raises(ValueError, match="no partition has a cluster"):
            method(2).fit([[-1, -1]])

    @settings(max_examples=25, deadline=None)
    @given(data=st.data())
    def test_any_small_ensemble_has_an_answer(self, method, data):
        votes = data.draw(ensembles(min_points=2, soft=method is not HGPA))
        k = data.draw(st.integers(1, 4))
        work = clustered(votes)
        assume(work is not None and work.n_points >= k)
        model = fit(method, votes, k)
        inside = (votes.labels >= 0).any(axis=1)
        assert ((model.labels_ >= 0) == inside).all()
        assert 1 <= model.n_clusters_ <= k
        if method in (CSPA, HGPA):
            assert model.n_clusters_ == min(k, model.n_micro_clusters_)
        np.testing.assert_array_equal(fit(method, votes, k).labels_, model.labels_)


# MCLA and GCC balance clusters, not points.
@pytest.mark.parametrize("method", [m for m in METHODS if m not in (MCLA, GCC)])
def test_random_votes_give_clusters_of_nearly_equal_size(method):
    labels = np.random.default_rng(1).integers(0, 4, size=(120, 6))
    sizes = np.bincount(fit(method, labels, 4).labels_)
    assert sizes.size == 4
    assert sizes.max() <= 30 * 1.12


@pytest.mark.parametrize("method", SOFT)
def test_soft_partitions(method):
    soft = np.array([[1, 0], [0.9, 0.1], [0.1, 0.9], [0, 1.0]])
    votes = Ensemble.from_labels([soft, [0, 0, 1, 1]])
    model = method(2, random_state=0).fit(votes)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    crisp = Ensemble.from_labels([np.eye(3)[[0, 0, 1, 2, 2, 1]], [0, 0, 0, 1, 1, 1]])
    plain = Ensemble.from_labels([[0, 0, 1, 2, 2, 1], [0, 0, 0, 1, 1, 1]])
    np.testing.assert_array_equal(fit(method, crisp, 2).labels_, fit(method, plain, 2).labels_)


def test_hgpa_refuses_soft_partitions():
    with pytest.raises(ValueError, match="HGPA takes hard partitions only"):
        HGPA(2).fit(Ensemble.from_labels([np.eye(2)[[0, 1, 1]], [0, 1, 1]]))


# -- the graphs -----------------------------------------------------------------------------------


@given(ensembles(min_points=2))
def test_graph_of_all_pairs_is_the_coassociation(ensemble):
    found = similarity_graph(ensemble, None).toarray()
    expected = brute_force_coassociation(ensemble)[0]
    expected *= np.outer(ensemble.sample_weight, ensemble.sample_weight)
    np.fill_diagonal(expected, 0.0)
    error = 0.0
    if ensemble.is_soft:
        error = 9.0 * ensemble.weights.sum() / 60_000
    np.testing.assert_allclose(found, expected, atol=error + 1e-9)


@pytest.mark.parametrize("weights", [None, np.linspace(0.3, 1.7, 9), np.full(9, 7000.0)])
def test_strongest_neighbours_are_the_largest_entries_of_each_row(weights):
    rng = np.random.default_rng(0)
    votes = Ensemble.from_labels(rng.integers(-2, 4, size=(45, 9)), weights=weights)
    dense = similarity_graph(votes, None).toarray()
    kept = similarity_graph(votes, 7).toarray()
    np.testing.assert_array_equal(kept, kept.T)
    assert ((kept == dense) | (kept == 0)).all()
    for x in range(45):
        strongest = np.sort(dense[x])[::-1][:7]
        np.testing.assert_allclose(np.sort(kept[x])[::-1][:7], strongest)
        # An edge weaker than these is among the strongest of its other end.
        for y in np.flatnonzero((kept[x] > 0) & (kept[x] < strongest[-1])):
            assert kept[x, y] >= np.sort(dense[y])[::-1][6]
    exact = brute_force_coassociation(votes)[0]
    np.fill_diagonal(exact, 0.0)
    np.testing.assert_allclose(dense, exact, atol=9 * votes.weights.sum() / 60_000)


@given(ensembles(min_points=2))
def test_meta_graph_is_the_jaccard_matrix(ensemble):
    work = clustered(ensemble)
    if work is None:
        return
    edges = Hyperedges.of(work, column_weights(work, None, 0.4))
    unit = float(work.sample_weight.min())
    found = meta_graph(work, edges, columns_of(work, unit=unit), unit).toarray()
    expected = dense_jaccard(work)[np.ix_(edges.column, edges.column)]
    expected *= np.outer(edges.weight, edges.weight)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


@given(ensembles(min_points=2))
def test_hyperedges_are_the_distinct_columns_of_b(ensemble):
    work = clustered(ensemble)
    if work is None:
        return
    edges = Hyperedges.of(work, column_weights(work, None, 0.4))
    matrix = work.membership().matrix.toarray()
    weight = np.repeat(work.weights, work.n_clusters)
    distinct = {tuple(column): 0.0 for column in matrix.T}
    for column, w in zip(matrix.T, weight, strict=True):
        distinct[tuple(column)] += w
    assert edges.column.size == len(distinct)
    for h, column in enumerate(edges.column):
        assert edges.weight[h] == pytest.approx(distinct[tuple(matrix[:, column])])
    np.testing.assert_array_equal(matrix[:, edges.column[edges.of_column]], matrix)


def test_a_soft_cluster_of_whole_points_is_a_hyperedge_with_its_hard_copy():
    soft = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    work = Ensemble.from_labels([soft, [0, 0, 1, 1], [0, 0, 0, 1]])
    edges = Hyperedges.of(work, column_weights(work, None, 0.4))
    assert edges.of_column.tolist() == [0, 1, 0, 1, 2, 3]
    assert edges.weight.tolist() == [2.0, 2.0, 1.0, 1.0]


@given(ensembles(min_points=2))
def test_bipartite_graph_joins_points_and_clusters(ensemble):
    work = clustered(ensemble)
    if work is None:
        return
    edges = Hyperedges.of(work, column_weights(work, None, 0.4))
    sample = Sample.of(work, None, np.random.default_rng(0))
    graph = bipartite_graph(sample, edges).toarray()
    n = work.n_points
    matrix = work.membership().matrix.toarray()[:, edges.column]
    expected = matrix * edges.weight * work.sample_weight[:, None]
    np.testing.assert_allclose(graph[:n, n:], expected)
    np.testing.assert_allclose(graph, graph.T)
    assert not graph[:n, :n].any()
    assert not graph[n:, n:].any()


# -- each method's own ----------------------------------------------------------------------------


def planted_votes(n, k, r, *, seed=0, wrong=0.1):
    """Partitions that cut k planted groups finer, with errors."""
    rng = np.random.default_rng(seed)
    planted = rng.permutation(np.arange(n) % k)
    cells = [rng.permutation(3 * k)[3 * planted + rng.integers(0, 3, n)] for _ in range(r)]
    labels = np.column_stack(cells)
    stray = rng.random(labels.shape) < wrong
    labels[stray] = rng.integers(0, 3 * k, size=int(stray.sum()))
    return labels, planted


def test_cspa_keeps_the_strongest_neighbours_when_asked_and_says_so(monkeypatch):
    labels, planted = planted_votes(400, 4, 20)
    whole = CSPA(4, random_state=0).fit(labels)
    assert whole.n_neighbors_ is None
    few = CSPA(4, neighbors=10, random_state=0).fit(labels)
    assert few.n_neighbors_ == 10
    monkeypatch.setattr("clusterscape.combine.cspa._ALL_PAIRS", 300)
    above = CSPA(4, random_state=0).fit(labels)
    assert above.n_neighbors_ == 100
    for model in (whole, few, above):
        assert adjusted_rand_score(planted, model.labels_) > 0.98
    hot = Ensemble.from_labels(labels).membership().matrix.toarray()
    exact = hot @ hot.T
    assert whole.cost_ == pytest.approx(cut_weight(exact, whole.labels_))
    with pytest.raises(MemoryError, match=r"all pairs of \d+ distinct rows.*neighbors=100"):
        CSPA(4, neighbors="all", max_gb=1e-3).fit(labels)


def test_cspa_blocks_do_not_change_the_graph(monkeypatch):
    labels, _ = planted_votes(150, 3, 10)
    votes = Ensemble.from_labels(labels)
    whole = [similarity_graph(votes, kept).toarray() for kept in (None, 5)]
    monkeypatch.setattr("clusterscape.combine.cspa._BLOCK_BYTES", 1000)
    parts = [similarity_graph(votes, kept).toarray() for kept in (None, 5)]
    np.testing.assert_array_equal(whole, parts)


def test_hgpa_cost_is_the_weight_of_the_hyperedges_cut():
    labels, _ = planted_votes(200, 3, 8)
    weights = np.arange(1.0, 9.0)
    votes = Ensemble.from_labels(labels, weights=weights)
    for limit in (None, 80):
        model = HGPA(3, max_points=limit, random_state=0).fit(votes)
        cut = 0.0
        for i in range(8):
            for c in np.unique(labels[:, i]):
                cut += weights[i] * (np.unique(model.labels_[labels[:, i] == c]).size > 1)
        assert model.cost_ == pytest.approx(cut)
        assert model.sample_size_ == limit


@pytest.mark.parametrize("method", [HGPA, HBGF])
def test_a_sample_of_points_finds_the_planted_groups(method):
    labels, planted = planted_votes(3000, 4, 30, wrong=0.05)
    model = method(4, max_points=500, random_state=0).fit(labels)
    assert model.sample_size_ == 500
    assert adjusted_rand_score(planted, model.labels_) > 0.99
    weight = np.where(np.arange(3000) < 30, 50.0, 1.0)
    heavy = method(4, max_points=500, random_state=0).fit(labels, sample_weight=weight)
    assert adjusted_rand_score(planted, heavy.labels_) > 0.99


def test_a_sample_sends_points_where_most_of_their_clusters_are():
    labels, _ = planted_votes(600, 3, 9)
    votes = Ensemble.from_labels(labels)
    small, _ = votes.compress()
    sample = Sample.of(small, 100, np.random.default_rng(0))
    part = np.random.default_rng(1).integers(0, 3, size=int(small.offsets[-1]))
    table = np.zeros((part.size, 3))
    table[np.arange(part.size), part] = 1.0
    found = sample.follow(small, np.full(100, 2), table)
    votes_for = (part[small.labels + small.offsets[:-1]][:, :, None] == np.arange(3)).sum(axis=1)
    own = votes_for[np.arange(small.n_points), found]
    assert (own == votes_for.max(axis=1)).all()
    table[:, 2] = 0.0  # no point goes there unless it is moved
    table[:, 0] = 1.0
    found = sample.follow(small, np.arange(100) % 3, table)
    assert (found[sample.rows] == np.arange(100) % 3).all()
    assert np.isin(np.delete(found, sample.rows), [0, 1]).all()


def test_mcla_points_go_to_the_strongest_association():
    labels, planted = planted_votes(300, 3, 12)
    labels[7] = -1
    model = MCLA(3, random_state=0).fit(labels)
    assert model.membership_.shape == (300, model.n_clusters_)
    inside = np.arange(300) != 7
    np.testing.assert_allclose(model.membership_[inside].sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.membership_[inside].argmax(axis=1), model.labels_[inside])
    assert model.labels_[7] == -1
    assert not model.membership_[7].any()
    assert adjusted_rand_score(planted[inside], model.labels_[inside]) > 0.95
    weight = np.ones(300)
    weight[5] = 0.0
    follower = MCLA(3, random_state=0).fit(labels, sample_weight=weight)
    assert follower.membership_[5, follower.labels_[5]] == 1.0


def test_mcla_means_do_not_favour_large_meta_clusters():
    # Two clusters of one meta-cluster hold the point, as do one of another that has only one:
    # the mean decides, not the sum.
    votes = Ensemble.from_labels([[0, 1], [0, 1], [0, 1], [0, 1], [1, 0]])
    meta = np.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 2])
    table = association_table(np.ones(meta.size), meta, 3)
    rule = MetaRule(table, np.zeros_like(table), votes.offsets)
    won, association = rule.competed(RowSpace(votes.labels, votes.offsets))
    np.testing.assert_allclose(association[0], [4 / 5, 0.0, 1.0])
    assert won[0] == 2


@pytest.mark.filterwarnings("ignore::clusterscape.combine.ConsensusWarning")
@pytest.mark.parametrize("trial", range(12))
def test_mcla_ties_do_not_depend_on_names(trial):
    rng = np.random.default_rng(trial)
    labels = rng.integers(0, 3, size=(30, 8))
    labels[:15] = labels[0]
    first = MCLA(3, random_state=0).fit_predict(labels)
    renamed = MCLA(3, random_state=0).fit_predict(np.array([2, 0, 1])[labels])
    np.testing.assert_array_equal(first, renamed)


def test_mcla_ties_are_drawn_by_the_seed():
    # Every row holds one cluster of each of two meta-clusters.
    votes = np.random.default_rng(0).integers(0, 200, size=(2000, 2))
    space = RowSpace(votes, np.array([0, 200, 400]))
    table = np.repeat(np.eye(2), 200, axis=0)

    def drawn(seed: int) -> np.ndarray:
        lots = np.random.default_rng(seed).random(table.shape)
        return MetaRule(table, lots, space.offsets).competed(space)[0]

    first, again, other = drawn(0), drawn(0), drawn(1)
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert 800 < first.sum() < 1200


def test_gcc_keeps_the_best_score():
    for seed in range(4):
        labels = np.random.default_rng(seed).integers(0, 3, size=(40, 5))
        votes = Ensemble.from_labels(labels, weights=[1, 2, 1, 1, 3])
        model = fit(GCC, votes, 3)
        assert set(model.scores_) == {"cspa", "hgpa", "mcla"}
        assert model.skipped_ == {}
        best = max(model.scores_.values())
        assert model.scores_[model.method_] == best
        assert average_nmi(model.labels_, votes) == pytest.approx(best)


def test_gcc_says_what_it_skipped():
    labels, _ = planted_votes(100, 3, 6)
    model = GCC(3, max_pairwise=50, random_state=0).fit(labels)
    assert "more than max_pairwise=50" in model.skipped_["cspa"]
    assert set(model.scores_) == {"hgpa", "mcla"}
    soft = Ensemble.from_labels([np.eye(3)[labels[:, 0] % 3] * 0.9 + 0.1 / 3, *labels.T])
    model = GCC(3, random_state=0).fit(soft)
    assert model.skipped_ == {"hgpa": "it takes hard partitions only"}


@every
def test_the_seed_decides_and_the_parameters_matter(method):
    labels = np.random.default_rng(0).integers(0, 4, size=(150, 7))
    runs = [method(3, random_state=seed).fit(labels).labels_ for seed in (0, 0, 1, 2, 3)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert any((runs[0] != other).any() for other in runs[2:])
    loose = method(3, random_state=0, imbalance=0.6).fit(labels).labels_
    assert (loose != runs[0]).any()


# -- the partitioners -----------------------------------------------------------------------------


def ring(n):
    """A cycle of n vertices."""
    i = np.arange(n)
    half = sparse.coo_matrix((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return sparse.csr_matrix(half + half.T)


@pytest.mark.parametrize("recursive", [None, True, False])
def test_graph_cut_of_rings(recursive):
    for n, k in ((12, 3), (60, 4), (100, 10)):
        cut = partition_graph(ring(n), k, recursive=recursive)
        sizes = np.bincount(cut.labels, minlength=k)
        assert sizes.max() <= 1.25 * n / k
        labels = cut.labels
        assert cut.value == (labels != np.roll(labels, 1)).sum()
        assert cut.value <= k + 4
    two = sparse.block_diag([ring(20), ring(20)], format="csr")
    cut = partition_graph(two, 2, recursive=recursive)
    assert cut.value == 0
    assert same_partition(cut.labels, np.repeat([0, 1], 20))


def test_graph_cut_when_there_is_little_to_choose():
    assert partition_graph(ring(5), 1).labels.tolist() == [0] * 5
    assert partition_graph(ring(5), 1).value == 0.0
    assert partition_graph(ring(5), 5).value == 5.0
    assert sorted(partition_graph(ring(5), 9).labels) == [0, 1, 2, 3, 4]
    nothing = sparse.csr_matrix((6, 6))
    cut = partition_graph(nothing, 3)
    assert sorted(np.bincount(cut.labels)) == [2, 2, 2]
    assert cut.value == 0.0
    for recursive in (True, False):
        for n, k in ((6, 5), (7, 4), (9, 8)):
            pairs = sparse.csr_matrix(np.kron(np.eye(n), 1.0 - np.eye(2)))
            cut = partition_graph(pairs, k, recursive=recursive)
            assert np.unique(cut.labels).size == k
            assert cut.value == (cut.labels[::2] != cut.labels[1::2]).sum()
    with pytest.raises(ValueError, match="n_parts must be an integer >= 1"):
        partition_graph(ring(5), 0)


def test_graph_cut_weighs_edges_and_vertices():
    weights = np.full((6, 6), 0.01)
    for a, b in ((0, 1), (2, 3), (4, 5)):
        weights[a, b] = weights[b, a] = np.pi
    np.fill_diagonal(weights, 0.0)
    cut = partition_graph(sparse.csr_matrix(weights), 3)
    assert same_partition(cut.labels, [0, 0, 1, 1, 2, 2])
    assert cut.value == pytest.approx(0.12, rel=1e-6)
    path = sparse.csr_matrix(np.diag(np.ones(5), 1) + np.diag(np.ones(5), -1))
    heavy = partition_graph(path, 2, vertex_weights=np.array([5.0, 1, 1, 1, 1, 1]))
    assert same_partition(heavy.labels, [0, 1, 1, 1, 1, 1])


def test_edges_that_round_to_nothing_disappear():
    tiny = sparse.csr_matrix(np.array([[0, 1e15, 0], [1e15, 0, 1e-9], [0, 1e-9, 0]]))
    cut = partition_graph(tiny, 2)
    assert cut.labels[0] == cut.labels[1]
    assert cut.value == 0.0


def test_hypergraph_cut_against_enumeration():
    rng = np.random.default_rng(0)
    for trial in range(5):
        pins = [np.sort(rng.choice(8, rng.integers(2, 5), replace=False)) for _ in range(9)]
        weights = rng.integers(1, 5, size=9).astype(float)

        def cost(labels, pins=pins, weights=weights):
            split = [np.unique(labels[edge]).size > 1 for edge in pins]
            return weights[np.array(split)].sum()

        cut = partition_hypergraph(pins, 8, 2, weights=weights, imbalance=0.0, seed=trial)
        assert np.bincount(cut.labels).tolist() == [4, 4]
        assert cut.value == cost(cut.labels)
        best = min(cost(labels) for labels in partitions_of_sizes(8, [4, 4]))
        assert cut.value <= best * 1.2


def test_hypergraph_cut_when_there_is_little_to_choose():
    assert partition_hypergraph([[0, 1]], 3, 1).labels.tolist() == [0, 0, 0]
    cut = partition_hypergraph([[0, 1], [2]], 3, 3)
    assert cut.labels.tolist() == [0, 1, 2]
    assert cut.value == 1.0
    assert sorted(np.bincount(partition_hypergraph([], 4, 2).labels)) == [2, 2]
    heavy = partition_hypergraph([[0, 1], [2, 3]], 4, 2, vertex_weights=np.array([50.0, 1, 1, 1]))
    assert np.unique(heavy.labels).size == 2


def test_no_hyperedge_is_too_large_to_count():
    # Each hyperedge has more points than the partitioner's usual limit, and only they say that
    # points are related at all.
    from clusterscape.linalg import graphcut

    settings = dict(line.split("=") for line in graphcut._SETTINGS.split())
    assert int(settings["maxnet-ignore"]) > 2**31
    assert int(settings["smallest-maxnet-threshold"]) > 2**31
    n = 3000
    order = np.random.default_rng(0).permutation(n)
    pins = [np.sort(order[:1500]), np.sort(order[1500:])]
    cut = partition_hypergraph(pins, n, 2)
    assert cut.value == 0.0
    assert np.bincount(cut.labels).tolist() == [1500, 1500]


def test_whole_numbers():
    values, scale = whole_numbers(np.array([0.5, 1.0, 2.5]), 1000)
    assert values.tolist() == [1, 2, 5]
    assert scale == 2.0
    values, scale = whole_numbers(np.array([3.0, 2.0, 0.0]), 1000)
    assert (values.tolist(), scale) == ([3, 2, 0], 1.0)
    values, scale = whole_numbers(np.array([np.pi, np.e]), 10**6)
    assert abs(values.sum() - 10**6) <= 1
    np.testing.assert_allclose(values / scale, [np.pi, np.e], rtol=1e-5)
    assert whole_numbers(np.array([1, 10**9]), 1000)[0].sum() <= 1001
    assert whole_numbers(np.zeros(2), 10)[0].tolist() == [0, 0]
    # The unit does not matter.
    for unit in (1, 4, 0.25, np.pi):
        assert whole_numbers(np.array([6, 9, 30]) * unit, 1000)[0].tolist() == [2, 3, 10]


@pytest.mark.parametrize(("name", "method"), [("pymetis", CSPA), ("mtkahypar", HGPA)])
def test_a_missing_partitioner_is_named_with_its_remedy(monkeypatch, name, method):
    plain = importlib.import_module

    def absent(module, *rest):
        if module == name:
            raise ImportError(f"No module named {module!r}")
        return plain(module, *rest)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=rf'{name}.*pip install "clusterscape\[graph\]"'):
        method(2, random_state=0).fit(np.array([[0, 0], [0, 1], [1, 1], [1, 0]]))


def test_few_heavy_rows_and_partitions_that_say_nothing():
    planted = np.repeat([0, 1, 2], 10)
    labels = np.column_stack([np.tile(planted[:, None], (1, 10)), np.zeros((30, 5), dtype=int)])
    labels[[0, 12, 25, 3], [0, 1, 2, 4]] = [1, 2, 0, 2]
    for seed in range(4):
        for method in (CSPA, MCLA):
            found = method(3, random_state=seed).fit_predict(labels)
            np.testing.assert_array_equal(found, planted)


def test_soft_agreements_stay_within_the_table_of_counts():
    rng = np.random.default_rng(0)
    soft = np.eye(2)[np.repeat([0, 1], 10)] * (1 - 1e-7) + 5e-8
    noise = 1e-9 * rng.random((7, 20))
    votes = [np.column_stack([soft[:, 0] - d, soft[:, 1] + d]) for d in noise]
    model = CSPA(2, neighbors=3, random_state=0).fit(Ensemble.from_labels(votes))
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], 10))


def test_graphs_that_cannot_be_cut_are_refused():
    graph = sparse.csr_matrix(np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    with pytest.raises(TypeError, match="graph must be a square sparse matrix"):
        partition_graph(graph.toarray(), 2)
    with pytest.raises(ValueError, match="graph must hold finite links >= 0"):
        partition_graph(-graph, 2)
    with pytest.raises(ValueError, match="vertex_weights must have one entry per vertex, 3 in all"):
        partition_graph(graph, 2, vertex_weights=np.ones(2))
    np.testing.assert_array_equal(
        partition_graph(graph.tocoo(), 3).labels, partition_graph(graph, 3).labels
    )


def unequal_votes(seed, n=90, members=8):
    """Ten, twenty and sixty points, of which each member misplaces some and splits the largest."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [n // 9, 2 * n // 9, 6 * n // 9])
    columns = []
    for _ in range(members):
        labels = np.where(truth == 2, 2 + rng.integers(0, 2, n), truth)
        wrong = rng.random(n) < 0.1
        labels[wrong] = rng.integers(0, 4, int(wrong.sum()))
        columns.append(labels)
    return Ensemble.from_labels(np.column_stack(columns)), truth


def test_spectral_hbgf_is_the_normalised_cut_of_the_whole_graph(seed):
    ensemble, truth = unequal_votes(seed)
    found = HBGF(3, partitioner="spectral", random_state=0).fit(ensemble)
    B = ensemble.membership().matrix.toarray()
    n, D = B.shape
    W = np.zeros((n + D, n + D))
    W[:n, n:] = B
    W[n:, :n] = B.T
    root = 1.0 / np.sqrt(W.sum(axis=1))
    rows = np.linalg.eigh(root[:, None] * W * root)[1][:, -3:]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    expected = KMeans(3, n_init=20, random_state=0).fit_predict(rows)
    assert adjusted_rand_score(found.labels_, expected[:n]) == 1.0
    parts = expected[:, None] != expected
    assert np.isclose(found.cost_, (W * parts).sum() / 2)
    assert adjusted_rand_score(found.labels_, truth) > 0.9
    # METIS cannot give this answer, because it forces equal sizes.
    balanced = HBGF(3, random_state=0).fit(ensemble)
    assert adjusted_rand_score(balanced.labels_, truth) < 0.8


def test_spectral_hbgf_on_a_sample_and_with_soft_partitions(seed):
    ensemble, truth = unequal_votes(seed, n=900)
    whole = HBGF(3, partitioner="spectral", random_state=0).fit(ensemble)
    some = HBGF(3, partitioner="spectral", max_points=100, random_state=0).fit(ensemble)
    assert whole.sample_size_ is None
    assert some.sample_size_ == 100
    assert adjusted_rand_score(whole.labels_, some.labels_) > 0.95
    soft = Ensemble.from_labels([0.9 * np.eye(3)[truth] + 0.1 / 3 for _ in range(2)])
    labels = HBGF(3, partitioner="spectral", random_state=0).fit_predict(soft)
    assert adjusted_rand_score(labels, truth) == 1.0
