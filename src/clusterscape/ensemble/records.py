"""What is known about one partition: how it was made, and what resulted."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from clusterscape._core.plain import plain


@dataclass(frozen=True, eq=False)
class PartitionRecord:
    """How one partition of an :class:`~clusterscape.Ensemble` was made; immutable.

    Parameters
    ----------
    generator : str
        The preset or generator that made it; empty for labels that came from outside.
    algorithm : str
        The base clusterer.
    params : mapping
        Its parameters; kept as plain JSON values, in the order of their names.
    seed : mapping or None
        The member's seed (entropy and spawn key).
    view : int
        Which feature matrix was used, where several were given.
    columns : array or None
        Indices of the columns used; None means all.
    rows : str
        How the rows were drawn.
    n_clusters : int
        Clusters found.
    cost : float or None
        The base clusterer's objective; NaN is kept as None.
    error : str or None
        Why the member failed; every point is then unsampled in its column.
    seconds : float or None
        Time taken. It is neither compared nor saved, so that the same seed gives the same file.

    See Also
    --------
    clusterscape.Ensemble : Holds one record per partition.

    Examples
    --------
    >>> from clusterscape import PartitionRecord
    >>> PartitionRecord(algorithm="kmeans", n_clusters=3).replace(cost=1.5).cost
    1.5
    """

    generator: str = ""
    algorithm: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    seed: Mapping[str, Any] | None = None
    view: int = 0
    columns: np.ndarray | None = None
    rows: str = "all"
    n_clusters: int = 0
    cost: float | None = None
    error: str | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", _freeze(plain(self.params)))
        object.__setattr__(self, "seed", None if self.seed is None else _freeze(plain(self.seed)))
        cost = math.nan if self.cost is None else float(self.cost)  # files hold "inf" as text
        object.__setattr__(self, "cost", None if math.isnan(cost) else cost)
        if self.columns is not None:
            columns = np.array(self.columns, dtype=np.int32)
            columns.setflags(write=False)
            object.__setattr__(self, "columns", columns)

    def __reduce__(self) -> Any:
        # A mapping proxy cannot be sent to another process; the constructor makes a new one.
        return (_rebuild, (self.as_dict() | {"columns": self.columns, "seconds": self.seconds},))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionRecord):
            return NotImplemented
        same = self.as_dict() == other.as_dict()
        if self.columns is None or other.columns is None:
            return same and self.columns is other.columns
        return same and np.array_equal(self.columns, other.columns)

    def __hash__(self) -> int:
        return hash((self.generator, self.algorithm, self.n_clusters, self.cost, self.error))

    @property
    def compares_angles(self) -> bool:
        """Whether the base clusterer compared angles instead of distances."""
        return self.algorithm == "cosine" or self.params.get("metric") == "cosine"

    def replace(self, **changes: Any) -> PartitionRecord:
        """Return a copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values, without ``columns`` and ``seconds``."""
        return {
            "generator": self.generator,
            "algorithm": self.algorithm,
            "params": plain(self.params),
            "seed": plain(self.seed),
            "view": int(self.view),
            "rows": self.rows,
            "n_clusters": int(self.n_clusters),
            "cost": str(self.cost) if self.cost in (math.inf, -math.inf) else self.cost,
            "error": self.error,
        }


def _freeze(value: Any) -> Any:
    if isinstance(value, Mapping):
        # In one order, that of files and stores: a record that was read is like one just made.
        return MappingProxyType({k: _freeze(v) for k, v in sorted(value.items())})
    return tuple(_freeze(v) for v in value) if isinstance(value, (list, tuple)) else value


def _rebuild(fields: dict[str, Any]) -> PartitionRecord:
    return PartitionRecord(**fields)
