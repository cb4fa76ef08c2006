"""Contingency tables of pairs of partitions: what every combinatorial measure is a function of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.ensemble.inputs import (
    first_difference,
    may_be_joined,
    read_partition,
    shared_index,
)

Noise = Literal["singletons", "cluster", "drop"]
POLICIES: tuple[str, ...] = ("singletons", "cluster", "drop")

# Cells that one batch of tables may need, 16 bytes each: few enough for memory to be reused.
_BATCH_CELLS = 1 << 18
_MAX_GB = 2.0  # of one dense table
# Points whose labels are read at a time when coverage is counted.
_COVERAGE_CHUNK = 1 << 14


def ratio(above: np.ndarray, below: np.ndarray, otherwise: float) -> np.ndarray:
    """Return ``above / below``, and ``otherwise`` where ``below`` is not positive."""
    filled = np.full(np.shape(below), float(otherwise))
    return np.divide(above, below, out=filled, where=np.asarray(below) > 0)


@dataclass(frozen=True)
class Statistics:
    """Sums over the cells, rows (a) and columns (b) of many tables, one entry per pair.

    ``clusters`` are numbers of non-empty ones, ``squares`` and ``logs`` sums of x**2 and x log x of
    their masses. ``own`` is the part of the squares that is a point paired with itself: the mass
    itself when the partitions are hard.
    """

    mass: np.ndarray
    cells: np.ndarray
    squares: np.ndarray
    logs: np.ndarray
    a_clusters: np.ndarray
    a_squares: np.ndarray
    a_logs: np.ndarray
    b_clusters: np.ndarray
    b_squares: np.ndarray
    b_logs: np.ndarray
    own: np.ndarray
    a_own: np.ndarray
    b_own: np.ndarray

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs of points."""
        return self.mass * (self.mass - 1.0) / 2.0

    @property
    def together(self) -> np.ndarray:
        """Pairs together in both partitions."""
        return (self.squares - self.own) / 2.0

    @property
    def a_together(self) -> np.ndarray:
        """Pairs together in the first partition."""
        return (self.a_squares - self.a_own) / 2.0

    @property
    def b_together(self) -> np.ndarray:
        """Pairs together in the second partition."""
        return (self.b_squares - self.b_own) / 2.0

    @property
    def identical(self) -> np.ndarray:
        """Whether the two partitions are the same on the points compared."""
        return (self.cells == self.a_clusters) & (self.cells == self.b_clusters)

    @cached_property
    def _scale(self) -> np.ndarray:
        return np.where(self.mass > 0, self.mass, 1.0)

    def _entropy(self, logs: np.ndarray, clusters: np.ndarray) -> np.ndarray:
        value = np.log(self._scale) - logs / self._scale
        return np.where(clusters > 1, np.maximum(value, 0.0), 0.0)

    @cached_property
    def a_entropy(self) -> np.ndarray:
        """Entropy of the first partition, in nats."""
        return self._entropy(self.a_logs, self.a_clusters)

    @cached_property
    def b_entropy(self) -> np.ndarray:
        """Entropy of the second partition, in nats."""
        return self._entropy(self.b_logs, self.b_clusters)

    @cached_property
    def joint_entropy(self) -> np.ndarray:
        """Entropy of the cells, in nats."""
        return self._entropy(self.logs, self.cells)

    @cached_property
    def information(self) -> np.ndarray:
        """Mutual information, in nats."""
        raw = np.log(self._scale) + (self.logs - self.a_logs - self.b_logs) / self._scale
        some = (self.a_clusters > 1) & (self.b_clusters > 1)
        value = np.where(some, np.maximum(raw, 0.0), 0.0)
        # Exactly the entropy, so that a partition has distance 0 from itself.
        return np.where(self.identical, self.a_entropy, value)

    @cached_property
    def variation(self) -> np.ndarray:
        """Variation of information, in nats; exactly 0 for equal partitions."""
        raw = (self.a_logs + self.b_logs - 2.0 * self.logs) / self._scale
        return np.where(self.identical, 0.0, np.maximum(raw, 0.0))

    def swapped(self) -> Statistics:
        """Return the statistics with the roles of the partitions exchanged."""
        return replace(
            self,
            a_clusters=self.b_clusters,
            a_squares=self.b_squares,
            a_logs=self.b_logs,
            a_own=self.b_own,
            b_clusters=self.a_clusters,
            b_squares=self.a_squares,
            b_logs=self.a_logs,
            b_own=self.a_own,
        )


@dataclass(frozen=True, eq=False)
class Tables:
    """The non-empty cells of many tables, with the noise policy applied.

    Cells ``starts[p]:starts[p + 1]`` belong to pair p. Row or column -1 holds points that are
    clusters of their own. ``sizes`` (m, 2) counts rows and columns; those from ``matchable`` on
    are single noise points. ``total`` is the weight of all points, compared or not.
    """

    starts: np.ndarray
    rows: np.ndarray
    cols: np.ndarray
    mass: np.ndarray
    sizes: np.ndarray
    matchable: np.ndarray
    total: float
    whole: bool
    own: np.ndarray | None = None

    def __len__(self) -> int:
        return self.starts.size - 1

    @cached_property
    def statistics(self) -> Statistics:
        """The sums that most measures are made of."""
        out = np.empty((len(self), kernels.pairs.N_SUMS))
        known = kernels.pairs.XLOGX
        kernels.pairs.sums(*self.cells, self.sizes, self.whole, known, out)
        if self.own is None:
            return Statistics(*out.T, *np.repeat(out[:, :1], 3, axis=1).T)
        own = self.own.copy()
        # Sums of memberships are whole but for rounding, and the pairs of a single point are not
        # quite zero: ratios of what rounding leaves could be anything.
        mass = out[:, :1]
        mass[:] = np.where(np.abs(mass - np.rint(mass)) <= 1e-12 * mass, np.rint(mass), mass)
        squares = out[:, [2, 5, 8]]
        nothing = squares - own <= 4e-15 * mass**2
        own[nothing] = squares[nothing]
        return Statistics(*out.T, *own.T)

    @property
    def cells(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return starts, rows, columns and masses, as the kernels take them."""
        return self.starts, self.rows, self.cols, self.mass

    @property
    def coverage(self) -> np.ndarray:
        """Share of the points (by weight) that each pair compares."""
        return np.minimum(self.statistics.mass / self.total, 1.0)

    def swapped(self) -> Tables:
        """Return the tables transposed; nothing is counted again."""
        other = replace(
            self,
            rows=self.cols,
            cols=self.rows,
            sizes=np.ascontiguousarray(self.sizes[:, ::-1]),
            matchable=np.ascontiguousarray(self.matchable[:, ::-1]),
            own=None if self.own is None else self.own[:, [0, 2, 1]],
        )
        other.__dict__["statistics"] = self.statistics.swapped()
        return other

    def dense(self, p: int) -> np.ndarray:
        """Return the table of pair p as an array, without the points that are alone."""
        height, width = (int(size) for size in self.matchable[p])
        need = 8e-9 * height * width
        if need > _MAX_GB:
            raise MemoryLimitError(
                f"a table of {height:,} by {width:,} clusters",
                need,
                _MAX_GB,
                parameter=None,
                remedies=["use a pair-counting or information measure, which need no such table"],
            )
        part = slice(self.starts[p], self.starts[p + 1])
        rows, cols = self.rows[part], self.cols[part]
        inside = (rows >= 0) & (cols >= 0) & (rows < height) & (cols < width)
        table = np.zeros((height, width))
        table[rows[inside], cols[inside]] = self.mass[part][inside]
        return table


@dataclass(frozen=True, eq=False)
class Columns:
    """Partitions in the form that the kernels read: one contiguous row of codes each."""

    codes: np.ndarray
    n_clusters: np.ndarray
    weights: np.ndarray | None
    soft: dict[int, sparse.csr_matrix]
    total: float
    whole: bool

    @classmethod
    def of(cls, *ensembles: Ensemble, sample_weight: np.ndarray) -> Columns:
        """Return the partitions of all ensembles, with the weights of the points."""
        unit = bool((sample_weight == 1).all())
        if not unit and ((sample_weight > 0) & (sample_weight < 1)).any():
            lowest = float(sample_weight[sample_weight > 0].min())
            raise ValueError(
                "comparing partitions reads sample_weight as the number of equal points that a "
                f"point represents: 0, or at least 1; got {lowest:g}. Divide the weights by the "
                "smallest of them."
            )
        soft: dict[int, sparse.csr_matrix] = {}
        offset = 0
        for ensemble in ensembles:
            soft.update({offset + i: matrix for i, matrix in ensemble.soft.items()})
            offset += ensemble.n_partitions
        columns = [ensemble.labels.T for ensemble in ensembles]
        return cls(
            np.ascontiguousarray(columns[0] if len(columns) == 1 else np.concatenate(columns)),
            np.concatenate([e.n_clusters for e in ensembles]),
            None if unit else np.ascontiguousarray(sample_weight),
            soft,
            float(sample_weight.sum()),
            bool((sample_weight == np.rint(sample_weight)).all()),
        )

    def batches(self, pairs: np.ndarray) -> Iterator[np.ndarray]:
        """Yield positions of ``pairs`` whose tables fit into memory together.

        The pairs of a batch are all hard, or all have a soft partition.
        """
        is_soft = np.isin(pairs, list(self.soft)).any(axis=1)
        for group in (np.flatnonzero(~is_soft), np.flatnonzero(is_soft)):
            yield from _batches(group, self._capacity(pairs[group]))

    def _capacity(self, pairs: np.ndarray) -> np.ndarray:
        """Return how many cells each pair's table can have at most."""
        sizes = self.n_clusters[pairs] + 1
        return np.minimum(sizes[:, 0] * sizes[:, 1], self.codes.shape[1])

    def tables(self, pairs: np.ndarray, noise: str) -> Tables:
        """Return the tables of one batch of pairs (m, 2)."""
        if np.isin(pairs, list(self.soft)).any():
            return _joined([self._soft_table(int(i), int(j), noise) for i, j in pairs])
        capacity = int(self._capacity(pairs).sum()) + 1
        starts = np.empty(len(pairs) + 1, dtype=np.int64)
        rows, cols = np.empty((2, capacity), dtype=np.int32)
        mass = np.empty(capacity)
        counts = kernels.pairs.scratch(self.n_clusters, self.weights is not None)
        labelled = (self.codes, self.n_clusters, pairs, self.weights)
        policy = POLICIES.index(noise)
        kernels.pairs.tables(*labelled, policy, counts, starts, rows, cols, mass)
        sizes = self.n_clusters[pairs] + (noise == "cluster")
        return Tables(starts, rows, cols, mass, sizes, sizes, self.total, self.whole)

    def _soft_table(self, i: int, j: int, noise: str) -> Tables:
        """Return the table of expected masses: the product of the two memberships."""
        codes = self.codes[[i, j]]
        points = np.flatnonzero((codes != UNSAMPLED).all(axis=0))
        if noise == "drop":
            points = points[(codes[:, points] != NOISE).all(axis=0)]
        weights = np.ones(points.size) if self.weights is None else self.weights[points]
        alone = (codes[:, points] == NOISE).any(axis=0)
        if noise == "singletons" and (weights[alone] != 1).any():
            raise ValueError(
                "a noise point with a weight cannot be a cluster of its own next to a soft "
                "partition; use noise='cluster' or noise='drop'."
            )
        left, right = (self._membership(c, points, noise) for c in (i, j))
        table = sparse.coo_matrix((left.T.multiply(weights)).tocsr() @ right)
        squares = [np.asarray(m.multiply(m).sum(axis=1)).ravel() for m in (left, right)]
        own = [weights @ (squares[0] * squares[1]), weights @ squares[0], weights @ squares[1]]
        matchable = self.n_clusters[[i, j]] + (noise == "cluster")
        return Tables(
            np.array([0, table.nnz]),
            table.row,
            table.col,
            table.data,
            np.array([table.shape]),
            matchable[None, :],
            self.total,
            False,
            np.array([own]),
        )

    def _membership(self, i: int, points: np.ndarray, noise: str) -> sparse.csr_matrix:
        """Return the membership of some points, with columns for noise as ``noise`` wants them."""
        codes, k = self.codes[i][points], int(self.n_clusters[i])
        if i in self.soft:
            inside = self.soft[i][points].tocoo()
            share = np.bincount(inside.row, weights=inside.data, minlength=points.size)
            row, col, value = inside.row, inside.col, inside.data / share[inside.row]
        else:
            row = np.flatnonzero(codes >= 0)
            col, value = codes[row].astype(np.int64), np.ones(row.size)
        noisy = np.flatnonzero(codes == NOISE)
        extra = np.zeros(noisy.size, int) if noise == "cluster" else np.arange(noisy.size)
        entries: Any = (
            np.concatenate([value, np.ones(noisy.size)]),
            (np.concatenate([row, noisy]), np.concatenate([col, k + extra])),
        )
        width = k + (1 if noise == "cluster" else noisy.size)
        return sparse.csr_matrix(entries, shape=(points.size, width))


@dataclass(frozen=True, eq=False)
class GramColumns:
    """Partitions of an ensemble in blocks, by the table of all pairs of their clusters."""

    gram: np.ndarray
    n_clusters: np.ndarray
    extra: int  # 1 where the noise of a partition is one more cluster of the table, its first
    n_points: int

    @classmethod
    def of(cls, ensemble: BlockedEnsemble) -> GramColumns:
        """Count all pairs of clusters in one pass over the blocks."""
        noise = ensemble.has_noise
        gram = ensemble.gram(with_noise=noise)
        return cls(gram, ensemble.n_clusters, int(noise), ensemble.n_points)

    def clusters(self) -> np.ndarray:
        """Return the table of the clusters alone, without noise."""
        if not self.extra:
            return self.gram
        noise = np.concatenate([[0], np.cumsum(self.n_clusters + 1)[:-1]])
        return np.delete(np.delete(self.gram, noise, axis=0), noise, axis=1)

    def batches(self, pairs: np.ndarray) -> Iterator[np.ndarray]:
        """Yield positions of pairs as :meth:`Columns.batches` does, so that sums are the same."""
        sizes = self.n_clusters[pairs] + 1
        capacity = np.minimum(sizes[:, 0] * sizes[:, 1], self.n_points)
        yield from _batches(np.arange(len(pairs)), capacity)

    def tables(self, pairs: np.ndarray, noise: str) -> Tables:
        """Return the tables of one batch of pairs (m, 2)."""
        starts = np.concatenate([[0], np.cumsum(self.n_clusters + self.extra)])
        skipped = self.extra if noise == "drop" else 0
        cells = []
        for pair in pairs:
            here, there = (slice(starts[p] + skipped, starts[p + 1]) for p in pair)
            table = self.gram[here, there]
            sides = zip(np.nonzero(table), pair, strict=True)
            codes = [self._codes(found, p, noise, skipped) for found, p in sides]
            cells.append((*codes, table[table != 0]))
        left, right, mass = (np.concatenate(part) for part in zip(*cells, strict=True))
        ends = np.concatenate([[0], np.cumsum([len(mass) for *_, mass in cells])])
        sizes = self.n_clusters[pairs] + (noise == "cluster")
        whole = True  # points have no weights
        return Tables(ends, left, right, mass, sizes, sizes, float(self.n_points), whole)

    def _codes(self, places: np.ndarray, p: int, noise: str, skipped: int) -> np.ndarray:
        """Return rows or columns of a table as :class:`Tables` numbers them."""
        codes = places + skipped - self.extra
        if noise == "cluster":  # the last one there
            codes[codes < 0] = self.n_clusters[p]
        return codes.astype(np.int32)


def _counted(i: int, labels: np.ndarray, lowest: int) -> np.ndarray:
    """Return the points of a block that each two partitions both count."""
    counted = (labels > lowest).astype(np.float64)
    return counted.T @ counted


def _batches(group: np.ndarray, capacity: np.ndarray) -> Iterator[np.ndarray]:
    """Split positions of pairs where their tables, of so many cells, would be too many at once."""
    filled = np.cumsum(capacity)
    limits = np.arange(_BATCH_CELLS, filled[-1:].sum(), _BATCH_CELLS)
    cuts = np.unique(np.searchsorted(filled, limits))
    yield from (batch for batch in np.split(group, cuts) if batch.size)


def columns_of(ensemble: Ensemble, *, unit: float = 1.0) -> Columns | GramColumns:
    """Return the partitions of an ensemble, in memory or in blocks, as tables are made of them.

    The points have the weights of the ensemble, in units of ``unit``; in blocks they have none.
    """
    if isinstance(ensemble, BlockedEnsemble):
        return GramColumns.of(ensemble)
    return Columns.of(ensemble, sample_weight=ensemble.sample_weight / unit)


def _joined(parts: list[Tables]) -> Tables:
    """Return the tables of several soft pairs as one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    return Tables(
        np.concatenate([[0], np.cumsum([part.mass.size for part in parts])]),
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.cols for part in parts]),
        np.concatenate([part.mass for part in parts]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.matchable for part in parts]),
        first.total,
        first.whole,
        np.concatenate([part.own for part in parts if part.own is not None]),
    )


# ---- two partitions --------------------------------------------------------------------------


def two_partitions(a: Any, b: Any, sample_weight: Any = None) -> Ensemble:
    """Return two partitions as an ensemble, or say what is wrong with them."""
    for name, vector in (("a", a), ("b", b)):
        countable = hasattr(vector, "__iter__") and getattr(vector, "ndim", 1) > 0
        if not countable or isinstance(vector, (str, bytes, Mapping, set, frozenset)):
            raise TypeError(
                f"{name} must be a label vector (or an (n, k) membership); got "
                f"{type(vector).__name__}."
            )
    shared_index([a, b])  # refuses Series of different points
    return Ensemble([read_partition(a, "a"), read_partition(b, "b")], sample_weight=sample_weight)


def check_same_points(features: Any, index: pd.Index | None) -> None:
    """Refuse features whose index names other points than that of the partitions, or in disorder.

    An index that only counts the rows names no points, unless the other one holds the same numbers
    in another order.
    """
    if index is None or not isinstance(features, (pd.DataFrame, pd.Series)):
        return
    named = features.index
    if may_be_joined(named, index):
        return
    row, mine, theirs = first_difference(named, index)
    raise ValueError(
        "features and the partitions have different indexes: row "
        f"{row} of features is {mine}, and the partitions have {theirs} there. They "
        "must be the same points in the same order: pass features.loc[index], the index being that "
        "of the partitions, or features.to_numpy() where the order is right."
    )


def two_columns(a: Any, b: Any, sample_weight: Any = None) -> tuple[Ensemble, Columns]:
    """Return two partitions as an ensemble and in the form that the kernels read."""
    ensemble = two_partitions(a, b, sample_weight)
    return ensemble, Columns.of(ensemble, sample_weight=ensemble.sample_weight)


def contingency_table(a: Any, b: Any, *, sample_weight: Any = None) -> pd.DataFrame:
    """Count the points that every cluster of ``a`` shares with every cluster of ``b``.

    Parameters
    ----------
    a, b : array-like
        Two partitions of the same points: label vectors of any hashable type, or (n, k) soft
        memberships, whose cells are expected numbers. Points that are unsampled (-2) in either are
        in no cell.
    sample_weight : (n,) array, optional
        Number of equal points that each point represents: 0, or at least 1.

    Returns
    -------
    pandas.DataFrame
        One row per cluster of ``a`` and one column per cluster of ``b``, by their labels; noise,
        where there is any, is the last row or column, -1.

    See Also
    --------
    pairwise : Measures of all pairs of partitions.

    Examples
    --------
    >>> from clusterscape.compare import contingency_table
    >>> contingency_table(["x", "x", "y", "y"], [0, 1, 1, -1])
       0  1 -1
    x  1  1  0
    y  0  1  1
    """
    ensemble, columns = two_columns(a, b, sample_weight)
    tables = columns.tables(np.array([[0, 1]]), "cluster")
    table = tables.dense(0)
    sides = []
    for i in range(2):
        known = ensemble.categories[i]
        k = int(ensemble.n_clusters[i])
        has_noise = bool((ensemble.labels[:, i] == -1).any())
        sides.append([*(range(k) if known is None else known), *([-1] if has_noise else [])])
    table = table[: len(sides[0]), : len(sides[1])]
    # Weights that are whole numbers may be larger than any integer.
    whole = tables.whole and table.max(initial=0.0) < 2.0**63
    counts = table.astype(np.int64) if whole else table
    axes = [pd.Index(side, tupleize_cols=False) for side in sides]
    return pd.DataFrame(counts, index=axes[0], columns=axes[1])


def coverage(ensemble: Ensemble, noise: str) -> np.ndarray:
    """Return the (r, r) shares of the points, by weight, that each two partitions both count."""
    r = ensemble.n_partitions
    dropped = noise == "drop" and ensemble.has_noise
    if ensemble.is_complete and not dropped:
        return np.ones((r, r))
    lowest = NOISE if dropped else UNSAMPLED
    if isinstance(ensemble, BlockedEnsemble):
        parts = ensemble.blocks.workers.map(_counted, ensemble.blocks, (lowest,))
        return np.minimum(np.sum(parts, axis=0) / ensemble.n_points, 1.0)
    weights, shared = ensemble.sample_weight, np.zeros((r, r))
    for start in range(0, ensemble.n_points, _COVERAGE_CHUNK):
        part = slice(start, start + _COVERAGE_CHUNK)
        counted = (ensemble.labels[part] > lowest).astype(np.float64)
        shared += (counted * weights[part, None]).T @ counted
    return np.minimum(shared / weights.sum(), 1.0)
