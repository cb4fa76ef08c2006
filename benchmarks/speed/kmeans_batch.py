"""Many small k-means problems: one call of the batched kernel against scikit-learn in a loop.

2,000 problems of 200 points and 2 features each, 3 clusters, 20 k-means++ restarts, Lloyd with the
same tolerance, one thread. Half of the problems have three clusters, half have no structure. The
bar: at least 15 times less CPU time with a total inertia that is no higher (0.1 % allowed).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import kernels
from clusterscape._core.parallel import one_thread

PROBLEMS, POINTS, FEATURES, CLUSTERS, RESTARTS = 2000, 200, 2, 3, 20
MAX_ITER, TOL = 300, 1e-4
BAR_RATIO, BAR_INERTIA = 15.0, 1.001


def make_data(seed: int) -> np.ndarray:
    """Return all problems as one feature-major table, two rows per problem."""
    rng = np.random.default_rng(seed)
    data = rng.normal(size=(PROBLEMS, FEATURES, POINTS))
    groups = rng.integers(0, CLUSTERS, size=(PROBLEMS // 2, POINTS))
    centers = 3.0 * rng.normal(size=(PROBLEMS // 2, FEATURES, CLUSTERS))
    data[: PROBLEMS // 2] += np.take_along_axis(centers, groups[:, None, :], axis=2)
    return data.reshape(PROBLEMS * FEATURES, POINTS)


def ours(table: np.ndarray, algorithm: str) -> float:
    """Return the total inertia of all problems."""
    problems = len(table) // FEATURES
    plan = kernels.kmeans.Plan(
        CLUSTERS, True, algorithm == "hartigan", False, RESTARTS, MAX_ITER, TOL
    )
    columns = np.arange(len(table))
    ends = np.arange(0, len(table) + 1, FEATURES)
    seeds = np.random.SeedSequence(0).generate_state(problems, np.uint64)
    fits = kernels.kmeans.fit_many(table, columns, ends, np.ones(POINTS), plan, seeds)
    return float(fits.inertia.sum())


def theirs(table: np.ndarray) -> float:
    """Return the total inertia of all problems."""
    total = 0.0
    for problem, rows in enumerate(table.reshape(-1, FEATURES, POINTS)):
        model = KMeans(CLUSTERS, n_init=RESTARTS, max_iter=MAX_ITER, tol=TOL, random_state=problem)
        total += float(model.fit(rows.T).inertia_)
    return total


def main() -> None:
    """Run both on the same problems."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    table = make_data(0)
    with one_thread():
        for algorithm in ("lloyd", "hartigan"):
            ours(table[:FEATURES], algorithm)  # compile
        theirs(table[: 10 * FEATURES])
        with _common.measure() as peer:
            peer_inertia = theirs(table)
        rows = [["scikit-learn KMeans", f"{peer.cpu:.2f}", "1.0", f"{peer_inertia:.2f}", "1"]]
        found = {}
        for algorithm in ("lloyd", "hartigan"):
            with _common.measure() as taken:
                inertia = ours(table, algorithm)
            ratio, excess = peer.cpu / taken.cpu, inertia / peer_inertia
            found[algorithm] = ratio, excess
            line = [f"clusterscape, {algorithm}", f"{taken.cpu:.2f}", f"{ratio:.1f}"]
            rows.append([*line, f"{inertia:.2f}", f"{excess:.6f}"])
    _common.show_table(["engine", "CPU s", "times faster", "inertia", "inertia ratio"], rows)
    ratio, excess = found["lloyd"]
    _common.finish(
        f"{ratio:.1f} times less CPU time (bar {BAR_RATIO:g}) "
        f"at {excess:.6f} of the inertia (bar {BAR_INERTIA:g})",
        ratio >= BAR_RATIO and excess <= BAR_INERTIA,
        options.check,
    )


if __name__ == "__main__":
    main()
