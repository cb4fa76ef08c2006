"""Two Gaussians that mirror each other, three hard mixtures with noise features, noisy blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.special import ndtr

from clusterscape._core.params import Integer, Number, Seed, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.linalg.distances import check_range
from clusterscape.linalg.eigen import symmetric_eigen

_LEAST_EIGENVALUE = 1e-3  # of the covariance of G1, so that its inverse is well conditioned


@dataclass(frozen=True)
class Mixture:
    """A sample of two Gaussians N(mean, covariance) and N(-mean, covariance), and its limits.

    Attributes
    ----------
    X : ndarray of shape (n_points, n_features)
        The points.
    y : ndarray of shape (n_points,)
        1 where the point was drawn around ``mean``, 0 where around ``-mean``.
    mean : ndarray of shape (n_features,)
        Centre of the points with label 1; a feature with mean 0 is pure noise.
    covariance : ndarray of shape (n_features, n_features)
        Of both Gaussians.
    bayes_accuracy : float
        The best share of points that any rule can get right, labels and all parameters known.

    See Also
    --------
    make_g1, make_g2, make_g3 : Draw one.
    """

    X: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    covariance: np.ndarray
    bayes_accuracy: float


@checked({"n_points": [Integer(1)], "share": [Number(0, 1)], "random_state": [Seed()]})
def make_two_gaussians(
    n_points: int,
    mean: ArrayLike,
    *,
    covariance: ArrayLike | None = None,
    share: float = 0.5,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Draw from two Gaussians with the same covariance and opposite means.

    This is the mixture (2) of Yan, Chen and Jordan (Cluster Forests). The label of a point is 1
    with probability ``share``; the point lies around ``mean`` when it is 1, else around ``-mean``.

    Parameters
    ----------
    n_points : int
        Number of points.
    mean : array-like of shape (n_features,)
        The mean of one Gaussian.
    covariance : array-like of shape (n_features, n_features), optional
        Symmetric and positive semidefinite; by default the identity.
    share : float in [0, 1]
        Probability of label 1.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    X : ndarray of shape (n_points, n_features)
    y : ndarray of shape (n_points,), int64

    See Also
    --------
    make_g1, make_g2, make_g3 : Three settings with noise features.
    bayes_accuracy : The accuracy of the best rule.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.datasets import make_two_gaussians
    >>> X, y = make_two_gaussians(1000, [3.0, 0.0], random_state=0)
    >>> X.shape, bool(X[y == 1, 0].mean() > 2.8)
    ((1000, 2), True)
    """
    centre = checked_means(mean, "mean")
    root = None if covariance is None else _root(_checked_covariance(covariance, centre.size))
    labels, noise = (np.random.default_rng(seed) for seed in spawn(random_state, 2))
    y = (labels.random(n_points) < share).astype(np.int64)
    X = noise.normal(size=(n_points, centre.size))
    if root is not None:
        X = X @ root
    X += np.where(y == 1, 1.0, -1.0)[:, None] * centre
    return X, y


def bayes_accuracy(mean: ArrayLike, covariance: ArrayLike | None = None) -> float:
    """Return the accuracy of the best rule for two equally likely Gaussians with opposite means.

    It is Phi(sqrt(mean' covariance^-1 mean)), Phi the normal distribution function: about 0.84
    for Gaussians whose means are two standard deviations apart.

    Parameters
    ----------
    mean : array-like of shape (n_features,)
        The Gaussians lie around ``mean`` and ``-mean``.
    covariance : array-like of shape (n_features, n_features), optional
        Symmetric and positive definite; by default the identity.

    Returns
    -------
    float

    See Also
    --------
    make_two_gaussians : Draws from the two Gaussians.

    Examples
    --------
    >>> from clusterscape.datasets import bayes_accuracy
    >>> round(bayes_accuracy([1.0]), 4), bayes_accuracy([0.0, 0.0])
    (0.8413, 0.5)
    """
    centre = checked_means(mean, "mean")
    if covariance is None:
        return float(ndtr(np.linalg.norm(centre)))
    matrix = _checked_covariance(covariance, centre.size)
    try:
        factor = linalg.cho_factor(matrix, lower=True)
    except linalg.LinAlgError:
        raise ValueError(
            "covariance is not positive definite, so it has no inverse; leave out the features "
            "that are combinations of others."
        ) from None
    return float(ndtr(np.sqrt(centre @ linalg.cho_solve(factor, centre))))


@checked({"n_points": [Integer(1)], "random_state": [Seed()]})
def make_g1(n_points: int = 4000, *, random_state: RandomState = None) -> Mixture:
    """Draw G1: 100 noise features and 100 useful ones of rising strength, all correlated.

    The means are 0 (a hundred times) and 1, 2, ..., 100; every variance is 1 (Yan, Chen and
    Jordan, section 5.1). Correlations are drawn uniformly from [0, 0.5]. The source asks for
    positive definiteness, but a draw of this size never is positive definite (from 20 features on
    none of 200 was), so the nearest correlation matrix with eigenvalues of at least 0.001 is
    used: all but a few of its correlations stay in [0, 0.5], and they vary half as much. The number
    of noise features is not printed in the source; 100 is chosen here.

    Parameters
    ----------
    n_points : int
        Number of points.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    Mixture

    See Also
    --------
    make_g2, make_g3 : The other two mixtures.
    nearest_correlation : Makes the covariance.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.datasets import make_g1
    >>> drawn = make_g1(50, random_state=0)
    >>> drawn.X.shape, drawn.mean[-1], drawn.bayes_accuracy
    ((50, 200), np.float64(100.0), 1.0)
    """
    first, second = spawn(random_state, 2)
    mean = np.concatenate([np.zeros(100), np.arange(1.0, 101.0)])
    drawn = np.tril(np.random.default_rng(first).uniform(0.0, 0.5, size=(200, 200)), -1)
    drawn = drawn + drawn.T + np.eye(200)
    covariance = nearest_correlation(drawn, min_eigenvalue=_LEAST_EIGENVALUE)
    X, y = make_two_gaussians(n_points, mean, covariance=covariance, random_state=second)
    return Mixture(X, y, mean, covariance, bayes_accuracy(mean, covariance))


@checked({"n_points": [Integer(1)], "random_state": [Seed()]})
def make_g2(n_points: int = 4000, *, random_state: RandomState = None) -> Mixture:
    """Draw G2: 100 noise features and 20 weak ones, independent.

    The covariance is the identity; the means are 0 (a hundred times), then 20 numbers drawn
    uniformly from [0, 1] (Yan, Chen and Jordan, section 5.1). No single feature separates the
    clusters, all twenty together get about 99 % of the points right. The source does not print
    the number of points.

    Parameters
    ----------
    n_points : int
        Number of points.
    random_state : int, generator or None
        The seed; it decides the means too.

    Returns
    -------
    Mixture

    See Also
    --------
    make_g1, make_g3 : The other two mixtures.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.datasets import make_g2
    >>> drawn = make_g2(50, random_state=0)
    >>> drawn.X.shape, round(drawn.bayes_accuracy, 3)
    ((50, 120), 0.996)
    """
    first, second = spawn(random_state, 2)
    useful = np.random.default_rng(first).uniform(0.0, 1.0, size=20)
    return _with_identity(n_points, np.concatenate([np.zeros(100), useful]), second)


@checked({"n_points": [Integer(1)], "random_state": [Seed()]})
def make_g3(n_points: int = 4000, *, random_state: RandomState = None) -> Mixture:
    """Draw G3: 1000 noise features and 20 strong ones, independent.

    The covariance is the identity; the means are 0 (a thousand times), then 1, 2, ..., 20 with
    random signs (Yan, Chen and Jordan, section 5.1). The source does not print the number of
    points.

    Parameters
    ----------
    n_points : int
        Number of points.
    random_state : int, generator or None
        The seed; it decides the signs too.

    Returns
    -------
    Mixture

    See Also
    --------
    make_g1, make_g2 : The other two mixtures.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.datasets import make_g3
    >>> drawn = make_g3(50, random_state=0)
    >>> drawn.X.shape, abs(drawn.mean[-2:]), drawn.bayes_accuracy
    ((50, 1020), array([19., 20.]), 1.0)
    """
    first, second = spawn(random_state, 2)
    signs = np.random.default_rng(first).choice([-1.0, 1.0], size=20)
    return _with_identity(
        n_points, np.concatenate([np.zeros(1000), signs * np.arange(1.0, 21.0)]), second
    )


@checked(
    {
        "n_points": [Integer(2)],
        "balance": [Number(0, 1, open_low=True)],
        "overlap": [Number(0, 1)],
        "sigma": [Number(0)],
        "random_state": [Seed()],
    }
)
def make_perturbed_similarity(
    n_points: int,
    *,
    balance: float = 1.0,
    overlap: float = 0.1,
    sigma: float = 1.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Make the similarities of two clusters, with normal noise on every pair.

    Without noise a similarity is ``1 - overlap`` inside of a cluster and ``overlap`` across: the
    perturbation model (6) of Yan, Chen and Jordan. The noise has mean 0, so similarities leave
    [0, 1], and degrees can be negative when ``sigma`` is large.

    Parameters
    ----------
    n_points : int
        Number of points; the matrix has ``n_points ** 2`` entries.
    balance : float in (0, 1]
        Size of the second cluster over that of the first (gamma).
    overlap : float in [0, 1]
        Similarity across clusters (nu).
    sigma : float
        Standard deviation of the noise, independent for all pairs.
    random_state : int, generator or None
        The seed.

    Returns
    -------
    P : ndarray of shape (n_points, n_points)
        Symmetric.
    y : ndarray of shape (n_points,), int64
        The cluster of each point: the first cluster's points come first.

    See Also
    --------
    clusterscape.forest.simulate_misclustering : Cuts such similarities, and counts the errors.

    References
    ----------
    .. [1] D. Yan, A. Chen and M. I. Jordan. Cluster forests. Computational Statistics & Data
       Analysis 66, 178-192, 2013. doi:10.1016/j.csda.2013.04.010

    Examples
    --------
    >>> from clusterscape.datasets import make_perturbed_similarity
    >>> P, y = make_perturbed_similarity(4, overlap=0.25, sigma=0.0)
    >>> P[0], y
    (array([0.75, 0.75, 0.25, 0.25]), array([0, 0, 1, 1]))
    """
    rng = np.random.default_rng(spawn(random_state, 1)[0])
    first = min(max(round(n_points / (1 + balance)), 1), n_points - 1)
    y = (np.arange(n_points) >= first).astype(np.int64)
    P = np.where(y[:, None] == y, 1.0 - overlap, overlap)
    noise = np.tril(rng.normal(scale=sigma, size=(n_points, n_points)))
    P += noise
    P += np.tril(noise, -1).T
    return P, y


@checked(
    {"min_eigenvalue": [Number(0, 1)], "tol": [Number(0, open_low=True)], "max_iter": [Integer(1)]}
)
def nearest_correlation(
    matrix: ArrayLike, *, min_eigenvalue: float = 0.0, tol: float = 1e-8, max_iter: int = 5000
) -> np.ndarray:
    """Return the correlation matrix that is nearest to a symmetric matrix.

    The distance is the Frobenius norm. The method is Higham's [1]_: projections onto the
    matrices with unit diagonal and onto those with no eigenvalue below ``min_eigenvalue``, in
    turn, with Dykstra's correction for the second. It converges slowly when the matrix is far
    from a correlation matrix; the cost of a step is cubic.

    Parameters
    ----------
    matrix : array-like of shape (p, p)
        Symmetric.
    min_eigenvalue : float in [0, 1]
        Least eigenvalue of the answer. With 0 the answer is singular, unless the matrix is a
        correlation matrix already.
    tol : float
        Stop when the two projections differ by this much, relative to the norm of the answer.
    max_iter : int
        Steps at most; an answer that has not converged is refused.

    Returns
    -------
    ndarray of shape (p, p)

    See Also
    --------
    make_g1 : Uses it for its covariance.

    References
    ----------
    .. [1] N. J. Higham. Computing the nearest correlation matrix: a problem from finance. IMA
       Journal of Numerical Analysis 22(3), 329-343, 2002. doi:10.1093/imanum/22.3.329

    Examples
    --------
    >>> from clusterscape.datasets import nearest_correlation
    >>> nearest_correlation([[1, 1, 0], [1, 1, 1], [0, 1, 1]]).round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    """
    given = np.asarray(matrix, dtype=np.float64)
    current = _checked_symmetric(given, "matrix").copy()
    correction = np.zeros_like(current)
    for _ in range(max_iter):
        start = current - correction
        solved = symmetric_eigen(start, len(start), solver="dense")
        raised = np.maximum(solved.values, min_eigenvalue)
        projected = (solved.vectors * raised) @ solved.vectors.T
        correction = projected - start
        current = projected.copy()
        np.fill_diagonal(current, 1.0)
        # Divided, as a product would leave the range; the ones of the diagonal keep it above 0.
        close = np.linalg.norm(current - projected) / np.linalg.norm(current) <= tol
        if close and projected.diagonal().min() > 0:  # with a large tol zeros may seem close
            # Scaled, not overwritten: overwriting the diagonal can make an eigenvalue negative.
            scale = 1.0 / np.sqrt(projected.diagonal())
            answer = projected * scale[:, None] * scale
            answer = (answer + answer.T) / 2
            np.fill_diagonal(answer, 1.0)
            return answer
    raise RuntimeError(
        f"the nearest correlation matrix was not reached in max_iter={max_iter} steps; "
        "allow more steps or a larger tol."
    )


def _with_identity(n_points: int, mean: np.ndarray, seed: np.random.SeedSequence) -> Mixture:
    X, y = make_two_gaussians(n_points, mean, random_state=seed)
    return Mixture(X, y, mean, np.eye(mean.size), bayes_accuracy(mean))


def checked_means(values: ArrayLike, name: str) -> np.ndarray:
    """Return the mean of every feature as floats, or say what is wrong with it."""
    means = np.asarray(values, dtype=np.float64)
    if means.ndim != 1 or means.size == 0 or not np.isfinite(means).all():
        raise ValueError(
            f"{name} must be a list of finite numbers, one per feature; got shape {means.shape}."
        )
    check_range(means, name, smallest=False)
    return means


def _checked_symmetric(matrix: np.ndarray, name: str) -> np.ndarray:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
        raise ValueError(f"{name} must be square; got shape {matrix.shape}.")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} has entries that are not finite; replace them.")
    check_range(matrix, name, smallest=False)
    if not np.allclose(matrix, matrix.T, rtol=0, atol=1e-10 * np.abs(matrix).max()):
        raise ValueError(f"{name} is not symmetric; use ({name} + {name}.T) / 2.")
    return matrix


def _checked_covariance(covariance: ArrayLike, size: int) -> np.ndarray:
    matrix = _checked_symmetric(np.asarray(covariance, dtype=np.float64), "covariance")
    if len(matrix) != size:
        raise ValueError(
            f"covariance is for {len(matrix)} features, but mean has {size}; give one row per "
            "feature."
        )
    return matrix


def _root(covariance: np.ndarray) -> np.ndarray:
    """Return R with R' R = covariance, which may be singular."""
    solved = symmetric_eigen(covariance, len(covariance), solver="dense")
    if solved.values[-1] < -1e-10 * max(abs(solved.values[0]), 1e-300):
        raise ValueError(
            f"covariance has the eigenvalue {solved.values[-1]:.3g}, so it is no covariance; "
            "nearest_correlation finds the nearest matrix that is one for unit variances."
        )
    return np.sqrt(np.maximum(solved.values, 0.0))[:, None] * solved.vectors.T
