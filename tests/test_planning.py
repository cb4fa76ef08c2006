"""The cost model: linear in the rows, and what a worker holds does not grow with them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from clusterscape import planning
from clusterscape.cli.app import app
from clusterscape.planning import CostModel, measure_cost


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure on few rows: what is measured does not matter here."""
    monkeypatch.setattr(planning, "SIZES", (41_000, 60_000))


def test_costs_are_those_of_lines_whatever_the_speed(small, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)).astype(np.float32)
    real, speeds = planning._timed, iter([3.0, 1.0, 2.0, 1.5, 1.0])

    def timed(model: Any, some: np.ndarray, n: int) -> planning._Timed:
        """Return seconds of a machine that is now fast and now slow."""
        if not hasattr(model, "ensemble_"):
            assert real(model, some, n).whole > 0
        made, whole, reference = 0.5 + 2e-6 * n, 0.8 + 5e-6 * n, 0.01
        speed = next(speeds)
        return planning._Timed(speed * made, speed * whole, speed * reference, 4.0)

    monkeypatch.setattr(planning, "_timed", timed)
    monkeypatch.setattr(planning, "_reading", lambda source, some: 1e-7)
    cost = measure_cost(X, 3, n_partitions=5)
    assert cost.n_members == 5
    assert cost.n_clusters == 3
    assert cost.reference == pytest.approx(0.0125)
    here = cost.at(0.01)
    assert here.members == pytest.approx(0.5)
    assert here.alone == pytest.approx(0.3)
    assert here.per_row == pytest.approx(5e-6 + 4e-7 / 1.25)  # read at the speed of the moment
    assert cost.crowding >= 1
    assert cost.per_task > 0


def test_sums_of_a_plan_by_hand():
    cost = CostModel(2.0, 1.0, 1e-5, 3.0, 300.0, 16, 50, 10, 500, 4)
    assert cost.blocks(10**6) == 16
    assert cost.cpu(10**6) == pytest.approx(2 + 1 + 10)
    assert cost.seconds(10**6) == pytest.approx(3 + 13)
    messages = planning._PER_TASK * planning._PASSES * 16
    wall = 1 + 12 / 2 + planning._CLUSTER + messages / 2
    more = planning._CLUSTER + messages + planning._IDLE * 3 * wall
    assert cost.seconds(10**6, 2) == pytest.approx(3 + wall)
    assert cost.cpu(10**6, 2) == pytest.approx(13 + more)
    crowded = replace(cost, crowding=1.5)
    assert crowded.cpu(10**6) == cost.cpu(10**6)
    assert crowded.seconds(10**6, 2) == pytest.approx(3 + wall + 3)
    slow = crowded.at(2 * cost.reference)
    assert slow.seconds(10**6) == pytest.approx(2 * crowded.seconds(10**6))
    assert slow.seconds(10**6, 2) == pytest.approx(2 * crowded.seconds(10**6, 2))
    assert slow.memory_mb(10**6) == cost.memory_mb(10**6)
    assert cost.seconds(10**6, 4) < cost.seconds(10**6, 2) < cost.seconds(10**6)
    assert cost.memory_mb(10**8) == cost.memory_mb(10**6)
    assert cost.moved_mb(10**6, 0) == 0
    table = cost.table([10**5, 10**6], [0, 2])
    assert table["rows"].tolist() == [10**5, 10**5, 10**6, 10**6]


def test_plan_on_the_command_line(small, tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, np.random.default_rng(0).normal(size=(900, 2)).astype(np.float32))
    words = ["plan", str(path), "--members", "4", "--k", "2", "--points", "1e5,1e8"]
    done = CliRunner().invoke(app, [*words, "--workers", "0,2", "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["plan"]
    assert [(row["rows"], row["workers"]) for row in rows] == [
        (100_000, 0),
        (100_000, 2),
        (100_000_000, 0),
        (100_000_000, 2),
    ]
    wrong = CliRunner().invoke(app, ["plan", str(path), "--points", "many"])
    assert wrong.exit_code == 2
