"""Non-negative matrix factorisation as a clusterer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.seeds import spawn
from clusterscape.generate.features import Matrix

TOLERANCE = 1e-4


@dataclass(frozen=True)
class NMFResult:
    """Labels of the best start, its objective, and whether it converged."""

    labels: np.ndarray
    cost: float
    n_iter: int
    converged: bool


def nmf(
    X: Matrix,
    n_clusters: int,
    *,
    seed: SeedSequence,
    loss: Literal["frobenius", "kullback-leibler"] = "frobenius",
    n_init: int = 1,
    max_iter: int = 300,
) -> NMFResult:
    """Factor non-negative X into W H by multiplicative updates; label points by their main factor.

    W and H start uniform on (0, 1]. A factor may be scaled up in W and down in H without changing
    the product, so the labels are taken after giving every row of H the same norm. A row of zeros
    has no main factor and gets label 0. Fewer than ``n_clusters`` labels may be used.

    Raises
    ------
    ValueError
        When X has a negative entry.
    """
    if X.min() < 0:
        raise ValueError(
            f"NMF needs non-negative data; the smallest value is {float(X.min()):.6g}. Leave the "
            "columns unstandardised if they were non-negative, or rescale them, for example with "
            "sklearn.preprocessing.MinMaxScaler."
        )
    best: NMFResult | None = None
    for child in spawn(seed, n_init):
        found = _one_start(X, n_clusters, seed=child, loss=loss, max_iter=max_iter)
        if best is None or found.cost < best.cost:
            best = found
    assert best is not None
    return best


def _one_start(X: Matrix, k: int, *, seed: SeedSequence, loss: str, max_iter: int) -> NMFResult:
    from sklearn.decomposition import NMF

    rng = np.random.default_rng(seed)
    W = (1.0 - rng.random((X.shape[0], k))).astype(X.dtype)
    H = (1.0 - rng.random((k, X.shape[1]))).astype(X.dtype)
    model = NMF(
        n_components=k,
        init="custom",
        solver="mu",
        beta_loss=loss,
        tol=TOLERANCE,
        max_iter=max_iter,
    )
    W = model.fit_transform(X, W=W, H=H)
    # scikit-learn reports the root of twice the divergence.
    cost = float(model.reconstruction_err_) ** 2 / 2
    labels = scale_free_labels(W, model.components_)
    return NMFResult(labels, cost, int(model.n_iter_), bool(model.n_iter_ < max_iter))


def scale_free_labels(W: np.ndarray, H: np.ndarray) -> np.ndarray:
    """Return each row's largest entry of W after every row of H was brought to norm one.

    Examples
    --------
    >>> W, H = np.array([[1.0, 3.0], [1.0, 9.0]]), np.array([[5.0, 0.0], [0.0, 1.0]])
    >>> scale_free_labels(W, H)
    array([0, 1])
    """
    return np.asarray(np.argmax(W * np.linalg.norm(H, axis=1), axis=1))
