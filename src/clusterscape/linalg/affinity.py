"""Affinities of points from their features: dense, k-nearest-neighbour, landmark or implicit."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.utils import check_array, gen_batches

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import MemoryLimitError, ParameterError
from clusterscape._core.params import Choice, Integer, Null, Number, Rule, Seed, checked
from clusterscape.linalg.components import linked_components, shared_components
from clusterscape.linalg.distances import centre_of, check_range, median_distance, typical
from clusterscape.linalg.landmark_graph import LandmarkSearch, link_matrix
from clusterscape.linalg.operators import symmetric_operator

Kind = Literal["auto", "rbf", "cosine"]
Scale = Literal["median", "local"] | float

RULES: dict[str, tuple[Rule, ...]] = {
    "kind": (Choice("auto", "rbf", "cosine"),),
    "neighbors": (Null(), Integer(1)),
    "landmarks": (Null(), Integer(2)),
    "nearest": (Integer(1),),
    "scale": (Choice("median", "local"), Number(0, open_low=True)),
    "max_gb": (Number(0, open_low=True),),
    "seed": (Seed(),),
}

_SINGLE_ABOVE = 5_000  # points from which a dense affinity is stored in single precision
_SAMPLE = 2_000  # points from whose distances the bandwidth is estimated
_LOCAL = 7  # the neighbour whose distance is a point's own scale
_BLOCK = 4_000_000  # elements of a temporary block
_NOTHING = 1e-30  # a Gaussian below this is zero, since the inverse of a degree must be finite
_LINKED = 1e-10  # a normalised affinity below this links nothing


class Affinity(LinearOperator):
    """Symmetric affinities >= 0 of n points, with zero diagonal, as a linear operator.

    They are stored as a dense or sparse matrix, or as a factor F: ``F F^T`` without its diagonal.

    Parameters
    ----------
    words : str
        A description of the affinities.
    matrix : (n, n) array or sparse matrix, optional
        The affinities, diagonal zero.
    factor : (n, m) array or sparse matrix, optional
        F; give this or ``matrix``.
    copies : (n,) array, optional
        Affinity of a point and a copy of it; 1 unless given.

    Attributes
    ----------
    words : str
        As given.
    bandwidth : float or None
        Bandwidth of the Gaussian, or the median of the local ones; None for other affinities.

    See Also
    --------
    clusterscape.linalg.affinity.affinity : Make one from features.
    spectral_embedding : Its leading eigenvectors.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import Affinity
    >>> A = Affinity("cosine", factor=np.array([[1.0, 0.0], [0.6, 0.8]]))
    >>> A @ np.array([1.0, 2.0])
    array([1.2, 0.6])
    """

    def __init__(
        self,
        words: str,
        *,
        matrix: Any = None,
        factor: Any = None,
        copies: np.ndarray | None = None,
        bandwidth: float | None = None,
    ) -> None:
        n = (factor if matrix is None else matrix).shape[0]
        super().__init__(np.dtype(np.float64), (n, n))
        self.words = words
        self.matrix = matrix
        self.factor = factor
        self.bandwidth = bandwidth
        if copies is None:
            copies = np.ones(n) if factor is None else _squared_rows(factor)
        self.copies = copies

    def _matmat(self, X: np.ndarray) -> np.ndarray:
        values = np.asarray(X, dtype=np.float64)
        if self.factor is not None:
            inner = self.factor.T @ values
            return np.asarray(self.factor @ inner) - self.copies[:, None] * values
        if self.matrix.dtype == np.float64:
            return np.asarray(self.matrix @ values)
        out = np.zeros((values.shape[1], values.shape[0]))
        kernels.affinity.symmetric_product(self.matrix, np.ascontiguousarray(values.T), out)
        return out.T

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._matmat(np.asarray(x).reshape(-1, 1)).ravel()

    def _adjoint(self) -> Affinity:
        return self  # symmetric

    def weighted(self, weights: np.ndarray) -> LinearOperator:
        """Return the affinities of points that represent ``weights`` copies each.

        A point has no affinity to itself but to its copies, so a weight above 1 puts (w - 1) / w
        of the affinity between copies on the diagonal. With this operator
        ``normalized_laplacian(A, weights)`` is exactly that of the copies, for integer weights
        (in a k-nearest-neighbour or landmark graph, of the copies of this same graph).
        """
        own = self.copies * np.maximum(weights - 1.0, 0.0) / weights
        if not own.any():
            return self
        column = own[:, None]
        return symmetric_operator(self.shape[0], lambda block: self @ block + column * block)

    def toarray(self) -> np.ndarray:
        """Return the dense n x n matrix in double precision."""
        if self.factor is not None:
            return self @ np.eye(self.shape[0])
        return self.matrix.toarray() if sparse.issparse(self.matrix) else self.matrix.astype(float)

    def components(self) -> tuple[int, np.ndarray]:
        """Return the number of pieces that no affinity links, and each point's piece.

        An affinity under 1e-10 of the geometric mean of its two degrees links nothing: it is
        rounding. (With a factor every shared column links.)
        """
        if self.factor is not None:
            return shared_components(self.factor)
        root = np.sqrt(np.asarray(self.matrix.sum(axis=1, dtype=np.float64)).ravel())
        return linked_components(self.matrix, least=_LINKED, scale=root)


@checked(RULES)
def affinity(
    X: Any,
    *,
    kind: Kind = "auto",
    neighbors: int | None = None,
    landmarks: int | None = None,
    nearest: int = 5,
    scale: Scale = "median",
    max_gb: float = 4.0,
    seed: _seeds.RandomState = 0,
) -> Affinity:
    """Return the affinities of points by their features, as an operator with zero diagonal.

    A Gaussian follows the columns of the largest scale and loses contrast in many dimensions; the
    cosine ignores length. One bandwidth suits no data whose clusters differ in density: then
    use ``scale="local"``.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features.
    kind : {"auto", "rbf", "cosine"}
        "rbf" is ``exp(-|x - y|^2 / (2 s^2))``. "cosine" is the cosine of two rows, or, where X has
        negative entries, ``(1 + cosine) / 2``, which is never negative. "auto" is the cosine for
        sparse X (counts of words) and the Gaussian for dense X.
    neighbors : int, optional
        Keep the affinities of each point to its nearest ones, symmetrised by the larger: a sparse
        graph.
    landmarks : int, optional
        Represent each point by its ``nearest`` among this many rows drawn at random, with shares Z
        that sum to one, as landmark-based spectral clustering does: the affinity is
        ``Z diag(1^T Z)^-1 Z^T``. Never n x n, for data of any size.
    nearest : int
        Landmarks of a point.
    scale : {"median", "local"} or float
        Bandwidth s of the Gaussian: the median distance (in a graph, of the distances kept), found
        on a sample of 2,000 points; or given; or "local", where s^2 becomes ``s_x s_y / 2`` with
        s_x the distance of x to its 7th neighbour (to the last one kept, in a graph with fewer).
    max_gb : float
        Refuse a dense matrix larger than this. Above 5,000 points it is stored in single precision
        (products are in double).
    seed : int, generator or None
        Of the sample and of the landmarks.

    Returns
    -------
    Affinity
        With the words for what it is, and its bandwidth.

    See Also
    --------
    spectral_embedding : Eigenvectors of an affinity.

    References
    ----------
    .. [1] L. Zelnik-Manor and P. Perona. Self-tuning spectral clustering. Advances in Neural
       Information Processing Systems 17, 2004.
    .. [2] X. Chen and D. Cai. Large scale spectral clustering with landmark-based representation.
       AAAI Conference on Artificial Intelligence, 313-318, 2011.

    Examples
    --------
    >>> from clusterscape.linalg.affinity import affinity
    >>> A = affinity([[0.0], [1.0], [3.0]], scale=1.0)
    >>> A.toarray().round(3)
    array([[0.   , 0.607, 0.011],
           [0.607, 0.   , 0.135],
           [0.011, 0.135, 0.   ]])
    >>> A.words
    'Gaussian of bandwidth 1'
    """
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], estimator="affinity")
    if neighbors is not None and landmarks is not None:
        raise ParameterError(
            "give {neighbors} or {landmarks}, not both: each alone says which affinities are kept.",
            neighbors=neighbors,
            landmarks=landmarks,
        )
    if kind == "auto":
        kind = "cosine" if sparse.issparse(X) else "rbf"
    rng = np.random.default_rng(_seeds.root_sequence(seed))
    if landmarks is not None:
        return _landmark_affinity(X, kind, min(landmarks, X.shape[0]), nearest, scale, rng)
    if neighbors is not None:
        return _neighbor_affinity(X, kind, neighbors, scale)
    if kind == "cosine":
        factor, words = _cosine_factor(X)
        return Affinity(words, factor=factor)
    check_range(X, "X", smallest=False)
    return _dense_affinity(X, scale, max_gb, rng)


# -- the cosine, never stored -------------------------------------------------------------------


def _cosine_factor(X: Any) -> tuple[Any, str]:
    unit = normalize(X.astype(np.float64))
    if unit.min() >= 0:
        return unit, "cosine"
    # (1 + cosine) / 2 is the inner product of the halved rows with one more column of ones.
    ones = np.ones((unit.shape[0], 1))
    sides = [unit, ones]
    wider = sparse.hstack(sides, format="csr") if sparse.issparse(X) else np.hstack(sides)
    return wider * np.sqrt(0.5), "(1 + cosine) / 2"


# -- the Gaussian, dense ------------------------------------------------------------------------


def _dense_affinity(X: Any, scale: Scale, max_gb: float, rng: np.random.Generator) -> Affinity:
    n = X.shape[0]
    dtype = np.float64 if n <= _SINGLE_ABOVE else np.float32
    need = n * n * np.dtype(dtype).itemsize / 1e9
    if need > max_gb:
        raise MemoryLimitError(
            f"the Gaussian affinities of {n:,} points",
            need,
            max_gb,
            remedies=[
                "keep the nearest ones only ({neighbors})",
                "use {landmarks}",
                "use the cosine",
            ],
            neighbors=10,
            landmarks=1000,
        )
    centre = centre_of(X)
    if centre is not None:  # squares of offsets, as of dates, would leave nothing of the distances
        X = X - centre
    if scale == "local":
        local = _local_scales(X)
        own, bandwidth = 1.0 / local, float(np.median(local))
        words = "Gaussian with local scaling"
    else:
        bandwidth = median_distance(X, rng, sample=_SAMPLE) if scale == "median" else float(scale)
        own = np.full(n, np.sqrt(0.5) / bandwidth)
        words = f"Gaussian of bandwidth {bandwidth:.4g}"
    matrix = np.empty((n, n), dtype=dtype)
    for rows in gen_batches(n, max(1, _BLOCK // n)):
        begin = rows.start
        block = _squared_distances(X[rows], X[begin:])
        with np.errstate(over="ignore"):  # a bandwidth so small that nothing is near
            block *= -own[rows, None]
            block *= own[None, begin:]
        np.exp(block, out=block)
        block[block < _NOTHING] = 0.0
        matrix[rows, begin:] = block
        matrix[begin:, rows] = block.T
    # Blocks on the diagonal are symmetric up to rounding, once for each of the two writes.
    for rows in gen_batches(n, max(1, _BLOCK // n)):
        square = matrix[rows, rows]
        matrix[rows, rows] = np.minimum(square, square.T)
    np.fill_diagonal(matrix, 0.0)
    return Affinity(words, matrix=matrix, bandwidth=bandwidth)


def _squared_distances(left: Any, right: Any) -> np.ndarray:
    return np.asarray(euclidean_distances(left, right, squared=True), dtype=np.float64)


def _local_scales(X: Any) -> np.ndarray:
    last = min(_LOCAL, X.shape[0] - 1)
    if last < 1:
        return np.ones(X.shape[0])
    return _positive(_nearest(X, "euclidean", last)[0][:, -1])


def _positive(scales: np.ndarray) -> np.ndarray:
    """Replace the zeros (points with many duplicates) by the least scale that is not zero."""
    positive = scales[scales > 0]
    return np.where(scales > 0, scales, positive.min() if positive.size else 1.0)


# -- graphs -------------------------------------------------------------------------------------


def _nearest(X: Any, metric: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and indices of the ``count`` nearest other points, nearest first."""
    distances, indices = NearestNeighbors(n_neighbors=count, metric=metric).fit(X).kneighbors()
    return np.asarray(distances, dtype=np.float64), indices


def _gaussian(distances: np.ndarray, scale: Scale, own: np.ndarray, other: np.ndarray) -> Any:
    """Return the weights of kept distances and the bandwidth; own and other are local scales."""
    if scale == "local":
        product = own[:, None] * other
        return np.exp(-(distances**2) / product), float(np.median(own))
    bandwidth = typical(distances.ravel()) if scale == "median" else float(scale)
    square = 2.0 * bandwidth**2
    if square > 0:
        return np.exp(-(distances**2) / square), bandwidth
    # The square of a bandwidth below 1e-162 is no number, the quotient of a distance may be.
    with np.errstate(over="ignore"):
        return np.exp(-((distances / bandwidth) ** 2) / 2.0), bandwidth


def _neighbor_affinity(X: Any, kind: Kind, neighbors: int, scale: Scale) -> Affinity:
    n = X.shape[0]
    count = min(neighbors, n - 1)
    if count < 1:
        return Affinity("no neighbours", matrix=sparse.csr_matrix((n, n)))
    bandwidth = None
    if kind == "cosine":
        distances, indices = _nearest(X, "cosine", count)
        weights = np.maximum(1.0 - distances, 0.0)
        words = f"cosine of the {count} nearest"
    else:
        distances, indices = _nearest(X, "euclidean", count)
        local = _positive(distances[:, min(_LOCAL, count) - 1])
        weights, bandwidth = _gaussian(distances, scale, local, local[indices])
        words = f"Gaussian of the {count} nearest, bandwidth {bandwidth:.4g}"
    graph = link_matrix(np.where(weights < _NOTHING, 0.0, weights), indices, n)
    return Affinity(words, matrix=graph.maximum(graph.T).tocsr(), bandwidth=bandwidth)


def _landmark_affinity(
    X: Any, kind: Kind, landmarks: int, nearest: int, scale: Scale, rng: np.random.Generator
) -> Affinity:
    n = X.shape[0]
    chosen = np.sort(rng.choice(n, landmarks, replace=False))
    count = min(nearest, landmarks)
    bandwidth = None
    if kind == "cosine":
        squares, indices = LandmarkSearch(normalize(X[chosen]), "cosine").nearest(
            X, count, exact=True
        )
        # Of rows of unit length; one without entries has no direction, and the cosine 0.
        weights = np.where(_squared_rows(X)[:, None] > 0, np.maximum(1.0 - squares / 2.0, 0.0), 0.0)
        words = f"cosine to {landmarks} landmarks"
    else:
        squares, indices = LandmarkSearch(X[chosen]).nearest(X, count, exact=True)
        distances = np.sqrt(squares)
        own = _positive(distances[:, -1])
        weights, bandwidth = _gaussian(distances, scale, own, own[chosen][indices])
        words = f"Gaussian to {landmarks} landmarks, bandwidth {bandwidth:.4g}"
    links = link_matrix(np.where(weights < _NOTHING, 0.0, weights), indices, landmarks)
    Z = normalize(links, norm="l1")
    mass = np.asarray(Z.sum(axis=0)).ravel()
    inverse = np.divide(1.0, np.sqrt(mass), out=np.zeros_like(mass), where=mass > 1e-12)
    return Affinity(words, factor=(Z @ sparse.diags(inverse)).tocsr(), bandwidth=bandwidth)


# -- small pieces -------------------------------------------------------------------------------


def _squared_rows(factor: Any) -> np.ndarray:
    squares = factor.multiply(factor) if sparse.issparse(factor) else factor**2
    return np.asarray(squares.sum(axis=1), dtype=np.float64).ravel()
