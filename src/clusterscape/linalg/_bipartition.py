"""One bipartition of a graph by the second eigenvector of its normalised Laplacian."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from clusterscape.linalg._extension import LEAST_EIGENVALUE
from clusterscape.linalg.eigen import symmetric_eigen
from clusterscape.linalg.operators import root_shares, row_sums, scaled, symmetric_operator
from clusterscape.linalg.thresholded import ThresholdedCoassociation

_BLOCK = 2**22  # elements of a temporary block
Cut = Literal["sign", "best"]
Order = Literal["best", "largest"]


@dataclass(frozen=True)
class Candidate:
    """How a part would be split."""

    side: np.ndarray  # mask of the points that keep the label
    value: float
    eigenvalue: float
    # A point x keeps the label if the sum of its similarities times this is >= 0 (strict: > 0).
    sums: np.ndarray
    strict: bool


def next_part(
    operator: Any,
    weight: np.ndarray,
    parts: dict[int, np.ndarray],
    known: dict[int, Candidate | None],
    *,
    cut: Cut,
    order: Order,
    seed: int,
) -> tuple[int, Candidate] | None:
    """Return the part to split next, and how; ``known`` remembers the splits looked at."""
    best: tuple[int, Candidate] | None = None
    for part in sorted(parts, key=lambda p: -float(weight[parts[p]].sum())):
        if part not in known:
            points = parts[part]
            inner = operator if points.size == weight.size else restricted(operator, points)
            known[part] = candidate(inner, weight[points], cut, seed)
        found = known[part]
        # Of equal cuts the heavier part's is made; rounding must not decide.
        if found is not None and (best is None or found.value < best[1].value - 1e-12):
            best = part, found
            if order == "largest":
                break
    return best


def restricted(operator: Any, points: np.ndarray) -> Any:
    """Return the similarities within ``points``, which are ascending."""
    if isinstance(operator, ThresholdedCoassociation):
        return operator.subset(points)
    if sparse.issparse(operator):
        return operator.tocsr()[points][:, points]
    if isinstance(operator, np.ndarray):
        return operator[np.ix_(points, points)]
    A, n = aslinearoperator(operator), operator.shape[0]
    step = max(1, _BLOCK // n)

    def product(block: np.ndarray) -> np.ndarray:
        result = np.empty_like(block)
        for start in range(0, block.shape[1], step):
            padded = np.zeros((n, min(step, block.shape[1] - start)))
            padded[points] = block[:, start : start + step]
            result[:, start : start + step] = (A @ padded)[points]
        return result

    return symmetric_operator(points.size, product)


def candidate(operator: Any, weight: np.ndarray, cut: Cut, seed: int) -> Candidate | None:
    """Return the split of a part, or None if it cannot be split."""
    if weight.size < 2:
        return None
    degree = degrees(operator, weight)
    root = np.sqrt(weight * degree)
    if (root <= 0).any():  # a point without any similarity is a component of its own
        return _split_off(operator, weight, degree)
    rest, unit = without_first(operator, weight, degree)
    if _is_alike(rest, unit, seed):
        return None
    found = symmetric_eigen(rest, 1, seed=seed)
    eigenvalue = max(float(1.0 - found.values[0]), 0.0)
    if eigenvalue < 1e-8:
        apart = _split_off(operator, weight, degree)
        if apart is not None:
            return apart
    vector, pull = _settled(
        operator, weight, degree, found.vectors[:, 0] / root, float(found.values[0])
    )
    if cut == "sign":
        # What is zero but for rounding goes with the positive side.
        place = -1e-10 * float(np.abs(vector).max())
        side = vector >= place
    else:
        side = _sweep(operator, weight, degree, vector)
    if side.all() or not side.any():
        return None
    if cut == "best":
        place = float(vector[side].min() + vector[~side].max()) / 2.0
    value = _cut_value(operator, weight, degree, side)
    if pull is None:
        return Candidate(side, value, eigenvalue, _balance(weight, degree, side), False)
    return Candidate(side, value, eigenvalue, pull - place * weight, False)


def without_first(
    operator: Any, weight: np.ndarray, degree: np.ndarray
) -> tuple[LinearOperator, np.ndarray]:
    """Return the normalised similarity without its first eigenvector, which is known, and that one.

    It is moved to the far end of the spectrum, so that the second one is the largest.
    """
    inner = scaled(operator, root_shares(weight, degree))
    root = np.sqrt(weight * degree)
    unit = (root / max(np.linalg.norm(root), np.finfo(float).tiny))[:, None]
    rest = symmetric_operator(
        weight.size, lambda block: inner @ block - 3.0 * unit @ (unit.T @ block)
    )
    return rest, unit


def _settled(
    operator: Any, weight: np.ndarray, degree: np.ndarray, vector: np.ndarray, similarity: float
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a generalised eigenvector as the graph's own points would get it by extension.

    With ``pull``, which gives other points their values: ``A(x, :) @ pull / d(x)``. Taking the
    step here makes the side of a fitted point and its extended side the same numbers. ``pull`` is
    None where the eigenvalue is zero, and nothing can be extended.
    """
    if abs(similarity) < LEAST_EIGENVALUE:
        return vector, None
    mass = weight * degree
    # The step would blow up what is left of the constant vector.
    vector = vector - float(mass @ vector) / float(mass.sum())
    pull = weight * vector / similarity
    return (aslinearoperator(operator) @ pull) / degree, pull


def _split_off(operator: Any, weight: np.ndarray, degree: np.ndarray) -> Candidate | None:
    """Return the heaviest point's component against the rest; None if it is connected."""
    side = _component(operator, weight * degree)
    if side.all():
        return None
    value = _cut_value(operator, weight, degree, side)
    # A point without any similarity was not in the heaviest component either.
    return Candidate(side, value, 0.0, _balance(weight, degree, side), True)


def _balance(weight: np.ndarray, degree: np.ndarray, side: np.ndarray) -> np.ndarray:
    """Return what weighs the similarities to one side, over its degree, against the other's.

    It is the extension of the eigenvector that is constant on both sides.
    """
    mass = weight * degree
    if mass[side].sum() <= 0 or mass[~side].sum() <= 0:
        mass = weight
    return np.where(side, weight / mass[side].sum(), -weight / mass[~side].sum())


def _is_alike(rest: LinearOperator, unit: np.ndarray, seed: int) -> bool:
    """Say whether all points are equally similar, so that no direction is preferred."""
    probe = np.random.default_rng(seed).standard_normal(unit.shape)
    probe -= unit @ (unit.T @ probe)
    probe /= np.linalg.norm(probe)
    image = rest @ probe
    factor = float((probe.T @ image).item())
    if np.linalg.norm(image - factor * probe) > 1e-9:
        return False
    # A positive factor: every point is more similar to itself than to any other, and any split is
    # as good as another (equal clusters, one row each). Two points are alike only if they are
    # equal.
    return factor < 1e-9 if unit.size > 2 else abs(factor) < 1e-9


def _component(operator: Any, mass: np.ndarray) -> np.ndarray:
    """Return the points that are linked to the heaviest one."""
    A = aslinearoperator(operator)
    reached = np.arange(mass.size) == int(np.argmax(mass))
    largest = float(np.abs(A @ np.ones(mass.size)).max())
    while True:
        wider = reached | (A @ reached.astype(np.float64) > 1e-13 * largest)
        if wider.all() or wider.sum() == reached.sum():
            return wider
        reached = wider


def _cut_value(operator: Any, weight: np.ndarray, degree: np.ndarray, side: np.ndarray) -> float:
    """Return the normalised cut of a bipartition."""
    left, right = np.where(side, weight, 0.0), np.where(side, 0.0, weight)
    between = max(float(left @ (aslinearoperator(operator) @ right)), 0.0)
    volumes = (float(left @ degree), float(right @ degree))
    return sum(between / volume if volume > 0 else 0.0 for volume in volumes)


def _sweep(operator: Any, weight: np.ndarray, degree: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the side of the least normalised cut among the places along a vector."""
    order = np.argsort(-vector, kind="stable")
    earlier, diagonal = _earlier_links(operator, order, weight)
    w, own, links = weight[order], diagonal[order], earlier[order]
    volume = np.cumsum(w * degree[order])
    inside = np.cumsum(2.0 * w * links + w**2 * own)
    between = np.maximum(volume - inside, 0.0)[:-1]
    values = between / volume[:-1] + between / np.maximum(volume[-1] - volume[:-1], 1e-300)
    # Points with equal coordinates are not separated.
    steps = vector[order][:-1] - vector[order][1:]
    values[steps <= 1e-10 * np.abs(vector).max()] = np.inf
    if not np.isfinite(values).any():
        return np.ones(vector.size, dtype=bool)
    side = np.zeros(vector.size, dtype=bool)
    side[order[: int(np.argmin(values)) + 1]] = True
    return side


def _earlier_links(
    operator: Any, order: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each point's similarity to the points before it in ``order``, and the diagonal."""
    n = weight.size
    rank = np.empty(n, dtype=np.int64)
    rank[order] = np.arange(n)
    if isinstance(operator, ThresholdedCoassociation):
        pairs = operator.pairs().tocoo()
        swap = rank[pairs.row] < rank[pairs.col]
        later = np.where(swap, pairs.col, pairs.row)
        data = pairs.data * weight[np.where(swap, pairs.row, pairs.col)]
        # Without any pair the counts would be integers.
        links: np.ndarray = np.bincount(later, weights=data, minlength=n).astype(np.float64)
        links[order] += operator.background * (np.cumsum(weight[order]) - weight[order])
        return links, operator.diagonal()
    if sparse.issparse(operator):
        pairs = operator.tocoo()
        former = rank[pairs.col] < rank[pairs.row]
        data = (pairs.data * weight[pairs.col])[former]
        links = np.bincount(pairs.row[former], weights=data, minlength=n)
        return links.astype(np.float64), operator.diagonal()
    links, diagonal = np.empty(n), np.empty(n)
    step = max(1, _BLOCK // n)
    for start in range(0, n, step):
        points = np.arange(start, min(start + step, n))
        columns = _columns(operator, points)
        before = rank[:, None] < rank[points]
        links[points] = weight @ np.where(before, columns, 0.0)
        diagonal[points] = columns[points, points - start]
    return links, diagonal


def _columns(operator: Any, points: np.ndarray) -> np.ndarray:
    if isinstance(operator, np.ndarray):
        return operator[:, points]
    unit = np.zeros((operator.shape[0], points.size))
    unit[points, np.arange(points.size)] = 1.0
    return operator @ unit


def degrees(operator: Any, weight: np.ndarray) -> np.ndarray:
    """Return the sums of the similarities of each point, or refuse negative ones."""
    degree = row_sums(operator, weight)
    slack = 1e-12 * float(np.abs(degree).max(initial=0.0))
    if (degree < -slack).any() or not np.isfinite(degree).all():
        row = int(np.argmin(np.where(np.isfinite(degree), degree, -np.inf)))
        raise ValueError(
            f"operator: the similarities of row {row} sum to {degree[row]:g}; a normalised cut "
            "needs similarities >= 0. Shift or clip them first."
        )
    return np.where(degree > slack, degree, 0.0)
