"""The Markov chain of SCA: a doubly stochastic scaling of the similarities, and its spectrum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from clusterscape.combine.sca.evidence import Evidence
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.operators import symmetric_operator
from clusterscape.linalg.sinkhorn import PointMatrix, Scaling, sinkhorn


@dataclass(frozen=True)
class Chain:
    """P = D S D over points, on vectors that are equal on points with the same row.

    Attributes
    ----------
    points : PointMatrix
        The similarity, with the constant that Sinkhorn-Knopp had to add.
    scaling : Scaling
        What makes it doubly stochastic.
    component : (m,) array
        Connected component of each row.
    positive : bool
        Whether the similarity is a Gram matrix, up to the diagonal that is taken off.
    """

    points: PointMatrix
    scaling: Scaling
    component: np.ndarray
    positive: bool

    @classmethod
    def of(cls, evidence: Evidence) -> Chain:
        """Scale the similarities."""
        points = evidence.points
        scaling = sinkhorn(
            points.similarity,
            weights=points.weights,
            diagonal=points.removed,
            largest=evidence.largest,
        )
        component = evidence.component
        if scaling.restarted:
            points = PointMatrix(
                points.similarity, points.weights, points.removed, scaling.added_constant
            )
            component = np.zeros_like(component)  # the constant joins everything
        return cls(points, scaling, component, evidence.positive)

    @property
    def weights(self) -> np.ndarray:
        """Points that each row stands for."""
        return self.points.weights

    @property
    def n_components(self) -> int:
        """Number of connected components."""
        return int(self.component.max()) + 1

    @cached_property
    def loops(self) -> np.ndarray:
        """What the zero diagonal takes off a row's probability of staying with its copies."""
        return self.points.removed * self.scaling.scale**2

    def product(self, block: np.ndarray) -> np.ndarray:
        """Return P @ block; P is symmetric over points, so this is x P too."""
        scale = self.scaling.scale[:, None]
        return scale * self.points.product(scale * block)

    def eigenvalues(self, n_values: int) -> np.ndarray:
        """Return the leading eigenvalues of P over points, in descending order.

        The value 1 belongs to the indicators of the components, which are put aside. Copies add
        vectors that differ on them alone, whose eigenvalues are known too.
        """
        m, c = self.weights.size, self.n_components
        root = np.sqrt(self.weights)[:, None]
        mass = np.bincount(self.component, weights=self.weights)
        entries = root[:, 0] / np.sqrt(mass[self.component])
        blocks = sparse.csr_matrix((entries, (np.arange(m), self.component)), shape=(m, c))

        def deflated(block: np.ndarray) -> np.ndarray:
            return root * self.product(block / root) - 3.0 * (blocks @ (blocks.T @ block))

        values = np.ones(min(c, n_values))
        wanted = min(n_values - c, m - c)
        if wanted > 0:
            found = symmetric_eigen(symmetric_operator(m, deflated), wanted)
            values = np.concatenate([values, found.values])
        several = self.weights > 1
        copies = np.maximum(np.ceil(self.weights[several]) - 1, 0).astype(np.int64)
        apart = np.repeat(-self.loops[several], np.minimum(copies, n_values))
        return np.sort(np.concatenate([values, apart]))[::-1][:n_values]

    def swings(self, slowest: float) -> bool:
        """Say whether an eigenvalue near -1 outlives ``slowest``, so that x_t would alternate."""
        if self.positive and self.loops.max() < slowest:
            return False  # a Gram matrix less these entries has no eigenvalue below -loops
        root = np.sqrt(self.weights)[:, None]
        operator = symmetric_operator(
            self.weights.size, lambda block: root * self.product(block / root)
        )
        return bool(-symmetric_eigen(operator, 1, which="smallest").values[0] >= slowest)

    def escape(self, groups: np.ndarray) -> float:
        """Return the normalised cut: the chance to leave in one step, summed over the groups."""
        k = int(groups.max()) + 1
        hot = np.zeros((groups.size, k))
        hot[np.arange(groups.size), groups] = 1.0
        heavy = hot * self.weights[:, None]
        stay = (heavy * self.product(hot)).sum(axis=0) / np.maximum(heavy.sum(axis=0), 1e-300)
        return float(k - stay.sum())


def near_one(eigenvalues: np.ndarray, max_clusters: int) -> int:
    """Return how many eigenvalues lie above the largest gap whose upper end is positive.

    Parameters
    ----------
    eigenvalues : array
        In descending order.
    max_clusters : int
        The largest answer.
    """
    gaps = -np.diff(eigenvalues)[: int((eigenvalues > 1e-9).sum())][:max_clusters]
    return int(np.argmax(gaps)) + 1 if gaps.size and gaps.max() > 1e-9 else max(1, gaps.size)
