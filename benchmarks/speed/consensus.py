"""Every consensus method beside the peers, on one label matrix of growing length.

Overlapping blobs (16 features, 10 clusters), 50 k-means partitions with k drawn from 10 to
min(sqrt(n), 100); n = 1,000, 5,000, 20,000 and 100,000. CPU seconds of the consensus step alone,
peak memory of its process (a bare interpreter with the libraries takes 150 to 200 MB of it), and
ARI with the planted clusters. The bars:

- at 100,000 points SEC, KCC, SECRP, SCA, MCLA, HBGF and the spectral consensus each take at least
  3 times less CPU than scikit-learn's KMeans on the one-hot matrix with the same number of starts,
  stay under 600 MB (HBGF 1,000 MB), and under 2.59 s, a tenth of what ClusterEnsembles' HBGF was
  measured to take; the best of ours has an ARI no lower than KMeans' less 0.005;
- at 20,000 points EAC (average) and CSPA take at least 3 times less CPU and 4 times less memory
  than fastcluster on dense co-association, and than METIS on the graph of all pairs that are ever
  together, which is what ClusterEnsembles' CSPA is (the package itself no longer installs, and
  makes the graph of a dense matrix, which METIS is spared here); ARI no lower by 0.02;
- at 11,162 points LSCE and NSCE stay under 2,000 MB.

``--check`` has the rows of the first bars only; ``consensus_dense.py --check`` has those of the
others, whose peers fill n x n matrices. There LSCE and NSCE, of which memory alone is compared with
a bar, run beside METIS, EAC and CSPA; fastcluster, which is nearest to its bar, runs alone. Peers
that are not installed (fastcluster, combo, sc3s) are named.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _common
from clusterscape._core.parallel import one_thread

PARTITIONS, CLUSTERS, STARTS = 50, 10, 10
SIZES = (1_000, 5_000, 20_000, 100_000)
PAIRS, FEATURES, LARGE = 20_000, 11_162, 100_000
LINEAR = ("SEC", "KCC", "SECRP", "SCA", "MCLA", "HBGF", "Spectral")
ANCHOR_HBGF = 25.9
RIVALS = {"EAC": "fastcluster, dense S", "CSPA": "METIS, whole S (CSPA)"}
Part = Literal["all", "linear", "dense"]


@dataclass(frozen=True)
class Entry:
    """A row of the table: what is run, and up to which size."""

    name: str
    run: Callable[[Any, Any], np.ndarray]
    largest: int
    needs: str = ""
    first: int = 500  # points of the fit that compiles and is not measured


# -- ours -----------------------------------------------------------------------------------------


def ours(method: str, **options: Any) -> Callable[[Any, Any], np.ndarray]:
    """Return a function that fits one of the registry's estimators."""

    def run(ensemble: Any, X: Any) -> np.ndarray:
        from clusterscape.combine import METHODS

        entry = METHODS[method]
        made = entry.estimator(**options)
        known = made.get_params(deep=False)
        asked = {"n_clusters": CLUSTERS, "random_state": 0, "n_init": STARTS}
        made.set_params(**{name: value for name, value in asked.items() if name in known})
        return made.fit(ensemble, features=None if entry.features == "none" else X).labels_

    return run


# -- the peers ------------------------------------------------------------------------------------


def dense(ensemble: Any) -> np.ndarray:
    """Return the dense co-association, by sparse products a block of rows at a time.

    This is quicker and smaller than what the packages do themselves.
    """
    B = ensemble.membership().matrix
    transposed = B.T.tocsr()
    full = np.empty((B.shape[0], B.shape[0]))
    for start in range(0, B.shape[0], 500):
        full[start : start + 500] = (B[start : start + 500] @ transposed).toarray()
    full /= ensemble.n_partitions
    return full


def whole_graph(ensemble: Any) -> Any:
    """Return the graph of all pairs that are ever together, weighing a thousand times their share.

    It is made a block of rows at a time, without the dense matrix that the packages make of it.
    """
    from scipy import sparse

    B = ensemble.membership().matrix
    transposed = B.T.tocsr()
    blocks = []
    for start in range(0, B.shape[0], 500):
        block = (B[start : start + 500] @ transposed).toarray() / ensemble.n_partitions
        np.fill_diagonal(block[:, start:], 0.0)
        blocks.append(sparse.csr_matrix((block * 1000).astype(np.int32)))
    return sparse.vstack(blocks, format="csr")


def kmeans_on_rows(ensemble: Any, X: Any) -> np.ndarray:
    """scikit-learn's KMeans on the one-hot matrix."""
    from sklearn.cluster import KMeans

    matrix = ensemble.membership(dtype=np.float32).matrix
    return KMeans(CLUSTERS, n_init=STARTS, random_state=0).fit_predict(matrix)


def spectral_on_dense(ensemble: Any, X: Any) -> np.ndarray:
    """scikit-learn's SpectralClustering on the dense co-association."""
    from sklearn.cluster import SpectralClustering

    model = SpectralClustering(CLUSTERS, affinity="precomputed", random_state=0)
    return model.fit_predict(dense(ensemble))


def linkage_on_dense(ensemble: Any, X: Any) -> np.ndarray:
    """scikit-learn's average linkage on the dense co-association."""
    from sklearn.cluster import AgglomerativeClustering

    model = AgglomerativeClustering(CLUSTERS, metric="precomputed", linkage="average")
    return model.fit_predict(1.0 - dense(ensemble))


def fastcluster_on_dense(ensemble: Any, X: Any) -> np.ndarray:
    """Average linkage by fastcluster on the dense co-association."""
    import fastcluster
    from scipy.cluster.hierarchy import fcluster
    from scipy.spatial.distance import squareform

    distances = dense(ensemble)
    np.subtract(1.0, distances, out=distances)
    np.fill_diagonal(distances, 0.0)
    condensed = squareform(distances, checks=False)
    del distances
    return fcluster(fastcluster.average(condensed), CLUSTERS, "maxclust")


def metis_on_dense(ensemble: Any, X: Any) -> np.ndarray:
    """METIS on the whole co-association graph, as ClusterEnsembles' CSPA does it."""
    import pymetis

    graph = whole_graph(ensemble)
    adjacency = pymetis.CSRAdjacency(graph.indptr, graph.indices)
    _, parts = pymetis.part_graph(CLUSTERS, adjacency, eweights=graph.data)
    return np.asarray(parts)


def combo_eac(ensemble: Any, X: Any) -> np.ndarray:
    """EAC of combo, with average linkage."""
    from combo.models.cluster_eac import EAC
    from sklearn.cluster import KMeans

    members = [KMeans(CLUSTERS) for _ in range(ensemble.n_partitions)]
    for i, member in enumerate(members):
        member.labels_ = ensemble.labels[:, i].astype(np.int64)
    return EAC(members, CLUSTERS, linkage_method="average", pre_fitted=True).fit(X).labels_


def sc3s_step(ensemble: Any, X: Any) -> np.ndarray:
    """Consensus step of sc3s: mini-batch k-means on the dense one-hot matrix."""
    from sc3s._cluster import cluster_consensus_matrix
    from sklearn.utils import check_random_state

    matrix = ensemble.membership().matrix.toarray()
    found = cluster_consensus_matrix(
        consensus_matrix=matrix,
        n_clusters=CLUSTERS,
        batch_size=100,
        random_state=check_random_state(0),
    )
    return np.asarray(found).astype(np.int64)


OURS = (
    Entry("SEC", ours("sec"), LARGE),
    Entry("SECRP", ours("sec", projection="sparse"), LARGE),
    Entry("SEC-SVD", ours("sec", projection="svd"), LARGE),
    Entry("KCC", ours("kcc"), LARGE),
    Entry("Spectral", ours("spectral"), LARGE, first=25_000),  # one more kernel than for few points
    Entry("SCA", ours("sca"), LARGE),
    Entry("MCLA", ours("mcla"), LARGE),
    Entry("HBGF", ours("hbgf"), LARGE),
    Entry("HGPA", ours("hgpa"), PAIRS),
    Entry("CSPA", ours("cspa"), PAIRS),
    Entry("GCC", ours("gcc"), 5_000),
    Entry("EAC", ours("eac"), PAIRS, first=6_000),  # another precision than for few points
    Entry("EAC, single", ours("eac", linkage="single"), PAIRS),
    Entry("MajorityVote", ours("majority_vote"), PAIRS),
    Entry("MedianPartition", ours("median_partition"), 5_000),
    Entry("BagClust1", ours("bagclust", variant=1), LARGE),
    Entry("BagClust2", ours("bagclust", variant=2), 5_000),
    Entry("RCE", ours("rce"), 1_000),
    Entry("LSCE", ours("lsce"), PAIRS),
    Entry("NSCE", ours("nsce"), PAIRS),
    Entry("IKL", ours("ikl"), PAIRS),
)
PEERS = (
    Entry("KMeans on one-hot B", kmeans_on_rows, LARGE),
    Entry("spectral, dense S", spectral_on_dense, 5_000),
    Entry("average linkage, dense S", linkage_on_dense, 5_000),
    Entry("fastcluster, dense S", fastcluster_on_dense, PAIRS, "fastcluster"),
    Entry("METIS, whole S (CSPA)", metis_on_dense, PAIRS, "pymetis"),
    Entry("combo EAC", combo_eac, 1_000, "combo"),
    Entry("sc3s consensus step", sc3s_step, 20_000, "sc3s"),
)
ENTRIES = {entry.name: entry for entry in (*OURS, *PEERS)}


# -- measuring ------------------------------------------------------------------------------------


def make(n: int, folder: str) -> None:
    """Write the features, planted clusters and partitions of n points."""
    from clusterscape.datasets import make_overlapping_blobs
    from clusterscape.generate import EnsembleGenerator

    X, planted = make_overlapping_blobs(n, n_clusters=CLUSTERS, random_state=0)
    high = max(CLUSTERS, min(int(np.sqrt(n)), 100))
    generator = EnsembleGenerator(
        PARTITIONS, n_clusters=(CLUSTERS, high), max_iter=20, rows="all", random_state=0, n_jobs=2
    )
    generator.generate(X.astype(np.float32)).to_npz(f"{folder}/{n}.npz")
    np.savez(f"{folder}/{n}-data.npz", X=X, planted=planted)


def fit(name: str, n: int, folder: str) -> tuple[float, float]:
    """Return the CPU seconds and the ARI of one method."""
    from sklearn.metrics import adjusted_rand_score

    from clusterscape import Ensemble

    ensemble = Ensemble.from_npz(f"{folder}/{n}.npz")
    with np.load(f"{folder}/{n}-data.npz") as file:
        X, planted = file["X"], file["planted"]
    entry = ENTRIES[name]
    run, first = entry.run, min(entry.first, n)
    with warnings.catch_warnings(), one_thread():
        warnings.simplefilter("ignore")
        run(ensemble.subset(np.arange(first)), X[:first])  # compile
        with _common.measure() as taken:
            labels = run(ensemble, X)
    return taken.cpu, float(adjusted_rand_score(planted, labels))


class Table:
    """Results by method and size."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.cells: dict[tuple[str, int], tuple[float, float, float]] = {}

    def make(self, n: int) -> None:
        """Write the data of n points, once."""
        if not Path(f"{self.folder}/{n}.npz").exists():
            _common.in_fresh_process(make, n, self.folder)

    def add(self, name: str, n: int) -> None:
        """Run a method in a process of its own."""
        self.make(n)
        run = _common.in_fresh_process(fit, name, n, self.folder)
        cpu, ari = run.result
        self.cells[name, n] = (cpu, run.peak_mb, ari)
        print(f"  {name}, n={n:,}: {cpu:.2f} s, {run.peak_mb:.0f} MB, ARI {ari:.3f}", flush=True)

    def add_dense(self, jobs: list[tuple[str, int]]) -> None:
        """Run fastcluster alone, then the others, with those on features on another core."""
        for n in (PAIRS, FEATURES):
            self.make(n)
        alone = [job for job in jobs if job[0] == RIVALS["EAC"]]
        features = [job for job in jobs if job[1] == FEATURES]
        for job in alone:
            self.add(*job)
        with ThreadPoolExecutor(1) as pool:
            beside = [pool.submit(self.add, *job) for job in features]
            for job in jobs:
                if job not in alone and job not in features:
                    self.add(*job)
            for one in beside:
                one.result()

    def show(self) -> None:
        """Print seconds / MB / ARI by size."""
        sizes = sorted({n for _, n in self.cells})
        names = list(dict.fromkeys(name for name, _ in self.cells))
        rows = []
        for name in names:
            found = [self.cells.get((name, n)) for n in sizes]
            rows.append(
                [name, *("-" if c is None else f"{c[0]:.2f}/{c[1]:.0f}/{c[2]:.3f}" for c in found)]
            )
        _common.show_table(["CPU s / peak MB / ARI", *(f"n={n:,}" for n in sizes)], rows)


BARS = {
    "linear": [("KMeans on one-hot B", LARGE), *((name, LARGE) for name in LINEAR)],
    "dense": [
        *((name, PAIRS) for name in (*RIVALS.values(), *RIVALS)),
        *((name, FEATURES) for name in ("LSCE", "NSCE")),
    ],
}


def plan(part: Part) -> list[tuple[str, int]]:
    """Return the methods and sizes to run: those of some bars, or all."""
    bars = [job for name, jobs in BARS.items() if part in (name, "all") for job in jobs]
    if part == "all":
        others = [(name, n) for name, entry in ENTRIES.items() for n in SIZES if n <= entry.largest]
        bars += [job for job in others if job not in bars]
    missing = {name: e.needs for name, e in ENTRIES.items() if e.needs and not installed(e.needs)}
    for name, package in missing.items():
        print(f"  {name}: {package} is not installed, left out")
    return [job for job in bars if job[0] not in missing]


def installed(package: str) -> bool:
    """Tell whether a package can be imported."""
    return importlib.util.find_spec(package) is not None


Cells = dict[tuple[str, int], tuple[float, float, float]]
Verdicts = list[tuple[str, bool]]


def linear_verdicts(cells: Cells) -> Verdicts:
    """Return a sentence for every bar at 100,000 points, and whether it is held."""
    said = []
    peer_cpu, _, peer_ari = cells["KMeans on one-hot B", LARGE]
    for name in LINEAR:
        cpu, mb, _ = cells[name, LARGE]
        limit = 1000.0 if name == "HBGF" else 600.0
        held = cpu * 3 <= peer_cpu and mb <= limit and cpu * 10 <= ANCHOR_HBGF
        said.append(
            (
                f"{name} at {LARGE:,}: {peer_cpu / cpu:.1f}x less CPU (bar 3), {mb:.0f} MB "
                f"(bar {limit:.0f}), {ANCHOR_HBGF / cpu:.0f}x under the anchor (bar 10)",
                held,
            )
        )
    best = max(cells[name, LARGE][2] for name in LINEAR)
    said.append(
        (f"best ARI {best:.3f}, KMeans {peer_ari:.3f} (bar -0.005)", best >= peer_ari - 0.005)
    )
    return said


def dense_verdicts(cells: Cells) -> Verdicts:
    """Return a sentence for every bar against dense peers and on features."""
    said = []
    for name, rival in RIVALS.items():
        if (rival, PAIRS) not in cells:
            continue
        cpu, mb, ari = cells[name, PAIRS]
        their_cpu, their_mb, their_ari = cells[rival, PAIRS]
        held = cpu * 3 <= their_cpu and mb * 4 <= their_mb and ari >= their_ari - 0.02
        said.append(
            (
                f"{name} at {PAIRS:,}: {their_cpu / cpu:.1f}x less CPU (bar 3), "
                f"{their_mb / mb:.1f}x less memory (bar 4) than {rival}, "
                f"ARI {ari:.3f} and {their_ari:.3f}",
                held,
            )
        )
    for name in ("LSCE", "NSCE"):
        mb = cells[name, FEATURES][1]
        said.append((f"{name} at {FEATURES:,}: {mb:.0f} MB (bar 2,000)", mb <= 2000))
    return said


def main(checked: Part = "linear") -> None:
    """Run what was asked for, print the table and the bars; ``checked`` is what --check runs."""
    options = _common.arguments(__doc__.splitlines()[0])
    part: Part = checked if options.check else "all"
    print(_common.versions())
    with tempfile.TemporaryDirectory() as folder:
        table = Table(folder)
        jobs = plan(part)
        if part == "dense":
            table.add_dense(jobs)
        else:
            for job in jobs:
                table.add(*job)
        table.show()
    said = [] if part == "dense" else linear_verdicts(table.cells)
    said += [] if part == "linear" else dense_verdicts(table.cells)
    for sentence, held in said:
        print(f"{'held  ' if held else 'MISSED'} {sentence}")
    count = sum(held for _, held in said)
    _common.finish(f"{count} of {len(said)} bars held", count == len(said), options.check)


if __name__ == "__main__":
    main()
