"""Where a table comes from: a file or a pipe, its format, and what the system says of it."""

from __future__ import annotations

import codecs
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
    "txt": (".txt", ".dat"),
    "xlsx": (".xlsx", ".xlsm"),
    "parquet": (".parquet", ".pq"),
    "feather": (".feather", ".arrow", ".ipc"),
    "npz": (".npz",),
    "npy": (".npy",),
    "libsvm": (".libsvm", ".svm", ".svmlight"),
    "h5ad": (".h5ad",),
}
"""The formats that are read, and the endings of their files (text also ``.gz``)."""

TEXT = ("csv", "tsv", "txt")
_PACKED = (*TEXT, "libsvm")
# Marks at the beginning of a file, the longer ones first: UTF-32 begins as UTF-16 does.
_BYTE_ORDER = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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
    encoding: str | None = None  # of text; found from the first bytes where it is not given

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
            raise TableError(
                f"{self.name} cannot be opened ({error.strerror})", "look at its permissions"
            ) from None
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
        """Open as text: UTF-8 unless the encoding was given or a byte order mark says otherwise."""
        encoding = self.text_encoding()
        with self.open() as raw:
            try:
                yield io.TextIOWrapper(raw, encoding=encoding, newline="")
            except (UnicodeDecodeError, UnicodeError):
                raise self._undecodable(encoding) from None

    def text_encoding(self) -> str:
        """Return the encoding that was given, or that the first bytes tell."""
        if self.encoding is not None:
            # A byte order mark is no part of the first name.
            return {"utf-8": "utf-8-sig", "utf8": "utf-8-sig"}.get(self.encoding, self.encoding)
        with self.open() as raw:
            first = raw.read(4)
        return next((name for mark, name in _BYTE_ORDER if first.startswith(mark)), "utf-8-sig")

    def _undecodable(self, encoding: str) -> TableError:
        if self.encoding is not None:
            return TableError(
                f"{self.name} is not text in the encoding {self.encoding}",
                "say another, for example {encoding}",
                encoding="utf-8" if self.encoding != "utf-8" else "latin-1",
            )
        if encoding != "utf-8-sig":
            return TableError(
                f"{self.name} begins as {encoding} text does, but is not", "save the file again"
            )
        return TableError(
            f"{self.name}, row {self._undecodable_line()} (its line in the file), is not UTF-8 "
            "text",
            "say which encoding it is in, for example {encoding} (western European, as older "
            "Windows programs write), or save it again as UTF-8",
            encoding="cp1252",
        )

    def _undecodable_line(self) -> int:
        line = 0
        with self.open() as raw:
            for line, text in enumerate(raw, start=1):
                try:
                    text.decode("utf-8-sig")
                except UnicodeDecodeError:
                    return line
        return line


def open_source(
    path: PathOrStream, format: str | None = None, encoding: str | None = None
) -> Source:
    """Say what ``path`` is and in which format; ``"-"`` is standard input, CSV unless said."""
    _check_encoding(encoding)
    if format is not None and format not in FORMATS:
        raise TableError(f"the format {format!r} is not known", f"use one of {', '.join(FORMATS)}")
    if not isinstance(path, (str, os.PathLike)):
        return Source(
            getattr(path, "name", "stdin"), format or "csv", data=path.read(), encoding=encoding
        )
    if path == "-":
        content = sys.stdin.buffer.read()
        return Source("stdin", format or "csv", data=content, encoding=encoding)
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
        sheet = stem.endswith((".xls", ".xlsb", ".ods", ".numbers"))
        remedy = (
            "save it as xlsx or CSV"
            if sheet
            else f"save it as CSV, or say with {{format}} which format it has (known: {endings})"
        )
        raise TableError(
            f"{name}: the ending of the name is not that of a format that can be read",
            remedy,
            format="csv",
        )
    kind = format or known[0]
    return Source(name, kind, path=Path(path), gzipped=gzipped, encoding=encoding)


def _check_encoding(encoding: str | None) -> None:
    """Refuse the name of an encoding that Python does not know, or that is none of text."""
    if encoding is None:
        return
    try:
        "".encode(encoding)
    except LookupError:
        raise TableError(
            f"the encoding {encoding!r} is not known",
            "use utf-8, latin-1, cp1252, utf-16 or another one of Python, for example {encoding}",
            encoding="latin-1",
        ) from None


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
