"""The median under VI, NVI, ID or Binder's loss by many searches: allocate, sweep, rebuild."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import parallel_map
from clusterscape._core.seeds import kernel_seed
from clusterscape.ensemble import Ensemble

# The losses by the names of the distances whose sums they are: the kernels' number of each.
_BINDER, _VI, _NVI, _ID = range(4)
LOSSES = {
    "vi": _VI,
    "nvi": _VI,  # over log n, which no grouping changes
    "information_distance": _ID,
    "mirkin": _BINDER,
    "rand_distance": _BINDER,
    "pair_accuracy": _BINDER,
}


def loss_of(distance: str, options: Mapping[str, Any]) -> int | None:
    """Return the kernels' number of a distance with its options; None for others."""
    if distance == "nvi" and options:
        return {"logn": _VI, "joint": _NVI}.get(str(options.get("norm", "logn")))
    return None if options else LOSSES.get(distance)


_BEST = 16  # of so many runs one is improved further
_MOST_POINTS = 2**28  # for which t log t is looked up; counts of clusters have 32 bits


@dataclass(frozen=True)
class Found:
    """The groups of the best run, its loss, the losses of all runs, and which was the best."""

    groups: np.ndarray
    loss: float
    losses: np.ndarray
    run: int


@dataclass(frozen=True)
class Evidence:
    """A complete hard ensemble of weighted rows, as the kernels read it."""

    labels: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    sizes: np.ndarray
    kind: int
    split_cost: float

    @classmethod
    def of(
        cls, ensemble: Ensemble, distance: str, split_cost: float, options: Mapping[str, Any]
    ) -> Evidence:
        """Return what is read of an ensemble, or refuse it."""
        kind = loss_of(distance, options)
        if kind is None:
            raise ParameterError(
                "{search} knows the distances " + ", ".join(LOSSES) + " (nvi by log n or by the "
                "joint entropy), not {distance} with {distance_params}; take {search__other} for "
                "others.",
                search="allocation",
                search__other="moves",
                distance=distance,
                distance_params=dict(options),
            )
        if kind in (_NVI, _ID) and split_cost != 1.0:
            raise ParameterError(
                "{split_cost} is for the variation of information and Binder's loss, which count "
                "both mistakes apart; {distance} does not.",
                split_cost=split_cost,
                distance=distance,
            )
        if ensemble.is_soft or (ensemble.labels < 0).any():
            raise ParameterError(
                "{search} needs hard partitions in which every point is in a cluster; take "
                "{search__other} for noise, unsampled points and soft partitions.",
                search="allocation",
                search__other="moves",
            )
        whole = np.rint(ensemble.sample_weight)
        if (whole != ensemble.sample_weight).any():
            raise ParameterError(
                "{search} needs whole numbers as sample_weight; take {search__other}.",
                search="allocation",
                search__other="moves",
            )
        if whole.sum() > _MOST_POINTS:
            raise ParameterError(
                "{search} keeps a number for each point, and sample_weight stands for "
                f"{whole.sum():.3g} points ({8e-6 * whole.sum():,.0f} MB); at most "
                f"{_MOST_POINTS:,} are taken. Divide the weights, or take {{search__other}}.",
                search="allocation",
                search__other="moves",
            )
        return cls(
            np.ascontiguousarray(ensemble.labels),
            ensemble.offsets.astype(np.int64),
            np.ascontiguousarray(ensemble.weights),
            whole.astype(np.int64),
            kind,
            split_cost,
        )

    @property
    def rule(self) -> tuple[int, float, float]:
        """What the kernels read of the loss."""
        return self.kind, 2.0 - self.split_cost, float(self.weights.sum())

    @property
    def data(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What the kernels read of the partitions."""
        return self.labels, self.offsets, self.weights, self.sizes

    @property
    def logs(self) -> np.ndarray:
        """Return t log t for 0, 1, ... up to one more than all points."""
        counts = np.arange(int(self.sizes.sum()) + 2, dtype=np.float64)
        return counts * np.log(np.maximum(counts, 1.0))

    def constant(self) -> float:
        """Return the part of the loss that is the same for every grouping."""
        total = 0.0
        for i, weight in enumerate(self.weights):
            mass = np.bincount(self.labels[:, i], weights=self.sizes)
            term = mass * np.log(np.maximum(mass, 1.0)) if self.kind == _VI else 0.5 * mass**2
            total += weight * term.sum()
        return self.split_cost * total

    def loss_of(self, changing: float) -> float:
        """Return the weighted sum of losses: of VI in nats, of ordered pairs, of NVI or ID."""
        if self.kind in (_NVI, _ID):
            return changing
        whole = changing + self.constant()
        return whole / float(self.sizes.sum()) if self.kind == _VI else 2.0 * whole


def searched(
    evidence: Evidence,
    most: int,
    seeds: list[SeedSequence],
    *,
    max_iter: int,
    zealous: int,
    n_jobs: int | None,
) -> Found:
    """Search from as many random orders as there are seeds, and improve the best of them."""
    numbers = [kernel_seed(seed) for seed in seeds]
    logs = evidence.logs
    run = partial(_run, evidence, logs, most, max_iter)
    found = parallel_map(run, [(number, None, 0) for number in numbers], n_jobs=n_jobs)
    losses = np.array([loss for loss, _ in found])
    order = np.argsort(losses, kind="stable")[: -(-len(numbers) // _BEST)]
    tasks = [(numbers[i] ^ 1, found[i][1], zealous) for i in order]
    for i, improved in zip(order, parallel_map(run, tasks, n_jobs=n_jobs), strict=True):
        found[i] = improved
    # Runs that end alike differ by rounding: the best may be one that was not improved.
    losses = np.array([loss for loss, _ in found])
    best = int(np.argmin(losses))
    whole = np.array([evidence.loss_of(loss) for loss in losses])
    return Found(found[best][1], float(whole[best]), whole, best)


def _run(
    evidence: Evidence,
    logs: np.ndarray,
    most: int,
    max_iter: int,
    task: tuple[int, np.ndarray | None, int],
) -> tuple[float, np.ndarray]:
    number, start, zealous = task
    d = int(evidence.offsets[-1])
    state = (
        np.zeros((d, most), dtype=np.int32),
        np.zeros((d, most)),
        np.zeros(most, dtype=np.int64),
        np.zeros(most),
        np.zeros(most, dtype=np.int64),
        np.zeros(d, dtype=np.int64),
        np.zeros((evidence.weights.size + 1, 2)),
    )
    groups = np.zeros(len(evidence.labels), dtype=np.int64) if start is None else start.copy()
    loss, _ = kernels.allocation.allocate(
        evidence.rule,
        logs,
        evidence.data,
        groups,
        state,
        kernels.random.new_state(number),
        int(start is not None),
        max_iter,
        zealous,
    )
    return float(loss), groups
