"""KCC: K-means consensus, which maximises a sum of utilities by k-means over the rows of B."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.params import N_JOBS, Choice, Flag, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine import _row_kmeans
from clusterscape.combine._row_kmeans import Centroids, Points
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.blocked import BlockedCombined
from clusterscape.combine.eci import WEIGHTING, Weighting, cluster_reliability
from clusterscape.combine.registry import consensus_method
from clusterscape.compare import utilities
from clusterscape.compare.utilities import UtilityName
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.rowspace import RowSpace

_EPSILON = 2.2e-16  # a cluster that never occurs in a group costs about 52 bits there
_TRIES = 64
_ONE_CLUSTER_EACH = (
    "ensemble: every partition has one cluster, whose normalised utility is not "
    "defined; use normalized=False, or partitions with more clusters."
)


@consensus_method("kcc", cost="n r K per iteration", memory="n r")
class KCC(BaseConsensus):
    """K-means-based consensus clustering: largest sum of utilities by k-means over B.

    Finds the clustering with the largest weighted sum of utilities for the partitions. For each of
    the four utilities that is a k-means over the rows of B, with a distance of its own between a
    row and a centroid; a centroid holds, partition by partition, the shares of the partition's
    clusters within the group. B is not built: an iteration costs O(n r K) look-ups.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    utility : {"entropy", "category", "cosine", "lp"}
        What is maximised, and the distance that does it: mutual information, by
        Kullback-Leibler divergence (U_H); the category utility, by squared Euclidean distance
        (U_c); the same with the Euclidean norm, by the cosine (U_cos), or with the p-norm (U_Lp).
    p : float
        The p of "lp", above 1 and at most 32; others do not read it.
    normalized : bool
        Divide each partition's utility by abs(mu) of its cluster sizes: its entropy, for
        "entropy", where partitions of one cluster are left out.
    weighting : {None, "eci"}
        How much a point's membership in a cluster of a partition counts: 1, or in proportion to
        the cluster's ensemble-driven cluster index (see :class:`SEC`). With "eci" the columns of B
        are multiplied by the index, and its rows so that every point counts as much as without
        weights: a point has one vote, which goes more to its reliable clusters. In the utility of
        a partition its points then count as the votes that they give to it.
    theta : float
        How strongly the index falls with disagreement, as in :class:`SEC`, but weaker by default:
        the 0.4 that suits co-associations lowered the accuracy of KCC on most of the ensembles
        where it was tried.
    n_init, max_iter, tol, random_state, n_jobs
        As in :class:`SEC`, with the same scheme of starts.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found; fewer than asked when the partitions distinguish fewer groups.
    cost_ : float
        Least sum of distances over the starts: n times (a constant of the ensemble less
        ``utility_``); with ``weighting="eci"`` the sum of weighted distances.
    utility_ : float or None
        The weighted sum of utilities, as :func:`clusterscape.compare.ensemble_utility` has it:
        every point counts alike, whatever the ``weighting``. None for labels in blocks.
    n_iter_ : int
        Iterations of the best start, over all points.
    start_size_ : int
        Points on which the starts were compared.

    See Also
    --------
    SEC : Does not favour clusters of equal size.
    clusterscape.compare.ensemble_utility : The utilities themselves.

    Notes
    -----
    A partition that did not sample a point has no part in its distance, and centroids hold shares
    among sampled members; where a partition sampled no member of a group, its block of the centroid
    is that of a random point. A noise point is seen: it counts among the members, but in none of
    the partition's clusters (a zero row of B), which the cosine and the p-norm do not notice,
    because they look at directions. Soft partitions are exact under all four utilities.

    Like k-means it finds a local optimum and needs the number of clusters. An empty group is given
    the worst placed row. "entropy" punishes a cluster that never occurs in a group by 52 bits, so
    on few points groups harden early; "category" is milder.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen, "K-means-based consensus clustering: a
       unified view", IEEE Transactions on Knowledge and Data Engineering 27, 155-169, 2015.
       doi:10.1109/TKDE.2014.2316512

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import KCC
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]]
    >>> model = KCC(2, random_state=0).fit(Ensemble.from_labels(runs))
    >>> model.labels_, round(model.utility_, 6)
    (array([0, 0, 0, 1, 1, 1]), 3.0)
    """

    _source: ClassVar[str] = "Wu, Liu, Xiong, Cao and Chen 2015"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "utility": [Choice(*utilities.UTILITIES)],
        "p": [utilities.POWER],
        "normalized": [Flag()],
        **WEIGHTING,
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        utility: UtilityName = "entropy",
        p: float = 5,
        normalized: bool = False,
        weighting: Weighting = None,
        theta: float = 2.0,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.utility = utility
        self.p = p
        self.normalized = normalized
        self.weighting = weighting
        self.theta = theta
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        factors = None
        if self.weighting is not None:
            factors = cluster_reliability(ensemble, theta=self.theta)
        objective = Divergence.of(
            ensemble,
            utility=self.utility,
            p=self.p,
            normalized=self.normalized,
            factors=factors,
        )
        sampling, *starts = spawn(self.random_state, self.n_init + 1)
        best, start_size = _row_kmeans.minimise(
            objective,
            self.n_clusters,
            sampling=sampling,
            starts=starts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            start_size=_row_kmeans.START_SIZE,
        )
        gained = utilities.ensemble_utility(
            ensemble, best.labels, utility=self.utility, normalized=self.normalized, p=self.p
        )
        details = {"utility_": gained, "n_iter_": best.n_iter, "start_size_": start_size}
        return Combined(best.labels, best.cost, details)

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        parts = ensemble.blocks.workers.map(_seen_and_noisy, ensemble.blocks)
        seen, noisy = np.sum(parts, axis=0)
        sizes = ensemble.cluster_sizes()
        how: dict[str, Any] = {"utility": self.utility, "p": self.p}
        whole = utilities.concentration(sizes[:, None], seen[:, None], ensemble.offsets, **how)
        weights = utilities.effective_weights(
            ensemble.weights, whole[:, 0], seen, normalized=self.normalized
        )
        useful = (weights > 0) & (ensemble.n_clusters > 0)
        if not useful.any():
            raise ValueError(_ONE_CLUSTER_EACH)
        factors = None
        if self.weighting is not None:
            factors = cluster_reliability(ensemble, theta=self.theta)
            factors = factors[np.repeat(useful, ensemble.n_clusters)]
        offsets = np.concatenate([[0], np.cumsum(ensemble.n_clusters[useful])])
        noisy = np.flatnonzero(noisy[useful])
        model = _DivergenceRows(
            np.flatnonzero(useful), offsets, weights[useful], noisy, factors, **how
        )
        sampling, *starts = spawn(self.random_state, self.n_init + 1)
        best = _row_kmeans.minimise_in_blocks(
            ensemble.blocks,
            model,
            self.n_clusters,
            sampling=sampling,
            starts=starts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            start_size=_row_kmeans.START_SIZE,
        )
        details = {"utility_": None, "n_iter_": best.n_iter, "start_size_": best.start_size}
        return BlockedCombined(best.rule, best.cost, details)


def _seen_and_noisy(i: int, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many points of a block each partition saw, and how many are noise there.

    Points that are in no cluster of any partition do not count.
    """
    inside = labels[(labels >= 0).any(axis=1)]
    return (inside != UNSAMPLED).sum(axis=0) * 1.0, (inside == NOISE).sum(axis=0) * 1.0


@dataclass(frozen=True)
class _DivergenceRows:
    """Makes the objective of any rows of labels."""

    useful: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    noisy: np.ndarray
    factors: np.ndarray | None
    utility: str
    p: float

    def of(self, labels: np.ndarray) -> Divergence:
        """Return the objective on some rows."""
        labels = np.ascontiguousarray(labels[:, self.useful])
        rows = RowSpace(*_with_noise(labels, self.offsets, self.noisy))
        how: dict[str, Any] = {"utility": self.utility, "p": self.p, "factors": self.factors}
        ones = np.ones(len(labels))
        return Divergence.of_rows(rows, self.noisy, self.weights, self.offsets, ones, **how)


@dataclass(frozen=True)
class Divergence:
    """Sum over points and partitions of the distance that belongs to a utility.

    The rows are those of B, with one more column for every partition that has noise, which holds
    its noise points: sums of columns then say how much of a group each partition has seen.
    """

    points: Points
    weights: np.ndarray  # (r,) weights of the partitions
    offsets: np.ndarray  # (r + 1,) first column of each partition, before the columns of noise
    noisy: np.ndarray  # partitions that have a column of noise
    utility: str
    p: float
    factors: np.ndarray | None = None  # (D,) of the columns of B, None where all are 1

    @classmethod
    def of(
        cls,
        ensemble: Ensemble,
        *,
        utility: str,
        p: float,
        normalized: bool,
        factors: np.ndarray | None = None,
    ) -> Divergence:
        """Return the objective of an ensemble."""
        weight, labels = ensemble.sample_weight, ensemble.labels
        everybody = np.zeros(ensemble.n_points, dtype=np.int32)
        seen = utilities.seen_mass(labels, everybody, weight, 1)
        sizes = ensemble.cluster_sizes()[:, None]
        whole = utilities.concentration(sizes, seen, ensemble.offsets, utility=utility, p=p)
        weights = utilities.effective_weights(
            ensemble.weights, whole[:, 0], seen[:, 0], normalized=normalized
        )
        useful = (weights > 0) & (ensemble.n_clusters > 0)
        if not useful.any():
            raise ValueError(_ONE_CLUSTER_EACH)
        if not useful.all():
            if factors is not None:
                factors = factors[np.repeat(useful, ensemble.n_clusters)]
            ensemble, weights = ensemble.select(useful), weights[useful]
        rows, noisy = _rows_with_noise(ensemble)
        base = None
        if ensemble.is_soft:
            base = _soft_base(ensemble, weights, factors, utility=utility, p=p)
        how: dict[str, Any] = {"utility": utility, "p": p, "factors": factors, "base": base}
        return cls.of_rows(rows, noisy, weights, ensemble.offsets, weight, **how)

    @classmethod
    def of_rows(
        cls,
        rows: RowSpace,
        noisy: np.ndarray,
        weights: np.ndarray,
        offsets: np.ndarray,
        weight: np.ndarray,
        *,
        utility: str,
        p: float,
        factors: np.ndarray | None,
        base: np.ndarray | None = None,
    ) -> Divergence:
        """Return the objective of rows with columns for noise; ``base`` where rows are soft."""
        column = full = np.repeat(weights, np.diff(offsets))
        if factors is not None:
            column = column * factors
        unit = rows.product(np.concatenate([column, weights[noisy]])[:, None]).ravel()
        if factors is not None:
            all_of = rows.product(np.concatenate([full, weights[noisy]])[:, None]).ravel()
            weight = weight * np.divide(all_of, unit, out=np.zeros_like(unit), where=unit > 0)
        if base is None:
            base = np.zeros_like(unit)
            if utility != "entropy":
                base = rows.product(np.concatenate([column, np.zeros(noisy.size)])[:, None]).ravel()
        points = Points(rows, weight, weight, np.ones_like(unit), base, unit)
        return cls(points, weights, offsets, noisy, utility, p, factors)

    def subset(self, points: np.ndarray) -> Self:
        """Return the objective on some of the points."""
        return replace(self, points=self.points.subset(points))

    @property
    def width(self) -> int:
        """Columns of B, those of noise not counted."""
        return int(self.offsets[-1])

    def _inside(self, totals: np.ndarray) -> np.ndarray:
        """Return the totals of the columns of B, times their factors."""
        inside = totals[: self.width]
        return inside if self.factors is None else inside * self.factors[:, None]

    def group_mass(self, totals: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the (r, K) mass that each partition saw of each group."""
        seen = np.add.reduceat(self._inside(totals), self.offsets[:-1], axis=0)
        seen[self.noisy] += totals[self.width :]
        return seen

    def energy(self, totals: np.ndarray, group_mass: np.ndarray) -> np.ndarray:
        """Return the weighted concentration of each group."""
        return self.weights @ utilities.concentration(
            self._inside(totals), group_mass, self.offsets, utility=self.utility, p=self.p
        )

    def centroids(self, totals: np.ndarray, group_mass: np.ndarray, rng: Generator) -> Centroids:
        """Return what a row gains, in each group, by each of its clusters.

        A row has one membership per block, so what a block costs every row is taken off the gains.
        """
        widths = np.diff(self.offsets)
        shares, mass = self._inside(totals), np.repeat(group_mass, widths, axis=0)
        shares = np.divide(shares, mass, out=np.zeros_like(shares), where=mass > 0)
        filled = (group_mass > 0).any(axis=0)
        self._guess_unseen(shares, (group_mass <= 0) & filled, rng)
        gains, block = self._gains(shares)
        if block is not None:
            gains -= np.repeat(block, widths, axis=0)
        noise = np.zeros_like(group_mass) if block is None else -block
        gains *= np.repeat(self.weights, widths)[:, None]
        if self.factors is not None:
            gains *= self.factors[:, None]
        noise *= self.weights[:, None]
        table = np.concatenate([gains, noise[self.noisy]])
        return Centroids(table, np.where(filled, 0.0, np.inf))

    def _gains(self, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the gradient of mu at the shares, and what it costs every row, per block.

        mu is convex, and the distance of a row x to the mean m is its Bregman divergence
        mu(x) - mu(m) - <gradient, x - m>; the cost of a block is <gradient, m> - mu(m).
        """
        starts = self.offsets[:-1]
        if self.utility == "category":
            return 2.0 * shares, np.add.reduceat(shares * shares, starts, axis=0)
        if self.utility == "entropy":
            gains = np.log2(shares + _EPSILON)
            if self.noisy.size == 0:
                return gains, None  # shares sum to one, and gradient and cost cancel
            inside = np.add.reduceat(shares, starts, axis=0)
            return gains + 1.0 / np.log(2.0), inside / np.log(2.0)
        p = self.p if self.utility == "lp" else 2.0
        norms = np.add.reduceat(utilities.powers(shares, p), starts, axis=0) ** (1.0 / p)
        long = np.repeat(norms, np.diff(self.offsets), axis=0)
        unit = np.divide(shares, long, out=np.zeros_like(shares), where=long > 0)
        return (unit if p == 2.0 else utilities.powers(unit, p - 1.0)), None

    def _guess_unseen(self, shares: np.ndarray, unseen: np.ndarray, rng: Generator) -> None:
        """Fill blocks of groups of which a partition saw no point, by the rows of random points.

        A point rather than a cluster is drawn, so that names of clusters do not matter.
        """
        rows = self.points.rows
        assert isinstance(rows, RowSpace)
        for i, g in np.argwhere(unseen):
            drawn = rng.integers(0, rows.n_points, size=_TRIES)
            found = drawn[rows.labels[drawn, i] >= 0]
            if found.size == 0:
                found = np.flatnonzero(rows.labels[:, i] >= 0)
            if found.size > 0:
                columns, values = rows.row(int(found[0]))
                inside = (columns >= self.offsets[i]) & (columns < self.offsets[i + 1])
                share = values[inside]
                if self.factors is not None:
                    share = share * self.factors[columns[inside]]
                    share /= max(share.sum(), _EPSILON)
                shares[columns[inside], g] = share

    def assign(self, centroids: Centroids, groups: np.ndarray) -> tuple[int, np.ndarray]:
        """Move every row to its nearest centroid, in place; return the moves and the scores."""
        return self.points.rows.assign(
            centroids.table, centroids.norms, scale=self.points.scale, groups=groups
        )


def _rows_with_noise(ensemble: Ensemble) -> tuple[RowSpace, np.ndarray]:
    """Return the rows of B with columns for noise behind them, and which partitions have one."""
    labels = ensemble.labels
    noisy = np.array(
        [i for i in range(ensemble.n_partitions) if (labels[:, i] == NOISE).any()], dtype=np.int64
    )
    membership = ensemble.membership().matrix if ensemble.is_soft else None
    if membership is not None and noisy.size:
        is_noise = sparse.csr_matrix(labels[:, noisy] == NOISE, dtype=np.float64)
        membership = sparse.csr_matrix(sparse.hstack([membership, is_noise]))
    return RowSpace(*_with_noise(labels, ensemble.offsets, noisy), membership), noisy


def _with_noise(
    labels: np.ndarray, offsets: np.ndarray, noisy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and offsets with one more partition of one cluster for each column of noise."""
    if noisy.size == 0:
        return labels, offsets
    noise = np.where(labels[:, noisy] == NOISE, 0, -2).astype(labels.dtype)
    offsets = np.concatenate([offsets, offsets[-1] + 1 + np.arange(noisy.size)])
    return np.concatenate([labels, noise], axis=1), offsets


def _soft_base(
    ensemble: Ensemble,
    weights: np.ndarray,
    factors: np.ndarray | None,
    *,
    utility: str,
    p: float,
) -> np.ndarray:
    """Return the weighted sum of mu over the blocks of each row of B, times the blocks' masses."""
    matrix = ensemble.membership().matrix.copy()
    blocks = np.repeat(np.arange(ensemble.n_partitions), ensemble.n_clusters)
    column = weights[blocks]
    if factors is not None:
        return _scaled_base(matrix @ sparse.diags(factors), ensemble, weights, utility, p)
    if utility in ("entropy", "category"):
        values = matrix.data
        logs = np.log2(np.where(values > 0, values, 1.0))
        matrix.data = values**2 if utility == "category" else values * logs
        return np.asarray(matrix @ column)
    power = p if utility == "lp" else 2.0
    matrix.data **= power
    block = sparse.csr_matrix((np.ones(blocks.size), (np.arange(blocks.size), blocks)))
    sums = matrix @ block
    sums.data **= 1.0 / power
    return np.asarray(sums @ weights)


def _scaled_base(
    matrix: sparse.csr_matrix, ensemble: Ensemble, weights: np.ndarray, utility: str, p: float
) -> np.ndarray:
    """Return the same for rows whose blocks do not sum to one."""
    found = np.zeros(ensemble.n_points)
    for i, weight in enumerate(weights):
        block = matrix[:, ensemble.offsets[i] : ensemble.offsets[i + 1]].toarray().T
        mass = block.sum(axis=0, keepdims=True)
        offsets = np.array([0, len(block)])
        # Every point is a group of its own.
        found += weight * utilities.concentration(block, mass, offsets, utility=utility, p=p)[0]
    return found
