"""ConsensusClustering: many clusterings of the features, one answer, and what to believe of it."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from joblib import parallel_config
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from clusterscape import combine, generate
from clusterscape._core.errors import ParameterError, ParameterWarning
from clusterscape._core.frames import Library, in_library
from clusterscape._core.labels import canonical
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    Integer,
    Null,
    Rules,
    Seed,
    Such,
    check_params,
)
from clusterscape._core.progress import log, showing
from clusterscape._core.rows import RowSource, as_rows
from clusterscape._core.seeds import RandomState, parent, restore, spawn
from clusterscape._core.store import stored_plan
from clusterscape.combine import BaseConsensus, MethodChoice, choose_method
from clusterscape.combine.blocked import BlockedLabels, OneGroup, tally, transfer_in_blocks
from clusterscape.combine.result import ResultMixin, points_frame
from clusterscape.combine.scores import ConsensusScores
from clusterscape.combine.transfer import LabelTransfer
from clusterscape.ensemble import BlockedEnsemble, Ensemble, as_ensemble
from clusterscape.generate import EnsembleGenerator, diverse_precomputed, generator_for
from clusterscape.generate.assign import Assigner
from clusterscape.generate.features import (
    Features,
    count_distinct_rows,
    point_ids,
    rows_of,
    validated_features,
)
from clusterscape.generate.generator import Generated
from clusterscape.generate.plan import EXACT
from clusterscape.generate.precomputed import METRIC, Metric, Relations, read_relations
from clusterscape.generate.scales import warn_of_features
from clusterscape.semisupervised.base import constraints_of
from clusterscape.semisupervised.constraints import Constraints, Violations
from clusterscape.semisupervised.queries import suggest_queries
from clusterscape.semisupervised.votes import InfeasibleError, enforced, weighed
from clusterscape.validate import (
    ClusterDescription,
    KSelection,
    StructureVerdict,
    describe_clusters,
    select_k,
    structure_test,
)
from clusterscape.validate.description import check_order

_MORE_CLUSTERS = 20  # than were chosen, that are tried where constraints do not fit
_SHARE = 5  # one member more, with the number of clusters that was chosen, for so many


class NoStructureWarning(ParameterWarning):
    """Clusters were asked for where the data show none.

    Examples
    --------
    >>> import warnings
    >>> from clusterscape.model import NoStructureWarning
    >>> warnings.simplefilter("ignore", NoStructureWarning)
    """


_RANGE = Such(
    lambda v: isinstance(v, tuple) and len(v) == 2 and Integer(1).allows(v[0])
    and Integer(2).allows(v[1]) and v[0] <= v[1],
    "a pair (least, most) of integers",
    refused=[(3, 2), (2,), (0, 4)],
)  # fmt: skip


def _refuse_in_blocks(rows: RowSource, **of_points: Any) -> None:
    """Refuse what is said of single points where they are read in blocks, before they are read."""
    for name, given in of_points.items():
        if given is not None:
            raise ValueError(
                f"{name}: points that are read in blocks are known by their numbers alone; "
                f"leave {name} out, or read all rows into memory "
                f"({rows.nbytes / 2**20:,.0f} MB)."
            )


def _one_cluster(ensemble: Ensemble) -> Any:
    """Return the labels of one cluster of all points that some partition put in a cluster."""
    if isinstance(ensemble, BlockedEnsemble):
        rule = OneGroup()
        return BlockedLabels(ensemble, rule, tally(ensemble, rule))
    return np.where(ensemble.in_clusters(), 0, -1)


class ConsensusClustering(
    ResultMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Cluster many times, combine the clusterings, and say how far each label can be believed.

    Parameters
    ----------
    n_clusters : int, "auto" or (least, most), optional
        Number of clusters. None and "auto" choose it by :func:`~clusterscape.validate.select_k`
        from 2 to ``max_clusters``, a pair from its own range; ``k_selection_`` has the table of the
        candidates, and ``select_k(model.ensemble_, features=X, criteria="all")`` has more of it.
        The answer is 1 when the test for structure finds none (without the test, at least 2).
    generator : EnsembleGenerator or str
        What makes the partitions: the name of a preset of :mod:`clusterscape.generate`, or a
        generator, which is used as it is. "diverse" has members of several kinds (spectral
        clusterings, Genie linkages, mixtures, k-means), so that no single idea of a cluster
        decides; sparse features are compared by their angles. "random_k" is k-means alone.
    consensus : str or consensus estimator
        What combines them: "auto" (:func:`~clusterscape.combine.choose_method` picks one by the
        ensemble's size, and ``consensus_choice_`` says which and why), a name of
        ``clusterscape.combine.METHODS``, or an estimator, whose ``n_clusters`` is then set. A
        method that finds the number of clusters by a rule of its own (EAC, majority vote) keeps
        that rule when ``n_clusters`` is None.
    n_partitions : int
        Number of partitions; a generator that is given as an object keeps its own. When "diverse"
        members choose the number of clusters, a fifth as many with that number are added.
    n_references : int
        Reference datasets of each kind in :func:`~clusterscape.validate.structure_test`, at least
        3; 0 skips the test, and ``structure_`` is then None.
    max_clusters : int, optional
        Largest number of clusters to choose. None begins with 20, and goes on to twice as many as
        long as there seem to be more.
    metric : {None, "precomputed", "precomputed_affinity"}
        What X holds: features, distances between the points, or similarities, as in
        :class:`~clusterscape.generate.EnsembleGenerator`. Without features "diverse"
        is :func:`~clusterscape.generate.diverse_precomputed`, the number of clusters is chosen
        from the partitions as always, and there is no test for structure (``structure_`` is
        None), because its references are drawn in the space of the features.
    random_state : int, generator or None
        The same seed gives the same result, for any ``n_jobs``.
    n_jobs : int or None
        Workers.
    progress : bool or None
        Show progress on stderr; None shows it on a terminal only.
    store : path, optional
        Folder in which finished partitions are kept; an interrupted fit resumes from it.

    Attributes
    ----------
    labels_ : (n,) array
        Clusters numbered by decreasing size; -1 for a point that no partition put in a cluster.
    n_clusters_ : int
        Number of clusters.
    membership_ : (n, n_clusters_) array
        Share of the partitions' votes on each point that each cluster has; rows sum to one (zeros
        for -1).
    confidence_ : (n,) array
        In [0, 1]: the share of the votes for the point's own cluster, which means the same for
        every generator; see :func:`~clusterscape.combine.consensus_scores`. It is 0 throughout when
        there is one cluster, and NaN throughout when the partitions are all the same (a
        :class:`~clusterscape.combine.OneOpinionWarning` says so). The test for structure does not
        change it: read ``structure_`` beside it.
    cluster_consensus_ : (n_clusters_,) array
        Mean co-association of the pairs within each cluster; NaN for a cluster of one point. It is
        low when the partitions are much finer than the clusters: compare clusters, not datasets.
    ensemble_ : Ensemble
        The partitions. Where members of "diverse" cluster samples (see Notes) and the number of
        clusters was chosen, a fifth as many more follow that have just this number.
    consensus_ : estimator
        The fitted consensus function; None when there is one cluster.
    consensus_choice_ : MethodChoice or None
        What ``consensus="auto"`` chose and why; None when a method was named. Where several answers
        were compared, ``consensus_.runner_up_`` is the next best and ``consensus_.agreement_`` its
        adjusted Rand index with the one that was taken.
    k_selection_ : KSelection or None
        How the number of clusters was chosen; None when it was given.
    structure_ : StructureVerdict or None
        Whether the data have clusters at all.
    violations_ : Violations
        Constraints that the answer does not respect; of certain ones there are none.
    assigner_ : Assigner
        Gives new points the labels of the members, for :meth:`predict`; ``assigner_.unable`` lists
        the members that cannot. Absent after :meth:`fit_ensemble`.
    transfer_ : LabelTransfer
        How the members' clusters lie in the clusters found; absent after :meth:`fit_ensemble`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array
        Names of the columns, where X is a data frame whose column names are all text.

    See Also
    --------
    clusterscape.generate.EnsembleGenerator : Makes the partitions.
    clusterscape.combine.choose_method : What ``consensus="auto"`` does.
    clusterscape.forest.ClusterForest : Clusters on few columns each, for data with many columns of
        noise.
    clusterscape.io.save_model : Saves a fitted model without pickle.

    Notes
    -----
    Features are taken as they are: scale them first when their units differ. Above 20,000 points
    members cluster samples and one pass assigns all points (``rows`` of
    :class:`~clusterscape.generate.EnsembleGenerator`), so that the time is linear in the points.
    Small clusters that a sample of some thousand points hardly contains are then missed.

    References
    ----------
    A. Strehl, J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple
    partitions", Journal of Machine Learning Research 3, 2002,
    doi:10.1162/153244303321897735.

    S. Monti, P. Tamayo, J. Mesirov, T. Golub, "Consensus clustering: a resampling-based method for
    class discovery and visualization of gene expression microarray data", Machine Learning 52,
    2003, doi:10.1023/A:1023949509487.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape import ConsensusClustering
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.3, size=(50, 2)) for c in (0, 3, 6)])
    >>> model = ConsensusClustering(random_state=0).fit(X)
    >>> model.n_clusters_, np.bincount(model.labels_)
    (3, array([50, 50, 50]))
    >>> model.predict([[0.1, 0.2], [5.8, 6.1]]) == model.labels_[[0, -1]]
    array([ True,  True])
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": [Null(), Integer(1), Choice("auto"), _RANGE],
        "generator": [Instance(EnsembleGenerator), Choice(*generate.PRESETS)],
        "consensus": [Choice("auto", registry=combine.METHODS), Instance(BaseConsensus)],
        "n_partitions": [Integer(1)],
        "n_references": [
            Such(lambda v: v == 0 or Integer(3).allows(v), "0 or an integer >= 3", [2, -1]),
        ],
        "max_clusters": [Null(), Integer(2)],
        "metric": METRIC,
        "random_state": [Seed()],
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
        "store": [Null(), Instance(str, os.PathLike)],
    }

    def __init__(
        self,
        n_clusters: int | str | tuple[int, int] | None = None,
        *,
        generator: EnsembleGenerator | str = "diverse",
        consensus: BaseConsensus | str = "auto",
        n_partitions: int = 100,
        n_references: int = 10,
        max_clusters: int | None = None,
        metric: Metric = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.generator = generator
        self.consensus = consensus
        self.n_partitions = n_partitions
        self.n_references = n_references
        self.max_clusters = max_clusters
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.store = store

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        index: Any = None,
        constraints: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Generate the partitions, combine them, and score the result.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            Features, or a matrix between the points (see ``metric``).
        y : ignored
            Not used, present for API consistency.
        index : (n,) array, optional
            The points' ids; by default the index of a pandas data frame.
        constraints : Constraints or (n, n) matrix, optional
            What is known of the points (:class:`~clusterscape.semisupervised.Constraints`). Members
            are made without it and weighed by how well they respect it, where it is about 50 points
            or more; certain constraints are respected in the answer, at the least loss of votes. A
            number of clusters that is chosen here is at least the number of groups that must be
            apart.
        sample_weight : (n,) array, optional
            How many points each point stands for, >= 0. Members whose mathematics has weights use
            them (k-means and k-medoids; a warning names the others), and so do the methods that
            combine. The test for structure counts every point once.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        if self.metric is not None:
            relations = read_relations(X, self.metric, index=index)
            return self._fit_relations(relations, constraints, sample_weight)
        source = as_rows(X)
        if source is not None:
            of_points = {"index": index, "constraints": constraints}
            _refuse_in_blocks(source, **of_points, sample_weight=sample_weight)
        with self._workers():
            rows = rows_of(X if source is None else source, n_jobs=self.n_jobs)
        if rows is not None:
            return self._fit_blocks(rows)
        ids = point_ids(X) if index is None else index
        X = validated_features(self, X, contiguous=False)
        n = X.shape[0]
        self._check_count(X)
        known = None if constraints is None else constraints_of(constraints, None, n, names=ids)
        seeds = self._seeds()
        generator = self._generator(X.shape, seeds[0], sparse=sparse.issparse(X))
        metric = generator.distance
        names = getattr(self, "feature_names_in_", None)
        warn_of_features(X, names, who=type(self).__name__, metric=metric, stacklevel=2)
        with showing(self.progress), self._workers():
            # First, because it refuses a store of another run and counts that do not fit.
            features = Features.of(X, ids)
            made = generator.generate_with_assigner(features, sample_weight=sample_weight)
            log.info("%s", made.ensemble)
            self.structure_ = self._test(features, metric, seeds[2])
            self.k_selection_: KSelection | None = None
            if self._asked is None:
                self.ensemble_ = made.ensemble if known is None else weighed(made.ensemble, known)
                self._choose_k(X, seeds[1])
                made = self._with_chosen_k(made, features, X.shape, metric)
            self._conclude(made.ensemble, seeds[1], X, known)
            self.assigner_: Assigner = made.assigner
            self.transfer_ = LabelTransfer.of(
                self.ensemble_, self.labels_, comparable=not self._scores().message
            )
        return self

    def _fit_blocks(self, rows: RowSource) -> Self:
        """Fit to features that are read in blocks."""
        if len(rows) <= 2 * EXACT:  # so few that some members may cluster all of them
            return self.fit(rows.gather())
        self.n_features_in_ = rows.shape[1]
        self._check_count(rows)
        seeds = self._seeds()
        generator = self._generator((len(rows), rows.shape[1]), seeds[0])
        metric = generator.distance
        warn_of_features(rows, None, who=type(self).__name__, metric=metric, stacklevel=3)
        with showing(self.progress), self._workers():
            with rows.workers.joblib():
                made = generator.generate_with_assigner(rows)
            self.structure_ = self._test(rows, metric, seeds[2])
            self.ensemble_ = made.ensemble
            self.k_selection_ = None
            if self._asked is None:
                self._choose_k(rows, seeds[1])
                with rows.workers.joblib():
                    made = self._with_chosen_k(made, rows, rows.shape, metric)
                self.ensemble_ = made.ensemble
            self._combine(seeds[1], rows, 1)
            self.violations_ = Violations()
            self._score()
            self.assigner_ = made.assigner
            found: Any = self.ensemble_, self.labels_
            self.transfer_ = transfer_in_blocks(*found, comparable=not self._scores().message)
        return self

    def _check_count(self, X: Any) -> None:
        """Refuse more clusters than points, or than different points."""
        n = X.shape[0]
        if (self._asked or 0) > n:
            raise ParameterError(
                f"{{n_clusters}} is more than the {n} samples in X; ask for fewer.",
                n_clusters=self.n_clusters,
            )
        found = count_distinct_rows(X, self._asked or 1)
        if found < (self._asked or 1):
            raise ParameterError(
                f"{{n_clusters}} is more than the {found} different points in X; ask for fewer.",
                n_clusters=self.n_clusters,
            )

    def _workers(self) -> AbstractContextManager[Any]:
        """Give what has no ``n_jobs`` of its own the workers of this estimator."""
        return nullcontext() if self.n_jobs is None else parallel_config(n_jobs=self.n_jobs)

    def _fit_relations(
        self, relations: Relations, constraints: Any, sample_weight: Any = None
    ) -> Self:
        """Fit to distances or similarities."""
        relation, seeds = relations.views[0], self._seeds()
        known = None
        if constraints is not None:
            points, ids = relation.shape[0], relations.index
            known = constraints_of(constraints, None, points, names=ids)
        generator = self._generator(relation.shape, seeds[0], graph=relation.is_graph)
        self.structure_ = self.k_selection_ = None
        self._forget_features()
        self.n_features_in_ = relation.shape[0]
        with showing(self.progress), self._workers():
            ensemble = generator.generate(
                relation.matrix, sample_weight=sample_weight, index=relations.index
            )
            self._conclude(ensemble, seeds[1], None, known)
        return self

    def _forget_features(self) -> None:
        if hasattr(self, "assigner_"):
            del self.assigner_, self.transfer_  # of an earlier fit

    def fit_ensemble(self, ensemble: Any, *, features: Any = None, constraints: Any = None) -> Self:
        """Combine and score clusterings that exist already; nothing is clustered anew.

        Parameters
        ----------
        ensemble : Ensemble or (n, r) labels
            The partitions.
        features : array, optional
            Features of the points, for a consensus that uses them.
        constraints : Constraints or (n, n) matrix, optional
            What is known of the points, as in :meth:`fit`.

        Returns
        -------
        self
            With the attributes of :meth:`fit`. Without features there is no test for structure
            (``structure_`` is None) and no ``predict``.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        self.structure_ = self.k_selection_ = None
        self._forget_features()
        with showing(self.progress), self._workers():
            votes = as_ensemble(ensemble)
            known = None
            if constraints is not None:
                known = constraints_of(constraints, None, votes.n_points, names=votes.index)
            self._conclude(votes, self._seeds()[1], features, known)
        return self

    def make_generator(
        self, n_points: int, n_features: int, *, sparse: bool = False
    ) -> EnsembleGenerator:
        """Return the generator that :meth:`fit` would use for data of this shape, seed included.

        Parameters
        ----------
        n_points, n_features : int
            Shape of the data.
        sparse : bool
            Whether the data are sparse.

        Returns
        -------
        EnsembleGenerator
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        return self._generator((n_points, n_features), self._seeds()[0], sparse=sparse)

    def _seeds(self) -> list[np.random.SeedSequence]:
        """Return the seeds of generation, consensus and test.

        Without ``random_state``, a store that exists has the seed that it was begun with.
        """
        fresh = self.random_state is not None or self.store is None
        plan = None if fresh else stored_plan(str(self.store))
        if plan is None:
            return spawn(self.random_state, 3)
        return spawn(parent(restore(plan["seed"])), 3)

    def _generator(
        self,
        shape: tuple[int, int],
        seed: np.random.SeedSequence,
        *,
        graph: bool = False,
        sparse: bool = False,
    ) -> EnsembleGenerator:
        """Return a copy of the generator with this estimator's seed, workers and store."""
        counts: dict[str, Any] = {
            "n_partitions": self.n_partitions,
            "n_clusters": self._asked,
        }
        if isinstance(self.generator, EnsembleGenerator):
            made = clone(self.generator)
        elif self.metric is not None:
            if self.generator != "diverse":
                raise ParameterError(
                    f"{{generator}} makes its members from features, but metric={self.metric!r} "
                    "says that X is a matrix between points; leave {generator.name} out, or give "
                    "an EnsembleGenerator whose algorithm needs no features.",
                    generator=self.generator,
                )
            made = diverse_precomputed(**counts, metric=self.metric, graph=graph)
        else:
            most = self.n_clusters[1] if isinstance(self.n_clusters, tuple) else self.max_clusters
            if most is not None:
                counts["max_clusters"] = most
            made = generator_for(shape[0], shape[1], preset=self.generator, sparse=sparse, **counts)
        mine = {
            "metric": self.metric,
            "random_state": seed,
            "n_jobs": self.n_jobs,
            "progress": self.progress,
            "store": self.store,
        }
        return made.set_params(
            **{name: value for name, value in mine.items() if getattr(made, name) is None}
        )

    def _conclude(
        self,
        ensemble: Ensemble,
        seed: np.random.SeedSequence,
        features: Any,
        known: Constraints | None,
    ) -> None:
        """Choose k where nobody has, combine, respect what is known, and score."""
        self.ensemble_ = ensemble if known is None else weighed(ensemble, known)
        if self._asked is None and self.k_selection_ is None:
            self._choose_k(features, seed)
        if self.structure_ is not None:
            log.info("structure: %s", self.structure_.message)
        if self.k_selection_ is not None:
            log.info("number of clusters: %s", self.k_selection_.reason)
        self._combine(seed, features, 1 if known is None else known.closure.least_clusters())
        if self.consensus_choice_ is not None:
            log.info("consensus: %s", self.consensus_choice_.reason)
        self.violations_ = Violations() if known is None else self._respect(known)
        self._score()
        log.info("%d clusters of %d points", self.n_clusters_, len(self.labels_))

    def _respect(self, known: Constraints) -> Violations:
        """Move as few votes as possible so that certain constraints hold; return what does not."""
        if len(known):
            votes = self._compute_scores().membership
            k = max(self.n_clusters_, self._asked or known.closure.least_clusters())
            self.labels_ = canonical(self._placed(votes, known, k))
            self.n_clusters_ = int(self.labels_.max()) + 1
        return known.violations(self.labels_)

    def _placed(self, votes: np.ndarray, known: Constraints, k: int) -> np.ndarray:
        """Return labels in k clusters that respect the constraints; in more where k was chosen."""
        for more in range(_MORE_CLUSTERS):
            try:
                return enforced(votes, self.labels_, known, n_clusters=k + more)
            except InfeasibleError:
                if self._asked is not None or more == _MORE_CLUSTERS - 1:
                    raise
        raise AssertionError("unreachable")

    def _with_chosen_k(
        self, made: Generated, X: Any, shape: tuple[int, ...], metric: Any
    ) -> Generated:
        """Add members with the number of clusters that was chosen, where others are "diverse".

        Where the number is not known hardly any member has it, and what a kind makes of just k
        clusters cannot be chosen. Members on samples also blur borders, the finer ones more, and by
        those with k the others are placed.
        """
        assert self.k_selection_ is not None
        k = self.k_selection_.n_clusters
        if self.generator != "diverse" or k == 1:
            return made
        size = {"n_points": shape[0], "n_features": shape[1]}
        kinds = generate.diverse(n_clusters=k, metric=metric, **size).algorithm
        more = EnsembleGenerator(
            max(self.n_partitions // _SHARE, 1),
            algorithm=[kind for kind in kinds if kind.n_clusters == k],
            n_jobs=self.n_jobs,
            progress=self.progress,
        )
        return more.add_to(made, X)

    def _test(self, X: Any, metric: Any, seed: np.random.SeedSequence) -> StructureVerdict | None:
        if self.n_references == 0:
            return None
        settings: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
        return structure_test(X, n_references=self.n_references, metric=metric, **settings)

    @property
    def _asked(self) -> int | None:
        """The number of clusters that was given, None if it is to be chosen."""
        return None if isinstance(self.n_clusters, (str, tuple)) else self.n_clusters

    def _choose_k(self, features: Any, seed: np.random.SeedSequence) -> None:
        """Choose the number of clusters, and record how."""
        ks = None if self.max_clusters is None else (2, self.max_clusters)
        if isinstance(self.n_clusters, tuple):
            ks = self.n_clusters
        angles = any(record.compares_angles for record in self.ensemble_.records)
        chosen = select_k(
            self.ensemble_,
            ks,
            features=features,
            metric="cosine" if angles else "euclidean",
            random_state=seed.spawn(1)[0],
            n_jobs=self.n_jobs,
        )
        if self.structure_ is not None and not self.structure_.found:
            message = self.structure_.message
            chosen = replace(chosen, n_clusters=1, criterion="test for structure", reason=message)
        self.k_selection_ = chosen

    def _combine(self, seed: np.random.SeedSequence, features: Any, least: int) -> None:
        k = self._asked if self.k_selection_ is None else self.k_selection_.n_clusters
        if self.k_selection_ is not None and self.k_selection_.n_clusters < least:
            k = least
            reason = f"the constraints keep {least} groups of points apart from each other."
            self.k_selection_ = replace(
                self.k_selection_, n_clusters=k, criterion="constraints", reason=reason
            )
        unstructured = self.structure_ is not None and not self.structure_.found
        self.consensus_choice_: MethodChoice | None = None
        method = self._method(k)
        rule = method.k_rule() if self._asked is None else ""
        if k == 1 and (unstructured or not rule):
            self.consensus_ = None
            self.labels_ = _one_cluster(self.ensemble_)
            self.n_clusters_ = 1
            return
        names = method.get_params(deep=False)
        settings: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
        settings = {n: v for n, v in settings.items() if n in names and names[n] is None}
        if "n_clusters" in names and not rule:
            settings["n_clusters"] = k
        self.consensus_ = method.set_params(**settings).fit(self.ensemble_, features=features)
        self.labels_ = method.labels_
        self.n_clusters_ = method.n_clusters_
        if self.k_selection_ is not None and rule:
            self.k_selection_ = replace(
                self.k_selection_,
                n_clusters=method.n_clusters_,
                criterion=rule,
                reason=f"{type(method).__name__} found {method.n_clusters_} clusters by its rule.",
            )

    def _method(self, k: int | None) -> BaseConsensus:
        """Return a fresh consensus estimator."""
        if isinstance(self.consensus, BaseConsensus):
            method = clone(self.consensus)
        elif self.consensus == "auto":
            self.consensus_choice_ = choose_method(self.ensemble_, k)
            method = self.consensus_choice_.make()
        else:
            method = combine.METHODS[self.consensus].estimator()
        if self._asked is not None and "n_clusters" not in method.get_params(deep=False):
            raise ParameterError(
                f"{type(method).__name__} does not take n_clusters (got {{n_clusters}}): it finds "
                "the number of clusters itself. Leave {n_clusters.name} out, or choose another "
                "{consensus.name}.",
                n_clusters=self.n_clusters,
            )
        return method

    def _score(self) -> None:
        """Turn the ensemble's votes into memberships and confidences."""
        scores = self._scores(stacklevel=6)
        self.membership_ = scores.membership
        found = self.structure_ is None or self.structure_.found
        if (self._asked or 1) > 1 and not found:
            assert self.structure_ is not None
            warning = NoStructureWarning(
                f"{{n_clusters}} was asked for, {self.n_clusters_} returned. "
                f"{self.structure_.message}",
                n_clusters=self.n_clusters,
            )
            warnings.warn(warning, stacklevel=4)

    def describe(self, X: Any, *, n_columns: int = 5) -> ClusterDescription:
        """Find the columns that tell each cluster from all other points.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The points of ``fit`` in the same order: the features, best in their own units, or any
            other columns, also of words. An index that names other points, or in another order, is
            refused.
        n_columns : int
            Columns for each cluster.

        Returns
        -------
        ClusterDescription
            See :func:`~clusterscape.validate.describe_clusters`, also for what it cannot say.
        """
        check_is_fitted(self)
        check_order(X, self.ensemble_, "X")
        return describe_clusters(X, self.labels_, n_columns=n_columns)

    def suggest_queries(self, n: int = 10, *, constraints: Any = None) -> pd.DataFrame:
        """Return the pairs of points to ask an expert about next: together, or apart?

        Parameters
        ----------
        n : int
            Pairs.
        constraints : Constraints, optional
            What is known already, and is not asked again.

        Returns
        -------
        pandas.DataFrame
            As :func:`~clusterscape.semisupervised.suggest_queries` has it. Give the answers to
            :meth:`fit` as ``constraints``.
        """
        check_is_fitted(self)
        return suggest_queries(self.ensemble_, self.labels_, n, constraints=constraints)

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of new points: the consensus of what the members say of them.

        Every member assigns the points by its centres, densities or landmarks (``assigner_``), and
        divides its vote among the clusters as the points of ``fit`` in its own cluster are divided
        (``transfer_``). This is linear in the new points, and the points of ``fit`` are not needed.
        For these themselves the answer is nearly always that of ``labels_``; constraints given to
        ``fit`` are not applied again.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features, or the distances (or similarities) of the new points to those of ``fit``; of a
            sparse matrix only what is stored counts, as in a graph of near neighbours.

        Returns
        -------
        (m,) array
            Labels as in ``labels_``; -1 for a point that no member puts in a cluster, or that is
            linked to no point of ``fit``. A point gets a cluster however far it is from all others.
        """
        check_is_fitted(self)
        if self.metric is not None:
            return self._predict_relations(X)
        labels = self._assigned(X)
        return self.transfer_.predict(labels)

    def predict_membership(self, X: Any) -> np.ndarray:
        """Return the memberships of new points, as ``membership_`` has them for those of ``fit``.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        (m, k) array
            Share of the votes on each point that each cluster has; rows sum to one, or are zero
            for points that no member puts in a cluster. They are evidence, not probabilities.
        """
        labels = self._assigned(X)
        return self.transfer_.membership(labels)

    def transform(self, X: Any) -> np.ndarray:
        """Return the memberships of points as features, as :meth:`predict_membership` has them.

        For a pipeline that goes on; with ``set_output`` the columns are named and become a frame.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.

        Returns
        -------
        (m, k) array
        """
        return self.predict_membership(X)

    @property
    def _n_features_out(self) -> int:
        return self.n_clusters_

    def score(self, X: Any, y: Any = None) -> float:
        """Return how well the clusters of points are known: more is better.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features.
        y : (m,) array, optional
            Known classes.

        Returns
        -------
        float
            With ``y`` the adjusted Rand index of :meth:`predict` and the classes; without it the
            mean confidence of the points, in [0, 1]. The second compares answers with the same
            number of clusters; to choose that number use ``n_clusters="auto"``.
        """
        if y is not None:
            return float(adjusted_rand_score(np.asarray(y), self.predict(X)))
        labels = self._assigned(X)
        shares = self.transfer_.membership(labels)
        return float(np.mean(self.transfer_.confidence(shares, self.transfer_.predict(labels))))

    def predict_frame(
        self, X: Any, *, membership: bool = False, library: Library = "pandas"
    ) -> Any:
        """Return what ``to_frame`` has for the points of ``fit``, for new points.

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            Features. The index of a pandas frame is kept.
        membership : bool
            Add a column ``membership_0``, ``membership_1``, ... for each cluster.
        library : {"pandas", "polars"}
            Whose frame is returned.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            ``label``, ``confidence``, ``runner_up``, ``runner_up_share``.
        """
        labels = self._assigned(X)
        found = self.transfer_.predict(labels)
        shares = self.transfer_.membership(labels)
        confidence = self.transfer_.confidence(shares, found)
        message = "" if self.transfer_.comparable else "one opinion"
        scores = ConsensusScores(shares, confidence, np.empty(0), message)
        frame = points_frame(scores, found, point_ids(X), membership=membership)
        return in_library(frame, library)

    def _check_arrays(self) -> None:
        """Refuse fitted arrays that do not fit each other, as a file may hold them."""
        labels, ensemble = self.labels_, self.ensemble_
        if labels.shape != (ensemble.n_points,) or labels.max(initial=-1) >= self.n_clusters_:
            raise ValueError("the labels do not fit the points or the number of clusters")
        if not hasattr(self, "transfer_"):
            return
        ends = np.concatenate([[0], np.cumsum(self.assigner_.n_clusters)])
        if not np.array_equal(ends, self.transfer_.offsets):
            raise ValueError("the votes do not fit the clusters of the members")
        if self.transfer_.n_clusters != max(self.n_clusters_, 1):
            raise ValueError("the votes do not fit the clusters found")

    def _assigned(self, X: Any) -> np.ndarray:
        """Return the labels of new points in the members."""
        check_is_fitted(self)
        if not hasattr(self, "assigner_"):
            raise ValueError(
                "this needs members that were made of features; fit_ensemble and distances or "
                "similarities between points have none. Use fit with features."
            )
        X = validated_features(self, X, reset=False, contiguous=False)
        return self.assigner_.assign(X, n_jobs=self.n_jobs)

    def _predict_relations(self, X: Any) -> np.ndarray:
        links = check_array(X, dtype=[np.float64, np.float32], accept_sparse="csr")
        if links.shape[1] != len(self.labels_):
            raise ValueError(
                f"X has {links.shape[1]} columns, but fit saw {len(self.labels_)} points; give "
                "one row per new point and one column per point of fit."
            )
        placed = np.flatnonzero(self.labels_ >= 0)
        near = links[:, placed] if self.metric == "precomputed" else -links[:, placed]
        if not sparse.issparse(near):
            return self.labels_[placed[near.argmin(axis=1)]]
        found = np.full(near.shape[0], -1, dtype=self.labels_.dtype)
        near = near.tocoo()
        order = np.lexsort((near.col, near.data, near.row))
        rows, first = np.unique(near.row[order], return_index=True)
        found[rows] = self.labels_[placed[near.col[order[first]]]]
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric is not None
        tags.input_tags.sparse = True
        return tags
