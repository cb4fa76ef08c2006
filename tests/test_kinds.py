"""Members of several kinds: what a kind draws, what members share, and the preset of kinds."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from clusterscape.generate import ALGORITHMS, PRESETS, EnsembleGenerator, Kind, diverse
from clusterscape.generate.algorithms import Pieces
from clusterscape.generate.kinds import one_round
from clusterscape.linalg import genie as genie_module
from clusterscape.linalg import mst as mst_module


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


def test_spectral_members_agree_with_scikit_learn(moons):
    X, y = make_blobs(200, centers=4, cluster_std=1.2, random_state=3)
    kind = Kind("spectral", 4)
    found = EnsembleGenerator(1, algorithm=kind, n_init=5, random_state=0).generate(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the graph is not connected
        theirs = SpectralClustering(
            4, affinity="nearest_neighbors", n_neighbors=10, random_state=0
        ).fit_predict(X)
    assert adjusted_rand_score(found.labels[:, 0], y) >= adjusted_rand_score(theirs, y) - 0.02


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
    assert min(sought) == 2
    assert (sought.count(2) >= 10) == (n_clusters == 2)


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
