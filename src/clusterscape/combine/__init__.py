"""Consensus functions: an ensemble in, one clustering out."""

from __future__ import annotations

from clusterscape.combine.bagclust import BagClust
from clusterscape.combine.base import BaseConsensus, Combined, ConsensusWarning
from clusterscape.combine.choice import MethodChoice, choose_method
from clusterscape.combine.consensus_choice import ConsensusChoice
from clusterscape.combine.cspa import CSPA
from clusterscape.combine.eac import EAC, OracleThreshold, eac_oracle
from clusterscape.combine.gcc import GCC
from clusterscape.combine.hbgf import HBGF
from clusterscape.combine.hgpa import HGPA
from clusterscape.combine.ikl import IKL
from clusterscape.combine.kcc import KCC
from clusterscape.combine.lift import LiftHAC, LiftKM
from clusterscape.combine.lwea import LWEA
from clusterscape.combine.lwgp import LWGP
from clusterscape.combine.majority import MajorityVote
from clusterscape.combine.mcla import MCLA
from clusterscape.combine.median import MedianPartition
from clusterscape.combine.random_projection import RandomProjectionEnsemble
from clusterscape.combine.rce import RCE
from clusterscape.combine.registry import METHODS, Method, consensus_method
from clusterscape.combine.sca import SCA, Trajectory, evolve
from clusterscape.combine.sce import LSCE, NSCE
from clusterscape.combine.scores import (
    ConsensusScores,
    OneOpinionWarning,
    consensus_scores,
    mean_coassociation,
)
from clusterscape.combine.sec import SEC
from clusterscape.combine.spectral import SpectralConsensus

__all__ = [
    "CSPA",
    "EAC",
    "GCC",
    "HBGF",
    "HGPA",
    "IKL",
    "KCC",
    "LSCE",
    "LWEA",
    "LWGP",
    "MCLA",
    "METHODS",
    "NSCE",
    "RCE",
    "SCA",
    "SEC",
    "BagClust",
    "BaseConsensus",
    "Combined",
    "ConsensusScores",
    "ConsensusWarning",
    "LiftHAC",
    "LiftKM",
    "MajorityVote",
    "MedianPartition",
    "Method",
    "MethodChoice",
    "ConsensusChoice",
    "OneOpinionWarning",
    "OracleThreshold",
    "RandomProjectionEnsemble",
    "SpectralConsensus",
    "Trajectory",
    "choose_method",
    "consensus_method",
    "consensus_scores",
    "eac_oracle",
    "evolve",
    "mean_coassociation",
]
