"""Features that are read in blocks of rows, and results that are written block by block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clusterscape._core.params import Integer, Null, checked
from clusterscape._core.rows import RowSource, blocks_of, parquet_rows


@checked({"block_rows": (Null(), Integer(1))})
def open_rows(
    data: Any, *, block_rows: int | None = None, columns: Sequence[str] | None = None
) -> RowSource:
    """Open a matrix of numbers that is read in blocks of rows, and never whole.

    :meth:`ConsensusClustering.fit <clusterscape.ConsensusClustering.fit>` and
    :meth:`EnsembleGenerator.generate <clusterscape.generate.EnsembleGenerator.generate>` take what
    this returns. Dask arrays, Zarr arrays and dense datasets of HDF5 files can be given to them as
    they are.

    Parameters
    ----------
    data : path, list of paths, or array
        A ``.npy`` file, a Zarr folder, an ``.h5ad`` file (its dense ``X``), Parquet files or a
        folder of them (a block is a row group); or a NumPy array, memory map, Zarr or Dask array or
        HDF5 dataset.
    block_rows : int, optional
        Rows of a block. By default about a million numbers, in whole chunks of the source and
        multiples of 8,192 rows where possible. Dask arrays keep their chunks.
    columns : list of str, optional
        Columns of Parquet files; by default all that hold numbers.

    Returns
    -------
    RowSource
        With ``shape``, ``dtype``, ``bounds`` (where blocks begin and end), ``block(i)``,
        ``source[rows]`` for some rows as an array, ``gather()`` and ``to_dask()``.

    See Also
    --------
    clusterscape.ensemble.BlockedEnsemble : The labels of such rows.
    clusterscape.ConsensusClustering : Its ``write_blocks`` writes the labels block by block.

    Examples
    --------
    >>> import numpy as np
    >>> from clusterscape.io import open_rows
    >>> rows = open_rows(np.arange(12.0).reshape(6, 2), block_rows=4)
    >>> rows.bounds, rows.block(1).shape
    (array([0, 4, 6]), (2, 2))
    >>> rows[[5, 0]]
    array([[10., 11.],
           [ 0.,  1.]])
    """
    several = isinstance(data, (list, tuple)) and all(_is_path(one) for one in data)
    if not several and not _is_path(data):
        return blocks_of(data if hasattr(data, "shape") else np.asarray(data), block_rows)
    paths = [Path(one) for one in (data if several else [data])]
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist.")
    first = paths[0]
    if several or first.suffix in (".parquet", ".pq") or _holds_parquet(first):
        if block_rows is not None:
            raise ValueError(
                f"block_rows={block_rows}: the blocks of Parquet files are their row groups; leave "
                "it out, or write the files with other row groups."
            )
        return parquet_rows([str(path) for one in paths for path in _parquet_files(one)], columns)
    if columns is not None:
        raise ValueError("columns: only Parquet files have names of columns here; leave it out.")
    if first.suffix == ".npy":
        return blocks_of(_mapped(first), block_rows)
    if first.suffix == ".h5ad":
        return _of_h5ad(first, block_rows)
    if first.is_dir():
        return blocks_of(_zarr(first), block_rows)
    raise ValueError(
        f"{first} is not read in blocks; give a .npy, .h5ad or Parquet file, a folder of Parquet "
        "files, or a Zarr folder."
    )


def _is_path(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _mapped(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError:
        raise
    except Exception as error:  # NumPy parses the text of the header with Python's own tokenizer
        raise ValueError(f"{path} is not a NumPy file, or a damaged one ({error}).") from None


def _holds_parquet(path: Path) -> bool:
    return path.is_dir() and any(path.glob("*.parquet"))


def _parquet_files(path: Path) -> list[Path]:
    return sorted(path.glob("*.parquet")) if path.is_dir() else [path]


def _zarr(path: Path) -> Any:
    try:
        import zarr
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"{path} is a folder, read as a Zarr array, for which zarr is missing: pip install zarr"
        ) from None
    try:
        return zarr.open_array(str(path), mode="r")
    except Exception as error:  # zarr has errors of several kinds for what is no array
        raise ValueError(f"{path} is neither a Zarr array nor Parquet files ({error}).") from None


def _of_h5ad(path: Path, block_rows: int | None) -> RowSource:
    import h5py

    with h5py.File(path, "r") as file:
        X = file.get("X")
        if not isinstance(X, h5py.Dataset):
            raise TypeError(
                f"X of {path} is a sparse matrix, which is not read in blocks; read it whole with "
                "clusterscape.io.read_table, or write dense columns such as principal components."
            )
        return blocks_of(X, block_rows)
