"""Coordinates whose inner products are given: a factor of a Gram matrix."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpstrf

from clusterscape.linalg.eigen import symmetric_eigen

_PIVOT = 1e-12  # of a diagonal of ones, what may be left unexplained
_LEFT = 1e-9  # largest length of a row of what a factor leaves
_INDEFINITE = 1e-5  # rows of what is left that are longer come from no rounding
_PROBES = 8


def factor_of(gram: np.ndarray) -> np.ndarray:
    """Return F with ``F F^T`` a positive semidefinite matrix whose diagonal is 1.

    By the pivoted Cholesky decomposition, which stops at the rank and costs O(D q^2). It trusts
    that the matrix is semidefinite, so what it leaves is measured, and the eigenvectors are taken
    where this is not nothing.
    """
    found, order, rank, _ = dpstrf(np.asfortranarray(gram), tol=_PIVOT, lower=1)
    factor = np.empty((gram.shape[0], rank))
    factor[order - 1] = np.tril(found[:, :rank])
    if _left(gram, factor) <= _LEFT:
        return factor
    size = gram.shape[0]
    spectrum = symmetric_eigen(gram, size, solver="dense")
    large = spectrum.values > size * np.finfo(float).eps * spectrum.values[0]
    factor = spectrum.vectors[:, large] * np.sqrt(spectrum.values[large])
    if _left(gram, factor) > _INDEFINITE:
        raise ValueError(
            f"kernel: the products of the clusters have the eigenvalue {spectrum.values[-1]:.3g}, "
            "so the kernel is not positive definite and the clusters have no coordinates. Subtract "
            "its least eigenvalue from the diagonal, or take another."
        )
    return factor


def _left(gram: np.ndarray, factor: np.ndarray) -> float:
    """Return an estimate of the longest row of ``gram - factor factor^T``.

    The mean square of a row's products with normal vectors is the square of its length; that of
    eight products is a millionth of it with a probability under 1e-20.
    """
    probes = np.random.default_rng(0).standard_normal((gram.shape[0], _PROBES))
    rest = gram @ probes - factor @ (factor.T @ probes)
    return float(np.sqrt((rest**2).mean(axis=1).max()))
