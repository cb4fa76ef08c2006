"""What a reader of a result must know before believing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clusterscape.report.findings import CONFIDENT

_FEW_DISTINCT = 0.2  # of the clusterings
_LOOSE = 0.25  # share of the clusterings in which two points of a cluster are together
NEAR = 0.5  # adjusted Rand index of another clustering with the answer
_COLUMNS = 5  # suspicious ones that are named
_STEADY = 0.9  # agreement of random halves of the clusterings
_NEXT = 0.3  # of the best score
_SMALL = 5  # points of a cluster
_CHANCE = 0.05  # adjusted Rand index with known classes; 0 is what chance would give
_REST = 0.02  # of the points, outside of the largest cluster
_UNSTEADY = 0.6  # of the halves that choose the same number of clusters


def reservations(
    model: Any,
    found: Mapping[str, Any],
    agreements: Sequence[float] | None,
    cut: float | None = None,
    *,
    words: bool = False,
) -> list[str]:
    """Return what may make a result another one than it looks; the headline then says so.

    ``agreements`` are those of all clusterings with the answer, and ``cut`` is that of the clusters
    by which the number of clusters was chosen; None where they are not known. ``words`` says that
    columns of words became columns of 0 and 1.
    """
    said = [*_on_structure(found), *_on_members(model), *_on_rest(found, words), *_on_k(model)]
    said += _on_cut(cut)
    said += _on_cohesion(model, found)
    if found["n_clusters"] > 1 and agreements is not None:
        said += far_from_all(agreements)
    return said + _on_doubt(model, found)


def cautions(
    model: Any, found: Mapping[str, Any], run: Mapping[str, Any], *, against: int
) -> list[str]:
    """Return what else a reader should know: untested structure, tiny clusters, odd columns.

    ``against`` are the points with more votes for another cluster than for their own.
    """
    said = [*_on_no_test(found), *_on_sizes(found), *_on_votes(model, found, against)]
    said += [*_on_unsure(model), *_on_reference(found)]
    return [*said, *_on_left_out(run), *suspicions(run.get("input", {}).get("suspicious") or ())]


def _on_left_out(run: Mapping[str, Any]) -> list[str]:
    read, asked = run.get("input", {}), run.get("parameters", {})
    left = [str(column) for column in read.get("left_out") or asked.get("exclude") or ()]
    used = int(read.get("n_features") or 0)
    if len(left) < 2 or len(left) < used / 2:  # ids and classes are left out as a rule
        return []
    named = ", ".join(left[:_COLUMNS]) + (", ..." if len(left) > _COLUMNS else "")
    return [
        f"{len(left):,} of {used + len(left):,} columns were left out ({named}): the clusters are "
        "those of the other columns, and may say nothing of these."
    ]


def suspicions(sentences: Sequence[Any]) -> list[str]:
    """Return what was noticed of columns, the first ones of many."""
    rest = len(sentences) - _COLUMNS
    said = [str(one) for one in sentences[:_COLUMNS]]
    if rest > 0:
        said.append(f"{rest:,} more column{' is' if rest == 1 else 's are'} suspicious like these.")
    return said


def far_from_all(agreements: Sequence[float]) -> list[str]:
    """Say that no clustering is near the answer; ``agreements`` are those of all of them."""
    best = max(agreements, default=1.0)
    if best >= NEAR:
        return []
    return [
        "None of the clusterings is near the answer (the largest adjusted Rand index is "
        f"{best:z.2f}): it joins or divides what they show."
    ]


def _on_structure(found: Mapping[str, Any]) -> list[str]:
    structure = found["structure"]
    if structure is None or structure["found"] or found["n_clusters"] == 1:
        return []
    return [
        f"The test for structure found none, but {found['n_clusters']} clusters were asked for: "
        "data without clusters would be divided just as well."
    ]


def _on_no_test(found: Mapping[str, Any]) -> list[str]:
    if found["structure"] is not None:
        return []
    return ["No test for structure was made: nothing here says that there are any clusters at all."]


def _on_members(model: Any) -> list[str]:
    ensemble = model.ensemble_
    made = ensemble.n_partitions - len(ensemble.failures)
    distinct = ensemble.n_distinct
    if made > 1 and distinct == 1:
        return ["All clusterings are the same: their agreement is no evidence."]
    if made >= 5 and distinct < _FEW_DISTINCT * made:
        return [
            f"Only {distinct:,} of the {made:,} clusterings differ: confidences rest on few "
            "opinions, and are likely too high."
        ]
    if made == 1:
        return ["There is one clustering: nothing was compared."]
    return []


def _on_k(model: Any) -> list[str]:
    selection = getattr(model, "k_selection_", None)
    if selection is None or model.n_clusters_ == 1:
        return []
    said = []
    choices = np.asarray(selection.choices)
    same = float((choices == selection.n_clusters).mean()) if choices.size else 1.0
    if same < _UNSTEADY:
        said.append(
            f"The number of clusters is not steady: only {same:.0%} of random halves of the "
            f"clusterings chose {selection.n_clusters}. If you know how many there are, ask for "
            "them."
        )
    finer = also_steady(selection, model.n_clusters_, finer=True)
    if finer:
        many = " or ".join(map(str, finer))
        said.append(
            f"The same clusterings divide the points into {many} clusters as steadily: those of "
            "the answer may be made of smaller groups (see “Across numbers of clusters”)."
        )
    candidates = np.asarray(selection.columns.get("k", ()))
    if candidates.size > 1 and selection.n_clusters == candidates.max():
        said.append(
            f"{selection.n_clusters} is the largest number of clusters that was compared: there "
            "may be more."
        )
    return said


def _on_cut(agreement: float | None) -> list[str]:
    """Say that the number of clusters was chosen by other clusters than those of the answer."""
    if agreement is None or agreement >= NEAR:
        return []
    return [
        "The number of clusters was chosen by other clusters than these: cut into as many as for "
        "that choice, the clusterings give clusters that agree with the answer by an adjusted Rand "
        f"index of only {agreement:z.2f}."
    ]


def _on_cohesion(model: Any, found: Mapping[str, Any]) -> list[str]:
    """Name clusters that the clusterings divide further."""
    if found["n_clusters"] == 1 or found["confidence"]["missing"] == len(model.labels_):
        return []
    consensus = np.asarray(model.cluster_consensus_, dtype=np.float64)
    loose = [c for c in range(consensus.size) if consensus[c] < _LOOSE]
    if not loose:
        return []
    shown = [f"{c} ({consensus[c]:.0%})" for c in loose[:10]]
    which = ", ".join(shown) + (", …" if len(loose) > 10 else "")
    many = "cluster" if len(loose) == 1 else "clusters"
    return [
        f"Two points of {many} {which} are seldom in one cluster of the same clustering: most "
        "clusterings are finer than the answer and divide it there. A high confidence says that "
        "their pieces lie inside the cluster, not that it is one group."
    ]


def _on_rest(found: Mapping[str, Any], words: bool) -> list[str]:
    """Say that the answer takes a few points off, and leaves all others undivided."""
    sizes = found["cluster_sizes"]
    rest, clustered = sum(sizes) - max(sizes, default=0), sum(sizes)
    if len(sizes) < 2 or rest > _REST * clustered:
        return []
    return [
        f"All but {rest:,} of {clustered:,} points are in cluster {sizes.index(max(sizes))}: the "
        f"answer takes {'one point' if rest == 1 else 'a few points'} off, perhaps outliers, and "
        "does not divide the others."
        + " Words were turned into columns of 0 and 1, and rare ones can do that: compare with "
        "Gower's distances, or leave the words out." * words
    ]


def _on_sizes(found: Mapping[str, Any]) -> list[str]:
    sizes = found["cluster_sizes"]
    small = [c for c, size in enumerate(sizes) if size < _SMALL]
    if not small or len(sizes) == 1:
        return []
    which = ", ".join(map(str, small[:10])) + (", …" if len(small) > 10 else "")
    many = "Cluster" if len(small) == 1 else "Clusters"
    has = "has" if len(small) == 1 else "have"
    return [f"{many} {which} {has} fewer than {_SMALL} points: perhaps outliers, not groups."]


def _on_doubt(model: Any, found: Mapping[str, Any]) -> list[str]:
    score, n = found["confidence"], len(model.labels_)
    if found["n_clusters"] == 1 or score["missing"] == n:
        return []
    if 2 * score["doubtful"] > n:
        begin = "Most points are doubtful"
    elif 2 * score["confident"] < n - score["missing"]:
        begin = f"Only {score['confident']:,} of {n:,} points are sure"
    else:
        return []
    return [
        f"{begin}: the clusterings disagree on where many of them belong. Read these clusters as a "
        "rough division, not as separate groups."
    ]


def _on_reference(found: Mapping[str, Any]) -> list[str]:
    known = found.get("reference")
    if known is None or known["adjusted_rand"] is None or found["n_clusters"] == 1:
        return []
    if known["n_classes"] < 2 or known["adjusted_rand"] >= _CHANCE:
        return []
    return [
        "The clusters say next to nothing of the known classes (adjusted Rand index "
        f"{known['adjusted_rand']:z.2f}): they are another division of the points, however sure "
        "their points are."
    ]


def _on_unsure(model: Any) -> list[str]:
    """Name clusters without a sure point, where other clusters have some."""
    shares = np.round(np.asarray(model.confidence_, dtype=np.float64), 12)  # as in findings
    known, sure = ~np.isnan(shares), shares >= CONFIDENT
    own = [np.asarray(model.labels_) == c for c in range(model.n_clusters_)]
    none = [
        str(c) for c, inside in enumerate(own) if (inside & known).any() and not sure[inside].any()
    ]
    if not none or len(none) == len(own):
        return []
    which = ", ".join(none[:10]) + (", …" if len(none) > 10 else "")
    what = "it is a group of its own" if len(none) == 1 else "these are groups of their own"
    return [
        f"No point of cluster{'' if len(none) == 1 else 's'} {which} is sure: the clusterings "
        f"disagree on whether {what}."
    ]


def _on_votes(model: Any, found: Mapping[str, Any], against: int) -> list[str]:
    if found["n_clusters"] == 1 or found["confidence"]["missing"] == len(model.labels_):
        return []
    taken = getattr(getattr(model, "consensus_", None), "chosen_", None)
    if not (isinstance(taken, str) and taken.endswith(", best") and against):
        return []
    has = "point has" if against == 1 else "points have"
    return [
        "The answer is one of the clusterings, the best of its kind, not a compromise of all: "
        f"{against:,} {has} more votes for another cluster than for their own."
    ]


def also_steady(selection: Any, k: int, *, finer: bool = False) -> list[int]:
    """Return other numbers of clusters, up to twice as many, that also have something for them.

    Their clusters hardly vary between parts of the ensemble, and their scores are not far below
    the best one; the former alone is true of divisions of one cluster as well.
    """
    needed = {"k", "stability", "score"}
    if selection is None or not needed <= set(selection.columns) or k == 1:
        return []
    ks, steady, score = (np.asarray(selection.columns[n]) for n in ("k", "stability", "score"))
    good = score >= _NEXT * max(float(score[ks == k].max(initial=0.0)), 1e-12)
    others = (ks > k) if finer else (ks != k)
    return [int(c) for c in ks[(steady >= _STEADY) & good & others & (ks <= 2 * k)]]
