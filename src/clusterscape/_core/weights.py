"""The one check of weights: of points, of partitions, of vertices."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape._core.params import FARTHEST, NEAREST, shown


def optional_weights(
    values: Any,
    size: int,
    *,
    name: str = "sample_weight",
    each: str = "point",
    positive: bool = False,
) -> np.ndarray | None:
    """Return weights as a new float64 array, or None where none are given.

    Positive weights lie between 1e-50 and 1e50, so that products of a few, and their sums, are
    numbers wherever they are used. Only proportions matter: others can be had in another unit.

    Parameters
    ----------
    values : array-like or None
        The weights.
    size : int
        How many there must be.
    name : str
        The argument, as messages name it.
    each : str
        What has a weight, as messages name it: a point, a partition, a vertex.
    positive : bool
        Refuse a weight of zero, too. Otherwise at least one weight must be positive.

    Examples
    --------
    >>> optional_weights([1, 2], 2)
    array([1., 2.])
    """
    if values is None:
        return None
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, one per {each}; got {shown(values)}.") from None
    if weights.shape != (size,):
        raise ValueError(
            f"{name} must have one entry per {each}, {size} in all; got shape {weights.shape}."
        )
    wrong = ~np.isfinite(weights) | (weights <= 0 if positive else weights < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        least = "> 0" if positive else ">= 0"
        remedy = f" Leave out every {each} of weight zero." if weights[row] == 0 else ""
        raise ValueError(
            f"{name} must be finite numbers {least}; entry {row} is {weights[row]:g}.{remedy}"
        )
    far = (weights > FARTHEST) | ((weights < NEAREST) & (weights > 0))
    if far.any():
        row = int(np.argmax(far))
        raise ValueError(
            f"{name} must lie between {NEAREST:g} and {FARTHEST:g}{'' if positive else ', or be 0'}"
            f"; entry {row} is {weights[row]:g}. Give them in another unit, as shares of the "
            f"largest, and {'leave out' if positive else 'write 0 for'} what nothing would notice."
        )
    if not weights.any():
        raise ValueError(f"{name} is zero for every {each}; at least one must be positive.")
    return weights


def checked_weights(
    values: Any,
    size: int,
    *,
    name: str = "sample_weight",
    each: str = "point",
    positive: bool = False,
) -> np.ndarray:
    """Return weights as :func:`optional_weights` does, and ones where none are given.

    Examples
    --------
    >>> checked_weights(None, 3)
    array([1., 1., 1.])
    """
    weights = optional_weights(values, size, name=name, each=each, positive=positive)
    return np.ones(size) if weights is None else weights


def computable_weights(weights: np.ndarray) -> np.ndarray:
    """Return weights in proportions that sums, products and single precision can take.

    Weights that are all enormous or tiny are divided by a power of two near the largest, so that
    none is rounded, and one that is less than 1e-30 of the largest, which no sum would notice, is
    zero. Others are returned as they are.

    Examples
    --------
    >>> computable_weights(np.array([2.0**100, 2.0**99, 1e-20]))
    array([1. , 0.5, 0. ])
    >>> computable_weights(np.array([1.0, 1e-20]))
    array([1.e+00, 1.e-20])
    """
    largest = float(weights.max(initial=0.0))
    if largest == 0:
        return weights
    usual = 1e-12 < largest < 1e12
    scaled = weights if usual else np.ldexp(weights, 1 - int(np.frexp(largest)[1]))
    lost = (scaled < 1e-30 * scaled.max()) & (scaled > 0)
    return np.where(lost, 0.0, scaled) if lost.any() else scaled
