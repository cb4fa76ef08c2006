"""Platt scaling: probabilities from decision values, by a logistic curve of two parameters."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

_RIDGE = 1e-12
_STEPS = 100
_LEAST_STEP = 1e-10
_ARMIJO = 1e-4
_GRADIENT = 1e-5


class PlattScaling(NamedTuple):
    """The curve P(y = 1 | f) = 1 / (1 + exp(slope f + offset)).

    Attributes
    ----------
    slope : float
        Negative where large decision values speak for the label 1.
    offset : float
        The other parameter.

    See Also
    --------
    platt_scaling : Fit one.
    """

    slope: float
    offset: float

    def __call__(self, decision: np.ndarray) -> np.ndarray:
        """Return the probabilities of the label 1."""
        return expit(-(self.slope * np.asarray(decision, dtype=np.float64) + self.offset))


def platt_scaling(decision: ArrayLike, positive: ArrayLike) -> PlattScaling:
    """Fit the logistic curve that turns decision values into probabilities.

    The targets are not 0 and 1, but what a uniform prior on the labels leaves of them, so that the
    curve stays finite where the values separate the labels. Newton's method with backtracking and
    a likelihood that does not overflow [2]_. It fails on decision values of the points that the
    classifier was fitted to: they are too good, and the curve is too steep; take cross-validated
    ones.

    Parameters
    ----------
    decision : (n,) array
        Decision values.
    positive : (n,) bool array
        Which points have the label 1.

    Returns
    -------
    PlattScaling
        The curve; call it with decision values.

    See Also
    --------
    TransductiveSVC : ``predict_proba`` with a curve on cross-validated values.
    label_uncertainty : What the subsampling makes of probabilities.

    References
    ----------
    .. [1] J. Platt. Probabilistic outputs for support vector machines and comparisons to
       regularized likelihood methods. Advances in Large Margin Classifiers, 61-74, 1999.
    .. [2] H.-T. Lin, C.-J. Lin and R. C. Weng. A note on Platt's probabilistic outputs for support
       vector machines. Machine Learning 68, 267-276, 2007. doi:10.1007/s10994-007-5018-6

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import platt_scaling
    >>> curve = platt_scaling([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0], [False] * 3 + [True] * 3)
    >>> np.round(curve([-2.0, 0.0, 2.0]), 2)
    array([0.12, 0.5 , 0.88])
    """
    f = np.asarray(decision, dtype=np.float64)
    yes = np.asarray(positive, dtype=bool)
    if f.shape != yes.shape or f.ndim != 1 or f.size == 0:
        raise ValueError(
            f"decision has shape {f.shape} and positive {yes.shape}; give two vectors of one "
            "length, with at least one value."
        )
    n_yes, n_no = int(yes.sum()), int((~yes).sum())
    target = np.where(yes, (n_yes + 1.0) / (n_yes + 2.0), 1.0 / (n_no + 2.0))
    at = np.array([0.0, np.log((n_no + 1.0) / (n_yes + 1.0))])
    cost = _cost(at, f, target)
    for _ in range(_STEPS):
        p = expit(-(at[0] * f + at[1]))
        slack = target - p
        gradient = np.array([f @ slack, slack.sum()])
        if np.abs(gradient).max() < _GRADIENT:
            break
        w = p * (1.0 - p)
        hessian = np.array([[f * f @ w, f @ w], [f @ w, w.sum()]]) + _RIDGE * np.eye(2)
        way = -np.linalg.solve(hessian, gradient)
        at, cost, moved = _line_search(at, way, cost, float(gradient @ way), f, target)
        if not moved:
            break
    return PlattScaling(float(at[0]), float(at[1]))


def _cost(at: np.ndarray, f: np.ndarray, target: np.ndarray) -> float:
    z = at[0] * f + at[1]
    return float((np.logaddexp(0.0, z) - (1.0 - target) * z).sum())


def _line_search(
    at: np.ndarray, way: np.ndarray, cost: float, fall: float, f: np.ndarray, target: np.ndarray
) -> tuple[np.ndarray, float, bool]:
    step = 1.0
    while step >= _LEAST_STEP:
        there = at + step * way
        found = _cost(there, f, target)
        if found < cost + _ARMIJO * step * fall:
            return there, found, True
        step /= 2.0
    return at, cost, False


def class_probabilities(decision: np.ndarray, curves: list[PlattScaling]) -> np.ndarray:
    """Return probabilities of the classes, rows summing to one: a curve for each, or for one."""
    if len(curves) == 1:
        p = curves[0](decision.reshape(-1))
        return np.stack([1.0 - p, p], axis=1)
    p = np.stack([curve(decision[:, c]) for c, curve in enumerate(curves)], axis=1)
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.full_like(p, 1.0 / len(curves)), where=total > 0)
