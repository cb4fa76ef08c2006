"""Consensus in the space of a kernel: clusters as vectors, their groups, and the two estimators."""

from __future__ import annotations

from clusterscape.combine.lift.lift import LiftHAC, LiftKM

__all__ = ["LiftHAC", "LiftKM"]
