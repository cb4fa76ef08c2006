"""Lifted clusters: LiftEMD against CDistance, the lifting against one product, and all pairs.

All times are CPU seconds of one thread. Reading data, clustering it, importing libraries and
compiling kernels are in none of them.

distance: LiftEMD and CDistance of the true classes and a k-means partition, on Wine and rows of
MNIST (Table 3.2 of Raman's dissertation), and of reference and first partition of 2D3C and 2D2C,
whose clusters k-means finds exactly. Every time is from features and labels to the value.

- LiftEMD: checks of the input, bandwidth, random features, lifting, transport of the clusters. rho
  as there: 200, and 4,000 on MNIST; beside it the library's default, exact up to 3,000 points and
  1,000 features above.
- CDistance of this library: checks, distances of points, transport of every pair of clusters
  without the points that both have, transport of the clusters.
- CDistance with POT, point to point and without checks: features as float64 and split by cluster,
  scipy's ``cdist`` and ``ot.emd2`` for every pair of clusters, ``ot.emd2`` of the clusters. Beside
  it the same with the costs by ``ot.dist``, which takes one product and is the faster in many
  dimensions but accurate to about 1e-8; its costs are timed, the transports are counted once.

The bar: CDistance, the fastest of these three, takes at least 4.5 times the CPU of LiftEMD at
rho=4,000 (1360 s / 304 s in the paper) at 10,000 points, all run whole, and its values are equal to
1e-9. The number of rows from which LiftEMD is the faster is printed.

lifting: 60,000 x 784 of MNIST at rho=4,000. cos/sin pairs need the product of X with 2,000
directions, which is the limit: ``np.matmul`` of float32 into a result that is already in memory,
nothing else. ``lift`` is timed from float32 X and a partition to the unit vectors of its clusters,
with bandwidth and directions. Each is the best of several runs in a process of its own. The bars:
at most 3 times the CPU of that product, and a process (interpreter, libraries and data in it) that
stays below 1,500 MB. The product with 4,000 directions and the lifting of ten partitions at once
stand beside.

pairs: all pairs of 1,000 partitions of 10,000 points with 8 to 12 clusters by ``pairwise``, against
``ot.emd2`` called pair by pair on the same lifted vectors, its costs by scipy's ``cdist``. The
bar: at least 3 times less CPU, values equal to 1e-9. ``pairwise`` has the lifting in its time, and
the same lifting is added to POT's; the ratios of the pairs alone, and with the lifting on our side
only, stand beside.

``--check`` runs only what the bars are about, and less of it. The bar of the distances is held at
4,000 points, where all of CDistance can be run whole; at 10,000 the time with POT is an estimate
that is printed and held against nothing: some pairs of clusters, from the smallest to the largest,
scaled to all by the sizes of their cost matrices, while what is done once is not scaled. Of all
pairs of partitions POT gets a random sample, scaled to all, the splitting of the vectors not.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import Ensemble, compare
from clusterscape._core.parallel import one_thread

RATIO_DISTANCE, RATIO_PRODUCT, RATIO_PAIRS = 4.5, 3.0, 3.0
PEAK_MB, TOLERANCE = 1_500.0, 1e-9
FEW, MANY = 200, 4_000  # random features: of small sets, and of MNIST
LARGE, CHECKED, WHOLE = 10_000, 4_000, 60_000  # points of MNIST
PARTITIONS, POINTS, COMPONENTS = 1_000, 10_000, 1_000
SAMPLED_CLUSTERS, SAMPLED_PAIRS = 5, 5_000  # where POT is not run whole
# Table 3.2: seconds of CDistance and LiftEMD.
PAPER = {
    "2D3C": (0.00203, 0.00102),
    "2D2C": (0.00410, 0.00195),
    "Wine": (0.0188, 0.0069),
    f"MNIST {LARGE:,}": (1360.2, 303.9),
    f"MNIST {WHOLE:,}": (202681.0, 1774.2),
}


# -- LiftEMD against CDistance ------------------------------------------------------------------


class Task(NamedTuple):
    """Two partitions of some points."""

    title: str
    X: np.ndarray
    truth: np.ndarray
    found: np.ndarray
    components: int


@functools.cache
def mnist(home: Path | None) -> Any:
    """Return MNIST, which is slow to read."""
    return _common.load("mnist", home)


def kmeans_labels(X: np.ndarray, k: int) -> np.ndarray:
    """Return a k-means partition."""
    from clusterscape.linalg.kmeans import kmeans

    return kmeans(X, k, n_init=1, seed=np.random.SeedSequence(0)).labels


def tasks(options: Any) -> list[Task]:
    """Return the sets of Table 3.2 and more rows of MNIST."""
    from clusterscape.datasets import make_2d2c, make_2d3c

    made = []
    for title, triple in (("2D3C", make_2d3c()), ("2D2C", make_2d2c())):
        made.append(Task(title, triple.X, triple.reference, triple.near, FEW))
    wine = _common.load("wine", options.data_home)
    X = np.ascontiguousarray(wine.data, dtype=np.float64)
    made.append(Task("Wine", X, wine.target, kmeans_labels(X, 3), FEW))
    digits = mnist(options.data_home)
    sizes = (1_000, CHECKED) if options.check else (100, 200, 500, 1_000, 2_000, 5_000)
    for n in (*sizes, LARGE):
        # The last rows are the test data of the source, which are 10,000.
        rows = np.arange(len(digits.target) - n, len(digits.target))
        X = np.ascontiguousarray(digits.data[rows], dtype=np.float32)
        made.append(Task(f"MNIST {n:,}", X, digits.target[rows], kmeans_labels(X, 10), MANY))
    return made


def default_emd(task: Task) -> float:
    """Return LiftEMD as the library computes it unless told otherwise."""
    return float(compare.lift_emd(task.truth, task.found, task.X))


def lift_emd(task: Task) -> float:
    """Return LiftEMD by as many random features as the source has."""
    return float(compare.lift_emd(task.truth, task.found, task.X, n_components=task.components))


def our_cdistance(task: Task) -> float:
    """Return CDistance by this library, exact for any size."""
    return float(compare.cdistance(task.truth, task.found, task.X, max_points=LARGE))


class Peer(NamedTuple):
    """CDistance with POT: CPU seconds with costs by cdist and by ot.dist, and the value (cdist)."""

    seconds: float
    by_product: float
    value: float


def pot_cdistance(task: Task, sampled: int | None = None) -> Peer:
    """Measure CDistance written with POT: every pair of clusters, then the clusters.

    With ``sampled`` only so many pairs of clusters are computed, evenly from the smallest to the
    largest. Their time is scaled to all pairs by the sizes of the cost matrices; all else (features
    as float64, splitting them, transport of the clusters) is as it was. There is no value then.
    """
    import ot
    from scipy.spatial.distance import cdist

    costing, multiplying, moving = 0.0, 0.0, 0.0
    with _common.measure() as everything:
        X = task.X.astype(np.float64)
        sides = [[X[labels == c] for c in np.unique(labels)] for labels in (task.truth, task.found)]
        shares = [np.array([len(rows) for rows in side]) / len(X) for side in sides]
        sizes = np.outer(*shares)
        order = np.argsort(sizes, axis=None, kind="stable")
        step = 1 if sampled is None else order.size // sampled
        chosen = order[step // 2 :: step]
        between = np.zeros(sizes.shape)
        for i, j in zip(*np.unravel_index(chosen, sizes.shape), strict=True):
            left, right = sides[0][i], sides[1][j]
            with _common.measure() as taken:
                costs = cdist(left, right)
            costing += taken.cpu
            with _common.measure() as taken:
                ot.dist(left, right, metric="euclidean")
            multiplying += taken.cpu
            with _common.measure() as taken:
                # Uniform masses; POT's default limit of 100,000 steps is too low for large pairs.
                between[i, j] = ot.emd2([], [], costs, numItermax=10_000_000)
            moving += taken.cpu
        plain = float(shares[0] @ between @ shares[1])
        value = float(ot.emd2(*shares, between)) / plain if plain > 0 else 0.0
    once = everything.cpu - costing - multiplying - moving
    scale = 1.0 / sizes.flat[chosen].sum()  # the sizes of all pairs add up to 1
    return Peer(
        once + scale * (costing + moving),
        once + scale * (multiplying + moving),
        value if sampled is None else np.nan,
    )


class Timed(NamedTuple):
    """CPU seconds and the value."""

    seconds: float
    value: float


MISSING = Timed(np.nan, np.nan)


def repeated(run: Callable[[], Any]) -> list[tuple[float, Any]]:
    """Return CPU seconds and result of a run; of several when it is short."""
    found: list[tuple[float, Any]] = []
    while not found or (len(found) < 20 and sum(seconds for seconds, _ in found) < 0.5):
        with one_thread(), _common.measure() as taken:
            result = run()
        found.append((taken.cpu, result))
    return found


def timed(run: Callable[[Task], float], task: Task) -> Timed:
    """Return the CPU time of a run, the best of several when it is short."""
    found = repeated(lambda: run(task))
    return Timed(min(seconds for seconds, _ in found), found[-1][1])


def timed_peer(task: Task, sampled: int | None) -> Peer:
    """Return the times of CDistance with POT, the best of several when it is short."""
    found = [peer for _, peer in repeated(lambda: pot_cdistance(task, sampled))]
    seconds, by_product = (min(times) for times in zip(*(p[:2] for p in found), strict=True))
    return Peer(seconds, by_product, found[-1].value)


class Compared(NamedTuple):
    """What the two distances of a task took; ``whole`` unless POT's time is an estimate."""

    task: Task
    lifted: Timed
    default: Timed
    ours: Timed
    pot: Peer
    whole: bool

    def times(self) -> tuple[float, float]:
        """Return the time of the fastest CDistance, in times of LiftEMD and its default."""
        rival = float(np.nanmin([self.ours.seconds, self.pot.seconds, self.pot.by_product]))
        return rival / self.lifted.seconds, rival / self.default.seconds

    def cells(self) -> list[str]:
        """Return the row of the table."""
        values = (self.lifted.value, self.pot.value)
        seconds = (
            *(run.seconds for run in (self.lifted, self.default, self.ours)),
            *(self.pot.seconds, self.pot.by_product),
        )
        cells = [*(f"{v:.4f}" for v in values), *(f"{1e3 * t:,.1f}" for t in seconds)]
        cells = [cell.replace("nan", "-") for cell in cells]
        times = [f"{t:.1f}" for t in self.times()]
        mark = "" if self.whole else ", estimate"
        return [self.task.title + mark, *cells, *times, *_paper_cells(self.task.title)]


def compared(task: Task, whole: bool) -> Compared:
    """Measure both distances of a task."""
    return Compared(
        task,
        timed(lift_emd, task),
        timed(default_emd, task),
        timed(our_cdistance, task) if whole else MISSING,
        timed_peer(task, None if whole else SAMPLED_CLUSTERS),
        whole,
    )


def distance(options: Any) -> list[tuple[str, bool]]:
    """Measure both distances on growing sets."""
    every = tasks(options)
    with one_thread():
        for run in (lift_emd, default_emd, our_cdistance, pot_cdistance):
            run(every[0])  # imports and compiles
    found = [compared(task, not options.check or len(task.X) < LARGE) for task in every]
    print(
        "\nCPU milliseconds of LiftEMD and CDistance, one thread; times: the fastest CDistance of"
    )
    print("this library, with POT and cdist, and with POT and ot.dist / LiftEMD")
    header = ["", "LiftEMD", "CDistance", "ms LiftEMD", "ms default", "ms CDistance", "POT, cdist"]
    header += ["POT, ot.dist", "times", "default", "paper s", "s", "times"]
    _common.show_table(header, [row.cells() for row in found])
    whole = [row for row in found if row.whole]
    if len(whole) < len(found):
        print(
            f"estimate: POT on {SAMPLED_CLUSTERS} pairs of clusters, scaled to all; what is done "
            "once is not scaled. CDistance of this library is not run there."
        )
    digits = [(len(r.task.X), *r.times()) for r in whole if r.task.title.startswith("MNIST")]
    print(crossover(f"with rho={MANY:,}", [(n, ratio) for n, ratio, _ in digits]))
    print(crossover("by default", [(n, ratio) for n, _, ratio in digits]))
    n, last, _ = digits[-1]
    gap = max(abs(row.ours.value - row.pot.value) for row in whole)
    return [
        (
            f"CDistance, the fastest of three, takes {last:.1f} times the CPU of LiftEMD at {n:,} "
            f"points (bar {RATIO_DISTANCE:g})",
            last >= RATIO_DISTANCE,
        ),
        (
            f"CDistance of this library and with POT differ by {gap:.1e} at most "
            f"(bar {TOLERANCE:.0e})",
            gap <= TOLERANCE,
        ),
    ]


def _paper_cells(title: str) -> list[str]:
    if title not in PAPER:
        return ["", "", ""]
    theirs, lifted = PAPER[title]
    return [f"{lifted:g}", f"{theirs:g}", f"{theirs / lifted:.1f}"]


def crossover(how: str, ratios: list[tuple[int, float]]) -> str:
    """Say from which number of rows of MNIST on LiftEMD is the faster."""
    slower = [p for p, (_, ratio) in enumerate(ratios) if ratio < 1]
    if not slower:
        return f"LiftEMD {how} is the faster at every size of MNIST from {ratios[0][0]:,} rows on"
    if slower[-1] == len(ratios) - 1:
        return f"LiftEMD {how} is the slower at {ratios[-1][0]:,} rows of MNIST"
    (low, below), (high, above) = ratios[slower[-1]], ratios[slower[-1] + 1]
    share = np.log(1 / below) / np.log(above / below)
    crossed = low * (high / low) ** share
    return f"LiftEMD {how} is the faster from about {crossed:,.0f} rows of MNIST on"


# -- the lifting against one product ------------------------------------------------------------


def write_digits(home: Path | None, folder: Path) -> None:
    """Write 60,000 rows of MNIST as float32, so that a process reads them and nothing larger."""
    digits = mnist(home)
    rows = len(digits.target)
    if rows < WHOLE:
        print(f"\nMNIST has {rows:,} rows here; they are repeated up to {WHOLE:,}")
    taken = np.arange(WHOLE) % rows
    np.save(folder / "X.npy", digits.data[taken].astype(np.float32))
    np.save(folder / "y.npy", digits.target[taken])


def lift_digits(folder: Path, n_partitions: int, repeats: int) -> tuple[float, float, float]:
    """Return CPU seconds of ``lift``, the best of the repeats, peak memory in MB, and that before.

    The partitions are an ensemble already; the first is that of the classes, others are random.
    """
    from clusterscape.lifting import lift

    rng = np.random.default_rng(0)
    small = rng.normal(size=(200, 784)).astype(np.float32)
    lift(Ensemble.from_labels([rng.integers(0, 10, 200)] * 2), small, n_components=40)  # compile
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    others = [rng.integers(0, 10, len(y)) for _ in range(n_partitions - 1)]
    ensemble = Ensemble.from_labels([y, *others])
    before = _common.peak_memory_mb()
    seconds = []
    for _ in range(repeats):
        with one_thread(), _common.measure() as taken:
            lift(ensemble, X, n_components=MANY, random_state=0)
        seconds.append(taken.cpu)
    return min(seconds), _common.peak_memory_mb(), before


def multiply_digits(folder: Path, columns: int, repeats: int) -> tuple[float, float]:
    """Return CPU seconds of the bare product, the best of the repeats, and peak memory in MB.

    Its result lies in memory that was written before: getting new pages takes time as well.
    """
    X = np.load(folder / "X.npy")
    W = np.random.default_rng(0).normal(size=(X.shape[1], columns)).astype(np.float32)
    out = np.empty((len(X), columns), dtype=np.float32)
    out.fill(0.0)
    seconds = []
    with one_thread():
        np.matmul(X[:1_000], W, out=out[:1_000])  # BLAS makes its buffers
        for _ in range(repeats):
            with _common.measure() as taken:
                np.matmul(X, W, out=out)
            seconds.append(taken.cpu)
    return min(seconds), _common.peak_memory_mb()


def lifting(options: Any) -> list[tuple[str, bool]]:
    """Measure the lifting of 60,000 digits, each run in a process of its own."""
    runs: dict[str, tuple[float, float]] = {}
    repeats = 3 if options.check else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_digits(options.data_home, folder)
        for columns in (MANY // 2,) if options.check else (MANY // 2, MANY):
            product = _common.in_fresh_process(multiply_digits, folder, columns, repeats).result
            runs[f"product, {columns:,} columns"] = product
        for count in (1,) if options.check else (1, 10):
            *figures, before = _common.in_fresh_process(lift_digits, folder, count, repeats).result
            runs[f"lift, rho={MANY:,}, {count} partition{'s' * (count > 1)}"] = tuple(figures)
    base = runs[f"product, {MANY // 2:,} columns"][0]
    print(f"\n{WHOLE:,} x 784 of MNIST, float32, one thread, best of {repeats} runs; the data")
    print(f"and all libraries take {before:.0f} MB of the memory")
    table = [
        [name, f"{seconds:.2f}", f"{seconds / base:.2f}", f"{peak:,.0f}"]
        for name, (seconds, peak) in runs.items()
    ]
    _common.show_table(["", "CPU s", "of the product", "peak MB"], table)
    seconds = runs[f"lift, rho={MANY:,}, 1 partition"][0]
    highest = max(peak for name, (_, peak) in runs.items() if name.startswith("lift"))
    return [
        (
            f"lifting {WHOLE:,} digits at rho={MANY:,} takes {seconds / base:.2f} times the bare "
            f"product (bar {RATIO_PRODUCT:g})",
            seconds <= RATIO_PRODUCT * base,
        ),
        (f"peak memory {highest:,.0f} MB (bar {PEAK_MB:,.0f})", highest < PEAK_MB),
    ]


# -- all pairs ----------------------------------------------------------------------------------


def blobs_and_partitions(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return points around 20 centres, and cells of 8 to 12 random points as their partitions."""
    from scipy.spatial.distance import cdist

    X = rng.normal(size=(20, 8))[rng.integers(0, 20, POINTS)] * 3 + rng.normal(size=(POINTS, 8))
    labels = np.empty((POINTS, PARTITIONS), dtype=np.int8)
    for column in range(PARTITIONS):
        seeds = X[rng.choice(POINTS, rng.integers(8, 13), replace=False)]
        labels[:, column] = cdist(X, seeds, "sqeuclidean").argmin(axis=1)
    return X.astype(np.float32), labels


def by_pot(lifted: Any, pairs: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the transport of every pair, one call each; CPU seconds of splitting and of calls."""
    import ot
    from scipy.spatial.distance import cdist

    with _common.measure() as splitting:
        spans = [slice(a, b) for a, b in zip(lifted.offsets[:-1], lifted.offsets[1:], strict=True)]
        vectors = [np.ascontiguousarray(lifted.vectors[span]) for span in spans]
        masses = [lifted.mass[span] for span in spans]
    found = np.empty(len(pairs))
    with _common.measure() as calls:
        for p, (i, j) in enumerate(pairs):
            costs = cdist(vectors[i], vectors[j])
            found[p] = ot.emd2(masses[i], masses[j], costs)
    return found, splitting.cpu, calls.cpu


def our_pairs(ensemble: Ensemble, X: np.ndarray, how: dict[str, Any]) -> np.ndarray:
    """Return LiftEMD of all pairs."""
    return compare.pairwise(
        ensemble,
        "lift_emd",
        features=X,
        metric_params={"lift_emd": how},
        n_jobs=1,
        progress=False,
    ).matrices["lift_emd"]


def all_pairs(options: Any) -> list[tuple[str, bool]]:
    """Measure all pairs of many partitions."""
    from clusterscape.lifting import lift

    rng = np.random.default_rng(0)
    X, labels = blobs_and_partitions(rng)
    ensemble = Ensemble.from_labels(labels)
    pairs = np.column_stack(np.triu_indices(PARTITIONS, 1))
    tried = pairs
    if options.check:
        tried = pairs[np.sort(rng.choice(len(pairs), SAMPLED_PAIRS, replace=False))]
    how = {"n_components": COMPONENTS, "random_state": 0}
    with one_thread():
        our_pairs(Ensemble.from_labels(labels[:, :3]), X, how)  # compiles
        with _common.measure() as lifting_time:
            lifted = lift(ensemble, X, **how)
        with _common.measure() as ours:
            found = our_pairs(ensemble, X, how)
        by_pot(lifted, pairs[:20])  # imports
        expected, splitting, calls = by_pot(lifted, tried)
    difference = float(np.abs(found[tried[:, 0], tried[:, 1]] - expected).max())
    pot = splitting + calls * len(pairs) / len(tried)
    print(
        f"\nAll {len(pairs):,} pairs of {PARTITIONS:,} partitions of {POINTS:,} points, 8 to 12 "
        f"clusters, rho={COMPONENTS:,}; values from {found[pairs[:, 0], pairs[:, 1]].min():.3f} to "
        f"{found.max():.3f}"
    )
    if options.check:
        print(f"POT was run on {len(tried):,} pairs drawn at random, scaled to all: an estimate")
    ratio = show_pairs(len(pairs), lifting_time.cpu, ours.cpu, pot)
    return [
        (
            f"all pairs take {ratio:.1f} times less CPU than ot.emd2 pair by pair "
            f"(bar {RATIO_PAIRS:g})",
            ratio >= RATIO_PAIRS,
        ),
        (f"largest difference {difference:.1e} (bar {TOLERANCE:.0e})", difference <= TOLERANCE),
    ]


def show_pairs(count: int, lifting_time: float, ours: float, pot: float) -> float:
    """Print CPU seconds of all pairs; return the ratio with the lifting on both sides."""
    rows = [
        ["lifting", f"{lifting_time:.1f}", ""],
        ["pairwise, with the lifting", f"{ours:.1f}", f"{1e6 * ours / count:.1f}"],
        ["cdist and ot.emd2, without", f"{pot:.1f}", f"{1e6 * pot / count:.1f}"],
    ]
    _common.show_table(["", "CPU s", "microseconds per pair"], rows)
    ratio = (pot + lifting_time) / ours
    print(
        f"times less CPU: {ratio:.1f} with the lifting on both sides, {pot / ours:.1f} with it on "
        f"ours only, {pot / max(ours - lifting_time, 1e-9):.1f} on neither"
    )
    return ratio


PARTS: dict[str, Callable[[Any], list[tuple[str, bool]]]] = {
    "distance": distance,
    "lifting": lifting,
    "pairs": all_pairs,
}


def main() -> None:
    """Run the parts asked for and hold the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(PARTS), help="all unless given")
    options = parser.parse_args()
    print(_common.versions())
    said: list[tuple[str, bool]] = []
    for name, part in PARTS.items():
        if options.part in (None, name):
            said += part(options)
    print()
    for sentence, held in said:
        print(f"{sentence}: {'reached' if held else 'MISSED'}")
    count = sum(held for _, held in said)
    _common.finish(f"{count} of {len(said)} bars", count == len(said), options.check)


if __name__ == "__main__":
    main()
