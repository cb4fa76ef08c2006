"""Ensemble: many clusterings of the same points, what every part of the library works on."""

from __future__ import annotations

from clusterscape.ensemble.blocked import BlockedEnsemble, BlockedLabelsError
from clusterscape.ensemble.ensemble import Compressed, Ensemble, Membership, as_ensemble
from clusterscape.ensemble.files import NotAnEnsembleFile
from clusterscape.ensemble.records import PartitionRecord

__all__ = [
    "BlockedEnsemble",
    "BlockedLabelsError",
    "Compressed",
    "Ensemble",
    "Membership",
    "NotAnEnsembleFile",
    "PartitionRecord",
    "as_ensemble",
]
