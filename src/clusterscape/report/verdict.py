"""The verdict of a report: in words, as a picture, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clusterscape.report import charts
from clusterscape.report.findings import listed, reference_words, single_words
from clusterscape.report.markup import bullets, escaped, paragraphs

Page = Mapping[str, Any]

_SIZES = 12  # clusters whose sizes are given


def verdict(page: Page) -> str:
    """Return the words of the verdict with its picture, and what to know before believing it."""
    own = page["verdict"]
    lines = [_sizes(own), _number_of_clusters(own), _confidence(own, page["n_points"])]
    if own["structure"] is not None:
        lines.append(
            f"{own['structure']['message']} The test compares the data with references that have "
            "no clusters. It says whether there is any structure, not that these clusters are the "
            "right ones."
        )
    distinct, members = own["n_distinct"], own["n_partitions"]
    differ = "all of them differ" if distinct == members else f"{distinct:,} of them differ"
    differ = "all of them are the same" if distinct <= 1 else differ
    if members == 1:
        lines.append("It rests on one clustering.")
    else:
        lines.append(f"{members:,} clusterings were combined; {differ}.")
    if own["reference"]:
        lines.append(_against_classes(own))
    told = bullets(page.get("failures", {}).get("cautions", []))
    serious = own["reservations"] > 0
    heading = "Reservations: before you believe it" if serious else "Worth a look"
    box = f'<div class="careful"><h3>{heading}</h3>{told}</div>' if told else ""
    words = [box, paragraphs(lines)] if serious else [paragraphs(lines), box]
    return f'<div class="found">{_glance(page)}<div>{"".join(words)}</div></div>'


def _against_classes(own: Mapping[str, Any]) -> str:
    """Compare the answer with known classes, and with k-means alone where that was made."""
    alone = f" {single_words(own['single'])}" if own.get("single") else ""
    return reference_words(own["reference"]) + alone


def _glance(page: Page) -> str:
    """Return a picture of the answer: its points, and how many of each cluster are sure."""
    counts = page["verdict"]["by_cluster"]
    drawn = page.get("alternatives", {}).get("places") is not None
    bars = charts.sure_bars(counts[:_SIZES]) if len(counts) > 1 else ""
    if not drawn and not bars:
        return ""
    said, canvas = [], ""
    if drawn:
        shown, n = page["n_shown"], page["n_points"]
        some = "The" if shown == n else f"{shown:,} of the {n:,}"
        said.append(f"{some} points by {' and '.join(page['alternatives']['axes'])}.")
        canvas = (
            '<canvas id="glance" role="img" aria-label="The points in the colours and shapes of '
            'their clusters"></canvas>'
        )
    if bars:
        known = any(c["unknown"] < c["points"] for c in counts)
        said.append(f"The points of each cluster{': strong if sure, faint if doubtful' * known}.")
    if bars and len(counts) > _SIZES:
        said.append(f"{len(counts) - _SIZES} smaller clusters are not drawn.")
    return (
        f'<figure class="glance">{canvas}{bars}'
        f"<figcaption>{escaped(' '.join(said))}</figcaption></figure>"
    )


def _sizes(own: Mapping[str, Any]) -> str:
    sizes = own["sizes"]
    if len(sizes) < 2:
        return ""
    shown = [f"{size:,}" for size in sizes[:_SIZES]]
    if len(sizes) > _SIZES:
        rest = sizes[_SIZES:]
        return (
            f"The largest clusters have {', '.join(shown)} points, {len(rest)} smaller ones "
            f"{sum(rest):,} in all."
        )
    if sizes != sorted(sizes, reverse=True):  # a person's choice keeps the numbers of the answer
        return f"The clusters have {listed(shown)} points."
    return f"The clusters are numbered by size: {listed(shown)} points."


def _number_of_clusters(own: Mapping[str, Any]) -> str:
    k, tried, second = own["n_clusters"], own["candidates"], own["runner_up"]
    if k == 1:
        if tried is None or tried[0] == tried[1]:
            return ""
        return f"Divisions into {tried[0]} to {tried[1]} clusters were compared; none was taken."
    if tried is None:
        return {
            "as asked": f"{k} clusters were asked for.",
            "as chosen": "It is not the answer of the run, but what a person chose.",
        }.get(own["how"], "")
    said = f"Their number was chosen among {tried[0]} to {tried[1]}"
    said += f"; the runner-up is {second}." if second is not None else "."
    if own["steadiness"]:
        said += f" {own['steadiness']}"
        if own["stability"] is not None:
            said += f"; their clusters agree with those of all by {own['stability']:.2f} (1: equal)"
        said += "."
    cut = own["cut_agreement"]
    if cut is not None:
        said += f" The clusters by which it was chosen agree with the answer by {cut:z.2f}."
    if own["also_steady"]:
        shown = listed([str(c) for c in own["also_steady"]])
        said += (
            f" The clusters for k = {shown} hardly vary either: groups may be nested, and you may "
            "want them coarser or finer."
        )
    return said


def _confidence(own: Mapping[str, Any], n: int) -> str:
    score = own["confidence"]
    if own["n_clusters"] == 1:
        return ""
    if score["missing"] == n:
        return (
            "No confidence is given for any point, because the clusterings that were combined do "
            "not differ: agreement among copies is no evidence."
        )
    between = n - score["confident"] - score["doubtful"] - score["missing"]
    said = (
        f"Of {n:,} points {score['confident']:,} are sure (confidence {score['confident_from']:g} "
        f"or more), {between:,} lie between, and {score['doubtful']:,} are doubtful (below "
        f"{score['doubtful_below']:g})."
    )
    if score["missing"]:
        said += f" For {score['missing']:,} there is no confidence."
    if score["doubtful"]:
        worst = score["least"][: score["doubtful"]]
        said += f" The most doubtful: {listed([str(p['id']) for p in worst])}."
    return said
