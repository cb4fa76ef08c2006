"""Features as two coordinates to draw, and what the coordinates are."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import normalize

_FEWEST = 2  # points that have principal components


def plane(X: Any, n: int, what: str) -> tuple[np.ndarray, tuple[str, str]]:
    """Return an (n, 2) array of coordinates and the words for the axes.

    Two columns are drawn as they are, others at their first two principal components. Rows of
    sparse features are brought to unit length, since a few long ones would fill the plane, and
    drawn at the second and third singular vectors: the first is what all rows have in common.
    ``what`` ends the sentence on how many points there must be.
    """
    names = [str(name) for name in getattr(X, "columns", ())]
    features = X if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    if features.ndim != 2 or features.shape[0] != n or features.shape[1] < 2:
        raise ValueError(
            f"X must have the {n} points that {what} as rows, and two columns or more; got shape "
            f"{features.shape}."
        )
    if sparse.issparse(features):
        last = min(3, features.shape[1] - 1) if features.shape[1] > 2 else 2
        found = TruncatedSVD(last, random_state=0).fit_transform(normalize(features))
        return found[:, -2:], (f"singular vector {last - 1}", f"singular vector {last}")
    if features.shape[1] == 2:
        first, second = names or ("feature 0", "feature 1")
        return features, (first, second)
    if n < _FEWEST:  # nothing that components could be of
        return np.zeros((n, 2)), ("nothing to compare", "nothing to compare")
    found = PCA(2, random_state=0).fit(features)
    shares = np.nan_to_num(found.explained_variance_ratio_)  # points that are all the same
    first, second = (f"principal component {i + 1} ({s:.0%})" for i, s in enumerate(shares))
    return found.transform(features), (first, second)
