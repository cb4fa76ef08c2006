"""The dual of a support vector machine over many points, solved block by block.

The most violating variables form a block, whose kernel rows are computed in one go; the block is
solved by sequential minimal optimisation, and the values of all points follow. Variables that stay
at an end of a piece, and would not be chosen, are left out for a while (shrinking) where the kernel
rows do not all fit into memory.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from clusterscape import kernels
from clusterscape.semisupervised.kernel_rows import KernelRows

_BLOCK = 512  # variables that are solved for together
_SHRINK_EVERY = 10  # blocks between two looks at what can be left out
_LOCAL = 0.1  # share of the violation that is left inside of a block
_MOST_BLOCKS = 20_000


class Dual:
    """Variables of the dual with their pieces, and the values of the points under them.

    Attributes
    ----------
    alpha : (n + 1,) array
        Signed variables; the last is that of the balance.
    value : (n + 1,) array
        The kernel times ``alpha``: decision values without the intercept.
    ends, slopes : (n + 1, 3) and (n + 1, 2) arrays
        See :mod:`clusterscape.kernels.smo`.
    """

    def __init__(self, rows: KernelRows) -> None:
        self.rows = rows
        n = rows.n
        self.alpha, self.value = np.zeros(n), np.zeros(n)
        self.ends, self.slopes = np.zeros((n, 3)), np.zeros((n, 2))
        self.intercept = 0.0
        self.gap = np.inf
        self.blocks = 0

    def move(self, target: np.ndarray) -> None:
        """Set the variables, and let the values follow.

        What their sum then lacks is given by the balance where it is free, and otherwise by
        variables that are not at their ends.
        """
        target = np.clip(target, self.ends[:, 0], self.ends[:, 2])
        short = -target.sum()
        if np.isinf(self.ends[-1]).any():
            target[-1] += short
        else:
            _fill(target, self.ends, short)
        changed = np.flatnonzero(target != self.alpha)
        if changed.size:
            by = target[changed] - self.alpha[changed]
            everything = np.arange(self.rows.n)
            self.value += self.rows.products(everything, changed, by)
        self.alpha = target

    def solve(self, tol: float) -> None:
        """Solve to a violation of at most ``tol``; the values of all points are right then."""
        first, before = self.alpha.copy(), self.value.copy()
        movable = np.flatnonzero(self.ends[:, 0] < self.ends[:, 2])
        self.rows.set_active(movable)
        while True:
            work = _Active(self)
            finished = work.descend(tol)
            self.blocks += work.blocks
            self._restore(first, before)
            self._measure(movable)
            if self.rows.active.size >= movable.size or not finished or self.gap <= tol:
                break
            self.rows.set_active(movable)
        if not finished:
            warnings.warn(
                f"the solver stopped after {_MOST_BLOCKS} blocks with a violation of "
                f"{self.gap:.2g}, above tol={tol:g}; scale the features, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _restore(self, first: np.ndarray, before: np.ndarray) -> None:
        """Bring the values of variables that were left out up to date."""
        out = np.ones(self.rows.n, dtype=bool)
        out[self.rows.active] = False
        left = np.flatnonzero(out)
        changed = np.flatnonzero(self.alpha != first)
        if left.size and changed.size:
            by = self.alpha[changed] - first[changed]
            self.value[left] = before[left] + self.rows.products(left, changed, by)

    def _measure(self, movable: np.ndarray) -> None:
        """Find the violation and the intercept: the median over the free variables."""
        up, down = np.empty(self.rows.n), np.empty(self.rows.n)
        kernels.smo.directions(self.alpha, self.ends, self.slopes, up, down)
        free = movable[up[movable] == down[movable]]
        up, down = up[movable] - self.value[movable], down[movable] - self.value[movable]
        best, least = up.max(initial=-np.inf), down.min(initial=np.inf)
        self.gap = best - least
        if free.size:
            self.intercept = float(np.median(_free_slope(self, free) - self.value[free]))
        else:
            ends = [end for end in (best, least) if np.isfinite(end)]
            self.intercept = float(np.mean(ends)) if ends else 0.0


def _free_slope(dual: Dual, free: np.ndarray) -> np.ndarray:
    below = dual.alpha[free] < dual.ends[free, 1]
    last = dual.alpha[free] == dual.ends[free, 1]
    return np.where(below | last, dual.slopes[free, 0], dual.slopes[free, 1])


def _fill(target: np.ndarray, ends: np.ndarray, short: float) -> None:
    """Let the variables farthest from their ends make up for a sum that is ``short``."""
    slack = (ends[:, 2] - target) if short > 0 else (target - ends[:, 0])
    order = np.argsort(-slack, kind="stable")
    slack = np.maximum(slack[order], 0.0)
    given = np.append(0.0, np.cumsum(slack)[:-1])  # by the variables before
    target[order] += np.sign(short) * np.clip(abs(short) - given, 0.0, slack)


class _Active:
    """The variables that are not left out, side by side in memory."""

    def __init__(self, dual: Dual) -> None:
        self.dual = dual
        self.blocks = 0
        self.block = max(2, min(_BLOCK, dual.rows.capacity))
        self._gather()

    def _gather(self) -> None:
        dual, active = self.dual, self.dual.rows.active
        self.alpha, self.value = dual.alpha[active], dual.value[active]
        self.ends, self.slopes = dual.ends[active], dual.slopes[active]
        self.up, self.down = np.empty(active.size), np.empty(active.size)
        self.last = np.empty(0, dtype=np.int64)

    def _scatter(self) -> None:
        active = self.dual.rows.active
        self.dual.alpha[active], self.dual.value[active] = self.alpha, self.value

    def descend(self, tol: float) -> bool:
        """Solve block after block; say whether the violation fell to ``tol``."""
        while self.blocks < _MOST_BLOCKS:
            kernels.smo.directions(self.alpha, self.ends, self.slopes, self.up, self.down)
            self.up -= self.value
            self.down -= self.value
            best, least = self.up.max(initial=-np.inf), self.down.min(initial=np.inf)
            if best - least <= tol:
                self._scatter()
                return True
            self.blocks += 1
            if self.blocks % _SHRINK_EVERY == 0 and self._shrink(best, least):
                continue
            self._solve_block(self._chosen(best, least, tol), max(_LOCAL * (best - least), tol / 2))
        self._scatter()
        return False

    def _chosen(self, best: float, least: float, tol: float) -> np.ndarray:
        """Return the positions of the next block: the most violating, and half of the last."""
        if self.alpha.size <= self.block:
            return np.arange(self.alpha.size)
        share = max(1, self.block // 4)
        taken = np.zeros(self.alpha.size, dtype=bool)
        taken[_largest(self.up, share, least + tol)] = True
        taken[_largest(-self.down, share, tol - best)] = True
        fresh = np.flatnonzero(taken)
        more = max(0, self.block - fresh.size - 1)
        taken[self.last[~taken[self.last]][:more]] = True
        self.last = fresh
        if self.dual.rows.active[-1] == self.dual.rows.n - 1:
            taken[-1] = True  # the balance
        return np.flatnonzero(taken)

    def _solve_block(self, chosen: np.ndarray, tol: float) -> None:
        rows = self.dual.rows
        slots = rows.slots(rows.active[chosen])
        kernel = np.empty((chosen.size, chosen.size))
        kernels.smo.gather(rows.table, slots, chosen, kernel)
        alpha, value = self.alpha[chosen], self.value[chosen]
        kernels.smo.solve_block(
            kernel, value, alpha, self.ends[chosen], self.slopes[chosen], tol, 50 * chosen.size
        )
        kernels.smo.add_rows(rows.table, slots, alpha - self.alpha[chosen], self.value)
        self.alpha[chosen] = alpha

    def _shrink(self, best: float, least: float) -> bool:
        """Leave out variables at an end whose next move would not be chosen."""
        rows = self.dual.rows
        if rows.capacity >= rows.active.size:
            return False  # every row is kept: nothing to gain
        idle = (self.up < least) & (self.down > best) & (self.up != self.down)
        if rows.active[-1] == rows.n - 1:
            idle[-1] = False
        if idle.sum() < 0.1 * idle.size:
            return False
        self._scatter()
        rows.set_active(rows.active[~idle])
        self.block = max(2, min(_BLOCK, rows.capacity))
        self._gather()
        return True


def _largest(scores: np.ndarray, count: int, above: float) -> np.ndarray:
    """Return the positions of the largest scores, at most ``count`` and above a bound."""
    found = np.flatnonzero(scores > above)
    if found.size > count:
        found = found[np.argpartition(-scores[found], count - 1)[:count]]
    return found
