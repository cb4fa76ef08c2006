"""Genie: single linkage on a minimum spanning tree, with a limit on unequal cluster sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clusterscape import kernels
from clusterscape._core.params import Instance, Integer, Number, check_params, checked
from clusterscape._core.weights import checked_weights
from clusterscape.linalg.mst import SpanningTree

_MOST_MASS = 200_000_000  # total weight, for which 24 bytes each are held


@dataclass(frozen=True)
class GenieTree:
    """The merges of Genie, from single points to one cluster (or one per piece of the graph).

    Attributes
    ----------
    pairs : (m, 2) array
        Two points of the clusters that each step merges: the ends of an edge of the spanning tree.
    lengths : (m,) array
        Lengths of those edges. They need not ascend.
    gini : (m,) array
        Gini index of the cluster sizes before each merge.
    forced : (m,) array of bool
        Whether the index was above the threshold, so that a smallest cluster had to take part.
    n_points : int
        Points that were clustered.
    """

    pairs: np.ndarray
    lengths: np.ndarray
    gini: np.ndarray
    forced: np.ndarray
    n_points: int

    @property
    def n_components(self) -> int:
        """Fewest clusters: pieces of the graph that nothing joins."""
        return self.n_points - len(self.pairs)

    def labels(self, n_clusters: int | Iterable[int]) -> np.ndarray:
        """Return the labels for one number of clusters, or for several at once.

        Parameters
        ----------
        n_clusters : int or sequence of int
            From ``n_components`` to the number of points.

        Returns
        -------
        (n,) or (n, len(n_clusters)) array
            Clusters are numbered in the order of their first points.

        Examples
        --------
        >>> from clusterscape.linalg.genie import genie
        >>> from clusterscape.linalg.mst import spanning_tree
        >>> genie(spanning_tree([[0.0], [1.0], [5.0], [6.5]])).labels([1, 2])
        array([[0, 0],
               [0, 0],
               [0, 1],
               [0, 1]], dtype=int32)
        """
        several = isinstance(n_clusters, Iterable)
        wanted: list[int] = list(n_clusters) if isinstance(n_clusters, Iterable) else [n_clusters]
        for k in wanted:
            check_params("labels", {"n_clusters": k}, {"n_clusters": (Integer(1),)})
            if not self.n_components <= k <= self.n_points:
                raise ValueError(
                    f"n_clusters={k} is not between {self.n_components}, the pieces of the graph, "
                    f"and {self.n_points}, the points; choose one in this range"
                    + (", or give a graph that joins the pieces." if k < self.n_components else ".")
                )
        counts = self.n_points - np.array(wanted, dtype=np.int64)
        ascending = np.argsort(counts, kind="stable")
        found = np.empty((self.n_points, len(wanted)), dtype=np.int32)
        steps = np.arange(len(self.pairs))
        kernels.genie.labels_at(self.pairs, steps, counts[ascending], self.n_points, found)
        out = np.empty_like(found)
        out[:, ascending] = found
        return out if several else out[:, 0]


@checked({"tree": (Instance(SpanningTree),), "gini_threshold": (Number(0, 1),)})
def genie(
    tree: SpanningTree, *, gini_threshold: float = 0.3, weights: ArrayLike | None = None
) -> GenieTree:
    """Return the hierarchy that Genie builds on a minimum spanning tree.

    Every point starts as a cluster. As long as the Gini index of the cluster sizes is at most the
    threshold, the next merge is along the shortest edge left, as in single linkage; while it is
    above, along the shortest edge that touches a smallest cluster. So outliers are taken up early
    and do not stay as clusters of their own. A true cluster much smaller than the rest is
    taken up too: raise the threshold for clusters of very unequal sizes.

    Parameters
    ----------
    tree : SpanningTree
        Of features or of given distances. With ``reachability`` above 1 chains between clusters
        count less.
    gini_threshold : float
        Between 0 and 1. 1 never applies the limit and gives single linkage; 0 always does, unless
        all clusters are equally large.
    weights : (n,) array, optional
        Whole numbers >= 1: a point of weight w starts as a cluster of size w.

    Returns
    -------
    GenieTree
        All merges; ``labels(k)`` gives a partition for any number of clusters.

    See Also
    --------
    clusterscape.linalg.mst.spanning_tree : The tree.

    Notes
    -----
    Sizes are kept in Fenwick trees, so a merge and the Gini index after it cost O(log n), and the
    whole O(n log n) after the spanning tree. Equal edges merge in the order of ``tree``.

    References
    ----------
    M. Gagolewski, M. Bartoszuk, A. Cena, "Genie: A new, fast, and outlier-resistant hierarchical
    clustering algorithm", Information Sciences 363, 2016. doi:10.1016/j.ins.2016.05.003

    Examples
    --------
    >>> from clusterscape.linalg.genie import genie
    >>> from clusterscape.linalg.mst import spanning_tree
    >>> tree = spanning_tree([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0], [17.0]])
    >>> genie(tree).labels(2)
    array([0, 0, 0, 1, 1, 1, 1], dtype=int32)
    """
    sizes = _sizes(weights, tree.n_points)
    m = len(tree.pairs)
    order = np.empty(m, dtype=np.int64)
    forced = np.empty(m, dtype=bool)
    pairs = np.ascontiguousarray(tree.pairs, dtype=np.int64)
    gini = kernels.genie.merges(pairs, sizes, float(gini_threshold), order, forced)
    return GenieTree(pairs[order], tree.lengths[order], gini, forced, tree.n_points)


def _sizes(weights: Any, n: int) -> np.ndarray:
    values = checked_weights(weights, n, name="weights", positive=True)
    if (values != np.rint(values)).any():
        raise ValueError(
            "weights must be whole numbers >= 1: the points that each represents; got values from "
            f"{values.min():g} to {values.max():g}."
        )
    if values.sum() > _MOST_MASS:
        raise ValueError(
            f"weights sum to {values.sum():,.0f}, more than {_MOST_MASS:,}; divide them by a "
            "common factor."
        )
    return values.astype(np.int64)
