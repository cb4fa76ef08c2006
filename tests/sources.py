"""The source files and public names that tests of the whole package go through."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "clusterscape"
FILES = sorted(SOURCE.rglob("*.py"))

# Folders that are not part of the public interface: foundations, kernels, the command line.
_INNER = {"_core", "kernels", "cli"}


class Public(NamedTuple):
    """A public name: its path, and its value."""

    path: str
    value: Any


def module_name(file: Path) -> str:
    """Return the dotted name of a source file."""
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def public_modules() -> list[ModuleType]:
    """Return the package and its public folders."""
    found = [importlib.import_module("clusterscape")]
    for folder in sorted(SOURCE.iterdir()):
        if (folder / "__init__.py").is_file() and folder.name not in _INNER:
            found.append(importlib.import_module(f"clusterscape.{folder.name}"))
    return found


def public_names() -> list[Public]:
    """Return every function and class that a public folder lists in ``__all__``, once."""
    found: dict[int, Public] = {}
    for module in public_modules():
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isroutine(value):
                found.setdefault(id(value), Public(f"{module.__name__}.{name}", value))
    return sorted(found.values())


def public_methods(cls: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the public methods of a class that are defined in this package."""
    for name in dir(cls):
        if name.startswith("_"):
            continue
        value = inspect.getattr_static(cls, name)
        function = getattr(value, "__func__", value)
        if inspect.isfunction(function) and function.__module__.startswith("clusterscape"):
            yield name, function
