"""All pairs of an ensemble at once: equal partitions and shared work are done a single time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.errors import InvalidParameter
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    Null,
    check_params,
    checked,
)
from clusterscape._core.rows import slices
from clusterscape.compare.registry import MEASURES, Measure
from clusterscape.compare.tables import (
    POLICIES,
    Noise,
    check_same_points,
    columns_of,
    coverage,
)
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError, Ensemble, as_ensemble
from clusterscape.ensemble.ensemble import ids_or_count
from clusterscape.lifting.lifted import lift

_TASK_BATCHES = 32  # batches of tables that make a task


@dataclass(frozen=True, eq=False)
class PairwiseResult:
    """Measures between all pairs of an ensemble's partitions.

    Attributes
    ----------
    matrices : dict
        For every measure asked for, by name, its (r, r) matrix: entry (i, j) compares partition i
        (as ``a``) with j (as ``b``); nan where the two have no point in common (in space: where
        one has no cluster).
    coverage : (r, r) array
        Share of the points, by weight, that each two partitions were compared on (in space: that
        both have in a cluster).
    names : tuple of str
        The partitions' names.

    See Also
    --------
    pairwise : Make one.

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
        "noise": [Null(), Choice(*POLICIES)],
        "metric_params": [Null(), Instance(Mapping)],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }
)
def pairwise(
    ensemble: Any,
    metric: str | Sequence[str] = "rand_distance",
    *,
    noise: Noise | None = None,
    features: Any = None,
    metric_params: Mapping[str, Mapping[str, Any]] | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> PairwiseResult:
    """Compare every partition of an ensemble with every other.

    Partitions that are equal up to the names of their clusters are found first and compared once.
    Each pair's contingency table is counted once, whatever the number of measures. Measures in
    space share what they have in common: ``lift_emd``, ``lift_hausdorff`` and ``lift_kernel`` with
    the same kernel lift all clusters of all partitions once, and then compare blocks of partitions,
    so that memory holds the lifted clusters and one block of distances for each thread, never the
    distances of all clusters at once; more lifted clusters than their option ``max_gb`` allows
    (4 GB) are refused. The ensemble's ``sample_weight`` is respected. Time grows with the
    square of the number of different partitions.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) array-like
        The partitions.
    metric : str or list of str
        Names of measures: see ``MEASURES``.
    noise : {"singletons", "cluster", "drop"}, optional
        What a noise point is: a cluster of its own, a member of one more cluster, or left out. By
        default what each measure has as its own: "singletons", and "cluster" in space.
    features : (n, d) array, optional
        The points, for measures that need them, or what those measures accept in place of them.
    metric_params : dict, optional
        Options of measures by name, for example ``{"nmi": {"average": "max"}}`` or
        ``{"lift_emd": {"bandwidth": 2.0}}``.
    n_jobs : int, optional
        Number of threads; the result does not depend on it.
    progress : bool, optional
        Show progress; by default only on a terminal.

    Returns
    -------
    PairwiseResult
        With ``matrix`` (for one measure), ``matrices`` (by name) and ``coverage``.

    See Also
    --------
    MEASURES : The measures.
    register_measure : Add a measure.

    Examples
    --------
    >>> from clusterscape.compare import pairwise
    >>> pairwise([[0, 0, 1, 1], [0, 0, 1, 2], ["a", "a", "b", "b"]], "mirkin").matrix
    array([[0., 2., 0.],
           [2., 0., 2.],
           [0., 2., 0.]])
    >>> X = [[0.0], [0.1], [5.0], [9.0]]
    >>> pairwise([[0, 0, 1, 1], [0, 0, 1, 2]], "lift_emd", features=X).matrix.round(3)
    array([[0.  , 0.19],
           [0.19, 0.  ]])
    """
    every = as_ensemble(ensemble)
    options = dict(metric_params or {})
    measures = _chosen(metric, options)
    _check(measures, every, noise)
    first, inverse = every.distinct()
    partitions = every if first.size == every.n_partitions else every.select(first)
    work = _Comparison(partitions, options, noise, n_jobs, progress)
    spatial = [m for m in measures if m.prepare is not None]
    found = work.by_tables([m for m in measures if m.prepare is None])
    if spatial:
        check_same_points(features, ids_or_count(every))
    found |= work.in_space(spatial, features)
    covered = coverage(partitions, noise or POLICIES[0])
    if partitions is not every:
        back = np.ix_(inverse, inverse)
        found, covered = {name: matrix[back] for name, matrix in found.items()}, covered[back]
    return PairwiseResult({m.name: found[m.name] for m in measures}, covered, every.names)


def _chosen(metric: Any, options: Mapping[str, Any]) -> list[Measure]:
    """Return the measures that ``metric`` names."""
    names = [metric] if isinstance(metric, str) else metric
    known = isinstance(names, Sequence) and len(names) > 0
    if not known or not all(isinstance(n, str) and n in MEASURES for n in names):
        raise InvalidParameter(
            "pairwise",
            "metric",
            metric,
            expected="the name of a measure or a list of names, out of " + ", ".join(MEASURES),
        )
    for name, given in options.items():
        if name in names and not isinstance(given, Mapping):
            raise InvalidParameter(
                "pairwise",
                f"metric_params[{name!r}]",
                given,
                expected=f"a dict of options, for example {{{name!r}: {{'option': value}}}}",
            )
        if name not in names:
            raise InvalidParameter(
                "pairwise",
                "metric_params",
                name,
                expected="keyed by the names in metric, " + ", ".join(names),
            )
    for name, given in options.items():
        rules = getattr(MEASURES[name].function, "_parameter_rules", {})
        options_of = MEASURES[name].options
        unknown = [option for option in given if option not in options_of]
        if unknown:
            raise InvalidParameter(
                "pairwise",
                f"metric_params[{name!r}]",
                unknown[0],
                expected=f"keyed by options of {name}, {', '.join(options_of)}"
                if options_of
                else f"empty, because {name} has no options",
            )
        check_params(f"pairwise, {name}", given, rules)
    return [MEASURES[name] for name in dict.fromkeys(names)]


def _check(measures: list[Measure], partitions: Ensemble, noise: str | None) -> None:
    """Refuse measures that do not take soft partitions, labels in blocks, or this noise policy."""
    for m in measures:
        # Before anything is read: what these measures prepare holds all points.
        if isinstance(partitions, BlockedEnsemble) and m.prepare not in (None, lift):
            raise BlockedLabelsError(partitions.refusal(m.name))
        if partitions.is_soft and not m.soft:
            m.refuse_soft()
        if noise is not None and noise not in m.noise:
            raise InvalidParameter(
                "pairwise",
                "noise",
                noise,
                expected=f"{' or '.join(map(repr, m.noise))} for {m.name}",
                remedy="Leave noise out for each measure's own.",
            )


@dataclass(frozen=True)
class _Comparison:
    """All pairs of different partitions, and how they are to be compared."""

    partitions: Ensemble
    options: Mapping[str, Mapping[str, Any]]
    noise: Noise | None
    n_jobs: int | None
    progress: bool | None

    @property
    def pairs(self) -> np.ndarray:
        """Return the pairs (i, j) with i <= j."""
        return np.column_stack(np.triu_indices(self.partitions.n_partitions))

    def by_tables(self, measures: list[Measure]) -> dict[str, np.ndarray]:
        """Return the matrices of measures that read contingency tables."""
        if not measures:
            return {}
        pairs, r = self.pairs, self.partitions.n_partitions
        columns = columns_of(self.partitions)
        batches = list(columns.batches(pairs))
        # Always the same tasks: starting one takes milliseconds.
        runs = [batches[part] for part in slices(len(batches), _TASK_BATCHES)]
        tasks = [[pairs[batch] for batch in run] for run in runs]
        policy = POLICIES[0] if self.noise is None else self.noise
        work = partial(_compare_batches, columns, measures, self.options, policy)
        done = parallel_map(
            work, tasks, n_jobs=self.n_jobs, label="comparing", progress=self.progress
        )
        matrices = {m.name: np.empty((r, r)) for m in measures}
        found = (result for results in done for result in results)
        for batch, (forward, backward) in zip(batches, found, strict=True):
            for m, there, back in zip(measures, forward, backward, strict=True):
                _fill(matrices[m.name], pairs[batch], there, back)
        return matrices

    def in_space(self, measures: list[Measure], features: Any) -> dict[str, np.ndarray]:
        """Return the matrices of measures in space; what they prepare alike is prepared once."""
        pairs, r = self.pairs, self.partitions.n_partitions
        matrices: dict[str, np.ndarray] = {}
        known: list[tuple[Any, dict[str, Any], Any]] = []
        for m in measures:
            assert m.prepare is not None
            first, second = m.split(self.options.get(m.name, {}))
            given = {"noise": self.noise or m.noise[0], "n_jobs": self.n_jobs} | first
            prepared = next((k[2] for k in known if k[0] is m.prepare and k[1] == given), None)
            if prepared is None:
                prepared = m.prepare(self.partitions, features, **given)
                known.append((m.prepare, given, prepared))
            second |= {"n_jobs": self.n_jobs, "progress": self.progress}
            there = m.formula(prepared, pairs, **second)
            back = there if m.symmetric else m.formula(prepared, pairs[:, ::-1], **second)
            matrices[m.name] = np.empty((r, r))
            _fill(matrices[m.name], pairs, there, back)
        return matrices


def _compare_batches(
    columns: Any,
    measures: list[Measure],
    options: Mapping[str, Mapping[str, Any]],
    noise: str,
    batches: list[np.ndarray],
) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
    """Return every measure, there and back, of each batch of pairs."""
    found = []
    for pairs in batches:
        tables = columns.tables(pairs, noise)
        forward, backward = [], []
        for m in measures:
            given = options.get(m.name, {})
            there = m.values(tables, **given)
            forward.append(there)
            backward.append(there if m.symmetric else m.values(tables.swapped(), **given))
        found.append((forward, backward))
    return found


def _fill(matrix: np.ndarray, pairs: np.ndarray, there: np.ndarray, back: np.ndarray) -> None:
    matrix[pairs[:, 0], pairs[:, 1]] = there
    matrix[pairs[:, 1], pairs[:, 0]] = back
