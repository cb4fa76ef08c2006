"""The random-projection ensemble: scikit-learn's contract, its parts, and its two versions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from clusterscape._core.seeds import root_sequence
from clusterscape.combine.eac import EAC
from clusterscape.combine.random_projection import RandomProjectionEnsemble, _criterion
from clusterscape.generate import random_projection


@pytest.mark.filterwarnings("ignore::clusterscape.combine.ConsensusWarning")
@parametrize_with_checks(
    [
        RandomProjectionEnsemble(n_runs=3, base_clusters=2, random_state=0),
        RandomProjectionEnsemble(base="kmeans", linkage="single", n_runs=5, random_state=0),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def blobs(seed, n=60, d=20):
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    return 4.0 * rng.normal(size=(3, d))[truth] + rng.normal(size=(n, d)), truth


@pytest.mark.parametrize("base", ["gmm", "kmeans"])
@pytest.mark.parametrize("linkage", ["complete", "average", "single"])
def test_separate_groups_are_found(base, linkage, seed):
    X, truth = blobs(seed)
    model = RandomProjectionEnsemble(
        3, base=base, linkage=linkage, base_clusters=3, n_runs=12, random_state=seed
    ).fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    assert model.ensemble_.is_soft == (base == "gmm")
    assert model.ensemble_.shape == (60, 12)
    same = EAC(3, linkage=linkage).fit(model.ensemble_)
    np.testing.assert_array_equal(model.labels_, same.labels_)
    np.testing.assert_array_equal(model.consensus_.heights_, same.heights_)


def test_the_number_of_components_is_that_of_the_least_criterion():
    X, truth = blobs(1, n=90)
    model = RandomProjectionEnsemble(
        3, n_components=2, n_runs=4, max_base_clusters=4, random_state=5
    ).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    root = root_sequence(5)
    criteria = []
    for k in range(1, 5):
        votes = random_projection(
            4, n_clusters=k, dims=2, base="soft_gmm", random_state=root, progress=False
        ).generate(X)
        criteria.append(_criterion(votes, k, 2))
    best = np.argmin(criteria, axis=0) + 1
    np.testing.assert_array_equal(model.base_clusters_, best)
    assert len(set(best)) >= 1
    assert (best > 1).all()


def test_the_criterion_is_that_of_scikit_learn():
    X, _ = blobs(2)
    flat = X[:, :3]
    votes = random_projection(
        1, n_clusters=2, dims=3, base="soft_gmm", random_state=0, progress=False
    ).generate(flat)
    # A rotation changes neither likelihood nor criterion; posteriors say which optimum was found.
    start = votes.soft[0].toarray()
    mass = start.sum(axis=0)
    means = (start.T @ flat) / mass[:, None]
    around = flat[:, None, :] - means
    spread = np.einsum("nk,nki,nkj->kij", start, around, around) / mass[:, None, None]
    peer = GaussianMixture(
        2,
        reg_covar=1e-6,
        weights_init=mass / mass.sum(),
        means_init=means,
        precisions_init=np.linalg.inv(spread),
        tol=1e-9,
        max_iter=500,
    ).fit(flat)
    assert _criterion(votes, 2, 3)[0] == pytest.approx(peer.bic(flat), rel=1e-2)


def test_what_none_means_and_what_runs_record():
    X, _ = blobs(0)
    drawn = RandomProjectionEnsemble(base="kmeans", n_runs=20, random_state=0).fit(X)
    assert drawn.base_clusters_.min() >= 2
    assert drawn.base_clusters_.max() <= 8
    assert len(set(drawn.base_clusters_.tolist())) > 1
    given = RandomProjectionEnsemble(3, base="kmeans", n_runs=4, random_state=0).fit(X)
    assert given.base_clusters_.tolist() == [3] * 4
    assert {r.generator for r in given.ensemble_.records} == {"random_projection"}
    cut = RandomProjectionEnsemble(
        base="kmeans", linkage="single", base_clusters=3, threshold=0.5, n_runs=9, random_state=0
    ).fit(X)
    assert cut.consensus_.threshold == 0.5
    assert 1 < cut.n_clusters_ < 60


def test_sparse_rows_and_any_number_of_workers():
    X, _ = blobs(3)
    one = RandomProjectionEnsemble(3, base="kmeans", n_runs=4, random_state=1).fit(X)
    same = RandomProjectionEnsemble(3, base="kmeans", n_runs=4, random_state=1, n_jobs=2)
    np.testing.assert_array_equal(one.labels_, same.fit(sparse.csr_matrix(X)).labels_)
    other = RandomProjectionEnsemble(3, base="kmeans", n_runs=4, random_state=2).fit(X)
    assert one.ensemble_ != other.ensemble_


def test_what_is_refused():
    X, _ = blobs(0)
    with pytest.raises(ValueError, match="base_clusters='bic' needs the likelihood"):
        RandomProjectionEnsemble(2, base="kmeans", base_clusters="bic").fit(X)
    with pytest.raises(ValueError, match="n_clusters=61 is more than the 60 samples"):
        RandomProjectionEnsemble(61).fit(X)
    with pytest.raises(ValueError, match="give n_clusters=2 or threshold=0.5, not both"):
        RandomProjectionEnsemble(2, base="kmeans", threshold=0.5, n_runs=2).fit(X)
    with pytest.raises(ValueError, match="n_runs must be an integer >= 1"):
        RandomProjectionEnsemble(n_runs=0).fit(X)
