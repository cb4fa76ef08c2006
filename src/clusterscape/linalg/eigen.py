"""One interface to the symmetric eigen-solvers, which never returns an unconverged vector."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import issparse
from scipy.sparse.linalg import (
    ArpackNoConvergence,
    LinearOperator,
    aslinearoperator,
    eigsh,
    lobpcg,
)

from clusterscape._core.params import Integer, checked
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

    See Also
    --------
    symmetric_eigen : Make one.
    """

    values: np.ndarray
    vectors: np.ndarray
    residual: float
    solver: str
    side: str = "points"


@checked({"n_values": (Integer(1),)})
def symmetric_eigen(
    operator: Any,
    n_values: int,
    *,
    which: Literal["largest", "smallest"] = "largest",
    solver: Literal["auto", "dense", "lanczos", "lobpcg"] = "auto",
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
    seed : int
        Of the start vectors.

    Returns
    -------
    EigenResult

    Raises
    ------
    ValueError
        When a matrix is not square or not finite.
    RuntimeError
        When the vectors do not satisfy the equation; an unconverged answer is never returned.

    See Also
    --------
    coassociation_spectrum : Of a co-association.

    References
    ----------
    .. [1] R. B. Lehoucq, D. C. Sorensen and C. Yang. ARPACK users' guide. SIAM, 1998.
       doi:10.1137/1.9780898719628
    .. [2] A. V. Knyazev. Toward the optimal preconditioned eigensolver: locally optimal block
       preconditioned conjugate gradient method. SIAM Journal on Scientific Computing 23(2),
       517-541, 2001. doi:10.1137/S1064827500366124

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import symmetric_eigen
    >>> symmetric_eigen(np.diag([1.0, 3.0, 2.0]), 2).values
    array([3., 2.])
    >>> symmetric_eigen(np.diag([1.0, 3.0, 2.0]), 2, which="smallest").values
    array([1., 2.])
    """
    A = _as_operator(operator)
    size = A.shape[0]
    if A.shape != (size, size):
        raise ValueError(f"operator must be square; got shape {A.shape}.")
    m = min(n_values, size)
    small = size <= _DENSE_BELOW or m > size // 3
    chosen = ("dense" if small else "lanczos") if solver == "auto" else solver
    # LOBPCG keeps three blocks of vectors, Lanczos one more vector than asked for.
    if (chosen == "lobpcg" and 5 * m >= size) or (chosen == "lanczos" and m >= size):
        chosen = "dense"
    rng = np.random.default_rng(seed)
    sign = 1.0 if which == "largest" else -1.0
    upward = A if sign > 0 else symmetric_operator(size, lambda block: -(A @ block))
    if chosen == "dense":
        full = upward @ np.eye(size)
        values, vectors = largest_pairs(full / 2 + full.T / 2, m)
    elif chosen == "lanczos":
        values, vectors = _lanczos(upward, m, rng)
        if len(values) < m and solver == "auto":
            chosen = "lobpcg"
            values, vectors = _lobpcg(upward, m, rng)
    else:
        values, vectors = _lobpcg(upward, m, rng)
    # A single vector has no copy that could be missing: any of its eigenspace will do.
    if chosen != "dense" and 1 < len(values) == m:
        values, vectors = _with_missing(upward, values, vectors, rng)
    order = np.argsort(values)[::-1]
    values, vectors = sign * values[order], vectors[:, order]
    # Relative to the operator, whose norm is at least what it does to any vector.
    probe = rng.standard_normal((size, 1))
    product = A @ np.hstack([vectors, probe / np.linalg.norm(probe)])
    # In units of a power of two near the largest, so that no square leaves the range.
    unit = np.ldexp(1.0, max(int(np.frexp(np.abs(product).max(initial=0.0))[1]) - 1, -1000))
    product /= unit
    residual = unit * np.linalg.norm(product[:, :-1] - vectors * (values / unit), axis=0)
    worst = float(residual.max(initial=0.0))
    norm = max(unit * float(np.linalg.norm(product[:, -1])), np.abs(values).max())
    if len(values) < m or not worst <= _LARGEST_RESIDUAL * norm + np.finfo(float).tiny:
        raise RuntimeError(
            f"the eigen-solver ({chosen}) found {len(values)} of {m} eigenvalues of a {size} x "
            f"{size} operator with residual {worst:.1e}. It must be symmetric and finite; if it "
            "is, ask for fewer, or for solver='dense'."
        )
    return EigenResult(values, vectors, worst, chosen)


def _as_operator(given: Any) -> LinearOperator:
    """Return an operator; the entries of a matrix are looked at, those of an operator unknown."""
    if isinstance(given, LinearOperator):
        return given
    matrix: Any = given if issparse(given) else np.asarray(given, dtype=np.float64)
    if not np.isfinite(matrix.tocsr().data if issparse(matrix) else matrix).all():
        raise ValueError("operator must hold finite numbers; an entry is NaN or infinite.")
    return aslinearoperator(matrix)


def largest_pairs(
    A: np.ndarray, m: int, B: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the m largest eigenvalues of A v = value v, or A v = value B v, and the vectors.

    Ascending. LAPACK's search in a range may miss values that coincide, as those of a matrix that
    is nearly the identity, and does not say so; then all are computed.

    Parameters
    ----------
    A : (size, size) array
        Symmetric.
    m : int
        How many, at most the size.
    B : (size, size) array, optional
        Symmetric and positive definite.

    Returns
    -------
    values, vectors : (m,) and (size, m) arrays

    See Also
    --------
    symmetric_eigen : Also of operators, with a check of the residual.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.eigen import largest_pairs
    >>> largest_pairs(np.diag([1.0, 3.0, 2.0]), 2)[0]
    array([2., 3.])
    """
    size = len(A)
    values, vectors = eigh(A, B, subset_by_index=[size - m, size - 1])
    if len(values) < m:
        values, vectors = eigh(A, B, driver="evd" if B is None else "gvd")
    return values[-m:], vectors[:, -m:]


def _lanczos(
    A: LinearOperator, m: int, rng: np.random.Generator, tol: float = 1e-8
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest pairs that converged, which may be fewer than asked for."""
    try:
        return eigsh(A, k=m, which="LA", v0=rng.standard_normal(A.shape[0]), tol=tol)
    except ArpackNoConvergence as error:
        return error.eigenvalues, error.eigenvectors


def _lobpcg(A: LinearOperator, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    # A few vectors more than asked for keep the last ones from converging slowly.
    width = min(m + 5, A.shape[0] // 5)
    block = rng.standard_normal((A.shape[0], width))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the residual is checked by the caller
        values, vectors = lobpcg(A, block, largest=True, maxiter=1000, tol=1e-8)
    keep = np.argsort(values)[::-1][:m]
    return values[keep], vectors[:, keep]


def _with_missing(
    A: LinearOperator, values: np.ndarray, vectors: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest pairs with the copies of repeated eigenvalues that were not found.

    A Krylov space grown from one vector holds one vector of each eigenvalue, so groups that nothing
    links (each has an eigenvalue of one) may be missed although every pair found is exact. With
    those moved down the spectrum, no eigenvalue may be left above the least of them.
    """
    m = len(values)
    for _ in range(m):
        largest_value = max(np.abs(values).max(), 1e-300)
        drop = values - values.min() + largest_value
        rest = _lowered(A, vectors, drop)
        top, _ = _lanczos(rest, 1, rng, tol=1e-3)
        if top.size == 0 or top[0] <= values.min() + 1e-6 * largest_value:
            break
        _, more = _lanczos(rest, m, rng)
        if more.shape[1] == 0:
            break
        basis, _ = np.linalg.qr(np.hstack([vectors, more]))
        small, turn = eigh(basis.T @ (A @ basis))
        values, vectors = small[-m:], basis @ turn[:, -m:]
    return values, vectors


def _lowered(A: LinearOperator, vectors: np.ndarray, drop: np.ndarray) -> LinearOperator:
    """Return A with the eigenvalues of some vectors lowered."""
    return symmetric_operator(
        A.shape[0], lambda block: A @ block - vectors @ (drop[:, None] * (vectors.T @ block))
    )
