"""Who works on blocks of rows: this process, or the workers of a Dask cluster.

A pass over blocks is ``function(i, block, *shared)`` for every block; what it returns is small, and
comes back in the order of the blocks. The function and what is shared are the same on one machine
and on a cluster, so that the results are the same bytes.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, Protocol

from joblib import parallel_config
from joblib.parallel import get_active_backend

from clusterscape._core.parallel import (
    ClusterLostError,
    known_losses,
    one_thread,
    parallel_map,
)
from clusterscape._core.progress import track

_KEPT = 2**27  # bytes that a worker keeps from the system
_RETRIES = 5  # of a block whose worker was lost


class Readable(Protocol):
    """Rows in blocks, as workers see them."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    def block(self, i: int) -> Any:
        """Return one block; it may be called on any worker."""


class LocalWorkers:
    """The threads of this process."""

    name = "this process"

    def __init__(self, n_jobs: int | None = None) -> None:
        self.n_jobs = n_jobs

    def map(
        self,
        function: Callable[..., Any],
        source: Readable,
        shared: Sequence[Any] = (),
        *,
        which: Sequence[int] | None = None,
        label: str = "",
        progress: bool | None = None,
    ) -> list[Any]:
        """Return ``function(i, source.block(i), *shared)`` for the blocks, in their order."""
        blocks = range(source.n_blocks) if which is None else which
        tasks = [(function, i, source, tuple(shared)) for i in blocks]
        return parallel_map(
            _read_and_run, tasks, n_jobs=self.n_jobs, shared=True, label=label, progress=progress
        )

    def sees(self, folder: str) -> bool:
        """Say whether the workers see a folder of this process."""
        return True

    def joblib(self) -> AbstractContextManager[Any]:
        """Return the joblib configuration of these workers."""
        return nullcontext()


class DaskWorkers:
    """The workers of a Dask cluster.

    Parameters
    ----------
    client : distributed.Client
        The connection to the cluster.
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    @property
    def name(self) -> str:
        """Where the work is done."""
        return f"the Dask cluster at {self.client.scheduler.address}"

    def map(
        self,
        function: Callable[..., Any],
        source: Any,
        shared: Sequence[Any] = (),
        *,
        which: Sequence[int] | None = None,
        label: str = "",
        progress: bool | None = None,
    ) -> list[Any]:
        """Return ``function(i, block, *shared)`` for the blocks, in their order.

        A block whose worker dies is computed again by another.
        """
        if self.client.status != "running":  # closed since: what is in files is read here
            alone = LocalWorkers()
            return alone.map(function, source, shared, which=which, label=label, progress=progress)
        blocks = list(range(source.n_blocks) if which is None else which)
        found: dict[int, Any] = {}
        for i, value in track(
            self._results(function, source, shared, blocks),
            len(blocks),
            label=label,
            progress=progress,
        ):
            found[i] = value
        return [found[i] for i in blocks]

    def _results(
        self, function: Callable[..., Any], source: Any, shared: Sequence[Any], blocks: list[int]
    ) -> Any:
        """Yield the number of every finished block and its result, as they come."""
        from dask import delayed
        from distributed import as_completed

        with known_losses(self.name):
            # As the result of a task, so that it can be made again where a worker is lost.
            common = self.client.submit(_same, tuple(shared), pure=False)
            boxed = hasattr(source, "mapped")
            if boxed:
                tasks = source.mapped(partial(_given, function), delayed(common))
                # Dask itself lets a worker begin no more blocks than it can work on.
                futures = self.client.compute([tasks[i] for i in blocks], retries=_RETRIES)
            else:
                reader = self.client.submit(_same, source, pure=False)
                futures = [
                    self.client.submit(
                        _remote, function, i, reader, common, pure=False, retries=_RETRIES
                    )
                    for i in blocks
                ]
            numbers = dict(zip(futures, blocks, strict=True))
            try:
                for future, value in as_completed(futures, with_results=True):
                    if isinstance(value, BaseException):
                        # Of a block that was cancelled the error comes as if it were a result.
                        raise value
                    yield numbers.pop(future), value[0] if boxed else value
            finally:
                for future in numbers:
                    future.release()

    def joblib(self) -> AbstractContextManager[Any]:
        """Return the joblib configuration of these workers."""
        if getattr(get_active_backend()[0], "client", None) is not None:
            return nullcontext()
        return parallel_config("dask", client=self.client)

    def sees(self, folder: str) -> bool:
        """Say whether all workers see a folder of this process."""
        try:
            return all(self.client.run(_is_folder, folder).values())
        except OSError as error:  # asked directly, the client says no more than its socket
            raise ClusterLostError(
                f"{self.name} lost its scheduler ({type(error).__name__}). Start it again, and "
                "repeat the call: with a store it goes on where it ended."
            ) from error


def _same(value: Any) -> Any:
    return value


def _is_folder(path: str) -> bool:
    import os

    return os.path.isdir(path)


def _read_and_run(task: tuple[Callable[..., Any], int, Readable, tuple[Any, ...]]) -> Any:
    function, i, source, shared = task
    return function(i, source.block(i), *shared)


def _remote(function: Callable[..., Any], i: int, source: Any, shared: tuple[Any, ...]) -> Any:
    return _given(function, i, source.block(i), shared)


def _given(function: Callable[..., Any], i: int, block: Any, shared: tuple[Any, ...]) -> Any:
    from clusterscape._core.progress import showing

    with showing(False), one_thread():
        return function(i, block, *shared)


Workers = LocalWorkers | DaskWorkers


def find_workers(*, is_dask: bool, n_jobs: int | None = None) -> Workers:
    """Return who works: the cluster of ``joblib.parallel_config("dask")``, or of a Dask array.

    Parameters
    ----------
    is_dask : bool
        Whether the rows are those of a Dask array: the client that is active is then used, where
        there is one.
    n_jobs : int or None
        Threads of this process otherwise.
    """
    client = getattr(get_active_backend()[0], "client", None)
    if client is None and is_dask and "distributed" in sys.modules:
        from distributed import default_client

        try:
            client = default_client()
        except ValueError:
            client = None
    return LocalWorkers(n_jobs) if client is None else DaskWorkers(client)


def cluster_threads() -> int | None:
    """Return the threads of the Dask cluster that joblib is configured for; None without one."""
    client = getattr(get_active_backend()[0], "client", None)
    return None if client is None else max(1, sum(client.nthreads().values()))


@contextmanager
def local_cluster(n_workers: int, *, memory_limit: str | int = "auto") -> Iterator[Any]:
    """Start worker processes on this machine, and yield the client of their scheduler.

    Dask has its workers give memory back to the system at once, so that every temporary array
    costs page faults: more than twice the CPU seconds of the same work elsewhere. Here they keep
    what a block needs.

    Parameters
    ----------
    n_workers : int
        Processes, of one thread each.
    memory_limit : str or int
        Memory of each.
    """
    import dask
    from distributed import Client, LocalCluster

    home = "distributed.nanny.pre-spawn-environ"
    kept = {f"{home}.MALLOC_TRIM_THRESHOLD_": _KEPT, f"{home}.MALLOC_MMAP_THRESHOLD_": _KEPT}
    with dask.config.set(kept):
        with warnings.catch_warnings():
            # Of a server that nobody asked for: where its port is taken, it finds another one.
            warnings.filterwarnings("ignore", message="Port .* is already in use")
            cluster = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                memory_limit=memory_limit,
                dashboard_address=None,
            )
        with cluster, Client(cluster) as client:
            yield client
