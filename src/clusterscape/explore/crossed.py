"""What the clusters of a partition have in common: a view for another structure of the points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from clusterscape._core.labels import canonical
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import refuse_other_names
from clusterscape.generate.features import read_matrix
from clusterscape.linalg.distances import check_range, squared_distances


@dataclass(frozen=True, eq=False)
class CrossedView:
    """Points without the clusters of a partition, drawn together across these clusters.

    Attributes
    ----------
    points : (n, d) array
        The mean of each point and its partners in the other clusters, each without the mean of its
        own cluster. A table for ``views`` of :meth:`Landscape.fit`.
    agreement : float
        How often two partners of a point, in different clusters, are partners of each other; nan
        where there are only two clusters.
    chance : float
        The agreement of partners that are drawn at random.

    See Also
    --------
    crossed_view : Make one.
    """

    points: np.ndarray
    agreement: float
    chance: float

    def __repr__(self) -> str:
        """Say how far partners agree; the table has a row per point."""
        n, d = self.points.shape
        return (
            f"CrossedView({n} points, {d} columns, agreement={self.agreement:.3g}, "
            f"chance={self.chance:.3g})"
        )


def crossed_view(X: Any, labels: Any) -> CrossedView:
    """Look for what is the same in every cluster of a partition, and show the points by it.

    Faces can be divided by person, and by the light they were taken in: each person was seen in
    every light. The second structure is crossed with the first, and is hidden by it. So the mean of
    its cluster is taken out of every point; the points of every two clusters are then paired one to
    one such that the squared distances of pairs have the least sum; and every point is replaced by
    its mean with its partners, in which what pairs do not share is small.

    Parameters
    ----------
    X : (n, d) array or data frame
        The points.
    labels : (n,) array
        The known partition, of at least two clusters and without noise.

    Returns
    -------
    CrossedView

    See Also
    --------
    Landscape : Takes the points of the view as one of its ``views``.

    Notes
    -----
    The view supposes that the other structure is independent of the known one: that its clusters
    have like shares of every known cluster. Where that is not so, points are paired that have
    nothing in common. Of the larger of two clusters only the points that fit best have partners, so
    that a cluster that joins two groups, or has half of one, does little harm to the others.

    Pairs are made whether or not there is anything to find, and their means lie closer together
    than the points did, so that clusters of a view look clearer than they are, most of all where
    there are as many as points in a known cluster. Two things speak for them: an agreement well
    above chance, and clusters that are found without pairs as well, if less well. Points without
    any clusters have a high agreement too in few dimensions, where partners are those that lie at
    the same place.

    The pairs of two clusters take the cube of the number of their points, and the memory of their
    distances.

    References
    ----------
    .. [1] Y. Cui, X. Z. Fern and J. G. Dy. Non-redundant multi-view clustering via
       orthogonalization. 7th IEEE International Conference on Data Mining, 133-142, 2007.
       doi:10.1109/ICDM.2007.94
    .. [2] D. F. Crouse. On implementing 2D rectangular assignment algorithms. IEEE Transactions on
       Aerospace and Electronic Systems 52(4), 1679-1696, 2016. doi:10.1109/TAES.2016.140952

    Examples
    --------
    Two groups that are far apart, in each of which the points lie at two places:

    >>> import numpy as np
    >>> from clusterscape.explore import crossed_view
    >>> X = np.array([[0.0, 1], [0, 3], [50, 1.2], [50, 2.8]])
    >>> crossed_view(X, [0, 0, 1, 1]).points
    array([[ 0. , -0.9],
           [ 0. ,  0.9],
           [ 0. , -0.9],
           [ 0. ,  0.9]])
    """
    read = read_matrix(X)
    points = read.views[0]
    if sparse.issparse(points):
        raise TypeError(
            "X is sparse, and without the means of clusters it would not be; give a dense table of "
            "fewer columns, for example of TruncatedSVD."
        )
    check_range(points, "X")
    codes = _known(labels, points.shape[0], read.index)
    members = [np.flatnonzero(codes == c) for c in range(int(codes.max()) + 1)]
    rest = np.array(points)
    for rows in members:
        rest[rows] -= rest[rows].mean(axis=0)
    pairs = _pairs(rest, members)
    count = 1 + np.asarray(pairs.sum(axis=1))
    agreement, chance = _agreement(pairs, members, codes)
    shown = ((rest + pairs @ rest) / count).astype(rest.dtype)
    return CrossedView(points=shown, agreement=agreement, chance=chance)


def _known(labels: Any, n: int, ids: pd.Index | None) -> np.ndarray:
    """Return the codes of the known partition, by falling size of the clusters."""
    given = Ensemble.from_labels([labels])
    codes = given.labels[:, 0].astype(np.int64)
    if codes.size != n:
        raise ValueError(f"labels has {codes.size} entries and X {n} rows; both must be equal.")
    if given.index is not None and ids is not None:
        refuse_other_names(ids, given.index, "X and labels")
    if (codes < 0).any():
        raise ValueError(
            f"labels has {int((codes < 0).sum())} points in no cluster (-1 or -2); leave them out, "
            "here and in X, or make them clusters."
        )
    if codes.max() < 1:
        raise ValueError("labels has one cluster; pairs are made between clusters, so give two.")
    return canonical(codes).astype(np.int64)


def _pairs(rest: np.ndarray, members: list[np.ndarray]) -> sparse.csr_matrix:
    """Return the n by n links of partners: between any two clusters one to one."""
    left, right = [], []
    for a, mine in enumerate(members):
        for other in members[:a]:
            rows, columns = linear_sum_assignment(squared_distances(rest[mine], rest[other]))
            left.append(mine[rows])
            right.append(other[columns])
    ends = np.concatenate(left), np.concatenate(right)
    one_way = sparse.csr_matrix((np.ones(ends[0].size, dtype=rest.dtype), ends), (len(rest),) * 2)
    return (one_way + one_way.T).tocsr()


def _agreement(
    pairs: sparse.csr_matrix, members: list[np.ndarray], codes: np.ndarray
) -> tuple[float, float]:
    """Return how often partners of a point are partners, and how often by chance they would be."""
    sizes = np.array([rows.size for rows in members])
    total = closed = expected = 0.0
    for c, rows in enumerate(members):  # a cluster at a time: all paths could be n by n
        some = pairs[rows]
        paths = (some @ pairs).tocoo()
        far = codes[paths.col]
        apart = far != c  # others lead to the cluster that they came from
        steps = paths.data[apart].astype(np.float64)
        total += steps.sum()
        expected += (steps / np.maximum(sizes[c], sizes[far[apart]])).sum()
        closed += float(some.multiply(paths.tocsr()).sum())
    if total == 0:
        return float("nan"), float("nan")
    return closed / total, expected / total
