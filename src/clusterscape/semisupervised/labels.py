"""Labels of a semi-supervised problem: -1 marks a point that has none."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d


def labelled_codes(y: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the class of each point (-1 where it has no label), and the classes.

    -1 marks a point without one, as a number or as text (``numpy.array(["a", -1])`` is all text);
    None does too.
    """
    if y is None:
        raise ValueError(
            "requires y to be passed, but the target y is None: give one label per row, -1 for "
            "rows that have none."
        )
    given = column_or_1d(y, warn=True)
    if given.dtype.kind in "fc":
        assert_all_finite(given, input_name="y")
    if given.size != n:
        raise ValueError(f"y has {given.size} labels and X has {n} rows; give one per row.")
    if given.dtype.kind in "OU":
        has = np.array([v is not None and str(v) != "-1" for v in given])
    else:
        has = given != -1
    if not has.any():
        raise ValueError("y has no label: all of its entries are -1; give some labelled points.")
    known = given[has]
    if known.dtype.kind == "O" and all(isinstance(v, (int, np.integer)) for v in known):
        known = known.astype(np.int64)
    check_classification_targets(known)
    classes, found = np.unique(known, return_inverse=True)
    codes = np.full(n, -1, dtype=np.int64)
    codes[has] = found
    return codes, classes
