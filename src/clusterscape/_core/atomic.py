"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".tmp"


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside ``target``; it takes the target's place when all went well.

    The bytes are on the disk before the name changes, so a reader (or a run that comes after a
    crash) meets the old file, the new file or none, never a part. When the block raises, the
    temporary file is removed and ``target`` stays as it was. A process that is killed leaves a
    hidden ``.NAME.*.tmp`` file behind.
    """
    target = Path(target)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: its folder does not exist.")
    path = target.with_name(f".{target.name}.{secrets.token_hex(8)}{SUFFIX}")
    # Made here, so that a folder that is missing or not writable is told before the work.
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
    try:
        yield path
        _flush(path, os.O_RDWR)
        os.replace(path, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        raise
    if os.name == "posix":
        # The new name is an entry of the directory, which has its own place on the disk.
        _flush(target.parent, os.O_RDONLY)


def write_bytes(target: str | os.PathLike[str], content: bytes) -> None:
    """Write ``content`` to ``target`` atomically."""
    with atomic_path(target) as path:
        path.write_bytes(content)


def _flush(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
