"""Where the distance between two partitions comes from: which clusters moved, and which points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.labels import NOISE, decode
from clusterscape._core.params import Choice, Rules, checked
from clusterscape._core.seeds import RandomState
from clusterscape.compare.lift import GROUND_RULE, RULES, TEXTS, Ground
from clusterscape.compare.registry import SPATIAL_POLICIES, documented
from clusterscape.compare.tables import check_same_points, two_partitions
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import shared_index
from clusterscape.lifting.lifted import Kernel, Lifted, lift
from clusterscape.linalg.transport import LARGEST_KERNEL, transport_plan

_MOVES_SHOWN = 4
# Numbers that the scores of some points may need at a time.
_CHUNK = 1 << 22
_RULES: Rules = {**RULES, **GROUND_RULE, "noise": [Choice(*SPATIAL_POLICIES)]}


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """What the distance ``lift_emd`` of two partitions is made of.

    Attributes
    ----------
    distance : float
        The distance.
    plan : (k, l) DataFrame
        The mass, as a share of all points, that goes from each cluster of ``a`` (rows) to each of
        ``b`` (columns) when the work is least. Rows and columns are named as the clusters are; -1
        is noise.
    costs : (k, l) DataFrame
        The distance between each two clusters, which a unit of mass is moved over.
    moves : DataFrame
        The plan as a list, the most work first: ``from``, ``to``, ``mass``, ``distance``,
        ``work`` = mass x distance, and ``share`` of all the work. Mass that stays in a cluster that
        both partitions have is moved over the distance 0.
    points : (n,) array
        How far apart the clusters are that a point has in ``a`` and in ``b``; of soft partitions
        the least cost of turning its memberships in one into those in the other. 0 for points whose
        clusters are the same. nan for points that one of the
        partitions has in no cluster. Where both partitions have the same points, the weighted mean
        is what it costs to move every point from its own cluster to its own cluster; the least work
        moves masses, not points, so the distance is at most that.
    labels : (n, 2) DataFrame
        The points' clusters in ``a`` and ``b``, by their index; of soft ones the likeliest.
    weights : (n,) array
        The points' weights.
    bandwidth : float or None
        Bandwidth that was used, where the kernel has one.
    n_components : int or None
        Random features that were used; None where the kernel was summed exactly.

    See Also
    --------
    explain : Make one.

    Examples
    --------
    >>> from clusterscape.compare import explain
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> found = explain(list("xxxyyy"), [0, 0, 1, 1, 1, 1], X)
    >>> found.moves.round(3)
      from  to   mass  distance   work  share
    0    x   1  0.167     0.777  0.129  0.495
    1    y   1  0.500     0.217  0.108  0.414
    2    x   0  0.333     0.071  0.024  0.090
    >>> found.points.round(2)
    array([0.07, 0.07, 0.78, 0.22, 0.22, 0.22])
    """

    distance: float
    plan: pd.DataFrame
    costs: pd.DataFrame
    moves: pd.DataFrame
    points: np.ndarray
    labels: pd.DataFrame
    weights: np.ndarray
    bandwidth: float | None
    n_components: int | None

    @property
    def bound(self) -> float:
        """The weighted mean of ``points``: at least the distance if both have the same points."""
        known = ~np.isnan(self.points) & (self.weights > 0)
        if not known.any():
            return float("nan")
        return float(np.average(self.points[known], weights=self.weights[known]))

    def top_points(self, m: int = 10) -> pd.DataFrame:
        """Return the m points that make the partitions differ most, with their clusters.

        Parameters
        ----------
        m : int
            How many points at most.

        Returns
        -------
        pandas.DataFrame
            By the points' index, the largest ``score`` times weight first: columns ``score``,
            ``share`` of all scores by weight, ``a`` and ``b``. Points with the score 0 are left
            out.
        """
        work = np.nan_to_num(self.points) * self.weights
        order = np.argsort(-work, kind="stable")[: max(int(m), 0)]
        order = order[work[order] > 0]
        shares = work[order] / work.sum() if order.size else work[order]
        frame = pd.DataFrame(
            {"score": self.points[order], "share": shares}, index=self.labels.index[order]
        )
        return frame.join(self.labels.iloc[order])

    def __repr__(self) -> str:
        k, m = self.plan.shape
        moved = self.moves[self.moves["work"] > 0]
        lines = [f"Explanation: distance {self.distance:.4g} from {k} to {m} clusters"]
        for move in moved.head(_MOVES_SHOWN).to_dict("records"):
            lines.append(
                f"  {move['from']!r} -> {move['to']!r}: {move['mass']:.1%} of the points over "
                f"{move['distance']:.3g}, {move['share']:.0%} of the distance"
            )
        if len(moved) > _MOVES_SHOWN:
            rest = moved["share"].iloc[_MOVES_SHOWN:].sum()
            more = len(moved) - _MOVES_SHOWN
            lines.append(f"  and {more} smaller move{'s' if more > 1 else ''}, {rest:.0%}")
        top = ", ".join(str(point) for point in self.top_points(5).index)
        lines.append(f"  points that differ most: {top}" if top else "  no point differs")
        return "\n".join(lines)


@checked(_RULES)
@documented(TEXTS)
def explain(
    a: Any,
    b: Any,
    features: Any = None,
    *,
    kernel: Kernel = "gaussian",
    bandwidth: Literal["median"] | float = "median",
    n_components: Literal["auto"] | int | None = "auto",
    error: float | None = None,
    random_state: RandomState = 0,
    max_gb: float = 4.0,
    ground: Ground = "euclidean",
    normalize: bool = True,
    noise: Literal["cluster", "drop"] = "cluster",
    sample_weight: Any = None,
) -> Explanation:
    """Say which clusters and which points the distance ``lift_emd(a, b)`` comes from.

    The plan of least work need not be the only one: where moves cost the same, another plan may be
    as good, and the one shown is always the same. The distance and the points' scores do not depend
    on it.

    Parameters
    ----------
    a, b : array-like
        Two partitions of the same points: label vectors of any hashable type, in which -1 is noise
        and -2 unsampled, or (n, k) soft memberships. The index of a Series names the points.
    {lifting}
    ground : {"euclidean", "sqeuclidean"}
        Cost of moving a unit of mass: the distance, or its square.
    {normalize}
    noise : {"cluster", "drop"}
        What noise points are: the members of one more cluster, -1, or left out.
    sample_weight : (n,) array, optional
        How much each point counts.

    Returns
    -------
    Explanation
        With ``distance``, ``plan``, ``costs``, ``moves``, ``points`` and ``top_points``.

    See Also
    --------
    lift_emd : The distance that is explained.
    clusterscape.plot.TransportDisplay : Draws the plan.

    References
    ----------
    .. [1] P. Raman, J. M. Phillips and S. Venkatasubramanian. Spatially-aware comparison and
       consensus for clusterings. SIAM International Conference on Data Mining, 307-318, 2011.
       doi:10.1137/1.9781611972818.27

    Examples
    --------
    >>> from clusterscape.compare import explain
    >>> X = [[0.0], [1.0], [2.0], [8.0], [9.0], [10.0]]
    >>> explain(list("xxxyyy"), [0, 0, 1, 1, 1, 1], X)
    Explanation: distance 0.2614 from 2 to 2 clusters
      'x' -> 1: 16.7% of the points over 0.777, 50% of the distance
      'y' -> 1: 50.0% of the points over 0.217, 41% of the distance
      'x' -> 0: 33.3% of the points over 0.071, 9% of the distance
      points that differ most: 2, 3, 4, 5, 0
    """
    ensemble = two_partitions(a, b, sample_weight)
    check_same_points(features, shared_index([a, b]))
    lifted = lift(
        ensemble,
        features,
        noise=noise,
        kernel=kernel,
        bandwidth=bandwidth,
        n_components=n_components,
        error=error,
        random_state=random_state,
        max_gb=max_gb,
    )
    sides = [np.arange(*lifted.offsets[i : i + 2]) for i in range(2)]
    for name, clusters in zip("ab", sides, strict=True):
        if clusters.size == 0:
            raise ValueError(f"{name} has no cluster with a point in it, so nothing can be moved.")
    squared = ground == "sqeuclidean"
    apart = lifted.distances(*sides, normalize=normalize, squared=squared)
    solved = transport_plan(apart, *(lifted.mass[clusters] for clusters in sides))
    names = [_names(ensemble, lifted, i) for i in range(2)]
    axes = {
        side: pd.Index(labels, name=name, tupleize_cols=False)
        for side, labels, name in zip(("index", "columns"), names, "ab", strict=True)
    }
    return Explanation(
        distance=float(solved.cost),
        plan=pd.DataFrame(solved.plan, **axes),
        costs=pd.DataFrame(apart, **axes),
        moves=_moves(solved.plan, apart, names),
        points=_scores(ensemble, lifted, apart),
        labels=pd.DataFrame(
            {name: _labels(ensemble, i) for i, name in enumerate("ab")}, index=shared_index([a, b])
        ),
        weights=ensemble.sample_weight,
        bandwidth=lifted.bandwidth,
        n_components=lifted.n_components,
    )


def _labels(ensemble: Ensemble, i: int) -> np.ndarray:
    """Return the user's labels of a partition's points; noise is -1 and unsampled -2."""
    codes = ensemble.labels[:, i]
    labels = decode(codes, ensemble.categories[i])
    labels[codes < 0] = codes[codes < 0]  # among strings they would be strings
    return labels


def _names(ensemble: Ensemble, lifted: Lifted, i: int) -> list[Any]:
    """Return the user's names of a partition's lifted clusters; noise is -1."""
    known = ensemble.categories[i]
    codes = lifted.cluster[lifted.offsets[i] : lifted.offsets[i + 1]].tolist()
    return [code if code == NOISE or known is None else known[code] for code in codes]


def _moves(plan: np.ndarray, apart: np.ndarray, names: list[list[Any]]) -> pd.DataFrame:
    """Return the plan as a list, the most work first, then the most mass."""
    rows, cols = np.nonzero(plan > 0)
    mass, distance = plan[rows, cols], apart[rows, cols]
    work = mass * distance
    total = work.sum()
    order = np.lexsort((cols, rows, -mass, -work))
    frame = pd.DataFrame(
        {
            "mass": mass,
            "distance": distance,
            "work": work,
            "share": work / total if total > 0 else work,
        }
    )
    for place, (title, which) in enumerate((("from", rows), ("to", cols))):
        values = pd.Series([names[place][c] for c in which], dtype=object)
        frame.insert(place, title, values.infer_objects())
    return frame.iloc[order].reset_index(drop=True)


def _scores(ensemble: Ensemble, lifted: Lifted, apart: np.ndarray) -> np.ndarray:
    """Return the least cost of turning each point's memberships in a into those in b.

    It is nan for points in no cluster of one. Where a point is in one cluster of either there is
    one way to do so, and a product gives its cost.
    """
    left, right = (_memberships(ensemble, lifted, i) for i in range(2))
    counts = [np.diff(side.indptr) for side in (left, right)]
    scores = np.empty(ensemble.n_points)
    step = max(_CHUNK // apart.shape[1], 1)
    for start in range(0, scores.size, step):
        part = slice(start, start + step)
        reached = right[part].multiply(left[part] @ apart)
        scores[part] = np.asarray(reached.sum(axis=1)).ravel()
    several = np.flatnonzero((counts[0] > 1) & (counts[1] > 1))
    for start in range(0, several.size, step):
        rows = several[start : start + step]
        scores[rows] = _row_costs(apart, left[rows].toarray(), right[rows].toarray())
    return np.where((counts[0] > 0) & (counts[1] > 0), scores, np.nan)


def _row_costs(apart: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the least cost of moving each row of masses to its counterpart."""
    right = right * (left.sum(axis=1) / right.sum(axis=1))[:, None]  # noise may have been dropped
    costs = np.full(len(left), np.nan)
    if max(apart.shape) <= LARGEST_KERNEL:
        kernels.transport.solve_rows(np.ascontiguousarray(apart), left, right, costs)
    for x in np.flatnonzero(np.isnan(costs)):
        costs[x] = transport_plan(apart, left[x], right[x]).cost
    return costs


def _memberships(ensemble: Ensemble, lifted: Lifted, i: int) -> sparse.csr_matrix:
    """Return the points' memberships in a partition's lifted clusters, the noise among them."""
    codes = lifted.cluster[lifted.offsets[i] : lifted.offsets[i + 1]]
    start, stop = ensemble.offsets[i : i + 2]
    noisy = sparse.csr_matrix((ensemble.labels[:, i] == NOISE).astype(np.float64)[:, None])
    inside = ensemble.membership().matrix[:, start:stop]
    columns = sparse.hstack([inside, noisy], format="csc")
    return sparse.csr_matrix(columns[:, np.where(codes == NOISE, stop - start, codes)])
