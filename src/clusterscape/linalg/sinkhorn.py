"""Sinkhorn-Knopp scaling of a symmetric matrix, by products with vectors alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from clusterscape._core.params import Integer, Null, Number, checked, shown
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.operators import checked_similarity

# Where the diagonal that is taken off, once scaled, is so much more than the row sum of one,
# the rest of the row is lost to rounding: the scale diverges, and no sum can be trusted.
_RUNAWAY = 1e5


@dataclass(frozen=True)
class Scaling:
    """The diagonal that makes a symmetric matrix doubly stochastic.

    Attributes
    ----------
    scale : (n,) array
        The vector d of P = diag(d) S diag(d).
    error : float
        Largest deviation of a row sum of P from 1.
    n_iter : int
        Iterations, those before a restart included.
    restarted : bool
        Whether a constant had to be added to S.
    added_constant : float
        What was added to every element, 0 without a restart.

    See Also
    --------
    clusterscape.linalg.sinkhorn.sinkhorn : Make one.
    """

    scale: np.ndarray
    error: float
    n_iter: int
    restarted: bool
    added_constant: float


@dataclass(frozen=True)
class PointMatrix:
    """A symmetric matrix over points, of which some are copies of each other.

    Row g of ``similarity`` represents ``weights[g]`` equal points; ``removed`` is taken
    off the diagonal of each of them, and ``constant`` is added to every element.
    """

    similarity: LinearOperator
    weights: np.ndarray
    removed: np.ndarray
    constant: float = 0.0

    def product(self, values: np.ndarray) -> np.ndarray:
        """Return the matrix over points times values (m, q) that are equal on copies."""
        heavy = self.weights[:, None] * values
        result = self.similarity @ heavy - self.removed[:, None] * values
        return result + self.constant * heavy.sum(axis=0) if self.constant else result


@checked(
    {
        "largest": [Null(), Number(0)],
        "tol": [Number(0, open_low=True)],
        "max_iter": [Integer(1)],
        "restart": [Number(0, 1)],
    }
)
def sinkhorn(
    operator: Any,
    *,
    weights: Any = None,
    diagonal: Any = None,
    largest: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 1000,
    restart: float = 0.01,
) -> Scaling:
    """Find d such that diag(d) S diag(d) has row and column sums of one.

    The iteration is ``d <- sqrt(d / (S d))``: one product with S per step, so S may be an operator.
    It converges if and only if S has total support (see :func:`total_support`). Where ``max_iter``
    steps are not enough, a small constant is added to every element, which always has a scaling,
    and the iteration starts anew, once. An unconverged scaling is never returned.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        Symmetric, not negative.
    weights : (n,) array, optional
        Number of equal points that each row represents, as after ``Ensemble.compress``. The
        scale of a row is the scale of its copies.
    diagonal : (n,) array, optional
        What is to be taken off the diagonal of S at the level of points: a point is then not its
        own neighbour, while its copies are.
    largest : float, optional
        The largest element of S; needed for a restart when S is an operator.
    tol : float
        Largest deviation of a row sum from 1.
    max_iter : int
        Iterations before the restart, and again after it.
    restart : float
        The constant, as a share of the largest element; 0 forbids the restart.

    Returns
    -------
    Scaling

    Raises
    ------
    RuntimeError
        When there is no scaling within ``max_iter`` steps and no restart is left.

    See Also
    --------
    total_support : Whether a scaling exists.

    References
    ----------
    .. [1] R. Sinkhorn and P. Knopp. Concerning nonnegative matrices and doubly stochastic matrices.
       Pacific Journal of Mathematics 21(2), 343-348, 1967. doi:10.2140/pjm.1967.21.343

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.sinkhorn import sinkhorn
    >>> S = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    >>> d = sinkhorn(S).scale
    >>> (d[:, None] * S * d).round(3)
    array([[0. , 0.5, 0.5],
           [0.5, 0. , 0.5],
           [0.5, 0.5, 0. ]])
    """
    points = _points(operator, weights, diagonal)
    d, error, n_iter = _iterate(points, tol, max_iter)
    if error <= tol:
        return Scaling(d, error, n_iter, False, 0.0)
    if restart == 0:
        raise RuntimeError(
            f"the matrix could not be scaled in max_iter={max_iter} steps (a row sum is off by "
            f"{error:.1e}); it has probably no total support. Allow restart=0.01, which adds a "
            "small constant to every element, or raise max_iter."
        )
    if largest is None:
        largest = _largest(operator, points)
    constant = restart * largest
    if constant == 0:
        raise ValueError("operator has no positive element, so nothing can be scaled.")
    raised = PointMatrix(points.similarity, points.weights, points.removed, constant)
    d, error, more = _iterate(raised, tol, max_iter)
    if error > tol:
        raise RuntimeError(
            f"the matrix could not be scaled in 2 x {max_iter} steps, although {constant:.3g} was "
            f"added to every element (a row sum is off by {error:.1e}); raise max_iter or restart."
        )
    return Scaling(d, error, n_iter + more, True, constant)


def _iterate(points: PointMatrix, tol: float, max_iter: int) -> tuple[np.ndarray, float, int]:
    """Return the scale, the largest deviation of a row sum, and the steps taken."""
    d = np.ones(points.weights.size)
    error = np.inf
    for n_iter in range(max_iter + 1):
        product = points.product(d[:, None]).ravel()
        if (product < -1e-9 * np.abs(product).max()).any():
            raise ValueError("operator has negative elements; similarities must be >= 0.")
        if not (np.isfinite(product).all() and (product > 0).all()):
            return d, np.inf, n_iter  # an empty row, or a scale that diverges
        if (points.removed * d**2).max(initial=0.0) > _RUNAWAY:
            return d, np.inf, n_iter
        error = float(np.abs(d * product - 1.0).max())
        if error <= tol or n_iter == max_iter:
            break
        d = np.sqrt(d / product)
    return d, error, n_iter


def _points(operator: Any, weights: Any, diagonal: Any) -> PointMatrix:
    if not isinstance(operator, LinearOperator):
        operator = checked_similarity(operator, "operator")
    n = operator.shape[0]
    if operator.shape != (n, n):
        raise ValueError(f"operator must be square; got shape {operator.shape}.")
    return PointMatrix(
        aslinearoperator(operator),
        checked_weights(weights, n, name="weights"),
        _diagonal(diagonal, n),
    )


def _diagonal(values: Any, n: int) -> np.ndarray:
    if values is None:
        return np.zeros(n)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"diagonal must be {n} numbers >= 0, one per row; got {shown(values)}.")
    return array


def _largest(operator: Any, points: PointMatrix) -> float:
    """Return the largest element between two points."""
    if isinstance(operator, LinearOperator):
        raise ValueError(
            "largest must be given: the restart adds a share of the largest element, which an "
            "operator does not provide. Pass largest=..., or restart=0 to forbid it."
        )
    matrix = sparse.coo_matrix(operator)
    single = (matrix.row == matrix.col) & (points.weights[matrix.row] <= 1)
    entries = matrix.data - np.where(single, points.removed[matrix.row], 0.0)
    return float(entries.max(initial=0.0))
