"""``clusterscape demo``: the main job on a real dataset that comes with scikit-learn."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import choose, say, verb

_SETS = {
    "wine": "178 Italian wines of three grape varieties, 13 chemical measurements",
    "iris": "150 iris flowers of three species, 4 measurements",
    "wdbc": "569 breast tumours, benign and malignant, 30 measurements of cell nuclei",
    "digits": "1797 handwritten digits, 64 pixels",
}


@verb
def demo(
    dataset: Annotated[str, typer.Argument(help=f"One of {', '.join(_SETS)}.")] = "wine",
    output: opt.Folder = Path("demo-output"),
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.Force = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Cluster a real dataset, and say what was found and where the files are.

    The known classes are not used for clustering; at the end the result is compared with them.
    """
    from clusterscape import datasets
    from clusterscape.cli import _words, _work

    choose("DATASET", dataset, _SETS)
    _work.check_folder(output, force)
    data = datasets.load(dataset)
    X, done = _work.scaled(data.data, "standard")
    n, d = X.shape
    say(f"{dataset}: {_SETS[dataset]} ({data.source}); every column standardised.", quiet=quiet)
    model = _work.make_model(
        clusters=None,
        seed=seed,
        jobs=jobs,
        quiet=quiet,
    )
    say(
        f"clustering {n} points with {d} features 100 times, each time a little differently.",
        quiet=quiet,
    )
    _work.fit(model, X, None)
    found = _words.result(model, reference=data.target)
    origin = {
        "file": dataset,
        "source": data.source,
        "sha256": hashlib.sha256(data.data.tobytes()).hexdigest(),
        "n_points": n,
        "n_features": d,
        "feature_names": data.feature_names,
        "notes": [],
    }
    asked = {
        "dataset": dataset,
        "clusters": None,
        "partitions": 100,
        "generator": "random_k",
        "consensus": "auto",
        "scaled": done,
        "seed": seed,
        "jobs": jobs,
    }
    report = _work.report_on(model, command="demo", origin=origin, parameters=asked, result=found)
    report = _work.save(output, model, ids=None, report=report)
    _words.show(report, output, json=json, quiet=quiet)
