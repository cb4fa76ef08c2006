"""Constrained normalised cuts: CSP, and its form with landmarks, SCACS."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import eigh

from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.linalg.affinity import affinity
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.landmark_graph import Bandwidth, Metric
from clusterscape.semisupervised.base import BaseConstrainedClusterer
from clusterscape.semisupervised.constraints import Constraints
from clusterscape.semisupervised.landmarks import (
    BaseLandmarkClusterer,
    LandmarkRows,
    SphereEmbedding,
    leading_vectors,
    pencil,
)
from clusterscape.semisupervised.spectral import nearest_labels

_MARGIN = 1e-6  # by which beta stays below the singular values it lies between
_ONE_SIGN = 1e-9  # a vector with no entry beyond this on one side separates nothing
_NOTHING = 1e-10  # share of the largest length from which a direction counts


class SCACS(BaseLandmarkClusterer):
    """Scalable constrained spectral clustering (SCACS): constrained normalised cuts by landmarks.

    Vectors with a small cut are sought among those that satisfy the constraints well enough,
    v^T Q v >= beta v^T v, where Q is 1 for must-links and -1 for cannot-links [1]_. A baseline: the
    generalised eigenproblem is solved twice, once for what can be satisfied and once for the cut.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    beta : float
        Share of the attainable satisfaction that is asked for.
    n_landmarks, nearest, landmarks, bandwidth, metric, sample_rate, n_init, random_state
        As in :class:`LandmarkSpectral`.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        How many there are.
    violations_ : Violations
        Constraints that the answer does not respect.
    embedding_ : (n, m) array
        Coordinates of the points.
    eigenvalues_ : (m,) array
        Cuts v^T L v of the vectors, ascending.
    beta_ : float
        Satisfaction that was asked for.
    n_landmarks_, sample_size_ : int
        As in :class:`LandmarkSpectral`.

    See Also
    --------
    CSP : The same on all pairs of points.
    FastConstrainedSpectral : Faster, and better where clusters are not balanced.

    Notes
    -----
    The details of the publication could not be read; this is a reconstruction from its
    descriptions elsewhere and from the code of CSP. Without constraints the answer is that of
    :class:`LandmarkSpectral`.

    References
    ----------
    .. [1] J. Li, Y. Xia, Z. Shan, Y. Liu, "Scalable constrained spectral clustering", IEEE
       Transactions on Knowledge and Data Engineering 27(2), 589-593, 2015.
       doi:10.1109/TKDE.2014.2356471

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import SCACS
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, size=(60, 2)) for c in (0, 3, 6)])
    >>> y = np.full(180, -1)
    >>> y[::6] = np.repeat([0, 1, 2], 10)
    >>> np.bincount(SCACS(3, n_landmarks=60, random_state=0).fit_predict(X, y))
    array([60, 60, 60])
    """

    _parameter_rules: ClassVar[Rules] = {
        **BaseLandmarkClusterer._shared_rules,
        "beta": [Number(0, 1)],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        beta: float = 0.1,
        n_landmarks: int | Literal["auto"] = "auto",
        nearest: int = 3,
        landmarks: Literal["random", "kmeans"] = "random",
        bandwidth: Bandwidth = "rms",
        metric: Metric = "euclidean",
        sample_rate: float = 1.0,
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.beta = beta
        self.n_landmarks = n_landmarks
        self.nearest = nearest
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.metric = metric
        self.sample_rate = sample_rate
        self.n_init = n_init
        self.random_state = random_state

    def _vectors(self, rows: LandmarkRows, known: Constraints) -> tuple[np.ndarray, np.ndarray]:
        self._cuts: np.ndarray | None = None
        self.beta_ = 0.0
        if len(known) == 0 or len(rows.gram) == 1:
            return leading_vectors(rows, self.n_clusters)
        gram = rows.without_constant(rows.gram)
        cut = gram - rows.without_constant(rows.gram @ rows.gram)
        satisfied = rows.without_constant(known.signed_product(rows.matrix))
        trace = float(np.trace(rows.gram))
        attainable = pencil(satisfied, gram, 1, trace)[0][0]
        self.beta_ = float(self.beta * max(attainable, 0.0))
        values, vectors = pencil(satisfied - self.beta_ * gram, cut, len(gram), trace)
        feasible = values > 0
        if not feasible.any():
            feasible[0] = True  # nothing satisfies them: the least violated direction
        vectors = vectors[:, feasible]
        length = np.einsum("ij,ij->j", vectors, gram @ vectors)
        # Landmarks of points that coincide have directions in which no two points differ.
        seen = length > _NOTHING * max(float(length.max()), np.finfo(float).tiny)
        if not seen.any():
            return leading_vectors(rows, self.n_clusters)
        vectors, length = vectors[:, seen], length[seen]
        costs = np.einsum("ij,ij->j", vectors, cut @ vectors) / np.maximum(length, 1e-300)
        keep = np.argsort(costs, kind="stable")[: max(self.n_clusters - 1, 1)]
        self._cuts = costs[keep]
        return rows.from_complement(vectors[:, keep]), self._cuts

    def _embed(self, vectors: np.ndarray) -> SphereEmbedding:
        # 1 - cost is the weight of a vector; a cut of all there is to cut has none.
        column = None if self._cuts is None else np.maximum(1.0 - self._cuts, 0.0)
        return SphereEmbedding.of(self._rows.matrix, vectors, column)


class CSP(BaseConstrainedClusterer):
    """Constrained spectral clustering of Wang, Qian and Davidson (CSP), on all pairs of points.

    Vectors with a small normalised cut are sought among those that satisfy the constraints well
    enough [1]_. A baseline: it takes time of the order of the cube of the number of points, and
    memory of its square.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    scale : float or str
        Bandwidth of the Gaussian affinity, or the rule that finds it ("median", "local").
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
        Constraints that the answer does not respect.
    beta_ : float
        Satisfaction v^T Q v that was asked for; 0 with one cluster, or fewer than three points.

    See Also
    --------
    SCACS : The same with landmarks, linear in the points.

    Notes
    -----
    With more classes than clusters, or with few constraints, fewer than ``n_clusters - 1`` vectors
    may be feasible; those there are decide. Without constraints nothing is asked for, and the
    answer is that of the normalised cut.

    References
    ----------
    .. [1] X. Wang, B. Qian, I. Davidson, "On constrained spectral clustering and its
       applications", Data Mining and Knowledge Discovery 28(1), 1-30, 2014.
       doi:10.1007/s10618-012-0291-9

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import CSP
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, size=(30, 2)) for c in (0, 3, 6)])
    >>> y = np.full(90, -1)
    >>> y[::6] = np.repeat([0, 1, 2], 5)
    >>> np.bincount(CSP(3, random_state=0).fit_predict(X, y))
    array([30, 30, 30])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "scale": [Choice("median", "local"), Number(0, open_low=True)],
        "n_init": [Integer(1)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        scale: float | Literal["median", "local"] = "local",
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.scale = scale
        self.n_init = n_init
        self.random_state = random_state

    def _cluster(self, X: Any, known: Constraints) -> np.ndarray:
        scaling, dividing = spawn(self.random_state, 2)
        n, k = X.shape[0], self.n_clusters
        self._fit_X = X
        self.beta_ = 0.0
        if n < 3 or k == 1:
            return np.zeros(n, dtype=np.int64) if k == 1 else np.arange(n) % k
        with one_thread():
            W = affinity(X, kind="rbf", scale=self.scale, seed=scaling) @ np.eye(n)
            np.fill_diagonal(W, 0.0)
            degree = np.maximum(W.sum(axis=1), 1e-12)
            root = np.sqrt(degree)
            L = np.eye(n) - W / np.outer(root, root)
            vectors = self._feasible(L, root, known)
            rows = vectors / root[:, None] * np.sqrt(degree.sum())
            return kmeans(rows, k, n_init=self.n_init, seed=dividing).labels

    def _feasible(self, L: np.ndarray, root: np.ndarray, known: Constraints) -> np.ndarray:
        """Return the vectors with the least cuts among those that satisfy the constraints."""
        n, k = len(L), self.n_clusters
        wanted = max(k - 1, 1)
        Q = known.matrix().toarray()
        singular = np.sort(np.abs(np.linalg.eigvalsh(Q)))[::-1] if len(known) else np.zeros(n)
        self.beta_ = float((singular[k - 1] + singular[min(k, n - 1)]) / 2 - _MARGIN)
        constant = root / np.linalg.norm(root)
        if len(known) == 0:
            vectors = eigh(L + 2.0 * np.outer(constant, constant))[1]
            return vectors[:, :wanted]
        values, vectors = pencil(Q - self.beta_ * np.eye(n), L, n)
        vectors = vectors[:, values > 0] if (values > 0).any() else vectors[:, :1]
        vectors = vectors / np.linalg.norm(vectors, axis=0)
        shape = vectors / root[:, None]
        divides = (shape.max(axis=0) > _ONE_SIGN) & (shape.min(axis=0) < -_ONE_SIGN)
        vectors = vectors[:, divides] if divides.any() else vectors
        cuts = np.einsum("ij,ij->j", vectors, L @ vectors)
        keep = np.argsort(cuts, kind="stable")[:wanted]
        return vectors[:, keep] * np.maximum(1.0 - cuts[keep], 0.0)

    def _assign(self, X: Any) -> np.ndarray:
        """Return the clusters of the nearest points of fit."""
        return nearest_labels(X, self._fit_X, self.labels_)
