"""PartitionSampler: features in, partitions out, each as often as its quality says."""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError, ParameterWarning
from clusterscape._core.labels import canonical
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
    check_params,
)
from clusterscape._core.progress import showing, track
from clusterscape._core.store import PartitionStore, stored_plan
from clusterscape.ensemble import Ensemble, PartitionRecord
from clusterscape.explore.diagnostics import SamplingDiagnostics, diagnosed
from clusterscape.explore.quality import QUALITIES, Name
from clusterscape.explore.space import SPACE_RULES, Space
from clusterscape.explore.starts import random_labels, starts_of
from clusterscape.explore.walk import (
    TRANSFORMS,
    Chain,
    Round,
    Task,
    Walk,
    holding_power,
    ladder,
    new_chain,
    pilot_run,
    run_round,
    sweeps_per_round,
)
from clusterscape.generate.features import Features, read_features

QUALITY_RULES = (
    Choice(registry=QUALITIES),
    Such(callable, "a function of X and labels that returns a number"),
)


def _are_counts(value: Any) -> bool:
    several = isinstance(value, (list, tuple, range)) and len(value) > 0
    return several and all(Integer(1).allows(v) for v in value) and len(set(value)) == len(value)


N_CLUSTERS_RULES = (
    Integer(1),
    Such(_are_counts, "a list or range of different integers >= 1", refused=[[], [0], [2, 2]]),
)
SAMPLER_RULES: Rules = {
    "n_samples": (Integer(1),),
    "quality": QUALITY_RULES,
    "power": (Choice("auto", "local"), Number(0)),
    "weighting": (Choice("auto", *TRANSFORMS),),
    "min_cluster_size": (Choice("auto"), Integer(1)),
    "burn_in": (Integer(0),),
    "thin": (Integer(1),),
    "n_chains": (Integer(1),),
    "n_temperatures": (Integer(1),),
    "method": (Choice("gibbs", "metropolis"),),
    "subset_size": (Choice("auto"), Integer(1)),
    "merge_split": (Choice("auto"), Integer(0)),
    "start": (Choice("diverse", "kmeans_random"),),
    "kernel": SPACE_RULES["kernel"],
    "bandwidth": SPACE_RULES["bandwidth"],
    "n_random_features": SPACE_RULES["n_components"],
    "random_state": (Seed(),),
    "n_jobs": N_JOBS,
    "progress": PROGRESS,
    "store": (Null(), Instance(str, os.PathLike)),
}


class SamplingWarning(ParameterWarning):
    """A sample of partitions is shorter, or less trustworthy, than was asked for."""


class PartitionSampler(BaseEstimator):
    """Draw partitions of the points, good ones more often, by Markov chains.

    A sweep visits the points in random order; each one draws its cluster with a probability in
    proportion to ``weight(Q)``, Q being the quality of the partition with the point in that cluster
    and all others held fixed. So partitions with a fixed number of clusters are drawn in proportion
    to their weight, ``Q ** power``.

    Parameters
    ----------
    n_clusters : int or list of int
        Number of clusters of every partition; of several numbers each gets the same share of the
        samples, in chains of its own, because qualities of different numbers do not compare.
    n_samples : int
        Partitions to return, of all chains together; rounded up to a multiple of their number.
    quality : str or callable
        "weighted_kernel", "kmeans", "variance_ratio", "centroid_silhouette", "centroid_dunn";
        "separation" (Q_w-s) and "kernel" (Q_w) as the source has them, which favour small dense
        clusters; or a function ``quality(X, labels)``
        of your own, which is called for every point and cluster of every sweep and is therefore
        slower by orders of magnitude.
    power : {"auto", "local"} or float
        Exponent of the weight (inverse temperature). 1 is what the source prints: quality itself,
        which differs so little between good and bad partitions that random ones are drawn. "auto"
        raises it in a pilot run until the mean quality is 98 % of the way from that of random
        partitions to that of k-means, or no longer rises. "local" raises it further, until three
        quarters of the diverse starts stay near where they are: chains then show all good regions,
        also those that are much less good than the best.
    weighting : {"auto", "power", "shift", "clip", "exp"}
        Weight: ``Q ** power``; ``(Q + s**2 / 4) ** power``, which Q_w-s of s clusters needs because
        it can be negative; ``max(Q, 0) ** power``, where points whose candidates all have weight
        zero draw evenly; or ``exp(power * Q)``. "auto" is "shift" for "separation", else "power".
    min_cluster_size : {"auto"} or int
        Clusters never become smaller. "auto" is 1, but n / (2 s) and at least 2 with "separation"
        and "kernel", whose best partitions would otherwise be small dense clusters and a rest;
        where a true cluster may be smaller than half of the mean size, give a number.
    burn_in : int
        Sweeps of every chain before the first sample.
    thin : int
        Keep every thin-th partition.
    n_chains : int
        Chains for each number of clusters, from different starts.
    n_temperatures : int
        Partitions that each chain holds at powers from ``power`` down, and exchanges: those at
        lower powers cross from one good region to another. Time and memory grow in proportion.
    method : {"gibbs", "metropolis"}
        Sweeps point by point, or labels drawn evenly for random subsets and then accepted or
        rejected as a whole.
    subset_size : {"auto"} or int
        Points of a subset, with "metropolis"; "auto" is 2.
    merge_split : {"auto"} or int
        Proposals, after every sweep, to merge two clusters and to split one: moves that single
        points cannot make. "auto" is 1, and 0 with a quality of your own.
    start : {"diverse", "kmeans_random"}
        The first chain starts from k-means and the second from random labels. The others start from
        good partitions far from one another, found by k-means on few columns at a time; or again
        from k-means and from random labels, in turn.
    kernel, bandwidth
        As in :func:`separation_quality`.
    n_random_features : {"auto"}, int or None
        ``n_components`` of :func:`separation_quality`: above 3,000 points 200 random features stand
        for the kernel, and nothing of size n x n is formed.
    random_state : None, int, RandomState, Generator or SeedSequence
        The same seed gives the same samples for any ``n_jobs``.
    n_jobs : int or None
        Chains that run at a time.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.
    store : path or None
        A directory that receives what every round of sweeps found. The same call after an
        interruption goes on from there and returns what it would have returned without it.

    Attributes
    ----------
    ensemble_ : Ensemble
        What :meth:`generate` returned: chain by chain, each in the order of its walk.
    quality_ : (m,) array
        Quality of every sample.
    chain_ : (m,) array
        Chain of every sample, numbered through all numbers of clusters.
    trace_ : dict
        By number of clusters, the quality (chains, sweeps) of every sweep after the burn-in.
    powers_ : dict
        By number of clusters, the powers of the chains, the first one being that of the samples.
    min_cluster_size_ : dict
        By number of clusters.
    diagnostics_ : dict
        By number of clusters, :class:`SamplingDiagnostics`.
    bandwidth_ : float or None
        Of the kernel.
    n_random_features_ : int or None
        Random features; None where inner products are exact.
    interrupted_ : bool
        Whether Ctrl-C ended the run; the samples are those of the rounds that were finished.

    See Also
    --------
    Landscape : Groups the samples and chooses some of them.
    clusterscape.generate.EnsembleGenerator : Partitions by clustering again and again.

    Notes
    -----
    A sweep costs O(n s) where no point moves; a move costs O(n) with all kernel values and O(number
    of features) otherwise. Chains in separate regions that never meet have an R-hat far above 1:
    then the samples show which regions there are, and not how they compare. More temperatures,
    more sweeps, or a lower power help.

    References
    ----------
    .. [1] J. M. Phillips, P. Raman and S. Venkatasubramanian. Generating a diverse set of
       high-quality clusterings. 2nd MultiClust Workshop, 81-90, 2011.
    .. [2] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013,
       chapter 4.
    .. [3] S. Jain and R. M. Neal. A split-merge Markov chain Monte Carlo procedure for the
       Dirichlet process mixture model. Journal of Computational and Graphical Statistics 13,
       158-182, 2004. doi:10.1198/1061860043001
    .. [4] K. Hukushima and K. Nemoto. Exchange Monte Carlo method and application to spin glass
       simulations. Journal of the Physical Society of Japan 65, 1604-1608, 1996.
       doi:10.1143/JPSJ.65.1604

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.explore import PartitionSampler
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 6])
    >>> sampler = PartitionSampler(2, n_samples=200, burn_in=50, random_state=0)
    >>> ensemble = sampler.generate(X)
    >>> ensemble.n_partitions, int(ensemble.n_clusters.max())
    (200, 2)
    """

    _parameter_rules: ClassVar[Rules] = {"n_clusters": N_CLUSTERS_RULES, **SAMPLER_RULES}

    def __init__(
        self,
        n_clusters: int | Sequence[int] = 3,
        *,
        n_samples: int = 5000,
        quality: Name | Callable[[Any, np.ndarray], float] = "weighted_kernel",
        power: Literal["auto", "local"] | float = "auto",
        weighting: Literal["auto", "power", "shift", "clip", "exp"] = "auto",
        min_cluster_size: Literal["auto"] | int = "auto",
        burn_in: int = 1000,
        thin: int = 1,
        n_chains: int = 4,
        n_temperatures: int = 3,
        method: Literal["gibbs", "metropolis"] = "gibbs",
        subset_size: Literal["auto"] | int = "auto",
        merge_split: Literal["auto"] | int = "auto",
        start: Literal["diverse", "kmeans_random"] = "diverse",
        kernel: Any = "gaussian",
        bandwidth: Literal["median"] | float = "median",
        n_random_features: Literal["auto"] | int | None = "auto",
        random_state: _seeds.RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_samples = n_samples
        self.quality = quality
        self.power = power
        self.weighting = weighting
        self.min_cluster_size = min_cluster_size
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.n_temperatures = n_temperatures
        self.method = method
        self.subset_size = subset_size
        self.merge_split = merge_split
        self.start = start
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_random_features = n_random_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.store = store

    def generate(self, X: Any, *, index: Any = None) -> Ensemble:
        """Return an ensemble of sampled partitions of the rows of ``X``.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The points; the (n, n) kernel values with ``kernel="precomputed"``.
        index : array, optional
            The points' ids; by default the index of a pandas data frame.

        Returns
        -------
        Ensemble
            One partition per sample; records have quality (``cost``), chain and power.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        features = read_features(X, index=index)
        if len(features.views) > 1:
            raise ValueError("X must be one matrix; the sampler does not take several views.")
        given = self.n_clusters
        counts = list(given) if isinstance(given, Sequence) else [given]
        stored = None if self.store is None else stored_plan(self.store)
        root = (
            _seeds.restore(stored["seed"])
            if self.random_state is None and stored is not None and "seed" in stored
            else _seeds.root_sequence(self.random_state)
        )
        spacing, *children = root.spawn(1 + len(counts))
        seeds = [child.spawn(5) for child in children]
        self._space_seed = spacing  # the same random features are then made again
        space = self._space(features, spacing)
        walks = [self._walk(features, space, int(k)) for k in counts]
        run = _Run(walks, self._rounds(features.n_points, len(counts)), self)
        if self.store is None:
            rounds = run.all(seeds, None)
        else:
            plan = self._plan(features, _seeds.describe(root), run)
            with PartitionStore(self.store, plan) as kept:
                rounds = run.all(seeds, kept)
        return self._finish(features, run, rounds, seeds)

    # -- what was asked for ---------------------------------------------------------------------

    def _space(self, features: Features, seed: Any) -> Space | None:
        """Return the points as the quality sees them."""
        self.bandwidth_ = self.n_random_features_ = None
        if callable(self.quality):
            return None
        space = QUALITIES[self.quality].space(
            features.views[0],
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            n_components=self.n_random_features,
            random_state=seed,
        )
        self.bandwidth_, self.n_random_features_ = space.bandwidth, space.n_components
        return space

    def _walk(self, features: Features, space: Space | None, k: int) -> Walk:
        n = features.n_points
        quality = None if callable(self.quality) else QUALITIES[self.quality]
        single = quality is not None and quality.favours_single_points
        least = max(2, n // (2 * k)) if single else 1
        if self.min_cluster_size != "auto":
            least = int(self.min_cluster_size)
        elif least * k > n:
            least = max(1, n // k)
        if least * k > n:
            raise ParameterError(
                f"{{n_clusters}} clusters of {{min_cluster_size}} points or more need {least * k} "
                f"points; X has {n}. Ask for fewer or smaller ones.",
                n_clusters=k,
                min_cluster_size=least,
            )
        weighting = self.weighting
        if weighting == "auto":
            weighting = "shift" if self.quality == "separation" else "power"
        if weighting == "shift" and quality is None:
            raise ParameterError(
                "{weighting} is for the qualities by name, whose least value is known; with a "
                "function of your own take {weighting__other}.",
                weighting="shift",
                weighting__other="exp",
            )
        splits = (0 if quality is None else 1) if self.merge_split == "auto" else self.merge_split
        if splits and quality is None:
            raise ParameterError(
                "{merge_split} needs a quality by name: a function of your own does not say which "
                "points are near. Take {merge_split__none}.",
                merge_split=splits,
                merge_split__none=0,
            )
        subset = 0
        if self.method == "metropolis":
            subset = min(n, 2 if self.subset_size == "auto" else int(self.subset_size))
        return Walk(
            n_points=n,
            n_clusters=k,
            quality=quality,
            space=space,
            function=self.quality if callable(self.quality) else None,
            X=features.views[0],
            weighting=weighting,
            min_size=least,
            n_splits=int(splits),
            subset=subset,
        )

    def _rounds(self, n: int, n_counts: int) -> list[tuple[int, int]]:
        """Return (sweeps, thin) of every round; thin is 0 during the burn-in."""
        most = sweeps_per_round(n, self.n_temperatures)
        left, rounds = self.burn_in, []
        while left > 0:
            rounds.append((min(most, left), 0))
            left -= rounds[-1][0]
        samples = math.ceil(self.n_samples / (n_counts * self.n_chains))
        each = max(1, most // self.thin)
        while samples > 0:
            rounds.append((min(each, samples) * self.thin, self.thin))
            samples -= min(each, samples)
        return rounds

    def _plan(self, features: Features, seed: dict[str, Any], run: _Run) -> dict[str, Any]:
        """Return what decides the samples, as plain JSON values: the plan of a store."""
        skipped = {"random_state", "n_jobs", "progress", "store"}
        settings = {
            name: _text(value)
            for name, value in self.get_params(deep=False).items()
            if name not in skipped
        }
        libraries = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba")
        return {
            "n_partitions": len(run.rounds) + 1,
            "n_points": features.n_points,
            "X (sha256)": features.fingerprint(),
            **settings,
            "seed": seed,
            "versions": {name: importlib.metadata.version(name) for name in libraries},
        }

    # -- what was found -------------------------------------------------------------------------

    def _finish(
        self, features: Features, run: _Run, rounds: list[list[Round]], seeds: list[Any]
    ) -> Ensemble:
        """Set what was found, and return the ensemble."""
        done = [i for i, (_, thin) in enumerate(run.rounds[: len(rounds)]) if thin]
        self.interrupted_ = len(rounds) < len(run.rounds)
        self.powers_ = {
            walk.n_clusters: powers for walk, powers in zip(run.walks, run.powers, strict=True)
        }
        self.min_cluster_size_ = {walk.n_clusters: walk.min_size for walk in run.walks}
        self.trace_: dict[int, np.ndarray] = {}
        self.diagnostics_: dict[int, SamplingDiagnostics] = {}
        columns, qualities, chains, records = [], [], [], []
        name = "callable" if callable(self.quality) else self.quality
        for w, walk in enumerate(run.walks):
            mine = range(w * self.n_chains, (w + 1) * self.n_chains)
            samples = np.stack([np.concatenate([rounds[i][c].samples for i in done]) for c in mine])
            trace = np.stack(
                [np.concatenate([rounds[i][c].trace[:, 0] for i in done]) for c in mine]
            )
            values = trace[:, self.thin - 1 :: self.thin]
            self.trace_[walk.n_clusters] = trace
            flat = samples.reshape(-1, walk.n_points)
            distinct = Ensemble.from_labels(flat.T, orient="columns").n_distinct
            self.diagnostics_[walk.n_clusters] = diagnosed(
                samples,
                values,
                np.sum([rounds[i][c].counts for i in done for c in mine], axis=0),
                np.sum([rounds[i][c].swaps for i in done for c in mine], axis=0),
                sweeps=trace.shape[1],
                n_clusters=walk.n_clusters,
                n_distinct=distinct,
                rng=np.random.default_rng(seeds[w][-1]),
            )
            columns += [canonical(row) for row in flat]
            qualities.append(values.ravel())
            chains.append(np.repeat(list(mine), values.shape[1]))
            shared = {"quality": name, "power": float(run.powers[w][0])}
            records += [
                PartitionRecord(
                    generator="sampler",
                    algorithm=self.method,
                    params={**shared, "chain": int(c)},
                    n_clusters=walk.n_clusters,
                    cost=float(q),
                )
                for c, row in zip(mine, values, strict=True)
                for q in row
            ]
        self.quality_, self.chain_ = np.concatenate(qualities), np.concatenate(chains)
        self._warn()
        self.ensemble_ = Ensemble.from_labels(
            np.column_stack(columns), orient="columns", records=records, index=features.index
        )
        return self.ensemble_

    def _warn(self) -> None:
        if self.interrupted_:
            warnings.warn(
                SamplingWarning(
                    f"PartitionSampler was interrupted; {self.quality_.size} of the "
                    "{n_samples} samples were drawn and are returned.",
                    n_samples=self.n_samples,
                ),
                stacklevel=4,
            )


def _text(value: Any) -> Any:
    if isinstance(value, (str, int, float, type(None))):
        return value
    if callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value))}"
    text = repr(value)
    return text if len(text) < 80 else hashlib.sha256(text.encode()).hexdigest()


class _Run:
    """The rounds of all chains, run in order, kept where there is a store."""

    def __init__(
        self, walks: list[Walk], rounds: list[tuple[int, int]], sampler: PartitionSampler
    ) -> None:
        self.walks = walks
        self.rounds = rounds
        self.sampler = sampler
        self.powers: list[np.ndarray] = []
        self.chains: list[Chain] = []

    def all(self, seeds: list[Any], store: PartitionStore | None) -> list[list[Round]]:
        """Return what every round left; fewer rounds where Ctrl-C ended them."""
        finished = set() if store is None else set(store.finished())
        if store is not None and 0 in finished:
            store.read_as(0, lambda arrays, _: self._restore(arrays))
        else:
            with showing(self.sampler.progress):
                self._begin(seeds)
            if store is not None:
                store.write(0, self._begun(), {})
        rounds: list[list[Round]] = []
        for i in range(len(self.rounds)):
            if store is None or i + 1 not in finished:
                break
            rounds.append(store.read_as(i + 1, lambda arrays, _: self._read(arrays)))
        waiting = range(len(rounds), len(self.rounds))
        shown = track(
            waiting,
            len(self.rounds),
            label="sampling",
            progress=self.sampler.progress,
            done=len(rounds),
        )
        try:
            for i in shown:
                rounds.append(self._one(i))
                if store is not None:
                    store.write(i + 1, self._written(rounds[-1]), {})
        except KeyboardInterrupt:
            if not any(thin for _, thin in self.rounds[: len(rounds)]):
                raise
        return rounds

    def _begin(self, seeds: list[Any]) -> None:
        """Find the powers and the starts of all chains."""
        for walk, (starting, piloting, drawing, walking, _) in zip(self.walks, seeds, strict=True):
            points = _points_of(walk)
            starts = starts_of(walk, points, self.sampler.n_chains, self.sampler.start, starting)
            self.powers.append(self._found_powers(walk, starts, piloting, drawing))
            states = np.random.default_rng(walking).integers(
                2**63, size=(len(starts), self.sampler.n_temperatures + 1)
            )
            for labels, state in zip(starts, states, strict=True):
                self.chains.append(new_chain(labels, self.sampler.n_temperatures, state))

    def _found_powers(
        self, walk: Walk, starts: list[np.ndarray], seed: Any, drawing: Any
    ) -> np.ndarray:
        pilot, power = None, self.sampler.power
        count = self.sampler.n_temperatures
        if isinstance(power, str):
            first = new_chain(starts[0], 1, np.array([1, 2]))
            reference = run_round(Task(walk, first, np.array([1e9]), 1, 1))
            best, number = float(reference.trace[0, 0]), _seeds.kernel_seed(seed)
            pilot = pilot_run(walk, random_labels(walk, drawing), best, number)
            power = pilot.power
            if self.sampler.power == "local":
                power = holding_power(walk, power, starts[2:], number)
        return ladder(power, pilot, count)

    def _one(self, i: int) -> list[Round]:
        """Run one round of every chain."""
        sweeps, thin = self.rounds[i]
        each = self.sampler.n_chains
        tasks = [
            Task(self.walks[c // each], chain, self.powers[c // each], sweeps, thin or sweeps)
            for c, chain in enumerate(self.chains)
        ]
        found = parallel_map(run_round, tasks, n_jobs=self.sampler.n_jobs)
        if thin == 0:
            found = [r._replace(samples=r.samples[:0]) for r in found]
        self.chains = [r.chain for r in found]
        return found

    # -- the store ------------------------------------------------------------------------------

    def _begun(self) -> dict[str, np.ndarray]:
        return {"powers": np.stack(self.powers), **_stacked(self.chains)}

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        self.powers = list(arrays["powers"])
        self.chains = self._sound(_unstacked(arrays))

    def _written(self, found: list[Round]) -> dict[str, np.ndarray]:
        parts = {
            name: np.stack([getattr(r, name) for r in found])
            for name in ("samples", "trace", "counts", "swaps")
        }
        return parts | _stacked([r.chain for r in found])

    def _sound(self, chains: list[Chain]) -> list[Chain]:
        """Return the chains of a file if they can be those of this run."""
        if len(chains) != len(self.walks) * self.sampler.n_chains:
            raise ValueError(f"it holds {len(chains)} chains")
        for c, chain in enumerate(chains):
            walk, kinds = self.walks[c // self.sampler.n_chains], chain.labels.dtype.kind
            shaped = chain.labels.ndim == 2 and chain.labels.shape[1] == walk.n_points
            inside = kinds in "iu" and chain.labels.min() >= 0
            if not (shaped and inside and chain.labels.max() < walk.n_clusters):
                raise ValueError("its partitions are not those of this run")
            if sorted(chain.slots.tolist()) != list(range(len(chain.labels))):
                raise ValueError("its chains have no order")
        return chains

    def _read(self, arrays: dict[str, np.ndarray]) -> list[Round]:
        self.chains = self._sound(_unstacked(arrays))
        names = ("samples", "trace", "counts", "swaps")
        return [
            Round(chain, *(arrays[name][c] for name in names))
            for c, chain in enumerate(self.chains)
        ]


def _stacked(chains: list[Chain]) -> dict[str, np.ndarray]:
    return {name: np.stack([getattr(c, name) for c in chains]) for name in Chain._fields}


def _unstacked(arrays: dict[str, np.ndarray]) -> list[Chain]:
    return [Chain(*parts) for parts in zip(*(arrays[n] for n in Chain._fields), strict=True)]


def _points_of(walk: Walk) -> Any:
    """Return what k-means can cluster to find a start: the features, or rows of the kernel."""
    is_features = walk.space is None or walk.X.shape[1] != walk.n_points
    return walk.X if is_features or walk.space is None else walk.space.basis
