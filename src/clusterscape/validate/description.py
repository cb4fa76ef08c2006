"""What each cluster is: the columns in which its points differ from all others, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.stats import rankdata

from clusterscape._core.params import Integer, Null, Seed, checked
from clusterscape._core.seeds import RandomState, root_sequence
from clusterscape.ensemble.ensemble import Ensemble, ids_or_count
from clusterscape.ensemble.inputs import check_same_rows, first_difference, may_be_joined
from clusterscape.generate.features import refuse_several

_BLOCK = 2_000_000  # values that are looked at together
_RANKED = 500  # columns whose values are all ranked; of more, those with different means
_WORDS = 20  # different words of a column that are looked at, the most frequent ones
_FEWEST = 8  # points of a cluster that can be divided into those that choose and those that measure
_TABLE = ["cluster", "column", "value", "inside", "outside", "measure", "effect"]

# ---- what is returned -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterDescription:
    """The columns in which clusters differ from the rest; what :func:`describe_clusters` returns.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per cluster and column, the most different first. ``cluster``; ``column``;
        ``value`` (the word of a column of words, else missing); ``inside`` and ``outside``, what
        is typical of the points of the cluster and of all others; ``measure``, what these are
        ("median" of a column of numbers, "share" of a word, or "present", the share of points with
        a value other than 0 where both medians are 0); ``effect`` in [-1, 1], by which the cluster
        is above the others.
    n_points : (k,) array
        Points of each cluster.
    n_columns : int
        Columns, and words of columns, that were compared.
    held_back : (k,) array of bool
        Whether the effects of a cluster come from points that had no part in the choice of its
        columns.

    See Also
    --------
    describe_clusters : Makes it.

    Examples
    --------
    >>> from clusterscape.validate import describe_clusters
    >>> found = describe_clusters([[0.0], [0.1], [5.0], [5.1]], [0, 0, 1, 1])
    >>> found.held_back.tolist()
    [False, False]
    """

    table: pd.DataFrame
    n_points: np.ndarray
    n_columns: int
    held_back: np.ndarray

    def sentences(self) -> list[str]:
        """Return a sentence on each cluster.

        Returns
        -------
        list of str
        """
        lines = []
        for cluster, size in enumerate(self.n_points):
            rows = self.table[self.table["cluster"] == cluster]
            said = "; ".join(_words(row) for row in rows.itertuples()) or "nothing tells it apart"
            points = "1 point" if size == 1 else f"{size:,} points"
            lines.append(f"Cluster {cluster} ({points}): {said}.")
        return lines


def _words(row: Any) -> str:
    """Say in which way a cluster differs in one column."""
    if not pd.isna(row.value):
        return f"{row.column} is {row.value} for {row.inside:.0%}, elsewhere {row.outside:.0%}"
    if row.measure == "present":
        return f"{row.column} not 0 for {row.inside:.0%}, elsewhere {row.outside:.0%}"
    more = "higher" if row.effect > 0 else "lower"
    return f"{row.column} {more} ({row.inside:.3g}, elsewhere {row.outside:.3g})"


# ---- the function -----------------------------------------------------------------------------


@checked({"n_columns": [Integer(1)], "max_points": [Null(), Integer(2)], "random_state": [Seed()]})
def describe_clusters(
    X: Any,
    labels: Any,
    *,
    n_columns: int = 5,
    names: Sequence[str] | None = None,
    max_points: int | None = 20_000,
    random_state: RandomState = 0,
) -> ClusterDescription:
    """Find the columns that tell each cluster from all other points.

    The effect of a column is the probability that a point of the cluster has a larger value than a
    point outside, less the probability of a smaller one (Cliff's delta): 1 when all values inside
    are larger, 0 when they are alike. A column of words, or of booleans, is compared word by word,
    and the effect is the difference of the word's shares.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or data frame
        Any columns of the points: those that were clustered, in their own units, or others.
        Missing and infinite values count for nothing; columns of dates are left out.
    labels : (n,) array
        Cluster of each point; negative for points in no cluster, which count as others. A series
        whose index names other points than that of X, or in another order, is refused.
    n_columns : int
        Columns for each cluster.
    names : sequence of str, optional
        Names of the columns of an array or a sparse matrix; by default those of a data frame, and
        else their positions.
    max_points : int or None
        Of more points so many are looked at, drawn at random; None looks at all.
    random_state : int, generator or None
        Draws the points, and the half of them that chooses the columns.

    Returns
    -------
    ClusterDescription

    See Also
    --------
    clusterscape.ConsensusClustering : ``describe`` does the same for a fitted model.
    Affinity : How firmly each point belongs to its cluster.

    Notes
    -----
    The largest of many effects is too large by chance. So a random half of each cluster's points
    chooses the columns, and the effects are those of the other half. For a cluster with fewer than
    eight points all points do both, and its ``held_back`` is False; that does not touch the other
    clusters, to which its points are two halves of the rest. Of more than 500 columns only those
    are ranked whose means differ most, in units of the standard deviation.

    A cluster that lies between others in a column has an effect near 0 there, even where the
    column tells it from each of them; compare the typical values.

    There are no p-values: clusters that were made from a column differ in it whether they are real
    or not, and no division of the points mends that. Effects say what clusters are, not that they
    exist; for the latter see :func:`structure_test`. Columns that were not used for clustering have
    no such double use.

    References
    ----------
    .. [1] N. Cliff, "Dominance statistics: ordinal analyses to answer ordinal questions",
       Psychological Bulletin 114, 494-509, 1993. doi:10.1037/0033-2909.114.3.494
    .. [2] L. L. Gao, J. Bien and D. Witten, "Selective inference for hierarchical clustering",
       Journal of the American Statistical Association 119, 332-342, 2024.
       doi:10.1080/01621459.2022.2116331

    Examples
    --------
    >>> import pandas as pd
    >>> from clusterscape.validate import describe_clusters
    >>> table = pd.DataFrame({"age": range(20), "town": ["Bonn"] * 9 + ["Ulm"] * 11})
    >>> found = describe_clusters(table, [0] * 10 + [1] * 10, n_columns=1)
    >>> print(found.sentences()[0])
    Cluster 0 (10 points): age lower (4.5, elsewhere 14.5).
    """
    refuse_several(X, "X")
    check_same_rows(X, labels)
    columns = _Columns(X, names)
    labels = np.asarray(labels)
    if labels.dtype.kind not in "iu":
        raise ValueError(
            f"labels must be integers, negative for points in no cluster; got {labels.dtype}. "
            "pandas.factorize turns names into integers."
        )
    if labels.shape != (columns.n_points,):
        raise ValueError(
            f"labels must have one entry for each of the {columns.n_points} rows of X; got shape "
            f"{labels.shape}."
        )
    clusters = int(labels.max(initial=-1)) + 1
    if clusters > labels.size:
        raise ValueError(
            f"labels goes up to {clusters - 1} for {labels.size} points; pandas.factorize numbers "
            "clusters from 0."
        )
    sizes = np.bincount(labels[labels >= 0], minlength=clusters)
    rng = np.random.default_rng(root_sequence(random_state))
    rows = np.arange(labels.size)
    if max_points is not None and labels.size > max_points:
        rows = np.sort(rng.choice(labels.size, max_points, replace=False))
    first, second = _halves(labels[rows], rng)
    held_back = np.bincount(labels[rows][labels[rows] >= 0], minlength=clusters) >= _FEWEST
    everyone = np.arange(rows.size)
    found: list[list[dict[str, Any]]] = [[] for _ in range(clusters)]
    for own, choosing, measuring in ((held_back, first, second), (~held_back, everyone, everyone)):
        if own.any():
            chosen = _chosen(columns, rows[choosing], labels, n_columns)
            for c in np.flatnonzero(own):
                found[c] = _lines(columns, (int(c), chosen[c]), rows, measuring, labels)
    table = pd.DataFrame([line for lines in found for line in lines], columns=_TABLE)
    return ClusterDescription(table, sizes, len(columns), held_back)


def check_order(given: Any, ensemble: Ensemble, name: str) -> None:
    """Refuse a pandas object whose index names other points than the fit, or in another order.

    An index that only counts the rows names no points, unless the other one holds the same numbers
    in another order; what has no index is taken by position.
    """
    index = ids_or_count(ensemble)
    if index is None or not isinstance(given, (pd.DataFrame, pd.Series)):
        return
    if may_be_joined(given.index, index):
        return
    row, mine, theirs = first_difference(given.index, index)
    known = "range(len(model.labels_))" if ensemble.index is None else "model.ensemble_.index"
    raise ValueError(
        f"{name} and the points of the fit have different indexes: row {row} of {name} is {mine}, "
        f"and the fit had {theirs} there. Give the rows in the order of the fit, "
        f"{name}.loc[{known}]; where only the index is another one, {name}.set_axis({known})."
    )


def _halves(labels: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return a half of each cluster's points that chooses columns, and one that measures them."""
    order = rng.permutation(labels.size)
    order = order[np.argsort(labels[order], kind="stable")]  # each cluster, shuffled
    return np.sort(order[::2]), np.sort(order[1::2])


# ---- columns ----------------------------------------------------------------------------------


class _Columns:
    """Columns of numbers, and one column of zeros and ones for each frequent word."""

    def __init__(self, X: Any, names: Sequence[str] | None = None) -> None:
        if names is not None:
            X = _with_names(X, names)
        if sparse.issparse(X):
            self._numbers: Any = X.tocsc(copy=True)
            self._numbers.data = _measurable(self._numbers.data)
            own = [f"column {j}" for j in range(X.shape[1])] if names is None else names
            self.names: list[tuple[str, Any]] = [(str(name), None) for name in own]
            self._words: list[np.ndarray] = []
        else:
            frame = X.to_pandas() if hasattr(X, "to_pandas") else X
            frame = frame if isinstance(frame, pd.DataFrame) else _framed(frame)
            is_number = [
                pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_bool_dtype(t)
                for t in frame.dtypes
            ]
            numbers = frame.loc[:, is_number]
            self._numbers = _measurable(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
            self.names = [(str(name), None) for name in numbers.columns]
            self._words = []
            words = frame.loc[:, [not number for number in is_number]]
            for name, column in words.items():
                if pd.api.types.is_datetime64_any_dtype(column.dtype):
                    continue  # hardly any two are the same
                self._add_words(str(name), column)
        self.n_points = int(self._numbers.shape[0])
        self.n_numbers = int(self._numbers.shape[1])

    def __len__(self) -> int:
        return len(self.names)

    def _add_words(self, name: str, column: pd.Series) -> None:
        text = np.array([str(value) for value in column], dtype=object)
        counts = pd.Series(text[np.asarray(column.notna())]).value_counts()
        for word in counts.index[:_WORDS]:
            values = np.asarray(text == word, dtype=np.float64)
            values[np.asarray(column.isna())] = np.nan
            self._words.append(values)
            self.names.append((name, word))

    def block(self, which: Sequence[int] | range, rows: np.ndarray) -> np.ndarray:
        """Return some columns of some points."""
        parts = []
        numbers = [j for j in which if j < self.n_numbers]
        if numbers:
            values = self._numbers[:, numbers][rows]
            parts.append(values.toarray() if sparse.issparse(values) else values)
        parts += [self._words[j - self.n_numbers][rows, None] for j in which if j >= self.n_numbers]
        return np.concatenate([np.empty((rows.size, 0)), *parts], axis=1).astype(np.float64)


def _measurable(values: np.ndarray) -> np.ndarray:
    """Return numbers of which those that are infinite, or have no square, are missing."""
    return np.where(np.abs(values) > 1e150, np.nan, values)


def _with_names(X: Any, names: Sequence[str]) -> Any:
    """Return a frame with the names given; a sparse matrix stays one, and is named later."""
    if len(names) != X.shape[1]:
        raise ValueError(f"names has {len(names)} entries for {X.shape[1]} columns of X.")
    return X if sparse.issparse(X) else pd.DataFrame(X).set_axis(list(map(str, names)), axis=1)


def _framed(X: Any) -> pd.DataFrame:
    values = np.asarray(X)
    if values.ndim != 2:
        raise ValueError(f"X must have one row per point and columns; got shape {values.shape}.")
    frame = pd.DataFrame(values, columns=[f"column {j}" for j in range(values.shape[1])])
    return frame.infer_objects()


# ---- effects ----------------------------------------------------------------------------------


def _screened(
    columns: _Columns, rows: np.ndarray, labels: np.ndarray, clusters: int, n_columns: int
) -> list[int]:
    """Return all columns, or of many the few whose means differ most between the clusters.

    Ranking a value costs a hundred times as much as adding it.
    """
    if len(columns) <= _RANKED:
        return list(range(len(columns)))
    most = max(5 * n_columns, _RANKED // max(clusters, 1))
    apart = np.empty((clusters, len(columns)))
    width = max(1, _BLOCK // max(rows.size, 1))
    own = _inside(labels[rows], clusters)
    for start in range(0, len(columns), width):
        values = columns.block(range(start, min(start + width, len(columns))), rows)
        apart[:, start : start + width] = _mean_differences(values, own)
    best = [np.argsort(-row, kind="stable")[:most] for row in apart]
    return np.unique(np.concatenate(best)).tolist() if best else []


def _mean_differences(values: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return by how many standard deviations the mean of each cluster differs from the rest's."""
    known = ~np.isnan(values)
    values = np.where(known, values, 0.0)
    counts, sums = own @ known, own @ values
    total, whole = known.sum(axis=0), values.sum(axis=0)
    rest = total - counts
    spread = np.sqrt(np.maximum((values**2).sum(axis=0) * total - whole**2, 0.0))
    scale = spread / np.maximum(total, 1)
    apart = np.abs(sums / np.maximum(counts, 1) - (whole - sums) / np.maximum(rest, 1))
    found = np.zeros_like(apart)
    np.divide(apart, scale, out=found, where=(scale > 0) & (counts > 0) & (rest > 0))
    return found


def dominance(values: np.ndarray, labels: np.ndarray, clusters: int) -> np.ndarray:
    """Return Cliff's delta of every cluster against all other points, for each column."""
    ranks = rankdata(values, axis=0, nan_policy="omit")
    known = ~np.isnan(values)
    found = np.zeros((clusters, values.shape[1]))
    total = known.sum(axis=0)
    for c in range(clusters):
        inside = labels == c
        own = known[inside].sum(axis=0)
        pairs = own * (total - own)
        # Rank sum less that of the cluster's own pairs: pairs that the cluster wins, ties by half.
        wins = np.where(known[inside], ranks[inside], 0.0).sum(axis=0) - own * (own + 1) / 2.0
        np.divide(2.0 * wins, pairs, out=found[c], where=pairs > 0)
        found[c][pairs > 0] -= 1.0
    return found


def _inside(labels: np.ndarray, clusters: int) -> np.ndarray:
    """Return one row per cluster with ones for its points."""
    return (labels == np.arange(clusters)[:, None]).astype(np.float64)


def _chosen(
    columns: _Columns, rows: np.ndarray, labels: np.ndarray, n_columns: int
) -> list[np.ndarray]:
    """Return the columns with the largest effects of each cluster; none that have no effect.

    Of equal effects, as where values do not overlap, the larger difference of means comes first.
    """
    clusters = int(labels.max(initial=-1)) + 1
    which = _screened(columns, rows, labels, clusters, n_columns)
    values = columns.block(which, rows)
    effects = np.abs(dominance(values, labels[rows], clusters))
    means = _mean_differences(values, _inside(labels[rows], clusters))
    chosen = []
    for effect, apart in zip(effects, means, strict=True):
        order = np.lexsort((-apart, -effect.round(9)))[:n_columns]
        chosen.append(np.asarray(which)[order[effect[order] > 0]])
    return chosen


def _lines(
    columns: _Columns,
    choice: tuple[int, np.ndarray],
    rows: np.ndarray,
    measured: np.ndarray,
    labels: np.ndarray,
) -> list[dict[str, Any]]:
    """Give typical values of a cluster's columns, and effects by the points kept for that."""
    cluster, which = choice
    if not which.size:
        return []
    order = np.sort(which)
    values = columns.block(list(order), rows)
    inside = labels[rows] == cluster
    effect = dominance(values[measured], np.where(inside[measured], 0, -1), 1)[0]
    lines: list[dict[str, Any]] = []
    for j in which:
        at = int(np.searchsorted(order, j))
        name, word = columns.names[j]
        typical = _typical(values[inside, at], values[~inside, at], word)
        line = {"cluster": cluster, "column": name, "value": word, **typical}
        lines.append(line | {"effect": float(effect[at])})
    return lines


def _typical(inside: np.ndarray, outside: np.ndarray, word: str | None) -> dict[str, Any]:
    """Return medians of numbers, or shares: of a word, or of values where both medians are 0."""
    known = [part[~np.isnan(part)] for part in (inside, outside)]
    measure = "median" if word is None else "share"
    found = [_middle(part, measure) for part in known]
    if measure == "median" and found == [0.0, 0.0]:
        measure = "present"
        found = [_middle(part != 0, "share") for part in known]
    return {"inside": found[0], "outside": found[1], "measure": measure}


def _middle(values: np.ndarray, measure: str) -> float:
    if not values.size:
        return np.nan
    return float(np.median(values) if measure == "median" else values.mean())
