"""RCE: a low-rank consensus distribution over pairs, robust against errors of the partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import (
    WEIGHTING,
    Weighting,
    cluster_reliability,
    with_weighted_columns,
)
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.sec import SEC
from clusterscape.combine.spectral import SpectralConsensus
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.ncut import kway_ncut
from clusterscape.linalg.operators import symmetric_operator

# Share of the start that is the same for all clusters: a zero would stay zero for ever.
_SMOOTH = 0.05


@consensus_method("rce", cost="m^2 (K + r) per sweep", memory="m (r + K)")
class RCE(BaseConsensus):
    """Robust clustering ensemble: low-rank fit of the co-memberships without sparse errors.

    This is our reading: only the idea of the paper was available to us, not its formulas. Every
    partition is a distribution P_i over pairs of points, equal on the pairs that it puts together.
    It is the sum of Z_i >= 0 and a sparse symmetric error E_i, and a consensus Q = H H^T of rank K,
    H >= 0, is sought that all Z_i are close to: the sum over partitions of ``KL(Z_i || Q) +
    sparsity * |E_i|`` is minimised, Q summing to one. Given Q the best Z_i is P_i clipped to within
    a factor ``exp(sparsity)`` of Q, entry by entry; given the Z_i the EM step of the symmetric
    latent class model lowers the cost. So the cost never rises.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus, the rank of Q.
    sparsity : float
        Price of errors. Small: partitions that differ from the consensus are overruled, and little
        is learned from them; large: Z_i stays P_i, and Q is fitted to the plain mean of the P_i.
    max_iter : int
        Sweeps over all pairs at most.
    tol : float
        A start ends when the cost falls by less than this share.
    n_init : int
        Starts; the one with the least cost is kept. The first is the spectral consensus and does
        not depend on ``random_state``; others come from single starts of :class:`SEC`.
    weighting, theta
        As in :class:`SEC`: with "eci" the pairs of a reliable cluster have a larger share of their
        partition's distribution, in proportion to the index, and a partition counts in proportion
        to the mean index of its pairs. The mean of the P_i is then the weighted co-association.
    assign : {"argmax", "spectral"}
        A point's cluster is its largest entry in H, or comes from the normalised cut of Q.
    max_rows : int
        Refuse more distinct rows than this, because the time grows with their square.
    random_state : int, generator or None
        Seed of the starts after the first.
    n_jobs : int or None
        Starts run in parallel; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    membership_ : (n, n_clusters_) array
        Rows of H, as shares; with ``assign="argmax"`` only.
    cost_ : float
        The objective, at the end.
    costs_ : array
        The objective before the first sweep and after each; it never rises.
    n_iter_ : int
        Sweeps of the best start.
    converged_ : bool
        Whether it ended before ``max_iter``.
    n_micro_clusters_ : int
        Distinct rows among the points; pairs of these are looked at, which is exact.

    See Also
    --------
    SpectralConsensus : A low-rank fit without the sparse errors.

    Notes
    -----
    A sweep takes O(m^2 (K + r / k)) time for m distinct rows and partitions into k clusters, and
    O(m (r + K)) memory; nothing m x m is stored. A noise point is together with nobody, itself
    included. A pair that a partition did not sample is no evidence: there Z_i is Q. The
    distribution of a partition that sampled a share of the pairs sums to this share. Like all EM
    methods it ends in a local optimum near its start.

    References
    ----------
    .. [1] P. Zhou, L. Du, H. Wang, L. Shi and Y.-D. Shen, "Learning a robust consensus matrix for
       clustering ensemble via Kullback-Leibler divergence minimization", International Joint
       Conference on Artificial Intelligence, 4112-4118, 2015.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import RCE
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]]
    >>> RCE(2).fit_predict(Ensemble.from_labels(runs))
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Zhou, Du, Wang, Shi and Shen 2015; our reading"
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "sparsity": [Number(0, 100, open_low=True)],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "n_init": [Integer(1)],
        **WEIGHTING,
        "assign": [Choice("argmax", "spectral")],
        "max_rows": [Integer(1)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        sparsity: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 1,
        weighting: Weighting = None,
        theta: float = 0.4,
        assign: Literal["argmax", "spectral"] = "argmax",
        max_rows: int = 20_000,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.weighting = weighting
        self.theta = theta
        self.assign = assign
        self.max_rows = max_rows
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress()
        small, columns = _by_appearance(small)
        m = small.n_points
        if m > self.max_rows:
            raise ValueError(
                f"RCE looks at all pairs of {m:,} distinct rows in every sweep, and max_rows="
                f"{self.max_rows:,}. Use SEC or SpectralConsensus, which are linear in the number "
                "of points, combine a subset (Ensemble.subset), or raise max_rows."
            )
        # Fewer rows than clusters are clusters of their own; more columns of H would be empty.
        rank = min(self.n_clusters, m)
        reliability = None
        if self.weighting is not None:
            reliability = cluster_reliability(ensemble, theta=self.theta)[columns]
        evidence = PairEvidence.of(small, reliability)
        seeds: list[SeedSequence | None] = [None, *spawn(self.random_state, self.n_init - 1)]
        run = partial(
            _run_from_start,
            Start(small, rank, reliability),
            evidence,
            sparsity=float(self.sparsity),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        found = parallel_map(run, seeds, n_jobs=self.n_jobs, prefer="threads")
        best = min(found, key=lambda result: result.costs[-1])
        details = {
            "costs_": np.array(best.costs),
            "n_iter_": len(best.costs) - 1,
            "converged_": best.converged,
            "n_micro_clusters_": m,
        }
        labels = self._labels(best.HT, evidence.weights, rank)
        # Only the groups of the columns of H have memberships in H.
        soft = best.HT.T[inverse] if self.assign == "argmax" else None
        return Combined(labels[inverse], best.costs[-1], details, membership=soft)

    def _labels(self, HT: np.ndarray, weights: np.ndarray, rank: int) -> np.ndarray:
        if self.assign == "argmax":
            return np.argmax(HT, axis=0)
        consensus = symmetric_operator(HT.shape[1], lambda block: HT.T @ (HT @ block))
        return kway_ncut(consensus, rank, weights=weights).labels


def _by_appearance(small: Ensemble) -> tuple[Ensemble, np.ndarray]:
    """Return distinct rows with the clusters of hard partitions numbered by first appearance.

    The start is a spectral cut: where eigenvalues are equal, rounding chooses among their vectors,
    and sums over clusters in another order would be rounded otherwise. So names would decide.
    Also returned is which column of B each of the new ones was.
    """
    ranks = np.full(int(small.offsets[-1]), -1, dtype=np.int64)
    kernels.graph.first_seen(np.ascontiguousarray(small.labels), small.offsets, ranks)
    parts: list[Any] = []
    columns: list[np.ndarray] = []
    for i, start in enumerate(small.offsets[:-1]):
        own = ranks[start : start + small.n_clusters[i]]
        if i in small.soft:
            dense = small.soft[i].toarray()
            dense[small.labels[:, i] == UNSAMPLED] = np.nan
            parts.append(dense)
            columns.append(np.arange(start, start + own.size))
            continue
        codes = small.labels[:, i].astype(np.int64)
        parts.append(np.where(codes < 0, codes, np.append(own, 0)[np.maximum(codes, 0)]))
        seen = np.flatnonzero(own >= 0)
        columns.append(start + seen[np.argsort(own[seen])])
    named = Ensemble.from_labels(parts, weights=small.weights, sample_weight=small.sample_weight)
    return named, np.concatenate(columns)


@dataclass(frozen=True)
class PairEvidence:
    """The partitions as distributions over pairs, in the form that the sweeps read.

    The pairs of a cluster have a weight in proportion to its reliability, where that is given, and
    so has a partition: the mean reliability of its pairs.
    """

    hard: Any
    soft: Any
    weights: np.ndarray  # (m,) points that a row stands for
    complete: bool

    @classmethod
    def of(cls, ensemble: Ensemble, reliability: np.ndarray | None = None) -> PairEvidence:
        m, r = ensemble.shape
        weights = ensemble.sample_weight
        is_soft = np.isin(np.arange(r), list(ensemble.soft))
        share, mean = _pair_shares(ensemble, reliability)
        alpha = ensemble.weights * mean
        own = np.ones(int(ensemble.offsets[-1])) if reliability is None else reliability
        votes = np.split(own, ensemble.offsets[1:-1])  # by partition
        hard = np.flatnonzero(~is_soft)
        columns = np.ascontiguousarray(ensemble.labels[:, hard].T)
        offsets = np.concatenate([[0], np.cumsum(ensemble.n_clusters[hard])])
        order, place = np.empty(columns.shape, np.int32), np.empty(columns.shape, np.int32)
        ends = np.empty(int(offsets[-1]), np.int64)
        kernels.rce.members(columns, offsets, order, place, ends)
        fuzzy = np.flatnonzero(is_soft)
        rows = [ensemble.soft[int(i)].toarray() * np.sqrt(votes[i]) for i in fuzzy]
        together = np.concatenate([share[i] * votes[i] for i in hard] + [np.empty(0)])
        return cls(
            kernels.rce.Hard(columns, order, place, ends, offsets, alpha[hard], together),
            kernels.rce.Soft(
                np.hstack([*rows, np.empty((m, 0))]).astype(np.float64),
                np.ascontiguousarray(ensemble.labels[:, fuzzy].T != UNSAMPLED),
                np.concatenate([[0], np.cumsum(ensemble.n_clusters[fuzzy])]),
                alpha[fuzzy],
                share[fuzzy],
            ),
            weights,
            ensemble.is_complete,
        )


def _pair_shares(
    ensemble: Ensemble, reliability: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a pair of reliability 1 weighs in each partition's distribution, and the mean.

    The mean is that of the reliability of its pairs. The distribution sums to the share of all
    pairs that the partition sampled.
    """
    weights = ensemble.sample_weight
    pairs = _sums(ensemble, ensemble.cluster_sizes() ** 2)
    seen = (weights @ (ensemble.labels != UNSAMPLED)) / weights.sum()
    whole, mean = pairs, np.ones_like(pairs)
    if reliability is not None:
        pairs = _sums(ensemble, reliability * ensemble.cluster_sizes() ** 2)
        np.divide(pairs, whole, out=mean, where=whole > 0)
    return np.divide(seen**2, pairs, out=np.ones_like(pairs), where=pairs > 0), mean


def _sums(ensemble: Ensemble, values: np.ndarray) -> np.ndarray:
    """Return the sums of values of the clusters over each partition."""
    sums = np.add.reduceat(np.append(values, 0.0), ensemble.offsets[:-1])
    return np.where(ensemble.n_clusters == 0, 0.0, sums)  # an empty block gets its neighbour's


@dataclass(frozen=True)
class _Run:
    """Where a start ended."""

    HT: np.ndarray
    costs: list[float]
    converged: bool


def _run_from_start(
    start: Start,
    evidence: PairEvidence,
    seed: SeedSequence | None,
    *,
    sparsity: float,
    max_iter: int,
    tol: float,
) -> _Run:
    HT = start.rows(seed)
    total = start.ensemble.weights.sum()
    costs: list[float] = []
    while True:
        GT = np.zeros_like(HT)
        cost = kernels.rce.sweep(
            HT, evidence.weights, evidence.hard, evidence.soft, sparsity, evidence.complete, GT
        )
        costs.append(cost)
        settled = len(costs) > 1 and costs[-2] - cost <= tol * abs(cost)
        settled |= not GT.any()  # the weighting leaves no pair of points together
        if settled or len(costs) > max_iter:
            return _Run(HT, costs, settled)
        HT = _next(HT * GT / total, evidence.weights)


def _next(responsibility: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the H of the EM step, scaled so that H H^T sums to one over all pairs of points."""
    mass = responsibility @ weights
    HT = np.divide(
        responsibility,
        np.sqrt(mass)[:, None],
        out=np.zeros_like(responsibility),
        where=mass[:, None] > 0,
    )
    return HT / np.sqrt(((HT @ weights) ** 2).sum())


@dataclass(frozen=True)
class Start:
    """Where the first H comes from."""

    ensemble: Ensemble
    n_clusters: int
    reliability: np.ndarray | None

    def rows(self, seed: SeedSequence | None) -> np.ndarray:
        """Return H^T: a consensus, softened by how far points are together with its clusters.

        Shares include the pairs of a point with itself, so they are those of the copies of a row.
        """
        ensemble = self.ensemble
        method: BaseConsensus = SpectralConsensus(self.n_clusters, random_state=0)
        if seed is not None:
            method = SEC(self.n_clusters, n_init=1, random_state=seed)
        labels = method._combine(ensemble, None).labels
        weights = ensemble.sample_weight
        hot = np.zeros((ensemble.n_points, self.n_clusters))
        hot[np.arange(labels.size), labels] = 1.0
        column = None
        if self.reliability is not None:
            column = np.repeat(ensemble.weights, ensemble.n_clusters) * self.reliability
        operator = with_weighted_columns(ensemble, column, "counts")
        together = operator @ (hot * weights[:, None])
        size = weights @ hot
        share = np.divide(together, size, out=np.zeros_like(together), where=size > 0)
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-300)
        return _next(np.ascontiguousarray((hot + share + _SMOOTH).T), weights)
