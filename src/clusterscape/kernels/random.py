"""Random numbers inside kernels: a splitmix64 stream whose state is a one-element array.

numba's own generator is global to the process; a state passed as an array makes a kernel's draws
a function of its seed alone.
"""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


def new_state(seed: int) -> np.ndarray:
    """Return the state of a stream; ``seed`` is any unsigned 64-bit integer."""
    return np.array([seed], dtype=np.uint64)


@jit
def next_uint64(state):
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def uniform(state):
    """Return a float in [0, 1) with 53 random bits."""
    return np.float64(next_uint64(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@jit
def below(state, n):
    """Return an integer in 0..n-1 (the bias of 53 bits is below 1e-9 for any n here)."""
    return np.int64(uniform(state) * n)


@jit
def sample_without_replacement(state, n, k, out):
    """Fill ``out[:k]`` with distinct integers of 0..n-1 (Floyd's method, O(k^2))."""
    count = 0
    for j in range(n - k, n):
        t = below(state, j + 1)
        for s in range(count):
            if out[s] == t:
                t = j
                break
        out[count] = t
        count += 1
