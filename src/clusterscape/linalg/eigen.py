"""One front to the symmetric eigen-solvers, which never returns an unconverged vector."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from clusterscape.linalg.coassociation import Coassociation

_DENSE_BELOW = 600
_Product = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class EigenResult:
    """Eigenvalues in descending order, their vectors, and how they were found.

    Attributes
    ----------
    values : (m,) array
        Largest eigenvalues first.
    vectors : (size, m) array
        Unit eigenvectors.
    residual : float
        Largest norm of ``A v - value v``.
    solver : str
        "dense" or "lanczos".
    side : str
        "points" or "clusters": which of the two Gram matrices was decomposed.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    solver: str
    side: str = "points"


def symmetric_eigen(operator: LinearOperator, n_values: int, *, seed: int = 0) -> EigenResult:
    """Return the largest eigenvalues of a symmetric operator, with their residual.

    Parameters
    ----------
    operator : LinearOperator
        Symmetric.
    n_values : int
        How many; at most the operator's size.
    seed : int
        Of the Lanczos start vector.

    Returns
    -------
    EigenResult

    Raises
    ------
    RuntimeError
        When Lanczos does not converge; no partial answer is returned.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import aslinearoperator
    >>> from clusterscape.linalg import symmetric_eigen
    >>> symmetric_eigen(aslinearoperator(np.diag([1.0, 3.0, 2.0])), 2).values
    array([3., 2.])
    """
    size = operator.shape[0]
    m = min(n_values, size)
    if size <= _DENSE_BELOW or m > size // 3:
        dense = operator @ np.eye(size)
        values, vectors = eigh((dense + dense.T) / 2, subset_by_index=[size - m, size - 1])
        solver = "dense"
    else:
        start = np.random.default_rng(seed).standard_normal(size)
        try:
            values, vectors = eigsh(operator, k=m, which="LA", v0=start, tol=1e-8)
        except ArpackNoConvergence as error:
            raise RuntimeError(
                f"the eigen-solver found {len(error.eigenvalues)} of {m} eigenvalues of a "
                f"{size} x {size} operator; ask for fewer."
            ) from None
        solver = "lanczos"
    order = np.argsort(values)[::-1]
    values, vectors = values[order], vectors[:, order]
    residual = np.linalg.norm(operator @ vectors - vectors * values, axis=0)
    return EigenResult(values, vectors, float(residual.max(initial=0.0)), solver)


def coassociation_spectrum(
    coassociation: Coassociation,
    n_values: int,
    *,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
) -> EigenResult:
    """Return the leading spectrum of the normalised co-association D^-1/2 S D^-1/2.

    S is ``B W B^T`` and D its row sums. The spectrum is found on the smaller side: of the n x n
    matrix as an operator, or of the Gram matrix of the D clusters, which has the same non-zero
    eigenvalues. All of them lie in [0, 1] and the first is 1; c eigenvalues near 1 mean c groups
    that the partitions hardly ever mix.

    Parameters
    ----------
    coassociation : Coassociation
        Of any ``normalize``; the counts are used.
    n_values : int
        How many eigenvalues.
    sample_weight : (n,) array, optional
        Weights of the points, as after ``Ensemble.compress``.
    seed : int
        Of the Lanczos start vector.

    Returns
    -------
    EigenResult
        ``vectors`` belong to the points on either side; each has unit norm.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.linalg import coassociation_spectrum
    >>> S = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 2]]).coassociation()
    >>> coassociation_spectrum(S, 3).values.round(3)
    array([1.   , 1.   , 0.333])
    """
    n = coassociation.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    column = np.sqrt(coassociation.column_weights)[:, None]
    degree = coassociation.expand(column**2 * coassociation.collect(weight[:, None])).ravel()
    scale = np.sqrt(np.divide(weight, degree, out=np.zeros(n), where=degree > 0))[:, None]

    def to_clusters(values: np.ndarray) -> np.ndarray:
        return column * coassociation.collect(scale * values)

    def to_points(table: np.ndarray) -> np.ndarray:
        return scale * coassociation.expand(column * table)

    width = column.shape[0]
    if n <= width:
        return symmetric_eigen(_gram(n, to_clusters, to_points), min(n_values, n), seed=seed)
    found = symmetric_eigen(_gram(width, to_points, to_clusters), min(n_values, width), seed=seed)
    positive = np.sqrt(np.maximum(found.values, 0.0))
    vectors = to_points(found.vectors)
    vectors = np.divide(vectors, positive, out=np.zeros_like(vectors), where=positive > 1e-8)
    return EigenResult(found.values, vectors, found.residual, found.solver, "clusters")


def _gram(size: int, forth: _Product, back: _Product) -> LinearOperator:
    """Return the operator back(forth(.)), a symmetric Gram matrix."""

    def product(values: np.ndarray) -> np.ndarray:
        block = np.ascontiguousarray(values.reshape(size, -1))
        return back(forth(block)).reshape(values.shape)

    return LinearOperator((size, size), matvec=product, matmat=product, dtype=np.float64)
