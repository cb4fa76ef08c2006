"""Stability of whole clusters under resampling, for any clusterer: the bootstrap Jaccard means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from clusterscape._core.labels import encode
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Integer, Number, Seed, checked
from clusterscape._core.seeds import RandomState, sklearn_seed, spawn
from clusterscape._core.warnings import hear_warnings
from clusterscape.ensemble.inputs import check_same_rows
from clusterscape.generate.features import read_matrix

_RECOVERED, _DISSOLVED = 0.75, 0.5


@dataclass(frozen=True, eq=False)
class ClusterStability:
    """How often each cluster is found again in resampled data.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per cluster: ``size``, ``jaccard`` (mean similarity to the most similar cluster of a
        resample), ``recovered`` and ``dissolved`` (shares of the resamples in which it is at least
        0.75, and at most 0.5).
    similarities : (m, k) array
        Of every resample that succeeded.
    labels : (n,) array
        The clustering of all points, as rows of ``table``; -1 for points in no cluster.
    failures : list of str
        Why resamples failed; they are left out.

    See Also
    --------
    cluster_stability : Make one.
    """

    table: pd.DataFrame
    similarities: np.ndarray
    labels: np.ndarray
    failures: list[str]

    def __repr__(self) -> str:
        """Say what was done; ``table`` has the figures."""
        done, failed = len(self.similarities), len(self.failures)
        return (
            f"ClusterStability({len(self.table)} clusters in {done} resamples, {failed} failed, "
            f"Jaccard means from {self.table['jaccard'].min():.2f} to "
            f"{self.table['jaccard'].max():.2f})"
        )


@checked(
    {
        "n_resamples": [Integer(1)],
        "scheme": [Choice("bootstrap", "subsample")],
        "ratio": [Number(0, 1, open_low=True)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def cluster_stability(
    X: Any,
    clusterer: Any,
    *,
    labels: Any = None,
    n_resamples: int = 100,
    scheme: Literal["bootstrap", "subsample"] = "bootstrap",
    ratio: float = 0.5,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> ClusterStability:
    """Cluster resampled data again and say how well each cluster is recovered.

    For every cluster and every resample the Jaccard similarity of the cluster, as far as it was
    sampled, with the most similar of the new clusters [1]_.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Features; (n, n) distances or similarities where the clusterer takes precomputed ones.
    clusterer : estimator
        Any clusterer with ``fit_predict``; it is cloned, and its ``random_state`` is set where it
        has one.
    labels : (n,) array, optional
        The clustering whose clusters are looked for; by default that of the clusterer.
    n_resamples : int
        How often the data are resampled.
    scheme : {"bootstrap", "subsample"}
        n points with replacement, of which copies count once in the comparison; or ``ratio * n``
        without.
    ratio : float
        Share of the points of a subsample.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        Resamples are clustered in parallel; the result does not depend on it.

    Returns
    -------
    ClusterStability

    See Also
    --------
    Affinity : Stability of single points.

    Notes
    -----
    As a rule a mean below 0.6 is no pattern, above 0.75 a valid one and above 0.85 a very stable
    one. One cluster that holds everything is always stable, and a stable cluster need not be a real
    one: a symmetric density is cut stably where its axes are unequal.

    References
    ----------
    .. [1] C. Hennig, "Cluster-wise assessment of cluster stability", Computational Statistics &
       Data Analysis 52, 258-271, 2007. doi:10.1016/j.csda.2006.11.025

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from clusterscape.validate import cluster_stability
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.3, size=(40, 2)) for c in (0, 3, 6)])
    >>> found = cluster_stability(X, KMeans(3, n_init=5), n_resamples=20, random_state=0)
    >>> found.table["jaccard"].tolist()
    [1.0, 1.0, 1.0]
    """
    check_clusterer(clusterer, "clusterer")  # first: it is often given before the data
    check_same_rows(X, labels)
    X = read_matrix(X).views[0]
    if is_pairwise(clusterer):
        check_square(X)
    own, *seeds = spawn(random_state, n_resamples + 1)
    given = clustered(clusterer, X, own) if labels is None else labels
    codes, categories = encode(given, "labels")
    if codes.shape != (X.shape[0],):
        raise ValueError(f"labels has {codes.size} entries for {X.shape[0]} rows of X.")
    codes = np.maximum(codes.astype(np.int64), -1)
    k = int(codes.max(initial=-1)) + 1
    if k == 0:
        raise ValueError("labels: there is no cluster; every point is noise.")
    tasks = [(clusterer, X, codes, k, ratio if scheme == "subsample" else None, s) for s in seeds]
    outcomes = parallel_map(_resampled, tasks, n_jobs=n_jobs)
    kept = [o for o in outcomes if not isinstance(o, str)]
    similar = np.stack(kept) if kept else np.empty((0, k))
    seen = ~np.isnan(similar)
    count = np.maximum(seen.sum(axis=0), 1)
    filled = np.where(seen, similar, 0.0)
    none = ~seen.any(axis=0)
    table = pd.DataFrame(
        {
            "size": np.bincount(codes[codes >= 0], minlength=k),
            "jaccard": np.where(none, np.nan, filled.sum(axis=0) / count),
            "recovered": np.where(none, np.nan, (filled >= _RECOVERED).sum(axis=0) / count),
            "dissolved": np.where(
                none, np.nan, (seen & (filled <= _DISSOLVED)).sum(axis=0) / count
            ),
        },
        index=pd.Index(range(k) if categories is None else list(categories), name="cluster"),
    )
    return ClusterStability(table, similar, codes, [o for o in outcomes if isinstance(o, str)])


def clustered(clusterer: Any, X: Any, seed: SeedSequence) -> np.ndarray:
    """Return the labels of a copy of a clusterer, whose ``random_state`` is set where it has one.

    So are those of the steps of a pipeline. A seed gives the same labels again.
    """
    made = clone(clusterer)
    own: dict[str, int] = {}
    for position, name in enumerate(sorted(made.get_params())):
        if name.split("__")[-1] == "random_state":
            # Not spawned: that would change the seed, and the next call with it.
            key = (*seed.spawn_key, position)
            own[name] = sklearn_seed(SeedSequence(seed.entropy, spawn_key=key))
    made.set_params(**own)
    return np.asarray(made.fit_predict(X))


def check_clusterer(clusterer: Any, name: str) -> None:
    """Refuse what has no ``fit_predict``."""
    if not hasattr(clusterer, "fit_predict") or not hasattr(clusterer, "get_params"):
        raise TypeError(
            f"{name} must have fit_predict, as scikit-learn's clusterers do; "
            f"{type(clusterer).__name__} has not."
        )


def is_pairwise(clusterer: Any) -> bool:
    """Return whether a clusterer takes distances or similarities between points."""
    while isinstance(clusterer, Pipeline):
        clusterer = clusterer.steps[0][1]
    # Not all clusterers of scikit-learn that take them have the tag for it.
    values = (getattr(clusterer, name, None) for name in ("metric", "affinity", "kernel"))
    return any(isinstance(value, str) and value.startswith("precomputed") for value in values)


def check_square(X: Any) -> None:
    """Refuse a table that does not hold what lies between the points."""
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            "X: the clusterer takes distances or similarities between the points, as many columns "
            f"as rows; got {X.shape[0]} rows and {X.shape[1]} columns."
        )


def drawn_points(X: Any, rows: np.ndarray, pairwise: bool) -> Any:
    """Return the data of some points, or what lies between them."""
    return X[rows][:, rows] if pairwise else X[rows]


def _resampled(
    task: tuple[Any, Any, np.ndarray, int, float | None, SeedSequence],
) -> np.ndarray | str:
    """Return the similarity of each cluster in one resample, or why there is none."""
    clusterer, X, codes, k, ratio, seed = task
    drawing, clustering = seed.spawn(2)
    rng, n = np.random.default_rng(drawing), codes.size
    if ratio is None:
        rows = np.sort(rng.integers(0, n, n))
    else:
        rows = np.sort(rng.choice(n, max(1, round(ratio * n)), replace=False))
    try:
        with hear_warnings():
            part = drawn_points(X, rows, is_pairwise(clusterer))
            found = encode(clustered(clusterer, part, clustering), "labels")[0]
    except Exception as error:  # a failed resample is reported, the others count
        return f"{type(error).__name__}: {error}"
    first = np.unique(rows, return_index=True)[1]
    return _best_jaccard(codes[rows[first]], found[first].astype(np.int64), k)


def _best_jaccard(old: np.ndarray, new: np.ndarray, k: int) -> np.ndarray:
    """Return the Jaccard similarity of each old cluster with the most similar new one.

    nan for an old cluster of which nothing was drawn, 0 where there are only noise points.
    """
    width = int(new.max(initial=-1)) + 1
    sizes = np.bincount(old[old >= 0], minlength=k).astype(np.float64)
    if width == 0:
        return np.where(sizes > 0, 0.0, np.nan)
    both = (old >= 0) & (new >= 0)
    table = np.bincount(old[both] * width + new[both], minlength=k * width).reshape(k, width)
    union = sizes[:, None] + np.bincount(new[new >= 0], minlength=width) - table
    return np.where(sizes > 0, (table / np.maximum(union, 1)).max(axis=1), np.nan)
