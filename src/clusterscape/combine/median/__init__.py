"""The median of partitions: the search by one-point moves, and the estimator."""

from __future__ import annotations

from clusterscape.combine.median.median import MedianPartition

__all__ = ["MedianPartition"]
