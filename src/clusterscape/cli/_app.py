"""The command and its verbs."""

from __future__ import annotations

from typing import Annotated

import typer

from clusterscape import __version__
from clusterscape.cli import combine, compare, demo, explain, forest, generate, info, run

app = typer.Typer(
    name="clusterscape",
    help="Cluster one table many times, combine the clusterings, and say point by point what can "
    "be believed. Data go to stdout, messages and progress to stderr. Exit codes: 0 done, 1 the "
    "data or the work failed, 2 the command was not understood.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

for verb in (run, generate, combine, forest, compare, explain, info, demo):
    app.command()(getattr(verb, verb.__name__.rpartition(".")[2]))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clusterscape {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and leave."
        ),
    ] = False,
) -> None:
    """Hold the options that come before a verb."""
