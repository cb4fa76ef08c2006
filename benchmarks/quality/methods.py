"""Which consensus method is best on real data: ARI of all of them on the same ensembles.

Every dataset is clustered 50 times by k-means with k drawn from K to min(sqrt(n), 100), and every
method combines the same partitions into K clusters; mean over several ensembles. Columns of tables
with units are scaled to unit deviation. The classes of most sets are of about equal size, which
suits methods that favour equal sizes, so three sets are thinned: class c keeps a share 0.7^c.
What ``ConsensusClustering(consensus="auto")`` takes rests on this table.
The bar: the method that "auto" takes is within 0.02 of the best mean ARI over all datasets.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common

SETS = {
    "iris": "standard",
    "wine": "standard",
    "wdbc": "standard",
    "ruspini": "none",
    "glass": "standard",
    "ionosphere": "none",
    "soybean_small": "none",
    "image_segmentation": "standard",
    "digits": "none",
    "pendigits": "none",
    "usps": "none",
    "letter": "none",
    "blobs, n=1,000": "none",
    "blobs, n=5,000": "none",
    "digits, unequal": "none",
    "pendigits, unequal": "none",
    "blobs, unequal": "none",
}
SOURCES = {
    "digits, unequal": "digits",
    "pendigits, unequal": "pendigits",
    "blobs, unequal": "blobs, n=5,000",
}
LARGEST, PARTITIONS, BAR = 3_000, 50, 0.02


def data(name: str, home: Path | None) -> tuple[np.ndarray, np.ndarray]:
    """Return features and classes, a random 3,000 points of larger sets."""
    if name.endswith(", unequal"):
        X, y = data(SOURCES[name], home)
        rng = np.random.default_rng(1)
        keep = rng.random(len(y)) < 0.7**y
        return X[keep], y[keep]
    if name.startswith("blobs"):
        from clusterscape.datasets import make_overlapping_blobs

        return make_overlapping_blobs(int(name.split("=")[1].replace(",", "")), random_state=0)
    loaded = _common.load(name, home)
    X, y = loaded.data, np.asarray(loaded.target)
    X = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)
    if len(y) > LARGEST:
        rows = np.random.default_rng(0).choice(len(y), LARGEST, replace=False)
        X, y = X[rows], y[rows]
    if SETS[name] == "standard":
        deviation = X.std(axis=0)
        X = (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return X, np.unique(y, return_inverse=True)[1]


def score(method: Any, ensemble: Any, k: int, truth: np.ndarray) -> float:
    """Return the ARI of one method."""
    from clusterscape.compare import adjusted_rand

    model = method.estimator()
    known = model.get_params(deep=False)
    settings = {"n_clusters": k, "random_state": 0}
    model.set_params(**{name: value for name, value in settings.items() if name in known})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(adjusted_rand(truth, model.fit(ensemble).labels_))


def main() -> None:
    """Print the table, the means, and how far "auto" is from the best."""
    parser = _common.parser(__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3, help="ensembles of each dataset")
    parser.add_argument("--sets", help='names with ";" between, instead of all')
    parser.add_argument("--partitions", type=int, default=PARTITIONS, help="of an ensemble")
    options = parser.parse_args()
    from clusterscape.combine import METHODS, choose_method
    from clusterscape.generate import EnsembleGenerator

    print(_common.versions())
    sets = [*list(SETS)[:7], "blobs, unequal"] if options.check else list(SETS)
    sets = options.sets.split(";") if options.sets else sets
    runs = 1 if options.check else options.runs
    methods = {n: m for n, m in METHODS.items() if m.features != "needed" and m.takes_k}
    table: dict[str, list[float]] = {"auto": [], **{name: [] for name in methods}}
    for name in sets:
        X, truth = data(name, options.data_home)
        k = int(truth.max()) + 1
        high = max(k, min(int(np.ceil(np.sqrt(len(X)))), 100))
        found: dict[str, list[float]] = {column: [] for column in table}
        for seed in range(runs):
            ensemble = EnsembleGenerator(
                options.partitions, n_clusters=(k, high), rows="all", random_state=seed
            ).generate(X)
            for column, method in methods.items():
                found[column].append(score(method, ensemble, k, truth))
            found["auto"].append(found[choose_method(ensemble, k).name][-1])
        for column, values in found.items():
            table[column].append(float(np.mean(values)))
        print(f"  {name} done", flush=True)
    order = sorted(table, key=lambda column: -np.mean(table[column]))
    short = [n.split("_")[0].replace("blobs, n=", "b").replace(", unequal", "*") for n in sets]
    rows = [[c, f"{np.mean(table[c]):.3f}", *(f"{v:.2f}" for v in table[c])] for c in order]
    _common.show_table(["ARI", "mean", *short], rows)
    best, auto = np.mean(table[order[0]]), np.mean(table["auto"])
    _common.finish(
        f'"auto" {auto:.3f}, the best method ({order[0]}) {best:.3f} (bar -{BAR})',
        bool(auto >= best - BAR),
        options.check,
    )


if __name__ == "__main__":
    main()
