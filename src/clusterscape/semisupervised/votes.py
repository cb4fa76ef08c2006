"""Constraints and an ensemble: which members know them, and an answer that respects them."""

from __future__ import annotations

from typing import Any

import numpy as np

from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.parallel import one_thread
from clusterscape._core.params import shown
from clusterscape.ensemble import Ensemble, as_ensemble
from clusterscape.semisupervised._placement import Costs, Items, Placement
from clusterscape.semisupervised.base import constraints_of
from clusterscape.semisupervised.closure import LabelSet
from clusterscape.semisupervised.constraints import Constraints

_LEAST = 0.01  # of the largest weight that a member keeps
_ENOUGH_POINTS = 50  # with constraints: fewer tell too little of a member


class InfeasibleError(ParameterError):
    """No placement was found that respects all certain constraints.

    Examples
    --------
    >>> from clusterscape.semisupervised import COPKMeans
    >>> COPKMeans(2).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    Traceback (most recent call last):
    clusterscape.semisupervised.votes.InfeasibleError: the constraints keep 3 groups of points apart
    from each other, but n_clusters=2; ask for at least 3, or use on_infeasible='violate'.
    """


def member_scores(ensemble: Any, known: Constraints) -> np.ndarray:
    """Return how well each partition respects the constraints, beyond chance.

    The share of the constraints, by weight, that it respects is corrected by what a partition with
    clusters of the same sizes would reach by chance: 1 where all are respected, 0 at chance. Of
    cannot-links alone, partitions into many small clusters respect most. Constraints on points that
    a partition did not see count neither for nor against it.

    Parameters
    ----------
    ensemble : Ensemble or (n, r) labels
        Partitions.
    known : Constraints
        What is known.

    Returns
    -------
    (r,) array
        Zeros where there are no constraints on points that it saw.

    See Also
    --------
    clusterscape.semisupervised.ConstrainedEnsemble : Weighs its members by such scores.

    Examples
    --------
    >>> from clusterscape import Ensemble
    >>> from clusterscape.semisupervised import Constraints
    >>> from clusterscape.semisupervised.votes import member_scores
    >>> votes = Ensemble.from_labels([[0, 0, 1, 1], [0, 1, 0, 1]])
    >>> member_scores(votes, Constraints.from_labels([0, 0, 1, 1]))
    array([ 1. , -0.5])
    """
    if not isinstance(known, Constraints):
        raise TypeError(
            f"known must be Constraints, such as Constraints.from_labels(y); got {shown(known)}."
        )
    votes = as_ensemble(ensemble)
    known = constraints_of(known, None, votes.n_points, names=votes.index)
    out = np.zeros(votes.n_partitions)
    if len(known) == 0:
        return out
    for i, labels in enumerate(votes.labels.T):
        seen = known._tally(labels)
        if seen.total_weight == 0:
            continue
        n = np.count_nonzero(labels != UNSAMPLED)
        sizes = np.bincount(labels[labels >= 0]).astype(np.float64)
        together = float((sizes * (sizes - 1)).sum() / max(n * (n - 1.0), 1.0))
        right = 1.0 - seen.weight / seen.total_weight
        by_chance = seen.must_weight * together + seen.cannot_weight * (1.0 - together)
        chance = by_chance / seen.total_weight
        out[i] = (right - chance) / (1.0 - chance) if chance < 1 else 0.0
    return out


def weighed(ensemble: Ensemble, known: Constraints) -> Ensemble:
    """Return the ensemble with members weighed by how well they respect the constraints.

    Parameters
    ----------
    ensemble : Ensemble
        Partitions that were made without the constraints.
    known : Constraints
        What is known.

    Returns
    -------
    Ensemble
        A member's weight is multiplied by the square of its score, at least by a hundredth of the
        best. With constraints on fewer than 50 points, or where no member does better than chance,
        it is as it was: on a few answers good members and bad ones cannot be told apart.
    """
    if known.points.size < _ENOUGH_POINTS:
        return ensemble
    scores = np.maximum(member_scores(ensemble, known), 0.0) ** 2
    if scores.max(initial=0.0) == 0:
        return ensemble
    scores = np.maximum(scores / scores.max(), _LEAST)
    return ensemble.with_weights(weights=ensemble.weights * scores)


def certain_part(known: Constraints) -> Constraints:
    """Return the constraints of weight 1."""
    pairs = known.must.weight, known.cannot.weight, np.array([s.weight for s in known.label_sets])
    if all((weight == 1.0).all() for weight in pairs):
        return known
    return Constraints._of(
        known.n_points,
        known.must.take(known.must.weight == 1.0),
        known.cannot.take(known.cannot.weight == 1.0),
        [LabelSet(s.points, s.codes) for s in known.label_sets if s.weight == 1.0],
        known.index,
    )


def enforced(
    membership: np.ndarray, labels: np.ndarray, known: Constraints, *, n_clusters: int
) -> np.ndarray:
    """Return labels that respect all certain constraints, at the least loss of votes.

    Points without a certain constraint keep their labels. Groups that must be together go where
    they have most votes together; where groups exclude each other, as the votes and the
    exclusions allow.

    Parameters
    ----------
    membership : (n, k) array
        Votes of each point for each cluster.
    labels : (n,) array
        Clusters.
    known : Constraints
        What is known.
    n_clusters : int
        Clusters that there may be; those without a vote so far included.

    Returns
    -------
    (n,) array

    Raises
    ------
    InfeasibleError
        Where no placement in k clusters is found.
    """
    sure = certain_part(known)
    # A point without a cluster is not exempt here, whether it was seen or not.
    if len(sure) == 0 or sure._tally(np.maximum(labels, NOISE)).count == 0:
        return labels
    k = max(n_clusters, membership.shape[1])
    refuse_too_few(sure, k, "give constraints a weight below 1")
    membership = np.pad(membership, ((0, 0), (0, k - membership.shape[1])))
    with one_thread():
        items = Items.of(np.ascontiguousarray(membership), sure)
        # A point that no partition placed has no votes and may go anywhere; its own label is kept
        # where that is possible.
        own = np.zeros_like(membership)
        placed = np.flatnonzero(labels >= 0)
        own[placed, labels[placed]] = 1e-6
        votes = items.means + Items.of(own, sure).means
        cost = items.weight[:, None] * (1.0 - votes)
        placement = Placement(items, k, 1.0, np.random.default_rng(0))
        placement.assign(Costs.of(cost, items))
    if placement.conflicts:
        raise InfeasibleError(
            f"no placement in {{n_clusters}} was found that respects all cannot-links "
            f"(the best leaves {placement.conflicts:,} groups in conflict); ask for more clusters, "
            "or give constraints a weight below 1.",
            n_clusters=k,
        )
    bound = np.zeros(len(items.weight), dtype=bool)
    bound[items.bound] = True
    bound |= items.weight > 1
    return np.where(bound[items.component], placement.label[items.component], labels)


def refuse_too_few(known: Constraints, k: int, advice: str) -> None:
    """Refuse fewer clusters than groups that must be apart; ``advice`` is what else may be done."""
    least = known.closure.least_clusters()
    if least > k:
        raise InfeasibleError(
            f"the constraints keep {least} groups of points apart from each other, but "
            f"{{n_clusters}}; ask for at least {least}, or {advice}.",
            n_clusters=k,
        )
