"""``clusterscape explore``: the report on this machine, with your choices written to a file."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb
from clusterscape.cli.report import Partitions, Points, Results, Table, gathered


@verb
def explore(
    results: Results,
    data: Table = None,
    *,
    choices: Annotated[
        Path | None,
        opt.output_option(
            "--choices",
            metavar="FILE",
            help="File that what you choose is written to, and read from at the start; by default "
            "choices.json in the folder of results, or beside the file of clusterings.",
        ),
    ] = None,
    port: Annotated[
        int,
        opt.work_option(
            "--port",
            metavar="N",
            min=0,
            max=65535,
            help="Port on this machine; 0 takes a free one.",
        ),
    ] = 0,
    browser: Annotated[
        bool,
        opt.work_option(
            "--browser/--no-browser",
            help="Open the page in a browser.",
        ),
    ] = True,
    points: Points = 5000,
    partitions: Partitions = 200,
    reference: opt.Reference = None,
    reading: opt.Reading,
    printing: opt.Printing,
) -> None:
    """Look at the report of a run in a browser, and choose: the choices go to a file at once.

    Take another clustering than the answer, name and merge clusters, mark points, and say which
    points belong together or do not. Other verbs read the file with --choices: export, report and
    plot apply the clusters, constrain clusters again with the pairs. The page is served on
    127.0.0.1 only, at an address that holds a secret; Ctrl-C ends it.

    Example: `clusterscape explore result wine.csv`
    """
    from clusterscape.io.models import last_step
    from clusterscape.report import Choices, ReportServer, collect, render
    from clusterscape.report.choices import questions_of

    quiet = printing.quiet
    beside = results / "choices.json" if results.is_dir() else Path(f"{results}.choices.json")
    file = beside if choices is None else choices
    before = Choices.read(file) if file.exists() else Choices()
    model, X, settings = gathered(results, data, reference, reading, quiet=quiet)
    page = collect(model, X=X, max_points=points, max_partitions=partitions, **settings)
    page["questions"] = questions_of(last_step(model))
    server = ReportServer(render(page, choices=before), file, port=port)
    typer.echo(server.address)
    say(f"choices go to {file}; Ctrl-C ends.", quiet=quiet)
    if browser:
        webbrowser.open(server.address)
    try:
        server.serve()
    except KeyboardInterrupt:
        say(f"ended; choices are in {file}." if file.exists() else "ended.", quiet=quiet)
    finally:
        server.close()
