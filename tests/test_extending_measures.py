"""A measure is one function in one file: declared once, it is known everywhere."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from clusterscape import compare
from clusterscape.cli import main
from clusterscape.compare import MEASURES, pairwise, register_measure, unregister_measure

SOURCE = '''
"""A measure of one's own."""

from clusterscape._core.params import Number
from clusterscape.compare import register_measure


def _pairs_lost(tables, *, power):
    s = tables.statistics
    return (s.a_together - s.together) ** power


@register_measure(
    _pairs_lost,
    rules={"power": [Number(0, open_low=True)]},
    label="pairs lost",
    reference="a test",
    direction="distance",
    bounds=(0.0, float("inf")),
    identity=0.0,
    symmetric=False,
)
def pairs_lost(
    a, b, *, power=1.0, noise="singletons", sample_weight=None, return_coverage=False
):
    """Pairs of points that a joins and b does not.

    Parameters
    ----------
    {parameters}
    power : float
        Power that the number is raised to.

    Returns
    -------
    {returns}
    """
'''
A, B = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]  # a joins 3 + 1 pairs, of which b joins 1 + 1


@pytest.fixture
def extension(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    (tmp_path / "own_measures.py").write_text(SOURCE, encoding="utf8")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(MEASURES)
    yield importlib.import_module("own_measures")
    sys.modules.pop("own_measures")
    unregister_measure("pairs_lost")
    assert list(MEASURES) == before


def test_the_registry_and_the_function_know_it(extension: ModuleType) -> None:
    measure = MEASURES["pairs_lost"]
    assert measure.function is extension.pairs_lost
    assert measure.options == {"power": 1.0}
    assert extension.pairs_lost(A, B) == 2.0
    assert extension.pairs_lost(A, B, power=2.0, return_coverage=True) == (4.0, 1.0)
    signature = inspect.signature(extension.pairs_lost)
    assert list(signature.parameters) == [
        "a",
        "b",
        "power",
        "noise",
        "sample_weight",
        "return_coverage",
    ]
    assert "{" not in inspect.getdoc(extension.pairs_lost).replace('{"singletons"', "")
    with pytest.raises(ValueError, match="pairs_lost: power must be a number > 0; got -1"):
        extension.pairs_lost(A, B, power=-1)
    with pytest.raises(ValueError, match="pairs_lost: noise must be one of 'singletons'"):
        extension.pairs_lost(A, B, noise="none")


def test_pairwise_takes_it(extension: ModuleType) -> None:
    found = pairwise([A, B], ["vi", "pairs_lost"], metric_params={"pairs_lost": {"power": 3.0}})
    assert found.matrices["pairs_lost"].tolist() == [[0.0, 8.0], [8.0, 0.0]]
    with pytest.raises(ValueError, match="metric must be .* out of .*pairs_lost; got 'none'"):
        pairwise([A, B], "none")


def run(*words: str) -> None:
    """Run the command line in this process, where the measure is registered."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["clusterscape", *words])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code


def test_the_command_line_lists_and_takes_it(extension, tmp_path: Path, capsys) -> None:
    run("info", "--list", "measures")
    assert "pairs_lost: pairs lost; a distance (a test)" in capsys.readouterr().out
    pd.DataFrame({"one": A, "two": B}).to_csv(tmp_path / "labels.csv", index=False)
    run("compare", str(tmp_path / "labels.csv"), "--metric", "pairs_lost", "-q")
    assert capsys.readouterr().out.splitlines()[0].startswith("pairs_lost,")


def test_it_is_gone_afterwards(tmp_path: Path) -> None:
    assert "pairs_lost" not in MEASURES
    with pytest.raises(ValueError, match="metric must be the name of a measure"):
        pairwise([A, B], "pairs_lost")
    with pytest.raises(KeyError, match="there is no measure 'pairs_lost'"):
        unregister_measure("pairs_lost")


PROPERTIES = {
    "label": "x",
    "reference": "x",
    "direction": "distance",
    "bounds": (0.0, 1.0),
    "identity": 0.0,
}


def nothing(tables):
    """Return zero for every pair."""
    return np.zeros(len(tables))


def scaled(tables, *, scale):
    """Return a constant for every pair."""
    return np.full(len(tables), scale)


def vi(a, b, *, noise="singletons", sample_weight=None, return_coverage=False):
    """Stand for a measure that exists."""


def short(a, b):
    """Lack what every measure takes."""


def unscaled(a, b, *, noise="singletons", sample_weight=None, return_coverage=False):
    """Lack an option that the formula reads."""


@pytest.mark.parametrize(
    ("function", "formula", "kind", "words"),
    [
        (vi, nothing, ValueError, "there is a measure 'vi' already"),
        (short, nothing, TypeError, "short: .* lacks noise, return_coverage, sample_weight"),
        (unscaled, scaled, TypeError, r"\(none\) must be those that formula .* \(scale\)"),
    ],
)
def test_declarations_that_do_not_fit_are_refused(function, formula, kind, words: str) -> None:
    before = dict(MEASURES)
    with pytest.raises(kind, match=words):
        register_measure(formula, **PROPERTIES)(function)
    assert dict(MEASURES) == before
    assert MEASURES["vi"].function is compare.vi
