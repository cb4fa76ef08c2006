"""The second half of a cluster forest: the regularised matrix, its cut, and all other points."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

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

EXACT_ROWS = 5000  # distinct rows up to which landmarks="auto" uses all pairs
LANDMARKS = 5000
# Independent sets of landmarks. Where a cut falls varies from sample to sample, far more than the
# extension errs; of three cuts, the one most similar to the other two is kept.
SETS = 3
_BLOCK = 2**21  # similarities of one block


@dataclass(frozen=True)
class CutSettings:
    """How an ensemble is turned into clusters: parameters of ClusterForest, resolved."""

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
    """A cut of the regularised co-association of some rows, and its extension to other rows."""

    votes: Coassociation  # of the rows that were cut
    weights: np.ndarray  # number of points that each of them represents
    settings: CutSettings
    cut: NcutResult

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        rows: np.ndarray,
        weights: np.ndarray,
        settings: CutSettings,
        seed: int,
    ) -> Aggregate:
        """Cut some rows of an ensemble."""
        # Not the subset of the ensemble, which would number the clusters anew.
        votes = Coassociation(ensemble.labels[rows], ensemble.offsets, ensemble.weights, soft={})
        k = min(settings.n_clusters, len(rows))  # no more clusters than rows
        how: dict[str, Any] = {"weights": weights, "seed": seed}
        with one_thread():  # sums in the same order on every machine
            operator = _regularised(votes, weights, settings)
            if settings.ncut == "kway":
                cut = kway_ncut(operator, k, **how)
            else:
                cut = recursive_ncut(operator, k, cut=settings.cut, order=settings.order, **how)
        return cls(votes, weights, settings, cut)

    def labels(self, rows: np.ndarray) -> np.ndarray:
        """Return the groups of rows of labels in the same partitions; equal rows are one."""
        apart = np.zeros(len(rows), dtype=bool)
        first, inverse = kernels.rows.unique_rows(np.ascontiguousarray(rows), apart)
        chosen = rows[first]
        step = max(1, _BLOCK // self.votes.shape[0])
        tasks = [(self, chosen[at : at + step]) for at in range(0, len(chosen), step)]
        blocks = parallel_map(_extend_block, tasks, n_jobs=self.settings.n_jobs)
        return np.concatenate(blocks)[inverse]


def _extend_block(task: tuple[Aggregate, np.ndarray]) -> np.ndarray:
    made, rows = task
    threshold, scale = made.settings.threshold, made.settings.scale
    return made.cut.extend(cross_coassociation(made.votes, rows, threshold=threshold, scale=scale))


@dataclass(frozen=True)
class Aggregated:
    """The clusters of an ensemble.

    ``groups`` has one entry per point, as the cut numbers them. ``n_landmarks`` is the number of
    rows that were cut, 0 if all were; ``agreement`` is that of the sets of landmarks, see
    :func:`_most_alike`, NaN without them.
    """

    groups: np.ndarray
    made: Aggregate
    n_landmarks: int
    agreement: float


def aggregate(
    ensemble: Ensemble, settings: CutSettings, seeds: tuple[SeedSequence, SeedSequence]
) -> Aggregated:
    """Cut the regularised co-association of an ensemble.

    Parameters
    ----------
    ensemble : Ensemble
        Hard and complete, as clustering vectors are.
    settings : CutSettings
        How to cut it.
    seeds : (SeedSequence, SeedSequence)
        Of the landmarks and of the cut.

    Returns
    -------
    Aggregated
    """
    small, inverse = ensemble.compress()
    weighted = np.flatnonzero(small.sample_weight > 0)
    limit = EXACT_ROWS if settings.landmarks == "auto" else settings.landmarks
    seed = sklearn_seed(seeds[1])
    if limit is None or weighted.size <= limit:
        made = Aggregate.of(small, weighted, small.sample_weight[weighted], settings, seed)
        return Aggregated(_label_all(made, small, weighted)[inverse], made, 0, np.nan)
    count = LANDMARKS if settings.landmarks == "auto" else limit
    found = []
    for draw in spawn(seeds[0], SETS):
        marks, rows = draw_landmarks(small, count, draw)
        made = Aggregate.of(small, rows, marks.sample_weight, settings, seed)
        found.append((_label_all(made, small, rows), made))
    chosen, agreement = _most_alike([groups for groups, _ in found], small.sample_weight)
    groups, made = found[chosen]
    return Aggregated(groups[inverse], made, made.weights.size, agreement)


def _label_all(made: Aggregate, small: Ensemble, rows: np.ndarray) -> np.ndarray:
    """Return the groups of all rows; those that were cut keep theirs."""
    groups = np.empty(small.n_points, dtype=np.int32)
    groups[rows] = made.cut.labels
    others = np.ones(small.n_points, dtype=bool)
    others[rows] = False
    if others.any():
        groups[others] = made.labels(small.labels[others])
    return groups


def _most_alike(found: list[np.ndarray], weights: np.ndarray) -> tuple[int, float]:
    """Return which partition is most similar to the rest, and the mean similarity of two.

    Similarity is the share of all points that are in the same cluster, matched one to one. The sets
    of landmarks are independent, so that it measures what chance does to the cut of a sample
    and to its extension together.
    """
    same = np.zeros((len(found), len(found)))
    for i, j in combinations(range(len(found)), 2):
        same[i, j] = same[j, i] = accuracy(found[i], found[j], sample_weight=weights)
    pairs = len(found) * (len(found) - 1)
    return int(np.argmax(same.sum(axis=1))), float(same.sum()) / pairs


def _regularised(
    votes: Coassociation, weights: np.ndarray, settings: CutSettings
) -> ThresholdedCoassociation:
    """Return the matrix that is cut, or say what takes less memory."""
    try:
        return ThresholdedCoassociation(
            votes,
            settings.threshold,
            scale=settings.scale,
            diagonal=1.0,
            sample_weight=weights,
            max_gb=settings.max_gb,
        )
    except MemoryError as error:
        raise MemoryLimitError(
            f"the pairs with co-association >= {settings.threshold:g} among {votes.shape[0]:,} "
            "distinct rows",
            None,
            settings.max_gb,
            remedies=["use {landmarks}", "take fewer landmarks", "take a higher {threshold.name}"],
            landmarks="auto",
        ) from error
