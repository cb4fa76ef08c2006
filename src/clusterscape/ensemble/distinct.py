"""Which partitions of an ensemble are the same up to the names of their clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from hashlib import blake2b

import numpy as np
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED, smallest_type


def distinct_partitions(
    labels: np.ndarray, soft: Mapping[int, sparse.csr_matrix]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each set of equal partitions, and the set of every partition.

    Hard partitions are equal when they join the same points and have the same points as noise and
    as unsampled; soft ones when their memberships have the same columns, in any order. A soft
    partition whose memberships are all 0 or 1 counts as a hard one. Clusters without points play no
    role. The time is O(n r): only partitions with equal cluster sizes are read a second time.

    Parameters
    ----------
    labels : (n, r) array
        Codes, -1 for noise and -2 for unsampled.
    soft : mapping
        CSR membership of each soft partition, by position.

    Examples
    --------
    >>> first, groups = distinct_partitions(np.array([[0, 1, 0], [1, 0, 0], [1, 0, 1]]), {})
    >>> first, groups
    (array([0, 2]), array([0, 0, 1]))
    """
    r = labels.shape[1]
    fuzzy = {i: matrix for i, matrix in soft.items() if (matrix.data != 1).any()}
    outlines = [_outline(labels[:, i], fuzzy.get(i)) for i in range(r)]
    alike = Counter(outlines)
    groups: dict[tuple[bytes, bytes], int] = {}
    inverse = np.empty(r, dtype=np.int64)
    first = []
    for i, outline in enumerate(outlines):
        digest = b""
        if alike[outline] > 1:
            digest = (
                _soft_digest(fuzzy[i], labels[:, i]) if i in fuzzy else _hard_digest(labels[:, i])
            )
        if (outline, digest) not in groups:
            groups[outline, digest] = len(groups)
            first.append(i)
        inverse[i] = groups[outline, digest]
    return np.array(first, dtype=np.int64), inverse


def _outline(codes: np.ndarray, soft: sparse.csr_matrix | None) -> bytes:
    """Return what is quickly counted: unsampled points, noise points, sizes of the clusters."""
    counts = np.bincount(codes - np.int64(UNSAMPLED), minlength=2)
    sizes = counts[2:] if soft is None else np.bincount(soft.indices)
    kind = b"hard" if soft is None else b"soft"
    return kind + np.array([*counts[:2], *np.sort(sizes[sizes > 0])], dtype=np.int64).tobytes()


def _hard_digest(codes: np.ndarray) -> bytes:
    """Return the hash of a partition with its clusters numbered as they appear."""
    codes = np.ascontiguousarray(codes)  # a column of the label matrix is read several times
    n, k = codes.size, int(codes.max(initial=-1)) + 1
    first = np.full(k, n, dtype=np.int64)
    inside = np.flatnonzero(codes >= 0)[::-1]
    first[codes[inside]] = inside  # the last one written is the first point of the cluster
    number = np.empty(k + 2, dtype=smallest_type(max(k, 1)))
    number[np.argsort(first, kind="stable")] = np.arange(k)
    number[-1], number[-2] = NOISE, UNSAMPLED
    return blake2b(number[codes].astype(np.int32, copy=False).tobytes(), digest_size=32).digest()


def _soft_digest(membership: sparse.csr_matrix, codes: np.ndarray) -> bytes:
    """Return the hash of the set of a membership's columns, and of the points left out."""
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
