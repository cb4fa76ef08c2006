"""The many forms in which people hold clusterings, reduced to one: codes, or a soft membership."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.labels import NOISE, UNSAMPLED, encode, smallest_type
from clusterscape._core.params import shown
from clusterscape.ensemble.records import PartitionRecord

_SOFT_COLUMN = re.compile(r"^(?P<name>.*)\[(?P<cluster>\d+)\]$")


@dataclass
class Partition:
    """One partition in canonical form."""

    name: str
    codes: np.ndarray
    n_clusters: int
    categories: tuple[Any, ...] | None = None
    soft: sparse.csr_matrix | None = None


def collect(data: Any, columns: Sequence[str] | None) -> tuple[list[Partition], Any]:
    """Return the partitions that ``data`` holds, and the points' ids or None."""
    if hasattr(data, "obs") and isinstance(data.obs, pd.DataFrame):
        if columns is None:
            raise ValueError(
                "columns must name the columns of .obs that hold clusterings, for example "
                f"columns=['leiden']; .obs has {', '.join(map(str, data.obs.columns[:10]))}."
            )
        data = data.obs
    if type(data).__module__.partition(".")[0] == "polars":
        if hasattr(data, "collect"):
            raise TypeError(
                "labels: a polars LazyFrame holds no labels yet; call .collect() first."
            )
        series = data.get_columns() if hasattr(data, "get_columns") else [data]
        data = pd.DataFrame({s.name: _polars_values(s) for s in series})
    if isinstance(data, pd.DataFrame):
        return _from_frame(data, columns)
    if columns is not None:
        raise ValueError("columns selects columns of a data frame; data is not one.")
    if isinstance(data, np.ma.MaskedArray) and data.ndim == 2:
        return [one(data[:, i], f"p{i}") for i in range(data.shape[1])], None
    if isinstance(data, np.ndarray) and data.ndim == 2:
        vectors = np.ascontiguousarray(data.T)  # coding reads a column at a time
        return [one(column, f"p{i}") for i, column in enumerate(vectors)], None
    if (
        sparse.issparse(data)
        or isinstance(data, (str, bytes, dict))
        or not hasattr(data, "__len__")
    ):
        raise TypeError(
            f"labels must be an (n, r) array, a list of label vectors or a data frame; got "
            f"{type(data).__name__}. A soft partition goes into a list: [membership]."
        )
    if isinstance(data, (np.ndarray, pd.Series)):
        raise ValueError(
            f"labels must be two-dimensional (points x partitions); got shape {np.shape(data)}. "
            "For a single clustering pass a list: [labels]."
        )
    several = list(data)
    return [one(vector, f"p{i}") for i, vector in enumerate(several)], shared_index(several)


def shared_index(vectors: list[Any]) -> pd.Index | None:
    """Return the ids that pandas Series carry; Series with different ids are refused."""
    found = [v.index for v in vectors if isinstance(v, pd.Series) and not _counted(v.index)]
    if found and any(not found[0].equals(other) for other in found[1:]):
        raise ValueError(
            "the label Series have different indexes; every partition must label the same points "
            "in the same order. Align them first, for example in one data frame."
        )
    return found[0] if found else None


def _counted(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.equals(pd.RangeIndex(len(index)))


def _polars_values(series: Any) -> Any:
    if series.dtype.is_integer() and series.null_count() == 0:
        return series.to_numpy()
    values = np.empty(len(series), dtype=object)
    values[:] = series.to_list()
    return values


def _from_frame(frame: pd.DataFrame, columns: Sequence[str] | None) -> tuple[list[Partition], Any]:
    if columns is not None:
        missing = [c for c in columns if c not in frame.columns]
        if missing:
            raise ValueError(
                f"columns: {missing[0]!r} is not in the frame, which has "
                f"{', '.join(map(str, frame.columns[:10]))}."
            )
        frame = frame[list(columns)]
    groups: dict[str, list[int]] = {}
    for position, column in enumerate(frame.columns):
        match = _SOFT_COLUMN.match(str(column))
        soft = match is not None and frame.dtypes.iloc[position].kind == "f"
        groups.setdefault(match["name"] if soft and match else f"{column}", []).append(position)
    partitions = []
    for name, positions in groups.items():
        if _SOFT_COLUMN.match(str(frame.columns[positions[0]])) and name != str(
            frame.columns[positions[0]]
        ):
            partitions.append(one(frame.iloc[:, positions].to_numpy(np.float64), name))
        elif len(positions) > 1:
            raise ValueError(f"the frame has {len(positions)} columns named {name!r}; rename them.")
        else:
            partitions.append(one(frame.iloc[:, positions[0]], name))
    return partitions, None if _counted(frame.index) else frame.index


def one(vector: Any, name: str) -> Partition:
    """Return one partition from a label vector or an (n, k) membership."""
    if sparse.issparse(vector):
        return soften(vector, name)
    if isinstance(vector, pd.DataFrame):
        return soften(vector.to_numpy(), name)
    if isinstance(vector, np.ndarray) and vector.ndim == 2:
        return soften(vector, name)
    codes, categories = encode(vector, name)
    n_clusters = len(categories) if categories is not None else int(codes.max(initial=-1)) + 1
    return Partition(name, codes, n_clusters, categories)


def soften(membership: Any, name: str) -> Partition:
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


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    result = []
    taken = set(names)
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        unique = name
        while count and unique in taken:
            unique = f"{name}.{count}"
            count += 1
        taken.add(unique)
        result.append(unique)
    return tuple(result)


def checked_weights(values: Any, size: int, name: str, each: str) -> np.ndarray:
    if values is None:
        return frozen(np.ones(size))
    try:
        weights = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, one a {each}; got {shown(values)}.") from None
    if weights.shape != (size,):
        raise ValueError(
            f"{name} must have one entry a {each}, {size} in all; got shape {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise ValueError(f"{name} must be finite, none negative and at least one positive.")
    return frozen(weights)


def checked_records(
    records: Sequence[PartitionRecord] | None, n_clusters: np.ndarray
) -> tuple[PartitionRecord, ...]:
    if records is None:
        return tuple(PartitionRecord(n_clusters=int(k)) for k in n_clusters)
    if len(records) != n_clusters.size:
        raise ValueError(f"records has {len(records)} entries for {n_clusters.size} partitions.")
    if not all(isinstance(record, PartitionRecord) for record in records):
        raise TypeError("records must be PartitionRecord objects, one a partition.")
    return tuple(records)


def row_codes(matrix: sparse.csr_matrix) -> np.ndarray:
    """Number the distinct rows of a soft membership."""
    canonical = matrix.sorted_indices()
    pointers, data, indices = canonical.indptr, canonical.data, canonical.indices
    codes: dict[bytes, int] = {}
    keys = (
        indices[a:b].tobytes() + data[a:b].tobytes()
        for a, b in zip(pointers[:-1], pointers[1:], strict=True)
    )
    return np.array([codes.setdefault(key, len(codes)) for key in keys], dtype=np.int64)


def drop_empty(part: Partition) -> None:
    """Renumber a partition's clusters so that none is empty; the original labels are kept."""
    if part.soft is not None:
        kept = np.flatnonzero(np.diff(part.soft.tocsc().indptr))
        part.soft = part.soft[:, kept]
    else:
        kept = np.unique(part.codes[part.codes >= 0])
    if kept.size == part.n_clusters:
        return
    position = np.full(part.n_clusters + 2, UNSAMPLED, dtype=np.int64)
    position[kept] = np.arange(kept.size)
    position[-1], position[-2] = NOISE, UNSAMPLED
    part.codes = position[part.codes]
    old = part.categories if part.categories is not None else tuple(range(part.n_clusters))
    part.categories = tuple(old[int(c)] for c in kept) if part.soft is None else part.categories
    part.n_clusters = int(kept.size)
