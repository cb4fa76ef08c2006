"""Gibbs sweeps over partitions per CPU second, beside a plain loop on the same points.

A sweep draws the cluster of every point once. Points lie around s centres in 8 dimensions; the
quality is Q_w-s with a Gaussian kernel; all kernel values are kept for 150 and 2,414 points, 200
random features for 48,842. Samples are kept after every sweep, as ``PartitionSampler`` does. Every
sweep looks at all clusters of every point; what differs is how many points move, which costs more.
So each size is measured at three powers: that which the pilot run of ``power="auto"`` finds, where
few points move; 4 n, a power that does not depend on the pilot; and the literal power 1, where most
points move. The bars are for the slower of the first two.

The plain loop computes the same sums and the same qualities for each candidate in numba: row sums
of the kernel by looking at all points (or all features) of a cluster again, no table, no blocks. It
is no library, only what one writes first, and it is held against nothing.

The bars: 60,000 sweeps per CPU second at n=150 and s=3, 500 at n=2,414 and s=10, 50 at n=48,842 and
s=10, in a process that takes less than 500 MB there.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

# Points, clusters, sweeps per CPU second, sweeps to measure.
SIZES = [(150, 3, 60_000, 20_000), (2_414, 10, 500, 300), (48_842, 10, 50, 40)]
STATED = 4.0  # the power over n
PEAK_MB = 500.0


def points(n: int, s: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points around s centres, and their centres' numbers."""
    rng = np.random.default_rng(0)
    labels = rng.integers(s, size=n)
    return 3.0 * rng.normal(size=(s, 8))[labels] + rng.normal(size=(n, 8)), labels


def measured(n: int, s: int, sweeps: int, power: str | float) -> tuple[float, float, float, float]:
    """Return sweeps per CPU second, the power, the share of points that move, and peak MB."""
    from clusterscape.explore import PartitionSampler
    from clusterscape.explore.sampler import _Run
    from clusterscape.explore.walk import Task, run_round, sweeps_per_round
    from clusterscape.generate.features import read_features

    X, _ = points(n, s)
    sampler = PartitionSampler(
        s, quality="separation", power=power, n_chains=1, n_temperatures=1, merge_split=0,
        random_state=0, progress=False,
    )  # fmt: skip
    with one_thread():
        features = read_features(X)
        space = sampler._space(features, np.random.SeedSequence(0))
        walk = sampler._walk(features, space, s)
        run = _Run([walk], [], sampler)
        run._begin([np.random.SeedSequence(0).spawn(5)])
        chain, powers = run.chains[0], run.powers[0]
        each = min(sweeps_per_round(n, 1), sweeps)
        warm = run_round(Task(walk, chain, powers, min(each, 20), 1))
        chain, moved, done, seconds = warm.chain, 0, 0, 0.0
        while done < sweeps:
            start = time.process_time()
            found = run_round(Task(walk, chain, powers, each, 1))
            seconds += time.process_time() - start
            chain, done = found.chain, done + each
            moved += int(found.counts[0, 0])
    return done / seconds, float(powers[0]), moved / (done * n), _common.peak_memory_mb()


def plain_sweeps(n: int, s: int, power: float, seconds: float) -> float:
    """Return sweeps per CPU second of a plain loop."""
    import numba

    from clusterscape.explore.quality import QUALITIES

    X, labels = points(n, s)
    how: dict[str, Any] = {"kernel": "gaussian", "bandwidth": "median", "n_components": "auto"}
    space = QUALITIES["separation"].space(X, **how, random_state=0)

    @numba.njit(nogil=True)
    def sweep(basis: Any, dense: bool, labels: Any, s: int, power: float) -> None:
        n, width = basis.shape
        sums = np.zeros((s, width))
        sizes = np.zeros(s)
        for x in range(n):
            sums[labels[x]] += basis[x]
            sizes[labels[x]] += 1
        pairs = np.zeros((s, s))
        for x in range(n):
            for j in range(s):
                pairs[labels[x], j] += sums[j, x] if dense else np.dot(sums[j], basis[x])
        rows, weights = np.empty(s), np.empty(s)
        for x in np.random.permutation(n):  # noqa: NPY002
            a = labels[x]
            if sizes[a] <= 1:
                continue
            sums[a] -= basis[x]
            sizes[a] -= 1
            own = basis[x, x] if dense else 1.0
            for j in range(s):
                rows[j] = sums[j, x] if dense else np.dot(sums[j], basis[x])
            pairs[a] -= rows
            pairs[:, a] -= rows
            pairs[a, a] -= own
            for b in range(s):
                pairs[b] += rows
                pairs[:, b] += rows
                pairs[b, b] += own
                sizes[b] += 1
                kappa = pairs / np.outer(sizes, sizes)
                width_sum = np.trace(kappa)
                weights[b] = power * np.log(width_sum**2 - kappa.sum() + s * s / 4)
                sizes[b] -= 1
                pairs[b] -= rows
                pairs[:, b] -= rows
                pairs[b, b] -= own
            weights = np.cumsum(np.exp(weights - weights.max()))
            b = np.searchsorted(weights, np.random.random() * weights[-1])  # noqa: NPY002
            pairs[b] += rows
            pairs[:, b] += rows
            pairs[b, b] += own
            sums[b] += basis[x]
            sizes[b] += 1
            labels[x] = b

    codes = labels.astype(np.int64)
    with one_thread():
        sweep(space.basis, space.is_dense, codes, s, power)
        count, start = 0, time.process_time()
        while time.process_time() - start < seconds:
            sweep(space.basis, space.is_dense, codes, s, power)
            count += 1
        return count / (time.process_time() - start)


def main() -> None:
    """Print the table and hold the bars."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    rows, held = [], []
    for n, s, bar, sweeps in SIZES:
        speed, power, moved, peak = _common.in_fresh_process(measured, n, s, sweeps, "auto").result
        stated = _common.in_fresh_process(measured, n, s, sweeps, STATED * n).result
        literal = _common.in_fresh_process(measured, n, s, max(sweeps // 4, 10), 1.0).result
        plain = 0.0
        if not options.check:
            plain = _common.in_fresh_process(plain_sweeps, n, s, STATED * n, 3.0).result
        rows.append(
            [
                f"n={n:,}, s={s}", f"{bar:,}", f"{power / n:.2g} n", f"{speed:,.0f}",
                f"{moved:.1%}", f"{stated[0]:,.0f}", f"{stated[2]:.1%}", f"{literal[0]:,.0f}",
                f"{literal[2]:.0%}", f"{plain:,.1f}" if plain else "", f"{peak:,.0f}",
            ]
        )  # fmt: skip
        slower = min(speed, stated[0])
        held.append(
            (f"{n:,} points: {slower:,.0f} sweeps per CPU second (bar {bar:,})", slower >= bar)
        )
        peak = max(peak, stated[3])
    held.append((f"{n:,} points: {peak:,.0f} MB (bar {PEAK_MB:g})", peak < PEAK_MB))
    header = ["", "bar", "auto", "sweeps/s", "moved", f"{STATED:g} n", "moved", "power 1", "moved"]
    header += [f"plain loop, {STATED:g} n", "peak MB"]
    _common.show_table(header, rows)
    for sentence, ok in held:
        print(f"{sentence}: {'reached' if ok else 'MISSED'}")
    count = sum(ok for _, ok in held)
    _common.finish(f"{count} of {len(held)} bars", count == len(held), options.check)


if __name__ == "__main__":
    main()
