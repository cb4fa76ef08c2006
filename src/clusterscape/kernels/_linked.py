"""Parts of kernels without machine code of their own, and kernels loaded without a compiler.

Both save much of the time of a first and of a later run, and both replace private pieces of numba
(tried with versions 0.60 and 0.68). Importing this file fails where a piece is missing; kernels are
then compiled and loaded in numba's own way, with the same results.
"""

from __future__ import annotations

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys

_REPLACED: dict[type, tuple[str, ...]] = {
    JITCodeLibrary: (
        "_finalize_dynamic_globals",
        "_finalize_final_module",
        "_optimize_final_module",
        "_verify_declare_only_symbols",
        "get_pointer_to_function",
    ),
    FunctionCache: ("_load_overload",),
    type(rtsys): ("initialize",),
}
for _class, _names in _REPLACED.items():
    for _name in _names:
        if not callable(getattr(_class, _name, None)):
            raise ImportError(f"numba's {_class.__name__} has no {_name}")


def load(cache: Any, sig: Any, target_context: Any) -> Any:
    """Load compiled code, without declaring all that numba can compile: that takes longer.

    Such code needs the memory management only; compiling declares the rest.
    """
    rtsys.initialize(target_context)
    return cache._load_overload(sig, target_context)


class LinkedCode(JITCodeLibrary):
    """The code of a part: optimised and linked into the kernels that call it.

    It is never run by itself, so no machine code is made of it, which would be a sixth of the time
    that compiling takes.
    """

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel's module is optimised whole."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # as for every function without a wrapper for Python

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing: the kernel has the environment, as when it was read from the disk."""


class PartCompiler(Compiler):
    """numba's compiler of a part."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.library = LinkedCode(self.state.targetctx.codegen(), "part")
