"""A NPZ file of plain arrays and a JSON header, whose last bytes are the checksum of all others."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from clusterscape._core.atomic import atomic_path
from clusterscape._core.npy import ArrayArchive
from clusterscape.ensemble.files import BROKEN_ARCHIVE

FORMAT = "clusterscape model"
VERSION = 1
_HEADER = "header"
_DIGEST = 64  # characters of a sha256 in hexadecimal
_BLOCK = 1 << 20
_UNREADABLE = (*BROKEN_ARCHIVE, KeyError, MemoryError)
_STAMP = (1980, 1, 1, 0, 0, 0)  # the bytes depend on the content alone


class ModelFileError(ValueError):
    """A file is not a model that this version can read."""


def write_archive(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write the header and the arrays; the file appears whole or not at all."""
    outer = {"format": FORMAT, "version": VERSION, **header}
    text = json.dumps(outer, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    content = {_HEADER: np.frombuffer(text, dtype=np.uint8), **arrays}
    with atomic_path(path) as part:
        with zipfile.ZipFile(part, "w", zipfile.ZIP_STORED) as archive:
            for name, array in content.items():
                member = zipfile.ZipInfo(f"{name}.npy", _STAMP)
                member.external_attr = 0o644 << 16
                with archive.open(member, "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
            # The archive's comment is its last bytes, which become the checksum of the others.
            archive.comment = b"0" * _DIGEST
        with open(part, "r+b") as handle:
            digest = _digest(handle)
            handle.seek(-_DIGEST, os.SEEK_END)
            handle.write(digest)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Say whether :func:`save_model` wrote a file, which may still be damaged.

    Parameters
    ----------
    path : str or path
        The file; one that is absent is no model.

    Returns
    -------
    bool

    See Also
    --------
    clusterscape.io.load_model : Reads what such a file holds.

    Examples
    --------
    >>> from clusterscape.io import is_model_file
    >>> is_model_file("no-such-file.npz")
    False
    """
    try:
        if not zipfile.is_zipfile(path):
            return False
        with open(path, "rb") as handle:
            archive = ArrayArchive(handle)
            text = archive[_HEADER].tobytes() if _HEADER in archive else b"{}"
        return bool(json.loads(text).get("format") == FORMAT)
    except (*_UNREADABLE, AttributeError):
        return False


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the header and the arrays, after a look at every byte of the file."""
    with open(path, "rb") as handle:
        handle.seek(0, os.SEEK_END)
        if handle.tell() <= _DIGEST:
            raise _damaged(path)
        digest = _digest(handle)
        handle.seek(-_DIGEST, os.SEEK_END)
        whole = handle.read() == digest
        try:
            arrays = _read_members(handle, path, whole)
        except _UNREADABLE as error:
            if isinstance(error, ModelFileError):
                raise
            raise _damaged(path) from None
    return _checked_header(arrays.pop(_HEADER), path), arrays


def _read_members(
    handle: BinaryIO, path: str | os.PathLike[str], whole: bool
) -> dict[str, np.ndarray]:
    with zipfile.ZipFile(handle) as archive:
        names = archive.namelist()
        if f"{_HEADER}.npy" not in names:
            handle.seek(0)
            if f"{_HEADER}.npy".encode() in handle.read(64):
                # Cut short: what was found is the end of an archive inside this one.
                raise _damaged(path)
            raise ModelFileError(
                f"{path} is not a model that clusterscape saved; give a file that "
                "clusterscape.io.save_model wrote."
            )
        stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    if not (whole and stored):
        raise _damaged(path)
    handle.seek(0)
    return ArrayArchive(handle).all()


def _checked_header(content: np.ndarray, path: str | os.PathLike[str]) -> dict[str, Any]:
    try:
        header = json.loads(content.tobytes())
        known = header["format"] == FORMAT and isinstance(header["version"], int)
    except (ValueError, KeyError, TypeError, RecursionError):
        known = False
    if not known:
        raise ModelFileError(
            f"{path} is not a model that clusterscape saved; give a file that "
            "clusterscape.io.save_model wrote."
        )
    if header["version"] > VERSION:
        raise ModelFileError(
            f"{path} has version {header['version']} of the format, and this release reads up to "
            f"{VERSION}; install a newer clusterscape."
        )
    return header


def _digest(handle: BinaryIO) -> bytes:
    """Return the checksum of all but the last bytes."""
    handle.seek(0, os.SEEK_END)
    left = handle.tell() - _DIGEST
    handle.seek(0)
    found = hashlib.sha256()
    while left > 0:
        block = handle.read(min(_BLOCK, left))
        found.update(block)
        left -= len(block)
    return found.hexdigest().encode()


def _damaged(path: str | os.PathLike[str]) -> ModelFileError:
    return ModelFileError(
        f"{path} is damaged, cut short, or not a file that clusterscape.io.save_model wrote; save "
        "the model again."
    )
