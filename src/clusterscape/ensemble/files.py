"""Ensembles as files: NPZ and Parquet keep everything, byte for byte; nothing is ever unpickled.

The functions move between files and plain arrays with JSON values; the class is the part of
:class:`clusterscape.Ensemble` that writes itself to files and frames and comes back from them.
"""

from __future__ import annotations

import csv
import json
import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse

from clusterscape._core.atomic import atomic_path, write_bytes
from clusterscape._core.labels import UNSAMPLED
from clusterscape.ensemble.partitions import Partition
from clusterscape.ensemble.records import PartitionRecord

FORMAT = "clusterscape-ensemble"
FORMAT_VERSION = 1
_STAMP = (1980, 1, 1, 0, 0, 0)  # zip members carry a date; a fixed one keeps files byte-stable


class NotAnEnsembleFile(ValueError):
    """The file is not an ensemble that this version can read."""


def dump_json(value: Any, what: str) -> bytes:
    """Return canonical JSON bytes; a value that JSON does not know is named."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{what} cannot be written to a file ({error}); only text, whole numbers, booleans "
            "and finite numbers can. Convert them first, for example to str."
        ) from None


def write_npz(path: str | os.PathLike[str], arrays: dict[str, np.ndarray], meta: Any) -> None:
    """Write arrays and JSON ``meta`` to a compressed NPZ whose bytes depend on them alone."""
    dump_json(meta["index"], "the index (the points' ids)")
    header = {"format": FORMAT, "version": FORMAT_VERSION, "meta": meta}
    text = np.frombuffer(dump_json(header, "the ensemble's labels or records"), dtype=np.uint8)

    with atomic_path(path) as part, zipfile.ZipFile(part, "w") as archive:
        for name, array in [("meta", text), *sorted(arrays.items())]:
            member = zipfile.ZipInfo(f"{name}.npy", _STAMP)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16
            with archive.open(member, "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, np.ascontiguousarray(array), allow_pickle=False)


def read_npz(path: str | os.PathLike[str]) -> tuple[dict[str, np.ndarray], Any]:
    """Return what :func:`write_npz` wrote."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        raise NotAnEnsembleFile(
            f"{path}: not an NPZ file, or a damaged one ({error}); write it again with "
            "Ensemble.to_npz."
        ) from None
    meta = arrays.pop("meta", None)
    return arrays, read_header(None if meta is None else meta.tobytes(), path)


def read_header(text: bytes | None, path: str | os.PathLike[str]) -> Any:
    """Return the ``meta`` of a file's header, or say why the file is not an ensemble."""
    try:
        header = json.loads(text or b"")
        known = header["format"] == FORMAT
    except (ValueError, TypeError, KeyError):
        known = False
    if not known:
        raise NotAnEnsembleFile(
            f"{path}: not a clusterscape ensemble; for plain labels use Ensemble.from_labels."
        )
    if header["version"] > FORMAT_VERSION:
        raise NotAnEnsembleFile(
            f"{path}: written in format {header['version']}, this version reads up to "
            f"{FORMAT_VERSION}; install a newer clusterscape."
        )
    return header["meta"]


def write_parquet(path: str | os.PathLike[str], frame: Any, meta: Any) -> None:
    """Write a frame, its index as the column ``__id__`` if any, and JSON ``meta`` in the schema."""
    parquet, arrow = _pyarrow()
    dump_json(meta["index"], "the index (the points' ids)")
    header = {"format": FORMAT, "version": FORMAT_VERSION, "meta": meta}
    table = arrow.Table.from_pandas(frame, preserve_index=False)
    text = dump_json(header, "the ensemble's labels or records")
    table = table.replace_schema_metadata({b"clusterscape": text})
    with atomic_path(path) as part:
        parquet.write_table(table, part, compression="zstd")


def read_parquet(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return (frame, meta) of a file that :func:`write_parquet` wrote."""
    parquet, arrow = _pyarrow()
    try:
        table = parquet.read_table(path)
    except FileNotFoundError:
        raise
    except (OSError, arrow.ArrowInvalid) as error:
        raise NotAnEnsembleFile(
            f"{path}: not a Parquet file, or a damaged one ({error})."
        ) from None
    metadata = table.schema.metadata or {}
    return table.to_pandas(), read_header(metadata.get(b"clusterscape"), path)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'clusterscape[parquet]'."
        ) from None
    return parquet, pyarrow


class EnsembleFiles:
    """Files and frames, out and back."""

    labels: np.ndarray
    n_clusters: np.ndarray
    weights: np.ndarray
    sample_weight: np.ndarray
    soft: Mapping[int, sparse.csr_matrix]
    categories: tuple[tuple[Any, ...] | None, ...]
    names: tuple[str, ...]
    records: tuple[PartitionRecord, ...]
    index: pd.Index | None

    def __init__(
        self,
        partitions: Sequence[Partition],
        *,
        records: Sequence[PartitionRecord] | None = None,
        weights: Any = None,
        sample_weight: Any = None,
        index: Any = None,
    ) -> None:
        raise NotImplementedError

    @classmethod
    def from_labels(cls, data: Any) -> Self:
        raise NotImplementedError

    def partition(self, i: int) -> np.ndarray:
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """Return one column a partition with the original labels, and the ids as index.

        A soft partition becomes the columns ``name[0]``, ``name[1]``, ... (zeros are noise, NaN is
        unsampled). Records and weights are not in the frame.
        """
        columns: dict[str, np.ndarray] = {}
        for i, name in enumerate(self.names):
            if i not in self.soft:
                columns[name] = self.partition(i)
                continue
            dense = self.soft[i].toarray()
            dense[self.labels[:, i] == UNSAMPLED] = np.nan
            columns |= {f"{name}[{c}]": dense[:, c] for c in range(dense.shape[1])}
        return pd.DataFrame(columns, index=self.index)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> Self:
        """Build an ensemble from what :meth:`to_frame` returned, or any frame of labels."""
        return cls.from_labels(frame)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write ``id`` and one column a partition; records, weights and label types are lost."""
        frame = self.to_frame()
        texts = [c for found in self.categories for c in found or () if isinstance(c, str)]
        if "" in texts:
            raise ValueError(
                "a cluster is called '', which a CSV file cannot tell from a missing label; rename "
                "it, or use to_npz or to_parquet."
            )
        ids = [] if self.index is None else [str(i) for i in self.index]
        # The csv module does not quote a bare carriage return, and readers take it for a line end.
        risky = any("\r" in text for text in texts + ids)
        quoting: Any = csv.QUOTE_NONNUMERIC if risky else csv.QUOTE_MINIMAL
        text = frame.to_csv(index_label="id", lineterminator="\n", quoting=quoting)
        write_bytes(path, text.encode())

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str]) -> Self:
        """Read a CSV of labels; a first column called ``id`` holds the points' ids.

        A column of whole numbers is read as integers, unless one has a leading zero; any other
        column is text. An empty cell is unsampled.
        """
        try:
            frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        except pd.errors.EmptyDataError:
            raise ValueError(
                f"{path} is empty; it should have a header and a row a point."
            ) from None
        only = str(frame.columns[0]) if len(frame.columns) == 1 else ""
        if ";" in only or "\t" in only:
            raise ValueError(
                f"{path} has one column called {only!r}; its columns seem to be separated by "
                "something other than commas. Read it with pandas.read_csv(sep=...) and pass the "
                "frame to Ensemble.from_frame."
            )
        frame = pd.DataFrame({name: _typed(frame[name]) for name in frame.columns})
        if len(frame.columns) and frame.columns[0] == "id":
            ids = frame.pop("id")
            frame.index = pd.RangeIndex(len(ids)) if _counts_up(ids) else pd.Index(ids, name="id")
        return cls.from_labels(frame)

    def _meta(self) -> dict[str, Any]:
        index = None if self.index is None else _to_json(self.index.tolist())
        return {
            "names": self.names,
            "n_clusters": self.n_clusters.tolist(),
            "categories": [None if c is None else _to_json(list(c)) for c in self.categories],
            "records": [r.as_dict() for r in self.records],
            "soft": sorted(self.soft),
            "index": index,
            "index_name": None if self.index is None else self.index.name,
        }

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """Write everything but timings to a NPZ file; the same ensemble gives the same bytes."""
        arrays: dict[str, np.ndarray] = {
            "labels": self.labels,
            "weights": self.weights,
            "sample_weight": self.sample_weight,
        }
        for i, matrix in self.soft.items():
            arrays |= {
                f"soft_{i}_data": matrix.data,
                f"soft_{i}_indices": matrix.indices.astype(np.int64),
                f"soft_{i}_indptr": matrix.indptr.astype(np.int64),
            }
        for i, record in enumerate(self.records):
            if record.columns is not None:
                arrays[f"columns_{i}"] = record.columns
        write_npz(path, arrays, self._meta())

    @classmethod
    def from_npz(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`to_npz` wrote."""
        arrays, meta = read_npz(path)
        return cls._from_arrays(arrays, meta)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write codes as columns, and everything else but timings in the schema's metadata."""
        columns = {f"codes_{i}": self.labels[:, i] for i in range(len(self.names))}
        columns["sample_weight"] = self.sample_weight
        for i, matrix in self.soft.items():
            dense = matrix.toarray()
            columns |= {f"soft_{i}_{c}": dense[:, c] for c in range(dense.shape[1])}
        meta = self._meta() | {
            "weights": self.weights.tolist(),
            "columns": {
                str(i): r.columns.tolist()
                for i, r in enumerate(self.records)
                if r.columns is not None
            },
        }
        write_parquet(path, pd.DataFrame(columns), meta)

    @classmethod
    def from_parquet(cls, path: str | os.PathLike[str]) -> Self:
        """Read what :meth:`to_parquet` wrote."""
        frame, meta = read_parquet(path)
        r = len(meta["names"])
        arrays = {
            "labels": np.column_stack([frame[f"codes_{i}"].to_numpy() for i in range(r)]),
            "weights": np.array(meta["weights"]),
            "sample_weight": frame["sample_weight"].to_numpy(),
        }
        for i in meta["soft"]:
            k = meta["n_clusters"][i]
            dense = np.column_stack([frame[f"soft_{i}_{c}"].to_numpy() for c in range(k)])
            matrix = sparse.csr_matrix(dense)
            arrays |= {
                f"soft_{i}_data": matrix.data,
                f"soft_{i}_indices": matrix.indices,
                f"soft_{i}_indptr": matrix.indptr,
            }
        arrays |= {f"columns_{i}": np.array(c, np.int32) for i, c in meta["columns"].items()}
        return cls._from_arrays(arrays, meta)

    @classmethod
    def _from_arrays(cls, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> Self:
        labels = arrays["labels"]
        parts, records = [], []
        for i, name in enumerate(meta["names"]):
            soft = None
            if i in meta["soft"]:
                triple = [arrays[f"soft_{i}_{part}"] for part in ("data", "indices", "indptr")]
                soft = sparse.csr_matrix(
                    tuple(triple), shape=(labels.shape[0], meta["n_clusters"][i])
                )
            labelled = meta["categories"][i]
            categories = None if labelled is None else tuple(_from_json(labelled))
            parts.append(Partition(name, labels[:, i], meta["n_clusters"][i], categories, soft))
            columns = arrays.get(f"columns_{i}")
            records.append(PartitionRecord(**meta["records"][i], columns=columns))
        index = meta["index"]
        return cls(
            parts,
            records=records,
            weights=arrays["weights"],
            sample_weight=arrays["sample_weight"],
            index=None if index is None else _read_index(index, meta["index_name"]),
        )


def _read_index(index: Any, name: Any) -> pd.Index:
    ids = pd.Index(_from_json(index))
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


def _counts_up(ids: pd.Series) -> bool:
    return bool(ids.dtype.kind == "i" and np.array_equal(ids, np.arange(len(ids))))


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_SOFT = re.compile(r".*\[\d+\]")


def _typed(column: pd.Series) -> pd.Series:
    """Return a column of a CSV file as integers, soft memberships or text."""
    present = column[column != ""]
    if len(present) and present.map(lambda text: _WHOLE.fullmatch(text) is not None).all():
        if len(present) == len(column):
            return column.astype(np.int64)
        return column.map(lambda text: int(text) if text else None).astype(object)
    if _SOFT.fullmatch(str(column.name)):
        try:
            return column.map(lambda text: float(text) if text else np.nan).astype(np.float64)
        except ValueError:
            pass  # a label column whose name ends like one of a soft partition
    return column.map(lambda text: text or None).astype(object)
