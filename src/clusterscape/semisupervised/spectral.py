"""Constrained spectral clustering on the graph of nearest neighbours (CCS)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, cg, eigsh
from sklearn.neighbors import NearestNeighbors

from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.neighbors import nearest_neighbors
from clusterscape.linalg.operators import normalized
from clusterscape.semisupervised.base import BaseConstrainedClusterer
from clusterscape.semisupervised.constraints import Constraints
from clusterscape.semisupervised.landmarks import pencil, refuse_no_demand, sphere_embedding

_DENSE = 1500  # points up to which the pencil is solved as a whole
_SHIFT = 1e-8  # of the mean degree, so that the left side is positive
_SOLVED = 1e-7  # relative residual of a solved system
_STEPS = 2000  # of the conjugate gradients
_TOL = 1e-4  # of the eigenvalues


class ConstrainedSpectral(BaseConstrainedClusterer):
    """Constrained spectral clustering on the graph of nearest neighbours (CCS).

    Vectors x are sought that cut few affinities and must-links for every cannot-link they cut,
    x^T (L + alpha L_ML) x / x^T L_CL x is least; their rows are put on a sphere and divided by
    k-means [1]_. Pairs of labelled points are never written out.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    alpha : float
        Weight of the must-links beside the affinities.
    demand : "auto" or float
        Weight of the demand graph, cannot-links between all points in proportion to their degrees,
        which makes vectors prefer balanced cuts. "auto" is 0 where there are at least
        ``n_clusters`` independent cannot-links, 1 over the number of points otherwise.
    n_neighbors : int
        Neighbours of each point in the graph, at most n - 1.
    n_init : int
        Starts of the last k-means.
    random_state : int, generator or None
        Seed.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        How many there are.
    violations_ : Violations
        Constraints that the answer does not respect: they pull, they do not bind.
    embedding_ : (n, n_clusters) array
        Coordinates of the points, rows of unit length.
    eigenvalues_ : (n_clusters,) array
        x^T L_H x / x^T L_G x of each vector, descending.
    demand_ : float
        The demand that was used.

    See Also
    --------
    FastConstrainedSpectral : The same with landmarks, linear in the points.

    Notes
    -----
    Neighbours of all points are found exactly, and systems with the Laplacian are solved for every
    step of the eigen-solver: for some ten thousand points, not for millions.

    References
    ----------
    .. [1] M. Cucuringu, I. Koutis, S. Chawla, G. Miller, R. Peng, "Simple and scalable constrained
       clustering: a generalized spectral method", AISTATS, 445-454, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import ConstrainedSpectral
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, size=(40, 2)) for c in (0, 3, 6)])
    >>> y = np.full(120, -1)
    >>> y[::6] = np.repeat([0, 1, 2], [7, 7, 6])
    >>> np.bincount(ConstrainedSpectral(3, n_neighbors=10, random_state=0).fit_predict(X, y))
    array([40, 40, 40])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "alpha": [Number(0)],
        "demand": [Choice("auto"), Number(0)],
        "n_neighbors": [Integer(1)],
        "n_init": [Integer(1)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 5.0,
        demand: Any = "auto",
        n_neighbors: int = 30,
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.demand = demand
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: Any, known: Constraints) -> np.ndarray:
        starting, dividing = spawn(self.random_state, 2)
        n = X.shape[0]
        self._fit_X = X
        if n < 3:
            self.embedding_, self.eigenvalues_, self.demand_ = np.zeros((n, 1)), np.zeros(1), 0.0
            return np.arange(n) % self.n_clusters
        with one_thread():
            W = neighbor_graph(X, min(self.n_neighbors, n - 1))
            vectors = self._vectors(W, known, np.random.default_rng(starting))
            degree = np.asarray(W.sum(axis=1)).ravel()
            self.embedding_ = sphere_embedding(vectors, degree)
            return kmeans(
                self.embedding_, self.n_clusters, n_init=self.n_init, max_iter=100, seed=dividing
            ).labels

    def _vectors(
        self, W: sparse.csr_matrix, known: Constraints, rng: np.random.Generator
    ) -> np.ndarray:
        n = W.shape[0]
        count = min(self.n_clusters, n - 2)
        degree = np.asarray(W.sum(axis=1)).ravel()
        if len(known) == 0:
            self.demand_ = 1.0 / n
            found = symmetric_eigen(normalized(W), count + 1, seed=int(rng.integers(2**31)))
            self.eigenvalues_ = found.values[1:]
            return found.vectors[:, 1:] / np.sqrt(degree)[:, None]
        refuse_no_demand(self.demand, self.alpha, known)
        if isinstance(self.demand, str):
            self.demand_ = 0.0 if independent_cannot_links(known) >= count else 1.0 / n
        else:
            self.demand_ = float(self.demand)
        solve = _dense_pencil if n <= _DENSE else _large_pencil
        cut = _Cut(W, degree, known, self.alpha, self.demand_)
        self.eigenvalues_, vectors = solve(cut, count, rng)
        return vectors

    def _assign(self, X: Any) -> np.ndarray:
        """Return the clusters of the nearest points of fit."""
        return nearest_labels(X, self._fit_X, self.labels_)


class _Cut:
    """Both sides of the pencil: affinities and must-links, cannot-links and demand."""

    def __init__(
        self,
        W: sparse.csr_matrix,
        degree: np.ndarray,
        known: Constraints,
        alpha: float,
        demand: float,
    ) -> None:
        self.W, self.degree, self.known = W, degree, known
        self.alpha, self.demand = alpha, demand
        self.shift = _SHIFT * float(degree.mean())
        self.n = W.shape[0]

    def merged(self, values: np.ndarray) -> np.ndarray:
        """Return L + alpha L_ML, shifted, times columns."""
        out = (self.degree + self.shift)[:, None] * values - self.W @ values
        return out + self.alpha * self.known.laplacian_apply(values, "must")

    def wanted(self, values: np.ndarray) -> np.ndarray:
        """Return L_CL and the demand graph's Laplacian times columns."""
        out = self.known.laplacian_apply(values, "cannot")
        if self.demand:
            weighed = self.degree[:, None] * values
            mean = weighed.sum(axis=0) / self.degree.sum()
            out += self.demand * (weighed - self.degree[:, None] * mean)
        return out

    def diagonal(self) -> np.ndarray:
        """Return the diagonal of the merged side."""
        linked = np.zeros(self.n)
        np.add.at(linked, self.known.must.ends.ravel(), np.repeat(self.known.must.weight, 2))
        for s in self.known.label_sets:
            linked[s.points] += s.weight * (s.sizes[s.codes] - 1)
        return self.degree + self.shift + self.alpha * linked


def _dense_pencil(cut: _Cut, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Solve the whole pencil on the complement of the constant."""
    eye = np.eye(cut.n)
    basis = np.linalg.qr(np.column_stack([np.ones(cut.n), eye[:, 1:]]))[0][:, 1:]
    left = basis.T @ cut.wanted(basis)
    right = basis.T @ cut.merged(basis)
    values, vectors = pencil((left + left.T) / 2, (right + right.T) / 2, count)
    return values, basis @ vectors


def _large_pencil(cut: _Cut, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Find the largest eigenvalues by Lanczos, each step of which solves a system."""
    n = cut.n
    inverse = 1.0 / cut.diagonal()

    def columns(function: Any) -> LinearOperator:
        return LinearOperator(
            (n, n), matvec=lambda v: function(v.reshape(n, -1)).ravel(), dtype=np.float64
        )

    merged = columns(cut.merged)
    precondition = columns(lambda v: inverse[:, None] * v)

    def solve(right: np.ndarray) -> np.ndarray:
        right = right.ravel() - right.mean()
        found, failed = cg(merged, right, rtol=_SOLVED, atol=0.0, maxiter=_STEPS, M=precondition)
        if failed:
            raise RuntimeError(
                f"a system with the graph's Laplacian was not solved in {_STEPS:,} steps: the "
                "graph is nearly disconnected. Use more n_neighbors."
            )
        return found - found.mean()

    start = rng.standard_normal(n)
    start = solve(cut.wanted((start - start.mean())[:, None]).ravel())
    inverted = LinearOperator((n, n), matvec=solve, dtype=np.float64)
    try:
        values, vectors = eigsh(
            columns(cut.wanted), k=count, M=merged, Minv=inverted, which="LA", tol=_TOL, v0=start
        )
    except ArpackNoConvergence as error:
        raise RuntimeError(
            f"only {len(error.eigenvalues)} of {count} vectors of the constrained cut were found; "
            "ask for fewer clusters, or set demand to 1 / n."
        ) from error
    order = np.argsort(values)[::-1]
    return values[order], vectors[:, order]


def neighbor_graph(X: Any, count: int) -> sparse.csr_matrix:
    """Return Gaussian affinities of nearest neighbours, symmetric by the larger of two.

    The bandwidth is the root of the mean square of the distances.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        Points.
    count : int
        Neighbours of each.

    Returns
    -------
    (n, n) CSR matrix
    """
    distances, indices = nearest_neighbors(X, count)
    squares = distances**2
    scale = float(squares.mean())
    weights = np.exp(-squares / (2.0 * scale)) if scale > 0 else np.ones_like(squares)
    n = len(squares)
    ends = np.arange(0, n * count + 1, count)
    half = sparse.csr_matrix((weights.ravel(), indices.ravel(), ends), shape=(n, n))
    # A neighbour too far for any weight is still a neighbour.
    half.data = np.maximum(half.data, 1e-12)
    return sparse.csr_matrix(half.maximum(half.T))


def independent_cannot_links(known: Constraints) -> int:
    """Return the rank of the Laplacian of the cannot-links: points of it less its pieces."""
    ends = [known.cannot.ends]
    for s in known.label_sets:
        if s.sizes.size > 1:  # a class is tied to the others by any of its points
            other = s.points[np.argmax(s.codes != s.codes[0])]
            first = s.points[0]
            tied = np.where(s.codes == s.codes[0], other, first)
            ends.append(np.column_stack([s.points, tied]))
    pairs = np.concatenate(ends)
    if len(pairs) == 0:
        return 0
    points, codes = np.unique(pairs, return_inverse=True)
    codes = codes.reshape(pairs.shape)
    graph = sparse.csr_matrix(
        (np.ones(len(codes)), (codes[:, 0], codes[:, 1])), shape=(points.size, points.size)
    )
    return int(points.size - connected_components(graph, directed=False)[0])


def nearest_labels(X: Any, known: Any, labels: np.ndarray) -> np.ndarray:
    """Return the label of the nearest known point for every row."""
    with one_thread():
        search = NearestNeighbors(n_neighbors=1).fit(known)
        return labels[search.kneighbors(X, return_distance=False)[:, 0]]
