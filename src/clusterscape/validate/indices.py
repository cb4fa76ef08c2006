"""Classical validity indices of a partition that scikit-learn does not have."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.utils import gen_batches

from clusterscape._core.labels import encode
from clusterscape._core.params import Choice, Number, checked
from clusterscape.ensemble.inputs import check_same_rows
from clusterscape.generate.features import read_matrix
from clusterscape.linalg.distances import check_range

_BLOCK = 2**22  # elements of a temporary block


def _parts(X: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the points that are in a cluster, their clusters, and how many there are."""
    check_same_rows(X, labels)
    found = read_matrix(X).views[0]
    if sparse.issparse(found):
        raise TypeError("X is sparse, and the index needs a dense array; give X.toarray().")
    values = found.astype(np.float64, copy=False)
    check_range(values, "X", smallest=False)
    codes = encode(labels, "labels")[0]
    if codes.shape != (len(values),):
        raise ValueError(f"labels has {codes.size} entries for {len(values)} rows of X.")
    k = int(codes.max(initial=-1)) + 1
    if k < 2:
        raise ValueError(f"labels: the index needs two clusters; there are {k}.")
    inside = codes >= 0
    return values[inside], codes[inside].astype(np.int64), k


def _means(X: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    return np.stack([X[codes == c].mean(axis=0) for c in range(k)])


@checked({"variant": [Choice("exact", "centroid")]})
def dunn_index(X: Any, labels: Any, *, variant: Literal["exact", "centroid"] = "exact") -> float:
    """Return Dunn's index: the least distance between clusters over the largest diameter.

    Parameters
    ----------
    X : (n, d) array
        Features.
    labels : (n,) array
        A partition; points in no cluster are left out.
    variant : {"exact", "centroid"}
        All pairs of points, in time that grows with their square and little memory; or distances
        of the means over twice the mean distance to them, in linear time.

    Returns
    -------
    float
        The larger, the better; 0 where clusters touch, and otherwise infinite where all diameters
        are 0.

    See Also
    --------
    sd_index, s_dbw : Other indices.

    Notes
    -----
    One outlying point decides the exact index: it makes a diameter large or a gap small.

    References
    ----------
    .. [1] J. C. Dunn, "Well-separated clusters and optimal fuzzy partitions", Journal of
       Cybernetics 4, 95-104, 1974. doi:10.1080/01969727408546059

    Examples
    --------
    >>> from clusterscape.validate import dunn_index
    >>> dunn_index([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1])
    4.0
    """
    values, codes, k = _parts(X, labels)
    if variant == "centroid":
        means = _means(values, codes, k)
        apart = cdist(means, means)[np.triu_indices(k, 1)].min()
        own = np.linalg.norm(values - means[codes], axis=1)
        wide = 2.0 * max(float(own[codes == c].mean()) for c in range(k))
    else:
        apart, wide = np.inf, 0.0
        for rows in gen_batches(len(values), max(1, _BLOCK // len(values))):
            distances = cdist(values[rows], values)
            same = codes[rows, None] == codes
            wide = max(wide, float(distances[same].max(initial=0.0)))
            apart = min(apart, float(distances[~same].min(initial=np.inf)))
    if apart == 0:
        return 0.0
    return float(apart / wide) if wide > 0 else float("inf")


def _scatter(X: np.ndarray, codes: np.ndarray, k: int) -> tuple[float, np.ndarray]:
    """Return the mean scatter of clusters over that of the data, and the clusters' variances."""
    inner = np.stack([X[codes == c].var(axis=0) for c in range(k)])
    variance = X.var(axis=0)
    unit = float(variance.max()) or 1.0  # the squares of variances might be no numbers
    whole = unit * float(np.linalg.norm(variance / unit))
    lengths = unit * np.linalg.norm(inner / unit, axis=1)
    return float(lengths.mean() / whole) if whole > 0 else 0.0, lengths


@checked({"alpha": [Number(0)]})
def sd_index(X: Any, labels: Any, *, alpha: float = 1.0) -> float:
    """Return the SD index: scatter within clusters, and how unevenly their means are placed.

    Parameters
    ----------
    X : (n, d) array
        Features.
    labels : (n,) array
        A partition; points in no cluster are left out.
    alpha : float
        Weight of the scatter; its authors use the distance term of the largest number of clusters
        that is compared.

    Returns
    -------
    float
        The smaller, the better; infinite where two means coincide.

    See Also
    --------
    s_dbw, dunn_index : Other indices.

    References
    ----------
    .. [1] M. Halkidi, M. Vazirgiannis and Y. Batistakis, "Quality scheme assessment in the
       clustering process", PKDD 2000, 265-276. doi:10.1007/3-540-45372-5_26

    Examples
    --------
    >>> from clusterscape.validate import sd_index
    >>> round(sd_index([[0.0], [1.0], [5.0], [6.0]], [0, 0, 1, 1]), 4)
    0.4385
    """
    values, codes, k = _parts(X, labels)
    scatter, _ = _scatter(values, codes, k)
    means = _means(values, codes, k)
    distances = cdist(means, means)
    pairs = distances[np.triu_indices(k, 1)]
    if pairs.min() == 0:
        return float("inf")
    spacing = pairs.max() / pairs.min() * (1.0 / distances.sum(axis=1)).sum()
    return float(alpha * scatter + spacing)


def s_dbw(X: Any, labels: Any) -> float:
    """Return S_Dbw: scatter within clusters plus density between them.

    The density at a place is the number of points of the two clusters concerned that are within
    the mean standard deviation of clusters of it.

    Parameters
    ----------
    X : (n, d) array
        Features.
    labels : (n,) array
        A partition; points in no cluster are left out.

    Returns
    -------
    float
        The smaller, the better.

    See Also
    --------
    sd_index, dunn_index : Other indices.

    Notes
    -----
    In many dimensions no point is within the radius of a mean, and the density term is 0.

    References
    ----------
    .. [1] M. Halkidi and M. Vazirgiannis, "Clustering validity assessment: finding the optimal
       partitioning of a data set", ICDM 2001, 187-194. doi:10.1109/ICDM.2001.989517

    Examples
    --------
    >>> from clusterscape.validate import s_dbw
    >>> round(s_dbw([[0.0], [0.5], [1.0], [5.0], [5.5], [6.0]], [0, 0, 0, 1, 1, 1]), 4)
    0.026
    """
    values, codes, k = _parts(X, labels)
    scatter, lengths = _scatter(values, codes, k)
    radius = float(np.sqrt(lengths.sum()) / k)
    means = _means(values, codes, k)
    total = 0.0
    for i in range(k):
        for j in range(i + 1, k):
            both = values[(codes == i) | (codes == j)]
            places = np.stack([means[i], means[j], (means[i] + means[j]) / 2.0])
            inside = (cdist(places, both) <= radius).sum(axis=1)
            total += 2.0 * inside[2] / max(inside[0], inside[1], 1)
    return float(scatter + total / (k * (k - 1)))
