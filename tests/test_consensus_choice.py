"""The choice between two consensuses by the near neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from clusterscape import ConsensusClustering, Ensemble
from clusterscape.combine import LWGP, NeighborChoice, choose_method
from clusterscape.generate import diverse


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.06, random_state=1)
    return X, y, diverse(60, n_clusters=2, random_state=0).generate(X)


def share_of_separated_neighbors(X, labels, count):
    """The definition, point by point."""
    near = NearestNeighbors(n_neighbors=count).fit(X).kneighbors(return_distance=False)
    shares = []
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        apart = [np.mean([labels[j] != cluster for j in near[i]]) for i in members]
        shares.append(np.mean(apart))
    return np.mean(shares)


def test_the_candidate_that_separates_fewer_neighbors_is_taken(moons):
    X, y, ensemble = moons
    model = NeighborChoice(2, random_state=0).fit(ensemble, features=X)
    finer = ensemble.select(np.flatnonzero(ensemble.n_clusters > 2))
    equal = ensemble.select(np.flatnonzero(ensemble.n_clusters == 2))
    assert set(model.candidates_) == {"finer", "equal"}
    for name, part in (("finer", finer), ("equal", equal)):
        labels = LWGP(2, random_state=0).fit(part).labels_
        if adjusted_rand_score(labels, model.labels_) == 1.0:
            expected = share_of_separated_neighbors(X, labels, 10)
            assert model.candidates_[name] == pytest.approx(expected, abs=1e-12)
    assert model.candidates_[model.chosen_] == min(model.candidates_.values()) == model.cost_
    assert adjusted_rand_score(model.labels_, y) == 1.0


def test_without_features_or_with_one_group_all_partitions_are_combined(moons):
    X, _, ensemble = moons
    without = NeighborChoice(2, random_state=0).fit(ensemble)
    assert (without.chosen_, without.agreement_, without.cost_) == ("all", None, None)
    few = ensemble.select(np.flatnonzero(ensemble.n_clusters > 2))
    assert NeighborChoice(2, random_state=0).fit(few, features=X).chosen_ == "all"


def test_points_that_a_group_did_not_see_are_not_lost(moons):
    X, _, ensemble = moons
    labels = ensemble.labels.astype(int).copy()
    labels[5, ensemble.n_clusters > 2] = -2
    cut = Ensemble.from_labels(labels, orient="columns")
    model = NeighborChoice(2, random_state=0).fit(cut, features=X)
    assert model.chosen_ == "all"
    assert (model.labels_ >= 0).all()


def test_many_points_are_judged_by_a_sample():
    X, y = make_blobs(3000, centers=3, cluster_std=0.5, random_state=0)
    ensemble = diverse(24, n_clusters=3, random_state=0).generate(X)
    model = NeighborChoice(3, max_points=400, random_state=0).fit(ensemble, features=X)
    again = NeighborChoice(3, max_points=400, random_state=0).fit(ensemble, features=X)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    assert adjusted_rand_score(model.labels_, y) > 0.9


def test_auto_takes_it_for_members_of_several_kinds(moons):
    X, y, ensemble = moons
    assert choose_method(ensemble, 2).name == "neighbor_choice"
    model = ConsensusClustering(2, generator="diverse", n_partitions=40, random_state=0).fit(X)
    assert model.consensus_choice_.name == "neighbor_choice"
    assert adjusted_rand_score(model.labels_, y) == 1.0
    assert adjusted_rand_score(model.predict(X), model.labels_) == 1.0
