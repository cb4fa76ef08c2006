"""Whether there are clusters, how many, and how firmly every point belongs to its own."""

from __future__ import annotations

from clusterscape.combine.result import KSelection
from clusterscape.validate.active import ActiveClustering
from clusterscape.validate.affinity import Affinity, AffinityMap, Certificates, stability
from clusterscape.validate.clusterable import Clusterability, clusterability
from clusterscape.validate.decomposability import Decomposability, near_decomposability
from clusterscape.validate.description import ClusterDescription, describe_clusters
from clusterscape.validate.indices import dunn_index, s_dbw, sd_index
from clusterscape.validate.k_criteria import K_CRITERIA, KCriterion
from clusterscape.validate.n_clusters import select_k
from clusterscape.validate.parameter_sweep import Sweep, sweep
from clusterscape.validate.resampling import ClusterStability, cluster_stability
from clusterscape.validate.resampling_consensus import (
    ConsensusSummary,
    ResamplingConsensus,
    resampling_consensus,
)
from clusterscape.validate.structure import StructureVerdict, structure_test

__all__ = [
    "K_CRITERIA",
    "ActiveClustering",
    "Affinity",
    "AffinityMap",
    "Certificates",
    "ClusterDescription",
    "ClusterStability",
    "Clusterability",
    "ConsensusSummary",
    "Decomposability",
    "KCriterion",
    "KSelection",
    "ResamplingConsensus",
    "StructureVerdict",
    "Sweep",
    "cluster_stability",
    "clusterability",
    "describe_clusters",
    "dunn_index",
    "near_decomposability",
    "resampling_consensus",
    "s_dbw",
    "sd_index",
    "select_k",
    "stability",
    "structure_test",
    "sweep",
]
