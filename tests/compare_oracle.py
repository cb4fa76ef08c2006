"""The measures of two partitions, slowly and by definition: every pair of points, one by one."""

from __future__ import annotations

import itertools
from collections import Counter
from math import log, sqrt
from typing import Any

import numpy as np
from hypothesis import strategies as st

POLICIES = ("singletons", "cluster", "drop")


@st.composite
def vectors(draw: Any, number: int, *, lowest: int = 0, max_size: int = 9) -> list[list[int]]:
    """Draw ``number`` label vectors of one length with labels from ``lowest`` to at most 4."""
    n = draw(st.integers(1, max_size))
    labels = st.lists(st.integers(lowest, 4), min_size=n, max_size=n)
    return [draw(labels) for _ in range(number)]


def compared(a: Any, b: Any, noise: str, weights: Any = None) -> list[tuple[Any, Any]]:
    """Return the two clusters of every point that is compared; lone points have their own names."""
    points = []
    for x, (i, j) in enumerate(zip(map(int, a), map(int, b), strict=True)):
        if -2 in (i, j) or (noise == "drop" and -1 in (i, j)):
            continue
        for copy in range(1 if weights is None else int(weights[x])):
            alone = ("alone", x, copy)
            single = noise == "singletons"
            points.append((alone if single and i == -1 else i, alone if single and j == -1 else j))
    return points


def is_alone(cluster: Any) -> bool:
    return isinstance(cluster, tuple) and cluster[0] == "alone"


def pair_counts(points: list[tuple[Any, Any]]) -> tuple[int, int, int, int]:
    """Return the pairs together in both, only in a, only in b, in neither."""
    count: Counter[tuple[bool, bool]] = Counter()
    for (i, j), (k, m) in itertools.combinations(points, 2):
        count[i == k, j == m] += 1
    return count[True, True], count[True, False], count[False, True], count[False, False]


def entropy(values: Any) -> float:
    values = list(values)
    return -sum(c / len(values) * log(c / len(values)) for c in Counter(values).values())


def information(points: list[tuple[Any, Any]]) -> float:
    n = len(points)
    rows, cols = Counter(p[0] for p in points), Counter(p[1] for p in points)
    return sum(c / n * log(n * c / (rows[i] * cols[j])) for (i, j), c in Counter(points).items())


def expected_information(points: list[tuple[Any, Any]]) -> float:
    """Return the mean information over all orders of b's labels."""
    first = [p[0] for p in points]
    orders = list(itertools.permutations(p[1] for p in points))
    return sum(information(list(zip(first, o, strict=True))) for o in orders) / len(orders)


def matched(points: list[tuple[Any, Any]]) -> int:
    """Return the points that the best one-to-one matching of clusters brings into agreement."""
    table = Counter(p for p in points if not is_alone(p[0]) and not is_alone(p[1]))
    rows = sorted({p[0] for p in table})
    cols = sorted({p[1] for p in table})
    if len(rows) > len(cols):
        table = Counter({(j, i): c for (i, j), c in table.items()})
        rows, cols = cols, rows
    return max(
        sum(table[pair] for pair in zip(rows, order, strict=True))
        for order in itertools.permutations(cols, len(rows))
    )


def utility(points: list[tuple[Any, Any]], mu: Any) -> float:
    n = len(points)
    total = 0.0
    for cluster, size in Counter(p[0] for p in points).items():
        inside = Counter(j for i, j in points if i == cluster)
        total += size / n * mu([c / size for c in inside.values()])
    return total - mu([c / n for c in Counter(p[1] for p in points).values()])


def purest(points: list[tuple[Any, Any]]) -> int:
    best: dict[Any, int] = {}
    for (i, j), c in Counter(points).items():
        if not is_alone(i) and not is_alone(j):
            best[i] = max(best.get(i, 0), c)
    return sum(best.values())


def adjusted(points: list[tuple[Any, Any]]) -> float:
    both, only_a, only_b, neither = pair_counts(points)
    a, b, pairs = both + only_a, both + only_b, both + only_a + only_b + neither
    if pairs == 0 or a == b == 0 or a == b == pairs:
        return 1.0
    chance = a * b / pairs
    return (both - chance) / ((a + b) / 2 - chance)


def element_centric(points: list[tuple[Any, Any]], alpha: float = 0.9) -> float:
    """Return the similarity by the stationary shares of walks that start at each point."""
    total = 0.0
    for x, mine in enumerate(points):
        walks = []
        for side in (0, 1):
            together = np.array([other[side] == mine[side] for other in points], dtype=float)
            walks.append(alpha * together / together.sum() + (1 - alpha) * np.eye(len(points))[x])
        total += 1.0 - np.abs(walks[0] - walks[1]).sum() / (2 * alpha)
    return total / len(points)


def value(name: str, points: list[tuple[Any, Any]]) -> float:
    """Return a measure, with its default options, of points that :func:`compared` listed."""
    if not points:
        return float("nan")
    n = len(points)
    both, only_a, only_b, neither = pair_counts(points)
    pairs = both + only_a + only_b + neither
    h_a, h_b = entropy(p[0] for p in points), entropy(p[1] for p in points)
    mi = information(points)
    one_a, one_b = (len({p[side] for p in points}) == 1 for side in (0, 1))
    results = {
        "rand_distance": lambda: (only_a + only_b) / pairs if pairs else 0.0,
        "pair_accuracy": lambda: (both + neither) / pairs if pairs else 1.0,
        "mirkin": lambda: 2 * (only_a + only_b),
        "jaccard_distance": lambda: (
            (only_a + only_b) / (pairs - neither) if pairs - neither else 0.0
        ),
        "fowlkes_mallows": lambda: (
            both / sqrt((both + only_a) * (both + only_b))
            if (both + only_a) * (both + only_b)
            else float(only_a == only_b == 0)
        ),
        "adjusted_rand": lambda: adjusted(points),
        "element_centric": lambda: element_centric(points),
        "mutual_information": lambda: mi,
        "nmi": lambda: float(one_a and one_b) if one_a or one_b else mi / sqrt(h_a * h_b),
        "vi": lambda: h_a + h_b - 2 * mi,
        "information_distance": lambda: max(h_a, h_b) - mi,
        "nvi": lambda: (h_a + h_b - 2 * mi) / log(n) if n > 1 else 0.0,
        "accuracy": lambda: matched(points) / n,
        "purity": lambda: purest(points) / n,
        "category_utility": lambda: utility(points, lambda s: sum(np.square(s))),
        "utility": lambda: mi / log(2),
    }
    return results[name]()
