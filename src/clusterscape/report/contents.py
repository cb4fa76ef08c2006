"""What a report holds, as a plain dictionary: one function per section."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.params import Instance, Integer, Null, checked
from clusterscape._core.plain import plain
from clusterscape.io.models import last_step, versions
from clusterscape.report import findings
from clusterscape.report.alternatives import alternatives_of
from clusterscape.report.cautions import also_steady, cautions, reservations
from clusterscape.report.choices import Choices, point_id
from clusterscape.report.tracking import tracking_of
from clusterscape.validate import describe_clusters
from clusterscape.validate.description import check_order

VERSION = 1  # of the dictionary's form
_NAMED = 5  # points of highest and of lowest confidence of each cluster
_MATRIX = 200  # points of the consensus matrix
_CATEGORIES = 60  # classes of the reference that a table can show


@dataclass(frozen=True, eq=False)
class _Case:
    """What the sections are made of."""

    model: Any  # the estimator itself, or what was chosen instead of its answer
    original: Any  # the estimator itself
    steps: list[str]  # what a pipeline does before
    notes: list[str]  # what its steps say of the columns
    code: list[dict[str, str]]  # how the steps are made in Python
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
        "choices": [Null(), Instance(Choices)],
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
    choices: Choices | None = None,
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
        Without them there is neither. An index that names other points, or in another order, is
        refused, here and in the tables below.
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
    choices : Choices, optional
        What a person chose: the page then shows the clustering that was taken, with merged and
        named clusters, instead of the answer.
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
    '2 clusters; 75% of the points are sure.'
    """
    estimator = last_step(model)
    _check_model(estimator)
    n = len(estimator.labels_)
    if coordinates is not None and np.shape(coordinates)[1:] != (2,):
        raise ValueError(f"coordinates must have two columns; got {np.shape(coordinates)}.")
    classes = None if reference is None else findings.known_classes(reference)
    rows = {"X": X, "table": table, "coordinates": coordinates}
    for name, given in {**rows, "reference": classes}.items():
        _check_rows(name, given, n)
    for name, given in {**rows, "reference": reference}.items():
        check_order(given, estimator.ensemble_, name)
    original = estimator
    if choices is not None:
        estimator = choices.applied_to(estimator)
    found = findings.of_model(estimator, reference=classes)
    frame = estimator.to_frame()
    case = _Case(
        estimator,
        original,
        _steps(model),
        _notes_of_steps(model),
        _code_of_steps(model),
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
            page["notes"].append(findings.failure(name, error))
            continue
        if section is not None:
            page[name] = section
    try:
        _reserve(page, case)
    except Exception as error:
        page["notes"].append(findings.failure("failures", error))
    return page


def _check_model(estimator: Any) -> None:
    """Refuse what has no clusterings beside its answer, or no answer."""
    if not hasattr(estimator, "fit"):
        raise TypeError(
            f"model must be a fitted estimator, such as ConsensusClustering; got "
            f"{type(estimator).__name__}. It comes first: report.write(model, 'report.html')."
        )
    if hasattr(estimator, "labels_") and not hasattr(estimator, "ensemble_"):
        raise ValueError(
            f"model: {type(estimator).__name__} is one clustering, and a report compares several; "
            "give a model with an ensemble, such as ConsensusClustering or a consensus of "
            "clusterscape.combine."
        )
    if hasattr(estimator, "representatives_") and not hasattr(estimator, "labels_"):
        raise ValueError(
            f"model: {type(estimator).__name__} has several clusterings and no single answer; give "
            "ConsensusClustering().fit_ensemble(model.representatives_), or draw it by "
            "plot.LandscapeDisplay."
        )
    check_is_fitted(estimator, ("labels_", "ensemble_"))


def _reserve(page: dict[str, Any], case: _Case) -> None:
    """Put what speaks against the result first among the cautions, and into the headline."""
    members = None
    if "alternatives" in page:
        members = [p["agreement"] for p in page["alternatives"]["partitions"][1:]]
    verdict = page.get("verdict", {})
    verdict["cut_agreement"] = _agreement_of_cut(page, case)
    found = reservations(
        case.model, case.found, members, verdict["cut_agreement"], words=_has_words(case)
    )
    if "failures" in page:
        page["failures"]["cautions"] = found + page["failures"]["cautions"]
    known = case.found["confidence"]["missing"] < page["n_points"]
    verdict["reservations"] = len(found)
    if found and known and case.found["n_clusters"] > 1 and "headline" in verdict:
        verdict["headline"] = f"{verdict['headline'].rstrip('.')} – with reservations."


def _has_words(case: _Case) -> bool:
    """Return whether columns of words were turned into columns of 0 and 1."""
    if "TableEncoder" not in case.steps or not isinstance(case.table, pd.DataFrame):
        return False
    return case.table.select_dtypes(exclude=["number", "bool"]).shape[1] > 0


def _agreement_of_cut(page: dict[str, Any], case: _Case) -> float | None:
    """Return how far the answer agrees with the cut by which its number of clusters was chosen."""
    selection = getattr(case.model, "k_selection_", None)
    if selection is None or "separation_rise" not in selection.columns or "across_k" not in page:
        return None
    found: float | None = (page["across_k"]["tracking"] or {}).get("cut_agreement")
    return found


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


def _steps(model: Any) -> list[str]:
    """Name the steps of a pipeline before the last one."""
    if type(model) is not Pipeline:
        return []
    found = []
    for _, step in model.steps[:-1]:
        inner = [type(part[1]).__name__ for part in getattr(step, "transformers", ())]
        found.append(type(step).__name__ + (f" ({', '.join(inner)})" if inner else ""))
    return found


def _notes_of_steps(model: Any) -> list[str]:
    """Return what the steps of a pipeline say of gaps that they filled and words they encoded."""
    if type(model) is not Pipeline:
        return []
    return [note for _, step in model.steps[:-1] if hasattr(step, "notes") for note in step.notes()]


def _code_of_steps(model: Any) -> list[dict[str, str]]:
    """Return the package and the call of each step of a pipeline before the last one."""
    if type(model) is not Pipeline:
        return []
    found = []
    for _, step in model.steps[:-1]:
        kind = type(step)
        public = itertools.takewhile(lambda part: part[0] != "_", kind.__module__.split("."))
        parts = list(public)
        module = ".".join(parts[:2] if parts[0] == "clusterscape" else parts)
        found.append(
            {"module": module, "name": kind.__name__, "call": " ".join(repr(step).split())}
        )
    return found


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
    n = len(case.frame)
    return f"Clusters of {file or ('1 point' if n == 1 else f'{n:,} points')}"


# ---- sections ---------------------------------------------------------------------------------


def _verdict(case: _Case) -> dict[str, Any]:
    found, n = case.found, len(case.frame)
    k, score = found["n_clusters"], found["confidence"]
    clusters = "One cluster" if k == 1 else f"{k} clusters"
    if k == 1:
        headline = (
            f"{clusters}: {'the point is alone' if n == 1 else 'the points were not divided'}."
        )
    elif score["confident"] == 0 and score["missing"] < n:
        headline = f"{clusters}; no point is sure; {score['doubtful']:,} of {n:,} are doubtful."
    elif score["missing"] == n:
        headline = f"{clusters}; nothing is known of how sure they are."
    else:
        sure = findings.share_words(score["confident"], n)
        look = score["doubtful"]
        needs = "" if not look else f"; {look:,} {'needs' if look == 1 else 'need'} a look"
        headline = f"{clusters}; {sure} of the points are sure{needs}."
    ensemble = case.model.ensemble_
    selection = getattr(case.model, "k_selection_", None)
    structure = getattr(case.model, "structure_", None)
    return {
        "headline": headline,
        "sentences": findings.sentences(found, n),
        "sizes": found["cluster_sizes"],
        "by_cluster": _sureness(case),
        "reservations": 0,  # this and the next are filled when all sections are made
        "cut_agreement": None,
        "confidence": plain(found["confidence"]),
        "against_votes": _against_votes(case.frame),
        "how": found["how"],
        "candidates": _candidates(selection),
        "also_steady": also_steady(selection, k),
        "n_clusters": k,
        "runner_up": None if selection is None else selection.runner_up,
        "steadiness": _steadiness(selection),
        "stability": _stability(selection),
        "structure": None if structure is None else plain(structure),
        "reference": plain(found.get("reference")),
        "single": plain(case.run.get("result", {}).get("single")),
        "n_partitions": ensemble.n_partitions,
        "n_distinct": ensemble.n_distinct,
    }


def _sureness(case: _Case) -> list[dict[str, int]]:
    """Return how many points of each cluster are sure, doubtful, or of unknown confidence."""
    labels = case.model.labels_
    shares = np.round(case.frame["confidence"].to_numpy(), 12)  # as in findings
    kinds = {
        "points": np.ones(len(labels), dtype=bool),
        "sure": shares >= findings.CONFIDENT,
        "doubtful": shares < findings.DOUBTFUL,
        "unknown": np.isnan(shares),
    }
    return [
        {name: int((kind & (labels == c)).sum()) for name, kind in kinds.items()}
        for c in range(case.model.n_clusters_)
    ]


def _candidates(selection: Any) -> list[int] | None:
    """Return the least and the largest number of clusters that was compared."""
    if selection is None or "k" not in selection.columns or not len(selection.columns["k"]):
        return None
    ks = np.asarray(selection.columns["k"])
    return [int(ks.min()), int(ks.max())]


def _against_votes(frame: pd.DataFrame) -> int:
    """Return how many points have more votes for another cluster than for their own."""
    other = frame["runner_up_share"].to_numpy(dtype=np.float64)
    own = frame["confidence"].to_numpy(dtype=np.float64)
    return int((other > own + 1e-9).sum())  # unknown ones compare as False


def _steadiness(selection: Any) -> str | None:
    """Say how often parts of the ensemble chose the same number of clusters."""
    if selection is None or not len(selection.choices):
        return None
    ks, counts = np.unique(selection.choices, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    said = findings.listed([f"k = {ks[i]} in {counts[i]}" for i in order])
    return f"Random halves of the clusterings chose {said} of {counts.sum()} cases"


def _stability(selection: Any) -> float | None:
    """Return how far parts of the ensemble agree on the clusters of the number chosen."""
    if selection is None or "stability" not in selection.columns or not len(selection.choices):
        return None
    ks, steady = (np.asarray(selection.columns[name]) for name in ("k", "stability"))
    found = steady[ks == selection.n_clusters]
    return plain(float(found[0])) if found.size else None


def _input(case: _Case) -> dict[str, Any]:
    known = case.run.get("input", {})
    names = known.get("feature_names") or getattr(case.original, "feature_names_in_", None)
    columns = getattr(case.original, "n_features_in_", None)
    given = getattr(case.table, "columns", None)
    prepared = None
    if case.steps and given is not None and columns is not None and len(given) != columns:
        prepared = f"{columns:,} columns"  # a reader knows those that were given
        names, columns = given, len(given)
    parameters = case.run.get("parameters", {})
    scaling = parameters.get("scaled")
    if scaling == "none" and _are_by_angles(case.model.ensemble_.records):
        scaling = "angles"
    return {
        "file": known.get("file"),
        "about": known.get("about"),
        "n_points": len(case.frame),
        "n_columns": columns,
        "columns": None if names is None else [str(name) for name in names],
        "prepared": prepared,
        "steps": case.steps,
        "left_out": plain(known.get("left_out") or parameters.get("exclude") or []),
        "id_column": known.get("id_column"),
        "scaling": scaling,
        "n_constant": _n_constant(case.table),
        "reference": parameters.get("reference"),
        # Columns that were named are not looked at.
        "suspicious": None if parameters.get("columns") else plain(known.get("suspicious")),
        "notes": _other_notes(known),
        "columns_changed": case.notes,
    }


def _are_by_angles(records: Any) -> bool:
    """Return whether all clusterings compare rows by their angles."""
    return all(
        record.algorithm == "cosine" or record.params.get("metric") == "cosine"
        for record in records
        if record.error is None
    )


def _other_notes(known: Mapping[str, Any]) -> list[str]:
    """Return what was noted while reading, but not what is said of suspicious columns."""
    said = {str(note).casefold() for note in known.get("suspicious") or ()}
    notes = map(str, known.get("notes", ()))
    return [note for note in notes if note.casefold() not in said]


def _n_constant(table: Any) -> int:
    """Return how many columns of numbers have one value only."""
    if table is None or sparse.issparse(table):
        return 0
    frame = table if isinstance(table, pd.DataFrame) else pd.DataFrame(np.asarray(table))
    numbers = frame.select_dtypes("number")
    if len(frame) < 2:
        return 0  # every column of one row has one value
    return int((numbers.max() == numbers.min()).sum())


def _alternatives(case: _Case) -> dict[str, Any]:
    found = alternatives_of(
        case.model,
        case.shown,
        features=case.features,
        coordinates=case.coordinates,
        max_partitions=case.max_partitions,
    )
    if case.model is not case.original:
        found["partitions"][0]["name"] = "what was chosen"
    return found


def _clusters(case: _Case) -> dict[str, Any]:
    labels, confidence = case.model.labels_, case.frame["confidence"].to_numpy()
    names = getattr(case.model, "names_", {})
    consensus = case.model.cluster_consensus_
    described, why_not = None, None
    if case.model.n_clusters_ < 2:
        why_not = "There is nothing to tell one cluster from."
    elif case.table is None:
        why_not = "The report was written without the columns of the points."
    else:
        described = describe_clusters(case.table, labels, names=_names_of(case))
    rows = []
    for c in range(case.model.n_clusters_):
        points = np.flatnonzero(labels == c)
        order = points[np.argsort(-np.nan_to_num(confidence[points]), kind="stable")]
        own = confidence[points]
        # In one cluster no point is surer than another.
        claimed = own.size and not np.isnan(own).all() and case.model.n_clusters_ > 1
        rows.append(
            {
                "cluster": c,
                "name": names.get(c),
                "size": int(points.size),
                "share": points.size / len(labels),
                "confidence": float(np.nanmean(own)) if claimed else None,
                "consensus": plain(float(consensus[c])),
                "typical": _ids(case, order[:_NAMED]) if case.model.n_clusters_ > 1 else [],
                "least_sure": _ids(case, order[::-1][:_NAMED]) if claimed else [],
                "columns": [] if described is None else _columns(described.table, c),
                "held_back": None if described is None else bool(described.held_back[c]),
            }
        )
    return {
        "rows": rows,
        "described": described is not None,
        "why_not": why_not,
        "sentences": [] if described is None else described.sentences(),
    }


def _names_of(case: _Case) -> list[str] | None:
    """Return the names of the columns of a table that does not hold them itself."""
    names = case.run.get("input", {}).get("feature_names")
    if names is None or hasattr(case.table, "columns") or len(names) != case.table.shape[1]:
        return None
    return [str(name) for name in names]


def _columns(table: pd.DataFrame, cluster: int) -> list[dict[str, Any]]:
    own = table[table["cluster"] == cluster].drop(columns="cluster")
    return [plain(row) for row in own.to_dict("records")]


def _ids(case: _Case, points: np.ndarray) -> list[dict[str, Any]]:
    confidence = case.frame["confidence"].to_numpy()
    return [
        {"id": point_id(case.frame.index[p]), "confidence": plain(confidence[p])} for p in points
    ]


def _across_k(case: _Case) -> dict[str, Any] | None:
    criteria = _criteria(getattr(case.model, "k_selection_", None))
    tracking = tracking_of(case.model, case.shown)
    if criteria is None and tracking is None:
        return None
    return {"criteria": criteria, "tracking": tracking}


def _criteria(selection: Any) -> dict[str, Any] | None:
    if selection is None or len(selection.columns.get("k", ())) < 2:
        return None  # with one candidate nothing was compared
    return {
        "n_clusters": selection.n_clusters,
        "runner_up": selection.runner_up,
        "criterion": selection.criterion,
        "reason": selection.reason,
        "table": {name: plain(np.asarray(v)) for name, v in selection.columns.items()},
    }


def _matrix(case: _Case) -> dict[str, Any] | None:
    """Return the share of the partitions that put each two of some points together."""
    if case.shown.size < 2:
        return None
    step = max(1, -(-case.shown.size // _MATRIX))
    points = case.shown[::step]
    shares = case.model.ensemble_.subset(points).coassociation().toarray()
    confidence = case.frame["confidence"].to_numpy()
    return {
        "n_points": int(points.size),
        "n_all": len(case.frame),
        "values": np.round(np.clip(np.nan_to_num(shares), 0, 1), 3).tolist(),
        "labels": case.model.labels_[points].tolist(),
        "confidence": plain(np.round(confidence[points], 3)),
        "reference": None if case.reference is None else case.reference[points].tolist(),
    }


def _points(case: _Case) -> dict[str, Any]:
    frame = case.frame.iloc[case.shown]
    return {
        "ids": [point_id(value) for value in frame.index],
        "label": frame["label"].tolist(),
        "confidence": plain(frame["confidence"].round(4).to_numpy()),
        "runner_up": [None if pd.isna(c) else int(c) for c in frame["runner_up"]],
        "runner_up_share": plain(frame["runner_up_share"].round(4).to_numpy()),
        "reference": None if case.reference is None else case.reference[case.shown].tolist(),
    }


def _against_reference(case: _Case) -> dict[str, Any] | None:
    if case.reference is None:
        return None
    known = case.reference != ""
    counts = pd.crosstab(case.reference[known], case.model.labels_[known])
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
        **findings.choice_among(consensus),
    }


def _failures(case: _Case) -> dict[str, Any]:
    return {
        "failed": case.found["failures"],
        "n_partitions": case.model.ensemble_.n_partitions,
        "unclustered": case.found["n_unclustered"],
        "cautions": cautions(case.model, case.found, case.run, against=_against_votes(case.frame)),
    }


def _reproduce(case: _Case) -> dict[str, Any]:
    model = case.original
    settings = model.get_params(deep=False)
    aside = ("n_jobs", "progress", "store")  # how the work is done changes nothing of a result
    run = {k: v for k, v in case.run.items() if k in ("command", "parameters")}
    run["parameters"] = {k: v for k, v in run.get("parameters", {}).items() if k != "jobs"}
    return {
        "estimator": type(model).__name__,
        **_home(model),
        "parameters": {k: plain(v) for k, v in settings.items() if k not in aside},
        "defaults": plain(_defaults(type(model))),
        "run": plain(run),
        "file": case.run.get("input", {}).get("file"),
        "sha256": case.run.get("input", {}).get("sha256"),
        "versions": versions(),
        "chosen": case.model is not model,
        "steps": case.code,
    }


def _home(model: Any) -> dict[str, Any]:
    """Return the public package that a model is imported from, and what it is fitted on."""
    import clusterscape

    name = type(model).__name__
    parts = type(model).__module__.split(".")
    module = "clusterscape" if hasattr(clusterscape, name) else ".".join(parts[:2])
    return {
        "module": module,
        "fitted_on": "X" if hasattr(model, "n_features_in_") else "ensemble",
    }


def _defaults(kind: type) -> dict[str, Any]:
    parameters = inspect.signature(kind).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


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
