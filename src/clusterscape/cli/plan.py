"""``clusterscape plan``: what a run on many rows will cost, from a measurement on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterscape.cli import options as opt
from clusterscape.cli.console import say, verb

_POINTS = "100000,1000000,10000000,100000000"


@verb
def plan(
    data: Annotated[
        str,
        typer.Argument(
            metavar="TABLE",
            help="A matrix that is read in blocks: an NPY or h5ad file, Parquet files, or a Zarr "
            "folder; its first rows are measured.",
            show_default=False,
        ),
    ],
    *,
    members: Annotated[
        int,
        typer.Option(
            "--members",
            "--partitions",
            "-r",
            metavar="R",
            min=1,
            help="Number of clusterings.",
            rich_help_panel=opt.WORK,
        ),
    ] = 100,
    k: Annotated[
        int | None,
        typer.Option(
            "--k",
            "--clusters",
            "-k",
            metavar="K",
            min=1,
            help="Number of clusters; chosen when not given.",
            show_default=False,
            rich_help_panel=opt.WORK,
        ),
    ] = None,
    points: Annotated[
        str,
        typer.Option(
            "--points", metavar="N,N,...", help="Numbers of rows.", rich_help_panel=opt.WORK
        ),
    ] = _POINTS,
    workers: Annotated[
        str,
        typer.Option(
            "--workers",
            metavar="W,W,...",
            help="Numbers of workers; 0 is one process without Dask.",
            rich_help_panel=opt.WORK,
        ),
    ] = "0,2,8,32",
    seed: opt.Seed = 0,
    printing: opt.Printing,
) -> None:
    """Predict seconds, memory of each worker and bytes moved of a run with --dask.

    The first rows of TABLE, up to 240,000, are clustered on this machine to measure what a row and
    a clustering cost. Seconds assume that every worker has a core like those here, and include the
    start of the processes; worker_mb is what each worker needs, moved_mb what travels between the
    processes, store_mb the labels of all clusterings on the disk.

    Example: `clusterscape plan points.npy --members 50 --k 10 --workers 2,16`
    """
    from clusterscape.io import open_rows
    from clusterscape.io.results import json_text
    from clusterscape.planning import SIZES, measure_cost

    sizes = _numbers("--points", points, 1)
    crews = _numbers("--workers", workers, 0)
    rows = open_rows(data)
    say(f"measuring on {SIZES[0]:,} and {SIZES[1]:,} rows.", quiet=printing.quiet)
    found = measure_cost(rows, k, n_partitions=members, random_state=seed)
    table = found.table(sizes, crews)
    if printing.json:
        typer.echo(json_text({"plan": table.to_dict(orient="records")}))
        return
    shown = table.round({"seconds": 1, "cpu_seconds": 1})
    for name in ("worker_mb", "moved_mb", "store_mb"):
        shown[name] = shown[name].round().astype(int)
    typer.echo(shown.to_string(index=False))


def _numbers(option: str, text: str, least: int) -> list[int]:
    """Read whole numbers between commas; 1e6 is a number, too."""
    try:
        values = [float(part) for part in text.split(",")]
        found = [int(value) for value in values]
        good = all(v == f and f >= least for v, f in zip(values, found, strict=True))
    except (ValueError, OverflowError):
        good = False
    if not good:
        raise typer.BadParameter(
            f"{text!r} is not a list of whole numbers from {least} on, such as 100000,1e6.",
            param_hint=option,
        )
    return found
