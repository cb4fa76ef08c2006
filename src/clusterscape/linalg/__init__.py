"""Operators and numerical pieces shared by the rooms above."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOMES = {
    "Coassociation": "coassociation",
    "EigenResult": "eigen",
    "coassociation_spectrum": "eigen",
    "symmetric_eigen": "eigen",
    "KMeansResult": "kmeans",
}

__all__ = [
    "Coassociation",
    "EigenResult",
    "KMeansResult",
    "coassociation_spectrum",
    "symmetric_eigen",
]

if TYPE_CHECKING:
    from clusterscape.linalg.coassociation import Coassociation
    from clusterscape.linalg.eigen import EigenResult, coassociation_spectrum, symmetric_eigen
    from clusterscape.linalg.kmeans import KMeansResult


def __getattr__(name: str) -> Any:
    # On first use, so that an Ensemble does not wait for what it does not need.
    if name in _HOMES:
        return getattr(importlib.import_module(f"clusterscape.linalg.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'clusterscape.linalg' has no attribute {name!r}")
