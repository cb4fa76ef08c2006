"""The landscape of clusterings: sample partitions by their quality, group them, choose a few."""

from __future__ import annotations

from clusterscape.explore.credible import (
    CredibleBall,
    SurestSubset,
    credible_ball,
    surest_subset,
)
from clusterscape.explore.crossed import CrossedView, crossed_view
from clusterscape.explore.diagnostics import (
    SamplingDiagnostics,
    autocorrelation,
    effective_sample_size,
    split_rhat,
)
from clusterscape.explore.landscape import Landscape
from clusterscape.explore.quality import (
    QUALITIES,
    MovingQuality,
    centroid_dunn_quality,
    centroid_silhouette_quality,
    kernel_quality,
    kmeans_quality,
    separation_quality,
    variance_ratio_quality,
    weighted_kernel_quality,
)
from clusterscape.explore.sampler import PartitionSampler, SamplingWarning

__all__ = [
    "QUALITIES",
    "CredibleBall",
    "CrossedView",
    "Landscape",
    "MovingQuality",
    "PartitionSampler",
    "SamplingDiagnostics",
    "SamplingWarning",
    "SurestSubset",
    "autocorrelation",
    "centroid_dunn_quality",
    "centroid_silhouette_quality",
    "credible_ball",
    "crossed_view",
    "effective_sample_size",
    "kernel_quality",
    "kmeans_quality",
    "separation_quality",
    "split_rhat",
    "surest_subset",
    "variance_ratio_quality",
    "weighted_kernel_quality",
]
