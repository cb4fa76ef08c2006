"""Forty synthetic sets with known clusters, beside which the choice of k is checked.

Round, long, unequal and heavy-tailed groups in 2 to 500 dimensions, shapes in the plane and in
space, counts in the manner of single cells, and skewed tables. No setting was chosen on them alone.

This module makes the sets and measures nothing: ``choose_k.py --synthetic`` runs on them.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_circles, make_moons

Set = tuple[np.ndarray, np.ndarray]

# points, clusters, columns, least distance of centres in standard deviations, kind of groups
GROUPS = (
    (500, 2, 2, 5.0, ""), (300, 3, 2, 4.5, "unequal"), (600, 4, 2, 5.0, "long"),
    (1500, 15, 2, 5.0, ""), (1500, 15, 2, 4.0, ""), (800, 8, 2, 6.0, "unequal"),
    (400, 5, 10, 5.0, ""), (600, 6, 20, 5.0, "unequal"), (200, 2, 10, 4.0, ""),
    (1000, 10, 16, 5.0, "long"), (500, 3, 5, 6.0, "unequal long"), (300, 4, 50, 7.0, ""),
    (900, 7, 2, 5.0, "unequal long"), (700, 3, 2, 7.0, "heavy"), (1000, 12, 3, 5.0, "unequal"),
    (150, 3, 4, 4.0, "long"), (100, 2, 200, 9.0, ""), (80, 4, 500, 14.0, ""),
    (1200, 6, 8, 4.5, "unequal long heavy"), (2000, 20, 2, 5.5, ""),
)  # fmt: skip


def groups(shape: tuple[int, int, int], apart: float, kind: str, rng: np.random.Generator) -> Set:
    """Return clusters around centres that are at least ``apart`` standard deviations apart."""
    n, k, d = shape
    side = 1.1 * apart * k ** (1 / min(d, 3))
    centers: list[np.ndarray] = []
    while len(centers) < k:
        spread = 1.3 * side / np.sqrt(2 * d)
        c = rng.uniform(0, side, size=d) if d <= 3 else rng.normal(size=d) * spread
        if all(np.linalg.norm(c - other) >= apart for other in centers):
            centers.append(c)
        else:
            side *= 1.01
    share = rng.dirichlet(np.full(k, 1.5)) if "unequal" in kind else np.full(k, 1 / k)
    share = np.maximum(share, 0.04)
    sizes = np.maximum(np.round(n * share / share.sum()), 8).astype(int)
    parts = []
    for c, m in zip(centers, sizes, strict=True):
        Z = rng.standard_t(4, (m, d)) / np.sqrt(2) if "heavy" in kind else rng.normal(size=(m, d))
        if "long" in kind:
            turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
            Z = Z * rng.uniform(0.3, 1.3, size=d) @ turn
        parts.append(c + Z)
    return np.vstack(parts), np.repeat(np.arange(k), sizes)


def _joined(*parts: np.ndarray) -> Set:
    return np.vstack(parts), np.repeat(np.arange(len(parts)), [len(p) for p in parts])


def _ring(n: int, radius: float, noise: float, rng: np.random.Generator) -> np.ndarray:
    t = rng.uniform(0, 2 * np.pi, n)
    return radius * np.c_[np.cos(t), np.sin(t)] + noise * rng.normal(size=(n, 2))


def _blob(n: int, sd: float, at: tuple[float, float], rng: np.random.Generator) -> np.ndarray:
    return sd * rng.normal(size=(n, 2)) + at


def _spiral(n: int, arms: int, noise: float, rng: np.random.Generator) -> Set:
    parts = []
    for a in range(arms):
        t = np.sqrt(rng.uniform(0.05, 1, n)) * 3 * np.pi
        turn = t + 2 * np.pi * a / arms
        parts.append(np.c_[t * np.cos(turn), t * np.sin(turn)] + noise * rng.normal(size=(n, 2)))
    return _joined(*parts)


def _disc(n: int, radius: float, at: tuple[float, float], rng: np.random.Generator) -> np.ndarray:
    r, t = radius * np.sqrt(rng.uniform(size=n)), rng.uniform(0, 2 * np.pi, n)
    return np.c_[r * np.cos(t), r * np.sin(t)] + at


def shapes() -> dict[str, Set]:
    """Return shapes in the plane and in space."""
    rng = np.random.default_rng(1)
    t = np.arange(7) * 2 * np.pi / 7
    circle = np.c_[np.cos(t), np.sin(t)]
    centers = np.vstack([[[0.0, 0.0]], 4 * circle, 10 * circle])
    discs = [
        (45, 0.8, (0, 0)), (170, 1.9, (6, 0)), (100, 1.4, (6, 6)), (270, 2.4, (15, 5)),
        (34, 0.8, (12, 0)), (130, 1.6, (20, -2)), (34, 0.6, (16, -1)),
    ]  # fmt: skip
    arc = rng.uniform(-0.3, np.pi + 0.6, 110)
    open_ring = 3 * np.c_[np.cos(arc), np.sin(arc)] + 0.12 * rng.normal(size=(110, 2))
    links = _ring(400, 1, 0.08, rng), _ring(400, 1, 0.08, rng)
    flat = 0.08 * rng.normal(size=400)
    return {
        "moons": make_moons(400, noise=0.07, random_state=0),
        "moons, unequal": make_moons((280, 90), noise=0.08, random_state=3),
        "rings": make_circles(500, factor=0.4, noise=0.06, random_state=0),
        "rings and centre": _joined(
            _ring(300, 1, 0.05, rng), _ring(300, 0.45, 0.05, rng), _blob(200, 0.08, (0, 0), rng)
        ),
        "spirals, 3": _spiral(150, 3, 0.2, rng),
        "spirals, 2": _spiral(300, 2, 0.3, rng),
        "stripes": _joined(
            *(np.c_[rng.uniform(0, 10, 200), rng.normal(y, 0.25, 200)] for y in (0, 2, 4))
        ),
        "ring and blobs": _joined(
            _ring(150, 3, 0.15, rng), _blob(60, 0.4, (0, 0), rng),
            _blob(100, 0.5, (8, 2), rng), _blob(100, 0.5, (8, -2), rng),
        ),
        "large and small": _joined(
            *(_blob(600, 0.3, at, rng) for at in ((0, 0), (3, 1), (1, 3))),
            *(_blob(40, 0.6, (10 + 4 * (i % 2), 4 * i - 4), rng) for i in range(5)),
        ),
        "fifteen in circles": _joined(*(_blob(40, 0.45, tuple(c), rng) for c in centers)),
        "discs": _joined(*(_disc(n, r, at, rng) for n, r, at in discs)),
        "flame": _joined(_blob(150, 1, (0, 0), rng) * [1.2, 0.5], _blob(90, 0.45, (0, 2.3), rng)),
        "open ring": _joined(
            open_ring, _blob(95, 0.4, (-1.1, 0), rng), _blob(95, 0.4, (1.1, 0), rng)
        ),
        "two links": _joined(
            np.c_[links[0], flat], np.c_[1 + links[1][:, 0], flat, links[1][:, 1]]
        ),
    }  # fmt: skip


def tables() -> dict[str, Set]:
    """Return counts as of single cells, logged, and skewed tables."""
    found: dict[str, Set] = {}
    for s, (n, k, d, f) in enumerate(
        [(120, 4, 300, 2.0), (400, 6, 500, 1.5), (250, 3, 200, 1.5), (600, 8, 300, 2.5)]
    ):
        rng = np.random.default_rng(50 + s)
        base, y = rng.lognormal(0, 1, size=d), rng.integers(0, k, n)
        marked = [np.where(rng.random(d) < 0.1, rng.lognormal(f, 0.5, d), 1) for _ in range(k)]
        rate = np.array(marked)[y] * base * rng.lognormal(0, 0.3, size=(n, 1)) * 0.8
        X = np.log1p(rng.poisson(rate))
        found[f"cells, {k}"] = X[:, X.std(axis=0) > 0], y
    for s, (n, k, d) in enumerate([(300, 2, 8), (500, 3, 12), (400, 4, 6)]):
        rng = np.random.default_rng(80 + s)
        Z, y = groups((n, k, d), 4.5, "unequal long", rng)
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        X = np.exp(0.4 * Z) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d)))
        found[f"skewed, {k}"] = (X - X.mean(axis=0)) / X.std(axis=0), y
    return found


def sets() -> dict[str, Set]:
    """Return all sets by name."""
    round_ones = {
        f"{k} groups, {d} columns{', ' + kind if kind else ''} ({i})": groups(
            (n, k, d), apart, kind, np.random.default_rng(100 + i)
        )
        for i, (n, k, d, apart, kind) in enumerate(GROUPS)
    }
    return {**round_ones, **shapes(), **tables()}
