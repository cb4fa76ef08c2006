"""Symmetric operators made of others: scaled, shifted, normalised; only vectors are stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from clusterscape._core.params import shown


def symmetric_operator(size: int, product: Callable[[np.ndarray], np.ndarray]) -> LinearOperator:
    """Return the operator whose product with a (size, m) block is ``product``.

    Parameters
    ----------
    size : int
        Rows and columns.
    product : callable
        Takes and returns a contiguous (size, m) array of float64.

    Returns
    -------
    LinearOperator

    See Also
    --------
    scaled, combination, without_diagonal : Operators made of others.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import symmetric_operator
    >>> symmetric_operator(2, lambda block: 3 * block) @ np.ones(2)
    array([3., 3.])
    """

    def apply(values: np.ndarray) -> np.ndarray:
        block = np.ascontiguousarray(values, dtype=np.float64).reshape(size, -1)
        return product(block).reshape(values.shape)

    return LinearOperator(
        (size, size), matvec=apply, rmatvec=apply, matmat=apply, rmatmat=apply, dtype=np.float64
    )


def scaled(operator: Any, scale: np.ndarray) -> LinearOperator:
    """Return diag(scale) A diag(scale).

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        A, symmetric.
    scale : (n,) array
        The diagonal.

    Returns
    -------
    LinearOperator

    See Also
    --------
    normalized : Scaled by the degrees.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import scaled
    >>> scaled(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 2.0])) @ np.ones(2)
    array([2., 2.])
    """
    A = aslinearoperator(operator)
    column = _diagonal(scale, A.shape[0], "scale")
    return symmetric_operator(A.shape[0], lambda block: column * (A @ (column * block)))


def row_sums(operator: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """Return A @ weights: the degrees of a graph whose points represent ``weights`` points each.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        A, symmetric.
    weights : (n,) array, optional
        Number of points that each point represents; one by default.

    Returns
    -------
    (n,) array

    See Also
    --------
    normalized : Uses them to scale an operator.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import row_sums
    >>> row_sums(np.array([[0.0, 1.0], [1.0, 1.0]]))
    array([1., 2.])
    """
    A = aslinearoperator(operator)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = A @ (
            np.ones(A.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
        )
    if not np.isfinite(sums).all():
        raise ValueError(
            "the sums of the rows leave the range of numbers; divide the matrix, or the weights, "
            "by the largest entry."
        )
    return sums


def normalized(operator: Any, weights: np.ndarray | None = None) -> LinearOperator:
    """Return D^-1/2 A D^-1/2, with D the degrees; a point of degree zero has a zero row.

    A point of weight w represents w copies: the operator is then the one of the copies, restricted
    to vectors that are equal on copies and written in coordinates of unit length. Its eigenvalues
    are the non-trivial ones of the copies' operator, and v / sqrt(w) is the vector on the copies.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        A, symmetric.
    weights : (n,) array, optional
        Number of points that each point represents; one by default.

    Returns
    -------
    LinearOperator

    See Also
    --------
    normalized_laplacian : The identity minus this operator.
    spectral_embedding : Its leading eigenvectors.

    References
    ----------
    .. [1] U. von Luxburg. A tutorial on spectral clustering. Statistics and Computing 17, 395-416,
       2007. doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import normalized
    >>> (normalized(np.array([[1.0, 1.0], [1.0, 1.0]])) @ np.ones(2)).round(9)
    array([1., 1.])
    """
    degree = row_sums(operator, weights)
    weight = np.ones_like(degree) if weights is None else np.asarray(weights, dtype=np.float64)
    return scaled(operator, root_shares(weight, degree))


def root_shares(weight: np.ndarray, degree: np.ndarray) -> np.ndarray:
    """Return the roots of weight / degree, 0 where a degree is."""
    linked = degree > 0
    with np.errstate(over="ignore"):  # the inverse of the smallest numbers is none: their root is
        share = np.divide(weight, degree, out=np.zeros_like(degree), where=linked)
    root = np.sqrt(share)
    far = np.isinf(root)
    root[far] = np.sqrt(weight[far]) / np.sqrt(degree[far])
    return root


def normalized_laplacian(operator: Any, weights: np.ndarray | None = None) -> LinearOperator:
    """Return I - D^-1/2 A D^-1/2; see :func:`normalized` for the weights.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        A, symmetric.
    weights : (n,) array, optional
        Number of points that each point represents; one by default.

    Returns
    -------
    LinearOperator

    See Also
    --------
    normalized : The identity minus this operator.

    References
    ----------
    .. [1] U. von Luxburg. A tutorial on spectral clustering. Statistics and Computing 17, 395-416,
       2007. doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import normalized_laplacian
    >>> (normalized_laplacian(np.ones((2, 2))) @ np.array([1.0, -1.0])).round(9)
    array([ 1., -1.])
    """
    inner = normalized(operator, weights)
    return symmetric_operator(inner.shape[0], lambda block: block - inner @ block)


def combination(first: Any, second: Any, *, shares: tuple[float, float]) -> LinearOperator:
    """Return a A + b B, with the shares (a, b).

    Parameters
    ----------
    first, second : LinearOperator, array or sparse matrix
        A and B, symmetric and of one size.
    shares : (float, float)
        a and b.

    Returns
    -------
    LinearOperator

    See Also
    --------
    scaled, without_diagonal : Other operators made of operators.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import combination
    >>> combination(np.eye(2), np.ones((2, 2)), shares=(2.0, -1.0)) @ np.ones(2)
    array([0., 0.])
    """
    A, B = aslinearoperator(first), aslinearoperator(second)
    a, b = shares
    return symmetric_operator(A.shape[0], lambda block: a * (A @ block) + b * (B @ block))


def without_diagonal(operator: Any, diagonal: np.ndarray) -> LinearOperator:
    """Return A - diag(diagonal).

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        A, symmetric.
    diagonal : (n,) array
        What is taken off.

    Returns
    -------
    LinearOperator

    See Also
    --------
    combination : A weighted sum of two operators.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import without_diagonal
    >>> without_diagonal(np.ones((2, 2)), np.ones(2)) @ np.array([1.0, 3.0])
    array([3., 1.])
    """
    A = aslinearoperator(operator)
    column = _diagonal(diagonal, A.shape[0], "diagonal")
    return symmetric_operator(A.shape[0], lambda block: A @ block - column * block)


def _diagonal(values: Any, size: int, name: str) -> np.ndarray:
    """Return the entries of a diagonal as a column."""
    if np.shape(values) != (size,):
        raise ValueError(
            f"{name} must have one entry per row of the operator, {size} in all; got shape "
            f"{np.shape(values)}."
        )
    return np.asarray(values, dtype=np.float64)[:, None]


def checked_similarity(matrix: Any, name: str) -> Any:
    """Return a dense or CSR matrix of floats; it must be square, finite and not negative."""
    if sparse.issparse(matrix):
        checked_matrix = sparse.csr_matrix(matrix, dtype=np.float64)
        entries = checked_matrix.data
    else:
        checked_matrix = np.asarray(matrix, dtype=np.float64)
        entries = checked_matrix
    if checked_matrix.ndim != 2 or checked_matrix.shape[0] != checked_matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix; got shape {checked_matrix.shape}.")
    if not np.isfinite(entries).all() or entries.min(initial=0.0) < 0:
        raise ValueError(f"{name} must hold finite similarities >= 0; got {shown(matrix)}.")
    largest = float(entries.max(initial=0.0))
    if largest > 1e150 or 0 < largest < 1e-150:
        raise ValueError(
            f"{name} has similarities up to {largest:g}, whose products leave the range of "
            "numbers; divide them by the largest."
        )
    gap = abs(checked_matrix - checked_matrix.T)
    if gap.max() > 1e-8 * largest:
        raise ValueError(f"{name} must be symmetric; use (S + S.T) / 2 if that is what you mean.")
    return checked_matrix


def checked_operator(operator: Any, name: str) -> Any:
    """Return an operator as it is, and anything else as a checked matrix of similarities."""
    return operator if isinstance(operator, LinearOperator) else checked_similarity(operator, name)
