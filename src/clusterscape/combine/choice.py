"""Which consensus method suits an ensemble, where none is given."""

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


# Look-ups of one iteration above which projected rows are worth their loss of accuracy.
_MANY_LOOKUPS = 1e10
_PROJECTED = 100


def choose_method(ensemble: Any, n_clusters: int | None = None) -> MethodChoice:
    """Return the consensus method that suits an ensemble, and why.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        The partitions to combine.
    n_clusters : int, optional
        Clusters that are sought; 10 are assumed where it is not known yet.

    Returns
    -------
    MethodChoice

    See Also
    --------
    clusterscape.ConsensusClustering : Uses it for ``consensus="auto"``.

    Notes
    -----
    Members of several kinds are combined by :class:`ConsensusChoice`, which makes several
    consensuses of them and takes the best by the features. For members of one kind the rule rests
    on ``benchmarks/quality/methods.py``. Where classes are of equal size the good methods hardly
    differ; where they are not, those that favour equal sizes (KCC and every balanced
    partitioner) fall behind. SEC does not, copes with outliers better than linkage, is linear in
    the number of points, and needs no extra of the package. An iteration takes n r K look-ups;
    where these are more than 10^10 and there are at least 200 partitions, SEC on rows projected to
    100 dimensions takes n K 100 instead, and loses a little accuracy.

    Examples
    --------
    >>> from clusterscape.combine import choose_method
    >>> choose_method([[0, 0, 1], [0, 1, 1]], 2).name
    'sec'
    """
    source = as_ensemble(ensemble)
    n, r = source.shape
    kinds = sorted({record.algorithm for record in source.records if record.algorithm})
    if len(kinds) > 1:
        angles = any(record.compares_angles for record in source.records)
        return MethodChoice(
            "consensus_choice",
            f"members of {len(kinds)} kinds ({', '.join(kinds)}): they are combined in several "
            "ways, and the density, the gaps and the balance of the clusters decide.",
            {"metric": "cosine" if angles else "euclidean"},
        )
    k = 10 if n_clusters is None else n_clusters
    if n * r * k > _MANY_LOOKUPS and r >= 2 * _PROJECTED:
        return MethodChoice(
            "sec",
            f"an iteration over {n:,} x {r:,} labels and {k} clusters takes {n * r * k:.0e} "
            f"look-ups, so the rows are projected to {_PROJECTED} dimensions.",
            {"projection": "sparse", "n_dims": _PROJECTED},
        )
    return MethodChoice(
        "sec",
        f"linear in the {n:,} points, does not favour equal sizes, and among the best where the "
        "methods were compared.",
    )
