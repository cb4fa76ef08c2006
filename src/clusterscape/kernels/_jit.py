"""One place decides how kernels are compiled."""

from __future__ import annotations

from numba import njit

# No ``parallel=True``: numba's default threading layer aborts the process when two threads
# enter it. No ``fastmath``: the same sums, in the same order, on every machine.
jit = njit(nogil=True, cache=True)
inline = njit(nogil=True, cache=True, inline="always")
