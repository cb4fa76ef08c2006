"""One-point moves towards the median of partitions: costs, tables, and sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from clusterscape import kernels
from clusterscape._core.labels import NOISE, UNSAMPLED, canonical
from clusterscape.compare import Measure
from clusterscape.compare.tables import Columns, Statistics, Tables
from clusterscape.ensemble import Ensemble

# Pair-counting distances whose sum over partitions is a weighted Mirkin distance.
_MIRKIN = ("mirkin", "rand_distance", "pair_accuracy")
# Measures that are functions of a table's sums, which a move changes in O(1).
_SUMS = (
    "adjusted_rand",
    "jaccard_distance",
    "fowlkes_mallows",
    "mutual_information",
    "nmi",
    "vi",
    "nvi",
    "information_distance",
)
# Moves times partitions for which a sweep may update sums, and labels that it may recount.
_MOST_MOVES = 300_000_000
_MOST_LABELS = 2_000_000_000
# Numbers that a step of a sweep may hold.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Costs:
    """The objective: weighted sums of distances from candidates to the inputs."""

    ensemble: Ensemble
    distance: str | Callable[[Any, Any], float]
    measure: Measure | None
    features: Any
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, candidates: np.ndarray) -> np.ndarray:
        """Return the cost of each column of labels."""
        k, r = candidates.shape[1], self.ensemble.n_partitions
        if self.measure is None:
            assert callable(self.distance)
            inputs = [self.ensemble.soft.get(i, c) for i, c in enumerate(self.ensemble.labels.T)]
            values = np.array(
                [float(self.distance(mine, its)) for mine in candidates.T for its in inputs]
            )
            return self.summed(values.reshape(k, r))
        values = np.empty(k * r)
        if self.measure.needs_features:
            both = Ensemble.from_labels(candidates, orient="columns").concat(self.ensemble)
            values = self.measure.in_space(both, self.features, _pairs(k, r), **self.options)
        else:
            for batch, tables in self._tables(candidates):
                values[batch] = self.measure.values(tables, **self.options)
        return self.summed(values.reshape(k, r))

    def _tables(self, candidates: np.ndarray) -> Iterator[tuple[np.ndarray, Tables]]:
        """Yield the tables of every candidate with every input, some at a time."""
        if self.measure is not None and self.ensemble.is_soft and not self.measure.soft:
            self.measure.refuse_soft()
        mine = Ensemble.from_labels(candidates, orient="columns")
        columns = Columns.of(mine, self.ensemble, sample_weight=self.ensemble.sample_weight)
        pairs = _pairs(candidates.shape[1], self.ensemble.n_partitions)
        for batch in columns.batches(pairs):
            yield batch, columns.tables(pairs[batch], "singletons")

    def sums(self, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums (r, 10) of the tables of a grouping, and what does not change (r, 3)."""
        found = np.empty((self.ensemble.n_partitions, len(fields(Statistics))))
        for batch, tables in self._tables(groups[:, None]):
            columns = [getattr(tables.statistics, f.name) for f in fields(Statistics)]
            found[batch] = np.column_stack(columns)
        return np.ascontiguousarray(found[:, : kernels.median.N_SUMS]), found[:, -3:]

    def of_sums(self, sums: np.ndarray, own: np.ndarray) -> np.ndarray:
        """Return the cost of candidates (..., r, 10) whose tables have these sums."""
        assert self.measure is not None
        flat = sums.reshape(-1, sums.shape[-1])
        same = np.broadcast_to(own, (*sums.shape[:-1], 3)).reshape(-1, 3)
        none = np.empty(0, dtype=np.int64)
        tables = Tables(none, none, none, np.empty(0), none, none, 1.0, False)
        tables.__dict__["statistics"] = Statistics(*flat.T, *same.T)
        found = self.measure.values(tables, **self.options)
        return self.summed(found.reshape(sums.shape[:-1]))

    def summed(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted sums of values (..., r) as distances; nothing in common is none."""
        if self.measure is not None and self.measure.direction == "similarity":
            values = (self.measure.identity or 0.0) - values
        return np.nan_to_num(values, nan=0.0) @ self.ensemble.weights


def _pairs(k: int, r: int) -> np.ndarray:
    """Return the pairs of k candidates, which come first, with r inputs."""
    return np.column_stack([np.repeat(np.arange(k), r), k + np.tile(np.arange(r), k)])


class Moves:
    """The tables of a grouping and the ensemble, in the form that the kernels read and update."""

    def __init__(self, ensemble: Ensemble, weights: np.ndarray, *, most: int) -> None:
        self.most = most
        labels = ensemble.labels.copy()
        soft = sorted(ensemble.soft)
        labels[:, soft] = np.where(labels[:, soft] == UNSAMPLED, UNSAMPLED, NOISE)
        blocks = np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters)
        inside = np.flatnonzero(np.isin(blocks, soft))
        start = np.zeros(ensemble.n_points + 1, dtype=np.int64)
        column, value = np.empty(0, dtype=np.int64), np.empty(0)
        if soft:
            entries = ensemble.membership().matrix[:, inside]
            start, value = entries.indptr.astype(np.int64), entries.data
            column = inside[entries.indices]
        rows = (labels, ensemble.offsets, start, column, value, blocks[column])
        self.evidence = (rows, np.ascontiguousarray(weights), ensemble.sample_weight)
        self.width = int(ensemble.offsets[-1])

    def fill(self, groups: np.ndarray, n_groups: int) -> None:
        """Count the tables of a grouping, with columns for this many groups."""
        rows, weights, sizes = self.evidence
        self.table = np.empty((self.width, n_groups))
        self.mass = np.empty((weights.size, n_groups))
        self.counts = np.empty(n_groups, dtype=np.int64)
        kernels.median.fill(rows, sizes, groups, self.table, self.mass, self.counts)

    def fill_with_spare_columns(self, groups: np.ndarray, *, fixed: bool) -> None:
        """Renumber the groups, and keep spare columns for those that a sweep may open."""
        groups[:] = canonical(groups, self.evidence[2])
        k = int(groups.max()) + 1
        width = min(k + max(k // 4, 4), groups.size + 1, max(self.most, k))
        self.fill(groups, k if fixed else width)

    @property
    def tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the tables as the kernels take them."""
        return self.table, self.mass, self.counts

    def move(self, x: int, old: int, new: int) -> None:
        """Move a point from one group to another."""
        rows, _, sizes = self.evidence
        kernels.median.shift(rows, x, old, -sizes[x], self.table, self.mass)
        kernels.median.shift(rows, x, new, sizes[x], self.table, self.mass)
        self.counts[old] -= 1
        self.counts[new] += 1

    def completed(self, groups: np.ndarray, *, fixed: bool) -> np.ndarray:
        """Return the grouping with its noise and unsampled points where they disagree least.

        Unless the number of groups is fixed, a point that no group attracts stays alone, with -1.
        """
        groups = canonical(groups)
        if (groups < 0).any():
            self.fill(groups, int(groups.max()) + 1)
            kernels.median.place(*self.evidence, groups, *self.tables, not fixed)
        return groups

    def resized(self, groups: np.ndarray, k: int) -> np.ndarray:
        """Return the grouping with k groups, by what raises the sum of Mirkin distances least."""
        self.fill(groups, int(groups.max()) + 1)
        groups = self._merged(groups, k)
        while groups.max() + 1 < k:
            self.fill(groups, int(groups.max()) + 1)
            x = kernels.median.cheapest_to_leave(*self.evidence, groups, *self.tables)
            groups[x] = groups.max() + 1
        return canonical(groups, self.evidence[2])

    def _merged(self, groups: np.ndarray, k: int) -> np.ndarray:
        rows, weights, sizes = self.evidence
        column = np.repeat(weights, np.diff(rows[1]))
        between = (self.mass.T * weights) @ self.mass - 2.0 * (self.table.T * column) @ self.table
        np.fill_diagonal(between, np.inf)
        for _ in range(len(between) - k):
            a, b = sorted(np.unravel_index(int(np.argmin(between)), between.shape))
            groups = np.where(groups == b, a, groups)
            between[a] += between[b]
            between[:, a] += between[:, b]
            between[b] = between[:, b] = np.inf
        return canonical(groups, sizes)


def searcher(costs: Costs, n_groups: int, *, fixed: bool, most: int) -> Callable[[np.ndarray], int]:
    """Return the function that sweeps once over the points, in the cheapest way for the distance.

    Unless the number of groups is ``fixed``, moves may open groups up to ``most``.
    """
    name = costs.distance if isinstance(costs.distance, str) else ""
    ensemble = costs.ensemble
    n, weights = ensemble.n_points, ensemble.weights
    if name in ("rand_distance", "pair_accuracy"):
        # The Rand distance is the Mirkin distance over twice the pairs that were sampled.
        seen = (ensemble.labels != UNSAMPLED).T @ ensemble.sample_weight
        pairs = np.maximum(seen * (seen - 1.0), 0.0)
        scale = np.divide(pairs.max(initial=1.0), pairs, out=np.zeros(pairs.size), where=pairs > 0)
        weights = weights * scale
    moves = Moves(ensemble, weights, most=most)
    if name in _MIRKIN:
        return lambda groups: _mirkin_sweep(moves, groups, fixed=fixed)
    work = n * ensemble.n_partitions * n_groups
    by_sums = name in _SUMS
    if work > _MOST_MOVES if by_sums else work * n > _MOST_LABELS:
        raise ValueError(
            f"distance={name or costs.distance!r} with local_search=True would take too long on "
            f"{n:,} distinct rows, {ensemble.n_partitions} partitions and {n_groups} clusters. Use "
            "distance='mirkin', whose moves are look-ups, or local_search=False for the best of "
            "the inputs."
        )
    kind = _BySums if by_sums else _ByCounting
    return lambda groups: _sweep(kind(moves, costs, groups, fixed=fixed), groups, fixed=fixed)


def _mirkin_sweep(moves: Moves, groups: np.ndarray, *, fixed: bool) -> int:
    moves.fill_with_spare_columns(groups, fixed=fixed)
    return int(kernels.median.mirkin_sweep(*moves.evidence, groups, *moves.tables, not fixed))


class _ByCounting:
    """Costs of moves for any measure: every candidate's tables are counted."""

    step = 1

    def __init__(self, moves: Moves, costs: Costs, groups: np.ndarray, *, fixed: bool) -> None:
        moves.fill_with_spare_columns(groups, fixed=fixed)
        self.moves, self.costs, self.groups = moves, costs, groups

    def prices(self, points: np.ndarray) -> np.ndarray:
        """Return the cost after moving each of some points to each group."""
        found = np.empty((points.size, self.moves.counts.size))
        for p, x in enumerate(points):
            candidates = np.tile(self.groups[:, None], found.shape[1])
            candidates[x] = np.arange(found.shape[1])
            found[p] = self.costs(candidates)
        return found

    def move(self, x: int, group: int) -> None:
        """Move a point, and keep the tables right."""
        self.moves.move(x, int(self.groups[x]), group)
        self.groups[x] = group


class _BySums(_ByCounting):
    """Costs of moves for measures of sums over the tables, which are updated."""

    def __init__(self, moves: Moves, costs: Costs, groups: np.ndarray, *, fixed: bool) -> None:
        super().__init__(moves, costs, groups, fixed=fixed)
        self.sums, self.own = costs.sums(groups)
        self.step = max(1, _CHUNK // (moves.counts.size * self.sums.size))

    def _after(self, points: np.ndarray) -> np.ndarray:
        rows, _, sizes = self.moves.evidence
        table, mass, counts = self.moves.tables
        out = np.empty((points.size, counts.size, *self.sums.shape))
        kernels.median.move_sums(rows, sizes, points, self.groups, table, mass, self.sums, out)
        return out

    def prices(self, points: np.ndarray) -> np.ndarray:
        """Return the cost after moving each of some points to each group."""
        return self.costs.of_sums(self._after(points), self.own)

    def move(self, x: int, group: int) -> None:
        """Move a point, and keep the tables and sums right."""
        self.sums = self._after(np.array([x]))[0, group]
        super().move(x, group)


def _sweep(state: _ByCounting, groups: np.ndarray, *, fixed: bool) -> int:
    """Move every point once to the group where the cost is least; return how many moved."""
    moved = 0
    counts = state.moves.counts
    for start in range(0, groups.size, state.step):
        points = np.arange(start, min(start + state.step, groups.size))
        before = moved
        for x, price in zip(points, state.prices(points), strict=True):
            tolerance = 1e-9 * max(abs(price[groups[x]]), 1.0)
            if price.min() >= price[groups[x]] - tolerance:
                continue
            # Prices of a step are those of its beginning: after a move they are asked for again.
            now = price if moved == before else state.prices(np.array([x]))[0]
            lone = counts[groups[x]] == 1
            open_to = counts > 0
            if not fixed and not lone and not open_to.all():
                open_to[np.argmin(open_to)] = True  # one empty group is as good as another
            allowed = np.where(open_to & (not (fixed and lone)), now, np.inf)
            best = int(np.argmin(allowed))
            if allowed[best] < now[groups[x]] - tolerance:
                state.move(int(x), best)
                moved += 1
    return moved
