"""SEC on projected rows: Figure 4 and Table 2 of the paper on fast constrained clustering.

50 k-means partitions with k - 5 to k + 4 clusters (at least 2), taken in turn, are combined by SEC,
by SECRP (sparse random projection to rd dimensions) and by SEC-SVD; every figure is the mean over
several seeds on the same partitions. CA is purity. Letter is taken as it is, MNIST divided by 255,
CoverType standardised: all 581,012 rows, as in the paper, and two parts of it. The paper's base
partitions use constraints, so its CA and NMI are others.

Times are CPU seconds. "fit" is the whole consensus of this library. What the paper compares is one
k-means engine on the rows of B~ (D columns) and on projected rows (rd columns): here
scikit-learn's Lloyd through ``linalg.kmeans``, five starts, with B~ sparse and with B~ dense. The
bar on the k-means step is held against the faster of these two. SEC of this library runs on
neither: its steps are look-ups in labels, and its fit is printed beside them.

The bars: at rd >= 40 SECRP loses at most 0.02 NMI to SEC, its k-means step takes less than that on
B~, and SEC-SVD takes no less time than SECRP.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread
from clusterscape.combine.sec import SEC
from clusterscape.compare import nmi, purity
from clusterscape.datasets import make_planted_ensemble
from clusterscape.ensemble import Ensemble
from clusterscape.generate import EnsembleGenerator
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.projection import sparse_projection
from clusterscape.plot import MethodCurvesDisplay

PARTITIONS, STARTS, BLOCKS = 50, 5, 4
DIMENSIONS = tuple(range(10, 101, 10))
ENOUGH = 40  # dimensions from which the bars hold
BAR_NMI = 0.02
LARGEST_DENSE = 2.0e9  # bytes of B~ that are written out

# Dataset: the paper's name of it, how features are scaled, seconds saved by SECRP in its Table 2
# for rd = 10..100, and its seconds of SEC and of SEC-SVD at rd = 20.
LETTER = (2.44, 2.39, 2.11, 2.07, 2.04, 2.03, 1.92, 1.74, 1.67, 1.56)
MNIST = (2.76, 2.68, 2.66, 2.58, 2.51, 2.34, 2.31, 2.11, 2.16, 2.03)
COVER = (18.85, 18.64, 15.34, 15.26, 14.04, 11.43, 9.73, 8.31, 7.72, 7.44)
SETS = {
    "letter": ("LetterRec", "raw", LETTER, (3.47, 10.85)),
    "mnist": ("MNIST", "/255", MNIST, (4.91, 14.54)),
    "covtype": ("CoverType", "z-score", COVER, (22.06, 326.61)),
    "covtype_random10k": ("CoverType", "z-score", COVER, (22.06, 326.61)),
    "covtype_first20k": ("CoverType", "z-score", COVER, (22.06, 326.61)),
}


@dataclass
class Figures:
    """Means over the seeds."""

    ca: float
    nmi: float
    seconds: float


@dataclass
class Row:
    """What was found with one number of dimensions."""

    dims: int
    secrp: Figures
    svd: Figures
    project: float  # seconds of the random projection
    step: float  # seconds of k-means on the projected rows


def prepared(name: str, options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the features, scaled, and the classes."""
    data = _common.load(name, options.data_home)
    features, classes = np.asarray(data.data, dtype=np.float32), np.asarray(data.target)
    if options.check and len(features) > options.rows:
        chosen = np.random.default_rng(0).choice(len(features), options.rows, replace=False)
        features, classes = features[chosen], classes[chosen]
    scaling = SETS[name][1]
    if scaling == "/255":
        features = features / np.float32(255)
    elif scaling == "z-score":
        scale = features.std(axis=0)
        features = (features - features.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return features, classes


def fitted(ensemble: Ensemble, classes: np.ndarray, seeds: int, **settings: Any) -> Figures:
    """Return the mean figures of SEC with some settings."""
    k = len(np.unique(classes))
    found = []
    for seed in range(seeds):
        model = SEC(k, n_init=STARTS, random_state=seed, **settings)
        with one_thread(), _common.measure() as taken:
            model.fit(ensemble)
        found.append((purity(model.labels_, classes), nmi(model.labels_, classes), taken.cpu))
    return Figures(*(float(figure) for figure in np.mean(found, axis=0)))


def weighted_rows(ensemble: Ensemble) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return B~ = B / w in units of the mean of w, and the weights w in the same units."""
    B = ensemble.membership(dtype=np.float32).matrix
    w = np.asarray(B @ (B.T @ np.ones(B.shape[0])))
    w = w / w.mean()
    return sparse.csr_matrix(sparse.diags((1 / w).astype(np.float32)) @ B), w


def step_seconds(rows: Any, w: np.ndarray, k: int, seeds: int) -> float:
    """Return the mean CPU seconds of weighted k-means on some rows, always by the same engine."""
    seconds = []
    for seed in range(seeds):
        with one_thread(), _common.measure() as taken:
            kmeans(rows, k, n_init=STARTS, sample_weight=w, seed=seed, engine="sklearn")
        seconds.append(taken.cpu)
    return float(np.mean(seconds))


def one_size(ensemble: Ensemble, classes: np.ndarray, dims: int, seeds: int) -> Row:
    """Return the figures of both projections to some number of dimensions."""
    k = len(np.unique(classes))
    rows, w = weighted_rows(ensemble)
    with _common.measure() as taken:
        projection = sparse_projection(rows.shape[1], dims, n_blocks=BLOCKS, seed=0)
        mixed = projection.project_labels(ensemble.labels, ensemble.offsets)
        mixed /= w[:, None].astype(np.float32)
    return Row(
        dims,
        fitted(ensemble, classes, seeds, projection="sparse", n_dims=dims, n_blocks=BLOCKS),
        fitted(ensemble, classes, seeds, projection="svd", n_dims=dims),
        taken.cpu,
        step_seconds(mixed, w, k, seeds),
    )


def study(name: str, options: Any) -> tuple[Figures, list[Row], bool]:
    """Run and print one dataset; return SEC's figures, those of all dimensions, and the bars."""
    title, scaling, saved, whole = SETS[name]
    features, classes = prepared(name, options)
    k = len(np.unique(classes))
    counts = [max(k_i, 2) for k_i in range(k - 5, k + 5)]
    begun = time.perf_counter()
    ensemble = EnsembleGenerator(
        PARTITIONS, n_clusters=counts, rows="all", random_state=0, n_jobs=2, progress=False
    ).generate(features)
    print(
        f"\n{name} ({title}), {scaling}: {len(features):,} points, k={k}, {PARTITIONS} partitions "
        f"with {min(counts)} to {max(counts)} clusters, D={int(ensemble.offsets[-1])}, made in "
        f"{time.perf_counter() - begun:.0f} s"
    )
    sec = fitted(ensemble, classes, options.seeds)
    rows, w = weighted_rows(ensemble)
    steps = {"sparse": step_seconds(rows, w, k, options.seeds)}
    if 4.0 * rows.shape[0] * rows.shape[1] <= LARGEST_DENSE:
        steps["dense"] = step_seconds(rows.toarray(), w, k, options.seeds)
    rival = min(steps.values())
    shown = ", ".join(f"{form} {seconds:.2f}" for form, seconds in steps.items())
    print(f"SEC: CA {sec.ca:.3f}, NMI {sec.nmi:.3f}, fit {sec.seconds:.2f}; k-means on B~: {shown}")
    print(f"the paper's SEC {whole[0]} s, its SEC-SVD at rd=20 {whole[1]} s")
    table = [one_size(ensemble, classes, dims, options.seeds) for dims in options.dims]
    lines = []
    for row in table:
        gain = rival - row.project - row.step
        paper = saved[DIMENSIONS.index(row.dims)] if row.dims in DIMENSIONS else "-"
        quality = [row.secrp.ca, row.svd.ca, row.secrp.nmi, row.svd.nmi]
        seconds = [row.secrp.seconds, row.svd.seconds, row.project, row.step, gain]
        cells = [*(f"{v:.3f}" for v in quality), *(f"{v:.2f}" for v in seconds)]
        lines.append([row.dims, *cells, paper])
    header = ["rd", "CA SECRP", "SVD", "NMI SECRP", "SVD", "fit SECRP", "SVD"]
    _common.show_table([*header, "project", "k-means", "saved", "paper"], lines)
    return sec, table, held(name, sec, table, rival)


def held(name: str, sec: Figures, table: list[Row], rival: float) -> bool:
    """Say which bars one dataset holds, over all dimensions that are enough."""
    rows = [row for row in table if row.dims >= ENOUGH]
    loss = max(sec.nmi - row.secrp.nmi for row in rows)
    step = max(row.step / rival for row in rows)
    svd = min(row.svd.seconds / row.secrp.seconds for row in rows)
    quicker = max(row.secrp.seconds / sec.seconds for row in rows)
    ok = loss <= BAR_NMI and step < 1 and svd >= 1
    print(
        f"{name}, rd >= {ENOUGH}, worst: NMI {loss:+.3f} below SEC (bar {BAR_NMI}); k-means step "
        f"x{step:.2f} of that on B~ (bar 1); SEC-SVD x{svd:.1f} of SECRP's time (bar 1); no bar: "
        f"SECRP's fit x{quicker:.2f} of the look-up SEC's",
        flush=True,
    )
    return ok


def draw(folder: Path, found: dict[str, tuple[Figures, list[Row]]]) -> None:
    """Write Figure 4: CA and NMI over the dimensions, one column per dataset."""
    import matplotlib

    matplotlib.use("Agg")

    rows = []
    for name, (sec, made) in found.items():
        for row in made:
            for method, own in (("SEC", sec), ("SECRP", row.secrp), ("SEC-SVD", row.svd)):
                rows.append((name, method, row.dims, own.ca, own.nmi))
    setting, measures = "dimensions rd", ["CA", "NMI"]
    table = pd.DataFrame(rows, columns=["dataset", "method", setting, *measures])
    display = MethodCurvesDisplay(table, setting, measures=measures).plot()
    for ax in display.axes_.ravel():
        low, high = ax.get_ylim()
        pad = max(0.1 - (high - low), 0) / 2  # or differences of no account fill the panel
        ax.set_ylim(low - pad, high + pad)
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(folder / "secrp.png", dpi=120)
    print(f"written: {folder / 'secrp.png'}")


def main() -> None:
    """Run the datasets asked for."""
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--sets", nargs="+", choices=SETS, help="datasets; by default all")
    made.add_argument("--dims", nargs="+", type=int, help="dimensions; by default 10 to 100")
    made.add_argument("--seeds", type=int, help="seeds of each figure; by default 10")
    made.add_argument("--rows", type=int, default=8000, help="rows taken with --check")
    made.add_argument("--plot", type=Path, help="folder for the picture of Figure 4")
    options = made.parse_args()
    options.sets = options.sets or (["letter"] if options.check else list(SETS))
    options.dims = options.dims or ((20, 40, 100) if options.check else DIMENSIONS)
    options.seeds = options.seeds or (3 if options.check else 10)
    if max(options.dims) < ENOUGH:
        made.error(f"--dims needs at least one number of {ENOUGH} or more, where the bars hold")
    print(_common.versions())
    small, _ = make_planted_ensemble(300, 20, n_clusters=3, random_state=0)
    for projection in (None, "sparse", "svd"):
        SEC(3, projection=projection, n_dims=10, random_state=0).fit(small)  # compile
    found = {}
    fine = []
    for name in options.sets:
        sec, rows, ok = study(name, options)
        found[name] = (sec, rows)
        fine.append(ok)
    if options.plot:
        draw(options.plot, found)
    _common.finish(
        f"bars held on {sum(fine)} of {len(fine)} datasets: at rd >= {ENOUGH} SECRP within "
        f"{BAR_NMI} NMI of SEC, faster on the k-means step, SEC-SVD no faster",
        all(fine),
        options.check,
    )


if __name__ == "__main__":
    main()
