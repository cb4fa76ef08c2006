"""What can be believed: the number of clusters, and whether there are any."""

from __future__ import annotations

from clusterscape.validate.eigengap import KSelection, select_k
from clusterscape.validate.structure import StructureVerdict, structure_test

__all__ = ["KSelection", "StructureVerdict", "select_k", "structure_test"]
