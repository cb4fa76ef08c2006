"""The landscape of clusterings: chapter 4 of Raman's dissertation, and a planted case of our own.

planted: 300 points with three independent structures of three clusters each, on disjoint pairs of
columns, of which each is less clear than the one before (centres 8, 7 and 6 standard deviations
apart). The bar: in at least 9 of 10 seeds the ten representatives of ``Landscape(3)``, with no
other setting, contain all three (ARI at least 0.9). Beside it ten restarts of k-means, and the ten
best different ones of 1,000 restarts.

robust: the same with seeds 10 to 29, and with other numbers of points, clusters, columns and
structures and other gaps; the bar is for the first case. joined: two real sets, Iris and Wine,
joined row by row at random, so that a table has two known labellings; the bar is both labellings
within 0.05 of what k-means finds on their own columns, in 9 of 10 joins. Two other pairs of sets,
with another number of classes in each, are printed beside.

2d5c, iris, yaleb, adult: partitions sampled by Q_w-s, ten representatives by average linkage on
LiftEMD, as there: 5,000 partitions after 1,000 sweeps of one chain, by Gibbs sweeps alone, which
starts from a k-means partition (`as the source`). The tables show the mean Rand index of
representatives to the reference, their quality over that of the reference, and the mean LiftEMD
between representatives (by average linkage, which the bar is about, and by Gonzalez's centres)
beside that between all sampled pairs. The bars: representatives are farther apart than sampled
pairs on every set; at least half of the representatives on Iris are as good as the LiftKM consensus
of k-means and the single, average, complete and Ward linkages; the mean Rand index on 2D5C is at
least 0.92 with Q_w-s, as printed (0.83 with Q_w). Temperature and bandwidth are not in the text:
the power is that of ``power="auto"`` (without it random partitions are drawn; ``power=1`` is
printed beside), the bandwidth is the median distance. Four tempered chains with merges and splits,
and the defaults of ``Landscape``, are printed beside. Its 2D5C is not public: five Gaussians of
20 points stand for it, and ten other layouts of five Gaussians follow in a table of their own.

Yale B has two references: the person, and the direction of the light, by several rules. The ARI of
the best representative to each is printed, for the source's Q_w-s with 38 clusters and for the
defaults of ``Landscape`` with 38 and 64: on the pixels; on their logarithms, in which light is
added, not multiplied; and on the pixels with two more views: local contrast, which light changes
little, and logarithms without each image's mean, which are mostly light, crossed (``crossed_view``)
with the best partition by contrast (38 clusters, in a landscape of its own). Adult has columns of
two kinds: numbers are scaled to variance 1, categories are indicators divided by sqrt 2; the
sampling weight of the census is left out.

``--check`` runs planted, 2d5c, iris and joined, with fewer samples and joins.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import pdist

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import Ensemble, combine, compare, explore
from clusterscape._core.parallel import one_thread
from clusterscape.explore import Landscape
from clusterscape.explore.grouping import best_of_groups, grouped
from clusterscape.generate import EnsembleGenerator
from clusterscape.linalg.kmeans import kmeans

SEEDS, FOUND, ENOUGH = 10, 9, 0.9
RESTARTS = 1_000
RAND_2D5C = {"separation": 0.92, "kernel": 0.83}  # the dissertation's
Bars = list[tuple[str, bool]]


# -- the planted case ---------------------------------------------------------------------------


def planted(
    seed: int,
    *,
    n: int = 300,
    k: int = 3,
    gaps: tuple[float, ...] = (8.0, 7.0, 6.0),
    width: int = 2,
    noise: int = 0,
    turned: bool = False,
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return points with independent structures on disjoint columns, and the clusterings.

    ``gaps`` are the distances of neighbouring centres, which lie on a circle, in deviations;
    ``width`` the columns of each structure, and ``noise`` columns that belong to none; ``turned``
    points are rotated at random, so that every column has a part of every structure.
    """
    rng = np.random.default_rng(seed)
    columns, truths = [], []
    angles = 2 * np.pi * np.arange(k) / k
    for gap in gaps:
        truths.append(rng.integers(k, size=n))
        radius = gap / (2 * np.sin(np.pi / k))
        centres = radius * np.column_stack([np.cos(angles), np.sin(angles)])
        points = rng.normal(size=(n, width))
        points[:, :2] += centres[truths[-1], : min(width, 2)]
        columns.append(points)
    columns.append(rng.normal(size=(n, noise)))
    X = np.hstack(columns)
    if turned:
        X = X @ np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    return X, truths


def nearest(truths: list[np.ndarray], shown: Any) -> np.ndarray:
    """Return, for each truth, the largest ARI of what is shown."""
    return np.array([max(compare.adjusted_rand(t, c) for c in shown) for t in truths])


def restarts(X: np.ndarray, count: int, k: int = 3) -> list[np.ndarray]:
    """Return the ten best different partitions of some k-means restarts."""
    found = [kmeans(X, k, seed=np.random.SeedSequence(s)) for s in range(count)]
    different = {round(f.inertia, 6): f.labels for f in found}
    return [different[i] for i in sorted(different)[:10]]


def planted_part(options: Any) -> Bars:
    """Hold the bar of the planted case."""
    rows, held, peers = [], 0, 0
    with one_thread():
        for seed in range(SEEDS):
            X, truths = planted(seed)
            with _common.measure() as taken:
                model = Landscape(3, random_state=seed, progress=False).fit(X)
            ours = nearest(truths, model.representatives_.labels.T)
            ten = nearest(truths, restarts(X, 10))
            best = nearest(truths, restarts(X, 100 if options.check else RESTARTS))
            held += bool(ours.min() >= ENOUGH)
            peers += bool(max(ten.min(), best.min()) >= ENOUGH)
            cells = [" ".join(f"{v:5.2f}" for v in some) for some in (ours, ten, best)]
            rows.append([seed, *cells, f"{taken.cpu:.1f}"])
    print("\nThree planted clusterings: ARI of the nearest of ten partitions to each")
    _common.show_table(["seed", "Landscape", "10 k-means", "10 best k-means", "CPU s"], rows)
    print(f"k-means has all three in {peers} of {SEEDS} seeds")
    return [
        (f"Landscape has all three in {held} of {SEEDS} seeds (bar {FOUND})", held >= FOUND),
    ]


# Other cases than those that the defaults were worked out on, and how they are made.
VARIANTS: dict[str, dict[str, Any]] = {
    "as above": {},
    "150 points": {"n": 150},
    "1,000 points": {"n": 1_000},
    "two clusters each": {"k": 2},
    "four clusters each": {"k": 4},
    "six columns each": {"width": 6},
    "six columns of noise": {"noise": 6},
    "gaps 6, 6, 6": {"gaps": (6.0, 6.0, 6.0)},
    "gaps 5, 5, 5": {"gaps": (5.0, 5.0, 5.0)},
    "gaps 10, 7, 5": {"gaps": (10.0, 7.0, 5.0)},
    "gaps 12, 8, 6": {"gaps": (12.0, 8.0, 6.0)},
    "four structures": {"gaps": (8.0, 7.0, 7.0, 6.0)},
    "turned": {"turned": True},
    "turned, gaps 6, 6, 6": {"turned": True, "gaps": (6.0, 6.0, 6.0)},
    "turned, four clusters": {"turned": True, "k": 4},
}
ROBUST_SEEDS = range(10, 30)


def robust_part(options: Any) -> Bars:
    """Print how often all planted clusterings are found in other cases."""
    rows, bars = [], []
    seeds = ROBUST_SEEDS[:2] if options.check else ROBUST_SEEDS
    for title, how in VARIANTS.items():
        found, cpu = [], 0.0
        for seed in seeds:
            X, truths = planted(seed, **how)
            with one_thread(), _common.measure() as taken:
                model = Landscape(how.get("k", 3), random_state=seed, progress=False).fit(X)
            cpu += taken.cpu
            found.append(nearest(truths, model.representatives_.labels.T))
        near = np.array(found)
        held = int((near.min(axis=1) >= ENOUGH).sum())
        shares = " ".join(f"{v:4.2f}" for v in (near >= ENOUGH).mean(axis=0))
        means = " ".join(f"{v:4.2f}" for v in near.mean(axis=0))
        rows.append([title, f"{held} of {len(near)}", shares, means, f"{cpu / len(near):.1f}"])
        if title == "as above" and not options.check:
            bars.append(
                (
                    f"Landscape has all three in {held} of {len(near)} other seeds "
                    f"(bar {FOUND} of {SEEDS})",
                    held * SEEDS >= FOUND * len(near),
                )
            )
    print("\nPlanted clusterings, other seeds and other cases: all found, share found, mean ARI")
    _common.show_table(["", "all", "found, each", "mean ARI, each", "CPU s"], rows)
    return bars


# -- real columns with two known labellings -----------------------------------------------------


def scaled(home: Path | None, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a set with variance 1, and its classes."""
    found = _common.load(name, home)
    X = np.asarray(found.data, dtype=np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.asarray(found.target)


JOINS = (("iris", "wine"), ("wine", "wdbc"), ("iris", "wdbc"))


def joined_part(options: Any) -> Bars:
    """Look for two real labellings at once: rows of two sets, joined at random."""
    bars: Bars = []
    for names in JOINS[: 1 if options.check else None]:
        held, count = _joined(options, names)
        if names == JOINS[0]:
            bars.append(
                (
                    f"Landscape has both within 0.05 of what their own columns give in {held} of "
                    f"{count} joins (bar {FOUND} of {SEEDS})",
                    held * SEEDS >= FOUND * count,
                )
            )
        else:
            print(f"both within 0.05 of what their own columns give: {held} of {count}")
    return bars


def _joined(options: Any, names: tuple[str, str]) -> tuple[int, int]:
    """Print in how many joins both labellings are found; return it, and the number of joins.

    Each row has the columns of one row of each set; every column has variance 1, and each set the
    same weight. k-means on the columns of one set alone says what can be found there.
    """
    sets = [scaled(options.data_home, name) for name in names]
    n = min(len(X) for X, _ in sets)
    ks = [np.unique(y).size for _, y in sets]
    rows, held = [], 0
    for seed in range(3 if options.check else 10):
        rng = np.random.default_rng(seed)
        drawn = [rng.permutation(len(X)) if len(X) == n else rng.choice(len(X), n, replace=False)
                 for X, _ in sets]  # fmt: skip
        parts = [X[i] / np.sqrt(X.shape[1]) for (X, _), i in zip(sets, drawn, strict=True)]
        truths = [y[i] for (_, y), i in zip(sets, drawn, strict=True)]
        X = np.hstack(parts)
        counts = sorted(set(ks))
        asked = counts[0] if len(counts) == 1 else counts
        with one_thread(), _common.measure() as taken:
            model = Landscape(asked, random_state=seed, progress=False).fit(X)
        ours = nearest(truths, model.representatives_.labels.T)
        ten = [nearest([t], restarts(X, 10, k))[0] for t, k in zip(truths, ks, strict=True)]
        many = 100 if options.check else RESTARTS
        best = [nearest([t], restarts(X, many, k))[0] for t, k in zip(truths, ks, strict=True)]
        alone = [
            nearest([t], restarts(p, 10, k)[:1])[0]
            for t, p, k in zip(truths, parts, ks, strict=True)
        ]
        held += bool((ours >= np.array(alone) - 0.05).all())
        cells = [" ".join(f"{v:5.2f}" for v in some) for some in (ours, ten, best, alone)]
        views = " ".join(str(v.size) for v in model.views_)
        rows.append([seed, *cells, views, f"{taken.cpu:.1f}"])
    print(f"\n{names[0]} and {names[1]} joined: ARI of the nearest of ten partitions to each class")
    header = ["seed", "Landscape", "10 k-means", "10 best k-means", "each set alone"]
    _common.show_table([*header, "columns of views", "CPU s"], rows)
    return held, len(rows)


# -- the dissertation's sets --------------------------------------------------------------------


def five_clusters() -> tuple[np.ndarray, np.ndarray]:
    """Return 100 points of five Gaussians in the plane."""
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [6.0, 0.5], [3.0, 5.0], [-4.0, 5.5], [9.0, 6.0]])
    labels = np.repeat(np.arange(5), 20)
    return centres[labels] + rng.normal(size=(100, 2)), labels


def adult(home: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of Adult on one scale, and the classes."""
    found = _common.load("adult", home)
    X = np.asarray(found.data)
    numbers = [0, 4, 10, 11, 12]
    parts = [(X[:, numbers] - X[:, numbers].mean(axis=0)) / X[:, numbers].std(axis=0)]
    for column in (1, 5, 6, 7, 8, 9, 13):
        codes = np.unique(X[:, column], return_inverse=True)[1]
        parts.append(np.eye(codes.max() + 1)[codes] / np.sqrt(2))
    return np.hstack(parts).astype(np.float64), np.asarray(found.target)


def consensus(X: np.ndarray, k: int) -> np.ndarray:
    """Return the LiftKM consensus of k-means and four linkages."""
    names = ["kmeans", "single", "average", "complete", "ward"]
    runs = EnsembleGenerator(
        5, algorithm=names, n_clusters=k, n_init=10, random_state=0, progress=False
    ).generate(X)
    return combine.LiftKM(k, random_state=0).fit(runs, features=X).labels_


class Found:
    """A landscape beside a reference partition."""

    def __init__(
        self, X: np.ndarray, reference: np.ndarray, k: Any, *, views: Any = None, **how: Any
    ) -> None:
        with one_thread(), _common.measure() as taken:
            self.model = Landscape(k, random_state=0, progress=False, **how).fit(X, views=views)
        self.cpu = taken.cpu
        model = self.model
        bandwidth = model.sampler_.bandwidth_  # type: ignore[union-attr]
        measure = getattr(explore, f"{model.quality}_quality")
        self.quality = lambda labels: measure(X, labels, bandwidth=bandwidth)
        self.base = self.quality(reference)
        shown = model.representatives_.labels.T
        self.rand = float(np.mean([1 - compare.rand_distance(reference, c) for c in shown]))
        some = model.ensemble_.labels.T[:: max(1, model.ensemble_.n_partitions // 200)]
        self.rand_all = float(np.mean([1 - compare.rand_distance(reference, c) for c in some]))
        apart, counts = model.distances_, model.counts_
        pairs = np.outer(counts, counts)
        np.fill_diagonal(pairs, counts * (counts - 1))
        self.sampled = float((apart * pairs).sum() / max(pairs.sum(), 1.0))
        off = ~np.eye(len(shown), dtype=bool)
        self.shown = float(model.representative_distances_[off].mean()) if len(shown) > 1 else 0.0
        relative = model.relative_quality_[model.compared_]
        groups = grouped(apart, counts, relative, 10, how="gonzalez")
        best = best_of_groups(groups, relative)
        off = ~np.eye(best.size, dtype=bool)
        self.gonzalez = float(apart[np.ix_(best, best)][off].mean()) if best.size > 1 else 0.0

    def row(self, title: str) -> list[str]:
        """Return the cells of the table."""
        model = self.model
        told = model.sampler_.diagnostics_  # type: ignore[union-attr]
        rhat = max(d.rhat_quality for d in told.values())
        best = model.quality_[model.representative_indices_]
        return [
            title, f"{self.rand:.3f}", f"{self.rand_all:.3f}",
            over(best.mean(), self.base), over(best.max(), self.base),
            f"{self.shown:.3f}", f"{self.gonzalez:.3f}", f"{self.sampled:.3f}", f"{rhat:.2f}",
            str(model.ensemble_.n_partitions), str(model.n_compared_), f"{self.cpu:.1f}",
        ]  # fmt: skip


def over(quality: float, base: float) -> str:
    """Return a quality over that of the reference; nothing where that is not positive."""
    return f"{quality / base:.3f}" if base > 0 else "ref <= 0"


HEADER = ["", "Rand of 10", "of all", "Q / ref", "best", "apart 10", "Gonzalez", "all", "R-hat"]
HEADER += ["samples", "compared", "CPU s"]


def farther(title: str, found: Found) -> tuple[str, bool]:
    """Return the bar on how far apart representatives are."""
    return (
        f"{title}: representatives are {found.shown:.3f} apart, sampled pairs {found.sampled:.3f}",
        found.shown > found.sampled,
    )


def source(options: Any, **more: Any) -> dict[str, Any]:
    """Return the dissertation's settings; fewer samples for a check."""
    count = 1_000 if options.check else 5_000
    how = {"quality": "separation", "power": "auto", "n_samples": count, "burn_in": count // 5}
    how |= {"n_chains": 1, "n_temperatures": 1, "merge_split": 0, "n_generated": 0}
    return {**how, **more}


FOUR: dict[str, Any] = {"n_chains": 4, "n_temperatures": 3, "merge_split": 1}


def five_part(options: Any) -> Bars:
    """Compare with the figures printed for 2D5C."""
    X, labels = five_clusters()
    bars, rows = [], []
    for quality, printed in RAND_2D5C.items():
        found = Found(X, labels, 5, **source(options, quality=quality))
        rows.append(found.row(f"{quality} ({printed} printed)"))
        if quality == "separation":
            bars.append(farther("2D5C", found))
            bars.append(
                (f"2D5C: mean Rand index {found.rand:.3f} (bar {printed})", found.rand >= printed)
            )
    literal = Found(X, labels, 5, **source(options, power=1.0, n_samples=400, burn_in=100))
    rows.append(literal.row("separation, power=1"))
    rows.append(Found(X, labels, 5, **source(options, **FOUR)).row("separation, 4 chains"))
    rows.append(Found(X, labels, 5).row("defaults of Landscape"))
    print("\n2D5C: 100 points, 5 clusters")
    _common.show_table(HEADER, rows)
    if not options.check:
        _other_layouts(options)
    return bars


def five_anywhere(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 100 points of five Gaussians whose centres are drawn, at least 4.5 apart."""
    rng = np.random.default_rng(seed)
    while True:
        centres = rng.uniform(0, 12, size=(5, 2))
        gaps = np.linalg.norm(centres[:, None] - centres[None], axis=2)
        if gaps[~np.eye(5, dtype=bool)].min() > 4.5:
            labels = np.repeat(np.arange(5), 20)
            return centres[labels] + rng.normal(size=(100, 2)), labels


def _other_layouts(options: Any) -> None:
    """Print what the same settings give on ten other layouts, by quality and bandwidth."""
    sets = [five_anywhere(seed) for seed in range(20, 30)]
    rows = []
    for quality in RAND_2D5C:
        for factor in (1.0, 0.6):
            found = []
            for X, labels in sets:
                width = factor * float(np.median(pdist(X)))
                how = source(options, quality=quality, bandwidth=width, n_samples=2_000)
                found.append(Found(X, labels, 5, **how))
            rand = np.array([f.rand for f in found])
            best = np.array(
                [f.model.quality_[f.model.representative_indices_].max() / f.base for f in found]
            )
            apart = sum(f.shown > f.sampled for f in found)
            rows.append(
                [f"{quality}, {factor:g} x median", f"{rand.mean():.3f}", f"{rand.min():.3f}",
                 f"{best.mean():.3f}", f"{apart} of {len(found)}"]
            )  # fmt: skip
    print("\nTen other layouts of five Gaussians")
    header = ["", "Rand of 10, mean", "least", "best Q / ref", "farther apart than pairs"]
    _common.show_table(header, rows)


def iris_part(options: Any) -> Bars:
    """Compare with the consensus on Iris."""
    iris = _common.load("iris", options.data_home)
    X, labels = np.asarray(iris.data, dtype=np.float64), np.asarray(iris.target)
    found = Found(X, labels, 3, **source(options))
    print("\nIris: 150 points, 3 clusters")
    _common.show_table(
        HEADER,
        [
            found.row("separation"),
            Found(X, labels, 3, **source(options, **FOUR)).row("separation, 4 chains"),
            Found(X, labels, 3).row("defaults of Landscape"),
        ],
    )
    level = found.quality(consensus(X, 3))
    values = found.model.quality_[found.model.representative_indices_]
    good = int((values >= level - 1e-9).sum())
    print(f"quality of the LiftKM consensus over the reference's: {level / found.base:.3f}")
    return [
        farther("Iris", found),
        (
            f"Iris: {good} of {values.size} representatives reach the consensus (bar half)",
            2 * good >= values.size,
        ),
    ]


def local_contrast(X: np.ndarray) -> np.ndarray:
    """Return images whose pixels are compared with their neighbourhood: light is mostly gone.

    The logarithm of each pixel minus its mean around it, over the deviation there (Gaussian windows
    of 1 and 2 pixels).
    """
    images = np.log(X.reshape(len(X), 32, 32) + 0.02)
    parts = images - gaussian_filter(images, (0, 1.0, 1.0))
    spread = np.sqrt(gaussian_filter(parts**2, (0, 2.0, 2.0)))
    return (parts / (spread + 0.05)).reshape(len(X), -1)


def light_only(X: np.ndarray) -> np.ndarray:
    """Return the logarithms of the pixels without the mean of each image."""
    logs = np.log(X + 0.02)
    return logs - logs.mean(axis=1, keepdims=True)


def lights(path: Path) -> dict[str, np.ndarray]:
    """Return partitions of the images by light, by several rules that know no pixels.

    The 64 directions; the five subsets of Georghiades, Belhumeur and Kriegman (2001), by the angle
    to the camera's axis; the signs of azimuth and elevation; the cells of k-means on the 64
    directions as points of the sphere.
    """
    with np.load(path, allow_pickle=False) as light:
        lit, azimuth, elevation = (light[name] for name in ("y", "azimuth", "elevation"))
    a, e = np.deg2rad(azimuth.astype(float)), np.deg2rad(elevation.astype(float))
    at = np.column_stack([np.cos(e) * np.sin(a), np.sin(e), np.cos(e) * np.cos(a)])
    angle = np.rad2deg(np.arccos(np.clip(at[:, 2], -1, 1)))
    directions = np.array([at[lit == j][0] for j in range(64)])
    found = {
        "64 lights": lit,
        "5 subsets": np.searchsorted([12.5, 25.5, 50.5, 77.5], angle),
        "quadrants": 2 * (azimuth > 0) + (elevation > 0),
        "sides": np.sign(azimuth).astype(int) + 1,
    }
    for k in (10, 38):
        cells = kmeans(directions, k, n_init=50, seed=np.random.SeedSequence(0)).labels
        found[f"{k} cells"] = cells[lit]
    return found


LOOKS = ("separation", "pixels", "views", "logarithms")


def yale_part(options: Any) -> Bars:
    """Print how near representatives come to the two references of Yale B."""
    faces = _common.load("yaleb_32x32", options.data_home)
    path = (_common.data_home(options.data_home) or Path()) / "yaleb_illum.npz"
    if not path.exists():
        sys.exit(
            f"{path} is missing: the light of each image of yaleb_32x32 (y), see its file names."
        )
    by_light = lights(path)
    X = np.asarray(faces.data, dtype=np.float64) / 255.0
    person = np.asarray(faces.target)
    print("\nYale B: 2,414 images of 38 persons under 64 lights", flush=True)
    few = {"max_compared": 300}
    plain = {"n_samples": 240 if options.check else 1_000, **few}
    both, logs = [38, 64], np.log(X + 0.02)
    found: dict[str, Found] = {}
    rows = []

    def look(title: str, table: np.ndarray, k: Any, how: dict[str, Any]) -> None:
        found[title] = Found(table, person, k, **how)
        rows.append(found[title].row(title))
        _print_nearest(title, found[title], person, by_light)

    wanted = options.looks or LOOKS
    if "separation" in wanted:
        look("separation, 38", X, 38, {**source(options), **few})
    if "pixels" in wanted:
        look("pixels", X, both, plain)
    if "views" in wanted:
        look("contrast, 38", local_contrast(X), 38, plain)
        # What the faces that contrast found have in common: the light.
        contrast = found["contrast, 38"].model
        known = contrast.ensemble_.labels[:, int(np.argmax(contrast.quality_))]
        crossed = explore.crossed_view(light_only(X), known)
        print(f"light crossed with the faces that contrast found: {crossed}", flush=True)
        views = [local_contrast(X), crossed.points]
        look("pixels and two views", X, both, {**plain, "views": views})
    if "logarithms" in wanted:
        look("logarithms", logs, both, plain)
    _common.show_table(HEADER, rows)
    return [farther("Yale B", found["separation, 38"])] if "separation" in wanted else []


def _print_nearest(
    title: str, found: Found, person: np.ndarray, by_light: dict[str, np.ndarray]
) -> None:
    """Print the largest ARI of a representative to the person, and to the light by each rule."""
    shown = found.model.representatives_.labels.T
    cells = [f"{rule} {nearest([light], shown)[0]:.3f}" for rule, light in by_light.items()]
    kinds = ", ".join(found.model.view_kinds_) or "none"
    print(
        f"{title} (views: {kinds}): person {nearest([person], shown)[0]:.3f}; light: "
        f"{', '.join(cells)}",
        flush=True,
    )


def adult_part(options: Any) -> Bars:
    """Sample Adult, by random features."""
    X, labels = adult(options.data_home)
    few = {"max_compared": 300}
    found = Found(X, labels, 2, **{**source(options), **few})
    print(f"\nAdult: {len(X):,} points, 2 clusters, {X.shape[1]} columns after coding", flush=True)
    told = found.model.sampler_.diagnostics_[2]  # type: ignore[union-attr]
    print(f"separation: {told.moved:.2%} of the points move in a sweep")
    rows = [found.row("separation")]
    rows.append(Found(X, labels, 2, **few, n_samples=240).row("defaults, 240 samples"))
    _common.show_table(HEADER, rows)
    return [farther("Adult", found)]


PARTS = {
    "planted": planted_part,
    "robust": robust_part,
    "joined": joined_part,
    "2d5c": five_part,
    "iris": iris_part,
    "yaleb": yale_part,
    "adult": adult_part,
}


def main() -> None:
    """Run the parts asked for and hold the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--part", choices=tuple(PARTS), help="all unless given")
    parser.add_argument("--looks", nargs="+", choices=LOOKS, help="landscapes of Yale B; all")
    options = parser.parse_args()
    print(_common.versions())
    Landscape(2, n_samples=8, burn_in=2, n_chains=2, random_state=0, progress=False).fit(
        np.random.default_rng(0).normal(size=(20, 3)),
        ensemble=Ensemble.from_labels([[0] * 10 + [1] * 10]),
    )  # compiles
    said: Bars = []
    for name, part in PARTS.items():
        if options.part == name or (
            options.part is None and not (options.check and name in ("robust", "yaleb", "adult"))
        ):
            said += part(options)
    print()
    for sentence, ok in said:
        print(f"{sentence}: {'reached' if ok else 'MISSED'}")
    count = sum(ok for _, ok in said)
    _common.finish(f"{count} of {len(said)} bars", count == len(said), options.check)


if __name__ == "__main__":
    main()
