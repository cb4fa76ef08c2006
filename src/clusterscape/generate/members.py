"""One member of an ensemble: draw its rows and columns, cluster, and record what came of it."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

import numpy as np
from scipy import sparse

from clusterscape._core import store as _store
from clusterscape._core.labels import NOISE, UNSAMPLED, smallest_type
from clusterscape._core.parallel import parallel_map
from clusterscape._core.seeds import describe
from clusterscape._core.warnings import hear_warnings
from clusterscape._core.workers import cluster_threads
from clusterscape.ensemble.inputs import Partition, check_codes, read_membership
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.generate.algorithms import BaseResult, Pieces, Settings
from clusterscape.generate.features import Features, Matrix
from clusterscape.generate.kinds import Turn
from clusterscape.generate.plan import (
    Member,
    child,
    describe_rows,
    draw_basis,
    draw_columns,
    draw_rows,
)

T = TypeVar("T")

# Posteriors below this are taken as zero: they change no sum of a row beyond rounding, and
# without them a soft partition of many components stays sparse.
MEMBERSHIP_FLOOR = 1e-12

_PER_CLUSTER = (
    "centers",
    "directions",
    "means",
    "precisions",
    "variances",
    "log_weights",
)  # of a model
_MODEL = "model_"  # before the names of its arrays in a store
_BUNDLES = 3  # of members for each worker of a cluster
_MODEL_ENTRIES = 2**18  # of a member's model at most


@dataclass(frozen=True)
class Work:
    """What all members of a run share."""

    views: tuple[Matrix, ...]
    weights: np.ndarray | None
    turns: tuple[Turn, ...]
    init: str
    n_init: int
    max_iter: int
    generator: str
    store: str | None = None
    pieces: tuple[Pieces, ...] = ()  # one for each view


@dataclass(frozen=True)
class Outcome:
    """One finished member: the codes of its points or a CSR membership, and its record.

    ``model`` are the arrays by which it assigns other points (see :mod:`~.assign`), if any. Of a
    member on a sample the codes are those of the sample.
    """

    labels: Any
    record: PartitionRecord
    model: Mapping[str, np.ndarray] = field(default_factory=dict)

    def partition(self, name: str) -> Partition:
        """Return the partition in the form that ensembles are made of."""
        if sparse.issparse(self.labels):
            return read_membership(self.labels, name)
        return Partition(name, self.labels, self.record.n_clusters)


def run_member(task: tuple[Work, Member]) -> Outcome:
    """Compute one member; a failure is an outcome with its reason, not an exception."""
    work, member = task
    started = time.perf_counter()
    n = work.views[0].shape[0]
    details: dict[str, Any] = {}
    changes: dict[str, Any] = {}
    labels: Any
    model: Mapping[str, np.ndarray] = {}
    with hear_warnings() as heard:
        try:
            seen, result, changes["columns"] = _cluster(work, member)
            if result.membership is None:
                labels, values = _labels_of_all(result.labels, seen, n)
            else:
                labels = _membership_of_all(result.membership, seen, n)
                values = np.arange(labels.shape[1])
            changes["n_clusters"] = int(values.size)
            model = _kept(result.model, values)
            changes["cost"] = result.cost
            details = dict(result.details)
        except Exception as error:
            labels = np.full(n, UNSAMPLED, dtype=np.int8)
            changes = {"error": _reason(error)}
    if heard:
        details["warnings"] = list(heard)
    changes["seconds"] = time.perf_counter() - started
    outcome = Outcome(labels, _blank_record(work, member, details).replace(**changes), model)
    if work.store is not None:
        write_outcome(work.store, member.index, outcome)
    return outcome


def _cluster(work: Work, member: Member) -> tuple[np.ndarray | None, BaseResult, np.ndarray | None]:
    """Return the rows seen (None for all), what the clusterer found for them, and the columns."""
    turn = work.turns[member.algorithm]
    algorithm = turn.algorithm
    X = work.views[member.view]
    # Of a member on a sample the views are the rows of the sample.
    drawn = None if member.is_sampled else draw_rows(X.shape[0], member)
    weights = work.weights if algorithm.weights else None
    seen: np.ndarray | None = None
    keep: np.ndarray | None = None
    n_rows = X.shape[0]
    if drawn is not None:
        seen, counts = drawn
        n_rows = seen.size
        weights = None if weights is None else weights[seen]
        if algorithm.weights or counts.max() == 1:
            X = X[seen]
            if counts.max() > 1:
                weights = counts * (1.0 if weights is None else weights)
        else:
            # No weights: the clusterer sees a row as often as it was drawn.
            X, keep = X[np.repeat(seen, counts)], np.cumsum(counts) - counts
    if member.n_clusters is not None and member.n_clusters > n_rows:
        raise ValueError(
            f"{member.n_clusters} clusters were asked for, and the member sees {n_rows} "
            f"different rows"
        )
    shared = work.pieces[member.view] if drawn is None and work.pieces else Pieces()
    X, parts, shared = _seen_columns(X, member, shared)
    if sparse.issparse(X) and not algorithm.sparse:
        raise TypeError(
            f"{algorithm.name} does not take sparse data. Make X dense, project it with "
            f"columns=('project', dims), or use another algorithm"
        )
    seed = child(member.seed, "algorithm")
    how = Settings(
        seed,
        weights,
        work.init,
        work.n_init,
        work.max_iter,
        options=turn.settings(member.index),
        most_clusters=member.most_clusters,
        pieces=shared,
    )
    result = algorithm.run(X, member.n_clusters, how)
    if result.model:
        result = replace(result, model={**result.model, **parts})
    if keep is not None:
        result = replace(
            result,
            labels=None if result.labels is None else np.asarray(result.labels)[keep],
            membership=None if result.membership is None else result.membership[keep],
        )
    return seen, result, parts.get("columns")


def _seen_columns(
    X: Matrix, member: Member, shared: Pieces
) -> tuple[Matrix, dict[str, np.ndarray], Pieces]:
    """Return the features that a member sees, what they are made by, and what it may share.

    The parts are "columns", indices that were chosen, or "basis"; none for all columns.
    """
    if member.columns == "all":
        return X, {}, shared
    if member.columns[0] == "subset":
        chosen = draw_columns(X, member)
        return X[:, chosen], {"columns": chosen}, Pieces()

    def projected() -> tuple[Matrix, np.ndarray]:
        basis = draw_basis(X, member)
        # A sparse X times a thin dense matrix is dense and thin, so X itself never becomes dense.
        return np.asarray(X @ basis.astype(X.dtype)), basis

    if member.columns[0] == "project":
        Z, basis = projected()
        return Z, {"basis": basis}, Pieces()
    Z, basis = shared.get(member.columns, projected)
    return Z, {"basis": basis}, shared.get(("of", member.columns), Pieces)


def _kept(model: Mapping[str, np.ndarray], values: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return the model of the clusters that have points; empty where it would be large.

    Centres of many columns, and densities of more than some, cost more than landmarks do.
    """
    own = {name: array[values] if name in _PER_CLUSTER else array for name, array in model.items()}
    size = sum(own[name].size for name in (*_PER_CLUSTER, "basis") if name in own)
    return own if size <= _MODEL_ENTRIES else {}


def _labels_of_all(labels: Any, seen: np.ndarray | None, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes 0..k-1 of all points in the smallest type, and the label of each code."""
    found = np.asarray(labels)
    expected = n if seen is None else seen.size
    if found.shape != (expected,):
        raise ValueError(f"the clusterer gave labels of shape {found.shape} for {expected} rows")
    if found.dtype.kind not in "iu":
        raise TypeError(f"the clusterer gave labels of type {found.dtype}, not integers")
    if found.min() < NOISE:
        raise ValueError(
            f"the clusterer gave the label {found.min()}; below 0 only -1 (noise) has a meaning"
        )
    inside = found >= 0
    values, numbers = np.unique(found[inside], return_inverse=True)
    codes = np.full(n, UNSAMPLED, dtype=smallest_type(max(values.size, 1)))
    part = np.full(expected, NOISE, dtype=codes.dtype)
    part[inside] = numbers
    codes[slice(None) if seen is None else seen] = part
    return codes, values


def _membership_of_all(
    membership: np.ndarray, seen: np.ndarray | None, n: int
) -> sparse.csr_matrix:
    """Return the membership of all points; an unsampled row is marked by a NaN."""
    kept = np.where(membership < MEMBERSHIP_FLOOR, 0.0, membership)
    if seen is None:
        return sparse.csr_matrix(kept)
    full = np.zeros((n, kept.shape[1]))
    full[:, 0] = np.nan
    full[seen] = kept
    return sparse.csr_matrix(full)


def _blank_record(work: Work, member: Member, details: dict[str, Any]) -> PartitionRecord:
    algorithm = work.turns[member.algorithm].algorithm
    params: dict[str, Any] = {"n_clusters": member.n_clusters}
    if algorithm.starts:
        params |= {"n_init": work.n_init, "max_iter": work.max_iter}
    if isinstance(member.columns, tuple):
        params["columns"] = list(member.columns)
    if member.is_sampled:
        params["sample"] = {"size": int(member.rows[1]), "group": member.group}
    return PartitionRecord(
        generator=work.generator,
        algorithm=algorithm.name,
        params=params | details,
        seed=describe(member.seed),
        view=member.view,
        rows=describe_rows(member.rows),
    )


def write_outcome(store: str, index: int, outcome: Outcome) -> None:
    """Put a finished member into the store."""
    record = outcome.record
    arrays: dict[str, np.ndarray] = {}
    if sparse.issparse(outcome.labels):
        for part in ("data", "indices", "indptr"):
            arrays[part] = getattr(outcome.labels, part)
        arrays["shape"] = np.array(outcome.labels.shape, dtype=np.int64)
    else:
        arrays["codes"] = outcome.labels
    if record.columns is not None:
        arrays["columns"] = record.columns
    arrays |= {f"{_MODEL}{name}": array for name, array in outcome.model.items()}
    meta = record.as_dict() | {"seconds": record.seconds}
    _store.write_member(store, index, arrays=arrays, meta=meta)


def read_outcome(arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> Outcome:
    """Return the member that :func:`write_outcome` wrote."""
    labels = arrays.get("codes")
    if labels is None:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        labels = sparse.csr_matrix(parts, shape=tuple(arrays["shape"]))
        labels.check_format(full_check=True)
    else:
        check_codes(labels, meta["n_clusters"])
    model = {n.removeprefix(_MODEL): a for n, a in arrays.items() if n.startswith(_MODEL)}
    return Outcome(labels, PartitionRecord(**meta, columns=arrays.get("columns")), model)


def run_all(
    function: Callable[[T], Outcome],
    tasks: Sequence[T],
    *,
    store: str | os.PathLike[str] | None,
    described: Callable[[], Mapping[str, Any]],
    n_jobs: int | None,
    prefer: Literal["threads", "processes"],
    label: str,
    progress: bool | None,
) -> list[Outcome]:
    """Compute the members that the store does not hold yet, and return all in order.

    ``described`` gives the plan of the store; it is asked only when there is one. ``function``
    writes its outcome to the store itself, where it runs.
    """

    def run(finished: Mapping[int, Outcome]) -> list[Outcome]:
        waiting = [i for i in range(len(tasks)) if i not in finished]
        bundles = _bundles(tasks, waiting)
        computed = parallel_map(
            _run_bundle,
            [(function, [tasks[i] for i in bundle]) for bundle in bundles],
            n_jobs=n_jobs,
            prefer=prefer,
            label=label,
            progress=progress,
            done=len(finished),
        )
        found = dict(finished)
        for bundle, outcomes in zip(bundles, computed, strict=True):
            found |= dict(zip(bundle, outcomes, strict=True))
        return [found[i] for i in range(len(tasks))]

    if store is None:
        return run({})
    with _store.PartitionStore(store, described()) as kept:
        # Read before anything runs, so that a damaged file is told at once.
        return run({i: kept.read_as(i, read_outcome) for i in kept.finished()})


def _bundles(tasks: Sequence[Any], waiting: Sequence[int]) -> list[list[int]]:
    """Return the members that run together: one each, or on a cluster those of one sample.

    What members of a sample share is made once for those of a bundle, and the sample itself
    travels once.
    """
    workers = cluster_threads()
    if workers is None:
        return [[i] for i in waiting]
    most = max(1, -(-len(waiting) // (_BUNDLES * workers)))
    same: dict[int, list[int]] = {}
    for i in waiting:
        same.setdefault(id(tasks[i][0]) if isinstance(tasks[i], tuple) else i, []).append(i)
    return [
        part[start : start + most] for part in same.values() for start in range(0, len(part), most)
    ]


def _run_bundle(task: tuple[Callable[[T], Outcome], list[T]]) -> list[Outcome]:
    function, members = task
    return [function(member) for member in members]


def describe_run(
    n_partitions: int,
    features: Features,
    weights: np.ndarray | None,
    seed: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    """Return what decides the members, as plain JSON values: the plan of a store."""
    libraries = ("clusterscape", "numpy", "scipy", "scikit-learn", "numba")
    return {
        "n_partitions": int(n_partitions),
        "n_points": features.n_points,
        "X (sha256)": features.fingerprint(),
        "sample_weight (sha256)": None
        if weights is None
        else hashlib.sha256(weights.tobytes()).hexdigest(),
        **settings,
        "seed": seed,
        "versions": {name: importlib.metadata.version(name) for name in libraries},
    }


def _reason(error: Exception) -> str:
    """Return an exception as one line; compilers and solvers may write pages."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text if len(text) <= 400 else text[:397] + '...'}"
