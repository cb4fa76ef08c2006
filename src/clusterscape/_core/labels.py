"""Label vectors of any hashable type, as codes 0..k-1 with -1 for noise and -2 for unsampled."""

from __future__ import annotations

import contextlib
import numbers
import warnings
from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pandas as pd

NOISE = -1
UNSAMPLED = -2


def smallest_type(n_clusters: int) -> type[np.signedinteger[Any]]:
    """Return the smallest signed integer type that holds the codes of ``n_clusters`` clusters."""
    for kind in (np.int8, np.int16, np.int32):
        if n_clusters - 1 <= np.iinfo(kind).max:
            return kind
    raise ValueError(f"a partition has {n_clusters:,} clusters; at most 2**31 are supported.")


def encode(vector: Any, name: str) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """Return (codes, categories) of one label vector.

    ``categories`` is None when the labels already are 0..k-1, otherwise the original label of each
    code, in sorted order where the labels can be sorted and in order of appearance where not.
    Missing values (None, NaN) are unsampled; the strings "-1" and "-2" mean what the integers do.
    """
    array = _as_vector(vector, name)
    kind = array.dtype.kind
    if kind == "f":
        array = _integers_of_floats(array, name)
        kind = "i"
    if kind in "iu":
        return _encode_integers(array, name)
    if kind in "bUSOMm":
        return _encode_objects(array, name)
    raise TypeError(
        f"{name}: labels of type {array.dtype} are not supported; use integers or strings."
    )


def _as_vector(vector: Any, name: str) -> np.ndarray:
    if isinstance(vector, (pd.Series, pd.Index)):
        array = vector.to_numpy()
        return array.astype(object) if array.dtype.kind not in "iufbUSO" else array
    if isinstance(vector, pd.Categorical):
        return np.asarray(vector.astype(object))
    if isinstance(vector, np.ma.MaskedArray):
        filled = np.array(vector.astype(object).data)
        filled[np.ma.getmaskarray(vector)] = None
        return filled
    if isinstance(vector, np.ndarray):
        array = vector
    else:
        if isinstance(vector, Mapping):
            raise TypeError(
                f"{name}: a label vector must be a list, an array or a Series; got "
                f"{type(vector).__name__}. pandas.Series(labels) takes its keys as the points' ids."
            )
        is_vector = not isinstance(vector, (str, bytes, Set))  # a set has no order
        if not is_vector or not hasattr(vector, "__len__"):
            raise TypeError(
                f"{name}: a label vector must be a list, an array or a Series; got "
                f"{type(vector).__name__}. For a single clustering pass a list of one: [labels]."
            )
        values = list(vector)
        # A list of tuples must stay a vector of tuples, and 1 and "1" must not both become "1".
        all_numbers = all(isinstance(v, (numbers.Real, np.generic)) for v in values)
        if all_numbers and values:
            array = np.asarray(values)
        else:
            array = np.empty(len(values), dtype=object)
            array[:] = values
    if array.ndim != 1:
        raise ValueError(
            f"{name}: a label vector must have one dimension; got an array of shape {array.shape}."
        )
    return array


def _integers_of_floats(array: np.ndarray, name: str) -> np.ndarray:
    missing = np.isnan(array)
    with np.errstate(invalid="ignore"):
        whole = np.where(missing, UNSAMPLED, np.rint(np.where(missing, 0, array)))
    bad = ~missing & (~np.isfinite(array) | (whole != array) | (np.abs(whole) >= 2**62))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"{name}: the label {float(array[row])!r} in row {row} is not a whole number; labels "
            "are integers or strings (for memberships pass a 2-D array of shape (n, k))."
        )
    return whole.astype(np.int64)


def _encode_integers(array: np.ndarray, name: str) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    if array.size == 0:
        return array.astype(np.int8), None
    low, high = int(array.min()), int(array.max())
    if low < UNSAMPLED:
        row = int(np.argmin(array))
        raise ValueError(
            f"{name}: the label {low} in row {row} is negative; only -1 (noise) and -2 (unsampled) "
            "may be. Shift or rename the labels."
        )
    if high < 0:
        return array.astype(np.int8), None
    if high < max(4 * array.size, 1024):
        present = (
            np.bincount(array[array >= 0].astype(np.int64, copy=False), minlength=high + 1) > 0
        )
        values = np.flatnonzero(present)
        if values.size == high + 1:
            return array.astype(smallest_type(high + 1)), None
        position = np.full(high + 3, 0, dtype=np.int64)
        position[values] = np.arange(values.size)
        position[-1], position[-2] = NOISE, UNSAMPLED
        codes = position[array]
    else:
        values = np.unique(array[array >= 0])
        codes = np.where(array >= 0, np.searchsorted(values, array), array.astype(np.int64))
    return codes.astype(smallest_type(values.size)), tuple(int(v) for v in values)


def _encode_objects(array: np.ndarray, name: str) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    try:
        codes, uniques = pd.factorize(array.astype(object), use_na_sentinel=True)
    except TypeError as error:
        raise TypeError(
            f"{name}: labels must be hashable ({error}). A soft partition goes in as a 2-D array."
        ) from None
    values = [_checked_label(v, name) for v in uniques]
    texts = [v for v in values if isinstance(v, (str, bytes)) and v not in ("-1", "-2")]
    figures = [v for v in values if isinstance(v, numbers.Real) and v not in (NOISE, UNSAMPLED)]
    if texts and figures:
        raise TypeError(
            f"{name}: labels of mixed types, {texts[0]!r} and {figures[0]!r}; convert the vector "
            "to one type first, for example with .astype(str)."
        )
    _warn_of_nan(texts, name)
    ranks, kept = _rank_values(values)
    lookup = np.append(ranks, UNSAMPLED)  # codes == -1 (missing) reads the last entry
    counted = [type(v) is int and v == c for c, v in enumerate(kept)]
    return lookup[codes].astype(smallest_type(len(kept))), None if all(counted) else tuple(kept)


def _warn_of_nan(texts: list[Any], name: str) -> None:
    """Warn of the text that numpy makes of NaN among texts; nobody can tell it from a name."""
    found = [text for text in texts if text in ("nan", b"nan")]
    if found:
        warnings.warn(
            f"{name}: the text {found[0]!r} is a cluster like any other. Where it stands for a "
            "missing label, as numpy.array(['a', numpy.nan]) has it, give None in its place (in an "
            "array of dtype=object, or a list); such points count as unsampled.",
            UserWarning,
            stacklevel=2,
        )


def _checked_label(value: Any, name: str) -> Any:
    """Return a label as a plain Python value; whole floats are integers."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return value
    number = float(value)
    if number != np.rint(number) or np.isinf(number):
        raise ValueError(
            f"{name}: the label {value!r} is not a whole number; labels are integers or strings."
        )
    if value < UNSAMPLED:
        raise ValueError(
            f"{name}: the label {value!r} is negative; only -1 (noise) and -2 (unsampled) may be."
        )
    return value if isinstance(value, int) else int(number)


def _rank_values(values: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Return each value's code (or sentinel) and the values in the order of their codes."""
    sentinels = {NOISE: NOISE, UNSAMPLED: UNSAMPLED, "-1": NOISE, "-2": UNSAMPLED}

    def sentinel(value: Any) -> int | None:
        if isinstance(value, (bool, tuple)):
            return None
        return sentinels.get(value)

    kept = [v for v in values if sentinel(v) is None]
    with contextlib.suppress(TypeError):  # what cannot be sorted stays in order of appearance
        kept = sorted(kept)
    position = {v: c for c, v in enumerate(kept)}
    ranks = [s if (s := sentinel(v)) is not None else position[v] for v in values]
    return np.array(ranks, dtype=np.int64), kept


def decode(codes: np.ndarray, categories: tuple[Any, ...] | None) -> np.ndarray:
    """Return the original label vector; noise and unsampled are -1 and -2 (or "-1" and "-2")."""
    if categories is None:
        return codes.astype(np.int64)
    strings = all(isinstance(c, str) for c in categories) and len(categories) > 0
    if all(type(c) is int and c < 2**63 for c in categories):
        table = np.array([*categories, UNSAMPLED, NOISE], dtype=np.int64)
        return table[codes]
    table = np.empty(len(categories) + 2, dtype=object)
    table[:-2] = list(categories)
    table[-2:] = ["-2", "-1"] if strings else [UNSAMPLED, NOISE]
    return table[codes]


def canonical(labels: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Renumber clusters by decreasing size, ties by first appearance; negatives stay.

    The numbers then depend on the partition alone, so the same partition has the same numbers in
    every run, plot and file.

    Examples
    --------
    >>> canonical(np.array([7, 3, 3, -1, 9]))
    array([ 1,  0,  0, -1,  2])
    """
    inside = labels >= 0
    values, first, inverse = np.unique(labels[inside], return_index=True, return_inverse=True)
    counts = np.bincount(
        inverse, weights=None if weights is None else weights[inside], minlength=values.size
    )
    rank = np.empty(values.size, dtype=np.int64)
    rank[np.lexsort((first, -counts))] = np.arange(values.size)
    result = labels.astype(np.int64)
    result[inside] = rank[inverse]
    return result


def numbered_like(labels: np.ndarray, earlier: np.ndarray, *, reuse: bool = True) -> np.ndarray:
    """Renumber clusters after those of an earlier partition that they share most points with.

    Clusters are matched one to one such that the points shared are most; a cluster without a match
    takes the first free number, the largest first. Without ``reuse`` the numbers of the earlier
    clusters are taken only by clusters that share points with them. Negatives stay.

    Examples
    --------
    >>> numbered_like(np.array([0, 0, 0, 1, 2]), np.array([1, 1, 1, 0, 0]))
    array([1, 1, 1, 0, 2])
    >>> numbered_like(np.array([0, 0, 1]), np.array([2, 2, -1]))
    array([2, 2, 0])
    >>> numbered_like(np.array([0, 0, 1]), np.array([2, 2, -1]), reuse=False)
    array([2, 2, 3])
    """
    from scipy.optimize import linear_sum_assignment

    new = canonical(labels)
    width, height = int(new.max(initial=-1)) + 1, int(earlier.max(initial=-1)) + 1
    if width == 0:
        return new
    both = (new >= 0) & (earlier >= 0)
    table = np.bincount(new[both] * height + earlier[both], minlength=width * height)
    numbers = np.full(width, -1, dtype=np.int64)
    shared = table.reshape(width, height)
    rows, columns = linear_sum_assignment(shared, maximize=True)
    kept = slice(None) if reuse else shared[rows, columns] > 0
    numbers[rows[kept]] = columns[kept]
    left = np.flatnonzero(numbers < 0)
    free = np.setdiff1d(np.arange(0 if reuse else height, width + height), numbers)[: left.size]
    numbers[left] = free
    return np.where(new >= 0, numbers[np.maximum(new, 0)], new)
