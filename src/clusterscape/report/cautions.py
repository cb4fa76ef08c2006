"""What a reader of a result must know before believing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_FEW_DISTINCT = 0.2  # of the clusterings
_LOOSE = 0.25  # share of the clusterings in which two points of a cluster are together
_NEAR = 0.5  # adjusted Rand index of the nearest clustering with the answer
_SMALL = 5  # points of a cluster
_UNSTEADY = 0.6  # of the halves that choose the same number of clusters


def cautions(model: Any, found: Mapping[str, Any], run: Mapping[str, Any]) -> list[str]:
    """Return sentences on what weakens a result; none where nothing is known against it."""
    said = [*_on_structure(found), *_on_members(model), *_on_k(model), *_on_sizes(found)]
    said += _on_cohesion(model, found)
    said += _on_confidence(model, found, model.to_frame())
    said += [str(note) for note in run.get("input", {}).get("suspicious", [])]
    return said


def far_from_all(agreements: Sequence[float]) -> list[str]:
    """Say that no clustering is near the answer; ``agreements`` are those of all of them."""
    best = max(agreements, default=1.0)
    if best >= _NEAR:
        return []
    return [
        "None of the clusterings is near the answer (the largest adjusted Rand index is "
        f"{best:.2f}): it joins or divides what they show."
    ]


def _on_structure(found: Mapping[str, Any]) -> list[str]:
    structure = found["structure"]
    if structure is None:
        return [
            "No test for structure was made: nothing here says that there are any clusters at all."
        ]
    if structure["found"] or found["n_clusters"] == 1:
        return []
    return [
        f"The test for structure found none, but {found['n_clusters']} clusters were asked for: "
        "data without clusters would be divided just as well."
    ]


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
            f"clusterings chose {selection.n_clusters}."
        )
    candidates = np.asarray(selection.columns.get("k", ()))
    if candidates.size > 1 and selection.n_clusters == candidates.max():
        said.append(
            f"{selection.n_clusters} is the largest number of clusters that was compared: there "
            "may be more."
        )
    return said


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


def _on_sizes(found: Mapping[str, Any]) -> list[str]:
    sizes = found["cluster_sizes"]
    small = [c for c, size in enumerate(sizes) if size < _SMALL]
    if not small or len(sizes) == 1:
        return []
    which = ", ".join(map(str, small[:10])) + (", …" if len(small) > 10 else "")
    many = "Cluster" if len(small) == 1 else "Clusters"
    has = "has" if len(small) == 1 else "have"
    return [f"{many} {which} {has} fewer than {_SMALL} points: perhaps outliers, not groups."]


def _on_confidence(model: Any, found: Mapping[str, Any], frame: Any) -> list[str]:
    score, n = found["confidence"], len(model.labels_)
    if found["n_clusters"] == 1 or score["missing"] == n:
        return []
    said = []
    if score["doubtful"] > n / 2:
        said.append(
            "Most points are doubtful: the clusterings disagree on where they belong. Read these "
            "clusters as a rough division, not as separate groups."
        )
    taken = getattr(getattr(model, "consensus_", None), "chosen_", None)
    against = int((frame["runner_up_share"] > frame["confidence"] + 1e-9).sum())
    if isinstance(taken, str) and taken.endswith(", best") and against:
        has = "point has" if against == 1 else "points have"
        said.append(
            "The answer is one of the clusterings, the best of its kind, not a compromise of all: "
            f"{against:,} {has} more votes for another cluster than for their own."
        )
    return said
