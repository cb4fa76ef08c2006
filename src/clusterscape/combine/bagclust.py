"""BagClust: votes of matched bootstrap clusterings, or medoids of how often points were apart."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import check_array

from clusterscape import kernels
from clusterscape._core.errors import MemoryLimitError
from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.labels import UNSAMPLED, canonical
from clusterscape._core.params import Choice, Integer, Null, Number, Rules, Seed, Such, check_params
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import (
    WEIGHTING,
    Weighting,
    column_weights,
    weighted_counts,
    with_weighted_columns,
)
from clusterscape.combine.registry import consensus_method
from clusterscape.combine.sec import SEC
from clusterscape.compare import pairwise
from clusterscape.compare.tables import check_same_points
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.ensemble.ensemble import ids_or_count, refuse_ensemble
from clusterscape.ensemble.inputs import read_partition
from clusterscape.linalg.kmeans import kmeans

_DOUBLE_PRECISION = 5_000


@consensus_method(
    "bagclust",
    cost="n r K + r^2 comparisons (variant 2: m^2 r)",
    memory="n (r + K) (variant 2: m^2)",
)
class BagClust(BaseConsensus):
    """Bagged clustering: bootstrap partitions vote after matching, or define a dissimilarity.

    :func:`clusterscape.generate.bagging` makes such ensembles; a point that a bootstrap did not
    draw is unsampled in it and has no vote there.

    Variant 1 renames the clusters of every partition after those of a reference partition, so that
    they share as much weight as possible (the Hungarian method), and lets the drawn points vote.
    Variant 2 clusters the points by the dissimilarity 1 - s/m, where m counts the partitions that
    drew both points and s those that put them together.

    Parameters
    ----------
    n_clusters : int
        Clusters of the consensus.
    variant : {1, 2}
        Votes, or dissimilarities.
    reference : (n,) array, optional
        Labels of all points for variant 1 to match with. None takes, in this order: k-means of
        ``features``, when ``fit`` is given them; of the partitions with ``n_clusters`` clusters
        the one that agrees best with the others by the Rand index; the consensus of :class:`SEC`
        when there is none. ``reference_source_`` says which.
    assign : {"pam", "kmeans"}
        How variant 2 clusters: medoids of the dissimilarity, as the authors do, or k-means on the
        rows of its matrix.
    weighting, theta
        As in :class:`SEC`. With "eci" a vote, or a co-occurrence in s, counts the reliability of
        the cluster that it comes from; the matching does not. In variant 2 points with equal labels
        keep the dissimilarity 0.
    n_init : int
        Starts of k-means.
    max_iter : int
        Sweeps of the medoids' exchange, or iterations of k-means.
    max_gb : float
        Variant 2 refuses when its matrix would take more memory than this.
    random_state : int, generator or None
        Seed of k-means and of SEC. Matching, voting and medoids draw nothing.

    Attributes
    ----------
    labels_ : (n,) array
        Cluster of each point, numbered by decreasing size. In variant 1 a point that was never
        drawn keeps its cluster of the reference, if that covers it; other points in no cluster of
        any partition get -1.
    n_clusters_ : int
        Clusters found.
    vote_share_ : (n,) array
        Variant 1: share of a point's votes that its cluster got; 0 where nobody voted.
    membership_ : (n, K) array
        Variant 1: shares of the votes.
    reference_source_ : str
        Variant 1: "given", "kmeans", "input" or "sec".
    never_together_ : float
        Variant 2: pairs of points that no partition drew together. Their dissimilarity is 1.
    medoids_ : (K,) array
        Variant 2 with medoids: the points that stand for the clusters.
    cost_ : float or None
        Variant 2: sum of dissimilarities to the medoids, or the inertia of k-means.

    See Also
    --------
    clusterscape.generate.bagging : Bootstrap partitions.
    EAC : Linkage of the same dissimilarity.

    Notes
    -----
    When a partition has more clusters than the reference, those left over vote for the cluster
    with which they share most. Voting needs partitions with about as many clusters as the
    reference: clusters of very fine partitions match nothing well, and then variant 2 or
    :class:`EAC` is the better choice. Variant 2 takes time and memory that grow with the square of
    the number of distinct rows.

    References
    ----------
    .. [1] S. Dudoit and J. Fridlyand, "Bagging to improve the accuracy of a clustering procedure",
       Bioinformatics 19, 1090-1099, 2003. doi:10.1093/bioinformatics/btg038

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.combine import BagClust
    >>> draws = [[0, 0, -2, 1, 1], [1, 1, 1, 0, -2], [0, -2, 0, 1, 1], [0, 0, 1, 1, 1]]
    >>> model = BagClust(2).fit(Ensemble.from_labels(draws))
    >>> model.labels_
    array([0, 0, 0, 1, 1])
    >>> model.vote_share_.round(2)
    array([1.  , 1.  , 0.67, 1.  , 1.  ])
    """

    _features: ClassVar[Literal["none", "used", "needed"]] = "used"
    _source: ClassVar[str] = "Dudoit and Fridlyand 2003"

    medoids_: np.ndarray
    membership_: np.ndarray
    _number_of_reference: np.ndarray

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "variant": [
            Such(lambda v: Integer(1, 2).allows(v), "1 or 2", refused=[0, 3, 1.5, "one"]),
        ],
        "reference": [
            Null(),
            Such(lambda v: np.ndim(v) == 1 and len(v) > 0, "a vector of labels", [3, "abc"]),
        ],
        "assign": [Choice("pam", "kmeans")],
        **WEIGHTING,
        "n_init": [Integer(1)],
        "max_iter": [Integer(1)],
        "max_gb": [Number(0, open_low=True)],
        "random_state": [Seed()],
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        variant: Literal[1, 2] = 1,
        reference: Any = None,
        assign: Literal["pam", "kmeans"] = "pam",
        weighting: Weighting = None,
        theta: float = 0.4,
        n_init: int = 10,
        max_iter: int = 100,
        max_gb: float = 4.0,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.variant = variant
        self.reference = reference
        self.assign = assign
        self.weighting = weighting
        self.theta = theta
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_gb = max_gb
        self.random_state = random_state

    def fit(
        self, ensemble: Any, y: Any = None, *, features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Find the consensus of bootstrap partitions.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The partitions to combine.
        y : ignored
            Not used, present for API consistency.
        features : array, optional
            Feature matrix of the points; variant 1 makes its reference of it.
        sample_weight : (n,) array, optional
            Weights of the points; they replace the ensemble's own.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        whole = as_ensemble(ensemble)
        if sample_weight is not None:
            whole = whole.with_weights(sample_weight=sample_weight)
        reference = self._reference(whole, features) if self.variant == 1 else None
        # The reference goes the way of features, so that it loses the rows that the points lose.
        rider = None if reference is None else reference[:, None].astype(np.float64)
        super().fit(whole, features=rider)
        inside = (self.labels_ >= 0) & (whole.sample_weight > 0)
        if self.variant == 2:
            if self.assign == "pam":
                self.medoids_ = np.flatnonzero(inside)[self.medoids_]
            return self
        number = self._number_of_reference
        del self._number_of_reference
        labels = self.labels_
        if reference is not None:
            labels = _with_undrawn(whole, labels, reference, number)
        self.labels_ = canonical(labels, whole.sample_weight)
        self.n_clusters_ = int(self.labels_.max()) + 1
        votes = np.zeros((whole.n_points, self.n_clusters_))
        first = np.unique(labels[labels >= 0], return_index=True)[1]
        column = self.labels_[labels >= 0][first]  # of each cluster, as it was numbered before
        votes[np.ix_(inside, column[: self.membership_.shape[1]])] = self.membership_
        self.membership_ = votes
        self.vote_share_ = np.where(
            self.labels_ >= 0, votes[np.arange(whole.n_points), self.labels_], 0.0
        )
        return self

    def _reference(self, whole: Ensemble, features: Any) -> np.ndarray | None:
        """Return the reference over all points that comes from outside the ensemble, if any."""
        if self.reference is not None:
            part = read_partition(self.reference, "reference")
            if part.soft is not None or part.codes.size != whole.n_points:
                raise ValueError(
                    f"reference must be a label vector of the {whole.n_points} points; got "
                    f"{'a membership' if part.soft is not None else f'{part.codes.size} labels'}."
                )
            if part.n_clusters == 0:
                raise ValueError("reference has no cluster: all of it is noise or unsampled.")
            return np.maximum(canonical(part.codes), -1)
        if features is None:
            return None
        refuse_ensemble(features, "features")
        refuse_repeated_columns(features, "features")
        check_same_points(features, ids_or_count(whole))
        X = check_array(features, accept_sparse="csr", input_name="features")
        if X.shape[0] != whole.n_points:
            raise ValueError(
                f"features has {X.shape[0]} rows and the ensemble {whole.n_points} points; pass "
                "one row per point, in the same order."
            )
        found = kmeans(
            X,
            self.n_clusters,
            n_init=self.n_init,
            max_iter=self.max_iter,
            sample_weight=whole.sample_weight,
            seed=spawn(self.random_state, 2)[0],
        )
        return canonical(found.labels)

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        return self._dissimilar(ensemble) if self.variant == 2 else self._vote(ensemble, features)

    # -- variant 1 ----------------------------------------------------------------------------

    def _vote(self, ensemble: Ensemble, column: np.ndarray | None) -> Combined:
        if column is None:
            reference, source = self._inner_reference(ensemble)
        else:
            reference = column[:, 0].astype(np.int64)
            source = "given" if self.reference is not None else "kmeans"
        k = max(int(reference.max(initial=-1)) + 1, 1)
        operator = weighted_counts(ensemble, self.weighting, self.theta)
        hot = np.zeros((ensemble.n_points, k))
        inside = reference >= 0
        hot[inside, reference[inside]] = ensemble.sample_weight[inside]
        ballots = _matched(ensemble, operator.collect(hot))
        votes = operator.expand(ballots * operator.column_weights[:, None])
        most = votes.max(axis=1)
        tied = votes >= most[:, None] - 1e-9 * most[:, None]
        # A tie, and a point without votes, stay with the reference.
        own = inside & tied[np.arange(reference.size), reference]
        winner = np.where(own, reference, np.where(most > 0, tied.argmax(axis=1), -1))
        final = canonical(winner, ensemble.sample_weight)
        number = np.full(k, -1, dtype=np.int64)
        number[winner[winner >= 0]] = final[winner >= 0]
        kept = np.flatnonzero(number >= 0)
        shares = np.zeros((ensemble.n_points, kept.size))
        total = votes.sum(axis=1, keepdims=True)
        shares[:, number[kept]] = np.divide(
            votes[:, kept], total, out=np.zeros((total.size, kept.size)), where=total > 0
        )
        details = {
            "membership_": shares[winner >= 0],
            "reference_source_": source,
            "_number_of_reference": number,
        }
        return Combined(winner, details=details)

    def _inner_reference(self, ensemble: Ensemble) -> tuple[np.ndarray, str]:
        """Return a reference made of the ensemble itself, and what it is."""
        usable = np.flatnonzero(ensemble.n_clusters == self.n_clusters)
        if usable.size == 0:
            seed = spawn(self.random_state, 2)[1]
            return SEC(self.n_clusters, random_state=seed).fit(ensemble).labels_, "sec"
        likely = Ensemble.from_labels(ensemble.labels, orient="columns")
        distance = pairwise(likely, "rand_distance").matrix[usable]
        distance = np.nan_to_num(distance, nan=1.0)  # without a point in common
        best = int(usable[np.argmin(distance @ ensemble.weights)])
        return np.maximum(canonical(ensemble.labels[:, best]), -1), "input"

    # -- variant 2 ----------------------------------------------------------------------------

    def _dissimilar(self, ensemble: Ensemble) -> Combined:
        small, inverse = ensemble.compress(keep_noise_apart=True)
        m, k = small.n_points, self.n_clusters
        precision = np.float64 if m <= _DOUBLE_PRECISION else np.float32
        need = float(m) * m * np.dtype(precision).itemsize / 1e9
        if need > self.max_gb:
            raise MemoryLimitError(
                f"BagClust with variant=2 needs the dissimilarities of {m:,} distinct rows, which",
                need,
                self.max_gb,
                remedies=["use {variant}, whose memory grows with the number of points"],
                variant=1,
            )
        column = None
        if self.weighting is not None:
            column = column_weights(ensemble, self.weighting, self.theta)
        distances, never = _dissimilarities(small, column, precision)
        weights = small.sample_weight
        details: dict[str, Any] = {"never_together_": never}
        if self.assign == "kmeans":
            found = kmeans(
                distances * np.sqrt(weights).astype(precision),
                min(k, m),
                n_init=self.n_init,
                max_iter=self.max_iter,
                sample_weight=weights,
                seed=spawn(self.random_state, 2)[0],
            )
            return Combined(found.labels[inverse], found.inertia, details)
        labels, medoids, cost = pam(distances, k, sample_weight=weights, max_iter=self.max_iter)
        first = np.full(m, ensemble.n_points)
        np.minimum.at(first, inverse, np.arange(inverse.size))
        details["medoids_"] = first[medoids]
        return Combined(labels[inverse], cost, details)


def _with_undrawn(
    whole: Ensemble, labels: np.ndarray, reference: np.ndarray, number: np.ndarray
) -> np.ndarray:
    """Return labels in which points that were never drawn have their cluster of the reference."""
    undrawn = (whole.labels[:, whole.weights > 0] == UNSAMPLED).all(axis=1) & (reference >= 0)
    # Clusters behind the last one that was voted on have no number yet.
    number = np.append(number, np.full(max(0, int(reference.max()) + 1 - number.size), -1))
    needed = np.unique(reference[undrawn])
    vanished = needed[number[needed] < 0]  # their drawn points were voted elsewhere
    number[vanished] = int(labels.max()) + 1 + np.arange(vanished.size)
    return np.where(undrawn, number[reference], labels)


def pam(
    distances: np.ndarray, n_clusters: int, *, sample_weight: np.ndarray, max_iter: int = 100
) -> tuple[np.ndarray, np.ndarray, float]:
    """Partition around medoids: return labels, medoids, and the sum of distances to them.

    ``distances`` is square, symmetric and dense. Medoids are chosen greedily and then exchanged,
    point by point, while the cost falls; a sweep takes O(n^2).
    """
    n = distances.shape[0]
    if n_clusters >= n:
        return np.arange(n), np.arange(n), 0.0
    medoids = kernels.median.build(distances, sample_weight, n_clusters)
    if n_clusters == 1:
        cost = float(distances[medoids[0]] @ sample_weight)  # the greedy choice is the best one
        return np.zeros(n, dtype=np.int64), medoids, cost
    labels, cost, _ = kernels.median.swap(distances, sample_weight, medoids, max_iter)
    return labels, medoids, float(cost)


def _dissimilarities(
    ensemble: Ensemble, column: np.ndarray | None, precision: type
) -> tuple[np.ndarray, float]:
    """Return 1 - s/m of all pairs, and the weight of the pairs that nobody drew together."""
    operator = with_weighted_columns(ensemble, column)
    n = ensemble.n_points
    distances: np.ndarray = np.empty((n, n), dtype=precision)
    sampled = (ensemble.labels != UNSAMPLED).astype(np.float32)
    step = max(1, 2**22 // n)
    never = 0.0
    for start in range(0, n, step):
        stop = min(start + step, n)
        distances[start:stop] = np.maximum(1.0 - operator.rows(start, stop), 0.0)
        if not ensemble.is_complete:
            apart = (sampled[start:stop] @ sampled.T == 0) @ ensemble.sample_weight
            never += float(apart @ ensemble.sample_weight[start:stop]) / 2.0
    np.fill_diagonal(distances, 0.0)
    return distances, never


def _matched(ensemble: Ensemble, overlap: np.ndarray) -> np.ndarray:
    """Return for each cluster (D, k) the reference cluster that it votes for, as zeros and ones."""
    ballots = np.zeros_like(overlap)
    for i in range(ensemble.n_partitions):
        block = np.arange(ensemble.offsets[i], ensemble.offsets[i + 1])
        # In the order in which they appear: names must not decide between equal matchings.
        block = block[np.argsort(_appearance(ensemble, i), kind="stable")]
        shared = overlap[block]
        rows, columns = linear_sum_assignment(shared, maximize=True)
        ballots[block[rows], columns] = 1.0
        left = np.setdiff1d(np.arange(block.size), rows)
        left = left[shared[left].max(axis=1, initial=0.0) > 0]
        ballots[block[left], shared[left].argmax(axis=1)] = 1.0
    return ballots


def _appearance(ensemble: Ensemble, i: int) -> np.ndarray:
    """Return the first point of each cluster of partition i."""
    n, k = ensemble.n_points, int(ensemble.n_clusters[i])
    first = np.full(k, n)
    if i in ensemble.soft:
        entries = ensemble.soft[i].tocoo()
        np.minimum.at(first, entries.col, entries.row)
    else:
        codes = ensemble.labels[:, i]
        inside = np.flatnonzero(codes >= 0)[::-1]
        first[codes[inside]] = inside
    return first
