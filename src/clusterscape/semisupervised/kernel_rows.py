"""Rows of a kernel matrix that is never formed whole: computed in blocks, kept within a budget."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from clusterscape import kernels
from clusterscape.linalg.distances import centre_of

# Values that gamma * |x - centre|^2 may have before single precision blurs a Gaussian kernel.
_SINGLE = 100.0
_BLOCK = 2**24  # kernel values that are computed in one go
_SUMMED = 2**20  # where they are only summed, in the cache: a third less time at 20 columns
_LEAST = 4  # rows that are kept however small the budget: two that move, one before, the balance


@dataclass(frozen=True)
class KernelFunction:
    """A kernel with its parameters settled.

    ``name`` is "linear", "poly", "rbf", "sigmoid" or "precomputed", or a function of two blocks of
    rows as ``sklearn.svm.SVC`` takes it.
    """

    name: str | Callable[[Any, Any], np.ndarray]
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        """Return the kernel of the rows of two blocks, in their own precision."""
        if callable(self.name):
            return np.asarray(self.name(left, right))
        if self.name == "rbf":
            return _gaussian(left, right, self.gamma)
        if self.name == "linear":
            found = safe_sparse_dot(left, right.T, dense_output=True)
            return np.asarray(found)
        known = {"gamma": self.gamma, "coef0": self.coef0}
        more = {"degree": self.degree} if self.name == "poly" else {}
        return pairwise_kernels(left, right, metric=self.name, **known, **more)


def _products(left: Any, right: Any) -> np.ndarray:
    if sparse.issparse(right):
        # A sparse times a dense matrix is many times faster than two sparse ones.
        dense = left.toarray() if sparse.issparse(left) else left
        return np.ascontiguousarray((right @ dense.T).T)
    return np.asarray(safe_sparse_dot(left, right.T, dense_output=True))


def _gaussian(left: Any, right: Any, gamma: float) -> np.ndarray:
    """Return exp(-gamma |x - y|^2), computed in place."""
    values = _products(left, right)
    values *= values.dtype.type(2.0 * gamma)
    values -= (gamma * row_norms(left, squared=True)).astype(values.dtype)[:, None]
    values -= (gamma * row_norms(right, squared=True)).astype(values.dtype)
    np.minimum(values, 0.0, out=values)
    return np.exp(values, out=values)


class KernelData:
    """Points under a kernel: blocks of their kernel matrix, and of that with other points.

    Parameters
    ----------
    function : KernelFunction
        The kernel.
    X : (n, d) array or CSR matrix, or (n, n) kernel matrix
        The points.
    single : bool
        Whether single precision may be used where it suffices: twice as fast and more.
    """

    def __init__(self, function: KernelFunction, X: Any, *, single: bool = True) -> None:
        self.function = function
        self.n = int(X.shape[0])
        self._centre: np.ndarray | None = None
        self._dtype: Any = X.dtype
        if function.name == "rbf":
            self._centre = centre_of(X)
            shifted = X if self._centre is None else X - self._centre
            longest = float(row_norms(shifted, squared=True).max(initial=0.0))
            if single and function.gamma * longest <= _SINGLE:
                self._dtype = np.float32
            X = shifted
        self.X = X.astype(self._dtype, copy=False)

    def subset(self, rows: np.ndarray) -> KernelData:
        """Return some of the points under the same kernel."""
        new = copy(self)
        pre = self.function.name == "precomputed"
        new.X = self.X[np.ix_(rows, rows)] if pre else self.X[rows]
        new.n = rows.size
        return new

    def _prepared(self, X: Any) -> Any:
        X = X if self._centre is None else X - self._centre
        return X.astype(self._dtype, copy=False)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the kernel of some points with others (all of them by default)."""
        if self.function.name == "precomputed":
            some = self.X[rows]
            return some if columns is None else some[:, columns]
        right = self.X if columns is None else self.X[columns]
        return self.function(self.X[rows], right)

    def weighted(
        self, X: Any, rows: np.ndarray, weights: np.ndarray, *, ready: bool = False
    ) -> np.ndarray:
        """Return, for points, the sum of their kernels with the given rows times weights (r, m).

        With ``ready`` the points are in the form in which this object keeps its own.
        """
        smo = kernels.smo
        m = X.shape[0]
        total = np.zeros((m, weights.shape[1]))
        if rows.size == 0:
            return total
        pre = self.function.name == "precomputed"
        given = X if ready or pre else self._prepared(X)
        if self.function.name == "linear":
            direction = safe_sparse_dot(self.X[rows].T, weights, dense_output=True)
            return np.asarray(safe_sparse_dot(given, direction, dense_output=True))
        left = None if pre else self.X[rows]
        # Sparse rows are made dense once for each piece, hence large ones.
        step = max(1, _BLOCK // rows.size)
        if not sparse.issparse(given):
            step = min(step, max(64, _SUMMED // rows.size))
        every = np.arange(rows.size)
        for start in range(0, m, step):
            piece = given[start : start + step]
            values = piece[:, rows].T if pre else self.function(left, piece)
            if values.dtype != np.float32:
                total[start : start + step] = values.T @ weights
                continue
            values = np.ascontiguousarray(values)
            for c in range(weights.shape[1]):
                part = np.zeros(piece.shape[0])
                smo.add_rows(values, every, np.ascontiguousarray(weights[:, c]), part)
                total[start : start + step, c] = part
        return total

    def means(self, over: np.ndarray) -> np.ndarray:
        """Return, for every point, the mean of its kernel over some points."""
        share = np.full((over.size, 1), 1.0 / over.size)
        return self.weighted(self.X, over, share, ready=True)[:, 0]


class KernelRows:
    """The rows of the kernel matrix over the active points, and of the balance, in float32.

    The last variable is the balance: the mean of the unlabelled points in the space of the kernel,
    whose products with all points are ``balance`` and with itself ``own``. Rows least recently used
    make way for others when the budget is full.
    """

    def __init__(self, data: KernelData, budget: int, balance: Any = None) -> None:
        self.data = data
        self.budget = budget
        self.balance: np.ndarray = np.zeros(data.n) if balance is None else balance[0]
        self.own: float = 1.0 if balance is None else balance[1]
        self.n = data.n + 1
        self.computed = 0  # kernel values, for the record
        # One piece of memory for tables of every width: two tables would be twice the budget.
        self._memory = np.empty(
            min(max(budget // 4, _LEAST * self.n), self.n * self.n), dtype=np.float32
        )
        self._activate(np.arange(self.n))

    def _activate(self, active: np.ndarray) -> None:
        self.active = active
        room = max(self.budget // (4 * max(active.size, 1)), _LEAST)
        self.capacity = int(min(room, self.n))
        size = self.capacity * active.size
        self.table = self._memory[:size].reshape(self.capacity, active.size)
        self.slot = np.full(self.n, -1, dtype=np.int64)
        self.owner = np.full(self.capacity, -1, dtype=np.int64)
        self.used = np.zeros(self.capacity, dtype=np.int64)
        self.clock = 0

    @property
    def fits(self) -> bool:
        """Whether all rows of all variables fit into the budget: then nothing is left out."""
        return 4 * self.n * self.n <= self.budget

    def set_active(self, active: np.ndarray) -> None:
        """Restrict the rows to some variables (ascending); what is known of them is kept."""
        if self.fits or np.array_equal(active, self.active):
            return
        old, table, owner = self.active, self.table, self.owner
        inside = np.isin(active, old, assume_unique=True)
        self._activate(active)
        if not inside.all():
            return
        place = np.searchsorted(old, active)
        kept = np.flatnonzero(owner >= 0)[: self.capacity]
        for slot, source in enumerate(kept):  # ends where the old row ended at the latest
            self.table[slot] = table[source, place]
        self.owner[: kept.size] = owner[kept]
        self.slot[owner[kept]] = np.arange(kept.size)

    def slots(self, wanted: np.ndarray) -> np.ndarray:
        """Return where in the table the rows of the wanted variables are, computing the missing."""
        self.clock += 1
        missing = wanted[self.slot[wanted] < 0]
        held = self.slot[wanted]
        self.used[held[held >= 0]] = self.clock
        if missing.size:
            free = np.argpartition(self.used, missing.size - 1)[: missing.size]
            gone = self.owner[free]
            self.slot[gone[gone >= 0]] = -1
            self._compute(missing, free)
            self.owner[free], self.slot[missing] = missing, free
            self.used[free] = self.clock
        return self.slot[wanted]

    def _compute(self, wanted: np.ndarray, into: np.ndarray) -> None:
        last = self.active.size > 0 and self.active[-1] == self.n - 1
        points = self.active[:-1] if last else self.active
        columns = None if points.size == self.data.n else points
        real = wanted < self.n - 1
        if real.any():
            step = max(1, _BLOCK // max(points.size, 1))
            which = np.flatnonzero(real)
            for start in range(0, which.size, step):
                some = which[start : start + step]
                found = self.data.block(wanted[some], columns)
                self.computed += found.size
                self.table[into[some], : points.size] = found
        if not real.all():
            self.table[into[~real], : points.size] = self.balance[points]
        if last:
            corner = np.where(real, self.balance[np.minimum(wanted, self.n - 2)], self.own)
            self.table[into, -1] = corner

    def products(self, columns: np.ndarray, changed: np.ndarray, by: np.ndarray) -> np.ndarray:
        """Return, at some variables, the kernel times weights of others, beside the table."""
        if self.fits:
            total = np.zeros(self.n)
            kernels.smo.add_rows(self.table, self.slots(changed), by, total)
            return total[columns]
        real = changed[changed < self.n - 1]
        points = columns[columns < self.n - 1]
        total = np.zeros(columns.size)
        weight = by[changed < self.n - 1]
        if real.size and points.size:
            self.computed += real.size * points.size
            given = self.data.X[points]
            total[: points.size] = self.data.weighted(given, real, weight[:, None], ready=True)[
                :, 0
            ]
        extra = by[changed == self.n - 1]
        if extra.size:
            total[: points.size] += extra[0] * self.balance[points]
        if points.size < columns.size:
            total[-1] = self.balance[real] @ weight + (self.own * extra[0] if extra.size else 0.0)
        return total
