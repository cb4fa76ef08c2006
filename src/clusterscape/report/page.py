"""A report's dictionary as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from importlib import resources
from typing import Any

import numpy as np

from clusterscape._core.atomic import write_bytes
from clusterscape._core.params import Instance, Null, Number, checked
from clusterscape._core.plain import plain
from clusterscape.plot.palette import NOISE_COLOUR, cluster_colors
from clusterscape.report import text
from clusterscape.report.choices import Choices
from clusterscape.report.contents import collect

_COLOURS = 24  # of the palette, before they repeat with another shape
_HEAVY_MB = 20.0


def write(
    model: Any,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    max_mb: float | None = _HEAVY_MB,
    **options: Any,
) -> None:
    """Write a report on a fitted model: one HTML file, which needs no network.

    Parameters
    ----------
    model : estimator
        Fitted, with ``labels_`` and ``ensemble_``; or a pipeline that ends with one.
    path : str or path
        The file; it is replaced whole.
    X : (n, d) array, sparse matrix or data frame, optional
        The points as they were given to ``fit``.
    max_mb : float or None
        Warn of a file of more megabytes; None never warns.
    **options
        As in :func:`collect`: ``table``, ``coordinates``, ``reference``, ``run``, ``title``,
        ``choices``, ``max_points``, ``max_partitions``.

    See Also
    --------
    collect : What the page shows, as a dictionary.
    clusterscape.io.save_results : Saves the model and its tables.

    Notes
    -----
    The page holds ids, labels and two coordinates of the points that it shows, and typical values
    of the columns. Give it to people who may see these. Names of columns, ids and classes are
    escaped, and the page's own rules forbid it to load or send anything.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from clusterscape import ConsensusClustering, report
    >>> X = [[0.0, 0.0], [0.1, 0.0], [0.2, 0.1], [5.0, 5.0], [5.1, 5.0], [5.2, 5.1]]
    >>> model = ConsensusClustering(2, n_references=0, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "report.html"
    ...     report.write(model, file, X=X)
    ...     file.read_text().startswith("<!doctype html>")
    True
    """
    page = render(collect(model, X=X, **options)).encode()
    _warn_of_size(len(page), max_mb)
    write_bytes(path, page)


@checked({"max_mb": [Null(), Number(0)]})
def _warn_of_size(size: int, max_mb: float | None) -> None:
    if max_mb is not None and size > max_mb * 1e6:
        warnings.warn(
            f"The report has {size / 1e6:.0f} MB, which is slow to open; give a smaller max_points "
            "or max_partitions, or raise max_mb.",
            stacklevel=3,
        )


@checked({"page": [Instance(Mapping)], "choices": [Null(), Instance(Choices)]})
def render(page: Mapping[str, Any], *, choices: Choices | None = None) -> str:
    """Return a report as the text of an HTML file.

    Parameters
    ----------
    page : mapping
        What :func:`collect` returns. In a page to be served, ``questions`` may hold pairs of ids
        that are asked about.
    choices : Choices, optional
        What was chosen before. With it the page is one to be served by :class:`ReportServer`: it
        has a section to choose in, and may send the choices to where it came from.

    Returns
    -------
    str

    See Also
    --------
    write : Collects, renders and writes.

    Examples
    --------
    >>> from clusterscape.report import render
    >>> "a &lt;script&gt;" in render({"title": "a <script>", "notes": []})
    True
    """
    style, script = _asset("page.css"), _asset("page.js")
    rules = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    if choices is not None:
        rules += "; connect-src 'self'"
        page = {"questions": [], **page, "choices": asdict(choices)}
    made = text.sections(page)
    parts = {
        "rules": rules,
        "title": text.escaped(page["title"]),
        "style": style,
        "headline": text.escaped(page.get("verdict", {}).get("headline", "")),
        "links": text.links(made),
        "sections": text.joined(made),
        "data": _embedded(_payload(page)),
        "script": script,
    }
    # In one pass, so that a name that looks like a place to fill is left alone.
    return re.sub(r"@@(\w+)@@", lambda place: parts[place[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return resources.files("clusterscape.report").joinpath("assets", name).read_text("utf8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _embedded(value: Any) -> str:
    """Return JSON that can stand inside a script element whatever it holds."""
    body = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return body.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


# ---- what the scripts need --------------------------------------------------------------------


def _payload(page: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of the page, the large ones packed."""
    found: dict[str, Any] = {
        "palette": cluster_colors(range(_COLOURS)),
        "noise": NOISE_COLOUR,
        "points": page.get("points"),
        "n_points": page.get("n_points"),
        "choices": page.get("choices"),
        "questions": page.get("questions"),
        "names": _names(page),
    }
    if "alternatives" in page:
        found["alternatives"] = _packed_alternatives(page["alternatives"])
    if "matrix" in page:
        own = page["matrix"]
        values = np.round(255 * np.asarray(own["values"])).astype(np.uint8)
        found["matrix"] = {**own, "values": _base64(values)}
    return found


def _names(page: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the answer's clusters that have one."""
    rows = page.get("clusters", {}).get("rows", [])
    return {str(row["cluster"]): row["name"] for row in rows if row["name"]}


def _packed_alternatives(own: Mapping[str, Any]) -> dict[str, Any]:
    labels = np.asarray(own["labels"], dtype=np.int64)
    kind: Any = np.uint8 if labels.max(initial=0) < 250 else np.uint16
    codes = np.where(labels >= 0, labels, np.iinfo(kind).max + 1 + labels).astype(kind)
    # As differences from the answer they are mostly zeros.
    changes = codes - codes[:1]
    distances = np.asarray(own["distances"], dtype=np.float64)
    largest = max(float(distances.max(initial=0.0)), 1e-9)
    steps = np.round(255 * distances / largest).astype(np.uint8)
    packed = {
        name: own[name] for name in ("partitions", "n_partitions", "map", "map_share", "axes")
    }
    return packed | {
        "bytes": int(np.dtype(kind).itemsize),
        "answer": _base64(codes[0]),
        "labels": _base64(zlib.compress(changes.tobytes())),
        "distances": _base64(zlib.compress(steps.tobytes())),
        "largest": largest,
        "places": None if own["places"] is None else _packed_places(own["places"]),
    }


def _packed_places(places: Any) -> str:
    """Return coordinates as 16-bit steps between the least and the largest of both."""
    where = np.nan_to_num(np.asarray(places, dtype=np.float64))
    low = where.min(axis=0, initial=np.inf)
    width = float((where.max(axis=0, initial=-np.inf) - low).max(initial=0.0)) or 1.0
    return _base64(np.round(65535 * (where - low) / width).astype(np.uint16))


def _base64(values: np.ndarray | bytes) -> str:
    raw = values if isinstance(values, bytes) else np.ascontiguousarray(values).tobytes()
    return base64.b64encode(raw).decode()
