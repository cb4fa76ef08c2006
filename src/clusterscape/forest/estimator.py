"""Cluster forests: clustering vectors grown on few columns, and a cut of what they agree on."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import canonical
from clusterscape._core.params import Choice, Integer, Null, Number, Rules, check_params
from clusterscape._core.progress import showing
from clusterscape._core.seeds import RandomState, spawn
from clusterscape._core.weights import computable_weights, optional_weights
from clusterscape.combine.base import ConsensusWarning
from clusterscape.combine.result import KSelection, ResultMixin
from clusterscape.forest import columns, vectors
from clusterscape.forest.aggregate import CutSettings, aggregate
from clusterscape.forest.grower import ForestGrower
from clusterscape.forest.n_clusters import find_n_clusters
from clusterscape.forest.parameters import GROWTH_RULES, RUN_RULES, documented
from clusterscape.generate.features import (
    Features,
    count_distinct_rows,
    point_ids,
    validated_features,
)
from clusterscape.linalg.thresholded import LARGEST_SCALE


@documented
class ClusterForest(ResultMixin, ClusterMixin, BaseEstimator):
    """Cluster forests; a clusterer of features that also says which columns matter.

    Many clustering vectors are grown (:class:`clusterscape.forest.ForestGrower`): each starts
    from a few random columns and takes others as long as they make k-means on them cleaner,
    measured by kappa, the sum of squares within clusters over that between them. The share of
    vectors that put two points together is set to zero below a threshold, scaled by ``exp``, and
    cut by normalised cuts [1]_. Columns of noise are left out, and the columns that
    the vectors took show where the clusters come from.

    **Scale the columns first, unless their units are the same.** kappa and k-means see squared
    differences: a column with a much larger scale decides every vector that it is in, and with it
    the clusters. A :class:`FeatureScaleWarning` names such a column.

    Parameters
    ----------
    n_clusters : int, optional
        Number of clusters. None finds the number first, at least 2: a small forest of four base
        clusters weighs the columns, fine k-means partitions are made on them (of at most 5,000
        points), and the largest gap in the spectrum of their co-association decides. It fails
        where clusters overlap, where most columns are noise (it then finds too few), and where
        there is only one cluster: it never returns 1.
    n_vectors : int
        Number of clustering vectors (T in the paper).
    n_base_clusters : int, optional
        Clusters of each vector; ``n_clusters`` by default. A few more can help where clusters are
        not round.
    <growth parameters>
    threshold : float
        Co-associations below it become zero (beta_2).
    scale : float, optional
        Those above it become ``exp(scale * p)`` (beta_1); a tenth of ``n_vectors`` by default, at
        most 600.
    ncut : {"recursive", "kway"}
        Repeated cuts in two, or k-means on the leading eigenvectors.
    cut : {"sign", "best"}
        Recursive: split by the sign of the eigenvector, or where the normalised cut is least.
    order : {"best", "largest"}
        Recursive: which part is split next, the one with the least normalised cut, or the largest.
        "best" may split off outliers where there are no clear clusters; "largest" cuts through a
        large cluster beside small ones. The paper does not say which it uses; see the Notes.
    landmarks : "auto", int or None
        "auto" uses all pairs of distinct rows (points with the same label in every vector are
        one row) up to 5,000 of them; above, it cuts three sets of 5,000 landmarks, drawn by weight,
        extends each to all points as :meth:`predict` does, and keeps the partition most like the
        other two. An integer: this many draws per set, whenever there are more rows. None: all
        pairs.
    max_clusters : int
        Largest number that ``n_clusters=None`` finds.
    max_gb : float
        Refuse when the pairs above the threshold would take more memory than this.
    <run parameters>

    Attributes
    ----------
    labels_ : (n,) array
        Clusters, numbered by decreasing size.
    n_clusters_ : int
        Clusters found; fewer than asked where the vectors do not distinguish more.
    ensemble_ : Ensemble
        The vectors' partitions; ``records`` have their columns.
    kappa_ : (n_vectors,) array
        kappa of each vector; less is cleaner.
    feature_occurrence_ : (n_vectors, d) CSR matrix
        How often each vector took each column.
    feature_share_ : (d,) array
        Share of the vectors that use a column.
    feature_importances_ : (d,) array
        How much each column separates the vectors' clusters, summing to 1: over the vectors that
        use it, the share of its sum of squares that lies between their clusters, weighted by
        ``1 / (1 + kappa)`` of the vector. Zeros when no vector separates anything. Among very many
        columns of noise it mostly says what was drawn; raise ``n_competitors`` there.
    cost_ : float
        Normalised cut of the regularised matrix (of the landmarks, where they were used).
    splits_ : tuple of Split
        The bipartitions in order, with parts numbered as they were made; empty for "kway".
    n_landmarks_ : int
        Landmarks that were cut; 0 when all rows were.
    landmark_agreement_ : float
        Share of all points' weight that two sets of landmarks put into the same cluster (matched
        one to one), the mean of the three pairs of sets; NaN without landmarks.
    n_base_clusters_ : int
        Clusters of each vector.
    n_iter_ : int
        Draws of columns that the longest vector accepted.
    k_selection_ : KSelection or None
        How ``n_clusters=None`` chose, with the spectrum that it looked at.
    n_features_in_, feature_names_in_ : int, array
        As in scikit-learn.

    See Also
    --------
    ForestGrower : The clustering vectors alone, as an ensemble that any method can combine.
    feature_profile : How strongly each column alone divides the points.
    choose_forest : Forests with several settings, compared without labels.
    clusterscape.ConsensusClustering : k-means partitions on all columns, and confidences.

    Notes
    -----
    Three defaults are not those of the paper, which has ``patience=3``, ``kappa="pairs"`` and
    k-means by Hartigan and Wong (``algorithm="hartigan"``): with them one column of large scale
    decides more often. What the paper leaves open, which part is split next, is decided by the
    least normalised cut: on mixtures of one large and some small clusters it found 90 to 98 % of
    the points where ``order="largest"`` found 46 to 65 %. On sets of equal classes without clear
    clusters (the paper's Robot and ImgSeg) "largest" is better, by 8 and 9 points.

    Points enter only through their labels, so all is exact on distinct rows. Growth takes most of
    the time; memory is linear in the number of points, plus the pairs of at most 5,000 rows. The
    sign cut of "recursive" cuts through a large cluster beside several small ones; vectors of
    k-means find round clusters.

    References
    ----------
    <references>

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.forest import ClusterForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 12))
    >>> X[:25, :2] += 6
    >>> forest = ClusterForest(2, n_vectors=20, n_competitors=5, random_state=0).fit(X)
    >>> np.bincount(forest.labels_), np.sort(np.argsort(forest.feature_share_)[-2:])
    (array([35, 25]), array([0, 1]))
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": (Null(), Integer(1)),
        "n_vectors": (Integer(1),),
        "n_base_clusters": (Null(), Integer(2)),
        **GROWTH_RULES,
        "threshold": (Number(0, 1),),
        "scale": (Null(), Number(0, LARGEST_SCALE, open_low=True)),
        "ncut": (Choice("recursive", "kway"),),
        "cut": (Choice("sign", "best"),),
        "order": (Choice("best", "largest"),),
        "landmarks": (Null(), Choice("auto"), Integer(2)),
        "max_clusters": (Integer(2),),
        "max_gb": (Number(0, open_low=True),),
        **RUN_RULES,
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_vectors: int = 100,
        n_base_clusters: int | None = None,
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
        threshold: float = 0.4,
        scale: float | None = None,
        ncut: Literal["recursive", "kway"] = "recursive",
        cut: Literal["sign", "best"] = "sign",
        order: Literal["best", "largest"] = "best",
        landmarks: Literal["auto"] | int | None = "auto",
        max_clusters: int = 20,
        max_gb: float = 4.0,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_vectors = n_vectors
        self.n_base_clusters = n_base_clusters
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
        self.threshold = threshold
        self.scale = scale
        self.ncut = ncut
        self.cut = cut
        self.order = order
        self.landmarks = landmarks
        self.max_clusters = max_clusters
        self.max_gb = max_gb
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, index: Any = None) -> Self:
        """Cluster the rows of X.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The points.
        y : ignored
            Present for API consistency.
        sample_weight : (n,) array, optional
            Weights of the points, in the growth and in the cut. Points of weight zero are labelled
            like new ones.
        index : (n,) array, optional
            The points' ids; by default the index of a pandas data frame.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        ids = point_ids(X) if index is None else index
        X = validated_features(self, X)
        given = optional_weights(sample_weight, X.shape[0])
        given = None if given is None else computable_weights(given)
        weights = np.ones(X.shape[0]) if given is None else given
        self._check_counts(int((weights > 0).sum()))
        choosing, growing, drawing, cutting = spawn(self.random_state, 4)
        most = max(self.n_clusters or 2, self.n_base_clusters or 2, self.max_clusters)
        weighted = X if given is None else X[np.flatnonzero(weights > 0)]
        distinct = count_distinct_rows(weighted, most)
        self.k_selection_: KSelection | None = None
        k = self.n_clusters
        if k is None and distinct > 1:
            with showing(self.progress):
                self.k_selection_ = find_n_clusters(
                    X, weights, self._grower(2, choosing), min(self.max_clusters, distinct)
                )
            k = self.k_selection_.n_clusters
        k = 1 if k is None else k
        self.n_base_clusters_ = min(self.n_base_clusters or max(k, 2), distinct)
        if distinct > 1:
            grower = self._grower(self.n_base_clusters_, growing)
            self.ensemble_ = grower.generate(Features.of(X, ids), sample_weight=given)
        else:
            alike = vectors.one_cluster(X.shape[0], self.n_vectors, given)
            self.ensemble_ = alike.with_index(ids)
        self._read_columns()
        with showing(self.progress):
            self._aggregate(X, weights, k, (drawing, cutting))
        return self

    def _check_counts(self, n: int) -> None:
        for name in ("n_clusters", "n_base_clusters"):
            asked = getattr(self, name)
            if asked is not None and asked > n:
                raise ParameterError(
                    f"{{{name}}} is more than the {n} samples in X that have a weight; ask for "
                    "fewer.",
                    **{name: asked},
                )
        marks = self.landmarks
        if isinstance(marks, (int, np.integer)) and marks < (self.n_clusters or 1):
            raise ParameterError(
                "{landmarks} is fewer than {n_clusters}; take many times as many, or 'auto'.",
                landmarks=marks,
                n_clusters=self.n_clusters,
            )

    def _grower(self, n_clusters: int, seed: SeedSequence) -> ForestGrower:
        growth = {name: getattr(self, name) for name in GROWTH_RULES}
        return ForestGrower(
            self.n_vectors,
            n_clusters=n_clusters,
            **growth,
            random_state=seed,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _read_columns(self) -> None:
        """Store which columns the vectors used."""
        costs = [record.cost for record in self.ensemble_.records]
        self.kappa_ = np.array([np.inf if cost is None else cost for cost in costs])
        used = vectors.used_columns(self.ensemble_)
        counts = columns.column_counts(used, self.n_features_in_)
        self.feature_occurrence_ = counts
        self.feature_share_ = np.asarray((counts > 0).mean(axis=0)).ravel()
        longest = max(taken.size for taken in used)
        self.n_iter_ = max(-(-longest // self.features_per_draw), 1)

    def _cut_settings(self, n_clusters: int) -> CutSettings:
        scale = min(0.1 * self.n_vectors, LARGEST_SCALE) if self.scale is None else self.scale
        return CutSettings(
            n_clusters=n_clusters,
            threshold=self.threshold,
            scale=scale,
            ncut=self.ncut,
            cut=self.cut,
            order=self.order,
            landmarks=self.landmarks,
            max_gb=self.max_gb,
            n_jobs=self.n_jobs,
        )

    def _aggregate(
        self, X: Any, weights: np.ndarray, k: int, seeds: tuple[SeedSequence, SeedSequence]
    ) -> None:
        """Cut what the vectors agree on, and keep what new points need."""
        grown = self.ensemble_.n_clusters > 0
        forest = self.ensemble_ if grown.all() else self.ensemble_.select(grown)
        self._vectors = vectors.read_vectors(X, forest, weights, n_jobs=self.n_jobs)
        self.feature_importances_ = columns.column_importances(
            self._vectors, self.kappa_[grown], self.n_features_in_
        )
        names = getattr(self, "feature_names_in_", None)
        columns.warn_of_scale(columns.dominant_column(self._vectors), names, len(grown))
        found = aggregate(forest, self._cut_settings(k), seeds)
        self._aggregated = found.made
        self.n_landmarks_, self.landmark_agreement_ = found.n_landmarks, found.agreement
        self.labels_ = canonical(found.groups, weights)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self._numbers = np.empty(int(found.groups.max()) + 1, dtype=np.int64)
        self._numbers[found.groups] = self.labels_
        self.cost_ = found.made.cut.value
        self.splits_ = found.made.cut.splits
        if self.n_clusters is not None and self.n_clusters_ < self.n_clusters:
            warning = ConsensusWarning(
                f"ClusterForest: {{n_clusters}} was asked for and {self.n_clusters_} returned: the "
                "clustering vectors do not distinguish more groups of points.",
                n_clusters=self.n_clusters,
            )
            warnings.warn(warning, stacklevel=3)

    def predict(self, X: Any) -> np.ndarray:
        """Return the clusters of new points.

        In every vector a new point belongs to the nearest centre. Its co-associations with the
        rows that were cut then give it the values of the eigenvectors, by which these were cut
        (see :meth:`clusterscape.linalg.NcutResult.extend`).

        Parameters
        ----------
        X : (m, d) array, sparse matrix or data frame
            New points.

        Returns
        -------
        (m,) array
            Labels as in ``labels_``. Points of ``fit`` get their own, unless a k-means had not
            converged or a point lies just between two centres.
        """
        check_is_fitted(self)
        X = validated_features(self, X, reset=False)
        rows = vectors.label_rows(X, self._vectors, n_jobs=self.n_jobs)
        return self._numbers[self._aggregated.labels(rows)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
