"""Names of a package that are loaded on first use, from a single list of them."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Hooks = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def names_of_stub(package: str, init: str) -> Hooks:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the names that a stub imports.

    The stub is ``__init__.pyi`` beside ``init``, the package's ``__init__.py``. Type checkers read
    it as well, so that its lines ``from package.module import name as name`` are the only list;
    ``from package import name as name`` is a subpackage.
    """
    stub = ast.parse(Path(init).with_suffix(".pyi").read_text(encoding="utf8"))
    homes = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

    def load(name: str) -> Any:
        if homes[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(homes[name]), name)

    return _hooks(package, homes, load)


def modules_of_folder(package: str, path: Iterable[str]) -> Hooks:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` for the public modules of a package."""
    names = [m.name for m in pkgutil.iter_modules(path) if not m.name.startswith("_")]
    return _hooks(package, names, lambda name: importlib.import_module(f"{package}.{name}"))


def _hooks(package: str, names: Iterable[str], load: Callable[[str], Any]) -> Hooks:
    known = sorted(names)

    def get(name: str) -> Any:
        if name in known:
            return load(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get, lambda: known, known
