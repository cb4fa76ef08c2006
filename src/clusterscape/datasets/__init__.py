"""Data by name from a folder or from scikit-learn, and synthetic data with a known answer."""

from __future__ import annotations

from clusterscape.datasets.loaders import list_available, load
from clusterscape.datasets.synthetic import (
    make_no_structure,
    make_overlapping_blobs,
    make_planted_ensemble,
)

__all__ = [
    "list_available",
    "load",
    "make_no_structure",
    "make_overlapping_blobs",
    "make_planted_ensemble",
]
