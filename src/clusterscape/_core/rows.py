"""Matrices that are read in blocks of rows, and never whole."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clusterscape._core.workers import LocalWorkers, Workers

ROWS = 8_192  # a block has a multiple of so many rows, where its source leaves the choice
_ENTRIES = 2**20  # of a block
_MOST_ROWS = 2**17
_KEPT = 5_000  # rows of a slice that are kept once they were read


def slices(n: int, step: int) -> Iterator[slice]:
    """Cut n rows into slices of ``step`` rows, the last one shorter; none of no rows.

    Examples
    --------
    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def even_bounds(n: int, width: int, *, multiple: int = 1) -> np.ndarray:
    """Return where blocks of a matrix begin and end, whole multiples of ``multiple`` rows."""
    step = int(np.clip(_ENTRIES // max(width, 1), ROWS, _MOST_ROWS)) // ROWS * ROWS
    unit = int(np.lcm(multiple, ROWS)) if np.lcm(multiple, ROWS) <= 2 * step else multiple
    step = max(unit, step // unit * unit)
    return np.append(np.arange(0, n, step), n) if n else np.zeros(1, dtype=np.int64)


class RowSource:
    """Rows in blocks: ``source.block(i)``, and ``source[rows]`` for some rows as an array.

    Attributes
    ----------
    shape : tuple
        Of the whole.
    dtype : numpy.dtype
        Of the blocks.
    bounds : (b + 1,) array
        Block i holds the rows ``bounds[i]`` to ``bounds[i + 1]``.
    workers : Workers
        Who reads the blocks.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    bounds: np.ndarray
    is_dask = False
    may_gather = False  # by numpy.asarray, without being asked by name

    def __init__(self, shape: tuple[int, ...], dtype: Any, bounds: Any) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.dtype = np.dtype(dtype)
        self.bounds = np.asarray(bounds, dtype=np.int64)
        self.workers: Workers = LocalWorkers()
        self._slices: dict[tuple[int, int, int], np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__ | {"workers": LocalWorkers(), "_slices": {}}
        state.pop("survey", None)
        return state

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.bounds.size - 1

    def __len__(self) -> int:
        return self.shape[0]

    def part(self, i: int) -> slice:
        """Return the rows of a block."""
        return slice(int(self.bounds[i]), int(self.bounds[i + 1]))

    def block(self, i: int) -> np.ndarray:
        """Return one block."""
        raise NotImplementedError

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return some rows, each block being read once at most."""
        key = None
        if isinstance(rows, slice):
            key = rows.indices(len(self))
            if key in self._slices:
                return self._slices[key]
            rows = np.arange(*key)
        rows = np.asarray(rows)
        if rows.dtype == bool:
            rows = np.flatnonzero(rows)
        found = self._take(rows)
        if key is not None and len(found) <= _KEPT:
            self._slices[key] = found
        return found

    def _take(self, rows: np.ndarray) -> np.ndarray:
        if rows.size == 0:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
        order = np.unique(rows)
        edges = np.searchsorted(order, self.bounds)
        which = np.flatnonzero(np.diff(edges))
        places = {int(i): order[edges[i] : edges[i + 1]] - self.bounds[i] for i in which}
        parts = self.workers.map(_picked, self, (places,), which=list(places))
        found = np.concatenate(parts)
        return found if np.array_equal(order, rows) else found[np.searchsorted(order, rows)]

    def gather(self) -> np.ndarray:
        """Return everything as one array in memory."""
        out = np.empty(self.shape, dtype=self.dtype)
        for i in range(self.n_blocks):
            out[self.part(i)] = self.block(i)
        return out

    @property
    def nbytes(self) -> int:
        """Memory that all rows together would take."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if not self.may_gather:
            raise TypeError(
                f"this needs all {len(self):,} rows in memory ({self.nbytes / 2**20:,.0f} MB), but "
                "they are read in blocks; gather() reads them all where that is meant."
            )
        return np.asarray(self.gather(), dtype=dtype)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, {self.dtype}, {self.n_blocks} blocks)"

    @cached_property
    def survey(self) -> Survey:
        """What one pass over all blocks finds: the least and largest values, and a digest."""
        return Survey.of(self)

    def to_dask(self) -> Any:
        """Return a Dask array of the blocks, which are read when it is computed."""
        import dask.array as da

        # As a map over the numbers of the blocks, which Dask joins with what comes after.
        numbers = da.arange(self.n_blocks, chunks=1)
        sizes = tuple(int(size) for size in np.diff(self.bounds))
        return numbers.map_blocks(
            _block_of,
            source=self,
            dtype=self.dtype,
            chunks=(sizes, *((size,) for size in self.shape[1:])),
            new_axis=list(range(1, self.ndim)) or None,
            meta=np.empty((0,) * self.ndim, dtype=self.dtype),
        )


def _block_of(number: np.ndarray, source: RowSource) -> np.ndarray:
    return source.block(int(number[0]))


def _picked(i: int, block: np.ndarray, places: dict[int, np.ndarray]) -> np.ndarray:
    return np.ascontiguousarray(block[places[i]])


@dataclass(frozen=True)
class Survey:
    """What one pass over the blocks of a matrix of floats found.

    Attributes
    ----------
    least, largest : float
        Of all values.
    bad : (row, column, value) or None
        The first value that is not finite.
    digest : str
        sha256 of type, shape, blocks and values.
    """

    least: float
    largest: float
    bad: tuple[int, int, float] | None
    digest: str

    @classmethod
    def of(cls, source: RowSource) -> Survey:
        """Look at all blocks once."""
        parts = source.workers.map(_surveyed, source, (source.bounds,), label="reading")
        digest = hashlib.sha256(f"{source.dtype.str} {source.shape};".encode())
        for part in parts:
            digest.update(part[3].encode())
        bad = next((part[2] for part in parts if part[2] is not None), None)
        low = min(part[0] for part in parts)
        return cls(low, max(part[1] for part in parts), bad, digest.hexdigest())


def _surveyed(i: int, block: np.ndarray, bounds: np.ndarray) -> tuple[float, float, Any, str]:
    bad = None
    low, high = float(block.min()), float(block.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        place = int(np.argmin(np.isfinite(block)))
        row, column = divmod(place, block.shape[1])
        bad = (int(bounds[i]) + row, column, float(block[row, column]))
    return low, high, bad, hashlib.sha256(np.ascontiguousarray(block).data).hexdigest()


def float_type(dtype: Any, name: str) -> np.dtype:
    """Return the type in which numbers of a type are computed, or refuse what holds none."""
    kind = np.dtype(dtype)
    if kind.kind not in "fiub":
        raise TypeError(f"{name} must hold numbers; got the type {kind}.")
    return np.dtype(np.float32 if kind in (np.float16, np.float32) else np.float64)


class ArrayRows(RowSource):
    """Rows of anything that gives an array for ``source[start:stop]``: a memory map, Zarr.

    Parameters
    ----------
    array : array-like
        With ``shape``, ``dtype`` and slices of rows.
    bounds : (b + 1,) array
        The blocks.
    """

    def __init__(self, array: Any, bounds: Any) -> None:
        super().__init__(array.shape, float_type(array.dtype, "X"), bounds)
        self.array = array

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        X = self.array
        is_whole = type(getattr(X, "base", None)).__name__ in ("mmap", "NoneType")
        if isinstance(X, np.memmap) and X.filename is not None and is_whole:
            # The place in the file travels, not the numbers.
            state["array"] = _MapOf(str(X.filename), X.dtype, X.shape, int(X.offset), _order(X))
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if isinstance(state["array"], _MapOf):
            state = state | {"array": state["array"].open()}
        self.__dict__.update(state)

    def block(self, i: int) -> np.ndarray:
        return np.array(self.array[self.part(i)], dtype=self.dtype, order="C", subok=False)


def _order(X: np.ndarray) -> str:
    return "C" if X.flags.c_contiguous else "F"


@dataclass(frozen=True)
class _MapOf:
    path: str
    dtype: np.dtype
    shape: tuple[int, ...]
    offset: int
    order: Any

    def open(self) -> np.memmap:
        return np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)


class HDF5Rows(RowSource):
    """Rows of a dense dataset of an HDF5 file, such as ``X`` of a backed AnnData object.

    Parameters
    ----------
    path, name : str
        The file, and the dataset in it.
    shape, dtype
        Of the dataset.
    bounds : (b + 1,) array
        The blocks.
    """

    def __init__(self, path: str, name: str, *, shape: Any, dtype: Any, bounds: Any) -> None:
        super().__init__(shape, float_type(dtype, "X"), bounds)
        self.path, self.name = os.path.abspath(path), name

    def block(self, i: int) -> np.ndarray:
        import h5py

        with h5py.File(self.path, "r") as file:
            return np.asarray(file[self.name][self.part(i)], dtype=self.dtype)


class ParquetRows(RowSource):
    """Rows of Parquet files; a block is a row group.

    Parameters
    ----------
    groups : list of (path, group)
        The row groups, in order.
    columns : list of str
        The columns that are read.
    bounds : (b + 1,) array
        The blocks.
    dtype : numpy.dtype
        Of the blocks.
    """

    def __init__(
        self, groups: list[tuple[str, int]], columns: list[str], *, bounds: Any, dtype: Any
    ) -> None:
        super().__init__((int(bounds[-1]), len(columns)), dtype, bounds)
        self.groups, self.columns = groups, columns

    def block(self, i: int) -> np.ndarray:
        import pyarrow.parquet as pq

        path, group = self.groups[i]
        with _readable(path), pq.ParquetFile(path, page_checksum_verification=True) as file:
            table = file.read_row_group(group, columns=self.columns)
            parts = [table.column(name).to_numpy() for name in self.columns]
            return np.ascontiguousarray(np.column_stack(parts), dtype=self.dtype)


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Say which file it is that cannot be read."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path} is not a Parquet file, or a damaged one, or was changed since it was opened "
            f"({reason})."
        ) from None


class DaskRows(RowSource):
    """Rows of a Dask array; a block is a chunk of rows.

    Parameters
    ----------
    array : dask.array.Array
        With known chunks; several chunks of columns are joined block by block.
    """

    is_dask = True

    def __init__(self, array: Any) -> None:
        if any(np.isnan(size) for size in array.shape):
            raise ValueError(
                "X is a Dask array of unknown length; call X.compute_chunk_sizes() first."
            )
        if len(array.chunks) > 1 and len(array.chunks[1]) > 1:
            array = array.rechunk({1: -1})
        sizes = [size for size in array.chunks[0] if size > 0]
        super().__init__(
            array.shape, float_type(array.dtype, "X"), np.concatenate([[0], np.cumsum(sizes)])
        )
        filled = np.flatnonzero(array.chunks[0])
        self.array = array.astype(self.dtype)
        self._chunks = filled

    def block(self, i: int) -> np.ndarray:
        part = self.array.blocks[int(self._chunks[i])]
        return np.ascontiguousarray(part.compute(scheduler="synchronous"))

    def mapped(self, function: Callable[..., Any], shared: Any) -> list[Any]:
        """Return ``function(i, block, shared)`` of the blocks, each as one task of Dask.

        As a map over the blocks it is joined with what makes them, so that no block waits in a
        worker's memory or travels to another.
        """
        places = {int(chunk): i for i, chunk in enumerate(self._chunks)}
        boxes = self.array.map_blocks(
            _boxed,
            function=function,
            places=places,
            shared=shared,
            dtype=object,
            chunks=((1,) * len(self.array.chunks[0]),),
            drop_axis=list(range(1, self.ndim)) or None,
            meta=np.empty(0, dtype=object),
        )
        every = boxes.to_delayed(optimize_graph=True).ravel()
        return [every[int(chunk)] for chunk in self._chunks]


def _boxed(
    block: np.ndarray,
    *,
    function: Callable[..., Any],
    places: dict[int, int],
    shared: Any,
    block_id: tuple[int, ...],
) -> np.ndarray:
    box = np.empty(1, dtype=object)
    box[0] = function(places.get(int(block_id[0]), 0), np.ascontiguousarray(block), shared)
    return box


class MappedRows(RowSource):
    """``function(i, block, *shared)`` of the blocks of another source, computed when asked for.

    Parameters
    ----------
    function : callable
        Importable.
    source : RowSource
        What it is computed of.
    shared : tuple
        Further arguments.
    shape, dtype
        Of the result.
    """

    may_gather = True  # results: one or a few numbers for each row

    def __init__(
        self,
        function: Callable[..., np.ndarray],
        source: RowSource,
        shared: tuple[Any, ...],
        *,
        shape: tuple[int, ...],
        dtype: Any,
    ) -> None:
        super().__init__(shape, dtype, source.bounds)
        self.function, self.source, self.shared = function, source, shared
        self.workers = source.workers

    def block(self, i: int) -> np.ndarray:
        return self.function(i, self.source.block(i), *self.shared)


class ScaledRows(RowSource):
    """Rows whose columns are shifted and divided.

    Parameters
    ----------
    source : RowSource
        The rows.
    shift, scale : (d,) arrays
        Subtracted from the columns, and what they are then divided by.
    """

    def __init__(self, source: RowSource, shift: np.ndarray, scale: np.ndarray) -> None:
        super().__init__(source.shape, source.dtype, source.bounds)
        self.source, self.shift, self.scale = source, shift, scale
        self.workers = source.workers

    def block(self, i: int) -> np.ndarray:
        block = (self.source.block(i) - self.shift) / self.scale
        return np.ascontiguousarray(block, dtype=self.dtype)


def standardised(source: RowSource) -> ScaledRows:
    """Return rows with columns of mean zero and variance one, by one pass over the blocks.

    Means and sums of squares of the blocks are joined in their order.
    """
    count, mean, squares = 0.0, np.zeros(source.shape[1]), np.zeros(source.shape[1])
    for size, own, spread in source.workers.map(_moments, source, label="scaling"):
        total = count + size
        step = own - mean
        squares += spread + step**2 * count * size / total
        mean, count = mean + step * size / total, total
    scale = np.sqrt(squares / count)
    # What is as small as rounding leaves of equal values is no spread.
    constant = scale <= 1e-12 * np.maximum(np.abs(mean), np.finfo(np.float64).tiny)
    return ScaledRows(source, mean, np.where(constant, 1.0, scale))


def _moments(i: int, block: np.ndarray) -> tuple[int, np.ndarray, np.ndarray]:
    exact = block.astype(np.float64)
    mean = exact.mean(axis=0)
    return len(block), mean, ((exact - mean) ** 2).sum(axis=0)


# -- what people give --------------------------------------------------------------------------


def as_rows(X: Any) -> RowSource | None:
    """Return what is read in blocks as a source of rows; None for what is in memory.

    A Dask array or frame, a Zarr array, a dense dataset of an HDF5 file (``adata.X`` of a backed
    AnnData object), or a source already. Memory maps are arrays: see :func:`blocks_of`.
    """
    if isinstance(X, RowSource):
        return X
    kind = type(X)
    home = kind.__module__.partition(".")[0]
    if home in ("dask", "dask_expr") and hasattr(X, "to_dask_array"):
        return DaskRows(_checked(X.to_dask_array(lengths=True)))
    if home == "dask" and hasattr(X, "chunks"):
        return DaskRows(_checked(X))
    if home == "zarr" and hasattr(X, "chunks"):
        return _blocked(_checked(X), None)
    if home == "h5py" and hasattr(X, "chunks"):
        return _of_hdf5(_checked(X), None)
    if home == "anndata" and "Dataset" in kind.__name__:
        raise TypeError(
            "X is a sparse matrix in a file, which is not read in blocks; give adata.to_memory().X,"
            " or dense columns such as adata.obsm['X_pca']."
        )
    return None


def blocks_of(X: Any, block_rows: int | None) -> RowSource:
    """Return rows in blocks of ``block_rows``; of what is in memory or a memory map, too."""
    found = as_rows(X)
    if isinstance(found, DaskRows):
        return found if block_rows is None else DaskRows(found.array.rechunk({0: block_rows}))
    if isinstance(found, HDF5Rows):
        return _of_hdf5(X, block_rows)
    return _blocked(_checked(found.array if isinstance(found, ArrayRows) else X), block_rows)


def _checked(X: Any) -> Any:
    if len(X.shape) != 2:
        raise ValueError(f"X must have two dimensions, points x features; it has {len(X.shape)}.")
    if min(X.shape) == 0:
        what = "rows" if X.shape[0] == 0 else "columns"
        raise ValueError(f"X has no {what} (shape {X.shape}); there is nothing to cluster.")
    return X


def _bounds(X: Any, block_rows: int | None) -> np.ndarray:
    n, width = X.shape
    if block_rows is not None:
        return np.append(np.arange(0, n, block_rows), n)
    chunks = getattr(X, "chunks", None)
    return even_bounds(n, width, multiple=int(chunks[0]) if chunks else 1)


def _blocked(X: Any, block_rows: int | None) -> RowSource:
    return ArrayRows(X, _bounds(X, block_rows))


def _of_hdf5(X: Any, block_rows: int | None) -> HDF5Rows:
    bounds = _bounds(X, block_rows)
    return HDF5Rows(X.file.filename, X.name, shape=X.shape, dtype=X.dtype, bounds=bounds)


def parquet_rows(paths: Sequence[str], columns: Sequence[str] | None = None) -> ParquetRows:
    """Return the rows of Parquet files with the same columns, without reading them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    groups, sizes, kinds = [], [0], []
    names = None if columns is None else list(columns)
    for path in paths:
        with _readable(path), pq.ParquetFile(path) as file:
            schema = file.schema_arrow
            if names is None:
                names = [f.name for f in schema if _is_number(pa, f.type)]
            missing = [name for name in names if name not in schema.names]
            if missing:
                raise ValueError(f"{path} has no column {missing[0]!r}; it has {schema.names}.")
            kinds += [schema.field(name).type.to_pandas_dtype() for name in names]
            for group in range(file.num_row_groups):
                rows = file.metadata.row_group(group).num_rows
                if rows:
                    groups.append((os.path.abspath(path), group))
                    sizes.append(rows)
    if not groups or not names:
        raise ValueError("there are no rows, or no columns of numbers, in the Parquet files.")
    dtype = float_type(np.result_type(*kinds), "X")
    return ParquetRows(groups, names, bounds=np.cumsum(sizes), dtype=dtype)


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))
