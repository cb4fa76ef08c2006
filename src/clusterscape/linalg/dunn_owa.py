"""Validity of a partition by near neighbours: how far apart the nearest points of clusters lie."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clusterscape._core.params import Choice, Integer, Null, Such, check_params, checked
from clusterscape.linalg.neighbors import Metric, nearest_neighbors

_BLOCK = 2**16  # edges looked at before asking whether enough are found
_REACH = 3  # a smooth extreme of degree D averages 3 D values

_AVERAGE = (
    Such(
        lambda v: isinstance(v, str) and bool(re.fullmatch(r"SM(in|ax):[1-9]\d*", v)),
        "'SMin:D' or 'SMax:D' with an integer D >= 1",
        refused=["SMin", "SMin:0", 3],
    ),
    Choice("Min", "Max", "Mean", "Const"),
)
_RULES = {
    "numerator": _AVERAGE,
    "denominator": _AVERAGE,
    "smallest": (Null(), Integer(0)),
}


@dataclass(frozen=True)
class NeighborEdges:
    """Pairs of points and their near neighbours, by ascending distance; made once, used often.

    Attributes
    ----------
    points, neighbors : (m,) arrays
        A point and one of its nearest neighbours; a pair occurs twice if each is a neighbour of
        the other.
    distances : (m,) array
        Their distances, ascending.
    n_points : int
        Points of the graph.
    n_neighbors : int
        Neighbours of each point.
    """

    points: np.ndarray
    neighbors: np.ndarray
    distances: np.ndarray
    n_points: int
    n_neighbors: int

    def dunn_owa(
        self,
        labels: ArrayLike,
        *,
        numerator: str = "SMin:5",
        denominator: str = "Const",
        smallest: int | None = None,
    ) -> float:
        """Return the DuNN-OWA index of a partition: the larger, the better.

        It is an average of the distances between near neighbours of different clusters, divided by
        one of those of the same cluster. An average orders its values and weights them by rank:
        "Min", "Max", "Mean"; "SMin:D" and "SMax:D" take the 3 D smallest or largest with weights
        of a normal density of standard deviation D; "Const" is 1.

        Parameters
        ----------
        labels : (n,) array
            Clusters of the points. Noise (-1) and unsampled (-2) points are in no cluster, and
            their pairs do not count.
        numerator, denominator : str
            The averages of the distances between and within clusters. With the defaults the index
            follows clusters of any shape, but depends on a few pairs only.
        smallest : int, optional
            A partition with a cluster of at most this many points gets ``-inf``, since a few
            outliers are always far from the rest; ``n_neighbors`` unless given.

        Returns
        -------
        float
            ``-inf`` for fewer than two clusters or a cluster that is too small, ``inf`` if no point
            has a near neighbour in another cluster.
        """
        values = {"numerator": numerator, "denominator": denominator, "smallest": smallest}
        check_params("dunn_owa", values, _RULES)
        codes = np.asarray(labels)
        if codes.shape != (self.n_points,) or codes.dtype.kind not in "iu":
            raise ValueError(
                f"labels must be {self.n_points} integers, one per point; got an array of shape "
                f"{codes.shape} and type {codes.dtype}."
            )
        sizes = np.unique(codes[codes >= 0], return_counts=True)[1]
        least = self.n_neighbors if smallest is None else smallest
        if sizes.size < 2 or sizes.min() <= least:
            return -np.inf
        between = self._average(codes, numerator, apart=True)
        if between is None:
            return np.inf
        within = self._average(codes, denominator, apart=False)
        if within is None or between == 0:
            return 0.0
        return between / within if within > 0 else np.inf

    def _average(self, codes: np.ndarray, rule: str, *, apart: bool) -> float | None:
        """Return the ordered weighted average of one kind of edges, None if there are none."""
        name, _, degree = rule.partition(":")
        wanted = _REACH * int(degree) if degree else 1 if name in ("Min", "Max") else None
        values = self._lengths(codes, apart, wanted, largest=name in ("Max", "SMax"))
        if values.size == 0:
            return None
        if name == "Const":
            return 1.0
        if not degree:
            return float(values.mean())
        weights = np.exp(-0.5 * (np.arange(values.size) / int(degree)) ** 2)
        return float(values @ weights / weights.sum())

    def _lengths(
        self, codes: np.ndarray, apart: bool, wanted: int | None, *, largest: bool
    ) -> np.ndarray:
        """Return lengths of edges between or within clusters, ``wanted`` of them or all.

        They come from the end that is asked for inwards.
        """
        m = self.distances.size
        found: list[np.ndarray] = []
        count = 0
        for start in range(0, m, _BLOCK):
            part = slice(start, start + _BLOCK)
            if largest:
                part = slice(max(0, m - start - _BLOCK), m - start)
            a, b = codes[self.points[part]], codes[self.neighbors[part]]
            kept = self.distances[part][((a != b) == apart) & (a >= 0) & (b >= 0)]
            found.append(kept[::-1] if largest else kept)
            count += kept.size
            if wanted is not None and count >= wanted:
                break
        return np.concatenate(found)[:wanted] if found else np.empty(0)


@checked(
    {
        "n_neighbors": (Integer(1),),
        "metric": (Choice("euclidean", "cosine"),),
        "reachability": (Integer(1),),
    }
)
def neighbor_edges(
    X: Any,
    *,
    n_neighbors: int = 25,
    metric: Metric = "euclidean",
    reachability: int = 1,
) -> NeighborEdges:
    """Return the edges of the graph of near neighbours, to judge many partitions with.

    The graph takes 16 bytes per edge: 0.4 GB for 25 neighbours of a million points. On larger data
    judge a sample of the points.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features, at least two points.
    n_neighbors : int
        M; of at most n - 1 points.
    metric : {"euclidean", "cosine"}
        The distance.
    reachability : int
        As in :func:`~clusterscape.linalg.mst.spanning_tree`: the distance of two points becomes
        the largest of their own and those to their neighbours of this rank, at most
        ``n_neighbors``. 1 changes nothing; more keeps chance pairs of points in sparse regions
        from counting as near.

    Returns
    -------
    NeighborEdges
        ``dunn_owa(labels)`` is the index of a partition.

    See Also
    --------
    clusterscape.linalg.genie.genie : A hierarchy whose cuts the index can compare.

    References
    ----------
    M. Gagolewski, M. Bartoszuk, A. Cena, "Are cluster validity measures (in)valid?", Information
    Sciences 581, 2021. doi:10.1016/j.ins.2021.10.004

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.dunn_owa import neighbor_edges
    >>> X = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> edges = neighbor_edges(X, n_neighbors=3)
    >>> edges.dunn_owa([0, 0, 0, 1, 1, 1], numerator="Min", smallest=1)
    5.0
    >>> edges.dunn_owa([0, 0, 1, 1, 1, 1], numerator="Min", smallest=1)
    1.0
    """
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n < 2:
        raise ValueError(f"X has {n} points; a graph of neighbours needs at least two.")
    count = min(n_neighbors, n - 1)
    distances, indices = nearest_neighbors(X, count, metric=metric)
    if reachability > 1:
        core = distances[:, min(reachability, count) - 1]
        distances = np.maximum(distances, np.maximum(core[:, None], core[indices]))
    order = np.argsort(distances, axis=None, kind="stable")
    points = (order // count).astype(np.int32)
    return NeighborEdges(
        points, indices.ravel()[order].astype(np.int32), distances.ravel()[order], n, count
    )
