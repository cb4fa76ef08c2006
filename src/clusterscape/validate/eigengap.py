"""How many clusters: the largest eigengap of the co-association operator."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape._core.params import Integer, checked
from clusterscape.combine.result import KSelection
from clusterscape.ensemble import as_ensemble
from clusterscape.linalg.ncut import eigengap
from clusterscape.linalg.transfer_cut import coassociation_spectrum


@checked({"max_clusters": [Integer(2)], "min_clusters": [Integer(1)], "seed": [Integer(0)]})
def select_k(
    ensemble: Any, *, max_clusters: int = 20, min_clusters: int = 2, seed: int = 0
) -> KSelection:
    """Choose the number of clusters by the largest eigengap of the normalised co-association.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        Best made of partitions that are finer than the clusters sought.
    max_clusters, min_clusters : int
        The choice lies between these, except that it is 1 when every partition is one cluster.
    seed : int
        Of the eigen-solver's start vector.

    Returns
    -------
    KSelection

    See Also
    --------
    structure_test : Whether there are clusters at all.
    clusterscape.combine.SpectralConsensus : Uses the same gap and then clusters.

    Notes
    -----
    Eigenvalues near 1 count the groups that the partitions hardly ever mix; gaps are compared as
    ratios of ``1 - eigenvalue``. It fails where the partitions are coarser than the clusters (then
    it finds the partitions' own number), and it always finds something. Eigenvalues do not
    separate one cluster from several blurred ones, which is why ``min_clusters`` is 2: use
    :func:`structure_test` to check whether there are clusters at all.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17,
       395-416, 2007. doi:10.1007/s11222-007-9033-z

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.validate import select_k
    >>> runs = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], [0, 4, 1, 1, 2, 2]])
    >>> select_k(runs).n_clusters
    3
    """
    source = as_ensemble(ensemble)
    if min_clusters > max_clusters:
        raise ValueError(f"min_clusters={min_clusters} is above max_clusters={max_clusters}.")
    usable = source.n_clusters > 0
    if not usable.any():
        raise ValueError("ensemble: no partition has a cluster, so there is no k to choose.")
    kept = source if usable.all() else source.select(usable)
    small = kept.compress().ensemble
    operator = small.coassociation(normalize="counts")
    found = coassociation_spectrum(
        operator, max_clusters + 1, sample_weight=small.sample_weight, seed=seed
    )
    values = np.clip(found.values, 0.0, 1.0)
    if values.size <= max_clusters:  # the rest of the spectrum is zero: nothing is left out
        values = np.append(values, 0.0)
    best, gaps = eigengap(values, max_clusters=max_clusters, min_clusters=min_clusters)
    gap = float(gaps[best - 1])
    return KSelection(
        best,
        "largest eigengap of the normalised co-association, as a ratio of 1 - eigenvalue",
        values,
        gaps,
        f"Between eigenvalue {best} ({values[best - 1]:.3f}) and {best + 1} "
        f"({values[best]:.3f}) lies the largest gap (log ratio {gap:.2f}).",
    )
