"""Ensembles as files: NPZ and Parquet keep everything, CSV the labels; nothing is ever unpickled.

The functions move between files and *content*: plain arrays, and ``meta`` of JSON values. A file
may be damaged or written by another program, so what it claims is checked before it is used.

Arrays: ``labels`` (n, r), ``weights`` (r,), ``sample_weight`` (n,), for each soft partition i its
CSR parts ``soft_i_data``, ``soft_i_indices`` and ``soft_i_indptr``, and ``columns_i`` for each
record that has columns. Meta: ``names``, ``n_clusters``, ``categories``, ``records``, ``soft``
(positions), ``index`` and ``index_name``.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.atomic import atomic_path, write_bytes
from clusterscape._core.labels import NOISE, UNSAMPLED
from clusterscape._core.npy import ArrayArchive, too_large, unpacked_limit
from clusterscape._core.weights import checked_weights
from clusterscape.ensemble.inputs import Partition, read_membership
from clusterscape.ensemble.records import PartitionRecord

FORMAT = "clusterscape-ensemble"
FORMAT_VERSION = 1
_STAMP = (1980, 1, 1, 0, 0, 0)  # zip members carry a date; a fixed one keeps files byte-stable

FilePath = str | os.PathLike[str]


class NotAnEnsembleFile(ValueError):
    """The file is not an ensemble that this version can read, or it is damaged."""


class Content(NamedTuple):
    """What a file says: arrays, and JSON values beside them."""

    arrays: dict[str, np.ndarray]
    meta: dict[str, Any]


@dataclass
class Parts:
    """What an ensemble is made of; the arguments of its constructor."""

    partitions: list[Partition]
    records: list[PartitionRecord]
    weights: np.ndarray
    sample_weight: np.ndarray
    index: pd.Index | None


# -- parts to content and back ----------------------------------------------------------------


def to_content(parts: Parts) -> Content:
    """Return the parts of an ensemble as arrays and JSON values."""
    arrays: dict[str, np.ndarray] = {
        "labels": np.column_stack([p.codes for p in parts.partitions]),
        "weights": parts.weights,
        "sample_weight": parts.sample_weight,
    }
    soft = {i: p.soft for i, p in enumerate(parts.partitions) if p.soft is not None}
    for i, matrix in soft.items():
        arrays |= _csr_arrays(i, matrix)
    for i, record in enumerate(parts.records):
        if record.columns is not None:
            arrays[f"columns_{i}"] = record.columns
    categories = [p.categories for p in parts.partitions]
    index = parts.index
    meta = {
        "names": [p.name for p in parts.partitions],
        "n_clusters": [p.n_clusters for p in parts.partitions],
        "categories": [None if c is None else _to_json(list(c)) for c in categories],
        "records": [r.as_dict() for r in parts.records],
        "soft": sorted(soft),
        "index": None if index is None else _to_json(index.tolist()),
        "index_name": None if index is None or index.name is None else str(index.name),
    }
    return Content(arrays, meta)


def from_content(content: Content, path: FilePath) -> Parts:
    """Return the parts of an ensemble after checking everything that the file claims."""
    with _refusing(path):
        arrays, meta = content
        labels = _checked_labels(arrays, meta)
        n, r = labels.shape
        partitions, records = [], []
        for i, name in enumerate(meta["names"]):
            part = Partition(name, labels[:, i], meta["n_clusters"][i], _categories(meta, i))
            partitions.append(_with_membership(part, arrays, i) if i in meta["soft"] else part)
            records.append(_record(meta["records"][i], arrays.get(f"columns_{i}")))
        return Parts(
            partitions,
            records,
            checked_weights(arrays["weights"], r, name="weights", each="partition"),
            checked_weights(arrays["sample_weight"], n),
            _index(meta, n),
        )


@contextlib.contextmanager
def _refusing(path: FilePath) -> Iterator[None]:
    """Turn whatever a file's wrong content leads to into one kind of error."""
    try:
        yield
    except KeyError as error:
        raise NotAnEnsembleFile(f"{path}: damaged: {error.args[0]!r} is missing.") from None
    except (TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise NotAnEnsembleFile(f"{path}: damaged: {str(error).rstrip('.')}.") from None


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ValueError(otherwise)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _checked_labels(arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> np.ndarray:
    """Return the label matrix; it and the lists of ``meta`` must fit each other."""
    labels = arrays["labels"]
    _require(labels.ndim == 2 and labels.dtype.kind == "i", "labels is not a matrix of integers")
    r = labels.shape[1]
    _require(labels.size > 0, f"labels is empty, of shape {labels.shape}")
    for name in ("names", "n_clusters", "categories", "records"):
        found = meta[name]
        _require(isinstance(found, list), f"{name} is not a list")
        _require(len(found) == r, f"{name} has {len(found)} entries for {r} partitions")
    _require(all(isinstance(name, str) for name in meta["names"]), "a name is not text")
    _require(all(map(_is_count, meta["n_clusters"])), "n_clusters has an entry that is no count")
    low, high = labels.min(axis=0), labels.max(axis=0)
    wrong = (low < UNSAMPLED) | (high >= np.array(meta["n_clusters"], dtype=np.int64))
    if wrong.any():
        i = int(np.argmax(wrong))
        raise ValueError(
            f"the labels of partition {i} go from {low[i]} to {high[i]}, which {UNSAMPLED} to "
            f"{meta['n_clusters'][i] - 1} should include"
        )
    soft = meta["soft"]
    inside = isinstance(soft, list) and all(_is_count(i) and i < r for i in soft)
    _require(inside and len(set(soft)) == len(soft), "soft is not a list of partitions")
    return labels


def _categories(meta: dict[str, Any], i: int) -> tuple[Any, ...] | None:
    found, k = meta["categories"][i], meta["n_clusters"][i]
    if found is None:
        return None
    _require(isinstance(found, list), f"the categories of partition {i} are not a list")
    categories = tuple(_from_json(found))
    _require(len(categories) == k, f"partition {i} has {len(categories)} categories, not {k}")
    distinct = {(type(c).__name__, c) for c in categories}
    _require(len(distinct) == k, f"a category of partition {i} is repeated")
    return categories


def _with_membership(part: Partition, arrays: dict[str, np.ndarray], i: int) -> Partition:
    """Return a soft partition whose membership is sound and agrees with its codes."""
    data, indices, indptr = (arrays[f"soft_{i}_{end}"] for end in ("data", "indices", "indptr"))
    n, k = part.codes.size, part.n_clusters
    shapes = data.ndim == 1 and data.shape == indices.shape and indptr.shape == (n + 1,)
    kinds = data.dtype.kind == "f" and indices.dtype.kind == indptr.dtype.kind == "i"
    _require(shapes and kinds, f"the membership of partition {i} has parts that do not fit")
    pointers = indptr[0] == 0 and indptr[-1] == data.size and bool((np.diff(indptr) >= 0).all())
    inside = data.size == 0 or bool(indices.min() >= 0 and indices.max() < k)
    _require(pointers and inside, f"the membership of partition {i} points outside of itself")
    _require(bool(np.isfinite(data).all()), f"the membership of partition {i} is not finite")
    read = read_membership(sparse.csr_matrix((data, indices, indptr), shape=(n, k)), part.name)
    expected = np.where(part.codes == UNSAMPLED, NOISE, part.codes)  # no weight in any cluster
    agree = bool((read.codes == expected).all())
    _require(agree, f"the membership of partition {i} contradicts its labels")
    return Partition(part.name, part.codes, k, part.categories, read.soft)


_RECORD_TYPES: dict[str, Any] = {
    "generator": str,
    "algorithm": str,
    "params": dict,
    "seed": (dict, type(None)),
    "view": int,
    "rows": str,
    "n_clusters": int,
    "cost": (int, float, str, type(None)),
    "error": (str, type(None)),
}


def _record(fields: Any, columns: np.ndarray | None) -> PartitionRecord:
    _require(isinstance(fields, dict), "a record is not a dictionary")
    for name, kind in _RECORD_TYPES.items():
        _require(isinstance(fields[name], kind), f"{name} of a record is {fields[name]!r}")
    infinite = not isinstance(fields["cost"], str) or fields["cost"] in ("inf", "-inf")
    _require(infinite, f"cost of a record is {fields['cost']!r}")
    unknown = sorted(fields.keys() - _RECORD_TYPES.keys())
    _require(not unknown, f"a record has the unknown fields {unknown}")
    if columns is not None:
        sound = columns.ndim == 1 and columns.dtype.kind == "i" and columns.min(initial=0) >= 0
        _require(bool(sound), "the columns of a record are not positions")
    return PartitionRecord(**fields, columns=columns)


def _index(meta: dict[str, Any], n: int) -> pd.Index | None:
    found, name = meta["index"], meta["index_name"]
    if found is None:
        return None
    _require(isinstance(found, list) and len(found) == n, f"the index does not have {n} entries")
    _require(name is None or isinstance(name, str), f"index_name is {name!r}")
    ids = pd.Index(_from_json(found))
    return ids if isinstance(ids, pd.MultiIndex) else ids.rename(name)


def _to_json(value: Any) -> Any:
    """Return labels as JSON keeps them: a tuple is marked, or it would come back as a list."""
    if isinstance(value, tuple):
        return {"tuple": [_to_json(v) for v in value]}
    return [_to_json(v) for v in value] if isinstance(value, list) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_from_json(v) for v in value["tuple"])
    return [_from_json(v) for v in value] if isinstance(value, list) else value


def _csr_arrays(i: int, matrix: sparse.csr_matrix) -> dict[str, np.ndarray]:
    return {
        f"soft_{i}_data": matrix.data,
        f"soft_{i}_indices": matrix.indices.astype(np.int64),
        f"soft_{i}_indptr": matrix.indptr.astype(np.int64),
    }


# -- the header of NPZ and Parquet ------------------------------------------------------------


def _header(meta: dict[str, Any]) -> bytes:
    _dump_json(meta["index"], "the index (the points' ids)")
    header = {"format": FORMAT, "version": FORMAT_VERSION, "meta": meta}
    return _dump_json(header, "the ensemble's labels or records")


def _dump_json(value: Any, what: str) -> bytes:
    """Return canonical JSON bytes; a value that JSON does not know is named."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} cannot be written to a file ({error}); only text, whole numbers, booleans "
            "and finite numbers can. Convert them first, for example to str."
        ) from None


def _read_header(text: bytes | None, path: FilePath) -> dict[str, Any]:
    """Return the ``meta`` of a file's header, or say why the file is not an ensemble."""
    try:
        header = json.loads(text or b"")
        known = header["format"] == FORMAT
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise NotAnEnsembleFile(
            f"{path}: not a clusterscape ensemble; for plain labels use Ensemble.from_labels."
        )
    version, meta = header.get("version"), header.get("meta")
    if not _is_count(version) or not isinstance(meta, dict):
        raise NotAnEnsembleFile(f"{path}: damaged: its header has no version or no content.")
    if version > FORMAT_VERSION:
        raise NotAnEnsembleFile(
            f"{path}: written in format {version}, this version reads up to {FORMAT_VERSION}; "
            "install a newer clusterscape."
        )
    return meta


# -- NPZ --------------------------------------------------------------------------------------


def write_npz(path: FilePath, content: Content) -> None:
    """Write a compressed NPZ file whose bytes depend on the content alone."""
    text = np.frombuffer(_header(content.meta), dtype=np.uint8)
    with atomic_path(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, array in [("meta", text), *sorted(content.arrays.items())]:
            member = zipfile.ZipInfo(f"{name}.npy", _STAMP)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with archive.open(member, "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, np.ascontiguousarray(array), allow_pickle=False)


# What reading an archive of arrays raises when bytes of it were changed.
BROKEN_ARCHIVE = (
    OSError,
    ValueError,
    EOFError,
    RuntimeError,  # encrypted, or of a version or compression that Python does not read
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
_BROKEN_ENSEMBLE = (
    *BROKEN_ARCHIVE,
    KeyError,
    MemoryError,  # an array that claims to be enormous
)


def read_npz(path: FilePath) -> Content:
    """Return what :func:`write_npz` wrote."""
    try:
        with open(path, "rb") as handle:
            arrays = ArrayArchive(handle).all()
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except _BROKEN_ENSEMBLE as error:
        raise NotAnEnsembleFile(
            f"{path}: not an NPZ file, or a damaged one ({error}); write it again with "
            "Ensemble.to_npz."
        ) from None
    meta = arrays.pop("meta", None)
    return Content(arrays, _read_header(None if meta is None else meta.tobytes(), path))


# -- Parquet ----------------------------------------------------------------------------------


_DIGEST = b"clusterscape.sha256"  # of the header, which pages' checksums do not cover


def _digest(text: str | bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else bytes(text)
    return hashlib.sha256(content).hexdigest().encode()


def write_parquet(path: FilePath, content: Content) -> None:
    """Write codes, point weights and memberships as columns, and the rest in the schema."""
    parquet, arrow = _pyarrow()
    arrays, meta = content
    n, r = arrays["labels"].shape
    columns = {f"codes_{i}": arrays["labels"][:, i] for i in range(r)}
    columns["sample_weight"] = arrays["sample_weight"]
    for i in meta["soft"]:
        parts = tuple(arrays[f"soft_{i}_{end}"] for end in ("data", "indices", "indptr"))
        dense = sparse.csr_matrix(parts, shape=(n, meta["n_clusters"][i])).toarray()
        columns |= {f"soft_{i}_{c}": dense[:, c] for c in range(dense.shape[1])}
    used = {str(i): arrays[f"columns_{i}"].tolist() for i in range(r) if f"columns_{i}" in arrays}
    text = _header(meta | {"weights": arrays["weights"].tolist(), "columns": used})
    table = arrow.Table.from_pandas(pd.DataFrame(columns), preserve_index=False)
    table = table.replace_schema_metadata({b"clusterscape": text, _DIGEST: _digest(text)})
    with atomic_path(path) as part:
        # With a checksum of each page: a changed byte is noticed, and not read as another label.
        parquet.write_table(table, part, compression="zstd", write_page_checksum=True)


def read_parquet(path: FilePath) -> Content:
    """Return what :func:`write_parquet` wrote."""
    parquet, arrow = _pyarrow()
    try:
        with open(path, "rb") as handle:
            table = parquet_table(handle)
        frame = table.to_pandas(ignore_metadata=True)
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except (*BROKEN_PARQUET, arrow.ArrowException) as error:
        raise NotAnEnsembleFile(
            f"{path}: not a Parquet file, or a damaged one ({error}); write it again with "
            "Ensemble.to_parquet."
        ) from None
    known = table.schema.metadata or {}
    text = known.get(b"clusterscape")
    if text is not None and known.get(_DIGEST, b"") not in (b"", _digest(text)):
        raise NotAnEnsembleFile(f"{path}: its header is damaged; write it again.")
    meta = _read_header(text, path)
    with _refusing(path):
        return Content(_parquet_arrays(frame, meta), meta)


# What reading a Parquet file raises when bytes of it were changed, beside pyarrow's own errors.
BROKEN_PARQUET = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    MemoryError,
    RecursionError,
)


def parquet_table(handle: Any) -> Any:
    """Return the table of an open Parquet file, if it fits into memory.

    Equal values are packed to nearly nothing, so the number of cells is what counts.
    """
    parquet, _ = _pyarrow()
    file = parquet.ParquetFile(handle, page_checksum_verification=True)  # where pages have one
    size = 8 * max(file.metadata.num_rows, 0) * max(file.metadata.num_columns, 1)
    if size > unpacked_limit():
        raise ValueError(too_large("its table", size, unpacked_limit()))
    return file.read()


def _parquet_arrays(frame: pd.DataFrame, meta: dict[str, Any]) -> dict[str, np.ndarray]:
    _require(len(meta["names"]) > 0, "it holds no partition")
    codes = [frame[f"codes_{i}"].to_numpy() for i in range(len(meta["names"]))]
    arrays = {
        "labels": np.column_stack(codes),
        "weights": np.array(meta["weights"], dtype=np.float64),
        "sample_weight": frame["sample_weight"].to_numpy(),
    }
    for i in meta["soft"]:
        names = [f"soft_{i}_{c}" for c in range(meta["n_clusters"][i])]
        arrays |= _csr_arrays(i, sparse.csr_matrix(frame[names].to_numpy(dtype=np.float64)))
    for i, used in meta["columns"].items():
        arrays[f"columns_{i}"] = np.array(used, dtype=np.int32)
    return arrays


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'clusterscape[parquet]'."
        ) from None
    return parquet, pyarrow


# -- CSV --------------------------------------------------------------------------------------


def write_csv(
    path: FilePath, frame: pd.DataFrame, categories: Sequence[Collection[Any] | None]
) -> None:
    """Write a frame of labels, its index as the column ``id``."""
    texts = [c for found in categories for c in found or () if isinstance(c, str)]
    if "" in texts:
        raise ValueError(
            "a cluster is called '', which in a CSV file is the same as a missing label; rename "
            "it, or use to_npz or to_parquet."
        )
    if "id" in frame.columns:
        raise ValueError(
            "a partition is called 'id', which in a CSV file is the column of the points' ids; "
            "rename it with Ensemble.from_labels(..., names=[...]), or use to_npz or to_parquet."
        )
    # The csv module does not quote a bare carriage return, and readers take it for a line end.
    risky = any("\r" in text for text in [*texts, *map(str, frame.index)])
    quoting: Any = csv.QUOTE_NONNUMERIC if risky else csv.QUOTE_MINIMAL
    text = frame.to_csv(index_label="id", lineterminator="\n", quoting=quoting)
    write_bytes(path, text.encode())


_RUN = ("=", "+", "-", "@", "\t", "\r", "\n")
_SIGNED = re.compile(r"[-+](\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def inert(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose text no spreadsheet runs as a formula: an apostrophe stands before it.

    Text that is a number stays one.

    Examples
    --------
    >>> import pandas as pd
    >>> inert(pd.DataFrame({"=a": ["=1+1", "-1.5", -1]}, index=["@x", "y", "z"]))
           '=a
    '@x  '=1+1
    y     -1.5
    z       -1
    """

    def cell(value: Any) -> Any:
        if not isinstance(value, str) or _SIGNED.fullmatch(value):
            return value
        return f"'{value}" if value.startswith(_RUN) else value

    made = frame.map(cell).rename(columns=cell)
    if not isinstance(frame.index, pd.MultiIndex):
        made.index = frame.index.map(cell) if frame.index.dtype.kind == "O" else frame.index
    return made


def read_csv(path: FilePath, *, refuse_fractions: bool) -> pd.DataFrame:
    """Return the labels of a CSV file as a frame of integers, soft memberships and text.

    A column of fractions is refused, or else read as text.
    """
    try:
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    except pd.errors.EmptyDataError:
        raise ValueError(
            f"{path} is empty; it should have a header and one row per point."
        ) from None
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not UTF-8 text; save it again as CSV with UTF-8 encoding."
        ) from None
    except (pd.errors.ParserError, csv.Error) as error:
        reason = str(error).strip().splitlines()[-1].removeprefix("Error tokenizing data. ")
        raise ValueError(
            f"{path} is not a CSV table, or a damaged one ({reason}); every row must have as many "
            "fields as the header."
        ) from None
    only = str(frame.columns[0]) if len(frame.columns) == 1 else ""
    if ";" in only or "\t" in only:
        raise ValueError(
            f"{path} has one column called {only!r}; its columns seem to be separated by "
            "something other than commas. Read it with pandas.read_csv(sep=...) and pass the "
            "frame to Ensemble.from_labels."
        )
    return pd.DataFrame({c: _typed(frame[c], path, refuse_fractions) for c in frame.columns})


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_WHOLE_FLOAT = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.0*)?")
_FRACTION = re.compile(r"-?[0-9]*\.[0-9]+([eE][-+]?[0-9]+)?|-?[0-9]+[eE][-+]?[0-9]+")
_SOFT = re.compile(r".*\[\d+\]")


def _typed(column: pd.Series, path: FilePath, refuse_fractions: bool) -> pd.Series:
    """Return a column of a CSV file as integers, soft memberships or text."""
    present = column[column != ""]
    is_id, is_soft = column.name == "id", _SOFT.fullmatch(str(column.name)) is not None
    # An id stays as it is written, and 1.0 is a membership in a soft partition's column.
    pattern = _WHOLE if is_id or is_soft else _WHOLE_FLOAT
    whole = _matches(present, pattern)
    if len(present) and whole.all():
        numbers = column.map(lambda text: int(text.partition(".")[0]) if text else None)
        return numbers.astype(np.int64 if len(present) == len(column) else object)
    if is_soft:
        try:
            return column.map(lambda text: float(text) if text else np.nan).astype(np.float64)
        except ValueError:
            pass  # a label column whose name ends like one of a soft partition
    fraction = _matches(present, _FRACTION)
    if refuse_fractions and len(present) and (fraction | whole).all() and not is_id:
        raise ValueError(
            f"{path}: the column {column.name!r} holds fractions, such as "
            f"{present[fraction].iloc[0]}, which are not labels. Name the columns that are "
            "clusterings with columns=[...]."
        )
    return column.map(lambda text: text or None).astype(object)


def _matches(texts: pd.Series, pattern: re.Pattern[str]) -> pd.Series:
    return texts.map(lambda text: pattern.fullmatch(text) is not None).astype(bool)
