"""Random ensembles, and what they mean when every pair of points is looked at."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from clusterscape import Ensemble


@st.composite
def ensembles(
    draw,
    *,
    max_points=9,
    max_partitions=5,
    noise=True,
    unsampled=True,
    soft=True,
    weighted=True,
    min_points=1,
):
    """Small ensembles with everything that an ensemble may hold."""
    n = draw(st.integers(min_points, max_points))
    r = draw(st.integers(1, max_partitions))
    lowest = -2 if unsampled else (-1 if noise else 0)
    values = [v for v in range(lowest, 4) if v != -1 or noise]
    parts = []
    for _ in range(r):
        if soft and draw(st.booleans()) and draw(st.booleans()):
            k = draw(st.integers(1, 3))
            matrix = np.array(
                draw(
                    st.lists(
                        st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=n, max_size=n
                    )
                ),
                float,
            )
            total = matrix.sum(axis=1, keepdims=True)
            if not noise:
                matrix[total[:, 0] == 0] = 1.0
                total = matrix.sum(axis=1, keepdims=True)
            matrix = np.divide(matrix, total, out=np.zeros_like(matrix), where=total > 0)
            if unsampled:
                matrix[np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))] = np.nan
            parts.append(matrix)
        else:
            parts.append(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)))
    weights = sample_weight = None
    if weighted and draw(st.booleans()):
        weights = draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=r, max_size=r))
        sample_weight = draw(st.lists(st.sampled_from([1.0, 1.5, 3.0]), min_size=n, max_size=n))
    return Ensemble.from_labels(parts, weights=weights, sample_weight=sample_weight)


def rows_of(ensemble, i):
    """Return (memberships, sampled) of partition i as plain dense arrays."""
    codes = ensemble.labels[:, i]
    if i in ensemble.soft:
        dense = ensemble.soft[i].toarray()
    else:
        dense = np.zeros((ensemble.n_points, int(ensemble.n_clusters[i])))
        for x, code in enumerate(codes):
            if code >= 0:
                dense[x, code] = 1.0
    return dense, codes != -2


def brute_force_coassociation(ensemble):
    """Return (counts, fractions): co-occurrences, and co-occurrences over co-samplings."""
    n = ensemble.n_points
    together, sampled = np.zeros((n, n)), np.zeros((n, n))
    for i in range(ensemble.n_partitions):
        membership, seen = rows_of(ensemble, i)
        for x in range(n):
            for y in range(n):
                if seen[x] and seen[y]:
                    sampled[x, y] += ensemble.weights[i]
                    together[x, y] += ensemble.weights[i] * float(membership[x] @ membership[y])
    return together, np.divide(together, sampled, out=np.zeros((n, n)), where=sampled > 0)
