"""Is the answer better than one call of one method? ARI with the true number of clusters.

Single methods (k-means with ten starts, Ward, Gaussian mixture, spectral clustering of the
10-neighbour graph, HDBSCAN with its defaults, Genie) against consensus answers: every consensus of
``METHODS`` that takes k on the same ``diverse`` ensemble, the default of ``ConsensusClustering``,
and ``diverse`` with the choice between two consensuses. All see the same features: tables with
units are scaled to unit deviation, single-cell counts are logged, sets of more than 4,000 points
are a random 4,000. Points that a set calls noise are not counted.

The bars of the default (three seeds): mean ARI at least 0.03 above that of the best single method,
at least level with it on shapes and on real data, and more than 0.2 below the best single method
of a set on at most one set in six. ``--check`` runs a dozen small sets with one seed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common

SHAPES = (
    *("atom", "chainlink", "dense", "engytime", "fuzzyx", "hepta", "line", "lsun", "parabolic"),
    *("ring", "ring_noisy", "ring_outliers", "target", "tetra", "twodiamonds", "wingnut"),
    *("zigzag", "zigzag_noisy", "zigzag_outliers"),
)
# What is done to the features of a real set before any method sees them.
REAL = {
    "soybean_small": "none",
    "spect_heart": "none",
    "image_segmentation": "standard",
    "statlog_heart": "standard",
    "wine": "standard",
    "wdbc": "standard",
    "iris": "standard",
    "digits": "none",
    "robot_lp5": "standard",
    "madelon": "standard",
    "ionosphere": "standard",
    "glass": "standard",
    "pendigits": "none",
    "usps": "none",
    "sc_yan": "log",
    "leukemia_brunet": "none",
    "ruspini": "none",
}
SMALL = (
    *("shape_atom", "shape_lsun", "shape_fuzzyx", "shape_zigzag_noisy", "shape_target"),
    *("shape_parabolic", "iris", "wine", "wdbc", "glass", "sc_yan", "leukemia_brunet"),
)
LARGEST = 4_000
ABOVE, FAR, ONE_IN = 0.03, 0.2, 6


def data(name: str, home: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes; -1 is noise, which no score counts."""
    loaded = _common.load(name, home)
    X, y = np.asarray(loaded.data, dtype=np.float64), np.asarray(loaded.target)
    rng = np.random.default_rng(123)
    rows = rng.permutation(len(y))[:LARGEST]  # files are sorted by class
    X, y = X[rows], y[rows]
    X = np.ascontiguousarray(X[:, X.std(axis=0) > 0])
    how = REAL.get(name, "none")
    if how == "standard":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return (np.log1p(X) if how == "log" else X), y


def singles(k: int, seed: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return the single methods by name."""
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
    from sklearn.mixture import GaussianMixture

    from clusterscape.generate import EnsembleGenerator, Kind

    def mixture(X: np.ndarray) -> np.ndarray:
        kind = "full" if X.shape[1] < 300 else "diag"
        return GaussianMixture(k, covariance_type=kind, random_state=seed).fit_predict(X)

    def genie(X: np.ndarray) -> np.ndarray:
        return EnsembleGenerator(1, algorithm=Kind("genie", k), rows="all").generate(X).labels[:, 0]

    return {
        "k-means": KMeans(k, n_init=10, random_state=seed).fit_predict,
        "Ward": AgglomerativeClustering(k).fit_predict,
        "mixture": mixture,
        "spectral": SpectralClustering(
            k, affinity="nearest_neighbors", n_neighbors=10, random_state=seed
        ).fit_predict,
        "HDBSCAN": HDBSCAN(copy=True).fit_predict,
        "Genie": genie,
    }


def ours(k: int, seed: int, every: bool) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return our answers by name; ``every`` adds all consensus methods on one ensemble."""
    from clusterscape import ConsensusClustering
    from clusterscape.combine import METHODS
    from clusterscape.generate import diverse

    made: dict[str, Any] = {}

    def ensemble(X: np.ndarray) -> Any:
        if "ensemble" not in made:
            made["ensemble"] = diverse(100, n_clusters=k, random_state=seed).generate(X)
        return made["ensemble"]

    def on_diverse(name: str) -> Callable[[np.ndarray], np.ndarray]:
        def run(X: np.ndarray) -> np.ndarray:
            method = METHODS[name].estimator()
            known = method.get_params(deep=False)
            given = {"n_clusters": k, "random_state": seed}
            method.set_params(**{n: v for n, v in given.items() if n in known})
            return method.fit(ensemble(X)).labels_

        return run

    answers: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "default": lambda X: (
            ConsensusClustering(k, n_references=0, random_state=seed).fit(X).labels_
        ),
        "diverse, auto": lambda X: (
            ConsensusClustering(k, generator="diverse", n_references=0, random_state=seed)
            .fit(X)
            .labels_
        ),
    }
    if every:
        names = [n for n, m in METHODS.items() if m.takes_k and m.features != "needed"]
        answers |= {f"diverse, {name}": on_diverse(name) for name in names}
    return answers


def ari(truth: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index over the points that have a class."""
    from sklearn.metrics import adjusted_rand_score

    known = truth >= 0
    return float(adjusted_rand_score(truth[known], labels[known]))


def scores(name: str, seeds: range, every: bool, home: Path | None) -> dict[str, list[float]]:
    """Return the ARI of every method for every seed."""
    X, truth = data(name, home)
    k = len(np.unique(truth[truth >= 0]))
    found: dict[str, list[float]] = {}
    for seed in seeds:
        for method, run in {**singles(k, seed), **ours(k, seed, every)}.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    value = ari(truth, run(X))
                except (ValueError, MemoryError) as error:
                    print(f"  {name}: {method} failed: {error}")
                    value = 0.0
            found.setdefault(method, []).append(value)
    return found


def main() -> None:
    """Print the table and the bars."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", help="names with commas between, instead of all")
    parser.add_argument("--every", action="store_true", help="every consensus on one ensemble")
    parser.add_argument("--answer", default="default", help="the answer that is held to the bars")
    options = parser.parse_args()
    print(_common.versions())
    sets = SMALL if options.check else [*(f"shape_{s}" for s in SHAPES), *REAL]
    sets = options.sets.split(",") if options.sets else sets
    seeds = range(1 if options.check else options.seeds)
    table = {}
    for name in sets:
        table[name] = scores(name, seeds, options.every, options.data_home)
        print(f"  {name} done", flush=True)
    report(table, options.answer, options.check)


def report(table: dict[str, dict[str, list[float]]], answer: str, check: bool) -> None:
    """Print means, spreads and the verdict."""
    methods = list(next(iter(table.values())))
    alone = list(singles(2, 0))
    groups = {
        "all": list(table),
        "shapes": [s for s in table if s.startswith("shape_")],
        "real": [s for s in table if not s.startswith("shape_")],
    }

    def mean(method: str, group: str) -> float:
        return float(np.mean([np.mean(table[s][method]) for s in groups[group]]))

    def spread(method: str) -> float:
        return float(np.mean([np.ptp(table[s][method]) for s in table]))

    rows = [
        [m, *(f"{mean(m, g):.3f}" for g in groups), f"{spread(m):.3f}"]
        for m in sorted(methods, key=lambda m: -mean(m, "all"))
    ]
    _common.show_table(["mean ARI", *groups, "spread over seeds"], rows)
    shown = [*alone, *(m for m in ("default", "diverse, auto", "diverse, lwgp") if m in methods)]
    _common.show_table(
        ["ARI", *shown],
        [[s, *(f"{np.mean(table[s][m]):.2f}" for m in shown)] for s in table],
    )
    best = max(alone, key=lambda m: mean(m, "all"))
    far = [
        s for s in table
        if max(np.mean(table[s][m]) for m in alone) - np.mean(table[s][answer]) > FAR
    ]  # fmt: skip
    gained = mean(answer, "all") - mean(best, "all")
    level = all(mean(answer, g) >= mean(best, g) for g in ("shapes", "real"))
    steady = spread(answer) <= spread("k-means")
    few = len(far) <= len(table) / ONE_IN
    print(
        f"best single method: {best}; level with it on shapes and on real data: {level}; "
        f"more than {FAR} below the best of a set on {len(far)} of {len(table)} "
        f"({', '.join(far) or 'none'}); no larger spread over seeds than k-means: {steady}"
    )
    _common.finish(
        f"{answer}: {gained:+.3f} of {best} (bar {ABOVE:+.2f})",
        bool(gained >= ABOVE and level and few and steady),
        check,
    )


if __name__ == "__main__":
    main()
