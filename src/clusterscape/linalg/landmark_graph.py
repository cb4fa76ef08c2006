"""The graph of points and landmarks: linear in the points, for data of any size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils.extmath import row_norms
from sklearn.utils.sparsefuncs import mean_variance_axis

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Choice, Flag, Integer, Number, Seed, checked
from clusterscape._core.rows import slices
from clusterscape.linalg.distances import centre_of
from clusterscape.linalg.kmeans import kmeans

Metric = Literal["euclidean", "cosine"]
Bandwidth = Literal["mean", "rms", "lsc"] | float

_SCORES = 2**18  # scores of a block: few enough for the cache
_BYTES = 2**31  # of dense landmarks at most
_SAMPLE = 10  # points per landmark among which k-means places the landmarks
_FAR = 60.0  # exponents are kept below this, so that no row of weights is zero


@dataclass(frozen=True)
class LandmarkGraph:
    """Points linked to their nearest landmarks.

    Attributes
    ----------
    matrix : (n, p) CSR matrix
        Weights of the links, ``nearest`` in each row.
    landmarks : (p, d) array or CSR matrix
        The landmarks; rows of unit length for the cosine.
    nearest : int
        Links of a point.
    bandwidth : float
        s of the weights ``exp(-d^2 / (2 s^2))``.
    shares : bool
        Whether the weights of a row sum to one.
    metric : str
        "euclidean" or "cosine".
    """

    matrix: sparse.csr_matrix
    landmarks: Any
    nearest: int
    bandwidth: float
    shares: bool
    metric: Metric

    def extend(self, X: Any) -> sparse.csr_matrix:
        """Return the links of new points, with the landmarks and the bandwidth of the graph.

        Parameters
        ----------
        X : (m, d) array or CSR matrix
            The points.

        Returns
        -------
        (m, p) CSR matrix
            The rows that the points would have had in ``matrix``.
        """
        X = _checked_rows(X)
        if X.shape[1] != self.landmarks.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the landmarks have {self.landmarks.shape[1]}; "
                "give the same columns as when the graph was made."
            )
        search = LandmarkSearch(self.landmarks, self.metric)
        squares, indices = search.nearest(X, self.nearest, exact=True)
        return _links(X, squares, indices, self.landmarks.shape[0], self)


@checked(
    {
        "n_landmarks": (Integer(1),),
        "nearest": (Integer(1),),
        "landmarks": (Choice("kmeans", "random"),),
        "bandwidth": (Choice("mean", "rms", "lsc"), Number(0, open_low=True)),
        "shares": (Flag(),),
        "metric": (Choice("euclidean", "cosine"),),
        "max_iter": (Integer(1),),
        "seed": (Seed(),),
    }
)
def landmark_graph(
    X: Any,
    n_landmarks: int = 1000,
    *,
    nearest: int = 5,
    landmarks: Literal["kmeans", "random"] = "kmeans",
    bandwidth: Bandwidth = "mean",
    shares: bool = False,
    metric: Metric = "euclidean",
    max_iter: int = 10,
    seed: _seeds.RandomState = 0,
) -> LandmarkGraph:
    """Link every point to its nearest landmarks, with Gaussian weights.

    One pass over the points in blocks, O(n p d) products and O(n r) memory. Landmarks are too few
    where clusters are finer than the distances between them; then clusters share landmarks and
    cannot be separated.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The features. float32 is computed in float32, with a check in float64 where it matters.
    n_landmarks : int
        p, at most n (all points are landmarks of themselves then).
    nearest : int
        r: links of each point, at most p.
    landmarks : {"kmeans", "random"}
        Centres of k-means on 10 p random points (U-SPEC), or random points (LSC-R). k-means may
        give fewer where points are equal. Centres of sparse rows are dense.
    bandwidth : {"mean", "rms", "lsc"} or float
        s of the weights ``exp(-d^2 / (2 s^2))``: the mean distance of the links (U-SPEC); the root
        of their mean square; the mean of all n p squared distances (the published LSC code, in
        which s is thus a squared length); or a number.
    shares : bool
        Divide the weights of each point by their sum (LSC).
    metric : {"euclidean", "cosine"}
        With "cosine" d is the Euclidean distance of rows of unit length. A row of zeros has no
        direction and no links.
    max_iter : int
        Iterations of that k-means; more move the landmarks, but hardly the clusters found by them.
    seed : int, generator or None
        Of the landmarks.

    Returns
    -------
    LandmarkGraph
        ``matrix`` holds the weights; ``extend`` gives those of new points.

    See Also
    --------
    clusterscape.linalg.transfer_cut.transfer_cut : The spectral cut of such a graph.

    References
    ----------
    D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai, C.-K. Kwoh, "Ultra-scalable spectral clustering and
    ensemble clustering", IEEE Transactions on Knowledge and Data Engineering 32, 2020.
    doi:10.1109/TKDE.2019.2903410

    X. Chen, D. Cai, "Large scale spectral clustering with landmark-based representation",
    AAAI Conference on Artificial Intelligence, 313-318, 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.landmark_graph import landmark_graph
    >>> X = np.array([[0.0], [1.0], [10.0], [11.0]])
    >>> graph = landmark_graph(X, 4, nearest=2, landmarks="random", bandwidth=1.0)
    >>> graph.matrix.toarray().round(2)
    array([[1.  , 0.61, 0.  , 0.  ],
           [0.61, 1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.61],
           [0.  , 0.  , 0.61, 1.  ]])
    """
    X = _checked_rows(X)
    chosen = choose_landmarks(
        X, min(n_landmarks, X.shape[0]), landmarks, metric=metric, max_iter=max_iter, seed=seed
    )
    count = min(nearest, chosen.shape[0])
    squares, indices = LandmarkSearch(chosen, metric).nearest(X, count, exact=True)
    scale = _bandwidth(X, chosen, squares, bandwidth, metric)
    empty = sparse.csr_matrix((0, chosen.shape[0]))
    plan = LandmarkGraph(empty, chosen, count, scale, bool(shares), metric)
    matrix = _links(X, squares, indices, chosen.shape[0], plan)
    return LandmarkGraph(matrix, chosen, count, scale, bool(shares), metric)


def _checked_rows(X: Any) -> Any:
    return check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])


def choose_landmarks(
    X: Any,
    p: int,
    rule: Literal["kmeans", "random", "all"],
    *,
    metric: Metric = "euclidean",
    max_iter: int = 10,
    seed: _seeds.RandomState = 0,
) -> Any:
    """Return landmarks of the points, at unit length for the cosine.

    Parameters
    ----------
    X : (n, d) array or CSR matrix
        The points.
    p : int
        Landmarks, at most n.
    rule : {"kmeans", "random", "all"}
        Centres of k-means on 10 p points, random points, or all points as they are.
    metric, max_iter, seed
        As in :func:`landmark_graph`.

    Returns
    -------
    (p, d) array or CSR matrix
        Fewer than p where k-means finds fewer different points.
    """
    if rule == "all":
        return normalize(X) if metric == "cosine" else X
    drawing, starting = _seeds.spawn(seed, 2)
    rng = np.random.default_rng(drawing)
    n = X.shape[0]
    if rule == "random":
        found = X[np.sort(rng.choice(n, p, replace=False))]
        return normalize(found) if metric == "cosine" else found
    if sparse.issparse(X) and p * X.shape[1] * X.dtype.itemsize > _BYTES:
        raise MemoryLimitError(
            f"{p} k-means centres of {X.shape[1]:,} columns, dense although the rows are sparse,",
            p * X.shape[1] * X.dtype.itemsize / 1e9,
            _BYTES / 1e9,
            parameter=None,
            remedies=["use landmarks='random', which stay sparse", "take fewer landmarks"],
        )
    size = min(n, _SAMPLE * p)
    some = X if size == n else X[np.sort(rng.choice(n, size, replace=False))]
    found = kmeans(some, p, metric=metric, init="random", max_iter=max_iter, seed=starting)
    return normalize(found.centers) if metric == "cosine" else found.centers


# -- the search -----------------------------------------------------------------------------------


class LandmarkSearch:
    """The nearest landmarks of points, by products in blocks.

    Parameters
    ----------
    landmarks : (p, d) array or CSR matrix
        The landmarks; of unit length for the cosine.
    metric : {"euclidean", "cosine"}
        With "cosine" the points are scaled to unit length.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.landmark_graph import LandmarkSearch
    >>> squares, indices = LandmarkSearch(np.array([[0.0], [4.0]])).nearest(np.array([[1.0]]), 2)
    >>> squares, indices
    (array([[1., 9.]]), array([[0, 1]], dtype=int32))
    """

    def __init__(self, landmarks: Any, metric: Metric = "euclidean") -> None:
        self.landmarks = landmarks
        self.metric = metric
        self._centre: Any = centre_of(landmarks)
        self._table = None if self._centre is None else _score_table(landmarks, self._centre)

    def nearest(self, X: Any, count: int, *, exact: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances and numbers of the nearest landmarks, nearest first.

        Parameters
        ----------
        X : (n, d) array or CSR matrix
            The points.
        count : int
            Landmarks of a point, at most p.
        exact : bool
            Look a second time at landmarks that are nearly as near, where rounding of the products
            could decide; of dense points and landmarks only.

        Returns
        -------
        squares, indices : (n, count) arrays
        """
        n = X.shape[0]
        squares = np.empty((n, count))
        indices = np.empty((n, count), dtype=np.int32)
        for rows in slices(n, max(16, _SCORES // max(self.landmarks.shape))):
            block = normalize(X[rows]) if self.metric == "cosine" else X[rows]
            found = squares[rows], indices[rows]
            if self._table is None or sparse.issparse(block):
                kernels.landmarks.nearest_scores(_product_scores(block, self.landmarks), *found)
                continue
            moved = np.empty((len(block), block.shape[1] + 1), dtype=self._table.dtype)
            np.subtract(block, self._centre, out=moved[:, :-1], casting="same_kind")
            moved[:, -1] = 1.0
            scores = moved @ self._table
            lengths = np.einsum("ij,ij->i", moved[:, :-1], moved[:, :-1])
            if not exact:
                scores += lengths[:, None]
                kernels.landmarks.nearest_scores(scores, *found)
                continue
            pair = np.ascontiguousarray(block), np.ascontiguousarray(self.landmarks)
            slack = _slack(self._table, np.sqrt(lengths)).astype(scores.dtype)
            kernels.landmarks.nearest_dense(scores, slack, *pair, *found)
        return squares, indices


def _slack(table: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the difference of two scores of each point that may be rounding."""
    # A product of d terms is wrong by at most about d eps |x| |c|; twice, for two landmarks.
    far = np.sqrt(table[-1].max(initial=0.0))
    eps = np.finfo(table.dtype).eps
    return (4.0 * np.sqrt(len(table)) * eps) * (lengths * far + far * far)


def _score_table(landmarks: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the (d + 1, p) table whose product with (x, 1) is |c|^2 - 2 x c."""
    moved = landmarks - centre
    return np.vstack([-2.0 * moved.T, row_norms(moved, squared=True)]).astype(moved.dtype)


def _product_scores(block: Any, landmarks: Any) -> np.ndarray:
    """Return squared distances of rows, either side dense or CSR, from products."""
    scores = _products(block, landmarks)
    scores *= -2.0
    scores += row_norms(landmarks, squared=True)
    scores += row_norms(block, squared=True)[:, None]
    np.maximum(scores, 0.0, out=scores)
    return scores


def _products(left: Any, right: Any) -> np.ndarray:
    """Return the dense products of rows, either side dense or CSR, in double precision."""
    product = left.astype(np.float64) @ right.astype(np.float64).T
    return product.toarray() if sparse.issparse(product) else np.ascontiguousarray(product)


# -- the weights ----------------------------------------------------------------------------------


def _bandwidth(
    X: Any, landmarks: Any, squares: np.ndarray, rule: Bandwidth, metric: Metric
) -> float:
    if not isinstance(rule, str):
        return float(rule)
    if rule == "mean":
        found = float(np.sqrt(squares).mean())
    elif rule == "rms":
        found = float(np.sqrt(squares.mean()))
    else:
        found = _mean_square(X, landmarks, metric)
    return found if found > 0 else 1.0  # every point is a landmark: any bandwidth gives weight one


def _mean_square(X: Any, landmarks: Any, metric: Metric) -> float:
    """Return the mean of all squared distances: two variances and the distance of the means."""
    sides = normalize(X) if metric == "cosine" else X, landmarks
    means, variances = zip(*map(_moments, sides), strict=True)
    return float(sum(variances) + ((means[0] - means[1]) ** 2).sum())


def _moments(rows: Any) -> tuple[np.ndarray, float]:
    """Return the mean of the rows and their mean squared distance from it, in double precision."""
    if sparse.issparse(rows):
        mean, variance = mean_variance_axis(rows.astype(np.float64), axis=0)
        return mean, float(variance.sum())
    mean = rows.mean(axis=0, dtype=np.float64)
    step = max(16, _SCORES // rows.shape[1])
    blocks = (rows[start : start + step] - mean for start in range(0, len(rows), step))
    return mean, sum(float(np.einsum("ij,ij->", block, block)) for block in blocks) / len(rows)


def link_weights(squares: np.ndarray, bandwidth: float, *, shares: bool = False) -> np.ndarray:
    """Return the Gaussian weights of links by their squared lengths, one row per point.

    Parameters
    ----------
    squares : (n, r) array
        Squared lengths of the links of each point.
    bandwidth : float
        s of the weights ``exp(-d^2 / (2 s^2))``.
    shares : bool
        Divide the weights of each point by their sum.

    Returns
    -------
    (n, r) array

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.landmark_graph import link_weights
    >>> link_weights(np.array([[0.0, 2.0]]), 1.0).round(3)
    array([[1.   , 0.368]])
    """
    if not 1e-150 < bandwidth < 1e150:
        raise ValueError(
            f"bandwidth is {bandwidth:g}, whose square leaves the range of numbers; give one "
            "of the size of the distances, or scale the columns."
        )
    exponent = squares / (2.0 * bandwidth**2)
    # A point far from all landmarks must not lose its links to underflow. What it is linked to
    # depends on the ratios of its weights only.
    least = exponent.min(axis=1, keepdims=True)
    exponent -= least if shares else np.maximum(least - _FAR, 0.0)
    weights = np.exp(-exponent)
    return weights / weights.sum(axis=1, keepdims=True) if shares else weights


def _links(
    X: Any, squares: np.ndarray, indices: np.ndarray, width: int, plan: LandmarkGraph
) -> sparse.csr_matrix:
    """Return the weights of the links as a sparse matrix."""
    weights = link_weights(squares, plan.bandwidth, shares=plan.shares)
    if plan.metric == "cosine":
        weights[row_norms(X, squared=True) == 0] = 0.0
    made = link_matrix(weights.astype(X.dtype, copy=False), indices, width)
    made.sort_indices()
    return made


def link_matrix(weights: np.ndarray, indices: np.ndarray, width: int) -> sparse.csr_matrix:
    """Return the (n, width) matrix of links: weights and columns of each row; zeros are left out.

    The columns of a row stand in the given order.

    Parameters
    ----------
    weights, indices : (n, count) arrays
        Of the links of each point.
    width : int
        Number of columns.

    Returns
    -------
    (n, width) CSR matrix

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.landmark_graph import link_matrix
    >>> link_matrix(np.array([[0.5, 0.0]]), np.array([[2, 0]]), 3).toarray()
    array([[0. , 0. , 0.5]])
    """
    n, count = weights.shape
    ends = np.arange(0, n * count + 1, count)
    made = sparse.csr_matrix((weights.ravel(), indices.ravel(), ends), shape=(n, width))
    made.eliminate_zeros()
    return made
