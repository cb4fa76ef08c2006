"""Euclidean and mutual-reachability minimum spanning trees, exact and without an n x n matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.neighbors import KDTree
from sklearn.utils import check_array, gen_batches
from sklearn.utils.extmath import row_norms

from clusterscape import kernels
from clusterscape._core.params import Choice, Integer, checked
from clusterscape.linalg.neighbors import directions, nearest_neighbors, row_distances

Metric = Literal["euclidean", "cosine", "precomputed"]
Algorithm = Literal["auto", "prim", "boruvka"]

_SMALL = 4_000  # points below which Prim is fastest whatever the data
_TREE_COLUMNS = 60  # a k-d tree is not even tried on more columns
_LEAF = 32
_PROBES = 200  # searches from which the pruning of the k-d tree is estimated
# A point looked at in the k-d tree costs, over all rounds of searches, about this many distances
# of Prim's in double precision, and twice as many in single precision.
_COST = 3.0
_BLOCK = 4_000_000  # elements of a temporary block


@dataclass(frozen=True)
class SpanningTree:
    """A minimum spanning tree of points, or a forest where the graph is not connected.

    Attributes
    ----------
    pairs : (m, 2) array
        Ends of the edges, by ascending length.
    lengths : (m,) array
        Lengths of the edges; under mutual reachability those, not the plain distances.
    n_points : int
        Points that the tree spans.
    algorithm : str
        What computed it: "prim", "boruvka" or "kruskal".
    """

    pairs: np.ndarray
    lengths: np.ndarray
    n_points: int
    algorithm: str

    @property
    def n_components(self) -> int:
        """Trees of the forest; 1 if the graph is connected."""
        return self.n_points - len(self.pairs)


@checked(
    {
        "metric": (Choice("euclidean", "cosine", "precomputed"),),
        "reachability": (Integer(1),),
        "algorithm": (Choice("auto", "prim", "boruvka"),),
    }
)
def spanning_tree(
    X: Any,
    *,
    metric: Metric = "euclidean",
    reachability: int = 1,
    algorithm: Algorithm = "auto",
    near: np.ndarray | None = None,
) -> SpanningTree:
    """Return a minimum spanning tree of points, exact also where distances are equal.

    The tree needs O(n) memory beside X. It follows chains of points: a few points between two
    clusters make the edge that joins them short, which ``reachability`` above 1 counters.

    Parameters
    ----------
    X : (n, d) array or CSR matrix; for "precomputed" (n, n) array or sparse matrix
        The features, or a symmetric matrix of distances. In a sparse matrix of distances only the
        stored pairs (explicit zeros too) are joined, and the result may be a forest.
    metric : {"euclidean", "cosine", "precomputed"}
        The distance; "cosine" is 1 - cosine.
    reachability : int
        M: the distance of two points becomes the largest of their own distance and the distances
        of both to their M-th nearest other points. 1 changes nothing, since no distance is smaller.
        (scikit-learn's HDBSCAN counts the point itself: its ``min_samples`` is M + 1.)
    algorithm : {"auto", "prim", "boruvka"}
        Prim computes half of the n^2 distances; Boruvka searches a k-d tree, which takes
        O(n log n) in few dimensions and more than Prim in many. "auto" is Prim below 4,000 points
        and else decides by how many points the searches of a few hundred points look at. Boruvka
        needs dense features.
    near : (n, m) array, optional
        Distances of each point's nearest others, ascending, where they are known of at least
        ``reachability`` others: what
        :func:`~clusterscape.linalg.neighbors.nearest_neighbors` gives. Not for "precomputed".

    Returns
    -------
    SpanningTree
        Edges by ascending length, and what computed them.

    See Also
    --------
    clusterscape.linalg.genie.genie : A hierarchy on such a tree.

    References
    ----------
    R. C. Prim, "Shortest connection networks and some generalizations", Bell System Technical
    Journal 36, 1957.

    W. B. March, P. Ram, A. G. Gray, "Fast Euclidean minimum spanning tree: algorithm, analysis, and
    applications", KDD 2010. doi:10.1145/1835804.1835882

    R. J. G. B. Campello, D. Moulavi, J. Sander, "Density-based clustering based on hierarchical
    density estimates", PAKDD 2013. doi:10.1007/978-3-642-37456-2_14

    Examples
    --------
    >>> from clusterscape.linalg.mst import spanning_tree
    >>> tree = spanning_tree([[0.0], [1.0], [5.0], [3.0]])
    >>> tree.lengths
    array([1., 2., 2.])
    """
    if metric == "precomputed":
        if algorithm == "boruvka":
            raise ValueError(
                "algorithm='boruvka' searches features, but X is a matrix of distances "
                "(metric='precomputed'); use algorithm='auto'."
            )
        return _of_matrix(X, reachability)
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    if algorithm == "boruvka" and sparse.issparse(X):
        raise ValueError(
            "algorithm='boruvka' needs dense features, but X is sparse; use algorithm='auto' or "
            "'prim', or X.toarray() if that fits in memory."
        )
    n = X.shape[0]
    _check_reachability(reachability, n)
    rows = directions(X) if metric == "cosine" else X
    core = np.zeros(n)
    rows, unit = _scaled(rows)
    if reachability > 1:
        core = _core_distances(rows, unit, reachability, metric, near)
    pairs, used = _edges(rows, core, reachability > 1, algorithm)
    plain = row_distances(rows, pairs[:, 0], pairs[:, 1])
    lengths = np.maximum(plain, core[pairs].max(axis=1, initial=0.0)) if reachability > 1 else plain
    order = np.lexsort((plain, lengths))
    lengths = lengths[order] * unit
    return SpanningTree(pairs[order], lengths**2 / 2 if metric == "cosine" else lengths, n, used)


def _core_distances(
    rows: Any, unit: float, reachability: int, metric: str, near: np.ndarray | None
) -> np.ndarray:
    """Return the distance of every row to its neighbour of that number, in units."""
    if near is None:
        return nearest_neighbors(rows, reachability)[0][:, -1]
    known = near[:, reachability - 1]
    return (np.sqrt(2.0 * known) if metric == "cosine" else known) / unit


def _check_reachability(reachability: int, n: int) -> None:
    if reachability > max(n - 1, 1):
        raise ValueError(
            f"reachability={reachability} neighbours were asked for, but each of the {n} points "
            f"has only {n - 1} others; use at most {max(n - 1, 1)}."
        )


def _scaled(X: Any) -> tuple[Any, float]:
    """Return rows whose squares are finite, and the power of two they were divided by."""
    largest = max(float(X.max()), -float(X.min()))
    if largest == 0 or 1e-12 < largest < 1e12:
        return X, 1.0
    unit = 2.0 ** np.floor(np.log2(largest))
    return X / X.dtype.type(unit), float(unit)


def _edges(X: Any, core: np.ndarray, reachability: bool, algorithm: str) -> tuple[np.ndarray, str]:
    """Return the edges of the tree, and the algorithm that found them."""
    n = X.shape[0]
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    if sparse.issparse(X):
        X = X.astype(np.float64)
        arrays = X.data, X.indices, X.indptr, row_norms(X, squared=True)
        kernels.mst.prim_sparse(*arrays, X.shape[1], core**2, reachability, pairs)
        return pairs, "prim"
    suits = n > _SMALL and X.shape[1] <= _TREE_COLUMNS
    if algorithm == "boruvka" or (algorithm == "auto" and suits):
        tree = _Tree(X, core)
        cost = _COST * (2 if X.dtype == np.float32 else 1) * tree.looked_at()
        if algorithm == "boruvka" or cost < n / 2:
            kernels.mst.boruvka(*tree.arrays, pairs)
            return pairs, "boruvka"
    XT = np.array(X.T, order="C")  # a copy: the kernel shortens it as points join the tree
    kernels.mst.prim(XT, np.square(core.astype(XT.dtype)), reachability, pairs)
    return pairs, "prim"


class _Tree:
    """scikit-learn's k-d tree, as the kernels read it."""

    def __init__(self, X: np.ndarray, core: np.ndarray) -> None:
        points = np.ascontiguousarray(X, dtype=np.float64)
        _, order, nodes, bounds = (np.asarray(a) for a in KDTree(points, _LEAF).get_arrays())
        begin, end = (nodes[name].astype(np.int64) for name in ("idx_start", "idx_end"))
        is_leaf = nodes["is_leaf"].astype(bool)
        nodes_of = begin, end, is_leaf, *(np.ascontiguousarray(b) for b in bounds)
        leaves = kernels.mst.pack_leaves(points, order, begin, end, is_leaf)
        squared = core[order] ** 2
        least = kernels.mst.node_minima(squared, begin, end, is_leaf)
        self.arrays = nodes_of, leaves, squared, least, points, order

    def looked_at(self) -> float:
        """Return how many points a search for the nearest neighbour visits, on average."""
        n = len(self.arrays[4])
        sample = np.unique(np.linspace(0, n - 1, _PROBES).astype(np.int64))
        return kernels.mst.probe(*self.arrays, sample) / sample.size


# -- distances that are given ---------------------------------------------------------------------


def _of_matrix(X: Any, reachability: int) -> SpanningTree:
    D = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = D.shape[0]
    if D.shape != (n, n):
        raise ValueError(
            f"metric='precomputed' needs a square matrix of distances; X has shape {D.shape}."
        )
    _check_reachability(reachability, n)
    if sparse.issparse(D):
        return _of_graph(D, reachability)
    for rows in gen_batches(n, max(1, _BLOCK // n)):
        block = D[rows]
        if block.min() < 0 or not np.allclose(block, D[:, rows].T):
            raise ValueError(
                "metric='precomputed' needs distances >= 0 that are symmetric; give "
                "(X + X.T) / 2, and 1 - X if X holds similarities."
            )
    core = np.zeros(n)
    if reachability > 1:
        for rows in gen_batches(n, max(1, _BLOCK // n)):
            block = D[rows].copy()
            block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = 0.0
            core[rows] = np.partition(block, reachability, axis=1)[:, reachability]
    pairs = np.empty((n - 1, 2), dtype=np.int64)
    kernels.mst.prim_matrix(np.ascontiguousarray(D), core, reachability > 1, pairs)
    plain = D[pairs[:, 0], pairs[:, 1]].astype(np.float64)
    lengths = np.maximum(plain, core[pairs].max(axis=1, initial=0.0))
    order = np.lexsort((plain, lengths))
    return SpanningTree(pairs[order], lengths[order], n, "prim")


def _of_graph(D: sparse.csr_matrix, reachability: int) -> SpanningTree:
    """Return the forest of the stored pairs; either of (i, j) and (j, i) is enough."""
    n = D.shape[0]
    edges = D.tocoo()
    if edges.data.size and edges.data.min() < 0:
        raise ValueError("metric='precomputed' needs distances >= 0; X has negative ones.")
    apart = edges.row != edges.col
    rows, cols = edges.row[apart].astype(np.int64), edges.col[apart].astype(np.int64)
    plain = edges.data[apart].astype(np.float64)
    low, high = np.minimum(rows, cols), np.maximum(rows, cols)
    order = np.lexsort((plain, high, low))
    low, high, plain = low[order], high[order], plain[order]
    first = np.append(True, (np.diff(low) != 0) | (np.diff(high) != 0))[: low.size]
    last = np.append(first[1:], True)[: low.size]
    if not np.allclose(plain[first], plain[last]):
        raise ValueError("metric='precomputed' needs symmetric distances; give (X + X.T) / 2.")
    low, high, plain = low[first], high[first], plain[first]
    lengths = plain
    if reachability > 1:
        core = _graph_cores(low, high, plain, n, reachability)
        lengths = np.maximum(plain, np.maximum(core[low], core[high]))
    order = np.lexsort((plain, lengths))
    chosen = np.zeros(order.size, dtype=bool)
    kernels.mst.kruskal(low[order], high[order], n, chosen)
    kept = order[chosen]
    return SpanningTree(np.column_stack([low[kept], high[kept]]), lengths[kept], n, "kruskal")


def _graph_cores(
    low: np.ndarray, high: np.ndarray, lengths: np.ndarray, n: int, count: int
) -> np.ndarray:
    """Return the distance of each point to its ``count``-th neighbour in the graph."""
    ends = np.concatenate([low, high])
    both = np.concatenate([lengths, lengths])
    order = np.lexsort((both, ends))
    degree = np.bincount(ends, minlength=n)
    if degree.min() < count:
        x = int(degree.argmin())
        raise ValueError(
            f"reachability={count} needs {count} stored distances per point, but point {x} "
            f"has {degree[x]}; store more neighbours or lower reachability."
        )
    return both[order][np.cumsum(degree) - degree + count - 1]
