"""SEC on two million points: memory, agreement with the planted clusters, and growth with n.

50 partitions of 10 to 100 cells refine 10 planted clusters, with one label in ten drawn at random.
The bar: 2,000,000 points within 1.0 GB of peak memory, ARI at least 0.95, and time per point at
2,000,000 no more than 1.3 times that at 200,000. The starts of SEC run on a sample of fixed size;
their time is measured on 20,000 points and taken off before times per point are compared, because
it would flatter the ratio. Beside it scikit-learn's KMeans with one start on the one-hot matrix,
on 200,000 points (without ``--check`` on 2,000,000 as well).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._parallel import one_thread

PARTITIONS, CLUSTERS = 50, 10
SIZES = (20_000, 200_000, 2_000_000)
BAR_MB, BAR_ARI, BAR_GROWTH = 1000.0, 0.95, 1.3


def ours(n: int) -> tuple[float, float, int]:
    """Return the CPU seconds of the quicker of two fits, its ARI and its iterations."""
    from clusterscape.combine import SEC
    from clusterscape.compare import adjusted_rand
    from clusterscape.datasets import make_planted_ensemble

    small, _ = make_planted_ensemble(1000, PARTITIONS, n_clusters=CLUSTERS, random_state=1)
    model = SEC(CLUSTERS, random_state=0)
    model.fit(small)  # compile
    ensemble, planted = make_planted_ensemble(n, PARTITIONS, n_clusters=CLUSTERS, random_state=0)
    seconds = []
    for _ in range(2):
        with _common.measure() as taken:
            model.fit(ensemble)
        seconds.append(taken.cpu)
    return min(seconds), float(adjusted_rand(planted, model.labels_)), model.n_iter_


def theirs(n: int) -> tuple[float, float, int]:
    """Return the same for scikit-learn's KMeans on the one-hot matrix, one start."""
    from sklearn.cluster import KMeans

    from clusterscape.compare import adjusted_rand
    from clusterscape.datasets import make_planted_ensemble

    ensemble, planted = make_planted_ensemble(n, PARTITIONS, n_clusters=CLUSTERS, random_state=0)
    matrix = ensemble.membership(dtype=np.float32).matrix
    with one_thread(), _common.measure() as taken:
        model = KMeans(CLUSTERS, n_init=1, random_state=0).fit(matrix)
    return taken.cpu, float(adjusted_rand(planted, model.labels_)), model.n_iter_


def main() -> None:
    """Measure all sizes, each in a process of its own."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    rows = []
    runs = {}
    for n in SIZES:
        runs[n] = _common.in_fresh_process(ours, n)
        cpu, ari, n_iter = runs[n].result
        rows.append(
            [
                f"SEC, 10 starts, n={n:,}",
                f"{cpu:.2f}",
                n_iter,
                f"{runs[n].peak_mb:.0f}",
                f"{ari:.3f}",
            ]
        )
    for n in SIZES[1:2] if options.check else SIZES[1:]:
        peer = _common.in_fresh_process(theirs, n)
        cpu, ari, n_iter = peer.result
        rows.append(
            [f"KMeans, 1 start, n={n:,}", f"{cpu:.2f}", n_iter, f"{peer.peak_mb:.0f}", f"{ari:.3f}"]
        )
    _common.show_table(["", "CPU s", "iterations", "peak MB", "ARI"], rows)
    starts, middle, large = SIZES
    base = runs[starts].result[0]
    per_point = [
        (runs[n].result[0] - base) / (n - starts) / runs[n].result[2] for n in (middle, large)
    ]
    growth = per_point[1] / per_point[0]
    plain = (runs[large].result[0] / large) / (runs[middle].result[0] / middle)
    print(f"time per point, starts included: x{plain:.2f} from {middle:,}")
    peak, ari = runs[large].peak_mb, runs[large].result[1]
    ok = peak <= BAR_MB and ari >= BAR_ARI and max(growth, plain) <= BAR_GROWTH
    _common.finish(
        f"SEC on {large:,} x {PARTITIONS}: peak {peak:.0f} MB (bar {BAR_MB:.0f}), ARI {ari:.3f} "
        f"(bar {BAR_ARI}), time per point and iteration x{growth:.2f} from {middle:,} "
        f"(bar {BAR_GROWTH})",
        ok,
        options.check,
    )


if __name__ == "__main__":
    main()
