"""How many clusters: near neighbours that a further cluster would separate, and eigengaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.metrics import (
    calinski_harabasz_score,
    davies_bouldin_score,
    pairwise_distances,
    silhouette_score,
)

from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Instance, Integer, Null, Seed, Such, checked
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.eci import column_weights
from clusterscape.combine.result import KSelection
from clusterscape.compare import adjusted_rand
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.generate import EnsembleGenerator, diverse
from clusterscape.linalg.dunn_owa import neighbor_edges
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.ncut import eigengap, log_gaps
from clusterscape.linalg.neighbors import nearest_neighbors
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import bipartite_spectrum, coassociation_spectrum

Criterion = Literal["auto", "neighbors", "eigengap"]

BY_NEIGHBORS = "rise of the share of separated near neighbours, and the eigengap"
BY_GAP = "largest eigengap of the normalised co-association, as a ratio of 1 - eigenvalue"

_THETA = 0.4  # of the weights of the clusters, as in LWGP
# A share of separated neighbours below this is as good as none: a few points on a border.
_NOTHING = 0.005
# The eigengap beside the rise of the share. Chosen with _NOTHING on the sets of
# benchmarks/quality/choose_k.py; 0.25 to 1 hardly differ.
_GAP_WEIGHT = 0.5
_INDEX_POINTS = 1_000  # for the silhouette


def _is_ks(value: Any) -> bool:
    whole = [isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in value]
    return len(value) > 0 and all(whole) and min(value) >= 1 and sorted(value) == list(value)


_KS = Such(
    lambda v: isinstance(v, (tuple, list, range, np.ndarray)) and _is_ks(v),
    "a pair (least, most) or an ascending list of integers >= 1",
    refused=[(3, 2), [], (0, 4), (2.5, 4)],
)


@checked(
    {
        "ks": [_KS],
        "generator": [Null(), Instance(EnsembleGenerator)],
        "criterion": [Choice("auto", "neighbors", "eigengap")],
        "metric": [Choice("euclidean", "cosine")],
        "n_neighbors": [Integer(1)],
        "n_resamples": [Integer(0)],
        "max_points": [Integer(20)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def select_k(
    ensemble: Any = None,
    ks: Sequence[int] = (2, 20),
    *,
    features: Any = None,
    generator: EnsembleGenerator | None = None,
    criterion: Criterion = "auto",
    metric: Literal["euclidean", "cosine"] = "euclidean",
    n_neighbors: int = 10,
    n_resamples: int = 10,
    max_points: int = 1500,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> KSelection:
    """Choose the number of clusters, with a table of all candidates and how firm the choice is.

    With features, the ensemble is cut into 2, 3, ... clusters as
    :class:`~clusterscape.combine.LWGP` does, and the near neighbours of the points decide: as long
    as a further cut runs between clusters it separates hardly any neighbours, and the first cut
    through a cluster separates many. The number with the largest such rise (as a log ratio), plus
    half of the eigengap (also a log ratio), is chosen. Without features the largest eigengap of the
    co-association decides alone.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels, optional
        Best made of partitions that are finer than the clusters sought. None makes one of the
        features.
    ks : (least, most) or list of int
        The candidates. The answer is 1 when every partition is one cluster.
    features : (n, d) array or sparse matrix, optional
        Features of the points.
    generator : EnsembleGenerator, optional
        Makes the ensemble where none is given; :func:`~clusterscape.generate.diverse` by default.
    criterion : {"auto", "neighbors", "eigengap"}
        "auto" is "neighbors" where there are features.
    metric : {"euclidean", "cosine"}
        Distance of near neighbours.
    n_neighbors : int
        Near neighbours of each point that are looked at.
    n_resamples : int
        Random halves of the partitions from which the choice is made again. The criteria are means
        over them and over the whole ensemble.
    max_points : int
        Of more points than this a random sample decides.
    random_state : int, generator or None
        Seed of the samples and of k-means.
    n_jobs : int or None
        Halves are looked at in parallel; the result does not depend on it.

    Returns
    -------
    KSelection
        With ``table``, one row per candidate; ``runner_up``; and ``choices``, what each half chose.

    See Also
    --------
    structure_test : Whether there are clusters at all.
    clusterscape.combine.LWGP : The consensus whose cuts are compared.
    clusterscape.plot.KSelectionDisplay : A picture of the choice.

    Notes
    -----
    It always finds something, and never a single cluster: use :func:`structure_test` first.
    Clusters that touch over a wide front are not told from one; of nested groups the clearest level
    is taken, and ``runner_up`` is often the other level. Clusters of a handful of points, such as
    groups of outliers, are not counted. The eigengap alone fails where partitions are coarser than
    the clusters, and where long shapes fall into pieces.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17,
       395-416, 2007. doi:10.1007/s11222-007-9033-z
    .. [2] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.validate import select_k
    >>> runs = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], [0, 4, 1, 1, 2, 2]])
    >>> select_k(runs).n_clusters
    3
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> chosen = select_k(features=X, ks=(2, 6))
    >>> chosen.n_clusters, list(chosen.table["k"])
    (2, [2, 3, 4, 5, 6])
    """
    generating, picking, cutting = spawn(random_state, 3)
    if ensemble is None and features is None:
        raise ValueError("select_k needs an ensemble, or features to make one of; got neither.")
    if ensemble is None:
        made = diverse(100) if generator is None else generator
        made.set_params(**({"random_state": generating} if made.random_state is None else {}))
        source = made.generate(features)
    else:
        source = as_ensemble(ensemble)
    if criterion == "neighbors" and features is None:
        raise ValueError('criterion="neighbors" looks at near neighbours: give features=.')
    usable = source.n_clusters > 0
    if not usable.any():
        raise ValueError("ensemble: no partition has a cluster, so there is no k to choose.")
    kept = source if usable.all() else source.select(usable)
    candidates = _candidates(ks)
    alone = bool((kept.n_clusters == 1).all())
    if criterion == "eigengap" or features is None or alone or kept.n_points <= candidates[0] + 1:
        return _by_gap(kept, candidates)
    settings = _Settings(candidates, metric, n_neighbors, n_resamples, max_points)
    return _by_neighbors(kept, features, settings, (picking, cutting), n_jobs)


def _candidates(ks: Sequence[int]) -> np.ndarray:
    """Return the numbers of clusters that are compared; a pair is a range."""
    values = [int(k) for k in ks]
    if len(values) == 2:
        values = list(range(values[0], values[1] + 1))
    return np.unique([max(k, 2) for k in values])


# ---- without features -----------------------------------------------------------------------


def _by_gap(ensemble: Ensemble, candidates: np.ndarray) -> KSelection:
    """Choose by the spectrum of the co-association alone."""
    small = ensemble.compress().ensemble
    most = int(candidates[-1])
    found = coassociation_spectrum(
        small.coassociation(normalize="counts"), most + 1, sample_weight=small.sample_weight
    )
    values = np.clip(found.values, 0.0, 1.0)
    if values.size <= most:  # the rest of the spectrum is zero: nothing is left out
        values = np.append(values, 0.0)
    best, gaps = eigengap(values, max_clusters=most, min_clusters=int(candidates[0]))
    inside = candidates[candidates <= gaps.size]
    ranked = inside[np.argsort(-gaps[inside - 1], kind="stable")]
    if best >= candidates[0] and ranked.size:  # below it every partition is one cluster
        best = int(ranked[0])
    gap = float(gaps[best - 1])
    table = {"k": inside, "eigengap": gaps[inside - 1], "score": gaps[inside - 1]}
    others = ranked[ranked != best]
    return KSelection(
        best,
        BY_GAP,
        values,
        gaps,
        f"Between eigenvalue {best} ({values[best - 1]:.3f}) and {best + 1} "
        f"({values[best]:.3f}) lies the largest gap (log ratio {gap:.2f}).",
        columns=table,
        runner_up=int(others[0]) if others.size else None,
    )


# ---- with features --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Settings:
    candidates: np.ndarray
    metric: Any
    n_neighbors: int
    n_resamples: int
    max_points: int


@dataclass(frozen=True)
class _Look:
    """The cuts of one set of partitions, and what is measured of them, one entry per candidate."""

    values: np.ndarray
    gaps: np.ndarray
    separated: np.ndarray  # one entry more: the rise at the last candidate needs it
    cuts: list[np.ndarray]

    def score(self) -> np.ndarray:
        return self.rise() + _GAP_WEIGHT * self.gaps

    def rise(self) -> np.ndarray:
        raised = self.separated + _NOTHING
        return np.log(raised[1::2] / raised[::2])


@dataclass(frozen=True)
class _Task:
    ensemble: Ensemble
    column: np.ndarray
    candidates: np.ndarray
    near: np.ndarray
    n_init: int
    seed: SeedSequence


def _by_neighbors(
    ensemble: Ensemble,
    features: Any,
    settings: _Settings,
    seeds: tuple[SeedSequence, SeedSequence],
    n_jobs: int | None,
) -> KSelection:
    """Choose by the near neighbours that the cuts separate."""
    rng = np.random.default_rng(seeds[0])
    n = ensemble.n_points
    rows = np.arange(n)
    if n > settings.max_points:
        rows = np.sort(rng.choice(n, settings.max_points, replace=False))
    placed = (ensemble.labels[rows] >= 0).any(axis=1)
    rows = rows[placed]  # a point in no cluster of any partition has no side
    small = ensemble.subset(rows)
    X = features[rows] if hasattr(features, "shape") else np.asarray(features)[rows]
    candidates = settings.candidates[settings.candidates < rows.size - 1]
    count = min(settings.n_neighbors, rows.size - 1)
    near = nearest_neighbors(X, count, metric=settings.metric)[1]
    column = column_weights(small, "eci", _THETA)
    whole, *seeds_of_halves = seeds[1].spawn(settings.n_resamples + 1)
    tasks = [_Task(small, column, candidates, near, 5, whole)]
    owner = np.repeat(np.arange(small.n_partitions), small.n_clusters)
    for seed in seeds_of_halves:
        size = max(1, small.n_partitions // 2)
        half = np.sort(rng.choice(small.n_partitions, size, replace=False))
        part = small.select(half)
        tasks.append(_Task(part, column[np.isin(owner, half)], candidates, near, 1, seed))
    looks = parallel_map(_look, tasks, n_jobs=n_jobs, prefer="threads")
    return _concluded(looks, candidates, X, settings.metric)


def _look(task: _Task) -> _Look:
    """Cut one set of partitions into every number of clusters."""
    ensemble = task.ensemble
    membership = ensemble.membership().matrix if ensemble.is_soft else None
    space = RowSpace(ensemble.labels, ensemble.offsets, membership)
    sizes = ensemble.cluster_sizes()
    links = np.divide(task.column, sizes, out=np.zeros(sizes.size), where=sizes > 0)
    most = int(task.candidates[-1]) + 1
    found = bipartite_spectrum(space, most, column_weight=links)
    values = np.zeros(most)
    values[: found.values.size] = np.clip(found.values, 0.0, 1.0)
    wanted = np.unique(np.concatenate([task.candidates, task.candidates + 1]))
    labels = {}
    for k, seed in zip(wanted, task.seed.spawn(wanted.size), strict=True):
        rows = found.rows(space, n_vectors=int(k))
        labels[int(k)] = kmeans(
            rows, min(int(k), len(rows)), n_init=task.n_init, max_iter=50, seed=seed
        ).labels
    shares = {k: _separated(cut, task.near) for k, cut in labels.items()}
    pairs = [(shares[k], shares[k + 1]) for k in task.candidates]
    gaps = log_gaps(values)[task.candidates - 1]
    cuts = [labels[k] for k in task.candidates]
    return _Look(values, gaps, np.array(pairs).ravel(), cuts)


def _separated(labels: np.ndarray, near: np.ndarray) -> float:
    """Return the share of near neighbours in other clusters, as a mean over the clusters."""
    apart = (labels[near] != labels[:, None]).mean(axis=1)
    sizes = np.bincount(labels)
    shares = np.bincount(labels, weights=apart)[sizes > 0] / sizes[sizes > 0]
    return float(shares.mean())


def _concluded(looks: list[_Look], candidates: np.ndarray, X: Any, metric: Any) -> KSelection:
    """Weigh the candidates, and say what was found."""
    whole, halves = looks[0], looks[1:]
    scores = np.array([look.score() for look in looks])
    score = scores.mean(axis=0)
    order = np.argsort(-score, kind="stable")
    at, best = order[0], int(candidates[order[0]])
    runner_up = int(candidates[order[1]]) if candidates.size > 1 else None
    choices = candidates[scores[1:].argmax(axis=1)]
    shares = np.mean([look.separated for look in looks], axis=0)
    columns = {
        "k": candidates,
        "score": score,
        "separation_rise": np.mean([look.rise() for look in looks], axis=0),
        "separated": shares[::2],
        "eigengap": np.mean([look.gaps for look in looks], axis=0),
        "chosen": np.array([int((choices == k).sum()) for k in candidates]),
        "stability": _stability(whole, halves),
        **_indices(whole.cuts, X, metric),
    }
    reason = (
        f"{best} clusters separate {shares[2 * at]:.1%} of the near neighbours and {best + 1} "
        f"would separate {shares[2 * at + 1]:.1%}{_firmness(best, runner_up, choices)}."
    )
    if candidates.size > 1 and best == candidates[-1]:
        reason += f" {best} is the largest number that was tried: there may be more clusters."
    gaps = log_gaps(np.append(whole.values, 0.0))
    return KSelection(
        best, BY_NEIGHBORS, whole.values, gaps, reason,
        columns=columns, runner_up=runner_up, choices=choices,
    )  # fmt: skip


def _firmness(best: int, runner_up: int | None, choices: np.ndarray) -> str:
    """Say what is next best, and what random halves of the partitions choose."""
    text = "" if runner_up is None else f"; next best is {runner_up}"
    if not choices.size:
        return text
    values, counts = np.unique(choices[choices != best], return_counts=True)
    others = [str(k) for k in values[np.argsort(-counts, kind="stable")]]
    text += f". Random halves of the partitions chose {best} in {(choices == best).sum()} of "
    text += f"{choices.size} cases"
    return text + (f", else {' or '.join(others)}" if others else "")


def _stability(whole: _Look, halves: list[_Look]) -> np.ndarray:
    """Return the mean agreement of the halves' cuts with those of all partitions."""
    if not halves:
        return np.full(len(whole.cuts), np.nan)
    found = [[adjusted_rand(a, b) for a, b in zip(whole.cuts, h.cuts, strict=True)] for h in halves]
    return np.mean(found, axis=0)


def _indices(cuts: list[np.ndarray], X: Any, metric: Any) -> dict[str, np.ndarray]:
    """Return the usual indices of the cuts; NaN where one is not defined."""
    n = len(cuts[0])
    edges = neighbor_edges(X, n_neighbors=min(25, n - 1), metric=metric)
    some = slice(0, _INDEX_POINTS)  # the points are a random sample, or all of few
    dense = None if sparse.issparse(X) else np.asarray(X)
    distances = pairwise_distances(X[some], metric=metric)
    np.fill_diagonal(distances, 0.0)
    names = ("smallest", "dunn_owa", "silhouette", "calinski_harabasz", "davies_bouldin")
    found = np.full((len(names), len(cuts)), np.nan)
    for i, cut in enumerate(cuts):
        sizes = np.bincount(cut)
        found[0, i] = sizes[sizes > 0].min()
        found[1, i] = edges.dunn_owa(cut, smallest=max(1, n // 100))
        if 1 < np.unique(cut[some]).size < distances.shape[0]:
            found[2, i] = silhouette_score(distances, cut[some], metric="precomputed")
        if dense is not None and 1 < (sizes > 0).sum() < n:
            found[3, i] = calinski_harabasz_score(dense, cut)
            found[4, i] = davies_bouldin_score(dense, cut)
    return dict(zip(names, found, strict=True))
