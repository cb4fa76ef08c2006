"""Feature matrices as people hold them, checked once and reduced to dense or CSR floats."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse

# A float array or a scipy CSR matrix; scipy has no types that say so.
Matrix: TypeAlias = Any

_BLOCK = 1 << 22  # entries looked at in one go


@dataclass(frozen=True)
class Features:
    """One or several feature matrices (views) over the same points."""

    views: tuple[Matrix, ...]
    index: pd.Index | None = None

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.views[0].shape[0])

    def fingerprint(self) -> str:
        """Return a sha256 of types, shapes and values, the same for the same data anywhere."""
        digest = hashlib.sha256()
        for view in self.views:
            digest.update(f"{view.dtype.str} {view.shape} {sparse.issparse(view)};".encode())
            for block in _blocks(view):
                digest.update(np.ascontiguousarray(block).data)
        return digest.hexdigest()


def read_features(X: Any, *, index: Any = None) -> Features:
    """Return the checked views of ``X``: one matrix, or a list of matrices over the same points.

    float32 stays float32, other numbers become float64, sparse becomes CSR. Data frames must be
    numeric; the index of a pandas frame is kept unless it only counts the rows.

    Raises
    ------
    ValueError, TypeError
        A sentence for no rows or columns, one dimension, text, complex numbers, NaN or infinity
        (with the row and the column), and views of unequal length or with different ids.
    """
    several = isinstance(X, (list, tuple)) and len(X) > 0 and all(_is_matrix(v) for v in X)
    given = list(X) if several else [X]
    names = [f"X[{i}]" for i in range(len(given))] if several else ["X"]
    views = tuple(_read_matrix(v, name) for v, name in zip(given, names, strict=True))
    for view, name in zip(views, names, strict=True):
        if view.shape[0] != views[0].shape[0]:
            raise ValueError(
                f"{name} has {view.shape[0]} rows and {names[0]} has {views[0].shape[0]}; views "
                f"must hold the same points in the same order."
            )
    found = _common_index(given, names) if index is None else pd.Index(index)
    if found is not None and len(found) != views[0].shape[0]:
        raise ValueError(f"index has {len(found)} entries, X has {views[0].shape[0]} rows.")
    return Features(views, found)


def read_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """Return point weights as float64, or None; negative, infinite and all-zero are refused."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n,):
        raise ValueError(
            f"sample_weight must have one entry for each of the {n} rows of X; got the shape "
            f"{weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        row = int(np.argmax(~np.isfinite(weights) | (weights < 0)))
        raise ValueError(f"sample_weight must be finite and >= 0; row {row} has {weights[row]:g}.")
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; at least one point needs a weight.")
    return weights


def _is_matrix(value: Any) -> bool:
    """Say whether ``value`` is a matrix of its own rather than one row of a nested list."""
    if sparse.issparse(value) or _is_frame(value):
        return True
    return getattr(value, "ndim", 0) == 2


def _is_frame(value: Any) -> bool:
    return isinstance(value, pd.DataFrame) or _is_polars(value)


def _is_polars(value: Any) -> bool:
    kind = type(value)
    return kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "DataFrame"


def _read_matrix(X: Any, name: str) -> Matrix:
    columns: list[str] | None = None
    if _is_frame(X):
        _check_frame(X, name)
        columns = [str(c) for c in X.columns]
        X = X.to_numpy() if _is_polars(X) else _frame_values(X)
    matrix = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        remedy = " For one feature use X.reshape(-1, 1)." if matrix.ndim == 1 else ""
        raise ValueError(
            f"{name} must have two dimensions, points x features; it has {matrix.ndim}.{remedy}"
        )
    if min(matrix.shape) == 0:
        what = "rows" if matrix.shape[0] == 0 else "columns"
        raise ValueError(
            f"{name} has no {what} (shape {matrix.shape}); there is nothing to cluster."
        )
    matrix = _as_float(matrix, name)
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's arrays may be shared
        matrix.sum_duplicates()
    _check_finite(matrix, name, columns)
    return matrix


def _check_frame(frame: Any, name: str) -> None:
    for column, kind in zip(frame.columns, frame.dtypes, strict=True):
        if _is_polars(frame):
            numeric = kind.is_numeric() or str(kind) == "Boolean"
        else:
            numeric = pd.api.types.is_numeric_dtype(kind)
        if not numeric:
            raise TypeError(
                f"{name} has the column {column!r} of type {kind}; only numbers can be clustered. "
                f"Drop the column, or encode it as numbers first."
            )


def _frame_values(frame: pd.DataFrame) -> np.ndarray:
    # Nullable columns (Int64, Float32) become objects in to_numpy() unless told what to become.
    kinds = {getattr(kind, "numpy_dtype", kind) for kind in frame.dtypes}
    common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    if any(pd.api.types.is_extension_array_dtype(kind) for kind in frame.dtypes):
        target = common if common.kind in "fc" else np.dtype(np.float64)
        return frame.to_numpy(dtype=target, na_value=np.nan)
    return frame.to_numpy()


def _as_float(matrix: Any, name: str) -> Matrix:
    kind = matrix.dtype.kind
    if kind == "O" and not sparse.issparse(matrix):
        for value in matrix.flat:
            if isinstance(value, (str, bytes)):
                raise TypeError(f"{name} must hold numbers; got the text {value!r}.")
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers ({error}).") from None
        kind = "f"
    if kind == "c":
        raise TypeError(
            f"{name} holds complex numbers; give real and imaginary parts as separate columns."
        )
    if kind not in "fiub":
        raise TypeError(
            f"{name} must hold numbers; got the type {matrix.dtype}. Encode text and dates as "
            f"numbers first."
        )
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float32 if matrix.dtype == np.float16 else np.float64)
    # In one layout from here on: otherwise every member would lay the rows out for itself.
    return matrix if sparse.issparse(matrix) else np.ascontiguousarray(matrix)


def _blocks(matrix: Matrix) -> Iterator[np.ndarray]:
    """Give the values (and for CSR the places) in blocks, so that no second matrix is made."""
    if sparse.issparse(matrix):
        yield matrix.indptr.astype(np.int64)
        for start in range(0, matrix.nnz, _BLOCK):
            yield matrix.indices[start : start + _BLOCK].astype(np.int64)
            yield matrix.data[start : start + _BLOCK]
        return
    step = max(1, _BLOCK // matrix.shape[1])
    for start in range(0, matrix.shape[0], step):
        yield matrix[start : start + step]


def _check_finite(matrix: Matrix, name: str, columns: list[str] | None) -> None:
    for start, block in _value_blocks(matrix):
        bad = ~np.isfinite(block)
        if not bad.any():
            continue
        place = int(np.argmax(bad))
        if sparse.issparse(matrix):
            entry = start + place
            row = int(np.searchsorted(matrix.indptr, entry, side="right")) - 1
            column = int(matrix.indices[entry])
        else:
            row, column = start + place // matrix.shape[1], place % matrix.shape[1]
        value = block.reshape(-1)[place]
        label = repr(columns[column]) if columns is not None else str(column)
        raise ValueError(
            f"{name} has {'NaN' if np.isnan(value) else 'infinity'} in row {row}, column {label}; "
            f"fill in or drop missing values first."
        )


def _value_blocks(matrix: Matrix) -> Iterator[tuple[int, np.ndarray]]:
    values = matrix.data if sparse.issparse(matrix) else matrix
    step = max(1, _BLOCK // (1 if values.ndim == 1 else matrix.shape[1]))
    for start in range(0, values.shape[0], step):
        yield start, values[start : start + step]


def _common_index(given: list[Any], names: list[str]) -> pd.Index | None:
    """Return the ids of the data frames; views with different ids are refused."""
    known: tuple[pd.Index, str] | None = None
    for frame, name in zip(given, names, strict=True):
        if not isinstance(frame, pd.DataFrame) or _counts_rows(frame.index):
            continue
        if known is not None and not known[0].equals(frame.index):
            raise ValueError(
                f"{known[1]} and {name} have different ids; reorder one of them so that views "
                f"hold the same points in the same order."
            )
        known = known or (frame.index, name)
    return None if known is None else known[0]


def _counts_rows(index: pd.Index) -> bool:
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
