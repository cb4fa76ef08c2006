"""Parquet and h5ad files, block of rows by block of rows.

What is kept is a matrix of the columns that are used; beside it there is one block of rows at a
time, of about 16 MB, and the buffers of the library that reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.npy import too_large, unpacked_limit
from clusterscape.io._columns import Roles, Table, Wanted, numbered_rows, plan_roles, row_names
from clusterscape.io._columns import unnamed as unnamed_column
from clusterscape.io._errors import TableError
from clusterscape.io._features import settle_missing
from clusterscape.io._numbers import read_cells
from clusterscape.io._source import Source

BLOCK = 1 << 24  # bytes of a block of rows
_PAGES = 1 << 22  # bytes that reading one column of a Parquet file may take


def rows_per_block(width: int, itemsize: int = 8) -> int:
    """Return how many rows make a block.

    Examples
    --------
    >>> rows_per_block(50), rows_per_block(10**8)
    (41943, 1)
    """
    return max(1, BLOCK // max(1, width * itemsize))


# ---- Parquet -----------------------------------------------------------------------------------


def plain_parquet(source: Source, wanted: Wanted) -> Table | None:
    """Return the table of a Parquet file whose features are numbers; None where some are not."""
    from pyarrow import parquet

    if wanted.na:
        return None
    with source.open() as stream:
        # A buffer: otherwise the pages of a whole group of rows are read at once.
        file = parquet.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
        found = _parquet_columns(file.schema_arrow)
        if found is None:
            return None
        keys, names = found
        where = numbered_rows(source.name)
        roles = _with_text_ids(file, keys, names, plan_roles(names, wanted, where))
        if roles is None or file.metadata.num_rows == 0:
            return None
        X = _parquet_numbers(file, [keys[p] for p in roles.features])
        texts = {
            p: file.read(columns=[keys[p]]).column(0).to_pandas()
            for p in (roles.ids, roles.labels)
            if p is not None
        }
    ids = None
    if roles.ids is not None:
        frame = pd.DataFrame({0: texts[roles.ids]})
        ids = row_names(frame, [names[roles.ids]], position=0, where=where)
    used = {roles.ids, roles.labels, *roles.features}
    table = Table(
        X,
        ids,
        tuple(names[p] for p in roles.features),
        source.name,
        None if roles.labels is None else texts[roles.labels].to_numpy(dtype=object),
        roles.notes,
        None if roles.ids is None else names[roles.ids],
        tuple(name for p, name in enumerate(names) if p not in used),
    )
    return settle_missing(table, wanted, where)


def _parquet_columns(schema: Any) -> tuple[list[str], list[str]] | None:
    """Return the columns as they are stored and as they are called; None where that is doubtful.

    An index that pandas stored comes first, as in the frame that pandas would make.
    """
    stored = list(schema.names)
    kept = (schema.pandas_metadata or {}).get("index_columns", [])
    index = [name for name in kept if isinstance(name, str)]
    if len(set(stored)) < len(stored) or len(index) > 1 or not set(index) <= set(stored):
        return None
    # One name within another could mean a field of a structure.
    known = set(stored)
    if any(name[:at] in known for name in stored for at, mark in enumerate(name) if mark == "."):
        return None
    keys = index + [name for name in stored if name not in index]
    hidden = index and index[0].startswith("__index_level_")
    return keys, [unnamed_column(0), *keys[1:]] if hidden else keys


def _with_text_ids(file: Any, keys: list[str], names: list[str], roles: Roles) -> Roles | None:
    """Take a first column of different words as the ids; None where a feature is no number."""
    from pyarrow import types

    schema = file.schema_arrow
    kinds = [schema.field(key).type for key in keys]
    free = roles.ids is None and roles.labels != 0
    free &= 0 not in roles.features if roles.chosen else 0 in roles.features
    if free and (types.is_string(kinds[0]) or types.is_large_string(kinds[0])):
        first = file.read(columns=[keys[0]]).column(0).to_pandas()
        cells = read_cells(first)
        if first.duplicated().any() or cells.kind != "text" or cells.missing.any():
            return None
        note = f"column {names[0]!r} holds text, different in every row: it is taken as the ids."
        others = tuple(p for p in roles.features if p != 0)
        roles = dataclasses.replace(
            roles, ids=0, features=others, notes=(*roles.notes, note), words=True
        )

    def is_number(kind: Any) -> bool:
        return types.is_integer(kind) or types.is_float32(kind) or types.is_float64(kind)

    usable = roles.features and all(is_number(kinds[p]) for p in roles.features)
    return roles if usable else None


def _parquet_numbers(file: Any, keys: Sequence[str]) -> np.ndarray:
    """Return the columns as one matrix: float32 where all of them are."""
    from pyarrow import types

    n, width = file.metadata.num_rows, len(keys)
    if 8 * n * width > unpacked_limit():
        raise ValueError(too_large("its table", 8 * n * width, unpacked_limit()))
    schema = file.schema_arrow
    small = all(types.is_float32(schema.field(key).type) for key in keys)
    X = np.empty((n, width), dtype=np.float32 if small else np.float64)
    # Pages of a column have a size of their own, whatever the rows of a block: so a few columns at
    # a time, where columns are long.
    some = max(1, BLOCK // max(1, min(8 * n, _PAGES)))
    for left in range(0, width, some):
        few, start = list(keys[left : left + some]), 0
        for batch in file.iter_batches(rows_per_block(some), columns=few, use_threads=False):
            stop, place = start + batch.num_rows, {c: i for i, c in enumerate(batch.schema.names)}
            for j, key in enumerate(few, start=left):
                X[start:stop, j] = batch.column(place[key]).to_numpy(zero_copy_only=False)
            start = stop
        if start != n:
            raise ValueError(f"it holds {start:,} rows and says {n:,}")
    return X


# ---- h5ad --------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class RowsOnDisk:
    """A dense matrix of an HDF5 file, of which rows are read when they are needed."""

    dataset: Any

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.dataset.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        """Kind of the numbers."""
        return self.dataset.dtype

    def read(self, columns: Sequence[int] | None, dtype: Any) -> np.ndarray:
        """Return the numbers, of some columns or all."""
        n, width = self.shape
        kept = np.empty((n, width if columns is None else len(columns)), dtype=dtype)
        step = rows_per_block(width, self.dtype.itemsize)
        for start in range(0, n, step):
            block = self.dataset[start : start + step]
            kept[start : start + step] = block if columns is None else block[:, columns]
        return kept


class H5ad:
    """An h5ad file of which parts are read one by one; the matrices stay in it."""

    def __init__(self, source: Source, file: Any) -> None:
        self._source, self._file = source, file
        read_elem = _anndata_io("read_elem")
        try:
            self.obs: pd.DataFrame = read_elem(file["obs"])
            self.obs_names = self.obs.index
            self.var_names = read_elem(file["var"]).index
            self.obsm = list(file.get("obsm", ()))
            self.layers = list(file.get("layers", ()))
        except Exception as error:  # anndata and h5py have errors of many kinds for what is damaged
            said = " ".join(str(error).split())[:240]
            raise TableError(
                f"{source.name} is not an h5ad file, or a damaged one ({said})",
                "copy or save it again",
            ) from None

    def matrix(self, place: str) -> Any:
        """Return a matrix by its place: on disk where it is dense, in memory where it is sparse."""
        import h5py

        if place not in self._file:
            return None
        item = self._file[place]
        if isinstance(item, h5py.Dataset):
            return RowsOnDisk(item)
        kind = str(item.attrs.get("encoding-type", ""))
        if kind in ("csr_matrix", "csc_matrix"):
            return _anndata_io("sparse_dataset")(item).to_memory()
        found = _anndata_io("read_elem")(item)
        if isinstance(found, (pd.DataFrame, np.ndarray)) or sparse.issparse(found):
            return found
        raise TableError(
            f"{self._source.name}: {place} is no matrix ({kind or 'unknown'})", "name another one"
        )


def _anndata_io(name: str) -> Any:
    """Return a function of anndata, whose place has moved."""
    try:
        from anndata import io as home
    except ImportError:  # before 0.11
        from anndata import experimental as home
    return getattr(home, name)


@contextmanager
def opened_h5ad(source: Source) -> Iterator[H5ad | None]:
    """Open a file part by part; None where it was written before anndata 0.7."""
    import h5py

    with h5py.File(source.path, "r") as file:
        current = "encoding-type" in file.attrs and "obs" in file and "var" in file
        yield H5ad(source, file) if current else None
