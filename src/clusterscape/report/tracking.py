"""Where the points of clusters go when there are more, or fewer, clusters than in the answer."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from clusterscape.combine import LWGP
from clusterscape.compare import adjusted_rand
from clusterscape.plot.tracking import TrackingDisplay
from clusterscape.report.alternatives import aligned_with

_POINTS = 1500  # of the page, that are followed
_MEMBERS = 100  # clusterings that are cut
_ROWS = 8
_LARGEST = 30  # clusters that can still be told apart in a row
_FEWEST = 0.01  # share of both clusters below which an arrow is left out


def tracking_of(model: Any, points: np.ndarray) -> dict[str, Any] | None:
    """Return what the page draws of :func:`cuts_of`, as plain values."""
    table = cuts_of(model, points)
    if table is None:
        return None
    k = int(model.n_clusters_)
    return {
        "answer": k,
        "n_points": len(table),
        "cut_agreement": cut_agreement(model, points),
        **_drawn(table),
    }


def cut_agreement(model: Any, points: np.ndarray) -> float | None:
    """Return the adjusted Rand index of the answer with a cut into as many clusters.

    The answer may be combined in another way than :func:`~clusterscape.validate.select_k` cuts the
    clusterings. None where there is no such cut.
    """
    votes, points = _votes(model, points)
    found = None if votes is None else _cut(votes, int(model.n_clusters_))
    return None if found is None else adjusted_rand(np.asarray(model.labels_)[points], found)


def cuts_of(model: Any, points: np.ndarray) -> pd.DataFrame | None:
    """Return the answer among cuts of the same clusterings into other numbers of clusters.

    One column per number of clusters. The cuts are those that
    :func:`~clusterscape.validate.select_k` compares; the column of the answer's own number is the
    answer. Clusters keep their numbers from column to column, beginning with the answer's, as far
    as they share most points.
    None where the answer is one cluster, or has too many to draw.
    """
    k = int(model.n_clusters_)
    if not 2 <= k <= _LARGEST:
        return None
    votes, points = _votes(model, points)
    if votes is None:
        return None
    answer = np.asarray(model.labels_)[points]
    rows: dict[int, np.ndarray] = {k: answer}
    counts = _counts(k, getattr(model, "k_selection_", None), points.size)
    # Away from the answer, each row numbered like the one before: colours persist along the tree.
    for side in ([c for c in counts if c > k], [c for c in reversed(counts) if c < k]):
        before = answer
        for count in side:
            found = _cut(votes, count)
            if found is not None:
                before = rows[count] = aligned_with(before, found)
    return pd.DataFrame({count: rows[count] for count in sorted(rows)}, index=points)


def _votes(model: Any, points: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the clusterings that are cut, None where there are none, and the points followed."""
    points = points[:: -(-points.size // _POINTS)]
    ensemble = model.ensemble_
    usable = np.flatnonzero(ensemble.n_clusters > 1)
    if usable.size > _MEMBERS:
        usable = usable[np.linspace(0, usable.size - 1, _MEMBERS).astype(np.int64)]
    if not usable.size or points.size <= int(model.n_clusters_) + 1:
        return None, points
    return ensemble.subset(points, keep_empty=True).select(usable), points


def _counts(k: int, selection: Any, n: int) -> list[int]:
    """Return the numbers of clusters that are shown: those around the answer's."""
    first = 2 if k + 2 <= _ROWS else k - _ROWS + 4
    wanted = set(range(first, k + 3))
    second = None if selection is None else selection.runner_up
    if second is not None and 2 <= second <= _LARGEST:
        wanted.add(int(second))
    return sorted(count for count in wanted if count < n - 1)


def _cut(votes: Any, k: int) -> np.ndarray | None:
    """Return the clusterings combined into k clusters; None where there are not so many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer clusters than asked for: such a row is left out
        try:
            found = LWGP(k, random_state=0).fit(votes)
        except ValueError:
            return None
    return np.asarray(found.labels_) if found.n_clusters_ == k else None


def _drawn(table: pd.DataFrame) -> dict[str, Any]:
    """Return the clusters with their places, and the arrows between them."""
    display = TrackingDisplay(table)
    rows = []
    for count, places in zip(table.columns, display.places(), strict=True):
        sizes = table[count].value_counts()
        rows.append(
            {
                "k": int(count),
                "clusters": [
                    {"cluster": int(c), "points": int(sizes[c]), "place": round(float(x), 4)}
                    for c, x in places.items()
                ],
            }
        )
    arrows = [
        {
            "from": int(a["from"]),
            "cluster": int(a["cluster"]),
            "to": int(a["to"]),
            "cluster_below": int(a["cluster_below"]),
            "points": int(a["points"]),
            "share_from": round(float(a["share_from"]), 4),
            "share_to": round(float(a["share_to"]), 4),
        }
        for a in display.to_frame().to_dict("records")
        if max(a["share_from"], a["share_to"]) >= _FEWEST
    ]
    return {"rows": rows, "arrows": arrows}
