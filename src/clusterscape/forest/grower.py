"""ForestGrower: clustering vectors that grow by columns as long as kappa falls."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse
from sklearn.base import BaseEstimator

from clusterscape._core.labels import smallest_type
from clusterscape._core.params import Instance, Integer, Null, Rules, check_params
from clusterscape._core.seeds import RandomState, describe, spawn
from clusterscape._core.store import stored_plan
from clusterscape._core.weights import optional_weights
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.records import PartitionRecord
from clusterscape.forest.growth import (
    GrownVector,
    GrowthData,
    GrowthSettings,
    check_rows,
    grow_vector,
)
from clusterscape.forest.parameters import GROWTH_RULES, RUN_RULES, documented
from clusterscape.generate.features import Matrix, read_features
from clusterscape.generate.members import Outcome, describe_run, run_all, write_outcome
from clusterscape.generate.plan import root_seed
from clusterscape.linalg.distances import check_range
from clusterscape.linalg.kmeans import nearest_center

# A weight below this share of the largest cannot pull a centre; such rows are labelled as those of
# weight zero are.
_NO_WEIGHT = 1e-30
# The settings that are in every record.
_RECORDED = (
    "n_clusters",
    "n_init",
    "max_iter",
    "features_per_draw",
    "n_competitors",
    "patience",
    "kappa",
)


@documented
class ForestGrower(BaseEstimator):
    """Grow clustering vectors: sets of columns on which k-means finds clean clusters.

    A vector begins with a few random columns and draws more, a few at a time. A draw is kept when
    k-means on all columns lowers kappa, the sum of squares within clusters over that between
    them; after ``patience`` draws in a row that did not, the vector is finished and its last
    partition is a member of the ensemble. Columns of noise raise kappa and are not kept. These are
    Algorithms 1 and 2 of Cluster Forests [1]_.

    Parameters
    ----------
    n_partitions : int
        Number of clustering vectors (T in the paper).
    n_clusters : int
        Clusters of each k-means.
    <growth parameters>
    <run parameters>
    store : path or None
        A directory that receives every finished vector; the same call after an interruption grows
        only those that are missing.

    See Also
    --------
    ClusterForest : Vectors, and one clustering made of them.
    clusterscape.generate.random_features : Partitions on random columns, without growth.

    Notes
    -----
    k-means sees squared differences: a column with a much larger scale than the others decides
    every vector that it is in. Scale the columns unless their units are the same. The method fails
    where no small set of columns shows the clusters, and where clusters are not round.

    A start that comes to a partition through which an earlier one went is stopped, because it
    would end in the same place; this saves time and changes no result. kappa must fall by a share
    of at least 1e-9, so that rounding is not taken for a gain.

    Memory is that of X by columns (a copy, unless X is Fortran-ordered or sparse by columns), and
    for every worker the columns of a vector. Sparse columns are dense only while in use.

    References
    ----------
    <references>

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
        **GROWTH_RULES,
        **RUN_RULES,
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
            Non-negative weights of the points; a point of weight 2 counts like two equal points. A
            point of weight 0 gets the cluster of the nearest centre.
        index : array, optional
            Ids of the points; by default the index of a pandas data frame.

        Returns
        -------
        Ensemble
            One partition per vector. In its record, ``columns`` are the columns in the order in
            which they were accepted (one accepted twice is listed twice), ``cost`` is kappa, and
            ``params`` have the ``kappa_path`` (kappa of the first columns, then after each
            acceptance) and the number of ``tries`` after the first columns.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        features = read_features(X, index=index)
        if len(features.views) > 1:
            raise ValueError(
                f"X is a list of {len(features.views)} matrices; ForestGrower takes one. Join them "
                f"by columns, or grow an ensemble on each and put them together."
            )
        weights = optional_weights(sample_weight, features.n_points)
        settings = self._settings()
        run = _Run.of(features.views[0], weights, settings, self.store)
        root = root_seed(self.random_state, None if self.store is None else stored_plan(self.store))
        seeds = spawn(root, self.n_partitions)
        outcomes = run_all(
            _grow_member,
            [(run, i, seed) for i, seed in enumerate(seeds)],
            store=self.store,
            described=lambda: describe_run(
                self.n_partitions,
                features,
                weights,
                describe(root),
                {"generator": "forest", **asdict(settings)},
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

    def _settings(self) -> GrowthSettings:
        least = self.n_clusters if self.min_distinct is None else self.min_distinct
        return GrowthSettings(
            n_clusters=int(self.n_clusters),
            features_per_draw=int(self.features_per_draw),
            n_competitors=int(self.n_competitors),
            patience=int(self.patience),
            kappa=self.kappa,
            allow_duplicates=bool(self.allow_duplicates),
            # One distinct row has nothing between clusters: kappa is infinite.
            min_distinct=max(int(least), 2),
            exhaustive=bool(self.exhaustive),
            algorithm=self.algorithm,
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
        )


@dataclass(frozen=True)
class _Run:
    """What all vectors of a run share."""

    data: GrowthData  # of the rows with a weight
    all_rows: Matrix
    has_weight: np.ndarray
    settings: GrowthSettings
    store: str | None

    @classmethod
    def of(
        cls,
        X: Matrix,
        weights: np.ndarray | None,
        settings: GrowthSettings,
        store: str | os.PathLike[str] | None,
    ) -> _Run:
        """Check the data and put them into the form in which vectors grow."""
        check_range(X, "X")
        weight = np.ones(X.shape[0]) if weights is None else weights
        has_weight = weight > _NO_WEIGHT * weight.max()
        used = X if has_weight.all() else X[np.flatnonzero(has_weight)]
        check_rows(used, settings.n_clusters, settings.min_distinct)
        folder = None if store is None else os.path.abspath(store)
        return cls(GrowthData.of(used, weight[has_weight]), X, has_weight, settings, folder)


def _grow_member(task: tuple[_Run, int, SeedSequence]) -> Outcome:
    """Grow one vector and record the result."""
    run, i, seed = task
    started = time.perf_counter()
    vector = grow_vector(run.data, run.settings, seed)
    labels, k = _all_labels(run, vector)
    given = asdict(run.settings)
    params = {name: given[name] for name in _RECORDED}
    params |= {"kappa_path": vector.kappa_path, "tries": vector.n_tries}
    if run.settings.exhaustive:
        params["patience"] = None
    record = PartitionRecord(
        generator="forest",
        algorithm="hartigan" if run.settings.algorithm == "hartigan" else "kmeans",
        params=params,
        seed=describe(seed),
        columns=vector.columns,
        n_clusters=k,
        cost=vector.kappa_path[-1],
        seconds=time.perf_counter() - started,
    )
    outcome = Outcome(labels, record)
    if run.store is not None:
        write_outcome(run.store, i, outcome)
    return outcome


def _all_labels(run: _Run, vector: GrownVector) -> tuple[np.ndarray, int]:
    """Return the labels of all points and their number; rows without weight join the nearest."""
    present = np.bincount(vector.labels) > 0
    k = int(present.sum())
    labels = (np.cumsum(present) - 1)[vector.labels]
    if run.has_weight.all():
        return labels.astype(smallest_type(k)), k
    used = run.data.features.take(vector.columns).astype(np.float64)
    weights = run.data.weights
    mass = np.bincount(labels, weights=weights)
    centers = np.stack(
        [np.bincount(labels, weights=weights * column) / mass for column in used.T], axis=1
    )
    others = run.all_rows[np.flatnonzero(~run.has_weight)][:, vector.columns]
    rows = others.toarray() if sparse.issparse(others) else others
    every = np.empty(run.has_weight.size, dtype=smallest_type(k))
    every[run.has_weight] = labels
    every[~run.has_weight] = nearest_center(rows.astype(np.float64), centers)
    return every, k
