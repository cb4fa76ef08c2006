"""Affinity of points for any clustering: representatives, spaces, weights, tables, new points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.neighbors import KNeighborsTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape import ConsensusClustering, EnsembleGenerator
from clusterscape.combine import ConsensusWarning
from clusterscape.compare import element_centric, element_consistency
from clusterscape.plot import SilhouetteDisplay
from clusterscape.validate import (
    ActiveClustering,
    Affinity,
    AffinityMap,
    cluster_stability,
    clusterability,
    dunn_index,
    resampling_consensus,
    s_dbw,
    sd_index,
    stability,
    structure_test,
    sweep,
)
from clusterscape.validate.references import SmoothShape


def blobs(seed: int, k: int = 4, d: int = 6, n: int = 40, spread: float = 1.0):
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(k, d))
    labels = np.repeat(np.arange(k), n)
    return centers[labels] + spread * rng.normal(size=(k * n, d)), labels


# ---- what the certificates are ------------------------------------------------------------------


def test_shares_lie_between_representatives(seed: int) -> None:
    X, labels = blobs(seed)
    found = Affinity().fit(X, labels)
    assert found.affinity_.shape == (160, 4)
    assert found.affinity_.sum(axis=1) == pytest.approx(np.ones(160))
    assert found.stability_ == pytest.approx(found.affinity_.max(axis=1))
    assert found.aggregate_stability_ == pytest.approx(found.stability_.mean())
    inside = ~found.certificates_.outside
    # Within the hull the weighted mean of the representatives is the projected point.
    axes = np.linalg.svd(found.representatives_ - found.representatives_.mean(0))[2][:3]
    gap = (found.affinity_ @ found.representatives_ - X) @ axes.T
    assert np.abs(gap[inside]).max(initial=0) < 1e-9
    place = found.affinity_ @ found.representatives_
    residual = (X - place) - ((X - place) @ axes.T) @ axes
    assert np.linalg.norm(residual, axis=1) == pytest.approx(found.certificates_.off_hull, abs=1e-9)


def test_turning_moving_and_scaling_the_data_change_nothing(seed: int) -> None:
    """T-04, in more dimensions than there are clusters and in fewer; with the box as well."""
    rng = np.random.default_rng(seed)
    for d, bound in ((6, "project"), (2, "project"), (2, "limit"), (2, "box"), (3, "box")):
        X, labels = blobs(seed, d=d)
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
        first = Affinity(bound=bound).fit(X, labels).affinity_
        again = Affinity(bound=bound).fit(0.01 * X @ turn - 3.0, labels).affinity_
        assert np.abs(first - again).max() < 1e-8, (d, bound)


def test_two_clusters_have_a_closed_form(seed: int) -> None:
    X, labels = blobs(seed, k=2, d=7)
    found = Affinity().fit(X, labels)
    a, b = found.representatives_
    t = np.clip((X - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    assert found.affinity_ == pytest.approx(np.column_stack([1 - t, t]), abs=1e-9)


@pytest.mark.parametrize("kind", ["mean", "median", "medoid"])
def test_representatives(kind: str, seed: int) -> None:
    X, labels = blobs(seed)
    labels = labels.copy()
    labels[:3] = -1
    found = Affinity(representative=kind).fit(X, labels).representatives_
    for c in range(4):
        part = X[labels == c]
        expected = {
            "mean": part.mean(axis=0),
            "median": np.median(part, axis=0),
            "medoid": part[((part[:, None] - part) ** 2).sum(axis=(1, 2)).argmin()],
        }[kind]
        assert found[c] == pytest.approx(expected)


def test_given_representatives_need_no_labels() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.1], [4.0, 0.0]])
    found = Affinity(representative=[[0.0, 0.0], [4.0, 0.0]]).fit(X)
    assert found.labels_.tolist() == [0, 0, 1]
    assert found.affinity_ == pytest.approx(np.array([[1, 0], [0.75, 0.25], [0, 1]]))
    with pytest.raises(ValueError, match="pass the clustering"):
        Affinity().fit(X)
    with pytest.raises(ValueError, match="2 rows and the labels 3 clusters"):
        Affinity(representative=[[0.0, 0.0], [4.0, 0.0]]).fit(X, [0, 1, 2])
    with pytest.raises(ValueError, match="finite numbers in 2 columns"):
        Affinity(representative=[[0.0, 0.0, 1.0]]).fit(X)


def test_sparse_data_have_the_certificates_of_dense_data(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.4, size=(60, 30)).astype(float)
    labels = rng.integers(0, 4, 60)
    for kind in ("mean", "median", "medoid"):
        dense = Affinity(representative=kind).fit(X, labels)
        thin = Affinity(representative=kind).fit(sparse.csr_matrix(X), labels)
        assert thin.affinity_ == pytest.approx(dense.affinity_, abs=1e-8)
        assert thin.certificates_.off_hull == pytest.approx(dense.certificates_.off_hull, abs=1e-6)


def test_leaving_a_point_out_is_fitting_without_it(seed: int) -> None:
    for d, k in ((6, 4), (2, 4), (3, 3)):
        X, labels = blobs(seed, k=k, d=d, n=8, spread=3.0)
        found = Affinity(leave_one_out=True).fit(X, labels)
        for x in range(0, len(X), 5):
            rest = np.arange(len(X)) != x
            own = Affinity().fit(X[rest], labels[rest]).score(X[x : x + 1])
            assert found.affinity_[x] == pytest.approx(own.shares[0], abs=1e-7)
            assert found.certificates_.off_hull[x] == pytest.approx(own.off_hull[0], abs=1e-7)
    lonely = Affinity(leave_one_out=True).fit([[0.0], [1.0], [5.0]], [0, 0, 1])
    assert lonely.affinity_[2].tolist() == [0, 1]


# ---- kernels, divergences, weights --------------------------------------------------------------


def test_the_linear_kernel_is_the_plain_space(seed: int) -> None:
    X, labels = blobs(seed)
    plain, lifted = Affinity().fit(X, labels), Affinity(kernel="linear").fit(X, labels)
    assert lifted.affinity_ == pytest.approx(plain.affinity_, abs=1e-6)
    assert lifted.certificates_.off_hull == pytest.approx(plain.certificates_.off_hull, abs=1e-4)
    new = X[:5] + 0.3
    assert lifted.score(new).shares == pytest.approx(plain.score(new).shares, abs=1e-6)


def test_a_kernel_separates_rings_with_one_middle() -> None:
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    labels = np.repeat([0, 1], 100)
    X = (np.repeat([1.0, 4.0], 100) * np.stack([np.cos(angle), np.sin(angle)])).T
    plain = Affinity().fit(X, labels).affinity_[np.arange(200), labels]
    lifted = Affinity(kernel="rbf", gamma=0.5).fit(X, labels).affinity_[np.arange(200), labels]
    assert lifted.min() > 0.8
    assert lifted.mean() > plain.mean() + 0.2


def divergence(name: str, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    if name == "kl":
        return (p * np.log(p / c) - p + c).sum(axis=-1)
    return (p / c - np.log(p / c) - 1).sum(axis=-1)


@pytest.mark.parametrize("name", ["kl", "itakura_saito"])
def test_cells_of_divergences_by_counting(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.5, 4, size=(30, 2))
    labels = np.arange(30) % 4
    found = Affinity(divergence=name).fit(X, labels)
    centers = found.representatives_
    high = X.max(axis=0) + 0.5 * (X.max(axis=0) - np.minimum(X.min(axis=0), centers.min(axis=0)))
    dots = rng.uniform(0, 1, size=(200_000, 2)) * high
    own = divergence(name, dots[:, None], centers)
    for x in range(4):
        mine = divergence(name, dots, X[x]) < own.min(axis=1)
        expected = np.bincount(own[mine].argmin(axis=1), minlength=4) / mine.sum()
        assert np.abs(found.affinity_[x] - expected).max() < 5 / np.sqrt(mine.sum())
    assert found.certificates_.clipped.all()


def test_histograms_are_measured_among_histograms(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.dirichlet([2.0, 2.0, 2.0], size=30)
    found = Affinity(divergence="kl").fit(X, np.arange(30) % 3)
    assert not found.certificates_.clipped.any()
    dots = rng.dirichlet([1.0, 1.0, 1.0], size=200_000)
    own = divergence("kl", dots[:, None], found.representatives_)
    for x in range(4):
        mine = divergence("kl", dots, X[x]) < own.min(axis=1)
        expected = np.bincount(own[mine].argmin(axis=1), minlength=3) / mine.sum()
        assert np.abs(found.affinity_[x] - expected).max() < 5 / np.sqrt(mine.sum())
    with pytest.raises(ValueError, match="rows must sum to 1"):
        found.score([[0.5, 0.4, 0.3]])


def test_divergences_need_positive_data_of_few_columns() -> None:
    X = np.ones((4, 2))
    X[0, 0] = 0.0
    with pytest.raises(ValueError, match=r"divergence='kl' needs positive ones"):
        Affinity(divergence="kl").fit(X, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="at most 20 are supported"):
        Affinity(divergence="kl").fit(np.ones((4, 21)), [0, 0, 1, 1])


def test_weights_move_the_borders(seed: int) -> None:
    X = np.array([[0.0, 0], [4, 0], [2, 3], [1.9, 1.0]])
    centers = X[:3]
    plain = Affinity(representative=centers).fit(X).affinity_[3]
    heavy = Affinity(representative=centers, weights=[20.0, 0, 0]).fit(X)
    assert heavy.certificates_.empty[3]
    assert heavy.affinity_[3].tolist() == [1, 0, 0]
    assert plain.max() < 0.5
    sizes = Affinity(weights="size", weight_scale="auto")
    Y, labels = blobs(seed, d=2)
    keep = np.concatenate([np.arange(40), np.arange(40, 160, 4)])
    light, weighed = Affinity().fit(Y[keep], labels[keep]), sizes.fit(Y[keep], labels[keep])
    assert np.abs(light.affinity_ - weighed.affinity_).max() > 1e-3
    assert weighed._sites.weights.argmax() == 0
    dense = clone(sizes).set_params(weights="density").fit(Y[keep], labels[keep])
    assert (dense._sites.weights > 0).all()
    with pytest.raises(ValueError, match="3 finite numbers"):
        Affinity(representative=centers, weights=[1.0, 2.0]).fit(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "rbf", "divergence": "kl"}, "two ways to measure"),
        ({"kernel": "rbf", "representative": "median"}, "means of the clusters"),
        ({"kernel": "rbf", "weights": "size"}, "cannot be combined with weights"),
        ({"divergence": "kl", "leave_one_out": True}, "cannot be combined with leave_one_out"),
        ({"leave_one_out": True, "representative": "medoid"}, "out of a mean"),
    ],
)
def test_choices_that_exclude_each_other(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Affinity(**options).fit(np.ones((4, 2)) + np.arange(4)[:, None], [0, 0, 1, 1])


# ---- odd clusterings ----------------------------------------------------------------------------


def test_representatives_in_one_place_share() -> None:
    X = np.array([[-1.0, 0], [1, 0], [0, -1], [0, 1], [5, 0], [5, 0]])
    found = Affinity().fit(X, [0, 0, 1, 1, 2, 2])
    assert found.affinity_[0] == pytest.approx([0.5, 0.5, 0])
    assert found.affinity_[4] == pytest.approx([0, 0, 1])


@pytest.mark.parametrize("bound", ["project", "limit", "box", "nearest"])
def test_data_far_from_the_origin_have_the_certificates_of_near_ones(bound: str) -> None:
    """The rounding of large numbers is no dimension of the hull of the representatives."""
    far, labels = blobs(0, k=3, d=5)
    far += 1e8
    made = Affinity(bound=bound).fit(far, labels)
    near = Affinity(bound=bound).fit(far - 1e8, labels)
    assert made.certificates_.outside.tolist() == near.certificates_.outside.tolist()
    assert made.affinity_ == pytest.approx(near.affinity_, abs=1e-6)


def test_results_fit_on_a_screen(seed: int) -> None:
    X, labels = blobs(seed, k=3, d=2)
    for found in (
        Affinity().fit(X, labels).certificates_,
        clusterability(X, 3, n_references=3, random_state=0),
        cluster_stability(X, KMeans(3, n_init=1), n_resamples=3, random_state=0),
        structure_test(X, random_state=0),
        sweep(KMeans(n_init=1), {"n_clusters": [2, 3]}, X, n_resamples=1, random_state=0),
    ):
        text = repr(found)
        assert text.startswith(type(found).__name__)
        assert len(text) < 600


@pytest.mark.parametrize("bound", ["project", "limit", "box", "nearest"])
def test_clusters_that_are_all_in_one_place_share_everything(bound: str) -> None:
    found = Affinity(bound=bound).fit(np.ones((10, 3)), np.repeat([0, 1], 5))
    assert found.affinity_.tolist() == [[0.5, 0.5]] * 10


def test_one_cluster_is_certain_and_none_is_refused() -> None:
    X = np.random.default_rng(0).normal(size=(10, 3))
    found = Affinity().fit(X, np.zeros(10, int)).certificates_
    assert found.stability.tolist() == [1.0] * 10
    assert np.isnan(found.chance_corrected)  # one cluster cannot do better than chance
    assert found.per_cluster()["chance_corrected"].isna().all()
    assert found.to_frame()["runner_up"].isna().all()
    with pytest.raises(ValueError, match="there is no cluster"):
        Affinity().fit(X, np.full(10, -1))
    with pytest.raises(ValueError, match="9 entries for 10 rows"):
        Affinity().fit(X, np.zeros(9, int))


def test_noise_points_have_shares_and_no_cluster(seed: int) -> None:
    X, _ = blobs(seed, d=2)
    labels = DBSCAN(eps=1.0).fit_predict(X)
    assert (labels == -1).any()
    found = Affinity().fit(X, labels).certificates_
    frame = found.to_frame()
    assert (frame.loc[labels == -1, "cluster"] == -1).all()
    assert frame.loc[labels == -1, "own_share"].isna().all()
    assert frame["stability"].notna().all()
    assert found.per_cluster()["size"].sum() == (labels >= 0).sum()


def test_names_and_ids_are_kept() -> None:
    X = pd.DataFrame({"a": [0.0, 0.2, 4.0, 4.2, 2.4]}, index=list("vwxyz"))
    found = Affinity().fit(X, ["left", "left", "right", "right", "right"])
    frame = found.certificates_.to_frame(shares=True)
    assert frame.index.tolist() == list("vwxyz")
    assert frame.loc["z", ["cluster", "runner_up"]].tolist() == ["right", "left"]
    assert {"share_left", "share_right"} <= set(frame)
    assert (frame["share_left"] + frame["share_right"]).to_numpy() == pytest.approx(np.ones(5))
    assert found.certificates_.per_cluster().index.tolist() == ["left", "right"]
    new = found.score(pd.DataFrame({"a": [0.1]}, index=["new"])).to_frame()
    assert new.loc["new", "cluster"] == "left"


@pytest.mark.parametrize(
    "call",
    [
        stability, dunn_index, sd_index, s_dbw, SilhouetteDisplay.from_predictions,
        lambda X, labels: clusterability(X, labels=labels),
        lambda X, labels: cluster_stability(X, KMeans(3), labels=labels, n_resamples=1),
        lambda X, labels: AffinityMap(max_depth=0).fit(X, labels),
    ],
)  # fmt: skip
def test_labels_with_the_ids_in_another_order_are_refused(call) -> None:
    values, codes = blobs(0, k=3, d=2, n=8)
    X = pd.DataFrame(values, index=[f"p{i}" for i in range(24)])
    labels = pd.Series(codes, index=X.index)
    call(X, labels)
    with pytest.raises(ValueError, match=r"X and labels have different indexes: row 0 of X is 'p0"):
        call(X, labels[::-1])


def test_a_model_of_the_points_in_another_order_is_refused() -> None:
    values, _ = blobs(0, k=3, d=2, n=12)
    X = pd.DataFrame(values, index=[f"p{i}" for i in range(36)])
    model = ConsensusClustering(3, n_partitions=4, n_references=0, random_state=0).fit(X)
    Affinity().fit(X, model=model)
    with pytest.raises(ValueError, match="different indexes"):
        Affinity().fit(X[::-1], model=model)


# ---- tables and aggregates ----------------------------------------------------------------------


def test_aggregates_are_those_of_the_points(seed: int) -> None:
    X, labels = blobs(seed, spread=4.0)
    found = Affinity(threshold=0.6).fit(X, labels).certificates_
    frame, clusters, summary = found.to_frame(), found.per_cluster(), found.summary()
    sigma = found.shares.max(axis=1)
    assert summary["stability"] == pytest.approx(sigma.mean())
    assert summary["chance_corrected"] == pytest.approx((sigma.mean() - 0.25) / 0.75)
    assert summary["n_unstable"] == (sigma <= 0.6).sum()
    assert clusters["stability"].to_numpy() == pytest.approx(
        frame.groupby("cluster")["stability"].mean().to_numpy()
    )
    share = np.sort(found.shares, axis=1)
    assert frame["runner_up_share"].to_numpy() == pytest.approx(share[:, -2])
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(found.shares > 0, found.shares * np.log(found.shares), 0)
    assert frame["entropy"].to_numpy() == pytest.approx(-terms.sum(axis=1))


def test_a_model_adds_its_confidence_and_consistency() -> None:
    X, _ = blobs(0, d=2)
    generator = EnsembleGenerator(12, n_clusters=(2, 8), progress=False)
    model = ConsensusClustering(4, generator=generator, n_references=0, random_state=0).fit(X)
    frame = Affinity().fit(X, model=model).certificates_.to_frame()
    assert frame["cluster"].tolist() == model.labels_.tolist()
    assert frame["confidence"].to_numpy() == pytest.approx(model.confidence_, nan_ok=True)
    assert frame["consistency"].to_numpy() == pytest.approx(element_consistency(model.ensemble_))
    with pytest.raises(ValueError, match="about 160 points, and X has 10 rows"):
        Affinity().fit(X[:10], model.labels_[:10], model=model)


def test_consistency_is_the_mean_over_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    votes = rng.integers(-2, 4, size=(30, 5))
    found = element_consistency(votes)
    expected = np.zeros(30)
    counts = np.zeros(30)
    for i in range(5):
        for j in range(i + 1, 5):
            both = (votes[:, i] > -2) & (votes[:, j] > -2)
            a, b = votes[both, i], votes[both, j]
            names = 100 + np.arange(both.sum())
            a, b = np.where(a == -1, names, a), np.where(b == -1, names, b)
            same = (a[:, None] == a) & (b[:, None] == b)
            larger = np.maximum((a[:, None] == a).sum(axis=1), (b[:, None] == b).sum(axis=1))
            expected[both] += same.sum(axis=1) / larger
            counts[both] += 1
    with np.errstate(invalid="ignore"):
        assert found == pytest.approx(expected / counts, nan_ok=True)
    whole = np.maximum(votes, 0)
    pairs = [element_centric(whole[:, i], whole[:, j]) for i in range(5) for j in range(i + 1, 5)]
    assert element_consistency(whole).mean() == pytest.approx(np.mean(pairs))


def test_the_result_depends_on_neither_workers_nor_order_of_calls() -> None:
    X, labels = blobs(0, k=8, d=5, n=300)
    options = {"random_state": 0, "n_samples": 64}
    one = Affinity(**options).fit(X, labels)
    two = Affinity(n_jobs=2, **options).fit(X, labels)
    assert (one.affinity_ == two.affinity_).all()
    assert (one.certificates_.standard_error == two.certificates_.standard_error).all()
    assert one.certificates_.samples.max() > 0
    assert (one.score(X[:50]).shares == two.score(X[:50]).shares).all()
    other = Affinity(random_state=1, n_samples=64).fit(X, labels)
    assert (one.affinity_ != other.affinity_).any()


def test_exact_is_refused_in_words() -> None:
    X, labels = blobs(0, k=8, d=5)
    with pytest.raises(ValueError, match=r"method='exact'.*8 centres in 5 dimensions"):
        Affinity(method="exact").fit(X, labels)
    with pytest.raises(ValueError, match=r"method='exact'.*5 columns.*'kl'"):
        Affinity(method="exact", divergence="kl").fit(np.exp(X), labels)
    with pytest.raises(ValueError, match=r"method='exact'.*'limit'"):
        Affinity(method="exact", bound="limit").fit(X[labels < 4], labels[labels < 4])


def test_stability_is_the_largest_share() -> None:
    X, labels = blobs(0)
    assert (stability(X, labels) == Affinity().fit(X, labels).stability_).all()


# ---- maps ---------------------------------------------------------------------------------------


def test_a_map_is_right_at_its_corners_and_near_a_full_grid(seed: int) -> None:
    X, labels = blobs(seed, k=4, d=2)
    coarse = AffinityMap(max_depth=4).fit(X, labels)
    full = AffinityMap(max_depth=4, tau=1.0).fit(X, labels)
    assert coarse.n_evaluations_ == len(coarse.corners_) < coarse.n_full_
    direct = Affinity().fit(X, labels).score(coarse.to_features(coarse.corners_))
    assert coarse.stability_ == pytest.approx(direct.stability, abs=1e-12)
    gap = np.abs(coarse.picture() - full.picture())
    assert gap.mean() < 0.02
    area = (coarse.sizes_).prod(axis=1).sum()
    assert area == pytest.approx(full.sizes_.prod(axis=1).sum())


def test_maps_in_space_and_on_planes(seed: int) -> None:
    X, labels = blobs(seed, d=3)
    solid = AffinityMap(max_depth=2).fit(X, labels)
    assert solid.picture().ndim == 3
    Y, labels = blobs(seed, d=8)
    flat = AffinityMap(max_depth=3).fit(Y, labels)
    assert flat.points_.shape == (160, 2)
    assert flat.to_features(flat.corners_).shape[1] == 8
    named = AffinityMap(max_depth=1, plane=np.eye(8)[:2]).fit(
        pd.DataFrame(Y).add_prefix("f"), labels
    )
    assert named.points_ == pytest.approx(Y[:, :2] - Y[:, :2].mean(axis=0))
    with pytest.raises(ValueError, match="at least two columns"):
        AffinityMap().fit(Y[:, :1], labels)
    with pytest.raises(ValueError, match="plane must have two different directions"):
        AffinityMap(plane=np.ones((2, 8))).fit(Y, labels)


# ---- active clustering --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::clusterscape.combine.ConsensusWarning")
@pytest.mark.filterwarnings("ignore::clusterscape.generate.GenerationWarning")
@parametrize_with_checks([ActiveClustering(2, random_state=0)])
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)


def test_samples_are_those_of_the_recipe() -> None:
    X, labels = blobs(0, k=3, d=2, n=1000, spread=0.7)
    model = ActiveClustering(3, random_state=0).fit(X)
    size = round(5 * np.sqrt(3000))
    assert model.sample_.size == size == np.unique(model.sample_).size
    pools = model.stability_ > 0.5
    wanted = round(0.75 * size)
    lacking = max(0, size - wanted - int((~pools).sum()))
    assert model.stable_.sum() == wanted + lacking
    assert (model.stable_ == pools[model.sample_]).all()
    assert element_centric(model.labels_, labels) > 0.8
    assert (model.predict(X[:9]) == ActiveClustering(3, random_state=0).fit(X).predict(X[:9])).all()
    drawn = ActiveClustering(3, sampling="random", random_state=0).fit(X)
    assert drawn.stability_ is None
    assert drawn.sample_.size == size
    # Seeds that were moved for long are the means of the clusters.
    moved = ActiveClustering(3, n_steps=20, random_state=0).fit(X)
    means = np.array([X[labels == c].mean(axis=0) for c in range(3)])
    expected = Affinity(representative=means).fit(X).stability_
    assert np.abs(moved.stability_ - expected).mean() < 0.02
    pairs = np.repeat(X[[0, -1]], 30, axis=0)  # two of three seeds are in one place
    options = {"n_steps": 1, "algorithms": ["kmeans"], "random_state": 0}
    with pytest.warns(ConsensusWarning, match="n_clusters=3 was asked for and 2 returned"):
        assert ActiveClustering(3, **options).fit(pairs).n_clusters_ == 2
    with pytest.raises(ValueError, match="n_clusters=9 is more than the 4 samples"):
        ActiveClustering(9).fit(X[:4])


def test_sparse_samples_are_clustered_as_dense_ones() -> None:
    X, _ = blobs(0, k=3, d=6, n=60)
    X[X < 1] = 0.0
    dense = ActiveClustering(3, random_state=0).fit(X)
    found = ActiveClustering(3, random_state=0).fit(sparse.csr_array(X))
    assert (found.sample_ == dense.sample_).all()
    assert (found.labels_ == dense.labels_).all()


# ---- clusterability and clusters under resampling -----------------------------------------------


def test_references_keep_skewness_tails_and_correlations() -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(20_000, 2)) @ np.linalg.cholesky([[1, 0.6], [0.6, 1]]).T
    X = np.column_stack([np.exp(z[:, 0]), 3 + 2 * z[:, 1], rng.random(20_000), z[:, 0] > 1])
    shape = SmoothShape.of(X)
    # A lognormal column is the curve with g = 1 and h = 0, a normal one that with g = h = 0.
    np.testing.assert_allclose(shape.skew[:2], [1, 0], atol=0.05)
    np.testing.assert_allclose(shape.tails[:2], 0, atol=0.03)
    np.testing.assert_allclose(shape.scale[:2], [1, 2], rtol=0.05)
    assert shape.tails[2] < -0.1  # lighter than normal
    assert (shape.skew[3], shape.tails[3]) == (0, 0)  # a column of steps
    drawn = shape.reference(20_000, rng)
    assert spearmanr(drawn[:, 0], drawn[:, 1])[0] == pytest.approx(
        spearmanr(X[:, 0], X[:, 1])[0], abs=0.03
    )
    np.testing.assert_allclose(
        np.quantile(drawn[:, :2], [0.1, 0.5, 0.9], axis=0),
        np.quantile(X[:, :2], [0.1, 0.5, 0.9], axis=0),
        atol=0.15,  # four standard errors of two samples
    )


def test_references_can_have_the_very_correlations_of_the_data() -> None:
    X = np.random.default_rng(0).normal(size=(60, 5))
    shape, rng = SmoothShape.of(X), np.random.default_rng(1)
    straight = replace(shape, skew=np.zeros(5), tails=np.zeros(5), scale=np.ones(5))
    found = np.cov(straight.reference(80, rng, same_correlations=True).T, bias=True)
    assert found == pytest.approx(shape.root.T @ shape.root)


@pytest.mark.parametrize("draw", ["lognormal", "uniform"])
def test_skewed_and_flat_data_are_not_clusterable(draw: str) -> None:
    rng = np.random.default_rng(0)
    settings = {"n_references": 19, "n_init": 2, "random_state": 0}
    found = [
        clusterability(getattr(rng, draw)(size=(120, 5)), 2, **settings).p_value for _ in range(6)
    ]
    assert sum(p <= 0.05 for p in found) <= 2


def test_clusterability_falls_with_the_spread() -> None:
    found = []
    for spread in (0.3, 1.0, 4.0):
        X, _ = blobs(0, k=4, d=2, spread=spread)
        found.append(clusterability(X, 4, random_state=0).stability)
    assert found[0] > found[1] > found[2]
    X, labels = blobs(0, k=4, d=2, spread=0.3)
    tested = clusterability(X, 4, n_references=9, random_state=0)
    assert tested.p_value == 0.1
    assert tested.references.size == 9
    assert clusterability(X, labels=labels).stability == pytest.approx(tested.stability)
    labels = np.where(np.arange(len(X)) % 5 == 0, -1, labels)
    tested, made = clusterability(X, labels=labels), Affinity()
    summary = made.fit(X, labels).certificates_.summary()
    assert tested.n_unstable == summary["n_unstable"]  # noise is neither stable nor unstable
    assert tested.stable_share == summary["stable_share"]
    clusterability(X[:20], 2, affinity=made)
    assert len(made.labels_) == len(X)  # what the caller fitted stays as it was
    with pytest.raises(ValueError, match="give the number of clusters"):
        clusterability(X)
    with pytest.raises(ValueError, match="leave labels out"):
        clusterability(X, labels=labels, n_references=3)


def test_clusters_that_exist_are_found_again() -> None:
    X, labels = blobs(0, k=3, d=2, spread=0.2)
    options = {"n_resamples": 15, "random_state": 0}
    good = cluster_stability(X, KMeans(3, n_init=3), **options)
    assert (good.table["jaccard"] > 0.95).all()
    assert (good.table["recovered"] == 1).all()
    cut = cluster_stability(X, KMeans(6, n_init=1), **options)
    assert cut.table["jaccard"].min() < 0.75
    again = cluster_stability(X, KMeans(6, n_init=1), n_jobs=2, **options)
    assert (cut.similarities == again.similarities).all()
    part = cluster_stability(X, KMeans(3, n_init=3), scheme="subsample", labels=labels, **options)
    assert (part.table["jaccard"] > 0.95).all()


def test_best_jaccard_by_hand() -> None:
    from clusterscape.validate.resampling import _best_jaccard

    old = np.array([0, 0, 0, 1, 1, 1, -1])
    new = np.array([0, 0, 1, 1, 1, 2, -1])
    # {0,1,2} and {0,1}: 2/3; {3,4,5} and {2,3,4}: 2/4.
    assert _best_jaccard(old, new, 3)[:2] == pytest.approx([2 / 3, 0.5])
    assert np.isnan(_best_jaccard(old, new, 3)[2])


def test_failed_resamples_are_reported() -> None:
    X, labels = blobs(0, k=2, d=2, n=6)
    found = cluster_stability(
        X, KMeans(7, n_init=1), labels=labels, scheme="subsample", ratio=0.3, n_resamples=3,
        random_state=0,
    )  # fmt: skip
    assert len(found.failures) == 3
    assert found.table["jaccard"].isna().all()
    with pytest.raises(TypeError, match="must have fit_predict"):
        cluster_stability(X, object())
    with pytest.raises(TypeError, match="must have fit_predict"):
        cluster_stability(KMeans(2), X)


def test_distances_between_points_are_resampled_both_ways() -> None:
    X, _ = blobs(0, k=3, d=2, spread=0.5)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    options = {"n_resamples": 5, "random_state": 0}
    plain = cluster_stability(X, AgglomerativeClustering(3, linkage="average"), **options)
    for metric in ("precomputed", "euclidean"):
        made = AgglomerativeClustering(3, metric=metric, linkage="average")
        found = cluster_stability(distances if metric == "precomputed" else X, made, **options)
        assert not found.failures
        assert (found.similarities == plain.similarities).all()
    # The first step of a pipeline sees the data.
    graph = make_pipeline(KNeighborsTransformer(mode="distance"), DBSCAN(metric="precomputed"))
    assert not cluster_stability(X, graph, **options).failures
    with pytest.raises(ValueError, match=r"between the points.*120 rows and 80 columns"):
        cluster_stability(distances[:, :80], DBSCAN(metric="precomputed"))


MATRIX = {
    "cluster_stability": lambda X: cluster_stability(X, KMeans(2), n_resamples=1, random_state=0),
    "clusterability": lambda X: clusterability(X, 2, random_state=0),
    "dunn_index": lambda X: dunn_index(X, np.arange(12) % 2),
    "resampling_consensus": lambda X: resampling_consensus(
        X, (2, 2), n_resamples=2, random_state=0, progress=False
    ),
    "structure_test": lambda X: structure_test(X, random_state=0),
    "sweep": lambda X: sweep(KMeans(2), {}, X, n_resamples=1, random_state=0, progress=False).table[
        "silhouette"
    ],
}


@pytest.mark.parametrize("name", MATRIX)
def test_one_matrix_of_finite_numbers_is_needed(name: str) -> None:
    from_array = pytest.importorskip("dask.array").from_array
    call, X = MATRIX[name], np.random.default_rng(0).normal(size=(12, 2))
    assert repr(call(from_array(X, chunks=(5, 2)))) == repr(call(X))
    with pytest.raises(ValueError, match="X holds 2 matrices, and one is needed"):
        call([X, X])
    far = X.copy()
    far[3, 1], far[4, 0] = np.inf, -np.inf
    with pytest.raises(ValueError, match="X has infinity in row 3, column 1"):
        call(far)
    with pytest.raises(TypeError, match="column 'word' of type"):
        call(pd.DataFrame(X).assign(word=list("abcdef") * 2))


# ---- classical indices --------------------------------------------------------------------------


def test_indices_by_hand(seed: int) -> None:
    X, labels = blobs(seed, k=3, d=2, n=7)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    same = labels[:, None] == labels
    assert dunn_index(X, labels) == pytest.approx(distances[~same].min() / distances[same].max())
    means = np.stack([X[labels == c].mean(axis=0) for c in range(3)])
    scat = np.mean([np.linalg.norm(X[labels == c].var(axis=0)) for c in range(3)])
    scat /= np.linalg.norm(X.var(axis=0))
    gaps = np.linalg.norm(means[:, None] - means, axis=2)
    spacing = gaps.max() / gaps[gaps > 0].min() * sum(1 / gaps[c].sum() for c in range(3))
    assert sd_index(X, labels, alpha=2.0) == pytest.approx(2 * scat + spacing)
    radius = np.sqrt(sum(np.linalg.norm(X[labels == c].var(axis=0)) for c in range(3))) / 3
    dense = 0.0
    for i in range(3):
        for j in range(3):
            if i != j:
                both = X[(labels == i) | (labels == j)]
                count = [
                    np.sum(np.linalg.norm(both - p, axis=1) <= radius)
                    for p in (means[i], means[j], (means[i] + means[j]) / 2)
                ]
                dense += count[2] / max(count[0], count[1], 1)
    assert s_dbw(X, labels) == pytest.approx(scat + dense / 6)


def test_clusters_that_touch_are_not_apart() -> None:
    assert dunn_index([[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]) == np.inf
    assert dunn_index(np.ones((4, 1)), [0, 0, 1, 1]) == 0.0
    assert dunn_index(np.ones((4, 1)), [0, 0, 1, 1], variant="centroid") == 0.0


def test_indices_prefer_the_right_partition(seed: int) -> None:
    X, labels = blobs(seed, k=3, d=2, spread=0.3)
    wrong = np.random.default_rng(seed).permutation(labels)
    assert dunn_index(X, labels) > dunn_index(X, wrong)
    centroid = [dunn_index(X, y, variant="centroid") for y in (labels, wrong)]
    assert centroid[0] > centroid[1]
    assert sd_index(X, labels) < sd_index(X, wrong)
    assert s_dbw(X, labels) < s_dbw(X, wrong)
    with pytest.raises(ValueError, match="needs two clusters"):
        dunn_index(X, np.zeros(120, int))


@pytest.mark.parametrize("named", [False, True])
def test_noise_and_unseen_points_are_two_things_and_never_stable(named) -> None:
    X = np.array([[0.0], [1.0], [9.0], [10.0], [5.1], [0.4], [9.5]])
    labels = np.array([0, 0, 1, 1, -1, -1, -2])
    if named:
        labels = np.array(["a", "a", "b", "b", "-1", "-1", "-2"])
    found = Affinity().fit(X, labels).certificates_
    assert found.to_frame()["cluster"].tolist() == labels.tolist()
    assert found.stable.tolist() == [True] * 4 + [False] * 3
    assert found.stability[5] > 0.9  # amid a cluster, and yet not of it
    summary = found.summary()
    assert (summary["n_noise"], summary["n_unsampled"], summary["n_unstable"]) == (2, 1, 0)
    assert summary["stable_share"] == 1.0
    without = Affinity().fit(X[:4], labels[:4]).certificates_
    assert summary["stability"] == pytest.approx(without.aggregate)
    assert summary["chance_corrected"] == pytest.approx(without.chance_corrected)
    pd.testing.assert_frame_equal(found.per_cluster(), without.per_cluster())


def test_points_in_one_cluster_and_unseen_ones_can_leave_their_mean() -> None:
    X = np.array([[0.0], [1.0], [2.0]])
    found = Affinity(leave_one_out=True).fit(X, [0, 0, -2])
    assert found.labels_.tolist() == [0, 0, -2]


def test_maps_divide_only_what_interpolation_misses() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    X = 4 * np.eye(3, 2)[y] + 0.5 * rng.normal(size=(150, 2))
    plain = AffinityMap(n_cells=64, tau=0.9, tolerance=0.0, max_depth=4).fit(X, y)
    fewer = AffinityMap(n_cells=64, tau=0.9, tolerance=0.01, max_depth=4).fit(X, y)
    assert fewer.n_evaluations_ < 0.5 * plain.n_evaluations_
    assert np.abs(fewer.picture() - plain.picture()).max() < 0.02
    table = fewer.to_frame()
    again = fewer.affinity_.score(table[["x0", "x1"]].to_numpy())
    np.testing.assert_allclose(table["stability"], again.stability)
    assert table["strongest"].tolist() == again.shares.argmax(axis=1).tolist()
    assert fewer.depth_.max() == 4
