"""What the programs under benchmarks/ compute by themselves is right, too."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import numpy as np
import pytest

from sources import ROOT


@pytest.fixture
def sce(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the program of the SCE paper's tables."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = ROOT / "benchmarks" / "papers" / "sce.py"
    spec = importlib.util.spec_from_file_location("sce_tables", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def marks(sce: ModuleType, ours: list[float], other: list[float]) -> str:
    scores = np.stack([ours, np.array(ours) - 1.0, other], axis=1)
    return sce.significance(scores, ("LSCE", "NSCE", "KCC"))


def test_marks_say_whether_the_better_of_ours_differs(sce: ModuleType) -> None:
    # Welch's t of (3, 4, 5) and (1, 2, 3) is 2.449 on 4 degrees of freedom: p = 0.07.
    assert marks(sce, [3.0, 4.0, 5.0], [1.0, 2.0, 3.0]) == ""
    # t = 3.674, p = 0.021; t = 8.573, p = 0.001.
    assert marks(sce, [4.0, 5.0, 6.0], [1.0, 2.0, 3.0]) == "*"
    assert marks(sce, [8.0, 9.0, 10.0], [1.0, 2.0, 3.0]) == "**"
    assert marks(sce, [1.0, 2.0, 3.0], [8.0, 9.0, 10.0]) == "--"
    assert marks(sce, [5.0, 5.0, 5.0], [5.0, 5.0, 5.0]) == ""


def test_marks_need_two_runs(sce: ModuleType) -> None:
    assert marks(sce, [5.0], [1.0]) == ""
