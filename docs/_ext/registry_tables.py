"""Tables of the guide that are read from the registries when the site is built.

```` ```{registry} measures ```` in a Markdown page becomes the table of all measures of labels. The
tables have few columns, so that they fit beside the navigation; references are on the page of each
name.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

Column = tuple[str, Callable[[Any], Any]]


class Table(NamedTuple):
    """Where a registry is, which of its entries are shown, and the columns."""

    module: str
    registry: str
    columns: list[Column]
    shown: Callable[[Any], bool] = lambda entry: True


def yes(value: bool) -> str:
    """Return a mark for true and nothing for false."""
    return "yes" if value else ""


def interval(bounds: tuple[float, float]) -> str:
    """Return bounds as an interval."""
    low, high = (f"{b:.3g}".replace("inf", "∞").replace("-", "−") for b in bounds)
    return f"{low} to {high}"


def properties(**marks: bool) -> str:
    """Return the names of the properties that hold."""
    return ", ".join(name.replace("_", " ") for name, holds in marks.items() if holds)


MEASURE: list[Column] = [
    ("measure", lambda m: f"{{func}}`~clusterscape.compare.{m.name}`"),
    ("in words", lambda m: m.label),
    ("values", lambda m: f"{m.direction}, {interval(m.bounds)}"),
    (
        "properties",
        lambda m: properties(
            metric=m.metric,
            not_symmetric=not m.symmetric,
            corrected_for_chance=m.chance_corrected,
            soft=m.soft,
        ),
    ),
]


def typeset(cost: str) -> str:
    """Write powers and Greek letters of a cost, which a terminal shows as plain text."""
    powers = cost.replace("^2", "²").replace("^3", "³").replace("<=", "≤")
    return re.sub(r"\brho\b", "ρ", powers)


METHOD: Column = ("method", lambda m: f"{{class}}`~clusterscape.combine.{m.estimator.__name__}`")

TABLES: dict[str, Table] = {
    "measures": Table("clusterscape.compare", "MEASURES", MEASURE, lambda m: not m.needs_features),
    "space-measures": Table(
        "clusterscape.compare", "MEASURES", MEASURE, lambda m: m.needs_features
    ),
    "algorithms": Table(
        "clusterscape.generate",
        "ALGORITHMS",
        [
            ("name", lambda a: f"`{a.name}`"),
            ("in words", lambda a: a.summary),
            (
                "accepts",
                lambda a: properties(
                    n_clusters=a.needs_k, sparse_data=a.sparse, weights=a.weights
                ).replace("n clusters", "`n_clusters`"),
            ),
            ("soft", lambda a: yes(a.soft)),
        ],
    ),
    "methods": Table(
        "clusterscape.combine",
        "METHODS",
        [
            ("method, name", lambda m: f"{METHOD[1](m)} `{m.name}`"),
            ("in words", lambda m: m.summary),
        ],
    ),
    "method-needs": Table(
        "clusterscape.combine",
        "METHODS",
        [
            METHOD,
            ("number of clusters", lambda m: m.k_rule or "must be given"),
            ("features", lambda m: "" if m.features == "none" else m.features),
            ("soft", lambda m: yes(m.soft)),
            ("extra", lambda m: m.extra or ""),  # as code it would break in a narrow column
        ],
    ),
    "method-costs": Table(
        "clusterscape.combine",
        "METHODS",
        [
            METHOD,
            ("time", lambda m: typeset(m.cost)),
            ("memory", lambda m: typeset(m.memory)),
        ],
    ),
}


def lines(name: str) -> Iterator[str]:
    """Yield the table of a registry in Markdown."""
    table = TABLES[name]
    registry = getattr(importlib.import_module(table.module), table.registry)
    yield "| " + " | ".join(header for header, _ in table.columns) + " |"
    yield "|" + "---|" * len(table.columns)
    for _, entry in sorted(registry.items()):
        if table.shown(entry):
            cells = (str(cell(entry)).replace("|", r"\|") for _, cell in table.columns)
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
