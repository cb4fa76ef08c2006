"""Parameter rules are data, and one engine writes every message.

A class or function declares, per parameter, the rules of which one must hold. What depends on the
data (``k <= n``) is checked later, where the data is known.
"""

from __future__ import annotations

import functools
import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.errors import InvalidParameter, shown

__all__ = [
    "FARTHEST",
    "NEAREST",
    "N_JOBS",
    "PROGRESS",
    "Choice",
    "Flag",
    "Instance",
    "Integer",
    "InvalidParameter",
    "Null",
    "Number",
    "Rule",
    "Rules",
    "Seed",
    "Such",
    "check_params",
    "checked",
    "shown",
]

# The sizes of a weight or of a setting: squares of both, and cubes, are numbers.
FARTHEST, NEAREST = 1e50, 1e-50

F = TypeVar("F", bound=Callable[..., Any])


class Rule:
    """What a parameter may be: a test, words for the message, and values that must be refused."""

    words: str

    def allows(self, value: Any) -> bool:
        """Say whether ``value`` obeys the rule."""
        raise NotImplementedError

    def refused(self) -> list[Any]:
        """Return values near the rule that it refuses, for the tests."""
        return []


@dataclass(frozen=True)
class Number(Rule):
    """A number in an interval; ``low`` and ``high`` are included unless ``open_low`` is set.

    A finite number other than 0 must lie between 1e-50 and 1e50 in size, so that its square, and
    its product with data, is a number: beyond that no setting means anything. Shares, whose
    interval is closed and finite, may be as small as they like.
    """

    low: float = -np.inf
    high: float = np.inf
    integer: bool = False
    open_low: bool = False

    @property
    def words(self) -> str:  # type: ignore[override]
        kind = "an integer" if self.integer else "a number"
        if self.low == -np.inf and self.high == np.inf:
            return kind
        if self.high == np.inf:
            return f"{kind} {'>' if self.open_low else '>='} {self.low:g}"
        left = "(" if self.open_low else "["
        return f"{kind} in {left}{self.low:g}, {self.high:g}]"

    def allows(self, value: Any) -> bool:
        kind = numbers.Integral if self.integer else numbers.Real
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
            return False
        number = float(value)
        above = number > self.low if self.open_low else number >= self.low
        return above and number <= self.high and not self.is_far(value)

    def is_far(self, value: Any) -> bool:
        """Say whether a number is refused for its size alone."""
        share = self.high < np.inf and not self.open_low
        if self.integer or share or not isinstance(value, numbers.Real):
            return False
        size = abs(float(value))
        return 0 < size < NEAREST or FARTHEST < size < np.inf

    def refused(self) -> list[Any]:
        values: list[Any] = [float("nan")]
        if self.low > -np.inf:
            values.append(int(self.low) - 1 if self.integer else self.low - 1.0)
        if self.high < np.inf:
            values.append(int(self.high) + 1 if self.integer else self.high + 1.0)
        if self.integer:
            values.append(self.low + 0.5 if self.low > -np.inf else 0.5)
        return values


def Integer(low: float = -np.inf, high: float = np.inf) -> Number:
    """Return the rule for an integer in ``[low, high]``."""
    return Number(low, high, integer=True)


_NATURAL = Integer(0)


class Choice(Rule):
    """One of a few strings, or of the keys of a registry as they are when a value is checked."""

    def __init__(self, *options: str, registry: Mapping[str, Any] | None = None) -> None:
        self._options = options
        self._registry = registry

    @property
    def options(self) -> tuple[str, ...]:
        """The strings that are allowed now."""
        return self._options if self._registry is None else (*self._options, *self._registry)

    @property
    def words(self) -> str:  # type: ignore[override]
        return "one of " + ", ".join(repr(o) for o in self.options)

    def allows(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.options

    def refused(self) -> list[Any]:
        return ["no such option"]


class Instance(Rule):
    """An instance of one of the given types."""

    def __init__(self, *types: type) -> None:
        self.types = types
        self.words = "an instance of " + " or ".join(t.__name__ for t in types)

    def allows(self, value: Any) -> bool:
        return isinstance(value, self.types)


class Null(Rule):
    """``None``."""

    words = "None"

    def allows(self, value: Any) -> bool:
        return value is None


class Flag(Rule):
    """``True`` or ``False``."""

    words = "True or False"

    def allows(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))

    def refused(self) -> list[Any]:
        return ["yes"]


class Seed(Rule):
    """What scikit-learn takes as ``random_state``, and numpy's own generators."""

    words = "None, an integer >= 0, a numpy RandomState, Generator or SeedSequence"

    def allows(self, value: Any) -> bool:
        kinds = (type(None), np.random.RandomState, np.random.Generator, SeedSequence)
        return isinstance(value, kinds) or _NATURAL.allows(value)

    def refused(self) -> list[Any]:
        return [-1, "seed", 0.5]


class Such(Rule):
    """Anything for which ``test`` is true; ``words`` say what that is."""

    def __init__(
        self, test: Callable[[Any], bool], words: str, refused: Sequence[Any] = ()
    ) -> None:
        self.test = test
        self.words = words
        self._refused = list(refused)

    def allows(self, value: Any) -> bool:
        return bool(self.test(value))

    def refused(self) -> list[Any]:
        return list(self._refused)


Rules = Mapping[str, Sequence[Rule]]

N_JOBS: Sequence[Rule] = (
    Null(),
    Such(
        lambda v: Integer().allows(v) and v != 0,
        "an integer other than 0 (-1 means all cores)",
        refused=[0, 1.5, "two"],
    ),
)
PROGRESS: Sequence[Rule] = (Null(), Flag())


def check_params(owner: str, values: Mapping[str, Any], rules: Rules) -> None:
    """Raise :class:`InvalidParameter` for the first value that breaks its rules."""
    for name, value in values.items():
        allowed = rules.get(name)
        if allowed is None or any(rule.allows(value) for rule in allowed):
            continue
        words = ", or ".join(rule.words for rule in allowed)
        if any(isinstance(rule, Number) and rule.is_far(value) for rule in allowed):
            words += f"; numbers other than 0 lie between {NEAREST:g} and {FARTHEST:g} in size"
        raise InvalidParameter(owner, name, value, expected=words, rules=allowed)


def checked(rules: Rules) -> Callable[[F], F]:
    """Declare the parameter rules of a function; they are kept in its ``_parameter_rules``."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:  # which does not say of which function
                raise TypeError(f"{function.__name__}() {error}") from None
            check_params(function.__name__, bound.arguments, rules)
            return function(*args, **kwargs)

        wrapper._parameter_rules = rules  # type: ignore[attr-defined]
        return wrapper  # type: ignore[return-value]

    return decorate
