"""All commands and their options, read from the command line itself when the site is built.

```` ```{commands} ```` in a Markdown page becomes one section for each command with what
``clusterscape COMMAND --help`` says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def verbs() -> dict[str, Any]:
    """Return the commands by name."""
    from clusterscape.cli.app import app

    return dict(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def usage(name: str, parameters: Iterable[Any]) -> str:
    """Return the first line of the help."""
    places = [p.metavar or p.name.upper() for p in parameters if p.param_type_name == "argument"]
    return " ".join(["clusterscape", name, "[OPTIONS]", *places])


def spelled(parameter: Any) -> str:
    """Return an option as it is typed, with the name of its value."""
    flags = ", ".join([*parameter.opts, *parameter.secondary_opts])
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar or 'VALUE'}"
    return (
        (parameter.metavar or flags) if parameter.param_type_name == "argument" else flags + value
    )


def explained(parameter: Any) -> str:
    """Return the help of an option, with its default where one is shown."""
    text = parameter.help or ""
    default, shown = parameter.default, getattr(parameter, "show_default", False)
    if isinstance(shown, str):
        return f"{text} [default: {shown}]"
    if shown and default is not None and not isinstance(default, bool) and not callable(default):
        return f"{text} [default: {default}]"
    return text


def inline(text: str) -> list[nodes.Node]:
    """Return a text whose parts in backticks are code."""
    parts = re.split(r"`([^`]+)`", text)
    return [nodes.literal(p, p) if i % 2 else nodes.Text(p) for i, p in enumerate(parts) if p]


class Commands(SphinxDirective):
    """One section for each command: usage, what it does, and its options by group."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        made: list[nodes.Node] = []
        for name, command in verbs().items():
            section = nodes.section("", nodes.title(name, name), ids=[f"command-{name}"])
            section += self._help(name, command)
            made.append(section)
        return made

    def _help(self, name: str, command: Any) -> list[nodes.Node]:
        line = usage(name, command.params)
        made: list[nodes.Node] = [nodes.literal_block(line, line, language="none")]
        for block in (command.help or "").split("\n\n"):
            made.append(nodes.paragraph("", "", *inline(" ".join(block.split()))))
        panels: dict[str, list[Any]] = {}
        for parameter in command.params:
            if parameter.name == "help":
                continue
            place = "Arguments" if parameter.param_type_name == "argument" else "Options"
            panels.setdefault(parameter.rich_help_panel or place, []).append(parameter)
        for title, parameters in panels.items():
            made.append(nodes.paragraph("", "", nodes.strong(title, title)))
            items = [self._item(parameter) for parameter in parameters]
            made.append(nodes.definition_list("", *items))
        return made

    def _item(self, parameter: Any) -> nodes.Node:
        word = spelled(parameter)
        text = nodes.paragraph("", "", *inline(explained(parameter)))
        return nodes.definition_list_item(
            "", nodes.term("", "", nodes.literal(word, word)), nodes.definition("", text)
        )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
