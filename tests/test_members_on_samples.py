"""Members on samples, and the labels of other points: against brute force and scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import entropy
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score, mutual_info_score
from sklearn.mixture import GaussianMixture

from clusterscape import ConsensusClustering, Ensemble, kernels
from clusterscape._core.errors import ParameterError
from clusterscape.combine import LWGP, SpectralConsensus
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.datasets import make_overlapping_blobs
from clusterscape.generate import (
    EnsembleGenerator,
    GenerationWarning,
    Kind,
    diverse,
    plan,
    random_features,
    random_projection,
    restarts,
)
from clusterscape.io import load_model, save_model


def blobs(n: int, *, seed: int = 0, d: int = 4, dtype=np.float32) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_overlapping_blobs(n, n_features=d, n_clusters=4, cluster_std=0.4, random_state=seed)
    return (X + 100.0).astype(dtype), y


KINDS = [
    Kind("spectral", 5, settings={"n_neighbors": [5, 7]}),
    Kind("genie", 6, settings={"reachability": (1, 3)}),
    Kind("gmm", 4),
    Kind("kmeans", 4),
]


def sampled(n_partitions: int = 8, **options) -> EnsembleGenerator:
    settings = {"algorithm": KINDS, "rows": ("sample", 400), "random_state": 0} | options
    return EnsembleGenerator(n_partitions, **settings)


# -- which rows ------------------------------------------------------------------------------------


def test_auto_is_exact_up_to_the_stated_size_and_a_sample_above(monkeypatch) -> None:
    monkeypatch.setattr(plan, "EXACT", 500)
    few, many = blobs(500)[0], blobs(30_000 * 2)[0]
    kind = Kind("genie", 3)
    assert [r.rows for r in EnsembleGenerator(2, algorithm=kind).generate(few).records] == [
        "all"
    ] * 2
    made = EnsembleGenerator(2, algorithm=[kind, "kmeans"], n_clusters=3).generate(many)
    assert [r.rows for r in made.records] == ["sample 2000", "sample 20000"]
    assert made.is_complete
    assert [dict(r.params["sample"]) for r in made.records][0]["size"] == 2000
    whole = EnsembleGenerator(1, n_clusters=3, rows="all", max_iter=2).generate(many)
    assert whole.records[0].rows == "all"
    # Many clusters need many points: 20 each, and where that is most of them, all.
    finer = EnsembleGenerator(1, algorithm=Kind("genie", 150)).generate(many)
    assert finer.records[0].rows == "sample 3000"
    assert plan.settled_rows("auto", 4000, size=2000, most_clusters=150) == "all"


def test_the_square_root_is_that_of_the_sample() -> None:
    axes = plan.Axes((2, "sqrt"), "all", ("sample", 400), 1_000_000)
    assert axes.range == (2, 20)
    assert axes.n_rows == 400


def test_soft_members_are_not_made_on_samples() -> None:
    X = blobs(800)[0]
    with pytest.raises(ParameterError, match="memberships of soft_gmm are not carried"):
        EnsembleGenerator(2, algorithm="soft_gmm", n_clusters=2, rows=("sample", 100)).generate(X)
    auto = EnsembleGenerator(1, algorithm="soft_gmm", n_clusters=2).generate(X)
    assert auto.records[0].rows == "all"


def test_members_that_share_a_graph_share_a_sample() -> None:
    X = blobs(1500)[0]
    made = diverse(40, n_clusters=4, rows=("sample", 300), random_state=0).generate(X)
    groups: dict[tuple, set[int]] = {}
    for record in made.records:
        shared = record.params.get("n_neighbors"), record.params.get("reachability")
        if shared != (None, None):
            groups.setdefault(shared, set()).add(record.params["sample"]["group"])
    assert all(len(found) == 1 for found in groups.values())
    assert len(set.union(*groups.values())) > 1


# -- what all points get ---------------------------------------------------------------------------


def test_every_point_gets_the_label_that_the_member_would_give() -> None:
    X, y = blobs(3000)
    made = sampled(12).generate_with_assigner(X)
    assert made.ensemble.is_complete
    for i, record in enumerate(made.ensemble.records):
        found = made.ensemble.labels[:, i]
        assert found.max() < made.ensemble.n_clusters[i]
        assert adjusted_rand_score(y, found) > 0.5, record.algorithm
        # What the member found on its sample, made again on its own.
        size, group = record.params["sample"]["size"], record.params["sample"]["group"]
        rows = plan.draw_sample(3000, size, plan.sample_seed(plan.root_seed(0, None), group))
        own = sampled(12, rows="all").generate(X[rows]).labels[:, i]
        assert adjusted_rand_score(own, found[rows]) > 0.75, record.algorithm
    np.testing.assert_array_equal(made.assigner.assign(X), made.ensemble.labels)
    assert made.assigner.unable == ()


@pytest.mark.parametrize("options", [{}, {"columns": ("subset", 0.5)}, {"columns": ("project", 2)}])
@pytest.mark.parametrize("algorithm", ["kmeans", "cosine", "gmm"])
def test_centres_and_densities_reproduce_the_labels_of_the_points_clustered(
    algorithm: str, options: dict
) -> None:
    X = blobs(1200, dtype=np.float64)[0] - (100.0 if algorithm == "cosine" else 0.0)
    generator = restarts(3, n_clusters=4, algorithm=algorithm, random_state=0, **options)
    made = generator.generate_with_assigner(X)
    # k-means stops when its centres hardly move, and its labels are those of the step before.
    assert (made.assigner.assign(X) == made.ensemble.labels).mean() > 0.995
    assert all(type(rule).__name__ == "ScoreRule" for rule in made.assigner.rules)


@pytest.mark.parametrize("columns", ["all", 3])
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_mixtures_assign_as_scikit_learn_does_with_their_parameters(
    covariance: str, columns: Any
) -> None:
    X = blobs(800, dtype=np.float64)[0]
    kind = Kind("gmm", 4, settings={"covariance": covariance, "columns": columns})
    made = EnsembleGenerator(1, algorithm=kind, random_state=0).generate_with_assigner(X)
    np.testing.assert_array_equal(made.assigner.assign(X), made.ensemble.labels)
    Z = X if columns == "all" else PCA(columns, svd_solver="full").fit(X).transform(X)
    found = made.ensemble.labels[:, 0]
    start = np.array([Z[found == c].mean(axis=0) for c in range(4)])
    peer = GaussianMixture(4, covariance_type=covariance, means_init=start, random_state=0).fit(Z)
    assert adjusted_rand_score(peer.predict(Z), found) > 0.95


def test_single_precision_is_given_up_where_it_changes_labels() -> None:
    rng = np.random.default_rng(0)
    thin = rng.normal(size=(600, 1)) * [1.0, 1.0] + rng.normal(scale=1e-3, size=(600, 2))
    X = (thin + np.repeat([[0.0, 0.0], [0.0, 0.02]], 300, axis=0)).astype(np.float32)
    made = EnsembleGenerator(1, algorithm=Kind("gmm", 2), random_state=0).generate_with_assigner(X)
    assert (made.assigner.assign(X) == made.ensemble.labels).mean() > 0.99


def test_votes_are_those_of_the_definition() -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(-2, 3, size=(9, 6)).astype(np.int8)
    squares = np.sort(rng.random((40, 5)), axis=1)
    near = np.array([rng.permutation(9)[:5] for _ in range(40)], dtype=np.int32)
    out = np.empty((40, 6), dtype=np.int8)
    kernels.assign.vote(squares, near, table, 0.7, np.arange(6), out)
    weight = np.exp(-0.7 * squares)
    for x in range(40):
        for j in range(6):
            votes = {}
            for t in range(5):
                label = int(table[near[x, t], j])
                if label != -2:
                    votes[label] = votes.get(label, 0.0) + weight[x, t]
            wanted = max(votes, key=lambda name: votes[name]) if votes else -2
            assert out[x, j] == wanted


# -- the same everywhere ---------------------------------------------------------------------------


def test_workers_layouts_and_memory_maps_change_nothing(tmp_path) -> None:
    X = blobs(20_000)[0]
    wanted = sampled().generate(X)
    assert sampled(n_jobs=2).generate(X) == wanted
    assert sampled().generate(np.asfortranarray(X)) == wanted
    X.tofile(tmp_path / "x.f32")
    mapped = np.memmap(tmp_path / "x.f32", dtype=np.float32, mode="r", shape=X.shape)
    assert sampled().generate(mapped) == wanted


def test_an_interrupted_run_resumes_from_the_members_on_samples(tmp_path) -> None:
    X = blobs(2000)[0]
    wanted = sampled().generate(X)
    sampled(store=tmp_path / "run").generate(X)
    files = sorted((tmp_path / "run").glob("member-*.npz"))
    assert len(files) == 8
    for file in files[::2]:
        file.unlink()
    assert sampled(store=tmp_path / "run").generate(X) == wanted
    # What is kept does not grow with the points.
    assert max(file.stat().st_size for file in files[1::2]) < 60_000


def test_sparse_points_stay_sparse() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random(3000, 60, density=0.1, random_state=0, format="csr") + sparse.csr_matrix(
        np.kron(np.eye(3), np.ones((1000, 20))) * (rng.random((3000, 60)) < 0.2)
    )
    kinds = [Kind("cosine", 3), Kind("genie", 6, settings={"metric": "cosine"})]
    X = sparse.csr_matrix(X)
    made = EnsembleGenerator(6, algorithm=kinds, rows=("sample", 600), random_state=0)
    found = made.generate_with_assigner(X)
    truth = np.repeat([0, 1, 2], 1000)
    assert adjusted_rand_score(truth, found.ensemble.labels[:, 0]) > 0.8
    np.testing.assert_array_equal(found.assigner.assign(X), found.ensemble.labels)
    dense = found.assigner.assign(X.toarray())
    assert (dense == found.ensemble.labels).mean() > 0.99


def test_several_views_are_assigned_in_their_own_columns() -> None:
    X = blobs(1500)[0]
    views = [X, X[:, :2]]
    made = EnsembleGenerator(
        4, algorithm=Kind("genie", 4), rows=("sample", 300), random_state=0
    ).generate_with_assigner(views)
    np.testing.assert_array_equal(made.assigner.assign(tuple(views)), made.ensemble.labels)
    with pytest.raises(ValueError, match="X has 3 columns, but the members were made of 4"):
        made.assigner.assign((X[:, :3], X[:, :2]))


# -- consensus of a sample -------------------------------------------------------------------------


@pytest.mark.parametrize("rows", ["unit", "degree"])
@pytest.mark.parametrize("method", [LWGP, SpectralConsensus])
def test_the_spectrum_of_a_sample_carries_to_all_points(method, rows) -> None:
    X, y = blobs(3000)
    ensemble = restarts(20, n_clusters=(4, 12), random_state=0).generate(X)
    whole = method(4, rows=rows, max_points=None, random_state=0).fit(ensemble)
    part = method(4, rows=rows, max_points=800, random_state=0).fit(ensemble)
    assert (whole.sample_size_, part.sample_size_) == (3000, 800)
    assert adjusted_rand_score(whole.labels_, part.labels_) > 0.95
    assert adjusted_rand_score(y, part.labels_) > adjusted_rand_score(y, whole.labels_) - 0.02


def test_the_carrying_kernel_finds_the_nearest_centre() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, size=(200, 6)).astype(np.int8)
    offsets = np.arange(0, 25, 4)
    table = np.zeros((24, 8), dtype=np.float32)
    table[:, :5] = rng.normal(size=(24, 5))
    table[:, -1] = rng.random(24)
    centers = np.zeros((3, 8))
    centers[:, :5] = rng.normal(size=(3, 5))
    squares = (centers**2).sum(axis=1)
    sums = np.array([sum(table[4 * i + c] for i, c in enumerate(row) if c >= 0) for row in labels])
    for unit in (True, False):
        found = np.empty(200, dtype=np.int32)
        kernels.rowspace.carry(labels, offsets, table, centers, squares, unit, found)
        length = np.linalg.norm(sums[:, :5], axis=1) if unit else sums[:, -1]
        rows = sums[:, :5] / length[:, None]
        gaps = ((rows[:, None, :] - centers[:, :5]) ** 2).sum(axis=2)
        np.testing.assert_array_equal(found, gaps.argmin(axis=1))


# -- new points ------------------------------------------------------------------------------------


class Refusing(ClusterMixin, BaseEstimator):
    """A clusterer that fails for odd seeds."""

    def __init__(self, n_clusters: int = 2, random_state: int | None = None) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        if self.random_state % 2:
            raise ValueError("odd")
        self.labels_ = (X[:, 0] > np.median(X[:, 0])).astype(int)
        return self


def test_members_that_failed_are_listed_and_say_nothing() -> None:
    X = blobs(300)[0]
    generator = EnsembleGenerator(10, algorithm=Refusing(), n_clusters=2, random_state=0)
    with pytest.warns(GenerationWarning):
        made = generator.generate_with_assigner(X)
    failed = [i for i, _ in made.ensemble.failures]
    assert list(made.assigner.unable) == failed
    assert (made.assigner.assign(X)[:, failed] == -2).all()


@pytest.mark.parametrize("n", [300, 3000])
def test_predict_is_as_good_as_the_labels_and_survives_saving(n: int, tmp_path) -> None:
    X, y = blobs(n)
    new, truth = blobs(1000, seed=0)
    model = ConsensusClustering(4, generator="diverse", n_references=0, random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.97
    found = model.predict(new)
    assert adjusted_rand_score(truth, found) > adjusted_rand_score(y, model.labels_) - 0.05
    frame = model.predict_frame(new, membership=True)
    np.testing.assert_array_equal(frame["label"], found)
    shares = model.predict_membership(new)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_array_equal(frame["membership_1"], shares[:, 1])
    right = found == _named(found, truth)
    assert frame["confidence"][right].mean() > frame["confidence"][~right].mean()
    own = model.predict_frame(X)["confidence"].to_numpy()
    assert np.abs(own - model.confidence_).mean() < 0.03
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(new), found)
    np.testing.assert_array_equal(again.predict_membership(new), shares)


def _named(found: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return the truth under the names of the clusters found."""
    names = [np.bincount(found[truth == t]).argmax() for t in range(truth.max() + 1)]
    return np.array(names)[truth]


def test_the_saved_model_does_not_hold_the_points(tmp_path) -> None:
    X = blobs(4000, d=16, dtype=np.float64)[0]
    generator = restarts(5, n_clusters=[4, 5, 6])
    model = ConsensusClustering(4, generator=generator, n_references=0, random_state=0).fit(X)
    save_model(model, tmp_path / "model.npz")
    assert (tmp_path / "model.npz").stat().st_size < X.nbytes / 2


@pytest.mark.parametrize("weight", [1.0, 0.25, 2.0])
def test_new_points_beside_one_that_members_leave_alone_are_in_doubt(weight) -> None:
    near = np.repeat([0, 1], [5, 4])
    apart = np.r_[near[:-1], 2]
    ensemble = Ensemble.from_labels([near, apart], sample_weight=np.full(9, weight))
    known = LabelTransfer.of(ensemble, near).membership(ensemble.labels)
    # Two copies of the point are company for each other.
    assert known[-1, 1] == pytest.approx(1.0 if weight > 1 else 0.75)
    assert known[0, 0] == 1
    # Where the consensus leaves the point alone too, the member says the same.
    assert LabelTransfer.of(ensemble, apart).membership(ensemble.labels)[-1, 2] > 0.5


def test_transfer_divides_votes_by_brute_force() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 3, size=(50, 7))
    labels[:3] = np.arange(3)[:, None]
    ensemble = Ensemble.from_labels(labels)
    groups = rng.integers(-1, 4, size=50)
    groups[:4] = np.arange(4)
    transfer = LabelTransfer.of(ensemble, groups)
    new = rng.integers(-2, 3, size=(20, 7))
    new[0] = -1
    votes = np.zeros((20, 4))
    for i in range(7):
        inside = (labels[:, i] >= 0) & (groups >= 0)
        known = mutual_info_score(labels[inside, i], groups[inside]) * inside.sum()
        weight = (known / (groups >= 0).sum() / entropy(np.bincount(groups[groups >= 0]))) ** 2
        for x in np.flatnonzero(new[:, i] >= 0):
            own = groups[(labels[:, i] == new[x, i])]
            own = own[own >= 0]
            votes[x] += weight * np.log(np.bincount(own, minlength=4) / own.size + 0.02)
    found = transfer.predict(new)
    assert found[0] == -1
    np.testing.assert_array_equal(found[1:], votes[1:].argmax(axis=1))
    assert not transfer.membership(new)[0].any()


@pytest.mark.parametrize("make", [random_features, random_projection])
def test_presets_on_columns_predict(make) -> None:
    X, y = blobs(600, d=8)
    options = {"dims": 3} if make is random_projection else {}
    generator = make(10, n_clusters=4, random_state=0, **options)
    model = ConsensusClustering(4, generator=generator, n_references=0, random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).mean() > 0.95
