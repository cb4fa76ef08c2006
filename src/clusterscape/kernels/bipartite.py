"""Gram matrices of the columns of a sparse matrix."""

from __future__ import annotations

import numpy as np

from clusterscape.kernels._jit import jit


@jit
def column_gram(data, indices, indptr, scale, column, out):
    """Fill ``out`` (p, p) with ``C B^T diag(scale) B C``, C the diagonal of ``column``.

    B comes as CSR with sorted indices. A row of r entries costs r^2 / 2 additions.
    """
    p = out.shape[0]
    out[:] = 0.0
    for x in range(scale.size):
        for e in range(indptr[x], indptr[x + 1]):
            left = scale[x] * np.float64(data[e])
            line = out[indices[e]]
            for f in range(e, indptr[x + 1]):
                line[indices[f]] += left * np.float64(data[f])
    for a in range(p):
        for b in range(a, p):
            out[a, b] *= column[a] * column[b]
            out[b, a] = out[a, b]
