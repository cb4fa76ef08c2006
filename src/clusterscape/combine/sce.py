"""LSCE and NSCE: simultaneous clustering and ensemble, from partitions and features together."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.params import Choice, Flag, Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, kernel_seed, spawn
from clusterscape.combine.base import BaseConsensus, Combined, ConsensusWarning
from clusterscape.combine.eci import WEIGHTING, Weighting, weighted_counts
from clusterscape.combine.registry import consensus_method
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.affinity import RULES, Affinity, Kind, Scale, affinity
from clusterscape.linalg.coassociation import Coassociation
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.embedding import LaplacianInverse, laplacian_quotient, unit_rows
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.operators import (
    combination,
    normalized_laplacian,
    scaled,
    symmetric_operator,
)

Seeds = tuple[SeedSequence, int]
Embedded = tuple[np.ndarray, dict[str, Any]]

_DENSE_BELOW = 600  # points up to which NSCE decomposes the dense Laplacian

FEATURE_RULES: Rules = {
    "n_clusters": [Integer(1)],
    "affinity": RULES["kind"],
    "neighbors": RULES["neighbors"],
    "landmarks": RULES["landmarks"],
    "scale": RULES["scale"],
    "row_normalize": [Flag()],
    "n_init": [Integer(1)],
    "max_gb": RULES["max_gb"],
    **WEIGHTING,
    "random_state": [Seed()],
}


class FeatureConsensus(BaseConsensus):
    """A consensus that reads the features too: eigenvectors of both, then k-means."""

    _features: ClassVar[Literal["none", "used", "needed"]] = "needed"

    n_clusters: int
    affinity: Kind
    neighbors: int | None
    landmarks: int | None
    scale: Scale
    row_normalize: bool
    n_init: int
    max_gb: float
    weighting: Weighting
    theta: float
    random_state: RandomState

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        sampling, starting, dividing = spawn(self.random_state, 3)
        seeds = (sampling, kernel_seed(starting) % 2**32)
        weight = ensemble.sample_weight
        if (weight != np.rint(weight)).any():
            # Copies of a point are linked to each other, so less than one copy has no meaning.
            ensemble = ensemble.with_weights(sample_weight=weight / weight.min())
        vectors, details = self._embed(ensemble, features, seeds)
        weight = ensemble.sample_weight
        # The operators are written for vectors of unit length; on the copies they are these.
        rows = vectors / np.sqrt(weight)[:, None]
        if self.row_normalize:
            rows = unit_rows(rows)
        found = kmeans(
            rows, self.n_clusters, n_init=self.n_init, sample_weight=weight, seed=dividing
        )
        return Combined(found.labels, details={**details, "embedding_": rows})

    def _affinity(self, features: Any, seed: SeedSequence) -> Affinity:
        return affinity(
            features,
            kind=self.affinity,
            neighbors=self.neighbors,
            landmarks=self.landmarks,
            scale=self.scale,
            max_gb=self.max_gb,
            seed=seed,
        )

    def _embed(self, ensemble: Ensemble, features: Any, seeds: Seeds) -> Embedded:
        raise NotImplementedError


@consensus_method("lsce", cost="n (r + neighbours) per product", memory="n^2 for a dense affinity")
class LSCE(FeatureConsensus):
    """Simultaneous clustering and ensemble, linear form: features' Laplacian minus co-association.

    The objective adds the category utility of the partitions and the normalised cut of the
    features: ``min tr H^T (alpha L - S) H``, with L the normalised Laplacian of an affinity of the
    features and S the counts of the partitions that put two points together. H holds the
    eigenvectors of the K smallest eigenvalues, found with products only; k-means on its rows gives
    the clusters.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    alpha : float
        Weight of the features.
    affinity : {"auto", "rbf", "cosine"}
        Affinity of the features: see :func:`clusterscape.linalg.affinity.affinity`. "auto" is the
        cosine for sparse features (counts of words) and a Gaussian for dense ones.
    neighbors, landmarks : int, optional
        Use a graph of nearest neighbours, or landmarks, instead of all pairs.
    scale : {"median", "local"} or float
        Bandwidth of the Gaussian.
    scale_s : {None, "n", "r"}
        What S is divided by: nothing, the weight of the points, or the weight of the partitions.
        Nothing is the paper's equation (6). Equation (4), which it comes from, is ``"n"``: the
        category utility is the mean over points, so (6) weighs the features n times less.
    row_normalize : bool
        Scale rows of H to unit length before k-means. The paper does not say; more of its sets
        are met with it than without, which is why it is the default.
    n_init : int
        Starts of k-means.
    max_gb : float
        Refuse a dense affinity larger than this.
    weighting, theta
        As in :class:`SEC`: with "eci" unreliable clusters count less in S.
    random_state : int, generator or None
        Seed of the eigen-solver and of k-means.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    eigenvalues_ : (K,) array
        The K smallest eigenvalues of alpha L - S.
    residual_ : float
        Largest norm of ``(alpha L - S) h - value h`` over the columns of H.
    embedding_ : (m, K) array
        What k-means saw: the rows of H, of the points that are in some cluster.
    affinity_ : str
        The affinity in words.

    See Also
    --------
    NSCE : The ratio of the two terms, without a parameter.
    IKL : Attributes and relations in one relaxation.
    SpectralConsensus : The co-association alone.

    Notes
    -----
    Rows of the points in no cluster of a partition are zero in its part of S, so unsampled points
    follow their features more. Points with weights count as that many copies, exactly so for
    integer weights and all pairs of a given bandwidth; other weights count in units of the least.
    With the default ``scale_s`` the result hardly moves for alpha up to 100: the features only
    break ties. Raise alpha, or set ``scale_s="r"``, when the features deserve more. Like all
    spectral forms it favours clusters of similar size.

    References
    ----------
    .. [1] Z. Tao, H. Liu and Y. Fu, "Simultaneous clustering and ensemble", AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import LSCE
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])
    >>> LSCE(2, random_state=0).fit_predict(runs, features=X)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Tao, Liu and Fu 2017"
    _parameter_rules: ClassVar[Rules] = {
        **FEATURE_RULES,
        "alpha": [Number(0)],
        "scale_s": [Null(), Choice("n", "r")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        alpha: float = 1.0,
        affinity: Kind = "auto",
        neighbors: int | None = None,
        landmarks: int | None = None,
        scale: Scale = "median",
        scale_s: Literal["n", "r"] | None = None,
        row_normalize: bool = True,
        n_init: int = 10,
        max_gb: float = 4.0,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.alpha = alpha
        self.affinity = affinity
        self.neighbors = neighbors
        self.landmarks = landmarks
        self.scale = scale
        self.scale_s = scale_s
        self.row_normalize = row_normalize
        self.n_init = n_init
        self.max_gb = max_gb
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _embed(self, ensemble: Ensemble, features: Any, seeds: Seeds) -> Embedded:
        graph = self._affinity(features, seeds[0])
        weight = ensemble.sample_weight
        totals = {"n": weight.sum(), "r": ensemble.weights.sum()}
        share = 1.0 / totals[self.scale_s] if self.scale_s else 1.0
        # Divided by the larger factor, so that tolerances mean the same for every alpha.
        unit = max(self.alpha, share)
        L = normalized_laplacian(graph.weighted(weight), weight)
        counts = weighted_counts(ensemble, self.weighting, self.theta)
        S = scaled(counts, np.sqrt(weight))
        objective = combination(L, S, shares=(self.alpha / unit, -share / unit))
        found = symmetric_eigen(objective, self.n_clusters, which="smallest", seed=seeds[1])
        details = {
            "eigenvalues_": found.values * unit,
            "residual_": found.residual * unit,
            "affinity_": graph.words,
        }
        return found.vectors, details


@consensus_method("nsce", cost="one solve with L per product", memory="n^2 for a dense affinity")
class NSCE(FeatureConsensus):
    """Simultaneous clustering and ensemble, quotient form: features' Laplacian and co-association.

    The ratio of the two terms of :class:`LSCE` instead of their sum: H holds the eigenvectors of
    the K largest eigenvalues of ``L^+ S``. They come from the symmetric matrix ``B^T L^+ B`` of
    the ensemble's clusters, for which only systems with L are solved.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    affinity : {"auto", "rbf", "cosine"}
        Affinity of the features: see :func:`clusterscape.linalg.affinity.affinity`. "auto" is the
        cosine for sparse features (counts of words) and a Gaussian for dense ones.
    neighbors, landmarks : int, optional
        Use a graph of nearest neighbours, or landmarks, instead of all pairs.
    scale : {"median", "local"} or float
        Bandwidth of the Gaussian.
    columns : {"unit", "raw"}
        Length of the columns of H, which are not orthogonal: unit (our choice; the paper prints
        none), or such that ``H^T L H`` is the identity, where a small bandwidth lets few points
        rule.
    weak_columns : {"replace", "keep"}
        What becomes of eigenvectors h whose ``h^T S h`` is less than half that of a random
        direction. "keep" is equation (9) of the paper as printed. "replace" takes the directions
        of the null space of L that the partitions support most instead, see Notes.
    row_normalize : bool
        Scale rows of H to unit length before k-means. The paper does not say; more of its sets
        are met with it than without, which is why it is the default.
    solver : {"auto", "dense", "solves"}
        "dense" decomposes the n x n Laplacian, "solves" uses conjugate gradients; "auto" is dense
        up to 600 points.
    n_init : int
        Starts of k-means.
    max_gb : float
        Refuse a dense affinity larger than this.
    weighting, theta
        As in :class:`SEC`: with "eci" unreliable clusters count less in S.
    random_state : int, generator or None
        Seed of the eigen-solver and of k-means.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    eigenvalues_ : array
        The largest eigenvalues of L^+ S that are not zero, K at most; with
        ``weak_columns="replace"`` without those of the vectors that were replaced.
    residual_ : float
        Largest norm of ``L^+ S h - value h`` over the columns h of H, of unit length, as a share
        of the largest value.
    solver_ : str
        "dense" or "solves".
    embedding_ : (m, K) array
        What k-means saw: the rows of H, of the points that are in some cluster.
    affinity_ : str
        The affinity in words.

    See Also
    --------
    LSCE : The sum of the two terms, with a weight.
    clusterscape.linalg.laplacian_quotient : The eigenproblem.

    Notes
    -----
    The null space of L, one direction for each piece of the affinity graph, never appears in
    L^+ S. Where the partitions agree, combinations of their clusters come close to it, and the last
    columns of H in equation (9) are the small rest that L^+ leaves of them, which unit length would
    blow up. ``weak_columns="replace"`` drops such columns and adds the directions of the null space
    that the partitions support most: they are the limit of eigenvectors whose value grows without
    bound. This is not in the paper. On random small ensembles it changes about one case in eight;
    ``benchmarks/papers/sce.py`` has both (NSCE and NSCE-eq9). A warning tells of a graph in several
    pieces.
    A graph that barely holds together (few neighbours, a small bandwidth) has a huge L^+, whose
    first vectors follow the bottlenecks and not the partitions. Points with weights count as that
    many copies, exactly so for integer weights and all pairs of a given bandwidth; other weights
    count in units of the least.

    References
    ----------
    .. [1] Z. Tao, H. Liu and Y. Fu, "Simultaneous clustering and ensemble", AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import NSCE
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])
    >>> NSCE(2, random_state=0).fit_predict(runs, features=X)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Tao, Liu and Fu 2017"
    _parameter_rules: ClassVar[Rules] = {
        **FEATURE_RULES,
        "columns": [Choice("unit", "raw")],
        "weak_columns": [Choice("replace", "keep")],
        "solver": [Choice("auto", "dense", "solves")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        affinity: Kind = "auto",
        neighbors: int | None = None,
        landmarks: int | None = None,
        scale: Scale = "median",
        columns: Literal["unit", "raw"] = "unit",
        weak_columns: Literal["replace", "keep"] = "replace",
        row_normalize: bool = True,
        solver: Literal["auto", "dense", "solves"] = "auto",
        n_init: int = 10,
        max_gb: float = 4.0,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.neighbors = neighbors
        self.landmarks = landmarks
        self.scale = scale
        self.columns = columns
        self.weak_columns = weak_columns
        self.row_normalize = row_normalize
        self.solver = solver
        self.n_init = n_init
        self.max_gb = max_gb
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _embed(self, ensemble: Ensemble, features: Any, seeds: Seeds) -> Embedded:
        graph = self._affinity(features, seeds[0])
        weight = ensemble.sample_weight
        inverse = LaplacianInverse(
            graph, weights=weight, n_vectors=self.n_clusters + 10, seed=seeds[1]
        )
        if inverse.n_pieces > 1:
            warnings.warn(
                f"NSCE: the affinity graph ({graph.words}) has {inverse.n_pieces} pieces that "
                "nothing links, and L^+ S does not separate whole pieces; use more neighbors or "
                "a larger scale, or LSCE.",
                ConsensusWarning,
                stacklevel=4,
            )
        dense = weight.size <= _DENSE_BELOW if self.solver == "auto" else self.solver == "dense"
        counts = weighted_counts(ensemble, self.weighting, self.theta)
        found = laplacian_quotient(
            inverse,
            counts,
            self.n_clusters,
            weights=weight,
            solver="dense" if dense else "solves",
            seed=seeds[1],
        )
        replace = self.weak_columns == "replace"
        keep = _supported(counts, weight, found.vectors) if replace else slice(None)
        H = found.vectors[:, keep]
        if self.columns == "unit":
            H = H / np.linalg.norm(H, axis=0)
        missing = self.n_clusters - H.shape[1]
        if replace and missing > 0:
            # The null space separates points that the remaining columns do not.
            H = np.hstack([H, _left_out(counts, inverse, missing, weight=weight, seed=seeds[1])])
        details = {
            "eigenvalues_": found.values[keep],
            "residual_": found.residual,
            "solver_": found.solver,
            "affinity_": graph.words,
        }
        # All eigenvalues may be zero, and then nothing distinguishes the points.
        return H if H.shape[1] else np.zeros((weight.size, 1)), details


def _left_out(
    counts: Coassociation,
    inverse: LaplacianInverse,
    wanted: int,
    *,
    weight: np.ndarray,
    seed: int,
) -> np.ndarray:
    """Return the directions of the null space of L with the most energy h^T S h."""
    root = np.sqrt(weight)[:, None]

    def product(block: np.ndarray) -> np.ndarray:
        return inverse.null.T @ (root * (counts @ (root * (inverse.null @ block))))

    size = inverse.null.shape[1]
    if size == 0:
        return np.zeros((root.size, 0))
    found = symmetric_eigen(symmetric_operator(size, product), wanted, seed=seed)
    return np.asarray(inverse.null @ found.vectors)


def _supported(counts: Coassociation, weight: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Say which columns have at least half of the energy h^T S h of a random direction.

    The null space of L is nearly a combination of clusters where the partitions agree, and what is
    left of that combination is a vector of rounding, which unit length would blow up.
    """
    table = counts.collect(np.ascontiguousarray(np.sqrt(weight)[:, None] * H))
    energy = counts.column_weights @ table**2 / (H**2).sum(axis=0)
    return energy > 0.5 * float(weight @ counts.diagonal()) / weight.sum()
