"""Members of several kinds: what a kind draws, what members share, and the preset of kinds."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from clusterscape import ConsensusClustering
from clusterscape.combine import LWGP
from clusterscape.generate import (
    ALGORITHMS,
    PRESETS,
    EnsembleGenerator,
    Kind,
    diverse,
    generator_for,
    usenc,
)
from clusterscape.generate.algorithms import Pieces
from clusterscape.generate.kinds import one_round, turns_of
from clusterscape.linalg import genie as genie_module
from clusterscape.linalg import mst as mst_module
from clusterscape.linalg.kmeans import kmeans


@pytest.fixture
def moons():
    return make_moons(150, noise=0.06, random_state=0)


def test_each_member_draws_its_settings_and_its_number_of_clusters(moons):
    kinds = [
        Kind("genie", (2, 6), 2, {"gini_threshold": (0.1, 0.7), "reachability": (1, 4)}),
        Kind("spectral", 3, 1, {"n_neighbors": [5, 9]}),
    ]
    ensemble = EnsembleGenerator(30, algorithm=kinds, random_state=0).generate(moons[0])
    names = [record.algorithm for record in ensemble.records]
    assert names[:3] == ["genie", "spectral", "genie"]
    trees = [r.params for r in ensemble.records if r.algorithm == "genie"]
    assert {p["reachability"] for p in trees} == {1, 2, 3, 4}
    assert all(0.1 <= p["gini_threshold"] <= 0.7 for p in trees)
    assert len({p["gini_threshold"] for p in trees}) == len(trees)
    assert {p["n_clusters"] for p in trees} == {2, 3, 4, 5, 6}
    graphs = [r.params for r in ensemble.records if r.algorithm == "spectral"]
    assert {p["n_neighbors"] for p in graphs} == {5, 9}
    assert {p["n_clusters"] for p in graphs} == {3}


def test_a_range_of_a_kind_ends_at_half_the_points():
    X = np.arange(12.0)[:, None]
    kinds = [Kind("genie", (2, 50))]
    ensemble = EnsembleGenerator(40, algorithm=kinds, random_state=0).generate(X)
    assert not ensemble.failures
    assert ensemble.n_clusters.max() == 6


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"algorithm": "kmeanz"}, "algorithm must be"),
        ({"algorithm": "genie", "settings": {"gini": 0.3}}, "genie has no option 'gini'"),
        ({"algorithm": "genie", "settings": {"gini_threshold": 2.0}}, "gini_threshold must be"),
        ({"algorithm": "genie", "settings": {"gini_threshold": (0.5, 0.1)}}, "ends below"),
        ({"algorithm": "genie", "settings": {"gini_threshold": []}}, r"gini_threshold=\[\] leaves"),
        ({"algorithm": "spectral", "settings": {"n_neighbors": [5, 0]}}, "n_neighbors must be"),
        ({"algorithm": "kmeans", "settings": {"n_init": 3}}, "it has none"),
        ({"algorithm": "kmeans", "n_clusters": 0}, "n_clusters must be"),
        ({"algorithm": "kmeans", "share": 0}, "share must be"),
    ],
)
def test_wrong_kinds_are_refused(wrong, sentence):
    with pytest.raises(ValueError, match=sentence):
        Kind(**wrong)


def test_turns_of_a_round_are_even():
    assert one_round([1, 1, 1]) == [0, 1, 2]
    assert sorted(one_round([4, 4, 2, 1])) == [0] * 4 + [1] * 4 + [2] * 2 + [3]
    assert one_round([3, 1]) == [0, 0, 1, 0]


def test_settings_follow_the_number_of_the_member_and_no_seed():
    kind = Kind("genie", (2, 6), settings={"reachability": [1, 3], "gini_threshold": (0.1, 0.7)})
    turn = turns_of([kind])[0]
    assert len({turn.settings(i)["gini_threshold"] for i in range(8)}) == 8
    made = [
        EnsembleGenerator(4, algorithm=[kind], random_state=seed).generate(np.eye(12))
        for seed in (0, np.random.SeedSequence(5, spawn_key=(7, 9)))
    ]
    for ensemble in made:
        drawn = [record.params["gini_threshold"] for record in ensemble.records]
        assert drawn == [turn.settings(i)["gini_threshold"] for i in range(4)]


def test_members_share_spanning_trees_and_a_piece_is_made_once(moons, monkeypatch):
    made = []
    real = mst_module.spanning_tree

    def counted(X, **options):
        made.append(options["reachability"])
        return real(X, **options)

    monkeypatch.setattr(mst_module, "spanning_tree", counted)
    kinds = [Kind("genie", (2, 6), settings={"reachability": [1, 3]})]
    EnsembleGenerator(12, algorithm=kinds, random_state=0, n_jobs=2).generate(moons[0])
    assert sorted(made) == [1, 3]
    pieces, calls = Pieces(), []
    assert [pieces.get("a", lambda: calls.append(1) or 7) for _ in range(3)] == [7, 7, 7]
    assert calls == [1]


def test_genie_members_are_cuts_of_the_hierarchy(moons):
    X = moons[0]
    kind = Kind("genie", 2, settings={"gini_threshold": 0.3, "reachability": 3})
    found = EnsembleGenerator(1, algorithm=kind, random_state=0).generate(X).labels[:, 0]
    tree = mst_module.spanning_tree(X, reachability=3)
    expected = genie_module.genie(tree, gini_threshold=0.3).labels(2)
    assert adjusted_rand_score(found, expected) == 1.0
    assert adjusted_rand_score(found, moons[1]) == 1.0


def test_spectral_members_use_the_eigenvectors_of_the_normalised_graph(moons, monkeypatch):
    X, given = moons[0], []

    def heard(rows, *args, **options):
        given.append(rows)
        return kmeans(rows, *args, **options)

    monkeypatch.setattr("clusterscape.generate.algorithms.kmeans", heard)
    kind = Kind("spectral", 3, settings={"n_neighbors": 25})
    EnsembleGenerator(1, algorithm=kind, random_state=0).generate(X)
    # The graph of the 25 nearest, the point itself among them, and D^-1 W's eigenvectors.
    near = np.argsort(cdist(X, X), axis=1)[:, :25]
    links = np.zeros((150, 150))
    np.put_along_axis(links, near, 1.0, axis=1)
    W = (links + links.T) / 2
    values, vectors = eigh(W, np.diag(W.sum(axis=1)))
    assert values[-2] < 1 - 1e-3  # connected, so each vector is unique up to its sign
    expected = vectors[:, [-1, -2, -3]]
    signs = np.sign((given[0] * expected).sum(axis=0))
    np.testing.assert_allclose(given[0] * signs, expected, atol=1e-7)


def test_spectral_members_are_no_worse_than_scikit_learn(moons):
    X, y = make_blobs(200, centers=4, cluster_std=1.2, random_state=3)
    kind = Kind("spectral", 4)
    found = EnsembleGenerator(1, algorithm=kind, n_init=5, random_state=0).generate(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph is not connected
        theirs = SpectralClustering(
            4, affinity="nearest_neighbors", n_neighbors=10, random_state=0
        ).fit_predict(X)
    assert adjusted_rand_score(found.labels[:, 0], y) >= adjusted_rand_score(theirs, y) - 0.02


def test_options_of_landmark_spectral_are_used(moons):
    X = moons[0] + 3.0  # on one side of the origin, where angles tell little

    def found(X, **settings):
        kind = Kind("landmark_spectral", 2, settings={"n_landmarks": 40, **settings})
        return EnsembleGenerator(1, algorithm=kind, random_state=0).generate(X).labels[:, 0]

    assert adjusted_rand_score(found(X), found(X, nearest=12)) < 0.9
    lengths = np.random.default_rng(0).uniform(0.2, 5.0, (150, 1))
    far = [found(X * scale, metric="cosine") for scale in (1.0, lengths)]
    assert adjusted_rand_score(*far) == 1.0  # only angles count
    assert adjusted_rand_score(found(X), far[0]) < 0.9
    many = make_blobs(150, centers=12, random_state=0)[0]
    started = [
        EnsembleGenerator(
            1,
            algorithm=Kind("landmark_spectral", 12, settings={"n_landmarks": 40, "init": init}),
            max_iter=1,
            random_state=0,
        ).generate(many).labels[:, 0]
        for init in ("k-means++", "plain-k-means++", "random")
    ]  # fmt: skip
    for one, other in itertools.combinations(started, 2):
        assert adjusted_rand_score(one, other) < 0.95


@pytest.mark.parametrize("name", ["landmark_spectral", "genie", "spectral"])
def test_kinds_that_follow_shapes_find_the_moons(moons, name):
    X, y = moons
    kind = Kind(name, 2, settings={"n_neighbors": 8} if name == "spectral" else {})
    found = EnsembleGenerator(1, algorithm=kind, n_init=5, random_state=0).generate(X)
    assert adjusted_rand_score(found.labels[:, 0], y) > 0.9


def test_mixtures_of_wide_data_use_leading_components():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 300)) + 2.0 * y[:, None]
    kind = Kind("gmm", 2, settings={"columns": "auto", "covariance": ["full", "diag"]})
    ensemble = EnsembleGenerator(4, algorithm=kind, random_state=0).generate(X)
    assert not ensemble.failures
    assert all(adjusted_rand_score(labels, y) == 1.0 for labels in ensemble)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("n_clusters", [None, 2])
def test_diverse_members_are_the_same_for_any_number_of_workers(moons, n_clusters, metric):
    generator = diverse(30, n_clusters=n_clusters, metric=metric, random_state=1)
    X = moons[0] + 3.0
    one, two = (generator.set_params(n_jobs=jobs).generate(X) for jobs in (1, 2))
    assert one == two
    assert not one.failures
    sought = [r.params["n_clusters"] for r in one.records]
    assert min(sought) <= 3
    assert (sought.count(2) >= 7) == (n_clusters == 2)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_what_members_of_diverse_are_drawn_from(metric):
    fine = diverse(metric=metric).algorithm
    known = diverse(n_clusters=5, metric=metric).algorithm
    for kind in (*fine, *known):
        exact = kind.n_clusters == 5
        if kind.algorithm == "spectral":
            assert kind.settings == {"n_neighbors": [5, 7, 10, 15], "metric": metric}
            assert exact or kind.n_clusters in [(2, 20), (10, "sqrt"), (5, 25)]
        if kind.algorithm == "genie":
            gini = (0.1, 0.5) if exact or kind.n_clusters == (2, 20) else (0.1, 0.7)
            tree = {"gini_threshold": gini, "reachability": (1, 7), "metric": metric}
            assert kind.settings == tree
            assert exact or kind.n_clusters in [(2, "sqrt"), (2, 20), (5, "sqrt")]
        if kind.algorithm == "gmm":
            assert kind.settings["covariance"] == ["full", "full", "diag", "tied"]
            assert exact or kind.n_clusters in [(2, 12), (5, 12)]
    assert [kind.share for kind in fine] == [6, 3, 5, 2, 3, 1]
    assert [kind.share for kind in known] == [4, 4, 3, 4, 1, 1, 2, 1]
    assert [kind.n_clusters == 5 for kind in known] == [False] * 4 + [True] * 4


@pytest.mark.parametrize(
    ("n", "d", "wide"), [(90, 20_000, True), (5_000, 1_000, True), (150, 160, True)]
    + [(90, 95, False), (500, 400, False), (30_000, 999, False), (6, 2_000, False)],
)  # fmt: skip
def test_half_of_the_members_of_wide_tables_see_principal_components(n, d, wide):
    for k in (None, 3):
        kinds = diverse(n_clusters=k, n_points=n, n_features=d).algorithm
        seen = {kind.algorithm: kind.columns for kind in kinds}
        half = ["all"] * 3 + [("pca", 5), ("pca", 10), ("pca", 20)]
        expected = half if wide else None
        assert seen == {"spectral": expected, "genie": expected, "kmeans": expected, "gmm": None}
    assert diverse(n_clusters=3, n_points=12, n_features=500).algorithm[0].columns == [
        *["all"] * 2, ("pca", 5), ("pca", 10),
    ]  # fmt: skip
    assert (
        diverse(n_clusters=3, n_points=90, n_features=d, metric="cosine").algorithm[0].columns
        is None
    )


def test_wide_tables_are_clustered_in_components_and_predicted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 600))
    y = np.repeat(np.arange(3), 30)
    X[:, :30] += rng.normal(size=(3, 30))[y] * 1.5
    model = ConsensusClustering(3, n_partitions=40, n_references=0, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.95
    seen = [str(record.params.get("columns")) for record in model.ensemble_.records]
    assert {"None", "('pca', 5)", "('pca', 10)"} <= set(seen)
    assert adjusted_rand_score(y, model.predict(X)) > 0.95
    chosen = ConsensusClustering(n_partitions=40, n_references=0, random_state=0).fit(X)
    assert chosen.n_clusters_ == 3
    added = chosen.ensemble_.records[40:]
    assert any(record.params.get("columns") for record in added)


def test_diverse_is_a_preset_and_survives_a_store(moons, tmp_path):
    assert "diverse" in PRESETS
    made = [
        diverse(8, n_clusters=2, random_state=0, store=tmp_path / "s").generate(moons[0])
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_a_store_of_other_settings_is_refused(moons, tmp_path):
    kind = Kind("genie", 2, settings={"gini_threshold": 0.3})
    EnsembleGenerator(2, algorithm=kind, store=tmp_path / "s", random_state=0).generate(moons[0])
    other = Kind("genie", 2, settings={"gini_threshold": 0.4})
    with pytest.raises(ValueError, match="another run"):
        EnsembleGenerator(2, algorithm=other, store=tmp_path / "s", random_state=0).generate(
            moons[0]
        )


def test_every_option_says_what_it_does():
    for algorithm in ALGORITHMS.values():
        for option in algorithm.options.values():
            assert option.summary
            assert any(rule.allows(option.default) for rule in option.rules)


@pytest.mark.parametrize(
    ("n_points", "k", "expected"),
    [
        (900, 3, (30, 60)),
        (20_000, 3, (100, 200)),
        (40_000, 3, (64, 128)),  # labels of one byte
        (40_000, 300, (300, 300)),
        (20, 8, (8, 10)),
        (10, 2, (4, 8)),
        (3, 3, (3, 4)),
    ],
)
def test_fine_kmeans_members_follow_the_number_of_points(n_points, k, expected):
    kinds = diverse(20, n_clusters=k, n_points=n_points).algorithm
    fine = [kind for kind in kinds if kind.algorithm == "kmeans" and kind.n_clusters != k]
    assert [kind.n_clusters for kind in fine] == [expected]


def test_diverse_members_of_tiny_data_do_not_fail():
    X = np.arange(10.0)[:, None]
    made = generator_for(10, 1, preset="diverse", n_partitions=20, n_clusters=3)
    assert not made.set_params(random_state=0).generate(X).failures


def test_members_reach_as_many_clusters_as_are_looked_for():
    assert [kind.n_clusters for kind in diverse(max_clusters=5).algorithm] == [
        kind.n_clusters for kind in diverse().algorithm
    ]
    for made in (
        diverse(max_clusters=45),
        generator_for(3000, 2, max_clusters=45),
        ConsensusClustering(max_clusters=45).make_generator(3000, 2),
        ConsensusClustering((30, 45)).make_generator(3000, 2),
    ):
        wide = [kind.n_clusters for kind in made.algorithm if kind.n_clusters[1] != "sqrt"]
        assert sorted(wide) == [(2, 37), (2, 45), (2, 45), (2, 45)]


def test_settings_do_not_depend_on_the_seed_and_are_spread_evenly():
    kinds = [
        Kind("genie", (2, 6), 3, {"gini_threshold": (0.0, 1.0), "reachability": (1, 4)}),
        Kind("kmeans", (3, 12), 2),
    ]
    X = np.random.default_rng(0).normal(size=(60, 2))
    runs = [
        EnsembleGenerator(50, algorithm=kinds, random_state=seed).generate(X).records
        for seed in (0, 1)
    ]
    names = ("n_clusters", "gini_threshold", "reachability")
    first, second = ([[r.params.get(n) for n in names] for r in run] for run in runs)
    assert first == second
    trees = np.array([row for row in first if row[1] is not None])
    counts = np.bincount(trees[:, 0].astype(int), minlength=7)[2:]
    assert counts.min() >= 5  # 30 members over 5 numbers of clusters
    assert np.bincount(trees[:, 2].astype(int), minlength=5)[1:].min() >= 6
    gaps = np.diff(np.sort(np.r_[0.0, trees[:, 1], 1.0]))
    assert gaps.max() < 2 / 30
    plain = [row[0] for row in first if row[1] is None]
    assert sorted(set(plain)) == list(range(3, 13))


def test_usenc_members_draw_landmarks_and_numbers_of_clusters():
    X, y = make_moons(600, noise=0.05, random_state=0)
    ensemble = usenc(10, n_landmarks=60, random_state=0).generate(X)
    assert not ensemble.failures
    assert {r.algorithm for r in ensemble.records} == {"landmark_spectral"}
    sought = [r.params["n_clusters"] for r in ensemble.records]
    assert set(sought) <= set(range(20, 61))
    assert len(set(sought)) > 3
    assert {r.params["max_iter"] for r in ensemble.records} == {5}
    assert {r.params["init"] for r in ensemble.records} == {"plain-k-means++"}
    assert ensemble.n_distinct == 10
    same = usenc(10, n_clusters=20, n_landmarks=60, random_state=0).generate(X)
    assert same.n_distinct == 10  # landmarks are drawn anew
    labels = LWGP(2, weighting=None, random_state=0).fit_predict(ensemble)
    assert adjusted_rand_score(labels, y) == 1.0
    made = generator_for(600, 2, preset="usenc", n_clusters=40)
    assert made.algorithm.n_clusters == (20, 80)
    assert made.algorithm.settings["n_landmarks"] == 60
