"""RP: an ensemble of clusterings in random subspaces, and a linkage of its co-association."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin

from clusterscape import generate
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    check_params,
)
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.combine.eac import EAC
from clusterscape.combine.result import ResultMixin
from clusterscape.ensemble import Ensemble
from clusterscape.generate.features import point_ids, validated_features


class RandomProjectionEnsemble(ResultMixin, ClusterMixin, BaseEstimator):
    """Random-projection ensemble, RP (Fern and Brodley 2003); a clusterer of features.

    Every run projects the points to a random subspace of a few dimensions (an orthonormalised
    Gaussian matrix) and clusters them there; the co-association of the runs is then cut by
    :class:`EAC`. Two versions are in use:

    - the authors': Gaussian mixtures with the number of components by BIC, co-association of the
      posteriors, ``sum_l P(l|i) P(l|j)`` averaged over the runs, complete linkage: the defaults;
    - that of Yan, Chen and Jordan (2013): k-means with as many clusters as are asked for, single
      linkage, 100 runs: ``base="kmeans", linkage="single", n_runs=100``.

    Parameters
    ----------
    n_clusters : int, optional
        Cut the linkage into this many clusters. With neither this nor ``threshold``, the longest
        lifetime decides, as in :class:`EAC`.
    base : {"gmm", "kmeans"}
        What clusters a projection: a Gaussian mixture whose posteriors are kept (full covariances,
        1e-6 added to their diagonals so that none is singular), or k-means.
    linkage : {"complete", "single", "average"}
        Linkage of one minus the co-association.
    n_components : int
        Dimensions of the projections, at most the number of columns (fewer columns are all taken,
        and only rotated).
    n_runs : int
        Number of projections.
    threshold : float, optional
        Cut the linkage at this similarity instead of at ``n_clusters``.
    base_clusters : int or "bic", optional
        Clusters of each run. "bic" tries 1 to ``max_base_clusters`` components of the mixture in
        each projection and keeps the number with the least Bayesian information criterion. None
        is "bic" for mixtures; for k-means it is ``n_clusters``, or, without that, a number that
        each run draws between 2 and the square root of the number of points.
    max_base_clusters : int
        Most components that "bic" tries.
    max_gb : float
        Refuse when the distances of the linkage would take more memory than this.
    random_state : int, generator or None
        The same seed gives the same result, for any ``n_jobs``.
    n_jobs : int or None
        Workers that cluster the projections.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size.
    n_clusters_ : int
        Clusters found.
    ensemble_ : Ensemble
        The partitions of the runs, soft ones for mixtures.
    consensus_ : EAC
        The fitted linkage, with its heights.
    base_clusters_ : (n_runs,) array
        Clusters of each run.

    Notes
    -----
    The linkage looks at all pairs of points, so memory grows with the square of their number
    (k-means with single linkage excepted). A projection to too few dimensions hides clusters; with
    single linkage overlapping clusters chain into one.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.combine import RandomProjectionEnsemble
    >>> X = np.repeat([[0.0] * 8, [9.0] * 8], [12, 8], axis=0)
    >>> X = X + np.random.default_rng(0).normal(size=X.shape)
    >>> model = RandomProjectionEnsemble(2, base="kmeans", n_runs=10, random_state=0).fit(X)
    >>> np.bincount(model.labels_)
    array([12,  8])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "base": [Choice("gmm", "kmeans")],
        "linkage": [Choice("complete", "single", "average")],
        "n_components": [Integer(1)],
        "n_runs": [Integer(1)],
        "threshold": [Null(), Number(0, 1)],
        "base_clusters": [Null(), Integer(1), Choice("bic")],
        "max_base_clusters": [Integer(1)],
        "max_gb": [Number(0, open_low=True)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        base: Literal["gmm", "kmeans"] = "gmm",
        linkage: Literal["complete", "single", "average"] = "complete",
        n_components: int = 5,
        n_runs: int = 30,
        threshold: float | None = None,
        base_clusters: int | Literal["bic"] | None = None,
        max_base_clusters: int = 10,
        max_gb: float = 4.0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.base = base
        self.linkage = linkage
        self.n_components = n_components
        self.n_runs = n_runs
        self.threshold = threshold
        self.base_clusters = base_clusters
        self.max_base_clusters = max_base_clusters
        self.max_gb = max_gb
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The points.
        y : ignored
            Present for scikit-learn's sake.

        Returns
        -------
        self
            With ``labels_``, ``n_clusters_``, ``ensemble_`` and ``consensus_``.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        ids = point_ids(X)
        X = validated_features(self, X, dtype=np.float64)
        n = X.shape[0]
        for name in ("n_clusters", "base_clusters"):
            asked = getattr(self, name)
            if isinstance(asked, int) and asked > n:
                raise ValueError(
                    f"{name}={asked} is more than the {n} samples in X; ask for fewer."
                )
        if self.base_clusters == "bic" and self.base == "kmeans":
            raise ValueError(
                "base_clusters='bic' needs the likelihood of a mixture, and base='kmeans' has none;"
                " give a number, or take base='gmm'."
            )
        consensus = EAC(
            self.n_clusters, linkage=self.linkage, threshold=self.threshold, max_gb=self.max_gb
        )
        self.ensemble_ = self._generate(X).with_index(ids)
        self.base_clusters_ = self.ensemble_.n_clusters
        self.consensus_ = consensus.fit(self.ensemble_)
        self.labels_ = self.consensus_.labels_
        self.n_clusters_ = self.consensus_.n_clusters_
        return self

    def _generate(self, X: Any) -> Ensemble:
        """Return the ensemble of the runs."""
        n = X.shape[0]
        asked: Any = self.base_clusters
        if asked is None:
            drawn = (2, "sqrt") if n > 1 else 1
            known = drawn if self.n_clusters is None else self.n_clusters
            asked = "bic" if self.base == "gmm" else known
        # One root for all numbers of components: a run then has the same projection for each.
        root = root_sequence(self.random_state)
        if asked != "bic":
            return self._runs(X, asked, root)
        counts = range(1, min(self.max_base_clusters, n) + 1)
        ensembles = [self._runs(X, k, root) for k in counts]
        dims = min(self.n_components, X.shape[1])
        criteria = [_criterion(found, k, dims) for k, found in zip(counts, ensembles, strict=True)]
        best = np.argmin(criteria, axis=0)
        chosen = [ensembles[b].select([run]) for run, b in enumerate(best)]
        return chosen[0].concat(*chosen[1:])

    def _runs(self, X: Any, n_clusters: Any, root: np.random.SeedSequence) -> Ensemble:
        return generate.random_projection(
            self.n_runs,
            n_clusters=n_clusters,
            dims=min(self.n_components, X.shape[1]),
            base="soft_gmm" if self.base == "gmm" else "kmeans",
            random_state=root,
            n_jobs=self.n_jobs,
            progress=self.progress,
        ).generate(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _criterion(ensemble: Ensemble, k: int, dims: int) -> np.ndarray:
    """Return the Bayesian information criterion of each run's mixture, infinite where it failed."""
    n = ensemble.n_points
    free = k - 1 + k * dims + k * dims * (dims + 1) // 2
    # The cost of a mixture is minus the mean log-likelihood of a point.
    costs = [math.inf if r.cost is None else r.cost for r in ensemble.records]
    return 2.0 * n * np.array(costs) + free * math.log(n)
