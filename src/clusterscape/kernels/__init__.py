"""The compiled loops, and nothing else.

Modules here are imported on first use (``kernels.labels.contingency(...)``), because importing
numba costs half a second. Import this package, never one of its modules, at the top of a file.
Every kernel is sequential and releases the GIL; parallelism is one joblib call above them.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

_MODULES = (
    "affinity",
    "bipartite",
    "forest",
    "genie",
    "graph",
    "kmeans",
    "kmeans_sparse",
    "labels",
    "landmarks",
    "lifting",
    "linkage",
    "markov",
    "median",
    "mst",
    "pairs",
    "projection",
    "random",
    "rce",
    "rows",
    "rowspace",
    "thresholded",
    "transport",
)

if TYPE_CHECKING:
    from clusterscape.kernels import (
        affinity,
        bipartite,
        forest,
        genie,
        graph,
        kmeans,
        kmeans_sparse,
        labels,
        landmarks,
        lifting,
        linkage,
        markov,
        median,
        mst,
        pairs,
        projection,
        random,
        rce,
        rows,
        rowspace,
        thresholded,
        transport,
    )

__all__ = [
    "affinity",
    "bipartite",
    "forest",
    "genie",
    "graph",
    "kmeans",
    "kmeans_sparse",
    "labels",
    "landmarks",
    "lifting",
    "linkage",
    "markov",
    "median",
    "mst",
    "pairs",
    "projection",
    "random",
    "rce",
    "rows",
    "rowspace",
    "thresholded",
    "transport",
]


def __getattr__(name: str) -> ModuleType:
    if name in _MODULES:
        return importlib.import_module(f"clusterscape.kernels.{name}")
    raise AttributeError(f"module 'clusterscape.kernels' has no attribute {name!r}")
