"""A page for each consensus method, made of its class, the registry and its formulas.

The idea, when it fails and the references stand in the docstring, cost and needs in the registry,
the formulas in ``mathematics.py``. A method without formulas is a warning, so that a new one is not
forgotten. The other estimators have pages of the same shape, with formulas and costs in
``more_mathematics.py``. ```` ```{methods} consensus ```` (or ``estimators``) is a table of these
pages.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from mathematics import MATHEMATICS
from more_mathematics import ESTIMATORS, Entry
from numpydoc.docscrape import ClassDoc
from registry_tables import typeset
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)

FOLDER = "methods/generated"
OTHERS = "methods/generated/estimators"
SYMBOLS = (
    "n points, m different rows of labels, r partitions, K clusters of the consensus, D clusters "
    "of all partitions together, l sampled points, d features, ρ random features."
)


def titled(text: str, mark: str) -> list[str]:
    """Return a heading."""
    return [text, mark * len(text), ""]


def needs(method: Any) -> list[str]:
    """Return what a method needs, as a list."""
    found = [f"Number of clusters: {method.k_rule or 'must be given'}."]
    words = {
        "needed": "The features of the points are needed.",
        "used": "The features are used where they are given.",
        "none": "Only labels are used, no features.",
    }
    found.append(words[method.features])
    if method.soft:
        found.append("Soft partitions (memberships) are taken as they are.")
    if method.extra:
        found.append(f"It needs ``pip install 'clusterscape[{method.extra}]'``.")
    return [f"- {line}" for line in found] + [""]


def references(lines: list[str]) -> list[str]:
    """Return the references as a list; numbers of footnotes are left out."""
    text = re.sub(r"^\.\. \[\w+\] ", "\n", "\n".join(lines), flags=re.MULTILINE)
    entries = [" ".join(entry.split()) for entry in text.split("\n\n") if entry.strip()]
    # The initial of a first name is no number of a list.
    return [f"- \\{entry}" if entry[0].isalpha() else f"- {entry}" for entry in entries]


def page(name: str, method: Any) -> str:
    """Return the page of one method, in reStructuredText."""
    cls = method.estimator
    doc = ClassDoc(cls)
    made = [".. currentmodule:: clusterscape.combine", ""]
    made += titled(cls.__name__, "=")
    made += [f"*{method.summary}*", ""]
    made += [
        f":class:`~clusterscape.combine.{cls.__name__}`; its name for ``consensus=`` and "
        f"``--consensus`` is ``{name}``.",
        "",
    ]
    made += titled("Idea", "-") + [*doc["Extended Summary"], ""]
    made += titled("Mathematics", "-") + MATHEMATICS.get(name, "").strip("\n").split("\n") + [""]
    made += titled("When it fails, and what to know", "-") + [*doc["Notes"], ""]
    made += titled("Cost", "-")
    made += [f"Time ``{typeset(method.cost)}``, memory ``{typeset(method.memory)}``: {SYMBOLS}", ""]
    made += titled("What it needs", "-") + needs(method)
    made += titled("References", "-") + [*references(doc["References"]), ""]
    return "\n".join(made)


def estimator_page(name: str, entry: Entry) -> str:
    """Return the page of an estimator that is no consensus method."""
    doc = ClassDoc(getattr(importlib.import_module(entry.home), name))
    made = [f".. currentmodule:: {entry.home}", ""]
    made += titled(name, "=")
    made += [f"*{' '.join(doc['Summary'])}*", "", f":class:`~{entry.home}.{name}`", ""]
    made += titled("Idea", "-") + [*doc["Extended Summary"], ""]
    made += titled("Mathematics", "-") + entry.mathematics.strip("\n").split("\n") + [""]
    made += titled("When it fails, and what to know", "-") + [*doc["Notes"], ""]
    made += titled("Cost", "-") + [entry.cost, ""]
    made += titled("References", "-") + [*references(doc["References"]), ""]
    # The references are a list here, without numbers to point at.
    return re.sub(r" ?\[\d+\]_", "", "\n".join(made))


def write(app: Sphinx) -> None:
    """Write the pages of the methods and of the other estimators."""
    from clusterscape.combine import METHODS

    for name in sorted(set(METHODS) - set(MATHEMATICS)):
        logger.warning("the method %s has no formulas in docs/_ext/mathematics.py", name)
    methods = {f"{name}.rst": page(name, method) for name, method in METHODS.items()}
    store(Path(app.srcdir) / FOLDER, methods)
    others = {f"{name}.rst": estimator_page(name, entry) for name, entry in ESTIMATORS.items()}
    store(Path(app.srcdir) / OTHERS, others)


def store(folder: Path, wanted: dict[str, str]) -> None:
    """Write pages into a folder of their own, and leave alone what has not changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob("*.rst"):
        if file.name not in wanted:
            file.unlink()
    for file_name, text in wanted.items():
        file = folder / file_name
        if not file.exists() or file.read_text(encoding="utf8") != text:
            file.write_text(text, encoding="utf8")


def contents(kind: str) -> list[tuple[str, str, str]]:
    """Return the title, the page and the summary of each consensus method or estimator."""
    from clusterscape.combine import METHODS

    if kind == "consensus":
        rows = [(m.estimator.__name__, f"generated/{n}", m.summary) for n, m in METHODS.items()]
    else:
        rows = [
            (name, f"generated/estimators/{name}", " ".join(ClassDoc(cls)["Summary"]))
            for name, entry in ESTIMATORS.items()
            for cls in [getattr(importlib.import_module(entry.home), name)]
        ]
    return sorted(rows, key=lambda row: row[0].lower())


class Methods(SphinxDirective):
    """The table of the pages of the consensus methods, or of the other estimators."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = ["| method | in words |", "|---|---|"]
        for title, place, summary in contents(self.arguments[0]):
            lines.append(f"| {{doc}}`{title} <{place}>` | {summary} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and write the pages before the sources are read."""
    app.add_directive("methods", Methods)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
