"""What an ensemble says of itself: facts, one line, and a small table for notebooks."""

from __future__ import annotations

import html
from collections.abc import Mapping

import numpy as np
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape.ensemble.records import PartitionRecord


class EnsembleWords:
    """The part of :class:`clusterscape.Ensemble` that describes it."""

    labels: np.ndarray
    n_clusters: np.ndarray
    weights: np.ndarray
    sample_weight: np.ndarray
    soft: Mapping[int, sparse.csr_matrix]
    names: tuple[str, ...]
    records: tuple[PartitionRecord, ...]

    @property
    def has_noise(self) -> bool:
        """Whether any point is noise in any partition."""
        return bool((self.labels == NOISE).any())

    @property
    def is_complete(self) -> bool:
        """Whether every partition sampled every point."""
        return bool(self.labels.min(initial=0) > UNSAMPLED)

    @property
    def is_weighted(self) -> bool:
        """Whether points or partitions have weights other than one."""
        return bool((self.weights != 1).any() or (self.sample_weight != 1).any())

    @property
    def failures(self) -> list[tuple[int, str]]:
        """Position and reason of every member that failed."""
        return [(i, r.error) for i, r in enumerate(self.records) if r.error is not None]

    def __repr__(self) -> str:
        return f"Ensemble({self.describe()})"

    def describe(self) -> str:
        """Return one line that says what the ensemble holds."""
        low, high = int(self.n_clusters.min()), int(self.n_clusters.max())
        clusters = f"{low}" if low == high else f"{low} to {high}"
        facts = [
            _count(len(self.labels), "point"),
            f"{_count(len(self.names), 'partition')} with {clusters} clusters",
        ]
        flags = {
            "soft": bool(self.soft),
            "noise": self.has_noise,
            "incomplete": not self.is_complete,
            "weighted": self.is_weighted,
            f"{len(self.failures)} failed": bool(self.failures),
        }
        return ", ".join(facts + [word for word, holds in flags.items() if holds])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{t}</th>" for t in ("", "algorithm", "clusters", "cost", "error"))
        rows = []
        for name, record in list(zip(self.names, self.records, strict=True))[:10]:
            cost = "" if record.cost is None else f"{record.cost:.4g}"
            cells = (name, record.algorithm, record.n_clusters, cost, record.error or "")
            rows.append("".join(f"<td>{html.escape(str(c))}</td>" for c in cells))
        more = len(self.names) - len(rows)
        tail = f"<p>and {more:,} more partitions</p>" if more > 0 else ""
        body = "".join(f"<tr>{row}</tr>" for row in rows)
        title = html.escape(self.describe())
        return f"<p><b>Ensemble</b>: {title}</p><table><tr>{head}</tr>{body}</table>{tail}"


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"
