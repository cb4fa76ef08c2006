"""Clusters as vectors of a kernel's Hilbert space: one pass lifts all clusters of all partitions.

A cluster becomes the sum of its points' feature vectors, Phi(C) = sum_x w(x) p(C|x) Phi(x), of
which the direction says where the cluster lies and the length how large it is.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from clusterscape._core import seeds as _seeds
from clusterscape._core.params import Integer, Number, checked
from clusterscape.lifting import checks as checks
from clusterscape.lifting.exact import PointKernel, discrete_gram, kernel_gram
from clusterscape.lifting.fourier import FourierMap, fourier_map
from clusterscape.lifting.members import Members, members_of
from clusterscape.lifting.result import Kernel, Lifted
from clusterscape.linalg.distances import median_distance

__all__ = ["Kernel", "Lifted", "components_for_error", "lift"]

_EXACT_BELOW = 3000  # points up to which "auto" takes exact kernel sums
_COMPONENTS = 1000
_SAMPLE = 1000  # points whose distances tell the bandwidth


@checked(
    {
        "error": [Number(0, open_low=True)],
        "n_points": [Integer(1)],
        "failure": [Number(0, 1, open_low=True)],
    }
)
def components_for_error(error: float, n_points: int, *, failure: float = 0.01) -> int:
    """Return how many random features hold the error of every kernel value under a bound.

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

    Examples
    --------
    >>> from clusterscape.lifting import components_for_error
    >>> components_for_error(0.1, 1000)
    7368
    """
    pairs = n_points * (n_points - 1)
    if pairs == 0:
        return 2
    return 2 * max(1, math.ceil(2.0 / max(error, 1e-100) ** 2 * math.log(pairs / failure)))


@checked(checks.RULES)
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
    weight, or whose vector is zero, are left out. The kernel sees what its bandwidth shows it: with
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
    if not all(hasattr(ensemble, name) for name in ("labels", "soft", "sample_weight")):
        raise TypeError(
            f"ensemble must be an Ensemble; got {type(ensemble).__name__}. Make one with "
            "Ensemble.from_labels."
        )
    checks.check_choice(kernel, bandwidth, n_components, error)
    n = int(ensemble.labels.shape[0])
    points = checks.checked_features(features, kernel, n)
    rho = _components(kernel, n_components, error, n)
    sample, draw = (np.random.default_rng(s) for s in _seeds.spawn(random_state, 2))
    scale = _scale(points, kernel, bandwidth, sample, ensemble.sample_weight)
    members = members_of(ensemble, noise)
    checks.check_room(members, kernel, rho, max_gb)
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
    kept = checks.checked_lengths(square, largest, scale)
    norms = np.sqrt(np.where(kept, square, 1.0))
    table /= norms[:, None]
    if rho is None:
        table /= norms
        checks.check_products(table[np.ix_(kept, kept)])
        np.clip(table, -1.0, 1.0, out=table)
        np.fill_diagonal(table, 1.0)
    return _assembled(members, table, norms, kept, (kernel, scale, rho, how))


def _components(kernel: Any, asked: Any, error: float | None, n: int) -> int | None:
    """Return the number of random features, or None for exact sums."""
    if asked != "auto":
        return None if asked is None else int(asked)
    if n <= _EXACT_BELOW or not checks.has_features(kernel):
        return None
    return _COMPONENTS if error is None else components_for_error(error, n)


def _scale(
    points: Any,
    kernel: Any,
    bandwidth: str | float,
    rng: np.random.Generator,
    weights: np.ndarray,
) -> float | None:
    """Return the bandwidth of a kernel that has one."""
    if not checks.has_features(kernel):
        return None
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    metric = "manhattan" if kernel == "laplacian" else "euclidean"
    some = None if (weights == 1.0).all() else weights
    return median_distance(points, rng, sample=_SAMPLE, metric=metric, weights=some, apart=True)


def _largest(members: Members, diagonal: np.ndarray | None) -> np.ndarray:
    """Return the largest squared length that a cluster could have, all its points being alike."""
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
    # The discrete kernel counts a weight once, the others once for each of the two points.
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
