"""Components of must-links as weighted items, placed in clusters so that cannot-links hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from clusterscape import kernels
from clusterscape.semisupervised.closure import pairs_of_classes
from clusterscape.semisupervised.constraints import Constraints

_CHAIN = 64  # items of a chain of swaps at most
_SWEEPS = 20  # of the search over items, for each update of the centres
_STEPS = 20_000  # of the search for a placement without conflicts
_TENURE = 10
_TEMPERATURES = np.geomspace(2.0, 0.25, 10)  # of the annealing, in units of the median gap
_PASSES = 2  # of belief propagation at each temperature


@dataclass(frozen=True)
class Items:
    """Components of the must-links, as weighted points, and what lies between them.

    Attributes
    ----------
    component : (n,) array
        Item of each point.
    means : (m, d) array
        Mean of the points of each item.
    weight : (m,) array
        Points of each item.
    bound : (q,) array
        The items that have an exclusion or an unsure constraint; nothing restricts the others.
    exclusions : (q, q) CSR matrix
        Pairs of these that may not be together, and how many pairs of points these are.
    soft : (q, q) CSR matrix
        Unsure constraints among these: w for a cannot-link of weight w, -w for a must-link.
    pairs : (g, 2) array
        Items, by their place in ``bound``, that exclude each other and nothing else.
    cliques : tuple of arrays
        Larger sets of which every two exclude each other and nothing else.
    tangled : (t,) array
        All other bound items.
    """

    component: np.ndarray
    means: Any
    weight: np.ndarray
    bound: np.ndarray
    exclusions: sparse.csr_matrix
    soft: sparse.csr_matrix
    pairs: np.ndarray
    cliques: tuple[np.ndarray, ...]
    tangled: np.ndarray

    @classmethod
    def of(cls, X: Any, known: Constraints) -> Items:
        """Return the items of points with constraints."""
        closure = known.closure
        means, weight = _means(X, closure.component, closure.n_components)
        exclusions = closure.exclusions()
        soft = _soft_graph(known)
        bound = np.flatnonzero((np.diff(exclusions.indptr) + np.diff(soft.indptr)) > 0)
        hard, loose = exclusions[bound][:, bound], soft[bound][:, bound]
        return cls(closure.component, means, weight, bound, hard, loose, *_groups(hard, loose))

    def graph(self, chosen: np.ndarray, unit: float) -> Any:
        """Return the two graphs among some of the bound items, as the kernels take them."""
        hard, soft = self.exclusions[chosen][:, chosen], self.soft[chosen][:, chosen]
        parts = (hard.indptr, hard.indices, hard.data, soft.indptr, soft.indices)
        return kernels.exclusion.Graph(*(a.astype(np.int64) for a in parts), unit * soft.data)


def _means(X: Any, component: np.ndarray, count: int) -> tuple[Any, np.ndarray]:
    n = len(component)
    weight = np.bincount(component, minlength=count).astype(np.float64)
    if count == n:
        return X, weight
    share = (1.0 / weight)[component].astype(X.dtype)
    collect = sparse.csr_matrix((share, (component, np.arange(n))), shape=(count, n))
    return collect @ X, weight


def _soft_graph(known: Constraints) -> sparse.csr_matrix:
    """Return the unsure constraints between components; those within one are left out."""
    closure = known.closure
    m = closure.n_components
    ends, values = [np.empty((0, 2), np.int64)], [np.empty(0)]
    for pairs, sign in ((known.must, -1.0), (known.cannot, 1.0)):
        unsure = pairs.weight < 1.0
        ends.append(closure.component[pairs.ends[unsure]])
        values.append(sign * pairs.weight[unsure])
    for s in known.label_sets:
        if s.weight < 1.0:  # points are linked to the first of their class, and these kept apart
            first = s.firsts
            ends.append(closure.component[np.column_stack([first[s.codes], s.points])])
            values.append(np.full(s.points.size, -s.weight))
            left, right = pairs_of_classes(first.size)
            ends.append(closure.component[np.column_stack([first[left], first[right]])])
            values.append(np.full(left.size, s.weight))
    linked, value = np.concatenate(ends), np.concatenate(values)
    other = linked[:, 0] != linked[:, 1]
    linked, value = linked[other], value[other]
    both = np.concatenate([linked, linked[:, ::-1]])
    return sparse.csr_matrix((np.tile(value, 2), (both[:, 0], both[:, 1])), shape=(m, m))


def _groups(
    hard: sparse.csr_matrix, soft: sparse.csr_matrix
) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """Divide the bound items: pairs, larger cliques, and what is tangled."""
    q = hard.shape[0]
    if q == 0:
        return np.empty((0, 2), np.int64), (), np.empty(0, np.int64)
    count, group = connected_components(hard, directed=False)
    size = np.bincount(group, minlength=count)
    degree, loose = np.diff(hard.indptr), np.diff(soft.indptr) > 0
    whole = np.bincount(group, weights=degree, minlength=count) == size * (size - 1)
    whole &= np.bincount(group, weights=loose, minlength=count) == 0
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(size) - size
    two = np.flatnonzero(whole & (size == 2))
    pairs = np.column_stack([order[starts[two]], order[starts[two] + 1]])
    more = np.flatnonzero(whole & (size > 2))
    cliques = tuple(order[starts[g] : starts[g] + size[g]] for g in more)
    return pairs, cliques, np.flatnonzero(~whole[group])


@dataclass(frozen=True)
class Costs:
    """What the clusters cost the items: all of them for bound items, the least for every item.

    Attributes
    ----------
    bound : (q, k) array
        Costs of the bound items.
    label : (m,) array
        The cheapest cluster of every item.
    least : (m,) array
        What it costs there.
    """

    bound: np.ndarray
    label: np.ndarray
    least: np.ndarray

    @classmethod
    def of(cls, cost: np.ndarray, items: Items) -> Costs:
        """Return the costs of a whole (m, k) table."""
        label = cost.argmin(axis=1)
        return cls(cost[items.bound], label, cost[np.arange(len(cost)), label])


class Placement:
    """Clusters of all items, improved from one set of centres to the next.

    Parameters
    ----------
    items : Items
        What is placed.
    n_clusters : int
        Clusters.
    unit : float
        What violating an unsure constraint of weight one costs.
    rng : numpy Generator
        For the search where a first placement conflicts.

    Attributes
    ----------
    label : (m,) array
        Cluster of each item.
    conflicts : int
        Items that share a cluster with one they exclude.
    violated : int
        Pairs of points that exclude each other and share a cluster.
    """

    def __init__(
        self, items: Items, n_clusters: int, unit: float, rng: np.random.Generator
    ) -> None:
        self.items = items
        self.k = n_clusters
        self._unit = unit
        self.restart(rng)
        self._matched = all(clique.size <= n_clusters for clique in items.cliques)
        matched = self._matched and n_clusters > 1
        self._pairs = items.pairs if matched else items.pairs[:0]
        self._cliques = items.cliques if matched else ()
        parts = [items.tangled] if matched else [
            items.tangled, items.pairs.ravel(), *items.cliques
        ]  # fmt: skip
        self._tangled = np.sort(np.concatenate(parts).astype(np.int64))
        self._has_soft = items.soft.nnz > 0
        if self._tangled.size:
            self._graph = items.graph(self._tangled, unit)

    @cached_property
    def messages(self) -> BeliefState:
        """The messages of belief propagation among the tangled items."""
        return BeliefState.of(self)

    def restart(self, rng: np.random.Generator) -> None:
        """Begin anew, with no item in a cluster."""
        self.rng = rng
        self.label = np.full(len(self.items.weight), -1, dtype=np.int64)
        self.conflicts = 0
        self.violated = 0

    @property
    def tangled(self) -> np.ndarray:
        """Items whose exclusions form no cliques: these need a search."""
        return self.items.bound[self._tangled]

    def assign(self, costs: Costs, preference: np.ndarray | None = None) -> float:
        """Place all items by what each cluster costs them; return the cost, unsure ones included.

        Parameters
        ----------
        costs : Costs
            What the clusters cost.
        preference : (t, k) array, optional
            What decides the first placement of the tangled items, in place of the cost.
        """
        bound, table = self.items.bound, costs.bound
        before = self.label
        self.label = costs.label.astype(np.int64)
        own = self.label[bound]
        if self._pairs.size:
            left, right = self._pairs.T
            own[left], own[right] = _matched_pairs(table[left], table[right])
        for clique in self._cliques:
            own[clique] = linear_sum_assignment(table[clique])[1]
        if self._tangled.size:
            own[self._tangled] = self._search(table, before, preference)
        self.label[bound] = own
        paid = table[np.arange(bound.size), own].sum() - costs.least[bound].sum()
        return float(costs.least.sum() + paid) + self._unsure()

    def _unsure(self) -> float:
        """Return what the unsure constraints cost that are violated now."""
        if not self._has_soft:
            return 0.0
        soft = self.items.soft.tocoo()
        own = self.label[self.items.bound]
        together = own[soft.row] == own[soft.col]
        paid = np.where(together, np.maximum(soft.data, 0.0), np.maximum(-soft.data, 0.0))
        return self._unit * float(paid.sum()) / 2.0

    def _search(self, table: np.ndarray, before: np.ndarray, preference: Any) -> np.ndarray:
        """Return the clusters of the tangled items."""
        prices = np.ascontiguousarray(table[self._tangled])
        if before[self.tangled[0]] < 0:
            self._begin(prices if preference is None else preference)
        longest = 0 if self._has_soft else _CHAIN
        state = (self._graph, self._label, self._near, self._press)
        kernels.exclusion.improve(prices, *state, _SWEEPS, longest)
        own = self._near[np.arange(self._label.size), self._label]
        self.conflicts = int((own > 0).sum())
        self.violated = int(own.sum()) // 2
        return self._label

    def _begin(self, prices: np.ndarray) -> None:
        size = len(prices)
        self._label = np.full(size, -1, dtype=np.int64)
        self._near = np.zeros((size, self.k), dtype=np.int64)
        self._press = np.zeros((size, self.k))
        degree = np.diff(self._graph.indptr)
        weight = self.items.weight[self.tangled]
        order = np.lexsort((-weight, -degree)).astype(np.int64)
        state = (self._graph, self._label, self._near, self._press)
        prices = np.ascontiguousarray(prices)
        if kernels.exclusion.construct(prices, self._graph, order, *state[1:]):
            picks = self.rng.random(4096)
            kernels.exclusion.repair(prices, *state, _STEPS, _TENURE, picks)

    def beliefs(self, costs: Costs, state: BeliefState) -> np.ndarray:
        """Return how far each tangled item belongs to each cluster, at the state's temperature."""
        cost = costs.bound[self._tangled]
        lead = np.partition(cost, 1, axis=1)[:, :2]
        gap = np.sort((lead[:, 1] - lead[:, 0]) / self.items.weight[self.tangled])
        middle = gap.size // 2
        scale = float(gap[middle] + gap[~middle]) / 2.0
        scale = scale if scale > 0 else 1.0
        unary = cost - lead[:, :1]
        unary /= scale * state.temperature
        for _ in range(_PASSES):
            kernels.propagation.sweep(
                unary, state.indptr, state.indices, state.back, state.pull, state.message,
                state.belief,
            )  # fmt: skip
        return state.belief


@dataclass
class BeliefState:
    """The messages of belief propagation among the tangled items."""

    indptr: np.ndarray
    indices: np.ndarray
    back: np.ndarray
    pull: np.ndarray
    message: np.ndarray
    belief: np.ndarray
    temperature: float = 1.0

    def forget(self) -> None:
        """Set all messages and beliefs to what they are before the first sweep."""
        self.message.fill(1.0 / self.message.shape[1])
        self.belief.fill(1.0 / self.belief.shape[1])

    @classmethod
    def of(cls, placement: Placement) -> BeliefState:
        """Return the state before any message."""
        chosen = placement._tangled
        graph = placement.items.exclusions[chosen][:, chosen]
        # Both graphs in one: -1 excludes, -w is apart and w together with confidence w.
        both = sparse.csr_matrix(-graph - placement.items.soft[chosen][:, chosen])
        both.data = np.clip(both.data, -1.0, 1.0 - 1e-6)
        both.sort_indices()
        edges = sparse.csr_matrix(
            (np.arange(1, both.nnz + 1), both.indices, both.indptr), shape=both.shape
        )
        back = edges.T.tocsr()
        back.sort_indices()
        k = placement.k
        return cls(
            both.indptr.astype(np.int64),
            both.indices.astype(np.int64),
            back.data.astype(np.int64) - 1,
            both.data.astype(np.float32),
            np.full((both.nnz, k), 1.0 / k, dtype=np.float32),
            np.full((chosen.size, k), 1.0 / k),
        )


def _matched_pairs(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cheapest two different clusters of every pair."""
    rows = np.arange(len(left))
    first = left.argmin(axis=1), right.argmin(axis=1)
    second = []
    for cost, best in zip((left, right), first, strict=True):
        others = cost.copy()
        others[rows, best] = np.inf
        second.append(others.argmin(axis=1))
    same = first[0] == first[1]
    turn = left[rows, second[0]] - left[rows, first[0]]
    other = right[rows, second[1]] - right[rows, first[1]]
    move_left = same & (turn <= other)
    move_right = same & ~move_left
    return (
        np.where(move_left, second[0], first[0]),
        np.where(move_right, second[1], first[1]),
    )


def temperatures() -> np.ndarray:
    """Return the temperatures of the annealing, falling."""
    return _TEMPERATURES
