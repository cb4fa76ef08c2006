"""Spectral embedding of an affinity, and the spectral clustering of Ng, Jordan and Weiss."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg

from clusterscape._core.params import Flag, Integer, Seed, checked
from clusterscape._core.seeds import RandomState, kernel_seed, spawn
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.affinity import Affinity, affinity
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.eigen import EigenResult, symmetric_eigen
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.operators import (
    normalized,
    normalized_laplacian,
    row_sums,
    symmetric_operator,
)

_SOLVED = 1e-10  # relative residual of a solved system
_EASY = 30  # steps within which a system must be solved to need no preconditioner
_STEPS = 2_000
_FEW_CLUSTERS = 100  # clusters up to which all of their spectrum is computed
_ZERO = 1e-9  # share of the largest eigenvalue below which one is zero


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Return the rows scaled to unit length; rows of zeros stay.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.embedding import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


@checked({"n_components": (Integer(1),), "row_normalize": (Flag(),), "seed": (Integer(0),)})
def spectral_embedding(
    affinity: Any,
    n_components: int,
    *,
    weights: np.ndarray | None = None,
    row_normalize: bool = True,
    seed: int = 0,
) -> EigenResult:
    """Return the leading eigenvectors of D^-1/2 A D^-1/2 as coordinates of the points.

    Clusters become tight where hardly any affinity links them. Where they overlap, or where a few
    points are linked to nothing else, the first vectors separate those few points from the rest.

    Parameters
    ----------
    affinity : Affinity, LinearOperator, array or sparse matrix
        Symmetric, not negative.
    n_components : int
        Coordinates; as many as there are clusters.
    weights : (n,) array, optional
        Number of copies that each point represents.
    row_normalize : bool
        Scale each point's coordinates to unit length, as Ng, Jordan and Weiss do.
    seed : int
        Of the eigen-solver's start.

    Returns
    -------
    EigenResult
        Eigenvalues, largest first; ``vectors`` holds the coordinates.

    See Also
    --------
    njw : The embedding and its clusters.

    References
    ----------
    .. [1] A. Y. Ng, M. I. Jordan and Y. Weiss. On spectral clustering: analysis and an algorithm.
       Advances in Neural Information Processing Systems 14, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import spectral_embedding
    >>> A = np.kron(np.eye(2), np.ones((2, 2)) - np.eye(2))
    >>> spectral_embedding(A, 2).values
    array([1., 1.])
    """
    operator = affinity
    if weights is not None:
        n = affinity.shape[0] if hasattr(affinity, "shape") else len(affinity)
        weights = checked_weights(weights, n, name="weights", positive=True)
    if weights is not None and isinstance(affinity, Affinity):
        operator = affinity.weighted(weights)
    found = symmetric_eigen(normalized(operator, weights), n_components, seed=seed)
    rows = found.vectors if weights is None else found.vectors / np.sqrt(weights)[:, None]
    rows = unit_rows(rows) if row_normalize else rows
    return EigenResult(found.values, rows, found.residual, found.solver)


@checked({"n_clusters": (Integer(1),), "n_init": (Integer(1),), "random_state": (Seed(),)})
def njw(
    X: Any,
    n_clusters: int,
    *,
    n_init: int = 10,
    sample_weight: np.ndarray | None = None,
    random_state: RandomState = None,
    **options: Any,
) -> np.ndarray:
    """Return the spectral clustering of Ng, Jordan and Weiss (2001): labels of the points.

    k-means on the unit rows of :func:`spectral_embedding`. The result follows the affinity: with a
    bandwidth that is too small it splits off outliers.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features.
    n_clusters : int
        Clusters to form.
    n_init : int
        Starts of k-means.
    sample_weight : (n,) array, optional
        Number of copies that each point represents.
    random_state : int, generator or None
        Seed of the affinity's sample, the eigen-solver and k-means.
    **options
        Passed to :func:`affinity`.

    Returns
    -------
    (n,) array
        Labels from 0.

    See Also
    --------
    spectral_embedding : The embedding alone.
    kway_ncut : The same with the value of the cut.

    References
    ----------
    .. [1] A. Y. Ng, M. I. Jordan and Y. Weiss. On spectral clustering: analysis and an algorithm.
       Advances in Neural Information Processing Systems 14, 2001.

    Examples
    --------
    >>> from clusterscape.linalg import njw
    >>> labels = njw([[0.0], [0.2], [0.1], [5.0], [5.2]], 2, scale=1.0, random_state=0)
    >>> bool(labels[0] == labels[1] == labels[2] != labels[3] == labels[4])
    True
    """
    sampling, starting, dividing = spawn(random_state, 3)
    graph = affinity(X, **{"seed": sampling, **options})
    start = kernel_seed(starting) % 2**32
    rows = spectral_embedding(graph, n_clusters, weights=sample_weight, seed=start)
    return kmeans(
        rows.vectors, n_clusters, n_init=n_init, sample_weight=sample_weight, seed=dividing
    ).labels


class LaplacianInverse(LinearOperator):
    """The pseudo-inverse of the normalised Laplacian of an affinity, by conjugate gradients.

    Nothing n x n is formed. The null space is known beforehand, one vector for each piece of the
    graph that has a link, and is projected out. Where the graph has bottlenecks the gradients are
    preconditioned with the first eigenvectors.

    Parameters
    ----------
    graph : Affinity
        The affinities.
    weights : (n,) array, optional
        Number of copies that each point represents.
    n_vectors : int
        Eigenvectors of the preconditioner.
    seed : int
        Of their solver.

    Attributes
    ----------
    laplacian : LinearOperator
        L itself.
    n_pieces : int
        Pieces of the graph that nothing links.
    residual : float
        Largest relative residual of the systems solved so far.

    Raises
    ------
    RuntimeError
        By a product, when a system is not solved in 2,000 steps.

    See Also
    --------
    laplacian_quotient : Eigenvectors of its product with a co-association.

    References
    ----------
    .. [1] Z. Tao, H. Liu and Y. Fu. Simultaneous clustering and ensemble. AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import LaplacianInverse
    >>> from clusterscape.linalg.affinity import affinity
    >>> inverse = LaplacianInverse(affinity([[0.0], [1.0], [3.0]], scale=1.0))
    >>> v = inverse.project(np.array([1.0, -2.0, 0.5])[:, None])
    >>> np.allclose(inverse.laplacian @ (inverse @ v), v)
    True
    """

    def __init__(
        self,
        graph: Affinity,
        *,
        weights: np.ndarray | None = None,
        n_vectors: int = 20,
        seed: int = 0,
    ) -> None:
        n = graph.shape[0]
        super().__init__(np.dtype(np.float64), (n, n))
        weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
        operator = graph.weighted(weight)
        self.laplacian = normalized_laplacian(operator, weight)
        self.n_pieces, names = graph.components()
        mass = row_sums(operator, weight) * weight
        self.null = _null_vectors(self.laplacian, mass, names, self.n_pieces)
        self.residual = 0.0
        self._n_vectors = min(n_vectors, n // 5)
        self._seed = seed
        self._preconditioner: LinearOperator | None = None
        self._probed = False

    def project(self, values: np.ndarray) -> np.ndarray:
        """Return the part of each column that is orthogonal to the null space."""
        return values - self.null @ (self.null.T @ values)

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        given = np.asarray(X, dtype=np.float64)
        columns = self.project(given)
        # What the projection leaves of a null vector is rounding, and no system is solved for it.
        rest = np.linalg.norm(columns, axis=0) <= 1e-13 * np.linalg.norm(given, axis=0)
        columns[:, rest] = 0.0
        solved = [self._solve(np.ascontiguousarray(column)) for column in columns.T]
        return self.project(np.stack(solved, axis=1))

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.asarray(x).reshape(-1, 1)).ravel()

    def _adjoint(self) -> LaplacianInverse:
        return self  # symmetric

    def _solve(self, right: np.ndarray) -> np.ndarray:
        norm = float(np.linalg.norm(right))
        if norm == 0:
            return np.zeros_like(right)
        if not self._probed:
            self._probed = True
            _, failed = cg(self.laplacian, right, rtol=_SOLVED, atol=0.0, maxiter=_EASY)
            if failed and self._n_vectors:
                self._preconditioner = self._spectral_preconditioner()
        found, failed = cg(
            self.laplacian,
            right,
            rtol=_SOLVED,
            atol=0.0,
            maxiter=_STEPS,
            M=self._preconditioner,
        )
        if failed:
            raise RuntimeError(
                f"a system with the Laplacian of the affinities was not solved in {_STEPS:,} "
                "steps: the graph is nearly disconnected. Use more neighbors, a larger scale, or "
                "another affinity."
            )
        error = float(np.linalg.norm(right - self.laplacian @ found)) / norm
        self.residual = max(self.residual, error)
        return found

    def _spectral_preconditioner(self) -> LinearOperator:
        """Return I + U (1/lambda - 1) U^T, which moves the first eigenvalues to one."""
        n = self.shape[0]
        # Largest of I - L, since that is the end where Lanczos is quick.
        shifted = symmetric_operator(n, lambda block: block - self.laplacian @ block)
        found = symmetric_eigen(shifted, self._n_vectors, seed=self._seed)
        keep = 1.0 - found.values > 1e-9
        U, extra = found.vectors[:, keep], 1.0 / (1.0 - found.values[keep]) - 1.0
        return symmetric_operator(n, lambda block: block + U @ (extra[:, None] * (U.T @ block)))


def _null_vectors(
    laplacian: LinearOperator, mass: np.ndarray, names: np.ndarray, n_pieces: int
) -> sparse.csr_matrix:
    """Return the unit vectors sqrt(mass) on each piece that is connected by its own links.

    A point that only links too weak to count tie to others is a piece, but no null vector: its
    entry of L is one.
    """
    total = np.bincount(names, weights=mass, minlength=n_pieces)
    root = np.sqrt(np.divide(mass, total[names], out=np.zeros_like(mass), where=total[names] > 0))
    quotient = np.bincount(names, weights=root * (laplacian @ root), minlength=n_pieces)
    n = mass.size
    vectors = sparse.csr_matrix((root, (np.arange(n), names)), shape=(n, n_pieces))
    return vectors[:, (total > 0) & (quotient < 1e-6)]


def laplacian_quotient(
    inverse: LaplacianInverse,
    coassociation: Coassociation,
    n_values: int,
    *,
    weights: np.ndarray | None = None,
    solver: Literal["dense", "solves"] = "solves",
    seed: int = 0,
) -> EigenResult:
    """Return the largest eigenvalues of L^+ S and their vectors H, for which H^T L H = I.

    S = B W B^T counts partitions. The product is not symmetric, but ``B^T L^+ B`` is, and
    ``L^+ B z`` is a vector of the product when z is one of it; where L itself is decomposed, with
    ``L^+ = M M^T``, the same holds of ``M^T S M``. Eigenvalues that are zero are left out, so fewer
    than asked may come back.

    Parameters
    ----------
    inverse : LaplacianInverse
        L and its pseudo-inverse.
    coassociation : Coassociation
        Of any ``normalize``; the counts are used.
    n_values : int
        How many.
    weights : (n,) array, optional
        Number of copies that each point represents, as ``inverse`` was given them.
    solver : {"dense", "solves"}
        Decompose the n x n Laplacian, or solve systems with it.
    seed : int
        Of the eigen-solver's start.

    Returns
    -------
    EigenResult
        ``residual`` is the largest norm of ``L^+ S h - value h`` for columns of unit length, as a
        share of the largest value.

    See Also
    --------
    LaplacianInverse : The inverse that it applies.

    References
    ----------
    .. [1] Z. Tao, H. Liu and Y. Fu. Simultaneous clustering and ensemble. AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.linalg import LaplacianInverse, laplacian_quotient
    >>> from clusterscape.linalg.affinity import affinity
    >>> inverse = LaplacianInverse(affinity([[0.0], [1.0], [4.0], [5.0]], scale=1.0))
    >>> S = Ensemble.from_labels([[0, 0, 1, 1]]).coassociation()
    >>> laplacian_quotient(inverse, S, 2).residual < 1e-8
    True
    """
    if not hasattr(coassociation, "column_weights"):
        raise TypeError(
            "coassociation must be a Coassociation, such as ensemble.coassociation(); got "
            f"{type(coassociation).__name__}."
        )
    n = coassociation.shape[0]
    column = np.sqrt(coassociation.column_weights)[:, None]
    root = np.ones((n, 1)) if weights is None else np.sqrt(weights)[:, None]

    def to_clusters(values: np.ndarray) -> np.ndarray:
        return column * coassociation.collect(np.ascontiguousarray(root * values))

    def to_points(table: np.ndarray) -> np.ndarray:
        return root * coassociation.expand(np.ascontiguousarray(column * table))

    width = column.shape[0]
    if solver == "dense":
        parts = symmetric_eigen(inverse.laplacian, n, which="smallest", solver="dense")
        n_null = inverse.null.shape[1]
        M = parts.vectors[:, n_null:] / np.sqrt(np.maximum(parts.values[n_null:], 1e-14))
        product = aslinearoperator(M @ M.T)
        inner = to_clusters(M)
        found = symmetric_eigen(inner.T @ inner, n_values, solver="dense")
        vectors = M @ found.vectors
    else:
        product = inverse
        side = symmetric_operator(width, lambda table: to_clusters(inverse @ to_points(table)))
        # The whole spectrum takes one solve per cluster, Lanczos some ten per value.
        few = width <= max(_FEW_CLUSTERS, 3 * n_values)
        found = symmetric_eigen(side, n_values, solver="dense" if few else "lanczos", seed=seed)
        vectors = inverse @ to_points(found.vectors)
        vectors /= np.sqrt(np.maximum(found.values, _ZERO))
    largest = float(found.values.max(initial=0.0))
    keep = found.values > _ZERO * max(largest, float(coassociation.column_weights.sum()))
    values, vectors = found.values[keep], vectors[:, keep]
    error = product @ to_points(to_clusters(vectors)) - vectors * values
    residual = np.linalg.norm(error, axis=0) / np.linalg.norm(vectors, axis=0) / largest
    return EigenResult(values, vectors, float(residual.max(initial=0.0)), solver)
