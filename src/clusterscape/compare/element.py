"""Element-centric similarity: how far two partitions agree about the company of each point."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from clusterscape import kernels
from clusterscape.compare.registry import Score, register_measure
from clusterscape.compare.tables import Noise, Tables, ratio
from clusterscape.ensemble import as_ensemble


def _sizes(tables: Tables, side: np.ndarray, column: int, pair: np.ndarray) -> np.ndarray:
    """Return, for every cell, the mass of its cluster on one side; 1 where points are alone."""
    first = np.concatenate([[0], np.cumsum(tables.sizes[:, column])])
    inside = side >= 0
    key = first[pair[inside]] + side[inside]
    total = np.bincount(key, weights=tables.mass[inside], minlength=int(first[-1]))
    sizes = np.ones(side.size)
    sizes[inside] = total[key]
    return sizes


def _element_centric(tables: Tables) -> np.ndarray:
    pair = np.repeat(np.arange(len(tables)), np.diff(tables.starts))
    cells = slice(0, int(tables.starts[-1]))
    rows, cols, mass = tables.rows[cells], tables.cols[cells], tables.mass[cells]
    used = replace(tables, rows=rows, cols=cols, mass=mass)
    sizes = [_sizes(used, side, column, pair) for column, side in enumerate((rows, cols))]
    # Points that are alone on one side share their cell with nobody.
    common = np.where((rows >= 0) & (cols >= 0), mass, 1.0)
    agreed = mass * common / np.maximum(*sizes)
    total = np.bincount(pair, weights=agreed, minlength=len(tables))
    return np.minimum(ratio(total, tables.statistics.mass, 1.0), 1.0)


@register_measure(
    _element_centric,
    label="element-centric similarity",
    reference="Gates, Wood, Hetrick & Ahn (2019)",
    direction="similarity",
    bounds=(0.0, 1.0),
    identity=1.0,
    soft=False,
)
def element_centric(
    a: Any,
    b: Any,
    *,
    noise: Noise = "singletons",
    sample_weight: Any = None,
    return_coverage: bool = False,
) -> Score:
    """Mean over the points of how far two partitions agree about the company of the point.

    The agreement about a point is the number of points that its two clusters share over the size of
    the larger one. That is what the definition by random walks comes to for hard partitions,
    whatever the walk's chance of going on. It is not corrected for chance: unrelated partitions
    into k clusters of equal size have about 1/k.

    Parameters
    ----------
    {parameters}

    Returns
    -------
    {returns}

    See Also
    --------
    element_consistency : The same for every point of an ensemble.
    adjusted_rand : Counts pairs, and large clusters count more.

    References
    ----------
    .. [1] A. J. Gates, I. B. Wood, W. P. Hetrick and Y.-Y. Ahn. Element-centric clustering
       comparison unifies overlaps and hierarchy. Scientific Reports 9, 8574, 2019.
       doi:10.1038/s41598-019-44892-y

    Examples
    --------
    >>> from clusterscape.compare import element_centric
    >>> element_centric([0, 0, 1, 1], [0, 0, 0, 1])
    0.5416666666666666
    """


def element_consistency(ensemble: Any) -> np.ndarray:
    """Say for every point how far the partitions of an ensemble agree about its company.

    The mean over all pairs of partitions of the element-centric similarity of the point [1]_. Noise
    points are clusters of one point; pairs in which a partition did not see the point are left out.
    The time grows with the square of the number of partitions.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        Hard partitions; of soft ones the most likely clusters count.

    Returns
    -------
    (n,) array
        From 0 to 1; nan where no two partitions saw the point.

    See Also
    --------
    element_centric : Of two partitions.

    References
    ----------
    .. [1] A. J. Gates, I. B. Wood, W. P. Hetrick and Y.-Y. Ahn. Element-centric clustering
       comparison unifies overlaps and hierarchy. Scientific Reports 9, 8574, 2019.
       doi:10.1038/s41598-019-44892-y

    Examples
    --------
    >>> from clusterscape.compare import element_consistency
    >>> element_consistency([[0, 0, 1, 1], [0, 0, 0, 1]]).round(3)
    array([0.667, 0.667, 0.333, 0.5  ])
    """
    source = as_ensemble(ensemble)
    compressed = source.compress()
    small = compressed.ensemble
    codes = np.ascontiguousarray(small.labels.T).astype(np.int32)
    total, counted = np.zeros(small.n_points), np.zeros(small.n_points, dtype=np.int64)
    sizes = small.n_clusters.astype(np.int64)
    kernels.element.consistency(codes, sizes, small.sample_weight, total, counted)
    found = np.where(counted > 0, total / np.maximum(counted, 1), np.nan)
    return found[compressed.inverse]
