"""Columns of B weighted by reliability, in every method that takes them, against dense matrices."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from clusterscape import Ensemble
from clusterscape.combine import (
    CSPA,
    EAC,
    GCC,
    HBGF,
    HGPA,
    KCC,
    LWEA,
    LWGP,
    MCLA,
    METHODS,
    SCA,
    SEC,
    BagClust,
    LiftHAC,
    LiftKM,
    MajorityVote,
    SpectralConsensus,
    bagclust,
    cspa,
    eac,
    eci,
    hbgf,
    hgpa,
    kcc,
    majority,
    mcla,
    rce,
    sec,
    spectral,
)
from clusterscape.combine.eci import cluster_reliability
from clusterscape.combine.landmarks import extend
from clusterscape.combine.sec import NormalisedCut
from clusterscape.linalg.genie import genie
from clusterscape.linalg.mst import spanning_tree
from clusterscape.linalg.transfer_cut import transfer_cut

GRAPHS = {"cspa", "hgpa", "mcla", "hbgf", "gcc"}
WEIGHTED = [
    m for m in METHODS.values() if eci.WEIGHTING.keys() <= m.estimator._parameter_rules.keys()
]


def votes(seed: int, *, lowest: int = 0, soft: bool = False) -> Ensemble:
    """Return an ensemble of noisy copies of four groups, some of them split."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 15)
    labels = np.stack([truth * 2 + rng.integers(0, 1 + i % 2, 60) for i in range(6)], axis=1)
    stray = rng.random(labels.shape) < 0.15
    labels[stray] = rng.integers(lowest, 8, stray.sum())
    if soft:
        member = [np.eye(8)[labels[:, i]] * 0.8 + 0.025 for i in range(6)]
        return Ensemble.from_labels([sparse.csr_matrix(one) for one in member])
    return Ensemble.from_labels(labels, weights=rng.uniform(0.5, 2.0, 6))


def dense(ensemble: Ensemble, *, theta: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """Return B and the weights of its columns."""
    v = np.repeat(ensemble.weights, ensemble.n_clusters)
    return ensemble.membership().matrix.toarray(), v * cluster_reliability(ensemble, theta=theta)


def lwca(ensemble: Ensemble) -> np.ndarray:
    """Return the locally weighted co-association, over the partitions that sampled both points."""
    B, v = dense(ensemble)
    sampled = (ensemble.labels != -2).astype(float)
    both = (sampled * ensemble.weights) @ sampled.T
    return np.divide(B * v @ B.T, both, out=np.zeros_like(both), where=both > 0)


def made(estimator: type, **settings: Any) -> Any:
    names = inspect.signature(estimator).parameters
    if "random_state" in names:
        settings["random_state"] = 0
    if "relation" in names:
        settings["relation"] = "ensemble"
    return estimator(4, **settings) if "n_clusters" in names else estimator(**settings)


def fitted(method: Any, ensemble: Ensemble, **settings: Any) -> Any:
    """Fit, with features that show the groups a little where the method needs some."""
    X = np.repeat(np.eye(4), 15, axis=0) + np.random.default_rng(1).normal(size=(60, 4))
    features = {"features": X} if method.features == "needed" else {}
    return made(method.estimator, **settings).fit(ensemble, **features)


def test_the_methods_on_the_columns_of_b_are_there() -> None:
    names = {method.name for method in WEIGHTED}
    features = {"lsce", "nsce", "ikl"}
    pairs = {"sec", "kcc", "eac", "spectral", "lwgp", "sca", "rce", "majority_vote", "bagclust"}
    assert names >= GRAPHS | features | pairs | {"lift_km", "lift_hac"}
    # LWEA has always weights, a median is of distances between whole partitions, and a choice
    # among methods has them in its candidates.
    assert METHODS.keys() - names == {"lwea", "median_partition", "consensus_choice"}


@pytest.mark.parametrize("method", WEIGHTED, ids=lambda m: m.name)
@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
def test_full_reliability_changes_nothing(
    method: Any, kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method.name in GRAPHS:
        pytest.importorskip("pymetis")
    if kind == "soft" and not method.soft:
        pytest.skip("takes hard partitions only")
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    plain = fitted(method, ensemble, weighting=None)

    def ones(ensemble: Ensemble, *, theta: float) -> np.ndarray:
        return np.ones(int(ensemble.offsets[-1]))

    for module in (eci, kcc, rce):
        monkeypatch.setattr(module, "cluster_reliability", ones)
    same = fitted(method, ensemble, weighting="eci")
    if method.name in (
        "cspa",
        "gcc",
    ):  # whole numbers in another unit, and the partitioner draws again
        assert adjusted_rand_score(same.labels_, plain.labels_) > 0.8
        return
    np.testing.assert_array_equal(same.labels_, plain.labels_)
    if plain.cost_ is not None:
        assert same.cost_ == pytest.approx(plain.cost_, rel=1e-12)


@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
def test_counts_with_weighted_columns_are_those_of_the_dense_matrix(kind: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    B, v = dense(ensemble)
    S = B * v @ B.T
    counts = eci.weighted_counts(ensemble, "eci", 0.4)
    np.testing.assert_allclose(counts @ np.eye(60), S, atol=1e-12)
    np.testing.assert_allclose(counts.diagonal(), np.diag(S), atol=1e-12)
    shares = eci.with_weighted_columns(ensemble, v)
    expected = lwca(ensemble)
    np.testing.assert_allclose(shares.toarray(), expected, atol=1e-12)
    np.testing.assert_allclose(shares @ np.eye(60), expected, atol=1e-12)
    np.testing.assert_allclose(shares.diagonal(), np.diag(expected), atol=1e-12)


@pytest.mark.parametrize("name", ["lsce", "nsce", "ikl"])
def test_weights_of_columns_change_what_features_are_combined_with(name: str, seed: int) -> None:
    ensemble = votes(seed)
    plain, weighted = (fitted(METHODS[name], ensemble, weighting=w) for w in (None, "eci"))
    assert not np.allclose(plain.eigenvalues_, weighted.eigenvalues_)
    assert adjusted_rand_score(weighted.labels_, np.repeat(np.arange(4), 15)) > 0.3


@pytest.mark.parametrize("method", WEIGHTED, ids=lambda m: m.name)
def test_none_is_the_default_and_reads_no_theta(method: Any, seed: int) -> None:
    if method.name in GRAPHS:
        pytest.importorskip("pymetis")
    ensemble = votes(seed)
    first = fitted(method, ensemble, weighting=None, theta=0.1)
    second = fitted(method, ensemble, weighting=None)
    assert first.labels_.tobytes() == second.labels_.tobytes()
    default = inspect.signature(method.estimator).parameters["weighting"].default
    assert default == ("eci" if method.name == "lwgp" else None)


@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
@pytest.mark.parametrize("name", ["average", "single", "complete"])
def test_eac_is_the_linkage_of_the_weighted_matrix(kind: str, name: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    ensemble = ensemble.subset((ensemble.labels >= 0).any(axis=1))
    small, inverse = ensemble.compress(keep_noise_apart=True)
    v = cluster_reliability(ensemble)
    column = np.repeat(small.weights, small.n_clusters) * v
    B = small.membership().matrix.toarray()
    sampled = (small.labels != -2).astype(float)
    both = (sampled * small.weights) @ sampled.T
    D = 1.0 - np.divide(B * column @ B.T, both, out=np.zeros_like(both), where=both > 0)
    copies = small.sample_weight.astype(int)
    whole = np.repeat(np.arange(small.n_points), copies)
    D = D[np.ix_(whole, whole)]
    found = EAC(5, linkage=name, weighting="eci").fit(ensemble)  # type: ignore[arg-type]
    if name == "single":
        heights = linkage(squareform(D, checks=False), name)[:, 2]
        np.testing.assert_allclose(found.heights_, heights, atol=1e-12)
    D[whole[:, None] == whole] = 0.0  # a number of clusters never separates equal rows
    tree = linkage(squareform(D, checks=False), name)
    np.testing.assert_allclose(found.heights_[-1], tree[-1, 2], atol=1e-9)
    expected = fcluster(tree, 5, "maxclust")
    order = np.concatenate([np.flatnonzero(inverse == row) for row in range(small.n_points)])
    gap = tree[-4, 2] - tree[-5, 2]
    if gap > 1e-9:  # else the cut goes through a tie
        assert adjusted_rand_score(expected, found.labels_[order]) == 1.0


def test_lwea_is_the_paper_on_all_points(seed: int) -> None:
    ensemble = votes(seed)
    D = 1.0 - lwca(ensemble)
    np.fill_diagonal(D, 0.0)
    tree = linkage(squareform(D, checks=False), "average")
    found = LWEA(4).fit(ensemble)
    assert adjusted_rand_score(fcluster(tree, 4, "maxclust"), found.labels_) == 1.0
    same = EAC(4, weighting="eci").fit(ensemble)
    np.testing.assert_array_equal(found.labels_, same.labels_)
    np.testing.assert_array_equal(found.heights_, same.heights_)
    assert cophenet(tree).max() == pytest.approx(found.heights_[-1])
    assert LWEA().k_rule() == EAC().k_rule()
    assert LWEA().fit(ensemble).n_clusters_ >= 2
    assert LWEA(threshold=0.0).fit(ensemble).n_clusters_ == 1


@pytest.mark.parametrize(
    ("linkage_name", "lowest"),
    # Equal rows of incomplete ensembles are merged first, exact with single linkage alone.
    [("single", 0), ("average", 0), ("complete", 0), ("single", -2)],
)
def test_equal_rows_have_a_height(linkage_name: str, lowest: int) -> None:
    """Cuts at a similarity and by lifetime are those of the tree of all points."""
    rng = np.random.default_rng(0)
    ensemble = votes(0, lowest=lowest)  # with other seeds ties can leave the labels open
    ensemble = ensemble.subset(np.repeat(np.arange(60), rng.integers(1, 4, 60)))
    ensemble = ensemble.subset((ensemble.labels >= 0).any(axis=1))
    D = 1.0 - lwca(ensemble)
    tree = linkage(squareform(D, checks=False), linkage_name)
    settings: Any = {"linkage": linkage_name, "weighting": "eci"}
    heights = EAC(**settings).fit(ensemble).heights_
    np.testing.assert_allclose(heights, tree[:, 2], atol=1e-9)
    assert heights[0] > 0.1  # equal rows are there, and not at distance 0
    middle = np.flatnonzero(np.diff(tree[:, 2]) > 1e-6)
    for i in middle[[0, middle.size // 4, middle.size // 2, -1]]:
        level = float(tree[i : i + 2, 2].mean())
        found = EAC(threshold=1.0 - level, **settings).fit(ensemble).labels_
        assert adjusted_rand_score(fcluster(tree, level, "distance"), found) == 1.0
    longest = int(np.argmax(np.diff(np.minimum(tree[:, 2], 1.0))))
    found = EAC(**settings).fit(ensemble).labels_
    expected = fcluster(tree, tree[longest, 2] + 1e-9, "distance")
    assert adjusted_rand_score(expected, found) == 1.0


def test_a_threshold_above_the_reliability_joins_nothing() -> None:
    labels = np.array([[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 0]]).T
    similar = lwca(Ensemble.from_labels(labels))[0, 1]
    for model in (EAC(linkage="single", threshold=0.99, weighting="eci"), LWEA(threshold=0.99)):
        assert similar < 0.99
        assert model.fit(labels).n_clusters_ == 6
    with pytest.warns(UserWarning, match="distinguish only 5 groups"):
        assert LWEA(6).fit(labels).n_clusters_ == 5


@pytest.mark.parametrize("soft", [False, True])
def test_sec_cost_is_the_cut_of_the_weighted_matrix(soft: bool, seed: int) -> None:
    ensemble = votes(seed, soft=soft)
    B, v = dense(ensemble)
    S = B * v @ B.T
    model = SEC(4, weighting="eci", random_state=seed).fit(ensemble)
    degree = S.sum(axis=1)
    rows = B / degree[:, None]
    cost = 0.0
    for g in range(model.n_clusters_):
        inside = model.labels_ == g
        center = np.average(rows[inside], axis=0, weights=degree[inside])
        cost += (degree[inside] * (((rows[inside] - center) ** 2) @ v)).sum()
    assert model.cost_ == pytest.approx(cost)
    assert model.cost_ != pytest.approx(SEC(4, random_state=seed).fit(ensemble).cost_)
    whole = NormalisedCut.of(ensemble, v, blockwise=False)
    assert whole.cost(model.labels_.astype(np.int32), 4) == pytest.approx(cost)


@pytest.mark.parametrize("utility", ["entropy", "category", "cosine", "lp"])
@pytest.mark.parametrize("kind", ["hard", "noise", "soft"])
def test_kcc_cost_gives_every_point_one_vote(utility: str, kind: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-1 if kind == "noise" else 0, soft=kind == "soft")
    B = ensemble.membership().matrix.toarray() * cluster_reliability(ensemble)
    power = np.repeat(ensemble.weights, ensemble.n_clusters)
    noise = (ensemble.labels == -1).astype(float)
    votes_given = B @ power + noise @ ensemble.weights
    scale = ensemble.weights.sum() / votes_given
    settings: Any = {"utility": utility, "theta": 0.4, "random_state": seed}
    model = KCC(4, weighting="eci", **settings).fit(ensemble)

    def mu(shares: np.ndarray) -> float:
        if utility == "entropy":
            return float(sum(p * np.log2(p) for p in shares if p > 0))
        p = {"category": 2, "cosine": 2, "lp": 5}[utility]
        total = float((shares**p).sum())
        return total if utility == "category" else total ** (1 / p)

    cost = 0.0
    for i in range(ensemble.n_partitions):
        block = B[:, ensemble.offsets[i] : ensemble.offsets[i + 1]] * scale[:, None]
        mass = block.sum(axis=1) + noise[:, i] * scale
        rows = sum(m * mu(row / m) for m, row in zip(mass, block, strict=True))
        groups = [model.labels_ == g for g in range(model.n_clusters_)]
        inside = sum(mass[g].sum() * mu(block[g].sum(axis=0) / mass[g].sum()) for g in groups)
        cost += ensemble.weights[i] * (rows - inside)
    assert model.cost_ == pytest.approx(cost)


@pytest.mark.parametrize("estimator", [SpectralConsensus, LWGP])
@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
def test_spectra_are_those_of_the_dense_matrix(estimator: type, kind: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    ensemble = ensemble.subset((ensemble.labels >= 0).any(axis=1))
    B, v = dense(ensemble)
    if estimator is LWGP:
        v = v / B.sum(axis=0)
    S = B * v @ B.T
    degree = S.sum(axis=1)
    values = np.linalg.eigvalsh(S / np.sqrt(np.outer(degree, degree)))[::-1]
    model = estimator(4, weighting="eci", random_state=seed).fit(ensemble)
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-9)
    groups = np.eye(model.n_clusters_)[model.labels_]
    inside = np.einsum("ig,ij,jg->g", groups, S, groups)
    assert model.cost_ == pytest.approx((1.0 - inside / (degree @ groups)).sum())


def test_lwgp_cuts_the_whole_bipartite_graph(seed: int) -> None:
    ensemble = votes(seed)
    B, v = dense(ensemble)
    n, p = B.shape
    graph = np.zeros((n + p, n + p))
    graph[:n, n:] = B * v
    graph += graph.T
    degree = graph.sum(axis=1)
    values, vectors = np.linalg.eigh(graph / np.sqrt(np.outer(degree, degree)))
    model = LWGP(4, random_state=seed).fit(ensemble)
    # Eigenvalues of the graph of both sides are the roots of those between points.
    np.testing.assert_allclose(np.sqrt(model.eigenvalues_), values[::-1][:4], atol=1e-7)
    found = transfer_cut(sparse.csr_matrix(B), 4, column_weight=v, seed=seed)
    np.testing.assert_allclose(found.spectrum.values, model.eigenvalues_, atol=1e-9)
    assert adjusted_rand_score(found.labels, model.labels_) == 1.0
    rows = vectors[:n, ::-1][:, :4]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    cosine = rows @ rows.T
    same = model.labels_[:, None] == model.labels_
    assert cosine[same].mean() > cosine[~same].mean() + 0.5
    assert LWGP().k_rule()
    assert not LWGP(3).k_rule()


def test_graphs_carry_the_weights_of_the_columns(seed: int) -> None:
    ensemble = votes(seed)
    small, _ = ensemble.compress()
    B = small.membership().matrix.toarray()
    _, v = dense(ensemble)
    copies = np.outer(small.sample_weight, small.sample_weight)
    expected = (B * v @ B.T) * copies
    np.fill_diagonal(expected, 0.0)
    found = cspa.similarity_graph(small, None, v).toarray()
    largest = float(np.maximum.reduceat(v, small.offsets[:-1]).sum())
    assert np.abs(found / copies - expected / copies).max() <= 6 * largest / 65_000
    edges = hgpa.Hyperedges.of(small, v)
    np.testing.assert_allclose(np.bincount(edges.of_column, weights=v), edges.weight)
    sample = hgpa.Sample.of(small, None, np.random.default_rng(0))
    half = hbgf.bipartite_graph(sample, edges).toarray()[: small.n_points, small.n_points :]
    merged = np.zeros((small.n_points, edges.weight.size))
    merged[:, edges.of_column] = B
    np.testing.assert_allclose(half, merged * edges.weight * small.sample_weight[:, None])
    table = mcla.association_table(v, np.arange(v.size) % 3, 3)
    share = small.coassociation().expand(table)
    for g in range(3):
        part = np.arange(v.size) % 3 == g
        np.testing.assert_allclose(share[:, g] * small.weights.sum(), _mean(B, v, part, small))


def _mean(B: np.ndarray, v: np.ndarray, part: np.ndarray, small: Ensemble) -> np.ndarray:
    return (B[:, part] @ v[part]) / v[part].sum() * small.weights.sum()


@pytest.mark.parametrize("estimator", [CSPA, HGPA, MCLA, HBGF])
def test_graph_methods_find_groups_with_weights(estimator: type, seed: int) -> None:
    pytest.importorskip("pymetis")
    truth = np.repeat(np.arange(4), 15)
    found = estimator(4, weighting="eci", random_state=seed).fit(votes(seed)).labels_
    assert adjusted_rand_score(truth, found) > (0.3 if estimator is HGPA else 0.7)


def untied(*, soft: bool) -> Ensemble:
    """Return an ensemble with copies of points: distances differ, Genie and single linkage, too."""
    rng = np.random.default_rng(1)
    truth = np.repeat(np.arange(4), 10)
    labels = np.stack([truth * 2 + rng.integers(0, 1 + i % 2, 40) for i in range(24)], axis=1)
    stray = rng.random(labels.shape) < 0.5
    labels[stray] = rng.integers(0, 8, stray.sum())
    weights = rng.uniform(0.5, 2.0, 24)
    if soft:
        member = [rng.dirichlet(np.ones(8), 40) + 2.0 * np.eye(8)[one] for one in labels.T]
        return Ensemble.from_labels([one / 3.0 for one in member], weights=weights)
    whole = Ensemble.from_labels(labels, weights=weights)
    return whole.subset(np.repeat(np.arange(40), rng.integers(1, 9, 40)))


@pytest.mark.parametrize("weighting", [None, "eci"])
@pytest.mark.parametrize("soft", [False, True])
def test_genie_linkage_is_genie_on_the_dense_distances(weighting: Any, soft: bool) -> None:
    ensemble = untied(soft=soft)
    small, inverse = ensemble.compress(keep_noise_apart=True)
    B = small.membership().matrix.toarray()
    v = np.repeat(small.weights, small.n_clusters)
    if weighting:
        v = v * cluster_reliability(ensemble)
    D = 1.0 - (B * v @ B.T) / small.weights.sum()
    np.fill_diagonal(D, 0.0)
    tree = spanning_tree(D, metric="precomputed")
    model = EAC(4, linkage="genie", gini=0.2, weighting=weighting).fit(ensemble)
    lengths = np.sort(model.heights_[ensemble.n_points - small.n_points :])
    np.testing.assert_allclose(lengths, np.sort(tree.lengths), atol=1e-9)
    assert np.diff(np.sort(tree.lengths)).min() > 1e-9  # equal lengths would leave the order open
    expected = genie(tree, gini_threshold=0.2, weights=small.sample_weight).labels(4)
    assert adjusted_rand_score(expected[inverse], model.labels_) == 1.0
    assert model.n_clusters_ == 4
    single = EAC(4, linkage="single", weighting=weighting).fit(ensemble)
    assert adjusted_rand_score(single.labels_, model.labels_) < 0.9
    never = EAC(4, linkage="genie", gini=1.0, weighting=weighting).fit(ensemble)
    np.testing.assert_allclose(np.sort(never.heights_), single.heights_, atol=1e-9)


@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
def test_sca_scales_the_weighted_matrix(kind: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    S = lwca(ensemble)
    np.fill_diagonal(S, 0.0)
    scale = np.ones(60)
    for _ in range(3_000):
        scale = np.sqrt(scale / (S @ scale))
    values = np.linalg.eigvalsh(S * np.outer(scale, scale))[::-1]
    model = SCA(4, weighting="eci", zeroing=False, random_state=seed).fit(ensemble)
    np.testing.assert_allclose(model.eigenvalues_[:4], values[:4], atol=1e-6)
    plain = SCA(4, zeroing=False, random_state=seed).fit(ensemble)
    assert np.abs(plain.eigenvalues_[1:4] - values[1:4]).max() > 1e-3
    away = [S[i][ensemble.labels[:, 0] != ensemble.labels[i, 0]].sum() for i in range(60)]
    if kind == "hard":
        assert model.zetas_[0] == pytest.approx(max(away) / S.sum(axis=1).max())


def test_landmarks_of_sca_are_extended_by_the_weighted_matrix(seed: int) -> None:
    ensemble = votes(seed)
    _, v = dense(ensemble)
    rows = np.arange(0, 60, 2)
    groups = np.repeat(np.arange(4), 15)[rows]
    found, _ = extend(ensemble, rows, groups, weights=np.ones(30), column=v)
    S = lwca(ensemble)[:, rows]
    mean = np.column_stack([S[:, groups == g].mean(axis=1) for g in range(4)])
    other = np.setdiff1d(np.arange(60), rows)
    np.testing.assert_array_equal(found[other], mean.argmax(axis=1)[other])
    few = SCA(4, weighting="eci", landmarks=30, random_state=seed).fit(ensemble)
    assert few.n_landmarks_ <= 30
    assert adjusted_rand_score(few.labels_, np.repeat(np.arange(4), 15)) > 0.5


@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.5])
def test_majorities_are_the_components_of_the_weighted_matrix(
    kind: str, threshold: float, seed: int
) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    ensemble = ensemble.subset(np.tile(np.arange(60), 2))  # copies, some too weak to be linked
    ensemble = ensemble.subset((ensemble.labels >= 0).any(axis=1))
    linked = sparse.csr_matrix(lwca(ensemble) > threshold + 1e-12)
    expected = sparse.csgraph.connected_components(linked, directed=False)[1]
    found = MajorityVote(threshold=threshold, weighting="eci").fit(ensemble).labels_
    assert adjusted_rand_score(expected, found) == 1.0


@pytest.mark.parametrize("kind", ["hard", "incomplete", "soft"])
def test_bagged_votes_and_distances_are_weighted(kind: str, seed: int) -> None:
    ensemble = votes(seed, lowest=-2 if kind == "incomplete" else 0, soft=kind == "soft")
    ensemble = ensemble.subset((ensemble.labels >= 0).any(axis=1))
    B, v = dense(ensemble)
    settings: Any = {"weighting": "eci", "random_state": 0}
    truth = np.arange(ensemble.n_points) % 4
    model = BagClust(4, reference=truth, **settings).fit(ensemble)
    votes_of = B * v @ bagclust._matched(ensemble, B.T @ np.eye(4)[truth])
    won = model.labels_ >= 0
    share = votes_of.max(axis=1) / votes_of.sum(axis=1)
    np.testing.assert_allclose(model.vote_share_[won], share[won])
    model = BagClust(4, variant=2, **settings).fit(ensemble)
    D = 1.0 - lwca(ensemble)
    small, inverse = ensemble.compress(keep_noise_apart=True)
    D[inverse[:, None] == inverse] = 0.0
    nearest = D[:, model.medoids_].min(axis=1)
    assert model.cost_ == pytest.approx(nearest.sum())
    assert model.cost_ > BagClust(4, variant=2, random_state=0).fit(ensemble).cost_


def test_gcc_is_the_best_of_three_weighted_methods(seed: int) -> None:
    pytest.importorskip("pymetis")
    ensemble = votes(seed)
    model = GCC(4, weighting="eci", random_state=seed).fit(ensemble)
    assert model.method_ in ("cspa", "mcla", "hgpa")
    assert adjusted_rand_score(model.labels_, np.repeat(np.arange(4), 15)) > 0.7


def test_gcc_passes_its_weighting_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pymetis")
    asked = []

    def seen(ensemble: Ensemble, weighting: Any, theta: float) -> np.ndarray:
        asked.append((weighting, theta))
        return eci.column_weights(ensemble, weighting, theta)

    for module in (cspa, hgpa, mcla):
        monkeypatch.setattr(module, "column_weights", seen)
    GCC(4, weighting="eci", theta=0.7, random_state=0).fit(votes(0))
    assert asked == [("eci", 0.7)] * 3


@pytest.mark.parametrize("estimator", [LiftKM, LiftHAC])
@pytest.mark.parametrize("assign", ["kernel", "vote"])
def test_lifted_clusters_weigh_their_reliability(estimator: type, assign: str, seed: int) -> None:
    ensemble = votes(seed)
    B, v = dense(ensemble)
    model = estimator(4, kernel="discrete", assign=assign, weighting="eci").fit(ensemble)
    unit = B / np.sqrt(B.sum(axis=0))
    weight = v * B.sum(axis=0) / 60
    cost, centres = 0.0, []
    for g in range(int(model.groups_.max()) + 1):
        part = model.groups_ == g
        centre = unit[:, part] @ weight[part] / weight[part].sum()
        cost += weight[part] @ ((unit[:, part] - centre[:, None]) ** 2).sum(axis=0)
        centres.append(centre if assign == "kernel" else B[:, part] @ v[part])
    assert model.cost_ == pytest.approx(cost)
    scores = np.column_stack(centres)
    np.testing.assert_allclose(
        model.membership_, (scores / scores.sum(axis=1, keepdims=True))[:, : model.n_clusters_],
        atol=1e-9,
    )  # fmt: skip


def test_genie_takes_up_stray_points_where_single_linkage_keeps_them() -> None:
    truth = np.repeat(np.arange(3), 20)
    labels = np.stack([truth] * 5, axis=1)
    labels[:40, 0] = 0  # two of the groups are closer to each other than the stray points are
    labels[:40, 1] = 0
    labels[5] = [0, 7, 7, 7, 7]
    labels[45] = [2, 8, 8, 8, 8]
    single = EAC(3, linkage="single").fit(labels).labels_
    braked = EAC(3, linkage="genie").fit(labels, sample_weight=np.full(60, 0.5)).labels_
    assert adjusted_rand_score(truth, single) < 1.0
    assert adjusted_rand_score(truth, braked) == 1.0


def test_genie_needs_a_number_of_clusters() -> None:
    with pytest.raises(ValueError, match="linkage='genie' needs n_clusters"):
        EAC(linkage="genie").fit([[0, 0], [1, 1]])
    with pytest.raises(ValueError, match="linkage='genie' needs n_clusters"):
        EAC(linkage="genie", threshold=0.5).fit([[0, 0], [1, 1]])
    assert EAC(linkage="genie").k_rule() == ""


def test_modules_share_one_weighting() -> None:
    for module in (bagclust, cspa, eac, hbgf, hgpa, majority, mcla, sec, spectral):
        assert module.column_weights is eci.column_weights  # type: ignore[attr-defined]
    for method in WEIGHTED:
        rules = method.estimator._parameter_rules
        assert all(rules[name] is eci.WEIGHTING[name] for name in eci.WEIGHTING)


def test_a_spectral_start_never_costs_more_and_often_less() -> None:
    lower = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 6, 400)
        columns = []
        for _ in range(10):
            labels = truth * 3 + rng.integers(0, 3, truth.size)
            wrong = rng.random(truth.size) < 0.3
            labels[wrong] = rng.integers(0, 18, int(wrong.sum()))
            columns.append(labels % int(rng.integers(5, 19)))
        ensemble = Ensemble.from_labels(np.column_stack(columns))
        settings: dict[str, Any] = {"weighting": "eci", "n_init": 2, "random_state": seed}
        plain = SEC(6, spectral_start=False, **settings).fit(ensemble)
        both = SEC(6, **settings).fit(ensemble)
        assert both.cost_ <= plain.cost_ * (1 + 1e-12)
        lower += both.cost_ < plain.cost_ * (1 - 1e-6)
    assert lower >= 3
