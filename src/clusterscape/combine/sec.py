"""SEC: spectral ensemble clustering as a weighted k-means over the rows of B, or projected rows."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import Generator, SeedSequence
from scipy import sparse

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import N_JOBS, Choice, Flag, Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, kernel_seed, spawn
from clusterscape.combine import _row_kmeans
from clusterscape.combine._row_kmeans import Centroids, Points
from clusterscape.combine.base import BaseConsensus, Combined, ConsensusWarning
from clusterscape.combine.blocked import BlockedCombined
from clusterscape.combine.eci import (
    WEIGHTING,
    Weighting,
    column_weights,
)
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.projection import sparse_projection
from clusterscape.linalg.rowspace import DenseRows, RowSpace
from clusterscape.linalg.transfer_cut import bipartite_spectrum, coassociation_spectrum

_START_SIZE = _row_kmeans.START_SIZE
_GUESS_STARTS = 3  # of k-means on the eigenvectors


@consensus_method("sec", cost="n r K per iteration", memory="n r")
class SEC(BaseConsensus):
    """Spectral ensemble clustering: normalised cut of the co-association by k-means over B.

    The normalised cut of the co-association matrix S = B B^T is the objective of a weighted k-means
    on the rows ``b(x) / w(x)``, where ``w(x)`` is the row sum of S: the total size of the clusters
    that contain x. Neither S nor B is built; an iteration costs O(n r K) look-ups. With a
    ``projection`` the rows are first reduced to ``n_dims`` numbers, and an iteration costs
    O(n K n_dims) sums: SECRP and SEC-SVD (Liu, Ye, Wei, Hu 2017). What is found there is then
    put right by a few iterations on the rows themselves (``polish``).

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    n_init : int
        Starts, by weighted k-means++; the one with the least cost is kept. Every other start draws
        several times more rows than clusters and merges them again at the least increase of the
        cost. On more than 20,000 points the starts are compared on a random sample of 20,000, and
        the best one goes on with all points.
    spectral_start : bool
        One more start, from the eigenvectors of the same cut on at most 5,000 points: k-means
        alone often stops in poor local optima where the weights of clusters differ much.
    max_iter : int
        Iterations of one start at most.
    tol : float
        A start ends when the cost falls by less than this share, or when no point moves.
    incomplete : {"zero", "blockwise"}
        What an unsampled point contributes to a partition's block of the centroid: a zero row
        ("zero", which is exactly the normalised cut of the incomplete S), or nothing at all, the
        block being averaged over the sampled points only ("blockwise", our reading, which takes
        no projection).
    projection : {None, "sparse", "svd"}
        Cluster the rows themselves (None), or n_dims random combinations of their columns
        ("sparse": SECRP), or their leading singular directions ("svd": SEC-SVD, which takes
        longer than it saves).
    n_dims : int
        Dimensions of the projected rows. If B has no more columns than that, nothing is projected,
        and a warning says so. 40 are enough where partitions have about as many clusters as the
        consensus; partitions of many small clusters need 100 or 200.
    n_blocks : int
        Non-zeros in each row of the sparse random matrix; a few are enough.
    polish : int
        Iterations at most on the rows themselves, from the groups that were found on projected
        rows; none of them raises the cost. 0 is as published: every point then stays where the
        distorted distances put it, and between many clusters many points are misplaced. Read with
        a projection only.
    weighting : {None, "eci"}
        Weight every column of B, which is a cluster of some partition, by that partition's weight
        alone, or also by how far the other partitions agree with the cluster (its ensemble-driven
        cluster index, :func:`~clusterscape.combine.eci.cluster_reliability`): S is then the locally
        weighted co-association of [3]_.
    theta : float
        How strongly the index falls with disagreement; smaller is stronger. Read with "eci" only.
    random_state : int, generator or None
        Seed of the starts.
    n_jobs : int or None
        Starts run in parallel; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found; fewer than asked when the partitions distinguish fewer groups.
    cost_ : float
        Least cost over the starts: a constant of the ensemble plus the normalised cut. With a
        projection it is the same cost, of the labels that were found.
    n_iter_ : int
        Iterations of the best start, over all points; with a projection on the projected rows.
    start_size_ : int
        Points on which the starts were compared.
    n_dims_ : int or None
        Dimensions of the projected rows, None if they were not projected.
    projection_error_ : float or None
        By what share the cost of the groups that were found on projected rows is another there
        than on the rows themselves, before polishing.

    See Also
    --------
    KCC : k-means over B for other objectives.
    SpectralConsensus : The same cut by eigenvectors; can find the number of clusters.
    choose_method : Why this is the default of ConsensusClustering.

    Notes
    -----
    Like k-means it finds a local optimum and favours clusters of similar total similarity. It
    needs the number of clusters. Small clusters may be absorbed; compare with :class:`EAC`.
    Starts are drawn among the points as they are listed, so that another order of the points may
    end in another local optimum, as another seed may; points with the same labels stay together.
    A sparse projection depends on the order of the clusters' names, so renaming clusters changes
    its result a little, as another seed would.

    References
    ----------
    .. [1] H. Liu, T. Liu, J. Wu, D. Tao and Y. Fu, "Spectral ensemble clustering", ACM SIGKDD
       Conference on Knowledge Discovery and Data Mining, 715-724, 2015.
       doi:10.1145/2783258.2783287
    .. [2] W. Liu, M. Ye, J. Wei and X. Hu, "Fast constrained spectral clustering and cluster
       ensemble with random projection", Computational Intelligence and Neuroscience, 2658707, 2017.
       doi:10.1155/2017/2658707
    .. [3] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from clusterscape.combine import SEC
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]]
    >>> from clusterscape import Ensemble
    >>> SEC(2, random_state=0).fit_predict(Ensemble.from_labels(runs))
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Liu, Liu, Wu, Tao and Fu 2015"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "n_init": [Integer(1)],
        "spectral_start": [Flag()],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "incomplete": [Choice("zero", "blockwise")],
        "projection": [Null(), Choice("sparse", "svd")],
        "n_dims": [Integer(1)],
        "n_blocks": [Integer(1)],
        "polish": [Integer(0)],
        **WEIGHTING,
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_init: int = 10,
        spectral_start: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
        incomplete: Literal["zero", "blockwise"] = "zero",
        projection: Literal["sparse", "svd"] | None = None,
        n_dims: int = 40,
        n_blocks: int = 4,
        polish: int = 3,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.spectral_start = spectral_start
        self.max_iter = max_iter
        self.tol = tol
        self.incomplete = incomplete
        self.projection = projection
        self.n_dims = n_dims
        self.n_blocks = n_blocks
        self.polish = polish
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        sampling, *starts, drawing, guessing = spawn(self.random_state, self.n_init + 3)
        column = column_weights(ensemble, self.weighting, self.theta)
        whole = NormalisedCut.of(ensemble, column, blockwise=self.incomplete == "blockwise")
        used = whole if self.projection is None else self._projected(whole, ensemble, drawing)
        best, start_size = _row_kmeans.minimise(
            used,
            self.n_clusters,
            sampling=sampling,
            starts=starts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            start_size=_START_SIZE,
            guess=partial(whole.relaxed, self.n_clusters, guessing)
            if self.spectral_start
            else None,
        )
        details: dict[str, Any] = {"n_iter_": best.n_iter, "start_size_": start_size}
        if used is whole:
            details |= {"n_dims_": None, "projection_error_": None}
            return Combined(best.labels, best.cost, details)
        cost = whole.cost(best.labels, self.n_clusters)
        total = float(whole.points.mass @ whole.points.base)
        details |= {
            "n_dims_": used.points.rows.width,
            "projection_error_": _share(best.cost, cost, total),
        }
        if self.polish == 0:
            return Combined(best.labels, cost, details)
        better = _row_kmeans.improve(
            whole,
            best.labels,
            self.n_clusters,
            seed=sampling,
            max_iter=self.polish,
            tol=self.tol,
        )
        return Combined(better.labels, better.cost, details)

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        sampling, *starts, drawing, guessing = spawn(self.random_state, self.n_init + 3)
        column = column_weights(ensemble, self.weighting, self.theta)
        sizes = ensemble.cluster_sizes()
        unit = float((column * sizes**2).sum() / ensemble.n_points)  # the mean degree
        apart = self.incomplete == "blockwise" and not ensemble.is_complete
        model = _CutRows(ensemble.offsets, column, sizes, unit, apart)
        if self.projection is not None and self.n_dims < len(column):
            projection = sparse_projection(
                len(column), self.n_dims, n_blocks=self.n_blocks, seed=drawing
            )
            model = replace(model, projection=projection)

        def guess(sample: Any, places: np.ndarray) -> np.ndarray:
            return sample.relaxed(self.n_clusters, guessing, places)

        best = _row_kmeans.minimise_in_blocks(
            ensemble.blocks,
            model,
            self.n_clusters,
            sampling=sampling,
            starts=starts,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
            start_size=_START_SIZE,
            guess=guess if self.spectral_start and model.projection is None else None,
        )
        details: dict[str, Any] = {
            "n_iter_": best.n_iter,
            "start_size_": best.start_size,
            "n_dims_": None,
            "projection_error_": None,
        }
        if model.projection is None:
            return BlockedCombined(best.rule, best.cost, details)
        found = _row_kmeans.improve_in_blocks(
            ensemble.blocks,
            replace(model, projection=None),
            best.rule,
            seed=sampling,
            max_iter=self.polish,
            tol=self.tol,
        )
        error = _share(best.cost, found.before, found.total)
        details |= {"n_dims_": self.n_dims, "projection_error_": error}
        return BlockedCombined(found.rule, found.cost, details)

    def _in_blocks(self) -> bool:
        # The singular vectors of all rows, and projections, are of partitions that see every point.
        return self.projection != "svd" and not (self.projection and self.incomplete != "zero")

    def _as_set(self) -> str:
        if self._in_blocks():
            return super()._as_set()
        return f"SEC with projection={self.projection!r}"

    def _projected(
        self, whole: NormalisedCut, ensemble: Ensemble, seed: SeedSequence
    ) -> NormalisedCut:
        """Return the objective on projected rows, or itself where that would not be smaller."""
        if self.incomplete == "blockwise":
            raise ValueError(
                f"projection={self.projection!r} mixes the blocks of the partitions, so "
                "incomplete='blockwise' cannot hold; use incomplete='zero'."
            )
        width = whole.points.rows.width
        if self.n_dims >= width:
            warnings.warn(
                f"SEC: n_dims={self.n_dims} is not less than the {width} clusters of all "
                "partitions together, so nothing is projected.",
                ConsensusWarning,
                stacklevel=4,
            )
            return whole
        if self.projection == "svd":
            return whole.on_rows(_leading_rows(ensemble, whole, self.n_dims, seed))
        matrix = _mixed_rows(ensemble, whole, self.n_dims, n_blocks=self.n_blocks, seed=seed)
        return whole.on_rows(matrix)


def _share(projected: float, cost: float, total: float) -> float:
    """Return by what share a cost on projected rows is another than on the rows themselves."""
    # A consensus without cost has no share to compare.
    return abs(projected - cost) / cost if cost > 1e-9 * total else 0.0


@dataclass(frozen=True)
class NormalisedCut:
    """Weighted k-means on the rows b(x) / w(x): a constant plus the normalised cut."""

    points: Points
    column_weight: np.ndarray  # (D,) weight of each cluster
    blocks: np.ndarray  # (D,) partition of each cluster
    degree: np.ndarray  # (n,) row sums of S
    sampled: np.ndarray | None  # (n, r) which partition sampled the point, when blockwise

    @classmethod
    def of(cls, ensemble: Ensemble, column: np.ndarray, *, blockwise: bool) -> NormalisedCut:
        """Return the objective of an ensemble whose columns of B have some weights."""
        rows = RowSpace.of(ensemble)
        sampled = None
        if blockwise and not ensemble.is_complete:
            sampled = (ensemble.labels != UNSAMPLED).astype(np.float64)
        sizes = ensemble.cluster_sizes()
        return cls.of_rows(rows, column, sizes, weight=ensemble.sample_weight, sampled=sampled)

    @classmethod
    def of_rows(
        cls,
        rows: RowSpace,
        column: np.ndarray,
        sizes: np.ndarray,
        *,
        weight: np.ndarray,
        sampled: np.ndarray | None = None,
    ) -> NormalisedCut:
        """Return the objective of rows of an ensemble whose clusters have some sizes."""
        membership = rows.membership
        degree = rows.product((column * sizes)[:, None]).ravel()
        if membership is None:
            squares = rows.product(column[:, None]).ravel()
        else:
            squares = np.asarray(membership.multiply(membership) @ column)
        # Partitions of weight zero alone leave a point without similarity to anybody.
        inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
        length = squares * inverse**2
        points = Points(rows, weight, weight * degree, 2.0 * inverse, length, length)
        counts = np.diff(rows.offsets)
        blocks = np.repeat(np.arange(counts.size), counts)
        return cls(points, column, blocks, degree, sampled)

    def on_rows(self, matrix: np.ndarray, unit: float | None = None) -> NormalisedCut:
        """Return the objective on other rows ``matrix`` in place of those of B.

        They are divided by w(x) here, and measured in units in which their mean is near one, where
        single precision loses least.
        """
        unit = float(self.degree.mean()) if unit is None else unit
        inverse = np.divide(
            unit, self.degree, out=np.zeros_like(self.degree), where=self.degree > 0
        )
        rows = matrix * inverse[:, None].astype(np.float32)
        mass = self.points.mass / unit**2
        length = np.einsum("ij,ij->i", rows, rows).astype(np.float64)
        scale = np.full(len(rows), 2.0)
        points = Points(DenseRows(rows), mass, mass, scale, length, length, rounding=1e-5)
        width = rows.shape[1]
        return NormalisedCut(points, np.ones(width), np.zeros(width, int), self.degree, None)

    def subset(self, points: np.ndarray) -> Self:
        """Return the objective on some of the points."""
        return replace(
            self,
            points=self.points.subset(points),
            degree=self.degree[points],
            sampled=None if self.sampled is None else self.sampled[points],
        )

    def relaxed(self, n_clusters: int, seed: SeedSequence, points: np.ndarray) -> np.ndarray:
        """Return groups of some points by the eigenvectors of their normalised cut."""
        part = self.points.subset(points)
        assert isinstance(part.rows, RowSpace)
        found = bipartite_spectrum(
            part.rows, n_clusters, column_weight=self.column_weight, sample_weight=part.weight
        )
        degree = part.rows.product(found.column_degree[:, None]).ravel()
        rows = found.rows(part.rows, unit=False)
        mass = part.weight * degree
        k = min(n_clusters, len(points))
        return kmeans(rows, k, n_init=_GUESS_STARTS, sample_weight=mass, seed=seed).labels

    def group_mass(self, totals: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """Return the mass of each group; blockwise, of its points that a partition sampled."""
        k = totals.shape[1]
        if self.sampled is None:
            return np.bincount(groups, weights=self.points.mass, minlength=k)
        entries = (self.points.mass, (np.arange(groups.size), groups))
        member = sparse.csr_matrix(entries, shape=(groups.size, k))
        return np.asarray((member.T @ self.sampled).T)

    def _means(self, totals: np.ndarray, group_mass: np.ndarray) -> np.ndarray:
        mass = group_mass if group_mass.ndim == 1 else group_mass[self.blocks]
        return np.divide(totals, mass, out=np.zeros_like(totals), where=mass > 0)

    def energy(self, totals: np.ndarray, group_mass: np.ndarray) -> np.ndarray:
        """Return mass times squared norm of each group's mean."""
        return self.column_weight @ (totals * self._means(totals, group_mass))

    def centroids(self, totals: np.ndarray, group_mass: np.ndarray, rng: Generator) -> Centroids:
        """Return the groups' means, and their squared norms (blockwise: one per block)."""
        means = self._means(totals, group_mass)
        table = self.column_weight[:, None] * means
        squares = table * means
        if group_mass.ndim == 1:
            return Centroids(table, np.where(group_mass > 0, squares.sum(axis=0), np.inf))
        norms = np.zeros_like(group_mass)
        np.add.at(norms, self.blocks, squares)
        return Centroids(table, np.where((group_mass > 0).any(axis=0), norms, np.inf))

    def assign(self, centroids: Centroids, groups: np.ndarray) -> tuple[int, np.ndarray]:
        """Move every row to its nearest centroid, in place; return the moves and the scores."""
        table, norms, scale = centroids.table, centroids.norms, self.points.scale
        if norms.ndim == 1:
            return self.points.rows.assign(table, norms, scale=scale, groups=groups)
        # Blockwise: norms come per block, and only the blocks where a point was sampled count.
        assert self.sampled is not None
        assert isinstance(self.points.rows, RowSpace)
        empty = np.isinf(norms).any(axis=0)
        scores = self.sampled @ np.where(empty, 0.0, norms)
        scores -= scale[:, None] * self.points.rows.product(table)
        scores[:, empty] = np.inf
        best = scores.argmin(axis=1).astype(groups.dtype)
        moved = int((best != groups).sum())
        groups[:] = best
        return moved, scores[np.arange(len(best)), best]

    def cost(self, groups: np.ndarray, n_clusters: int) -> float:
        """Return the cost of a grouping."""
        points = self.points
        energy = self.energy(*_row_kmeans.sums(self, groups, n_clusters))
        return float(points.mass @ points.base - energy.sum())


@dataclass(frozen=True)
class _CutRows:
    """Makes the objective of any rows of labels."""

    offsets: np.ndarray
    column: np.ndarray
    sizes: np.ndarray
    unit: float
    blockwise: bool
    projection: Any = None

    def of(self, labels: np.ndarray) -> NormalisedCut:
        """Return the objective on some rows."""
        rows = RowSpace(labels, self.offsets)
        sampled = (labels != UNSAMPLED).astype(np.float64) if self.blockwise else None
        ones = np.ones(len(labels))
        whole = NormalisedCut.of_rows(rows, self.column, self.sizes, weight=ones, sampled=sampled)
        if self.projection is None:
            return whole
        scale = np.sqrt(self.column)
        matrix = self.projection.project_labels(labels, self.offsets, column_scale=scale)
        return whole.on_rows(matrix, self.unit)


def _mixed_rows(
    ensemble: Ensemble, whole: NormalisedCut, n_dims: int, *, n_blocks: int, seed: SeedSequence
) -> np.ndarray:
    """Return B R with a sparse random R: SECRP."""
    projection = sparse_projection(len(whole.column_weight), n_dims, n_blocks=n_blocks, seed=seed)
    scale = np.sqrt(whole.column_weight)
    if ensemble.is_soft:
        matrix = ensemble.membership().matrix @ sparse.diags(scale)
        return projection.project(matrix).astype(np.float32)
    return projection.project_labels(ensemble.labels, ensemble.offsets, column_scale=scale)


def _leading_rows(
    ensemble: Ensemble, whole: NormalisedCut, n_dims: int, seed: SeedSequence
) -> np.ndarray:
    """Return B V, with V the leading right singular vectors of B weighted as in the k-means."""
    operator = ensemble.coassociation(normalize="counts")
    operator.column_weights = whole.column_weight
    found = coassociation_spectrum(
        operator,
        n_dims,
        sample_weight=ensemble.sample_weight,
        seed=kernel_seed(seed) % 2**32,
    )
    # The spectrum is that of diag(sqrt(s / w)) B, whose left vectors times values are its B V.
    back = np.sqrt(whole.degree / ensemble.sample_weight)
    sizes = np.sqrt(np.maximum(found.values, 0.0))
    return (found.vectors * sizes * back[:, None]).astype(np.float32)
