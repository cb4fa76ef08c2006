"""``clusterscape compare``: how far clusterings agree, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli import _space
from clusterscape.cli._console import choose, say, verb

if TYPE_CHECKING:
    from clusterscape.compare import PairwiseResult


@verb
def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Tables of labels with one column a clustering, or ensembles; several files are "
            "joined by their ids. '-' reads CSV from stdin.",
            show_default=False,
        ),
    ],
    output: opt.OutputFile = None,
    metric: Annotated[
        str,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="adjusted_rand, nmi, vi, jaccard_distance, ..., or with --features lift_emd, "
            "cc_distance, ... ('clusterscape info --list measures').",
            rich_help_panel="The work",
        ),
    ] = "adjusted_rand",
    noise: Annotated[
        str | None,
        typer.Option(
            "--noise",
            metavar="singletons|cluster|drop",
            help="What a noise point (-1) is: a cluster of its own, a member of one more cluster "
            "(which measures in space take when nothing is said), or left out.",
            show_default="singletons",
            rich_help_panel="The work",
        ),
    ] = None,
    features: _space.Features = None,
    scale: opt.Scale = "auto",
    kernel: _space.Kernel = None,
    bandwidth: _space.Bandwidth = None,
    components: _space.Components = None,
    seed: opt.Seed = 0,
    jobs: opt.Jobs = 1,
    id_column: opt.IdColumn = None,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Compare every clustering with every other, and write the table of all pairs as CSV.

    With --json the table, and a file for it, is JSON.
    """
    from clusterscape._core.atomic import write_bytes
    from clusterscape.cli import _files, _tables
    from clusterscape.compare import MEASURES, pairwise

    measure = MEASURES[choose("--metric", metric, MEASURES)]
    policy = choose("--noise", measure.noise[0] if noise is None else noise, measure.noise)
    options = _space.options(kernel, bandwidth, components)
    _space.check(measure, options, features)
    if "random_state" in measure.option_names():
        options["random_state"] = seed
    read = _space.inputs(files, features)
    if output is not None:
        _files.check(output, read, [".json" if json else ".csv"])
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    ensemble, names, X = _tables.read(files, features, reading, scale=scale, quiet=quiet)
    if ensemble.n_partitions < 2:
        raise ValueError(
            f"{files[0]} holds one clustering; give a second column or a second file to compare."
        )
    # The policy is a word that was checked above, which a type checker cannot see.
    found = pairwise(
        ensemble,
        metric,
        noise=policy,  # type: ignore[arg-type]
        features=X,
        metric_params={metric: options},
        n_jobs=jobs,
        progress=False if quiet else None,
    )
    text = _json(found, names, options) if json else _csv(found, names)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_bytes(output, text.encode())
    best = "0 is equal" if measure.direction == "distance" else "larger is more alike"
    say(f"{metric}: a {measure.direction}, {best}.", quiet=quiet)
    covered = float(found.coverage.min())
    if covered < 1:
        say(f"Some pairs share only {covered:.0%} of the points.", quiet=quiet)


def _json(found: PairwiseResult, names: list[str], options: dict[str, Any]) -> str:
    from clusterscape.io.results import json_text

    values = {"metric": found.metrics[0], "names": names, "options": options}
    return json_text(values | {"matrix": found.matrix, "coverage": found.coverage}) + "\n"


def _csv(found: PairwiseResult, names: list[str]) -> str:
    import pandas as pd

    frame = pd.DataFrame(found.matrix, index=names, columns=names)
    return frame.to_csv(index_label=found.metrics[0], float_format="%.6g", lineterminator="\n")
