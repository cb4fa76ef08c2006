"""The site works offline: formulas are plain text, nothing is loaded from other sites."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Scripts, style sheets, fonts and images; ordinary links to other sites are fine.
_LOADED = re.compile(
    r'<script[^>]*\ssrc="https?://[^"]*"'
    r'|<link(?![^>]*rel="(?:canonical|license)")[^>]*\shref="https?://[^"]*"'
    r'|<img[^>]*\ssrc="https?://[^"]*"'
    r"|@import\s+url\(['\"]?https?://[^)]*\)"
)


def math(self: Any, node: nodes.Element) -> None:
    """Write an inline formula as it was typed."""
    self.body.append(self.starttag(node, "code", "", CLASS="math"))
    self.body.append(f"{self.encode(node.astext())}</code>")
    raise nodes.SkipNode


def displayed(self: Any, node: nodes.Element) -> None:
    """Write a displayed formula as it was typed."""
    self.body.append(self.starttag(node, "pre", "", CLASS="math"))
    self.body.append(f"{self.encode(node.astext())}</pre>\n")
    raise nodes.SkipNode


def check(app: Sphinx, failure: Exception | None) -> None:
    """Warn about every page that would load something from the network."""
    if failure or app.builder.format != "html":
        return
    for page in sorted(Path(app.outdir).rglob("*.html")):
        for found in _LOADED.findall(page.read_text(encoding="utf8")):
            logger.warning("%s loads from the network: %s", page.name, found)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer and the check."""
    app.add_html_math_renderer("plain", (math, None), (displayed, None))
    app.connect(
        "config-inited", lambda app, config: config.__setattr__("html_math_renderer", "plain")
    )
    app.connect("build-finished", check)
    return {"parallel_read_safe": True}
