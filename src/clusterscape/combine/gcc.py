"""GCC: the best of three graph-based consensus functions."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from clusterscape._core.params import Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.cspa import CSPA
from clusterscape.combine.eci import WEIGHTING, Weighting
from clusterscape.combine.hgpa import HGPA
from clusterscape.combine.mcla import MCLA
from clusterscape.combine.registry import consensus_method
from clusterscape.compare.information import average_nmi
from clusterscape.ensemble import Ensemble


@consensus_method("gcc", cost="the three together", memory="n (r + K) + 100 m + D^2", extra="graph")
class GCC(BaseConsensus):
    """Graph-based consensus: the best of CSPA, HGPA and MCLA by average NMI with the ensemble.

    :class:`CSPA`, :class:`HGPA` and :class:`MCLA` are run, and the result that shares most
    information with the ensemble, by average NMI, is kept.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    imbalance : float
        How far a part may exceed the average size, as a share of it, in all three.
    weighting, theta
        As in :class:`SEC`, in all three. The average NMI that chooses among them has no weights.
    max_pairwise : int
        Above this many distinct rows CSPA, which compares all pairs of them, is skipped.
    random_state : int, generator or None
        Seed of the three methods.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    method_ : str
        The method that won: "cspa", "hgpa" or "mcla".
    scores_ : dict
        Average NMI of every method that was run, each partition counting in proportion to its
        weight and to the points it labelled.
    skipped_ : dict
        Why a method was not run, by its name.

    See Also
    --------
    CSPA, HGPA, MCLA : The three candidates.
    choose_method : A choice by what the members are, without running the candidates.

    Notes
    -----
    It needs ``pip install "clusterscape[graph]"``. Average NMI rewards agreement with the majority
    of the partitions, not truth. CSPA and HGPA force equal sizes; on unequal clusters MCLA usually
    wins. HGPA is skipped for soft partitions.

    References
    ----------
    .. [1] A. Strehl and J. Ghosh, "Cluster ensembles - a knowledge reuse framework for combining
       multiple partitions", Journal of Machine Learning Research 3, 583-617, 2002.
       doi:10.1162/153244303321897735

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import GCC
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]])
    >>> model = GCC(2, random_state=0).fit(runs)
    >>> model.labels_, round(model.scores_["mcla"], 3)
    (array([0, 0, 0, 1, 1, 1]), 0.943)
    """

    _source: ClassVar[str] = "Strehl and Ghosh 2002"
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "imbalance": [Number(0, 1)],
        **WEIGHTING,
        "max_pairwise": [Integer(0)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        imbalance: float = 0.05,
        weighting: Weighting = None,
        theta: float = 0.4,
        max_pairwise: int = 20_000,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.imbalance = imbalance
        self.weighting = weighting
        self.theta = theta
        self.max_pairwise = max_pairwise
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress()
        skipped = {}
        if small.n_points > self.max_pairwise:
            skipped["cspa"] = (
                f"{small.n_points:,} distinct rows are more than max_pairwise={self.max_pairwise:,}"
            )
        if ensemble.is_soft:
            skipped["hgpa"] = "it takes hard partitions only"
        # Average NMI counts in points, so the least weight is the unit.
        weight = small.sample_weight / small.sample_weight.min()
        judge = small.with_weights(sample_weight=weight)
        found: dict[str, np.ndarray] = {}
        for method, seed in zip((CSPA, HGPA, MCLA), spawn(self.random_state, 3), strict=True):
            name = method.__name__.lower()
            if name not in skipped:
                made = method(
                    self.n_clusters,
                    imbalance=self.imbalance,
                    weighting=self.weighting,
                    theta=self.theta,
                    random_state=seed,
                )
                found[name] = made._combine(small, None).labels
        # Noise is in no cluster and says nothing about which clusters agree.
        scores = {name: average_nmi(labels, judge, noise="drop") for name, labels in found.items()}
        best = max(scores, key=lambda name: scores[name])
        details = {"method_": best, "scores_": scores, "skipped_": skipped}
        return Combined(found[best][inverse], details=details)
