"""Pictures of the page that need no script: SVG in the text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clusterscape.plot.palette import cluster_colors, cluster_shape, ink_on
from clusterscape.report.markup import Markup, escaped

_WIDE = 620.0
_ROW = 62.0  # height of a row of the tree
_SIGNS = (  # shapes of clusters, as the page's script draws them
    '<circle cx="7" cy="7" r="5"/>',
    '<path d="M7 2L12 12H2Z"/>',
    '<path d="M2 2H12V12H2Z"/>',
    '<path d="M7 2L12 7L7 12L2 7Z"/>',
    '<path d="M7 12L12 2H2Z"/>',
    '<path d="M2 5.3H12V8.7H2ZM5.3 2V12H8.7V2Z"/>',
)


def sign(cluster: int) -> Markup:
    """Return a cluster's number with its colour and shape."""
    colour = cluster_colors([cluster])[0]
    shape = _shape(cluster)
    name = "none" if cluster < 0 else str(int(cluster))
    return Markup(
        f'<svg class="sign" viewBox="0 0 14 14" aria-hidden="true" fill="{colour}">{shape}</svg>'
        f"{name}"
    )


def _shape(cluster: int) -> str:
    return _SIGNS[cluster_shape(cluster)] if cluster >= 0 else _SIGNS[0]


def effect_bar(effect: float, cluster: int) -> Markup:
    """Return an effect from -1 to 1 as a number and a bar from the middle."""
    width = 40 * min(abs(effect), 1.0)
    left = 40.0 if effect >= 0 else 40 - width
    colour = cluster_colors([cluster])[0]
    return Markup(
        f'<span class="effect"><span>{effect:+z.2f}</span><svg class="bar" viewBox="0 0 80 12" '
        f'aria-hidden="true"><rect x="{left:.1f}" y="1" width="{width:.1f}" height="10" '
        f'fill="{colour}"/><path class="middle" d="M40 0V12"/></svg></span>'
    )


def sure_bars(counts: Sequence[Mapping[str, int]]) -> Markup:
    """Draw a bar per cluster: its sure points dark, those between paler, the doubtful palest."""
    most = max(max(c["points"] for c in counts), 1)
    rows, said = [], []
    for c, own in enumerate(counts):
        colour, y = cluster_colors([c])[0], 20 * c
        known = own["unknown"] < own["points"]
        between = own["points"] - own["sure"] - own["doubtful"]
        parts = [(own["sure"], 1.0), (between, 0.55), (own["doubtful"], 0.2)]
        x = 46.0
        for many, ink in parts if known else [(own["points"], 0.55)]:
            width = 180 * many / most
            rows.append(
                f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="14" fill="{colour}" '
                f'fill-opacity="{ink}"/>'
            )
            x += width
        words = f"{own['sure']:,} of {own['points']:,} sure" if known else f"{own['points']:,}"
        rows.append(f'<g transform="translate(0 {y + 3})" fill="{colour}">{_shape(c)}</g>')
        rows.append(f'<text x="20" y="{y + 15}">{c}</text>')
        rows.append(f'<text x="{x + 6:.1f}" y="{y + 15}">{words}</text>')
        said.append(f"cluster {c}: {words}")
    return Markup(
        f'<svg class="chart sure" viewBox="0 0 380 {20 * len(counts)}" role="img" '
        f'aria-label="{escaped("; ".join(said))}">{"".join(rows)}</svg>'
    )


def score_line(ks: Sequence[int], scores: Sequence[Any], *, chosen: int, second: Any) -> Markup:
    """Draw the deciding score against the number of clusters."""
    known = [(k, s) for k, s in zip(ks, scores, strict=True) if s is not None]
    if len(known) < 2:
        return Markup("")
    low, high = min(s for _, s in known), max(s for _, s in known)
    left, right = known[0][0], known[-1][0]
    every = -(-len(known) // 24)  # numbers below the line that do not overlap

    def place(k: float, s: float) -> tuple[float, float]:
        across = (k - left) / max(right - left, 1)
        up = (s - low) / (high - low) if high > low else 0.5
        return 40 + 540 * across, 150 - 120 * up

    spots = [(*place(k, s), k) for k, s in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
    marks = []
    for i, (x, y, k) in enumerate(spots):
        kind = "chosen" if k == chosen else "second" if k == second else "other"
        size = {"chosen": 7, "second": 5, "other": 3}[kind]
        marks.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size}"/>')
        if i % every == 0 or kind != "other":
            marks.append(f'<text x="{x:.1f}" y="172" text-anchor="middle">{k}</text>')
    said = "Score of each number of clusters (higher is better)"
    said += f": {chosen} was chosen" if any(k == chosen for k, _ in known) else ""
    said += f", {second} comes next (open circle)." if second is not None else "."
    return Markup(
        f'<svg class="chart score" viewBox="0 0 620 196" role="img" aria-label="{escaped(said)}">'
        f'<polyline points="{line}"/>{"".join(marks)}'
        '<text x="310" y="192" text-anchor="middle">number of clusters</text></svg>'
        f'<p class="caption">{escaped(said)}</p>'
    )


def tree(tracking: Mapping[str, Any]) -> Markup:
    """Draw the clusters of several numbers of clusters, and where their points go."""
    rows, n = tracking["rows"], tracking["n_points"]
    at = {
        (row["k"], c["cluster"]): (60 + 540 * c["place"], 30 + _ROW * y)
        for y, row in enumerate(rows)
        for c in row["clusters"]
    }
    parts = []
    for arrow in sorted(tracking["arrows"], key=lambda a: a["share_to"]):
        x0, y0 = at[arrow["from"], arrow["cluster"]]
        x1, y1 = at[arrow["to"], arrow["cluster_below"]]
        wide = 1 + 14 * arrow["points"] / n
        dark = 0.15 + 0.6 * arrow["share_to"]
        parts.append(
            f'<path class="flow" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" '
            f'stroke-width="{wide:.1f}" stroke-opacity="{dark:.2f}"/>'
        )
    for y, row in enumerate(rows):
        kind = ' class="answer"' if row["k"] == tracking["answer"] else ""
        parts.append(f'<text{kind} x="4" y="{34 + _ROW * y:.0f}">k = {row["k"]}</text>')
        for c in row["clusters"]:
            parts.append(_dot(c, at[row["k"], c["cluster"]], n))
    ks = [row["k"] for row in rows]
    said = (
        f"Clusters for {', '.join(map(str, ks))} clusters, one row each, and where their points go"
    )
    tall = 60 + _ROW * (len(rows) - 1)
    return Markup(
        f'<svg class="chart tree" viewBox="0 0 {_WIDE:.0f} {tall:.0f}" role="img" '
        f'aria-label="{escaped(said)}">{"".join(parts)}</svg>'
    )


def _dot(cluster: Mapping[str, Any], spot: tuple[float, float], n: int) -> str:
    x, y = spot
    colour = cluster_colors([cluster["cluster"]])[0]
    size = 8 + 18 * (cluster["points"] / n) ** 0.5
    name = "none" if cluster["cluster"] < 0 else cluster["cluster"]
    return (
        f"<g><title>cluster {name}: {cluster['points']:,} points</title>"
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" fill="{colour}" class="cluster"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" class="on-{ink_on(colour)}">'
        f"{name}</text></g>"
    )
