"""Consensus functions: an ensemble in, one clustering out."""

from __future__ import annotations

from clusterscape.combine.base import BaseConsensus, ConsensusWarning
from clusterscape.combine.eac import EAC
from clusterscape.combine.majority import MajorityVote
from clusterscape.combine.registry import METHODS, Method
from clusterscape.combine.scores import ConsensusScores, consensus_scores, mean_coassociation
from clusterscape.combine.sec import SEC

__all__ = [
    "EAC",
    "METHODS",
    "SEC",
    "BaseConsensus",
    "ConsensusScores",
    "ConsensusWarning",
    "MajorityVote",
    "Method",
    "consensus_scores",
    "mean_coassociation",
]
