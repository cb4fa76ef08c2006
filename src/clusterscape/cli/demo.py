"""``clusterscape demo``: the main job on a real dataset that comes with scikit-learn."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

_SETS = {
    "wine": "178 Italian wines of three grape varieties, 13 chemical measurements",
    "iris": "150 iris flowers of three species, 4 measurements",
    "wdbc": "569 breast tumours, benign and malignant, 30 measurements of cell nuclei",
    "digits": "1797 handwritten digits, 64 pixels",
}


@verb
def demo(
    dataset: Annotated[
        str, typer.Argument(metavar="DATASET", help=f"One of {', '.join(_SETS)}.")
    ] = "wine",
    *,
    output: opt.Folder = Path("demo-output"),
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.Force = False,
    printing: opt.Printing,
) -> None:
    """Cluster a real dataset, and say what was found and where the files are.

    The known classes are not used for clustering; at the end the result is compared with them.

    Example: `clusterscape demo iris -o iris-output`
    """
    from clusterscape import datasets
    from clusterscape.cli import findings, inputs
    from clusterscape.cli import output as out
    from clusterscape.io import Table, check_results_folder, save_results
    from clusterscape.model import ConsensusClustering

    quiet = printing.quiet
    opt.choose("DATASET", dataset, list(_SETS))
    check_results_folder(output, names=list(out.FILES), overwrite=force)
    data = datasets.load(dataset)
    table = Table(data.data, None, tuple(data.feature_names), dataset, data.target)
    n, d = data.data.shape
    say(f"{dataset}: {_SETS[dataset]} ({data.source}); every column standardised.", quiet=quiet)
    parameters = {
        "clusters": None,
        "partitions": 100,
        "generator": "random_k",
        "consensus": "auto",
        "seed": seed,
        "jobs": jobs,
    }
    model = ConsensusClustering(
        generator="random_k",
        n_partitions=100,
        random_state=seed,
        progress=False if quiet else None,
    )
    say(
        f"clustering {n} points with {d} features 100 times, each time a little differently.",
        quiet=quiet,
    )
    whole = inputs.fitted(model, table, "standard", jobs=jobs)
    found = findings.of_model(model, reference=data.target)
    origin = {
        "file": dataset,
        "source": data.source,
        "sha256": hashlib.sha256(data.data.tobytes()).hexdigest(),
        "n_points": n,
        "n_features": d,
        "feature_names": data.feature_names,
        "id_column": None,
        "notes": [],
    }
    parameters |= {"dataset": dataset, "scaled": "standard"}
    report = out.run_report(
        model, command="demo", origin=origin, parameters=parameters, result=found
    )
    report = save_results(output, whole, run=report, files=out.pictures(model), overwrite=force)
    out.show_run(report, output, json=printing.json, quiet=quiet)
