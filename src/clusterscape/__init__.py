"""Many clusterings of one dataset: generate, compare, combine and validate them.

The subpackages are imported on first use, so that ``import clusterscape`` stays light:

>>> import clusterscape as cs
>>> ensemble = cs.Ensemble.from_labels([[0, 0, 1, 1], ["a", "a", "a", "b"]])
>>> ensemble.n_partitions
2
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_SUBPACKAGES = (
    "anndata",
    "combine",
    "compare",
    "datasets",
    "explore",
    "forest",
    "generate",
    "io",
    "lifting",
    "linalg",
    "plot",
    "preprocess",
    "report",
    "semisupervised",
    "validate",
)
_NAMES = {
    "ConsensusClustering": "clusterscape.model",
    "Ensemble": "clusterscape.ensemble",
    "EnsembleGenerator": "clusterscape.generate",
    "PartitionRecord": "clusterscape.ensemble",
}

__all__ = [
    "ConsensusClustering",
    "Ensemble",
    "EnsembleGenerator",
    "PartitionRecord",
    "__version__",
    "anndata",
    "combine",
    "compare",
    "datasets",
    "explore",
    "forest",
    "generate",
    "io",
    "lifting",
    "linalg",
    "plot",
    "preprocess",
    "report",
    "semisupervised",
    "validate",
]

if TYPE_CHECKING:
    from clusterscape import (
        anndata,
        combine,
        compare,
        datasets,
        explore,
        forest,
        generate,
        io,
        lifting,
        linalg,
        plot,
        preprocess,
        report,
        semisupervised,
        validate,
    )
    from clusterscape.ensemble import Ensemble, PartitionRecord
    from clusterscape.generate import EnsembleGenerator
    from clusterscape.model import ConsensusClustering


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"clusterscape.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'clusterscape' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
