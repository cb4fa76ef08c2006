"""LWGP: a spectral cut of the graph of points and clusters, reliable clusters linked strongly."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from clusterscape._core.seeds import RandomState
from clusterscape.combine.eci import Weighting
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.spectral import SpectralConsensus


@consensus_method(
    "lwgp",
    cost="r^2 for each of at most max_points points (weights and Gram matrix), n r K for the rows",
    memory="n (r + K) + D^2",
)
class LWGP(SpectralConsensus):
    """Locally weighted graph partitioning: transfer cut of the graph of points and clusters.

    Points and clusters are the two sides of a graph; a point is linked to the clusters that contain
    it, with the reliability of each cluster (its ensemble-driven cluster index, ECI) as the weight
    of the link. The normalised cut of the whole graph is solved among the clusters alone and
    carried to the points, whose rows are clustered by k-means. :class:`SpectralConsensus` with
    ``weighting="eci"`` cuts the similarity of the points instead, in which a cluster counts for
    each of its points in proportion to its size; here only its reliability counts.

    Parameters
    ----------
    n_clusters : int, optional
        Clusters of the consensus; None takes the number with the largest gap between eigenvalues.
    max_clusters : int
        Most clusters that the gap is looked for.
    rows : {"unit", "degree"}
        As in :class:`SpectralConsensus`; the authors have unit length.
    n_init, max_iter : int
        Starts and iterations of k-means, as in :class:`SpectralConsensus`.
    weighting : {"eci", None}
        Weights of the links: the reliability of the cluster, or 1 for all, which is the
        spectral cut of HBGF's graph.
    theta : float
        How strongly reliability falls with disagreement; smaller is stronger. Read with "eci" only.
    max_points : int or None
        Of more points than this, the weights, the spectrum and the centres are those of a random
        sample of so many, and all points go to the nearest centre by their own rows. None takes all
        points.
    random_state : int, generator or None
        Seed of the starts and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Normalised cut of the points' similarity by two steps in the graph: to a cluster and back.
    eigenvalues_ : array
        The largest of that similarity, normalised; first 1.
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
    LWEA : Average linkage with the same weights.
    SpectralConsensus : The cut of the co-association.
    HBGF : A balanced cut of the same graph.
    clusterscape.combine.eci.cluster_reliability : The weights.

    Notes
    -----
    Reliability is agreement within the ensemble: where most partitions are wrong in the same way,
    what they agree on is strengthened. Otherwise the notes of :class:`SpectralConsensus` hold.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343
    .. [2] Z. Li, X.-M. Wu and S.-F. Chang, "Segmentation using superpixels: a bipartite graph
       partitioning approach", CVPR, 789-796, 2012. doi:10.1109/CVPR.2012.6247750

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import LWGP
    >>> runs = [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 2, 2, 2]]
    >>> LWGP(2, random_state=0).fit_predict(Ensemble.from_labels(runs))
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Huang, Wang and Lai 2018"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        max_clusters: int = 20,
        rows: Literal["unit", "degree"] = "unit",
        n_init: int = 10,
        max_iter: int = 100,
        weighting: Weighting = "eci",
        theta: float = 0.4,
        max_points: int | None = 20_000,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            n_clusters,
            max_clusters=max_clusters,
            rows=rows,
            n_init=n_init,
            max_iter=max_iter,
            weighting=weighting,
            theta=theta,
            max_points=max_points,
            random_state=random_state,
        )

    def _links(self, column: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        # The weights of a cluster's links over their sum: a step to the cluster and back.
        return np.divide(column, sizes, out=np.zeros_like(column), where=sizes > 0)

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found, as the estimator is set."""
        return "" if self.n_clusters is not None else "largest eigengap of the bipartite graph"
