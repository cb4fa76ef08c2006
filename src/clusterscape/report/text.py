"""The words, tables and small charts of a report, as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Page = Mapping[str, Any]

_COLUMNS = 40  # names of columns that are listed
_CLUSTERS = 60  # clusters that are described one by one


def escaped(value: Any) -> str:
    """Return text that is harmless in HTML, in an attribute too."""
    return html.escape("" if value is None else str(value), quote=True)


def sections(page: Page) -> str:
    """Return all sections of the page."""
    made = []
    for name, (heading, body) in SECTIONS.items():
        if name in page or name in ("notes", "glossary"):
            inner = body(page)
            if inner:
                made.append(_section(name, heading, inner))
    return "\n".join(made)


def links(page: Page) -> str:
    """Return the table of contents."""
    shown = [
        f'<li><a href="#{name}">{escaped(heading)}</a></li>'
        for name, (heading, body) in SECTIONS.items()
        if (name in page or name in ("notes", "glossary")) and body(page)
    ]
    return "".join(shown)


def _section(name: str, heading: str, inner: str) -> str:
    return (
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{escaped(heading)}</h2>{inner}</section>'
    )


# ---- parts ------------------------------------------------------------------------------------


def _paragraphs(lines: Iterable[Any]) -> str:
    return "".join(f"<p>{escaped(line)}</p>" for line in lines if line)


def _table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], *, caption: str, named: bool = True
) -> str:
    """Return a table; the first cell of each row names the row, where ``named``."""
    top = "".join(f'<th scope="col">{escaped(cell)}</th>' for cell in head)
    body = []
    for row in rows:
        cells = [_cell(cell) for cell in row]
        first = f'<th scope="row">{cells[0]}</th>' if named else f"<td>{cells[0]}</td>"
        body.append(f"<tr>{first}{''.join(f'<td>{cell}</td>' for cell in cells[1:])}</tr>")
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}"><table>'
        f"<caption>{escaped(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{''.join(body)}</tbody></table></div>"
    )


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) >= 1000 else f"{value:.3g}"
    return escaped("–" if value is None else value)


def _terms(pairs: Iterable[tuple[str, Any]]) -> str:
    inner = "".join(
        f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in pairs if value
    )
    return f"<dl>{inner}</dl>" if inner else ""


# ---- sections ---------------------------------------------------------------------------------


def _verdict(page: Page) -> str:
    own = page["verdict"]
    lines = list(own["sentences"])
    if own["structure"] is not None:
        lines.append(
            "The test for structure compares the data with references that have no clusters. It "
            "says whether there is any structure, not that these clusters are the right ones."
        )
    distinct, members = own["n_distinct"], own["n_partitions"]
    lines.append(f"{members:,} clusterings were combined; {distinct:,} of them differ.")
    return _paragraphs(lines)


def _input(page: Page) -> str:
    own = page["input"]
    names = own["columns"] or []
    more = f", and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
    count = None if own["n_columns"] is None else f"{own['n_columns']:,}"
    return _terms(
        [
            ("File", own["file"]),
            ("Points", f"{own['n_points']:,}"),
            ("Columns", count),
            ("Columns used", ", ".join(names[:_COLUMNS]) + more if names else None),
            ("Left out", ", ".join(map(str, own["left_out"]))),
            ("Names of the points", own["id_column"]),
            ("Scaling", own["scaling"]),
        ]
    ) + _paragraphs(own["notes"])


def _alternatives(page: Page) -> str:
    own = page["alternatives"]
    shown, n = page["n_shown"], page["n_points"]
    lines = [
        "Every dot of the first map is one clustering, near those that agree with it; the "
        "diamond is the answer. Choose one: the points take its clusters, and the other dots "
        "the colour of their distance to it. Pin one to compare another with it.",
    ]
    if shown < n:
        lines.append(f"{shown:,} of {n:,} points are shown, drawn at random.")
    inside = len(own["partitions"]) - 1
    if inside < own["n_partitions"]:
        lines.append(f"{inside:,} of {own['n_partitions']:,} clusterings are shown.")
    lines.append(
        "Distances are one less the adjusted Rand index on the points shown. The map shows "
        f"{own['map_share']:.0%} of their squares."
    )
    return _paragraphs(lines) + _EXPLORER


# Filled by the page's script; the canvases have a list and a table beside them that say the same.
_EXPLORER = """
<div class="explorer">
<div class="panel"><h3 id="map-title">Clusterings</h3>
<canvas id="map" role="img" aria-labelledby="map-title" aria-describedby="chosen"></canvas>
<div class="ramp" id="ramp"></div>
<label for="partition">Clustering to show</label>
<select id="partition" size="8"></select>
<p class="buttons"><button type="button" id="pin">Pin this one</button>
<button type="button" id="unpin">Remove the pin</button>
<button type="button" id="to-answer">Back to the answer</button></p></div>
<div class="panel"><h3 id="data-title">Points</h3>
<canvas id="data" role="img" aria-labelledby="data-title" aria-describedby="chosen"></canvas>
<div id="legend" class="legend" role="group" aria-label="Clusters to highlight"></div>
</div></div>
<p id="chosen" role="status" aria-live="polite"></p>
<p id="point" role="status" aria-live="polite"></p>
<div id="comparison" hidden><h3>Pinned and shown</h3><p id="changed"></p>
<div class="explorer"><div class="panel">
<canvas id="flows" role="img" aria-label="Flows from pinned clusters to those shown"></canvas></div>
<div class="panel scroll" id="contingency" tabindex="0" role="region"
 aria-label="Points that the pinned clusters share with those shown"></div></div></div>
"""


def _choices(page: Page) -> str:
    told = (
        "What you decide here is written to a file at once. “clusterscape export” applies it to "
        "the labels; pairs of points are kept for constraints."
    )
    return _paragraphs([told]) + _CHOOSING


_CHOOSING = """
<p id="saved" role="status" aria-live="polite"></p>
<p class="buttons"><button type="button" id="take">Take the clustering shown</button>
<span id="taken"></span></p>
<fieldset><legend>Names of its clusters</legend><div id="names" class="names"></div></fieldset>
<fieldset><legend>Clusters that are one</legend><p class="buttons">
<label for="merge-a">Cluster</label> <select id="merge-a"></select>
<label for="merge-b">and</label> <select id="merge-b"></select>
<button type="button" id="merge">Merge them</button></p><ul id="merged"></ul></fieldset>
<fieldset><legend>The point that is chosen</legend><p class="buttons">
<button type="button" id="mark">Mark it, or remove the mark</button>
<button type="button" id="remember">Remember it as the first of a pair</button>
<button type="button" id="together">Belongs together with the first</button>
<button type="button" id="apart">Does not belong with the first</button></p>
<p id="remembered"></p><ul id="pairs"></ul><p id="marks"></p></fieldset>
"""


def _clusters(page: Page) -> str:
    own = page["clusters"]
    rows = own["rows"]
    table = _table(
        ["Cluster", "Points", "Share", "Mean confidence", "Typical", "Least sure"],
        [
            (
                r["cluster"],
                f"{r['size']:,}",
                f"{r['share']:.1%}",
                r["confidence"],
                ", ".join(p["id"] for p in r["typical"]),
                ", ".join(p["id"] for p in r["least_sure"]),
            )
            for r in rows[:_CLUSTERS]
        ],
        caption="Clusters, with the points of highest and of lowest confidence",
    )
    if len(rows) > _CLUSTERS:
        table += _paragraphs([f"The {len(rows) - _CLUSTERS:,} smaller clusters are not listed."])
    if not own["described"]:
        return table
    half = "all points" if not own["held_back"] else "points that had no part in the choice"
    told = (
        "What tells the clusters apart. The effect is the probability that a point of the cluster "
        "has a larger value than another point, less that of a smaller one; it comes from "
        f"{half}. Clusters that were made from a column differ in it even where there are no "
        "real groups: effects say what the clusters are, not that they exist."
    )
    lines = [
        (
            r["cluster"],
            c["column"] if c["value"] is None else f"{c['column']} = {c['value']}",
            c["inside"] if c["value"] is None else f"{c['inside']:.0%}",
            c["outside"] if c["value"] is None else f"{c['outside']:.0%}",
            f"{c['effect']:+.2f}",
        )
        for r in rows[:_CLUSTERS]
        for c in r["columns"]
    ]
    head = ["Cluster", "Column", "Here (median or share)", "Elsewhere", "Effect"]
    return table + _paragraphs([told]) + _table(head, lines, caption="Distinguishing columns")


def _across_k(page: Page) -> str:
    own = page["across_k"]
    table = own["table"]
    names = list(table)
    rows = list(zip(*(table[name] for name in names), strict=True))
    chart = ""
    if "k" in table and "score" in table:
        chart = _line_chart(table["k"], table["score"], own["n_clusters"], own["runner_up"])
    return (
        _paragraphs([own["reason"]])
        + chart
        + _table(
            [name.replace("_", " ") for name in names],
            rows,
            caption="Numbers of clusters and their criteria; the largest score decides",
        )
    )


def _line_chart(ks: Sequence[int], scores: Sequence[Any], chosen: int, second: Any) -> str:
    """Draw the deciding score against the number of clusters."""
    known = [(k, s) for k, s in zip(ks, scores, strict=True) if s is not None]
    if len(known) < 2:
        return ""
    low, high = min(s for _, s in known), max(s for _, s in known)
    left, right = known[0][0], known[-1][0]

    def place(k: float, s: float) -> tuple[float, float]:
        across = (k - left) / max(right - left, 1)
        up = (s - low) / (high - low) if high > low else 0.5
        return 40 + 540 * across, 150 - 120 * up

    spots = [(*place(k, s), k) for k, s in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
    marks = []
    for x, y, k in spots:
        kind = "chosen" if k == chosen else "second" if k == second else "other"
        size = {"chosen": 7, "second": 5, "other": 3}[kind]
        marks.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>')
        marks.append(f'<text x="{x:.1f}" y="172" text-anchor="middle">{k}</text>')
    said = f"Score of each number of clusters: {chosen} was chosen"
    said += f", {second} comes next." if second is not None else "."
    return (
        f'<svg class="chart" viewBox="0 0 620 196" role="img" aria-label="{escaped(said)}">'
        f'<polyline points="{line}"/>{"".join(marks)}'
        '<text x="310" y="192" text-anchor="middle">number of clusters</text></svg>'
        f'<p class="caption">{escaped(said)}</p>'
    )


def _matrix(page: Page) -> str:
    own = page["matrix"]
    told = (
        f"How often the clusterings put two points together, for {own['n_points']:,} points in the "
        "order of their clusters: dark blocks along the diagonal are clusters that hold together, "
        "dark places beside it are clusters that many clusterings join. The bars at the left are "
        "the clusters" + (", then the known classes" if own["reference"] else "") + "; at the "
        "right is the confidence."
    )
    return (
        _paragraphs([told])
        + '<canvas id="matrix-image" role="img" aria-label="Consensus matrix"></canvas>'
        + '<div id="classes" class="legend"></div>'
    )


_TABLE_OF_POINTS = """
<p class="buttons"><label for="search">Search ids</label> <input id="search" type="search">
<button type="button" id="download">Download as CSV</button></p>
<div class="scroll" tabindex="0" role="region" aria-label="Points">
<table id="points-table"><caption>Points and their clusters; the second best has the next share of
the votes</caption><thead><tr></tr></thead><tbody></tbody></table></div>
<p class="buttons"><button type="button" id="earlier">Earlier</button>
<span id="which" role="status"></span> <button type="button" id="later">Later</button></p>
"""


def _points(page: Page) -> str:
    shown, n = page["n_shown"], page["n_points"]
    told = [] if shown == n else [f"{shown:,} of {n:,} points, drawn at random."]
    return _paragraphs(told) + _TABLE_OF_POINTS


def _reference(page: Page) -> str:
    own = page["reference"]
    told = (
        f"The known classes had no part in the clustering. {own['accuracy']:.1%} of the points "
        "agree under the best matching of clusters to classes; adjusted Rand index "
        f"{own['adjusted_rand']:.3f} (1 is perfect, 0 is chance)."
    )
    head = ["Class", *(f"cluster {c}" if c >= 0 else "none" for c in own["clusters"])]
    rows = [(name, *counts) for name, counts in zip(own["classes"], own["counts"], strict=True)]
    return _paragraphs([told]) + _table(head, rows, caption="Points of each class and cluster")


def _methods(page: Page) -> str:
    own = page["methods"]
    lines = [f"Combined by {own['consensus']}." + (f" {own['why']}" if own["why"] else "")]
    if own["candidate"]:
        said = f"Of several ways to combine them, “{own['candidate']}” was taken"
        if own["runner_up"]:
            said += f"; next came “{own['runner_up']}”, whose clusters agree with it by an "
            said += f"adjusted Rand index of {own['agreement']:.2f}"
        lines.append(said + ".")
    rows = [(m["algorithm"], m["members"], m["fewest"], m["most"]) for m in own["members"]]
    head = ["Algorithm", "Clusterings", "Fewest clusters", "Most clusters"]
    return _paragraphs(lines) + _table(head, rows, caption="What the clusterings were made by")


def _failures(page: Page) -> str:
    own = page["failures"]
    lines = []
    if own["unclustered"]:
        lines.append(f"{own['unclustered']:,} points are in no cluster.")
    failed = own["failed"]
    if not failed:
        return _paragraphs([*lines, "No clustering failed."])
    lines.append(
        f"{len(failed):,} of {own['n_partitions']:,} clusterings failed, and were left out."
    )
    rows = [(f["partition"], f["reason"]) for f in failed[:20]]
    return _paragraphs(lines) + _table(["Clustering", "Reason"], rows, caption="Failed clusterings")


def _reproduce(page: Page) -> str:
    own = page["reproduce"]
    settings = ", ".join(f"{name}={value!r}" for name, value in own["parameters"].items())
    code = f"{own['estimator']}({settings})"
    run = own["run"].get("parameters")
    extra = ""
    if run:
        asked = {k: v for k, v in run.items() if v not in (None, [], False)}
        words = ", ".join(f"{k} = {v}" for k, v in asked.items())
        extra = _terms(
            [("Command", f"clusterscape {own['run'].get('command')}"), ("Options", words)]
        )
    version = ", ".join(f"{name} {number}" for name, number in own["versions"].items())
    return f"{extra}<pre><code>{escaped(code)}</code></pre>" + _terms(
        [("Input (sha256)", own["sha256"]), ("Versions", version)]
    )


def _notes(page: Page) -> str:
    return _paragraphs(
        f"The section “{note['section']}” could not be made ({note['reason']})."
        for note in page.get("notes", [])
    )


_WORDS = {
    "Clustering": "a division of the points into groups. Many are made, in different ways, because "
    "no single one can be trusted.",
    "Answer, consensus": "the one clustering in which the many agree best.",
    "Confidence": "the share of the clusterings' votes for a point's own cluster. 0.8 and more is "
    "called sure, less than 0.5 doubtful. It says how steady the label is, not that it is true.",
    "Second best": "the cluster that gets most of a point's other votes.",
    "Adjusted Rand index": "how far two clusterings agree on pairs of points: 1 is complete "
    "agreement, 0 what chance would give.",
    "Effect": "how far a cluster differs from the rest in one column, from -1 to 1; 0 is no "
    "difference.",
    "Test for structure": "a comparison with data that have the same columns but no clusters.",
}


def _glossary(page: Page) -> str:
    return _terms(_WORDS.items())


# Names of the sections, their headings, and what fills them, in the order of the page.
SECTIONS: dict[str, tuple[str, Callable[[Page], str]]] = {
    "verdict": ("What was found", _verdict),
    "input": ("What was read", _input),
    "alternatives": ("The answer and its alternatives", _alternatives),
    "choices": ("Your choices", _choices),
    "clusters": ("The clusters", _clusters),
    "across_k": ("How many clusters", _across_k),
    "matrix": ("Consensus matrix", _matrix),
    "points": ("The points", _points),
    "reference": ("Against the known classes", _reference),
    "methods": ("How it was made", _methods),
    "glossary": ("Words", _glossary),
    "failures": ("What failed", _failures),
    "notes": ("What is missing here", _notes),
    "reproduce": ("How to repeat it", _reproduce),
}
