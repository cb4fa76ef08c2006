"""Several consensuses of one ensemble, and the choice among them without known classes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np

from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import Choice, Integer, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined, ConsensusWarning
from clusterscape.combine.blocked import BlockedCombined, MemberRule, RowRule, TransferRule
from clusterscape.combine.eac import EAC
from clusterscape.combine.lwea import LWEA
from clusterscape.combine.lwgp import LWGP
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.compare import adjusted_rand
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.linalg.components import shared_components
from clusterscape.linalg.dunn_owa import NeighborEdges, neighbor_edges
from clusterscape.linalg.gaussian_fit import gaussian_fit, leading_components

_FEWEST = 3  # partitions that make a group of their own
_GAP = "SMin:25"  # a smooth minimum over the 75 shortest links between clusters
_REACHABILITY = 5
_BALANCE, _EMPTY = 0.5, 0.2  # weight of the smallest cluster's share, and what it is raised by
_AGREEMENT = 1.5  # weight of the mean adjusted Rand index with the other candidates
_FINER, _EXACT = "finer", "with k"  # groups of partitions
_OF_KIND = f" {_EXACT}"  # ends the names of groups of one kind with k clusters
_FLOOR = 1e-3  # of the mean distance of neighbours: shorter gaps are equally bad


@dataclass(frozen=True)
class Judgement:
    """The scores of a candidate; the larger, the better.

    Attributes
    ----------
    score : float
        ``density + gap + balance + 3 agreement / 2``, or the agreement alone where there are no
        features.
    density : float or None
        Mean log-likelihood of the points under one Gaussian for each cluster.
    gap : float or None
        Logarithm of the distance between clusters: a smooth minimum over the shortest links of
        near neighbours in different clusters.
    balance : float or None
        Half the logarithm of the smallest cluster's size, as a share of the mean size.
    agreement : float
        Mean adjusted Rand index with the other candidates; 1 if there is no other.
    n_clusters : int
        Clusters of the candidate.
    """

    score: float
    density: float | None
    gap: float | None
    balance: float | None
    agreement: float
    n_clusters: int


@consensus_method(
    "consensus_choice",
    cost="n r K; n r^2 and the near neighbours on at most l = max_points points",
    memory="n r + l^2 + D^2",
)
class ConsensusChoice(BaseConsensus):
    """The best of several consensuses of one ensemble, by density, gaps and balance of clusters.

    No consensus is best on all data. Partitions finer than the answer show the shapes of clusters,
    because their pieces follow them; partitions with just k clusters agree on clusters that
    overlap; and on some data one kind of members is right where the others are not. So the finer
    partitions, those with k clusters, and the same of every kind of members are combined apart, and
    the features decide among the answers. Of one kind with k clusters whose members have a cost,
    mixtures and k-means, no consensus is made: they are restarts, and the best member by the sum of
    the first three terms below is taken. The answer is taken that has the largest sum of four
    terms. The first three are logarithms, so that the unit of the features does not matter:

    - *density*: the mean log-likelihood of the points under one Gaussian for each cluster, in the
      leading principal components (at most 30). Columns count as no more exact than the gaps
      between their values (:func:`~clusterscape.linalg.gaussian_fit.rounding_variances`), so that
      a few rows with another value in a constant column make no cluster;
    - *gap*: the logarithm of the DuNN-OWA index, the distance between the nearest points of
      different clusters (a smooth minimum, under mutual reachability);
    - *balance*: half the logarithm of the smallest cluster's size over the mean size, plus 0.2,
      against clusters of outliers;
    - *agreement*: one and a half times the mean adjusted Rand index with the other answers, which
      decides where clusters overlap and the first three hardly differ.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    n_neighbors : int
        Near neighbours of each point that the gap is looked for among.
    metric : {"euclidean", "cosine"}
        Distance of the features; "cosine" judges rows of unit length.
    max_points : int
        Of more points than this the candidates are made and judged on a random sample of so many.
        The others then join the cluster that their labels in all partitions make likeliest, as new
        points do (:class:`~clusterscape.combine.transfer.LabelTransfer`).
    theta : float
        Of the weights of the clusters, as in :class:`LWGP`.
    random_state : int, generator or None
        Seed of the starts and of the sample.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Minus the score of the answer.
    chosen_ : str
        The candidate that was taken: partitions and method, such as "finer, lwgp" or
        "gmm with k, best".
    runner_up_ : str or None
        The candidate with the next best score among those with another partition; None where all
        candidates are the same.
    agreement_ : float
        Adjusted Rand index of these two: near 1, the choice made no difference.
    candidates_ : dict of str to Judgement
        All candidates by descending score, with their scores.
    candidate_labels_ : (l, c) array
        Their labels, in the same order, for the points of ``sample_``.
    sample_ : (l,) array
        Points on which the candidates were made and judged: all that are in a cluster of some
        partition, counted without the others, or ``max_points`` of them.
    criterion_ : {"features", "agreement", "no choice"}
        What chose.

    See Also
    --------
    LWGP : What combines most of the groups.
    LWEA : Combines the partitions with k clusters.
    EAC : Combines the finer partitions a second time, with Genie linkage.

    Notes
    -----
    Without features the candidate is taken that agrees best with the others (mean adjusted Rand
    index). Candidates with fewer clusters than the most are left out, and those with a cluster of
    one point unless all have one. A group needs three partitions, with every point in a cluster of
    one; without any such group, as where all partitions are coarser than k, all partitions are
    combined. Members of one kind, or partitions without records, make the groups "finer" and
    "with k" only. Finer partitions that leave more than k groups of points apart do not say which
    of these belong together, so the partitions with k clusters are combined with them.

    The terms assume that clusters are dense or apart. Where classes are neither, no rule without
    labels finds them. A true cluster much smaller than the others costs balance and must make up
    for it by its gap. Weights of the points count in density and balance, not in the gap.

    The terms were chosen on the sets of ``benchmarks/quality/candidates.py``. On 140 other sets,
    most of them tables of measurements, the choice is no better than agreement alone
    (``benchmarks/RESULTS.md``, "fresh sets"); on thin and nested shapes it is much better.

    References
    ----------
    .. [1] D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE
       Transactions on Cybernetics 48, 1460-1473, 2018. doi:10.1109/TCYB.2017.2702343
    .. [2] M. Gagolewski, M. Bartoszuk and A. Cena, "Are cluster validity measures (in)valid?",
       Information Sciences 581, 620-636, 2021. doi:10.1016/j.ins.2021.10.004
    .. [3] M. J. Symons, "Clustering criteria and multivariate normal mixtures", Biometrics 37,
       35-43, 1981. doi:10.2307/2530520

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from clusterscape.combine import ConsensusChoice
    >>> from clusterscape.compare import adjusted_rand
    >>> from clusterscape.generate import diverse
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> ensemble = diverse(40, n_clusters=2, random_state=0).generate(X)
    >>> model = ConsensusChoice(2, random_state=0).fit(ensemble, features=X)
    >>> adjusted_rand(model.labels_, y)
    1.0
    >>> model.criterion_
    'features'
    """

    _source: ClassVar[str] = "this package, on Huang, Wang and Lai 2018"
    _features: ClassVar[Literal["none", "used", "needed"]] = "used"
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "n_neighbors": [Integer(1)],
        "metric": [Choice("euclidean", "cosine")],
        "max_points": [Integer(2)],
        "theta": [Number(0, open_low=True)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_neighbors: int = 25,
        metric: Literal["euclidean", "cosine"] = "euclidean",
        max_points: int = 3000,
        theta: float = 0.4,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.max_points = max_points
        self.theta = theta
        self.random_state = random_state

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        combining, sampling = spawn(self.random_state, 2)
        rows = self._rows(ensemble.n_points, sampling)
        choice = self._choose(ensemble, features, rows, combining)
        found = choice.labels
        if rows is not None and choice.member is not None:
            found = ensemble.labels[:, choice.member]
        elif rows is not None:
            found = _extended(found, rows, ensemble)
        return Combined(found, choice.cost, choice.details)

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        combining, sampling = spawn(self.random_state, 2)
        rows = self._rows(ensemble.n_points, sampling)
        rows = np.arange(ensemble.n_points) if rows is None else rows
        placed = ensemble.subset(rows, keep_empty=True).in_clusters()
        rows = rows[placed]
        choice = self._choose(ensemble, features, rows, combining)
        rule: RowRule
        if choice.member is not None:
            rule = MemberRule(choice.member, int(ensemble.n_clusters[choice.member]))
        else:
            rule = TransferRule(_transfer(choice.labels, rows, ensemble), rows, choice.labels)
        return BlockedCombined(rule, choice.cost, choice.details)

    def _choose(
        self,
        ensemble: Ensemble,
        features: Any,
        rows: np.ndarray | None,
        combining: np.random.SeedSequence,
    ) -> _Choice:
        """Return the best candidate on the points of the sample."""
        groups = self._groups(ensemble)
        sample = ensemble if rows is None else ensemble.subset(rows)
        if features is not None and rows is not None:
            features = features[rows]
        view = None
        if features is not None and features.shape[0] > 1:
            view = _View(features, sample.sample_weight, self.n_neighbors, self.metric)
        labels, members = self._candidates(groups, sample, combining, view)
        same = _agreements(list(labels.values()))
        judged = self._judged(labels, same, view)
        order = sorted(judged, key=lambda name: -judged[name].score)
        chosen = order[0]
        with_chosen = dict(zip(labels, same[list(labels).index(chosen)].tolist(), strict=True))
        alike = {name: with_chosen[name] for name in order[1:]}
        others = [name for name in alike if alike[name] < 1]
        criterion = "agreement" if features is None else "features"
        details = {
            "chosen_": chosen,
            "runner_up_": others[0] if others else None,
            "agreement_": alike[others[0]] if others else 1.0,
            "candidates_": {name: judged[name] for name in order},
            "candidate_labels_": np.column_stack([labels[name] for name in order]),
            "criterion_": criterion if others else "no choice",
            "sample_": np.arange(ensemble.n_points) if rows is None else rows,
        }
        return _Choice(labels[chosen], members.get(chosen), -judged[chosen].score, details)

    def _groups(self, ensemble: Ensemble) -> dict[str, np.ndarray]:
        """Return the partitions that are combined together, by the name of the group."""
        counts, k = ensemble.n_clusters, self.n_clusters
        kinds = np.array([record.algorithm or "" for record in ensemble.records])
        found = {_FINER: counts > k, _EXACT: counts == k}
        if len(set(kinds)) > 1:
            for kind in sorted(set(kinds) - {""}):
                found[f"{_FINER} {kind}"] = (counts > k) & (kinds == kind)
                found[f"{kind} {_EXACT}"] = (counts == k) & (kinds == kind)
        groups = {name: np.flatnonzero(which) for name, which in found.items()}
        whole = ensemble.is_complete and not ensemble.has_noise  # nothing to look for

        def covers(which: np.ndarray) -> bool:
            if whole:
                return True
            if isinstance(ensemble, BlockedEnsemble):
                return all(ensemble.blocks.workers.map(_covered, ensemble.blocks, (which,)))
            return bool((ensemble.labels[:, which] >= 0).any(axis=1).all())

        kept = {
            name: which for name, which in groups.items() if which.size >= _FEWEST and covers(which)
        }
        # One cluster needs no choice.
        return kept if kept and k > 1 else {"all": np.arange(ensemble.n_partitions)}

    def _rows(self, n: int, seed: np.random.SeedSequence) -> np.ndarray | None:
        """Return the points of the sample, None for all."""
        most = max(self.max_points, self.n_clusters)
        if n <= most:
            return None
        return np.sort(np.random.default_rng(seed).choice(n, most, replace=False))

    def _candidates(
        self,
        groups: Mapping[str, np.ndarray],
        sample: Ensemble,
        seed: np.random.SeedSequence,
        view: _View | None,
    ) -> tuple[dict[str, np.ndarray], dict[str, int]]:
        """Return the labels of every candidate, and which of them are single members.

        Those with fewer clusters than the most are left out, and those with a cluster of one point
        where others have none.
        """
        k, theta = self.n_clusters, self.theta
        made: dict[str, np.ndarray] = {}
        members: dict[str, int] = {}
        waiting: dict[str, tuple[BaseConsensus, Ensemble]] = {}
        for name, which in groups.items():
            part = self._decided(name, which, groups, sample)
            best = _best_member(part, view) if name.endswith(_OF_KIND) else None
            if best is not None:
                made[f"{name}, best"] = part.labels[:, best].astype(np.int64)
                members[f"{name}, best"] = int(which[best])
                continue
            waiting[f"{name}, lwgp"] = LWGP(k, theta=theta, random_state=seed), part
            if name == _FINER:
                waiting[f"{name}, genie"] = (
                    EAC(k, linkage="genie", weighting="eci", theta=theta),
                    part,
                )
            if name == _EXACT:
                waiting[f"{name}, lwea"] = LWEA(k, theta=theta), part
        with warnings.catch_warnings():
            # Fewer clusters are a candidate's own fault; if all have fewer, fit says so.
            warnings.simplefilter("ignore", ConsensusWarning)
            found = parallel_map(_labels_of, list(waiting.values()))
        made |= dict(zip(waiting, found, strict=True))
        most = max(_n_clusters(labels) for labels in made.values())
        kept = {name: labels for name, labels in made.items() if _n_clusters(labels) == most}
        shared = {name: labels for name, labels in kept.items() if not _has_single(labels)}
        return shared or kept, members

    def _decided(
        self, name: str, which: np.ndarray, groups: Mapping[str, np.ndarray], sample: Ensemble
    ) -> Ensemble:
        """Return the partitions of a group, with those that have k clusters where they are needed.

        Where finer partitions leave more than k groups of points that none of them joins, every
        way to join the groups costs the same. Those with k clusters say which belong together.
        """
        part = sample.select(which)
        if not name.startswith(_FINER) or _EXACT not in groups or part.is_soft:
            return part
        if shared_components(part.membership().matrix)[0] <= self.n_clusters:
            return part
        return sample.select(np.sort(np.concatenate([which, groups[_EXACT]])))

    def _judged(
        self, labels: Mapping[str, np.ndarray], same: np.ndarray, view: _View | None
    ) -> dict[str, Judgement]:
        """Return the scores of each candidate."""
        names = list(labels)
        others = max(len(names) - 1, 1)
        agreement = dict(zip(names, (same.sum(axis=1) - 1) / others, strict=True))
        if len(names) == 1:
            agreement = {names[0]: 1.0}
        if view is None or len(names) == 1:
            return {
                name: Judgement(float(a), None, None, None, float(a), _n_clusters(labels[name]))
                for name, a in agreement.items()
            }
        judged = {}
        for name, found in labels.items():
            density, gap, balance = view.terms(found)
            same_as_others = float(agreement[name])
            score = density + gap + balance + _AGREEMENT * same_as_others
            judged[name] = Judgement(
                score, density, gap, balance, same_as_others, _n_clusters(found)
            )
        return judged


@dataclass(frozen=True)
class _Choice:
    """The best candidate: its labels on the sample, and its place where it is a single member."""

    labels: np.ndarray
    member: int | None
    cost: float
    details: dict[str, Any]


class _View:
    """The features as the terms of a candidate see them."""

    def __init__(self, features: Any, weight: np.ndarray, n_neighbors: int, metric: Any) -> None:
        self.weight = weight
        self.metric = metric
        self.edges = neighbor_edges(
            features, n_neighbors=n_neighbors, metric=metric, reachability=_REACHABILITY
        )
        self.columns, self.rounding = leading_components(features, metric=metric)

    def terms(self, labels: np.ndarray) -> tuple[float, float, float]:
        """Return density, gap and balance of a partition."""
        density = gaussian_fit(
            self.columns, labels, rounding=self.rounding, sample_weight=self.weight
        )
        return density, _gap(self.edges, labels, self.metric), _balance(labels, self.weight)


def _labels_of(task: tuple[BaseConsensus, Ensemble]) -> np.ndarray:
    method, part = task
    return method.fit(part).labels_


def _covered(i: int, labels: np.ndarray, which: np.ndarray) -> bool:
    return bool((labels[:, which] >= 0).any(axis=1).all())


def _extended(labels: np.ndarray, rows: np.ndarray, ensemble: Ensemble) -> np.ndarray:
    """Return the clusters of all points by those of the sample."""
    found = _transfer(labels, rows, ensemble).predict(ensemble.labels)
    found[rows] = labels
    return found


def _transfer(labels: np.ndarray, rows: np.ndarray, ensemble: Ensemble) -> LabelTransfer:
    """Return what gives all points clusters by those of the sample, through all partitions."""
    return LabelTransfer.of(ensemble.subset(rows, keep_empty=True), labels)


def _best_member(part: Ensemble, view: _View | None) -> int | None:
    """Return the best member by the terms; by its cost on angles, and where there are no features.

    Mixtures differ in their form, so that their costs do not compare. On angles all restarts have
    one objective, and one Gaussian for each cluster is a poor model of unit vectors.

    None where members have no cost or miss points. Members of one kind with the same number of
    clusters are restarts. The best of them hardly depends on the seed, as the consensus of good and
    bad ones does.
    """
    costs = [record.cost for record in part.records]
    whole = not part.is_soft and bool(part.labels.min(initial=0) >= 0)
    if not whole or any(cost is None for cost in costs):
        return None
    if view is None or view.metric == "cosine":
        return int(np.argmin(np.array(costs, dtype=np.float64)))
    scores = [(not _has_single(labels), sum(view.terms(labels))) for labels in part.labels.T]
    return max(range(len(scores)), key=lambda i: scores[i])


def _n_clusters(labels: np.ndarray) -> int:
    return int(labels.max()) + 1


def _has_single(labels: np.ndarray) -> bool:
    """Say whether some cluster is one point, which is far from the others but no group."""
    return bool((np.bincount(labels[labels >= 0]) == 1).any())


def _agreements(labels: Sequence[np.ndarray]) -> np.ndarray:
    """Return the adjusted Rand index of every two candidates."""
    same = np.ones((len(labels), len(labels)))
    for i, j in combinations(range(len(labels)), 2):
        same[i, j] = same[j, i] = float(adjusted_rand(labels[j], labels[i]))
    return same


def _gap(edges: NeighborEdges, labels: np.ndarray, metric: str) -> float:
    """Return the logarithm of the distance between clusters."""
    found = edges.dunn_owa(labels, numerator=_GAP, smallest=0)
    mean = float(edges.distances.mean())
    if mean == 0:  # all points are equal
        return 0.0
    # Nothing is known of gaps wider than the longest link.
    found = float(np.clip(found, _FLOOR * mean, edges.distances[-1]))
    # 1 - cosine is half of the squared distance of rows of unit length.
    return float(np.log(2 * found) / 2 if metric == "cosine" else np.log(found))


def _balance(labels: np.ndarray, weight: np.ndarray) -> float:
    sizes = np.bincount(labels[labels >= 0], weights=weight[labels >= 0])
    return float(_BALANCE * np.log(sizes.min() / sizes.mean() + _EMPTY))
