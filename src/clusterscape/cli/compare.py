"""``clusterscape compare``: how far clusterings agree, pair by pair."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterscape.cli import _options as opt
from clusterscape.cli._console import choose, say, verb


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
            help="adjusted_rand, nmi, vi, jaccard_distance, ... ('clusterscape info --list "
            "measures').",
            rich_help_panel="The work",
        ),
    ] = "adjusted_rand",
    noise: Annotated[
        str,
        typer.Option(
            "--noise",
            metavar="singletons|cluster|drop",
            help="What a noise point (-1) is: a cluster of its own, a member of one more cluster, "
            "or left out.",
            rich_help_panel="The work",
        ),
    ] = "singletons",
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
    import pandas as pd

    from clusterscape._atomic import write_bytes
    from clusterscape.cli import _labels
    from clusterscape.compare import MEASURES, pairwise
    from clusterscape.compare.tables import POLICIES
    from clusterscape.io.atomic import json_text

    usable = [name for name, measure in MEASURES.items() if not measure.needs_features]
    choose("--metric", metric, usable)
    choose("--noise", noise, POLICIES)
    if output is not None:
        _labels.check_output(output, files, [".json" if json else ".csv"])
    reading = opt.reading(
        id_column=id_column,
        columns=columns,
        exclude=exclude,
        format=format,
        delimiter=delimiter,
        header=header,
    )
    ensemble, names = _labels.read(files, reading, quiet=quiet)
    if ensemble.n_partitions < 2:
        raise ValueError(
            f"{files[0]} holds one clustering; give a second column or a second file to compare."
        )
    found = pairwise(ensemble, metric, noise=noise, n_jobs=jobs, progress=False if quiet else None)  # type: ignore[arg-type]
    if json:
        values = {"metric": metric, "names": names, "matrix": found.matrix}
        text = json_text(values | {"coverage": found.coverage}) + "\n"
    else:
        frame = pd.DataFrame(found.matrix, index=names, columns=names)
        text = frame.to_csv(index_label=metric, float_format="%.6g", lineterminator="\n")
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_bytes(output, text.encode())
    measure = MEASURES[metric]
    best = "0 is equal" if measure.direction == "distance" else "larger is more alike"
    say(f"{metric}: a {measure.direction}, {best}.", quiet=quiet)
    covered = float(found.coverage.min())
    if covered < 1:
        say(f"Some pairs share only {covered:.0%} of the points.", quiet=quiet)
