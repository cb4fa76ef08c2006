"""One front to the symmetric eigen-solvers, which never returns an unconverged vector."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import (
    ArpackNoConvergence,
    LinearOperator,
    aslinearoperator,
    eigsh,
    lobpcg,
)

from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.operators import symmetric_operator

_DENSE_BELOW = 600
_LARGEST_RESIDUAL = 1e-6


@dataclass(frozen=True)
class EigenResult:
    """Eigenvalues from one end of a spectrum, their vectors, and how they were found.

    Attributes
    ----------
    values : (m,) array
        From the end that was asked for inwards: descending for the largest.
    vectors : (size, m) array
        Unit eigenvectors.
    residual : float
        Largest norm of ``A v - value v``.
    solver : str
        "dense", "lanczos" or "lobpcg".
    side : str
        "points" or "clusters": which of the two Gram matrices was decomposed.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    solver: str
    side: str = "points"


def symmetric_eigen(
    operator: Any,
    n_values: int,
    *,
    which: Literal["largest", "smallest"] = "largest",
    solver: Literal["auto", "dense", "lanczos", "lobpcg"] = "auto",
    preconditioner: LinearOperator | None = None,
    seed: int = 0,
) -> EigenResult:
    """Return eigenvalues from one end of a symmetric operator's spectrum, with their residual.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        Symmetric.
    n_values : int
        How many; at most the operator's size.
    which : {"largest", "smallest"}
        Which end; values come from that end inwards.
    solver : {"auto", "dense", "lanczos", "lobpcg"}
        "auto" is dense for small operators or for a third of the spectrum and more, otherwise
        Lanczos, and LOBPCG where Lanczos does not converge.
    preconditioner : LinearOperator, optional
        Approximate inverse, for LOBPCG.
    seed : int
        Of the start vectors.

    Returns
    -------
    EigenResult

    Raises
    ------
    RuntimeError
        When the vectors do not satisfy the equation; an unconverged answer is never returned.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import symmetric_eigen
    >>> symmetric_eigen(np.diag([1.0, 3.0, 2.0]), 2).values
    array([3., 2.])
    >>> symmetric_eigen(np.diag([1.0, 3.0, 2.0]), 2, which="smallest").values
    array([1., 2.])
    """
    A = aslinearoperator(operator)
    size = A.shape[0]
    m = min(n_values, size)
    small = size <= _DENSE_BELOW or m > size // 3
    chosen = ("dense" if small else "lanczos") if solver == "auto" else solver
    # LOBPCG needs room for three blocks of vectors, Lanczos for one more vector than asked for.
    if (chosen == "lobpcg" and 5 * m >= size) or (chosen == "lanczos" and m >= size):
        chosen = "dense"
    rng = np.random.default_rng(seed)
    if chosen == "dense":
        values, vectors = _dense(A, m, which)
    elif chosen == "lanczos":
        values, vectors = _lanczos(A, m, which, rng)
        if len(values) < m and solver == "auto":
            chosen = "lobpcg"
            values, vectors = _lobpcg(A, m, which, rng, preconditioner)
    else:
        values, vectors = _lobpcg(A, m, which, rng, preconditioner)
    order = np.argsort(values)
    order = order[::-1] if which == "largest" else order
    values, vectors = values[order], vectors[:, order]
    residual = np.linalg.norm(A @ vectors - vectors * values, axis=0)
    worst = float(residual.max(initial=0.0))
    if len(values) < m or not worst <= _LARGEST_RESIDUAL * max(1.0, np.abs(values).max(initial=0)):
        raise RuntimeError(
            f"the eigen-solver ({chosen}) found {len(values)} of {m} eigenvalues of a {size} x "
            f"{size} operator with residual {worst:.1e}; ask for fewer, or for solver='dense'."
        )
    return EigenResult(values, vectors, worst, chosen)


def _dense(A: LinearOperator, m: int, which: str) -> tuple[np.ndarray, np.ndarray]:
    size = A.shape[0]
    full = A @ np.eye(size)
    first = size - m if which == "largest" else 0
    return eigh((full + full.T) / 2, subset_by_index=[first, first + m - 1])


def _lanczos(
    A: LinearOperator, m: int, which: str, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pairs that converged, which may be fewer than asked for."""
    end = "LA" if which == "largest" else "SA"
    try:
        return eigsh(A, k=m, which=end, v0=rng.standard_normal(A.shape[0]), tol=1e-8)
    except ArpackNoConvergence as error:
        return error.eigenvalues, error.eigenvectors


def _lobpcg(
    A: LinearOperator,
    m: int,
    which: str,
    rng: np.random.Generator,
    preconditioner: LinearOperator | None,
) -> tuple[np.ndarray, np.ndarray]:
    # A few vectors more than asked for keep the last ones from converging slowly.
    width = min(m + 5, A.shape[0] // 5)
    block = rng.standard_normal((A.shape[0], width))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the residual is checked by the caller
        values, vectors = lobpcg(
            A, block, M=preconditioner, largest=which == "largest", maxiter=1000, tol=1e-8
        )
    order = np.argsort(values)
    keep = order[::-1][:m] if which == "largest" else order[:m]
    return values[keep], vectors[:, keep]


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
        return symmetric_eigen(
            symmetric_operator(n, lambda v: to_points(to_clusters(v))), min(n_values, n), seed=seed
        )
    found = symmetric_eigen(
        symmetric_operator(width, lambda t: to_clusters(to_points(t))),
        min(n_values, width),
        seed=seed,
    )
    positive = np.sqrt(np.maximum(found.values, 0.0))
    vectors = to_points(found.vectors)
    vectors = np.divide(vectors, positive, out=np.zeros_like(vectors), where=positive > 1e-8)
    return EigenResult(found.values, vectors, found.residual, found.solver, "clusters")
