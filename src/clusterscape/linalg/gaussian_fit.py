"""How well one Gaussian for each cluster fits the points of a partition."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from clusterscape._core.params import Choice, Integer, Null, Number, checked
from clusterscape.linalg.neighbors import directions

_MOST_COLUMNS = 30
_COLUMNS_AT_ONCE = 256  # of wide tables, as dense columns in order


@checked(
    {
        "n_columns": (Null(), Integer(1)),
        "metric": (Choice("euclidean", "cosine"),),
    }
)
def leading_components(
    X: Any,
    *,
    n_columns: int | None = None,
    metric: Literal["euclidean", "cosine"] = "euclidean",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the leading principal components of points, or the centred points themselves.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features.
    n_columns : int, optional
        Components that are kept; by default at most 30 and a twentieth of the points, because a
        covariance of q columns has q^2 / 2 entries, for which a cluster has few points.
    metric : {"euclidean", "cosine"}
        "cosine" takes rows of unit length.

    Returns
    -------
    components : (n, q) array
    rounding : (q, q) array
        Covariance of the error by which rounded values differ from the true ones
        (:func:`rounding_variances`), in these columns. Zero for rows of unit length, which are not
        rounded.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.gaussian_fit import leading_components
    >>> X = np.random.default_rng(0).normal(size=(200, 50))
    >>> components, rounding = leading_components(X)
    >>> components.shape, rounding.shape
    ((200, 10), (10, 10))
    """
    if metric == "cosine":
        X = directions(X)
    if not sparse.issparse(X) and not np.ptp(X, axis=0).any():
        return np.zeros((X.shape[0], 1)), np.zeros((1, 1))  # all points are equal
    variances = np.zeros(X.shape[1]) if metric == "cosine" else rounding_variances(X)
    found = principal_axes(X, n_columns)
    if found is not None:
        components, _, axes = found
        return components, (axes.T * variances) @ axes
    dense = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
    return dense - dense.mean(axis=0), np.diag(variances)


def rounding_variances(X: Any) -> np.ndarray:
    """Return the variance of the rounding error of each column.

    A column is taken to be rounded to the median gap h of the values that occur in it, next to each
    other in order; an error that is uniform over h has the variance h^2 / 12. Measurements with
    many digits have almost none. Counts, marks and yes or no have more, and a column that has
    another value in a few rows only has more than its own variance.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features.

    Returns
    -------
    (d,) array

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.gaussian_fit import rounding_variances
    >>> marks = np.array([[1, 0], [2, 0], [3, 0], [5, 6]])
    >>> 12 * rounding_variances(marks)
    array([ 1., 36.])
    """
    columns = X.tocsc() if sparse.issparse(X) else X
    gaps = np.zeros(X.shape[1])
    for start in range(0, X.shape[1], _COLUMNS_AT_ONCE):
        block = columns[:, start : start + _COLUMNS_AT_ONCE]
        block = block.toarray() if sparse.issparse(block) else np.asarray(block)
        steps = np.diff(np.sort(block.T.astype(np.float64), axis=1), axis=1)
        for j, mine in enumerate(steps, start):
            apart = mine[mine > 0]
            gaps[j] = np.median(apart) if apart.size else 0.0
    return gaps**2 / 12


def principal_axes(
    X: Any, n_columns: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the leading principal components of points, the origin and the axes (d, q).

    ``n_columns`` is as in :func:`leading_components`. None where that many components are no fewer
    than the columns, or than the points allow.
    """
    from sklearn.decomposition import PCA

    n, d = X.shape
    count = min(_MOST_COLUMNS, max(2, n // 20)) if n_columns is None else n_columns
    if count >= min(n - 1, d):
        return None
    found = PCA(count, svd_solver=_solver(X), random_state=0)
    components = found.fit_transform(X)
    axes = np.ascontiguousarray(found.components_.T, dtype=np.float64)
    return components, np.asarray(found.mean_, dtype=np.float64), axes


def principal_basis(X: Any, n_columns: int) -> np.ndarray:
    """Return the axes (d, q) of the q leading principal components, with q < min(n, d).

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.gaussian_fit import principal_basis
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]])
    >>> np.abs(principal_basis(X, 1)).round(3).ravel()
    array([0.6, 0.8])
    """
    from sklearn.decomposition import PCA

    solver = _solver(X) if n_columns < min(X.shape) else "full"
    found = PCA(n_columns, svd_solver=solver, random_state=0).fit(X)
    return np.ascontiguousarray(found.components_.T, dtype=np.float64)


def _solver(X: Any) -> str:
    return "arpack" if sparse.issparse(X) else "randomized"


@checked({"ridge": (Number(0, open_low=True),)})
def gaussian_fit(
    X: np.ndarray,
    labels: ArrayLike,
    *,
    rounding: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    ridge: float = 1e-3,
) -> float:
    """Return the mean log-likelihood of points under one Gaussian for each cluster.

    It is the classification likelihood of a Gaussian mixture with full covariances at its maximum
    for the given clusters, without the constant that all partitions of the same points share:
    ``sum_c p_c (log p_c - log det(S_c) / 2)``, where p_c is the share of cluster c and S_c its
    covariance. The larger, the more compact the clusters, whatever their orientation. Bent or
    ring-shaped clusters fit badly.

    Parameters
    ----------
    X : (n, q) array
        The points; few columns, since a covariance is inverted for each cluster.
    labels : (n,) array
        Clusters of the points; negative labels do not count.
    rounding : (q, q) array, optional
        Covariance of the error of rounded values, which is added to each covariance
        (:func:`leading_components`): no cluster is more compact than the values are exact.
    sample_weight : (n,) array, optional
        Weights of the points.
    ridge : float
        Share of the mean variance that is added to the variances, so that small and flat clusters
        have a finite likelihood.

    Returns
    -------
    float
        Zero where all points are equal.

    See Also
    --------
    clusterscape.linalg.dunn_owa.neighbor_edges : Validity by near neighbours.

    References
    ----------
    M. J. Symons, "Clustering criteria and multivariate normal mixtures", Biometrics 37, 1981.
    doi:10.2307/2530520

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.gaussian_fit import gaussian_fit
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> apart, mixed = [0, 0, 0, 1, 1, 1], [0, 1, 0, 1, 0, 1]
    >>> gaussian_fit(X, apart) > gaussian_fit(X, mixed)
    True
    """
    codes = np.asarray(labels)
    weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, np.float64)
    inside = (codes >= 0) & (weight > 0)
    X, codes, weight = np.asarray(X, dtype=np.float64)[inside], codes[inside], weight[inside]
    mean = np.average(X, axis=0, weights=weight)
    variance = float(np.average((X - mean) ** 2, axis=0, weights=weight).mean())
    if variance == 0:
        return 0.0
    added = ridge * variance * np.eye(X.shape[1])
    if rounding is not None:
        added += np.asarray(rounding)
    total = 0.0
    for cluster in np.unique(codes):
        mine = codes == cluster
        share = weight[mine] / weight[mine].sum()
        centred = X[mine] - share @ X[mine]
        covariance = (centred * share[:, None]).T @ centred + added
        mass = weight[mine].sum() / weight.sum()
        total += mass * (np.log(mass) - 0.5 * np.linalg.slogdet(covariance)[1])
    return float(total)
