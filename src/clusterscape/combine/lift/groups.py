"""Clusters as vectors of the lifted space: the distinct ones, trees of them, and their centres."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import squareform

from clusterscape import kernels
from clusterscape._core.labels import canonical
from clusterscape.ensemble import Ensemble
from clusterscape.lifting.lifted import Lifted
from clusterscape.linalg.rowspace import RowSpace

LINKAGES = ("ward", "average", "complete", "single")

# Scores that differ by less than this share are equal, so that rounding decides nothing.
_TIE = 1e-9


@dataclass(frozen=True)
class Clusters:
    """The clusters of an ensemble, each set of points once.

    Attributes
    ----------
    first : (s,) array
        A cluster of every distinct vector, in an order that depends on neither the names of the
        clusters nor the order of the partitions.
    place : (D,) array
        The distinct vector of every cluster.
    column : (D,) array
        Its column of B.
    weight, vote : (D,) arrays
        Weight of the column times the share of the points that is in the cluster; and the weight
        of the column alone.
    """

    first: np.ndarray
    place: np.ndarray
    column: np.ndarray
    weight: np.ndarray
    vote: np.ndarray

    @classmethod
    def of(cls, lifted: Lifted, ensemble: Ensemble, weights: np.ndarray) -> Clusters:
        """Return the clusters that were lifted, by the weights of the columns of B."""
        column = ensemble.offsets[lifted.partition] + lifted.cluster
        vote = weights[column]
        share = ensemble.cluster_sizes()[column] / ensemble.sample_weight.sum()
        # What is equal the lifting says; these sums of random numbers of the points, which know no
        # names, only give an order.
        marks = np.random.default_rng(0).random(ensemble.n_points)
        sums = ensemble.with_weights(sample_weight=marks).cluster_sizes()[column]
        _, first, same = np.unique(lifted.same, return_index=True, return_inverse=True)
        order = np.argsort(sums[first], kind="stable")
        place = np.empty(first.size, dtype=np.int64)
        place[order] = np.arange(first.size)
        return cls(first[order], place[same], column, vote * share, vote)

    def total(self, what: np.ndarray) -> np.ndarray:
        """Return the sum over the clusters of each distinct vector."""
        return np.bincount(self.place, weights=what, minlength=self.first.size)


@dataclass(frozen=True)
class Groups:
    """Groups of clusters and their centres, which are weighted means of unit vectors.

    Attributes
    ----------
    of : (D,) array
        Group of every cluster.
    coefficients : (D, G) array
        The centres as combinations of the clusters' unit vectors.
    norms : (G,) array
        Length of the centres.
    cost : float
        LIFT-SSD: weighted sum of the squared distances of the clusters to their centres.
    """

    of: np.ndarray
    coefficients: np.ndarray
    norms: np.ndarray
    cost: float

    @classmethod
    def make(
        cls, lifted: Lifted, clusters: Clusters, labels: np.ndarray, *, normalize: bool
    ) -> Groups:
        """Return the groups that the labels of the distinct vectors make, the heaviest first."""
        labels = canonical(labels, clusters.total(clusters.weight))
        of, count = labels[clusters.place], int(labels.max()) + 1
        coefficients = np.zeros((of.size, count))
        coefficients[np.arange(of.size), of] = clusters.weight
        coefficients /= coefficients.sum(axis=0)
        squares, away = _centred(lifted, clusters, coefficients, labels)
        norms = np.sqrt(squares)
        if normalize:
            coefficients /= np.where(norms > 0, norms, 1.0)
            norms = np.where(norms > 0, 1.0, 0.0)
        return cls(of, coefficients, norms, float(clusters.total(clusters.weight) @ away))

    def renumbered(self, order: np.ndarray) -> Groups:
        """Return the same groups in another order."""
        number = np.empty(order.size, dtype=np.int64)
        number[order] = np.arange(order.size)
        return Groups(number[self.of], self.coefficients[:, order], self.norms[order], self.cost)


def _centred(
    lifted: Lifted, clusters: Clusters, coefficients: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared lengths of centres, and the distinct vectors' squared distances to them.

    Exact products give both, so that a tree never asks for coordinates.
    """
    first = clusters.first
    if lifted.vectors is not None:
        centres = coefficients.T @ lifted.vectors
        away = ((lifted.vectors[first] - centres[labels]) ** 2).sum(axis=1)
        return (centres**2).sum(axis=1), away
    assert lifted.gram is not None
    inner = lifted.gram @ coefficients
    squares = np.maximum((coefficients * inner).sum(axis=0), 0.0)
    away = 1.0 - 2.0 * inner[first, labels] + squares[labels]
    return squares, np.maximum(away, 0.0)


def ballot(ensemble: Ensemble, clusters: Clusters, groups: Groups) -> np.ndarray:
    """Return the (n, G) votes: how much weight of partitions puts a point in a group's clusters."""
    table = np.zeros((int(ensemble.offsets[-1]), groups.norms.size))
    table[clusters.column, groups.of] = clusters.vote
    return RowSpace.of(ensemble).product(table)


def shares(scores: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels and memberships that scores stand for.

    Memberships are proportional to the scores that are positive. A point without one belongs to
    the centre nearest to it. Of equal scores the first group wins.
    """
    top = scores.max(axis=1, keepdims=True)
    labels = np.argmax(scores >= top - _TIE * np.abs(top), axis=1)
    positive = np.maximum(scores, 0.0)
    nobody = np.flatnonzero(top[:, 0] <= 0)
    if nobody.size > 0:
        # |phi - v|^2 = 1 - 2 <phi, v> + |v|^2
        labels[nobody] = np.argmin(norms**2 - 2.0 * scores[nobody], axis=1)
        positive[nobody, labels[nobody]] = 1.0
    return labels, positive / positive.sum(axis=1, keepdims=True)


def cut_tree(
    squared: np.ndarray, weight: np.ndarray, n_groups: int, *, linkage: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the groups of a linkage, in which rows have weights, and all heights.

    Heights ascend. They are distances, for Ward's method growths of the weighted sum
    of squares.
    Overwrites ``squared``, the squared distances of the rows.
    """
    m = weight.size
    # Means over two rows that weigh nothing would be 0 / 0, which no search for a neighbour ends.
    weight = np.maximum(weight.astype(np.float64), 1e-200)
    if linkage == "ward":
        pairs, heights = ward(squared, weight)
    else:
        distances = np.sqrt(squareform(squared, checks=False))
        method = ("single", "average", "complete").index(linkage)
        pairs, heights = kernels.linkage.agglomerate(distances, weight, method)
    order = np.argsort(heights, kind="stable")
    groups = kernels.linkage.cut(pairs[order], max(m - n_groups, 0), m)
    return np.asarray(groups), heights[order]


def ward(squared: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the merges of Ward's method for weighted rows, unsorted, and their heights.

    The height of a merge is the growth of the weighted sum of squares, which for integer weights
    is that of the tree of copies. Two clusters that are nearest to each other merge sooner or
    later, so a chain of nearest neighbours finds all merges; overwrites ``squared``.
    """
    # kernels.linkage.agglomerate has no Ward's method: what it keeps of a merge are the shares of
    # the two parts, and here the weight of the third cluster and the height of the merge count too.
    m = weights.size
    mass = weights.astype(np.float64)
    growth = squared
    growth *= mass[:, None] * mass / (mass[:, None] + mass)
    # Rounding may differ on the two sides of the diagonal, and a chain could then run for ever.
    for row in range(m):
        growth[row + 1 :, row] = growth[row, row + 1 :]
    np.fill_diagonal(growth, np.inf)
    pairs, heights = np.empty((m - 1, 2), dtype=np.int64), np.empty(m - 1)
    alive = np.ones(m, dtype=bool)
    chain: list[int] = []
    for merge in range(m - 1):
        if not chain:
            chain.append(int(np.argmax(alive)))
        while True:
            x = chain[-1]
            y = int(np.argmin(growth[x]))
            # The cluster below on the chain wins ties, or the chain would run in circles.
            if len(chain) > 1 and growth[x, chain[-2]] <= growth[x, y]:
                y = chain[-2]
                break
            chain.append(y)
        del chain[-2:]
        pairs[merge], heights[merge] = (x, y), growth[x, y]
        # What joining a third cluster would cost, of weights a, b and c (Lance and Williams).
        a, b = mass[x], mass[y]
        line = (mass + a) * growth[x] + (mass + b) * growth[y] - mass * growth[x, y]
        line /= mass + a + b
        alive[x] = False
        line[~alive] = np.inf
        line[y] = np.inf
        growth[y], growth[:, y] = line, line
        growth[x], growth[:, x] = np.inf, np.inf
        mass[y] = a + b
    return pairs, heights
