"""Public functions and estimators, called with generated arguments; what may come out of a call."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import inspect
import os
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import clusterscape
from clusterscape import Ensemble, combine, compare
from inputs import COSTLY, SMALL, by_name, by_rules, ensemble, labels, matrix, weights

SOURCE = Path(clusterscape.__file__).resolve().parent

# Not called with generated arguments, and why.
LEFT_OUT = {
    "datasets.load": "reads files of a data folder",
    "compare.register_measure": "changes the registry",
    "compare.unregister_measure": "changes the registry",
    "combine.consensus_method": "changes the registry",
    "io": "reads and writes files: see damage.py",
    "plot": "draws",
    "report": "writes pages and serves them",
}


class Finding(Exception):
    """Something that must not happen, with the words that tell it."""


@functools.cache
def entries() -> list[tuple[str, Any]]:
    """Return the public functions and estimators that can be called, by their paths."""
    found: dict[int, tuple[str, Any]] = {}
    for folder in clusterscape.__all__:
        if folder.startswith("_") or folder in LEFT_OUT:
            continue
        module = getattr(clusterscape, folder)
        for name in getattr(module, "__all__", []):
            value, path = getattr(module, name), f"{folder}.{name}"
            callable_ = inspect.isfunction(value) or hasattr(value, "fit")
            if callable_ and path not in LEFT_OUT and not name.startswith("Base"):
                found.setdefault(id(value), (path, value))
    top = [(name, getattr(clusterscape, name)) for name in ("ConsensusClustering",)]
    return sorted([*found.values(), *top])


def call(draw: np.random.Generator, only: str = "") -> str:
    """Call one public entry with drawn arguments; raise :class:`Finding` if it misbehaves."""
    known = [entry for entry in entries() if only in entry[0]]
    path, value = known[int(draw.integers(len(known)))]
    with judged(path):
        if inspect.isclass(value):
            _estimate(path, value, draw)
        else:
            value(**_arguments(value, draw))
    return path


def _arguments(function: Any, draw: np.random.Generator, skip: tuple[str, ...] = ()) -> Any:
    """Return arguments for the required parameters and some of the others."""
    rules = getattr(function, "_parameter_rules", {})
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", *skip) or parameter.kind in (
            parameter.VAR_KEYWORD,
            parameter.VAR_POSITIONAL,
        ):
            continue
        required = parameter.default is parameter.empty
        if not required and name not in ("n_jobs", "progress") and draw.random() > 0.35:
            if name in SMALL and name not in ("k", "n_clusters", "random_state", "store"):
                given[name] = SMALL[name](draw)
            continue
        if name in SMALL and draw.random() < 0.9:
            given[name] = SMALL[name](draw)
        elif name in rules:
            given[name] = by_rules(list(rules[name]), draw)
        elif required or "weight" in name:
            given[name] = by_name(name, draw)
    return _agreeing(given, draw)


def _agreeing(given: dict[str, Any], draw: np.random.Generator) -> dict[str, Any]:
    """Give arguments that belong together the same number of points, mostly."""
    if draw.random() < 0.2:
        return given
    n = None
    for name, value in given.items():
        if isinstance(value, Ensemble):
            n = value.n_points
        elif n is None and hasattr(value, "shape") and len(value.shape) == 2:
            n = value.shape[0]
        elif n is None and name in ("a", "labels") and hasattr(value, "__len__"):
            n = len(value)
    if n:
        for name, value in list(given.items()):
            if name in ("a", "b", "labels", "reference", "y", "partition"):
                given[name] = labels(draw, n)
            elif name == "sample_weight":
                given[name] = weights(draw, n)
            elif name in ("features", "X") and getattr(value, "shape", (n,))[:1] != (n,):
                given[name] = draw.normal(size=(n, 3))
    return given


def _estimate(path: str, cls: Any, draw: np.random.Generator) -> None:
    """Make an estimator, fit it, and use what it then has."""
    rules = getattr(cls, "_parameter_rules", {})
    given: dict[str, Any] = {}
    for name, parameter in inspect.signature(cls).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        required = parameter.default is parameter.empty
        if name in SMALL and (required or name in COSTLY or draw.random() < 0.8):
            given[name] = SMALL[name](draw)
        elif name in rules and (required or draw.random() < 0.25):
            given[name] = by_rules(list(rules[name]), draw)
        elif required:
            given[name] = by_name(name, draw)
    made = cls(**given)
    of_ensemble = isinstance(made, combine.BaseConsensus)
    if of_ensemble:
        first = ensemble(draw)
        second = {"features": draw.normal(size=(first.n_points, 2))} if draw.random() < 0.5 else {}
        fitted = made.fit(first, **second)
        _check_labels(fitted.labels_, first.n_points)
        return
    wanted = inspect.signature(made.fit).parameters
    X = matrix(draw)
    more = {}
    rows = X.shape[0] if hasattr(X, "shape") and len(X.shape) == 2 else None
    if "y" in wanted and wanted["y"].default is inspect.Parameter.empty and rows:
        more["y"] = draw.integers(0, 2, rows)
    if "sample_weight" in wanted and rows and draw.random() < 0.3:
        more["sample_weight"] = weights(draw, rows)
    fitted = made.fit(X, **more)
    if hasattr(fitted, "labels_") and rows:
        _check_labels(fitted.labels_, rows)
    if hasattr(fitted, "predict") and draw.random() < 0.5:
        fitted.predict(X)


def _check_labels(found: Any, n: int) -> None:
    found = np.asarray(found)
    if found.shape != (n,) or found.dtype.kind not in "iu" or found.min() < -2:
        raise Finding(f"labels of shape {found.shape} and type {found.dtype} for {n} points")


# ---- what may come out --------------------------------------------------------------------------


@contextlib.contextmanager
def judged(what: str) -> Iterator[None]:
    """Let refusals of our own pass; anything else is a finding."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("divide by zero", "overflow", "underflow", "invalid value", "Mean of empty"):
            warnings.filterwarnings("error", message=f".*{name}", category=RuntimeWarning)
        try:
            yield
        except Finding:
            raise
        except Exception as error:
            if not _is_refusal(error):
                last = traceback.extract_tb(error.__traceback__)[-1]
                ours = [
                    f for f in traceback.extract_tb(error.__traceback__) if _is_ours(f.filename)
                ]
                place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
                raise Finding(
                    f"{what}: {type(error).__name__}: {' '.join(str(error).split())[:160]} "
                    f"[at {place}, raised in {Path(last.filename).name}:{last.lineno}]"
                ) from error


def _is_ours(file: str) -> bool:
    return Path(file).resolve().is_relative_to(SOURCE)


def _is_refusal(error: BaseException) -> bool:
    """Say whether an error is a refusal of the input.

    What we raise on purpose is, and what scikit-learn's validation does; so are a ValueError and a
    TypeError in which NumPy or SciPy stumbled, but for strict runs (``CLUSTERSCAPE_STRICT=1``).
    """
    frames = list(traceback.walk_tb(error.__traceback__))
    # scikit-learn adds all values up to see whether they are finite, and inf - inf warns; what
    # is infinite it then refuses.
    if isinstance(error, RuntimeWarning) and any(
        frame.f_code.co_name == "_assert_all_finite" for frame, _ in frames
    ):
        return True
    if isinstance(error, (Warning, AssertionError)) or not str(error).strip():
        return False
    frame, line = frames[-1]
    file = frame.f_code.co_filename
    on_purpose = _is_ours(file) and line in _raising_lines(file)
    validated = "sklearn/utils" in file or "sklearn/base" in file
    # The call itself does not fit: Python's own check of the arguments.
    inside = any(_is_ours(f.f_code.co_filename) for f, _ in frames)
    outside = isinstance(error, TypeError) and not inside and "argument" in str(error)
    if on_purpose or validated or outside:
        return True
    if isinstance(error, np.linalg.LinAlgError) or os.environ.get("CLUSTERSCAPE_STRICT"):
        return False
    return isinstance(error, (ValueError, TypeError))


@functools.cache
def _raising_lines(file: str) -> frozenset[int]:
    """Return the lines of a file on which an exception is raised on purpose."""
    lines: set[int] = set()
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf8"))):
        if isinstance(node, ast.Raise):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(lines)


def module_of(path: str) -> Any:
    """Return the public value of a path such as ``compare.nmi``."""
    folder, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"clusterscape.{folder}"), name)


MEASURES = compare.MEASURES
METHODS = combine.METHODS
