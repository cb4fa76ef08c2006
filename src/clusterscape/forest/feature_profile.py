"""How strongly each column alone divides the points: the feature profile of cluster forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from numpy.typing import ArrayLike
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Integer, Seed, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape._core.weights import optional_weights
from clusterscape.generate.features import read_features

# Entries of the columns that are held dense together, and columns of one call to the kernel.
_BLOCK = 2_000_000
_COLUMNS = 64


@dataclass(frozen=True)
class FeatureProfile:
    """The strength of every column, as :func:`feature_profile` finds it.

    Attributes
    ----------
    strengths : (d,) array
        kappa of k-means on each column alone; small is strong.
    sampled : (d,) array of bool
        Columns with fewer distinct values than clusters: their strengths are drawn from those of
        the other columns.
    n_distinct : (d,) array of int
        Distinct values of each column.
    names : tuple of str or None
        The columns' names, if X is a data frame.
    n_clusters : int
        Clusters of each k-means.
    kappa : str
        The form of kappa.

    See Also
    --------
    feature_profile : Make one.
    clusterscape.plot.FeatureProfileDisplay : Draws the strengths.
    """

    strengths: np.ndarray
    sampled: np.ndarray
    n_distinct: np.ndarray
    names: tuple[str, ...] | None
    n_clusters: int
    kappa: str


class _Batch(NamedTuple):
    """Some columns, and all that is needed to measure them."""

    X: Any  # dense, or CSC
    columns: slice
    weight: np.ndarray
    settings: Any  # of k-means
    seeds: np.ndarray
    by_pairs: bool


@checked(
    {
        "n_clusters": [Integer(2)],
        "kappa": [Choice("pairs", "anova")],
        "algorithm": [Choice("lloyd", "hartigan")],
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def feature_profile(
    X: Any,
    n_clusters: int,
    *,
    kappa: Literal["anova", "pairs"] = "anova",
    algorithm: Literal["lloyd", "hartigan"] = "lloyd",
    n_init: int = 20,
    max_iter: int = 200,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> FeatureProfile:
    """Measure how strongly each column alone divides the points.

    The strength of a column is kappa, the squared distances within clusters over those between
    them, of k-means on this column alone: small is strong. The histogram of the strengths is the
    feature profile of Cluster Forests [1]_, shown by
    :class:`~clusterscape.plot.FeatureProfileDisplay`. The paper's rule of thumb for the number of
    competitors of a forest: many where many columns are weak and the strengths differ much,
    otherwise few or one.

    Parameters
    ----------
    X : array, sparse matrix or data frame of shape (n, d)
        The points. Sparse columns are made dense a few at a time.
    n_clusters : int
        Clusters of each k-means, 2 or more.
    kappa : {"anova", "pairs"}
        Sums of squares within and between clusters as in an analysis of variance, or sums over
        pairs of points. They differ by the sizes of the clusters.
    algorithm : {"lloyd", "hartigan"}
        k-means by batch updates, or by exchange of single points.
    n_init : int
        Starts of each k-means; the one with the lowest inertia is kept.
    max_iter : int
        Largest number of iterations of a start.
    sample_weight : (n,) array, optional
        Weights >= 0; a point of weight 0 does not count.
    random_state : int, generator or None
        The same seed gives the same strengths, for any ``n_jobs``.
    n_jobs : int or None
        Number of workers, which share the columns.

    Returns
    -------
    FeatureProfile

    See Also
    --------
    ClusterForest : Its ``n_competitors`` is what a profile helps to choose.
    kappa : The measure of one partition.

    Notes
    -----
    A column with fewer distinct values than clusters, a constant one among them, has no strength
    of its own; it gets that of another column, drawn at random, as in the paper, and is marked in
    ``sampled``. A column with exactly as many values as clusters has strength 0, the strongest,
    whatever it means: profiles of categorical data are not informative.

    kappa does not depend on a column's unit. It measures how well one column falls into groups,
    not whether these groups are those of the other columns, and it also rewards columns with long
    tails, whose outliers are a group of their own.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan, "Cluster Forests", Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.forest import feature_profile
    >>> X = np.column_stack([[0, 1, 9, 10], [0, 1, 2, 3], [5, 5, 5, 5]])
    >>> profile = feature_profile(X, 2, random_state=0)
    >>> profile.strengths[:2].round(4)
    array([0.0123, 0.25  ])
    >>> profile.sampled
    array([False, False,  True])
    """
    views = read_features(X).views
    if len(views) > 1:
        raise ValueError(f"X must be one matrix; got a list of {len(views)}. Give them one by one.")
    matrix = views[0]
    weight = optional_weights(sample_weight, matrix.shape[0])
    names = None if getattr(X, "columns", None) is None else tuple(str(c) for c in X.columns)
    if weight is None:
        weight = np.ones(matrix.shape[0])
    elif not weight.all():
        matrix, weight = matrix[np.flatnonzero(weight)], weight[weight > 0]
    of_columns, of_draws = spawn(random_state, 2)
    settings = kernels.kmeans.Plan(
        min(n_clusters, len(weight)),
        True,
        algorithm == "hartigan",
        False,
        int(n_init),
        int(max_iter),
        0.0,
    )
    batches = _batches(matrix, weight, settings, of_columns, kappa == "pairs")
    found = parallel_map(_measure, batches, n_jobs=n_jobs)
    strengths, n_distinct = (np.concatenate(part) for part in zip(*found, strict=True))
    sampled = n_distinct < n_clusters
    if sampled.all():
        raise ParameterError(
            f"no column of X has {n_clusters} or more distinct values (the most is "
            f"{int(n_distinct.max())}), so none can be divided into {{n_clusters}} clusters; ask "
            "for fewer.",
            n_clusters=n_clusters,
        )
    rng = np.random.default_rng(of_draws)
    strengths[sampled] = rng.choice(strengths[~sampled], size=int(sampled.sum()))
    return FeatureProfile(strengths, sampled, n_distinct, names, int(n_clusters), kappa)


def _batches(
    X: Any, weight: np.ndarray, settings: Any, seed: SeedSequence, pairs: bool
) -> list[_Batch]:
    """Cut the columns into batches that do not depend on the number of workers."""
    n, d = X.shape
    seeds = seed.generate_state(d, np.uint64)
    columns = sparse.csc_matrix(X) if sparse.issparse(X) else X
    size = max(1, min(_COLUMNS, _BLOCK // n))
    cuts = [slice(start, min(start + size, d)) for start in range(0, d, size)]
    return [_Batch(columns, cut, weight, settings, seeds[cut], pairs) for cut in cuts]


def _measure(batch: _Batch) -> tuple[np.ndarray, np.ndarray]:
    """Return kappa and the number of distinct values of each column of a batch."""
    part = batch.X[:, batch.columns]
    XT = np.ascontiguousarray((part.toarray() if sparse.issparse(part) else part).T)
    ordered = np.sort(XT, axis=1)
    n_distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)
    del ordered
    XT = _in_range(XT)
    m, weight, total = len(XT), batch.weight, batch.weight.sum()
    fits = kernels.kmeans.fit_many(
        XT, np.arange(m), np.arange(m + 1), weight, batch.settings, batch.seeds
    )
    mean = (XT * weight).sum(axis=1) / total
    scatter = ((XT - mean[:, None]) ** 2 * weight).sum(axis=1)
    within = fits.within
    within[n_distinct <= batch.settings.n_clusters] = 0.0  # what is left there is rounding
    between = np.maximum(scatter - within.sum(axis=1), 0.0)
    strengths = [
        kernels.forest.kappa_of(within[p], fits.mass[p], between[p], batch.by_pairs)
        for p in range(m)
    ]
    return np.array(strengths), n_distinct


def _in_range(XT: np.ndarray) -> np.ndarray:
    """Bring every column to [-1, 1]; kappa is the same, and squares stay in the range of floats."""
    largest = np.abs(XT).max(axis=1, keepdims=True)
    out = np.divide(XT, largest, out=np.zeros(XT.shape), where=largest > 0)
    out -= (out.max(axis=1, keepdims=True) + out.min(axis=1, keepdims=True)) / 2
    reach = out.max(axis=1, keepdims=True)
    return np.divide(out, reach, out=out, where=reach > 0)
