"""The second half of a cluster forest: the regularised matrix, its cut, and all other points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.parallel import one_thread, parallel_map
from clusterscape._core.seeds import sklearn_seed, spawn
from clusterscape.combine.landmarks import draw_landmarks
from clusterscape.compare import accuracy
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.cross import cross_coassociation
from clusterscape.linalg.ncut import NcutResult, kway_ncut, recursive_ncut
from clusterscape.linalg.thresholded import ThresholdedCoassociation

EXACT_ROWS = 5000  # distinct rows up to which landmarks="auto" looks at all pairs
LANDMARKS = 5000
# Independent sets of landmarks. The place of a cut varies from sample to sample, far more than the
# extension errs; of three cuts the one in the middle is known.
SETS = 3
_BLOCK = 2**21  # similarities of one block


@dataclass(frozen=True)
class Plan:
    """How an ensemble is turned into clusters."""

    n_clusters: int
    threshold: float
    scale: float
    ncut: Literal["recursive", "kway"]
    cut: Literal["sign", "best"]
    order: Literal["best", "largest"]
    landmarks: Literal["auto"] | int | None
    max_gb: float
    n_jobs: int | None


@dataclass(frozen=True)
class Aggregate:
    """A cut of the regularised co-association of some rows, and the way to any other row."""

    votes: Coassociation  # of the rows that were cut
    weights: np.ndarray  # how many points each of them stands for
    plan: Plan
    cut: NcutResult

    @classmethod
    def of(
        cls, ensemble: Ensemble, rows: np.ndarray, weights: np.ndarray, plan: Plan, seed: int
    ) -> Aggregate:
        """Cut some rows of an ensemble."""
        # Not the subset of the ensemble, which would number the clusters anew.
        votes = Coassociation(ensemble.labels[rows], ensemble.offsets, ensemble.weights, soft={})
        with one_thread():  # sums in the same order on every machine
            cut = _cut(votes, weights, plan, seed)
        return cls(votes, weights, plan, cut)

    def labels(self, rows: np.ndarray) -> np.ndarray:
        """Return the groups of rows of labels in the same partitions; equal rows are one."""
        apart = np.zeros(len(rows), dtype=bool)
        first, inverse = kernels.rows.unique_rows(np.ascontiguousarray(rows), apart)
        chosen = rows[first]
        step = max(1, _BLOCK // self.votes.shape[0])
        tasks = [(self, chosen[at : at + step]) for at in range(0, len(chosen), step)]
        return np.concatenate(parallel_map(_extended, tasks, n_jobs=self.plan.n_jobs))[inverse]


def _extended(task: tuple[Aggregate, np.ndarray]) -> np.ndarray:
    made, rows = task
    plan = made.plan
    block = cross_coassociation(made.votes, rows, threshold=plan.threshold, scale=plan.scale)
    return made.cut.extend(block)


def aggregate(
    ensemble: Ensemble, plan: Plan, seeds: tuple[SeedSequence, SeedSequence]
) -> tuple[np.ndarray, Aggregate, int, float]:
    """Cut the regularised co-association of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Hard and complete, as clustering vectors are.
    plan : Plan
        What to do.
    seeds : (SeedSequence, SeedSequence)
        Of the landmarks and of the cut.

    Returns
    -------
    groups : (n,) array
        Group of each point, as the cut numbers them.
    made : Aggregate
        What extends them.
    n_landmarks : int
        Rows that were cut; 0 if all were.
    agreement : float
        Of the sets of landmarks, see :func:`_middle`; NaN without them.
    """
    small, inverse = ensemble.compress()
    solid = np.flatnonzero(small.sample_weight > 0)
    limit = EXACT_ROWS if plan.landmarks == "auto" else plan.landmarks
    seed = sklearn_seed(seeds[1])
    if limit is None or solid.size <= limit:
        made = Aggregate.of(small, solid, small.sample_weight[solid], plan, seed)
        return _spread(made, small, solid)[inverse], made, 0, np.nan
    count = LANDMARKS if plan.landmarks == "auto" else limit
    found = []
    for draw in spawn(seeds[0], SETS):
        marks, rows = draw_landmarks(small, count, draw)
        made = Aggregate.of(small, rows, marks.sample_weight, plan, seed)
        found.append((_spread(made, small, rows), made))
    chosen, agreement = _middle([groups for groups, _ in found], small.sample_weight)
    groups, made = found[chosen]
    return groups[inverse], made, made.weights.size, agreement


def _spread(made: Aggregate, small: Ensemble, rows: np.ndarray) -> np.ndarray:
    """Return the groups of all rows; those that were cut keep theirs."""
    groups = np.empty(small.n_points, dtype=np.int32)
    groups[rows] = made.cut.labels
    others = np.ones(small.n_points, dtype=bool)
    others[rows] = False
    if others.any():
        groups[others] = made.labels(small.labels[others])
    return groups


def _middle(found: list[np.ndarray], weights: np.ndarray) -> tuple[int, float]:
    """Return which partition is most like the others, and the mean likeness of two of them.

    Likeness is the share of all points that are in the same cluster, matched one to one. The sets
    of landmarks know nothing of one another, so that it holds both what the cut of a sample and
    what its extension leave to chance.
    """
    same = np.zeros((len(found), len(found)))
    for i, j in combinations(range(len(found)), 2):
        same[i, j] = same[j, i] = accuracy(found[i], found[j], sample_weight=weights)
    pairs = len(found) * (len(found) - 1)
    return int(np.argmax(same.sum(axis=1))), float(same.sum()) / pairs


def _cut(votes: Coassociation, weights: np.ndarray, plan: Plan, seed: int) -> NcutResult:
    try:
        operator = ThresholdedCoassociation(
            votes,
            plan.threshold,
            scale=plan.scale,
            diagonal=1.0,
            sample_weight=weights,
            max_gb=plan.max_gb,
        )
    except MemoryError as error:
        raise MemoryLimitError(
            f"the pairs with co-association >= {plan.threshold:g} among {votes.shape[0]:,} "
            "distinct rows",
            None,
            plan.max_gb,
            remedies=["use {landmarks}", "take fewer landmarks", "take a higher {threshold.name}"],
            landmarks="auto",
        ) from error
    k = min(plan.n_clusters, votes.shape[0])  # fewer rows cannot be told apart further
    if plan.ncut == "kway":
        return kway_ncut(operator, k, weights=weights, seed=seed)
    return recursive_ncut(operator, k, weights=weights, cut=plan.cut, order=plan.order, seed=seed)
