"""Which consensus method suits an ensemble when nobody says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusterscape.combine.base import BaseConsensus
from clusterscape.combine.registry import METHODS
from clusterscape.ensemble import as_ensemble


@dataclass(frozen=True)
class MethodChoice:
    """A consensus method, and why it was chosen.

    Attributes
    ----------
    name : str
        As in ``METHODS``.
    reason : str
        A sentence.
    options : mapping
        Parameters that are set besides the number of clusters.
    """

    name: str
    reason: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def make(self) -> BaseConsensus:
        """Return a fresh estimator of the method."""
        return METHODS[self.name].estimator(**self.options)


def choose_method(ensemble: Any, n_clusters: int | None = None) -> MethodChoice:
    """Return the consensus method that suits an ensemble, and why."""
    source = as_ensemble(ensemble)
    return MethodChoice("spectral", f"the default for {source.n_points:,} points.")
