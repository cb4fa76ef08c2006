"""Randomness in one place: every task of a run gets its own child of one ``SeedSequence``.

All seeds are drawn before anything runs, so results do not depend on how many workers there are,
in which order they finish, or whether the run was interrupted and resumed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import SeedSequence
from sklearn.utils import check_random_state

RandomState = int | np.random.RandomState | np.random.Generator | SeedSequence | None


def root_sequence(random_state: RandomState) -> SeedSequence:
    """Return the ``SeedSequence`` that a ``random_state`` argument stands for.

    ``None`` draws fresh entropy from the operating system; an integer always gives the same
    sequence; a generator is advanced by one draw, as in scikit-learn. numpy's global generator is
    neither read nor changed.
    """
    if isinstance(random_state, SeedSequence):
        # A copy: spawning from the caller's object would change it.
        return SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if random_state is None:
        return SeedSequence()
    if isinstance(random_state, np.random.Generator):
        return SeedSequence(int(random_state.integers(0, 2**63)))
    if isinstance(random_state, np.random.RandomState):
        drawn = check_random_state(random_state).randint(0, 2**31 - 1, size=2)
        return SeedSequence([int(v) for v in drawn])
    return SeedSequence(int(random_state))


def spawn(random_state: RandomState, n: int) -> list[SeedSequence]:
    """Return ``n`` independent children, the same ones for the same ``random_state``."""
    return root_sequence(random_state).spawn(n)


def descendant(sequence: SeedSequence, *path: int) -> SeedSequence:
    """Return the descendant that such numbers lead to, without counting it as spawned."""
    return SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, *path))


def parent(child: SeedSequence) -> SeedSequence:
    """Return the sequence that a child was spawned from."""
    return SeedSequence(child.entropy, spawn_key=child.spawn_key[:-1])


def kernel_seed(sequence: SeedSequence) -> int:
    """Return the unsigned 64-bit seed that a kernel's stream starts from."""
    return int(sequence.generate_state(1, np.uint64)[0])


def sklearn_seed(sequence: SeedSequence) -> int:
    """Return a seed in the range that scikit-learn's ``random_state`` takes."""
    return int(sequence.generate_state(1, np.uint32)[0] >> 1)


def describe(sequence: SeedSequence) -> dict[str, Any]:
    """Return what is needed to rebuild ``sequence``, as plain JSON values."""
    entropy = sequence.entropy
    plain = [int(e) for e in entropy] if isinstance(entropy, (list, tuple, np.ndarray)) else entropy
    return {"entropy": plain, "spawn_key": [int(k) for k in sequence.spawn_key]}


def restore(description: dict[str, Any]) -> SeedSequence:
    """Rebuild the sequence that :func:`describe` described."""
    return SeedSequence(description["entropy"], spawn_key=tuple(description["spawn_key"]))
