"""The base clusterers by name, with what each can do; any scikit-learn clusterer joins them.

A clusterer is a function ``run(X, k, how)`` that returns a :class:`BaseResult`; ``how`` are the
:class:`Settings` of the run. A new one is a function and an entry of :data:`ALGORITHMS`.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.preprocessing import normalize
from sklearn.utils import gen_batches
from sklearn.utils.validation import has_fit_parameter

from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Choice, Integer, Number, Rule, Such
from clusterscape._core.seeds import descendant, sklearn_seed, spawn
from clusterscape.generate.features import Matrix
from clusterscape.generate.nmf import nmf
from clusterscape.generate.plan import EXACT
from clusterscape.linalg.gaussian_fit import principal_axes
from clusterscape.linalg.kmeans import kmeans

# Linkages keep all distances between points; above this they are refused before they start.
LINKAGE_BYTES = 2 * 1024**3

_EXACT_WORK = 5  # so many times the work on a sample a member may do to cluster all points
_NEIGHBORS = 14  # of each point that are looked for at least: a few more cost hardly anything


class Pieces:
    """What members of the same data share, computed when first needed: graphs, spanning trees.

    The values depend on the data and the key alone, so results do not depend on which member asks
    first. Copies that travel to other processes begin empty.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: dict[Any, threading.Lock] = {}
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the value of a key; the first caller makes it, others wait for it."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def __reduce__(self) -> Any:
        return (Pieces, ())


@dataclass(frozen=True)
class Settings:
    """How a base clusterer is run; what does not apply to it is ignored.

    ``options`` are the member's values of the clusterer's own options, ``most_clusters`` the
    largest number of clusters that any member of its kind may have, ``pieces`` what the members
    share.
    """

    seed: SeedSequence
    weights: np.ndarray | None = None
    init: Any = "k-means++"
    n_init: int = 1
    max_iter: int = 300
    options: Mapping[str, Any] = field(default_factory=dict)
    most_clusters: int = 0
    pieces: Pieces = field(default_factory=Pieces)


@dataclass(frozen=True)
class Option:
    """An option of a base clusterer: its default, what it may be, and what it does."""

    default: Any
    rules: Sequence[Rule]
    summary: str


@dataclass(frozen=True)
class BaseResult:
    """What a base clusterer found: labels (-1 is noise), or a membership with rows that sum to one.

    ``cost`` is the clusterer's objective, lower is better; ``details`` are plain JSON values.
    ``model`` are the arrays by which other points can be assigned, as
    :class:`clusterscape.generate.assign.Fitted` has them; empty where there are none.
    """

    labels: np.ndarray | None = None
    membership: np.ndarray | None = None
    cost: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    model: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Algorithm:
    """A base clusterer and its declared facts.

    Parameters
    ----------
    name : str
        Its name in ``EnsembleGenerator(algorithm=...)`` and in records.
    run : callable
        ``run(X, k, how)`` with the :class:`Settings` ``how``.
    summary : str
        One line for tables and help texts.
    needs_k : bool
        Whether it is told the number of clusters.
    sparse : bool
        Whether it takes a CSR matrix without making it dense.
    weights : bool
        Whether it takes point weights.
    soft : bool
        Whether it returns a membership.
    nonnegative : bool
        Whether it refuses data with negative values.
    starts : bool
        Whether ``n_init`` and ``max_iter`` mean something to it.
    threads : bool
        Whether it releases the GIL long enough for threads to be worth it.
    options : mapping
        Its own options by name, each with ``default``, ``rules`` and ``summary``.
    sample_size : int
        Points of the sample that a member clusters where members are made on samples unless told
        otherwise: more for clusterers whose time is linear in the points.
    sample_work : int, optional
        Points of that sample times clusters at most, for clusterers whose time grows with both.
        Five times that is the limit for members on all points, below 20,000 of which others see
        all.
    shared : sequence of str
        Whole-number options on which what members share depends (graphs, trees). Members that
        differ in them are given different samples, which then costs nothing.

    See Also
    --------
    EnsembleGenerator : Takes base clusterers by name.
    """

    name: str
    run: Callable[..., BaseResult]
    summary: str = ""
    needs_k: bool = True
    sparse: bool = False
    weights: bool = False
    soft: bool = False
    nonnegative: bool = False
    starts: bool = False
    threads: bool = False
    options: Mapping[str, Option] = field(default_factory=dict)
    sample_size: int = 2_000
    sample_work: int | None = None
    shared: Sequence[str] = ()

    def points_for(self, n_clusters: int) -> int:
        """Return the points of the sample of a member with so many clusters."""
        if self.sample_work is None:
            return self.sample_size
        return min(self.sample_size, self.sample_work // max(n_clusters, 1))

    def exact_for(self, n_clusters: int) -> int:
        """Return the number of points up to which such a member clusters all of them."""
        if self.sample_work is None:
            return EXACT
        return min(EXACT, _EXACT_WORK * self.sample_work // max(n_clusters, 1))


def _kmeans(
    X: Matrix, k: int, how: Settings, *, metric: Any = "euclidean", algorithm: Any = "lloyd"
) -> BaseResult:
    found = kmeans(
        X,
        k,
        metric=metric,
        algorithm=algorithm,
        init=how.init,
        n_init=how.n_init,
        max_iter=how.max_iter,
        sample_weight=how.weights,
        seed=how.seed,
    )
    details = {"init": how.init, "n_iter": int(found.n_iter), "engine": found.engine}
    model = (
        {"centers": np.asarray(found.centers, dtype=np.float64)}
        if metric == "euclidean"
        else {"directions": normalize(found.centers.astype(np.float64))}
    )
    return BaseResult(labels=found.labels, cost=float(found.inertia), details=details, model=model)


def _nmf(X: Matrix, k: int, how: Settings, *, loss: Any) -> BaseResult:
    found = nmf(X, k, seed=how.seed, loss=loss, n_init=how.n_init, max_iter=how.max_iter)
    details = {"n_iter": found.n_iter, "converged": found.converged}
    return BaseResult(labels=found.labels, cost=found.cost, details=details)


def _linkage(X: Matrix, k: int, how: Settings, *, linkage: Any) -> BaseResult:
    from sklearn.cluster import AgglomerativeClustering

    n = X.shape[0]
    # Single linkage grows a spanning tree from the features and keeps no distances.
    if linkage != "single":
        _refuse_distances(f"the distances of {linkage} linkage of {n:,} points", n * (n - 1) * 4)
    if n == 1:
        return BaseResult(labels=np.zeros(1, dtype=np.int32))
    return BaseResult(labels=AgglomerativeClustering(n_clusters=k, linkage=linkage).fit_predict(X))


def _refuse_distances(what: str, needed: int) -> None:
    """Refuse distances between all points that would take too much memory."""
    if needed > LINKAGE_BYTES:
        raise MemoryLimitError(
            what,
            needed / 1e9,
            LINKAGE_BYTES / 1e9,
            parameter=None,
            remedies=["use {rows}", "choose another {algorithm.name}"],
            rows=("subsample", 0.1),
        )


def _kmedoids(X: Matrix, k: int, how: Settings) -> BaseResult:
    metric = how.options["metric"]
    n = X.shape[0]
    _refuse_distances(f"the distances of k-medoids of {n:,} points", 4 * n * n)
    D = how.pieces.get(("distances", metric), lambda: _all_distances(X, metric))
    return medoid_result(D, k, how, {"metric": metric})


def medoid_result(D: np.ndarray, k: int, how: Settings, details: dict[str, Any]) -> BaseResult:
    """Return k-medoids of a matrix of distances."""
    from clusterscape.linalg.kmedoids import kmedoids

    settings: dict[str, Any] = {"n_init": how.n_init, "max_iter": how.max_iter, "seed": how.seed}
    found = kmedoids(D, k, sample_weight=how.weights, **settings)
    details |= {"medoids": found.medoids.tolist(), "n_iter": found.n_iter}
    return BaseResult(labels=found.labels, cost=found.cost, details=details)


def _all_distances(X: Matrix, metric: Any) -> np.ndarray:
    """Return the distances between all points, in single precision."""
    from clusterscape.linalg.distances import centre_of, squared_distances
    from clusterscape.linalg.neighbors import directions

    n = X.shape[0]
    rows = directions(X) if metric == "cosine" else X
    centre = centre_of(rows)
    out = np.empty((n, n), dtype=np.float32)
    for part in gen_batches(n, max(1, 2**22 // n)):
        square = squared_distances(rows[part], rows, centre=centre)
        out[part] = square / 2.0 if metric == "cosine" else np.sqrt(square)
    out = np.maximum(out, out.T)  # the two sides were rounded apart
    np.fill_diagonal(out, 0.0)
    return out


def _mixture(X: Matrix, k: int, how: Settings, *, soft: bool) -> BaseResult:
    from clusterscape.linalg.mixture import gaussian_mixture, mixture_features

    n = X.shape[0]
    if n == 1:
        one = np.ones((1, 1)) if soft else None
        return BaseResult(labels=np.zeros(1, dtype=np.int32), membership=one)
    Z, origin, axes = how.pieces.get(
        ("leading", how.options["columns"]), lambda: _leading_columns(X, how.options["columns"])
    )
    form, ridge = how.options["covariance"], how.options["ridge"]
    found = gaussian_mixture(
        Z,
        k,
        covariance=form,
        ridge=ridge,
        n_init=how.n_init,
        max_iter=how.max_iter,
        seed=how.seed,
        features=how.pieces.get(
            ("mixture", how.options["columns"], form, ridge),
            lambda: mixture_features(Z, form, ridge=ridge),
        ),
    )
    details = {"n_iter": found.n_iter, "converged": found.converged}
    kept = found.model if axes is None else {**found.model, "origin": origin, "axes": axes}
    if soft:
        return BaseResult(
            membership=found.membership, cost=-found.bound, details=details, model=kept
        )
    return BaseResult(labels=found.labels, cost=-found.bound, details=details, model=kept)


def _leading_columns(X: Matrix, columns: Any) -> tuple[Matrix, Any, Any]:
    """Return the leading principal components that a mixture is fitted to, or X itself.

    With the origin and the axes of the components; None for X itself.
    """
    found = None if columns == "all" else principal_axes(X, None if columns == "auto" else columns)
    return (X, None, None) if found is None else found


def _dbscan(X: Matrix, k: int | None, how: Settings) -> BaseResult:
    from sklearn.cluster import DBSCAN
    from sklearn.neighbors import NearestNeighbors

    # A point counts among its own neighbours, both here and in DBSCAN's min_samples.
    min_samples = min(max(4, min(2 * X.shape[1], 20)), X.shape[0])
    near = NearestNeighbors(n_neighbors=min_samples).fit(X)
    eps = knee(np.sort(near.kneighbors(X)[0][:, -1]))
    # DBSCAN wants a radius above zero; the smallest one still joins equal points.
    eps = max(eps, float(np.finfo(np.float32).tiny))
    labels = DBSCAN(eps=eps, min_samples=min_samples).fit_predict(X)
    return BaseResult(labels=labels, details={"eps": eps, "min_samples": int(min_samples)})


def knee(curve: np.ndarray) -> float:
    """Return the value of a rising curve where it lies farthest below its chord.

    Examples
    --------
    >>> knee(np.array([1.0, 1.1, 1.2, 1.3, 5.0, 9.0]))
    1.3
    """
    if curve.size < 3:
        return float(curve[-1])
    chord = np.linspace(float(curve[0]), float(curve[-1]), curve.size)
    return float(curve[int(np.argmax(chord - curve))])


def _spectral(X: Matrix, k: int, how: Settings) -> BaseResult:
    n = X.shape[0]
    # Neither end has a spectrum to look at.
    if k == 1:
        return BaseResult(labels=np.zeros(n, dtype=np.int32))
    if k == n:
        return BaseResult(labels=np.arange(n, dtype=np.int32))
    count, metric = min(how.options["n_neighbors"], n), how.options["metric"]
    wanted = min(max(k, how.most_clusters), n)
    rows = eigenvectors(
        how.pieces,
        (count, metric),
        lambda: _neighbor_graph(_neighbors(X, max(count - 1, 1), metric, how)[1]),
        wanted,
    )
    labels = cluster_rows(rows, k, how)
    return BaseResult(labels=labels, details={"n_neighbors": count, "metric": metric})


def eigenvectors(pieces: Pieces, key: Any, graph: Callable[[], Any], wanted: int) -> np.ndarray:
    """Return ``wanted`` leading eigenvectors of a graph, or more where they were found before."""

    def found() -> np.ndarray:
        return graph_rows(pieces.get(("graph", key), graph), wanted)

    rows = pieces.get(("spectral", key), found)
    return rows if rows.shape[1] >= wanted else pieces.get(("spectral", key, wanted), found)


def cluster_rows(rows: np.ndarray, k: int, how: Settings) -> np.ndarray:
    """Return the labels of k-means on the k leading columns."""
    leading = np.ascontiguousarray(rows[:, :k])
    settings: dict[str, Any] = {"n_init": how.n_init, "max_iter": how.max_iter, "seed": how.seed}
    return kmeans(leading, k, **settings).labels


def _neighbors(X: Matrix, count: int, metric: Any, how: Settings) -> tuple[Any, Any]:
    """Return distances and indices of the nearest others, found once for all members."""
    from clusterscape.linalg.neighbors import nearest_neighbors

    least = _NEIGHBORS
    while least < count:
        least *= 2
    least = min(least, X.shape[0] - 1)
    found = how.pieces.get(
        ("neighbors", metric, least), lambda: nearest_neighbors(X, least, metric=metric)
    )
    return found[0][:, :count], found[1][:, :count]


def _neighbor_graph(near: np.ndarray) -> Any:
    """Return the graph of near neighbours, the point itself included."""
    n = len(near)
    links = sparse.csr_matrix(
        (np.ones(near.size), near.ravel(), np.arange(n + 1) * near.shape[1]), shape=(n, n)
    )
    return (links + links.T) / 2 + sparse.identity(n)  # a point is its own neighbour


def graph_rows(graph: Any, wanted: int) -> np.ndarray:
    """Return the leading eigenvectors of a graph, divided by the roots of the degrees."""
    from clusterscape.linalg.eigen import symmetric_eigen

    root = 1.0 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())
    scaled = sparse.csr_matrix(sparse.diags(root) @ graph @ sparse.diags(root))
    return symmetric_eigen(scaled, wanted).vectors * root[:, None]


def _genie(X: Matrix, k: int, how: Settings) -> BaseResult:
    from clusterscape.linalg.genie import genie
    from clusterscape.linalg.mst import spanning_tree

    n = X.shape[0]
    if n == 1:
        return BaseResult(labels=np.zeros(1, dtype=np.int32))
    near, metric = min(how.options["reachability"], n - 1), how.options["metric"]

    def grown() -> Any:
        known = None if near == 1 else _neighbors(X, near, metric, how)[0]
        return spanning_tree(X, metric=metric, reachability=near, near=known)

    tree = how.pieces.get(("tree", near, metric), grown)
    merges = genie(tree, gini_threshold=how.options["gini_threshold"])
    details = {name: how.options[name] for name in ("gini_threshold", "metric")}
    return BaseResult(labels=merges.labels(k), details=details | {"reachability": near})


def _landmark_spectral(X: Matrix, k: int, how: Settings) -> BaseResult:
    from clusterscape.linalg.landmark_graph import landmark_graph
    from clusterscape.linalg.transfer_cut import transfer_cut

    drawing, cutting = spawn(how.seed, 2)
    options = how.options
    count = max(min(options["n_landmarks"], X.shape[0]), k)
    graph = landmark_graph(
        X, count, nearest=options["nearest"], metric=options["metric"], seed=drawing
    )
    starts: dict[str, Any] = {"n_init": how.n_init, "max_iter": how.max_iter, "seed": cutting}
    found = transfer_cut(graph.matrix, k, init=options["init"], **starts)
    return BaseResult(labels=found.labels, details={**options, "n_landmarks": count})


def _hdbscan(X: Matrix, k: int | None, how: Settings) -> BaseResult:
    from sklearn.cluster import HDBSCAN

    least = min(how.options["min_cluster_size"], X.shape[0])
    if least < 2:
        return BaseResult(labels=np.zeros(X.shape[0], dtype=np.int32))
    labels = HDBSCAN(min_cluster_size=least, copy=True).fit_predict(X)
    return BaseResult(labels=labels, details={"min_cluster_size": int(least)})


def _table(*entries: Algorithm) -> dict[str, Algorithm]:
    return {entry.name: entry for entry in entries}


_part = functools.partial

_METRIC = Option("euclidean", (Choice("euclidean", "cosine"),), "distance of the points")
_MIXTURE: Mapping[str, Option] = {
    "covariance": Option(
        "full", (Choice("full", "tied", "diag", "spherical"),), "form of the covariances"
    ),
    "columns": Option(
        "all",
        (Choice("all", "auto"), Integer(1)),
        "leading principal components to fit; auto: at most 30 and a twentieth of the points",
    ),
    "ridge": Option(0.0, (Number(0),), "share of the mean variance that is added to the variances"),
}

#: The base clusterers by name.
ALGORITHMS: Mapping[str, Algorithm] = _table(
    Algorithm(
        "kmeans",
        _kmeans,
        "k-means, Lloyd's iterations from k-means++ starts",
        sparse=True,
        weights=True,
        starts=True,
        threads=True,
        sample_size=20_000,
        sample_work=400_000,
    ),
    Algorithm(
        "hartigan",
        _part(_kmeans, algorithm="hartigan"),
        "k-means by single-point exchange (Hartigan-Wong)",
        weights=True,
        starts=True,
        threads=True,
        sample_size=20_000,
        sample_work=400_000,
    ),
    Algorithm(
        "cosine",
        _part(_kmeans, metric="cosine"),
        "spherical k-means on the angles between rows",
        sparse=True,
        weights=True,
        starts=True,
        threads=True,
        sample_size=20_000,
        sample_work=400_000,
    ),
    Algorithm(
        "nmf",
        _part(_nmf, loss="frobenius"),
        "non-negative factors by multiplicative updates, squared error",
        nonnegative=True,
        sparse=True,
        starts=True,
    ),
    Algorithm(
        "nmf_kl",
        _part(_nmf, loss="kullback-leibler"),
        "non-negative factors by multiplicative updates, Kullback-Leibler divergence",
        nonnegative=True,
        sparse=True,
        starts=True,
    ),
    Algorithm("single", _part(_linkage, linkage="single"), "single linkage, Euclidean"),
    Algorithm("average", _part(_linkage, linkage="average"), "average linkage, Euclidean"),
    Algorithm("complete", _part(_linkage, linkage="complete"), "complete linkage, Euclidean"),
    Algorithm("ward", _part(_linkage, linkage="ward"), "Ward's linkage"),
    Algorithm(
        "kmedoids",
        _kmedoids,
        "k-medoids by exchange (FasterPAM) on all distances, from random starts",
        sparse=True,
        weights=True,
        starts=True,
        threads=True,
        options={"metric": _METRIC},
    ),
    Algorithm(
        "gmm",
        _part(_mixture, soft=False),
        "Gaussian mixture by EM, most probable component",
        starts=True,
        threads=True,
        options=_MIXTURE,
    ),
    Algorithm(
        "soft_gmm",
        _part(_mixture, soft=True),
        "Gaussian mixture by EM, posteriors kept as a soft partition",
        soft=True,
        starts=True,
        threads=True,
        options=_MIXTURE,
    ),
    Algorithm(
        "dbscan",
        _dbscan,
        "density clusters; radius at the knee of the neighbour-distance curve; noise is -1",
        needs_k=False,
        sparse=True,
    ),
    Algorithm(
        "hdbscan",
        _hdbscan,
        "density clusters of a hierarchy (HDBSCAN); noise is -1",
        needs_k=False,
        options={
            "min_cluster_size": Option(5, (Integer(2),), "points that make a cluster"),
        },
    ),
    Algorithm(
        "spectral",
        _spectral,
        "spectral clustering of the graph of near neighbours",
        sparse=True,
        starts=True,
        threads=True,
        options={
            "n_neighbors": Option(10, (Integer(2),), "neighbours, the point itself included"),
            "metric": _METRIC,
        },
        shared=("n_neighbors",),
    ),
    Algorithm(
        "landmark_spectral",
        _landmark_spectral,
        "spectral clustering of the graph of points and landmarks (U-SPEC), linear in the points",
        sparse=True,
        starts=True,
        threads=True,
        options={
            "n_landmarks": Option(1000, (Integer(2),), "landmarks, at most as many as points"),
            "nearest": Option(5, (Integer(1),), "landmarks that a point is linked to"),
            "metric": _METRIC,
            "init": Option(
                "k-means++",
                (Choice("k-means++", "plain-k-means++", "random"),),
                "start of k-means on the eigenvectors; the last two make members differ more",
            ),
        },
        sample_size=20_000,
    ),
    Algorithm(
        "genie",
        _genie,
        "Genie: single linkage on a spanning tree, with a limit on unequal sizes",
        sparse=True,
        threads=True,
        options={
            "gini_threshold": Option(0.3, (Number(0, 1),), "how unequal cluster sizes may become"),
            "reachability": Option(
                1, (Integer(1),), "neighbours of the mutual reachability; 1 is the plain distance"
            ),
            "metric": _METRIC,
        },
        shared=("reachability",),
    ),
)


def _is_clusterer(value: Any) -> bool:
    fits = hasattr(value, "fit_predict") or hasattr(value, "fit")
    return isinstance(value, BaseEstimator) and not isinstance(value, type) and fits


#: scikit-learn's clusterers that go by the name of their class, and where they are.
CLUSTERERS: Mapping[str, str] = {
    "AffinityPropagation": "cluster",
    "AgglomerativeClustering": "cluster",
    "BayesianGaussianMixture": "mixture",
    "Birch": "cluster",
    "BisectingKMeans": "cluster",
    "DBSCAN": "cluster",
    "GaussianMixture": "mixture",
    "HDBSCAN": "cluster",
    "KMeans": "cluster",
    "MeanShift": "cluster",
    "MiniBatchKMeans": "cluster",
    "OPTICS": "cluster",
    "SpectralClustering": "cluster",
}

NAME = Choice(registry=ALGORITHMS)
CLASS = Choice(registry=CLUSTERERS)
CLUSTERER = Such(_is_clusterer, "a scikit-learn clusterer", refused=[object(), BaseEstimator])


def named(name: str) -> Algorithm:
    """Return the base clusterer of a name: one of ours, or a class of scikit-learn as it is made.

    Examples
    --------
    >>> named("ward").name, named("Birch").needs_k, named("MeanShift").needs_k
    ('ward', True, False)
    """
    if name in ALGORITHMS:
        return ALGORITHMS[name]
    home = importlib.import_module(f"sklearn.{CLUSTERERS[name]}")
    made = getattr(home, name)(**_AS_THEY_WILL_BE.get(name, {}))
    return from_estimator(made)


# Where scikit-learn warns that a default will change.
_AS_THEY_WILL_BE: Mapping[str, dict[str, Any]] = {"HDBSCAN": {"copy": True}}


def from_estimator(estimator: Any) -> Algorithm:
    """Return a scikit-learn clusterer as a base clusterer; the estimator itself is never fitted."""
    return Algorithm(
        name=type(estimator).__name__,
        run=_part(_run_estimator, estimator=clone(estimator)),
        needs_k=_count_parameter(estimator) is not None,
        sparse=True,  # it says itself when it does not
        weights=has_fit_parameter(estimator, "sample_weight"),
    )


def _count_parameter(estimator: Any) -> str | None:
    """Return the parameter that sets the number of clusters, also of a pipeline's last step."""
    prefixes = [""]
    if getattr(estimator, "steps", None):
        prefixes.append(f"{estimator.steps[-1][0]}__")
    known = estimator.get_params()
    for name in ("n_clusters", "n_components"):
        for prefix in prefixes:
            if prefix + name in known:
                return prefix + name
    return None


def _run_estimator(X: Matrix, k: int | None, how: Settings, *, estimator: Any) -> BaseResult:
    model = clone(estimator)
    changes: dict[str, Any] = {}
    name = _count_parameter(model)
    if name is not None:
        changes[name] = k
    for position, parameter in enumerate(sorted(model.get_params())):
        if parameter == "random_state" or parameter.endswith("__random_state"):
            changes[parameter] = sklearn_seed(descendant(how.seed, position))
    model.set_params(**changes)
    given = {} if how.weights is None else {"sample_weight": how.weights}
    X = X.copy()  # the estimator may work in place, and the next member needs the data
    if hasattr(model, "fit_predict"):
        labels = model.fit_predict(X, **given)
    else:
        labels = model.fit(X, **given).labels_
    cost = getattr(model, "inertia_", None)
    details = {"estimator": " ".join(repr(model).split())}
    return BaseResult(
        labels=np.asarray(labels), cost=None if cost is None else float(cost), details=details
    )
