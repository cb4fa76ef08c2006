"""Cluster forests: against the same algorithm made of scikit-learn's parts, and on many points.

WDBC and Madelon, raw features, 100 vectors, k-means with 20 random starts: ours, and a plain
program of the same growth rule with ``KMeans`` for every try and ``SpectralClustering`` on the
dense regularised matrix, each on one thread. SpectralClustering does not cut by sign, so ours
has ``ncut="kway"`` here; of its ways to assign points "cluster_qr" is the quickest and gives the
same clusters as our unit rows. Ours with its default, recursive cuts by sign, is printed as well.
The bars: at least 20 times less CPU time, and a mean rho_c over seeds that differs by no more than
two standard errors.

Then three Gaussians in 20 of 100 columns, the other 80 noise, up to 100,000 points. Memory must
grow linearly at most: twice the points take no more than 2.2 times what a process took beyond its
compiled code. And on 5,000 of the points the labels, extended from landmarks, must be as accurate
as those of the exact cut of the same vectors on these points, less one percent. Beside it a forest
grown on the 5,000 alone, all pairs cut. A weak forest, of few vectors and starts, comes last: there
the place of the cut varies from sample to sample, for the exact cut as well, so that the labels are
compared with the mean of the exact cuts of four samples, and the range of these is printed.

``--check`` has WDBC alone with fewer seeds, fewer points, vectors and starts, and no forest grown
on the 5,000 alone.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread
from clusterscape.compare import accuracy
from clusterscape.forest import ClusterForest

T, B, PATIENCE, STARTS, MAX_ITER = 100, 2, 3, 20, 200
THRESHOLD, SCALE = 0.4, 10.0
FASTER = 20.0
GROWTH, LOSS = 2.2, 0.01
WEAK, WEAK_STARTS, SAMPLES = 30, 2, 4
COLUMNS, INFORMATIVE, CLUSTERS, COMPETITORS, SAMPLE = 100, 20, 3, 5, 5_000


# -- the same algorithm in scikit-learn ---------------------------------------------------------


def grow(X: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Grow a clustering vector: take the columns of a draw as long as they lower kappa."""
    from sklearn.cluster import KMeans

    total = ((X - X.mean(axis=0)) ** 2).sum(axis=0)

    def cluster(columns: np.ndarray) -> tuple[float, np.ndarray]:
        model = KMeans(
            k,
            init="random",
            n_init=STARTS,
            max_iter=MAX_ITER,
            tol=0.0,
            random_state=int(rng.integers(2**31)),
        ).fit(X[:, columns])
        between = total[columns].sum() - model.inertia_
        return (model.inertia_ / between if between > 0 else np.inf), model.labels_

    taken = rng.choice(X.shape[1], B, replace=False)
    kappa, labels = cluster(taken)
    failed = 0
    while failed < PATIENCE:
        tried = np.concatenate([taken, rng.choice(X.shape[1], B, replace=False)])
        found, new = cluster(tried)
        if found < kappa:
            taken, kappa, labels, failed = tried, found, new, 0
        else:
            failed += 1
    return labels


def theirs(X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the clusters of a forest that is made of scikit-learn's parts."""
    from sklearn.cluster import SpectralClustering

    rng = np.random.default_rng(seed)
    vectors = [grow(X, k, rng) for _ in range(T)]
    members = np.concatenate([np.eye(k)[labels] for labels in vectors], axis=1)
    shares = members @ members.T / T
    shares[shares < THRESHOLD - 1e-12] = 0.0
    model = SpectralClustering(
        k, affinity="precomputed", assign_labels="cluster_qr", random_state=seed
    )
    return model.fit_predict(np.exp(SCALE * shares))


def ours(X: np.ndarray, k: int, seed: int, ncut: Any = "kway") -> np.ndarray:
    """Return the clusters of ClusterForest with the same setting."""
    model = ClusterForest(
        k,
        n_vectors=T,
        features_per_draw=B,
        patience=PATIENCE,
        kappa="anova",
        n_init=STARTS,
        max_iter=MAX_ITER,
        threshold=THRESHOLD,
        scale=SCALE,
        ncut=ncut,
        random_state=seed,
        n_jobs=1,
        progress=False,
    )
    return model.fit(X).labels_


class Timed(NamedTuple):
    """CPU seconds of a run (the median) and rho_c of all runs, in percent."""

    seconds: float
    scores: np.ndarray


def timed(run: Any, data: Any, seeds: int, **options: Any) -> Timed:
    """Cluster a set with several seeds."""
    k = len(np.unique(data.target))
    X = np.ascontiguousarray(data.data)
    seconds, scores = [], []
    for seed in range(seeds):
        with _common.measure() as taken:
            labels = run(X, k, seed, **options)
        seconds.append(taken.cpu)
        scores.append(100 * float(accuracy(data.target, labels)))
    return Timed(float(np.median(seconds)), np.array(scores))


def compare(options: Any) -> list[tuple[str, bool]]:
    """Measure both on the sets; return the sentences of the bars and whether they are reached."""
    chosen = (
        {"WDBC": ("wdbc", 2)}
        if options.check
        else {"WDBC": ("wdbc", 10), "Madelon": ("madelon", 10)}
    )
    rows, said = [], []
    for title, (name, seeds) in chosen.items():
        data = _common.load(name, options.data_home)
        with one_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # raw features, whatever their scales
            for ncut in ("kway", "recursive"):
                ours(data.data[:300], 2, 0, ncut)  # compile
            mine = timed(ours, data, 20)
            default = timed(ours, data, 20, ncut="recursive")
            peer = timed(theirs, data, seeds)
        lines = {"clusterscape": mine, "  recursive, by sign": default, "scikit-learn": peer}
        for word, (seconds, scores) in lines.items():
            rho = f"{scores.mean():.1f}+-{scores.std():.1f}"
            ratio = f"{peer.seconds / seconds:.0f}"
            rows.append([f"{title}, {word}", f"{seconds:.2f}", ratio, len(scores), rho])
        gap = float(mine.scores.mean() - peer.scores.mean())
        both = np.concatenate([mine.scores - mine.scores.mean(), peer.scores - peer.scores.mean()])
        error = both.std(ddof=2) * np.sqrt(1 / len(mine.scores) + 1 / seeds)
        times = peer.seconds / mine.seconds
        said.append(
            (
                f"{title}: {times:.0f} times less CPU (bar {FASTER:g}), rho_c {gap:+.1f} "
                f"(standard error {error:.1f}, bar 2 of them)",
                times >= FASTER and abs(gap) <= 2 * error + 1e-9,
            )
        )
    print("\nCPU seconds of a forest of 100 vectors, one thread; rho_c over seeds")
    _common.show_table(["", "CPU s", "times faster", "seeds", "rho_c"], rows)
    return said


# -- many points --------------------------------------------------------------------------------


def mixture(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return three Gaussians that differ in 20 of 100 columns; fewer points are the first ones."""
    centres = np.random.default_rng(0).normal(size=(CLUSTERS, INFORMATIVE))
    X = np.empty((n, COLUMNS), dtype=np.float32)
    y = np.empty(n, dtype=np.int64)
    for block, start in enumerate(range(0, n, SAMPLE)):
        rng = np.random.default_rng((1, block))
        part = slice(start, min(start + SAMPLE, n))
        y[part] = rng.integers(CLUSTERS, size=SAMPLE)[: part.stop - start]
        X[part] = rng.normal(size=(SAMPLE, COLUMNS))[: part.stop - start]
        X[part, :INFORMATIVE] += centres[y[part]]
    return X, y


class Size(NamedTuple):
    """How a forest is grown on the mixture, and on how many samples its cut is made exactly."""

    n: int
    vectors: int
    starts: int
    landmarks: Any = "auto"
    samples: int = 1


def exact_labels(model: ClusterForest, points: np.ndarray) -> np.ndarray:
    """Return the clusters of some points by the exact cut of a forest's vectors on them alone."""
    from clusterscape.linalg import ThresholdedCoassociation, recursive_ncut

    rows, inverse = model.ensemble_.subset(points).compress()
    weights = rows.sample_weight
    matrix = ThresholdedCoassociation(
        rows.coassociation(), THRESHOLD, scale=SCALE, diagonal=1.0, sample_weight=weights
    )
    return recursive_ncut(matrix, CLUSTERS, weights=weights).labels[inverse]


def large_forest(size: Size) -> dict[str, Any]:
    """Fit the mixture; return seconds, accuracies, and how exact the extension is on samples."""

    def forest(landmarks: Any) -> ClusterForest:
        return ClusterForest(
            CLUSTERS,
            n_vectors=size.vectors,
            n_competitors=COMPETITORS,
            n_init=size.starts,
            threshold=THRESHOLD,
            scale=SCALE,
            landmarks=landmarks,
            random_state=0,
            n_jobs=2,
            progress=False,
        )

    forest(100).set_params(n_vectors=5).fit(mixture(600)[0])  # compile
    base = _common.peak_memory_mb()
    X, y = mixture(size.n)
    with one_thread(), _common.measure() as taken:
        model = forest(size.landmarks).fit(X)
    peak = _common.peak_memory_mb()
    sample, exact, same = [], [], []
    for points in np.arange(size.samples * SAMPLE).reshape(size.samples, SAMPLE):
        labels = exact_labels(model, points)
        sample.append(float(accuracy(y[points], model.labels_[points])))
        exact.append(float(accuracy(y[points], labels)))
        same.append(float(accuracy(labels, model.labels_[points])))
    return {
        "cpu": taken.cpu,
        "wall": taken.wall,
        "peak": peak,
        "own": peak - base,
        "landmarks": model.n_landmarks_,
        "agreement": model.landmark_agreement_,
        "all": float(accuracy(y, model.labels_)),
        "sample": float(np.mean(sample)),
        "exact": float(np.mean(exact)),
        "range": (min(exact), max(exact)),
        "same": float(np.mean(same)),
    }


def show_sizes(found: dict[Size, dict[str, Any]]) -> None:
    """Print a line for each forest."""
    rows = []
    for size, figures in found.items():
        names = ("all", "sample", "exact", "same", "agreement")
        shares = [f"{figures[name]:.3f}" for name in names]
        marks = int(figures["landmarks"]) or "exact"
        taken = [f"{figures[name]:.0f}" for name in ("cpu", "wall", "peak", "own")]
        rows.append([f"{size.n:,}", size.vectors, size.starts, marks, *taken, *shares])
    print(
        f"\n{CLUSTERS} Gaussians in {INFORMATIVE} of {COLUMNS} columns, q={COMPETITORS}, two "
        f"workers. Accuracy of all points, and of samples of {SAMPLE:,}\n({SAMPLES} for the weak "
        "forest, the last line, otherwise the first one): extended, cut exactly, and the share\n"
        "that is the same in both; then landmark_agreement_"
    )
    header = ["points", "vectors", "starts", "landmarks", "CPU s", "wall s", "peak MB", "own MB"]
    _common.show_table([*header, "all", "sample", "exact", "same", "sets"], rows)


def grow_with_n(check: bool) -> list[tuple[str, bool]]:
    """Measure memory and accuracy at several sizes, each in a process of its own."""
    counts = (8_000, 16_000) if check else (25_000, 50_000, 100_000)
    vectors, starts = (50, WEAK_STARTS) if check else (T, STARTS)
    alone = Size(SAMPLE, vectors, starts, None)
    sizes = [Size(n, vectors, starts) for n in counts]
    poor = Size(20_000 if check else 50_000, WEAK, WEAK_STARTS, "auto", SAMPLES)
    every = [*sizes, poor] if check else [alone, *sizes, poor]
    found = {size: _common.in_fresh_process(large_forest, size).result for size in every}
    show_sizes(found)
    used = [found[size]["own"] for size in sizes]
    growth = max(more / less for less, more in zip(used[:-1], used[1:], strict=True))
    last, weak = found[sizes[-1]], found[poor]
    low, high = weak["range"]
    own = "" if check else f"; {found[alone]['all']:.3f} for a forest of its own"
    return [
        (
            f"{counts[-1]:,} points: {last['peak']:.0f} MB, {last['own']:.0f} of them beyond the "
            f"compiled code; times {growth:.2f} for twice the points (bar {GROWTH:g})",
            growth <= GROWTH,
        ),
        (
            f"{SAMPLE:,} of {counts[-1]:,} points: accuracy {last['sample']:.3f} extended, "
            f"{last['exact']:.3f} exact (bar {LOSS:g} below){own}",
            last["sample"] >= last["exact"] - LOSS,
        ),
        (
            f"weak forest, {SAMPLES} times {SAMPLE:,} of {poor.n:,} points: accuracy "
            f"{weak['sample']:.3f} extended, {weak['exact']:.3f} exact, from {low:.3f} to "
            f"{high:.3f} (bar {LOSS:g} below the mean)",
            weak["sample"] >= weak["exact"] - LOSS,
        ),
    ]


def main() -> None:
    """Compare, grow, and check the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("peer", "scale"), help="both unless given")
    options = parser.parse_args()
    print(_common.versions())
    said = []
    if options.part != "scale":
        said += compare(options)
    if options.part != "peer":
        said += grow_with_n(options.check)
    print()
    for sentence, held in said:
        print(f"{sentence}: {'reached' if held else 'MISSED'}")
    count = sum(held for _, held in said)
    _common.finish(f"{count} of {len(said)} bars", count == len(said), options.check)


if __name__ == "__main__":
    main()
