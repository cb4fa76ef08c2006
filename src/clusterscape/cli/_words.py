"""Results as a plain dictionary, and the dictionary in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from clusterscape._core.plain import plain

if TYPE_CHECKING:
    from clusterscape.model import ConsensusClustering

FILES = {
    "labels.csv": "the cluster and the confidence (0 to 1) of every point",
    "consensus.png": "how often the clusterings put each two points together, sorted by cluster",
    "k_selection.png": "the eigenvalues by which the number of clusters was chosen",
    "ensemble.npz": "all the clusterings, for 'clusterscape combine' and 'clusterscape compare'",
    "run.json": "every parameter, seed, version and finding",
}
CONFIDENT = 0.8
DOUBTFUL = 0.5
_SHOWN = 5


def result(model: ConsensusClustering, *, ids: Any = None, reference: Any = None) -> dict[str, Any]:
    """Return what a fitted model found, as plain values."""
    confidence = model.confidence_
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=model.n_clusters_)
    doubt = np.argsort(confidence, kind="stable")[:_SHOWN]
    found: dict[str, Any] = {
        "n_clusters": model.n_clusters_,
        "how": _how(model),
        "cluster_sizes": sizes.tolist(),
        "cluster_consensus": model.cluster_consensus_,
        "cluster_confidence": [
            float(confidence[model.labels_ == c].mean()) for c in range(model.n_clusters_)
        ],
        "n_unclustered": int((model.labels_ < 0).sum()),
        "confidence": {
            "mean": float(confidence.mean()),
            "confident": int((confidence >= CONFIDENT).sum()),
            "doubtful": int((confidence < DOUBTFUL).sum()),
            "confident_from": CONFIDENT,
            "doubtful_below": DOUBTFUL,
            "least": [
                {"id": int(i) if ids is None else ids[i], "confidence": float(confidence[i])}
                for i in doubt
            ],
        },
        "consensus": _method(model),
        "k_selection": plain(model.k_selection_),
        "structure": plain(model.structure_),
        "n_partitions": model.ensemble_.n_partitions,
        "failures": [{"partition": i, "reason": why} for i, why in model.ensemble_.failures],
    }
    if reference is not None:
        found["reference"] = agreement(model.labels_, reference)
    return found


def _method(model: ConsensusClustering) -> dict[str, str] | None:
    """Return which consensus function was used, and why."""
    if model.consensus_ is None:
        return None
    chosen = model.consensus_choice_
    why = "as asked" if chosen is None else chosen.reason
    return {"method": type(model.consensus_).__name__, "why": why}


def _how(model: ConsensusClustering) -> str:
    """Say where the number of clusters comes from."""
    asked = model.n_clusters
    if asked is None:
        if model.k_selection_ is None:  # a forest of points that are all equal
            return "nothing tells the points apart"
        done = "decided" if model.n_clusters_ == 1 else "chosen"
        return f"{done} by the {model.k_selection_.criterion}"
    return "as asked" if asked == model.n_clusters_ else f"{asked} were asked for"


def agreement(labels: np.ndarray, reference: Any) -> dict[str, Any]:
    """Compare labels with known classes."""
    from clusterscape.compare import accuracy, adjusted_rand

    classes = np.asarray(reference).astype(str)
    return {
        "n_classes": int(np.unique(classes).size),
        "adjusted_rand": adjusted_rand(labels, classes),
        "accuracy": accuracy(labels, classes),
    }


def sentences(found: dict[str, Any], n_points: int) -> list[str]:
    """Say in words what was found."""
    lines = [_clusters(found, n_points), *_confidence(found, n_points)]
    if found["consensus"] is not None and found["consensus"]["why"] != "as asked":
        lines.append(f"Combined by {found['consensus']['method']}: {found['consensus']['why']}")
    if found["structure"] is not None:
        lines.append(found["structure"]["message"])
    if found["failures"]:
        first = found["failures"][0]
        lines.append(
            f"{len(found['failures'])} of {found['n_partitions']} clusterings failed and were left "
            f"out; the first, number {first['partition']}: {first['reason']}"
        )
    if "reference" in found:
        known = found["reference"]
        lines.append(
            f"Compared with the {known['n_classes']} known classes: {known['accuracy']:.1%} of the "
            f"points agree under the best matching of clusters to classes; adjusted Rand index "
            f"{known['adjusted_rand']:.3f} (1 is perfect, 0 is chance)."
        )
    return lines


def _clusters(found: dict[str, Any], n_points: int) -> str:
    k = found["n_clusters"]
    if k == 1:
        return f"One cluster: the {n_points} points were not divided ({found['how']})."
    sizes = listed([str(s) for s in found["cluster_sizes"]])
    chosen = found["k_selection"]
    why = "" if chosen is None else f" {chosen['reason']}"
    return f"{k} clusters ({found['how']}), numbered 0 to {k - 1} by size: {sizes} points.{why}"


def _confidence(found: dict[str, Any], n_points: int) -> list[str]:
    if found["n_clusters"] == 1:
        return []
    score = found["confidence"]
    sure, doubtful = score["confident"], score["doubtful"]
    between = n_points - sure - doubtful
    lines = [
        f"Of {n_points} points {sure} ({sure / n_points:.0%}) are confident (confidence "
        f"{CONFIDENT:g} or more), {between} lie between, and {doubtful} "
        f"({doubtful / n_points:.0%}) are doubtful (below {DOUBTFUL:g})."
    ]
    if doubtful:
        worst = [f"{p['id']} ({p['confidence']:.2f})" for p in score["least"][:doubtful]]
        lines[0] += f" The most doubtful: {listed(worst)}."
    means = [(m, c) for c, m in enumerate(found["cluster_confidence"])]
    (low, weakest), (high, strongest) = min(means), max(means)
    if f"{low:.2f}" != f"{high:.2f}":
        lines.append(
            f"Cluster {strongest} is the surest (mean confidence {high:.2f}), cluster {weakest} "
            f"the least sure ({low:.2f})."
        )
    if found["n_unclustered"]:
        lines.append(f"{found['n_unclustered']} points are in no cluster (label -1).")
    return lines


def listed(items: Sequence[str], most: int = 12) -> str:
    """Join words with commas and a final "and"."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def show(report: dict[str, Any], folder: Path, *, json: bool, quiet: bool) -> None:
    """Print what a run found and where its files are: as words, or as JSON."""
    from clusterscape.io.results import json_text

    if json:
        typer.echo(json_text(report | {"output": str(folder)}))
        return
    if quiet:
        return
    for line in sentences(report["result"], report["input"]["n_points"]):
        typer.echo(line)
    typer.echo("")
    for name, what in FILES.items():
        if name == "run.json" or name in report["outputs"]:
            typer.echo(f"{folder / name}: {what}")
