"""ForestGrower: clustering vectors that grow by columns as long as kappa falls."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import BaseEstimator

from clusterscape._core.labels import smallest_type
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Flag,
    Instance,
    Integer,
    Null,
    Rules,
    Seed,
    check_params,
)
from clusterscape._core.seeds import RandomState, describe
from clusterscape._core.store import stored_plan
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.forest.growth import (
    Ground,
    Grown,
    check_range,
    check_rows,
    grow_vector,
    make_ground,
)
from clusterscape.forest.kappa import kappa
from clusterscape.generate.features import Matrix, read_features, read_weights
from clusterscape.generate.members import Outcome, describe_run, run_all, write_outcome
from clusterscape.generate.plan import root_seed
from clusterscape.linalg.kmeans import nearest_center

# A weight below this share of the largest cannot pull a centre; such rows are labelled as those of
# weight zero are.
_NO_WEIGHT = 1e-30


__all__ = ["ForestGrower", "kappa"]


class ForestGrower(BaseEstimator):
    """Grow clustering vectors: sets of columns on which k-means finds clean clusters.

    A vector begins with a few random columns and draws more, a few at a time. A draw is kept when
    k-means on all columns lowers kappa, the sum of squares within clusters over that between
    them; after ``patience`` draws in a row that did not, the vector is finished and its last
    partition is a member of the ensemble. Columns of noise raise kappa and stay outside. The
    vectors are those of Cluster Forests (Yan, Chen and Jordan, Algorithms 1 and 2).

    Parameters
    ----------
    n_partitions : int
        Clustering vectors, T.
    n_clusters : int
        Clusters of each k-means.
    features_per_draw : int
        Columns drawn at a time, b, all different; all columns when there are fewer.
    n_competitors : int
        Draws that compete to begin a vector, q; the one with the least kappa wins.
    patience : int
        Draws in a row that fail before a vector is finished (published: 3, with which single
        columns of a large scale win more often).
    kappa : {"anova", "pairs"}
        The usual sums of squares around the means, or squared distances of pairs of points (within
        clusters over between them), as in the proofs of the paper.
    allow_duplicates : bool
        Whether a column that a vector has can be drawn again; it then counts twice in k-means.
    min_distinct : int, optional
        Least number of distinct rows on the first columns; ``n_clusters`` by default. Draws with
        fewer are drawn again, at most 1,000 times, and if they never suffice a vector begins with
        the first columns of X that tell enough rows apart. A draw with as many distinct rows as
        clusters has kappa 0, and the vector ends with it.
    exhaustive : bool
        After the first columns try all others once, in random order. ``patience`` and
        ``allow_duplicates`` are then not used.
    algorithm : {"lloyd", "hartigan"}
        k-means by batch updates until no label changes, or by exchange of single points.
    n_init : int
        Starts of each k-means, from random rows that differ on the first columns. A vector keeps
        its starting rows, and the partition it has is one start more.
    max_iter : int
        Iterations of a start.
    random_state : None, int, RandomState, Generator or SeedSequence
        The same seed gives the same vectors for any ``n_jobs``.
    n_jobs : int or None
        Workers; vectors grow independently, in threads.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.
    store : path or None
        A directory that receives every finished vector; the same call after an interruption grows
        only those that are missing.

    Notes
    -----
    k-means sees squared differences: a column with a much larger scale than the others decides
    every vector that it is in. Scale the columns unless their units are the same. The method fails
    where no small set of columns shows the clusters, and where clusters are not round.

    A start that comes to a partition through which an earlier one went is stopped, because it
    would end in the same place; this changes the time only. kappa must fall by a share of at
    least 1e-9, so that rounding is not taken for a gain.

    Memory is that of X by columns (a copy, unless X is Fortran-ordered or sparse by columns), and
    for every worker the columns of a vector. Sparse columns are dense only while in use.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.forest import ForestGrower
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat([0.0, 10.0], 20)
    >>> noise = rng.normal(size=(40, 2))
    >>> X = np.column_stack([groups + rng.normal(size=40), groups + rng.normal(size=40), noise])
    >>> grower = ForestGrower(5, n_clusters=2, n_competitors=4, random_state=0)
    >>> ensemble = grower.generate(X)
    >>> ensemble
    Ensemble(40 points, 5 partitions with 2 clusters)
    >>> record = ensemble.records[0]
    >>> record.columns.tolist(), round(record.cost, 3)
    ([0, 1], 0.036)
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_partitions": (Integer(1),),
        "n_clusters": (Integer(2),),
        "features_per_draw": (Integer(1),),
        "n_competitors": (Integer(1),),
        "patience": (Integer(1),),
        "kappa": (Choice("pairs", "anova"),),
        "allow_duplicates": (Flag(),),
        "min_distinct": (Null(), Integer(1)),
        "exhaustive": (Flag(),),
        "algorithm": (Choice("lloyd", "hartigan"),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "random_state": (Seed(),),
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
        "store": (Null(), Instance(str, os.PathLike)),
    }

    def __init__(
        self,
        n_partitions: int = 100,
        *,
        n_clusters: int = 2,
        features_per_draw: int = 2,
        n_competitors: int = 1,
        patience: int = 1,
        kappa: Literal["anova", "pairs"] = "anova",
        allow_duplicates: bool = True,
        min_distinct: int | None = None,
        exhaustive: bool = False,
        algorithm: Literal["lloyd", "hartigan"] = "lloyd",
        n_init: int = 20,
        max_iter: int = 200,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_partitions = n_partitions
        self.n_clusters = n_clusters
        self.features_per_draw = features_per_draw
        self.n_competitors = n_competitors
        self.patience = patience
        self.kappa = kappa
        self.allow_duplicates = allow_duplicates
        self.min_distinct = min_distinct
        self.exhaustive = exhaustive
        self.algorithm = algorithm
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.store = store

    def generate(self, X: Any, *, sample_weight: Any = None, index: Any = None) -> Ensemble:
        """Return the ensemble of the partitions of ``n_partitions`` clustering vectors.

        Parameters
        ----------
        X : array, sparse matrix or data frame
            Points x features. float32 is computed in float32.
        sample_weight : array, optional
            Non-negative weights of the points, as if a point were there so often. A point of
            weight 0 gets the cluster of the nearest centre.
        index : array, optional
            The points' ids; by default the index of a pandas data frame.

        Returns
        -------
        Ensemble
            One partition a vector. In its record, ``columns`` are the columns in the order in which
            they were accepted (one accepted twice stands twice), ``cost`` is kappa, and ``params``
            have the ``kappa_path`` (kappa of the first columns, then after each acceptance)
            and the number of ``tries`` after the first columns.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        features = read_features(X, index=index)
        if len(features.views) > 1:
            raise ValueError(
                f"X is a list of {len(features.views)} matrices; ForestGrower takes one. Join them "
                f"by columns, or grow an ensemble on each and put them together."
            )
        given = features.views[0]
        weights = read_weights(sample_weight, features.n_points)
        settings = self._settings()
        check_range(given)
        pull = np.ones(features.n_points) if weights is None else weights
        kept = pull > _NO_WEIGHT * pull.max()
        used = given if kept.all() else given[np.flatnonzero(kept)]
        check_rows(used, settings["n_clusters"], settings["min_distinct"])
        root = root_seed(self.random_state, None if self.store is None else stored_plan(self.store))
        seeds = SeedSequence(root.entropy, spawn_key=root.spawn_key).spawn(self.n_partitions)
        work = _Work(
            make_ground(used, pull[kept]),
            None if kept.all() else given,
            kept,
            settings,
            self._told(),
            None if self.store is None else os.path.abspath(self.store),
        )
        outcomes = run_all(
            _grow_member,
            [(work, i, seed) for i, seed in enumerate(seeds)],
            store=self.store,
            described=lambda: describe_run(
                self.n_partitions,
                features,
                weights,
                describe(root),
                {"generator": "forest", **settings},
            ),
            n_jobs=self.n_jobs,
            prefer="threads",
            label="growing",
            progress=self.progress,
        )
        return Ensemble(
            [outcome.partition(f"p{i}") for i, outcome in enumerate(outcomes)],
            records=[outcome.record for outcome in outcomes],
            sample_weight=weights,
            index=features.index,
        )

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as the kernel takes them, in plain JSON types."""
        least = self.n_clusters if self.min_distinct is None else self.min_distinct
        return {
            "n_clusters": int(self.n_clusters),
            "per_draw": int(self.features_per_draw),
            "competitors": int(self.n_competitors),
            "patience": int(self.patience),
            "pairs": self.kappa == "pairs",
            "duplicates": bool(self.allow_duplicates),
            "exhaustive": bool(self.exhaustive),
            # One distinct row has nothing between clusters: kappa is infinite.
            "min_distinct": max(int(least), 2),
            "hartigan": self.algorithm == "hartigan",
            "n_init": int(self.n_init),
            "max_iter": int(self.max_iter),
        }

    def _told(self) -> dict[str, Any]:
        """Return the parameters that stand in every record."""
        return {
            "n_clusters": int(self.n_clusters),
            "n_init": int(self.n_init),
            "max_iter": int(self.max_iter),
            "features_per_draw": int(self.features_per_draw),
            "n_competitors": int(self.n_competitors),
            "patience": None if self.exhaustive else int(self.patience),
            "kappa": self.kappa,
        }


@dataclass(frozen=True)
class _Work:
    """What all vectors of a run share."""

    ground: Ground
    every: Matrix | None  # all rows, when some have no weight
    kept: np.ndarray  # rows with a weight
    settings: dict[str, Any]
    told: dict[str, Any]
    store: str | None


def _grow_member(task: tuple[_Work, int, SeedSequence]) -> Outcome:
    """Grow one vector and record what came of it."""
    work, i, seed = task
    started = time.perf_counter()
    grown = grow_vector(work.ground, work.settings, seed)
    labels, k = _all_labels(work, grown)
    details = {"kappa_path": [float(v) for v in grown.kappa_path], "tries": grown.tries}
    record = PartitionRecord(
        generator="forest",
        algorithm="hartigan" if work.settings["hartigan"] else "kmeans",
        params=work.told | details,
        seed=describe(seed),
        columns=grown.columns,
        n_clusters=k,
        cost=float(grown.kappa_path[-1]),
        seconds=time.perf_counter() - started,
    )
    outcome = Outcome(labels, record)
    if work.store is not None:
        write_outcome(work.store, i, outcome)
    return outcome


def _all_labels(work: _Work, grown: Grown) -> tuple[np.ndarray, int]:
    """Return the codes of all points and their number; rows without weight join the nearest."""
    present = np.bincount(grown.labels) > 0
    k = int(present.sum())
    kind = smallest_type(k)
    labels = (np.cumsum(present) - 1)[grown.labels]
    if work.every is None:
        return labels.astype(kind), k
    used = work.ground.columns.take(grown.columns).astype(np.float64)
    weights = work.ground.weights
    mass = np.bincount(labels, weights=weights)
    centres = np.stack(
        [np.bincount(labels, weights=weights * column) / mass for column in used.T], axis=1
    )
    rest = work.every[np.flatnonzero(~work.kept)][:, grown.columns]
    rows = rest.toarray() if sparse.issparse(rest) else rest
    codes = np.empty(work.kept.size, dtype=kind)
    codes[work.kept] = labels
    codes[~work.kept] = nearest_center(rows.astype(np.float64), centres)
    return codes, k
