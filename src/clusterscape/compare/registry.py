"""The registry of measures: what each one promises, in a form that tests, docs and plots read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.params import Choice, Flag, Rules, checked
from clusterscape.compare.tables import POLICIES, Columns, Tables
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import read_partition, shared_index

F = TypeVar("F", bound=Callable[..., Any])

# A float, or (float, coverage) with return_coverage=True; callers need not tell them apart.
Score = float | Any

COMMON_RULES: Rules = {"noise": [Choice(*POLICIES)], "return_coverage": [Flag()]}

# What a noise point may be to a measure in space, its own default first.
SPATIAL_POLICIES: tuple[str, ...] = ("cluster", "drop")
# Points whose labels are read at a time when coverage is counted.
_COVERAGE_CHUNK = 1 << 14
# What prepare and formula get from the house; everything else that has a default is an option.
_GIVEN = {"features", "noise", "n_jobs", "progress"}

_PARAMETERS = """a, b : array-like
    Two partitions of the same points: label vectors of any hashable type, in which -1 is noise
    and -2 unsampled{soft}. Points that are unsampled in either are left out.
noise : {{"singletons", "cluster", "drop"}}
    What a noise point is: a cluster of its own, together with nobody; a member of one more
    cluster, as scikit-learn has it; or left out when it is noise in either partition.{alone}
sample_weight : (n,) array, optional
    How many equal points each point stands for: 0, or at least 1.
return_coverage : bool
    Return the coverage as well."""

_RETURNS = """float
    The value; nan when there is no point to compare. With ``return_coverage=True`` the pair
    (value, coverage), the coverage being the share of the points, by weight, that were compared."""

_PARTITIONS = """a, b : array-like
    Two partitions of the same points: label vectors of any hashable type, in which -1 is noise
    and -2 unsampled{soft}."""

_COMMON = """noise : {"cluster", "drop"}
    What noise points are: the members of one more cluster, or left out of their partition.
sample_weight : (n,) array, optional
    How much each point counts.
return_coverage : bool
    Return the coverage as well."""

_SPATIAL_RETURNS = """float
    The value; nan when a partition has no cluster. With ``return_coverage=True`` the pair
    (value, coverage), the coverage being the share of the points, by weight, that both partitions
    have in a cluster. Points that one of them did not see are left out of that one alone: its
    clusters are compared as they are."""


@dataclass(frozen=True)
class Measure:
    """A measure of two partitions, with its properties.

    Attributes
    ----------
    name : str
        The name that :func:`pairwise` takes.
    function : callable
        The public function of two partitions.
    formula : callable
        The measure of many pairs at once: ``formula(tables, **options)``, or
        ``formula(prepared, pairs, n_jobs=..., progress=..., **options)`` of a measure in space.
    label, reference : str
        A few words for tables and plots, and where the measure comes from.
    direction : {"distance", "similarity"}
        Whether equal partitions have the smallest or the largest value.
    bounds : tuple of float
        Smallest and largest value on hard partitions.
    identity : float or None
        Value of a hard partition without noise with itself; None when it depends on the partition.
    symmetric, metric, chance_corrected : bool
        Whether a and b may be exchanged; whether the axioms of a metric hold, for partitions that
        sampled the same points (with ``noise="drop"`` they need not); whether independent
        partitions have the mean 0.
    noise : tuple of str
        The noise policies it takes.
    unsampled, soft, needs_features : bool
        Whether it takes partitions that miss points and soft partitions, and whether it looks at
        the points' features.
    prepare : callable or None
        Of a measure in space, what all pairs share:
        ``prepare(ensemble, features, noise=..., n_jobs=..., **options)``. Measures with the same
        ``prepare`` and options share the result.

    Examples
    --------
    >>> from clusterscape.compare import MEASURES
    >>> MEASURES["vi"].metric, MEASURES["vi"].direction
    (True, 'distance')
    >>> [name for name, measure in MEASURES.items() if measure.chance_corrected]
    ['adjusted_rand', 'ami']
    """

    name: str
    function: Callable[..., Any]
    formula: Callable[..., np.ndarray]
    label: str
    reference: str
    direction: Literal["distance", "similarity"]
    bounds: tuple[float, float]
    identity: float | None
    symmetric: bool = True
    metric: bool = False
    chance_corrected: bool = False
    noise: tuple[str, ...] = POLICIES
    unsampled: bool = True
    soft: bool = True
    needs_features: bool = False
    prepare: Callable[..., Any] | None = None

    def option_names(self) -> set[str]:
        """Return the names of the options that ``pairwise`` takes for it."""
        return _options_of(self.formula) | _options_of(self.prepare)

    def split(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the options of ``prepare`` and those of ``formula``."""
        parts = (_options_of(self.prepare), _options_of(self.formula))
        first, second = ({n: v for n, v in options.items() if n in names} for names in parts)
        return first, second

    def in_space(
        self,
        ensemble: Ensemble,
        features: Any,
        pairs: np.ndarray,
        *,
        noise: str | None = None,
        n_jobs: int | None = None,
        **options: Any,
    ) -> np.ndarray:
        """Return a measure in space of the given pairs (m, 2) of an ensemble's partitions."""
        if self.prepare is None:
            raise TypeError(f"{self.name} is no measure in space; give tables to its values.")
        if ensemble.is_soft and not self.soft:
            self.refuse_soft()
        first, second = self.split(options)
        chosen = self.noise[0] if noise is None else noise
        prepared = self.prepare(ensemble, features, noise=chosen, n_jobs=n_jobs, **first)
        return self.formula(prepared, pairs, n_jobs=n_jobs, progress=False, **second)

    def values(self, tables: Tables, **options: Any) -> np.ndarray:
        """Return the measure of every pair; nan where no point is compared."""
        found = self.formula(tables, **options)
        return np.where(tables.statistics.mass > 0, found, np.nan)

    def refuse_soft(self) -> None:
        """Raise the error for a soft partition."""
        raise ValueError(
            f"{self.name} is not defined for soft partitions; pass labels instead, for example "
            "membership.argmax(axis=1)."
        )


def _options_of(function: Callable[..., Any] | None) -> set[str]:
    parameters = () if function is None else inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.default is not p.empty} - _GIVEN


_registered: dict[str, Measure] = {}
MEASURES: Mapping[str, Measure] = MappingProxyType(_registered)


def measure(
    formula: Callable[..., np.ndarray],
    *,
    rules: Rules | None = None,
    alone: str = "",
    **properties: Any,
) -> Callable[[F], F]:
    """Register a public function of two partitions and fill in what all docstrings share.

    ``formula`` computes the measure of many pairs, ``rules`` are those of the function's own
    parameters, ``alone`` a sentence on what being a cluster of its own means to it.
    """

    def decorate(function: F) -> F:
        soft = ", or (n, k) soft memberships" if properties.get("soft", True) else ""
        lone = f"\n    {alone}" if alone else ""
        texts = {"parameters": _PARAMETERS.format(soft=soft, alone=lone), "returns": _RETURNS}
        public = checked({**COMMON_RULES, **(rules or {})})(documented(texts)(function))
        name = function.__name__
        _registered[name] = Measure(name=name, function=public, formula=formula, **properties)
        return public

    return decorate


def spatial_measure(
    *,
    prepare: Callable[..., Any],
    formula: Callable[..., np.ndarray],
    rules: Rules | None = None,
    texts: Mapping[str, str] | None = None,
    **properties: Any,
) -> Callable[[F], F]:
    """Register a public function of two partitions and the points, a measure in space.

    ``prepare(ensemble, features, *, noise, n_jobs, **options)`` returns what all pairs share, and
    ``formula(prepared, pairs, *, n_jobs, progress, **options)`` one value a pair (m, 2). Each names
    its own options; the measure's defaults stand in all three signatures. The docstring's
    ``{partitions}``, ``{common}`` and ``{returns}`` are filled in: a and b; noise, sample_weight
    and return_coverage; the value; and what ``texts`` adds. ``prepare`` refuses missing or wrong
    features.
    """

    def decorate(function: F) -> F:
        kinds = {"noise": SPATIAL_POLICIES, "needs_features": True, **properties}
        soft = ", or (n, k) soft memberships" if kinds.get("soft", True) else ""
        shared = {
            "partitions": _PARTITIONS.format(soft=soft),
            "common": _COMMON,
            "returns": _SPATIAL_RETURNS,
        }
        common: Rules = {**COMMON_RULES, "noise": [Choice(*kinds["noise"])]}
        filled = documented({**shared, **(texts or {})})(function)
        public = checked({**common, **(rules or {})})(filled)
        name = function.__name__
        _registered[name] = Measure(
            name=name, function=public, formula=formula, prepare=prepare, **kinds
        )
        return public

    return decorate


def documented(texts: Mapping[str, str]) -> Callable[[F], F]:
    """Put what several docstrings share in the place of its ``{marker}``."""

    def decorate(function: F) -> F:
        doc = function.__doc__ or ""
        for marker, text in texts.items():
            doc = doc.replace(f"{{{marker}}}", text.replace("\n", "\n    "))
        function.__doc__ = doc
        return function

    return decorate


def two_partitions(a: Any, b: Any, sample_weight: Any = None) -> Ensemble:
    """Return two partitions as an ensemble, or say what is wrong with them."""
    for name, vector in (("a", a), ("b", b)):
        countable = hasattr(vector, "__iter__") and getattr(vector, "ndim", 1) > 0
        if not countable or isinstance(vector, (str, bytes, Mapping, set, frozenset)):
            raise TypeError(
                f"{name} must be a label vector (or an (n, k) membership); got "
                f"{type(vector).__name__}."
            )
    shared_index([a, b])  # refuses Series of different points
    return Ensemble([read_partition(a, "a"), read_partition(b, "b")], sample_weight=sample_weight)


def check_same_points(features: Any, index: pd.Index | None) -> None:
    """Refuse features whose index names other points than that of the partitions, or in disorder.

    An index that only counts the rows names no points.
    """
    if index is None or not isinstance(features, (pd.DataFrame, pd.Series)):
        return
    named = shared_index([pd.Series(0, index=features.index)])
    if named is None or named.equals(index) or len(named) != len(index):
        return  # another number of rows has a sentence of its own
    row = int(np.argmin([left == right for left, right in zip(named, index, strict=True)]))
    raise ValueError(
        "features and the partitions have different indexes: row "
        f"{row} of features is {named[row]!r}, and the partitions have {index[row]!r} there. They "
        "must be the same points in the same order: pass features.loc[index], the index being that "
        "of the partitions, or features.to_numpy() where the order is right."
    )


def two_columns(a: Any, b: Any, sample_weight: Any = None) -> tuple[Ensemble, Columns]:
    """Return two partitions as an ensemble and in the form that the kernels read."""
    ensemble = two_partitions(a, b, sample_weight)
    return ensemble, Columns.of(ensemble, sample_weight=ensemble.sample_weight)


def compare_two(
    name: str,
    partitions: tuple[Any, Any],
    *,
    noise: str,
    sample_weight: Any,
    return_coverage: bool,
    **options: Any,
) -> Score:
    """Return a registered measure of two partitions."""
    chosen = MEASURES[name]
    _, columns = two_columns(*partitions, sample_weight)
    if columns.soft and not chosen.soft:
        chosen.refuse_soft()
    tables = columns.tables(np.array([[0, 1]]), noise)
    value = float(chosen.values(tables, **options)[0])
    return (value, float(tables.coverage[0])) if return_coverage else value


def compare_two_in_space(
    name: str,
    partitions: tuple[Any, Any],
    features: Any,
    *,
    noise: str,
    sample_weight: Any,
    return_coverage: bool,
    **options: Any,
) -> Score:
    """Return a registered measure in space of two partitions."""
    ensemble = two_partitions(*partitions, sample_weight)
    check_same_points(features, shared_index(list(partitions)))
    pairs = np.array([[0, 1]])
    value = float(MEASURES[name].in_space(ensemble, features, pairs, noise=noise, **options)[0])
    return (value, float(coverage(ensemble, noise)[0, 1])) if return_coverage else value


def coverage(ensemble: Ensemble, noise: str) -> np.ndarray:
    """Return the (r, r) shares of the points, by weight, that each two partitions both count."""
    r = ensemble.n_partitions
    dropped = noise == "drop" and ensemble.has_noise
    if ensemble.is_complete and not dropped:
        return np.ones((r, r))
    lowest = NOISE if dropped else UNSAMPLED
    weights, shared = ensemble.sample_weight, np.zeros((r, r))
    for start in range(0, ensemble.n_points, _COVERAGE_CHUNK):
        part = slice(start, start + _COVERAGE_CHUNK)
        counted = (ensemble.labels[part] > lowest).astype(np.float64)
        shared += (counted * weights[part, None]).T @ counted
    return np.minimum(shared / weights.sum(), 1.0)
