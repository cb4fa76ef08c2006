"""Spectral clustering by landmarks, with and without constraints: p x p algebra, linear in n."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.distances import centre_of, check_range, squared_distances
from clusterscape.linalg.eigen import largest_pairs, symmetric_eigen
from clusterscape.linalg.embedding import unit_rows
from clusterscape.linalg.kmeans import kmeans, nearest_center
from clusterscape.linalg.landmark_graph import Bandwidth, LandmarkGraph, Metric, landmark_graph
from clusterscape.semisupervised.base import BaseConstrainedClusterer
from clusterscape.semisupervised.constraints import Constraints, Link

_MOST_LANDMARKS, _POINTS_PER_LANDMARK = 500, 5
_UNUSED = 1e-12  # total weight below which a landmark has no points
_SHIFT = 1e-8  # share of the mean diagonal that makes the right side of a pencil positive
_RANK = 1e-10  # share of the largest eigenvalue from which one counts as positive
_JOINED = 1e-3  # strength of links that join pieces of the graph, in that of its own
_FEW_ROWS = 20  # rows per cluster that a sample has at least


@dataclass(frozen=True)
class LandmarkRows:
    """Z, with rows that sum to one, and Z D^-1/2, whose Gram matrix is the normalised affinity.

    Attributes
    ----------
    graph : LandmarkGraph
        The landmarks, for new points.
    used : (q,) array
        Landmarks that have points.
    scale : (q,) array
        D^-1/2 of these.
    matrix : (n, q) CSR matrix
        Z D^-1/2, in double precision.
    gram : (q, q) array
        Its product with itself, D^-1/2 Z^T Z D^-1/2: eigenvalues in [0, 1].
    """

    graph: LandmarkGraph
    used: np.ndarray
    scale: np.ndarray
    matrix: sparse.csr_matrix
    gram: np.ndarray

    @classmethod
    def of(cls, graph: LandmarkGraph) -> LandmarkRows:
        """Return the rows of a landmark graph whose weights are shares."""
        Z = _shares(graph.matrix)
        mass = np.asarray(Z.sum(axis=0)).ravel()
        used = np.flatnonzero(mass > _UNUSED)
        if used.size == 0:
            raise ValueError(
                "X: no point is similar to any landmark, as all similarities are zero; use a "
                "larger bandwidth, or scale the columns."
            )
        scale = 1.0 / np.sqrt(mass[used])
        matrix = cls._scaled(Z, used, scale)
        gram = (matrix.T @ matrix).toarray()
        return cls(graph, used, scale, matrix, (gram + gram.T) / 2.0)

    @staticmethod
    def _scaled(Z: sparse.csr_matrix, used: np.ndarray, scale: np.ndarray) -> sparse.csr_matrix:
        kept = Z if used.size == Z.shape[1] else Z[:, used]
        return sparse.csr_matrix(kept @ sparse.diags(scale))

    def extend(self, X: Any) -> sparse.csr_matrix:
        """Return the rows of new points."""
        return self._scaled(_shares(self.graph.extend(X)), self.used, self.scale)

    @property
    def constant(self) -> np.ndarray:
        """The unit vector along D^1/2 1, which the matrix turns into a constant."""
        root = 1.0 / self.scale
        return root / np.linalg.norm(root)

    def without_constant(self, product: np.ndarray) -> np.ndarray:
        """Return a p x p product on the complement of the constant, in some basis of it."""
        reflected = _reflect(_reflect(product, self.constant).T, self.constant)
        return reflected[1:, 1:]

    def from_complement(self, vectors: np.ndarray) -> np.ndarray:
        """Return vectors of the complement's basis in the basis of the landmarks."""
        padded = np.vstack([np.zeros((1, vectors.shape[1])), vectors])
        return _reflect(padded, self.constant)


def _shares(matrix: sparse.csr_matrix) -> sparse.csr_matrix:
    """Return rows that sum to one in double precision, or G - G^2 would have negative values."""
    Z = matrix.astype(np.float64)
    total = np.asarray(Z.sum(axis=1)).ravel()
    Z.data /= np.repeat(np.where(total > 0, total, 1.0), np.diff(Z.indptr))
    return Z


def _reflect(columns: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Return the columns after the reflection that takes ``first`` to the first axis."""
    v = first.copy()
    v[0] += 1.0 if v[0] >= 0 else -1.0
    v /= np.linalg.norm(v)
    return columns - 2.0 * np.outer(v, v @ columns)


@dataclass(frozen=True)
class SphereEmbedding:
    """Coordinates of points on a sphere: X = Z Y, columns centred and of unit length, then rows.

    Attributes
    ----------
    table : (q, m) array
        Y with the columns' scales.
    shift : (m,) array
        Their means.
    rows : (n, m) array
        The points of fit.
    is_sphere : bool
        Whether rows have unit length.
    """

    table: np.ndarray
    shift: np.ndarray
    rows: np.ndarray
    is_sphere: bool = True

    @classmethod
    def of(
        cls, matrix: sparse.csr_matrix, vectors: np.ndarray, column: np.ndarray | None = None
    ) -> SphereEmbedding:
        """Return the embedding of the points by vectors on the landmarks.

        With ``column``, lengths of the columns, rows are not scaled.
        """
        columns = matrix @ vectors
        mean = columns.mean(axis=0)
        columns -= mean
        length = np.linalg.norm(columns, axis=0)
        inverse = np.divide(1.0, length, out=np.zeros_like(length), where=length > 0)
        inverse = inverse if column is None else inverse * column
        columns *= inverse
        rows = unit_rows(columns) if column is None else columns
        return cls(vectors * inverse, mean * inverse, rows, column is None)

    def extend(self, matrix: sparse.csr_matrix) -> np.ndarray:
        """Return the coordinates of new points."""
        rows = matrix @ self.table - self.shift
        return unit_rows(rows) if self.is_sphere else rows


def sphere_embedding(vectors: np.ndarray, degrees: np.ndarray | None = None) -> np.ndarray:
    """Return the rows of vectors as points on a sphere, as CCS embeds its eigenvectors.

    Every column is made orthogonal to the constant and of unit length, both in the metric of the
    degrees; then every row is scaled to unit length. Rows of zeros stay.

    Parameters
    ----------
    vectors : (n, m) array
        Eigenvectors as columns.
    degrees : (n,) array, optional
        Degrees of the data graph; all equal by default, as in a landmark graph.

    Returns
    -------
    (n, m) array

    See Also
    --------
    clusterscape.semisupervised.FastConstrainedSpectral : Clusters rows on the sphere.

    References
    ----------
    .. [1] M. Cucuringu, I. Koutis, S. Chawla, G. Miller, R. Peng, "Simple and scalable constrained
       clustering: a generalized spectral method", AISTATS, 445-454, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised.landmarks import sphere_embedding
    >>> sphere_embedding(np.array([[1.0], [2.0], [6.0]])).ravel()
    array([-1., -1.,  1.])
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) == 0:
        raise ValueError(f"vectors must have rows and columns; got shape {vectors.shape}.")
    if vectors.size:
        check_range(vectors, "vectors", smallest=False)
    d = checked_weights(degrees, len(vectors), name="degrees")
    columns = vectors - (d @ vectors) / d.sum()
    length = np.sqrt(d @ columns**2)
    columns = np.divide(columns, length, out=np.zeros_like(columns), where=length > 0)
    return unit_rows(columns)


class BaseLandmarkClusterer(BaseConstrainedClusterer):
    """A clusterer that embeds points by vectors on landmarks, and cuts the embedding by k-means.

    Subclasses say which vectors, in ``_vectors``.
    """

    n_landmarks: int | Literal["auto"]
    nearest: int
    landmarks: Literal["random", "kmeans"]
    bandwidth: Bandwidth
    metric: Metric
    sample_rate: float
    n_init: int
    random_state: RandomState

    _shared_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "n_landmarks": [Choice("auto"), Integer(2)],
        "nearest": [Integer(1)],
        "landmarks": [Choice("random", "kmeans")],
        "bandwidth": [Choice("mean", "rms", "lsc"), Number(0, open_low=True)],
        "metric": [Choice("euclidean", "cosine")],
        "sample_rate": [Number(0, 1, open_low=True)],
        "n_init": [Integer(1)],
        "random_state": [Seed()],
    }

    def _count_landmarks(self, n: int) -> int:
        """Return the number of landmarks that were asked for, or at most a fifth of the points.

        A point among its own landmarks has nearly all weight there, and the graph falls apart.
        """
        if self.n_landmarks != "auto":
            return int(self.n_landmarks)
        return max(min(_MOST_LANDMARKS, n // _POINTS_PER_LANDMARK), min(n, 2 * self.n_clusters))

    def _cluster(self, X: Any, known: Constraints) -> np.ndarray:
        drawing, sampling, dividing = spawn(self.random_state, 3)
        with one_thread():
            graph = landmark_graph(
                X,
                self._count_landmarks(X.shape[0]),
                nearest=self.nearest,
                landmarks=self.landmarks,
                bandwidth=self.bandwidth,
                shares=True,
                metric=self.metric,
                seed=drawing,
            )
            self._rows = LandmarkRows.of(graph)
            self.n_landmarks_ = int(self._rows.used.size)
            vectors, self.eigenvalues_ = self._vectors(self._rows, known)
            self._sphere = self._embed(vectors)
            return self._divide(self._sphere.rows, sampling, dividing)

    def _embed(self, vectors: np.ndarray) -> SphereEmbedding:
        return SphereEmbedding.of(self._rows.matrix, vectors)

    def _divide(self, rows: np.ndarray, sampling: Any, dividing: Any) -> np.ndarray:
        """Return the clusters of k-means on a sample of the rows, for all of them."""
        n, k = len(rows), self.n_clusters
        size = min(n, max(round(self.sample_rate * n), _FEW_ROWS * k))
        some = rows
        if size < n:
            chosen = np.random.default_rng(sampling).choice(n, size, replace=False)
            some = rows[np.sort(chosen)]
        self.sample_size_ = size
        found = kmeans(some, k, n_init=self.n_init, max_iter=100, seed=dividing)
        self._centers = found.centers
        return found.labels if size == n else nearest_center(rows, found.centers)

    def _vectors(self, rows: LandmarkRows, known: Constraints) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def _forget_points(self) -> None:
        graph = replace(self._rows.graph, matrix=self._rows.graph.matrix[:0])
        self._rows = replace(self._rows, graph=graph, matrix=self._rows.matrix[:0])
        self._sphere = replace(self._sphere, rows=self._sphere.rows[:0].copy())

    @property
    def embedding_(self) -> np.ndarray:
        """The (n, m) coordinates of the points on the sphere."""
        check_is_fitted(self)
        return self._sphere.rows

    def _assign(self, X: Any) -> np.ndarray:
        """Return the clusters by the nearest landmarks."""
        rows = self._sphere.extend(self._rows.extend(X))
        return self._renamed(nearest_center(rows, self._centers))


def leading_vectors(rows: LandmarkRows, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vectors of the normalised affinity after the constant one, and their values."""
    product = rows.without_constant(rows.gram)
    count = min(count, len(product))
    if count == 0:
        return np.zeros((len(rows.gram), 1)), np.zeros(1)
    found = symmetric_eigen(product, count, solver="dense")
    return rows.from_complement(found.vectors), found.values


class LandmarkSpectral(BaseLandmarkClusterer):
    """Spectral clustering of the graph of points and landmarks (LSC-R, LSC-K).

    Every point is written as a mixture of its nearest landmarks; the affinity of two points is how
    far their mixtures overlap [1]_. Its eigenvectors are those of a p x p matrix, and all else is
    linear in the points.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    n_landmarks : int or "auto"
        p, at most as many as points. Time grows with n p and p^3. "auto" is 500, and at most a
        fifth of the points: with a landmark for every point the graph falls apart.
    nearest : int
        Landmarks of each point.
    landmarks : {"random", "kmeans"}
        Random points (LSC-R), or centres of k-means on a sample (LSC-K), which are better and take
        longer.
    bandwidth : {"rms", "mean", "lsc"} or float
        s of the weights exp(-d^2 / (2 s^2)): the root of the mean square of the distances between
        points and their landmarks, their mean, the published code's rule, or a number.
    metric : {"euclidean", "cosine"}
        Distance of points and landmarks.
    sample_rate : float
        Share of the points, but at least 20 for each cluster, on which the last k-means is run;
        the others go to its centres.
    n_init : int
        Starts of that k-means.
    random_state : int, generator or None
        Seed.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        How many there are.
    embedding_ : (n, n_clusters) array
        Coordinates of the points, rows of unit length.
    eigenvalues_ : (n_clusters,) array
        Of the normalised affinity, without the constant vector's.
    n_landmarks_ : int
        Landmarks that are among the nearest of some point.
    sample_size_ : int
        Points of the last k-means.
    violations_ : Violations
        What of the constraints is not respected; they are not used otherwise.

    See Also
    --------
    FastConstrainedSpectral : The same with constraints.
    clusterscape.generate.EnsembleGenerator : Members of this kind (``landmark_spectral``).

    Notes
    -----
    Clusters that are finer than the distances between landmarks cannot be separated. Constraints
    are counted, but do not change the answer.

    References
    ----------
    .. [1] X. Chen, D. Cai, "Large scale spectral clustering with landmark-based representation",
       AAAI Conference on Artificial Intelligence, 313-318, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import LandmarkSpectral
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.4, size=(50, 2)) for c in (0, 4, 8)])
    >>> np.bincount(LandmarkSpectral(3, n_landmarks=40, random_state=0).fit_predict(X))
    array([50, 50, 50])
    """

    _parameter_rules: ClassVar[Rules] = BaseLandmarkClusterer._shared_rules

    def __init__(
        self,
        n_clusters: int = 8,
        *,
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
        self.n_landmarks = n_landmarks
        self.nearest = nearest
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.metric = metric
        self.sample_rate = sample_rate
        self.n_init = n_init
        self.random_state = random_state

    def _vectors(self, rows: LandmarkRows, known: Constraints) -> tuple[np.ndarray, np.ndarray]:
        return leading_vectors(rows, self.n_clusters)


class FastConstrainedSpectral(BaseLandmarkClusterer):
    """Constrained spectral clustering by landmarks (CCS-L, CCS-LS), linear in the points.

    Of all vectors x on the points that landmarks can express, x = Z y, it takes those that cut few
    affinities and must-links for every cannot-link they cut: x^T (L + alpha L_ML) x / x^T L_CL x is
    least [1]_. Rows of these vectors are put on a sphere and divided by k-means on a sample. With
    ``sample_rate=1`` this is CCS-L, with less CCS-LS.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    alpha : float
        Weight of the must-links beside the affinities. Affinities of a point sum to one; the
        must-links of a labelled point are as many as its class has labels.
    demand : "auto" or float
        Weight of a cannot-link between every two points, 1/n each, which makes vectors prefer
        balanced cuts. "auto" is 0 where the cannot-links alone determine ``n_clusters`` vectors, 1
        over the number of points otherwise; with ``weighting="points"`` it is 1.
    weighting : {"pairs", "points"}
        Whether every pair counts in full, as published: a point is then pulled by as many pairs as
        there are labels, far beyond its affinities. Or whether a constrained point counts as much
        as its affinities on average: weights are divided by the mean number of must-links, or of
        cannot-links, of a constrained point. The latter is better by far where compact clusters
        overlap, and safer where labels are many beside the landmarks. Of other data either can be
        the better one (pairs on images of 26 letters); :meth:`Constraints.split` and
        :func:`member_scores` ask labels that are held back.
    n_landmarks, nearest, landmarks, bandwidth, metric, n_init, random_state
        As in :class:`LandmarkSpectral`.
    sample_rate : float
        As in :class:`LandmarkSpectral`; 1 is CCS-L, less CCS-LS.

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
        x^T L_CL x / x^T (L + alpha L_ML) x of each vector, descending; without constraints those of
        :class:`LandmarkSpectral`.
    demand_ : float
        The demand that was used.
    n_components_ : int
        Pieces of the landmark graph, before they were joined.
    n_landmarks_, sample_size_ : int
        As in :class:`LandmarkSpectral`.

    See Also
    --------
    LandmarkSpectral : Without constraints.
    ConstrainedSpectral : On the graph of nearest neighbours.
    COPKMeans : Never violates a certain constraint.
    ConstrainedEnsemble : A consensus of many such clusterings, more accurate than one.

    Notes
    -----
    The printed eigenproblem is singular: constants cost nothing on either side, and cannot-links
    have a rank below their number of points. Here the constant is left out, the pencil is swapped
    and the right side made positive by a small shift. Without any constraint the answer is that of
    :class:`LandmarkSpectral`. Where classes overlap, and labels are many beside the landmarks, it
    follows single labelled points at the cost of the others; with ``weighting="points"``, and
    :class:`COPKMeans`, it does not.

    To tell the pieces of a landmark graph apart costs nothing: where cannot-links lie between them,
    such vectors would come first, with eigenvalues that only the shift bounds, and a piece without
    a constraint would have no place at all. So with constraints the ``n_components_`` pieces are
    joined along a shortest tree, by weak links between their nearest landmarks.

    References
    ----------
    .. [1] W. Liu, M. Ye, J. Wei, X. Hu, "Fast constrained spectral clustering and cluster ensemble
       with random projection", Computational Intelligence and Neuroscience, 2658707, 2017.
       doi:10.1155/2017/2658707

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import FastConstrainedSpectral
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.7, size=(60, 2)) for c in (0, 2, 4)])
    >>> y = np.full(180, -1)
    >>> y[::6] = np.repeat([0, 1, 2], 10)
    >>> model = FastConstrainedSpectral(3, n_landmarks=60, random_state=0).fit(X, y)
    >>> model.violations_.satisfied > 0.9
    True
    """

    _parameter_rules: ClassVar[Rules] = {
        **BaseLandmarkClusterer._shared_rules,
        "alpha": [Number(0)],
        "demand": [Choice("auto"), Number(0)],
        "weighting": [Choice("pairs", "points")],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        alpha: float = 5.0,
        demand: Literal["auto"] | float = "auto",
        weighting: Literal["pairs", "points"] = "pairs",
        n_landmarks: int | Literal["auto"] = "auto",
        nearest: int = 3,
        landmarks: Literal["random", "kmeans"] = "random",
        bandwidth: Bandwidth = "rms",
        metric: Metric = "euclidean",
        sample_rate: float = 0.2,
        n_init: int = 10,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.demand = demand
        self.weighting = weighting
        self.n_landmarks = n_landmarks
        self.nearest = nearest
        self.landmarks = landmarks
        self.bandwidth = bandwidth
        self.metric = metric
        self.sample_rate = sample_rate
        self.n_init = n_init
        self.random_state = random_state

    def _vectors(self, rows: LandmarkRows, known: Constraints) -> tuple[np.ndarray, np.ndarray]:
        n = rows.matrix.shape[0]
        self.n_components_, pieces = components_of(rows)
        if len(known) == 0 or len(rows.gram) == 1:
            self.demand_ = 1.0 / n
            return leading_vectors(rows, self.n_clusters)
        refuse_no_demand(self.demand, self.alpha, known)
        gram = rows.without_constant(rows.gram)
        cut = gram - rows.without_constant(rows.gram @ rows.gram)
        cut += self.alpha * self._pull(rows, known, "must")
        if self.n_components_ > 1:
            cut += rows.without_constant(joining_cut(rows, pieces))
        wanted = self._pull(rows, known, "cannot")
        count = min(self.n_clusters, len(gram))
        self.demand_ = self._demand(wanted, count, n)
        # On the complement of the constant, Z^T (I - 11^T/n) Z is the Gram matrix.
        wanted = wanted + self.demand_ * gram
        values, vectors = pencil(wanted, cut, count, np.trace(rows.gram))
        return rows.from_complement(vectors), values

    def _pull(self, rows: LandmarkRows, known: Constraints, link: Link) -> np.ndarray:
        """Return what must-links or cannot-links ask of the vectors."""
        product = rows.without_constant(known.laplacian_product(rows.matrix, link))
        if self.weighting == "points":
            degree = known.mean_degree(link)
            if degree == 0:  # classes of one point: no link, but errors of rounding
                return np.zeros_like(product)
            product /= degree
        return product

    def _demand(self, wanted: np.ndarray, count: int, n: int) -> float:
        if not isinstance(self.demand, str):
            return float(self.demand)
        if self.weighting == "points":
            return 1.0
        size = len(wanted)
        top = eigh(wanted, eigvals_only=True)[max(size - count, 0) :]
        enough = top[0] > _RANK * max(top[-1], 0.0) and top[-1] > 0
        return 0.0 if enough else 1.0 / n


def components_of(rows: LandmarkRows) -> tuple[int, np.ndarray]:
    """Return how many pieces the landmark graph has, and the piece of each landmark in use."""
    count, piece = connected_components(sparse.csr_matrix(rows.gram > 0), directed=False)
    return int(count), piece


def joining_cut(rows: LandmarkRows, piece: np.ndarray) -> np.ndarray:
    """Return what it costs vectors to differ along links that join the pieces of the graph.

    The links are those of a shortest tree between landmarks of different pieces; each has a
    thousandth of the median weight with which points link two landmarks. Any weight puts a piece
    without a constraint beside its neighbour; a large one would blur pieces that are far apart.
    """
    marks = rows.graph.landmarks[rows.used]
    marks = marks.toarray() if sparse.issparse(marks) else np.asarray(marks, dtype=np.float64)
    distance = np.sqrt(squared_distances(marks, marks, centre=centre_of(marks)))
    near = np.finfo(float).eps * max(float(distance.max()), 1.0)
    tree = minimum_spanning_tree(
        np.where(piece[:, None] == piece, near, distance + 2.0 * near)
    ).tocoo()
    between = piece[tree.row] != piece[tree.col]
    first, second = tree.row[between], tree.col[between]
    links = rows.gram / np.outer(rows.scale, rows.scale)
    links = links[np.triu_indices_from(links, 1)]
    weight = float(np.median(links[links > 0])) if (links > 0).any() else 1.0
    ends = np.zeros((first.size, len(rows.gram)))
    every = np.arange(first.size)
    ends[every, first], ends[every, second] = rows.scale[first], -rows.scale[second]
    return _JOINED * weight * (ends.T @ ends)


def refuse_no_demand(demand: Any, alpha: float, known: Constraints) -> None:
    """Refuse a demand of 0 where there is no cannot-link either, and weights without an end.

    In the first case any vector would do, in the second no number is left of the others.
    """
    for name, value in (("alpha", alpha), ("demand", demand)):
        if not isinstance(value, str) and np.isinf(value):
            raise ParameterError(
                f"{{{name}}} is infinite beside affinities that are not; give a large number, such "
                "as 1000.",
                **{name: value},
            )
    if not isinstance(demand, str) and demand == 0 and known.n_cannot_link == 0:
        raise ParameterError(
            "{demand} leaves cannot-links alone to say what is cut, but there are none, only "
            "must-links; use {demand.name}='auto', or a positive number.",
            demand=demand,
        )


def pencil(
    left: np.ndarray, right: np.ndarray, count: int, trace: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest eigenvalues and the vectors of ``left z = mu right z``, right >= 0.

    ``trace`` is that of what the right side was computed from: where points coincide it may be
    nothing but rounding errors, beside which the shift must be large.
    """
    size = len(right)
    scale = max(float(np.trace(right)), float(trace), np.finfo(float).tiny / _SHIFT)
    shifted = right + _SHIFT * scale / size * np.eye(size)
    values, vectors = largest_pairs(left, count, shifted)
    return values[::-1], vectors[:, ::-1]
