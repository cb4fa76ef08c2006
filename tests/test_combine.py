"""Consensus functions against brute force, dense twins and planted partitions."""

from __future__ import annotations

import inspect
import itertools
import re
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpydoc.docscrape import NumpyDocString
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape._core.labels import canonical
from clusterscape.combine import EAC, METHODS, SEC, ConsensusWarning, MajorityVote
from clusterscape.combine.scores import mean_coassociation
from strategies import brute_force_coassociation, ensembles


def same_partition(left, right):
    """Whether two labelings group the points alike."""
    left, right = np.asarray(left), np.asarray(right)
    return np.array_equal(left[:, None] == left, right[:, None] == right)


def build(method, k):
    """An estimator of the registry that is asked for k clusters, where it can be asked."""
    made = method.estimator()
    params = made.get_params()
    return made.set_params(
        **{n: v for n, v in (("n_clusters", k), ("random_state", 0)) if n in params}
    )


def fit(method, votes, k, **options):
    """Fit an estimator of the registry; features say what the first complete partition says."""
    votes = votes if isinstance(votes, Ensemble) else Ensemble.from_labels(votes)
    if method.features == "needed":
        options.setdefault("features", features_like(votes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        return build(method, k).fit(votes, **options)


def features_like(votes):
    """Points of one row of labels lie close together, others further away."""
    rng = np.random.default_rng(0)
    rows = votes.membership().matrix.toarray()
    return rows + 0.05 * rng.normal(size=rows.shape)


# -- what holds for all -------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
class TestEveryMethod:
    def test_returns_what_the_ensemble_agrees_on(self, method):
        planted = np.repeat([0, 1, 2], [6, 4, 2])
        renamed = np.array([2, 0, 1])[planted]
        votes = np.column_stack([planted, renamed, planted])
        np.testing.assert_array_equal(fit(method, votes, 3).labels_, planted)

    def test_finds_groups_that_fine_partitions_never_mix(self, method, seed):
        rng = np.random.default_rng(seed)
        planted = np.repeat([0, 1, 2], 40)
        votes = np.column_stack([planted * 3 + rng.integers(0, 3, 120) for _ in range(30)])
        if method.name in {"majority_vote", "median_partition"}:
            pytest.skip("a third of the votes is no majority")
        assert adjusted_rand_score(planted, fit(method, votes, 3).labels_) == 1.0

    def test_one_partition_is_its_own_consensus(self, method):
        planted = np.array([1, 1, 0, 0, 0, 2])
        assert same_partition(fit(method, [planted], 3).labels_, planted)

    def test_labels_do_not_depend_on_names_or_order(self, method):
        rng = np.random.default_rng(3)
        labels = rng.integers(0, 3, size=(30, 8))
        labels[:15] = labels[0]
        labels[15:25] = labels[15]
        first = fit(method, labels, 3)
        again = fit(method, np.array([2, 0, 1])[labels], 3, **same_features(method, labels))
        np.testing.assert_array_equal(first.labels_, again.labels_)
        sizes = np.bincount(first.labels_)
        assert (np.diff(sizes) <= 0).all()

    def test_without_ties_the_order_of_the_points_does_not_matter(self, method):
        rng = np.random.default_rng(11)
        # Balanced cuts of unequal groups come from heuristics that take the points in order.
        balanced = method.name in {"cspa", "hgpa", "hbgf"}
        planted = np.repeat([0, 1, 2], [10, 10, 10] if balanced else [14, 9, 7])
        shown = rng.random((30, 12)) < 0.9
        labels = np.where(shown, planted[:, None], rng.integers(0, 3, (30, 12)))
        order = rng.permutation(30)
        X = features_like(Ensemble.from_labels(labels))
        needed = method.features == "needed"
        first = fit(method, labels, 3, **({"features": X} if needed else {}))
        again = fit(method, labels[order], 3, **({"features": X[order]} if needed else {}))
        assert same_partition(again.labels_, first.labels_[order])

    def test_failed_and_unsampled_points(self, method):
        votes = Ensemble.from_labels([[0, 0, 1, 1, -2], [0, 0, 1, 1, -1], [-2, -2, -2, -2, -2]])
        model = fit(method, votes, 2)
        np.testing.assert_array_equal(model.labels_, [0, 0, 1, 1, -1])
        assert model.n_clusters_ == 2

    def test_soft_input(self, method):
        soft = np.array([[1, 0], [0.9, 0.1], [0.1, 0.9], [0, 1.0]])
        votes = Ensemble.from_labels([soft, [0, 0, 1, 1]])
        if method.soft:
            np.testing.assert_array_equal(fit(method, votes, 2).labels_, [0, 0, 1, 1])
        else:
            with pytest.raises(ValueError, match="takes hard partitions only"):
                fit(method, votes, 2)

    def test_bad_input_gets_a_sentence(self, method):
        with pytest.raises(ValueError, match="no partition has a cluster"):
            build(method, 2).fit([[-1, -1]])
        with pytest.raises(ValueError, match="unequal lengths"):
            build(method, 2).fit([[0, 1], [0]])
        if method.features == "needed":
            with pytest.raises(ValueError, match="needs the points' features"):
                build(method, 2).fit(np.array([[0], [1]]))
            with pytest.raises(ValueError, match="features has 3 rows and the ensemble 2 points"):
                build(method, 2).fit(np.array([[0], [1]]), features=np.ones((3, 2)))

    def test_weights_equal_repetition(self, method):
        rng = np.random.default_rng(5)
        labels = rng.integers(0, 3, size=(20, 5))
        weights = np.array([1, 3, 1, 2, 1])
        options = same_features(method, labels)
        weighted = fit(method, Ensemble.from_labels(labels, weights=weights), 2, **options)
        repeated = fit(method, np.repeat(labels, weights, axis=1), 2, **options)
        assert same_partition(weighted.labels_, repeated.labels_)

    def test_a_point_of_weight_zero_changes_nothing_and_follows(self, method):
        planted = np.repeat([0, 1, 2], [6, 5, 5])
        votes = Ensemble.from_labels([planted] * 3, sample_weight=[0.0] + [1.0] * 15)
        np.testing.assert_array_equal(fit(method, votes, 3).labels_, planted)

    def test_the_same_seed_gives_the_same_labels(self, method):
        labels = np.random.default_rng(8).integers(0, 4, size=(60, 6))
        first, second = fit(method, labels, 3), fit(method, labels, 3)
        np.testing.assert_array_equal(first.labels_, second.labels_)
        if "n_jobs" in first.get_params():
            two = build(method, 3).set_params(n_jobs=2)
            options = {"features": features_like(Ensemble.from_labels(labels))}
            two.fit(labels, **(options if method.features == "needed" else {}))
            np.testing.assert_array_equal(first.labels_, two.labels_)

    def test_defaults_ask_for_two_clusters_or_leave_the_number_open(self, method):
        made = method.estimator()
        assert made.get_params().get("n_clusters") == (2 if method.needs_k else None)
        assert clone(made).get_params() == made.get_params()

    def test_the_docstring_says_where_it_comes_from_and_what_is_related(self, method):
        page = NumpyDocString(inspect.cleandoc(method.estimator.__doc__))
        assert method.summary.endswith(".")
        assert method.reference
        assert page["See Also"]
        assert re.search(r"\b(19|20)\d\d\b", " ".join(page["References"]))


def same_features(method, labels):
    """Features for two fits that are to see the same points."""
    if method.features != "needed":
        return {}
    return {"features": features_like(Ensemble.from_labels(labels))}


def test_more_clusters_than_points_or_groups():
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 3 points"):
        SEC(5).fit([[0, 1, 1]])
    with pytest.warns(ConsensusWarning, match="distinguish only 2 groups of points"):
        model = SEC(3, random_state=0).fit(Ensemble.from_labels([[0, 0, 1, 1]]))
    assert model.n_clusters_ == 2


def test_canonical_numbers_are_by_size_then_appearance():
    np.testing.assert_array_equal(canonical(np.array([5, 3, 3, 9, 5, -1])), [0, 1, 1, 2, 0, -1])


# -- SEC ----------------------------------------------------------------------------------------


def sec_objective(ensemble, labels):
    """Weighted k-means cost on b(x)/w(x), straight from the definition."""
    matrix = ensemble.membership().matrix.toarray()
    matrix = matrix * np.sqrt(np.repeat(ensemble.weights, ensemble.n_clusters))
    s = ensemble.sample_weight
    w = matrix @ (matrix.T @ s)
    rows = matrix / w[:, None]
    cost = 0.0
    for g in np.unique(labels):
        inside = labels == g
        mass = (s * w)[inside]
        centre = (mass[:, None] * rows[inside]).sum(axis=0) / mass.sum()
        cost += (mass * ((rows[inside] - centre) ** 2).sum(axis=1)).sum()
    return cost


def normalised_association(ensemble, labels):
    """Sum over clusters of their inner similarity over their degree: K minus the normalised cut."""
    matrix = ensemble.membership().matrix.toarray()
    S = (matrix * np.repeat(ensemble.weights, ensemble.n_clusters)) @ matrix.T
    s = ensemble.sample_weight
    total = 0.0
    for g in np.unique(labels):
        v = s * (labels == g)
        total += (v @ S @ v) / (v @ S @ s)
    return total


def inside_some_cluster(ensemble):
    rows = (ensemble.labels >= 0).any(axis=1)
    keep = ensemble.n_clusters > 0
    if not rows.any() or not keep.any():
        return None
    return ensemble.select(keep).subset(rows)


@given(ensembles(min_points=3), st.integers(1, 3), st.integers(0, 5))
def test_sec_cost_is_its_objective_and_the_normalised_cut(ensemble, k, seed):
    work = inside_some_cluster(ensemble)
    assume(work is not None and work.n_points >= k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        model = SEC(k, n_init=2, random_state=seed).fit(work)
    assert model.cost_ == pytest.approx(sec_objective(work, model.labels_), abs=1e-9)
    # cost + association is the same for every partition of this ensemble
    rng = np.random.default_rng(seed)
    constant = model.cost_ + normalised_association(work, model.labels_)
    other = rng.integers(0, 2, size=work.n_points)
    assert sec_objective(work, other) + normalised_association(work, other) == pytest.approx(
        constant
    )


@given(ensembles(min_points=4, max_points=7), st.integers(0, 3))
def test_sec_ends_where_no_row_is_nearer_to_another_centroid(ensemble, seed):
    work = inside_some_cluster(ensemble)
    assume(work is not None and work.n_points >= 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        model = SEC(2, n_init=10, random_state=seed).fit(work)
    matrix = work.membership().matrix.toarray()
    matrix = matrix * np.sqrt(np.repeat(work.weights, work.n_clusters))
    w = matrix @ (matrix.T @ work.sample_weight)
    rows, mass = matrix / w[:, None], work.sample_weight * w
    centres = np.stack(
        [
            np.average(rows[model.labels_ == g], axis=0, weights=mass[model.labels_ == g])
            for g in range(model.n_clusters_)
        ]
    )
    distance = ((rows[:, None] - centres) ** 2).sum(axis=2)
    own = distance[np.arange(len(rows)), model.labels_]
    assert (own <= distance.min(axis=1) + 1e-9).all()
    best = min(
        sec_objective(work, np.array((0, *rest)))
        for rest in itertools.product([0, 1], repeat=work.n_points - 1)
    )
    assert model.cost_ >= best - 1e-9


def test_sec_finds_the_best_partition_of_a_small_ensemble():
    rng = np.random.default_rng(11)
    planted = np.repeat([0, 1], 5)
    votes = Ensemble.from_labels(
        [np.where(rng.random(10) < 0.25, 1 - planted, planted) for _ in range(7)]
    )
    model = SEC(2, n_init=20, random_state=0).fit(votes)
    best = min(
        sec_objective(votes, np.array((0, *rest))) for rest in itertools.product([0, 1], repeat=9)
    )
    assert model.cost_ == pytest.approx(best)


def test_sec_separates_groups_that_fine_partitions_never_mix(seed):
    rng = np.random.default_rng(seed)
    for n in (30, 60, 150, 402):
        planted = np.repeat([0, 1, 2], n // 3)
        votes = np.column_stack([planted * 4 + rng.integers(0, 4, n) for _ in range(40)])
        model = SEC(3, random_state=seed).fit(votes)
        assert adjusted_rand_score(planted, model.labels_) == 1.0


def test_more_starts_explore_more_on_few_points():
    gaps = []
    for seed in range(12):
        labels = np.random.default_rng(seed).integers(0, 3, size=(9, 5))
        votes = Ensemble.from_labels(labels)
        best = min(
            sec_objective(votes, np.array((0, *rest)))
            for rest in itertools.product([0, 1], repeat=8)
        )
        costs = [SEC(2, n_init=n, random_state=0).fit(votes).cost_ - best for n in (1, 100)]
        assert costs[1] <= costs[0] + 1e-9
        gaps.append(costs)
    assert sum(g[1] < g[0] - 1e-6 for g in gaps) >= 2
    assert sum(g[1] < 1e-9 for g in gaps) >= 9


def test_sec_is_the_same_for_any_n_jobs_and_seed_matters():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 6, size=(300, 12))
    one = SEC(4, random_state=7, n_jobs=1).fit(labels)
    two = SEC(4, random_state=7, n_jobs=2).fit(labels)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.cost_ == two.cost_
    other = SEC(4, random_state=8, n_init=1).fit(labels)
    assert not np.array_equal(one.labels_, other.labels_)


def test_sec_blockwise_equals_zero_form_when_complete_and_differs_when_not():
    rng = np.random.default_rng(1)
    planted = np.repeat([0, 1, 2], 40)
    labels = np.column_stack(
        [np.where(rng.random(120) < 0.2, rng.integers(0, 3, 120), planted) for _ in range(10)]
    )
    zero = SEC(3, random_state=0).fit(labels)
    block = SEC(3, random_state=0, incomplete="blockwise").fit(labels)
    np.testing.assert_array_equal(zero.labels_, block.labels_)
    labels[rng.random(labels.shape) < 0.4] = -2
    for incomplete in ("zero", "blockwise"):
        model = SEC(3, random_state=0, incomplete=incomplete).fit(labels)
        placed = model.labels_ >= 0
        assert adjusted_rand_score(planted[placed], model.labels_[placed]) > 0.8


def test_sec_weights_of_points_equal_copies():
    rng = np.random.default_rng(2)
    planted = np.repeat([0, 1, 2], 10)
    labels = np.column_stack(
        [np.where(rng.random(30) < 0.3, rng.integers(0, 3, 30), planted) for _ in range(6)]
    )
    copies = rng.integers(1, 4, size=30)
    weighted = SEC(3, random_state=0).fit(labels, sample_weight=copies)
    repeated = SEC(3, random_state=0).fit(np.repeat(labels, copies, axis=0))
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    assert same_partition(np.repeat(weighted.labels_, copies), repeated.labels_)


def test_sec_on_a_sample_of_starts_finds_the_planted_partition(monkeypatch):
    from clusterscape.combine import sec

    rng = np.random.default_rng(3)
    planted = rng.integers(0, 4, size=3000)
    labels = np.column_stack(
        [rng.permutation(12)[planted * 3 + rng.integers(0, 3, 3000)] for _ in range(20)]
    )
    labels[rng.random(labels.shape) < 0.05] = 0
    whole = SEC(4, n_init=2, random_state=0).fit(labels)
    assert whole.start_size_ == 3000
    monkeypatch.setattr(sec, "_START_SIZE", 500)
    sampled = SEC(4, n_init=2, random_state=0).fit(labels)
    assert sampled.start_size_ == 500
    for model in (whole, sampled):
        assert adjusted_rand_score(planted, model.labels_) == 1.0


# -- EAC ----------------------------------------------------------------------------------------


@given(
    ensembles(min_points=3),
    st.sampled_from(["single", "average", "complete"]),
    st.floats(0.05, 0.95),
)
def test_eac_heights_and_threshold_agree_with_scipy(ensemble, method, threshold):
    work = inside_some_cluster(ensemble.with_weights(sample_weight=np.ones(ensemble.n_points)))
    assume(work is not None and work.n_points >= 2)
    distance = 1.0 - brute_force_coassociation(work)[1]
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method)
    model = EAC(linkage=method, threshold=threshold).fit(work)
    if method == "single":  # the only linkage whose heights do not depend on how ties are broken
        np.testing.assert_allclose(model.heights_, np.sort(tree[:, 2]), atol=1e-9)
        expected = fcluster(tree, 1.0 - threshold + 1e-9, "distance")
        assert same_partition(model.labels_, expected)


@pytest.mark.parametrize("method", ["average", "complete"])
def test_eac_agrees_with_scipy_without_ties(method):
    rng = np.random.default_rng(4)
    labels = rng.integers(0, 4, size=(40, 9))
    weights = rng.random(9) + 0.1  # makes every similarity different
    votes = Ensemble.from_labels(labels, weights=weights)
    distance = 1.0 - brute_force_coassociation(votes)[1]
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method)
    for k in (2, 3, 7, 40):
        model = EAC(k, linkage=method).fit(votes)
        np.testing.assert_allclose(model.heights_, np.sort(tree[:, 2]), atol=1e-9)
        if k == 40 or tree[40 - k - 1, 2] < tree[40 - k, 2] - 1e-9:  # else the cut is a tie
            assert same_partition(model.labels_, fcluster(tree, k, "maxclust"))


@pytest.mark.parametrize("method", ["single", "average", "complete"])
def test_eac_micro_clusters_are_exact(method):
    rng = np.random.default_rng(6)
    labels = rng.integers(0, 4, size=(12, 7))
    votes = Ensemble.from_labels(
        np.repeat(labels, rng.integers(1, 5, 12), axis=0), weights=rng.random(7) + 0.1
    )
    distance = 1.0 - brute_force_coassociation(votes)[1]
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method)
    model = EAC(4, linkage=method).fit(votes)
    assert model.n_micro_clusters_ == 12
    np.testing.assert_allclose(model.heights_, np.sort(tree[:, 2]), atol=1e-9)
    assert same_partition(model.labels_, fcluster(tree, 4, "maxclust"))


def test_eac_lifetime_follows_the_definition():
    rng = np.random.default_rng(8)
    votes = Ensemble.from_labels(rng.integers(0, 3, size=(15, 6)), weights=rng.random(6) + 0.1)
    distance = 1.0 - brute_force_coassociation(votes)[1]
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), "average")
    heights = tree[:, 2]
    k = 15 - (int(np.argmax(np.diff(heights))) + 1)
    model = EAC().fit(votes)
    assert model.n_clusters_ == k
    assert same_partition(model.labels_, fcluster(tree, k, "maxclust"))
    agreed = Ensemble.from_labels([[0, 0, 0, 1, 1, 1]] * 3)
    assert EAC().fit(agreed).n_clusters_ == 2
    united = Ensemble.from_labels([[0, 0, 0], [0, 0, 0], [0, 0, 1]])
    assert EAC(include_one=True).fit(united).n_clusters_ == 1
    assert EAC(include_one=False).fit(united).n_clusters_ == 2


def test_eac_refuses_what_does_not_fit_or_contradicts():
    with pytest.raises(ValueError, match="give n_clusters=2 or threshold=0.5, not both"):
        EAC(2, threshold=0.5).fit([[0, 1]])
    rng = np.random.default_rng(0)
    with pytest.raises(MemoryError, match=r"distances of [\d,]+ distinct rows.*Use SEC"):
        EAC(2, max_gb=1e-6).fit(rng.integers(0, 9, size=(200, 9)))


def test_noise_points_are_together_with_no_point():
    votes = Ensemble.from_labels([[0, 0, -1, -1], [0, 0, -1, -1], [0, 0, 1, 1]])
    assert EAC(threshold=0.5).fit(votes).labels_.tolist() == [0, 0, 1, 2]
    assert MajorityVote().fit(votes).labels_.tolist() == [0, 0, 1, 2]


def test_eac_threshold_includes_equality_in_single_precision(monkeypatch):
    rng = np.random.default_rng(0)
    pairs = 2600
    left = rng.integers(0, 10**6, size=(pairs, 10))
    right = left.copy()
    right[:, 7:] += 10**6  # each pair agrees in 7 of 10 partitions, and with nobody else
    votes = Ensemble.from_labels(list(np.concatenate([left, right]).T))
    model = EAC(linkage="complete", threshold=0.7).fit(votes)
    assert model.precision_ == "float32"
    assert model.n_clusters_ == pairs


def test_eac_lifetime_never_joins_what_is_never_together():
    assert EAC().fit([[0, 1], [1, 0]]).n_clusters_ == 2
    assert EAC().fit(np.array([[0, 1], [1, 0]])).n_clusters_ == 2
    assert EAC().fit(Ensemble.from_labels([[0, 1, 2, 3]] * 2)).n_clusters_ == 4
    assert EAC().fit(Ensemble.from_labels([[0, 0, 1, 1]] * 2)).n_clusters_ == 2


def test_a_partition_of_noise_has_a_vote_and_one_without_weight_has_none():
    votes = Ensemble.from_labels([[0, 0, 1, 1], [-1, -1, -1, -1]])
    assert MajorityVote().fit(votes).n_clusters_ == 4
    assert EAC(linkage="single", threshold=0.6).fit(votes).n_clusters_ == 4
    silent = Ensemble.from_labels([[0, 0, 1, 1, -2], [0, 1, 2, 3, 4]], weights=[1, 0])
    assert EAC(2).fit(silent).labels_.tolist() == [0, 0, 1, 1, -1]
    assert SEC(2, random_state=0).fit(silent).labels_.tolist() == [0, 0, 1, 1, -1]


def test_points_without_weight_follow_the_others():
    votes = Ensemble.from_labels([[0, 0, 1, 1, 1], [0, 0, 1, 1, 0]])
    for model in (SEC(2, random_state=0), EAC(2), MajorityVote()):
        labels = model.fit(votes, sample_weight=[1, 1, 1, 1, 0]).labels_
        assert labels[:4].tolist() == [0, 0, 1, 1]
        assert labels[4] in (0, 1)


def blockwise_objective(ensemble, labels):
    """Cost with every block of a centroid averaged over the points that partition sampled."""
    s = ensemble.sample_weight
    matrix = ensemble.membership().matrix.toarray()
    w = matrix @ (matrix.T @ s)
    cost = 0.0
    for i in range(ensemble.n_partitions):
        block = matrix[:, ensemble.offsets[i] : ensemble.offsets[i + 1]]
        seen = ensemble.labels[:, i] != -2
        for g in np.unique(labels):
            inside = seen & (labels == g)
            if inside.any():
                rows, mass = block[inside] / w[inside, None], (s * w)[inside]
                centre = (mass[:, None] * rows).sum(axis=0) / mass.sum()
                cost += (mass * ((rows - centre) ** 2).sum(axis=1)).sum()
    return cost


def test_sec_blockwise_counts_noise_as_sampled():
    rng = np.random.default_rng(5)
    labels = rng.integers(-2, 3, size=(40, 6))
    labels[:, 0] = np.repeat([0, 1], 20)
    votes = Ensemble.from_labels(labels)
    for max_iter in (1, 100):
        model = SEC(2, incomplete="blockwise", random_state=0, max_iter=max_iter).fit(votes)
        assert model.cost_ == pytest.approx(blockwise_objective(votes, model.labels_))
        plain = SEC(2, random_state=0, max_iter=max_iter).fit(votes)
        assert plain.cost_ == pytest.approx(sec_objective(votes, plain.labels_))


# -- majority -----------------------------------------------------------------------------------


@given(ensembles(), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_majority_links_pairs_above_the_threshold(ensemble, threshold):
    work = inside_some_cluster(ensemble)
    assume(work is not None)
    linked = brute_force_coassociation(work)[1] > threshold + 1e-12
    expected = connected_components(linked, directed=False)[1]
    assert same_partition(MajorityVote(threshold=threshold).fit_predict(work), expected)


# -- scores -------------------------------------------------------------------------------------


@given(ensembles(min_points=2), st.integers(0, 100))
def test_mean_coassociation_against_all_pairs(ensemble, seed):
    groups = np.random.default_rng(seed).integers(-1, 3, size=ensemble.n_points)
    s = ensemble.sample_weight
    n, k = ensemble.n_points, int(groups.max()) + 1
    together, sampled = np.zeros((n, k)), np.zeros((n, k))
    for i in range(ensemble.n_partitions):
        one = ensemble.select([i])
        counts, _ = brute_force_coassociation(one)
        seen = (one.labels[:, 0] != -2).astype(float)
        both = one.weights[0] * np.outer(seen, seen)
        for x in range(n):
            for y in range(n):
                if groups[y] >= 0:
                    others = s[y] if x != y else s[y] - min(s[y], 1.0)  # its other copies
                    together[x, groups[y]] += others * counts[x, y]
                    sampled[x, groups[y]] += others * both[x, y]
    expected = np.divide(together, sampled, out=np.zeros((n, k)), where=sampled > 1e-12)
    np.testing.assert_allclose(mean_coassociation(ensemble, groups), expected, atol=1e-9)


def test_mean_coassociation_refuses_other_lengths():
    with pytest.raises(ValueError, match="one entry per point, 2 in all"):
        mean_coassociation([[0, 1], [0, 0]], [0, 1, 1])
