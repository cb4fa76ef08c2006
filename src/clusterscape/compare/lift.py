"""Distances between partitions whose clusters are points in a kernel's Hilbert space.

A cluster becomes the sum of its points' images under a kernel, of length one; a partition the set
of its clusters with their shares of the points. Partitions that differ only where points are close
to each other are then close, however many labels changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import sparse

from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import Choice, Flag, Rules
from clusterscape._core.seeds import RandomState
from clusterscape.compare.registry import Score, register_measure
from clusterscape.lifting.lifted import RULES as LIFT_RULES
from clusterscape.lifting.lifted import Kernel, Lifted, lift
from clusterscape.linalg.transport import transport_costs

Ground = Literal["euclidean", "sqeuclidean"]

# Squares below this share of the sums they are the difference of are computed again.
_CLOSE = 1e-6
_BLOCK_ELEMENTS = 2**20  # elements of a temporary block

RULES: Rules = {
    **{name: rule for name, rule in LIFT_RULES.items() if name not in ("noise", "n_jobs")},
    "normalize": [Flag()],
}
GROUND_RULE: Rules = {"ground": [Choice("euclidean", "sqeuclidean")]}
TEXTS = {
    "lifting": """features : (n, d) array, optional
    The points; sparse ones stay sparse. With ``kernel="precomputed"`` their (n, n) kernel matrix,
    with a callable kernel any sequence of n objects, with ``kernel="discrete"`` nothing.
kernel : {"gaussian", "laplacian", "cauchy", "discrete", "precomputed"} or callable
    What makes two points alike. The first three look at how far apart they are, "discrete" at
    whether they are the same point. A callable takes two sequences of objects and returns their
    kernel matrix. That one or a precomputed one is positive semidefinite is the caller's word: a
    kernel that is not is refused only where the lengths and cosines of clusters show it.
bandwidth : "median" or float
    The distance over which points stop being alike; the median distance in a sample of the points
    unless given.
n_components : "auto", int or None
    None sums kernel values exactly, in time that grows with n**2; a number is that of the random
    Fourier features that approximate them, in one pass over the points. "auto" is None up to 3000
    points and for kernels without such features.
error : float, optional
    Take as many random features as keep all kernel values within this error.
random_state : int, generator or None
    Seed of the random features and of the sample of points.
max_gb : float
    Refuse lifted clusters that would take more memory than this.""",
    "normalize": """normalize : bool
    Give every lifted cluster the length one, as the definition has it.""",
}
_PROPERTIES: dict[str, Any] = {
    "direction": "distance",
    "bounds": (0.0, float(np.sqrt(2.0))),
    "identity": 0.0,
    "metric": True,
}


def _emd(
    lifted: Lifted,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    ground: Ground,
    normalize: bool,
) -> np.ndarray:
    work = partial(_emd_block, ground == "sqeuclidean", normalize)
    return by_blocks(work, lifted, pairs, n_jobs=n_jobs, progress=progress)


def _emd_block(
    squared: bool, normalize: bool, lifted: Lifted, a: Side, b: Side, pairs: np.ndarray
) -> np.ndarray:
    costs = lifted.distances(a.clusters, b.clusters, normalize=normalize, squared=squared)
    return transport_costs(costs, (a.offsets, b.offsets), (a.mass, b.mass), pairs=pairs)


@register_measure(
    _emd,
    prepare=lift,
    rules={**RULES, **GROUND_RULE},
    texts=TEXTS,
    label="LiftEMD",
    reference="LiftEMD of Raman (2013), eq. (3.4.2)",
    **_PROPERTIES,
)
def lift_emd(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    error: float | None = None,
    random_state: RandomState = 0,
    max_gb: float = 4.0,
    ground: Ground = "euclidean",
    normalize: bool = True,
    noise: Literal["cluster", "drop"] = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Least work of moving the clusters of one partition onto those of the other, in space.

    Clusters are lifted into the kernel's space; the mass of each, its share of the points, is moved
    to clusters of the other partition, over the distance between them. The value is between 0 and
    sqrt 2 where the kernel is never negative; random features may pass sqrt 2 by their error.

    With the kernels "gaussian", "laplacian" and "cauchy", summed exactly, and a ground distance
    that is not squared it is a metric on the partitions of different points. Where points coincide
    it is a pseudo-metric: partitions that differ only in which of the equal points goes where have
    the distance 0. Clusters of a soft partition whose memberships are proportional count as one.
    What the bandwidth does not show is not seen: with one far larger than the data all clusters
    look alike, with one far smaller than the gaps between points only shared points count.

    Parameters
    ----------
    {partitions}
    {lifting}
    ground : {"euclidean", "sqeuclidean"}
        Cost of moving a unit of mass: the distance, or its square.
    {normalize}
        With ``kernel="discrete"``, ``normalize=False`` and ``ground="sqeuclidean"`` the value
        divided by n - 1 is at most the Rand distance, which is what moving every point from its
        cluster to its other cluster costs.
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    explain : Which clusters and points the distance comes from.
    lift_hausdorff : Only the worst matched cluster.
    lift_kernel : Without transport.
    clusterscape.lifting.lift : The lifted clusters.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27
    .. [2] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.compare import lift_emd, rand_distance
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> reference, near, far = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1]
    >>> rand_distance(reference, near) == rand_distance(reference, far)
    True
    >>> round(lift_emd(reference, near, X), 3), round(lift_emd(reference, far, X), 3)
    (0.261, 0.275)
    """


def _hausdorff(
    lifted: Lifted,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    normalize: bool,
) -> np.ndarray:
    work = partial(_hausdorff_block, normalize)
    return by_blocks(work, lifted, pairs, n_jobs=n_jobs, progress=progress)


def _hausdorff_block(
    normalize: bool, lifted: Lifted, a: Side, b: Side, pairs: np.ndarray
) -> np.ndarray:
    apart = lifted.distances(a.clusters, b.clusters, normalize=normalize)
    rows, cols = a.offsets[:-1], b.offsets[:-1]
    there = np.maximum.reduceat(np.minimum.reduceat(apart, cols, axis=1), rows, axis=0)
    back = np.maximum.reduceat(np.minimum.reduceat(apart, rows, axis=0), cols, axis=1)
    return np.maximum(there, back)[pairs[:, 0], pairs[:, 1]]


@register_measure(
    _hausdorff,
    prepare=lift,
    rules=RULES,
    texts=TEXTS,
    label="LiftH",
    reference="LiftH of Raman (2013), eq. (3.4.5)",
    **_PROPERTIES,
)
def lift_hausdorff(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    error: float | None = None,
    random_state: RandomState = 0,
    max_gb: float = 4.0,
    normalize: bool = True,
    noise: Literal["cluster", "drop"] = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Largest distance of a cluster to the nearest cluster of the other partition, in space.

    Sizes of clusters play no role, so one odd cluster of a single point decides the value: it says
    whether every cluster has a counterpart. The bounds are those of :func:`lift_emd`. A metric on
    hard partitions where :func:`lift_emd` is one; soft partitions whose clusters differ in size
    alone have the distance 0.

    Parameters
    ----------
    {partitions}
    {lifting}
    {normalize}
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    lift_emd : Least work of moving all clusters.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27
    .. [2] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.compare import lift_hausdorff
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> round(lift_hausdorff([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], X), 3)
    0.217
    """


def _kernel_distance(
    lifted: Lifted,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    normalize: bool,
) -> np.ndarray:
    # With K' = 1 - E the ones cancel, and what is left is accurate for clusters close together.
    work = partial(_away_block, normalize)
    used = np.unique(pairs)
    own = np.full(lifted.offsets.size - 1, np.nan)
    own[used] = by_blocks(work, lifted, np.column_stack([used, used]), n_jobs=n_jobs)
    cross = by_blocks(work, lifted, pairs, n_jobs=n_jobs, progress=progress)
    squared = 2.0 * cross - own[pairs[:, 0]] - own[pairs[:, 1]]
    close = np.flatnonzero(squared <= _CLOSE * cross)
    squared[close] = by_blocks(partial(_near_block, normalize), lifted, pairs[close], n_jobs=n_jobs)
    return np.sqrt(squared)


def _away_block(normalize: bool, lifted: Lifted, a: Side, b: Side, pairs: np.ndarray) -> np.ndarray:
    """Return the mean of 1 - K' over the clusters of each pair of partitions, by mass."""
    away = _away(lifted, a.clusters, b.clusters, normalize)
    away *= a.mass[:, None]
    away *= b.mass
    sums = np.add.reduceat(np.add.reduceat(away, b.offsets[:-1], axis=1), a.offsets[:-1], axis=0)
    return sums[pairs[:, 0], pairs[:, 1]]


def _away(lifted: Lifted, i: np.ndarray, j: np.ndarray, normalize: bool) -> np.ndarray:
    return -np.expm1(-lifted.distances(i, j, normalize=normalize, squared=True))


def _near_block(normalize: bool, lifted: Lifted, a: Side, b: Side, pairs: np.ndarray) -> np.ndarray:
    """Return the squared distances of nearly equal partitions from the masses that differ."""
    clusters, surplus = unlike_masses(lifted, a, b, pairs)
    away = _away(lifted, clusters, clusters, normalize)
    squared, counts = np.zeros(len(pairs)), np.diff(surplus.indptr)
    for count in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == count)
        for part in np.array_split(alike, -(-alike.size * count**2 // _BLOCK_ELEMENTS)):
            places = surplus.indptr[part][:, None] + np.arange(count)
            which, mass = surplus.indices[places], surplus.data[places]
            between = away[which[:, :, None], which[:, None, :]]
            squared[part] = -np.einsum("pi,pij,pj->p", mass, between, mass)
    return np.maximum(squared, 0.0) + 0.0  # the sum makes a negative zero a zero


@register_measure(
    _kernel_distance,
    prepare=lift,
    rules=RULES,
    texts=TEXTS,
    label="LiftKD",
    reference="LiftKD of Raman (2013), eq. (3.4.6)",
    **_PROPERTIES,
)
def lift_kernel(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    error: float | None = None,
    random_state: RandomState = 0,
    max_gb: float = 4.0,
    normalize: bool = True,
    noise: Literal["cluster", "drop"] = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Kernel distance between the two sets of lifted clusters: a second lifting, no transport.

    The masses p and q of the partitions' lifted clusters are compared by
    ``sqrt((p - q)' K' (p - q))`` with ``K'(v, w) = exp(-|v - w|^2)``. There is no plan to look at,
    and far moves cost little more than middling ones; in return it is a Euclidean distance, which
    can be averaged and embedded. A metric where :func:`lift_emd` is one, with the same bounds.

    Parameters
    ----------
    {partitions}
    {lifting}
    {normalize}
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    lift_emd : Least work of moving all clusters.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27
    .. [2] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.compare import lift_kernel
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> round(lift_kernel([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], X), 3)
    0.155
    """


# ---- all pairs, a block of partitions by a block of partitions at a time -------------------------

# Clusters of a block: the distances of two blocks take 2 MB, and their product is large enough
# for matrix multiplication to be at its best. Always the same, so that results are, too.
_BLOCK_CLUSTERS = 512


class Side(NamedTuple):
    """The partitions on one side of a block: their clusters, where each begins, and the masses."""

    clusters: np.ndarray
    offsets: np.ndarray
    mass: np.ndarray


# work(lifted, a, b, pairs): one value per pair of partitions of a and b.
BlockWork = Callable[[Lifted, Side, Side, np.ndarray], np.ndarray]


def by_blocks(
    work: BlockWork,
    lifted: Lifted,
    pairs: np.ndarray,
    *,
    n_jobs: int | None = None,
    progress: bool | None = False,
) -> np.ndarray:
    """Return the value that ``work`` finds for each of the pairs (m, 2); nan without clusters."""
    values = np.full(len(pairs), np.nan)
    starts = lifted.offsets[:-1]
    some = np.flatnonzero((np.diff(lifted.offsets)[pairs] > 0).all(axis=1))
    block = starts // _BLOCK_CLUSTERS
    number = block[pairs[some, 0]] * (int(block.max(initial=0)) + 1) + block[pairs[some, 1]]
    order = np.argsort(number, kind="stable")
    cuts = np.flatnonzero(np.diff(number[order])) + 1
    tasks = [some[part] for part in np.split(order, cuts) if part.size]
    one = partial(_one_block, work, lifted, pairs)
    found = parallel_map(one, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    for task, value in zip(tasks, found, strict=True):
        values[task] = value
    return values


def _one_block(work: BlockWork, lifted: Lifted, pairs: np.ndarray, task: np.ndarray) -> np.ndarray:
    left, rows = np.unique(pairs[task, 0], return_inverse=True)
    right, cols = np.unique(pairs[task, 1], return_inverse=True)
    local = np.column_stack([rows, cols])
    return work(lifted, _side(lifted, left), _side(lifted, right), local)


def _side(lifted: Lifted, partitions: np.ndarray) -> Side:
    clusters = np.concatenate([np.arange(*lifted.offsets[i : i + 2]) for i in partitions])
    sizes = lifted.offsets[partitions + 1] - lifted.offsets[partitions]
    return Side(clusters, np.concatenate([[0], np.cumsum(sizes)]), lifted.mass[clusters])


def unlike_masses(
    lifted: Lifted, a: Side, b: Side, pairs: np.ndarray
) -> tuple[np.ndarray, sparse.csr_matrix]:
    """Return the clusters in which pairs differ, and how much more mass the first ones have there.

    Clusters with the same members are one, so what both partitions of a pair have cancels exactly.
    """
    both = lifted.same[np.concatenate([a.clusters, b.clusters])]
    clusters, column = np.unique(both, return_inverse=True)
    tables = []
    for side, columns in zip((a, b), np.split(column, [a.clusters.size]), strict=True):
        shape = (side.offsets.size - 1, clusters.size)
        tables.append(sparse.csr_matrix((side.mass, columns, side.offsets), shape=shape))
        tables[-1].sum_duplicates()
    surplus = tables[0][pairs[:, 0]] - tables[1][pairs[:, 1]]
    surplus.eliminate_zeros()
    used, surplus.indices = np.unique(surplus.indices, return_inverse=True)
    return clusters[used], surplus
