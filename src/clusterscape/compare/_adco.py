"""The formula of D_ADCO: histograms of the clusters, matched one to one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from clusterscape._core.parallel import parallel_map
from clusterscape.compare import _distributions as parts
from clusterscape.ensemble import Ensemble

_MAX_GB = 4.0  # of histograms


@dataclass(frozen=True, eq=False)
class _Histograms:
    """Of each partition, the histograms of its clusters (one row each) and the clusters' keys."""

    vectors: list[np.ndarray]
    keys: list[tuple[bytes, ...]]


def prepare(
    ensemble: Ensemble, features: Any, *, noise: str, n_jobs: int | None, n_bins: int = 10
) -> _Histograms:
    """Return the histograms of all clusters, over the range of each feature."""
    remedy = "it counts points in the bins of every column. Reduce them to few columns first."
    X = parts.checked_points(features, ensemble, "adco", remedy=remedy)
    n, d = X.shape
    _check_room(ensemble, d, n_bins)
    # Points that no partition has, and those without weight, shape no bin.
    seen = parts.seen_points(ensemble, noise)
    X = np.where(seen[:, None], X, X[np.argmax(seen)])
    X = np.ldexp(X, -parts.exponent_of(X, axis=0))
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    share = (X - low) / np.where(width > 0, width, 1.0)
    bins = np.minimum((share * n_bins).astype(np.int64), n_bins - 1)
    columns = (bins + n_bins * np.arange(d)).ravel()
    entries = (np.ones(n * d), columns, np.arange(0, n * d + 1, d))
    table = sparse.csr_matrix(entries, shape=(n, n_bins * d))
    vectors, keys = [], []
    for clusters in parts.clusters_of(ensemble, noise):
        total = clusters.sum()
        vectors.append((clusters.T @ table).toarray() / (total if total > 0 else 1.0))
        keys.append(tuple(sorted(parts.keys_of(clusters))))
    return _Histograms(vectors, keys)


def _check_room(ensemble: Ensemble, d: int, n_bins: int) -> None:
    clusters = int(ensemble.n_clusters.sum()) + ensemble.n_partitions  # and noise
    need = 8e-9 * clusters * d * n_bins
    if need > _MAX_GB:
        raise ValueError(
            f"adco: n_bins={n_bins:,} bins of {d:,} columns for {clusters:,} clusters would take "
            f"{need:,.1f} GB, more than {_MAX_GB:g} GB. Take fewer bins, columns or partitions."
        )


def formula(
    prepared: _Histograms,
    pairs: np.ndarray,
    *,
    n_jobs: int | None,
    progress: bool | None,
    normalize: Literal["max", "geometric"] = "max",
) -> np.ndarray:
    """Return D_ADCO of each of the pairs."""
    work = partial(_adco_run, prepared, pairs, normalize)
    tasks = parts.runs(len(pairs))
    found = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    return np.concatenate([np.empty(0), *found])


def _adco_run(prepared: _Histograms, pairs: np.ndarray, normalize: str, task: slice) -> np.ndarray:
    values = []
    for i, j in pairs[task]:
        a, b = prepared.vectors[i], prepared.vectors[j]
        if not (len(a) and len(b)):
            values.append(np.nan)
        elif prepared.keys[i] == prepared.keys[j]:
            values.append(0.0)
        else:
            alike = a @ b.T
            own = (float((a * a).sum()), float((b * b).sum()))
            scale = max(own) if normalize == "max" else np.sqrt(own[0] * own[1])
            matched = alike[linear_sum_assignment(alike, maximize=True)].sum()
            values.append(2.0 - min(matched / scale, 1.0))
    return np.array(values)
