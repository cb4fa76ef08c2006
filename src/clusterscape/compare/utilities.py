"""Utility functions between a consensus and a basic partition, as K-means consensus uses them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clusterscape import kernels
from clusterscape._core.labels import UNSAMPLED
from clusterscape._core.params import Choice, Flag, Number, checked, shown
from clusterscape._core.weights import computable_weights
from clusterscape.compare.registry import Score, register_measure
from clusterscape.compare.tables import Noise, Tables, ratio
from clusterscape.ensemble import as_ensemble
from clusterscape.ensemble.inputs import read_partition
from clusterscape.linalg.rowspace import RowSpace

Kind = Literal["c", "H", "cos", "Lp"]
UtilityName = Literal["entropy", "category", "cosine", "lp"]
UTILITIES: tuple[str, ...] = ("entropy", "category", "cosine", "lp")
POWER = Number(1, 32, open_low=True)
_TINY = np.finfo(np.float64).tiny


def _utility(tables: Tables, *, kind: Kind, normalized: bool, p: float) -> np.ndarray:
    s = tables.statistics
    if kind == "H":
        gain, base = s.information / np.log(2.0), s.b_entropy / np.log(2.0)
    else:
        power = float(p) if kind == "Lp" else 2.0
        sums = np.empty((len(tables), 3))
        kernels.pairs.powers(*tables.cells, tables.sizes, power, sums)
        squares, norms, columns = sums.T
        inside = squares if kind == "c" else norms
        base = columns if kind == "c" else columns ** (1.0 / power)
        # The gain is never negative; what is below zero is rounding.
        gain = np.maximum(inside - base, 0.0)
    return ratio(gain, base, 0.0) if normalized else gain


def _category_utility(tables: Tables) -> np.ndarray:
    return _utility(tables, kind="c", normalized=False, p=2.0)


@register_measure(
    _category_utility,
    label="category utility (U_c)",
    reference="Mirkin (2001); U_c of Tao, Liu & Fu (2017), eq. (2)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=None,
    symmetric=False,
)
def category_utility(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """How much better the clusters of ``b`` are guessed when the cluster of ``a`` is known.

    With p_kj the share of points in cluster k of ``a`` and j of ``b``: the sum over k of
    p_k+ sum_j (p_kj / p_k+)^2, minus sum_j p_+j^2. ``a`` is the consensus, ``b`` a basic
    partition, and the two are not exchangeable. Splitting clusters of ``a`` never lowers it.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    utility : This and other utilities.

    References
    ----------
    .. [1] B. Mirkin. Reinterpreting the category utility function. Machine Learning 45, 219-228,
       2001. doi:10.1023/A:1010924920739
    .. [2] Z. Tao, H. Liu and Y. Fu. Simultaneous clustering and ensemble. AAAI Conference on
       Artificial Intelligence, 1546-1552, 2017.

    Examples
    --------
    >>> from clusterscape.compare import category_utility
    >>> category_utility([0, 0, 1, 1], [0, 0, 1, 1])
    0.5
    >>> category_utility([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """


@register_measure(
    _utility,
    rules={
        "kind": [Choice("c", "H", "cos", "Lp")],
        "normalized": [Flag()],
        "p": [POWER],
    },
    label="KCC utility (U_H in bits)",
    reference="Wu, Liu, Xiong, Cao & Chen (2015)",
    direction="similarity",
    bounds=(0.0, np.inf),
    identity=None,
    symmetric=False,
)
def utility(
    a: Any,
    b: Any,
    *,
    kind: Kind = "H",
    normalized: bool = False,
    p: float = 5,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Utility of a consensus ``a`` for a basic partition ``b``, as K-means consensus defines it.

    With P_k the shares of b's clusters within cluster k of ``a`` and P those among all points, it
    is the mean of mu(P_k), weighted by cluster size, minus mu(P). Splitting clusters of ``a``
    never lowers it, so compare only consensus clusterings with equally many clusters.

    Parameters
    ----------
    {parameters}
    kind : {"c", "H", "cos", "Lp"}
        mu is the squared Euclidean norm ("c": category utility), minus the entropy in bits ("H":
        the utility is the mutual information in bits, where :func:`mutual_information` counts in
        nats), the Euclidean norm ("cos") or the p-norm ("Lp").
    normalized : bool
        Divide by abs(mu(P)). A one-cluster ``b`` has entropy 0 and utility 0.
    p : float
        The p of "Lp", above 1 and at most 32; other kinds do not read it.

    Returns
    -------
    {returns}

    See Also
    --------
    ensemble_utility : The sum over the partitions of an ensemble.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen. K-means-based consensus clustering: a
       unified view. IEEE Transactions on Knowledge and Data Engineering 27(1), 155-169, 2015.
       doi:10.1109/TKDE.2014.2316512

    Examples
    --------
    >>> from clusterscape.compare import utility
    >>> utility([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    >>> round(utility([0, 0, 1, 1], [0, 0, 1, 2], kind="cos"), 4)
    0.2412
    """


def powers(shares: np.ndarray, p: float) -> np.ndarray:
    """Return ``shares ** p``, by logarithms: numpy's own power is ten times slower."""
    if p == 2:
        return shares * shares
    positive = shares > 0
    raised = np.exp(p * np.log(np.where(positive, shares, 1.0)))
    return np.where(positive, raised, 0.0)


def concentration(
    totals: np.ndarray, seen: np.ndarray, offsets: np.ndarray, *, utility: str, p: float
) -> np.ndarray:
    """Return ``seen * mu(totals / seen)`` for each partition and group: what utilities sum.

    ``totals`` (D, K) is the mass that each cluster has in each group, ``seen`` (r, K) the mass
    that each partition saw of each group, ``offsets`` (r + 1,) where the clusters of a partition
    begin. What a partition saw and put in no cluster is missing from its shares.
    """
    some = np.diff(offsets) > 0

    def per_partition(terms: np.ndarray) -> np.ndarray:
        sums = np.zeros_like(seen)
        sums[some] = np.add.reduceat(terms, offsets[:-1][some], axis=0)
        return sums

    # All forms are homogeneous, so masses do as well as shares.
    if utility == "entropy":
        logs = totals * np.log2(np.maximum(totals, _TINY))
        return per_partition(logs) - per_partition(totals) * np.log2(np.maximum(seen, _TINY))
    if utility == "category":
        squares = per_partition(totals * totals)
        return np.divide(squares, seen, out=np.zeros_like(squares), where=seen > 0)
    if utility == "cosine":
        return np.sqrt(per_partition(totals * totals))
    largest = max(float(totals.max(initial=0.0)), _TINY)  # or a high power overflows
    return largest * per_partition(powers(totals / largest, p)) ** (1.0 / p)


def seen_mass(labels: np.ndarray, groups: np.ndarray, weight: np.ndarray, k: int) -> np.ndarray:
    """Return the (r, K) mass that each partition sampled of each group, noise included."""
    if labels.min(initial=0) > UNSAMPLED:
        mass = np.bincount(groups, weights=weight, minlength=k)
        return np.tile(mass, (labels.shape[1], 1))
    sampled = (np.where(column != UNSAMPLED, weight, 0.0) for column in labels.T)
    return np.stack([np.bincount(groups, weights=w, minlength=k) for w in sampled])


def effective_weights(
    weights: np.ndarray, whole: np.ndarray, seen: np.ndarray, *, normalized: bool
) -> np.ndarray:
    """Return the partitions' weights in a sum of utilities.

    ``whole`` is the concentration of all points as one group, ``seen`` their mass. Normalised
    weights are divided by abs(mu); one where that is zero is not informative and has weight 0.
    """
    if not normalized:
        return weights
    size = np.abs(np.divide(whole, seen, out=np.zeros_like(whole), where=seen > 0))
    return np.divide(weights, size, out=np.zeros_like(size), where=size > 1e-12)


@checked({"utility": [Choice(*UTILITIES)], "normalized": [Flag()], "p": [POWER]})
def ensemble_utility(
    ensemble: Any,
    labels: Any,
    *,
    utility: UtilityName = "entropy",
    normalized: bool = False,
    p: float = 5,
) -> float:
    """Weighted sum of the utilities of one clustering for the partitions of an ensemble.

    It is what :class:`clusterscape.combine.KCC` maximises: with the partitions' weights w_i, the
    sum of ``w_i f_i U(labels, partition i)``, where f_i is the share of the points, by weight, that
    partition i sampled. Splitting clusters never lowers it, so compare only clusterings with
    equally many clusters.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The partitions, hard or soft.
    labels : (n,) array
        A clustering; points with a negative label are left out.
    utility : {"entropy", "category", "cosine", "lp"}
        U is the mutual information in bits ("entropy"), the category utility, or its form with the
        Euclidean norm ("cosine") or the p-norm ("lp"); see :func:`utility`.
    normalized : bool
        Divide each U by abs(mu) of its partition; one with a single cluster then counts nothing
        under "entropy".
    p : float
        The p of "lp", above 1 and at most 32; others do not read it.

    Returns
    -------
    float
        At least 0. Points that are noise in a partition count among its points, but in none of its
        clusters: what :func:`utility` makes of very many clusters of one point, except that these
        would carry information of their own.

    See Also
    --------
    utility : Of two partitions.
    clusterscape.combine.KCC : The consensus that maximises it.

    References
    ----------
    .. [1] J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen. K-means-based consensus clustering: a
       unified view. IEEE Transactions on Knowledge and Data Engineering 27(1), 155-169, 2015.
       doi:10.1109/TKDE.2014.2316512

    Examples
    --------
    >>> from clusterscape.compare import ensemble_utility
    >>> runs = [[0, 0, 1, 1], [0, 0, 1, 2]]
    >>> ensemble_utility(runs, [0, 0, 1, 1])
    2.0
    >>> ensemble_utility(runs, [0, 0, 1, 1], utility="category")
    0.875
    """
    source = as_ensemble(ensemble)
    chosen = read_partition(labels, "labels")
    if chosen.soft is not None or chosen.codes.size != source.n_points:
        raise ValueError(
            f"labels must be one label vector of {source.n_points} entries; got {shown(labels)}."
        )
    inside = chosen.codes >= 0
    if not (inside & (source.sample_weight > 0)).any():
        raise ValueError("labels: no point with a positive weight is in a cluster.")
    # Only shares of the points' weights count, and the squares of enormous ones are no numbers.
    weight = computable_weights(np.where(inside, source.sample_weight, 0.0))
    groups, k = np.maximum(chosen.codes, 0).astype(np.int32), max(chosen.n_clusters, 1)
    totals = RowSpace.of(source).totals(groups, weight, k)
    seen = seen_mass(source.labels, groups, weight, k)
    within = concentration(totals, seen, source.offsets, utility=utility, p=p).sum(axis=1)
    sizes, all_seen = totals.sum(axis=1, keepdims=True), seen.sum(axis=1, keepdims=True)
    whole = concentration(sizes, all_seen, source.offsets, utility=utility, p=p)[:, 0]
    weights = effective_weights(source.weights, whole, all_seen[:, 0], normalized=normalized)
    # A utility is never negative; what is below zero is rounding.
    gains = np.maximum(within - whole, 0.0)
    # Enormous weights of points and of partitions together are no number; shares are.
    return float(weights @ (gains / weight.sum()))
