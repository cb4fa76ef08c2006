"""Parallelism in one place: an ordered map over independent tasks.

Every task runs with one BLAS and one OpenMP thread, whatever ``n_jobs`` is: sums are then taken
in the same order for any number of workers, and workers do not compete for cores.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

from clusterscape._core.progress import showing, track, wish

T = TypeVar("T")
R = TypeVar("R")

_lock = threading.Lock()
_local = threading.local()
_entered = 0
_blas_limit: Any = None
_pools: tuple[int, ThreadpoolController] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread, and put back what was there.

    The BLAS limit belongs to the whole process: with several worker threads the first one in sets
    it and the last one out restores it, otherwise one worker would restore another's limit. Only
    the thread that sets a BLAS limit may change it, so :func:`parallel_map` enters first.
    The OpenMP limit belongs to the calling thread.
    """
    global _entered, _blas_limit, _pools
    if getattr(_local, "inside", False):
        yield
        return
    with _lock:
        # Finding the pools takes milliseconds, so they are kept; a library that is loaded later
        # brings its own, hence the count of modules.
        if _pools is None or _pools[0] != len(sys.modules):
            _pools = (len(sys.modules), ThreadpoolController())
        controller = _pools[1]
        _entered += 1
        if _entered == 1:
            _blas_limit = controller.limit(limits=1, user_api="blas")
            _blas_limit.__enter__()
    _local.inside = True
    try:
        with controller.limit(limits=1, user_api="openmp"):
            yield
    finally:
        _local.inside = False
        with _lock:
            _entered -= 1
            if _entered == 0:
                _blas_limit.__exit__(None, None, None)
                _blas_limit = None


def _run(function: Callable[[T], R], task: T, progress: bool | None) -> R:
    with showing(progress), one_thread():
        return function(task)


def parallel_map(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    n_jobs: int | None = None,
    prefer: Literal["threads", "processes"] = "threads",
    label: str = "",
    progress: bool | None = False,
    done: int = 0,
    shared: bool = False,
) -> list[R]:
    """Return ``[function(t) for t in tasks]``, computed by ``n_jobs`` workers.

    ``n_jobs=None`` are the workers of ``joblib.parallel_config``, one where there is none.
    ``prefer`` is a hint that ``joblib.parallel_config`` overrides, so the same call runs on
    threads, processes or a cluster. ``function`` must be importable (not a closure) when it may
    run in another process. Without a ``label`` there is no bar, whatever ``progress`` is.
    ``shared`` says that tasks write to arrays of the caller: they then run on threads under any
    configuration.
    """
    how: Any = {"require": "sharedmem"} if shared else {"prefer": prefer}
    if n_jobs is None:
        # joblib itself takes one worker where the hint makes it leave its default for threads.
        n_jobs = get_active_backend()[1]
    workers = Parallel(n_jobs=n_jobs, return_as="generator", **how)
    with showing(progress if label else None), one_thread(), known_losses("the Dask cluster"):
        results = workers(delayed(_run)(function, task, wish()) for task in tasks)
        return list(track(results, len(tasks) + done, label=label, progress=progress, done=done))


class ClusterLostError(ConnectionError):
    """Work on a cluster could not be finished, because its scheduler or its workers were lost."""


# What the scheduler's client raises then, and joblib hands on.
_LOST = ("FutureCancelledError", "KilledWorker", "CommClosedError")


@contextmanager
def known_losses(name: str) -> Iterator[None]:
    """Say of a lost cluster what to do, in place of what its client raises."""
    try:
        yield
    except Exception as error:
        kind = type(error)
        if kind.__name__ not in _LOST or not kind.__module__.startswith("distributed."):
            raise
        reason = str(error).split("\n")[0][:200]
        raise ClusterLostError(
            f"{name} lost its scheduler, or workers again and again ({kind.__name__}: {reason}). "
            "Start it again, and repeat the call: with a store it goes on where it ended."
        ) from error


def thread_counts() -> list[tuple[str, int]]:
    """Return each thread pool of the process and its size (for tests)."""
    return [(p["user_api"], p["num_threads"]) for p in ThreadpoolController().info()]
