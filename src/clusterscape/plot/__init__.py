"""Displays: the data behind a picture, and the picture; matplotlib is imported when it is drawn."""

from __future__ import annotations

from clusterscape.plot.affinity_map import AffinityMapDisplay, CellDisplay
from clusterscape.plot.consensus_distribution import ConsensusDistributionDisplay
from clusterscape.plot.consensus_matrix import ConsensusMatrixDisplay
from clusterscape.plot.contingency import ContingencyDisplay
from clusterscape.plot.dendrogram import DendrogramDisplay
from clusterscape.plot.description import DescriptionDisplay
from clusterscape.plot.differences import DifferencesDisplay
from clusterscape.plot.feature_occurrence import FeatureOccurrenceDisplay
from clusterscape.plot.feature_profile import FeatureProfileDisplay
from clusterscape.plot.gain import GainDisplay
from clusterscape.plot.k_selection import KSelectionDisplay
from clusterscape.plot.landscape import (
    ClusterImagesDisplay,
    DistanceDistributionDisplay,
    DistanceMatrixDisplay,
    LandscapeDisplay,
    QualityDistributionDisplay,
)
from clusterscape.plot.method_curves import MethodCurvesDisplay
from clusterscape.plot.palette import cluster_colors
from clusterscape.plot.scatter import ScatterDisplay
from clusterscape.plot.silhouette import SilhouetteDisplay
from clusterscape.plot.stability import GalleryDisplay, StabilityDisplay
from clusterscape.plot.sweep import SweepDisplay
from clusterscape.plot.tracking import TrackingDisplay
from clusterscape.plot.trajectory import TrajectoryDisplay
from clusterscape.plot.transductive import (
    BoundaryDisplay,
    SamplingRateDisplay,
    ScoreMapDisplay,
    SupportVectorDisplay,
)
from clusterscape.plot.transport import TransportDisplay

__all__ = [
    "AffinityMapDisplay",
    "BoundaryDisplay",
    "CellDisplay",
    "ClusterImagesDisplay",
    "ConsensusDistributionDisplay",
    "ConsensusMatrixDisplay",
    "ContingencyDisplay",
    "DendrogramDisplay",
    "DescriptionDisplay",
    "DifferencesDisplay",
    "DistanceDistributionDisplay",
    "DistanceMatrixDisplay",
    "FeatureOccurrenceDisplay",
    "FeatureProfileDisplay",
    "GainDisplay",
    "GalleryDisplay",
    "KSelectionDisplay",
    "LandscapeDisplay",
    "MethodCurvesDisplay",
    "QualityDistributionDisplay",
    "SamplingRateDisplay",
    "ScatterDisplay",
    "ScoreMapDisplay",
    "SilhouetteDisplay",
    "StabilityDisplay",
    "SupportVectorDisplay",
    "SweepDisplay",
    "TrackingDisplay",
    "TrajectoryDisplay",
    "TransportDisplay",
    "cluster_colors",
]
