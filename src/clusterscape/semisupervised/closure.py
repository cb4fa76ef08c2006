"""What certain constraints imply: groups that must be together, and groups that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from clusterscape._core.errors import MemoryLimitError, Worded

_PAIR_BYTES, _LIMIT_GB = 150, 4.0  # of a graph of pairs of classes, while it is made


class ContradictionError(Worded, ValueError):
    """Certain constraints that no partition can satisfy.

    Parameters
    ----------
    pair : tuple
        Two points that cannot be together.
    chain : sequence
        Points from the first of the pair to the second, each of which must be with the next.
    count : int
        Cannot-links that are contradicted in this way, all together.

    Attributes
    ----------
    pair, chain, count
        As given.

    Examples
    --------
    >>> from clusterscape.semisupervised import Constraints
    >>> Constraints(4, must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)])
    Traceback (most recent call last):
    clusterscape.semisupervised.closure.ContradictionError: points 0 and 2 cannot be together, but
    must-links join them (0 - 1 - 2). Remove one of these constraints, or give one a weight below 1.
    """

    def __init__(self, pair: tuple[Any, Any], chain: Sequence[Any], count: int = 1) -> None:
        self.pair = pair
        self.chain = tuple(chain)
        self.count = count
        more = f" {count - 1:,} more cannot-links are contradicted." if count > 1 else ""
        super().__init__(
            f"points {pair[0]} and {pair[1]} cannot be together, but must-links join them "
            f"({' - '.join(map(str, self.chain))}).{more} Remove one of these constraints, or "
            "give one a weight below 1."
        )


@dataclass(frozen=True)
class Closure:
    """The components of the must-links, and which of them exclude each other.

    Attributes
    ----------
    component : (n,) array
        Component of each point, numbered by first appearance; a point without must-links is a
        component of its own.
    n_components : int
        How many there are.
    cliques : tuple of arrays
        Components of which no two may be together: the classes of labelled points.
    cannot : (m, 2) array
        Further pairs of components that may not be together, each once.
    sizes : tuple of arrays
        Labelled points of each component of the cliques.
    counts : (m,) array
        Cannot-links between each pair of ``cannot``.

    See Also
    --------
    Constraints : Its method ``closure`` makes it.

    Examples
    --------
    >>> from clusterscape.semisupervised import Constraints
    >>> found = Constraints(5, must_link=[(0, 3)], cannot_link=[(3, 4)]).closure
    >>> found.component, found.cannot
    (array([0, 1, 2, 0, 3]), array([[0, 3]]))
    """

    component: np.ndarray
    n_components: int
    cliques: tuple[np.ndarray, ...] = ()
    cannot: np.ndarray = field(default_factory=lambda: np.empty((0, 2), np.int64))
    sizes: tuple[np.ndarray, ...] = ()
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))

    def least_clusters(self) -> int:
        """Return a number of clusters that no solution can do with less than."""
        largest = max((clique.size for clique in self.cliques), default=1)
        return max(largest, 2 if len(self.cannot) else 1)

    def exclusions(self) -> sparse.csr_matrix:
        """Return the symmetric graph of all pairs of components that may not be together.

        An entry is the number of pairs of points that say so. The classes of labelled points are
        written out as pairs of classes: memory grows with the square of their number, and more than
        4 GB are refused.
        """
        parts, counts = [self.cannot], [self.counts]
        for clique, sizes in zip(self.cliques, self.sizes, strict=True):
            left, right = pairs_of_classes(clique.size)
            parts.append(np.column_stack([clique[left], clique[right]]))
            counts.append(sizes[left] * sizes[right])
        pairs, count = np.concatenate(parts), np.concatenate(counts)
        ends = np.concatenate([pairs, pairs[:, ::-1]])
        shape = (self.n_components, self.n_components)
        return sparse.csr_matrix((np.tile(count, 2), (ends[:, 0], ends[:, 1])), shape=shape)

    def excludes(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Say of pairs of components whether they may not be together, without the whole graph."""
        low, high = np.minimum(first, second), np.maximum(first, second)
        codes = self.cannot[:, 0] * self.n_components + self.cannot[:, 1]
        out = np.isin(low * self.n_components + high, codes)
        for clique in self.cliques:
            inside = np.zeros(self.n_components, dtype=bool)
            inside[clique] = True
            out |= inside[first] & inside[second] & (first != second)
        return out


def pairs_of_classes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of so many classes, or refuse more than memory should be spent on."""
    needed = _PAIR_BYTES * count * (count - 1) / 2e9
    if needed > _LIMIT_GB:
        raise MemoryLimitError(
            f"the pairs of {count:,} known classes", needed, _LIMIT_GB, parameter=None
        )
    left, right = np.triu_indices(count, 1)
    return left, right


@dataclass(frozen=True)
class LabelSet:
    """Labelled points: those of a class are together, those of two classes are not."""

    points: np.ndarray
    codes: np.ndarray  # 0..K-1, all of them used
    weight: float = 1.0

    @property
    def sizes(self) -> np.ndarray:
        """Points of each class."""
        return np.bincount(self.codes)

    def equals(self, other: LabelSet) -> bool:
        """Say whether the other set has the same classes of the same points."""
        return (
            self.weight == other.weight
            and np.array_equal(self.points, other.points)
            and np.array_equal(self.codes, other.codes)
        )

    def among(self, chosen: np.ndarray) -> LabelSet:
        """Return the labels of chosen points, by a mask of all points; classes keep their codes."""
        own = chosen[self.points]
        return self if own.all() else LabelSet(self.points[own], self.codes[own], self.weight)

    @property
    def firsts(self) -> np.ndarray:
        """Return a point of each class."""
        return self.points[np.unique(self.codes, return_index=True)[1]]


def closure_of(
    n_points: int,
    must: np.ndarray,
    cannot: np.ndarray,
    label_sets: Sequence[LabelSet],
    names: Any = None,
) -> Closure:
    """Return the closure of certain constraints, or raise :class:`ContradictionError`.

    Parameters
    ----------
    n_points : int
        All points.
    must, cannot : (m, 2) array
        Pairs.
    label_sets : sequence of LabelSet
        Classes.
    names : sequence, optional
        Names of the points, for the error.

    Returns
    -------
    Closure
    """
    # A star for each class: as many links as points, not as many as pairs.
    stars = [np.column_stack([s.firsts[s.codes], s.points]) for s in label_sets]
    links = np.concatenate([must, *stars])
    links = links[links[:, 0] != links[:, 1]]
    shape = (n_points, n_points)
    graph = sparse.csr_matrix((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=shape)
    count, component = connected_components(graph, directed=False)
    count, component = int(count), component.astype(np.int64)
    cliques = tuple(component[s.firsts] for s in label_sets)
    pairs = component[cannot]
    _refuse_contradictions(graph, cannot, pairs, label_sets, cliques, names)
    # As single numbers: millions of pairs are sorted ten times as fast.
    codes = pairs.min(axis=1) * count + pairs.max(axis=1)
    codes, counts = np.unique(codes, return_counts=True)
    pairs = np.column_stack([codes // count, codes % count])
    sizes = tuple(s.sizes.astype(np.int64) for s in label_sets)
    return Closure(component, count, cliques, pairs, sizes, counts.astype(np.int64))


def _refuse_contradictions(
    graph: sparse.csr_matrix,
    cannot: np.ndarray,
    pairs: np.ndarray,
    label_sets: Sequence[LabelSet],
    cliques: Sequence[np.ndarray],
    names: Any,
) -> None:
    inside = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    found = [tuple(int(i) for i in cannot[inside[0]])] if inside.size else []
    count = inside.size
    for labelled, clique in zip(label_sets, cliques, strict=True):
        together, home = np.unique(clique, return_inverse=True)
        if together.size == clique.size:
            continue
        sizes = labelled.sizes.astype(np.float64)
        mass = np.bincount(home, weights=sizes)
        count += round(((mass**2).sum() - (sizes**2).sum()) / 2)
        shared = int(np.flatnonzero(np.bincount(home) > 1)[0])
        first, second = labelled.firsts[np.flatnonzero(home == shared)[:2]]
        found.append((int(first), int(second)))
    if found:
        first, second = found[0]
        chain = _chain(graph, first, second, label_sets)
        called = [i if names is None else names[i] for i in (first, second, *chain)]
        raise ContradictionError((called[0], called[1]), called[2:], int(count))


def _chain(
    graph: sparse.csr_matrix, first: int, second: int, label_sets: Sequence[LabelSet]
) -> list[int]:
    """Return points from the first to the second, each of which must be with the next."""
    before = breadth_first_order(graph, first, directed=False, return_predecessors=True)[1]
    path = [second]
    while path[-1] != first:
        path.append(int(before[path[-1]]))
    path.reverse()
    classes = []
    for labelled in label_sets:
        code = np.full(graph.shape[0], -1, dtype=np.int64)
        code[labelled.points] = labelled.codes
        classes.append(code)
    at = 1
    while at < len(path) - 1:  # the centre of a star is no link of its own
        ends = path[at - 1], path[at], path[at + 1]
        star = any(c[ends[0]] >= 0 and len({int(c[e]) for e in ends}) == 1 for c in classes)
        path.pop(at) if star else None
        at += not star
    return path
