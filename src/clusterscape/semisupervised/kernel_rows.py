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
_LOW, _HIGH = 1e-30, 1e30  # squared lengths that single precision holds, with their products
_BLOCK = 2**24  # kernel values that are computed in one go
_SUMMED = 2**20  # where they are only summed or copied, in the cache: a third less time
_TERMS = 256  # of a sum in single precision; such sums are added in double precision
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


def _widened(X: Any, gamma: float) -> np.ndarray:
    """Return points with two more columns: -gamma |x|^2 and 1, in single precision.

    The product with a point that is turned is then the exponent of the Gaussian kernel: one pass
    over the values in place of five.
    """
    wide = np.empty((X.shape[0], X.shape[1] + 2), dtype=np.float32)
    wide[:, :-2] = X
    wide[:, -2] = -gamma * row_norms(wide[:, :-2], squared=True)
    wide[:, -1] = 1.0
    return wide


def _turned(wide: np.ndarray, gamma: float) -> np.ndarray:
    """Return the other factor of the exponent for widened points."""
    turned = np.empty_like(wide)
    np.multiply(wide[:, :-2], np.float32(2.0 * gamma), out=turned[:, :-2])
    turned[:, -2], turned[:, -1] = wide[:, -1], wide[:, -2]
    return turned


def _add_gaussians(
    given: np.ndarray, turned: np.ndarray, weights: np.ndarray, total: np.ndarray
) -> None:
    """Add the Gaussian kernels of points with others, times the weights of these."""
    light = weights.astype(np.float32)
    step = _SUMMED // _TERMS
    for start in range(0, given.shape[0], step):
        piece, sums = given[start : start + step], total[start : start + step]
        for low in range(0, turned.shape[0], _TERMS):
            values = piece @ turned[low : low + _TERMS].T
            np.exp(values, out=values)
            sums += values @ light[low : low + _TERMS]


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
        self._wide: np.ndarray | None = None
        if function.name == "rbf":
            self._centre = centre_of(X)
            shifted = X if self._centre is None else X - self._centre
            longest = float(row_norms(shifted, squared=True).max(initial=0.0))
            if single and function.gamma * longest <= _SINGLE and _LOW < longest < _HIGH:
                self._dtype = np.float32
            X = shifted
            if self._dtype == np.float32 and not sparse.issparse(X):
                self._wide = _widened(X, function.gamma)
        self._set(X if self._wide is None else self._wide)

    def _set(self, points: Any) -> None:
        """Take points, wide ones where these are kept."""
        if self._wide is None:
            self.X = points.astype(self._dtype, copy=False)
        else:
            self._wide, self.X = points, points[:, :-2]
        self.n = int(points.shape[0])

    @property
    def _kept(self) -> Any:
        return self.X if self._wide is None else self._wide

    def subset(self, rows: np.ndarray) -> KernelData:
        """Return some of the points under the same kernel."""
        new = copy(self)
        pre = self.function.name == "precomputed"
        new._set(self.X[np.ix_(rows, rows)] if pre else self._kept[rows])
        return new

    def _prepared(self, X: Any) -> Any:
        X = X if self._centre is None else X - self._centre
        if self._wide is not None:
            return _widened(X, self.function.gamma)
        return X.astype(self._dtype, copy=False)

    def block(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """Return the kernel of some points with others (all of them by default)."""
        if self.function.name == "precomputed":
            some = self.X[rows]
            return some if columns is None else some[:, columns]
        right = self._kept if columns is None else self._kept[columns]
        return self._between(self._kept[rows], right)

    def _between(self, left: Any, right: Any) -> np.ndarray:
        """Return the kernel of two sets of points that are in the form kept here."""
        if self._wide is None:
            return self.function(left, right)
        values = _turned(left, self.function.gamma) @ right.T
        return np.exp(values, out=values)

    def write(
        self, rows: np.ndarray, columns: np.ndarray | None, table: np.ndarray, into: np.ndarray
    ) -> None:
        """Write the kernel of some points with others (or all) to the given rows of a table."""
        pre, points = self.function.name == "precomputed", self._kept
        right = points if columns is None or pre else points[columns]
        width = self.n if columns is None else columns.size
        block = _BLOCK if sparse.issparse(points) or callable(self.function.name) else _SUMMED
        step = max(1, block // max(width, 1))
        for start in range(0, rows.size, step):
            some = rows[start : start + step]
            found = self.block(some, columns) if pre else self._between(points[some], right)
            table[into[start : start + step], :width] = found

    def at(self, places: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return, for some of the points, the sum of their kernels with rows times weights."""
        return self._weighted(self._kept[places], rows, weights)

    def weighted(self, X: Any, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return, for any points, the sum of their kernels with rows times weights (r, m)."""
        pre = self.function.name == "precomputed"
        return self._weighted(X if pre else self._prepared(X), rows, weights)

    def _weighted(self, given: Any, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        smo = kernels.smo
        m = given.shape[0]
        total = np.zeros((m, weights.shape[1]))
        if rows.size == 0:
            return total
        if self._wide is not None:
            _add_gaussians(given, _turned(self._wide[rows], self.function.gamma), weights, total)
            return total
        pre = self.function.name == "precomputed"
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
        return self._weighted(self._kept, over, share)[:, 0]


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
        affordable = max(self.budget // (4 * max(active.size, 1)), _LEAST)
        self.capacity = int(min(affordable, self.n))
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
            self.computed += int(real.sum()) * points.size
            self.data.write(wanted[real], columns, self.table, into[real])
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
            total[: points.size] = self.data.at(points, real, weight[:, None])[:, 0]
        extra = by[changed == self.n - 1]
        if extra.size:
            total[: points.size] += extra[0] * self.balance[points]
        if points.size < columns.size:
            total[-1] = self.balance[real] @ weight + (self.own * extra[0] if extra.size else 0.0)
        return total
