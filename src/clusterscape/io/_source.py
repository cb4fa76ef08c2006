"""Where a table comes from: a file or a pipe, its format, and what the system says of it."""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from clusterscape._core.npy import VARIABLE, text_limit
from clusterscape.io._errors import TableError

FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "npz": (".npz",),
    "npy": (".npy",),
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "h5ad": (".h5ad",),
}
"""The formats that are read, and the endings of their files (CSV, TSV and LIBSVM also ``.gz``)."""

_PACKED = ("csv", "tsv", "libsvm")
PathOrStream = str | os.PathLike[str] | IO[bytes]


class _Unpacked(io.RawIOBase):
    """The bytes of a gzip file, up to a limit."""

    def __init__(self, name: str, raw: IO[bytes], limit: int) -> None:
        self._name, self._limit, self._left = name, limit, limit
        self._stream = gzip.GzipFile(fileobj=raw)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._stream.read(len(buffer))
        self._left -= len(block)
        if self._left < 0:
            raise TableError(
                f"{self._name} unpacks to more than {self._limit / 1e9:.2f} GB, much more than its "
                "size",
                f"if that is meant, set the environment variable {VARIABLE} to a larger number",
            )
        buffer[: len(block)] = block
        return len(block)


@dataclass(frozen=True)
class Source:
    """A file, or bytes that came through a pipe; it can be opened more than once."""

    name: str
    format: str
    path: Path | None = None
    data: bytes = b""
    gzipped: bool = False

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open the (unpacked) bytes; what the system says becomes a sentence."""
        try:
            raw: IO[bytes] = io.BytesIO(self.data) if self.path is None else self.path.open("rb")
        except FileNotFoundError:
            raise TableError(
                f"there is no file {self.name}", "check the name and the folder"
            ) from None
        except IsADirectoryError:
            raise TableError(f"{self.name} is a folder", "name a file in it") from None
        except OSError as error:
            raise TableError(f"{self.name} cannot be opened ({error.strerror})") from None
        with raw:
            try:
                yield self._unpacked(raw) if self.gzipped else raw
            except (gzip.BadGzipFile, EOFError, zlib.error):
                if not self.gzipped:
                    raise
                raise TableError(
                    f"{self.name} is not a whole gzip file", "copy or download it again"
                ) from None

    def _unpacked(self, raw: IO[bytes]) -> IO[bytes]:
        packed = raw.seek(0, os.SEEK_END)
        raw.seek(0)
        return io.BufferedReader(_Unpacked(self.name, raw, text_limit(packed)))

    @contextmanager
    def open_text(self) -> Iterator[IO[str]]:
        """Open as UTF-8 text, with or without a byte order mark."""
        with self.open() as raw:
            try:
                yield io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
            except UnicodeDecodeError:
                raise TableError(
                    f"{self.name}, row {self._undecodable_line()} (its line in the file), is not "
                    "UTF-8 text",
                    "save the file again as CSV with UTF-8 encoding",
                ) from None

    def _undecodable_line(self) -> int:
        line = 0
        with self.open() as raw:
            for line, text in enumerate(raw, start=1):
                try:
                    text.decode("utf-8-sig")
                except UnicodeDecodeError:
                    return line
        return line


def open_source(path: PathOrStream, format: str | None = None) -> Source:
    """Say what ``path`` is and in which format; ``"-"`` is standard input, CSV unless said."""
    if format is not None and format not in FORMATS:
        raise TableError(f"the format {format!r} is not known", f"use one of {', '.join(FORMATS)}")
    if not isinstance(path, (str, os.PathLike)):
        return Source(getattr(path, "name", "stdin"), format or "csv", data=path.read())
    if path == "-":
        return Source("stdin", format or "csv", data=sys.stdin.buffer.read())
    name = os.fspath(path)
    if os.path.isdir(name):
        raise TableError(f"{name} is a folder", "name a file in it")
    lower = name.lower()
    gzipped = lower.endswith(".gz")
    stem = lower.removesuffix(".gz")
    known = [kind for kind, endings in FORMATS.items() if stem.endswith(endings)]
    if format is None and (not known or (gzipped and known[0] not in _PACKED)):
        if not os.path.exists(name):
            raise TableError(f"there is no file {name}", "check the name and the folder")
        endings = ", ".join(ending for group in FORMATS.values() for ending in group)
        excel = stem.endswith((".xlsx", ".xls", ".ods"))
        remedy = (
            "save it as CSV" if excel else f"say which it is with {{format}} (known: {endings})"
        )
        raise TableError(
            f"{name}: the ending of the name is not that of a format that can be read",
            remedy,
            format="csv",
        )
    return Source(name, format or known[0], path=Path(path), gzipped=gzipped)


SPARSE_COLUMNS = 20_000_000
TEXT_COLUMNS = 200_000
COLUMNS_VARIABLE = "CLUSTERSCAPE_MAX_COLUMNS"
"""The environment variable that sets how many columns a table of text or LIBSVM may have."""


def check_width(source: Source, width: int, limit: int) -> None:
    """Refuse a table of more columns than anything reasonable has, before they are named."""
    given = os.environ.get(COLUMNS_VARIABLE, "").strip()
    limit = int(given) if given.isdecimal() else limit
    if width > limit:
        raise TableError(
            f"{source.name} has {width:,} columns and {limit:,} are allowed",
            "if that is meant, set the environment variable "
            f"{COLUMNS_VARIABLE} to a larger number; if rows and columns are exchanged, save the "
            "table the other way round",
        )
