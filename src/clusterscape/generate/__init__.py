"""Features in, many clusterings out."""

from __future__ import annotations

from clusterscape.generate.algorithms import ALGORITHMS, CLUSTERERS, Algorithm
from clusterscape.generate.gaps import present_columns
from clusterscape.generate.generator import EnsembleGenerator, GenerationError, GenerationWarning
from clusterscape.generate.kinds import Kind
from clusterscape.generate.presets import (
    PRESETS,
    bagging,
    diverse,
    diverse_precomputed,
    generator_for,
    mixed,
    random_features,
    random_k,
    random_projection,
    restarts,
    subsample,
    usenc,
)

__all__ = [
    "ALGORITHMS",
    "CLUSTERERS",
    "PRESETS",
    "Algorithm",
    "EnsembleGenerator",
    "GenerationError",
    "GenerationWarning",
    "Kind",
    "bagging",
    "diverse",
    "diverse_precomputed",
    "generator_for",
    "mixed",
    "present_columns",
    "random_features",
    "random_k",
    "random_projection",
    "restarts",
    "subsample",
    "usenc",
]
