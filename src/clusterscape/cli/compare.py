"""``clusterscape compare``: how far clusterings agree, pair by pair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

if TYPE_CHECKING:
    from clusterscape.compare import Measure, PairwiseResult
    from clusterscape.ensemble import Ensemble


@verb
def compare(
    files: opt.LabelFiles,
    *,
    output: opt.OutputFile = None,
    metric: Annotated[
        list[str] | None,
        opt.work_option(
            "--metric",
            "-m",
            metavar="NAMES",
            autocompletion=opt.names_of("metric"),
            help="adjusted_rand (or ari), nmi, ami, vi, jaccard_distance, ..., or with --features "
            "lift_emd, cc_distance, ... ('clusterscape info --list measures'). Several with commas "
            "between them, or the option repeated, give several tables.",
            show_default="adjusted_rand",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        opt.work_option(
            "--noise",
            metavar="singletons|cluster|drop",
            help="What a noise point (-1) is: a cluster of its own, a member of one more cluster "
            "(the default of measures in space), or left out.",
            show_default="singletons",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        opt.output_option(
            "--plot",
            metavar="FILE",
            help="Picture (.png, .pdf or .svg) of which clusterings are alike: a tree beside the "
            "matrix of distances, one row for each measure.",
        ),
    ] = None,
    features: opt.Features = None,
    join: opt.Join = "same",
    scale: opt.Scale = "auto",
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    spatial: opt.Spatial,
    printing: opt.Printing,
) -> None:
    """Compare every clustering with every other, and write the table of all pairs as CSV.

    With several measures the tables stand below each other, and the first two columns say the
    measure and the clustering. With --json the tables, and a file for them, are JSON. --plot draws
    which clusterings are alike; a similarity is drawn as what is missing to 1.

    Example: `clusterscape compare kmeans.csv ward.csv --metric ari,nmi,vi`

    Example: `clusterscape compare labels.csv --metric ari --plot alike.png`
    """
    from clusterscape.cli import inputs
    from clusterscape.cli import output as out

    quiet = printing.quiet
    measures = opt.chosen_measures(metric)
    for measure in measures:
        opt.choose("--noise", noise or measure.noise[0], measure.noise)
    spatial.check(measures, features)
    read = inputs.all_inputs(files, features)
    if output is not None:
        out.check_file(output, read, [".json" if printing.json else ".csv"], force=force)
    if plot is not None:
        out.check_file(plot, read, out.PICTURES, force=force, option="--plot")
    ensemble, titles, X = inputs.read_clusterings(
        files, features, reading, join=join, scale=scale, quiet=quiet
    )
    if ensemble.n_partitions < 2:
        raise ValueError(
            f"{files[0]} holds one clustering; give a second column or a second file to compare."
        )
    settings = {"features": X, "noise": noise, "n_jobs": jobs, "progress": False if quiet else None}
    options = {m.name: _options(m, spatial, seed) for m in measures}
    tables = [_table(ensemble, m, options[m.name], settings) for m in measures]
    text = _json(tables, titles, options) if printing.json else _csv(tables, titles)
    contents = {} if output is None else {output: text.encode()}
    if plot is not None:
        contents[plot] = out.picture_bytes(_picture(tables, titles), plot.suffix.lower())
    out.write_all(contents)
    if output is None:
        typer.echo(text, nl=False)
    if plot is not None:
        say(f"{plot}: which clusterings are alike.", quiet=quiet)
    for measure in measures:
        best = "0 means equal" if measure.direction == "distance" else "larger is more alike"
        say(f"{measure.name}: a {measure.direction}, {best}.", quiet=quiet)
    covered = min(float(found.coverage.min()) for found in tables)
    if covered < 1:
        say(f"Some pairs share only {covered:.0%} of the points.", quiet=quiet)


def _options(measure: Measure, spatial: opt.Spatial, seed: int) -> dict[str, Any]:
    """Return those of the given options that the measure takes."""
    given = spatial.given() | {"random_state": seed}
    return {name: value for name, value in given.items() if name in measure.option_names()}


def _table(
    ensemble: Ensemble, measure: Measure, options: dict[str, Any], settings: dict[str, Any]
) -> PairwiseResult:
    from clusterscape.compare import pairwise

    # A kernel that needs no features refuses them, though another measure may use them.
    if options.get("kernel") == "discrete" or not measure.needs_features:
        settings = settings | {"features": None}
    return pairwise(ensemble, measure.name, metric_params={measure.name: options}, **settings)


def _picture(tables: list[PairwiseResult], names: list[str]) -> Any:
    """Draw a tree and a matrix for each measure."""
    from matplotlib.figure import Figure

    from clusterscape.plot import DendrogramDisplay, DistanceMatrixDisplay

    high = min(max(3.2, 1.4 + 0.22 * len(names)), 12.0)
    figure = Figure(figsize=(12.0, high * len(tables)), layout="constrained")
    axes = figure.subplots(len(tables), 2, squeeze=False, width_ratios=(3, 2))
    for table, (left, right) in zip(tables, axes, strict=True):
        DendrogramDisplay.from_pairwise(table, names=names, ax=left)
        DistanceMatrixDisplay.from_pairwise(table, names=names, ax=right)
    return figure


def _json(
    tables: list[PairwiseResult], names: list[str], options: dict[str, dict[str, Any]]
) -> str:
    from clusterscape.io.results import json_text

    found = [
        {
            "metric": table.metrics[0],
            "names": names,
            "options": options[table.metrics[0]],
            "matrix": table.matrix,
            "coverage": table.coverage,
        }
        for table in tables
    ]
    return json_text(found[0] if len(found) == 1 else found) + "\n"


def _csv(tables: list[PairwiseResult], names: list[str]) -> str:
    import pandas as pd

    frames = [pd.DataFrame(table.matrix, index=names, columns=names) for table in tables]
    metrics = [table.metrics[0] for table in tables]
    if len(frames) == 1:
        frame, labels = frames[0], metrics[0]
    else:
        frame = pd.concat(frames, keys=metrics)
        labels = ["metric", "clustering"]  # type: ignore[assignment]
    return frame.to_csv(index_label=labels, float_format="%.6g", lineterminator="\n")
