"""Lifted clusters: LiftEMD against CDistance, the lifting against one product, and all pairs.

distance: LiftEMD and CDistance of the true classes and a k-means partition, on Wine and rows of
MNIST (Table 3.2 of Raman's dissertation), and of reference and first partition of 2D3C and 2D2C,
whose clusters k-means finds exactly. rho random features as there: 200, and 4,000 on MNIST; beside
it the library's default, exact up to 3,000 points and 1,000 features above. CDistance is ours, and
the same written with POT alone: ``ot.dist`` and ``ot.emd2`` for every pair of clusters, point to
point. The bar: at 10,000 points CDistance, the faster of both, takes at least 4.5 times the CPU of
LiftEMD at rho=4,000 (1360 s / 304 s in the paper). The number of rows from which LiftEMD is the
faster is printed.

lifting: 60,000 x 784 of MNIST at rho=4,000. cos/sin pairs need the product of X with 2,000
directions, which is the limit: at most 3 times the CPU of that bare float32 product, and a process
that stays below 1,500 MB with the data in it. The product with 4,000 directions and the lifting
of ten partitions at once stand beside.

pairs: all pairs of 1,000 partitions of 10,000 points with 8 to 12 clusters by ``pairwise``, against
``ot.emd2`` called pair by pair on the same lifted vectors, its costs by scipy's ``cdist``. The
bar: at least 3 times less CPU, values equal to 1e-9. Both have the lifting in their time; the ratio
of the pairs alone stands beside it.

``--check``: of CDistance at 10,000 points some pairs of clusters, scaled up to all; of the pairs
for POT a random sample, scaled up as well; only what the bars speak of. One thread everywhere.
"""

from __future__ import annotations

import functools
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import Ensemble, compare
from clusterscape._parallel import one_thread

RATIO_DISTANCE, RATIO_PRODUCT, RATIO_PAIRS = 4.5, 3.0, 3.0
PEAK_MB, TOLERANCE = 1_500.0, 1e-9
FEW, MANY = 200, 4_000  # random features: of small sets, and of MNIST
LARGE, WHOLE = 10_000, 60_000  # points of MNIST
PARTITIONS, POINTS, COMPONENTS = 1_000, 10_000, 1_000
SAMPLED_CLUSTERS, SAMPLED_PAIRS = 10, 10_000
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
    sizes = (100, 1_000) if options.check else (100, 200, 500, 1_000, 2_000, 5_000)
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


def pot_cdistance(task: Task) -> float:
    """Return CDistance written with POT: every pair of clusters, then the clusters."""
    return _pot_cdistance(task, None)[0]


def _pot_cdistance(task: Task, only: np.ndarray | None) -> tuple[float, int]:
    """Return CDistance, and how many pairs of clusters there are; ``only`` some are transported."""
    import ot

    X = task.X.astype(np.float64)
    left, right = (np.unique(labels, return_inverse=True) for labels in (task.truth, task.found))
    shares = [np.bincount(which) / len(X) for _, which in (left, right)]
    between = np.zeros((len(left[0]), len(right[0])))
    cells = [(i, j) for i in range(between.shape[0]) for j in range(between.shape[1])]
    for cell in range(len(cells)) if only is None else only:
        i, j = cells[cell]
        costs = ot.dist(X[left[1] == i], X[right[1] == j], metric="euclidean")
        # Uniform masses; POT's default limit of 100,000 steps is too low for the large pairs.
        between[i, j] = ot.emd2([], [], costs, numItermax=10_000_000)
    plain = float(shares[0] @ between @ shares[1])
    moved = float(ot.emd2(*shares, between))
    return (moved / plain if plain > 0 else 0.0), len(cells)


class Timed(NamedTuple):
    """CPU seconds and the value, nan where only a part was computed."""

    seconds: float
    value: float


def timed(run: Callable[[Task], float], task: Task) -> Timed:
    """Return the CPU time of a run, the best of several when it is short."""
    seconds: list[float] = []
    value = np.nan
    while not seconds or (len(seconds) < 20 and sum(seconds) < 0.5):
        with one_thread(), _common.measure() as taken:
            value = run(task)
        seconds.append(taken.cpu)
    return Timed(min(seconds), value)


def part_of_pot(task: Task) -> Timed:
    """Return the CPU time of CDistance with POT, scaled up from some pairs of clusters."""
    total = len(np.unique(task.truth)) * len(np.unique(task.found))
    only = np.random.default_rng(0).choice(total, SAMPLED_CLUSTERS, replace=False)
    with one_thread(), _common.measure() as taken:
        _pot_cdistance(task, only)
    return Timed(taken.cpu * total / SAMPLED_CLUSTERS, np.nan)


def distance(options: Any) -> list[tuple[str, bool]]:
    """Measure both distances on growing sets."""
    every = tasks(options)
    runs = (lift_emd, default_emd, our_cdistance, pot_cdistance)
    with one_thread():
        for run in runs:
            run(every[0])  # compiles the kernels
    rows, gap = [], 0.0
    ratios: list[tuple[int, float, float]] = []
    for task in every:
        scaled = options.check and len(task.X) >= LARGE
        mine, default = timed(lift_emd, task), timed(default_emd, task)
        ours = Timed(np.nan, np.nan) if scaled else timed(our_cdistance, task)
        pot = part_of_pot(task) if scaled else timed(pot_cdistance, task)
        rival = float(np.nanmin([ours.seconds, pot.seconds]))
        times = (rival / mine.seconds, rival / default.seconds)
        if task.title.startswith("MNIST"):
            ratios.append((len(task.X), *times))
        if not scaled:
            gap = max(gap, abs(ours.value - pot.value))
        seconds = [run.seconds for run in (mine, default, ours, pot)]
        cells = [f"{mine.value:.4f}", f"{pot.value:.4f}", *(f"{1e3 * t:,.1f}" for t in seconds)]
        cells = [cell.replace("nan", "-") for cell in cells]
        rows.append([task.title, *cells, *(f"{t:.1f}" for t in times), *_paper_cells(task.title)])
    print("\nCPU milliseconds of LiftEMD and CDistance, one thread; times: CDistance / LiftEMD")
    header = ["", "LiftEMD", "CDistance", "ms LiftEMD", "ms default", "ms CDistance", "with POT"]
    _common.show_table([*header, "times", "default", "paper s", "s", "times"], rows)
    if options.check:
        print(f"{every[-1].title}: POT on {SAMPLED_CLUSTERS} pairs of clusters, scaled up to all")
    print(f"CDistance of this library and with POT differ by {gap:.1e} at most")
    print(crossover(f"with rho={MANY:,}", [(n, ratio) for n, ratio, _ in ratios]))
    print(crossover("by default", [(n, ratio) for n, _, ratio in ratios]))
    last = ratios[-1][1]
    return [
        (
            f"CDistance takes {last:.1f} times the CPU of LiftEMD at {LARGE:,} points "
            f"(bar {RATIO_DISTANCE:g})",
            last >= RATIO_DISTANCE,
        )
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
    """Return CPU seconds of the lifting, peak memory in MB, and that before it."""
    from clusterscape.linalg import lift

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
    """Return CPU seconds of the bare product, and peak memory in MB."""
    X = np.load(folder / "X.npy")
    W = np.random.default_rng(0).normal(size=(X.shape[1], columns)).astype(np.float32)
    seconds = []
    for _ in range(repeats):
        with one_thread(), _common.measure() as taken:
            X @ W
        seconds.append(taken.cpu)
    return min(seconds), _common.peak_memory_mb()


def lifting(options: Any) -> list[tuple[str, bool]]:
    """Measure the lifting of 60,000 digits, each run in a process of its own."""
    runs: dict[str, tuple[float, float]] = {}
    repeats = 2 if options.check else 5
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_digits(options.data_home, folder)
        for columns in (MANY // 2,) if options.check else (MANY // 2, MANY):
            product = _common.in_fresh_process(multiply_digits, folder, columns, repeats).result
            runs[f"X @ W, {columns:,} columns"] = product
        for count in (1,) if options.check else (1, 10):
            *figures, before = _common.in_fresh_process(lift_digits, folder, count, repeats).result
            runs[f"lift, rho={MANY:,}, {count} partition{'s' * (count > 1)}"] = tuple(figures)
    base = runs[f"X @ W, {MANY // 2:,} columns"][0]
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


def by_pot(lifted: Any, pairs: np.ndarray) -> np.ndarray:
    """Return the transport of every pair, one call each."""
    import ot
    from scipy.spatial.distance import cdist

    found = np.empty(len(pairs))
    spans = [slice(a, b) for a, b in zip(lifted.offsets[:-1], lifted.offsets[1:], strict=True)]
    vectors = [np.ascontiguousarray(lifted.vectors[span]) for span in spans]
    masses = [lifted.mass[span] for span in spans]
    for p, (i, j) in enumerate(pairs):
        costs = cdist(vectors[i], vectors[j])
        found[p] = ot.emd2(masses[i], masses[j], costs)
    return found


def all_pairs(options: Any) -> list[tuple[str, bool]]:
    """Measure all pairs of many partitions."""
    from clusterscape.linalg import lift

    rng = np.random.default_rng(0)
    X, labels = blobs_and_partitions(rng)
    ensemble = Ensemble.from_labels(labels)
    pairs = np.column_stack(np.triu_indices(PARTITIONS, 1))
    tried = pairs
    if options.check:
        tried = pairs[np.sort(rng.choice(len(pairs), SAMPLED_PAIRS, replace=False))]
    how = {"n_components": COMPONENTS, "random_state": 0}
    few = Ensemble.from_labels(labels[:, :3])
    compare.pairwise(few, "lift_emd", features=X, metric_params={"lift_emd": how}, progress=False)
    with one_thread():
        with _common.measure() as lifting_time:
            lifted = lift(ensemble, X, **how)
        with _common.measure() as ours:
            found = compare.pairwise(
                ensemble,
                "lift_emd",
                features=X,
                metric_params={"lift_emd": how},
                n_jobs=1,
                progress=False,
            ).matrices["lift_emd"]
        by_pot(lifted, pairs[:20])
        with _common.measure() as theirs:
            expected = by_pot(lifted, tried)
    difference = float(np.abs(found[tried[:, 0], tried[:, 1]] - expected).max())
    pot = theirs.cpu * len(pairs) / len(tried)
    alone = pot / max(ours.cpu - lifting_time.cpu, 1e-9)
    ratio = (pot + lifting_time.cpu) / ours.cpu
    print(
        f"\nAll {len(pairs):,} pairs of {PARTITIONS:,} partitions of {POINTS:,} points, 8 to 12 "
        f"clusters, rho={COMPONENTS:,}; values from {found[pairs[:, 0], pairs[:, 1]].min():.3f} to "
        f"{found.max():.3f}"
    )
    if options.check:
        print(f"ot.emd2 was run on {len(tried):,} pairs drawn at random, scaled up to all")
    rows = [
        ["lifting", f"{lifting_time.cpu:.1f}", ""],
        ["pairwise, with the lifting", f"{ours.cpu:.1f}", f"{1e6 * ours.cpu / len(pairs):.1f}"],
        ["cdist and ot.emd2 alone", f"{pot:.1f}", f"{1e6 * pot / len(pairs):.1f}"],
    ]
    _common.show_table(["", "CPU s", "microseconds a pair"], rows)
    print(
        f"pairs alone {alone:.1f} times less CPU; pairwise against the pairs of POT alone "
        f"{pot / ours.cpu:.1f}"
    )
    return [
        (
            f"all pairs take {ratio:.1f} times less CPU than ot.emd2 pair by pair "
            f"(bar {RATIO_PAIRS:g})",
            ratio >= RATIO_PAIRS,
        ),
        (f"largest difference {difference:.1e} (bar {TOLERANCE:.0e})", difference <= TOLERANCE),
    ]


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cdistance warns that many points take long
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
