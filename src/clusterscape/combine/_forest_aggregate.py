"""The second half of a cluster forest: the regularised matrix, its cut, and all other points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._parallel import one_thread, parallel_map
from clusterscape._seeds import sklearn_seed
from clusterscape.combine._landmarks import draw_landmarks
from clusterscape.compare import accuracy
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.cross import cross_coassociation
from clusterscape.linalg.ncut import NcutResult, kway_ncut, recursive_ncut
from clusterscape.linalg.thresholded import ThresholdedCoassociation

EXACT_ROWS = 5000  # distinct rows up to which landmarks="auto" looks at all pairs
LANDMARKS = 2500
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
        Of the landmarks, see :func:`_agreement`; NaN without them.
    """
    small, inverse = ensemble.compress()
    solid = np.flatnonzero(small.sample_weight > 0)
    limit = EXACT_ROWS if plan.landmarks == "auto" else plan.landmarks
    sampled = limit is not None and solid.size > limit
    if sampled:
        count = LANDMARKS if plan.landmarks == "auto" else int(plan.landmarks or 0)
        marks, rows = draw_landmarks(small, count, seeds[0])
        weights = marks.sample_weight
    else:
        rows, weights = solid, small.sample_weight[solid]
    seed = sklearn_seed(seeds[1])
    made = Aggregate.of(small, rows, weights, plan, seed)
    groups = np.empty(small.n_points, dtype=np.int32)
    groups[rows] = made.cut.labels
    others = np.ones(small.n_points, dtype=bool)
    others[rows] = False
    if others.any():
        groups[others] = made.labels(small.labels[others])
    agreement = _agreement(small, rows, made, seed) if sampled else np.nan
    return groups[inverse], made, rows.size if sampled else 0, agreement


def _agreement(small: Ensemble, rows: np.ndarray, made: Aggregate, seed: int) -> float:
    """Return how far each half of the landmarks gets its clusters from a cut of the other half.

    A landmark that is merely left out of its own similarities keeps its side nearly always, since
    the eigenvector knew it; a half that was never seen is in the place of all other points.
    """
    total = 0.0
    odd = np.arange(rows.size) % 2 == 1
    for unseen in (odd, ~odd):
        if not unseen.any() or unseen.all():
            return np.nan
        half = Aggregate.of(small, rows[~unseen], made.weights[~unseen], made.plan, seed)
        found = half.labels(small.labels[rows[unseen]])
        weight = made.weights[unseen]
        share = accuracy(made.cut.labels[unseen], found, sample_weight=weight)
        total += share * float(weight.sum())
    return total / float(made.weights.sum())


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
        raise MemoryError(
            f"landmarks={plan.landmarks!r} would look at all pairs of {votes.shape[0]:,} distinct "
            f"rows, and those with co-association >= threshold={plan.threshold:g} take more than "
            f"max_gb={plan.max_gb:g}. Use landmarks='auto' or fewer of them, a higher threshold, "
            "or raise max_gb."
        ) from error
    k = min(plan.n_clusters, votes.shape[0])  # fewer rows cannot be told apart further
    if plan.ncut == "kway":
        return kway_ncut(operator, k, weights=weights, seed=seed)
    return recursive_ncut(operator, k, weights=weights, cut=plan.cut, order=plan.order, seed=seed)
