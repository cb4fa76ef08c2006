"""How far a sample of partitions spreads: a ball around one of them, and what is sure in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from clusterscape._core.labels import canonical
from clusterscape._core.params import Choice, Integer, Number, Seed, checked
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.compare.density import pair_distances
from clusterscape.ensemble import Ensemble, as_ensemble

_METRICS = {"vi": "vi", "binder": "rand_distance"}


@dataclass(frozen=True, eq=False)
class CredibleBall:
    """The smallest ball around a partition that holds a share of a sample.

    Attributes
    ----------
    radius : float
        Largest distance of a partition in the ball.
    distances : (m,) array
        Distance of every sampled partition.
    inside : (m,) array of bool
        Which are in the ball.
    share : float
        Share of the sample, by weight, in the ball: at least the level.
    horizontal : (h,) array of int
        Positions of the partitions in the ball that are farthest from its centre.
    upper : (u,) array of int
        Of those with the fewest clusters in the ball, the farthest: what might be merged.
    lower : (l,) array of int
        Of those with the most clusters in the ball, the farthest: what might be split.

    See Also
    --------
    credible_ball : Make one.
    """

    radius: float
    distances: np.ndarray
    inside: np.ndarray
    share: float
    horizontal: np.ndarray
    upper: np.ndarray
    lower: np.ndarray

    def __repr__(self) -> str:
        """Say what the ball is; its arrays have an entry per sampled partition."""
        return (
            f"CredibleBall(radius={self.radius:.4g}, share={self.share:.4g}, "
            f"{int(self.inside.sum())} of {self.inside.size} partitions)"
        )


@checked({"metric": (Choice(*_METRICS),), "level": (Number(0, 1, open_low=True),)})
def credible_ball(
    labels: Any,
    sample: Any,
    *,
    metric: Literal["vi", "binder"] = "vi",
    level: float = 0.95,
) -> CredibleBall:
    """Smallest ball around a partition that holds a share of sampled ones, and its bounds.

    Parameters
    ----------
    labels : (n,) array
        The partition in the middle: a point estimate, such as that of
        :class:`clusterscape.combine.MedianPartition`.
    sample : Ensemble or (n, m) array
        Sampled partitions; their weights count.
    metric : {"vi", "binder"}
        Variation of information, or the share of pairs of points on which two partitions differ
        (Binder's loss).
    level : float
        Share of the sample that the ball holds at least.

    Returns
    -------
    CredibleBall

    See Also
    --------
    surest_subset : Points whose clustering the sample agrees on.
    PartitionSampler : Samples partitions.

    Notes
    -----
    The ball describes the sample: where chains have not met, it says little about partitions that
    none of them reached.

    References
    ----------
    .. [1] S. Wade and Z. Ghahramani. Bayesian cluster analysis: point estimation and credible
       balls. Bayesian Analysis 13(2), 559-626, 2018. doi:10.1214/17-BA1073

    Examples
    --------
    >>> from clusterscape.explore import credible_ball
    >>> sample = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 1, 2], [0, 1, 0, 1]]
    >>> ball = credible_ball([0, 0, 1, 1], sample, level=0.75)
    >>> ball.inside, round(ball.radius, 3), ball.lower
    (array([ True,  True,  True, False]), 0.347, array([2]))
    >>> ball
    CredibleBall(radius=0.3466, share=0.75, 3 of 4 partitions)
    """
    drawn = as_ensemble(sample, "sample").with_index(None)
    every = Ensemble.from_labels([labels]).concat(drawn)
    m = drawn.n_partitions
    pairs = np.column_stack([np.zeros(m, dtype=np.int64), np.arange(1, m + 1)])
    distances = np.maximum(pair_distances(every, pairs, _METRICS[metric]), 0.0)
    weights = drawn.weights / drawn.weights.sum()
    order = np.argsort(distances, kind="stable")
    # Sums of shares are rounded, and a level that is reached exactly must be seen as reached.
    count = int(np.searchsorted(np.cumsum(weights[order]), level - 1e-12)) + 1
    radius = float(distances[order[min(count, m) - 1]])
    inside = distances <= radius + 1e-12
    k = drawn.n_clusters

    def farthest(some: np.ndarray) -> np.ndarray:
        return np.flatnonzero(some & (distances >= distances[some].max() - 1e-12))

    return CredibleBall(
        radius=radius,
        distances=distances,
        inside=inside,
        share=float(weights[inside].sum()),
        horizontal=farthest(inside),
        upper=farthest(inside & (k == k[inside].min())),
        lower=farthest(inside & (k == k[inside].max())),
    )


@dataclass(frozen=True, eq=False)
class SurestSubset:
    """Points whose clustering a share of the sample agrees on.

    Attributes
    ----------
    labels : (n,) array
        Cluster of the points in the subset, numbered by decreasing size; -1 for the others.
    size : int
        Points in the subset.
    share : float
        Share of the sample, by weight, in which all of them are clustered so.
    order : (n,) array
        Points in the order in which they were added; the subset is the first ones.
    shares : (n,) array
        Share of the sample that agrees on the points up to each.

    See Also
    --------
    surest_subset : Make one.
    """

    labels: np.ndarray
    size: int
    share: float
    order: np.ndarray
    shares: np.ndarray

    def __repr__(self) -> str:
        """Say how many points are in the subset; its arrays have an entry per point."""
        return (
            f"SurestSubset({self.size} of {self.labels.size} points in "
            f"{int(self.labels.max(initial=-1)) + 1} clusters, share={self.share:.4g})"
        )


@checked(
    {
        "gamma": (Number(0, 1, open_low=True),),
        "n_starts": (Integer(1),),
        "random_state": (Seed(),),
    }
)
def surest_subset(
    sample: Any, *, gamma: float = 0.5, n_starts: int = 20, random_state: RandomState = 0
) -> SurestSubset:
    """Find a large set of points whose joint clustering holds in a share of the sample.

    Greedy: from a point, the one whose best place leaves the most of the sample in agreement is
    added, again and again, as long as the share is at least ``gamma``; the largest set of several
    starts is kept. It need not be the largest there is.

    Parameters
    ----------
    sample : Ensemble or (n, m) array
        Sampled hard partitions; their weights count.
    gamma : float
        Least share of the sample that agrees on the whole subset.
    n_starts : int
        Starting points: one of those that most others are always together with, and others drawn
        at random.
    random_state : int, generator or None
        Of the starts.

    Returns
    -------
    SurestSubset

    See Also
    --------
    credible_ball : How far the sample spreads as a whole.

    Notes
    -----
    Each start costs O(n^2 m) at most; points with the same label in all partitions are one. More
    than some thousand different rows take long.

    References
    ----------
    .. [1] D. B. Dahl, D. J. Johnson and P. Muller. Search algorithms and loss functions for
       Bayesian clustering. Journal of Computational and Graphical Statistics 31(4), 1189-1201,
       2022. doi:10.1080/10618600.2022.2069779. Its R package salso has such a search.

    Examples
    --------
    >>> from clusterscape.explore import surest_subset
    >>> sample = [[0, 0, 1, 1, 1], [0, 0, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 0]]
    >>> surest_subset(sample, gamma=0.75).labels
    array([ 0,  0,  1,  1, -1])
    """
    drawn = as_ensemble(sample, "sample")
    if drawn.is_soft or (drawn.labels < 0).any():
        raise ValueError(
            "sample must have hard partitions in which every point is in a cluster; leave others "
            "out."
        )
    small, inverse = drawn.compress()
    weights = drawn.weights / drawn.weights.sum()
    labels = small.labels.astype(np.int64)
    rng = np.random.default_rng(root_sequence(random_state))
    m = len(labels)
    first = int(np.argmax(small.sample_weight))
    others = np.setdiff1d(np.arange(m), [first])
    drawn_starts = rng.permutation(others)[: n_starts - 1]
    runs = [_grown(labels, weights, small.sample_weight, int(s), gamma)
            for s in (first, *drawn_starts)]  # fmt: skip
    best = max(runs, key=lambda run: float(small.sample_weight[run[0][: run[2]]].sum()))
    rows, shares, count, groups = best
    place = np.full(m, -1, dtype=np.int64)
    place[rows[:count]] = groups[:count]
    found = canonical(place[inverse])
    # The rows that were never reached keep their order behind the others.
    after = np.concatenate([rows, np.setdiff1d(np.arange(m), rows)])
    rank = np.empty(m, dtype=np.int64)
    rank[after] = np.arange(m)
    order = np.argsort(rank[inverse], kind="stable")
    full = np.concatenate([shares, np.zeros(m - shares.size)])
    return SurestSubset(
        labels=found,
        size=int((found >= 0).sum()),
        share=float(shares[count - 1]),
        order=order,
        shares=full[rank[inverse]][order],
    )


def _grown(
    labels: np.ndarray, weights: np.ndarray, sizes: np.ndarray, start: int, gamma: float
) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
    """Return rows in the order of their addition, shares, how many count, and their groups.

    ``agreeing`` are the partitions that cluster all rows so far alike; ``members[g]`` is a row of
    group g, so that a row joins g in a partition when it has the same label as that row there.
    """
    m, r = labels.shape
    agreeing = np.ones(r, dtype=bool)
    rows, groups, shares, members = [start], [0], [1.0], [start]
    left = np.setdiff1d(np.arange(m), [start])
    while left.size:
        kept = labels[left][:, agreeing]
        w = weights[agreeing]
        together = np.stack([kept == labels[g, agreeing] for g in members], axis=2)
        join = np.einsum("xrg,r->xg", together, w)
        alone = (~together.any(axis=2)) @ w
        options = np.column_stack([join, alone])
        best = options.max(axis=1)
        # Of equally sure rows the one that stands for more points.
        x = int(np.lexsort((-sizes[left], -np.round(best, 12)))[0])
        if best[x] < gamma - 1e-12:
            break
        g = int(np.argmax(options[x]))
        row = int(left[x])
        holds = ~together[x].any(axis=1) if g == len(members) else together[x][:, g]
        agreeing[np.flatnonzero(agreeing)[~holds]] = False
        if g == len(members):
            members.append(row)
        rows.append(row)
        groups.append(g)
        shares.append(float(best[x]))
        left = np.delete(left, x)
    return np.array(rows), np.array(shares), len(rows), np.array(groups)
