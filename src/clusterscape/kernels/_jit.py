"""One place decides how kernels are compiled."""

from __future__ import annotations

import hashlib
from pathlib import Path

from numba import njit
from numba.core.caching import FunctionCache

# numba's cache looks at a kernel's own file only, but kernels call one another across files: a
# change in any of them must compile all of them anew.
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


class _Cache(FunctionCache):
    def _index_key(self, sig, codegen):
        return (*super()._index_key(sig, codegen), _SOURCES)


def jit(function):
    """Compile a kernel, and keep the result on disk.

    No ``parallel=True``: numba's default threading layer aborts the process when two threads enter
    it. No ``fastmath``: the same sums, in the same order, on every machine.
    """
    compiled = njit(nogil=True)(function)
    compiled._cache = _Cache(function)
    return compiled
