"""Errors that another layer spells in its own words carry their parts as fields."""

from __future__ import annotations

import copy
import warnings

import pytest
from joblib import Parallel, delayed

from clusterscape._core.errors import (
    InvalidParameter,
    MemoryLimitError,
    ParameterError,
    ParameterWarning,
)
from clusterscape._core.params import Choice, Integer, Null, check_params
from clusterscape._core.store import ABSENT, AnotherRunError, PartitionStore, StoreInUseError


def shell(name: str, *value: object) -> str | None:
    """Spell the arguments that a verb has."""
    option = {"n_clusters": "--clusters", "n_components": "--components"}.get(name)
    return None if option is None else " ".join([option, *map(str, value)])


def nothing(name: str, *value: object) -> str | None:
    """Spell nothing: a reader without options."""
    return None


def test_a_parameter_is_spelled_as_in_python_or_on_the_command_line() -> None:
    error = ParameterError(
        "{n_clusters} is more than 3; take {n_clusters__most}. {n_clusters.name} counts clusters.",
        n_clusters=5,
        n_clusters__most=3,
    )
    assert (
        str(error) == "n_clusters=5 is more than 3; take n_clusters=3. n_clusters counts clusters."
    )
    assert error.worded(shell) == (
        "--clusters 5 is more than 3; take --clusters 3. --clusters counts clusters."
    )
    assert error.worded(nothing) == str(error)
    assert error.parameters == {"n_clusters": 5, "n_clusters__most": 3}


def test_rules_raise_an_error_with_fields() -> None:
    rules = {"n_clusters": [Null(), Integer(1)]}
    with pytest.raises(InvalidParameter, match="Thing: n_clusters must be") as caught:
        check_params("Thing", {"n_clusters": 0}, rules)
    error = caught.value
    assert (error.owner, error.name, error.value) == ("Thing", "n_clusters", 0)
    assert error.rules == tuple(rules["n_clusters"])
    assert error.expected == "None, or an integer >= 1"
    assert error.worded(shell) == (
        "Thing: --clusters must be None, or an integer >= 1; got 0 (int)."
    )


def memory_error(parameter: str | None = "max_gb") -> MemoryLimitError:
    """Return a refusal with two remedies, one of which names an argument."""
    return MemoryLimitError(
        "the products",
        9.04,
        4.0,
        parameter=parameter,
        remedies=["take fewer clusters", "use random features ({n_components})"],
        n_components=1000,
    )


def test_memory_is_refused_with_what_the_reader_can_do() -> None:
    error = memory_error()
    assert isinstance(error, MemoryError)
    assert (error.needed_gb, error.limit_gb, error.parameter) == (9.04, 4.0, "max_gb")
    assert str(error) == (
        "the products would take 9.0 GB, more than max_gb=4. Take fewer clusters, use random "
        "features (n_components=1000), or raise max_gb."
    )
    allowed = "the products would take 9.0 GB, more than the 4 GB that are allowed. "
    assert error.worded(shell) == (
        allowed + "Take fewer clusters, or use random features (--components 1000)."
    )
    assert error.worded(nothing) == allowed + "Take fewer clusters."
    assert "raise" not in str(memory_error(parameter=None))


def test_braces_that_are_not_fields_stay() -> None:
    error = ParameterError("the file {x}.csv does not go with {k}", k=2)
    assert str(error) == "the file {x}.csv does not go with k=2"
    assert str(ParameterWarning("{x} and {y.z}")) == "{x} and {y.z}"


def test_warnings_are_worded_from_their_fields() -> None:
    with pytest.warns(ParameterWarning, match="n_components=2 is few") as caught:
        warnings.warn(ParameterWarning("{n_components} is few", n_components=2), stacklevel=1)
    assert caught[0].message.worded(shell) == "--components 2 is few"
    assert caught[0].message.worded(nothing) == "n_components=2 is few"


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("{k} is wrong", k=2),
        InvalidParameter("f", "k", 2, expected="three", rules=[Integer(3)]),
        memory_error(),
        ParameterWarning("{k} is odd", k=3),
    ],
    ids=lambda e: type(e).__name__,
)
def test_errors_come_back_from_worker_processes(error) -> None:
    sent = Parallel(n_jobs=2, backend="loky")(delayed(copy.copy)(error) for _ in range(2))
    for again in (copy.copy(error), *sent):
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert set(vars(again)) == set(vars(error))
        assert again.worded(nothing) == error.worded(nothing)


def test_a_choice_reads_its_registry_when_it_is_asked() -> None:
    registry = {"a": 1}
    rule = Choice("other", registry=registry)
    assert not rule.allows("b")
    registry["b"] = 2
    assert rule.allows("b")
    assert rule.words == "one of 'other', 'a', 'b'"


def test_a_store_of_another_run_says_what_differs(tmp_path) -> None:
    plan = {"n_partitions": 2, "versions": {"numpy": "1"}}
    PartitionStore(tmp_path, plan).close()
    with pytest.raises(AnotherRunError, match=r"versions\.numpy was \"1\"") as caught:
        PartitionStore(tmp_path, plan | {"versions": {"numpy": "2"}})
    error = caught.value
    assert (error.directory, error.name) == (tmp_path, "versions.numpy")
    assert (error.then, error.now) == ("1", "2")
    with pytest.raises(AnotherRunError, match="k was absent there and is null now") as caught:
        PartitionStore(tmp_path, plan | {"k": None})
    assert caught.value.then is ABSENT
    assert caught.value.now is None


def test_a_store_in_use_names_its_directory(tmp_path) -> None:
    pytest.importorskip("fcntl")
    with (
        PartitionStore(tmp_path, {"n_partitions": 1}),
        pytest.raises(StoreInUseError, match="in use by another run") as caught,
    ):
        PartitionStore(tmp_path, {"n_partitions": 1})
    assert caught.value.directory == tmp_path
