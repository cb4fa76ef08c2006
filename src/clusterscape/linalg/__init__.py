"""Operators and numerical pieces shared by the rooms above."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Affinity": "affinity",
    "Coassociation": "coassociation",
    "Cut": "graphcut",
    "EigenResult": "eigen",
    "KMeansResult": "kmeans",
    "LaplacianInverse": "embedding",
    "NcutResult": "ncut",
    "Scaling": "sinkhorn",
    "SparseProjection": "projection",
    "Split": "ncut",
    "SupportDiagnosis": "markov",
    "ThresholdedCoassociation": "thresholded",
    "TransportPlan": "transport",
    "coassociation_spectrum": "eigen",
    "combination": "operators",
    "cross_coassociation": "cross",
    "eigengap": "ncut",
    "kway_ncut": "ncut",
    "laplacian_quotient": "embedding",
    "log_gaps": "ncut",
    "ncut_value": "ncut",
    "njw": "embedding",
    "normalized": "operators",
    "normalized_laplacian": "operators",
    "partition_graph": "graphcut",
    "partition_hypergraph": "graphcut",
    "recursive_ncut": "ncut",
    "row_sums": "operators",
    "scaled": "operators",
    "sparse_projection": "projection",
    "spectral_embedding": "embedding",
    "stochastic_complement": "markov",
    "symmetric_eigen": "eigen",
    "symmetric_operator": "operators",
    "total_support": "markov",
    "transport_costs": "transport",
    "transport_plan": "transport",
    "without_diagonal": "operators",
}

__all__ = [
    "Affinity",
    "Coassociation",
    "Cut",
    "EigenResult",
    "KMeansResult",
    "LaplacianInverse",
    "NcutResult",
    "Scaling",
    "SparseProjection",
    "Split",
    "SupportDiagnosis",
    "ThresholdedCoassociation",
    "TransportPlan",
    "coassociation_spectrum",
    "combination",
    "cross_coassociation",
    "eigengap",
    "kway_ncut",
    "laplacian_quotient",
    "log_gaps",
    "ncut_value",
    "njw",
    "normalized",
    "normalized_laplacian",
    "partition_graph",
    "partition_hypergraph",
    "recursive_ncut",
    "row_sums",
    "scaled",
    "sparse_projection",
    "spectral_embedding",
    "stochastic_complement",
    "symmetric_eigen",
    "symmetric_operator",
    "total_support",
    "transport_costs",
    "transport_plan",
    "without_diagonal",
]

if TYPE_CHECKING:
    from clusterscape.linalg.affinity import Affinity
    from clusterscape.linalg.coassociation import Coassociation
    from clusterscape.linalg.cross import cross_coassociation
    from clusterscape.linalg.eigen import EigenResult, coassociation_spectrum, symmetric_eigen
    from clusterscape.linalg.embedding import (
        LaplacianInverse,
        laplacian_quotient,
        njw,
        spectral_embedding,
    )
    from clusterscape.linalg.graphcut import Cut, partition_graph, partition_hypergraph
    from clusterscape.linalg.kmeans import KMeansResult
    from clusterscape.linalg.markov import SupportDiagnosis, stochastic_complement, total_support
    from clusterscape.linalg.ncut import (
        NcutResult,
        Split,
        eigengap,
        kway_ncut,
        log_gaps,
        ncut_value,
        recursive_ncut,
    )
    from clusterscape.linalg.operators import (
        combination,
        normalized,
        normalized_laplacian,
        row_sums,
        scaled,
        symmetric_operator,
        without_diagonal,
    )
    from clusterscape.linalg.projection import SparseProjection, sparse_projection
    from clusterscape.linalg.sinkhorn import Scaling
    from clusterscape.linalg.thresholded import ThresholdedCoassociation
    from clusterscape.linalg.transport import TransportPlan, transport_costs, transport_plan


def __getattr__(name: str) -> Any:
    # On first use, so that an Ensemble does not wait for what it does not need.
    if name in _HOMES:
        return getattr(importlib.import_module(f"clusterscape.linalg.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clusterscape.linalg' has no attribute {name!r}")
