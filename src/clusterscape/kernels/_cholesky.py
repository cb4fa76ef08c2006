"""Cholesky's factor of a small matrix, in place."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def factor(M, size):
    """Replace the lower half of M's leading rows by their factor; return whether there is one."""
    for i in range(size):
        for j in range(i + 1):
            total = M[i, j]
            for e in range(j):
                total -= M[i, e] * M[j, e]
            if i == j:
                if not total > 0.0:
                    return False
                M[i, i] = np.sqrt(total)
            else:
                M[i, j] = total / M[j, j]
    return True
