"""Connected components of similarity graphs in the forms that they come in."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from clusterscape import kernels


def linked_components(
    similarity: Any, *, least: float = 0.0, scale: np.ndarray | None = None
) -> tuple[int, np.ndarray]:
    """Return the number of components of a symmetric similarity, and each row's component.

    Parameters
    ----------
    similarity : (n, n) array or sparse matrix
        Symmetric.
    least : float
        Rows x and y are linked when their similarity is above ``least * scale[x] * scale[y]``.
    scale : (n,) array, optional
        All ones by default.

    Returns
    -------
    n_components : int
        The number.
    component : (n,) array
        Numbered by first appearance.

    See Also
    --------
    shared_components : Components of rows that share a column.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.components import linked_components
    >>> linked_components(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 0.0], [0.5, 0.0, 1.0]]))
    (2, array([0, 1, 0]))
    """
    n = similarity.shape[0]
    root = np.ones(n) if scale is None else scale
    if not sparse.issparse(similarity):
        component = np.full(n, -1)
        return int(kernels.graph.components(similarity, root, least, component)), component
    links = similarity.tocoo()
    strong = links.data > least * root[links.row] * root[links.col]
    ends = links.row[strong], links.col[strong]
    graph = sparse.csr_matrix((links.data[strong], ends), shape=(n, n))
    return connected_components(graph, directed=False)


def shared_components(membership: Any) -> tuple[int, np.ndarray]:
    """Return the components of the graph that links rows with an entry in a common column.

    A bipartite graph of rows and columns has the same components, and n + D vertices only.

    Parameters
    ----------
    membership : (n, D) array or sparse matrix
        Entries other than zero count.

    Returns
    -------
    n_components : int
        The number.
    component : (n,) array
        From 0 on.

    See Also
    --------
    linked_components : Components of a similarity.

    Examples
    --------
    >>> from clusterscape.linalg.components import shared_components
    >>> shared_components([[1, 0, 0], [0, 1, 0], [0, 1, 1]])
    (2, array([0, 1, 1]))
    """
    other = sparse.csr_matrix(membership)
    graph = sparse.bmat([[None, other], [other.T, None]], format="csr")
    found = connected_components(graph, directed=False)[1][: other.shape[0]]
    pieces, names = np.unique(found, return_inverse=True)
    return len(pieces), names.reshape(-1)
