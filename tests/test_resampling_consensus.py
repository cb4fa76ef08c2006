"""Consensus over resamples, and sweeps over parameters: against plain counting."""

from __future__ import annotations

import itertools
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.random import SeedSequence
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances, silhouette_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError, ParameterError
from clusterscape._core.labels import numbered_like
from clusterscape.combine import SEC
from clusterscape.linalg.kmeans import kmeans_on_samples
from clusterscape.plot import ConsensusDistributionDisplay, SweepDisplay, TrackingDisplay
from clusterscape.validate import resampling_consensus, sweep


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def points():
    return make_blobs(40, centers=3, cluster_std=2.5, random_state=3)[0]


@pytest.fixture(scope="module")
def found(points):
    return resampling_consensus(points, (2, 4), n_resamples=12, ratio=0.6, random_state=0)


def counted(columns):
    """Return how often each pair was together, and drawn together, one pair at a time."""
    m, n = columns.shape
    together, drawn = np.zeros((n, n)), np.zeros((n, n))
    for row, i, j in itertools.product(range(m), range(n), range(n)):
        a, b = columns[row, i], columns[row, j]
        drawn[i, j] += a != -2 and b != -2
        together[i, j] += a >= 0 and a == b
    return together, drawn


@pytest.mark.parametrize("k", [2, 4])
def test_matrix_distribution_and_consensus_by_counting(found, k) -> None:
    together, drawn = counted(found.ensemble(k).labels.T)
    with np.errstate(invalid="ignore"):
        share = together / drawn  # nan where a pair was never drawn
    np.testing.assert_allclose(found.matrix(k), share)
    pairs = share[np.triu_indices(len(share), 1)]
    assert np.isnan(pairs).any()  # 12 draws of 60 %: some pairs are never seen
    pairs = pairs[~np.isnan(pairs)]
    for at in (0.0, 0.25, 0.5, 0.9, 1.0):
        assert found.cdf().loc[at, k] == pytest.approx(np.mean(pairs <= at + 1e-12))
    ambiguous = np.mean((pairs > 0.1 + 1e-12) & (pairs <= 0.9 + 1e-12))
    assert found.table.loc[k, "pac"] == pytest.approx(ambiguous)
    narrow = np.mean((pairs > 0.25 + 1e-12) & (pairs <= 0.75 + 1e-12))
    assert found.pac(k, low=0.25, high=0.75) == pytest.approx(narrow)
    assert found.table.loc[k, "area"] == pytest.approx(1 - pairs.mean())
    labels = found.labels(k)
    np.fill_diagonal(share, np.nan)
    items = found.item_consensus(k)
    table = found.cluster_consensus().query("k == @k").set_index("cluster")
    for c in np.unique(labels):
        expected = [np.nanmean(row[labels == c]) for row in share]
        np.testing.assert_allclose(items[c], expected)
        inside = share[np.ix_(labels == c, labels == c)]
        assert table.loc[c, "consensus"] == pytest.approx(np.nanmean(inside))
        assert table.loc[c, "size"] == (labels == c).sum()


def test_clusters_are_those_of_average_linkage(points) -> None:
    made = resampling_consensus(points, [3], n_resamples=60, random_state=1)
    distances = 1 - made.matrix(3)
    np.fill_diagonal(distances, 0)
    tree = hierarchy.linkage(squareform(distances, checks=False), "average")
    other = hierarchy.fcluster(tree, 3, "maxclust")
    assert adjusted_rand_score(made.labels(3), other) == 1


def test_delta_area_is_the_relative_change(found) -> None:
    area = found.table["area"].to_numpy()
    expected = [area[0], area[1] / area[0] - 1, area[2] / area[1] - 1]
    np.testing.assert_allclose(found.table["delta_area"], expected)


def test_any_number_of_workers_and_order_of_numbers(points, found) -> None:
    again = resampling_consensus(
        points, (2, 4), n_resamples=12, ratio=0.6, random_state=0, n_jobs=2
    )
    np.testing.assert_array_equal(found.resamples, again.resamples)
    pd.testing.assert_frame_equal(found.table, again.table)
    assert resampling_consensus(points, [4, 2], n_resamples=2).ks == [2, 4]


def test_every_resample_has_its_size_and_numbers_share_them(found) -> None:
    drawn = found.resamples != -2
    assert (drawn.sum(axis=2) == 24).all()
    assert (drawn == drawn[0]).all()
    assert len(np.unique(drawn[0], axis=0)) == 12


def test_the_kernel_of_samples_is_that_of_single_fits() -> None:
    X = np.random.default_rng(0).normal(size=(50, 5))
    rng = np.random.default_rng(1)
    samples = np.sort([rng.permutation(50)[:30] for _ in range(4)], axis=1)
    seeds = rng.integers(0, 2**60, size=(4, 2)).astype(np.uint64)
    for hartigan, init in itertools.product((False, True), ("random", "k-means++")):
        out = np.full((2, 4, 50), -2, dtype=np.int8)
        algorithm = "hartigan" if hartigan else "lloyd"
        kmeans_on_samples(
            X, samples, np.array([2, 5]), algorithm=algorithm, init=init, seeds=seeds, out=out
        )
        for s, (j, k) in itertools.product(range(4), enumerate((2, 5))):
            plan = kernels.kmeans.Plan(k, init != "random", hartigan, False, 1, 300, 1e-4)
            part = np.ascontiguousarray(X[samples[s]].T)
            ends = np.array([0, 5])
            alone = kernels.kmeans.fit_many(
                part, np.arange(5), ends, np.ones(30), plan, seeds[s, j : j + 1]
            )
            np.testing.assert_array_equal(out[j, s, samples[s]], alone.labels[0])


def test_sparse_data_are_clustered_one_by_one() -> None:
    X = sparse.random(60, 30, 0.3, format="csr", random_state=0)
    found = resampling_consensus(X, [2], n_resamples=3, random_state=0)
    assert ((found.resamples >= 0).sum(axis=2) == 48).all()


@pytest.mark.parametrize(
    "clusterer",
    [
        "ward",
        "spectral",
        AgglomerativeClustering(linkage="average"),
        GaussianMixture(random_state=0),
        make_pipeline(StandardScaler(), KMeans(n_init=1)),
    ],
)
def test_any_clusterer_that_takes_a_number(clusterer) -> None:
    X, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=1)
    found = resampling_consensus(X, [2, 3], clusterer=clusterer, n_resamples=6, random_state=0)
    assert adjusted_rand_score(y, found.labels(3)) > 0.9
    assert found.table["failed"].tolist() == [0, 0]
    assert found.resamples[1].max() == 2


class Fragile(ClusterMixin, BaseEstimator):
    """Fail when the first point drawn is not the first of all, or always for three clusters."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit_predict(self, X, y=None):
        if X[0, 0] != 0 or self.n_clusters == 3:
            raise RuntimeError("not this one")
        return np.arange(len(X)) % self.n_clusters


def test_failed_resamples_count_neither_way_and_are_named() -> None:
    X = np.arange(20.0)[:, None]
    found = resampling_consensus(X, [2], clusterer=Fragile(), n_resamples=30, random_state=0)
    failed = found.table.loc[2, "failed"]
    assert 0 < failed < 30
    assert found.failures[2] == ["RuntimeError: not this one"] * failed
    assert (found.resamples[0] == -2).all(axis=1).sum() == failed
    with pytest.raises(ValueError, match="every resample failed for 3 clusters: RuntimeError"):
        resampling_consensus(X, [3], clusterer=Fragile(), n_resamples=3)


def test_other_consensus_and_ids() -> None:
    X, y = make_blobs(60, centers=3, cluster_std=0.3, random_state=1)
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(60)])
    found = resampling_consensus(frame, [3], n_resamples=40, consensus=SEC(), random_state=0)
    assert adjusted_rand_score(y, found.labels(3)) == 1
    assert found.to_frame().index[0] == found.item_consensus(3).index[0] == "s0"
    assert found.ensemble(3).index[0] == "s0"


def test_what_is_refused(points, found) -> None:
    with pytest.raises(ParameterError, match="more than the 4 points of a resample"):
        resampling_consensus(points, [5], ratio=0.1)
    with pytest.raises(ParameterError, match="DBSCAN has no parameter for the number"):
        resampling_consensus(points, [2], clusterer=DBSCAN())
    with pytest.raises(ValueError, match=r"k must be one of \[2, 3, 4\]; got 9"):
        found.matrix(9)
    with pytest.raises(ValueError, match="at most three decimals"):
        found.pac(2, low=0.12345)
    with pytest.raises(MemoryLimitError, match="consensus matrix of 40 points"):
        found.matrix(2, max_gb=1e-9)


def test_distances_are_resampled_both_ways() -> None:
    X, _ = make_blobs(40, centers=3, random_state=0)
    options = {"ks": (2, 3), "n_resamples": 20, "random_state": 0}
    plain = resampling_consensus(X, clusterer=AgglomerativeClustering(linkage="average"), **options)
    known = AgglomerativeClustering(metric="precomputed", linkage="average")
    found = resampling_consensus(pairwise_distances(X), clusterer=known, **options)
    for k in (2, 3):
        np.testing.assert_array_equal(found.matrix(k), plain.matrix(k))
    with pytest.raises(ValueError, match=r"between the points.*40 rows and 2 columns"):
        resampling_consensus(X, clusterer=known, **options)


def test_clusters_keep_their_numbers() -> None:
    before = np.array([0, 0, 0, 0, 1, 1, 1, -1])
    after = np.array([5, 5, 5, 2, 9, 9, -1, 9])
    np.testing.assert_array_equal(numbered_like(after, before), [0, 0, 0, 2, 1, 1, -1, 1])
    # Fewer clusters than before: those that stay keep their numbers.
    np.testing.assert_array_equal(
        numbered_like(np.array([0, 0, 1]), np.array([2, 2, 0])), [2, 2, 0]
    )


def test_pictures_show_the_tables(found, tmp_path) -> None:
    display = ConsensusDistributionDisplay.from_consensus(found)
    assert display.ax_.lines[1].get_ydata()[500] == found.cdf().loc[0.5, 3]
    np.testing.assert_allclose(display.delta_ax_.lines[1].get_ydata(), found.table["pac"])
    tree = TrackingDisplay.from_consensus(found)
    moves = tree.to_frame()
    assert moves.query("`from` == '2'")["points"].sum() == 40
    np.testing.assert_allclose(moves.groupby(["to", "cluster_below"])["share_to"].sum(), 1.0)
    first, second = found.labels(2), found.labels(3)
    row = moves.iloc[0]
    assert row["points"] == np.sum((first == row["cluster"]) & (second == row["cluster_below"]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for made in (display, tree):
            made.figure_.savefig(tmp_path / "x.png", dpi=50)
    named = TrackingDisplay.from_labels({"a": list("xxyy"), "b": ["p", "q", "q", "-1"]})
    assert len(named.to_frame()) == 4
    ax = plt.figure().add_axes((0.1, 0.1, 0.4, 0.8))
    assert ConsensusDistributionDisplay.from_consensus(found, ax=ax).figure_ is ax.figure


# -- sweeps ---------------------------------------------------------------------------------------


def test_a_sweep_measures_what_it_says() -> None:
    X, _ = make_blobs(80, centers=3, cluster_std=1.0, random_state=0)
    grid = {"n_clusters": [2, 3], "linkage": ["ward", "single"]}
    found = sweep(AgglomerativeClustering(), grid, X, n_resamples=4, random_state=0)
    assert len(found.table) == 4
    for row, setting, labels in zip(
        found.table.to_dict(orient="records"), found.parameters, found.labels, strict=True
    ):
        own = AgglomerativeClustering(**setting).fit_predict(X)
        np.testing.assert_array_equal(labels, own)
        assert row["param_linkage"] == setting["linkage"]
        assert row["silhouette"] == pytest.approx(silhouette_score(X, own))
        assert row["smallest"] == np.bincount(own).min()
        assert (row["noise_share"], row["coverage"], row["failed_resamples"]) == (0, 1, 0)
    assert found.ensemble().n_partitions == 4
    twice = sweep(AgglomerativeClustering(), grid, X, n_resamples=4, random_state=0, n_jobs=2)
    pd.testing.assert_frame_equal(
        found.table.drop(columns="seconds"), twice.table.drop(columns="seconds")
    )


def test_a_sweep_over_distances_is_that_over_points() -> None:
    X, _ = make_blobs(80, centers=3, cluster_std=1.0, random_state=0)
    grid, options = {"n_clusters": [2, 3]}, {"n_resamples": 3, "random_state": 0}
    linked = AgglomerativeClustering(linkage="average")
    points = sweep(linked, grid, X, **options).table
    far = pairwise_distances(X)
    found = sweep(linked, grid | {"metric": ["precomputed"]}, far, **options).table
    same = ["n_clusters", "stability", "stability_sd", "silhouette", "failed_resamples"]
    pd.testing.assert_frame_equal(found[same], points[same])
    # What is measured by means of clusters is not known.
    assert found[["point_stability", "calinski_harabasz", "davies_bouldin"]].isna().all(axis=None)
    cut = SpectralClustering(affinity="precomputed")
    near = sweep(cut, {"n_clusters": [3]}, np.exp(-far), **options).table
    assert near["stability"].notna().all()
    assert near["silhouette"].isna().all()  # similarities are no distances


def test_stability_is_the_agreement_of_resamples_with_all() -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    found = sweep(KMeans(n_init=1), {"n_clusters": [4]}, X, n_resamples=3, random_state=5)
    drawing, own, _, *seeds = SeedSequence(5).spawn(6)
    rng = np.random.default_rng(drawing)

    def labels(seed, rows):
        at = sorted(KMeans().get_params()).index("random_state")
        state = (
            SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, at)).generate_state(1)[0] >> 1
        )
        return KMeans(4, n_init=1, random_state=int(state)).fit_predict(X[rows])

    whole = labels(own, np.arange(60))
    scores = []
    for seed in seeds:
        rows = np.sort(rng.choice(60, 48, replace=False))
        scores.append(adjusted_rand_score(whole[rows], labels(seed, rows)))
    assert found.table.loc[0, "stability"] == pytest.approx(np.mean(scores))
    assert found.table.loc[0, "stability_sd"] == pytest.approx(np.std(scores, ddof=1))
    assert np.std(scores) > 0


def test_failures_noise_and_single_clusters_are_rows(tmp_path) -> None:
    X, _ = make_blobs(60, centers=2, cluster_std=0.5, random_state=0)
    grid = [{"eps": [0.01, 0.5, 50.0]}, {"eps": [-1.0]}, {"no_such": [3]}]
    found = sweep(DBSCAN(), grid, X, n_resamples=2, random_state=0)
    table = found.table
    assert table["n_clusters"].tolist()[:3] == [0, 2, 1]
    assert table.loc[0, ["noise_share", "coverage"]].tolist() == [1.0, 0.0]
    assert table.loc[[0, 2], "silhouette"].isna().all()
    assert table["error"].isna().tolist() == [True, True, True, False, False]
    assert "eps" in table.loc[3, "error"]
    assert "no_such" in table.loc[4, "error"]
    assert found.labels[3] is None
    display = SweepDisplay.from_sweep(found, parameter="eps", criteria=["noise_share", "coverage"])
    assert "2 failed" in display.axes_[0].get_title()
    display.figure_.savefig(tmp_path / "x.png", dpi=50)
    assert list(display.to_frame().columns) == [
        "param_eps", "param_no_such", "noise_share", "coverage", "error",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="parameter must be one of"):
        SweepDisplay.from_sweep(found, parameter="k")
    with pytest.raises(ValueError, match="criteria must be columns"):
        SweepDisplay.from_sweep(found, criteria=["beauty"])
    with pytest.raises(TypeError, match="estimator must have fit_predict"):
        sweep(StandardScaler(), {"with_mean": [True]}, X)
    nothing = sweep(DBSCAN(), {"eps": [-1.0]}, X, n_resamples=0)
    with pytest.raises(ValueError, match="every candidate failed"):
        nothing.ensemble()


def test_a_consensus_prints_in_one_line() -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = resampling_consensus(X, [2, 3], n_resamples=5, random_state=0)
    assert repr(found) == "ResamplingConsensus(20 points, k from 2 to 3, 5 resamples each)"
