"""Members from distances or similarities instead of features: sequences, graphs, anything.

The base clusterers that need no features have a second form here, on a
:class:`~clusterscape.linalg.relation.Relation`; a generator takes these when its ``metric`` says
that X is such a matrix. What needs features is refused before anything runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd

from clusterscape import kernels
from clusterscape._core.params import Choice, Null, Rule
from clusterscape._core.seeds import spawn
from clusterscape.generate.algorithms import (
    Algorithm,
    BaseResult,
    Settings,
    cluster_rows,
    eigenvectors,
    knee,
    medoid_result,
)
from clusterscape.generate.features import Features, point_ids
from clusterscape.generate.kinds import Turn
from clusterscape.linalg.relation import Relation, read_relation

Metric: TypeAlias = Literal["precomputed", "precomputed_affinity"] | None

#: What X may be, for the rules of parameters: features, distances or similarities.
METRIC: Sequence[Rule] = (Null(), Choice("precomputed", "precomputed_affinity"))

_DENSITY_POINTS = 5  # neighbours of DBSCAN's radius, the point itself included


class Relations(Features):
    """A matrix of distances or similarities in the place of features."""

    def fingerprint(self) -> str:
        """Return a sha256 of type, shape, kind and values."""
        digest = hashlib.sha256()
        for view in self.views:
            head = f"{view.dtype.str} {view.shape} {view.is_graph} {view.kind};"
            digest.update(head.encode())
            matrix = view.matrix
            parts = (matrix.data, matrix.indices, matrix.indptr) if view.is_graph else (matrix,)
            for part in parts:
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


def read_relations(X: Any, metric: str, *, index: Any = None) -> Relations:
    """Return the checked matrix of ``X``, as a generator takes it.

    Parameters
    ----------
    X : (n, n) array, sparse matrix or data frame
        Distances for "precomputed", similarities for "precomputed_affinity".
    metric : str
        Which of the two.
    index : array, optional
        The points' ids; by default the index of a pandas data frame.

    Returns
    -------
    Relations
    """
    kind: Any = "distance" if metric == "precomputed" else "affinity"
    relation = read_relation(X, kind=kind)
    found = point_ids(X) if index is None else pd.Index(index)
    if found is not None and len(found) != relation.shape[0]:
        raise ValueError(f"index has {len(found)} entries, X has {relation.shape[0]} rows.")
    return Relations((relation,), found)


# -- the clusterers -------------------------------------------------------------------------------


def _distances(relation: Relation, how: Settings) -> Any:
    return how.pieces.get("distances", relation.distances)


def _cut_merges(pairs: np.ndarray, n: int, k: int) -> np.ndarray:
    """Return the labels when merges of the clusters of two points each have left k clusters."""
    found = np.empty((n, 1), dtype=np.int32)
    kernels.genie.labels_at(pairs, np.arange(len(pairs)), np.array([n - k]), n, found)
    return found[:, 0]


def _linkage(relation: Relation, k: int, how: Settings, *, linkage: str) -> BaseResult:
    n = relation.shape[0]
    if n == 1:
        return BaseResult(labels=np.zeros(1, dtype=np.int32))
    pairs = how.pieces.get(("merges", linkage), lambda: _merges(relation, how, linkage))
    if len(pairs) < n - k:
        raise ValueError(
            f"{k} clusters were asked for, but the graph has {n - len(pairs)} pieces that nothing "
            "joins; ask for at least as many, or give a graph that joins them"
        )
    return BaseResult(labels=_cut_merges(pairs, n, k))


def _merges(relation: Relation, how: Settings, linkage: str) -> np.ndarray:
    """Return two points of the clusters that each step of a linkage merges."""
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    from clusterscape.linalg.mst import spanning_tree

    D = _distances(relation, how)
    if linkage == "single":
        return spanning_tree(D, metric="precomputed").pairs
    n = D.shape[0]
    tree = hierarchy.linkage(squareform(D, checks=False), method=linkage)
    points = np.concatenate([np.arange(n), np.zeros(n - 1, dtype=np.int64)])
    for step, left in enumerate(tree[:, 0].astype(np.int64)):
        points[n + step] = points[left]
    return points[tree[:, :2].astype(np.int64)]


def _genie(relation: Relation, k: int, how: Settings) -> BaseResult:
    from clusterscape.linalg.genie import genie
    from clusterscape.linalg.mst import spanning_tree

    n = relation.shape[0]
    if n == 1:
        return BaseResult(labels=np.zeros(1, dtype=np.int32))
    near = min(how.options["reachability"], n - 1)
    tree = how.pieces.get(
        ("tree", near),
        lambda: spanning_tree(_distances(relation, how), metric="precomputed", reachability=near),
    )
    threshold = how.options["gini_threshold"]
    merges = genie(tree, gini_threshold=threshold)
    details = {"gini_threshold": threshold, "reachability": near}
    return BaseResult(labels=merges.labels(k), details=details)


def _kmedoids(relation: Relation, k: int, how: Settings) -> BaseResult:
    return medoid_result(_distances(relation, how), k, how, {})


def _spectral(relation: Relation, k: int, how: Settings) -> BaseResult:
    n = relation.shape[0]
    if k == 1:
        return BaseResult(labels=np.zeros(n, dtype=np.int32))
    if k == n:
        return BaseResult(labels=np.arange(n, dtype=np.int32))
    count = min(how.options["n_neighbors"], n)
    wanted = min(max(k, how.most_clusters), n)
    rows = eigenvectors(how.pieces, count, lambda: relation.neighbor_graph(count), wanted)
    return BaseResult(labels=cluster_rows(rows, k, how), details={"n_neighbors": count})


def _landmark_spectral(relation: Relation, k: int, how: Settings) -> BaseResult:
    from clusterscape.linalg.transfer_cut import transfer_cut

    drawing, cutting = spawn(how.seed, 2)
    n = relation.shape[0]
    count = max(min(how.options["n_landmarks"], n), k)
    landmarks = np.sort(np.random.default_rng(drawing).choice(n, count, replace=False))
    links = relation.landmark_links(landmarks, how.options["nearest"])
    init = how.options["init"]
    starts: dict[str, Any] = {"n_init": how.n_init, "max_iter": how.max_iter, "seed": cutting}
    found = transfer_cut(links, k, init=init, **starts)
    details = {"n_landmarks": count, "nearest": how.options["nearest"], "init": init}
    return BaseResult(labels=found.labels, details=details)


def _dbscan(relation: Relation, k: int | None, how: Settings) -> BaseResult:
    from sklearn.cluster import DBSCAN

    D = _distances(relation, how)
    count = min(_DENSITY_POINTS, D.shape[0])
    curve = how.pieces.get("curve", lambda: np.sort(np.partition(D, count - 1, 1)[:, count - 1]))
    eps = max(knee(curve), float(np.finfo(np.float32).tiny))
    labels = DBSCAN(eps=eps, min_samples=count, metric="precomputed").fit_predict(D)
    return BaseResult(labels=labels, details={"eps": eps, "min_samples": int(count)})


def _hdbscan(relation: Relation, k: int | None, how: Settings) -> BaseResult:
    from sklearn.cluster import HDBSCAN

    n = relation.shape[0]
    least = min(how.options["min_cluster_size"], n)
    if least < 2:
        return BaseResult(labels=np.zeros(n, dtype=np.int32))
    D = _distances(relation, how)
    model = HDBSCAN(min_cluster_size=least, metric="precomputed", copy=True)
    return BaseResult(labels=model.fit_predict(D), details={"min_cluster_size": int(least)})


@dataclass(frozen=True)
class Form:
    """A base clusterer on distances: how it runs, and whether a graph of some pairs is enough."""

    run: Callable[..., BaseResult]
    graphs: bool = False


#: The base clusterers that need no features, by name.
FORMS: dict[str, Form] = {
    "single": Form(partial(_linkage, linkage="single"), graphs=True),
    "average": Form(partial(_linkage, linkage="average")),
    "complete": Form(partial(_linkage, linkage="complete")),
    "genie": Form(_genie, graphs=True),
    "kmedoids": Form(_kmedoids),
    "spectral": Form(_spectral, graphs=True),
    "landmark_spectral": Form(_landmark_spectral),
    "dbscan": Form(_dbscan),
    "hdbscan": Form(_hdbscan),
}


# -- what a generator asks for --------------------------------------------------------------------


def refuse_columns(columns: Any) -> None:
    """Refuse a choice among columns of features: a matrix between points does not have them."""
    if columns != "all":
        raise ValueError(
            f"columns={columns!r} chooses among features, but X is a matrix between points "
            "(metric='precomputed'); use columns='all', and rows=('subsample', 0.8) for members "
            "that differ."
        )


def prepared(turns: Sequence[Turn], relation: Relation) -> list[Turn]:
    """Return the turns of a generator on a matrix of distances or similarities.

    Parameters
    ----------
    turns : list of Turn
        As for features.
    relation : Relation
        The input.

    Returns
    -------
    list of Turn
    """
    return [_on_relation(turn, relation) for turn in turns]


def _on_relation(turn: Turn, relation: Relation) -> Turn:
    name = turn.algorithm.name
    estimator = getattr(turn.algorithm.run, "keywords", {}).get("estimator")
    if estimator is not None:
        return replace(turn, algorithm=_foreign(turn.algorithm, estimator, relation))
    form = FORMS.get(name)
    if form is None:
        raise ValueError(
            f"algorithm={name!r} needs features, but X is a matrix between points "
            f"(metric='precomputed'); use {_listed(relation.is_graph)}, or the preset "
            "diverse_precomputed."
        )
    if relation.is_graph and not form.graphs:
        raise ValueError(
            f"algorithm={name!r} needs the distances of all pairs, but X is a sparse graph; use "
            f"{_listed(True)}, or give a dense matrix."
        )
    if turn.kind is not None and "metric" in turn.kind.settings:
        raise ValueError(
            f"settings: {name} has a metric for features, but X is a matrix between points; leave "
            "'metric' out."
        )
    return replace(turn, algorithm=replace(turn.algorithm, run=form.run))


def _listed(graphs: bool) -> str:
    names = [name for name, form in FORMS.items() if form.graphs or not graphs]
    return ", ".join(names[:-1]) + f" or {names[-1]}"


def _foreign(algorithm: Algorithm, estimator: Any, relation: Relation) -> Algorithm:
    """Return a scikit-learn clusterer that is set to take such a matrix."""
    parameter = "metric" if relation.kind == "distance" else "affinity"
    if estimator.get_params().get(parameter) != "precomputed":
        raise ValueError(
            f"{algorithm.name} would take X for features; give it with {parameter}='precomputed' "
            f"if it has that, or use {_listed(relation.is_graph)}."
        )
    return replace(algorithm, run=partial(_run_foreign, run=algorithm.run))


def _run_foreign(X: Relation, k: int | None, how: Settings, *, run: Any) -> BaseResult:
    return run(X.matrix, k, how)
