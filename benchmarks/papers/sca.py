"""The stochastic clustering algorithm: the worked example, Ruspini, and Tables 4.1 and 4.2.

The bar: the worked example (P, eigenvalues, zeta, trajectory and groups, end at t=8) agrees with
the print to four decimals (the trajectory to one unit of the last, because x_0 is printed rounded),
and the consensus of 100 k-means runs on Ruspini is perfect. The tables stand beside the paper's,
with sentences on what differs and why; they are made with five seeds (with ``--check`` one).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape import Ensemble
from clusterscape.combine import SCA, evolve
from clusterscape.compare import accuracy
from clusterscape.generate import EnsembleGenerator
from clusterscape.linalg import symmetric_eigen
from clusterscape.linalg.sinkhorn import sinkhorn
from clusterscape.validate import near_decomposability

PLAYERS = ("Rose", "Cobb", "Fisk", "Ott", "Ruth", "Mays")
# Games, runs, hits, doubles, triples, home runs, runs batted in, stolen bases, bases on balls.
CAREERS = np.array(
    [
        [3562, 2165, 4256, 746, 135, 160, 1314, 198, 1566],
        [3034, 2246, 4189, 724, 295, 117, 1938, 897, 1249],
        [2499, 1276, 2356, 421, 47, 376, 1330, 128, 849],
        [2730, 1859, 2876, 488, 72, 511, 1860, 89, 1708],
        [2503, 2174, 2873, 506, 136, 714, 2213, 123, 2062],
        [2992, 2062, 3283, 523, 140, 660, 1903, 338, 1464],
    ],
    dtype=float,
)
SIMILARITY = np.array(
    [
        [0, 67, 73, 2, 0, 2],
        [67, 0, 50, 1, 2, 7],
        [73, 50, 0, 15, 9, 24],
        [2, 1, 15, 0, 92, 82],
        [0, 2, 9, 92, 0, 77],
        [2, 7, 24, 82, 77, 0],
    ],
    dtype=float,
)
CHAIN = np.array(
    [
        [0, 0.5690, 0.4082, 0.0114, 0, 0.0114],
        [0.5690, 0, 0.3566, 0.0073, 0.0165, 0.0507],
        [0.4082, 0.3566, 0, 0.0719, 0.0489, 0.1144],
        [0.0114, 0.0073, 0.0719, 0, 0.5102, 0.3992],
        [0, 0.0165, 0.0489, 0.5102, 0, 0.4244],
        [0.0114, 0.0507, 0.1144, 0.3992, 0.4244, 0],
    ]
)
EIGENVALUES = np.array([1.0, 0.7962, -0.3188, -0.3863, -0.5136, -0.5776])
STATES = np.array(
    [
        [0.2266, 0.1746, 0.0573, 0.1407, 0.2590, 0.1418],
        [0.1260, 0.1619, 0.1938, 0.1967, 0.1376, 0.1840],
        [0.1755, 0.1538, 0.1511, 0.1602, 0.1906, 0.1687],
        [0.1529, 0.1666, 0.1666, 0.1786, 0.1633, 0.1719],
        [0.1668, 0.1591, 0.1623, 0.1669, 0.1750, 0.1698],
        [0.1607, 0.1655, 0.1648, 0.1718, 0.1678, 0.1694],
        [0.1653, 0.1628, 0.1645, 0.1681, 0.1703, 0.1689],
        [0.1636, 0.1653, 0.1653, 0.1692, 0.1682, 0.1684],
        [0.1654, 0.1646, 0.1654, 0.1680, 0.1686, 0.1681],
    ]
)
GROUPS = np.array(
    [
        [0, 0, 1, 0, 0, 0],
        [0, 1, 1, 1, 0, 1],
        [0, 0, 0, 0, 1, 0],
        [0, 1, 1, 1, 1, 1],
        [0, 0, 0, 0, 1, 0],
        [0, 1, 1, 1, 1, 1],
        [0, 0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1, 1],
        [0, 0, 0, 1, 1, 1],
    ]
)
# Ensemble: the range of errors of single runs, k found, and errors of the consensus, as printed.
IRIS = {
    "NMF(2)": ("1-26", 2, 3),
    "NMF(3)": ("19-72", 2, 0),
    "k-means(2)": ("3", 2, 3),
    "k-means(3)": ("21-38", 2, 0),
    "k-means(4)": ("n/a", 3, 16),
    "Combined(2)": ("1-26", 2, 1),
    "Combined(3)": ("19-72", 2, 0),
}
LEUKEMIA = {
    "NMF(2)": ("1-4", 2, 2),
    "NMF(3)": ("2-15", 3, 2),
    "k-means(2)": ("2-19", 2, 7),
    "k-means(3)": ("2-28", 3, 2),
}
RUNS, SEED, SEEDS = 100, 0, 5


def runs_of(
    X: np.ndarray, algorithm: str, n_clusters: Any, *, n_partitions: int = RUNS, seed: int = SEED
) -> Ensemble:
    """Cluster the rows many times from random starts."""
    made = EnsembleGenerator(
        n_partitions,
        algorithm=algorithm,
        n_clusters=n_clusters,
        init="random",
        n_init=1,
        random_state=seed,
        n_jobs=2,
        progress=False,
    )
    return made.generate(X)


def errors(truth: np.ndarray, labels: np.ndarray) -> int:
    """Return the points that are wrong under the best matching of clusters and classes."""
    return round((1.0 - float(accuracy(truth, labels))) * len(truth))


def worked_example() -> bool:
    """Follow section 3 from the printed similarity to the final clusters."""
    print("\nThe worked example (section 3)")
    blocks = np.repeat([0, 1], 3)
    zeta = near_decomposability(SIMILARITY, blocks).median
    scale = sinkhorn(SIMILARITY, tol=1e-12).scale
    chain = scale[:, None] * SIMILARITY * scale
    values = symmetric_eigen(chain, 6).values
    path = evolve(chain, STATES[0], 2)
    long = evolve(chain, STATES[0], 2, n_stable=1001, max_iter=1000)
    length = min(len(STATES), len(path.states))
    gap = float(np.abs(path.states[:length].round(4) - STATES[:length]).max())
    checks = {
        f"zeta {zeta:.4f} (paper 0.25)": abs(zeta - 0.25) < 1e-12,
        "P to four decimals": bool((chain.round(4) == CHAIN).all()),
        f"eigenvalues {', '.join(f'{v:.4f}' for v in values)}": bool(
            (values.round(4) == EIGENVALUES).all()
        ),
        f"x_t within {gap:.4f} of the print": gap < 1.01e-4,
        "groups at every t": path.groups.shape == GROUPS.shape
        and bool((path.groups == GROUPS).all()),
        f"stable at t={path.n_iter} (paper 8)": path.n_iter == 8 and path.stable,
        "the same groups through t=1000": bool((long.groups[6:] == GROUPS[-1]).all()),
    }
    for text, ok in checks.items():
        print(f"  {'yes' if ok else 'NO '}  {text}")
    ensemble = runs_of(CAREERS, "nmf", 2, n_partitions=50)
    ensemble = ensemble.concat(runs_of(CAREERS, "nmf", 3, n_partitions=50))
    counts = ensemble.coassociation(normalize="counts").toarray()
    np.fill_diagonal(counts, 0)
    model = SCA(random_state=SEED).fit(ensemble)
    names = [
        [player for player, g in zip(PLAYERS, model.labels_, strict=True) if g == c]
        for c in range(model.n_clusters_)
    ]
    print(
        f"  With S from our own 50 + 50 NMF runs (k = 2 and 3): k={model.n_clusters_}, {names};\n"
        f"  S differs from the printed one by {np.abs(counts - SIMILARITY).mean():.0f} of 100 on "
        "average, because the paper does not tell how its\n  NMF starts, stops and assigns."
    )
    return all(checks.values())


def ruspini(home: Path | None) -> bool:
    """Combine 100 runs of k-means with k=4 on Ruspini's points."""
    data = _common.load("ruspini", home)
    ensemble = runs_of(data.data, "kmeans", 4)
    single = [errors(data.target, labels) for labels in ensemble.labels.T]
    model = SCA(random_state=SEED).fit(ensemble)
    wrong = errors(data.target, model.labels_)
    print("\nRuspini (section 4.1), 100 x k-means(4)")
    print(
        f"  perfect single runs {single.count(0)} (paper 55); median zeta {model.zeta_before_:.2f} "
        f"(paper 0.22); consensus: k={model.n_clusters_}, {wrong} errors (paper perfect)"
    )
    return wrong == 0 and model.n_clusters_ == 4


Ensembles = dict[str, Ensemble]


class Answer(NamedTuple):
    """What a run of the algorithm gave: zeta, clusters found and errors."""

    zeta: float
    k: int
    wrong: int | None


def answer(ensemble: Ensemble, truth: dict[int, np.ndarray], seed: int, **how: Any) -> Answer:
    """Run the algorithm; errors are against the classes merged to as many, three at most."""
    model = SCA(random_state=seed, **how).fit(ensemble)
    k = model.n_clusters_
    wrong = errors(truth.get(k, truth[3]), model.labels_) if k > 1 else None
    return Answer(model.zeta_, k, wrong)


def written(values: list[Any]) -> str:
    """Return one entry per seed, or a single one where all are equal."""
    shown = ["-" if v is None else str(v) for v in values]
    return shown[0] if len(set(shown)) == 1 else " ".join(shown)


def two_tables(title: str, made: list[Ensembles], truth: dict[int, np.ndarray]) -> None:
    """Print a table beside the paper's: with zeroing, without it, and with the paper's k.

    There is one ensemble per seed; a cell has one entry per seed unless all are equal.
    """
    paper = IRIS if len(truth[2]) == 150 else LEUKEMIA
    rows = []
    for name, (span, k_paper, wrong_paper) in paper.items():
        ensembles = [every[name] for every in made]
        target = truth.get(int(name[-2]))
        single = "n/a"
        if target is not None:
            all_runs = [errors(target, labels) for e in ensembles for labels in e.labels.T]
            single = f"{min(all_runs)}-{max(all_runs)}"
        row: list[object] = [name, single, span]
        for zeroing in (True, False):
            found = [answer(e, truth, s, zeroing=zeroing) for s, e in enumerate(ensembles)]
            row += [f"{np.median([a.zeta for a in found]):.2f}"]
            row += [written([a.k for a in found]), written([a.wrong for a in found])]
        given = [answer(e, truth, s, n_clusters=k_paper) for s, e in enumerate(ensembles)]
        rows.append([*row, written([a.wrong for a in given]), k_paper, wrong_paper])
    print(f"\n{title}")
    header = ["S from", "single", "paper", "zeta", "k", "errors", "zeta*", "k*", "errors*"]
    _common.show_table([*header, "k given", "paper k", "errors"], rows)


def iris_ensembles(X: np.ndarray, seed: int) -> Ensembles:
    """Return the seven ensembles of Table 4.1."""
    nmf = {k: runs_of(X, "nmf", k, seed=seed) for k in (2, 3)}
    means = {k: runs_of(X, "kmeans", k, seed=seed) for k in (2, 3, 4)}
    made = {f"NMF({k})": e for k, e in nmf.items()}
    made |= {f"k-means({k})": e for k, e in means.items()}
    return made | {f"Combined({k})": nmf[k].concat(means[k]) for k in (2, 3)}


def leukemia_ensembles(X: np.ndarray, seed: int) -> Ensembles:
    """Return the four ensembles of Table 4.2."""
    return {
        f"{title}({k})": runs_of(X, algorithm, k, seed=seed)
        for title, algorithm in (("NMF", "nmf"), ("k-means", "kmeans"))
        for k in (2, 3)
    }


def tables(home: Path | None, seeds: int) -> None:
    """Print Tables 4.1 and 4.2, and zeta of the cosine similarity."""
    iris = _common.load("iris", home)
    truth = {2: (iris.target > 0).astype(int), 3: iris.target}
    words = f"{seeds} seeds; * without zeroing; k given: errors with the paper's k"
    made = [iris_ensembles(iris.data, seed) for seed in range(seeds)]
    two_tables(f"Iris (Table 4.1); {words}", made, truth)
    print(
        "  Single runs of k-means(3) on raw iris start at 16 errors, not at 21: the paper prepared "
        "the features in a\n  way that it does not tell, and its NMF is another one. Where the "
        "median of zeta is above 0.5, k depends on\n  how small values are zeroed, which the paper "
        "leaves open. Here a cut-off rises by hundredths until the\n  median is below 0.5; that "
        "takes clusters apart, and which ones changes with the seed. Without zeroing,\n  NMF(3), "
        "Combined(3) and k-means(4) are as printed, which suggests that nothing was zeroed there."
    )
    blood = _common.load("leukemia_brunet", home)
    truth = {2: (blood.target == 2).astype(int), 3: blood.target}
    made = [leukemia_ensembles(blood.data, seed) for seed in range(seeds)]
    two_tables(f"Leukemia (Table 4.2); {words}", made, truth)
    rows = blood.data / np.linalg.norm(blood.data, axis=1, keepdims=True)
    zeta = near_decomposability(rows @ rows.T, blood.target).median
    print(
        "  NMF ensembles are nearly decomposable and need no zeroing: k is as printed. k-means "
        "ensembles are not.\n  Without zeroing their largest gap says one cluster; with it, k "
        "depends on the cut-off, which the paper\n  leaves open.\n"
        f"  Cosine similarity with the true clusters: zeta {zeta:.2f} (paper 0.76), so it is far "
        "from decomposable."
    )


def main() -> None:
    """Run everything; the bar is the worked example and Ruspini."""
    options = _common.arguments(__doc__.splitlines()[0])
    print(_common.versions())
    exact = worked_example()
    perfect = ruspini(options.data_home)
    tables(options.data_home, 1 if options.check else SEEDS)
    _common.finish(
        f"worked example {'agrees' if exact else 'differs'}, Ruspini "
        f"{'perfect' if perfect else 'not perfect'}",
        exact and perfect,
        options.check,
    )


if __name__ == "__main__":
    main()
