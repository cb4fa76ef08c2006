"""Distances between partitions by rank: how many sampled partitions are nearer.

Such a distance belongs to a sample: where many partitions were drawn it is stretched, where few
were it shrinks. So it is no measure of two partitions alone, and not in ``MEASURES``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from clusterscape._core.params import Choice, Instance, Null, checked
from clusterscape._core.weights import checked_weights
from clusterscape.compare.registry import MEASURES
from clusterscape.compare.tables import Columns
from clusterscape.ensemble import Ensemble, as_ensemble

Symmetric = Literal["mean", "max", "min"]

_SYMMETRIC = (Null(), Choice("mean", "max", "min"))
_ZERO = 1e-12  # share of the largest distance below which two partitions are the same


@checked({"symmetric": _SYMMETRIC})
def density_distances(
    distances: Any, counts: Any = None, *, symmetric: Symmetric | None = "mean"
) -> np.ndarray:
    """Density-based distances of all pairs of a sample, from any distances between them.

    The distance from P to Q is the number of sampled partitions that are nearer to P than Q is,
    without P itself. It is not symmetric: seen from a dense region, what lies outside is far.

    Parameters
    ----------
    distances : (m, m) array
        Distances between different partitions of the sample.
    counts : (m,) array, optional
        How often each of them was sampled; once unless given.
    symmetric : {"mean", "max", "min"} or None
        How the two directions are joined; None keeps row P the ranks as seen from P.

    Returns
    -------
    (m, m) array

    See Also
    --------
    density_distance : Of two partitions, given a sample.
    pairwise : Distances between the partitions of an ensemble.

    Notes
    -----
    Takes O(m^2 log m). Partitions that are equally far tie, so with a measure of few values (two
    clusters of few points) many distances are equal.

    References
    ----------
    .. [1] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013,
       section 4.3.

    Examples
    --------
    >>> from clusterscape.compare import density_distances
    >>> line = [[0, 1, 5], [1, 0, 4], [5, 4, 0]]
    >>> density_distances(line, symmetric=None)
    array([[0., 0., 1.],
           [0., 0., 1.],
           [1., 0., 0.]])
    >>> density_distances(line, counts=[10, 1, 1])
    array([[0. , 4.5, 5.5],
           [4.5, 0. , 5. ],
           [5.5, 5. , 0. ]])
    """
    table = np.array(distances, dtype=np.float64)
    m = table.shape[0]
    if table.shape != (m, m) or m == 0:
        raise ValueError(f"distances must be a square matrix; got shape {table.shape}.")
    if not np.isfinite(table).all() or (table < 0).any():
        raise ValueError("distances must be finite and not negative.")
    times = checked_weights(counts, m, name="counts", each="partition")
    table[table <= _ZERO * table.max()] = 0.0
    ranks = np.empty_like(table)
    for p, row in enumerate(table):
        order = np.argsort(row, kind="stable")
        below = np.concatenate([[0.0], np.cumsum(times[order])])
        nearer = below[np.searchsorted(row[order], row, side="left")]
        # P itself is one of those at distance zero, which are nearer than all others.
        ranks[p] = np.maximum(nearer - (row > 0), 0.0)
    return _joined(ranks, symmetric)


def _joined(ranks: np.ndarray, symmetric: str | None) -> np.ndarray:
    if symmetric is None:
        return ranks
    if symmetric == "mean":
        return 0.5 * (ranks + ranks.T)
    found: np.ndarray = (np.maximum if symmetric == "max" else np.minimum)(ranks, ranks.T)
    return found


@checked(
    {
        "metric": (Choice(registry=MEASURES),),
        "symmetric": _SYMMETRIC,
        "metric_params": (Null(), Instance(Mapping)),
    }
)
def density_distance(
    a: Any,
    b: Any,
    sample: Any,
    *,
    features: Any = None,
    metric: str = "lift_emd",
    symmetric: Symmetric | None = "mean",
    metric_params: Mapping[str, Any] | None = None,
) -> float:
    """Number of sampled partitions that are nearer to a than b is.

    Parameters
    ----------
    a, b : (n,) labels
        Two partitions.
    sample : Ensemble or (n, r) array
        Sampled partitions of the same points; one that occurs several times counts so often, and
        one that is equal to ``a`` (or ``b``, seen from there) is ``a`` itself and does not.
    features : (n, d) array, optional
        The points, for a metric in space.
    metric : str
        A measure of :data:`MEASURES`.
    symmetric : {"mean", "max", "min"} or None
        How the count as seen from a is joined with that from b; None is that from a.
    metric_params : dict, optional
        Options of the measure.

    Returns
    -------
    float
        From 0 to the number of sampled partitions.

    See Also
    --------
    density_distances : All pairs of a sample at once.

    References
    ----------
    .. [1] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013,
       section 4.3.

    Examples
    --------
    >>> from clusterscape.compare import density_distance
    >>> sample = [[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0, 1]]
    >>> a, b = [0, 0, 1, 1], [0, 1, 0, 1]
    >>> density_distance(a, b, sample, metric="rand_distance", symmetric=None)
    2.0
    """
    drawn = as_ensemble(sample, "sample")
    every = Ensemble.from_labels([a, b]).concat(drawn.with_index(None))
    times = np.concatenate([[0.0, 0.0], drawn.weights])
    others = np.arange(every.n_partitions)
    pairs = np.concatenate([np.column_stack([np.full_like(others, p), others]) for p in (0, 1)])
    values = pair_distances(every, pairs, metric, features=features, options=metric_params)
    rows = np.where(values <= _ZERO * values.max(), 0.0, values).reshape(2, -1)
    ranks = np.zeros((2, 2))
    for p in (0, 1):
        between = rows[p, 1 - p]
        own = float((times[rows[p] == 0.0] > 0).any())
        ranks[p, 1 - p] = max(times[rows[p] < between].sum() - own, 0.0) if between > 0 else 0.0
    return float(_joined(ranks, symmetric)[0, 1])


def pair_distances(
    ensemble: Ensemble,
    pairs: np.ndarray,
    metric: str,
    *,
    features: Any = None,
    options: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Return the distances of some pairs (m, 2) of an ensemble's partitions.

    Of a similarity, how much its largest value is missed.
    """
    measure = MEASURES[metric]
    given = dict(options or {})
    if measure.prepare is not None:
        values = measure.in_space(ensemble, features, pairs, n_jobs=n_jobs, **given)
    else:
        columns = Columns.of(ensemble, sample_weight=ensemble.sample_weight)
        values = np.empty(len(pairs))
        for batch in columns.batches(pairs):
            tables = columns.tables(pairs[batch], measure.noise[0])
            values[batch] = measure.values(tables, **given)
    if measure.direction == "similarity":
        values = (measure.identity or 0.0) - values
    return values
