"""k-means that respects must-links and cannot-links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.linalg.distances import centre_of
from clusterscape.linalg.kmeans import kmeans, nearest_center
from clusterscape.linalg.kmeans_engines import batches, cluster_sums
from clusterscape.semisupervised._metric import relevant_components
from clusterscape.semisupervised._placement import (
    Costs,
    Items,
    Placement,
    temperatures,
)
from clusterscape.semisupervised.base import BaseConstrainedClusterer, warn_of_violations
from clusterscape.semisupervised.constraints import Constraints
from clusterscape.semisupervised.votes import InfeasibleError, certain_part, refuse_too_few

_SEED_POINTS = 10  # points of a component whose mean may start a cluster
_SEED_ITEMS = 2000  # components that are looked at for that
_START_ROWS = 10_000  # points on which other starts are found
_FEW_COLUMNS = 64  # with which distances by differences beat a matrix product
_RETRIES = 10  # further starts where constraints are not met


@dataclass(frozen=True)
class _Found:
    """Where one start ended."""

    conflicts: int
    violated: int
    cost: float
    label: np.ndarray
    centers: np.ndarray
    n_iter: int


class _Prices:
    """Squared distances of the items to centres, times their weights.

    All of them only for the bound items. The others go to the nearest centre, and of these one
    number each is kept: by differences in one pass where there are few columns, which is several
    times faster than a table of all distances.
    """

    def __init__(self, items: Items) -> None:
        self.items = items
        self.centre = centre_of(items.means)
        rows = items.means if self.centre is None else items.means - self.centre
        self.squares = row_norms(rows, squared=True).astype(np.float64)
        self.bound_rows = rows[items.bound]
        self.free: Any = np.setdiff1d(np.arange(len(items.weight)), items.bound)
        self.is_narrow = not sparse.issparse(rows) and rows.shape[1] <= _FEW_COLUMNS
        if self.is_narrow and items.bound.size < self.free.size / 4:
            self.free = slice(None)  # a few twice, but none to be put in their places
        self.free_rows = rows[self.free]
        if self.is_narrow:
            kind = np.float32 if rows.dtype == np.float32 else np.float64
            self.free_rows = np.ascontiguousarray(self.free_rows.T, dtype=kind)

    def __call__(self, centers: np.ndarray) -> Costs:
        bound, weight = self.items.bound, self.items.weight
        moved = centers if self.centre is None else centers - self.centre
        label = np.empty(len(weight), dtype=np.int64)
        least = np.empty(len(weight))
        label[self.free], least[self.free] = self._nearest(moved)
        table = self._table(self.bound_rows, self.squares[bound], moved)
        label[bound] = table.argmin(axis=1)
        least[bound] = table[np.arange(bound.size), label[bound]]
        least *= weight
        return Costs(table * weight[bound][:, None], label, least)

    def _nearest(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest centre of the free items, and their squared distances from it."""
        if self.is_narrow:
            (d, n), kind = self.free_rows.shape, self.free_rows.dtype
            labels, best = np.empty(n, np.int32), np.empty(n, kind)
            near = np.ascontiguousarray(centers, dtype=kind)
            buffer = np.empty(256, kind)
            kernels.kmeans.assign(self.free_rows, np.arange(d), near, labels, best, buffer)
            return labels, best
        labels, best = np.empty(self.free.size, np.int64), np.empty(self.free.size)
        for part in batches(self.free.size, len(centers)):
            squares = self.squares[self.free[part]]
            found = self._table(self.free_rows[part], squares, centers)
            labels[part], best[part] = found.argmin(axis=1), found.min(axis=1)
        return labels, best

    @staticmethod
    def _table(rows: Any, squares: np.ndarray, centers: np.ndarray) -> np.ndarray:
        products = rows @ centers.T.astype(rows.dtype)
        cost = products.toarray() if sparse.issparse(products) else np.asarray(products)
        cost = cost.astype(np.float64)
        cost *= -2.0
        cost += row_norms(centers, squared=True)
        cost += squares[:, None]
        return np.maximum(cost, 0.0, out=cost)


class COPKMeans(BaseConstrainedClusterer):
    """k-means under must-links and cannot-links; certain ones are never violated silently.

    Points that must be together are one weighted point. Groups of which every two exclude each
    other, as the classes of labelled points, are matched with the clusters at the least cost. Where
    cannot-links are tangled, belief propagation at falling temperatures says where points belong,
    all are placed with the most constrained first, and the placement is improved by moves and by
    swaps along chains, none of which violates anything [1]_.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    on_infeasible : {"raise", "violate"}
        What to do where no placement without violations is found: an error, or the placement with
        few violations, a :class:`ViolationWarning` and ``violations_``.
    metric : {"euclidean", "learned"}
        Distances as they are, or learned from the certain must-links: directions in which points
        that must be together differ count less, so that the links also help points without any
        [2]_. Euclidean where there are no must-links.
    n_init : int
        Starts; the one with the lowest cost is kept. The first starts from large groups that must
        be together, where there are any; where there are enough for all clusters, it is the only
        one.
    max_iter : int
        Updates of the centres at most.
    tol : float
        Stop when the cost falls by less than this share.
    random_state : int, generator or None
        Seed.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        Clusters that have points.
    cluster_centers_ : (n_clusters_, d) array
        Means of the clusters.
    inertia_ : float
        Sum of squared distances to the centres, in the metric used.
    components_ : (d, d) array or None
        The learned metric: distances are those of ``X @ components_``. None for Euclidean ones.
    violations_ : Violations
        Constraints that the answer does not respect; of certain ones there are none, unless
        ``on_infeasible="violate"`` and a warning says so.
    n_iter_ : int
        Updates of the centres.

    See Also
    --------
    FastConstrainedSpectral : For clusters that are not round; constraints pull, but do not bind.
    Constraints : What is known of the points.

    Notes
    -----
    Whether cannot-links can be met with k clusters is a question of graph colouring, which may take
    forever to decide: an error need not mean that there is no solution. A constraint of weight w
    below 1 costs w times the mean squared distance of the points from the medians of the columns
    (from zero for sparse data) when it is violated. Unsure labels are not charged by pairs: each
    point of a class is linked with the class's first point, and the first points of two classes are
    kept apart, so that a class of six costs five links at most. New points in ``predict`` go to the
    nearest centre, whatever their constraints. The learned metric is that of the covariance within
    the groups that must be together, shrunk towards equal variances as far as its estimate is
    uncertain [3]_.

    References
    ----------
    .. [1] K. Wagstaff, C. Cardie, S. Rogers, S. Schroedl, "Constrained k-means clustering with
       background knowledge", International Conference on Machine Learning, 577-584, 2001.
    .. [2] A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall, "Learning a Mahalanobis metric from
       equivalence constraints", Journal of Machine Learning Research 6, 937-965, 2005.
    .. [3] O. Ledoit, M. Wolf, "A well-conditioned estimator for large-dimensional covariance
       matrices", Journal of Multivariate Analysis 88, 365-411, 2004.
       doi:10.1016/S0047-259X(03)00096-4

    Examples
    --------
    >>> from clusterscape.semisupervised import COPKMeans, Constraints
    >>> X = [[0.0], [1.0], [5.0], [6.0]]
    >>> COPKMeans(2, random_state=0).fit_predict(X)
    array([0, 0, 1, 1])
    >>> known = Constraints(4, must_link=[(0, 3)], cannot_link=[(0, 1)])
    >>> COPKMeans(2, random_state=0).fit_predict(X, constraints=known)
    array([0, 1, 0, 0])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "on_infeasible": [Choice("raise", "violate")],
        "metric": [Choice("euclidean", "learned")],
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        "tol": [Number(0)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        on_infeasible: Literal["raise", "violate"] = "raise",
        metric: Literal["euclidean", "learned"] = "euclidean",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-5,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.on_infeasible = on_infeasible
        self.metric = metric
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _cluster(self, X: Any, known: Constraints) -> np.ndarray:
        if self.on_infeasible == "raise":
            refuse_too_few(known, self.n_clusters, "use on_infeasible='violate'")
        hopeless = known.closure.least_clusters() > self.n_clusters
        with one_thread():
            self._learn(X, known)
            X = self._moved(X)
            items = Items.of(X, known)
            found = self._best(X, items, hopeless)
            if found.conflicts and self.on_infeasible == "raise":
                raise InfeasibleError(
                    f"no placement in {{n_clusters}} was found that respects all cannot-links "
                    f"(the best leaves {found.conflicts:,} groups in conflict); ask for more "
                    "clusters, or use on_infeasible='violate'.",
                    n_clusters=self.n_clusters,
                )
            labels = found.label[items.component]
            self.n_iter_ = found.n_iter
            self._measure(X, labels, known)
        return labels

    def _learn(self, X: Any, known: Constraints) -> None:
        """Find the metric, where one is asked for."""
        self.components_: np.ndarray | None = None
        if self.metric == "euclidean":
            return
        if sparse.issparse(X):
            raise ParameterError(
                "{metric} takes dense features, but X is sparse; use metric='euclidean', or reduce "
                "X to fewer columns first, as by TruncatedSVD.",
                metric=self.metric,
            )
        self.components_ = relevant_components(X, known.closure)

    def _moved(self, X: Any) -> Any:
        """Return the features in which distances are measured."""
        return X if self.components_ is None else X @ self.components_.astype(X.dtype)

    def _best(self, X: Any, items: Items, hopeless: bool) -> _Found:
        """Return the best of several starts; more of them where constraints are not met yet."""
        prices = _Prices(items)
        unit = float((prices.squares * items.weight).sum() / items.weight.sum())
        groups = _component_seeds(items, self.n_clusters)
        wanted = 1 if groups.size == self.n_clusters else self.n_init
        placement = Placement(items, self.n_clusters, unit, np.random.default_rng(0))
        best: _Found | None = None
        for number, seed in enumerate(spawn(self.random_state, self.n_init + _RETRIES)):
            enough = best is not None and (hopeless or best.conflicts == 0)
            if number >= wanted and enough:
                break
            start = groups if number == 0 else groups[:0]
            found = self._from_start(X, prices, placement, (start, seed))
            if best is None or (found.violated, found.cost) < (best.violated, best.cost):
                best = found
        assert best is not None
        return best

    def _from_start(
        self, X: Any, prices: _Prices, placement: Placement, start: tuple[np.ndarray, Any]
    ) -> _Found:
        items, (groups, seed) = placement.items, start
        sampling, dividing, searching = seed.spawn(3)
        centers = _start_centers(X, items, groups, self.n_clusters, (sampling, dividing))
        placement.restart(np.random.default_rng(searching))
        preference = None
        if placement.tangled.size and self.n_clusters > 1:
            centers, preference = _anneal(items, prices, placement, centers)
        cost = np.inf
        for step in range(1, self.max_iter + 1):
            before, cost = cost, placement.assign(prices(centers), preference)
            centers = _update(items, placement.label, centers, prices)
            if before - cost <= self.tol * cost and step > 1:
                break
        return _Found(placement.conflicts, placement.violated, cost, placement.label, centers, step)

    def _measure(self, X: Any, labels: np.ndarray, known: Constraints) -> None:
        """Compute centres and inertia from the labels alone, and say what is violated.

        The features are those in which distances are measured.
        """
        found, codes = np.unique(labels, return_inverse=True)
        order = np.argsort(-np.bincount(codes), kind="stable")
        sizes = np.bincount(codes).astype(np.float64)
        centers = cluster_sums(X, codes, np.ones(len(labels)), found.size) / sizes[:, None]
        self.inertia_ = _inertia(X, codes, centers)
        self._numbered_centers = centers[order]
        wrong = certain_part(known)._tally(labels)
        if wrong.count:
            why = f"{self.n_clusters} clusters cannot meet all of them, as far as was found."
            warn_of_violations("COPKMeans", wrong, why, stacklevel=4)

    def _finish(self, labels: np.ndarray, known: Constraints) -> None:
        super()._finish(labels, known)
        # Means of the clusters as they are numbered now.
        codes = np.unique(labels, return_inverse=True)[1]
        sizes = np.bincount(codes)
        place = np.empty(sizes.size, dtype=np.int64)
        place[np.argsort(-sizes, kind="stable")] = np.arange(sizes.size)
        firsts = np.unique(self.labels_, return_index=True)[1]
        self._centers = self._numbered_centers[place[codes[firsts]]]
        self.cluster_centers_ = self._centers
        if self.components_ is not None:  # invertible, so the means go back as they came
            self.cluster_centers_ = np.linalg.solve(self.components_.T, self._centers.T).T
        del self._numbered_centers

    def _assign(self, X: Any) -> np.ndarray:
        """Return the clusters with the nearest centres."""
        return nearest_center(self._moved(X), self._centers).astype(np.int64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric == "euclidean"
        return tags


def _inertia(X: Any, codes: np.ndarray, centers: np.ndarray) -> float:
    """Return the sum of squared distances of the points to their centres, in double precision."""
    if sparse.issparse(X):  # mostly zeros: a difference of squares loses little
        squares = float((X.data.astype(np.float64) ** 2).sum())
        sizes = np.bincount(codes).astype(np.float64)
        return max(squares - float((sizes * (centers**2).sum(axis=1)).sum()), 0.0)
    total = 0.0
    for rows in batches(X.shape[0], X.shape[1]):
        gap = X[rows] - centers[codes[rows]]
        total += float(np.einsum("ij,ij->", gap, gap))
    return total


def _component_seeds(items: Items, k: int) -> np.ndarray:
    """Return large components that are probably of different clusters, at most k of them.

    Of two that exclude each other it is certain. Of two others it is the less probable the more
    cannot-links would be expected between them by their numbers of cannot-links.
    """
    weight = items.weight[items.bound]
    degree = np.diff(items.exclusions.indptr).astype(np.float64)
    large = np.flatnonzero((weight >= _SEED_POINTS) & (degree > 0))
    large = large[np.argsort(-weight[large], kind="stable")][:_SEED_ITEMS]
    if large.size == 0 or k < 2:
        return np.empty(0, dtype=np.int64)
    apart = items.exclusions[large][:, large].toarray() > 0
    expected = np.outer(degree[large], degree[large]) / degree.sum()
    odds = (k - 1) * np.exp(-expected)
    log_other = np.where(apart, 0.0, np.log(odds / (1.0 + odds)))
    score = 0.5 * np.log(weight[large])
    chosen = [0]
    while len(chosen) < min(k, large.size):
        score = score + log_other[chosen[-1]]
        score[chosen[-1]] = -np.inf
        chosen.append(int(score.argmax()))
    return items.bound[large[chosen]]


def _start_centers(
    X: Any, items: Items, seeds: np.ndarray, k: int, randomness: tuple[Any, Any]
) -> np.ndarray:
    """Return means of the seeds, and as many centres of k-means far from these as are missing."""
    given = items.means[seeds]
    given = given.toarray() if sparse.issparse(given) else np.asarray(given)
    if len(given) == k:
        return given.astype(np.float64)
    n = X.shape[0]
    size = min(n, max(_START_ROWS, 10 * k))
    some = X
    if size < n:
        rng = np.random.default_rng(randomness[0])
        some = X[np.sort(rng.choice(n, size, replace=False))]
    found = kmeans(some, k, max_iter=10, seed=randomness[1]).centers.astype(np.float64)
    chosen = list(given.astype(np.float64))
    while len(chosen) < k:
        if not chosen:
            chosen = list(found[:k])
            chosen += [found[0]] * (k - len(chosen))  # fewer different points than clusters
            break
        gap = ((found[:, None, :] - np.array(chosen)[None]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(found[int(gap.argmax())])
    return np.array(chosen)


def _anneal(
    items: Items, prices: _Prices, placement: Placement, centers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return centres, and preferences of the tangled items, found at falling temperatures."""
    state = placement.messages
    state.forget()
    tangled = placement.tangled
    rest = np.ones(len(items.weight))
    rest[tangled] = 0.0
    rows = items.means[tangled]
    k = len(centers)
    for temperature in temperatures():
        cost = prices(centers)
        state.temperature = float(temperature)
        belief = placement.beliefs(cost, state)
        share = belief * items.weight[tangled][:, None]
        label = cost.label
        sums = cluster_sums(items.means, label, items.weight * rest, k) + share.T @ rows
        mass = np.bincount(label, weights=items.weight * rest, minlength=k) + share.sum(axis=0)
        centers = _filled(sums, mass, cost, centers, items)
    return centers, -np.log(np.maximum(state.belief, 1e-300))


def _update(items: Items, label: np.ndarray, centers: np.ndarray, prices: _Prices) -> np.ndarray:
    k = len(centers)
    sums = cluster_sums(items.means, label, items.weight, k)
    mass = np.bincount(label, weights=items.weight, minlength=k)
    if (mass > 0).all():
        return sums / mass[:, None]
    return _filled(sums, mass, prices(centers), centers, items)


def _filled(
    sums: np.ndarray, mass: np.ndarray, cost: Costs, centers: np.ndarray, items: Items
) -> np.ndarray:
    """Return the means; a cluster without points starts again at an item that fits nowhere."""
    made = centers.copy()
    some = mass > 1e-9 * mass.sum()
    made[some] = sums[some] / mass[some][:, None]
    empty = np.flatnonzero(~some)
    if empty.size:
        worst = np.argsort(-cost.least, kind="stable")[: empty.size]
        rows = items.means[worst]
        empty = empty[: worst.size]  # must-links may leave fewer items than clusters
        made[empty] = rows.toarray() if sparse.issparse(rows) else rows
    return made
