"""The consensus methods and what is declared of them; tests, docs and the command line read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clusterscape.combine.bagclust import BagClust
from clusterscape.combine.base import BaseConsensus
from clusterscape.combine.cspa import CSPA
from clusterscape.combine.eac import EAC
from clusterscape.combine.gcc import GCC
from clusterscape.combine.hbgf import HBGF
from clusterscape.combine.hgpa import HGPA
from clusterscape.combine.ikl import IKL
from clusterscape.combine.kcc import KCC
from clusterscape.combine.lift import LiftHAC, LiftKM
from clusterscape.combine.majority import MajorityVote
from clusterscape.combine.mcla import MCLA
from clusterscape.combine.median import MedianPartition
from clusterscape.combine.rce import RCE
from clusterscape.combine.sca import SCA
from clusterscape.combine.sce import LSCE, NSCE
from clusterscape.combine.sec import SEC
from clusterscape.combine.spectral import SpectralConsensus


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
    features : {"none", "used", "needed"}
        What ``fit`` does with ``features``.
    soft : bool
        Whether soft partitions are accepted.
    cost, memory : str
        Growth in points n, distinct rows m, partitions r, clusters K of the consensus, clusters D
        of all partitions together, landmarks or sampled points l.
    reference : str
        Where it comes from.
    summary : str
        One sentence for tables.
    extra : str
        Extra of the package that must be installed; empty if none.
    """

    name: str
    estimator: type[BaseConsensus]
    needs_k: bool
    k_rule: str
    features: Literal["none", "used", "needed"]
    soft: bool
    cost: str
    memory: str
    reference: str
    summary: str
    extra: str = ""

    @property
    def takes_k(self) -> bool:
        """Whether a number of clusters can be asked for."""
        return "n_clusters" in self.estimator().get_params(deep=False)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "spectral",
            SpectralConsensus,
            needs_k=False,
            k_rule="largest eigengap of the normalised co-association",
            features="none",
            soft=True,
            cost="n r^2 for the clusters' Gram matrix, n r K for the rows",
            memory="n (r + K) + D^2",
            reference="Ng, Jordan, Weiss 2001 on the co-association",
            summary="Spectral clustering of the co-association by the singular vectors of B.",
        ),
        Method(
            "sec",
            SEC,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="n r K an iteration",
            memory="n r",
            reference="Liu, Liu, Wu, Tao, Fu 2015",
            summary="Normalised cut of the co-association as weighted k-means over the rows of B.",
        ),
        Method(
            "kcc",
            KCC,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="n r K an iteration",
            memory="n r",
            reference="Wu, Liu, Xiong, Cao, Chen 2015",
            summary="Largest sum of utilities (mutual information by default) by k-means over B.",
        ),
        Method(
            "eac",
            EAC,
            needs_k=False,
            k_rule="longest lifetime in the dendrogram",
            features="none",
            soft=True,
            cost="m^2 r",
            memory="m^2 (single linkage: n r)",
            reference="Fred, Jain 2002, 2005",
            summary="Linkage of co-association, cut at k, a threshold, or the longest lifetime.",
        ),
        Method(
            "sca",
            SCA,
            needs_k=False,
            k_rule="largest gap between the eigenvalues of the scaled co-association",
            features="none",
            soft=True,
            cost="n r a step (m^2 r up to 4,000 rows)",
            memory="n r + min(m, 4,000)^2",
            reference="Meyer, Wessell 2012",
            summary="A Markov chain on the similarities; eigenvalues near one count the clusters.",
        ),
        Method(
            "cspa",
            CSPA,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="m^2 r",
            memory="n r + 100 m (all m^2 pairs up to 5,000 rows)",
            reference="Strehl, Ghosh 2002",
            summary="Balanced METIS cut of the co-association graph; forces equal sizes.",
            extra="graph",
        ),
        Method(
            "hgpa",
            HGPA,
            needs_k=True,
            k_rule="",
            features="none",
            soft=False,
            cost="n r + cut of l <= 2,000 rows",
            memory="n r",
            reference="Strehl, Ghosh 2002",
            summary="Balanced cut of the hypergraph of all clusters; forces equal sizes.",
            extra="graph",
        ),
        Method(
            "mcla",
            MCLA,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="n r^2 + D^2",
            memory="n (r + K) + D^2",
            reference="Strehl, Ghosh 2002",
            summary="Groups the clusters by their overlap; the groups then compete for points.",
            extra="graph",
        ),
        Method(
            "hbgf",
            HBGF,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="n r K + cut of l <= 30,000 rows",
            memory="n r",
            reference="Fern, Brodley 2004",
            summary="Balanced cut of the graph of points and clusters; forces equal sizes.",
            extra="graph",
        ),
        Method(
            "gcc",
            GCC,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="the three together",
            memory="n (r + K) + 100 m + D^2",
            reference="Strehl, Ghosh 2002",
            summary="The best of CSPA, HGPA and MCLA by average NMI with the ensemble.",
            extra="graph",
        ),
        Method(
            "majority_vote",
            MajorityVote,
            needs_k=False,
            k_rule="components of the graph of majorities",
            features="none",
            soft=True,
            cost="m^2 r",
            memory="n r",
            reference="majority rule; see Raman, section 2.3",
            summary="Links pairs that most partitions put together; clusters are the components.",
        ),
        Method(
            "median_partition",
            MedianPartition,
            needs_k=False,
            k_rule="least sum of distances to the partitions",
            features="none",
            soft=True,
            cost="n r K a sweep",
            memory="n r + D K",
            reference="best of inputs and local search; see Raman, section 2.3",
            summary="The best input, then one-point moves that lower the sum of distances.",
        ),
        Method(
            "bagclust",
            BagClust,
            needs_k=True,
            k_rule="",
            features="used",
            soft=True,
            cost="n r K + r^2 comparisons (variant 2: m^2 r)",
            memory="n (r + K) (variant 2: m^2)",
            reference="Dudoit, Fridlyand 2003",
            summary="Bootstrap partitions vote after matching; variant 2 takes medoids.",
        ),
        Method(
            "rce",
            RCE,
            needs_k=True,
            k_rule="",
            features="none",
            soft=True,
            cost="m^2 (K + r) a sweep",
            memory="m (r + K)",
            reference="Zhou and others 2015; our reading",
            summary="Low-rank fit of the co-memberships, sparse errors taken out.",
        ),
        Method(
            "lsce",
            LSCE,
            needs_k=True,
            k_rule="",
            features="needed",
            soft=True,
            cost="n (r + neighbours) a product",
            memory="n^2 for a dense affinity",
            reference="Tao, Liu, Fu 2017",
            summary="Smallest eigenvectors of the features' Laplacian less the co-association.",
        ),
        Method(
            "nsce",
            NSCE,
            needs_k=True,
            k_rule="",
            features="needed",
            soft=True,
            cost="a solve with L a product",
            memory="n^2 for a dense affinity",
            reference="Tao, Liu, Fu 2017",
            summary="Largest eigenvectors of the Laplacian's inverse times the co-association.",
        ),
        Method(
            "ikl",
            IKL,
            needs_k=True,
            k_rule="",
            features="needed",
            soft=True,
            cost="n (d + neighbours) a product",
            memory="n^2 for a dense affinity",
            reference="Wang, Ding, Li 2009; our reading",
            summary="k-means and spectral clustering of the features in one relaxation.",
        ),
        Method(
            "lift_km",
            LiftKM,
            needs_k=True,
            k_rule="",
            features="needed",
            soft=True,
            cost="n rho (d + r) to lift, D K rho an iteration",
            memory="D rho, and a block of points",
            reference="Raman, Phillips, Venkatasubramanian 2011",
            summary="k-means of all clusters as points of the kernel's space.",
        ),
        Method(
            "lift_hac",
            LiftHAC,
            needs_k=True,
            k_rule="",
            features="needed",
            soft=True,
            cost="n rho (d + r) to lift, D^2 rho for the linkage",
            memory="D (D + rho), and a block of points",
            reference="Raman, Phillips, Venkatasubramanian 2011",
            summary="Agglomerative clustering of all clusters as points of the kernel's space.",
        ),
    )
}
