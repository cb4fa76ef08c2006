"""SCA: the stochastic clustering algorithm, a Markov chain over co-association."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.labels import canonical
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import Choice, Flag, Integer, Null, Number, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined, ConsensusWarning
from clusterscape.combine.content_order import content_order
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.landmarks import draw_landmarks, extend
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.sca.chain import Chain, near_one
from clusterscape.combine.sca.evidence import (
    Evidence,
    Reading,
    describe,
    explicit_evidence,
    implicit_evidence,
)
from clusterscape.combine.sca.evolution import (
    Runs,
    Trajectory,
    by_appearance,
    follow,
    follow_jointly,
    most_frequent,
    variant_step,
    waiting_time,
)
from clusterscape.ensemble import Ensemble

__all__ = ["SCA", "Trajectory"]

_EXPLICIT_ROWS = 4000  # distinct rows up to which all similarities are formed
_LANDMARKS = 2000


@consensus_method(
    "sca", cost="n r per step (m^2 r up to 4,000 rows)", memory="n r + min(m, 4,000)^2"
)
class SCA(BaseConsensus):
    """Stochastic clustering: a Markov chain on the co-association; its eigenvalues count clusters.

    Co-association without its diagonal is scaled to a doubly stochastic matrix P (Sinkhorn-Knopp).
    The number of eigenvalues of P near 1 is the number of clusters, and a random distribution that
    evolves by P soon has nearly equal values inside each cluster. The degree to which the matrix
    falls into blocks is measured by zeta (see :func:`clusterscape.validate.near_decomposability`);
    where the median over the input partitions is too large, small similarities are zeroed.

    Parameters
    ----------
    n_clusters : int, optional
        Clusters of the consensus; by default the number of eigenvalues above their largest gap.
    zeta_threshold : float
        The median of zeta should be below this.
    zeroing : bool
        Raise a cut-off in steps of ``cutoff_step`` times the largest similarity until the median is
        below the threshold, and zero what is below the cut-off; every row keeps its largest
        entries. Nothing is zeroed when the similarities fall into pieces already, when no cut-off
        gets there (as with partitions much finer than the clusters), or when what is left falls
        into more than ``n_clusters`` pieces.
    cutoff_step : float
        Step of the cut-off.
    n_stable : int
        The evolution ends when this many partitions in a row are equal, that of the start not
        counted.
    max_iter : int
        Steps of the evolution at most.
    n_starts : int
        Random starting distributions.
    starts : {"auto", "vote", "consensus", "joint"}
        How several starts make one partition. Every start groups the points by cutting its sorted
        values at the largest gaps, and "vote" takes the most frequent partition, while "consensus"
        makes an ensemble of them and repeats the algorithm. "joint" follows all starts (at least
        ``n_clusters``) side by side and groups the points by k-means of their values in all of
        them, which does not cut off single points. "auto" takes the better of "vote" and "joint",
        measured by ``cost_``, and "joint" on more than 4,000 distinct rows.
    chain : {"auto", "plain", "lazy", "squared"}
        Step with P, (P + I) / 2 or P^2. "auto" is "plain" unless P has an eigenvalue so near -1
        that the evolution would alternate for longer than the clusters last; then it is "lazy".
    similarity : {"pairs", "counts"}
        Co-occurrences over co-samplings, or plain co-occurrences. They differ only where points
        are unsampled; "pairs" must then form all similarities of the rows or landmarks.
    diagonal : {"zero", "keep"}
        Whether a point is its own neighbour. A point that is together with nobody keeps its own.
    weighting, theta
        As in :class:`SEC`: with "eci" every co-occurrence counts the reliability of the cluster
        that the two points share, in the similarities, in zeta and in the extension of landmarks.
    max_clusters : int
        The largest number of clusters that ``n_clusters=None`` may find.
    landmarks : "auto", int or None
        With "auto", when there are more than 4,000 distinct rows, zeta and eigenvalues are measured
        and zeroing is tried on 2,000 landmarks, drawn by weight. If nothing is to be zeroed the
        chain runs on all rows, by products with B; if something is, it runs on the landmarks, and
        the other points go to the landmark cluster with which they have the largest mean
        co-association. An integer sets the number of landmarks, which are then used whenever there
        are more distinct rows. None: never; zeta is taken over all rows, at O(n r) per partition.
    random_state : int, generator or None
        Seed of landmarks and starts.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size; -1 for points in no partition's cluster,
        and for points that share no cluster with any landmark.
    n_clusters_ : int
        Clusters found.
    cost_ : float
        Normalised cut of the chain: the chance to leave a cluster in one step, summed over
        clusters. On the landmarks, when they were used.
    zeta_, zeta_before_ : float
        Median of zeta over the input partitions, after and before zeroing.
    zetas_ : (r,) array
        zeta of each partition that was used, after zeroing.
    n_zeta_rows_ : int
        Distinct rows on which zeta was measured.
    cutoff_ : float
        Similarities below it were zeroed; 0 when none was.
    n_components_ : int
        Connected components of the similarities.
    added_constant_ : float
        What Sinkhorn-Knopp had to add to every similarity; 0 as a rule.
    eigenvalues_ : array
        Leading eigenvalues of P. With ``landmarks="auto"`` and more than 4,000 distinct rows they
        are those of the landmarks' chain, and so is the number of clusters found.
    rule_ : str
        What made the partition: "components", "vote", "consensus", "joint", or "none" where
        there was nothing to split.
    vote_ : float
        Share of the starts that led to the most frequent partition; NaN if none was voted on.
    chain_ : str
        "plain", "lazy" or "squared".
    n_iter_ : int
        Steps of the evolution behind the labels.
    trajectory_ : Trajectory or None
        The evolution from the first start, of 1,000 distinct rows at most.
    n_landmarks_ : int
        Landmarks that the chain ran on; 0 when it ran on all rows.
    landmark_agreement_ : float
        Share of the landmarks that the others would put into their cluster; NaN without landmarks.

    See Also
    --------
    evolve : The evolution of a given chain.
    clusterscape.validate.near_decomposability : The ratio zeta.
    SpectralConsensus : Eigenvectors instead of the evolution.

    Notes
    -----
    The paper's rule (largest gaps) is fragile on many points: one that lags behind makes a cluster
    of its own, hence "joint". The number of clusters depends strongly on the zeroing step; look at
    ``eigenvalues_`` and ``zeta_before_``. When the similarities fall into as many connected
    components as clusters are sought, these are returned directly. Noise is together with nobody.
    Points with the same row evolve as one. The random starts go with what the rows say, so that
    the order of the points does not matter, except among rows that nothing tells apart and with
    soft partitions. Memory grows with n r.

    References
    ----------
    .. [1] C. D. Meyer and C. D. Wessell, "Stochastic data clustering", SIAM Journal on Matrix
       Analysis and Applications 33, 1214-1236, 2012. doi:10.1137/100804395

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import SCA
    >>> runs = [[0, 0, 0, 1, 1, 1]] * 4 + [[0, 0, 1, 1, 1, 1]]
    >>> model = SCA(random_state=0).fit(Ensemble.from_labels(runs))
    >>> model.labels_, model.eigenvalues_[:3].round(2)
    (array([0, 0, 0, 1, 1, 1]), array([ 1.  ,  0.86, -0.32]))
    """

    _source: ClassVar[str] = "Meyer and Wessell 2012"
    _distinct = True
    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1)],
        "zeta_threshold": [Number(0, 1, open_low=True)],
        "zeroing": [Flag()],
        "cutoff_step": [Number(0.001, 1)],
        "n_stable": [Integer(1)],
        "max_iter": [Integer(1)],
        "n_starts": [Integer(1)],
        "starts": [Choice("auto", "vote", "consensus", "joint")],
        "chain": [Choice("auto", "plain", "lazy", "squared")],
        "similarity": [Choice("pairs", "counts")],
        "diagonal": [Choice("zero", "keep")],
        **WEIGHTING,
        "max_clusters": [Integer(1)],
        "landmarks": [Null(), Choice("auto"), Integer(2)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        zeta_threshold: float = 0.5,
        zeroing: bool = True,
        cutoff_step: float = 0.01,
        n_stable: int = 3,
        max_iter: int = 1000,
        n_starts: int = 10,
        starts: Literal["auto", "vote", "consensus", "joint"] = "auto",
        chain: Literal["auto", "plain", "lazy", "squared"] = "auto",
        similarity: Literal["pairs", "counts"] = "pairs",
        diagonal: Literal["zero", "keep"] = "zero",
        weighting: Weighting = None,
        theta: float = 0.4,
        max_clusters: int = 30,
        landmarks: Literal["auto"] | int | None = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.zeta_threshold = zeta_threshold
        self.zeroing = zeroing
        self.cutoff_step = cutoff_step
        self.n_stable = n_stable
        self.max_iter = max_iter
        self.n_starts = n_starts
        self.starts = starts
        self.chain = chain
        self.similarity = similarity
        self.diagonal = diagonal
        self.weighting = weighting
        self.theta = theta
        self.max_clusters = max_clusters
        self.landmarks = landmarks
        self.random_state = random_state

    def k_rule(self) -> str:
        """Return the rule by which the number of clusters is found, as the estimator is set."""
        if self.n_clusters is not None:
            return f"n_clusters={self.n_clusters} of SCA"
        return "largest gap between the eigenvalues of the scaled co-association"

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        small, inverse = ensemble.compress()
        if not small.is_soft:  # starts are drawn for rows as they are, not as they are listed
            order = content_order(small)
            small = small.subset(order, keep_empty=True)
            place = np.empty_like(order)
            place[order] = np.arange(order.size)
            inverse = place[inverse]
        drawing, evolving = spawn(self.random_state, 2)
        column = None
        if self.weighting is not None:
            column = column_weights(ensemble, self.weighting, self.theta)
        with one_thread():  # sums in the same order on every machine
            found = self._solve(small, self._reading(column), drawing, evolving)
        labels = found.labels[inverse]
        details = dict(found.details)
        path = details["trajectory_"]
        if path is not None:
            points = np.unique(inverse, return_index=True)[1][path.points]
            numbered = canonical(labels, ensemble.sample_weight)  # as ``fit`` will number them
            details["trajectory_"] = replace(path, points=points, labels=numbered[points])
        return Combined(labels, found.cost, details)

    def _of_points(self, details: Mapping[str, Any], points: np.ndarray) -> Mapping[str, Any]:
        path = details["trajectory_"]
        if path is None:
            return details
        return {**details, "trajectory_": replace(path, points=points[path.points])}

    def _reading(self, column: np.ndarray | None) -> Reading:
        return Reading(
            self.similarity,
            self.diagonal,
            zeroing=self.zeroing,
            threshold=self.zeta_threshold,
            step=self.cutoff_step,
            max_components=self.n_clusters,
            column=column,
        )

    def _solve(
        self, small: Ensemble, reading: Reading, drawing: SeedSequence, evolving: SeedSequence
    ) -> Combined:
        m = small.n_points
        forced = None if self.landmarks in (None, "auto") else int(self.landmarks)
        if m <= (_EXPLICIT_ROWS if forced is None else forced):
            return self._cluster(Chained.of(explicit_evidence(small, reading)), evolving)
        if self.landmarks is None:
            return self._without_landmarks(small, reading, evolving)
        marks, rows = draw_landmarks(small, min(forced or _LANDMARKS, m), drawing)
        sample = explicit_evidence(marks, reading)
        if forced is None and sample.cutoff == 0 and reading.is_implicit(small):
            known = Chain.of(sample).eigenvalues((self.n_clusters or self.max_clusters) + 1)
            chained = Chained.of(implicit_evidence(small, reading, sample), known)
            return self._cluster(chained, evolving)
        outcome = self._cluster(Chained.of(sample), evolving)
        labels, agreement = extend(
            small, rows, outcome.labels, weights=marks.sample_weight, column=reading.column
        )
        path = outcome.details["trajectory_"]
        details = {
            "n_landmarks_": rows.size,
            "landmark_agreement_": agreement,
            "trajectory_": None if path is None else replace(path, points=rows[path.points]),
        }
        return Combined(labels, outcome.cost, {**outcome.details, **details})

    def _without_landmarks(
        self, small: Ensemble, reading: Reading, evolving: SeedSequence
    ) -> Combined:
        evidence = None
        if reading.is_implicit(small):
            evidence = implicit_evidence(small, reading, None)
        if evidence is None or (self.zeroing and not reading.is_low(evidence.zeta_before)):
            reason = (
                "similarity='pairs' with unsampled points forms"
                if evidence is None
                else f"zeta is {evidence.zeta_before:.2f}, so small similarities would be zeroed, "
                "which takes"
            )
            raise ValueError(
                f"landmarks=None, but {reason} the similarities of {small.n_points:,} distinct "
                f"rows (the limit is {_EXPLICIT_ROWS:,}). Use landmarks='auto', or zeroing=False "
                "with similarity='counts'."
            )
        return self._cluster(Chained.of(evidence), evolving)

    def _cluster(self, chained: Chained, seed: SeedSequence) -> Combined:
        """Count the clusters of a chain, and find them."""
        evidence, chain = chained.evidence, chained.chain
        m = chain.weights.size
        eigenvalues = chained.eigenvalues
        if eigenvalues is None:
            eigenvalues = chain.eigenvalues((self.n_clusters or self.max_clusters) + 1)
        k = self.n_clusters
        if k is None:
            k = max(near_one(eigenvalues, self.max_clusters), evidence.n_components)
        details = describe(evidence) | {
            "added_constant_": chain.scaling.added_constant,
            "eigenvalues_": eigenvalues,
            "vote_": np.nan,
            "chain_": "plain",
            "n_iter_": 0,
            "trajectory_": None,
            "n_landmarks_": 0,
            "landmark_agreement_": np.nan,
        }
        if k >= m or k == 1:
            groups = np.zeros(m, dtype=np.int64) if k == 1 else np.arange(m)
            details["rule_"] = "none"
        elif k == evidence.n_components:  # also where a constant had to join them for the scaling
            groups = evidence.component
            details["rule_"] = "components"
        else:
            if k < evidence.n_components:
                warnings.warn(
                    f"SCA: the partitions fall into {evidence.n_components} groups of points that "
                    f"no partition connects; n_clusters={k} joins some of them arbitrarily.",
                    ConsensusWarning,
                    stacklevel=5,
                )
            groups, more = self._evolve(chain, k, eigenvalues, seed)
            details |= more
        return Combined(groups, chain.escape(groups), details)

    def _evolve(
        self, chain: Chain, k: int, eigenvalues: np.ndarray, seed: SeedSequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        variant = self.chain
        if variant == "auto":
            slowest = float(eigenvalues[k - 1]) if len(eigenvalues) >= k else 0.0
            variant = "lazy" if chain.swings(max(slowest, 1e-3)) else "plain"
        drawing, grouping, again = seed.spawn(3)
        m = chain.weights.size
        rule = self.starts
        if rule == "auto" and m > _EXPLICIT_ROWS:
            rule = "joint"
        n_starts = self.n_starts if rule in ("vote", "consensus") else max(self.n_starts, k)
        starts = np.random.default_rng(drawing).random((m, n_starts))
        starts /= chain.weights @ starts
        step = variant_step(chain.product, variant)
        common = {"n_clusters": k, "n_stable": self.n_stable, "max_iter": self.max_iter}
        found: dict[str, tuple[np.ndarray, Runs, int]] = {}
        vote = np.nan
        if rule != "joint":
            runs = follow(step, starts[:, : self.n_starts], chain.weights, **common)
            groups, vote, best = most_frequent(runs, chain.escape)
            found["vote"] = (groups, runs, best)
            if rule == "consensus":
                found = {"consensus": (self._again(runs, chain, k, again), runs, best)}
        if rule in ("joint", "auto"):
            wait = waiting_time(eigenvalues, k, variant)
            runs = follow_jointly(step, starts, chain.weights, wait=wait, seed=grouping, **common)
            found["joint"] = (runs.groups[0], runs, 0)
        name = next(iter(found))
        if len(found) > 1:
            name = min(found, key=lambda rule: _rank(chain, found[rule][0], k))
        groups, runs, best = found[name]
        if not runs.stable[best]:
            warnings.warn(
                f"SCA: the partition was not yet stable after max_iter={self.max_iter} steps; "
                "raise max_iter, or look at trajectory_.",
                ConsensusWarning,
                stacklevel=5,
            )
        return groups, {
            "rule_": name,
            "vote_": vote,
            "chain_": variant,
            "n_iter_": int(runs.n_iter[best]),
            "trajectory_": runs.trajectory,
        }

    def _again(self, runs: Runs, chain: Chain, k: int, seed: SeedSequence) -> np.ndarray:
        """Combine the partitions of the starts by the same algorithm."""
        chosen = [g for g, ok in zip(runs.groups, runs.stable, strict=True) if ok] or runs.groups
        votes = Ensemble.from_labels(chosen, orient="rows", sample_weight=chain.weights)
        params = self.get_params() | {"n_clusters": k, "starts": "vote", "random_state": seed}
        labels = type(self)(**params).fit(votes).labels_
        return by_appearance(labels)


def _rank(chain: Chain, groups: np.ndarray, k: int) -> tuple[bool, float]:
    """Partitions with the number of groups asked for come first, then those that leak least."""
    return int(groups.max()) + 1 < k, round(chain.escape(groups), 9)


@dataclass(frozen=True)
class Chained:
    """Evidence, its chain, and eigenvalues where they are known already."""

    evidence: Evidence
    chain: Chain
    eigenvalues: np.ndarray | None

    @classmethod
    def of(cls, evidence: Evidence, eigenvalues: np.ndarray | None = None) -> Chained:
        """Scale the similarities to a chain."""
        return cls(evidence, Chain.of(evidence), eigenvalues)
