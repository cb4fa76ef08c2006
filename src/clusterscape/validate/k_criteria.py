"""What a number of clusters can be judged by, each a column of the table of ``select_k``.

A criterion is one function of the cuts of an ensemble into every candidate number of clusters, and
one entry of :data:`K_CRITERIA`; ``select_k``, its table and the docs read them from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    pairwise_distances,
    silhouette_score,
)

from clusterscape.ensemble import Ensemble
from clusterscape.linalg.dunn_owa import neighbor_edges
from clusterscape.validate.affinity import Affinity
from clusterscape.validate.decomposability import near_decomposability

_INDEX_POINTS = 1_000  # for the silhouette
_PAIRS = 20_000  # of points, whose agreement is sampled
_TREE_POINTS = 200  # for the cophenetic correlation
_LOW, _HIGH = 0.1, 0.9  # a pair between these is ambiguous


@dataclass(frozen=True)
class Cuts:
    """The cuts of one ensemble into every candidate number of clusters.

    Attributes
    ----------
    ks : (m,) array
        Candidates.
    labels : list of (n,) arrays
        Cut of all partitions for each candidate.
    halves : list of lists of (n,) arrays
        The same of random halves of the partitions.
    ensemble : Ensemble
        The partitions.
    X : (n, d) array, sparse matrix or None
        Features of the points, which are a random sample where there are many.
    metric : {"euclidean", "cosine"}
        Distance of the features.
    seed : SeedSequence
        For criteria that sample.
    """

    ks: np.ndarray
    labels: list[np.ndarray]
    halves: list[list[np.ndarray]]
    ensemble: Ensemble
    X: Any
    metric: Any
    seed: SeedSequence

    @cached_property
    def together(self) -> np.ndarray:
        """For every candidate, the shares of the halves that put sampled pairs together."""
        n = len(self.labels[0])
        rng = np.random.default_rng(self.seed.spawn(1)[0])
        first, second = np.triu_indices(n, 1) if n * (n - 1) <= 2 * _PAIRS else (
            rng.integers(0, n, size=(2, _PAIRS)))  # fmt: skip
        first, second = first[first != second], second[first != second]
        shares = [
            np.mean([cut[j][first] == cut[j][second] for cut in self.halves], axis=0)
            for j in range(len(self.ks))
        ]
        return np.array(shares)

    @cached_property
    def distances(self) -> np.ndarray:
        """Distances of the first points, which are a random sample."""
        found = pairwise_distances(self.X[:_INDEX_POINTS], metric=self.metric)
        np.fill_diagonal(found, 0.0)
        return found


@dataclass(frozen=True)
class KCriterion:
    """A criterion of the number of clusters.

    Attributes
    ----------
    name : str
        Column of the table.
    measure : callable
        ``measure(cuts)`` returns one value per candidate, NaN where it is not defined.
    larger : bool or None
        Whether larger values are better; None where it must be read as a curve.
    words : str
        What it is, in one line.
    needs : {"", "features", "dense", "halves"}
        What it is measured on, beside the cuts.
    """

    name: str
    measure: Callable[[Cuts], np.ndarray]
    larger: bool | None
    words: str
    needs: str = ""

    def applies(self, cuts: Cuts) -> bool:
        """Return whether there is what the criterion needs."""
        if self.needs == "halves":
            return len(cuts.halves) > 1
        if self.needs == "dense":
            return cuts.X is not None and not sparse.issparse(cuts.X)
        return self.needs == "" or cuts.X is not None


def _smallest(cuts: Cuts) -> np.ndarray:
    sizes = [np.bincount(cut) for cut in cuts.labels]
    return np.array([s[s > 0].min() for s in sizes], dtype=float)


def _per_cut(cuts: Cuts, measure: Callable[[np.ndarray], float], limit: int) -> np.ndarray:
    """Return a measure of every cut with more than one cluster and fewer than ``limit``."""
    counts = [np.unique(cut[:limit]).size for cut in cuts.labels]
    found = [
        measure(cut) if 1 < count < min(limit, len(cut)) else np.nan
        for cut, count in zip(cuts.labels, counts, strict=True)
    ]
    return np.array(found, dtype=float)


def _silhouette(cuts: Cuts) -> np.ndarray:
    return _per_cut(
        cuts,
        lambda cut: silhouette_score(cuts.distances, cut[:_INDEX_POINTS], metric="precomputed"),
        _INDEX_POINTS,
    )


def _calinski_harabasz(cuts: Cuts) -> np.ndarray:
    X = np.asarray(cuts.X)
    return _per_cut(cuts, lambda cut: calinski_harabasz_score(X, cut), len(X))


def _davies_bouldin(cuts: Cuts) -> np.ndarray:
    X = np.asarray(cuts.X)
    return _per_cut(cuts, lambda cut: davies_bouldin_score(X, cut), len(X))


def _dunn_owa(cuts: Cuts) -> np.ndarray:
    n = len(cuts.labels[0])
    edges = neighbor_edges(cuts.X, n_neighbors=min(25, n - 1), metric=cuts.metric)
    return np.array([edges.dunn_owa(cut, smallest=max(1, n // 100)) for cut in cuts.labels])


def _gap(cuts: Cuts) -> np.ndarray:
    """Return minus the logarithm of the sums of squares; its references are taken off it later."""
    X = np.asarray(cuts.X, dtype=np.float64)
    found = []
    for cut in cuts.labels:
        codes = np.unique(cut, return_inverse=True)[1]
        sizes = np.bincount(codes)
        member = sparse.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))
        means = (member @ X) / sizes[:, None]
        found.append(-np.log(max(float(((X - means[codes]) ** 2).sum()), 1e-300)))
    return np.array(found)


def _aggregate_stability(cuts: Cuts) -> np.ndarray:
    seeds = cuts.seed.spawn(2)[1]
    X = np.asarray(cuts.X)

    def mean_stability(cut: np.ndarray) -> float:
        return Affinity(random_state=seeds).fit(X, cut).aggregate_stability_

    return _per_cut(cuts, mean_stability, len(X))


def _zeta(cuts: Cuts) -> np.ndarray:
    return np.array([near_decomposability(cuts.ensemble, cut).median for cut in cuts.labels])


def _pac(cuts: Cuts) -> np.ndarray:
    return ((cuts.together > _LOW) & (cuts.together < _HIGH)).mean(axis=1)


def _cdf_area(cuts: Cuts) -> np.ndarray:
    """Return the area under the distribution of values in [0, 1], which is one minus their mean."""
    return 1.0 - cuts.together.mean(axis=1)


def _delta_area(cuts: Cuts) -> np.ndarray:
    area = _cdf_area(cuts)
    before = np.concatenate([[0.0], area[:-1]])
    return np.divide(area - before, before, out=area.copy(), where=before > 0)


def _cophenetic(cuts: Cuts) -> np.ndarray:
    found = []
    for j in range(len(cuts.ks)):
        some = [cut[j][:_TREE_POINTS] for cut in cuts.halves]
        apart = 1.0 - np.mean([a[:, None] == a for a in some], axis=0)
        condensed = squareform(apart, checks=False)
        if condensed.std() < 1e-12:
            found.append(np.nan)
            continue
        found.append(float(cophenet(linkage(condensed, "average"), condensed)[0]))
    return np.array(found)


K_CRITERIA: dict[str, KCriterion] = {
    entry.name: entry
    for entry in (
        KCriterion("smallest", _smallest, None, "points of the smallest cluster"),
        KCriterion(
            "aggregate_stability", _aggregate_stability, True,
            "mean share of its cell that a point takes from its own cluster", "dense",
        ),
        KCriterion(
            "pac", _pac, False,
            "share of pairs that 10 to 90 % of the halves put together", "halves",
        ),
        KCriterion(
            "cdf_area", _cdf_area, None, "area under the distribution of these shares", "halves"
        ),
        KCriterion(
            "delta_area", _delta_area, None,
            "by how much the area grew, relative to the candidate before", "halves",
        ),
        KCriterion(
            "cophenetic", _cophenetic, True,
            "correlation of these shares with the heights of their average linkage", "halves",
        ),
        KCriterion(
            "zeta", _zeta, False, "largest co-association with other clusters, of the largest total"
        ),
        KCriterion("silhouette", _silhouette, True, "mean silhouette width", "features"),
        KCriterion(
            "calinski_harabasz", _calinski_harabasz, True, "variance between over within clusters",
            "dense",
        ),
        KCriterion(
            "davies_bouldin", _davies_bouldin, False, "mean similarity to the most similar cluster",
            "dense",
        ),
        KCriterion(
            "dunn_owa", _dunn_owa, True,
            "distance of the nearest points of different clusters (near-neighbour index)",
            "features",
        ),
        KCriterion(
            "gap", _gap, True, "log sum of squares below that of the references (gap statistic)",
            "dense",
        ),
    )
}  # fmt: skip
