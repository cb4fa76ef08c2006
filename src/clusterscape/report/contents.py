"""What a report holds, as a plain dictionary: one function per section."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.params import Instance, Integer, Null, checked
from clusterscape._core.plain import plain
from clusterscape.io.models import last_step, versions
from clusterscape.report import findings
from clusterscape.report.alternatives import alternatives_of
from clusterscape.validate import describe_clusters

VERSION = 1  # of the dictionary's form
_NAMED = 5  # points of highest and of lowest confidence of each cluster
_MATRIX = 200  # points of the consensus matrix
_CATEGORIES = 60  # classes of the reference that a table can show


@dataclass(frozen=True, eq=False)
class _Case:
    """What the sections are made of."""

    model: Any  # the estimator itself
    features: Any  # as the estimator saw them; None where they are not known
    table: Any  # the columns in their own units; None where they are not known
    coordinates: Any
    reference: np.ndarray | None
    run: Mapping[str, Any]
    found: dict[str, Any]
    frame: pd.DataFrame
    shown: np.ndarray  # points of the page, by cluster and falling confidence
    max_partitions: int


@checked(
    {
        "title": [Null(), Instance(str)],
        "run": [Null(), Instance(Mapping)],
        "max_points": [Integer(1)],
        "max_partitions": [Integer(1)],
    }
)
def collect(
    model: Any,
    *,
    X: Any = None,
    table: Any = None,
    coordinates: Any = None,
    reference: Any = None,
    run: Mapping[str, Any] | None = None,
    title: str | None = None,
    max_points: int = 5000,
    max_partitions: int = 200,
) -> dict[str, Any]:
    """Return all that a report shows, as text, numbers, lists and dictionaries.

    Parameters
    ----------
    model : estimator
        Fitted, with ``labels_`` and ``ensemble_``: :class:`~clusterscape.ConsensusClustering`, a
        cluster forest, a consensus method; or a pipeline that ends with one.
    X : (n, d) array, sparse matrix or data frame, optional
        The points as they were given to ``fit``: they are drawn, and clusters described by them.
        Without them there is neither.
    table : data frame, optional
        Other columns to describe the clusters by, in the same order, such as the table before
        words were encoded. By default X.
    coordinates : (n, 2) array, optional
        Where to draw the points; by default the first two principal components of X.
    reference : (n,) array, optional
        Known classes, which had no part in the clustering.
    run : mapping, optional
        What is known of the run, as ``run.json`` has it.
    title : str, optional
        Heading of the page.
    max_points : int
        Of more points a random sample is shown, and the page says so. All figures but distances
        between partitions come from all points.
    max_partitions : int
        Of more partitions so many are shown, at equal steps, and the page says so.

    Returns
    -------
    dict
        Sections by their names. Arrays are lists. A section that could not be made is absent, and
        ``notes`` says why.

    See Also
    --------
    write : Writes the page.
    render : Turns such a dictionary into the page.

    Examples
    --------
    >>> from clusterscape.combine import EAC
    >>> from clusterscape.report import collect
    >>> model = EAC(2).fit([[0, 0, 1, 1], [0, 0, 0, 1], [0, 0, 1, 1]])
    >>> collect(model)["verdict"]["headline"]
    '2 clusters; 75 % of the points are sure.'
    """
    estimator = last_step(model)
    if hasattr(estimator, "labels_") and not hasattr(estimator, "ensemble_"):
        raise ValueError(
            f"model: {type(estimator).__name__} is one clustering, and a report compares several; "
            "give a model with an ensemble, such as ConsensusClustering or a consensus of "
            "clusterscape.combine."
        )
    check_is_fitted(estimator, ("labels_", "ensemble_"))
    n = len(estimator.labels_)
    if coordinates is not None and np.shape(coordinates)[1:] != (2,):
        raise ValueError(f"coordinates must have two columns; got {np.shape(coordinates)}.")
    for name, given in (("X", X), ("table", table), ("coordinates", coordinates)):
        _check_rows(name, given, n)
    classes = None if reference is None else np.asarray(reference).astype(str)
    _check_rows("reference", classes, n)
    found = findings.of_model(estimator, reference=classes)
    frame = estimator.to_frame()
    case = _Case(
        estimator,
        _seen(model, X),
        X if table is None else table,
        coordinates,
        classes,
        dict(run or {}),
        found,
        frame,
        _shown(estimator.labels_, frame["confidence"].to_numpy(), max_points),
        max_partitions,
    )
    page: dict[str, Any] = {
        "format": VERSION,
        "title": title or _title(case),
        "n_points": n,
        "n_shown": int(case.shown.size),
        "notes": [],
    }
    for name, make in SECTIONS.items():
        try:
            section = make(case)
        except Exception as error:  # one failing section never costs the report
            page["notes"].append({"section": name, "reason": f"{type(error).__name__}: {error}"})
            continue
        if section is not None:
            page[name] = section
    return page


def _check_rows(name: str, given: Any, n: int) -> None:
    if given is None:
        return
    rows = given.shape[0] if hasattr(given, "shape") else len(given)
    if rows != n:
        raise ValueError(f"{name} must have one row for each of the {n} points; got {rows}.")


def _seen(model: Any, X: Any) -> Any:
    """Return the features as the last step of a pipeline saw them."""
    if X is None or type(model) is not Pipeline or len(model.steps) < 2:
        return X
    return model[:-1].transform(X)


def _shown(labels: np.ndarray, confidence: np.ndarray, most: int) -> np.ndarray:
    """Return the points of the page, by cluster and falling confidence."""
    points = np.arange(labels.size)
    if labels.size > most:
        points = np.sort(np.random.default_rng(0).choice(labels.size, most, replace=False))
    key = np.nan_to_num(confidence[points], nan=0.0)
    # Neighbours in this order mostly share their labels in every partition: the file packs well.
    return points[np.lexsort((-key, labels[points]))]


def _title(case: _Case) -> str:
    file = case.run.get("input", {}).get("file")
    return f"Clusters of {file}" if file else f"Clusters of {len(case.frame):,} points"


# ---- sections ---------------------------------------------------------------------------------


def _verdict(case: _Case) -> dict[str, Any]:
    found, n = case.found, len(case.frame)
    k, score = found["n_clusters"], found["confidence"]
    clusters = "One cluster" if k == 1 else f"{k} clusters"
    if k == 1:
        headline = f"{clusters}: the points were not divided."
    elif score["missing"] == n:
        headline = f"{clusters}; nothing is known of how sure they are."
    else:
        sure = round(100 * score["confident"] / n)
        look = score["doubtful"]
        needs = "" if not look else f"; {look:,} {'needs' if look == 1 else 'need'} a look"
        headline = f"{clusters}; {sure} % of the points are sure{needs}."
    ensemble = case.model.ensemble_
    selection = getattr(case.model, "k_selection_", None)
    structure = getattr(case.model, "structure_", None)
    return {
        "headline": headline,
        "sentences": findings.sentences(found, n),
        "n_clusters": k,
        "runner_up": None if selection is None else selection.runner_up,
        "steadiness": _steadiness(selection),
        "structure": None if structure is None else plain(structure),
        "n_partitions": ensemble.n_partitions,
        "n_distinct": ensemble.n_distinct,
    }


def _steadiness(selection: Any) -> str | None:
    """Say how often parts of the ensemble chose the same number of clusters."""
    if selection is None or not len(selection.choices):
        return None
    ks, counts = np.unique(selection.choices, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    said = [f"k = {ks[i]} in {counts[i]} of {counts.sum()}" for i in order]
    return f"Chosen by random halves of the clusterings: {', '.join(said)}."


def _input(case: _Case) -> dict[str, Any]:
    known = case.run.get("input", {})
    names = known.get("feature_names") or getattr(case.model, "feature_names_in_", None)
    columns = getattr(case.model, "n_features_in_", None)
    parameters = case.run.get("parameters", {})
    return {
        "file": known.get("file"),
        "n_points": len(case.frame),
        "n_columns": columns,
        "columns": None if names is None else [str(name) for name in names],
        "left_out": plain(known.get("left_out") or parameters.get("exclude") or []),
        "id_column": known.get("id_column"),
        "scaling": parameters.get("scaled"),
        "notes": [str(note) for note in known.get("notes", [])],
    }


def _alternatives(case: _Case) -> dict[str, Any]:
    return alternatives_of(
        case.model,
        case.shown,
        features=case.features,
        coordinates=case.coordinates,
        max_partitions=case.max_partitions,
    )


def _clusters(case: _Case) -> dict[str, Any]:
    labels, confidence = case.model.labels_, case.frame["confidence"].to_numpy()
    consensus = case.model.cluster_consensus_
    described = None
    if case.table is not None and case.model.n_clusters_ > 1:
        described = describe_clusters(case.table, labels)
    rows = []
    for c in range(case.model.n_clusters_):
        points = np.flatnonzero(labels == c)
        order = points[np.argsort(-np.nan_to_num(confidence[points]), kind="stable")]
        own = confidence[points]
        claimed = own.size and not np.isnan(own).all()
        rows.append(
            {
                "cluster": c,
                "size": int(points.size),
                "share": points.size / len(labels),
                "confidence": float(np.nanmean(own)) if claimed else None,
                "consensus": float(consensus[c]),
                "typical": _ids(case, order[:_NAMED]),
                "least_sure": _ids(case, order[::-1][:_NAMED]) if claimed else [],
                "columns": [] if described is None else _columns(described.table, c),
            }
        )
    return {
        "rows": rows,
        "described": described is not None,
        "held_back": None if described is None else described.held_back,
        "sentences": [] if described is None else described.sentences(),
    }


def _columns(table: pd.DataFrame, cluster: int) -> list[dict[str, Any]]:
    own = table[table["cluster"] == cluster].drop(columns="cluster")
    return [plain(row) for row in own.to_dict("records")]


def _ids(case: _Case, points: np.ndarray) -> list[dict[str, Any]]:
    confidence = case.frame["confidence"].to_numpy()
    return [{"id": _id(case.frame.index[p]), "confidence": plain(confidence[p])} for p in points]


def _id(value: Any) -> str:
    return " / ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _across_k(case: _Case) -> dict[str, Any] | None:
    selection = getattr(case.model, "k_selection_", None)
    if selection is None or not selection.columns:
        return None
    return {
        "n_clusters": selection.n_clusters,
        "runner_up": selection.runner_up,
        "criterion": selection.criterion,
        "reason": selection.reason,
        "table": {name: plain(np.asarray(v)) for name, v in selection.columns.items()},
    }


def _matrix(case: _Case) -> dict[str, Any]:
    """Return the share of the partitions that put each two of some points together."""
    step = max(1, -(-case.shown.size // _MATRIX))
    points = case.shown[::step]
    shares = case.model.ensemble_.subset(points).coassociation().toarray()
    confidence = case.frame["confidence"].to_numpy()
    return {
        "n_points": int(points.size),
        "values": np.round(np.clip(np.nan_to_num(shares), 0, 1), 3).tolist(),
        "labels": case.model.labels_[points].tolist(),
        "confidence": plain(np.round(confidence[points], 3)),
        "reference": None if case.reference is None else case.reference[points].tolist(),
    }


def _points(case: _Case) -> dict[str, Any]:
    frame = case.frame.iloc[case.shown]
    return {
        "ids": [_id(value) for value in frame.index],
        "label": frame["label"].tolist(),
        "confidence": plain(frame["confidence"].round(4).to_numpy()),
        "runner_up": [None if pd.isna(c) else int(c) for c in frame["runner_up"]],
        "runner_up_share": plain(frame["runner_up_share"].round(4).to_numpy()),
        "reference": None if case.reference is None else case.reference[case.shown].tolist(),
    }


def _against_reference(case: _Case) -> dict[str, Any] | None:
    if case.reference is None:
        return None
    counts = pd.crosstab(case.reference, case.model.labels_)
    if len(counts) > _CATEGORIES:
        raise ValueError(f"there are {len(counts):,} classes; up to {_CATEGORIES} are shown.")
    return {
        "classes": [str(name) for name in counts.index],
        "clusters": [int(c) for c in counts.columns],
        "counts": counts.to_numpy().tolist(),
        **plain(case.found["reference"]),
    }


def _methods(case: _Case) -> dict[str, Any]:
    records = case.model.ensemble_.records
    kinds: dict[str, list[int]] = {}
    for record in records:
        if record.error is None:
            kinds.setdefault(record.algorithm or "given labels", []).append(record.n_clusters)
    rows = [
        {"algorithm": name, "members": len(ks), "fewest": min(ks), "most": max(ks)}
        for name, ks in kinds.items()
    ]
    chosen = case.found["consensus"]
    consensus = getattr(case.model, "consensus_", None) or case.model
    return {
        "members": sorted(rows, key=lambda row: (-row["members"], row["algorithm"])),
        "consensus": type(consensus).__name__,
        "why": None if chosen is None else chosen["why"],
        "candidate": getattr(consensus, "chosen_", None),
        "runner_up": getattr(consensus, "runner_up_", None),
        "agreement": plain(getattr(consensus, "agreement_", None)),
    }


def _failures(case: _Case) -> dict[str, Any]:
    return {
        "failed": case.found["failures"],
        "n_partitions": case.model.ensemble_.n_partitions,
        "unclustered": case.found["n_unclustered"],
    }


def _reproduce(case: _Case) -> dict[str, Any]:
    settings = case.model.get_params(deep=False)
    aside = ("n_jobs", "progress", "store")
    run = {k: v for k, v in case.run.items() if k in ("command", "parameters")}
    # The number of workers changes nothing of a result.
    run["parameters"] = {k: v for k, v in run.get("parameters", {}).items() if k != "jobs"}
    return {
        "estimator": type(case.model).__name__,
        "parameters": {k: plain(v) for k, v in settings.items() if k not in aside},
        "run": plain(run),
        "sha256": case.run.get("input", {}).get("sha256"),
        "versions": versions(),
    }


# In the order of the page.
SECTIONS: dict[str, Callable[[_Case], dict[str, Any] | None]] = {
    "verdict": _verdict,
    "input": _input,
    "alternatives": _alternatives,
    "clusters": _clusters,
    "across_k": _across_k,
    "matrix": _matrix,
    "points": _points,
    "reference": _against_reference,
    "methods": _methods,
    "failures": _failures,
    "reproduce": _reproduce,
}
