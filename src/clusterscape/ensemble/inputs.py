"""Clusterings of any accepted type, read into one form: integer codes, or a soft membership."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.frames import ID_NAMES
from clusterscape._core.labels import NOISE, UNSAMPLED, encode, smallest_type
from clusterscape._core.params import shown

Orient = Literal["auto", "columns", "rows"]

_SOFT_COLUMN = re.compile(r"^(?P<name>.*)\[(?P<cluster>\d+)\]$")
_OWN_NAME = re.compile(r"p\d+")  # the name of a clustering that was given none
_MAYBE_ID_NAMES = {"name", "names"}  # ids only where no value repeats
_MANY = 10  # fewer partitions than this are never taken for points, nor points for ids
_MANY_ROWS = 100  # the same of a list of lists, which is rarely meant as rows


@dataclass
class Partition:
    """One partition: codes 0..k-1 (-1 noise, -2 unsampled), and the original label of each code.

    Parameters
    ----------
    name : str
        The partition's name.
    codes : (n,) array
        The cluster of each point; of a soft partition the most likely one.
    n_clusters : int
        The number of clusters, empty ones included.
    categories : tuple or None
        The original label of each code; None where the codes are the labels.
    soft : (n, n_clusters) sparse matrix or None
        The membership of a soft partition.
    """

    name: str
    codes: np.ndarray
    n_clusters: int
    categories: tuple[Any, ...] | None = None
    soft: sparse.csr_matrix | None = None

    def without_empty(self) -> Partition:
        """Return the partition with its clusters renumbered so that none is empty."""
        soft = self.soft
        if soft is not None:
            kept = np.flatnonzero(np.diff(soft.tocsc().indptr))
            soft = soft[:, kept]
        else:
            kept = np.unique(self.codes[self.codes >= 0])
        if kept.size == self.n_clusters:
            return self
        position = np.full(self.n_clusters + 2, UNSAMPLED, dtype=np.int64)
        position[kept] = np.arange(kept.size)
        position[-1], position[-2] = NOISE, UNSAMPLED
        categories = self.categories
        if soft is None:
            old = range(self.n_clusters) if categories is None else categories
            categories = tuple(old[int(c)] for c in kept)
        return Partition(self.name, position[self.codes], int(kept.size), categories, soft)


# -- many partitions --------------------------------------------------------------------------


def read_partitions(
    data: Any,
    *,
    columns: Sequence[str] | str | None = None,
    id_column: str | None = None,
    orient: Orient = "auto",
) -> tuple[list[Partition], pd.Index | None]:
    """Return the partitions that ``data`` holds, and the points' ids or None.

    An index that only counts the points is a ``RangeIndex``, which the ensemble takes for no ids.
    The parameters are those of :meth:`clusterscape.Ensemble.from_labels`.
    """
    if orient not in get_args(Orient):
        raise ValueError(f"orient must be 'auto', 'columns' or 'rows'; got {shown(orient)}.")
    if hasattr(data, "obs") and isinstance(data.obs, pd.DataFrame):
        if columns is None:
            raise ValueError(
                "columns must name the columns of .obs that hold clusterings, for example "
                f"columns=['leiden']; .obs has {', '.join(map(str, data.obs.columns[:10]))}."
            )
        data = data.obs
    if type(data).__module__.partition(".")[0] == "polars":
        data = _pandas_of_polars(data)
    if isinstance(data, pd.DataFrame):
        return _read_frame(data, columns, id_column, orient=orient)
    if columns is not None or id_column is not None:
        given = "columns" if columns is not None else "id_column"
        raise ValueError(f"{given} names columns of a data frame; got {type(data).__name__}.")
    if isinstance(data, Mapping):
        return _read_mapping(data, orient)
    if isinstance(data, np.ndarray) and data.ndim == 2:
        return _read_array(data, orient), None
    if sparse.issparse(data):
        raise TypeError(
            "labels is a sparse matrix. A soft partition goes into a list: [membership]; a matrix "
            "of labels must be dense: labels.toarray()."
        )
    if isinstance(data, (np.ndarray, pd.Series, pd.Index, pd.Categorical)):
        raise ValueError(
            f"labels must be two-dimensional (points x partitions); got shape {np.shape(data)}. "
            "For a single clustering pass a list: [labels]."
        )
    if isinstance(data, (str, bytes, set, frozenset)) or not hasattr(data, "__len__"):
        raise TypeError(
            "labels must be an (n, r) array, a list of label vectors, a dictionary of them or a "
            f"data frame; got {type(data).__name__}."
        )
    return _read_list(list(data), orient)


def _pandas_of_polars(data: Any) -> pd.DataFrame | pd.Series:
    if hasattr(data, "collect"):
        raise TypeError("labels: a polars LazyFrame holds no labels yet; call .collect() first.")
    if not hasattr(data, "get_columns"):
        return pd.Series(_polars_values(data))
    return pd.DataFrame({s.name: _polars_values(s) for s in data.get_columns()})


def _polars_values(series: Any) -> Any:
    if series.dtype.is_integer() and series.null_count() == 0:
        return series.to_numpy()
    if series.dtype.is_float():
        return series.to_numpy()  # null and NaN are both missing
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return values


def _read_array(data: np.ndarray, orient: Orient) -> list[Partition]:
    rows, columns = data.shape
    if orient == "auto" and seems_turned(rows, columns):
        raise ValueError(
            f"labels has shape ({rows}, {columns}), which would be {columns} partitions of {rows} "
            "points: rows are points and columns are partitions. If every row is one clustering, "
            "pass labels.T; if the shape is right, pass Ensemble.from_labels(labels, "
            "orient='columns')."
        )
    vectors = data if orient == "rows" else data.T
    if not isinstance(data, np.ma.MaskedArray):
        vectors = np.ascontiguousarray(vectors)  # coding reads one vector at a time
    return [read_partition(vector, f"p{i}") for i, vector in enumerate(vectors)]


def seems_turned(rows: int, columns: int) -> bool:
    """Say whether an array of this shape is more likely one clustering per row."""
    return columns >= max(_MANY, 3 * rows)


def _read_list(vectors: list[Any], orient: Orient) -> tuple[list[Partition], pd.Index | None]:
    if orient == "columns":
        lengths = {_length(row, -1) for row in vectors}
        if len(lengths) > 1 or -1 in lengths:
            raise ValueError(
                "orient='columns' takes a list with one row per point, every row a list of one "
                "label per partition; these rows have different lengths."
            )
        vectors = [list(column) for column in zip(*vectors, strict=True)]
    elif orient == "auto" and vectors:
        n = _length(vectors[0], len(vectors))
        rows = isinstance(vectors[0], (list, tuple))  # an array or a Series is a label vector
        if rows and len(vectors) > n and len(vectors) >= _MANY_ROWS:
            raise ValueError(
                f"labels is a list of {len(vectors)} vectors of {n} labels, which would be "
                f"{len(vectors)} partitions of {n} points: every vector is one clustering. If "
                "every vector is one point, pass numpy.array(labels); if the list is right, pass "
                "Ensemble.from_labels(labels, orient='rows')."
            )
    parts = [read_partition(vector, f"p{i}") for i, vector in enumerate(vectors)]
    return parts, shared_index(vectors)


def _length(vector: Any, otherwise: int) -> int:
    """Return the number of points of a label vector or membership, if it has one."""
    if len(getattr(vector, "shape", ())) > 0:
        return int(vector.shape[0])  # a sparse matrix has no len
    is_vector = hasattr(vector, "__len__") and not isinstance(vector, (str, bytes))
    return len(vector) if is_vector else otherwise


def _read_mapping(
    data: Mapping[Any, Any], orient: Orient
) -> tuple[list[Partition], pd.Index | None]:
    if orient != "auto":
        raise ValueError(
            "orient is for arrays, lists and data frames; a dictionary names its clusterings."
        )
    lone = [v for v in data.values() if _length(v, -1) < 0]
    if lone:
        raise TypeError(
            f"labels is a dictionary with single labels as values, such as {shown(lone[0])}; a "
            "dictionary must map the name of each clustering to its label vector. "
            "For one clustering given as {point: label} pass [pandas.Series(labels)]."
        )
    parts = [read_partition(vector, str(name)) for name, vector in data.items()]
    return parts, shared_index(list(data.values()))


# -- data frames ------------------------------------------------------------------------------


def _read_frame(
    frame: pd.DataFrame,
    columns: Sequence[str] | str | None,
    id_column: str | None,
    *,
    orient: Orient,
) -> tuple[list[Partition], pd.Index | None]:
    if orient == "rows":
        if columns is not None or id_column is not None:
            raise ValueError("orient='rows' takes the whole frame; select its parts first.")
        frame, columns = frame.T, list(frame.index)
    elif orient == "auto" and isinstance(frame.columns, pd.RangeIndex):
        _check_frame_shape(*frame.shape)
    chosen = [columns] if isinstance(columns, str) else columns
    named = list(chosen or []) + ([] if id_column is None else [id_column])
    missing = [c for c in named if c not in frame.columns]
    if missing:
        raise ValueError(
            f"{missing[0]!r} is not a column of the frame, which has "
            f"{', '.join(map(repr, frame.columns[:10]))}."
        )
    ids, taken = _ids_of_frame(frame, chosen or (), id_column)
    if chosen is None:
        frame = frame[[c for c in frame.columns if c != taken]] if taken is not None else frame
        _refuse_ids(frame)
    else:
        frame = frame[list(chosen)]
    return _partitions_of_frame(frame), ids


def _check_frame_shape(rows: int, columns: int) -> None:
    """Refuse a frame of unnamed columns that is wider than long."""
    if seems_turned(rows, columns):
        raise ValueError(
            f"labels is a frame of shape ({rows}, {columns}) without column names, which would be "
            f"{columns} partitions of {rows} points. If every row is one clustering, pass "
            "labels.T; if the shape is right, pass Ensemble.from_labels(labels, orient='columns')."
        )


def _ids_of_frame(
    frame: pd.DataFrame, chosen: Sequence[str], id_column: str | None
) -> tuple[pd.Index | None, Any]:
    """Return the points' ids and the column that holds them, if one does."""
    if id_column is None and not _counts_up(frame.index):
        return frame.index, None
    for column in frame.columns if id_column is None else [id_column]:
        name = str(column).strip().lower()
        sure = column == id_column or (name in ID_NAMES and column not in chosen)
        maybe = name in _MAYBE_ID_NAMES and column not in chosen and _all_differ(frame[column])
        if sure or maybe:
            ids = pd.Index(frame[column], name=column)
            return pd.RangeIndex(len(ids)) if _counts_up(ids) else ids, column
    return pd.RangeIndex(len(frame)), None


def _refuse_ids(frame: pd.DataFrame) -> None:
    """Refuse a column that is different in every row: ids, unless the caller insists."""
    for position, column in enumerate(frame.columns):
        values = frame.iloc[:, position]
        is_number = getattr(values.dtype, "kind", "O") in "iuf"
        # A clustering of a few points may well have one point per cluster.
        least = _MANY if is_number else 3
        if is_own_name(str(column)) or _SOFT_COLUMN.match(str(column)):
            continue
        if len(values) < least or not _all_differ(values):
            continue
        others = [c for c in frame.columns if c != column]
        naming = (
            f"or name the columns that are clusterings, such as columns={others[:3]!r}"
            if others
            else f"or, if every point is a cluster of its own, columns={[column]!r}"
        )
        raise ValueError(
            f"the column {column!r} is different in every row, so it looks like ids of the points "
            f"rather than clusters. Pass id_column={column!r} to take it as the ids, {naming}."
        )


def is_own_name(column: str) -> bool:
    """Say whether a column has the name of a clustering that was given none: p0, p1..."""
    return _OWN_NAME.fullmatch(column) is not None


def _all_differ(values: pd.Series | pd.DataFrame) -> bool:
    try:
        return bool(values.notna().all() and values.is_unique)
    except (TypeError, AttributeError, ValueError):  # not hashable, or two columns of one name
        return False


def _partitions_of_frame(frame: pd.DataFrame) -> list[Partition]:
    """Return one partition per column; columns ``name[0]``, ``name[1]``... are one soft one."""
    hard: dict[str, list[int]] = {}
    soft: dict[str, list[int]] = {}
    order: dict[tuple[str, bool], None] = {}
    for position, column in enumerate(frame.columns):
        match = _SOFT_COLUMN.match(str(column))
        is_soft = match is not None and frame.dtypes.iloc[position].kind == "f"
        name = match["name"] if match is not None and is_soft else str(column)
        (soft if is_soft else hard).setdefault(name, []).append(position)
        order[name, is_soft] = None
    parts = []
    for name, is_soft in order:
        positions = (soft if is_soft else hard)[name]
        if is_soft:
            parts.append(read_partition(frame.iloc[:, positions].to_numpy(np.float64), name))
        elif len(positions) > 1:
            raise ValueError(f"the frame has {len(positions)} columns named {name!r}; rename them.")
        else:
            parts.append(read_partition(frame.iloc[:, positions[0]], name))
    return parts


def shared_index(vectors: Sequence[Any]) -> pd.Index | None:
    """Return the ids that pandas Series carry; Series with different ids are refused.

    Where the indexes only count the points the answer is a ``RangeIndex``.
    """
    found = [v.index for v in vectors if isinstance(v, pd.Series)]
    named = [index for index in found if not _counts_up(index)]
    if named and not all(may_be_joined(named[0], other) for other in found):
        other = next(other for other in found if not may_be_joined(named[0], other))
        row, mine, theirs = first_difference(named[0], other)
        raise ValueError(
            f"the label Series have different indexes: at row {row} one has {mine} and another "
            f"{theirs}. Every partition must label the same points in the same order: align them "
            "first, for example with b.loc[a.index], or pass b.to_numpy() where the order is right."
        )
    return named[0] if named else pd.RangeIndex(len(found[0])) if found else None


def may_be_joined(left: pd.Index, right: pd.Index) -> bool:
    """Say whether rows with these indexes can be taken for the same points in the same order.

    Indexes that are equal can, and so can one that only counts the rows (0, 1, 2...) beside ids of
    another kind; beside the same numbers in another order it cannot. Indexes of different lengths
    are left to the check of the lengths.
    """
    if left.equals(right) or len(left) != len(right):
        return True
    if not (_counts_up(left) or _counts_up(right)):
        return False
    if isinstance(left, pd.MultiIndex) or isinstance(right, pd.MultiIndex):
        return True  # pairs are no row numbers
    return not (left.is_unique and right.is_unique and left.isin(right).all())


def first_difference(left: pd.Index, right: pd.Index) -> tuple[int, str, str]:
    """Return the first row at which two indexes differ, and what each has there, for a message."""
    pairs = list(zip(left.tolist(), right.tolist(), strict=True))
    # Indexes of different types can differ although all their values compare equal.
    row = next((i for i, (a, b) in enumerate(pairs) if a != b), 0)
    return row, repr(pairs[row][0]), repr(pairs[row][1])


def check_same_rows(X: Any, labels: Any) -> None:
    """Refuse labels whose index names other points than that of the table, or in another order."""
    if not (isinstance(X, pd.DataFrame) and isinstance(labels, pd.Series)):
        return
    if may_be_joined(X.index, labels.index):
        return
    row, mine, theirs = first_difference(X.index, labels.index)
    raise ValueError(
        f"X and labels have different indexes: row {row} of X is {mine}, and of labels {theirs}. "
        "Give them in the same order, labels.loc[X.index]; where only the index is another one, "
        "labels.to_numpy()."
    )


def refuse_other_names(left: pd.Index, right: pd.Index, what: str) -> None:
    """Refuse names of points that are not the same ones in the same order."""
    if not may_be_joined(left, right):
        row, mine, other = first_difference(left, right)
        raise ValueError(
            f"{what} have different row names, at row {row} {mine} and {other}; both must be about "
            "the same points in the same order."
        )


def _counts_up(index: pd.Index) -> bool:
    """Say whether ids only count the points: 0, 1, 2..."""
    if isinstance(index, pd.RangeIndex):
        return bool(index.equals(pd.RangeIndex(len(index))))
    return index.dtype.kind in "iu" and np.array_equal(index, np.arange(len(index)))


# -- one partition ----------------------------------------------------------------------------


def read_partition(labels: Any, name: str) -> Partition:
    """Return one partition from a label vector or an (n, k) membership."""
    if sparse.issparse(labels):
        return read_membership(labels, name)
    if isinstance(labels, pd.DataFrame):
        return read_membership(labels.to_numpy(), name)
    if isinstance(labels, np.ndarray) and labels.ndim == 2:
        return read_membership(labels, name)
    codes, categories = encode(labels, name)
    n_clusters = len(categories) if categories is not None else int(codes.max(initial=-1)) + 1
    return Partition(name, codes, n_clusters, categories)


def read_membership(membership: Any, name: str) -> Partition:
    """Return a soft partition: rows sum to one, a zero row is noise, a NaN row is unsampled."""
    if not sparse.issparse(membership) and membership.dtype.kind not in "fiub":
        raise TypeError(f"{name}: a membership must be numbers; got {membership.dtype}.")
    if not sparse.issparse(membership):
        missing = np.isnan(np.asarray(membership, dtype=np.float64))
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        if partly.any():
            raise ValueError(
                f"{name}: row {int(np.argmax(partly))} of the membership is NaN in part; a row of "
                "NaN means unsampled, any other row must be numbers that sum to 1."
            )
    matrix = sparse.csr_matrix(membership, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    n, k = matrix.shape
    row_of = np.repeat(np.arange(n), np.diff(matrix.indptr))
    unsampled = np.zeros(n, dtype=bool)
    unsampled[row_of[np.isnan(matrix.data)]] = True
    matrix.data[unsampled[row_of]] = 0.0
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        row = int(row_of[np.argmax(~np.isfinite(matrix.data) | (matrix.data < 0))])
        raise ValueError(f"{name}: row {row} of the membership has a negative or infinite entry.")
    matrix.eliminate_zeros()
    total = np.asarray(matrix.sum(axis=1)).ravel()
    wrong = (np.abs(total - 1.0) > 1e-6) & (total > 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{name}: row {row} of the membership sums to {total[row]:.6g}, not to 1. Divide each "
            "row by its sum; a row of zeros means noise and a row of NaN unsampled."
        )
    codes = np.full(n, NOISE, dtype=smallest_type(max(k, 1)))
    inside = total > 0
    if inside.any():
        codes[inside] = np.asarray(matrix.argmax(axis=1)).ravel()[inside]
    codes[unsampled] = UNSAMPLED
    for array in (matrix.data, matrix.indices, matrix.indptr):
        frozen(array)
    return Partition(name, codes, k, None, matrix)


def check_codes(codes: np.ndarray, n_clusters: Any) -> None:
    """Refuse codes from a file that are not one whole number per point in -2..n_clusters-1."""
    if codes.ndim != 1 or codes.dtype.kind != "i" or not isinstance(n_clusters, int):
        raise ValueError(f"its labels are of shape {codes.shape} and type {codes.dtype}")
    low, high = int(codes.min(initial=0)), int(codes.max(initial=-1))
    if low < UNSAMPLED or high >= n_clusters:
        raise ValueError(f"its labels go from {low} to {high}, and it has {n_clusters} clusters")


def frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def common_length(partitions: Sequence[Partition]) -> int:
    if not partitions:
        raise ValueError("an ensemble needs at least one partition.")
    lengths = {p.codes.shape[0]: p.name for p in partitions}
    if len(lengths) > 1:
        (n, first), (m, second) = list(lengths.items())[:2]
        raise ValueError(
            f"partitions of unequal lengths: {first!r} has {n} points and {second!r} has {m}. "
            "Every partition must label the same points in the same order; mark points that a "
            "partition did not see with -2."
        )
    n = next(iter(lengths))
    if n == 0:
        raise ValueError("the partitions have no points; at least one is needed.")
    return n
