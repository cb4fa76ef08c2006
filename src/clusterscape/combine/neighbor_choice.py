"""Which of two consensuses: that of the finer partitions, or that of partitions with k clusters."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.lwgp import LWGP
from clusterscape.combine.registry import consensus_method
from clusterscape.compare import adjusted_rand
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.neighbors import nearest_neighbors

_FEWEST = 3  # partitions that make a group of their own


@consensus_method(
    "neighbor_choice",
    cost="twice that of LWGP, and the near neighbours of at most 5,000 points",
    memory="n (r + K) + D^2",
)
class NeighborChoice(BaseConsensus):
    """The consensus of finer partitions or of those with k clusters, by the near neighbours.

    Partitions finer than the answer show the shapes of clusters, because their pieces follow them;
    partitions with just k clusters agree on clusters that overlap. Both groups are combined by
    :class:`LWGP`, and the answer that separates fewer near neighbours of the features is taken:
    the one with the smaller mean, over its clusters, of the share of neighbours in other clusters.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    n_neighbors : int
        Near neighbours of each point that are looked at.
    metric : {"euclidean", "cosine"}
        Distance of the features.
    max_points : int
        Of more points than this a random sample is looked at.
    theta : float
        Of the weights of the clusters, as in :class:`LWGP`.
    random_state : int, generator or None
        Seed of the starts and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float or None
        Share of near neighbours in other clusters, mean over the clusters; None where there was
        only one candidate or no features.
    chosen_ : str
        "finer", "equal" (partitions with k clusters) or "all".
    candidates_ : dict
        The share of separated neighbours of each candidate; None where it was not computed.
    agreement_ : float or None
        Adjusted Rand index of the two candidates; None where there was only one.

    See Also
    --------
    LWGP : What combines each group.

    Notes
    -----
    Without features, or where fewer than three partitions are finer or have k clusters, all
    partitions are combined. The rule prefers compact cuts: a small true cluster beside large ones
    may be given up for an even cut. The rule was chosen on the sets of
    ``benchmarks/quality/main_job.py``.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from clusterscape.combine import NeighborChoice
    >>> from clusterscape.compare import adjusted_rand
    >>> from clusterscape.generate import diverse
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> ensemble = diverse(40, n_clusters=2, random_state=0).generate(X)
    >>> model = NeighborChoice(2, random_state=0).fit(ensemble, features=X)
    >>> adjusted_rand(model.labels_, y)
    1.0
    """

    _source: ClassVar[str] = "this package, on Huang, Wang and Lai 2018"
    _features: ClassVar[Literal["none", "used", "needed"]] = "used"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "n_neighbors": [Integer(1)],
        "metric": [Choice("euclidean", "cosine")],
        "max_points": [Integer(2)],
        "theta": [Number(0, open_low=True)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_neighbors: int = 10,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        max_points: int = 5000,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.max_points = max_points
        self.theta = theta
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        combining, sampling = spawn(self.random_state, 2)
        groups = self._groups(ensemble) if features is not None else {"all": ensemble}
        labels = {
            name: LWGP(self.n_clusters, theta=self.theta, random_state=combining).fit(part).labels_
            for name, part in groups.items()
        }
        shares: dict[str, float | None] = dict.fromkeys(labels)
        if len(labels) > 1:
            rows = self._sampled(ensemble.n_points, sampling)
            X = features[rows]
            count = min(self.n_neighbors, len(rows) - 1)
            near = nearest_neighbors(X, count, metric=self.metric)[1]
            shares = {name: _separated(found[rows], near) for name, found in labels.items()}
        chosen = min(labels, key=lambda name: shares[name] or 0.0)
        agreement = adjusted_rand(*labels.values()) if len(labels) == 2 else None
        details = {"chosen_": chosen, "candidates_": shares, "agreement_": agreement}
        return Combined(labels[chosen], shares[chosen], details)

    def _groups(self, ensemble: Ensemble) -> dict[str, Ensemble]:
        """Return the partitions that are combined together, by the name of the group."""
        found = {
            "finer": np.flatnonzero(ensemble.n_clusters > self.n_clusters),
            "equal": np.flatnonzero(ensemble.n_clusters == self.n_clusters),
        }
        whole = all(
            part.size >= _FEWEST and (ensemble.labels[:, part] >= 0).any(axis=1).all()
            for part in found.values()
        )
        if not whole:
            return {"all": ensemble}
        return {name: ensemble.select(part) for name, part in found.items()}

    def _sampled(self, n: int, seed: np.random.SeedSequence) -> np.ndarray:
        if n <= self.max_points:
            return np.arange(n)
        return np.sort(np.random.default_rng(seed).choice(n, self.max_points, replace=False))


def _separated(labels: np.ndarray, near: np.ndarray) -> float:
    """Return the share of near neighbours in other clusters, as a mean over the clusters."""
    apart = (labels[near] != labels[:, None]).mean(axis=1)
    sizes = np.bincount(labels)
    shares = np.bincount(labels, weights=apart)[sizes > 0] / sizes[sizes > 0]
    # One cluster separates nobody, and is no answer to a question for several.
    return float(shares.mean()) if shares.size > 1 else np.inf
