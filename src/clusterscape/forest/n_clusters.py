"""How many clusters: the columns that a small forest prefers, and fine partitions on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from clusterscape._core.seeds import spawn
from clusterscape.combine.result import KSelection
from clusterscape.forest.columns import column_counts
from clusterscape.forest.grower import ForestGrower
from clusterscape.forest.vectors import used_columns
from clusterscape.generate import generator_for
from clusterscape.linalg.ncut import eigengap
from clusterscape.linalg.transfer_cut import coassociation_spectrum

_ROWS = 5000  # points that are looked at
# The forest that weighs the columns: of several settings tried, these found the number most often.
_VECTORS = 30
_BASE_CLUSTERS = 4
_COMPETITORS = 5
_STARTS = 5
_PARTITIONS = 50


def find_n_clusters(X: Any, weights: np.ndarray, grower: ForestGrower, most: int) -> KSelection:
    """Return the number of clusters, from 2 to ``most``, at the largest eigengap.

    Vectors with many base clusters are not suitable: hardly any column lowers their kappa, and on
    two columns clusters overlap. So a small forest, set up like ``grower``, only weighs the columns
    by the share of vectors that took them, and fine partitions are made on all columns so weighted.
    """
    drawing, growing, clustering = spawn(grower.random_state, 3)
    grower = clone(grower).set_params(
        n_partitions=_VECTORS,
        n_clusters=min(_BASE_CLUSTERS, most),
        n_competitors=max(grower.n_competitors, _COMPETITORS),
        n_init=min(grower.n_init, _STARTS),
        random_state=growing,
    )
    rows = np.flatnonzero(weights > 0)
    if rows.size > _ROWS:
        rows = np.sort(np.random.default_rng(drawing).choice(rows, _ROWS, replace=False))
    data, weight = X[rows], weights[rows]
    grown = grower.generate(data, sample_weight=weight)
    counts = column_counts(used_columns(grown), X.shape[1])
    share = np.asarray((counts > 0).mean(axis=0)).ravel()
    used = np.flatnonzero(share)
    scaled = data[:, used]
    if sparse.issparse(scaled):
        scaled = scaled @ sparse.diags(share[used])
    else:
        scaled = scaled * share[used].astype(scaled.dtype)
    fine = generator_for(rows.size, used.size, preset="random_k", n_partitions=_PARTITIONS)
    fine.set_params(random_state=clustering, n_jobs=grower.n_jobs, progress=grower.progress)
    small = fine.generate(scaled, sample_weight=weight).compress().ensemble
    found = coassociation_spectrum(
        small.coassociation(normalize="counts"),
        most + 1,
        sample_weight=small.sample_weight,
    )
    values = np.clip(found.values, 0.0, 1.0)
    if values.size <= most:  # the rest of the spectrum is zero: nothing is left out
        values = np.append(values, 0.0)
    k, gaps = eigengap(values, max_clusters=most)
    return KSelection(
        k,
        "largest eigengap of fine partitions on the columns that a forest prefers",
        values,
        gaps,
        f"Eigenvalue {k} is {values[k - 1]:.3f} and the next one {values[k]:.3f}.",
    )
