"""What the lifting map takes, and the sentences for what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from clusterscape._core.params import N_JOBS, Choice, Integer, Null, Number, Rule, Seed, Such, shown
from clusterscape.lifting.exact import check_square, length
from clusterscape.lifting.members import Members

SHIFT_INVARIANT = ("gaussian", "laplacian", "cauchy")

RULES: dict[str, tuple[Rule, ...]] = {
    "kernel": (
        Choice(*SHIFT_INVARIANT, "discrete", "precomputed"),
        Such(callable, "a function of two lists of points that returns their kernel values"),
    ),
    "bandwidth": (Choice("median"), Number(0, open_low=True)),
    "n_components": (Choice("auto"), Null(), Integer(2)),
    "error": (Null(), Number(0, open_low=True)),
    "noise": (Choice("cluster", "drop"),),
    "random_state": (Seed(),),
    "n_jobs": tuple(N_JOBS),
    "max_gb": (Number(0, open_low=True),),
}

_ZERO = 1e-14  # a squared length below this share of the largest possible one is zero


def has_features(kernel: Any) -> bool:
    """Say whether random Fourier features of the kernel are known."""
    return isinstance(kernel, str) and kernel in SHIFT_INVARIANT


def check_choice(kernel: Any, bandwidth: Any, n_components: Any, error: Any) -> None:
    """Refuse choices that contradict each other."""
    name = "a kernel function" if callable(kernel) else f"kernel={kernel!r}"
    if not has_features(kernel) and not isinstance(bandwidth, str):
        raise ValueError(
            f"bandwidth={bandwidth:g} cannot be used with {name}, which has none; leave it out, "
            f"or take one of the kernels {', '.join(map(repr, SHIFT_INVARIANT))}."
        )
    asked = isinstance(n_components, (int, np.integer))
    if error is not None and n_components != "auto":
        raise ValueError(
            f"error={error} asks for a number of random features and n_components={n_components} "
            "says another thing; give one of them."
        )
    if asked and n_components % 2:
        raise ValueError(
            f"n_components={n_components} is odd; features come as pairs of a cosine and a sine, "
            f"so take {n_components + 1}."
        )
    if asked and not has_features(kernel):
        raise ValueError(
            f"n_components={n_components} cannot be used with {name}, which has no random "
            "features; leave n_components='auto' for exact kernel sums."
        )


def checked_features(features: Any, kernel: Any, n_points: int) -> Any:
    """Return the points as the kernel takes them, one for each point of the ensemble."""
    if kernel == "discrete":
        return None
    if features is None:
        raise ValueError(
            "features is missing: the points must be given, features=X, except with "
            "kernel='discrete', which sees only whether two points are the same."
        )
    features = checked_items(features) if callable(kernel) else checked_points(features)
    if length(features) != n_points:
        raise ValueError(
            f"features has {length(features)} rows and the ensemble {n_points} points; pass one "
            "row a point, in the same order."
        )
    if kernel == "precomputed" and features.shape[1] != n_points:
        raise ValueError(
            f"features has shape {features.shape}; with kernel='precomputed' it must hold the "
            f"kernel values of all pairs of points, {n_points} x {n_points}."
        )
    if kernel == "precomputed":
        check_square(features)
    return features


def checked_items(features: Any) -> Any:
    """Return the points as a kernel function takes them: any sequence, or rows of an array."""
    if hasattr(features, "to_numpy"):  # of a frame the rows are meant, not the columns
        features = features.to_numpy()
    if not hasattr(features, "shape") and not hasattr(features, "__len__"):
        raise TypeError(f"features must be a list or an array of points; got {shown(features)}.")
    return features


def checked_points(features: Any, width: int | None = None) -> Any:
    """Return a finite float matrix, dense or CSR, with ``width`` columns."""
    if features is None:
        raise ValueError("features is missing: pass the points whose scores are wanted.")
    X = check_array(
        features, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="features"
    )
    if width is not None and X.shape[1] != width:
        raise ValueError(f"features has {X.shape[1]} columns; {width} are needed.")
    return X


def check_room(members: Members, kernel: Any, n_components: int | None, max_gb: float) -> None:
    """Refuse a result that would not fit."""
    count = members.size.size
    need = 8.0 * count * (count if n_components is None else n_components) / 1e9
    if need <= max_gb:
        return
    if n_components is None:
        what = f"the exact products of {count:,} clusters"
        few = ", use random features (n_components=1000)" if has_features(kernel) else ""
    else:
        what = f"{n_components:,} features of {count:,} clusters"
        few = ", take fewer features (n_components)" if n_components > 2 else ""
    raise MemoryError(
        f"{what} would take {need:,.1f} GB, more than the {max_gb:g} GB of max_gb. Take fewer "
        f"clusters at a time{few}, or, where max_gb is an option, raise it."
    )


def checked_lengths(square: np.ndarray, largest: np.ndarray, bandwidth: float | None) -> np.ndarray:
    """Return which clusters have a vector that is not zero; ``square`` are squared lengths."""
    if not np.isfinite(square).all() and bandwidth is None:
        raise ValueError(
            "kernel: a sum of kernel values over a cluster is not a finite number. Divide the "
            "values by the largest of them."
        )
    if not np.isfinite(square).all():
        raise ValueError(
            f"bandwidth={bandwidth:g} is too small for these features: their ratio is not a "
            "finite number in single precision. Scale the features, or take a larger one."
        )
    if (square < -1e-8 * largest).any():
        raise ValueError(
            "kernel: a sum of kernel values over a cluster is negative, so the kernel is not "
            "positive definite. Subtract its least eigenvalue from the diagonal, or take another."
        )
    return square > _ZERO * largest


def check_products(products: np.ndarray) -> None:
    """Refuse products of unit vectors beyond 1, which no positive definite kernel gives."""
    beyond = np.abs(products).max(initial=0.0)
    if beyond > 1.0 + 1e-6:
        raise ValueError(
            f"kernel: two clusters have a cosine of {beyond:.6g}, so the kernel is not positive "
            "definite. Subtract its least eigenvalue from the diagonal, or take another."
        )
