"""Arrays of many rows as one file for each block, written whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clusterscape._core.atomic import atomic_path, sweep_folder, write_bytes
from clusterscape._core.rows import RowSource
from clusterscape._core.store import StoreError, member_path, read_member, write_member
from clusterscape._core.workers import Workers


class BlockFolder:
    """A folder for files of blocks: of a store, which stays, or one that goes with this object.

    Parameters
    ----------
    store : path or None
        The store of the run; None makes a folder among the temporary files of the system.
    """

    def __init__(self, store: str | os.PathLike[str] | None = None) -> None:
        self.is_temporary = store is None
        if store is None:
            self.path = tempfile.mkdtemp(prefix="clusterscape-blocks-")
            weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)
        else:
            self.path = str(Path(store).absolute() / "blocks")
            os.makedirs(self.path, exist_ok=True)

    def check(self, workers: Workers) -> None:
        """Refuse workers that do not see the folder."""
        if workers.sees(self.path):
            return
        remedy = "give store=, a folder" if self.is_temporary else "give a store"
        raise ValueError(
            f"the workers of {workers.name} do not see the folder {self.path}, in which the labels "
            f"are written; {remedy} on a disk that all of them share."
        )

    def inner(self, name: str) -> str:
        """Return a folder inside, made if need be."""
        path = os.path.join(self.path, name)
        os.makedirs(path, exist_ok=True)
        sweep_folder(path)
        return path


def finished_block(folder: str, i: int) -> dict[str, np.ndarray] | None:
    """Return the arrays of a block that is finished; None where it is missing or damaged."""
    try:
        return read_member(member_path(folder, i))[0]
    except (FileNotFoundError, StoreError):
        return None


def write_block(folder: str, i: int, arrays: Mapping[str, np.ndarray]) -> None:
    """Write the arrays of a block, atomically and with a checksum."""
    write_member(folder, i, arrays=arrays, meta={})


_MARK = ".clusterscape-blocks"  # in a folder of tables: whose they are


def write_frames(
    source: RowSource,
    folder: str | os.PathLike[str],
    digest: str,
    frame_of: Callable[..., pd.DataFrame],
    given: Sequence[Any],
) -> int:
    """Write one Parquet file for each block of a source; return how many were written now.

    Each is written whole or not at all, by the workers that read the blocks. Files that are there
    already are left, if they are of the same answer.

    Parameters
    ----------
    source : RowSource
        The blocks.
    folder : path
        Made if it does not exist. It must be empty, or hold files of the same answer.
    digest : str
        Tells one answer from another.
    frame_of : callable
        ``frame_of(i, block, *given)`` is the table of a block.
    given : sequence
        Further arguments.

    Returns
    -------
    int
    """
    home = Path(folder).absolute()
    _claim(home, digest)
    if not source.workers.sees(str(home)):
        raise ValueError(
            f"the workers of {source.workers.name} do not see the folder {home}; give one on a "
            "disk that all of them share."
        )
    shared = (str(home), frame_of, tuple(given))
    return sum(source.workers.map(_write_part, source, shared, label="writing"))


def _claim(home: Path, digest: str) -> None:
    """Mark a folder as that of an answer, or refuse one that holds something else."""
    if home.exists() and not home.is_dir():
        raise NotADirectoryError(f"{home} is a file; name a folder.")
    home.mkdir(parents=True, exist_ok=True)
    sweep_folder(home)
    mark = home / _MARK
    if mark.is_file():
        if mark.read_text(encoding="utf8").strip() != digest:
            raise FileExistsError(
                f"{home} holds the blocks of another answer; name another folder, or remove it."
            )
        return
    if any(not name.startswith(".") for name in os.listdir(home)):
        raise FileExistsError(f"{home} is not empty; name another folder.")
    write_bytes(mark, f"{digest}\n".encode())


def _write_part(
    i: int,
    rows: np.ndarray,
    home: str,
    frame_of: Callable[..., pd.DataFrame],
    given: tuple[Any, ...],
) -> bool:
    """Write the table of one block, unless it is there."""
    target = Path(home) / f"part-{i:05d}.parquet"
    if target.exists():  # it was written whole
        return False
    frame = frame_of(i, rows, *given).reset_index()
    with atomic_path(target, sweep=False) as path:
        frame.to_parquet(path, index=False, write_page_checksum=True)
    return True


class BlockFiles(RowSource):
    """One array of the files of a folder.

    Parameters
    ----------
    folder : str
        The folder.
    name : str
        The array.
    shape, dtype, bounds
        Of the array.
    keep : object
        Lives as long as this does: the owner of a temporary folder.
    """

    def __init__(
        self, folder: str, name: str, *, shape: Any, dtype: Any, bounds: Any, keep: Any = None
    ) -> None:
        super().__init__(shape, dtype, bounds)
        self.folder, self.name, self._keep = folder, name, keep

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_keep": None}

    def block(self, i: int) -> np.ndarray:
        path = member_path(self.folder, i)
        try:
            return read_member(path)[0][self.name]
        except (FileNotFoundError, StoreError) as error:
            what = "is damaged" if isinstance(error, StoreError) else "is gone"
            raise StoreError(
                f"{path} {what}: a block of rows that this result is made of. Repeat the run; with "
                "a store only what is missing or damaged is computed again."
            ) from None


class JoinedColumns(RowSource):
    """The columns of several sources with the same blocks, side by side.

    Parameters
    ----------
    parts : list of RowSource
        The sources.
    dtype : numpy.dtype
        Of the whole.
    """

    def __init__(self, parts: list[RowSource], dtype: Any) -> None:
        width = sum(part.shape[1] for part in parts)
        super().__init__((len(parts[0]), width), dtype, parts[0].bounds)
        self.parts = parts
        self.workers = parts[0].workers

    def block(self, i: int) -> np.ndarray:
        blocks = [part.block(i) for part in self.parts]
        return np.concatenate(blocks, axis=1).astype(self.dtype, copy=False)


class SomeColumns(RowSource):
    """Some columns of a source.

    Parameters
    ----------
    source : RowSource
        The source.
    columns : (m,) array
        The columns.
    dtype : numpy.dtype
        Of the part.
    """

    def __init__(self, source: RowSource, columns: np.ndarray, dtype: Any) -> None:
        super().__init__((len(source), columns.size), dtype, source.bounds)
        self.source, self.columns = source, columns
        self.workers = source.workers

    def block(self, i: int) -> np.ndarray:
        return np.ascontiguousarray(self.source.block(i)[:, self.columns], dtype=self.dtype)
