"""SEC: spectral ensemble clustering as a weighted k-means over the rows of B."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._labels import UNSAMPLED
from clusterscape._parallel import parallel_map
from clusterscape._params import N_JOBS, Choice, Integer, Number, Rules, Seed
from clusterscape._seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Outcome
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.rowspace import RowSpace

_START_SIZE = 20_000


class SEC(BaseConsensus):
    """Spectral ensemble clustering (Liu et al. 2015).

    The normalised cut of the co-association matrix S = B B^T is the objective of a weighted k-means
    on the rows ``b(x) / w(x)``, where ``w(x)`` is the row sum of S: the total size of the clusters
    that contain x. Neither S nor B is built; an iteration costs O(n r K) look-ups.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    n_init : int
        Starts, by weighted k-means++; the one with the least cost is kept. Every other start draws
        several times more rows than clusters and merges them again at the least increase of the
        cost. On
        more than 20,000 points the starts are compared on a random sample of 20,000, and the
        best one goes on with all points.
    max_iter : int
        Iterations of one start at most.
    tol : float
        A start ends when the cost falls by less than this share, or when no point moves.
    incomplete : {"zero", "blockwise"}
        What an unsampled point contributes to a partition's block of the centroid: a zero row
        ("zero", which is exactly the normalised cut of the incomplete S), or nothing at all, the
        block being averaged over the sampled points only ("blockwise", our reading).
    random_state : int, generator or None
        Seed of the starts.
    n_jobs : int or None
        Starts run in parallel; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found; fewer than asked when the partitions tell fewer groups apart.
    cost_ : float
        Least cost over the starts: a constant of the ensemble plus the normalised cut.
    n_iter_ : int
        Iterations of the best start, over all points.
    start_size_ : int
        Points on which the starts were compared.

    Notes
    -----
    Like k-means it finds a local optimum and favours clusters of similar total similarity. It
    needs the number of clusters. Small clusters may be absorbed; compare with :class:`EAC`.

    Examples
    --------
    >>> from clusterscape.combine import SEC
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]]
    >>> from clusterscape import Ensemble
    >>> SEC(2, random_state=0).fit_predict(Ensemble.from_labels(runs))
    array([0, 0, 0, 1, 1, 1])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "incomplete": [Choice("zero", "blockwise")],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        incomplete: Literal["zero", "blockwise"] = "zero",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.incomplete = incomplete
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _combine(self, ensemble: Ensemble, features: Any) -> Outcome:
        sampling, *seeds = spawn(self.random_state, self.n_init + 1)
        evidence = Evidence.of(ensemble, blockwise=self.incomplete == "blockwise")
        sample = _sample(evidence, np.random.default_rng(sampling))
        start = partial(
            run_from_start,
            sample,
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        found = parallel_map(start, seeds, n_jobs=self.n_jobs, prefer="threads")
        best = min(found, key=lambda run: run.cost)
        if sample is not evidence:
            best = descend(evidence, best.table, best.norms, max_iter=self.max_iter, tol=self.tol)
        details = {"n_iter_": best.n_iter, "start_size_": sample.rows.n_points}
        return Outcome(best.labels, best.cost, details)


@dataclass(frozen=True)
class Evidence:
    """Rows of B with the weights that make their k-means a normalised cut."""

    rows: RowSpace
    column_weight: np.ndarray  # (D,) weight of the partition that a cluster belongs to
    point_weight: np.ndarray  # (n,)
    degree: np.ndarray  # (n,) row sums of S
    length: np.ndarray  # (n,) squared norm of b(x) / w(x)
    blocks: np.ndarray  # (D,) partition of each cluster
    sampled: np.ndarray | None  # (n, r) which partition sampled the point, when blockwise

    @classmethod
    def of(cls, ensemble: Ensemble, *, blockwise: bool) -> Evidence:
        membership = ensemble.membership().matrix if ensemble.is_soft else None
        rows = RowSpace(ensemble.labels, ensemble.offsets, membership)
        column = np.repeat(ensemble.weights, ensemble.n_clusters)
        degree = rows.product((column * ensemble.cluster_sizes())[:, None]).ravel()
        if membership is None:
            squares = rows.product(column[:, None]).ravel()
        else:
            squares = np.asarray(membership.multiply(membership) @ column)
        # Partitions of weight zero alone leave a point without similarity to anybody.
        length = np.divide(squares, degree**2, out=np.zeros_like(degree), where=degree > 0)
        index = np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters)
        sampled = None
        if blockwise and not ensemble.is_complete:
            sampled = (ensemble.labels != UNSAMPLED).astype(np.float64)
        return cls(rows, column, ensemble.sample_weight, degree, length, index, sampled)

    @property
    def mass(self) -> np.ndarray:
        """Weight of each row in the k-means."""
        return self.point_weight * self.degree

    @property
    def scale(self) -> np.ndarray:
        return np.divide(2.0, self.degree, out=np.zeros_like(self.degree), where=self.degree > 0)


def _sample(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Return the evidence on a random sample of the points, or itself if there are few."""
    n = evidence.rows.n_points
    if n <= _START_SIZE:
        return evidence
    rows = np.sort(rng.choice(n, size=_START_SIZE, replace=False))
    return Evidence(
        evidence.rows.subset(rows),
        evidence.column_weight,
        evidence.point_weight[rows],
        evidence.degree[rows],
        evidence.length[rows],
        evidence.blocks,
        None if evidence.sampled is None else evidence.sampled[rows],
    )


@dataclass(frozen=True)
class Run:
    """Where a start ended: the groups, their cost, and the centroids' look-up table."""

    labels: np.ndarray
    cost: float
    n_iter: int
    table: np.ndarray
    norms: np.ndarray


def run_from_start(
    evidence: Evidence, seed: SeedSequence, *, n_clusters: int, max_iter: int, tol: float
) -> Run:
    """Run weighted k-means from one start."""
    plain = seed.spawn_key[-1] % 2 == 0  # the first start has the key 1
    rng = np.random.default_rng(seed)
    table, norms = starting_centroids(evidence, n_clusters, rng, plain=plain)
    return descend(evidence, table, norms, max_iter=max_iter, tol=tol)


def descend(
    evidence: Evidence, table: np.ndarray, norms: np.ndarray, *, max_iter: int, tol: float
) -> Run:
    """Alternate assignment and centroids until no row moves or the cost stands still."""
    mass, scale = evidence.mass, evidence.scale
    groups = np.full(evidence.rows.n_points, -1, dtype=np.int32)
    totals = np.zeros_like(table)
    previous = np.inf
    n_iter = 0
    while True:
        n_iter += 1
        before = groups.copy()
        moved, values = _assign(evidence, table, norms, scale, groups)
        cost = float(mass @ (evidence.length + values))
        if moved == 0:
            return Run(groups, cost, n_iter, table, norms)
        _refill(groups, values, evidence, table.shape[1])
        old = None if n_iter == 1 else before
        totals = evidence.rows.update(totals, old, groups, evidence.point_weight)
        table, norms = _centroids(evidence, totals, groups)
        if n_iter >= max_iter or previous - cost <= tol * abs(cost):
            # The labels stay; their cost is that of their own centroids.
            cost = _cost(evidence, table, norms, groups)
            return Run(groups, cost, n_iter, table, norms)
        previous = cost


def _cost(evidence: Evidence, table: np.ndarray, norms: np.ndarray, groups: np.ndarray) -> float:
    """Return the objective of a grouping, given its own centroids."""
    mass = evidence.mass
    if norms.ndim == 1:
        weight = np.bincount(groups, weights=mass, minlength=norms.size)
        return float(mass @ evidence.length - weight @ np.where(weight > 0, norms, 0.0))
    assert evidence.sampled is not None
    scores = evidence.sampled @ norms - evidence.scale[:, None] * evidence.rows.product(table)
    return float(mass @ (evidence.length + scores[np.arange(groups.size), groups]))


def _assign(
    evidence: Evidence,
    table: np.ndarray,
    norms: np.ndarray,
    scale: np.ndarray,
    groups: np.ndarray,
) -> tuple[int, np.ndarray]:
    if norms.ndim == 1:
        return evidence.rows.assign(table, norms, scale=scale, groups=groups)
    # Blockwise: norms come per block, and only the blocks where a point was sampled count.
    assert evidence.sampled is not None
    scores = evidence.sampled @ norms - scale[:, None] * evidence.rows.product(table)
    best = scores.argmin(axis=1).astype(groups.dtype)
    moved = int((best != groups).sum())
    groups[:] = best
    return moved, scores[np.arange(len(best)), best]


def _centroids(
    evidence: Evidence, totals: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the look-up table of the groups' centroids, and their squared norms."""
    k = totals.shape[1]
    if evidence.sampled is None:
        mass = np.bincount(groups, weights=evidence.mass, minlength=k)
        return _table_of(evidence, totals, mass)
    member = np.zeros((groups.size, k))
    member[np.arange(groups.size), groups] = evidence.mass
    spread = (evidence.sampled.T @ member)[evidence.blocks]
    centroid = np.divide(totals, spread, out=np.zeros_like(totals), where=spread > 0)
    column = evidence.column_weight[:, None]
    norms = np.zeros((evidence.sampled.shape[1], k))
    np.add.at(norms, evidence.blocks, column * centroid**2)
    return column * centroid, norms


def starting_centroids(
    evidence: Evidence, n_clusters: int, rng: np.random.Generator, *, plain: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw more rows than clusters by weighted k-means++, settle them, and merge them again.

    Two rows of B differ in most partitions even inside a cluster, so K single rows say little of
    where K clusters are; groups of rows do. Merging at the least increase of the cost (Ward's rule
    with the same weights) leaves K centroids that are close to a good optimum. Such starts resemble
    each other, so every other one is ``plain``: K rows as they are drawn.
    """
    mass, scale = evidence.mass, evidence.scale
    n = mass.size
    # Half of the points at most: starts that draw nearly all of them would all be the same.
    wanted = min(n_clusters if plain else max(min(3 * n_clusters + 8, n // 2), n_clusters), n)
    chosen: list[int] = []
    closest = np.full(n, np.inf)
    groups = np.zeros(n, dtype=np.int32)
    while len(chosen) < wanted:
        # One row a pass is k-means++. Where more rows than clusters are drawn, several a pass do
        # as well, and look-ups of eight cost as much as of one.
        several = chosen and wanted > n_clusters
        count = min(kernels.rowspace.LANES, wanted - len(chosen)) if several else 1
        weights = mass * closest if chosen else mass
        if weights.sum() <= 0:
            break  # every row is a chosen one
        fresh = _draw(weights, count, rng)
        table, norms = _rows_as_centroids(evidence, fresh)
        values = evidence.rows.assign(table, norms, scale=scale, groups=groups)[1]
        np.minimum(closest, np.maximum(values + evidence.length, 0.0), out=closest)
        # Rounding must not leave a chosen row, or a copy of it, a chance to be drawn again.
        closest[closest <= 1e-9 * evidence.length] = 0.0
        chosen += fresh
    table, norms = _rows_as_centroids(evidence, chosen)
    if len(chosen) <= n_clusters:
        missing = ((0, 0), (0, n_clusters - len(chosen)))  # empty groups, refilled if rows differ
        return np.pad(table, missing), np.pad(norms, missing[1], constant_values=np.inf)
    for _ in range(3):
        evidence.rows.assign(table, norms, scale=scale, groups=groups)
        totals = evidence.rows.totals(groups, evidence.point_weight, table.shape[1])
        weight = np.bincount(groups, weights=mass, minlength=table.shape[1])
        table, norms = _table_of(evidence, totals, weight)
    filled = weight > 0
    totals, weight = _merge(evidence, totals[:, filled], weight[filled], n_clusters)
    return _table_of(evidence, totals, weight)


def _table_of(
    evidence: Evidence, totals: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the look-up table of the centroids ``totals / weight``, and their squared norms."""
    centroid = np.divide(totals, weight, out=np.zeros_like(totals), where=weight > 0)
    column = evidence.column_weight[:, None]
    norms = (column * centroid**2).sum(axis=0)
    return column * centroid, np.where(weight > 0, norms, np.inf)  # an empty group attracts no row


def _merge(
    evidence: Evidence, totals: np.ndarray, weight: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge groups two at a time, at the least increase of the cost, until few enough are left."""
    column = evidence.column_weight[:, None]
    while totals.shape[1] > n_clusters:
        centroid = totals / weight
        inner = centroid.T @ (column * centroid)
        norm = np.diag(inner)
        rise = np.outer(weight, weight) / np.add.outer(weight, weight)
        rise *= norm[:, None] + norm - 2 * inner
        np.fill_diagonal(rise, np.inf)
        a, b = np.unravel_index(int(np.argmin(rise)), rise.shape)
        totals[:, a] += totals[:, b]
        weight[a] += weight[b]
        totals, weight = np.delete(totals, b, axis=1), np.delete(weight, b)
    if totals.shape[1] < n_clusters:  # fewer distinct rows than clusters: leave the rest empty
        missing = n_clusters - totals.shape[1]
        totals = np.pad(totals, ((0, 0), (0, missing)))
        weight = np.pad(weight, (0, missing))
    return totals, weight


def _draw(weights: np.ndarray, count: int, rng: np.random.Generator) -> list[int]:
    """Draw distinct rows in proportion to their weights."""
    total = np.cumsum(weights)
    places = np.searchsorted(total, rng.random(count) * total[-1], "right")
    return [int(x) for x in np.unique(np.minimum(places, weights.size - 1))]


def _rows_as_centroids(evidence: Evidence, points: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the table and norms of centroids that are single rows."""
    totals = np.zeros((evidence.rows.width, len(points)))
    for g, x in enumerate(points):
        columns, values = evidence.rows.row(x)
        if evidence.degree[x] > 0:
            totals[columns, g] = values / evidence.degree[x]
    column = evidence.column_weight[:, None]
    return column * totals, (column * totals**2).sum(axis=0)


def _refill(groups: np.ndarray, values: np.ndarray, evidence: Evidence, n_clusters: int) -> None:
    """Give every empty group the row that is worst placed, if any row is misplaced at all."""
    counts = np.bincount(groups, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    if empty.size == 0:
        return
    distance = evidence.mass * np.maximum(evidence.length + values, 0.0)
    for g in empty:
        x = int(np.argmax(np.where(counts[groups] > 1, distance, -1.0)))
        if distance[x] <= 1e-9 * evidence.mass[x] * evidence.length[x]:
            return
        counts[groups[x]] -= 1
        counts[g] += 1
        groups[x] = g
        distance[x] = 0.0
