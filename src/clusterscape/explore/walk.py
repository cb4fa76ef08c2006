"""Rounds of a random walk over partitions: what one needs, what it leaves, and how it runs.

A chain holds one partition at each of several powers. A round is a fixed number of sweeps, begins
by counting all sums from the labels (so rounding does not build up) and depends on nothing but
the chain's labels and random states: a run that stopped between two rounds goes on as if it had
not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clusterscape import kernels
from clusterscape._core.labels import smallest_type
from clusterscape.compare import adjusted_rand
from clusterscape.explore.quality import Quality, rule_of
from clusterscape.explore.space import Space

TRANSFORMS = ("power", "shift", "clip", "exp")
N_COUNTS = 6  # as in kernels.gibbs
_WORK = 4_000_000  # points that the sweeps of a round visit at most
_SWEEPS = 100  # sweeps of a round at most, for the digits


@dataclass(frozen=True)
class Walk:
    """What the partitions of one number of clusters are sampled by.

    ``function`` is a quality of the user's own, ``function(X, labels)``; ``quality`` and ``space``
    are None then.
    """

    n_points: int
    n_clusters: int
    quality: Quality | None
    space: Space | None
    function: Callable[[Any, np.ndarray], float] | None
    X: Any
    weighting: str
    min_size: int
    n_splits: int
    subset: int

    @property
    def shift(self) -> float:
        """What is added to a quality before it is raised to the power."""
        if self.weighting != "shift" or self.quality is None:
            return 0.0
        return self.quality.shift(self.n_clusters)

    @property
    def rule(self) -> tuple[int, float, float, int, float, float]:
        """What the kernels read of it."""
        assert self.space is not None
        assert self.quality is not None
        code = {"clip": 1, "exp": 2}.get(self.weighting, 0)
        return rule_of(
            self.space, self.quality, shift=self.shift, transform=code, min_size=self.min_size
        )

    def levels(self, qualities: np.ndarray) -> np.ndarray:
        """Return the logarithms of the weights at power one."""
        if self.weighting == "exp":
            return np.asarray(qualities, dtype=np.float64)
        return np.log(np.maximum(np.asarray(qualities) + self.shift, 1e-300))


class Chain(NamedTuple):
    """Where a chain is: one partition per power, which of them has which power, random states."""

    labels: np.ndarray
    slots: np.ndarray
    states: np.ndarray


class Round(NamedTuple):
    """What a round of one chain leaves."""

    chain: Chain
    samples: np.ndarray
    trace: np.ndarray
    counts: np.ndarray
    swaps: np.ndarray


class Task(NamedTuple):
    """One round of one chain."""

    walk: Walk
    chain: Chain
    powers: np.ndarray
    sweeps: int
    thin: int


def new_chain(labels: np.ndarray, n_powers: int, seeds: np.ndarray) -> Chain:
    """Return a chain whose partitions all start alike."""
    every = np.tile(labels.astype(np.int64), (n_powers, 1))
    return Chain(every, np.arange(n_powers), seeds.astype(np.uint64))


def sweeps_per_round(n_points: int, n_powers: int) -> int:
    """Return the number of sweeps of a round: some seconds of work at most."""
    return int(np.clip(_WORK // (n_points * n_powers), 1, _SWEEPS))


def run_round(task: Task) -> Round:
    """Walk for a number of sweeps; every ``thin``-th partition at the first power is kept."""
    walk, chain = task.walk, task.chain
    moved = Chain(chain.labels.copy(), chain.slots.copy(), chain.states.copy())
    n, count = walk.n_points, task.powers.size
    samples = np.empty((task.sweeps // task.thin, n), dtype=smallest_type(walk.n_clusters))
    trace = np.empty((task.sweeps, count))
    stats = (np.zeros((count, N_COUNTS), dtype=np.int64), np.zeros((count, 2), dtype=np.int64))
    if walk.function is not None:
        _run_function(walk, moved, task, samples, trace, stats)
    else:
        space = walk.space
        assert space is not None
        s = walk.n_clusters
        parts = (
            moved.labels,
            np.zeros((count, s + 1, s + kernels.gibbs.PAIRS)),
            np.zeros((count, s, space.basis.shape[1])),
        )
        plan = (task.sweeps, task.thin, walk.n_splits, walk.subset)
        kernels.gibbs.run(
            space.basis,
            space.is_dense,
            space.diagonal,
            walk.rule,
            plan,
            task.powers,
            parts,
            moved.slots,
            moved.states,
            samples,
            trace,
            stats,
        )
    return Round(moved, samples, trace, *stats)


# -- a quality of the user's own ----------------------------------------------------------------


def _run_function(
    walk: Walk,
    chain: Chain,
    task: Task,
    samples: np.ndarray,
    trace: np.ndarray,
    stats: tuple[np.ndarray, np.ndarray],
) -> None:
    """Walk by a Python function of a partition: s calls for every point of every sweep."""
    counts, swaps = stats
    rng = np.random.default_rng(int(chain.states[0]))
    held = np.array([_called(walk, labels) for labels in chain.labels])
    for t in range(task.sweeps):
        for k, power in enumerate(task.powers):
            r = chain.slots[k]
            step = _subsets_by_function if walk.subset > 0 else _sweep_by_function
            held[r] = step(walk, chain.labels[r], held[r], power, rng, counts[k])
        for k in range(t % 2, task.powers.size - 1, 2):
            near, far = chain.slots[k], chain.slots[k + 1]
            apart = walk.levels(held[[far, near]])
            gain = (task.powers[k] - task.powers[k + 1]) * (apart[0] - apart[1])
            swaps[k] += (1, 0)
            if gain >= 0 or math.log(1.0 - rng.random()) < gain:
                chain.slots[k], chain.slots[k + 1] = far, near
                swaps[k] += (0, 1)
        trace[t] = held[chain.slots]
        if (t + 1) % task.thin == 0:
            samples[t // task.thin] = chain.labels[chain.slots[0]]
    chain.states[0] = rng.integers(2**63)


def _called(walk: Walk, labels: np.ndarray) -> float:
    assert walk.function is not None
    value = float(walk.function(walk.X, labels.copy()))
    allowed = walk.weighting in ("exp", "clip") or value > 0
    if not np.isfinite(value) or not allowed:
        raise ValueError(
            f"quality: the function returned {value!r}; with weighting={walk.weighting!r} it must "
            "return a finite number"
            + ("." if not np.isfinite(value) else " > 0. Take weighting='exp' or 'clip'.")
        )
    return value


def _sweep_by_function(
    walk: Walk,
    labels: np.ndarray,
    held: float,
    power: float,
    rng: np.random.Generator,
    counts: np.ndarray,
) -> float:
    s = walk.n_clusters
    sizes = np.bincount(labels, minlength=s)
    for x in rng.permutation(walk.n_points):
        a = labels[x]
        if sizes[a] <= walk.min_size:
            continue
        values = np.empty(s)
        for b in range(s):
            labels[x] = b
            values[b] = held if b == a else _called(walk, labels)
        if walk.weighting == "clip" and values.max() <= 0:
            weights = np.ones(s)
            counts[1] += 1
        else:
            levels = power * walk.levels(values)
            weights = np.exp(levels - levels.max())
        b = int(np.searchsorted(np.cumsum(weights), rng.random() * weights.sum(), side="right"))
        b = min(b, s - 1)
        labels[x], held = b, values[b]
        sizes[a] -= 1
        sizes[b] += 1
        counts[0] += a != b
    return held


def _subsets_by_function(
    walk: Walk,
    labels: np.ndarray,
    held: float,
    power: float,
    rng: np.random.Generator,
    counts: np.ndarray,
) -> float:
    for _ in range(max(1, walk.n_points // walk.subset)):
        some = rng.choice(walk.n_points, walk.subset, replace=False)
        proposed = labels.copy()
        proposed[some] = rng.integers(walk.n_clusters, size=walk.subset)
        counts[4] += 1
        if np.bincount(proposed, minlength=walk.n_clusters).min() < walk.min_size:
            continue
        value = _called(walk, proposed)
        if walk.weighting == "clip" and value <= 0:
            continue
        before, after = walk.levels(np.array([held, value]))
        if math.log(1.0 - rng.random()) < power * (after - before):
            labels[:], held = proposed, value
            counts[5] += 1
    return held


# -- the power ----------------------------------------------------------------------------------


class Pilot(NamedTuple):
    """What a pilot run found: powers in rising order, mean and deviation of the levels there."""

    powers: np.ndarray
    means: np.ndarray
    deviations: np.ndarray
    reached: np.ndarray

    @property
    def power(self) -> float:
        """The least power at which the quality is good enough.

        Where the walk never gets there, because it stays in a poorer region, the least one that is
        nearly as good as any: at higher ones it only stops moving.
        """
        best = float(self.reached.max())
        enough = _TARGET if best >= _TARGET else best - _NEARLY
        return float(self.powers[int(np.argmax(self.reached >= enough))])


_TARGET, _NEARLY = 0.98, 0.01
_LEVELS = 10
_PILOT_SWEEPS = 30


def pilot_run(walk: Walk, start: np.ndarray, best: float, seed: int) -> Pilot:
    """Raise the power step by step, from partitions drawn evenly, until quality is near ``best``.

    ``start`` is a random partition; each power goes on from where the last one ended, so that a
    chain that cannot move is not taken for a good one. ``reached`` is the quality's mean at each
    power, from 0 as at power zero to 1 for ``best``.
    """
    rng = np.random.default_rng(seed)
    powers = walk.n_points * 2.0 ** np.arange(-3, _LEVELS - 3)
    means, deviations, reached = [], [], []
    chain = new_chain(start, 1, rng.integers(2**63, size=2))
    first = run_round(Task(walk, chain, np.zeros(1), 5, 5))
    low, chain = float(first.trace[-3:].mean()), first.chain
    for power in powers:
        task = Task(walk, chain, np.array([power]), _PILOT_SWEEPS, _PILOT_SWEEPS)
        done = run_round(task)
        chain = done.chain
        late = done.trace[_PILOT_SWEEPS // 2 :, 0]
        means.append(walk.levels(late).mean())
        deviations.append(walk.levels(late).std())
        # Where random partitions are as good as k-means, any power is enough.
        is_flat = best - low <= 1e-12 * abs(best)
        reached.append(1.0 if is_flat else (late.mean() - low) / (best - low))
        if reached[-1] >= _TARGET:
            break
    count = len(means)
    return Pilot(powers[:count], np.array(means), np.array(deviations), np.array(reached))


_KEPT = 0.75  # share of the pairs (above chance), and share of the starts, that are to stay
_DOUBLINGS = 5


def holding_power(walk: Walk, power: float, starts: list[np.ndarray], seed: int) -> float:
    """Raise a power until most starts are still near where they were after some sweeps.

    Every start is then in a region that single points rarely leave, and its chain shows what that
    region looks like, however much better another one is.
    """
    if not starts:
        return power
    seeds = np.random.default_rng(seed).integers(2**63, size=(len(starts), 2))
    for _ in range(_DOUBLINGS):
        stayed = 0
        for labels, states in zip(starts, seeds, strict=True):
            chain = new_chain(labels, 1, states)
            task = Task(walk, chain, np.array([power]), _PILOT_SWEEPS, _PILOT_SWEEPS)
            stayed += float(adjusted_rand(labels, run_round(task).chain.labels[0])) >= _KEPT
        if stayed >= _KEPT * len(starts):
            break
        power *= 2.0
    return power


def ladder(power: float, pilot: Pilot | None, n_powers: int) -> np.ndarray:
    """Return falling powers whose partitions are exchanged often enough.

    Neighbours exchange when their difference in power times the deviation of the level is near 1.
    """
    found = [float(power)]
    while len(found) < n_powers:
        if pilot is None:
            found.append(found[-1] * 0.8)
            continue
        spread = np.interp(found[-1], pilot.powers, pilot.deviations)
        step = 1.2 / max(float(spread), 1e-12)
        found.append(max(found[-1] - step, found[-1] * 0.5))
    return np.array(found)
