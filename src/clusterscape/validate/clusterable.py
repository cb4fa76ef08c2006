"""Clusterability: how stable the points of a k-means partition are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import clone

from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Instance, Integer, Null, Seed, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.ensemble.inputs import check_same_rows
from clusterscape.generate.features import read_matrix
from clusterscape.linalg.kmeans import kmeans
from clusterscape.validate.affinity import Affinity, Certificates
from clusterscape.validate.references import SmoothShape

_SHAPE_POINTS = 5_000  # from which the shape of the references is measured


@dataclass(frozen=True, eq=False)
class Clusterability:
    """How stable the points of a partition are, all together.

    Attributes
    ----------
    stability : float
        Mean stability; at least 1/k.
    chance_corrected : float
        The same on a scale on which 1/k is 0.
    stable_share : float
        Share of the points in clusters whose stability is above the threshold.
    n_unstable : int
        Number of the others in clusters.
    references : (m,) array
        Mean stabilities of reference data without clusters.
    p_value : float
        Chance that such data are as stable, (1 + as stable) / (1 + m); nan without references.
    certificates : Certificates
        Of the single points.

    See Also
    --------
    clusterability : Make one.
    """

    stability: float
    chance_corrected: float
    stable_share: float
    n_unstable: int
    references: np.ndarray
    p_value: float
    certificates: Certificates

    def __repr__(self) -> str:
        """Say what was found; ``certificates`` are of the single points."""
        many, n = self.references.size, len(self.certificates.codes)
        tested = f", p = {self.p_value:.2g} against {many} references" if many else ""
        return (
            f"Clusterability({n} points, mean stability {self.stability:.3f}, "
            f"{self.n_unstable} unstable{tested})"
        )


@checked(
    {
        "n_clusters": [Null(), Integer(2)],
        "affinity": [Null(), Instance(Affinity)],
        "n_references": [Integer(0)],
        "n_init": [Integer(1)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def clusterability(
    X: Any,
    n_clusters: int | None = None,
    *,
    labels: Any = None,
    affinity: Affinity | None = None,
    n_references: int = 0,
    n_init: int = 10,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Clusterability:
    """Say how clusterable data are: the mean stability of the points of a partition.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features.
    n_clusters : int, optional
        Clusters of the k-means partition that is made; those of ``labels`` where these are given.
    labels : (n,) array, optional
        A partition, instead of that of k-means.
    affinity : Affinity, optional
        How stability is measured.
    n_references : int
        Reference datasets without clusters that k-means clusters in the same way. Their columns
        have the skewness and the tails of those of the data and one mode each, and the same rank
        correlations. They need dense data and are compared with the k-means partition only.
    n_init : int
        Starts of k-means.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        References are scored in parallel; the result does not depend on it.

    Returns
    -------
    Clusterability

    See Also
    --------
    structure_test : A calibrated test of whether there are clusters.
    Affinity : Stability of single points.

    Notes
    -----
    Mean stability falls as clusters overlap and it depends on k, on the dimension and on the rule
    for points outside of the hull: compare data of one kind, or with the references. The level of
    the p-value is checked in ``benchmarks/quality/structure.py``; it asks about centres only, so
    prefer :func:`structure_test` for clusters of any shape.

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 5.5.4.2.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import clusterability
    >>> rng = np.random.default_rng(0)
    >>> middles = np.repeat([[0, 0], [4, 0], [2, 3]], 50, axis=0)
    >>> tight, loose = (middles + rng.normal(0, s, size=(150, 2)) for s in (0.3, 1.5))
    >>> scores = [clusterability(X, 3, random_state=0).stability for X in (tight, loose)]
    >>> scores[0] > scores[1]
    True
    """
    check_same_rows(X, labels)
    X = read_matrix(X).views[0]
    if n_clusters is None and labels is None:
        raise ParameterError(
            "{n_clusters}: give the number of clusters, or labels.", n_clusters=n_clusters
        )
    own, scoring, drawing, *seeds = spawn(random_state, n_references + 3)
    made = Affinity(random_state=scoring) if affinity is None else affinity
    if labels is None:
        assert n_clusters is not None
        labels = kmeans(X, n_clusters, n_init=n_init, seed=own).labels
        k = n_clusters
    elif n_references:
        raise ParameterError(
            "{n_references} can only be compared with the partition of k-means; leave labels out.",
            n_references=n_references,
        )
    found = clone(made).fit(X, labels).certificates_
    summary = found.summary()
    references = np.empty(0)
    if n_references:
        if sparse.issparse(X):
            raise TypeError("X: references need a dense array.")
        rng = np.random.default_rng(drawing)
        n = X.shape[0]
        some = X if n <= _SHAPE_POINTS else X[rng.choice(n, _SHAPE_POINTS, replace=False)]
        shape = SmoothShape.of(np.asarray(some, dtype=np.float64))
        tasks = [(n, shape, k, n_init, made, seed) for seed in seeds]
        references = np.array(parallel_map(_reference, tasks, n_jobs=n_jobs))
    above = int((references >= found.aggregate).sum())
    return Clusterability(
        found.aggregate,
        found.chance_corrected,
        summary["stable_share"],
        summary["n_unstable"],
        references,
        (1 + above) / (1 + n_references) if n_references else float("nan"),
        found,
    )


def _reference(task: tuple[int, SmoothShape, int, int, Affinity, SeedSequence]) -> float:
    n, shape, k, n_init, affinity, seed = task
    drawing, clustering = seed.spawn(2)
    data = shape.reference(n, np.random.default_rng(drawing), same_correlations=True)
    labels = kmeans(data, k, n_init=n_init, seed=clustering).labels
    return clone(affinity).fit(data, labels).aggregate_stability_
