"""The evolution of x_t = x_(t-1) P, and the groups that its values form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy.sparse.linalg import aslinearoperator

from clusterscape._core.params import Choice, Integer, checked, shown
from clusterscape.linalg.kmeans import kmeans, nearest_center
from clusterscape.linalg.kmeans_engines import cluster_sums
from clusterscape.linalg.markov import check_chain

Step = Callable[[np.ndarray], np.ndarray]

_SHOWN = 1000  # rows of which a trajectory is kept
_KMEANS_ROWS = 5000  # rows from which the centres of joint trajectories are found
_STILL = 0.005  # share of the points that may move in a step that counts as stable, read jointly
_LONGEST_WAIT = 20  # steps before joint trajectories are first grouped, at most


@dataclass(frozen=True)
class Trajectory:
    """The states x_t of a chain, and the groups that each of them shows.

    Attributes
    ----------
    states : (T + 1, m) array
        x_0, ..., x_T: the probability of each point.
    deviations : (T + 1, m) array
        x_t less its limit 1/n, scaled to unit length: what is left to see when x_t is nearly
        uniform.
    groups : (T + 1, m) array
        Groups of the points at each step, numbered by first appearance.
    stable : bool
        Whether the last steps showed the same groups.
    points : (m,) array
        Positions of the points shown, among those that are in a cluster.
    labels : (m,) array
        The groups that were found in the end, in the numbers that the estimator gives them.
    """

    states: np.ndarray
    deviations: np.ndarray
    groups: np.ndarray
    stable: bool
    points: np.ndarray
    labels: np.ndarray

    @property
    def n_iter(self) -> int:
        """Steps taken."""
        return len(self.states) - 1


def variant_step(product: Step, variant: str) -> Step:
    """Return one step of the chain P, of (P + I) / 2 or of P^2."""
    if variant == "lazy":
        return lambda block: 0.5 * (product(block) + block)
    if variant == "squared":
        return lambda block: product(product(block))
    return product


def gap_groups(values: np.ndarray, n_clusters: int) -> np.ndarray:
    """Cut sorted values at their largest gaps: single linkage in one dimension.

    Equal values are never cut apart, so there may be fewer groups than asked for.
    """
    order = np.argsort(values, kind="stable")
    gaps = np.diff(values[order])
    cuts = np.argsort(-gaps, kind="stable")[: n_clusters - 1]
    starts = np.zeros(values.size, dtype=np.int64)
    starts[cuts[gaps[cuts] > 0] + 1] = 1
    groups = np.empty(values.size, dtype=np.int64)
    groups[order] = np.cumsum(starts)
    return by_appearance(groups)


def by_appearance(groups: np.ndarray) -> np.ndarray:
    """Renumber groups in the order in which they appear, so that equal partitions are equal."""
    first = np.full(int(groups.max()) + 1, groups.size)
    first[groups[::-1]] = np.arange(groups.size)[::-1]
    rank = np.empty(first.size, dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(first.size)
    return rank[groups]


@checked(
    {
        "n_clusters": [Integer(1)],
        "n_stable": [Integer(1)],
        "max_iter": [Integer(1)],
        "chain": [Choice("plain", "lazy", "squared")],
    }
)
def evolve(
    P: Any,
    start: Any,
    n_clusters: int,
    *,
    n_stable: int = 3,
    max_iter: int = 1000,
    chain: Literal["plain", "lazy", "squared"] = "plain",
) -> Trajectory:
    """Follow x_t = x_(t-1) P until its values form the same groups several times in a row.

    The values are sorted and cut at the ``n_clusters - 1`` largest gaps. In a nearly decomposable
    chain, points of a block soon have nearly equal values, long before x_t is uniform.

    Parameters
    ----------
    P : array, sparse matrix or LinearOperator
        Doubly stochastic.
    start : (n,) array
        x_0; it is scaled to sum one.
    n_clusters : int
        Groups to form.
    n_stable : int
        Stop after this many equal partitions in a row, that of the start not counted.
    max_iter : int
        Steps at most.
    chain : {"plain", "lazy", "squared"}
        Step with P, with (P + I) / 2 or with P^2; the last two do not oscillate where P has an
        eigenvalue near -1.

    Returns
    -------
    Trajectory

    See Also
    --------
    SCA : The whole algorithm, from an ensemble.
    clusterscape.plot.TrajectoryDisplay : Draws the trajectory.

    Notes
    -----
    Only the slowest part of x_t survives in the end, so with more than two clusters late groups
    mean less than early ones. A single point that lags behind is cut off as a group.

    References
    ----------
    .. [1] C. D. Meyer and C. D. Wessell, "Stochastic data clustering", SIAM Journal on Matrix
       Analysis and Applications 33, 1214-1236, 2012. doi:10.1137/100804395

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.combine import evolve
    >>> P = np.array([[0.6, 0.3, 0.1, 0.0], [0.3, 0.6, 0.0, 0.1],
    ...               [0.1, 0.0, 0.6, 0.3], [0.0, 0.1, 0.3, 0.6]])
    >>> path = evolve(P, [0.5, 0.2, 0.2, 0.1], 2)
    >>> path.n_iter, path.groups[-1]
    (4, array([0, 0, 1, 1]))
    """
    A = aslinearoperator(P)
    n = A.shape[0]
    x = np.asarray(start, dtype=np.float64)
    if x.shape != (n,) or not np.isfinite(x).all() or (x < 0).any() or not x.any():
        raise ValueError(
            f"start must be {n} numbers >= 0, not all zero, one per row of P; got {shown(start)}."
        )
    check_chain(P)
    x = x / x.max()  # the sum of large numbers might be none
    step = variant_step(A.rmatmat, chain)
    runs = follow(
        step,
        x[:, None] / x.sum(),
        np.ones(n),
        n_clusters=n_clusters,
        n_stable=n_stable,
        max_iter=max_iter,
        shown_rows=n,
    )
    return runs.trajectory


@dataclass(frozen=True)
class Runs:
    """Where several starts ended: a partition, a number of steps and a flag each."""

    groups: list[np.ndarray]
    n_iter: np.ndarray
    stable: np.ndarray
    trajectory: Trajectory  # of the first start


class _Recorder:
    """Keeps x_t, of some rows, along the first start."""

    def __init__(self, m: int, mass: float, shown_rows: int) -> None:
        self.rows = np.unique(np.linspace(0, m - 1, min(m, shown_rows)).astype(np.int64))
        self.mass = mass
        self.states: list[np.ndarray] = []
        self.deviations: list[np.ndarray] = []
        self.groups: list[np.ndarray] = []

    def note(self, y: np.ndarray, length: float, groups: np.ndarray) -> None:
        shown_part = y[self.rows]
        self.deviations.append(shown_part)
        self.states.append(1.0 / self.mass + length * shown_part)
        self.groups.append(groups[self.rows])

    def trajectory(self, stable: bool) -> Trajectory:
        return Trajectory(
            np.array(self.states),
            np.array(self.deviations),
            np.array(self.groups),
            stable=stable,
            points=self.rows,
            labels=self.groups[-1],
        )


def centred(block: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns less their weighted mean at unit length, and the lengths."""
    y = block - weights @ block / weights.sum()
    length = np.sqrt(weights @ y**2)
    return np.divide(y, length, out=np.zeros_like(y), where=length > 0), length


def follow(
    step: Step,
    starts: np.ndarray,
    weights: np.ndarray,
    *,
    n_clusters: int,
    n_stable: int,
    max_iter: int,
    shown_rows: int = _SHOWN,
) -> Runs:
    """Evolve every column of ``starts`` until its gap groups are stable.

    x_t tends to the uniform vector and its differences would vanish below rounding; so
    ``x_t - 1/n`` is kept at unit length, which has the same gaps up to scale.
    """
    q = starts.shape[1]
    y, length = centred(starts, weights)
    groups = [gap_groups(y[:, j], n_clusters) for j in range(q)]
    record = _Recorder(weights.size, float(weights.sum()), shown_rows)
    record.note(y[:, 0], float(length[0]), groups[0])
    # The groups of x_0 are those of the random start: counting begins with x_1.
    equal, n_iter = np.zeros(q, dtype=np.int64), np.zeros(q, dtype=np.int64)
    active = np.arange(q)
    total = float(length[0])
    for t in range(1, max_iter + 1):
        if active.size == 0:
            break
        y, length = centred(step(y), weights)
        for column, j in enumerate(active):
            fresh = gap_groups(y[:, column], n_clusters)
            again = t > 1 and np.array_equal(fresh, groups[j])
            equal[j] = equal[j] + 1 if again else 1
            groups[j], n_iter[j] = fresh, t
            if j == 0:
                total *= float(length[column])
                record.note(y[:, column], total, fresh)
        going = equal[active] < n_stable
        active, y = active[going], y[:, going]
    stable = equal >= n_stable
    return Runs(groups, n_iter, stable, record.trajectory(bool(stable[0])))


def most_frequent(runs: Runs, cost: Callable[[np.ndarray], float]) -> tuple[np.ndarray, float, int]:
    """Return the partition that most starts lead to, its share of the starts, and a start.

    Starts that never became stable count only when none did; ties go to the smaller cost.
    """
    chosen = np.flatnonzero(runs.stable) if runs.stable.any() else np.arange(len(runs.groups))
    found: dict[bytes, list[int]] = {}
    for j in chosen:
        found.setdefault(runs.groups[j].tobytes(), []).append(int(j))
    most = max(len(members) for members in found.values())
    leaders = [members[0] for members in found.values() if len(members) == most]
    best = min(leaders, key=lambda j: cost(runs.groups[j])) if len(leaders) > 1 else leaders[0]
    return runs.groups[best], most / len(runs.groups), best


def waiting_time(eigenvalues: np.ndarray, n_clusters: int, variant: str) -> int:
    """Return the steps after which what is faster than the clusters has shrunk to a twentieth."""
    if len(eigenvalues) <= n_clusters:
        return 1
    slow, fast = eigenvalues[n_clusters - 1], max(eigenvalues[n_clusters], 0.0)
    if variant == "lazy":
        slow, fast = (1 + slow) / 2, (1 + fast) / 2
    if slow <= fast:
        return _LONGEST_WAIT
    if fast == 0:
        return 1
    power = 2 if variant == "squared" else 1
    return int(np.clip(np.ceil(np.log(0.05) / np.log(fast / slow) / power), 1, _LONGEST_WAIT))


def follow_jointly(
    step: Step,
    starts: np.ndarray,
    weights: np.ndarray,
    *,
    n_clusters: int,
    wait: int,
    n_stable: int,
    max_iter: int,
    seed: SeedSequence,
) -> Runs:
    """Evolve all starts side by side, and group points whose values agree in all of them.

    A block has nearly equal values in every trajectory, so a point is the row of its values.
    After ``wait`` steps the rows are grouped by k-means; from then on the centres move along with
    the rows, until hardly a point changes its group.
    """
    y, length = centred(starts, weights)
    record = _Recorder(weights.size, float(weights.sum()), _SHOWN)
    total = float(length[0])
    record.note(y[:, 0], total, gap_groups(y[:, 0], n_clusters))
    mass = weights.sum()
    groups: np.ndarray | None = None
    equal, t = 0, 0
    while t < max_iter and equal < n_stable:
        t += 1
        y, length = centred(step(y), weights)
        total *= float(length[0])
        if groups is None:
            fresh = None
            if t >= min(wait, max_iter):
                fresh, equal = _first_groups(y, weights, n_clusters, seed), 1
        else:
            fresh = nearest_center(y, _centres(y, weights, groups))
            moved = weights[fresh != groups].sum() / mass
            equal = equal + 1 if moved <= _STILL else 1
        groups = fresh
        shown_groups = np.zeros(weights.size, dtype=np.int64) if groups is None else groups
        record.note(y[:, 0], total, shown_groups)
    assert groups is not None
    stable = equal >= n_stable
    final = by_appearance(np.unique(groups, return_inverse=True)[1].reshape(-1))
    return Runs([final], np.array([t]), np.array([stable]), record.trajectory(stable))


def _first_groups(
    rows: np.ndarray, weights: np.ndarray, n_clusters: int, seed: SeedSequence
) -> np.ndarray:
    """Group rows by k-means, whose centres are found on a sample when there are many."""
    kmeans_seed, sample_seed = seed.spawn(2)
    chosen = np.arange(len(rows))
    if len(rows) > _KMEANS_ROWS:
        rng = np.random.default_rng(sample_seed)
        chosen = rng.choice(len(rows), _KMEANS_ROWS, replace=False)
    unit = rows / max(float(np.abs(rows).max()), 1e-300)  # so that squares keep their digits
    found = kmeans(
        unit[chosen], n_clusters, n_init=10, sample_weight=weights[chosen], seed=kmeans_seed
    )
    return nearest_center(unit, found.centers)


def _centres(rows: np.ndarray, weights: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return the weighted mean of each group's rows; an empty group is left out."""
    k = int(groups.max()) + 1
    mass = np.bincount(groups, weights=weights, minlength=k)
    sums = cluster_sums(rows, groups, weights, k)
    return sums[mass > 0] / mass[mass > 0, None]
