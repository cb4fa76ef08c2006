"""Finding the partitions of an ensemble that are equal up to the names of their clusters."""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b

import numpy as np
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED, smallest_type
from clusterscape.ensemble import Ensemble


def equal_partitions(ensemble: Ensemble) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each set of equal partitions, and every partition's set.

    Hard partitions are equal when they join the same points and have the same points as noise and
    as unsampled; soft ones when their memberships have the same columns, in any order. Clusters
    without points play no role. Only partitions of equal cluster sizes are read closely.

    ``Lifted.same`` also tells equal clusters, but there is one only after a lifting; this is asked
    before anything is computed, for measures of tables too, and heeds the points left out.
    """
    r = ensemble.n_partitions
    outlines = [_outline(ensemble, i) for i in range(r)]
    alike = Counter(outlines)
    sets: dict[tuple[bytes, bytes], int] = {}
    inverse = np.empty(r, dtype=np.int64)
    first = []
    for i, outline in enumerate(outlines):
        key = (outline, _digest(ensemble, i) if alike[outline] > 1 else b"")
        if key not in sets:
            sets[key] = len(sets)
            first.append(i)
        inverse[i] = sets[key]
    return np.array(first, dtype=np.int64), inverse


def _outline(ensemble: Ensemble, i: int) -> bytes:
    """Return what is quickly counted: unsampled points, noise points, sizes of the clusters."""
    codes = ensemble.labels[:, i]
    if i in ensemble.soft:
        missing = [np.count_nonzero(codes == value) for value in (UNSAMPLED, NOISE)]
        sizes = np.bincount(ensemble.soft[i].indices)
        kind = b"soft"
    else:
        counts = np.bincount(codes - np.int64(UNSAMPLED), minlength=2)
        missing, sizes, kind = counts[:2].tolist(), counts[2:], b"hard"
    return kind + np.array([*missing, *np.sort(sizes[sizes > 0])], dtype=np.int64).tobytes()


def _digest(ensemble: Ensemble, i: int) -> bytes:
    """Return the hash of the partition with its clusters numbered as they appear."""
    codes = ensemble.labels[:, i]
    if i in ensemble.soft:
        return _soft_digest(ensemble.soft[i], codes)
    n, k = codes.size, int(ensemble.n_clusters[i])
    first = np.full(k, n, dtype=np.int64)
    inside = np.flatnonzero(codes >= 0)[::-1]
    first[codes[inside]] = inside  # the last one written is the first point of the cluster
    number = np.empty(k + 2, dtype=smallest_type(max(k, 1)))
    number[np.argsort(first, kind="stable")] = np.arange(k)
    number[-1], number[-2] = NOISE, UNSAMPLED
    return blake2b(number[codes].astype(np.int32, copy=False).tobytes(), digest_size=32).digest()


def _soft_digest(membership: sparse.csr_matrix, codes: np.ndarray) -> bytes:
    columns = membership.tocsc()
    columns.sort_indices()
    parts = []
    for start, stop in zip(columns.indptr[:-1], columns.indptr[1:], strict=True):
        if stop > start:
            rows = columns.indices[start:stop].astype(np.int64)
            text = rows.tobytes() + columns.data[start:stop].tobytes()
            parts.append(blake2b(text, digest_size=32).digest())
    missing = np.minimum(codes, 0).astype(np.int8).tobytes()
    return blake2b(b"".join(sorted(parts)) + missing, digest_size=32).digest()
