"""``clusterscape report``: the page of an earlier run, written again."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb
from clusterscape.cli.predict import column_names, matched

if TYPE_CHECKING:
    from clusterscape import io

Results = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="Folder that 'clusterscape run' wrote, or a file of clusterings (an ensemble or a "
        "table of labels), which are then combined.",
    ),
]
Table = Annotated[
    str | None,
    typer.Argument(
        metavar="[TABLE]",
        help="The table of that run, to draw the points and describe the clusters.",
    ),
]
Points = Annotated[
    int,
    opt.output_option(
        "--points",
        metavar="N",
        min=1,
        help="Points on the page; of more, so many are drawn at random.",
    ),
]
Partitions = Annotated[
    int,
    opt.output_option(
        "--partitions",
        metavar="N",
        min=1,
        help="Clusterings on the page.",
    ),
]


@verb
def report(
    results: Results,
    data: Table = None,
    *,
    output: Annotated[
        Path,
        opt.output_option("--output", "-o", metavar="FILE", help="Where to write."),
    ] = Path("report.html"),
    points: Points = 5000,
    partitions: Partitions = 200,
    title: Annotated[
        str | None,
        opt.output_option(
            "--title",
            metavar="TEXT",
            help="Heading of the page.",
        ),
    ] = None,
    reference: opt.Reference = None,
    choices: opt.Choices = None,
    force: opt.ForceFile = False,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Write the report of an earlier run again: with other limits, a title, or known classes.

    With --choices the page shows the clustering that was taken, its clusters merged and named.

    With --json the content of the page goes to stdout as JSON instead, and no file is written.

    Example: `clusterscape report result wine.csv --reference class -o wine.html`
    """
    from clusterscape.cli import output as out
    from clusterscape.io.results import json_text
    from clusterscape.report import Choices, collect, write

    quiet = printing.quiet
    if not printing.json:
        read = [str(path) for path in (data, choices) if path is not None]
        out.check_file(output, read, [".html"], force=force)
    model, X, settings = gathered(results, data, reference, reading, quiet=quiet)
    chosen = None if choices is None else Choices.read(choices)
    settings |= {
        "title": title,
        "choices": chosen,
        "max_points": points,
        "max_partitions": partitions,
    }
    if printing.json:
        typer.echo(json_text(collect(model, X=X, **settings)))
        return
    write(model, output, X=X, **settings)
    say(f"{output}: {out.FILES['report.html']}.", quiet=quiet)


def gathered(
    results: Path, data: str | None, reference: str | None, reading: opt.Reading, *, quiet: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """Return the model of a run, its points where the table is given, and what else is known."""
    from clusterscape.cli import inputs
    from clusterscape.cli.like import id_column_of, read_with_ids, with_layout_of
    from clusterscape.io import load_results

    if results.is_file():
        return _combined(results, data, reference, reading, quiet=quiet)
    found = load_results(results)
    if data is None:
        if reference is not None:
            raise typer.BadParameter(
                "name the TABLE that holds the column.", param_hint="--reference"
            )
        return found.model, None, {"run": found.run}
    names = column_names(found.model, found.run)
    if reference is not None and reference in (names or ()):
        raise typer.BadParameter(
            f"the run was clustered on {reference!r}, with which it cannot be compared; leave the "
            f"option out, or run again with --reference {shlex.quote(reference)}.",
            param_hint="--reference",
        )
    reading = inputs.as_in_run(reading, found.model, found.run)
    reading = with_layout_of(found.run, reading, data, quiet=quiet)
    if names is not None and reading.columns is None and not reading.transpose:
        reading = dataclasses.replace(reading, columns=names)
    ids = id_column_of(found.run)
    table, _ = read_with_ids(data, reading, ids, reference=reference, keep=True, quiet=quiet)
    check_points(table, found.ensemble.index, data)
    note_positions(found, data, quiet=quiet)
    X = matched(table, names, found.model, ids=ids, quiet=quiet)
    return found.model, X, {"run": found.run, "reference": table.labels}


def _combined(
    file: Path, data: str | None, reference: str | None, reading: opt.Reading, *, quiet: bool
) -> tuple[Any, Any, dict[str, Any]]:
    """Combine the clusterings of a file, and return what a run would have given."""
    from clusterscape.cli import inputs
    from clusterscape.model import ConsensusClustering

    if reference is not None:
        raise typer.BadParameter(
            "known classes are compared with the results of a run; name its folder.",
            param_hint="--reference",
        )
    with inputs.as_arguments(files="RESULTS", features="TABLE"):
        ensemble, _, X = inputs.read_clusterings(
            [str(file)], data, reading, scale="auto" if data is None else "none", quiet=quiet
        )
    features, done = (None, None) if X is None else inputs.scaled(X, "auto", reading)
    model = ConsensusClustering(random_state=0).fit_ensemble(ensemble, features=features)
    known: dict[str, Any] = {"file": file.name}
    if data is not None:
        known |= {"notes": [f"The columns are those of {Path(data).name}."]}
        known["feature_names"] = _names_of(data, str(file), reading, X.shape[1])
    run = {"input": known, "parameters": {"scaled": done}}
    return model, features, {"run": run, "table": X}


def _names_of(data: str, file: str, reading: opt.Reading, count: int) -> list[str] | None:
    """Return the names of a table's features that was read beside a file of clusterings."""
    from clusterscape import io as tables

    if data == "-":  # a pipe can be read only once
        return None
    arguments = reading.arguments(data, [file, data])
    arguments["columns"] = reading.given("columns", data) or None
    try:
        names = tables.read_table(data, **arguments).feature_names
    except tables.UnknownColumn:  # an option that was meant for the clusterings
        return None
    return [str(name) for name in names] if len(names) == count else None


def note_positions(found: Any, data: str, *, quiet: bool) -> None:
    """Say that rows are matched by position, where neither ids nor the file itself vouch for it."""
    from clusterscape.io.results import file_digest

    known = found.run.get("input", {}).get("sha256")
    if found.ensemble.index is None and data != "-" and known != file_digest(data):
        say(
            f"{data} is not the file that was clustered, and the points have no ids: its rows are "
            "matched to the points by their order.",
            quiet=quiet,
        )


def check_points(table: io.Table, ids: Any, data: str) -> None:
    """Refuse a table whose rows are not the points of the run."""
    if ids is None:
        return
    if table.ids is None:
        if [str(value) for value in ids] == [str(i) for i in range(table.n_points)]:
            return  # they count the rows
        raise ValueError(
            f"the points of the run have ids and those of {data} have none, so that it is not "
            "known which row is which point; name the column of the ids with --id-column, or give "
            "the table that was clustered."
        )
    if [str(value) for value in ids] != [str(value) for value in table.ids]:
        raise ValueError(
            f"the rows of {data} are not those of the run, or are in another order; give the table "
            "that was clustered."
        )
