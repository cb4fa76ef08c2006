"""What all consensus functions share: validate, weigh the evidence, partition, store."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_array

from clusterscape._core.errors import ParameterError, ParameterWarning
from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.labels import NOISE, canonical
from clusterscape._core.params import Rules, check_params
from clusterscape._core.rows import as_rows
from clusterscape._core.weights import computable_weights
from clusterscape.combine.blocked import (
    BlockedCombined,
    BlockedLabels,
    DistinctRule,
    OnColumns,
    SoftRule,
    memberships_in_blocks,
    tally,
)
from clusterscape.combine.result import ResultMixin
from clusterscape.combine.scores import mean_coassociation
from clusterscape.compare.tables import check_same_points
from clusterscape.ensemble import BlockedEnsemble, BlockedLabelsError, Ensemble, as_ensemble
from clusterscape.ensemble.ensemble import ids_or_count, with_computable_weights


class ConsensusWarning(ParameterWarning):
    """The consensus is valid, but not quite what was asked for.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.combine import ConsensusWarning
    >>> warnings.simplefilter("ignore", ConsensusWarning)
    """


@dataclass(frozen=True)
class Combined:
    """What a consensus function found on the points it was given.

    Attributes
    ----------
    labels : (m,) array
        Any non-negative group numbers.
    cost : float or None
        The method's objective, where it has one.
    details : mapping
        Fitted attributes of the method, by name (with the trailing underscore).
    membership : (m, G) array or None
        How far each point belongs to each group, where the method is soft; the columns are the
        numbers in ``labels``.
    """

    labels: np.ndarray
    cost: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    membership: np.ndarray | None = None


def _final_membership(outcome: Combined, labels: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Return the memberships of all points in the clusters as they are numbered in the end.

    Groups that won no point are left out. Rows sum to one; a point without weight belongs to its
    cluster alone, a point in no cluster to none.
    """
    assert outcome.membership is not None
    final = labels[inside]
    source = np.empty(int(labels.max()) + 1, dtype=np.int64)
    source[final] = outcome.labels
    full = np.zeros((labels.size, source.size))
    placed = np.flatnonzero(labels >= 0)
    full[placed, labels[placed]] = 1.0
    share = outcome.membership[:, source]
    total = share.sum(axis=1, keepdims=True)
    full[inside] = np.divide(share, total, out=full[inside], where=total > 0)
    return full


def _usable(whole: Ensemble) -> np.ndarray:
    """Say which partitions have a vote, or refuse an ensemble without clusters.

    A partition that calls every point noise has a vote; one that saw nothing has none.
    """
    usable = whole.saw_points() & (whole.weights > 0)
    if not (usable & (whole.n_clusters > 0)).any():
        raise ValueError(
            "ensemble: no partition has a cluster (every point is noise or unsampled), so "
            "there is nothing to combine."
        )
    return usable


class BaseConsensus(ResultMixin, ClusterMixin, BaseEstimator):
    """A consensus function: an ensemble in, one clustering out.

    Subclasses declare ``_parameter_rules`` and, where they differ, the attributes below, and turn
    an ensemble whose every point is in some cluster of some partition into :class:`Combined` in
    ``_combine``. The registry reads what it says of a method from these attributes, from
    :meth:`k_rule` and from the first line of the docstring.
    """

    _parameter_rules: ClassVar[Rules] = {}
    _accepts_soft: ClassVar[bool] = True
    _features: ClassVar[Literal["none", "used", "needed"]] = "none"
    _source: ClassVar[str] = ""  # authors and year
    # Whether the distinct rows of labels and their numbers of points are all that counts; "noise":
    # where points that are noise in some partition are rows of their own. See :meth:`_in_blocks`.
    _distinct: ClassVar[bool | Literal["noise"]] = False

    def fit(
        self, ensemble: Any, y: Any = None, *, features: Any = None, sample_weight: Any = None
    ) -> Self:
        """Find the consensus of an ensemble.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The partitions to combine.
        y : ignored
            Not used, present for API consistency.
        features : array, optional
            Feature matrix of the points, for the methods that use one.
        sample_weight : (n,) array, optional
            Weights of the points; they replace the ensemble's own.

        Returns
        -------
        self
            With ``labels_`` (numbered by decreasing size, or weight where points have weights; -1
            for a point that is in no cluster of any partition), ``n_clusters_`` and ``cost_`` (None
            where the method has no objective, or needed none to answer), and ``ensemble_``, the
            ensemble with the weights that were used.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        whole = as_ensemble(ensemble)
        if isinstance(whole, BlockedEnsemble):
            return self._fit_blocks(whole, features, sample_weight)
        if features is not None:
            check_same_points(features, ids_or_count(whole))
        if sample_weight is not None:
            whole = whole.with_weights(sample_weight=sample_weight)
        given = whole
        whole = with_computable_weights(whole)
        usable = _usable(whole)
        if not usable.all():
            whole = whole.select(usable)
        if whole.is_soft and not self._accepts_soft:
            raise ValueError(
                f"{type(self).__name__} takes hard partitions only; partition "
                f"{whole.names[min(whole.soft)]!r} is soft. Pass ensemble.labels to use its "
                "most likely clusters."
            )
        clustered = whole.in_clusters()
        inside = clustered & (whole.sample_weight > 0)
        if not inside.any():
            raise ValueError("ensemble: no point with a positive weight is in any cluster.")
        work = whole if inside.all() else whole.subset(inside)
        self._check_size(work)
        outcome = self._combine(work, self._check_features(features, inside))
        labels = np.full(whole.n_points, NOISE, dtype=np.int64)
        labels[inside] = canonical(outcome.labels, work.sample_weight)
        weightless = clustered & ~inside
        if weightless.any():  # they decide nothing, and follow the points they are together with
            share = mean_coassociation(whole, labels)
            follow = np.where(share.max(axis=1) > 0, share.argmax(axis=1), NOISE)
            labels[weightless] = follow[weightless]
        self.ensemble_ = given
        self.labels_ = labels
        self.n_clusters_ = int(labels.max()) + 1
        self.cost_ = outcome.cost
        for name, value in outcome.details.items():
            setattr(self, name, value)
        if outcome.membership is not None:
            self.membership_ = _final_membership(outcome, labels, inside)
        asked = getattr(self, "n_clusters", None)
        if asked is not None and self.n_clusters_ < asked:
            self._warn_of_fewer(work, asked)
        return self

    def _fit_blocks(self, whole: BlockedEnsemble, features: Any, sample_weight: Any) -> Self:
        """Find the consensus of an ensemble whose labels are in blocks."""
        if not self._in_blocks():
            raise BlockedLabelsError(whole.refusal(self._as_set()))
        if sample_weight is not None:
            raise BlockedLabelsError(whole.refusal("sample_weight"))
        if features is not None and self._distinct and self._features != "none":
            raise BlockedLabelsError(whole.refusal(f"{type(self).__name__} with features"))
        self._check_size(whole)
        usable = _usable(whole)
        weights = computable_weights(whole.weights)
        work = whole if usable.all() else whole.select(usable)
        if weights is not whole.weights:
            work = work.with_weights(weights=weights[usable])
        rows = as_rows(features)
        outcome = self._combine_blocks(work, features if rows is None else rows)
        rule = outcome.rule if usable.all() else OnColumns(outcome.rule, np.flatnonzero(usable))
        self.ensemble_ = whole
        labels: Any = BlockedLabels(whole, rule, tally(whole, rule))
        self.labels_ = labels
        self.n_clusters_ = int(labels.tally.counts.size)
        self.cost_ = outcome.cost
        for name, value in outcome.details.items():
            setattr(self, name, value)
        if outcome.is_soft:
            assert isinstance(rule, SoftRule)
            membership: Any = memberships_in_blocks(labels, rule)
            self.membership_ = membership
        asked = getattr(self, "n_clusters", None)
        if asked is not None and self.n_clusters_ < asked:
            warning = ConsensusWarning(
                f"{type(self).__name__}: {{n_clusters}} was asked for and {self.n_clusters_} "
                "returned: the other groups won no point.",
                n_clusters=asked,
            )
            warnings.warn(warning, stacklevel=3)
        return self

    def _in_blocks(self) -> bool:
        """Say whether the method, as it is set, takes ensembles whose labels are in blocks."""
        own = type(self)._combine_blocks is not BaseConsensus._combine_blocks
        return own or bool(self._distinct)

    def _as_set(self) -> str:
        """Return the name of the method, and what keeps it from working in blocks as it is set."""
        return type(self).__name__

    def _combine_blocks(self, ensemble: BlockedEnsemble, features: Any) -> BlockedCombined:
        """Combine the distinct rows of an ensemble in blocks, each weighted by its points."""
        small, distinct = ensemble.distinct_rows(keep_noise_apart=self._distinct == "noise")
        inside = small.in_clusters()
        work = small if inside.all() else small.subset(inside)
        outcome = self._combine(work, None)
        if self._parts_copies(work, outcome.labels):
            raise BlockedLabelsError(
                ensemble.refusal(
                    f"{type(self).__name__}, which here parts points with equal labels,"
                )
            )
        known = np.full(small.n_points, NOISE, dtype=np.int64)
        known[inside] = outcome.labels
        share = None
        if outcome.membership is not None:
            share = np.zeros((small.n_points, outcome.membership.shape[1]))
            share[inside] = outcome.membership
        details = self._of_points(outcome.details, distinct.points[inside])
        rule = DistinctRule(distinct, known, share)
        return BlockedCombined(rule, outcome.cost, details, share is not None)

    def _parts_copies(self, ensemble: Ensemble, labels: np.ndarray) -> bool:
        """Say whether points with the same distinct row would not be in one group."""
        return False

    def _of_points(self, details: Mapping[str, Any], points: np.ndarray) -> Mapping[str, Any]:
        """Return what was found of distinct rows as said of ``points``, the first with each row."""
        return details

    def _warn_of_fewer(self, ensemble: Ensemble, asked: int) -> None:
        """Say why there are fewer clusters than asked for."""
        rows = ensemble.compress().ensemble.n_points
        why = (
            f"the partitions distinguish only {rows} groups of points"
            if rows < asked
            else "the other groups won no point; another seed or another method may keep them"
        )
        warning = ConsensusWarning(
            f"{type(self).__name__}: {{n_clusters}} was asked for and {self.n_clusters_} "
            f"returned: {why}.",
            n_clusters=asked,
        )
        warnings.warn(warning, stacklevel=3)

    def _check_size(self, ensemble: Ensemble) -> None:
        asked = getattr(self, "n_clusters", None)
        if asked is not None and asked > ensemble.n_points:
            raise ParameterError(
                f"{{n_clusters}} is more than the {ensemble.n_points} points that are in a "
                "cluster of some partition; ask for fewer.",
                n_clusters=asked,
            )

    def _check_features(self, features: Any, inside: np.ndarray) -> Any:
        """Return the rows of ``features`` that belong to the points inside, or None."""
        if features is None:
            if self._features == "needed":
                raise ValueError(
                    f"{type(self).__name__} needs the points' features beside their clusterings; "
                    "pass features=X to fit."
                )
            return None
        refuse_repeated_columns(features, "features")
        X = check_array(
            features, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="features"
        )
        if X.shape[0] != inside.size:
            raise ValueError(
                f"features has {X.shape[0]} rows and the ensemble {inside.size} points; pass one "
                "row per point, in the same order."
            )
        return X if inside.all() else X[inside]

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        raise NotImplementedError

    def k_rule(self) -> str:
        """Return the rule by which the estimator finds k as it is set; empty if it is told k."""
        return ""

    def fit_predict(
        self, ensemble: Any, y: Any = None, *, features: Any = None, sample_weight: Any = None
    ) -> np.ndarray:
        """Fit, and return ``labels_``; the parameters are those of :meth:`fit`."""
        return self.fit(ensemble, features=features, sample_weight=sample_weight).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # the input is an ensemble, not features
        return tags
