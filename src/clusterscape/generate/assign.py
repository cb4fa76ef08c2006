"""The labels of any points in the members of an ensemble, from what the members left behind.

k-means members assign by their centres and mixtures by their densities; all others through
landmarks: centres of small groups of the points that the member clustered, each with the member's
label, of which the few nearest to a point vote. Everything is plain arrays, linear in the new
points, and independent of the number of points that were clustered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence
from scipy import sparse

from clusterscape import kernels
from clusterscape._core.labels import UNSAMPLED, smallest_type
from clusterscape._core.parallel import parallel_map
from clusterscape._core.rows import slices
from clusterscape._core.seeds import descendant
from clusterscape.generate.features import Matrix
from clusterscape.generate.plan import GROUPS
from clusterscape.linalg.distances import centre_of
from clusterscape.linalg.landmark_graph import LandmarkSearch, choose_landmarks
from clusterscape.linalg.mixture import density_table, with_products

LANDMARKS = 512  # in a set of landmarks at least
_PER_CLUSTER = 6  # landmarks for each cluster of the finest member at least
_ALL = 1000  # up to so many points are all landmarks themselves
_NEAREST = 5  # landmarks that vote
_MEMBERS = 12  # for so many members another set of landmarks, up to the number of groups

_CHUNK = 8_192  # rows of one task: few, so that no worker waits long for the last one
_ENTRIES = 2**20  # entries of a temporary block: few enough for the cache
_ROWS = 64  # of such a block at least
_WRONG = 1e-3  # share of labels that single precision may change before double is taken


@dataclass(frozen=True)
class ScoreRule:
    """Members whose label is the least of some scores that are linear in features of a point.

    Attributes
    ----------
    view : int
        The feature matrix.
    members : (s,) array
        The members.
    starts : (s + 1,) array
        ``starts[i]:starts[i + 1]`` are the columns of ``table`` of member i.
    origin : (d,) array or None
        Subtracted from dense points, so that products keep their precision.
    axes : (d, q) array or None
        The points are multiplied by it.
    form : {"values", "squares", "products"}
        The features: the values alone; 1, values and squares; 1, values and products of values.
    table : (f, D) array
        Scores of the features.
    bias : (D,) array
        Added to the scores.
    """

    view: int
    members: np.ndarray
    starts: np.ndarray
    origin: np.ndarray | None
    axes: np.ndarray | None
    form: Any
    table: np.ndarray
    bias: np.ndarray

    def write(self, X: Matrix, out: np.ndarray) -> None:
        """Write the labels of points to the members' columns of ``out``."""
        # One row per score: the kernel compares long rows, and the bias is one more feature.
        table = np.ascontiguousarray(np.vstack([self.table, self.bias]).T)
        for part in slices(X.shape[0], max(_ROWS, _ENTRIES // sum(table.shape))):
            scores = self._scores(X[part], table)
            kernels.assign.least_of_each(scores, self.starts, self.members, out[part])

    @property
    def _n_values(self) -> int:
        """Values of a point that the features are made of."""
        f = len(self.table)
        if self.form == "values":
            return f
        return (f - 1) // 2 if self.form == "squares" else int((2 * f + 0.25) ** 0.5 - 1.5)

    @property
    def n_columns(self) -> int:
        """Columns of the feature matrix."""
        return self._n_values if self.axes is None else int(self.axes.shape[0])

    def _check_arrays(self) -> None:
        """Refuse arrays that do not fit each other, as a file may hold them."""
        f, width = self.table.shape
        q = self._n_values
        whole = {"values": q, "squares": 1 + 2 * q, "products": (q + 1) * (q + 2) // 2}[self.form]
        fits = (
            whole == f
            and self.bias.shape == (width,)
            and _are_starts(self.starts, self.members.size, width)
            and (self.axes is None or self.axes.shape[1] == q)
            and (self.origin is None or self.origin.shape == (self.n_columns,))
        )
        if not fits:
            raise ValueError("the scores of a member do not fit its centres or densities")

    def _scores(self, X: Matrix, table: np.ndarray) -> np.ndarray:
        """Return the scores of points, one row per score."""
        kind = self.table.dtype
        if not sparse.issparse(X):
            Z = np.asarray(X, dtype=kind)
            Z = Z if self.origin is None else Z - self.origin
            Z = Z if self.axes is None else Z @ self.axes
        elif self.axes is None and self.form != "values":
            Z = X.toarray() if self.origin is None else X.toarray() - self.origin
        else:
            # The origin is subtracted after the product, which keeps the rows sparse.
            through = self.table if self.axes is None else self.axes
            Z = np.asarray(X.astype(np.float64, copy=False) @ through)
            Z = Z if self.origin is None else Z - self.origin.astype(np.float64) @ through
            if self.axes is None:
                return np.ascontiguousarray((Z + self.bias).T)
        if self.form != "values":
            Z = with_products(np.asarray(Z, dtype=kind), squares=self.form == "squares")
        return np.asarray(table @ np.hstack([Z, np.ones((len(Z), 1), dtype=kind)]).T)


@dataclass(frozen=True)
class LandmarkRule:
    """Members whose label is that of the nearest landmarks, by a weighted vote.

    Attributes
    ----------
    view : int
        The feature matrix.
    members : (s,) array
        The members.
    landmarks : (p, d) array or CSR matrix
        The landmarks; of unit length for the cosine.
    table : (p, s) array
        Labels of the landmarks, -2 where a member says nothing of them.
    nearest : int
        Landmarks that vote.
    scale : float
        A landmark has the weight ``exp(-scale d^2)``.
    metric : str
        "euclidean" or "cosine".
    """

    view: int
    members: np.ndarray
    landmarks: Any
    table: np.ndarray
    nearest: int
    scale: float
    metric: Any

    def _check_arrays(self) -> None:
        """Refuse arrays that do not fit each other, as a file may hold them."""
        count = self.landmarks.shape[0]
        fits = (
            self.table.shape == (count, self.members.size)
            and self.table.dtype.kind == "i"
            and 1 <= self.nearest <= count
            and np.isfinite(self.scale)
        )
        if not fits:
            raise ValueError("the labels of landmarks do not fit the landmarks")

    def write(self, X: Matrix, out: np.ndarray) -> None:
        """Write the labels of points to the members' columns of ``out``."""
        search = LandmarkSearch(self.landmarks, self.metric)
        squares, indices = search.nearest(X, self.nearest)
        kernels.assign.vote(squares, indices, self.table, self.scale, self.members, out)


@dataclass(frozen=True)
class Assigner:
    """Gives points the labels that the members of an ensemble would have given them.

    Attributes
    ----------
    n_features : tuple of int
        Columns of each view.
    n_clusters : (r,) array
        Clusters of each member.
    rules : tuple of ScoreRule and LandmarkRule
        How the members assign.
    unable : tuple of int
        Members that cannot assign points, because they failed.

    See Also
    --------
    EnsembleGenerator.generate_with_assigner : Makes one.

    Notes
    -----
    A landmark can only be in one cluster: a cluster with fewer points than a landmark stands for
    (a few thousandths of the points) may be given no new points.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate import restarts
    >>> X = np.array([[0.0], [0.1], [5.0], [5.1]])
    >>> made = restarts(3, n_clusters=2, random_state=0).generate_with_assigner(X)
    >>> bool((made.assigner.assign(X + 0.02) == made.ensemble.labels).all())
    True
    """

    n_features: tuple[int, ...]
    n_clusters: np.ndarray
    rules: tuple[Any, ...]
    unable: tuple[int, ...]

    def _check_arrays(self) -> None:
        """Refuse rules that do not fit the members, as a file may hold them."""
        r = self.n_clusters.size
        told = [int(m) for rule in self.rules for m in rule.members] + list(self.unable)
        if sorted(told) != list(range(r)) or self.n_clusters.min(initial=0) < 0:
            raise ValueError("the rules of the members are not one for each")
        for rule in self.rules:
            known = self.n_clusters[rule.members]
            if isinstance(rule, LandmarkRule):
                low, high = rule.table.min(axis=0, initial=0), rule.table.max(axis=0, initial=-1)
                fits = bool((high < known).all() and low.min(initial=0) >= UNSAMPLED)
                width = rule.landmarks.shape[1]
            else:
                fits = np.array_equal(np.diff(rule.starts), known)
                width = rule.n_columns
            if not fits or width != self.n_features[rule.view]:
                raise ValueError("a rule does not fit the clusters of its members or the columns")

    def assign(self, X: Any, *, n_jobs: int | None = None) -> np.ndarray:
        """Return the label of every point in every member.

        Parameters
        ----------
        X : (m, d) array or CSR matrix, or a tuple of views
            The points. They are read in blocks and never copied whole.
        n_jobs : int or None
            Workers; the result does not depend on it.

        Returns
        -------
        (m, r) array
            Labels as in the ensemble; -1 is noise, -2 a member that cannot say.
        """
        views = X if isinstance(X, tuple) else (X,)
        for view, width in zip(views, self.n_features, strict=True):
            if view.shape[1] != width:
                raise ValueError(
                    f"X has {view.shape[1]} columns, but the members were made of {width}; give "
                    "the same columns."
                )
        n = views[0].shape[0]
        out = np.empty((n, self.n_clusters.size), dtype=label_type(self.n_clusters))
        self.fill(views, out, n_jobs=n_jobs)
        return out

    def joined(self, other: Assigner) -> Assigner:
        """Return the assigner of the members of this one, followed by those of another."""
        count = self.n_clusters.size
        moved = tuple(replace(rule, members=rule.members + count) for rule in other.rules)
        return Assigner(
            self.n_features,
            np.concatenate([self.n_clusters, other.n_clusters]),
            self.rules + moved,
            self.unable + tuple(count + i for i in other.unable),
        )

    def fill(
        self,
        views: Sequence[Matrix],
        out: np.ndarray,
        *,
        n_jobs: int | None = None,
        members: Set[int] | None = None,
    ) -> None:
        """Write the labels of all points to the columns of ``out``.

        Rules none of whose members are among ``members`` are left out.
        """
        out[:, list(self.unable)] = UNSAMPLED
        n = out.shape[0]
        rules = tuple(
            rule for rule in self.rules if members is None or members & set(rule.members.tolist())
        )
        tasks = [(rules, tuple(views), out, part) for part in slices(n, _CHUNK)]
        parallel_map(_fill_chunk, tasks, n_jobs=n_jobs, shared=True)


def _are_starts(starts: np.ndarray, count: int, end: int) -> bool:
    """Say whether these are the first columns of so many members, and the end of the last."""
    if starts.shape != (count + 1,) or starts.dtype.kind not in "iu":
        return False
    return bool(starts[0] == 0 and starts[-1] == end and (np.diff(starts) >= 0).all())


def _fill_chunk(task: tuple[Any, Sequence[Matrix], np.ndarray, slice]) -> None:
    rules, views, out, rows = task
    blocks = [X[rows] for X in views]
    for rule in rules:
        rule.write(blocks[rule.view], out[rows])


def label_type(n_clusters: np.ndarray) -> Any:
    """Return the smallest type that holds the labels of all members."""
    return smallest_type(max(int(np.max(n_clusters, initial=0)), 1))


# -- building one --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fitted:
    """What one member left behind on the points that it clustered.

    ``model`` has ``centers`` or ``directions`` (k-means), or ``means``, ``log_weights`` and
    ``precisions``, ``variances`` or one ``precision`` (mixtures, with ``origin`` and ``axes`` where
    they were fitted to principal components), in the space of ``columns`` or ``basis`` where the
    member saw only these.
    """

    index: int
    view: int
    labels: np.ndarray
    n_clusters: int
    model: Mapping[str, np.ndarray]
    metric: str = "euclidean"
    failed: bool = False


@dataclass(frozen=True)
class Clustered:
    """The points that some members clustered: all points, or a sample."""

    views: tuple[Matrix, ...]
    members: Sequence[Fitted]
    seed: SeedSequence


def build_assigner(
    clustered: Sequence[Clustered], views: Sequence[Matrix], n_members: int
) -> Assigner:
    """Return the assigner of all members; a member is in exactly one entry of ``clustered``.

    ``views`` are all points: they give the origin of coordinates.
    """
    counts = np.zeros(n_members, dtype=np.int64)
    everyone = [m for part in clustered for m in part.members]
    for member in everyone:
        counts[member.index] = member.n_clusters
    unable = tuple(sorted(m.index for m in everyone if m.failed))
    scored: dict[Any, list[_Scores]] = {}
    origins = [centre_of(X) for X in views]
    rest: list[tuple[int, Fitted]] = []
    for place, part in enumerate(clustered):
        for member in part.members:
            if member.failed:
                continue
            X = part.views[member.view]
            made = _scores_of(member, X, origins[member.view])
            if made is None:
                rest.append((place, member))
            else:
                scored.setdefault(made.key, []).append(made)
    rules: list[Any] = [_score_rule(same) for same in scored.values()]
    if rest:
        rules += _landmark_rules(clustered, rest)
    n_features = tuple(int(X.shape[1]) for X in views)
    return Assigner(n_features, counts, tuple(rules), unable)


@dataclass(frozen=True)
class _Scores:
    member: Fitted
    origin: np.ndarray | None
    axes: np.ndarray | None
    form: Any
    table: np.ndarray
    bias: np.ndarray

    @property
    def key(self) -> Any:
        parts = [None if a is None else a.tobytes() for a in (self.origin, self.axes)]
        return (self.member.view, *parts, self.form, self.table.dtype.str)


def _score_rule(same: Sequence[_Scores]) -> ScoreRule:
    first = same[0]
    sizes = [s.bias.size for s in same]
    return ScoreRule(
        view=first.member.view,
        members=np.array([s.member.index for s in same], dtype=np.int64),
        starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        origin=first.origin,
        axes=first.axes,
        form=first.form,
        table=np.ascontiguousarray(np.concatenate([s.table for s in same], axis=1)),
        bias=np.concatenate([s.bias for s in same]),
    )


def _scores_of(member: Fitted, X: Matrix, origin: np.ndarray | None) -> _Scores | None:
    """Return the scores of a k-means or mixture member; None for all others."""
    model = member.model
    kind = np.float64 if sparse.issparse(X) else X.dtype
    d = X.shape[1]
    if "centers" in model or "directions" in model:
        start = np.zeros(d) if origin is None else origin.astype(np.float64)
        if "directions" in model:
            lifted = _lift(model["directions"], model, d)
            table, bias = -lifted.T, -(lifted @ start)
        else:
            moved = model["centers"] - _restrict(start, model)
            lifted = _lift(moved, model, d)
            table, bias = -2.0 * lifted.T, np.einsum("ij,ij->i", moved, moved)
        return _Scores(member, origin, None, "values", table.astype(kind), bias.astype(kind))
    if "means" in model:
        return _mixture_scores(member, X, origin)
    return None


def _mixture_scores(member: Fitted, X: Matrix, origin: np.ndarray | None) -> _Scores:
    """Return minus twice the log densities of the components, as a table over features."""
    model = member.model
    d = X.shape[1]
    kind = np.float64 if sparse.issparse(X) else X.dtype
    axes = None
    if "axes" in model or "columns" in model or "basis" in model:
        inner = model["axes"].T if "axes" in model else np.eye(model["means"].shape[1])
        axes = np.ascontiguousarray(_lift(inner, model, d).T)
    start = np.zeros(d) if origin is None else origin.astype(np.float64)
    moved = start if axes is None else start @ axes
    if "axes" in model:
        moved = moved - model["origin"] @ model["axes"]
    means = model["means"] - moved
    if "precision" in model:  # of all components: what is quadratic is common to them
        pulled = means @ model["precision"]
        table = -2.0 * (pulled if axes is None else pulled @ axes.T).T
        bias = np.einsum("ki,ki->k", pulled, means) - 2.0 * model["log_weights"]
        return _Scores(member, origin, None, "values", table.astype(kind), bias.astype(kind))
    form: Literal["squares", "products"] = "squares" if "variances" in model else "products"
    table = density_table(means, model, form)
    exact = _Scores(member, origin, axes, form, table, np.zeros(table.shape[1]))
    if kind == np.float64:
        return exact
    narrow = None if axes is None else axes.astype(kind)
    bias = np.zeros(table.shape[1], dtype=kind)
    single = _Scores(member, origin, narrow, form, table.astype(kind), bias)
    labels = np.empty((X.shape[0], member.index + 1), dtype=np.int32)
    _score_rule([single]).write(X, labels)
    known = np.flatnonzero(member.labels >= 0)
    wrong = labels[known, member.index] != member.labels[known]
    return single if wrong.mean() <= _WRONG else exact


def _restrict(vector: np.ndarray, model: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return a point in the space that a member saw."""
    if "columns" in model:
        return vector[model["columns"]]
    return vector @ model["basis"] if "basis" in model else vector


def _lift(vectors: np.ndarray, model: Mapping[str, np.ndarray], d: int) -> np.ndarray:
    """Return (k, d) vectors that have the products with points that ``vectors`` have there."""
    if "columns" in model:
        out = np.zeros((vectors.shape[0], d))
        out[:, model["columns"]] = vectors
        return out
    return vectors @ model["basis"].T if "basis" in model else np.asarray(vectors)


def _landmark_rules(
    clustered: Sequence[Clustered], rest: Sequence[tuple[int, Fitted]]
) -> list[LandmarkRule]:
    """Return the rules of members that assign through landmarks; ``rest`` has their part too.

    There are several sets of landmarks, each of the points of one part, among which the members
    are dealt: every set blurs borders in another way, and the members together less.
    """
    parts = sorted({place for place, _ in rest})
    count = min(GROUPS, 1 + len(rest) // _MEMBERS)
    sets: dict[tuple[int, Any, int], list[tuple[int, Fitted]]] = {}
    for place, member in rest:
        whole = len(parts) == 1 and clustered[place].views[member.view].shape[0] <= _ALL
        group = 0 if whole else member.index % count
        sets.setdefault((member.view, member.metric, group), []).append((place, member))
    tasks = []
    for (_, metric, group), same in sorted(sets.items(), key=lambda item: item[0]):
        home = clustered[parts[group % len(parts)]]
        seed = descendant(home.seed, group)
        tasks.append((clustered, home, same, metric, seed, len(parts) == 1))
    return parallel_map(_landmark_rule, tasks, shared=True)


def _landmark_rule(task: tuple[Any, ...]) -> LandmarkRule:
    """Return the rule of the members that share a set of landmarks."""
    clustered, home, same, metric, seed, is_only = task
    own = [member for _, member in same]
    X = home.views[own[0].view]
    if is_only and X.shape[0] <= _ALL:
        return _whole_rule(X, own, metric)
    landmarks = _landmarks(X, own, metric, seed)
    links = LandmarkSearch(landmarks, metric).nearest(X, min(_NEAREST, landmarks.shape[0]))[0]
    table, members = _labels_of(landmarks, clustered, same, metric)
    return LandmarkRule(
        own[0].view, members, landmarks, table, links.shape[1], _scale(links), metric
    )


def _landmarks(X: Matrix, members: Sequence[Fitted], metric: Any, seed: SeedSequence) -> Matrix:
    """Return landmarks of the points, more for members of many clusters."""
    # Centres of sparse rows would be dense.
    how: Any = "random" if sparse.issparse(X) else "kmeans"
    wanted = max(LANDMARKS, _PER_CLUSTER * max(m.n_clusters for m in members))
    return choose_landmarks(X, min(X.shape[0], wanted), how, metric=metric, seed=seed)


def _whole_rule(X: Matrix, members: Sequence[Fitted], metric: Any) -> LandmarkRule:
    """Return the rule of members on few points: the label of the nearest of them."""
    kind = label_type(np.array([m.n_clusters for m in members]))
    labels = np.column_stack([m.labels for m in members]).astype(kind)
    points = choose_landmarks(X, X.shape[0], "all", metric=metric)
    names = np.array([m.index for m in members], dtype=np.int64)
    table = np.ascontiguousarray(labels)
    return LandmarkRule(members[0].view, names, points, table, 1, 1.0, metric)


def _labels_of(
    landmarks: Matrix,
    clustered: Sequence[Clustered],
    same: Sequence[tuple[int, Fitted]],
    metric: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the landmarks' labels, by a vote of the nearest points of each member, and members."""
    kind = label_type(np.array([member.n_clusters for _, member in same]))
    columns, names = [], []
    for place in sorted({place for place, _ in same}):
        members = [member for other, member in same if other == place]
        X = clustered[place].views[members[0].view]
        points = choose_landmarks(X, X.shape[0], "all", metric=metric)
        near = LandmarkSearch(points, metric).nearest(landmarks, min(_NEAREST, X.shape[0]))
        labels = np.column_stack([m.labels for m in members]).astype(kind)
        table = np.empty((landmarks.shape[0], len(members)), dtype=kind)
        own = np.arange(len(members), dtype=np.int64)
        labels = np.ascontiguousarray(labels)
        kernels.assign.vote(near[0], near[1], labels, _scale(near[0]), own, table)
        columns.append(table)
        names += [member.index for member in members]
    return np.ascontiguousarray(np.concatenate(columns, axis=1)), np.array(names, dtype=np.int64)


def _scale(squares: np.ndarray) -> float:
    mean = float(np.maximum(squares, 0.0).mean())
    return 0.5 / mean if mean > 0 else 1.0
