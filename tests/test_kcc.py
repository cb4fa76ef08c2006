"""K-means consensus and its utilities, against their definitions."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, mutual_info_score

from clusterscape import Ensemble, compare
from clusterscape.combine import ConsensusWarning, _row_kmeans
from clusterscape.combine.kcc import KCC, Divergence
from clusterscape.compare.utilities import UTILITIES, ensemble_utility
from strategies import ensembles, rows_of

EPSILON = 2.2e-16
every_utility = pytest.mark.parametrize("utility", UTILITIES)


def mu(shares, utility, p):
    if utility == "category":
        return float(shares @ shares)
    if utility == "entropy":
        inside = shares[shares > 0]
        return float(inside @ np.log2(inside))
    return float(np.linalg.norm(shares, 2 if utility == "cosine" else p))


def distance(row, mean, utility, p):
    """The distance of a row's block to a centroid's, as the table of the method has it."""
    if utility == "category":
        return float(((row - mean) ** 2).sum())
    if utility == "entropy":  # Kullback-Leibler, for rows and means that need not sum to one
        inside = row > 0
        log = np.log2(row[inside]) - np.log2(mean[inside] + EPSILON)
        return float(row[inside] @ log + (mean.sum() - row.sum()) / np.log(2))
    power = 2 if utility == "cosine" else p
    norm = np.linalg.norm(mean, power)
    angle = row @ (mean / norm) ** (power - 1) if norm > 0 else 0.0
    return float(np.linalg.norm(row, power) - angle)


def distances(ensemble, labels, weights, utility, p):
    """(n, K) weighted distances to the groups of ``labels``; nan where a block is not known."""
    s = ensemble.sample_weight
    out = np.zeros((ensemble.n_points, labels.max() + 1))
    for i in range(ensemble.n_partitions):
        rows, seen = rows_of(ensemble, i)
        for g in range(out.shape[1]):
            inside = seen & (labels == g)
            mean = None
            if inside.any():
                mean = (s[inside, None] * rows[inside]).sum(axis=0) / s[inside].sum()
            for x in np.flatnonzero(seen):
                d = np.nan if mean is None else distance(rows[x], mean, utility, p)
                out[x, g] += weights[i] * d
    return out


def wholes(ensemble, utility, p):
    """Mu of all points, per partition."""
    found = []
    for i in range(ensemble.n_partitions):
        rows, seen = rows_of(ensemble, i)
        s = ensemble.sample_weight * seen
        found.append(mu(s @ rows / s.sum(), utility, p) if s.sum() > 0 else 0.0)
    return np.array(found)


def partition_weights(ensemble, utility, normalized, p):
    if not normalized:
        return ensemble.weights
    size = np.abs(wholes(ensemble, utility, p))
    return np.where(size > 1e-12, ensemble.weights / np.where(size > 1e-12, size, 1), 0.0)


def sum_of_utilities(ensemble, labels, utility, normalized, p):
    """Sum of w f U, by tables: mean of mu within groups less mu of all."""
    s = ensemble.sample_weight
    weights = partition_weights(ensemble, utility, normalized, p)
    total = 0.0
    for i in range(ensemble.n_partitions):
        rows, seen = rows_of(ensemble, i)
        mass = s * seen
        if mass.sum() == 0:
            continue
        gain = -mass.sum() * mu(mass @ rows / mass.sum(), utility, p)
        for g in range(labels.max() + 1):
            inside = mass * (labels == g)
            if inside.sum() > 0:
                gain += inside.sum() * mu(inside @ rows / inside.sum(), utility, p)
        total += weights[i] * gain / s.sum()
    return total


def clustered(ensemble):
    """The points in some cluster, and the partitions that have one; None without any."""
    rows, keep = (ensemble.labels >= 0).any(axis=1), ensemble.n_clusters > 0
    return ensemble.select(keep).subset(rows) if rows.any() and keep.any() else None


def quiet_fit(model, ensemble):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsensusWarning)
        return model.fit(ensemble)


def noisy_copies(rng, n, r, k=3, wrong=0.25):
    planted = np.repeat(np.arange(k), n // k)
    copies = [
        np.where(rng.random(n) < wrong, rng.integers(0, k, n), rng.permutation(k)[planted])
        for _ in range(r)
    ]
    return planted, np.column_stack(copies)


# -- the objective ------------------------------------------------------------------------------


@given(
    ensembles(min_points=3),
    st.sampled_from(UTILITIES),
    st.booleans(),
    st.integers(1, 3),
    st.sampled_from([1.5, 3, 5]),
)
def test_cost_and_utility_follow_the_definitions(ensemble, utility, normalized, k, p):
    work = clustered(ensemble)
    assume(work is not None and work.n_points >= k)
    weights = partition_weights(work, utility, normalized, p)
    assume(weights.any())
    model = KCC(k, utility=utility, normalized=normalized, p=p, n_init=2, random_state=0)
    labels = quiet_fit(model, work).labels_
    own = distances(work, labels, weights, utility, p)[np.arange(work.n_points), labels]
    assert model.cost_ == pytest.approx(work.sample_weight @ own, abs=1e-8)
    expected = sum_of_utilities(work, labels, utility, normalized, p)
    assert model.utility_ == pytest.approx(expected, abs=1e-9)
    # cost and utility are two sides of one thing: their sum is the same for every clustering
    n = work.sample_weight.sum()
    other = np.random.default_rng(k).integers(0, 2, work.n_points)
    far = distances(work, other, weights, utility, p)[np.arange(work.n_points), other]
    assert model.cost_ / n + model.utility_ == pytest.approx(
        work.sample_weight @ far / n + sum_of_utilities(work, other, utility, normalized, p),
        abs=1e-8,
    )


@every_utility
@pytest.mark.parametrize("missing", [0, -1])
def test_no_point_is_nearer_to_another_group(utility, missing, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=(60, 7))
    labels[rng.random(labels.shape) < 0.1] = missing
    votes = Ensemble.from_labels(labels, weights=rng.random(7) + 0.5)  # no ties
    model = KCC(4, utility=utility, n_init=3, tol=0, random_state=seed).fit(votes)
    found = distances(votes, model.labels_, votes.weights, utility, 5)
    own = found[np.arange(60), model.labels_]
    assert (own <= found.min(axis=1) + 1e-9).all()


@every_utility
def test_finds_the_best_clustering_of_a_small_ensemble(utility):
    _, labels = noisy_copies(np.random.default_rng(11), 10, 7, k=2)
    votes = Ensemble.from_labels(labels)
    best = max(
        ensemble_utility(votes, (0, *rest), utility=utility)
        for rest in itertools.product([0, 1], repeat=9)
    )
    model = KCC(2, utility=utility, n_init=20, random_state=0).fit(votes)
    assert model.utility_ == pytest.approx(best)


@every_utility
@pytest.mark.parametrize("missing", [0, -1, -2])
def test_cost_never_rises(utility, missing, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=(200, 6))
    labels[rng.random(labels.shape) < 0.3] = missing
    weight = rng.random(200) + 0.5
    costs = [
        KCC(6, utility=utility, n_init=1, max_iter=m, tol=0, random_state=seed)
        .fit(labels, sample_weight=weight)
        .cost_
        for m in range(1, 12)
    ]
    assert (np.diff(costs) <= 1e-9 * costs[0]).all()
    assert costs[-1] < costs[0]


@every_utility
def test_groups_are_merged_at_the_least_rise_of_the_cost(utility, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 4, size=(30, 5))
    votes = Ensemble.from_labels(labels, weights=rng.random(5) + 0.5)
    groups = rng.integers(0, 6, 30)
    objective = Divergence.of(votes, utility=utility, p=5, normalized=False)
    totals = objective.points.rows.totals(groups, votes.sample_weight, 6)
    group_mass = objective.group_mass(totals, groups)
    merged = _row_kmeans.merge(objective, totals.copy(), group_mass.copy(), 3)
    while len(np.unique(groups)) > 3:
        choices = [
            np.where(groups == b, a, groups)
            for a, b in itertools.combinations(np.unique(groups), 2)
        ]
        groups = max(
            choices, key=lambda g: sum_of_utilities(votes, g, utility, normalized=False, p=5)
        )
    expected = objective.points.rows.totals(
        np.unique(groups, return_inverse=True)[1], votes.sample_weight, 3
    )
    np.testing.assert_allclose(merged[0], expected)


# -- utilities of an ensemble -------------------------------------------------------------------


@every_utility
@pytest.mark.parametrize("normalized", [False, True])
def test_ensemble_utility_is_the_weighted_sum(utility, normalized, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, size=(50, 5))
    consensus = rng.integers(0, 3, 50)
    weights = rng.random(5)
    kind = {"entropy": "H", "category": "c", "cosine": "cos", "lp": "Lp"}[utility]
    single = [
        compare.utility(consensus, column, kind=kind, normalized=normalized, p=3)
        for column in labels.T
    ]
    votes = Ensemble.from_labels(labels, weights=weights)
    found = ensemble_utility(votes, consensus, utility=utility, normalized=normalized, p=3)
    assert found == pytest.approx(weights @ single)
    soft = Ensemble.from_labels([np.eye(4)[column] for column in labels.T], weights=weights)
    again = ensemble_utility(soft, consensus, utility=utility, normalized=normalized, p=3)
    assert again == pytest.approx(found)


def test_entropy_utility_is_mutual_information(seed):
    rng = np.random.default_rng(seed)
    labels, consensus = rng.integers(0, 4, size=(50, 3)), rng.integers(0, 3, 50)
    bits = sum(mutual_info_score(consensus, column) for column in labels.T) / np.log(2)
    assert ensemble_utility(labels, consensus) == pytest.approx(bits)


@given(ensembles(unsampled=False), st.integers(0, 20))
def test_category_utility_is_a_trace_of_the_coassociation(ensemble, seed):
    consensus = np.random.default_rng(seed).integers(0, 3, ensemble.n_points)
    s = ensemble.sample_weight
    S = ensemble.coassociation(normalize="counts").toarray()
    H = (consensus[:, None] == np.unique(consensus)).astype(float)
    mass = H.T @ s
    trace = np.trace((H.T * s) @ S @ (s[:, None] * H) / mass)
    constant = s @ S @ s / s.sum()
    found = ensemble_utility(ensemble, consensus, utility="category")
    assert found == pytest.approx((trace - constant) / s.sum(), abs=1e-9)


def test_ensemble_utility_leaves_out_points_and_counts_what_was_seen():
    labels = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
    consensus = [0, 0, 1, 1]
    found = ensemble_utility(labels, consensus)
    longer = np.vstack([labels, [[1, 1]]])
    assert ensemble_utility(longer, [*consensus, -1]) == pytest.approx(found)
    unseen = np.vstack([labels, [[-2, -2]]])
    assert ensemble_utility(unseen, [*consensus, 0]) == pytest.approx(found * 4 / 5)
    with pytest.raises(ValueError, match="one label vector of 4 entries"):
        ensemble_utility(labels, [0, 1])
    with pytest.raises(ValueError, match="no point with a positive weight"):
        ensemble_utility(labels, [-1, -1, -1, -1])
    with pytest.raises(ValueError, match="utility must be one of"):
        ensemble_utility(labels, consensus, utility="H")


# -- what it makes of ensembles -----------------------------------------------------------------


@every_utility
@pytest.mark.parametrize("normalized", [False, True])
def test_recovers_planted_clusters_from_incomplete_partitions(utility, normalized):
    rng = np.random.default_rng(1)
    planted, labels = noisy_copies(rng, 150, 14)
    model = KCC(3, utility=utility, normalized=normalized, random_state=0)
    assert adjusted_rand_score(planted, model.fit_predict(labels)) > 0.95
    labels[rng.random(labels.shape) < 0.4] = -2
    placed = model.fit_predict(labels) >= 0
    assert adjusted_rand_score(planted[placed], model.labels_[placed]) > 0.85


@every_utility
def test_normalised_form_is_another_weight_of_partitions(utility):
    rng = np.random.default_rng(2)
    labels = np.column_stack([rng.integers(0, k, 60) for k in (2, 3, 5, 8)])
    votes = Ensemble.from_labels(labels, weights=[1, 2, 1, 0.5])
    weighted = votes.with_weights(weights=votes.weights / np.abs(wholes(votes, utility, 5)))
    first = KCC(3, utility=utility, normalized=True, random_state=0).fit(votes)
    second = KCC(3, utility=utility, random_state=0).fit(weighted)
    np.testing.assert_array_equal(first.labels_, second.labels_)
    assert first.cost_ == pytest.approx(second.cost_)
    assert first.utility_ == pytest.approx(second.utility_)


def test_partitions_of_one_cluster_have_no_normalised_entropy():
    labels = np.array([[0, 0], [0, 0], [1, 0], [1, 0]])
    model = KCC(2, normalized=True, random_state=0).fit(labels)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match="every partition has one cluster"):
        KCC(2, normalized=True).fit(labels[:, 1:])


def test_noise_counts_in_the_sizes_and_directions_do_not_notice_it():
    rng = np.random.default_rng(3)
    _, labels = noisy_copies(rng, 60, 6)
    hidden = rng.random(labels.shape) < 0.2
    noise, unseen = np.where(hidden, -1, labels), np.where(hidden, -2, labels)
    for utility in UTILITIES:
        models = [
            KCC(3, utility=utility, random_state=0, n_init=4).fit(votes)
            for votes in (noise, unseen)
        ]
        same = models[0].cost_ == pytest.approx(models[1].cost_)
        assert same == (utility in ("cosine", "lp"))


@every_utility
def test_soft_memberships_of_one_cluster_are_labels(utility):
    rng = np.random.default_rng(4)
    _, labels = noisy_copies(rng, 45, 5)
    soft = Ensemble.from_labels([np.eye(3)[column] for column in labels.T])
    hard = KCC(3, utility=utility, random_state=0).fit(labels)
    same = KCC(3, utility=utility, random_state=0).fit(soft)
    np.testing.assert_array_equal(hard.labels_, same.labels_)
    assert hard.cost_ == pytest.approx(same.cost_)


@every_utility
def test_weights_of_points_equal_copies(utility):
    rng = np.random.default_rng(2)
    _, labels = noisy_copies(rng, 30, 6)
    copies = rng.integers(1, 4, size=30)
    weighted = KCC(3, utility=utility, random_state=0).fit(labels, sample_weight=copies)
    repeated = KCC(3, utility=utility, random_state=0).fit(np.repeat(labels, copies, axis=0))
    assert weighted.cost_ == pytest.approx(repeated.cost_)
    assert weighted.utility_ == pytest.approx(repeated.utility_)
    assert adjusted_rand_score(np.repeat(weighted.labels_, copies), repeated.labels_) == 1.0


def test_names_of_clusters_do_not_matter_where_blocks_are_guessed():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 4, size=(40, 6))
    renamed = np.array([3, 0, 2, 1])[labels]
    hidden = rng.random(labels.shape) < 0.5
    first, second = (
        KCC(5, random_state=0).fit(np.where(hidden, -2, votes)) for votes in (labels, renamed)
    )
    np.testing.assert_array_equal(first.labels_, second.labels_)


def test_same_for_any_n_jobs_and_every_parameter_matters():
    labels = np.random.default_rng(0).integers(0, 6, size=(300, 12))
    one = KCC(4, random_state=7, n_jobs=1).fit(labels)
    two = KCC(4, random_state=7, n_jobs=2).fit(labels)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.cost_ == two.cost_
    other = KCC(4, random_state=8, n_init=1).fit(labels)
    assert not np.array_equal(one.labels_, other.labels_)
    powers = [KCC(4, utility="lp", p=p, random_state=0).fit(labels).cost_ for p in (2, 5)]
    assert powers[0] != pytest.approx(powers[1])
    cosine = KCC(4, utility="cosine", random_state=0).fit(labels)
    assert powers[0] == pytest.approx(cosine.cost_)
    with pytest.raises(ValueError, match="p must be a number in"):
        KCC(4, utility="lp", p=1).fit(labels)


def test_starts_are_compared_on_a_sample_of_many_points(monkeypatch):
    rng = np.random.default_rng(3)
    planted = rng.integers(0, 4, size=3000)
    labels = np.column_stack(
        [rng.permutation(12)[planted * 3 + rng.integers(0, 3, 3000)] for _ in range(20)]
    )
    assert KCC(4, n_init=2, random_state=0).fit(labels).start_size_ == 3000
    monkeypatch.setattr(_row_kmeans, "START_SIZE", 500)
    for missing in (0.0, 0.2):
        labels[rng.random(labels.shape) < missing] = -2
        model = KCC(4, n_init=4, random_state=0).fit(labels)
        assert model.start_size_ == 500
        assert adjusted_rand_score(planted, model.labels_) == 1.0


def test_a_partition_that_the_sample_does_not_meet_is_left_open(monkeypatch):
    monkeypatch.setattr(_row_kmeans, "START_SIZE", 20)
    labels = np.full((400, 4), -2)
    labels[:, :3] = np.repeat([0, 1], 200)[:, None]
    labels[0, 3] = 0
    model = KCC(2, n_init=2, random_state=0).fit(labels)
    assert adjusted_rand_score(labels[:, 0], model.labels_) == 1.0


def test_fewer_groups_than_asked_for():
    with pytest.warns(ConsensusWarning, match="only 2 groups of points"):
        model = KCC(3, random_state=0).fit(Ensemble.from_labels([[0, 0, 1, 1]]))
    assert model.n_clusters_ == 2
