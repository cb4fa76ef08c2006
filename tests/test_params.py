"""Parameter rules are data: every rule refuses what it says, in a sentence that helps."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from numpy.random import SeedSequence

from clusterscape import Ensemble
from clusterscape._core import params as _params
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Flag,
    Instance,
    Integer,
    InvalidParameter,
    Null,
    Number,
    Rule,
    Seed,
    Such,
    check_params,
    checked,
    shown,
)
from sources import public_methods, public_names

# ---- the rules themselves -----------------------------------------------------------------

RULES: list[tuple[Rule, list[Any], list[Any]]] = [
    (Number(), [0, -1.5, np.float32(2), np.int8(3), np.inf], ["1", None, True, np.nan]),
    (Number(0), [0, 0.0, 1e9], [-1e-9, np.nan]),
    (Number(0, 1), [0, 0.5, 1], [-0.1, 1.1]),
    (Number(0, 1, open_low=True), [1e-9, 1], [0, 0.0]),
    (Integer(), [0, -3, np.uint8(2)], [0.0, 1.5, True, np.bool_(True), "1", None]),
    (Integer(1), [1, 10**30], [0, -1]),
    (Integer(1, 3), [1, 2, 3], [0, 4]),
    (Choice("a", "b"), ["a", "b"], ["c", "", None, 1, ["a"]]),
    (Instance(dict, str), [{}, "x"], [1, None]),
    (Null(), [None], [0, False, ""]),
    (Flag(), [True, False, np.bool_(True)], [0, 1, "yes", None]),
    (Seed(), [None, 0, 5, np.random.default_rng(0), SeedSequence(1)], [-1, 0.5, "seed", True]),
    (Such(lambda v: v == 3, "three", refused=[4]), [3], [4]),
]


@pytest.mark.parametrize(("rule", "good", "bad"), RULES, ids=lambda v: getattr(v, "words", ""))
def test_rules_allow_and_refuse(rule: Rule, good: list[Any], bad: list[Any]) -> None:
    assert all(rule.allows(value) for value in good), good
    assert not any(rule.allows(value) for value in bad), bad
    assert rule.words


@pytest.mark.parametrize(("rule", "good", "bad"), RULES, ids=lambda v: getattr(v, "words", ""))
def test_a_rule_refuses_what_it_offers_as_refused(rule: Rule, good: Any, bad: Any) -> None:
    assert not any(rule.allows(value) for value in rule.refused())


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Number(), "a number"),
        (Integer(1), "an integer >= 1"),
        (Number(0, open_low=True), "a number > 0"),
        (Number(0, 1), "a number in [0, 1]"),
        (Number(0, 1, open_low=True), "a number in (0, 1]"),
        (Choice("a", "b"), "one of 'a', 'b'"),
        (Instance(dict, str), "an instance of dict or str"),
    ],
)
def test_words(rule: Rule, words: str) -> None:
    assert rule.words == words


def test_message_names_owner_parameter_rule_and_value() -> None:
    rules = {"k": [Null(), Integer(1)]}
    with pytest.raises(InvalidParameter) as caught:
        check_params("Thing", {"k": 0}, rules)
    assert str(caught.value) == "Thing: k must be None, or an integer >= 1; got 0 (int)."
    check_params("Thing", {"k": None, "free": object()}, rules)


def test_invalid_parameter_is_caught_as_either_kind() -> None:
    assert issubclass(InvalidParameter, ValueError)
    assert issubclass(InvalidParameter, TypeError)


def test_long_values_are_cut_in_messages() -> None:
    assert len(shown("x" * 1000)) < 80
    assert shown(1.5) == "1.5 (float)"


def test_checked_functions_refuse_before_they_run() -> None:
    calls = []

    @checked({"n": [Integer(1)], "mode": [Choice("a", "b")]})
    def work(n: int, *, mode: str = "a") -> int:
        """Do something."""
        calls.append(n)
        return n

    assert work(2, mode="b") == 2
    assert work.__doc__ == "Do something."
    with pytest.raises(InvalidParameter, match=r"work: n must be an integer >= 1; got 0 \(int\)"):
        work(0)
    with pytest.raises(InvalidParameter, match="work: mode must be one of 'a', 'b'; got 'c'"):
        work(1, mode="c")
    with pytest.raises(TypeError, match="unexpected"):
        work(1, other=1)
    assert calls == [2]


@pytest.mark.parametrize(("rules", "good"), [(N_JOBS, [None, 1, -1]), (PROGRESS, [None, True])])
def test_shared_rules(rules: Any, good: list[Any]) -> None:
    for value in good:
        check_params("f", {"v": value}, {"v": rules})
    with pytest.raises(InvalidParameter, match="v must be"):
        check_params("f", {"v": "no"}, {"v": rules})


def test_zero_workers_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="integer other than 0"):
        check_params("f", {"n_jobs": 0}, {"n_jobs": N_JOBS})


# ---- every public callable that declares rules ----------------------------------------------

OWNERS = [p for p in public_names() if hasattr(p.value, "_parameter_rules")]
each_owner = pytest.mark.parametrize("public", OWNERS, ids=[p.path for p in OWNERS])


def parameters(value: Any) -> dict[str, inspect.Parameter]:
    """Return what can be passed to a function or constructor."""
    return {n: p for n, p in inspect.signature(value).parameters.items() if n != "self"}


def bad_values(rules: Any) -> list[Any]:
    """Return values that none of a parameter's rules allows."""
    offered = [value for rule in rules for value in rule.refused()]
    # A value of an unknown type: only a rule for everything would let it pass.
    offered.append(object())
    return [v for v in offered if not any(rule.allows(v) for rule in rules)]


def cases() -> list[Any]:
    """Return every public parameter with every bad value that its rules suggest."""
    return [
        pytest.param(public, name, value, id=f"{public.path}-{name}-{i}")
        for public in OWNERS
        for name, rules in public.value._parameter_rules.items()
        for i, value in enumerate(bad_values(rules))
    ]


def test_some_public_callables_declare_rules() -> None:
    assert len(OWNERS) > 5
    assert len(cases()) > 50


@each_owner
def test_rules_name_only_parameters(public) -> None:
    unknown = set(public.value._parameter_rules) - set(parameters(public.value))
    assert not unknown, f"{public.path} declares rules for {unknown}, which it does not take"


@each_owner
def test_defaults_obey_the_rules(public) -> None:
    defaults = {
        name: parameter.default
        for name, parameter in parameters(public.value).items()
        if parameter.default is not inspect.Parameter.empty
    }
    check_params(public.path, defaults, public.value._parameter_rules)


ESTIMATORS = [
    p
    for p in public_names()
    if inspect.isclass(p.value)
    and any(n in ("fit", "generate") for n, _ in public_methods(p.value))
]


@pytest.mark.parametrize("public", ESTIMATORS, ids=[p.path for p in ESTIMATORS])
def test_every_constructor_parameter_has_rules(public) -> None:
    rules = getattr(public.value, "_parameter_rules", {})
    without = set(parameters(public.value)) - set(rules)
    assert not without, f"{public.path} declares no rules for {without}"


X = np.random.default_rng(0).normal(size=(30, 3))
LABELS = np.random.default_rng(0).integers(0, 3, size=(30, 4))


def call(public: Any, name: str, value: Any) -> None:
    """Pass one bad value to a public callable, with ordinary values beside it."""
    if public.path == "clusterscape.linalg.ThresholdedCoassociation":
        public.value(**{"coassociation": Ensemble.from_labels(LABELS).coassociation(), name: value})
    if inspect.isclass(public.value):
        instance = public.value(**{name: value})
        # The constructor stores and says nothing; the work refuses.
        if hasattr(instance, "generate"):
            instance.generate(X)
        else:
            instance.fit(LABELS if ".combine." in public.path else X)
        return
    given: dict[str, Any] = {}
    for other, parameter in parameters(public.value).items():
        needed = parameter.default is inspect.Parameter.empty
        if needed and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            given[other] = LABELS
    public.value(**{**given, **_obedient(public, given), name: value})


def _obedient(public: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return a value that the rules allow for every required parameter that has rules."""
    similarities = Ensemble.from_labels(LABELS).coassociation()
    candidates = (2, "x", 0.5, None, LABELS, X, similarities, {"n_clusters": [2]})
    found = {}
    for name in given:
        rules = public.value._parameter_rules.get(name, ())
        options = [rule.options[0] for rule in rules if isinstance(rule, Choice)]
        for candidate in (*options, *candidates):
            if any(rule.allows(candidate) for rule in rules):
                found[name] = candidate
                break
    return found


@pytest.mark.parametrize(("public", "name", "value"), cases())
def test_bad_values_are_refused_in_one_shape(public, name: str, value: Any) -> None:
    owner = public.value.__name__
    expected = re.escape(f"{owner}: {name} must be ") + ".*" + re.escape(f"; got {shown(value)}.")
    with pytest.raises(InvalidParameter, match=expected):
        call(public, name, value)


def test_every_rule_is_tried_above() -> None:
    kinds = {
        kind
        for kind in vars(_params).values()
        if inspect.isclass(kind) and issubclass(kind, Rule) and kind is not Rule
    }
    assert kinds == {type(rule) for rule, _, _ in RULES}
