"""Members on samples: who clusters which sample, and the one pass that gives all points labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.block_files import BlockFiles, BlockFolder, finished_block, write_block
from clusterscape._core.rows import RowSource
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.ensemble.inputs import Partition
from clusterscape.generate.algorithms import Pieces
from clusterscape.generate.assign import Assigner, Clustered, Fitted, build_assigner, label_type
from clusterscape.generate.features import Features, Matrix
from clusterscape.generate.members import Outcome, Work
from clusterscape.generate.plan import Member, draw_sample, sample_seed

_AT_HOME = 2**26  # bytes of labels up to which this process alone reads them: messages cost more

Task = tuple[Work, Member]
Samples = dict[tuple[int, int], Work]


def dealt(
    work: Work, members: Sequence[Member], root: SeedSequence, known: Samples
) -> tuple[list[Task], Samples]:
    """Return every member with the points that it clusters: all of them, or its sample.

    Members of one sample share one :class:`Work`, and with it graphs and trees. ``known`` are
    samples that other members of the same run were given before, and what these share.
    """
    n = work.views[0].shape[0]
    places = {(m.group, int(m.rows[1])) for m in members if m.is_sampled} - set(known)
    drawn = {place: draw_sample(n, place[1], sample_seed(root, place[0])) for place in places}
    fresh = _all_sampled(work, drawn)
    samples: Samples = {}
    tasks = []
    for member in members:
        if not member.is_sampled:
            tasks.append((work, member))
            continue
        place = (member.group, int(member.rows[1]))
        if place not in samples:
            samples[place] = (
                replace(known[place], turns=work.turns) if place in known else fresh[place]
            )
        tasks.append((samples[place], member))
    return tasks, known | samples


def _all_sampled(work: Work, drawn: Mapping[Any, np.ndarray]) -> Samples:
    """Return what the members of every sample see; rows in blocks are read once for all."""
    if not drawn or not any(isinstance(X, RowSource) for X in work.views):
        return {place: _sampled(work, rows, work.views) for place, rows in drawn.items()}
    every = np.unique(np.concatenate(list(drawn.values())))
    views = tuple(X[every] for X in work.views)
    return {
        place: _sampled(work, rows, views, np.searchsorted(every, rows))
        for place, rows in drawn.items()
    }


def _sampled(
    work: Work, rows: np.ndarray, views: tuple[Matrix, ...], places: np.ndarray | None = None
) -> Work:
    return replace(
        work,
        # A copy: a row of a memory map must not keep its file open.
        views=tuple(_rows_of(X, rows if places is None else places) for X in views),
        weights=None if work.weights is None else work.weights[rows],
        pieces=tuple(Pieces() for _ in work.views),
    )


def _rows_of(X: Matrix, rows: np.ndarray) -> Matrix:
    return X[rows] if sparse.issparse(X) else np.array(X[rows], order="C", subok=False)


def assigner_of(
    tasks: Sequence[Task], outcomes: Sequence[Outcome], root: SeedSequence, features: Features
) -> Assigner:
    """Return what gives points the labels of the members."""
    parts: dict[int, list[int]] = {}
    for i, (work, _) in enumerate(tasks):
        parts.setdefault(id(work), []).append(i)
    clustered = []
    for places in parts.values():
        work, first = tasks[places[0]]
        members = [_fitted(i, tasks[i][1], outcomes[i]) for i in places]
        seed = sample_seed(root, first.group)
        clustered.append(Clustered(work.views, members, seed))
    return build_assigner(clustered, features.views, len(tasks))


def _fitted(index: int, member: Member, outcome: Outcome) -> Fitted:
    record = outcome.record
    labels = outcome.labels
    if sparse.issparse(labels):
        labels = outcome.partition("").codes
    return Fitted(
        index=index,
        view=member.view,
        labels=labels,
        n_clusters=record.n_clusters,
        model=outcome.model,
        metric="cosine" if record.compares_angles else "euclidean",
        failed=record.error is not None,
    )


def ensemble_of(
    members: Sequence[Member],
    outcomes: Sequence[Outcome],
    features: Features,
    weights: np.ndarray | None,
    *,
    assigner: Assigner | None,
    n_jobs: int | None,
) -> Ensemble:
    """Return the ensemble; members on samples get the labels of all points in one pass."""
    records = [outcome.record for outcome in outcomes]
    settings: dict[str, Any] = {
        "records": records,
        "sample_weight": weights,
        "index": features.index,
    }
    if not any(member.is_sampled for member in members):
        parts = [outcome.partition(f"p{i}") for i, outcome in enumerate(outcomes)]
        return Ensemble(parts, **settings)
    assert assigner is not None
    counts = np.array([record.n_clusters for record in records], dtype=np.int64)
    # Not filled here: the first to write a page of memory pays for it, and workers share that.
    labels = np.empty((features.n_points, len(members)), dtype=label_type(counts))
    sampled = {i for i, member in enumerate(members) if member.is_sampled}
    assigner.fill(features.views, labels, n_jobs=n_jobs, members=sampled)
    soft = {}
    for i in set(range(len(members))) - sampled:
        part = outcomes[i].partition("")
        labels[:, i] = part.codes
        if part.soft is not None:
            soft[i] = part.soft
    parts = [
        Partition(f"p{i}", labels[:, i], int(counts[i]), None, soft.get(i))
        for i in range(len(members))
    ]
    return Ensemble(parts, labels=labels, **settings)


# -- rows in blocks ------------------------------------------------------------------------------


def blocked_ensemble_of(
    outcomes: Sequence[Outcome],
    source: RowSource,
    *,
    assigner: Assigner,
    folder: BlockFolder,
    progress: bool | None,
) -> BlockedEnsemble:
    """Return the ensemble of members on samples, its labels in files block by block.

    Blocks that the folder of a store holds already are not computed again.
    """
    records = [outcome.record for outcome in outcomes]
    counts = np.array([record.n_clusters for record in records], dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    kind = label_type(counts)
    folder.check(source.workers)
    home = folder.inner(f"labels-{_digest(assigner, source)}")
    found = source.workers.map(
        _write_labels, source, (assigner, offsets, home), label="labelling", progress=progress
    )
    shape = (len(source), len(records))
    blocks = BlockFiles(home, "labels", shape=shape, dtype=kind, bounds=source.bounds, keep=folder)
    if blocks.nbytes > _AT_HOME:
        blocks.workers = source.workers
    # In the order of the blocks; these are whole numbers, and their sums exact.
    sizes = np.sum([part[0] for part in found], axis=0)
    lowest = np.min([part[1] for part in found], axis=0)
    return BlockedEnsemble(blocks, counts, sizes=sizes, lowest=lowest, records=records)


def _write_labels(
    i: int, block: np.ndarray, assigner: Assigner, offsets: np.ndarray, home: str
) -> tuple[np.ndarray, np.ndarray]:
    """Write the labels of a block, unless they are there; return sizes and lowest labels."""
    known = finished_block(home, i)
    if known is None:
        labels = assigner.assign(block)
        sizes = np.zeros(int(offsets[-1]))
        kernels.labels.sizes(labels, offsets, np.ones(len(labels)), sizes)
        known = {
            "labels": labels,
            "sizes": sizes.astype(np.int64),
            "lowest": labels.min(axis=0, initial=0),
        }
        write_block(home, i, known)
    return known["sizes"], known["lowest"]


def _digest(assigner: Assigner, source: RowSource) -> str:
    """Return what tells the labels of one run from those of another."""
    digest = hashlib.sha256(source.survey.digest.encode())
    digest.update(source.bounds.tobytes())
    for rule in assigner.rules:
        for name, value in sorted(vars(rule).items()):
            digest.update(name.encode())
            digest.update(
                np.ascontiguousarray(value).tobytes()
                if isinstance(value, np.ndarray)
                else repr(value).encode()
            )
    return digest.hexdigest()[:16]
