"""An order of rows by what they say, not by how points are listed or clusters named."""

from __future__ import annotations

import numpy as np

from clusterscape.ensemble import Ensemble

_ROUNDS = 3  # after which rows that still look alike are left as they are
_PRIME = np.uint64(0x9E3779B97F4A7C15)


def content_order(ensemble: Ensemble) -> np.ndarray:
    """Return rows in an order that permuting points or partitions, or renaming, does not change.

    A row is known by its weight and by the rows that are with it in its clusters, as in the
    colouring of graphs: each row has a colour, a cluster the colours of its rows, and a row then
    those of its clusters. Rows that cannot be told apart so, such as those of symmetric data, stay
    in the order given, and ties among them are broken by it.

    Parameters
    ----------
    ensemble : Ensemble
        Hard partitions; their distinct rows, best.

    Returns
    -------
    (n,) array
        Positions of rows.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine.content_order import content_order
    >>> votes = Ensemble.from_labels([[0, 0, 0, 1], [0, 0, 1, 1]])
    >>> order = content_order(votes)
    >>> other = content_order(votes.subset([3, 1, 0, 2]))
    >>> bool((votes.labels[order] == votes.labels[[3, 1, 0, 2]][other]).all())
    True
    """
    colour = _ranks(ensemble.sample_weight)
    heard = _mixed(_ranks(ensemble.weights) + np.uint64(1))
    last = 0
    for _ in range(_ROUNDS):
        total = np.zeros(colour.size, dtype=np.uint64)
        seen = _mixed(colour + np.uint64(1))
        # One partition at a time, so that no second table of points and partitions is made.
        for labels, weight in zip(ensemble.labels.T, heard, strict=True):
            inside = np.flatnonzero(labels >= 0)
            own = labels[inside].astype(np.intp)
            clusters = np.zeros(int(own.max(initial=-1)) + 1, dtype=np.uint64)
            # Whole numbers that wrap around: the sums do not depend on the order of the terms.
            np.add.at(clusters, own, seen[inside])
            total[inside] += _mixed(_mixed(clusters) + weight)[own]
        order = np.lexsort((total, colour))
        colour = _refined(colour, total, order)
        before, last = last, int(colour.max(initial=0))
        if last == before:
            break  # another round would tell no more apart
    return order


def _refined(colour: np.ndarray, total: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the rank of each pair of numbers, given the order of the pairs."""
    differs = (np.diff(colour[order]) != 0) | (np.diff(total[order]) != 0)
    ranks = np.zeros(colour.size, dtype=np.uint64)
    ranks[order[1:]] = np.cumsum(differs)
    return ranks


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the rank of each value, the same for values that differ by rounding alone."""
    unit = float(np.max(values, initial=0.0)) or 1.0
    return np.unique(np.round(values / unit, 12), return_inverse=True)[1].astype(np.uint64)


def _mixed(values: np.ndarray) -> np.ndarray:
    """Return numbers whose sums tell apart what the values are."""
    out = (values ^ (values >> np.uint64(30))) * _PRIME
    out = (out ^ (out >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return out ^ (out >> np.uint64(31))
