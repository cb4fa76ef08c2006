"""Labels as an ensemble in memory and the same in blocks, for tests of what works on both."""

from __future__ import annotations

import numpy as np

from clusterscape import Ensemble
from clusterscape._core.block_files import SomeColumns
from clusterscape._core.rows import ArrayRows
from clusterscape.ensemble import BlockedEnsemble


def in_blocks(labels: np.ndarray, block_rows: int) -> tuple[Ensemble, BlockedEnsemble]:
    """Return an ensemble of labels (n, r), -1 noise and -2 unsampled, in memory and in blocks."""
    n, r = labels.shape
    memory = Ensemble.from_labels(labels)
    bounds = np.append(np.arange(0, n, block_rows), n)
    source = SomeColumns(ArrayRows(labels.astype(np.float32), bounds), np.arange(r), np.int8)
    blocked = BlockedEnsemble(
        source,
        memory.n_clusters,
        sizes=memory.cluster_sizes().astype(np.int64),
        lowest=labels.min(axis=0),
        records=memory.records,
        names=memory.names,
    )
    assert blocked == memory
    return memory, blocked


def shaken(
    n: int, r: int, *, noise: float = 0.0, unsampled: float = 0.0, seed: int = 0
) -> np.ndarray:
    """Return partitions that are three groups with a seventh of the points elsewhere."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 3, n)
    labels = np.empty((n, r), dtype=np.int64)
    for i in range(r):
        k = int(rng.integers(3, 6))
        labels[:, i] = rng.permutation(k)[groups]
        elsewhere = rng.random(n) < 0.15
        labels[elsewhere, i] = rng.integers(0, k, elsewhere.sum())
        labels[rng.random(n) < noise, i] = -1
        labels[rng.random(n) < unsampled, i] = -2
    return labels
