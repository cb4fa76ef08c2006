"""Small parts of the page as HTML: paragraphs, tables, lists of terms; everything escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from clusterscape.plot.description import number


class Markup(str):
    """Text that is HTML already, made of escaped parts."""

    __slots__ = ()


def escaped(value: Any) -> str:
    """Return text that is harmless in HTML, in an attribute too."""
    return html.escape("" if value is None else str(value), quote=True)


def paragraphs(lines: Iterable[Any]) -> str:
    """Return one paragraph for each line that says something."""
    return "".join(f"<p>{escaped(line)}</p>" for line in lines if line)


def bullets(lines: Iterable[Any]) -> str:
    """Return a list of lines."""
    inner = "".join(f"<li>{escaped(line)}</li>" for line in lines if line)
    return f"<ul>{inner}</ul>" if inner else ""


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str, wide: bool = False
) -> str:
    """Return a table; the first cell of each row names the row."""
    top = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
    body = []
    for row in rows:
        cells = [_cell(cell) for cell in row]
        first = f'<th scope="row">{cells[0]}</th>'
        body.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells[1:])}</tr>")
    kind = ' class="wide"' if wide else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}">'
        f"<table{kind}><caption>{escaped(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return number(value)
    return escaped("–" if value is None else value)


def terms(pairs: Iterable[tuple[str, Any]]) -> str:
    """Return a list of terms and what they are, those without a value left out."""
    inner = "".join(
        f"<dt>{escaped(name)}</dt><dd>{value if isinstance(value, Markup) else escaped(value)}</dd>"
        for name, value in pairs
        if value
    )
    return f"<dl>{inner}</dl>" if inner else ""


def folded(summary: str, inner: str) -> str:
    """Return content that is opened by a click."""
    return f"<details><summary>{escaped(summary)}</summary>{inner}</details>"
