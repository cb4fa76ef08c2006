"""Inputs of any kind for any argument: from its rules where it has rules, else by its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape import Ensemble
from clusterscape._core.params import Choice, Flag, Null, Number, Rule, Seed

Draw = np.random.Generator

_SCALES = (1.0, 1.0, 1.0, 1e-3, 1e6, 1e30, 1e-30, 1e150, 1e-150, 1e300, 1e-300)

# With fuzz.py --extreme ends of the range come ten times as often: of data, and of weights.
_EXTREME = bool(os.environ.get("CLUSTERSCAPE_FUZZ_EXTREME"))
_LARGE = (1e39, 1e50, 1e77, 1e100, 1e150, 1e160, 1e200, 1e300, 1.7e308)
_ENDS = (*_LARGE, *(1 / value for value in _LARGE), 5e-324)
_HEAVY = (3e49, 1e40, 1e25, 1e-25, 1e-40, 1e-50)
if _EXTREME:
    _SCALES = (*[1.0] * 12, *_ENDS)


# ---- matrices -----------------------------------------------------------------------------------


def matrix(draw: Draw, *, plain: bool = False) -> Any:
    """Return a feature matrix: groups, ties, constants, odd magnitudes, types and containers."""
    n, d = int(draw.choice([1, 2, 3, 7, 12, 25, 40])), int(draw.integers(1, 5))
    kind = draw.choice(["groups", "groups", "uniform", "whole", "constant", "copies", "zero"])
    X = draw.normal(size=(n, d))
    if kind == "groups":
        X += 8.0 * draw.integers(0, 3, size=(n, 1))
    elif kind == "whole":
        X = draw.integers(-2, 3, size=(n, d)).astype(float)
    elif kind == "constant":
        X[:, draw.integers(0, d)] = 3.0
    elif kind == "copies":
        X = X[draw.integers(0, max(1, n // 2), size=n)]
    elif kind == "zero":
        X = np.zeros((n, d))
    if plain:
        return X
    with np.errstate(over="ignore"):
        X = X * draw.choice(_SCALES)
    if draw.random() < 0.08:
        X[draw.integers(0, n), draw.integers(0, d)] = draw.choice([np.nan, np.inf, -np.inf])
    return _contained(X, draw)


def _contained(X: np.ndarray, draw: Draw) -> Any:
    """Return the matrix in one of the containers and types that people have."""
    with np.errstate(over="ignore"):
        ways: list[Callable[[], Any]] = [
            lambda: X,
            lambda: X,
            lambda: X.astype(np.float32),
            lambda: np.asfortranarray(X),
            lambda: X[::-1],
            lambda: X.tolist(),
            lambda: sparse.csr_matrix(X),
            lambda: sparse.csc_array(X),
            lambda: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
            lambda: _read_only(X),
            lambda: np.nan_to_num(np.clip(X, -1e9, 1e9)).astype(np.int64),
            lambda: X.astype(object),
            lambda: X[:0],
            lambda: X[:, 0],
        ]
        return ways[int(draw.choice(len(ways), p=_ODDS))]()


_ODDS = np.array([6, 6, 4, 2, 2, 2, 4, 1, 3, 2, 2, 1, 1, 1], dtype=float)
_ODDS /= _ODDS.sum()


def _read_only(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.setflags(write=False)
    return copy


def square(draw: Draw) -> Any:
    """Return a square matrix: similarities, distances, a graph, or not even symmetric."""
    n = int(draw.integers(1, 12))
    S = draw.random((n, n))
    S = S + S.T if draw.random() < 0.8 else S
    if draw.random() < 0.5:
        np.fill_diagonal(S, 0.0)
    if draw.random() < 0.3:
        S[S < 1.0] = 0.0
    with np.errstate(over="ignore"):
        S = S * draw.choice(_SCALES)
    return sparse.csr_matrix(S) if draw.random() < 0.4 else S


# ---- labels -------------------------------------------------------------------------------------


def labels(draw: Draw, n: int | None = None) -> Any:
    """Return a label vector, or a membership, of any type."""
    n = int(draw.choice([1, 2, 3, 7, 12, 25])) if n is None else n
    k = int(draw.integers(1, max(2, min(n, 6)) + 1))
    codes = draw.integers(0, k, size=n)
    if draw.random() < 0.25:
        codes[draw.random(n) < 0.2] = -1
    if draw.random() < 0.25:
        codes[draw.random(n) < 0.2] = -2
    ways: list[Callable[[], Any]] = [
        lambda: codes,
        lambda: codes,
        lambda: codes.astype(np.int8),
        lambda: codes.tolist(),
        lambda: [f"g{c}" for c in codes],
        lambda: pd.Series(codes),
        lambda: pd.Categorical(codes),
        lambda: codes.astype(float),
        lambda: np.where(codes < 0, np.nan, codes),
        lambda: [None if c < 0 else int(c) for c in codes],
        lambda: membership(draw, n, k),
        lambda: sparse.csr_matrix(membership(draw, n, k)),
        lambda: codes * 10**12,
        lambda: codes.astype(bool),
    ]
    return ways[int(draw.integers(len(ways)))]()


def membership(draw: Draw, n: int, k: int) -> np.ndarray:
    """Return a soft partition."""
    found = draw.random((n, k)) ** 3 + 1e-3
    return found / found.sum(axis=1, keepdims=True)


def weights(draw: Draw, n: int) -> np.ndarray | None:
    """Return weights, mostly sensible ones."""
    if _EXTREME and draw.random() < 0.5:
        return draw.integers(1, 4, size=n) * draw.choice(_HEAVY, size=draw.choice([1, n]))
    kind = draw.integers(0, 6)
    if kind < 2:
        return None
    found = draw.integers(1, 4, size=n).astype(float)
    if kind == 3:
        found[draw.random(n) < 0.3] = 0.0
    elif kind == 4:
        found *= draw.choice([1e-300, 1e-30, 1e30, 1e300])
    elif kind == 5:
        found = found * 10.0 ** draw.integers(-20, 21, size=n)
    return found


def ensemble(draw: Draw, *, extreme: bool = True) -> Ensemble:
    """Return an ensemble with everything that one may hold."""
    n, r = int(draw.choice([2, 3, 5, 8, 13, 30])), int(draw.integers(1, 7))
    k = int(draw.integers(1, min(n, 5) + 1))
    base = draw.integers(0, k, size=n)
    soft, gaps = draw.random() < 0.2, draw.random() < 0.25
    parts: list[Any] = []
    for _ in range(r):
        if soft and draw.random() < 0.5:
            parts.append(membership(draw, n, k))
            continue
        part = np.where(draw.random(n) < 0.2, draw.integers(0, k, size=n), base)
        if gaps:
            part[draw.random(n) < 0.15] = draw.choice([-1, -2])
        parts.append(part)
    given = weights(draw, r) if extreme else None
    mass = weights(draw, n) if extreme and draw.random() < 0.4 else None
    if given is not None and not given.any():
        given = None
    if mass is not None and not mass.any():
        mass = None
    return Ensemble.from_labels(parts, weights=given, sample_weight=mass)


# ---- parameters ---------------------------------------------------------------------------------


def by_rules(rules: list[Rule], draw: Draw) -> Any:
    """Return a value that one of the rules allows or, rarely, one that all of them refuse."""
    rule = rules[int(draw.integers(len(rules)))]
    if draw.random() < 0.05:
        bad = rule.refused() or [object()]
        return bad[int(draw.integers(len(bad)))]
    if isinstance(rule, Null):
        return None
    if isinstance(rule, Flag):
        return bool(draw.integers(2))
    if isinstance(rule, Choice):
        return rule.options[int(draw.integers(len(rule.options)))]
    if isinstance(rule, Seed):
        return int(draw.integers(100))
    if isinstance(rule, Number):
        return _number(rule, draw)
    return _OTHER[int(draw.integers(len(_OTHER)))]


_OTHER: tuple[Any, ...] = (1, 2, 0.5, 1.5, None, "auto", (2, 3), [2, 3])


def _number(rule: Number, draw: Draw) -> Any:
    low = rule.low if np.isfinite(rule.low) else -2.0
    high = min(rule.high, low + 5.0)
    if rule.integer:
        return int(draw.integers(int(np.ceil(low)), int(np.floor(high)) + 1))
    edges = [low, high, (low + high) / 2, low + (high - low) * draw.random()]
    value = float(edges[int(draw.integers(len(edges)))])
    if draw.random() < (0.5 if _EXTREME else 0.05) and not np.isfinite(rule.high):
        value = float(draw.choice(_ENDS if _EXTREME else [1e-300, 1e300, 1e18]))
    return value


# Arguments whose cost must stay small, and arguments without rules, by their names.
SMALL: dict[str, Callable[[Draw], Any]] = {
    "n_partitions": lambda draw: int(draw.integers(1, 6)),
    "n_members": lambda draw: int(draw.integers(1, 6)),
    "n_estimators": lambda draw: int(draw.integers(1, 6)),
    "n_samples": lambda draw: int(draw.integers(1, 30)),
    "n_points": lambda draw: int(draw.integers(1, 30)),
    "n_jobs": lambda draw: 1,
    "progress": lambda draw: False,
    "store": lambda draw: None,
    "n_init": lambda draw: int(draw.integers(1, 3)),
    "max_iter": lambda draw: int(draw.integers(1, 20)),
    "n_clusters": lambda draw: int(draw.integers(1, 6)),
    "k": lambda draw: int(draw.integers(1, 5)),
    "n_sweeps": lambda draw: int(draw.integers(2, 12)),
    "burn_in": lambda draw: int(draw.integers(0, 20)),
    "n_references": lambda draw: int(draw.integers(1, 4)),
    "n_runs": lambda draw: int(draw.integers(1, 4)),
    "max_gb": lambda draw: 1.0,
    "random_state": lambda draw: int(draw.integers(100)),
}

# Of these the ones whose defaults take seconds.
COSTLY = (
    "n_partitions",
    "n_members",
    "n_estimators",
    "n_samples",
    "n_sweeps",
    "n_references",
    "burn_in",
)

FEATURES = ("X", "features", "data", "points", "centers", "values", "x", "y", "rows")
LABELS = ("labels", "a", "b", "partition", "reference", "y_true", "y_pred", "truth", "classes")
MATRICES = ("A", "P", "S", "W", "D", "L", "graph", "matrix", "similarity", "distances", "cost")


def by_name(name: str, draw: Draw) -> Any:
    """Return something for an argument without rules."""
    if name in SMALL:
        return SMALL[name](draw)
    if "ensemble" in name:
        return ensemble(draw)
    if name in FEATURES:
        return matrix(draw)
    if name in LABELS:
        return labels(draw)
    if name in MATRICES:
        return square(draw)
    if "weight" in name:
        return weights(draw, int(draw.integers(1, 12)))
    odd: list[Callable[[], Any]] = [
        lambda: matrix(draw),
        lambda: labels(draw),
        lambda: square(draw),
        lambda: ensemble(draw),
        lambda: int(draw.integers(-1, 6)),
        lambda: float(draw.normal()),
        lambda: None,
        lambda: "name",
        lambda: [],
        lambda: {},
        lambda: draw.random(int(draw.integers(0, 5))),
    ]
    return odd[int(draw.integers(len(odd)))]()
