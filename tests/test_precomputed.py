"""Members from distances and similarities: the same answers as from features, where both exist."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import get_tags

from clusterscape import ConsensusClustering
from clusterscape.combine import LWGP
from clusterscape.generate import (
    ALGORITHMS,
    EnsembleGenerator,
    Kind,
    diverse_precomputed,
    precomputed,
)
from clusterscape.linalg.relation import read_relation


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(160, noise=0.06, random_state=0)
    return X, y, squareform(pdist(X))


def one(D, algorithm, k=2, metric="precomputed", **options):
    options = {"random_state": 0, "n_init": 5, "metric": metric, **options}
    ensemble = EnsembleGenerator(1, algorithm=algorithm, n_clusters=k, **options).generate(D)
    assert not ensemble.failures
    return ensemble.labels[:, 0]


@pytest.mark.parametrize("name", ["single", "average", "complete"])
@pytest.mark.parametrize("k", [1, 2, 7, 160])
def test_linkages_are_those_of_scipy(moons, name, k):
    expected = fcluster(linkage(squareform(moons[2]), name), k, "maxclust")
    assert adjusted_rand_score(one(moons[2], name, k), expected) == 1.0


@pytest.mark.parametrize("name", ["genie", "spectral", "kmedoids"])
def test_the_same_members_as_from_features(moons, name):
    X, _, D = moons
    settings = {"reachability": 3} if name == "genie" else {}
    kind = Kind(name, 5, settings=settings)
    assert adjusted_rand_score(one(D, kind), one(X, kind, metric=None)) > 0.99


@pytest.mark.parametrize("name", sorted(precomputed.FORMS))
def test_every_kind_clusters_distances_and_similarities(name):
    X, y = make_blobs(120, centers=[[0, 0], [4, 0], [0, 4]], cluster_std=0.4, random_state=4)
    D = cdist(X, X)
    S = np.exp(-4 * (D / D.mean()) ** 2)
    kind = Kind(name, 3, settings={"n_landmarks": 60} if name == "landmark_spectral" else {})
    # Points at the border of a blob are noise to the last two.
    assert adjusted_rand_score(one(D, kind), y) > (0.7 if "dbscan" in name else 0.95)
    if name not in ("dbscan", "hdbscan"):  # their radius depends on how similarities are spread
        assert adjusted_rand_score(one(S, kind, metric="precomputed_affinity"), y) > 0.95


@pytest.mark.parametrize("name", ["genie", "spectral", "single"])
def test_a_graph_of_neighbours_is_enough(moons, name):
    X, y, _ = moons
    graph = kneighbors_graph(X, 12, mode="distance")
    kind = Kind(name, 2, settings={"n_neighbors": 8} if name == "spectral" else {})
    assert adjusted_rand_score(one(graph, kind), y) > 0.9
    strength = graph.copy()
    strength.data = np.exp(-strength.data)
    assert adjusted_rand_score(one(strength, kind, metric="precomputed_affinity"), y) > 0.9


def test_spectral_members_of_an_affinity_are_its_spectral_clustering():
    X, _ = make_blobs(90, centers=4, cluster_std=1.5, random_state=2)
    S = np.exp(-cdist(X, X, "sqeuclidean") / 8)
    kind = Kind("spectral", 4, settings={"n_neighbors": 90})
    theirs = SpectralClustering(4, affinity="precomputed", n_init=20, random_state=0).fit(S)
    found = one(S, kind, metric="precomputed_affinity")
    assert adjusted_rand_score(found, theirs.labels_) > 0.9


def test_subsampled_members_see_rows_and_columns_of_their_points(moons):
    _, _, D = moons
    settings = {"random_state": 0, "metric": "precomputed"}
    for rows in (("subsample", 0.5), "bootstrap"):
        generator = EnsembleGenerator(3, algorithm="average", n_clusters=4, rows=rows, **settings)
        ensemble = generator.generate(D)
        for labels in ensemble.labels.T:
            seen = np.flatnonzero(labels >= 0)
            assert 0 < seen.size < 160
            assert len(np.unique(labels[seen])) == 4
            if rows != "bootstrap":
                own = linkage(squareform(D[np.ix_(seen, seen)]), "average")
                assert adjusted_rand_score(labels[seen], fcluster(own, 4, "maxclust")) == 1.0


def test_scikit_learn_clusterers_take_the_matrix_as_it_is(moons):
    D = moons[2]
    ward = AgglomerativeClustering(metric="precomputed", linkage="complete")
    assert adjusted_rand_score(one(D, ward, 3), one(D, "complete", 3)) == 1.0
    assert len(set(one(D, DBSCAN(eps=0.2, metric="precomputed")))) > 1


def test_the_diverse_preset_and_a_consensus_of_it(moons):
    X, y, D = moons
    made = [diverse_precomputed(24, n_clusters=2, random_state=0, n_jobs=j) for j in (1, 2)]
    first, second = (generator.generate(D) for generator in made)
    assert first == second
    assert not first.failures
    names = {record.algorithm for record in first.records}
    assert names == {"spectral", "genie", "kmedoids", "average"}
    assert adjusted_rand_score(LWGP(2, random_state=0).fit_predict(first), y) > 0.9
    graph = kneighbors_graph(X, 15, mode="distance")
    ensemble = diverse_precomputed(12, n_clusters=2, graph=True, random_state=0).generate(graph)
    assert not ensemble.failures
    assert {record.algorithm for record in ensemble.records} == {"spectral", "genie"}


def test_a_store_knows_the_matrix(moons, tmp_path):
    D = moons[2]
    settings = {"algorithm": "kmedoids", "n_clusters": 3, "random_state": 0}
    settings |= {"metric": "precomputed", "store": tmp_path / "s"}
    first, again = (EnsembleGenerator(2, **settings).generate(D) for _ in range(2))
    assert first == again
    with pytest.raises(ValueError, match="another run"):
        EnsembleGenerator(2, **settings).generate(2 * D)


def test_kmedoids_on_features_takes_weights_and_sparse_rows():
    X, y = make_blobs(80, centers=3, cluster_std=0.3, random_state=0)
    for rows in (X, sparse.csr_matrix(X)):
        assert adjusted_rand_score(one(rows, "kmedoids", 3, metric=None), y) == 1.0
    assert ALGORITHMS["kmedoids"].weights
    medoids = EnsembleGenerator(1, algorithm="kmedoids", n_clusters=1, random_state=0).generate(
        np.arange(5.0)[:, None], sample_weight=[9, 1, 1, 1, 1]
    )
    assert medoids.records[0].params["medoids"] == (0,)


@pytest.mark.parametrize("name", sorted(set(ALGORITHMS) - set(precomputed.FORMS)))
def test_what_needs_features_says_so(moons, name):
    with pytest.raises(ValueError, match="needs features.*diverse_precomputed"):
        one(moons[2], name)


def test_wrong_input_is_refused(moons):
    X, _, D = moons
    skew = D.copy()
    skew[0, 1] += 1.0
    own = D + np.eye(160)
    for wrong, sentence in [
        (X, "square matrix"),
        (skew, "symmetric"),
        (own, "zeros on the diagonal.*precomputed_affinity"),
        (-D, ">= 0"),
        (sparse.csr_matrix(skew), r"\(i, j\) and \(j, i\)"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            one(wrong, "average")
    with pytest.raises(ValueError, match="all pairs"):
        one(kneighbors_graph(X, 5, mode="distance"), "kmedoids")
    with pytest.raises(ValueError, match="columns="):
        one(D, "average", columns=("subset", 0.5))
    with pytest.raises(ValueError, match="leave 'metric' out"):
        one(D, Kind("genie", 2, settings={"metric": "cosine"}))
    with pytest.raises(ValueError, match="KMeans would take X for features"):
        one(D, KMeans(2))
    with pytest.raises(ValueError, match="metric must be"):
        one(D, "average", metric="distances")


def test_a_graph_in_pieces_cannot_have_fewer_clusters():
    D = sparse.block_diag([np.ones((4, 4)) - np.eye(4)] * 3, format="csr")
    generator = EnsembleGenerator(1, algorithm="single", n_clusters=2, metric="precomputed")
    with pytest.raises(ValueError, match="3 pieces"):
        generator.generate(D)
    assert len(set(one(D, "single", 3))) == 3


def test_equal_points_of_a_graph_stay_neighbours():
    rows, ends = [0, 1, 2, 3], [1, 2, 3, 4]
    D = sparse.csr_matrix(([0.0, 1.0, 0.0, 5.0], (rows, ends)), shape=(5, 5))
    relation = read_relation(D)
    assert relation.matrix.nnz == 8
    assert one(D, "single", 3).tolist() in ([0, 0, 1, 1, 2], [1, 1, 0, 0, 2])


def test_consensus_clustering_from_distances_similarities_and_graphs(moons):
    X, y, D = moons
    settings = {"n_partitions": 30, "random_state": 0}
    model = ConsensusClustering(2, metric="precomputed", **settings).fit(D)
    assert adjusted_rand_score(model.labels_, y) > 0.9
    assert model.structure_ is None
    assert get_tags(model).input_tags.pairwise
    new = X[:20] + 0.01
    assert np.array_equal(model.predict(cdist(new, X)), model.labels_[:20])
    with pytest.raises(ValueError, match="one column per point"):
        model.predict(D[:, :3])
    alike = ConsensusClustering(2, metric="precomputed_affinity", **settings).fit(np.exp(-5 * D))
    assert adjusted_rand_score(alike.labels_, y) > 0.9
    assert np.array_equal(alike.predict(np.exp(-cdist(new, X))), alike.labels_[:20])
    graph = kneighbors_graph(X, 12, mode="distance")
    linked = ConsensusClustering(2, metric="precomputed", **settings).fit(graph)
    assert adjusted_rand_score(linked.labels_, y) > 0.9


@pytest.mark.parametrize("metric", ["precomputed", "precomputed_affinity"])
def test_new_points_of_a_graph_join_the_nearest_that_is_stored(moons, metric):
    X, _, D = moons
    graph = kneighbors_graph(X, 12, mode="distance")
    if metric == "precomputed_affinity":
        graph.data = np.exp(-5 * graph.data)
    model = ConsensusClustering(2, metric=metric, n_partitions=20, random_state=0).fit(graph)
    new = X[:30] + 0.01
    near = np.sort(np.argsort(cdist(new, X), axis=1)[:, :5], axis=1)
    lengths = np.take_along_axis(cdist(new, X), near, axis=1)
    strengths = lengths if metric == "precomputed" else np.exp(-5 * lengths)
    ends = np.arange(0, near.size + 1, 5)
    links = sparse.csr_matrix((strengths.ravel(), near.ravel(), ends), shape=(30, len(X)))
    expected = model.labels_[near[np.arange(30), lengths.argmin(axis=1)]]
    for form in (links, links.tocsc(), links[:, ::-1][:, ::-1]):
        assert np.array_equal(model.predict(form), expected)
    assert np.array_equal(model.predict(sparse.csr_matrix((2, len(X)))), [-1, -1])
    touching = sparse.csr_matrix(([0.0, 1.0], ([0, 0], [3, 4])), shape=(1, len(X)))
    nearest = 3 if metric == "precomputed" else 4  # a stored zero is a distance, too
    assert model.predict(touching)[0] == model.labels_[nearest]
    with pytest.raises(ValueError, match="one column per point"):
        model.predict(links[:, :7])


def test_consensus_clustering_from_distances_chooses_k_and_refuses_presets_of_features():
    X, y = make_blobs(90, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    D = cdist(X, X)
    own = EnsembleGenerator(10, algorithm=["average", "kmedoids"], n_clusters=(3, 9))
    for generator in ("diverse", own):
        model = ConsensusClustering(
            generator=generator, metric="precomputed", n_partitions=30, random_state=0
        ).fit(D)
        assert model.n_clusters_ == 3
        assert adjusted_rand_score(model.labels_, y) == 1.0
    with pytest.raises(ValueError, match="from features"):
        ConsensusClustering(2, generator="bagging", metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="needs features"):
        ConsensusClustering(2, generator=EnsembleGenerator(3), metric="precomputed").fit(D)


@pytest.mark.parametrize("kind", ["distance", "affinity"])
def test_constant_matrices_are_refused(kind):
    same = np.full((5, 5), 2.0) - (2.0 * np.eye(5) if kind == "distance" else 0.0)
    with pytest.raises(ValueError, match="tells no points apart: all .* are 2"):
        read_relation(same, kind=kind)
    read_relation(same[:2, :2], kind=kind)  # one pair is all there is


def test_distances_given_for_similarities_are_noticed():
    X = np.random.default_rng(0).normal(size=(40, 2))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    with pytest.warns(UserWarning, match="looks like distances"):
        read_relation(D, kind="affinity")
    near = np.exp(-(D**2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_relation(near, kind="affinity")
        read_relation(near - np.eye(40), kind="affinity")  # without the points themselves
        read_relation((D < 1.0) - np.eye(40), kind="affinity")  # a graph


@pytest.mark.parametrize("metric", ["precomputed", "precomputed_affinity"])
def test_masked_matrices_are_refused(moons, metric):
    D = np.ma.masked_array(moons[2] if metric == "precomputed" else np.exp(-moons[2]))
    assert one(D, "average", metric=metric).size == 160  # nothing is masked
    D[3, 5] = np.ma.masked
    with pytest.raises(ValueError, match=r"X has 1 masked (distances|similarities).*filled"):
        one(D, "average", metric=metric)
    with pytest.raises(ValueError, match="X has 1 masked"):
        ConsensusClustering(2, n_partitions=5, metric=metric).fit(D)
