"""All commands and their options, read from the command line itself when the site is built.

Each command has a page, written before the sources are read, with what ``clusterscape COMMAND
--help`` says; ```` ```{command} NAME ```` is its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

FOLDER = "commands/generated"


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
    """Return a text whose parts in backticks, and options such as --jobs, are code."""
    parts = re.split(r"`([^`]+)`|(?<![\w-])(--?[a-z][a-z0-9-]*)", text)
    made: list[nodes.Node] = []
    for at in range(0, len(parts), 3):
        made += [nodes.Text(parts[at])] if parts[at] else []
        made += [nodes.literal(code, code) for code in parts[at + 1 : at + 3] if code]
    return made


class Command(SphinxDirective):
    """One command: usage, what it does, and its options by group."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the content of the page."""
        name = self.arguments[0]
        return self._help(name, verbs()[name])

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


def write(app: Sphinx) -> None:
    """Write the pages of the commands, and leave alone what has not changed."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {
        f"{name}.md": f"# clusterscape {name}\n\n```{{command}} {name}\n```\n" for name in verbs()
    }
    for file in folder.glob("*.md"):
        if file.name not in wanted:
            file.unlink()
    for name, text in wanted.items():
        file = folder / name
        if not file.exists() or file.read_text(encoding="utf8") != text:
            file.write_text(text, encoding="utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and write the pages before the sources are read."""
    app.add_directive("command", Command)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
