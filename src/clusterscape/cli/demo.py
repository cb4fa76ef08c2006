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
    from clusterscape.model import ConsensusClustering

    quiet = printing.quiet
    opt.choose("DATASET", dataset, list(_SETS))
    out.check_folder(output, force)
    data = datasets.load(dataset)
    X, done = inputs.scaled(data.data, "standard")
    n, d = X.shape
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
        n_jobs=jobs,
        progress=False if quiet else None,
    )
    say(
        f"clustering {n} points with {d} features 100 times, each time a little differently.",
        quiet=quiet,
    )
    model.fit(X)
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
    parameters |= {"dataset": dataset, "scaled": done}
    report = out.run_report(
        model, command="demo", origin=origin, parameters=parameters, result=found
    )
    report = out.save_run(output, model, ids=None, report=report)
    out.show_run(report, output, json=printing.json, quiet=quiet)
