"""Feature matrices as people hold them, checked once and reduced to dense or CSR floats."""

from __future__ import annotations

import hashlib
import itertools
import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from clusterscape._core.frames import refuse_repeated_columns
from clusterscape._core.rows import RowSource, as_rows, slices
from clusterscape._core.workers import find_workers
from clusterscape.ensemble.ensemble import refuse_ensemble
from clusterscape.ensemble.inputs import first_difference, may_be_joined
from clusterscape.linalg.distances import check_extremes, check_range

# A float array or a scipy CSR matrix; scipy has no types that say so.
Matrix: TypeAlias = Any

_FIRST = 32  # rows among which different ones are looked for first: mostly they suffice
_BLOCK = 1 << 22  # entries looked at in one go


@dataclass(frozen=True)
class Features:
    """One or several feature matrices (views) over the same points, read and checked."""

    views: tuple[Matrix, ...]
    index: pd.Index | None = None

    def __post_init__(self) -> None:
        if self.index is not None and len(self.index) != self.n_points:
            raise ValueError(f"index has {len(self.index)} entries, X has {self.n_points} rows.")

    @classmethod
    def of(cls, X: Matrix, index: Any = None) -> Features:
        """Return a matrix that an estimator has validated, with the points' ids."""
        return cls((X,), None if index is None else pd.Index(index))

    @property
    def n_points(self) -> int:
        """Number of points."""
        return int(self.views[0].shape[0])

    def fingerprint(self) -> str:
        """Return a sha256 of types, shapes and values, the same for the same data anywhere."""
        digest = hashlib.sha256()
        for view in self.views:
            if isinstance(view, RowSource):
                digest.update(view.survey.digest.encode())
                continue
            digest.update(f"{view.dtype.str} {view.shape} {sparse.issparse(view)};".encode())
            for block in _blocks(view):
                digest.update(np.ascontiguousarray(block).data)
        return digest.hexdigest()


def read_features(
    X: Any, *, index: Any = None, contiguous: bool = True, name: str = "X"
) -> Features:
    """Return the checked views of ``X``: one matrix, or a list of matrices over the same points.

    float32 stays float32, other numbers become float64, sparse becomes CSR. Data frames must be
    numeric; the index of a pandas frame is kept unless it only counts the rows. Without
    ``contiguous`` columns may stay together in memory, and nothing is copied for that.

    Raises
    ------
    ValueError, TypeError
        A sentence for no rows or columns, one dimension, text, dates, complex numbers, NaN or
        infinity (with the row and the column), masked values, an AnnData object, and views of
        unequal length or with different ids.
    """
    if isinstance(X, Features):  # what an estimator has read is not read again
        return X
    source = as_rows(X)
    if source is not None and index is not None:
        raise ValueError("index: points that are read in blocks have no ids; leave it out.")
    rows = rows_of(X if source is None else source)
    if rows is not None:
        return Features((rows,))
    several = isinstance(X, (list, tuple)) and len(X) > 0 and all(_is_matrix(v) for v in X)
    given = list(X) if several else [X]
    names = [f"{name}[{i}]" for i in range(len(given))] if several else [name]
    views = tuple(_read_matrix(v, called) for v, called in zip(given, names, strict=True))
    if contiguous:  # in one layout, or every member would lay the rows out for itself
        views = tuple(v if sparse.issparse(v) else np.ascontiguousarray(v) for v in views)
    for view, called in zip(views, names, strict=True):
        if view.shape[0] != views[0].shape[0]:
            raise ValueError(
                f"{called} has {view.shape[0]} rows and {names[0]} has {views[0].shape[0]}; views "
                f"must hold the same points in the same order."
            )
    return Features(views, _common_index(given, names) if index is None else pd.Index(index))


def read_matrix(X: Any, *, contiguous: bool = True) -> Features:
    """Return what :func:`read_features` does, of one matrix in memory.

    Rows that are read in blocks are gathered. Several matrices are refused.
    """
    source = as_rows(X)
    found = read_features(X if source is None else source.gather(), contiguous=contiguous)
    if len(found.views) > 1:
        raise ValueError(
            f"X holds {len(found.views)} matrices, and one is needed; put the columns beside each "
            "other, for example numpy.hstack(X)."
        )
    return found


def rows_of(X: Any, *, n_jobs: int | None = None) -> RowSource | None:
    """Return features that are read in blocks, after one look at all of them; None for others.

    Who reads them is settled here: the Dask cluster that is active, or this process.
    """
    source = as_rows(X)
    if source is None:
        return None
    if "survey" not in source.__dict__:
        source.workers = find_workers(is_dask=source.is_dask, n_jobs=n_jobs)
        if source.survey.bad is not None:
            raise _not_finite("X", *source.survey.bad, None)
        check_extremes(source.survey.least, source.survey.largest, source.dtype, "X")
    return source


def validated_features(
    estimator: Any,
    X: Any,
    *,
    reset: bool = True,
    dtype: Any = (np.float64, np.float32),
    contiguous: bool = True,
) -> Matrix:
    """Return ``X`` as scikit-learn's ``validate_data`` does, with sentences that name the column.

    For the estimators that are fitted to features: what they were given is recorded on them
    (``n_features_in_``, ``feature_names_in_``), or with ``reset=False`` compared with it. Without
    ``contiguous`` columns may stay together in memory, and nothing is copied for that.
    """
    refuse_unreadable(X, "X")
    X = in_memory(X, "X")
    columns = [str(c) for c in X.columns] if _is_frame(X) else None
    kinds = list(dtype) if isinstance(dtype, tuple) else dtype
    matrix = validate_data(
        estimator,
        X,
        accept_sparse="csr",
        dtype=kinds,
        order="C" if contiguous else None,
        ensure_all_finite=False,
        reset=reset,
    )
    matrix = _canonical(matrix)
    _check_finite(matrix, "X", columns)
    check_range(matrix, "X", smallest=reset)
    return matrix


def in_memory(X: Any, name: str) -> Any:
    """Return an array of another library (the array API: torch, cupy, jax, ...) as one of numpy.

    The loops here run on the CPU, so that an array on another device is refused.
    """
    if isinstance(X, (np.ndarray, np.generic)) or not hasattr(X, "__array_namespace__"):
        return X
    try:
        return np.asarray(X)
    except (TypeError, RuntimeError, ValueError) as error:
        home = type(X).__module__.partition(".")[0]
        raise TypeError(
            f"{name} is an array of {home} that numpy cannot read ({error}); clusterscape computes "
            f"on the CPU, so bring it there first, for example {name}.cpu() of torch or {name}"
            ".get() of cupy."
        ) from None


def point_ids(X: Any) -> pd.Index | None:
    """Return the index of a pandas frame; None for other data."""
    return X.index if isinstance(X, pd.DataFrame) else None


def refuse_several(X: Any, name: str) -> None:
    """Refuse an AnnData object, which holds more than one matrix."""
    if not _is_frame(X) and all(hasattr(X, part) for part in ("X", "obs", "var", "obsm")):
        keys = [str(key) for key in X.obsm]
        key = next((k for k in keys if k == "X_pca"), keys[0] if keys else None)
        other = "" if key is None else f", or {name}.obsm[{key!r}]"
        raise TypeError(
            f"{name} is of type {type(X).__name__}, which holds several matrices; give one of "
            f"them, for example {name}.X{other}."
        )


def refuse_unreadable(X: Any, name: str) -> None:
    """Refuse what cannot be read as numbers, with a sentence on what could be given instead."""
    refuse_several(X, name)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        count = int(np.ma.count_masked(X))
        values = "1 masked value" if count == 1 else f"{count:,} masked values"
        raise ValueError(
            f"{name} has {values}; what stands behind a mask is not data. Fill them in "
            f"({name}.filled(value)), or impute them: sklearn.impute.SimpleImputer takes "
            f"{name}.filled(numpy.nan)."
        )
    if _is_frame(X):
        refuse_repeated_columns(X, name)
        _check_frame(X, name)
    elif isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2:
        _check_objects(X, name)
    elif getattr(getattr(X, "dtype", None), "kind", None) in ("m", "M"):
        raise TypeError(
            f"{name} holds {'dates' if X.dtype.kind == 'M' else 'durations'} ({X.dtype}); only "
            "numbers can be clustered. Turn them into numbers first, for example days since the "
            "earliest."
        )


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
    refuse_ensemble(X, name)
    refuse_unreadable(X, name)
    if _is_frame(X):
        columns = [str(c) for c in X.columns]
        X = X.to_numpy() if _is_polars(X) else _frame_values(X)
    matrix = sparse.csr_matrix(X) if sparse.issparse(X) else np.asarray(in_memory(X, name))
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
    matrix = _canonical(_as_float(matrix, name))
    _check_finite(matrix, name, columns)
    return matrix


def _check_frame(frame: Any, name: str) -> None:
    for position, (column, kind) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if _is_polars(frame):
            numeric = kind.is_numeric() or str(kind) == "Boolean"
            date = kind.is_temporal()
        else:
            numeric = pd.api.types.is_numeric_dtype(kind)
            if not numeric and pd.api.types.is_object_dtype(kind):
                numeric = _first_foreign(frame.iloc[:, position].to_numpy()) is None
            date = pd.api.types.is_datetime64_any_dtype(kind) or kind.kind in "mM"
        if not numeric:
            raise TypeError(
                f"{name} has the column {column!r} of type {kind}; only numbers can be clustered. "
                f"Drop the column ({_drop(frame, column, name)}), {_encode(column, date, name)}."
            )


def _drop(frame: Any, column: Any, name: str) -> str:
    if _is_polars(frame):
        return f"{name}.drop({column!r})"
    return f"{name}.drop(columns={column!r})"


def _encode(column: Any, date: bool, name: str) -> str:
    if date:
        return "or turn it into numbers first, for example days since the earliest"
    return (
        "make it the index if it names the rows, or encode it as numbers first, for example with "
        f"pandas.get_dummies({name}, columns=[{column!r}])"
    )


def _check_objects(X: np.ndarray, name: str) -> None:
    """Refuse text and dates in an array of objects, which mixed frames become."""
    for column in range(X.shape[1]):
        found = _first_foreign(X[:, column])
        if isinstance(found, (str, bytes, np.datetime64)) or hasattr(found, "isoformat"):
            raise TypeError(
                f"{name} has {_what(found)} in column {column}; only numbers can be clustered. "
                f"Drop the column, or encode it as numbers first."
            )


def _what(value: Any) -> str:
    return f"the text {value!r}" if isinstance(value, (str, bytes)) else f"the date {value}"


def _first_foreign(values: np.ndarray) -> Any:
    """Return the first value that is neither a number nor missing; None if there is none."""
    for value in values:
        if not (value is None or value is pd.NA or isinstance(value, (numbers.Number, np.bool_))):
            return value
    return None


def _frame_values(frame: pd.DataFrame) -> np.ndarray:
    # Nullable columns (Int64, Float32) become objects in to_numpy() unless told what to become, and
    # sparse ones are no type of NumPy's.
    kinds = {getattr(kind, "subtype", getattr(kind, "numpy_dtype", kind)) for kind in frame.dtypes}
    common = np.result_type(*kinds) if kinds else np.dtype(np.float64)
    if any(pd.api.types.is_extension_array_dtype(kind) for kind in frame.dtypes):
        target = common if common.kind in "fc" else np.dtype(np.float64)
        return frame.to_numpy(dtype=target, na_value=np.nan)
    return frame.to_numpy()


def count_distinct_rows(X: Matrix, most: int | None = None) -> int:
    """Return the number of different rows; ``most`` stands for any larger number.

    Rows are looked at only until ``most`` different ones were found.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.generate.features import count_distinct_rows
    >>> count_distinct_rows(np.array([[1.0, 0.0], [1.0, -0.0], [2.0, 0.0]]))
    2
    """
    enough = X.shape[0] if most is None else most
    seen: set[bytes] = set()
    for block in _growing_blocks(X):
        seen.update(_row_bytes(block))
        if len(seen) >= enough:
            return enough
    return len(seen)


def _growing_blocks(X: Matrix) -> Iterator[Matrix]:
    """Give the rows in blocks, a small one first."""
    if isinstance(X, RowSource):
        yield X[:_FIRST]
        yield from (X.block(i) for i in range(X.n_blocks))
        return
    step = max(1, _BLOCK // X.shape[1])
    yield X[:_FIRST]
    yield from (X[rows] for rows in slices(X.shape[0], step))


def _row_bytes(block: Matrix) -> Iterator[bytes]:
    """Give bytes for each row that are the same for equal rows."""
    # Zero and minus zero are equal, and their bytes are not.
    if not sparse.issparse(block):
        yield from (row.tobytes() for row in np.ascontiguousarray(block) + 0.0)
        return
    rows = sparse.csr_matrix(block, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    for begin, end in itertools.pairwise(rows.indptr):
        yield rows.indices[begin:end].tobytes() + rows.data[begin:end].tobytes()


def _canonical(matrix: Matrix) -> Matrix:
    """Return a sparse matrix with one entry for each place."""
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()  # the caller's arrays may be shared
        matrix.sum_duplicates()
    return matrix


def _as_float(matrix: Any, name: str) -> Matrix:
    kind = matrix.dtype.kind
    if kind == "O" and not sparse.issparse(matrix):
        _check_objects(matrix, name)
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
    return matrix


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
        raise _not_finite(name, row, column, block.reshape(-1)[place], columns)


def _not_finite(
    name: str, row: int, column: int, value: float, columns: list[str] | None
) -> ValueError:
    label = repr(columns[column]) if columns is not None else str(column)
    return ValueError(
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
    pairs = zip(names, given, strict=True)
    frames = [(name, view.index) for name, view in pairs if isinstance(view, pd.DataFrame)]
    if not frames:
        return None
    # Ids before an index that only counts the rows.
    named = [pair for pair in frames if not isinstance(pair[1], pd.RangeIndex)]
    first, index = (named or frames)[0]
    for name, other in frames:
        if not may_be_joined(index, other):
            row, mine, theirs = first_difference(index, other)
            raise ValueError(
                f"{first} and {name} have different ids, at row {row} {mine} and "
                f"{theirs}; reorder one of them so that views hold the same points in the "
                f"same order, or pass {name}.to_numpy() where the order is right."
            )
    return index
