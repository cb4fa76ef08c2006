"""Displays: the data behind a picture, and the picture; matplotlib is imported when it is drawn."""

from __future__ import annotations

from clusterscape.plot.consensus_matrix import ConsensusMatrixDisplay
from clusterscape.plot.k_selection import KSelectionDisplay
from clusterscape.plot.palette import cluster_colors
from clusterscape.plot.scatter import ScatterDisplay
from clusterscape.plot.trajectory import TrajectoryDisplay

__all__ = [
    "ConsensusMatrixDisplay",
    "KSelectionDisplay",
    "ScatterDisplay",
    "TrajectoryDisplay",
    "cluster_colors",
]
