"""The median of partitions: the best of the inputs, improved one point at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import (
    N_JOBS,
    Choice,
    Flag,
    Instance,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
)
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.median.allocation import Evidence, searched
from clusterscape.combine.median.search import Costs, Moves, searcher
from clusterscape.combine.registry import consensus_method
from clusterscape.compare import MEASURES, Measure
from clusterscape.ensemble import Ensemble


@consensus_method("median_partition", cost="n r K per sweep", memory="n r + D K")
class MedianPartition(BaseConsensus):
    """Median partition: the best input, then one-point moves that lower the sum of distances.

    It starts from the input whose weighted sum of distances to all inputs is least; for a metric
    that is at most twice the optimum. Then single points move to the cluster where the sum falls
    most, sweep after sweep, until none does.

    Parameters
    ----------
    n_clusters : int, optional
        Keep this many clusters. None lets moves open and empty clusters, so that the number follows
        from the distance.
    distance : str or callable
        A measure of :data:`clusterscape.compare.MEASURES` (of a similarity, how much its best value
        is missed), or a function ``distance(labels, partition)``. With "mirkin", "rand_distance"
        and "pair_accuracy" a sweep costs O(n r K) look-ups; with the other pair-counting and
        information measures as many updates of sums, each some hundred times slower; with any
        other measure, and with a function, tables are recounted for every move, O(n^2 r K).
    distance_params : dict, optional
        Options of the measure, for example ``{"norm": "joint"}`` of "nvi".
    local_search : bool
        False takes the best input as it is.
    max_iter : int
        Sweeps at most.
    search : {"moves", "allocation"}
        "moves" starts from the best input. "allocation" makes many searches from random orders:
        points are allocated one by one where the loss is least, swept until none moves, and
        in the best runs clusters are destroyed and their points allocated anew. It is for "vi",
        "nvi" (by log n or the joint entropy), "information_distance", "mirkin", "rand_distance" and
        "pair_accuracy", for hard partitions with every point in a cluster, and finds lower sums in
        less time there.
    n_init : int
        Searches, with "allocation"; one in sixteen is improved by destroying clusters.
    zealous : int
        Clusters that are destroyed and allocated anew in each of those.
    split_cost : float
        Cost of separating what a partition has together, between 0 and 2, with "allocation" under
        "vi", "nvi" by log n, and the pair-counting distances; that
        of joining what it has apart is 2 minus this. More than 1 gives fewer, larger clusters.
    random_state : int, generator or None
        Of the orders, with "allocation".
    n_jobs : int, optional
        Searches at a time; the result does not depend on it.
    max_clusters : int
        With ``n_clusters=None``, moves open no cluster beyond this many: where inputs disagree, the
        median leaves many points alone, and every cluster costs time and memory.
        ``hit_max_clusters_`` says whether the limit was reached.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Weighted sum of distances to the partitions.
    costs_ : array
        That sum at the start and after each sweep; it never rises. With "allocation", of each run.
    start_ : int
        Position of the best input, among the partitions that have a weight and sampled any point.
        With "allocation", number of the best run.
    n_micro_clusters_ : int
        Distinct rows among the points; they move as one.
    hit_max_clusters_ : bool
        Whether ``max_clusters`` kept points from being alone.

    See Also
    --------
    clusterscape.compare.pairwise : The distances between partitions.
    KCC : The same kind of objective, by k-means over B.

    Notes
    -----
    Noise and unsampled points are what :mod:`clusterscape.compare` makes of them: a noise point is
    a cluster of its own, a point that a partition did not sample does not count in the distance to
    it, and ``sample_weight`` is a number of equal points, 0 or at least 1. Before inputs are
    compared, their noise and unsampled points are placed where they disagree least by the Mirkin
    distance (or alone, unless ``n_clusters`` is given); this costs O(n r K) for each input that has
    any, and the bound of twice the optimum holds for inputs that have none. Where no input has the
    ``n_clusters`` asked for, the best one is brought to it by the merges, or the single points
    split off, that raise the sum of Mirkin distances least.

    The median under pair-counting distances favours few large clusters or many small ones when the
    inputs disagree; and local search stops at the first local optimum.

    References
    ----------
    .. [1] V. Filkov and S. Skiena, "Integrating microarray data by consensus clustering",
       International Journal on Artificial Intelligence Tools 13, 863-880, 2004.
    .. [2] D. B. Dahl, D. J. Johnson, P. Muller, "Search algorithms and loss functions for Bayesian
       clustering", Journal of Computational and Graphical Statistics 31, 1189-1201, 2022.
       doi:10.1080/10618600.2022.2069779
    .. [3] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 2.3.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import MedianPartition
    >>> runs = [[0, 0, 0, 1, 1, 2], [0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1]]
    >>> model = MedianPartition(2).fit(Ensemble.from_labels(runs))
    >>> model.labels_, model.costs_
    (array([0, 0, 0, 1, 1, 1]), array([26., 24.]))
    """

    _source: ClassVar[str] = "Filkov and Skiena 2004"
    _distinct = "noise"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "distance": [
            Such(
                lambda v: callable(v) or (isinstance(v, str) and v in MEASURES),
                "the name of a measure in clusterscape.compare.MEASURES, or a function of two "
                "label vectors",
                refused=["no such measure", 3],
            )
        ],
        "distance_params": [Null(), Instance(Mapping)],
        "local_search": [Flag()],
        "max_iter": [Integer(1)],
        "search": [Choice("moves", "allocation")],
        "n_init": [Integer(1)],
        "zealous": [Integer(0)],
        "split_cost": [Number(0, 2)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
        "max_clusters": [Integer(1)],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        distance: str | Callable[[Any, Any], float] = "mirkin",
        distance_params: Mapping[str, Any] | None = None,
        local_search: bool = True,
        max_iter: int = 100,
        search: Literal["moves", "allocation"] = "moves",
        n_init: int = 32,
        zealous: int = 30,
        split_cost: float = 1.0,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
        max_clusters: int = 256,
    ) -> None:
        self.n_clusters = n_clusters
        self.distance = distance
        self.distance_params = distance_params
        self.local_search = local_search
        self.max_iter = max_iter
        self.search = search
        self.n_init = n_init
        self.zealous = zealous
        self.split_cost = split_cost
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.max_clusters = max_clusters

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        if self.search == "allocation":
            return self._allocated(ensemble)
        if self.split_cost != 1.0:
            raise ParameterError(
                "{split_cost} is for {search__other}; with {search} both mistakes cost the same.",
                split_cost=self.split_cost,
                search="moves",
                search__other="allocation",
            )
        measure = MEASURES[self.distance] if isinstance(self.distance, str) else None
        if measure is not None and measure.needs_features and features is None:
            raise ValueError(
                f"distance={measure.name!r} looks at the points; pass them as features=X to fit."
            )
        small, inverse = ensemble, np.arange(ensemble.n_points)
        if features is None:
            small, inverse = ensemble.compress(keep_noise_apart=True)
        costs = Costs(small, self.distance, measure, features, self._options(measure))
        start, groups = self._start(costs)
        history = [float(costs(groups[:, None])[0])]
        if self.local_search:
            fixed = self.n_clusters is not None
            sweep = searcher(costs, int(groups.max()) + 1, fixed=fixed, most=self.max_clusters)
            while len(history) <= self.max_iter and sweep(groups):
                history.append(float(costs(groups[:, None])[0]))
        k = int(np.unique(groups).size)
        details = {
            "costs_": np.array(history),
            "start_": start,
            "n_micro_clusters_": small.n_points,
            "hit_max_clusters_": self.n_clusters is None and k >= self.max_clusters,
        }
        return Combined(groups[inverse], history[-1], details)

    def _allocated(self, ensemble: Ensemble) -> Combined:
        """Search from many random orders."""
        small, inverse = ensemble.compress()
        name = self.distance if isinstance(self.distance, str) else "a function"
        measure = MEASURES.get(name)
        options = self._options(measure)
        evidence = Evidence.of(small, name, float(self.split_cost), options)
        most = self.max_clusters if self.n_clusters is None else self.n_clusters
        found = searched(
            evidence,
            min(most, small.n_points),
            spawn(self.random_state, self.n_init),
            max_iter=self.max_iter,
            zealous=self.zealous if self.local_search else 0,
            n_jobs=self.n_jobs,
        )
        groups, loss, k = found.groups, found.loss, np.unique(found.groups).size
        if self.n_clusters is not None and k < min(self.n_clusters, small.n_points):
            moves = Moves(small, small.weights, most=self.max_clusters)
            tidy = np.unique(groups, return_inverse=True)[1].astype(np.int64)
            groups = moves.resized(tidy, self.n_clusters)
            loss = float("nan") if self.split_cost != 1.0 else loss
        if self.split_cost == 1.0:  # what compare says of it, in its unit
            costs = Costs(small, self.distance, measure, None, options)
            loss = float(costs(groups[:, None])[0])
        details = {
            "costs_": found.losses,
            "start_": found.run,
            "n_micro_clusters_": small.n_points,
            "hit_max_clusters_": self.n_clusters is None and k >= self.max_clusters,
        }
        return Combined(groups[inverse], loss, details)

    def _options(self, measure: Measure | None) -> dict[str, Any]:
        """Return the options of the distance, or refuse those that it does not have."""
        options = dict(self.distance_params or {})
        known = measure.option_names() if measure is not None else set()
        for name in sorted(set(options) - known):
            has = ", ".join(sorted(known)) or "none"
            raise ParameterError(
                f"{{distance_params}}: {name!r} is no option of {{distance}}; it has {has}.",
                distance_params=options,
                distance=self.distance,
            )
        return options

    def _start(self, costs: Costs) -> tuple[int, np.ndarray]:
        """Return the position of the best input, and its labels with every point in a group."""
        ensemble, k = costs.ensemble, self.n_clusters
        moves = Moves(ensemble, ensemble.weights, most=self.max_clusters)
        usable = np.flatnonzero(ensemble.n_clusters > 0)
        if k is not None and (ensemble.n_clusters == k).any():
            usable = np.flatnonzero(ensemble.n_clusters == k)
        # An input that sampled few points is near to everything: all are completed to compare them.
        inputs = [moves.completed(ensemble.labels[:, i], fixed=k is not None) for i in usable]
        best = int(np.argmin(costs(np.column_stack(inputs))))
        groups = inputs[best]
        alone = np.flatnonzero(groups < 0)
        if groups.max() + 1 + alone.size > self.max_clusters:
            groups = moves.completed(groups, fixed=True)
            alone = alone[:0]
        groups[alone] = groups.max() + 1 + np.arange(alone.size)
        if k is not None and k >= ensemble.n_points:
            groups = np.arange(ensemble.n_points)
        elif k is not None:
            groups = moves.resized(groups, k)
        return int(usable[best]), groups

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found, as the estimator is set."""
        if self.n_clusters is not None:
            return f"n_clusters={self.n_clusters} of MedianPartition"
        return "least sum of distances to the partitions"
