"""One clustering vector: Algorithms 1 and 2 of Cluster Forests.

Draws of columns compete to start the vector (Algorithm 2); then more columns are drawn, tried by
k-means together with those accepted, and kept if kappa falls (Algorithm 1). k-means itself is a
kernel, ``kernels.forest``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape.generate.features import Matrix, count_distinct_rows

# Columns that the buffers of a vector have place for at first.
_CAPACITY = 16
# Draws of one competitor before it gives up.
_REDRAWS = 1000
# kappa must fall by more than rounding, or a vector could grow for ever on columns it has.
_GAIN = 1.0 - 1e-9


@dataclass(frozen=True)
class GrowthSettings:
    """How vectors grow: parameters of ForestGrower, resolved and in plain JSON types."""

    n_clusters: int
    features_per_draw: int
    n_competitors: int
    patience: int
    kappa: Literal["anova", "pairs"]
    allow_duplicates: bool
    min_distinct: int
    exhaustive: bool
    algorithm: Literal["lloyd", "hartigan"]
    n_init: int
    max_iter: int


@dataclass(frozen=True)
class FeatureMajor:
    """The data by columns: a dense (columns x points) array, or a CSC matrix."""

    matrix: Any

    @classmethod
    def of(cls, X: Matrix) -> FeatureMajor:
        """Return the data by columns; a Fortran-ordered array is not copied."""
        return cls(sparse.csc_matrix(X) if sparse.issparse(X) else np.ascontiguousarray(X.T))

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.matrix.shape[1 if sparse.issparse(self.matrix) else 0])

    def copy_column(self, j: int, out: np.ndarray) -> None:
        """Write a column into a dense array."""
        if not sparse.issparse(self.matrix):
            out[:] = self.matrix[j]
            return
        entries = slice(self.matrix.indptr[j], self.matrix.indptr[j + 1])
        out[:] = 0
        out[self.matrix.indices[entries]] = self.matrix.data[entries]

    def take(self, columns: np.ndarray) -> np.ndarray:
        """Return some columns as a dense (points x columns) array."""
        if sparse.issparse(self.matrix):
            return np.asarray(self.matrix[:, columns].toarray())
        return np.asarray(self.matrix[columns].T)


@dataclass(frozen=True)
class GrowthData:
    """What all vectors grow on: the columns, positive weights, and codes of the points."""

    features: FeatureMajor
    weights: np.ndarray
    codes: np.ndarray
    is_uniform: bool  # all weights are equal

    @classmethod
    def of(cls, X: Matrix, weights: np.ndarray) -> GrowthData:
        """Return the data as the vectors use it."""
        # Any fixed random numbers will do: sums of them identify partitions.
        codes = np.random.default_rng(0).integers(-(2**63), 2**63, size=weights.size)
        # In units of the largest, or they would overflow as float32.
        unit = weights / weights.max()
        return cls(FeatureMajor.of(X), unit, codes, bool(unit.min() == unit.max()))


@dataclass(frozen=True)
class GrownVector:
    """A finished vector.

    ``columns`` are in the order of acceptance, ``kappa_path`` is kappa of the first columns and
    then after each acceptance, ``n_tries`` counts the draws after the first columns.
    """

    labels: np.ndarray
    columns: np.ndarray
    kappa_path: list[float]
    n_tries: int


def grow_vector(data: GrowthData, settings: GrowthSettings, seed: SeedSequence) -> GrownVector:
    """Grow one vector; the data must have at least ``min_distinct`` distinct rows."""
    growth = _Growth(data, settings, seed)
    if not growth.compete():
        # Nearly all draws leave too few distinct rows: begin with columns that do not.
        growth = _Growth(data, settings, seed)
        growth.start_with(separating_columns(data.features, settings.min_distinct))
    growth.grow()
    labels = growth.tries.buffers.accepted
    return GrownVector(labels, growth.columns, growth.path, growth.n_tries)


class _Growth:
    """A vector while it grows.

    What is drawn does not depend on how the restarts of k-means go: columns and starting rows are
    drawn from two streams.
    """

    def __init__(self, data: GrowthData, settings: GrowthSettings, seed: SeedSequence) -> None:
        self.data, self.settings = data, settings
        self.column_draws, self.row_draws = (
            np.array([state], np.uint64) for state in seed.generate_state(2, np.uint64)
        )
        self.tries = _Tries(data, settings)
        self.columns = np.empty(0, np.int64)
        self.kappa = np.inf
        self.path: list[float] = []
        self.n_tries = 0
        self.pool = np.arange(data.features.n_features)

    def compete(self) -> bool:
        """Start with the best of several draws; False if none had enough distinct rows."""
        for _ in range(self.settings.n_competitors):
            drawn = self._draw_distinct()
            if drawn is not None:
                self._enter(*drawn)
            if self.kappa == 0.0:
                break  # clusters already; no draw is better
        if not np.isfinite(self.kappa):
            return False
        self._begin()
        return True

    def start_with(self, columns: np.ndarray) -> None:
        """Start with given columns instead of a draw."""
        n_distinct = self.tries.load_first(columns)
        if n_distinct >= self.settings.min_distinct:
            self._enter(columns, n_distinct)
        if not np.isfinite(self.kappa):
            raise ParameterError(
                f"X has fewer than {self.settings.min_distinct} distinct rows; lower "
                "{n_clusters.name} or {min_distinct.name}."
            )
        self._begin()

    def grow(self) -> None:
        """Draw columns and keep those that lower kappa, until too many draws in a row fail."""
        failures = place = 0
        exhaustive = self.settings.exhaustive
        while place < self.pool.size and self.kappa > 0.0:
            if failures >= self.settings.patience and not exhaustive:
                break
            count = min(self.settings.features_per_draw, self.pool.size - place)
            if exhaustive:
                drawn = self.pool[place : place + count]
                place += count
            else:
                drawn = self._draw(count)
            self.n_tries += 1
            self.tries.load(drawn, after=self.columns.size)
            value = self.tries.kappa(self.columns.size, self.columns.size + count)
            failures += 1
            if value < self.kappa * _GAIN:
                failures = 0
                self.columns = np.concatenate([self.columns, drawn])
                self.kappa = value
                self.path.append(float(value))
                self.tries.accept()
                if not (self.settings.allow_duplicates or exhaustive):
                    self.pool = np.setdiff1d(self.pool, drawn)

    def _draw(self, count: int) -> np.ndarray:
        """Draw different columns of the pool."""
        places = np.empty(count, np.int64)
        kernels.random.sample_without_replacement(self.column_draws, self.pool.size, count, places)
        return self.pool[places]

    def _draw_distinct(self) -> tuple[np.ndarray, int] | None:
        """Draw first columns until they have enough distinct rows; None if they never have."""
        count = min(self.settings.features_per_draw, self.pool.size)
        for _ in range(_REDRAWS):
            columns = self._draw(count)
            n_distinct = self.tries.load_first(columns)
            if n_distinct >= self.settings.min_distinct:
                return columns, n_distinct
        return None

    def _enter(self, columns: np.ndarray, n_distinct: int) -> None:
        """Let the loaded columns compete."""
        if n_distinct <= self.settings.n_clusters:
            value = 0.0  # the distinct rows are clusters, and the labels are theirs
        else:
            self.tries.draw_starts(columns.size, self.row_draws)
            value = self.tries.kappa(0, columns.size)
        if value < self.kappa:
            self.kappa, self.columns = value, columns
            self.tries.accept()

    def _begin(self) -> None:
        """Begin to grow with the columns and the starting rows of the winner."""
        if self.settings.n_competitors > 1:  # otherwise the winner is still there
            self.tries.load(self.columns, after=0)
            self.tries.restore_starts()
        self.path.append(float(self.kappa))
        if self.settings.exhaustive or not self.settings.allow_duplicates:
            self.pool = np.setdiff1d(self.pool, self.columns)
        if self.settings.exhaustive:
            kernels.forest.shuffle(self.pool, self.column_draws)


class _Tries:
    """The buffers in which k-means tries columns, and the calls of the kernels on them."""

    def __init__(self, data: GrowthData, settings: GrowthSettings) -> None:
        forest = kernels.forest
        self.data, self.settings = data, settings
        n, k = data.weights.size, settings.n_clusters
        self.for_two = k == 2 and settings.algorithm == "lloyd"
        padded = -(-n // forest.STRIDE) * forest.STRIDE if self.for_two else n
        codes = np.zeros(padded, np.int64)
        codes[:n] = data.codes
        capacity = max(_CAPACITY, 2 * settings.features_per_draw)
        self.buffers = forest.Buffers(
            X=np.zeros((capacity, padded), data.features.matrix.dtype),
            scatter=np.zeros(capacity),
            weight=data.weights,
            codes=codes,
            labels=np.zeros(n, np.int32),
            accepted=np.zeros(n, np.int32),
            picks=np.zeros((settings.n_init, k), np.int64),
            within=np.zeros(k),
            mass=np.zeros(k),
            visited=forest.new_visited(),
        )
        self.accepted_picks = self.buffers.picks.copy()
        self.two = self._new_two() if self.for_two else None

    def _new_two(self) -> Any:
        """Return the buffers of the kernel for two clusters."""
        forest = kernels.forest
        X = self.buffers.X
        padded = X.shape[1]
        weight = np.zeros(padded, X.dtype)
        weight[: self.data.weights.size] = self.data.weights
        return forest.TwoBuffers(
            weight=weight,
            mask=np.zeros(padded, X.dtype),
            best=np.zeros(padded, X.dtype),
            score=np.zeros(forest.BLOCK, X.dtype),
            **_by_column(X),
        )

    def load(self, columns: np.ndarray, *, after: int) -> None:
        """Put columns into the buffer, behind the first ``after`` of them."""
        while after + columns.size > self.buffers.X.shape[0]:
            self._widen()
        X, scatter, weight = self.buffers.X, self.buffers.scatter, self.buffers.weight
        for f, j in enumerate(columns.tolist(), start=after):
            column = X[f, : weight.size]
            self.data.features.copy_column(j, column)
            scatter[f] = kernels.forest.center_column(column, weight)

    def _widen(self) -> None:
        """Make space for twice as many columns."""
        X, scatter = self.buffers.X, self.buffers.scatter
        X = np.concatenate([X, np.zeros_like(X)])
        self.buffers = self.buffers._replace(
            X=X, scatter=np.append(scatter, np.zeros(scatter.size))
        )
        if self.two is not None:
            self.two = self.two._replace(**_by_column(X))

    def load_first(self, columns: np.ndarray) -> int:
        """Load first columns and label points by their rows on them; return how many rows differ.

        Rows are counted up to ``min_distinct``, or one more than there are clusters.
        """
        self.load(columns, after=0)
        enough = max(self.settings.min_distinct, self.settings.n_clusters + 1)
        X, labels = self.buffers.X, self.buffers.labels
        return int(kernels.forest.label_distinct(X, columns.size, enough, labels))

    def draw_starts(self, d: int, state: np.ndarray) -> None:
        """Draw the rows that k-means starts from."""
        b = self.buffers
        kernels.forest.draw_starts(b.X, d, b.weight, self.data.is_uniform, b.picks, state)

    def kappa(self, lo: int, d: int) -> float:
        """Cluster on the first ``d`` columns, of which ``lo`` were accepted; return kappa."""
        forest, settings = kernels.forest, self.settings
        how = (lo, d, settings.max_iter, settings.kappa == "pairs")
        if self.two is not None:
            return float(forest.fit_two(self.buffers, self.two, *how))
        if settings.algorithm == "lloyd":
            return float(forest.fit_lloyd(self.buffers, *how))
        return float(forest.fit_exchange(self.buffers, *how, self.data.is_uniform))

    def accept(self) -> None:
        """Keep the labels and the starting rows of the last try."""
        self.buffers.accepted[:] = self.buffers.labels
        self.accepted_picks[:] = self.buffers.picks

    def restore_starts(self) -> None:
        """Return to the starting rows of the accepted try."""
        self.buffers.picks[:] = self.accepted_picks


def _by_column(X: np.ndarray) -> dict[str, np.ndarray]:
    """Return those buffers of the kernel for two clusters that have an entry per column."""
    return {
        "lanes": np.zeros((X.shape[0] + 1, kernels.forest.LANES)),
        "sums": np.zeros(X.shape[0]),
        "direction": np.zeros(X.shape[0], X.dtype),
    }


def separating_columns(features: FeatureMajor, enough: int) -> np.ndarray:
    """Return columns, in their order, that leave at least ``enough`` distinct rows.

    A column is taken only when it separates more rows than those before it, so that all rows
    that differ anywhere differ on the columns taken once the last one was looked at.
    """
    chosen: list[int] = []
    groups: np.ndarray | None = None
    count = 1
    for column in range(features.n_features):
        values = features.take(np.array([column]))[:, 0]
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


def check_rows(X: Matrix, n_clusters: int, min_distinct: int) -> None:
    """Refuse data that cannot have so many clusters, or never enough distinct rows."""
    n = X.shape[0]
    if n_clusters > n:
        raise ParameterError(
            f"{{n_clusters}} is more than the {n} rows of X that have a weight; ask for at most "
            f"{n} clusters.",
            n_clusters=n_clusters,
        )
    found = count_distinct_rows(X, max(n_clusters, min_distinct))
    if found < n_clusters:
        raise ParameterError(
            f"X has {found} distinct row{'s' if found != 1 else ''}, fewer than {{n_clusters}}; "
            "ask for fewer clusters.",
            n_clusters=n_clusters,
        )
    if found < min_distinct:
        raise ParameterError(
            f"X has {found} distinct rows, fewer than {{min_distinct}}; lower "
            "{min_distinct.name}.",
            min_distinct=min_distinct,
        )
