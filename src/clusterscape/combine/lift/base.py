"""What LiftKM and LiftHAC share: lift the clusters, group their vectors, give points a group."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.random import SeedSequence
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.labels import canonical
from clusterscape._core.params import N_JOBS, Choice, Flag, Integer, Rules, Seed
from clusterscape._core.seeds import RandomState, spawn
from clusterscape.combine.base import BaseConsensus, Combined
from clusterscape.combine.eci import WEIGHTING, Weighting, column_weights
from clusterscape.combine.lift.groups import Clusters, Groups, ballot, shares
from clusterscape.ensemble import Ensemble
from clusterscape.lifting.lifted import RULES, Kernel, Lifted, checked_features, lift

LIFT_RULES: Rules = {
    "n_clusters": [Integer(1)],
    "kernel": RULES["kernel"],
    "bandwidth": RULES["bandwidth"],
    "n_components": RULES["n_components"],
    "error": RULES["error"],
    "assign": [Choice("kernel", "vote")],
    "normalize_centers": [Flag()],
    **WEIGHTING,
    "max_gb": RULES["max_gb"],
    "random_state": [Seed()],
    "n_jobs": N_JOBS,
}


class _Points(NamedTuple):
    """What the kernel sees of the points that take part, and which of all points they are."""

    objects: Any
    inside: np.ndarray


class LiftConsensus(BaseConsensus):
    """A consensus that groups the clusters of the partitions in the space of a kernel."""

    _features: ClassVar[Literal["none", "used", "needed"]] = "needed"

    n_clusters: int
    kernel: Kernel
    bandwidth: Literal["median"] | float
    n_components: Literal["auto"] | int | None
    error: float | None
    assign: Literal["kernel", "vote"]
    normalize_centers: bool
    weighting: Weighting
    theta: float
    max_gb: float
    random_state: RandomState
    n_jobs: int | None

    @property
    def _reads_features(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel not in ("discrete", "precomputed")

    def _check_features(self, features: Any, inside: np.ndarray) -> _Points:
        """Return what the kernel needs of the points inside."""
        if self.kernel == "discrete":
            return _Points(None, inside)
        if features is None:
            super()._check_features(None, inside)  # the sentence of all methods that need them
        objects = checked_features(features, self.kernel, inside.size)
        if not inside.all():
            rows = np.flatnonzero(inside)
            objects = _safe_indexing(objects, rows)
            if self.kernel == "precomputed":
                objects = objects[:, rows]
        return _Points(objects, inside)

    def _combine(self, ensemble: Ensemble, features: Any) -> Combined:
        points: _Points = features
        lifting, grouping = spawn(self.random_state, 2)
        lifted = lift(
            ensemble,
            points.objects,
            kernel=self.kernel,
            bandwidth=self.bandwidth,
            n_components=self.n_components,
            error=self.error,
            noise="drop",
            random_state=lifting,
            n_jobs=self.n_jobs,
            max_gb=self.max_gb,
        )
        if lifted.mass.size == 0:
            raise ValueError(
                "features: every cluster has length 0 under the kernel, so there is nothing to "
                "combine; give a kernel that is not zero everywhere."
            )
        column = column_weights(ensemble, self.weighting, self.theta)
        clusters = Clusters.of(lifted, ensemble, column)
        found, details = self._group(clusters, lifted, grouping)
        groups = Groups.make(lifted, clusters, found, normalize=self.normalize_centers)
        labels, membership = self._place(ensemble, points.objects, (lifted, clusters, groups))
        # Groups are numbered as the labels will be; those that won no point come last.
        labels, before = canonical(labels, ensemble.sample_weight), labels
        won = before[np.unique(labels, return_index=True)[1]]
        order = np.concatenate([won, np.setdiff1d(np.arange(groups.norms.size), won)])
        groups = groups.renumbered(order)
        details |= {
            "lifted_": lifted,
            "groups_": groups.of,
            "coefficients_": groups.coefficients,
            "center_norms_": groups.norms,
            "inside_": points.inside,
        }
        if self._reads_features:
            details["n_features_in_"] = points.objects.shape[1]
        return Combined(labels, groups.cost, details, membership=membership[:, order])

    def _group(
        self, clusters: Clusters, lifted: Lifted, seed: SeedSequence
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Return the group of every distinct vector, and fitted attributes."""
        raise NotImplementedError

    def _place(
        self, ensemble: Ensemble, objects: Any, what: tuple[Lifted, Clusters, Groups]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return labels and memberships of the points."""
        lifted, clusters, groups = what
        if self.assign == "kernel":
            scores = lifted.scores(objects, groups.coefficients)
        else:
            scores = ballot(ensemble, clusters, groups)
            # Only a cluster that the kernel sends to zero has no vote.
            if (silent := ~scores.any(axis=1)).any():
                scores[silent] = lifted.scores(objects, groups.coefficients)[silent]
        return shares(scores, groups.norms)

    def predict(self, X: Any) -> np.ndarray:
        """Return the cluster of new points: that of the centre with the largest inner product.

        New points are in no partition's cluster and have no votes, so this rule is used whatever
        ``assign`` is.

        Parameters
        ----------
        X : array of shape (m, d), or what the kernel takes
            Features of the new points, as in fit. With ``kernel="precomputed"`` the (m, n) kernel
            values of new points and all n points of fit; with a callable, objects it takes.

        Returns
        -------
        (m,) array
            Labels, all of them below ``n_clusters_``.
        """
        check_is_fitted(self)
        scores = self.lifted_.scores(self._check_new(X), self.coefficients_[:, : self.n_clusters_])
        return shares(scores, self.center_norms_[: self.n_clusters_])[0]

    def _check_new(self, X: Any) -> Any:
        """Return new points as the lifted clusters take them."""
        if self.kernel == "discrete":
            raise ValueError(
                "predict: the discrete kernel finds no new point like any other; fit with another "
                "kernel and features=X."
            )
        if callable(self.kernel):
            return X  # what the lifted clusters check
        refuse_repeated_columns(X, "X")
        new = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32], input_name="X")
        if self._reads_features:
            if new.shape[1] != self.n_features_in_:
                raise ValueError(
                    f"X has {new.shape[1]} columns, and the features of fit had "
                    f"{self.n_features_in_}; give the same columns."
                )
            return new
        if new.shape[1] != self.inside_.size:
            raise ValueError(
                f"X has {new.shape[1]} columns; with kernel='precomputed' it holds the kernel of "
                f"each new point and all {self.inside_.size} points of fit."
            )
        return new if self.inside_.all() else new[:, self.inside_]
