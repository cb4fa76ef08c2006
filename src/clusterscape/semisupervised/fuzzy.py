"""Fuzzy c-means: every point belongs to every cluster, by how near it is to the centres."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import kmeans_plusplus
from sklearn.utils.extmath import row_norms, safe_sparse_dot
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Integer, Number, Rules, Seed, check_params
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape.combine.result import LabelsMixin
from clusterscape.generate.features import point_ids, validated_features
from clusterscape.linalg.distances import centre_of, squared_distances


class FuzzyCMeans(LabelsMixin, ClusterMixin, BaseEstimator):
    """Cluster by fuzzy c-means: memberships in all clusters instead of one label.

    Minimises the sum over points and clusters of w^m times the squared distance from the centre,
    with memberships w that sum to one for each point [1]_, by turns: w from the distances, centres
    as the means weighted by w^m. The nearer m is to 1, the harder the memberships; k-means is the
    limit.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    m : float
        Fuzziness, above 1.
    max_iter : int
        Turns at most.
    tol : float
        Stop when no membership changes by more.
    n_init : int
        Starts; that with the lowest cost is kept.
    random_state : int, generator or None
        Seed of the first centres, which are drawn as in k-means++.

    Attributes
    ----------
    membership_ : (n, n_clusters) array
        Memberships; rows sum to one.
    labels_ : (n,) array
        The cluster with the largest membership.
    cluster_centers_ : (n_clusters, d) array
        The centres.
    inertia_ : float
        The cost of these centres and memberships.
    n_iter_ : int
        Turns of the start that was kept.

    See Also
    --------
    AdaptiveSubsampler : Uses the memberships to find points between clusters.
    cluster_entropy : How spread the memberships of a point are.

    Notes
    -----
    A point that coincides with a centre belongs to it alone (in equal parts to several centres in
    one place). It fails where k-means does: clusters of unequal size or long shape, columns of
    different scales. With many columns all memberships come near 1 / n_clusters; a smaller m helps.

    References
    ----------
    .. [1] J. C. Bezdek. Pattern Recognition with Fuzzy Objective Function Algorithms. Plenum, 1981.
       doi:10.1007/978-1-4757-0450-1

    Examples
    --------
    >>> from clusterscape.semisupervised import FuzzyCMeans
    >>> X = [[0.0], [0.2], [0.4], [5.0], [9.6], [9.8], [10.0]]
    >>> model = FuzzyCMeans(2, random_state=0).fit(X)
    >>> model.membership_[3].round(2)
    array([0.5, 0.5])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "m": [Number(1, open_low=True)],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "n_init": [Integer(1)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        m: float = 2.0,
        max_iter: int = 100,
        tol: float = 1e-5,
        n_init: int = 1,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.m = m
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the centres and the memberships.

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
        centre = centre_of(X)
        shifted = X if centre is None else X - centre
        best = None
        for seed in spawn(self.random_state, self.n_init):
            found = self._run(shifted, sklearn_seed(seed))
            if best is None or found[0] < best[0]:
                best = found
        assert best is not None
        self.inertia_, self.n_iter_, centers = best
        self.membership_ = _memberships(_exact(shifted, centers), self.m)
        self.cluster_centers_ = centers if centre is None else centers + centre
        self.labels_ = self.membership_.argmax(axis=1)
        return self

    def _run(self, X: Any, seed: int) -> tuple[float, int, np.ndarray]:
        """Return the cost, the turns and the centres from one start."""
        centers, _ = kmeans_plusplus(X, self.n_clusters, random_state=seed)
        centers = np.asarray(centers.toarray() if hasattr(centers, "toarray") else centers)
        centers = centers.astype(np.float64)
        lengths = row_norms(X, squared=True).astype(np.float64)
        before: np.ndarray | None = None
        turn = 0
        while turn < self.max_iter:
            turn += 1
            square = _distances(X, lengths, centers)
            w = _memberships(square, self.m)
            power = w**self.m
            total = power.sum(axis=0)
            sums = safe_sparse_dot(X.T, power.astype(X.dtype), dense_output=True).T
            filled = total > 0  # a centre beside which no point lies stays where it is
            centers[filled] = np.asarray(sums, dtype=np.float64)[filled] / total[filled, None]
            if before is not None and np.abs(w - before).max() < self.tol:
                break
            before = w
        # Of the centres that are returned, which moved after the last cost.
        square = _distances(X, lengths, centers)
        return float((_memberships(square, self.m) ** self.m * square).sum()), turn, centers

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
        return self.predict_membership(X).argmax(axis=1)

    def predict_membership(self, X: Any) -> np.ndarray:
        """Return the memberships of new points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        (m, n_clusters) array
            Rows sum to one.
        """
        check_is_fitted(self, "cluster_centers_")
        X = validated_features(self, X, reset=False)
        return _memberships(_exact(X, self.cluster_centers_), self.m)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _exact(X: Any, centers: np.ndarray) -> np.ndarray:
    """Return squared distances, precise near the centres too."""
    if sparse.issparse(X):
        return squared_distances(X, sparse.csr_matrix(centers))
    return squared_distances(X, centers, centre=centre_of(X))


def _distances(X: Any, lengths: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Return squared distances of points around the origin, fast; small ones lose digits."""
    products = safe_sparse_dot(X, centers.astype(X.dtype).T, dense_output=True)
    square = lengths[:, None] - 2.0 * np.asarray(products, dtype=np.float64)
    square += row_norms(centers, squared=True)
    return np.maximum(square, 0.0, out=square)


def _memberships(square: np.ndarray, m: float) -> np.ndarray:
    """Return memberships from squared distances."""
    nearest = square.min(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Ratios to the nearest centre are at most 1, so that no power overflows.
        w = (nearest / square) ** (1.0 / (m - 1.0))
    on = nearest[:, 0] == 0.0
    w[on] = square[on] == 0.0
    return w / w.sum(axis=1, keepdims=True)
