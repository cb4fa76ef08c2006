"""Cells of Bregman divergences: polyhedra as well, in the coordinates of the features.

With d(p, c) = F(p) - F(c) - <grad F(c), p - c> the points that are nearer to x than to c are a
half-space. The reduction to the hull of the centres does not carry over, so cells are measured in
all dimensions of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy.linalg import null_space

from clusterscape._core.errors import ParameterError
from clusterscape.linalg.cells import EXACT_DIMENSIONS, Method, Sampling, Shares, cell_shares

MOST_COLUMNS = 20
_ROUNDING = 1e-9


def _divergence(name: str, p: np.ndarray, c: np.ndarray) -> np.ndarray:
    """Return d(p, c) of rows against centres, (n, k)."""
    p, c = p[:, None, :], c[None, :, :]
    ratio = p / c
    if name == "kl":
        return (p * np.log(ratio) - p + c).sum(axis=2)
    return (ratio - np.log(ratio) - 1.0).sum(axis=2)


def _gradient(name: str, c: np.ndarray) -> np.ndarray:
    return np.log(c) if name == "kl" else -1.0 / c


@dataclass(frozen=True, eq=False)
class BregmanCells:
    """Centres under a divergence; the domain is the positive orthant, or its histograms.

    Cells of histograms are bounded. Others are cut by the box of the data, which ends at 0.
    """

    name: str
    centers: np.ndarray
    high: np.ndarray
    basis: np.ndarray
    histograms: bool
    scale: float

    @classmethod
    def of(cls, name: str, centers: np.ndarray, X: np.ndarray, margin: float) -> BregmanCells:
        """Return the cells of centres for data like X."""
        check_positive(X, name, "X")
        check_positive(centers, name, "representative")
        d = X.shape[1]
        if d > MOST_COLUMNS:
            raise ParameterError(
                f"{{divergence}} measures cells in all {d} dimensions of the data, and at most "
                f"{MOST_COLUMNS} are supported; reduce the data first.",
                divergence=name,
            )
        both = np.concatenate([X, centers])
        totals = both.sum(axis=1)
        histograms = name == "kl" and np.ptp(totals) <= _ROUNDING * totals.max()
        high, low = both.max(axis=0), both.min(axis=0)
        basis = null_space(np.ones((1, d))) if histograms else np.eye(d)
        spread = float(np.sqrt(((centers - centers.mean(axis=0)) ** 2).sum(axis=1).mean())) or 1.0
        return cls(name, centers, high + margin * (high - low), basis, bool(histograms), spread)

    def check_exact(self, method: Method) -> None:
        """Refuse ``method="exact"`` where cells can only be sampled."""
        if method == "exact" and self.basis.shape[1] > EXACT_DIMENSIONS:
            raise ParameterError(
                f"{{method}}: the cells of {len(self.centers[0])} columns with {{divergence}} can "
                "only be sampled; use {method__other}.",
                method="exact",
                divergence=self.name,
                method__other="auto",
            )

    def check(self, X: np.ndarray) -> None:
        """Refuse new points that do not lie in the domain."""
        check_positive(X, self.name, "X")
        total = self.centers[0].sum()
        if self.histograms and np.abs(X.sum(axis=1) - total).max(initial=0) > 1e-6 * total:
            raise ValueError(f"X: the rows must sum to {total:g}, as those fitted do.")

    def shares(
        self, X: np.ndarray, method: Method, sampling: Sampling, seed: SeedSequence
    ) -> Shares:
        """Return the shares of the cells of the rows of X."""
        n, d = X.shape
        slopes = _gradient(self.name, self.centers)[None] - _gradient(self.name, X)[:, None]
        sides = [np.broadcast_to(-np.eye(d), (n, d, d))]
        slack = [X]
        if not self.histograms:
            sides.append(np.broadcast_to(np.eye(d), (n, d, d)))
            slack.append(np.maximum(self.high, 1.05 * X) - X)
        A = self.scale * np.concatenate([slopes, *sides], axis=1) @ self.basis
        b = np.concatenate([_divergence(self.name, X, self.centers), *slack], axis=1)
        k = len(self.centers)
        found = Shares.none(n, k)
        seeds = seed.generate_state(n, np.uint64)
        on = b[:, :k].min(axis=1) <= 1e-14
        found.shares[on, b[on, :k].argmin(axis=1)] = 1.0
        at = np.flatnonzero(~on)
        if at.size:
            shares, errors, _, taken = cell_shares(
                np.ascontiguousarray(A[at]),
                np.ascontiguousarray(b[at]),
                k,
                method=method,
                sampling=sampling,
                seeds=seeds[at],
                start=np.zeros((at.size, A.shape[2])),
            )
            found.shares[at], found.errors[at], found.samples[at] = shares, errors, taken
        found.clipped[:] = not self.histograms
        return found


def check_positive(X: Any, name: str, what: str) -> None:
    """Refuse values that are not positive."""
    if not (X > 0).all():
        raise ParameterError(
            f"{what} has a value of {float(X.min()):g}, and {{divergence}} needs positive ones; "
            "add a small constant, as one does for counts.",
            divergence=name,
        )
