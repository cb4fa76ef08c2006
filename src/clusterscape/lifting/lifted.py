"""Clusters as vectors of a kernel's Hilbert space: one pass lifts all clusters of all partitions.

A cluster becomes the sum of its points' feature vectors, Phi(C) = sum_x w(x) p(C|x) Phi(x), of
which the direction says where the cluster lies and the length how large it is. :func:`lift` does
it, and :class:`Lifted` holds the result. The sums run over the members of the clusters
(``_members.py``), either of kernel values (``_exact.py``) or of random features (``_fourier.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpstrf
from sklearn.utils import check_array

from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import MemoryLimitError, ParameterError
from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.params import (
    N_JOBS,
    Choice,
    Integer,
    Null,
    Number,
    Rule,
    Seed,
    Such,
    checked,
    shown,
)
from clusterscape._core.rows import ArrayRows, RowSource, as_rows, blocks_of
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError, Ensemble
from clusterscape.lifting._exact import (
    PointKernel,
    check_square,
    discrete_gram,
    kernel_gram,
    kernel_scores,
    length,
)
from clusterscape.lifting._fourier import FourierMap, fourier_map
from clusterscape.lifting._members import Members, members_of
from clusterscape.linalg.distances import median_distance
from clusterscape.linalg.eigen import symmetric_eigen

Kernel = (
    Literal["gaussian", "laplacian", "cauchy", "discrete", "precomputed"]
    | Callable[[Any, Any], Any]
)

SHIFT_INVARIANT = ("gaussian", "laplacian", "cauchy")

RULES: dict[str, tuple[Rule, ...]] = {
    "kernel": (
        Choice(*SHIFT_INVARIANT, "discrete", "precomputed"),
        Such(callable, "a function of two lists of points that returns their kernel values"),
    ),
    "bandwidth": (Choice("median"), Number(0, open_low=True)),
    "n_components": (Choice("auto"), Null(), Integer(2)),
    "error": (Null(), Number(0, open_low=True)),
    "noise": (Choice("cluster", "drop"),),
    "random_state": (Seed(),),
    "n_jobs": tuple(N_JOBS),
    "max_gb": (Number(0, open_low=True),),
}

_EXACT_BELOW = 3000  # points up to which "auto" takes exact kernel sums
_COMPONENTS = 1000
_SAMPLE = 1000  # points from whose distances the bandwidth is estimated
_BLOCK = 2**22  # elements of a temporary block
# Squares below this share of the largest are taken from differences, for their digits.
_NEAR = 1e-6
_ZERO = 1e-14  # a squared length below this share of the largest possible one is zero


@checked(
    {
        "error": [Number(0, open_low=True)],
        "n_points": [Integer(1)],
        "failure": [Number(0, 1, open_low=True)],
    }
)
def components_for_error(error: float, n_points: int, *, failure: float = 0.01) -> int:
    """Return how many random features keep the error of every kernel value below a bound.

    By Hoeffding's inequality for each pair of points and the union bound over all pairs, for
    independent frequencies. The bound is safe and far from tight: the error of a typical value is
    near ``1 / sqrt(n_components)``.

    Parameters
    ----------
    error : float
        Bound of the error of a kernel value.
    n_points : int
        Points among which all pairs count.
    failure : float
        Probability that some pair breaks the bound.

    Returns
    -------
    int
        An even number, for pairs of a cosine and a sine.

    See Also
    --------
    lift : Takes such a number, or the error.

    References
    ----------
    .. [1] W. Hoeffding. Probability inequalities for sums of bounded random variables. Journal of
       the American Statistical Association 58(301), 13-30, 1963.
       doi:10.1080/01621459.1963.10500830
    .. [2] A. Rahimi and B. Recht. Random features for large-scale kernel machines. Advances in
       Neural Information Processing Systems 20, 2007.

    Examples
    --------
    >>> from clusterscape.lifting import components_for_error
    >>> components_for_error(0.1, 1000)
    7368
    """
    pairs = n_points * (n_points - 1)
    if pairs == 0:
        return 2
    return 2 * max(1, math.ceil(2.0 / error**2 * math.log(pairs / failure)))


@checked(RULES)
def lift(
    ensemble: Any,
    features: Any = None,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    error: float | None = None,
    noise: Literal["cluster", "drop"] = "cluster",
    random_state: _seeds.RandomState = 0,
    n_jobs: int | None = None,
    max_gb: float = 4.0,
) -> Lifted:
    """Return every cluster of every partition as a unit vector of a kernel's Hilbert space.

    The points are read once, in chunks, whatever the number of partitions. Clusters that have no
    weight, or whose vector is zero, are left out. The result depends on the bandwidth: with
    one far below the distances of the points all clusters are orthogonal, with one far above all
    are equal.

    Parameters
    ----------
    ensemble : Ensemble
        The partitions, hard or soft; the points' weights count, those of the partitions do not.
    features : (n, d) array, CSR matrix or sequence
        The points; the (n, n) kernel values if they are precomputed; anything that a kernel
        function takes; not read with the discrete kernel.
    kernel : {"gaussian", "laplacian", "cauchy", "discrete", "precomputed"} or callable
        ``exp(-|x - y|^2 / (2 h^2))``, ``exp(-|x - y|_1 / h)``, the product over the columns of
        ``1 / (1 + (x_j - y_j)^2 / h^2)``; 1 for a point with itself and 0 with others, when a
        point of weight w counts as w points; or a function that returns the (len(left),
        len(right)) values of two lists of points.
    bandwidth : {"median"} or float
        h; "median" is the median distance of points in different places, or of 1,000 drawn ones (by
        the sum of absolute differences for "laplacian"), seen by a partition or not. A weight
        counts as that many copies; points are drawn in proportion to their weights.
    n_components : {"auto"}, int or None
        Random Fourier features, an even number; None sums kernel values exactly, in O(n^2). "auto"
        is exact up to 3,000 points and for kernels without such features, otherwise 1,000 or what
        ``error`` asks for.
    error : float, optional
        Bound of the error of every kernel value, see :func:`components_for_error`.
    noise : {"cluster", "drop"}
        Take the noise points of a partition as one more cluster, its last; or leave them out.
        Unsampled points are always left out.
    random_state : int, generator or None
        Of the features and of the bandwidth's sample.
    n_jobs : int, optional
        Workers; the result does not depend on them.
    max_gb : float
        Refuse a result larger than this.

    Returns
    -------
    Lifted

    See Also
    --------
    clusterscape.compare.lift_emd : A distance between partitions in this space.
    clusterscape.combine.LiftKM : A consensus in this space.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27
    .. [2] A. Rahimi and B. Recht. Random features for large-scale kernel machines. Advances in
       Neural Information Processing Systems 20, 2007.
    .. [3] F. X. Yu, A. T. Suresh, K. Choromanski, D. Holtmann-Rice and S. Kumar. Orthogonal random
       features. Advances in Neural Information Processing Systems 29, 2016.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.lifting import lift
    >>> ensemble = Ensemble.from_labels([[0, 0, 1, 1], [0, 1, 1, -1]])
    >>> lifted = lift(ensemble, [[0.0], [1.0], [5.0], [6.0]], bandwidth=2.0)
    >>> lifted.cluster, lifted.mass
    (array([ 0,  1,  0,  1, -1]), array([0.5 , 0.5 , 0.25, 0.5 , 0.25]))
    >>> lifted.products([0, 1], [2, 3, 4]).round(3)
    array([[0.97 , 0.705, 0.028],
           [0.028, 0.705, 0.97 ]])
    """
    if not isinstance(ensemble, Ensemble):
        raise TypeError(
            f"ensemble must be an Ensemble; got {type(ensemble).__name__}. Make one with "
            "Ensemble.from_labels."
        )
    check_choice(kernel, bandwidth, n_components, error)
    rho = _components(kernel, n_components, error, ensemble.n_points)
    ensemble, points = _with_points(ensemble, features, kernel, exact=rho is None)
    sample, draw = (np.random.default_rng(s) for s in _seeds.spawn(random_state, 2))
    scale = _scale(points, kernel, bandwidth, sample, ensemble)
    members = members_of(ensemble, noise)
    check_memory(members, kernel, rho, max_gb)
    how: FourierMap | PointKernel | None = None
    if rho is not None:
        assert isinstance(kernel, str)
        assert scale is not None
        how = fourier_map(
            points, kernel, scale, n_components=rho, independent=error is not None, rng=draw
        )
        table = how.sums(points, members, n_jobs)
        square = np.einsum("ij,ij->i", table, table)
        largest = _largest(members, None)
    elif kernel == "discrete":
        table = discrete_gram(members)
        square = largest = np.diagonal(table).copy()
    else:
        how = PointKernel(kernel, points, scale)
        table, diagonal = kernel_gram(how, members, n_jobs)
        square = np.diagonal(table).copy()
        largest = _largest(members, diagonal)
    kept = checked_lengths(square, largest, scale)
    norms = np.sqrt(np.where(kept, square, 1.0))
    table /= norms[:, None]
    if rho is None:
        table /= norms
        check_products(table[np.ix_(kept, kept)])
        np.clip(table, -1.0, 1.0, out=table)
        np.fill_diagonal(table, 1.0)
    return _assembled(members, table, norms, kept, (kernel, scale, rho, how))


def _with_points(
    ensemble: Ensemble, features: Any, kernel: Any, *, exact: bool
) -> tuple[Ensemble, Any]:
    """Return an ensemble and its points: both in blocks, or both in memory."""
    if not isinstance(ensemble, BlockedEnsemble):
        return ensemble, checked_features(features, kernel, ensemble.n_points)
    n = ensemble.n_points
    if not exact:
        return ensemble, rows_beside(ensemble, features)
    if n <= _EXACT_BELOW:
        points = None if features is None else rows_beside(ensemble, features).gather()
        return ensemble.gather(), checked_features(points, kernel, n)
    raise BlockedLabelsError(ensemble.refusal("lifting without random features (n_components)"))


def rows_beside(ensemble: BlockedEnsemble, features: Any) -> RowSource:
    """Return features in the blocks of an ensemble's labels, read by the same workers.

    Parameters
    ----------
    ensemble : BlockedEnsemble
        The labels.
    features : array or rows in blocks
        An array is cut into these blocks.

    Returns
    -------
    RowSource
    """
    bounds = ensemble.blocks.bounds
    rows = as_rows(features)
    if rows is None:
        X = checked_points(features)
        if sparse.issparse(X):
            raise TypeError("features is sparse, which is not read in blocks; give a dense array.")
        rows = ArrayRows(X, bounds) if len(X) == ensemble.n_points else blocks_of(X, None)
    if len(rows) != ensemble.n_points:
        raise ValueError(
            f"features has {len(rows)} rows and the ensemble {ensemble.n_points} points; pass one "
            "row per point, in the same order."
        )
    if not np.array_equal(rows.bounds, bounds):
        raise ValueError(
            f"features is read in {rows.n_blocks} blocks and the labels in {bounds.size - 1} "
            "others; open the features with the blocks that were clustered (block_rows)."
        )
    rows.workers = ensemble.blocks.workers
    if rows.survey.bad is not None:
        row, column, value = rows.survey.bad
        raise ValueError(f"features has {value} in row {row}, column {column}.")
    return rows


def _components(kernel: Any, asked: Any, error: float | None, n: int) -> int | None:
    """Return the number of random features, or None for exact sums."""
    if asked != "auto":
        return None if asked is None else int(asked)
    if n <= _EXACT_BELOW or not has_features(kernel):
        return None
    return _COMPONENTS if error is None else components_for_error(error, n)


def _scale(
    points: Any,
    kernel: Any,
    bandwidth: str | float,
    rng: np.random.Generator,
    ensemble: Ensemble,
) -> float | None:
    """Return the bandwidth of a kernel that has one."""
    if not has_features(kernel):
        return None
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    metric = "manhattan" if kernel == "laplacian" else "euclidean"
    given: dict[str, Any] = {"sample": _SAMPLE, "metric": metric, "apart": True}
    if isinstance(ensemble, BlockedEnsemble) or (ensemble.sample_weight == 1.0).all():
        return median_distance(points, rng, **given)
    return median_distance(points, rng, weights=ensemble.sample_weight, **given)


def _largest(members: Members, diagonal: np.ndarray | None) -> np.ndarray:
    """Return the largest squared length that a cluster could have, all its points being alike."""
    if isinstance(members.labels, RowSource):  # points without weights
        sizes = np.zeros(members.n_rows)
        sizes[members.row] = members.size
        return sizes**2
    lengths = np.ones((members.n_points, 1)) if diagonal is None else np.sqrt(diagonal)[:, None]
    with np.errstate(over="ignore"):
        return members.sums(lengths)[:, 0] ** 2


def _assembled(
    members: Members, table: np.ndarray, norms: np.ndarray, kept: np.ndarray, choices: Any
) -> Lifted:
    """Return the result for all clusters, from that of the distinct ones."""
    kernel, scale, rho, how = choices
    if not kept.all():
        members = members.only(kept[members.row])
    row, r = members.row, members.labels.shape[1]
    if row.size != table.shape[0] or (row != np.arange(row.size)).any():
        table = table[row] if rho is not None else table[np.ix_(row, row)]
    total = np.bincount(members.partition, weights=members.size, minlength=r)
    # The discrete kernel counts a weight once, other kernels once for each of the two points.
    unit = np.sqrt(members.unit) if how is None else members.unit
    return Lifted(
        offsets=np.searchsorted(members.partition, np.arange(r + 1)),
        partition=members.partition,
        cluster=members.cluster,
        mass=members.size / total[members.partition],
        total=total * members.unit,
        norms=norms[row] * unit,
        same=members.same,
        vectors=None if rho is None else table,
        gram=table if rho is None else None,
        kernel=kernel,
        bandwidth=scale,
        n_components=rho,
        n_points=members.n_points,
        _members=members,
        _map=how,
    )


# ---- the result --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Lifted:
    """The clusters of all partitions of an ensemble, as unit vectors; made by :func:`lift`.

    Attributes
    ----------
    offsets : (r + 1,) array
        The clusters of partition i are ``offsets[i]:offsets[i + 1]``.
    partition, cluster : (D,) arrays
        Partition of each cluster, and its number there; -1 for the noise points.
    mass : (D,) array
        Share of each cluster in the weight that its partition saw.
    total : (r,) array
        Weight that each partition saw.
    norms : (D,) array
        Lengths of the vectors before they were divided by them.
    same : (D,) array
        The first cluster that has the same members.
    vectors : (D, n_components) array or None
        Unit vectors of random features.
    gram : (D, D) array or None
        Exact inner products of the unit vectors, where there are no random features.
    kernel : str or callable
        As given.
    bandwidth : float or None
        Of the kernel, where it has one.
    n_components : int or None
        Random features; None where the kernel was summed exactly.
    n_points : int
        Points of the ensemble.

    See Also
    --------
    lift : Make one.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.lifting import lift
    >>> lifted = lift(Ensemble.from_labels([[0, 0, 1], [0, 1, 1]]), [[0.0], [1.0], [5.0]])
    >>> lifted
    Lifted(4 clusters of 2 partitions, gaussian kernel of bandwidth 4, exact)
    >>> lifted.distances([0, 1], [2, 3]).round(2)
    array([[0.12, 0.54],
           [1.04, 0.46]])
    """

    offsets: np.ndarray
    partition: np.ndarray
    cluster: np.ndarray
    mass: np.ndarray
    total: np.ndarray
    norms: np.ndarray
    same: np.ndarray
    vectors: np.ndarray | None
    gram: np.ndarray | None
    kernel: Kernel
    bandwidth: float | None
    n_components: int | None
    n_points: int
    _members: Members
    _map: FourierMap | PointKernel | None

    def __repr__(self) -> str:
        name = "kernel function" if callable(self.kernel) else f"{self.kernel} kernel"
        scale = "" if self.bandwidth is None else f" of bandwidth {self.bandwidth:.4g}"
        how = "exact" if self.vectors is None else f"{self.n_components} random features"
        count = f"{self.mass.size} clusters of {self.total.size} partitions"
        return f"Lifted({count}, {name}{scale}, {how})"

    def products(self, i: Any, j: Any) -> np.ndarray:
        """Return the inner products of the unit vectors of two lists of clusters.

        Parameters
        ----------
        i, j : array of int
            Clusters, by their positions.

        Returns
        -------
        (len(i), len(j)) array
        """
        i, j = (np.atleast_1d(np.asarray(side, dtype=np.intp)) for side in (i, j))
        if self.gram is not None:
            return self.gram[np.ix_(i, j)]
        assert self.vectors is not None
        return self.vectors[i] @ self.vectors[j].T

    def distances(
        self, i: Any, j: Any, *, normalize: bool = True, squared: bool = False
    ) -> np.ndarray:
        """Return the distances of two lists of clusters; exactly 0 between equal ones.

        Parameters
        ----------
        i, j : array of int
            Clusters, by their positions.
        normalize : bool
            Between the unit vectors, which depend on where clusters lie and not on their size;
            otherwise between the sums themselves.
        squared : bool
            Return the squares.

        Returns
        -------
        (len(i), len(j)) array

        Notes
        -----
        With random features the distances of nearly equal clusters keep their digits. With exact
        sums they come from products that are rounded near 1e-15, so that between clusters that are
        not equal what is below about 1e-7 (times the lengths, unless normalised) is rounding.
        """
        i, j = (np.atleast_1d(np.asarray(side, dtype=np.intp)) for side in (i, j))
        a, b, unit = np.ones((i.size, 1)), np.ones((1, j.size)), 1.0
        if not normalize:
            unit = self._unit
            a, b = self.norms[i][:, None] / unit, self.norms[j][None, :] / unit
        largest = a * a + b * b
        square = largest - 2.0 * a * b * self.products(i, j)
        if self.vectors is not None:
            rows, columns = np.nonzero(square < _NEAR * largest)
            step = max(1, _BLOCK // self.vectors.shape[1])
            for start in range(0, rows.size, step):
                x, y = rows[start : start + step], columns[start : start + step]
                between = a[x] * self.vectors[i[x]] - b[0, y][:, None] * self.vectors[j[y]]
                square[x, y] = np.einsum("ij,ij->i", between, between)
        np.maximum(square, 0.0, out=square)
        return square * unit**2 if squared else np.sqrt(square, out=square) * unit

    def coordinates(self) -> np.ndarray:
        """Return (D, q) coordinates whose inner products are those of the unit vectors.

        They are the random features, or a factor of the D x D exact products in O(D q^2), where q
        is their rank to 12 digits. A kernel that is not positive definite has none.
        """
        if self.vectors is not None:
            return self.vectors
        assert self.gram is not None
        if self.gram.shape[0] == 0:
            return np.zeros((0, 0))
        kept, row = np.unique(self.same, return_inverse=True)
        return factor_of(self.gram[np.ix_(kept, kept)])[row]

    def scores(self, features: Any, coefficients: Any) -> np.ndarray:
        """Return the inner products of points with combinations of the clusters' unit vectors.

        Parameters
        ----------
        features : (m, d) array, CSR matrix, or what the kernel takes
            The points; with a precomputed kernel their values with the ensemble's points, (m, n);
            None for the ensemble's own points, with the discrete kernel.
        coefficients : (D, k) array
            Column l is the combination ``sum_c coefficients[c, l] Phi(c) / |Phi(c)|``.

        Returns
        -------
        (m, k) array
        """
        table = np.asarray(coefficients, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != self.mass.size:
            raise ValueError(
                f"coefficients must have one row per cluster, {self.mass.size} in all; got shape "
                f"{table.shape}."
            )
        if self._map is None:
            return self._members.per_point(table / self.norms[:, None])
        if isinstance(self._map, FourierMap):
            assert self.vectors is not None
            width = self._map.blocks[0].shape[0]
            return self._map.scores(checked_points(features, width), self.vectors.T @ table)
        kernel = self._map
        if callable(kernel.kernel):
            features = checked_items(features)
        else:
            features = checked_points(features, kernel.features.shape[1])
        lengths = self.norms[:, None] / self._unit
        return kernel_scores(kernel, features, self._members, table / lengths)

    @property
    def _unit(self) -> float:
        """What the members' weights are to be multiplied by."""
        return 1.0 if self._map is None else self._members.unit


_PIVOT = 1e-12  # of a diagonal of ones, what may be left unexplained
_LEFT = 1e-9  # largest length of a row of what a factor leaves
_INDEFINITE = 1e-5  # rows of what is left that are longer come from no rounding
_PROBES = 8


def factor_of(gram: np.ndarray) -> np.ndarray:
    """Return F with ``F F^T`` a positive semidefinite matrix whose diagonal is 1.

    By the pivoted Cholesky decomposition, which stops at the rank and costs O(D q^2). It trusts
    that the matrix is semidefinite, so what it leaves is measured, and the eigenvectors are taken
    where this is not nothing.
    """
    found, order, rank, _ = dpstrf(np.asfortranarray(gram), tol=_PIVOT, lower=1)
    factor = np.empty((gram.shape[0], rank))
    factor[order - 1] = np.tril(found[:, :rank])
    if _left(gram, factor) <= _LEFT:
        return factor
    size = gram.shape[0]
    spectrum = symmetric_eigen(gram, size, solver="dense")
    large = spectrum.values > size * np.finfo(float).eps * spectrum.values[0]
    factor = spectrum.vectors[:, large] * np.sqrt(spectrum.values[large])
    if _left(gram, factor) > _INDEFINITE:
        raise ValueError(
            f"kernel: the products of the clusters have the eigenvalue {spectrum.values[-1]:.3g}, "
            "so the kernel is not positive definite and the clusters have no coordinates. Subtract "
            "its least eigenvalue from the diagonal, or take another."
        )
    return factor


def _left(gram: np.ndarray, factor: np.ndarray) -> float:
    """Return an estimate of the longest row of ``gram - factor factor^T``.

    The mean square of a row's products with normal vectors is the square of its length; that of
    eight products is a millionth of it with a probability under 1e-20.
    """
    probes = np.random.default_rng(0).standard_normal((gram.shape[0], _PROBES))
    rest = gram @ probes - factor @ (factor.T @ probes)
    return float(np.sqrt((rest**2).mean(axis=1).max()))


# ---- what can be lifted ------------------------------------------------------------------


def has_features(kernel: Any) -> bool:
    """Say whether random Fourier features of the kernel are known."""
    return isinstance(kernel, str) and kernel in SHIFT_INVARIANT


def check_choice(kernel: Any, bandwidth: Any, n_components: Any, error: Any) -> None:
    """Refuse choices that contradict each other."""
    name = "a kernel function" if callable(kernel) else "{kernel}"
    if not has_features(kernel) and not isinstance(bandwidth, str):
        raise ParameterError(
            f"{{bandwidth}} cannot be used with {name}, which has none; leave it out, or take one "
            f"of the kernels {', '.join(map(repr, SHIFT_INVARIANT))}.",
            bandwidth=float(bandwidth),
            kernel=kernel,
        )
    asked = isinstance(n_components, (int, np.integer))
    if error is not None and n_components != "auto":
        raise ParameterError(
            "{error} and {n_components} both set the number of random features; give one of them.",
            error=error,
            n_components=n_components,
        )
    if asked and n_components % 2:
        raise ParameterError(
            "{n_components} is odd; features come as pairs of a cosine and a sine, so take "
            f"{n_components + 1}.",
            n_components=int(n_components),
        )
    if asked and not has_features(kernel):
        raise ParameterError(
            f"{{n_components}} cannot be used with {name}, which has no random features; leave "
            "{n_components__auto} for exact kernel sums.",
            n_components=int(n_components),
            n_components__auto="auto",
            kernel=kernel,
        )


def checked_features(features: Any, kernel: Any, n_points: int) -> Any:
    """Return the points as the kernel takes them, one for each point of the ensemble."""
    if kernel == "discrete":
        return None
    if features is None:
        raise ValueError(
            "features is missing: the points must be given, features=X, except with "
            "kernel='discrete', which sees only whether two points are the same."
        )
    features = checked_items(features) if callable(kernel) else checked_points(features)
    if length(features) != n_points:
        raise ValueError(
            f"features has {length(features)} rows and the ensemble {n_points} points; pass one "
            "row per point, in the same order."
        )
    if kernel == "precomputed" and features.shape[1] != n_points:
        raise ValueError(
            f"features has shape {features.shape}; with kernel='precomputed' it must hold the "
            f"kernel values of all pairs of points, {n_points} x {n_points}."
        )
    if kernel == "precomputed":
        check_square(features)
    return features


def checked_items(features: Any) -> Any:
    """Return the points as a kernel function takes them: any sequence, or rows of an array."""
    if hasattr(features, "to_numpy"):  # of a frame the rows are meant, not the columns
        features = features.to_numpy()
    if not hasattr(features, "shape") and not hasattr(features, "__len__"):
        raise TypeError(f"features must be a list or an array of points; got {shown(features)}.")
    return features


def checked_points(features: Any, width: int | None = None) -> Any:
    """Return a finite float matrix, dense or CSR, with ``width`` columns."""
    if features is None:
        raise ValueError("features is missing: pass the points whose scores are wanted.")
    refuse_repeated_columns(features, "features")
    X = check_array(
        features, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="features"
    )
    if width is not None and X.shape[1] != width:
        raise ValueError(f"features has {X.shape[1]} columns; {width} are needed.")
    return X


def check_memory(members: Members, kernel: Any, n_components: int | None, max_gb: float) -> None:
    """Refuse a result that would not fit."""
    count = members.size.size
    need = 8.0 * count * (count if n_components is None else n_components) / 1e9
    if need <= max_gb:
        return
    remedies = ["take fewer clusters at a time"]
    if n_components is None:
        what = f"the exact products of {count:,} clusters"
        if has_features(kernel):
            remedies.append("use random features ({n_components})")
    else:
        what = f"{n_components:,} features of {count:,} clusters"
        if n_components > 2:
            remedies.append("take fewer features ({n_components.name})")
    raise MemoryLimitError(what, need, max_gb, remedies=remedies, n_components=_COMPONENTS)


def checked_lengths(square: np.ndarray, largest: np.ndarray, bandwidth: float | None) -> np.ndarray:
    """Return which clusters have a vector that is not zero; ``square`` are squared lengths."""
    if not np.isfinite(square).all() and bandwidth is None:
        raise ValueError(
            "kernel: a sum of kernel values over a cluster is not a finite number. Divide the "
            "values by the largest of them."
        )
    if not np.isfinite(square).all():
        raise ParameterError(
            "{bandwidth} is too small for these features: their ratio is not a finite number in "
            "single precision. Scale the features, or take a larger one.",
            bandwidth=bandwidth,
        )
    if (square < -1e-8 * largest).any():
        raise ValueError(
            "kernel: a sum of kernel values over a cluster is negative, so the kernel is not "
            "positive definite. Subtract its least eigenvalue from the diagonal, or take another."
        )
    return square > _ZERO * largest


def check_products(products: np.ndarray) -> None:
    """Refuse products of unit vectors beyond 1, which no positive definite kernel gives."""
    beyond = np.abs(products).max(initial=0.0)
    if beyond > 1.0 + 1e-6:
        raise ValueError(
            f"kernel: two clusters have a cosine of {beyond:.6g}, so the kernel is not positive "
            "definite. Subtract its least eigenvalue from the diagonal, or take another."
        )
