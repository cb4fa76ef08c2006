"""What was found: as plain values for ``run.json`` and ``--json``, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from clusterscape._core.plain import plain

if TYPE_CHECKING:
    from clusterscape.forest.estimator import ClusterForest
    from clusterscape.model import ConsensusClustering

CONFIDENT = 0.8
DOUBTFUL = 0.5
_LEAST = 5  # doubtful points that are named
_SIZES = 12  # clusters whose sizes are given


def of_model(model: ConsensusClustering, *, reference: Any = None) -> dict[str, Any]:
    """Return what the main job found, as plain values."""
    method = None
    if getattr(model, "consensus_", None) is not None:
        chosen = getattr(model, "consensus_choice_", None)
        why = "as asked" if chosen is None else chosen.reason
        method = {"method": type(model.consensus_).__name__, "why": why}
        method |= choice_among(model.consensus_)
    found = {"consensus": method, "structure": plain(getattr(model, "structure_", None))}
    return of_result(model, reference=reference) | found


def choice_among(consensus: Any) -> dict[str, Any]:
    """Return which of several ways to combine was taken, what came next, and how far they agree."""
    return {
        "candidate": getattr(consensus, "chosen_", None),
        "runner_up": getattr(consensus, "runner_up_", None),
        "agreement": plain(getattr(consensus, "agreement_", None)),
    }


def of_result(
    model: ConsensusClustering | ClusterForest, *, reference: Any = None
) -> dict[str, Any]:
    """Return what is known of the labels of any fitted model, as plain values."""
    k, labels, confidence = model.n_clusters_, model.labels_, model.confidence_
    ensemble = model.ensemble_
    found: dict[str, Any] = {
        "n_clusters": k,
        "how": _how(k, model),
        "cluster_sizes": np.bincount(labels[labels >= 0], minlength=k).tolist(),
        "cluster_consensus": model.cluster_consensus_,
        "cluster_confidence": [float(confidence[labels == c].mean()) for c in range(k)],
        "n_unclustered": int((labels < 0).sum()),
        "confidence": _confidence(confidence, ensemble.index),
        "consensus": None,
        "structure": None,
        "k_selection": plain(getattr(model, "k_selection_", None)),
        "n_partitions": ensemble.n_partitions,
        "failures": [{"partition": i, "reason": why} for i, why in ensemble.failures],
    }
    if reference is not None:
        found["reference"] = agreement(labels, reference)
    return found


def _how(k: int, model: ConsensusClustering | ClusterForest) -> str:
    """Say where the number of clusters comes from."""
    if hasattr(model, "chosen_from_"):
        return "as chosen"
    asked, selection = getattr(model, "n_clusters", None), getattr(model, "k_selection_", None)
    if isinstance(asked, int):
        return "as asked" if asked == k else f"{asked} were asked for"
    if selection is None:
        return "the points do not differ"
    return f"{'decided' if k == 1 else 'chosen'} by the {selection.criterion}"


def _confidence(confidence: np.ndarray, ids: Any) -> dict[str, Any]:
    """Summarise the points' confidence; a missing value counts for neither side."""
    known = confidence[~np.isnan(confidence)]
    shares = np.round(known, 12)  # sums of votes, which may miss a limit by their last digit
    doubt = np.argsort(confidence, kind="stable")[: min(_LEAST, known.size)]
    return {
        "mean": float(known.mean()) if known.size else None,
        "confident": int((shares >= CONFIDENT).sum()),
        "doubtful": int((shares < DOUBTFUL).sum()),
        "missing": int(confidence.size - known.size),
        "confident_from": CONFIDENT,
        "doubtful_below": DOUBTFUL,
        "least": [
            {"id": int(i) if ids is None else ids[i], "confidence": float(confidence[i])}
            for i in doubt
        ],
    }


def agreement(labels: np.ndarray, reference: Any) -> dict[str, Any]:
    """Compare labels with known classes; points without a class count for nothing."""
    from clusterscape.compare import accuracy, adjusted_rand

    classes = known_classes(reference)
    known = classes != ""
    own, theirs = np.asarray(labels)[known], classes[known]
    return {
        "n_classes": int(np.unique(theirs).size),
        "n_blank": int((~known).sum()),
        "adjusted_rand": adjusted_rand(own, theirs) if known.any() else None,
        "accuracy": accuracy(own, theirs) if known.any() else None,
        "largest_class": float(np.unique(theirs, return_counts=True)[1].max() / theirs.size)
        if known.any()
        else None,
    }


def failure(section: str, error: Exception) -> dict[str, str]:
    """Return the note on a section of the report that could not be made."""
    return {"section": section, "reason": f"{type(error).__name__}: {error}"}


def known_classes(reference: Any) -> np.ndarray:
    """Return the classes as text, empty where a point has none (blank, None, NaN)."""
    given = np.asarray(reference, dtype=object).ravel()
    unknown = np.asarray(pd.isna(given))
    text = ["" if gone else str(c).strip() for c, gone in zip(given, unknown, strict=True)]
    return np.array(text, dtype=str)


# ---- in words -------------------------------------------------------------------------------


def sentences(found: dict[str, Any], n_points: int) -> list[str]:
    """Say in words what was found."""
    lines = [_clusters(found, n_points), *_confidence_words(found, n_points)]
    method = found["consensus"]
    if method is not None and method["why"] != "as asked":
        lines.append(f"Combined by {method['method']}: {method['why']}")
    if found["structure"] is not None:
        lines.append(found["structure"]["message"])
    if found["failures"]:
        first = found["failures"][0]
        lines.append(
            f"{len(found['failures'])} of {found['n_partitions']} clusterings failed and were left "
            f"out; the first, number {first['partition']}: {first['reason']}"
        )
    if "reference" in found:
        lines.append(reference_words(found["reference"]))
    if "single" in found:
        lines.append(single_words(found["single"]))
    return lines


def single_words(alone: Mapping[str, Any]) -> str:
    """Say how far k-means alone agrees with known classes."""
    return (
        f"k-means alone, the best of ten starts with as many clusters: {alone['accuracy']:.1%} "
        f"agree; adjusted Rand index {alone['adjusted_rand']:z.3f}."
    )


def reference_words(known: Mapping[str, Any]) -> str:
    """Say how far clusters agree with known classes."""
    blank = known.get("n_blank", 0)
    if known["adjusted_rand"] is None:
        return "No point has a known class to compare with."
    classes = "1 known class" if known["n_classes"] == 1 else f"{known['n_classes']} known classes"
    without = f" ({blank:,} points without a class do not count)" if blank else ""
    largest = known.get("largest_class") or 0.0
    little = ""
    if known["n_classes"] > 1 and known["accuracy"] <= largest:
        little = f" (one cluster of all points would reach {largest:.1%})"
    return (
        f"Compared with the {classes}{without}: {known['accuracy']:.1%} of the points agree under "
        f"the best matching of clusters to classes{little}; adjusted Rand index "
        f"{known['adjusted_rand']:z.3f} (1 is perfect, 0 is chance)."
    )


def _clusters(found: dict[str, Any], n_points: int) -> str:
    k = found["n_clusters"]
    if k == 1:
        points = "the only point was" if n_points == 1 else f"the {n_points:,} points were"
        return f"One cluster: {points} not divided ({found['how']})."
    why = "" if found["k_selection"] is None else f" {found['k_selection']['reason']}"
    sizes = _sizes(found["cluster_sizes"])
    return f"{k} clusters ({found['how']}), numbered 0 to {k - 1} by size: {sizes}.{why}"


def _sizes(sizes: Sequence[int]) -> str:
    """Return the sizes of clusters, the small ones of many together."""
    if len(sizes) <= _SIZES + 1:
        return f"{listed([f'{s:,}' for s in sizes])} points"
    shown = ", ".join(f"{s:,}" for s in sizes[:_SIZES])
    rest = sizes[_SIZES:]
    return f"{shown} points, and {len(rest)} smaller clusters with {sum(rest):,} points in all"


def share_words(some: int, n: int) -> str:
    """Return a share in per cent; 0 and 100 only where they are meant."""
    share = some / n
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _confidence_words(found: dict[str, Any], n_points: int) -> list[str]:
    if found["n_clusters"] == 1:
        return []
    score = found["confidence"]
    sure, doubtful, missing = score["confident"], score["doubtful"], score["missing"]
    if missing == n_points:
        lines = [
            "No confidence is given for any point, because the clusterings that were combined do "
            "not differ: agreement among copies is no evidence."
        ]
    else:
        between = n_points - sure - doubtful - missing
        lines = [
            f"Of {n_points} points {sure} ({share_words(sure, n_points)}) are confident "
            f"(confidence {CONFIDENT:g} or more), {between} lie between, and {doubtful} "
            f"({share_words(doubtful, n_points)}) are doubtful (below {DOUBTFUL:g})."
        ]
        if missing:
            lines[0] += f" For {missing} there is no confidence."
        if doubtful:
            worst = [f"{p['id']} ({p['confidence']:.2f})" for p in score["least"][:doubtful]]
            lines[0] += f" The most doubtful: {listed(worst)}."
        lines += _cluster_words(found["cluster_confidence"])
    if found["n_unclustered"]:
        lines.append(f"{found['n_unclustered']} points are in no cluster (label -1).")
    return lines


def _cluster_words(confidence: Sequence[float]) -> list[str]:
    """Name the clusters with the highest and the lowest mean confidence."""
    means = [(mean, c) for c, mean in enumerate(confidence) if mean == mean]
    if not means:
        return []
    (low, weakest), (high, strongest) = min(means), max(means)
    if f"{low:.2f}" == f"{high:.2f}":
        return []
    return [
        f"Cluster {strongest} has the highest mean confidence ({high:.2f}), cluster {weakest} the "
        f"lowest ({low:.2f})."
    ]


def listed(items: Sequence[str]) -> str:
    """Join words with commas and a final "and"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
