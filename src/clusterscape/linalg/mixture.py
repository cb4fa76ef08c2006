"""Gaussian mixtures by expectation and maximisation, each iteration two matrix products.

The log density of a component is linear in features of a point: 1, its values and, unless all
components have one covariance, their squares or products. So is what the maximisation needs, the
sums of these features over the points of each component. Features of the same points serve any
number of mixtures.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape import kernels
from clusterscape._core import seeds as _seeds
from clusterscape._core.params import Choice, Integer, Number, Seed, checked
from clusterscape._core.rows import slices
from clusterscape.linalg.kmeans import kmeans

Covariance = Literal["full", "tied", "diag", "spherical"]

_KEPT = 2**24  # entries of features that are kept; beyond, every iteration makes them anew
_BLOCK = 2**21  # entries of a block of features
_SINGLE_RIDGE = 1e-4  # from this ridge on single precision is enough for float32 points
_ROUNDING = 64.0  # units of rounding of the second moments that variances are raised by


class MixtureFeatures:
    """Points as mixtures of one form of covariance see them: centred, with their products.

    Parameters
    ----------
    X : (n, q) array
        The points.
    covariance : {"full", "tied", "diag", "spherical"}
        Form of the covariances.
    single : bool
        Compute in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.mixture import MixtureFeatures
    >>> MixtureFeatures(np.array([[0.0, 2.0], [2.0, 6.0]]), "diag").rows(slice(0, 2))
    array([[ 1., -1., -2.,  1.,  4.],
           [ 1.,  1.,  2.,  1.,  4.]])
    """

    def __init__(self, X: np.ndarray, covariance: Covariance, *, single: bool = False) -> None:
        self.covariance = covariance
        self.origin = np.asarray(X, dtype=np.float64).mean(axis=0)
        kind = np.float32 if single else np.float64
        self.points = np.ascontiguousarray(X - self.origin, dtype=kind)
        self.n, self.q = self.points.shape
        moved = self.points.astype(np.float64, copy=False)
        self.moments = np.asarray(moved.T @ moved) / self.n
        self.width = 1 + self.q
        if covariance != "tied":
            self.width += self.q * (self.q + 1) // 2 if covariance == "full" else self.q
        self._step = max(64, _BLOCK // self.width)
        whole = self.n * self.width <= _KEPT
        self._kept = self._made(slice(0, self.n)) if whole else None

    def rows(self, part: slice) -> np.ndarray:
        """Return the features of some points."""
        return self._made(part) if self._kept is None else self._kept[part]

    def blocks(self) -> Iterator[slice]:
        """Give the points in blocks whose features are few enough to be kept at a time."""
        return slices(self.n, self.n if self._kept is not None else self._step)

    def _made(self, part: slice) -> np.ndarray:
        Z = self.points[part]
        if self.covariance == "tied":
            return np.hstack([np.ones((len(Z), 1), dtype=Z.dtype), Z])
        return with_products(Z, squares=self.covariance != "full")


def with_products(Z: np.ndarray, *, squares: bool) -> np.ndarray:
    """Return 1, the values of each row, and their squares or the products of all pairs of them."""
    n, q = Z.shape
    out = np.empty((n, 1 + 2 * q if squares else 1 + q + q * (q + 1) // 2), dtype=Z.dtype)
    if not squares:
        kernels.assign.products(np.ascontiguousarray(Z), out)
        return out
    out[:, 0] = 1.0
    out[:, 1 : 1 + q] = Z
    np.square(Z, out=out[:, 1 + q :])
    return out


@dataclass(frozen=True)
class Mixture:
    """A fitted mixture.

    Attributes
    ----------
    labels : (n,) array
        Most probable component of each point.
    membership : (n, k) array
        Probabilities of the components; rows sum to one.
    model : dict of arrays
        ``means`` (k, q) and, by the form of the covariances, their inverses ``precisions``
        (k, q, q), one ``precision`` (q, q) or ``variances`` (k, q). ``log_weights`` (k,) are the
        logarithm of each component's weight plus half that of its precision's determinant: a point
        x belongs to the component with the least
        ``(x - mean) @ precision @ (x - mean) - 2 log_weight``.
    bound : float
        Mean log-likelihood of the points.
    n_iter : int
        Iterations.
    converged : bool
        Whether the last iteration changed the likelihood by less than ``tol``.
    """

    labels: np.ndarray
    membership: np.ndarray
    model: dict[str, np.ndarray]
    bound: float
    n_iter: int
    converged: bool


@checked(
    {
        "n_components": (Integer(1),),
        "covariance": (Choice("full", "tied", "diag", "spherical"),),
        "ridge": (Number(0),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "tol": (Number(0),),
        "seed": (Seed(),),
    }
)
def gaussian_mixture(
    X: np.ndarray,
    n_components: int,
    *,
    covariance: Covariance = "full",
    ridge: float = 0.0,
    n_init: int = 1,
    max_iter: int = 100,
    tol: float = 1e-3,
    seed: SeedSequence | int | None = None,
    features: MixtureFeatures | None = None,
) -> Mixture:
    """Fit a mixture of Gaussians, started from k-means.

    A component needs some points for each of its parameters: with full covariances and few points
    the likelihood grows without bound unless ``ridge`` stops it. Bent clusters are cut in pieces.

    Parameters
    ----------
    X : (n, q) array
        The points.
    n_components : int
        k; fewer are fitted where there are fewer different points.
    covariance : {"full", "tied", "diag", "spherical"}
        A covariance for each component, one for all, variances, or one variance.
    ridge : float
        Share of the mean variance of the columns that is added to the variances, beside 1e-6.
        float32 points are computed in single precision if it is at least 1e-4.
    n_init : int
        Starts; the one with the largest likelihood is kept.
    max_iter : int
        Iterations at most.
    tol : float
        Iterations end when the mean log-likelihood changes by less.
    seed : SeedSequence, int or None
        Of the k-means.
    features : MixtureFeatures, optional
        What :func:`mixture_features` made of the same points.

    Returns
    -------
    Mixture

    See Also
    --------
    clusterscape.linalg.gaussian_fit.gaussian_fit : The likelihood of given clusters.

    Notes
    -----
    Second moments are taken about the mean of all points, so components narrower than about 1e-7
    of the distance between them are widened to that: their variances are raised by 64 units of
    rounding of the largest second moment.

    References
    ----------
    A. P. Dempster, N. M. Laird, D. B. Rubin, "Maximum likelihood from incomplete data via the EM
    algorithm", Journal of the Royal Statistical Society B 39, 1977.
    doi:10.1111/j.2517-6161.1977.tb01600.x

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.linalg.mixture import gaussian_mixture
    >>> X = np.array([[0.0], [0.2], [0.4], [5.0], [5.2], [5.4]])
    >>> found = gaussian_mixture(X, 2, seed=0)
    >>> np.sort(found.model["means"].ravel()).round(2)
    array([0.2, 5.2])
    """
    X = np.ascontiguousarray(X)
    k = min(n_components, X.shape[0])
    given = mixture_features(X, covariance, ridge=ridge) if features is None else features
    if (given.covariance, given.n, given.q) != (covariance, *X.shape):
        raise ValueError("features are those of other points, or of another form of covariance.")
    variances = np.diagonal(given.moments)
    rounding = (
        _ROUNDING * float(np.finfo(np.dtype(given.points.dtype).name).eps) * float(variances.max())
    )
    added = 1e-6 + ridge * float(variances.mean()) + rounding
    best = None
    for child in _seeds.root_sequence(seed).spawn(n_init):
        start = kmeans(X, k, seed=child).labels
        made = _fitted(given, start, added, max_iter, tol)
        if best is None or made.bound > best.bound:
            best = made
    assert best is not None
    return best


def mixture_features(X: np.ndarray, covariance: Covariance, *, ridge: float) -> MixtureFeatures:
    """Return the features of points for mixtures with this ridge, which any number may share."""
    single = X.dtype == np.float32 and ridge >= _SINGLE_RIDGE
    return MixtureFeatures(X, covariance, single=single)


def density_table(
    means: np.ndarray, model: Mapping[str, np.ndarray], form: Literal["squares", "products"]
) -> np.ndarray:
    """Return minus twice the log densities of components as a table over features.

    Parameters
    ----------
    means : (k, q) array
        Means, in the coordinates of the points.
    model : mapping
        ``log_weights`` and ``precisions`` or, for squares, ``variances``, as in :class:`Mixture`.
    form : {"squares", "products"}
        The features, as :func:`with_products` makes them.

    Returns
    -------
    (f, k) array
        Its product with the features is minus twice the log density, less what all components
        share.
    """
    if form == "squares":
        precisions = 1.0 / model["variances"]
        pulled, products = precisions * means, precisions
    else:
        precisions = model["precisions"]
        pulled = (precisions @ means[:, :, None])[:, :, 0]
        products = precisions.reshape(len(means), -1)[:, _upper(means.shape[1])]
        products = products * _twice(means.shape[1])
    constant = np.einsum("ki,ki->k", pulled, means) - 2.0 * model["log_weights"]
    return np.vstack([constant, -2.0 * pulled.T, products.T])


@functools.lru_cache(maxsize=64)
def _upper(q: int) -> np.ndarray:
    """Return the places of the upper triangle, row by row, in a matrix that is laid out flat."""
    rows, columns = np.triu_indices(q)
    return rows * q + columns


@functools.lru_cache(maxsize=64)
def _square(q: int) -> np.ndarray:
    """Return where in the upper triangle each entry of a symmetric matrix stands."""
    found = np.empty((q, q), dtype=np.int64)
    rows, columns = np.triu_indices(q)
    found[rows, columns] = found[columns, rows] = np.arange(rows.size)
    return found.ravel()


@functools.lru_cache(maxsize=64)
def _twice(q: int) -> np.ndarray:
    """Return how often the entries of the upper triangle stand in a symmetric matrix."""
    rows, columns = np.triu_indices(q)
    return np.where(rows == columns, 1.0, 2.0)


def _fitted(
    given: MixtureFeatures, start: np.ndarray, added: float, max_iter: int, tol: float
) -> Mixture:
    """Return the mixture that the iterations lead to from a partition of the points."""
    k = int(start.max()) + 1
    sums = np.zeros((k, given.width))
    for part in given.blocks():
        hot = (start[part] == np.arange(k)[:, None]).astype(given.points.dtype)
        sums += hot @ given.rows(part)
    bound, converged, n_iter = -np.inf, False, 0
    model = _maximised(given, sums, added)
    while n_iter < max_iter and not converged:
        n_iter += 1
        before = bound
        sums, bound = _expected(given, model)
        model = _maximised(given, sums, added)
        converged = abs(bound - before) < tol
    membership = np.empty((given.n, k))
    bound = _expected(given, model, membership)[1]
    model["means"] = model["means"] + given.origin
    return Mixture(membership.argmax(axis=1), membership, model, bound, n_iter, converged)


def _expected(
    given: MixtureFeatures, model: Mapping[str, np.ndarray], membership: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    """Return the sums of the features over each component, and the mean log-likelihood.

    With one row per component the reductions run over rows, which are long.
    """
    table, common = _table(given, model)
    sums, total = np.zeros(table.shape), 0.0
    # The answer itself is taken in double precision.
    table = table if membership is not None else table.astype(given.points.dtype)
    for part in given.blocks():
        features = given.rows(part)
        scores = table @ features.T
        most = scores.max(axis=0)
        scores -= most
        np.exp(scores, out=scores)
        mass = scores.sum(axis=0)
        scores /= mass
        total += float(most.sum(dtype=np.float64) + np.log(mass).sum(dtype=np.float64))
        if membership is None:
            sums += scores @ features
        else:
            membership[part] = scores.T
    return sums, total / given.n + common


def _table(given: MixtureFeatures, model: Mapping[str, np.ndarray]) -> tuple[np.ndarray, float]:
    """Return the (k, f) log densities as a table over features, and the mean of what is missing."""
    common = -0.5 * given.q * float(np.log(2.0 * np.pi))
    means = model["means"]
    if given.covariance != "tied":
        form: Any = "products" if given.covariance == "full" else "squares"
        return -0.5 * density_table(means, model, form).T, common
    pulled = means @ model["precision"]
    constant = model["log_weights"] - 0.5 * np.einsum("ki,ki->k", pulled, means)
    common -= 0.5 * float((model["precision"] * given.moments).sum())
    return np.hstack([constant[:, None], pulled]), common


def _maximised(given: MixtureFeatures, sums: np.ndarray, added: float) -> dict[str, np.ndarray]:
    """Return the model that fits the sums of the features over each component best."""
    q, k = given.q, len(sums)
    size = sums[:, 0] + 10 * np.finfo(np.float64).eps
    weights = size / size.sum()
    means = sums[:, 1 : 1 + q] / size[:, None]
    rest = sums[:, 1 + q :] / size[:, None]
    model = {"means": means}
    if given.covariance in ("diag", "spherical"):
        variances = np.maximum(rest - means**2, 0.0) + added
        if given.covariance == "spherical":
            variances[:] = variances.mean(axis=1, keepdims=True)
        model["variances"] = variances
        model["log_weights"] = np.log(weights) - 0.5 * np.log(variances).sum(axis=1)
        return model
    if given.covariance == "full":
        covariance: np.ndarray = rest[:, _square(q)].reshape(k, q, q)
        covariance -= means[:, :, None] * means[:, None, :]
    else:
        covariance = given.moments - (means.T * weights) @ means
    covariance[..., np.arange(q), np.arange(q)] += added
    diagonals = np.diagonal(np.linalg.cholesky(covariance), axis1=-2, axis2=-1)
    model["precision" if given.covariance == "tied" else "precisions"] = np.linalg.inv(covariance)
    model["log_weights"] = np.log(weights) - np.log(diagonals).sum(axis=-1)
    return model
