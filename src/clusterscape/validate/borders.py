"""How clear the borders between clusters are, as seen by near neighbours.

A cut through one cloud separates neighbours in a share that depends on the number of points and on
the dimension of the cloud: few in the plane, a third of them in ten dimensions. So a share says
little by itself, and is compared here with the one to be expected. Between two clusters there are
also fewer points than inside of them, while a cut through one cloud runs where its points are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from clusterscape.linalg.neighbors import nearest_neighbors

# A cut through the middle of a round cloud of m points in d dimensions separates about this share
# of the q nearest neighbours of its points, times (q / m) ** (1 / d).
_THROUGH = 0.4
_CLEAR = 4.0  # borders that are clearer than this (a share of 1 in 50) are all alike
_DEEPEST = 3.0  # log ratio of densities beyond which nothing is gained
_UNSURE = 1.0  # points whose links are added to each border: a few may be missing by chance
# Up to this many times the distance of the last but one neighbour others are near as well, of this
# many times as many.
_BEYOND, _WIDE = 3.0, 4
_SIDE = 0.1  # of the links of a border that a side must have for its density to count


@dataclass(frozen=True)
class Neighborhoods:
    """The near neighbours of every point, how far they reach, and of what dimension they are.

    Attributes
    ----------
    near : (n, q) array
        Nearest other points; the point itself where there is none.
    radius : (n,) array
        Logarithm of the distance of the farthest of them.
    linked : (n, w) array
        Up to four times as many neighbours: those that are not much farther than the last but one,
        and the point itself in place of others.
    thinness : (n,) array
        Mean logarithm of that distance over those of the others, whose mean is the inverse of the
        dimension.
    """

    near: np.ndarray
    radius: np.ndarray
    linked: np.ndarray
    thinness: np.ndarray

    @classmethod
    def of(
        cls, X: Any, count: int, *, metric: Literal["euclidean", "cosine"] = "euclidean"
    ) -> Neighborhoods:
        """Return those of data.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
            The features.
        count : int
            Neighbours of each point.
        metric : {"euclidean", "cosine"}
            Distance of the points.

        Returns
        -------
        Neighborhoods
        """
        wide = min(_WIDE * count, np.shape(X)[0] - 1)
        distances, near = nearest_neighbors(X, wide, metric=metric)
        if metric == "cosine":
            distances = np.sqrt(2.0 * distances)  # of the points on the unit sphere
        last = distances[:, max(0, count - 2), None]
        rows = np.arange(len(near))[:, None]
        linked = np.where(distances <= _BEYOND * last, near, rows)
        near, distances = near[:, :count], distances[:, :count]
        positive = distances[distances > 0]
        least = float(positive.min()) if positive.size else 1.0
        logs = np.log(np.maximum(distances, least))  # equal points are as near as the nearest
        others = logs[:, :-1] if logs.shape[1] > 1 else logs
        return cls(near, logs[:, -1], linked, (logs[:, -1:] - others).mean(axis=1))

    @classmethod
    def none(cls, n: int) -> Neighborhoods:
        """Return those of points of which nothing is known: no point is near another."""
        own = np.arange(n)[:, None]
        return cls(own, np.zeros(n), own, np.ones(n))

    def apart(self) -> int:
        """Return the number of groups of which no point has a near neighbour outside.

        Near are all neighbours but the last, and others that are not farther than 3 times those.
        So a group of as many points as there are neighbours is one of its own, and a chance gap
        makes none.

        Returns
        -------
        int
            1 where nothing is known of the points.
        """
        n, w = self.linked.shape
        if w == 1:
            return 1
        links = (np.ones(n * w), (np.repeat(np.arange(n), w), self.linked.ravel()))
        return int(connected_components(sparse.csr_matrix(links, shape=(n, n)), directed=False)[0])

    def separated(self, labels: np.ndarray) -> float:
        """Return the share of near neighbours in other clusters, as a mean over the clusters."""
        apart = (labels[self.near] != labels[:, None]).mean(axis=1)
        sizes = np.bincount(labels)
        shares = np.bincount(labels, weights=apart)[sizes > 0] / sizes[sizes > 0]
        return float(shares.mean())

    def clearness(self, labels: np.ndarray) -> float:
        """Return how clear the borders of a partition are, the unclear ones first.

        A border between two clusters counts with the log ratio of the share of neighbours that a
        cut through one cloud of their size and dimension would separate, and the share that it
        separates; plus the log ratio of the density of the points of a cluster and of those at the
        border, on the side where it is less. Of several borders of a cluster, and of the clusters,
        the unclear ones count most: exp(-clearness) is summed up over the borders of each cluster,
        and averaged over the clusters.

        Parameters
        ----------
        labels : (n,) array
            Cluster of each point.

        Returns
        -------
        float
            From 0, a cut through one cloud, to 4.
        """
        clusters, labels = np.unique(labels, return_inverse=True)
        found = self._borders(labels)
        if found.size == 0:
            return _CLEAR
        joined = np.log(clusters.size / 2) - np.logaddexp.reduce(-found)  # a border has two sides
        return float(np.clip(joined, 0.0, _CLEAR))

    def _borders(self, labels: np.ndarray) -> np.ndarray:
        """Return the clearness of each border; clusters are numbered without gaps."""
        k, q = int(labels.max()) + 1, self.near.shape[1]
        sizes = np.bincount(labels, minlength=k)
        thin = np.bincount(labels, weights=self.thinness, minlength=k) / sizes
        inside = np.array([np.median(self.radius[labels == c]) for c in range(k)])
        own, other = np.repeat(labels, q), labels[self.near.ravel()]
        cross = own != other
        pair = own[cross] * k + other[cross]
        sparser = np.repeat(self.radius - inside[labels], q)[cross]
        links = np.bincount(pair, minlength=k * k).reshape(k, k)
        depth = np.bincount(pair, weights=sparser, minlength=k * k).reshape(k, k)
        a, b = np.triu_indices(k, 1)
        both = links[a, b] + links[b, a]
        a, b, both = a[both > 0], b[both > 0], both[both > 0]
        smaller = np.minimum(sizes[a], sizes[b])
        dimension = 2.0 / np.maximum(thin[a] + thin[b], 1e-3)
        expected = _THROUGH * np.minimum(1.0, q / smaller) ** (1.0 / dimension)
        sides = np.full((2, both.size), np.inf)
        for side, (i, j) in enumerate(((a, b), (b, a))):
            enough = links[i, j] >= _SIDE * both
            np.divide(depth[i, j], links[i, j], out=sides[side], where=enough)
        valley = np.clip(dimension * sides.min(axis=0), -_DEEPEST, _DEEPEST)
        return np.log(expected * 2 * q * smaller / (both + _UNSURE * q)) + valley
