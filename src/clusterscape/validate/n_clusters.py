"""How many clusters: near neighbours that a further cluster would separate, and eigengaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_array

from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import N_JOBS, Choice, Instance, Integer, Null, Seed, Such, checked
from clusterscape._core.rows import RowSource
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.eci import column_weights
from clusterscape.combine.result import KSelection
from clusterscape.compare import adjusted_rand
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError, Ensemble, as_ensemble
from clusterscape.generate import EnsembleGenerator, diverse
from clusterscape.linalg.kmeans import kmeans
from clusterscape.linalg.ncut import eigengap, log_gaps
from clusterscape.linalg.rowspace import RowSpace
from clusterscape.linalg.transfer_cut import bipartite_spectrum, coassociation_spectrum
from clusterscape.validate.borders import Neighborhoods
from clusterscape.validate.k_criteria import K_CRITERIA, Cuts
from clusterscape.validate.references import SmoothShape
from clusterscape.validate.structure import StructureVerdict, structure_test

BY_NEIGHBORS = (
    "rise of the share of separated near neighbours, drop of the clearness of borders, and eigengap"
)
BY_GAP = "largest eigengap of the normalised co-association, as a ratio of 1 - eigenvalue"
BY_REFERENCES = "comparison with data without clusters"

_THETA = 0.4  # of the weights of the clusters, as in LWGP
# A share of separated neighbours below this is as good as none: a few points on a border.
_NOTHING = 0.005
_FIRST_MOST = 20  # largest number of clusters that is tried at first
_OPEN = 0.02  # cuts that separate fewer neighbours than this may leave clusters uncut
_APART = 0.99  # eigenvalues above are those of groups that are hardly ever mixed
_POINTS_EACH = 8  # sampled points per cluster that a further search needs
_REFERENCES = 19
_REFERENCE_POINTS, _REFERENCE_HALVES = 400, 5


def _is_ks(value: Any) -> bool:
    whole = [isinstance(k, (int, np.integer)) and not isinstance(k, bool) for k in value]
    return len(value) > 0 and all(whole) and min(value) >= 1 and sorted(value) == list(value)


_KS = Such(
    lambda v: isinstance(v, (tuple, list, range, np.ndarray)) and _is_ks(v),
    "a tuple (least, most) or an ascending list of integers >= 1",
    refused=[(3, 2), [], (0, 4), (2.5, 4)],
)


def _known(names: Any) -> bool:
    return isinstance(names, (list, tuple)) and all(name in K_CRITERIA for name in names)


_CRITERIA = Such(
    lambda v: v in ("deciding", "all") if isinstance(v, str) else _known(v),
    f"'deciding', 'all' or a list of {', '.join(K_CRITERIA)}",
    refused=["some", ["elbow"], 3],
)


_COUNT = Such(
    lambda v: Integer(0).allows(v) and (v == 0 or v >= _REFERENCES),
    f"0 or an integer >= {_REFERENCES}, below which no p-value reaches 5 %",
    refused=[-1, 5, 19.5],
)


@checked(
    {
        "ks": [Null(), _KS],
        "generator": [Null(), Instance(EnsembleGenerator)],
        "criteria": [_CRITERIA],
        "n_references": [Null(), _COUNT],
        "metric": [Choice("euclidean", "cosine")],
        "n_neighbors": [Integer(1)],
        "n_resamples": [Integer(0)],
        "max_points": [Integer(20)],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }
)
def select_k(
    data: Any = None,
    ks: Sequence[int] | None = None,
    *,
    features: Any = None,
    generator: EnsembleGenerator | None = None,
    criteria: Literal["deciding", "all"] | Sequence[str] = "deciding",
    n_references: int | None = None,
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
    through a cluster separates many, and more than a border between two clusters of that size and
    dimension would. The number with the largest sum of three log ratios is chosen: the rise of the
    share of separated neighbours, the drop of the clearness of the borders, and the eigengap.
    Groups of at least ``n_neighbors`` points without a near neighbour outside are clusters: where
    there are more of them, their number is taken. Without features the largest eigengap of the
    co-association decides alone.

    Parameters
    ----------
    data : Ensemble, (n, r) labels, or (n, d) features, optional
        An ensemble, best made of partitions that are finer than the clusters sought; arrays of
        integers or strings are the labels of one. Arrays and frames of floats and sparse matrices
        are features (features of whole numbers are given as ``features=``).
    ks : tuple (least, most) or list of int, optional
        The candidates: a range, both ends included, or the numbers listed. None tries 2 to 20, and
        on to twice as many as long as the largest number is still among the best, or the cuts still
        separate hardly any neighbours. The table begins at 2: whether there is only one cluster is
        decided with references (``n_references``), or by :func:`structure_test`.
    features : (n, d) array or sparse matrix, optional
        Features of the points.
    generator : EnsembleGenerator, optional
        Makes the ensemble where none is given, and those of the references;
        :func:`~clusterscape.generate.diverse` by default.
    criteria : {"deciding", "all"} or list of str
        Columns of the table beside those that decide: names of
        ``clusterscape.validate.K_CRITERIA``. They are NaN where they need features that are not
        given, or are sparse.
    n_references : int, optional
        Datasets without clusters, with the rank correlations of the features and columns of the
        same skewness and tails, which are clustered in the same way: every criterion is compared
        with theirs. At least 19, so that a p-value can reach 5 %, or 0. None is 19 for
        ``criteria="all"`` where there are dense features, and else 0. With references
        :func:`structure_test` is asked as well.
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
        Seed of the samples, of k-means and of the references.
    n_jobs : int or None
        Halves and references are looked at in parallel; the result does not depend on it.

    Returns
    -------
    KSelection
        With ``table``, one row per candidate; ``runner_up``; ``choices``, what each half chose; and
        ``reason``, the recommendation in words. With references the table has for every criterion
        their mean (``..._null``) and the share of them that are as good (``..._p``, a p-value of
        each k), and the answer is 1, with the best number as ``runner_up``, where
        :func:`structure_test` finds no clusters (5 %).

    See Also
    --------
    structure_test : Whether there are clusters at all.
    clusterscape.combine.LWGP : The consensus whose cuts are compared.
    clusterscape.plot.KSelectionDisplay : A picture of the choice.

    Notes
    -----
    Without references it always finds something, and one cluster only where every partition is
    one: use :func:`structure_test` first. How often one cluster is taken for several, and several
    for one, is in ``benchmarks/quality/choose_k.py --nulls``. The references and the data beside
    them are samples of at most 400 points, so that groups of a few points are not seen there, and
    a p-value there is of the sample. Clusters that touch over a
    wide front are not told from one; of nested groups the clearest level is taken, and
    ``runner_up`` is often the other level. Clusters of a handful of points, such as groups of
    fewer than ``n_neighbors`` outliers, are not counted. The eigengap alone fails where partitions
    are coarser than the clusters, and where long shapes fall into pieces.

    References
    ----------
    .. [1] U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17,
       395-416, 2007. doi:10.1007/s11222-007-9033-z
    .. [2] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343
    .. [3] R. Tibshirani, G. Walther and T. Hastie, "Estimating the number of clusters in a data set
       via the gap statistic", Journal of the Royal Statistical Society B 63, 411-423, 2001.
       doi:10.1111/1467-9868.00293
    .. [4] Y. Senbabaoglu, G. Michailidis and J. Z. Li, "Critical limitations of consensus
       clustering in class discovery", Scientific Reports 4, 6207, 2014. doi:10.1038/srep06207
    .. [5] E. Levina and P. J. Bickel, "Maximum likelihood estimation of intrinsic dimension",
       Advances in Neural Information Processing Systems 17, 2005 (for the dimension of a cluster).

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.validate import select_k
    >>> runs = Ensemble.from_labels([[0, 0, 1, 1, 2, 2], [0, 0, 1, 1, 2, 3], [0, 4, 1, 1, 2, 2]])
    >>> select_k(runs).n_clusters
    3
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> chosen = select_k(X, (2, 6), criteria=["silhouette"])
    >>> chosen.n_clusters, list(chosen.table["k"])
    (2, [2, 3, 4, 5, 6])
    """
    ensemble, features = _told_apart(data, features)
    generating, picking, cutting, drawing = spawn(random_state, 4)
    made = diverse(100) if generator is None else clone(generator)
    if ensemble is None:
        seed = {"random_state": generating} if made.random_state is None else {}
        source = made.set_params(**seed).generate(features)
    else:
        source = as_ensemble(ensemble)
    if features is not None and np.shape(features)[0] != source.n_points:
        raise ValueError(
            f"features must have one row for each of the {source.n_points} points of the ensemble; "
            f"got {np.shape(features)[0]}."
        )
    names = list(K_CRITERIA) if criteria == "all" else [] if criteria == "deciding" else criteria
    count = n_references
    if count is None:
        dense = features is not None and not sparse.issparse(features)
        count = _REFERENCES if criteria == "all" and dense else 0
    _check_request(names, n_references, count, features)
    usable = source.n_clusters > 0
    if not usable.any():
        raise ValueError("ensemble: no partition has a cluster, so there is no k to choose.")
    kept = source if usable.all() else source.select(usable)
    alone = bool((kept.n_clusters == 1).all())
    least = 2 if ks is None else max(2, int(ks[0]))
    settings = _Settings(ks, tuple(names), metric, n_neighbors, n_resamples, max_points)
    if features is None or alone or kept.n_points <= least + 1:
        if isinstance(kept, BlockedEnsemble):
            raise BlockedLabelsError(kept.refusal("the choice of k without features"))
        return _by_gap(kept, settings, (picking, cutting), n_jobs)
    found = _by_neighbors(kept, features, settings, (picking, cutting), n_jobs)
    if count == 0:
        return found
    return _against_references(found, features, settings, (made, count, drawing), n_jobs)


def _told_apart(data: Any, features: Any) -> tuple[Any, Any]:
    """Return the ensemble and the features, of which one may be None."""
    if data is None and features is None:
        raise ValueError("select_k needs an ensemble, or features to make one of; got neither.")
    if data is None or isinstance(data, Ensemble):
        return data, _matrix(features, "features")
    values = data.to_numpy() if hasattr(data, "to_numpy") else data
    if sparse.issparse(values) or (isinstance(values, np.ndarray) and values.dtype.kind == "f"):
        if features is not None:
            raise ValueError(
                "data has floats, so it is taken for features, but features= is given as well; "
                "give labels as integers or strings, or one of the two."
            )
        return None, _matrix(data, "data")
    return data, _matrix(features, "features")


def _matrix(features: Any, name: str) -> Any:
    """Return frames and lists as an array; arrays, sparse matrices, blocks and None as they are."""
    if features is None or isinstance(features, (np.ndarray, RowSource)):
        return features
    if sparse.issparse(features):
        return features
    refuse_repeated_columns(features, name)
    return check_array(features, dtype=[np.float64, np.float32], input_name=name)


def _check_request(names: Sequence[str], asked: int | None, count: int, features: Any) -> None:
    """Refuse criteria and references for which something is missing."""
    if features is None and asked:
        raise ValueError("n_references: references are drawn like the features: give features=.")
    if sparse.issparse(features) and asked:
        raise TypeError("n_references: references need a dense array of features.")
    if "gap" in names and count == 0 and features is not None and not sparse.issparse(features):
        raise ValueError('criteria: "gap" is a difference from references: set n_references >= 19.')


def _candidates(ks: Sequence[int] | None, most: int = _FIRST_MOST) -> np.ndarray:
    """Return the numbers of clusters that are compared; a tuple of two is a range."""
    given = (2, most) if ks is None else ks
    values = [int(k) for k in given]
    if isinstance(given, tuple) and len(values) == 2:
        values = list(range(values[0], values[1] + 1))
    return np.unique([max(k, 2) for k in values])


# ---- without features -----------------------------------------------------------------------


def _by_gap(
    ensemble: Ensemble,
    settings: _Settings,
    seeds: tuple[SeedSequence, SeedSequence],
    n_jobs: int | None,
) -> KSelection:
    """Choose by the spectrum of the co-association alone."""
    ks, small = settings.ks, ensemble.compress().ensemble
    together = small.coassociation(normalize="counts")
    largest = int(small.n_clusters.max())
    candidates = _candidates(ks)
    while True:
        most = int(candidates[-1])
        found = coassociation_spectrum(together, most + 1, sample_weight=small.sample_weight)
        values = np.clip(found.values, 0.0, 1.0)
        if values.size <= most:  # the rest of the spectrum is zero: nothing is left out
            values = np.append(values, 0.0)
        best, gaps = eigengap(values, max_clusters=most, min_clusters=int(candidates[0]))
        ended = best < most - 1 and values[-1] < _APART
        if ks is not None or ended or most >= largest:
            break
        candidates = _candidates(None, 2 * most)
    inside = candidates[candidates <= gaps.size]
    ranked = inside[np.argsort(-gaps[inside - 1], kind="stable")]
    if best >= candidates[0] and ranked.size:  # below it every partition is one cluster
        best = int(ranked[0])
    gap = float(gaps[best - 1])
    table = {"k": inside, "eigengap": gaps[inside - 1], "score": gaps[inside - 1]}
    if settings.names and best >= 2 and ensemble.n_points > inside[-1] + 1:
        found_cuts = _cut(ensemble, None, replace(settings, ks=list(inside)), seeds, n_jobs)
        table |= found_cuts.criteria(settings.names)
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
    ks: Sequence[int] | None
    names: tuple[str, ...]
    metric: Any
    n_neighbors: int
    n_resamples: int
    max_points: int


@dataclass(frozen=True)
class _Look:
    """The cuts of one set of partitions, and what is measured of them, one entry per candidate."""

    values: np.ndarray
    gaps: np.ndarray
    separated: np.ndarray  # (m, 2): of the candidate, and of one cluster more
    clearness: np.ndarray  # the same
    cuts: list[np.ndarray]

    def score(self) -> np.ndarray:
        return self.rise() + self.drop() + self.gaps

    def rise(self) -> np.ndarray:
        raised = self.separated + _NOTHING
        return np.log(raised[:, 1] / raised[:, 0])

    def drop(self) -> np.ndarray:
        return self.clearness[:, 0] - self.clearness[:, 1]


@dataclass(frozen=True)
class _Task:
    ensemble: Ensemble
    column: np.ndarray
    candidates: np.ndarray
    around: Neighborhoods
    n_init: int
    seed: SeedSequence


@dataclass(frozen=True)
class _Found:
    """What was measured of every candidate."""

    looks: list[_Look]
    candidates: np.ndarray
    cuts: Cuts
    apart: int  # groups without near neighbours outside: there are at least as many clusters

    def scores(self) -> np.ndarray:
        """Return what decides, by look and candidate."""
        return np.array([look.score() for look in self.looks])

    def best(self, scores: np.ndarray) -> np.ndarray:
        """Return the candidate with the best score (last axis), or as many as there are groups."""
        enough = self.candidates[self.candidates >= self.apart]
        best = self.candidates[scores.argmax(axis=-1)]
        return np.maximum(best, enough[0]) if enough.size else best

    def stability(self) -> np.ndarray:
        """Return the mean agreement of the halves' cuts with those of all partitions."""
        whole, *halves = self.looks
        if not halves:
            return np.full(len(whole.cuts), np.nan)
        pairs = [zip(whole.cuts, half.cuts, strict=True) for half in halves]
        return np.mean([[adjusted_rand(a, b) for a, b in pair] for pair in pairs], axis=0)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns of what decides."""
        scores = self.scores()
        choices = self.best(scores[1:])
        return {
            "k": self.candidates,
            "score": scores.mean(axis=0),
            "separation_rise": np.mean([look.rise() for look in self.looks], axis=0),
            "separated": np.mean([look.separated[:, 0] for look in self.looks], axis=0),
            "clearness_drop": np.mean([look.drop() for look in self.looks], axis=0),
            "clearness": np.mean([look.clearness[:, 0] for look in self.looks], axis=0),
            "eigengap": np.mean([look.gaps for look in self.looks], axis=0),
            "chosen": np.array([int((choices == k).sum()) for k in self.candidates]),
            "stability": self.stability(),
        }

    def criteria(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return further columns; NaN where a criterion lacks what it needs."""
        found = {}
        for name in names:
            entry = K_CRITERIA[name]
            missing = np.full(self.candidates.size, np.nan)
            found[name] = entry.measure(self.cuts) if entry.applies(self.cuts) else missing
        return found

    def is_open(self) -> bool:
        """Return whether there may be more clusters than were looked for."""
        columns = self.columns()
        last = self.candidates[-2:]
        best = self.best(columns["score"])
        return bool(best in last or columns["separated"][-1] < _OPEN)


def _by_neighbors(
    ensemble: Ensemble,
    features: Any,
    settings: _Settings,
    seeds: tuple[SeedSequence, SeedSequence],
    n_jobs: int | None,
) -> KSelection:
    """Choose by the near neighbours that the cuts separate."""
    found = _cut(ensemble, features, settings, seeds, n_jobs)
    return _concluded(found, settings)


def _cut(
    ensemble: Ensemble,
    features: Any,
    settings: _Settings,
    seeds: tuple[SeedSequence, SeedSequence],
    n_jobs: int | None,
) -> _Found:
    """Cut an ensemble, and random halves of it, into every candidate number of clusters."""
    rng = np.random.default_rng(seeds[0])
    n = ensemble.n_points
    rows = np.arange(n)
    if n > settings.max_points:
        rows = np.sort(rng.choice(n, settings.max_points, replace=False))
    small = ensemble.subset(rows)
    placed = small.in_clusters()
    if not placed.all():  # a point in no cluster of any partition has no side
        rows = rows[placed]
        small = ensemble.subset(rows)
    X, around = None, Neighborhoods.none(rows.size)
    if features is not None:
        X = features[rows]
        count = min(settings.n_neighbors, rows.size - 1)
        around = Neighborhoods.of(X, count, metric=settings.metric)
    column = column_weights(small, "eci", _THETA)
    owner = np.repeat(np.arange(small.n_partitions), small.n_clusters)
    size = max(1, small.n_partitions // 2)
    draws = [
        rng.choice(small.n_partitions, size, replace=False) for _ in range(settings.n_resamples)
    ]
    most = _FIRST_MOST
    while True:
        candidates = _candidates(settings.ks, most)
        candidates = candidates[candidates < rows.size - 1]
        whole, measuring, *parts = seeds[1].spawn(settings.n_resamples + 2)
        tasks = [_Task(small, column, candidates, around, 5, whole)]
        for half, seed in zip(draws, parts, strict=True):
            kept = np.isin(owner, half)
            part = small.select(np.sort(half))
            tasks.append(_Task(part, column[kept], candidates, around, 1, seed))
        looks = parallel_map(_look, tasks, n_jobs=n_jobs, prefer="threads")
        halves = [look.cuts for look in looks[1:]]
        cuts = Cuts(candidates, looks[0].cuts, halves, small, X, settings.metric, measuring)
        found = _Found(looks, candidates, cuts, around.apart())
        enough = 2 * most * _POINTS_EACH <= rows.size
        if settings.ks is not None or not enough or not found.is_open():
            return found
        most *= 2


def _look(task: _Task) -> _Look:
    """Cut one set of partitions into every number of clusters."""
    ensemble = task.ensemble
    space = RowSpace.of(ensemble)
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
    around, ks = task.around, task.candidates
    shares = {k: around.separated(cut) for k, cut in labels.items()}
    clear = {k: around.clearness(cut) for k, cut in labels.items()}
    separated = np.array([(shares[k], shares[k + 1]) for k in ks])
    clearness = np.array([(clear[k], clear[k + 1]) for k in ks])
    gaps = log_gaps(values)[ks - 1]
    return _Look(values, gaps, separated, clearness, [labels[k] for k in ks])


def _concluded(found: _Found, settings: _Settings) -> KSelection:
    """Weigh the candidates, and say what was found."""
    candidates, columns = found.candidates, found.columns()
    best = int(found.best(columns["score"]))
    at = int(np.flatnonzero(candidates == best)[0])
    ranked = candidates[np.argsort(-columns["score"], kind="stable")]
    others = ranked[ranked != best]
    runner_up = int(others[0]) if others.size else None
    choices = found.best(found.scores()[1:])
    next_one = np.mean([look.separated[:, 1] for look in found.looks], axis=0)
    reason = (
        f"{best} clusters separate {columns['separated'][at]:.1%} of the near neighbours and "
        f"{best + 1} would separate {next_one[at]:.1%}{_firmness(best, runner_up, choices)}."
    )
    if found.apart > candidates[0]:
        reason += f" {found.apart} groups have no near neighbours outside, so there are no fewer."
    if candidates.size > 1 and best == candidates[-1]:
        reason += f" {best} is the largest number that was tried: there may be more clusters."
    values = found.looks[0].values
    return KSelection(
        best, BY_NEIGHBORS, values, log_gaps(np.append(values, 0.0)), reason,
        columns=columns | found.criteria(settings.names), runner_up=runner_up, choices=choices,
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


# ---- against data without clusters ------------------------------------------------------------


@dataclass(frozen=True)
class _Reference:
    data: np.ndarray
    shape: SmoothShape | None  # what the reference is drawn from; None for the data themselves
    generator: EnsembleGenerator
    settings: _Settings
    seed: SeedSequence


def _against_references(
    found: KSelection,
    features: Any,
    settings: _Settings,
    how: tuple[EnsembleGenerator, int, SeedSequence],
    n_jobs: int | None,
) -> KSelection:
    """Compare every criterion with those of data without clusters, and ask whether there are any.

    A sample of the data is clustered anew in just the same way, because criteria depend on the
    number of points.
    """
    generator, count, seed = how
    picking, own, testing, *seeds = seed.spawn(count + 3)
    verdict = structure_test(features, metric=settings.metric, random_state=testing, n_jobs=n_jobs)
    X = np.asarray(features, dtype=np.float64)
    if len(X) > _REFERENCE_POINTS:
        rng = np.random.default_rng(picking)
        X = X[np.sort(rng.choice(len(X), _REFERENCE_POINTS, replace=False))]
    ks = np.asarray(found.columns["k"])
    ks = ks[ks < len(X) - 1]
    settings = replace(settings, ks=ks.tolist(), n_resamples=_REFERENCE_HALVES)
    shape = SmoothShape.of(X)
    tasks = [_Reference(X, None, generator, settings, own)]
    tasks += [_Reference(X, shape, generator, settings, s) for s in seeds]
    measured = parallel_map(_measured, tasks, n_jobs=n_jobs)
    columns: dict[str, np.ndarray] = {}
    for name, values in found.columns.items():
        columns[name] = values
        if name in measured[0]:
            theirs = np.array([one[name] for one in measured[1:]])
            columns |= _beside(name, measured[0][name], theirs, values.size)
    if "gap" in columns:
        columns["gap"] = _padded(measured[0]["gap"], columns["k"].size) - columns["gap_null"]
    return _with_verdict(replace(found, columns=columns), measured, verdict)


def _measured(task: _Reference) -> dict[str, np.ndarray]:
    """Return the criteria of one dataset."""
    drawing, making, picking, cutting = task.seed.spawn(4)
    X = task.data
    if task.shape is not None:
        X = task.shape.reference(len(X), np.random.default_rng(drawing))
    made = clone(task.generator).set_params(random_state=making, progress=False, n_jobs=1)
    found = _cut(made.generate(X), X, task.settings, (picking, cutting), 1)
    kept = ("score", "separation_rise", "clearness_drop", "eigengap", "stability")
    columns = {name: values for name, values in found.columns().items() if name in kept}
    return columns | found.criteria(task.settings.names)


def _padded(values: np.ndarray, size: int) -> np.ndarray:
    """Return values with NaN for candidates that a sample is too small for."""
    return np.concatenate([values, np.full(size - values.size, np.nan)])


def _beside(name: str, ours: np.ndarray, theirs: np.ndarray, size: int) -> dict[str, np.ndarray]:
    """Return the mean of the references, and the share of them that are as good as the data."""
    found = {f"{name}_null": _padded(theirs.mean(axis=0), size)}
    larger = K_CRITERIA[name].larger if name in K_CRITERIA else True
    if larger is None:
        return found
    sign = 1.0 if larger else -1.0
    above = (sign * theirs >= sign * ours).sum(axis=0)
    p_value = np.where(np.isnan(ours), np.nan, (1 + above) / (1 + len(theirs)))
    return found | {f"{name}_p": _padded(p_value, size)}


def _with_verdict(
    found: KSelection, measured: list[dict[str, np.ndarray]], verdict: StructureVerdict
) -> KSelection:
    """Take one cluster where the data show no structure."""
    ours, *theirs = (float(one["score"].max()) for one in measured)
    above = sum(other >= ours for other in theirs)
    text = (
        f"{above} of {len(theirs)} datasets without clusters score as high "
        f"(p = {(1 + above) / (1 + len(theirs)):.2g})."
    )
    if verdict.found:
        return replace(
            found,
            reason=f"{found.reason} {text} The test for structure finds clusters "
            f"(p = {verdict.p_value:.2g}).",
        )
    return replace(
        found,
        n_clusters=1,
        criterion=BY_REFERENCES,
        reason="No evidence of clusters: the test for structure finds none "
        f"(p = {verdict.p_value:.2g}). {text} If there are clusters all the same: {found.reason}",
        runner_up=found.n_clusters,
    )
