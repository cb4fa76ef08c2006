"""The help of every command: examples that parse, and one rule for -o."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
import typer

from clusterscape.cli.app import app

VERBS: dict[str, Any] = dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
# What is written without -o by commands whose result is no table.
NAMED = {
    "run": "clusterscape-output",
    "demo": "demo-output",
    "generate": "ensemble.npz",
    "report": "report.html",
    "plot": "PICTURE.png",
}
WITHOUT = {"explore", "plan", "info"}


def examples(name: str) -> list[str]:
    """Return the commands that the help of a verb shows."""
    text = " ".join((VERBS[name].help or "").split())
    return re.findall(r"Example: `([^`]+)`", text)


@pytest.mark.parametrize("name", VERBS)
def test_every_help_has_an_example_that_parses(name: str) -> None:
    found = examples(name)
    assert found, f"the help of {name} has no example"
    for line in found:
        program, verb, *words = shlex.split(line)
        assert (program, verb) == ("clusterscape", name)
        # Unknown options, missing arguments and values of a wrong kind are errors here.
        VERBS[name].make_context(name, words, resilient_parsing=False)


@pytest.mark.parametrize("name", VERBS)
def test_the_output_follows_one_rule(name: str) -> None:
    options = [p for p in VERBS[name].params if "-o" in p.opts]
    assert len(options) == (name not in WITHOUT)
    for option in options:
        assert "--output" in option.opts
        assert option.metavar == ("DIR" if name in {"run", "demo"} else "FILE")
        if name in NAMED:
            assert NAMED[name] in f"{option.help} {option.default}"
        else:
            assert option.default is None
            assert "stdout when not given" in option.help
