"""One transductive machine for two classes: the rounds above the convex solver.

The objective is 1/2 |w|^2 + C sum of max(0, 1 - y f) over the labelled points + C* sum of
R(f) + R(-f) over the unlabelled ones, with the ramp R(z) = min(1 - s, max(0, 1 - z)), subject to
a mean decision value of the unlabelled points that equals a target (the balance).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clusterscape.semisupervised.dual import Dual
from clusterscape.semisupervised.kernel_rows import KernelRows


@dataclass
class Machine:
    """Labelled points first, then unlabelled ones, and the last variable for the balance.

    Parameters
    ----------
    rows : KernelRows
        The kernel of the points.
    signs : (l,) array
        The labels, -1 or 1.
    C : (l,) array
        The weight of each labelled point.
    ramp : float
        s, in (-1, 0]; minus infinity stands for the hinge of both labels, which is convex.
    target : float or None
        The mean decision value of the unlabelled points; None for no balance.
    tol : float
        The largest violation.
    max_iter : int
        Convex problems of one round at most.
    """

    rows: KernelRows
    signs: np.ndarray
    C: np.ndarray
    ramp: float = 0.0
    target: float | None = None
    tol: float = 1e-3
    max_iter: int = 50
    history: list[float] = field(default_factory=list)
    n_iter: int = 0
    converged: bool = True

    def __post_init__(self) -> None:
        self.dual = Dual(self.rows)
        labelled = self.signs.size
        self._labelled, self._rest = slice(0, labelled), slice(labelled, self.rows.n - 1)
        reach = self.signs * self.C
        low, high = np.minimum(reach, 0.0), np.maximum(reach, 0.0)
        self.dual.ends[self._labelled] = np.stack([low, high, high], axis=1)
        self.dual.slopes[self._labelled] = self.signs[:, None]

    @property
    def decision(self) -> np.ndarray:
        """Decision values of all points."""
        return self.dual.value[:-1] + self.dual.intercept

    @property
    def alpha(self) -> np.ndarray:
        """The signed variables of the points."""
        return self.dual.alpha[:-1]

    @property
    def balance_weight(self) -> float:
        """The variable of the balance."""
        return float(self.dual.alpha[-1])

    def start(self, alpha: np.ndarray | None = None) -> None:
        """Fit the labelled points alone; or set out from the variables of an earlier round."""
        if alpha is not None:
            self._free_balance()
            wide = np.abs(alpha[self._rest])
            self.dual.ends[self._rest] = np.stack([-wide, wide, wide], axis=1)
            self.dual.move(alpha)
            self.dual.intercept = 0.0
            return
        self.dual.ends[self._rest] = 0.0
        self.dual.solve(self.tol)

    def _free_balance(self) -> None:
        if self.target is not None:
            self.dual.ends[-1] = (-np.inf, np.inf, np.inf)
            self.dual.slopes[-1] = self.target

    def objective(self, weight: Any) -> float:
        """Return the objective with weight C* = ``weight``, or one for each unlabelled point."""
        f = self.decision
        hinge = np.maximum(0.0, 1.0 - self.signs * f[self._labelled])
        rest = f[self._rest]
        ramps = np.minimum(1.0 - self.ramp, np.maximum(0.0, 1.0 - np.abs(rest)))
        other = np.minimum(1.0 - self.ramp, 1.0 + np.abs(rest))
        return float(
            0.5 * (self.dual.alpha @ self.dual.value)
            + self.C @ hinge
            + (weight * (ramps + other)).sum()
        )

    def concave_convex(self, weight: Any, f: np.ndarray | None = None) -> None:
        """Run the concave-convex procedure with weight C* until no point changes its piece.

        The pieces come from the decision values ``f`` of the unlabelled points at first.
        """
        self._free_balance()
        f = self.decision[self._rest] if f is None else f
        sides = _sides(f, self.ramp)
        self.dual.slopes[self._rest] = (1.0, -1.0)
        for _ in range(self.max_iter):
            shift = weight * (sides[1] - sides[0])
            ends = np.stack([shift - weight, shift, shift + weight], axis=1)
            self.dual.ends[self._rest] = ends
            self.dual.move(self.dual.alpha.copy())
            self.dual.solve(self.tol)
            self.n_iter += 1
            self.history.append(self.objective(weight))
            found = _sides(self.decision[self._rest], self.ramp)
            same = all(np.array_equal(a, b) for a, b in zip(found, sides, strict=True))
            if same or self._stalled():
                self.converged = True
                return
            sides = found
        self.converged = False

    def _stalled(self) -> bool:
        """Say whether the last step gained less than the solver can tell."""
        if len(self.history) < 2:
            return False
        before, now = self.history[-2:]
        return 0 <= before - now <= 1e-6 * abs(before)

    def label_switching(self, weight: Any, positives: int) -> bool:
        """Solve with labels for the unlabelled points; say whether they are what they were.

        The ``positives`` points with the largest decision values are given the label 1.
        """
        labels = _top(self.decision[self._rest], positives)
        reach = weight * labels
        low, high = np.minimum(reach, 0.0), np.maximum(reach, 0.0)
        self.dual.ends[self._rest] = np.stack([low, high, high], axis=1)
        self.dual.slopes[self._rest] = labels[:, None]
        self.dual.move(self.dual.alpha.copy())
        self.dual.solve(self.tol)
        self.n_iter += 1
        f = self.decision
        self.history.append(
            float(
                0.5 * (self.dual.alpha @ self.dual.value)
                + self.C @ np.maximum(0.0, 1.0 - self.signs * f[self._labelled])
                + (weight * np.maximum(0.0, 1.0 - labels * f[self._rest])).sum()
            )
        )
        return bool(np.array_equal(labels, _top(f[self._rest], positives)))


def _sides(f: np.ndarray, ramp: float) -> tuple[np.ndarray, np.ndarray]:
    """Return which points are beyond the ramp of the label 1, and of the label -1."""
    return (f < ramp).astype(np.float64), (-f < ramp).astype(np.float64)


def _top(f: np.ndarray, positives: int) -> np.ndarray:
    labels = np.full(f.size, -1.0)
    labels[np.argsort(-f, kind="stable")[:positives]] = 1.0
    return labels


def weights_of_rounds(start: float, final: float, factor: float) -> np.ndarray:
    """Return the weights C* of the rounds: ``start`` times powers of ``factor``, then ``final``."""
    if start >= final:
        return np.array([final])
    steps = int(np.ceil(np.log(final / start) / np.log(factor) - 1e-9))
    return np.append(start * factor ** np.arange(steps), final)
