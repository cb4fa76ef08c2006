"""A short slice of the fuzz and kill programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sources import ROOT

FUZZ = ROOT / "fuzz"
CASES, FIRST = 40, 100


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def test_a_slice_of_generated_calls_finds_nothing_and_goes_on_from_its_log(tmp_path: Path):
    log = tmp_path / "log"
    for cases in (10, CASES):
        given = ["--cases", str(cases), "--seed", str(FIRST), "--log", str(log)]
        done = run(str(FUZZ / "fuzz.py"), *given)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"{cases} cases from seed {FIRST}" in done.stdout
    counts = [json.loads(line)["cases"] for line in log.read_text().splitlines()]
    assert counts == [10, CASES - 10]


def test_a_tie_is_seen_whichever_way_it_goes():
    program = """
import sys
sys.path.insert(0, "fuzz")
import numpy as np
import oracles
from clusterscape import Ensemble
labels = np.array([[0, 0, 0, 1, 2]] * 6)
labels[2], labels[4] = [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]  # the last two points may change places
given = Ensemble.from_labels(labels.T).with_weights(weights=[3, 1, 2, 3, 2, 2])
for answer in ([0, 0, 0, 0, 1], [0, 0, 0, 1, 0]):
    assert oracles._hangs_on_a_tie("lwgp", given, 2, np.array(answer))
alone = Ensemble.from_labels(labels[[0, 0, 2]].T)
assert not oracles._hangs_on_a_tie("lwgp", alone, 2, np.array([0, 0, 0, 1, 0]))
"""
    done = run("-c", program)
    assert done.returncode == 0, done.stderr


def test_a_finding_is_printed_with_the_command_that_replays_it(tmp_path: Path):
    broken = tmp_path / "fuzz"
    broken.mkdir()
    for file in FUZZ.glob("*.py"):
        (broken / file.name).write_text(file.read_text())
    text = (broken / "damage.py").read_text()
    (broken / "damage.py").write_text(text.replace("    files = whole()\n", "    1 / 0\n"))
    done = run(str(broken / "fuzz.py"), "--cases", "1", "--seed", "104")
    assert done.returncode == 1
    assert "FOUND  seed" in done.stdout
    seed = done.stdout.partition("--replay ")[2].split()[0]
    again = run(str(broken / "fuzz.py"), "--replay", seed)
    assert again.returncode == 1
    assert "ZeroDivisionError" in again.stderr


def test_a_run_with_bounds_checks_sees_an_index_outside_of_its_array():
    program = """
import sys
sys.path.insert(0, "fuzz")
import fuzz
sys.argv = ["fuzz.py", "--bounds", "--replay", "0"]
fuzz.one = lambda seed, only: check()
def check():
    import numpy as np
    from clusterscape.kernels._jit import Kernel
    def last(values, i):
        return values[i]
    Kernel(last)(np.zeros(3), 3)
fuzz.main()
"""
    done = run("-c", program)
    assert done.returncode == 1
    assert "IndexError: index is out of bounds" in done.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs fork")
def test_a_short_run_of_kills_loses_nothing():
    done = run(str(FUZZ / "kill.py"), "--trials", "3", "--seed", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 trials from seed 3" in done.stdout
    assert "0 findings" in done.stdout
