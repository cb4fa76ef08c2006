"""Is the number of clusters right when nobody gives it?

``ConsensusClustering`` with members of several kinds and without ``n_clusters`` on the sets of
``main_job.py``, prepared as there; with the first seed to the end, with the others as far as the
choice. ``--synthetic`` adds the sets of ``synthetic.py`` and ``--held-out`` real sets on which no
setting was chosen, one seed each. Beside it, on the same cuts: every criterion of the table alone;
and with ``--peers`` of k-means: the gap statistic and PAC (resampling 80 % of the points), both for
k = 2..10.

The bars, on the sets of ``main_job.py``: the right number on at least 60 %, within one on 80 %;
mean ARI at least 0.9 of that with k given; the same number for at least 9 of 10 seeds on 8 of 10
sets.
``--nulls N`` runs nothing of the above: how often ``select_k`` alone, with its references, finds
more than one cluster in N draws of each kind of data without clusters of ``structure.py``, and in
at most 20 of each kind with clusters. The ensembles are small there: whether there are clusters at
all does not depend on them. To be at most 5 %, plus two standard errors, on the five kinds.
``--check`` runs the sets of at most 1,500 points with one seed, and asks for the share of right
numbers alone.
``--folder DIR`` runs the first part on sets of your own; ``main_job.py`` says what is in its files.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import main_job
import structure
import synthetic

import _common

RIGHT, NEAR, KEPT, SAME, SETS = 0.6, 0.8, 0.9, 0.9, 0.8
MOST, REPEATS, POINTS = 10, 20, 500
CHECKED = 1_500  # points of a set
# Sets of features as they are; digits, and classes that need not be clusters.
HELD_OUT = (
    *("semeion", "ssl_g241c", "ssl_g241n", "ssl_digit1", "ssl_usps", "ssl_coil", "sc_goolam"),
    *("sc_treutlein", "svmguide1"),
)


def model(X: np.ndarray, k: int | None, seed: int) -> Any:
    """Return the main job on the features."""
    from clusterscape import ConsensusClustering

    made = ConsensusClustering(k, generator="diverse", n_references=0, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit(X)


def choice(X: np.ndarray, seed: int) -> int:
    """Return the number of clusters alone, from partitions made as by the main job."""
    from clusterscape import ConsensusClustering
    from clusterscape.validate import select_k

    made = ConsensusClustering(generator="diverse", random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ensemble = made.make_generator(*X.shape).generate(X)
    return select_k(ensemble, features=X, random_state=seed).n_clusters


def beside(ensemble: Any, X: np.ndarray, seed: int) -> dict[str, int]:
    """Return what single criteria of the same cuts would have chosen."""
    from clusterscape.validate import select_k

    names = ["silhouette", "calinski_harabasz", "pac", "davies_bouldin", "dunn_owa"]
    table = select_k(ensemble, features=X, criteria=names, random_state=seed).table
    for name in ("pac", "davies_bouldin"):  # the smaller the better
        table[name] *= -1
    rules = ["separation_rise", "clearness_drop", "eigengap", "stability", *names]
    return {name: int(table["k"][np.nanargmax(table[name])]) for name in rules}


def gap_statistic(X: np.ndarray, seed: int) -> int:
    """Return the k of the gap statistic with ten uniform references on the principal axes."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))[:POINTS]]
    X = X - X.mean(axis=0)
    left, size, _ = np.linalg.svd(X, full_matrices=False)
    Z = (left * size)[:, :50]
    ks = range(1, min(MOST, len(Z) - 1) + 1)

    def logs(Y: np.ndarray) -> np.ndarray:
        found = [KMeans(k, n_init=2, random_state=0).fit(Y).inertia_ for k in ks]
        return np.log(np.maximum(found, 1e-12))

    draws = [logs(rng.uniform(Z.min(axis=0), Z.max(axis=0), size=Z.shape)) for _ in range(10)]
    gap = np.mean(draws, axis=0) - logs(Z)
    error = np.std(draws, axis=0) * np.sqrt(1.1)
    good = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(good[0]) + 1 if good.size else len(gap)


def pac(X: np.ndarray, seed: int) -> int:
    """Return the k with the smallest share of pairs that are together in 10 to 90 % of the runs."""
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(seed)
    X = X[rng.permutation(len(X))[:POINTS]]
    n, found = len(X), {}
    upper = np.triu_indices(n, 1)
    for k in range(2, min(MOST, n // 2) + 1):
        together, both = np.zeros((n, n)), np.zeros((n, n))
        for _ in range(REPEATS):
            rows = rng.choice(n, int(0.8 * n), replace=False)
            labels = KMeans(k, n_init=1, random_state=int(rng.integers(2**31))).fit(X[rows]).labels_
            both[np.ix_(rows, rows)] += 1
            together[np.ix_(rows, rows)] += labels[:, None] == labels
        share = (together / np.maximum(both, 1))[upper]
        found[k] = float(((share > 0.1) & (share < 0.9)).mean())
    return min(found, key=lambda k: found[k])


def measured(X: np.ndarray, y: np.ndarray, seeds: range, peers: bool) -> dict[str, Any]:
    """Return what was chosen on one set, for every seed, and the ARIs of the first."""
    truth = len(np.unique(y[y >= 0]))
    free = model(X, None, seeds[0])
    found: dict[str, Any] = {
        "true": truth,
        "chosen": [free.n_clusters_, *(choice(X, seed) for seed in seeds[1:])],
        "ari": main_job.ari(y, free.labels_),
        "given": main_job.ari(y, model(X, truth, seeds[0]).labels_),
        "firm": float((free.k_selection_.choices == free.n_clusters_).mean()),
    }
    found |= beside(free.ensemble_, X, seeds[0])
    if peers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found |= {"gap": gap_statistic(X, 0), "PAC": pac(X, 0)}
    return found


def summary(rows: list[dict[str, Any]], name: str) -> dict[str, float]:
    """Print how often each rule is right; return the figures of ours."""
    truth = np.array([row["true"] for row in rows])

    def shares(chosen: Any) -> list[float]:
        values = np.asarray(chosen)
        return [float(np.mean(values == truth)), float(np.mean(np.abs(values - truth) <= 1))]

    rules = [key for key in rows[0] if key not in ("true", "chosen", "ari", "given", "firm")]
    lines = [["chosen (first seed)", *shares([row["chosen"][0] for row in rows])]]
    lines += [[rule, *shares([row[rule] for row in rows])] for rule in rules]
    _common.show_table(
        [name, "right", "within one"], [[r, f"{a:.2f}", f"{b:.2f}"] for r, a, b in lines]
    )
    every = np.array([[k == row["true"] for k in row["chosen"]] for row in rows])
    near = np.array([[abs(k - row["true"]) <= 1 for k in row["chosen"]] for row in rows])
    same = [max(np.bincount(row["chosen"])) / len(row["chosen"]) for row in rows]
    free = np.mean([row["ari"] for row in rows])
    return {
        "right": float(every.mean()),
        "near": float(near.mean()),
        "kept": float(free / np.mean([row["given"] for row in rows])),
        "same": float(np.mean(np.array(same) >= SAME)),
        "ari": float(free),
    }


def aside(sets: dict[str, Any], title: str) -> None:
    """Print the choices on sets that are not held to the bars."""
    made = {name: measured(X, y, range(1), False) for name, (X, y) in sets.items()}
    for name, row in made.items():
        print(f"  {name}: {row['true']} clusters, chosen {row['chosen']}")
    figures = summary(list(made.values()), title)
    print(f"  ARI {figures['ari']:.3f} = {figures['kept']:.2f} of that with k given")


def false_alarms(runs: int, only: list[str] | None) -> None:
    """Print the shares of data without clusters, and with some, in which more than one is found."""
    from clusterscape.generate import EnsembleGenerator
    from clusterscape.validate import select_k

    members = EnsembleGenerator(10, n_clusters=(2, "sqrt"), progress=False)
    rows, alarms = [], []
    for kind, draw in (structure.NULLS | structure.BESIDE | structure.CLUSTERS).items():
        if only and kind not in only:
            continue
        found, low = [], []
        for run in range(min(runs, 20) if kind in structure.CLUSTERS else runs):
            X = draw(np.random.default_rng(run), 200, 10)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                chosen = select_k(
                    X, (2, 8), generator=members, n_references=19, random_state=run, n_resamples=0
                )
            found.append(chosen.n_clusters)
            low.append(bool(np.nanmin(chosen.table["score_p"]) <= structure.LEVEL))
        more = float(np.mean(np.array(found) > 1))
        if kind in structure.NULLS:
            alarms.append(more)
        rows.append([kind, len(found), f"{more:.3f}", f"{np.mean(low):.3f}", np.bincount(found)])
        print(f"  {kind}: {more:.3f}", flush=True)
    print("select_k with 19 references, k = 2 to 8, 200 x 10:")
    _common.show_table(
        ["data", "draws", "more than one", "a score of p <= 0.05", "chosen 0, 1, 2, ..."], rows
    )
    most = structure.LEVEL + 2 * np.sqrt(structure.LEVEL * (1 - structure.LEVEL) / runs)
    worst = max(alarms, default=0.0)
    _common.finish(f"false alarms at most {worst:.3f} (bar {most:.3f})", worst <= most, False)


def main() -> None:
    """Print the tables and the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--peers", action="store_true", help="gap statistic and PAC, too")
    parser.add_argument("--synthetic", action="store_true", help="synthetic sets, one seed")
    parser.add_argument("--held-out", action="store_true", help="further real sets, one seed")
    parser.add_argument("--folder", type=Path, help="sets of your own, as for main_job.py")
    parser.add_argument("--only", nargs="+", metavar="SET", help="some sets, or kinds of data")
    parser.add_argument("--nulls", type=int, help="draws of each kind of data without clusters")
    options = parser.parse_args()
    print(_common.versions())
    if options.nulls:
        false_alarms(options.nulls, options.only)
    names = [*(f"shape_{s}" for s in main_job.SHAPES), *main_job.REAL]
    names = options.only or names
    mine = {path.stem: path for path in main_job.files(options.folder)} if options.folder else {}
    seeds = range(1 if options.check else options.seeds)
    rows = []
    for name in mine or names:
        X, y = main_job.own(mine[name]) if mine else main_job.data(name, options.data_home)
        if options.check and len(X) > CHECKED:
            continue
        rows.append(measured(X, y, seeds, options.peers))
        row = rows[-1]
        print(
            f"  {name}: {row['true']} clusters, chosen {row['chosen']}, ARI {row['ari']:.2f} "
            f"(k given {row['given']:.2f}), {row['firm']:.0%} of the halves agree",
            flush=True,
        )
    figures = summary(rows, str(options.folder) if mine else "development sets")
    if options.synthetic:
        aside(synthetic.sets(), "synthetic sets")
    if options.held_out:
        aside({name: main_job.data(name, options.data_home) for name in HELD_OUT}, "held-out sets")
    ok = figures["right"] >= RIGHT
    if not options.check:
        ok &= figures["near"] >= NEAR and figures["kept"] >= KEPT and figures["same"] >= SETS
    _common.finish(
        f"right {figures['right']:.2f} (bar {RIGHT}), within one {figures['near']:.2f} ({NEAR}), "
        f"ARI {figures['ari']:.3f} = {figures['kept']:.2f} of that with k given ({KEPT}), the "
        f"same k for 9 of 10 seeds on {figures['same']:.2f} of the sets ({SETS})",
        ok,
        options.check,
    )


if __name__ == "__main__":
    main()
