"""The registry of measures: how a measure is declared, and what each one promises.

A measure is declared once, by :func:`register_measure` on a function of two partitions whose
signature holds the only copy of the defaults. Tests, docs tables, :func:`pairwise` and the command
line read ``MEASURES``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np

from clusterscape._core.params import Choice, Flag, Rules, check_params
from clusterscape.compare.tables import (
    POLICIES,
    Columns,
    Tables,
    check_same_points,
    coverage,
    two_partitions,
)
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import shared_index

F = TypeVar("F", bound=Callable[..., Any])

# A float, or (float, coverage) with return_coverage=True; callers need not distinguish them.
Score = Any

# What a noise point may be to a measure in space, its own default first.
SPATIAL_POLICIES: tuple[str, ...] = ("cluster", "drop")
# Arguments that every measure has; the rest are its own options.
_SHARED = ("noise", "sample_weight", "return_coverage")
# What prepare and formula are given besides options.
_GIVEN = {"noise", "n_jobs", "progress"}

_TEXTS = {
    "parameters": """a, b : array-like
    Two partitions of the same points: label vectors of any hashable type, in which -1 is noise
    and -2 unsampled{soft}. Points that are unsampled in either are left out.
noise : {{"singletons", "cluster", "drop"}}
    What a noise point is: a cluster of its own; a member of one more
    cluster, as in scikit-learn; or left out when it is noise in either partition.{alone}
sample_weight : (n,) array, optional
    Number of equal points that each point represents: 0, or at least 1.
return_coverage : bool
    Return the coverage as well.""",
    "returns": """float
    The value; nan when there is no point to compare. With ``return_coverage=True`` the pair
    (value, coverage), where coverage is the share of the points, by weight, that were compared.""",
}
_SPATIAL_TEXTS = {
    "partitions": """a, b : array-like
    Two partitions of the same points: label vectors of any hashable type, in which -1 is noise
    and -2 unsampled{soft}.""",
    "common": """noise : {{"cluster", "drop"}}
    What noise points are: the members of one more cluster, or left out of their partition.
sample_weight : (n,) array, optional
    How much each point counts.
return_coverage : bool
    Return the coverage as well.""",
    "returns": """float
    The value; nan when a partition has no cluster. With ``return_coverage=True`` the pair
    (value, coverage), where coverage is the share of the points, by weight, that both partitions
    have in a cluster. Points that one of them did not see are left out of that one alone: its
    clusters are compared as they are.""",
}


@dataclass(frozen=True)
class Measure:
    """A measure of two partitions, with its properties.

    Attributes
    ----------
    name : str
        The name that :func:`pairwise` takes.
    function : callable
        The public function of two partitions. Its keyword arguments, other than ``noise``,
        ``sample_weight`` and ``return_coverage``, are the options of the measure.
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
        The noise policies it takes, its default first.
    unsampled, soft, needs_features : bool
        Whether it takes partitions that miss points and soft partitions, and whether it needs
        the points' features.
    prepare : callable or None
        Of a measure in space, what all pairs share:
        ``prepare(ensemble, features, noise=..., n_jobs=..., **options)``. Measures with the same
        ``prepare`` and options share the result.

    See Also
    --------
    register_measure : Declare a measure.

    Examples
    --------
    >>> from clusterscape.compare import MEASURES
    >>> MEASURES["vi"].metric, MEASURES["vi"].direction
    (True, 'distance')
    >>> MEASURES["nmi"].options
    {'average': 'geometric', 'degenerate': 'one'}
    >>> sorted(name for name, measure in MEASURES.items() if measure.chance_corrected)
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

    @cached_property
    def options(self) -> dict[str, Any]:
        """The measure's own options and their defaults, read off the public function."""
        parameters = inspect.signature(self.function).parameters.values()
        return {
            p.name: p.default
            for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.name not in _SHARED
        }

    def option_names(self) -> set[str]:
        """Return the names of the options that ``pairwise`` takes for it."""
        return set(self.options)

    def split(self, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the options of ``prepare`` and those of ``formula``, with their defaults."""
        given = self.options | dict(options)
        parts = (_option_names(self.prepare), _option_names(self.formula))
        first, second = ({n: v for n, v in given.items() if n in names} for names in parts)
        return first, second

    def values(self, tables: Tables, **options: Any) -> np.ndarray:
        """Return the measure of every pair of tables; nan where no point is compared."""
        found = self.formula(tables, **(self.options | options))
        return np.where(tables.statistics.mass > 0, found, np.nan)

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
            raise TypeError(f"{self.name} is not a spatial measure; pass tables to its values.")
        first, second = self.split(options)
        chosen = self.noise[0] if noise is None else noise
        prepared = self.prepare(ensemble, features, noise=chosen, n_jobs=n_jobs, **first)
        return self.formula(prepared, pairs, n_jobs=n_jobs, progress=False, **second)

    def of_two(
        self,
        a: Any,
        b: Any,
        features: Any = None,
        *,
        noise: str,
        sample_weight: Any,
        return_coverage: bool,
        **options: Any,
    ) -> Score:
        """Return the measure of two partitions: what the public function does."""
        ensemble = two_partitions(a, b, sample_weight)
        if ensemble.is_soft and not self.soft:
            self.refuse_soft()
        pairs = np.array([[0, 1]])
        if self.prepare is None:
            columns = Columns.of(ensemble, sample_weight=ensemble.sample_weight)
            tables = columns.tables(pairs, noise)
            value, covered = float(self.values(tables, **options)[0]), float(tables.coverage[0])
        else:
            check_same_points(features, shared_index([a, b]))
            value = float(self.in_space(ensemble, features, pairs, noise=noise, **options)[0])
            covered = float(coverage(ensemble, noise)[0, 1]) if return_coverage else 1.0
        return (value, covered) if return_coverage else value

    def refuse_soft(self) -> None:
        """Raise the error for a soft partition."""
        raise ValueError(
            f"{self.name} is not defined for soft partitions; pass labels instead, for example "
            "membership.argmax(axis=1)."
        )


_registered: dict[str, Measure] = {}
MEASURES: Mapping[str, Measure] = MappingProxyType(_registered)


def register_measure(
    formula: Callable[..., np.ndarray],
    *,
    prepare: Callable[..., Any] | None = None,
    rules: Rules | None = None,
    texts: Mapping[str, str] | None = None,
    **properties: Any,
) -> Callable[[F], F]:
    """Declare a measure: a decorator of its public function.

    The decorated function is its signature and its docstring, and its body stays empty: what it
    does is given by ``formula`` (and ``prepare``), which many pairs share. The names and defaults
    of the options are given in this signature alone; ``formula`` and ``prepare`` name those that
    they read as keyword arguments without defaults. The measure can then be called, is found in
    ``MEASURES``, and is known to :func:`pairwise` and to the command line.

    Parameters
    ----------
    formula : callable
        ``formula(tables, **options)`` returns one value per pair of partitions from their
        contingency tables. With ``prepare``:
        ``formula(prepared, pairs, *, n_jobs, progress, **options)`` returns one value for each of
        the pairs (m, 2).
    prepare : callable, optional
        Of a measure that needs features, ``prepare(ensemble, features, *, noise, n_jobs,
        **options)`` returns what all pairs share. It refuses missing or wrong features.
    rules : dict, optional
        Rules for the values of the function's own options.
    texts : dict, optional
        Texts that replace the markers ``{name}`` of the docstring. Known without it are
        ``{parameters}`` and ``{returns}``; with ``prepare`` ``{partitions}``, ``{common}`` and
        ``{returns}``. The text ``alone`` is a sentence on what it means to the measure that a
        noise point is a cluster of its own.
    **properties
        The attributes of :class:`Measure`: ``label``, ``reference``, ``direction``, ``bounds``,
        ``identity``, and those that differ from its defaults.

    Returns
    -------
    callable
        The decorator. The decorated function must take ``a, b`` (with ``prepare`` also
        ``features``) and the keyword arguments ``noise``, ``sample_weight`` and
        ``return_coverage``.

    See Also
    --------
    unregister_measure : Take a measure out of the registry.

    Examples
    --------
    >>> from clusterscape.compare import pairwise, register_measure, unregister_measure
    >>> def mismatch(tables, *, power):
    ...     return (1.0 - tables.statistics.squares / tables.statistics.mass**2) ** power
    >>> @register_measure(
    ...     mismatch, label="mismatch", reference="this example", direction="distance",
    ...     bounds=(0.0, 1.0), identity=None,
    ... )
    ... def mismatch_distance(
    ...     a, b, *, power=1.0, noise="singletons", sample_weight=None, return_coverage=False
    ... ):
    ...     '''Chance that two points drawn at random share no cell of the table.'''
    >>> mismatch_distance([0, 0, 1, 1], [0, 0, 1, 1])
    0.5
    >>> pairwise([[0, 0, 1, 1], [0, 0, 0, 1]], "mismatch_distance").matrix
    array([[0.5  , 0.625],
           [0.625, 0.375]])
    >>> unregister_measure("mismatch_distance")
    """

    def decorate(function: F) -> F:
        name = function.__name__
        kinds = {} if prepare is None else {"noise": SPATIAL_POLICIES, "needs_features": True}
        _check_declaration(function, formula, prepare)
        declared = {**kinds, **properties}
        allowed: Rules = {
            "noise": [Choice(*declared.get("noise", POLICIES))],
            "return_coverage": [Flag()],
            **(rules or {}),
        }
        signature = inspect.signature(function)

        @functools.wraps(function)
        def public(*args: Any, **kwargs: Any) -> Score:
            bound = signature.bind(*args, **kwargs)
            check_params(name, bound.arguments, allowed)
            bound.apply_defaults()
            return measure.of_two(**bound.arguments)

        public._parameter_rules = allowed  # type: ignore[attr-defined]
        shared = _TEXTS if prepare is None else _SPATIAL_TEXTS
        soft = ", or (n, k) soft memberships" if declared.get("soft", True) else ""
        given = dict(texts or {})
        alone = f"\n    {given.pop('alone')}" if "alone" in given else ""
        known = {marker: text.format(soft=soft, alone=alone) for marker, text in shared.items()}
        documented({**known, **given})(public)
        measure = Measure(name=name, function=public, formula=formula, prepare=prepare, **declared)
        _registered[name] = measure
        return public  # type: ignore[return-value]

    return decorate


def unregister_measure(name: str) -> None:
    """Take a measure out of the registry; its function can still be called.

    Parameters
    ----------
    name : str
        The measure.

    See Also
    --------
    register_measure : Declare a measure.

    Examples
    --------
    >>> from clusterscape.compare import unregister_measure
    >>> unregister_measure("no_such_measure")
    Traceback (most recent call last):
    KeyError: "there is no measure 'no_such_measure'."
    """
    if name not in _registered:
        raise KeyError(f"there is no measure {name!r}.")
    del _registered[name]


def _option_names(function: Callable[..., Any] | None) -> set[str]:
    """Return the options that ``prepare`` or ``formula`` reads."""
    parameters = () if function is None else inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - _GIVEN


def _check_declaration(
    function: Callable[..., Any],
    formula: Callable[..., Any],
    prepare: Callable[..., Any] | None,
) -> None:
    """Refuse a declaration whose parts do not fit together."""
    name = function.__name__
    if name in _registered:
        raise ValueError(f"there is a measure {name!r} already; give the function another name.")
    parameters = inspect.signature(function).parameters
    needed = {"a", "b", *_SHARED, *(() if prepare is None else ("features",))}
    read = _option_names(formula) | _option_names(prepare)
    own, missing = set(parameters) - needed, needed - set(parameters)
    if missing:
        raise TypeError(
            f"{name}: the signature of a measure must have the arguments "
            f"{', '.join(sorted(needed))}; this one lacks {', '.join(sorted(missing))}."
        )
    if read != own:
        raise TypeError(
            f"{name}: the options in its signature ({', '.join(sorted(own)) or 'none'}) must be "
            f"those that formula and prepare read ({', '.join(sorted(read)) or 'none'})."
        )


def documented(texts: Mapping[str, str]) -> Callable[[F], F]:
    """Put what several docstrings share in the place of its ``{marker}``."""

    def decorate(function: F) -> F:
        doc = function.__doc__ or ""
        for marker, text in texts.items():
            doc = doc.replace(f"{{{marker}}}", text.replace("\n", "\n    "))
        function.__doc__ = doc
        return function

    return decorate
