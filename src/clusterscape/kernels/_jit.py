"""One place decides how kernels are compiled, kept on disk, and called.

Compiling is most of what a first run costs, so a function is compiled in the form in which it is
needed. Called from Python it is an entry: it gets a wrapper for Python and a place in the cache.
Called from another kernel it is a part of that one: no wrapper, no machine code, nothing on disk,
and a constant argument does not make a version of its own.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numba import config, types
from numba.core.caching import FunctionCache, NullCache
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from clusterscape._core import progress

try:
    from clusterscape.kernels import _linked
except ImportError:  # numba is made otherwise: kernels are compiled and loaded as it does it
    _linked = None  # type: ignore[assignment]

# No ``parallel``: numba's default threading layer aborts the process when two threads enter it. No
# ``fastmath``: the same sums, in the same order, on every machine. Division by zero gives inf or
# nan as in NumPy; a test at every division would cost time and keep loops from vectorising.
_OPTIONS = {"nopython": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# numba's cache looks at a kernel's own file only, but kernels call one another across files: a
# change in any of them must compile all of them anew.
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()

_COMPILING = "compiling for this machine; this takes some seconds and is done once."
_NOT_KEPT = (
    "compiling for this machine; this takes some seconds in every run, because no cache folder can "
    "be written. Set NUMBA_CACHE_DIR to a folder that can."
)

# Reentrant: compiling a kernel asks for the parts that it is made of.
_lock = threading.RLock()


class _Cache(FunctionCache):
    """numba's cache of a function; when the disk fails, only the cache is lost."""

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _SOURCES)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        found = None
        load = super().load_overload if _linked is None else partial(_linked.load, self)
        with suppress(OSError):
            found = load(sig, target_context)
        if found is None:
            progress.note_once(_COMPILING)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


class _NoCache(NullCache):
    """The cache that is used where no folder can be written: it keeps nothing."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        progress.note_once(_NOT_KEPT)


def _cache(function: Any) -> Any:
    """Return the cache of a function.

    It is in NUMBA_CACHE_DIR, beside the source, or in the user's cache folder. No folder for
    temporary files: others could write there, and what is read from a cache is executed.
    """
    try:
        return _Cache(function)
    except RuntimeError:  # "no locator available"
        return _NoCache()


class _Entry(CPUDispatcher):
    """A function as Python calls it."""

    def __init__(self, py_func: Any, *args: Any, **options: Any) -> None:
        super().__init__(py_func, *args, **options)
        self._cache = _cache(py_func)


class _Part(CPUDispatcher):
    """A function as other kernels call it."""

    def __init__(self, py_func: Any, **options: Any) -> None:
        compiler = Compiler if _linked is None else _linked.PartCompiler
        super().__init__(py_func, pipeline_class=compiler, **options)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template([types.unliteral(kind) for kind in args], kws)

    def compile(self, sig: Any) -> Any:
        try:
            return super().compile(sig)
        except NumbaError:
            raise
        except Exception:
            # A version of numba that our compiler of parts does not fit: numba's own will do.
            vars(self)["_compiler"].pipeline_class = Compiler
            return super().compile(sig)


class Kernel:
    """A compiled function that sees one kind of array, whatever it is called with.

    numba compiles anew for every layout of an array, and for read-only ones. Here every array
    becomes C-contiguous and of the type that is written to; NumPy's integers become Python's. A
    read-only array is not copied, so a kernel must not write into what may come read-only. A
    strided array is copied, and copied back if it may be written to: right for every kernel, but
    callers that have much data make them contiguous once.
    """

    def __init__(self, function: Any, *, is_inlined: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.is_inlined = is_inlined
        self._entry: Any = None
        self._part: Any = None

    @property
    def entry(self) -> Any:
        """The function as Python calls it."""
        if self._entry is None:
            with _lock:
                if self._entry is None:
                    self._entry = _Entry(self.py_func, targetoptions=_OPTIONS)
        return self._entry

    @property
    def _numba_type_(self) -> Any:
        """What numba takes the function for in the code of another kernel."""
        with _lock:
            if self._part is None:
                options = {**_OPTIONS, "no_cpython_wrapper": True}
                options |= {"forceinline": True} if self.is_inlined else {}
                self._part = _Part(self.py_func, targetoptions=options)
        return types.Dispatcher(self._part)

    @property
    def signatures(self) -> list[Any]:
        """The argument types that were compiled, or loaded, for calls from Python."""
        return [] if self._entry is None else list(self._entry.signatures)

    def __call__(self, *arguments: Any) -> Any:
        for value in arguments:
            kind = type(value)
            if not (value.flags.carray if kind is np.ndarray else kind in _PLAIN):
                return self._call_prepared(arguments)
        return self.entry(*arguments)

    def _call_prepared(self, arguments: tuple[Any, ...]) -> Any:
        copies: list[tuple[np.ndarray, np.ndarray]] = []
        result = self.entry(*[_prepared(value, copies) for value in arguments])
        for original, copy in copies:
            original[...] = copy
        return result


_PLAIN = frozenset({int, float, bool, type(None), np.float64, np.int64, np.uint64})


def _prepared(value: Any, copies: list[tuple[np.ndarray, np.ndarray]]) -> Any:
    """Return an argument as kernels take it; note in ``copies`` what is to be copied back."""
    if isinstance(value, np.ndarray):
        return _prepared_array(value, copies)
    if isinstance(value, tuple):
        items = [_prepared(item, copies) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer) and not isinstance(value, np.uint64):
        return int(value)
    return float(value) if isinstance(value, np.floating) else value


def _prepared_array(value: np.ndarray, copies: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    array = value.view(np.ndarray)
    if array.flags.carray:
        return array
    if array.flags.c_contiguous and array.flags.aligned:
        return np.asarray(_Memory(array))
    copy = np.array(array, order="C")
    if array.flags.writeable:
        copies.append((array, copy))
    return copy


class _Memory:
    """The memory of a read-only array, offered as an array of the ordinary type."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        offered = dict(array.__array_interface__)
        offered["data"] = (offered["data"][0], False)
        self.__array_interface__ = offered


def jit(function: Any) -> Any:
    """Compile a function of plain arrays on first use, and keep the result on disk."""
    return function if getattr(config, "DISABLE_JIT", False) else Kernel(function)


def inlined(function: Any) -> Any:
    """Compile as ``jit`` does, but into each place where another kernel calls it.

    For the parts of an innermost loop: every array of a call is some seven arguments, which take as
    long to pass as a short part takes to run.
    """
    disabled = getattr(config, "DISABLE_JIT", False)
    return function if disabled else Kernel(function, is_inlined=True)
