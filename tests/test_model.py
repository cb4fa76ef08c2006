"""ConsensusClustering: the main job, as a scikit-learn user meets it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import ConsensusClustering, Ensemble, EnsembleGenerator, kernels
from clusterscape.combine import (
    EAC,
    METHODS,
    MajorityVote,
    OneOpinionWarning,
    choose_method,
    mean_coassociation,
)
from clusterscape.datasets import make_no_structure
from clusterscape.generate import diverse, random_k
from clusterscape.generate.presets import PRESETS
from clusterscape.generate.scales import (
    FarValueWarning,
    FeatureScaleWarning,
    SparseCountsWarning,
)
from clusterscape.model import NoStructureWarning
from clusterscape.validate import K_CRITERIA, select_k, structure_test
from clusterscape.validate.borders import Neighborhoods
from clusterscape.validate.k_criteria import Cuts
from clusterscape.validate.n_clusters import BY_REFERENCES

# A light generator for tests that do not look at quality.
QUICK = EnsembleGenerator(12, n_clusters=(2, "sqrt"))


@pytest.mark.filterwarnings(
    "ignore::clusterscape.model.NoStructureWarning",
    "ignore::clusterscape.combine.ConsensusWarning",
)
@parametrize_with_checks(
    [
        ConsensusClustering(generator=QUICK, n_references=0, random_state=0),
        ConsensusClustering(3, generator=QUICK, n_references=0, consensus="eac", random_state=0),
    ],
    expected_failed_checks=lambda _: dict.fromkeys(
        (
            "check_sample_weight_equivalence_on_dense_data",
            "check_sample_weight_equivalence_on_sparse_data",
        ),
        "members begin at points that are drawn, and repeated points draw others (as in KMeans)",
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(seed=0, n=240, k=4, std=0.7):
    return make_blobs(n, centers=k, cluster_std=std, random_state=seed, center_box=(-12, 12))


def test_finds_number_and_clusters_of_clear_data():
    X, y = blobs(seed=3)
    model = ConsensusClustering(random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(y, model.labels_) == 1.0
    assert model.structure_.found
    assert model.k_selection_.n_clusters == 4
    assert "near neighbours" in model.k_selection_.criterion
    assert model.confidence_.min() > 0.8
    np.testing.assert_allclose(model.membership_.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.membership_.argmax(axis=1), model.labels_)
    assert (np.diff(np.bincount(model.labels_)) <= 0).all()


def test_real_data():
    wine = load_wine()
    model = ConsensusClustering(random_state=0).fit(StandardScaler().fit_transform(wine.data))
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(wine.target, model.labels_) > 0.85
    iris = load_iris()
    model = ConsensusClustering(random_state=0).fit(iris.data)
    assert model.n_clusters_ in (2, 3)  # two of the three species overlap
    assert adjusted_rand_score(iris.target, model.labels_) > 0.55


def test_fit_ensemble_uses_clusterings_that_exist():
    X, y = blobs(seed=2)
    made = ConsensusClustering(3, random_state=0, n_references=0)
    votes = made.make_generator(*X.shape).generate(X)
    model = ConsensusClustering(3, random_state=0, n_references=0).fit_ensemble(votes, features=X)
    again = ConsensusClustering(3, random_state=0, n_references=0).fit(X)
    assert again.ensemble_ == votes
    np.testing.assert_array_equal(model.labels_, again.labels_)
    np.testing.assert_array_equal(model.confidence_, again.confidence_)
    assert model.structure_ is None
    with pytest.raises(ValueError, match="fit_ensemble and distances"):
        model.predict(X)
    votes = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    own = ConsensusClustering(consensus="majority_vote").fit_ensemble(votes)
    assert own.n_clusters_ == len(set(own.labels_))
    assert own.k_selection_.criterion == "components of the graph of majorities"


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_no_structure_is_reported(kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(250, 3)) if kind == "gaussian" else rng.random((250, 3))
    model = ConsensusClustering(random_state=0).fit(X)
    assert not model.structure_.found
    assert model.n_clusters_ == 1
    assert (model.confidence_ == 0).all()
    assert "No cluster structure" in model.k_selection_.reason
    assert model.k_selection_.criterion == "test for structure"
    remedies = r"scale .*log .*leave out .*n_references=0 \(--references 0\)"
    said = f"=3 was asked for, 3 returned. No cluster struct.*{remedies}"
    with pytest.warns(NoStructureWarning, match=said):
        forced = ConsensusClustering(3, random_state=0).fit(X)
    assert forced.n_clusters_ == 3
    assert (forced.confidence_ > 0).all()  # the verdict stands beside it
    assert "n_references=0" in forced.structure_.message


def test_confidence_is_low_between_clusters():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 0.5, (80, 2)), rng.normal(4, 0.5, (80, 2)), [[2.0, 2.0]]])
    model = ConsensusClustering(2, random_state=0).fit(X)
    assert model.confidence_[-1] < np.quantile(model.confidence_[:-1], 0.05)
    share = mean_coassociation(model.ensemble_, model.labels_)
    own = share[np.arange(161), model.labels_]
    expected = [own[model.labels_ == g].mean() for g in range(2)]
    np.testing.assert_allclose(model.cluster_consensus_, expected)


def test_same_seed_same_result_for_any_n_jobs():
    X, _ = blobs(seed=1, std=3.0)
    one = ConsensusClustering(random_state=5, n_jobs=1).fit(X)
    two = ConsensusClustering(random_state=5, n_jobs=2).fit(X)
    assert one.ensemble_ == two.ensemble_
    np.testing.assert_array_equal(one.labels_, two.labels_)
    np.testing.assert_array_equal(one.confidence_, two.confidence_)
    assert one.structure_.score == two.structure_.score
    other = ConsensusClustering(random_state=6).fit(X)
    assert not np.array_equal(one.ensemble_.labels, other.ensemble_.labels)


def test_global_generator_is_untouched():
    X, _ = blobs()
    np.random.mtrand._rand.seed(3)
    before = np.random.mtrand._rand.get_state()[1].copy()
    ConsensusClustering(generator=QUICK, n_references=0).fit(X)
    np.testing.assert_array_equal(np.random.mtrand._rand.get_state()[1], before)


def test_predict_sparse_frames_pipeline_clone():
    X, y = blobs(seed=2)
    model = ConsensusClustering(4, generator=QUICK, n_references=0, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    copy = clone(model).fit(sparse.csr_matrix(X))
    assert adjusted_rand_score(copy.labels_, model.labels_) == 1.0
    np.testing.assert_array_equal(copy.predict(sparse.csr_matrix(X)), copy.labels_)
    np.testing.assert_array_equal(model.predict(sparse.csr_matrix(X)), model.labels_)
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))], columns=["a", "b"])
    named = clone(model).fit(frame)
    assert list(named.feature_names_in_) == ["a", "b"]
    assert named.ensemble_.index[1] == "s1"
    pipe = make_pipeline(StandardScaler(), clone(model)).set_output(transform="pandas")
    assert adjusted_rand_score(y, pipe.fit_predict(frame)) == 1.0
    np.testing.assert_array_equal(pipe.predict(frame), pipe[-1].labels_)


def test_float32_stays_float32():
    X, y = blobs(seed=2)
    model = ConsensusClustering(4, generator=QUICK, n_references=0, random_state=0)
    model.fit(X.astype(np.float32))
    assert all(rule.table.dtype == np.float32 for rule in model.assigner_.rules)
    assert adjusted_rand_score(y, model.labels_) == 1.0


@pytest.mark.filterwarnings("ignore::clusterscape.combine.OneOpinionWarning")
@pytest.mark.parametrize(
    "preset", ["random_k", "random_features", "restarts", "bagging", "subsample"]
)
def test_presets_by_name(preset):
    X, y = blobs(seed=4, n=120, k=3)
    model = ConsensusClustering(3, generator=preset, n_references=0, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9


@pytest.mark.filterwarnings("ignore::clusterscape.combine.OneOpinionWarning")
def test_consensus_by_name_and_by_estimator():
    X, y = blobs(seed=4, n=120, k=3)
    for consensus in ("eac", EAC(linkage="single"), MajorityVote()):
        model = ConsensusClustering(
            None if isinstance(consensus, MajorityVote) else 3,
            generator=EnsembleGenerator(20, n_clusters=3),
            consensus=consensus,
            n_references=0,
            random_state=0,
        ).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.k_selection_.criterion == "components of the graph of majorities"
    cut = ConsensusClustering(consensus=EAC(threshold=0.4)).fit_ensemble(model.ensemble_)
    assert cut.k_selection_.criterion == "similarity threshold 0.4 of EAC"
    with pytest.raises(ValueError, match="MajorityVote does not take n_clusters"):
        ConsensusClustering(7, consensus="majority_vote").fit(X)


def test_small_and_degenerate_data():
    for X in ([[1.0, 2.0]], [[1.0], [1.0]], np.zeros((6, 2))):
        model = ConsensusClustering(random_state=0).fit(X)
        assert model.n_clusters_ == 1
        assert (model.labels_ == 0).all()
        assert not model.structure_.found
    one = ConsensusClustering(1, random_state=0).fit(blobs(n=40)[0])
    assert one.n_clusters_ == 1
    few = np.repeat([[0.0, 1.0], [2.0, 3.0], [5.0, 5.0]], 10, axis=0)
    for X in (few, sparse.csr_matrix(few)):
        with pytest.raises(ValueError, match="n_clusters=4 is more than the 3 different points"):
            ConsensusClustering(4, random_state=0).fit(X)
    with pytest.raises(ValueError, match="n_clusters=5 is more than the 3 samples"):
        ConsensusClustering(5).fit([[1.0], [2.0], [3.0]])
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        ConsensusClustering().fit(np.empty((0, 2)))
    with pytest.raises(ValueError, match="NaN"):
        ConsensusClustering().fit([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="generator must be.*got 'nope'"):
        ConsensusClustering(generator="nope").fit([[1.0], [2.0]])


def test_presets_by_name_get_the_number_of_clusters():
    for preset in ("random_features", "restarts", "bagging", "subsample", "random_projection"):
        made = ConsensusClustering(3, generator=preset).make_generator(400, 4)
        assert made.n_clusters == 3
        free = ConsensusClustering(generator=preset).make_generator(400, 4)
        assert free.n_clusters == (10, 20)
    kmeans = ConsensusClustering(3, generator="random_k")
    assert kmeans.make_generator(400, 4).n_clusters == (3, 20)
    assert kmeans.make_generator(10**6, 4).n_clusters == (3, 100)
    assert ConsensusClustering(3).make_generator(400, 4).distance == "euclidean"
    assert ConsensusClustering(3).make_generator(400, 4, sparse=True).distance == "cosine"


def test_pickle_and_copy_keep_everything():
    import copy
    import io

    import joblib

    X, _ = blobs(n=60)
    model = ConsensusClustering(3, generator=QUICK, n_references=0, random_state=0).fit(X)
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    for other in (joblib.load(buffer), copy.deepcopy(model)):
        assert other.ensemble_ == model.ensemble_
        np.testing.assert_array_equal(other.predict(X), model.labels_)
        with pytest.raises(AttributeError, match="immutable"):
            other.ensemble_.n_clusters = 3


def test_store_resumes(tmp_path):
    X, _ = blobs(n=60)
    unseeded = [
        ConsensusClustering(4, n_references=0, store=tmp_path / "free").fit(X) for _ in range(2)
    ]
    assert unseeded[0].ensemble_ == unseeded[1].ensemble_
    np.testing.assert_array_equal(unseeded[0].labels_, unseeded[1].labels_)
    first = ConsensusClustering(4, n_references=0, random_state=0, store=tmp_path / "s").fit(X)
    again = ConsensusClustering(4, n_references=0, random_state=0, store=tmp_path / "s").fit(X)
    assert first.ensemble_ == again.ensemble_
    assert any((tmp_path / "s").iterdir())


# -- choosing k, and whether there is anything to choose ------------------------------------------


def test_coarse_clusterings_with_errors_keep_their_number():
    rng = np.random.default_rng(0)
    planted = np.repeat([0, 1, 2], 100)
    votes = np.column_stack(
        [np.where(rng.random(300) < 0.1, rng.integers(0, 3, 300), planted) for _ in range(50)]
    )
    model = ConsensusClustering(random_state=0).fit_ensemble(votes)
    assert model.n_clusters_ == 3
    assert adjusted_rand_score(planted, model.labels_) == 1.0
    assert select_k([[0, 0, 0], [0, 0, 0]]).n_clusters == 1


def test_select_k_counts_groups_that_are_never_mixed():
    rng = np.random.default_rng(0)
    planted = np.repeat(np.arange(5), 20)
    labels = np.column_stack([planted * 3 + rng.integers(0, 3, 100) for _ in range(30)])
    chosen = select_k(labels)
    assert chosen.n_clusters == 5
    np.testing.assert_allclose(chosen.eigenvalues[:5], 1.0, atol=1e-6)
    assert select_k(labels, (2, 3)).n_clusters <= 3
    with pytest.raises(ValueError, match=r"\(least, most\)"):
        select_k(labels, (4, 3))
    with pytest.raises(ValueError, match="needs an ensemble, or features"):
        select_k()
    with pytest.raises(ValueError, match="no partition has a cluster"):
        select_k([[-1, -1]])


def test_a_few_far_points_do_not_cut_the_others():
    rng = np.random.default_rng(0)
    cloud, two = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    two[:150, 0] += 9
    far = rng.normal(scale=0.2, size=(4, 2)) + [4, 30]
    assert ConsensusClustering(random_state=0).fit(np.r_[cloud, far]).n_clusters_ == 1
    model = ConsensusClustering(random_state=0).fit(np.r_[two, far])
    assert model.n_clusters_ in (2, 3)
    for part in (slice(0, 150), slice(150, 300)):  # neither of the two is cut
        assert np.unique(model.labels_[part]).size == 1


def test_the_search_goes_on_while_there_are_more_clusters():
    rng = np.random.default_rng(0)
    middles = 8.0 * np.array([(i, j) for i in range(5) for j in range(5)])
    X = np.concatenate([m + rng.normal(size=(20, 2)) for m in middles])
    ensemble = EnsembleGenerator(30, n_clusters=(25, 50), random_state=0).generate(X)
    found = select_k(ensemble, features=X)
    assert found.n_clusters == 25
    assert found.table["k"].max() == 40
    asked = select_k(ensemble, (2, 10), features=X)
    assert asked.table["k"].max() == 10  # not beyond what was asked
    votes = np.column_stack([np.arange(300) % 30 * 3 + rng.integers(0, 3, 300) for _ in range(20)])
    assert select_k(votes).n_clusters == 30


def test_criteria_against_data_without_clusters():
    X, _ = blobs(seed=0, n=60, k=3)
    settings = {"generator": EnsembleGenerator(10, n_clusters=(2, 8)), "n_references": 19}
    found = select_k(X, (2, 4), criteria=list(K_CRITERIA), **settings)
    table = found.table.set_index("k")
    assert found.n_clusters == 3
    assert "0 of 19 datasets without clusters score as high (p = 0.05)" in found.reason
    for name, entry in K_CRITERIA.items():
        assert np.isfinite(table[name]).all(), name
        assert (f"{name}_p" in table) == (entry.larger is not None)
    for name in ("score", "silhouette", "gap", "aggregate_stability"):
        assert table.loc[3, f"{name}_p"] == 0.05
    assert table["silhouette"].idxmax() == table["calinski_harabasz"].idxmax() == 3
    assert table["davies_bouldin"].idxmin() == 3
    assert table.loc[3, "pac"] == 0
    assert table.loc[4, "pac"] > 0
    cloud = np.random.default_rng(3).normal(size=(120, 2))
    none = select_k(cloud, (2, 4), **settings)
    assert none.n_clusters == 1
    assert none.runner_up in (2, 3, 4)
    assert none.reason.startswith("No evidence of clusters:")


def test_skewed_columns_are_no_clusters():
    # Gaussian references, which decided before, found two clusters.
    X = np.random.default_rng(0).lognormal(size=(200, 10))
    members = EnsembleGenerator(10, n_clusters=(2, 8))
    found = select_k(X, (2, 3), generator=members, n_references=19, n_resamples=2)
    assert found.n_clusters == 1
    assert found.criterion == BY_REFERENCES


def test_criteria_of_known_cuts():
    ks, truth = np.array([2, 3]), np.repeat([0, 1, 2], 20)
    two = np.minimum(truth, 1)
    other = np.where(truth == 2, 1, 0)
    X = truth[:, None] * 10.0 + np.linspace(0, 1, 60)[:, None]
    ensemble = Ensemble.from_labels(np.column_stack([truth, two]))
    cuts = Cuts(ks, [two, truth], [[two, truth], [other, truth]], ensemble, X, "euclidean",
                np.random.SeedSequence(0))  # fmt: skip
    value = {name: entry.measure(cuts) for name, entry in K_CRITERIA.items()}
    # Of 1770 pairs the middle group joins one or the other: 2 * 20 * 20 pairs are ambiguous.
    np.testing.assert_allclose(value["pac"], [800 / 1770, 0.0])
    together = np.array([3 * 190 + 800 / 2, 3 * 190]) / 1770
    np.testing.assert_allclose(value["cdf_area"], 1 - together)
    np.testing.assert_allclose(
        value["delta_area"], [1 - together[0], (together[0] - together[1]) / (1 - together[0])]
    )
    np.testing.assert_allclose(value["cophenetic"][1], 1.0)
    np.testing.assert_allclose(value["silhouette"][1], silhouette_score(X, truth))
    within = sum(((X[truth == c] - X[truth == c].mean()) ** 2).sum() for c in range(3))
    np.testing.assert_allclose(value["gap"][1], -np.log(within))
    np.testing.assert_array_equal(value["smallest"], [20, 20])


def test_a_list_of_two_numbers_is_no_range():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(c, 0.5, size=(30, 3)) for c in (0, 3, 6)])
    assert list(select_k(X, [2, 5], n_resamples=2).table["k"]) == [2, 5]
    assert list(select_k(X, (2, 5), n_resamples=2).table["k"]) == [2, 3, 4, 5]
    # Of three numbers two are left where 50 is more than the spectrum holds.
    votes = rng.integers(0, 4, size=(60, 10))
    found = select_k(votes, [2, 5, 50], criteria=["zeta"]).table
    assert list(found["k"]) == [2, 5]
    assert found["zeta"].notna().all()


def test_select_k_tells_features_from_labels():
    X, _ = blobs(seed=0, n=60, k=2)
    first = select_k(X, (2, 3)).table
    assert "separated" in first
    frame = pd.DataFrame(X, columns=["a", "b"], index=[f"p{i}" for i in range(len(X))])
    pd.testing.assert_frame_equal(select_k(frame, (2, 3)).table, first)
    ensemble = diverse(20, random_state=0).generate(X)
    both = [select_k(ensemble, (2, 3), features=data).table for data in (X, frame, X.tolist())]
    for table in both[1:]:
        pd.testing.assert_frame_equal(table, both[0])
    labels = np.repeat([[0, 1], [1, 0], [2, 2]], 10, axis=0)
    table = select_k(labels, criteria=["zeta", "silhouette"]).table
    assert "separated" not in table
    np.testing.assert_allclose(table["zeta"][1], 0.0)  # three clusters that are never mixed
    assert table["silhouette"].isna().all()
    with pytest.raises(ValueError, match="taken for features, but features= is given"):
        select_k(X, features=X)
    with pytest.raises(ValueError, match="references are drawn like the features"):
        select_k([[0, 1], [1, 0]], n_references=19)
    with pytest.raises(ValueError, match='"gap" is a difference from references'):
        select_k(X, criteria=["gap"])


def test_k_by_near_neighbors_has_a_table_and_a_runner_up():
    X, y = make_moons(240, noise=0.06, random_state=1)
    X = np.vstack([X, X[:120] + [0.0, 6.0]])
    found = select_k(features=X, ks=(2, 6), generator=diverse(40, random_state=0))
    assert found.n_clusters in (3, 4)
    table = found.table
    assert list(table["k"]) == [2, 3, 4, 5, 6]
    assert table["k"][table["score"].argmax()] == found.n_clusters
    second = table["k"][table["score"].where(table["k"] != found.n_clusters).argmax()]
    assert second == found.runner_up
    assert table["chosen"].sum() == found.choices.size == 10
    assert (np.bincount(found.choices, minlength=7)[2:] == table["chosen"]).all()
    assert f"next best is {found.runner_up}" in found.reason
    again = select_k(features=X, ks=(2, 6), generator=diverse(40, random_state=0), n_jobs=2)
    np.testing.assert_array_equal(again.table, table)


def test_separated_neighbors_are_counted_per_cluster():
    labels = np.array([0, 0, 0, 1])
    near = np.array([[1, 2], [0, 2], [0, 3], [2, 1]])
    around = Neighborhoods(near, np.zeros(4), near, np.ones(4))
    assert around.separated(labels) == pytest.approx((1 / 6 + 1.0) / 2)


def test_clearness_is_that_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 3)) + 3.5 * np.eye(3)[labels]
    away = np.linalg.norm(X[:, None] - X, axis=2)
    order = np.argsort(away, axis=1)[:, 1:11]
    radius = np.log(np.sort(away, axis=1)[:, 10])
    thin = np.array([np.mean(radius[i] - np.log(away[i, order[i, :9]])) for i in range(60)])
    found = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        links = {
            (p, q): [i for i in np.flatnonzero(labels == p) for j in order[i] if labels[j] == q]
            for p, q in ((a, b), (b, a))
        }
        both = sum(len(points) for points in links.values())
        m = min((labels == a).sum(), (labels == b).sum())
        dimension = 2 / (thin[labels == a].mean() + thin[labels == b].mean())
        sides = [
            np.mean(radius[points]) - np.median(radius[labels == p])
            for (p, _), points in links.items()
            if len(points) >= 0.1 * both
        ]
        expected = 0.4 * min(1.0, 10 / m) ** (1 / dimension)
        valley = np.clip(dimension * min(sides), -3, 3)
        found.append(np.log(expected * 20 * m / (both + 10)) + valley)
    around = Neighborhoods.of(X, 10)
    joined = -np.log(2 * np.sum(np.exp(-np.array(found))) / 3)
    assert 0 < joined < 4
    assert around.clearness(labels) == pytest.approx(np.clip(joined, 0, 4))
    assert around.clearness(3 * labels) == around.clearness(labels)
    assert Neighborhoods.none(60).clearness(labels) == 4.0


@pytest.mark.parametrize("d", [1, 2, 10])
def test_borders_are_clear_between_clouds_and_not_within_one(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, d))
    X[200:, 0] += 12
    between, within = np.arange(400) // 200, np.arange(400) // 200
    within = np.where(between == 0, np.where(X[:, 0] > 0, 2, 0), 1)
    around = Neighborhoods.of(X, 10)
    assert around.clearness(between) == 4.0
    assert around.clearness(within) < 1.2
    turned = Neighborhoods.of(np.column_stack([X, np.ones(400)]), 10, metric="cosine")
    assert np.isfinite(turned.clearness(within))


def test_small_groups_far_away_are_clusters():
    rng = np.random.default_rng(0)
    turn = rng.uniform(0, 2 * np.pi, 400)
    ring = np.column_stack([np.cos(turn), np.sin(turn)]) + 0.02 * rng.normal(size=(400, 2))
    far = [np.array(at) + 0.05 * rng.normal(size=(10, 2)) for at in ((3, 3), (-3, 3))]
    X = np.concatenate([ring, *far])
    assert Neighborhoods.of(X, 10).apart() == 3
    found = select_k(X, random_state=0)
    assert found.n_clusters == 3
    assert "3 groups have no near neighbours outside" in found.reason
    assert (found.choices >= 3).all()
    assert select_k(X, (2, 2), random_state=0).n_clusters == 2  # asked for


def test_small_groups_on_both_sides_of_a_large_one():
    rng = np.random.default_rng(0)
    sides = [rng.normal((at, 0), 0.5, size=(20, 2)) for at in (8, -8)]
    X = np.concatenate([rng.normal(size=(1000, 2)), *sides])
    groups = np.repeat([0, 1, 2], [1000, 20, 20])
    found = ConsensusClustering(n_references=0, random_state=0).fit(X)
    assert np.array_equal(found.labels_, groups)
    # Two of three groups have to share a cluster; which ones is open, but none is cut.
    asked = ConsensusClustering(2, n_references=0, random_state=0).fit(X)
    assert asked.n_clusters_ == 2
    assert all(np.unique(asked.labels_[groups == group]).size == 1 for group in range(3))


def test_chance_gaps_on_a_line_keep_no_groups_apart(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        assert Neighborhoods.of(rng.normal(size=(400, 1)), 10).apart() == 1


def test_equal_points_have_borders():
    X = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    around = Neighborhoods.of(X, 10)
    assert around.clearness(np.repeat([0, 1, 2], 20)) == 4.0
    assert np.isfinite(around.clearness(np.arange(60) % 3))


@pytest.mark.parametrize("draw", [0, 2])
def test_three_groups_on_a_line_are_three(draw):
    rng = np.random.default_rng(draw)
    X = np.concatenate([rng.normal(12.0 * c, 1.0, size=(200, 1)) for c in range(3)])
    assert select_k(X, (2, 8), random_state=draw).n_clusters == 3


def test_one_outlying_cell_does_not_change_k():
    X, _ = blobs(seed=3, n=150, k=4)
    wild = X.copy()
    wild[7, 1] = 1e4 * np.abs(X).max()
    for members in (diverse(60, random_state=0), "diverse", "random_k"):
        make = {"generator": members, "n_references": 0, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FarValueWarning)
            fits = [ConsensusClustering(**make).fit(data) for data in (X, wild)]
        assert fits[0].n_clusters_ == fits[1].n_clusters_ == 4


@pytest.mark.parametrize("asked", ["auto", (2, 8)])
def test_k_may_be_asked_for_as_a_range(asked):
    X, _ = blobs(n=150, k=3)
    model = ConsensusClustering(asked, n_references=0, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert model.k_selection_.table["k"].max() == (20 if asked == "auto" else 8)
    low = ConsensusClustering((4, 6), n_references=0, random_state=0).fit(X)
    assert low.n_clusters_ in (4, 5, 6)


def test_scales_and_sparse_counts_are_warned_of():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 1000, 1]
    quick = ConsensusClustering(2, n_partitions=5, n_references=0, random_state=0)
    with pytest.warns(FeatureScaleWarning, match="column 1 has 100% .*StandardScaler"):
        quick.fit(X)
    counts = sparse.csr_matrix(rng.poisson(0.05, size=(60, 40)).astype(float))
    with pytest.warns(SparseCountsWarning, match="cosine"):
        clone(quick).set_params(generator="random_k").fit(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick.fit(counts)  # members of several kinds compare the angles of sparse rows
        quick.fit(X / [1, 1000, 1])
        quick.set_params(generator=random_k(5, n_clusters=2, algorithm="cosine")).fit(counts)


@pytest.mark.parametrize("kind", ["t3", "lognormal", "uniform", "correlated"])
def test_tails_and_correlations_are_no_structure(kind):
    rng = np.random.default_rng(5)
    draw = {
        "t3": lambda: rng.standard_t(3, size=(150, 6)),
        "lognormal": lambda: rng.lognormal(size=(150, 6)),
        "uniform": lambda: rng.random((150, 6)),
        "correlated": lambda: rng.normal(size=(150, 6)) @ rng.normal(size=(6, 6)),
    }[kind]
    assert sum(structure_test(draw(), random_state=s).found for s in range(5)) <= 1


def test_structure_of_shapes_and_of_small_groups():
    rng = np.random.default_rng(0)
    assert structure_test(
        make_circles(300, factor=0.4, noise=0.05, random_state=0)[0], random_state=0
    ).found
    tenth = rng.normal(size=(200, 10))
    tenth[:20] += 7 / np.sqrt(10)
    assert structure_test(tenth, random_state=0).found


def test_dip_against_known_values():
    # Two equal heaps: half of the distance that no single mode can bridge.
    assert kernels.dip.dip(np.array([0.0, 0.0, 1.0, 1.0])) == pytest.approx(0.25)
    assert kernels.dip.dip(np.arange(10.0)) == pytest.approx(0.05)  # 1 / (2 n): evenly spaced
    assert kernels.dip.dip(np.array([0.0, 1.0, 2.0, 10.0, 11.0, 12.0])) == pytest.approx(
        1 / 6, abs=0.06
    )


def test_structure_test_level_and_power(seed):
    rng = np.random.default_rng(seed)
    false_alarms = sum(
        structure_test(rng.normal(size=(150, 4)), random_state=s).found for s in range(8)
    )
    assert false_alarms <= 2
    X, _ = blobs(seed=seed, n=150, k=3)
    assert structure_test(X, random_state=0).found
    assert structure_test(sparse.csr_matrix(X), random_state=0).found


# -- one opinion ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        [[0, 0, 1, 1, 2]],
        [[0, 0, 1, 1, 2]] * 20,
        [[0, 0, 1, 1, 2], [2, 2, 0, 0, 1], ["b", "b", "c", "c", "a"]],
        [[0, 0, 1, 1, 2], [-2] * 5],  # a failed member is no second opinion
    ],
    ids=["one column", "identical", "renamed", "failed"],
)
def test_one_opinion_claims_no_confidence(labels):
    with pytest.warns(OneOpinionWarning, match="No confidence is claimed, because"):
        model = ConsensusClustering(3, n_references=0, random_state=0).fit_ensemble(labels)
    assert np.isnan(model.confidence_).all()
    frame = model.to_frame()
    assert frame[["confidence", "runner_up", "runner_up_share"]].isna().all(axis=None)
    assert model.n_clusters_ == 3


def test_identical_members_of_a_generator_are_one_opinion():
    X, _ = blobs(seed=4, n=60, k=3)
    generator = EnsembleGenerator(20, algorithm="ward", n_clusters=3)
    with pytest.warns(OneOpinionWarning, match="the 20 partitions are the same"):
        model = ConsensusClustering(3, generator=generator, random_state=0).fit(X)
    assert np.isnan(model.confidence_).all()


def test_warnings_point_at_the_line_of_the_user():
    with pytest.warns(OneOpinionWarning) as one:
        ConsensusClustering(2).fit_ensemble([[0, 0, 1, 1]])
    X = make_no_structure(200, 2, random_state=0)
    model = ConsensusClustering(3, generator="random_k", n_partitions=10, random_state=0)
    with pytest.warns(NoStructureWarning) as none:
        model.fit(X)
    assert [w.filename for w in (*one, *none)] == [__file__] * 2


def test_two_opinions_are_enough():
    model = ConsensusClustering(2, random_state=0).fit_ensemble([[0, 0, 1, 1], [0, 0, 0, 1]])
    assert np.isfinite(model.confidence_).all()


# -- what is given as features --------------------------------------------------------------------


def test_names_are_looked_up_when_they_are_checked(monkeypatch):
    class Later(EAC):
        pass

    entry = next(iter(METHODS.values()))
    changed = type(entry)(**{**vars(entry), "name": "later", "estimator": Later})
    with pytest.raises(ValueError, match="consensus must be one of"):
        ConsensusClustering(2, consensus="later").fit_ensemble([[0, 0, 1], [0, 1, 1]])
    monkeypatch.setitem(METHODS, "later", changed)
    model = ConsensusClustering(2, consensus="later").fit_ensemble([[0, 0, 1], [0, 1, 1]])
    assert type(model.consensus_) is Later


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("k", [None, 1])
def test_one_point_is_one_cluster(preset, k):
    model = ConsensusClustering(k, generator=preset, n_partitions=3, random_state=0)
    assert model.fit([[1.0, 2.0]]).labels_.tolist() == [0]
    with pytest.raises(ValueError, match="n_clusters=2 is more than the 1 samples"):
        clone(model).set_params(n_clusters=2).fit([[1.0, 2.0]])


@pytest.mark.parametrize("n", [2, 8])
def test_few_points_are_enough_for_every_preset_by_name(n):
    X = np.random.default_rng(0).normal(size=(n, 2))
    for preset in PRESETS:
        settings = {"n_partitions": 3, "n_references": 0, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = ConsensusClustering(2, generator=preset, **settings).fit(X)
        assert model.labels_.shape == (n,)


def test_groups_in_one_scaled_column_are_structure():
    rng = np.random.default_rng(1)
    X = np.c_[10.0 * np.repeat([0, 1], 100) + rng.normal(size=200), rng.normal(size=(200, 3))]
    assert structure_test(StandardScaler().fit_transform(X), random_state=0).found


def test_steps_of_counts_and_one_wild_point_are_no_structure():
    rng = np.random.default_rng(1)
    assert not structure_test((rng.random((300, 8)) < 0.1) * 1.0, random_state=0).found
    cloud = np.r_[rng.normal(size=(400, 2)), [[50.0, 50.0]]]
    assert not structure_test(cloud, random_state=0).found


@pytest.mark.parametrize(
    ("algorithms", "metric"), [(["cosine", "genie"], "cosine"), (["kmeans", "genie"], "euclidean")]
)
def test_answers_are_compared_by_angles_where_members_are(algorithms, metric):
    X = np.abs(np.random.default_rng(0).normal(size=(40, 3)))
    generator = EnsembleGenerator(6, algorithm=algorithms, n_clusters=3, random_state=0)
    assert generator.distance == metric
    ensemble = generator.generate(X)
    assert choose_method(ensemble, 3).options == {"metric": metric}
    assert any(record.compares_angles for record in ensemble.records) == (metric == "cosine")


def test_without_constraints_none_are_looked_at(monkeypatch):
    def refused(*args: object, **named: object) -> None:
        raise AssertionError("constraints were looked at")

    monkeypatch.setattr("clusterscape.model.constraints_of", refused)
    monkeypatch.setattr("clusterscape.model.weighed", refused)
    model = ConsensusClustering(2).fit_ensemble([[0, 0, 1, 1, 1], [0, 0, 0, 1, 1]])
    seen = model.violations_
    assert (seen.count, seen.satisfied, seen.total_weight) == (0, 1.0, 0.0)
    assert seen.must_pairs.shape == seen.cannot_pairs.shape == (0, 2)
