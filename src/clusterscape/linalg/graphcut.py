"""Balanced cuts of graphs and hypergraphs: one interface to METIS and Mt-KaHyPar."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from clusterscape._core.params import Flag, Integer, Null, Number, checked, shown
from clusterscape._core.weights import checked_weights, optional_weights

# What both take; their own programs do not look.
_CUT_RULES = {"imbalance": (Number(0, 100),), "seed": (Integer(0),)}

# METIS keeps its random numbers in the C library, so two calls at once would disturb each other.
_lock = threading.Lock()

# Totals of whole weights. METIS counts in 64 bits and compares gains in single precision;
# Mt-KaHyPar counts in 32 bits.
_SMALL_GRAPH = 2_000  # vertices up to which the best of several tries is kept
_TRIES = 8
_GRAPH_TOTAL = 2.0**40
_HYPERGRAPH_TOTAL = 2.0**29

# The settings of Mt-KaHyPar's deterministic preset, but for its two limits on hyperedges: it would
# ignore those of 1,000 points while coarsening, and remove those of 50,000 altogether.
_SETTINGS = """
preset-type=deterministic
deterministic=true
mode=direct
maxnet-removal-factor=1.0
smallest-maxnet-threshold=4294967295
maxnet-ignore=4294967295
s-use-localized-random-shuffle=false
s-static-balancing-work-packages=128
p-enable-community-detection=true
p-louvain-edge-weight-function=hybrid
p-max-louvain-pass-iterations=5
p-louvain-min-vertex-move-fraction=0.01
p-vertex-degree-sampling-threshold=200000
p-louvain-low-memory-contraction=true
p-num-sub-rounds=16
c-type=deterministic_multilevel_coarsener
c-use-adaptive-edge-size=false
c-resolve-swaps=true
c-min-shrink-factor=1.01
c-max-shrink-factor=2.5
c-s=1
c-t=160
c-vertex-degree-sampling-threshold=200000
c-num-sub-rounds=3
c-rating-score=heavy_edge
c-rating-heavy-node-penalty=no_penalty
c-rating-acceptance-criterion=best_prefer_unmatched
i-mode=rb
i-runs=20
i-use-adaptive-ip-runs=false
i-perform-refinement-on-best-partitions=false
i-fm-refinement-rounds=3
i-lp-maximum-iterations=20
i-lp-initial-block-size=5
i-population-size=64
i-r-refine-until-no-improvement=false
i-r-rebalancer-type=deterministic
i-r-lp-type=deterministic
i-r-lp-maximum-iterations=5
i-r-sync-lp-sub-rounds=1
i-r-lp-he-size-activation-threshold=100
i-r-sync-lp-active-nodeset=true
i-r-fm-type=do_nothing
r-refine-until-no-improvement=false
r-rebalancer-type=deterministic
r-max-det-rebalancing-rounds=0
r-det-rebalancing-deadzone=0.1
r-det-rebalancing-heavy-vertex-exclusion=1.5
r-lp-type=do_nothing
r-jet-type=deterministic
r-jet-num-iterations=8
r-jet-relative-improvement-threshold=0.001
r-jet-dynamic-rounds=3
r-jet-initial-negative-gain=0.75
r-jet-final-negative-gain=0.0
r-fm-type=do_nothing
r-flow-algo=do_nothing
"""


class Cut(NamedTuple):
    """A partition of the vertices and the weight that it cuts.

    Attributes
    ----------
    labels : (n,) array
        Part of each vertex, 0..k-1; no part is empty unless there are fewer vertices than parts.
    value : float
        Total weight of the edges between parts, or of the hyperedges in more than one part.

    See Also
    --------
    partition_graph, partition_hypergraph : Make one.
    """

    labels: np.ndarray
    value: float


@checked({"n_parts": (Integer(1),), "recursive": (Null(), Flag()), **_CUT_RULES})
def partition_graph(
    graph: sparse.csr_matrix,
    n_parts: int,
    *,
    vertex_weights: np.ndarray | None = None,
    imbalance: float = 0.05,
    recursive: bool | None = None,
    seed: int = 0,
) -> Cut:
    """Cut a graph into parts of nearly equal weight, with METIS.

    Parameters
    ----------
    graph : CSR matrix
        Symmetric, with positive weights and an empty diagonal. Weights that are not whole numbers
        are scaled and rounded; an edge that rounds to zero disappears.
    n_parts : int
        Parts wanted.
    vertex_weights : (n,) array, optional
        What the parts are balanced in; ones unless given. Zero is allowed.
    imbalance : float
        How far a part may exceed the average, as a share of it; heavy vertices can make more
        necessary.
    recursive : bool, optional
        Recursive bisection or direct k-way partitioning; by default bisection up to eight parts,
        which is METIS's own advice.
    seed : int
        The same seed gives the same cut.

    Returns
    -------
    Cut
        Labels, and the weight of the edges between parts.

    See Also
    --------
    partition_hypergraph : Edges of more than two vertices.

    Notes
    -----
    METIS is a heuristic: the cut is small, not least. Equal sizes are forced, so groups of very
    unequal size are cut through.

    References
    ----------
    .. [1] G. Karypis and V. Kumar. A fast and high quality multilevel scheme for partitioning
       irregular graphs. SIAM Journal on Scientific Computing 20(1), 359-392, 1998.
       doi:10.1137/S1064827595287997

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from clusterscape.linalg import partition_graph
    >>> two_pairs = csr_matrix(np.array([[0, 3, 1, 0], [3, 0, 0, 0], [1, 0, 0, 3], [0, 0, 3, 0]]))
    >>> cut = partition_graph(two_pairs, 2)
    >>> cut.value, bool(cut.labels[0] == cut.labels[1])
    (1.0, True)
    """
    pymetis = _extra("pymetis")
    graph = _checked_graph(graph, vertex_weights)
    n = graph.shape[0]
    labels = _simple(n, n_parts)
    if labels is not None:
        return Cut(labels, _edge_cut(graph.indptr, graph.indices, graph.data, labels))
    kind = pymetis.zero_copy_dtype()
    weights, scale = whole_numbers(graph.data, _GRAPH_TOTAL)
    if weights.size and weights.min() <= 0:
        graph = sparse.csr_matrix((weights, graph.indices, graph.indptr), shape=graph.shape)
        graph.eliminate_zeros()
        weights = graph.data
    starts, ends = graph.indptr.astype(kind), graph.indices.astype(kind)
    del graph  # where the caller does not hold it either, METIS has the memory
    weights = weights.astype(kind, copy=False)
    masses = None
    if vertex_weights is not None:
        masses = whole_numbers(vertex_weights, _GRAPH_TOTAL)[0].astype(kind, copy=False)
    found = []
    # METIS is made for large graphs: on a small one single tries may miss both balance and cut.
    for i in range(_TRIES if n <= _SMALL_GRAPH else 1):
        # The C library takes seeds 0 and 1 for the same.
        options = pymetis.Options(
            seed=(seed + i) % (2**31 - 2) + 1, ufactor=max(1, round(1000 * imbalance))
        )
        with _lock:
            edge_cut, parts = pymetis.part_graph(
                n_parts,
                pymetis.CSRAdjacency(starts, ends),
                eweights=weights if weights.size else None,
                vweights=masses,
                recursive=(n_parts <= 8) ^ (i % 2 == 1) if recursive is None else recursive,
                options=options,
            )
        labels = np.array(parts, dtype=np.int64)
        sizes = np.bincount(labels, weights=masses, minlength=n_parts)
        # Whole vertices cannot always be balanced better than to the largest of them.
        largest = 1.0 if masses is None else float(masses.max())
        allowed = (1 + imbalance) * sizes.sum() / n_parts + largest
        excess = max(0.0, float(sizes.max()) - allowed)
        empty = n_parts - np.unique(labels).size
        found.append((empty, excess, edge_cut, float(sizes.max()), i, labels))
    *_, edge_cut, _, _, labels = min(found, key=lambda one: one[:5])
    if _fill_empty(labels, n_parts, vertex_weights):
        edge_cut = _edge_cut(starts, ends, weights, labels)
    return Cut(labels, edge_cut / scale)


@checked({"n_vertices": (Integer(0),), "n_parts": (Integer(1),), **_CUT_RULES})
def partition_hypergraph(
    pins: Sequence[np.ndarray],
    n_vertices: int,
    n_parts: int,
    *,
    weights: np.ndarray | None = None,
    vertex_weights: np.ndarray | None = None,
    imbalance: float = 0.05,
    seed: int = 0,
) -> Cut:
    """Cut a hypergraph into parts of nearly equal weight, with Mt-KaHyPar.

    A hyperedge counts as cut, at its full weight, as soon as it has points in two parts. Every
    hyperedge counts, however large: the partitioner's own limits on large ones are lifted.

    Parameters
    ----------
    pins : list of arrays
        The vertices of each hyperedge.
    n_vertices, n_parts : int
        Vertices, and parts wanted.
    weights : (m,) array, optional
        Weights of the hyperedges; ones unless given.
    vertex_weights : (n,) array, optional
        What the parts are balanced in; ones unless given.
    imbalance : float
        How far a part may exceed the average, as a share of it.
    seed : int
        The same seed gives the same cut.

    Returns
    -------
    Cut
        Labels, and the weight of the hyperedges that are in more than one part.

    See Also
    --------
    partition_graph : Edges of two vertices.

    Notes
    -----
    One thread and a deterministic algorithm; the time grows with the sum of the squared sizes of
    the hyperedges. Where every hyperedge must be cut, all partitions have the same value.

    References
    ----------
    .. [1] L. Gottesbueren, T. Heuer, N. Maas, P. Sanders and S. Schlag. Scalable high-quality
       hypergraph partitioning. ACM Transactions on Algorithms 20(1), 9, 2024. doi:10.1145/3626527

    Examples
    --------
    >>> from clusterscape.linalg import partition_hypergraph
    >>> cut = partition_hypergraph([[0, 1, 2], [3, 4, 5], [2, 3]], 6, 2)
    >>> cut.value, bool(cut.labels[0] == cut.labels[2])
    (1.0, True)
    """
    mtkahypar = _extra("mtkahypar")
    pins = [_checked_pins(edge, n_vertices) for edge in pins]
    price = checked_weights(weights, len(pins), name="weights", each="hyperedge")
    labels = _simple(n_vertices, n_parts)
    if labels is None:
        mass = checked_weights(vertex_weights, n_vertices, name="vertex_weights", each="vertex")
        heavy = np.maximum(whole_numbers(mass, _HYPERGRAPH_TOTAL)[0], 1).tolist()
        cost = np.maximum(whole_numbers(price, _HYPERGRAPH_TOTAL)[0], 1).tolist()
        lists = [np.asarray(edge).tolist() for edge in pins]
        cuttable = [e for e, edge in enumerate(lists) if len(edge) > 1]
        engine = _engine()
        with _lock:
            context = _context(engine, seed)
            context.set_partitioning_parameters(n_parts, imbalance, mtkahypar.Objective.CUT)
            context.logging = False
            hypergraph = engine.create_hypergraph(
                context,
                n_vertices,
                len(cuttable),
                [lists[e] for e in cuttable],
                heavy,
                [cost[e] for e in cuttable],
            )
            labels = np.array(hypergraph.partition(context).get_partition(), dtype=np.int64)
        _fill_empty(labels, n_parts, mass)
    split = [len(edge) > 1 and bool((labels[edge] != labels[edge[0]]).any()) for edge in pins]
    return Cut(labels, float(price[np.array(split, dtype=bool)].sum()))


def _checked_graph(graph: Any, vertex_weights: np.ndarray | None) -> sparse.csr_matrix:
    """Return the graph in CSR; its links and the weights of its vertices must be numbers >= 0."""
    if not sparse.issparse(graph) or graph.shape[0] != graph.shape[1]:
        raise TypeError(
            "graph must be a square sparse matrix, symmetric and without a diagonal; got "
            f"{shown(graph)}. scipy.sparse.csr_matrix makes one."
        )
    rows = graph.tocsr()
    if rows.nnz and not (np.isfinite(rows.data).all() and rows.data.min() >= 0):
        raise ValueError("graph must hold finite links >= 0.")
    optional_weights(vertex_weights, graph.shape[0], name="vertex_weights", each="vertex")
    return rows


def whole_numbers(values: np.ndarray, total: float) -> tuple[np.ndarray, float]:
    """Return non-negative weights as whole numbers, and the factor that made them so.

    Whole weights, and those in small whole ratios, become the least whole numbers in their ratios,
    whatever their unit. Others, and those with a sum above ``total``, are scaled to that sum and
    rounded.
    """
    values = np.asarray(values)
    if values.size == 0 or not (values > 0).any():
        return values.astype(np.int64), 1.0
    if values.dtype.kind == "f":
        values = values.astype(np.float64, copy=False)
        unit = float(values.max())
        if not 1e-100 < unit < 1e100:  # their sum, or the factor, would leave the range of numbers
            whole, scale = whole_numbers(values / unit, total)
            return whole, scale / unit
    scale = min(_common_scale(values), total / float(values.sum(dtype=np.float64)))
    if scale == 1.0:
        return values.astype(np.int64, copy=False), 1.0
    return np.rint(values * scale).astype(np.int64), scale


def _common_scale(values: np.ndarray) -> float:
    """Return the factor that makes weights the least whole numbers, or infinity."""
    head = values[:1000]  # where it fails, it mostly fails here
    if values.dtype.kind in "iu" or all((part == np.rint(part)).all() for part in (head, values)):
        shared = 1 if values.sum() >= 2**62 else int(np.gcd.reduce(head.astype(np.int64)))
        return 1.0 / (shared if shared == 1 else int(np.gcd.reduce(values.astype(np.int64))))
    least = float(values[values > 0].min())
    if float(values.max()) > least * 2.0**53:
        return np.inf  # no whole numbers of this size are exact
    for factor in range(1, 65):
        scale = factor / least
        if all(
            (np.abs(part * scale - np.rint(part * scale)) <= 1e-9 * part * scale).all()
            for part in (head, values)
        ):
            return scale
    return np.inf


def _checked_pins(edge: Any, n: int) -> np.ndarray:
    """Return the distinct vertices of a hyperedge.

    The partitioner does not look whether there are such, and crashes where one is repeated.
    """
    found = np.asarray(edge)
    if found.size == 0:
        return np.empty(0, dtype=np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.min() < 0 or found.max() >= n:
        raise ValueError(
            f"pins must be lists of vertices, whole numbers from 0 to {n - 1}; got {shown(edge)}."
        )
    return found if (found[1:] > found[:-1]).all() else np.unique(found)


def _simple(n: int, n_parts: int) -> np.ndarray | None:
    """Return the only sensible labels when there is nothing to choose, else None."""
    if n_parts == 1:
        return np.zeros(n, dtype=np.int64)
    return np.arange(n, dtype=np.int64) if n_parts >= n else None


def _edge_cut(
    starts: np.ndarray, ends: np.ndarray, weights: np.ndarray, labels: np.ndarray
) -> float:
    """Return the weight of the edges between parts; both directions of an edge are stored."""
    own = np.repeat(labels, np.diff(starts))
    return float(weights[own != labels[ends]].sum()) / 2.0


def _fill_empty(labels: np.ndarray, n_parts: int, weights: np.ndarray | None) -> bool:
    """Move the lightest vertex of the heaviest divisible part into each empty one, in place."""
    counts = np.bincount(labels, minlength=n_parts)
    empty = np.flatnonzero(counts == 0)
    mass = np.ones(labels.size) if weights is None else np.asarray(weights, dtype=np.float64)
    for part in empty:
        loads = np.bincount(labels, weights=mass, minlength=n_parts)
        loads[np.bincount(labels, minlength=n_parts) < 2] = -1.0
        members = np.flatnonzero(labels == np.argmax(loads))
        labels[members[np.argmin(mass[members])]] = part
    return bool(empty.size)


def _extra(name: str) -> Any:
    """Import a partitioner, or say how it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"graph and hypergraph consensus need {name}, which is not installed; install it with: "
            'pip install "clusterscape[graph]"'
        ) from error


@cache
def _engine() -> Any:
    """Return Mt-KaHyPar, which may be initialised once in a process."""
    return _extra("mtkahypar").initialize(1)


def _context(engine: Any, seed: int) -> Any:
    """Return a context with our settings.

    They can only come from a file, and the seed of the deterministic algorithm only from them. The
    file is a pipe, so that nothing is left on the disk.
    """
    source, sink = os.pipe()
    try:
        with os.fdopen(sink, "w") as settings:
            settings.write(f"{_SETTINGS.strip()}\nseed={seed % 2**31}\n")
        return engine.context_from_file(f"/dev/fd/{source}")
    finally:
        os.close(source)
