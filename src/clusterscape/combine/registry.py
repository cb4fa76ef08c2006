"""The consensus methods and what is declared of them; tests, docs and the command line read it."""

from __future__ import annotations

from dataclasses import dataclass

from clusterscape.combine.base import BaseConsensus
from clusterscape.combine.eac import EAC
from clusterscape.combine.majority import MajorityVote
from clusterscape.combine.sec import SEC


@dataclass(frozen=True)
class Method:
    """A consensus method and its declared properties.

    Attributes
    ----------
    name : str
        As the command line takes it.
    estimator : class
        The estimator.
    needs_k : bool
        Whether ``n_clusters`` must be given.
    k_rule : str
        How the method finds the number of clusters when it is not given; empty if it cannot.
    needs_features : bool
        Whether ``fit`` needs ``features``.
    soft : bool
        Whether soft partitions are accepted.
    cost, memory : str
        Growth in points n, distinct rows m, partitions r, clusters K.
    reference : str
        Where it comes from.
    summary : str
        One sentence for tables.
    """

    name: str
    estimator: type[BaseConsensus]
    needs_k: bool
    k_rule: str
    needs_features: bool
    soft: bool
    cost: str
    memory: str
    reference: str
    summary: str


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "sec",
            SEC,
            needs_k=True,
            k_rule="",
            needs_features=False,
            soft=True,
            cost="n r K an iteration",
            memory="n r",
            reference="Liu, Liu, Wu, Tao, Fu 2015",
            summary="Normalised cut of the co-association as a weighted k-means; the default.",
        ),
        Method(
            "eac",
            EAC,
            needs_k=False,
            k_rule="longest lifetime in the dendrogram",
            needs_features=False,
            soft=True,
            cost="m^2 r",
            memory="m^2 (single linkage: n r)",
            reference="Fred, Jain 2002, 2005",
            summary="Linkage of co-association, cut at k, a threshold, or the longest lifetime.",
        ),
        Method(
            "majority_vote",
            MajorityVote,
            needs_k=False,
            k_rule="components of the graph of majorities",
            needs_features=False,
            soft=True,
            cost="m^2 r",
            memory="n r",
            reference="majority rule; see Raman, section 2.3",
            summary="Links pairs that most partitions put together; clusters are the components.",
        ),
    )
}
