"""The command, made of the verbs that are asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from clusterscape import __version__

# In the order of the help text.
VERBS = (
    "run",
    "predict",
    "generate",
    "combine",
    "forest",
    "constrain",
    "landscape",
    "compare",
    "explain",
    "validate",
    "report",
    "plot",
    "explore",
    "export",
    "plan",
    "info",
    "demo",
)


def _without_types(params: list[Any]) -> list[Any]:
    """Show no type beside flags, which take no value, and beside files, which are plain text."""
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        elif param.param_type_name == "argument":
            param.display_type_rich = lambda **_: None
    return params


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types(super().get_params(ctx))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clusterscape {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Hold the options that come before a verb."""


def command(verbs: Iterable[str] = VERBS) -> typer.Typer:
    """Return the command with these verbs; the files of others are not imported."""
    made = typer.Typer(
        name="clusterscape",
        cls=_Group,
        help="Cluster one table many times, combine the clusterings, and say for every point how "
        "far its cluster can be trusted. Data go to stdout, messages and progress to stderr. Exit "
        "codes: 0 success, 1 the data or the work failed, 2 the command was not understood.\n\n"
        "Example: `clusterscape run wine.csv -o result`",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    made.callback()(_root)
    for name in verbs:
        verb = importlib.import_module(f"clusterscape.cli.{name}")
        made.command(cls=_Command)(getattr(verb, name))
    return made
