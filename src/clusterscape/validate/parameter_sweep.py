"""A clusterer over a grid of its parameters: one table of what is known without classes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score
from sklearn.model_selection import ParameterGrid

from clusterscape._core.labels import NOISE, encode
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, PROGRESS, Integer, Number, Seed, Such, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape._core.warnings import hear_warnings
from clusterscape.compare import adjusted_rand
from clusterscape.ensemble import Ensemble
from clusterscape.generate.features import point_ids, read_matrix
from clusterscape.validate.affinity import Affinity
from clusterscape.validate.resampling import (
    check_clusterer,
    check_square,
    clustered,
    drawn_points,
    is_pairwise,
)

_CRITERIA = (
    "n_clusters",
    "noise_share",
    "coverage",
    "smallest",
    "stability",
    "stability_sd",
    "point_stability",
    "silhouette",
    "calinski_harabasz",
    "davies_bouldin",
    "seconds",
    "failed_resamples",
    "error",
)


def _is_grid(value: Any) -> bool:
    grids = list(value) if isinstance(value, (list, tuple)) else [value]
    return len(grids) > 0 and all(
        isinstance(grid, Mapping)
        and all(
            isinstance(name, str)
            and not isinstance(values, str)
            and isinstance(values, (Sequence, np.ndarray))
            and len(values) > 0
            for name, values in grid.items()
        )
        for grid in grids
    )


_GRID = Such(
    _is_grid,
    "a dictionary of parameters and lists of their values, or a list of such dictionaries",
    refused=[[], {"n_clusters": 3}, {"n_clusters": []}],
)


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a clusterer found for every setting of a grid.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per setting, in the order of the grid: a column ``param_<name>`` for each parameter,
        then

        - ``n_clusters``, ``smallest``: clusters found, and points of the smallest.
        - ``noise_share``: share of the points that are noise (-1); ``coverage``: share that is in a
          cluster. Points that the clusterer did not see (-2, nan) are in neither.
        - ``stability``, ``stability_sd``: mean and standard deviation of the adjusted Rand index of
          the clusterings of resamples with that of all points, on the points drawn.
        - ``point_stability``: mean stability of the points (:class:`Affinity`), on a scale on which
          the least possible value is 0.
        - ``silhouette``, ``calinski_harabasz`` and ``davies_bouldin`` (the smaller the better) of
          the points in clusters; missing for fewer than two clusters. Of precomputed distances only
          the silhouette is known, of similarities nothing.
        - ``seconds``: of clustering all points.
        - ``failed_resamples``; ``error``: why there is no clustering, and nothing else in the row.
    parameters : list of dict
        The settings.
    labels : list of arrays
        The clustering of each row of the table; None where it failed.
    ids : pandas.Index
        The points' ids.

    See Also
    --------
    sweep : Make one.
    clusterscape.plot.SweepDisplay : Criteria against a parameter.
    """

    table: pd.DataFrame
    parameters: list[dict[str, Any]]
    labels: list[np.ndarray | None]
    ids: pd.Index

    def __repr__(self) -> str:
        """Say what was done; ``table`` has the figures."""
        failed = int(self.table["error"].notna().sum())
        return f"Sweep({len(self.table)} settings of {len(self.ids)} points, {failed} failed)"

    def ensemble(self) -> Ensemble:
        """Return the clusterings that succeeded as an ensemble, for comparison and consensus."""
        made = [(str(row), labels) for row, labels in enumerate(self.labels) if labels is not None]
        if not made:
            raise ValueError(
                f"every candidate failed, the first with {self.table['error'].iloc[0]}"
            )
        return Ensemble.from_labels(dict(made), index=self.ids)


@checked(
    {
        "grid": [_GRID],
        "n_resamples": [Integer(0)],
        "ratio": [Number(0, 1, open_low=True)],
        "max_points": [Integer(2)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }
)
def sweep(
    estimator: Any,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    X: Any,
    *,
    n_resamples: int = 20,
    ratio: float = 0.8,
    max_points: int = 5000,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Sweep:
    """Run any clusterer over a grid of its parameters and put what is known into one table.

    Nothing is chosen: every criterion has its own column. A setting that fails is a row with the
    reason.

    Parameters
    ----------
    estimator : estimator
        Any clusterer with ``fit_predict``, or a pipeline that ends with one; it is cloned, and its
        ``random_state`` is set where it has one.
    grid : dict or list of dict
        Parameters and lists of their values, as in scikit-learn's ``ParameterGrid``.
    X : (n, d) array, sparse matrix or data frame
        Features; (n, n) distances or similarities for settings that take precomputed ones.
    n_resamples : int
        Resamples for ``stability``; the same for every setting. 0 leaves it out.
    ratio : float
        Share of the points of a resample.
    max_points : int
        Silhouettes take time in the square of the number of points: of more points a random sample
        of so many is measured.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        Fits are made in parallel; the result, except ``seconds``, does not depend on it.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.

    Returns
    -------
    Sweep

    See Also
    --------
    resampling_consensus : Consensus over resamples, for a range of numbers of clusters.
    cluster_stability : Stability of every cluster of one setting.
    select_k : A choice of the number of clusters.

    Notes
    -----
    There are no classes to predict, so there is no cross-validation: stability says how well a
    clustering is found again in part of the data, not whether it is right. It favours few clusters,
    and one cluster is always stable. Indices measured on few points in clusters are not comparable
    with those of all points: read them beside ``coverage``.

    References
    ----------
    .. [1] A. Ben-Hur, A. Elisseeff and I. Guyon, "A stability based method for discovering
       structure in clustered data", Pacific Symposium on Biocomputing 7, 6-17, 2002.
       doi:10.1142/9789812799623_0002

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from clusterscape.validate import sweep
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.3, size=(20, 2)) for c in (0, 3, 6)])
    >>> found = sweep(KMeans(n_init=5), {"n_clusters": [2, 3, 90]}, X, random_state=0)
    >>> found.table[["param_n_clusters", "stability", "silhouette"]].round(2)
       param_n_clusters  stability  silhouette
    0                 2       0.91        0.70
    1                 3       1.00        0.88
    2                90        NaN         NaN
    >>> found.table.loc[2, "error"]
    'ValueError: n_samples=60 should be >= n_clusters=90.'
    """
    check_clusterer(estimator, "estimator")
    ids = point_ids(X)
    values = read_matrix(X).views[0]
    n = values.shape[0]
    settings = [dict(setting) for setting in ParameterGrid(grid)]
    drawing, own, measuring, *seeds = spawn(random_state, n_resamples + 3)
    rng = np.random.default_rng(drawing)
    size = max(1, round(ratio * n))
    rows: list[Any] = [None]
    rows += [np.sort(rng.choice(n, size, replace=False)) for _ in range(n_resamples)]
    tasks = [
        _Fit(estimator, setting, values, part, seed)
        for setting in settings
        for part, seed in zip(rows, [own, *seeds], strict=True)
    ]
    done = parallel_map(_fit, tasks, n_jobs=n_jobs, label="sweep", progress=progress)
    each = len(rows)
    found = [
        _row(
            _Measured(values, _is_pairwise_with(estimator, setting), measuring, max_points),
            rows[1:],
            done[i * each : (i + 1) * each],
        )
        for i, setting in enumerate(settings)
    ]
    criteria = pd.DataFrame([row for row, _ in found], columns=list(_CRITERIA))
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    given = {f"param_{name}": [setting.get(name) for setting in settings] for name in names}
    table = pd.concat([pd.DataFrame(given), criteria], axis=1)
    index = pd.RangeIndex(n, name="id") if ids is None else ids
    return Sweep(table, settings, [labels for _, labels in found], index)


@dataclass(frozen=True, eq=False)
class _Fit:
    """One setting on some of the points."""

    estimator: Any
    setting: dict[str, Any]
    X: Any
    rows: np.ndarray | None
    seed: SeedSequence


def _fit(task: _Fit) -> tuple[np.ndarray | str, float]:
    """Return the labels, or why there are none, and the seconds that they took."""
    start = time.perf_counter()
    try:
        with hear_warnings():
            made = clone(task.estimator).set_params(**task.setting)
            pairwise = is_pairwise(made)
            if pairwise:
                check_square(task.X)
            X = task.X if task.rows is None else drawn_points(task.X, task.rows, pairwise)
            labels = encode(clustered(made, X, task.seed), "labels")[0].astype(np.int64)
    except Exception as error:  # a failed candidate is a row with its reason
        return f"{type(error).__name__}: {' '.join(str(error).split())}", 0.0
    return labels, time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class _Measured:
    """What the indices of one setting are measured on."""

    X: Any
    pairwise: bool
    seed: SeedSequence
    max_points: int

    @property
    def has_distances(self) -> bool:
        """Whether ``X`` can hold distances between the points: a point is at 0 from itself."""
        return self.pairwise and not (sparse.issparse(self.X) or self.X.diagonal().any())


def _is_pairwise_with(estimator: Any, setting: dict[str, Any]) -> bool:
    """Return whether an estimator takes distances or similarities with some parameters."""
    try:
        return is_pairwise(clone(estimator).set_params(**setting))
    except ValueError:  # a wrong parameter: the row says so
        return False


def _row(
    measured: _Measured, samples: list[np.ndarray], done: list[tuple[Any, float]]
) -> tuple[dict[str, Any], np.ndarray | None]:
    """Return the criteria of one setting, and its labels."""
    (labels, seconds), *again = done
    if isinstance(labels, str):
        return {"error": labels}, None
    kept = [
        float(adjusted_rand(labels[rows], other))
        for rows, (other, _) in zip(samples, again, strict=True)
        if not isinstance(other, str)
    ]
    sizes = np.bincount(labels[labels >= 0])
    row: dict[str, Any] = {
        "n_clusters": sizes.size,
        "noise_share": float((labels == NOISE).mean()),
        "coverage": float((labels >= 0).mean()),
        "smallest": int(sizes.min(initial=labels.size)) if sizes.size else 0,
        "stability": float(np.mean(kept)) if kept else np.nan,
        "stability_sd": float(np.std(kept, ddof=1)) if len(kept) > 1 else np.nan,
        "seconds": seconds,
        "failed_resamples": len(again) - len(kept),
        "error": None,
    }
    return row | _indices(measured, labels, sizes), labels


def _indices(measured: _Measured, labels: np.ndarray, sizes: np.ndarray) -> dict[str, float]:
    """Return internal indices of the points in clusters; none for fewer than two clusters."""
    inside = np.flatnonzero(labels >= 0)
    if sizes.size < 2 or sizes.size >= inside.size:
        return {}
    X, seed, found = measured.X, measured.seed, {}
    if not measured.pairwise:
        certified = Affinity(random_state=seed).fit(X, labels).certificates_
        found["point_stability"] = certified.chance_corrected
        if not sparse.issparse(X):
            points, codes = X[inside], labels[inside]
            found["calinski_harabasz"] = float(calinski_harabasz_score(points, codes))
            found["davies_bouldin"] = float(davies_bouldin_score(points, codes))
    elif not measured.has_distances:
        return {}
    if inside.size > measured.max_points:
        rng = np.random.default_rng(seed)
        inside = inside[rng.choice(inside.size, measured.max_points, replace=False)]
    codes = labels[inside]
    if 2 <= np.unique(codes).size < codes.size:
        points = X[inside][:, inside] if measured.pairwise else X[inside]
        metric = "precomputed" if measured.pairwise else "euclidean"
        found["silhouette"] = float(silhouette_score(points, codes, metric=metric))
    return found
