"""How many clusters there are, whether there are any, and how nearly they are separate."""

from __future__ import annotations

from clusterscape.combine.result import KSelection
from clusterscape.validate.decomposability import Decomposability, near_decomposability
from clusterscape.validate.n_clusters import select_k
from clusterscape.validate.structure import StructureVerdict, structure_test

__all__ = [
    "Decomposability",
    "KSelection",
    "StructureVerdict",
    "near_decomposability",
    "select_k",
    "structure_test",
]
