"""Files, and folders of files, are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

SUFFIX = ".tmp"


@contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside ``target``, renamed to ``target`` if the block succeeds.

    The bytes are on the disk before the name changes, so a reader (or a run that comes after a
    crash) finds the old file, the new file or none, never a part. When the block raises, the
    temporary file is removed and ``target`` stays as it was. A process that is killed leaves a
    hidden ``.NAME.*.tmp`` file behind.
    """
    target = Path(target)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: its folder does not exist.")
    path = target.with_name(f".{target.name}.{secrets.token_hex(8)}{SUFFIX}")
    # Made here, so that a folder that is missing or not writable is reported before the work.
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


def why_not_writable(folder: str | os.PathLike[str]) -> str:
    """Return why nothing can be made in a folder that exists; empty where something can.

    It is tried: what a file system allows cannot be read off the permissions.
    """
    trial = Path(folder) / f".clusterscape.{secrets.token_hex(8)}{SUFFIX}"
    try:
        trial.mkdir()
    except OSError as error:
        return error.strerror or type(error).__name__
    trial.rmdir()
    return ""


@contextmanager
def atomic_folder(
    target: str | os.PathLike[str], *, last: str, replaced: Iterable[str] = ()
) -> Iterator[Path]:
    """Yield a hidden folder; its files move into ``target`` when all of them are written.

    A new folder appears under its name at once. In a folder that exists, the file called ``last``
    is removed first and put back last, so that a folder which has it is complete. Files called
    ``replaced`` that are not written anew are removed: they belong to an earlier result. Other
    files stay. When the block raises, the target is as it was, and folders that were made on the
    way to it are gone.
    """
    folder = Path(target).absolute()
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{target} is a file; name a folder.")
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        home = folder if folder.is_dir() else folder.parent
        stage = home / f".{folder.name}.{secrets.token_hex(8)}{SUFFIX}"
        stage.mkdir()
        try:
            yield stage
            _flush_files(stage)
            _move(stage, folder, last, replaced)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
    except BaseException:
        for path in made:  # innermost first; one that holds something stays
            with contextlib.suppress(OSError):
                path.rmdir()
        raise


def _move(stage: Path, folder: Path, last: str, replaced: Iterable[str]) -> None:
    if not folder.exists():
        os.rename(stage, folder)
        return
    written = os.listdir(stage)
    for name in [last, *(name for name in replaced if name not in written)]:
        (folder / name).unlink(missing_ok=True)
    for name in sorted(written, key=lambda name: (name == last, name)):
        os.replace(stage / name, folder / name)


def _flush_files(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            _flush(path, os.O_RDWR)


def _flush(path: Path, mode: int) -> None:
    handle = os.open(path, mode)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
