"""Spectral cuts of bipartite graphs, found on the smaller side and carried to the points.

The two sides are points and landmarks, or points and the clusters of an ensemble. The same algebra
gives the spectrum of a co-association matrix with weighted columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import Choice, Integer, Seed, checked
from clusterscape._core.rows import slices
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.eigen import EigenResult, symmetric_eigen
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.kmeans_engines import batches
from clusterscape.linalg.operators import symmetric_operator
from clusterscape.linalg.rowspace import RowSpace

# The columns' Gram matrix is formed where it is small and products with it are cheaper than two
# passes over the links; forming it costs r^2 / 2 additions for the r links of a point.
_GRAM_WIDTH = 6_000
_GRAM_LINKS = 200
_NOTHING = 1e-8  # an eigenvalue below this is rounding, and its vector says nothing
_BLOCK = 2**22  # elements of a temporary block
_CARRY_ROWS = 50_000  # points of one task


class Incidence:
    """The n x p matrix B of a bipartite graph: sparse, or the labels of a hard ensemble.

    Parameters
    ----------
    B : (n, p) sparse matrix, RowSpace or Incidence
        Weights >= 0 of the links. A ``RowSpace`` represents the membership matrix of an ensemble,
        which is then never built.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.rowspace import RowSpace
    >>> from clusterscape.linalg.transfer_cut import Incidence
    >>> B = Incidence(RowSpace(np.array([[0, 0], [1, 0]]), np.array([0, 2, 3])))
    >>> B.expand(np.array([[1.0], [2.0], [10.0]]), slice(0, 2)).ravel()
    array([11., 12.])
    """

    def __init__(self, B: Any) -> None:
        if isinstance(B, Incidence):
            self.__dict__.update(B.__dict__)
            return
        self.labels: np.ndarray | None = None
        if isinstance(B, RowSpace) and B.membership is None:
            self.labels, self.offsets = B.labels, B.offsets
            self.shape = (B.n_points, B.width)
            return
        matrix: Any = sparse.csr_matrix(B.membership if isinstance(B, RowSpace) else B)
        if matrix.nnz and not (np.isfinite(matrix.data).all() and matrix.data.min() >= 0):
            raise ValueError(
                "B must have finite weights >= 0: they are how strongly points are linked; it has "
                "negative, infinite or missing ones."
            )
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        self.matrix = matrix
        self.shape = matrix.shape

    def subset(self, points: np.ndarray) -> Incidence:
        """Return the links of some points."""
        if self.labels is None:
            return Incidence(self.matrix[points])
        return Incidence(RowSpace(self.labels[points], self.offsets))

    def collect(self, values: np.ndarray) -> np.ndarray:
        """Return B^T @ values."""
        if self.labels is None:
            return np.asarray(self.matrix.T @ values)
        table = np.zeros((self.shape[1], values.shape[1]))
        kernels.labels.scatter(self.labels, self.offsets, np.ascontiguousarray(values), table)
        return table

    def expand(self, table: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Return B @ table, or some rows of it."""
        if self.labels is None:
            return np.asarray(self.matrix[rows] @ table)
        return RowSpace(self.labels[rows], self.offsets).product(np.ascontiguousarray(table))

    @property
    def is_small(self) -> bool:
        """Whether forming the Gram matrix of the columns pays."""
        n, p = self.shape
        links = self.matrix.nnz if self.labels is None else self.labels.size
        return p <= _GRAM_WIDTH and links <= _GRAM_LINKS * n and 8 * links >= p * p

    def gram(self, scale: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Return ``C B^T diag(scale) B C``, C the diagonal of ``column``."""
        out = np.empty((self.shape[1],) * 2)
        if self.labels is None:
            arrays = self.matrix.data, self.matrix.indices, self.matrix.indptr
            kernels.bipartite.column_gram(*arrays, scale, column, out)
        else:
            columns = np.ascontiguousarray(self.labels.T)
            kernels.thresholded.cluster_gram(columns, self.offsets, scale, column, out)
        return out


@dataclass(frozen=True)
class BipartiteSpectrum:
    """Leading spectrum of ``D^-1/2 B W B^T D^-1/2`` and the way to the rows of any points.

    Attributes
    ----------
    values : (m,) array
        Eigenvalues, descending from 1; all lie in [0, 1].
    table : (p, m) array
        ``D^-1 B table`` are the eigenvectors divided by the roots of the degrees: piecewise
        constant on groups that nothing joins. Zero where the eigenvalue is.
    column_degree : (p,) array
        ``B column_degree`` are the degrees D of the points, also of new ones.
    residual : float
        Largest residual of the eigenvectors on the side that was solved.
    solver : str
        How they were found.
    side : str
        "points" or "clusters" (the columns of B): the side that was solved.
    """

    values: np.ndarray
    table: np.ndarray
    column_degree: np.ndarray
    residual: float
    solver: str
    side: str

    def rows(self, B: Any, *, n_vectors: int | None = None, unit: bool = True) -> np.ndarray:
        """Return the rows of the points in the space of the eigenvectors.

        Parameters
        ----------
        B : (n, p) sparse matrix or RowSpace
            Links of the points, of those that the spectrum is of or of new ones.
        n_vectors : int, optional
            Leading eigenvectors that are taken, all by default; those of eigenvalue zero are left
            out.
        unit : bool
            Scale the rows to unit length.

        Returns
        -------
        (n, m) array
            In Fortran order: ``.T`` is contiguous. Zero for points without links, and for groups
            that nothing joins to the others where the eigenvectors taken are those of the others.
        """
        incidence = Incidence(B)
        kept = np.flatnonzero(self.values[:n_vectors] > _NOTHING)
        both = np.column_stack([self.table[:, kept], self.column_degree])
        out = np.zeros((kept.size, incidence.shape[0])).T
        for part in batches(incidence.shape[0], both.shape[1]):
            block = incidence.expand(both, part)
            divisor = np.linalg.norm(block[:, :-1], axis=1) if unit else block[:, -1]
            some = (divisor > 0) & (block[:, -1] > 0)
            np.divide(block[:, :-1], divisor[:, None], out=out[part], where=some[:, None])
        return out

    def nearest(self, space: RowSpace, centers: np.ndarray, *, unit: bool = True) -> np.ndarray:
        """Return the nearest centre to the row of each point of an ensemble, in one pass.

        Parameters
        ----------
        space : RowSpace
            The points: of those that the spectrum is of, or new ones with the same columns.
        centers : (k, m) array
            In the space of the leading eigenvectors, as :meth:`rows` gives it.
        unit : bool
            Whether rows are scaled to unit length.

        Returns
        -------
        (n,) array
            Points without links go to the centre nearest to the origin.

        Notes
        -----
        Look-ups are added in single precision. Blocks of points are shared among the workers of
        the joblib configuration; the result does not depend on them.
        """
        n, m = space.n_points, centers.shape[1]
        groups = np.empty(n, dtype=np.int32)
        squares = np.einsum("ij,ij->i", centers, centers)
        if space.membership is not None:
            for part in slices(n, max(1, _BLOCK // max(centers.shape))):
                rows = self.rows(space.subset(np.arange(n)[part]), n_vectors=m, unit=unit)
                groups[part] = (squares - 2.0 * (rows @ centers.T)).argmin(axis=1)
            return groups
        kept = np.flatnonzero(self.values[:m] > _NOTHING)
        width = -(-(kept.size + 1) // 8) * 8
        table = np.zeros((space.width, width), dtype=np.float32)
        table[:, : kept.size] = self.table[:, kept]
        table[:, -1] = self.column_degree
        padded = np.zeros((centers.shape[0], width))
        padded[:, : kept.size] = centers[:, : kept.size]
        fixed = (space.offsets, table, padded, squares, unit)
        tasks = [(space.labels[p], fixed, groups[p]) for p in slices(n, _CARRY_ROWS)]
        parallel_map(_carry, tasks, shared=True)
        return groups


def _carry(task: tuple[np.ndarray, tuple[Any, ...], np.ndarray]) -> None:
    labels, fixed, groups = task
    kernels.rowspace.carry(labels, *fixed, groups)


def bipartite_spectrum(
    B: Any,
    n_values: int,
    *,
    column_weight: np.ndarray,
    sample_weight: np.ndarray | None = None,
    seed: int = 0,
) -> BipartiteSpectrum:
    """Return the leading spectrum of ``D^-1/2 B W B^T D^-1/2``, solved on the smaller side.

    Parameters
    ----------
    B : (n, p) sparse matrix, RowSpace or Incidence
        Links of points and columns.
    n_values : int
        How many eigenvalues; at most min(n, p) are found.
    column_weight : (p,) array
        Diagonal of W, >= 0. Ones give the co-association of an ensemble as counts; the inverse
        column sums of B the normalised cut of the bipartite graph (:func:`transfer_cut`).
    sample_weight : (n,) array, optional
        Weights of the points: D and the spectrum are those of so many copies.
    seed : int
        Of the start vector, where a Lanczos solver is used.

    Returns
    -------
    BipartiteSpectrum

    Notes
    -----
    With up to 6,000 columns, no more than points, and up to 200 links of a point, the Gram matrix
    of the columns is formed, which costs O(n r^2) for r links of a point; otherwise products with
    B are made as the solver needs them.
    Groups that no link joins have an eigenvalue of 1 each; all its copies are found.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from clusterscape.linalg.transfer_cut import bipartite_spectrum
    >>> B = sparse.csr_matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> bipartite_spectrum(B, 2, column_weight=np.ones(2)).values.round(6)
    array([1., 1.])
    """
    incidence = Incidence(B)
    n, p = incidence.shape
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    column = np.asarray(column_weight, dtype=np.float64)
    column_degree = column * incidence.collect(weight[:, None]).ravel()
    degree = incidence.expand(column_degree[:, None]).ravel()
    scale = np.divide(weight, degree, out=np.zeros(n), where=degree > 0)
    root, half = np.sqrt(column)[:, None], np.sqrt(scale)[:, None]
    known = {"column_weight": column, "column_degree": column_degree, "seed": seed}
    if n >= p and incidence.is_small:
        return spectrum_of_gram(incidence.gram(scale, root.ravel()), n_values, **known)
    if n >= p:
        operator = symmetric_operator(
            p, lambda t: root * incidence.collect(half**2 * incidence.expand(root * t))
        )
        return spectrum_of_gram(operator, n_values, **known)
    operator = symmetric_operator(
        n, lambda v: half * incidence.expand(root**2 * incidence.collect(half * v))
    )
    found = symmetric_eigen(operator, min(n_values, n), seed=seed)
    values = np.clip(found.values, 0.0, 1.0)
    vectors = root * incidence.collect(half * found.vectors)
    table = _divided(root * vectors, values)
    return BipartiteSpectrum(values, table, column_degree, found.residual, found.solver, "points")


def spectrum_of_gram(
    gram: Any,
    n_values: int,
    *,
    column_weight: np.ndarray,
    column_degree: np.ndarray,
    seed: int = 0,
) -> BipartiteSpectrum:
    """Return :func:`bipartite_spectrum` of points that are known by the table of their clusters.

    Parameters
    ----------
    gram : (p, p) array or operator
        ``W^1/2 B^T D^-1 B W^1/2``, which can be added up over blocks of points.
    n_values : int
        How many eigenvalues.
    column_weight, column_degree : (p,) arrays
        The diagonal of W, and what makes the degrees D of the points: ``B column_degree``.
    seed : int
        Of the start vector, where a Lanczos solver is used.

    Returns
    -------
    BipartiteSpectrum
    """
    found = symmetric_eigen(gram, min(n_values, column_weight.size), seed=seed)
    values = np.clip(found.values, 0.0, 1.0)
    table = _divided(np.sqrt(column_weight)[:, None] * found.vectors, np.sqrt(values))
    kind = found.residual, found.solver, "clusters"
    return BipartiteSpectrum(values, table, column_degree, *kind)


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
        ``vectors`` belong to the points on either side and have unit norm; those of eigenvalue
        zero are zero. ``residual`` is that of the side taken.

    See Also
    --------
    clusterscape.linalg.transfer_cut.bipartite_spectrum : Any weights of clusters; new points.
    clusterscape.linalg.symmetric_eigen : Of any symmetric operator.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.linalg import coassociation_spectrum
    >>> S = Ensemble.from_labels([[0, 0, 1, 1], [0, 0, 1, 2]]).coassociation()
    >>> coassociation_spectrum(S, 3).values.round(3)
    array([1.   , 1.   , 0.333])
    """
    if not hasattr(coassociation, "row_space"):
        raise TypeError(
            "coassociation must be a Coassociation, such as ensemble.coassociation(); got "
            f"{type(coassociation).__name__}."
        )
    incidence = Incidence(coassociation.row_space())
    n = incidence.shape[0]
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    found = bipartite_spectrum(
        incidence,
        n_values,
        column_weight=coassociation.column_weights,
        sample_weight=weight,
        seed=seed,
    )
    degree = incidence.expand(found.column_degree[:, None]).ravel()
    scale = np.sqrt(np.divide(weight, degree, out=np.zeros(n), where=degree > 0))
    vectors = scale[:, None] * incidence.expand(found.table)
    return EigenResult(found.values, vectors, found.residual, found.solver, found.side)


def _divided(table: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Divide the columns by their values, and make those of nothing zero."""
    kept = np.broadcast_to(values > _NOTHING, table.shape)
    return np.divide(table, values, out=np.zeros_like(table), where=kept)


@dataclass(frozen=True)
class TransferCut:
    """A spectral partition of the points of a bipartite graph.

    Attributes
    ----------
    labels : (n,) array
        Clusters 0, 1, ...; -1 for points without links.
    centers : (k, m) array
        Means of the clusters' rows in the space of the eigenvectors.
    spectrum : BipartiteSpectrum
        The eigenvalues, and the way to the rows of new points.
    unit : bool
        Whether rows have unit length.
    start_size : int
        Points on which k-means ran; all other points went to their nearest centre.
    """

    labels: np.ndarray
    centers: np.ndarray
    spectrum: BipartiteSpectrum
    unit: bool
    start_size: int

    def predict(self, B: Any) -> np.ndarray:
        """Return the clusters of points by their links, -1 for points without links.

        Parameters
        ----------
        B : (m, p) sparse matrix or RowSpace
            Links of the points to the same columns.

        Returns
        -------
        (m,) array
        """
        return _assigned(Incidence(B), self.spectrum, self.centers, self.unit)


@checked(
    {
        "n_clusters": (Integer(1),),
        "rows": (Choice("unit", "degree"),),
        "init": (Choice("k-means++", "plain-k-means++", "random"),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "start_size": (Integer(1),),
        "seed": (Seed(),),
    }
)
def transfer_cut(
    B: Any,
    n_clusters: int,
    *,
    column_weight: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    rows: Literal["unit", "degree"] = "unit",
    init: Literal["k-means++", "plain-k-means++", "random"] = "k-means++",
    n_init: int = 3,
    max_iter: int = 100,
    start_size: int = 20_000,
    seed: _seeds.RandomState = 0,
) -> TransferCut:
    """Cut a bipartite graph of points and landmarks, or points and clusters, into k groups.

    The normalised cut of the whole graph is solved among the p columns, where it is a p x p
    problem, and its eigenvectors are carried to the points: O(n r^2 + p^3) for r links of a point.
    k-means then clusters the points' rows. Small groups joined to large ones by many links are cut
    off badly, as in every normalised cut.

    Parameters
    ----------
    B : (n, p) sparse matrix or RowSpace
        Weights >= 0 of the links; a ``RowSpace`` for the clusters of an ensemble.
    n_clusters : int
        k, at most the number of points with links. Fewer clusters come back where fewer rows are
        different. Of more than k groups that no link joins, some share a cluster, and which ones
        is arbitrary: every such cut costs nothing.
    column_weight : (p,) array, optional
        Weight >= 0 of the links to each column, such as the reliability of a cluster. A column of
        weight 0, or without links, has no part in the cut.
    sample_weight : (n,) array, optional
        Weights of the points: the number of equal points that each represents.
    rows : {"unit", "degree"}
        Rows of the eigenvectors at unit length, or as the normalised cut has them, with k-means
        weighted by the degrees.
    init : {"k-means++", "plain-k-means++", "random"}
        How k-means starts, as in :func:`~clusterscape.linalg.kmeans.kmeans`: from points far
        apart, from such points by one draw each, or from any points.
    n_init, max_iter : int
        Starts and iterations of k-means.
    start_size : int
        Of more points than this a random sample is clustered, and all points then go to the
        nearest centre, a block at a time.
    seed : int, generator or None
        Of the sample and of k-means.

    Returns
    -------
    TransferCut
        Labels, and ``predict`` for the links of new points.

    See Also
    --------
    clusterscape.linalg.landmark_graph.landmark_graph : A graph of points and landmarks.

    References
    ----------
    Z. Li, X.-M. Wu, S.-F. Chang, "Segmentation using superpixels: a bipartite graph partitioning
    approach", IEEE Conference on Computer Vision and Pattern Recognition, 2012.
    doi:10.1109/CVPR.2012.6247750

    Examples
    --------
    >>> from scipy import sparse
    >>> from clusterscape.linalg.transfer_cut import transfer_cut
    >>> B = sparse.csr_matrix([[1.0, 0.1, 0.0], [0.9, 0.0, 0.0], [0.0, 0.1, 1.0], [0.0, 0.2, 0.8]])
    >>> labels = transfer_cut(B, 2).labels
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    incidence = Incidence(B)
    n, p = incidence.shape
    omega = checked_weights(column_weight, p, name="column_weight", each="column")
    weight = checked_weights(sample_weight, n)
    mass = incidence.collect(weight[:, None]).ravel()
    column = np.divide(omega, mass, out=np.zeros(p), where=mass > 0)
    sampling, starting = _seeds.spawn(seed, 2)
    found = bipartite_spectrum(
        incidence, n_clusters, column_weight=column, sample_weight=weight,
        seed=_seeds.sklearn_seed(starting),
    )  # fmt: skip
    degree = incidence.expand(found.column_degree[:, None]).ravel()
    linked = np.flatnonzero((degree > 0) & (weight > 0))
    if n_clusters > linked.size:
        raise ParameterError(
            f"{{n_clusters}} is more than the {linked.size} points that have links and a weight; "
            "ask for fewer clusters.",
            n_clusters=n_clusters,
        )
    if linked.size > start_size:
        rng = np.random.default_rng(sampling)
        linked = np.sort(rng.choice(linked, size=start_size, replace=False))
    unit = rows == "unit"
    some = incidence.subset(linked)
    first = kmeans(
        found.rows(some, unit=unit),
        min(n_clusters, linked.size),
        init=init,
        n_init=n_init,
        max_iter=max_iter,
        sample_weight=weight[linked] * (1.0 if unit else degree[linked]),
        seed=starting,
    )
    whole = linked.size == n
    labels = first.labels if whole else _assigned(incidence, found, first.centers, unit)
    return TransferCut(labels, first.centers, found, unit, linked.size)


def _assigned(
    incidence: Incidence, spectrum: BipartiteSpectrum, centers: np.ndarray, unit: bool
) -> np.ndarray:
    """Return the nearest centre of every point, a block of points at a time."""
    n = incidence.shape[0]
    labels = np.empty(n, dtype=np.int32)
    squares = np.einsum("ij,ij->i", centers, centers)
    for rows_at in slices(n, max(1, _BLOCK // max(centers.shape))):
        part = np.arange(n)[rows_at]
        some = incidence.subset(part)
        rows = spectrum.rows(some, unit=unit)
        labels[part] = (squares - 2.0 * (rows @ centers.T)).argmin(axis=1)
        # Linked points have zero rows, too, where there are more groups than eigenvectors.
        labels[part[some.expand(spectrum.column_degree[:, None]).ravel() <= 0]] = -1
    return labels
