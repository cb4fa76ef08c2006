"""Kinds of members: a base clusterer with its own numbers of clusters and drawn settings."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clusterscape._core.params import Instance, Integer, Null, Rule, Rules, Such, check_params
from clusterscape.generate.algorithms import (
    ALGORITHMS,
    CLASS,
    CLUSTERER,
    NAME,
    Algorithm,
    from_estimator,
    named,
)
from clusterscape.generate.plan import COLUMNS, N_CLUSTERS, place


@dataclass(frozen=True)
class Kind:
    """One kind of members in an ensemble of several: a clusterer, and what it draws.

    Parameters
    ----------
    algorithm : str
        A name of :data:`clusterscape.generate.ALGORITHMS`.
    n_clusters : int, list or tuple, optional
        Number of clusters, as in :class:`EnsembleGenerator`; None takes the generator's. A range
        ends at half the number of points at most.
    share : int
        Members of this kind in each round: shares 2 and 1 give twice as many of the first kind.
    settings : mapping
        Options of the clusterer (see its entry in ``ALGORITHMS``). A value is taken as it is; over
        a pair (low, high) of numbers the members are spread evenly, over whole numbers if both are
        whole; over a list likewise, an entry that is there twice twice as often.
    columns : "all", tuple or list, optional
        Columns that the members see, as in :class:`EnsembleGenerator`; None takes the generator's.
        Over a list of such values the members are spread evenly.

    See Also
    --------
    EnsembleGenerator : Takes kinds in ``algorithm``.
    diverse : A mix of kinds that has been measured.

    Notes
    -----
    Numbers of clusters and settings depend on the number of the member, not on the seed: runs with
    different seeds differ in the starts of their members alone, and in the samples where there are
    any. What is drawn at random instead makes the answers of two runs differ more.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import EnsembleGenerator, Kind
    >>> kinds = [
    ...     Kind("genie", n_clusters=(2, 4), settings={"gini_threshold": (0.1, 0.5)}),
    ...     Kind("kmeans", n_clusters=2),
    ... ]
    >>> X = np.array([[0.0], [0.1], [0.3], [5.0], [5.1], [9.0], [9.1], [9.3]])
    >>> ensemble = EnsembleGenerator(4, algorithm=kinds, random_state=0).generate(X)
    >>> [record.algorithm for record in ensemble.records]
    ['genie', 'kmeans', 'genie', 'kmeans']
    """

    algorithm: str
    n_clusters: Any = None
    share: int = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    columns: Any = None

    def __post_init__(self) -> None:
        check_params("Kind", {name: getattr(self, name) for name in _KIND_RULES}, _KIND_RULES)
        known = ALGORITHMS[self.algorithm].options
        unknown = [name for name in self.settings if name not in known]
        if unknown:
            options = ", ".join(known) or "none"
            raise ValueError(
                f"settings: {self.algorithm} has no option {unknown[0]!r}; it has {options}."
            )
        for name, value in self.settings.items():
            if isinstance(value, list) and not value:
                raise ValueError(
                    f"settings: {name}=[] leaves the members nothing to draw from; give at least "
                    f"one value, or leave {name} out for its default."
                )
            for end in _ends(value):
                check_params(f"Kind({self.algorithm!r})", {name: end}, {name: known[name].rules})

    def draw(self, number: int) -> dict[str, Any]:
        """Return the settings of the member with this number among those of the kind."""
        values = enumerate(self.settings.items(), start=1)
        return {name: _drawn(value, place(number, axis)) for axis, (name, value) in values}


_SOME_COLUMNS = Such(
    lambda v: (
        isinstance(v, list) and len(v) > 0 and all(any(r.allows(c) for r in COLUMNS) for c in v)
    ),
    "a list of these",
    refused=[[], ["some"], [("project", 0)]],
)
_KIND_RULES: Rules = {
    "algorithm": (NAME,),
    "n_clusters": (Null(), *N_CLUSTERS),
    "share": (Integer(1),),
    "settings": (Instance(Mapping),),
    "columns": (Null(), *COLUMNS, _SOME_COLUMNS),
}


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in value)
    )


def _ends(value: Any) -> list[Any]:
    """Return the values between which, or among which, members draw."""
    if _is_range(value):
        low, high = value
        if low > high:
            raise ValueError(f"settings: the range {value} ends below its start; exchange the two.")
        return [low, high]
    return list(value) if isinstance(value, list) else [value]


def _drawn(value: Any, at: float) -> Any:
    """Return what lies at a place in [0, 1) of a range or list; other values as they are."""
    if _is_range(value):
        low, high = value
        if all(isinstance(v, numbers.Integral) for v in value):
            return int(low) + int(at * (high - low + 1))
        return float(low + at * (high - low))
    return value[int(at * len(value))] if isinstance(value, list) else value


def one_round(shares: Sequence[int]) -> list[int]:
    """Return the order in which kinds take turns: each as often as its share, spread evenly.

    Examples
    --------
    >>> one_round([2, 1])
    [0, 1, 0]
    """
    places = [((i + 0.5) / share, kind) for kind, share in enumerate(shares) for i in range(share)]
    return [kind for _, kind in sorted(places)]


_KIND = Instance(Kind)
_ONE: Sequence[Rule] = (NAME, CLASS, CLUSTERER, _KIND)
SEVERAL = Such(
    lambda v: (
        isinstance(v, (list, tuple))
        and len(v) > 0
        and all(any(rule.allows(a) for rule in _ONE) for a in v)
    ),
    "a list of names, clusterers or kinds, taken in turn",
    refused=[[], ["kmeans", "no such option"], [None]],
)
RULES: Sequence[Rule] = (*_ONE, SEVERAL)


@dataclass(frozen=True)
class Turn:
    """A clusterer as a generator takes it in turn, and the kind that it stands for, if any.

    ``rank`` counts the turns of the kind in a round of ``width`` turns.
    """

    algorithm: Algorithm
    kind: Kind | None = None
    rank: int = 0
    width: int = 1

    def settings(self, member: int) -> dict[str, Any]:
        """Return the clusterer's options for the member of this number in the run."""
        drawn = {}
        if self.kind is not None:
            drawn = self.kind.draw(member // self.width * self.kind.share + self.rank)
        defaults = {name: option.default for name, option in self.algorithm.options.items()}
        return defaults | drawn

    def group(self, member: int) -> int:
        """Return a number that says which sample the member of this number is made on.

        Members that share a graph or a tree get the same sample; others take turns.
        """
        if not self.algorithm.shared:
            return member
        settings = self.settings(member)
        return sum(int(settings[name]) for name in self.algorithm.shared)


def turns_of(algorithm: Any) -> list[Turn]:
    """Return one round of turns of what the parameter ``algorithm`` stands for."""
    entries = list(algorithm) if isinstance(algorithm, (list, tuple)) else [algorithm]
    turns = [_turn(entry) for entry in entries]
    order = one_round([1 if turn.kind is None else turn.kind.share for turn in turns])
    ranks = [order[:i].count(turn) for i, turn in enumerate(order)]
    return [
        replace(turns[i], rank=rank, width=len(order)) for i, rank in zip(order, ranks, strict=True)
    ]


def _turn(entry: Any) -> Turn:
    if isinstance(entry, Kind):
        return Turn(ALGORITHMS[entry.algorithm], entry)
    return Turn(named(entry) if isinstance(entry, str) else from_estimator(entry))
