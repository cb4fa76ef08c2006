"""All pairs of an ensemble at once, each pair's table counted a single time."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._parallel import parallel_map
from clusterscape._params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    InvalidParameter,
    Null,
    check_params,
    checked,
    shown,
)
from clusterscape.compare.registry import MEASURES, Measure, two_columns
from clusterscape.compare.tables import POLICIES, Columns, Noise
from clusterscape.ensemble import Ensemble, as_ensemble

_TASK_BATCHES = 32


@dataclass(frozen=True, eq=False)
class PairwiseResult:
    """Measures between all pairs of an ensemble's partitions.

    Attributes
    ----------
    matrices : dict
        For every measure asked for, by name, its (r, r) matrix: entry (i, j) compares partition i
        (as ``a``) with j (as ``b``); nan where the two have no point in common.
    coverage : (r, r) array
        Share of the points, by weight, that each two partitions were compared on.
    names : tuple of str
        The partitions' names.

    Examples
    --------
    >>> from clusterscape.compare import pairwise
    >>> result = pairwise([[0, 0, 1, 1], [0, 0, 1, 2]], ["rand_distance", "purity"])
    >>> result.metrics
    ('rand_distance', 'purity')
    >>> result.matrices["purity"]
    array([[1.  , 0.75],
           [1.  , 1.  ]])
    """

    matrices: dict[str, np.ndarray]
    coverage: np.ndarray
    names: tuple[str, ...]

    @property
    def metrics(self) -> tuple[str, ...]:
        """The measures' names."""
        return tuple(self.matrices)

    @property
    def matrix(self) -> np.ndarray:
        """The matrix, when one measure was asked for."""
        if len(self.matrices) != 1:
            raise ValueError(
                f"there are {len(self.matrices)} matrices, {', '.join(self.matrices)}; take one "
                "from .matrices by its name."
            )
        return next(iter(self.matrices.values()))

    def to_frame(self, metric: str | None = None) -> pd.DataFrame:
        """Return one matrix as a data frame with the partitions' names on both sides."""
        values = self.matrix if metric is None else self.matrices[metric]
        return pd.DataFrame(values, index=list(self.names), columns=list(self.names))


@checked(
    {
        "noise": [Choice(*POLICIES)],
        "metric_params": [Null(), Instance(Mapping)],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }
)
def pairwise(
    ensemble: Any,
    metric: str | Sequence[str] = "rand_distance",
    *,
    noise: Noise = "singletons",
    features: Any = None,
    metric_params: Mapping[str, Mapping[str, Any]] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> PairwiseResult:
    """Compare every partition of an ensemble with every other.

    Each pair's contingency table is counted once, whatever the number of measures. The ensemble's
    ``sample_weight`` is respected. Time and memory grow with the square of the number of
    partitions; where many of them are equal, remove the duplicates first.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) array-like
        The partitions.
    metric : str or list of str
        Names of measures: see ``MEASURES``.
    noise : {"singletons", "cluster", "drop"}
        What a noise point is: a cluster of its own, a member of one more cluster, or left out.
    features : (n, d) array, optional
        The points, for measures that look at them.
    metric_params : dict, optional
        Options of measures by name, for example ``{"nmi": {"average": "max"}}``.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    progress : bool, optional
        Show progress; by default only on a terminal.

    Returns
    -------
    PairwiseResult
        With ``matrix`` (for one measure), ``matrices`` (by name) and ``coverage``.

    Examples
    --------
    >>> from clusterscape.compare import pairwise
    >>> pairwise([[0, 0, 1, 1], [0, 0, 1, 2], ["a", "a", "b", "b"]], "mirkin").matrix
    array([[0., 2., 0.],
           [2., 0., 2.],
           [0., 2., 0.]])
    """
    partitions = as_ensemble(ensemble)
    options = {name: dict(given) for name, given in (metric_params or {}).items()}
    measures = _chosen(metric, options)
    _check(measures, partitions, features)
    r = partitions.n_partitions
    pairs = np.column_stack(np.triu_indices(r))
    columns = Columns.of(partitions, sample_weight=partitions.sample_weight)
    plain = [m for m in measures if not m.needs_features]
    covers_all = partitions.is_complete and not (noise == "drop" and partitions.has_noise)
    # Measures in space need no tables, and coverage none where every point is compared.
    batches = list(columns.batches(pairs)) if plain or not covers_all else []
    tasks = [[pairs[b] for b in run] for run in _runs(batches)]
    work = partial(_compare_batches, columns, plain, options, noise)
    done = parallel_map(work, tasks, n_jobs=n_jobs, label="comparing", progress=progress)
    found = [result for results in done for result in results]
    coverage = np.ones((r, r))
    matrices = {m.name: np.empty((r, r)) for m in measures}
    for batch, (covered, forward, backward) in zip(batches, found, strict=True):
        _fill(coverage, pairs[batch], covered, covered)
        for m, there, back in zip(plain, forward, backward, strict=True):
            _fill(matrices[m.name], pairs[batch], there, back)
    for m in measures:
        if m.needs_features:
            given = options.get(m.name, {})
            there = m.formula(partitions, features, pairs, **given)
            back = (
                there if m.symmetric else m.formula(partitions, features, pairs[:, ::-1], **given)
            )
            _fill(matrices[m.name], pairs, there, back)
    return PairwiseResult(matrices, coverage, partitions.names)


def _chosen(metric: Any, options: Mapping[str, Any]) -> list[Measure]:
    """Return the measures that ``metric`` names."""
    names = [metric] if isinstance(metric, str) else metric
    known = isinstance(names, Sequence) and len(names) > 0
    if not known or not all(isinstance(n, str) and n in MEASURES for n in names):
        raise InvalidParameter(
            "pairwise: metric must be the name of a measure or a list of names, out of "
            f"{', '.join(MEASURES)}; got {shown(metric)}."
        )
    for name in options:
        if name not in names:
            raise InvalidParameter(
                "pairwise: metric_params must be keyed by the names in metric, "
                f"{', '.join(names)}; got {shown(name)}."
            )
    for name, given in options.items():
        rules = getattr(MEASURES[name].function, "_parameter_rules", {})
        takes = inspect.signature(MEASURES[name].formula).parameters
        unknown = [option for option in given if option not in takes]
        if unknown:
            raise InvalidParameter(f"pairwise: {name} has no option {unknown[0]!r}.")
        check_params(f"pairwise, {name}", given, rules)
    return [MEASURES[name] for name in dict.fromkeys(names)]


def _check(measures: list[Measure], partitions: Ensemble, features: Any) -> None:
    """Check what needs the data: soft partitions, and features where a measure reads them."""
    for m in measures:
        if partitions.is_soft and not m.soft:
            m.refuse_soft()
        if m.needs_features and features is None:
            raise ValueError(f"{m.name} looks at the points: pass them as features=X.")


def _runs(batches: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Group batches into tasks, always the same ones: starting a task takes milliseconds."""
    return [batches[i : i + _TASK_BATCHES] for i in range(0, len(batches), _TASK_BATCHES)]


def _compare_batches(
    columns: Columns,
    measures: list[Measure],
    options: Mapping[str, Mapping[str, Any]],
    noise: str,
    batches: list[np.ndarray],
) -> list[tuple[np.ndarray, list[np.ndarray], list[np.ndarray]]]:
    """Return coverage and every measure, there and back, of each batch of pairs."""
    found = []
    for pairs in batches:
        tables = columns.tables(pairs, noise)
        forward, backward = [], []
        for m in measures:
            given = options.get(m.name, {})
            there = m.values(tables, **given)
            forward.append(there)
            backward.append(there if m.symmetric else m.values(tables.swapped(), **given))
        found.append((tables.coverage, forward, backward))
    return found


def _fill(matrix: np.ndarray, pairs: np.ndarray, there: np.ndarray, back: np.ndarray) -> None:
    matrix[pairs[:, 0], pairs[:, 1]] = there
    matrix[pairs[:, 1], pairs[:, 0]] = back


def contingency_table(a: Any, b: Any, *, sample_weight: Any = None) -> pd.DataFrame:
    """Count the points that every cluster of ``a`` shares with every cluster of ``b``.

    Parameters
    ----------
    a, b : array-like
        Two partitions of the same points: label vectors of any hashable type, or (n, k) soft
        memberships, whose cells are expected numbers. Points that are unsampled (-2) in either are
        in no cell.
    sample_weight : (n,) array, optional
        How many equal points each point stands for: 0, or at least 1.

    Returns
    -------
    pandas.DataFrame
        One row a cluster of ``a`` and one column a cluster of ``b``, by their labels; noise, where
        there is any, is the last row or column, -1.

    Examples
    --------
    >>> from clusterscape.compare import contingency_table
    >>> contingency_table(["x", "x", "y", "y"], [0, 1, 1, -1])
       0  1 -1
    x  1  1  0
    y  0  1  1
    """
    ensemble, columns = two_columns(a, b, sample_weight)
    tables = columns.tables(np.array([[0, 1]]), "cluster")
    table = tables.dense(0)
    sides = []
    for i in range(2):
        known = ensemble.categories[i]
        k = int(ensemble.n_clusters[i])
        has_noise = bool((ensemble.labels[:, i] == -1).any())
        sides.append([*(range(k) if known is None else known), *([-1] if has_noise else [])])
    table = table[: len(sides[0]), : len(sides[1])]
    counts = table.astype(np.int64) if tables.whole else table
    return pd.DataFrame(counts, index=_axis(sides[0]), columns=_axis(sides[1]))


def _axis(labels: list[Any]) -> pd.Index:
    """Return labels as an axis; a label that is a tuple stays one label."""
    return pd.Index(labels, tupleize_cols=False)
