"""The resumable store: a directory in which every finished partition of a run is a file.

``plan.json`` says what the run computes (data, parameters, seed), ``member-00012.npz`` is the
partition number 12. Every file is written atomically and ends with (or holds) its own checksum,
so that a killed run leaves a store that can be read, and a changed byte is noticed.
Nothing in it is pickled.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import numpy as np

from clusterscape._core import atomic as _atomic
from clusterscape._core.errors import Worded
from clusterscape._core.npy import ArrayArchive

try:
    import fcntl
except ImportError:  # not a POSIX system: two runs in one store are then not noticed
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

FORMAT = "clusterscape store"
VERSION = 1
PLAN = "plan.json"
LOCK = ".lock"
_MEMBER = re.compile(r"member-(\d{5,})\.npz")
_LEFTOVER = re.compile(r"\.(plan\.json|member-\d{5,}\.npz)\..*\.tmp")
_DIGEST = 64  # characters of a sha256 in hexadecimal


class StoreError(Worded, ValueError):
    """A store cannot be used: damaged, foreign, made by another run, or in use."""


class AnotherRunError(StoreError):
    """The store belongs to a run of other data or parameters.

    Attributes
    ----------
    directory : Path
        The store.
    name : str
        What differs first: a key of the plan, with dots where plans are nested
        (``"versions.numpy"``); ``"X (sha256)"`` stands for the data.
    then, now : object
        Its value in the store and in this run, as plain JSON values; :data:`ABSENT` where there is
        none.
    """

    def __init__(self, directory: Path, name: str, then: Any, now: Any) -> None:
        self.directory = directory
        self.name = name
        self.then = then
        self.now = now
        super().__init__(
            f"The store {directory} belongs to another run: {name} was {_short(then)} there and "
            f"is {_short(now)} now. Repeat the run with the same data and parameters to resume "
            f"it, or give another directory."
        )


class StoreInUseError(StoreError):
    """Another run on this machine writes to the store.

    Attributes
    ----------
    directory : Path
        The store.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        super().__init__(
            f"The store {directory} is in use by another run. Wait for it to end, or give "
            f"another directory."
        )


class _Absent:
    """The type of :data:`ABSENT`, the value of a key that a plan does not have."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


class PartitionStore:
    """The finished partitions of one run, kept in a directory.

    Parameters
    ----------
    directory : path
        Made if it does not exist. It must be empty or hold a store of the same plan.
    plan : mapping
        What the run computes, as plain JSON values. It must contain ``n_partitions``.

    Raises
    ------
    StoreError
        When the directory is no store, belongs to another plan (:class:`AnotherRunError`, which
        names the first difference), is damaged, or is in use by another run on this machine
        (:class:`StoreInUseError`).

    Examples
    --------
    >>> import tempfile, numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with PartitionStore(folder, {"n_partitions": 2}) as store:
    ...         store.write(1, {"labels": np.array([0, 1, 0])}, {"cost": 2.5})
    ...         arrays, meta = store.read(1)
    ...         print(store.finished(), arrays["labels"], meta)
    [1] [0 1 0] {'cost': 2.5}
    """

    def __init__(self, directory: str | os.PathLike[str], plan: Mapping[str, Any]) -> None:
        self.directory = Path(directory)
        # Through JSON and back, so that it can be compared with what a file says.
        self.plan = json.loads(json.dumps(plan))
        self._lock: int | None = None
        _refuse_foreign(self.directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._lock = _take_lock(self.directory)
        _atomic.written_by_workers(self.directory)
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        for entry in self.directory.iterdir():
            if _LEFTOVER.fullmatch(entry.name):
                entry.unlink(missing_ok=True)
        stored = stored_plan(self.directory)
        if stored is None:
            _atomic.write_bytes(self.directory / PLAN, _plan_bytes(self.plan))
            return
        difference = _first_difference(stored, self.plan)
        if difference is not None:
            raise AnotherRunError(self.directory, *difference)
        beyond = [i for i in self.finished() if i >= self.plan["n_partitions"]]
        if beyond:
            raise StoreError(
                f"The store {self.directory} holds {_name(beyond[0])}, but its plan has only "
                f"{self.plan['n_partitions']} partitions. Delete that file or give another "
                f"directory."
            )

    def finished(self) -> list[int]:
        """Return the numbers of the finished partitions, in order."""
        found = (_MEMBER.fullmatch(entry.name) for entry in self.directory.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def write(self, i: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
        """Write partition ``i`` atomically; ``meta`` is plain JSON."""
        write_member(self.directory, i, arrays=arrays, meta=meta)

    def read(self, i: int) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return the arrays and the ``meta`` of partition ``i``, or refuse a damaged file."""
        return read_member(self.directory / _name(i))

    def read_as(self, i: int, build: Callable[..., T]) -> T:
        """Return ``build(arrays, meta)`` of partition ``i``; a refusal names the file."""
        arrays, meta = self.read(i)
        try:
            return build(arrays, meta)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise _foreign_member(self.directory / _name(i), error) from None

    def close(self) -> None:
        """Let other runs use the directory."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> PartitionStore:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def stored_plan(directory: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return the plan of the store in ``directory``; ``None`` when there is no store yet."""
    path = Path(directory) / PLAN
    try:
        content = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        outer = json.loads(content)
        plan, digest = outer["plan"], outer["sha256"]
        whole = isinstance(plan, dict) and digest == _sha256(_canonical(plan).encode())
    except (ValueError, KeyError, TypeError):
        whole = False
    if not whole:
        raise StoreError(
            f"{path} is damaged: its content does not match its checksum. Delete the directory "
            f"and start again, or give another one."
        )
    if outer.get("format") != FORMAT or outer.get("version") != VERSION:
        raise StoreError(
            f"{path} has the format {outer.get('format')!r}, version {outer.get('version')!r}; "
            f"this release reads {FORMAT!r}, version {VERSION}. Give another directory."
        )
    return plan


def write_member(
    directory: str | os.PathLike[str],
    i: int,
    *,
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
) -> None:
    """Write one partition of a store; a worker in another process needs only the directory."""
    buffer = io.BytesIO()
    content = {**arrays, "meta": np.frombuffer(_canonical(meta).encode(), dtype=np.uint8)}
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in content.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
        # The archive's comment is its last bytes: they become the checksum of all before them.
        archive.comment = b"0" * _DIGEST
    body = buffer.getvalue()[:-_DIGEST]
    # No sweep: opening the store did it, and a folder of many members takes long to list.
    content_bytes = body + _sha256(body).encode()
    _atomic.write_bytes(Path(directory) / _name(i), content_bytes, sweep=False)


def read_member(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the arrays and ``meta`` of a member file after checking every byte of it."""
    content = path.read_bytes()
    body, digest = content[:-_DIGEST], content[-_DIGEST:]
    if len(content) <= _DIGEST or digest != _sha256(body).encode():
        raise StoreError(
            f"{path} is damaged: its content does not match its checksum. Delete this file to "
            f"have that partition computed again."
        )
    try:
        arrays = ArrayArchive(io.BytesIO(content)).all()
        return arrays, json.loads(arrays.pop("meta").tobytes())
    except (ValueError, KeyError, zipfile.BadZipFile, RecursionError) as error:
        raise _foreign_member(path, error) from None


def member_path(directory: str | os.PathLike[str], i: int) -> Path:
    """Return the file of a member."""
    return Path(directory) / _name(i)


def _foreign_member(path: Path, error: Exception) -> StoreError:
    """Return the error for a file with the right checksum that another program wrote."""
    return StoreError(
        f"{path} does not hold a partition ({error}). Delete this file to have that partition "
        f"computed again."
    )


def _refuse_foreign(directory: Path) -> None:
    """Refuse what cannot become a store, before anything is written."""
    if directory.exists() and not directory.is_dir():
        raise StoreError(f"The store {directory} is a file. Give the name of a directory.")
    if not directory.is_dir() or (directory / PLAN).exists():
        return
    for entry in sorted(directory.iterdir()):
        if entry.name != LOCK and not _LEFTOVER.fullmatch(entry.name):
            raise StoreError(
                f"The directory {directory} is not a store (no {PLAN}) and not empty: it holds "
                f"{entry.name!r}. Give an empty or a new directory."
            )


def _take_lock(directory: Path) -> int | None:
    """Hold the directory for this run; the system lets go when the process dies."""
    if fcntl is None:
        return None
    lock = os.open(directory / LOCK, os.O_CREAT | os.O_RDWR, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StoreInUseError(directory) from None
    except OSError:
        # Some network file systems have no locks; atomic files keep the store whole without.
        pass
    return lock


def _first_difference(
    then: Mapping[str, Any], now: Mapping[str, Any], prefix: str = ""
) -> tuple[str, Any, Any] | None:
    """Return the first key in which two plans differ, and its values."""
    for name in [*now, *(key for key in then if key not in now)]:
        old, new = then.get(name, ABSENT), now.get(name, ABSENT)
        # As text, because NaN is not equal to itself.
        if ABSENT not in (old, new) and _canonical(old) == _canonical(new):
            continue
        if isinstance(old, dict) and isinstance(new, dict):
            return _first_difference(old, new, f"{prefix}{name}.")
        return prefix + name, old, new
    return None


def _short(value: Any) -> str:
    text = repr(value) if value is ABSENT else json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _name(i: int) -> str:
    return f"member-{i:05d}.npz"


def _plan_bytes(plan: Mapping[str, Any]) -> bytes:
    digest = _sha256(_canonical(plan).encode())
    outer = {"format": FORMAT, "version": VERSION, "plan": plan, "sha256": digest}
    return (json.dumps(outer, indent=2, ensure_ascii=False) + "\n").encode()


def _canonical(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
