"""The site works offline: formulas are drawn when it is built, nothing is loaded from elsewhere."""

from __future__ import annotations

import functools
import hashlib
import io
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


@functools.cache
def drawn(tex: str, size: float) -> str:
    """Return a formula as SVG that stands on the line of the text and has its colour."""
    from matplotlib import mathtext, rc_context
    from matplotlib.font_manager import FontProperties

    stream = io.BytesIO()
    settings = {"svg.fonttype": "path", "svg.hashsalt": tex, "mathtext.fontset": "stix"}
    with rc_context(settings):
        depth = mathtext.math_to_image(
            f"${tex}$", stream, prop=FontProperties(size=size), dpi=72, format="svg"
        )
    svg = stream.getvalue().decode("utf8")
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Names of the glyphs must differ between the formulas of a page.
    mark = hashlib.sha256(f"{tex} {size}".encode()).hexdigest()[:8]
    svg = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>m{mark}-", svg)
    svg = re.sub(r"fill: ?#(000000|ffffff)|fill: ?none", _fill, svg)
    style = f'style="vertical-align: {-depth / size:.3f}em" aria-hidden="true"'
    width, height = (float(v) / size for v in re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2])
    svg = re.sub(r'width="[\d.]+pt"', f'width="{width:.3f}em"', svg, count=1)
    svg = re.sub(r'height="[\d.]+pt"', f'height="{height:.3f}em"', svg, count=1)
    return svg.replace("<svg", f"<svg {style}", 1)


def _fill(found: re.Match[str]) -> str:
    return "fill: none" if "ffffff" in found[0] or "none" in found[0] else "fill: currentColor"


def _svg(self: Any, tex: str, size: float, tag: str, kind: str) -> None:
    text = " ".join(tex.split())
    tall = "displayed" in kind
    try:
        # Fractions at full size, and a space behind sums, which mathtext leaves out.
        spaced = re.sub(r"(\\sum(?:_\{[^}]*\}|_\w)?(?:\^\{[^}]*\}|\^\w)?)", r"\1\\,", text)
        svg = drawn(spaced.replace(r"\frac", r"\dfrac") if tall else spaced, size)
    except ValueError as error:
        logger.warning("the formula %s cannot be drawn: %s", text, error)
        svg = f"<code>{self.encode(text)}</code>"
    label = self.encode(text).replace('"', "&quot;")
    self.body.append(f'<{tag} class="{kind}" role="img" aria-label="{label}">{svg}</{tag}>')


def math(self: Any, node: nodes.Element) -> None:
    """Draw an inline formula."""
    _svg(self, node.astext(), 48, "span", "formula")
    raise nodes.SkipNode


def displayed(self: Any, node: nodes.Element) -> None:
    """Draw a displayed formula."""
    _svg(self, node.astext(), 48, "div", "formula displayed")
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
    app.add_html_math_renderer("drawn", (math, None), (displayed, None))
    app.connect(
        "config-inited", lambda app, config: config.__setattr__("html_math_renderer", "drawn")
    )
    app.connect("build-finished", check)
    return {"parallel_read_safe": True}
