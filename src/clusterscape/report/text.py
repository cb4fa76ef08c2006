"""The words and tables of a report, as HTML."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clusterscape.plot.description import number
from clusterscape.report import charts
from clusterscape.report.cautions import NEAR, suspicions
from clusterscape.report.findings import failure, listed, reference_words
from clusterscape.report.markup import (
    Markup,
    bullets,
    escaped,
    folded,
    paragraphs,
    table,
    terms,
)
from clusterscape.report.verdict import verdict

Page = Mapping[str, Any]

_COLUMNS = 40  # names of columns that are listed
_NAMED = 12  # clusters that are named in a sentence
_ROWS = 12  # rows of a table that are not folded away
_NOTES = 4  # on columns, that are not folded away
_CLUSTERS = 60  # clusters that are described one by one
_LITTLE = 0.3  # share of the squared distances that a map shows


def sections(page: Page) -> dict[str, str]:
    """Return the inner HTML of each section that has something to show, in the order of the page.

    A section that fails becomes a note.
    """
    notes = list(page.get("notes", []))
    made = {}
    for name, (_, body) in SECTIONS.items():
        if name not in page and name != "glossary":
            continue
        try:
            made[name] = body(page)
        except Exception as error:  # one failing section never costs the report
            notes.append(failure(name, error))
    made["notes"] = _notes({"notes": notes})
    return {name: made[name] for name in SECTIONS if made.get(name)}


def links(made: Iterable[str]) -> str:
    """Return the table of contents of sections by their names."""
    shown = [f'<li><a href="#{name}">{escaped(SECTIONS[name][0])}</a></li>' for name in made]
    return "".join(shown)


def joined(made: Mapping[str, str]) -> str:
    """Return the sections with their headings."""
    return "\n".join(
        f'<section id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{escaped(SECTIONS[name][0])}</h2>{inner}</section>'
        for name, inner in made.items()
    )


# ---- sections ---------------------------------------------------------------------------------


def _input(page: Page) -> str:
    own = page["input"]
    names = own["columns"] or []
    more = f", and {len(names) - _COLUMNS:,} more" if len(names) > _COLUMNS else ""
    count = None if own["n_columns"] is None else f"{own['n_columns']:,}"
    return terms(
        [
            ("Data" if own["about"] else "File", own["file"]),
            ("About", own["about"]),
            ("Points", f"{own['n_points']:,}"),
            ("Columns", count),
            ("Constant columns", own["n_constant"] and f"{own['n_constant']:,}, which say nothing"),
            (
                "Columns read" if own["prepared"] else "Columns used",
                ", ".join(names[:_COLUMNS]) + more if names else None,
            ),
            ("Left out", ", ".join(map(str, own["left_out"])) or (own["file"] and "nothing")),
            ("Suspicious", _suspicious(own)),
            ("Prepared as", own["prepared"]),
            ("Prepared by", _prepared(own)),
            ("Names of the points", own["id_column"]),
            ("Known classes", _known(own["reference"], "reference" in page)),
            ("Scaling", _SCALINGS.get(own["scaling"], own["scaling"])),
        ]
    ) + _column_notes(own)


def _known(column: str | None, compared: bool) -> str | None:
    """Name the column of known classes, and say whether this page has them."""
    if column is None:
        return "compared with the clusters below (not clustered)" if compared else None
    return f"{column} (not clustered{'' if compared else '; not given when this page was written'})"


def _prepared(own: Mapping[str, Any]) -> str:
    """Return the steps before the clustering in words, without the scaling where it is known."""
    known = _SCALERS if own["scaling"] else ()
    return ", then ".join(_STEPS.get(step, step) for step in own["steps"] if step not in known)


def _column_notes(own: Mapping[str, Any]) -> str:
    """Return what was noted of columns while reading and preparing, many folded away."""
    changed = [_sentence(note) for note in own["columns_changed"]]
    told = bullets(changed)
    if len(changed) > _NOTES:
        told = folded(f"How columns were prepared: {len(changed)} notes on gaps and words", told)
    return paragraphs(map(_sentence, own["notes"])) + told


def _sentence(note: str) -> str:
    return note[:1].upper() + note[1:]


def _suspicious(own: Mapping[str, Any]) -> str | None:
    """Return what was noticed of columns that may not be features; None where nobody looked."""
    if own["suspicious"] is None:
        return None
    return " ".join(suspicions(own["suspicious"])) or "none: no column looks like ids or classes"


_STEPS = {  # the words for a step of a pipeline, whose name alone says little
    "TableEncoder": "filling gaps and turning words into columns",
    "LogTransformer": "logarithms, log(1 + x)",
    "TopVariable": "keeping the columns of largest variance",
    "PCA": "principal components",
}
_SCALERS = ("MixedScaler", "StandardScaler", "RobustScaler", "MinMaxScaler")
_SCALINGS = {
    "standard": "every column to mean 0 and standard deviation 1",
    "mixed": "columns of numbers to mean 0 and standard deviation 1; columns of two values, as of "
    "words, to 0 and 0.71, so that rare words do not decide",
    "none": "none: columns with large values count most",
    "angles": "none; rows are compared by their angles, so that their lengths do not count",
}


def _alternatives(page: Page) -> str:
    own = page["alternatives"]
    shown, n = page["n_shown"], page["n_points"]
    seen = own["axes"] or [""]
    lines = [
        "Every dot of the first map is one clustering, near those that agree with it; the "
        "diamond is the answer. Choose one: the points take its clusters, and the other dots "
        "the colour of their distance to it. The third picture has these distances against the "
        "number of clusters, by the algorithm. Pin one to compare another with it.",
    ]
    if shown < n:
        lines.append(f"{shown:,} of {n:,} points are shown, drawn at random.")
    inside = len(own["partitions"]) - 1
    if inside < own["n_partitions"]:
        lines.append(f"{inside:,} of {own['n_partitions']:,} clusterings are shown.")
    far = max((max(row, default=0.0) for row in own["distances"]), default=0.0)
    lines.append(
        "The distance of two clusterings is 1 minus their adjusted Rand index on the points shown. "
        + (_map_words(own["map_share"]) if far > 0 else "Here all are the same, and on one spot.")
    )
    if seen[0].startswith(("principal", "singular")):
        lines.append(
            "The map of points shows the two directions in which they differ most, and nothing of "
            "all others: clusters that overlap on it may be apart."
        )
    return paragraphs(lines) + _EXPLORER


def _map_words(share: float) -> str:
    """Say how much of the distances the map of clusterings shows."""
    little = ", so little that dots which are near may still differ" if share < _LITTLE else ""
    return f"The map shows {share:.0%} of the squared distances{little}."


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
<p id="chosen" role="status" aria-live="polite"></p>
<p id="near"></p>
<p id="point" role="status" aria-live="polite"></p></div></div>
<div class="panel"><h3 id="settings-title">Distances and settings</h3>
<canvas id="settings" role="img" aria-labelledby="settings-title" aria-describedby="kinds"></canvas>
<div id="algorithms" class="legend"></div><p id="kinds" class="caption"></p></div>
<div id="comparison" hidden><h3>Pinned and shown</h3><p id="changed"></p>
<div class="explorer"><div class="panel">
<canvas id="flows" role="img" aria-label="Flows from pinned clusters to those shown"></canvas></div>
<div class="panel scroll" id="contingency" tabindex="0" role="region"
 aria-label="Points that the pinned clusters share with those shown"></div></div></div>
"""


def _choices(page: Page) -> str:
    told = (
        "What you decide here is written to a file at once. Give it to other commands with "
        "--choices: “export”, “report” and “plot” then show the clusters as you chose and named "
        "them, and “constrain” clusters again so that your pairs of points hold."
    )
    return paragraphs([told]) + _CHOOSING


_CHOOSING = """
<p id="saved" role="status" aria-live="polite"></p>
<p class="buttons"><button type="button" id="take">Take the clustering shown</button>
<span id="taken"></span></p>
<fieldset><legend>Names of its clusters</legend><div id="names" class="names"></div></fieldset>
<fieldset><legend>Clusters that are one</legend><p class="buttons">
<label for="merge-a">Cluster</label> <select id="merge-a"></select>
<label for="merge-b">and</label> <select id="merge-b"></select>
<button type="button" id="merge">Merge them</button></p><ul id="merged"></ul></fieldset>
<fieldset id="asking"><legend>Do they belong together?</legend><ul id="questions"></ul></fieldset>
<fieldset><legend>The point that is chosen</legend>
<p id="hint">Choose a point first, on the map or in the table.</p><p class="buttons">
<button type="button" id="mark">Mark it, or remove the mark</button>
<button type="button" id="remember">Remember it as the first of a pair</button>
<button type="button" id="together">Belongs together with the first</button>
<button type="button" id="apart">Does not belong with the first</button></p>
<p id="remembered"></p><ul id="pairs"></ul><p id="marks"></p></fieldset>
"""


def _clusters(page: Page) -> str:
    own = page["clusters"]
    rows = own["rows"]
    named = any(r.get("name") for r in rows)
    found = table(
        [
            "Cluster",
            "Points",
            "Share",
            "Mean confidence",
            "Together",
            "Typical points",
            "Least sure points",
        ],
        [
            (
                _called(r) if named else charts.sign(r["cluster"]),
                f"{r['size']:,}",
                f"{r['share']:.1%}",
                None if r["confidence"] is None else f"{r['confidence']:.2f}",
                None if r["consensus"] is None else f"{r['consensus']:.2f}",
                ", ".join(_short(p["id"]) for p in r["typical"]),
                ", ".join(_short(p["id"]) for p in r["least_sure"]),
            )
            for r in rows[:_CLUSTERS]
        ],
        caption="Clusters, with the points of highest and of lowest confidence",
    )
    if len(rows) > _CLUSTERS:
        found += paragraphs([f"The {len(rows) - _CLUSTERS:,} smaller clusters are not listed."])
    if not own["described"]:
        return found + paragraphs([own["why_not"]])
    return found + _described(own)


def _called(row: Mapping[str, Any]) -> Markup:
    return Markup(f"{charts.sign(row['cluster'])} {escaped(row.get('name') or '')}")


def _short(name: str) -> str:
    return name if len(name) <= 40 else f"{name[:38]}…"


def _measured(own: Mapping[str, Any]) -> str:
    """Say which points give the effects, and for which clusters they chose the columns as well."""
    double = [str(row["cluster"]) for row in own["rows"] if not row["held_back"]]
    both = "all points, which have chosen the columns too, so that it is rather too large"
    if len(double) == len(own["rows"]):
        return both
    fresh = "points that had no part in the choice of the columns"
    if not double:
        return fresh
    which = f"cluster {double[0]}" if len(double) == 1 else f"clusters {listed(double)}"
    if len(double) > _NAMED:
        which = f"{len(double)} clusters"
    return f"{fresh}; for {which} with fewer than 8 points to look at, from {both}"


def _described(own: Mapping[str, Any]) -> str:
    told = (
        "What tells the clusters apart: the columns with the largest effects. An effect of +1 says "
        "that all points of the cluster are above all others, -1 below, 0 that they are alike, or "
        "between others that are higher and lower (compare the values then). The effect comes from "
        f"{_measured(own)}. Clusters that were made from a column differ in it even where there "
        "are no real groups: effects say what the clusters are, not that they exist."
    )
    lines = [
        (
            charts.sign(r["cluster"]),
            _short(c["column"] if c["value"] is None else f"{c['column']} = {c['value']}"),
            *_typical(c),
            charts.effect_bar(c["effect"], r["cluster"]),
        )
        for r in own["rows"][:_CLUSTERS]
        for c in r["columns"]
    ]
    head = ["Cluster", "Column", "Here", "Elsewhere", "Effect"]
    seen = {c.get("measure", "median") for r in own["rows"] for c in r["columns"]}
    words = listed([_MEASURES[kind] for kind in _MEASURES if kind in seen] or ["medians"])
    return paragraphs([told]) + table(head, lines, caption=f"Distinguishing columns ({words})")


_MEASURES = {
    "median": "medians of numbers",
    "share": "shares of words",
    "present": "shares of points that have the column at all, where the medians are both 0",
}


def _typical(column: Mapping[str, Any]) -> tuple[str, str]:
    """Return the typical values inside and outside, in words."""
    inside, outside = column["inside"], column["outside"]
    if column.get("measure", "median") == "median":
        return tuple("–" if v is None else number(v) for v in (inside, outside))  # type: ignore
    after = " not 0" if column["measure"] == "present" else ""
    return tuple("–" if v is None else f"{v:.0%}{after}" for v in (inside, outside))  # type: ignore


def _across_k(page: Page) -> str:
    own = page["across_k"]
    inner = _criteria(own["criteria"]) if own["criteria"] is not None else ""
    return inner + (_tracking(own["tracking"]) if own["tracking"] is not None else "")


def _criteria(own: Mapping[str, Any]) -> str:
    columns = own["table"]
    names = list(columns)
    rows = list(zip(*(columns[name] for name in names), strict=True))
    chart = ""
    if "k" in columns and "score" in columns:
        chart = charts.score_line(
            columns["k"], columns["score"], chosen=own["n_clusters"], second=own["runner_up"]
        )
    known = [(_HEADS[name][0], _HEADS[name][1]) for name in names if name in _HEADS]
    full = table(
        [_HEADS[name][0] if name in _HEADS else name.replace("_", " ") for name in names],
        rows,
        caption="Numbers of clusters and their criteria; the largest score decides, unless more "
        "groups than that lie apart",
    )
    if len(rows) > _ROWS:
        full = folded(f"Table of all {len(rows)} numbers of clusters", full)
    return paragraphs([own["reason"]]) + chart + full + folded("What the columns say", terms(known))


_HEADS = {
    "k": ("k", "Number of clusters."),
    "score": (
        "Score",
        "What decides: the sum of rise, drop of clearness and eigengap, as far as they are known.",
    ),
    "separation_rise": (
        "Rise",
        "By how much more the next cut separates near neighbours (log ratio): large where the next "
        "cut would go through a cluster.",
    ),
    "separated": ("Separated", "Share of near neighbours that lie in different clusters."),
    "clearness_drop": (
        "Drop of clearness",
        "By how much less clear the borders are with one cluster more: large where the next border "
        "would run through a cluster.",
    ),
    "clearness": (
        "Clearness",
        "How clear the borders are, the unclear ones first: 0 is a cut through one cloud, 4 a gap.",
    ),
    "eigengap": (
        "Eigengap",
        "Drop of the spectrum of the shares of common clusterings after k (log ratio).",
    ),
    "chosen": ("Halves", "Random halves of the clusterings that chose this number."),
    "stability": (
        "Stability",
        "Mean agreement of the halves' clusters with those of all clusterings (1 is the same).",
    ),
}


def _tracking(own: Mapping[str, Any]) -> str:
    told = (
        "Each row is a number of clusters, each dot a cluster: its area is its points, and the "
        "lines show where they go when there is one cluster more. A strong line says that the "
        "cluster below comes from there; a cluster with several faint lines is new, not a part of "
        f"one above. The row k = {own['answer']} is the answer; the others are cuts of the same "
        "clusterings. Clusters keep number and colour from row to row, beginning with the answer's."
    )
    agreement = own["cut_agreement"]
    if agreement is not None and agreement < NEAR:
        told += (
            f" The same clusterings cut into {own['answer']} give clusters that agree with the "
            f"answer by {agreement:z.2f} (adjusted Rand index), so that the lines at its row cross."
        )
    rows = [
        (f"k = {a['from']}, cluster {a['cluster']}",
         f"k = {a['to']}, cluster {a['cluster_below']}",
         f"{a['points']:,}", f"{a['share_from']:.0%}", f"{a['share_to']:.0%}")
        for a in own["arrows"]
    ]  # fmt: skip
    head = ["From", "To", "Points", "Share of the first", "Share of the second"]
    as_table = table(head, rows, caption=f"Where the points go ({own['n_points']:,} points)")
    return (
        "<h3>The clusters across k</h3>"
        + paragraphs([told])
        + charts.tree(own)
        + folded("The same as a table", as_table)
    )


def _matrix(page: Page) -> str:
    own = page["matrix"]
    some = "all" if own["n_points"] == own["n_all"] else f"{own['n_points']:,} of the"
    told = (
        f"How often the clusterings put two points together, for {some} {own['n_all']:,} points in "
        "the order of their clusters and of falling confidence: dark blocks along the diagonal are "
        "clusters that hold together, dark places beside it are clusters that many clusterings "
        "join. At the left are the clusters"
        + (" and, further left, the known classes" if own["reference"] else "")
        + "; the bars at the right are confidences."
    )
    sizes = page.get("verdict", {}).get("sizes", [])
    absent = [str(c) for c in sorted(set(range(len(sizes))) - set(own["labels"]))]
    if absent:
        which = f"Cluster {absent[0]} has" if len(absent) == 1 else f"{len(absent)} clusters have"
        if 1 < len(absent) <= _NAMED:
            which = f"Clusters {listed(absent)} have"
        told += f" {which} too few points to be among them."
    return (
        paragraphs([told])
        + '<canvas id="matrix-image" role="img" aria-label="Consensus matrix"></canvas>'
        + '<div class="ramp" id="matrix-ramp"></div>'
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
    against = page.get("verdict", {}).get("against_votes", 0)
    if against:
        told.append(
            f"{against:,} {'point has' if against == 1 else 'points have'} more votes for their "
            "second best cluster than for their own: the answer puts them where the clusterings "
            "together would not. Look at these first."
        )
    return paragraphs(told) + _TABLE_OF_POINTS


def _reference(page: Page) -> str:
    own = page["reference"]
    told = reference_words(own)
    head = ["Class", *(f"cluster {c}" if c >= 0 else "none" for c in own["clusters"])]
    rows = [
        (_short(name), *counts) for name, counts in zip(own["classes"], own["counts"], strict=True)
    ]
    return paragraphs([told]) + table(head, rows, caption="Points of each class and cluster")


def _methods(page: Page) -> str:
    own = page["methods"]
    lines = [_combined(own)]
    if own["candidate"]:
        lines.append(_taken(own))
    rows = [(m["algorithm"], m["members"], m["fewest"], m["most"]) for m in own["members"]]
    head = ["Algorithm", "Clusterings", "Fewest clusters", "Most clusters"]
    return paragraphs(lines) + table(head, rows, caption="What the clusterings were made by")


def _combined(own: Mapping[str, Any]) -> str:
    why = own["why"] or ""
    if not why or why == "as asked":
        return f"Combined by {own['consensus']}{', as asked' if why else ''}."
    return f"Combined by {own['consensus']}: {why}"


def _taken(own: Mapping[str, Any]) -> str:
    """Say in words which of several candidates was taken."""
    said = f"Of several ways to combine them, “{own['candidate']}” was taken: "
    said += _way(str(own["candidate"]))
    if own["runner_up"]:
        said += f"; next came “{own['runner_up']}” ({_way(str(own['runner_up']))}), whose clusters "
        said += "agree with it by an "
        said += f"adjusted Rand index of {own['agreement']:z.2f}"
    return said + "."


def _way(candidate: str) -> str:
    """Say which clusterings a candidate of :class:`ConsensusChoice` combines, and how."""
    group, _, method = candidate.partition(", ")
    kind = group.removeprefix("finer").removesuffix("with k").strip()
    if method == "best":
        return f"the best single clustering that {kind} made with this number of clusters"
    own = f"clusterings of {kind}" if kind not in ("", "all") else "clusterings"
    if group.startswith("finer"):
        own += " with more clusters than the answer"
    elif group.endswith("with k"):
        own += " with as many clusters as the answer"
    return f"the {own}, combined by {method}"


def _failures(page: Page) -> str:
    own = page["failures"]
    lines = []
    careful = bullets(own["cautions"])
    if own["unclustered"]:
        lines.append(f"{own['unclustered']:,} points are in no cluster.")
    failed = own["failed"]
    if not failed:
        return careful + paragraphs([*lines, "No clustering failed."])
    lines.append(
        f"{len(failed):,} of {own['n_partitions']:,} clusterings failed, and were left out."
    )
    rows = [(f["partition"], f["reason"]) for f in failed[:20]]
    told = table(["Clustering", "Reason"], rows, caption="Failed clusterings")
    return careful + paragraphs(lines) + told


def _reproduce(page: Page) -> str:
    own = page["reproduce"]
    defaults = own["defaults"]
    changed = {k: v for k, v in own["parameters"].items() if k not in defaults or defaults[k] != v}
    settings = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    lines = [f"from {own['module']} import {own['estimator']}"]
    lines += dict.fromkeys(f"from {s['module']} import {s['name']}" for s in own["steps"])
    lines += [f"X = {s['call']}.fit_transform(X)" for s in own["steps"]]
    lines.append(f"{own['estimator']}({settings}).fit({own['fitted_on']})")
    told = "What is not named has the default of this version."
    if own["parameters"].get("random_state", 0) is None:
        told += " No seed was given: another run may differ."
    if own["chosen"]:
        told += " What a person chose was then applied to the result."
    command = _command(own)
    version = ", ".join(f"{name} {number}" for name, number in own["versions"].items())
    code = f"<pre><code>{escaped(command)}</code></pre>" if command else ""
    return (
        (paragraphs(["On the command line:"]) + code + paragraphs(["In Python:"]) if code else "")
        + f"<pre><code>{escaped(chr(10).join(lines))}</code></pre>"
        + paragraphs([told])
        + terms([("Input (sha256)", own["sha256"]), ("Versions", version)])
    )


# Options of 'clusterscape run' that are named otherwise in run.json, and what is no option of it.
_NAMES = {"id_column": "id-column"}
_NO_OPTION = ("scaled", "resume")


def _command(own: Mapping[str, Any]) -> str:
    """Return the command of the run; nothing where it is not known."""
    run = own["run"]
    if not run.get("command"):
        return ""
    asked = dict(run["parameters"])
    # A demonstration takes its dataset instead of a file, and few options.
    what = asked.pop("dataset", None) or own["file"] or "TABLE"
    words = ["clusterscape", run["command"], shlex.quote(str(what))]
    if run["command"] == "demo":
        asked = {name: asked.get(name) for name in ("clusters", "seed")}
    if asked.get("algorithm") is not None:
        asked.pop("generator", None)
    for name, value in asked.items():
        if name == "header" and isinstance(value, bool):
            words.append("--header" if value else "--no-header")
        if name in (*_NO_OPTION, "header") or value in (None, []) or value is False:
            continue
        option = f"--{_NAMES.get(name, name.replace('_', '-'))}"
        if name == "clusters" and isinstance(value, list):
            value = "-".join(map(str, value))
        for one in value if isinstance(value, list) else [value]:
            words += [option] if one is True else [option, shlex.quote(str(one))]
    return " ".join(words)


def _notes(page: Page) -> str:
    return paragraphs(
        f"The section “{note['section']}” could not be made ({note['reason']})."
        for note in page.get("notes", [])
    )


_WORDS = {
    "Clustering": "a division of the points into groups. Many are made, in different ways, because "
    "no single one can be trusted.",
    "Answer, consensus": "the one clustering that stands for the many.",
    "Clusterings that differ": "how many are left when copies are counted once. Agreement of "
    "copies is no evidence.",
    "Confidence": "the share of the clusterings' votes for a point's own cluster. 0.8 and more is "
    "called sure, less than 0.5 doubtful. It says how steady the label is, not that it is true.",
    "Together": "the mean share of the clusterings in which two points of a cluster are in one "
    "cluster. It is low where the clusterings are finer than the answer.",
    "Second best": "the cluster that gets most of a point's other votes.",
    "Runner-up": "the number of clusters that comes next by the same score.",
    "Adjusted Rand index": "how far two clusterings agree on pairs of points: 1 is complete "
    "agreement, 0 what chance would give.",
    "Effect": "how far a cluster differs from the rest in one column, from -1 to 1; 0 is no "
    "difference (Cliff's delta; of words the difference of their shares).",
    "Consensus matrix": "for every two points the share of the clusterings that put them together.",
    "Principal component": "a direction in which the points differ most. A map of two of them "
    "shows only part of the differences; the axes say how much.",
    "Test for structure": "a comparison with data that have the same columns but no clusters. A "
    "small p says that such data rarely hold together as these do.",
    "None": "points that are in no cluster (label -1).",
}


def _glossary(page: Page) -> str:
    return terms(_WORDS.items())


# Names of the sections, their headings, and what fills them, in the order of the page.
SECTIONS: dict[str, tuple[str, Callable[[Page], str]]] = {
    "verdict": ("What was found", verdict),
    "input": ("What was read", _input),
    "alternatives": ("The answer and its alternatives", _alternatives),
    "choices": ("Your choices", _choices),
    "clusters": ("The clusters", _clusters),
    "across_k": ("Across numbers of clusters", _across_k),
    "matrix": ("Consensus matrix", _matrix),
    "points": ("The points", _points),
    "reference": ("Against the known classes", _reference),
    "methods": ("How it was made", _methods),
    "glossary": ("What the words mean", _glossary),
    "failures": ("Warnings and what failed", _failures),
    "notes": ("What is missing here", _notes),
    "reproduce": ("How to repeat it", _reproduce),
}
