"""Fitted estimators as JSON and arrays, and back: nothing is pickled, nothing from a file runs.

A value becomes a JSON value, or a dictionary whose ``kind`` says what it is; arrays go to a
dictionary of their own. Classes are never taken from a file by their name alone: estimators must
be among the public ones, objects inside them must be of a class that a public folder defines.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import itertools
import math
import tempfile
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.pipeline import Pipeline

from clusterscape._core import seeds
from clusterscape.ensemble import Ensemble
from clusterscape.io._archive import ModelFileError

Node = Any  # a JSON value
_DEEPEST = 60
# Where scikit-learn's base clusterers are looked for.
_SKLEARN = ("sklearn.cluster", "sklearn.mixture")
# Transformers whose fitted state is numbers and text alone.
_TRANSFORMERS = {
    "MaxAbsScaler": "sklearn.preprocessing",
    "MinMaxScaler": "sklearn.preprocessing",
    "Normalizer": "sklearn.preprocessing",
    "PCA": "sklearn.decomposition",
    "RobustScaler": "sklearn.preprocessing",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "TruncatedSVD": "sklearn.decomposition",
}
_OWN_TRANSFORMERS = (
    *("GowerDistances", "LogTransformer", "MixedScaler", "TableEncoder", "TopVariable"),
)
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


# ---- which classes may be in a file ------------------------------------------------------------


def public_estimator(name: str) -> type | None:
    """Return the estimator that a public name of clusterscape or a registered method has.

    The folders are looked through one by one: importing all of them takes a while.
    """
    package = importlib.import_module("clusterscape")
    for method in package.combine.METHODS.values():
        if method.estimator.__name__ == name:
            return method.estimator
    folders = (importlib.import_module(f"clusterscape.{folder}") for folder in _folders())
    for place in itertools.chain([package], folders):
        found = getattr(place, name, None) if name in place.__all__ else None
        if inspect.isclass(found) and hasattr(found, "get_params"):
            return found
    return None


def _folders() -> list[str]:
    """Return the names of the public folders, none of which is imported for it."""
    package = importlib.import_module("clusterscape")
    return [name for name in package.__all__ if find_spec(f"clusterscape.{name}") is not None]


def _class_path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _own_class(path: str) -> type | None:
    """Return the class of this package that a path names; None where there is none."""
    module, _, name = path.partition(":")
    package, *parts = module.split(".")
    plain = all(part.isidentifier() and not part.startswith("__") for part in [*parts, name])
    if (
        package != "clusterscape"
        or not parts
        or not plain
        or parts[0] not in {*_folders(), "model"}
    ):
        return None
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None
    own = inspect.isclass(found) and found.__module__ == module
    return found if own and not issubclass(found, BaseException) else None  # type: ignore[arg-type]


def _sklearn_class(path: str) -> type | None:
    """Return the public clusterer of scikit-learn that a path names."""
    module, _, name = path.rpartition(".")
    if module not in _SKLEARN:
        return None
    package = importlib.import_module(module)
    found = getattr(package, name, None) if name in package.__all__ else None
    return found if inspect.isclass(found) and hasattr(found, "get_params") else None


def _transformer_class(name: str) -> type | None:
    """Return the transformer of scikit-learn that can stand in a pipeline in a file."""
    if name not in _TRANSFORMERS:
        return None
    return getattr(importlib.import_module(_TRANSFORMERS[name]), name)


def _own_transformer(step: Any) -> bool:
    name = type(step).__name__
    return name in _OWN_TRANSFORMERS and public_estimator(name) is type(step)


# ---- values to JSON ----------------------------------------------------------------------------


class Encoder:
    """Turns values into JSON, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._known: dict[int, tuple[Any, Node]] = {}  # what is shared is written once

    def encode(self, value: Any, where: str, depth: int = 0) -> Node:
        """Return the JSON of a value; ``where`` names it in messages."""
        if depth > _DEEPEST:
            raise ValueError(f"{where} holds values inside values without end; it cannot be saved.")
        if value is None or isinstance(value, (bool, str)) or type(value) is int:
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"kind": "float", "value": repr(value)}
        for kinds, way in self._ways():
            if isinstance(value, kinds):
                return way(value, where, depth)
        if hasattr(value, "get_params"):
            return self._estimator(value, where, depth)
        if _own_class(_class_path(type(value))) is type(value):
            return self._object(value, where, depth)
        raise ValueError(_cannot(value, where))

    def _ways(self) -> list[tuple[Any, Callable[[Any, str, int], Node]]]:
        return [
            (np.ndarray, self._array),
            (np.generic, lambda v, where, _: {"kind": "scalar", "key": self._add(np.asarray(v))}),
            (np.dtype, lambda v, where, _: {"kind": "dtype", "value": v.str}),
            ((sparse.spmatrix, sparse.sparray), self._sparse),
            (Ensemble, self._ensemble),
            (np.random.SeedSequence, lambda v, *_: {"kind": "seed", **seeds.describe(v)}),
            (np.random.Generator, self._generator),
            (np.random.RandomState, self._random_state),
            (PurePath, lambda v, *_: {"kind": "path", "value": str(v)}),
            ((dict, MappingProxyType), self._mapping),
            (list, self._sequence),
            (tuple, self._tuple),
        ]

    def _add(self, array: np.ndarray) -> str:
        key = f"a{len(self.arrays)}"
        self.arrays[key] = array
        return key

    def _array(self, value: np.ndarray, where: str, depth: int) -> Node:
        if id(value) in self._known:
            return self._known[id(value)][1]
        if value.dtype.hasobject:
            items = [self.encode(v, where, depth + 1) for v in value.ravel().tolist()]
            node: Node = {"kind": "objects", "shape": list(value.shape), "items": items}
        else:
            frozen = not value.flags.writeable
            node = {"kind": "array", "key": self._add(value), "frozen": frozen}
        self._known[id(value)] = (value, node)
        return node

    def _sparse(self, value: Any, where: str, depth: int) -> Node:
        if value.format not in ("csr", "csc"):
            raise ValueError(
                f"{where} is a sparse matrix in {value.format} format; only csr and csc can be "
                "saved."
            )
        parts = {name: self._array(getattr(value, name), where, depth) for name in _SPARSE_PARTS}
        kind = "matrix" if isinstance(value, sparse.spmatrix) else "array"
        shape = [int(s) for s in value.shape]
        name = f"{value.format}_{kind}"
        return {"kind": "sparse", "container": name, "shape": shape, "parts": parts}

    def _ensemble(self, value: Ensemble, where: str, depth: int) -> Node:
        if id(value) not in self._known:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "ensemble.npz"
                value.to_npz(file)
                content = np.frombuffer(file.read_bytes(), dtype=np.uint8)
            self._known[id(value)] = (value, {"kind": "ensemble", "key": self._add(content)})
        return self._known[id(value)][1]

    def _generator(self, value: np.random.Generator, where: str, depth: int) -> Node:
        bits = value.bit_generator
        if type(bits).__name__ not in _BIT_GENERATORS:
            raise ValueError(_cannot(value, where))
        return {"kind": "generator", "state": self.encode(bits.state, where, depth + 1)}

    def _random_state(self, value: np.random.RandomState, where: str, depth: int) -> Node:
        state = value.get_state(legacy=False)
        return {"kind": "random_state", "state": self.encode(state, where, depth + 1)}

    def _mapping(self, value: Mapping[Any, Any], where: str, depth: int) -> Node:
        pairs = [
            [self.encode(k, where, depth + 1), self.encode(v, f"{where}[{k!r}]", depth + 1)]
            for k, v in value.items()
        ]
        return {"kind": "dict", "items": pairs, "frozen": isinstance(value, MappingProxyType)}

    def _sequence(self, value: list[Any], where: str, depth: int) -> Node:
        return [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(value)]

    def _tuple(self, value: tuple[Any, ...], where: str, depth: int) -> Node:
        if hasattr(value, "_fields"):
            if _own_class(_class_path(type(value))) is not type(value):
                raise ValueError(_cannot(value, where))
            return self._object(value, where, depth)
        return {"kind": "tuple", "items": self._sequence(list(value), where, depth)}

    def _object(self, value: Any, where: str, depth: int) -> Node:
        fields = self._named(_state(value), where, depth)
        return {"kind": "object", "class": _class_path(type(value)), "fields": fields}

    def _estimator(self, value: Any, where: str, depth: int) -> Node:
        cls = type(value)
        params = value.get_params(deep=False)
        if cls is Pipeline:
            return self._pipeline(value, where, depth)
        if public_estimator(cls.__name__) is not cls:
            return self._foreign_estimator(value, params, where, depth)
        aside = {*params, *getattr(cls, "_derived", ())}
        fitted = {name: inner for name, inner in vars(value).items() if name not in aside}
        return {
            "kind": "estimator",
            "class": cls.__name__,
            "params": self._named(params, where, depth),
            "fitted": self._named(fitted, where, depth),
        }

    def _named(self, values: Mapping[str, Any], where: str, depth: int) -> dict[str, Node]:
        # In the order of the names, so that the same model gives the same bytes.
        return {n: self.encode(values[n], f"{where}.{n}", depth + 1) for n in sorted(values)}

    def _foreign_estimator(
        self, value: Any, params: Mapping[str, Any], where: str, depth: int
    ) -> Node:
        name = type(value).__name__
        if _transformer_class(name) is type(value):
            fitted = {n: inner for n, inner in vars(value).items() if n not in params}
            return {
                "kind": "transformer",
                "class": name,
                "params": self._named(params, where, depth),
                "fitted": self._named(fitted, where, depth),
            }
        homes = [home for home in _SKLEARN if _sklearn_class(f"{home}.{name}") is type(value)]
        if not homes:
            raise ValueError(
                f"{where} is of type {name}, which is neither a public estimator of clusterscape "
                f"nor one of {' and '.join(_SKLEARN)}, so it cannot be saved: a file never says "
                "which code to run."
            )
        wrong = next((p for p, v in params.items() if not _is_json(v)), None)
        if wrong is not None:
            raise ValueError(
                f"{where}.{wrong} is {type(params[wrong]).__name__}; of a scikit-learn clusterer "
                "only parameters that are numbers, text, None or lists of these can be saved."
            )
        saved = self._named(params, where, depth)
        return {"kind": "sklearn", "class": f"{homes[0]}.{name}", "params": saved}

    def _pipeline(self, value: Pipeline, where: str, depth: int) -> Node:
        for name, step in value.steps[:-1]:
            known = _transformer_class(type(step).__name__) is type(step)
            if not known and not _own_transformer(step):
                raise ValueError(
                    f"{where}: the step {name!r} is of type {type(step).__name__}; before the "
                    f"clusterer only {', '.join(_TRANSFORMERS)} of scikit-learn and "
                    f"{', '.join(_OWN_TRANSFORMERS)} of clusterscape.preprocess can be saved."
                )
        steps = [
            [name, self.encode(step, f"{where}.{name}", depth + 1)] for name, step in value.steps
        ]
        return {"kind": "pipeline", "steps": steps}


_SPARSE_PARTS = ("data", "indices", "indptr")


def _state(value: Any) -> dict[str, Any]:
    """Return what makes up an object of our own: its fields, or its attributes."""
    if isinstance(value, tuple):
        return value._asdict()  # type: ignore[attr-defined]
    if dataclasses.is_dataclass(value):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    static = inspect.getattr_static
    cached = {n for n in vars(value) if isinstance(static(type(value), n, None), _CACHED)}
    # Operators of scipy 1.18 hold the module that they compute with.
    cached |= {n for n, inner in vars(value).items() if inspect.ismodule(inner)}
    return {name: inner for name, inner in vars(value).items() if name not in cached}


_CACHED = functools.cached_property
_OPERATOR = aslinearoperator(np.zeros((1, 1)))


def _is_json(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(_is_json(v) for v in value)
    return value is None or isinstance(value, (bool, int, float, str))


def _cannot(value: Any, where: str) -> str:
    if callable(value):
        return (
            f"{where} is a function, and functions cannot be saved: a file never says which code "
            "to run. Use an option that has a name instead."
        )
    return f"{where} is of type {type(value).__name__}, which cannot be saved."


# ---- JSON to values ----------------------------------------------------------------------------


class Decoder:
    """Turns JSON and arrays back into values."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = arrays
        self._made: dict[str, Any] = {}
        self._ways: dict[str, Callable[[dict[str, Any]], Any]] = {
            "float": lambda node: {"nan": math.nan, "inf": math.inf}.get(node["value"], -math.inf),
            "tuple": lambda node: tuple(self.decode(v) for v in node["items"]),
            "dict": self._mapping,
            "array": self._array,
            "objects": self._objects,
            "scalar": lambda node: self.arrays[node["key"]][()],
            "dtype": lambda node: np.dtype(str(node["value"])),
            "sparse": self._sparse,
            "ensemble": self._ensemble,
            "seed": seeds.restore,
            "generator": self._generator,
            "random_state": self._random_state,
            "path": lambda node: Path(node["value"]),
            "object": self._object,
            "estimator": self._estimator,
            "sklearn": self._sklearn,
            "transformer": self._transformer,
            "pipeline": self._pipeline,
        }

    def decode(self, node: Node) -> Any:
        """Return the value that a JSON value stands for."""
        if isinstance(node, list):
            return [self.decode(v) for v in node]
        if isinstance(node, dict):
            return self._ways[node["kind"]](node)
        return node

    def _mapping(self, node: dict[str, Any]) -> Any:
        made = {self.decode(k): self.decode(v) for k, v in node["items"]}
        return MappingProxyType(made) if node["frozen"] else made

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        array = self.arrays[node["key"]]
        array.setflags(write=not node["frozen"])
        return array

    def _objects(self, node: dict[str, Any]) -> np.ndarray:
        made = np.empty(len(node["items"]), dtype=object)
        made[:] = [self.decode(v) for v in node["items"]]
        return made.reshape(node["shape"])

    def _sparse(self, node: dict[str, Any]) -> Any:
        containers = {
            "csr_matrix": sparse.csr_matrix,
            "csc_matrix": sparse.csc_matrix,
            "csr_array": sparse.csr_array,
            "csc_array": sparse.csc_array,
        }
        parts = tuple(self.decode(node["parts"][name]) for name in _SPARSE_PARTS)
        made = containers[node["container"]](parts, shape=tuple(node["shape"]))
        made.check_format(full_check=True)
        return made

    def _ensemble(self, node: dict[str, Any]) -> Ensemble:
        key = node["key"]
        if key not in self._made:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "ensemble.npz"
                file.write_bytes(self.arrays[key].astype(np.uint8).tobytes())
                self._made[key] = Ensemble.from_npz(file)
        return self._made[key]

    def _generator(self, node: dict[str, Any]) -> np.random.Generator:
        state = self.decode(node["state"])
        if state["bit_generator"] not in _BIT_GENERATORS:
            raise KeyError(state["bit_generator"])
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
        return np.random.Generator(bits)

    def _random_state(self, node: dict[str, Any]) -> np.random.RandomState:
        made = np.random.RandomState()
        made.set_state(self.decode(node["state"]))
        return made

    def _object(self, node: dict[str, Any]) -> Any:
        path = node["class"]
        cls: Any = _own_class(path)
        if cls is None or hasattr(cls, "get_params"):
            raise ModelFileError(
                f"the file holds an object of the class {path!r}, which this version of "
                "clusterscape does not have; read it with the version that wrote it."
            )
        fields = {name: self.decode(value) for name, value in node["fields"].items()}
        declared = getattr(cls, "_fields", None)
        if dataclasses.is_dataclass(cls):
            declared = [f.name for f in dataclasses.fields(cls)]
        if declared is not None and set(declared) != set(fields):
            raise ModelFileError(
                f"the file holds a {cls.__name__} with other fields than this version of "
                "clusterscape has; read it with the version that wrote it."
            )
        if issubclass(cls, tuple):
            return cls(**fields)
        made = object.__new__(cls)
        # Not by the constructor, which may compute; and frozen classes allow no other way.
        made.__dict__.update(fields)
        if isinstance(made, LinearOperator):
            modules = {n: m for n, m in vars(_OPERATOR).items() if inspect.ismodule(m)}
            made.__dict__.update(modules)
        return _checked(made)

    def _estimator(self, node: dict[str, Any]) -> Any:
        name = node["class"]
        cls = public_estimator(name)
        if cls is None:
            raise ModelFileError(
                f"the file holds an estimator of the class {name!r}, which this version of "
                "clusterscape does not have. If it is a method of your own, register it before "
                "loading."
            )
        return self._fitted(cls, node)

    def _pipeline(self, node: dict[str, Any]) -> Pipeline:
        return Pipeline([(str(name), self.decode(step)) for name, step in node["steps"]])

    def _transformer(self, node: dict[str, Any]) -> Any:
        cls = _transformer_class(node["class"])
        if cls is None:
            raise ModelFileError(
                f"the file holds a transformer {node['class']!r}, which is not one of "
                f"{', '.join(_TRANSFORMERS)}."
            )
        return self._fitted(cls, node)

    def _fitted(self, cls: type, node: dict[str, Any]) -> Any:
        params = {key: self.decode(value) for key, value in node["params"].items()}
        made = cls(**params)
        for key, value in node["fitted"].items():
            if not key.isidentifier() or key.startswith("__") or key in params:
                raise KeyError(key)
            made.__dict__[key] = self.decode(value)
        return _checked(made)

    def _sklearn(self, node: dict[str, Any]) -> Any:
        cls = _sklearn_class(node["class"])
        if cls is None:
            raise ModelFileError(
                f"the file holds a clusterer {node['class']!r}, which is not a public one of "
                f"{' or '.join(_SKLEARN)} here."
            )
        return cls(**{key: self.decode(value) for key, value in node["params"].items()})


def _checked(made: Any) -> Any:
    """Return what was read, if its arrays fit each other; kernels do not look again."""
    check = getattr(made, "_check_arrays", None)
    if check is not None:
        check()
    return made
