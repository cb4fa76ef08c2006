"""An ensemble whose labels stay in files, block by block of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import get_config

from clusterscape import kernels
from clusterscape._core.block_files import JoinedColumns, SomeColumns
from clusterscape._core.labels import NOISE, UNSAMPLED, smallest_type
from clusterscape._core.rows import MappedRows, RowSource
from clusterscape._core.weights import checked_weights
from clusterscape.ensemble.ensemble import (
    _PROBE,
    Compressed,
    Ensemble,
    _chosen,
    _count,
    _unique_names,
)
from clusterscape.ensemble.inputs import Partition, frozen
from clusterscape.ensemble.records import PartitionRecord

_TABLES = 8  # of D x D numbers, or distinct rows of so many blocks, that are held at once
_BESIDE = 64  # bytes for each distinct row beside its labels: weights, and tables to look it up


class BlockedLabelsError(ValueError):
    """Something needs the labels of all points in memory, but they are in blocks.

    Examples
    --------
    >>> from clusterscape.ensemble import BlockedLabelsError
    >>> issubclass(BlockedLabelsError, ValueError)
    True
    """


class BlockedEnsemble(Ensemble):
    """Clusterings of more points than one would hold in memory; the labels stay in blocks.

    :meth:`~clusterscape.generate.EnsembleGenerator.generate` gives one for rows that are read in
    blocks (:func:`clusterscape.io.open_rows`, Dask and Zarr arrays). Sizes of clusters, tables of
    two partitions, selections, samples of points, distinct rows, and most consensus methods work
    block by block. ``labels`` itself, and all that needs it, is refused with the
    memory that it would take; :meth:`gather` returns an ordinary ensemble where that is meant.

    Methods that are not described here are those of :class:`Ensemble`.

    Attributes
    ----------
    blocks : RowSource
        The labels: ``blocks[rows]`` are those of some points, ``blocks.to_dask()`` a Dask array.
    n_clusters, offsets, weights, names, records
        As in :class:`Ensemble`. Points have no weights and no ids, and no partition is soft.

    See Also
    --------
    Ensemble : All labels in memory.
    clusterscape.io.open_rows : Features in blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import restarts
    >>> from clusterscape.io import open_rows
    >>> X = np.random.default_rng(0).normal(size=(30_000, 2))
    >>> rows = open_rows(X, block_rows=8192)
    >>> generator = restarts(3, n_clusters=4, rows=("sample", 2000), random_state=0)
    >>> ensemble = generator.generate(rows)
    >>> ensemble
    BlockedEnsemble(30,000 points, 3 partitions with 4 clusters, 4 blocks)
    >>> ensemble.subset([5, 20_000]).shape
    (2, 3)
    """

    blocks: RowSource

    def __init__(  # noqa: D107
        self,
        blocks: RowSource,
        n_clusters: Any,
        *,
        sizes: np.ndarray,
        lowest: np.ndarray,
        records: Sequence[PartitionRecord],
        names: Sequence[str] | None = None,
        weights: Any = None,
    ) -> None:
        count = blocks.shape[1]
        self.blocks = blocks
        self.n_clusters = frozen(np.array(n_clusters, dtype=np.int64))
        self.offsets = frozen(np.concatenate([[0], np.cumsum(self.n_clusters)]))
        self.soft = {}
        self.categories = (None,) * count
        self.names = _unique_names(names or [f"p{i}" for i in range(count)])
        self.weights = frozen(checked_weights(weights, count, name="weights", each="partition"))
        # One number stands for all: nothing is stored for the points.
        self.sample_weight = np.broadcast_to(np.float64(1.0), (blocks.shape[0],))
        self.records = tuple(records)
        self._counted, self.index = True, None
        self._sizes, self._lowest = sizes, lowest
        self._built = True

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "sample_weight"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        weight = np.broadcast_to(np.float64(1.0), (state["blocks"].shape[0],))
        self.__dict__.update(state | {"sample_weight": weight})

    # -- what it is ---------------------------------------------------------------------------

    # An attribute of Ensemble, which nobody sets; here it is asked for in vain.
    @property
    def labels(self) -> np.ndarray:  # type: ignore[override]
        """Refused: the labels are in blocks."""
        raise BlockedLabelsError(self.refusal("this"))

    def refusal(self, what: str) -> str:
        """Return the sentence that refuses what needs all labels, with the memory it would take."""
        size = self.blocks.nbytes / 2**20
        return (
            f"{what} needs the labels of all {self.n_points:,} points in memory ({size:,.0f} MB "
            "for the labels alone), but they are kept in blocks. ensemble.gather() reads them "
            "where there is enough memory; ensemble.subset(rows) takes some points."
        )

    @property
    def n_points(self) -> int:
        return self.blocks.shape[0]

    @property
    def n_partitions(self) -> int:
        return self.blocks.shape[1]

    @property
    def has_noise(self) -> bool:
        some = bool((self._lowest < 0).any())
        return some and any(self.blocks.workers.map(_has_noise, self.blocks))

    @property
    def is_complete(self) -> bool:
        return bool((self._lowest > UNSAMPLED).all())

    def saw_points(self) -> np.ndarray:
        if self.is_complete:
            return np.ones(self.n_partitions, dtype=bool)
        parts = self.blocks.workers.map(_seen, self.blocks)
        return np.any(parts, axis=0)

    def in_clusters(self) -> np.ndarray:
        if (self._lowest >= 0).any():
            return np.ones(self.n_points, dtype=bool)
        return np.concatenate(self.blocks.workers.map(_inside, self.blocks))

    def misses_points(self) -> np.ndarray:
        """Say for each partition whether it leaves out points that are in a cluster of another."""
        if not (self._lowest < 0).any():
            return np.zeros(self.n_partitions, dtype=bool)
        return np.any(self.blocks.workers.map(_missed, self.blocks), axis=0)

    def has_few_rows(self, most: int) -> bool:
        """Say whether the points have at most so many different rows of labels."""
        parts = self.blocks.workers.map(_few, self.blocks, (most,))
        rows = np.concatenate(parts)
        return len(_few(0, rows, most)) <= most

    @property
    def is_weighted(self) -> bool:
        """Whether partitions have weights other than one."""
        return bool((self.weights != 1).any())

    @property
    def has_several_opinions(self) -> bool:
        """Whether at least two partitions differ."""
        rows = np.linspace(0, self.n_points - 1, min(_PROBE, self.n_points)).astype(np.int64)
        if self._small(self.blocks[rows]).has_several_opinions:
            return True
        return self.n_distinct > 1

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        first: list[int] = []
        groups = np.empty(self.n_partitions, dtype=np.int64)
        for i in range(self.n_partitions):
            same = (g for g, j in enumerate(first) if self._equal(j, i))
            groups[i] = next(same, len(first))
            if groups[i] == len(first):
                first.append(i)
        return np.array(first, dtype=np.int64), groups

    def _equal(self, i: int, j: int) -> bool:
        """Say whether two partitions are the same up to names: one cell in each row and column."""
        sizes = [np.sort(self._sizes[self.offsets[p] : self.offsets[p + 1]]) for p in (i, j)]
        left, right = (part[part > 0] for part in sizes)
        if not np.array_equal(left, right) or self._lowest[i] != self._lowest[j]:
            return False
        if self._lowest[i] < 0:  # noise and unsampled points must be the same ones, too
            gone = self.blocks.workers.map(_gone_alike, self.blocks, (i, j))
            if not all(gone):
                return False
        table = self.contingency(i, j) > 0
        return bool((table.sum(axis=0) <= 1).all() and (table.sum(axis=1) <= 1).all())

    def describe(self) -> str:
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        clusters = _count(low, "cluster") if low == high else f"{low} to {high} clusters"
        facts = [
            _count(self.n_points, "point"),
            f"{_count(self.n_partitions, 'partition')} with {clusters}",
            _count(self.blocks.n_blocks, "block"),
        ]
        return ", ".join(facts)

    def __repr__(self) -> str:
        return f"BlockedEnsemble({self.describe()})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        if self.shape != other.shape or self.names != other.names or self.records != other.records:
            return False
        parts = (self.blocks.part(i) for i in range(self.blocks.n_blocks))
        theirs = other.blocks if isinstance(other, BlockedEnsemble) else other.labels
        return np.array_equal(self.weights, other.weights) and all(
            np.array_equal(self.blocks.block(i), theirs[part]) for i, part in enumerate(parts)
        )

    __hash__ = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise BlockedLabelsError(self.refusal("numpy.asarray"))

    # -- parts and sums -----------------------------------------------------------------------

    def _small(self, labels: np.ndarray) -> Ensemble:
        """Return an ordinary ensemble of some rows, with the same columns of B."""
        counts = zip(self.names, labels.T, self.n_clusters.tolist(), strict=True)
        parts = [Partition(name, codes, k) for name, codes, k in counts]
        return Ensemble(parts, records=self.records, weights=self.weights, labels=labels)

    def part(self, i: int) -> Ensemble:
        """Return the points of one block, with the same columns of B.

        Parameters
        ----------
        i : int
            The block.

        Returns
        -------
        Ensemble
        """
        return self._small(self.blocks.block(i))

    def parts(self) -> Iterator[Ensemble]:
        """Give the blocks one after the other, as ordinary ensembles."""
        return (self.part(i) for i in range(self.blocks.n_blocks))

    def gather(self) -> Ensemble:
        """Return an ordinary ensemble with all labels in memory."""
        return self._small(self.blocks.gather())

    def partition(self, which: int | str) -> np.ndarray:
        """Return the labels of one partition, by position or name, read block by block."""
        column = np.array([self._position(which)])
        return SomeColumns(self.blocks, column, self.blocks.dtype).gather()[:, 0].astype(np.int64)

    def subset(self, rows: Any, *, keep_empty: bool = False) -> Ensemble:
        """Return some points as an ordinary ensemble; clusters without points are left out.

        Parameters
        ----------
        rows : list, slice or mask
            Positions of points, a slice of them, or one boolean per point.
        keep_empty : bool
            Keep clusters without points.

        Returns
        -------
        Ensemble
        """
        chosen = _chosen(rows, self.n_points, "rows", "point")
        found = self._small(self.blocks[chosen])
        return found if keep_empty else found.subset(slice(None))

    def select(self, which: Any) -> BlockedEnsemble:
        places = self._places(which)
        counts = self.n_clusters[places]
        columns = [np.arange(self.offsets[i], self.offsets[i + 1]) for i in places]
        kind = smallest_type(max(1, int(counts.max())))
        return BlockedEnsemble(
            SomeColumns(self.blocks, places, kind),
            counts,
            sizes=self._sizes[np.concatenate(columns)],
            lowest=self._lowest[places],
            records=[self.records[i] for i in places],
            names=[self.names[i] for i in places],
            weights=self.weights[places],
        )

    def concat(self, *others: Any) -> BlockedEnsemble:
        """Return the partitions of several ensembles in blocks over the same points.

        Parameters
        ----------
        *others : BlockedEnsemble
            What to join, in this order, with the same blocks.

        Returns
        -------
        BlockedEnsemble
        """
        every = [self, *others]
        for other in every:
            if not isinstance(other, BlockedEnsemble):
                raise TypeError(
                    f"an ensemble in blocks is joined with others in blocks; got "
                    f"{type(other).__name__}. gather() makes an ordinary one of it."
                )
            if not np.array_equal(other.blocks.bounds, self.blocks.bounds):
                raise ValueError("the ensembles have different blocks of points.")
        counts = np.concatenate([e.n_clusters for e in every])
        kind = smallest_type(max(1, int(counts.max())))
        return BlockedEnsemble(
            JoinedColumns([e.blocks for e in every], kind),
            counts,
            sizes=np.concatenate([e._sizes for e in every]),
            lowest=np.concatenate([e._lowest for e in every]),
            records=[record for e in every for record in e.records],
            names=[name for e in every for name in e.names],
            weights=np.concatenate([e.weights for e in every]),
        )

    def with_weights(self, *, weights: Any = None, sample_weight: Any = None) -> BlockedEnsemble:
        """Return the ensemble with other weights of the partitions; points have none."""
        if sample_weight is not None:
            raise BlockedLabelsError(self.refusal("sample_weight"))
        return BlockedEnsemble(
            self.blocks,
            self.n_clusters,
            sizes=self._sizes,
            lowest=self._lowest,
            records=self.records,
            names=self.names,
            weights=self.weights if weights is None else weights,
        )

    def cluster_sizes(self) -> np.ndarray:
        """Return the number of points of every cluster, in the order of B's columns."""
        return self._sizes.astype(np.float64)

    def contingency(self, i: int | str, j: int | str) -> np.ndarray:
        places = self._position(i), self._position(j)
        shape = tuple(int(self.n_clusters[p]) for p in places)
        parts = self.blocks.workers.map(_table, self.blocks, (*places, shape))
        return np.sum(parts, axis=0).astype(np.float64)

    def compress(self, *, keep_noise_apart: bool = False) -> Compressed:
        """Merge the points that have the same row in every partition into weighted points.

        The distinct rows of the blocks are merged in the order of the blocks, so that they are
        those of :meth:`Ensemble.compress`, in the same order. They must fit into scikit-learn's
        ``working_memory``; where there are too many it is said as soon as it is known.

        Parameters
        ----------
        keep_noise_apart : bool
            Never merge points that are noise in some partition.

        Returns
        -------
        Compressed
            The ensemble of distinct rows in memory, and ``inverse``, the row of each point, in
            blocks: ``inverse[rows]``, ``inverse.block(i)``.
        """
        small, distinct = self.distinct_rows(keep_noise_apart=keep_noise_apart)
        shared = (self.blocks.bounds, distinct)
        shape = (self.n_points,)
        inverse: Any = MappedRows(_places, self.blocks, shared, shape=shape, dtype=np.int64)
        return Compressed(small, inverse)

    def distinct_rows(self, *, keep_noise_apart: bool = False) -> tuple[Ensemble, DistinctRows]:
        """Return the distinct rows as weighted points, and how those of points are found.

        Parameters
        ----------
        keep_noise_apart : bool
            Never merge points that are noise in some partition.

        Returns
        -------
        Ensemble, DistinctRows
        """
        rows = np.empty((0, self.n_partitions), dtype=self.blocks.dtype)
        counts: np.ndarray = np.empty(0)
        points = np.empty(0, dtype=np.int64)
        apart = np.empty(0, dtype=bool)
        given = (self.blocks.bounds, keep_noise_apart)
        for start in range(0, self.blocks.n_blocks, _TABLES):
            which = list(range(start, min(start + _TABLES, self.blocks.n_blocks)))
            parts = self.blocks.workers.map(_distinct, self.blocks, given, which=which)
            rows = np.concatenate([rows, *(part[0] for part in parts)])
            counts = np.concatenate([counts, *(part[1] for part in parts)])
            points = np.concatenate([points, *(part[2] for part in parts)])
            apart = np.concatenate([apart, *(part[3] for part in parts)])
            first, inverse = kernels.rows.unique_rows(rows, apart)
            counts = np.bincount(inverse, weights=counts, minlength=first.size)
            rows, points, apart = rows[first], points[first], apart[first]
            self._check_distinct(rows, which[-1] + 1)
        small = self._small(rows).with_weights(sample_weight=counts)
        return small, DistinctRows(rows, points, apart)

    def _check_distinct(self, rows: np.ndarray, seen: int) -> None:
        """Refuse more distinct rows than fit into memory, with what all of them would take."""
        size = rows.nbytes + _BESIDE * len(rows)
        limit = int(get_config()["working_memory"]) * 2**20
        if size <= limit:
            return
        points = int(self.blocks.bounds[seen])
        whole = size / points * self.n_points / 2**20
        raise BlockedLabelsError(
            f"{len(rows):,} of the first {points:,} points have labels of their own; the distinct "
            f"rows of labels of all {self.n_points:,} points would take up to {whole:,.0f} MB, and "
            f"scikit-learn's working_memory allows {limit / 2**20:,.0f} MB. SEC, KCC, LWGP, "
            "SpectralConsensus and MCLA need no such table; fewer partitions, or partitions with "
            "fewer clusters, have fewer distinct rows; "
            "sklearn.set_config(working_memory=...) raises the limit."
        )

    def gram(self, *, with_noise: bool = False) -> np.ndarray:
        """Return the points that every two clusters of all partitions share, as a D x D table.

        Its blocks are the contingency tables of all pairs of partitions: one pass over the blocks
        of points, O(n r^2).

        Parameters
        ----------
        with_noise : bool
            Count the noise points of each partition as one more cluster, its first.

        Returns
        -------
        (D, D) or (D + r, D + r) array
        """
        offsets = self.offsets + with_noise * np.arange(self.n_partitions + 1)
        return self.sum_of_tables(_gram, (offsets, with_noise), int(offsets[-1]))

    def sum_of_tables(self, function: Any, shared: tuple[Any, ...], width: int) -> np.ndarray:
        """Return the sum of square tables of the blocks, added in the order of the blocks.

        Parameters
        ----------
        function : callable
            ``function(i, labels, *shared)`` is the table of a block.
        shared : tuple
            Further arguments.
        width : int
            Rows and columns of a table.

        Returns
        -------
        (width, width) array
        """
        total = np.zeros((width, width))
        # Some blocks at a time: what comes back is a whole table for each of them.
        for start in range(0, self.blocks.n_blocks, _TABLES):
            which = list(range(start, min(start + _TABLES, self.blocks.n_blocks)))
            for part in self.blocks.workers.map(function, self.blocks, shared, which=which):
                total += part
        return total


def _gram(i: int, labels: np.ndarray, offsets: np.ndarray, with_noise: bool) -> np.ndarray:
    width = int(offsets[-1])
    out = np.empty((width, width))
    columns = np.ascontiguousarray(labels.T)
    if with_noise:  # -1 becomes 0, and -2, which was not seen, -1
        columns = columns.astype(np.int32) + np.int32(1)
    ones = np.ones(len(labels)), np.ones(width)
    kernels.thresholded.cluster_gram(columns, offsets, *ones, out)
    return out


def _distinct(
    i: int, labels: np.ndarray, bounds: np.ndarray, keep_noise_apart: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct rows of a block, how often they occur, where first, and which alone."""
    apart = np.zeros(len(labels), dtype=bool)
    if keep_noise_apart:
        apart = (labels == NOISE).any(axis=1)
    first, inverse = kernels.rows.unique_rows(np.ascontiguousarray(labels), apart)
    counts = np.bincount(inverse, minlength=first.size).astype(np.float64)
    return labels[first], counts, int(bounds[i]) + first, apart[first]


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of labels of an ensemble, and how the rows of points are found among them.

    Attributes
    ----------
    rows : (m, r) array
        In the order of their first appearance.
    points : (m,) array
        The first point with each row.
    apart : (m,) array
        Whether the row is that of this point alone, whatever rows others have.
    """

    rows: np.ndarray
    points: np.ndarray
    apart: np.ndarray

    def places(self, labels: np.ndarray, start: int) -> np.ndarray:
        """Return the number of the distinct row of each of some consecutive points.

        Parameters
        ----------
        labels : (m, r) array
            Their rows of labels.
        start : int
            The number of the first of them among all points.
        """
        low, high = np.searchsorted(self.points, [start, start + len(labels)])
        own = low + np.flatnonzero(self.apart[low:high])
        apart = np.zeros(len(labels), dtype=bool)
        apart[self.points[own] - start] = True
        # The distinct rows come first, so that equal ones of the points are given their numbers.
        both = np.concatenate([self.rows, labels])
        first, inverse = kernels.rows.unique_rows(both, np.concatenate([self.apart, apart]))
        found = first[inverse[len(self.rows) :]]
        found[self.points[own] - start] = own
        return found


def _places(i: int, labels: np.ndarray, bounds: np.ndarray, distinct: DistinctRows) -> np.ndarray:
    return distinct.places(labels, int(bounds[i]))


def _has_noise(i: int, labels: np.ndarray) -> bool:
    return bool((labels == NOISE).any())


def _seen(i: int, labels: np.ndarray) -> np.ndarray:
    return np.asarray((labels != UNSAMPLED).any(axis=0))


def _inside(i: int, labels: np.ndarray) -> np.ndarray:
    return np.asarray((labels >= 0).any(axis=1))


def _missed(i: int, labels: np.ndarray) -> np.ndarray:
    return np.asarray((labels[(labels >= 0).any(axis=1)] < 0).any(axis=0))


def _few(i: int, labels: np.ndarray, most: int) -> np.ndarray:
    """Return the distinct rows of points that are in a cluster, one more than ``most`` at most."""
    labels = np.ascontiguousarray(labels[(labels >= 0).any(axis=1)])
    first = kernels.rows.unique_rows(labels, np.zeros(len(labels), dtype=bool))[0]
    return labels[first[: most + 1]]


def _gone_alike(i: int, labels: np.ndarray, left: int, right: int) -> bool:
    return np.array_equal(np.minimum(labels[:, left], 0), np.minimum(labels[:, right], 0))


def _table(i: int, labels: np.ndarray, left: int, right: int, shape: tuple[int, int]) -> np.ndarray:
    a, b = labels[:, left].astype(np.int64), labels[:, right].astype(np.int64)
    both = (a >= 0) & (b >= 0)
    return np.bincount(a[both] * shape[1] + b[both], minlength=shape[0] * shape[1]).reshape(shape)
