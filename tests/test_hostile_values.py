"""Values at the edge of what numbers hold: refused or rescaled, never a crash, a warning or NaN."""

from __future__ import annotations

import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clusterscape import ConsensusClustering, Ensemble, EnsembleGenerator, linalg
from clusterscape._core.weights import computable_weights
from clusterscape.combine import (
    METHODS,
    RCE,
    SCA,
    BagClust,
    LiftHAC,
    MajorityVote,
    MedianPartition,
    consensus_scores,
    mean_coassociation,
)
from clusterscape.compare import (
    MEASURES,
    ami,
    contingency_table,
    ensemble_utility,
    mirkin,
    nmi,
    pairwise,
)
from clusterscape.datasets import bayes_accuracy, nearest_correlation
from clusterscape.explore import (
    Landscape,
    autocorrelation,
    effective_sample_size,
    kmeans_quality,
    separation_quality,
    split_rhat,
    weighted_kernel_quality,
)
from clusterscape.forest import kappa
from clusterscape.generate import generator_for
from clusterscape.io import write_labels
from clusterscape.lifting import components_for_error
from clusterscape.linalg.affinity import affinity
from clusterscape.preprocess import TopVariable
from clusterscape.semisupervised import (
    SCACS,
    cluster_entropy,
    member_scores,
    sphere_embedding,
    suggest_queries,
    support_vector_distances,
)
from clusterscape.semisupervised.landmarks import LandmarkRows
from clusterscape.validate import describe_clusters, sd_index, structure_test

PLAIN = sorted(name for name, method in METHODS.items() if method.features != "needed")


def fitted(name: str, ensemble: Ensemble):
    model = METHODS[name].estimator()
    known = {"n_clusters": 3, "random_state": 0}
    model.set_params(**{p: v for p, v in known.items() if p in model.get_params()})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(ensemble)


@pytest.mark.parametrize("name", PLAIN)
def test_weights_of_any_magnitude(name):
    labels = np.random.default_rng(0).integers(0, 3, (20, 4))
    ensemble = Ensemble.from_labels(labels)
    for weights in ([1e20, 1e-20, 1, 1], [1e50, 1e-50, 1, 1], [1e50] * 4, [1e-50] * 4):
        model = fitted(name, ensemble.with_weights(weights=weights))
        assert model.labels_.shape == (20,)
        assert model.cost_ is None or np.isfinite(model.cost_)
        # What is reported are the weights as they were given.
        np.testing.assert_array_equal(model.ensemble_.weights, weights)
    one = fitted(name, ensemble)
    same = fitted(name, ensemble.with_weights(weights=[2.0**160] * 4))
    np.testing.assert_array_equal(one.labels_, same.labels_)


@pytest.mark.parametrize("weight", [2e49, 1e-50])
def test_means_of_votes_take_weights_of_any_magnitude(weight):
    labels = np.random.default_rng(0).integers(0, 3, (20, 4))
    groups = np.repeat([0, 1], 10)
    one, heavy = (
        Ensemble.from_labels(labels).with_weights(weights=np.array([1.0, 2, 3, 4]) * unit)
        for unit in (1.0, weight)
    )
    np.testing.assert_allclose(
        mean_coassociation(heavy, groups), mean_coassociation(one, groups), rtol=1e-12
    )


@pytest.mark.parametrize("graph", [{"neighbors": 4}, {"landmarks": 10}])
@pytest.mark.filterwarnings("error")
def test_within_a_tiny_bandwidth_only_equal_points_are_linked(graph):
    X = np.repeat(np.arange(4.0), 3)[:, None]
    made = affinity(X, scale=1e-50, **graph)
    links = np.asarray(made @ np.eye(12))
    np.testing.assert_array_equal(links > 0, (X == X.T) & ~np.eye(12, dtype=bool))


def test_metis_takes_links_of_any_magnitude():
    code = """
import numpy as np
from scipy.sparse import csr_matrix
from clusterscape.linalg import partition_graph
rng = np.random.default_rng(0)
for dtype in (np.float32, np.float64):
    for low, high in ((-20, 20), (-35, 35)):
        A = np.triu(10.0 ** rng.uniform(low, high, (12, 12)), 1)
        cut = partition_graph(csr_matrix((A + A.T).astype(dtype)), 3)
        assert sorted(set(cut.labels.tolist())) == [0, 1, 2] and np.isfinite(cut.value)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]


def test_computable_weights_keep_ordinary_ones():
    plain = np.array([0.0, 1e-9, 3.0])
    assert computable_weights(plain) is plain
    large = np.array([3.0, 1.0, 7.0]) * 2.0**100
    np.testing.assert_array_equal(computable_weights(large), [0.75, 0.25, 1.75])  # not rounded


@pytest.mark.parametrize("name", [m.name for m in MEASURES.values() if not m.needs_features])
def test_soft_measures_stay_in_their_bounds_on_a_few_points(name, seed):
    measure, rng = MEASURES[name], np.random.default_rng(seed)
    for n in (1, 1, 2, 2, 3):
        for _ in range(8 if measure.soft else 0):
            a, b = rng.dirichlet(np.ones(3), size=n), rng.dirichlet(np.ones(2), size=n)
            b = b if rng.random() < 0.5 else rng.integers(0, 2, n)
            value = measure.function(a, b)
            low, high = measure.bounds
            assert np.isnan(value) or low - 1e-9 <= value <= high + 1e-9
            together = pairwise(Ensemble.from_labels([a, b]), name).matrices[name][0, 1]
            assert value == pytest.approx(together, abs=1e-12, nan_ok=True)


def test_copies_of_a_point_are_in_one_cluster_of_the_majority(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        labels = rng.integers(-2, 3, (7, 4))
        labels[labels == -1] = 0
        labels[(labels == -2).all(axis=1)] = 0
        found = MajorityVote().fit_predict(np.vstack([labels, labels]))
        np.testing.assert_array_equal(found[:7], found[7:])


def test_the_order_of_the_points_changes_no_majority(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):  # with ties, gaps and noise
        labels = rng.integers(-2, 3, (9, 4))
        labels[(labels < 0).all(axis=1)] = 0
        order = rng.permutation(9)
        found = MajorityVote().fit_predict(labels)[order]
        mixed = MajorityVote().fit_predict(labels[order])
        np.testing.assert_array_equal(found[:, None] == found, mixed[:, None] == mixed)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.partition(7), "no partition 7; the ensemble has"),
        (lambda e: e.partition([0]), "named by its position or name; got"),
        (lambda e: e.contingency("z", 0), "no partition called 'z'"),
        (lambda e: generator_for(-1, 2), "n_points must be an integer >= 1; got -1"),
        (lambda e: generator_for("x", 2), "n_points must be an integer >= 1; got 'x'"),
        (lambda e: generator_for(9, 2, preset="none"), "preset must be one of"),
        (lambda e: linalg.coassociation_spectrum(e, 2), "ensemble.coassociation"),
        (lambda e: linalg.laplacian_quotient(None, e, 2), "ensemble.coassociation"),
        (lambda e: linalg.symmetric_eigen([[1, np.inf], [0, 1]], 1), "operator must hold finite"),
        (lambda e: linalg.symmetric_eigen(sparse.eye(3) * np.nan, 1), "operator must hold finite"),
        (lambda e: structure_test([[0.0], [1e300], [-1e300]]), "X has values up to 1e.300, whose"),
        (lambda e: linalg.log_gaps(0.5), "eigenvalues must be a vector"),
        (lambda e: linalg.eigengap("name"), "eigenvalues must be a vector"),
        (lambda e: linalg.scaled(np.eye(3), 1.0), "scale must have one entry per row"),
        (lambda e: member_scores(e, np.eye(2)), "known must be Constraints"),
        (lambda e: linalg.sample_polytope([[np.inf]], [0.0], 2), "A must be numbers below 1e.150"),
        (lambda e: linalg.sample_polytope([[1.0]], [np.nan], 2), "b must be numbers below 1e.150"),
        (lambda e: bayes_accuracy([1e300, 1.0]), "mean has values up to 1e.300"),
        (lambda e: cluster_entropy([[1e308, 1e308]]), "membership has values up to 1e.308"),
        (lambda e: sphere_embedding(np.zeros((0, 2))), "vectors must have rows"),
        (lambda e: linalg.without_diagonal(np.eye(3), 1.0), "diagonal must have one entry"),
        (lambda e: linalg.ncut_value(np.full((3, 3), 1e300), [0, 0, 1]), "up to 1e.300"),
        (lambda e: linalg.stochastic_complement(np.eye(3), [0.5]), "block must be distinct"),
        (lambda e: linalg.stochastic_complement([1.0], [0]), "P must be a square matrix"),
        (lambda e: linalg.transport_costs([[1.0]], ([0, 1],), ([1.0], [1.0])), "two vectors"),
        (lambda e: linalg.transport_costs([[1.0]], ([0, 1], [1]), ([1.0], [1.0])), "rising posit"),
        (lambda e: linalg.njw([[0.0], [1e300]], 2), "X has values up to 1e.300"),
        (lambda e: describe_clusters([[0.0], [1.0]], [0, 10**12]), "goes up to 1000000000000"),
        (lambda e: support_vector_distances([[0.0], [1.0]], [0.5], [0]), "approximate must be"),
        (lambda e: support_vector_distances([[0.0], [1.0]], [0], [2]), "true must be a vector"),
        (lambda e: SCACS(1, bandwidth=1e51).fit([[0.0], [1.0]]), "and 1e.50 in size; got 1e.51"),
        (lambda e: components_for_error(1e-300, 10), "1e-50 and 1e.50 in size; got 1e-300"),
        (lambda e: autocorrelation([1.0, np.inf]), "values must be a series of finite numbers"),
        (lambda e: nearest_correlation(np.full((2, 2), 1e300)), "matrix has values up to"),
        (lambda e: sd_index([[0.0], [1.0], [1e300]], [0, 0, 1]), "X has values up to 1e.300"),
        (lambda e: kmeans_quality([[0.0], [1.0], [1e300]], [0, 0, 1]), "values up to 1e.300"),
        (
            lambda e: mirkin([0, 0, 1], [0, 1, 1], sample_weight=[1e300] * 3),
            "entry 0 is 1e.300. Give",
        ),
        (lambda e: sphere_embedding(np.ones((2, 2)), [0, 0]), "degrees is zero for every point"),
    ],
)
def test_what_does_not_fit_is_a_sentence(call, words):
    with pytest.raises((ValueError, TypeError, LookupError), match=words):
        call(Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]))


def test_values_without_a_square_describe_nothing():
    X = pd.DataFrame({"a": [0.0, 1, 5, 6], "b": [1e300, 0.0, 1.0, 2.0]})
    found = describe_clusters(X, [0, 0, 1, 1]).table
    inside = found.loc[(found["cluster"] == 0) & (found["column"] == "b"), "inside"]
    assert inside.tolist() == [0.0]  # of the other value
    many = np.tile(X.to_numpy(), (1, 400))  # so many columns that few are looked at
    for given in (many, sparse.csr_matrix(many)):
        assert len(describe_clusters(given, [0, 0, 1, 1]).table)


def test_diagnostics_of_chains_do_not_depend_on_the_unit():
    draws = np.random.default_rng(0).normal(size=(3, 40))
    for unit in (2.0**900, 2.0**-200):
        assert split_rhat(draws * unit) == pytest.approx(split_rhat(draws))
        assert effective_sample_size(draws * unit) == pytest.approx(effective_sample_size(draws))
        np.testing.assert_allclose(autocorrelation(draws[0] * unit), autocorrelation(draws[0]))
    assert np.isnan(split_rhat(np.where(draws > 2, np.inf, draws)))
    assert np.isnan(split_rhat(np.empty((0, 40))))
    assert np.isnan(effective_sample_size(np.empty((0, 40))))


def test_frames_of_sparse_columns_are_read():
    X = sparse.random(30, 3, 0.5, random_state=0, format="csr")
    frame = pd.DataFrame.sparse.from_spmatrix(X)
    found = EnsembleGenerator(2, n_clusters=2, random_state=0).generate(frame)
    assert found == EnsembleGenerator(2, n_clusters=2, random_state=0).generate(X.toarray())


def test_frames_of_categories_are_refused_by_the_column():
    frame = pd.DataFrame({"x": [0.0, 1.0, 5.0, 6.0], "kind": pd.Categorical(list("abab"))})
    for call in (
        lambda: EnsembleGenerator(2, n_clusters=2).generate(frame),
        lambda: ConsensusClustering(2).fit(frame),
    ):
        with pytest.raises((TypeError, ValueError), match="kind"):
            call()


def test_cells_that_a_spreadsheet_would_run_are_marked_on_demand(tmp_path):
    path = tmp_path / "x.csv"
    ids = ["=cmd()", "+1+cmd()", "-1", "@a", "plain"]
    write_labels(path, ids, np.arange(5), for_spreadsheet=True)
    assert path.read_text().split() == [
        "id,label",
        "'=cmd(),0",
        "'+1+cmd(),1",
        "-1,2",  # a number
        "'@a,3",
        "plain,4",
    ]
    write_labels(path, ids, np.arange(5))
    assert path.read_text().split()[1] == "=cmd(),0"
    ensemble = Ensemble.from_labels({"a": ["=x", "y", "-1x"]}, index=["@r", "s", "t"])
    ensemble.to_csv(path, for_spreadsheet=True)
    assert path.read_text().split() == ["id,a", "'@r,'=x", "s,y", "t,'-1x"]
    ensemble.to_csv(path)
    assert Ensemble.from_csv(path, columns=["a"]) == ensemble


def test_masked_values_are_refused_and_never_clustered():
    X = np.ma.masked_greater(np.arange(20.0).reshape(10, 2), 17)
    for call in (
        lambda: ConsensusClustering(3).fit(X),
        lambda: EnsembleGenerator().generate(X),
        lambda: EnsembleGenerator().generate([X.filled(0.0), X]),
    ):
        with pytest.raises(ValueError, match=r"has 2 masked values; .*Fill them in .*or impute"):
            call()
    model = ConsensusClustering(2, n_partitions=5, n_references=0, random_state=0)
    model.fit(np.ma.masked_greater(X.data, 99))  # nothing is masked
    with pytest.raises(ValueError, match="masked"):
        model.predict(X)


def test_infinite_vectors_empty_graphs_and_a_loose_tolerance():
    with pytest.raises(ValueError, match="infinity"):
        support_vector_distances([[np.inf], [-np.inf], [0.0]], [0], [1])
    graph = SimpleNamespace(matrix=sparse.csr_matrix((4, 3)))
    with pytest.raises(ValueError, match="no point is similar to any landmark"):
        LandmarkRows.of(graph)
    found = nearest_correlation(np.zeros((3, 3)), tol=10.0, min_eigenvalue=0.0)
    assert np.isfinite(found).all()


def test_values_and_weights_beyond_the_range_of_squares_and_integers():
    large = np.array([[1e300, 1.0], [-1e300, 2.0], [1e299, 0.0], [3e299, 1.0]])
    for call in (
        lambda: kappa(large, [0, 0, 1, 1]),
        lambda: TopVariable(1).fit(large),
        lambda: TopVariable(1).fit(sparse.csr_matrix(large)),
    ):
        with pytest.raises(ValueError, match="values up to 1e[+]300, whose squares leave"):
            call()
    with pytest.raises(ValueError, match="vectors has values up to 1e[+]300"):
        sphere_embedding(large)
    with pytest.raises(ValueError, match="weights must be finite numbers > 0; entry 2 is 0"):
        linalg.njw(np.arange(6.0)[:, None], 2, sample_weight=[1, 1, 0, 1, 2, 1])
    # Whole weights beyond the largest integer: the cells were negative numbers.
    table = contingency_table([0, 0, 1], [0, 1, 1], sample_weight=[1e30, 2e30, 1e30])
    np.testing.assert_array_equal(table, [[1e30, 2e30], [0, 1e30]])


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (np.float32([[1e25, 0], [-1e25, 1], [0, 2]]), "up to 1e[+]25, whose squares .* float32"),
        (np.array([[1e300, 0], [0, 1], [0, 2]]), "up to 1e[+]300, whose squares .* float64"),
        (np.array([[1e-300, 0], [0, 0], [0, 0]]), "up to 1e-300, whose squares .* float64"),
        (pd.DataFrame({"a": pd.Categorical(["u", "v", "u"]), "b": [1.0, 2, 3]}), "'a' of type cat"),
    ],
)
def test_features_that_cannot_be_measured_are_refused_without_a_warning(X, words):
    with pytest.raises((ValueError, TypeError), match=words):
        ConsensusClustering(2, n_partitions=4, n_references=0, random_state=0).fit(X)


def test_sca_ends_where_nothing_has_to_be_stable(seed):
    votes = np.random.default_rng(seed).integers(0, 3, (30, 8))
    assert SCA(2, n_stable=1, random_state=0).fit_predict(votes).shape == (30,)


@pytest.mark.parametrize("name", PLAIN)
def test_labels_are_numbered_by_the_weight_of_their_points(name):
    rng = np.random.default_rng(5)
    planted = np.repeat([0, 1, 2], [12, 8, 4])
    labels = np.where(rng.random((24, 8)) < 0.9, planted[:, None], rng.integers(0, 3, (24, 8)))
    weight = np.where(planted == 2, 9.0, 1.0)  # few points, and the heaviest cluster
    found = fitted(name, Ensemble.from_labels(labels, sample_weight=weight)).labels_
    mass = np.bincount(found[found >= 0], weights=weight[found >= 0])
    assert len(mass) > 1
    assert (np.diff(mass) <= 0).all()


def test_labels_survive_csv_and_back(tmp_path, seed):
    rng = np.random.default_rng(seed)
    columns = {
        "whole": rng.integers(0, 4, 30),
        "noise": rng.integers(-1, 3, 30),
        "gaps": rng.integers(-2, 3, 30),
        "text": [f"g{i}" for i in rng.integers(0, 3, 30)],
    }
    ensemble = Ensemble.from_labels(columns)
    ensemble.to_csv(tmp_path / "e.csv")
    for i in range(len(columns)):
        back = Ensemble.from_csv(tmp_path / "e.csv").labels[:, i]
        before = ensemble.labels[:, i]
        np.testing.assert_array_equal(back < 0, before < 0)
        np.testing.assert_array_equal(
            back[:, None] == back[None, :], before[:, None] == before[None, :]
        )


@pytest.mark.parametrize("score", [consensus_scores, mean_coassociation])
def test_labels_far_below_zero_are_refused_before_a_kernel_sees_them(score):
    # As 32 bits they were places outside of its tables: the process ended.
    votes = [[0, 0, 1, 1], [0, 0, 0, 1]]
    with pytest.raises(ValueError, match="labels must be integers 0..K-1"):
        score(votes, np.array([0, 1, 1, -(10**12)]))


def test_weights_bandwidths_and_scales_at_the_ends_of_their_range():
    votes = Ensemble.from_labels(
        [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]], weights=[1e50, 1e40], sample_weight=[1e50] * 6
    )
    assert len(suggest_queries(votes, [0, 0, 1, 1, 1, 1], 1)) == 1
    assert np.isfinite(consensus_scores(votes, [0, 0, 1, 1, 1, 1]).confidence).all()
    one = ensemble_utility(votes.with_weights(weights=[1e40, 1e40]), [0, 0, 1, 1, 1, 1])
    assert np.isfinite(one)
    far = Landscape(2, n_samples=4, burn_in=0, n_chains=2, bandwidth=1e50, random_state=0)
    assert far.fit(np.arange(12.0).reshape(6, 2)).quality_.size > 0
    assert components_for_error(1e50, 10) == 2
    assert linalg.njw([[0.0], [1.0], [2.0]], 2, scale=1e-50, random_state=0).shape == (3,)
    with pytest.raises(ValueError, match="sums of the rows leave the range"):
        linalg.normalized_laplacian(np.full((3, 3), 1e308), np.full(3, 1e10))


def test_counts_of_the_solvers_are_whole_numbers() -> None:
    with pytest.raises((TypeError, ValueError), match="n_values must be an integer"):
        linalg.symmetric_eigen(np.eye(3), sparse.csr_array(np.eye(2)))
    with pytest.raises((TypeError, ValueError), match="n_vertices must be an integer"):
        linalg.partition_hypergraph([[0, 1]], (), 1)
    for pins in (pd.DataFrame({"a": [0], "b": [1]}), [[0, 2]], [[-1, 0]], [[0.0, 1.0]], [[[0]]]):
        with pytest.raises(ValueError, match="pins must be lists of vertices, .* from 0 to 1"):
            linalg.partition_hypergraph(pins, 2, 3)


def test_a_vertex_may_be_named_twice_in_a_hyperedge():
    # The partitioner crashed.
    found = linalg.partition_hypergraph([[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]], 5, 3)
    assert np.unique(found.labels).size == 3
    assert found.value == 0
    twice = linalg.partition_hypergraph([[1, 0, 1], [2, 3, 3, 2], [2, 1]], 4, 2)
    assert twice.value == 1


def test_more_points_than_can_be_counted_are_refused():
    a, b = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 1, 1])
    chance = ami(a, b, sample_weight=np.full(5, 2e11))  # of so many points: none
    assert chance == pytest.approx(nmi(a, b, average="arithmetic"), rel=1e-6)
    for weight in (1e12, 1e30):  # beyond 2^53 one point more is the same number
        with pytest.raises(ValueError, match="ami counts points one by one: sample_weight stands"):
            ami(a, b, sample_weight=np.full(5, weight))
    given = Ensemble.from_labels([a, b], sample_weight=[1, 1, 1, 1, 2_000_000_000])
    with pytest.raises(ValueError, match=r"search='allocation' keeps a number .* \(16,000 MB\)"):
        MedianPartition(search="allocation", random_state=0).fit(given)


def test_what_the_next_long_run_of_the_harness_found():
    # Clusters that weigh nothing: 0 / 0, and then a chain of neighbours without an end.
    labels = [[0, -2, -2, 0], [1] * 4, [-2, 0, 0, 0], [0, 0, 0, 1], [0] * 4, [0, -2, 0, -1]]
    given = Ensemble.from_labels(np.array(labels)).with_weights(weights=[1e-5, 1e14, 1e14, 1e-7])
    for linkage in ("ward", "average"):
        method = LiftHAC(2, kernel="discrete", weighting="eci", theta=1e-50, linkage=linkage)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            assert method.fit(given).labels_.shape == (6,)
    large = np.array([[1.0, 1e300], [1e300, 3.0]])
    found = linalg.symmetric_eigen(sparse.csr_matrix(large), 2)
    np.testing.assert_allclose(found.values, [1e300, -1e300])
    assert found.residual < 1e290
    assert np.isfinite(nearest_correlation(1e30 * np.eye(3), tol=1e50)).all()
    X = 1e151 * np.random.default_rng(0).normal(size=(7, 4))
    with pytest.raises(ValueError, match="with a bandwidth of .* leave the range of single"):
        weighted_kernel_quality(X, [0, 2, 2, 1, 2, 2, 2], n_components=4)  # it was NaN
    assert 0 < weighted_kernel_quality(X, [0, 2, 2, 1, 2, 2, 2]) < 1
    with pytest.raises(ValueError, match="with a bandwidth of .* leave the range of single"):
        separation_quality(X * 1e-190, [0, 1, 1, 0, 1, 1, 1], n_components=4)


@pytest.mark.parametrize("unit", [2.0**160, 2.0**-160])
def test_cuts_and_utilities_are_the_same_in_any_unit_of_the_weights(unit):
    rng = np.random.default_rng(0)
    A = rng.random((9, 9))
    A, weights = A + A.T, rng.integers(1, 4, 9).astype(float)
    for cut in (
        lambda w: linalg.kway_ncut(A, 3, weights=w),
        lambda w: linalg.recursive_ncut(A, 3, weights=w),
        lambda w: linalg.recursive_ncut(A, 3, weights=w, cut="best"),
    ):
        one, other = cut(weights), cut(weights * unit)
        np.testing.assert_array_equal(one.labels, other.labels)
        assert one.value == pytest.approx(other.value)
        for left, right in zip(one.splits, other.splits, strict=True):
            np.testing.assert_allclose(right.sizes, np.multiply(left.sizes, unit))
    value = linalg.ncut_value(A, one.labels, weights=weights * unit)
    assert value == pytest.approx(one.value)
    votes = list(rng.integers(0, 3, (2, 9)))
    for utility in ("entropy", "category", "cosine", "lp"):
        one, other = (
            ensemble_utility(
                Ensemble.from_labels(votes, sample_weight=w), weights > 1, utility=utility
            )
            for w in (weights, weights * unit)
        )
        assert one == pytest.approx(other)


def test_a_weight_out_of_range_is_named():
    with pytest.raises(ValueError, match="weights must lie between .* or be 0; entry 1 is 1e.51"):
        Ensemble.from_labels([[0, 1], [0, 1]], weights=[1.0, 1e51])
    with pytest.raises(ValueError, match=r"^weights must lie between 1e-50 and 1e\+50; entry 0"):
        linalg.kway_ncut(np.ones((2, 2)), 2, weights=[1e-51, 1.0])
    assert Ensemble.from_labels([[0, 1]], sample_weight=[0.0, 1e-50]).n_points == 2


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_bagclust_leaves_points_alone_whose_reference_cluster_has_no_votes():
    votes = Ensemble.from_labels([[0, 0, 0, 1, 1, -1], [0, 0, 0, 1, 1, -1]])
    found = BagClust(3, reference=[0, 0, 0, 1, 1, 2]).fit(votes)
    assert found.labels_.tolist() == [0, 0, 0, 1, 1, -1]
    undrawn = Ensemble.from_labels([[0, 0, 0, 1, 1, -2], [0, 0, 0, 1, 1, -2]])
    found = BagClust(3, reference=[0, 0, 0, 1, 1, 2]).fit(undrawn)
    assert found.labels_.tolist() == [0, 0, 0, 1, 1, 2]


@pytest.mark.filterwarnings("ignore:.*clusters")
def test_rce_stays_at_its_start_where_the_weighting_leaves_nothing():
    labels = np.random.default_rng(0).integers(0, 3, (20, 4))
    found = RCE(2, weighting="eci", theta=1e-39, random_state=0).fit(labels)
    assert found.labels_.shape == (20,)


def test_graphs_of_the_smallest_numbers_are_normalised():
    A = np.ones((3, 3)) * 5e-324
    np.testing.assert_allclose(linalg.normalized(A) @ np.ones(3), 1.0, rtol=0.3)
    X = 1e100 * np.array([[0.0], [1.0], [5.0], [6.0]])
    assert np.isfinite(sd_index(X, [0, 0, 1, 1]))
