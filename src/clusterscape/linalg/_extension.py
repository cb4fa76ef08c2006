"""From the points of a graph that was cut to points that it did not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from clusterscape.linalg.embedding import unit_rows
from clusterscape.linalg.kmeans import nearest_center

# Below this an eigenvalue of the normalised similarity cannot be extended to other points: an
# extended value is divided by it.
LEAST_EIGENVALUE = 1e-6


class Extension(Protocol):
    """What turns rows of similarities to the points of a graph into clusters."""

    def labels(self, similarities: Any) -> np.ndarray:
        """Return the cluster of each row."""


@dataclass(frozen=True)
class SplitTree:
    """Bipartitions in the order in which they were made; each is the sign of a weighted sum.

    The generalised eigenvector y of a part has ``y(x) = sum_j A(x, j) w_j y_j / (mu d(x))``, so
    that ``y(x) >= t`` is ``sum_j A(x, j) (w_j y_j / mu - t w_j) >= 0``.
    """

    sums: np.ndarray  # (n, splits): what the similarities are multiplied with, zero outside a part
    parts: tuple[int, ...]  # which part each split is made in; the new part has the next number
    strict: tuple[bool, ...]  # whether a sum of zero goes with the new part

    def labels(self, similarities: Any) -> np.ndarray:
        scores = np.asarray(similarities @ self.sums)
        found = np.zeros(scores.shape[0], dtype=np.int32)
        for i, (part, strict) in enumerate(zip(self.parts, self.strict, strict=True)):
            leaves = scores[:, i] <= 0 if strict else scores[:, i] < 0
            found[leaves & (found == part)] = i + 1
        return found


@dataclass(frozen=True)
class NearestRow:
    """The nearest k-means centre of the extended rows of an embedding."""

    pull: np.ndarray  # (n, m): w_j y_j / mu for each eigenvector
    weight: np.ndarray
    centers: np.ndarray
    unit: bool

    def labels(self, similarities: Any) -> np.ndarray:
        degree = np.asarray(similarities @ self.weight)
        rows = embedded_rows(np.asarray(similarities @ self.pull), degree, unit=self.unit)
        return nearest_center(rows, self.centers)


def embedded_rows(products: np.ndarray, degree: np.ndarray, *, unit: bool) -> np.ndarray:
    """Return the rows of an embedding from ``A @ pull``; a point without similarities is at 0."""
    rows = np.divide(
        products, degree[:, None], out=np.zeros_like(products), where=degree[:, None] > 0
    )
    return unit_rows(rows) if unit else rows


def checked_similarities(similarities: Any, n: int) -> Any:
    """Return rows of similarities to ``n`` points as an array or a CSR matrix."""
    given = sparse.csr_matrix(similarities) if sparse.issparse(similarities) else similarities
    rows = given if sparse.issparse(given) else np.asarray(given, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != n:
        raise ValueError(
            f"similarities must have one row per new point and one column for each of the "
            f"{n} points of the graph; got shape {rows.shape}."
        )
    entries: Any = rows.data if sparse.issparse(rows) else rows
    if not (entries.min(initial=0.0) >= 0 and np.isfinite(entries.max(initial=0.0))):
        raise ValueError("similarities must be finite and >= 0; clip or fill them in first.")
    return rows
