"""LiftKM and LiftHAC: clusters are vectors of a kernel's space, and consensus is clustering them.

Every cluster of every partition is lifted to the sum of its points' images in the space of a
kernel, scaled to unit length. A group of such vectors is a cluster of the consensus.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Choice, Integer, Rules
from clusterscape._core.seeds import RandomState
from clusterscape.combine.eci import Weighting
from clusterscape.combine.lift.base import LIFT_RULES, LiftConsensus
from clusterscape.combine.lift.groups import LINKAGES, Clusters, cut_tree
from clusterscape.combine.registry import consensus_method
from clusterscape.lifting.lifted import Kernel, Lifted
from clusterscape.linalg.kmeans import kmeans


@consensus_method(
    "lift_km",
    cost="n rho (d + r) to lift, D K rho per iteration",
    memory="D rho, and a block of points",
)
class LiftKM(LiftConsensus):
    """Consensus in the lifted space: k-means of all clusters as points of a kernel's space.

    Two clusters are alike when their points lie in the same places, whether or not they share
    points: a cluster is the sum of its points' images in the space of a kernel, scaled to unit
    length. k-means of these vectors, weighted by the clusters' shares of the points, minimises
    LIFT-SSD; a point goes to the centre with which its image has the largest inner product.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    kernel : {"gaussian", "laplacian", "cauchy", "discrete", "precomputed"} or callable
        What makes points near; see :func:`clusterscape.lifting.lift`. "discrete" needs no features:
        a point is like itself alone, and clusters are alike by the points they share. With
        "precomputed" ``features`` is the n x n matrix of kernel values. A callable takes two
        sequences of objects and returns their kernel values; ``features`` is the sequence of the
        points. That these two are positive semidefinite is the caller's word: a kernel that is not
        is refused only where the clusters' lengths and cosines, or the coordinates k-means needs,
        show it.
    bandwidth : "median" or float
        Bandwidth of the first three kernels; the median distance of points unless given.
    n_components : "auto", int or None
        Random features: how many, or None for the exact kernel in O(n^2). "auto" is exact up to
        3,000 points and for kernels that have no random features.
    error : float, optional
        Take as many random features as keep every kernel value within this error.
    assign : {"kernel", "vote"}
        How points find their group: by the inner product with its centre, or by the votes of the
        partitions, each of which gives its weight to the group of the point's cluster. The source
        has a point vote for the group in which it has the most weight. That a cluster weighs what
        its partition does is a reading; with its share of the points, the weight in
        LIFT-SSD and the other reading, large clusters would outvote small ones.
    normalize_centers : bool
        Scale centres to unit length before the inner products. A centre of clusters that differ is
        short, so without it points at borders go to the group that the partitions agree on most.
    weighting, theta
        As in :class:`SEC`: with "eci" the weight of a cluster, and its vote, is also multiplied by
        its reliability.
    n_init : int
        Starts of k-means.
    max_iter : int
        Passes over the clusters in a start at most.
    max_gb : float
        Refuse when the clusters' vectors, or their exact products, would take more memory.
    random_state : int, generator or None
        Seed of the random features and of k-means.
    n_jobs : int, optional
        Workers for the lifting; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found; fewer than asked when the partitions have fewer different clusters, or a
        group wins no point.
    membership_ : (n, n_clusters_) array
        Inner products or votes of a point, divided by their sum. Negative inner products, which
        random features can give, count as 0; a point without a positive one belongs to the nearest
        centre.
    cost_ : float
        LIFT-SSD: over all clusters, the weight of the partition times the share of the points that
        is in the cluster times the squared distance to the nearest centre.
    lifted_ : Lifted
        The clusters of the partitions as vectors.
    groups_ : (D,) array
        Group of each of these clusters, numbered as the labels; groups that won no point come last.
    coefficients_ : (D, G) array
        The centres, as combinations of the clusters' unit vectors.
    center_norms_ : (G,) array
        Length of the centres. It is near 1 where the clusters of a group agree.
    inside_ : (n,) array of bool
        Points that took part: those with a weight, in a cluster of some partition.
    n_iter_ : int
        Passes of the best start.

    See Also
    --------
    LiftHAC : The same vectors by a linkage.
    clusterscape.lifting.lift : The vectors.
    clusterscape.compare.lift_emd : The distance of partitions in this space.
    MCLA : Groups of clusters by the points they share.

    Notes
    -----
    Noise and unsampled points of a partition are in none of its clusters; its noise makes no group.
    Equal clusters are one vector with the sum of their weights, so weights of partitions are
    exactly repetitions, and neither names of clusters nor the order of partitions matter. Soft
    partitions are lifted with their memberships. Weights of points are copies of them; of more than
    1,000 points the median bandwidth is that of a sample, so give it where this must be exact.

    With ``assign="kernel"`` the partitions decide only the centres, and the points follow the
    kernel: a single partition whose clusters interlock (rings, moons) is not returned as it is
    unless the bandwidth is below the gap between them. Then, and wherever the features mislead, use
    ``assign="vote"`` or a smaller bandwidth. Lifted clusters of a bandwidth far below the distances
    of neighbours are all orthogonal unless they share points; far above, all equal.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian, "Spatially-aware comparison and
       consensus for clusterings", SIAM International Conference on Data Mining, 307-318, 2011.
    .. [2] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, chapter 3.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import LiftKM
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])
    >>> model = LiftKM(2, random_state=0).fit(runs, features=X)
    >>> model.labels_, model.groups_
    (array([0, 0, 0, 1, 1, 1]), array([0, 1, 0, 0, 1]))
    >>> model.predict([[0.3], [4.0]])
    array([0, 1])
    """

    _source: ClassVar[str] = "Raman, Phillips and Venkatasubramanian 2011"
    _parameter_rules: ClassVar[Rules] = {
        **LIFT_RULES,
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        kernel: Kernel = "gaussian",
        bandwidth: Literal["median"] | float = "median",
        n_components: Literal["auto"] | int | None = "auto",
        error: float | None = None,
        assign: Literal["kernel", "vote"] = "kernel",
        normalize_centers: bool = False,
        weighting: Weighting = None,
        theta: float = 0.4,
        n_init: int = 10,
        max_iter: int = 300,
        max_gb: float = 4.0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.error = error
        self.assign = assign
        self.normalize_centers = normalize_centers
        self.weighting = weighting
        self.theta = theta
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_gb = max_gb
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _group(
        self, clusters: Clusters, lifted: Lifted, seed: SeedSequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        found = kmeans(
            lifted.coordinates()[clusters.first],
            min(self.n_clusters, clusters.first.size),
            algorithm="hartigan",  # few rows: its optima are better, and no group is left empty
            n_init=self.n_init,
            max_iter=self.max_iter,
            sample_weight=clusters.total(clusters.weight),
            seed=seed,
        )
        return found.labels, {"n_iter_": found.n_iter}


@consensus_method(
    "lift_hac",
    cost="n rho (d + r) to lift, D^2 rho for the linkage",
    memory="D (D + rho), and a block of points",
)
class LiftHAC(LiftConsensus):
    """Consensus in the lifted space: linkage of all clusters as points of a kernel's space.

    As :class:`LiftKM`, with a linkage of the clusters' unit vectors in place of k-means.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    linkage : {"ward", "average", "complete", "single"}
        Linkage under the Euclidean distance of the unit vectors; the source names none. Ward's
        method joins what makes LIFT-SSD grow least.
    counting : {"size", "equal"}
        What a cluster counts in Ward's method and in average linkage: the weight of its partition,
        times the cluster's share of the points ("size") or not ("equal"). The source gives the
        linkage no weights, so "equal" is its plain reading. "size" is the default because Ward's
        method then lowers LIFT-SSD, what :class:`LiftKM` minimises and ``cost_`` reports. Complete
        and single linkage have no use for weights.
    kernel, bandwidth, n_components, error, assign, normalize_centers, weighting, theta, n_jobs
        As in :class:`LiftKM`.
    max_gb : float
        Refuse when the clusters' vectors, products or distances would take more memory.
    random_state : int, generator or None
        Seed of the random features.

    Attributes
    ----------
    labels_, n_clusters_, membership_, lifted_, groups_, coefficients_, center_norms_, inside_
        As in :class:`LiftKM`; a centre is the mean of its group, weighted as there.
    cost_ : float
        LIFT-SSD of the groups, to compare with :class:`LiftKM`; only Ward's method weighted by
        size looks at it.
    heights_ : array
        Merge heights of the different clusters in ascending order: distances, for Ward's method
        growths of the weighted sum of squares.

    See Also
    --------
    LiftKM : The same vectors by k-means.
    clusterscape.lifting.lift : The vectors.

    Notes
    -----
    Equal clusters are one item of the tree with the sum of their weights, which Ward's method and
    average linkage use exactly, so that weights of partitions are repetitions. With
    ``counting="equal"``, and in all linkages but Ward's, a few outliers that some partition calls
    a cluster (single linkage does) are an item like any other, far from the rest, and use up a
    group. Single linkage chains. A tree needs O(D^2) memory for D clusters.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian, "Spatially-aware comparison and
       consensus for clusterings", SIAM International Conference on Data Mining, 307-318, 2011.
    .. [2] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, chapter 3.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import LiftHAC
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])
    >>> LiftHAC(2).fit_predict(runs, features=X)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Raman, Phillips and Venkatasubramanian 2011"
    _parameter_rules: ClassVar[Rules] = {
        **LIFT_RULES,
        "linkage": [Choice(*LINKAGES)],
        "counting": [Choice("size", "equal")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        linkage: Literal["ward", "average", "complete", "single"] = "ward",
        counting: Literal["size", "equal"] = "size",
        kernel: Kernel = "gaussian",
        bandwidth: Literal["median"] | float = "median",
        n_components: Literal["auto"] | int | None = "auto",
        error: float | None = None,
        assign: Literal["kernel", "vote"] = "kernel",
        normalize_centers: bool = False,
        weighting: Weighting = None,
        theta: float = 0.4,
        max_gb: float = 4.0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.counting = counting
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.error = error
        self.assign = assign
        self.normalize_centers = normalize_centers
        self.weighting = weighting
        self.theta = theta
        self.max_gb = max_gb
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _group(
        self, clusters: Clusters, lifted: Lifted, seed: SeedSequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        m = clusters.first.size
        need = 16.0 * m * m / 1e9  # the matrix, and as much again while it is filled or condensed
        if need > self.max_gb:
            raise MemoryLimitError(
                f"LiftHAC needs the distances of {m:,} different clusters, which",
                need,
                self.max_gb,
                remedies=["use LiftKM, which needs none"],
            )
        squared = lifted.distances(clusters.first, clusters.first, squared=True)
        weight = clusters.total(clusters.weight if self.counting == "size" else clusters.vote)
        labels, heights = cut_tree(squared, weight, self.n_clusters, linkage=self.linkage)
        return labels, {"heights_": heights}
