"""Values of any library as the plain ones that JSON knows."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Mapping, Set
from typing import Any

import numpy as np
import pandas as pd


def plain(value: Any, otherwise: Callable[[Any], Any] = str) -> Any:
    """Return a value as text, numbers, booleans, None, lists and dictionaries.

    numpy and pandas values become Python ones, tuples and sets lists, dataclasses and mappings
    dictionaries with text keys. Numbers that JSON does not know (NaN, infinite) become None;
    ``otherwise`` turns anything else into its text, or refuses it.

    Examples
    --------
    >>> plain({"k": np.int64(3), "costs": np.array([1.5, np.nan]), "pair": (1, "a")})
    {'k': 3, 'costs': [1.5, None], 'pair': [1, 'a']}
    """
    if isinstance(value, np.generic):  # first: numpy's text and floats are also str and float
        return plain(value.item(), otherwise)
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value) if math.isfinite(value) else None
    return _plain_container(value, otherwise)


def _plain_container(value: Any, otherwise: Callable[[Any], Any]) -> Any:
    if isinstance(value, (np.ndarray, pd.Index)):
        return plain(value.tolist(), otherwise)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {f.name: plain(getattr(value, f.name), otherwise) for f in fields}
    if isinstance(value, (Mapping, pd.Series, pd.DataFrame)):
        return {str(k): plain(v, otherwise) for k, v in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(v, otherwise) for v in value]
    if isinstance(value, Set):
        return [plain(v, otherwise) for v in _in_order(value)]
    return None if value is pd.NA or value is pd.NaT else otherwise(value)


def _in_order(values: Set[Any]) -> list[Any]:
    """Return a set's values in an order that is the same in every process."""
    try:
        return sorted(values)
    except TypeError:  # values of several types
        return sorted(values, key=repr)
