"""LWEA: evidence accumulation in which reliable clusters count more."""

from __future__ import annotations

from typing import ClassVar, Literal

from clusterscape._core.params import Flag, Integer, Null, Number, Rules
from clusterscape.combine.eac import EAC
from clusterscape.combine.eci import WEIGHTING
from clusterscape.combine.registry import consensus_method


@consensus_method("lwea", cost="n r^2 + m^2 r", memory="m^2")
class LWEA(EAC):
    """Locally weighted evidence accumulation: average linkage, reliable clusters count more.

    The similarity of two points is the sum of the reliabilities of the clusters that they share,
    over the partitions that sampled both. The reliability of a cluster is its ensemble-driven
    cluster index (ECI), which is 1 if no partition splits it and falls with the entropy of the
    pieces that the partitions split it into. Average linkage of one minus this locally weighted
    co-association is cut as in :class:`EAC`, of which this is ``weighting="eci"``.

    Parameters
    ----------
    n_clusters : int, optional
        Cut into this many clusters.
    theta : float
        How strongly reliability falls with disagreement; smaller is stronger. The authors find 0.2
        to 1 about equally good.
    threshold : float, optional
        Cut the linkage at this similarity, equal included. Points that are always together have a
        similarity below 1, the mean reliability of their clusters. Give this or ``n_clusters``;
        with neither, the partition with the longest lifetime is taken.
    include_one : bool
        Let a single cluster compete in the lifetime rule.
    max_gb : float
        Refuse when the distances would take more memory than this.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    heights_ : array
        Merge heights in ascending order, one less than there are points in a cluster; one minus
        their similarity for points with equal rows, which ``n_clusters`` never separates.
    n_micro_clusters_ : int
        Distinct rows among the points, on which linkage works. For complete ensembles this is
        exact: no two points are more similar than those with equal rows. In others equal rows are
        merged first all the same.
    precision_ : str
        Floating-point type of the distances: "float64" up to 5,000 distinct rows, "float32" above.

    See Also
    --------
    LWGP : A cut of points and clusters with the same weights, linear in the points.
    EAC : All clusters count alike, and other linkages.
    clusterscape.combine.eci.cluster_reliability : The weights.

    Notes
    -----
    Reliability is agreement within the ensemble: where most partitions are wrong in the same way,
    what they agree on is strengthened. Time and memory grow with the square of the number of
    distinct rows.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import LWEA
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    >>> LWEA(2).fit_predict(runs)
    array([0, 0, 0, 1, 1])
    """

    _source: ClassVar[str] = "Huang, Wang and Lai 2018"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "theta": WEIGHTING["theta"],
        "threshold": [Null(), Number(0, 1)],
        "include_one": [Flag()],
        "max_gb": [Number(0, open_low=True)],
    }
    linkage: Literal["average"] = "average"
    weighting: Literal["eci"] = "eci"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        theta: float = 0.4,
        threshold: float | None = None,
        include_one: bool = False,
        max_gb: float = 4.0,
    ) -> None:
        self.n_clusters = n_clusters
        self.theta = theta
        self.threshold = threshold
        self.include_one = include_one
        self.max_gb = max_gb
