"""Measures that use the points' coordinates: CC distance, CDistance and D_ADCO.

Each of the three is a section: what it prepares once for all pairs, its formula, and the public
function. The last section has what they share: clusters as distributions over the points, and
distances between points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array

from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import Choice, Integer
from clusterscape._core.rows import slices
from clusterscape.compare.registry import Score, register_measure
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.distances import squared_distances
from clusterscape.linalg.transport import transport_costs, transport_plan

Policy = Literal["cluster", "drop"]

# Squared distances that are smaller than this have lost digits, or all, to underflow.
_UNDERFLOW = 1e-280
_BLOCK_ELEMENTS = 1 << 22  # elements of a temporary block
_RUN = 16  # pairs of clusters, or of partitions, that make a task
_MAX_GB = 4.0  # of the histograms of adco


# ---- CC distance: transport between centroids, or between memberships --------------------------


@dataclass(frozen=True, eq=False)
class _Centers:
    """Centroids of the clusters, in the order of the partitions, in units of 2**exponent."""

    offsets: np.ndarray
    mass: np.ndarray
    centers: Any
    exponent: int


@dataclass(frozen=True, eq=False)
class _Memberships:
    """Partitions whose points have no weights, and the weights, which come in with the sums."""

    plain: Ensemble
    weights: np.ndarray
    noise: str


def _cc_prepared(
    ensemble: Ensemble,
    features: Any,
    *,
    noise: str,
    n_jobs: int | None,
    form: Literal["centroid", "membership"],
) -> _Centers | _Memberships:
    """Return the centroids, or what the membership form reads."""
    if form == "membership":
        plain = ensemble.with_weights(sample_weight=np.ones(ensemble.n_points))
        return _Memberships(plain, ensemble.sample_weight, noise)
    X = _checked_points(features, ensemble, "cc_distance")
    X, exponent = _in_units(X, _seen_points(ensemble, noise))
    mass, centers = [], []
    for table in _clusters_of(ensemble, noise):
        scale = 1.0 / np.asarray(table.sum(axis=0), dtype=np.float64).reshape(-1, 1)
        sums = table.T @ X
        mass.append(_masses_of(table))
        centers.append(sums.multiply(scale) if sparse.issparse(X) else sums * scale)
    joined = sparse.vstack(centers, format="csr") if sparse.issparse(X) else np.vstack(centers)
    offsets = np.concatenate([[0], np.cumsum([m.size for m in mass])])
    return _Centers(offsets, np.concatenate(mass), joined, exponent)


def _cc_distances(
    prepared: _Centers | _Memberships,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    masses: Literal["size", "uniform"],
    ground: Literal["euclidean", "sqeuclidean"],
) -> np.ndarray:
    """Return the CC distance of each of the pairs."""
    tasks: Any
    if isinstance(prepared, _Centers):
        tasks = _groups(pairs)
        work: Any = partial(_cc_centroids, prepared, pairs, masses, ground == "sqeuclidean")
    else:
        if ground != "euclidean":
            raise ValueError(
                f"cc_distance: ground={ground!r} is a distance of centroids and has no meaning for "
                "form='membership'; leave it out."
            )
        tasks = _runs(len(pairs))
        work = partial(_cc_memberships, prepared, pairs, masses)
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    values = np.empty(len(pairs))
    for number, task in enumerate(tasks):
        values[task] = found[number]
    if isinstance(prepared, _Centers):
        return _in_the_features_unit(values, prepared.exponent, ground)
    return values


def _in_the_features_unit(values: np.ndarray, exponent: int, ground: str) -> np.ndarray:
    """Return the distances scaled back, unless that is no floating-point number."""
    with np.errstate(over="ignore", under="ignore"):
        found: np.ndarray = np.ldexp(values, exponent if ground == "euclidean" else 2 * exponent)
    if np.isinf(found).any() or ((found == 0) & (values > 0)).any():
        remedy = "" if ground == "euclidean" else ", or take ground='euclidean'"
        raise ValueError(
            "cc_distance: the distance is beyond what floating-point numbers hold, since features "
            f"has values of about 2**{exponent}. Divide features by a number of that size{remedy}."
        )
    return found


def _cc_centroids(
    prepared: _Centers, pairs: np.ndarray, masses: str, squared: bool, task: np.ndarray
) -> np.ndarray:
    """Return the distances of one partition from several."""
    offsets = prepared.offsets
    others, place = np.unique(pairs[task, 1], return_inverse=True)
    sides = []
    for partitions in ([pairs[task[0], 0]], others):
        rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in partitions])
        sizes = offsets[np.add(partitions, 1)] - offsets[partitions]
        even = np.repeat(1.0 / np.maximum(sizes, 1), sizes)
        mass = prepared.mass[rows] if masses == "size" else even
        sides.append((prepared.centers[rows], np.concatenate([[0], np.cumsum(sizes)]), mass))
    (left, *one), (right, *many) = sides
    costs = _row_distances(left, right, squared=squared)
    chosen = np.column_stack([np.zeros_like(place), place])
    return transport_costs(costs, (one[0], many[0]), (one[1], many[1]), pairs=chosen)


def _cc_memberships(
    prepared: _Memberships, pairs: np.ndarray, masses: str, task: slice
) -> list[float]:
    """Return the distances of some pairs, each on the points that both partitions count."""
    lowest = NOISE if prepared.noise == "drop" else UNSAMPLED
    values = []
    for pair in pairs[task]:
        two = prepared.plain.select(pair)
        weights = np.where((two.labels > lowest).all(axis=1), prepared.weights, 0.0)
        sides, sizes = [], []
        for table in _clusters_of(two, prepared.noise):
            size = table.T @ weights
            sides.append(table[:, np.flatnonzero(size > 0)])
            sizes.append(size[size > 0])
        if not all(size.size for size in sizes):
            values.append(np.nan)
            continue
        common = _shared_weight(sides[0], sides[1], weights)
        apart = sizes[0][:, None] + sizes[1] - 2.0 * common
        shares = [size if masses == "size" else np.ones(size.size) for size in sizes]
        mass = [share / share.sum() for share in shares]
        values.append(transport_plan(np.maximum(apart, 0.0), *mass).cost)
    return values


@register_measure(
    _cc_distances,
    prepare=_cc_prepared,
    rules={
        "form": [Choice("centroid", "membership")],
        "masses": [Choice("size", "uniform")],
        "ground": [Choice("euclidean", "sqeuclidean")],
    },
    label="CC distance",
    reference="Zhou, Li & Zha (2005)",
    direction="distance",
    bounds=(0.0, np.inf),
    identity=0.0,
)
def cc_distance(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    form: Literal["centroid", "membership"] = "centroid",
    masses: Literal["size", "uniform"] = "size",
    ground: Literal["euclidean", "sqeuclidean"] = "euclidean",
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Least work of moving the centroids of one partition onto those of the other.

    Fails where a centroid does not describe its cluster: rings around one centre have one centroid,
    so different partitions can have the distance 0, and the extent of a cluster is ignored. With
    the Euclidean ground distance it obeys the triangle inequality: a pseudo-metric. The value has
    the unit of the features, so scale them first. The form "membership" reads no features.

    Parameters
    ----------
    {partitions}
    features : (n, d) array or sparse matrix
        The points. Not read, and not needed, with ``form="membership"``.
    form : {"centroid", "membership"}
        The cost of moving a unit of mass between two clusters: the distance of their centroids, or
        the difference of their memberships summed over the points that both partitions saw, which
        for hard partitions is the number of points in one of the clusters only.
    masses : {"size", "uniform"}
        Mass of a cluster: its share of the points, or the same for all clusters.
    ground : {"euclidean", "sqeuclidean"}
        Distance of centroids, or its square.
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    lift_emd : Sees the shape of clusters.

    References
    ----------
    .. [1] D. Zhou, J. Li and H. Zha. A new Mallows distance based metric for comparing clusterings.
       International Conference on Machine Learning, 1028-1035, 2005.
       doi:10.1145/1102351.1102481

    Examples
    --------
    >>> from clusterscape.compare import cc_distance
    >>> X = [[0.0], [1.0], [4.0], [5.0]]
    >>> cc_distance([0, 0, 1, 1], [0, 0, 1, 2], X)
    0.25
    >>> cc_distance([0, 0, 1, 1], [0, 0, 1, 2], form="membership")
    0.5
    """


# ---- CDistance: transport between clusters at the transport distances of their points ----------


@dataclass(frozen=True, eq=False)
class _PointSets:
    """Clusters as distributions over points; ``same`` numbers them, equal ones alike."""

    points: Any
    offsets: np.ndarray
    mass: np.ndarray
    same: np.ndarray
    members: list[tuple[np.ndarray, np.ndarray]]


def _point_sets(
    ensemble: Ensemble,
    features: Any,
    *,
    noise: str,
    n_jobs: int | None,
    max_points: int,
) -> _PointSets:
    """Return the distinct clusters of all partitions; refuse too many points."""
    X = _checked_points(features, ensemble, "cdistance")
    if ensemble.n_points > max_points:
        raise ValueError(
            "cdistance moves points one by one, in time that grows with the cube of their number, "
            f"and there are {ensemble.n_points:,}, more than max_points={max_points:,}. Compare a "
            "subsample of the points, take lift_emd, which is made for many points, or raise "
            "max_points."
        )
    X, _ = _in_units(X, _seen_points(ensemble, noise))  # a ratio has no unit
    sizes, mass, same = [0], [], []
    members: list[tuple[np.ndarray, np.ndarray]] = []
    numbers: dict[bytes, int] = {}
    for table in _clusters_of(ensemble, noise):
        sizes.append(table.shape[1])
        mass.append(_masses_of(table))
        for key, (points, weights) in zip(_keys_of(table), _members_of(table), strict=True):
            if key not in numbers:
                numbers[key] = len(members)
                members.append((points, weights / weights.sum()))
            same.append(numbers[key])
    return _PointSets(X, np.cumsum(sizes), np.concatenate(mass), np.array(same, int), members)


def _cdistances(
    prepared: _PointSets, pairs: np.ndarray, *, n_jobs: int | None, progress: bool | None
) -> np.ndarray:
    """Return CDistance of each of the pairs."""
    width = len(prepared.members)
    grids = []
    for i, j in pairs:
        left, right = (prepared.same[slice(*prepared.offsets[p : p + 2])] for p in (i, j))
        low, high = (f(left[:, None], right[None, :]) for f in (np.minimum, np.maximum))
        grids.append(low.astype(np.int64) * width + high)
    # Clusters that several partitions have are compared once.
    wanted = np.unique(np.concatenate([grid.ravel() for grid in grids]))
    tasks = [np.column_stack(np.divmod(wanted[run], width)) for run in _runs(wanted.size)]
    work = partial(_cluster_distances, prepared)
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    known = np.array([value for values in found for value in values])
    values = np.full(len(pairs), np.nan)
    for p, ((i, j), grid) in enumerate(zip(pairs, grids, strict=True)):
        if grid.size:
            costs = known[np.searchsorted(wanted, grid)]
            a, b = (prepared.mass[slice(*prepared.offsets[q : q + 2])] for q in (i, j))
            naive = float(a @ costs @ b)
            values[p] = min(transport_plan(costs, a, b).cost / naive, 1.0) if naive > 0 else 0.0
    return values


def _cluster_distances(prepared: _PointSets, pairs: np.ndarray) -> list[float]:
    return [_cluster_distance(prepared, int(i), int(j)) for i, j in pairs]


def _cluster_distance(prepared: _PointSets, i: int, j: int) -> float:
    """Return the transport distance between the points of two clusters."""
    if i == j:
        return 0.0
    (left, a), (right, b) = prepared.members[i], prepared.members[j]
    # The distance is a metric, so that mass which both have at a point may stay there.
    _, rows, columns = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    stays = np.minimum(a[rows], b[columns])
    a, b = a.copy(), b.copy()
    a[rows] -= stays
    b[columns] -= stays
    kept = [np.flatnonzero(side > 1e-15) for side in (a, b)]
    a, b = a[kept[0]], b[kept[1]]
    if not (a.size and b.size):
        return 0.0
    costs = _row_distances(prepared.points[left[kept[0]]], prepared.points[right[kept[1]]])
    return transport_plan(costs, a, b * (a.sum() / b.sum())).cost


@register_measure(
    _cdistances,
    prepare=_point_sets,
    rules={"max_points": [Integer(1)]},
    label="CDistance",
    reference="Coen, Ansari & Fillmore (2010)",
    direction="distance",
    bounds=(0.0, 1.0),
    identity=0.0,
)
def cdistance(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    max_points: int = 5000,
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Transport between partitions, with transport between the clusters' points as the distance.

    First the transport distance between the points of every two clusters, then the cost of moving
    the clusters of one partition onto those of the other, divided by what it costs to divide every
    cluster among all others in proportion to their sizes. Between 0 and 1; 0 only for equal
    partitions where no points coincide. No metric: the ratio breaks the triangle inequality. Exact
    and slow: the time grows with up to the cube of the number of points, about a second for 2,000
    and five for 5,000 in ten clusters; for more use :func:`lift_emd`. Uninformative for a
    partition into one cluster: every other one is at distance 1 from it.

    Parameters
    ----------
    {partitions}
    features : (n, d) array or sparse matrix
        The points.
    max_points : int
        Refuse more points than this.
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    lift_emd : For many points.

    References
    ----------
    .. [1] M. H. Coen, M. H. Ansari and N. Fillmore. Comparing clusterings in space. International
       Conference on Machine Learning, 231-238, 2010.

    Examples
    --------
    >>> from clusterscape.compare import cdistance
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> reference, near, far = [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 0, 0, 1, 1, 1]
    >>> round(cdistance(reference, near, X), 3), round(cdistance(reference, far, X), 3)
    (0.5, 0.562)
    """


# ---- D_ADCO: histograms of the clusters, matched one to one ------------------------------------


@dataclass(frozen=True, eq=False)
class _Histograms:
    """Of each partition, the histograms of its clusters (one row each) and the clusters' keys."""

    vectors: list[np.ndarray]
    keys: list[tuple[bytes, ...]]


def _histograms(
    ensemble: Ensemble, features: Any, *, noise: str, n_jobs: int | None, n_bins: int
) -> _Histograms:
    """Return the histograms of all clusters, over the range of each feature."""
    remedy = "it counts points in the bins of every column. Reduce them to few columns first."
    X = _checked_points(features, ensemble, "adco", remedy=remedy)
    n, d = X.shape
    _check_memory(ensemble, d, n_bins)
    # Points that no partition has, and those without weight, shape no bin.
    seen = _seen_points(ensemble, noise)
    X = np.where(seen[:, None], X, X[np.argmax(seen)])
    X = np.ldexp(X, -_exponent_of(X, axis=0))
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    share = (X - low) / np.where(width > 0, width, 1.0)
    bins = np.minimum((share * n_bins).astype(np.int64), n_bins - 1)
    columns = (bins + n_bins * np.arange(d)).ravel()
    entries = (np.ones(n * d), columns, np.arange(0, n * d + 1, d))
    table = sparse.csr_matrix(entries, shape=(n, n_bins * d))
    vectors, keys = [], []
    for clusters in _clusters_of(ensemble, noise):
        total = clusters.sum()
        vectors.append((clusters.T @ table).toarray() / (total if total > 0 else 1.0))
        keys.append(tuple(sorted(_keys_of(clusters))))
    return _Histograms(vectors, keys)


def _check_memory(ensemble: Ensemble, d: int, n_bins: int) -> None:
    clusters = int(ensemble.n_clusters.sum()) + ensemble.n_partitions  # and noise
    need = 8e-9 * clusters * d * n_bins
    if need > _MAX_GB:
        raise MemoryLimitError(
            f"adco: {n_bins:,} bins of {d:,} columns for {clusters:,} clusters",
            need,
            _MAX_GB,
            parameter=None,
            remedies=["take fewer bins ({n_bins.name})", "take fewer columns or partitions"],
        )


def _adco_distances(
    prepared: _Histograms,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    normalize: Literal["max", "geometric"],
) -> np.ndarray:
    """Return D_ADCO of each of the pairs."""
    work = partial(_adco_run, prepared, pairs, normalize)
    tasks = _runs(len(pairs))
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    return np.concatenate([np.empty(0), *found])


def _adco_run(prepared: _Histograms, pairs: np.ndarray, normalize: str, task: slice) -> np.ndarray:
    values = []
    for i, j in pairs[task]:
        a, b = prepared.vectors[i], prepared.vectors[j]
        if not (len(a) and len(b)):
            values.append(np.nan)
        elif prepared.keys[i] == prepared.keys[j]:
            values.append(0.0)
        else:
            alike = a @ b.T
            own = (float((a * a).sum()), float((b * b).sum()))
            scale = max(own) if normalize == "max" else np.sqrt(own[0] * own[1])
            matched = alike[linear_sum_assignment(alike, maximize=True)].sum()
            values.append(2.0 - min(matched / scale, 1.0))
    return np.array(values)


@register_measure(
    _adco_distances,
    prepare=_histograms,
    rules={"n_bins": [Integer(1)], "normalize": [Choice("max", "geometric")]},
    label="D_ADCO",
    reference="Bae, Bailey & Dong (2010)",
    direction="distance",
    bounds=(0.0, 2.0),
    identity=0.0,
    metric=True,
)
def adco(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    n_bins: int = 10,
    normalize: Literal["max", "geometric"] = "max",
    noise: Policy = "cluster",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Distance of the histograms of the clusters: 0 for equal partitions, otherwise from 1 to 2.

    Every feature is cut into bins of equal width. A cluster is the vector of its counts in all
    bins, two clusters are as similar as the product of their vectors, and the similarity ADCO of
    two partitions is that of the best one-to-one matching of clusters, divided by the similarity of
    the partitions with themselves. The distance is 2 - ADCO. A metric, since no detour of two steps
    costs less than 2. Fails to see distance: only points in the same bin count, so a cluster
    that moved one bin away is as different as one that moved across the data, and clusters with
    the same values in every single feature look alike.

    Parameters
    ----------
    {partitions}
    features : (n, d) array
        The points; not sparse.
    n_bins : int
        Bins of every feature, over the range of the points that have weight in one of the
        partitions (of all partitions that are compared, in :func:`pairwise`). More than 4 GB of
        counts are refused.
    normalize : {"max", "geometric"}
        Divide by the larger of the two similarities of a partition with itself, or by their
        geometric mean. The definition leaves this open.
    {common}

    Returns
    -------
    {returns}

    See Also
    --------
    lift_emd : Sees how far clusters moved.

    References
    ----------
    .. [1] E. Bae, J. Bailey and G. Dong. A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings. Data Mining and Knowledge
       Discovery 21, 427-471, 2010. doi:10.1007/s10618-009-0164-z

    Examples
    --------
    >>> from clusterscape.compare import adco
    >>> X = [[0.0], [0.1], [5.0], [9.9], [10.0]]
    >>> adco([0, 0, 1, 1, 1], ["x", "x", "y", "y", "y"], X)
    0.0
    >>> round(adco([0, 0, 1, 1, 1], [0, 0, 0, 1, 1], X), 3)
    1.111
    """


# ---- what the three share ----------------------------------------------------------------------


def _checked_points(features: Any, ensemble: Ensemble, name: str, *, remedy: str = "") -> Any:
    """Return the points as 64-bit floats; CSR is kept unless ``remedy`` says what to do instead."""
    if features is None:
        raise ValueError(f"{name} needs the points: pass them as features=X.")
    if remedy and sparse.issparse(features):
        raise TypeError(f"{name} does not take sparse features: {remedy}")
    refuse_repeated_columns(features, "features")
    with np.errstate(over="ignore", invalid="ignore"):  # it adds all values up
        X = check_array(features, accept_sparse="csr", dtype=np.float64, input_name="features")
    if X.shape[0] != ensemble.n_points:
        raise ValueError(
            f"features has {X.shape[0]} rows and the partitions {ensemble.n_points} points; pass "
            "one row per point, in the same order."
        )
    return X


def _seen_points(ensemble: Ensemble, noise: str) -> np.ndarray:
    """Return which points have weight in a partition; all where none has, and none matters."""
    lowest = NOISE if noise == "drop" else UNSAMPLED
    seen: np.ndarray = (ensemble.labels > lowest).any(axis=1) & (ensemble.sample_weight > 0)
    return seen if seen.any() else np.ones(seen.size, dtype=bool)


def _in_units(X: Any, seen: np.ndarray) -> tuple[Any, int]:
    """Return the points in units of their largest value, and the power of two that the unit is.

    Dense points are centred at the medians of their columns: distances stay, keep their digits far
    from the origin, and one outlier does not reduce the precision of the rest. Points that are not
    seen become zero.
    """
    if sparse.issparse(X):
        X = sparse.diags(seen.astype(np.float64)) @ X
        exponent = _exponent_of(X.data)
        X.data = np.ldexp(X.data, -exponent)
        return sparse.csr_matrix(X), int(exponent)
    first = _exponent_of(X[seen])  # before the centre, or differences might not be finite
    X = np.ldexp(np.where(seen[:, None], X, 0.0), -first)
    X = np.where(seen[:, None], X - np.median(X[seen], axis=0), 0.0)
    second = _exponent_of(X)
    return np.ldexp(X, -second), int(first + second)


def _exponent_of(values: np.ndarray, axis: int | None = None) -> Any:
    """Return the least e with all values below 2**e in size: to divide by it changes no digit."""
    return np.frexp(np.abs(values).max(axis=axis, initial=0.0))[1]


def _clusters_of(ensemble: Ensemble, noise: str) -> Iterator[sparse.csc_matrix]:
    """Yield, for each partition, the weight of every point (rows) in every cluster (columns).

    Noise points are the last column or left out; clusters without weight are left out. Weights are
    divided by a power of two, so that the largest is from 1 to 2 and sums are finite.
    """
    weight = ensemble.sample_weight
    weights = sparse.diags(np.ldexp(weight, 1 - _exponent_of(weight)))
    for i in range(ensemble.n_partitions):
        sides = [ensemble.select([i]).membership().matrix]
        if noise == "cluster":
            sides.append(sparse.csr_matrix((ensemble.labels[:, [i]] == NOISE).astype(np.float64)))
        table = sparse.csc_matrix(weights @ sparse.hstack(sides))
        table.eliminate_zeros()
        table.sort_indices()
        yield table[:, np.flatnonzero(np.diff(table.indptr))]


def _masses_of(table: sparse.csc_matrix) -> np.ndarray:
    """Return each cluster's share of the weight that its partition saw."""
    sizes = np.asarray(table.sum(axis=0), dtype=np.float64).ravel()
    return sizes / sizes.sum() if sizes.size else sizes


def _members_of(table: sparse.csc_matrix) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the points of each cluster and their weights."""
    if table.shape[1] == 0:
        return []
    cuts = table.indptr[1:-1]
    return list(zip(np.split(table.indices, cuts), np.split(table.data, cuts), strict=True))


def _keys_of(table: sparse.csc_matrix) -> list[bytes]:
    """Return what identifies each cluster: its points and their weights."""
    return [x.astype(np.int64).tobytes() + w.tobytes() for x, w in _members_of(table)]


def _row_distances(left: Any, right: Any, *, squared: bool = False) -> np.ndarray:
    """Return the Euclidean distances of rows, dense or CSR; exactly 0 between equal rows.

    The values should be of size 1 at most, as :func:`_in_units` makes them.
    """
    square = squared_distances(left, right)
    if squared:
        return square
    found: np.ndarray = np.sqrt(square)
    rows, columns = np.nonzero(square < _UNDERFLOW)
    for part in _runs(rows.size, max(1, _BLOCK_ELEMENTS // left.shape[1])):
        gaps = left[rows[part]] - right[columns[part]]
        gaps = np.abs(gaps.toarray() if sparse.issparse(gaps) else gaps)
        unit = gaps.max(axis=1, initial=0.0)
        shares = gaps / np.where(unit > 0, unit, 1.0)[:, None]
        found[rows[part], columns[part]] = unit * np.sqrt((shares * shares).sum(axis=1))
    return found


def _shared_weight(left: Any, right: Any, weights: np.ndarray) -> np.ndarray:
    """Return for each two columns of two memberships the weighted sum of the smaller entries.

    For hard clusters this is the weight of the points that they share.
    """
    a, b = sparse.csr_matrix(left), sparse.csr_matrix(right)
    k, m = a.shape[1], b.shape[1]
    total = np.zeros(k * m)
    for part in _runs(a.shape[0], max(1, _BLOCK_ELEMENTS // max(k * m, 1))):
        # Every entry of a row of one side beside every entry of that row of the other.
        wide = np.diff(b.indptr)[part]
        count = np.diff(a.indptr)[part] * wide
        row = np.repeat(np.arange(part.start, part.stop), count)
        place = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        inner = np.repeat(wide, count)
        i, j = a.indptr[row] + place // inner, b.indptr[row] + place % inner
        smaller = weights[row] * np.minimum(a.data[i], b.data[j])
        cell = a.indices[i].astype(np.int64) * m + b.indices[j]
        total += np.bincount(cell, weights=smaller, minlength=k * m)
    return total.reshape(k, m)


def _groups(pairs: np.ndarray) -> list[np.ndarray]:
    """Return the positions of the pairs that have the same first partition."""
    order = np.argsort(pairs[:, 0], kind="stable")
    cuts = np.flatnonzero(np.diff(pairs[order, 0])) + 1
    return [group for group in np.split(order, cuts) if group.size]


def _runs(count: int, size: int = _RUN) -> list[slice]:
    """Return ``count`` things cut into runs, always the same ones."""
    return list(slices(count, size))
