"""One clustering vector: the buffers that its growth needs, and the call of the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from clusterscape import kernels
from clusterscape.generate.features import Matrix

# Products of points and starts that a vector keeps at most (64 MB of float64); beyond that they
# are computed anew in every try.
_PRODUCTS = 1 << 23
# Columns that a vector has room for at first.
_CAPACITY = 16


@dataclass(frozen=True)
class Columns:
    """Feature-major data: a dense (columns x points) array, or a CSC matrix."""

    matrix: Any

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1 if sparse.issparse(self.matrix) else 0])

    def source(self) -> Any:
        """Return the data in the form that the kernels take."""
        if sparse.issparse(self.matrix):
            empty = np.empty((0, 0), self.matrix.dtype)
            arrays = (empty, self.matrix.data, self.matrix.indices, self.matrix.indptr)
        else:
            none = np.empty(0, self.matrix.dtype)
            indices = np.empty(0, np.int32)
            arrays = (self.matrix, none, indices, indices)
        is_sparse = sparse.issparse(self.matrix)
        return kernels.forest.Source(*arrays, self.n_columns, is_sparse)

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Return some columns as a dense (points x columns) array."""
        if sparse.issparse(self.matrix):
            return np.asarray(self.matrix[:, columns].toarray())
        return np.asarray(self.matrix[columns].T)


def feature_major(X: Matrix) -> Columns:
    """Return the data by columns; a Fortran-ordered array is not copied."""
    if sparse.issparse(X):
        return Columns(sparse.csc_matrix(X))
    return Columns(np.ascontiguousarray(X.T))


@dataclass(frozen=True)
class Ground:
    """What all vectors grow on: the columns, positive weights, and codes of the points."""

    columns: Columns
    weights: np.ndarray
    codes: np.ndarray


def make_ground(X: Matrix, weights: np.ndarray) -> Ground:
    """Return the data as the vectors use it."""
    # Any fixed random numbers will do: sums of them tell partitions apart.
    codes = np.random.default_rng(0).integers(-(2**63), 2**63, size=weights.size)
    # In units of the largest, or they would overflow as float32.
    return Ground(feature_major(X), weights / weights.max(), codes)


@dataclass(frozen=True)
class Grown:
    """A clustering vector: the partition, the columns in order of acceptance, and the way there."""

    labels: np.ndarray
    columns: np.ndarray
    kappa_path: np.ndarray
    tries: int


def grow_vector(ground: Ground, settings: Mapping[str, Any], seed: SeedSequence) -> Grown:
    """Grow one vector; ``settings`` are the fields of ``kernels.forest.Growth``.

    The data must have at least ``min_distinct`` distinct rows.
    """
    growth = kernels.forest.Growth(**settings)
    grown = _run(ground, growth, np.empty(0, np.int64), seed)
    if grown is None:
        # Nearly all draws leave too few distinct rows: begin with columns that do not.
        forced = telling_columns(ground.columns, growth.min_distinct)
        grown = _run(ground, growth._replace(competitors=1), forced, seed)
    if grown is None:
        raise ValueError(
            f"X has fewer than {growth.min_distinct} distinct rows; lower n_clusters or "
            f"min_distinct."
        )
    return grown


def _run(ground: Ground, growth: Any, forced: np.ndarray, seed: SeedSequence) -> Grown | None:
    """Grow one vector in a room that widens as it must; None when no draw was usable."""
    forest = kernels.forest
    draws, picks = (np.array([s], np.uint64) for s in seed.generate_state(2, np.uint64))
    source = ground.columns.source()
    counts = {name: np.zeros(1, np.int64) for name in forest.State._fields}
    state = forest.State(**counts | {"kappa": np.array([np.inf])})
    capacity = max(_CAPACITY, 2 * growth.per_draw, 2 * forced.size)
    room = _new_room(source, ground, growth, capacity)
    starts = _new_starts(room, growth)
    while True:
        how = (growth, state, forced, draws, picks)
        if starts is None:
            status = forest.grow_many(source, room, *how)
        else:
            status = forest.grow_two(source, room, starts, *how)
        if status != forest.FULL:
            break
        room = _widen(room)
        if starts is not None:
            starts = starts._replace(halves=_new_halves(room.X))
    if status == forest.UNUSABLE:
        return None
    d, length = int(state.columns[0]), int(state.accepted[0])
    return Grown(room.accepted, room.columns[:d], room.path[:length], int(state.tries[0]))


def _is_two(growth: Any) -> bool:
    """Say whether the kernel for two clusters does the work."""
    return growth.n_clusters == 2 and not growth.hartigan


def _new_room(source: Any, ground: Ground, growth: Any, capacity: int) -> Any:
    forest = kernels.forest
    n, k = ground.weights.size, growth.n_clusters
    padded = -(-n // forest.STRIDE) * forest.STRIDE if _is_two(growth) else n
    codes = np.zeros(padded, np.int64)
    codes[:n] = ground.codes
    slots = 2 * forest.REMEMBERED
    memo = forest.Memo(
        marks=np.zeros(slots, np.int64),
        owners=np.zeros(slots, np.int64),
        used=np.zeros(forest.REMEMBERED, np.int64),
        held=np.zeros(1, np.int64),
    )
    return forest.Room(
        X=np.zeros((capacity, padded), source.dense.dtype),
        scatter=np.zeros(capacity),
        columns=np.zeros(capacity, np.int64),
        path=np.zeros(capacity),
        weight=ground.weights,
        codes=codes,
        labels=np.zeros(n, np.int32),
        accepted=np.zeros(n, np.int32),
        picks=np.zeros((growth.n_init, k), np.int64),
        winner=np.zeros(capacity, np.int64),
        winner_picks=np.zeros((growth.n_init, k), np.int64),
        within=np.zeros(k),
        mass=np.zeros(k),
        pool=np.arange(source.n_columns),
        memo=memo,
    )


def _new_halves(X: np.ndarray) -> Any:
    forest = kernels.forest
    return forest.Halves(
        mask=np.zeros(X.shape[1], X.dtype),
        best=np.zeros(X.shape[1], X.dtype),
        score=np.zeros(forest.BLOCK, X.dtype),
        lanes=np.zeros((X.shape[0] + 1, forest.LANES)),
        sums=np.zeros(X.shape[0]),
        direction=np.zeros(X.shape[0], X.dtype),
    )


def _new_starts(room: Any, growth: Any) -> Any:
    if not _is_two(growth):
        return None
    padded = room.X.shape[1]
    kept = growth.n_init if growth.n_init * padded <= _PRODUCTS else 0
    narrow = np.zeros(padded, room.X.dtype)
    narrow[: room.weight.size] = room.weight
    return kernels.forest.Starts(
        known=np.zeros((kept, padded), room.X.dtype),
        limits=np.zeros(growth.n_init),
        weight=narrow,
        halves=_new_halves(room.X),
    )


def _widen(room: Any) -> Any:
    """Return the room with place for twice as many columns."""

    def doubled(array: np.ndarray) -> np.ndarray:
        return np.concatenate([array, np.zeros_like(array)])

    names = ("X", "scatter", "columns", "path")
    return room._replace(**{name: doubled(getattr(room, name)) for name in names})


def telling_columns(columns: Columns, enough: int) -> np.ndarray:
    """Return columns, in their order, that leave at least ``enough`` distinct rows.

    A column is taken only when it tells more rows apart than those before it, so that all rows
    that differ anywhere differ on the columns taken once the last one was looked at.
    """
    chosen: list[int] = []
    groups: np.ndarray | None = None
    count = 1
    for column in range(columns.n_columns):
        values = columns.take(np.array([column]))[:, 0]
        codes = np.unique(values, return_inverse=True)[1]
        if groups is not None:
            codes = np.unique(groups * (codes.max() + 1) + codes, return_inverse=True)[1]
        found = int(codes.max()) + 1
        if found > count:
            chosen.append(column)
            groups, count = codes, found
        if count >= enough:
            break
    return np.array(chosen, dtype=np.int64)


def check_range(X: Matrix) -> None:
    """Refuse values whose squares are no numbers any more."""
    largest = max(float(X.max()), -float(X.min()))
    bound = 1e150 if X.dtype == np.float64 else 1e15
    if largest > bound or 0 < largest < 1 / bound:
        raise ValueError(
            f"X has values up to {largest:g}, whose squares leave the range of {X.dtype}; scale "
            f"the columns first."
        )


def check_rows(X: Matrix, n_clusters: int, min_distinct: int) -> None:
    """Refuse data that cannot have so many clusters, or never enough distinct rows."""
    n = X.shape[0]
    if n_clusters > n:
        raise ValueError(
            f"n_clusters={n_clusters} is more than the {n} rows of X that have a weight; ask for "
            f"at most {n} clusters."
        )
    seen: set[bytes] = set()
    wanted = max(n_clusters, min_distinct)
    for i in range(n):
        row = X[i].toarray() if sparse.issparse(X) else X[i]
        seen.add((row + 0.0).tobytes())  # -0.0 is 0.0
        if len(seen) >= wanted:
            return
    if len(seen) < n_clusters:
        raise ValueError(
            f"X has {len(seen)} distinct row{'s' if len(seen) != 1 else ''}, fewer than "
            f"n_clusters={n_clusters}; ask for fewer clusters."
        )
    raise ValueError(
        f"X has {len(seen)} distinct rows, fewer than min_distinct={min_distinct}; lower "
        f"min_distinct."
    )
