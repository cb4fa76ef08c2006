"""A metric from must-links: directions in which points of one group differ count less."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.covariance import ledoit_wolf

from clusterscape.semisupervised.closure import Closure


def relevant_components(X: Any, closure: Closure) -> np.ndarray | None:
    """Return the (d, d) matrix that makes the covariance within groups the identity.

    The groups are the components of the must-links. Their common covariance is estimated with
    Ledoit and Wolf's shrinkage towards equal variances, so that a few links are enough. None where
    no points are linked or linked points do not differ: there is nothing to learn from then.
    """
    size = np.bincount(closure.component)
    rows = np.flatnonzero(size[closure.component] > 1)
    if rows.size == 0:
        return None
    group = np.unique(closure.component[rows], return_inverse=True)[1]
    some = X[rows].astype(np.float64)
    sizes = np.bincount(group).astype(np.float64)
    means = np.zeros((sizes.size, X.shape[1]))
    np.add.at(means, group, some)
    means /= sizes[:, None]
    # Residuals of a group of s points have s - 1 degrees of freedom.
    some -= means[group]
    some *= np.sqrt(rows.size / (rows.size - sizes.size))
    if not some.any():
        return None
    covariance, _ = ledoit_wolf(some, assume_centered=True)
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, np.finfo(np.float64).eps * values.max())
    return vectors / np.sqrt(values)
