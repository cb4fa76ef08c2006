"""Tables of the guide that are read from the registries when the site is built.

```` ```{registry} measures ```` in a Markdown page becomes the table of all measures.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Column = tuple[str, Callable[[Any], Any]]


def yes(value: bool) -> str:
    """Return a mark for true and nothing for false."""
    return "yes" if value else ""


def interval(bounds: tuple[float, float]) -> str:
    """Return bounds as an interval."""
    low, high = (f"{b:g}".replace("inf", "∞") for b in bounds)
    return f"{low} … {high}"


METHOD: Column = ("method", lambda m: f"{{class}}`~clusterscape.combine.{m.estimator.__name__}`")

# Registry -> where it is, and its columns.
TABLES: dict[str, tuple[str, str, list[Column]]] = {
    "measures": (
        "clusterscape.compare",
        "MEASURES",
        [
            ("measure", lambda m: f"{{func}}`~clusterscape.compare.{m.name}`"),
            ("in words", lambda m: m.label),
            ("kind", lambda m: m.direction),
            ("values", lambda m: interval(m.bounds)),
            ("symmetric", lambda m: yes(m.symmetric)),
            ("metric", lambda m: yes(m.metric)),
            ("corrected for chance", lambda m: yes(m.chance_corrected)),
            ("soft", lambda m: yes(m.soft)),
            ("from", lambda m: m.reference),
        ],
    ),
    "algorithms": (
        "clusterscape.generate",
        "ALGORITHMS",
        [
            ("name", lambda a: f"`{a.name}`"),
            ("in words", lambda a: a.summary),
            ("takes k", lambda a: yes(a.needs_k)),
            ("sparse", lambda a: yes(a.sparse)),
            ("weights", lambda a: yes(a.weights)),
            ("soft", lambda a: yes(a.soft)),
        ],
    ),
    "methods": (
        "clusterscape.combine",
        "METHODS",
        [
            METHOD,
            ("on the command line", lambda m: f"`{m.name}`"),
            ("in words", lambda m: m.summary),
            ("from", lambda m: m.reference),
        ],
    ),
    "method-needs": (
        "clusterscape.combine",
        "METHODS",
        [
            METHOD,
            ("number of clusters", lambda m: m.k_rule or "must be given"),
            ("features", lambda m: "" if m.features == "none" else m.features),
            ("soft", lambda m: yes(m.soft)),
            ("extra", lambda m: f"`{m.extra}`" if m.extra else ""),
            ("time", lambda m: m.cost),
            ("memory", lambda m: m.memory),
        ],
    ),
}


def lines(name: str) -> Iterator[str]:
    """Yield the table of a registry in Markdown."""
    module, attribute, columns = TABLES[name]
    registry = getattr(importlib.import_module(module), attribute)
    yield "| " + " | ".join(header for header, _ in columns) + " |"
    yield "|" + "---|" * len(columns)
    for entry in registry.values():
        cells = (str(cell(entry)).replace("|", r"\|") for _, cell in columns)
        yield "| " + " | ".join(cells) + " |"


class Registry(SphinxDirective):
    """The table of one registry."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        return self.parse_text_to_nodes("\n".join(lines(self.arguments[0])))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("registry", Registry)
    return {"parallel_read_safe": True}
