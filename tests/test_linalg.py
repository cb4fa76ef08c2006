"""Operators and spectra against dense computation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from clusterscape import Ensemble
from clusterscape.linalg import coassociation_spectrum, eigen, symmetric_eigen
from strategies import ensembles


def dense_normalised(ensemble):
    """D^-1/2 S D^-1/2 with every point repeated as often as it weighs."""
    matrix = ensemble.membership().matrix.toarray()
    S = (matrix * np.repeat(ensemble.weights, ensemble.n_clusters)) @ matrix.T
    degree = S @ ensemble.sample_weight
    root = np.sqrt(
        np.divide(ensemble.sample_weight, degree, out=np.zeros_like(degree), where=degree > 0)
    )
    return root[:, None] * S * root


@given(ensembles())
def test_spectrum_is_that_of_the_dense_matrix(ensemble):
    truth = np.sort(np.linalg.eigvalsh(dense_normalised(ensemble)))[::-1]
    if ensemble.offsets[-1] == 0:
        return
    found = coassociation_spectrum(
        ensemble.coassociation(), ensemble.n_points, sample_weight=ensemble.sample_weight
    )
    m = found.values.size
    np.testing.assert_allclose(found.values, truth[:m], atol=1e-8)
    np.testing.assert_allclose(truth[m:], 0.0, atol=1e-8)
    assert found.residual < 1e-8


def test_both_sides_and_both_solvers_agree(monkeypatch):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, size=(700, 6))
    labels[:350] = np.where(rng.random((350, 6)) < 0.7, 0, labels[:350])
    ensemble = Ensemble.from_labels(labels)
    truth = np.sort(np.linalg.eigvalsh(dense_normalised(ensemble)))[::-1]
    found = coassociation_spectrum(ensemble.coassociation(), 5)
    assert found.side == "clusters"
    np.testing.assert_allclose(found.values, truth[:5], atol=1e-8)
    dense = dense_normalised(ensemble)
    np.testing.assert_allclose(dense @ found.vectors, found.vectors * found.values, atol=1e-7)
    lanczos = symmetric_eigen(aslinearoperator(dense), 5)
    assert lanczos.solver == "lanczos"
    np.testing.assert_allclose(lanczos.values, truth[:5], atol=1e-8)
    wide = Ensemble.from_labels([np.arange(30), np.arange(30) // 2])
    assert coassociation_spectrum(wide.coassociation(), 3).side == "points"


def test_an_unconverged_spectrum_is_an_error(monkeypatch):
    from scipy.sparse.linalg import ArpackNoConvergence

    def fail(*args, **kwargs):
        raise ArpackNoConvergence("no", np.ones(1), np.ones((700, 1)))

    monkeypatch.setattr(eigen, "eigsh", fail)
    operator = LinearOperator((700, 700), matvec=lambda v: v)
    with pytest.raises(RuntimeError, match="found 1 of 3 eigenvalues of a 700 x 700"):
        symmetric_eigen(operator, 3)


def test_counts_of_a_refined_partition():
    ensemble = Ensemble.from_labels([[0, 0, 1, 1, 2, 2]] * 3)
    values = coassociation_spectrum(ensemble.coassociation(), 6).values
    np.testing.assert_allclose(values[:3], 1.0)
    np.testing.assert_allclose(values[3:], 0.0, atol=1e-9)
