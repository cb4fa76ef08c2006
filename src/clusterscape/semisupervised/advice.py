"""Signs that unlabelled points make a classifier worse, found without their labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import SeedSequence
from scipy.special import betainc
from sklearn.svm import SVC

from clusterscape.semisupervised.kernel_rows import KernelData
from clusterscape.semisupervised.platt import PlattScaling, class_probabilities, platt_scaling

_LEAST, _MOST = 20, 400  # labelled points with which errors are estimated
_FOLDS = 5


class LeftOut(NamedTuple):
    """What machines of the labelled points say of those that were left out.

    ``error`` is the share of wrong labels, ``curves`` turn decision values into probabilities.
    """

    error: float
    curves: list[PlattScaling]


def left_out(data: KernelData, codes: np.ndarray, C: float, seed: SeedSequence) -> LeftOut | None:
    """Fit machines to four fifths of the labelled points at a time, and try them on the others.

    The labelled points are the first of ``data``; at most 400 of them are taken. None for fewer
    than 20, or where a class has one label only.
    """
    counts = np.bincount(codes)
    if codes.size < _LEAST or counts.min() < 2:
        return None
    some, folds = _dealt(codes, np.random.default_rng(seed))
    known = codes[some]
    kernel = np.asarray(data.block(some, some), dtype=np.float64)
    classes = [1] if counts.size == 2 else range(counts.size)
    f = np.empty((known.size, len(classes)))
    for fold in range(_FOLDS):
        out, keep = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        inside, beside = kernel[np.ix_(keep, keep)], kernel[np.ix_(out, keep)]
        for i, c in enumerate(classes if out.size else ()):
            machine = SVC(C=C, kernel="precomputed").fit(inside, known[keep] == c)
            f[out, i] = machine.decision_function(beside)
    found = f.argmax(axis=1) if f.shape[1] > 1 else (f[:, 0] > 0).astype(np.int64)
    curves = [platt_scaling(f[:, i], known == c) for i, c in enumerate(classes)]
    return LeftOut(float((found != known).mean()), curves)


def _dealt(codes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw labelled points, at least two of each class, and deal each class to the folds."""
    order = rng.permutation(codes.size)
    order = order[np.argsort(codes[order], kind="stable")]
    ends = np.cumsum(np.bincount(codes))
    rank = np.arange(codes.size) - np.append(0, ends[:-1])[codes[order]]
    # Ranks as shares of the class: the first so many are in proportion to the classes.
    share = np.where(rank < 2, -1.0, rank / np.bincount(codes)[codes[order]])
    taken = np.sort(np.argsort(share, kind="stable")[: max(_MOST, 2 * ends.size)])
    return order[taken], (rank[taken] + codes[order][taken]) % _FOLDS


def expected_loss(
    decision: np.ndarray, curves: list[PlattScaling], before: np.ndarray, now: np.ndarray
) -> float:
    """Return by how much the accuracy falls if the machine without unlabelled points is right.

    That is in the mean over points: the probability of the label before less that of the label
    now, by its own calibrated ``decision`` values.
    """
    p = class_probabilities(decision, curves)
    every = np.arange(len(p))
    return float((p[every, before] - p[every, now]).mean())


def chance_of_loss(gained: int, lost: int) -> float:
    """Return the probability that changes of labels are wrong more often than right.

    ``gained`` labelled points that were left out became right by the change, and ``lost`` ones
    wrong; all rates are equally likely beforehand.
    """
    return float(betainc(gained + 1, lost + 1, 0.5))
