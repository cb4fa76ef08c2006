"""Gaussian mixtures: one iteration against the definition, optima against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from clusterscape.linalg import mixture
from clusterscape.linalg.mixture import gaussian_mixture

FORMS = ["full", "tied", "diag", "spherical"]


def clouds(n: int = 600, *, offset: float = 0.0, dtype: type = np.float64) -> tuple:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    centers = np.array([[0.0, 0.0, 0.0], [5.0, 0.0, 1.0], [0.0, 6.0, -2.0]])
    width = np.array([[1.0, 0.3, 0.6], [0.5, 1.0, 0.4], [0.8, 0.8, 0.8]])
    return (centers[y] + width[y] * rng.normal(size=(n, 3)) + offset).astype(dtype), y


def covariances(model: dict, form: str, k: int) -> np.ndarray:
    if form == "tied":
        return np.repeat(np.linalg.inv(model["precision"])[None], k, axis=0)
    if form == "full":
        return np.linalg.inv(model["precisions"])
    return model["variances"][:, None, :] * np.eye(model["means"].shape[1])


def log_densities(X: np.ndarray, model: dict, form: str) -> np.ndarray:
    """Return the log of weight times density, by scipy."""
    k, q = model["means"].shape
    wide = covariances(model, form, k)
    # log_weights has half the log determinant of the precision in it.
    weights = model["log_weights"] + 0.5 * np.linalg.slogdet(wide)[1]
    parts = [multivariate_normal(model["means"][c], wide[c]).logpdf(X) for c in range(k)]
    return np.column_stack(parts) + weights


@pytest.mark.parametrize("form", FORMS)
def test_posteriors_labels_and_likelihood_are_those_of_the_densities(form):
    X, y = clouds(offset=50.0)
    found = gaussian_mixture(X, 3, covariance=form, seed=0)
    logs = log_densities(X, found.model, form)
    total = logsumexp(logs, axis=1, keepdims=True)
    np.testing.assert_allclose(found.membership, np.exp(logs - total), atol=1e-8)
    np.testing.assert_array_equal(found.labels, logs.argmax(axis=1))
    assert found.bound == pytest.approx(float(total.mean()), abs=1e-8)
    assert adjusted_rand_score(found.labels, y) > 0.95


@pytest.mark.parametrize("form", FORMS)
def test_the_optimum_is_that_of_scikit_learn_from_the_same_start(form):
    X, _ = clouds()
    found = gaussian_mixture(X, 3, covariance=form, tol=1e-9, max_iter=500, seed=0)
    peer = GaussianMixture(
        3, covariance_type=form, means_init=found.model["means"], tol=1e-9, max_iter=500
    ).fit(X)
    assert found.converged
    assert found.bound == pytest.approx(peer.score(X), abs=1e-5)
    np.testing.assert_allclose(found.model["means"], peer.means_, atol=1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_blocks_and_single_precision_change_little(form, monkeypatch):
    X, _ = clouds()
    whole = gaussian_mixture(X, 3, covariance=form, ridge=1e-3, seed=0)
    monkeypatch.setattr(mixture, "_KEPT", 0)
    monkeypatch.setattr(mixture, "_BLOCK", 700)
    parts = gaussian_mixture(X, 3, covariance=form, ridge=1e-3, seed=0)
    np.testing.assert_allclose(parts.membership, whole.membership, atol=1e-9)
    single = gaussian_mixture(X.astype(np.float32), 3, covariance=form, ridge=1e-3, seed=0)
    np.testing.assert_allclose(single.membership, whole.membership, atol=1e-3)


def test_more_starts_are_no_worse_and_few_points_have_an_answer():
    X, _ = clouds(200)
    one = gaussian_mixture(X, 6, seed=1)
    assert gaussian_mixture(X, 6, n_init=5, seed=1).bound >= one.bound
    same = gaussian_mixture(np.ones((5, 2)), 3, seed=0)
    assert same.labels.tolist() == [0] * 5
    far = gaussian_mixture(np.array([[0.0], [1e-9], [1e9], [1e9 + 1]]), 2, seed=0)
    assert far.labels[0] == far.labels[1] != far.labels[2] == far.labels[3]
    given = mixture.mixture_features(X, "full", ridge=0.0)
    with pytest.raises(ValueError, match="other points"):
        gaussian_mixture(X[:50], 2, features=given)
