"""Members on the columns that points have: ensembles of tables with missing values."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from sklearn.base import clone

from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Instance,
    Integer,
    Null,
    Number,
    Seed,
    checked,
)
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.generate.features import in_memory, refuse_unreadable
from clusterscape.generate.generator import EnsembleGenerator


@checked(
    {
        "n_partitions": (Integer(1),),
        "generator": (Null(), Instance(EnsembleGenerator)),
        "share": (Number(0, 1, open_low=True),),
        "random_state": (Seed(),),
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }
)
def present_columns(
    X: Any,
    n_partitions: int = 100,
    *,
    generator: EnsembleGenerator | None = None,
    share: float = 0.5,
    index: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Ensemble:
    """Cluster a table with missing values: each member on columns that many points have.

    Nothing is filled in. A member draws a point among those that the fewest members have seen so
    far, goes through its columns in random order, and keeps a column as long as the ``share`` of
    the points has all that are kept (the first one always). It clusters the points that have them
    all; the others are unsampled in it, which counts neither for nor against them.

    Parameters
    ----------
    X : (n, d) array or data frame
        Features, of which some are NaN. Scale the columns first; scikit-learn's scalers pass over
        missing values.
    n_partitions : int
        Number of partitions.
    generator : EnsembleGenerator, optional
        How one member clusters its part of the table; by default k-means with a number of clusters
        between 2 and the square root of the number of its points.
    share : float
        Least share of the points that a member should see, in (0, 1].
    index : (n,) array, optional
        The points' ids; by default the index of a pandas data frame.
    random_state : int, generator or None
        The same seed gives the same ensemble, for any ``n_jobs``.
    n_jobs : int or None
        Workers.
    progress : bool or None
        Show progress on stderr; None shows it on a terminal only.

    Returns
    -------
    Ensemble
        With the columns of every member in its record. Combine it with any method of
        :mod:`clusterscape.combine`, or with :meth:`ConsensusClustering.fit_ensemble`.

    See Also
    --------
    random_features : Members on random columns of a table without gaps.
    clusterscape.preprocess.TableEncoder : Fills missing values.

    Notes
    -----
    Values that are missing because of what they are (the highest incomes are not told) still
    mislead: the points that a member sees are then no fair sample. Points with very few values are
    seen together with others on these few columns only. Where every point has all values, all
    members use all columns.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import present_columns
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 1, (30, 4)) for c in (0, 9)])
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> ensemble = present_columns(X, 20, random_state=0)
    >>> ensemble.n_points, bool(ensemble.in_clusters().all())
    (60, True)
    """
    values, ids = _numbers(X)
    names = ids if index is None else pd.Index(index)
    has = ~np.isnan(values)
    empty = np.flatnonzero(~has.any(axis=1))
    if empty.size:
        raise ValueError(
            f"X has {empty.size:,} rows without any value, the first of them row {empty[0]}; leave "
            "them out, for example X.dropna(how='all')."
        )
    drawing, *seeds = spawn(random_state, n_partitions + 1)
    parts = _plan(has, n_partitions, share, np.random.default_rng(drawing))
    made = EnsembleGenerator() if generator is None else generator
    run = partial(_member, values, has, made)
    found = parallel_map(
        run,
        list(zip(parts, seeds, strict=True)),
        n_jobs=n_jobs,
        label="clusterings",
        progress=progress,
    )
    return Ensemble.from_labels(
        [labels for labels, _ in found], records=[record for _, record in found], index=names
    )


def _numbers(X: Any) -> tuple[np.ndarray, pd.Index | None]:
    """Return the features with NaN where values are missing, and the ids of a frame of pandas."""
    refuse_unreadable(X, "X")
    ids = X.index if isinstance(X, pd.DataFrame) else None
    if hasattr(X, "to_pandas"):  # polars
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        X = X.to_numpy(dtype=np.float64, na_value=np.nan)
    values = np.array(in_memory(X, "X"), dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(
            f"X must have rows and columns, points x features; its shape is {values.shape}."
        )
    infinite = np.argwhere(np.isinf(values))
    if infinite.size:
        row, column = infinite[0]
        raise ValueError(
            f"X is infinite in row {row}, column {column}; put a number or NaN in its place."
        )
    return values, ids


def _plan(has: np.ndarray, n: int, share: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the columns of each member."""
    seen = np.zeros(len(has), dtype=np.int64)
    least = share * len(has)
    plan = []
    for _ in range(n):
        point = int(rng.choice(np.flatnonzero(seen == seen.min())))
        kept: list[int] = []
        rows = np.ones(len(has), dtype=bool)
        for column in rng.permutation(np.flatnonzero(has[point])):
            smaller = rows & has[:, column]
            if not kept or smaller.sum() >= least:
                kept.append(int(column))
                rows = smaller
        seen += rows
        plan.append(np.sort(np.array(kept)))
    return plan


def _member(
    X: np.ndarray,
    has: np.ndarray,
    generator: EnsembleGenerator,
    task: tuple[np.ndarray, SeedSequence],
) -> tuple[np.ndarray, PartitionRecord]:
    """Cluster the points that have some columns; return their labels and the record."""
    columns, seed = task
    rows = np.flatnonzero(has[:, columns].all(axis=1))
    one = clone(generator).set_params(
        n_partitions=1, random_state=seed, n_jobs=1, progress=False, store=None
    )
    part = one.generate(X[np.ix_(rows, columns)])
    labels = np.full(len(X), UNSAMPLED, dtype=np.int64)
    labels[rows] = part.labels[:, 0]
    record = part.records[0]
    used = columns if record.columns is None else columns[record.columns]
    return labels, record.replace(generator="present_columns", columns=used, rows="present")
