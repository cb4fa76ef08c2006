"""Points with three partitions that only a spatial distance distinguishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clusterscape._core.params import Seed, checked
from clusterscape._core.seeds import RandomState, spawn

# Of 2D2C: points of each cluster, half the vector between the centres, standard deviations along x
# and y, and how many points of each cluster change sides. Four standard deviations lie between the
# centres.
_SIZES = (23, 22)
_HALF = np.array([-0.5, 1.2])
_SPREAD = np.array([1.0, 0.6])
_MOVED = 6

# Of 2D3C, x and y of eight points per cluster: two clusters side by side, the third far from both.
# The two points that neighbours exchange come first in their cluster, the two that the first and
# the third exchange come last.
_PLACED = """
2.5 1.3  2.7 2.1  1.8 0.9  1.9 1.7  1.6 2.5  1.2 1.9   0.9 1.1   0.5 1.6
3.9 1.8  4.1 1.0  4.7 2.5  4.8 1.5  5.0 0.7  5.4 2.0   5.6 1.2   6.1 1.7
8.3 7.0  8.6 7.9  8.9 6.6  9.1 7.4  9.3 8.3  9.6 6.9   9.8 7.8  10.1 7.3
"""


@dataclass(frozen=True, eq=False)
class Triple:
    """Points and three partitions of them: a reference, one near to it, and one far from it.

    Both others have the same contingency table with the reference, up to the order of clusters, so
    every measure that sees only sets of points finds them equally different from it.

    Attributes
    ----------
    X : ndarray of shape (n_points, 2)
        The points.
    reference : ndarray of shape (n_points,), int64
        The clusters that one sees (RP).
    near : ndarray of shape (n_points,), int64
        Some points moved to a cluster close by (FP, the first partition).
    far : ndarray of shape (n_points,), int64
        As many points moved to a cluster far away (SP, the second partition).

    See Also
    --------
    make_2d2c, make_2d3c : Make one.
    """

    X: np.ndarray
    reference: np.ndarray
    near: np.ndarray
    far: np.ndarray


@checked({"random_state": [Seed()]})
def make_2d2c(*, random_state: RandomState = 0) -> Triple:
    """Draw 2D2C: 45 points of two Gaussians, one above the other.

    Six points of each cluster change sides. In ``near`` they are those closest to the other cluster
    in a projection on the y-axis, so that they lie along the border; in ``far`` those most distant
    from it in a projection on the x-axis, at the outer sides (after Figure 3.1 of Raman's
    dissertation, whose points are not printed).

    Parameters
    ----------
    random_state : int, generator or None
        The seed. Over many seeds the lifted distances and ``cdistance`` always find ``near`` closer
        to the reference; ``adco``, which counts points in bins, in about 95 of 100.

    Returns
    -------
    Triple

    See Also
    --------
    make_2d3c : the same with three clusters and fixed points.

    References
    ----------
    .. [1] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.compare import rand_distance
    >>> from clusterscape.datasets import make_2d2c
    >>> triple = make_2d2c()
    >>> triple.X.shape
    (45, 2)
    >>> for other in (triple.near, triple.far):
    ...     print(round(rand_distance(triple.reference, other), 4))
    0.4
    0.4
    """
    (seed,) = spawn(random_state, 1)
    reference = np.repeat([0, 1], _SIZES)
    side = np.where(reference == 0, -1.0, 1.0)
    X = np.random.default_rng(seed).normal(size=(len(reference), 2)) * _SPREAD
    X += side[:, None] * _HALF
    # The lower cluster lies to the right: its highest points are near the other cluster, and its
    # rightmost are far. Of the upper cluster they are the lowest and the leftmost.
    near, far = (_with_exchanged(reference, -side * X[:, axis]) for axis in (1, 0))
    return Triple(X, reference, near, far)


def _with_exchanged(reference: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return two clusters after their points of the highest scores have changed sides."""
    labels = reference.copy()
    for cluster in (0, 1):
        members = np.flatnonzero(reference == cluster)
        labels[members[np.argsort(score[members])[-_MOVED:]]] = 1 - cluster
    return labels


def make_2d3c() -> Triple:
    """Return 2D3C: 24 points placed by hand, three clusters of eight.

    Two clusters are neighbours, the third is far from both. In ``near`` the neighbours exchange the
    two points of each that are closest to the other; in ``far`` the first and the third exchange
    the two points of each that are most distant from the other. (The points of the data of this
    name in Raman's dissertation are not printed; these are our own.)

    Returns
    -------
    Triple

    See Also
    --------
    make_2d2c : the same with two clusters, drawn from Gaussians.

    References
    ----------
    .. [1] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013.

    Examples
    --------
    >>> from clusterscape.compare import nmi
    >>> from clusterscape.datasets import make_2d3c
    >>> triple = make_2d3c()
    >>> triple.X.shape
    (24, 2)
    >>> for other in (triple.near, triple.far):
    ...     print(round(nmi(triple.reference, other), 4))
    0.6588
    0.6588
    """
    reference = np.repeat([0, 1, 2], 8)
    near, far = reference.copy(), reference.copy()
    near[[0, 1]], near[[8, 9]] = 1, 0
    far[[6, 7]], far[[22, 23]] = 2, 0
    X = np.array(_PLACED.split(), dtype=np.float64).reshape(-1, 2)
    return Triple(X, reference, near, far)
