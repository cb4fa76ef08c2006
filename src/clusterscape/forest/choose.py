"""choose_forest: settings of a cluster forest, compared without labels."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clusterscape._core.params import N_JOBS, PROGRESS, Choice, Integer, Rules, Seed, Such, checked
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.forest.estimator import ClusterForest


def _are_counts(value: Any) -> bool:
    if isinstance(value, (str, bytes)) or not hasattr(value, "__len__"):
        return False
    return len(value) > 0 and all(Integer(1).allows(v) for v in value)


_COUNTS = Such(
    _are_counts, "a sequence of one or more integers >= 1", refused=[(), (0,), (1.5,), 3, "12"]
)
_RULES: Rules = {
    "n_clusters": [Integer(2)],
    "n_competitors": [_COUNTS],
    "patience": [_COUNTS],
    "criterion": [Choice("ncut", "kappa")],
    "random_state": [Seed()],
    "n_jobs": N_JOBS,
    "progress": PROGRESS,
}


@dataclass(frozen=True)
class ForestChoice:
    """The settings of a cluster forest that were compared, and the one that was chosen.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per setting: ``n_competitors``, ``patience``, ``ncut`` (normalised cut of the
        forest's regularised matrix), ``kappa`` (median over its vectors), ``vectors`` (distinct
        partitions among them), ``seconds``, ``chosen``, and ``error``, empty unless the fit failed.
    n_competitors : int
        The chosen number of competitors.
    patience : int
        The chosen patience.
    criterion : str
        The column of ``table`` that is lowest at the choice.
    forest : ClusterForest
        The fitted forest of this setting.

    See Also
    --------
    choose_forest : Make one.
    """

    table: pd.DataFrame
    n_competitors: int
    patience: int
    criterion: str
    forest: ClusterForest


@checked(_RULES)
def choose_forest(
    X: Any,
    n_clusters: int,
    *,
    n_competitors: Sequence[int] = (1, 2, 3, 5, 10, 15, 20),
    patience: Sequence[int] = (1,),
    criterion: Literal["ncut", "kappa"] = "ncut",
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    **options: Any,
) -> ForestChoice:
    """Choose the competitors and the patience of a cluster forest without labels.

    A :class:`~clusterscape.forest.ClusterForest` is fitted with every pair of settings, all of
    them from the same seed, and the one with the lowest criterion is kept. Of equal ones the
    fewest competitors win, then the least patience.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The points.
    n_clusters : int
        Number of clusters, 2 or more; the same for all settings, so that they can be compared.
    n_competitors : sequence of int
        Numbers of draws that compete for the start of a vector (q).
    patience : sequence of int
        Numbers of draws in a row that may fail before a vector is finished.
    criterion : {"ncut", "kappa"}
        What is compared. "ncut": the normalised cut of the forest's regularised matrix, summed over
        its clusters, which is low when the vectors agree on well separated clusters. "kappa": the
        median kappa of the vectors, which is low when each of them is clean on its own columns.
    sample_weight : (n,) array, optional
        Weights of the points.
    random_state : int, generator or None
        The same seed gives the same choice, for any ``n_jobs``.
    n_jobs : int or None
        Number of workers that grow the vectors of a forest.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.
    **options
        Other parameters of :class:`~clusterscape.forest.ClusterForest`.

    Returns
    -------
    ForestChoice

    See Also
    --------
    ClusterForest : The forest itself, with its other parameters.
    feature_profile : How strongly each column alone divides the points.

    Notes
    -----
    **Not recommended as a substitute for the defaults.** On the eight sets of the paper [1]_ the
    choice of the competitors lost 2.0 points of accuracy on average against one competitor (by
    Ncut; 1.1 by kappa), from -11 to +8, and the choice of the patience lost 1.6 and 1.7 points
    (``benchmarks/papers/cluster_forests.py``). Use it to see how much the result depends on the
    settings.

    Neither criterion is a test of quality. Every setting has a matrix of its own, and normalised
    cuts of different matrices are not strictly comparable: vectors that are alike give a clean
    matrix whether or not they are right. More competitors make vectors alike, and lower kappa by
    construction, so that both criteria prefer many. Where one column of large scale decides, they
    prefer the forests in which it decides most. Look at the table, and at
    ``forest.feature_share_``, before you believe the choice.

    The cost is that of one forest per setting. Settings that are given twice are fitted once. A
    setting whose fit fails is a row with the reason; when all fail, the first reason is raised.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan, "Cluster Forests", Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.forest import choose_forest
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> X[:30, 0] += 9
    >>> choice = choose_forest(X, 2, n_competitors=(1, 8), n_vectors=20, random_state=0)
    >>> choice.n_competitors, np.bincount(choice.forest.labels_)
    (8, array([30, 30]))
    """
    known = set(ClusterForest().get_params(deep=False))
    unknown = sorted(set(options) - known)
    if unknown:
        raise TypeError(
            f"choose_forest: {unknown[0]} is not a parameter of ClusterForest; it has "
            f"{', '.join(sorted(known))}."
        )
    # One root for all: a setting then differs from another by the setting alone.
    common = {
        "random_state": root_sequence(random_state),
        "n_jobs": n_jobs,
        "progress": progress,
        **options,
    }
    rows: list[dict[str, Any]] = []
    best: tuple[int, float, int] | None = None
    kept: tuple[ClusterForest, list[Any]] | None = None
    first_error: Exception | None = None
    for q, tau in sorted({(int(q), int(tau)) for q in n_competitors for tau in patience}):
        forest = ClusterForest(n_clusters, n_competitors=q, patience=tau, **common)
        start = time.perf_counter()
        row: dict[str, Any] = {"n_competitors": q, "patience": tau}
        try:
            caught = _fit(forest, X, sample_weight)
            row |= _facts(forest)
        except (ValueError, RuntimeError, MemoryError) as error:
            first_error = first_error or error
            row |= {"ncut": np.nan, "kappa": np.nan, "vectors": 0, "error": str(error)}
        else:
            # Fewer clusters than asked for have the lower cut, and are no better answer.
            missing = n_clusters - forest.n_clusters_
            if best is None or (missing, row[criterion]) < best[:2]:
                best, kept = (missing, row[criterion], len(rows)), (forest, caught)
        rows.append(row | {"seconds": time.perf_counter() - start})
    if best is None or kept is None:
        assert first_error is not None
        raise first_error
    return _choice(rows, best[2], criterion, kept)


def _fit(forest: ClusterForest, X: Any, sample_weight: ArrayLike | None) -> list[Any]:
    """Fit, and return the warnings: only those of the chosen forest are shown."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        forest.fit(X, sample_weight=sample_weight)
    return caught


def _facts(forest: ClusterForest) -> dict[str, Any]:
    labels = forest.ensemble_.compress().ensemble.labels.T
    return {
        "ncut": float(forest.cost_),
        "kappa": float(np.median(forest.kappa_)),
        "vectors": len({pd.factorize(column)[0].tobytes() for column in labels}),
        "error": "",
    }


def _choice(
    rows: list[dict[str, Any]], best: int, criterion: str, kept: tuple[ClusterForest, list[Any]]
) -> ForestChoice:
    forest, caught = kept
    for message in caught:
        warnings.warn(message.message, message.category, stacklevel=4)
    columns = ["n_competitors", "patience", "ncut", "kappa", "vectors", "seconds", "error"]
    table = pd.DataFrame(rows, columns=columns)
    table.insert(6, "chosen", np.arange(len(rows)) == best)
    return ForestChoice(
        table, rows[best]["n_competitors"], rows[best]["patience"], criterion, forest
    )
