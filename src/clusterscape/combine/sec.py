"""SEC: spectral ensemble clustering as a weighted k-means over the rows of B."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape._parallel import parallel_map
from clusterscape._params import N_JOBS, Choice, Integer, Number, Rules, Seed
from clusterscape._seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Outcome
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.rowspace import RowSpace


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
        Starts (weighted k-means++); the one with the least cost is kept.
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
        Iterations of the best start.

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
        seeds = spawn(self.random_state, self.n_init)
        evidence = Evidence.of(ensemble, blockwise=self.incomplete == "blockwise")
        start = partial(
            best_partition,
            evidence,
            n_clusters=self.n_clusters,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        found = parallel_map(start, seeds, n_jobs=self.n_jobs, prefer="threads")
        best = min(found, key=lambda run: run.cost)
        return Outcome(best.labels, best.cost, {"n_iter_": best.n_iter})


@dataclass(frozen=True)
class Evidence:
    """Rows of B with the weights that make their k-means a normalised cut."""

    rows: RowSpace
    column_weight: np.ndarray  # (D,) weight of the partition that a cluster belongs to
    point_weight: np.ndarray  # (n,)
    degree: np.ndarray  # (n,) row sums of S
    length: np.ndarray  # (n,) squared norm of b(x) / w(x)
    blocks: np.ndarray | None  # (D,) partition of each cluster, when averaging blockwise

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
        incomplete = blockwise and not ensemble.is_complete
        return cls(
            rows, column, ensemble.sample_weight, degree, length, index if incomplete else None
        )

    @property
    def mass(self) -> np.ndarray:
        """Weight of each row in the k-means."""
        return self.point_weight * self.degree

    @property
    def scale(self) -> np.ndarray:
        return np.divide(2.0, self.degree, out=np.zeros_like(self.degree), where=self.degree > 0)


@dataclass(frozen=True)
class Run:
    """One start and where it ended."""

    labels: np.ndarray
    cost: float
    n_iter: int


def best_partition(
    evidence: Evidence, seed: SeedSequence, *, n_clusters: int, max_iter: int, tol: float
) -> Run:
    """Run weighted k-means from one k-means++ start."""
    rng = np.random.default_rng(seed)
    mass, scale = evidence.mass, evidence.scale
    table, norms = _seed_centroids(evidence, n_clusters, rng)
    groups = np.full(evidence.rows.n_points, -1, dtype=np.int32)
    totals = np.zeros_like(table)
    previous = np.inf
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        before = groups.copy()
        moved, values = _assign(evidence, table, norms, scale, groups)
        _refill(groups, values, evidence, n_clusters)
        totals = evidence.rows.update(
            totals, None if n_iter == 1 else before, groups, evidence.point_weight
        )
        table, norms = _centroids(evidence, totals, groups)
        cost = float(mass @ (evidence.length + values))
        if moved == 0 or previous - cost <= tol * abs(cost):
            break
        previous = cost
    moved, values = _assign(evidence, table, norms, scale, groups)
    return Run(groups, float(mass @ (evidence.length + values)), n_iter)


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
    scores = evidence.rows.product(norms) - scale[:, None] * evidence.rows.product(table)
    best = scores.argmin(axis=1).astype(groups.dtype)
    moved = int((best != groups).sum())
    groups[:] = best
    return moved, scores[np.arange(len(best)), best]


def _centroids(
    evidence: Evidence, totals: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the look-up table of the centroids, and their squared norms."""
    k = totals.shape[1]
    column = evidence.column_weight[:, None]
    if evidence.blocks is None:
        mass = np.bincount(groups, weights=evidence.mass, minlength=k)
        centroid = np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0)
        return column * centroid, (column * centroid**2).sum(axis=0)
    mass = evidence.rows.totals(groups, evidence.mass, k)
    n_blocks = int(evidence.blocks.max()) + 1
    per_block = np.zeros((n_blocks, k))
    np.add.at(per_block, evidence.blocks, mass)
    spread = per_block[evidence.blocks]
    centroid = np.divide(totals, spread, out=np.zeros_like(totals), where=spread > 0)
    norms = np.zeros((n_blocks, k))
    np.add.at(norms, evidence.blocks, column * centroid**2)
    return column * centroid, norms[evidence.blocks]


def _seed_centroids(
    evidence: Evidence, n_clusters: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows by weighted k-means++: each next one in proportion to mass times distance."""
    mass, scale = evidence.mass, evidence.scale
    n = mass.size
    chosen = [_draw(mass, rng)]
    closest = np.full(n, np.inf)
    trials = 2 + int(np.log(n_clusters))
    single = np.zeros(n, dtype=np.int32)
    while True:
        table, norms = _rows_as_centroids(evidence, chosen[-1:])
        values = evidence.rows.assign(table, norms, scale=scale, groups=single)[1]
        np.minimum(closest, np.maximum(values + evidence.length, 0.0), out=closest)
        if len(chosen) == n_clusters:
            break
        # Of a few candidates the one that lowers the cost most; on large data one is enough.
        candidates = [_draw(mass * closest, rng) for _ in range(trials if n <= 50_000 else 1)]
        if len(candidates) > 1:
            candidates = [min(candidates, key=lambda c: _potential(evidence, c, closest))]
        chosen += candidates
    return _rows_as_centroids(evidence, chosen)


def _potential(evidence: Evidence, candidate: int, closest: np.ndarray) -> float:
    table, norms = _rows_as_centroids(evidence, [candidate])
    single = np.zeros(closest.size, dtype=np.int32)
    values = evidence.rows.assign(table, norms, scale=evidence.scale, groups=single)[1]
    return float(evidence.mass @ np.minimum(closest, np.maximum(values + evidence.length, 0.0)))


def _draw(weights: np.ndarray, rng: np.random.Generator) -> int:
    total = np.cumsum(weights)
    if total[-1] <= 0:
        return int(rng.integers(weights.size))
    return int(min(np.searchsorted(total, rng.random() * total[-1], "right"), weights.size - 1))


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
