"""Products of label rows with a sparse random matrix, without building B."""

from __future__ import annotations

from clusterscape.kernels._jit import jit


@jit
def project_labels(labels, offsets, places, values, out):
    """Add B @ R to ``out`` (n, m); row c of R has ``values[c]`` in the columns ``places[c]``.

    ``labels`` is (n, r) with negatives for "in no cluster": n r a additions, a non-zeros per row.
    """
    n, r = labels.shape
    a = places.shape[1]
    for x in range(n):
        for i in range(r):
            code = labels[x, i]
            if code >= 0:
                c = offsets[i] + code
                for t in range(a):
                    out[x, places[c, t]] += values[c, t]
