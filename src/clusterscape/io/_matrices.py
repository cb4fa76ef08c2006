"""Files that hold a matrix: Parquet, Arrow, NPZ, NPY, LIBSVM, h5ad. Nothing is ever unpickled."""

from __future__ import annotations

import fnmatch
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.npy import (
    ArrayArchive,
    HoldsObjects,
    read_array,
    too_large,
    unpacked_limit,
)
from clusterscape.ensemble import Ensemble
from clusterscape.ensemble.files import BROKEN_ARCHIVE, BROKEN_PARQUET, FORMAT, parquet_table
from clusterscape.ensemble.inputs import seems_turned
from clusterscape.io._blocks import H5ad, RowsOnDisk, opened_h5ad, plain_parquet
from clusterscape.io._columns import (
    Table,
    Wanted,
    find_column,
    numbered_rows,
    pick_columns,
    row_names,
    split_names,
    unnamed,
)
from clusterscape.io._errors import TableError, UnknownColumn
from clusterscape.io._features import settle_missing
from clusterscape.io._source import FORMATS, SPARSE_COLUMNS, Source, check_width


def is_ensemble_file(path: str | os.PathLike[str]) -> bool:
    """Say whether a file is an ensemble written by :class:`~clusterscape.Ensemble`.

    Parameters
    ----------
    path : str or path
        The file; one that is absent or in another format is no ensemble.

    Returns
    -------
    bool

    See Also
    --------
    read_label_table : Reads labels of other kinds of files.

    Examples
    --------
    >>> from clusterscape.io import is_ensemble_file
    >>> is_ensemble_file("no-such-file.npz")
    False
    """
    name = os.fspath(path).lower()
    try:
        if name.endswith(FORMATS["npz"]):
            with open(path, "rb") as handle:
                text = _ensemble_header(handle)
        elif name.endswith(FORMATS["parquet"]):
            from pyarrow import parquet

            text = (parquet.read_schema(path).metadata or {}).get(b"clusterscape", b"")
        else:
            return False
        return bool(json.loads(text or b"{}").get("format") == FORMAT)
    except (*BROKEN_ARCHIVE, *BROKEN_PARQUET, ImportError):
        return False


def _ensemble_header(handle: IO[bytes]) -> bytes:
    """Return the header of an ensemble in an archive, also for one that damage made unreadable.

    Its arrays alone would be labels without names and memberships: those are not taken instead.
    """
    archive = ArrayArchive(handle)
    if "meta" not in archive:
        return b""
    try:
        return archive["meta"].tobytes()
    except HoldsObjects:
        return b""
    except BROKEN_ARCHIVE:
        return json.dumps({"format": FORMAT}).encode()


def refuse_ensemble(source: Source) -> None:
    """Refuse a file of clusterings where measurements are wanted."""
    if source.path is not None and is_ensemble_file(source.path):
        raise TableError(
            f"{source.name} is an ensemble of clusterings, not a table of measurements",
            "combine it with clusterscape.combine, or with the command 'clusterscape combine'",
        )


def read_parquet(source: Source, wanted: Wanted) -> Table | None:
    """Read a Parquet file of numbers in blocks of rows; None where some features are no numbers."""
    with _reading_arrow(source):
        return plain_parquet(source, wanted)


@contextmanager
def _reading_arrow(source: Source) -> Iterator[None]:
    """Turn what pyarrow says of a Parquet or Arrow file into a sentence."""
    kind = "a Parquet file" if source.format == "parquet" else "an Arrow (Feather) file"
    try:
        import pyarrow
    except ImportError:
        raise TableError(
            f"{source.name}: {kind.split()[1]} files need pyarrow",
            "install it: pip install 'clusterscape[parquet]'",
        ) from None
    refuse_ensemble(source)
    try:
        yield
    except TableError:
        raise
    except (*BROKEN_PARQUET, pyarrow.ArrowException) as error:
        raise _damaged(source, kind, error) from None


def parquet_frame(source: Source) -> pd.DataFrame:
    """Read a Parquet or Arrow file; an index that holds names becomes the first column."""
    with _reading_arrow(source), source.open() as stream:
        read = parquet_table if source.format == "parquet" else _read_arrow
        frame = read(stream).to_pandas()
    if isinstance(frame.index, pd.MultiIndex):
        return frame.reset_index()
    if not isinstance(frame.index, pd.RangeIndex):
        name = frame.index.name or unnamed(0)
        frame.insert(0, name, frame.index)
    return frame.reset_index(drop=True)


def _read_arrow(stream: IO[bytes]) -> Any:
    """Read Arrow's file format (Feather), or its stream format."""
    import pyarrow
    from pyarrow import feather, ipc

    first = stream.read(4)
    stream.seek(0)
    if first == b"FEA1":  # the format of Feather before Arrow had files
        table = feather.read_table(stream)
        table.validate(full=True)
        return table
    reader = ipc.open_file(stream) if first == b"ARRO" else ipc.open_stream(stream)
    parts, size, limit = [], 0, unpacked_limit()
    # Block by block: packed columns unpack to a thousand times their size.
    for part in _batches(reader):
        part.validate(full=True)  # pyarrow believes lengths and offsets, and reads where they point
        size += part.nbytes
        if size > limit:
            raise ValueError(too_large("its table", size, limit))
        parts.append(part)
    return pyarrow.Table.from_batches(parts, schema=reader.schema)


def _batches(reader: Any) -> Iterator[Any]:
    if not hasattr(reader, "get_batch"):
        yield from reader
        return
    for i in range(reader.num_record_batches):
        yield reader.get_batch(i)


def _damaged(source: Source, kind: str, error: Exception) -> TableError:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    return TableError(
        f"{source.name} is not {kind}, or a damaged one ({reason[:240]})",
        "copy or save it again",
    )


def _matrix_table(
    X: Any,
    source: Source,
    wanted: Wanted,
    *,
    names: Sequence[str] | None = None,
    ids: np.ndarray | None = None,
    labels: np.ndarray | None = None,
) -> Table:
    """Finish a table whose numbers are one matrix already."""
    where = numbered_rows(source.name)
    if X.ndim != 2:
        remedy = "a table has rows and columns; save a single feature as X.reshape(-1, 1)"
        raise TableError(f"{source.name} holds an array of shape {X.shape}", remedy)
    if X.dtype.kind not in "iufb":
        raise TableError(
            f"{source.name} holds values of type {X.dtype} where numbers are needed",
            "save an array of floats or integers",
        )
    if 0 in X.shape:
        raise TableError(
            f"{source.name} is empty: its table is {X.shape[0]} x {X.shape[1]}",
            "save a table with rows and columns",
        )
    dtype = np.float32 if X.dtype in (np.float32, np.float16) else np.float64
    names = [str(i + 1) for i in range(X.shape[1])] if names is None else [str(n) for n in names]
    left_out: tuple[str, ...] = ()
    picked = None
    if wanted.columns is not None or wanted.exclude is not None:
        picked = pick_columns(names, wanted, where)
        used = set(picked)
        left_out = tuple(name for p, name in enumerate(names) if p not in used)
        names = [names[p] for p in picked]
    X = _taken(X, picked, dtype)
    X = _with_gaps(X, wanted.na, source)
    if ids is not None:
        frame = pd.DataFrame({"ids": np.asarray(ids).astype(object)})
        ids = row_names(frame, [wanted.id_column or "ids"], position=0, where=where)
    X = np.ascontiguousarray(X) if isinstance(X, np.ndarray) else X
    table = Table(X, ids, tuple(names), source.name, labels, left_out=left_out)
    return settle_missing(table, wanted, where)


def _taken(X: Any, columns: list[int] | None, dtype: Any) -> Any:
    """Return some columns of a matrix, or all, in memory and as floats."""
    if isinstance(X, RowsOnDisk):
        return X.read(columns, dtype)
    X = X if columns is None else X[:, columns]
    return sparse.csr_matrix(X, dtype=dtype) if sparse.issparse(X) else np.asarray(X, dtype=dtype)


def _with_gaps(X: Any, na: Sequence[str], source: Source) -> Any:
    """Return the matrix with NaN in place of the numbers that stand for a missing value."""
    if not na:
        return X
    if sparse.issparse(X):
        raise TableError(
            f"{source.name} is sparse, and has no missing values", "leave out {na}", na=na
        )
    try:
        tokens = [float(token) for token in na]
    except ValueError:
        raise TableError(
            f"{source.name} holds numbers alone, so that {na[0]!r} cannot stand for a missing one",
            "leave out {na}",
            na=na,
        ) from None
    return np.where(np.isin(X, np.array(tokens, dtype=X.dtype)), np.nan, X).astype(X.dtype)


def _load_array(source: Source, stream: IO[bytes]) -> np.ndarray:
    """Return the array of a NPY file; what its header claims is checked first."""
    try:
        if stream.read(2) == b"PK":
            raise ValueError("it is an NPZ file: rename it")
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        return read_array(stream, size)
    except HoldsObjects:
        raise _pickled(source, "Python objects") from None
    except BROKEN_ARCHIVE as error:
        raise _damaged(source, "a NumPy file", error) from None


def _pickled(source: Source, what: str) -> TableError:
    return TableError(
        f"{source.name} holds {what}, and reading those could run code hidden in the file",
        "save plain arrays of numbers or text, for example np.savez(path, X=X)",
    )


def read_npy(source: Source, wanted: Wanted) -> Table:
    """Read one array."""
    _no_such_column(source, wanted.id_column, ())
    _no_such_column(source, wanted.label_column, ())
    with source.open() as stream:
        X = _load_array(source, stream)
    return _matrix_table(X, source, wanted)


def _no_such_column(source: Source, name: str | None, known: Sequence[str]) -> None:
    """Refuse a name that the file does not hold."""
    if name is not None and name not in known:
        if not known:
            raise UnknownColumn(
                name, f"{source.name} has no column {name!r}: it holds numbers only"
            )
        find_column(list(known), name, numbered_rows(source.name))


def _open_npz(source: Source, stream: IO[bytes]) -> tuple[list[str], Callable[[str], np.ndarray]]:
    """Return the names of the arrays, and a function that reads one of them."""
    try:
        if stream.read(6) == b"\x93NUMPY":
            raise ValueError("it is an NPY file: rename it")
        archive = ArrayArchive(stream)
    except BROKEN_ARCHIVE as error:
        raise _damaged(source, "a NumPy file", error) from None

    def get(key: str) -> np.ndarray:
        try:
            return archive[key]
        except HoldsObjects:
            raise _pickled(source, f"Python objects in {key!r}") from None
        except BROKEN_ARCHIVE as error:
            raise _damaged(source, "a NumPy file", error) from None

    return archive.files, get


def label_matrix(source: Source, wanted: Wanted) -> Ensemble:
    """Read an (n, r) array, or one vector, of labels."""
    named = [name for given in (wanted.columns, wanted.exclude) for name in split_names(given)]
    for name in [*([] if wanted.id_column is None else [wanted.id_column]), *named]:
        raise UnknownColumn(
            name,
            f"{source.name} has no column {name!r}: it holds an array of labels without names",
        )
    with source.open() as stream:
        if source.format == "npy":
            labels = _load_array(source, stream)
        else:
            files, get = _open_npz(source, stream)
            flat = [k for k in files if k == "labels"] or [
                k for k in files if get(k).ndim in (1, 2) and get(k).dtype.kind in "iuU"
            ]
            if len(flat) != 1:
                raise TableError(
                    f"{source.name} holds {', '.join(files) or 'nothing'}: it is not clear which "
                    "are the labels",
                    "save them under the name labels",
                )
            labels = get(flat[0])
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iuU":
        kind = getattr(labels, "dtype", "unknown")
        raise TableError(
            f"{source.name} holds values of type {kind}, and labels are whole numbers or text",
            "save them as integers",
        )
    if labels.ndim not in (1, 2) or labels.size == 0:
        raise TableError(
            f"{source.name} holds an array of shape {labels.shape}, not labels",
            "save a row per point and a column per clustering",
        )
    columns = labels.reshape(len(labels), -1)
    if seems_turned(*columns.shape):
        raise TableError(
            f"{source.name} holds an array of shape {columns.shape}, which would be "
            f"{columns.shape[1]} clusterings of {len(columns)} points",
            "save it transposed, with a row per point and a column per clustering",
        )
    return Ensemble.from_labels(columns, orient="columns")


def read_npz(source: Source, wanted: Wanted) -> Table:
    """Read ``X``, or the CSR parts, or the only two-dimensional array."""
    refuse_ensemble(source)
    with source.open() as stream:
        files, get = _open_npz(source, stream)
        X = _npz_matrix(source, files, get)
        n = X.shape[0] if X.ndim else 0
        vectors = [k for k in files if k not in ("X", "data", "indices", "indptr", "shape")]
        _no_such_column(source, wanted.id_column, vectors)
        _no_such_column(source, wanted.label_column, vectors)
        ids = None
        notes: tuple[str, ...] = ()
        key = wanted.id_column or next((k for k in ("ids", "sample_names") if k in files), None)
        if key is not None:
            ids = _vector(source, key, get(key), n)
            if wanted.id_column is None:
                notes = (f"the array {key!r} is taken as the ids of the rows.",)
        labels = None
        if wanted.label_column is not None:
            labels = _vector(source, wanted.label_column, get(wanted.label_column), n)
        names = get("feature_names") if "feature_names" in files else None
        if names is not None and len(names) != X.shape[1]:
            names = None
    table = _matrix_table(X, source, wanted, names=names, ids=ids, labels=labels)  # type: ignore[arg-type]
    return table.noting(*notes)


def _vector(source: Source, key: str, values: np.ndarray, n: int) -> np.ndarray:
    if values.shape != (n,):
        raise TableError(
            f"{source.name}: {key!r} has shape {values.shape}, but the table has {n} rows",
            "save one entry per row",
        )
    return values


def _npz_matrix(source: Source, files: list[str], get: Callable[[str], np.ndarray]) -> Any:
    """Return ``X``, the CSR parts, or the only two-dimensional array."""
    if "X" in files:
        return get("X")
    if {"data", "indices", "indptr", "shape"} <= set(files):
        kind = get("format").item() if "format" in files else "csr"
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        make = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}.get(kind)
        if make is None:
            raise TableError(
                f"{source.name} is a sparse matrix in the form {kind!r}",
                "save it as CSR: X.tocsr()",
            )
        try:
            X = make((get("data"), get("indices"), get("indptr")), shape=tuple(get("shape")))
            X.check_format(full_check=True)
        except (ValueError, IndexError, TypeError) as error:
            if isinstance(error, TableError):
                raise
            raise _damaged(source, "a CSR matrix", error) from None
        return X.tocsr()
    flat = [key for key in files if get(key).ndim == 2]
    if len(flat) == 1:
        return get(flat[0])
    raise TableError(
        f"{source.name} holds {', '.join(files) or 'nothing'}: it is not clear which is the table",
        "save it under the name X, or a sparse one as data, indices, indptr and shape",
    )


def read_libsvm(source: Source, wanted: Wanted) -> Table:
    """Read ``label index:value ...`` lines as CSR."""
    from sklearn.datasets import load_svmlight_file

    _no_such_column(source, wanted.id_column, ())
    _no_such_column(source, wanted.label_column, ("y",))
    with source.open() as stream:
        if not stream.read(1):
            raise TableError(f"{source.name} is empty", "give a file with a table in it")
    try:
        with source.open() as stream:
            X, y = load_svmlight_file(stream)
        check_width(source, X.shape[1], SPARSE_COLUMNS)
    except (ValueError, OverflowError, IndexError, TypeError, MemoryError) as error:
        if isinstance(error, TableError):
            raise
        raise _libsvm_error(source, error) from None
    return _matrix_table(X, source, wanted, labels=y if wanted.label_column else None)


def _libsvm_error(source: Source, error: Exception) -> TableError:
    """Find the line that is not ``label index:value index:value ...``."""
    with source.open() as stream:
        for line, raw in enumerate(stream, start=1):
            fields = raw.split(b"#")[0].split()
            last = -1
            for place, text in enumerate(fields):
                key, colon, value = (text if place else b"0:" + text).partition(b":")
                try:
                    if place and not key.startswith(b"qid"):
                        rising, last = int(key) > last, int(key)
                        if not rising:
                            raise ValueError
                    float(value)
                except ValueError:
                    return TableError(
                        f"{source.name}, row {line} (its line in the file), field {place + 1}: "
                        f"{text.decode('utf-8', 'replace')!r} is out of place",
                        "a line is 'label index:value index:value ...' with rising indices",
                    )
    return _damaged(source, "a LIBSVM file", error)


def read_h5ad(source: Source, wanted: Wanted) -> Table:
    """Read ``X``, a layer or a matrix of ``obsm``; the names of ``obs`` are the ids."""
    if wanted.obsm is not None and wanted.layer is not None:
        raise TableError("a layer belongs to X", "give {obsm} or {layer}, not both", **_NOT_BOTH)
    _check_h5ad(source)
    with opened_h5ad(source) as parts:
        if parts is not None:
            return _h5ad_table(parts, source, wanted)
    with open_h5ad(source, backed=wanted.obsm is not None) as data:
        return _h5ad_table(data, source, wanted)


def _h5ad_table(data: Any, source: Source, wanted: Wanted) -> Table:
    X, names = _h5ad_matrix(data, source, wanted)
    known = [str(c) for c in data.obs.columns]
    _no_such_column(source, wanted.id_column, known or ("",))
    _no_such_column(source, wanted.label_column, known or ("",))
    ids = np.asarray(data.obs_names if wanted.id_column is None else data.obs[wanted.id_column])
    labels = None if wanted.label_column is None else np.asarray(data.obs[wanted.label_column])
    return _matrix_table(X, source, wanted, names=names, ids=ids, labels=labels)


_NOT_BOTH = {"obsm": "X_pca", "layer": "counts"}


def _check_h5ad(source: Source) -> None:
    """Refuse what is no whole h5ad file, and a missing package."""
    if source.path is None:
        raise TableError("h5ad files cannot be read from a pipe", "give the name of the file")
    with source.open():  # a missing file is a sentence here already
        pass
    try:
        import anndata  # noqa: F401
    except ImportError:
        raise TableError(
            f"{source.name}: h5ad files need anndata",
            "install it: pip install 'clusterscape[anndata]'",
        ) from None
    _verify_hdf5(source)


@contextmanager
def open_h5ad(source: Source, *, backed: bool = False) -> Iterator[Any]:
    """Open an h5ad file; with ``backed`` its matrix X stays in the file."""
    _check_h5ad(source)
    import anndata

    try:
        data = anndata.read_h5ad(source.path, backed="r" if backed else None)
    except Exception as error:  # anndata adds its own kinds to those of h5py
        raise _damaged(source, "an h5ad file", error) from None
    try:
        yield data
    finally:
        if backed:
            data.file.close()


def _h5ad_matrix(data: Any, source: Source, wanted: Wanted) -> tuple[Any, list[str]]:
    """Return what is clustered, and the names of its columns."""
    genes = [str(name) for name in data.var_names]
    for kind, key, known in (
        ("obsm", wanted.obsm, data.obsm),
        ("layer", wanted.layer, data.layers),
    ):
        if key is not None and key not in known:
            shown = ", ".join(str(k) for k in known if k is not None)
            remedy = f"it has {shown}" if shown else "it has none, so leave the option out"
            raise TableError(
                f"{source.name} has no {kind} {key!r}",
                remedy.replace("{", "{{").replace("}", "}}"),
            )
    parts = isinstance(data, H5ad)
    if wanted.obsm is not None:
        found = data.matrix(f"obsm/{wanted.obsm}") if parts else data.obsm[wanted.obsm]
        if isinstance(found, pd.DataFrame):
            return found.to_numpy(), [str(c) for c in found.columns]
        stem = wanted.obsm.removeprefix("X_")
        return found, [f"{stem}_{j + 1}" for j in range(found.shape[1])]
    if wanted.layer is not None:
        return data.matrix(f"layers/{wanted.layer}") if parts else data.layers[wanted.layer], genes
    X = data.matrix("X") if parts else data.X
    if X is None:
        raise TableError(
            f"{source.name} has no matrix X",
            "name a matrix with {obsm}, or a layer",
            obsm=next(iter(data.obsm), "X_pca"),
        )
    return X, genes


def h5ad_parts(source: Source) -> dict[str, tuple[str, ...]]:
    """Return the names in ``obsm`` and ``layers``, and the columns of ``obs`` that hold categories.

    A column with one category, or one for nearly every cell, is no clustering.
    """
    with open_h5ad(source, backed=True) as data:
        obs = [
            str(name)
            for name, values in data.obs.items()
            if isinstance(values.dtype, pd.CategoricalDtype)
            and 1 < values.nunique() <= max(2, len(values) // 2)
        ]
        layers = tuple(str(key) for key in data.layers if key is not None)
        return {"obsm": tuple(map(str, data.obsm)), "layers": layers, "obs": tuple(obs)}


def h5ad_labels(source: Source, wanted: Wanted) -> Ensemble:
    """Read clusterings from the columns of ``obs``, by name or pattern."""
    given = split_names(wanted.columns)
    with open_h5ad(source, backed=True) as data:
        known = [str(c) for c in data.obs.columns]
        if not given:
            shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
            raise TableError(
                f"{source.name}: it is not said which columns of obs are clusterings (it has "
                f"{shown or 'none'})",
                "name them, or give a pattern: {columns}",
                columns="leiden_*",
            )
        names: dict[str, None] = {}
        for pattern in given:
            here = [pattern] if pattern in known else fnmatch.filter(known, pattern)
            if not here:
                find_column(known, pattern, numbered_rows(source.name))
            names.update(dict.fromkeys(here))
        left = [n for n in known if n in names and n not in split_names(wanted.exclude)]
        ids = np.asarray(data.obs_names).astype(str)
        frame = data.obs[left].reset_index(drop=True)
    return Ensemble.from_labels(frame, columns=left).with_index(ids)


# Reads every value of an HDF5 file, after a look at the size that each dataset claims. It runs in
# a process of its own, because damage can make the HDF5 library end the process that reads, or go
# round in circles: a process that does not come to its next step is ended.
_PATIENCE = 60  # seconds for a step
_WATCH = """
import faulthandler
import sys

def next_step():
    faulthandler.dump_traceback_later(float(sys.argv[3]), exit=True)

next_step()
"""
_READ_ALL = """
import h5py
import numpy as np

limit = int(sys.argv[2])
total = 0

def look(name, item):
    global total
    next_step()
    for key in item.attrs:
        item.attrs[key]
    if not isinstance(item, h5py.Dataset):
        return
    total += item.size * max(item.dtype.itemsize, 1) if item.size else 0
    if total > limit:
        print("large", total)
        sys.exit(0)
    step = max(1, 2**24 // max(1, item.size // max(1, len(item)))) if item.shape else 1
    for start in range(0, len(item), step) if item.shape else [...]:
        next_step()
        item[start:start + step] if item.shape else item[()]

with h5py.File(sys.argv[1], "r") as file:
    look("/", file)
    file.visititems(look)
print("whole")
"""


def _verify_hdf5(source: Source) -> None:
    """Have another process read the whole file; what ends that process must not end this one."""
    limit = unpacked_limit()
    given = [os.fspath(source.path or ""), str(limit), str(_PATIENCE)]
    found = subprocess.run(
        # -P: modules are not looked for in the working directory, where the data may lie.
        [sys.executable, "-P", "-c", _WATCH + _READ_ALL, *given],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    said = found.stdout.split()
    if said[:1] == ["large"]:
        raise TableError(f"{source.name}: {too_large('its content', float(said[1]), limit)}")
    if said[:1] != ["whole"]:
        last = found.stderr.strip().splitlines()[-1:] or ["reading it ends the process"]
        if "Timeout (" in found.stderr:
            last = [f"a step of reading it does not end in {_PATIENCE} s"]
        raise _damaged(source, "an h5ad file", ValueError(last[0]))
