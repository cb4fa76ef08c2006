"""The architecture, made executable: imports, signatures, documentation, sizes, banned calls."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import NamedTuple

import pytest
from numpydoc.docscrape import NumpyDocString

from clusterscape.combine import METHODS
from clusterscape.compare import MEASURES
from sources import (
    FILES,
    ROOT,
    SOURCE,
    Public,
    module_name,
    public_methods,
    public_modules,
    public_names,
)

# ---- imports ------------------------------------------------------------------------------

# Who may import whom: each level sees the levels before it and itself. Members of one level do
# not see each other.
LEVELS: list[set[str]] = [
    {"_core"},
    {"kernels"},
    {"linalg"},
    {"ensemble"},
    {"lifting"},
    {"preprocess"},
    {"io", "datasets", "generate", "compare"},
    {"combine"},
    {"forest", "explore", "validate", "semisupervised"},
    {"model"},
    {"planning"},
    {"plot"},
    {"report", "anndata"},
    {"cli"},
    {"__main__"},
]

# Imported where they are used, because they are slow to load or optional.
LAZY = {
    "numba",
    "matplotlib",
    "dask",
    "distributed",
    "openpyxl",
    "pyarrow",
    "polars",
    "anndata",
    "ot",
}


class Import(NamedTuple):
    """One imported module: its dotted name, the line, and whether loading the file loads it."""

    name: str
    line: int
    at_load: bool


def folder_of(name: str) -> str:
    """Return the folder that a dotted name of the package lies in."""
    return ([*name.split("."), "clusterscape"])[1]


def allowed(folder: str) -> set[str]:
    """Return the folders that ``folder`` may import."""
    below: set[str] = set()
    for level in LEVELS:
        if folder in level:
            return below | {folder}
        below |= level
    raise AssertionError(f"{folder} has no place in LEVELS: give it one.")


def is_module(name: str) -> bool:
    """Say whether a dotted name is a file or folder of the package."""
    path = SOURCE.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def imports(tree: ast.Module) -> Iterator[Import]:
    """Yield what a file imports; ``from clusterscape import x`` counts as ``clusterscape.x``."""

    def walk(node: ast.AST, at_load: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import):
                for alias in child.names:
                    yield Import(alias.name, child.lineno, at_load)
            elif isinstance(child, ast.ImportFrom):
                assert child.level == 0, f"line {child.lineno}: imports are absolute"
                for alias in child.names:
                    full = f"{child.module}.{alias.name}"
                    name = full if is_module(full) else str(child.module)
                    yield Import(name, child.lineno, at_load)
            elif isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                for part in child.body:
                    yield from walk(ast.Module([part], []), False)
            else:
                inside = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
                yield from walk(child, at_load and not inside)

    yield from walk(tree, True)


def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a source file."""
    return ast.parse(file.read_text(encoding="utf8"), filename=str(file))


each_file = pytest.mark.parametrize("file", FILES, ids=module_name)


INNER = [file for file in FILES if file.parent != SOURCE or file.name != "__init__.py"]
KERNELS = [file for file in FILES if folder_of(module_name(file)) == "kernels"]


def upward_imports(folder: str, tree: ast.Module) -> list[str]:
    """Return the imports of a file in ``folder`` that point the wrong way."""
    return [
        f"line {found.line}: {found.name}"
        for found in imports(tree)
        if found.name.startswith("clusterscape.") and folder_of(found.name) not in allowed(folder)
    ]


# The package's own __init__ names every folder and is left out.
@pytest.mark.parametrize("file", INNER, ids=module_name)
def test_imports_point_one_way(file: Path) -> None:
    folder = folder_of(module_name(file))
    wrong = upward_imports(folder, parsed(file))
    assert not wrong, f"{folder} may import only {sorted(allowed(folder))}: {wrong}"


@pytest.mark.parametrize(
    ("folder", "text"),
    [
        ("kernels", "from clusterscape.linalg.eigen import symmetric_eigen"),
        ("_core", "from clusterscape import kernels"),
        ("linalg", "def f():\n    from clusterscape import ensemble"),
        ("compare", "import clusterscape.generate"),
        ("generate", "from clusterscape.combine.base import BaseConsensus"),
        ("combine", "if TYPE_CHECKING:\n    from clusterscape.model import ConsensusClustering"),
    ],
)
def test_wrong_imports_are_found(folder: str, text: str) -> None:
    assert upward_imports(folder, ast.parse(text))


def foreign_private_imports(module: str, tree: ast.Module) -> list[str]:
    """Return the private modules of other folders that a file imports; ``_core`` is for all."""
    folder = module.rpartition(".")[0]
    found = []
    for one in imports(tree):
        owner, _, name = one.name.rpartition(".")
        if name.startswith("_") and owner.startswith("clusterscape.") and owner != folder:
            found.append(f"line {one.line}: {one.name}")
    return found


@pytest.mark.parametrize("file", INNER, ids=module_name)
def test_private_modules_stay_in_their_folder(file: Path) -> None:
    module = module_name(file) + (".__init__" if file.name == "__init__.py" else "")
    assert not foreign_private_imports(module, parsed(file))


def test_private_imports_from_elsewhere_are_found() -> None:
    tree = ast.parse("from clusterscape.lifting._members import members_of")
    assert foreign_private_imports("clusterscape.combine.kcc", tree)
    assert not foreign_private_imports("clusterscape.lifting.lifted", tree)
    assert not foreign_private_imports("clusterscape.io", ast.parse("import clusterscape._core"))


@each_file
def test_slow_modules_are_imported_where_used(file: Path) -> None:
    folder = folder_of(module_name(file))
    wrong = []
    for found in imports(parsed(file)):
        top = found.name.split(".")[0]
        slow = top in LAZY and not (top == "numba" and folder == "kernels")
        # A kernel module loads numba; the package `kernels` loads its modules on first use.
        slow |= found.name.startswith("clusterscape.kernels.") and folder != "kernels"
        if slow and found.at_load:
            wrong.append(f"{file.name}:{found.line} imports {found.name} when it is loaded")
    assert not wrong, wrong


@pytest.mark.parametrize("file", KERNELS, ids=module_name)
def test_kernels_import_nothing_but_numpy_and_numba(file: Path) -> None:
    outside = {found.name.split(".")[0] for found in imports(parsed(file))}
    standard = {"__future__", "importlib", "math", "types", "typing"}
    if file.name == "_jit.py":  # decides what is compiled, reads its sources, and says so
        standard |= {"contextlib", "functools", "hashlib", "pathlib", "threading"}
    assert outside <= standard | {"numpy", "numba", "clusterscape"}


def _loaded_by(statement: str) -> tuple[set[str], float]:
    """Run ``statement`` in a fresh interpreter; return what it loaded and its CPU seconds."""
    program = (
        "import json, sys, time\n"
        f"start = time.process_time()\n{statement}\n"
        "spent = time.process_time() - start\n"
        "print(json.dumps([sorted({name.split('.')[0] for name in sys.modules}), spent]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120
    )
    names, spent = json.loads(done.stdout)
    return set(names), spent


HEAVY = {"numba", "matplotlib", "dask"}


def test_importing_the_package_is_light() -> None:
    runs = [_loaded_by("import clusterscape") for _ in range(3)]
    assert not runs[0][0] & HEAVY
    # The budget is half a second; a busy machine is given twice that.
    assert min(spent for _, spent in runs) < 1.0


def test_importing_every_folder_loads_nothing_heavy() -> None:
    folders = ", ".join(module.__name__ for module in public_modules())
    loaded, _ = _loaded_by(f"import {folders}")
    assert not loaded & HEAVY


# ---- public names -------------------------------------------------------------------------

PUBLIC = public_names()
CLASSES = [p for p in PUBLIC if inspect.isclass(p.value)]
each_name = pytest.mark.parametrize("public", PUBLIC, ids=[p.path for p in PUBLIC])
each_class = pytest.mark.parametrize("public", CLASSES, ids=[p.path for p in CLASSES])


def is_plain_value(value: object) -> bool:
    """Say whether a class only holds fields: the library makes it, people read it."""
    return inspect.isclass(value) and (is_dataclass(value) or hasattr(value, "_fields"))


def is_exception(value: object) -> bool:
    """Say whether a value is an exception or a warning."""
    return inspect.isclass(value) and issubclass(value, Exception)


def positional(function: object) -> list[str]:
    """Return the names of the parameters that can be passed by position, without ``self``."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()  # type: ignore[arg-type]
    return [p.name for p in parameters if p.kind in kinds and p.name not in ("self", "cls")]


@each_name
def test_at_most_three_positional_parameters(public) -> None:
    exempt = is_plain_value(public.value) or is_exception(public.value)
    callables = {} if exempt else {public.path: public.value}
    if inspect.isclass(public.value):
        callables.update({f"{public.path}.{n}": m for n, m in public_methods(public.value)})
    long = {name: positional(c) for name, c in callables.items() if len(positional(c)) > 3}
    assert not long, f"make the rest keyword-only: {long}"


@pytest.mark.parametrize("module", public_modules(), ids=lambda m: m.__name__)
def test_public_modules_say_what_is_public(module) -> None:
    assert module.__doc__
    assert sorted(module.__all__) == sorted(set(module.__all__))
    for name in module.__all__:
        assert hasattr(module, name), f"{module.__name__}.__all__ names {name}, which is absent"


@each_name
def test_every_public_name_is_documented(public) -> None:
    text = inspect.getdoc(public.value)
    assert text, f"{public.path} has no docstring"
    if is_exception(public.value):
        return
    doc = NumpyDocString(text)
    assert "".join(doc["Summary"]).strip()
    has_example = ">>>" in "\n".join(doc["Examples"])
    # Plain values are shown where they are made, base classes in the methods derived from them.
    needs_none = is_plain_value(public.value) or public.value.__name__.startswith("Base")
    assert has_example or needs_none, f"{public.path} has no runnable example"
    described = _described(doc, "Parameters", "Other Parameters")
    # A value that others make (an ensemble, a result) describes what it holds instead.
    is_value = inspect.isclass(public.value) and not WORKERS & set(dir(public.value))
    if not (is_value and doc["Attributes"]):
        missing = set(inspect.signature(public.value).parameters) - described
        assert not missing, f"{public.path} does not describe {sorted(missing)}"
    returns = inspect.isroutine(public.value) and _returns_something(public.value)
    if returns:
        assert doc["Returns"] or doc["Yields"], f"{public.path} does not say what it returns"


WORKERS = {"fit", "generate"}


def _described(doc: NumpyDocString, *sections: str) -> set[str]:
    """Return the names that sections of a docstring describe; an entry may name several."""
    return {
        name.strip(" *")
        for section in sections
        for entry in doc[section]
        for name in entry.name.split(",")
    }


def _returns_something(function: object) -> bool:
    annotation = inspect.signature(function).return_annotation  # type: ignore[arg-type]
    return annotation not in (None, "None")


@each_class
def test_every_public_method_is_documented(public) -> None:
    silent = [n for n, m in public_methods(public.value) if not inspect.getdoc(m)]
    assert not silent, f"{public.path} has methods without a docstring: {silent}"


# Estimators and measures without a publication of their own, with the reason.
UNPUBLISHED = {
    "clusterscape.combine.BaseConsensus": "the base class of the methods",
    "clusterscape.preprocess.LogTransformer": "a logarithm",
    "clusterscape.preprocess.MixedScaler": "units of columns",
    "clusterscape.preprocess.TableEncoder": "medians and one-hot columns",
    "clusterscape.preprocess.TopVariable": "a selection by variance",
}


def published() -> list[Public]:
    """Return the estimators, generators, measures and consensus methods that are public."""
    named = {id(measure.function) for measure in MEASURES.values()}
    named |= {id(method.estimator) for method in METHODS.values()}
    workers = [p for p in CLASSES if WORKERS & set(dir(p.value))]
    return sorted({*workers, *(p for p in PUBLIC if id(p.value) in named)})


def test_methods_and_measures_are_public() -> None:
    public = {id(p.value) for p in published()}
    entries = [*(m.function for m in MEASURES.values()), *(m.estimator for m in METHODS.values())]
    hidden = [entry.__name__ for entry in entries if id(entry) not in public]
    assert entries
    assert not hidden, f"in a registry, but not public: {hidden}"


@pytest.mark.parametrize("public", published(), ids=lambda p: p.path)
def test_methods_and_measures_name_their_sources_and_siblings(public) -> None:
    doc = NumpyDocString(inspect.getdoc(public.value))
    assert bool(doc["References"]) != (public.path in UNPUBLISHED), (
        f"{public.path} needs a References section, or an entry of UNPUBLISHED"
    )
    assert doc["See Also"] or public.path in UNPUBLISHED, f"{public.path} has no See Also section"


# The order that numpydoc asks for; attributes follow the parameters.
SECTIONS = [
    "Parameters",
    "Attributes",
    "Returns",
    "Yields",
    "Other Parameters",
    "Raises",
    "Warns",
    "Warnings",
    "See Also",
    "Notes",
    "References",
    "Examples",
]


def sections(text: str) -> list[str]:
    """Return the titles of the sections of a docstring."""
    return re.findall(r"^(\S.*)\n-{3,}$", text, flags=re.MULTILINE)


@each_name
def test_docstrings_have_their_sections_in_order(public) -> None:
    texts = {public.path: public.value}
    if inspect.isclass(public.value):
        texts.update({f"{public.path}.{n}": m for n, m in public_methods(public.value)})
    for path, value in texts.items():
        found = sections(inspect.getdoc(value) or "")
        assert set(found) <= set(SECTIONS), f"{path} has a section that numpydoc does not know"
        assert found == sorted(set(found), key=SECTIONS.index), f"{path}: {found}"


def exists(name: str, package: str) -> bool:
    """Say whether a name is one of a package, or the full path of a function or class."""
    value: object = importlib.import_module(package)
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is not None:
        return True
    module, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), last)
    except (ModuleNotFoundError, ValueError):  # ValueError: a name without dots
        return False


@each_name
def test_what_see_also_names_exists(public) -> None:
    package = ".".join(public.value.__module__.split(".")[:2])
    doc = NumpyDocString(inspect.getdoc(public.value))
    names = [name for entry, _ in doc["See Also"] for name, _ in entry]
    absent = [name for name in names if not exists(name, package)]
    assert not absent, f"{public.path} refers to {absent}"


def test_absent_names_are_found() -> None:
    assert exists("MCLA", "clusterscape.combine")
    assert exists("Ensemble.compress", "clusterscape.ensemble")
    assert exists("sklearn.datasets.make_blobs", "clusterscape.datasets")
    for name in ("MCLAS", "Ensemble.compressed", "clusterscape.linalg.genie.gene", "no.such"):
        assert not exists(name, "clusterscape.ensemble")


def test_every_public_name_is_in_the_reference() -> None:
    """The page of a folder lists its ``__all__`` by itself; folders and other names are written."""
    entries = (ROOT / "docs" / "api" / "index.rst").read_text(encoding="utf8").split()
    package, *folders = public_modules()
    listed = {name for folder in folders for name in folder.__all__}
    top = [name for name in package.__all__ if callable(getattr(package, name))]
    wanted = {f"clusterscape.{name}" for name in top if name not in listed}
    assert wanted | {folder.__name__ for folder in folders} <= set(entries)


# ---- size ---------------------------------------------------------------------------------

BODY_LINES = 60


def _bodies(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(parsed(file)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1
                yield f"{module_name(file)}.{node.name}", lines


def test_function_bodies_stay_short() -> None:
    long = {name: n for f in FILES for name, n in _bodies(f) if n > BODY_LINES}
    assert not long, f"split them: {long}"


# ---- forbidden ----------------------------------------------------------------------------

# What numpy.random offers without touching the global generator.
LOCAL_RANDOM = {
    "BitGenerator",
    "Generator",
    "PCG64",
    "Philox",
    "RandomState",
    "SeedSequence",
    "default_rng",
}
FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "shelve", "marshal", "random"}
FORBIDDEN_NAMES = {
    "os.chdir": "the working directory is the user's",
    "locale.setlocale": "the locale is the user's",
    "numba.set_num_threads": "thread counts are the user's",
    "numba.prange": "kernels are sequential",
    "joblib.load": "nothing read from a file is unpickled",
    "joblib.dump": "nothing is pickled to a file",
}
# Keyword arguments that may only be False.
SWITCHES = {"allow_pickle", "parallel", "fastmath"}


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str:
    """Return the full name of an expression like ``np.random.rand``."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([aliases.get(node.id, node.id), *reversed(parts)])


def _aliases(tree: ast.Module) -> dict[str, str]:
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update({a.asname: a.name for a in node.names if a.asname})
        elif isinstance(node, ast.ImportFrom):
            names.update({a.asname or a.name: f"{node.module}.{a.name}" for a in node.names})
    return names


def forbidden(tree: ast.Module) -> list[str]:
    """Return what a file does that no file may do, with the line."""
    aliases = _aliases(tree)
    found = [
        f"line {i.line}: imports {i.name}"
        for i in imports(tree)
        if i.name.split(".")[0] in FORBIDDEN_MODULES
    ]
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Name)):
            name = _dotted(node, aliases)
            if name in FORBIDDEN_NAMES:
                found.append(f"line {node.lineno}: {name} ({FORBIDDEN_NAMES[name]})")
            part = name.removeprefix("numpy.random.")
            if part != name and part.split(".")[0] not in LOCAL_RANDOM:
                found.append(f"line {node.lineno}: {name} (the global generator)")
        elif isinstance(node, ast.keyword) and node.arg in SWITCHES:
            off = isinstance(node.value, ast.Constant) and node.value.value is False
            if not off:
                found.append(f"line {node.value.lineno}: {node.arg}={ast.unparse(node.value)}")
    return found


@each_file
def test_nothing_forbidden(file: Path) -> None:
    assert not forbidden(parsed(file))


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "import random",
        "from os import chdir\nchdir('x')",
        "import os\nos.chdir('x')",
        "import numpy as np\nnp.random.seed(0)",
        "import numpy.random\nnumpy.random.rand(3)",
        "from numpy.random import shuffle\nshuffle([1])",
        "import numpy as np\nnp.load('x', allow_pickle=True)",
        "from numba import njit\nnjit(parallel=True)",
    ],
)
def test_forbidden_things_are_found(text: str) -> None:
    assert forbidden(ast.parse(text))


def test_permitted_things_are_not_found() -> None:
    text = "import numpy as np\nnp.random.default_rng(0).random()\nnp.load('x', allow_pickle=False)"
    assert not forbidden(ast.parse(text))
