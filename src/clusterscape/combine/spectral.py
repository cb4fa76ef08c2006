"""Spectral consensus: the singular vectors of the normalised membership matrix, then k-means."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._core.params import Choice, Integer, Null, Rules, Seed
from clusterscape._core.rows import RowSource
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.blocked import BlockedCombined, tally
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.ncut import eigengap
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import (
    BipartiteSpectrum,
    Incidence,
    bipartite_spectrum,
    spectrum_of_gram,
)

_START_SIZE = 20_000
_TOLERANCE = 1e-6  # of the cost: an iteration over all blocks that gains less is the last


@consensus_method(
    "spectral",
    cost="n r^2 for the Gram matrix of the clusters, n r K for the rows",
    memory="n (r + K) + D^2",
)
class SpectralConsensus(BaseConsensus):
    """Spectral clustering of the co-association by the singular vectors of B.

    The eigenvectors of the normalised co-association D^-1/2 S D^-1/2 are the left singular vectors
    of D^-1/2 B, so they come from the small Gram matrix of the clusters (or from the points' side,
    if there are fewer points). The rows of the leading ones, at unit length, are clustered by
    k-means: the method of Ng, Jordan and Weiss, on S. Neither S nor B is built.

    Parameters
    ----------
    n_clusters : int, optional
        Clusters of the consensus; None takes the number with the largest gap between eigenvalues.
    max_clusters : int
        Most clusters that the gap is looked for.
    rows : {"unit", "degree"}
        Rows of the eigenvectors at unit length, or divided by the root of the degree, with k-means
        weighted by the degree (the normalised cut's own relaxation).
    n_init : int
        Starts of k-means. On more than 20,000 points they are compared on a random sample of
        20,000, and the best one goes on with all points.
    max_iter : int
        Iterations of k-means at most.
    weighting, theta
        As in :class:`SEC`: with "eci" the links between points and unreliable clusters are weak.
    max_points : int, optional
        Of more points than this, the weights, the spectrum and the centres are those of a random
        sample of so many, and all points go to the nearest centre by their own rows: O(n r K).
        None takes all points.
    random_state : int, generator or None
        Seed of the starts and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Normalised cut of the co-association (as counts) that the labels give.
    eigenvalues_ : array
        The largest of the normalised co-association, first 1; ``max_clusters + 1`` of them when k
        was sought, otherwise ``n_clusters``.
    gaps_ : array or None
        What k was chosen by: entry k - 1 is the gap for k clusters.
    residual_ : float
        Largest residual of the eigenvectors.
    solver_ : str
        How they were found, and on which side.
    start_size_ : int
        Points on which the starts were compared.
    sample_size_ : int
        Points that the spectrum is of; ``cost_`` is that of their labels.

    See Also
    --------
    SEC : The same objective by a weighted k-means, for a given number of clusters.
    LWGP : The cut of the graph of points and clusters, where large clusters count less.
    SCA : Also finds the number of clusters from eigenvalues.
    clusterscape.validate.select_k : The eigengap alone.

    Notes
    -----
    Unsampled points have zero rows in their partition's block of B: pairs are counted, not divided
    by how often they were sampled together. Clusters that are no more than one large cluster's
    fringe have no eigenvector of their own and are lost; with many more clusters than eigenvalues
    near 1 the last eigenvectors are noise. Compare ``eigenvalues_``. The starts of k-means depend
    on the order of the points, as they do on the seed.

    References
    ----------
    .. [1] A. Y. Ng, M. I. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm",
       Advances in Neural Information Processing Systems 14, 849-856, 2001.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import SpectralConsensus
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]]
    >>> SpectralConsensus(random_state=0).fit_predict(Ensemble.from_labels(runs))
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Ng, Jordan and Weiss 2001, on the co-association"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "max_clusters": [Integer(2)],
        "rows": [Choice("unit", "degree")],
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        **WEIGHTING,
        "max_points": [Null(), Integer(2)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_clusters: int = 20,
        rows: Literal["unit", "degree"] = "unit",
        n_init: int = 10,
        max_iter: int = 100,
        weighting: Weighting = None,
        theta: float = 0.4,
        max_points: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.rows = rows
        self.n_init = n_init
        self.max_iter = max_iter
        self.weighting = weighting
        self.theta = theta
        self.max_points = max_points
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        drawing, starting, picking = spawn(self.random_state, 3)
        some = ensemble
        if self.max_points is not None and ensemble.n_points > self.max_points:
            rows = _some_rows(ensemble.n_points, self.max_points, picking)
            some = ensemble.subset(rows, keep_empty=True)
        cut = self._cut_of(some, drawing, starting)
        labels = cut.labels
        if some is not ensemble:
            labels = cut.found.nearest(RowSpace.of(ensemble), cut.centers, unit=cut.unit)
        return Combined(labels, cut.cost, cut.details)

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        drawing, starting, picking = spawn(self.random_state, 3)
        if self.max_points is None or ensemble.n_points <= self.max_points:
            return self._cut_of_blocks(ensemble, drawing, starting)
        most = self.max_points
        some = ensemble.subset(_some_rows(ensemble.n_points, most, picking), keep_empty=True)
        some = some.subset(some.in_clusters(), keep_empty=True)
        cut = self._cut_of(some, drawing, starting)
        rule = NearestCentre(cut.found, ensemble.offsets, cut.centers, cut.unit)
        return BlockedCombined(rule, cut.cost, cut.details)

    def _cut_of_blocks(
        self, ensemble: BlockedEnsemble, drawing: SeedSequence, starting: SeedSequence
    ) -> BlockedCombined:
        """Return the spectral cut of all points, by sums over the blocks.

        The spectrum is that of the D x D table of the clusters, and k-means goes on from the best
        start with passes of K x m sums: Lloyd's steps, where points in memory are exchanged.
        """
        sizes = ensemble.cluster_sizes()
        column = self._links(column_weights(ensemble, self.weighting, self.theta), sizes)
        wanted = self.max_clusters + 1 if self.n_clusters is None else self.n_clusters
        found = spectrum_in_blocks(ensemble, wanted, column)
        k, gaps = self.n_clusters, None
        if k is None:
            k, gaps = eigengap(found.values, max_clusters=self.max_clusters)
        n, unit = ensemble.n_points, self.rows == "unit"
        sample = np.arange(n)
        if n > _START_SIZE:
            rng = np.random.default_rng(drawing)
            sample = np.sort(rng.choice(n, size=_START_SIZE, replace=False))
        rule = NearestCentre(found, ensemble.offsets, np.empty((0, k)), unit)
        rows, mass, _ = rule.rows(ensemble.blocks[sample])
        first = kmeans(
            rows, min(k, len(rows)), n_init=self.n_init, max_iter=self.max_iter,
            sample_weight=mass, seed=starting,
        )  # fmt: skip
        rule = replace(rule, centers=first.centers)
        if len(sample) < n:
            rule = settled(rule, ensemble.blocks, self.max_iter)
        totals = tally(ensemble, rule).totals
        cost = _cut(totals, column, found.column_degree @ totals)
        details = _details(found, gaps, start_size=len(rows), sample_size=n)
        return BlockedCombined(rule, cost, details)

    def _cut_of(self, some: Ensemble, drawing: SeedSequence, starting: SeedSequence) -> _Cut:
        """Return the spectral cut of some points."""
        space = RowSpace.of(some)
        column = self._links(column_weights(some, self.weighting, self.theta), some.cluster_sizes())
        wanted = self.max_clusters + 1 if self.n_clusters is None else self.n_clusters
        found = bipartite_spectrum(
            space, wanted, column_weight=column, sample_weight=some.sample_weight
        )
        degree = space.product(found.column_degree[:, None]).ravel()
        k, gaps = self.n_clusters, None
        if k is None:
            k, gaps = eigengap(found.values, max_clusters=self.max_clusters)
        unit = self.rows == "unit"
        XT = found.rows(space, n_vectors=k, unit=unit).T
        mass = some.sample_weight * (1.0 if unit else degree)
        labels, start_size = self._partition(XT, mass, k, drawing, starting)
        totals = space.totals(labels, some.sample_weight, int(labels.max()) + 1)
        volume = np.bincount(labels, weights=some.sample_weight * degree)
        cost = _cut(totals, column, volume)
        sizes = np.bincount(labels, weights=mass)
        sums = [np.bincount(labels, weights=mass * line) for line in XT]
        centers = np.column_stack(sums)[sizes > 0] / sizes[sizes > 0, None]
        details = _details(found, gaps, start_size=start_size, sample_size=some.n_points)
        return _Cut(labels, cost, found, centers, unit, details)

    def _links(self, column: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return W of the similarity ``B W B^T`` that is cut, by the columns' weights and sizes."""
        return column

    def _partition(
        self,
        XT: np.ndarray,
        mass: np.ndarray,
        k: int,
        sampling: SeedSequence,
        starting: SeedSequence,
    ) -> tuple[np.ndarray, int]:
        """Return the labels of k-means, and on how many points its starts were compared."""
        n = XT.shape[1]
        k = min(k, n)
        sample = np.arange(n)
        if n > _START_SIZE:
            rng = np.random.default_rng(sampling)
            sample = np.sort(rng.choice(n, size=_START_SIZE, replace=False))
        first = kmeans(
            XT[:, sample].T,
            k,
            n_init=self.n_init,
            max_iter=self.max_iter,
            sample_weight=mass[sample],
            seed=starting,
        )
        if sample.size == n:
            return first.labels, n
        labels = np.empty(n, dtype=np.int32)
        axes = np.arange(len(XT))
        kernels.kmeans.assign(XT, axes, first.centers, labels, np.empty(n), np.empty(256))
        plan = kernels.kmeans.Plan(
            len(first.centers), True, False, False, 1, int(self.max_iter), 1e-4
        )
        kernels.kmeans.refine(XT, axes, mass, labels, plan)
        return labels, sample.size

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found, as the estimator is set."""
        if self.n_clusters is not None:
            return ""
        return "largest eigengap of the normalised co-association"


@dataclass(frozen=True)
class _Cut:
    """The cut of some points, and what places others."""

    labels: np.ndarray
    cost: float
    found: Any
    centers: np.ndarray
    unit: bool
    details: dict[str, Any]


@dataclass(frozen=True)
class NearestCentre:
    """Rows of labels go to the nearest centre by their rows of eigenvectors."""

    found: Any
    offsets: np.ndarray
    centers: np.ndarray
    unit: bool

    @property
    def n_groups(self) -> int:
        """Groups, empty ones included."""
        return len(self.centers)

    def groups(self, labels: np.ndarray, first: int) -> np.ndarray:
        """Return the groups of rows."""
        space = RowSpace(labels, self.offsets)
        return self.found.nearest(space, self.centers, unit=self.unit)

    def rows(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of eigenvectors of points that are in a cluster, their masses, labels."""
        space = RowSpace(labels[(labels >= 0).any(axis=1)], self.offsets)
        rows = self.found.rows(space, n_vectors=self.centers.shape[1], unit=self.unit)
        mass = np.ones(len(rows))
        if not self.unit:
            mass = space.product(self.found.column_degree[:, None]).ravel()
        return rows, mass, space.labels


def settled(rule: NearestCentre, blocks: RowSource, max_iter: int) -> NearestCentre:
    """Return the rule after Lloyd's steps over all blocks, whose sums are added in their order."""
    before = np.inf
    for _ in range(max_iter):
        parts = blocks.workers.map(_step, blocks, (rule,))
        sums, mass, cost = (sum(values[1:], values[0]) for values in zip(*parts, strict=True))
        centers = rule.centers.copy()
        filled = mass > 0
        centers[filled] = sums[filled] / mass[filled, None]
        rule = replace(rule, centers=centers)
        if before - cost <= _TOLERANCE * abs(cost):
            break
        before = cost
    return rule


def _step(i: int, labels: np.ndarray, rule: NearestCentre) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the sums of the rows of a block by their nearest centres, masses, and the cost."""
    rows, mass, labels = rule.rows(labels)
    centers = rule.centers[:, : rows.shape[1]]
    k = len(centers)
    groups = rule.groups(labels, 0)
    sums = np.zeros(rule.centers.shape)
    for j, line in enumerate(rows.T):
        sums[:, j] = np.bincount(groups, weights=mass * line, minlength=k)
    away = rows - centers[groups]
    cost = float(mass @ np.einsum("ij,ij->i", away, away))
    return sums, np.bincount(groups, weights=mass, minlength=k), cost


def spectrum_in_blocks(
    ensemble: BlockedEnsemble, n_values: int, column: np.ndarray, *, seed: int = 0
) -> BipartiteSpectrum:
    """Return the spectrum of the co-association with weighted columns, by sums over the blocks."""
    degree = column * ensemble.cluster_sizes()
    given = (ensemble.offsets, column, degree)
    gram = ensemble.sum_of_tables(_scaled_gram, given, int(ensemble.offsets[-1]))
    return spectrum_of_gram(gram, n_values, column_weight=column, column_degree=degree, seed=seed)


def _scaled_gram(
    i: int, labels: np.ndarray, offsets: np.ndarray, column: np.ndarray, degree: np.ndarray
) -> np.ndarray:
    """Return ``W^1/2 B^T D^-1 B W^1/2`` of the points of a block."""
    space = RowSpace(labels, offsets)
    own = space.product(degree[:, None]).ravel()
    scale = np.divide(1.0, own, out=np.zeros_like(own), where=own > 0)
    return Incidence(space).gram(scale, np.sqrt(column))


def _details(found: BipartiteSpectrum, gaps: Any, **sizes: int) -> dict[str, Any]:
    return {
        "eigenvalues_": found.values,
        "gaps_": gaps,
        "residual_": found.residual,
        "solver_": f"{found.solver}, {found.side}",
        **{f"{name}_": size for name, size in sizes.items()},
    }


def _some_rows(n: int, size: int, seed: SeedSequence) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(n, size=size, replace=False))


def _cut(totals: np.ndarray, column: np.ndarray, volume: np.ndarray) -> float:
    """Return the normalised cut of the co-association: clusters less their inner shares."""
    inside = (column[:, None] * totals**2).sum(axis=0)
    return float((1.0 - inside[volume > 0] / volume[volume > 0]).sum())
