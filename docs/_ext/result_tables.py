"""Tables of the guide that are taken out of the benchmark results when the site is built.

```` ```{results} speed/pairwise.py ```` shows a table of that section. Options: ``table`` (how its
line of column names begins), ``rows`` and ``columns`` (``a; b as the name on the page``),
``decimals``, ``corner`` (the name of the first column) and ``lines`` (texts, separated by
``;``: the
lines with them, as printed).
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from results_text import RESULTS, chosen, said, table
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def markdown(program: str, options: dict[str, Any]) -> str:
    """Return a table of the results, and the lines that go with it."""
    made: list[str] = []
    if "table" in options:
        names = ("rows", "columns", "decimals")
        found = chosen(
            table(program, options["table"]), **{k: options[k] for k in names if k in options}
        )
        found[0][0] = options.get("corner", "")
        made += ["| " + " | ".join(line).replace("*", r"\*") + " |" for line in found]
        made.insert(1, "|" + "---|" * len(found[0]))
    printed = [said(program, part.strip()) for part in options.get("lines", "").split(";") if part]
    if printed:
        made += ["", "As printed by the program:", "", "```text", *printed, "```"]
    return "\n".join(made)


class Results(SphinxDirective):
    """One table of one program."""

    required_arguments = 1
    option_spec = {
        "table": directives.unchanged_required,
        "rows": directives.unchanged,
        "columns": directives.unchanged,
        "corner": directives.unchanged,
        "lines": directives.unchanged,
        "decimals": directives.nonnegative_int,
    }

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        self.env.note_dependency(str(RESULTS))
        return self.parse_text_to_nodes(markdown(self.arguments[0], self.options))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("results", Results)
    return {"parallel_read_safe": True}
