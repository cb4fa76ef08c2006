"""The base clusterers by name, with what each can do; any scikit-learn clusterer joins them.

A clusterer is a function ``run(X, k, how)`` that returns a :class:`BaseResult`; ``how`` are the
:class:`Settings` of the run. A new one is a function and an entry of :data:`ALGORITHMS`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import has_fit_parameter

from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.params import Choice, Rule, Such
from clusterscape._core.seeds import sklearn_seed
from clusterscape.generate.features import Matrix
from clusterscape.generate.nmf import nmf

# Linkages keep all distances between points; above this they are refused before they start.
LINKAGE_BYTES = 2 * 1024**3


@dataclass(frozen=True)
class Settings:
    """How a base clusterer is run; what it has no use for it ignores."""

    seed: SeedSequence
    weights: np.ndarray | None = None
    init: Any = "k-means++"
    n_init: int = 1
    max_iter: int = 300


@dataclass(frozen=True)
class BaseResult:
    """What a base clusterer found: labels (-1 is noise), or a membership with rows that sum to one.

    ``cost`` is the clusterer's objective, lower is better; ``details`` are plain JSON values.
    """

    labels: np.ndarray | None = None
    membership: np.ndarray | None = None
    cost: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


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
    starts : bool
        Whether ``n_init`` and ``max_iter`` mean something to it.
    threads : bool
        Whether it releases the GIL long enough for threads to be worth it.
    """

    name: str
    run: Callable[..., BaseResult]
    summary: str = ""
    needs_k: bool = True
    sparse: bool = False
    weights: bool = False
    soft: bool = False
    starts: bool = False
    threads: bool = False


def _kmeans(
    X: Matrix, k: int, how: Settings, *, metric: Any = "euclidean", algorithm: Any = "lloyd"
) -> BaseResult:
    from clusterscape.linalg.kmeans import kmeans

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
    return BaseResult(labels=found.labels, cost=float(found.inertia), details=details)


def _nmf(X: Matrix, k: int, how: Settings, *, loss: Any) -> BaseResult:
    found = nmf(X, k, seed=how.seed, loss=loss, n_init=how.n_init, max_iter=how.max_iter)
    details = {"n_iter": found.n_iter, "converged": found.converged}
    return BaseResult(labels=found.labels, cost=found.cost, details=details)


def _linkage(X: Matrix, k: int, how: Settings, *, linkage: Any) -> BaseResult:
    from sklearn.cluster import AgglomerativeClustering

    n = X.shape[0]
    needed = n * (n - 1) // 2 * 8
    # Single linkage grows a spanning tree from the features and keeps no distances.
    if linkage != "single" and needed > LINKAGE_BYTES:
        raise MemoryLimitError(
            f"the distances of {linkage} linkage of {n:,} points",
            needed / 1e9,
            LINKAGE_BYTES / 1e9,
            parameter=None,
            remedies=["use {rows}", "choose another {algorithm.name}"],
            rows=("subsample", 0.1),
        )
    if n == 1:
        return BaseResult(labels=np.zeros(1, dtype=np.int32))
    return BaseResult(labels=AgglomerativeClustering(n_clusters=k, linkage=linkage).fit_predict(X))


def _mixture(X: Matrix, k: int, how: Settings, *, soft: bool) -> BaseResult:
    from sklearn.mixture import GaussianMixture

    if X.shape[0] == 1:
        one = np.ones((1, 1)) if soft else None
        return BaseResult(labels=np.zeros(1, dtype=np.int32), membership=one)
    model = GaussianMixture(
        n_components=k,
        reg_covar=1e-6,
        n_init=how.n_init,
        max_iter=how.max_iter,
        random_state=sklearn_seed(how.seed),
    ).fit(X)
    details = {"n_iter": int(model.n_iter_), "converged": bool(model.converged_)}
    cost = -float(model.lower_bound_)
    if soft:
        membership = np.asarray(model.predict_proba(X), dtype=np.float64)
        membership /= membership.sum(axis=1, keepdims=True)
        return BaseResult(membership=membership, cost=cost, details=details)
    return BaseResult(labels=model.predict(X), cost=cost, details=details)


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
    from sklearn.cluster import SpectralClustering

    n = X.shape[0]
    # Neither end has a spectrum to look at.
    if k == 1:
        return BaseResult(labels=np.zeros(n, dtype=np.int32))
    if k == n:
        return BaseResult(labels=np.arange(n, dtype=np.int32))
    model = SpectralClustering(
        n_clusters=k,
        affinity="nearest_neighbors",
        n_neighbors=min(10, n),
        n_init=how.n_init,
        random_state=sklearn_seed(how.seed),
    )
    return BaseResult(labels=model.fit_predict(X), details={"n_neighbors": min(10, n)})


def _table(*entries: Algorithm) -> dict[str, Algorithm]:
    return {entry.name: entry for entry in entries}


_part = functools.partial

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
    ),
    Algorithm(
        "hartigan",
        _part(_kmeans, algorithm="hartigan"),
        "k-means by single-point exchange (Hartigan-Wong)",
        weights=True,
        starts=True,
        threads=True,
    ),
    Algorithm(
        "cosine",
        _part(_kmeans, metric="cosine"),
        "spherical k-means on the angles between rows",
        sparse=True,
        weights=True,
        starts=True,
        threads=True,
    ),
    Algorithm(
        "nmf",
        _part(_nmf, loss="frobenius"),
        "non-negative factors by multiplicative updates, squared error",
        sparse=True,
        starts=True,
    ),
    Algorithm(
        "nmf_kl",
        _part(_nmf, loss="kullback-leibler"),
        "non-negative factors by multiplicative updates, Kullback-Leibler divergence",
        sparse=True,
        starts=True,
    ),
    Algorithm("single", _part(_linkage, linkage="single"), "single linkage, Euclidean"),
    Algorithm("average", _part(_linkage, linkage="average"), "average linkage, Euclidean"),
    Algorithm("complete", _part(_linkage, linkage="complete"), "complete linkage, Euclidean"),
    Algorithm("ward", _part(_linkage, linkage="ward"), "Ward's linkage"),
    Algorithm(
        "gmm",
        _part(_mixture, soft=False),
        "Gaussian mixture by EM, full covariances, most probable component",
        starts=True,
    ),
    Algorithm(
        "soft_gmm",
        _part(_mixture, soft=True),
        "Gaussian mixture by EM, posteriors kept as a soft partition",
        soft=True,
        starts=True,
    ),
    Algorithm(
        "dbscan",
        _dbscan,
        "density clusters; radius at the knee of the neighbour-distance curve; noise is -1",
        needs_k=False,
        sparse=True,
    ),
    Algorithm(
        "spectral",
        _spectral,
        "spectral clustering of the 10-neighbour graph",
        sparse=True,
        starts=True,
    ),
)


def _is_clusterer(value: Any) -> bool:
    fits = hasattr(value, "fit_predict") or hasattr(value, "fit")
    return isinstance(value, BaseEstimator) and not isinstance(value, type) and fits


_NAME = Choice(*ALGORITHMS)
_CLUSTERER = Such(_is_clusterer, "a scikit-learn clusterer", refused=[object(), BaseEstimator])
SEVERAL = Such(
    lambda v: (
        isinstance(v, (list, tuple))
        and len(v) > 0
        and all(_NAME.allows(a) or _CLUSTERER.allows(a) for a in v)
    ),
    "a list of names or clusterers, taken in turn",
    refused=[[], ["kmeans", "no such option"], [None]],
)
RULES: Sequence[Rule] = (_NAME, _CLUSTERER, SEVERAL)


def resolve(algorithm: Any) -> list[Algorithm]:
    """Return the clusterers that the parameter ``algorithm`` stands for."""
    entries = algorithm if isinstance(algorithm, (list, tuple)) else [algorithm]
    return [ALGORITHMS[e] if isinstance(e, str) else from_estimator(e) for e in entries]


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
            own = SeedSequence(how.seed.entropy, spawn_key=(*how.seed.spawn_key, position))
            changes[parameter] = sklearn_seed(own)
    model.set_params(**changes)
    given = {} if how.weights is None else {"sample_weight": how.weights}
    X = X.copy()  # a stranger may work in place, and the next member needs the data as they are
    if hasattr(model, "fit_predict"):
        labels = model.fit_predict(X, **given)
    else:
        labels = model.fit(X, **given).labels_
    cost = getattr(model, "inertia_", None)
    details = {"estimator": " ".join(repr(model).split())}
    return BaseResult(
        labels=np.asarray(labels), cost=None if cost is None else float(cost), details=details
    )
