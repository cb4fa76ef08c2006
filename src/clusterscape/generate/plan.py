"""The plan of an ensemble: what every member will do, settled before anything runs.

Each member has its own seed; what it draws (number of clusters, columns, rows, the clusterer's
start) comes from its own children of that seed. So a member depends on its plan and the data
alone, not on the other members, the number of workers or the order in which they finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from clusterscape._core.errors import ParameterError
from clusterscape._core.params import Choice, Integer, Number, Rule, Such
from clusterscape._core.seeds import RandomState, descendant, restore, root_sequence, spawn
from clusterscape.generate.features import Matrix
from clusterscape.linalg.gaussian_fit import principal_basis

# The draws of a member; each has its own child of the member's seed, so that changing one axis
# leaves what the other axes draw as it was.
DRAWS = ("n_clusters", "columns", "rows", "algorithm")

# Up to so many points every member clusters all of them, unless told otherwise.
EXACT = 20_000
GROUPS = 4  # samples among which members on samples are dealt
POINTS_PER_CLUSTER = 20  # of a sample at least
_SAMPLES = 2**31  # a spawn key that no member has
_COLUMNS_AXIS = 4  # of :func:`place`; settings have the ones before
_COLUMN_WORDS = {
    "subset": "random_features", "project": "random_projection", "pca": "principal_components",
}  # fmt: skip
_ROOTS = tuple(math.sqrt(p) % 1.0 for p in (5, 2, 3, 7, 11))  # irrational, none a sum of others


def child(seed: SeedSequence, draw: str) -> SeedSequence:
    """Return the seed of one draw of a member, without changing the member's seed."""
    return descendant(seed, DRAWS.index(draw))


def place(number: int, axis: int = 0) -> float:
    """Return where in a range the draw of a kind's member lies, in [0, 1).

    The fractions of the multiples of an irrational number: even over any number of members. Drawn
    at random, some runs would have many members of one setting and others none, and their answers
    would differ for that reason.

    Parameters
    ----------
    number : int
        Counts the members of the kind.
    axis : int
        Counts the values that a member draws; each has an irrational number of its own.

    Examples
    --------
    >>> [round(place(i), 2) for i in range(4)]
    [0.5, 0.74, 0.97, 0.21]
    """
    return (0.5 + number * _ROOTS[axis % len(_ROOTS)]) % 1.0


_COUNT = Integer(1)
_RATIO = Number(0, 1, open_low=True)


def _is_range(value: Any) -> bool:
    if not isinstance(value, tuple) or len(value) != 2 or not _COUNT.allows(value[0]):
        return False
    low, high = value
    return bool(high == "sqrt" or (_COUNT.allows(high) and high >= low))


def _is_share(value: Any, name: str) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2
    return pair and value[0] == name and _RATIO.allows(value[1])


def _has_dims(value: Any, name: str) -> bool:
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and value[0] == name
        and _COUNT.allows(value[1])
    )


N_CLUSTERS: Sequence[Rule] = (
    Integer(1),
    Such(
        lambda v: isinstance(v, list) and len(v) > 0 and all(_COUNT.allows(k) for k in v),
        "a list of integers >= 1, taken in turn",
        refused=[[], [2, 0], [2, "3"]],
    ),
    Such(
        _is_range,
        "a pair (low, high) of integers with 1 <= low <= high, or (low, 'sqrt')",
        refused=[(0, 3), (5, 3), (2, "log"), (2,), (2, 3, 4)],
    ),
)
COLUMNS: Sequence[Rule] = (
    Choice("all"),
    Such(
        lambda v: _is_share(v, "subset"),
        "('subset', ratio) with a ratio in (0, 1]",
        refused=[("subset", 0.0), ("subset", 1.5), ("subset",)],
    ),
    Such(
        lambda v: _has_dims(v, "project"),
        "('project', dims) with dims >= 1",
        refused=[("project", 0), ("project", 2.5), ("rotate", 2)],
    ),
    Such(
        lambda v: _has_dims(v, "pca"),
        "('pca', dims) with dims >= 1",
        refused=[("pca", 0), ("pca", 0.9), ("pca",)],
    ),
)
ROWS: Sequence[Rule] = (
    Choice("auto", "all", "bootstrap"),
    Such(
        lambda v: isinstance(v, tuple) and len(v) == 2 and v[0] == "sample" and _COUNT.allows(v[1]),
        "('sample', size) with a size >= 1",
        refused=[("sample", 0), ("sample", 0.5), ("sample",)],
    ),
    Such(
        lambda v: _is_share(v, "subsample"),
        "('subsample', ratio) with a ratio in (0, 1]",
        refused=[("subsample", 0.0), ("subsample", 2.0), ("bootstrap", 0.5)],
    ),
)


@dataclass(frozen=True)
class Member:
    """What one partition will be made of."""

    index: int
    seed: SeedSequence
    algorithm: int
    view: int
    n_clusters: int | None
    most_clusters: int
    columns: Any
    rows: Any
    group: int = 0  # of members on samples: which sample

    @property
    def is_sampled(self) -> bool:
        """Whether the member clusters a sample, and all other points are assigned."""
        return is_sample(self.rows)


@dataclass(frozen=True)
class Axes:
    """The axes of a generator, for a given number of points.

    ``columns`` may be a list, over which the members of a kind are spread as over settings. With
    ``halved`` a range of numbers of clusters ends at half the number of points at most. The
    members of a kind, of which a round has ``share`` and this turn is number ``rank``, are spread
    evenly over the range; members of no kind (``share`` 0) draw from it at random.
    """

    n_clusters: Any
    columns: Any
    rows: Any
    n_points: int
    halved: bool = False
    rank: int = 0
    share: int = 0

    @property
    def n_rows(self) -> int:
        """Rows that a member sees at most."""
        if is_sample(self.rows):
            return min(int(self.rows[1]), self.n_points)
        if isinstance(self.rows, tuple):
            return share(self.rows[1], self.n_points)
        return self.n_points

    @property
    def range(self) -> tuple[int, int]:
        """The smallest and the largest number of clusters that may be asked for."""
        if isinstance(self.n_clusters, tuple):
            low, high = self.n_clusters
            n = self.n_rows if is_sample(self.rows) else self.n_points
            high = math.isqrt(n - 1) + 1 if high == "sqrt" else int(high)
            if self.halved:
                high = min(high, n // 2)
            return int(low), max(int(low), high)
        counts = self.n_clusters if isinstance(self.n_clusters, list) else [self.n_clusters]
        return int(min(counts)), int(max(counts))

    def draw_k(self, turn: int, seed: SeedSequence) -> int:
        """Return the number of clusters; ``turn`` counts the rounds of algorithms and views.

        Counting members instead would tie each algorithm to some entries of the list.
        """
        if isinstance(self.n_clusters, list):
            return int(self.n_clusters[turn % len(self.n_clusters)])
        low, high = self.range
        if self.share:
            return low + int(place(turn * self.share + self.rank) * (high - low + 1))
        return int(np.random.default_rng(child(seed, "n_clusters")).integers(low, high + 1))

    def draw_columns(self, turn: int) -> Any:
        """Return the columns of a member; ``turn`` is as in :meth:`draw_k`."""
        if not isinstance(self.columns, list):
            return self.columns
        at = place(turn * self.share + self.rank, _COLUMNS_AXIS)
        return self.columns[int(at * len(self.columns))]

    def name(self, n_algorithms: int) -> str:
        """Return the preset that does the same, or the axes in use joined by "+"."""
        words = []
        if isinstance(self.columns, tuple):
            words.append(_COLUMN_WORDS[self.columns[0]])
        if self.rows != "all" and not is_sample(self.rows):
            words.append("bagging" if self.rows == "bootstrap" else "subsample")
        if n_algorithms > 1:
            words.append("mixed")
        elif isinstance(self.n_clusters, tuple):
            words.append("random_k")
        elif isinstance(self.n_clusters, list):
            words.append("several_k")
        return "+".join(words) or "restarts"


def is_sample(rows: Any) -> bool:
    """Say whether members are made on samples."""
    return isinstance(rows, tuple) and rows[0] == "sample"


def named_clusters(n_clusters: Any) -> int:
    """Return the largest number of clusters that is named; a square root names none."""
    if isinstance(n_clusters, tuple):
        return int(n_clusters[0] if n_clusters[1] == "sqrt" else n_clusters[1])
    return int(max(n_clusters)) if isinstance(n_clusters, list) else int(n_clusters)


def settled_rows(
    rows: Any, n_points: int, *, size: int, most_clusters: int, exact: int = EXACT
) -> Any:
    """Return the rows that a clusterer sees, "auto" settled by the number of points.

    Up to ``exact`` points a member clusters all of them. Above, it clusters a sample of
    ``size`` points, or more for many clusters, unless that is more than half of them all.
    """
    if rows == "auto":
        wanted = max(size, POINTS_PER_CLUSTER * most_clusters)
        few = n_points <= exact or 2 * wanted > n_points
        return "all" if few else ("sample", wanted)
    return "all" if is_sample(rows) and rows[1] >= n_points else rows


def sample_seed(root: SeedSequence, group: int) -> SeedSequence:
    """Return the seed of a sample: not that of any member, and the same whatever their number."""
    return descendant(root, _SAMPLES, group)


def draw_sample(n: int, size: int, seed: SeedSequence) -> np.ndarray:
    """Return the rows of a sample, sorted."""
    return np.sort(np.random.default_rng(seed).choice(n, size=size, replace=False))


def make_plan(
    axes: Sequence[Axes],
    *,
    n_partitions: int,
    needs_k: Sequence[bool],
    n_views: int,
    root: SeedSequence,
    group: Callable[[int, int], int] = lambda turn, member: 0,
    most_clusters: Sequence[int] | None = None,
    first: int = 0,
) -> list[Member]:
    """Return the members; ``axes`` and ``needs_k`` have one entry for each turn of a round.

    ``group`` gives the sample of a member on samples, by its turn and its number;
    ``most_clusters`` the largest number of clusters of the members that share what it computes;
    ``first`` is how many members the run has already, whose seeds are not taken again.
    """
    seeds = spawn(root, first + n_partitions)[first:]
    width = len(needs_k)
    most = [own.range[1] for own in axes] if most_clusters is None else most_clusters
    members = []
    for i, seed in enumerate(seeds):
        turn = i % width
        own = axes[turn]
        members.append(
            Member(
                index=first + i,
                seed=seed,
                algorithm=turn,
                view=(i // width) % n_views,
                n_clusters=own.draw_k(i // (width * n_views), seed) if needs_k[turn] else None,
                most_clusters=most[turn] if needs_k[turn] else 0,
                columns=own.draw_columns(i // (width * n_views)),
                rows=own.rows,
                group=group(turn, first + i) % GROUPS if is_sample(own.rows) else 0,
            )
        )
    return members


def check_plan(axes: Sequence[Axes], views: Sequence[Matrix], needs_k: Sequence[bool]) -> None:
    """Refuse at once what no member could do with this data."""
    told = [own for own, needed in zip(axes, needs_k, strict=True) if needed]
    if told and all(own.range[0] > own.n_rows for own in told):
        first = told[0]
        n = first.n_rows
        seen = "" if first.rows == "all" else f" of {first.n_points}"
        raise ParameterError(
            f"{{n_clusters}} asks for at least {first.range[0]} clusters, but a partition sees {n} "
            f"sample{'s' if n != 1 else ''}{seen}. Ask for fewer clusters or give more points.",
            n_clusters=first.n_clusters,
        )
    for own in axes:
        for columns in own.columns if isinstance(own.columns, list) else [own.columns]:
            if isinstance(columns, tuple) and columns[0] != "subset":
                _check_dims(columns, own.n_rows, views)


def _check_dims(columns: tuple[str, int], n_rows: int, views: Sequence[Matrix]) -> None:
    # Not the option --columns of the command line, which names columns.
    for position, view in enumerate(views):
        where = f"view {position}" if len(views) > 1 else "X"
        if columns[1] > view.shape[1]:
            raise ValueError(
                f"columns={columns} asks for more dimensions than {where} has columns "
                f"({view.shape[1]}). Ask for at most {view.shape[1]}."
            )
        if columns[0] == "pca" and columns[1] >= n_rows:
            raise ValueError(
                f"columns={columns} asks for more principal components than a member of {n_rows} "
                f"points has. Ask for at most {max(n_rows - 1, 1)}."
            )


def share(ratio: float, n: int) -> int:
    """Return ratio * n rounded, halves upwards, and at least one."""
    return max(1, math.floor(ratio * n + 0.5))


def draw_columns(X: Matrix, member: Member) -> np.ndarray:
    """Return the random share of the columns that a member sees, sorted."""
    rng = np.random.default_rng(child(member.seed, "columns"))
    count = share(member.columns[1], X.shape[1])
    return np.sort(rng.choice(X.shape[1], size=count, replace=False))


def draw_basis(X: Matrix, member: Member) -> np.ndarray:
    """Return the orthonormal basis that a member's features are projected to.

    That of a random subspace is drawn; principal components are the same for all members on the
    same rows.
    """
    if member.columns[0] == "pca":
        return principal_basis(X, int(member.columns[1]))
    rng = np.random.default_rng(child(member.seed, "columns"))
    # The factor Q of a Gaussian matrix spans a uniformly random subspace.
    return np.linalg.qr(rng.standard_normal((X.shape[1], member.columns[1])))[0]


def draw_rows(n: int, member: Member) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the rows drawn (sorted, each once) and how often; None means all rows once."""
    if member.rows == "all":
        return None
    rng = np.random.default_rng(child(member.seed, "rows"))
    if member.rows == "bootstrap":
        counts = np.bincount(rng.integers(0, n, size=n), minlength=n)
        drawn = np.flatnonzero(counts)
        return drawn, counts[drawn]
    drawn = np.sort(rng.choice(n, size=share(member.rows[1], n), replace=False))
    return drawn, np.ones(drawn.size, dtype=np.int64)


def describe_rows(rows: Any) -> str:
    """Return how rows were drawn, as a record says it."""
    if is_sample(rows):
        return f"sample {rows[1]}"
    return f"subsample {rows[1]:g}" if isinstance(rows, tuple) else str(rows)


def root_seed(random_state: RandomState, stored: Mapping[str, Any] | None) -> SeedSequence:
    """Return the run's seed; a stored run goes on with its own when none is asked for."""
    if random_state is None and stored is not None and "seed" in stored:
        return restore(stored["seed"])
    return root_sequence(random_state)
