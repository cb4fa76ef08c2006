"""One representative per cluster, and weights that say how much a cluster counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.extmath import row_norms

from clusterscape._core.errors import ParameterError
from clusterscape.linalg.kmeans_engines import cluster_sums

_BLOCK = 2**21  # elements of a temporary block


def representatives(X: Any, codes: np.ndarray, k: int, kind: str) -> np.ndarray:
    """Return the mean, median or medoid of the rows of each cluster, (k, d).

    The medoid is the member with the least sum of squared distances to the others, which is the
    one nearest to the mean.
    """
    inside = np.flatnonzero(codes >= 0)
    everything = inside.size == codes.size
    rows, labels = (X, codes) if everything else (X[inside], codes[inside])
    if kind == "median":
        return np.stack([_median(rows[labels == c]) for c in range(k)])
    sums = cluster_sums(rows, labels, np.ones(labels.size), k)
    means = sums / np.bincount(labels, minlength=k)[:, None]
    if kind == "mean":
        return means
    squares = squared_to_own(rows, labels, means)
    order = np.lexsort((squares, labels))
    first = order[np.searchsorted(labels[order], np.arange(k))]
    chosen = rows[first]
    return np.asarray(chosen.todense() if sparse.issparse(chosen) else chosen, dtype=np.float64)


def _median(rows: Any) -> np.ndarray:
    if not sparse.issparse(rows):
        return np.median(np.asarray(rows, dtype=np.float64), axis=0)
    step = max(1, _BLOCK // max(rows.shape[0], 1))
    parts = [
        np.median(rows[:, start : start + step].toarray(), axis=0)
        for start in range(0, rows.shape[1], step)
    ]
    return np.concatenate(parts).astype(np.float64)


def squared_to_own(X: Any, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return the squared distance of every row to the centre of its cluster."""
    out = np.empty(labels.size)
    own = row_norms(centers, squared=True)
    for rows in gen_batches(labels.size, max(1, _BLOCK // max(X.shape[1], 1))):
        part, mine = X[rows], labels[rows]
        if sparse.issparse(part):
            product = np.asarray(part @ centers.T)[np.arange(mine.size), mine]
            out[rows] = row_norms(part, squared=True) - 2.0 * product + own[mine]
        else:
            out[rows] = row_norms(part - centers[mine], squared=True)
    return np.maximum(out, 0.0)


def site_weights(
    kind: Any, sizes: np.ndarray, spread: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Return the weight of each cluster and of a point, before the scale is applied.

    ``sizes`` are the points of each cluster, and ``spread`` holds the mean squared distance of
    its members to its representative.
    """
    k = sizes.size
    if kind is None:
        return np.zeros(k), 0.0
    n = max(sizes.sum(), 1.0)
    if isinstance(kind, str) and kind == "size":
        return sizes / n, 1.0 / n
    if isinstance(kind, str):
        assert spread is not None
        dense = sizes / np.maximum(spread, 1e-12 * max(float(spread.max()), 1e-300))
        return dense / dense.sum(), 1.0 / n
    weights = np.asarray(kind, dtype=np.float64)
    if weights.shape != (k,) or not np.isfinite(weights).all():
        raise ParameterError(
            f"{{weights.name}} must be {k} finite numbers, one per cluster; got an array of shape "
            f"{weights.shape}.",
            weights=weights.shape,
        )
    return weights, 0.0
