"""Resampling consensus: how often points stay together in clusterings of random parts of the data.

The everyday tool of Monti and others, for every number of clusters of a range: consensus matrices,
their distribution, and how firmly items and clusters hold together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.random import SeedSequence
from sklearn.base import clone
from sklearn.utils import gen_batches

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError, ParameterError
from clusterscape._core.labels import UNSAMPLED, canonical, encode, numbered_like, smallest_type
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    Integer,
    Null,
    Number,
    Seed,
    Such,
    checked,
)
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape._core.warnings import hear_warnings
from clusterscape.combine import EAC
from clusterscape.combine.base import BaseConsensus
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.inputs import Partition
from clusterscape.generate.algorithms import ALGORITHMS, CLUSTERER, Pieces, Settings
from clusterscape.generate.features import read_matrix
from clusterscape.generate.kinds import Turn, turns_of
from clusterscape.linalg.kmeans import kmeans_on_samples
from clusterscape.validate.resampling import check_square, drawn_points, is_pairwise

_BINS = 1000  # steps of the distribution of consensus values
_BLOCK = 2**22  # elements of a block of rows of a consensus matrix
_TASK = 25  # resamples of one task: their number is a matter of overhead, not of results
_SURE = (0.1, 0.9)  # consensus values below and above are clear

_KMEANS: dict[str, Any] = {"kmeans": "lloyd", "hartigan": "hartigan"}


def _is_range(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and all(Integer(2).allows(k) for k in value) and value[0] <= value[1]
    counted = isinstance(value, (list, range, np.ndarray)) and len(value) > 0
    return counted and all(Integer(2).allows(k) for k in value)


_KS = Such(
    _is_range,
    "a pair (low, high) of numbers of clusters >= 2, both included, or a list of them",
    refused=[(3, 2), [], [1], 4],
)
_NAMED = Choice(*(name for name, known in ALGORITHMS.items() if known.needs_k))


@dataclass(frozen=True)
class ConsensusSummary:
    """What is kept of the consensus matrix of one number of clusters.

    Attributes
    ----------
    n_clusters : int
        Clusters that were asked for.
    labels : (n,) array
        The consensus clusters, numbered after those of the number of clusters before.
    histogram : (1001,) array
        Pairs by consensus: entry 0 counts those never together, entry b those above (b - 1) / 1000
        and up to b / 1000.
    mean : float
        Mean consensus of the pairs.
    item_consensus : (n, clusters) array
        Mean consensus of each point with the other points of each cluster; nan where there is none.
    cluster_consensus : (clusters,) array
        Mean consensus of the pairs within each cluster; nan for a cluster of one point.
    clusters : (clusters,) array
        The number of each cluster in ``labels``.
    """

    n_clusters: int
    labels: np.ndarray
    histogram: np.ndarray
    mean: float
    item_consensus: np.ndarray
    cluster_consensus: np.ndarray
    clusters: np.ndarray

    @property
    def cdf(self) -> np.ndarray:
        """Share of the pairs whose consensus is at most 0, 0.001, ..., 1."""
        total = self.histogram.sum()
        return np.cumsum(self.histogram) / total if total else np.full(_BINS + 1, np.nan)

    @property
    def own(self) -> np.ndarray:
        """Consensus of each point with its own cluster."""
        at = np.searchsorted(self.clusters, np.maximum(self.labels, 0))
        at = np.minimum(at, self.clusters.size - 1)
        own = self.item_consensus[np.arange(self.labels.size), at]
        return np.where(self.labels >= 0, own, np.nan)


@dataclass(frozen=True, eq=False)
class ResamplingConsensus:
    """Consensus over resampled data, for several numbers of clusters.

    Attributes
    ----------
    ks : list of int
        The numbers of clusters, ascending.
    summaries : dict of ConsensusSummary
        What is kept for each number of clusters.
    ids : pandas.Index
        The points' ids.
    failures : dict
        For each number of clusters the resamples that failed, and why; they count neither for nor
        against.
    resamples : (q, m, n) array
        The cluster of each point in each resample, for each number of clusters; -2 where it was
        not drawn.

    See Also
    --------
    resampling_consensus : Make one.
    clusterscape.plot.ConsensusDistributionDisplay : CDF and delta area.
    clusterscape.plot.TrackingDisplay : Clusters across their number.
    """

    ks: list[int]
    summaries: dict[int, ConsensusSummary]
    ids: pd.Index
    failures: dict[int, list[str]]
    resamples: np.ndarray = field(repr=False)

    def __repr__(self) -> str:
        """Say what was done; ``table`` has the figures."""
        many = self.resamples.shape[1]
        return (
            f"ResamplingConsensus({len(self.ids)} points, k from {self.ks[0]} to {self.ks[-1]}, "
            f"{many} resamples each)"
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per number of clusters.

        ``area`` is the area under the CDF of the consensus values; ``delta_area`` its relative
        change from the row before (the area itself in the first row); ``pac`` the proportion of
        ambiguously clustered pairs (consensus above 0.1 and up to 0.9; small is clear);
        ``cluster_consensus`` and ``item_consensus`` the means over clusters, and over points with
        their own cluster; ``smallest`` the points of the smallest cluster; ``failed`` the resamples
        that failed.
        """
        rows = []
        for k in self.ks:
            found = self.summaries[k]
            sizes = np.bincount(found.labels[found.labels >= 0])
            rows.append(
                {
                    "area": 1.0 - found.mean,
                    "pac": self.pac(k),
                    "cluster_consensus": _mean(found.cluster_consensus),
                    "item_consensus": _mean(found.own),
                    "smallest": int(sizes[sizes > 0].min(initial=found.labels.size)),
                    "failed": len(self.failures[k]),
                }
            )
        table = pd.DataFrame(rows, index=pd.Index(self.ks, name="k"))
        before = table["area"].shift()
        change = ((table["area"] - before) / before).where(before.notna(), table["area"])
        table.insert(1, "delta_area", change)
        return table

    def pac(self, k: int, *, low: float = _SURE[0], high: float = _SURE[1]) -> float:
        """Return the proportion of ambiguously clustered pairs: consensus in (low, high].

        Parameters
        ----------
        k : int
            Number of clusters.
        low, high : float
            Limits, to three decimals.

        Returns
        -------
        float
            From 0 (every pair is clear) to 1.
        """
        ends = np.rint(np.array([low, high]) * _BINS).astype(int)
        rounded = np.abs(ends / _BINS - [low, high]).max() > 1e-9
        if rounded or not 0 <= ends[0] < ends[1] <= _BINS:
            raise ValueError(
                f"low and high must be 0 <= low < high <= 1 with at most three decimals; got "
                f"{low} and {high}."
            )
        cdf = self._summary(k).cdf
        return float(cdf[ends[1]] - cdf[ends[0]])

    def cdf(self) -> pd.DataFrame:
        """Return the distribution of the consensus values: one column per number of clusters."""
        index = pd.Index(np.arange(_BINS + 1) / _BINS, name="consensus")
        return pd.DataFrame({k: self.summaries[k].cdf for k in self.ks}, index=index)

    def labels(self, k: int) -> np.ndarray:
        """Return the consensus clusters for k clusters."""
        return self._summary(k).labels

    def to_frame(self) -> pd.DataFrame:
        """Return the consensus clusters of every point: one column per number of clusters."""
        return pd.DataFrame({k: self.summaries[k].labels for k in self.ks}, index=self.ids)

    def item_consensus(self, k: int) -> pd.DataFrame:
        """Return the mean consensus of each point with the other points of each cluster."""
        found = self._summary(k)
        columns = pd.Index(found.clusters, name="cluster")
        return pd.DataFrame(found.item_consensus, index=self.ids, columns=columns)

    def cluster_consensus(self) -> pd.DataFrame:
        """Return size and mean consensus of every cluster, for every number of clusters."""
        rows = [
            (k, int(c), int((found.labels == c).sum()), float(value))
            for k, found in self.summaries.items()
            for c, value in zip(found.clusters, found.cluster_consensus, strict=True)
        ]
        return pd.DataFrame(rows, columns=["k", "cluster", "size", "consensus"])

    def ensemble(self, k: int) -> Ensemble:
        """Return the resampled clusterings with k clusters as an ensemble; not drawn is -2."""
        self._summary(k)
        return _ensemble(self.resamples[self.ks.index(k)], self.ids)

    def matrix(self, k: int, *, max_gb: float = 4.0) -> np.ndarray:
        """Return the consensus matrix: how often two points were together when both were drawn.

        Parameters
        ----------
        k : int
            Number of clusters.
        max_gb : float
            Refuse above this size.

        Returns
        -------
        (n, n) array
            In [0, 1]; nan for pairs that were never drawn together.
        """
        self._summary(k)
        columns = self.resamples[self.ks.index(k)]
        n = columns.shape[1]
        if 8.0 * n * n / 1e9 > max_gb:
            what = f"the consensus matrix of {n:,} points"
            remedies = ["use ensemble(k).coassociation(), whose products need no matrix"]
            raise MemoryLimitError(what, 8.0 * n * n / 1e9, max_gb, remedies=remedies)
        out = np.empty((n, n))
        kernels.labels.fraction_rows(columns, np.ones(len(columns)), 0, n, out, np.nan)
        return out

    def _summary(self, k: int) -> ConsensusSummary:
        if k not in self.summaries:
            raise ValueError(f"k must be one of {self.ks}; got {k!r}.")
        return self.summaries[k]


@checked(
    {
        "ks": [_KS],
        "clusterer": [_NAMED, CLUSTERER],
        "n_resamples": [Integer(1)],
        "ratio": [Number(0, 1, open_low=True)],
        "init": [Choice("k-means++", "random")],
        "n_init": [Integer(1)],
        "consensus": [Null(), Instance(BaseConsensus)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
    }
)
def resampling_consensus(
    X: Any,
    ks: Sequence[int] = (2, 10),
    *,
    clusterer: Any = "kmeans",
    n_resamples: int = 1000,
    ratio: float = 0.8,
    init: Literal["k-means++", "random"] = "k-means++",
    n_init: int = 1,
    consensus: BaseConsensus | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> ResamplingConsensus:
    """Cluster random parts of the data again and again, and see which points stay together.

    For every number of clusters: the consensus matrix (how often two points were together, of the
    resamples that drew both), its distribution (CDF, delta area, PAC), the consensus clusters, and
    the consensus of items and of clusters [1]_. The same resamples are used for every number.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame
        Features; (n, n) distances or similarities where the clusterer takes precomputed ones.
    ks : pair, list or range
        Numbers of clusters: a pair (low, high), both included, or a list of numbers.
    clusterer : str or estimator
        A name of :data:`clusterscape.generate.ALGORITHMS` that is told the number of clusters, or a
        scikit-learn clusterer with ``n_clusters`` or ``n_components``.
    n_resamples : int
        How often the data are resampled.
    ratio : float
        Share of the points that are drawn each time, without replacement.
    init, n_init
        Starts of the k-means clusterers, as in :class:`clusterscape.generate.EnsembleGenerator`; a
        scikit-learn clusterer keeps its own.
    consensus : BaseConsensus or None
        Makes the consensus clusters from the resampled clusterings; its ``n_clusters`` and
        ``random_state`` are set. By default average linkage of the consensus matrix
        (:class:`~clusterscape.combine.EAC`), which needs the matrix once for each number of
        clusters, and refuses above 4 GB; :class:`~clusterscape.combine.SEC` needs none.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        Resamples are clustered in parallel; the result does not depend on it.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.

    Returns
    -------
    ResamplingConsensus
        No matrix is kept: ``matrix(k)`` makes one.

    See Also
    --------
    cluster_stability : How well the clusters of one clustering are found again.
    select_k : A choice of the number of clusters.
    structure_test : Whether there are clusters at all.
    clusterscape.plot.ConsensusMatrixDisplay : Draws ``ensemble(k)``.

    Notes
    -----
    **Clear matrices are no proof of clusters.** Points of one cloud, cut the same way in every
    resample, have a clear consensus as well; two elongated halves of one Gaussian do. The area
    under the CDF grows with k on any data. Compare with :func:`structure_test` and with data
    without structure. A pair that was never drawn together counts neither for nor against.

    Labels of all resamples are kept: n * n_resamples bytes for each number of clusters.

    References
    ----------
    .. [1] S. Monti, P. Tamayo, J. Mesirov and T. Golub, "Consensus clustering: a resampling-based
       method for class discovery and visualization of gene expression microarray data", Machine
       Learning 52, 91-118, 2003. doi:10.1023/A:1023949509487
    .. [2] M. D. Wilkerson and D. N. Hayes, "ConsensusClusterPlus: a class discovery tool with
       confidence assessments and item tracking", Bioinformatics 26, 1572-1573, 2010.
       doi:10.1093/bioinformatics/btq170
    .. [3] Y. Senbabaoglu, G. Michailidis and J. Z. Li, "Critical limitations of consensus
       clustering in class discovery", Scientific Reports 4, 6207, 2014. doi:10.1038/srep06207

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.validate import resampling_consensus
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.3, size=(30, 2)) for c in (0, 3, 6)])
    >>> found = resampling_consensus(X, (2, 4), n_resamples=50, n_init=5, random_state=0)
    >>> int(found.table["pac"].idxmin()), float(found.table.loc[3, "pac"])
    (3, 0.0)
    >>> np.bincount(found.labels(3))
    array([30, 30, 30])
    """
    features = read_matrix(X)
    values = features.views[0]
    n = values.shape[0]
    counts = np.arange(ks[0], ks[1] + 1) if isinstance(ks, tuple) else np.unique(ks)
    size = int(ratio * n + 1e-9)
    turn = _turn(clusterer, counts, size, n, ratio)
    root, last = root_sequence(random_state).spawn(2)
    pairwise = is_pairwise(clusterer)
    if pairwise:
        check_square(values)
    work = _Work(values, pairwise, turn, counts, size, init, n_init)
    seeds = root.spawn(n_resamples)
    done = parallel_map(
        _clustered,
        [(work, part.start, seeds[part]) for part in gen_batches(n_resamples, _TASK)],
        n_jobs=n_jobs,
        prefer="threads" if turn.algorithm.threads else "processes",
        label="resampling",
        progress=progress,
    )
    labels = np.concatenate([part for part, _ in done], axis=1)
    failures = {int(k): [w for _, why in done for w in why[j]] for j, k in enumerate(counts)}
    for k, reasons in failures.items():
        if len(reasons) == n_resamples:
            raise ValueError(f"every resample failed for {k} clusters: {reasons[0]}")
    made = EAC() if consensus is None else consensus
    summaries: dict[int, ConsensusSummary] = {}
    earlier = None
    for j, k in enumerate(counts):
        found = _combined(made, int(k), labels[j], last)
        earlier = canonical(found) if earlier is None else numbered_like(found, earlier)
        summaries[int(k)] = _summarized(labels[j], int(k), earlier)
    ids = pd.RangeIndex(n, name="id") if features.index is None else features.index
    return ResamplingConsensus([int(k) for k in counts], summaries, ids, failures, labels)


def _turn(clusterer: Any, counts: np.ndarray, size: int, n: int, ratio: float) -> Turn:
    """Return the clusterer with its settings, or say why it cannot be used."""
    if counts[-1] > size:
        raise ParameterError(
            f"{{ks.name}}: {counts[-1]} clusters are more than the {size} points of a resample "
            f"({{ratio}} of {n}); ask for fewer.",
            ks=int(counts[-1]),
            ratio=ratio,
        )
    turn = turns_of(clusterer)[0]
    if not turn.algorithm.needs_k:
        raise ParameterError(
            f"{{clusterer.name}}: {turn.algorithm.name} has no parameter for the number of "
            "clusters; use one with n_clusters or n_components, or cluster_stability, which needs "
            "none.",
            clusterer=turn.algorithm.name,
        )
    return turn


@dataclass(frozen=True, eq=False)
class _Work:
    """What every resample has in common."""

    X: Any
    pairwise: bool
    turn: Turn
    counts: np.ndarray
    size: int
    init: Any
    n_init: int


def _clustered(
    task: tuple[_Work, int, list[SeedSequence]],
) -> tuple[np.ndarray, list[list[str]]]:
    """Return the labels (numbers, resamples, points) of some resamples, and what failed."""
    work, first, seeds = task
    n, q = work.X.shape[0], work.counts.size
    out = np.full((q, len(seeds), n), UNSAMPLED, dtype=smallest_type(int(work.counts[-1])))
    drawing, fitting = zip(*(seed.spawn(2) for seed in seeds), strict=True)
    drawn = [np.random.default_rng(seed).permutation(n)[: work.size] for seed in drawing]
    samples = np.sort(np.array(drawn), axis=1)
    failures: list[list[str]] = [[] for _ in range(q)]
    if work.turn.algorithm.name in _KMEANS:
        kmeans_on_samples(
            work.X,
            samples,
            work.counts,
            algorithm=_KMEANS[work.turn.algorithm.name],
            init=work.init,
            n_init=work.n_init,
            seeds=np.stack([seed.generate_state(q, np.uint64) for seed in fitting]),
            out=out,
        )
        return out, failures
    for s, (rows, seed) in enumerate(zip(samples, fitting, strict=True)):
        part, shared = drawn_points(work.X, rows, work.pairwise), Pieces()
        options = work.turn.settings(first + s)
        for j, own in enumerate(seed.spawn(q)):
            how = Settings(own, None, work.init, work.n_init, options=options, pieces=shared)
            try:
                with hear_warnings():
                    out[j, s, rows] = _labels_of(work, part, j, how)
            except Exception as error:  # a failed resample is reported, the others count
                failures[j].append(f"{type(error).__name__}: {error}")
    return out, failures


def _labels_of(work: _Work, part: Any, j: int, how: Settings) -> np.ndarray:
    """Return the labels that the clusterer gives a part of the points."""
    found = work.turn.algorithm.run(part, int(work.counts[j]), how)
    if found.labels is None:
        return np.asarray(found.membership).argmax(axis=1)
    return encode(found.labels, "labels")[0]


def _ensemble(columns: np.ndarray, ids: pd.Index | None) -> Ensemble:
    """Return resampled clusterings, one per row, as an ensemble."""
    labels = np.ascontiguousarray(columns.T)
    widths = columns.max(axis=1).astype(np.int64) + 1
    parts = [Partition(f"p{i}", labels[:, i], max(int(w), 0)) for i, w in enumerate(widths)]
    return Ensemble(parts, labels=labels, index=ids)


def _combined(made: BaseConsensus, k: int, columns: np.ndarray, seed: SeedSequence) -> np.ndarray:
    """Return the consensus clusters of the resamples."""
    made = clone(made)
    known = made.get_params(deep=False)
    given = {"n_clusters": k, "random_state": seed}
    made.set_params(**{name: value for name, value in given.items() if name in known})
    labels: np.ndarray = made.fit(_ensemble(columns, None)).labels_
    return labels


def _summarized(columns: np.ndarray, k: int, labels: np.ndarray) -> ConsensusSummary:
    """Read the consensus matrix off the resamples, a block of rows at a time."""
    m, n = columns.shape
    clusters = np.unique(labels[labels >= 0])
    member = (labels[:, None] == clusters).astype(np.float64)
    histogram = np.zeros(_BINS + 1, dtype=np.int64)
    sums, counts = np.zeros((n, clusters.size)), np.zeros((n, clusters.size))
    total = 0.0
    for part in gen_batches(n, max(1, _BLOCK // n)):
        block = np.empty((part.stop - part.start, n))
        kernels.labels.fraction_rows(columns, np.ones(m), part.start, part.stop, block, np.nan)
        block[np.arange(len(block)), np.arange(part.start, part.stop)] = np.nan
        seen = ~np.isnan(block)
        # A share s/m is at least 1/m of a step away from the end of a step that it is not on.
        steps = np.ceil(block[seen] * _BINS - 0.5 / m).astype(np.int64)
        histogram += np.bincount(steps, minlength=_BINS + 1)
        counts[part] = seen @ member
        block[~seen] = 0.0
        sums[part] = block @ member
        total += block.sum()
    own, pairs = (member * sums).sum(axis=0), (member * counts).sum(axis=0)
    items, within = np.full_like(sums, np.nan), np.full_like(own, np.nan)
    every = histogram.sum()
    return ConsensusSummary(
        n_clusters=k,
        labels=labels,
        histogram=histogram // 2,  # every pair was met twice
        mean=float(total / every) if every else float("nan"),
        item_consensus=np.divide(sums, counts, out=items, where=counts > 0),
        cluster_consensus=np.divide(own, pairs, out=within, where=pairs > 0),
        clusters=clusters,
    )


def _mean(values: np.ndarray) -> float:
    """Return the mean of the values that are there."""
    there = values[~np.isnan(values)]
    return float(there.mean()) if there.size else float("nan")
