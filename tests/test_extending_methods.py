"""A consensus method of one's own: one module, one entry, and it is everywhere."""

from __future__ import annotations

import importlib
import json
import sys

import numpy as np
import pytest

from clusterscape import ConsensusClustering
from clusterscape.cli import main
from clusterscape.combine import METHODS, BaseConsensus, consensus_method

MODULE = '''
"""A consensus method in a module of its own."""

from typing import ClassVar

import numpy as np

from clusterscape._core.params import Integer
from clusterscape.combine import BaseConsensus, Combined, consensus_method


@consensus_method("first_partition", cost="n", memory="n")
class FirstPartition(BaseConsensus):
    """Take the first partition as it is.

    More follows here.
    """

    _source: ClassVar[str] = "nobody 2026"
    _accepts_soft: ClassVar[bool] = False
    _parameter_rules: ClassVar = {"n_clusters": [Integer(1)]}

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def _combine(self, ensemble, features):
        return Combined(np.minimum(ensemble.labels[:, 0], self.n_clusters - 1))
'''


@pytest.fixture
def added(tmp_path, monkeypatch):
    """Import a module that adds a method, and take both out again."""
    (tmp_path / "my_consensus.py").write_text(MODULE, encoding="utf8")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(METHODS)
    module = importlib.import_module("my_consensus")
    yield module.FirstPartition
    del METHODS["first_partition"]
    del sys.modules["my_consensus"]
    assert list(METHODS) == before


@pytest.fixture
def listed(monkeypatch, capsys):
    """What the command line lists."""

    def ask():
        monkeypatch.setattr(sys, "argv", ["clusterscape", "info", "--list", "methods", "--json"])
        with pytest.raises(SystemExit, match="0"):
            main()
        return json.loads(capsys.readouterr().out)

    return ask


def test_a_method_is_one_module_and_one_entry(added, listed):
    method = METHODS["first_partition"]
    assert method.estimator is added
    assert method.summary == "Take the first partition as it is."
    assert (method.reference, method.cost) == ("nobody 2026", "n")
    assert (method.needs_k, method.takes_k, method.k_rule) == (True, True, "")
    assert (method.soft, method.features, method.extra) == (False, "none", "")
    assert list(METHODS) == sorted(METHODS)
    assert listed()["first_partition"] == "Take the first partition as it is. (nobody 2026)"


def test_the_main_estimator_takes_its_name(added):
    X = np.repeat([[0.0, 0.0], [5.0, 5.0]], 20, axis=0)
    X += np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    model = ConsensusClustering(
        2, consensus="first_partition", n_partitions=3, n_references=0, random_state=0
    ).fit(X)
    assert isinstance(model.consensus_, added)


def test_without_it_the_name_is_unknown(listed):
    assert "first_partition" not in METHODS
    assert "first_partition" not in listed()
    with pytest.raises(ValueError, match="consensus must be"):
        ConsensusClustering(2, consensus="first_partition").fit(np.eye(4))


def test_names_are_taken_once_and_spelled_plainly():
    with pytest.raises(ValueError, match="name='sec' is taken by SEC"):
        consensus_method("sec")(type("Other", (BaseConsensus,), {}))
    with pytest.raises(ValueError, match="name='My method' must be an identifier in lower case"):
        consensus_method("My method")
    with pytest.raises(TypeError, match="decorates subclasses of BaseConsensus"):
        consensus_method("mine")(int)
