"""Active clustering: a consensus of slow clusterers on a small sample, extended to all points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import canonical
from clusterscape._core.params import (
    N_JOBS,
    Choice,
    Instance,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
    check_params,
)
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine import BaseConsensus, LiftKM
from clusterscape.combine.result import LabelsMixin
from clusterscape.generate import ALGORITHMS, EnsembleGenerator
from clusterscape.generate.features import point_ids, validated_features
from clusterscape.linalg.kmeans import nearest_center
from clusterscape.validate.affinity import Affinity
from clusterscape.validate.affinity.representatives import representatives

_DENSE = 2**27  # elements of a sample, 1 GiB: fewer are stored densely


def _known(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(name, str) and name in ALGORITHMS for name in value)
    )


class ActiveClustering(LabelsMixin, ClusterMixin, BaseEstimator):
    """Cluster a sample of about 5 sqrt(n) stable and unstable points, and place the others.

    Clusterers whose time grows with the square of the number of points cannot see large data. Here
    k centres are seeded by k-means++, the stability of every point among them is computed, and a
    sample is drawn, one part from the stable points and one from the unstable ones, which lie where
    clusters meet. Several clusterers run on the sample, a consensus combines them, and all other
    points go to the nearest centre [1]_.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    algorithms : sequence of str
        Names of :data:`clusterscape.generate.ALGORITHMS`, each run once on the sample.
    factor : float
        The sample has ``factor * sqrt(n)`` points, all of them where there are fewer.
    stable_share : float
        Share of the sample that is drawn from the stable points. Where one kind has too few points
        all of it is taken, and the other kind fills up.
    n_steps : int
        Lloyd steps that move the seeds to the means of their cells before stability is measured.
        The source has none. Among single points of many columns nearly all others are unstable,
        and a sample of mostly stable points then is a poor one; a few steps help there.
    sampling : {"active", "random"}
        "random" draws the sample uniformly, as a baseline.
    consensus : BaseConsensus or None
        Combines the clusterings of the sample; by default :class:`~clusterscape.combine.LiftKM`.
    affinity : Affinity or None
        How stability is measured; its threshold separates stable from unstable points.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        For the stabilities and the clusterers; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        How many there are.
    sample_ : (m,) array
        The points of the sample, ascending.
    stable_ : (m,) bool array
        Which of them are stable; all False with random sampling.
    stability_ : (n,) array or None
        Stability of every point among the seeded centres; None with random sampling.
    centers_ : (k, d) array
        Means of the clusters of the sample.
    ensemble_ : Ensemble
        The clusterings of the sample.

    See Also
    --------
    Affinity : The stabilities.
    clusterscape.ConsensusClustering : A consensus over all points.

    Notes
    -----
    Points outside of the sample go to the nearest mean, so that clusters of other shapes than those
    of k-means are not kept. One draw of the k-means++ centres decides what counts as unstable. With
    two clusters no stability is below 1/2, so that every point is stable and the sample is a random
    one; ``affinity=Affinity(threshold=0.75)`` tells points apart there. Unlike the source, we did
    not find these samples better than random ones of the same size
    (``benchmarks/papers/affinity.py --only active``).

    References
    ----------
    .. [1] P. Raman, "Exploring the landscape of clusterings", dissertation,
       University of Utah, 2013, section 5.5.3.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import ActiveClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, size=(2000, 2)) for c in (0, 4, 8)])
    >>> model = ActiveClustering(3, random_state=0).fit(X)
    >>> model.sample_.size, np.bincount(model.labels_)
    (387, array([2000, 2000, 2000]))
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "algorithms": [
            Such(_known, "a list of names of generate.ALGORITHMS", refused=[["none such"], []])
        ],
        "factor": [Number(0, open_low=True)],
        "stable_share": [Number(0, 1)],
        "n_steps": [Integer(0)],
        "sampling": [Choice("active", "random")],
        "consensus": [Null(), Instance(BaseConsensus)],
        "affinity": [Null(), Instance(Affinity)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        algorithms: Sequence[str] = ("kmeans", "single", "average", "complete", "dbscan"),
        factor: float = 5.0,
        stable_share: float = 0.75,
        n_steps: int = 0,
        sampling: Literal["active", "random"] = "active",
        consensus: BaseConsensus | None = None,
        affinity: Affinity | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.algorithms = algorithms
        self.factor = factor
        self.stable_share = stable_share
        self.n_steps = n_steps
        self.sampling = sampling
        self.consensus = consensus
        self.affinity = affinity
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the sample, cluster it, and place all points.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        y : ignored
            Not used, present for API consistency.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        self._keep_ids(point_ids(X))
        X = validated_features(self, X)
        n = X.shape[0]
        if self.n_clusters > n:
            raise ParameterError(
                f"{{n_clusters}} is more than the {n} samples in X; ask for fewer.",
                n_clusters=self.n_clusters,
            )
        seeding, drawing, members, combining, scoring = spawn(self.random_state, 5)
        size = min(n, max(self.n_clusters, round(self.factor * np.sqrt(n))))
        rng = np.random.default_rng(drawing)
        self.stability_: np.ndarray | None = None
        if self.sampling == "random":
            self.sample_ = np.sort(rng.choice(n, size, replace=False))
            self.stable_ = np.zeros(size, dtype=bool)
        else:
            stable = self._stable(X, seeding, scoring)
            self.sample_ = _drawn(stable, size, round(self.stable_share * size), rng)
            self.stable_ = stable[self.sample_]
        part = X[self.sample_]
        if sparse.issparse(part) and part.shape[0] * part.shape[1] <= _DENSE:
            part = part.toarray()  # most of the clusterers take nothing else
        self.ensemble_ = EnsembleGenerator(
            len(self.algorithms),
            algorithm=list(self.algorithms),
            n_clusters=self.n_clusters,
            random_state=members,
            n_jobs=self.n_jobs,
            progress=False,
        ).generate(part)
        found = self._combine(part, combining)
        k = int(found.max()) + 1
        self.centers_ = representatives(part, found, k, "mean")
        labels = nearest_center(X, self.centers_).astype(np.int64)
        kept = found >= 0  # a point of the sample in no cluster is placed like the others
        labels[self.sample_[kept]] = found[kept]
        self.labels_ = canonical(labels)
        order = np.zeros(k, dtype=np.int64)
        order[self.labels_] = labels
        self.centers_ = self.centers_[order]
        self.n_clusters_ = k
        return self

    def _stable(self, X: Any, seeding: SeedSequence, scoring: SeedSequence) -> np.ndarray:
        """Return which points are stable among seeded centres."""
        if self.n_clusters == 1:
            self.stability_ = np.ones(X.shape[0])
            return np.ones(X.shape[0], dtype=bool)
        centers, _ = kmeans_plusplus(X, self.n_clusters, random_state=sklearn_seed(seeding))
        centers = centers.toarray() if hasattr(centers, "toarray") else centers
        for _ in range(self.n_steps):
            near = nearest_center(X, centers).astype(np.int64)
            used, own = np.unique(near, return_inverse=True)  # a copy of another seed stays
            centers[used] = representatives(X, own, used.size, "mean")
        made = Affinity() if self.affinity is None else clone(self.affinity)
        made.set_params(
            representative=np.asarray(centers, dtype=np.float64),
            random_state=scoring,
            n_jobs=self.n_jobs,
        )
        found = made.fit(X).certificates_
        self.stability_ = found.stability
        return found.stable

    def _combine(self, part: Any, seed: SeedSequence) -> np.ndarray:
        made = LiftKM() if self.consensus is None else clone(self.consensus)
        given = {"n_clusters": self.n_clusters, "random_state": seed}
        known = made.get_params(deep=False)
        made.set_params(**{name: value for name, value in given.items() if name in known})
        needs = made._features != "none"
        return made.fit(self.ensemble_, features=part if needs else None).labels_

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster with the nearest centre for new points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        (m,) array
        """
        check_is_fitted(self, "centers_")
        X = validated_features(self, X, reset=False)
        return nearest_center(X, self.centers_).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _drawn(stable: np.ndarray, size: int, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Return a sample of the stable and the unstable points, ascending."""
    pools = np.flatnonzero(stable), np.flatnonzero(~stable)
    first = min(wanted, pools[0].size)
    second = min(size - first, pools[1].size)
    first = size - second  # what the unstable ones lack
    parts = [rng.choice(p, m, replace=False) for p, m in zip(pools, (first, second), strict=True)]
    return np.sort(np.concatenate(parts))
