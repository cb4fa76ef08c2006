"""What all tests share: one seed by default and a hundred on demand, and no window on a screen.

``CLUSTERSCAPE_SEEDS`` names the seeds of the ``seed`` fixture (``7``, ``0,3,5`` or ``0-99``) and
``HYPOTHESIS_PROFILE=thorough`` draws many more examples; ``make thorough`` sets both.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from sources import FILES

os.environ.setdefault("MPLBACKEND", "Agg")

# Numba compiles during the first example of a test, so no example has a deadline.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default",
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=_SLOW,
)
settings.register_profile(
    "thorough", max_examples=500, deadline=None, suppress_health_check=_SLOW, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def _seeds(text: str) -> list[int]:
    """Return the seeds that ``"0"``, ``"1,4"`` or ``"0-99"`` name."""
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        seeds.extend(range(int(first), int(last or first) + 1))
    return seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test that takes ``seed``, and no seeds of its own, once per seed asked for."""
    marks = metafunc.definition.iter_markers("parametrize")
    own = any("seed" in str(mark.args[0]) for mark in marks)
    if "seed" in metafunc.fixturenames and not own:
        metafunc.parametrize("seed", _seeds(os.environ.get("CLUSTERSCAPE_SEEDS", "0")))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Report the longest source files: length fails nothing, but it is worth a look."""
    if os.environ.get("CI") or terminalreporter.verbosity > 0:
        lengths = sorted(((_code_lines(file), file.name) for file in FILES), reverse=True)
        shown = ", ".join(f"{name} {lines}" for lines, name in lengths[:5])
        terminalreporter.write_line(f"longest source files, in lines of code: {shown}")


def _code_lines(file: Path) -> int:
    """Return the lines of a file that hold code: no comments, docstrings or blank lines."""
    kept: set[int] = set()
    tree = ast.parse(file.read_text(encoding="utf8"))
    for node in ast.walk(tree):
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, (ast.stmt, ast.expr)) and not text and not _inside_text(node):
            kept.add(node.lineno)
    return len(kept)


def _inside_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
