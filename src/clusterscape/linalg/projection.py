"""Sparse random projection of Kane and Nelson: few non-zeros per row, lengths kept on average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Integer, Seed, checked


@dataclass(frozen=True, eq=False)
class SparseProjection:
    """A sparse random matrix R; made by :func:`sparse_projection`.

    Row c has ``signs[c] / sqrt(n_blocks)`` in the columns ``places[c]``, one in each block.

    Attributes
    ----------
    places : (n_inputs, n_blocks) array
        Columns of the non-zeros of each row, one in each block of columns.
    signs : (n_inputs, n_blocks) array
        +1 or -1.
    n_dims : int
        Columns of R.

    See Also
    --------
    sparse_projection : Draw one.

    Examples
    --------
    >>> from clusterscape.linalg import sparse_projection
    >>> projection = sparse_projection(1000, 40, seed=0)
    >>> projection.shape, projection.matrix().nnz
    ((1000, 40), 4000)
    """

    places: np.ndarray
    signs: np.ndarray
    n_dims: int

    @property
    def shape(self) -> tuple[int, int]:
        """Inputs by dimensions."""
        return len(self.places), self.n_dims

    @property
    def n_blocks(self) -> int:
        """Non-zeros of each row."""
        return int(self.places.shape[1])

    def _values(self) -> np.ndarray:
        return self.signs / np.sqrt(self.n_blocks)

    def matrix(self) -> sparse.csr_matrix:
        """Return R as a CSR matrix."""
        ends = np.arange(0, self.places.size + 1, self.n_blocks)
        entries = (self._values().ravel(), self.places.ravel(), ends)
        return sparse.csr_matrix(entries, shape=self.shape)

    def project(self, X: Any) -> np.ndarray:
        """Return X R as a dense array; X is dense or sparse, with ``shape[0]`` columns."""
        if getattr(X, "ndim", 2) != 2 or np.shape(X)[1] != self.shape[0]:
            raise ValueError(
                f"X has shape {np.shape(X)}; the projection takes rows of {self.shape[0]} values."
            )
        product = X @ self.matrix() if sparse.issparse(X) else np.asarray(X) @ self.matrix()
        return product.toarray() if sparse.issparse(product) else np.asarray(product)

    def project_labels(
        self, labels: np.ndarray, offsets: np.ndarray, *, column_scale: np.ndarray | None = None
    ) -> np.ndarray:
        """Return B diag(column_scale) R in float32, for the rows of B that belong to ``labels``.

        Parameters
        ----------
        labels : (n, r) integer array
            Codes of hard partitions; negatives are in no cluster.
        offsets : (r + 1,) array
            First column of B of each partition.
        column_scale : (D,) array, optional
            Factors of the columns of B.

        Returns
        -------
        (n, n_dims) array
            At a cost of n r n_blocks additions; B is not built.
        """
        if int(offsets[-1]) != self.shape[0]:
            raise ValueError(
                f"offsets: B has {int(offsets[-1])} columns, but the projection takes "
                f"{self.shape[0]}."
            )
        scale = np.ones(self.shape[0]) if column_scale is None else np.asarray(column_scale)
        values = (self._values() * scale[:, None]).astype(np.float32)
        out = np.zeros((labels.shape[0], self.n_dims), dtype=np.float32)
        kernels.projection.project_labels(labels, offsets, self.places, values, out)
        return out


@checked(
    {
        "n_inputs": (Integer(1),),
        "n_dims": (Integer(1),),
        "n_blocks": (Integer(1),),
        "seed": (Seed(),),
    }
)
def sparse_projection(
    n_inputs: int, n_dims: int, *, n_blocks: int = 4, seed: SeedSequence | int | None = None
) -> SparseProjection:
    """Draw the sparse random projection of Kane and Nelson (2014).

    The columns of R are cut into ``n_blocks`` blocks; every row has one non-zero in each block, at
    a random place and with a random sign, of size ``1 / sqrt(n_blocks)``. The squared length of
    ``x R`` is then that of x on average, with a variance of about ``2 |x|^4 / n_dims``: single
    distances are kept to about ``sqrt(2 / n_dims)``, 22 % with 40 dimensions. What is summed over
    many rows, like the cost of k-means, is kept better; the order of near neighbours is not.

    Parameters
    ----------
    n_inputs : int
        Columns of the data.
    n_dims : int
        Columns of the projected data.
    n_blocks : int
        Non-zeros of each row, at most ``n_dims``. The variance hardly depends on it, so few are
        best; 1 is the count sketch. Where it does not divide ``n_dims``, the first blocks have
        one column more.
    seed : SeedSequence, int or None
        The same seed draws the same matrix.

    Returns
    -------
    SparseProjection

    See Also
    --------
    clusterscape.combine.SEC : Uses it with projection="sparse".

    References
    ----------
    .. [1] D. M. Kane and J. Nelson. Sparser Johnson-Lindenstrauss transforms. Journal of the ACM
       61(1), 4, 2014. doi:10.1145/2559902
    .. [2] W. Liu, M. Ye, J. Wei and X. Hu. Fast constrained spectral clustering and cluster
       ensemble with random projection. Computational Intelligence and Neuroscience 2017,
       2658707, 2017. doi:10.1155/2017/2658707

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg import sparse_projection
    >>> projection = sparse_projection(6, 4, n_blocks=2, seed=0)
    >>> abs(projection.matrix().toarray()).sum(axis=1).round(3)
    array([1.414, 1.414, 1.414, 1.414, 1.414, 1.414])
    """
    if n_blocks > n_dims:
        raise ParameterError(
            "{n_blocks} is more than {n_dims}; a block needs at least one column.",
            n_blocks=n_blocks,
            n_dims=n_dims,
        )
    rng = np.random.default_rng(_seeds.root_sequence(seed))
    sizes = n_dims // n_blocks + (np.arange(n_blocks) < n_dims % n_blocks)
    first = np.cumsum(sizes) - sizes
    places = first + rng.integers(0, sizes, size=(n_inputs, n_blocks))
    signs = 2.0 * rng.integers(0, 2, size=(n_inputs, n_blocks)) - 1.0
    return SparseProjection(places.astype(np.int32), signs, n_dims)
