"""Utility functions between a consensus and a basic partition, as K-means consensus uses them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from clusterscape import kernels
from clusterscape._params import Choice, Flag, Number
from clusterscape.compare.pair_counting import ratio
from clusterscape.compare.registry import Score, compare_two, measure
from clusterscape.compare.tables import Noise, Tables

Kind = Literal["c", "H", "cos", "Lp"]


def _utility(
    tables: Tables, *, kind: Kind = "H", normalized: bool = False, p: float = 5
) -> np.ndarray:
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
        # A consensus never tells less than nothing; what is below is rounding.
        gain = np.maximum(inside - base, 0.0)
    return ratio(gain, base, 0.0) if normalized else gain


def _category_utility(tables: Tables) -> np.ndarray:
    return _utility(tables, kind="c")


@measure(
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

    Examples
    --------
    >>> from clusterscape.compare import category_utility
    >>> category_utility([0, 0, 1, 1], [0, 0, 1, 1])
    0.5
    >>> category_utility([0, 0, 1, 1], [0, 1, 0, 1])
    0.0
    """
    return compare_two(
        "category_utility",
        (a, b),
        noise=noise,
        sample_weight=sample_weight,
        return_coverage=return_coverage,
    )


@measure(
    _utility,
    rules={
        "kind": [Choice("c", "H", "cos", "Lp")],
        "normalized": [Flag()],
        "p": [Number(1, 32, open_low=True)],
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

    Examples
    --------
    >>> from clusterscape.compare import utility
    >>> utility([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    >>> round(utility([0, 0, 1, 1], [0, 0, 1, 2], kind="cos"), 4)
    0.2412
    """
    return compare_two(
        "utility",
        (a, b),
        noise=noise,
        sample_weight=sample_weight,
        return_coverage=return_coverage,
        kind=kind,
        normalized=normalized,
        p=p,
    )
