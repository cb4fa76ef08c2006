"""Exact optimal transport: one plan, or the costs of many small problems."""

from __future__ import annotations

import importlib
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from clusterscape import kernels

# Clusters on a side up to which the compiled kernel is at least as fast as a network simplex.
LARGEST_KERNEL = 64
# Pivots that the network simplex may take: far more than problems that fit into memory need.
_PIVOTS = 100_000_000
_SAME_MASS = 1e-9
_HUGE = 1e290
# Cost of a unit of mass, beside the largest one, below which the network simplex is not trusted.
_SMALL = 1e-6


@dataclass(frozen=True, eq=False)
class TransportPlan:
    """How masses are moved at the least cost; made by :func:`transport_plan`.

    Attributes
    ----------
    plan : (k, m) array
        Mass moved from each place of one side to each place of the other.
    cost : float
        Sum of mass times cost.

    See Also
    --------
    transport_plan : Make one.

    Examples
    --------
    >>> from clusterscape.linalg import transport_plan
    >>> transport_plan([[0.0, 2.0]], [1.0], [0.5, 0.5])
    TransportPlan(plan=array([[0.5, 0.5]]), cost=1.0)
    """

    plan: np.ndarray
    cost: float


def transport_plan(cost: Any, a: Any, b: Any) -> TransportPlan:
    """Return the cheapest way to move masses from one set of places to another.

    The answer is exact. Up to 64 places on a side a compiled kernel finds it, and proves it by the
    dual; beyond that the network simplex of POT does, which needs the whole cost matrix in memory
    and time that grows faster than its size (seconds for 5,000 by 5,000).

    Parameters
    ----------
    cost : (k, m) array
        Cost of moving a unit of mass from each place to each other place.
    a, b : (k,) and (m,) arrays
        Masses at the places: non-negative, with the same sum.

    Returns
    -------
    TransportPlan
        With ``plan`` and ``cost``.

    See Also
    --------
    transport_costs : The costs of many small problems.

    References
    ----------
    .. [1] R. Flamary et al. POT: Python optimal transport. Journal of Machine Learning Research
       22(78), 1-8, 2021.

    Examples
    --------
    >>> from clusterscape.linalg import transport_plan
    >>> found = transport_plan([[0.0, 1.0], [2.0, 5.0]], [0.5, 0.5], [0.75, 0.25])
    >>> found.plan
    array([[0.25, 0.25],
           [0.5 , 0.  ]])
    >>> found.cost
    1.25
    """
    costs = _checked_costs(cost, "cost")
    a, b = _checked_mass(a, "a", costs.shape[0]), _checked_mass(b, "b", costs.shape[1])
    unit = max(_exponent(a), _exponent(b))  # their sums are finite in this unit
    a, b = np.ldexp(a, -unit), np.ldexp(b, -unit)
    left, right = float(a.sum()), float(b.sum())
    if abs(left - right) > _SAME_MASS * max(left, right):
        shown = [f"{_back(s, unit):g}" for s in (left, right, abs(left - right))]
        raise ValueError(
            f"a and b must have the same sum; got {shown[0]} and {shown[1]}, a difference of "
            f"{shown[2]}. Divide each by its sum to compare distributions."
        )
    if not left > 0:
        raise ValueError("a and b hold no mass; at least one place of each needs some.")
    price = _exponent(costs)
    found = _solved(np.ldexp(costs, -price), a, b * (left / right))
    return TransportPlan(np.ldexp(found.plan, unit), _back(found.cost, unit + price))


def transport_costs(
    costs: Any,
    offsets: tuple[Any, Any],
    masses: tuple[Any, Any],
    *,
    pairs: Any = None,
) -> np.ndarray:
    """Return the least transport costs between many pairs of partitions, in one call.

    Much faster than :func:`transport_plan` pair by pair where partitions have few clusters. The
    masses of the clusters should have the same sum in every partition; this is not checked.

    Parameters
    ----------
    costs : (D_a, D_b) array
        Cost of moving a unit of mass from each cluster of one family of partitions to each cluster
        of the other family.
    offsets : pair of arrays
        Of each family: clusters ``offsets[i]:offsets[i + 1]`` belong to partition i.
    masses : pair of arrays
        Of each family, the masses of its clusters, (D_a,) and (D_b,).
    pairs : (t, 2) array, optional
        Which partitions to compare: of the first family and of the second. By default all.

    Returns
    -------
    (t,) array, or (p, q) for all pairs
        The costs; nan where a partition has no clusters.

    See Also
    --------
    transport_plan : One problem, with its plan.

    Examples
    --------
    >>> from clusterscape.linalg import transport_costs
    >>> costs = [[0.0, 1.0, 2.0], [4.0, 0.0, 1.0]]
    >>> transport_costs(costs, ([0, 2], [0, 1, 3]), ([0.5, 0.5], [1.0, 0.5, 0.5]))
    array([[2., 1.]])
    """
    table = np.ascontiguousarray(costs, dtype=np.float64)
    if table.ndim != 2 or any(not hasattr(p, "__len__") or len(p) != 2 for p in (offsets, masses)):
        raise ValueError(
            "costs must be a matrix, and offsets and masses two vectors, of its rows and of its "
            "columns."
        )
    starts = [np.asarray(offset, dtype=np.int64) for offset in offsets]
    mass = [np.ascontiguousarray(m, dtype=np.float64) for m in masses]
    if any(s.ndim != 1 or s.size == 0 or s[0] != 0 or (np.diff(s) < 0).any() for s in starts):
        raise ValueError("offsets must be two vectors of rising positions that begin with 0.")
    for axis in range(2):
        if not table.shape[axis] == mass[axis].size == starts[axis][-1]:
            raise ValueError(
                f"costs has {table.shape[axis]} clusters on axis {axis}, masses "
                f"{mass[axis].size} and offsets {starts[axis][-1]}; they must be the same."
            )
    low, high = table.min(initial=0.0), table.max(initial=0.0)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ValueError("costs has entries that are not finite; remove NaN and infinity.")
    if not all(np.isfinite(m).all() and (m >= 0).all() for m in mass):
        raise ValueError("masses must be finite and not negative.")
    shape = (starts[0].size - 1, starts[1].size - 1)
    chosen = np.argwhere(np.ones(shape)) if pairs is None else np.asarray(pairs, dtype=np.int64)
    # Far from the ends of the floating-point numbers, where sums overflow or lose digits.
    largest = max(-low, high)
    shift = -64 if largest > _HUGE else 256 if 0 < largest < 1.0 / _HUGE else 0
    out = _costs_of_pairs(np.ldexp(table, shift) if shift else table, starts, mass, chosen)
    with np.errstate(over="ignore"):
        out = np.ldexp(out, -shift) if shift else out
    return out.reshape(shape) if pairs is None else out


def _costs_of_pairs(
    table: np.ndarray, starts: list[np.ndarray], mass: list[np.ndarray], pairs: np.ndarray
) -> np.ndarray:
    sizes = np.column_stack([np.diff(starts[axis])[pairs[:, axis]] for axis in range(2)])
    small = np.flatnonzero((sizes <= LARGEST_KERNEL).all(axis=1))
    values, out = np.empty(small.size), np.full(len(pairs), np.nan)
    everything = small.size == len(pairs)
    wanted = pairs if everything else pairs[small]
    kernels.transport.solve_pairs(table, *starts, *mass, np.ascontiguousarray(wanted), values)
    out[small] = values
    for p in np.flatnonzero(np.isnan(out) & (sizes > 0).all(axis=1)):
        rows, columns = (slice(*starts[axis][pairs[p, axis] :][:2]) for axis in range(2))
        out[p] = _network_simplex(table[rows, columns], mass[0][rows], mass[1][columns]).cost
    return out


def _solved(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> TransportPlan:
    """Solve one problem whose masses are known to be right."""
    if max(costs.shape) <= LARGEST_KERNEL or min(costs.shape) == 1:
        plan = np.empty(costs.shape)
        value = float(kernels.transport.solve(costs, a, b, plan))
        if not np.isnan(value):
            return TransportPlan(plan, value)
    return _network_simplex(costs, a, b)


def _pot() -> Any:
    """Return POT, which loads torch, jax and others where they are installed: only if needed."""
    if "ot" in sys.modules:
        return sys.modules["ot"]
    with warnings.catch_warnings():
        # Its source has escape sequences that Python warns of when it is compiled.
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", SyntaxWarning)
        return importlib.import_module("ot")


def _network_simplex(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> TransportPlan:
    ot = _pot()
    # Its tolerances are absolute, so that it gets costs and masses of about 1. Powers of two change
    # no digit.
    price, unit = _exponent(costs), _exponent(a.sum())
    given = (np.ldexp(a, -unit), np.ldexp(b, -unit), np.ldexp(costs, -price))
    plan, log = ot.emd(*given, numItermax=_PIVOTS, log=True, check_marginals=False)
    value, trouble = float(log["cost"]), log["warning"]
    if trouble is None and abs(value) < _SMALL and (value != 0 or given[2].min() < 0):
        # So little beside the largest cost that the tolerances matter; the kernel has none there.
        plan = np.empty(costs.shape)
        value = float(kernels.transport.solve(given[2], given[0], given[1], plan))
        trouble = "the costs are too different" if np.isnan(value) else None
    if trouble is not None:
        raise RuntimeError(
            f"the transport between {a.size} and {b.size} places could not be solved: "
            f"{trouble.strip()}. Look at the costs: values that differ by more than 1e12 between "
            "them lose the small ones."
        )
    return TransportPlan(np.ldexp(plan, unit), _back(value, unit + price))


def _exponent(values: Any) -> int:
    """Return the e with all values below 2**e in size, and the largest not below 2**(e - 1)."""
    return int(np.frexp(np.abs(values).max(initial=0.0))[1])


def _back(value: float, exponent: int) -> float:
    """Return the value times 2**exponent; infinite where that is beyond all numbers."""
    with np.errstate(over="ignore"):
        return float(np.ldexp(value, exponent))


def _checked_costs(cost: Any, name: str) -> np.ndarray:
    costs = np.ascontiguousarray(cost, dtype=np.float64)
    if costs.ndim != 2 or costs.size == 0:
        raise ValueError(f"{name} must be a matrix with a row and a column; got {costs.shape}.")
    if not np.isfinite(costs).all():
        raise ValueError(f"{name} has entries that are not finite; remove NaN and infinity.")
    return costs


def _checked_mass(mass: Any, name: str, size: int) -> np.ndarray:
    values = np.ascontiguousarray(mass, dtype=np.float64)
    if values.shape != (size,):
        raise ValueError(f"{name} must hold {size} masses, as many as cost; got {values.shape}.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name} must hold finite masses that are not negative.")
    return values
