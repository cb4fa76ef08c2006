"""Whether there are clusters, how many, and how firmly every point belongs to its own."""

from __future__ import annotations

from clusterscape.combine.result import KSelection
from clusterscape.validate.affinity import Affinity, AffinityMap, Certificates, stability
from clusterscape.validate.decomposability import Decomposability, near_decomposability
from clusterscape.validate.eigengap import select_k
from clusterscape.validate.structure import StructureVerdict, structure_test

__all__ = [
    "Affinity",
    "AffinityMap",
    "Certificates",
    "Decomposability",
    "KSelection",
    "StructureVerdict",
    "near_decomposability",
    "select_k",
    "stability",
    "structure_test",
]
