"""Clusters as vectors of a kernel's space, so that partitions can be compared where they lie."""

from __future__ import annotations

from clusterscape.lifting.lifted import Lifted, components_for_error, lift

__all__ = ["Lifted", "components_for_error", "lift"]
