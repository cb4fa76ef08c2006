"""Cluster forests: Algorithm 3 against its dense twin, extension, landmarks, and users' needs."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from numpydoc.docscrape import NumpyDocString
from scipy import sparse
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import Ensemble
from clusterscape.combine.base import ConsensusWarning
from clusterscape.combine.landmarks import draw_landmarks
from clusterscape.compare import accuracy
from clusterscape.forest import aggregate as forest_aggregate
from clusterscape.forest import columns as forest_columns
from clusterscape.forest import vectors as forest_vectors
from clusterscape.forest.aggregate import CutSettings, aggregate
from clusterscape.forest.columns import FeatureScaleWarning
from clusterscape.forest.estimator import ClusterForest
from clusterscape.forest.grower import ForestGrower
from clusterscape.forest.parameters import GROWTH_RULES, RUN_RULES

QUICK = {"n_vectors": 15, "n_init": 3, "n_competitors": 5, "random_state": 0}


def planted(seed, n=90, noise=8):
    """Three groups of unequal size that each of three columns separates, and noise."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    centers = 8.0 * np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
    return np.hstack([centers[truth] + rng.normal(size=(n, 3)), rng.normal(size=(n, noise))]), truth


# -- scikit-learn's contract --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::clusterscape.combine.base.ConsensusWarning")
@pytest.mark.filterwarnings("ignore::clusterscape.forest.FeatureScaleWarning")
@parametrize_with_checks(
    [
        ClusterForest(n_vectors=4, n_init=2, random_state=0),
        ClusterForest(3, n_vectors=4, n_init=2, ncut="kway", landmarks=20, random_state=0),
    ],
    expected_failed_checks=lambda estimator: {
        "check_sample_weight_equivalence_on_dense_data": "k-means starts from other points",
        "check_sample_weight_equivalence_on_sparse_data": "k-means starts from other points",
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- Algorithm 3 --------------------------------------------------------------------------------


def dense_forest(labels, k, threshold, scale, order="best"):
    """Algorithm 3 after growth, word for word: average, threshold, exp, and eigh of each part."""
    P = np.mean([np.equal.outer(column, column) for column in labels.T], axis=0)
    P = np.exp(scale * np.where(threshold - 1e-12 <= P, P, 0.0))

    def cut(points):
        A = P[np.ix_(points, points)]
        degree = A.sum(axis=1)
        L = np.eye(len(A)) - A / np.sqrt(np.outer(degree, degree))
        vector = eigh(L)[1][:, 1]
        if np.abs(vector).min() < 1e-9:
            pytest.skip("rounding decides where a zero goes")
        side = vector >= 0
        links = A[side][:, ~side].sum()
        return links / degree[side].sum() + links / degree[~side].sum(), side

    parts = [np.arange(len(P))]
    while len(parts) < k:
        cuts = [cut(points) for points in parts]
        sizes = [len(points) for points in parts]
        if order == "largest" and sizes.count(max(sizes)) > 1:
            pytest.skip("two parts are the largest")
        values = [value for value, _ in cuts]
        best = int(np.argmin(values) if order == "best" else np.argmax(sizes))
        points, side = parts.pop(best), cuts[best][1]
        parts += [points[side], points[~side]]
    found = np.empty(len(P), int)
    for number, points in enumerate(parts):
        found[points] = number
    value = sum(1 - P[found == g][:, found == g].sum() / P[found == g].sum() for g in range(k))
    return found, value


def noisy_votes(seed, n=60, r=12, k=3, noise=0.4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    return np.where(rng.random((n, r)) < noise, rng.integers(0, k, (n, r)), truth[:, None])


def settings_of(k, **changes):
    settings = {
        "n_clusters": k,
        "threshold": 0.4,
        "scale": 5.0,
        "ncut": "recursive",
        "cut": "sign",
        "order": "best",
        "landmarks": None,
        "max_gb": 1.0,
        "n_jobs": None,
    }
    return CutSettings(**(settings | changes))


def aggregated(ensemble, k, **changes):
    return aggregate(ensemble, settings_of(k, **changes), tuple(SeedSequence(0).spawn(2)))


@pytest.mark.parametrize("k", [1, 2, 3, 5])
@pytest.mark.parametrize("threshold", [0.0, 0.4, 0.6])
@pytest.mark.parametrize("order", ["best", "largest"])
def test_the_aggregate_equals_its_dense_twin(k, threshold, order, seed):
    labels = noisy_votes(seed)
    labels = labels[np.random.default_rng(seed).integers(0, 60, 80)]  # some rows are equal
    votes = Ensemble.from_labels(labels)
    cut = aggregated(votes, k, threshold=threshold, order=order)
    found, value = dense_forest(labels, k, threshold, 5.0, order)
    assert adjusted_rand_score(cut.groups, found) == 1.0
    assert cut.made.cut.value == pytest.approx(value)
    assert len(cut.made.cut.splits) == k - 1


def test_the_order_of_splits_keeps_a_large_cluster_whole():
    """One large cluster beside two small ones: why order="best" is the default."""
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], [200, 25, 25])
    X = 3.0 / np.sqrt(2) * rng.normal(size=(3, 8))[truth] + rng.normal(size=(250, 8))
    model = ClusterForest(3, n_init=3, random_state=0).fit(X)
    largest = clone(model).set_params(order="largest").fit(X)
    assert model.order == "best"
    assert accuracy(truth, model.labels_) > 0.9 > 0.8 > accuracy(truth, largest.labels_)


def test_shared_parameters_are_declared_once():
    forest, grower = ClusterForest().get_params(), ForestGrower().get_params()
    shared = set(forest) & set(grower) - {"n_clusters"}
    assert shared == {*GROWTH_RULES, *RUN_RULES}
    assert {name: forest[name] for name in shared} == {name: grower[name] for name in shared}
    for name in shared:
        assert ClusterForest._parameter_rules[name] is ForestGrower._parameter_rules[name]
    described = [
        {entry.name: entry.desc for entry in NumpyDocString(inspect.getdoc(cls))["Parameters"]}
        for cls in (ClusterForest, ForestGrower)
    ]
    assert all(described[0][name] == described[1][name] for name in shared)
    for cls in (ClusterForest, ForestGrower):
        assert "<" not in cls.__doc__
        assert "10.1016/j.csda.2013.04.010" in cls.__doc__


def test_defaults_against_those_of_the_paper():
    given = ClusterForest().get_params()
    printed = {
        "n_vectors": 100,
        "threshold": 0.4,
        "features_per_draw": 2,
        "n_competitors": 1,
        "n_base_clusters": None,  # n_f
        "max_iter": 200,
        "n_init": 20,
    }
    assert {name: given[name] for name in printed} == printed
    X, _ = planted(0)
    ones, tens = (ClusterForest(3, scale=s, random_state=0).fit(X) for s in (None, 10.0))
    assert ones.cost_ == tens.cost_  # beta_1 = 10 with 100 vectors
    # What the paper prints otherwise: 3, "pairs" and "hartigan".
    assert [given[name] for name in ("patience", "kappa", "algorithm")] == [1, "anova", "lloyd"]


def test_the_forest_is_growth_and_aggregate(seed):
    X, truth = planted(seed)
    model = ClusterForest(3, **(QUICK | {"random_state": seed})).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert (np.diff(np.bincount(model.labels_)) < 0).all()  # numbered by decreasing size
    found, value = dense_forest(model.ensemble_.labels, 3, 0.4, 1.5, model.order)
    assert adjusted_rand_score(found, model.labels_) == 1.0
    assert model.cost_ == pytest.approx(value)
    assert model.n_clusters_ == model.n_base_clusters_ == 3
    assert model.ensemble_.shape == (90, 15)
    assert model.n_landmarks_ == 0
    assert np.isnan(model.landmark_agreement_)
    assert len(model.splits_) == 2


@pytest.mark.parametrize("way", [{"cut": "best"}, {"ncut": "kway"}, {"n_base_clusters": 5}])
def test_other_cuts_find_the_groups_too(way, seed):
    X, truth = planted(seed)
    model = ClusterForest(3, **(QUICK | way)).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.n_base_clusters_ == way.get("n_base_clusters", 3)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


# -- new points ---------------------------------------------------------------------------------


def test_points_of_fit_are_predicted_as_they_were_labelled(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(60, 5)), rng.normal(1.5, 1, size=(60, 5))])  # overlapping
    for way in ({}, {"cut": "best"}, {"ncut": "kway"}):
        model = ClusterForest(3, **(QUICK | {"max_iter": 1000} | way)).fit(X)
        rows = forest_vectors.label_rows(X, model._vectors)
        same = (rows == model.ensemble_.labels).all(axis=1)
        assert same.mean() > 0.95  # nearest centres reproduce converged k-means
        np.testing.assert_array_equal(model.predict(X)[same], model.labels_[same])
        again = model.predict(sparse.csr_matrix(X))
        np.testing.assert_array_equal(again, model.predict(X))


def test_new_points_go_to_their_groups(seed):
    X, truth = planted(seed, n=300)
    model = ClusterForest(3, **QUICK).fit(X[::2])
    assert adjusted_rand_score(truth[1::2], model.predict(X[1::2])) == 1.0
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    named = ClusterForest(3, **QUICK).fit(frame[::2])
    assert list(named.feature_names_in_) == list(frame.columns)
    assert list(named.ensemble_.index) == list(frame.index[::2])
    np.testing.assert_array_equal(named.predict(frame), model.predict(X))


def test_a_column_taken_twice_counts_twice():
    X = np.array([[0.0, 0.0], [10.0, 10.0]])
    record = {"columns": np.array([0, 1, 0]), "n_clusters": 2}
    votes = Ensemble.from_labels([[0, 1]])
    votes = Ensemble.from_labels([[0, 1]], records=[votes.records[0].replace(**record)])
    vectors = forest_vectors.read_vectors(X, votes, np.ones(2))
    np.testing.assert_array_equal(vectors[0].centers, [[0, 0, 0], [10, 10, 10]])
    # Once each, the two columns would cancel; twice, the first decides.
    assert forest_vectors.label_rows(np.array([[6.0, 3.5]]), vectors)[0, 0] == 1
    assert forest_vectors.label_rows(sparse.csr_matrix([[4.0, 6.5]]), vectors)[0, 0] == 0


# -- landmarks ----------------------------------------------------------------------------------


def test_landmarks_agree_with_the_exact_cut(seed):
    votes = Ensemble.from_labels(noisy_votes(seed, n=900, r=30))
    exact = aggregated(votes, 3).groups
    found = aggregated(votes, 3, landmarks=250)
    assert 200 < found.n_landmarks <= 250
    assert found.made.weights.sum() == 250
    assert adjusted_rand_score(exact, found.groups) > 0.95
    # Two sets differ more than the one that is kept and the exact cut do.
    assert 0.9 < found.agreement <= accuracy(exact, found.groups)


def dense_halves(rows, marks, weight):
    """Cut weighted landmarks in two by a dense eigenvector, and extend it to all rows."""
    P = np.mean(rows[:, None] == rows[marks][None], axis=2)
    P = np.exp(5.0 * np.where(P >= 0.4 - 1e-12, P, 0.0))
    degree = P[marks] @ weight
    scale = np.sqrt(weight / degree)
    mu, vectors = eigh(scale[:, None] * P[marks] * scale)
    y = vectors[:, -2] / np.sqrt(weight * degree)
    return P @ (weight * y) / mu[-2] > 0


def test_of_the_sets_of_landmarks_the_one_most_like_the_others_is_kept(seed):
    votes = Ensemble.from_labels(noisy_votes(seed, n=300, noise=0.7))
    found = aggregated(votes, 2, landmarks=80)
    small, inverse = votes.compress()
    sides, sizes = [], []
    for draw in SeedSequence(0).spawn(2)[0].spawn(3):
        marks, places = draw_landmarks(small, 80, draw)
        sides.append(dense_halves(small.labels, places, marks.sample_weight)[inverse])
        sizes.append(places.size)
    same = np.array([[max(np.mean(a == b), np.mean(a != b)) for b in sides] for a in sides])
    middle = int(np.argmax(same.sum(axis=1)))
    assert found.agreement == pytest.approx((same.sum() - 3) / 6)
    assert found.agreement < 0.95  # hardly any structure: the sets are cut differently
    assert adjusted_rand_score(found.groups, sides[middle]) == 1.0
    assert found.n_landmarks == sizes[middle] == found.made.weights.size


def test_landmarks_are_used_when_asked_and_only_then(monkeypatch, seed):
    X, truth = planted(seed, n=300)
    settings = QUICK | {"n_base_clusters": 6}
    sampled = ClusterForest(3, landmarks=40, **settings).fit(X)
    assert 20 < sampled.n_landmarks_ <= 40
    assert 0.6 <= sampled.landmark_agreement_ <= 1.0
    assert adjusted_rand_score(truth, sampled.labels_) > 0.8
    np.testing.assert_array_equal(sampled.predict(X), sampled.labels_)
    assert ClusterForest(3, landmarks=299, **settings).fit(X).n_landmarks_ == 0
    monkeypatch.setattr(forest_aggregate, "EXACT_ROWS", 50)
    monkeypatch.setattr(forest_aggregate, "LANDMARKS", 45)
    assert 20 < ClusterForest(3, **settings).fit(X).n_landmarks_ <= 45
    assert ClusterForest(3, landmarks=None, **settings).fit(X).n_landmarks_ == 0
    with pytest.raises(MemoryError, match="Use landmarks='auto'"):
        ClusterForest(3, landmarks=None, max_gb=1e-6, **settings).fit(X)
    with pytest.raises(ValueError, match="landmarks=2 is fewer than n_clusters=3"):
        ClusterForest(3, landmarks=2).fit(X)


# -- the number of clusters ---------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_number_of_clusters_is_found_beside_noise(k, seed):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(k), 60)
    X = np.hstack(
        [8.0 * np.eye(5)[truth] + rng.normal(size=(60 * k, 5)), rng.normal(size=(60 * k, 6))]
    )
    model = ClusterForest(**QUICK).fit(X)
    assert model.n_clusters_ == k
    assert model.n_base_clusters_ == k
    chosen = model.k_selection_
    assert chosen.n_clusters == k
    assert chosen.eigenvalues[k - 1] > chosen.eigenvalues[k] + 0.02
    assert chosen.gaps.argmax() == k - 1
    assert ClusterForest(2, **QUICK).fit(X).k_selection_ is None


def test_one_gaussian_gets_some_number_all_the_same():
    X = np.random.default_rng(0).normal(size=(150, 4))
    assert 2 <= ClusterForest(max_clusters=6, **QUICK).fit(X).n_clusters_ <= 6


# -- what the columns say -----------------------------------------------------------------------


def test_informative_columns_come_first(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(120, 15))
    X[:50, :3] += 5.0
    model = ClusterForest(2, **(QUICK | {"n_vectors": 40})).fit(X)
    assert set(np.argsort(-model.feature_importances_)[:3]) == {0, 1, 2}
    assert model.feature_importances_[:3].sum() > 0.6
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    counts, worth = np.zeros((40, 15)), np.zeros(15)
    for i, record in enumerate(model.ensemble_.records):
        np.add.at(counts[i], record.columns, 1)
        labels = model.ensemble_.labels[:, i]
        for j in np.unique(record.columns):
            within = sum(X[labels == c, j].var() * (labels == c).sum() for c in range(2))
            worth[j] += (1 - within / (X[:, j].var() * 120)) / (1 + record.cost)
    np.testing.assert_array_equal(model.feature_occurrence_.toarray(), counts)
    np.testing.assert_allclose(model.feature_share_, (counts > 0).mean(axis=0))
    np.testing.assert_array_equal(model.kappa_, [r.cost for r in model.ensemble_.records])
    np.testing.assert_allclose(model.feature_importances_, worth / worth.sum(), atol=1e-9)


def vector_of(columns, total, within):
    total, within = (np.array([values[c] for c in columns]) for values in (total, within))
    return forest_vectors.Vector(np.array(columns), np.empty((2, len(columns))), within, total)


def test_vectors_that_separate_nothing_weigh_nothing():
    counts = forest_columns.column_counts([np.array([0, 0]), np.array([1])], 3)
    assert counts.toarray().tolist() == [[2, 0, 0], [0, 1, 0]]
    pair = [vector_of(c, [1.0, 2.0, 0.0], [0.5, 0.5, 0.0]) for c in ([0, 0], [1, 2])]
    found = forest_columns.column_importances(pair, np.array([1.0, 2.0]), 3)
    np.testing.assert_allclose(found, [0.5, 0.5, 0.0])  # 0.5 / 2 against 0.75 / 3
    found = forest_columns.column_importances(pair, np.array([np.inf, 1.0]), 3)
    np.testing.assert_array_equal(found, [0, 1, 0])
    nothing = forest_columns.column_importances(pair, np.full(2, np.inf), 3)
    np.testing.assert_array_equal(nothing, np.zeros(3))


def test_a_column_of_large_scale_is_named(seed):
    X, _ = planted(seed)
    frame = pd.DataFrame(X.copy(), columns=[f"c{j}" for j in range(X.shape[1])])
    frame["c4"] *= 1000.0
    settings = QUICK | {"n_competitors": 1, "n_vectors": 30, "patience": 10}
    with pytest.warns(FeatureScaleWarning, match=r"the column 'c4' has 100%.*StandardScaler"):
        ClusterForest(3, **settings).fit(frame)
    with pytest.warns(FeatureScaleWarning, match="column 4 has"):
        ClusterForest(3, **settings).fit(sparse.csr_matrix(frame.to_numpy()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ClusterForest(3, **settings).fit(StandardScaler().fit_transform(frame))
        # A column whose companions do not vary has no rival of another scale, nor has one that
        # is wide by its clusters.
        ClusterForest(3, **settings).fit(X)
        lonely = np.zeros_like(X)
        lonely[:, 0] = X[:, 0]
        ClusterForest(2, **settings).fit(lonely)


def test_a_column_is_dominant_by_its_share_of_both_sums_of_squares():
    total, within = [1.0, 9.0, 0.0, 20.0], [1.0, 9.0, 0.0, 0.1]
    taken = ([0, 1], [0, 1, 1], [1, 2], [0, 0, 1], [3, 0], [3, 0], [3, 0])
    vectors = [vector_of(columns, total, within) for columns in taken]
    # 9 of 10, 18 of 19; alone beside a constant; 9 of 11; and one that is wide by its clusters.
    found = forest_columns.dominant_column(vectors)
    assert (found.column, found.n_vectors, found.n_decided) == (1, 2, 2)
    assert found.share == pytest.approx((0.9 + 18 / 19) / 2)
    assert forest_columns.dominant_column(vectors + vectors[-2:]) is None  # 2 of 9
    # Another column does so too.
    vectors.append(vector_of([3, 0], total, [1.0, 9.0, 0.0, 20.0]))
    found = forest_columns.dominant_column(vectors)
    assert (found.column, found.n_vectors, found.n_decided) == (1, 2, 3)


def test_sums_of_squares_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) * [1.0, 3.0, 2.0] + 5
    weights, labels = rng.random(50), rng.integers(0, 3, 50)
    plain = Ensemble.from_labels([labels])
    columns = np.array([2, 0, 2])
    votes = Ensemble.from_labels([labels], records=[plain.records[0].replace(columns=columns)])
    for form in (np.asarray, sparse.csr_matrix):
        vector = forest_vectors.read_vectors(form(X), votes, weights)[0]
        mean = np.average(X[:, columns], axis=0, weights=weights)
        np.testing.assert_allclose(vector.total, weights @ (X[:, columns] - mean) ** 2)
        own = vector.centers[labels]
        np.testing.assert_allclose(vector.within, weights @ (X[:, columns] - own) ** 2)
        for c in range(3):
            inside = labels == c
            center = np.average(X[inside][:, columns], axis=0, weights=weights[inside])
            np.testing.assert_allclose(vector.centers[c], center)


def test_wine_is_decided_by_proline():
    wine = load_wine(as_frame=True).data
    settings = {"n_vectors": 60, "n_init": 3, "random_state": 0}
    for patience in (1, 3):
        with pytest.warns(FeatureScaleWarning, match="'proline' has 100%"):
            ClusterForest(3, patience=patience, **settings).fit(wine)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FeatureScaleWarning)
        ClusterForest(3, **settings).fit(StandardScaler().fit_transform(wine))


# -- the rest -----------------------------------------------------------------------------------


def test_results_do_not_depend_on_workers(seed):
    X, _ = planted(seed, n=200)
    settings = QUICK | {"random_state": seed, "landmarks": 60, "n_base_clusters": 6}
    one = ClusterForest(**settings).fit(X)
    two = clone(one).set_params(n_jobs=2).fit(X)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert one.ensemble_ == two.ensemble_
    assert one.cost_ == two.cost_
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_weights_count_points():
    X, truth = planted(0)
    heavy = np.where(truth == 2, 10.0, 1.0)
    model = ClusterForest(3, order="best", **QUICK).fit(X, sample_weight=heavy)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert (model.labels_[truth == 2] == 0).all()  # the heaviest is the first
    np.testing.assert_array_equal(model.ensemble_.sample_weight, heavy)
    # In the cut, whole weights are copies of the points.
    votes = noisy_votes(1)
    times = np.random.default_rng(1).integers(1, 4, 60)
    weighted = aggregated(Ensemble.from_labels(votes, sample_weight=times), 3)
    copies = aggregated(Ensemble.from_labels(np.repeat(votes, times, axis=0)), 3)
    assert adjusted_rand_score(np.repeat(weighted.groups, times), copies.groups) == 1.0
    assert weighted.made.cut.value == pytest.approx(copies.made.cut.value)


def test_points_without_weight_follow_like_new_ones():
    X, truth = planted(0)
    X = np.vstack([X, X[:3] + 0.01, [[100.0] * X.shape[1]]])
    weight = np.r_[np.ones(90), np.zeros(4)]
    model = ClusterForest(3, **QUICK).fit(X, sample_weight=weight)
    assert adjusted_rand_score(truth, model.labels_[:90]) == 1.0
    np.testing.assert_array_equal(model.labels_[90:93], model.labels_[:3])
    assert model.n_clusters_ == 3
    with pytest.raises(ValueError, match="n_clusters=91 is more than the 90 samples"):
        ClusterForest(91).fit(X, sample_weight=weight)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_points_that_are_few_or_equal(form):
    one = ClusterForest(n_vectors=3, random_state=0).fit(form([[1.0, 2.0]]))
    assert one.labels_.tolist() == [0]
    assert one.predict(form([[5.0, 5.0]])).tolist() == [0]
    same = ClusterForest(n_vectors=3, random_state=0).fit(form(np.ones((6, 2))))
    assert same.n_clusters_ == 1
    assert np.isinf(same.kappa_).all()
    assert same.feature_importances_.tolist() == [0, 0]
    assert same.cost_ == 0
    with pytest.warns(ConsensusWarning, match="n_clusters=2 was asked for and 1 returned"):
        ClusterForest(2, n_vectors=3).fit(form(np.ones((6, 2))))
    pair = form(np.repeat([[0.0, 0.0], [1.0, 1.0]], [4, 2], axis=0))
    with pytest.warns(ConsensusWarning, match="n_clusters=3 was asked for and 2 returned"):
        two = ClusterForest(3, n_vectors=3, random_state=0).fit(pair)
    assert two.labels_.tolist() == [0, 0, 0, 0, 1, 1]
    assert (
        ClusterForest(n_vectors=3, random_state=0).fit(pair).labels_.tolist() == [0] * 4 + [1] * 2
    )


def test_constant_columns_and_one_cluster():
    X, truth = planted(0)
    X[:, 5:] = 3.0
    model = ClusterForest(3, **QUICK).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    single = ClusterForest(1, **QUICK).fit(X)
    assert (single.labels_ == 0).all()
    assert single.n_base_clusters_ == 2
    assert (single.predict(X) == 0).all()
    column = ClusterForest(2, **QUICK).fit(X[:, :1])
    assert column.n_clusters_ == 2


def test_bad_input_gets_a_sentence():
    X, _ = planted(0)
    with pytest.raises(ValueError, match="n_clusters=91 is more than the 90 samples"):
        ClusterForest(91).fit(X)
    with pytest.raises(ValueError, match="n_base_clusters=91 is more than the 90 samples"):
        ClusterForest(2, n_base_clusters=91).fit(X)
    with pytest.raises(ValueError, match="threshold must be a number in"):
        ClusterForest(2, threshold=2).fit(X)
    with pytest.raises(ValueError, match="sample_weight must have one entry"):
        ClusterForest(2).fit(X, sample_weight=[1.0])


def test_parameters_reach_the_grower(monkeypatch):
    seen = {}

    def generate(self, X, **more):
        seen.update(self.get_params())
        raise RuntimeError("enough")

    monkeypatch.setattr(ForestGrower, "generate", generate)
    asked = {
        "features_per_draw": 1,
        "n_competitors": 4,
        "patience": 5,
        "kappa": "anova",
        "allow_duplicates": False,
        "min_distinct": 3,
        "exhaustive": True,
        "algorithm": "hartigan",
        "n_init": 7,
        "max_iter": 11,
        "n_jobs": 2,
        "progress": False,
    }
    with pytest.raises(RuntimeError, match="enough"):
        ClusterForest(3, n_vectors=9, n_base_clusters=4, **asked).fit(planted(0)[0])
    assert {name: seen[name] for name in asked} == asked
    assert (seen["n_partitions"], seen["n_clusters"]) == (9, 4)


@pytest.mark.parametrize("sizes", [(20, 20, 20), (15,) * 5, (50, 20, 20, 20)])
def test_clusters_of_equal_size_on_which_all_vectors_agree(sizes):
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 50.0 * np.eye(len(sizes))[y] + np.random.default_rng(0).normal(size=(y.size, len(sizes)))
    k = len(sizes)
    forest = ClusterForest(k, features_per_draw=k, n_vectors=10, random_state=0).fit(X)
    assert adjusted_rand_score(forest.labels_, y) == 1.0


def test_weights_of_any_size_in_float32():
    X = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    expected = ClusterForest(2, n_vectors=5, random_state=0).fit_predict(X)
    for size in (1e39, 1e-46, 1e50, 1e-50):
        weight = np.full(30, size)
        forest = ClusterForest(2, n_vectors=5, random_state=0).fit(X, sample_weight=weight)
        np.testing.assert_array_equal(forest.labels_, expected)
