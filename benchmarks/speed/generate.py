"""Generating an ensemble: one worker, two workers, and scikit-learn's KMeans in a plain loop.

Random parameter selection (RPS) on overlapping blobs with 16 columns: every partition draws its
number of clusters from 10 to the square root of the number of points. The loop runs
``sklearn.cluster.KMeans`` with the same k, one start by greedy k-means++ as ours, and the same
limit of iterations.

The bar: two workers are at least 1.6 times faster on the wall than one, and one worker takes no
more CPU time than the loop on one thread, at a total inertia that is no higher (0.5 % allowed).
The loop with all its threads is printed beside them, wall-clock, because that is what people run.

The whole comparison makes 100 partitions of 100,000 points, at most 50 iterations each; --check
makes 16 of 50,000 points, at most 10 iterations.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import Ensemble, PartitionRecord
from clusterscape._core.seeds import restore, sklearn_seed
from clusterscape.generate import EnsembleGenerator, random_k
from clusterscape.generate.plan import child

SPEEDUP, CPU, INERTIA = 1.6, 1.0, 1.005


def features(n: int) -> np.ndarray:
    """Return overlapping blobs with 16 columns."""
    X, _ = make_blobs(n, 16, centers=30, cluster_std=4.0, random_state=0)
    return np.ascontiguousarray(X)


def generator(n_partitions: int, max_iter: int, n_jobs: int) -> EnsembleGenerator:
    """Return ours."""
    return random_k(
        n_partitions,
        n_clusters=10,
        max_iter=max_iter,
        rows="all",
        n_jobs=n_jobs,
        random_state=0,
        progress=False,
    )


def plain_loop(
    X: np.ndarray, records: Sequence[PartitionRecord], max_iter: int, one_thread: bool
) -> float:
    """Run scikit-learn on the same tasks; return the sum of the inertias."""
    total = 0.0
    with threadpool_limits(1) if one_thread else nullcontext():
        for record in records:
            seed = child(restore(dict(record.seed or {})), "algorithm")
            model = KMeans(
                record.params["n_clusters"],
                n_init=1,
                max_iter=max_iter,
                random_state=sklearn_seed(seed),
            )
            total += float(model.fit(X).inertia_)
    return total


def total_cost(ensemble: Ensemble) -> float:
    """Return the sum of the inertias of all members."""
    return sum(record.cost or 0.0 for record in ensemble.records)


def main() -> None:
    """Time the four ways and hold them against the bar."""
    options = _common.parser(__doc__.splitlines()[0])
    options.add_argument("--max-iter", type=int, help="iterations of a partition at most")
    given = options.parse_args()
    n, n_partitions, max_iter = (50_000, 16, 10) if given.check else (100_000, 100, 50)
    max_iter = given.max_iter or max_iter
    print(_common.versions())
    X = features(n)
    # Compile the kernels and start the threads before the clock.
    generator(2, 2, 2).generate(X[:500])
    with _common.measure() as one:
        ensemble = generator(n_partitions, max_iter, 1).generate(X)
    with _common.measure() as two:
        again = generator(n_partitions, max_iter, 2).generate(X)
    with _common.measure() as loop:
        theirs = plain_loop(X, ensemble.records, max_iter, True)
    with _common.measure() as threaded:
        plain_loop(X, ensemble.records, max_iter, False)
    print(
        f"{n_partitions} partitions of {n:,} x 16, k = {ensemble.n_clusters.min()}"
        f"..{ensemble.n_clusters.max()}, at most {max_iter} iterations"
        f"{' (reduced for --check)' if given.check else ''}"
    )
    taken = {
        "ours, n_jobs=1": one,
        "ours, n_jobs=2": two,
        "scikit-learn loop, 1 thread": loop,
        "scikit-learn loop, its threads": threaded,
    }
    _common.show_table(
        ["run", "wall s", "CPU s"],
        [[name, f"{t.wall:.2f}", f"{t.cpu:.2f}"] for name, t in taken.items()],
    )
    speedup, cpu = one.wall / two.wall, one.cpu / loop.cpu
    inertia = total_cost(ensemble) / theirs
    print(f"same ensemble for both n_jobs: {ensemble == again}; inertia ours/theirs {inertia:.5f}")
    print(f"wall, n_jobs=2 against the loop with its threads: {threaded.wall / two.wall:.2f} x")
    _common.finish(
        f"n_jobs=2 is {speedup:.2f} x faster than 1 (bar {SPEEDUP}), CPU ours/scikit-learn "
        f"{cpu:.3f} (bar {CPU:g})",
        speedup >= SPEEDUP and cpu <= CPU and inertia <= INERTIA and ensemble == again,
        given.check,
    )


if __name__ == "__main__":
    main()
