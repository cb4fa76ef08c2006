"""EnsembleGenerator: features in, many clusterings out."""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import SeedSequence
from sklearn.base import BaseEstimator

from clusterscape._core.block_files import BlockFolder
from clusterscape._core.errors import ParameterError
from clusterscape._core.params import (
    N_JOBS,
    PROGRESS,
    Choice,
    Instance,
    Integer,
    Null,
    Rules,
    Seed,
    check_params,
)
from clusterscape._core.plain import plain
from clusterscape._core.rows import RowSource
from clusterscape._core.seeds import RandomState, describe
from clusterscape._core.store import stored_plan
from clusterscape._core.weights import optional_weights
from clusterscape.ensemble import BlockedEnsemble, Ensemble
from clusterscape.generate import kinds, plan, precomputed
from clusterscape.generate.algorithms import Algorithm, Pieces
from clusterscape.generate.features import Features, read_features
from clusterscape.generate.members import Outcome, Work, describe_run, run_all, run_member
from clusterscape.generate.samples import (
    Samples,
    assigner_of,
    blocked_ensemble_of,
    dealt,
    ensemble_of,
)


class GenerationWarning(UserWarning):
    """Some members of an ensemble failed, or did not use what they were given."""


class GenerationError(ValueError, RuntimeError):
    """Every member of an ensemble failed; the message gives the reasons."""


@dataclass(frozen=True)
class Generated:
    """An ensemble, and what gives other points the labels of its members.

    Attributes
    ----------
    ensemble : Ensemble
        The partitions.
    assigner : Assigner or None
        Gives other points the members' labels.

    See Also
    --------
    EnsembleGenerator.generate_with_assigner : Makes one.
    """

    ensemble: Ensemble
    assigner: Any
    _shared: Any = field(default=None, repr=False, compare=False)  # with further members


@dataclass(frozen=True)
class _Shared:
    """What members that are added to an ensemble share with those it has."""

    root: SeedSequence
    pieces: tuple[Pieces, ...]
    samples: Samples
    folder: BlockFolder | None = None  # of the labels of rows that are read in blocks


class EnsembleGenerator(BaseEstimator):
    """Cluster the same points many times, each time a little differently.

    Four axes say what differs between members: the base clusterer, its number of clusters, the
    columns it sees, and the rows it sees. :func:`random_k`, :func:`random_features`,
    :func:`restarts`, :func:`bagging`, :func:`subsample`, :func:`random_projection` and
    :func:`mixed` are settings of the axes that have a name in the literature.

    Parameters
    ----------
    n_partitions : int
        Number of partitions (members).
    algorithm : str, clusterer, Kind or list of these
        A name of :data:`clusterscape.generate.ALGORITHMS`, the name of a class of scikit-learn
        such as "Birch" (with its defaults), a scikit-learn clusterer (it is cloned;
        its ``n_clusters`` or ``n_components`` and its ``random_state`` are set where it has them),
        a :class:`Kind` (a name with numbers of clusters and settings of its own), or a list:
        members take its entries in turn, a kind as often as its share says.
    n_clusters : int, list or tuple
        A number; a list that is taken in turn, so that with several
        algorithms or views each of them meets every entry; or a range (low, high),
        both included, from which each member draws. ``high="sqrt"`` is the square root of the
        number of points, rounded up; where that is below ``low``, every member takes ``low``.
        Clusterers that find the number themselves ignore it.
    columns : "all", ("subset", ratio), ("project", dims) or ("pca", dims)
        All columns, a random share of them, the ``dims`` leading principal components (of the rows
        that a member clusters), or a random orthonormal projection to ``dims``
        dimensions. A projection keeps sparse data sparse.
    rows : "auto", "all", "bootstrap", ("subsample", ratio) or ("sample", size)
        All rows, n of n drawn with replacement, or a random share of them. Rows that a member does
        not see are unsampled (-2) in it. In a bootstrap, clusterers that take weights see each row
        once with its count, the others see it as often as it was drawn. With ("sample", size) a
        member clusters one of four random samples, and one pass assigns all points to its clusters:
        by the centres of k-means, the densities of a mixture, or the nearest landmarks of the
        sample. "auto" is "all" up to 20,000 points and samples above: 20,000 points for k-means and
        landmark spectral clustering, 2,000 for others, and 20 for each cluster at least; soft
        partitions are always made of all rows. The records say what was done.
    init : {"k-means++", "random"}
        How the k-means clusterers start: spread-out rows, or distinct rows at random.
    n_init, max_iter : int
        Starts, of which the best is kept, and iterations of the base clusterers that have them.
        A scikit-learn clusterer keeps its own.
    metric : {None, "precomputed", "precomputed_affinity"}
        What X holds: features (None; the clusterers have metrics of their own), distances between
        the points, or similarities. The last two are square, symmetric and >= 0, and distances
        have a diagonal of zeros; sparse ones are graphs of the pairs that are known, such as
        scikit-learn's ``kneighbors_graph``. Clusterers that need features are refused.
    random_state : None, int, RandomState, Generator or SeedSequence
        The same seed gives the same ensemble for any ``n_jobs`` and any joblib backend.
    n_jobs : int or None
        Number of workers, as in scikit-learn.
    progress : bool or None
        Show progress on stderr; None shows it only on a terminal.
    store : path or None
        A directory that receives every finished partition at once. The same call after an
        interruption computes only what is missing. With ``random_state=None`` an existing store
        goes on with its own seed. Workers on other machines must see the same directory.

    See Also
    --------
    random_k, random_features, restarts, bagging, subsample, random_projection, mixed : Settings.
    clusterscape.forest.ForestGrower : Partitions on columns that are chosen, not drawn.
    clusterscape.ConsensusClustering : Generates an ensemble and combines it.

    Notes
    -----
    A member that fails (an exception in the clusterer, more clusters than rows, negative data for
    NMF) becomes an unsampled column whose record has the reason in ``error``; one
    :class:`GenerationWarning` counts them. When all fail, :class:`GenerationError` is raised.
    What base clusterers warn of stands in ``record.params["warnings"]``.

    A member on a sample gives a cluster no points but those of its landmarks: clusters of a few
    thousandths of the points can be lost. Its store holds what it found on the sample.

    Deterministic clusterers (linkages, DBSCAN) give the same partition again and again unless
    their number of clusters, rows or columns vary. Average, complete and Ward linkage refuse more
    points than 2 GiB of distances allow (about 23,000).

    References
    ----------
    .. [1] A. L. N. Fred and A. K. Jain, "Combining multiple clusterings using evidence
       accumulation", IEEE Transactions on Pattern Analysis and Machine Intelligence 27, 835-850,
       2005. doi:10.1109/TPAMI.2005.113

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import EnsembleGenerator
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]])
    >>> generator = EnsembleGenerator(4, n_clusters=[2, 3], algorithm="ward")
    >>> generator.generate(X)
    Ensemble(6 points, 4 partitions with 2 to 3 clusters)
    """

    _parameter_rules: ClassVar[Rules] = {
        "n_partitions": (Integer(1),),
        "algorithm": kinds.RULES,
        "n_clusters": plan.N_CLUSTERS,
        "columns": plan.COLUMNS,
        "rows": plan.ROWS,
        "init": (Choice("k-means++", "random"),),
        "n_init": (Integer(1),),
        "max_iter": (Integer(1),),
        "metric": precomputed.METRIC,
        "random_state": (Seed(),),
        "n_jobs": N_JOBS,
        "progress": PROGRESS,
        "store": (Null(), Instance(str, os.PathLike)),
    }

    def __init__(
        self,
        n_partitions: int = 100,
        *,
        algorithm: Any = "kmeans",
        n_clusters: Any = (2, "sqrt"),
        columns: Any = "all",
        rows: Any = "auto",
        init: Literal["k-means++", "random"] = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        metric: precomputed.Metric = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> None:
        self.n_partitions = n_partitions
        self.algorithm = algorithm
        self.n_clusters = n_clusters
        self.columns = columns
        self.rows = rows
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.metric = metric
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress
        self.store = store

    @property
    def distance(self) -> str:
        """The distance of the members: "cosine" where they compare angles, else "euclidean"."""
        turns = kinds.turns_of(self.algorithm)
        angles = any(
            turn.algorithm.name == "cosine"
            or (turn.kind is not None and turn.kind.settings.get("metric") == "cosine")
            for turn in turns
        )
        return "cosine" if angles else "euclidean"

    def generate(self, X: Any, *, sample_weight: Any = None, index: Any = None) -> Ensemble:
        """Return the ensemble of ``n_partitions`` clusterings of the rows of ``X``.

        Parameters
        ----------
        X : array, sparse matrix, data frame, or list of these
            Points x features, or points x points (see ``metric``). float32 is computed in float32
            and sparse stays sparse. A list holds several views of the same points: with A
            algorithms and V views, member i uses view (i // A) mod V.
        sample_weight : array, optional
            Non-negative weights of the points, given to the clusterers that take weights and kept
            in the ensemble.
        index : array, optional
            The points' ids; by default the index of a pandas data frame.

        Returns
        -------
        Ensemble
            With one record per member: clusterer, parameters, seed, columns, rows, clusters found,
            cost, seconds.
        """
        return self._generate(X, sample_weight, index, wanted=False).ensemble

    def generate_with_assigner(
        self, X: Any, *, sample_weight: Any = None, index: Any = None
    ) -> Generated:
        """Return the ensemble, and what gives other points the labels of its members.

        Parameters
        ----------
        X, sample_weight, index
            As in :meth:`generate`.

        Returns
        -------
        Generated
            With ``ensemble`` and ``assigner``.
        """
        return self._generate(X, sample_weight, index, wanted=True)

    def add_to(self, made: Generated, X: Any) -> Generated:
        """Return the members of an ensemble, followed by those of this generator.

        The new members share samples, graphs and spanning trees with the others, so that they cost
        little. The seed is that of the others, whatever ``random_state`` is; no store is used.

        Parameters
        ----------
        made : Generated
            What :meth:`generate_with_assigner` of another generator gave.
        X : array, sparse matrix, data frame, or list of these
            The same points.

        Returns
        -------
        Generated

        Examples
        --------
        >>> import numpy as np
        >>> from clusterscape.generate import restarts
        >>> X = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]])
        >>> made = restarts(3, n_clusters=2, random_state=0).generate_with_assigner(X)
        >>> restarts(2, n_clusters=3).add_to(made, X).ensemble
        Ensemble(5 points, 5 partitions with 2 to 3 clusters)
        """
        old = made.ensemble
        weights = None
        if not isinstance(old, BlockedEnsemble) and (old.sample_weight != 1).any():
            weights = old.sample_weight
        new = self._generate(X, weights, old.index, wanted=True, before=made)
        joined = old.concat(new.ensemble)
        return replace(new, ensemble=joined, assigner=made.assigner.joined(new.assigner))

    def _generate(
        self,
        X: Any,
        sample_weight: Any,
        index: Any,
        *,
        wanted: bool,
        before: Generated | None = None,
    ) -> Generated:
        check_params(type(self).__name__, self.get_params(deep=False), self._parameter_rules)
        features, turns = self._read(X, index, wanted=wanted)
        weights = optional_weights(sample_weight, features.n_points)
        chosen = [turn.algorithm for turn in turns]
        axes = [self._axes(turn, features.n_points) for turn in turns]
        needs_k = [a.needs_k for a in chosen]
        plan.check_plan(axes, features.views, needs_k)
        if weights is not None:
            _warn_unweighted(chosen)
        shared = before._shared if before is not None else self._nothing_shared(features)
        root, store = shared.root, self.store if before is None else None
        members = plan.make_plan(
            axes,
            n_partitions=self.n_partitions,
            needs_k=needs_k,
            n_views=len(features.views),
            root=root,
            group=lambda turn, member: turns[turn].group(member),
            most_clusters=_most_clusters(chosen, axes),
            first=0 if before is None else before.ensemble.n_partitions,
        )
        sampled = all(member.is_sampled for member in members)
        source = features.views[0] if isinstance(features.views[0], RowSource) else None
        if source is not None:
            _check_blocks(source, members, weights)
        work = Work(
            # In one layout: otherwise every member on all rows would lay them out for itself.
            views=features.views if sampled else tuple(_laid_out(X) for X in features.views),
            weights=weights,
            turns=tuple(turns),
            init=self.init,
            n_init=self.n_init,
            max_iter=self.max_iter,
            generator=axes[0].name(len(chosen)),
            store=None if store is None else os.path.abspath(store),
            pieces=shared.pieces,
        )
        tasks, samples = dealt(work, members, root, shared.samples)
        outcomes = run_all(
            run_member,
            tasks,
            store=store,
            described=lambda: self._describe(features, weights, describe(root)),
            n_jobs=self.n_jobs,
            prefer="threads" if all(a.threads for a in chosen) else "processes",
            label="clustering",
            progress=self.progress,
        )
        _report_failures(outcomes)
        assigner = None
        if wanted or any(member.is_sampled for member in members):
            assigner = assigner_of(tasks, outcomes, root, features)
        shared = replace(shared, samples=samples)
        if source is not None:
            return self._in_blocks(outcomes, source, assigner, shared)
        ensemble = ensemble_of(
            members, outcomes, features, weights, assigner=assigner, n_jobs=self.n_jobs
        )
        return Generated(ensemble, assigner, shared)

    def _in_blocks(
        self, outcomes: Sequence[Outcome], source: RowSource, assigner: Any, shared: _Shared
    ) -> Generated:
        """Label rows that are read in blocks."""
        folder = shared.folder or BlockFolder(self.store)
        ensemble = blocked_ensemble_of(
            outcomes, source, assigner=assigner, folder=folder, progress=self.progress
        )
        return Generated(ensemble, assigner, replace(shared, folder=folder))

    def _nothing_shared(self, features: Features) -> _Shared:
        stored = None if self.store is None else stored_plan(self.store)
        root = plan.root_seed(self.random_state, stored)
        return _Shared(root, tuple(Pieces() for _ in features.views), {})

    def _read(self, X: Any, index: Any, *, wanted: bool) -> tuple[Any, list[kinds.Turn]]:
        """Return the features, or what stands for them, and the turns that can use them."""
        turns = kinds.turns_of(self.algorithm)
        if self.metric is None:
            return read_features(X, index=index, contiguous=False), turns
        if wanted or plan.is_sample(self.rows):
            raise ParameterError(
                "with {metric} members see all points, and new points have no features by which "
                "they could be assigned; use generate, and {rows.name}='all'.",
                metric=self.metric,
                rows=self.rows,
            )
        relations = precomputed.read_relations(X, self.metric, index=index)
        for turn in turns:
            precomputed.refuse_columns(self._columns(turn))
        return relations, precomputed.prepared(turns, relations.views[0])

    def _axes(self, turn: kinds.Turn, n_points: int) -> plan.Axes:
        """Return the axes of one turn; a kind may have numbers of clusters of its own."""
        own = None if turn.kind is None else turn.kind.n_clusters
        counts = self.n_clusters if own is None else own
        algorithm = turn.algorithm
        if algorithm.soft and plan.is_sample(self.rows) and self.rows[1] < n_points:
            raise ParameterError(
                f"{{rows}}: the memberships of {algorithm.name} are not carried from a sample to "
                "other points; use rows='all', or another {algorithm.name}.",
                rows=self.rows,
                algorithm=algorithm.name,
            )
        rows = "all"
        exact = algorithm.soft or self.metric is not None
        if not exact or self.rows != "auto":
            most = plan.named_clusters(counts) if algorithm.needs_k else 1
            rows = plan.settled_rows(
                self.rows,
                n_points,
                size=algorithm.points_for(most),
                most_clusters=most,
                exact=algorithm.exact_for(most),
            )
        place = {} if turn.kind is None else {"rank": turn.rank, "share": turn.kind.share}
        columns = self._columns(turn)
        return plan.Axes(counts, columns, rows, n_points, halved=own is not None, **place)

    def _columns(self, turn: kinds.Turn) -> Any:
        """Return the columns of one turn; a kind may have its own."""
        own = None if turn.kind is None else turn.kind.columns
        return self.columns if own is None else own

    def _describe(
        self, features: Features, weights: np.ndarray | None, seed: dict[str, Any]
    ) -> dict[str, Any]:
        """Return what decides the members, as plain JSON values: the plan of a store."""
        several = isinstance(self.algorithm, (list, tuple))
        entries = self.algorithm if several else [self.algorithm]
        return describe_run(
            self.n_partitions,
            features,
            weights,
            seed,
            {
                "algorithm": [_described(e) for e in entries],
                "n_clusters": _listed(self.n_clusters),
                "columns": _listed(self.columns),
                "rows": _listed(self.rows),
                "init": self.init,
                "n_init": int(self.n_init),
                "max_iter": int(self.max_iter),
                "metric": self.metric,
            },
        )


def _check_blocks(source: RowSource, members: Sequence[Any], weights: Any) -> None:
    """Refuse what needs all rows at once, before anything runs."""
    if weights is not None:
        raise ValueError(
            "sample_weight: points that are read in blocks have no weights; leave it out."
        )
    whole = [member for member in members if not member.is_sampled]
    if whole:
        raise ParameterError(
            f"{len(whole)} of {len(members)} members would cluster all {len(source):,} rows at "
            f"once ({source.nbytes / 2**20:,.0f} MB), but X is read in blocks; use "
            "{rows.name}=('sample', size) with fewer rows, other algorithms, or X.gather() where "
            "there is enough memory.",
            rows=whole[0].rows,
        )


def _most_clusters(chosen: Sequence[Algorithm], axes: Sequence[plan.Axes]) -> list[int]:
    """Return for each turn the most clusters of any turn of its clusterer on as many rows.

    Kinds of one clusterer then share eigenvectors, of which the finest needs most.
    """
    most: dict[Any, int] = {}
    keys = [(a.name, own.rows) for a, own in zip(chosen, axes, strict=True)]
    for key, own in zip(keys, axes, strict=True):
        most[key] = max(most.get(key, 0), own.range[1])
    return [most[key] for key in keys]


def _laid_out(X: Any) -> Any:
    """Return dense features in rows; what is sparse or a relation between points as it is."""
    return np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X


def _described(entry: Any) -> Any:
    """Return an entry of ``algorithm`` as plain JSON values."""
    if isinstance(entry, kinds.Kind):
        own = {"n_clusters": _listed(entry.n_clusters), "share": int(entry.share)}
        settings = {name: _text(value) for name, value in entry.settings.items()}
        if entry.columns is not None:
            own["columns"] = _text(entry.columns)
        return {"kind": entry.algorithm, **own, "settings": settings}
    return entry if isinstance(entry, str) else _signature(entry)


def _listed(value: Any) -> Any:
    """Return a parameter as JSON keeps it; a list and a tuple of it mean different things."""
    return {"pair": plain(value)} if isinstance(value, tuple) else plain(value)


def _signature(estimator: Any) -> dict[str, Any]:
    """Return an estimator's class and parameters, the same text in every process."""
    kind = type(estimator)
    params = {name: _text(value) for name, value in sorted(estimator.get_params(deep=True).items())}
    return {"class": f"{kind.__module__}.{kind.__qualname__}", "params": params}


def _text(value: Any) -> str:
    """Return a parameter as text; an array by its content, which ``repr`` would abridge."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array {value.dtype} {value.shape} {digest}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _warn_unweighted(chosen: Sequence[Algorithm]) -> None:
    names = sorted({a.name for a in chosen if not a.weights})
    if names:
        warnings.warn(
            f"sample_weight is not used by {', '.join(names)}; their partitions count every point "
            f"once. The weights are kept in the ensemble.",
            GenerationWarning,
            stacklevel=4,
        )


def _report_failures(outcomes: Sequence[Outcome]) -> None:
    errors = [(i, outcome.record.error) for i, outcome in enumerate(outcomes)]
    reasons = [(i, error.rstrip(".")) for i, error in errors if error is not None]
    if not reasons:
        return
    if len(reasons) == len(outcomes):
        distinct = list(dict.fromkeys(reason for _, reason in reasons))
        shown = "; ".join(distinct[:3])
        more = f"; and {len(distinct) - 3} other reasons" if len(distinct) > 3 else ""
        raise GenerationError(f"All {len(outcomes)} partitions failed: {shown}{more}.")
    place, reason = reasons[0]
    warnings.warn(
        f"{len(reasons)} of {len(outcomes)} partitions failed and are unsampled throughout; the "
        f"first is number {place}: {reason}. See Ensemble.failures.",
        GenerationWarning,
        stacklevel=4,
    )
