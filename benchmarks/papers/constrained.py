"""Fast constrained spectral clustering: Figures 1 to 3 of the paper, on its three datasets.

Figure 1: CA (purity), NMI and CPU seconds of LSC-R, SCACS, CCS (Letter only, as in the paper),
CCS-L and CCS-LS for c labelled points. Figure 2: CCS-LS with other sample rates at c = 500. Figure
3: the ensembles CK-SE, SCACS-SE, CCSS-SE and CCSS-SER, and beside them what the paper names as
future work: members of two kinds, judged by a fifth of the labels. p = 500 landmarks,
r = 3, alpha = 5, beta = 0.1, 40 dimensions; constraints pull but are not enforced, as in the
paper. Letter is taken as it is, MNIST divided by 255, CoverType standardised (the paper does not
say). Its figures are curves without numbers: what it claims of them are the bars.

The bars, on means over the trials: (1) CCS-LS above LSC-R at the largest c, and rising from the
smallest c to the largest, in CA and NMI; (2) CCS-LS within 0.01 of CCS-L, and faster; (3) CCS-LS at
least level with SCACS (within 0.01) on Letter and MNIST and above it on CoverType, in CA; (4)
ensembles of CCS-LS above one CCS-LS at each c; (5) CCSS-SER within 0.02 of CCSS-SE. How far
SCACS-SE is above one SCACS is printed without a bar.

"CCS-LS points" is ``weighting="points"``, without a bar. CCSS-SER is the library's SECRP: after the
projection it makes a few iterations on the rows themselves (``polish``); the published one has
none, stands beside it, and its distance is printed as well.

``--dims`` adds Figure 4 and Table 2 on constrained base partitions (c = 500): SEC, SECRP by its
dimensions, and SEC-SVD with 20. Its bar: NMI of SECRP within 0.02 of SEC from 40 dimensions on.
The paper also claims that SEC-SVD takes longer than SECRP. That is printed without a bar: singular
vectors are found here on the side of the clusters, of which there are far fewer than points, so
that both are quick and take about the same time.

``--plot FOLDER`` draws what was run, one picture per figure.

``--queries`` runs another study instead: ten answers to the pairs that ``suggest_queries`` names,
and ten to random pairs, both given to the main job as certain constraints, on three sets. Its bar:
a larger mean gain of ARI on each of them, over the seeds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import ConsensusClustering
from clusterscape._core.parallel import one_thread
from clusterscape.combine import SEC
from clusterscape.compare import adjusted_rand, nmi, purity
from clusterscape.plot import MethodCurvesDisplay
from clusterscape.semisupervised import (
    SCACS,
    ConstrainedEnsemble,
    ConstrainedSpectral,
    Constraints,
    FastConstrainedSpectral,
    LandmarkSpectral,
)

QUERY_SETS = ("digits", "image_segmentation", "pendigits")
QUERY_ROWS, ANSWERS, RANDOM_DRAWS = 2000, 10, 10
SETS = {"letter": "raw", "mnist": "/255", "covtype": "z-score"}
COUNTS = tuple(range(100, 1001, 100))
RATES = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
CLOSE = 0.01

Made = Callable[[int, int], Any]  # clusters and seed to a clusterer

SINGLE: dict[str, Made] = {
    "LSC-R": lambda k, t: LandmarkSpectral(k, random_state=t),
    "SCACS": lambda k, t: SCACS(k, random_state=t),
    "CCS": lambda k, t: ConstrainedSpectral(k, random_state=t),
    "CCS-L": lambda k, t: FastConstrainedSpectral(k, sample_rate=1.0, random_state=t),
    "CCS-LS": lambda k, t: FastConstrainedSpectral(k, random_state=t),
    "CCS-LS points": lambda k, t: FastConstrainedSpectral(k, weighting="points", random_state=t),
}
ENSEMBLES: dict[str, dict[str, Any]] = {
    "CK-SE": {"base": "cop"},
    "SCACS-SE": {"base": "scacs"},
    "CCSS-SE": {"base": "ccs"},
    "CCSS-SER": {"base": "ccs", "consensus": "secrp"},
    "published SER": {"base": "ccs", "consensus": SEC(projection="sparse", polish=0)},
    "mixed, judged": {"base": ["ccs", "scacs"], "held_back": 0.2, "keep": 0.8},
}


def prepared(name: str, options: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the features, scaled, and the classes."""
    data = _common.load(name, options.data_home)
    features, classes = np.asarray(data.data, dtype=np.float32), np.asarray(data.target)
    if options.rows and len(features) > options.rows:
        chosen = np.random.default_rng(0).choice(len(features), options.rows, replace=False)
        features, classes = features[chosen], classes[chosen]
    if SETS[name] == "/255":
        features = features / np.float32(255)
    elif SETS[name] == "z-score":
        scale = features.std(axis=0)
        features = (features - features.mean(axis=0)) / np.where(scale > 0, scale, 1)
    return features, np.unique(classes, return_inverse=True)[1]


def labelled(classes: np.ndarray, count: int, trial: int) -> np.ndarray:
    """Return the classes of some points, -1 for the others."""
    known = np.full(len(classes), -1)
    chosen = np.random.default_rng([trial, count]).choice(len(classes), count, replace=False)
    known[chosen] = classes[chosen]
    return known


def figures(
    made: Made, X: np.ndarray, classes: np.ndarray, count: int, trials: int
) -> tuple[float, float, float]:
    """Return mean CA, NMI and CPU seconds over the trials."""
    k = int(classes.max()) + 1
    found = []
    for trial in range(trials):
        known = labelled(classes, count, trial)
        with one_thread(), _common.measure() as taken:
            labels = made(k, trial).fit(X, known).labels_
        found.append((purity(labels, classes), nmi(labels, classes), taken.cpu))
    ca, mutual, seconds = np.mean(found, axis=0)
    return float(ca), float(mutual), float(seconds)


def cells(found: tuple[float, float, float]) -> str:
    """Return CA, NMI and seconds as one cell."""
    return f"{found[0]:.3f} {found[1]:.3f} {found[2]:.2f}"


Table = dict[str, dict[int, tuple[float, float, float]]]
Panel = dict[str, dict[Any, Any]]  # curves: what is varied, to CA, NMI and seconds


def first_figure(name: str, X: np.ndarray, classes: np.ndarray, options: Any) -> Table:
    """Run and print Figure 1."""
    methods = [m for m in SINGLE if m != "CCS" or (name == "letter" and options.ccs_trials)]
    table: Table = {m: {} for m in methods}
    rows = []
    for count in options.counts:
        for method in methods:
            trials = options.ccs_trials if method == "CCS" else options.trials
            table[method][count] = figures(SINGLE[method], X, classes, count, trials)
        rows.append([count, *(cells(table[m][count]) for m in methods)])
    print(f"Figure 1, {name}: CA, NMI, CPU s; {options.trials} trials")
    _common.show_table(["c", *methods], rows)
    sys.stdout.flush()
    return table


def second_figure(name: str, X: np.ndarray, classes: np.ndarray, options: Any) -> Panel:
    """Run and print Figure 2; return its curve."""
    rows, found = [], []
    for rate in options.rates:

        def made(k: int, t: int, rate: float = rate) -> Any:
            return FastConstrainedSpectral(k, sample_rate=rate, random_state=t)

        found.append(figures(made, X, classes, 500, options.trials))
        rows.append([rate, *(f"{v:.3f}" for v in found[-1])])
    print(f"Figure 2, {name}: c = 500")
    _common.show_table(["sample rate", "CA", "NMI", "CPU s"], rows)
    spread = float(np.ptp(np.array(found)[:, :2], axis=0).max())
    print(f"largest difference over the rates {spread:.3f}", flush=True)
    return {"CCS-LS": dict(zip(options.rates, found, strict=True))}


def third_figure(name: str, X: np.ndarray, classes: np.ndarray, options: Any) -> Table:
    """Run and print Figure 3."""
    table: Table = {m: {} for m in options.ensembles}
    rows = []
    for count in options.ensemble_counts:
        for method in options.ensembles:

            def made(k: int, t: int, how: dict[str, Any] = ENSEMBLES[method]) -> Any:
                common: dict[str, Any] = {"n_partitions": options.members, "enforce": False}
                return ConstrainedEnsemble(k, random_state=t, **common, **how)

            table[method][count] = figures(made, X, classes, count, options.ensemble_trials)
        rows.append([count, *(cells(table[m][count]) for m in options.ensembles)])
    print(
        f"Figure 3, {name}: {options.members} members, {options.ensemble_trials} trials; "
        "CA, NMI, CPU s"
    )
    _common.show_table(["c", *options.ensembles], rows)
    sys.stdout.flush()
    return table


def fourth_figure(
    name: str, X: np.ndarray, classes: np.ndarray, options: Any
) -> tuple[list[tuple[str, bool]], Panel]:
    """Run and print Figure 4 on constrained partitions; return the bars and the curves."""
    k = int(classes.max()) + 1
    known = labelled(classes, 500, 0)
    with one_thread(), _common.measure() as taken:
        base = ConstrainedEnsemble(k, n_partitions=options.members, enforce=False, random_state=0)
        ensemble = base.fit(X, known).ensemble_
    ways = {
        "SEC": {},
        **{f"SECRP {d}": {"projection": "sparse", "n_dims": d} for d in options.dims},
    }
    ways |= {f"{way}, polish=0": {**how, "polish": 0} for way, how in ways.items() if how}
    ways["SEC-SVD 20"] = {"projection": "svd", "n_dims": 20}
    ways.setdefault("SECRP 20", {"projection": "sparse", "n_dims": 20})
    found = {}
    for way, how in ways.items():
        runs = []
        for seed in range(options.ensemble_trials or 1):
            model = SEC(k, n_init=5, random_state=seed, **how)
            with one_thread(), _common.measure() as spent:
                labels = model.fit(ensemble).labels_
            runs.append((purity(labels, classes), nmi(labels, classes), spent.cpu))
        found[way] = np.mean(runs, axis=0)
    print(f"Figure 4, {name}: {options.members} CCS-LS partitions, made in {taken.cpu:.0f} CPU s")
    rows = [[way, *(f"{v:.3f}" for v in figures)] for way, figures in found.items()]
    _common.show_table(["consensus", "CA", "NMI", "CPU s"], rows)
    many = [d for d in options.dims if d >= 40]
    loss = max(found["SEC"][1] - found[f"SECRP {d}"][1] for d in many) if many else 0.0
    text, ok = f"NMI of SECRP below SEC from rd = 40, at most: {loss:+.3f}", loss <= 0.02
    print(f"  {name}: {text} (bar 0.02): {'held' if ok else 'MISSED'}")
    ratio = found["SEC-SVD 20"][2] / found["SECRP 20"][2]
    claim = f"SEC-SVD takes x{ratio:.1f} of SECRP's time at rd = 20 (the paper: more)"
    print(f"  {name}: no bar: {claim}", flush=True)
    flat = dict.fromkeys(options.dims, found["SEC"])
    return [(text, ok)], {"SEC": flat, "SECRP": {d: found[f"SECRP {d}"] for d in options.dims}}


def apart(ensembles: Table, other: str) -> float:
    """Return the largest difference of CA or NMI from CCSS-SE."""
    pairs = [(found, ensembles[other][c]) for c, found in ensembles["CCSS-SE"].items()]
    return float(max(abs(np.subtract(a, b)[:2]).max() for a, b in pairs))


def _print_scacs(name: str, single: Table, ensembles: Table) -> None:
    """Print the least gain of an ensemble of SCACS over one SCACS."""
    shared = sorted(set(single["SCACS"]) & set(ensembles["SCACS-SE"]))
    gains = [np.subtract(ensembles["SCACS-SE"][c], single["SCACS"][c])[:2] for c in shared]
    if gains:
        ca, mutual = np.min(gains, axis=0)
        text = f"SCACS-SE over one SCACS, least: CA {ca:+.3f}, NMI {mutual:+.3f}"
        print(f"  {name}: no bar: {text}")


def held(name: str, single: Table, ensembles: Table) -> list[tuple[str, bool]]:
    """Say which bars a dataset holds."""
    counts = sorted(single["CCS-LS"])
    few, many = single["CCS-LS"][counts[0]], single["CCS-LS"][counts[-1]]
    plain = single["LSC-R"][counts[-1]]
    every = [(single["CCS-L"][c], single["CCS-LS"][c], single["SCACS"][c]) for c in counts]
    close = max(abs(np.subtract(a, b)[:2]).max() for a, b, _ in every)
    quicker = sum(b[2] for _, b, _ in every) / sum(a[2] for a, _, _ in every)
    over = float(np.mean([b[0] - s[0] for _, b, s in every]))
    bars = [
        (f"CCS-LS above LSC-R at c={counts[-1]}: CA {many[0]:.3f} > {plain[0]:.3f}, NMI "
         f"{many[1]:.3f} > {plain[1]:.3f}", many[0] > plain[0] and many[1] > plain[1]),
        (f"rising with c: CA {few[0]:.3f} to {many[0]:.3f}, NMI {few[1]:.3f} to {many[1]:.3f}",
         many[0] > few[0] and many[1] > few[1]),
        (f"CCS-LS within {CLOSE} of CCS-L: {close:.3f}", close <= CLOSE),
        (f"CCS-LS faster than CCS-L: x{quicker:.2f} of its time", quicker < 1),
        (f"CA of CCS-LS over SCACS, mean: {over:+.3f}",
         over > 0 if name == "covtype" else over >= -CLOSE),
    ]  # fmt: skip
    if "CCSS-SE" in ensembles and "CCSS-SER" in ensembles:
        shared = sorted(set(counts) & set(ensembles["CCSS-SE"]))
        gains = [
            ensembles[m][c][0] - single["CCS-LS"][c][0]
            for c in shared for m in ("CCSS-SE", "CCSS-SER")
        ]  # fmt: skip
        far = apart(ensembles, "CCSS-SER")
        if gains:
            bars.append(
                (f"CA of ensembles over one CCS-LS, least: {min(gains):+.3f}", min(gains) > 0)
            )
        bars.append((f"CCSS-SER within 0.02 of CCSS-SE: {far:.3f}", far <= 0.02))
    for text, ok in bars:
        print(f"  {name}: {text}: {'held' if ok else 'MISSED'}")
    if "SCACS-SE" in ensembles:
        _print_scacs(name, single, ensembles)
    if "CCSS-SE" in ensembles and "published SER" in ensembles:
        print(
            f"  {name}: no bar: published SER from CCSS-SE: {apart(ensembles, 'published SER'):.3f}"
        )
    return bars


def answered(pairs: np.ndarray, classes: np.ndarray) -> Constraints:
    """Return the constraints that follow from asking about pairs."""
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return Constraints(len(classes), must_link=pairs[same], cannot_link=pairs[~same])


def queries(name: str, options: Any) -> tuple[list[object], bool]:
    """Return a row of ARI before, with suggested and with random pairs, and whether it is more."""
    data = _common.load(name, options.data_home)
    X, classes = np.asarray(data.data, dtype=np.float64), np.asarray(data.target)
    rows = np.random.default_rng(0).permutation(len(X))[:QUERY_ROWS]
    scale = X.std(axis=0)
    X = ((X - X.mean(axis=0)) / np.where(scale > 0, scale, 1))[rows]
    classes = np.unique(classes[rows], return_inverse=True)[1]
    found = []
    for seed in range(options.seeds):
        model = ConsensusClustering(int(classes.max()) + 1, random_state=seed).fit(X)
        before = adjusted_rand(model.labels_, classes)
        asked = model.suggest_queries(ANSWERS)[["first", "second"]].to_numpy()
        rng = np.random.default_rng([seed, 1])
        drawn = [
            np.sort(rng.choice(len(X), (ANSWERS, 2), replace=False), axis=1)
            for _ in range(RANDOM_DRAWS)
        ]
        after = []
        for pairs in [asked, *drawn]:
            known = answered(pairs, classes)
            again = clone(model).fit_ensemble(model.ensemble_, features=X, constraints=known)
            after.append(adjusted_rand(again.labels_, classes))
        found.append((before, after[0], float(np.mean(after[1:]))))
    before, asked_for, random = np.mean(found, axis=0)
    wins = sum(a > r for _, a, r in found)
    return [name, f"{before:.3f}", f"{asked_for - before:+.4f}", f"{random - before:+.4f}",
            f"{wins} of {len(found)}"], asked_for > random  # fmt: skip


FIGURES = {
    1: "labelled points c",
    2: "sample rate",
    3: "labelled points c",
    4: "dimensions of the projection",
}


def draw(folder: Path, found: dict[int, dict[str, Panel]]) -> None:
    """Write the figures: CA, NMI and time, one column per dataset."""
    import matplotlib

    matplotlib.use("Agg")

    folder.mkdir(parents=True, exist_ok=True)
    measures = ["CA", "NMI", "CPU s"]
    for number, panels in found.items():
        rows = [
            (name, method, at, *values)
            for name, panel in panels.items()
            for method, curve in panel.items()
            for at, values in curve.items()
        ]
        table = pd.DataFrame(rows, columns=["dataset", "method", FIGURES[number], *measures])
        display = MethodCurvesDisplay(table, FIGURES[number], measures=measures).plot()
        file = folder / f"constrained_figure_{number}.png"
        display.figure_.savefig(file, dpi=120)
        print(f"written: {file}")


def options_of() -> Any:
    """Read the command line."""
    made = _common.parser(__doc__.splitlines()[0])
    made.add_argument("--sets", nargs="+", choices=SETS, help="datasets; by default all")
    made.add_argument("--rows", type=int, help="rows taken; by default all (--check: 8,000)")
    made.add_argument("--counts", nargs="+", type=int, help="labelled points; 100 to 1000")
    made.add_argument("--trials", type=int, help="trials of Figures 1 and 2; by default 20")
    made.add_argument("--ccs-trials", type=int, help="trials of CCS; by default 5")
    made.add_argument("--rates", nargs="*", type=float, help="sample rates of Figure 2")
    made.add_argument("--members", type=int, help="members of an ensemble; by default 50")
    made.add_argument("--ensemble-trials", type=int, help="by default 10; 0 leaves Figure 3 out")
    made.add_argument("--ensemble-counts", nargs="+", type=int, help="by default as --counts")
    made.add_argument("--ensembles", nargs="+", choices=ENSEMBLES, help="by default all")
    made.add_argument(
        "--dims", nargs="*", type=int, default=(), help="of Figure 4; none: no figure"
    )
    made.add_argument("--queries", action="store_true", help="suggested against random pairs")
    made.add_argument("--seeds", type=int, default=5, help="seeds of --queries")
    made.add_argument("--plot", type=Path, help="folder for the pictures")
    options = made.parse_args()
    quick = options.check
    options.sets = options.sets or (["letter"] if quick else list(SETS))
    options.rows = options.rows or (8000 if quick else None)
    options.counts = options.counts or ((100, 1000) if quick else COUNTS)
    options.trials = options.trials or (3 if quick else 20)
    if options.ccs_trials is None:
        options.ccs_trials = 0 if quick else 5
    if options.rates is None:
        options.rates = () if quick else RATES
    options.members = options.members or (20 if quick else 50)
    if options.ensemble_trials is None:
        options.ensemble_trials = 1 if quick else 10
    if options.ensemble_counts is None:
        options.ensemble_counts = options.counts
    fast = ["CCSS-SE", "CCSS-SER", "published SER"]
    options.ensembles = options.ensembles or (fast if quick else list(ENSEMBLES))
    return options


def main() -> None:
    """Run the datasets asked for."""
    options = options_of()
    print(_common.versions())
    if options.queries:
        results = [queries(name, options) for name in QUERY_SETS]
        _common.show_table(["set", "ARI", "suggested", "random", "better"], [r for r, _ in results])
        count = sum(ok for _, ok in results)
        text = f"suggested pairs gain more than random ones on {count} of {len(results)} sets"
        _common.finish(text, count == len(results), options.check)
        return
    warm = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    for made in SINGLE.values():
        made(3, 0).fit(warm, np.arange(300) % 3)  # compile
    drawn: dict[int, dict[str, Panel]] = {}
    bars = []
    for name in options.sets:
        X, classes = prepared(name, options)
        print(f"\n{name}, {SETS[name]}: {X.shape[0]:,} x {X.shape[1]}, {classes.max() + 1} classes")
        single = first_figure(name, X, classes, options)
        drawn.setdefault(1, {})[name] = single
        if options.rates:
            drawn.setdefault(2, {})[name] = second_figure(name, X, classes, options)
        ensembles = third_figure(name, X, classes, options) if options.ensemble_trials else {}
        if ensembles:
            drawn.setdefault(3, {})[name] = ensembles
        bars += held(name, single, ensembles)
        if options.dims:
            more, drawn.setdefault(4, {})[name] = fourth_figure(name, X, classes, options)
            bars += more
    if options.plot:
        draw(options.plot, drawn)
    count = sum(ok for _, ok in bars)
    _common.finish(f"{count} of {len(bars)} claims held", count == len(bars), options.check)


if __name__ == "__main__":
    main()
