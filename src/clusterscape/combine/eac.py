"""EAC: hierarchical clustering of the points under one minus their co-association."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import squareform

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError, ParameterError
from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import Choice, Flag, Integer, Null, Number, Rules, Such, checked
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import (
    WEIGHTING,
    Weighting,
    column_weights,
    with_weighted_columns,
)
from clusterscape.combine.registry import consensus_method
from clusterscape.compare import MEASURES
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.linalg.genie import genie
from clusterscape.linalg.graphcut import whole_numbers
from clusterscape.linalg.mst import SpanningTree, spanning_tree

_METHODS = {"single": 0, "average": 1, "complete": 2}
# Sizes of Genie are whole, and it holds 24 bytes for each unit of their sum.
_FRACTION_MASS, _MOST_MASS = 4e6, 1e8

Linkage = Literal["average", "single", "complete", "genie"]


@consensus_method("eac", cost="m^2 r", memory="m^2 (single linkage: n r)")
class EAC(BaseConsensus):
    """Evidence accumulation: linkage of the co-association.

    The dissimilarity of two points is one minus their co-association (co-occurrences over
    co-samplings); a linkage of it is cut at a number of clusters, at a similarity threshold, or
    where the dendrogram has its longest-lived partition. With ``weighting="eci"`` a co-occurrence
    counts the reliability of the cluster that the two points share.

    Parameters
    ----------
    n_clusters : int, optional
        Cut into this many clusters.
    linkage : {"average", "single", "complete", "genie"}
        The 2005 and the 2002 papers use average and single linkage. "genie" is single linkage that
        takes up the smallest clusters first while sizes are very unequal; it needs ``n_clusters``.
    gini : float
        Threshold of "genie": the Gini index of the cluster sizes above which a smallest cluster
        must take part in the next merge. 1 is single linkage. Read with "genie" only.
    threshold : float, optional
        Cut the linkage at this similarity, equal included. With single linkage the clusters are
        the components of the graph that links pairs with co-association >= threshold, which is
        the rule of 2002. Give this or ``n_clusters``; with neither, the partition with the longest
        lifetime is taken.
    include_one : bool
        Let a single cluster compete in the lifetime rule.
    weighting, theta
        As in :class:`SEC`. With "eci" the similarities are those of :class:`LWEA`: below 1 even for
        points that are always together, so thresholds must be lower. Only a threshold or a
        lifetime separates such points, ``n_clusters`` never does.
    max_gb : float
        Refuse when the distances would take more memory than this.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    heights_ : array
        Merge heights in ascending order, one less than there are points in a cluster; for points
        with equal rows 0, or with ``weighting`` one minus their similarity. With "genie" in the
        order of the merges, which need not ascend; those of equal rows are first.
    n_micro_clusters_ : int
        Distinct rows among the points; linkage works on these, which is exact. With ``weighting``
        it is exact for complete ensembles and single linkage; otherwise a point may be more similar
        to others than to those with its own row, which are merged first all the same.
    precision_ : str
        Floating-point type of the distances: "float64" up to 5,000 distinct rows, "float32" above.

    See Also
    --------
    LWEA : Average linkage of the locally weighted co-association.
    MajorityVote : Single linkage cut just above one half, without a matrix.
    eac_oracle : The threshold that fits known classes best.
    clusterscape.combine.RandomProjectionEnsemble : The same linkage on projected features.

    Notes
    -----
    Points with the same labels everywhere are merged first, so cost and memory grow with the square
    of the number of distinct rows (single linkage and Genie on hard partitions need no matrix at
    all). On overlapping clusters single linkage chains everything into one cluster. Genie starts
    from the distinct rows as clusters of so many points; weights of points that are not whole are
    rounded for its sizes.

    References
    ----------
    .. [1] A. L. N. Fred and A. K. Jain, "Data clustering using evidence accumulation",
       International Conference on Pattern Recognition, 276-280, 2002. doi:10.1109/ICPR.2002.1047450
    .. [2] A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence
       accumulation", IEEE Transactions on Pattern Analysis and Machine Intelligence 27, 835-850,
       2005. doi:10.1109/TPAMI.2005.113
    .. [3] M. Gagolewski, M. Bartoszuk and A. Cena, "Genie: a new, fast, and outlier-resistant
       hierarchical clustering algorithm", Information Sciences 363, 8-23, 2016.
       doi:10.1016/j.ins.2016.05.003

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import EAC
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    >>> EAC(linkage="single", threshold=0.5).fit_predict(runs)
    array([0, 0, 0, 1, 1])
    """

    _source: ClassVar[str] = "Fred and Jain 2002, 2005"
    _distinct = "noise"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "linkage": [Choice(*_METHODS, "genie")],
        "gini": [Number(0, 1)],
        "threshold": [Null(), Number(0, 1)],
        "include_one": [Flag()],
        **WEIGHTING,
        "max_gb": [Number(0, open_low=True)],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: Linkage = "average",
        gini: float = 0.3,
        threshold: float | None = None,
        include_one: bool = False,
        weighting: Weighting = None,
        theta: float = 0.4,
        max_gb: float = 4.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.gini = gini
        self.threshold = threshold
        self.include_one = include_one
        self.weighting = weighting
        self.theta = theta
        self.max_gb = max_gb

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        if self.n_clusters is not None and self.threshold is not None:
            raise ParameterError(
                "give {n_clusters} or {threshold}, not both: each alone says where the dendrogram "
                "is cut.",
                n_clusters=self.n_clusters,
                threshold=self.threshold,
            )
        if self.linkage == "genie" and self.n_clusters is None:
            raise ValueError(
                "linkage='genie' needs n_clusters: its merges do not ascend in height, so neither "
                "a threshold nor a lifetime says where to cut; give n_clusters, or use "
                "linkage='average'."
            )
        small, inverse = ensemble.compress(keep_noise_apart=True)
        column = None
        if self.weighting is not None:
            column = column_weights(ensemble, self.weighting, self.theta)
        pairs, heights, precision = self._tree(small, column)
        order = np.argsort(heights, kind="stable")
        pairs, heights = pairs[order], np.maximum(heights[order], 0.0)
        own = _own_heights(small, column, pairs, heights)
        duplicates = np.sort(np.repeat(own, np.bincount(inverse) - 1))
        if self.linkage == "genie":
            grown = genie(
                SpanningTree(pairs, heights, small.n_points, "prim"),
                gini_threshold=self.gini,
                weights=_whole_sizes(small.sample_weight),
            )
            pairs, heights = grown.pairs, grown.lengths
        merges, level = self._merges(heights, duplicates, precision)
        labels = kernels.linkage.cut(pairs, merges, small.n_points)[inverse]
        apart = own[inverse] > level
        labels[apart] = small.n_points + np.arange(apart.sum())
        heights = np.concatenate([duplicates, heights])
        details = {
            "heights_": heights if self.linkage == "genie" else np.sort(heights),
            "n_micro_clusters_": small.n_points,
            "precision_": precision,
        }
        return Combined(labels, details=details)

    def _parts_copies(self, ensemble: Ensemble, labels: np.ndarray) -> bool:
        # Rows that are alone even from their own copies have numbers beyond those of the rows.
        return bool((ensemble.sample_weight[labels >= ensemble.n_points] > 1).any())

    def _tree(
        self, small: Ensemble, column: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, str]:
        """Return the merges (unsorted), their heights, and the precision of the distances.

        For "genie" the merges are the edges of a minimum spanning tree.
        """
        m = small.n_points
        if m == 1:
            return np.empty((0, 2), dtype=np.int64), np.empty(0), "float64"
        clusters = None if column is None else (small.offsets, column)
        if self.linkage in ("single", "genie") and not small.is_soft:
            columns = np.ascontiguousarray(small.labels.T)
            return *kernels.linkage.spanning_tree(columns, small.weights, clusters), "float64"
        precision = np.float64 if m <= 5_000 else np.float32
        need = m * (m - 1) / 2 * np.dtype(precision).itemsize / 1e9
        need *= 3 if self.linkage == "genie" else 1  # the square matrix of a soft ensemble
        if need > self.max_gb:
            raise MemoryLimitError(
                f"{self.linkage} linkage needs the distances of {m:,} distinct rows, which",
                need,
                self.max_gb,
                remedies=["use SEC, which is linear in the number of points"],
            )
        distances = np.empty(m * (m - 1) // 2, dtype=precision)
        if small.is_soft:
            order = np.arange(m)
            _fill_distances(small, column, distances)
        else:
            order = _alike_together(small)
            columns = np.ascontiguousarray(small.labels[order].T)
            kernels.linkage.condensed_distances(columns, small.weights, distances, clusters)
        if self.linkage == "genie":
            tree = spanning_tree(squareform(distances), metric="precomputed")
            return tree.pairs, tree.lengths, np.dtype(precision).name
        sizes = small.sample_weight[order]
        pairs, heights = kernels.linkage.agglomerate(distances, sizes, _METHODS[self.linkage])
        return order[pairs], heights, np.dtype(precision).name

    def _merges(
        self, heights: np.ndarray, duplicates: np.ndarray, precision: str
    ) -> tuple[int, float]:
        """Return how many of the sorted merges to apply, and up to which height.

        ``duplicates`` are the heights at which equal rows merge, in ascending order.
        """
        m = heights.size + 1
        if self.n_clusters is not None:
            return max(m - self.n_clusters, 0), np.inf
        if self.threshold is not None:
            # Equal counts as linked; the slack is for rounding in sums of weights.
            level = 1.0 - self.threshold + (1e-9 if precision == "float64" else 1e-5)
            return int(np.searchsorted(heights, level, "right")), level
        levels = np.concatenate([duplicates, heights])
        order = np.argsort(levels, kind="stable")
        levels = levels[order]
        gaps = np.diff(np.append(levels, 1.0) if self.include_one else levels)
        if gaps.size == 0:
            return 0, np.inf
        last = int(np.argmax(gaps))
        # Never merge what no partition ever put together.
        together = int(np.searchsorted(heights, 1.0 - 1e-6))
        merges = int((order[: last + 1] >= duplicates.size).sum())
        return min(merges, together), float(levels[last])

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found, as the estimator is set."""
        if self.n_clusters is not None:
            return f"n_clusters={self.n_clusters} of EAC"
        if self.threshold is not None:
            return f"similarity threshold {self.threshold:g} of EAC"
        if self.linkage == "genie":
            return ""
        return "longest lifetime in the dendrogram"


def _own_heights(
    small: Ensemble, column: np.ndarray | None, pairs: np.ndarray, heights: np.ndarray
) -> np.ndarray:
    """Return the height at which the points of each distinct row merge: 0 without weights.

    It is one minus their similarity, and never above the first merge with another row. The rows
    of several points are in one cluster, or unsampled, in every partition.
    """
    own = np.zeros(small.n_points)
    if column is None:
        return own
    sampled = (small.labels != UNSAMPLED) @ small.weights
    shared = small.coassociation().expand(column[:, None]).ravel()
    own = np.maximum(1.0 - shared / sampled, 0.0)
    np.minimum.at(own, pairs.ravel(), np.repeat(heights, 2))
    return own


def _whole_sizes(weight: np.ndarray) -> np.ndarray:
    """Return the weights of the rows as whole numbers >= 1 in nearly the same proportions."""
    most = min(max(_FRACTION_MASS, float(weight.sum())), _MOST_MASS)
    return np.maximum(whole_numbers(weight, most)[0], 1)


def _alike_together(ensemble: Ensemble) -> np.ndarray:
    """Return an order in which rows that merge early are close, so that memory is read in order.

    It is the order of the finest partition, whose clusters stand as they appear: what they are
    called must not decide how ties are broken.
    """
    codes = ensemble.labels[:, int(np.argmax(ensemble.n_clusters))]
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return np.argsort(first[inverse], kind="stable")


def _fill_distances(ensemble: Ensemble, column: np.ndarray | None, distances: np.ndarray) -> None:
    """Write the condensed distances of a soft ensemble, a block of rows at a time."""
    operator = with_weighted_columns(ensemble, column)
    m = ensemble.n_points
    step = max(1, 2**22 // m)
    position = 0
    for start in range(0, m, step):
        for x, row in enumerate(operator.rows(start, min(start + step, m)), start):
            distances[position : position + m - x - 1] = 1.0 - row[x + 1 :]
            position += m - x - 1


@dataclass(frozen=True)
class OracleThreshold:
    """The threshold that agrees best with known classes; see :func:`eac_oracle`.

    Attributes
    ----------
    threshold, score : float
        The best threshold, the first of equals, and its score.
    scores : dict
        The score of every threshold that was tried.
    labels : (n,) array
        The clustering at the best threshold.
    """

    threshold: float
    score: float
    scores: dict[float, float]
    labels: np.ndarray


@checked(
    {
        "thresholds": [
            Such(
                lambda v: np.ndim(v) == 1 and len(v) > 0 and all(Number(0, 1).allows(t) for t in v),
                "a list of numbers in [0, 1]",
                refused=[(), [2.0], 0.5],
            )
        ],
        "metric": [
            Such(
                lambda v: callable(v) or (v in MEASURES if isinstance(v, str) else False),
                "the name of a measure, or a function of the labels and the truth",
                refused=["no such measure", 3],
            )
        ],
        "linkage": [Choice(*_METHODS)],
    }
)
def eac_oracle(
    ensemble: Any,
    truth: Any,
    thresholds: Sequence[float] = (0.3, 0.4, 0.5, 0.6, 0.7, 0.75),
    *,
    metric: str | Callable[[Any, Any], float] = "pair_accuracy",
    linkage: Literal["average", "single", "complete"] = "single",
) -> OracleThreshold:
    """Search the threshold of :class:`EAC` that agrees best with the TRUE labels.

    This is how the comparisons of Yan, Chen and Jordan (2013) set the threshold, for every measure
    again. It looks at the truth, so its score is an upper bound for anyone who does not know it:
    use it to repeat published tables, never to judge a clustering.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The partitions to combine.
    truth : (n,) array
        The true labels.
    thresholds : list of float
        Similarities at which the linkage is cut.
    metric : str or callable
        A measure of :data:`clusterscape.compare.MEASURES`, read in its direction, or a function
        ``metric(labels, truth)`` of which more is better.
    linkage : {"single", "average", "complete"}
        As in :class:`EAC`.

    Returns
    -------
    OracleThreshold
        The best threshold, its score and its labels.

    See Also
    --------
    EAC : The method, with a threshold that needs no truth.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan, "Cluster forests", Computational Statistics and Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import eac_oracle
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    >>> eac_oracle(runs, [0, 0, 1, 2, 2]).threshold
    0.7
    """
    votes = as_ensemble(ensemble)
    named = MEASURES[metric] if isinstance(metric, str) else None
    if named is not None and named.needs_features:
        raise ValueError(
            f"metric={named.name!r} looks at the points' features; take a measure of labels alone."
        )
    function: Callable[[Any, Any], float] = (
        metric if callable(metric) else MEASURES[metric].function
    )
    sign = -1.0 if named is not None and named.direction == "distance" else 1.0
    labels = {
        float(t): EAC(linkage=linkage, threshold=float(t)).fit(votes).labels_ for t in thresholds
    }
    scores = {t: float(function(found, truth)) for t, found in labels.items()}
    best = max(scores, key=lambda t: sign * scores[t])
    return OracleThreshold(best, scores[best], scores, labels[best])
