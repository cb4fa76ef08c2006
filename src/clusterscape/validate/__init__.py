"""What can be believed: the number of clusters, whether there are any, and which columns matter."""

from __future__ import annotations

from clusterscape.validate.decomposability import Decomposability, near_decomposability
from clusterscape.validate.eigengap import KSelection, select_k
from clusterscape.validate.feature_profile import FeatureProfile, feature_profile
from clusterscape.validate.forest_settings import ForestChoice, choose_forest
from clusterscape.validate.forest_theory import (
    MisclusteringRuns,
    NoiseKappa,
    misclustering_exponent,
    misclustering_rate,
    noise_kappa,
    population_centers,
    population_kappa,
    simulate_misclustering,
)
from clusterscape.validate.structure import StructureVerdict, structure_test

__all__ = [
    "Decomposability",
    "FeatureProfile",
    "ForestChoice",
    "KSelection",
    "MisclusteringRuns",
    "NoiseKappa",
    "StructureVerdict",
    "choose_forest",
    "feature_profile",
    "misclustering_exponent",
    "misclustering_rate",
    "near_decomposability",
    "noise_kappa",
    "population_centers",
    "population_kappa",
    "select_k",
    "simulate_misclustering",
    "structure_test",
]
