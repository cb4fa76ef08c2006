"""Landscape: many good partitions, and the few that are good and different."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from clusterscape._core import seeds as _seeds
from clusterscape._core.errors import ParameterError
from clusterscape._core.labels import NOISE, UNSAMPLED, canonical
from clusterscape._core.params import Choice, Integer, Rules, check_params
from clusterscape.compare import MEASURES, adjusted_rand, density_distances, pairwise
from clusterscape.compare.density import pair_distances
from clusterscape.ensemble import Ensemble, PartitionRecord, as_ensemble
from clusterscape.ensemble.inputs import refuse_other_names
from clusterscape.explore.columns import structured_views
from clusterscape.explore.grouping import (
    GROUPINGS,
    best_of_groups,
    grouped_apart,
    plane_of,
)
from clusterscape.explore.quality import QUALITIES, Name, values_of
from clusterscape.explore.sampler import N_CLUSTERS_RULES, SAMPLER_RULES, PartitionSampler
from clusterscape.explore.space import Space
from clusterscape.explore.starts import good_and_apart
from clusterscape.explore.views import (
    ALIKE,
    fitted,
    recurrence,
    remaining_views,
    view_partitions,
)
from clusterscape.generate.features import point_ids, read_features, validated_features

_GENERATED_COUNT, _POOL = 12, 10  # by default; partitions from which each of them is chosen
_SAMPLED, _GENERATED, _GIVEN = "sampled", "generated", "given"
_COLUMNS, _TABLE, _REMAINS = "columns", "table", "remains"  # kinds of views


class Landscape(BaseEstimator):
    """Sample many good partitions of the points, group them, and show one of each group.

    Where points can be divided well in several ways, every way is a region of good partitions.
    Chains from different starts sample them (see :class:`PartitionSampler`), a distance between
    partitions groups the samples, and the best one of each group represents it.

    A structure may be hidden from a quality on all columns by a stronger one. So views of the
    points are looked at beside the table: groups of columns that are independent of one another;
    what is left of the table without the directions of its clearest partition, and so on [4]_; or
    other tables of the same points, which you give. A view has a share of the samples, its own
    quality, and its best partition is among the representatives.

    Parameters
    ----------
    n_clusters : int or list of int
        Clusters of every sampled partition; several numbers get equal shares.
    n_samples : int
        Partitions to sample; 0 to look only at the ensemble given to :meth:`fit`.
    n_representatives : int
        Groups, and so representatives; fewer where there are fewer different partitions.
    distance : str
        "lift_emd" compares partitions by where their clusters lie; any other distance of
        :data:`clusterscape.compare.MEASURES` (of a similarity, how much its largest value is
        missed); or "density", the number of sampled partitions that are nearer by
        ``density_base``.
    density_base : str
        The measure behind "density".
    grouping : {"average", "gonzalez"}
        Average linkage, in which a partition counts as often as it was sampled; or centres that
        are each as far as possible from those before, beginning with the best partition.
    n_generated : {"auto"} or int
        Partitions by k-means, to be looked at beside the samples: first one of each view
        (``view_kinds_``); then, of ten times as many on few columns, related ones, or what is left
        without the directions of other partitions [4]_, those that are good on all columns, shown
        by several of these, and differ. "auto" is 12, and none with ``n_samples=0`` or with a
        kernel that is given; 0 also looks for no views.
    max_compared : int
        Different partitions whose distances are all computed. Of more, so many are drawn, with the
        best and, where they are at most half of it, all that were generated or given among them;
        the others join the group of the nearest representative. ``n_compared_`` says how many were.
    quality, power, weighting, min_cluster_size, burn_in, thin, n_chains, n_temperatures
        As in :class:`PartitionSampler`. The defaults are many short chains that stay in the region
        where they start (``power="local"``, no merges and splits, one temperature), so that regions
        that are good, but not the best, are seen.
    method, subset_size, merge_split, start, kernel, bandwidth, n_random_features
        As in :class:`PartitionSampler`. The kernel is also that of "lift_emd".
    random_state : None, int, RandomState, Generator or SeedSequence
        The same seed gives the same result for any ``n_jobs``.
    n_jobs : int or None
        Workers.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.
    store : path or None
        As in :class:`PartitionSampler`.

    Attributes
    ----------
    ensemble_ : Ensemble
        All partitions: sampled, generated, given.
    origin_ : (m,) array of str
        Where each comes from: "sampled", "generated" or "given".
    quality_ : (m,) array
        Quality of each.
    relative_quality_ : (m,) array
        Quality over the best one with the same number of clusters; with views, the largest of the
        whole table and the views. "separation" is shifted first, so that no quality by name is
        negative. Where the best quality by a function of your own is not positive, it is 1 less
        what is missing to the best. The best partition of a group is chosen by it.
    views_ : list of arrays
        Columns that were looked at by themselves as well: groups that are independent of one
        another (distance correlation [5]_), except single columns whose clusters are not clearer
        than those of points without any. Empty where all columns depend on each other, with
        ``n_generated=0``, and with a kernel or a quality of your own.
    view_kinds_ : list of str
        One word for each view: "columns" for those of ``views_``, which come first; "table" for
        those given to :meth:`fit`; "remains" for what is left of the table without the directions
        along which the clusters of its clearest partition differ, then without those of the
        clearest of that, as long as there are clusters clearer than those of points without any,
        and other ones than those of the table and of ``views_``. They are looked for where no
        views are given, in dense tables of at most 20 million numbers.
    view_ : (m,) array
        The view in which each partition has its relative quality; -1 for the whole table.
    view_samplers_ : list of PartitionSampler
        The sampler of each view; empty with ``n_samples=0``.
    groups_ : (m,) array
        Group of each partition, numbered by decreasing share.
    group_share_ : (g,) array
        Share of the partitions in each group.
    representatives_ : Ensemble
        The best partition of each group.
    representative_indices_ : (g,) array
        Their positions in ``ensemble_``.
    embedding_ : (m, 2) array
        The partitions on a map, by classical scaling of the distances; nan for those that were not
        compared with all others.
    embedding_share_ : float
        Share of the squared distances that the map shows.
    distances_ : (c, c) array
        Distances between the partitions that were compared.
    compared_ : (c,) array
        Their positions in ``ensemble_``.
    counts_ : (c,) array
        How often each of them occurs.
    representative_distances_ : (g, g) array
        Distances between the representatives.
    n_compared_ : int
        Different partitions that were compared.
    sampler_ : PartitionSampler or None
        The sampler, with its diagnostics.
    n_features_in_, feature_names_in_ : int, array
        As in scikit-learn.

    See Also
    --------
    PartitionSampler : The samples alone.
    clusterscape.ConsensusClustering : One clustering that the members agree on.
    credible_ball : How far a sample spreads around one partition.

    Notes
    -----
    Distances of m partitions take O(m^2) transports of clusters, which is most of the time. Shares
    say how often chains were in a group; as long as R-hat (``sampler_.diagnostics_``) is far above
    1 they depend on where the chains started.

    References
    ----------
    .. [1] J. M. Phillips, P. Raman and S. Venkatasubramanian. Generating a diverse set of
       high-quality clusterings. 2nd MultiClust Workshop, 81-90, 2011.
    .. [2] P. Raman. Exploring the landscape of clusterings. Dissertation, University of Utah, 2013,
       chapter 4.
    .. [3] T. F. Gonzalez. Clustering to minimize the maximum intercluster distance. Theoretical
       Computer Science 38, 293-306, 1985. doi:10.1016/0304-3975(85)90224-5
    .. [4] Y. Cui, X. Z. Fern and J. G. Dy. Non-redundant multi-view clustering via
       orthogonalization. 7th IEEE International Conference on Data Mining, 133-142, 2007.
       doi:10.1109/ICDM.2007.94
    .. [5] G. J. Szekely and M. L. Rizzo. Partial distance correlation with methods for
       dissimilarities. Annals of Statistics 42(6), 2382-2412, 2014. doi:10.1214/14-AOS1255

    Examples
    --------
    Four clouds at the corners of a square, divided in two: left and right, or above and below.

    >>> import numpy as np
    >>> from clusterscape.explore import Landscape
    >>> rng = np.random.default_rng(0)
    >>> corners = np.array([[0, 0], [0, 8], [8, 0], [8, 8]])
    >>> X = np.repeat(corners, 15, axis=0) + rng.normal(size=(60, 2))
    >>> landscape = Landscape(2, n_samples=200, n_representatives=2, random_state=0).fit(X)
    >>> sorted(row.tolist() for row in np.asarray(landscape.representatives_).T[:, ::15])
    [[0, 0, 1, 1], [0, 1, 0, 1]]
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_clusters": N_CLUSTERS_RULES,
        **SAMPLER_RULES,
        "n_samples": (Integer(0),),
        "n_representatives": (Integer(1),),
        "distance": (Choice("density", registry=MEASURES),),
        "density_base": (Choice(registry=MEASURES),),
        "grouping": (Choice(*GROUPINGS),),
        "n_generated": (Choice("auto"), Integer(0)),
        "max_compared": (Integer(2),),
    }

    def __init__(
        self,
        n_clusters: int | Sequence[int] = 3,
        *,
        n_samples: int = 1000,
        n_representatives: int = 10,
        distance: str = "lift_emd",
        density_base: str = "lift_emd",
        grouping: Literal["average", "gonzalez"] = "average",
        n_generated: Literal["auto"] | int = "auto",
        max_compared: int = 1000,
        quality: Name | Callable[[Any, np.ndarray], float] = "weighted_kernel",
        power: Literal["auto", "local"] | float = "local",
        weighting: Literal["auto", "power", "shift", "clip", "exp"] = "auto",
        min_cluster_size: Literal["auto"] | int = "auto",
        burn_in: int = 100,
        thin: int = 1,
        n_chains: int = 12,
        n_temperatures: int = 1,
        method: Literal["gibbs", "metropolis"] = "gibbs",
        subset_size: Literal["auto"] | int = "auto",
        merge_split: Literal["auto"] | int = 0,
        start: Literal["diverse", "kmeans_random"] = "diverse",
        kernel: Any = "gaussian",
        bandwidth: Literal["median"] | float = "median",
        n_random_features: Literal["auto"] | int | None = "auto",
        random_state: _seeds.RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_samples = n_samples
        self.n_representatives = n_representatives
        self.distance = distance
        self.density_base = density_base
        self.grouping = grouping
        self.n_generated = n_generated
        self.max_compared = max_compared
        self.quality = quality
        self.power = power
        self.weighting = weighting
        self.min_cluster_size = min_cluster_size
        self.burn_in = burn_in
        self.thin = thin
        self.n_chains = n_chains
        self.n_temperatures = n_temperatures
        self.method = method
        self.subset_size = subset_size
        self.merge_split = merge_split
        self.start = start
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.n_random_features = n_random_features
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.store = store

    def fit(self, X: Any, y: Any = None, *, ensemble: Any = None, views: Any = None) -> Self:
        """Sample partitions of the rows of X, group them, and choose representatives.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or data frame
            The points.
        y : ignored
            Present for API consistency.
        ensemble : Ensemble or (n, r) array, optional
            Partitions from anywhere, to be looked at beside the samples, or alone with
            ``n_samples=0``. They must be of the rows of X, in their order. Noise points count as
            one more cluster.
        views : (n, d) table or list of tables, optional
            Other descriptions of the same points, row by row: other measurements, or X prepared in
            a way that shows what X hides.

        Returns
        -------
        self
        """
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        ids = point_ids(X)
        points = validated_features(self, X)
        sampling, generating, comparing, spacing, viewing = _seeds.spawn(self.random_state, 5)
        # A kernel that is given, and a function of the user's own, may need all columns.
        is_plain = isinstance(self.kernel, str) and self.kernel != "precomputed"
        generated = self.n_generated
        if generated == "auto":
            generated = _GENERATED_COUNT if self.n_samples > 0 and is_plain else 0
        tables = self._tables(
            points,
            _same_points(views, points.shape[0], ids, self.kernel),
            int(generated) if is_plain and not callable(self.quality) else 0,
            viewing,
        )
        parts = self._sampled(points, tables, sampling, ids)
        if generated > 0:
            parts.append(
                (_GENERATED, self._generated(points, tables, int(generated), generating, ids))
            )
        if ensemble is not None:
            parts.append((_GIVEN, _complete(as_ensemble(ensemble), points.shape[0], ids)))
        if not parts:
            raise ParameterError(
                "{n_samples} and no ensemble leave nothing to look at; give fit an ensemble, or "
                "ask for samples.",
                n_samples=0,
            )
        self.ensemble_ = Ensemble.concat([part for _, part in parts])
        self.origin_ = np.repeat([o for o, _ in parts], [p.n_partitions for _, p in parts])
        relative = self._judge(points, tables, spacing)
        self._compare(points, relative, np.random.default_rng(comparing))
        return self

    def _tables(self, points: Any, given: list[Any], generated: int, seed: Any) -> list[Any]:
        """Return the table of each view, and set what views there are."""
        self.views_: list[np.ndarray] = []
        remains: list[np.ndarray] = []
        if generated > 0:
            most = -(-generated // len(self._counts))
            self.views_ = structured_views(points, self._counts, most, seed)
        known = [points[:, columns] for columns in self.views_]
        if generated > 0 and not given:
            remains = remaining_views(points, known, self._counts, most - len(known), seed)
        kinds = {_COLUMNS: known, _TABLE: given, _REMAINS: remains}
        self.view_kinds_ = [kind for kind, some in kinds.items() for _ in some]
        return [*known, *given, *remains]

    def _sampled(
        self, points: Any, tables: list[Any], seed: Any, ids: Any
    ) -> list[tuple[str, Ensemble]]:
        """Return the samples of the whole table and of each view, in equal shares."""
        self.sampler_: PartitionSampler | None = None
        self.view_samplers_: list[PartitionSampler] = []
        if self.n_samples == 0:
            return []
        of_views = seed.spawn(len(tables))
        share = -(-self.n_samples // (1 + len(tables)))
        self.sampler_ = self._sampler(seed, n_samples=share)
        parts = [(_SAMPLED, self.sampler_.generate(points, index=ids))]
        # A view has been looked for because of its one structure: few chains find that.
        chains = min(self.n_chains, max(2, self.n_chains // (1 + len(tables))))
        for number, (table, child) in enumerate(zip(tables, of_views, strict=True)):
            beside = None if self.store is None else f"{os.fspath(self.store)}-view-{number}"
            one = self._sampler(child, n_samples=share, n_chains=chains, store=beside)
            parts.append((_SAMPLED, one.generate(table, index=ids)))
            self.view_samplers_.append(one)
        return parts

    @property
    def _counts(self) -> list[int]:
        given = self.n_clusters
        return [int(k) for k in given] if isinstance(given, Sequence) else [int(given)]

    def _sampler(self, seed: Any, **more: Any) -> PartitionSampler:
        names = set(PartitionSampler().get_params()) - {"random_state", "progress"}
        own = {name: getattr(self, name) for name in names} | more
        return PartitionSampler(**own, random_state=seed, progress=self.progress)

    def _generated(
        self, points: Any, tables: list[Any], count: int, seed: Any, ids: Any
    ) -> Ensemble:
        """Return partitions that views show, good ones that differ."""
        labels, records = [], []
        for k, child in zip(self._counts, seed.spawn(len(self._counts)), strict=True):
            share = -(-count // len(self._counts))
            pooling, *fitting = child.spawn(1 + len(tables))
            of_views = [
                canonical(fitted(table, k, one, n_init=10))
                for table, one in zip(tables, fitting, strict=True)
            ]
            pool = view_partitions(points, k, _POOL * share, pooling)
            pool = [canonical(one) for one in pool]
            values = self._values(points, np.column_stack(pool), seed)
            # The root, because a weak structure is to be seen beside a strong one; every second
            # is one that several views show, and so no compromise between structures.
            gain = np.sqrt((values - values.min()) / max(np.ptp(values), 1e-300))
            best = int(np.argmax(values))
            gains = [gain, gain * recurrence(pool)]
            others = [best, *good_and_apart(pool[best], pool, gains, share - 1)]
            mine = (of_views + [pool[i] for i in others])[: max(share, len(of_views))]
            labels += mine
            records += [PartitionRecord(generator="views", algorithm="kmeans", n_clusters=k)] * len(
                mine
            )
        columns = np.column_stack(labels)
        return Ensemble.from_labels(columns, orient="columns", records=records, index=ids)

    def _values(
        self, points: Any, labels: np.ndarray, seed: Any, *, is_view: bool = False
    ) -> np.ndarray:
        """Return the quality of each column of labels."""
        if callable(self.quality):
            columns = labels.T.astype(np.int64)
            return np.array([float(self.quality(points, column)) for column in columns])
        space = self._space(points, seed, is_view=is_view)
        return values_of(space, QUALITIES[self.quality], labels)

    def _judge(self, points: Any, tables: list[Any], seed: Any) -> np.ndarray:
        """Set the quality of every partition; return the relative ones, a row for each table.

        The first row is that of the whole table.
        """
        labels = np.ascontiguousarray(self.ensemble_.labels)
        known = 0
        shift = np.zeros(self.ensemble_.n_partitions)
        self.quality_ = np.empty(self.ensemble_.n_partitions)
        if self.sampler_ is not None:
            known = self.sampler_.quality_.size
            self.quality_[:known] = self.sampler_.quality_
        if known < self.quality_.size:
            self.quality_[known:] = self._values(points, labels[:, known:], seed)
        if not callable(self.quality):
            quality = QUALITIES[self.quality]
            shift = np.array([quality.shift(int(k)) for k in self.ensemble_.n_clusters])
        clusters = self.ensemble_.n_clusters
        first, inverse = self.ensemble_.distinct()
        relative = [_over_best(self.quality_ + shift, clusters)]
        for table in tables:
            values = self._values(table, labels[:, first], seed, is_view=True)
            relative.append(_over_best(values[inverse] + shift, clusters))
        self.relative_quality_ = np.max(relative, axis=0)
        self.view_ = np.argmax(relative, axis=0) - 1
        return np.array(relative)

    def _space(self, points: Any, seed: Any, *, is_view: bool) -> Space:
        """Return the points as the quality sees them: as the sampler saw them, where there is one.

        A view has a bandwidth of its own: the median distance on its columns.
        """
        known = None if is_view else self.sampler_
        assert not callable(self.quality)
        bandwidth = self.bandwidth
        if known is not None:
            seed = known._space_seed
            bandwidth = bandwidth if known.bandwidth_ is None else known.bandwidth_
        return QUALITIES[self.quality].space(
            points,
            kernel=self.kernel,
            bandwidth=bandwidth,
            n_components=self.n_random_features,
            random_state=seed,
        )

    # -- groups -----------------------------------------------------------------------------------

    def _compare(self, points: Any, relative: np.ndarray, rng: np.random.Generator) -> None:
        """Set distances, groups, representatives and the map."""
        first, inverse = self.ensemble_.distinct()
        counts = np.bincount(inverse, minlength=first.size).astype(np.float64)
        found = self._best_of_views(relative[:, first], first)
        chosen = self._drawn(first, counts, found, rng)
        self.compared_, self.counts_ = first[chosen], counts[chosen]
        self.n_compared_ = int(chosen.size)
        self.distances_ = self._distances(points)
        value = self.relative_quality_[self.compared_]
        shown = np.searchsorted(chosen, found)
        groups = grouped_apart(
            self.distances_, self.counts_, value, self.n_representatives, shown, how=self.grouping
        )
        value[shown] = np.inf
        best = best_of_groups(groups, value)
        every = np.full(first.size, -1)
        every[chosen] = groups
        self._join(every, first, best, points)
        self._number(every[inverse], best)
        place, self.embedding_share_ = plane_of(self.distances_, self.counts_)
        placed = np.full((first.size, 2), np.nan)
        placed[chosen] = place
        self.embedding_ = placed[inverse]

    def _best_of_views(self, relative: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return the best partition of the table and of each view, by numbers of clusters.

        Each of them is to be a representative, except those that are nearly another one, and later
        ones where there would be more than ``n_representatives``. None where there are no views.
        """
        found: list[int] = []
        if len(relative) == 1:
            return np.array(found, dtype=np.int64)
        most = min(self.n_representatives, self.max_compared)
        clusters = self.ensemble_.n_clusters[first]
        for k in self._counts:
            for values in relative:
                mine = np.flatnonzero(clusters == k)
                if mine.size == 0 or len(found) == most:
                    continue
                best = int(mine[np.argmax(values[mine])])
                labels = self.ensemble_.labels[:, first[[best, *found]]].T
                if all(adjusted_rand(labels[0], other) <= ALIKE for other in labels[1:]):
                    found.append(best)
        return np.array(found, dtype=np.int64)

    def _drawn(
        self, first: np.ndarray, counts: np.ndarray, found: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Return which of the different partitions are compared with all others."""
        if first.size <= self.max_compared:
            return np.arange(first.size)
        kept = self.origin_[first] != _SAMPLED  # few, and each of them made on purpose
        if kept.sum() > self.max_compared // 2:
            kept[:] = False
        kept[found if found.size else int(np.argmax(self.relative_quality_[first]))] = True
        others = np.flatnonzero(~kept)
        # By their counts, so that the density of the samples stays what it was.
        share = counts[others] / counts[others].sum()
        drawn = rng.choice(others, self.max_compared - int(kept.sum()), replace=False, p=share)
        return np.sort(np.concatenate([np.flatnonzero(kept), drawn]))

    def _number(self, groups: np.ndarray, best: np.ndarray) -> None:
        """Number the groups by decreasing share, and set what follows from them."""
        sizes = np.bincount(groups)
        order = np.argsort(-sizes, kind="stable")
        number = np.empty(order.size, dtype=np.int64)
        number[order] = np.arange(order.size)
        self.groups_ = number[groups]
        self.group_share_ = sizes[order] / groups.size
        best = best[order]
        self.representative_indices_ = self.compared_[best]
        self.representatives_ = self.ensemble_.select(self.representative_indices_)
        self.representative_distances_ = self.distances_[np.ix_(best, best)]

    def _distances(self, points: Any) -> np.ndarray:
        """Return the distances between the partitions that are compared."""
        name, options, features = self._measure(points)
        matrix = pairwise(
            self.ensemble_.select(self.compared_),
            name,
            features=features,
            metric_params={name: options} if options else None,
            n_jobs=self.n_jobs,
            progress=self.progress,
        ).matrix
        measure = MEASURES[name]
        if measure.direction == "similarity":
            matrix = (measure.identity or 0.0) - matrix
        matrix = np.maximum(np.nan_to_num(0.5 * (matrix + matrix.T), nan=0.0), 0.0)
        np.fill_diagonal(matrix, 0.0)
        return density_distances(matrix, self.counts_) if self.distance == "density" else matrix

    def _measure(self, points: Any) -> tuple[str, dict[str, Any], Any]:
        """Return the measure's name, its options, and the points where it needs them."""
        name = self.density_base if self.distance == "density" else self.distance
        measure = MEASURES[name]
        options: dict[str, Any] = {}
        if "kernel" in measure.options:
            options = {"kernel": self.kernel, "bandwidth": self.bandwidth}
        return name, options, points if measure.needs_features else None

    def _join(self, every: np.ndarray, first: np.ndarray, best: np.ndarray, points: Any) -> None:
        """Give partitions that were not compared the group of the nearest representative."""
        rest = np.flatnonzero(every < 0)
        name, options, features = self._measure(points)
        near = np.arange(best.size)
        for start in range(0, rest.size, self.max_compared):
            some = rest[start : start + self.max_compared]
            both = self.ensemble_.select(np.concatenate([self.compared_[best], first[some]]))
            far = best.size + np.arange(some.size)
            pairs = np.column_stack([np.repeat(far, near.size), np.tile(near, far.size)])
            apart = pair_distances(
                both, pairs, name, features=features, options=options, n_jobs=self.n_jobs
            )
            # best is in the order of the groups' numbers
            every[some] = apart.reshape(far.size, near.size).argmin(axis=1)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per representative: group, share, quality, clusters, and where it is."""
        check_is_fitted(self, "representatives_")
        at = self.representative_indices_
        return pd.DataFrame(
            {
                "group": np.arange(at.size),
                "share": self.group_share_,
                "n_clusters": self.ensemble_.n_clusters[at],
                "quality": self.quality_[at],
                "relative_quality": self.relative_quality_[at],
                "origin": self.origin_[at],
                "view": self.view_[at],
                "position": at,
                "x": self.embedding_[at, 0],
                "y": self.embedding_[at, 1],
            }
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _over_best(base: np.ndarray, n_clusters: np.ndarray) -> np.ndarray:
    """Return each value over the best one of the partitions with as many clusters."""
    found = np.empty(base.size)
    for k in np.unique(n_clusters):
        mine = n_clusters == k
        best = base[mine].max()
        found[mine] = base[mine] / best if best > 0 else base[mine] - best + 1
    return found


def _same_points(views: Any, n: int, ids: Any, kernel: Any) -> list[Any]:
    """Return the tables of the views that were given."""
    if views is None:
        return []
    if isinstance(kernel, str) and kernel == "precomputed":
        raise ValueError(
            "views are tables of the points, and with kernel='precomputed' X is none; leave views "
            "out, or give X as a table."
        )
    read = read_features(views, name="views")
    if read.n_points != n:
        raise ValueError(
            f"views has {read.n_points} rows and X {n}; each view must hold the same points in the "
            "same order."
        )
    if read.index is not None and ids is not None:
        refuse_other_names(pd.Index(ids), read.index, "X and views")
    return list(read.views)


def _complete(given: Ensemble, n: int, ids: Any) -> Ensemble:
    """Return given partitions with every point in a cluster."""
    if given.n_points != n:
        raise ValueError(
            f"ensemble has {given.n_points} points and X {n} rows; pass partitions of these rows."
        )
    if given.index is not None and ids is not None:
        refuse_other_names(pd.Index(ids), given.index, "X and ensemble")
    if given.is_soft:
        raise ValueError(
            "ensemble has soft partitions, for which quality is not defined; pass labels, for "
            "example membership.argmax(axis=1)."
        )
    if (given.labels == UNSAMPLED).any():
        raise ValueError(
            "ensemble has partitions that did not sample all points, for which quality is not "
            "defined; leave them out."
        )
    labels = given.labels.astype(np.int64)
    labels = np.where(labels == NOISE, given.n_clusters[None, :], labels)
    return Ensemble.from_labels(
        labels,
        orient="columns",
        names=given.names,
        records=given.records,
        index=given.index if ids is None else ids,
    )
