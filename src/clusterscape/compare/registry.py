"""The registry of measures: what each one promises, in a form that tests, docs and plots read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeVar

import numpy as np

from clusterscape._params import Choice, Flag, Rules, checked
from clusterscape._partitions import one, shared_index
from clusterscape.compare.tables import POLICIES, Columns, Tables
from clusterscape.ensemble import Ensemble

F = TypeVar("F", bound=Callable[..., Any])

# A float, or (float, coverage) with return_coverage=True; callers need not tell them apart.
Score = float | Any

COMMON_RULES: Rules = {"noise": [Choice(*POLICIES)], "return_coverage": [Flag()]}

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
        ``formula(ensemble, features, pairs, **options)`` when ``needs_features``.
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
        doc = function.__doc__ or ""
        for marker, text in texts.items():
            doc = doc.replace(f"{{{marker}}}", text.replace("\n", "\n    "))
        function.__doc__ = doc
        public = checked({**COMMON_RULES, **(rules or {})})(function)
        name = function.__name__
        _registered[name] = Measure(name=name, function=public, formula=formula, **properties)
        return public

    return decorate


def two_columns(a: Any, b: Any, sample_weight: Any = None) -> tuple[Ensemble, Columns]:
    """Return two partitions as an ensemble and in the form that the kernels read."""
    for name, vector in (("a", a), ("b", b)):
        countable = hasattr(vector, "__iter__") and getattr(vector, "ndim", 1) > 0
        if not countable or isinstance(vector, (str, bytes, Mapping, set, frozenset)):
            raise TypeError(
                f"{name} must be a label vector (or an (n, k) membership); got "
                f"{type(vector).__name__}."
            )
    shared_index([a, b])  # refuses Series of different points
    ensemble = Ensemble([one(a, "a"), one(b, "b")], sample_weight=sample_weight)
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
