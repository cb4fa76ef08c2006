"""Learning from few labels: transductive support vector machines, and sampling for them."""

from __future__ import annotations

# Transductive learning.
from clusterscape.semisupervised.fuzzy import FuzzyCMeans
from clusterscape.semisupervised.platt import PlattScaling, platt_scaling
from clusterscape.semisupervised.subsampling import (
    AdaptiveSubsampler,
    cluster_entropy,
    label_uncertainty,
)
from clusterscape.semisupervised.support import (
    SupportVectorDistances,
    support_vector_distances,
)
from clusterscape.semisupervised.transductive import TransductionWarning, TransductiveSVC

__all__ = [
    "AdaptiveSubsampler",
    "FuzzyCMeans",
    "PlattScaling",
    "SupportVectorDistances",
    "TransductionWarning",
    "TransductiveSVC",
    "cluster_entropy",
    "label_uncertainty",
    "platt_scaling",
    "support_vector_distances",
]
