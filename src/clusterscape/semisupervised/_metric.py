"""A metric from must-links: directions in which points of one group differ count less."""

from __future__ import annotations

from typing import Any

import numpy as np

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
    values, vectors = np.linalg.eigh(_shrunk_covariance(some))
    values = np.maximum(values, np.finfo(np.float64).eps * values.max())
    return vectors / np.sqrt(values)


def _shrunk_covariance(rows: np.ndarray) -> np.ndarray:
    """Return Ledoit and Wolf's covariance of centred rows.

    As scikit-learn has it, but with one product of d x d in place of three: the sum over all pairs
    of columns of their squares' products is that of the squared lengths of the rows, squared.
    """
    n, d = rows.shape
    covariance = rows.T @ rows / n
    mean = float(np.trace(covariance)) / d
    squares = float((covariance**2).sum())
    lengths = np.einsum("ij,ij->i", rows, rows)
    noise = (float((lengths**2).sum()) / n - squares) / n
    spread = squares - d * mean**2
    share = min(noise, spread) / spread if spread > 0 else 1.0
    covariance *= 1.0 - share
    covariance[np.diag_indices(d)] += share * mean
    return covariance
