"""k-means over the rows of B, for any objective whose centroids are means: starts and descent.

An objective gives the cost of a grouping as a constant less the sum of the groups' energies, where
the energy of a group is a convex function of two sums over its rows: ``totals``, the weighted sum
of the rows, and ``group_mass``, the sum of their masses. All such costs are Bregman divergences to
the means, so one loop serves them all, and no step of it raises the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.random import Generator, SeedSequence

from clusterscape import kernels
from clusterscape._core.parallel import one_thread, parallel_map
from clusterscape._core.rows import RowSource
from clusterscape.linalg.rowspace import Rows

START_SIZE = 20_000  # points on which starts are compared
GUESS_SIZE = 5_000  # points at most from which a first guess is made


@dataclass(frozen=True)
class Centroids:
    """Centroids as look-ups: the score of x in g is ``norms[g] - scale[x] * (rows @ table)``."""

    table: np.ndarray
    norms: np.ndarray  # infinite for an empty group, which attracts no row


@dataclass(frozen=True)
class Points:
    """Rows with what turns their scores into costs.

    Attributes
    ----------
    rows : Rows
        The points.
    weight : (n,) array
        Weight of each row in ``totals``.
    mass : (n,) array
        Weight of each row's distance in the cost.
    scale : (n,) array
        Factor of the look-ups of each row.
    base : (n,) array
        What a score lacks to be a distance.
    unit : (n,) array
        Size of each row's distances; ``rounding`` times it is as good as zero.
    rounding : float
        Relative error of a distance.
    """

    rows: Rows
    weight: np.ndarray
    mass: np.ndarray
    scale: np.ndarray
    base: np.ndarray
    unit: np.ndarray
    rounding: float = 1e-9

    def subset(self, points: np.ndarray) -> Points:
        """Return some of the points."""
        return Points(
            self.rows.subset(points),
            self.weight[points],
            self.mass[points],
            self.scale[points],
            self.base[points],
            self.unit[points],
            self.rounding,
        )


class Objective(Protocol):
    """What is minimised."""

    @property
    def points(self) -> Points:
        """The rows and their weights."""

    def subset(self, points: np.ndarray) -> Self:
        """Return the objective on some of the points."""

    def group_mass(self, totals: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the mass of each group, the last axis being the groups'."""

    def energy(self, totals: np.ndarray, group_mass: np.ndarray) -> np.ndarray:
        """Return the energy of each group."""

    def centroids(self, totals: np.ndarray, group_mass: np.ndarray, rng: Generator) -> Centroids:
        """Return the centroids of groups with these sums."""

    def assign(self, centroids: Centroids, groups: np.ndarray) -> tuple[int, np.ndarray]:
        """Move every row to its best group, in place; return how many moved, and the scores."""


@dataclass(frozen=True)
class Run:
    """Where a start ended: the groups, their cost, and the centroids."""

    labels: np.ndarray
    cost: float
    n_iter: int
    centroids: Centroids


# Gives groups to some points of the sample: by their places in it.
Guess = Callable[[np.ndarray], np.ndarray]


def minimise(
    objective: Objective,
    n_clusters: int,
    *,
    sampling: SeedSequence,
    starts: Sequence[SeedSequence],
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    start_size: int,
    guess: Guess | None = None,
) -> tuple[Run, int]:
    """Return the best run, and the number of points on which the starts were compared.

    ``sampling`` draws the sample on which starts are compared when there are more than
    ``start_size`` points. There is one start per seed in ``starts``; every second one is plain.
    One more begins with the groups that ``guess`` gives to some points, if there is a guess.
    """
    rng = np.random.default_rng(sampling)
    n = objective.points.rows.n_points
    how: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    if n <= start_size:
        return best_start(objective, n_clusters, rng, starts, guess, n_jobs=n_jobs, **how), n
    chosen = np.sort(rng.choice(n, size=start_size, replace=False))
    inside = None if guess is None else lambda places: guess(chosen[places])
    sample = objective.subset(chosen)
    best = best_start(sample, n_clusters, rng, starts, inside, n_jobs=n_jobs, **how)
    with one_thread():
        return descend(objective, best.centroids, rng, **how), start_size


def best_start(
    sample: Objective,
    n_clusters: int,
    rng: Generator,
    starts: Sequence[SeedSequence],
    guess: Guess | None,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
) -> Run:
    """Return the best run on a sample: of one per seed, and of one from a guess."""
    how: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    run = partial(_run_from_start, sample, n_clusters, **how)
    found = parallel_map(run, list(enumerate(starts)), n_jobs=n_jobs, prefer="threads")
    if guess is not None:
        places = np.arange(sample.points.rows.n_points)
        if places.size > GUESS_SIZE:
            places = np.sort(rng.choice(places, size=GUESS_SIZE, replace=False))
        with one_thread():
            part = sample.subset(places)
            centroids = part.centroids(*sums(part, guess(places), n_clusters), rng)
            found.append(descend(sample, centroids, rng, **how))
    return min(found, key=lambda run: run.cost)


def _run_from_start(
    objective: Objective, n_clusters: int, start: tuple[int, SeedSequence], **how: Any
) -> Run:
    number, seed = start
    rng = np.random.default_rng(seed)
    centroids = starting_centroids(objective, n_clusters, rng, plain=number % 2 == 1)
    return descend(objective, centroids, rng, **how)


def improve(
    objective: Objective,
    groups: np.ndarray,
    n_clusters: int,
    *,
    seed: SeedSequence,
    max_iter: int,
    tol: float,
) -> Run:
    """Go on from given groups: no iteration raises their cost."""
    rng = np.random.default_rng(seed)
    with one_thread():
        centroids = objective.centroids(*sums(objective, groups, n_clusters), rng)
        return descend(objective, centroids, rng, max_iter=max_iter, tol=tol)


def descend(
    objective: Objective, centroids: Centroids, rng: Generator, *, max_iter: int, tol: float
) -> Run:
    """Alternate assignment and centroids until no row moves or the cost stands still."""
    points = objective.points
    rows, weight, mass = points.rows, points.weight, points.mass
    exact = bool((weight == np.rint(weight)).all())
    groups = np.full(rows.n_points, -1, dtype=np.int32)
    k = centroids.table.shape[1]
    totals = np.zeros((len(centroids.table), k))
    previous = np.inf
    n_iter = 0
    while True:
        n_iter += 1
        before = groups.copy()
        moved, values = objective.assign(centroids, groups)
        cost = float(mass @ (points.base + values))
        if moved == 0:
            return Run(groups, cost, n_iter, centroids)
        refill(points, groups, values, k)
        if exact:
            totals = rows.update(totals, None if n_iter == 1 else before, groups, weight)
        else:  # differences of fractions would leave rounding errors where zero is due
            totals = rows.totals(groups, weight, k)
        group_mass = objective.group_mass(totals, groups)
        centroids = objective.centroids(totals, group_mass, rng)
        if n_iter >= max_iter or previous - cost <= tol * abs(cost):
            # The labels stay; their cost is that of their own centroids.
            cost = float(mass @ points.base - objective.energy(totals, group_mass).sum())
            return Run(groups, cost, n_iter, centroids)
        previous = cost


def starting_centroids(
    objective: Objective, n_clusters: int, rng: Generator, *, plain: bool
) -> Centroids:
    """Draw more rows than clusters by weighted k-means++, settle them, and merge them again.

    Two rows of B differ in most partitions even inside a cluster, so K single rows say little of
    where K clusters are; groups of rows do. Merging at the least increase of the cost (Ward's rule
    for this objective) leaves K centroids that are close to a good optimum. Such starts resemble
    each other, so every second one is ``plain``: K rows as they are drawn.
    """
    points = objective.points
    n = points.rows.n_points
    # Half of the points at most: starts that draw nearly all of them would all be the same.
    wanted = min(n_clusters if plain else max(min(3 * n_clusters + 8, n // 2), n_clusters), n)
    chosen = _distant_rows(objective, wanted, rng, several=wanted > n_clusters)
    centroids = objective.centroids(*_single_rows(objective, chosen), rng)
    if len(chosen) <= n_clusters:
        missing = ((0, 0), (0, n_clusters - len(chosen)))  # empty groups, refilled if rows differ
        norms = np.pad(centroids.norms, missing[-centroids.norms.ndim :], constant_values=np.inf)
        return Centroids(np.pad(centroids.table, missing), norms)
    groups = np.zeros(n, dtype=np.int32)
    for _ in range(3):
        objective.assign(centroids, groups)
        totals, group_mass = sums(objective, groups, len(chosen))
        centroids = objective.centroids(totals, group_mass, rng)
    filled = np.bincount(groups, minlength=len(chosen)) > 0
    merged = merge(objective, totals[:, filled], group_mass[..., filled], n_clusters)
    return objective.centroids(*merged, rng)


def _distant_rows(objective: Objective, wanted: int, rng: Generator, *, several: bool) -> list[int]:
    """Draw rows far from those drawn before (k-means++), fewer if all rows are drawn already.

    One row per pass is k-means++. Where more rows than clusters are drawn, ``several`` rows per
    pass do as well, and look-ups of eight cost as much as of one.
    """
    points = objective.points
    n = points.rows.n_points
    chosen: list[int] = []
    closest = np.full(n, np.inf)
    groups = np.zeros(n, dtype=np.int32)
    while len(chosen) < wanted:
        count = kernels.rowspace.LANES if several and chosen else 1
        weights = points.mass * closest if chosen else points.mass
        if weights.sum() <= 0:
            break  # every row is a chosen one
        fresh = _draw(weights, min(count, wanted - len(chosen)), rng)
        centroids = objective.centroids(*_single_rows(objective, fresh), rng)
        values = objective.assign(centroids, groups)[1]
        np.minimum(closest, np.maximum(values + points.base, 0.0), out=closest)
        # Rounding must not leave a chosen row, or a copy of it, a chance to be drawn again.
        closest[closest <= points.rounding * points.unit] = 0.0
        chosen += fresh
    return chosen


def _draw(weights: np.ndarray, count: int, rng: Generator) -> list[int]:
    """Draw distinct rows in proportion to their weights."""
    total = np.cumsum(weights)
    places = np.searchsorted(total, rng.random(count) * total[-1], "right")
    return [int(x) for x in np.unique(np.minimum(places, weights.size - 1))]


def sums(objective: Objective, groups: np.ndarray, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Return ``totals`` and ``group_mass`` of groups of all rows."""
    points = objective.points
    totals = points.rows.totals(groups, points.weight, n_groups)
    return totals, objective.group_mass(totals, groups)


def _single_rows(objective: Objective, chosen: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of groups that are single rows."""
    alone = np.arange(len(chosen), dtype=np.int32)
    return sums(objective.subset(np.array(chosen)), alone, alone.size)


def merge(
    objective: Objective, totals: np.ndarray, group_mass: np.ndarray, n_clusters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge groups two at a time, at the least increase of the cost, until few enough are left."""
    energy = objective.energy(totals, group_mass)
    g = energy.size

    def rises(a: int, others: np.ndarray) -> np.ndarray:
        """Return by how much the cost rises when ``a`` is merged with each of some groups."""
        joined = objective.energy(
            totals[:, others] + totals[:, [a]], group_mass[..., others] + group_mass[..., [a]]
        )
        return energy[a] + energy[others] - joined

    table = np.full((g, g), np.inf)  # a pair is looked up at (smaller, larger)
    for a in range(g - 1):
        table[a, a + 1 :] = rises(a, np.arange(a + 1, g))
    live = np.ones(g, dtype=bool)
    while live.sum() > n_clusters:
        a, b = (int(place) for place in np.unravel_index(np.argmin(table), table.shape))
        totals[:, a] += totals[:, b]
        group_mass[..., a] += group_mass[..., b]
        live[b] = False
        table[b] = table[:, b] = np.inf
        energy[a] = objective.energy(totals[:, [a]], group_mass[..., [a]])[0]
        others = np.flatnonzero(live & (np.arange(g) != a))
        if others.size > 0:
            table[np.minimum(a, others), np.maximum(a, others)] = rises(a, others)
    totals, group_mass = totals[:, live], group_mass[..., live]
    missing = n_clusters - totals.shape[1]
    if missing > 0:  # fewer distinct rows than clusters: leave the rest empty
        totals = np.pad(totals, ((0, 0), (0, missing)))
        group_mass = np.pad(group_mass, (*(((0, 0),) * (group_mass.ndim - 1)), (0, missing)))
    return totals, group_mass


def refill(points: Points, groups: np.ndarray, values: np.ndarray, n_clusters: int) -> None:
    """Give every empty group the row that is worst placed, if any row is misplaced at all."""
    counts = np.bincount(groups, minlength=n_clusters)
    empty = np.flatnonzero(counts == 0)
    if empty.size == 0:
        return
    distance = points.mass * np.maximum(points.base + values, 0.0)
    for g in empty:
        x = int(np.argmax(np.where(counts[groups] > 1, distance, -1.0)))
        if distance[x] <= points.rounding * points.mass[x] * points.unit[x]:
            return
        counts[groups[x]] -= 1
        counts[g] += 1
        groups[x] = g
        distance[x] = 0.0


# -- rows in blocks ------------------------------------------------------------------------------


class RowModel(Protocol):
    """Makes the objective of any rows of labels; it travels to the workers."""

    def of(self, labels: np.ndarray) -> Objective:
        """Return the objective on some rows, in terms of sums over all rows."""


@dataclass(frozen=True)
class CentroidRule:
    """Rows of labels go to the group of the best score; few rows are given theirs."""

    model: RowModel
    centroids: Centroids
    rows: np.ndarray
    known: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return self.centroids.table.shape[1]

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        found = np.full(len(labels), -1, dtype=np.int32)
        self.model.of(labels).assign(self.centroids, found)
        low, high = np.searchsorted(self.rows, [first, first + len(labels)])
        found[self.rows[low:high] - first] = self.known[low:high]
        return found


@dataclass(frozen=True)
class BlockedRun:
    """Where the descent over all blocks ended."""

    rule: CentroidRule
    cost: float
    n_iter: int
    start_size: int


def minimise_in_blocks(
    blocks: RowSource,
    model: RowModel,
    n_clusters: int,
    *,
    sampling: SeedSequence,
    starts: Sequence[SeedSequence],
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    start_size: int,
    guess: Callable[[Objective, np.ndarray], np.ndarray] | None = None,
) -> BlockedRun:
    """Return what :func:`minimise` does, for rows of labels that are read in blocks.

    Starts are compared on a sample in memory; the best goes on with all rows, a pass over the
    blocks for each iteration. Only tables of D x K numbers come back from a pass.
    """
    rng = np.random.default_rng(sampling)
    n = len(blocks)
    chosen = np.arange(n)
    if n > start_size:
        chosen = np.sort(rng.choice(n, size=start_size, replace=False))
    labels = blocks[chosen]
    labels = labels[(labels >= 0).any(axis=1)]
    sample = model.of(labels)
    inside = None if guess is None else partial(guess, sample)
    how: dict[str, Any] = {"max_iter": max_iter, "tol": tol}
    best = best_start(sample, n_clusters, rng, starts, inside, n_jobs=n_jobs, **how)
    descent = _Descent(blocks, model, sample, rng)
    return descent.run(best.centroids, start_size=len(labels), **how)


class Improved(NamedTuple):
    """Where given groups ended, over all blocks; their cost before, and that of no groups."""

    rule: CentroidRule
    cost: float
    before: float
    total: float


def improve_in_blocks(
    blocks: RowSource,
    model: RowModel,
    rule: CentroidRule,
    *,
    seed: SeedSequence,
    max_iter: int,
    tol: float,
) -> Improved:
    """Return what :func:`improve` does for the groups of a rule of another model."""
    sample = model.of(blocks[np.arange(1)])
    descent = _Descent(blocks, model, sample, np.random.default_rng(seed))
    parts = blocks.workers.map(_summed_by, blocks, (rule, model, blocks.bounds))
    totals, mass, base = (sum(values[1:], values[0]) for values in zip(*parts, strict=True))
    cost = float(base - sample.energy(totals, mass).sum())
    if max_iter == 0:
        return Improved(rule, cost, cost, base)
    centroids = sample.centroids(totals, mass, descent.rng)
    run = descent.run(centroids, max_iter=max_iter, tol=tol, start_size=0)
    return Improved(run.rule, run.cost, cost, base)


class _Sums(NamedTuple):
    """What a pass over a block leaves: sums for the centroids, and its part of the cost."""

    totals: np.ndarray
    mass: np.ndarray
    counts: np.ndarray
    cost: float
    base: float


@dataclass(frozen=True)
class _Descent:
    blocks: RowSource
    model: RowModel
    sample: Objective
    rng: Generator

    def run(
        self, centroids: Centroids, *, max_iter: int, tol: float, start_size: int
    ) -> BlockedRun:
        """Alternate assignment and centroids, as :func:`descend` does, over all blocks."""
        previous, before = np.inf, None
        n_iter = 0
        while True:
            n_iter += 1
            sums, rule = self._pass(centroids)
            energy = self.sample.energy(sums.totals, sums.mass).sum()
            settled = before is not None and np.array_equal(before, sums.totals)
            stopped = n_iter >= max_iter or previous - sums.cost <= tol * abs(sums.cost)
            if settled or stopped:
                return BlockedRun(rule, float(sums.base - energy), n_iter, start_size)
            previous, before = sums.cost, sums.totals
            centroids = self.sample.centroids(sums.totals, sums.mass, self.rng)

    def _pass(self, centroids: Centroids) -> tuple[_Sums, CentroidRule]:
        """Assign all rows, and refill the groups that are left empty."""
        none = np.empty(0, dtype=np.int64)
        rule = CentroidRule(self.model, centroids, none, none)
        sums = self._sums(rule)
        empty = np.flatnonzero(sums.counts == 0)
        if empty.size == 0:
            return sums, rule
        parts = self.blocks.workers.map(_worst, self.blocks, (rule, self.blocks.bounds))
        rows, groups, distance, least = (
            np.concatenate([part[j] for part in parts]) for j in range(4)
        )
        counts, moved = sums.counts.copy(), {}
        for g in empty:
            x = int(np.argmax(np.where(counts[groups] > 1, distance, -1.0)))
            if distance[x] <= least[x]:
                break
            counts[groups[x]] -= 1
            counts[g] += 1
            moved[int(rows[x])], groups[x], distance[x] = int(g), g, 0.0
        if not moved:
            return sums, rule
        places = np.array(sorted(moved), dtype=np.int64)
        rule = CentroidRule(self.model, centroids, places, np.array([moved[x] for x in places]))
        refilled = self._sums(rule)
        return refilled._replace(cost=sums.cost), rule

    def _sums(self, rule: CentroidRule) -> _Sums:
        """Return the sums over all blocks, added in their order."""
        parts = self.blocks.workers.map(_summed, self.blocks, (rule, self.blocks.bounds))
        return _Sums(*(sum(values[1:], values[0]) for values in zip(*parts, strict=True)))


def _scored(
    i: int, labels: np.ndarray, rule: CentroidRule, bounds: np.ndarray
) -> tuple[Objective, np.ndarray, np.ndarray, np.ndarray]:
    """Return the objective of the rows of a block that are in clusters, groups, values, places."""
    inside = np.flatnonzero((labels >= 0).any(axis=1))
    objective = rule.model.of(labels if inside.size == len(labels) else labels[inside])
    groups = np.full(inside.size, -1, dtype=np.int32)
    values = objective.assign(rule.centroids, groups)[1]
    places = int(bounds[i]) + inside
    at = np.searchsorted(places, rule.rows)
    here = np.flatnonzero(
        (at < places.size) & (places[np.minimum(at, places.size - 1)] == rule.rows)
    )
    groups[at[here]] = rule.known[here]
    return objective, groups, values, places


def _summed(i: int, labels: np.ndarray, rule: CentroidRule, bounds: np.ndarray) -> _Sums:
    objective, groups, values, _ = _scored(i, labels, rule, bounds)
    points = objective.points
    return _Sums(
        *sums(objective, groups, rule.n_groups),
        np.bincount(groups, minlength=rule.n_groups),
        float(points.mass @ (points.base + values)),
        float(points.mass @ points.base),
    )


def _summed_by(
    i: int, labels: np.ndarray, rule: CentroidRule, model: RowModel, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the sums of a model over the groups of a rule of another model."""
    _, groups, _, places = _scored(i, labels, rule, bounds)
    objective = model.of(labels[places - int(bounds[i])])
    points = objective.points
    return *sums(objective, groups, rule.n_groups), float(points.mass @ points.base)


def _worst(
    i: int, labels: np.ndarray, rule: CentroidRule, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of a block that are worst placed: places, groups, distances, and least."""
    objective, groups, values, places = _scored(i, labels, rule, bounds)
    points = objective.points
    distance = points.mass * np.maximum(points.base + values, 0.0)
    # A stable order: of rows that are as bad the first is taken, as where all are in memory.
    worst = np.argsort(-distance, kind="stable")[: 2 * rule.n_groups]
    worst = np.sort(worst)
    least = points.rounding * points.mass * points.unit
    return places[worst], groups[worst], distance[worst], least[worst]
