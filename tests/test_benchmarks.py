"""The programs under benchmarks/: they say what they measure, and compute it rightly."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from sources import ROOT

BENCHMARKS = ROOT / "benchmarks"
PROGRAMS = sorted(BENCHMARKS.glob("*/*.py"))


def test_the_readme_of_the_benchmarks_lists_every_program() -> None:
    text = (BENCHMARKS / "README.md").read_text(encoding="utf8")
    listed = re.findall(r"^\| `(\w+/\w+\.py)` \|", text, re.MULTILINE)
    assert sorted(listed) == [path.relative_to(BENCHMARKS).as_posix() for path in PROGRAMS]


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.relative_to(BENCHMARKS).as_posix())
def test_every_program_says_what_it_measures_and_its_bars(path: Path) -> None:
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf8"))) or ""
    assert re.search(r"\bbars?\b|\bclaims?\b|measures nothing", said, re.IGNORECASE)


# Peers that do not install beside the others; their program names them and goes on.
NOT_INSTALLED = {"combo", "sc3s"}


def _imported(path: Path) -> set[str]:
    """Return the packages that a file imports, those that it looks for included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("find_spec"):
            found |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return found


def _bench_packages() -> set[str]:
    """Return the names of the distributions that the extra ``bench`` asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["bench"]]
    for entry in extras["bench"]:
        inner = re.match(r"clusterscape\[(.+)\]", entry)
        asked += [one for name in inner[1].split(",") for one in extras[name]] if inner else []
    return {re.split(r"[\[<>=;~ ]", entry)[0].lower() for entry in asked}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.relative_to(BENCHMARKS).as_posix())
def test_what_a_program_imports_is_in_the_bench_environment(path: Path) -> None:
    distributions = {
        "active_semi_clustering": "active-semi-supervised-clustering",
        "ot": "pot",
        "sklearn": "scikit-learn",
    }
    own = {path.stem for path in (*PROGRAMS, BENCHMARKS / "_common.py")} | {"clusterscape"}
    others = _imported(path) - set(sys.stdlib_module_names) - (own - {"dask"}) - NOT_INSTALLED
    assert {distributions.get(name, name) for name in others} <= _bench_packages()


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
