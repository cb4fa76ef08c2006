"""Normalised cuts of a similarity graph: k-way by embedding, recursive by bipartition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import aslinearoperator

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Choice, Integer, checked, shown
from clusterscape._core.weights import checked_weights
from clusterscape.linalg._bipartition import (
    Candidate,
    Cut,
    Order,
    degrees,
    next_part,
    without_first,
)
from clusterscape.linalg._extension import (
    LEAST_EIGENVALUE,
    Extension,
    NearestRow,
    SplitTree,
    checked_similarities,
    embedded_rows,
)
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.operators import checked_operator

# An eigenvalue that misses 1 by less than this is as good as 1: without the floor, rounding would
# make enormous ratios of two gaps that are both nothing.
_FLOOR = 0.02
_TOGETHER = 16  # clusters whose links are summed at a time


@dataclass(frozen=True)
class Split:
    """One bipartition of :func:`recursive_ncut`.

    Attributes
    ----------
    part : int
        Label of the part that was split; one side keeps it, the other gets the next free one.
    value : float
        Normalised cut of the two sides within the part, in [0, 2].
    eigenvalue : float
        Second smallest of the part's normalised Laplacian; 0 where a component was split off.
    sizes : (float, float)
        Weight of the side that keeps the label, and of the other.

    See Also
    --------
    recursive_ncut : Makes them.
    """

    part: int
    value: float
    eigenvalue: float
    sizes: tuple[float, float]


@dataclass(frozen=True)
class NcutResult:
    """A partition of a graph.

    Attributes
    ----------
    labels : (n,) array
        Cluster of each point, 0..k-1; k is less than asked where no more can be separated.
    value : float
        Normalised cut of all clusters: the sum of their links to others over their degree.
    eigenvalues : array
        k-way: the leading eigenvalues of the normalised similarity; recursive: none.
    splits : tuple of Split
        Recursive: the bipartitions in the order in which they were made; k-way: none.

    See Also
    --------
    kway_ncut, recursive_ncut : Make one.
    """

    labels: np.ndarray
    value: float
    eigenvalues: np.ndarray
    splits: tuple[Split, ...] = ()
    _extension: Extension | None = field(default=None, repr=False, compare=False)

    def extend(self, similarities: Any) -> np.ndarray:
        """Return the clusters of points that were not in the graph.

        An eigenvector y of the normalised cut, with eigenvalue ``1 - mu`` of the Laplacian, has
        ``y(x) = sum_j A(x, j) w_j y_j / (mu d(x))`` at its own points, and takes this value at any
        other. A new point goes down the splits by the sign of its value (or its side of the best
        cut); where a component was split off, to the side with the larger similarity over degree;
        after :func:`kway_ncut` to the nearest centre of the embedding. A fitted point's own row
        gives its own cluster, save where ``mu`` is zero: there the component's rule is used. Far
        from all points the values are unreliable, but a label is given.

        Parameters
        ----------
        similarities : (m, n) array or sparse matrix
            Of m new points to the n points of the graph, >= 0.

        Returns
        -------
        (m,) array
            As in ``labels``.

        Examples
        --------
        >>> import numpy as np
        >>> from clusterscape.linalg import recursive_ncut
        >>> A = np.kron(np.eye(2), np.ones((2, 2))) + 0.1
        >>> found = recursive_ncut(A, 2)
        >>> found.extend([[0.9, 0.8, 0.1, 0.0]]) == found.labels[0]
        array([ True])
        """
        rows = checked_similarities(similarities, self.labels.size)
        if self._extension is None:
            raise ValueError("this result was not made by a cut, so nothing can be extended.")
        return self._extension.labels(rows)


@checked(
    {
        "n_clusters": [Integer(1)],
        "rows": [Choice("unit", "degree")],
        "n_init": [Integer(1)],
        "seed": [Integer(0)],
    }
)
def kway_ncut(
    operator: Any,
    n_clusters: int,
    *,
    weights: ArrayLike | None = None,
    rows: Literal["unit", "degree"] = "unit",
    n_init: int = 10,
    seed: int = 0,
) -> NcutResult:
    """Cut a graph into k clusters: leading eigenvectors of D^-1/2 A D^-1/2, then k-means.

    k-means on the embedding is a relaxation, without a bound on the cut it gives; clusters of very
    different density, or more of them than eigenvalues near 1, are cut through.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        Symmetric similarities >= 0.
    n_clusters : int
        Clusters, at most the number of points.
    weights : (n,) array, optional
        Number of points that each row represents; the result is that of the copies.
    rows : {"unit", "degree"}
        Rows of the embedding at unit length (Ng, Jordan, Weiss), or divided by the root of the
        degree and weighted by it (the generalised eigenvectors of Shi and Malik).
    n_init : int
        Starts of k-means.
    seed : int
        Of the eigen-solver and of k-means.

    Returns
    -------
    NcutResult

    See Also
    --------
    recursive_ncut : By repeated bipartition.

    References
    ----------
    .. [1] J. Shi and J. Malik. Normalized cuts and image segmentation. IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22(8), 888-905, 2000. doi:10.1109/34.868688
    .. [2] A. Y. Ng, M. I. Jordan and Y. Weiss. On spectral clustering: analysis and an algorithm.
       Advances in Neural Information Processing Systems 14, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import kway_ncut
    >>> A = np.kron(np.eye(2), np.ones((2, 2))) + 0.1
    >>> labels = kway_ncut(A, 2).labels
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """
    operator = checked_operator(operator, "operator")
    weight, _ = _in_range(_checked_weight(weights, operator.shape[0], n_clusters))
    degree = degrees(operator, weight)
    rest, first = without_first(operator, weight, degree)
    eigenvalues, vectors = np.array([1.0 if degree.any() else 0.0]), first
    if n_clusters > 1:
        found = symmetric_eigen(rest, n_clusters - 1, seed=seed)
        eigenvalues = np.append(eigenvalues, found.values)
        vectors = np.hstack([first, found.vectors])
    # Eigenvectors of the value zero are any vectors, and say nothing of the graph.
    used = np.abs(eigenvalues) > LEAST_EIGENVALUE
    used[0] = True
    root = np.sqrt(np.divide(weight, degree, out=np.zeros_like(degree), where=degree > 0))[:, None]
    values = np.where(eigenvalues == 0, 1.0, eigenvalues)[used]
    pull = root * vectors[:, used] / values
    points = embedded_rows(aslinearoperator(operator) @ pull, degree, unit=rows == "unit")
    mass = weight * degree if rows == "degree" else weight
    grouped = kmeans(points, n_clusters, n_init=n_init, tol=0.0, sample_weight=mass, seed=seed)
    extension = NearestRow(pull, weight, grouped.centers, rows == "unit")
    value = ncut_value(operator, grouped.labels, weights=weight)
    return NcutResult(grouped.labels, value, eigenvalues, _extension=extension)


@checked(
    {
        "n_clusters": [Integer(1)],
        "cut": [Choice("sign", "best")],
        "order": [Choice("best", "largest")],
        "seed": [Integer(0)],
    }
)
def recursive_ncut(
    operator: Any,
    n_clusters: int,
    *,
    weights: ArrayLike | None = None,
    cut: Cut = "sign",
    order: Order = "best",
    seed: int = 0,
) -> NcutResult:
    """Cut a graph in two, again and again, by the second eigenvector of each part's Laplacian.

    A part that is not connected is cut at no cost: the component of its heaviest point is split
    off. A single point, or points that are all equally similar, cannot be split; then the next
    part is, and fewer clusters than asked come back if no part can. A bad first cut is never
    repaired; ``cut="sign"`` cuts through a big cluster beside small ones.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        Symmetric similarities >= 0. A :class:`ThresholdedCoassociation`, arrays and sparse matrices
        are restricted to a part; other operators are applied to the part padded with zeros.
    n_clusters : int
        Clusters, at most the number of points.
    weights : (n,) array, optional
        Number of points that each row represents.
    cut : {"sign", "best"}
        Split by the sign of the eigenvector, or where the normalised cut is least along it (Shi
        and Malik's sweep, here over all places; it needs the entries, O(n) products for a general
        operator).
    order : {"best", "largest"}
        Which part is split next: the one with the least normalised cut, which may split off single
        points that are like no other; or the heaviest, which cuts through a large pure cluster.
    seed : int
        Of the eigen-solver.

    Returns
    -------
    NcutResult

    See Also
    --------
    kway_ncut : All clusters at once.

    References
    ----------
    .. [1] J. Shi and J. Malik. Normalized cuts and image segmentation. IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22(8), 888-905, 2000. doi:10.1109/34.868688

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import recursive_ncut
    >>> A = np.kron(np.eye(3), np.ones((2, 2))) + 0.01
    >>> found = recursive_ncut(A, 3)
    >>> len(np.unique(found.labels)), [round(split.value, 2) for split in found.splits]
    (3, [0.03, 0.02])
    """
    operator = checked_operator(operator, "operator")
    weight, unit = _in_range(_checked_weight(weights, operator.shape[0], n_clusters))
    parts = {0: np.arange(weight.size)}
    known: dict[int, Candidate | None] = {}
    splits: list[Split] = []
    sums: list[np.ndarray] = []
    strict: list[bool] = []
    while len(parts) < n_clusters:
        chosen = next_part(operator, weight, parts, known, cut=cut, order=order, seed=seed)
        if chosen is None:
            break
        part, candidate = chosen
        points, inside = parts[part], candidate.side
        parts[part], parts[len(parts)] = points[inside], points[~inside]
        known.pop(part)
        sizes = [unit * float(weight[points[side]].sum()) for side in (inside, ~inside)]
        splits.append(Split(part, candidate.value, candidate.eigenvalue, (sizes[0], sizes[1])))
        sums.append(np.zeros(weight.size))
        sums[-1][points] = candidate.sums
        strict.append(candidate.strict)
    labels = np.empty(weight.size, dtype=np.int32)
    for part, points in parts.items():
        labels[points] = part
    value = ncut_value(operator, labels, weights=weight)
    columns = np.column_stack(sums) if sums else np.empty((weight.size, 0))
    tree = SplitTree(columns, tuple(split.part for split in splits), tuple(strict))
    return NcutResult(labels, value, np.empty(0), tuple(splits), tree)


def ncut_value(operator: Any, labels: ArrayLike, *, weights: ArrayLike | None = None) -> float:
    """Return the normalised cut of a partition: links to other clusters over degrees, summed.

    Parameters
    ----------
    operator : LinearOperator, array or sparse matrix
        Symmetric similarities >= 0.
    labels : (n,) array
        Clusters; negative ones are in no cluster but count in the degrees.
    weights : (n,) array, optional
        Number of points that each row represents.

    Returns
    -------
    float
        In [0, k]; a cluster without any similarity counts 0.

    See Also
    --------
    kway_ncut : A partition with a small value.

    References
    ----------
    .. [1] J. Shi and J. Malik. Normalized cuts and image segmentation. IEEE Transactions on Pattern
       Analysis and Machine Intelligence 22(8), 888-905, 2000. doi:10.1109/34.868688

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import ncut_value
    >>> ncut_value(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]]), [0, 0, 1])
    0.7
    """
    groups = np.asarray(labels)
    operator = checked_operator(operator, "operator")
    weight, _ = _in_range(_checked_weight(weights, operator.shape[0], 1))
    if groups.shape != weight.shape:
        raise ValueError(f"labels has shape {groups.shape}, but the graph {weight.size} points.")
    total = 0.0
    A = aslinearoperator(operator)
    found = np.unique(groups[groups >= 0])
    degree: np.ndarray | None = None
    for at in range(0, found.size, _TOGETHER):
        inside = np.where(groups[:, None] == found[at : at + _TOGETHER], weight[:, None], 0.0)
        block = inside if degree is not None else np.column_stack([inside, weight])
        links = A @ block
        degree = links[:, -1] if degree is None else degree
        volume = degree @ inside
        cut = volume - np.einsum("xg,xg->g", inside, links[:, : inside.shape[1]])
        total += float(np.divide(cut, volume, out=np.zeros_like(cut), where=volume > 0).sum())
    return total


def log_gaps(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the eigengaps on the scale of relaxation times.

    The gap for k clusters is ``log((1 - v[k] + f) / (1 - v[k-1] + f))`` with a small floor f. A
    random walk on the graph leaves a group at the rate ``1 - v``, so a large gap says that
    k groups are left much more slowly than anything finer.

    Parameters
    ----------
    eigenvalues : (m,) array
        In [0, 1], the largest first.

    Returns
    -------
    (m - 1,) array
        Entry k - 1 is the gap for k clusters.

    See Also
    --------
    eigengap : The choice of a number of clusters.

    References
    ----------
    .. [1] U. von Luxburg. A tutorial on spectral clustering. Statistics and Computing 17, 395-416,
       2007. doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import log_gaps
    >>> log_gaps(np.array([1.0, 0.9, 0.1])).round(2)
    array([1.79, 2.04])
    """
    rate = np.maximum(1.0 - _spectrum(eigenvalues), 0.0) + _FLOOR
    return np.log(rate[1:] / rate[:-1])


def _spectrum(eigenvalues: ArrayLike) -> np.ndarray:
    """Return eigenvalues as a vector of finite numbers, or refuse them."""
    try:
        values = np.asarray(eigenvalues, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError(
            f"eigenvalues must be a vector of finite numbers; got {shown(eigenvalues)}."
        )
    return values


@checked({"max_clusters": [Integer(1)], "min_clusters": [Integer(1)]})
def eigengap(
    eigenvalues: ArrayLike, *, max_clusters: int = 20, min_clusters: int = 2
) -> tuple[int, np.ndarray]:
    """Choose a number of clusters by the largest gap in a normalised similarity's spectrum.

    It always finds something: eigenvalues do not distinguish one cluster from several blurred ones.

    Parameters
    ----------
    eigenvalues : array
        The largest ones, ``max_clusters + 1`` of them, or all there are.
    max_clusters, min_clusters : int
        The choice lies between these; it is 1 when there is one eigenvalue above zero.

    Returns
    -------
    n_clusters : int
        The choice.
    gaps : array
        Entry k - 1 is the gap for k clusters; see :func:`log_gaps`.

    See Also
    --------
    log_gaps : The gaps.

    References
    ----------
    .. [1] U. von Luxburg. A tutorial on spectral clustering. Statistics and Computing 17, 395-416,
       2007. doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> from clusterscape.linalg import eigengap
    >>> eigengap([1.0, 0.98, 0.9, 0.2, 0.1], max_clusters=4)[0]
    3
    """
    values = np.clip(_spectrum(eigenvalues)[: max_clusters + 1], 0.0, 1.0)
    if values.size <= max_clusters:  # the rest of the spectrum is zero: nothing is left out
        values = np.append(values, 0.0)
    gaps = log_gaps(values)
    most = int((values[:-1] > 1e-8).sum())  # an eigenvalue of zero is not a group
    least = min(min_clusters, most)
    return least + int(np.argmax(gaps[least - 1 : most])), gaps


def _checked_weight(weights: ArrayLike | None, n: int, n_clusters: int) -> np.ndarray:
    if n_clusters > n:
        raise ParameterError(
            f"{{n_clusters}} is more than the {n} points of the graph.", n_clusters=n_clusters
        )
    return checked_weights(weights, n, name="weights", positive=True)


def _in_range(weight: np.ndarray) -> tuple[np.ndarray, float]:
    """Return weights whose products with degrees are numbers, and their unit.

    A cut has the same value in any unit. A weight that is less than 1e-50 of the largest counts as
    that much.
    """
    largest = float(weight.max())
    if 1e-50 < largest < 1e50 and weight.min() >= 1e-50 * largest:
        return weight, 1.0
    unit = float(np.ldexp(1.0, int(np.frexp(largest)[1]) - 1))
    return np.maximum(weight / unit, 1e-50), unit
