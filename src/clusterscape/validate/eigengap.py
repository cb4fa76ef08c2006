"""How many clusters: the largest eigengap of the co-association operator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterscape._params import Integer, checked
from clusterscape.ensemble import as_ensemble
from clusterscape.linalg.eigen import coassociation_spectrum

# An eigenvalue that misses 1 by less than this is as good as 1: without the floor, rounding would
# make enormous ratios of two gaps that are both nothing.
_FLOOR = 0.02


@dataclass(frozen=True)
class KSelection:
    """A number of clusters, and what it was chosen from.

    Attributes
    ----------
    n_clusters : int
        The choice.
    criterion : str
        The rule, in words.
    eigenvalues : (m,) array
        Of the normalised co-association, largest first.
    gaps : (m - 1,) array
        Entry k - 1 is the gap that speaks for k clusters.
    reason : str
        One sentence on the choice.
    """

    n_clusters: int
    criterion: str
    eigenvalues: np.ndarray
    gaps: np.ndarray
    reason: str


def log_gaps(eigenvalues: np.ndarray) -> np.ndarray:
    """Return the eigengaps on the scale of relaxation times.

    The gap for k clusters is ``log((1 - v[k] + f) / (1 - v[k-1] + f))`` with a small floor f. A
    random walk on the co-association leaves a group at the rate ``1 - v``, so a large gap says that
    k groups are left much more slowly than anything finer.
    """
    rate = np.maximum(1.0 - eigenvalues, 0.0) + _FLOOR
    return np.log(rate[1:] / rate[:-1])


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
        The choice lies between these; it is 1 all the same when every partition is one cluster.
    seed : int
        Of the eigen-solver's start vector.

    Returns
    -------
    KSelection

    Notes
    -----
    Eigenvalues near 1 count the groups that the partitions hardly ever mix; gaps are compared as
    ratios of ``1 - eigenvalue``. It fails where the partitions are coarser than the clusters (then
    it finds the partitions' own number), and it always finds something. Eigenvalues do not tell one
    cluster from several blurred ones, which is why ``min_clusters`` is 2: ask
    :func:`structure_test` whether there is anything to find.

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
    gaps = log_gaps(values)
    most = int((values[:-1] > 1e-8).sum())  # an eigenvalue of zero is not a group
    least = min(min_clusters, most)
    best = least + int(np.argmax(gaps[least - 1 : most]))
    gap = float(gaps[best - 1])
    return KSelection(
        best,
        "largest eigengap of the normalised co-association, as a ratio of 1 - eigenvalue",
        values,
        gaps,
        f"Between eigenvalue {best} ({values[best - 1]:.3f}) and {best + 1} "
        f"({values[best]:.3f}) lies the largest gap (log ratio {gap:.2f}).",
    )
