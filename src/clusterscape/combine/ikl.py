"""IKL: attributes and pairwise relations in one spectral problem."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.sparse.linalg import LinearOperator

from clusterscape._core.params import Choice, Number, Rules
from clusterscape._core.seeds import RandomState
from clusterscape.combine.eci import Weighting, weighted_counts
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.sce import FEATURE_RULES, Embedded, FeatureConsensus, Seeds
from clusterscape.ensemble import Ensemble
from clusterscape.linalg.affinity import Kind, Scale
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.operators import combination, normalized, symmetric_operator


@consensus_method("ikl", cost="n (d + neighbours) per product", memory="n^2 for a dense affinity")
class IKL(FeatureConsensus):
    """Integrated k-means and Laplacian clustering of features and relations in one relaxation.

    k-means on attributes maximises ``tr Q^T X X^T Q``, the normalised cut of relations W
    ``tr Q^T D^-1/2 W D^-1/2 Q``. Q holds the eigenvectors of the K largest eigenvalues of the sum
    of both, each divided by its largest eigenvalue; k-means on its rows gives the clusters. This is
    our reading: the sources name the method without its formulas.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    gamma : float
        Weight of the relations.
    relation : {"features", "ensemble"}
        What W is: the affinity of the features, as where the method serves as a baseline that sees
        no partitions; or the co-association of the ensemble, which makes it a consensus of
        partitions and features.
    affinity : {"auto", "rbf", "cosine"}
        Affinity of the features: see :func:`clusterscape.linalg.affinity.affinity`.
    neighbors, landmarks : int, optional
        Use a graph of nearest neighbours, or landmarks, instead of all pairs.
    scale : {"median", "local"} or float
        Bandwidth of the Gaussian.
    row_normalize : bool
        Scale rows of Q to unit length before k-means.
    n_init : int
        Starts of k-means.
    max_gb : float
        Refuse a dense affinity larger than this.
    weighting, theta
        As in :class:`SEC`: with "eci" unreliable clusters count less in the co-association. Read
        with ``relation="ensemble"`` only.
    random_state : int, generator or None
        Seed of the eigen-solver and of k-means.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    eigenvalues_ : (K,) array
        The K largest eigenvalues of the sum.
    residual_ : float
        Largest norm of ``M q - value q`` over the columns of Q.
    embedding_ : (m, K) array
        What k-means saw: the rows of Q, of the points that are in some cluster.
    affinity_ : str
        The relations in words.

    See Also
    --------
    LSCE, NSCE : Features and co-association in one eigenproblem.

    Notes
    -----
    With ``relation="features"`` the labels of the ensemble decide only which points take part. The
    attribute term follows the columns of the largest scale, as k-means does, and few far outliers
    take its first vectors. Points with weights count as that many copies.

    References
    ----------
    .. [1] F. Wang, C. Ding and T. Li, "Integrated KL (K-means - Laplacian) clustering: a new
       clustering approach by combining attribute data and pairwise relations", SIAM
       International Conference on Data Mining, 38-48, 2009.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import IKL
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> runs = Ensemble.from_labels([[0, 0, 0, 1, 1, 1], [0, 0, 1, 2, 2, 2]])
    >>> IKL(2, relation="ensemble", random_state=0).fit_predict(runs, features=X)
    array([0, 0, 0, 1, 1, 1])
    """

    _source: ClassVar[str] = "Wang, Ding and Li 2009; our reading"
    _parameter_rules: ClassVar[Rules] = {
        **FEATURE_RULES,
        "gamma": [Number(0)],
        "relation": [Choice("features", "ensemble")],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        gamma: float = 1.0,
        relation: Literal["features", "ensemble"] = "features",
        affinity: Kind = "auto",
        neighbors: int | None = None,
        landmarks: int | None = None,
        scale: Scale = "median",
        row_normalize: bool = True,
        n_init: int = 10,
        max_gb: float = 4.0,
        weighting: Weighting = None,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.relation = relation
        self.affinity = affinity
        self.neighbors = neighbors
        self.landmarks = landmarks
        self.scale = scale
        self.row_normalize = row_normalize
        self.n_init = n_init
        self.max_gb = max_gb
        self.weighting = weighting
        self.theta = theta
        self.random_state = random_state

    def _embed(self, ensemble: Ensemble, features: Any, seeds: Seeds) -> Embedded:
        weight = ensemble.sample_weight
        if self.relation == "ensemble":
            words = "co-association of the ensemble"
            counts = weighted_counts(ensemble, self.weighting, self.theta)
            relations = normalized(counts, weight)
        else:
            graph = self._affinity(features, seeds[0])
            words = graph.words
            relations = normalized(graph.weighted(weight), weight)
        attributes = _centred_gram(features, weight)
        largest = float(symmetric_eigen(attributes, 1, seed=seeds[1]).values[0])
        # Points that are all equal have no attributes that differ.
        share = 1.0 / largest if largest > 0 else 0.0
        total = combination(attributes, relations, shares=(share, self.gamma))
        found = symmetric_eigen(total, self.n_clusters, seed=seeds[1])
        details = {
            "eigenvalues_": found.values,
            "residual_": found.residual,
            "affinity_": words,
        }
        return found.vectors, details


def _centred_gram(X: Any, weight: np.ndarray) -> LinearOperator:
    """Return X X^T of the centred rows as an operator; sparse rows stay sparse."""
    root = np.sqrt(weight)[:, None]
    mean = (np.asarray(X.T @ weight) / weight.sum())[:, None]

    def product(block: np.ndarray) -> np.ndarray:
        scaled = root * block
        columns = X.T @ scaled - mean * scaled.sum(axis=0)
        return root * (X @ columns - mean.T @ columns)

    return symmetric_operator(weight.size, product)
