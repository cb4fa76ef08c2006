"""Data by name from a folder or from scikit-learn, and synthetic data with a known answer."""

from __future__ import annotations

from clusterscape.datasets.loaders import list_available, load
from clusterscape.datasets.mixtures import (
    Mixture,
    bayes_accuracy,
    make_g1,
    make_g2,
    make_g3,
    make_perturbed_similarity,
    make_two_gaussians,
    nearest_correlation,
)
from clusterscape.datasets.synthetic import (
    make_no_structure,
    make_overlapping_blobs,
    make_planted_ensemble,
)
from clusterscape.datasets.tables import make_cells, make_customers
from clusterscape.datasets.triples import Triple, make_2d2c, make_2d3c

__all__ = [
    "Mixture",
    "Triple",
    "bayes_accuracy",
    "list_available",
    "load",
    "make_2d2c",
    "make_2d3c",
    "make_cells",
    "make_customers",
    "make_g1",
    "make_g2",
    "make_g3",
    "make_no_structure",
    "make_overlapping_blobs",
    "make_perturbed_similarity",
    "make_planted_ensemble",
    "make_two_gaussians",
    "nearest_correlation",
]
