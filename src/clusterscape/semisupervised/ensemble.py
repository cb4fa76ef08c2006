"""Cluster ensembles with constraints: many constrained clusterings, one consensus."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import clone

from clusterscape._core.errors import ParameterError
from clusterscape._core.parallel import parallel_map
from clusterscape._core.params import (
    N_JOBS,
    Choice,
    Flag,
    Instance,
    Integer,
    Null,
    Number,
    Rules,
    Seed,
    Such,
)
from clusterscape._core.seeds import RandomState, describe, spawn
from clusterscape._core.warnings import hear_warnings
from clusterscape.combine import SEC, BaseConsensus
from clusterscape.combine.result import ResultMixin
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.ensemble import Ensemble, PartitionRecord
from clusterscape.semisupervised.base import BaseConstrainedClusterer
from clusterscape.semisupervised.constraints import Constraints
from clusterscape.semisupervised.cop_kmeans import COPKMeans
from clusterscape.semisupervised.landmarks import FastConstrainedSpectral, LandmarkSpectral
from clusterscape.semisupervised.scacs import SCACS
from clusterscape.semisupervised.votes import enforced, member_scores, refuse_too_few

# Names of base methods, as the paper has them: CK, SCACS, CCSS, and LSC without constraints.
_BASES: dict[str, Any] = {
    "ccs": lambda: FastConstrainedSpectral(n_init=3),
    "cop": lambda: COPKMeans(on_infeasible="violate", n_init=1),
    "scacs": lambda: SCACS(n_init=3),
    "lsc": lambda: LandmarkSpectral(n_init=3),
}
_BELOW, _ABOVE = 5, 4  # members have k - 5 to k + 4 clusters


def _is_base(value: Any) -> bool:
    return (isinstance(value, str) and value in _BASES) or isinstance(
        value, BaseConstrainedClusterer
    )


_SEVERAL = Such(
    lambda v: isinstance(v, (list, tuple)) and len(v) > 0 and all(map(_is_base, v)),
    "a list of these",
    refused=[[], ["none such"]],
)


class ConstrainedEnsemble(ResultMixin, BaseConstrainedClusterer):
    """A consensus of many constrained clusterings (CK-SE, SCACS-SE, CCSS-SE, CCSS-SER).

    Members have from k - 5 to k + 4 clusters and landmarks of their own; spectral ensemble
    clustering combines them, on all columns or on a random projection [1]_. Members may be of
    several kinds, and may be selected and weighed by constraints that were held back from them.

    Parameters
    ----------
    n_clusters : int
        Clusters to form.
    base : str, clusterer or list of these
        What makes the members: "ccs" (:class:`FastConstrainedSpectral`), "cop"
        (:class:`COPKMeans`), "scacs" (:class:`SCACS`), "lsc" (:class:`LandmarkSpectral`, without
        constraints), a clusterer of this package, or several, which take turns.
    consensus : {"sec", "secrp"} or consensus estimator
        What combines them: :class:`~clusterscape.combine.SEC`, the same on 40 random
        combinations of the columns and then polished (CCSS-SER; the published one is
        ``SEC(projection="sparse", polish=0)``), or an estimator whose ``n_clusters`` is then set.
    n_partitions : int
        Members.
    k_range : (int, int), optional
        Fewest and most clusters of a member, taken in turn; by default from ``n_clusters - 5`` (at
        least 2) to ``n_clusters + 4``.
    held_back : float
        Share of the constraints that members do not see and are judged by; 0 judges none.
    keep : float
        Share of the members that is kept, the best by their score on the constraints held back.
    enforce : bool
        Whether certain constraints are respected in the answer, at the least loss of votes. Without
        it they pull only, as published.
    random_state : int, generator or None
        Seed.
    n_jobs : int or None
        Members made at once; the result does not depend on it.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        How many there are.
    ensemble_ : Ensemble
        The members that were kept, with their weights.
    scores_ : (n_partitions,) array or None
        Score of every member on the constraints held back (:func:`member_scores`).
    violations_ : Violations
        Constraints that the answer does not respect.
    consensus_ : BaseConsensus
        The fitted consensus.

    See Also
    --------
    FastConstrainedSpectral : One such clustering.
    clusterscape.ConsensusClustering : Members that do not see the constraints, but are weighed by
        them.

    Notes
    -----
    "cop" members with fewer clusters than known classes violate cannot-links, since nothing else is
    possible; how many is not reported for members. Where few constraints are known, holding some
    back costs more than judging by them gains.

    References
    ----------
    .. [1] W. Liu, M. Ye, J. Wei, X. Hu, "Fast constrained spectral clustering and cluster ensemble
       with random projection", Computational Intelligence and Neuroscience, 2658707, 2017.
       doi:10.1155/2017/2658707

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.semisupervised import ConstrainedEnsemble, FastConstrainedSpectral
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.6, size=(60, 2)) for c in (0, 3, 6)])
    >>> y = np.full(180, -1)
    >>> y[::9] = np.repeat([0, 1, 2], [7, 7, 6])
    >>> base = FastConstrainedSpectral(n_landmarks=50)
    >>> model = ConstrainedEnsemble(3, base=base, n_partitions=10, random_state=0).fit(X, y)
    >>> np.bincount(model.labels_), model.violations_.count
    (array([60, 60, 60]), 0)
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Integer(1)],
        "base": [Choice(*_BASES), Instance(BaseConstrainedClusterer), _SEVERAL],
        "consensus": [Choice("sec", "secrp"), Instance(BaseConsensus)],
        "n_partitions": [Integer(1)],
        "k_range": [
            Null(),
            Such(
                lambda v: (
                    isinstance(v, tuple)
                    and len(v) == 2
                    and all(map(Integer(1).allows, v))
                    and v[0] <= v[1]
                ),
                "a pair (least, most) of integers",
                refused=[(3, 2), (2,), (0, 4)],
            ),
        ],
        "held_back": [Such(lambda v: Number(0, 1).allows(v) and v < 1, "a number in [0, 1)", [1])],
        "keep": [Number(0, 1, open_low=True)],
        "enforce": [Flag()],
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        base: Any = "ccs",
        consensus: Literal["sec", "secrp"] | BaseConsensus = "sec",
        n_partitions: int = 50,
        k_range: tuple[int, int] | None = None,
        held_back: float = 0.0,
        keep: float = 1.0,
        enforce: bool = True,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.base = base
        self.consensus = consensus
        self.n_partitions = n_partitions
        self.k_range = k_range
        self.held_back = held_back
        self.keep = keep
        self.enforce = enforce
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, constraints: Any = None) -> Self:
        """Make the members and combine them.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features.
        y : (n,) array, optional
            Known classes, -1 for points whose class is not known.
        constraints : Constraints or (n, n) matrix, optional
            What else is known of the points.

        Returns
        -------
        self
        """
        X, known, names = self._read(X, y, constraints)
        if self.keep < 1 and self.held_back == 0:
            raise ParameterError(
                "{keep} selects members by constraints held back, but {held_back}; set "
                "{held_back.name} to a share such as 0.2.",
                keep=self.keep,
                held_back=self.held_back,
            )
        if self.enforce and isinstance(self.consensus, str):  # others may find more clusters
            refuse_too_few(known, self.n_clusters, "give constraints a weight below 1")
        splitting, making, combining = spawn(self.random_state, 3)
        seen, held = known.split(self.held_back, random_state=splitting)
        tasks = self._tasks(X, seen, making)
        self._members = parallel_map(_fitted, tasks, n_jobs=self.n_jobs, label="members")
        self._combine(held, combining, names)
        self._conclude(known)
        return self

    def _tasks(self, X: Any, seen: Constraints, seed: Any) -> list[tuple[Any, Any, Constraints]]:
        """Return the members to be made, kinds and numbers of clusters in turn."""
        several = self.base if isinstance(self.base, (list, tuple)) else [self.base]
        kinds = [_BASES[b]() if isinstance(b, str) else b for b in several]
        k = self.n_clusters
        least, most = self.k_range or (max(k - _BELOW, min(k, 2)), k + _ABOVE)
        counts = [min(c, X.shape[0]) for c in range(least, most + 1)]
        made = []
        for i, child in enumerate(seed.spawn(self.n_partitions)):
            member = clone(kinds[i % len(kinds)])
            # Kinds take turns with every round of the counts, so that each has all of them.
            count = counts[(i // len(kinds)) % len(counts)]
            made.append((member.set_params(n_clusters=count, random_state=child), X, seen))
        return made

    def _combine(self, held: Constraints, seed: Any, names: Any) -> None:
        labels = [member.labels_ for member, _ in self._members]
        records = [
            PartitionRecord(
                generator="ConstrainedEnsemble",
                algorithm=type(member).__name__,
                params={"n_clusters": member.n_clusters},
                seed=describe(member.random_state),
                n_clusters=member.n_clusters_,
                seconds=seconds,
            )
            for member, seconds in self._members
        ]
        ensemble = Ensemble.from_labels(labels, records=records, index=names)
        self.scores_: np.ndarray | None = None
        if self.held_back > 0 and len(held):
            ensemble = self._selected(ensemble, held)
        if isinstance(self.consensus, str):
            projection: Any = "sparse" if self.consensus == "secrp" else None
            method: Any = SEC(projection=projection, n_dims=40)
        else:
            method = clone(self.consensus)
        taken = method.get_params(deep=False)
        mine = {"n_clusters": self.n_clusters, "random_state": seed, "n_jobs": self.n_jobs}
        method.set_params(**{name: v for name, v in mine.items() if name in taken})
        self.consensus_ = method.fit(ensemble)
        self.ensemble_ = ensemble

    def _selected(self, ensemble: Ensemble, held: Constraints) -> Ensemble:
        """Return the best members by what was held back, weighed by the squares of their scores."""
        self.scores_ = member_scores(ensemble, held)
        count = max(1, round(self.keep * len(self.scores_)))
        best = np.sort(np.argsort(-self.scores_, kind="stable")[:count])
        self._members = [self._members[i] for i in best]
        weight = np.maximum(self.scores_[best], 0.0) ** 2
        weight = np.maximum(weight / weight.max(), 0.01) if weight.any() else np.ones(best.size)
        return ensemble.select(best).with_weights(weights=weight)

    def _conclude(self, known: Constraints) -> None:
        """Respect certain constraints, where that is asked for, and count what is violated."""
        self.labels_ = self.consensus_.labels_
        self.n_clusters_ = self.consensus_.n_clusters_
        if self.enforce and len(known):
            votes = self._compute_scores().membership
            self.labels_ = enforced(votes, self.labels_, known, n_clusters=self.n_clusters)
        self._finish(self.labels_, known)
        self._fitted = [member for member, _ in self._members]
        del self._members

    def _assign(self, X: Any) -> np.ndarray:
        """Return the consensus of what the members say of new points."""
        labels = np.column_stack([member.predict(X) for member in self._fitted])
        return LabelTransfer.of(self.ensemble_, self.labels_).predict(labels)


def _fitted(task: tuple[Any, Any, Constraints]) -> tuple[Any, float]:
    """Return a fitted member, and the seconds it took."""
    member, X, seen = task
    begun = time.perf_counter()
    with hear_warnings():
        member.fit(X, constraints=seen)
    # Labels are all that the consensus needs of the points; some 170 bytes of each would be kept.
    member._forget_points()
    return member, time.perf_counter() - begun


def base_names() -> Sequence[str]:
    """Return the names that ``base`` takes."""
    return tuple(_BASES)
