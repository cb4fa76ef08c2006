"""Which columns the vectors of a forest use, how much they matter, and whether scales decide."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from clusterscape.forest.vectors import Vector
from clusterscape.generate.scales import FeatureScaleWarning, scale_advice

_DOMINANT = 0.9  # share of a vector's sum of squares that makes a column decide alone
# Share of the vectors that single columns may decide. Raw tables of mixed units have 0.36 and more,
# scaled ones none.
_OFTEN = 0.25


def column_counts(columns: Sequence[np.ndarray], n_features: int) -> sparse.csr_matrix:
    """Return how often each vector uses each column."""
    ends = np.concatenate([[0], np.cumsum([c.size for c in columns])])
    places = np.concatenate(columns) if columns else np.empty(0, dtype=np.int32)
    shape = (len(columns), n_features)
    counts = sparse.csr_matrix((np.ones(places.size, dtype=np.int64), places, ends), shape=shape)
    counts.sum_duplicates()
    return counts


def column_importances(vectors: Sequence[Vector], kappa: np.ndarray, n_features: int) -> np.ndarray:
    """Return how much each column separates the clusters of the vectors that use it.

    A vector weighs ``1 / (1 + kappa)``, and a column in it the share of its own sum of squares
    that lies between the clusters: a column of noise that came along with a good one has none.
    All zeros where no vector separates anything.
    """
    worth = np.divide(1.0, 1.0 + kappa, out=np.zeros(kappa.size), where=np.isfinite(kappa))
    found = np.zeros(n_features)
    for vector, weight in zip(vectors, worth, strict=True):
        between = vector.total - vector.within
        share = np.divide(between, vector.total, out=np.zeros_like(between), where=between > 0)
        columns, first = np.unique(vector.columns, return_index=True)
        found[columns] += weight * share[first]
    return found / found.sum() if found.sum() > 0 else found


@dataclass(frozen=True)
class Dominance:
    """The column that most often decides a vector alone, by its scale."""

    column: int
    n_vectors: int  # that it decides
    share: float  # its median share of their sums of squares
    n_decided: int  # vectors that one or another column decides alone


def dominant_column(vectors: Sequence[Vector]) -> Dominance | None:
    """Return the column whose scale decides, if scales decide the forest.

    A column decides a vector alone if it has nearly all of the sum of squares, though another
    column varies too, and not for its clusters: it has nearly all within them as well. The forest
    is decided by scales if in a quarter of the vectors one or another column does so.
    """
    shares: dict[int, list[float]] = {}
    for vector in vectors:
        columns, at = np.unique(vector.columns, return_inverse=True)
        total = np.bincount(at, weights=vector.total)  # a column accepted twice counts twice
        within = np.bincount(at, weights=vector.within)
        if (total > 0).sum() < 2:
            continue
        largest = int(np.argmax(total))
        share = float(total[largest] / total.sum())
        if share >= _DOMINANT and within[largest] >= _DOMINANT * within.sum() > 0:
            shares.setdefault(int(columns[largest]), []).append(share)
    if not shares:
        return None
    column = max(shares, key=lambda c: len(shares[c]))
    n_decided = sum(map(len, shares.values()))
    if n_decided < _OFTEN * len(vectors):
        return None
    share = float(np.median(shares[column]))
    return Dominance(column, len(shares[column]), share, n_decided)


def warn_of_scale(found: Dominance | None, names: Sequence[str] | None, n_vectors: int) -> None:
    """Warn of the column that :func:`dominant_column` found, from within a ``fit``."""
    if found is None:
        return
    column, often = found.column, found.n_vectors
    name = f"column {column}" if names is None else f"the column {str(names[column])!r}"
    decided = found.n_decided
    other = f" (as one or another column has in {decided} of them)" if decided > often else ""
    what = (
        f"{name} has {found.share:.0%} of the sum of squares (median) in {often} of {n_vectors} "
        f"clustering vectors{other}"
    )
    warnings.warn(scale_advice("ClusterForest", what), FeatureScaleWarning, stacklevel=4)
