"""NumPy's files, whose claims are checked before memory is taken for them. Nothing is unpickled.

A few bytes can claim to hold terabytes: the header of an array says how large it is, and a packed
archive may unpack to a thousand times its size. What an array claims must be there, and what is
unpacked must fit into :func:`unpacked_limit`.
"""

from __future__ import annotations

import math
import os
import zipfile
from typing import IO

import numpy as np

VARIABLE = "CLUSTERSCAPE_MAX_GB"
"""The environment variable that sets how many gigabytes a file may unpack to."""

_SMALLEST = 2**28  # bytes of text that a packed file may always hold
_LONGEST_END = 22 + 2**16  # bytes of the end of an archive, with its comment
_RATIO = 100  # how much smaller packing makes text of different numbers, with room to spare


class HoldsObjects(ValueError):
    """An array of Python objects: reading it would mean to run what the file says."""


def _given_limit() -> int | None:
    """Return the limit that the environment sets, in bytes."""
    text = os.environ.get(VARIABLE, "").strip()
    if not text:
        return None
    try:
        given = float(text)
    except ValueError:
        given = math.nan
    if not given > 0:
        raise ValueError(f"the environment variable {VARIABLE} must be a number > 0; got {text!r}.")
    return int(min(given, 1e9) * 1e9)


def unpacked_limit() -> int:
    """Return the bytes that a file may unpack to: the memory of this machine unless set."""
    given = _given_limit()
    if given is not None:
        return given
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not a POSIX system
        return 2**34


def text_limit(packed: int) -> int:
    """Return the bytes of text that a packed file of this size may hold."""
    given = _given_limit()
    return min(unpacked_limit(), max(_SMALLEST, _RATIO * packed)) if given is None else given


def too_large(what: str, size: float, limit: float) -> str:
    """Return the words on something that would take more than the limit.

    Examples
    --------
    >>> too_large("X", 3e12, 8e9)
    'X would take 3,000.0 GB and 8.0 GB are allowed; if that is meant, set the environment variable
    CLUSTERSCAPE_MAX_GB to a larger number'
    """
    return (
        f"{what} would take {size / 1e9:,.1f} GB and {limit / 1e9:,.1f} GB are allowed; if that is "
        f"meant, set the environment variable {VARIABLE} to a larger number"
    )


def read_array(stream: IO[bytes], size: int) -> np.ndarray:
    """Return the array of a NPY stream that holds ``size`` bytes, after a look at its header.

    Raises
    ------
    ValueError
        When it is no NPY stream, holds Python objects, or claims more than is there.
    """
    begin = stream.tell()
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise ValueError(f"its format is version {version}, which holds no plain arrays")
    try:
        shape, _, dtype = readers[version](stream)
    except Exception as error:  # NumPy parses the text of the header with Python's own tokenizer
        raise ValueError(f"its header cannot be read: {error}") from None
    if dtype.hasobject:
        raise HoldsObjects("it holds Python objects, which only a pickle could restore")
    claimed = math.prod(shape) * dtype.itemsize
    there = size - (stream.tell() - begin)
    if claimed > there or (dtype.itemsize == 0 and math.prod(shape) > 0):
        raise ValueError(
            f"its header claims {claimed:,} bytes, an array of shape {shape} of {dtype}, and it "
            f"holds {max(there, 0):,}"
        )
    stream.seek(begin)
    return np.lib.format.read_array(stream, allow_pickle=False)


def check_directory(archive: zipfile.ZipFile, handle: IO[bytes]) -> None:
    """Refuse an archive whose end counts other entries than its directory lists.

    A changed length in the directory takes the entries after it for a comment.
    """
    handle.seek(0, os.SEEK_END)
    handle.seek(max(0, handle.tell() - _LONGEST_END))
    tail = handle.read()
    at = tail.rfind(b"PK\x05\x06")
    counted = int.from_bytes(tail[at + 10 : at + 12], "little")
    listed = len(archive.infolist())
    if at < 0 or counted not in (listed, 0xFFFF):  # which stands for many
        raise zipfile.BadZipFile(f"its directory lists {listed} of {counted} entries")


class ArrayArchive:
    """The arrays of a NPZ file, read one by one when asked for.

    Parameters
    ----------
    handle : binary file
        Kept open by the caller while arrays are read.

    Raises
    ------
    ValueError
        When the arrays would take more memory than :func:`unpacked_limit`.
    zipfile.BadZipFile
        When it is not an archive, or a name in it was changed.
    """

    def __init__(self, handle: IO[bytes]) -> None:
        self._archive = zipfile.ZipFile(handle)
        check_directory(self._archive, handle)
        for member in self._archive.infolist():
            # Names stand twice in an archive: an array whose name was changed in one place would
            # otherwise be as good as absent.
            self._archive.open(member).close()
        self._members = {
            member.filename.removesuffix(".npy"): member
            for member in self._archive.infolist()
            if member.filename.endswith(".npy")
        }
        size, limit = sum(m.file_size for m in self._members.values()), unpacked_limit()
        if size > limit:
            raise ValueError(too_large("its content", size, limit))

    @property
    def files(self) -> list[str]:
        """The names of the arrays."""
        return list(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __getitem__(self, name: str) -> np.ndarray:
        member = self._members[name]
        with self._archive.open(member) as stream:
            return read_array(stream, member.file_size)

    def all(self) -> dict[str, np.ndarray]:
        """Return every array by its name."""
        return {name: self[name] for name in self._members}
