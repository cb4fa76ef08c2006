"""``clusterscape demo``: the main job on a real dataset that comes with scikit-learn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

# What the set is, how its columns are scaled (pixels share a unit), and the number of clusters
# where everybody knows it.
_SETS: dict[str, tuple[str, str, int | None]] = {
    "iris": ("150 flowers, 4 measurements; the botanist chose three species", "standard", 3),
    "digits": ("1797 handwritten digits, 64 pixels; there are ten digits", "none", 10),
    "wine": ("178 Italian wines, 13 chemical measurements", "standard", None),
    "wdbc": ("569 breast tumours, 30 measurements of cell nuclei", "standard", None),
}
_SCALED = {"standard": "every column standardised", "none": "columns as they are"}


@verb
def demo(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help=f"One of {', '.join(_SETS)}.")
    ] = "iris",
    *,
    output: opt.Folder = Path("demo-output"),
    clusters: opt.ClustersOrRange = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.Force = False,
    printing: opt.Printing,
) -> None:
    """Cluster a real dataset, and compare the answer with that of k-means alone.

    The known classes are not used for clustering; at the end both answers are compared with them,
    in words and in the picture classes.png.

    Example: `clusterscape demo wine -o wine-output`
    """
    from clusterscape import datasets
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out
    from clusterscape.io import Table, check_results_folder, save_results
    from clusterscape.model import ConsensusClustering
    from clusterscape.report import findings

    quiet = printing.quiet
    opt.choose("DATASET", dataset, list(_SETS))
    names = [*out.FILES, *out.DEMO_FILES]
    check_results_folder(output, names=names, overwrite=force)
    # The bundled copy, whatever folder of data is set: it has the names of the columns.
    data = datasets.load(dataset, data_home="")
    about, scale, known = _SETS[dataset]
    clusters = clusters or known
    table = Table(data.data, None, tuple(data.feature_names), dataset, data.target)
    n, d = data.data.shape
    say(f"{dataset}: {about} ({data.source}); {_SCALED[scale]}.", quiet=quiet)
    model = ConsensusClustering(
        clusters,
        n_partitions=100,
        random_state=seed,
        progress=False if quiet else None,
    )
    say(
        f"clustering {n:,} points with {d} features 100 times, in several ways.",
        quiet=quiet,
    )
    whole = inputs.fitted(model, table, scale, jobs=jobs)
    single = _kmeans_alone(data.data, model.n_clusters_, scale, seed)
    found = findings.of_model(model, reference=data.target)
    found["single"] = findings.agreement(single, data.target)
    origin = {
        "file": dataset,
        "source": data.source,
        "about": about,
        "sha256": hashlib.sha256(data.data.tobytes()).hexdigest(),
        "n_points": n,
        "n_features": d,
        "feature_names": data.feature_names,
        "id_column": None,
        "notes": [],
    }
    parameters = {
        "clusters": clusters,
        "partitions": 100,
        "consensus": "auto",
        "seed": seed,
        "jobs": jobs,
        "dataset": dataset,
        "scaled": scale,
    }
    report = out.run_report(
        model, command="demo", origin=origin, parameters=parameters, result=found
    )
    drawn = out.pictures(model) | {"classes.png": _against_classes(model, single, data)}
    classes = np.asarray(data.target_names)[data.target]
    drawn |= out.page(whole, inputs.framed(table.X, table), run=report, reference=classes)
    report = save_results(output, whole, run=report, files=drawn, overwrite=force)
    out.show_run(report, output, json=printing.json, quiet=quiet)


def _kmeans_alone(X: np.ndarray, k: int, scale: str, seed: int) -> np.ndarray:
    """Return what people would have had: one k-means, the best of ten starts."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    scaled = StandardScaler().fit_transform(X) if scale == "standard" else X
    return KMeans(k, n_init=10, random_state=seed).fit_predict(scaled)


def _against_classes(model: Any, single: np.ndarray, data: Any) -> Callable[[Path], object]:
    """Return a function that draws the classes against k-means and against the consensus."""

    def draw(path: Path) -> None:
        from matplotlib.figure import Figure

        from clusterscape.compare import accuracy
        from clusterscape.plot import ContingencyDisplay

        figure = Figure(figsize=(10, 4.8), layout="constrained")
        classes = np.asarray(data.target_names)[data.target]
        answers = {"k-means alone": single, "consensus": model.labels_}
        for ax, (name, labels) in zip(figure.subplots(1, 2), answers.items(), strict=True):
            ContingencyDisplay.from_predictions(
                classes, labels, row_name="class", column_name="cluster", ax=ax
            )
            agree = accuracy(labels, data.target)
            ax.set_title(f"{name}: {agree:.0%} agree with the classes", fontsize=11)
        figure.savefig(path, dpi=150)

    return draw
