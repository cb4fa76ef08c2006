"""Cluster forests: grow clustering vectors on good columns, aggregate them, cut the result."""

from __future__ import annotations

from clusterscape.forest.choose import ForestChoice, choose_forest
from clusterscape.forest.columns import FeatureScaleWarning
from clusterscape.forest.estimator import ClusterForest
from clusterscape.forest.feature_profile import FeatureProfile, feature_profile
from clusterscape.forest.grower import ForestGrower
from clusterscape.forest.kappa import kappa
from clusterscape.forest.theory import (
    MisclusteringRuns,
    NoiseKappa,
    misclustering_exponent,
    misclustering_rate,
    noise_kappa,
    population_centers,
    population_kappa,
    simulate_misclustering,
)

__all__ = [
    "ClusterForest",
    "FeatureProfile",
    "FeatureScaleWarning",
    "ForestChoice",
    "ForestGrower",
    "MisclusteringRuns",
    "NoiseKappa",
    "choose_forest",
    "feature_profile",
    "kappa",
    "misclustering_exponent",
    "misclustering_rate",
    "noise_kappa",
    "population_centers",
    "population_kappa",
    "simulate_misclustering",
]
