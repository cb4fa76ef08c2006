"""k-medoids of a matrix of distances: clusters around points, for distances of any kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Integer, Seed, checked
from clusterscape._core.weights import checked_weights


@dataclass(frozen=True)
class KMedoidsResult:
    """A k-medoids partition.

    Attributes
    ----------
    labels : (n,) array
        Cluster of each point, 0..k-1; none is empty.
    medoids : (k,) array
        The point that each cluster is around.
    cost : float
        Weighted sum of the distances to the medoids.
    n_iter : int
        Rounds over all candidates.
    n_swaps : int
        Medoids that were exchanged, in the start that was kept.
    """

    labels: np.ndarray
    medoids: np.ndarray
    cost: float
    n_iter: int
    n_swaps: int


@checked(
    {
        "n_clusters": (Integer(1),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "seed": (Seed(),),
    }
)
def kmedoids(
    distances: Any,
    n_clusters: int,
    *,
    n_init: int = 1,
    max_iter: int = 300,
    sample_weight: ArrayLike | None = None,
    seed: _seeds.RandomState = None,
) -> KMedoidsResult:
    """Partition points around k of them, so that the sum of distances is small.

    Starts from random points and exchanges a medoid for another point whenever this lowers the
    cost (FasterPAM), until no single exchange does. A round looks at all n^2 distances. Like
    k-means it finds round clusters of similar size, but it needs no features, and single outliers
    move a medoid little.

    Parameters
    ----------
    distances : (n, n) array
        Distances >= 0, symmetric; the triangle inequality is not needed. float32 is kept.
    n_clusters : int
        Clusters to form, at most n.
    n_init : int
        Starts; the one of least cost is kept.
    max_iter : int
        Rounds over all points at most.
    sample_weight : (n,) array, optional
        Weights >= 0 of the points in the cost.
    seed : int, generator or None
        Of the starts.

    Returns
    -------
    KMedoidsResult

    See Also
    --------
    clusterscape.linalg.kmeans.kmeans : Clusters around means, for features.

    References
    ----------
    L. Kaufman, P. J. Rousseeuw, "Finding groups in data", Wiley, 1990. doi:10.1002/9780470316801

    E. Schubert, P. J. Rousseeuw, "Fast and eager k-medoids clustering: O(k) runtime improvement of
    the PAM, CLARA, and CLARANS algorithms", Information Systems 101, 2021.
    doi:10.1016/j.is.2021.101804

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.kmedoids import kmedoids
    >>> x = np.array([0.0, 1.0, 2.0, 9.0, 10.0])
    >>> found = kmedoids(abs(x[:, None] - x), 2, seed=0)
    >>> sorted(found.medoids), found.cost
    ([np.int64(1), np.int64(3)], 3.0)
    """
    D = checked_distances(distances)
    n = D.shape[0]
    if n_clusters > n:
        raise ParameterError(
            f"{{n_clusters}} is more than the {n} points; ask for fewer.", n_clusters=n_clusters
        )
    weight = checked_weights(sample_weight, n)
    if n_clusters == 1:
        costs = weight @ D.astype(np.float64, copy=False)
        medoid = int(np.argmin(costs))
        return KMedoidsResult(np.zeros(n, np.int32), np.array([medoid]), float(costs[medoid]), 1, 0)
    best: KMedoidsResult | None = None
    for start in _seeds.spawn(seed, n_init):
        rng = np.random.default_rng(start)
        medoids = rng.choice(n, n_clusters, replace=False).astype(np.int64)
        labels = np.zeros(n, dtype=np.int32)
        cost, rounds, swaps = kernels.kmedoids.swap_medoids(
            D, weight, medoids, labels, int(max_iter)
        )
        if best is None or cost < best.cost:
            best = KMedoidsResult(labels, medoids, float(cost), int(rounds), int(swaps))
    assert best is not None
    return best


def checked_distances(distances: Any) -> np.ndarray:
    """Return a square array of finite distances >= 0 in rows, or say what is wrong with it.

    Symmetry is checked where the matrix is read (:mod:`clusterscape.linalg.relation`).
    """
    D = check_array(distances, dtype=[np.float64, np.float32], order="C", input_name="distances")
    if D.shape[0] != D.shape[1]:
        raise ValueError(f"distances must be a square matrix; got one of shape {D.shape}.")
    if D.min() < 0:
        raise ValueError(f"distances must be >= 0; the least is {D.min():g}.")
    return D
