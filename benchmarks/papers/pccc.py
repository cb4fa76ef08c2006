"""COPKMeans on PCCC's largest instances: Letter and MNIST, 1 and 5 per cent of the points.

PCCC (Baumann, Hochbaum) solves the assignment of every k-means step as an integer program with a
commercial solver. Its collection 4 draws pairs among all points, as many as 1 or 5 per cent of the
points have among themselves, and keeps the first half of them by row number; features are
standardised. Figures printed for it (ARI over all points, the constrained ones included, and
seconds on its machine) stand beside ours on the very same pairs. Must-links join random points, so
at 5 per cent they chain most of a class together, and ARI says little about generalising.

PCCC measures Euclidean distances; so do we with ``metric="euclidean"``. ``metric="learned"`` learns
a metric from the same must-links. It was chosen on other sets and other pairs, and its rows are the
ones that count; those of the other stand beside them.

The bars: no certain constraint violated, ARI at least PCCC's printed figure (to its three digits)
on the mean over the seeds, in less time than its own, and MNIST with 1 per cent in under a minute.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread
from clusterscape.compare import adjusted_rand
from clusterscape.semisupervised import Constraints, COPKMeans

# ARI and seconds of PCCC; of k-means and COP-KMeans where the tables have them.
ROWS: dict[tuple[str, str], tuple[float, float, str]] = {
    ("letter", "1"): (0.162, 79, "k-means .149, COP-KMeans .154 in 842 s"),
    ("letter", "5"): (0.730, 640, "the others none in 3,600 s"),
    ("mnist", "1"): (0.683, 2920, "the others none in 3,600 s"),
    ("mnist", "5"): (1.000, 27, "the others none in 3,600 s"),
}
METRICS = ("euclidean", "learned")
MOST = {("mnist", "1"): 60.0}  # seconds, where the bar is stricter than PCCC's


def instance(name: str, share: str, home: Path | None) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Return features, classes, must-links and cannot-links."""
    data = _common.load(name, home)
    y = np.unique(np.asarray(data.target), return_inverse=True)[1]
    X = np.asarray(data.data, dtype=np.float32)
    scale = X.std(axis=0)
    X = np.ascontiguousarray(((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1))[:, scale > 0])
    folder = _common.data_home(home)
    if folder is None or not (folder / f"pccc_{name}.npz").exists():
        sys.exit(
            f"needs pccc_{name}.npz, the pairs of PCCC's collection 4 (drawn by the rule of "
            "github.com/phil85/PCCC-Data), in the folder of the datasets."
        )
    with np.load(folder / f"pccc_{name}.npz", allow_pickle=False) as pairs:
        if f"ml_{share}" in pairs:
            return X, y, pairs[f"ml_{share}"], pairs[f"cl_{share}"]
        code = np.cumsum(pairs[f"code_gap_{share}"], dtype=np.int64)
    ends = np.column_stack([code // len(y), code % len(y)])
    same = y[ends[:, 0]] == y[ends[:, 1]]
    return X, y, ends[same], ends[~same]


def study(name: str, share: str, metric: str, options: Any) -> tuple[list[object], bool]:
    """Run one instance; return its row and whether it holds the bars."""
    X, y, must, cannot = instance(name, share, options.data_home)
    wanted, theirs, _ = ROWS[name, share]
    found = []
    for seed in range(options.seeds):
        with one_thread(), _common.measure() as taken:
            known = Constraints(len(y), must_link=must, cannot_link=cannot)
            model = COPKMeans(int(y.max()) + 1, metric=metric, random_state=seed)
            model.fit(X, constraints=known)
        free = np.setdiff1d(np.arange(len(y)), known.points)
        rest = adjusted_rand(model.labels_[free], y[free]) if free.size > 1 else float("nan")
        found.append(
            (adjusted_rand(model.labels_, y), model.violations_.count, taken.wall, taken.cpu, rest)
        )
    table = np.array(found)
    ari, wrong, wall = table[:, 0].mean(), int(table[:, 1].max()), table[:, 2].max()
    limit = MOST.get((name, share), theirs)
    ok = wrong == 0 and round(float(ari), 3) >= wanted and wall < limit
    shown = f"{ari:.3f} ({table[:, 0].min():.3f} to {table[:, 0].max():.3f})"
    rest_shown = "none" if np.isnan(table[:, 4]).any() else f"{table[:, 4].mean():.3f}"
    return [
        f"{name} {share} %", metric, f"{len(must):,}", f"{len(cannot):,}", wrong, shown,
        f"{wanted:.3f}", rest_shown, f"{wall:.1f}", f"{table[:, 3].mean():.1f}", f"{theirs:,}",
        "held" if ok else "MISSED",
    ], ok  # fmt: skip


def main() -> None:
    """Run the instances asked for."""
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--seeds", type=int, help="seeds of each figure; by default 5")
    made.add_argument("--only", nargs="+", help="instances such as letter-1")
    made.add_argument("--metrics", nargs="+", choices=METRICS, default=METRICS)
    options = made.parse_args()
    options.seeds = options.seeds or (1 if options.check else 5)
    names = options.only or (["letter-1", "letter-5"] if options.check else None)
    chosen = [key for key in ROWS if names is None or "-".join(key) in names]
    print(_common.versions())
    warm = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)
    links = np.random.default_rng(0).permutation(60)[:40].reshape(-1, 2)
    chain = np.column_stack([np.arange(20), np.arange(1, 21)])
    for pairs in (links, chain):
        COPKMeans(3, random_state=0).fit(warm, constraints=Constraints(60, cannot_link=pairs))
    results = [study(*key, metric, options) for key in chosen for metric in options.metrics]
    header = ["instance", "metric", "must", "cannot", "violated", f"ARI of {options.seeds} seeds",
              "PCCC", "free points", "most s", "CPU s", "PCCC s", "bars"]  # fmt: skip
    _common.show_table(header, [row for row, _ in results])
    fine = {m: sum(ok for row, ok in results if row[1] == m) for m in options.metrics}
    text = ", ".join(f"metric {m}: {count} of {len(chosen)}" for m, count in fine.items())
    _common.finish(f"bars held: {text}", fine[options.metrics[-1]] == len(chosen), options.check)


if __name__ == "__main__":
    main()
