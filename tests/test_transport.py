"""Exact transport: proved by its dual, and against a linear program and POT."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from clusterscape import kernels
from clusterscape.linalg import transport
from clusterscape.linalg.transport import transport_costs, transport_plan

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # those of compiling its files for the first time
    import ot


def by_linear_program(cost, a, b) -> float:
    k, m = cost.shape
    rows = np.kron(np.eye(k), np.ones(m))
    columns = np.kron(np.ones(k), np.eye(m))
    # The last condition follows from the others, and would only be broken by rounding.
    conditions = np.vstack([rows, columns])[:-1]
    found = linprog(cost.ravel(), A_eq=conditions, b_eq=np.concatenate([a, b])[:-1])
    assert found.status == 0
    return found.fun


@st.composite
def problems(draw, *, largest: int = 12):
    """Costs and masses: random or with many ties, equal or zero masses, one place on a side."""
    k, m = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    kind = draw(st.sampled_from(["random", "ties", "metric", "zero", "huge"]))
    cost = rng.random((k, m))
    if kind == "ties":
        cost = rng.integers(0, 3, (k, m)).astype(float)
    elif kind == "metric":
        x, y = rng.random((k, 2)), rng.random((m, 2))
        cost = np.linalg.norm(x[:, None] - y[None, :], axis=2)
    elif kind == "zero":
        cost = np.zeros((k, m))
    elif kind == "huge":
        cost = cost * 1e9
    masses = []
    for size in (k, m):
        how = draw(st.sampled_from(["random", "equal", "counts", "skewed"]))
        mass = {
            "random": rng.random(size) + 1e-3,
            "equal": np.ones(size),
            "counts": rng.integers(0, 4, size).astype(float),
            "skewed": 10.0 ** -rng.integers(0, 9, size).astype(float),
        }[how]
        mass = mass if mass.any() else np.ones(size)
        masses.append(mass / mass.sum())
    return cost, *masses


@given(problems())
def test_the_dual_proves_that_the_plan_is_the_best(problem) -> None:
    cost, a, b = problem
    k, m = cost.shape
    plan, u, v = np.full((k, m), np.nan), np.full(k, np.nan), np.full(m, np.nan)
    value = kernels.transport.solve_dual(cost, a, b, plan, u, v)
    scale = max(cost.max(), 1e-300)
    reduced = cost - u[:, None] - v[None, :]
    assert (plan >= 0).all()
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=0, atol=1e-13)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=0, atol=1e-13)
    assert reduced.min() >= -1e-12 * scale
    assert np.abs(reduced[plan > 0]).max() <= 1e-12 * scale
    assert value == pytest.approx(a @ u + b @ v, abs=1e-12 * scale)
    assert value == pytest.approx((plan * cost).sum(), abs=1e-14 * scale)
    assert np.count_nonzero(plan) <= 2 * (k + m)


@given(problems(largest=6))
def test_the_cost_is_that_of_the_linear_program(problem) -> None:
    cost, a, b = problem
    scale = max(cost.max(), 1.0)
    found = transport_plan(cost, a, b)
    # The program's own tolerance is 1e-7 of a mass.
    assert found.cost / scale == pytest.approx(by_linear_program(cost / scale, a, b), abs=1e-6)


@given(problems(largest=20))
def test_the_cost_is_that_of_the_network_simplex(problem) -> None:
    cost, a, b = problem
    found = transport_plan(cost, a, b)
    other = transport._network_simplex(cost, a, b)
    assert found.cost == pytest.approx(other.cost, rel=1e-11, abs=1e-12 * cost.max())
    assert found.cost == pytest.approx(ot.emd2(a, b, cost), rel=1e-9, abs=1e-11 * cost.max())
    assert transport_plan(cost.T, b, a).cost == pytest.approx(found.cost, rel=1e-11)


@pytest.mark.parametrize("size", [(64, 64), (63, 40), (65, 70), (1, 300), (300, 1), (3, 200)])
def test_large_and_small_problems_have_the_same_answer(size, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, a, b = rng.random(size), rng.dirichlet(np.ones(size[0])), rng.dirichlet(np.ones(size[1]))
    found = transport_plan(cost, a, b)
    assert found.cost == pytest.approx(transport._network_simplex(cost, a, b).cost, rel=1e-12)
    assert found.cost == pytest.approx((found.plan * cost).sum())
    np.testing.assert_allclose(found.plan.sum(axis=1), a, atol=1e-14)
    np.testing.assert_allclose(found.plan.sum(axis=0), b, atol=1e-14)


@pytest.mark.parametrize("size", [1, 2, 10, 64])
def test_equal_masses_at_no_distance_cost_nothing(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    mass = rng.dirichlet(np.ones(size))
    found = transport_plan(1.0 - np.eye(size), mass, mass)
    assert found.cost == 0.0
    np.testing.assert_array_equal(found.plan, np.diag(mass))


def test_sums_that_differ_by_rounding_do_not_matter() -> None:
    a = np.full(10, 0.1)
    b = np.array([0.3, 0.3, 0.4 + 3e-16])
    cost = np.abs(np.arange(10)[:, None] - np.array([1.0, 4.0, 8.0]))
    # 0, 1, 2 go to 1; 3, 4, 5 to 4; the others to 8.
    assert transport_plan(cost, a, b).cost == pytest.approx(0.1 * (2 + 2 + 4))
    assert transport_plan(cost.T, b, a).cost == pytest.approx(0.1 * (2 + 2 + 4))


def test_masses_are_any_masses_with_one_sum() -> None:
    found = transport_plan([[1.0, 0.0], [0.0, 1.0]], [30.0, 10.0], [20.0, 20.0])
    np.testing.assert_array_equal(found.plan, [[10.0, 20.0], [10.0, 0.0]])
    assert found.cost == 10.0


SCALES = [1e-308, 1e-200, 1e-16, 1e16, 1e200, 1e308]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("size", [9, 80])
def test_the_unit_of_the_costs_does_not_matter(size: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, even = rng.integers(1, 50, (size, size)).astype(float), np.full(size, 1 / size)
    cost /= cost.max() if scale > 1 else 1.0
    a = rng.dirichlet(np.ones(size))
    known, found = transport_plan(cost, a, even), transport_plan(cost * scale, a, even)
    # The smallest numbers have few digits, and so have such costs.
    expected = float((known.plan * (cost * scale)).sum())
    rough = 1e-11 if scale > 1e-300 else 1e-9
    assert found.cost == pytest.approx(expected, rel=rough, abs=0)
    assert (found.plan * cost).sum() == pytest.approx(known.cost, rel=1e-11)
    arguments = (([0, size], [0, size]), (a, even))
    (many,) = transport_costs(cost * scale, *arguments).ravel()
    assert many == pytest.approx(found.cost, rel=rough, abs=0)


@pytest.mark.parametrize("far", [1e8, 1e14, 1e20, 1e300])
def test_a_far_place_does_not_lower_the_precision_of_others(far: float, seed: int) -> None:
    """It keeps its mass, and the other costs are tiny compared with its distance."""
    rng = np.random.default_rng(seed)
    cost, (a, b) = np.full((81, 81), far), rng.dirichlet(np.ones(80), 2)
    cost[:80, :80], cost[80, 80] = rng.random((80, 80)), 0.0
    found = transport_plan(cost, np.append(a, 1.0), np.append(b, 1.0))
    assert found.cost == pytest.approx(transport_plan(cost[:80, :80], a, b).cost, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-300, 1e-16, 1e16, 1e308])
@pytest.mark.parametrize("size", [9, 80])
def test_the_unit_of_the_masses_does_not_matter(size: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost, a, b = rng.random((size, size)) / 2, *rng.dirichlet(np.ones(size), 2)
    known, found = transport_plan(cost, a, b), transport_plan(cost, a * scale, b * scale)
    assert found.cost / scale == pytest.approx(known.cost, rel=1e-11)
    np.testing.assert_allclose(found.plan.sum(axis=1) / scale, a, rtol=1e-9, atol=1e-14)


def test_masses_whose_sum_is_no_number() -> None:
    found = transport_plan([[0.0, 0.25], [0.25, 0.0]], [1e308, 1e308], [1e308, 1e308])
    assert found.cost == 0.0
    np.testing.assert_array_equal(found.plan, np.diag([1e308, 1e308]))


class TestManyPairs:
    def families(self, seed: int, widths=(0, 1, 2, 5, 9, 70)):
        rng = np.random.default_rng(seed)
        sides = []
        for order in (widths, widths[::-1]):
            mass = [rng.dirichlet(np.ones(w)) if w else np.empty(0) for w in order]
            sides.append((np.concatenate([[0], np.cumsum(order)]), np.concatenate(mass)))
        costs = rng.random((sum(widths), sum(widths)))
        return costs, sides

    def test_every_pair_is_the_pair_alone(self, seed: int) -> None:
        costs, sides = self.families(seed)
        (offsets_a, mass_a), (offsets_b, mass_b) = sides
        found = transport_costs(costs, (offsets_a, offsets_b), (mass_a, mass_b))
        for i in range(6):
            for j in range(6):
                rows = slice(*offsets_a[i : i + 2])
                columns = slice(*offsets_b[j : j + 2])
                if i == 0 or j == 5:
                    assert np.isnan(found[i, j])
                else:
                    alone = transport_plan(costs[rows, columns], mass_a[rows], mass_b[columns])
                    assert found[i, j] == pytest.approx(alone.cost, rel=1e-12)

    def test_the_kernel_alone_solves_every_pair(self, seed: int) -> None:
        costs, ((offsets_a, mass_a), (offsets_b, mass_b)) = self.families(seed, (1, 2, 5, 9, 64))
        pairs, out = np.argwhere(np.ones((5, 5))), np.zeros(25)
        given = (costs, offsets_a, offsets_b, mass_a, mass_b, pairs, out)
        kernels.transport.solve_pairs(*given)
        for (i, j), found in zip(pairs, out, strict=True):
            rows, columns = slice(*offsets_a[i : i + 2]), slice(*offsets_b[j : j + 2])
            expected = ot.emd2(mass_a[rows], mass_b[columns], costs[rows, columns])
            assert found == pytest.approx(expected, rel=1e-11)

    def test_chosen_pairs_come_in_their_order(self, seed: int) -> None:
        costs, ((offsets_a, mass_a), (offsets_b, mass_b)) = self.families(seed, (2, 5, 1))
        arguments = ((offsets_a, offsets_b), (mass_a, mass_b))
        every = transport_costs(costs, *arguments)
        pairs = [(2, 0), (0, 1), (2, 0), (1, 1)]
        found = transport_costs(costs, *arguments, pairs=pairs)
        np.testing.assert_array_equal(found, [every[p] for p in pairs])
        assert transport_costs(costs, *arguments, pairs=np.empty((0, 2))).shape == (0,)
        single = transport_costs(costs.astype(np.float32), *arguments)
        np.testing.assert_allclose(single, every, rtol=1e-6)
        turned = transport_costs(np.asfortranarray(costs), *arguments)
        np.testing.assert_array_equal(turned, every)

    def test_what_the_kernel_gives_up_goes_to_the_network_simplex(self, seed, monkeypatch) -> None:
        costs, ((offsets_a, mass_a), (offsets_b, mass_b)) = self.families(seed, (2, 5, 1))
        arguments = ((offsets_a, offsets_b), (mass_a, mass_b))
        every = transport_costs(costs, *arguments)
        alone = transport_plan(costs, mass_a, mass_b)

        class Blind:
            @staticmethod
            def solve_pairs(*given):
                given[-1][:] = np.nan

            @staticmethod
            def solve(*given):
                return np.nan

        monkeypatch.setattr(transport.kernels, "transport", Blind, raising=False)
        np.testing.assert_allclose(transport_costs(costs, *arguments), every, rtol=1e-12)
        assert transport_plan(costs, mass_a, mass_b).cost == pytest.approx(alone.cost)

    def test_wrong_sizes_are_named(self) -> None:
        with pytest.raises(ValueError, match="costs has 2 clusters on axis 1, masses 3 and offs"):
            transport_costs(np.ones((1, 2)), ([0, 1], [0, 2]), ([1.0], [0.5, 0.25, 0.25]))

    def test_wrong_values_are_named(self) -> None:
        offsets = ([0, 1], [0, 2])
        with pytest.raises(ValueError, match="costs has entries that are not finite; remove NaN"):
            transport_costs([[np.nan, 1.0]], offsets, ([1.0], [0.5, 0.5]))
        with pytest.raises(ValueError, match="costs has entries that are not finite"):
            transport_costs([[-np.inf, 1.0]], offsets, ([1.0], [0.5, 0.5]))
        with pytest.raises(ValueError, match="masses must be finite and not negative"):
            transport_costs([[0.0, 1.0]], offsets, ([1.0], [1.5, -0.5]))


def test_one_side_is_empty() -> None:
    empty = np.empty((0, 2))
    assert np.isnan(kernels.transport.solve(empty, np.empty(0), np.ones(2), np.empty((0, 2))))


@pytest.mark.parametrize(
    ("cost", "a", "b", "words"),
    [
        (np.ones(3), [1.0], [1.0], "cost must be a matrix"),
        (np.ones((0, 2)), [], [1.0, 0.0], "cost must be a matrix"),
        ([[np.nan]], [1.0], [1.0], "cost has entries that are not finite"),
        ([[1.0, 2.0]], [1.0], [1.0], r"b must hold 2 masses, as many as cost; got \(1,\)"),
        ([[1.0]], [-1.0], [-1.0], "a must hold finite masses that are not negative"),
        ([[1.0]], [1.0], [np.inf], "b must hold finite masses"),
        ([[1.0]], [1.0], [2.0], "same sum; got 1 and 2, a difference of 1. Divide each"),
        ([[1.0]], [1.0], [1.0 + 1e-7], "got 1 and 1, a difference of 1e-07. Divide each"),
        ([[1.0]], [0.0], [0.0], "hold no mass"),
    ],
)
def test_wrong_input_is_named(cost, a, b, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        transport_plan(cost, a, b)


def test_a_failure_of_the_network_simplex_is_reported(monkeypatch) -> None:
    report = {"warning": "numItermax reached", "cost": 0.0}
    monkeypatch.setattr(ot, "emd", lambda *given, **options: (np.zeros((70, 70)), report))
    even = np.full(70, 1 / 70)
    with pytest.raises(RuntimeError, match="between 70 and 70 places could not be solved: numIt"):
        transport_plan(np.ones((70, 70)), even, even)


def test_small_problems_do_not_load_pot() -> None:
    """POT loads torch and jax where they are installed."""
    program = (
        "import sys\n"
        "from clusterscape.linalg.transport import transport_plan\n"
        "transport_plan([[0.0, 1.0]], [1.0], [0.5, 0.5])\n"
        "assert 'ot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
