"""Files, and folders of files, are written whole or not at all.

What is being written has a hidden name, ``.NAME.*.tmp``, and is locked by the process that writes
it. A process that is killed leaves it behind, without the lock; the next one that writes ``NAME``
removes it. :func:`remove_unfinished` removes what this process is writing, for a process that must
end at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a POSIX system: left-overs of killed processes stay
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".tmp"
_unfinished: set[Path] = set()
_shared: set[Path] = set()  # folders that other processes write to for this one
_PATIENCE = 1.0  # seconds for processes that were killed to let go of their files
# Held while a hidden file is made, and for good when the process is about to end.
_making = threading.Lock()


@contextmanager
def atomic_path(target: str | os.PathLike[str], *, sweep: bool = True) -> Iterator[Path]:
    """Yield a temporary path beside ``target``, renamed to ``target`` if the block succeeds.

    The bytes are on the disk before the name changes, so a reader (or a run that comes after a
    crash) finds the old file, the new file or none, never a part. When the block raises, the
    temporary file is removed and ``target`` stays as it was. ``sweep`` removes what killed
    processes left of the same target; it lists the folder.
    """
    target = Path(target)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder; name a file.")
    if not target.absolute().parent.is_dir():
        raise FileNotFoundError(f"{target} cannot be written: its folder does not exist.")
    if sweep:
        _sweep(target.absolute().parent, re.escape(target.name))
    # Made here, so that a folder that is missing or not writable is reported before the work.
    with _temporary(target, folder=False) as path:
        try:
            yield path
            _flush(path, os.O_RDWR)
            os.replace(path, target)
        except BaseException as error:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            _refuse_full_disk(error, target)
            raise
    if os.name == "posix":
        # The new name is an entry of the directory, which has its own place on the disk.
        _flush(target.parent, os.O_RDONLY)


def _refuse_full_disk(error: BaseException, target: Path) -> None:
    """Say which disk is full, and what to do."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        reason = (
            f"no space is left for {target}. Make room and repeat the call; what was finished "
            "before is whole, and nothing half written is left"
        )
        raise OSError(error.errno, reason) from None


def write_bytes(target: str | os.PathLike[str], content: bytes, *, sweep: bool = True) -> None:
    """Write ``content`` to ``target`` atomically."""
    with atomic_path(target, sweep=sweep) as path:
        path.write_bytes(content)


@contextmanager
def _temporary(target: Path, *, folder: bool) -> Iterator[Path]:
    """Make a hidden file or folder beside ``target`` and hold its lock."""
    while True:
        path = target.with_name(f".{target.name}.{secrets.token_hex(8)}{SUFFIX}")
        _unfinished.add(path.absolute())  # before it exists, so that no signal comes in between
        try:
            with _making:
                if folder:
                    path.mkdir()
                else:
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o666))
        except OSError:
            _unfinished.discard(path.absolute())
            raise
        lock = _locked(path, wait=True)
        if path.exists():  # another process may have taken it for a left-over before the lock
            break
        _unlock(lock)
        _unfinished.discard(path.absolute())
    try:
        yield path
    finally:
        _unlock(lock)
        _unfinished.discard(path.absolute())


def _locked(path: Path, *, wait: bool) -> int | None:
    """Return a descriptor that holds the lock of a file or folder; None where it cannot be had."""
    if fcntl is None:
        return None
    try:
        lock = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # held by another process, or a file system without locks
        os.close(lock)
        return None
    return lock


def _unlock(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


def sweep_folder(home: str | os.PathLike[str]) -> None:
    """Remove what killed processes left of any file of a folder.

    For folders of many files, which are written without looking for left-overs each time.
    """
    _sweep(Path(home), ".+")


def _sweep(home: Path, names: str) -> int:
    """Remove what killed processes left of names: hidden files that nobody holds the lock of.

    Returns the number of those that are held.
    """
    left_over = re.compile(rf"\.{names}\.[0-9a-f]{{16}}{re.escape(SUFFIX)}")
    held = 0
    with contextlib.suppress(OSError):
        for path in [home / found for found in os.listdir(home) if left_over.fullmatch(found)]:
            lock = _locked(path, wait=False)
            if lock is not None:
                _remove(path)
                _unlock(lock)
            held += path.exists()
    return held


def remove_unfinished() -> None:
    """Remove everything that this process has begun to write, before it ends without unwinding.

    Other threads, which may still run, can begin nothing new. In folders that workers wrote to
    (:func:`written_by_workers`), what they had begun is removed when they are gone.
    """
    _making.acquire(timeout=1.0)
    for path in list(_unfinished):
        _remove(path)
    latest = time.monotonic() + _PATIENCE
    for folder in _shared:
        while _sweep(folder, ".+") and time.monotonic() < latest:
            time.sleep(0.02)


def written_by_workers(folder: str | os.PathLike[str]) -> None:
    """Say that other processes may write files of this folder for this one, atomically."""
    _shared.add(Path(folder).absolute())


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def why_not_writable(folder: str | os.PathLike[str]) -> str:
    """Return why nothing can be made in a folder that exists; empty where something can.

    It is tried: what a file system allows cannot be read off the permissions.
    """
    home = Path(folder).absolute()
    _sweep(home, "clusterscape")
    trial = home / f".clusterscape.{secrets.token_hex(8)}{SUFFIX}"
    _unfinished.add(trial)  # before it exists, so that no signal comes in between
    try:
        trial.mkdir()
    except OSError as error:
        return error.strerror or type(error).__name__
    finally:
        _remove(trial)
        _unfinished.discard(trial)
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
        for place in {home, folder.parent}:  # it may have been made before the folder was
            _sweep(place, re.escape(folder.name))
        with _temporary(home / folder.name, folder=True) as stage:
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
