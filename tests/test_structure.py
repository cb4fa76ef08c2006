"""The test for structure: when more references are drawn, and what that gives."""

from __future__ import annotations

import numpy as np
import pytest

from clusterscape.validate import structure_test


def two_clouds(apart: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    near, far = rng.normal(size=(60, 3)), rng.normal(size=(40, 3))
    return np.concatenate([near, far + [apart, apart, 0.0]])


def test_more_references_where_the_first_leave_doubt() -> None:
    clear = structure_test(two_clouds(6.0), n_references=5, random_state=0)
    doubtful = structure_test(two_clouds(2.2), n_references=5, random_state=0)
    assert clear.found
    assert len(clear.reference_scores) == 5
    assert len(doubtful.reference_scores) == 25


def test_the_verdict_hardly_depends_on_the_seed() -> None:
    # Ten references alone gave p from 0.001 to 0.044 here.
    p_values = [structure_test(two_clouds(2.2), random_state=seed).p_value for seed in range(6)]
    assert max(p_values) < 0.02


def test_a_close_verdict_names_more_references() -> None:
    rng = np.random.default_rng(0)
    for seed in range(40):
        verdict = structure_test(rng.normal(size=(60, 2)), n_references=3, random_state=seed)
        close = 0.05 < verdict.p_value < 0.2
        assert ("n_references=100" in verdict.message) == close
        if close:
            return
    pytest.fail("no draw was close")
