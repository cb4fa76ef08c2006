"""All pairs of 200 partitions of 10,000 points: adjusted Rand and NMI against scikit-learn.

The partitions have 5 to 50 clusters each and follow a planted one more or less closely, so the
values spread between 0 and 1. Ours is one call of ``compare.pairwise`` on the label vectors, timed
with everything it does; scikit-learn's ``adjusted_rand_score`` and
``normalized_mutual_info_score(average_method="geometric")`` are called pair by pair.

The bar: at least 100 times less CPU time per pair, and values equal to 1e-10.

The whole comparison runs scikit-learn on all 19,900 pairs, which takes minutes; --check runs it on
2,000 pairs drawn at random and compares the time per pair. Ours computes all pairs in both.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import compare

PARTITIONS, POINTS, SAMPLE = 200, 10_000, 2_000
RATIO, TOLERANCE = 100.0, 1e-10
METRICS = ("adjusted_rand", "nmi")


def partitions(rng: np.random.Generator) -> list[np.ndarray]:
    """Return label vectors, each a coarse and noisy copy of a planted partition."""
    planted = rng.integers(0, 60, POINTS)
    vectors = []
    for k in rng.integers(5, 51, PARTITIONS):
        merged = rng.integers(0, k, 60)[planted]
        noisy = rng.random(POINTS) < rng.random()
        vectors.append(np.where(noisy, rng.integers(0, k, POINTS), merged))
    return vectors


def by_scikit_learn(vectors: list[np.ndarray], pairs: np.ndarray) -> np.ndarray:
    """Return (pairs, 2): both scores of every pair, one call each."""
    found = np.empty((len(pairs), 2))
    for p, (i, j) in enumerate(pairs):
        a, b = vectors[i], vectors[j]
        found[p, 0] = adjusted_rand_score(a, b)
        found[p, 1] = normalized_mutual_info_score(a, b, average_method="geometric")
    return found


def main() -> None:
    """Time both and hold them against the bar."""
    options = _common.arguments(__doc__.splitlines()[0])
    rng = np.random.default_rng(0)
    vectors = partitions(rng)
    pairs = np.column_stack(np.triu_indices(PARTITIONS, 1))
    tried = pairs
    if options.check:
        tried = pairs[np.sort(rng.choice(len(pairs), SAMPLE, replace=False))]

    compare.pairwise(vectors[:3], METRICS, progress=False)  # compiles the kernels
    runs = []
    for _ in range(3):
        with _common.measure() as ours:
            result = compare.pairwise(vectors, METRICS, progress=False)
        runs.append(ours.cpu)
    by_scikit_learn(vectors, pairs[:5])
    with _common.measure() as theirs:
        expected = by_scikit_learn(vectors, tried)

    found = np.column_stack([result.matrices[name][tried[:, 0], tried[:, 1]] for name in METRICS])
    difference = float(np.abs(found - expected).max())
    # The median of three runs of ours: one run is short enough for the machine to disturb it.
    our_pair, their_pair = float(np.median(runs)) / len(pairs), theirs.cpu / len(tried)
    ratio = their_pair / our_pair

    print(_common.versions())
    print(f"{PARTITIONS} partitions of {POINTS:,} points, 5 to 50 clusters; adjusted Rand and NMI")
    if options.check:
        print(
            f"scikit-learn was run on {len(tried):,} of the {len(pairs):,} pairs, drawn at random"
        )
    rows = [
        ("clusterscape", f"{len(pairs):,}", f"{np.median(runs):.3f}", f"{our_pair * 1e6:.1f}"),
        ("scikit-learn", f"{len(tried):,}", f"{theirs.cpu:.1f}", f"{their_pair * 1e6:.1f}"),
    ]
    _common.show_table(("", "pairs", "CPU s", "microseconds per pair"), rows)
    print(f"largest difference over the {len(tried):,} pairs: {difference:.1e}")
    _common.finish(
        f"{ratio:.0f}x less CPU time per pair than scikit-learn (bar {RATIO:.0f}x), "
        f"largest difference {difference:.1e} (bar {TOLERANCE:.0e})",
        ratio >= RATIO and difference <= TOLERANCE,
        options.check,
    )


if __name__ == "__main__":
    main()
