"""Stochastic clustering (SCA): evidence, Markov chain, evolution, estimator."""

from __future__ import annotations

from clusterscape.combine.sca.evolution import Trajectory, evolve
from clusterscape.combine.sca.sca import SCA

__all__ = ["SCA", "Trajectory", "evolve"]
